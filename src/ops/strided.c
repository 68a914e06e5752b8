// SPDX-License-Identifier: Apache-2.0
// strided.c: see strided.h. Dims that follow each other in both tensors are merged first. What is
// left is rows: copied whole, repeated, or gathered; a transposition is done in square tiles so
// that both sides stay in the cache.

#include "ops/strided.h"

#include "ops/typed.h"
#include "ops/values.h"

#define TILE 16

typedef struct plane {  // the innermost one or two dims
  int64_t rows, row_stride_out, row_stride_in;
  int64_t cols, col_stride_in;  // the output's columns are dense
} plane;

typedef struct copy_job {
  fy_dtype type;
  size_t size;
  char *out;
  const char *in;
  int32_t rank;  // of the dims outside the plane
  int64_t dims[FY_STRIDED_RANK], out_strides[FY_STRIDED_RANK], in_strides[FY_STRIDED_RANK];
  plane plane;
  fy_code code;  // of objects and strings, which are copied on one thread
  fy_error *err;
} copy_job;

#define TILED(T)                                                            \
  static void tiled_##T(const plane *p, T *out, const T *in) {              \
    for (int64_t r = 0; p->col_stride_in == 0 && r < p->rows; r++) {        \
      const T x = in[r * p->row_stride_in];                                 \
      T *o = out + r * p->row_stride_out;                                   \
      for (int64_t c = 0; c < p->cols; c++) o[c] = x;                       \
    }                                                                       \
    if (p->col_stride_in == 0) return;                                      \
    for (int64_t r0 = 0; r0 < p->rows; r0 += TILE) {                        \
      const int64_t r1 = r0 + TILE < p->rows ? r0 + TILE : p->rows;         \
      for (int64_t c0 = 0; c0 < p->cols; c0 += TILE) {                      \
        const int64_t c1 = c0 + TILE < p->cols ? c0 + TILE : p->cols;       \
        for (int64_t r = r0; r < r1; r++) {                                 \
          T *o = out + r * p->row_stride_out;                               \
          const T *i = in + r * p->row_stride_in;                           \
          for (int64_t c = c0; c < c1; c++) o[c] = i[c * p->col_stride_in]; \
        }                                                                   \
      }                                                                     \
    }                                                                       \
  }
typedef struct bytes16 {
  uint64_t a, b;
} bytes16;
TILED(uint8_t)
TILED(uint16_t)
TILED(uint32_t)
TILED(uint64_t)
TILED(bytes16)

FY_CLONES static void backwards(const plane *p, uint32_t *restrict out,
                                const uint32_t *restrict in) {
  for (int64_t r = 0; r < p->rows; r++) {
    uint32_t *o = out + r * p->row_stride_out;
    const uint32_t *i = in + r * p->row_stride_in;
    for (int64_t c = 0; c < p->cols; c++) o[c] = i[-c];
  }
}

static fy_code copy_plane(const copy_job *j, char *out, const char *in) {
  const plane *p = &j->plane;
  if (!fy_dtype_is_plain(j->type)) {
    for (int64_t r = 0; r < p->rows; r++) {
      for (int64_t c = 0; c < p->cols; c++) {
        const int64_t to = r * p->row_stride_out + c;
        const int64_t from = r * p->row_stride_in + c * p->col_stride_in;
        FY_TRY(fy_copy_run(j->type, out, to, in, from, 1, j->err));
      }
    }
    return FY_OK;
  }
  if (p->col_stride_in == 1) {
    for (int64_t r = 0; r < p->rows; r++) {
      memcpy(out + (size_t)(r * p->row_stride_out) * j->size,
             in + (ptrdiff_t)(r * p->row_stride_in) * (ptrdiff_t)j->size,
             (size_t)p->cols * j->size);
    }
    return FY_OK;
  }
  if (p->col_stride_in == -1 && j->size == 4) {
    backwards(p, (void *)out, (const void *)in);
    return FY_OK;
  }
  switch (j->size) {
    case 1: tiled_uint8_t(p, (void *)out, (const void *)in); break;
    case 2: tiled_uint16_t(p, (void *)out, (const void *)in); break;
    case 4: tiled_uint32_t(p, (void *)out, (const void *)in); break;
    case 8: tiled_uint64_t(p, (void *)out, (const void *)in); break;
    default: tiled_bytes16(p, (void *)out, (const void *)in); break;
  }
  return FY_OK;
}

