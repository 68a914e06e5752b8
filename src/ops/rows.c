// SPDX-License-Identifier: Apache-2.0
// rows.c: _FerryRows: runs a program over rows (rows.h), a few rows at a time, so that a row is read
// from memory once however many operations it goes through.
//
// prepare() cuts the program into stages. A stage first computes elements per row (columns), then
// rows, then reduces rows to columns that the next stage may use. Both kinds of work are fused code
// (fused.h): in rows' code a column's element is a scalar. Rows that a later stage or a reduction
// reads are kept in working memory. The steps and their rounding are those of the ops it stands for.

#include "ops/rows.h"

#include <string.h>

#include "base/alloc.h"
#include "ops/shape_fns.h"

#define BLOCK_BYTES 32768  // of rows that are worked on together
#define MOST_ROWS   64

// ---------------------------------------------------------------- bytes
fy_code fy_rows_encode(const fy_rows_program *p, fy_arena *arena, fy_view *out, fy_error *err) {
  const uint32_t head[3] = {p->num_inputs, p->num_consts, p->num_ops};
  const size_t kinds = p->num_inputs * sizeof *p->kinds, consts = p->num_consts * sizeof *p->consts;
  const size_t ops = p->num_ops * sizeof *p->ops, bytes = sizeof head + kinds + consts + ops;
  char *at = fy_arena_alloc(arena, bytes);
  if (!at) return fy_fail_oom(err, bytes);
  *out = (fy_view){at, bytes};
  memcpy(at, head, sizeof head);
  memcpy(at + sizeof head, p->kinds, kinds);
  memcpy(at + sizeof head + kinds, p->consts, consts);
  memcpy(at + sizeof head + kinds + consts, p->ops, ops);
  return FY_OK;
}

static bool is_reduction(const fy_rows_op *op) {
  return op->op >= FY_ROWS_REDUCE;
}

// The kind of value |v|, which is defined before operation |i|.
static fy_rows_kind kind_of(const fy_rows_program *p, uint32_t v) {
  const uint32_t first = p->num_inputs + p->num_consts;
  if (v < p->num_inputs) return (fy_rows_kind)p->kinds[v];
  if (v < first) return FY_ROWS_SCALAR;
  return p->ops[v - first].wide ? FY_ROWS_WIDE : FY_ROWS_COLUMN;
}

static bool sound(const fy_rows_program *p, fy_dtype dtype) {
  const uint32_t first = p->num_inputs + p->num_consts;
  for (uint32_t i = 0; i < p->num_inputs; i++)
    if (p->kinds[i] > FY_ROWS_COLUMN) return false;
  for (uint32_t i = 0; i < p->num_ops; i++) {
    const fy_rows_op *op = &p->ops[i];
    if (op->a >= first + i || op->wide > 1) return false;
    if (is_reduction(op)) {
      if (op->op - FY_ROWS_REDUCE >= FY_ROW_REDUCTIONS || op->wide || op->b != FY_FUSED_NONE ||
          kind_of(p, op->a) != FY_ROWS_WIDE)
        return false;
      continue;
    }
    if (op->op >= FY_EW_COUNT || !fy_fused_knows((fy_ew)op->op, dtype)) return false;
    const bool two = fy_ew_is_binary((fy_ew)op->op);
    if (two ? op->b >= first + i : op->b != FY_FUSED_NONE) return false;
    for (int side = 0; !op->wide && side < (two ? 2 : 1); side++) {
      const fy_rows_kind k = kind_of(p, side ? op->b : op->a);
      if (k == FY_ROWS_WIDE || k == FY_ROWS_ROW) return false;
    }
  }
  return p->num_ops > 0;
}

