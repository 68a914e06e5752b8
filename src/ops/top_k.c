// SPDX-License-Identifier: Apache-2.0
// top_k.c: the largest elements of a row and where they are: TopK, TopKV2, ApproxTopK.

#include "base/alloc.h"
#include "ops/arg.h"
#include "ops/elementwise.h"
#include "ops/shape_fns.h"
#include "ops/values.h"

// A heap of the k best of a row (the worst on top), then sorted: larger first, lower index first.
typedef struct top_job {
  const void *in;
  fy_tensor *values, *indices;
  int64_t cols, k;
  int64_t *heaps;          // [rows, k] column numbers
  struct top_item *items;  // [rows, 2, cols] or NULL: rows are not sorted
  bool unsorted;           // the answer as a heap leaves it
} top_job;

// Many of a row: all of it is sorted by digits, each of a byte, the lowest first. A key grows as the
// number falls; equal ones keep their order.
typedef struct top_item {
  uint64_t key;
  int64_t at;
} top_item;

static uint64_t float_key(double x, bool *nan) {
  uint32_t u;
  const float f = (float)x + 0.0f;  // -0 is 0
  memcpy(&u, &f, sizeof u);
  *nan |= f != f;
  return (uint32_t) ~(u & 0x80000000u ? ~u : u | 0x80000000u);
}
static uint64_t double_key(double x, bool *nan) {
  uint64_t u;
  x += 0.0;
  memcpy(&u, &x, sizeof u);
  *nan |= x != x;
  return ~(u >> 63 ? ~u : u | (uint64_t)1 << 63);
}
#define TOP_KEY_f16(x)    float_key((double)(x), &nan)
#define TOP_KEY_bf16(x)   float_key((double)(x), &nan)
#define TOP_KEY_f32(x)    float_key((double)(x), &nan)
#define TOP_KEY_f64(x)    double_key(x, &nan)
#define TOP_KEY_SIGNED(x) ~((uint64_t)(int64_t)(x) ^ (uint64_t)1 << 63)
#define TOP_KEY_i8(x)     TOP_KEY_SIGNED(x)
#define TOP_KEY_i16(x)    TOP_KEY_SIGNED(x)
#define TOP_KEY_i32(x)    TOP_KEY_SIGNED(x)
#define TOP_KEY_i64(x)    TOP_KEY_SIGNED(x)
#define TOP_KEY_u8(x)     ~(uint64_t)(x)
#define TOP_KEY_u16(x)    ~(uint64_t)(x)
#define TOP_KEY_u32(x)    ~(uint64_t)(x)
#define TOP_KEY_u64(x)    ~(uint64_t)(x)

// Sorts |items|, |other| is as long; returns where the result is.
static top_item *sort_items(top_item *items, top_item *other, int64_t n) {
  int64_t counts[8][256] = {{0}};
  for (int64_t i = 0; i < n; i++)
    for (int d = 0; d < 8; d++) counts[d][items[i].key >> (8 * d) & 255]++;
  for (int d = 0; d < 8; d++) {
    int64_t *count = counts[d], at = 0;
    if (count[items[0].key >> (8 * d) & 255] == n) continue;  // the same for all
    for (int k = 0; k < 256; k++) {
      const int64_t c = count[k];
      count[k] = at;
      at += c;
    }
    for (int64_t i = 0; i < n; i++) other[count[items[i].key >> (8 * d) & 255]++] = items[i];
    top_item *t = items;
    items = other;
    other = t;
  }
  return items;
}

// The k best in the order in which TensorFlow's heap (the worst on top, by the algorithms of the C++
// library) holds them in the end: sorted=false is no promise, but a repeatable answer.
static inline bool better(const top_item *a, const top_item *b) {
  return a->key < b->key || (a->key == b->key && a->at < b->at);
}
static void heap_rise(top_item *heap, int64_t hole, int64_t top, top_item v) {
  for (int64_t up = (hole - 1) / 2; hole > top && better(&heap[up], &v); up = (hole - 1) / 2) {
    heap[hole] = heap[up];
    hole = up;
  }
  heap[hole] = v;
}
static void heap_fill(top_item *heap, int64_t hole, int64_t n, top_item v) {
  const int64_t top = hole;
  int64_t child = hole;
  while (child < (n - 1) / 2) {
    child = 2 * (child + 1);
    if (better(&heap[child], &heap[child - 1])) child--;
    heap[hole] = heap[child];
    hole = child;
  }
  if (n % 2 == 0 && child == (n - 2) / 2) {
    child = 2 * (child + 1);
    heap[hole] = heap[child - 1];
    hole = child - 1;
  }
  heap_rise(heap, hole, top, v);
}
static void heap_pop(top_item *heap, int64_t n) {  // the worst to the end
  const top_item v = heap[n - 1];
  heap[n - 1] = heap[0];
  heap_fill(heap, 0, n - 1, v);
}
static void heap_of_best(top_item *heap, const top_item *items, int64_t n, int64_t k) {
  memcpy(heap, items, (size_t)(k + 1) * sizeof *heap);
  for (int64_t i = (k - 1) / 2; i >= 0; i--) heap_fill(heap, i, k + 1, heap[i]);
  heap_pop(heap, k + 1);
  for (int64_t i = k + 1; i < n; i++) {
    if (!better(&items[i], &heap[0])) continue;
    heap_pop(heap, k);
    heap_rise(heap, k - 1, 0, items[i]);
  }
}

