// SPDX-License-Identifier: Apache-2.0
// kernel_matmul.c: MatMul and BatchMatMul of floats and doubles by the kernel of gemm.h.
//
// A transposed left operand is read where it is. The right one is packed into panels, once if it is
// steady; small ones and those that meet only a few rows are read as they lie.

#include <math.h>
#include <string.h>

#include "base/alloc.h"
#include "devices/cpu/epilogue.h"
#include "devices/cpu/gemm_bf16.h"
#include "ops/broadcast.h"
#include "ops/turn.h"

#define FEW_ROWS    3        // fewer rows than this and one: B is read as it lies
#define SMALL_B     16384    // elements of B that need no packing, …
#define FEW_BLOCKS  128      // … unless more rows than these meet it and …
#define NEAR_BYTES  16384    // … half of L1 does not hold a panel of it, in …
#define LINE_BYTES  64       // … lines
#define FAR_BYTES   4194304  // of a B that few rows meet along its rows: this many …
#define FAR_COLUMNS 1024     // … of a row at a time,
#define FAR_TERMS   64       // of so many rows one after the other

static fy_gemm_type type_of(fy_dtype t) {
  return t == FY_DOUBLE ? FY_GEMM_F64 : FY_GEMM_F32;
}

// ---------------------------------------------------------------- few rows
typedef struct row_job {
  const fy_gemm_kernels *g;
  fy_gemm_type type;
  const char *a, *b;
  char *c;
  int64_t m, k, n, block;
  bool far;
  size_t size;
} row_job;

// Columns [n0, n1), whole panels. A stretch of B stays in L2 for all rows.
static void rows_far(const row_job *j, int64_t n0, int64_t n1) {
  for (int64_t k0 = 0; k0 < j->k; k0 += FAR_TERMS) {
    const int64_t terms = j->k - k0 < FAR_TERMS ? j->k - k0 : FAR_TERMS;
    for (int64_t i = 0; i < j->m; i++)
      j->g->row_far[j->type](j->a + (size_t)(i * j->k + k0) * j->size,
                             j->b + (size_t)(k0 * j->n + n0) * j->size, j->n, terms, n1 - n0,
                             k0 > 0, j->c + (size_t)(i * j->n + n0) * j->size);
  }
}

static void row_blocks(void *arg, int64_t begin, int64_t end) {
  const row_job *j = arg;
  int64_t n0 = begin * j->block;
  const int64_t n1 = end * j->block < j->n ? end * j->block : j->n;
  if (j->far) {
    const int64_t whole = n1 - (n1 - n0) % (4 * j->g->columns[j->type]);
    rows_far(j, n0, whole);
    n0 = whole;
  }
  for (int64_t i = 0; n0 < n1 && i < j->m; i++)
    j->g->row[j->type](j->a + (size_t)(i * j->k) * j->size, j->b + (size_t)n0 * j->size, j->n, j->k,
                       n1 - n0, j->c + (size_t)(i * j->n + n0) * j->size);
}

static void few_rows(fy_kernel_ctx *ctx, fy_gemm_type type, const void *a, const void *b, void *c,
                     int64_t m, int64_t k, int64_t n) {
  const fy_gemm_kernels *g = fy_gemm_best();
  const size_t size = fy_gemm_size(type);
  row_job j = {g,   type, a, b, c, m, k, n, 4 * g->columns[type], k * n * (int64_t)size > FAR_BYTES,
               size};
  if (j.far) {  // long runs of memory, but enough for all threads
    const int64_t most = n / (2 * (ctx ? ctx->threads : 1));
    const int64_t run = most < FAR_COLUMNS ? most : FAR_COLUMNS;
    if (run > j.block) j.block = run - run % j.block;
  }
  const int64_t blocks = (n + j.block - 1) / j.block;
  if (ctx)
    fy_parallel(ctx, blocks, 0.05 * (double)(m * k * j.block), row_blocks, &j);
  else
    row_blocks(&j, 0, blocks);
}

// ---------------------------------------------------------------- a matrix and a vector
typedef struct shape {
  int64_t m, k, n;
  bool ta, tb;
} shape;

typedef struct dot_job {
  fy_gemm_type type;
  const void *rows, *v;
  void *out;
  int64_t k;
} dot_job;

