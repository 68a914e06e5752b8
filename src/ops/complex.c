// SPDX-License-Identifier: Apache-2.0
// complex.c: Complex, Real, Imag, Conj, Angle, ComplexAbs; and small functions of two or three
// numbers: NextAfter, ApproximateEqual, ClipByValue, CumulativeLogsumexp.

#include "ops/elementwise.h"
#include "ops/shape_fns.h"
#include "ops/values.h"

// ---------------------------------------------------------------- parts of complex numbers
#define REAL_PART(S, x)        FY_MATH_##S(real)(x)
#define IMAG_PART(S, x)        FY_MATH_##S(imag)(x)
#define CONJ(S, x)             FY_MATH_##S(onj)(x)
#define ANGLE(S, x)            FY_MATH_##S(arg)(x)
#define MAGNITUDE(S, x)        FY_MATH_##S(abs)(x)
#define PART(E, S, name, EXPR) FY_UNARY_LOOP_TO(E, S, name, EXPR, fy_r_##S, )
FY_COMPLEX_TYPES(PART, real, REAL_PART)
FY_COMPLEX_TYPES(PART, imag, IMAG_PART)
FY_COMPLEX_TYPES(PART, angle, ANGLE)
FY_COMPLEX_TYPES(PART, magnitude, MAGNITUDE)
FY_COMPLEX_TYPES(FY_UNARY_LOOP, conj, CONJ)
#define TABLE(name, ns_) \
  static const fy_unary_loops name##_table = {{FY_COMPLEX_TYPES(FY_LOOP_ENTRY, name)}, ns_}
TABLE(real, 0.4);
TABLE(imag, 0.4);
TABLE(angle, 20);
TABLE(magnitude, 5);
TABLE(conj, 0.5);

#define JOIN(E, S, COMPLEX)                                                              \
  static void join_##S(const void *pa, int64_t sa, const void *pb, int64_t sb, void *po, \
                       int64_t n, int *bad) {                                            \
    const fy_t_##S *a = pa, *b = pb;                                                     \
    COMPLEX *o = po;                                                                     \
    (void)bad;                                                                           \
    for (int64_t i = 0; i < n; i++) o[i] = __builtin_complex(a[i * sa], b[i * sb]);      \
  }
JOIN(FY_FLOAT, f32, float _Complex)
JOIN(FY_DOUBLE, f64, double _Complex)
static const fy_binary_loops join_loops = {.loop = {[FY_FLOAT] = join_f32, [FY_DOUBLE] = join_f64}};

#define NEXT(S, x, y) FY_MATH_##S(nextafter)(x, y)
FY_FULL_REAL_TYPES(FY_BINARY_LOOP, next, NEXT)
static const fy_binary_loops next_loops = {.loop = {FY_FULL_REAL_TYPES(FY_LOOP_ENTRY, next)}};

// ---------------------------------------------------------------- ApproximateEqual
typedef struct near_job {
  const fy_tensor *a, *b;
  bool *out;
  float tolerance;
} near_job;
FY_CLONES static void near_floats(const float *a, const float *b, float tolerance,
                                  bool *restrict out, int64_t n) {
  for (int64_t i = 0; i < n; i++) out[i] = fabsf(a[i] - b[i]) <= tolerance;
}
static void near(void *arg, int64_t begin, int64_t end) {
  const near_job *j = arg;
  if (j->a->dtype == FY_FLOAT) {
    near_floats((const float *)j->a->data + begin, (const float *)j->b->data + begin, j->tolerance,
                j->out + begin, end - begin);
    return;
  }
  for (int64_t i = begin; i < end; i++) {
    const double d = fy_tensor_double(j->a, i) - fy_tensor_double(j->b, i);
    j->out[i] = fabs(d) <= (double)j->tolerance;
  }
}
static fy_code approximate_equal(fy_kernel_ctx *ctx, fy_error *err) {
  const fy_tensor *a = ctx->in[0], *b = ctx->in[1];
  char x[128], y[128];
  fy_tensor *out;
  if (!fy_shape_equal(a->rank, a->dims, b->rank, b->dims)) {
    return fy_fail(err, FY_INVALID_ARGUMENT,
                   "x and y must be of the same shape. x shape: %s. y shape: %s",
                   fy_tensor_shape_text(a, x), fy_tensor_shape_text(b, y));
  }
  FY_TRY(fy_out_like(ctx, 0, a, &out, err));
  near_job j = {a, b, out->data, fy_site_float(ctx->site, "tolerance")};
  fy_parallel(ctx, a->count, a->dtype == FY_FLOAT ? 0.2 : 4, near, &j);
  return FY_OK;
}

