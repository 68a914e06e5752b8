# How Ferry's files are compiled: portable C11 for the oldest x86-64 or aarch64; the AVX files are
# the only ones allowed more, and are chosen at run time.
set(CMAKE_C_STANDARD 11)
set(CMAKE_C_STANDARD_REQUIRED ON)
set(CMAKE_C_EXTENSIONS OFF)
set(CMAKE_C_VISIBILITY_PRESET hidden)
set(CMAKE_POSITION_INDEPENDENT_CODE ON)
# A release carries no unwind tables: they would be a twelfth of the library, C needs none, and a
# backtrace is taken from RelWithDebInfo, which has them.
set(CMAKE_C_FLAGS_RELEASE "-O2 -DNDEBUG -fno-asynchronous-unwind-tables -fno-unwind-tables")
set(CMAKE_C_FLAGS_DEBUG "-Og -g3")

set(FERRY_X86_64 OFF)
if(CMAKE_SYSTEM_PROCESSOR MATCHES "^(x86_64|AMD64|amd64)$")
  set(FERRY_X86_64 ON)
endif()

set(FERRY_INCLUDE_DIRS ${CMAKE_SOURCE_DIR}/include ${CMAKE_SOURCE_DIR}/src
                       ${CMAKE_BINARY_DIR}/generated)
# No one reads the floating point exception flags: both sides of a choice may be computed.
set(FERRY_KERNEL_OPTIONS -O3 -fno-math-errno -fno-trapping-math -ffp-contract=off)
# Ops whose loops are not worth the size that -O3 gives them.
set(FERRY_SMALL_OPS "/(optimizer[a-z_]*|optimizer_steps_avx512|linalg_[a-z]+|fft[a-z_]*|special_[a-z]+|unicode[a-z_]*|parse_[a-z_]*|(de|en)code_[a-z]+|proto_fields|sobol|candidate_sampler|fractional_pool|summary[a-z_]*|spec[a-z_]*|sample|load_remap|vocab_remap|edit_distance|ctc_decode|barrier|batch_(ops|queue|function)|staging|queue[a-z_]*|reader|stack|sets|isotonic|glimpse|state_misc|files|print|session_tensor|checkpoint|quantize_[a-z_]*|sparse_[a-z_]*|csr_[a-z]*|ragged[a-z_]*|lookup|tensor_array[a-z_]*|boxes|dilation2d)\\.c$")
# What runs once per model, per report or per file: as small as it gets.
set(FERRY_COLD "/(src/(observe|model)/.*|ops/(summary[a-z_]*|barrier|batch_(ops|queue|function)|load_remap|vocab_remap|glimpse|fractional_pool|candidate_sampler|parse_sequence[a-z_]*|decode_(proto|json)|encode_proto|checkpoint|files|reader|queue[a-z_]*|staging|state_misc|sample|session_tensor|lookup_(file|make)|stack|quantized_fused))\\.c$")
set(FERRY_COLD_API "/src/(wire/(text_[a-z]+|config[a-z_]*|descriptor[a-z_]*|np[yz][a-z_]*|bundle_v1[a-z_]*)|api/(api_def|attr_builder|checkpoint|debug|device_list|eager_(custom|dlpack|function|model[a-z_]*|monitoring)|experimental|explain|ferry_(ask|attr_text|graph[a-z_]*|model[a-z_]*|npz|ops)|function|graph_(get_attr|mutate|query)|infer_shapes|kernels|library|named_queue|op_list|partition_graphs|run_metadata|saved_model|server|session_(config|legacy|options)|unified|unimplemented[a-z_]*|while))\\.c$")
# Of these the loops become vectors, but nothing else grows.
set(FERRY_VECTOR_OPS "/(histogram|random_truncated|optimizer_steps_avx2|quantize|quantized_[a-z]+|euclidean_norm|vecmath_complex|fake_quant|debug|crop_and_resize|index_ops|binary_math|cast|compare|scatter|activation_grads|winograd_filter|kernel_conv_filter[a-z_]*|gemm_bf16|bytes|kernel_quantized|batch_norm_loops|linalg_tridiagonal|mirror_pad|pool|scan|select|cudnn_rnn_steps|lstm|concat|pool_grad|segment|matmul|gemm_avx512|resize|losses|window|bias|complex)\\.c$")
set(FERRY_VECTOR_OPTIONS -O2 -ftree-vectorize)
if(CMAKE_C_COMPILER_ID STREQUAL "GNU")
  list(APPEND FERRY_VECTOR_OPTIONS -fvect-cost-model=dynamic -funswitch-loops)
