// SPDX-License-Identifier: Apache-2.0
// diag.c: diagonals: Diag, DiagPart, MatrixDiag, MatrixDiagPart, MatrixSetDiag (V1, V2 and V3: a
// band of diagonals, each aligned left or right in its row), MatrixBandPart.

#include "ops/shape_fns.h"
#include "ops/values.h"

static int64_t least(int64_t a, int64_t b) {
  return a < b ? a : b;
}
static int64_t most(int64_t a, int64_t b) {
  return a > b ? a : b;
}

// ---------------------------------------------------------------- a band of diagonals
typedef struct band {
  int64_t lower, upper;
  bool left_super, left_sub;  // alignment in a row that is longer than the diagonal
  int64_t rows, cols, longest;
} band;

// k is input |i|; ops without one have the main diagonal only.
static fy_code read_band(const fy_kernel_ctx *ctx, int i, band *b, fy_error *err) {
  char x[128];
  *b = (band){.left_super = true, .left_sub = true};
  if (fy_site_attr(ctx->site, "align")) {
    const fy_view align = fy_site_string(ctx->site, "align");
    b->left_super = align.n > 1 && align.p[0] == 'L';
    b->left_sub = fy_view_is(align, "LEFT_LEFT") || fy_view_is(align, "RIGHT_LEFT");
  }
  if (i >= ctx->site->num_inputs) return FY_OK;
  const fy_tensor *k = ctx->in[i];
  if (k->rank > 1) {
    return fy_fail(err, FY_INVALID_ARGUMENT,
                   "diag_index must be a scalar or vector, received shape: %s",
                   fy_tensor_shape_text(k, x));
  }
  if (k->count < 1) {
    return fy_fail(err, FY_INVALID_ARGUMENT,
                   strstr(ctx->site->op->spec->name, "Set")
                       ? "diag_index must have at least one element"
                       : "Expected diag_index to have at least 1 element");
  }
  if (k->count > 2) {
    return fy_fail(err, FY_INVALID_ARGUMENT,
                   "diag_index must have only one or two elements, received %lld elements.",
                   (long long)k->count);
  }
  b->lower = fy_tensor_int(k, 0);
  b->upper = fy_tensor_int(k, k->count - 1);
  return FY_OK;
}

static fy_code check_order(const band *b, fy_error *err) {
  if (b->lower <= b->upper) return FY_OK;
  return fy_fail(err, FY_INVALID_ARGUMENT,
                 "lower_diag_index must not be larger than upper_diag_index: %lld > %lld",
                 (long long)b->lower, (long long)b->upper);
}

static fy_code check_band(band *b, const fy_tensor *in, const char *dot, fy_error *err) {
  b->rows = in->dims[in->rank - 2];
  b->cols = in->dims[in->rank - 1];
  const int64_t k[2] = {b->lower, b->upper};
  for (int i = 0; i < 2; i++) {
    if ((-b->rows < k[i] && k[i] < b->cols) || k[i] == 0) continue;
    return fy_fail(err, FY_INVALID_ARGUMENT,
                   "%s_diag_index is out of bound: %lld%s It must be between %lld and %lld",
                   i ? "upper" : "lower", (long long)k[i], i ? "" : dot, (long long)-b->rows,
                   (long long)b->cols);
  }
  FY_TRY(check_order(b, err));
  b->longest = least(b->rows + least(b->upper, 0), b->cols - most(b->lower, 0));
  return FY_OK;
}

static int64_t length_of(const band *b, int64_t d) {
  return least(b->rows + least(d, 0), b->cols - most(d, 0));
}
static int64_t offset_of(const band *b, int64_t d) {
  const bool left = (d >= 0 && b->left_super) || (d <= 0 && b->left_sub);
  return left ? 0 : b->longest - length_of(b, d);
}

static fy_code fail_rank(const fy_tensor *t, const char *what, int rank, fy_error *err) {
  char x[128];
  return fy_fail(err, FY_INVALID_ARGUMENT, "%s must be at least %d-dim, received shape: %s", what,
                 rank, fy_tensor_shape_text(t, x));
}