// Rows are taken four at a time, so that several streams of memory are under way, each called for half a page
// ahead: the machine's own calls end at every page.
#define STRANDS 16
#define FEW     4
#define AHEAD   2048
#define DOT(name, REAL)                                                                      \
  FY_CLONES static void name(const REAL *x, const REAL *y, int64_t n, int rows, REAL *out) { \
    REAL part[FEW][STRANDS] = {{0}};                                                         \
    int64_t i = 0;                                                                           \
    for (; rows == FEW && i + STRANDS <= n; i += STRANDS)                                    \
      for (int r = 0; r < FEW; r++) {                                                        \
        __builtin_prefetch((const char *)(x + r * n + i) + AHEAD, 0, 3);                     \
        for (int k = 0; k < STRANDS; k++) part[r][k] += x[r * n + i + k] * y[i + k];         \
      }                                                                                      \
    for (; rows < FEW && i + STRANDS <= n; i += STRANDS)                                     \
      for (int r = 0; r < rows; r++)                                                         \
        for (int k = 0; k < STRANDS; k++) part[r][k] += x[r * n + i + k] * y[i + k];         \
    for (int r = 0; r < rows; r++) {                                                         \
      for (int64_t k = i; k < n; k++) part[r][k - i] += x[r * n + k] * y[k];                 \
      for (int w = STRANDS / 2; w > 0; w /= 2)                                               \
        for (int k = 0; k < w; k++) part[r][k] += part[r][k + w];                            \
      out[r] = part[r][0];                                                                   \
    }                                                                                        \
  }
DOT(dot_f32, float)
DOT(dot_f64, double)

static void dots(void *arg, int64_t begin, int64_t end) {
  const dot_job *j = arg;
  for (int64_t i = begin; i < end; i += FEW) {
    const int rows = end - i < FEW ? (int)(end - i) : FEW;
    if (j->type == FY_GEMM_F32)
      dot_f32((const float *)j->rows + i * j->k, j->v, j->k, rows, (float *)j->out + i);
    else
      dot_f64((const double *)j->rows + i * j->k, j->v, j->k, rows, (double *)j->out + i);
  }
}

// Is one side a vector, and the other read row by row?
static bool is_dots(const shape *s) {
  return (s->n == 1 && !s->ta) || (s->m == 1 && s->tb);
}

static void run_dots(fy_kernel_ctx *ctx, const shape *s, fy_gemm_type type, const void *a,
                     const void *b, void *c) {
  const bool column = s->n == 1 && !s->ta;
  dot_job j = {type, column ? a : b, column ? b : a, c, s->k};
  fy_parallel(ctx, column ? s->m : s->n, 5 + 0.1 * (double)s->k, dots, &j);
}

// ---------------------------------------------------------------- one product

// Would a panel of B stay in L1 where it lies? Rows that are a power of two apart share some of its sets.
static bool stays_near(const shape *s, fy_gemm_type type) {
  const int64_t bytes = s->n * (int64_t)fy_gemm_size(type), power = bytes & -bytes;
  return s->k * (power > LINE_BYTES ? power : LINE_BYTES) <= NEAR_BYTES;
}

static bool reads_in_place(const shape *s, fy_gemm_type type, bool steady) {
  const int64_t lanes = fy_gemm_best()->columns[type] / 2;
  return !s->tb && !steady && s->n % lanes == 0 &&
         (s->m <= 12 || (s->k * s->n <= SMALL_B && (s->m <= FEW_BLOCKS || stays_near(s, type))));
}

static fy_gemm_job job_of(const shape *s, fy_gemm_type type, const void *a, void *c) {
  return (fy_gemm_job){.type = type,
                       .m = s->m,
                       .n = s->n,
                       .depth = s->k,
                       .taps = 1,
                       .a = a,
                       .row_step = s->ta ? 1 : s->k,
                       .k_step = s->ta ? s->m : 1,
                       .c = c,
                       .ldc = s->n,
                       .lo = -INFINITY,
                       .hi = INFINITY};
}

#define FINISH(REAL)                                             \
  do {                                                           \
    REAL *y = out->data;                                         \
    const REAL *add = e->add < 0 ? NULL : ctx->in[e->add]->data; \
    const REAL *by = scale, *plus = bias;                        \
    for (int64_t i = 0; i < out->count;) {                       \
      for (int64_t c = 0; c < n; c++, i++) {                     \
        REAL x = y[i];                                           \
        if (e->scales) x *= by[c];                               \
        if (has_bias) x += plus[c];                              \
        if (add) x += add[i];                                    \
        x = x < (REAL)lo ? (REAL)lo : x;                         \
        y[i] = x > (REAL)hi ? (REAL)hi : x;                      \
      }                                                          \
    }                                                            \
  } while (0)

// Sums alone, one after the other, in place.
static void add_vectors(fy_kernel_ctx *ctx, const fy_epilogue *e, float *y, int64_t count,
                        int64_t n) {
  for (int64_t i = 0; i < count; i += n) {
    for (int k = 0; k < e->num_affine; k++) {
      const float *restrict v = ctx->in[e->affine[k].arg]->data;
      const float sign = e->affine[k].kind == FY_AFFINE_MINUS ? -1 : 1;
      for (int64_t c = 0; c < n; c++) y[i + c] += sign * v[c];
    }
    const float *restrict add = e->add < 0 ? NULL : ctx->in[e->add]->data;
    for (int64_t c = 0; add && c < n; c++) y[i + c] += add[i + c];
  }
}

