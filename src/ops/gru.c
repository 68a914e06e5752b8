// SPDX-License-Identifier: Apache-2.0
// gru.c: GRUBlockCell and its gradient: one step of a gated recurrent unit.

#include "ops/rnn.h"
#include "ops/shape_fns.h"

typedef struct cell {
  int64_t batch, inputs, cells;
  const float *x, *h_prev, *w_ru, *w_c, *b_ru, *b_c;
} cell;

static fy_code open_cell(fy_kernel_ctx *ctx, cell *c, fy_error *err) {
  fy_tensor **in = ctx->in;
  FY_TRY(fy_rnn_rank(in[0], 2, "x", err));
  FY_TRY(fy_rnn_rank(in[1], 2, "h_prev", err));
  c->batch = in[0]->dims[0];
  c->inputs = in[0]->dims[1];
  c->cells = in[1]->dims[1];
  FY_TRY(fy_rnn_sizes(c->inputs, c->cells, err));
  FY_TRY(fy_rnn_dim(in[1], 0, c->batch, "h_prev.dims(0) != batch_size", err));
  FY_TRY(fy_rnn_rank(in[2], 2, "w_ru", err));
  FY_TRY(fy_rnn_dim(in[2], 0, c->inputs + c->cells, "w_ru.dim_size(0) != input_size + cell_size",
                    err));
  FY_TRY(fy_rnn_dim(in[2], 1, c->cells * 2, "w_ru.dim_size(1) != cell_size * 2", err));
  FY_TRY(fy_rnn_rank(in[3], 2, "w_c", err));
  FY_TRY(
      fy_rnn_dim(in[3], 0, c->inputs + c->cells, "w_c.dim_size(0) != input_size + cell_size", err));
  FY_TRY(fy_rnn_dim(in[3], 1, c->cells, "w_c.dim_size(1) != cell_size", err));
  FY_TRY(fy_rnn_rank(in[4], 1, "b_ru", err));
  FY_TRY(fy_rnn_dim(in[4], 0, c->cells * 2, "b_ru.dim_size(0) != cell_size * 2", err));
  FY_TRY(fy_rnn_rank(in[5], 1, "b_c", err));
  FY_TRY(fy_rnn_dim(in[5], 0, c->cells, "b_c.dim_size(0) != cell_size", err));
  const float **to[] = {&c->x, &c->h_prev, &c->w_ru, &c->w_c, &c->b_ru, &c->b_c};
  for (int i = 0; i < 6; i++) FY_TRY(fy_rnn_load(ctx, in[i], to[i], err));
  return FY_OK;
}

static fy_code gru(fy_kernel_ctx *ctx, fy_error *err) {
  cell c;
  fy_tensor *t[4];
  float *r, *u, *cc, *h;
  void *room;
  FY_TRY(open_cell(ctx, &c, err));
  const int64_t n = c.cells, dims[] = {c.batch, n};
  FY_TRY(fy_rnn_out(ctx, 0, 2, dims, &t[0], &r, err));
  FY_TRY(fy_rnn_out(ctx, 1, 2, dims, &t[1], &u, err));
  FY_TRY(fy_rnn_out(ctx, 2, 2, dims, &t[2], &cc, err));
  FY_TRY(fy_rnn_out(ctx, 3, 2, dims, &t[3], &h, err));
  FY_TRY(fy_scratch(ctx, (size_t)(c.batch * n * 4) * sizeof(float) + 1, &room, err));
  float *gates = room, *reset = gates + c.batch * n * 2, *bar = reset + c.batch * n;
  for (int64_t b = 0; b < c.batch; b++) memcpy(gates + b * 2 * n, c.b_ru, (size_t)(2 * n) * 4);
  for (int64_t b = 0; b < c.batch; b++) memcpy(bar + b * n, c.b_c, (size_t)n * 4);
  fy_rnn_product(c.x, c.inputs, c.w_ru, gates, c.batch, c.inputs, 2 * n);
  fy_rnn_product(c.h_prev, n, c.w_ru + c.inputs * 2 * n, gates, c.batch, n, 2 * n);
  for (int64_t b = 0; b < c.batch; b++) {
    for (int64_t k = 0; k < n; k++) {
      const int64_t at = b * n + k;
      r[at] = fy_rnn_sigmoid(gates[b * 2 * n + k]);
      u[at] = fy_rnn_sigmoid(gates[b * 2 * n + n + k]);
      reset[at] = c.h_prev[at] * r[at];
    }
  }
  fy_rnn_product(c.x, c.inputs, c.w_c, bar, c.batch, c.inputs, n);
  fy_rnn_product(reset, n, c.w_c + c.inputs * n, bar, c.batch, n, n);
  for (int64_t k = 0; k < c.batch * n; k++) {
    cc[k] = tanhf(bar[k]);
    h[k] = u[k] * (c.h_prev[k] - cc[k]) + cc[k];
  }
  return FY_OK;
}