static fy_code fail_objects(const fy_tensor *t, fy_error *err) {
  return fy_fail(err, FY_UNIMPLEMENTED, "diagonals of %s", fy_dtype_name(t->dtype));
}

// Fills |out| with the scalar |value|, or zeros.
static fy_code fill_out(fy_tensor *out, const fy_tensor *value, fy_error *err) {
  if (value && value->count != 1)
    return fy_fail(err, FY_INVALID_ARGUMENT, "Padding must be scalar.");
  if (out->count == 0) return FY_OK;
  if (!fy_dtype_is_plain(out->dtype)) return fail_objects(out, err);
  const size_t size = fy_dtype_storage(out->dtype);
  static const char zeros[16];
  if (!value || memcmp(value->data, zeros, size) == 0) {
    memset(out->data, 0, fy_tensor_bytes(out));
    return FY_OK;
  }
  if (size == 4) {
    uint32_t v, *to = out->data;
    memcpy(&v, value->data, sizeof v);
    for (int64_t i = 0; i < out->count; i++) to[i] = v;
    return FY_OK;
  }
  for (int64_t i = 0; i < out->count; i++) {
    memcpy((char *)out->data + (size_t)i * size, value->data, size);
  }
  return FY_OK;
}

static void copy_one(fy_tensor *to, int64_t i, const fy_tensor *from, int64_t k) {
  const size_t size = fy_dtype_storage(to->dtype);
  memcpy((char *)to->data + (size_t)i * size, (const char *)from->data + (size_t)k * size, size);
}

// Walks the band: |matrix| holds [batch, rows, cols], |diagonal| [batch, diagonals, longest].
static void walk(const band *b, fy_tensor *matrix, fy_tensor *diagonal, bool to_matrix) {
  const int64_t each = b->rows * b->cols, bands = b->upper - b->lower + 1;
  const int64_t batch = each ? matrix->count / each : 0;
  for (int64_t m = 0; m < batch; m++) {
    for (int64_t d = b->upper; d >= b->lower; d--) {
      const int64_t n = length_of(b, d);
      const int64_t start = (m * bands + b->upper - d) * b->longest + offset_of(b, d);
      for (int64_t i = 0; i < n; i++) {
        const int64_t at = m * each + (i + most(0, -d)) * b->cols + i + most(0, d);
        if (to_matrix) {
          copy_one(matrix, at, diagonal, start + i);
        } else {
          copy_one(diagonal, start + i, matrix, at);
        }
      }
    }
  }
}

static fy_code matrix_diag_part(fy_kernel_ctx *ctx, fy_error *err) {
  fy_tensor *in = ctx->in[0], *out;
  band b;
  int64_t dims[FY_MAX_RANK];
  if (in->rank < 2) return fail_rank(in, "input", 2, err);
  FY_TRY(read_band(ctx, 1, &b, err));
  FY_TRY(check_band(&b, in, ".", err));
  int32_t rank = 0;
  for (; rank < in->rank - 2; rank++) dims[rank] = in->dims[rank];
  if (b.lower < b.upper) dims[rank++] = b.upper - b.lower + 1;
  dims[rank++] = b.longest;
  const fy_tensor *padding = ctx->site->num_inputs > 2 ? ctx->in[2] : NULL;
  if (padding && padding->count != 1)
    return fy_fail(err, FY_INVALID_ARGUMENT, "Padding must be scalar.");
  FY_TRY(fy_out(ctx, 0, rank, dims, &out, err));
  FY_TRY(fill_out(out, padding, err));
  if (out->count) walk(&b, in, out, false);
  return FY_OK;
}