static void clamp(float *y, int64_t n, float lo, float hi) {
  for (int64_t i = 0; i < n; i++) {
    const float x = y[i] < lo ? lo : y[i];
    y[i] = x > hi ? hi : x;
  }
}

// The epilogue of few rows, once they are done.
static fy_code finish_rows(fy_kernel_ctx *ctx, const fy_epilogue *e, fy_gemm_type type,
                           fy_tensor *out, fy_error *err) {
  const int64_t n = out->dims[out->rank - 1];
  const size_t size = fy_gemm_size(type);
  const fy_finish_fn finish = fy_epilogue_finish(e);
  double lo, hi;
  void *scale = NULL, *bias = NULL;
  if (e->num_affine && !e->scales && type == FY_GEMM_F32) {
    add_vectors(ctx, e, out->data, out->count, n);
    fy_epilogue_clamp(e, &lo, &hi);
    if (finish) finish(e, out->data, out->count);
    if (lo > -INFINITY) clamp(out->data, out->count, (float)lo, (float)hi);
    return FY_OK;
  }
  if (e->num_affine) {
    FY_TRY(fy_scratch(ctx, 2 * (size_t)n * size, &scale, err));
    bias = (char *)scale + (size_t)n * size;
  }
  const bool has_bias = fy_epilogue_fold(ctx, e, type, n, n, scale, bias);
  fy_epilogue_clamp(e, &lo, &hi);
  if (type == FY_GEMM_F32)
    FINISH(float);
  else
    FINISH(double);
  if (finish) finish(e, out->data, out->count);
  return FY_OK;
}

// B packed, or the room for it, its bias after it.
static fy_code weights(fy_kernel_ctx *ctx, const fy_epilogue *e, const shape *s, fy_gemm_type type,
                       size_t bytes, fy_gemm_job *j, fy_packed **out, fy_error *err) {
  const size_t size = fy_gemm_size(type);
  const int64_t panel = fy_gemm_best()->columns[type], padded = (s->n + panel - 1) / panel * panel;
  bool fresh;
  FY_TRY(fy_pack_acquire(ctx, ctx->site->fast_state, 1, fy_epilogue_weights(e),
                         bytes + (size_t)(padded + s->n) * size, out, &fresh, err));
  j->b = (*out)->data;
  if (fresh) {
    char *bias = (char *)(*out)->data + bytes, *scale = bias + (size_t)padded * size;
    if (fy_epilogue_fold(ctx, e, type, s->n, padded, scale, bias)) (*out)->bias = bias;
    j->raw = ctx->in[1]->data;
    j->raw_scale = e && e->scales ? scale : NULL;
    j->raw_step_k = s->tb ? 1 : s->n;
    j->raw_step_n = s->tb ? s->k : 1;
  }
  j->bias = (*out)->bias;
  return FY_OK;
}

// As matmul() goes about it.
static void matmul_needs(fy_kernel_ctx *ctx, fy_needs *out) {
  const fy_tensor *a = ctx->in[0], *b = ctx->in[1];
  shape s = {.ta = fy_site_bool(ctx->site, "transpose_a"),
             .tb = fy_site_bool(ctx->site, "transpose_b")};
  if (a->rank != 2 || b->rank != 2 || a->dtype != b->dtype || !a->count || !b->count) return;
  s.m = a->dims[s.ta];
  s.k = a->dims[!s.ta];
  s.n = b->dims[!s.tb];
  const fy_epilogue *e = fy_epilogue_of(ctx->site);
  const fy_gemm_type type = type_of(a->dtype);
  const size_t size = fy_gemm_size(type);
  const int64_t panel = fy_gemm_best()->columns[type], padded = (s.n + panel - 1) / panel * panel;
  size_t bytes;
  if (s.k != b->dims[s.tb] || !fy_epilogue_fits(ctx, e, s.n, s.m * s.n)) return;
  if (is_dots(&s) || (s.m <= FEW_ROWS && !s.ta && !s.tb)) {
    if (e && e->num_affine && (e->scales || type != FY_GEMM_F32))
      out->scratch += fy_scratch_line(2 * (size_t)s.n * size);
    return;
  }
  if (fy_epilogue_weights(e) == 1 && reads_in_place(&s, type, ctx->site->steady_inputs & 2)) return;
  if (!fy_gemm_packed_bytes(type, s.k, s.n, 1, &bytes)) return;
  fy_pack_needs(ctx, 1, fy_epilogue_weights(e), bytes + (size_t)(padded + s.n) * size, out);
}

