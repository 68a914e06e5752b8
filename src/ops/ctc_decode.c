// SPDX-License-Identifier: Apache-2.0
// ctc_decode.c: CTCGreedyDecoder and CTCBeamSearchDecoder: label sequences from class scores over
// time. Arithmetic is in double for both types; results are rounded once.
//
// The beam search keeps a tree of prefixes. A node carries log P(prefix ends in its label), log
// P(prefix, then blank) and their sum, for this step and the last; a node with no probability is not
// in the beam but stays in the tree, because longer prefixes may still be.

#include <math.h>
#include <stdlib.h>

#include "base/alloc.h"
#include "base/arena.h"
#include "ops/shape_fns.h"
#include "ops/typed.h"
#include "ops/values.h"

typedef struct scores {
  const fy_tensor *t;  // [time, batch, classes]
  int64_t time, batch, classes;
} scores;

static double score(const scores *s, int64_t t, int64_t b, int64_t c) {
  const int64_t at = (t * s->batch + b) * s->classes + c;
  return s->t->dtype == FY_FLOAT ? (double)((const float *)s->t->data)[at]
                                 : ((const double *)s->t->data)[at];
}

static fy_code check_inputs(fy_kernel_ctx *ctx, scores *s, fy_error *err) {
  const fy_tensor *in = ctx->in[0], *lengths = ctx->in[1];
  if (in->rank != 3) return fy_fail(err, FY_INVALID_ARGUMENT, "inputs is not a 3-Tensor");
  if (in->count == 0) return fy_fail(err, FY_INVALID_ARGUMENT, "inputs must not be empty");
  *s = (scores){in, in->dims[0], in->dims[1], in->dims[2]};
  if (lengths->rank != 1) {
    return fy_fail(err, FY_INVALID_ARGUMENT, "sequence_length is not a vector");
  }
  if (lengths->count != s->batch) {
    return fy_fail(err, FY_FAILED_PRECONDITION,
                   "len(sequence_length) != batch_size.  len(sequence_length):  %lld batch_size: "
                   "%lld",
                   (long long)lengths->count, (long long)s->batch);
  }
  for (int64_t b = 0; b < s->batch; b++) {
    if (((const int32_t *)lengths->data)[b] > s->time) {
      return fy_fail(err, FY_FAILED_PRECONDITION, "sequence_length(%lld) <= %lld", (long long)b,
                     (long long)s->time);
    }
  }
  return FY_OK;
}

static void put_score(fy_tensor *t, int64_t i, double v) {
  if (t->dtype == FY_FLOAT)
    ((float *)t->data)[i] = (float)v;
  else
    ((double *)t->data)[i] = v;
}

// Decoded labels of all batch rows, one after the other.
typedef struct decoded {
  int64_t *labels;
  size_t n, cap;
  int64_t *ends;  // [batch]
} decoded;

static bool add_label(decoded *d, int64_t label) {
  if (!fy_grow(&d->labels, &d->cap, d->n + 1, sizeof *d->labels)) return false;
  d->labels[d->n++] = label;
  return true;
}

static fy_code put_sparse(fy_kernel_ctx *ctx, const decoded *d, int64_t batch, int out, int paths,
                          fy_error *err) {
  fy_tensor *indices, *values, *shape;
  const int64_t total = (int64_t)d->n, two = 2;
  int64_t most = 0, at = 0;
  FY_TRY(fy_out(ctx, out, 2, (int64_t[]){total, 2}, &indices, err));
  FY_TRY(fy_out(ctx, paths + out, 1, &total, &values, err));
  FY_TRY(fy_out(ctx, 2 * paths + out, 1, &two, &shape, err));
  if (total) memcpy(values->data, d->labels, d->n * sizeof *d->labels);
  for (int64_t b = 0; b < batch; b++) {
    const int64_t from = at;
    for (; at < d->ends[b]; at++) {
      ((int64_t *)indices->data)[2 * at] = b;
      ((int64_t *)indices->data)[2 * at + 1] = at - from;
    }
    most = at - from > most ? at - from : most;
  }
  ((int64_t *)shape->data)[0] = batch;
  ((int64_t *)shape->data)[1] = most;
  return FY_OK;
}

