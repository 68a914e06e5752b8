// SPDX-License-Identifier: Apache-2.0
// patches.c: ExtractImagePatches: every window of an image as one row of channels; 0 outside it.

#include "base/alloc.h"
#include "ops/shape_fns.h"
#include "ops/values.h"
#include "ops/window.h"

typedef struct patch_attrs {
  fy_padding padding;
  int64_t sizes[2], strides[2], rates[2];
} patch_attrs;

typedef struct patch_job {
  fy_window w[2];
  size_t pixel;  // bytes
  const char *in;
  char *out;
} patch_job;

static void copy_patches(void *arg, int64_t begin, int64_t end) {
  const patch_job *j = arg;
  const fy_window *h = &j->w[0], *w = &j->w[1];
  for (int64_t p = begin; p < end; p++) {
    const int64_t x = p % w->out, y = p / w->out % h->out, image = p / w->out / h->out;
    char *to = j->out + (size_t)(p * h->size * w->size) * j->pixel;
    for (int64_t dy = 0; dy < h->size; dy++) {
      const int64_t iy = fy_window_at(h, y, dy);
      for (int64_t dx = 0; dx < w->size; dx++, to += j->pixel) {
        const int64_t ix = fy_window_at(w, x, dx);
        if (iy < 0 || iy >= h->in || ix < 0 || ix >= w->in) {
          memset(to, 0, j->pixel);
        } else {
          memcpy(to, j->in + (size_t)((image * h->in + iy) * w->in + ix) * j->pixel, j->pixel);
        }
      }
    }
  }
}

static fy_code read_list(const fy_attrs *attrs, const char *name, int64_t to[2], fy_error *err) {
  const fy_attr *list = fy_attrs_get(attrs, name);
  if (!list || !list->is_list || list->n != 4) {
    return fy_fail(err, FY_INVALID_ARGUMENT,
                   "ExtractImagePatches requires the %s attribute to contain 4 values, but got: %d",
                   name, list ? (int)list->n : 0);
  }
  if (list->v.ints[0] != 1 || list->v.ints[3] != 1) {
    return fy_fail(err, FY_UNIMPLEMENTED, "Only support %s across space.", name);
  }
  to[0] = list->v.ints[1];
  to[1] = list->v.ints[2];
  if (to[0] < 1 || to[1] < 1) {
    return fy_fail(err, FY_OUT_OF_RANGE, "%s is out of range.", name);
  }
  return FY_OK;
}

static fy_code read_attrs(const fy_attrs *attrs, patch_attrs *a, fy_error *err) {
  FY_TRY(read_list(attrs, "ksizes", a->sizes, err));
  FY_TRY(read_list(attrs, "strides", a->strides, err));
  FY_TRY(read_list(attrs, "rates", a->rates, err));
  const fy_attr *p = fy_attrs_get(attrs, "padding");
  a->padding =
      p && p->kind == FY_ATTR_STRING && fy_view_is(p->v.s, "VALID") ? FY_PAD_VALID : FY_PAD_SAME;
  return FY_OK;
}

static fy_code prepare(fy_site *site, fy_error *err) {
  patch_attrs a;
  FY_TRY(read_attrs(site->attrs, &a, err));
  patch_attrs *state = fy_malloc(sizeof *state);
  if (!state) return fy_fail_oom(err, sizeof *state);
  *state = a;
  site->state = state;
  return FY_OK;
}

