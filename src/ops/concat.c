// SPDX-License-Identifier: Apache-2.0
// concat.c: joining and cutting along one axis: Concat, ConcatV2, Pack, Split, SplitV, Unpack.
// All are the same two-sided copy: a tensor seen as [outer, along, inner] against pieces of
// |along|.

#include <string.h>

#include "ops/shape_fns.h"
#include "ops/strided.h"
#include "ops/turn.h"
#include "ops/values.h"

typedef struct join_job {
  fy_dtype type;
  fy_tensor **pieces;
  int num_pieces;
  const int64_t *runs;  // [num_pieces] elements of a piece per outer row
  void *whole;
  int64_t row;  // elements of the whole per outer row
  int64_t outer;
  bool join;  // pieces -> whole, else whole -> pieces
  fy_code code;
  fy_error *err;
} join_job;

// Pieces of a few bytes per row, one piece after the other: copies of a known size are moves.
#define SHORT_BYTES 32
#define NEAR_BYTES  16384  // of the whole: it does not matter in which order its rows are written
#define SHORT_COPY(BYTES)                                                    \
  case BYTES:                                                                \
    for (int64_t r = begin; r < end; r++)                                    \
      memcpy(to + (size_t)r * to_step, from + (size_t)r * from_step, BYTES); \
    break;
// Pieces of one element, few enough for compilers to know how vectors of them are woven (with AVX2; other machines
// go the way of all short pieces).
typedef void few_fn(const join_job *j, int64_t begin, int64_t end);
#ifdef __x86_64__
#define EACH_2(X) X(0) X(1)
#define EACH_3(X) EACH_2(X) X(2)
#define EACH_4(X) EACH_3(X) X(3)
#define FROM(k)   const own *restrict from##k = j->pieces[k]->data;
#define TO(k)     own *restrict to##k = j->pieces[k]->data;
#define CUT(k)    to##k[r] = whole[r * few + k];
#define WEAVE(k)  whole[r * few + k] = from##k[r];
#define FEW(T, N)                                                                               \
  __attribute__((target("avx2"))) static void cut_##N##_##T(const join_job *j, int64_t begin,   \
                                                            int64_t end) {                      \
    typedef T own;                                                                              \
    enum { few = N };                                                                           \
    const own *restrict whole = j->whole;                                                       \
    EACH_##N(TO) for (int64_t r = begin; r < end; r++) {                                        \
      EACH_##N(CUT)                                                                             \
    }                                                                                           \
  }                                                                                             \
  __attribute__((target("avx2"))) static void weave_##N##_##T(const join_job *j, int64_t begin, \
                                                              int64_t end) {                    \
    typedef T own;                                                                              \
    enum { few = N };                                                                           \
    own *restrict whole = j->whole;                                                             \
    EACH_##N(FROM) for (int64_t r = begin; r < end; r++) {                                      \
      EACH_##N(WEAVE)                                                                           \
    }                                                                                           \
  }
#define FEWS(T)      FEW(T, 2) FEW(T, 3) FEW(T, 4)
#define FEW_ENTRY(T) {{cut_2_##T, weave_2_##T}, {cut_3_##T, weave_3_##T}, {cut_4_##T, weave_4_##T}},
FEWS(uint8_t)
FEWS(uint16_t)
FEWS(uint32_t)
static few_fn *const few_fns[3][3][2] = {FEW_ENTRY(uint8_t) FEW_ENTRY(uint16_t)
                                             FEW_ENTRY(uint32_t)};
#endif
// NULL: there is none for these.
static few_fn *few_of(const join_job *j) {
#ifdef __x86_64__
  const size_t size = fy_dtype_storage(j->type);
  const int n = j->num_pieces;
  if (n < 2 || n > 4 || j->row != n || size > 4 || !__builtin_cpu_supports("avx2")) return NULL;
  return few_fns[__builtin_ctz((unsigned)size)][n - 2][j->join];
#else
  (void)j;
  return NULL;
#endif
}

