// SPDX-License-Identifier: Apache-2.0
// arg_reduce.c: where the largest are: ArgMax, ArgMin, TopKV2, Where.

#include "base/alloc.h"
#include "ops/elementwise.h"
#include "ops/shape_fns.h"
#include "ops/values.h"

// ---------------------------------------------------------------- ArgMax, ArgMin
typedef struct arg_job {
  const void *in;
  fy_tensor *out;
  int64_t along, inner;
} arg_job;

static inline void put_index(fy_tensor *t, int64_t i, int64_t value) {
  switch ((int)t->dtype) {
    case FY_INT64: ((int64_t *)t->data)[i] = value; break;
    case FY_INT32: ((int32_t *)t->data)[i] = (int32_t)value; break;
    default: ((uint16_t *)t->data)[i] = (uint16_t)value; break;
  }
}

// The first of equals wins; a NaN is never better than anything.
#define ARG(E, S, name, BETTER, WORST)                                        \
  static void name##_##S(void *arg, int64_t begin, int64_t end) {             \
    const arg_job *j = arg;                                                   \
    const fy_t_##S *in = j->in;                                               \
    for (int64_t o = begin; o < end; o++) {                                   \
      const int64_t base = o / j->inner * j->along * j->inner + o % j->inner; \
      fy_a_##S best = (fy_a_##S)(WORST);                                      \
      int64_t at = 0;                                                         \
      for (int64_t k = 0; k < j->along; k++) {                                \
        const fy_a_##S x = FY_LD_##S(in[base + k * j->inner]);                \
        if (x BETTER best) {                                                  \
          best = x;                                                           \
          at = k;                                                             \
        }                                                                     \
      }                                                                       \
      put_index(j->out, o, at);                                               \
    }                                                                         \
  }
#define ARG_MAX_INT(E, S, _) ARG(E, S, arg_max, >, FY_MIN_##S)
#define ARG_MIN_INT(E, S, _) ARG(E, S, arg_min, <, FY_MAX_##S)
FY_REAL_TYPES(ARG, arg_max, >, -INFINITY)
FY_REAL_TYPES(ARG, arg_min, <, INFINITY)
FY_INT_TYPES(ARG_MAX_INT, _)
FY_INT_TYPES(ARG_MIN_INT, _)
ARG(FY_BOOL, b, arg_max, >, 0)
ARG(FY_BOOL, b, arg_min, <, 1)

// Rows of words: their best in strands, which do not wait for each other, then where it is.
#define STRANDS 32
#define ARG_ROWS(T, name, BETTER, WORST)                                                        \
  FY_CLONES static int64_t name##_row(const T *x, int64_t n) {                                  \
    T best[STRANDS];                                                                            \
    int64_t i = 0;                                                                              \
    for (int k = 0; k < STRANDS; k++) best[k] = WORST;                                          \
    for (; i + STRANDS <= n; i += STRANDS)                                                      \
      for (int k = 0; k < STRANDS; k++) best[k] = x[i + k] BETTER best[k] ? x[i + k] : best[k]; \
    for (; i < n; i++) best[0] = x[i] BETTER best[0] ? x[i] : best[0];                          \
    for (int k = 1; k < STRANDS; k++)                                                           \
      if (best[k] BETTER best[0]) best[0] = best[k];                                            \
    for (i = 0; i < n && best[0] BETTER WORST; i++)                                             \
      if (x[i] == best[0]) return i;                                                            \
    return 0;                                                                                   \
  }                                                                                             \
  static void name##_rows(void *arg, int64_t begin, int64_t end) {                              \
    const arg_job *j = arg;                                                                     \
    for (int64_t o = begin; o < end; o++)                                                       \
      put_index(j->out, o, name##_row((const T *)j->in + o * j->along, j->along));              \
  }
ARG_ROWS(float, top_f32, >, (float)-INFINITY)
ARG_ROWS(float, low_f32, <, (float)INFINITY)
ARG_ROWS(int32_t, top_i32, >, INT32_MIN)
ARG_ROWS(int32_t, low_i32, <, INT32_MAX)

typedef void (*arg_fn)(void *arg, int64_t begin, int64_t end);
typedef struct arg_table {
  arg_fn fn[FY_DTYPE_COUNT];
} arg_table;
static const arg_table max_table = {
    {FY_ORDERED_TYPES(FY_LOOP_ENTRY, arg_max)[FY_BOOL] = arg_max_b}};
static const arg_table min_table = {
    {FY_ORDERED_TYPES(FY_LOOP_ENTRY, arg_min)[FY_BOOL] = arg_min_b}};

