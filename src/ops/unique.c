// SPDX-License-Identifier: Apache-2.0
// unique.c: Unique, UniqueV2, UniqueWithCounts(V2), ListDiff: equal slices found by hashing. Order
// is that of first appearance; NaN equals nothing, -0 equals 0 (but for 16-bit floats in a row).

#include "base/alloc.h"
#include "base/map.h"
#include "ops/shape_fns.h"
#include "ops/typed.h"
#include "ops/values.h"

// Slices along an axis: slice i of [outer, n, inner] is outer runs of inner elements.
typedef struct slices {
  const fy_tensor *t;
  int64_t outer, n, inner;
} slices;

static uint64_t element_hash(const fy_tensor *t, int64_t i) {
  const char *p = (const char *)t->data + (size_t)i * fy_dtype_storage(t->dtype);
  if (t->dtype == FY_STRING) {
    const fy_view v = fy_tensor_string(t, i);
    return fy_hash64(v.p, v.n, 1);
  }
  if (fy_dtype_is_floating(t->dtype)) {
    const double d = fy_tensor_double(t, i) + 0.0;  // -0 becomes 0
    return fy_hash64(&d, sizeof d, 1);
  }
  return fy_hash64(p, fy_dtype_storage(t->dtype), 1);
}
// Numbers of 16 bits in a row: TensorFlow's hash tells 0 from -0.
static bool other_zero(const fy_tensor *a, int64_t i, const fy_tensor *b, int64_t k) {
  return (a->dtype == FY_HALF || a->dtype == FY_BFLOAT16) &&
         ((const uint16_t *)a->data)[i] != ((const uint16_t *)b->data)[k];
}
static bool element_equal(const fy_tensor *a, int64_t i, const fy_tensor *b, int64_t k) {
  const size_t size = fy_dtype_storage(a->dtype);
  if (a->dtype == FY_STRING) return fy_view_eq(fy_tensor_string(a, i), fy_tensor_string(b, k));
  if (fy_dtype_is_floating(a->dtype)) return fy_tensor_double(a, i) == fy_tensor_double(b, k);
  return !memcmp((const char *)a->data + (size_t)i * size, (const char *)b->data + (size_t)k * size,
                 size);
}
static uint64_t slice_hash(const slices *s, int64_t i) {
  uint64_t h = 0;
  for (int64_t o = 0; o < s->outer; o++) {
    for (int64_t k = 0; k < s->inner; k++) {
      h = fy_hash_mix(h, element_hash(s->t, (o * s->n + i) * s->inner + k));
    }
  }
  return h;
}
static bool slice_equal(const slices *a, int64_t i, const slices *b, int64_t j) {
  for (int64_t o = 0; o < a->outer; o++) {
    for (int64_t k = 0; k < a->inner; k++) {
      const int64_t at = (o * a->n + i) * a->inner + k, bt = (o * b->n + j) * b->inner + k;
      if (!element_equal(a->t, at, b->t, bt)) return false;
      if (a->outer == 1 && a->inner == 1 && other_zero(a->t, at, b->t, bt)) return false;
    }
  }
  return true;
}

// Open addressing: slot = 1 + slice, 0 = free.
typedef struct slice_set {
  int64_t *slots;
  uint64_t mask;
} slice_set;

static fy_code set_init(fy_kernel_ctx *ctx, int64_t n, slice_set *set, fy_error *err) {
  uint64_t size = 16;
  while (size < (uint64_t)n * 2) size *= 2;
  void *memory;
  FY_TRY(fy_scratch(ctx, (size_t)size * sizeof(int64_t), &memory, err));
  memset(memory, 0, (size_t)size * sizeof(int64_t));
  *set = (slice_set){memory, size - 1};
  return FY_OK;
}
// The slice of |in| equal to slice |i| of |s|, or -1 with |*free_slot| where it would go.
static int64_t set_find(const slice_set *set, const slices *in, const slices *s, int64_t i,
                        uint64_t *free_slot) {
  uint64_t at = slice_hash(s, i) & set->mask;
  for (; set->slots[at]; at = (at + 1) & set->mask) {
    if (slice_equal(in, set->slots[at] - 1, s, i)) return set->slots[at] - 1;
  }
  *free_slot = at;
  return -1;
}