// More pieces of one element: a plane of rows and pieces is turned, through a buffer. Where there are fewer than
// 8, squares see elements of the next row too, so that one row must follow.
#define TURNED     16384  // bytes
#define AT_ONCE    32     // pieces
#define LAST_WORDS 8
typedef struct turned {
  _Alignas(64) char pieces[TURNED], rows[TURNED + LAST_WORDS * 8];
} turned;
static void turn_some(const join_job *j, int64_t row, int64_t rows, int first, int n, size_t size,
                      turned *t) {
  const size_t bytes = (size_t)rows * size, all = (size_t)j->row * size;
  const bool narrow = j->num_pieces < 8;
  char *whole = (char *)j->whole + (size_t)row * all + (size_t)first * size;
  fy_turn turn = {.size = size};
  if (j->join) {
    for (int i = 0; i < n; i++)
      memcpy(t->pieces + (size_t)i * bytes, (char *)j->pieces[first + i]->data + (size_t)row * size,
             bytes);
    turn.out = narrow ? t->rows : whole, turn.out_step = j->row, turn.rows = rows;
    turn.in = t->pieces, turn.in_step = rows, turn.cols = narrow ? 8 : n;
  } else {
    turn.out = t->pieces, turn.out_step = rows, turn.rows = narrow ? 8 : n;
    turn.in = whole, turn.in_step = j->row, turn.cols = rows;
  }
  fy_turn_plane(&turn);
  if (j->join && narrow) memcpy(whole, t->rows, (size_t)rows * all);
  for (int i = 0; i < n && !j->join; i++)
    memcpy((char *)j->pieces[first + i]->data + (size_t)row * size, t->pieces + (size_t)i * bytes,
           bytes);
}
// Returns up to where.
static int64_t join_turned(const join_job *j, int64_t begin, int64_t end, size_t size) {
  const int n = j->num_pieces, most = n < 8 ? 8 : n < AT_ONCE ? n : AT_ONCE;
  const int64_t room = (int64_t)(TURNED / ((size_t)most * size)) / 16 * 16;
  if (n < 8 && end == j->outer) end--;
  turned t;
  if (n < 8 && j->join) memset(t.pieces, 0, sizeof t.pieces);
  for (int64_t rows; begin + 16 <= end; begin += rows) {
    rows = end - begin < room ? (end - begin) / 16 * 16 : room;
    for (int i = 0; i < n; i += most) {
      const int first = n >= 8 && n - i < 8 ? n - 8 : i;
      turn_some(j, begin, rows, first, n - first < most ? n - first : most, size, &t);
    }
  }
  return begin;
}

#define SHORT_ROWS 1024  // at a time, so that they stay in the cache for all pieces
static void join_short_rows(const join_job *j, int64_t begin, int64_t end);
static void join_short(void *arg, int64_t begin, int64_t end) {
  const join_job *j = arg;
  bool single = true;
  for (int i = 0; i < j->num_pieces && single; i++) single = j->runs[i] == 1;
  few_fn *few = single ? few_of(j) : NULL;
  if (few) {
    few(j, begin, end);
    return;
  }
  const size_t size = fy_dtype_storage(j->type);
  if (single && (j->num_pieces >= 8 || (j->num_pieces >= 5 && size <= 4)))
    begin = join_turned(j, begin, end, size);
  for (int64_t r = begin; r < end; r += SHORT_ROWS)
    join_short_rows(arg, r, r + SHORT_ROWS < end ? r + SHORT_ROWS : end);
}
static void join_short_rows(const join_job *j, int64_t begin, int64_t end) {
  const size_t size = fy_dtype_storage(j->type), row = (size_t)j->row * size;
  size_t at = 0;
  for (int i = 0; i < j->num_pieces; i++) {
    const size_t bytes = (size_t)j->runs[i] * size;
    char *piece = j->pieces[i]->data, *whole = (char *)j->whole + at;
    char *to = j->join ? whole : piece;
    const char *from = j->join ? piece : whole;
    const size_t to_step = j->join ? row : bytes, from_step = j->join ? bytes : row;
    switch (bytes) {
      SHORT_COPY(1)
      SHORT_COPY(2)
      SHORT_COPY(4)
      SHORT_COPY(8)
      SHORT_COPY(12)
      SHORT_COPY(16)
      SHORT_COPY(32)
      default:
        fy_copy_rows(to + (size_t)begin * to_step, (int64_t)to_step,
                     from + (size_t)begin * from_step, (int64_t)from_step, bytes, end - begin);
    }
    at += bytes;
  }
}

static void join_rows(void *arg, int64_t begin, int64_t end) {
  join_job *j = arg;
  for (int64_t r = begin; r < end; r++) {
    int64_t at = r * j->row;
    for (int i = 0; i < j->num_pieces; i++) {
      const int64_t n = j->runs[i];
      if (n == 0) continue;
      void *piece = j->pieces[i]->data;
      fy_code code = j->join ? fy_copy_run(j->type, j->whole, at, piece, r * n, n, j->err)
                             : fy_copy_run(j->type, piece, r * n, j->whole, at, n, j->err);
      if (code) {
        j->code = code;
        return;
      }
      at += n;
    }
  }
}

static fy_code copy_pieces(fy_kernel_ctx *ctx, bool join, fy_tensor **pieces, int n,
                           fy_tensor *whole, int64_t outer, const int64_t *runs, fy_error *err) {
  if (whole->count == 0) return FY_OK;
  join_job j = {.type = whole->dtype,
                .pieces = pieces,
                .num_pieces = n,
                .runs = runs,
                .whole = whole->data,
                .row = whole->count / outer,
                .outer = outer,
                .join = join,
                .err = err};
  if (fy_dtype_is_plain(whole->dtype)) {
    if (outer == 1) {  // a few long runs: each is for all threads
      const size_t size = fy_dtype_storage(whole->dtype);
      char *at = whole->data;
      for (int i = 0; i < n; at += (size_t)runs[i++] * size) {
        char *piece = pieces[i]->data;
        if (piece == at || !runs[i]) continue;  // a part of the whole's own memory is there already
        fy_copy_bytes(ctx, join ? at : piece, join ? piece : at, (size_t)runs[i] * size);
      }
      return FY_OK;
    }
    const size_t all = (size_t)whole->count * fy_dtype_storage(whole->dtype);
    bool small = outer > 8 || all <= NEAR_BYTES;
    for (int i = 0; i < n && small && all > NEAR_BYTES; i++)
      small = (size_t)runs[i] * fy_dtype_storage(whole->dtype) <= SHORT_BYTES;
    if (small) {
      fy_parallel(ctx, outer, 1.0 * n, join_short, &j);
      return FY_OK;
    }
    const double ns = 5.0 * n + 0.1 * (double)j.row * (double)fy_dtype_storage(whole->dtype);
    fy_parallel(ctx, outer, ns, join_rows, &j);
  } else {
    join_rows(&j, 0, outer);
  }
  return j.code;
}