static fy_code matmul(fy_kernel_ctx *ctx, fy_error *err) {
  const fy_tensor *a = ctx->in[0], *b = ctx->in[1];
  const fy_pack_cache *site = ctx->site->fast_state;
  shape s = {.ta = site->turn_a, .tb = site->turn_b};
  const fy_epilogue *e = fy_epilogue_of(ctx->site);
  const bool tall = e && a->rank > 2;  // _FerryMatMul alone takes matrices of higher rank
  if ((a->rank != 2 && !tall) || b->rank != 2 || a->dtype != b->dtype || !a->count || !b->count)
    return fy_fast_reference(ctx, err);
  if (tall && (s.ta || s.tb)) return fy_fast_reference(ctx, err);
  s.k = a->dims[s.ta ? 0 : a->rank - 1];
  s.m = a->count / s.k;
  s.n = b->dims[!s.tb];
  if (s.k != b->dims[s.tb] || !fy_epilogue_fits(ctx, e, s.n, s.m * s.n))
    return fy_fast_reference(ctx, err);
  const fy_gemm_type type = type_of(a->dtype);
  fy_tensor *out;
  int64_t dims[FY_MAX_RANK];  // not cleared: that takes longer than all else here
  memcpy(dims, a->dims, (size_t)a->rank * sizeof *dims);
  dims[a->rank - 1] = s.n;
  if (!tall) dims[0] = s.m;
  FY_TRY(fy_out(ctx, 0, a->rank, dims, &out, err));
  if (is_dots(&s) || (s.m <= FEW_ROWS && !s.ta && !s.tb)) {
    if (is_dots(&s))
      run_dots(ctx, &s, type, a->data, b->data, out->data);
    else
      few_rows(ctx, type, a->data, b->data, out->data, s.m, s.k, s.n);
    return e ? finish_rows(ctx, e, type, out, err) : FY_OK;
  }
  fy_gemm_job j = job_of(&s, type, a->data, out->data);
  if (e && e->add >= 0) j.add = ctx->in[e->add]->data;
  fy_epilogue_clamp(e, &j.lo, &j.hi);
  j.finish = fy_epilogue_finish(e);
  j.finish_arg = e;
  if (fy_epilogue_weights(e) == 1 && reads_in_place(&s, type, ctx->site->steady_inputs & 2)) {
    j.b = b->data;
    j.ldb = s.n;
    fy_gemm_run(ctx, &j);
    return FY_OK;
  }
  size_t bytes;
  fy_packed *packed;
  if (!fy_gemm_packed_bytes(type, s.k, s.n, 1, &bytes)) return fy_fast_reference(ctx, err);
  FY_TRY(weights(ctx, e, &s, type, bytes, &j, &packed, err));
  fy_gemm_run(ctx, &j);
  fy_pack_release(ctx->site->fast_state, packed, true);
  return FY_OK;
}

// ---------------------------------------------------------------- 16-bit floats
typedef struct convert_job {
  fy_dtype type;
  const uint16_t *in;
  float *wide;
  uint16_t *out;
} convert_job;

static void widen(void *arg, int64_t begin, int64_t end) {
  const convert_job *j = arg;
  if (j->type == FY_HALF)
    fy_halves_to_floats(j->in + begin, j->wide + begin, end - begin);
  else
    for (int64_t i = begin; i < end; i++) j->wide[i] = fy_bfloat16_to_float(j->in[i]);
}

static void narrow(void *arg, int64_t begin, int64_t end) {
  const convert_job *j = arg;
  if (j->type == FY_HALF)
    fy_floats_to_halves(j->wide + begin, j->out + begin, end - begin);
  else
    for (int64_t i = begin; i < end; i++) j->out[i] = fy_float_cut_to_bfloat16(j->wide[i]);
}

static bool packs_16(const shape *s) {
  return !is_dots(s) && !(s->m <= FEW_ROWS && !s->ta && !s->tb);
}
static void packed_product(fy_kernel_ctx *ctx, const shape *s, const void *a, const void *b,
                           void *c, void *packed) {
  fy_gemm_pack(ctx, FY_GEMM_F32, b, s->k, s->n, s->tb ? 1 : s->n, s->tb ? s->k : 1, NULL, packed);
  fy_gemm_job j = job_of(s, FY_GEMM_F32, a, c);
  j.b = packed;
  fy_gemm_run(ctx, &j);
}

static bool in_pairs(const shape *s, fy_dtype type) {
  return type == FY_BFLOAT16 && packs_16(s) && fy_gemm_bf16_here();
}