static fy_code matrix_diag(fy_kernel_ctx *ctx, fy_error *err) {
  fy_tensor *diagonal = ctx->in[0], *out;
  const bool plain = ctx->site->num_inputs == 1;
  band b;
  int64_t dims[FY_MAX_RANK + 1], rows = -1, cols = -1;
  if (diagonal->rank < 1) return fail_rank(diagonal, "diagonal", 1, err);
  FY_TRY(read_band(ctx, 1, &b, err));
  FY_TRY(check_order(&b, err));
  for (int i = 2; !plain && i < 4; i++) {
    if (ctx->in[i]->rank == 0) continue;
    return fy_fail(err, FY_INVALID_ARGUMENT, "%s must be a scalar",
                   i == 2 ? "num_rows" : "num_cols");
  }
  if (!plain) {
    rows = fy_tensor_int(ctx->in[2], 0);
    cols = fy_tensor_int(ctx->in[3], 0);
  }
  const bool many = b.lower < b.upper;
  if (many && (diagonal->rank < 2 || diagonal->dims[diagonal->rank - 2] != b.upper - b.lower + 1)) {
    return fy_fail(err, FY_INVALID_ARGUMENT,
                   "The number of diagonals provided in the input does not match the "
                   "lower_diag_index and upper_diag_index range.");
  }
  b.longest = diagonal->dims[diagonal->rank - 1];
  const int64_t min_rows = b.longest - least(b.upper, 0), min_cols = b.longest + most(b.lower, 0);
  if (rows != -1 && rows < min_rows) {
    return fy_fail(err, FY_INVALID_ARGUMENT, "The number of rows is too small.");
  }
  if (cols != -1 && cols < min_cols) {
    return fy_fail(err, FY_INVALID_ARGUMENT, "The number of columns is too small.");
  }
  if (rows == -1 && cols == -1) rows = cols = most(min_rows, min_cols);
  if (rows == -1) rows = min_rows;
  if (cols == -1) cols = min_cols;
  if (rows != min_rows && cols != min_cols) {
    return fy_fail(err, FY_INVALID_ARGUMENT,
                   "The number of rows or columns is not consistent with the specified d_lower, "
                   "d_upper, and diagonal.");
  }
  b.rows = rows;
  b.cols = cols;
  const int32_t batch = diagonal->rank - (many ? 2 : 1);
  if (batch + 2 > FY_MAX_RANK) {
    return fy_fail(err, FY_INVALID_ARGUMENT, "Too many dimensions in tensor");
  }
  for (int32_t d = 0; d < batch; d++) dims[d] = diagonal->dims[d];
  dims[batch] = rows;
  dims[batch + 1] = cols;
  if (!plain && ctx->in[4]->rank) {
    return fy_fail(err, FY_INVALID_ARGUMENT, "Padding must be scalar.");
  }
  FY_TRY(fy_out(ctx, 0, batch + 2, dims, &out, err));
  FY_TRY(fill_out(out, plain ? NULL : ctx->in[4], err));
  if (out->count && diagonal->count) walk(&b, out, diagonal, true);
  return FY_OK;
}

static fy_code matrix_set_diag(fy_kernel_ctx *ctx, fy_error *err) {
  fy_tensor *in = ctx->in[0], *diagonal = ctx->in[1], *out;
  band b;
  if (in->rank < 2) return fail_rank(in, "input", 2, err);
  if (diagonal->rank < 1) return fail_rank(diagonal, "diagonal", 1, err);
  FY_TRY(read_band(ctx, 2, &b, err));
  FY_TRY(check_band(&b, in, "", err));
  if (b.lower < b.upper &&
      (diagonal->rank < 2 || diagonal->dims[diagonal->rank - 2] != b.upper - b.lower + 1)) {
    return fy_fail(err, FY_INVALID_ARGUMENT,
                   "The number of diagonals provided in `diag` is not consistent with "
                   "`lower_diag_index` and `upper_diag_index`");
  }
  int64_t want[FY_MAX_RANK];
  int32_t rank = 0;
  for (; rank < in->rank - 2; rank++) want[rank] = in->dims[rank];
  if (b.lower < b.upper) want[rank++] = b.upper - b.lower + 1;
  want[rank++] = b.longest;
  if (!fy_shape_equal(rank, want, diagonal->rank, diagonal->dims)) {
    return fy_fail(err, FY_INVALID_ARGUMENT,
                   "Either first dimensions of diagonal don't match input.shape[:-2], or "
                   "diagonal.shape[:-1] is not equal to the longests diagonal in range "
                   "[lower_diag_index:upper_diag_index].");
  }
  FY_TRY(fy_out_like(ctx, 0, in, &out, err));
  FY_TRY(fy_copy_run(out->dtype, out->data, 0, in->data, 0, in->count, err));
  if (out->count && fy_dtype_is_plain(out->dtype)) walk(&b, out, diagonal, true);
  return FY_OK;
}