static void put_index(fy_tensor *t, int64_t i, int64_t v) {
  if (t->dtype == FY_INT32) {
    ((int32_t *)t->data)[i] = (int32_t)v;
  } else {
    ((int64_t *)t->data)[i] = v;
  }
}

static fy_code pick_axis(const fy_tensor *x, const fy_tensor *axis, int32_t *out, fy_error *err) {
  if (axis && axis->rank != 1)
    return fy_fail(err, FY_INVALID_ARGUMENT, "axis expects a 1D vector.");
  if (axis && axis->count > 1) {
    return fy_fail(err, FY_INVALID_ARGUMENT,
                   "axis does not support input tensors larger than 1 elements");
  }
  *out = 0;
  if (!axis || axis->count == 0) {
    if (x->rank == 1) return FY_OK;
    return fy_fail(err, FY_INVALID_ARGUMENT, "unique expects a 1D vector.");
  }
  int64_t a = fy_tensor_int(axis, 0);
  if (a < 0) a += x->rank;
  if (a < 0 || a >= x->rank) {
    return fy_fail(err, FY_INVALID_ARGUMENT, "axis has to be between [0, %d)", x->rank);
  }
  *out = (int32_t)a;
  return FY_OK;
}

// Numbers in a row, the common case: a table of values that grows with what is found. idx[i] becomes
// the number of the value of element i, first[] where each was seen.

// Numbers by their bits. Of floats those below |least| (bits, without the sign) are 0 and those above |most|
// equal nothing. Zeros of 16 bits differ in their sign, as TensorFlow's hash of them does.
typedef struct value_list {
  const void *in;
  size_t size;
  uint64_t least, most;  // 0: integers
} value_list;

static bool value_list_of(const fy_tensor *t, value_list *out) {
  *out = (value_list){t->data, fy_dtype_storage(t->dtype), 0, 0};
  switch (t->dtype) {
    case FY_HALF: out->most = 0x7C00; return true;
    case FY_BFLOAT16: out->most = 0x7F80; return true;
    case FY_FLOAT: out->least = 0x800000, out->most = 0x7F800000; return true;
    case FY_DOUBLE: out->least = (uint64_t)1 << 52, out->most = (uint64_t)0x7FF << 52; return true;
    case FY_INT8:
    case FY_INT16:
    case FY_INT32:
    case FY_INT64:
    case FY_UINT8:
    case FY_UINT16:
    case FY_UINT32:
    case FY_UINT64:
    case FY_BOOL: return true;
    default: return false;
  }
}

// False: it equals nothing.
static inline bool value_of(const value_list *l, int64_t i, uint64_t *out) {
  const uint64_t v = l->size == 1   ? ((const uint8_t *)l->in)[i]
                     : l->size == 2 ? ((const uint16_t *)l->in)[i]
                     : l->size == 4 ? ((const uint32_t *)l->in)[i]
                                    : ((const uint64_t *)l->in)[i];
  *out = v;
  if (!l->most) return true;
  const uint64_t size = v & (((uint64_t)1 << (8 * l->size - 1)) - 1);
  if (size < l->least) *out = 0;
  return size <= l->most;
}

static inline uint64_t value_at(uint64_t value, int shift) {
  return value * 0x9E3779B97F4A7C15u >> shift;
}

