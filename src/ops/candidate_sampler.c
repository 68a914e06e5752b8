// SPDX-License-Identifier: Apache-2.0
// candidate_sampler.c: classes drawn for sampled losses: Uniform-, LogUniform-, LearnedUnigram-,
// ThreadUnsafeUnigram-, FixedUnigram- and AllCandidateSampler, and ComputeAccidentalHits.
// The same numbers as TensorFlow's for the same seeds: Philox bits are taken one word after the
// other, and each call moves the generator on by as much as TensorFlow reserves.

#include <float.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>

#include "base/alloc.h"
#include "base/thread.h"
#include "ops/named.h"
#include "ops/random.h"
#include "ops/shape_fns.h"
#include "ops/text.h"
#include "ops/values.h"
#include "wire/file.h"

typedef enum kind { ALL, UNIFORM, LOG_UNIFORM, LEARNED, FIXED } kind;

typedef struct sampler {
  fy_object object;  // of the node: all its sites in a session share it
  kind kind;
  fy_mutex lock;  // guards |generator| and |tree|
  fy_philox generator;
  int64_t range, num_true, num_sampled;
  bool unique;
  // LEARNED: how often each class was seen, plus one, and sums over powers of two (Fenwick).
  int32_t *weights, *tree;
  int32_t total;
  // FIXED: the alias method.
  float *given, *chance;
  int32_t *other;
  float given_total;
} sampler;

// ---------------------------------------------------------------- numbers, word by word
typedef struct words {
  fy_philox generator;
  uint32_t block[4];
  int used;
} words;

static uint32_t word(words *w) {
  if (w->used == 4) {
    fy_philox_next(&w->generator, w->block);
    w->used = 0;
  }
  return w->block[w->used++];
}

static uint64_t word64(words *w) {
  const uint64_t low = word(w);
  return low | (uint64_t)word(w) << 32;
}

// Uniform in [0, n) without a bias towards the low end.
static uint64_t below64(words *w, uint64_t n) {
  uint64_t v = word64(w);
  if ((n & (n - 1)) == 0) return v & (n - 1);
  const uint64_t rest = UINT64_MAX % n + 1;
  while (v < rest) v = word64(w);
  return v % n;
}

static uint32_t below32(words *w, uint32_t n) {
  uint32_t v = word(w);
  if ((n & (n - 1)) == 0) return v & (n - 1);
  const uint32_t rest = UINT32_MAX % n + 1;
  while (v < rest) v = word(w);
  return v % n;
}

// ---------------------------------------------------------------- distributions
static void tree_add(sampler *s, int64_t i) {
  for (i++; i <= s->range; i += i & -i) s->tree[i]++;
  s->total++;
}

// The class whose share of [0, total) holds |at|.
static int64_t tree_find(const sampler *s, int32_t at) {
  int64_t i = 0, step = 1;
  while (step * 2 <= s->range) step *= 2;
  for (; step; step /= 2) {
    if (i + step <= s->range && s->tree[i + step] <= at) {
      i += step;
      at -= s->tree[i];
    }
  }
  return i;
}

static int64_t draw(const sampler *s, words *w) {
  switch (s->kind) {
    case UNIFORM: return (int64_t)below64(w, (uint64_t)s->range);
    case LOG_UNIFORM: {
      const uint32_t x0 = word(w), x1 = word(w);
      const double u = fy_bits_to_unit_double(x0, x1) * log1p((double)s->range);
      return ((int64_t)exp(u) - 1) % s->range;
    }
    case LEARNED: return tree_find(s, (int32_t)below32(w, (uint32_t)s->total));
    case FIXED: {
      const float r = fy_bits_to_unit_float(word(w));
      const uint32_t i = below32(w, (uint32_t)s->range);
      return r < s->chance[i] ? (int64_t)i : s->other[i];
    }
    default: return 0;
  }
}