// Computed in float, then rounded (half) or cut (bfloat16) once, like the reference.
static fy_code matmul_16(fy_kernel_ctx *ctx, fy_error *err) {
  const fy_tensor *a = ctx->in[0], *b = ctx->in[1];
  shape s = {.ta = fy_site_bool(ctx->site, "transpose_a"),
             .tb = fy_site_bool(ctx->site, "transpose_b")};
  if (a->rank != 2 || b->rank != 2 || a->dtype != b->dtype || !a->count || !b->count)
    return fy_fast_reference(ctx, err);
  s.m = a->dims[s.ta];
  s.k = a->dims[!s.ta];
  s.n = b->dims[!s.tb];
  size_t bytes;
  if (s.k != b->dims[s.tb] || !fy_gemm_packed_bytes(FY_GEMM_F32, s.k, s.n, 1, &bytes))
    return fy_fast_reference(ctx, err);
  fy_tensor *out;
  void *wide_a, *wide_b, *wide_c, *packed;
  FY_TRY(fy_out(ctx, 0, 2, (const int64_t[]){s.m, s.n}, &out, err));
  if (in_pairs(&s, a->dtype))
    return fy_gemm_bf16(ctx, a->data, b->data, out->data, s.m, s.k, s.n, s.ta, s.tb, err);
  FY_TRY(fy_scratch(ctx, (size_t)a->count * sizeof(float), &wide_a, err));
  FY_TRY(fy_scratch(ctx, (size_t)b->count * sizeof(float), &wide_b, err));
  FY_TRY(fy_scratch(ctx, (size_t)out->count * sizeof(float), &wide_c, err));
  convert_job ca = {a->dtype, a->data, wide_a, NULL}, cb = {a->dtype, b->data, wide_b, NULL};
  convert_job cc = {a->dtype, NULL, wide_c, out->data};
  fy_parallel(ctx, a->count, 0.2, widen, &ca);
  fy_parallel(ctx, b->count, 0.2, widen, &cb);
  if (!packs_16(&s)) {
    if (is_dots(&s))
      run_dots(ctx, &s, FY_GEMM_F32, wide_a, wide_b, wide_c);
    else
      few_rows(ctx, FY_GEMM_F32, wide_a, wide_b, wide_c, s.m, s.k, s.n);
  } else {
    FY_TRY(fy_scratch(ctx, bytes, &packed, err));
    packed_product(ctx, &s, wide_a, wide_b, wide_c, packed);
  }
  fy_parallel(ctx, out->count, 0.2, narrow, &cc);
  return FY_OK;
}

static void needs_16(fy_kernel_ctx *ctx, fy_needs *out) {
  const fy_tensor *a = ctx->in[0], *b = ctx->in[1];
  const bool ta = fy_site_bool(ctx->site, "transpose_a"),
             tb = fy_site_bool(ctx->site, "transpose_b");
  size_t bytes;
  if (a->rank != 2 || b->rank != 2 || a->dtype != b->dtype || !a->count || !b->count ||
      a->dims[!ta] != b->dims[tb] ||
      !fy_gemm_packed_bytes(FY_GEMM_F32, a->dims[!ta], b->dims[!tb], 1, &bytes))
    return;
  const shape s = {a->dims[ta], a->dims[!ta], b->dims[!tb], ta, tb};
  if (in_pairs(&s, a->dtype)) {
    out->scratch += fy_gemm_bf16_needs(s.m, s.k, s.n, ta);
    return;
  }
  out->scratch += fy_scratch_line((size_t)a->count * sizeof(float)) +
                  fy_scratch_line((size_t)b->count * sizeof(float)) +
                  fy_scratch_line((size_t)(s.m * s.n) * sizeof(float)) +
                  (packs_16(&s) ? fy_scratch_line(bytes) : 0);
}

// ---------------------------------------------------------------- many
// Products of a few numbers: rows of B, filled up to whole vectors, times each number of A.
enum { TINY = 8 };
#define TINY_PRODUCT(name, REAL, WIDE)                                                            \
  FY_CLONES static void name(const shape *s, const REAL *a, const REAL *b, REAL *c) {             \
    const int64_t m = s->m, k = s->k, n = s->n;                                                   \
    const int64_t step_i = s->ta ? 1 : k, step_p = s->ta ? m : 1;                                 \
    REAL rows[TINY * WIDE] = {0};                                                                 \
    const REAL *from = b;                                                                         \
    if (n != WIDE || s->tb) {                                                                     \
      for (int64_t p = 0; p < k; p++)                                                             \
        for (int64_t q = 0; q < n; q++) rows[p * WIDE + q] = s->tb ? b[q * k + p] : b[p * n + q]; \
      from = rows;                                                                                \
    }                                                                                             \
    for (int64_t i = 0; i < m; i++, a += step_i, c += n) {                                        \
      REAL sum[WIDE] = {0};                                                                       \
      for (int64_t p = 0; p < k; p++)                                                             \
        for (int q = 0; q < WIDE; q++) sum[q] += a[p * step_p] * from[p * WIDE + q];              \
      if (n == WIDE)                                                                              \
        memcpy(c, sum, sizeof sum);                                                               \
      else                                                                                        \
        for (int64_t q = 0; q < n; q++) c[q] = sum[q];                                            \
    }                                                                                             \
  }