// The slots of AHEAD elements are asked for before the first of them is looked at: a large table lies in no
// cache, and nearly every slot is a line of its own. Numbers are 1 + those of the values, 0 is a free slot.
enum { AHEAD = 32, NEAR_BITS = 13 };
#define FIND(N, V, I)                                                                                        \
  typedef struct slot_##N {                                                                                  \
    V value;                                                                                                 \
    I number;                                                                                                \
  } slot_##N;                                                                                                \
  static void refill_##N(const value_list *l, const int64_t *first, int64_t found, int bits,                 \
                         slot_##N *slots) {                                                                  \
    const uint64_t mask = ((uint64_t)1 << bits) - 1;                                                         \
    uint64_t v, next[AHEAD];                                                                                 \
    for (int64_t k = 0; k < found; k += AHEAD) {                                                             \
      const int n = found - k < AHEAD ? (int)(found - k) : AHEAD;                                            \
      for (int j = 0; j < n; j++) {                                                                          \
        (void)value_of(l, first[k + j], &v);                                                                 \
        next[j] = value_at(v, 64 - bits);                                                                    \
        __builtin_prefetch(&slots[next[j]], 1);                                                              \
      }                                                                                                      \
      for (int j = 0; j < n; j++) {                                                                          \
        uint64_t at = next[j];                                                                               \
        if (!value_of(l, first[k + j], &v)) continue;                                                        \
        while (slots[at].number) at = (at + 1) & mask;                                                       \
        slots[at] = (slot_##N){(V)v, (I)(k + j + 1)};                                                        \
      }                                                                                                      \
    }                                                                                                        \
  }                                                                                                          \
  /* The next |n| elements, at most AHEAD, for which there is room. |far|: the table is in no near cache. */ \
  static inline __attribute__((always_inline))                                                               \
  int64_t find_##N(const value_list l, int64_t i, int64_t n, slot_##N *slots, int bits,                      \
                   fy_tensor *idx, int64_t *first, int64_t found, const bool far) {                          \
    const uint64_t mask = ((uint64_t)1 << bits) - 1;                                                         \
    uint64_t value, rank;                                                                                    \
    for (int64_t j = 0; far && j < n; j++) {                                                                 \
      (void)value_of(&l, i + j, &value);                                                                     \
      __builtin_prefetch(&slots[value_at(value, 64 - bits)], 1);                                             \
    }                                                                                                        \
    for (int64_t j = 0; j < n; j++) {                                                                        \
      const bool equals = value_of(&l, i + j, &value);                                                       \
      uint64_t at = value_at(value, 64 - bits);                                                              \
      while (equals && slots[at].number && slots[at].value != (V)value) at = (at + 1) & mask;                \
      if (equals && slots[at].number) {                                                                      \
        rank = (uint64_t)slots[at].number - 1;                                                               \
      } else {                                                                                               \
        rank = (uint64_t)found++;                                                                            \
        first[rank] = i + j;                                                                                 \
        if (equals) slots[at] = (slot_##N){(V)value, (I)found};                                              \
      }                                                                                                      \
      put_index(idx, i + j, (int64_t)rank);                                                                  \
    }                                                                                                        \
    return found;                                                                                            \
  }                                                                                                          \
  /* How many there are, or -1: no memory. */                                                                \
  static int64_t find_all_##N(const value_list *l, int64_t n, fy_tensor *idx, int64_t *first) {              \
    int most = 5;                                                                                            \
    while ((uint64_t)1 << most < (uint64_t)(n + AHEAD) * 2 + 1) most++;                                      \
    int bits = most < 9 ? most : 9;                                                                          \
    slot_##N *slots = clear_slots(sizeof *slots, bits);                                                      \
    int64_t found = 0;                                                                                       \
    for (int64_t i = 0; slots && i < n; i += AHEAD) {                                                        \
      if ((uint64_t)(found + AHEAD) * 2 >= (uint64_t)1 << bits) {                                            \
        bits = bits + 2 < most ? bits + 2 : most;                                                            \
        fy_aligned_free(slots);                                                                              \
        slots = clear_slots(sizeof *slots, bits);                                                            \
        if (!slots) break;                                                                                   \
        refill_##N(l, first, found, bits, slots);                                                            \
      }                                                                                                      \
      const int64_t some = n - i < AHEAD ? n - i : AHEAD;                                                    \
      if (bits > NEAR_BITS)                                                                                  \
        found = find_##N(*l, i, some, slots, bits, idx, first, found, true);                                 \
      else if (l->size == sizeof(V) && !l->most)                                                             \
        found = find_##N((value_list){l->in, sizeof(V), 0, 0}, i, some, slots, bits, idx, first,             \
                         found, false);                                                                      \
      else                                                                                                   \
        found = find_##N(*l, i, some, slots, bits, idx, first, found, false);                                \
    }                                                                                                        \
    fy_aligned_free(slots);                                                                                  \
    return slots ? found : -1;                                                                               \
  }