static fy_code gru_grad(fy_kernel_ctx *ctx, fy_error *err) {
  static const char *const names[] = {"r", "u", "c", "d_h"};
  cell c;
  fy_tensor *t[4];
  const float *in[4];
  float *d_x, *d_h_prev, *d_c, *d_ru;
  void *room;
  char a[128], b[128];
  FY_TRY(open_cell(ctx, &c, err));
  const int64_t n = c.cells, dims[] = {c.batch, n}, wide[] = {c.batch, 2 * n};
  for (int i = 0; i < 4; i++) {
    const fy_tensor *given = ctx->in[6 + i];
    if (!fy_shape_equal(given->rank, given->dims, 2, dims)) {
      return fy_fail(err, FY_INVALID_ARGUMENT, "%s must have shape %s, got %s", names[i],
                     fy_shape_text(2, dims, a), fy_tensor_shape_text(given, b));
    }
    FY_TRY(fy_rnn_load(ctx, given, &in[i], err));
  }
  const float *r = in[0], *u = in[1], *cc = in[2], *d_h = in[3];
  FY_TRY(fy_rnn_out(ctx, 0, 2, (int64_t[]){c.batch, c.inputs}, &t[0], &d_x, err));
  FY_TRY(fy_rnn_out(ctx, 1, 2, dims, &t[1], &d_h_prev, err));
  FY_TRY(fy_rnn_out(ctx, 2, 2, dims, &t[2], &d_c, err));
  FY_TRY(fy_rnn_out(ctx, 3, 2, wide, &t[3], &d_ru, err));
  FY_TRY(fy_scratch(ctx, (size_t)(c.batch * n) * sizeof(float) + 1, &room, err));
  float *d_reset = room;
  for (int64_t k = 0; k < c.batch * n; k++) {
    d_c[k] = d_h[k] * (1.0f - u[k]) * (1.0f - cc[k] * cc[k]);
    d_reset[k] = 0;
  }
  fy_rnn_product_bt(d_c, c.w_c, d_x, c.inputs, c.batch, c.inputs, n);
  fy_rnn_product_bt(d_c, c.w_c + c.inputs * n, d_reset, n, c.batch, n, n);
  for (int64_t row = 0; row < c.batch; row++) {
    for (int64_t k = 0; k < n; k++) {
      const int64_t at = row * n + k;
      d_ru[row * 2 * n + k] = d_reset[at] * c.h_prev[at] * r[at] * (1.0f - r[at]);
      d_ru[row * 2 * n + n + k] = d_h[at] * (c.h_prev[at] - cc[at]) * u[at] * (1.0f - u[at]);
      d_h_prev[at] = d_reset[at] * r[at] + d_h[at] * u[at];
    }
  }
  fy_rnn_product_bt(d_ru, c.w_ru, d_x, c.inputs, c.batch, c.inputs, 2 * n);
  fy_rnn_product_bt(d_ru, c.w_ru + c.inputs * 2 * n, d_h_prev, n, c.batch, n, 2 * n);
  return FY_OK;
}

static fy_code gru_shape(fy_shape_ctx *ctx, fy_error *err) {
  FY_TRY(fy_shape_rank_is(ctx->in[0], 2, err));
  FY_TRY(fy_shape_rank_is(ctx->in[1], 2, err));
  const int64_t dims[] = {fy_dim_of(ctx->in[0], 0), fy_dim_of(ctx->in[1], 1)};
  for (int i = 0; i < 4; i++) FY_TRY(fy_shape_set(ctx, i, 2, dims, err));
  return FY_OK;
}

static fy_code gru_grad_shape(fy_shape_ctx *ctx, fy_error *err) {
  FY_TRY(fy_shape_rank_is(ctx->in[0], 2, err));
  FY_TRY(fy_shape_rank_is(ctx->in[1], 2, err));
  FY_TRY(fy_shape_rank_is(ctx->in[2], 2, err));
  const int64_t batch = fy_dim_of(ctx->in[0], 0), n = fy_dim_of(ctx->in[1], 1);
  FY_TRY(fy_shape_set(ctx, 0, 2, (int64_t[]){batch, fy_dim_of(ctx->in[0], 1)}, err));
  FY_TRY(fy_shape_set(ctx, 1, 2, (int64_t[]){batch, n}, err));
  FY_TRY(fy_shape_set(ctx, 2, 2, (int64_t[]){batch, n}, err));
  return fy_shape_set(ctx, 3, 2, (int64_t[]){batch, fy_dim_of(ctx->in[2], 1)}, err);
}

static const fy_sample samples[] = {
    {"f32[1,2]=normal; f32[1,1]=normal; f32[3,2]=normal; f32[3,1]=normal; f32[2]=0,0; f32[1]=0",
     NULL, FY_OK, NULL},
    {"f32[1,2]=normal; f32[1,1]=normal; f32[2,2]=normal; f32[3,1]=normal; f32[2]=0,0; f32[1]=0",
     NULL, FY_INVALID_ARGUMENT, "w_ru.dim_size(0) != input_size + cell_size: 2 vs. 3"},
};

FY_OP(GRUBlockCell, .shape = gru_shape, .compute = gru, .flags = FY_OP_HOST, FY_SAMPLES(samples));
FY_OP(GRUBlockCellGrad, .shape = gru_grad_shape, .compute = gru_grad, .flags = FY_OP_HOST);
