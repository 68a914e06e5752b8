// SPDX-License-Identifier: Apache-2.0
// op.h: what an operation means: shape function, reference loop, and how a kernel talks to whoever
// runs it. An op is one FY_OP(...) in one file and one line in list.inc.
//
// The life of a kernel: a *site* is an op bound to attributes, types and a device. prepare() runs once
// per site and reads the attributes into site->state; compute() runs for every call, from many threads
// at once, and must treat the site as read-only. Outputs are made by fy_out* below, never by hand, so
// that the memory planner, eager mode and every device can decide where the bytes are.

#ifndef FY_OPS_OP_H
#define FY_OPS_OP_H

#include <stdatomic.h>

#include "base/arena.h"
#include "base/pool.h"
#include "base/status.h"
#include "ops/spec.h"
#include "tensor/attr.h"
#include "tensor/tensor.h"

struct fy_device;
typedef struct fy_site fy_site;
typedef struct fy_fast_kernel fy_fast_kernel;
typedef struct fy_kernel_ctx fy_kernel_ctx;
typedef struct fy_shape_ctx fy_shape_ctx;
typedef struct fy_sample fy_sample;

// ---------------------------------------------------------------- shape functions
typedef struct fy_handle_shape {  // what a resource or a list of tensors holds
  fy_dtype dtype;                 // FY_INVALID = unknown
  fy_pshape shape;
} fy_handle_shape;

struct fy_shape_ctx {
  const fy_op_spec *spec;
  const fy_attrs *attrs;
  const char *node_name;
  int num_inputs, num_outputs;
  const fy_dtype *in_types, *out_types;
  const fy_pshape *in;
  const fy_tensor *const *in_value;  // [num_inputs] constant value of the input, or NULL
  const fy_pshape *in_as_shape;  // [num_inputs] a 1-D integer input read as a shape: what is known
  const fy_handle_shape *in_handle;  // [num_inputs]
  fy_pshape *out;                    // [num_outputs] preset to unknown rank
  fy_handle_shape *out_handle;       // [num_outputs] preset to unknown
  fy_pshape *out_as_shape;           // [num_outputs] preset to unknown: value of a small 1-D output
  uint64_t asked_values, asked_shapes;  // bit per input that the function looked into, for errors
  uint64_t packed;                      // bit per input: a Pack made it
  // Finds out the value of input |i|, which then is in in_value; NULL if it is not known.
  const fy_tensor *(*evaluate)(fy_shape_ctx *ctx, int i);
  uint64_t evaluated;     // bit per input: evaluate() was asked
  const void *node;       // evaluate()'s own
  const void *functions;  // function library (graph/) for functional ops
  fy_arena *arena;        // for dims of results
};
typedef fy_code (*fy_shape_fn)(fy_shape_ctx *ctx, fy_error *err);

// ---------------------------------------------------------------- kernels
struct fy_site {
  const fy_op *op;
  const fy_attrs *attrs;
  const char *node_name;
  int num_inputs, num_outputs;
  const fy_dtype *in_types, *out_types;
  struct fy_device *device;
  const fy_pshape *in_shapes;        // what the compiler knows; NULL in eager mode
  const fy_tensor *const *in_value;  // constants known at compile time; NULL in eager mode
  void *state;                       // prepare()'s; freed by release()
  const fy_fast_kernel *fast;        // a device's better kernel, or NULL: op->impl->compute
  void *fast_state;                  // its own; freed by its release()
  // Bit per input whose memory nothing in this program writes: a kernel that keeps a reference to it
  // may keep what it made of it (packed weights). Constants, and variables that are only read.
  uint64_t steady_inputs;
  void **functions;   // instantiated functions in attribute order: If then, else; While cond, body;
  int num_functions;  // Case its branches; PartitionedCall f (execute/)
  uint32_t flags;
  // What nodes keep from program to program of one session, found by function and node (fy_site_keep);
  // NULL: nothing outlives this site.
  struct fy_resources *kept;
  const char *body_of;          // the function that the node is in, or NULL
  const char *const *in_names;  // for kernels of others: "node" or "node:2"; NULL in eager mode
};

