// SPDX-License-Identifier: Apache-2.0
// fractional_pool.c: FractionalMaxPool, FractionalAvgPool and their gradients. Rows and columns are
// cut at random places into pieces of two neighbouring lengths; the cuts are outputs, and inputs of
// the gradients. Bit for bit TensorFlow's cuts for the same seeds.

#include <math.h>

#include "ops/random.h"
#include "ops/shape_fns.h"
#include "ops/typed.h"
#include "ops/values.h"

// ---------------------------------------------------------------- where to cut
// |out| gets n + 1 places, from 0 to |length|.
static void cut_pseudo(fy_philox *g, int64_t length, int64_t n, int64_t *out) {
  const double alpha = (double)length / (double)n;
  const int64_t k = length / n;
  const double most1 = (double)(k + 2) / alpha - 1;
  const double most2 = (double)(length + 1 - k) / alpha - (double)(n - 1);
  uint32_t bits[4];
  fy_philox_next(g, bits);
  const double u = fy_bits_to_unit_double(bits[0], bits[1]) * fmin(most1, most2);
  int64_t before = 1;
  out[0] = 0;
  for (int64_t i = 1; i <= n; i++) {
    const int64_t at = i == n ? length + 1 : (int64_t)ceil(alpha * ((double)i + u));
    out[i] = out[i - 1] + at - before;
    before = at;
  }
}

static void cut_random(fy_philox *g, int64_t length, int64_t n, int64_t *out) {
  int64_t *piece = out + 1;
  for (int64_t i = 0; i < n; i++) piece[i] = length / n + (i < length % n ? 1 : 0);
  fy_philox_singles s = {.generator = *g};
  fy_philox_skip(g, (uint64_t)(n + 3) / 4);
  for (int64_t i = 0; i + 1 < n; i++) {
    const int64_t with = i + (int64_t)(fy_philox_single(&s) % (uint32_t)(n - i)), kept = piece[i];
    piece[i] = piece[with];
    piece[with] = kept;
  }
  out[0] = 0;
  for (int64_t i = 1; i <= n; i++) out[i] += out[i - 1];
}

// ---------------------------------------------------------------- loops
typedef struct job {
  int64_t batch, h, w, depth, out_h, out_w;
  const int64_t *rows, *cols;  // cuts
  bool overlapping, average;
} job;
typedef struct area {
  int64_t y0, y1, x0, x1;  // inclusive
} area;
static area area_of(const job *j, int64_t y, int64_t x) {
  area a = {j->rows[y], j->rows[y + 1] - (j->overlapping ? 0 : 1), j->cols[x],
            j->cols[x + 1] - (j->overlapping ? 0 : 1)};
  if (a.y1 > j->h - 1) a.y1 = j->h - 1;
  if (a.x1 > j->w - 1) a.x1 = j->w - 1;
  return a;
}