// ---------------------------------------------------------------- ClipByValue
#define CLIP(E, S, _)                                                                         \
  FY_CLONE_##S static void clip_##S(const void *pt, const void *pl, const void *ph, bool all, \
                                    void *po, int64_t n) {                                    \
    const fy_t_##S *t = pt, *lows = pl, *highs = ph;                                          \
    fy_t_##S *o = po;                                                                         \
    fy_a_##S low = FY_LD_##S(lows[0]), high = FY_LD_##S(highs[0]);                            \
    if (all) {                                                                                \
      FY_VECTOR for (int64_t i = 0; i < n; i++) {                                             \
        const fy_a_##S x = FY_LD_##S(t[i]), capped = high < x ? high : x;                     \
        o[i] = FY_ST_##S(capped < low ? low : capped);                                        \
      }                                                                                       \
      return;                                                                                 \
    }                                                                                         \
    FY_VECTOR for (int64_t i = 0; i < n; i++) {                                               \
      const fy_a_##S x = FY_LD_##S(t[i]), l = FY_LD_##S(lows[i]), h = FY_LD_##S(highs[i]);    \
      const fy_a_##S capped = h < x ? h : x;                                                  \
      o[i] = FY_ST_##S(capped < l ? l : capped);                                              \
    }                                                                                         \
  }
CLIP(FY_BFLOAT16, bf16, _)
FY_FULL_REAL_TYPES(CLIP, _)
FY_INT_TYPES(CLIP, _)
static void clip_f16(const void *t, const void *low, const void *high, bool all, void *out,
                     int64_t n) {
  float x[FY_CHUNK], l[FY_CHUNK], h[FY_CHUNK];
  for (int64_t at = 0; at < n; at += FY_CHUNK) {
    const int64_t m = n - at < FY_CHUNK ? n - at : FY_CHUNK;
    fy_halves_to_floats((const uint16_t *)t + at, x, m);
    fy_halves_to_floats((const uint16_t *)low + (all ? 0 : at), l, all ? 1 : m);
    fy_halves_to_floats((const uint16_t *)high + (all ? 0 : at), h, all ? 1 : m);
    clip_f32(x, l, h, all, x, m);
    fy_floats_to_halves(x, (uint16_t *)out + at, m);
  }
}
// Complex numbers are clipped part by part.
static void clip_c64(const void *t, const void *low, const void *high, bool all, void *out,
                     int64_t n) {
  (void)all;
  clip_f32(t, low, high, false, out, 2 * n);
}
static void clip_c128(const void *t, const void *low, const void *high, bool all, void *out,
                      int64_t n) {
  (void)all;
  clip_f64(t, low, high, false, out, 2 * n);
}
// |all|: the bounds are one number each.
typedef void (*clip_fn)(const void *t, const void *low, const void *high, bool all, void *out,
                        int64_t n);
static const clip_fn clips[FY_DTYPE_COUNT] = {FY_NUMERIC_TYPES(FY_LOOP_ENTRY, clip)};

typedef struct clip_job {
  clip_fn fn;
  const char *t, *low, *high;
  int64_t step_low, step_high;
  char *out;
  size_t size;
  bool parts;
} clip_job;
// Where only one bound is one number, or it has parts, it is repeated.
enum { CLIP_CHUNK = 256 };
static const char *repeat(char *to, const char *value, size_t size) {
  memcpy(to, value, size);
  for (size_t n = size; n < CLIP_CHUNK * size; n *= 2) memcpy(to + n, to, n);
  return to;
}
static void clip_range(void *arg, int64_t begin, int64_t end) {
  const clip_job *j = arg;
  const size_t first = (size_t)begin * j->size;
  if (!j->step_low && !j->step_high && !j->parts) {
    j->fn(j->t + first, j->low, j->high, true, j->out + first, end - begin);
    return;
  }
  _Alignas(16) char bounds[2][CLIP_CHUNK * 16];
  const char *low = j->step_low ? j->low + first : repeat(bounds[0], j->low, j->size);
  const char *high = j->step_high ? j->high + first : repeat(bounds[1], j->high, j->size);
  for (int64_t i = begin, n; i < end; i += n) {
    const size_t at = (size_t)i * j->size;
    n = end - i < CLIP_CHUNK ? end - i : CLIP_CHUNK;
    j->fn(j->t + at, low, high, false, j->out + at, n);
    if (j->step_low) low += (size_t)n * j->size;
    if (j->step_high) high += (size_t)n * j->size;
  }
}

