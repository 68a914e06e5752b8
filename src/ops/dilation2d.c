// SPDX-License-Identifier: Apache-2.0
// dilation2d.c: grey-scale dilation, Dilation2D, and its gradients:
// out[y, x, c] = max over taps of in[y * stride + dy * rate, x * stride + dx * rate, c] +
// filter[dy, dx, c]. The gradients go to the first tap that gave the maximum.

#include "base/alloc.h"
#include "ops/shape_fns.h"
#include "ops/typed.h"
#include "ops/values.h"
#include "ops/window.h"

typedef struct dilate_attrs {
  fy_padding padding;
  int64_t strides[2], rates[2];
} dilate_attrs;

typedef struct dilate_job {
  fy_window w[2];
  int64_t batch, depth;
  const void *in, *filter, *grad;
  void *out;
} dilate_job;

#define ADD(S, x, y)     ((x) + (y))
#define ADD_INT(S, x, y) ((fy_a_##S)((fy_u_##S)(x) + (fy_u_##S)(y)))

// The best tap of (image, y, x, c): its value, input pixel and position.
#define BEST(E, S, PLUS)                                                                        \
  static fy_t_##S best_##S(const dilate_job *j, int64_t image, int64_t y, int64_t x, int64_t c, \
                           int64_t *in_at, int64_t *tap_at) {                                   \
    const fy_window *h = &j->w[0], *w = &j->w[1];                                               \
    fy_t_##S top = FY_ST_##S(FY_LOWEST_##S);                                                    \
    const int64_t y0 = y * h->stride - h->before, x0 = x * w->stride - w->before;               \
    const int64_t yt = y0 < h->in ? y0 : h->in - 1, xt = x0 < w->in ? x0 : w->in - 1;           \
    *in_at = (image * h->in + (yt < 0 ? 0 : yt)) * w->in + (xt < 0 ? 0 : xt);                   \
    *tap_at = 0;                                                                                \
    for (int64_t dy = 0; dy < h->size; dy++) {                                                  \
      const int64_t iy = y0 + dy * h->dilation;                                                 \
      if (iy < 0 || iy >= h->in) continue;                                                      \
      for (int64_t dx = 0; dx < w->size; dx++) {                                                \
        const int64_t ix = x0 + dx * w->dilation;                                               \
        if (ix < 0 || ix >= w->in) continue;                                                    \
        const int64_t from = (image * h->in + iy) * w->in + ix, tap = dy * w->size + dx;        \
        const fy_a_##S a = FY_LD_##S(((const fy_t_##S *)j->in)[from * j->depth + c]);           \
        const fy_a_##S b = FY_LD_##S(((const fy_t_##S *)j->filter)[tap * j->depth + c]);        \
        const fy_t_##S v = FY_ST_##S(PLUS(S, a, b));                                            \
        if (FY_LD_##S(v) > FY_LD_##S(top)) {                                                    \
          top = v;                                                                              \
          *in_at = from;                                                                        \
          *tap_at = tap;                                                                        \
        }                                                                                       \
      }                                                                                         \
    }                                                                                           \
    return top;                                                                                 \
  }                                                                                             \
  static void forward_##S(void *arg, int64_t begin, int64_t end) {                              \
    const dilate_job *j = arg;                                                                  \
    int64_t in_at, tap_at;                                                                      \
    for (int64_t p = begin; p < end; p++) {                                                     \
      const int64_t x = p % j->w[1].out, y = p / j->w[1].out % j->w[0].out;                     \
      const int64_t image = p / j->w[1].out / j->w[0].out;                                      \
      for (int64_t c = 0; c < j->depth; c++) {                                                  \
        ((fy_t_##S *)j->out)[p * j->depth + c] = best_##S(j, image, y, x, c, &in_at, &tap_at);  \
      }                                                                                         \
    }                                                                                           \
  }                                                                                             \
  static void backward_##S(const dilate_job *j, bool to_filter) {                               \
    int64_t in_at, tap_at;                                                                      \
    fy_t_##S *out = j->out;                                                                     \
    for (int64_t p = 0; p < j->batch * j->w[0].out * j->w[1].out; p++) {                        \
      const int64_t x = p % j->w[1].out, y = p / j->w[1].out % j->w[0].out;                     \
      const int64_t image = p / j->w[1].out / j->w[0].out;                                      \
      for (int64_t c = 0; c < j->depth; c++) {                                                  \
        best_##S(j, image, y, x, c, &in_at, &tap_at);                                           \
        const int64_t to = (to_filter ? tap_at : in_at) * j->depth + c;                         \
        const fy_a_##S g = FY_LD_##S(((const fy_t_##S *)j->grad)[p * j->depth + c]);            \
        out[to] = FY_ST_##S(PLUS(S, FY_LD_##S(out[to]), g));                                    \
      }                                                                                         \
    }                                                                                           \
  }
