// SPDX-License-Identifier: Apache-2.0
// sobol.c: SobolSample: points of the Sobol sequence in Gray's order, with the direction numbers of Joe
// and Kuo. The first of all points, the origin, is left out. From 2^30 points on TensorFlow's numbers are
// negative, since the number it divides by overflows; so are these.

#include "ops/shape_fns.h"

enum { MOST_DIMS = 2056, DIGITS = 31, MOST_DEGREE = 15 };

static const uint32_t table[] = {
#include "ops/sobol_data.inc"
};
// How many primitive polynomials of degree 1, 2 … there are.
static const uint16_t polynomials[MOST_DEGREE] = {1,  1,  2,   2,   6,   6,   18,  16,
                                                  48, 60, 176, 144, 630, 756, 1800};

static uint32_t take_bits(size_t *at, int n) {
  uint32_t v = 0;
  for (int i = 0; i < n; i++, ++*at) v |= (table[*at / 32] >> (*at % 32) & 1) << i;
  return v;
}

// |v|: [dims, DIGITS], the j-th number of a dimension in its highest bits.
static void directions(int64_t dims, uint32_t *v) {
  size_t at = 0;
  int degree = 1, left = polynomials[0];
  for (int j = 0; j < DIGITS; j++) v[j] = 1;
  for (int64_t d = 1; d < dims; d++, left--) {
    uint32_t *m = v + d * DIGITS;
    if (!left) left = polynomials[degree++];
    const uint32_t inner = take_bits(&at, degree - 1);
    for (int j = 0; j < degree; j++) m[j] = take_bits(&at, j) << 1 | 1;
    for (int j = degree; j < DIGITS; j++) {
      m[j] = m[j - degree] ^ m[j - degree] << degree;
      for (int i = 1; i < degree; i++)
        if (inner >> (degree - 1 - i) & 1) m[j] ^= m[j - i] << i;
    }
  }
  for (int64_t d = 0; d < dims; d++)
    for (int j = 0; j < DIGITS; j++) v[d * DIGITS + j] <<= DIGITS - 1 - j;
}

static fy_code read_args(const fy_kernel_ctx *ctx, int64_t args[3], fy_error *err) {
  static const char *const names[3] = {"dim", "num_results", "skip"};
  for (int i = 0; i < 3; i++) {
    if (ctx->in[i]->rank) return fy_fail(err, FY_INVALID_ARGUMENT, "%s must be a scalar", names[i]);
    args[i] = *(const int32_t *)ctx->in[i]->data;
  }
  for (int i = 0; i < 2; i++)
    if (args[i] < 1) return fy_fail(err, FY_INVALID_ARGUMENT, "%s must be at least one", names[i]);
  if (args[2] < 0) return fy_fail(err, FY_INVALID_ARGUMENT, "skip must be non-negative");
  if (args[1] + args[2] >= INT32_MAX)
    return fy_fail(err, FY_INVALID_ARGUMENT, "num_results+skip must be less than %d", INT32_MAX);
  if (args[0] > MOST_DIMS)
    return fy_fail(err, FY_INVALID_ARGUMENT, "dim must be at most %d", MOST_DIMS);
  return FY_OK;
}

static fy_code compute(fy_kernel_ctx *ctx, fy_error *err) {
  int64_t args[3] = {0};
  uint32_t *v, *x;
  fy_tensor *out;
  FY_TRY(read_args(ctx, args, err));
  const int64_t dims = args[0], n = args[1], skip = args[2];
  FY_TRY(fy_out(ctx, 0, 2, (int64_t[]){n, dims}, &out, err));
  FY_TRY(fy_scratch(ctx, (size_t)dims * (DIGITS + 1) * sizeof *v, (void **)&v, err));
  x = v + dims * DIGITS;
  directions(dims, v);
  const double unit = n + skip + 1 >= 1 << 30 ? -0x1p-31 : 0x1p-31;
  for (int64_t d = 0; d < dims; d++) {
    x[d] = 0;
    for (uint32_t gray = (uint32_t)(skip ^ skip >> 1), j = 0; gray; gray >>= 1, j++)
      if (gray & 1) x[d] ^= v[d * DIGITS + j];
  }
  for (int64_t i = 0; i < n; i++) {
    int j = 0;  // the bit that changes on the way to point skip + i + 1
    while (!((skip + i + 1) >> j & 1)) j++;
    for (int64_t d = 0; d < dims; d++) {
      x[d] ^= v[d * DIGITS + j];
      if (out->dtype == FY_FLOAT)
        ((float *)out->data)[i * dims + d] = (float)x[d] * (float)unit;
      else
        ((double *)out->data)[i * dims + d] = x[d] * unit;
    }
  }
  return FY_OK;
}

static fy_code shape(fy_shape_ctx *ctx, fy_error *err) {
  int64_t dims[2];
  for (int i = 0; i < 3; i++) FY_TRY(fy_shape_rank_is(ctx->in[i], 0, err));
  FY_TRY(fy_shape_dim_from_scalar(ctx, 1, &dims[0], err));
  FY_TRY(fy_shape_dim_from_scalar(ctx, 0, &dims[1], err));
  return fy_shape_set(ctx, 0, 2, dims, err);
}

static const fy_sample samples[] = {
    {"i32[]=2; i32[]=3; i32[]=0", NULL, FY_OK, "0.5,0.5,0.75,0.25,0.25,0.75"},
    {"i32[]=0; i32[]=3; i32[]=0", NULL, FY_INVALID_ARGUMENT, "dim must be at least one"},
    {"i32[]=2057; i32[]=3; i32[]=0", NULL, FY_INVALID_ARGUMENT, "at most 2056"},
};
FY_OP(SobolSample, .shape = shape, .compute = compute, .host_inputs = 7, .flags = FY_OP_HOST,
      FY_SAMPLES(samples));