static fy_code clip_by_value(fy_kernel_ctx *ctx, fy_error *err) {
  const fy_tensor *t = ctx->in[0], *low = ctx->in[1], *high = ctx->in[2];
  char x[128], y[128], z[128];
  fy_tensor *out;
  for (int i = 1; i < 3; i++) {
    const fy_tensor *edge = ctx->in[i];
    if (edge->rank == 0 || fy_shape_equal(edge->rank, edge->dims, t->rank, t->dims)) continue;
    return fy_fail(err, FY_INVALID_ARGUMENT,
                   "clip_value_min and clip_value_max must be either of the same shape as input, "
                   "or a scalar. input shape: %sclip_value_min shape: %sclip_value_max shape: %s",
                   fy_tensor_shape_text(t, x), fy_tensor_shape_text(low, y),
                   fy_tensor_shape_text(high, z));
  }
  if (!clips[t->dtype]) {
    return fy_fail(err, FY_UNIMPLEMENTED, "ClipByValue has no loop for %s",
                   fy_dtype_name(t->dtype));
  }
  FY_TRY(fy_out_like(ctx, 0, t, &out, err));
  clip_job j = {.fn = clips[t->dtype],
                .t = t->data,
                .low = low->data,
                .high = high->data,
                .step_low = low->rank > 0,
                .step_high = high->rank > 0,
                .out = out->data,
                .size = fy_dtype_storage(t->dtype),
                .parts = t->dtype == FY_COMPLEX64 || t->dtype == FY_COMPLEX128};
  fy_parallel(ctx, t->count, 0.4, clip_range, &j);
  return FY_OK;
}

