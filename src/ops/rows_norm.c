// SPDX-License-Identifier: Apache-2.0
// rows_norm.c: layer normalisation of floats, the program over rows that models have most, in three
// tight loops per row instead of fused code: a mean, the mean of squared differences, and the rest.
// Then those that follow: l2_normalize, and a softmax written out.
// fy_norm_match() knows the forms in which frameworks write it; each is computed with exactly its own
// steps, so that the result is that of the ops, bit for bit.

#include <math.h>
#include <string.h>

#include "ops/rows.h"
#include "ops/turn.h"
#include "ops/typed.h"

#define BLOCK         2048  // as in reduce.c: straight sums up to here, then pairwise
#define LANES         32
#define LEAST_SOFTMAX 64  // shorter rows wait for their own steps

typedef float floats8 __attribute__((vector_size(32)));

// ---------------------------------------------------------------- loops
// The sum of (x - mean)^2, in the order in which reduce.c adds a row.
FY_CLONES static float squares(const float *x, float mean, int64_t n) {
  if (n > BLOCK) {
    const int64_t left = (n / 2 + BLOCK - 1) / BLOCK * BLOCK;
    const float a = squares(x, mean, left), b = squares(x + left, mean, n - left);
    return a + b;
  }
  const floats8 m = {mean, mean, mean, mean, mean, mean, mean, mean};
  floats8 a = {0}, b = a, c = a, d = a, y;
  int64_t i = 0;
  for (; i + LANES <= n; i += LANES) {
    memcpy(&y, x + i, sizeof y), y -= m, a += y * y;
    memcpy(&y, x + i + 8, sizeof y), y -= m, b += y * y;
    memcpy(&y, x + i + 16, sizeof y), y -= m, c += y * y;
    memcpy(&y, x + i + 24, sizeof y), y -= m, d += y * y;
  }
  if (i < n) {
    float rest[LANES] = {0};
    for (int64_t k = i; k < n; k++) rest[k - i] = (x[k] - mean) * (x[k] - mean);
    memcpy(&y, rest, sizeof y), a += y;
    memcpy(&y, rest + 8, sizeof y), b += y;
    memcpy(&y, rest + 16, sizeof y), c += y;
    memcpy(&y, rest + 24, sizeof y), d += y;
  }
  a += c, b += d, a += b;
  y = (floats8){a[4], a[5], a[6], a[7]}, a += y;
  y = (floats8){a[2], a[3]}, a += y;
  return a[0] + a[1];
}

// |m| rows of at least eight; the last vector of a row is computed before others of it are written (it may
// be in place), and may overlap the one before.
typedef void ends_fn(const float *x, const float *g, const float *b, const float *means,
                     const float *roots, float *out, int64_t n, int64_t m);
typedef float floats8_anywhere __attribute__((vector_size(32), aligned(4), may_alias));
#define at8(p) (*(const floats8_anywhere *)(p))
#define ROWS_OF(EXPR)                                       \
  for (int64_t row = 0; row < m; row++, x += n, out += n) { \
    const float mean = means[row], r = roots[row];          \
    int64_t i = n - 8;                                      \
    const floats8 last = EXPR;                              \
    for (i = 0; i + 8 < n; i += 8) {                        \
      const floats8 v = EXPR;                               \
      memcpy(out + i, &v, sizeof v);                        \
    }                                                       \
    memcpy(out + n - 8, &last, sizeof last);                \
  }
#define ENDS(name)                                                                               \
  FY_CLONES static void name(const float *x, const float *g, const float *b, const float *means, \
                             const float *roots, float *out, int64_t n, int64_t m)

// x * (r * g) + (b - mean * (r * g))
ENDS(affine){ROWS_OF(at8(x + i) * (r * at8(g + i)) + (at8(b + i) - mean * (r * at8(g + i))))}

// (x - mean) * (r * g) + b
ENDS(scaled){ROWS_OF((at8(x + i) - mean) * (r * at8(g + i)) + at8(b + i))}
// (x - mean) * r, or / r; then, where there are any, * g and + b
#define STEPS(name, OP)                                             \
  ENDS(name) {                                                      \
    if (g && b) {                                                   \
      ROWS_OF(((at8(x + i) - mean) OP r) * at8(g + i) + at8(b + i)) \
    } else if (g) {                                                 \
      ROWS_OF(((at8(x + i) - mean) OP r) * at8(g + i))              \
    } else if (b) {                                                 \
      ROWS_OF(((at8(x + i) - mean) OP r) + at8(b + i))              \
    } else {                                                        \
      ROWS_OF((at8(x + i) - mean) OP r)                             \
    }                                                               \
  }
