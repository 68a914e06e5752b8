// SPDX-License-Identifier: Apache-2.0
// fused.c: _FerryFused: runs a fused program over its inputs tile by tile (fused.h): every instruction
// works on a tile before the next one does, and a tile is small enough that all of them stay in the
// nearest cache.

#include <string.h>

#include "base/alloc.h"
#include "ops/fused.h"
#include "ops/shape_fns.h"

#define TILE_BYTES  2048
#define STACK_BYTES 20480
#define ALIGNMENT   64

typedef struct fy_fused_code {
  fy_fused_program p;
  const fy_lanes *lanes;
  int type;     // FY_LANES_*
  size_t elem;  // bytes of an element
  fy_fused_list code;
  void *consts;  // elements
  double ns;     // of one element
  int32_t rank;
  const int64_t *dims;
  int64_t count;
  int64_t *no_period;  // [inputs] zeros
  fy_arena arena;      // of everything above
} fused;

static int lanes_type(fy_dtype t) {
  switch (t) {
    case FY_FLOAT: return FY_LANES_F32;
    case FY_DOUBLE: return FY_LANES_F64;
    case FY_INT32: return FY_LANES_I32;
    case FY_INT64: return FY_LANES_I64;
    default: return -1;
  }
}

static void release(void *state) {
  fused *f = state;
  fy_arena_free(&f->arena);
  fy_free(f);
}

// Everything that follows from the program, the type and the machine.
static fy_code set_up(fused *f, fy_error *err) {
  char *consts = fy_arena_alloc(&f->arena, f->p.num_consts * f->elem + 1);
  if (!consts) return fy_fail_oom(err, f->p.num_consts * f->elem);
  f->consts = consts;
  for (uint32_t i = 0; i < f->p.num_consts; i++)
    memcpy(consts + i * f->elem, &f->p.consts[i], f->elem);
  for (uint32_t i = 0; i < f->p.num_ops; i++) f->ns += fy_ew_ns((fy_ew)f->p.ops[i].op);
  return fy_fused_make_code(&f->p, f->type, f->lanes->fused[f->type], &f->arena, &f->code, err);
}

static fy_code read_site(const fy_site *site, fused *f, fy_error *err) {
  const fy_dtype t = fy_site_type(site, "T");
  const fy_attr *shape = fy_site_attr(site, "shape");
  f->type = lanes_type(t);
  const bool known = shape && shape->kind == FY_ATTR_SHAPE && shape->v.shape.rank >= 0 &&
                     fy_shape_count(shape->v.shape.rank, shape->v.shape.dims, &f->count);
  if (f->type < 0 || !known)
    return fy_fail(err, FY_INVALID_ARGUMENT, "_FerryFused needs a type it knows and a full shape");
  f->rank = shape->v.shape.rank;
  f->dims = fy_arena_memdup(&f->arena, shape->v.shape.dims, (size_t)f->rank * sizeof *f->dims);
  f->elem = fy_dtype_storage(t);
  f->lanes = fy_lanes_best();
  FY_TRY(fy_fused_decode(fy_site_string(site, "program"), t, &f->arena, &f->p, err));
  if ((int64_t)f->p.num_inputs != site->num_inputs ||
      (int64_t)f->p.num_outputs != site->num_outputs)
    return fy_fail(err, FY_INVALID_ARGUMENT, "_FerryFused has a program for other inputs");
  return f->dims || !f->rank ? set_up(f, err) : fy_fail_oom(err, sizeof *f->dims);
}
static fy_code prepare(fy_site *site, fy_error *err) {
  fused *f = fy_calloc(1, sizeof *f);
  if (!f) return fy_fail_oom(err, sizeof *f);
  fy_arena_init(&f->arena);
  fy_code code = read_site(site, f, err);
  if (code)
    release(f);
  else
    site->state = f;
  return code;
}

// ---------------------------------------------------------------- running
typedef struct job {
  const fused *f;
  const char **in;  // [inputs] elements; of a short row: with its beginning repeated at the end
  const int64_t *period;  // [inputs] of a row: elements; else 0
  char **out;             // [outputs]
  int64_t tile;           // elements at a time, whole vectors
  size_t work_bytes;      // what a range needs: slots, tiles, the last vectors
  int failed;
} job;

static int64_t vector_elems(const fused *f) {
  return f->lanes->bytes / (int64_t)f->elem;
}
// Elements of a tile where there are |n|.
static int64_t tile_elems(const fused *f, int64_t n) {
  const int64_t most = TILE_BYTES / (int64_t)f->elem, vector = vector_elems(f);
  return n < most ? (n + vector - 1) / vector * vector : most;
}