fy_code fy_rows_decode(fy_view bytes, fy_dtype dtype, fy_rows_program *out, fy_error *err) {
  uint32_t head[3];
  memset(out, 0, sizeof *out);
  if (bytes.n >= sizeof head) {
    memcpy(head, bytes.p, sizeof head);
    const uint64_t all = (uint64_t)head[0] + head[1] + head[2];
    const char *at = bytes.p + sizeof head;
    if (all <= FY_ROWS_MOST) {
      const size_t kinds = head[0] * sizeof *out->kinds, consts = head[1] * sizeof *out->consts;
      const size_t ops = head[2] * sizeof *out->ops;
      if (bytes.n == sizeof head + kinds + consts + ops) {
        out->num_inputs = head[0];
        out->num_consts = head[1];
        out->num_ops = head[2];
        memcpy(out->kinds, at, kinds);
        memcpy(out->consts, at + kinds, consts);
        memcpy(out->ops, at + kinds + consts, ops);
        if (sound(out, dtype)) return FY_OK;
      }
    }
  }
  return fy_fail(err, FY_INVALID_ARGUMENT, "_FerryRows has a damaged program");
}

// ---------------------------------------------------------------- stages
typedef struct code {  // fused code, and which values it reads and makes
  fy_fused_code *fused;
  uint32_t num_in, num_out;
  uint8_t in[FY_ROWS_MOST], out[FY_ROWS_MOST];
  bool whole;  // of rows: nothing differs from row to row but the rows themselves
} code;

typedef struct stage {
  code columns, rows;
} stage;

typedef struct rows {
  fy_rows_program p;
  fy_dtype dtype;
  size_t elem;
  int64_t row;    // elements
  int64_t block;  // rows worked on together
  int32_t rank;
  const int64_t *dims;
  int64_t count;                 // rows
  uint32_t depth[FY_ROWS_MOST];  // [value] stage that makes it; of a reduction: the one after
  size_t place[FY_ROWS_MOST];    // [value of an operation] where in the working memory
  bool kept[FY_ROWS_MOST];       // it is there
  size_t work_at, bytes;         // of the working memory
  double ns;                     // of one row
  bool is_norm;                  // then stages are not used
  fy_norm norm;
  uint32_t num_stages;
  stage *stages;
  fy_arena arena;
} rows;

static uint32_t first_op(const fy_rows_program *p) {
  return p->num_inputs + p->num_consts;
}

// Every value as early as it can be; then rows as late as their readers allow.
static void set_depths(rows *s) {
  const fy_rows_program *p = &s->p;
  const uint32_t first = first_op(p), n = first + p->num_ops;
  uint32_t late[FY_ROWS_MOST];
  for (uint32_t v = 0; v < n; v++) late[v] = UINT32_MAX;
  for (uint32_t i = 0; i < p->num_ops; i++) {
    const fy_rows_op *op = &p->ops[i];
    uint32_t d = s->depth[op->a];
    if (op->b != FY_FUSED_NONE && s->depth[op->b] > d) d = s->depth[op->b];
    s->depth[first + i] = d + is_reduction(op);
    if (s->depth[first + i] >= s->num_stages) s->num_stages = s->depth[first + i] + 1;
  }
  for (uint32_t i = p->num_ops; i-- > 0;) {
    const fy_rows_op *op = &p->ops[i];
    if (op->wide && late[first + i] != UINT32_MAX) s->depth[first + i] = late[first + i];
    const uint32_t at = s->depth[first + i] - is_reduction(op);
    if (at < late[op->a]) late[op->a] = at;
    if (op->b != FY_FUSED_NONE && at < late[op->b]) late[op->b] = at;
  }
}

// Does anybody but the rows' code of stage |d| read |v|, which that code makes?
static bool leaves(const rows *s, uint32_t v, uint32_t d) {
  const fy_rows_program *p = &s->p;
  const uint32_t first = first_op(p);
  if (v == first + p->num_ops - 1) return true;
  for (uint32_t i = 0; i < p->num_ops; i++) {
    const fy_rows_op *op = &p->ops[i];
    if ((op->a == v || op->b == v) && (is_reduction(op) || s->depth[first + i] != d)) return true;
  }
  return false;
}