// ---------------------------------------------------------------- Concat
static fy_code concat(fy_kernel_ctx *ctx, int axis_input, int first, fy_error *err) {
  const fy_tensor *axis_in = ctx->in[axis_input];
  fy_tensor **values = ctx->in + first;
  const int n = ctx->site->num_inputs - 1;
  char x[128], y[128];
  // A vector of one is taken for a scalar, as TensorFlow's legacy rule has it.
  if (axis_in->rank > 1 || axis_in->count != 1) {
    return fy_fail(err, FY_INVALID_ARGUMENT,
                   "%s tensor should be a scalar integer, but got shape %s",
                   first ? "concat_dim" : "axis", fy_tensor_shape_text(axis_in, x));
  }
  const fy_tensor *like = values[0];
  int64_t axis = fy_tensor_int(axis_in, 0);
  if ((axis < -like->rank || axis >= like->rank) && (axis != 0 || like->rank > 0)) {
    return fy_fail(
        err, FY_INVALID_ARGUMENT,
        "ConcatOp : Expected concatenating dimensions in the range [%d, %d), but got %lld",
        -like->rank, like->rank, (long long)axis);
  }
  if (axis < 0) axis += like->rank;
  void *memory;
  FY_TRY(fy_scratch(ctx, (size_t)n * sizeof(int64_t), &memory, err));
  int64_t *runs = memory, dims[FY_MAX_RANK], along = 0;
  for (int32_t d = 0; d < like->rank; d++) dims[d] = like->dims[d];
  for (int i = 0; i < n; i++) {
    const fy_tensor *v = values[i];
    if (v->rank == 0) {
      return fy_fail(err, FY_INVALID_ARGUMENT,
                     "ConcatOp : Can't concatenate scalars (use tf.stack instead)");
    }
    if (v->rank != like->rank) {
      return fy_fail(err, FY_INVALID_ARGUMENT,
                     "ConcatOp : Ranks of all input tensors should match: shape[0] = %s vs. "
                     "shape[%d] = %s",
                     fy_tensor_shape_text(like, x), i, fy_tensor_shape_text(v, y));
    }
    for (int32_t d = 0; d < v->rank; d++) {
      if (d == axis || v->dims[d] == like->dims[d]) continue;
      return fy_fail(err, FY_INVALID_ARGUMENT,
                     "ConcatOp : Dimension %d in both shapes must be equal: shape[0] = %s vs. "
                     "shape[%d] = %s",
                     d, fy_tensor_shape_text(like, x), i, fy_tensor_shape_text(v, y));
    }
    if (__builtin_add_overflow(along, v->dims[axis], &along)) {
      return fy_fail(err, FY_INVALID_ARGUMENT, "ConcatOp : the output is too large");
    }
  }
  const int64_t outer = fy_product(like->dims, (int32_t)axis);
  const int64_t inner = fy_product(like->dims + axis + 1, like->rank - 1 - (int32_t)axis);
  for (int i = 0; i < n; i++) runs[i] = values[i]->dims[axis] * inner;
  dims[axis] = along;
  fy_tensor *out;
  FY_TRY(fy_out(ctx, 0, like->rank, dims, &out, err));
  return copy_pieces(ctx, true, values, n, out, outer, runs, err);
}

static fy_code concat_v1(fy_kernel_ctx *ctx, fy_error *err) {
  return concat(ctx, 0, 1, err);
}
static fy_code concat_v2(fy_kernel_ctx *ctx, fy_error *err) {
  return concat(ctx, ctx->site->num_inputs - 1, 0, err);
}

// A concatenation of vectors that are shapes is a shape.
static fy_code concat_value(fy_shape_ctx *ctx, int first, int n, fy_error *err) {
  int64_t values[FY_MAX_RANK];
  int32_t count = 0;
  for (int i = 0; i < n; i++) {
    int32_t len;
    int64_t *v;
    bool *known;
    if (!fy_shape_values(ctx, first + i, &len, &v, &known)) return FY_OK;
    for (int32_t k = 0; k < len; k++) {
      if (count == FY_MAX_RANK) return FY_OK;
      values[count++] = v[k];
    }
  }
  return fy_shape_set_value(ctx, 0, count, values, err);
}

static bool is_index(fy_dtype t) {
  return t == FY_INT32 || t == FY_INT64;
}