// ---------------------------------------------------------------- greedy
// The first of the highest; a NaN that comes first stays. Several running maxima do not wait for each
// other.
#define STRANDS 8
#define BEST(name, T)                                                                   \
  FY_CLONES static int64_t best_##name(const T *x, int64_t n) {                         \
    T top[STRANDS];                                                                     \
    int64_t i = 0, best = 0;                                                            \
    if (n < 2 * STRANDS) {                                                              \
      for (i = 1; i < n; i++) best = x[i] > x[best] ? i : best;                         \
      return best;                                                                      \
    }                                                                                   \
    for (int k = 0; k < STRANDS; k++) top[k] = x[0];                                    \
    for (; i + STRANDS <= n; i += STRANDS)                                              \
      for (int k = 0; k < STRANDS; k++) top[k] = x[i + k] > top[k] ? x[i + k] : top[k]; \
    for (; i < n; i++) top[0] = x[i] > top[0] ? x[i] : top[0];                          \
    for (int k = 1; k < STRANDS; k++)                                                   \
      if (top[k] > top[0]) top[0] = top[k];                                             \
    for (i = 0; i + STRANDS <= n; i += STRANDS) {                                       \
      int here = 0;                                                                     \
      for (int k = 0; k < STRANDS; k++) here |= x[i + k] == top[0];                     \
      if (here) break;                                                                  \
    }                                                                                   \
    for (; i < n; i++)                                                                  \
      if (x[i] == top[0]) return i;                                                     \
    return 0;                                                                           \
  }
BEST(f32, float)
BEST(f64, double)

// Item: all classes of one step of one sequence; what is found lies sequence by sequence.
typedef struct best_job {
  const scores *s;
  int64_t longest;
  int32_t *best;  // [batch, longest]
  double *top;    // its score
} best_job;
static void best_classes(void *arg, int64_t begin, int64_t end) {
  const best_job *j = arg;
  const int64_t n = j->s->classes, batch = j->s->batch;
  const bool wide = j->s->t->dtype != FY_FLOAT;
  int64_t t = begin / batch, b = begin % batch;
  for (int64_t i = begin; i < end; i++) {
    const float *x = (const float *)j->s->t->data + i * n;
    const double *y = (const double *)j->s->t->data + i * n;
    const int64_t best = wide ? best_f64(y, n) : best_f32(x, n);
    j->best[b * j->longest + t] = (int32_t)best;
    j->top[b * j->longest + t] = wide ? y[best] : (double)x[best];
    if (++b == batch) b = 0, t++;
  }
}