typedef struct band_job {
  const char *in;
  char *out;
  size_t size;
  int64_t rows, cols, lower, upper;  // how many diagonals stay on each side; negative: all
} band_job;

// Item: a line of a matrix.
static void band_lines(void *arg, int64_t first, int64_t last) {
  const band_job *j = arg;
  for (int64_t line = first; line < last; line++) {
    const int64_t r = line % j->rows, at = line * j->cols;
    const int64_t begin = j->lower < 0 ? 0 : least(j->cols, most(0, r - j->lower));
    const int64_t end = j->upper < 0 ? j->cols : most(begin, least(j->cols, r + j->upper + 1));
    char *to = j->out + (size_t)at * j->size;
    memset(to, 0, (size_t)begin * j->size);
    memcpy(to + (size_t)begin * j->size, j->in + (size_t)(at + begin) * j->size,
           (size_t)(end - begin) * j->size);
    memset(to + (size_t)end * j->size, 0, (size_t)(j->cols - end) * j->size);
  }
}

static fy_code band_part(fy_kernel_ctx *ctx, fy_error *err) {
  const fy_tensor *in = ctx->in[0];
  fy_tensor *out;
  char x[128];
  if (in->rank < 2) return fail_rank(in, "input", 2, err);
  const int64_t rows = in->dims[in->rank - 2], cols = in->dims[in->rank - 1];
  int64_t keep[2];
  for (int i = 0; i < 2; i++) {
    const char *name = i ? "num_upper" : "num_lower";
    const int64_t limit = i ? cols : rows;
    if (ctx->in[i + 1]->rank != 0) {
      return fy_fail(err, FY_INVALID_ARGUMENT, "%s must be scalar, got shape %s", name,
                     fy_tensor_shape_text(ctx->in[i + 1], x));
    }
    keep[i] = fy_tensor_int(ctx->in[i + 1], 0);
    if (keep[i] > limit) {
      return fy_fail(err, FY_INVALID_ARGUMENT,
                     "%s must be negative or less or equal to number of %s (%lld) got: %lld", name,
                     i ? "columns" : "rows", (long long)limit, (long long)keep[i]);
    }
  }
  FY_TRY(fy_out_like(ctx, 0, in, &out, err));
  if (out->count == 0) return FY_OK;
  if (!fy_dtype_is_plain(out->dtype)) return fail_objects(out, err);
  band_job j = {in->data, out->data, fy_dtype_storage(in->dtype), rows, cols, keep[0], keep[1]};
  fy_parallel(ctx, in->count / cols, 10 + 0.08 * (double)cols * (double)j.size, band_lines, &j);
  return FY_OK;
}

// ---------------------------------------------------------------- Diag, DiagPart: any rank
static fy_code diag(fy_kernel_ctx *ctx, fy_error *err) {
  const fy_tensor *in = ctx->in[0];
  fy_tensor *out;
  int64_t dims[2 * FY_MAX_RANK];
  if (in->rank < 1) {
    return fy_fail(err, FY_INVALID_ARGUMENT, "Input must be at least rank 1, got 0");
  }
  if (2 * in->rank > FY_MAX_RANK) {
    return fy_fail(err, FY_INVALID_ARGUMENT, "Too many dimensions in tensor");
  }
  for (int32_t d = 0; d < in->rank; d++) dims[d] = dims[d + in->rank] = in->dims[d];
  FY_TRY(fy_out(ctx, 0, 2 * in->rank, dims, &out, err));
  FY_TRY(fill_out(out, NULL, err));
  for (int64_t i = 0; i < in->count; i++) copy_one(out, i * (in->count + 1), in, i);
  return FY_OK;
}

