// SPDX-License-Identifier: Apache-2.0
// opencl_impl.h: what the files of the OpenCL backend share. Nothing here leaves this folder.
//
// The loader (libOpenCL.so.1) is opened at run time; CL/cl.h gives the types when building. Where
// the header is missing, FY_OPENCL is not defined and the backend only says so.

#ifndef FY_DEVICES_OPENCL_IMPL_H
#define FY_DEVICES_OPENCL_IMPL_H

#if defined(__has_include)
#if __has_include(<CL/cl.h>)
#define FY_OPENCL 1
#endif
#endif

#ifdef FY_OPENCL

#define CL_TARGET_OPENCL_VERSION 120
#include <CL/cl.h>

#include "base/map.h"
#include "base/thread.h"
#include "devices/devices.h"
#include "ops/op.h"
#include "ops/window.h"

// --- the functions of the loader, opencl_load.c ---
// clang-format off
#define FY_CL_FUNCTIONS(X) \
  X(GetPlatformIDs) X(GetPlatformInfo) X(GetDeviceIDs) X(GetDeviceInfo) X(CreateContext) \
  X(ReleaseContext) X(CreateCommandQueue) X(ReleaseCommandQueue) X(CreateBuffer) \
  X(ReleaseMemObject) X(CreateProgramWithSource) X(CreateProgramWithBinary) X(BuildProgram) \
  X(GetProgramBuildInfo) X(GetProgramInfo) X(ReleaseProgram) X(CreateKernel) X(ReleaseKernel) \
  X(SetKernelArg) X(EnqueueNDRangeKernel) X(EnqueueReadBuffer) X(EnqueueWriteBuffer) \
  X(EnqueueCopyBuffer) X(EnqueueMapBuffer) X(EnqueueUnmapMemObject) X(WaitForEvents) \
  X(GetEventInfo) X(RetainEvent) X(ReleaseEvent) X(Flush) X(Finish) \
  X(EnqueueBarrierWithWaitList)
// clang-format on

typedef struct fy_cl {
#define X(name) __typeof__(cl##name) *name;
  FY_CL_FUNCTIONS(X)
#undef X
} fy_cl;

// NULL when there is no usable loader; |why| (may be NULL) gets the sentence for `ferry doctor`.
const fy_cl *fy_cl_load(fy_str *why);
const char *fy_cl_error_name(cl_int code);

// --- a device ---
typedef struct fy_ocl_block {  // one cl_mem: what a pool asked for at once
  char *begin;                 // reserved addresses without access rights
  size_t bytes, asked;
  cl_mem mem;
  char *host;  // where the host sees the same bytes, or NULL (devices that are CPUs)
} fy_ocl_block;

// Blocks that the host saw lately, for copies that take no lock. |version| is odd while they change.
#define FY_OCL_SEEN 4
typedef struct fy_ocl_seen {
  _Atomic(uint32_t) version;
  unsigned next;  // to be replaced
  struct {
    _Atomic(uintptr_t) begin, end, host;
  } blocks[FY_OCL_SEEN];
} fy_ocl_seen;

#define FY_OCL_ARGS   40
#define FY_OCL_RANGES 20

typedef struct fy_ocl_range {
  const char *begin, *end;
  bool write;
} fy_ocl_range;

typedef struct fy_ocl_work {  // enqueued, perhaps not done yet
  uint64_t seq;
  cl_event event;
  int num_ranges;
  fy_ocl_range ranges[FY_OCL_RANGES];
} fy_ocl_work;

typedef struct fy_ocl_queue {
  cl_command_queue queue;
  uint64_t seq;       // of the newest work
  fy_ocl_work *work;  // in flight, oldest first; in order, so that the newest done means all done
  size_t first, num, cap;
  uint64_t failed[16];  // sequence numbers that ended in an error
  int num_failed;
} fy_ocl_queue;

