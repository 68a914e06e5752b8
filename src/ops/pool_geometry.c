// SPDX-License-Identifier: Apache-2.0
// pool_geometry.c: see pool.h. Checks are TensorFlow's, in its order and words.

#include "base/alloc.h"
#include "ops/pool.h"
#include "ops/shape_fns.h"

// |grad|: an op that computes a gradient, whose words differ.
static fy_code check_sizes(const fy_window_attrs *a, const int lengths[3], bool grad,
                           fy_error *err) {
  const int want = a->spatial + 2;
  if (lengths[0] != want) {
    return fy_fail(err, FY_INVALID_ARGUMENT,
                   "Sliding window ksize field must specify %d dimensions", want);
  }
  if (lengths[1] != want) {
    return fy_fail(err, FY_INVALID_ARGUMENT,
                   "Sliding window stride%s field must specify %d dimensions", grad ? "s" : "",
                   want);
  }
  return FY_OK;
}

static bool is_positive(const fy_window_attrs *a) {
  return a->ksize_n > 0 && a->ksize_c > 0 && a->ksize[0] > 0 && a->ksize[1] > 0 && a->ksize[2] > 0;
}

static fy_code fail_positive(const fy_site *site, const fy_window_attrs *a, fy_error *err) {
  const char *name = site->op->impl->name;
  const int64_t all[] = {a->ksize_n, a->ksize[0], a->ksize[1], a->ksize[2], a->ksize_c};
  int64_t first = 1;
  for (int i = 4; i >= 0; i--) first = all[i] <= 0 ? all[i] : first;
  if (!strcmp(name, "MaxPool")) {
    int64_t k[5];
    fy_window_shape(a, a->ksize_n, a->ksize, a->ksize_c, k);
    return fy_fail(err, FY_INVALID_ARGUMENT,
                   "Sliding window ksize must be positive. The specified or inferred ksize is: "
                   "%lld,%lld,%lld,%lld",
                   (long long)k[0], (long long)k[1], (long long)k[2], (long long)k[3]);
  }
  if (!strcmp(name, "AvgPool") || !strcmp(name, "MaxPoolWithArgmax")) {
    return fy_fail(err, FY_INVALID_ARGUMENT, "ksize must be a positive int32 value, got:%lld",
                   (long long)first);
  }
  if (!strcmp(name, "MaxPool3D") || !strcmp(name, "AvgPool3D")) {
    return fy_fail(err, FY_INVALID_ARGUMENT,
                   "Sliding window ksize field must have non-negative dimensions");
  }
  if (!strcmp(name, "AvgPool3DGrad")) {
    return fy_fail(err, FY_INVALID_ARGUMENT, "ksize must be positive, got: %lld", (long long)first);
  }
  return fy_fail(err, FY_INVALID_ARGUMENT, "Sliding window ksize must be positive.");
}

static fy_code check_window(const fy_site *site, const fy_window_attrs *a, const int lengths[3],
                            fy_error *err) {
  FY_TRY(check_sizes(a, lengths, strstr(site->op->impl->name, "Grad") != NULL, err));
  if (!is_positive(a)) return fail_positive(site, a, err);
  if (a->ksize_n != 1 || a->stride_n != 1) {
    return fy_fail(err, FY_UNIMPLEMENTED, "Pooling is not yet supported on the batch dimension.");
  }
  if (a->spatial == 3 && (a->ksize_c != 1 || a->stride_c != 1)) {
    return fy_fail(err, FY_UNIMPLEMENTED, "Pooling is not yet supported on the depth dimension.");
  }
  return FY_OK;
}

static fy_code prepare(fy_site *site, int spatial, fy_error *err) {
  int lengths[3];
  fy_window_attrs a;
  fy_window_read(site->attrs, spatial, &a, lengths);
  if (lengths[0] >= 0) FY_TRY(check_window(site, &a, lengths, err));
  // What stands in explicit_paddings is of interest when they are asked for.
  if (a.padding == FY_PAD_EXPLICIT) FY_TRY(fy_window_check_padding(site->attrs, &a, err));
  fy_window_attrs *state = fy_malloc(sizeof *state);
  if (!state) return fy_fail_oom(err, sizeof *state);
  *state = a;
  site->state = state;
  return FY_OK;
}
fy_code fy_pool_prepare_2d(fy_site *site, fy_error *err) {
  return prepare(site, 2, err);
}
fy_code fy_pool_prepare_3d(fy_site *site, fy_error *err) {
  return prepare(site, 3, err);
}