#define TOP(E, S, _)                                                               \
  static inline bool worse_##S(const fy_t_##S *row, int64_t a, int64_t b) {        \
    const fy_a_##S x = FY_LD_##S(row[a]), y = FY_LD_##S(row[b]);                   \
    return x < y || (!(x > y) && a > b);                                           \
  }                                                                                \
  static void sift_##S(const fy_t_##S *row, int64_t *heap, int64_t n, int64_t i) { \
    for (;;) {                                                                     \
      int64_t low = i;                                                             \
      for (int64_t c = 2 * i + 1; c <= 2 * i + 2 && c < n; c++) {                  \
        if (worse_##S(row, heap[c], heap[low])) low = c;                           \
      }                                                                            \
      if (low == i) return;                                                        \
      const int64_t t = heap[i];                                                   \
      heap[i] = heap[low];                                                         \
      heap[low] = t;                                                               \
      i = low;                                                                     \
    }                                                                              \
  }                                                                                \
  /* The first of the largest; NaN is never larger. */                             \
  FY_CLONE_##S static int64_t best_##S(const fy_t_##S *row, int64_t n) {           \
    fy_a_##S top[32], best = FY_LD_##S(row[0]);                                    \
    int64_t i = 0;                                                                 \
    if (best != best) return 0;                                                    \
    for (int k = 0; k < 32; k++) top[k] = best;                                    \
    for (; i + 32 <= n; i += 32) {                                                 \
      for (int k = 0; k < 32; k++) {                                               \
        const fy_a_##S x = FY_LD_##S(row[i + k]);                                  \
        top[k] = x > top[k] ? x : top[k];                                          \
      }                                                                            \
    }                                                                              \
    for (; i < n; i++) best = FY_LD_##S(row[i]) > best ? FY_LD_##S(row[i]) : best; \
    for (int k = 0; k < 32; k++) best = top[k] > best ? top[k] : best;             \
    for (i = 0; i + 32 <= n; i += 32) {                                            \
      int hit = 0;                                                                 \
      for (int k = 0; k < 32; k++) hit |= FY_LD_##S(row[i + k]) == best;           \
      if (hit) break;                                                              \
    }                                                                              \
    for (; i < n && FY_LD_##S(row[i]) != best; i++) continue;                      \
    return i < n ? i : 0;                                                          \
  }                                                                                \
  static void top_##S(void *arg, int64_t begin, int64_t end) {                     \
    const top_job *j = arg;                                                        \
    for (int64_t r = begin; r < end; r++) {                                        \
      const fy_t_##S *row = (const fy_t_##S *)j->in + r * j->cols;                 \
      fy_t_##S *values = (fy_t_##S *)j->values->data + r * j->k;                   \
      int64_t *heap = j->heaps + r * j->k, k = j->k;                               \
      if (k == 1) {                                                                \
        const int64_t at = best_##S(row, j->cols);                                 \
        values[0] = row[at];                                                       \
        fy_arg_put(j->indices, r, at);                                             \
        continue;                                                                  \
      }                                                                            \
      if (j->items) {                                                              \
        top_item *items = j->items + 2 * r * j->cols;                              \
        bool nan = false;                                                          \
        for (int64_t i = 0; i < j->cols; i++) {                                    \
          const fy_a_##S x = FY_LD_##S(row[i]);                                    \
          items[i] = (top_item){TOP_KEY_##S(x), i};                                \
        }                                                                          \
        if (!nan) {                                                                \
          if (j->unsorted) {                                                       \
            heap_of_best(items + j->cols, items, j->cols, k);                      \
            items += j->cols;                                                      \
          } else {                                                                 \
            items = sort_items(items, items + j->cols, j->cols);                   \
          }                                                                        \
          for (int64_t i = 0; i < k; i++) {                                        \
            values[i] = row[items[i].at];                                          \
            fy_arg_put(j->indices, r *k + i, items[i].at);                         \
          }                                                                        \
          continue;                                                                \
        }                                                                          \
      }                                                                            \
      for (int64_t i = 0; i < k; i++) heap[i] = i;                                 \
      for (int64_t i = k / 2 - 1; i >= 0; i--) sift_##S(row, heap, k, i);          \
      for (int64_t c = k; c < j->cols; c++) {                                      \
        /* later elements win only when they are larger */                         \
        if (!(FY_LD_##S(row[c]) > FY_LD_##S(row[heap[0]]))) continue;              \
        heap[0] = c;                                                               \
        sift_##S(row, heap, k, 0);                                                 \
      }                                                                            \
      for (int64_t n = k; n > 0; n--) {                                            \
        values[n - 1] = row[heap[0]];                                              \
        fy_arg_put(j->indices, r *k + n - 1, heap[0]);                             \
        heap[0] = heap[n - 1];                                                     \
        sift_##S(row, heap, n - 1, 0);                                             \
      }                                                                            \
    }                                                                              \
  }
FY_ORDERED_TYPES(TOP, _)
typedef void (*top_fn)(void *arg, int64_t begin, int64_t end);
static const top_fn top_table[FY_DTYPE_COUNT] = {FY_ORDERED_TYPES(FY_LOOP_ENTRY, top)};

static fy_code top_k(fy_kernel_ctx *ctx, fy_error *err) {
  const fy_tensor *in = ctx->in[0], *k_in = ctx->site->num_inputs > 1 ? ctx->in[1] : NULL;
  char x[128];
  if (k_in && k_in->rank != 0) {
    return fy_fail(err, FY_INVALID_ARGUMENT, "k must be scalar, got shape %s",
                   fy_tensor_shape_text(k_in, x));
  }
  const int64_t k = k_in ? fy_tensor_int(k_in, 0) : fy_site_int(ctx->site, "k");  // else TopK
  if (k < 0) return fy_fail(err, FY_INVALID_ARGUMENT, "Need k >= 0, got %lld", (long long)k);
  if (in->rank < 1) {
    return fy_fail(err, FY_INVALID_ARGUMENT, "input must be >= 1-D, got shape %s",
                   fy_tensor_shape_text(in, x));
  }
  const int64_t cols = in->dims[in->rank - 1];
  if (cols < k) {
    return fy_fail(err, FY_INVALID_ARGUMENT,
                   "input must have at least k columns. Had %lld, needed "
                   "%lld",
                   (long long)cols, (long long)k);
  }
  const top_fn fn = top_table[in->dtype];
  if (!fn) {
    return fy_fail(err, FY_UNIMPLEMENTED, "TopKV2 has no loop for %s", fy_dtype_name(in->dtype));
  }
  int64_t dims[FY_MAX_RANK];
  for (int32_t d = 0; d < in->rank; d++) dims[d] = d == in->rank - 1 ? k : in->dims[d];
  top_job job = {.in = in->data, .cols = cols, .k = k};
  FY_TRY(fy_out(ctx, 0, in->rank, dims, &job.values, err));
  FY_TRY(fy_out(ctx, 1, in->rank, dims, &job.indices, err));
  if (job.values->count == 0) return FY_OK;
  void *heaps;
  FY_TRY(fy_scratch(ctx, (size_t)job.values->count * sizeof(int64_t), &heaps, err));
  job.heaps = heaps;
  const fy_attr *sorted = fy_site_attr(ctx->site, "sorted");
  job.unsorted = sorted && !sorted->v.b && k > 1 && k < cols;
  if ((job.unsorted || (k >= 64 && k >= cols / 16)) && in->count <= INT64_MAX / 64) {
    void *items;
    FY_TRY(fy_scratch(ctx, 2 * (size_t)in->count * sizeof(top_item), &items, err));
    job.items = items;
  }
  fy_parallel(ctx, in->count / cols, (job.items ? 15 : 3) * (double)cols, fn, &job);
  return FY_OK;
}

static fy_code top_k_shape(fy_shape_ctx *ctx, fy_error *err) {
  const fy_pshape in = ctx->in[0];
  int64_t k = -1, dims[FY_MAX_RANK];
  FY_TRY(fy_shape_rank_at_least(in, 1, err));
  const bool attr = ctx->num_inputs == 1;
  if (attr) {
    k = fy_shape_attr_int(ctx, "k", -1);
    if (k < 0) {
      return fy_fail(err, FY_INVALID_ARGUMENT, "Need k >= 0, got %lld", (long long)k);
    }
  } else {
    FY_TRY(fy_shape_dim_from_scalar(ctx, 1, &k, err));
  }
  const bool known = k >= 0;
  if (in.rank < 0) return FY_OK;
  const int64_t last = in.dims[in.rank - 1];
  if (known && last >= 0 && k >= 0 && last < k) {
    return fy_fail(err, FY_INVALID_ARGUMENT,
                   "input must have last dimension >= k = %lld but is %lld", (long long)k,
                   (long long)last);
  }
  for (int32_t d = 0; d < in.rank; d++) dims[d] = d == in.rank - 1 ? (k < 0 ? -1 : k) : in.dims[d];
  FY_TRY(fy_shape_set(ctx, 0, in.rank, dims, err));
  return fy_shape_set(ctx, 1, in.rank, dims, err);
}

static const fy_sample top_samples[] = {
    {"f32[5]=2,1,3,5,3; i32[]=3", NULL, FY_OK, "5,3,3"},
    {"f32[2]=ones; i32[]=3", NULL, FY_INVALID_ARGUMENT,
     "input must have at least k columns. Had 2, needed 3"},
};
static const fy_sample old_top_k_samples[] = {
    {"f32[4]=1,4,2,3", "k=2", FY_OK, "4,3"},
    {"f32[2]=ones", "k=3", FY_INVALID_ARGUMENT,
     "input must have at least k columns. Had 2, needed 3"},
};
static const fy_sample approximate_samples[] = {
    {"f32[2,3]=3,1,2,9,7,8", "k=2", FY_OK, "3,2,9,8"},
    {"f32[2]=3,1", "k=3", FY_INVALID_ARGUMENT,
     "input must have at least k columns. Had 2, needed 3"},
};
// As exact as TopK on a CPU, in TensorFlow too.
static fy_code approximate_shape(fy_shape_ctx *ctx, fy_error *err) {
  const fy_pshape in = ctx->in[0];
  const int64_t k = fy_shape_attr_int(ctx, "k", -1);
  int64_t axis = fy_shape_attr_int(ctx, "reduction_dimension", -1), dims[FY_MAX_RANK];
  const fy_attr *recall = fy_attrs_get(ctx->attrs, "recall_target");
  FY_TRY(fy_shape_rank_at_least(in, 1, err));
  if (axis < -in.rank || axis >= in.rank) {  // the rank must be known
    return fy_fail(err, FY_INVALID_ARGUMENT,
                   "Invalid reduction dimension: %lld. Must be within the range of [%d, %d]",
                   (long long)axis, -in.rank, in.rank - 1);
  }
  if (axis < 0) axis += in.rank;
  if (recall && recall->kind == FY_ATTR_FLOAT && !(recall->v.f > 0 && recall->v.f <= 1)) {
    return fy_fail(err, FY_INVALID_ARGUMENT,
                   "Invalid recall target: %g. Valid value range in : [0, 1.0].",
                   (double)recall->v.f);
  }
  if (in.dims[axis] < k) {  // unknown is -1
    return fy_fail(err, FY_INVALID_ARGUMENT,
                   "input must have last dimension >= k = %lld but was %lld", (long long)k,
                   (long long)in.dims[axis]);
  }
  // A partial answer's size is a matter of a TPU's tiles; a dim of up to one tile stays.
  const int64_t size = fy_shape_attr_bool(ctx, "aggregate_to_topk")   ? k
                       : in.dims[axis] <= (in.rank == 1 ? 1024 : 128) ? in.dims[axis]
                                                                      : -1;
  for (int32_t d = 0; d < in.rank; d++) dims[d] = d == axis ? size : in.dims[d];
  FY_TRY(fy_shape_set(ctx, 0, in.rank, dims, err));
  return fy_shape_set(ctx, 1, in.rank, dims, err);
}
FY_OP(ApproxTopK, .shape = approximate_shape, .compute = top_k, FY_SAMPLES(approximate_samples));
FY_OP(TopK, .shape = top_k_shape, .compute = top_k, FY_SAMPLES(old_top_k_samples));
FY_OP(TopKV2, .shape = top_k_shape, .compute = top_k, .host_inputs = 1 << 1,
      FY_SAMPLES(top_samples));