static fy_code extract(fy_kernel_ctx *ctx, fy_error *err) {
  const patch_attrs *a = ctx->site->state;
  const fy_tensor *in = ctx->in[0];
  patch_job j = {.in = in->data};
  char x[128];
  if (in->rank != 4) {
    return fy_fail(err, FY_INVALID_ARGUMENT, "input must be 4-dimensional%s",
                   fy_tensor_shape_text(in, x));
  }
  if (!fy_dtype_is_plain(in->dtype)) {
    return fy_fail(err, FY_UNIMPLEMENTED, "ExtractImagePatches has no loop for %s",
                   fy_dtype_name(in->dtype));
  }
  int64_t dims[4] = {in->dims[0], 0, 0, in->dims[3]};
  for (int i = 0; i < 2; i++) {
    j.w[i] = (fy_window){.in = in->dims[1 + i],
                         .size = a->sizes[i],
                         .stride = a->strides[i],
                         .dilation = a->rates[i]};
    FY_TRY(fy_window_resolve(&j.w[i], a->padding, err));
    dims[1 + i] = j.w[i].out;
    if (__builtin_mul_overflow(dims[3], a->sizes[i], &dims[3])) {
      return fy_fail(err, FY_INVALID_ARGUMENT, "the output is too large");
    }
  }
  fy_tensor *out;
  FY_TRY(fy_out(ctx, 0, 4, dims, &out, err));
  if (out->count == 0) return FY_OK;
  j.pixel = (size_t)in->dims[3] * fy_dtype_storage(in->dtype);
  j.out = out->data;
  fy_parallel(ctx, out->count / dims[3],
              (double)a->sizes[0] * (double)a->sizes[1] * (5 + 0.1 * (double)j.pixel), copy_patches,
              &j);
  return FY_OK;
}

// Only lengths are looked at here; what the numbers must be, the kernel says.
static fy_code extract_shape(fy_shape_ctx *ctx, fy_error *err) {
  static const char *const names[] = {"ksizes", "strides", "rates"};
  const fy_pshape in = ctx->in[0];
  const int64_t *lists[3];
  FY_TRY(fy_shape_rank_is(in, 4, err));
  for (int i = 0; i < 3; i++) {
    const fy_attr *list = fy_attrs_get(ctx->attrs, names[i]);
    if (!list || !list->is_list || list->n != 4) {
      return fy_fail(
          err, FY_INVALID_ARGUMENT,
          "ExtractImagePatches requires the %s attribute to contain 4 values, but got: %d",
          names[i], list ? (int)list->n : 0);
    }
    lists[i] = list->v.ints;
  }
  const fy_attr *p = fy_attrs_get(ctx->attrs, "padding");
  const bool valid = p && p->kind == FY_ATTR_STRING && fy_view_is(p->v.s, "VALID");
  int64_t dims[4] = {fy_dim_of(in, 0), -1, -1, fy_dim_of(in, 3)};
  for (int i = 0; i < 2; i++) {
    const int64_t size = lists[0][1 + i], rate = lists[2][1 + i], n = fy_dim_of(in, 1 + i);
    if (dims[3] < 0 || size < 0 || __builtin_mul_overflow(dims[3], size, &dims[3])) dims[3] = -1;
    if (n < 0 || size < 0 || size > INT32_MAX || rate < 0 || rate > INT32_MAX) continue;
    fy_window w = {
        .in = n, .size = (size - 1) * rate + 1, .stride = lists[1][1 + i], .dilation = 1};
    FY_TRY(fy_window_resolve(&w, valid ? FY_PAD_VALID : FY_PAD_SAME, err));
    dims[1 + i] = w.out;
  }
  return fy_shape_set(ctx, 0, 4, dims, err);
}

static const fy_sample samples[] = {
    {"f32[1,3,3,1]=iota", "ksizes=[1,2,2,1]; strides=[1,2,2,1]; rates=[1,1,1,1]; padding=\"SAME\"",
     FY_OK, "0,1,3,4,2,0,5,0,6,7,0,0,8,0,0,0"},
    {"b[1,2,2,1]=true,false,false,true",
     "ksizes=[1,1,1,1]; strides=[1,1,1,1]; rates=[1,1,1,1]; padding=\"VALID\"", FY_OK,
     "true,false,false,true"},
    {"f32[3,3,1]=iota", "ksizes=[1,2,2,1]; strides=[1,2,2,1]; rates=[1,1,1,1]; padding=\"SAME\"",
     FY_INVALID_ARGUMENT, "input must be 4-dimensional[3,3,1]"},
};
FY_OP(ExtractImagePatches, .shape = extract_shape, .prepare = prepare, .compute = extract,
      .release = fy_free, FY_SAMPLES(samples));