// What a running kernel may ask for. One vtable per way of running (program, eager, simulated device).
typedef struct fy_services {
  fy_code (*output)(fy_kernel_ctx *ctx, int i, int32_t rank, const int64_t *dims, fy_error *err);
  // Memory for this call only, 64-byte aligned, host-addressable by the kernel.
  fy_code (*scratch)(fy_kernel_ctx *ctx, size_t bytes, void **out, fy_error *err);
  void (*parallel)(fy_kernel_ctx *ctx, int64_t n, double ns_per_item,
                   void (*fn)(void *arg, int64_t begin, int64_t end), void *arg);
  bool (*cancelled)(fy_kernel_ctx *ctx);
  // The session's resources: looks up or creates (execute/resource.h).
  struct fy_resources *(*resources)(fy_kernel_ctx *ctx);
  // Runs instantiated function |fn| of this site. |results| receive one reference each.
  fy_code (*call)(fy_kernel_ctx *ctx, void *fn, fy_tensor *const *args, int num_args,
                  fy_tensor **results, int num_results, fy_error *err);
  // The same for arguments that are let go afterwards (of a loop's step): the function may change what
  // nobody else holds. NULL: call.
  fy_code (*call_giving)(fy_kernel_ctx *ctx, void *fn, fy_tensor *const *args, int num_args,
                         fy_tensor **results, int num_results, fy_error *err);
  // Is input |j| held by nobody else, and read by nobody after this kernel? NULL: never.
  bool (*may_change)(fy_kernel_ctx *ctx, int j);
  int64_t (*step_id)(fy_kernel_ctx *ctx);
  // A fresh tensor in the memory of the kernel's device that may outlive the call (a variable's value).
  fy_code (*allocate)(fy_kernel_ctx *ctx, fy_dtype dtype, int32_t rank, const int64_t *dims,
                      fy_tensor **out, fy_error *err);
  // |t| as the kernel may address it: |t| itself on the host; on a device whose memory the host cannot
  // touch, |storage| filled with a view of the same bytes. For tensors that are neither in nor out,
  // such as a variable's value or what allocate() made.
  fy_tensor *(*view)(fy_kernel_ctx *ctx, fy_tensor *t, fy_tensor *storage);
  // |t| (anywhere) in the memory of the kernel's device: itself or a copy, with a reference of the
  // caller's own. For a variable that another run left elsewhere. NULL: everything is on the host.
  fy_code (*bring)(fy_kernel_ctx *ctx, fy_tensor *t, fy_tensor **out, fy_error *err);
  // Makes output |i| from the memory of input |j| if it fits and nobody else needs it; else false.
  // NULL: never.
  bool (*forward)(fy_kernel_ctx *ctx, int i, int j, int32_t rank, const int64_t *dims);
  // A copy of |t|, which is in a device's memory, on the host. NULL: nothing is ever elsewhere.
  fy_code (*to_host)(fy_kernel_ctx *ctx, fy_tensor *t, fy_tensor **out, fy_error *err);
  // |t| where it is, as a tensor that may outlive the call: shares |t|'s memory if that may.
  fy_code (*keep)(fy_kernel_ctx *ctx, fy_tensor *t, fy_tensor **out, fy_error *err);
  // The loops of fy_strided_copy and fy_random_fill for tensors in the memory of a device that has
  // its own. NULL: kernels may touch every tensor they get.
  fy_code (*strided)(fy_kernel_ctx *ctx, fy_tensor *out, const fy_tensor *in, int32_t rank,
                     const int64_t *dims, const int64_t *strides, int64_t offset, fy_error *err);
  fy_code (*random)(fy_kernel_ctx *ctx, const void *kind, void *job, const fy_tensor *out);
  bool shares_parts;  // an output may be part of an input's memory (fy_out_part)
} fy_services;

struct fy_kernel_ctx {
  const fy_site *site;
  const fy_services *svc;
  fy_tensor **in;   // [num_inputs] never NULL
  fy_tensor **out;  // [num_outputs] planned tensors or NULL; set by fy_out*
  bool *out_owned;  // [num_outputs] true: out[i] carries a reference of its own
  void *run;        // the runner's own
  int threads;      // how many threads a loop may use now; 1 = do not bother to split
  // Planned memory for this call that scratch() hands out first, in the device's memory; and what was
  // asked of scratch() so far, in whole lines of 64 bytes.
  void *scratch;
  size_t scratch_left, scratch_asked;
};