static fy_code arg_reduce(fy_kernel_ctx *ctx, fy_error *err) {
  const fy_tensor *in = ctx->in[0], *axis_in = ctx->in[1];
  const arg_fn fn = ((const arg_table *)ctx->site->op->impl->aux)->fn[in->dtype];
  char x[128];
  if (axis_in->rank != 0) {
    return fy_fail(err, FY_INVALID_ARGUMENT,
                   "dim must be a scalar, but received tensor of shape: %s",
                   fy_tensor_shape_text(axis_in, x));
  }
  int64_t axis = fy_tensor_int(axis_in, 0);
  if (axis < -in->rank || axis >= in->rank) {
    return fy_fail(err, FY_INVALID_ARGUMENT,
                   "Expected dimension in the range [%d, %d), but got %lld", -in->rank, in->rank,
                   (long long)axis);
  }
  if (axis < 0) axis += in->rank;
  if (in->dims[axis] == 0) {
    return fy_fail(err, FY_INVALID_ARGUMENT, "Reduction axis %lld is empty in shape %s",
                   (long long)axis, fy_tensor_shape_text(in, x));
  }
  if (!fn) {
    return fy_fail(err, FY_UNIMPLEMENTED, "%s has no loop for %s", ctx->site->op->impl->name,
                   fy_dtype_name(in->dtype));
  }
  int64_t dims[FY_MAX_RANK];
  for (int32_t d = 0; d + 1 < in->rank; d++) dims[d] = in->dims[d < axis ? d : d + 1];
  fy_tensor *out;
  FY_TRY(fy_out(ctx, 0, in->rank - 1, dims, &out, err));
  arg_job job = {in->data, out, in->dims[axis],
                 fy_product(in->dims + axis + 1, in->rank - 1 - (int32_t)axis)};
  const arg_fn long_rows = fn == arg_max_f32   ? top_f32_rows
                           : fn == arg_min_f32 ? low_f32_rows
                           : fn == arg_max_i32 ? top_i32_rows
                           : fn == arg_min_i32 ? low_i32_rows
                                               : NULL;
  const bool rows = long_rows && job.inner == 1 && job.along >= 2 * STRANDS;
  fy_parallel(ctx, out->count, (rows ? 0.2 : 1.0) * (double)job.along, rows ? long_rows : fn, &job);
  return FY_OK;
}

static fy_code arg_shape(fy_shape_ctx *ctx, fy_error *err) {
  const fy_pshape in = ctx->in[0];
  int64_t axis, dims[FY_MAX_RANK];
  FY_TRY(fy_shape_rank_is(ctx->in[1], 0, err));
  if (in.rank < 0) return FY_OK;
  if (in.rank <= 1) return fy_shape_scalar(ctx, err);
  if (!fy_shape_int_value(ctx, 1, &axis)) return fy_shape_set(ctx, 0, in.rank - 1, NULL, err);
  if (axis < -in.rank || axis >= in.rank) {
    return fy_fail(err, FY_INVALID_ARGUMENT,
                   "Dimension (%lld) must be in the range [%d, %d), where %d is the number of "
                   "dimensions in the input.",
                   (long long)axis, -in.rank, in.rank, in.rank);
  }
  if (axis < 0) axis += in.rank;
  for (int32_t d = 0; d + 1 < in.rank; d++) dims[d] = in.dims[d < axis ? d : d + 1];
  return fy_shape_set(ctx, 0, in.rank - 1, dims, err);
}

// ---------------------------------------------------------------- TopKV2
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
        put_index(j->indices, r, at);                                              \
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
            put_index(j->indices, r *k + i, items[i].at);                          \
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
        put_index(j->indices, r *k + n - 1, heap[0]);                              \
        heap[0] = heap[n - 1];                                                     \
        sift_##S(row, heap, n - 1, 0);                                             \
      }                                                                            \
    }                                                                              \
  }
FY_ORDERED_TYPES(TOP, _)
static const arg_table top_table = {{FY_ORDERED_TYPES(FY_LOOP_ENTRY, top)}};

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
  const arg_fn fn = top_table.fn[in->dtype];
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