static float probability(const sampler *s, int64_t value) {
  switch (s->kind) {
    case UNIFORM: return (float)(1.0 / (double)s->range);
    case LOG_UNIFORM:
      return (float)(log(((double)value + 2.0) / ((double)value + 1.0)) / log1p((double)s->range));
    case LEARNED: return (float)s->weights[value] / (float)s->total;
    case FIXED: return value < 0 || value >= s->range ? 0 : s->given[value] / s->given_total;
    default: return 1;
  }
}

static float expected(const sampler *s, int64_t value, int64_t tries) {
  if (s->kind == ALL) return 1;
  const float p = probability(s, value);
  if (tries == s->num_sampled) return p * (float)s->num_sampled;
  return -expm1f((float)tries * log1pf(-p));
}

// Walker's alias table: every column holds a class and what fills up the rest of it.
static fy_code build_alias(sampler *s, fy_error *err) {
  const int64_t n = s->range;
  s->chance = fy_calloc((size_t)n, sizeof *s->chance);
  s->other = fy_calloc((size_t)n, sizeof *s->other);
  double *p = fy_calloc((size_t)n, sizeof *p), sum = 0;
  int32_t *high = fy_calloc((size_t)n, sizeof *high), *low = fy_calloc((size_t)n, sizeof *low);
  int64_t num_high = 0, num_low = 0;
  const bool fine = s->chance && s->other && p && high && low;
  if (fine) {
    for (int64_t i = 0; i < n; i++) sum += (double)s->given[i];
    for (int64_t i = 0; i < n; i++) {
      p[i] = (double)(s->given[i] * (float)n) / sum;
      s->other[i] = (int32_t)i;
      if (p[i] < 1.0)
        low[num_low++] = (int32_t)i;
      else
        high[num_high++] = (int32_t)i;
    }
    while (num_high && num_low) {
      const int32_t l = low[--num_low], h = high[--num_high];
      s->other[l] = h;
      p[h] -= 1.0 - p[l];
      if (p[h] < 1.0)
        low[num_low++] = h;
      else
        high[num_high++] = h;
    }
    for (int64_t i = 0; i < n; i++) s->chance[i] = (float)p[i];
    for (int64_t i = 0; i < num_high; i++) s->chance[high[i]] = 1, s->other[high[i]] = high[i];
    for (int64_t i = 0; i < num_low; i++) s->chance[low[i]] = 1, s->other[low[i]] = low[i];
  }
  fy_free(p);
  fy_free(high);
  fy_free(low);
  return fine ? FY_OK : fy_fail_oom(err, (size_t)n);
}

// ---------------------------------------------------------------- FixedUnigram's weights
typedef struct weights {
  float *at;
  size_t n, cap;
  int32_t id;
  int64_t shards, shard;
  float distortion, total;
} weights;

static bool add_weight(weights *w, float v, bool reserved) {
  if (w->id++ % w->shards != w->shard) return true;
  if (!fy_grow(&w->at, &w->cap, w->n + 1, sizeof *w->at)) return false;
  if (!reserved) {
    v = powf(v, w->distortion);
    w->total += v;
  }
  w->at[w->n++] = v;
  return true;
}

static fy_code add_line(weights *w, const char *line, size_t n, fy_error *err) {
  size_t at = n;
  while (at > 0 && line[at - 1] != ',') at--;
  float v = 0;
  if (w->id % w->shards == w->shard &&
      !fy_text_to_number((fy_view){line + at, n - at}, FY_FLOAT, &v)) {
    return fy_fail(err, FY_INVALID_ARGUMENT, "Wrong vocabulary format at line: %.*s", (int)n, line);
  }
  return add_weight(w, v, false) ? FY_OK : fy_fail_oom(err, w->cap);
}

static fy_code weights_from_file(weights *w, fy_view path, fy_error *err) {
  uint8_t *bytes;
  size_t n;
  char *name = fy_strndup(path.p, path.n);
  if (!name) return fy_fail_oom(err, path.n);
  fy_code code = fy_wire_file_load(name, (uint64_t)1 << 34, &bytes, &n, err);
  fy_free(name);
  if (code) return code;
  for (size_t at = 0; at < n && !code;) {
    size_t end = at;
    while (end < n && bytes[end] != '\n') end++;
    size_t stop = end;
    while (stop > at && bytes[stop - 1] == '\r') stop--;
    code = add_line(w, (const char *)bytes + at, stop - at, err);
    at = end + 1;
  }
  fy_free(bytes);
  return code;
}