typedef fy_code (*fy_compute_fn)(fy_kernel_ctx *ctx, fy_error *err);
typedef fy_code (*fy_prepare_fn)(fy_site *site, fy_error *err);

// Memory that a call takes besides its outputs, told from shapes alone before any run, so that it can
// be planned and predicted.
typedef struct fy_needs {
  size_t
      scratch;  // during the call: the sum of what it will ask of fy_scratch, in lines of 64 bytes
  size_t kept;  // between calls: what the kernel makes of its weights
} fy_needs;
// |ctx| is no real call: inputs and outputs have types and shapes; only constants on the host have data.
typedef void (*fy_needs_fn)(fy_kernel_ctx *ctx, fy_needs *out);
static inline size_t fy_scratch_line(size_t bytes) {
  return bytes ? (bytes + 63) / 64 * 64 : 64;
}

// A faster kernel of a device for some cases of an op; the device has a list of them. What compute()
// does not know it hands to the reference, op->impl->compute, which also words the errors.
struct fy_fast_kernel {
  const char *op, *name;  // the name tells users what ran: "gemm"
  uint64_t dtypes;        // bit per dtype of input 0
  fy_prepare_fn prepare;  // sets site->fast_state; may be NULL
  fy_compute_fn compute;
  void (*release)(void *state);
  fy_needs_fn needs;  // NULL: nothing, or found out at the first run
};

// Estimated cost of one call, from shapes alone. Unknown dims count as 1.
typedef struct fy_cost {
  double flops;
  double bytes;  // read + written
} fy_cost;
typedef void (*fy_cost_fn)(const fy_site *site, const fy_pshape *in, const fy_pshape *out,
                           fy_cost *cost);

// Says before any run that output |out| is the elements of input |*in| from |*first| on, in their order,
// so that its memory may be a part of that input's. False: it is not, or only the data can tell.
// Reads attributes, shapes and constants; prepare() need not have run.
typedef bool (*fy_part_fn)(const fy_site *site, int out, int *in, int64_t *first);

enum {
  FY_OP_INPLACE = 1 << 0,  // output 0 may be the memory of an input of equal dtype and count
  FY_OP_ALIAS = 1 << 1,    // output 0 is the memory of input 0 (Identity, Reshape…): never copies
  FY_OP_HOST = 1 << 2,     // runs on the host only: no kernel on any other device
  FY_OP_ANY_DEVICE_HOST_DATA = 1 << 3,  // "runs" on any device but touches host memory only
  FY_OP_DYNAMIC = 1 << 4,               // an output's shape depends on data: never planned
  FY_OP_ASYNC = 1 << 5,             // may block (queues): never runs on the caller's straight line
  FY_OP_NO_FOLD = 1 << 6,           // not to be evaluated ahead of time although stateless
  FY_OP_CHEAP = 1 << 7,             // never worth a thread hand-off
  FY_OP_SETS_OUTPUT = 1 << 8,       // publishes existing tensors by fy_out_set (variables, calls)
  FY_OP_ANY_SPACE = 1 << 9,         // takes inputs wherever they are: functional control flow
  FY_OP_CALLS_FUNCTIONS = 1 << 10,  // runs the functions its attributes name (site->functions)
};

// Element-wise scalar functions that the fused kernel knows (optimize/fuse, devices). 0 = not fusable.
typedef enum fy_ew {
  FY_EW_NONE = 0,
  FY_EW_ADD,
  FY_EW_SUB,
  FY_EW_MUL,
  FY_EW_DIV,
  FY_EW_MAX,
  FY_EW_MIN,
  FY_EW_SQDIFF,
  FY_EW_POW,
  FY_EW_NEG,
  FY_EW_ABS,
  FY_EW_SQUARE,
  FY_EW_SQRT,
  FY_EW_RSQRT,
  FY_EW_EXP,
  FY_EW_LOG,
  FY_EW_LOG1P,
  FY_EW_EXPM1,
  FY_EW_TANH,
  FY_EW_SIGMOID,
  FY_EW_RELU,
  FY_EW_RELU6,
  FY_EW_ELU,
  FY_EW_SELU,
  FY_EW_SOFTPLUS,
  FY_EW_SOFTSIGN,
  FY_EW_SIN,
  FY_EW_COS,
  FY_EW_ERF,
  FY_EW_FLOOR,
  FY_EW_CEIL,
  FY_EW_RINT,
  FY_EW_RECIPROCAL,
  FY_EW_SIGN,
  FY_EW_LEAKY_RELU,
  FY_EW_ERFC,
  FY_EW_COUNT
} fy_ew;