typedef struct fy_ocl_stage {  // a piece of pinned host memory, mapped for good
  cl_mem mem;
  void *host;
  int queue;
  uint64_t seq;  // the last copy that used it
} fy_ocl_stage;
#define FY_OCL_STAGES      4
#define FY_OCL_STAGE_BYTES ((size_t)1 << 20)

typedef struct fy_ocl_program {
  char *key;  // source and options
  cl_program program;
  struct fy_ocl_program *next;
  fy_map kernels;  // name -> cl_kernel
} fy_ocl_program;

typedef struct fy_ocl {
  const fy_cl *cl;
  fy_device *device;
  cl_platform_id platform;
  cl_device_id id;
  char name[160], driver[96], platform_name[96], version[160];
  bool is_cpu, unified, has_double, correct_division;
  cl_uint units, clock_mhz;
  cl_ulong memory_bytes, max_alloc, local_bytes;
  size_t max_group;
  uint64_t limit_bytes;
  // guarded by |lock|
  fy_mutex lock;
  cl_context context;  // made by the first allocation or launch
  fy_ocl_queue queues[FY_QUEUES];
  fy_ocl_block *blocks;  // sorted by address
  size_t num_blocks, cap_blocks;
  uint64_t used_bytes;
  int64_t busy_from;  // when the compute queue got work while it had none; 0: it has none
  int number;         // of the machine's devices, as the loader lists them
  fy_ocl_stage stages[FY_OCL_STAGES];
  int next_stage;
  _Atomic(int) staging;  // fy_opencl_staging
  int direct;            // 0 not tried yet, 1 the host may touch buffers, -1 it may not
  _Atomic(uint32_t)
      flying;  // work that was not seen to be done, of all queues; read without the lock
  fy_ocl_seen seen;
  fy_mutex build_lock;
  fy_ocl_program *programs;
  // counts, for tests and reports
  _Atomic(uint64_t) launches, detours, builds, cache_hits, library_gemms, copies_in, copies_out;
  _Atomic(uint64_t) gemm_work;  // operations of products so far (opencl_clblast.c)
} fy_ocl;

static inline fy_ocl *fy_ocl_of(const fy_device *d) {
  return d->impl;
}

// opencl_load.c: opens a library for good; NULL: |reason| says why, and which Debian package has it.
void *fy_ocl_library(const char *name, const char *package, char *reason, size_t n);

FY_MUST_CHECK fy_code fy_ocl_fail(const fy_ocl *o, const char *what, cl_int code, fy_error *err);
FY_MUST_CHECK fy_code fy_ocl_open_context(fy_ocl *o, fy_error *err);  // once, lazily

// opencl_memory.c
int fy_ocl_alloc(fy_device *d, size_t bytes, void **out, fy_error *err);
void fy_ocl_free(fy_device *d, void *p, size_t bytes);
void fy_ocl_release_memory(fy_ocl *o);
// With the lock held: the buffer and offset of [p, p + bytes); false if that is not ours.
bool fy_ocl_resolve(fy_ocl *o, const void *p, size_t bytes, cl_mem *mem, size_t *offset);
// With the lock held: the host's view of [p, p + bytes), or NULL.
char *fy_ocl_host_view(fy_ocl *o, const void *p, size_t bytes);
// Without the lock: the same where it was seen lately, else NULL.
char *fy_ocl_seen_view(fy_ocl *o, const void *p, size_t bytes);

// opencl_queue.c
// With the lock held. What work on |queue| that touches |ranges| has to wait for: |after| and
// conflicting work on the other queues. At most FY_QUEUES events, each with a reference. |queue|
// FY_QUEUES: on all queues.
int fy_ocl_dependencies(fy_ocl *o, fy_queue queue, const fy_ocl_range *ranges, int num_ranges,
                        const fy_event *after, int num_after, cl_event *out);
void fy_ocl_drop_events(fy_ocl *o, cl_event *events, int n);
void fy_ocl_note_done(fy_ocl *o);  // after a wait, without the lock: how busy the device was
// With the lock held: remembers |event| (takes it over) as the newest work of |queue|.
FY_MUST_CHECK fy_code fy_ocl_push(fy_ocl *o, fy_queue queue, cl_event event,
                                  const fy_ocl_range *ranges, int num_ranges, fy_event *done,
                                  fy_error *err);