static fy_code concat_shape(fy_shape_ctx *ctx, int axis_input, int first, fy_error *err) {
  const int n = ctx->num_inputs - 1;
  int64_t axis;
  int32_t rank = -1;
  FY_TRY(fy_shape_rank_is(ctx->in[axis_input], 0, err));
  for (int i = 0; i < n; i++) {
    if (ctx->in[first + i].rank < 0) continue;
    if (ctx->in[first + i].rank == 0 && rank < 0) {
      return fy_fail(err, FY_INVALID_ARGUMENT, "Can't concatenate scalars (use tf.stack instead)");
    }
    if (rank < 0) rank = ctx->in[first + i].rank;
    FY_TRY(fy_shape_rank_is(ctx->in[first + i], rank, err));
  }
  if (rank < 0) return FY_OK;
  if (!fy_shape_int_value(ctx, axis_input, &axis)) return fy_shape_set(ctx, 0, rank, NULL, err);
  if (axis < -rank || axis >= rank) {
    // TensorFlow's text comes from a rank check of the first value.
    return fy_fail(err, FY_INVALID_ARGUMENT, "Shape must be at least rank %llu but is rank %d",
                   (unsigned long long)(axis < 0 ? 0 - (uint64_t)axis : (uint64_t)axis + 1), rank);
  }
  if (axis < 0) axis += rank;
  int64_t along = 0;
  fy_pshape before = FY_UNKNOWN_SHAPE, after = FY_UNKNOWN_SHAPE;
  for (int i = 0; i < n; i++) {
    const fy_pshape in = ctx->in[first + i];
    if (in.rank < 0) {
      along = -1;
      continue;
    }
    const int64_t size = in.dims[axis];
    along = along < 0 || size < 0 || along > INT64_MAX - size ? -1 : along + size;
    const fy_pshape left = {(int32_t)axis, in.dims};
    const fy_pshape right = {rank - 1 - (int32_t)axis, in.dims + axis + 1};
    FY_TRY(fy_shape_merge(ctx, before, left, &before, err));
    FY_TRY(fy_shape_merge(ctx, after, right, &after, err));
  }
  int64_t out[FY_MAX_RANK];
  for (int32_t d = 0; d < rank; d++) {
    out[d] = d < axis ? before.dims[d] : d == axis ? along : after.dims[d - axis - 1];
  }
  FY_TRY(fy_shape_set(ctx, 0, rank, out, err));
  if (rank == 1 && is_index(ctx->in_types[first])) return concat_value(ctx, first, n, err);
  return FY_OK;
}
static fy_code concat_v1_shape(fy_shape_ctx *ctx, fy_error *err) {
  return concat_shape(ctx, 0, 1, err);
}
static fy_code concat_v2_shape(fy_shape_ctx *ctx, fy_error *err) {
  return concat_shape(ctx, ctx->num_inputs - 1, 0, err);
}

// ---------------------------------------------------------------- Pack, Unpack
static fy_code pack(fy_kernel_ctx *ctx, fy_error *err) {
  const int n = ctx->site->num_inputs;
  const fy_tensor *like = ctx->in[0];
  const int32_t rank = like->rank + 1;
  char x[128], y[128];
  for (int i = 1; i < n; i++) {
    if (fy_shape_equal(like->rank, like->dims, ctx->in[i]->rank, ctx->in[i]->dims)) continue;
    return fy_fail(err, FY_INVALID_ARGUMENT,
                   "Shapes of all inputs must match: values[0].shape = %s != values[%d].shape = %s",
                   fy_tensor_shape_text(like, x), i, fy_tensor_shape_text(ctx->in[i], y));
  }
  int64_t axis = fy_site_int(ctx->site, "axis");
  if (axis < -rank || axis >= rank) {
    return fy_fail(err, FY_INVALID_ARGUMENT, "axis = %lld not in [%d, %d)", (long long)axis, -rank,
                   rank);
  }
  if (rank > FY_MAX_RANK) return fy_fail(err, FY_INVALID_ARGUMENT, "Too many dimensions in tensor");
  if (axis < 0) axis += rank;
  int64_t dims[FY_MAX_RANK];
  for (int32_t d = 0; d < rank; d++) {
    dims[d] = d < axis ? like->dims[d] : d == axis ? n : like->dims[d - 1];
  }
  const int64_t outer = fy_product(dims, (int32_t)axis);
  void *memory;
  FY_TRY(fy_scratch(ctx, (size_t)n * sizeof(int64_t), &memory, err));
  int64_t *runs = memory;
  for (int i = 0; i < n; i++) runs[i] = outer ? like->count / outer : 0;
  fy_tensor *out;
  FY_TRY(fy_out(ctx, 0, rank, dims, &out, err));
  return copy_pieces(ctx, true, ctx->in, n, out, outer, runs, err);
}