// What |v| is called in the code |c| under construction, which gets it as an input if need be.
static uint32_t operand(const rows *s, code *c, fy_fused_program *f, const uint32_t *made,
                        bool wide, uint32_t v) {
  const fy_rows_program *p = &s->p;
  if (v == FY_FUSED_NONE) return v;
  if (made[v] != FY_FUSED_NONE) return made[v];
  if (v >= p->num_inputs && v < first_op(p)) return FY_ROWS_MOST + v - p->num_inputs;
  for (uint32_t i = 0; i < c->num_in; i++)
    if (c->in[i] == v) return i;
  const fy_rows_kind k = kind_of(p, v);
  const bool one = k == FY_ROWS_SCALAR || (wide && k == FY_ROWS_COLUMN);
  f->kinds[c->num_in] = one ? FY_FUSED_SCALAR : FY_FUSED_FULL;
  if (k != FY_ROWS_WIDE && k != FY_ROWS_SCALAR) c->whole = false;
  c->in[c->num_in] = (uint8_t)v;
  return c->num_in++;
}

// Values of the program of |c|: inputs, constants, operations; until all inputs are known they are
// marked: constants from FY_ROWS_MOST on, operations from 2 * FY_ROWS_MOST on.
static void number(uint32_t *v, uint32_t inputs, uint32_t consts) {
  if (*v == FY_FUSED_NONE || *v < FY_ROWS_MOST) return;
  *v = *v < 2 * FY_ROWS_MOST ? *v - FY_ROWS_MOST + inputs : *v - 2 * FY_ROWS_MOST + inputs + consts;
}

static fy_code make_code(rows *s, uint32_t d, bool wide, code *c, fy_error *err) {
  const fy_rows_program *p = &s->p;
  const uint32_t first = first_op(p);
  uint32_t kinds[FY_ROWS_MOST], outputs[FY_ROWS_MOST], made[FY_ROWS_MOST];
  fy_fused_op ops[FY_ROWS_MOST];
  fy_fused_program f = {0,   p->num_consts, 0, 0, kinds, (uint64_t *)(uintptr_t)p->consts,
                        ops, outputs};
  for (uint32_t v = 0; v < FY_ROWS_MOST; v++) made[v] = FY_FUSED_NONE;
  c->whole = true;
  for (uint32_t i = 0; i < p->num_ops; i++) {
    const fy_rows_op *op = &p->ops[i];
    if (is_reduction(op) || op->wide != wide || s->depth[first + i] != d) continue;
    fy_fused_op *to = &ops[f.num_ops];
    to->op = op->op;
    to->a = operand(s, c, &f, made, wide, op->a);
    to->b = operand(s, c, &f, made, wide, op->b);
    made[first + i] = 2 * FY_ROWS_MOST + f.num_ops++;
    if (wide && !leaves(s, first + i, d)) continue;
    outputs[f.num_outputs++] = made[first + i];
    c->out[c->num_out++] = (uint8_t)(first + i);
    s->kept[first + i] = true;
  }
  if (!f.num_ops) return FY_OK;
  f.num_inputs = c->num_in;
  for (uint32_t i = 0; i < f.num_ops; i++) {
    number(&ops[i].a, f.num_inputs, f.num_consts);
    number(&ops[i].b, f.num_inputs, f.num_consts);
  }
  for (uint32_t i = 0; i < f.num_outputs; i++) number(&outputs[i], f.num_inputs, f.num_consts);
  FY_TRY(fy_fused_compile(&f, s->dtype, &c->fused, err));
  s->ns += fy_fused_code_ns(c->fused) * (wide ? (double)s->row : 1);
  return FY_OK;
}

static size_t line(size_t bytes) {
  return (bytes + 63) / 64 * 64;
}

