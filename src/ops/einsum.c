// SPDX-License-Identifier: Apache-2.0
// einsum.c: Einsum of one or two tensors. Every label is of one of four groups: in both inputs and
// the output (batch), in the first and the output (rows), in the second and the output (columns),
// or not in the output (summed). Offsets of a group's positions are tabled once, the second input
// is packed to [batch, summed, columns], and what is left is a product of matrices.

#include "ferry/device.h"
#include "ops/einsum.h"
#include "ops/einsum_equation.h"
#include "ops/fused.h"
#include "ops/shape_fns.h"
#include "ops/typed.h"
#include "ops/values.h"

#define LABELS FY_EINSUM_LABELS

typedef fy_einsum_term term;
typedef fy_einsum_equation equation;

// ---------------------------------------------------------------- offsets
typedef struct group {
  int32_t rank;
  int32_t label[2 * FY_MAX_RANK];
  int64_t count;
} group;

static void add_strides(const term *t, const int64_t *dims, int64_t stride[LABELS]) {
  int64_t step = 1;
  for (int l = 0; l < LABELS; l++) stride[l] = 0;
  for (int32_t d = t->rank - 1; d >= 0; d--) {
    if (dims[d] != 1) stride[t->label[d]] += step;  // 1 repeats
    step *= dims[d];
  }
}

static fy_code offsets(fy_kernel_ctx *ctx, const equation *e, const group *g,
                       const int64_t stride[LABELS], int64_t **out, fy_error *err) {
  void *memory;
  FY_TRY(fy_scratch(ctx, (size_t)(g->count + 1) * sizeof(int64_t), &memory, err));
  int64_t *at = memory;
  for (int64_t i = 0; i < g->count; i++) {
    int64_t rest = i;
    at[i] = 0;
    for (int32_t k = g->rank - 1; k >= 0; k--) {
      const int64_t n = e->size[g->label[k]];
      at[i] += rest % n * stride[g->label[k]];
      rest /= n;
    }
  }
  *out = at;
  return FY_OK;
}

// ---------------------------------------------------------------- loops
#define MADD_REAL(S, s, x, y) ((s) + (x) * (y))
#define MADD_INT(S, s, x, y)  (fy_a_##S)((fy_u_##S)(s) + (fy_u_##S)(x) * (fy_u_##S)(y))
#define MADD_CPLX(S, s, x, y) ((s) + fy_cmul_##S(x, y))
#define EINSUM(E, S, MADD)                                                                       \
  static void pack_##S(void *arg, int64_t begin, int64_t end) {                                  \
    const fy_einsum_job *j = arg;                                                                \
    const fy_t_##S *b = j->b;                                                                    \
    fy_a_##S *to = j->packed;                                                                    \
    for (int64_t i = begin; i < end; i++) {                                                      \
      const int64_t from = j->b_batch[i / j->inner] + j->b_inner[i % j->inner];                  \
      for (int64_t c = 0; c < j->cols; c++) {                                                    \
        to[i * j->cols + c] = b ? FY_LD_##S(b[from + j->b_cols[c]]) : 1;                         \
      }                                                                                          \
    }                                                                                            \
  }                                                                                              \
  static void rows_##S(void *arg, int64_t begin, int64_t end) {                                  \
    const fy_einsum_job *j = arg;                                                                \
    const fy_t_##S *a = j->a;                                                                    \
    fy_t_##S *out = j->out;                                                                      \
    for (int64_t i = begin; i < end; i++) {                                                      \
      const int64_t m = i / j->rows, r = i % j->rows, from = j->a_batch[m] + j->a_rows[r];       \
      fy_a_##S *restrict sum = (fy_a_##S *)j->sums + i * j->cols;                                \
      for (int64_t c = 0; c < j->cols; c++) sum[c] = 0;                                          \
      for (int64_t k = 0; k < j->inner; k++) {                                                   \
        const fy_a_##S x = FY_LD_##S(a[from + j->a_inner[k]]);                                   \
        const fy_a_##S *restrict b = (const fy_a_##S *)j->packed + (m * j->inner + k) * j->cols; \
        for (int64_t c = 0; c < j->cols; c++) sum[c] = MADD(S, sum[c], x, b[c]);                 \
      }                                                                                          \
      fy_t_##S *to = out + j->o_batch[m] + j->o_rows[r];                                         \
      for (int64_t c = 0; c < j->cols; c++) to[j->o_cols[c]] = FY_ST_##S(sum[c]);                \
    }                                                                                            \
  }