struct fy_op_impl {
  const char *name;
  fy_shape_fn shape;
  fy_prepare_fn prepare;  // may be NULL
  fy_compute_fn compute;  // NULL: structural (Placeholder…), handled by the runner
  void (*release)(void *state);
  fy_cost_fn cost;    // NULL: one flop per output element
  fy_needs_fn needs;  // NULL: nothing, or found out at the first run
  fy_part_fn part;    // NULL: outputs are memory of their own; else compute() asks fy_out_part
  const fy_sample *samples;
  uint32_t num_samples;
  uint32_t flags;
  uint64_t host_inputs;   // bit per argument of the spec: lives in host memory on every device
  uint64_t host_outputs;  // (shapes, axes, sizes, resource handles, strings need not be listed)
  uint64_t dtypes;        // bit per dtype the loop handles; 0 = whatever the spec's cpu_kernels say
  fy_ew elementwise;
  const void *aux;  // static data of a family's shared prepare/compute (its table of loops)
};

// What runs: the device's kernel, or the reference; NULL for structural ops and those of users.
static inline fy_compute_fn fy_site_compute(const fy_site *site) {
  return site->fast ? site->fast->compute : site->op->impl ? site->op->impl->compute : NULL;
}

// `FY_OP(Softmax, .shape = …, .compute = …, FY_SAMPLES(softmax_samples));` at the end of an op's file.
#define FY_OP(op_name, ...) const fy_op_impl fy_impl_##op_name = {.name = #op_name, __VA_ARGS__}
#define FY_SAMPLES(array)   .samples = (array), .num_samples = sizeof(array) / sizeof((array)[0])
#define FY_T(dtype)         (1ull << (dtype))

// ---------------------------------------------------------------- outputs
// Makes output |i| with this shape. Its memory may be that of an input if the op is INPLACE.
static inline fy_code fy_out(fy_kernel_ctx *ctx, int i, int32_t rank, const int64_t *dims,
                             fy_tensor **out, fy_error *err) {
  fy_tensor *t = ctx->out[i];
  if (FY_UNLIKELY(!t || !fy_shape_equal(t->rank, t->dims, rank, dims))) {
    fy_code code = ctx->svc->output(ctx, i, rank, dims, err);
    if (code) return code;
    t = ctx->out[i];
  }
  *out = t;
  return FY_OK;
}
static inline fy_code fy_out_like(fy_kernel_ctx *ctx, int i, const fy_tensor *like, fy_tensor **out,
                                  fy_error *err) {
  return fy_out(ctx, i, like->rank, like->dims, out, err);
}
// Publishes |t| as output |i| and takes over one reference to it.
void fy_out_set(fy_kernel_ctx *ctx, int i, fy_tensor *t);
// Output |i| shares input |j|'s memory under another shape (same element count).
FY_MUST_CHECK fy_code fy_out_alias(fy_kernel_ctx *ctx, int i, int j, int32_t rank,
                                   const int64_t *dims, fy_error *err);

// Output |i| as the elements of input |j| from |first| on, without a copy: true if that is where its
// memory was planned, or if it has none yet and may keep the input's. False: make it by fy_out.
#define FY_PART_BYTES 64  // parts start at multiples of this, seen from the input
bool fy_out_part(fy_kernel_ctx *ctx, int i, int j, int64_t first, int32_t rank,
                 const int64_t *dims);