STEPS(times, *) STEPS(over, /)

    FY_CLONES static void roots(const float *in, float *out, int64_t n) {
  FY_VECTOR for (int64_t i = 0; i < n; i++) out[i] = sqrtf(in[i]);
}

FY_CLONES static void scale(const float *x, float by, float *out, int64_t n) {
  FY_VECTOR for (int64_t i = 0; i < n; i++) out[i] = x[i] * by;
}
FY_CLONES static void divide(float *x, float by, int64_t n) {
  FY_VECTOR for (int64_t i = 0; i < n; i++) x[i] = x[i] / by;
}

// The means (for FY_NORM_L2 zeros that are there) and roots of |m| rows, at most 64, for which there is room.
static void find_stats(const fy_norm *f, const float *x, int64_t n, int64_t m, float *means,
                       float *root) {
  const fy_lanes *lanes = fy_lanes_best();
  if (n <= BLOCK && lanes->norm_stats_f32) {
    lanes->norm_stats_f32(f->form, f->epsilon, x, n, m, means, root);
    return;
  }
  const int64_t four = lanes->bytes, whole = (m + four - 1) / four * four;
  const bool l2 = f->form == FY_NORM_L2;
  if (!l2) fy_reduce_rows(FY_ROW_MEAN, FY_FLOAT, x, n, m, means);
  for (int64_t r = 0; r < m; r++) {
    const float sum = squares(x + r * n, means[r], n);
    root[r] = !l2 ? sum / (float)n + f->epsilon : f->epsilon > sum ? f->epsilon : sum;
  }
  for (int64_t r = m; r < whole; r++) root[r] = 1;
  f->root(root, root,
          whole);  // four whole vectors are quicker than a few, which go through a buffer
}

// |m| rows whose means and roots are known.
static void finish(const fy_norm *f, const float *x, const float *gamma, const float *beta,
                   const float *means, const float *root, int64_t n, int64_t m, float *out) {
  static ends_fn *const ends[FY_NORM_FORMS] = {[FY_NORM_AFFINE] = affine,
                                               [FY_NORM_SCALED] = scaled,
                                               [FY_NORM_TIMES] = times,
                                               [FY_NORM_OVER] = over};
  if (f->form != FY_NORM_L2) {
    ends[f->form](x, gamma, beta, means, root, out, n, m);
    return;
  }
  for (int64_t r = 0; r < m; r++) scale(x + r * n, root[r], out + r * n, n);
}
static void softmax_rows(const float *x, int64_t n, int64_t m, float *out) {
  for (int64_t r = 0; r < m; r++)
    divide(out + r * n, fy_softmax_exps(x + r * n, out + r * n, n), n);
}

// Short rows are added in another order, and only where there are lanes for that.
bool fy_norm_fits(const fy_norm *f, int64_t n) {
  if (n < FY_NARROW && fy_lanes_best()->narrow_f32) return n > 0;
  return n >= (f->form == FY_NORM_SOFTMAX ? LEAST_SOFTMAX : FY_REDUCE_SHORT + 1);
}

// What does not stay in a cache goes past it from a buffer, a few rows at a time.
void fy_norm_rows(const fy_norm *f, const float *x, const float *gamma, const float *beta,
                  int64_t n, int64_t rows, bool past_cache, float *out) {
  float mean[64], root[64], buffer[BLOCK];
  const int64_t fit = BLOCK / n, some = past_cache && fit > 0 ? fit : 64;
  if (f->form == FY_NORM_L2) memset(mean, 0, sizeof mean);
  for (int64_t from = 0; from < rows; from += 64) {
    const int64_t m = rows - from < 64 ? rows - from : 64;
    const float *in = x + from * n;
    if (f->form == FY_NORM_SOFTMAX) {
      softmax_rows(in, n, m, out + from * n);
      continue;
    }
    find_stats(f, in, n, m, mean, root);
    for (int64_t r = 0, k; r < m; r += k) {
      float *to = out + (from + r) * n;
      k = m - r < some ? m - r : some;
      const bool buffered = k * n <= BLOCK && past_cache;
      finish(f, in + r * n, gamma, beta, mean + r, root + r, n, k, buffered ? buffer : to);
      if (buffered) fy_stream((char *)to, (const char *)buffer, (size_t)(k * n) * sizeof *to);
    }
  }
  if (past_cache) fy_stream_end();
}

// ---------------------------------------------------------------- which programs
typedef struct matcher {
  const fy_rows_program *p;
  uint32_t x, mean, root;  // values
  uint64_t used[2];        // bit per operation
} matcher;

static bool is_const(const fy_rows_program *p, uint32_t v) {
  return v >= p->num_inputs && v < p->num_inputs + p->num_consts;
}

static bool is_row(const fy_rows_program *p, uint32_t v) {
  return v < p->num_inputs && p->kinds[v] == FY_ROWS_ROW;
}