static fy_code diag_part(fy_kernel_ctx *ctx, fy_error *err) {
  const fy_tensor *in = ctx->in[0];
  fy_tensor *out;
  char x[128];
  const int32_t half = in->rank / 2;
  if (in->rank % 2) {
    return fy_fail(err, FY_INVALID_ARGUMENT,
                   "The rank of the tensor should be                                          even "
                   "and positive, got shape %s",
                   fy_tensor_shape_text(in, x));
  }
  for (int32_t d = 0; d < half; d++) {
    if (in->dims[d] == in->dims[d + half]) continue;
    return fy_fail(err, FY_INVALID_ARGUMENT, "Invalid shape %s: dimensions %d and %d do not match.",
                   fy_tensor_shape_text(in, x), d, d + half);
  }
  FY_TRY(fy_out(ctx, 0, half, in->dims, &out, err));
  for (int64_t i = 0; i < out->count; i++) copy_one(out, i, in, i * (out->count + 1));
  return FY_OK;
}

// ---------------------------------------------------------------- shapes
static fy_code diag_shape(fy_shape_ctx *ctx, fy_error *err) {
  const fy_pshape in = ctx->in[0];
  int64_t dims[2 * FY_MAX_RANK];
  FY_TRY(fy_shape_rank_at_least(in, 1, err));
  if (in.rank < 0) return FY_OK;
  for (int32_t d = 0; d < in.rank; d++) dims[d] = dims[d + in.rank] = in.dims[d];
  return fy_shape_set(ctx, 0, 2 * in.rank, dims, err);
}
static fy_code diag_part_shape(fy_shape_ctx *ctx, fy_error *err) {
  const fy_pshape in = ctx->in[0];
  int64_t dims[FY_MAX_RANK];
  if (in.rank < 0) return FY_OK;
  if (in.rank % 2 || in.rank == 0) {
    return fy_fail(err, FY_INVALID_ARGUMENT,
                   "Input must have even and non-zero rank, input rank is %d", in.rank);
  }
  for (int32_t d = 0; d < in.rank / 2; d++) {
    FY_TRY(fy_dim_merge(in.dims[d], in.dims[d + in.rank / 2], &dims[d], err));
  }
  return fy_shape_set(ctx, 0, in.rank / 2, dims, err);
}

// Input |i| as the band's ends; |*known| false when they are not.
static fy_code shape_band(fy_shape_ctx *ctx, int i, int64_t *lower, int64_t *upper, bool *known,
                          fy_error *err) {
  *lower = *upper = 0;
  *known = true;
  if (i >= ctx->num_inputs) return FY_OK;
  FY_TRY(fy_shape_rank_at_most(ctx->in[i], 1, err));
  const fy_tensor *v = fy_shape_tensor(ctx, i);
  *known = v && fy_shape_known(ctx->in[i]);
  if (!*known) return FY_OK;
  if (v->count < 1 || v->count > 2) {
    return fy_fail(err, FY_INVALID_ARGUMENT,
                   "diag_index must be a vector with one or two elements. It has %lld elements.",
                   (long long)v->count);
  }
  *lower = fy_tensor_int(v, 0);
  *upper = fy_tensor_int(v, v->count - 1);
  if (*lower <= *upper) return FY_OK;
  return fy_fail(err, FY_INVALID_ARGUMENT, "lower_diag_index is greater than upper_diag_index");
}

// A diagonal number 0 exists even in an empty matrix.
static fy_code band_fits(fy_pshape in, int64_t lower, int64_t upper, fy_error *err) {
  const int64_t rows = in.dims[in.rank - 2], cols = in.dims[in.rank - 1];
  if (rows < 0 || cols < 0) return FY_OK;
  if (lower != 0 && (-rows >= lower || lower >= cols)) {
    return fy_fail(err, FY_INVALID_ARGUMENT, "lower_diag_index is out of bound.");
  }
  if (upper != 0 && (-rows >= upper || upper >= cols)) {
    return fy_fail(err, FY_INVALID_ARGUMENT, "upper_diag_index is out of bound.");
  }
  return FY_OK;
}

static int64_t smaller_dim(int64_t a, int64_t b) {
  return a == 0 || b == 0 ? 0 : a < 0 || b < 0 ? -1 : least(a, b);
}