static fy_code greedy(fy_kernel_ctx *ctx, fy_error *err) {
  scores s;
  fy_tensor *log_prob;
  const bool merge = fy_site_bool(ctx->site, "merge_repeated");
  int64_t blank = fy_site_int(ctx->site, "blank_index");
  FY_TRY(check_inputs(ctx, &s, err));
  if (blank < -s.classes || blank >= s.classes) {
    return fy_fail(err, FY_INVALID_ARGUMENT,
                   "blank_index expected to be between %lld and %lld but was %lld",
                   (long long)-s.classes, (long long)s.classes - 1, (long long)blank);
  }
  if (blank < 0) blank += s.classes;
  FY_TRY(fy_out(ctx, 3, 2, (int64_t[]){s.batch, 1}, &log_prob, err));
  void *best, *top;
  int64_t longest = 0, most = 0;
  for (int64_t b = 0; b < s.batch; b++) {
    const int32_t n = ((const int32_t *)ctx->in[1]->data)[b];
    if (n > longest) longest = n;
    if (n > 0) most += n;
  }
  FY_TRY(fy_scratch(ctx, (size_t)(longest * s.batch) * sizeof(int32_t), &best, err));
  FY_TRY(fy_scratch(ctx, (size_t)(longest * s.batch) * sizeof(double), &top, err));
  best_job j = {&s, longest, best, top};
  fy_parallel(ctx, longest * s.batch, 5 + 0.3 * (double)s.classes, best_classes, &j);
  decoded d = {.ends = fy_calloc((size_t)s.batch + 1, sizeof(int64_t))};
  fy_code code = d.ends ? FY_OK : fy_fail_oom(err, (size_t)s.batch);
  if (!code && !fy_grow(&d.labels, &d.cap, (size_t)most + 1, sizeof *d.labels))
    code = fy_fail_oom(err, (size_t)most * sizeof *d.labels);
  for (int64_t b = 0; b < s.batch && !code; b++) {
    const int32_t n = ((const int32_t *)ctx->in[1]->data)[b];
    int64_t before = -1;
    float sum32 = 0;
    double sum = 0;
    for (int64_t t = 0; t < n; t++) {
      const int64_t class = j.best[b * longest + t];
      sum32 -= (float)j.top[b * longest + t];
      sum -= j.top[b * longest + t];
      d.labels[d.n] = class;
      d.n += class != blank && !(merge && class == before);
      before = class;
    }
    put_score(log_prob, b, log_prob->dtype == FY_FLOAT ? (double)sum32 : sum);
    d.ends[b] = (int64_t)d.n;
  }
  if (!code) code = put_sparse(ctx, &d, s.batch, 0, 1, err);
  fy_free(d.labels);
  fy_free(d.ends);
  return code;
}

// ---------------------------------------------------------------- beam search
typedef struct chance {
  double total, blank, label;
} chance;
static const chance nothing = {-INFINITY, -INFINITY, -INFINITY};

typedef struct prefix prefix;
struct prefix {
  prefix *parent, *children, *next;  // children that were ever in the beam
  int64_t label;
  chance now, before;
};

typedef struct beam {
  fy_arena arena;
  prefix **at;  // the beam, a heap with the least likely first
  int64_t n, width;
} beam;

static double add_logs(double a, double b) {
  if (a == -INFINITY && b == -INFINITY) return -INFINITY;
  return a > b ? a + log1p(exp(b - a)) : b + log1p(exp(a - b));
}

static void sift_up(beam *h, int64_t i) {
  while (i > 0 && h->at[i]->now.total < h->at[(i - 1) / 2]->now.total) {
    prefix *p = h->at[i];
    h->at[i] = h->at[(i - 1) / 2];
    h->at[(i - 1) / 2] = p;
    i = (i - 1) / 2;
  }
}

static void sift_down(beam *h, int64_t i) {
  for (;;) {
    int64_t least = i;
    for (int64_t k = 2 * i + 1; k <= 2 * i + 2 && k < h->n; k++) {
      if (h->at[k]->now.total < h->at[least]->now.total) least = k;
    }
    if (least == i) return;
    prefix *p = h->at[i];
    h->at[i] = h->at[least];
    h->at[least] = p;
    i = least;
  }
}

static void push(beam *h, prefix *p) {
  if (h->n < h->width) {
    h->at[h->n] = p;
    sift_up(h, h->n++);
  } else {
    h->at[0] = p;
    sift_down(h, 0);
  }
}

static int likelier(const void *a, const void *b) {
  const double x = (*(prefix *const *)a)->now.total, y = (*(prefix *const *)b)->now.total;
  return x > y ? -1 : x < y;
}

static bool is_candidate(const beam *h, chance c) {
  return c.total > -INFINITY && (h->n < h->width || c.total > h->at[0]->now.total);
}

static prefix *find_child(prefix *p, int64_t label) {
  prefix *c = p->children;
  while (c && c->label != label) c = c->next;
  return c;
}