FY_REAL_TYPES(BEST, ADD)
FY_INT_TYPES(BEST, ADD_INT)
typedef void (*forward_fn)(void *arg, int64_t begin, int64_t end);
typedef void (*backward_fn)(const dilate_job *j, bool to_filter);
static const forward_fn forwards[FY_DTYPE_COUNT] = {FY_ORDERED_TYPES(FY_LOOP_ENTRY, forward)};
static const backward_fn backwards[FY_DTYPE_COUNT] = {FY_ORDERED_TYPES(FY_LOOP_ENTRY, backward)};

static fy_code prepare(fy_site *site, fy_error *err) {
  static const char *const names[] = {"strides", "rates"};
  dilate_attrs a;
  for (int i = 0; i < 2; i++) {
    const fy_attr *list = fy_site_attr(site, names[i]);
    if (!list || !list->is_list || list->n != 4) {
      return fy_fail(err, FY_INVALID_ARGUMENT,
                     i == 0 ? "Sliding window stride field must specify 4 dimensions"
                            : "Input stride (atrous rate) field must specify 4 dimensions");
    }
    const int64_t *v = list->v.ints;
    if (v[0] != 1 || v[3] != 1) {
      return fy_fail(err, FY_UNIMPLEMENTED,
                     i == 0 ? "Stride is only supported across spatial dimensions."
                            : "Rate is only supported across spatial dimensions.");
    }
    int64_t *to = i == 0 ? a.strides : a.rates;
    to[0] = v[1];
    to[1] = v[2];
  }
  a.padding = fy_view_is(fy_site_string(site, "padding"), "VALID") ? FY_PAD_VALID : FY_PAD_SAME;
  dilate_attrs *state = fy_malloc(sizeof *state);
  if (!state) return fy_fail_oom(err, sizeof *state);
  *state = a;
  site->state = state;
  return FY_OK;
}

// A window whose rate may be any number: at 0 all taps see the same, below it they stand in reverse.
static fy_code window(int64_t in, int64_t size, int64_t stride, int64_t rate, fy_padding padding,
                      fy_window *out, fy_error *err) {
  *out = (fy_window){.in = in, .stride = stride, .dilation = 1};
  if (__builtin_mul_overflow(size - 1, rate, &out->size)) out->size = INT64_MAX - 1;
  out->size++;
  FY_TRY(fy_window_resolve(out, padding, err));
  out->size = size;
  out->dilation = rate;
  return FY_OK;
}

static fy_code geometry(fy_kernel_ctx *ctx, dilate_job *j, fy_error *err) {
  const dilate_attrs *a = ctx->site->state;
  const fy_tensor *in = ctx->in[0], *filter = ctx->in[1];
  char x[128];
  if (in->rank != 4) {
    return fy_fail(err, FY_INVALID_ARGUMENT, "input must be 4-dimensional%s",
                   fy_tensor_shape_text(in, x));
  }
  if (filter->rank != 3) {
    return fy_fail(err, FY_INVALID_ARGUMENT, "filter must be 3-dimensional: %s",
                   fy_tensor_shape_text(filter, x));
  }
  j->batch = in->dims[0];
  j->depth = in->dims[3];
  if (j->depth != filter->dims[2]) {
    return fy_fail(err, FY_INVALID_ARGUMENT,
                   "input and filter must have the same depth: %lld vs %lld", (long long)j->depth,
                   (long long)filter->dims[2]);
  }
  for (int i = 0; i < 2; i++) {
    FY_TRY(window(in->dims[1 + i], filter->dims[i], a->strides[i], a->rates[i], a->padding,
                  &j->w[i], err));
  }
  j->in = in->data;
  j->filter = filter->data;
  if (!forwards[in->dtype] || filter->dtype != in->dtype) {
    return fy_fail(err, FY_UNIMPLEMENTED, "%s has no loop for %s", ctx->site->op->impl->name,
                   fy_dtype_name(in->dtype));
  }
  return FY_OK;
}

static fy_code dilate(fy_kernel_ctx *ctx, fy_error *err) {
  dilate_job j = {.grad = NULL};
  fy_tensor *out;
  FY_TRY(geometry(ctx, &j, err));
  const int64_t dims[] = {j.batch, j.w[0].out, j.w[1].out, j.depth};
  FY_TRY(fy_out(ctx, 0, 4, dims, &out, err));
  if (out->count == 0) return FY_OK;
  j.out = out->data;
  fy_parallel(ctx, out->count / j.depth,
              2.0 * (double)j.depth * (double)j.w[0].size * (double)j.w[1].size,
              forwards[ctx->in[0]->dtype], &j);
  return FY_OK;
}

