// SPDX-License-Identifier: Apache-2.0
// opencl_clblast.c: large products of matrices by CLBlast, which is tuned for many devices.
//
// The library is opened at run time. It compiles its kernels when first used, for seconds on PoCL
// (measured: 7 s, then up to 13 GFLOP/s against 1.8 of our own kernel at n = 512), so a device starts with our kernel
// and changes over when the work done so far would have paid for that: PAID_CPU floating-point
// operations on a CPU, PAID_GPU on others, and only for products of at least LEAST operations. FERRY_CLBLAST=0
// never, =1 at once. Whatever CLBlast refuses, our own kernel does.

#include "devices/opencl/opencl_impl.h"

#include "devices/opencl/opencl.h"

#ifdef FY_OPENCL

#include <dlfcn.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define LIBRARY    "libclblast.so.1"
#define ROW_MAJOR  101
#define PLAIN      111
#define TRANSPOSED 112
#define LEAST      4e6
#define PAID_CPU   2e10
#define PAID_GPU   1e10

typedef int (*gemm_f32)(int, int, int, size_t, size_t, size_t, float, cl_mem, size_t, size_t,
                        size_t, cl_mem, size_t, size_t, size_t, float, cl_mem, size_t, size_t,
                        size_t, size_t, cl_command_queue *, cl_event *);
typedef int (*gemm_f64)(int, int, int, size_t, size_t, size_t, double, cl_mem, size_t, size_t,
                        size_t, cl_mem, size_t, size_t, size_t, double, cl_mem, size_t, size_t,
                        size_t, size_t, cl_command_queue *, cl_event *);

static gemm_f32 sgemm;
static gemm_f64 dgemm;
static char reason[256];
static pthread_once_t once = PTHREAD_ONCE_INIT;

static void load(void) {
  void *lib = fy_ocl_library(LIBRARY, "libclblast1", reason, sizeof reason);
  if (!lib) return;
  *(void **)&sgemm = dlsym(lib, "CLBlastSgemmStridedBatched");
  *(void **)&dgemm = dlsym(lib, "CLBlastDgemmStridedBatched");
  if (!sgemm || !dgemm) {
    snprintf(reason, sizeof reason, LIBRARY " was found but lacks strided batches of products");
    sgemm = NULL;
  }
}

bool fy_ocl_clblast_found(fy_str *why) {
  pthread_once(&once, load);
  if (!sgemm && why) fy_str_add(why, reason);
  return sgemm != NULL;
}

// A matrix as rows of |*ld| elements, perhaps transposed; false if its steps are others.
static bool as_rows(int64_t row, int64_t col, int64_t rows, int64_t cols, int *how, size_t *ld) {
  if (col == 1 || cols == 1) {
    *how = PLAIN;
    *ld = (size_t)(rows == 1 ? cols : row);
    return rows == 1 || row >= cols;
  }
  if (row == 1 || rows == 1) {
    *how = TRANSPOSED;
    *ld = (size_t)col;
    return col >= rows;
  }
  return false;
}

// The batch as one step in each of the three; false if it has several dims.
static bool batch_steps(const fy_ocl_product *p, int64_t batches, size_t s[3]) {
  const int64_t one[3] = {p->m * p->k, p->k * p->n, p->m * p->n};
  if (p->batch.rank > 1 && p->batch.dims[0] != 1) return false;
  for (int k = 0; k < 3; k++) {
    int64_t step = batches == 1 ? one[k] : p->batch.s[k][p->batch.rank - 1];
    if (step < 0 || (k == 2 && step < one[2])) return false;
    s[k] = (size_t)step;
  }
  return true;
}

static bool wanted(fy_ocl *o, double flops) {
  const char *text = getenv("FERRY_CLBLAST");
  if (text && !strcmp(text, "0")) return false;
  if (!fy_ocl_clblast_found(NULL)) return false;
  if (text && !strcmp(text, "1")) return true;
  if (flops < LEAST) return false;
  uint64_t before = atomic_fetch_add(&o->gemm_work, (uint64_t)flops);
  return (double)before >= (o->is_cpu ? PAID_CPU : PAID_GPU);
}