// Without the lock: events of other devices are waited for by the host.
FY_MUST_CHECK fy_code fy_ocl_wait_foreign(fy_ocl *o, const fy_event *after, int n, fy_error *err);
int fy_ocl_wait(fy_device *d, const fy_event *event, fy_error *err);

// opencl_copy.c
int fy_ocl_copy(fy_device *d, fy_copy_kind kind, void *dst, const void *src, size_t bytes,
                fy_device *peer, const fy_event *after, fy_event *done, fy_error *err);
void fy_ocl_release_stages(fy_ocl *o);

// opencl_program.c
// The kernel |name| of |source| built with |options|, from memory, the disk cache or the compiler.
FY_MUST_CHECK fy_code fy_ocl_kernel(fy_ocl *o, const char *source, const char *options,
                                    const char *name, cl_kernel *out, fy_error *err);
void fy_ocl_release_programs(fy_ocl *o);

// --- a launch, opencl_launch.c ---
typedef struct fy_ocl_call {
  fy_kernel_ctx ctx;  // what a reference kernel sees; first, so that a service can find its call
  fy_kernel_ctx *outer;
  fy_ocl *ocl;
  const fy_event *after;
  int num_after;
  fy_event done;  // of the newest kernel
  void **scratch;
  size_t num_scratch, cap_scratch;
  void **host_scratch;  // of reference code
  size_t num_host, cap_host;
  fy_arena arena;
  fy_code hook_code;  // what a loop without a status of its own ran into
  fy_error *hook_err;
} fy_ocl_call;

// "Not on this device in this case": the reference does it on the host instead.
#define FY_OCL_DETOUR ((fy_code)1000)

typedef fy_code (*fy_ocl_handler)(fy_ocl_call *c, int arg, fy_error *err);
typedef struct fy_ocl_op {
  const char *name;
  fy_ocl_handler run;
  int arg;
  const char *type_attr;  // whose value must be in |dtypes|
  uint64_t dtypes;
} fy_ocl_op;
const fy_ocl_op *fy_ocl_find_op(const char *name);
bool fy_ocl_supports(fy_device *d, const fy_op *op, const fy_attrs *attrs, fy_error *why);
int fy_ocl_launch(fy_device *d, fy_kernel_ctx *ctx, const fy_event *after, int num_after,
                  fy_event *done, fy_error *err);

// --- building a kernel call ---
typedef struct fy_ocl_launch_args {
  fy_ocl_call *call;
  struct {
    enum { FY_OCL_BUFFER, FY_OCL_VALUE, FY_OCL_LOCAL } kind;
    const void *p;
    size_t bytes;  // of the buffer's range, the value, or the local memory
    size_t size;   // of the buffer's element
    bool write;
    int value_at;
  } args[FY_OCL_ARGS];
  int num_args;
  char values[1024];
  int used;
  bool overflow;
} fy_ocl_args;

void fy_ocl_args_init(fy_ocl_args *a, fy_ocl_call *c);
// A buffer is two arguments of the kernel: the pointer and the offset in elements (long).
void fy_ocl_add_in(fy_ocl_args *a, const fy_tensor *t);
void fy_ocl_add_out(fy_ocl_args *a, const fy_tensor *t);
void fy_ocl_add_memory(fy_ocl_args *a, const void *p, size_t bytes, size_t size, bool write);
void fy_ocl_add_value(fy_ocl_args *a, const void *p, size_t bytes);
void fy_ocl_add_int(fy_ocl_args *a, int v);
void fy_ocl_add_long(fy_ocl_args *a, int64_t v);
void fy_ocl_add_float(fy_ocl_args *a, float v);
void fy_ocl_add_local(fy_ocl_args *a, size_t bytes);
// A number as an argument of type T of |t|: |v|, or |whole| for integers.
void fy_ocl_add_number(fy_ocl_args *a, fy_dtype t, double v, int64_t whole);
// One-dimensional: |n| items in groups of 64. |groups|: n groups of 64 items instead.
FY_MUST_CHECK fy_code fy_ocl_run(fy_ocl_args *a, const char *source, const char *options,
                                 const char *name, int64_t n, bool groups, fy_error *err);