static inline fy_code fy_scratch(fy_kernel_ctx *ctx, size_t bytes, void **out, fy_error *err) {
  return ctx->svc->scratch(ctx, bytes, out, err);
}
// Working memory for the pieces of a split loop: as many slices of |bytes| as pieces may run at once.
// A piece takes one and gives it back; who finds none free waits for it.
typedef struct fy_slices {
  char *base;
  size_t bytes;  // of one, in whole lines
  int n;
  atomic_uint_least64_t taken;
} fy_slices;
size_t fy_slices_needs(const fy_kernel_ctx *ctx, int64_t items, size_t bytes);  // for fy_needs
FY_MUST_CHECK fy_code fy_slices_make(fy_kernel_ctx *ctx, int64_t items, size_t bytes,
                                     fy_slices *out, fy_error *err);
void *fy_slice_take(fy_slices *s);
void fy_slice_give(fy_slices *s, void *slice);

// Whether a loop of |ns| is not worth splitting: handing a piece to a worker that watches costs less than a
// microsecond, so it must be worth several of them.
static inline bool fy_loop_is_short(const fy_kernel_ctx *ctx, double ns) {
  return ctx->threads <= 1 || ns < 2 * FY_POOL_PIECE_NS;
}
// Splits [0, n) over threads when that pays: |ns_per_item| is a rough cost of one item.
void fy_parallel(fy_kernel_ctx *ctx, int64_t n, double ns_per_item,
                 void (*fn)(void *arg, int64_t begin, int64_t end), void *arg);

// ---------------------------------------------------------------- attributes, in prepare()
// The spec's defaults are already filled in; a wrong kind is INTERNAL (specs were checked before).
int64_t fy_site_int(const fy_site *site, const char *name);
float fy_site_float(const fy_site *site, const char *name);
bool fy_site_bool(const fy_site *site, const char *name);
fy_dtype fy_site_type(const fy_site *site, const char *name);
fy_view fy_site_string(const fy_site *site, const char *name);
const fy_attr *fy_site_attr(const fy_site *site, const char *name);  // NULL if absent

// ---------------------------------------------------------------- samples: examples that test, bench and document
struct fy_sample {
  const char
      *inputs;  // "f32[2,3]=normal; i32[]=1": see tests/README or ops/sample.c for the grammar
  const char *attrs;  // "transpose_a=true; T=float", or NULL
  fy_code code;       // expected status
  const char *text;   // expected part of the message when code is not OK, or the values of output 0
};

// ---------------------------------------------------------------- registry
extern const fy_op_impl *const fy_op_impls[];  // from list.inc, sorted by name
extern const size_t fy_op_impl_count;

// Is there a kernel for this op with these attributes on |device_type| ("CPU", "GPU")? On no, |why|
// (may be NULL) gets the reason: "no kernel for op X", "T=string not in [float, double]".
bool fy_op_has_kernel(const fy_op *op, const fy_attrs *attrs, const char *device_type,
                      fy_error *why);
// Kernels of third parties live in api/, which tells ops/ how to ask them. Set once, early.
typedef struct fy_user_kernel_hooks {
  // Does any kernel of the chain fit? Called with the registry locked.
  bool (*matches)(const struct fy_user_kernel *kernels, const fy_attrs *attrs,
                  const char *device_type);
  void (*print)(fy_str *out, const struct fy_user_kernel *kernels);  // lines as below
  fy_code (*bind)(fy_site *site, fy_error *err);  // makes the kernel object of a site
  void (*unbind)(fy_site *site);
  fy_code (*compute)(fy_kernel_ctx *ctx, fy_error *err);
} fy_user_kernel_hooks;
void fy_op_set_user_kernel_hooks(const fy_user_kernel_hooks *hooks);
void fy_op_set_user_shape_hook(fy_code (*infer)(const fy_op *op, fy_shape_ctx *ctx, fy_error *err));
// What the hooks do; UNIMPLEMENTED while none are installed.
FY_MUST_CHECK fy_code fy_user_kernel_bind(fy_site *site, fy_error *err);
void fy_user_kernel_unbind(fy_site *site);
FY_MUST_CHECK fy_code fy_user_kernel_compute(fy_kernel_ctx *ctx, fy_error *err);
FY_MUST_CHECK fy_code fy_user_shape_infer(const fy_op *op, fy_shape_ctx *ctx, fy_error *err);

// "  device='CPU'; T in [DT_FLOAT]\n…" of every registration, as TensorFlow lists them.
void fy_op_print_kernels(fy_str *out, const fy_op *op);

#endif
