// SPDX-License-Identifier: Apache-2.0
// select.c: Select (condition of the same shape, a scalar, or one per row) and SelectV2
// (broadcasts).

#include "ops/broadcast.h"
#include "ops/fused.h"
#include "ops/shape_fns.h"
#include "ops/typed.h"
#include "ops/values.h"

typedef struct select_job {
  const fy_bcast *bcast;
  fy_dtype type;
  size_t size;
  const bool *cond;
  const char *yes, *no;
  char *out;
  fy_code code;
  fy_error *err;
} select_job;

// Integers are chosen by masks, so that the compiler sees a vector; a side may be one value.
#define PICK(T)                                                                                    \
  FY_CLONES static void pick_##T(const bool *cond, int64_t sc, const T *y, int64_t sy, const T *n, \
                                 int64_t sn, T *out, int64_t count) {                              \
    const uint8_t *c = (const uint8_t *)cond;                                                      \
    if (!sc) {                                                                                     \
      const T *from = *c ? y : n;                                                                  \
      const int64_t step = *c ? sy : sn;                                                           \
      if (step && from != out) memmove(out, from, (size_t)count * sizeof(T));                      \
      for (int64_t i = 0; !step && i < count; i++) out[i] = *from;                                 \
    } else if (sy && sn) {                                                                         \
      FY_VECTOR for (int64_t i = 0; i < count; i++) {                                              \
        const T m = (T)(0 - (T)c[i]), a = y[i], b = n[i];                                          \
        out[i] = (T)((a & m) | (b & (T)~m));                                                       \
      }                                                                                            \
    } else if (sy) {                                                                               \
      const T b = *n;                                                                              \
      FY_VECTOR for (int64_t i = 0; i < count; i++) {                                              \
        const T m = (T)(0 - (T)c[i]), a = y[i];                                                    \
        out[i] = (T)((a & m) | (b & (T)~m));                                                       \
      }                                                                                            \
    } else {                                                                                       \
      const T a = *y;                                                                              \
      FY_VECTOR for (int64_t i = 0; i < count; i++) {                                              \
        const T m = (T)(0 - (T)c[i]), b = n[i * sn];                                               \
        out[i] = (T)((a & m) | (b & (T)~m));                                                       \
      }                                                                                            \
    }                                                                                              \
  }
typedef struct bytes16 {
  uint64_t a, b;
} bytes16;
PICK(uint8_t)
PICK(uint16_t)
PICK(uint32_t)
PICK(uint64_t)
static void pick_bytes16(const bool *c, int64_t sc, const bytes16 *y, int64_t sy, const bytes16 *n,
                         int64_t sn, bytes16 *out, int64_t count) {
  for (int64_t i = 0; i < count; i++) out[i] = c[i * sc] ? y[i * sy] : n[i * sn];
}

static void select_row(void *arg, const int64_t *at, int64_t out_at, int64_t n) {
  select_job *j = arg;
  const int64_t sc = j->bcast->inner_stride[0], sy = j->bcast->inner_stride[1];
  const int64_t sn = j->bcast->inner_stride[2];
  const bool *c = j->cond + at[0];
  const char *yes = j->yes + (size_t)at[1] * j->size, *no = j->no + (size_t)at[2] * j->size;
  char *out = j->out + (size_t)out_at * j->size;
  if (!fy_dtype_is_plain(j->type)) {
    for (int64_t i = 0; i < n && !j->code; i++) {
      const bool yes_here = c[i * sc];
      j->code =
          fy_copy_run(j->type, out, i, yes_here ? yes : no, yes_here ? i * sy : i * sn, 1, j->err);
    }
    return;
  }
  if (j->size == 4 && sc && sy && sn && fy_lanes_best()->pick_words) {
    fy_lanes_best()->pick_words(c, yes, no, out, n);
    return;
  }
#define CASE(T) pick_##T(c, sc, (const void *)yes, sy, (const void *)no, sn, (T *)(void *)out, n)
  switch (j->size) {
    case 1: CASE(uint8_t); break;
    case 2: CASE(uint16_t); break;
    case 4: CASE(uint32_t); break;
    case 8: CASE(uint64_t); break;
    default: CASE(bytes16); break;
  }
#undef CASE
}

static void select_rows(void *arg, int64_t begin, int64_t end) {
  const select_job *j = arg;
  fy_bcast_rows(j->bcast, begin, end, select_row, arg);
}

static fy_code run(fy_kernel_ctx *ctx, const fy_bcast *bcast, int32_t rank, const int64_t *dims,
                   fy_error *err) {
  fy_tensor *out;
  FY_TRY(fy_out(ctx, 0, rank, dims, &out, err));
  select_job job = {.bcast = bcast,
                    .type = out->dtype,
                    .size = fy_dtype_storage(out->dtype),
                    .cond = ctx->in[0]->data,
                    .yes = ctx->in[1]->data,
                    .no = ctx->in[2]->data,
                    .out = out->data,
                    .err = err};
  if (out->count == 0) return FY_OK;
  if (fy_dtype_is_plain(out->dtype)) {
    fy_parallel(ctx, out->count, 0.6, select_rows, &job);
  } else {
    select_rows(&job, 0, out->count);
  }
  return job.code;
}

static fy_code select_v2(fy_kernel_ctx *ctx, fy_error *err) {
  fy_bcast bcast;
  FY_TRY(fy_bcast_init(&bcast, 3, (const fy_tensor *const *)ctx->in, err));
  return run(ctx, &bcast, bcast.out_rank, bcast.out_dims, err);
}