static fy_code matrix_diag_part_shape(fy_shape_ctx *ctx, fy_error *err) {
  const fy_pshape in = ctx->in[0];
  int64_t lower, upper, dims[FY_MAX_RANK];
  bool known;
  FY_TRY(fy_shape_rank_at_least(in, 2, err));
  if (ctx->num_inputs > 2) FY_TRY(fy_shape_rank_is(ctx->in[2], 0, err));
  if (in.rank < 0 && ctx->num_inputs > 1) return fy_shape_rank_at_most(ctx->in[1], 1, err);
  FY_TRY(shape_band(ctx, 1, &lower, &upper, &known, err));
  if (in.rank < 0 || !known) return FY_OK;
  const int64_t rows = in.dims[in.rank - 2], cols = in.dims[in.rank - 1];
  FY_TRY(band_fits(in, lower, upper, err));
  int32_t rank = 0;
  for (; rank < in.rank - 2; rank++) dims[rank] = in.dims[rank];
  if (lower < upper) dims[rank++] = upper - lower + 1;
  if (ctx->num_inputs == 1) {
    dims[rank++] = smaller_dim(rows, cols);
  } else {
    dims[rank++] = rows < 0 || cols < 0 ? -1 : least(rows + least(upper, 0), cols - most(lower, 0));
  }
  return fy_shape_set(ctx, 0, rank, dims, err);
}

static fy_code matrix_diag_shape(fy_shape_ctx *ctx, fy_error *err) {
  const fy_pshape in = ctx->in[0];
  int64_t lower, upper, rows = -1, cols = -1, dims[FY_MAX_RANK + 1];
  bool known, rows_known = true, cols_known = true;
  FY_TRY(fy_shape_rank_at_least(in, 1, err));
  for (int i = 2; i < ctx->num_inputs; i++) FY_TRY(fy_shape_rank_is(ctx->in[i], 0, err));
  if (in.rank < 0 && ctx->num_inputs > 1) return fy_shape_rank_at_most(ctx->in[1], 1, err);
  FY_TRY(shape_band(ctx, 1, &lower, &upper, &known, err));
  if (in.rank < 0 || !known) return FY_OK;
  if (ctx->num_inputs > 1) {
    rows_known = fy_shape_int_value(ctx, 2, &rows);
    cols_known = fy_shape_int_value(ctx, 3, &cols);
  }
  const int32_t batch = in.rank - (lower < upper ? 2 : 1);
  if (batch < 0) {
    return fy_fail(err, FY_INVALID_ARGUMENT,
                   "Out of range dim_index -1 for shape with %d dimensions", in.rank);
  }
  for (int32_t d = 0; d < batch; d++) dims[d] = in.dims[d];
  const int64_t n = in.dims[in.rank - 1];
  if (lower < upper && in.dims[batch] >= 0 && in.dims[batch] != upper - lower + 1) {
    return fy_fail(
        err, FY_INVALID_ARGUMENT,
        "The number of rows of `diagonal` doesn't match the number of diagonals implied "
        "from `d_lower` and `d_upper`.\nnum_diags = %lld, d_lower = %lld, d_upper = %lld",
        (long long)in.dims[batch], (long long)lower, (long long)upper);
  }
  const int64_t min_rows = n - least(upper, 0), min_cols = n + most(lower, 0);
  if (rows_known && rows != -1 && rows < min_rows) {
    return fy_fail(err, FY_INVALID_ARGUMENT, "num_rows is too small");
  }
  if (cols_known && cols != -1 && cols < min_cols) {
    return fy_fail(err, FY_INVALID_ARGUMENT, "num_cols is too small.");
  }
  if (rows_known && cols_known && rows != -1 && cols != -1 && rows != min_rows &&
      cols != min_cols) {
    return fy_fail(err, FY_INVALID_ARGUMENT,
                   "num_rows and num_cols are not consistent with lower_diag_index, "
                   "upper_diag_index, and the length of the given diagonals.\nnum_rows = %lld != "
                   "min_num_rows = %lld, num_cols = %lld != min_num_cols = %lld",
                   (long long)rows, (long long)min_rows, (long long)cols, (long long)min_cols);
  }
  // What the unknown one will be, -1 or a number, changes the other (TensorFlow takes it for -1).
  if (rows_known && cols_known && n >= 0) {
    if (rows == -1 && cols == -1) rows = cols = most(min_rows, min_cols);
    if (rows == -1) rows = min_rows;
    if (cols == -1) cols = min_cols;
  }
  dims[batch] = rows_known && rows >= 0 ? rows : -1;
  dims[batch + 1] = cols_known && cols >= 0 ? cols : -1;
  return fy_shape_set(ctx, 0, batch + 2, dims, err);
}