endif()
set(FERRY_AVX2_OPTIONS -mavx2 -mfma -mf16c)
set(FERRY_AVX512_OPTIONS -mavx512f -mavx512bw -mavx512vl -mavx512dq -mfma -mf16c)
if(FERRY_AVX512_HALVES)
  set(FERRY_AVX512_OPTIONS ${FERRY_AVX2_OPTIONS} -Wno-psabi
                           -include ${CMAKE_SOURCE_DIR}/cmake/avx512_halves.h)
endif()

function(ferry_warnings target)
  target_compile_options(${target} PRIVATE -Wall -Wextra -Wshadow -Wconversion -Wstrict-prototypes
                                           -Wvla $<$<BOOL:${FERRY_WERROR}>:-Werror>)
endfunction()

function(ferry_compile_options target)
  ferry_warnings(${target})
  target_include_directories(${target} PRIVATE ${FERRY_INCLUDE_DIRS})
  target_compile_definitions(${target} PRIVATE _GNU_SOURCE= FERRY_VERSION="${PROJECT_VERSION}"
                                               ${FERRY_FEATURES})
  target_compile_options(${target} PRIVATE -ffunction-sections -fdata-sections
                                           -fno-semantic-interposition)
endfunction()

# Sanitizers apply to everything, tests included.
if(FERRY_SANITIZE)
  if(NOT FERRY_SANITIZE MATCHES "^(address|undefined|thread)$")
    message(FATAL_ERROR "FERRY_SANITIZE=${FERRY_SANITIZE}: use address, undefined or thread")
  endif()
  add_compile_options(-fsanitize=${FERRY_SANITIZE} -fno-omit-frame-pointer -g)
  add_link_options(-fsanitize=${FERRY_SANITIZE})
  if(FERRY_SANITIZE STREQUAL undefined)
    add_compile_options(-fno-sanitize-recover=undefined -DFY_NO_CLONES)
  endif()
endif()

# What nothing calls is left out of a release only: GNU ld 2.40 stops with an internal error where debug information
# mentions a function with clones (FY_CLONES) that it left out.
add_link_options($<$<CONFIG:Release>:-Wl,--gc-sections> -Wl,-z,relro -Wl,--as-needed)
set(FERRY_SHARED_LINK_OPTIONS -Wl,-O1)
# Relocations of the op tables in a twentieth of the space (glibc 2.36, which Debian 12 has).
include(CheckLinkerFlag)
check_linker_flag(C -Wl,-z,pack-relative-relocs FERRY_PACKS_RELOCATIONS)
if(FERRY_PACKS_RELOCATIONS AND FERRY_X86_64)
  list(APPEND FERRY_SHARED_LINK_OPTIONS -Wl,-z,pack-relative-relocs)
endif()
if(NOT FERRY_SANITIZE AND NOT FERRY_BUILD_FUZZERS)
  list(APPEND FERRY_SHARED_LINK_OPTIONS -Wl,-z,defs)
endif()

# protobuf-c is the one library Ferry is linked with. What else it uses (hwloc, image codecs,
# OpenCL, CUDA) is opened at run time if the machine has it; only headers can matter here.
find_path(PROTOBUF_C_INCLUDE_DIR protobuf-c/protobuf-c.h)
find_library(PROTOBUF_C_LIBRARY protobuf-c)
if(NOT PROTOBUF_C_INCLUDE_DIR OR NOT PROTOBUF_C_LIBRARY)
  message(FATAL_ERROR "protobuf-c was not found: run scripts/setup.sh (package libprotobuf-c-dev)")
endif()
set(THREADS_PREFER_PTHREAD_FLAG ON)
find_package(Threads REQUIRED)
add_library(ferry_dependencies INTERFACE)
target_include_directories(ferry_dependencies SYSTEM INTERFACE ${PROTOBUF_C_INCLUDE_DIR})
target_link_libraries(ferry_dependencies INTERFACE ${PROTOBUF_C_LIBRARY} Threads::Threads
                                                   ${CMAKE_DL_LIBS} m)

include(CheckIncludeFile)
set(FERRY_FEATURES)
foreach(pair hwloc.h=HWLOC CL/cl.h=OPENCL cuda.h=CUDA)
  string(REPLACE "=" ";" pair ${pair})
  list(GET pair 0 header)
  list(GET pair 1 name)
  check_include_file(${header} FY_HAVE_${name}_H)
  if(FY_HAVE_${name}_H)
    list(APPEND FERRY_FEATURES FY_HAVE_${name}_H=1)
  endif()
endforeach()
