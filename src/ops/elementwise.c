// SPDX-License-Identifier: Apache-2.0
// elementwise.c: see elementwise.h.

#include "ops/elementwise.h"

#include "ops/broadcast.h"

typedef struct binary_job {
  fy_binary_loop loop;
  const char *a, *b;
  char *out;
  size_t size_a, size_out;
  const fy_bcast *bcast;
  int64_t count;
  int bad;
} binary_job;

// Loops are cut at multiples of this, so that only the last one meets a vector that is not full.
#define UNIT 64

static void binary_flat(void *arg, int64_t begin, int64_t end) {
  binary_job *j = arg;
  int bad = 0;
  begin *= UNIT, end = end * UNIT < j->count ? end * UNIT : j->count;
  j->loop(j->a + (size_t)begin * j->size_a, 1, j->b + (size_t)begin * j->size_a, 1,
          j->out + (size_t)begin * j->size_out, end - begin, &bad);
  if (bad) __atomic_store_n(&j->bad, bad, __ATOMIC_RELAXED);
}

static fy_code refuse(const char *text, fy_error *err) {
  return fy_fail(err, FY_INVALID_ARGUMENT, "%s", text);
}

static void binary_row(void *arg, const int64_t *at, int64_t out_at, int64_t n) {
  binary_job *j = arg;
  int bad = 0;
  j->loop(j->a + (size_t)at[0] * j->size_a, j->bcast->inner_stride[0],
          j->b + (size_t)at[1] * j->size_a, j->bcast->inner_stride[1],
          j->out + (size_t)out_at * j->size_out, n, &bad);
  if (bad) __atomic_store_n(&j->bad, bad, __ATOMIC_RELAXED);
}

static void binary_rows(void *arg, int64_t begin, int64_t end) {
  binary_job *j = arg;
  fy_bcast_rows(j->bcast, begin, end, binary_row, j);
}

// ---------------------------------------------------------------- short rows
// Rows of a few elements are not worth a call each: operands that repeat are written out, some rows at a
// time, and the loop goes over all of them at once.
#define SHORT_ROW 32
#define WRITTEN   512  // elements
#define MOST_SIZE 16   // bytes of one

static bool is_short(const fy_bcast *b, size_t size) {
  return b->rank == 2 && b->inner < SHORT_ROW && b->dims[0] >= SHORT_ROW && size <= MOST_SIZE;
}

#define SPREAD(TYPE)                               \
  do {                                             \
    const TYPE *x = from;                          \
    TYPE *y = to;                                  \
    for (int64_t r = 0; r < rows; r++, y += n)     \
      for (int64_t i = 0; i < n; i++) y[i] = x[r]; \
  } while (0)
// Each of |rows| elements |n| times.
static void spread(const void *from, void *to, int64_t rows, int64_t n, size_t size) {
  switch (size) {
    case 1: SPREAD(uint8_t); break;
    case 2: SPREAD(uint16_t); break;
    case 4: SPREAD(uint32_t); break;
    case 8: SPREAD(uint64_t); break;
    default:
      for (int64_t i = 0; i < rows * n; i++)
        memcpy((char *)to + (size_t)i * size, (const char *)from + (size_t)(i / n) * size, size);
  }
}

static void binary_short(void *arg, int64_t begin, int64_t end) {
  binary_job *j = arg;
  const fy_bcast *b = j->bcast;
  const int64_t n = b->inner, most = WRITTEN / n;
  const size_t line = (size_t)n * j->size_a;
  _Alignas(64) char written[2][WRITTEN * MOST_SIZE];
  const char *from[2] = {j->a, j->b}, *at[2];
  int bad = 0;
  for (int k = 0; k < 2; k++)  // the same row again and again
    for (int64_t r = 0; r < most && b->inner_stride[k] && !b->strides[k][0]; r++)
      memcpy(written[k] + (size_t)r * line, from[k], line);
  for (int64_t r = begin; r < end; r += most) {
    const int64_t rows = end - r < most ? end - r : most;
    for (int k = 0; k < 2; k++) {
      at[k] = from[k] + (size_t)(r * b->strides[k][0]) * j->size_a;
      if (b->inner_stride[k] && b->strides[k][0]) continue;
      if (!b->inner_stride[k]) spread(at[k], written[k], rows, n, j->size_a);
      at[k] = written[k];
    }
    j->loop(at[0], 1, at[1], 1, j->out + (size_t)(r * n) * j->size_out, rows * n, &bad);
  }
  if (bad) __atomic_store_n(&j->bad, bad, __ATOMIC_RELAXED);
}

static binary_job job_of(fy_binary_loop loop, const fy_tensor *a, const fy_tensor *b,
                         const fy_tensor *out) {
  return (binary_job){.loop = loop,
                      .a = a->data,
                      .b = b->data,
                      .out = out->data,
                      .size_a = fy_dtype_storage(a->dtype),
                      .size_out = fy_dtype_storage(out->dtype),
                      .count = out->count};
}