static fy_code prepare_fixed(const fy_site *site, sampler *s, fy_error *err) {
  const fy_view file = fy_site_string(site, "vocab_file");
  const fy_attr *unigrams = fy_site_attr(site, "unigrams");
  const int64_t reserved = fy_site_int(site, "num_reserved_ids");
  const bool listed = unigrams && unigrams->n > 0;
  if (file.n == 0 && !listed) {
    return fy_fail(err, FY_INVALID_ARGUMENT, "Must provide either vocab_file or unigrams.");
  }
  if (file.n && listed) {
    return fy_fail(err, FY_INVALID_ARGUMENT, "Must only provide one of vocab_file and unigrams.");
  }
  weights w = {.shards = fy_site_int(site, "num_shards"),
               .shard = fy_site_int(site, "shard"),
               .distortion = fy_site_float(site, "distortion")};
  fy_code code = FY_OK;
  for (int64_t i = 0; i < reserved && !code; i++) {
    if (!add_weight(&w, 0, true)) code = fy_fail_oom(err, w.cap);
  }
  w.id = (int32_t)w.n;
  if (!code && file.n) code = weights_from_file(&w, file, err);
  for (uint32_t i = 0; listed && i < unigrams->n && !code; i++) {
    if (!add_weight(&w, unigrams->v.floats[i], false)) code = fy_fail_oom(err, w.cap);
  }
  if (!code && (int64_t)w.n != s->range) {
    code = fy_fail(err, FY_INVALID_ARGUMENT, "range is %lld must be equal to weights size  %zu",
                   (long long)s->range, w.n);
  }
  s->given = w.at;
  s->given_total = w.total;
  return code ? code : build_alias(s, err);
}

// ---------------------------------------------------------------- sites
static void destroy(fy_object *object) {
  sampler *s = (sampler *)object;
  fy_mutex_destroy(&s->lock);
  fy_free(s->weights);
  fy_free(s->tree);
  fy_free(s->given);
  fy_free(s->chance);
  fy_free(s->other);
  fy_free(s);
}
static const fy_object_type sampler_type = {"sampler", destroy};

static void release(void *state) {
  fy_object_release(state);
}

static fy_code fill(const fy_site *site, sampler *s, fy_error *err) {
  const kind k = s->kind;
  s->generator = fy_random_of_attrs(site);
  s->num_true = fy_site_int(site, "num_true");
  s->num_sampled = fy_site_int(site, "num_sampled");
  s->unique = fy_site_bool(site, "unique");
  s->range = k == ALL ? s->num_sampled : fy_site_int(site, "range_max");
  if (s->range < 1 || s->num_sampled < 0) {
    return fy_fail(err, FY_INVALID_ARGUMENT, "range_max and num_sampled must be positive");
  }
  if (k == FIXED) return prepare_fixed(site, s, err);
  if (k != LEARNED) return FY_OK;
  if (s->range >= INT32_MAX) {
    return fy_fail(err, FY_INVALID_ARGUMENT, "range_max must be less than 2^31 - 1");
  }
  s->weights = fy_calloc((size_t)s->range, sizeof *s->weights);
  s->tree = fy_calloc((size_t)s->range + 1, sizeof *s->tree);
  if (!s->weights || !s->tree) return fy_fail_oom(err, (size_t)s->range * 8);
  for (int64_t i = 0; i < s->range; i++) s->weights[i] = 1;
  for (int64_t i = 1; i <= s->range; i++) s->tree[i] = (int32_t)(i & -i);
  s->total = (int32_t)s->range;
  return FY_OK;
}

typedef struct wish {
  const fy_site *site;
  kind kind;
} wish;