static fy_code matrix_set_diag_shape(fy_shape_ctx *ctx, fy_error *err) {
  const fy_pshape in = ctx->in[0], d = ctx->in[1];
  const bool first = ctx->num_inputs == 2;
  int64_t lower, upper, merged;
  bool known;
  FY_TRY(fy_shape_rank_at_least(in, 2, err));
  FY_TRY(fy_shape_rank_at_least(d, 1, err));
  FY_TRY(shape_band(ctx, 2, &lower, &upper, &known, err));
  const bool matrix = known && lower < upper;
  if (in.rank >= 0 && known) {
    FY_TRY(fy_shape_rank_is(d, matrix ? in.rank : in.rank - 1, err));
  } else if (in.rank >= 0) {
    FY_TRY(fy_shape_rank_at_least(d, in.rank - 1, err));
    FY_TRY(fy_shape_rank_at_most(d, in.rank, err));
  }
  if (in.rank >= 0 && !first) FY_TRY(band_fits(in, lower, upper, err));
  if (in.rank >= 0 && first && d.rank >= 0) {
    FY_TRY(fy_dim_merge(smaller_dim(in.dims[in.rank - 2], in.dims[in.rank - 1]), d.dims[d.rank - 1],
                        &merged, err));
  }
  if (d.rank < 0 || fy_shape_known(in)) return fy_shape_set(ctx, 0, in.rank, in.dims, err);
  // The batch as the diagonals tell it.
  const int32_t batch = d.rank - (matrix ? 2 : 1);
  if (batch < 0) {
    return fy_fail(err, FY_INVALID_ARGUMENT,
                   "Subshape end out of bounds: %d, for shape with rank %d", batch - d.rank,
                   d.rank);
  }
  int64_t *dims = fy_shape_dims(ctx, batch + 2);
  if (!dims) return fy_fail_oom(err, sizeof *dims);
  for (int32_t i = 0; i < batch; i++) dims[i] = d.dims[i];
  return fy_shape_merge(ctx, in, (fy_pshape){batch + 2, dims}, &ctx->out[0], err);
}

static const fy_sample diag_samples[] = {
    {"i32[2]=3,4", NULL, FY_OK, "3,0,0,4"},
    {"f32[]=3", NULL, FY_INVALID_ARGUMENT, "Input must be at least rank 1, got 0"},
};
static const fy_sample diag_part_samples[] = {
    {"i32[2,2]=iota", NULL, FY_OK, "0,3"},
    {"f32[2,3]=iota", NULL, FY_INVALID_ARGUMENT, "dimensions 0 and 1 do not match"},
};
static const fy_sample matrix_diag_samples[] = {{"i32[1,2]=3,4", NULL, FY_OK, "3,0,0,4"}};
static const fy_sample matrix_diag_v2_samples[] = {
    {"i32[2]=3,4; i32[1]=1; i32[]=-1; i32[]=-1; i32[]=9", NULL, FY_OK, "9,3,9,9,9,4,9,9,9"},
    {"i32[2]=3,4; i32[1]=0; i32[]=1; i32[]=-1; i32[]=9", NULL, FY_INVALID_ARGUMENT,
     "The number of rows is too small."},
};
static const fy_sample part_samples[] = {
    {"i32[2,3]=iota", NULL, FY_OK, "0,4"},
    {"i32[3]=iota", NULL, FY_INVALID_ARGUMENT, "input must be at least 2-dim"},
};
static const fy_sample part_v2_samples[] = {
    {"i32[2,3]=iota; i32[2]=0,1; i32[]=9", NULL, FY_OK, "1,5,0,4"},
    {"i32[2,3]=iota; i32[1]=7; i32[]=9", NULL, FY_INVALID_ARGUMENT,
     "lower_diag_index is out of bound: 7. It must be between -2 and 3"},
};
static const fy_sample set_samples[] = {
    {"i32[2,2]=iota; i32[2]=8,9", NULL, FY_OK, "8,1,2,9"},
};
static const fy_sample set_v2_samples[] = {
    {"i32[2,2]=iota; i32[1]=8; i32[]=1", NULL, FY_OK, "0,8,2,3"},
    {"i32[2,2]=iota; i32[3]=8,9,9; i32[]=0", NULL, FY_INVALID_ARGUMENT,
     "Either first dimensions of diagonal don't match"},
};
static const fy_sample band_samples[] = {
    {"i32[3,3]=iota; i64[]=0; i64[]=-1", NULL, FY_OK, "0,1,2,0,4,5,0,0,8"},
    {"i32[1,1]=iota; i64[]=5; i64[]=-1", NULL, FY_INVALID_ARGUMENT, "num_lower must be negative"},
};