TINY_PRODUCT(tiny_f32_4, float, 4)
TINY_PRODUCT(tiny_f32_8, float, 8)
TINY_PRODUCT(tiny_f64_4, double, 4)
TINY_PRODUCT(tiny_f64_8, double, 8)
static void tiny(const shape *s, fy_gemm_type type, const void *a, const void *b, void *c) {
  if (type == FY_GEMM_F32)
    (s->n <= 4 ? tiny_f32_4 : tiny_f32_8)(s, a, b, c);
  else
    (s->n <= 4 ? tiny_f64_4 : tiny_f64_8)(s, a, b, c);
}
static bool is_tiny(const shape *s) {
  return s->m <= TINY && s->k <= TINY && s->n <= TINY;
}

typedef struct batch_job {
  shape s;
  fy_gemm_type type;
  size_t size, packed_bytes;
  const char *a, *b;
  char *c;
  bool in_place;
  int64_t steps_a[FY_MAX_RANK], steps_b[FY_MAX_RANK], dims[FY_MAX_RANK];
  int32_t rank;
  fy_kernel_ctx *inner;  // threads inside of a product, or NULL
  fy_slices packs;
} batch_job;

static bool packs_batch(const batch_job *j) {
  return !j->in_place && !(j->s.m <= FEW_ROWS && !j->s.ta && !j->s.tb) && !is_tiny(&j->s);
}

// The panels of a B that is transposed, whose rows are its columns.
static bool pack_turned(const batch_job *j, const void *b, float *packed) {
  const int64_t k = j->s.k, n = j->s.n, columns = fy_gemm_best()->columns[FY_GEMM_F32];
  if (!j->s.tb || j->type != FY_GEMM_F32 || k < 8 || n % columns % 8 || columns % 8) return false;
  for (int64_t at = 0; at < n; at += columns, packed += k * columns) {
    const int64_t width = n - at < columns ? n - at : columns;
    if (width < columns) memset(packed, 0, (size_t)(k * columns) * sizeof *packed);
    fy_turn_words(packed, columns, (const float *)b + at * k, k, k, width);
  }
  return true;
}

static void batch_items(void *arg, int64_t begin, int64_t end) {
  batch_job *j = arg;
  const shape *s = &j->s;
  const bool rows = s->m <= FEW_ROWS && !s->ta && !s->tb;
  void *packed = packs_batch(j) ? fy_slice_take(&j->packs) : NULL;
  const void *last = NULL;
  for (int64_t i = begin; i < end; i++) {
    int64_t rest = i, ia = 0, ib = 0;
    for (int32_t d = j->rank - 1; d >= 0; d--) {
      const int64_t at = rest % j->dims[d];
      rest /= j->dims[d];
      ia += at * j->steps_a[d];
      ib += at * j->steps_b[d];
    }
    const char *a = j->a + (size_t)(ia * s->m * s->k) * j->size;
    const char *b = j->b + (size_t)(ib * s->k * s->n) * j->size;
    char *c = j->c + (size_t)(i * s->m * s->n) * j->size;
    if (is_tiny(s)) {
      tiny(s, j->type, a, b, c);
      continue;
    }
    if (rows) {
      few_rows(j->inner, j->type, a, b, c, s->m, s->k, s->n);
      continue;
    }
    fy_gemm_job g = job_of(s, j->type, a, c);
    g.b = j->in_place ? b : packed;
    g.ldb = j->in_place ? s->n : 0;
    if (!j->in_place && b != last && (j->inner || !pack_turned(j, b, packed)))
      fy_gemm_pack(j->inner, j->type, b, s->k, s->n, s->tb ? 1 : s->n, s->tb ? s->k : 1, NULL,
                   packed);
    last = b;
    fy_gemm_run(j->inner, &g);
  }
  if (packed) fy_slice_give(&j->packs, packed);
}

// All rows meet the same B.
static fy_code one_b(fy_kernel_ctx *ctx, const shape *s, fy_gemm_type type, fy_tensor *out,
                     fy_error *err) {
  fy_gemm_job j = job_of(s, type, ctx->in[0]->data, out->data);
  fy_packed *packed;
  size_t bytes;
  if (!fy_gemm_packed_bytes(type, s->k, s->n, 1, &bytes)) return fy_fast_reference(ctx, err);
  FY_TRY(weights(ctx, NULL, s, type, bytes, &j, &packed, err));
  fy_gemm_run(ctx, &j);
  fy_pack_release(ctx->site->fast_state, packed, true);
  return FY_OK;
}

