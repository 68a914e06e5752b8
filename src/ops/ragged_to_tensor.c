// SPDX-License-Identifier: Apache-2.0
// ragged_to_tensor.c: RaggedTensorToTensor: rows of any length become a padded (or cut) dense tensor.
// A row partition is given as splits or as the row of each value; the first one may be preceded by
// the number of rows. Level by level, each row gets the place in the result where it starts, or -1
// when it was cut off.

#include "base/alloc.h"
#include "ops/shape_fns.h"
#include "ops/values.h"

#define DOUBLED 4096  // elements that are copied at a time: they stay in the nearest cache

typedef enum part_kind { PART_FIRST, PART_ROW_IDS, PART_SPLITS, PART_OTHER } part_kind;
typedef struct parts {
  int n;      // partition tensors
  int ranks;  // ragged dimensions
  part_kind *kinds;
} parts;

static const char *const kind_names[] = {"FIRST_DIM_SIZE", "VALUE_ROWIDS", "ROW_SPLITS"};
// Names that TensorFlow knows and this op cannot use.
static const char *const other_names[] = {"FIRST_VALUE_INDEX", "LAST_VALUE_INDEX", "ROW_LENGTHS",
                                          "ROW_LIMITS", "ROW_STARTS"};

static fy_code read_kinds(const fy_attr *names, part_kind *kinds, fy_error *err) {
  for (uint32_t i = 0; i < names->n; i++) {
    const fy_view name = names->v.strings[i];
    bool known = false;
    for (int k = 0; k < 3 && !known; k++) {
      known = fy_view_is(name, kind_names[k]);
      if (known) kinds[i] = (part_kind)k;
    }
    for (int k = 0; k < 5 && !known; k++) {
      known = fy_view_is(name, other_names[k]);
      if (known) kinds[i] = PART_OTHER;
    }
    if (!known) {
      return fy_fail(err, FY_INVALID_ARGUMENT, "Unknown string for partition info type: %.*s",
                     (int)name.n, name.p);
    }
  }
  return FY_OK;
}

// The shape asked for: rank -1 when nothing is.
static fy_code wanted_shape(const fy_tensor *t, int32_t *rank, int64_t *dims, fy_error *err) {
  *rank = -1;
  if (t->rank == 0) {
    if (fy_tensor_int(t, 0) == -1) return FY_OK;
    return fy_fail(
        err, FY_INVALID_ARGUMENT,
        "The only valid scalar shape tensor is the fully unknown shape specified as -1.");
  }
  if (t->rank != 1) {
    return fy_fail(err, FY_INVALID_ARGUMENT, "Shape must be at most rank 1 but is rank %d",
                   t->rank);
  }
  if (t->count > FY_MAX_RANK) {
    return fy_fail(err, FY_INVALID_ARGUMENT, "shape has too many dimensions");
  }
  *rank = (int32_t)t->count;
  for (int32_t d = 0; d < *rank; d++) {
    dims[d] = fy_tensor_int(t, d);
    if (dims[d] < -1) {
      return fy_fail(err, FY_INVALID_ARGUMENT, "Dimension %lld must be >= -1", (long long)dims[d]);
    }
  }
  return FY_OK;
}

// What shape and values say together about the result.
static fy_code combine(int32_t ranks, int32_t rank, const int64_t *wanted, int32_t value_rank,
                       const int64_t *value_dims, int32_t *out_rank, int64_t *out, fy_error *err) {
  char x[128], y[128];
  if (rank < 0 && value_rank < 0) {
    *out_rank = -1;
    return FY_OK;
  }
  *out_rank = rank >= 0 ? rank : ranks + value_rank;
  if (rank >= 0 && value_rank >= 0 && ranks + value_rank != rank) {
    return fy_fail(
        err, FY_INVALID_ARGUMENT,
        "rt_input.shape and shape=%s are incompatible: rt_input.rank = %d but shape.rank "
        "= %d",
        fy_shape_text(rank, wanted, x), ranks + value_rank, rank);
  }
  if (*out_rank > FY_MAX_RANK) {
    return fy_fail(err, FY_INVALID_ARGUMENT, "the result has too many dimensions");
  }
  for (int32_t d = 0; d < *out_rank; d++) out[d] = rank >= 0 ? wanted[d] : -1;
  for (int32_t d = 1; d < value_rank; d++) {
    const int32_t at = ranks + d;
    if (value_dims[d] < 0) continue;
    if (out[at] >= 0 && out[at] != value_dims[d]) {
      return fy_fail(err, FY_INVALID_ARGUMENT,
                     "rt_input.shape and shape=%s are incompatible: rt_input.shape[%d] = %lld but "
                     "shape[%d] = %lld",
                     fy_shape_text(rank, wanted, y), at, (long long)value_dims[d], at,
                     (long long)out[at]);
    }
    out[at] = value_dims[d];
  }
  return FY_OK;
}