// With the lock held.
static fy_code enqueue(fy_ocl_call *c, const fy_ocl_product *p, int64_t batches, const void *a,
                       const void *b, void *y, fy_dtype t, const size_t bytes[3], fy_error *err) {
  fy_ocl *o = c->ocl;
  const size_t size = fy_dtype_storage(t);
  int how[3];
  size_t ld[3], step[3], at[3];
  cl_mem mem[3];
  const void *all[3] = {a, b, y};
  fy_ocl_range ranges[3];
  cl_event wait[FY_QUEUES + 1], event = NULL;
  if (!as_rows(p->a_row, p->a_col, p->m, p->k, &how[0], &ld[0]) ||
      !as_rows(p->b_row, p->b_col, p->k, p->n, &how[1], &ld[1]) ||
      !as_rows(p->out_row, p->out_col, p->m, p->n, &how[2], &ld[2]) || how[2] != PLAIN ||
      !batch_steps(p, batches, step))
    return FY_OCL_DETOUR;
  for (int i = 0; i < 3; i++) {
    if (!fy_ocl_resolve(o, all[i], bytes[i], &mem[i], &at[i])) return FY_OCL_DETOUR;
    at[i] /= size;
    ranges[i] = (fy_ocl_range){all[i], (const char *)all[i] + bytes[i], i == 2};
  }
  // It takes no events: what it must wait for holds the queue up.
  int n = fy_ocl_dependencies(o, FY_QUEUE_COMPUTE, ranges, 3, c->after, c->num_after, wait);
  cl_command_queue queue = o->queues[FY_QUEUE_COMPUTE].queue;
  cl_int code = n ? o->cl->EnqueueBarrierWithWaitList(queue, (cl_uint)n, wait, NULL) : CL_SUCCESS;
  fy_ocl_drop_events(o, wait, n);
  if (code) return fy_ocl_fail(o, "waiting for a copy", code, err);
  const size_t m = (size_t)p->m, cols = (size_t)p->n, k = (size_t)p->k, count = (size_t)batches;
  int said =
      t == FY_DOUBLE
          ? dgemm(ROW_MAJOR, how[0], how[1], m, cols, k, 1, mem[0], at[0], ld[0], step[0], mem[1],
                  at[1], ld[1], step[1], 0, mem[2], at[2], ld[2], step[2], count, &queue, &event)
          : sgemm(ROW_MAJOR, how[0], how[1], m, cols, k, 1, mem[0], at[0], ld[0], step[0], mem[1],
                  at[1], ld[1], step[1], 0, mem[2], at[2], ld[2], step[2], count, &queue, &event);
  if (said || !event) return FY_OCL_DETOUR;
  o->library_gemms++;
  return fy_ocl_push(o, FY_QUEUE_COMPUTE, event, ranges, 3, &c->done, err);
}

fy_code fy_ocl_clblast(fy_ocl_call *c, const fy_ocl_product *p, int64_t batches, const fy_tensor *x,
                       const fy_tensor *y, fy_tensor *out, fy_error *err) {
  const size_t bytes[3] = {fy_tensor_bytes(x), fy_tensor_bytes(y), fy_tensor_bytes(out)};
  const double flops = 2.0 * (double)p->m * (double)p->n * (double)p->k * (double)batches;
  if ((x->dtype != FY_FLOAT && x->dtype != FY_DOUBLE) || !wanted(c->ocl, flops))
    return FY_OCL_DETOUR;
  FY_TRY(fy_ocl_open_context(c->ocl, err));
  fy_lock(&c->ocl->lock);
  fy_code code = enqueue(c, p, batches, x->data, y->data, out->data, x->dtype, bytes, err);
  fy_unlock(&c->ocl->lock);
  return code;
}

#else
typedef int fy_opencl_clblast_is_empty;
#endif