// Where what is kept lies in the working memory of a block.
static bool set_places(rows *s) {
  const fy_rows_program *p = &s->p;
  const uint32_t first = first_op(p), last = first + p->num_ops - 1;
  size_t wide, at = 0, work = 0;
  if (!fy_mul_size((size_t)s->row, s->elem, &wide) || wide > SIZE_MAX / (4 * MOST_ROWS))
    return false;
  const size_t fit = BLOCK_BYTES / (wide ? wide : 1);
  s->block = fit < 1 ? 1 : fit > MOST_ROWS ? MOST_ROWS : (int64_t)fit;
  for (uint32_t v = first; v < last; v++) {
    const fy_rows_op *op = &p->ops[v - first];
    if (is_reduction(op)) s->kept[v] = true;
    if (is_reduction(op)) s->ns += 0.15 * (double)s->row;
    if (!s->kept[v]) continue;
    s->place[v] = at;
    at += line((size_t)s->block * (op->wide ? wide : s->elem));
    if (at > SIZE_MAX / 2) return false;
  }
  for (uint32_t d = 0; d < s->num_stages; d++) {
    const code *const both[2] = {&s->stages[d].columns, &s->stages[d].rows};
    for (int k = 0; k < 2; k++) {
      const size_t need = both[k]->fused ? fy_fused_code_work(both[k]->fused) : 0;
      if (need > work) work = need;
    }
  }
  s->work_at = at;
  s->bytes = at + work;
  return true;
}

static void release(void *state) {
  rows *s = state;
  for (uint32_t d = 0; s->stages && d < s->num_stages; d++) {
    fy_fused_code_free(s->stages[d].columns.fused);
    fy_fused_code_free(s->stages[d].rows.fused);
  }
  fy_free(s->stages);
  fy_arena_free(&s->arena);
  fy_free(s);
}

static fy_code read_site(const fy_site *site, rows *s, fy_error *err) {
  const fy_attr *shape = fy_site_attr(site, "shape");
  int64_t count = 0;
  s->dtype = fy_site_type(site, "T");
  s->row = fy_site_int(site, "row");
  s->elem = fy_dtype_storage(s->dtype);
  FY_TRY(fy_rows_decode(fy_site_string(site, "program"), s->dtype, &s->p, err));
  const bool wide = s->p.ops[s->p.num_ops - 1].wide;
  const bool known = shape && shape->kind == FY_ATTR_SHAPE && shape->v.shape.rank >= 0 &&
                     fy_shape_count(shape->v.shape.rank, shape->v.shape.dims, &count);
  s->is_norm = s->dtype == FY_FLOAT && fy_norm_match(&s->p, &s->norm);
  const bool fits = s->is_norm ? fy_norm_fits(&s->norm, s->row) : s->row > FY_REDUCE_SHORT;
  if (!known || !fits || s->row > FY_REDUCE_LONG || (wide && count % s->row) ||
      (int64_t)s->p.num_inputs != site->num_inputs)
    return fy_fail(err, FY_INVALID_ARGUMENT,
                   "_FerryRows needs a full shape and as many inputs as its program");
  s->count = wide ? count / s->row : count;
  s->rank = shape->v.shape.rank;
  s->dims = fy_arena_memdup(&s->arena, shape->v.shape.dims, (size_t)s->rank * sizeof *s->dims + 1);
  set_depths(s);
  s->stages = fy_calloc(s->num_stages + 1u, sizeof *s->stages);
  if (!s->dims || !s->stages) return fy_fail_oom(err, sizeof *s->stages);
  for (uint32_t d = 0; d < s->num_stages; d++) {
    FY_TRY(make_code(s, d, false, &s->stages[d].columns, err));
    FY_TRY(make_code(s, d, true, &s->stages[d].rows, err));
  }
  return set_places(s) ? FY_OK : fy_fail_oom(err, SIZE_MAX);
}

static fy_code prepare(fy_site *site, fy_error *err) {
  rows *s = fy_calloc(1, sizeof *s);
  if (!s) return fy_fail_oom(err, sizeof *s);
  fy_arena_init(&s->arena);
  const fy_code result = read_site(site, s, err);
  if (result)
    release(s);
  else
    site->state = s;
  return result;
}