// May |rank|, |dims| be spread over one value (all but the first of |value_dims|)?
static fy_code check_default(int32_t rank, const int64_t *dims, int32_t value_rank,
                             const int64_t *value_dims, fy_error *err) {
  char x[128], y[128];
  if (rank < 0 || value_rank < 0) return FY_OK;
  if (value_rank < 1 || rank > value_rank - 1) {
    return fy_fail(err, FY_INVALID_ARGUMENT,
                   "default_value.shape=%s and rt_input.flat_values.shape=%s are incompatible: "
                   "default_value.rank = %d  must be less than rt_input.flat_values.rank = %d",
                   fy_shape_text(rank, dims, x), fy_shape_text(value_rank, value_dims, y), rank,
                   value_rank);
  }
  for (int32_t d = 0; d < rank; d++) {
    const int32_t at = value_rank - rank + d;
    if (dims[d] < 0 || dims[d] == 1 || value_dims[at] < 0 || dims[d] == value_dims[at]) continue;
    return fy_fail(err, FY_INVALID_ARGUMENT,
                   "default_value.shape=%s and rt_input.flat_values.shape=%s are incompatible: "
                   "default_value.shape[%d] = %lld but rt_input.flat_values.shape[%d] = %lld",
                   fy_shape_text(rank, dims, x), fy_shape_text(value_rank, value_dims, y), d,
                   (long long)dims[d], at, (long long)value_dims[at]);
  }
  return FY_OK;
}

// ---------------------------------------------------------------- widths and places
// The longest row of a partition; 0 if there is none.
static void widest(part_kind kind, const fy_tensor *t, int64_t *out) {
  *out = 0;
  if (kind == PART_SPLITS) {
    for (int64_t i = 1; i < t->count; i++) {
      const int64_t w = fy_tensor_int(t, i) - fy_tensor_int(t, i - 1);
      if (w > *out) *out = w;
    }
    return;
  }
  for (int64_t begin = 0, end; begin < t->count; begin = end) {
    for (end = begin + 1; end < t->count && fy_tensor_int(t, end) == fy_tensor_int(t, begin);)
      end++;
    if (end - begin > *out) *out = end - begin;
  }
}

static fy_code cannot_handle(const fy_kernel_ctx *ctx, int i, fy_error *err) {
  const fy_view name = fy_site_attr(ctx->site, "row_partition_types")->v.strings[i];
  return fy_fail(err, FY_INVALID_ARGUMENT, "Cannot handle type %.*s", (int)name.n, name.p);
}

// Whether the splits |t| are those of |rows| rows; |*n|: how many values they hold.
static fy_code check_splits(const fy_tensor *t, int64_t rows, int64_t *n, fy_error *err) {
  *n = t->count ? fy_tensor_int(t, t->count - 1) : 0;
  if (t->count && t->count - 1 > rows) {
    return fy_fail(err, FY_INVALID_ARGUMENT,
                   "Row partition size is greater than output size: %lld > %lld",
                   (long long)(t->count - 1), (long long)rows);
  }
  int64_t made = 0;
  for (int64_t i = 1; i < t->count; i++) {
    const int64_t w = fy_tensor_int(t, i) - fy_tensor_int(t, i - 1);
    if (w < 0 || w > *n) {
      return fy_fail(err, FY_INVALID_ARGUMENT, "Invalid row split size.");
    }
    made += w;
  }
  if (*n < 0 || made != *n || (t->count && fy_tensor_int(t, 0) != 0)) {
    return fy_fail(err, FY_INVALID_ARGUMENT, "Invalid row split size.");
  }
  return FY_OK;
}

static fy_code check_values(const fy_tensor *values, int64_t rows, fy_error *err) {
  if (rows <= values->dims[0]) return FY_OK;
  return fy_fail(err, FY_INVALID_ARGUMENT,
                 "values.shape[0] = %lld is less than the row partition's %lld",
                 (long long)values->dims[0], (long long)rows);
}

