// SPDX-License-Identifier: Apache-2.0
// kernel_cudnn_rnn.c: CudnnRNN and its gradient with the products of gemm.h.

#include <math.h>

#include "devices/cpu/gemm.h"
#include "devices/cpu/kernels.h"
#include "ops/rnn_stack.h"

typedef struct packed {
  fy_gemm_type type;
  int64_t k, n;
  void *b;
} packed;

static fy_code open(fy_rnn_room *room, fy_dtype type, const void *b, int64_t k, int64_t n,
                    int64_t step_k, int64_t step_n, void **state, fy_error *err) {
  const fy_gemm_type t = type == FY_DOUBLE ? FY_GEMM_F64 : FY_GEMM_F32;
  size_t bytes;
  if (!fy_gemm_packed_bytes(t, k, n, 1, &bytes)) return fy_fail_oom(err, SIZE_MAX);
  FY_TRY(fy_rnn_take(room, sizeof(packed), state, err));
  packed *p = *state;
  *p = (packed){.type = t, .k = k, .n = n};
  FY_TRY(fy_rnn_take(room, bytes, &p->b, err));
  fy_gemm_pack(room->ctx, t, b, k, n, step_k, step_n, NULL, p->b);
  return FY_OK;
}

static void add(fy_kernel_ctx *ctx, const void *state, const void *a, int64_t row_step,
                int64_t k_step, int64_t rows, void *out) {
  const packed *p = state;
  const fy_gemm_job job = {.type = p->type,
                           .m = rows,
                           .n = p->n,
                           .depth = p->k,
                           .taps = 1,
                           .a = a,
                           .row_step = row_step,
                           .k_step = k_step,
                           .b = p->b,
                           .c = out,
                           .ldc = p->n,
                           .adds = true,
                           .lo = -INFINITY,
                           .hi = INFINITY};
  fy_gemm_run(ctx, &job);
}

static const fy_rnn_products products = {open, add};
static fy_code forward(fy_kernel_ctx *ctx, fy_error *err) {
  return fy_cudnn_rnn(ctx, &products, err);
}
static fy_code backward(fy_kernel_ctx *ctx, fy_error *err) {
  return fy_cudnn_rnn_grad(ctx, &products, err);
}

#define TYPES (FY_T(FY_FLOAT) | FY_T(FY_DOUBLE) | FY_T(FY_HALF) | FY_T(FY_BFLOAT16))
#define KERNEL(var, title, fn)               \
  extern const fy_fast_kernel fy_fast_##var; \
  const fy_fast_kernel fy_fast_##var = {.op = title, .name = "gemm", .dtypes = TYPES, .compute = fn}
KERNEL(cudnn_rnn, "CudnnRNN", forward);
KERNEL(cudnn_rnn_v2, "CudnnRNNV2", forward);
KERNEL(cudnn_rnn_v3, "CudnnRNNV3", forward);
KERNEL(cudnn_rnn_grad, "CudnnRNNBackprop", backward);
KERNEL(cudnn_rnn_grad_v2, "CudnnRNNBackpropV2", backward);
KERNEL(cudnn_rnn_grad_v3, "CudnnRNNBackpropV3", backward);