static size_t align_up(size_t n) {
  return (n + ALIGNMENT - 1) & ~(size_t)(ALIGNMENT - 1);
}

static void fill(const fused *f, char *to, const char *element, int64_t n) {
  if (f->elem == sizeof(float)) {
    uint32_t bits, *words = (uint32_t *)(void *)to;
    memcpy(&bits, element, sizeof bits);
    for (int64_t i = 0; i < n; i++) words[i] = bits;
    return;
  }
  for (int64_t i = 0; i < n; i++) memcpy(to + (size_t)i * f->elem, element, f->elem);
}

static size_t slot_bytes(const fused *f) {
  return align_up((f->p.num_inputs + f->p.num_outputs + f->code.num_temps) * sizeof(void *));
}
static size_t pad_bytes(const fused *f) {  // a vector for every input and output
  return align_up((f->p.num_inputs + f->p.num_outputs) * (size_t)f->lanes->bytes);
}
static size_t work_bytes(const fused *f, int64_t tile) {
  size_t tiles = f->code.num_temps;
  for (uint32_t i = 0; i < f->p.num_inputs; i++) tiles += f->p.kinds[i] == FY_FUSED_SCALAR;
  return slot_bytes(f) + pad_bytes(f) + tiles * align_up((size_t)tile * f->elem);
}

// The slots of scalars and temporaries, which stay where they are for a range.
static void lay_out(const job *j, char *work, void **slots) {
  const fused *f = j->f;
  const uint32_t ni = f->p.num_inputs, no = f->p.num_outputs;
  const size_t bytes = align_up((size_t)j->tile * f->elem);
  char *at = work + slot_bytes(f) + pad_bytes(f);
  for (uint32_t i = 0; i < ni; i++) {
    if (f->p.kinds[i] != FY_FUSED_SCALAR) continue;
    fill(f, at, j->in[i], j->tile);
    slots[i] = at;
    at += bytes;
  }
  for (uint32_t t = 0; t < f->code.num_temps; t++, at += bytes) slots[ni + no + t] = at;
}

// Points the slots of inputs and outputs to element |pos|. Returns how many of |n| elements lie there
// in one piece.
static int64_t aim(const job *j, void **slots, int64_t pos, int64_t n) {
  const fused *f = j->f;
  for (uint32_t i = 0; i < f->p.num_inputs; i++) {
    if (f->p.kinds[i] == FY_FUSED_SCALAR) continue;
    const int64_t period = j->period[i], at = period ? pos % period : pos;
    if (period >= j->tile && period - at < n) n = period - at;
    slots[i] = (void *)(uintptr_t)(j->in[i] + (size_t)at * f->elem);
  }
  for (uint32_t k = 0; k < f->p.num_outputs; k++)
    slots[f->p.num_inputs + k] = j->out[k] + (size_t)pos * f->elem;
  return n;
}

static void run_code(const fused *f, const fy_fused_regs *regs) {
  const fy_fused_fn *table = f->lanes->fused[f->type];
  const fy_fused_instr *end = f->code.instrs + f->code.count;
  for (const fy_fused_instr *ip = f->code.instrs; ip < end; ip++) table[ip->code](ip, regs);
}

// The last |n| elements, fewer than a vector: copied to whole vectors in |pad| and back.
static void run_rest(const job *j, fy_fused_regs *regs, char *pad, int64_t pos, int64_t n) {
  const fused *f = j->f;
  const size_t vector = (size_t)f->lanes->bytes, bytes = (size_t)n * f->elem;
  aim(j, regs->slots, pos, n);
  for (uint32_t i = 0; i < f->p.num_inputs; i++, pad += vector) {
    if (f->p.kinds[i] == FY_FUSED_SCALAR) continue;
    memset(pad, 0, vector);
    memcpy(pad, regs->slots[i], bytes);
    regs->slots[i] = pad;
  }
  for (uint32_t k = 0; k < f->p.num_outputs; k++)
    regs->slots[f->p.num_inputs + k] = pad + k * vector;
  regs->n = vector_elems(f);
  run_code(f, regs);
  for (uint32_t k = 0; k < f->p.num_outputs; k++)
    memcpy(j->out[k] + (size_t)pos * f->elem, pad + k * vector, bytes);
}