static fy_code check_vector(const fy_tensor *t, fy_error *err) {
  if (t->rank == 1) return FY_OK;
  return fy_fail(err, FY_INVALID_ARGUMENT, "row partition tensors must be vectors");
}

// From the places of rows to the places of what they hold. |*next| is scratch memory.
static fy_code descend(fy_kernel_ctx *ctx, part_kind kind, const fy_tensor *t, const int64_t *place,
                       int64_t rows, int64_t step, int64_t width, int64_t **next, int64_t *count,
                       fy_error *err) {
  int64_t n = t->count;
  void *memory;
  size_t bytes;
  FY_TRY(check_vector(t, err));
  if (kind == PART_SPLITS) FY_TRY(check_splits(t, rows, &n, err));
  if (n < 0 || !fy_mul_size((size_t)n + 1, sizeof(int64_t), &bytes)) {
    return fy_fail(err, FY_INVALID_ARGUMENT, "Invalid row split size.");
  }
  FY_TRY(fy_scratch(ctx, bytes, &memory, err));
  int64_t *to = memory, at = 0;
  *next = to;
  *count = n;
  if (kind == PART_SPLITS) {
    for (int64_t i = 1; i < t->count; i++) {
      const int64_t w = fy_tensor_int(t, i) - fy_tensor_int(t, i - 1);
      for (int64_t k = 0; k < w; k++) {
        to[at++] = place[i - 1] >= 0 && k < width ? place[i - 1] + k * step : -1;
      }
    }
    return FY_OK;
  }
  int64_t column = 0;
  for (int64_t i = 0; i < n; i++) {
    const int64_t row = fy_tensor_int(t, i);
    column = i && row == fy_tensor_int(t, i - 1) ? column + 1 : 0;
    if ((uint64_t)row >= (uint64_t)rows) {
      return fy_fail(err, FY_INVALID_ARGUMENT,
                     "Got %s_value_rowid=%lld which is not less than %lld", i ? "next" : "current",
                     (long long)row, (long long)rows);
    }
    if (i && row < fy_tensor_int(t, i - 1)) {
      return fy_fail(err, FY_INVALID_ARGUMENT,
                     "value_rowids must not decrease, got %lld after %lld", (long long)row,
                     (long long)fy_tensor_int(t, i - 1));
    }
    to[i] = place[row] >= 0 && column < width ? place[row] + column * step : -1;
  }
  return FY_OK;
}

// One value's worth of |otherwise|, spread, and then again and again: what is there is doubled.
static fy_code fill_default(fy_tensor *out, const fy_tensor *otherwise, const int64_t *value_dims,
                            int32_t value_rank, int64_t run, fy_error *err) {
  for (int64_t i = 0; i < run; i++) {
    int64_t from = 0;
    if (otherwise->count > 1) {  // spread over the places of one value
      int64_t rest = i, scale = 1;
      for (int32_t d = otherwise->rank - 1, v = value_rank - 1; d >= 0; d--, v--) {
        const int64_t at = rest % value_dims[v];
        rest /= value_dims[v];
        if (otherwise->dims[d] != 1) from += at * scale;
        scale *= otherwise->dims[d];
      }
    }
    FY_TRY(fy_copy_run(out->dtype, out->data, i, otherwise->data, from, 1, err));
  }
  const int64_t most = run > DOUBLED ? run : DOUBLED / run * run;
  for (int64_t done = run, n; done < out->count; done += n) {
    n = done < most ? done : most;
    if (n > out->count - done) n = out->count - done;
    FY_TRY(fy_copy_run(out->dtype, out->data, done, out->data, 0, n, err));
  }
  return FY_OK;
}

// The rows of the last partition, if those are splits, each as a whole.
static fy_code copy_rows(const fy_tensor *splits, const int64_t *place, int64_t rows, int64_t width,
                         int64_t run, const fy_tensor *values, fy_tensor *out, fy_error *err) {
  int64_t n;
  FY_TRY(check_vector(splits, err));
  FY_TRY(check_splits(splits, rows, &n, err));
  FY_TRY(check_values(values, n, err));
  for (int64_t i = 1; i < splits->count; i++) {
    const int64_t from = fy_tensor_int(splits, i - 1), w = fy_tensor_int(splits, i) - from;
    if (place[i - 1] < 0) continue;
    FY_TRY(fy_copy_run(out->dtype, out->data, place[i - 1] * run, values->data, from * run,
                       (w < width ? w : width) * run, err));
  }
  return FY_OK;
}