FY_MUST_CHECK fy_code fy_ocl_run_nd(fy_ocl_args *a, const char *source, const char *options,
                                    const char *name, const size_t global[3], const size_t local[3],
                                    fy_error *err);
// |t|, a small tensor, in device memory: itself, or |storage| with a copy for this call.
FY_MUST_CHECK fy_code fy_ocl_bring(fy_ocl_call *c, const fy_tensor *t, fy_tensor **out,
                                   fy_tensor *storage, fy_error *err);
// Device memory for this call only.
FY_MUST_CHECK fy_code fy_ocl_scratch(fy_ocl_call *c, size_t bytes, void **out, fy_error *err);
// Output |i| with the shape the shape function says; FY_OCL_DETOUR if it does not say all.
FY_MUST_CHECK fy_code fy_ocl_output(fy_ocl_call *c, int i, fy_tensor **out, fy_error *err);
FY_MUST_CHECK fy_code fy_ocl_output_dims(fy_ocl_call *c, int i, int32_t rank, const int64_t *dims,
                                         fy_tensor **out, fy_error *err);
static inline bool fy_ocl_here(const fy_ocl_call *c, const fy_tensor *t) {
  return t->device == c->ocl->device;
}

// --- types of elements ---
const char *fy_ocl_storage(fy_dtype t);     // "float", "half", "ushort"; NULL: not handled
const char *fy_ocl_arithmetic(fy_dtype t);  // "float" for the 16-bit floats
const char *fy_ocl_suffix(fy_dtype t);      // of LD_ and ST_: "half", "bf16", "plain"
const char *fy_ocl_options(fy_dtype t);     // "-DS=… -DT=… …" for the sources of kernels/

const char *fy_ocl_element(size_t size);  // "-DE=uint": of kernels that only move

// --- strided walks: what kernels know of shapes; the same struct is in kernels/prelude.cl ---
#define FY_OCL_DIMS 8
typedef struct fy_ocl_geo {
  int32_t rank, unused;
  int64_t dims[FY_OCL_DIMS];
  int64_t s[3][FY_OCL_DIMS];
} fy_ocl_geo;
// Collapses what is contiguous in all |n| operands; false if more than FY_OCL_DIMS dims are left.
bool fy_ocl_geo_make(fy_ocl_geo *g, int32_t rank, const int64_t *dims, int n,
                     const int64_t *const *strides);
// out[sum index * out_strides] = in[sum index * in_strides]; strides and offsets in elements.
FY_MUST_CHECK fy_code fy_ocl_move(fy_ocl_call *c, fy_tensor *out, int64_t out_at,
                                  const int64_t *out_strides, const fy_tensor *in, int64_t in_at,
                                  const int64_t *in_strides, int32_t rank, const int64_t *dims,
                                  fy_error *err);
// Windows over images: of convolutions and pooling; the same struct is in kernels/prelude.cl.
typedef struct fy_ocl_win {
  int64_t batch, in_h, in_w, in_c, out_h, out_w, out_c;
  int64_t k_h, k_w, stride_h, stride_w, dil_h, dil_w, pad_h, pad_w;
  int64_t is[4], os[4];
  int64_t depth, per_group;
} fy_ocl_win;
fy_ocl_win fy_ocl_window(const fy_window *h, const fy_window *w, int64_t batch, int64_t in_c,
                         int64_t out_c, bool channels_last);