// ksize and strides that come as inputs.
static fy_code read_inputs(fy_kernel_ctx *ctx, int sizes, fy_window_attrs *a, fy_error *err) {
  int lengths[3] = {0, 0, 0};
  for (int i = 0; i < 2; i++) {
    const fy_tensor *t = ctx->in[sizes + i];
    lengths[i] = t->count == a->spatial + 2 ? a->spatial + 2 : -1;
    if (lengths[i] < 0) continue;
    int64_t *to = i == 0 ? a->ksize : a->strides;
    *(i == 0 ? &a->ksize_n : &a->stride_n) = fy_tensor_int(t, 0);
    *(i == 0 ? &a->ksize_c : &a->stride_c) = fy_tensor_int(t, fy_channel_dim(a));
    for (int k = 0; k < a->spatial; k++) {
      to[3 - a->spatial + k] = fy_tensor_int(t, fy_spatial_dim(a, k));
    }
  }
  return check_window(ctx->site, a, lengths, err);
}

static int64_t times(int64_t a, int64_t b) {
  int64_t p;
  return __builtin_mul_overflow(a, b, &p) ? INT64_MAX : p;
}

fy_code fy_pool_resolve(fy_kernel_ctx *ctx, int32_t rank, const int64_t *dims, int sizes,
                        fy_pool_geometry *out, fy_error *err) {
  fy_window_attrs a = *(const fy_window_attrs *)ctx->site->state;
  if (sizes) FY_TRY(read_inputs(ctx, sizes, &a, err));
  if (rank != a.spatial + 2) {
    if (a.spatial == 2) {
      return fy_fail(err, FY_INVALID_ARGUMENT,
                     "tensor_in_shape must have 2 spatial dimensions. %d %d", rank,
                     a.channels_last ? 0 : 1);
    }
    return fy_fail(err, FY_INVALID_ARGUMENT, "tensor_in must be 5-dimensional");
  }
  if (a.ksize_c != 1) {
    const char *name = ctx->site->op->impl->name;
    if (!strcmp(name, "AvgPoolGrad")) {
      return fy_fail(err, FY_UNIMPLEMENTED,
                     "Non-spatial pooling is not yet supported. Volunteers? :)");
    }
    if (strstr(name, "Grad")) {
      return fy_fail(err, FY_UNIMPLEMENTED, "%s is not yet supported on the depth dimension.",
                     strstr(name, "GradGrad") ? "MaxPoolingGradGrad" : "MaxPoolingGrad");
    }
  }
  out->rank = rank;
  out->depth_window = a.ksize_c;
  out->depth = dims[fy_channel_dim(&a)];
  if (a.ksize_c != 1 && (a.ksize[1] != 1 || a.ksize[2] != 1)) {
    return fy_fail(err, FY_UNIMPLEMENTED,
                   "MaxPooling supports exactly one of pooling across depth or pooling across "
                   "width/height.");
  }
  int64_t spatial[3] = {1, 1, 1};
  for (int i = 0; i < 3; i++) {
    const int d = i - (3 - a.spatial);
    out->w[i] = (fy_window){.in = d < 0 ? 1 : dims[fy_spatial_dim(&a, d)],
                            .size = a.ksize[i],
                            .stride = a.strides[i],
                            .dilation = 1,
                            .before = a.before[i],
                            .after = a.after[i],
                            .out = 1};
    if (a.ksize_c != 1) {
      out->w[i].out = out->w[i].in;
    } else if (d >= 0) {
      FY_TRY(fy_window_resolve(&out->w[i], a.padding, err));
      // TensorFlow's gradients of averages end a window that is wider than the input with the input,
      // in the types that oneDNN does not know.
      fy_window *w = &out->w[i];
      const fy_dtype t = fy_site_type(ctx->site, "T");
      if (!strcmp(ctx->site->op->impl->name, "AvgPoolGrad") && w->size > w->in &&
          (t == FY_HALF || t == FY_DOUBLE)) {
        w->size = w->in + w->before;
      }
    }
    spatial[i] = out->w[i].out;
  }
  int64_t depth = out->depth;
  if (a.ksize_c != 1) {
    if (a.padding == FY_PAD_EXPLICIT) {
      return fy_fail(err, FY_UNIMPLEMENTED,
                     "Depthwise max pooling does not support explicit padding.");
    }
    if (depth % a.ksize_c) {
      return fy_fail(err, FY_UNIMPLEMENTED,
                     "Depthwise max pooling requires the depth window to evenly divide the input "
                     "depth");
    }
    if (a.stride_c != a.ksize_c) {
      return fy_fail(err, FY_UNIMPLEMENTED,
                     "Depthwise max pooling requires the depth window to equal the depth stride");
    }
    depth /= a.ksize_c;
  }
  if (a.padding == FY_PAD_EXPLICIT) {
    static const char *const sides[3][2] = {
        {"Front", "Back"}, {"Top", "Bottom"}, {"Left", "Right"}};
    for (int i = 0; i < 6; i++) {
      const fy_window *w = &out->w[i / 2];
      const int64_t pad = i % 2 ? w->after : w->before;
      if (pad < w->size) continue;
      return fy_fail(err, FY_INVALID_ARGUMENT,
                     "%s padding %lld needs to be smaller than the window size %lld",
                     sides[i / 2][i % 2], (long long)pad, (long long)w->size);
    }
  }
  fy_window_shape(&a, dims[0], spatial, depth, out->out_dims);
  out->batch = dims[0];
  if (!a.channels_last && a.ksize_c == 1) {
    out->batch = times(out->batch, out->depth);
    out->depth = 1;
  }
  out->in_image = out->out_image = out->depth;
  for (int i = 0; i < 3; i++) {
    out->in_image = times(out->in_image, out->w[i].in);
    out->out_image = times(out->out_image, out->w[i].out);
  }
  return FY_OK;
}