FY_REAL_TYPES(EINSUM, MADD_REAL)
FY_COMPLEX_TYPES(EINSUM, MADD_CPLX)
FY_INDEX_TYPES(EINSUM, MADD_INT)
// Those of the machine's lanes, where rows lie at regular steps and what is summed follows itself.
#define LANES_ROWS(E, S, _)                                                                       \
  static void lanes_##S(void *arg, int64_t begin, int64_t end) {                                  \
    const fy_einsum_job *j = arg;                                                                 \
    const int64_t lda = j->rows > 1 ? j->a_rows[1] - j->a_rows[0] : 0;                            \
    for (int64_t i = begin, n; i < end; i += n) {                                                 \
      const int64_t m = i / j->rows, r = i % j->rows;                                             \
      n = end - i < j->rows - r ? end - i : j->rows - r;                                          \
      const fy_a_##S *a = (const fy_a_##S *)j->a + j->a_batch[m] + j->a_rows[r];                  \
      const fy_a_##S *b = (const fy_a_##S *)j->packed + m * j->inner * j->cols;                   \
      fy_a_##S *sums = (fy_a_##S *)j->sums + i * j->cols;                                         \
      fy_lanes_best()->gemm_##S((const void *)a, lda, (const void *)b, (void *)sums, n, j->inner, \
                                j->cols, j->cols);                                                \
      for (int64_t k = 0; k < n; k++) {                                                           \
        fy_a_##S *to = (fy_a_##S *)j->out + j->o_batch[m] + j->o_rows[r + k];                     \
        for (int64_t c = 0; c < j->cols; c++) to[j->o_cols[c]] = sums[k * j->cols + c];           \
      }                                                                                           \
    }                                                                                             \
  }
FY_COMPLEX_TYPES(LANES_ROWS, _)
FY_INDEX_TYPES(LANES_ROWS, _)
typedef void (*range_fn)(void *arg, int64_t begin, int64_t end);
#define LOOPS(name)                                                           \
  {                                                                           \
    FY_REAL_TYPES(FY_LOOP_ENTRY, name)                                        \
    FY_COMPLEX_TYPES(FY_LOOP_ENTRY, name) FY_INDEX_TYPES(FY_LOOP_ENTRY, name) \
  }
static const range_fn packs[FY_DTYPE_COUNT] = LOOPS(pack), rows[FY_DTYPE_COUNT] = LOOPS(rows);
static const range_fn lanes_rows[FY_DTYPE_COUNT] = {FY_COMPLEX_TYPES(FY_LOOP_ENTRY, lanes)
                                                        FY_INDEX_TYPES(FY_LOOP_ENTRY, lanes)};

