// SPDX-License-Identifier: Apache-2.0
// kernel_lstm.c: LSTMBlockCell, BlockLSTM and BlockLSTMV2 with the products of gemm.h; the weights are
// packed once for all steps of a sequence.

#include <math.h>

#include "devices/cpu/gemm.h"
#include "devices/cpu/kernels.h"
#include "ops/rnn.h"

typedef struct products {
  fy_kernel_ctx *ctx;
  int64_t depth[2], width;
  void *packed[2];
} products;

static fy_code begin(fy_kernel_ctx *ctx, const float *w, int64_t inputs, int64_t cells,
                     void **state, fy_error *err) {
  FY_TRY(fy_scratch(ctx, sizeof(products), state, err));
  products *p = *state;
  *p = (products){.ctx = ctx, .depth = {inputs, cells}, .width = 4 * cells};
  for (int part = 0; part < 2; part++) {
    size_t bytes;
    if (!p->depth[part] || !p->width) continue;
    if (!fy_gemm_packed_bytes(FY_GEMM_F32, p->depth[part], p->width, 1, &bytes))
      return fy_fail_oom(err, SIZE_MAX);
    FY_TRY(fy_scratch(ctx, bytes, &p->packed[part], err));
    fy_gemm_pack(ctx, FY_GEMM_F32, w + (part ? inputs : 0) * p->width, p->depth[part], p->width,
                 p->width, 1, NULL, p->packed[part]);
  }
  return FY_OK;
}

static void product(void *state, int part, const float *a, int64_t rows, float *out) {
  const products *p = state;
  if (!p->packed[part] || !rows) return;
  const fy_gemm_job job = {.type = FY_GEMM_F32,
                           .m = rows,
                           .n = p->width,
                           .depth = p->depth[part],
                           .taps = 1,
                           .a = a,
                           .row_step = p->depth[part],
                           .k_step = 1,
                           .b = p->packed[part],
                           .c = out,
                           .ldc = p->width,
                           .adds = true,
                           .lo = -INFINITY,
                           .hi = INFINITY};
  fy_gemm_run(p->ctx, &job);
}

static fy_code lstm(fy_kernel_ctx *ctx, fy_error *err) {
  static const fy_lstm_products by = {begin, product};
  return fy_lstm_forward(ctx, &by, err);
}

// BlockLSTM's first input is a length.
#define TYPES (FY_T(FY_FLOAT) | FY_T(FY_HALF) | FY_T(FY_INT64))
extern const fy_fast_kernel fy_fast_block_lstm, fy_fast_block_lstm_v2, fy_fast_lstm_cell;
const fy_fast_kernel fy_fast_block_lstm = {
    .op = "BlockLSTM", .name = "gemm", .dtypes = TYPES, .compute = lstm};
const fy_fast_kernel fy_fast_block_lstm_v2 = {
    .op = "BlockLSTMV2", .name = "gemm", .dtypes = TYPES, .compute = lstm};
const fy_fast_kernel fy_fast_lstm_cell = {
    .op = "LSTMBlockCell", .name = "gemm", .dtypes = TYPES, .compute = lstm};