static fy_code fail_sizes(fy_kernel_ctx *ctx, int other, fy_error *err) {
  char x[128], y[128];
  return fy_fail(
      err, FY_INVALID_ARGUMENT,
      "Inputs to operation %s of type %s must have the same size and shape.  Input 0: %s "
      "!= input %d: %s",
      ctx->site->node_name, ctx->site->op->impl->name, fy_tensor_shape_text(ctx->in[0], x), other,
      fy_tensor_shape_text(ctx->in[other], y));
}

static fy_code select_v1(fy_kernel_ctx *ctx, fy_error *err) {
  const fy_tensor *cond = ctx->in[0], *yes = ctx->in[1], *no = ctx->in[2];
  char x[128];
  int32_t ranks[3] = {cond->rank, yes->rank, no->rank};
  const int64_t *dims[3] = {cond->dims, yes->dims, no->dims};
  int64_t padded[FY_MAX_RANK];
  const bool per_row = cond->rank == 1 && yes->rank != 1;
  if (per_row && yes->rank < 1) {
    return fy_fail(err, FY_INVALID_ARGUMENT, "'then' must be at least a vector, but saw shape: %s",
                   fy_tensor_shape_text(yes, x));
  }
  if (per_row && yes->dims[0] != cond->count) {
    return fy_fail(err, FY_INVALID_ARGUMENT,
                   "Number of batches of 'then' must match size of 'cond', but saw: %lld vs. %lld",
                   (long long)yes->dims[0], (long long)cond->count);
  }
  const bool same = fy_shape_equal(cond->rank, cond->dims, yes->rank, yes->dims);
  if (!per_row && cond->rank > 0 && !same) return fail_sizes(ctx, 1, err);
  if (!fy_shape_equal(yes->rank, yes->dims, no->rank, no->dims)) {
    if (cond->rank > 0 && !per_row) return fail_sizes(ctx, 2, err);
    char y[128];
    return fy_fail(err, FY_INVALID_ARGUMENT,
                   "'then' and 'else' must have the same size.  but received: %s vs. %s",
                   fy_tensor_shape_text(yes, x), fy_tensor_shape_text(no, y));
  }
  if (per_row) {
    for (int32_t d = 0; d < yes->rank; d++) padded[d] = d == 0 ? cond->count : 1;
    ranks[0] = yes->rank;
    dims[0] = padded;
  }
  fy_bcast bcast;
  FY_TRY(fy_bcast_init_dims(&bcast, 3, ranks, dims, err));
  return run(ctx, &bcast, yes->rank, yes->dims, err);
}

static fy_code select_v1_shape(fy_shape_ctx *ctx, fy_error *err) {
  fy_pshape data;
  FY_TRY(fy_shape_merge(ctx, ctx->in[1], ctx->in[2], &data, err));
  const fy_pshape cond = ctx->in[0];
  if (cond.rank == 1 && data.rank > 1) {
    const fy_pshape first = {1, data.dims};
    fy_pshape merged;
    FY_TRY(fy_shape_merge(ctx, cond, first, &merged, err));
  } else if (cond.rank > 0 && data.rank >= 0) {
    fy_pshape merged;
    FY_TRY(cond.rank == 1 && data.rank == 1 ? fy_shape_merge(ctx, cond, data, &merged, err)
                                            : fy_shape_merge(ctx, data, cond, &merged, err));
    data = merged;
  } else if (cond.rank > 1) {
    data = cond;
  }
  return fy_shape_set(ctx, 0, data.rank, data.dims, err);
}

static fy_code select_v2_shape(fy_shape_ctx *ctx, fy_error *err) {
  fy_pshape data;
  FY_TRY(fy_shape_broadcast_two(ctx, ctx->in[1], ctx->in[2], &data, err));
  return fy_shape_broadcast_two(ctx, ctx->in[0], data, &ctx->out[0], err);
}

static const fy_sample v1_samples[] = {
    {"b[2]=true,false; f32[2]=1,2; f32[2]=3,4", NULL, FY_OK, "1,4"},
    {"b[2]=true,false; f32[2,2]=1,2,3,4; f32[2,2]=5,6,7,8", NULL, FY_OK, "1,2,7,8"},
    {"b[]=false; f32[2]=1,2; f32[2]=3,4", NULL, FY_OK, "3,4"},
    {"b[3]=true,false,true; f32[2,2]=ones; f32[2,2]=ones", NULL, FY_INVALID_ARGUMENT,
     "Number of batches of 'then' must match size of 'cond', but saw: 2 vs. 3"},
};
static const fy_sample v2_samples[] = {
    {"b[2,1]=true,false; f32[3]=1,2,3; f32[]=9", NULL, FY_OK, "1,2,3,9,9,9"},
    {"b[2]=true,false; s[2]='a','b'; s[]='z'", NULL, FY_OK, NULL},
    {"b[2]=true,false; f32[3]=ones; f32[3]=ones", NULL, FY_INVALID_ARGUMENT,
     "condition [2], then [3], and else [3] must be broadcastable"},
};

FY_OP(Select, .shape = select_v1_shape, .compute = select_v1, FY_SAMPLES(v1_samples));
FY_OP(SelectV2, .shape = select_v2_shape, .compute = select_v2, FY_SAMPLES(v2_samples));