static fy_code gradient(fy_kernel_ctx *ctx, bool to_filter, fy_error *err) {
  const fy_tensor *grad = ctx->in[2];
  dilate_job j = {.grad = grad->data};
  fy_tensor *out;
  FY_TRY(geometry(ctx, &j, err));
  const int64_t dims[] = {j.batch, j.w[0].out, j.w[1].out, j.depth};
  if (!fy_shape_equal(grad->rank, grad->dims, 4, dims) || grad->dtype != ctx->in[0]->dtype) {
    return fy_fail(err, FY_INVALID_ARGUMENT, "out_backprop has incompatible size.");
  }
  FY_TRY(fy_out_like(ctx, 0, ctx->in[to_filter ? 1 : 0], &out, err));
  if (out->count == 0) return FY_OK;
  memset(out->data, 0, fy_tensor_bytes(out));
  if (ctx->in[0]->count == 0 || ctx->in[1]->count == 0) return FY_OK;
  j.out = out->data;
  backwards[grad->dtype](&j, to_filter);
  return FY_OK;
}
static fy_code to_input(fy_kernel_ctx *ctx, fy_error *err) {
  return gradient(ctx, false, err);
}
static fy_code to_filter(fy_kernel_ctx *ctx, fy_error *err) {
  return gradient(ctx, true, err);
}

static fy_code dilate_shape(fy_shape_ctx *ctx, fy_error *err) {
  static const char *const names[] = {"strides", "rates"};
  const fy_pshape in = ctx->in[0], filter = ctx->in[1];
  const int64_t *lists[2];
  FY_TRY(fy_shape_rank_is(in, 4, err));
  FY_TRY(fy_shape_rank_is(filter, 3, err));
  for (int i = 0; i < 2; i++) {
    const fy_attr *list = fy_attrs_get(ctx->attrs, names[i]);
    const int n = list && list->is_list ? (int)list->n : 0;
    if (n != 4) {
      return fy_fail(err, FY_INVALID_ARGUMENT,
                     "Dilation2D requires the %s attribute to contain 4 values, but got: %d",
                     i == 0 ? "stride" : "rates", n);
    }
    lists[i] = list->v.ints;
  }
  const fy_attr *padding = fy_attrs_get(ctx->attrs, "padding");
  const bool valid =
      padding && padding->kind == FY_ATTR_STRING && fy_view_is(padding->v.s, "VALID");
  int64_t dims[4] = {fy_dim_of(in, 0), -1, -1, -1};
  FY_TRY(fy_dim_merge(fy_dim_of(in, 3), fy_dim_of(filter, 2), &dims[3], err));
  const bool known = fy_dim_of(in, 1) >= 0 && fy_dim_of(in, 2) >= 0 && fy_dim_of(filter, 0) >= 0 &&
                     fy_dim_of(filter, 1) >= 0;
  for (int i = 0; known && i < 2; i++) {
    fy_window w;
    FY_TRY(window(fy_dim_of(in, 1 + i), fy_dim_of(filter, i), lists[0][1 + i], lists[1][1 + i],
                  valid ? FY_PAD_VALID : FY_PAD_SAME, &w, err));
    dims[1 + i] = w.out;
  }
  return fy_shape_set(ctx, 0, 4, dims, err);
}
static fy_code like_filter(fy_shape_ctx *ctx, fy_error *err) {
  return fy_shape_set(ctx, 0, ctx->in[1].rank, ctx->in[1].dims, err);
}

#define ATTRS "strides=[1,1,1,1]; rates=[1,1,1,1]; padding=\"VALID\""
static const fy_sample samples[] = {
    {"f32[1,2,2,1]=1,2,3,4; f32[2,2,1]=0,5,0,0", ATTRS, FY_OK, "7"},
    {"u8[1,2,2,1]=1,2,3,4; u8[1,1,1]=255", ATTRS, FY_OK, "0,1,2,3"},
    {"f32[1,2,2,1]=1,2,3,4; f32[2,2,2]=zeros", ATTRS, FY_INVALID_ARGUMENT,
     "input and filter must have the same depth: 1 vs 2"},
};
static const fy_sample input_samples[] = {
    {"f32[1,2,2,1]=1,2,3,4; f32[2,2,1]=0,5,0,0; f32[1,1,1,1]=9", ATTRS, FY_OK, "0,9,0,0"},
};
static const fy_sample filter_samples[] = {
    {"f32[1,2,2,1]=1,2,3,4; f32[2,2,1]=0,0,0,0; f32[1,1,1,1]=9", ATTRS, FY_OK, "0,0,0,9"},
};
#define DILATION(Name, shape_fn, run, array)                                             \
  FY_OP(Name, .shape = shape_fn, .prepare = prepare, .compute = run, .release = fy_free, \
        FY_SAMPLES(array))
DILATION(Dilation2D, dilate_shape, dilate, samples);
DILATION(Dilation2DBackpropInput, fy_shape_unchanged, to_input, input_samples);
DILATION(Dilation2DBackpropFilter, like_filter, to_filter, filter_samples);