static fy_code pack_shape(fy_shape_ctx *ctx, fy_error *err) {
  fy_pshape all = ctx->in[ctx->num_inputs - 1];
  for (int i = ctx->num_inputs - 2; i >= 0; i--) {
    fy_code code = fy_shape_merge(ctx, ctx->in[i], all, &all, err);
    if (code) {
      fy_error_append(err, "\n\tFrom merging shape %d with other shapes.", i);
      return code;
    }
  }
  if (all.rank < 0) return FY_OK;
  const int32_t rank = all.rank + 1;
  int64_t axis = fy_shape_attr_int(ctx, "axis", 0);
  if (axis < -rank || axis >= rank) {
    return fy_fail(err, FY_INVALID_ARGUMENT, "Invalid axis: %lld; must be in [%d,%d)",
                   (long long)axis, -rank, rank);
  }
  if (axis < 0) axis += rank;
  int64_t dims[FY_MAX_RANK + 1];
  for (int32_t d = 0; d < rank; d++) {
    dims[d] = d < axis ? all.dims[d] : d == axis ? ctx->num_inputs : all.dims[d - 1];
  }
  FY_TRY(fy_shape_set(ctx, 0, rank, dims, err));
  if (all.rank != 0 || !is_index(ctx->in_types[0]) || ctx->num_inputs > FY_MAX_RANK) return FY_OK;
  int64_t values[FY_MAX_RANK];
  for (int i = 0; i < ctx->num_inputs; i++) {
    if (!fy_shape_int_value(ctx, i, &values[i])) values[i] = -1;
  }
  return fy_shape_set_value(ctx, 0, ctx->num_inputs, values, err);
}

// Output |i|: the elements of input |j| from |first| on where those follow each other (else -1).
static fy_code make_piece(fy_kernel_ctx *ctx, int i, int j, int64_t first, int32_t rank,
                          const int64_t *dims, fy_error *err) {
  fy_tensor *out;
  if (first >= 0 && fy_out_part(ctx, i, j, first, rank, dims)) return FY_OK;
  return fy_out(ctx, i, rank, dims, &out, err);
}

// What Unpack and Split have in common: equal pieces along |axis|, in rows before it of one.
static bool equal_part(const fy_site *site, int out, int in, int64_t axis, int64_t *first) {
  const fy_pshape shape = site->in_shapes[in];
  int64_t count;
  if (shape.rank < 1 || axis < -shape.rank || axis >= shape.rank ||
      !fy_shape_count(shape.rank, shape.dims, &count) || count == 0)
    return false;
  if (axis < 0) axis += shape.rank;
  if (shape.dims[axis] % site->num_outputs || fy_product(shape.dims, (int32_t)axis) != 1)
    return false;
  *first = count / site->num_outputs * out;
  return true;
}

static bool unpack_part(const fy_site *site, int out, int *in, int64_t *first) {
  *in = 0;
  return equal_part(site, out, 0, fy_site_int(site, "axis"), first);
}

static fy_code unpack(fy_kernel_ctx *ctx, fy_error *err) {
  fy_tensor *in = ctx->in[0];
  const int n = ctx->site->num_outputs;
  char x[128];
  int64_t axis = fy_site_int(ctx->site, "axis");
  if (axis < -in->rank || axis >= in->rank) {
    return fy_fail(err, FY_INVALID_ARGUMENT, "axis = %lld not in [%d, %d)", (long long)axis,
                   -in->rank, in->rank);
  }
  if (axis < 0) axis += in->rank;
  if (in->dims[axis] != n) {
    return fy_fail(err, FY_INVALID_ARGUMENT, "Input shape axis %lld must equal %d, got shape %s",
                   (long long)axis, n, fy_tensor_shape_text(in, x));
  }
  int64_t dims[FY_MAX_RANK];
  for (int32_t d = 0; d + 1 < in->rank; d++) dims[d] = in->dims[d < axis ? d : d + 1];
  void *memory;
  FY_TRY(fy_scratch(ctx, (size_t)(n > 0 ? n : 1) * sizeof(int64_t), &memory, err));
  int64_t *runs = memory;
  const int64_t outer = fy_product(in->dims, (int32_t)axis);
  const int64_t inner = fy_product(in->dims + axis + 1, in->rank - 1 - (int32_t)axis);
  for (int i = 0; i < n; i++) runs[i] = inner;
  for (int i = 0; i < n; i++)
    FY_TRY(make_piece(ctx, i, 0, outer == 1 ? i * inner : -1, in->rank - 1, dims, err));
  return copy_pieces(ctx, false, ctx->out, n, in, outer, runs, err);
}

static fy_code unpack_shape(fy_shape_ctx *ctx, fy_error *err) {
  const fy_pshape in = ctx->in[0];
  if (in.rank < 0) return FY_OK;
  int64_t axis = fy_shape_attr_int(ctx, "axis", 0), size;
  if (axis < -in.rank || axis >= in.rank) {
    return fy_fail(err, FY_INVALID_ARGUMENT, "Invalid axis: %lld; must be in [%d,%d)",
                   (long long)axis, -in.rank, in.rank);
  }
  if (axis < 0) axis += in.rank;
  size = in.dims[axis];
  if (size >= 0 && size != ctx->num_outputs) {
    return fy_fail(err, FY_INVALID_ARGUMENT, "Dimension must be %d but is %lld", ctx->num_outputs,
                   (long long)size);
  }
  int64_t dims[FY_MAX_RANK];
  for (int32_t d = 0; d + 1 < in.rank; d++) dims[d] = in.dims[d < axis ? d : d + 1];
  for (int i = 0; i < ctx->num_outputs; i++) {
    FY_TRY(fy_shape_set(ctx, i, in.rank - 1, dims, err));
    int32_t n;
    int64_t *values;
    bool *known;
    const bool small = ctx->in_value[0] || ctx->in_as_shape[0].rank >= 0;
    if (in.rank == 1 && small && fy_shape_values(ctx, 0, &n, &values, &known) && i < n) {
      FY_TRY(fy_shape_set_value(ctx, i, 1, &values[i], err));
    }
  }
  return FY_OK;
}