static void run_elems(const job *j, char *work, int64_t begin, int64_t end) {
  const fused *f = j->f;
  fy_fused_regs regs = {.slots = (void **)(void *)work, .consts = f->consts};
  lay_out(j, work, regs.slots);
  for (int64_t pos = begin, n; pos < end; pos += n) {
    n = aim(j, regs.slots, pos, end - pos < j->tile ? end - pos : j->tile);
    const int64_t rest = n % vector_elems(f);
    regs.n = n - rest;
    if (regs.n) run_code(f, &regs);
    if (rest) run_rest(j, &regs, work + slot_bytes(f), pos + n - rest, rest);
  }
}

// ---------------------------------------------------------------- as part of another kernel
fy_code fy_fused_compile(const fy_fused_program *p, fy_dtype dtype, fy_fused_code **out,
                         fy_error *err) {
  fused *f = fy_calloc(1, sizeof *f);
  fy_view bytes;
  *out = NULL;
  if (!f) return fy_fail_oom(err, sizeof *f);
  fy_arena_init(&f->arena);
  f->type = lanes_type(dtype);
  f->elem = fy_dtype_storage(dtype);
  f->lanes = fy_lanes_best();
  fy_code code = f->type < 0 ? fy_fail(err, FY_INVALID_ARGUMENT, "no fused code for this type")
                             : fy_fused_encode(p, &f->arena, &bytes, err);
  if (!code) code = fy_fused_decode(bytes, dtype, &f->arena, &f->p, err);
  if (!code && !(f->no_period = fy_arena_array(&f->arena, p->num_inputs + 1u, sizeof(int64_t))))
    code = fy_fail_oom(err, p->num_inputs * sizeof(int64_t));
  if (!code) code = set_up(f, err);
  if (code)
    release(f);
  else
    *out = f;
  return code;
}

void fy_fused_code_free(fy_fused_code *code) {
  if (code) release(code);
}

size_t fy_fused_code_work(const fy_fused_code *code) {
  return work_bytes(code, tile_elems(code, INT64_MAX));
}

double fy_fused_code_ns(const fy_fused_code *code) {
  return code->ns;
}

void fy_fused_code_run(const fy_fused_code *code, const void *const *in, void *const *out,
                       int64_t n, void *work) {
  const job j = {.f = code,
                 .in = (const char **)(uintptr_t)in,
                 .period = code->no_period,
                 .out = (char **)(uintptr_t)out,
                 .tile = tile_elems(code, n)};
  run_elems(&j, work, 0, n);
}

// |begin| and |end| count tiles.
static void run_tiles(void *arg, int64_t begin, int64_t end) {
  job *j = arg;
  _Alignas(ALIGNMENT) char local[STACK_BYTES];
  char *work = j->work_bytes <= sizeof local ? local : fy_aligned_alloc(j->work_bytes);
  if (!work) {
    __atomic_store_n(&j->failed, 1, __ATOMIC_RELAXED);
    return;
  }
  const int64_t last = end * j->tile < j->f->count ? end * j->tile : j->f->count;
  run_elems(j, work, begin * j->tile, last);
  if (work != local) fy_aligned_free(work);
}

// Elements of the copy that a row of |n| needs: any tile that starts in a short one can be read in
// one piece. 0: none, tiles end where a long one does.
static int64_t extended(const fused *f, int64_t n) {
  const int64_t tile = tile_elems(f, f->count);
  return n < tile ? n + tile : 0;
}

static fy_code extend_row(fy_kernel_ctx *ctx, const fused *f, const fy_tensor *in, const char **out,
                          fy_error *err) {
  const size_t total = (size_t)extended(f, in->count) * f->elem;
  void *memory;
  *out = in->data;
  if (!total) return FY_OK;
  FY_TRY(fy_scratch(ctx, total, &memory, err));
  char *to = memory;
  for (size_t at = 0; at < total;) {
    size_t piece = (size_t)in->count * f->elem;
    if (piece > total - at) piece = total - at;
    memcpy(to + at, in->data, piece);
    at += piece;
  }
  *out = to;
  return FY_OK;
}

static fy_code check_inputs(fy_kernel_ctx *ctx, const fused *f, fy_error *err) {
  for (uint32_t i = 0; i < f->p.num_inputs; i++) {
    const fy_tensor *t = ctx->in[i];
    const bool fits = f->p.kinds[i] == FY_FUSED_FULL     ? t->count == f->count
                      : f->p.kinds[i] == FY_FUSED_SCALAR ? t->count == 1
                                                         : t->count > 0 && f->count % t->count == 0;
    if (!fits)
      return fy_fail(err, FY_INVALID_ARGUMENT,
                     "input %u of a fused operation has %lld elements, which does not fit %lld", i,
                     (long long)t->count, (long long)f->count);
  }
  return FY_OK;
}