static void copy_planes(void *arg, int64_t begin, int64_t end) {
  copy_job *j = arg;
  int64_t index[FY_STRIDED_RANK];
  int64_t out_at = 0, in_at = 0, rest = begin;
  for (int32_t d = j->rank - 1; d >= 0; d--) {
    index[d] = rest % j->dims[d];
    rest /= j->dims[d];
    out_at += index[d] * j->out_strides[d];
    in_at += index[d] * j->in_strides[d];
  }
  for (int64_t i = begin; i < end; i++) {
    fy_code code = copy_plane(j, j->out + (size_t)out_at * j->size,
                              j->in + (ptrdiff_t)in_at * (ptrdiff_t)j->size);
    if (code) {
      j->code = code;
      return;
    }
    for (int32_t d = j->rank - 1; d >= 0; d--) {
      out_at += j->out_strides[d];
      in_at += j->in_strides[d];
      if (++index[d] < j->dims[d]) break;
      out_at -= j->dims[d] * j->out_strides[d];
      in_at -= j->dims[d] * j->in_strides[d];
      index[d] = 0;
    }
  }
}

// Merges dims and leaves the last in j->dims[j->rank - 1].
static void merge_dims(copy_job *j, int32_t rank, const int64_t *dims, const int64_t *strides) {
  j->rank = 0;
  for (int32_t d = 0; d < rank; d++) {
    if (dims[d] == 1) continue;
    const int32_t last = j->rank - 1;
    if (last >= 0 && j->in_strides[last] == strides[d] * dims[d] &&
        (strides[d] != 0 || j->in_strides[last] == 0)) {
      j->dims[last] *= dims[d];
      j->in_strides[last] = strides[d];
    } else {
      j->dims[j->rank] = dims[d];
      j->in_strides[j->rank++] = strides[d];
    }
  }
  fy_dense_strides(j->rank, j->dims, j->out_strides);
}

fy_code fy_strided_copy(fy_kernel_ctx *ctx, fy_tensor *out, const fy_tensor *in, int32_t rank,
                        const int64_t *dims, const int64_t *strides, int64_t offset,
                        fy_error *err) {
  if (out->count == 0) return FY_OK;
  if (ctx->svc->strided && (out->device || in->device))
    return ctx->svc->strided(ctx, out, in, rank, dims, strides, offset, err);
  copy_job j;
  j.type = out->dtype;
  j.size = fy_dtype_storage(out->dtype);
  j.out = out->data;
  j.in = (const char *)in->data + (ptrdiff_t)offset * (ptrdiff_t)j.size;
  j.code = FY_OK;
  j.err = err;
  merge_dims(&j, rank, dims, strides);
  j.plane = (plane){1, 0, 0, 1, 1};
  if (j.rank > 0) {
    const int32_t last = --j.rank;
    j.plane.cols = j.dims[last];
    j.plane.col_stride_in = j.in_strides[last];
    // The row dim of the plane: the one that is dense in the input (a transposition), or the next.
    int32_t pick = j.rank - 1;
    for (int32_t d = 0; d < j.rank && j.plane.col_stride_in != 1; d++) {
      if (j.in_strides[d] == 1) pick = d;
    }
    if (pick >= 0) {
      j.plane.rows = j.dims[pick];
      j.plane.row_stride_out = j.out_strides[pick];
      j.plane.row_stride_in = j.in_strides[pick];
      for (int32_t d = pick; d + 1 < j.rank; d++) {
        j.dims[d] = j.dims[d + 1];
        j.out_strides[d] = j.out_strides[d + 1];
        j.in_strides[d] = j.in_strides[d + 1];
      }
      j.rank--;
    }
  }
  const int64_t planes = out->count / (j.plane.rows * j.plane.cols);
  const double ns = 10 + 0.1 * (double)j.plane.rows * (double)j.plane.cols * (double)j.size;
  if (fy_dtype_is_plain(j.type)) {
    fy_parallel(ctx, planes, ns, copy_planes, &j);
  } else {
    copy_planes(&j, 0, planes);
  }
  return j.code;
}