FY_OP(Diag, .shape = diag_shape, .compute = diag, FY_SAMPLES(diag_samples));
FY_OP(DiagPart, .shape = diag_part_shape, .compute = diag_part, FY_SAMPLES(diag_part_samples));
FY_OP(MatrixDiag, .shape = matrix_diag_shape, .compute = matrix_diag,
      FY_SAMPLES(matrix_diag_samples));
FY_OP(MatrixDiagV2, .shape = matrix_diag_shape, .compute = matrix_diag, .host_inputs = 0x1E,
      FY_SAMPLES(matrix_diag_v2_samples));
FY_OP(MatrixDiagV3, .shape = matrix_diag_shape, .compute = matrix_diag, .host_inputs = 0x1E,
      FY_SAMPLES(matrix_diag_v2_samples));
FY_OP(MatrixDiagPart, .shape = matrix_diag_part_shape, .compute = matrix_diag_part,
      FY_SAMPLES(part_samples));
FY_OP(MatrixDiagPartV2, .shape = matrix_diag_part_shape, .compute = matrix_diag_part,
      .host_inputs = 0x6, FY_SAMPLES(part_v2_samples));
FY_OP(MatrixDiagPartV3, .shape = matrix_diag_part_shape, .compute = matrix_diag_part,
      .host_inputs = 0x6, FY_SAMPLES(part_v2_samples));
FY_OP(MatrixSetDiag, .shape = matrix_set_diag_shape, .compute = matrix_set_diag,
      FY_SAMPLES(set_samples));
FY_OP(MatrixSetDiagV2, .shape = matrix_set_diag_shape, .compute = matrix_set_diag,
      .host_inputs = 1 << 2, FY_SAMPLES(set_v2_samples));
FY_OP(MatrixSetDiagV3, .shape = matrix_set_diag_shape, .compute = matrix_set_diag,
      .host_inputs = 1 << 2, FY_SAMPLES(set_v2_samples));
FY_OP(MatrixBandPart, .shape = fy_shape_unchanged, .compute = band_part, .host_inputs = 0x6,
      FY_SAMPLES(band_samples));

// The names of very old graphs.
FY_OP(BatchMatrixDiag, .shape = matrix_diag_shape, .compute = matrix_diag,
      FY_SAMPLES(matrix_diag_samples));
FY_OP(BatchMatrixDiagPart, .shape = matrix_diag_part_shape, .compute = matrix_diag_part,
      FY_SAMPLES(part_samples));
FY_OP(BatchMatrixSetDiag, .shape = matrix_set_diag_shape, .compute = matrix_set_diag,
      FY_SAMPLES(set_samples));
FY_OP(BatchMatrixBandPart, .shape = fy_shape_unchanged, .compute = band_part, .host_inputs = 0x6,
      FY_SAMPLES(band_samples));