// ---------------------------------------------------------------- shape functions
static fy_code infer(fy_shape_ctx *ctx, const fy_window_attrs *a, fy_error *err) {
  const fy_pshape in = ctx->in[0];
  int64_t spatial[3] = {1, 1, 1}, depth, dims[5];
  for (int i = 0; i < a->spatial; i++) {
    const int k = 3 - a->spatial + i;
    FY_TRY(fy_window_infer(fy_dim_of(in, fy_spatial_dim(a, i)), a->ksize[k], a->strides[k], 1,
                           a->padding, a->before[k], a->after[k], &spatial[k], err));
  }
  const fy_padding along = a->padding == FY_PAD_EXPLICIT ? FY_PAD_VALID : a->padding;
  depth = fy_dim_of(in, fy_channel_dim(a));
  if (a->spatial == 2 && !strstr(ctx->spec->name, "Avg")) {
    FY_TRY(fy_window_infer(depth, a->ksize_c, a->stride_c, 1, along, 0, 0, &depth, err));
  }
  fy_window_shape(a, fy_dim_of(in, 0), spatial, depth, dims);
  FY_TRY(fy_shape_set(ctx, 0, a->spatial + 2, dims, err));
  return ctx->num_outputs > 1 ? fy_shape_set(ctx, 1, a->spatial + 2, dims, err) : FY_OK;
}

