// SPDX-License-Identifier: Apache-2.0
// strided.c: see strided.h. Dims that follow each other in both tensors are merged first. What is
// left is rows: copied whole, repeated, or gathered; a transposition is turn.c's.

#include "ops/strided.h"

#include "ops/turn.h"
#include "ops/values.h"

#define TILE   16
#define FEW    8    // columns that are copied one by one
#define HEIGHT 128  // rows of a transposed plane that are written together: whole lines are read
#define WIDTH  512  // columns of it that a thread takes at a time

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
  size_t bytes;           // of the whole output
  fy_kernel_ctx *inside;  // not NULL: rows are so long that the threads share each of them
  int64_t pieces;         // a plane is cut into so many for the threads:
  int64_t height, width;  // rows and columns of each, one of which is all
  fy_code code;           // of objects and strings, which are copied on one thread
  fy_error *err;
} copy_job;

#define TILED(T)                                                                            \
  static void tiled_##T(const plane *what, T *out, const T *in) {                           \
    const plane own = *what, *p = &own; /* bytes may be anybody's, but not of this one */   \
    const bool flat = p->col_stride_in == 0 && p->cols >= FEW;                              \
    const bool wide = (size_t)p->cols * sizeof(T) >= FY_LONG_FILL;                          \
    for (int64_t r = 0; flat && r < p->rows; r++) {                                         \
      const T x = in[r * p->row_stride_in];                                                 \
      T *o = out + r * p->row_stride_out;                                                   \
      if (wide) fy_fill(o, &x, sizeof x, p->cols);                                          \
      for (int64_t c = 0; !wide && c < p->cols; c++) o[c] = x;                              \
    }                                                                                       \
    /* The copies beyond a row are the next row's to overwrite. */                          \
    int64_t done = 0;                                                                       \
    if (p->col_stride_in == 0 && p->cols < FEW && p->row_stride_out == p->cols) {           \
      for (; done * p->cols + FEW <= p->rows * p->cols; done++) {                           \
        const T x = in[done * p->row_stride_in];                                            \
        for (int k = 0; k < FEW; k++) out[done * p->cols + k] = x;                          \
      }                                                                                     \
    }                                                                                       \
    for (int64_t r0 = done; p->cols < FEW && r0 < p->rows; r0 += HEIGHT) {                  \
      const int64_t r1 = r0 + HEIGHT < p->rows ? r0 + HEIGHT : p->rows;                     \
      for (int64_t c = 0; c < p->cols; c++)                                                 \
        for (int64_t r = r0; r < r1; r++)                                                   \
          out[r * p->row_stride_out + c] = in[r * p->row_stride_in + c * p->col_stride_in]; \
    }                                                                                       \
    if (p->col_stride_in == 0 || p->cols < FEW) return;                                     \
    for (int64_t r0 = 0; r0 < p->rows; r0 += TILE) {                                        \
      const int64_t r1 = r0 + TILE < p->rows ? r0 + TILE : p->rows;                         \
      for (int64_t c0 = 0; c0 < p->cols; c0 += TILE) {                                      \
        const int64_t c1 = c0 + TILE < p->cols ? c0 + TILE : p->cols;                       \
        for (int64_t r = r0; r < r1; r++) {                                                 \
          T *o = out + r * p->row_stride_out;                                               \
          const T *i = in + r * p->row_stride_in;                                           \
          for (int64_t c = c0; c < c1; c++) o[c] = i[c * p->col_stride_in];                 \
        }                                                                                   \
      }                                                                                     \
    }                                                                                       \
  }
typedef struct bytes16 {
  uint64_t a, b;
} bytes16;
TILED(uint8_t)
TILED(uint16_t)
TILED(uint32_t)
TILED(uint64_t)
TILED(bytes16)

#define STREAM_BYTES ((size_t)12 << 20)  // results that leave the cache anyway
#define LONG_ROW     ((size_t)1 << 18)   // bytes of a row that threads share
#define SMALL_BYTES  ((size_t)1 << 13)   // of a result that one thread copies sooner than it asks

static int64_t at_most(int64_t n, int64_t most) {
  return n < most ? n : most;
}