// The operation that makes |v| if it is |op|, which then counts as understood.
static const fy_rows_op *made_by(matcher *m, uint32_t v, uint32_t op) {
  const uint32_t first = m->p->num_inputs + m->p->num_consts;
  if (v == FY_FUSED_NONE || v < first || m->p->ops[v - first].op != op) return NULL;
  m->used[(v - first) / 64] |= 1ull << (v - first) % 64;
  return &m->p->ops[v - first];
}

// One operand of |o|, whose order says nothing, is |v|; |*other| is the other.
static bool takes(const fy_rows_op *o, uint32_t v, uint32_t *other) {
  if (!o || (o->a != v && o->b != v)) return false;
  *other = o->a == v ? o->b : o->a;
  return true;
}

// One operand of |o| is a row.
static bool takes_row(const matcher *m, const fy_rows_op *o, uint32_t *row, uint32_t *other) {
  if (!o || is_row(m->p, o->a) == is_row(m->p, o->b)) return false;
  *row = is_row(m->p, o->a) ? o->a : o->b;
  *other = *row == o->a ? o->b : o->a;
  return true;
}

// |v| = x - mean
static bool is_less(matcher *m, uint32_t v) {
  const fy_rows_op *o = made_by(m, v, FY_EW_SUB);
  return o && o->a == m->x && o->b == m->mean;
}

// |v| = root * row
static bool is_scale(matcher *m, uint32_t v, uint32_t *row) {
  return takes(made_by(m, v, FY_EW_MUL), m->root, row) && is_row(m->p, *row);
}

// |v| = beta - mean * scale, or what is the same, beta + (-mean) * scale
static bool is_shift(matcher *m, uint32_t v, uint32_t scale, uint32_t *beta) {
  uint32_t product, other;
  const fy_rows_op *o = made_by(m, v, FY_EW_SUB);
  if (o) {
    *beta = o->a;
    return is_row(m->p, o->a) && takes(made_by(m, o->b, FY_EW_MUL), m->mean, &other) &&
           other == scale;
  }
  if (!takes_row(m, made_by(m, v, FY_EW_ADD), beta, &product) ||
      !takes(made_by(m, product, FY_EW_MUL), scale, &other))
    return false;
  o = made_by(m, other, FY_EW_NEG);
  return o && o->a == m->mean;
}

static bool match_affine(matcher *m, uint32_t last, fy_norm *out) {
  const fy_rows_op *sum = made_by(m, last, FY_EW_ADD);
  for (int side = 0; sum && side < 2; side++) {
    const uint32_t product = side ? sum->b : sum->a, shift = side ? sum->a : sum->b;
    uint32_t scale;
    if (!takes(made_by(m, product, FY_EW_MUL), m->x, &scale) || !is_scale(m, scale, &out->gamma) ||
        !is_shift(m, shift, scale, &out->beta))
      continue;
    out->form = FY_NORM_AFFINE;
    return true;
  }
  return false;
}

static bool match_steps(matcher *m, uint32_t last, bool divides, fy_norm *out) {
  uint32_t v = last, other;
  if (takes_row(m, made_by(m, v, FY_EW_ADD), &out->beta, &other)) v = other;
  const fy_rows_op *o = made_by(m, v, FY_EW_MUL);
  if (o && out->beta != FY_FUSED_NONE && !divides) {
    const bool left = is_less(m, o->a);
    if ((left || is_less(m, o->b)) && is_scale(m, left ? o->b : o->a, &out->gamma)) {
      out->form = FY_NORM_SCALED;
      return true;
    }
  }
  if (takes_row(m, o, &out->gamma, &other)) v = other;
  if (divides) {
    o = made_by(m, v, FY_EW_DIV);
    out->form = FY_NORM_OVER;
    return o && is_less(m, o->a) && o->b == m->root;
  }
  out->form = FY_NORM_TIMES;
  return takes(made_by(m, v, FY_EW_MUL), m->root, &other) && is_less(m, other);
}