// One time step: |row| are log probabilities. |sorted| has room for the beam.
static bool step(beam *h, const double *row, int64_t classes, prefix **sorted) {
  const int64_t n = h->n, blank = classes - 1;
  memcpy(sorted, h->at, (size_t)n * sizeof *sorted);
  qsort(sorted, (size_t)n, sizeof *sorted, likelier);
  h->n = 0;
  for (int64_t i = 0; i < n; i++) sorted[i]->before = sorted[i]->now;
  for (int64_t i = 0; i < n; i++) {
    prefix *p = sorted[i];
    if (p->parent) {
      if (p->parent->now.total != -INFINITY) {
        const chance *up = &p->parent->before;
        p->now.label = add_logs(p->now.label, p->label == p->parent->label ? up->blank : up->total);
      }
      p->now.label += row[p->label];
    }
    p->now.blank = p->before.total + row[blank];
    p->now.total = add_logs(p->now.blank, p->now.label);
    push(h, p);
  }
  for (int64_t i = 0; i < n; i++) {
    prefix *p = sorted[i];
    if (!is_candidate(h, p->before)) continue;
    for (int64_t label = 0; label < blank; label++) {
      prefix *c = find_child(p, label);
      if (c && c->now.total != -INFINITY) continue;
      chance now = nothing;
      now.label = row[label] + (label == p->label ? p->before.blank : p->before.total);
      now.total = now.label;
      if (!is_candidate(h, now)) {
        if (c) c->before = nothing;
        continue;
      }
      if (!c) {
        c = fy_arena_zalloc(&h->arena, sizeof *c);
        if (!c) return false;
        *c = (prefix){.parent = p, .next = p->children, .label = label, .before = nothing};
        p->children = c;
      }
      if (h->n == h->width) h->at[0]->now = nothing;
      c->now = now;
      push(h, c);
    }
  }
  return true;
}

static void log_softmax(const scores *s, int64_t t, int64_t b, double *row) {
  double most = -INFINITY, sum = 0;
  for (int64_t c = 0; c < s->classes; c++) {
    row[c] = score(s, t, b, c);
    most = row[c] > most ? row[c] : most;
  }
  for (int64_t c = 0; c < s->classes; c++) sum += exp(row[c] - most);
  const double offset = most + log(sum);
  for (int64_t c = 0; c < s->classes; c++) row[c] -= offset;
}

// The labels from the root to |p|, appended to |d|.
static bool add_path(decoded *d, const prefix *p, bool merge) {
  const size_t from = d->n;
  int64_t before = -1;
  for (; p->parent; p = p->parent) {
    if ((!merge || p->label != before) && !add_label(d, p->label)) return false;
    before = p->label;
  }
  for (size_t a = from, b = d->n; a + 1 < b; a++) {
    const int64_t x = d->labels[a];
    d->labels[a] = d->labels[--b];
    d->labels[b] = x;
  }
  return true;
}

static fy_code search_row(const scores *s, int64_t b, int64_t length, beam *h, prefix **sorted,
                          double *row, fy_error *err) {
  prefix *root = fy_arena_zalloc(&h->arena, sizeof *root);
  if (!root) return fy_fail_oom(err, sizeof *root);
  *root = (prefix){.label = -1, .now = {0, 0, -INFINITY}, .before = nothing};
  h->n = 0;
  push(h, root);
  for (int64_t t = 0; t < length; t++) {
    log_softmax(s, t, b, row);
    if (!step(h, row, s->classes, sorted)) return fy_fail_oom(err, h->arena.used_bytes);
  }
  return FY_OK;
}