// Every label once, each in its group: 0 batch, 1 rows, 2 columns, 3 summed.
static void divide(const equation *e, group g[4]) {
  for (int k = 0; k < 4; k++) g[k] = (group){.count = 1};
  for (int32_t l = 0; l < LABELS; l++) {
    if (e->size[l] == FY_EINSUM_UNSEEN) continue;
    const bool a = fy_einsum_has(&e->in[0], l), b = e->inputs > 1 && fy_einsum_has(&e->in[1], l);
    group *to = &g[!fy_einsum_has(&e->out, l) ? 3 : a && b ? 0 : a ? 1 : 2];
    to->label[to->rank++] = l;
  }
  // Labels of the output in its order, so that rows of it are written straight.
  for (int k = 0; k < 3; k++) {
    int32_t n = 0;
    int32_t found[2 * FY_MAX_RANK];
    for (int32_t d = 0; d < e->out.rank; d++) {
      bool member = false, done = false;
      for (int32_t i = 0; i < g[k].rank; i++) member |= g[k].label[i] == e->out.label[d];
      for (int32_t i = 0; i < n; i++) done |= found[i] == e->out.label[d];
      if (member && !done) found[n++] = e->out.label[d];
    }
    for (int32_t i = 0; i < n; i++) g[k].label[i] = found[i];
  }
  for (int k = 0; k < 4; k++) {
    for (int32_t i = 0; i < g[k].rank; i++) g[k].count *= e->size[g[k].label[i]];
  }
}

static fy_code tables(fy_kernel_ctx *ctx, const equation *e, fy_tensor *out, fy_einsum_job *job,
                      fy_error *err) {
  const fy_tensor *a = ctx->in[0], *b = e->inputs > 1 ? ctx->in[1] : NULL;
  int64_t stride[LABELS];
  int64_t *t[9];
  group g[4];
  divide(e, g);
  fy_einsum_job j = {.a = a->data,
                     .b = b ? b->data : NULL,
                     .out = out->data,
                     .batch = g[0].count,
                     .rows = g[1].count,
                     .cols = g[2].count,
                     .inner = g[3].count};
  add_strides(&e->in[0], a->dims, stride);
  FY_TRY(offsets(ctx, e, &g[0], stride, &t[0], err));
  FY_TRY(offsets(ctx, e, &g[1], stride, &t[1], err));
  FY_TRY(offsets(ctx, e, &g[3], stride, &t[2], err));
  if (b) {
    add_strides(&e->in[1], b->dims, stride);
  } else {
    memset(stride, 0, sizeof stride);
  }
  FY_TRY(offsets(ctx, e, &g[0], stride, &t[3], err));
  FY_TRY(offsets(ctx, e, &g[2], stride, &t[4], err));
  FY_TRY(offsets(ctx, e, &g[3], stride, &t[5], err));
  add_strides(&e->out, out->dims, stride);
  for (int k = 0; k < 3; k++) FY_TRY(offsets(ctx, e, &g[k], stride, &t[6 + k], err));
  j.a_batch = t[0], j.a_rows = t[1], j.a_inner = t[2];
  j.b_batch = t[3], j.b_cols = t[4], j.b_inner = t[5];
  j.o_batch = t[6], j.o_rows = t[7], j.o_cols = t[8];
  *job = j;
  return FY_OK;
}

static bool has_steps(const int64_t *at, int64_t n, int64_t step) {
  for (int64_t i = 1; i < n; i++)
    if (at[i] - at[i - 1] != step) return false;
  return true;
}

fy_code fy_einsum_multiply(fy_kernel_ctx *ctx, fy_einsum_job *j, fy_error *err) {
  const fy_dtype t = ctx->in[0]->dtype;
  const size_t wide = fy_dtype_storage(t) < 4 ? 4 : fy_dtype_storage(t);
  FY_TRY(fy_scratch(ctx, (size_t)(j->batch * j->inner * j->cols + 1) * wide, &j->packed, err));
  FY_TRY(fy_scratch(ctx, (size_t)(j->batch * j->rows * j->cols + 1) * wide, &j->sums, err));
  if (j->inner) fy_parallel(ctx, j->batch * j->inner, 2.0 * (double)j->cols, packs[t], j);
  const bool plain = lanes_rows[t] && j->inner && has_steps(j->a_inner, j->inner, 1) &&
                     (j->rows < 2 || has_steps(j->a_rows, j->rows, j->a_rows[1] - j->a_rows[0]));
  fy_parallel(ctx, j->batch * j->rows, 0.3 * (double)j->inner * (double)j->cols + 1,
              plain ? lanes_rows[t] : rows[t], j);
  return FY_OK;
}

