// SPDX-License-Identifier: Apache-2.0
// volume_patches.c: ExtractVolumePatches: every window of a volume, laid out in the last dim.

#include "ops/shape_fns.h"
#include "ops/values.h"
#include "ops/window.h"

static fy_code check_list(const fy_site *site, const char *name, fy_error *err) {
  const fy_attr *a = fy_site_attr(site, name);
  if (!a || a->n != 5) {
    return fy_fail(err, FY_INVALID_ARGUMENT, "%s must have 5 elements", name);
  }
  const int64_t *v = a->v.ints;
  if (v[0] != 1 || v[4] != 1) {
    return fy_fail(err, FY_UNIMPLEMENTED, "Only support %s across space.", name);
  }
  if (v[1] < 1 || v[2] < 1 || v[3] < 1) {
    return fy_fail(err, FY_OUT_OF_RANGE, "%s is out of range.", name);
  }
  return FY_OK;
}

static fy_code prepare(fy_site *site, fy_error *err) {
  FY_TRY(check_list(site, "ksizes", err));
  return check_list(site, "strides", err);
}

static fy_code extract(fy_kernel_ctx *ctx, fy_error *err) {
  const fy_tensor *in = ctx->in[0];
  const int64_t *k = fy_site_attr(ctx->site, "ksizes")->v.ints;
  const int64_t *stride = fy_site_attr(ctx->site, "strides")->v.ints;
  const bool same = fy_view_is(fy_site_string(ctx->site, "padding"), "SAME");
  fy_window w[3];
  fy_tensor *out;
  char x[128];
  if (in->rank != 5) {
    return fy_fail(err, FY_INVALID_ARGUMENT, "input must be 5-dimensional%s",
                   fy_tensor_shape_text(in, x));
  }
  for (int i = 0; i < 3; i++) {
    w[i] = (fy_window){
        .in = in->dims[1 + i], .size = k[1 + i], .stride = stride[1 + i], .dilation = 1};
    FY_TRY(fy_window_resolve(&w[i], same ? FY_PAD_SAME : FY_PAD_VALID, err));
    if (same) fy_window_skip_rest(&w[i]);
  }
  const int64_t depth = in->dims[4];
  int64_t patch;
  if (!fy_shape_count(4, (const int64_t[]){k[1], k[2], k[3], depth}, &patch)) {
    return fy_fail(err, FY_INVALID_ARGUMENT,
                   "Output size would overflow: %lld x %lld x %lld x %lld", (long long)k[1],
                   (long long)k[2], (long long)k[3], (long long)depth);
  }
  const int64_t dims[] = {in->dims[0], w[0].out, w[1].out, w[2].out, patch};
  FY_TRY(fy_out(ctx, 0, 5, dims, &out, err));
  if (out->count == 0) return FY_OK;
  const size_t size = fy_dtype_size(in->dtype), run = (size_t)depth * size;
  char *to = out->data;
  for (int64_t p = 0; p < dims[0] * dims[1] * dims[2] * dims[3]; p++) {
    const int64_t at[3] = {p / dims[3] / dims[2] % dims[1], p / dims[3] % dims[2], p % dims[3]};
    const int64_t b = p / dims[3] / dims[2] / dims[1];
    for (int64_t t = 0; t < k[1] * k[2] * k[3]; t++, to += run) {
      const int64_t tap[3] = {t / k[3] / k[2], t / k[3] % k[2], t % k[3]};
      int64_t from = b;
      bool inside = true;
      for (int i = 0; i < 3; i++) {
        const int64_t y = at[i] * w[i].stride - w[i].before + tap[i];
        inside = inside && y >= 0 && y < w[i].in;
        from = from * w[i].in + y;
      }
      if (inside) {
        memcpy(to, (const char *)in->data + (size_t)from * run, run);
      } else {
        memset(to, 0, run);
      }
    }
  }
  return FY_OK;
}

static fy_code extract_shape(fy_shape_ctx *ctx, fy_error *err) {
  const fy_attr *k = fy_attrs_get(ctx->attrs, "ksizes"), *s = fy_attrs_get(ctx->attrs, "strides");
  const fy_attr *padding = fy_attrs_get(ctx->attrs, "padding");
  FY_TRY(fy_shape_rank_is(ctx->in[0], 5, err));
  for (int i = 0; i < 2; i++) {
    const fy_attr *a = i ? s : k;
    if (a && a->n == 5) continue;
    return fy_fail(err, FY_INVALID_ARGUMENT,
                   "ExtractVolumePatches requires the %s attribute to contain 5 values, but got: "
                   "%u",
                   i ? "stride" : "ksizes", a ? a->n : 0);
  }
  int64_t dims[5] = {fy_dim_of(ctx->in[0], 0), -1, -1, -1, -1};
  const fy_padding how = fy_view_is(padding->v.s, "SAME") ? FY_PAD_SAME : FY_PAD_VALID;
  for (int i = 1; i < 4; i++) {
    fy_window w = {.in = fy_dim_of(ctx->in[0], i),
                   .size = k->v.ints[i],
                   .stride = s->v.ints[i],
                   .dilation = 1};
    if (w.in < 0) continue;
    FY_TRY(fy_window_resolve(&w, how, err));
    dims[i] = w.out;
  }
  const int64_t depth = fy_dim_of(ctx->in[0], 4);
  if (depth >= 0 &&
      !fy_shape_count(4, (const int64_t[]){k->v.ints[1], k->v.ints[2], k->v.ints[3], depth},
                      &dims[4])) {
    return fy_fail(err, FY_INVALID_ARGUMENT, "the patches are too large");
  }
  return fy_shape_set(ctx, 0, 5, dims, err);
}

static const fy_sample samples[] = {
    {"f32[1,1,2,2,1]=1,2,3,4", "ksizes=[1,1,2,2,1]; strides=[1,1,1,1,1]; padding=\"VALID\"", FY_OK,
     "1,2,3,4"},
    {"f32[1,2,2,1]=1,2,3,4", "ksizes=[1,1,2,2,1]; strides=[1,1,1,1,1]; padding=\"VALID\"",
     FY_INVALID_ARGUMENT, "input must be 5-dimensional[1,2,2,1]"},
};
FY_OP(ExtractVolumePatches, .shape = extract_shape, .prepare = prepare, .compute = extract,
      FY_SAMPLES(samples));