static fy_code make(fy_view container, fy_view name, const void *arg, fy_object **out,
                    fy_error *err) {
  const wish *w = arg;
  (void)container, (void)name;
  sampler *s = fy_calloc(1, sizeof *s);
  if (!s) return fy_fail_oom(err, sizeof *s);
  atomic_init(&s->object.refs, 1);
  s->object.type = &sampler_type;
  s->kind = w->kind;
  fy_mutex_init(&s->lock);
  const fy_code code = fill(w->site, s, err);
  if (code)
    destroy(&s->object);
  else
    *out = &s->object;
  return code;
}

static fy_code prepare_as(fy_site *site, kind k, fy_error *err) {
  const wish w = {site, k};
  fy_object *s;
  FY_TRY(fy_site_keep(site, &sampler_type, make, &w, &s, err));
  site->state = s;
  return FY_OK;
}

static fy_code prepare_all(fy_site *site, fy_error *err) {
  return prepare_as(site, ALL, err);
}
static fy_code prepare_uniform(fy_site *site, fy_error *err) {
  return prepare_as(site, UNIFORM, err);
}
static fy_code prepare_log(fy_site *site, fy_error *err) {
  return prepare_as(site, LOG_UNIFORM, err);
}
static fy_code prepare_learned(fy_site *site, fy_error *err) {
  return prepare_as(site, LEARNED, err);
}
static fy_code prepare_unigram(fy_site *site, fy_error *err) {
  return prepare_as(site, FIXED, err);
}

// ---------------------------------------------------------------- the call
// A set of drawn classes: open addressing, value + 1 (0 = free; classes are below 2^63 - 1).
static bool insert(int64_t *set, uint64_t mask, int64_t value) {
  uint64_t at = (uint64_t)value * 0x9E3779B97F4A7C15ull >> 20 & mask;
  for (; set[at]; at = (at + 1) & mask) {
    if (set[at] == value + 1) return false;
  }
  set[at] = value + 1;
  return true;
}

static fy_code draw_all(fy_kernel_ctx *ctx, sampler *s, words *w, int64_t *to, int64_t *tries,
                        fy_error *err) {
  *tries = s->num_sampled;
  if (s->kind == ALL) {
    for (int64_t i = 0; i < s->num_sampled; i++) to[i] = i;
    return FY_OK;
  }
  if (!s->unique) {
    for (int64_t i = 0; i < s->num_sampled; i++) to[i] = draw(s, w);
    return FY_OK;
  }
  uint64_t cap = 16;
  while (cap < 2 * (uint64_t)s->num_sampled) cap *= 2;
  void *set;
  FY_TRY(fy_scratch(ctx, cap * sizeof(int64_t), &set, err));
  memset(set, 0, cap * sizeof(int64_t));
  *tries = 0;
  for (int64_t i = 0; i < s->num_sampled;) {
    if (++*tries >= INT32_MAX) {
      return fy_fail(err, FY_INVALID_ARGUMENT, "Too many tries to draw distinct classes");
    }
    const int64_t value = draw(s, w);
    if (insert(set, cap - 1, value)) to[i++] = value;
  }
  return FY_OK;
}