// Products of matrices, as in kernels/gemm.cl.
typedef struct fy_ocl_product {
  int64_t m, n, k;
  int64_t a_row, a_col, b_row, b_col;
  fy_ocl_geo batch;
  int64_t in_h, in_w, in_c, out_h, out_w, k_h, k_w, stride_h, stride_w, dil_h, dil_w, pad_h, pad_w;
  int64_t is[4];
  int64_t out_row, out_col, out_image;
  int64_t groups;
} fy_ocl_product;
FY_MUST_CHECK fy_code fy_ocl_multiply(fy_ocl_call *c, const fy_ocl_product *p, int64_t batches,
                                      const fy_tensor *x, const fy_tensor *y, fy_tensor *out,
                                      fy_error *err);
// opencl_clblast.c: the same by CLBlast; FY_OCL_DETOUR if it is not there, does not pay or refuses.
FY_MUST_CHECK fy_code fy_ocl_clblast(fy_ocl_call *c, const fy_ocl_product *p, int64_t batches,
                                     const fy_tensor *x, const fy_tensor *y, fy_tensor *out,
                                     fy_error *err);
bool fy_ocl_clblast_found(fy_str *why);
FY_MUST_CHECK fy_code fy_ocl_fill(fy_ocl_call *c, fy_tensor *out, const fy_tensor *value,
                                  fy_error *err);  // |value|: a scalar anywhere, NULL = 0
FY_MUST_CHECK fy_code fy_ocl_random_fill(fy_kernel_ctx *ctx, const void *kind, void *job,
                                         const fy_tensor *out);

// --- rows that go to places, opencl_lists.c ---
typedef struct fy_ocl_lists {
  int32_t *order, *start;  // the rows of one place after the other; where each place's begin
  int64_t *place;          // the row that each list goes to; NULL: its own number
  int64_t n, used;         // lists, rows in them
} fy_ocl_lists;
void fy_ocl_lists_drop(fy_ocl_lists *l);
// One list per segment; a negative number is none's.
FY_MUST_CHECK fy_code fy_ocl_list_segments(const int64_t *ids, int64_t count, int64_t segments,
                                           fy_ocl_lists *l, fy_error *err);
// One list per place that |depth| indices each name among |dims|; FY_OCL_DETOUR: one is outside.
FY_MUST_CHECK fy_code fy_ocl_list_places(fy_ocl_call *c, fy_tensor *indices, int32_t depth,
                                         const int64_t *dims, fy_ocl_lists *l, fy_error *err);
FY_MUST_CHECK fy_code fy_ocl_add_lists(fy_ocl_call *c, fy_ocl_args *a, const fy_ocl_lists *l,
                                       fy_error *err);
// Rows of |x| with |inner| elements, joined to those of |y|: |segments|, or on top of what is there.
FY_MUST_CHECK fy_code fy_ocl_join_rows(fy_ocl_call *c, const fy_ocl_lists *l, bool segments,
                                       int join, const fy_tensor *x, int64_t inner, fy_tensor *y,
                                       fy_error *err);
bool fy_ocl_joins(fy_dtype t);  // whether it does so for |t|
FY_MUST_CHECK fy_code fy_ocl_to_host(fy_ocl_call *c, fy_tensor *t, fy_tensor **out, fy_error *err);
// |bytes| of the host in device memory for this call.
FY_MUST_CHECK fy_code fy_ocl_send(fy_ocl_call *c, const void *from, size_t bytes, void **out,
                                  fy_error *err);
struct fy_variable;
// The value of |v|, which is locked, here and nobody else's.
FY_MUST_CHECK fy_code fy_ocl_own_variable(fy_ocl_call *c, struct fy_variable *v,
                                          fy_tensor **garbage, fy_error *err);
#define FY_OCL_ND 64  // of scatters: the last dimension of the indices is their depth

