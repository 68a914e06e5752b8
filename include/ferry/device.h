// SPDX-License-Identifier: Apache-2.0
// device.h: the contract of a device: memory of its own, queues, copies, launches, events.
// A backend fills one fy_device_ops and one fy_device per unit; src/devices/sim/ is the template to read.
// Invariants: an address from alloc() is only ever touched by the device's own copy() and launch();
// a function that fails leaves the device usable unless it says FY_UNAVAILABLE (device lost).
// Threads: every function may be called from several threads at once.

#ifndef FERRY_DEVICE_H
#define FERRY_DEVICE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#ifdef __cplusplus
extern "C" {
#endif

struct fy_error;
struct fy_kernel_ctx;
struct fy_op;
struct fy_attrs;
struct fy_site;
struct fy_pool;
struct fy_mempool;
typedef struct fy_device fy_device;

typedef enum fy_queue {
  FY_QUEUE_COMPUTE = 0,
  FY_QUEUE_IN = 1,
  FY_QUEUE_OUT = 2,
  FY_QUEUES = 3
} fy_queue;

// A moment on one queue of one device. Waiting on another device's event is legal and checked.
typedef struct fy_event {
  fy_device *device;  // NULL: already happened
  int32_t queue;
  uint64_t seq;   // position in the queue
  int64_t at_ns;  // the device's clock when it completes (virtual on the simulator); 0 = unknown
} fy_event;

typedef enum fy_copy_kind {
  FY_COPY_HOST_TO_DEVICE,
  FY_COPY_DEVICE_TO_HOST,
  FY_COPY_DEVICE_TO_DEVICE,  // |peer| is the source's device
} fy_copy_kind;

typedef struct fy_device_info {
  char description[160];  // what the hardware is, honestly ("simulated GPU: …")
  char physical[128];     // TensorFlow's physical_device_desc
  uint64_t memory_total;  // bytes the unit has
  uint64_t memory_limit;  // bytes we may take
  double flops;           // modelled or measured peak, float32 FLOP/s
  double memory_bytes_per_s;
  double link_bytes_per_s;  // host <-> device; 0 = shares host memory
  double link_latency_ns;
  double launch_ns;  // cost of starting one kernel
  bool simulated;
  char shared[40];  // processes whose devices name the same here share one memory; "" = nobody else
} fy_device_info;

typedef struct fy_device_ops {
  const char *backend;  // "cpu", "sim", "opencl", "cuda"
  void (*close)(fy_device *d);
  void (*info)(fy_device *d, fy_device_info *out);
  // Raw memory (pools sub-allocate). RESOURCE_EXHAUSTED when over the limit.
  int (*alloc)(fy_device *d, size_t bytes, void **out, struct fy_error *err);
  void (*free)(fy_device *d, void *p, size_t bytes);
  // Copies |bytes| after |after| (may be NULL) happened; |done| (may be NULL) receives the event.
  // The host's side is free to be used again, or has its bytes, when the function returns; |done| says
  // when that is by the device's clock, and when the device's side is ready.
  int (*copy)(fy_device *d, fy_copy_kind kind, void *dst, const void *src, size_t bytes,
              fy_device *peer, const fy_event *after, fy_event *done, struct fy_error *err);
  // Runs the kernel of ctx->site on the compute queue after |after[0..n)| happened.
  int (*launch)(fy_device *d, struct fy_kernel_ctx *ctx, const fy_event *after, int num_after,
                fy_event *done, struct fy_error *err);
  int (*wait)(fy_device *d, const fy_event *event, struct fy_error *err);  // until |event| happened
  // May this op with these attributes run here? On false |why| says the reason in one sentence.
  bool (*supports)(fy_device *d, const struct fy_op *op, const struct fy_attrs *attrs,
                   struct fy_error *why);
  double (*busy)(fy_device *d);  // share of the device others keep busy, 0..1; may be NULL
} fy_device_ops;

struct fy_device {
  const fy_device_ops *ops;
  char name[128];  // "/job:localhost/replica:0/task:0/device:GPU:0"
  char type[16];   // "CPU", "GPU"
  int index;       // the number in the name
  int ordinal;     // position in its device set
  uint64_t incarnation;
  bool is_host;               // its memory is host memory: no transfers to or from the host
  bool dedicated;             // has cores of its own: its work must run on |pool|
  fy_device_info facts;       // what info() said when the device was opened
  struct fy_pool *pool;       // threads that run its kernels (CPU devices)
  struct fy_mempool *memory;  // sub-allocator for run-time tensors (memory/pool.h)
  void *impl;
  int lost;  // said UNAVAILABLE once: nothing is placed there any more (atomic)
};

#ifdef __cplusplus
}
#endif

#endif