static fy_code ragged_to_tensor(fy_kernel_ctx *ctx, fy_error *err) {
  const fy_tensor *shape = ctx->in[0], *values = ctx->in[1], *otherwise = ctx->in[2];
  fy_tensor *const *part = ctx->in + 3;
  const parts *p = ctx->site->state;
  int64_t wanted[FY_MAX_RANK], dims[FY_MAX_RANK], first;
  int32_t rank, out_rank;
  void *memory;
  fy_tensor *out;
  if (p->n == 0) return fy_fail(err, FY_INVALID_ARGUMENT, "No row_partition_types given.");
  if (p->n != ctx->site->num_inputs - 3) {
    return fy_fail(err, FY_INVALID_ARGUMENT, "%d row_partition_types for %d row_partition_tensors",
                   p->n, ctx->site->num_inputs - 3);
  }
  if (part[0]->count < 1) {
    return fy_fail(err, FY_INVALID_ARGUMENT,
                   "Invalid first partition input. Tensor requires at least one element.");
  }
  FY_TRY(wanted_shape(shape, &rank, wanted, err));
  if (p->kinds[0] == PART_ROW_IDS) {
    return fy_fail(err, FY_INVALID_ARGUMENT, "Cannot handle VALUE_ROWIDS in first dimension.");
  }
  if (p->kinds[0] != PART_SPLITS && p->kinds[0] != PART_FIRST) return cannot_handle(ctx, 0, err);
  first = p->kinds[0] == PART_SPLITS ? part[0]->count - 1 : fy_tensor_int(part[0], 0);
  FY_TRY(check_default(otherwise->rank, otherwise->dims, values->rank, values->dims, err));
  FY_TRY(combine(p->ranks, rank, wanted, values->rank, values->dims, &out_rank, dims, err));
  const int skip = p->kinds[0] == PART_FIRST;
  if (dims[0] < 0) dims[0] = first;
  for (int d = 1; d <= p->ranks; d++) {
    const part_kind kind = p->kinds[skip + d - 1];
    if (kind != PART_SPLITS && kind != PART_ROW_IDS) return cannot_handle(ctx, skip + d - 1, err);
    if (dims[d] < 0) widest(kind, part[skip + d - 1], &dims[d]);
  }
  for (int32_t d = 0; d < out_rank; d++) {
    if (dims[d] < 0) {
      return fy_fail(err, FY_INVALID_ARGUMENT, "Dimension %lld must be >= 0", (long long)dims[d]);
    }
  }
  FY_TRY(fy_out(ctx, 0, out_rank, dims, &out, err));
  if (out->count == 0) return FY_OK;
  const int64_t run = fy_product(dims + p->ranks + 1, out_rank - p->ranks - 1);
  FY_TRY(fill_default(out, otherwise, values->dims, values->rank, run, err));
  // Places count values, not elements.
  int64_t step = fy_product(dims + 1, p->ranks), rows = first < 0 ? 0 : first, *place;
  FY_TRY(fy_scratch(ctx, (size_t)(rows + 1) * sizeof(int64_t), &memory, err));
  place = memory;
  for (int64_t i = 0; i < rows; i++) place[i] = i < dims[0] ? i * step : -1;
  for (int d = 1; d <= p->ranks; d++) {
    const part_kind kind = p->kinds[skip + d - 1];
    const fy_tensor *t = part[skip + d - 1];
    step /= dims[d];
    if (d == p->ranks && kind == PART_SPLITS)
      return copy_rows(t, place, rows, dims[d], run, values, out, err);
    FY_TRY(descend(ctx, kind, t, place, rows, step, dims[d], &place, &rows, err));
  }
  FY_TRY(check_values(values, rows, err));
  for (int64_t i = 0; i < rows; i++) {
    if (place[i] < 0) continue;
    FY_TRY(fy_copy_run(out->dtype, out->data, place[i] * run, values->data, i * run, run, err));
  }
  return FY_OK;
}

static fy_code prepare(fy_site *site, fy_error *err) {
  const fy_attr *names = fy_site_attr(site, "row_partition_types");
  parts *p = fy_calloc(1, sizeof *p + (names->n + 1) * sizeof(part_kind));
  if (!p) return fy_fail_oom(err, sizeof *p);
  p->kinds = (part_kind *)(p + 1);
  fy_code code = read_kinds(names, p->kinds, err);
  if (code) {
    fy_free(p);
    return code;
  }
  p->n = (int)names->n;
  p->ranks = p->n - (p->n && p->kinds[0] == PART_FIRST);
  site->state = p;
  return FY_OK;
}
static void release(void *state) {
  fy_free(state);
}