#define POOL(E, S, _)                                                                       \
  static void pool_##S(const job *j, const void *pi, void *po) {                            \
    const fy_t_##S *in = pi;                                                                \
    fy_t_##S *out = po;                                                                     \
    for (int64_t p = 0; p < j->batch * j->out_h * j->out_w; p++) {                          \
      const area a = area_of(j, p / j->out_w % j->out_h, p % j->out_w);                     \
      const int64_t b = p / j->out_w / j->out_h, n = (a.y1 - a.y0 + 1) * (a.x1 - a.x0 + 1); \
      for (int64_t d = 0; d < j->depth; d++) {                                              \
        fy_t_##S best = in[((b * j->h + a.y0) * j->w + a.x0) * j->depth + d], sum = 0;      \
        for (int64_t y = a.y0; y <= a.y1; y++) {                                            \
          for (int64_t x = a.x0; x <= a.x1; x++) {                                          \
            const fy_t_##S v = in[((b * j->h + y) * j->w + x) * j->depth + d];              \
            best = v > best ? v : best;                                                     \
            sum = ADD_##S(sum, v);                                                          \
          }                                                                                 \
        }                                                                                   \
        out[p * j->depth + d] = j->average ? sum / (fy_t_##S)n : best;                      \
      }                                                                                     \
    }                                                                                       \
  }                                                                                         \
  static void spread_##S(const job *j, const void *pi, const void *pg, void *po) {          \
    const fy_t_##S *in = pi, *grad = pg;                                                    \
    fy_t_##S *out = po;                                                                     \
    for (int64_t p = 0; p < j->batch * j->out_h * j->out_w; p++) {                          \
      const area a = area_of(j, p / j->out_w % j->out_h, p % j->out_w);                     \
      const int64_t b = p / j->out_w / j->out_h;                                            \
      for (int64_t d = 0; d < j->depth; d++) {                                              \
        int64_t best = ((b * j->h + a.y0) * j->w + a.x0) * j->depth + d;                    \
        for (int64_t y = a.y0; y <= a.y1; y++) {                                            \
          for (int64_t x = a.x0; x <= a.x1; x++) {                                          \
            const int64_t at = ((b * j->h + y) * j->w + x) * j->depth + d;                  \
            if (in[at] > in[best]) best = at;                                               \
          }                                                                                 \
        }                                                                                   \
        out[best] = ADD_##S(out[best], grad[p * j->depth + d]);                             \
      }                                                                                     \
    }                                                                                       \
  }                                                                                         \
  static void store_##S(const double *from, void *to, int64_t n) {                          \
    for (int64_t i = 0; i < n; i++) ((fy_t_##S *)to)[i] = (fy_t_##S)from[i];                \
  }
#define ADD_f32(a, b)      ((a) + (b))
#define ADD_f64(a, b)      ((a) + (b))
#define ADD_i32(a, b)      ((int32_t)((uint32_t)(a) + (uint32_t)(b)))
#define ADD_i64(a, b)      ((int64_t)((uint64_t)(a) + (uint64_t)(b)))
#define POOL_TYPES(X, ...) FY_FULL_REAL_TYPES(X, __VA_ARGS__) FY_INDEX_TYPES(X, __VA_ARGS__)
POOL_TYPES(POOL, _)
typedef void (*pool_fn)(const job *j, const void *in, void *out);
typedef void (*spread_fn)(const job *j, const void *in, const void *grad, void *out);
static const pool_fn pools[FY_DTYPE_COUNT] = {POOL_TYPES(FY_LOOP_ENTRY, pool)};
typedef void (*store_fn)(const double *from, void *to, int64_t n);
static const spread_fn spreads[FY_DTYPE_COUNT] = {POOL_TYPES(FY_LOOP_ENTRY, spread)};
static const store_fn stores[FY_DTYPE_COUNT] = {POOL_TYPES(FY_LOOP_ENTRY, store)};

// ---------------------------------------------------------------- forward
static fy_code prepare(fy_site *site, fy_error *err) {
  const fy_attr *r = fy_site_attr(site, "pooling_ratio");
  const char *name = site->op->impl->aux ? "avg" : "max";
  if (!r || r->n != 4) {
    return fy_fail(err, FY_INVALID_ARGUMENT, "pooling_ratio field must specify 4 dimensions");
  }
  for (uint32_t i = 0; i < 4; i++) {
    if (r->v.floats[i] >= 1) continue;
    return fy_fail(err, FY_INVALID_ARGUMENT, "pooling_ratio cannot be smaller than 1, got: %g",
                   (double)r->v.floats[i]);
  }
  if (r->v.floats[0] != 1 && r->v.floats[3] != 1) {
    return fy_fail(err, FY_UNIMPLEMENTED,
                   "Fractional %s pooling is not yet supported on the batch nor channel dimension.",
                   name);
  }
  const int64_t seed = fy_site_int(site, "seed"), seed2 = fy_site_int(site, "seed2");
  if (fy_site_bool(site, "deterministic") && seed == 0 && seed2 == 0) {
    return fy_fail(err, FY_INVALID_ARGUMENT,
                   "Both seed and seed2 should be non-zero if deterministic is true.");
  }
  if (!fy_site_bool(site, "deterministic") && (seed != 0 || seed2 != 0)) {
    return fy_fail(err, FY_INVALID_ARGUMENT,
                   "Both seed and seed2 should be 0 if deterministic is false.");
  }
  return fy_random_prepare(site, err);
}

static fy_code forward(fy_kernel_ctx *ctx, fy_error *err) {
  const fy_tensor *in = ctx->in[0];
  const fy_attr *ratio = fy_site_attr(ctx->site, "pooling_ratio");
  const bool pseudo = fy_site_bool(ctx->site, "pseudo_random");
  int64_t dims[4];
  fy_tensor *out, *rows, *cols;
  if (in->rank != 4) {
    return fy_fail(err, FY_INVALID_ARGUMENT, "tensor_in must be 4-dimensional");
  }
  for (int i = 0; i < 4; i++) {
    if (in->dims[i] <= 0) {
      return fy_fail(err, FY_INVALID_ARGUMENT,
                     "tensor_in must have a positive size in dimension %d", i);
    }
    dims[i] = (int64_t)floorf((float)in->dims[i] / ratio->v.floats[i]);
    if (dims[i] <= 0) {
      return fy_fail(err, FY_INVALID_ARGUMENT, "the pooling ratio leaves nothing of dimension %d",
                     i);
    }
  }
  if (dims[0] != in->dims[0] || dims[3] != in->dims[3]) {
    return fy_fail(err, FY_UNIMPLEMENTED,
                   "Fractional pooling is not yet supported on the batch nor channel dimension.");
  }
  FY_TRY(fy_out(ctx, 0, 4, dims, &out, err));
  FY_TRY(fy_out(ctx, 1, 1, (const int64_t[]){dims[1] + 1}, &rows, err));
  FY_TRY(fy_out(ctx, 2, 1, (const int64_t[]){dims[2] + 1}, &cols, err));
  // A deterministic op cuts every time where it did the first time.
  const bool again = fy_site_bool(ctx->site, "deterministic");
  fy_philox g =
      fy_random_reserve_blocks(ctx, again ? 0 : (uint64_t)(dims[1] + dims[2] + 6) / 4 + 2);
  (pseudo ? cut_pseudo : cut_random)(&g, in->dims[1], dims[1], rows->data);
  (pseudo ? cut_pseudo : cut_random)(&g, in->dims[2], dims[2], cols->data);
  if (!pools[in->dtype]) {
    return fy_fail(err, FY_UNIMPLEMENTED, "no loop for %s", fy_dtype_name(in->dtype));
  }
  const job j = {in->dims[0],
                 in->dims[1],
                 in->dims[2],
                 in->dims[3],
                 dims[1],
                 dims[2],
                 rows->data,
                 cols->data,
                 fy_site_bool(ctx->site, "overlapping"),
                 ctx->site->op->impl->aux != NULL};
  pools[in->dtype](&j, in->data, out->data);
  return FY_OK;
}

// ---------------------------------------------------------------- gradients
static fy_code check_cuts(const fy_tensor *t, const char *name, int64_t n, int64_t length,
                          fy_error *err) {
  const int64_t *v = t->data;
  char x[128];
  if (t->rank != 1 || t->count != n + 1) {
    return fy_fail(err, FY_INVALID_ARGUMENT, "%s_pooling_sequence must have %lld elements, got %s",
                   name, (long long)n + 1, fy_tensor_shape_text(t, x));
  }
  for (int64_t i = 0; i <= n; i++) {
    if (v[i] < 0 || v[i] > length || (i > 0 && v[i] <= v[i - 1]) || (i < n && v[i] >= length)) {
      return fy_fail(err, FY_INVALID_ARGUMENT,
                     "%s_pooling_sequence must rise from 0 to %lld, got %lld at %lld", name,
                     (long long)length, (long long)v[i], (long long)i);
    }
  }
  return FY_OK;
}

static fy_code max_gradient(fy_kernel_ctx *ctx, fy_error *err) {
  const fy_tensor *in = ctx->in[0], *grad = ctx->in[2];
  fy_tensor *out;
  void *memory;
  char x[128], y[128];
  if (!fy_shape_equal(ctx->in[1]->rank, ctx->in[1]->dims, grad->rank, grad->dims)) {
    return fy_fail(err, FY_INVALID_ARGUMENT,
                   "orig_output and out_backprop must have the same shape: %s vs. %s",
                   fy_tensor_shape_text(ctx->in[1], x), fy_tensor_shape_text(grad, y));
  }
  if (in->rank != 4 || grad->rank != 4) {
    return fy_fail(err, FY_INVALID_ARGUMENT, "the input and out_backprop must be 4-dimensional");
  }
  if (in->dims[0] != grad->dims[0] || in->dims[3] != grad->dims[3]) {
    return fy_fail(err, FY_INVALID_ARGUMENT, "batch and channels of out_backprop %s do not fit",
                   fy_tensor_shape_text(grad, x));
  }
  FY_TRY(check_cuts(ctx->in[3], "row", grad->dims[1], in->dims[1], err));
  FY_TRY(check_cuts(ctx->in[4], "col", grad->dims[2], in->dims[2], err));
  FY_TRY(fy_out_like(ctx, 0, in, &out, err));
  if (!spreads[out->dtype]) {
    return fy_fail(err, FY_UNIMPLEMENTED, "no loop for %s", fy_dtype_name(out->dtype));
  }
  if (out->count == 0) return FY_OK;
  memset(out->data, 0, fy_tensor_bytes(out));
  if (grad->count == 0) return FY_OK;
  const job j = {in->dims[0],
                 in->dims[1],
                 in->dims[2],
                 in->dims[3],
                 grad->dims[1],
                 grad->dims[2],
                 ctx->in[3]->data,
                 ctx->in[4]->data,
                 fy_site_bool(ctx->site, "overlapping"),
                 false};
  // What the gradient belongs to must be what was pooled.
  FY_TRY(fy_scratch(ctx, fy_tensor_bytes(grad), &memory, err));
  pools[out->dtype](&j, in->data, memory);
  if (memcmp(memory, ctx->in[1]->data, fy_tensor_bytes(grad)) != 0) {
    return fy_fail(err, FY_INVALID_ARGUMENT, "tensor_out_dup is not the same as tensor_out");
  }
  spreads[out->dtype](&j, in->data, grad->data, out->data);
  return FY_OK;
}

// The cuts of an average may be any that are not negative, and more than are used: pieces may overlap,
// be empty or reach beyond the input.
static fy_code check_average(fy_kernel_ctx *ctx, int64_t sizes[4], fy_error *err) {
  static const char *const names[] = {"Batch", "Rows", "Columns", "Depth"};
  const fy_tensor *in = ctx->in[0], *grad = ctx->in[1];
  char x[128];
  if (in->rank != 1 || in->count != 4) {
    return fy_fail(err, FY_INVALID_ARGUMENT,
                   "original input tensor shape must be1-dimensional and 4 elements");
  }
  if (grad->rank != 4) {
    return fy_fail(err, FY_INVALID_ARGUMENT, "out_backprop must be 4-dimensional");
  }
  if (grad->count == 0) {
    return fy_fail(err, FY_INVALID_ARGUMENT,
                   "out_backprop must be positive for all dimension, got:0");
  }
  for (int i = 0; i < 2; i++) {
    if (ctx->in[2 + i]->count > grad->dims[1 + i]) continue;
    return fy_fail(
        err, FY_INVALID_ARGUMENT,
        "Given out_backprop shape %s, %s_seq_tensor must have at least %lld elements, but "
        "got %lld",
        fy_tensor_shape_text(grad, x), i ? "col" : "row", (long long)grad->dims[1 + i] + 1,
        (long long)ctx->in[2 + i]->count);
  }
  for (int i = 0; i < 4; i++) {
    sizes[i] = ((const int64_t *)in->data)[i];
    if (sizes[i] == 0) {
      return fy_fail(err, FY_INVALID_ARGUMENT, "%s dimension of input must not be 0", names[i]);
    }
  }
  for (int i = 0; i < 4; i++) {
    if (sizes[i] > 0) continue;
    return fy_fail(err, FY_INVALID_ARGUMENT, "Expected a non-negative size, got %lld",
                   (long long)sizes[i]);
  }
  return FY_OK;
}

// No piece may start before 0, nor end there.
static fy_code check_sequence(const fy_tensor *t, const char *name, int64_t n, bool overlapping,
                              fy_error *err) {
  const int64_t *v = t->data, least = overlapping ? 0 : 1;
  for (int64_t i = 0; i < n; i++) {
    if (v[i] >= 0 && v[i + 1] >= least) continue;
    return fy_fail(err, FY_INVALID_ARGUMENT,
                   "%s sequence tensor values must not be negative, got %lld to %lld at %lld", name,
                   (long long)v[i], (long long)v[i + 1], (long long)i);
  }
  return FY_OK;
}

// The gradient of an average goes to all in equal parts; sums are in double precision. A gradient with
// more images or channels than the input has belongs to nothing.
static fy_code share(const job *j, const fy_tensor *grad, double *out, fy_error *err) {
  char x[128];
  for (int64_t p = 0; p < grad->dims[0] * j->out_h * j->out_w; p++) {
    const area a = area_of(j, p / j->out_w % j->out_h, p % j->out_w);
    const int64_t b = p / j->out_w / j->out_h;
    if (a.y0 > a.y1 || a.x0 > a.x1) continue;
    if (b >= j->batch || grad->dims[3] > j->depth) {
      return fy_fail(err, FY_INVALID_ARGUMENT,
                     "out_backprop %s has more images or channels than the input",
                     fy_tensor_shape_text(grad, x));
    }
    const double n = (double)((a.y1 - a.y0 + 1) * (a.x1 - a.x0 + 1));
    for (int64_t d = 0; d < grad->dims[3]; d++) {
      const double part = fy_tensor_double(grad, p * grad->dims[3] + d) / n;
      for (int64_t y = a.y0; y <= a.y1; y++) {
        for (int64_t c = a.x0; c <= a.x1; c++) {
          out[((b * j->h + y) * j->w + c) * j->depth + d] += part;
        }
      }
    }
  }
  return FY_OK;
}

static fy_code average_gradient(fy_kernel_ctx *ctx, fy_error *err) {
  const fy_tensor *grad = ctx->in[1], *rows = ctx->in[2], *cols = ctx->in[3];
  const bool overlapping = fy_site_bool(ctx->site, "overlapping");
  int64_t sizes[4];
  fy_tensor *out;
  void *sums;
  FY_TRY(check_average(ctx, sizes, err));
  FY_TRY(fy_out(ctx, 0, 4, sizes, &out, err));
  if (!stores[out->dtype]) {
    return fy_fail(err, FY_UNIMPLEMENTED, "no loop for %s", fy_dtype_name(out->dtype));
  }
  FY_TRY(check_sequence(rows, "Row", grad->dims[1], overlapping, err));
  FY_TRY(check_sequence(cols, "Column", grad->dims[2], overlapping, err));
  const size_t bytes = (size_t)out->count * sizeof(double);
  FY_TRY(fy_scratch(ctx, bytes, &sums, err));
  memset(sums, 0, bytes);
  const job j = {sizes[0],      sizes[1],   sizes[2],   sizes[3],    grad->dims[1],
                 grad->dims[2], rows->data, cols->data, overlapping, true};
  FY_TRY(share(&j, grad, sums, err));
  stores[out->dtype](sums, out->data, out->count);
  return FY_OK;
}

// ---------------------------------------------------------------- shapes
static fy_code forward_shape(fy_shape_ctx *ctx, fy_error *err) {
  const fy_attr *r = fy_attrs_get(ctx->attrs, "pooling_ratio");
  int64_t dims[4], cuts[2];
  FY_TRY(fy_shape_rank_is(ctx->in[0], 4, err));
  if (!r || r->n != 4) {
    return fy_fail(err, FY_INVALID_ARGUMENT, "pooling_ratio field must specify 4 dimensions");
  }
  for (int i = 0; i < 4; i++) {
    if (r->v.floats[i] >= 1) continue;
    return fy_fail(err, FY_INVALID_ARGUMENT, "pooling_ratio cannot be smaller than 1, got: %g",
                   (double)r->v.floats[i]);
  }
  for (int i = 0; i < 4; i++) {
    const int64_t d = fy_dim_of(ctx->in[0], i);
    dims[i] = d < 0 ? -1 : (int64_t)floorf((float)d / r->v.floats[i]);
    if (d >= 0 && dims[i] < 0) {
      return fy_fail(err, FY_INVALID_ARGUMENT, "Size computed for dim %d is negative: %lld", i,
                     (long long)dims[i]);
    }
  }
  FY_TRY(fy_shape_set(ctx, 0, 4, dims, err));
  for (int i = 0; i < 2; i++) {
    cuts[i] = dims[1 + i] < 0 ? -1 : dims[1 + i] + 1;
    FY_TRY(fy_shape_set(ctx, 1 + i, 1, &cuts[i], err));
  }
  return FY_OK;
}
static fy_code max_grad_shape(fy_shape_ctx *ctx, fy_error *err) {
  FY_TRY(fy_shape_rank_is(ctx->in[0], 4, err));
  return fy_shape_set(ctx, 0, 4, ctx->in[0].dims, err);
}
static fy_code avg_grad_shape(fy_shape_ctx *ctx, fy_error *err) {
  fy_pshape s;
  if (!fy_shape_tensor(ctx, 0)) return fy_shape_set(ctx, 0, 4, NULL, err);
  FY_TRY(fy_shape_from_input(ctx, 0, &s, err));
  return fy_shape_set(ctx, 0, s.rank, s.dims, err);
}

static const fy_sample samples[] = {
    {"f32[1,4,4,1]=iota", "pooling_ratio=[1.0,1.5,1.5,1.0]; deterministic=true; seed=1; seed2=2",
     FY_OK, NULL},
    {"f32[4,4,1]=iota", "pooling_ratio=[1.0,1.5,1.5,1.0]", FY_INVALID_ARGUMENT,
     "tensor_in must be 4-dimensional"},
};
static const fy_sample max_grad_samples[] = {
    {"f32[1,2,2,1]=1,2,3,4; f32[1,1,1,1]=4; f32[1,1,1,1]=7; i64[2]=0,2; i64[2]=0,2", NULL, FY_OK,
     "0,0,0,7"},
};
static const fy_sample avg_grad_samples[] = {
    {"i64[4]=1,2,2,1; f32[1,1,1,1]=8; i64[2]=0,2; i64[2]=0,2", NULL, FY_OK, "2,2,2,2"},
};
static const char is_average;
FY_OP(FractionalMaxPool, .shape = forward_shape, .prepare = prepare, .compute = forward,
      .release = fy_random_release, .flags = FY_OP_NO_FOLD, FY_SAMPLES(samples));
FY_OP(FractionalAvgPool, .shape = forward_shape, .prepare = prepare, .compute = forward,
      .release = fy_random_release, .flags = FY_OP_NO_FOLD, .aux = &is_average,
      FY_SAMPLES(samples));
FY_OP(FractionalMaxPoolGrad, .shape = max_grad_shape, .compute = max_gradient,
      FY_SAMPLES(max_grad_samples));
FY_OP(FractionalAvgPoolGrad, .shape = avg_grad_shape, .compute = average_gradient, .host_inputs = 1,
      FY_SAMPLES(avg_grad_samples));