// What is multiplied with what, from shapes alone. |*bcast| holds the output's shape. False: the
// reference knows what to do. One product with |j->rank| 0 of more than a few rows is one_b()'s.
static bool batch_setup(const fy_kernel_ctx *ctx, batch_job *j, fy_bcast *bcast) {
  const fy_tensor *a = ctx->in[0], *b = ctx->in[1];
  const fy_pack_cache *site = ctx->site->fast_state;
  *j = (batch_job){.s = {.ta = site->turn_a, .tb = site->turn_b}};
  if (a->rank < 2 || b->rank < 2 || a->dtype != b->dtype || !a->count || !b->count ||
      ctx->site->out_types[0] != a->dtype)
    return false;
  shape *s = &j->s;
  const int64_t *da = a->dims + a->rank - 2, *db = b->dims + b->rank - 2;
  s->m = da[s->ta];
  s->k = da[!s->ta];
  s->n = db[!s->tb];
  const int32_t ranks[] = {a->rank - 2, b->rank - 2};
  const int64_t *const dims[] = {a->dims, b->dims};
  const bool broadcasts = strcmp(ctx->site->op->impl->name, "BatchMatMul") != 0;
  if (s->k != db[s->tb] || (!broadcasts && !fy_shape_equal(ranks[0], a->dims, ranks[1], b->dims)) ||
      fy_bcast_init_dims(bcast, 2, ranks, dims, NULL) || bcast->out_rank + 2 > FY_MAX_RANK ||
      bcast->count < 1)
    return false;
  bcast->out_dims[bcast->out_rank] = s->m;
  bcast->out_dims[bcast->out_rank + 1] = s->n;
  j->type = type_of(a->dtype);
  j->size = fy_gemm_size(j->type);
  j->rank = bcast->rank;
  for (int32_t d = 0; d < bcast->rank; d++) {
    j->dims[d] = bcast->dims[d];
    j->steps_a[d] = bcast->strides[0][d];
    j->steps_b[d] = bcast->strides[1][d];
  }
  // One matrix for all rows of a plain batch: one tall product, packed once.
  if (ranks[1] == 0 && !s->ta && bcast->count > 1) {
    s->m *= bcast->count;
    j->rank = 0;
    bcast->count = 1;
  }
  j->in_place = reads_in_place(s, j->type, false);
  return fy_gemm_packed_bytes(j->type, s->k, s->n, 1, &j->packed_bytes);
}

static bool is_one(const batch_job *j, const fy_bcast *bcast) {
  return bcast->count == 1 && j->rank == 0 && j->s.m > FEW_ROWS;
}

static void batch_needs(fy_kernel_ctx *ctx, fy_needs *out) {
  batch_job j;
  fy_bcast bcast;
  if (!batch_setup(ctx, &j, &bcast)) return;
  const fy_tensor *a = ctx->in[0], *b = ctx->in[1];
  if (a->dtype == FY_HALF || a->dtype == FY_BFLOAT16) {
    if (is_one(&j, &bcast) && in_pairs(&j.s, a->dtype)) {
      out->scratch += fy_gemm_bf16_needs(j.s.m, j.s.k, j.s.n, j.s.ta);
      return;
    }
    const int64_t rows = is_one(&j, &bcast) ? j.s.m : bcast.count * j.s.m;
    out->scratch += fy_scratch_line((size_t)a->count * sizeof(float)) +
                    fy_scratch_line((size_t)b->count * sizeof(float)) +
                    fy_scratch_line((size_t)(rows * j.s.n) * sizeof(float));
    if (is_one(&j, &bcast)) {
      out->scratch += fy_scratch_line(j.packed_bytes);
      return;
    }
  }
  if (is_one(&j, &bcast))
    fy_pack_needs(ctx, 1, 1, j.packed_bytes, out);
  else if (packs_batch(&j))
    out->scratch +=
        fy_slices_needs(ctx, bcast.count >= ctx->threads ? bcast.count : 1, j.packed_bytes);
}

// Of |j|, whose operands are where they will be read.
static fy_code batch_run(fy_kernel_ctx *ctx, batch_job *j, const fy_bcast *bcast, fy_error *err) {
  const shape *s = &j->s;
  const bool apart = bcast->count >= ctx->threads && bcast->count > 1;
  if (packs_batch(j))
    FY_TRY(fy_slices_make(ctx, apart ? bcast->count : 1, j->packed_bytes, &j->packs, err));
  if (apart) {
    const double ns = 0.025 * (double)s->m * (double)s->k * (double)s->n;
    fy_parallel(ctx, bcast->count, is_tiny(s) ? 10 + ns : ns, batch_items, j);
  } else {
    j->inner = ctx;
    batch_items(j, 0, bcast->count);
  }
  return FY_OK;
}

