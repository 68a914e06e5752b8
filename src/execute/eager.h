// SPDX-License-Identifier: Apache-2.0
// eager.h: run one operation at a time.
//
// A *context* owns devices, functions, resources and prepared kernels. A *handle* is one reference
// to a value that may still be computed by an async executor. An *op* is a call being put together.
// The idea: a call that was made before finds its prepared kernel by a short key (op, attributes
// set, input types, device request), so that the second call handles no string and checks nothing
// twice.
//
// Threads: contexts, handles and executors may be shared; an op belongs to one thread.
// Devices of handles: NULL is CPU:0 of whatever context; handles elsewhere keep their context.
// Not here: TensorFlow's C types (api/eager_*.c).

#ifndef FY_EXECUTE_EAGER_H
#define FY_EXECUTE_EAGER_H

#include <stdatomic.h>

#include "base/options.h"
#include "execute/callable.h"
#include "execute/cancel.h"
#include "execute/program.h"
#include "place/device_name.h"

typedef struct fy_eager fy_eager;
typedef struct fy_handle fy_handle;
typedef struct fy_eager_op fy_eager_op;
typedef struct fy_eager_kernel fy_eager_kernel;
typedef struct fy_executor fy_executor;

#define FY_HOST_NAME    "/job:localhost/replica:0/task:0/device:CPU:0"
#define FY_HOST_ADDRESS "/job:localhost/replica:0/task:0"

typedef enum fy_copy_policy {  // an input lies elsewhere than the op wants it
  FY_COPY_EXPLICIT = 0,        // fail
  FY_COPY_WARN = 1,
  FY_COPY_SILENT = 2,
  FY_COPY_SILENT_INT32 = 3,
} fy_copy_policy;

// ---------------------------------------------------------------- decisions (eager_why.c)
// One kind of call (an op or function with these types, attributes and device request).
typedef struct fy_eager_call {
  const char *name, *types;  // "MatMul", "float, float"
  const char *device;        // full name
  const char *reason;
  int num_copies;
  struct fy_eager_call_copy {  // inputs that were not where the call wanted them
    int input;
    const char *from, *to;
    int64_t times, bytes;
  } * copies;
} fy_eager_call;
// Told of a call when it is made for the first time, and when it first copies an input.
typedef void (*fy_eager_explain_fn)(const fy_options *options, const fy_eager_call *call);
// Every kind of call that a kernel is prepared for, by name; in |arena|.
FY_MUST_CHECK fy_code fy_eager_calls(fy_eager *c, fy_arena *arena, fy_eager_call **out, size_t *n,
                                     fy_error *err);

// ---------------------------------------------------------------- contexts (eager_context.c)
typedef struct fy_eager_options {
  fy_options options;
  fy_copy_policy policy;
  bool async;
  // Says what was asked for (log_device_placement) or, |warning|, what the policy warns of.
  void (*log)(bool warning, const char *text);  // NULL: nobody listens
  fy_eager_explain_fn explain;                  // of calls, and
  fy_compiled_fn explain_body;                  // of functions; used if the options ask for it
} fy_eager_options;

FY_MUST_CHECK fy_code fy_eager_new(const fy_eager_options *options, fy_eager **out, fy_error *err);
void fy_eager_retain(fy_eager *c);
void fy_eager_release(fy_eager *c);
// Waits for the default executor and lets everything go that only the context needs.
void fy_eager_close(fy_eager *c);
fy_device_set *fy_eager_devices(fy_eager *c);
fy_funclib *fy_eager_functions(fy_eager *c);
// Replaces the devices by |count| CPUs. Only a growing number has an effect, as in TensorFlow.
FY_MUST_CHECK fy_code fy_eager_set_cpus(fy_eager *c, int count, fy_error *err);
void fy_eager_clear_caches(fy_eager *c);
size_t fy_eager_cached_kernels(fy_eager *c);
// A function was removed or replaced: prepared kernels and bodies that may hold it go.
void fy_eager_functions_changed(fy_eager *c);
void fy_eager_set_soft(fy_eager *c, bool soft);
void fy_eager_set_as_function(fy_eager *c, bool on);
void fy_eager_set_log(fy_eager *c, bool on);
fy_copy_policy fy_eager_policy(fy_eager *c);  // of the calling thread
FY_MUST_CHECK fy_code fy_eager_set_policy(fy_eager *c, fy_copy_policy policy, fy_error *err);
// NULL: the context's own. |e| is retained. The result of get carries a reference.
FY_MUST_CHECK fy_code fy_eager_set_executor(fy_eager *c, fy_executor *e, fy_error *err);
fy_executor *fy_eager_get_executor(fy_eager *c);
FY_MUST_CHECK fy_code fy_eager_wait(fy_eager *c,
                                    fy_error *err);  // for all executors of the context
void fy_eager_step(fy_eager *c, bool begin);
// The names TensorFlow's device manager knows: full, "/device:CPU:0", "CPU:0"; "" is CPU:0.
fy_device *fy_eager_find_device(fy_eager *c, const char *name);