fy_code fy_einsum_begin(fy_kernel_ctx *ctx, fy_einsum_job *job, fy_error *err) {
  const int n = ctx->site->num_inputs;
  fy_pshape in[2];
  int64_t dims[FY_MAX_RANK];
  fy_tensor *out;
  equation e;
  for (int i = 0; i < n && i < 2; i++) in[i] = (fy_pshape){ctx->in[i]->rank, ctx->in[i]->dims};
  if (!rows[ctx->in[0]->dtype]) {
    return fy_fail(err, FY_UNIMPLEMENTED, "Einsum has no loop for %s",
                   fy_dtype_name(ctx->in[0]->dtype));
  }
  FY_TRY(fy_einsum_read(fy_site_string(ctx->site, "equation"), in, n, &e, err));
  for (int32_t d = 0; d < e.out.rank; d++) dims[d] = e.size[e.out.label[d]];
  FY_TRY(fy_out(ctx, 0, e.out.rank, dims, &out, err));
  *job = (fy_einsum_job){.batch = 0};
  if (out->count == 0) return FY_OK;
  if (!out->device || out->device->is_host) memset(out->data, 0, fy_tensor_bytes(out));
  return tables(ctx, &e, out, job, err);
}

static size_t table_line(int64_t count) {
  return fy_scratch_line((size_t)(count + 1) * sizeof(int64_t));
}

// Are the elements of |g| all |*step| apart?
static bool is_regular(const equation *e, const group *g, const int64_t stride[LABELS],
                       int64_t *step) {
  int64_t next = 0;
  *step = 0;
  bool first = true;
  for (int32_t k = g->rank - 1; k >= 0; k--) {
    const int64_t n = e->size[g->label[k]], at = stride[g->label[k]];
    if (n == 1) continue;
    if (first) *step = at;
    if (!first && at != next) return false;
    next = at * n;
    first = false;
  }
  return true;
}

static bool all_regular(const equation *e, const fy_pshape in[2], const group g[4]) {
  int64_t stride[LABELS], dims[FY_MAX_RANK], step;
  add_strides(&e->in[0], in[0].dims, stride);
  if (!is_regular(e, &g[1], stride, &step) || !is_regular(e, &g[3], stride, &step)) return false;
  add_strides(&e->in[1], in[1].dims, stride);
  if (!is_regular(e, &g[2], stride, &step) || !is_regular(e, &g[3], stride, &step)) return false;
  for (int32_t d = 0; d < e->out.rank; d++) dims[d] = e->size[e->out.label[d]];
  add_strides(&e->out, dims, stride);
  return is_regular(e, &g[1], stride, &step) && is_regular(e, &g[2], stride, &step) &&
         (g[2].count == 1 || step == 1);
}

bool fy_einsum_needs(fy_kernel_ctx *ctx, fy_einsum_job *job, bool *regular, fy_needs *out) {
  const int n = ctx->site->num_inputs;
  fy_pshape in[2];
  equation e;
  group g[4];
  if (n < 1 || n > 2) return false;
  for (int i = 0; i < n; i++) in[i] = (fy_pshape){ctx->in[i]->rank, ctx->in[i]->dims};
  if (fy_einsum_read(fy_site_string(ctx->site, "equation"), in, n, &e, NULL)) return false;
  divide(&e, g);
  *job = (fy_einsum_job){
      .batch = g[0].count, .rows = g[1].count, .cols = g[2].count, .inner = g[3].count};
  if (!job->batch || !job->rows || !job->cols) return false;
  out->scratch += 3 * table_line(job->batch) + 2 * table_line(job->rows) +
                  2 * table_line(job->cols) + 2 * table_line(job->inner);
  if (regular) *regular = n == 2 && all_regular(&e, in, g);
  return true;
}