// 16-bit floats: as matmul_16().
static fy_code batch_16(fy_kernel_ctx *ctx, batch_job *j, const fy_bcast *bcast, fy_tensor *out,
                        fy_error *err) {
  const fy_tensor *a = ctx->in[0], *b = ctx->in[1];
  const shape *s = &j->s;
  void *wide_a, *wide_b, *wide_c, *packed;
  if (is_one(j, bcast) && in_pairs(s, a->dtype))
    return fy_gemm_bf16(ctx, a->data, b->data, out->data, s->m, s->k, s->n, s->ta, s->tb, err);
  FY_TRY(fy_scratch(ctx, (size_t)a->count * sizeof(float), &wide_a, err));
  FY_TRY(fy_scratch(ctx, (size_t)b->count * sizeof(float), &wide_b, err));
  FY_TRY(fy_scratch(ctx, (size_t)out->count * sizeof(float), &wide_c, err));
  convert_job ca = {a->dtype, a->data, wide_a, NULL}, cb = {a->dtype, b->data, wide_b, NULL};
  convert_job cc = {a->dtype, NULL, wide_c, out->data};
  fy_parallel(ctx, a->count, 0.2, widen, &ca);
  fy_parallel(ctx, b->count, 0.2, widen, &cb);
  if (is_one(j, bcast)) {
    FY_TRY(fy_scratch(ctx, j->packed_bytes, &packed, err));
    packed_product(ctx, &j->s, wide_a, wide_b, wide_c, packed);
  } else {
    j->a = wide_a, j->b = wide_b, j->c = wide_c;
    FY_TRY(batch_run(ctx, j, bcast, err));
  }
  fy_parallel(ctx, out->count, 0.2, narrow, &cc);
  return FY_OK;
}

static fy_code batch_matmul(fy_kernel_ctx *ctx, fy_error *err) {
  batch_job j;
  fy_bcast bcast;
  fy_tensor *out;
  if (!batch_setup(ctx, &j, &bcast)) return fy_fast_reference(ctx, err);
  FY_TRY(fy_out(ctx, 0, bcast.out_rank + 2, bcast.out_dims, &out, err));
  if (out->dtype == FY_HALF || out->dtype == FY_BFLOAT16)
    return batch_16(ctx, &j, &bcast, out, err);
  j.a = ctx->in[0]->data;
  j.b = ctx->in[1]->data;
  j.c = out->data;
  return is_one(&j, &bcast) ? one_b(ctx, &j.s, j.type, out, err) : batch_run(ctx, &j, &bcast, err);
}

#define REALS      (FY_T(FY_FLOAT) | FY_T(FY_DOUBLE))
#define MORE_REALS (REALS | FY_T(FY_HALF) | FY_T(FY_BFLOAT16))
extern const fy_fast_kernel fy_fast_matmul_16, fy_fast_fused_matmul, fy_fast_matmul,
    fy_fast_batch_matmul, fy_fast_batch_matmul_v2, fy_fast_batch_matmul_v3;
const fy_fast_kernel fy_fast_matmul = {.op = "MatMul",
                                       .name = "gemm",
                                       .dtypes = REALS,
                                       .prepare = fy_pack_cache_prepare,
                                       .compute = matmul,
                                       .needs = matmul_needs,
                                       .release = fy_pack_cache_free};
const fy_fast_kernel fy_fast_matmul_16 = {.op = "MatMul",
                                          .name = "gemm of floats",
                                          .dtypes = FY_T(FY_HALF) | FY_T(FY_BFLOAT16),
                                          .compute = matmul_16,
                                          .needs = needs_16};
const fy_fast_kernel fy_fast_fused_matmul = {.op = "_FerryMatMul",
                                             .name = "gemm",
                                             .dtypes = REALS,
                                             .prepare = fy_pack_cache_prepare,
                                             .compute = matmul,
                                             .needs = matmul_needs,
                                             .release = fy_pack_cache_free};
const fy_fast_kernel fy_fast_batch_matmul = {.op = "BatchMatMul",
                                             .name = "gemm",
                                             .dtypes = MORE_REALS,
                                             .prepare = fy_pack_cache_prepare,
                                             .compute = batch_matmul,
                                             .needs = batch_needs,
                                             .release = fy_pack_cache_free};
const fy_fast_kernel fy_fast_batch_matmul_v2 = {.op = "BatchMatMulV2",
                                                .name = "gemm",
                                                .dtypes = MORE_REALS,
                                                .prepare = fy_pack_cache_prepare,
                                                .compute = batch_matmul,
                                                .needs = batch_needs,
                                                .release = fy_pack_cache_free};
const fy_fast_kernel fy_fast_batch_matmul_v3 = {.op = "BatchMatMulV3",
                                                .name = "gemm",
                                                .dtypes = MORE_REALS,
                                                .prepare = fy_pack_cache_prepare,
                                                .compute = batch_matmul,
                                                .needs = batch_needs,
                                                .release = fy_pack_cache_free};