// Both inputs have one shape.
static fy_code run_flat(fy_kernel_ctx *ctx, fy_binary_loop loop, double ns, const char *bad_text,
                        fy_error *err) {
  const fy_tensor *a = ctx->in[0], *b = ctx->in[1];
  fy_tensor *out;
  FY_TRY(fy_out(ctx, 0, a->rank, a->dims, &out, err));
  if (!out->count) return FY_OK;
  if (FY_LIKELY(fy_loop_is_short(ctx, (double)out->count * ns))) {
    int bad = 0;
    loop(a->data, 1, b->data, 1, out->data, out->count, &bad);
    return FY_UNLIKELY(bad) ? refuse(bad_text, err) : FY_OK;
  }
  binary_job job = job_of(loop, a, b, out);
  fy_parallel(ctx, (out->count + UNIT - 1) / UNIT, ns * UNIT, binary_flat, &job);
  return job.bad ? refuse(bad_text, err) : FY_OK;
}

fy_code fy_binary_run(fy_kernel_ctx *ctx, fy_binary_loop loop, double ns, const char *bad_text,
                      fy_error *err) {
  const fy_tensor *a = ctx->in[0], *b = ctx->in[1];
  if (FY_LIKELY(fy_shape_equal(a->rank, a->dims, b->rank, b->dims)))
    return run_flat(ctx, loop, ns, bad_text, err);
  fy_tensor *out;
  fy_bcast bcast;
  FY_TRY(fy_bcast_init(&bcast, 2, (const fy_tensor *const[]){a, b}, err));
  FY_TRY(fy_out(ctx, 0, bcast.out_rank, bcast.out_dims, &out, err));
  binary_job job = job_of(loop, a, b, out);
  job.bcast = &bcast;
  if (out->count && is_short(&bcast, job.size_a) && fy_dtype_is_plain(a->dtype))
    fy_parallel(ctx, bcast.dims[0], ns * (double)bcast.inner, binary_short, &job);
  else if (out->count)
    fy_parallel(ctx, out->count, ns, binary_rows, &job);
  return job.bad ? refuse(bad_text, err) : FY_OK;
}

fy_code fy_binary_compute(fy_kernel_ctx *ctx, fy_error *err) {
  const fy_op_impl *impl = ctx->site->op->impl;
  const fy_binary_loops *loops = impl->aux;
  const fy_dtype t = ctx->in[0]->dtype;
  const fy_binary_loop loop = loops->loop[t];
  if (FY_UNLIKELY(!loop || ctx->in[1]->dtype != t)) {
    return fy_fail(err, FY_UNIMPLEMENTED, "%s has no loop for %s", impl->name, fy_dtype_name(t));
  }
  return fy_binary_run(ctx, loop, loops->ns > 0 ? loops->ns : 0.5, loops->bad, err);
}

typedef struct unary_job {
  fy_unary_loop loop;
  const char *in;
  char *out;
  size_t size_in, size_out;
  const void *param;
  int64_t count;
} unary_job;

static void unary_range(void *arg, int64_t begin, int64_t end) {
  const unary_job *j = arg;
  begin *= UNIT, end = end * UNIT < j->count ? end * UNIT : j->count;
  j->loop(j->in + (size_t)begin * j->size_in, j->out + (size_t)begin * j->size_out, end - begin,
          j->param);
}

fy_code fy_unary_compute(fy_kernel_ctx *ctx, fy_error *err) {
  const fy_op_impl *impl = ctx->site->op->impl;
  const fy_unary_loops *loops = impl->aux;
  const fy_tensor *in = ctx->in[0];
  const fy_unary_loop loop = loops->loop[in->dtype];
  if (FY_UNLIKELY(!loop)) {
    return fy_fail(err, FY_UNIMPLEMENTED, "%s has no loop for %s", impl->name,
                   fy_dtype_name(in->dtype));
  }
  fy_tensor *out;
  FY_TRY(fy_out_like(ctx, 0, in, &out, err));
  const double ns = loops->ns > 0 ? loops->ns : 0.5;
  if (!out->count) return FY_OK;
  if (FY_LIKELY(fy_loop_is_short(ctx, (double)out->count * ns))) {
    loop(in->data, out->data, out->count, ctx->site->state);
    return FY_OK;
  }
  unary_job job = {loop,
                   in->data,
                   out->data,
                   fy_dtype_storage(in->dtype),
                   fy_dtype_storage(out->dtype),
                   ctx->site->state,
                   out->count};
  fy_parallel(ctx, (out->count + UNIT - 1) / UNIT, ns * UNIT, unary_range, &job);
  return FY_OK;
}