// ---------------------------------------------------------------- Where
typedef struct where_loops {
  int64_t (*count)(const void *p, int64_t n);
  // Writes the coordinates of what is set to |to|, which ends at |end|.
  void (*list)(const void *p, const fy_tensor *in, int64_t *to, const int64_t *end);
} where_loops;
#define WHERE(E, S, _)                                                                            \
  static int64_t set_count_##S(const void *p, int64_t n) {                                        \
    const fy_t_##S *x = p;                                                                        \
    int64_t sum = 0;                                                                              \
    for (int64_t i = 0; i < n; i++) sum += FY_LD_##S(x[i]) != 0;                                  \
    return sum;                                                                                   \
  }                                                                                               \
  static void set_list_##S(const void *p, const fy_tensor *in, int64_t *to, const int64_t *end) { \
    const fy_t_##S *x = p;                                                                        \
    const int32_t rank = in->rank, last = rank - 1;                                               \
    const int64_t cols = in->dims[last];                                                          \
    int64_t index[FY_MAX_RANK] = {0};                                                             \
    for (;; x += cols) {                                                                          \
      for (int64_t c = 0; c < cols; c++) {                                                        \
        const bool set = FY_LD_##S(x[c]) != 0;                                                    \
        if (rank <= 2) { /* written always, kept when set: no branch to guess */                  \
          if (to == end) return;                                                                  \
          to[0] = index[0];                                                                       \
          to[last] = c;                                                                           \
          to += set ? rank : 0;                                                                   \
        } else if (set) {                                                                         \
          for (int32_t d = 0; d < last; d++) to[d] = index[d];                                    \
          to[last] = c;                                                                           \
          to += rank;                                                                             \
        }                                                                                         \
      }                                                                                           \
      int32_t d = last - 1;                                                                       \
      for (; d >= 0; d--) {                                                                       \
        if (++index[d] < in->dims[d]) break;                                                      \
        index[d] = 0;                                                                             \
      }                                                                                           \
      if (d < 0 || to == end) return;                                                             \
    }                                                                                             \
  }
FY_NUMERIC_TYPES(WHERE, _)
WHERE(FY_BOOL, b, _)
#define WHERE_ENTRY(E, S, _) [E] = {set_count_##S, set_list_##S},
static const where_loops set_table[FY_DTYPE_COUNT] = {FY_NUMERIC_TYPES(WHERE_ENTRY, _)
                                                          WHERE_ENTRY(FY_BOOL, b, _)};

static fy_code where(fy_kernel_ctx *ctx, fy_error *err) {
  const fy_tensor *in = ctx->in[0];
  const where_loops *loops = &set_table[in->dtype];
  if (in->dtype == FY_HALF) {
    return fy_fail(
        err, FY_UNIMPLEMENTED,
        "No WhereOp available for float16/half type on CPU; dying in CPU WhereOp to avoid "
        "silently creating costly copies from device.");
  }
  if (!loops->count) {
    return fy_fail(err, FY_UNIMPLEMENTED, "Where has no loop for %s", fy_dtype_name(in->dtype));
  }
  if (in->rank < 1 || in->rank > 8) {
    return fy_fail(err, FY_INVALID_ARGUMENT, "WhereOp : Unhandled input dimensions: %d", in->rank);
  }
  const int64_t n = loops->count(in->data, in->count);
  fy_tensor *out;
  FY_TRY(fy_out(ctx, 0, 2, (const int64_t[]){n, in->rank}, &out, err));
  int64_t *to = out->data;
  if (n && in->rank) loops->list(in->data, in, to, to + n * in->rank);
  return FY_OK;
}

static fy_code where_shape(fy_shape_ctx *ctx, fy_error *err) {
  const int64_t dims[] = {-1, ctx->in[0].rank};
  return fy_shape_set(ctx, 0, 2, dims, err);
}

static const fy_sample arg_samples[] = {
    {"f32[2,3]=1,5,2,9,0,9; i32[]=1", NULL, FY_OK, NULL},
    {"i8[3]=-128,-128,-128; i32[]=0", "output_type=int32", FY_OK, "0"},
    {"f32[3]=ones; i32[]=3", NULL, FY_INVALID_ARGUMENT,
     "Expected dimension in the range [-1, 1), but got 3"},
    {"f32[0,3]=; i32[]=0", NULL, FY_INVALID_ARGUMENT, "Reduction axis 0 is empty in shape [0,3]"},
};
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
static const fy_sample where_samples[] = {
    {"b[2,2]=true,false,false,true", NULL, FY_OK, "0,0,1,1"},
    {"f32[3]=0,1,2", NULL, FY_OK, "1,2"},
};

FY_OP(ArgMax, .shape = arg_shape, .compute = arg_reduce, .aux = &max_table, .host_inputs = 1 << 1,
      FY_SAMPLES(arg_samples));
FY_OP(ArgMin, .shape = arg_shape, .compute = arg_reduce, .aux = &min_table, .host_inputs = 1 << 1,
      FY_SAMPLES(arg_samples));
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
FY_OP(Where, .shape = where_shape, .compute = where, .flags = FY_OP_DYNAMIC,
      FY_SAMPLES(where_samples));
