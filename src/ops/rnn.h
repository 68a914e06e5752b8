// SPDX-License-Identifier: Apache-2.0
// rnn.h: what the recurrent cells share: numbers of either type as floats, checked shapes, and small
// products. All arithmetic is in float; half results are rounded when they are stored.

#ifndef FY_OPS_RNN_H
#define FY_OPS_RNN_H

#include <math.h>

#include "ops/op.h"
#include "ops/typed.h"
#include "ops/values.h"

static inline float fy_rnn_sigmoid(float x) {
  return 1.0f / (1.0f + expf(-x));
}

// |t|'s numbers as floats: its own memory, or a scratch copy of halves.
FY_MUST_CHECK static inline fy_code fy_rnn_load(fy_kernel_ctx *ctx, const fy_tensor *t,
                                                const float **out, fy_error *err) {
  if (t->dtype == FY_FLOAT) {
    *out = t->data;
    return FY_OK;
  }
  void *copy;
  FY_TRY(fy_scratch(ctx, (size_t)t->count * sizeof(float) + 1, &copy, err));
  for (int64_t i = 0; i < t->count; i++) {
    ((float *)copy)[i] = fy_ld_half(((const uint16_t *)t->data)[i]);
  }
  *out = copy;
  return FY_OK;
}

// Output |i| with memory to fill as floats; fy_rnn_store() rounds it into a half tensor.
FY_MUST_CHECK static inline fy_code fy_rnn_out(fy_kernel_ctx *ctx, int i, int32_t rank,
                                               const int64_t *dims, fy_tensor **t, float **out,
                                               fy_error *err) {
  FY_TRY(fy_out(ctx, i, rank, dims, t, err));
  if ((*t)->dtype == FY_FLOAT) {
    *out = (*t)->data;
  } else {
    void *room;
    FY_TRY(fy_scratch(ctx, (size_t)(*t)->count * sizeof(float) + 1, &room, err));
    *out = room;
  }
  if ((*t)->count) memset(*out, 0, (size_t)(*t)->count * sizeof(float));
  return FY_OK;
}
static inline void fy_rnn_store(fy_tensor *t, const float *from) {
  if (t->dtype == FY_FLOAT) return;
  for (int64_t i = 0; i < t->count; i++) ((uint16_t *)t->data)[i] = fy_st_half(from[i]);
}

// "w.dim_size(0) != input_size + cell_size: 6 vs. 5"
FY_MUST_CHECK static inline fy_code fy_rnn_dim(const fy_tensor *t, int32_t d, int64_t want,
                                               const char *text, fy_error *err) {
  if (t->dims[d] == want) return FY_OK;
  return fy_fail(err, FY_INVALID_ARGUMENT, "%s: %lld vs. %lld", text, (long long)t->dims[d],
                 (long long)want);
}
FY_MUST_CHECK static inline fy_code fy_rnn_rank(const fy_tensor *t, int32_t rank, const char *name,
                                                fy_error *err) {
  if (t->rank == rank) return FY_OK;
  return fy_fail(err, FY_INVALID_ARGUMENT, "%s must be %dD", name, (int)rank);
}

// Sizes whose products and sums are safe to form, also where a batch of none hides them.
FY_MUST_CHECK static inline fy_code fy_rnn_sizes(int64_t inputs, int64_t cells, fy_error *err) {
  if (inputs < (int64_t)1 << 40 && cells < (int64_t)1 << 40) return FY_OK;
  return fy_fail(err, FY_INVALID_ARGUMENT, "A cell of %lld inputs and %lld units is too large",
                 (long long)inputs, (long long)cells);
}

// out[m, n] += a[m, k] * b[k, n]; rows of |a| are |lda| apart.
static inline void fy_rnn_product(const float *a, int64_t lda, const float *b, float *out,
                                  int64_t m, int64_t k, int64_t n) {
  for (int64_t i = 0; i < m; i++) {
    float *row = out + i * n;
    for (int64_t p = 0; p < k; p++) {
      const float v = a[i * lda + p], *from = b + p * n;
      FY_VECTOR for (int64_t j = 0; j < n; j++) row[j] += v * from[j];
    }
  }
}
// Products that a device does its own way, for all steps of a sequence: begin() sees the weights
// [inputs + cells, 4 cells] once, product() adds rows times those of the inputs (0) or of the cells (1).
typedef struct fy_lstm_products {
  fy_code (*begin)(fy_kernel_ctx *ctx, const float *w, int64_t inputs, int64_t cells, void **state,
                   fy_error *err);
  void (*product)(void *state, int part, const float *a, int64_t rows, float *out);
} fy_lstm_products;
// LSTMBlockCell, BlockLSTM and BlockLSTMV2 (lstm.c).
FY_MUST_CHECK fy_code fy_lstm_forward(fy_kernel_ctx *ctx, const fy_lstm_products *by,
                                      fy_error *err);

// out[m, k] (rows |ldo| apart) += a[m, n] * b[k, n]^T
static inline void fy_rnn_product_bt(const float *a, const float *b, float *out, int64_t ldo,
                                     int64_t m, int64_t k, int64_t n) {
  for (int64_t i = 0; i < m; i++) {
    for (int64_t p = 0; p < k; p++) {
      float sum = 0;
      for (int64_t j = 0; j < n; j++) sum += a[i * n + j] * b[p * n + j];
      out[i * ldo + p] += sum;
    }
  }
}
// out[k, n] += a[m, k]^T * b[m, n]; rows of |a| are |lda| apart.
static inline void fy_rnn_product_at(const float *a, int64_t lda, const float *b, float *out,
                                     int64_t m, int64_t k, int64_t n) {
  for (int64_t i = 0; i < m; i++) {
    for (int64_t p = 0; p < k; p++) {
      const float v = a[i * lda + p];
      float *row = out + p * n;
      FY_VECTOR for (int64_t j = 0; j < n; j++) row[j] += v * b[i * n + j];
    }
  }
}

#endif