void fy_einsum_multiply_needs(fy_kernel_ctx *ctx, const fy_einsum_job *j, fy_needs *out) {
  const size_t narrow = fy_dtype_storage(ctx->in[0]->dtype), wide = narrow < 4 ? 4 : narrow;
  out->scratch += fy_scratch_line((size_t)(j->batch * j->inner * j->cols + 1) * wide);
  out->scratch += fy_scratch_line((size_t)(j->batch * j->rows * j->cols + 1) * wide);
}

static void needs(fy_kernel_ctx *ctx, fy_needs *out) {
  fy_einsum_job j;
  if (fy_einsum_needs(ctx, &j, NULL, out)) fy_einsum_multiply_needs(ctx, &j, out);
}

static fy_code einsum(fy_kernel_ctx *ctx, fy_error *err) {
  fy_einsum_job job;
  FY_TRY(fy_einsum_begin(ctx, &job, err));
  return job.batch ? fy_einsum_multiply(ctx, &job, err) : FY_OK;
}

static fy_code einsum_shape(fy_shape_ctx *ctx, fy_error *err) {
  const fy_attr *text = fy_attrs_get(ctx->attrs, "equation");
  int64_t dims[FY_MAX_RANK];
  bool known;
  equation e;
  if (!text || text->kind != FY_ATTR_STRING) return FY_OK;
  FY_TRY(fy_einsum_infer(text->v.s, ctx->in, ctx->num_inputs, &e, &known, err));
  if (!known) return FY_OK;
  for (int32_t d = 0; d < e.out.rank; d++) dims[d] = e.size[e.out.label[d]];
  return fy_shape_set(ctx, 0, e.out.rank, dims, err);
}

// Every combination of labels is one product and one sum.
static void cost(const fy_site *site, const fy_pshape *in, const fy_pshape *out, fy_cost *c) {
  const fy_attr *text = fy_attrs_get(site->attrs, "equation");
  const double width = (double)fy_dtype_storage(site->in_types[0]);
  equation e;
  double all = site->num_inputs > 1 ? 2 : 1;
  for (int i = 0; i <= site->num_inputs && i < 3; i++) {
    const fy_pshape s = i < site->num_inputs ? in[i] : out[0];
    double n = s.rank < 0 ? 0 : 1;
    for (int32_t d = 0; d < s.rank; d++) n *= s.dims[d] < 0 ? 1 : (double)s.dims[d];
    c->bytes += n * width;
    if (s.rank < 0) return;
  }
  if (!text || text->kind != FY_ATTR_STRING || site->num_inputs > 2 ||
      fy_einsum_read(text->v.s, in, site->num_inputs, &e, NULL))
    return;
  bool seen[LABELS] = {false};
  for (int i = 0; i < e.inputs; i++)
    for (int32_t d = 0; d < e.in[i].rank; d++) {
      const int32_t label = e.in[i].label[d];
      if (!seen[label] && e.size[label] > 0) all *= (double)e.size[label];
      seen[label] = true;
    }
  c->flops = all;
}

static const fy_sample samples[] = {
    {"f32[2,3]=1,2,3,4,5,6; f32[3,2]=1,2,3,4,5,6", "equation=\"ab,bc->ca\"", FY_OK, "22,49,28,64"},
    {"i32[2,2]=iota", "equation=\"aa->\"", FY_OK, "3"},
    {"f32[2,2,3]=normal; f32[3,2]=normal", "equation=\"...ab,bc->...ac\"", FY_OK, NULL},
    {"f32[2,2]=iota", "equation=\"ab\"", FY_INVALID_ARGUMENT, "Expecting exactly one '->'"},
};
FY_OP(Einsum, .shape = einsum_shape, .compute = einsum, .needs = needs, .cost = cost,
      FY_SAMPLES(samples));