// Large ones lie in huge pages (fy_aligned_alloc), where a slot costs no search for its page.
static void *clear_slots(size_t size, int bits) {
  void *slots = fy_aligned_alloc(size << bits);
  if (slots) memset(slots, 0, size << bits);
  return slots;
}

FIND(narrow, uint32_t, uint32_t)
FIND(wide, uint64_t, int64_t)

static int64_t find_values(const value_list *l, int64_t n, fy_tensor *idx, int64_t *first) {
  return l->size <= 4 && n < INT32_MAX ? find_all_narrow(l, n, idx, first)
                                       : find_all_wide(l, n, idx, first);
}

static fy_code gather_first(const slices *s, const int64_t *first, int64_t found, fy_tensor *y,
                            fy_error *err) {
  const fy_tensor *x = s->t;
  const size_t size = fy_dtype_storage(x->dtype);
  const bool one = s->outer == 1 && s->inner == 1 && fy_dtype_is_plain(x->dtype);
  if (one && size == 4) {
    for (int64_t k = 0; k < found; k++)
      ((uint32_t *)y->data)[k] = ((const uint32_t *)x->data)[first[k]];
    return FY_OK;
  }
  if (one && size == 8) {
    for (int64_t k = 0; k < found; k++)
      ((uint64_t *)y->data)[k] = ((const uint64_t *)x->data)[first[k]];
    return FY_OK;
  }
  for (int64_t o = 0; o < s->outer; o++) {
    for (int64_t k = 0; k < found; k++) {
      FY_TRY(fy_copy_run(y->dtype, y->data, (o * found + k) * s->inner, x->data,
                         (o * s->n + first[k]) * s->inner, s->inner, err));
    }
  }
  return FY_OK;
}

static int64_t index_of(const fy_tensor *t, int64_t i) {
  return t->dtype == FY_INT32 ? ((const int32_t *)t->data)[i] : ((const int64_t *)t->data)[i];
}