static fy_code pool_shape(fy_shape_ctx *ctx, int spatial, fy_error *err) {
  fy_window_attrs a;
  int lengths[3];
  FY_TRY(fy_shape_rank_is(ctx->in[0], spatial + 2, err));
  fy_window_read(ctx->attrs, spatial, &a, lengths);
  const char *name = strstr(ctx->spec->name, "Avg") ? "AvgPool" : "MaxPool";
  for (int i = 0; i < 2; i++) {
    if (lengths[i] == spatial + 2) continue;
    if (spatial == 3) {
      return fy_fail(err, FY_INVALID_ARGUMENT,
                     "Pool3D %s attribute to contain 5 values, but got: %d",
                     i == 0 ? "requires the ksize" : "ops require the stride", lengths[i]);
    }
    return fy_fail(err, FY_INVALID_ARGUMENT,
                   "%s requires the %s attribute to contain 4 values, but got: %d", name,
                   i == 0 ? "ksize" : "stride", lengths[i]);
  }
  FY_TRY(fy_window_check_padding(ctx->attrs, &a, err));
  const fy_attr *ksize = fy_attrs_get(ctx->attrs, "ksize");
  for (uint32_t i = 0; ctx->num_outputs == 2 && ksize && i < ksize->n; i++) {
    if (ksize->v.ints[i] > 0 && ksize->v.ints[i] <= INT32_MAX) continue;
    return fy_fail(err, FY_INVALID_ARGUMENT, "ksize must be a positive int32 value, got:%lld",
                   (long long)ksize->v.ints[i]);
  }
  return infer(ctx, &a, err);
}
fy_code fy_pool2d_shape(fy_shape_ctx *ctx, fy_error *err) {
  return pool_shape(ctx, 2, err);
}
fy_code fy_pool3d_shape(fy_shape_ctx *ctx, fy_error *err) {
  return pool_shape(ctx, 3, err);
}

fy_code fy_pool2d_v2_shape(fy_shape_ctx *ctx, fy_error *err) {
  fy_window_attrs a;
  int lengths[3];
  FY_TRY(fy_shape_rank_is(ctx->in[0], 4, err));
  const int first = ctx->num_inputs - 2;
  for (int i = first; i < first + 2; i++) {
    FY_TRY(fy_shape_rank_is(ctx->in[i], 1, err));
    FY_TRY(fy_dim_is(fy_dim_of(ctx->in[i], 0), 4, err));
  }
  fy_window_read(ctx->attrs, 2, &a, lengths);
  for (int i = 0; i < 2; i++) {
    const fy_tensor *v = fy_shape_tensor(ctx, first + i);
    if (!v || v->device) return FY_OK;
    if (v->count != 4) {
      return fy_fail(err, FY_INVALID_ARGUMENT, "Shape must be rank 4 but is rank %lld",
                     (long long)v->count);
    }
    int64_t *to = i == 0 ? a.ksize : a.strides;
    *(i == 0 ? &a.ksize_n : &a.stride_n) = fy_tensor_int(v, 0);
    *(i == 0 ? &a.ksize_c : &a.stride_c) = fy_tensor_int(v, fy_channel_dim(&a));
    for (int k = 0; k < 2; k++) to[1 + k] = fy_tensor_int(v, fy_spatial_dim(&a, k));
  }
  return infer(ctx, &a, err);
}

static fy_code like_first(fy_shape_ctx *ctx, int32_t rank, fy_error *err) {
  FY_TRY(fy_shape_rank_is(ctx->in[0], rank, err));
  return fy_shape_set(ctx, 0, rank, ctx->in[0].rank < 0 ? NULL : ctx->in[0].dims, err);
}
fy_code fy_pool_grad2d_shape(fy_shape_ctx *ctx, fy_error *err) {
  return like_first(ctx, 4, err);
}
fy_code fy_pool_grad3d_shape(fy_shape_ctx *ctx, fy_error *err) {
  return like_first(ctx, 5, err);
}

fy_code fy_pool_avg_grad_shape(fy_shape_ctx *ctx, fy_error *err) {
  const int32_t rank = strstr(ctx->spec->name, "3D") ? 5 : 4;
  fy_pshape shape;
  FY_TRY(fy_shape_from_input(ctx, 0, &shape, err));
  FY_TRY(fy_shape_rank_is(shape, rank, err));
  return fy_shape_set(ctx, 0, rank, shape.rank < 0 ? NULL : shape.dims, err);
}

fy_code fy_pool_grad_grad_shape(fy_shape_ctx *ctx, fy_error *err) {
  const bool volume = strstr(ctx->spec->name, "3D") != NULL;
  fy_pshape merged;
  FY_TRY(ctx->num_inputs > 3 ? fy_pool2d_v2_shape(ctx, err) : pool_shape(ctx, volume ? 3 : 2, err));
  FY_TRY(fy_shape_merge(ctx, ctx->in[0], ctx->in[2], &merged, err));
  FY_TRY(fy_shape_merge(ctx, ctx->in[1], ctx->out[0], &merged, err));
  return fy_shape_set(ctx, 0, merged.rank, merged.dims, err);
}