static fy_code beam_search(fy_kernel_ctx *ctx, fy_error *err) {
  scores s;
  fy_tensor *log_prob;
  void *memory;
  const int64_t width = fy_site_int(ctx->site, "beam_width");
  const int64_t paths = fy_site_int(ctx->site, "top_paths");
  const bool merge = fy_site_bool(ctx->site, "merge_repeated");
  FY_TRY(check_inputs(ctx, &s, err));
  if (paths > width) {
    return fy_fail(err, FY_INVALID_ARGUMENT, "requested more paths than the beam width.");
  }
  FY_TRY(fy_out(ctx, 3 * (int)paths, 2, (int64_t[]){s.batch, paths}, &log_prob, err));
  size_t bytes;
  if (!fy_mul_size((size_t)width, 2 * sizeof(prefix *), &bytes)) return fy_fail_oom(err, SIZE_MAX);
  beam h = {.width = width};
  FY_TRY(fy_scratch(ctx, bytes, &memory, err));
  h.at = memory;
  prefix **sorted = h.at + width;
  FY_TRY(fy_scratch(ctx, (size_t)s.classes * sizeof(double), &memory, err));
  double *row = memory;
  decoded *d = fy_calloc((size_t)paths, sizeof *d);
  if (!d) return fy_fail_oom(err, (size_t)paths);
  fy_code code = FY_OK;
  for (int64_t k = 0; k < paths && !code; k++) {
    d[k].ends = fy_calloc((size_t)s.batch + 1, sizeof(int64_t));
    if (!d[k].ends) code = fy_fail_oom(err, (size_t)s.batch);
  }
  fy_arena_init(&h.arena);
  for (int64_t b = 0; b < s.batch && !code; b++) {
    code = search_row(&s, b, ((const int32_t *)ctx->in[1]->data)[b], &h, sorted, row, err);
    if (!code && paths > h.n) {
      code = fy_fail(err, FY_INVALID_ARGUMENT, "Less leaves in the beam search than requested.");
    }
    if (!code) qsort(h.at, (size_t)h.n, sizeof *h.at, likelier);
    for (int64_t k = 0; k < paths && !code; k++) {
      put_score(log_prob, b * paths + k, h.at[k]->now.total);
      if (!add_path(&d[k], h.at[k], merge)) code = fy_fail_oom(err, d[k].cap);
      d[k].ends[b] = (int64_t)d[k].n;
    }
    fy_arena_free(&h.arena);
  }
  for (int64_t k = 0; k < paths && !code; k++) {
    code = put_sparse(ctx, &d[k], s.batch, (int)k, (int)paths, err);
  }
  fy_arena_free(&h.arena);
  for (int64_t k = 0; k < paths; k++) {
    fy_free(d[k].labels);
    fy_free(d[k].ends);
  }
  fy_free(d);
  return code;
}

static fy_code decoder_shape(fy_shape_ctx *ctx, fy_error *err) {
  const int64_t paths = fy_shape_attr_int(ctx, "top_paths", 1), two = 2;
  int64_t batch;
  FY_TRY(fy_shape_rank_is(ctx->in[0], 3, err));
  FY_TRY(fy_shape_rank_is(ctx->in[1], 1, err));
  FY_TRY(fy_dim_merge(fy_dim_of(ctx->in[0], 1), fy_dim_of(ctx->in[1], 0), &batch, err));
  for (int k = 0; k < paths; k++) {
    FY_TRY(fy_shape_set(ctx, k, 2, (int64_t[]){-1, 2}, err));
    FY_TRY(fy_shape_set(ctx, (int)paths + k, 1, NULL, err));
    FY_TRY(fy_shape_set(ctx, 2 * (int)paths + k, 1, &two, err));
  }
  return fy_shape_set(ctx, 3 * (int)paths, 2, (int64_t[]){batch, paths}, err);
}

static const fy_sample greedy_samples[] = {
    {"f32[2,1,3]=0,1,0,1,0,0; i32[1]=2", NULL, FY_OK, "0,0,0,1"},
    {"f32[2,1,3]=0,1,0,1,0,0; i32[1]=3", NULL, FY_FAILED_PRECONDITION, "sequence_length(0) <= 2"},
};
static const fy_sample beam_samples[] = {
    {"f32[2,1,3]=0,5,0,5,0,0; i32[1]=2", "beam_width=3; top_paths=1", FY_OK, "0,0,0,1"}};

FY_OP(CTCGreedyDecoder, .shape = decoder_shape, .compute = greedy,
      .flags = FY_OP_HOST | FY_OP_DYNAMIC, FY_SAMPLES(greedy_samples));
FY_OP(CTCBeamSearchDecoder, .shape = decoder_shape, .compute = beam_search,
      .flags = FY_OP_HOST | FY_OP_DYNAMIC, FY_SAMPLES(beam_samples));