static fy_code unique(fy_kernel_ctx *ctx, fy_error *err) {
  const fy_tensor *x = ctx->in[0];
  const bool counted = ctx->site->num_outputs > 2;
  int32_t axis;
  FY_TRY(pick_axis(x, ctx->site->num_inputs > 1 ? ctx->in[1] : NULL, &axis, err));
  const slices s = {x, fy_product(x->dims, axis), x->dims[axis],
                    fy_product(x->dims + axis + 1, x->rank - axis - 1)};
  slice_set set;
  void *memory;
  fy_tensor *y, *idx, *count;
  value_list list = {0};
  const bool values = s.outer == 1 && s.inner == 1 && value_list_of(x, &list);
  if (!values) FY_TRY(set_init(ctx, s.n, &set, err));
  FY_TRY(fy_scratch(ctx, (size_t)(s.n + 1) * (values ? 1 : 2) * sizeof(int64_t), &memory, err));
  int64_t *first = memory, *rank = first + s.n, found = 0;  // of the unique; of slices
  FY_TRY(fy_out(ctx, 1, 1, &s.n, &idx, err));
  if (values && (found = find_values(&list, s.n, idx, first)) < 0)
    return fy_fail_oom(err, (size_t)s.n * sizeof(slot_wide));
  for (int64_t i = 0; i < s.n && !values; i++) {
    uint64_t slot = 0;
    const int64_t same = set_find(&set, &s, &s, i, &slot);
    if (same < 0) {
      set.slots[slot] = 1 + i;
      first[found] = i;
      rank[i] = found++;
    } else {
      rank[i] = rank[same];
    }
    put_index(idx, i, rank[i]);
  }
  int64_t dims[FY_MAX_RANK];
  for (int32_t d = 0; d < x->rank; d++) dims[d] = d == axis ? found : x->dims[d];
  FY_TRY(fy_out(ctx, 0, x->rank, dims, &y, err));
  FY_TRY(gather_first(&s, first, found, y, err));
  if (!counted) return FY_OK;
  FY_TRY(fy_out(ctx, 2, 1, &found, &count, err));
  memset(count->data, 0, (size_t)found * fy_dtype_storage(count->dtype));
  for (int64_t i = 0; i < s.n; i++) {
    const int64_t k = index_of(idx, i);
    put_index(count, k, index_of(count, k) + 1);
  }
  return FY_OK;
}

static fy_code list_diff(fy_kernel_ctx *ctx, fy_error *err) {
  const fy_tensor *x = ctx->in[0], *y = ctx->in[1];
  if (x->rank != 1) return fy_fail(err, FY_INVALID_ARGUMENT, "x should be a 1D vector.");
  if (y->rank != 1) return fy_fail(err, FY_INVALID_ARGUMENT, "y should be a 1D vector.");
  const slices sx = {x, 1, x->count, 1}, sy = {y, 1, y->count, 1};
  slice_set set;
  void *memory;
  fy_tensor *out, *idx;
  uint64_t slot = 0;
  FY_TRY(set_init(ctx, y->count, &set, err));
  FY_TRY(fy_scratch(ctx, (size_t)(x->count + 1) * sizeof(int64_t), &memory, err));
  int64_t *kept = memory, n = 0;
  for (int64_t i = 0; i < y->count; i++) {
    if (set_find(&set, &sy, &sy, i, &slot) < 0) set.slots[slot] = 1 + i;
  }
  for (int64_t i = 0; i < x->count; i++) {
    if (set_find(&set, &sy, &sx, i, &slot) < 0) kept[n++] = i;
  }
  FY_TRY(fy_out(ctx, 0, 1, &n, &out, err));
  FY_TRY(fy_out(ctx, 1, 1, &n, &idx, err));
  for (int64_t i = 0; i < n; i++) {
    FY_TRY(fy_copy_run(out->dtype, out->data, i, x->data, kept[i], 1, err));
    put_index(idx, i, kept[i]);
  }
  return FY_OK;
}

// ---------------------------------------------------------------- shapes
static fy_code unique_shape(fy_shape_ctx *ctx, fy_error *err) {
  const int64_t unknown = -1;
  const fy_pshape x = ctx->in[0];
  if (ctx->num_outputs == 2) FY_TRY(fy_shape_rank_is(x, 1, err));
  FY_TRY(fy_shape_set(ctx, 0, 1, &unknown, err));
  FY_TRY(fy_shape_set(ctx, 1, x.rank < 0 ? 1 : x.rank, x.rank < 0 ? &unknown : x.dims, err));
  return ctx->num_outputs > 2 ? fy_shape_set(ctx, 2, 1, &unknown, err) : FY_OK;
}