// ---------------------------------------------------------------- handles (eager_handle.c)
struct fy_handle {
  atomic_int refs;
  atomic_int state;  // fy_handle_state; RELEASE after the rest is written
  fy_dtype dtype;
  bool packed;
  bool custom;        // on a device of the client's making; to whoever wants a tensor it has FAILED
  fy_tensor *tensor;  // READY: one reference
  const fy_device *device;           // where the memory is; NULL = CPU:0
  const fy_device *op_device;        // the device of the op that made it; NULL = CPU:0
  const fy_device *resource_device;  // of the resource that the handle holds; NULL = CPU:0
  fy_eager *context;  // retained if any device is set or the value is pending, else NULL
  struct fy_handle_extra *extra;  // copies on other devices, error, parts of a packed handle
};
typedef enum fy_handle_state {
  FY_HANDLE_READY,
  FY_HANDLE_PENDING,
  FY_HANDLE_FAILED
} fy_handle_state;

// Takes over one reference to |t|, also on failure (NULL result).
fy_handle *fy_handle_new(fy_tensor *t);
fy_handle *fy_handle_on(fy_tensor *t, fy_eager *c, const fy_device *device,
                        const fy_device *op_device, const fy_device *resource_device);
fy_handle *fy_handle_pending(fy_eager *c, fy_dtype dtype, const fy_device *device,
                             const fy_device *op_device);
void fy_handle_resolve(fy_handle *h, fy_tensor *t);  // takes over one reference; wakes who waits
void fy_handle_fail(fy_handle *h, const fy_error *error);
void fy_handle_free(fy_handle *h);
static inline void fy_handle_retain(fy_handle *h) {
  atomic_fetch_add_explicit(&h->refs, 1, memory_order_relaxed);
}
static inline void fy_handle_release(fy_handle *h) {
  if (atomic_load_explicit(&h->refs, memory_order_acquire) == 1 ||
      atomic_fetch_sub_explicit(&h->refs, 1, memory_order_acq_rel) == 1)
    fy_handle_free(h);
}
FY_MUST_CHECK fy_code fy_handle_wait_slow(fy_handle *h, fy_error *err);
// Waits for the value; the error is the one that it failed with.
static inline fy_code fy_handle_wait(fy_handle *h, fy_error *err) {
  if (FY_LIKELY(atomic_load_explicit(&h->state, memory_order_acquire) == FY_HANDLE_READY))
    return FY_OK;
  return fy_handle_wait_slow(h, err);
}
const char *fy_handle_device_name(const fy_handle *h);          // of the op
const char *fy_handle_backing_device_name(const fy_handle *h);  // of the memory
// The value where a client may use it as it likes: not in a mapped file. |*out| is borrowed. Waits.
FY_MUST_CHECK fy_code fy_handle_own_memory(fy_handle *h, fy_tensor **out, fy_error *err);
// The value in the memory of |device| (NULL: CPU:0), copied at most once per device: |*copied| (may be
// NULL) says if that was now. |*out| is borrowed from the handle. Waits.
FY_MUST_CHECK fy_code fy_handle_tensor_on(fy_handle *h, const fy_device *device, fy_tensor **out,
                                          bool *copied, fy_error *err);
FY_MUST_CHECK fy_code fy_handle_copy_to(fy_handle *h, fy_eager *c, fy_device *device,
                                        fy_handle **out, fy_error *err);
FY_MUST_CHECK fy_code fy_handle_pack(fy_eager *c, fy_handle **handles, int n, fy_handle **out,
                                     fy_error *err);
// ---------------------------------------------------------------- custom devices (eager_custom.c)
// Devices made of a client's callbacks: the context finds them by name and keeps them; who calls
// the callbacks is the API, which embeds both structs in its own.
typedef struct fy_custom_device {
  struct fy_custom_device *next;
  char *name;  // full
  fy_devname parsed;
  bool closed;
  void (*close)(struct fy_custom_device *d);  // the context is deleted; handles may still be there
  void (*free)(struct fy_custom_device *d);
} fy_custom_device;
typedef struct fy_custom_value {
  fy_custom_device *device;
  void (*drop)(struct fy_custom_value *v);
  void (*print)(fy_str *out, fy_handle *h, struct fy_custom_value *v);  // "value, shape=…"
} fy_custom_value;

// Takes |d| on success: INVALID_ARGUMENT for a name that is not full, ALREADY_EXISTS.
FY_MUST_CHECK fy_code fy_eager_add_custom(fy_eager *c, fy_custom_device *d, fy_error *err);
fy_custom_device *fy_eager_find_custom(fy_eager *c, const char *name);  // NULL if there is none
// Takes |v| on success.
fy_handle *fy_handle_on_custom(fy_eager *c, fy_dtype dtype, fy_custom_value *v);
fy_custom_value *fy_handle_custom_value(const fy_handle *h);  // of a handle with |custom|

// The value as NumPy prints it; as TensorFlow describes a handle in errors.
void fy_handle_print_value(fy_str *out, const fy_tensor *t);
void fy_handle_print(fy_str *out, fy_handle *h);

