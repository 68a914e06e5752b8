// SPDX-License-Identifier: Apache-2.0
// eager_impl.h: what the eager_*.c files share. Private to them.

#ifndef FY_EXECUTE_EAGER_IMPL_H
#define FY_EXECUTE_EAGER_IMPL_H

#include "execute/eager.h"
#include "execute/kernel_call.h"

// A short critical section: a handful of instructions, never a call that may block.
typedef atomic_flag fy_spin;
static inline void fy_spin_lock(fy_spin *s) {
  while (atomic_flag_test_and_set_explicit(s, memory_order_acquire)) fy_cpu_relax();
}
static inline void fy_spin_unlock(fy_spin *s) {
  atomic_flag_clear_explicit(s, memory_order_release);
}

// Function instances; replaced as a whole when a function goes. Kernels in use keep the old one.
typedef struct fy_eager_bodies {
  atomic_int refs;
  fy_callables *callables;
} fy_eager_bodies;

#define FY_EAGER_MAX_KEY     64                                 // words; a longer one is not cached
#define FY_EAGER_MAX_KERNELS 4096                               // then everything idle goes
#define FY_EAGER_ANYWHERE    ((const fy_device *)(uintptr_t)1)  // takes an input wherever it is

typedef struct fy_eager_copied {
  atomic_llong times, bytes;
  _Atomic(const fy_device *) from;  // the last time; NULL = CPU:0
} fy_eager_copied;

struct fy_eager_kernel {
  fy_eager_kernel *next;  // in its bucket, or in a list of the dead
  atomic_int users;       // running calls + 1 while in the table
  uint64_t hash;
  uint32_t key_words;
  uint64_t *key;
  fy_site site;
  fy_attrs attrs;
  fy_device *device;
  const fy_device *op_device;    // NULL = CPU:0
  const fy_device **in_device;   // [num_inputs] where each input is wanted
  const fy_device **out_device;  // [num_outputs] where each output is
  const char *reason;            // why |device|
  fy_eager_copied *copied;       // [num_inputs] what had to be brought there
  fy_resources *resources;
  const char *function;  // a call: the function's name for error texts
  int prefixes;          // how often an error names the function
  fy_eager_bodies *bodies;
  fy_arena arena;
};

typedef struct fy_eager_thread {  // what one thread asked for
  struct fy_eager_thread *next;
  pthread_t thread;
  int policy;             // -1: the context's
  fy_executor *executor;  // NULL: the context's
} fy_eager_thread;

typedef struct fy_eager_request {
  char *text;  // as TFE_OpGetDevice gives it
  fy_devname name;
} fy_eager_request;

#define FY_EAGER_SPARES 4

struct fy_eager {
  atomic_int refs;
  fy_options options;
  fy_device_set *devices;
  fy_resources **resources;  // [devices->n]
  fy_device_set **old_sets;  // devices before fy_eager_set_cpus
  size_t num_old_sets, cap_old_sets;
  fy_funclib *functions;
  atomic_bool soft, log, as_function;
  int policy;
  bool async;                                   // the default executor's
  void (*say)(bool warning, const char *text);  // NULL: nobody listens
  fy_eager_explain_fn explain;                  // NULL: nobody asks
  fy_compiled_fn explain_body;
  fy_executor *executor;
  atomic_llong step;
  // prepared kernels
  atomic_ullong generation;  // moves on when they are cleared
  fy_spin spin;
  fy_eager_kernel **buckets;
  uint32_t mask, num_kernels;
  // the rest under |lock|
  fy_mutex lock;
  fy_eager_bodies *bodies;
  fy_eager_thread *threads;
  atomic_int num_threads;  // 0: nobody asked for anything special
  fy_eager_request *requests;
  size_t num_requests, cap_requests;
  _Atomic(fy_custom_device *) customs;  // written under the lock
  _Atomic(fy_eager_op *) spares[FY_EAGER_SPARES];
};

struct fy_handle_extra {
  fy_error error;
  struct fy_handle_copy {
    const fy_device *device;
    fy_tensor *tensor;
    struct fy_device_set *set;  // of |device|, with a reference; NULL for the host
  } * copies;
  size_t num_copies, cap_copies;
  fy_handle **parts;
  int num_parts;
  fy_custom_value *custom;
};

static inline const fy_device *fy_eager_slot(const fy_eager *c, const fy_device *d) {
  return d == c->devices->client ? NULL : d;  // how handles name a device
}

// eager_context.c
FY_MUST_CHECK fy_code fy_eager_request_of(fy_eager *c, const char *text, int32_t *out,
                                          bool *malformed, fy_error *err);
fy_eager_bodies *fy_eager_take_bodies(fy_eager *c);  // a reference; NULL when memory is short
void fy_eager_drop_bodies(fy_eager_bodies *b);

// eager_place.c
// Chooses where |op| runs. A resource among its inputs wins over the request.
FY_MUST_CHECK fy_code fy_eager_place(fy_eager *c, const fy_eager_op *op, const fy_attrs *attrs,
                                     fy_device **out, fy_error *err);
// Whether |d| could run |op|; on no, |why| (may be NULL) gets the reason.
bool fy_eager_supports(const fy_eager_op *op, const fy_attrs *attrs, fy_device *d, fy_error *why);
// The device of the first resource among the inputs, or NULL.
fy_device *fy_eager_resource_device(const fy_eager *c, const fy_eager_op *op);

// eager_why.c
// Why |op| runs on |d|; in |arena|, or a constant.
const char *fy_eager_reason(fy_eager *c, const fy_eager_op *op, const fy_attrs *attrs,
                            const fy_device *d, fy_arena *arena);
// Input |i|, |bytes| long, was copied to where |k| wants it.
void fy_eager_note_copy(fy_eager *c, fy_eager_kernel *k, int i, const fy_device *from,
                        size_t bytes);
void fy_eager_tell(fy_eager *c, fy_eager_kernel *k);  // to whoever asks: what |k| is

// eager_custom.c
void fy_eager_close_customs(fy_eager *c);
void fy_eager_free_customs(fy_eager *c);

// eager_packed.c
// Puts plain handles in the place of packed ones among the inputs.
FY_MUST_CHECK fy_code fy_eager_unpack_inputs(fy_eager_op *op, fy_error *err);

// eager_kernel.c
// The kernel for the call that |op| describes. |*own|: nobody else knows it and the caller puts it;
// otherwise |op| keeps it until its next execution.
FY_MUST_CHECK fy_code fy_eager_kernel_get(fy_eager_op *op, fy_eager_kernel **out, bool *own,
                                          fy_error *err);
void fy_eager_drop_recent(fy_eager_op *op);
void fy_eager_kernel_free(fy_eager_kernel *k);
static inline void fy_eager_kernel_put(fy_eager_kernel *k) {
  if (atomic_fetch_sub_explicit(&k->users, 1, memory_order_acq_rel) == 1) fy_eager_kernel_free(k);
}

#endif
