# C files made at build time into build/generated/:
#   src/wire/proto/**.proto  -> <same path>.pb-c.c/.h   by protoc-c
#   src/devices/opencl/kernels/*.cl -> opencl_*.c    by cmake/EmbedText.cmake
#   src/ops/opdefs.tsv       -> opdefs_table.c          by tools/embed_opdefs.c (runs on the host)
set(FERRY_GENERATED_DIR ${CMAKE_BINARY_DIR}/generated)
file(MAKE_DIRECTORY ${FERRY_GENERATED_DIR})
set(FERRY_GENERATED_SOURCES)
set(FERRY_GENERATED_HEADERS)

set(FERRY_PROTO_DIR ${CMAKE_SOURCE_DIR}/src/wire/proto)
file(GLOB_RECURSE FERRY_PROTOS RELATIVE ${FERRY_PROTO_DIR} CONFIGURE_DEPENDS
     ${FERRY_PROTO_DIR}/*.proto)
if(FERRY_PROTOS)
  find_program(PROTOC_C protoc-c)
  if(NOT PROTOC_C)
    message(FATAL_ERROR "protoc-c was not found: run scripts/setup.sh (protobuf-c-compiler)")
  endif()
  list(TRANSFORM FERRY_PROTOS PREPEND ${FERRY_PROTO_DIR}/ OUTPUT_VARIABLE FERRY_PROTO_FILES)
  foreach(proto ${FERRY_PROTOS})
    string(REGEX REPLACE "\\.proto$" ".pb-c" stem ${proto})
    set(made ${FERRY_GENERATED_DIR}/${stem}.c ${FERRY_GENERATED_DIR}/${stem}.h)
    add_custom_command(OUTPUT ${made}
      COMMAND ${PROTOC_C} --proto_path=${FERRY_PROTO_DIR} --c_out=${FERRY_GENERATED_DIR} ${proto}
      DEPENDS ${FERRY_PROTO_FILES} WORKING_DIRECTORY ${FERRY_PROTO_DIR}
      COMMENT "protoc-c ${proto}" VERBATIM)
    list(APPEND FERRY_GENERATED_SOURCES ${FERRY_GENERATED_DIR}/${stem}.c)
    list(APPEND FERRY_GENERATED_HEADERS ${FERRY_GENERATED_DIR}/${stem}.h)
  endforeach()
endif()

set(FERRY_OPDEFS ${CMAKE_SOURCE_DIR}/src/ops/opdefs.tsv)
file(GLOB FERRY_EMBED_TOOL CONFIGURE_DEPENDS ${CMAKE_SOURCE_DIR}/tools/embed_opdefs.c)
file(GLOB FERRY_OPDEFS_FOUND CONFIGURE_DEPENDS ${FERRY_OPDEFS})
if(FERRY_EMBED_TOOL AND FERRY_OPDEFS_FOUND)
  if(CMAKE_CROSSCOMPILING)
    find_program(FERRY_HOST_CC NAMES cc gcc clang NO_CMAKE_FIND_ROOT_PATH REQUIRED)
  else()
    set(FERRY_HOST_CC ${CMAKE_C_COMPILER})
  endif()
  set(embed ${CMAKE_BINARY_DIR}/tools/embed_opdefs)
  file(MAKE_DIRECTORY ${CMAKE_BINARY_DIR}/tools)
  add_custom_command(OUTPUT ${embed}
    COMMAND ${FERRY_HOST_CC} -std=c11 -O1 -D_GNU_SOURCE= -I${CMAKE_SOURCE_DIR}/src
            -o ${embed} ${FERRY_EMBED_TOOL}
    DEPENDS ${FERRY_EMBED_TOOL} COMMENT "host tool embed_opdefs" VERBATIM)
  add_custom_command(OUTPUT ${FERRY_GENERATED_DIR}/opdefs_table.c
    COMMAND ${embed} ${FERRY_OPDEFS} ${FERRY_GENERATED_DIR}/opdefs_table.c
    DEPENDS ${embed} ${FERRY_OPDEFS} COMMENT "opdefs.tsv -> opdefs_table.c" VERBATIM)
  list(APPEND FERRY_GENERATED_SOURCES ${FERRY_GENERATED_DIR}/opdefs_table.c)
endif()

file(GLOB FERRY_CL_FILES CONFIGURE_DEPENDS ${CMAKE_SOURCE_DIR}/src/devices/opencl/kernels/*.cl)
foreach(file ${FERRY_CL_FILES})
  get_filename_component(stem ${file} NAME_WE)
  set(made ${FERRY_GENERATED_DIR}/opencl_${stem}.c)
  add_custom_command(OUTPUT ${made}
    COMMAND ${CMAKE_COMMAND} -DIN=${file} -DOUT=${made} -DNAME=fy_ocl_src_${stem}
            -P ${CMAKE_SOURCE_DIR}/cmake/EmbedText.cmake
    DEPENDS ${file} ${CMAKE_SOURCE_DIR}/cmake/EmbedText.cmake
    COMMENT "${stem}.cl -> opencl_${stem}.c" VERBATIM)
  list(APPEND FERRY_GENERATED_SOURCES ${made})
endforeach()

# Other people's code generators do not share our warnings.
set_source_files_properties(${FERRY_GENERATED_SOURCES} PROPERTIES COMPILE_OPTIONS -w)