// ---------------------------------------------------------------- ops (eager_op.c)
#define FY_EAGER_INLINE_ATTRS  8
#define FY_EAGER_INLINE_INPUTS 8
#define FY_EAGER_RECENT        8

struct fy_eager_op {
  fy_eager *context;
  const fy_op *op;  // NULL: a call of |function|
  const fy_function *function;
  const char *name;
  fy_handle **inputs;  // flat; references of ours
  uint32_t num_inputs, cap_inputs;
  uint32_t num_attrs, cap_attrs;
  fy_named_attr *attrs;  // in the order they were set; the first setting of a name counts
  uint32_t next_arg;     // input arguments seen while inferring
  bool inferring;        // false once a list came as single inputs
  bool has_lists;
  bool has_resources;
  bool has_packed;
  bool has_custom;          // an input is on a custom device, or the request names one
  uint32_t *arg_counts;     // [next_arg] tensors per argument, valid if has_lists
  int32_t request;          // device request: index in the context's table; 0 = none
  const fy_device *device;  // chosen by the last execution
  fy_cancel *cancel;
  uint32_t expected;  // inputs of the last execution, which took them
  // Kernels that this op object used lately, by hash; it keeps them, so that using one again needs
  // no lock. Dropped when the context's generation moves on.
  fy_eager_kernel *recent[FY_EAGER_RECENT];
  uint64_t generation;
  fy_arena arena;  // values of attributes
  fy_handle *inline_inputs[FY_EAGER_INLINE_INPUTS];
  fy_named_attr inline_attrs[FY_EAGER_INLINE_ATTRS];
};

// Finds the op or function. NOT_FOUND as TensorFlow says it.
FY_MUST_CHECK fy_code fy_eager_op_new(fy_eager *c, const char *name, fy_eager_op **out,
                                      fy_error *err);
FY_MUST_CHECK fy_code fy_eager_op_reset(fy_eager_op *op, const char *name, const char *device,
                                        fy_error *err);
void fy_eager_op_free(fy_eager_op *op);
FY_MUST_CHECK fy_code fy_eager_op_set_device(fy_eager_op *op, const char *device, fy_error *err);
const char *fy_eager_op_device(const fy_eager_op *op);
FY_MUST_CHECK fy_code fy_eager_op_add_input(fy_eager_op *op, fy_handle *h, fy_error *err);
FY_MUST_CHECK fy_code fy_eager_op_add_inputs(fy_eager_op *op, fy_handle **h, int n, fy_error *err);
void fy_eager_op_drop_inputs(fy_eager_op *op);
// |value| is taken as it is: its memory must be op->arena's or static. Ignored if the name has a
// value, set or inferred. False when memory is short.
bool fy_eager_op_set_attr(fy_eager_op *op, const char *name, const fy_attr *value);
// Attributes set and inferred, with defaults if |defaults|; memory is |arena|'s or the op's.
FY_MUST_CHECK fy_code fy_eager_op_attrs(const fy_eager_op *op, bool defaults, fy_arena *arena,
                                        fy_attrs *out, fy_error *err);
void fy_eager_op_print(fy_str *out, const fy_eager_op *op);  // as TensorFlow's DebugString
const fy_op_spec *fy_eager_op_spec(const fy_eager_op *op);
// "'X' is neither a type of a primitive operation nor …"
fy_code fy_eager_unknown_op(const char *name, fy_error *err);
const char *fy_eager_host(void);  // this machine's name, for texts

// ---------------------------------------------------------------- running (eager_run.c)
// |*num_results| is the room and becomes the count. The op's inputs are let go.
FY_MUST_CHECK fy_code fy_eager_execute(fy_eager_op *op, fy_handle **results, int *num_results,
                                       fy_error *err);

// ---------------------------------------------------------------- executors (eager_executor.c)
typedef struct fy_executor_task {
  struct fy_executor_task *next;
  // Runs the task, or, if |poison| is not NULL, fails it.
  fy_code (*run)(struct fy_executor_task *task, const fy_error *poison, fy_error *err);
  // Tells who waits for it how it ended, and frees it. By then the executor knows of an error: who saw
  // one result fail finds the executor stopped.
  void (*end)(struct fy_executor_task *task, fy_code code, const fy_error *err);
} fy_executor_task;

fy_executor *fy_executor_new(bool async);
void fy_executor_retain(fy_executor *e);
void fy_executor_release(fy_executor *e);  // the last one waits for the queue
bool fy_executor_is_async(const fy_executor *e);
// The error that stops the executor, with TensorFlow's sentence, or FY_OK.
FY_MUST_CHECK fy_code fy_executor_status(fy_executor *e, fy_error *err);
FY_MUST_CHECK fy_code fy_executor_add(fy_executor *e, fy_executor_task *task, fy_error *err);
FY_MUST_CHECK fy_code fy_executor_wait(fy_executor *e, fy_error *err);
void fy_executor_clear_error(fy_executor *e);

#endif
