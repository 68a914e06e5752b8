// SPDX-License-Identifier: Apache-2.0
// epilogue.c: see epilogue.h.

#include "devices/cpu/epilogue.h"

#include <math.h>
#include <string.h>

#include "ops/fused.h"

const fy_epilogue *fy_epilogue_of(const fy_site *site) {
  return strncmp(site->op->impl->name, "_Ferry", 6) == 0
             ? &((const fy_contraction *)site->state)->epilogue
             : NULL;
}

bool fy_epilogue_fits(fy_kernel_ctx *ctx, const fy_epilogue *e, int64_t channels, int64_t count) {
  if (!e) return true;
  for (int i = 2; i < ctx->site->num_inputs; i++) {
    if (ctx->in[i]->dtype != ctx->in[0]->dtype ||
        ctx->in[i]->count != (i == e->add ? count : channels))
      return false;
  }
  return ctx->in[0]->dtype == FY_FLOAT || e->act == FY_EW_NONE || e->act == FY_EW_RELU ||
         e->act == FY_EW_RELU6;
}

int fy_epilogue_weights(const fy_epilogue *e) {
  return 1 + (e ? e->num_vectors : 0);
}

#define FOLD(REAL)                                                                       \
  do {                                                                                   \
    REAL *s = scale, *b = bias;                                                          \
    memset(b, 0, (size_t)padded * sizeof(REAL));                                         \
    for (int64_t i = 0; i < n; i++) {                                                    \
      double by = 1, plus = 0;                                                           \
      for (int k = 0; k < e->num_affine; k++) {                                          \
        fy_tensor *const *from = ctx->in + e->affine[k].arg;                             \
        const double v = (double)((const REAL *)from[0]->data)[i];                       \
        switch (e->affine[k].kind) {                                                     \
          case FY_AFFINE_BIAS: plus += v; break;                                         \
          case FY_AFFINE_MINUS: plus -= v; break;                                        \
          case FY_AFFINE_SCALE:                                                          \
            by *= v;                                                                     \
            plus *= v;                                                                   \
            break;                                                                       \
          case FY_AFFINE_NORM: {                                                         \
            const double m =                                                             \
                v / sqrt((double)((const REAL *)from[3]->data)[i] + (double)e->epsilon); \
            plus = (plus - (double)((const REAL *)from[2]->data)[i]) * m +               \
                   (double)((const REAL *)from[1]->data)[i];                             \
            by *= m;                                                                     \
            break;                                                                       \
          }                                                                              \
        }                                                                                \
      }                                                                                  \
      s[i] = (REAL)by;                                                                   \
      b[i] = (REAL)plus;                                                                 \
    }                                                                                    \
  } while (0)

bool fy_epilogue_fold(fy_kernel_ctx *ctx, const fy_epilogue *e, fy_gemm_type type, int64_t n,
                      int64_t padded, void *scale, void *bias) {
  if (!e || !e->num_affine) return false;
  if (type == FY_GEMM_F32)
    FOLD(float);
  else
    FOLD(double);
  return true;
}

void fy_epilogue_clamp(const fy_epilogue *e, double *lo, double *hi) {
  *lo = -INFINITY;
  *hi = INFINITY;
  if (!e || (e->act != FY_EW_RELU && e->act != FY_EW_RELU6)) return;
  *lo = 0;
  if (e->act == FY_EW_RELU6) *hi = 6;
}

// ---------------------------------------------------------------- other activations
static void finish_lanes(const void *arg, float *row, int64_t n) {
  const fy_epilogue *e = arg;
  fy_lanes_best()->unary_f32[e->act](row, row, n);
}

static void finish_swish(const void *arg, float *row, int64_t n) {
  (void)arg;
  float gate[256];
  for (int64_t i = 0; i < n; i += 256) {
    const int64_t m = n - i < 256 ? n - i : 256;
    fy_lanes_best()->unary_f32[FY_EW_SIGMOID](row + i, gate, m);
    for (int64_t k = 0; k < m; k++) row[i + k] *= gate[k];
  }
}

static void finish_leaky(const void *arg, float *row, int64_t n) {
  const float alpha = ((const fy_epilogue *)arg)->alpha;
  for (int64_t i = 0; i < n; i++) row[i] = row[i] > 0 ? row[i] : alpha * row[i];
}

fy_finish_fn fy_epilogue_finish(const fy_epilogue *e) {
  if (!e || e->act == FY_EW_NONE || e->act == FY_EW_RELU || e->act == FY_EW_RELU6) return NULL;
  if (e->swish) return finish_swish;
  return e->act == FY_EW_LEAKY_RELU ? finish_leaky : finish_lanes;
}