static fy_code sample_locked(fy_kernel_ctx *ctx, sampler *s, fy_error *err) {
  const fy_tensor *truth = ctx->in[0];
  fy_tensor *out, *true_count, *count;
  FY_TRY(fy_out(ctx, 0, 1, &s->num_sampled, &out, err));
  FY_TRY(fy_out_like(ctx, 1, truth, &true_count, err));
  FY_TRY(fy_out(ctx, 2, 1, &s->num_sampled, &count, err));
  words w = {.generator = s->generator, .used = 4};
  const int64_t *classes = truth->data;
  int64_t tries, *to = out->data;
  for (int64_t i = 0; i < truth->count; i++) {
    if (classes[i] >= 0 && classes[i] < s->range) continue;
    return fy_fail(err, FY_INVALID_ARGUMENT,
                   "`true_candidate` out of range [0, %lld), received %lld", (long long)s->range,
                   (long long)classes[i]);
  }
  fy_philox_skip(&s->generator, (uint64_t)s->num_sampled * 2048 / 4);
  FY_TRY(draw_all(ctx, s, &w, to, &tries, err));
  for (int64_t i = 0; i < s->num_sampled; i++) {
    ((float *)count->data)[i] = expected(s, to[i], tries);
  }
  for (int64_t i = 0; i < truth->count; i++) {
    ((float *)true_count->data)[i] = expected(s, classes[i], tries);
  }
  for (int64_t i = 0; s->kind == LEARNED && i < truth->count && s->total < INT32_MAX; i++) {
    s->weights[classes[i]]++;
    tree_add(s, classes[i]);
  }
  return FY_OK;
}

static fy_code sample(fy_kernel_ctx *ctx, fy_error *err) {
  sampler *s = ctx->site->state;
  const fy_tensor *truth = ctx->in[0];
  if (truth->rank != 2) {
    return fy_fail(err, FY_INVALID_ARGUMENT, "true_classes must be a matrix");
  }
  if (truth->dims[1] != s->num_true) {
    return fy_fail(err, FY_INVALID_ARGUMENT,
                   "true_classes must have num_true columns, expected: %lld was: %lld",
                   (long long)truth->dims[1], (long long)s->num_true);
  }
  if (s->unique && s->num_sampled > s->range) {
    return fy_fail(err, FY_INVALID_ARGUMENT, "Sampler's range is too small.");
  }
  fy_lock(&s->lock);
  const fy_code code = sample_locked(ctx, s, err);
  fy_unlock(&s->lock);
  return code;
}

static fy_code sampler_shape(fy_shape_ctx *ctx, fy_error *err) {
  const int64_t sampled = fy_shape_attr_int(ctx, "num_sampled", -1);
  const int64_t num_true = fy_shape_attr_int(ctx, "num_true", -1);
  if (num_true < 1) return fy_fail(err, FY_INVALID_ARGUMENT, "num_true must be >= 1");
  if (sampled < 1) return fy_fail(err, FY_INVALID_ARGUMENT, "num_sampled must be >= 1");
  FY_TRY(fy_shape_rank_is(ctx->in[0], 2, err));
  FY_TRY(fy_shape_set(ctx, 0, 1, &sampled, err));
  FY_TRY(fy_shape_set(ctx, 1, 2, (int64_t[]){fy_dim_of(ctx->in[0], 0), num_true}, err));
  return fy_shape_set(ctx, 2, 1, &sampled, err);
}

// ---------------------------------------------------------------- ComputeAccidentalHits
static int by_class(const void *a, const void *b) {
  const int64_t *x = a, *y = b;
  if (x[0] != y[0]) return x[0] < y[0] ? -1 : 1;
  return x[1] < y[1] ? -1 : x[1] > y[1];
}

// The last place of |value| among the sorted pairs (class, place); -1: none.
static int64_t last_place(const int64_t *pairs, int64_t n, int64_t value) {
  int64_t low = 0, high = n;
  while (low < high) {
    const int64_t mid = (low + high) / 2;
    if (pairs[2 * mid] <= value)
      low = mid + 1;
    else
      high = mid;
  }
  return low > 0 && pairs[2 * (low - 1)] == value ? pairs[2 * (low - 1) + 1] : -1;
}