// ---------------------------------------------------------------- Split, SplitV
static fy_code split_axis(const fy_tensor *in, const fy_tensor *axis_in, int32_t *out,
                          fy_error *err) {
  if (axis_in->count != 1) {
    return fy_fail(err, FY_INVALID_ARGUMENT, "split_dim_tensor must have exactly one element.");
  }
  const int64_t axis = fy_tensor_int(axis_in, 0);
  if (axis < -in->rank || axis >= in->rank) {
    return fy_fail(err, FY_INVALID_ARGUMENT,
                   "-input rank(-%d) <= split_dim < input rank (%d), but got %lld", in->rank,
                   in->rank, (long long)axis);
  }
  *out = (int32_t)(axis < 0 ? axis + in->rank : axis);
  return FY_OK;
}

// |runs| holds the sizes along |axis| and becomes the elements per outer row.
static fy_code split_at(fy_kernel_ctx *ctx, int input, int32_t axis, int64_t *runs, fy_error *err) {
  fy_tensor *in = ctx->in[input];
  const int n = ctx->site->num_outputs;
  int64_t dims[FY_MAX_RANK], at = 0;
  const int64_t outer = fy_product(in->dims, axis);
  const int64_t inner = fy_product(in->dims + axis + 1, in->rank - 1 - axis);
  for (int32_t d = 0; d < in->rank; d++) dims[d] = in->dims[d];
  for (int i = 0; i < n; i++) {
    dims[axis] = runs[i];
    FY_TRY(make_piece(ctx, i, input, outer == 1 ? at : -1, in->rank, dims, err));
    runs[i] *= inner;
    at += runs[i];
  }
  return copy_pieces(ctx, false, ctx->out, n, in, outer, runs, err);
}

static bool split_part(const fy_site *site, int out, int *in, int64_t *first) {
  const fy_tensor *axis = site->in_value[0];
  *in = 1;
  return axis && axis->count == 1 && equal_part(site, out, 1, fy_tensor_int(axis, 0), first);
}

#define MAX_PARTS 1024  // each is found by a walk over those before it
static bool split_v_part(const fy_site *site, int out, int *in, int64_t *first) {
  const fy_tensor *sizes = site->in_value[1], *along = site->in_value[2];
  const fy_pshape shape = site->in_shapes[0];
  const int n = site->num_outputs;
  int64_t count, known = 0, at = 0;
  if (!sizes || !along || along->count != 1 || sizes->count != n || n > MAX_PARTS ||
      shape.rank < 1 || !fy_shape_count(shape.rank, shape.dims, &count) || count == 0)
    return false;
  int64_t axis = fy_tensor_int(along, 0);
  if (axis < -shape.rank || axis >= shape.rank) return false;
  if (axis < 0) axis += shape.rank;
  if (fy_product(shape.dims, (int32_t)axis) != 1) return false;
  for (int i = 0; i < n; i++) {
    const int64_t size = fy_tensor_int(sizes, i);
    if (size < -1 || size > shape.dims[axis]) return false;
    known += size < 0 ? 0 : size;
  }
  for (int i = 0; i < out; i++) {
    const int64_t size = fy_tensor_int(sizes, i);
    at += size < 0 ? shape.dims[axis] - known : size;
  }
  *in = 0;
  *first = at * (count / shape.dims[axis]);
  return known <= shape.dims[axis];
}

static fy_code split(fy_kernel_ctx *ctx, fy_error *err) {
  fy_tensor *in = ctx->in[1];
  const int n = ctx->site->num_outputs;
  int32_t axis = 0;
  if (ctx->in[0]->rank != 0) {
    return fy_fail(err, FY_INVALID_ARGUMENT, "split_dim must be a scalar but has rank %d",
                   ctx->in[0]->rank);
  }
  FY_TRY(split_axis(in, ctx->in[0], &axis, err));
  if (in->dims[axis] % n) {
    return fy_fail(err, FY_INVALID_ARGUMENT,
                   "Number of ways to split should evenly divide the split dimension, but got "
                   "split_dim %d (size = %lld) and num_split %d",
                   axis, (long long)in->dims[axis], n);
  }
  if (n == 1) return fy_out_alias(ctx, 0, 1, in->rank, in->dims, err);
  void *memory;
  FY_TRY(fy_scratch(ctx, (size_t)n * sizeof(int64_t), &memory, err));
  int64_t *runs = memory;
  for (int i = 0; i < n; i++) runs[i] = in->dims[axis] / n;
  return split_at(ctx, 1, axis, runs, err);
}