// ---------------------------------------------------------------- CumulativeLogsumexp
// In TensorFlow's way, whose minimum and maximum of a sum and a NaN are the sum: a NaN counts like the
// sum so far (and infinity after infinity is NaN).
static double log_add(double sum, double x) {
  const double low = x < sum ? x : sum, top = sum < x ? x : sum;
  return top == -INFINITY ? top : top + log1p(exp(low - top));
}
#define LOG_SCAN(E, S, _)                                                                     \
  static void log_scan_##S(const void *pi, void *po, int64_t n, int64_t step, bool exclusive, \
                           bool reverse) {                                                    \
    const fy_t_##S *in = pi;                                                                  \
    fy_t_##S *out = po;                                                                       \
    double sum = -INFINITY;                                                                   \
    for (int64_t k = 0; k < n; k++) {                                                         \
      const int64_t at = (reverse ? n - 1 - k : k) * step;                                    \
      const double next = log_add(sum, (double)FY_LD_##S(in[at]));                            \
      const double v = exclusive ? sum : next;                                                \
      out[at] = FY_ST_##S((fy_a_##S)v);                                                       \
      sum = next;                                                                             \
    }                                                                                         \
  }
FY_REAL_TYPES(LOG_SCAN, _)
typedef void (*log_scan_fn)(const void *in, void *out, int64_t n, int64_t step, bool exclusive,
                            bool reverse);
static const log_scan_fn log_scans[FY_DTYPE_COUNT] = {FY_REAL_TYPES(FY_LOOP_ENTRY, log_scan)};

typedef struct log_scan_job {
  log_scan_fn scan;
  const char *in;
  char *out;
  size_t size;
  int64_t n, inner;
  bool exclusive, reverse;
} log_scan_job;

static void log_scan_lanes(void *arg, int64_t begin, int64_t end) {
  const log_scan_job *j = arg;
  for (int64_t lane = begin; lane < end; lane++) {
    const size_t base = (size_t)(lane / j->inner * j->n * j->inner + lane % j->inner) * j->size;
    j->scan(j->in + base, j->out + base, j->n, j->inner, j->exclusive, j->reverse);
  }
}

static fy_code cumulative_logsumexp(fy_kernel_ctx *ctx, fy_error *err) {
  const fy_tensor *in = ctx->in[0], *axis = ctx->in[1];
  const bool exclusive = fy_site_bool(ctx->site, "exclusive"),
             reverse = fy_site_bool(ctx->site, "reverse");
  char x[128];
  fy_tensor *out;
  if (axis->rank != 0) {
    return fy_fail(err, FY_INVALID_ARGUMENT, "ScanOp: axis must be a scalar, not %s",
                   fy_tensor_shape_text(axis, x));
  }
  const int64_t given = fy_tensor_int(axis, 0), a = given < 0 ? given + in->rank : given;
  if (a < 0 || a >= in->rank) {
    return fy_fail(err, FY_INVALID_ARGUMENT,
                   "ScanOp: Expected scan axis in the range [%d, %d), but got %lld", -in->rank,
                   in->rank, (long long)a);
  }
  const log_scan_fn scan = log_scans[in->dtype];
  if (!scan) {
    return fy_fail(err, FY_UNIMPLEMENTED, "no loop for %s", fy_dtype_name(in->dtype));
  }
  FY_TRY(fy_out_like(ctx, 0, in, &out, err));
  if (in->count == 0) return FY_OK;
  log_scan_job j = {.scan = scan,
                    .in = in->data,
                    .out = out->data,
                    .size = fy_dtype_storage(in->dtype),
                    .n = in->dims[a],
                    .inner = fy_product(in->dims + a + 1, in->rank - 1 - (int32_t)a),
                    .exclusive = exclusive,
                    .reverse = reverse};
  fy_parallel(ctx, in->count / j.n, 10.0 * (double)j.n, log_scan_lanes, &j);
  return FY_OK;
}

static fy_code same_shape(fy_shape_ctx *ctx, fy_error *err) {
  fy_pshape merged;
  FY_TRY(fy_shape_merge(ctx, ctx->in[0], ctx->in[1], &merged, err));
  return fy_shape_set(ctx, 0, merged.rank, merged.dims, err);
}

static const fy_sample join_samples[] = {
    {"f32[2]=1,2; f32[]=3", "Tout=complex64", FY_OK, NULL},
    {"f64[2]=1,2; f64[2]=3,4", "Tout=complex128", FY_OK, NULL},
};
static const fy_sample part_samples[] = {
    {"c64[2]=1,2", "Tout=float", FY_OK, NULL},
    {"c128[2]=1,2", "Tout=double", FY_OK, NULL},
};
static const fy_sample conj_samples[] = {{"c64[2]=1,2", NULL, FY_OK, NULL}};
static const fy_sample next_samples[] = {
    {"f32[2]=1,2; f32[]=2", NULL, FY_OK, NULL},
    {"f64[1]=1; f64[1]=1", NULL, FY_OK, "1"},
};
static const fy_sample equal_samples[] = {
    {"f32[2]=1,2; f32[2]=1,3", "tolerance=0.1", FY_OK, "1,0"},
    {"f32[2]=1,2; f32[1]=1", NULL, FY_INVALID_ARGUMENT, "x and y must be of the same shape"},
};
static const fy_sample clip_samples[] = {
    {"i32[4]=0,5,10,15; i32[]=4; i32[]=11", NULL, FY_OK, "4,5,10,11"},
    {"f32[2]=1,2; f32[1]=1; f32[]=2", NULL, FY_INVALID_ARGUMENT, "clip_value_min"},
};
static const fy_sample scan_samples[] = {
    {"f32[2,3]=normal; i32[]=1", NULL, FY_OK, NULL},
    {"f32[3]=normal; i32[]=1", NULL, FY_INVALID_ARGUMENT, "ScanOp: Expected scan axis"},
};

// Tout must be the type of the parts.
static fy_code matching_types(fy_site *site, fy_error *err) {
  const bool join = site->num_inputs == 2;
  const fy_dtype in = site->in_types[0], out = site->out_types[0];
  const fy_dtype wide = join ? out : in, part = join ? in : out;
  if ((wide == FY_COMPLEX128) == (part == FY_DOUBLE)) return FY_OK;
  const fy_dtype right = join ? (in == FY_DOUBLE ? FY_COMPLEX128 : FY_COMPLEX64)
                              : (in == FY_COMPLEX128 ? FY_DOUBLE : FY_FLOAT);
  const char *name = fy_dtype_name(in), *comma = join ? "," : "", *second = join ? name : "";
  return fy_fail(err, FY_INVALID_ARGUMENT,
                 "Signature mismatch, have: %s%s%s->%s expected: %s%s%s->%s", name, comma, second,
                 fy_dtype_name(out), name, comma, second, fy_dtype_name(right));
}

#define PART_OP(Name, name)                                                                        \
  FY_OP(Name, .shape = fy_shape_unchanged, .prepare = matching_types, .compute = fy_unary_compute, \
        .aux = &name##_table, FY_SAMPLES(part_samples))
PART_OP(Real, real);
PART_OP(Imag, imag);
PART_OP(Angle, angle);
PART_OP(ComplexAbs, magnitude);
FY_OP(Conj, .shape = fy_shape_unchanged, .compute = fy_unary_compute, .aux = &conj_table,
      .flags = FY_OP_INPLACE, FY_SAMPLES(conj_samples));
FY_OP(Complex, .shape = fy_shape_broadcast, .prepare = matching_types, .compute = fy_binary_compute,
      .aux = &join_loops, FY_SAMPLES(join_samples));
FY_OP(NextAfter, .shape = fy_shape_broadcast, .compute = fy_binary_compute, .aux = &next_loops,
      .flags = FY_OP_INPLACE, FY_SAMPLES(next_samples));
FY_OP(ApproximateEqual, .shape = same_shape, .compute = approximate_equal,
      FY_SAMPLES(equal_samples));
FY_OP(ClipByValue, .shape = fy_shape_unchanged, .compute = clip_by_value, FY_SAMPLES(clip_samples));
FY_OP(CumulativeLogsumexp, .shape = fy_shape_unchanged, .compute = cumulative_logsumexp,
      .host_inputs = 1 << 1, FY_SAMPLES(scan_samples));