static fy_code unique_v2_shape(fy_shape_ctx *ctx, fy_error *err) {
  const fy_pshape x = ctx->in[0], a = ctx->in[1];
  const int64_t unknown = -1;
  int64_t n = -1;
  const fy_tensor *axis = fy_shape_tensor(ctx, 1);
  if (axis && x.rank >= 0) {
    if (a.rank >= 0 && a.rank != 1) {
      return fy_fail(err, FY_INVALID_ARGUMENT, "axis expects a 1D vector.");
    }
    if (axis->count > 1) {
      return fy_fail(err, FY_INVALID_ARGUMENT,
                     "axis does not support input tensors larger than 1 elements.");
    }
    if (axis->count == 0) {
      if (x.rank != 1) return fy_fail(err, FY_INVALID_ARGUMENT, "x expects a 1D vector.");
      n = x.dims[0];
      FY_TRY(fy_shape_set(ctx, 0, 1, &unknown, err));
    } else {
      int64_t at = fy_tensor_int(axis, 0);
      at = at < 0 ? at + x.rank : at;
      if (at < 0 || at >= x.rank) {
        return fy_fail(err, FY_INVALID_ARGUMENT, "axis expects to be in the range [%d, %d)",
                       -x.rank, x.rank);
      }
      int64_t dims[FY_MAX_RANK];
      for (int32_t d = 0; d < x.rank; d++) dims[d] = d == at ? -1 : x.dims[d];
      n = x.dims[at];
      FY_TRY(fy_shape_set(ctx, 0, x.rank, dims, err));
    }
  }
  if (ctx->out[0].rank < 0) FY_TRY(fy_shape_set(ctx, 0, x.rank, NULL, err));
  FY_TRY(fy_shape_set(ctx, 1, 1, &n, err));
  return ctx->num_outputs > 2 ? fy_shape_set(ctx, 2, 1, &unknown, err) : FY_OK;
}

static fy_code list_diff_shape(fy_shape_ctx *ctx, fy_error *err) {
  const int64_t unknown = -1;
  FY_TRY(fy_shape_rank_is(ctx->in[0], 1, err));
  FY_TRY(fy_shape_rank_is(ctx->in[1], 1, err));
  FY_TRY(fy_shape_set(ctx, 0, 1, &unknown, err));
  return fy_shape_set(ctx, 1, 1, &unknown, err);
}

static const fy_sample samples[] = {
    {"i32[6]=1,1,2,4,4,1", NULL, FY_OK, "1,2,4"},
    {"s[3]='a','b','a'", NULL, FY_OK, NULL},
    {"f32[0]=", NULL, FY_OK, ""},
    {"i32[2,1]=1,1", NULL, FY_INVALID_ARGUMENT, "unique expects a 1D vector."},
};
static const fy_sample v2_samples[] = {
    {"i32[2,3]=1,2,1,3,4,3; i64[1]=1", NULL, FY_OK, "1,2,3,4"},
    {"i32[3]=1,2,1; i64[0]=", NULL, FY_OK, "1,2"},
    {"i32[2]=1,1; i64[1]=3", NULL, FY_INVALID_ARGUMENT, "axis has to be between [0, 1)"},
};
static const fy_sample diff_samples[] = {
    {"i32[6]=1,2,3,4,5,6; i32[3]=1,3,5", NULL, FY_OK, "2,4,6"},
    {"f32[]=1; f32[1]=1", NULL, FY_INVALID_ARGUMENT, "x should be a 1D vector."},
};
#define UNIQUE(Name, shape_fn, array)                                                              \
  FY_OP(Name, .shape = shape_fn, .compute = unique, .flags = FY_OP_DYNAMIC, .host_inputs = 1 << 1, \
        FY_SAMPLES(array))
UNIQUE(Unique, unique_shape, samples);
UNIQUE(UniqueWithCounts, unique_shape, samples);
UNIQUE(UniqueV2, unique_v2_shape, v2_samples);
UNIQUE(UniqueWithCountsV2, unique_v2_shape, v2_samples);
FY_OP(ListDiff, .shape = list_diff_shape, .compute = list_diff, .flags = FY_OP_DYNAMIC,
      FY_SAMPLES(diff_samples));