static fy_code split_v(fy_kernel_ctx *ctx, fy_error *err) {
  fy_tensor *in = ctx->in[0];
  const fy_tensor *sizes = ctx->in[1];
  const int n = ctx->site->num_outputs;
  int32_t axis = 0;
  if (sizes->rank != 1 || sizes->count != n) {
    return fy_fail(err, FY_INVALID_ARGUMENT,
                   "size of the split_tensor must be 1-D and have the same elements as outputs got "
                   "%d -D and %lld elements",
                   sizes->rank, (long long)sizes->count);
  }
  FY_TRY(split_axis(in, ctx->in[2], &axis, err));
  void *memory;
  FY_TRY(fy_scratch(ctx, (size_t)n * sizeof(int64_t), &memory, err));
  int64_t *runs = memory, sum = 0;
  int missing = -1;
  for (int i = 0; i < n; i++) {
    runs[i] = fy_tensor_int(sizes, i);
    if (runs[i] == -1) {
      if (missing >= 0) {
        return fy_fail(err, FY_INVALID_ARGUMENT, "There can only be one -1 in the input.");
      }
      missing = i;
    } else if (runs[i] < 0 && n == 1) {
      sum = runs[i];  // differs from any size
    } else if (runs[i] < 0) {
      return fy_fail(err, FY_INVALID_ARGUMENT, "Split size at index %d must be >= 0. Got: %lld", i,
                     (long long)runs[i]);
    } else if (__builtin_add_overflow(sum, runs[i], &sum)) {
      sum = INT64_MAX;
    }
  }
  const int64_t have = in->dims[axis];
  if (n == 1 && missing < 0 && sum != have) {
    return fy_fail(err, FY_INVALID_ARGUMENT,
                   "If there is only one output, it must have the same size as the input. Input "
                   "size: %lld output size: %lld",
                   (long long)have, (long long)runs[0]);
  }
  if (missing < 0 ? sum != have : sum > have) {
    return fy_fail(
        err, FY_INVALID_ARGUMENT,
        "Determined shape must either match input shape along split_dim exactly if fully "
        "specified, or be less than the size of the input along split_dim if not fully "
        "specified.  Got: %lld",
        (long long)sum);
  }
  if (missing >= 0) runs[missing] = have - sum;
  return split_at(ctx, 0, axis, runs, err);
}

static fy_code split_shape(fy_shape_ctx *ctx, fy_error *err) {
  const fy_pshape in = ctx->in[1];
  int64_t axis, dims[FY_MAX_RANK];
  int32_t d;
  const fy_tensor *value = fy_shape_tensor(ctx, 0);
  if (value && value->rank != 0) {
    return fy_fail(err, FY_INVALID_ARGUMENT, "Input must be scalar but has rank %d", value->rank);
  }
  if (in.rank < 0) return FY_OK;
  const bool known = fy_shape_int_value(ctx, 0, &axis);
  for (int32_t i = 0; i < in.rank; i++) dims[i] = known ? in.dims[i] : -1;
  if (known) {
    FY_TRY(fy_shape_axis(axis, in.rank, &d, err));
    if (dims[d] >= 0 && ctx->num_outputs > 0) {
      if (dims[d] % ctx->num_outputs) {
        return fy_fail(
            err, FY_INVALID_ARGUMENT,
            "Dimension size must be evenly divisible by %d but is %lld\n\tNumber of ways to "
            "split should evenly divide the split dimension",
            ctx->num_outputs, (long long)dims[d]);
      }
      dims[d] /= ctx->num_outputs;
    }
  }
  for (int i = 0; i < ctx->num_outputs; i++) FY_TRY(fy_shape_set(ctx, i, in.rank, dims, err));
  return FY_OK;
}

static fy_code split_v_shape(fy_shape_ctx *ctx, fy_error *err) {
  const fy_pshape in = ctx->in[0];
  int64_t axis, dims[FY_MAX_RANK];
  int32_t d = 0, n;
  int64_t *sizes = NULL;
  bool *known_size = NULL;
  const fy_tensor *value = fy_shape_tensor(ctx, 2);
  if (value && value->rank != 0) {
    return fy_fail(err, FY_INVALID_ARGUMENT, "Input must be scalar but has rank %d", value->rank);
  }
  if (in.rank < 0) return FY_OK;
  if (in.rank == 0) return fy_fail(err, FY_INVALID_ARGUMENT, "Can't split scalars");
  const bool known = fy_shape_int_value(ctx, 2, &axis);
  for (int32_t i = 0; i < in.rank; i++) dims[i] = known ? in.dims[i] : -1;
  if (known) FY_TRY(fy_shape_axis(axis, in.rank, &d, err));
  const bool have = known && fy_shape_values(ctx, 1, &n, &sizes, &known_size);
  int64_t sum = 0;
  int missing = 0;
  if (have && n != ctx->num_outputs) {
    return fy_fail(err, FY_INVALID_ARGUMENT,
                   "Length of size_splits should be equal to num_outputs");
  }
  for (int i = 0; have && i < n; i++) {
    if (!known_size[i] || sizes[i] == -1 || (!ctx->in_value[1] && sizes[i] < 0)) {
      missing++;
    } else if (sizes[i] < 0) {
      return fy_fail(err, FY_INVALID_ARGUMENT, "Split size at index %d must be >= 0. Got: %lld", i,
                     (long long)sizes[i]);
    } else if (__builtin_add_overflow(sum, sizes[i], &sum)) {
      sum = INT64_MAX;
    }
  }
  if (have && missing > 1 && ctx->in_value[1]) {
    return fy_fail(err, FY_INVALID_ARGUMENT, "size_splits can only have one -1");
  }
  if (have && missing == 0 && in.dims[d] >= 0 && sum != in.dims[d]) {
    char x[128];
    return fy_fail(err, FY_INVALID_ARGUMENT, "can't split axis of size %lld into pieces of size %s",
                   (long long)in.dims[d], fy_shape_text(n, sizes, x));
  }
  for (int i = 0; have && missing == 1 && in.dims[d] >= 0 && i < n; i++) {
    if (known_size[i] && sizes[i] >= 0) continue;
    if (in.dims[d] >= sum) break;
    return fy_fail(err, FY_INVALID_ARGUMENT, "Split size at index %d must be >= 0. Got: %lld", i,
                   (long long)(in.dims[d] - sum));
  }
  for (int i = 0; i < ctx->num_outputs; i++) {
    if (known) {
      const bool one = have && i < n && known_size[i];
      dims[d] = one && sizes[i] >= 0                       ? sizes[i]
                : one && missing == 1 && in.dims[d] >= sum ? in.dims[d] - sum
                                                           : -1;
    }
    FY_TRY(fy_shape_set(ctx, i, in.rank, dims, err));
  }
  return FY_OK;
}