#define INLINE_ARGS 16

static fy_code compute(fy_kernel_ctx *ctx, fy_error *err) {
  const fused *f = ctx->site->state;
  const uint32_t ni = f->p.num_inputs, no = f->p.num_outputs;
  const char *in_small[INLINE_ARGS];
  char *out_small[INLINE_ARGS];
  int64_t period_small[INLINE_ARGS];
  job j = {.f = f, .in = in_small, .out = out_small, .period = period_small};
  int64_t *period = period_small;
  if (ni > INLINE_ARGS || no > INLINE_ARGS) {
    void *memory;
    FY_TRY(fy_scratch(ctx, (size_t)(ni + ni + no) * sizeof(int64_t), &memory, err));
    period = memory;
    j.period = period;
    j.in = (const char **)(void *)(period + ni);
    j.out = (char **)(uintptr_t)(j.in + ni);
  }
  for (uint32_t k = 0; k < no; k++) {
    fy_tensor *out;
    FY_TRY(fy_out(ctx, (int)k, f->rank, f->dims, &out, err));
    j.out[k] = out->data;
  }
  if (f->count == 0) return FY_OK;
  FY_TRY(check_inputs(ctx, f, err));
  for (uint32_t i = 0; i < ni; i++) {
    period[i] = f->p.kinds[i] == FY_FUSED_ROW ? ctx->in[i]->count : 0;
    j.in[i] = ctx->in[i]->data;
    if (period[i]) FY_TRY(extend_row(ctx, f, ctx->in[i], &j.in[i], err));
  }
  j.tile = tile_elems(f, f->count);
  j.work_bytes = work_bytes(f, j.tile);
  fy_parallel(ctx, (f->count + j.tile - 1) / j.tile, f->ns * (double)j.tile, run_tiles, &j);
  if (j.failed) return fy_fail(err, FY_RESOURCE_EXHAUSTED, "OOM in a fused operation");
  return FY_OK;
}

static void needs(fy_kernel_ctx *ctx, fy_needs *out) {
  const fused *f = ctx->site->state;
  const uint32_t ni = f->p.num_inputs, no = f->p.num_outputs;
  if (ni > INLINE_ARGS || no > INLINE_ARGS)
    out->scratch += fy_scratch_line((size_t)(ni + ni + no) * sizeof(int64_t));
  for (uint32_t i = 0; f->count && i < ni; i++) {
    const int64_t n = f->p.kinds[i] == FY_FUSED_ROW ? extended(f, ctx->in[i]->count) : 0;
    if (n) out->scratch += fy_scratch_line((size_t)n * f->elem);
  }
}

static fy_code shape(fy_shape_ctx *ctx, fy_error *err) {
  const fy_attr *a = fy_attrs_get(ctx->attrs, "shape");
  if (!a || a->kind != FY_ATTR_SHAPE) return FY_OK;
  for (int i = 0; i < ctx->num_outputs; i++)
    if (a->v.shape.rank >= 0) FY_TRY(fy_shape_set(ctx, i, a->v.shape.rank, a->v.shape.dims, err));
  return FY_OK;
}

// Every operation is a flop per element; every tensor is read or written once.
static void cost(const fy_site *site, const fy_pshape *in, const fy_pshape *out, fy_cost *c) {
  const fy_view program = fy_site_string(site, "program");
  uint32_t head[4] = {0};
  int64_t n;
  if (program.n >= sizeof head) memcpy(head, program.p, sizeof head);
  c->flops = c->bytes = 0;
  const double elem = (double)fy_dtype_storage(fy_site_type(site, "T"));
  for (int i = 0; i < site->num_inputs; i++)
    if (in[i].rank >= 0 && fy_shape_count(in[i].rank, in[i].dims, &n)) c->bytes += elem * (double)n;
  for (int i = 0; i < site->num_outputs; i++) {
    if (out[i].rank < 0 || !fy_shape_count(out[i].rank, out[i].dims, &n)) continue;
    c->bytes += elem * (double)n;
    if (i == 0) c->flops = (double)head[2] * (double)n;
  }
}

FY_OP(_FerryFused, .shape = shape, .prepare = prepare, .compute = compute, .release = release,
      .cost = cost, .needs = needs, .flags = FY_OP_INPLACE | FY_OP_NO_FOLD);