// The partitions are of a kind that inference knows, in an order that makes sense, and formed so.
static fy_code check_parts(fy_shape_ctx *ctx, const fy_attr *names, const part_kind *kinds,
                           fy_error *err) {
  const int n = (int)names->n, tensors = ctx->num_inputs - 3;
  if (n == 0) {
    return fy_fail(err, FY_INVALID_ARGUMENT, "Partition info types should not be empty");
  }
  for (int i = 0; i < n; i++) {
    if (kinds[i] == PART_OTHER) {
      return fy_fail(err, FY_INVALID_ARGUMENT, "Unsupported partition type: %.*s",
                     (int)names->v.strings[i].n, names->v.strings[i].p);
    }
    if (kinds[i] == PART_FIRST && (i > 0 || n == 1 || kinds[1] != PART_ROW_IDS)) {
      return fy_fail(err, FY_INVALID_ARGUMENT,
                     i > 0 ? "FIRST_DIM_SIZE must be first"
                           : "FIRST_DIM_SIZE must be followed by VALUE_ROWIDS");
    }
    if (kinds[i] == PART_ROW_IDS && i == 0) {
      return fy_fail(err, FY_INVALID_ARGUMENT, "VALUE_ROWIDS cannot be first");
    }
  }
  if (tensors != n) {
    return fy_fail(err, FY_INVALID_ARGUMENT,
                   "Number of row partition tensors (%d) does not equal the number of row "
                   "partition types(%d).",
                   tensors, n);
  }
  for (int i = 0; i < n; i++) {
    const int32_t rank = ctx->in[3 + i].rank;
    if (rank < 0 || rank == (kinds[i] == PART_FIRST ? 0 : 1)) continue;
    return fy_fail(err, FY_INVALID_ARGUMENT,
                   kinds[i] == PART_FIRST ? "FIRST_DIM_SIZE must be a scalar."
                                          : "Row partition must be a vector.");
  }
  return FY_OK;
}

static fy_code to_tensor_shape(fy_shape_ctx *ctx, fy_error *err) {
  const fy_attr *names = fy_attrs_get(ctx->attrs, "row_partition_types");
  const fy_pshape values = ctx->in[1], otherwise = ctx->in[2];
  fy_pshape wanted;
  int64_t dims[FY_MAX_RANK];
  int32_t rank;
  if (!names || names->kind != FY_ATTR_STRING) return FY_OK;
  part_kind *kinds = fy_arena_array(ctx->arena, names->n + 1, sizeof *kinds);
  if (!kinds) return fy_fail_oom(err, names->n);
  FY_TRY(read_kinds(names, kinds, err));
  FY_TRY(check_parts(ctx, names, kinds, err));
  const int32_t ranks = (int32_t)names->n - (names->n && kinds[0] == PART_FIRST);
  FY_TRY(fy_shape_from_input_or_scalar(ctx, 0, &wanted, err));
  FY_TRY(combine(ranks, wanted.rank, wanted.dims, values.rank, values.dims, &rank, dims, err));
  FY_TRY(check_default(otherwise.rank, otherwise.dims, values.rank, values.dims, err));
  return rank < 0 ? FY_OK : fy_shape_set(ctx, 0, rank, dims, err);
}

static const fy_sample samples[] = {
    {"i64[2]=-1,-1; f32[3]=1,2,3; f32[]=9; i64[3]=0,2,3",
     "num_row_partition_tensors=1; row_partition_types=[\"ROW_SPLITS\"]", FY_OK, "1,2,3,9"},
    {"i64[2]=-1,-1; f32[3]=1,2,3; f32[]=9; i64[]=2; i64[3]=0,0,1",
     "num_row_partition_tensors=2; row_partition_types=[\"FIRST_DIM_SIZE\",\"VALUE_ROWIDS\"]",
     FY_OK, "1,2,3,9"},
};
FY_OP(RaggedTensorToTensor, .shape = to_tensor_shape, .prepare = prepare, .release = release,
      .compute = ragged_to_tensor, .host_inputs = 1, .flags = FY_OP_DYNAMIC, FY_SAMPLES(samples));