// Mean, mean of squares, epsilon, root; false if the program is about something else.
static bool match_root(matcher *m, fy_norm *out, bool *divides) {
  const fy_rows_program *p = m->p;
  const uint32_t first = p->num_inputs + p->num_consts, mean = FY_ROWS_REDUCE + FY_ROW_MEAN;
  uint32_t means[2] = {FY_FUSED_NONE, FY_FUSED_NONE}, other, root = FY_FUSED_NONE;
  int n = 0;
  for (uint32_t i = 0; i < p->num_ops; i++) {
    if (p->ops[i].op == mean && n < 2) means[n++] = first + i;
    if (p->ops[i].op == FY_EW_RSQRT || p->ops[i].op == FY_EW_SQRT) root = first + i;
  }
  if (n != 2 || root == FY_FUSED_NONE) return false;
  m->mean = means[0];
  m->x = made_by(m, means[0], mean)->a;
  const uint32_t square = made_by(m, means[1], mean)->a;
  const fy_rows_op *o = made_by(m, square, FY_EW_SQDIFF);
  if (!takes(o, m->x, &other) || other != m->mean) {
    o = made_by(m, square, FY_EW_SQUARE);
    if (!o || !is_less(m, o->a)) return false;
  }
  *divides = !made_by(m, root, FY_EW_RSQRT);
  o = made_by(m, root, *divides ? FY_EW_SQRT : FY_EW_RSQRT);
  if (!takes(made_by(m, o->a, FY_EW_ADD), means[1], &other) || !is_const(p, other)) return false;
  memcpy(&out->epsilon, &p->consts[other - p->num_inputs], sizeof out->epsilon);
  m->root = root;
  out->x = m->x;
  return true;
}

// Nothing else is computed, and |m|->x is what is read.
static bool is_all(const matcher *m) {
  const fy_rows_program *p = m->p;
  const uint64_t all = p->num_ops == 64 ? ~0ull : (1ull << p->num_ops) - 1;
  return m->used[0] == all && m->x < p->num_inputs && p->kinds[m->x] == FY_ROWS_WIDE;
}

// x * rsqrt(max(sum of x * x, epsilon))
static bool match_l2(matcher *m, uint32_t last, fy_norm *out) {
  const fy_rows_op *o = made_by(m, last, FY_EW_MUL), *root = NULL;
  if (!o) return false;
  for (int side = 0; side < 2 && !root; side++) {
    m->x = side ? o->b : o->a;
    root = made_by(m, side ? o->a : o->b, FY_EW_RSQRT);
  }
  const fy_rows_op *top = root ? made_by(m, root->a, FY_EW_MAX) : NULL;
  if (!top || is_const(m->p, top->a) == is_const(m->p, top->b)) return false;
  const uint32_t k = is_const(m->p, top->a) ? top->a : top->b, sum = k == top->a ? top->b : top->a;
  memcpy(&out->epsilon, &m->p->consts[k - m->p->num_inputs], sizeof out->epsilon);
  const fy_rows_op *added = made_by(m, sum, FY_ROWS_REDUCE + FY_ROW_SUM);
  if (!added || !(out->epsilon > 0)) return false;
  const fy_rows_op *square = made_by(m, added->a, FY_EW_SQUARE);
  if (!square) square = made_by(m, added->a, FY_EW_MUL);
  if (!square || square->a != m->x || (square->op == FY_EW_MUL && square->b != m->x)) return false;
  out->form = FY_NORM_L2;
  out->x = m->x;
  out->root = fy_lanes_best()->unary_f32[FY_EW_RSQRT];
  return out->root && is_all(m);
}

// exp(x - max) / sum
static bool match_softmax(matcher *m, uint32_t last, fy_norm *out) {
  const fy_rows_op *o = made_by(m, last, FY_EW_DIV);
  const fy_rows_op *power = o ? made_by(m, o->a, FY_EW_EXP) : NULL;
  const fy_rows_op *sum = o ? made_by(m, o->b, FY_ROWS_REDUCE + FY_ROW_SUM) : NULL;
  const fy_rows_op *less = power ? made_by(m, power->a, FY_EW_SUB) : NULL;
  const fy_rows_op *top = less ? made_by(m, less->b, FY_ROWS_REDUCE + FY_ROW_MAX) : NULL;
  if (!top || !sum || sum->a != o->a || top->a != less->a) return false;
  m->x = out->x = less->a;
  out->form = FY_NORM_SOFTMAX;
  return is_all(m);
}

bool fy_norm_match(const fy_rows_program *p, fy_norm *out) {
  const uint32_t last = p->num_inputs + p->num_consts + p->num_ops - 1;
  matcher m = {.p = p};
  bool divides;
  *out = (fy_norm){.gamma = FY_FUSED_NONE, .beta = FY_FUSED_NONE};
  if (p->num_ops > 64) return false;
  if (match_l2(&m, last, out)) return true;
  m = (matcher){.p = p};
  if (match_softmax(&m, last, out)) return true;
  m = (matcher){.p = p};
  if (!match_root(&m, out, &divides)) return false;
  const matcher start = m;
  if (divides || !match_affine(&m, last, out)) {
    m = start;
    out->gamma = out->beta = FY_FUSED_NONE;
    if (!match_steps(&m, last, divides, out)) return false;
  }
  out->root = divides ? roots : fy_lanes_best()->unary_f32[FY_EW_RSQRT];
  return out->root && is_all(&m);  // else it computes more than this
}