// ---------------------------------------------------------------- running
typedef struct job {
  const rows *s;
  const char *in[FY_ROWS_MOST];
  char *out;
  fy_slices slices;
} job;

typedef struct where {
  char *at;
  size_t step;  // to the next row
} where;

// Value |v| of the rows from |row| on; |work| is the working memory.
static where find(const job *j, uint32_t v, int64_t row, char *work) {
  const rows *s = j->s;
  const fy_rows_program *p = &s->p;
  const uint32_t last = first_op(p) + p->num_ops - 1;
  const fy_rows_kind k = kind_of(p, v);
  const size_t step = k == FY_ROWS_WIDE     ? (size_t)s->row * s->elem
                      : k == FY_ROWS_COLUMN ? s->elem
                                            : 0;
  if (v < p->num_inputs) return (where){(char *)(uintptr_t)j->in[v] + (size_t)row * step, step};
  if (v == last) return (where){j->out + (size_t)row * step, step};
  return (where){work + s->place[v], step};
}

static void run_code(const job *j, const code *c, bool wide, int64_t row, int64_t n, char *work) {
  where in[FY_ROWS_MOST], out[FY_ROWS_MOST];
  const void *from[FY_ROWS_MOST];
  void *to[FY_ROWS_MOST];
  for (uint32_t i = 0; i < c->num_in; i++) in[i] = find(j, c->in[i], row, work);
  for (uint32_t i = 0; i < c->num_out; i++) out[i] = find(j, c->out[i], row, work);
  const int64_t pieces = wide && !c->whole ? n : 1;
  const int64_t elements = !wide ? n : c->whole ? n * j->s->row : j->s->row;
  for (int64_t r = 0; r < pieces; r++) {
    for (uint32_t i = 0; i < c->num_in; i++) from[i] = in[i].at + (size_t)r * in[i].step;
    for (uint32_t i = 0; i < c->num_out; i++) to[i] = out[i].at + (size_t)r * out[i].step;
    fy_fused_code_run(c->fused, from, to, elements, work + j->s->work_at);
  }
}

static void run_block(const job *j, int64_t row, int64_t n, char *work) {
  const rows *s = j->s;
  const fy_rows_program *p = &s->p;
  const uint32_t first = first_op(p);
  for (uint32_t d = 0; d < s->num_stages; d++) {
    if (s->stages[d].columns.fused) run_code(j, &s->stages[d].columns, false, row, n, work);
    if (s->stages[d].rows.fused) run_code(j, &s->stages[d].rows, true, row, n, work);
    for (uint32_t i = 0; i < p->num_ops; i++) {
      const fy_rows_op *op = &p->ops[i];
      if (!is_reduction(op) || s->depth[first + i] != d + 1) continue;
      fy_reduce_rows((fy_row_reduction)(op->op - FY_ROWS_REDUCE), s->dtype,
                     find(j, op->a, row, work).at, s->row, n, find(j, first + i, row, work).at);
    }
  }
}

static void run_norm(const job *j, int64_t begin, int64_t end) {
  const rows *s = j->s;
  const fy_norm *f = &s->norm;
  const void *gamma = f->gamma == FY_FUSED_NONE ? NULL : j->in[f->gamma];
  const void *beta = f->beta == FY_FUSED_NONE ? NULL : j->in[f->beta];
  const int64_t first = begin * s->block,
                last = end * s->block < s->count ? end * s->block : s->count;
  const float *x = (const float *)(const void *)j->in[f->x] + first * s->row;
  float *out = (float *)(void *)j->out + first * s->row;
  const bool past_cache = fy_past_cache(j->out, j->in[f->x], s->count * s->row);
  const fy_lanes *lanes = fy_lanes_best();
  const int64_t longest = f->form == FY_NORM_SOFTMAX ? lanes->longest_softmax : FY_NARROW - 1;
  if (s->row <= longest && lanes->narrow_f32) {
    // As reduce.c has it: a few rows are added as long ones are.
    const bool in_order = s->row <= FY_REDUCE_SHORT && s->count >= FY_REDUCE_ROWS;
    lanes->narrow_f32(&(fy_narrow){f->form, s->row, in_order, past_cache, f->epsilon, gamma, beta},
                      x, out, last - first);
  } else {
    fy_norm_rows(f, x, gamma, beta, s->row, last - first, past_cache, out);
  }
}