static const fy_sample concat_samples[] = {
    {"f32[2,1]=1,2; f32[2,2]=3,4,5,6; i32[]=1", "N=2", FY_OK, "1,3,4,2,5,6"},
    {"s[1]='a'; s[2]='b','c'; i32[]=0", "N=2", FY_OK, NULL},
    {"f32[2,3]=ones; f32[2]=ones; i32[]=0", "N=2", FY_INVALID_ARGUMENT,
     "ConcatOp : Ranks of all input tensors should match: shape[0] = [2,3] vs. shape[1] = [2]"},
};
static const fy_sample concat_v1_samples[] = {
    {"i32[]=0; f32[1]=1; f32[2]=3,4", "N=2", FY_OK, "1,3,4"},
};
static const fy_sample pack_samples[] = {
    {"f32[2]=1,2; f32[2]=3,4", "N=2; axis=1", FY_OK, "1,3,2,4"},
    {"f32[2]=1,2; f32[3]=3,4,5", "N=2", FY_INVALID_ARGUMENT, "Shapes of all inputs must match"},
};
static const fy_sample unpack_samples[] = {
    {"f32[2,2]=1,2,3,4", "num=2; axis=1", FY_OK, "1,3"},
    {"f32[2]=1,2", "num=3", FY_INVALID_ARGUMENT, "Input shape axis 0 must equal 3, got shape [2]"},
};
static const fy_sample split_samples[] = {
    {"i32[]=1; f32[2,4]=iota", "num_split=2", FY_OK, "0,1,4,5"},
    {"i32[]=0; f32[3]=iota", "num_split=2", FY_INVALID_ARGUMENT,
     "Number of ways to split should evenly divide the split dimension"},
};
static const fy_sample split_v_samples[] = {
    {"f32[5]=iota; i32[2]=2,-1; i32[]=0", "num_split=2", FY_OK, "0,1"},
    {"f32[3]=iota; i32[2]=1,1; i32[]=0", "num_split=2", FY_INVALID_ARGUMENT, "Got: 2"},
};

// A number per part; the larger of inputs and outputs is what it is about.
static void parts_needs(fy_kernel_ctx *ctx, fy_needs *out) {
  const int in = ctx->site->num_inputs, parts = ctx->site->num_outputs;
  const char *op = ctx->site->op->spec->name;
  int n = parts;  // Unpack, Split, SplitV
  if (op[0] == 'C') n = in - 1;
  if (op[0] == 'P') n = in;
  if (op[0] == 'S' && op[5] == 0 && n == 1) return;  // Split into one renames
  out->scratch += fy_scratch_line((size_t)(n > 0 ? n : 1) * sizeof(int64_t));
}

FY_OP(Concat, .shape = concat_v1_shape, .compute = concat_v1, .needs = parts_needs,
      .host_inputs = 1, FY_SAMPLES(concat_v1_samples));
FY_OP(ConcatV2, .shape = concat_v2_shape, .compute = concat_v2, .needs = parts_needs,
      .host_inputs = 1 << 1, FY_SAMPLES(concat_samples));
FY_OP(Pack, .shape = pack_shape, .compute = pack, .needs = parts_needs, FY_SAMPLES(pack_samples));
FY_OP(Unpack, .shape = unpack_shape, .compute = unpack, .needs = parts_needs, .part = unpack_part,
      FY_SAMPLES(unpack_samples));
FY_OP(Split, .shape = split_shape, .compute = split, .needs = parts_needs, .part = split_part,
      .host_inputs = 1, FY_SAMPLES(split_samples));
FY_OP(SplitV, .shape = split_v_shape, .compute = split_v, .needs = parts_needs,
      .part = split_v_part, .host_inputs = 6, FY_SAMPLES(split_v_samples));