#define BACKWARDS(T)                                                                \
  FY_CLONES static void backwards_##T(const plane *p, void *to, const void *from) { \
    const int64_t rows = p->rows, cols = p->cols;                                   \
    for (int64_t r = 0; r < rows; r++) {                                            \
      T *restrict o = (T *)to + r * p->row_stride_out;                              \
      const T *restrict i = (const T *)from + r * p->row_stride_in;                 \
      for (int64_t c = 0; c < cols; c++) o[c] = i[-c];                              \
    }                                                                               \
  }
BACKWARDS(uint8_t)
BACKWARDS(uint16_t)
BACKWARDS(uint32_t)
BACKWARDS(uint64_t)

static fy_code copy_plane(const copy_job *j, const plane *p, char *out, const char *in) {
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
  if (p->col_stride_in == 1 && !j->inside) {
    const int64_t size = (int64_t)j->size;
    fy_copy_rows(out, p->row_stride_out * size, in, p->row_stride_in * size,
                 (size_t)(p->cols * size), p->rows);
    return FY_OK;
  }
  if (p->col_stride_in == 1) {
    for (int64_t r = 0; r < p->rows; r++)
      fy_copy_bytes(j->inside, out + (size_t)(r * p->row_stride_out) * j->size,
                    in + (ptrdiff_t)(r * p->row_stride_in) * (ptrdiff_t)j->size,
                    (size_t)p->cols * j->size);
    return FY_OK;
  }
  if (p->col_stride_in == -1 && j->size <= 8) {
    (j->size == 1   ? backwards_uint8_t
     : j->size == 2 ? backwards_uint16_t
     : j->size == 4 ? backwards_uint32_t
                    : backwards_uint64_t)(p, out, in);
    return FY_OK;
  }
  if (p->row_stride_in == 1 && p->cols >= 8 && p->rows >= 8 && p->col_stride_in > 0) {
    fy_turn_plane(&(fy_turn){.out = out,
                             .in = in,
                             .out_step = p->row_stride_out,
                             .in_step = p->col_stride_in,
                             .rows = p->rows,
                             .cols = p->cols,
                             .size = j->size,
                             .past_cache = j->bytes >= STREAM_BYTES});
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
  int64_t out_at = 0, in_at = 0, rest = begin / j->pieces;
  for (int32_t d = j->rank - 1; d >= 0; d--) {
    index[d] = rest % j->dims[d];
    rest /= j->dims[d];
    out_at += index[d] * j->out_strides[d];
    in_at += index[d] * j->in_strides[d];
  }
  for (int64_t i = begin; i < end; i++) {
    const int64_t piece = i % j->pieces;
    plane p = j->plane;
    const int64_t row = j->height < p.rows ? piece * j->height : 0;
    const int64_t col = j->width < p.cols ? piece * j->width : 0;
    p.rows = at_most(p.rows - row, j->height);
    p.cols = at_most(p.cols - col, j->width);
    const int64_t from = in_at + row * p.row_stride_in + col * p.col_stride_in;
    fy_code code =
        copy_plane(j, &p, j->out + (size_t)(out_at + row * p.row_stride_out + col) * j->size,
                   j->in + (ptrdiff_t)from * (ptrdiff_t)j->size);
    if (code) {
      j->code = code;
      return;
    }
    if (piece + 1 < j->pieces) continue;
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

// |few|: the planes alone are not work for several threads. A transposition is cut across the rows of
// the input, which are then read whole.
static void cut_planes(copy_job *j, bool few) {
  const plane *p = &j->plane;
  j->height = p->rows;
  j->width = p->cols;
  const int64_t quarter = (p->cols / 4 + 63) / 64 * 64;
  if (few && p->row_stride_in == 1 && p->col_stride_in > 1 && quarter >= 128)
    j->width = at_most(quarter, WIDTH);
  else if (few && p->rows > 2 * HEIGHT)
    j->height = HEIGHT * (1 + 256 / p->cols);
  j->pieces = (p->rows + j->height - 1) / j->height * ((p->cols + j->width - 1) / j->width);
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
  const bool plain = fy_dtype_is_plain(j.type);
  j.bytes = (size_t)out->count * j.size;
  if (plain && j.rank == 0 && j.bytes <= SMALL_BYTES) {  // nothing to share
    j.inside = NULL;
    return copy_plane(&j, &j.plane, j.out, j.in);
  }
  const int64_t planes = out->count / (j.plane.rows * j.plane.cols);
  if (plain && planes == 1 && j.plane.rows == 1 && j.plane.col_stride_in == 1) {
    fy_copy_bytes(ctx, j.out, j.in, (size_t)j.plane.cols * j.size);
    return FY_OK;
  }
  cut_planes(&j, plain && planes < 64);
  const bool few = plain && j.plane.col_stride_in == 1 && planes * j.pieces < 2 * ctx->threads;
  j.inside = few && (size_t)j.plane.cols * j.size >= LONG_ROW ? ctx : NULL;
  const double ns = 10 + 0.1 * (double)j.height * (double)j.width * (double)j.size;
  if (plain && !j.inside) {
    fy_parallel(ctx, planes * j.pieces, ns, copy_planes, &j);
  } else {
    copy_planes(&j, 0, planes * j.pieces);
  }
  return j.code;
}

// ---------------------------------------------------------------- short runs
// The last vector of a run ends where the run does and may be copied twice. A loop of four instructions that
// lies across a line of code takes 1.4 times as long.
#define COPY_ROWS(name, BYTES)                                                                 \
  typedef uint8_t name##_bytes __attribute__((vector_size(BYTES)));                            \
  FY_CLONES __attribute__((aligned(64))) static void name(char *to, int64_t to_step,           \
                                                          const char *from, int64_t from_step, \
                                                          size_t bytes, int64_t rows) {        \
    for (int64_t r = 0; r < rows; r++, to += to_step, from += from_step) {                     \
      name##_bytes v, last;                                                                    \
      memcpy(&last, from + bytes - BYTES, sizeof last);                                        \
      for (size_t i = 0; i + BYTES < bytes; i += BYTES)                                        \
        memcpy(&v, from + i, sizeof v), memcpy(to + i, &v, sizeof v);                          \
      memcpy(to + bytes - BYTES, &last, sizeof last);                                          \
    }                                                                                          \
  }
COPY_ROWS(rows_by_32, 32)
COPY_ROWS(rows_by_8, 8)

void fy_copy_rows(void *to, int64_t to_step, const void *from, int64_t from_step, size_t bytes,
                  int64_t rows) {
  if (bytes >= 8 && bytes <= 1024) {
    (bytes >= 32 ? rows_by_32 : rows_by_8)(to, to_step, from, from_step, bytes, rows);
    return;
  }
  for (int64_t r = 0; r < rows; r++)
    memcpy((char *)to + r * to_step, (const char *)from + r * from_step, bytes);
}

// ---------------------------------------------------------------- one long run
typedef struct run_job {
  char *to;
  const char *from;
  size_t bytes;
} run_job;

#define RUN ((size_t)1 << 16)  // bytes that a thread takes at a time

static void copy_runs(void *arg, int64_t begin, int64_t end) {
  const run_job *j = arg;
  const size_t from = (size_t)begin * RUN, to = (size_t)end * RUN;
  memcpy(j->to + from, j->from + from, (to < j->bytes ? to : j->bytes) - from);
}

void fy_copy_bytes(fy_kernel_ctx *ctx, void *to, const void *from, size_t bytes) {
  run_job j = {to, from, bytes};
  if (bytes)
    fy_parallel(ctx, (int64_t)((bytes + RUN - 1) / RUN), 0.05 * (double)RUN, copy_runs, &j);
}

fy_code fy_copy_elements(fy_kernel_ctx *ctx, fy_dtype type, void *dst, int64_t to, const void *src,
                         int64_t from, int64_t count, fy_error *err) {
  const size_t size = fy_dtype_storage(type);
  if (!fy_dtype_is_plain(type)) return fy_copy_run(type, dst, to, src, from, count, err);
  fy_copy_bytes(ctx, (char *)dst + (size_t)to * size, (const char *)src + (size_t)from * size,
                (size_t)count * size);
  return FY_OK;
}