static void run_blocks(void *arg, int64_t begin, int64_t end) {
  job *j = arg;
  const rows *s = j->s;
  if (s->is_norm) {
    run_norm(j, begin, end);
    return;
  }
  char *work = fy_slice_take(&j->slices);
  for (int64_t b = begin; b < end; b++) {
    const int64_t row = b * s->block;
    run_block(j, row, s->count - row < s->block ? s->count - row : s->block, work);
  }
  fy_slice_give(&j->slices, work);
}

static int64_t num_blocks(const rows *s) {
  return (s->count + s->block - 1) / s->block;
}

static fy_code compute(fy_kernel_ctx *ctx, fy_error *err) {
  const rows *s = ctx->site->state;
  job j;  // large, and only what there is of it is read
  fy_tensor *out;
  j.s = s;
  for (uint32_t i = 0; i < s->p.num_inputs; i++) {
    const int64_t want[] = {s->count * s->row, 1, s->row, s->count};
    if (ctx->in[i]->count != want[s->p.kinds[i]])
      return fy_fail(
          err, FY_INVALID_ARGUMENT, "input %u of %s has %lld elements where %lld were expected", i,
          ctx->site->node_name, (long long)ctx->in[i]->count, (long long)want[s->p.kinds[i]]);
    j.in[i] = ctx->in[i]->data;
  }
  FY_TRY(fy_out(ctx, 0, s->rank, s->dims, &out, err));
  if (s->count == 0) return FY_OK;
  j.out = out->data;
  if (!s->is_norm) FY_TRY(fy_slices_make(ctx, num_blocks(s), s->bytes, &j.slices, err));
  fy_parallel(ctx, num_blocks(s), (50 + s->ns) * (double)s->block, run_blocks, &j);
  return FY_OK;
}

static void needs(fy_kernel_ctx *ctx, fy_needs *out) {
  const rows *s = ctx->site->state;
  if (s->count && !s->is_norm) out->scratch += fy_slices_needs(ctx, num_blocks(s), s->bytes);
}

static fy_code shape(fy_shape_ctx *ctx, fy_error *err) {
  const fy_attr *a = fy_attrs_get(ctx->attrs, "shape");
  if (!a || a->kind != FY_ATTR_SHAPE || a->v.shape.rank < 0) return FY_OK;
  return fy_shape_set(ctx, 0, a->v.shape.rank, a->v.shape.dims, err);
}

// Every tensor is read or written once.
static void cost(const fy_site *site, const fy_pshape *in, const fy_pshape *out, fy_cost *c) {
  const fy_view program = fy_site_string(site, "program");
  const double elem = (double)fy_dtype_storage(fy_site_type(site, "T"));
  uint32_t head[3] = {0};
  int64_t n, most = 0;
  if (program.n >= sizeof head) memcpy(head, program.p, sizeof head);
  c->bytes = 0;
  for (int i = 0; i <= site->num_inputs; i++) {
    const fy_pshape s = i < site->num_inputs ? in[i] : out[0];
    if (s.rank < 0 || !fy_shape_count(s.rank, s.dims, &n)) continue;
    c->bytes += elem * (double)n;
    if (n > most) most = n;
  }
  c->flops = (double)head[2] * (double)most;
}

FY_OP(_FerryRows, .shape = shape, .prepare = prepare, .compute = compute, .release = release,
      .cost = cost, .needs = needs, .flags = FY_OP_INPLACE | FY_OP_NO_FOLD);
