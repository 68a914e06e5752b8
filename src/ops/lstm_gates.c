// SPDX-License-Identifier: Apache-2.0
// lstm_gates.c: _FerryLSTMGates, what an LSTM does after its products: four gates side by side in z,
//   state = sigmoid(f) * c + sigmoid(i) * tanh(g),  h = sigmoid(o) * tanh(state),
// in one pass over each row. Made by optimize/cells.c. "order" says which quarter of z is i, f, g, o.
// The steps and their rounding are those of the ops it stands for.

#include "ops/fused.h"
#include "ops/op.h"
#include "ops/shape_fns.h"

#define BLOCK 256  // columns at a time

static fy_code shape(fy_shape_ctx *ctx, fy_error *err) {
  const fy_pshape z = ctx->in[0], c = ctx->in[1];
  FY_TRY(fy_shape_rank_is(z, 2, err));
  FY_TRY(fy_shape_rank_is(c, 2, err));
  int64_t dims[2] = {-1, -1};
  if (z.rank == 2 && c.rank == 2) {
    if (z.dims[0] >= 0 && c.dims[0] >= 0) dims[0] = z.dims[0] == 1 ? c.dims[0] : z.dims[0];
    dims[1] = c.dims[1];
  }
  FY_TRY(fy_shape_set(ctx, 0, 2, dims, err));
  return fy_shape_set(ctx, 1, 2, dims, err);
}

typedef struct job {
  const float *z, *c;
  float *h, *state;
  int64_t n, at[4];        // where i, f, g, o start in a row
  int64_t step_z, step_c;  // to the next row; 0: the same for all
} job;

static void rows(void *arg, int64_t begin, int64_t end) {
  const job *j = arg;
  void (*sigmoid)(const float *, float *, int64_t) = fy_lanes_best()->unary_f32[FY_EW_SIGMOID];
  void (*tanh_)(const float *, float *, int64_t) = fy_lanes_best()->unary_f32[FY_EW_TANH];
  float i[BLOCK], f[BLOCK], g[BLOCK], o[BLOCK];
  for (int64_t r = begin; r < end; r++) {
    for (int64_t k = 0; k < j->n; k += BLOCK) {
      const int64_t n = j->n - k < BLOCK ? j->n - k : BLOCK;
      const float *z = j->z + r * j->step_z + k, *c = j->c + r * j->step_c + k;
      float *h = j->h + r * j->n + k, *state = j->state + r * j->n + k;
      sigmoid(z + j->at[0], i, n);
      sigmoid(z + j->at[1], f, n);
      tanh_(z + j->at[2], g, n);
      sigmoid(z + j->at[3], o, n);
      for (int64_t x = 0; x < n; x++) state[x] = f[x] * c[x] + i[x] * g[x];
      tanh_(state, g, n);
      for (int64_t x = 0; x < n; x++) h[x] = o[x] * g[x];
    }
  }
}

static fy_code compute(fy_kernel_ctx *ctx, fy_error *err) {
  const fy_tensor *z = ctx->in[0], *c = ctx->in[1];
  const fy_view order = fy_site_string(ctx->site, "order");
  if (z->rank != 2 || c->rank != 2 || z->dims[1] / 4 != c->dims[1] || z->dims[1] % 4 ||
      order.n != 4)
    return fy_fail(err, FY_INVALID_ARGUMENT,
                   "%s needs gates [batch, 4 * units], a state [batch, units] and an order of 4",
                   ctx->site->node_name);
  if (z->dims[0] != c->dims[0] && z->dims[0] != 1 && c->dims[0] != 1)
    return fy_fail(err, FY_INVALID_ARGUMENT, "Incompatible shapes: [%lld,%lld] vs. [%lld,%lld]",
                   (long long)z->dims[0], (long long)c->dims[1], (long long)c->dims[0],
                   (long long)c->dims[1]);
  const int64_t dims[2] = {z->dims[0] == 1 ? c->dims[0] : z->dims[0], c->dims[1]};
  fy_tensor *h, *state;
  FY_TRY(fy_out(ctx, 0, 2, dims, &h, err));
  FY_TRY(fy_out(ctx, 1, 2, dims, &state, err));
  job j = {z->data, c->data, h->data, state->data, c->dims[1], {0}, 0, 0};
  if (z->dims[0] != 1) j.step_z = 4 * j.n;
  if (c->dims[0] != 1) j.step_c = j.n;
  for (int i = 0; i < 4; i++) j.at[i] = (order.p[i] & 3) * j.n;
  fy_parallel(ctx, dims[0], 2.5 * (double)j.n, rows, &j);
  return FY_OK;
}

static void cost(const fy_site *site, const fy_pshape *in, const fy_pshape *out, fy_cost *to) {
  (void)site, (void)out;
  double n = 1;
  for (int32_t i = 0; i < in[0].rank; i++) n *= in[0].dims[i] > 0 ? (double)in[0].dims[i] : 1;
  to->flops = 25 * n;
  to->bytes = 7 * n;
}

static const fy_sample samples[] = {
    {"f32[3,20]=normal; f32[3,5]=normal", "T=float; order=\"0123\"", FY_OK, NULL},
    {"f32[1,1200]=normal; f32[1,300]=normal", "T=float; order=\"2103\"", FY_OK, NULL},
    {"f32[0,8]=; f32[0,2]=", "T=float; order=\"0123\"", FY_OK, NULL},
    {"f32[3,20]=normal; f32[1,5]=normal", "T=float; order=\"0123\"", FY_OK, NULL},
    {"f32[1,20]=normal; f32[3,5]=normal", "T=float; order=\"0123\"", FY_OK, NULL},
    {"f32[2,20]=normal; f32[3,5]=normal", "T=float; order=\"0123\"", FY_INVALID_ARGUMENT,
     "Incompatible shapes: [2,5] vs. [3,5]"},
    {"f32[3,20]=normal; f32[3,4]=normal", "T=float; order=\"0123\"", FY_INVALID_ARGUMENT, "units"},
};

FY_OP(_FerryLSTMGates, .shape = shape, .compute = compute, .cost = cost, FY_SAMPLES(samples));