// Handlers.
fy_code fy_ocl_elementwise(fy_ocl_call *c, int arg, fy_error *err);
fy_code fy_ocl_select(fy_ocl_call *c, int arg, fy_error *err);
fy_code fy_ocl_cast(fy_ocl_call *c, int arg, fy_error *err);
fy_code fy_ocl_fused(fy_ocl_call *c, int arg, fy_error *err);
fy_code fy_ocl_add_n(fy_ocl_call *c, int arg, fy_error *err);
bool fy_ocl_knows_elementwise(const char *op, fy_dtype t, const char **why);
const char *fy_ocl_elementwise_name(int i);  // the |i|th; NULL at the end
fy_code fy_ocl_matmul(fy_ocl_call *c, int arg, fy_error *err);
fy_code fy_ocl_conv(fy_ocl_call *c, int arg, fy_error *err);
fy_code fy_ocl_pool(fy_ocl_call *c, int arg, fy_error *err);
fy_code fy_ocl_batch_norm(fy_ocl_call *c, int arg, fy_error *err);
fy_code fy_ocl_batch_norm_grad(fy_ocl_call *c, int arg, fy_error *err);
fy_code fy_ocl_bias_grad(fy_ocl_call *c, int arg, fy_error *err);
fy_code fy_ocl_bias(fy_ocl_call *c, int arg, fy_error *err);
fy_code fy_ocl_softmax(fy_ocl_call *c, int arg, fy_error *err);
fy_code fy_ocl_reduce(fy_ocl_call *c, int arg, fy_error *err);
fy_code fy_ocl_arg_reduce(fy_ocl_call *c, int arg, fy_error *err);
fy_code fy_ocl_gather(fy_ocl_call *c, int arg, fy_error *err);
fy_code fy_ocl_concat(fy_ocl_call *c, int arg, fy_error *err);
fy_code fy_ocl_split(fy_ocl_call *c, int arg, fy_error *err);
fy_code fy_ocl_pad(fy_ocl_call *c, int arg, fy_error *err);
fy_code fy_ocl_one_hot(fy_ocl_call *c, int arg, fy_error *err);
fy_code fy_ocl_fill_op(fy_ocl_call *c, int arg, fy_error *err);
fy_code fy_ocl_conv_grad(fy_ocl_call *c, int arg, fy_error *err);
fy_code fy_ocl_pool_grad(fy_ocl_call *c, int arg, fy_error *err);
fy_code fy_ocl_entropy(fy_ocl_call *c, int arg, fy_error *err);
fy_code fy_ocl_update(fy_ocl_call *c, int arg, fy_error *err);
fy_code fy_ocl_einsum(fy_ocl_call *c, int arg, fy_error *err);
fy_code fy_ocl_scan(fy_ocl_call *c, int arg, fy_error *err);
fy_code fy_ocl_unsorted_segment(fy_ocl_call *c, int join, fy_error *err);
fy_code fy_ocl_bincount(fy_ocl_call *c, int arg, fy_error *err);
fy_code fy_ocl_scatter(fy_ocl_call *c, int how, fy_error *err);
fy_code fy_ocl_scatter_nd(fy_ocl_call *c, int join, fy_error *err);
fy_code fy_ocl_tensor_scatter(fy_ocl_call *c, int join, fy_error *err);
fy_code fy_ocl_bucketize(fy_ocl_call *c, int arg, fy_error *err);
fy_code fy_ocl_where(fy_ocl_call *c, int arg, fy_error *err);
fy_code fy_ocl_resize(fy_ocl_call *c, int arg, fy_error *err);
fy_code fy_ocl_upload(fy_ocl_call *c, int arg, fy_error *err);  // of host arguments only
fy_code fy_ocl_logical(fy_ocl_call *c, int arg, fy_error *err);
fy_code fy_ocl_generic(fy_ocl_call *c, int arg, fy_error *err);  // the reference, with our services

// Made at build time from kernels/*.cl.
extern const char fy_ocl_src_prelude[], fy_ocl_src_nn[], fy_ocl_src_gemm[], fy_ocl_src_reduce[],
    fy_ocl_src_move[], fy_ocl_src_random[], fy_ocl_src_image[], fy_ocl_src_grads[],
    fy_ocl_src_segment[];

#endif  // FY_OPENCL
#endif