static fy_code accidental_hits(fy_kernel_ctx *ctx, fy_error *err) {
  const fy_tensor *truth = ctx->in[0], *sampled = ctx->in[1];
  const int64_t num_true = fy_site_int(ctx->site, "num_true");
  fy_tensor *indices, *ids, *weights_out;
  void *memory;
  if (truth->rank != 2 || truth->dims[1] != num_true) {
    return fy_fail(err, FY_INVALID_ARGUMENT,
                   "true_candidates must be a batch_size * num_true matrix");
  }
  if (sampled->rank != 1) {
    return fy_fail(err, FY_INVALID_ARGUMENT,
                   "sampled_candidates must be a vector, which is typically an output from "
                   "CandidateSampler");
  }
  FY_TRY(fy_scratch(ctx, ((size_t)sampled->count + 1) * 2 * sizeof(int64_t), &memory, err));
  int64_t *pairs = memory, hits = 0;
  for (int64_t i = 0; i < sampled->count; i++) {
    pairs[2 * i] = ((const int64_t *)sampled->data)[i];
    pairs[2 * i + 1] = i;
  }
  qsort(pairs, (size_t)sampled->count, 2 * sizeof *pairs, by_class);
  const int64_t *classes = truth->data;
  for (int64_t i = 0; i < truth->count; i++) {
    hits += last_place(pairs, sampled->count, classes[i]) >= 0;
  }
  FY_TRY(fy_out(ctx, 0, 1, &hits, &indices, err));
  FY_TRY(fy_out(ctx, 1, 1, &hits, &ids, err));
  FY_TRY(fy_out(ctx, 2, 1, &hits, &weights_out, err));
  for (int64_t i = 0, n = 0; i < truth->count; i++) {
    const int64_t place = last_place(pairs, sampled->count, classes[i]);
    if (place < 0) continue;
    ((int32_t *)indices->data)[n] = (int32_t)(i / num_true);
    ((int64_t *)ids->data)[n] = place;
    ((float *)weights_out->data)[n++] = -FLT_MAX;
  }
  return FY_OK;
}

static fy_code hits_shape(fy_shape_ctx *ctx, fy_error *err) {
  FY_TRY(fy_shape_rank_is(ctx->in[0], 2, err));
  const int64_t num_true = fy_shape_attr_int(ctx, "num_true", -1);
  if (ctx->in[0].rank == 2) FY_TRY(fy_dim_is(ctx->in[0].dims[1], num_true, err));
  FY_TRY(fy_shape_rank_is(ctx->in[1], 1, err));
  for (int i = 0; i < 3; i++) FY_TRY(fy_shape_set(ctx, i, 1, NULL, err));
  return FY_OK;
}

static const fy_sample samples[] = {
    {"i64[1,1]=0", "num_true=1; num_sampled=3; unique=true; range_max=3; seed=1", FY_OK, NULL},
    {"i64[1,1]=0", "num_true=1; num_sampled=4; unique=true; range_max=3; seed=1",
     FY_INVALID_ARGUMENT, "Sampler's range is too small."},
};
static const fy_sample all_samples[] = {
    {"i64[1,1]=0", "num_true=1; num_sampled=3; unique=true; seed=1", FY_OK, "0,1,2"}};
static const fy_sample fixed_samples[] = {
    {"i64[1,1]=0", "num_true=1; num_sampled=3; unique=true; range_max=3; unigrams=[1,2,3]; seed=1",
     FY_OK, NULL}};
static const fy_sample hit_samples[] = {{"i64[2,1]=3,5; i64[3]=5,3,3", "num_true=1", FY_OK, "0,1"}};

#define SAMPLER(name, how, list)                                                             \
  FY_OP(name, .shape = sampler_shape, .prepare = how, .compute = sample, .release = release, \
        .flags = FY_OP_HOST, FY_SAMPLES(list))
SAMPLER(AllCandidateSampler, prepare_all, all_samples);
SAMPLER(UniformCandidateSampler, prepare_uniform, samples);
SAMPLER(LogUniformCandidateSampler, prepare_log, samples);
SAMPLER(LearnedUnigramCandidateSampler, prepare_learned, samples);
SAMPLER(ThreadUnsafeUnigramCandidateSampler, prepare_learned, samples);
SAMPLER(FixedUnigramCandidateSampler, prepare_unigram, fixed_samples);
FY_OP(ComputeAccidentalHits, .shape = hits_shape, .compute = accidental_hits,
      .flags = FY_OP_HOST | FY_OP_DYNAMIC, FY_SAMPLES(hit_samples));
