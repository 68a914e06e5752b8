// SPDX-License-Identifier: Apache-2.0
// conv_geometry.c: see conv.h. Checks are TensorFlow's, in its order and words.

#include "base/alloc.h"
#include "ops/conv.h"
#include "ops/shape_fns.h"
#include "ops/values.h"

// ---------------------------------------------------------------- attributes
static fy_code prepare(fy_site *site, int spatial, bool depthwise, fy_error *err) {
  int lengths[3];
  fy_window_attrs a;
  fy_window_read(site->attrs, spatial, &a, lengths);
  const char *dims = spatial == 2 ? "4" : "5";
  if (!depthwise && lengths[2] >= 0 && lengths[2] != spatial + 2) {
    return fy_fail(err, FY_INVALID_ARGUMENT,
                   spatial == 2 ? "Sliding window dilations field must specify %s dimensions"
                                : "Dilation rates field must specify %s dimensions",
                   dims);
  }
  if (lengths[1] != spatial + 2) {
    return fy_fail(err, FY_INVALID_ARGUMENT,
                   "Sliding window strides field must specify %s dimensions", dims);
  }
  // Conv2D alone says that it is not implemented.
  const fy_code not_yet =
      strcmp(site->op->impl->name, "Conv2D") ? FY_INVALID_ARGUMENT : FY_UNIMPLEMENTED;
  if (a.stride_n != 1 || a.stride_c != 1) {
    return fy_fail(err, not_yet,
                   "Current implementation does not yet support strides in the batch and depth "
                   "dimensions.");
  }
  if (!depthwise && (a.strides[0] <= 0 || a.strides[1] <= 0 || a.strides[2] <= 0)) {
    return fy_fail(err, FY_INVALID_ARGUMENT,
                   spatial == 3 ? "Spatial strides should be larger than 0."
                                : "Row and column strides should be larger than 0.");
  }
  if (depthwise && a.strides[1] != a.strides[2]) {
    return fy_fail(err, FY_INVALID_ARGUMENT,
                   "Current implementation only supports equal length strides in the row and "
                   "column dimensions.");
  }
  if (!depthwise && (a.dilation_n != 1 || a.dilation_c != 1)) {
    return fy_fail(err, not_yet,
                   spatial == 2 ? "Current implementation does not yet support dilations in the "
                                  "batch and depth dimensions."
                                : "Current implementation does not yet support dilation rates in "
                                  "the batch and depth dimensions.");
  }
  if (a.dilations[0] <= 0 || a.dilations[1] <= 0 || a.dilations[2] <= 0) {
    return fy_fail(err, FY_INVALID_ARGUMENT, "Dilated rates should be larger than 0.");
  }
  FY_TRY(fy_window_check_padding(site->attrs, &a, err));
  fy_window_attrs *state = fy_malloc(sizeof *state);
  if (!state) return fy_fail_oom(err, sizeof *state);
  *state = a;
  site->state = state;
  return FY_OK;
}
// What does not fit the input is told when that is seen.
fy_code fy_conv_prepare_any(fy_site *site, fy_error *err) {
  int lengths[3];
  fy_window_attrs a;
  fy_window_read(site->attrs, 2, &a, lengths);
  const int spatial = lengths[1] == 5 ? 3 : 2;
  fy_window_read(site->attrs, spatial, &a, lengths);
  if (lengths[1] != spatial + 2) {
    a.spatial = 0;
  } else if (lengths[2] > 0 && lengths[2] != spatial + 2) {
    return fy_fail(err, FY_INVALID_ARGUMENT, "Dilation rates field must specify%ddimensions",
                   spatial + 2);
  } else if (a.stride_n != 1 || a.stride_c != 1) {
    return fy_fail(
        err, FY_INVALID_ARGUMENT,
        "Current implementation does not support strides in the batch and depth dimensions.");
  } else if (a.strides[0] <= 0 || a.strides[1] <= 0 || a.strides[2] <= 0) {
    return fy_fail(err, FY_INVALID_ARGUMENT, "Spatial strides should be larger than 0.");
  } else if (a.dilation_n != 1 || a.dilation_c != 1) {
    return fy_fail(err, FY_INVALID_ARGUMENT,
                   "Current implementation does not support dilation rates in the batch and depth "
                   "dimensions.");
  } else if (a.dilations[0] <= 0 || a.dilations[1] <= 0 || a.dilations[2] <= 0) {
    return fy_fail(err, FY_INVALID_ARGUMENT, "Dilated rates should be larger than 0.");
  } else {
    FY_TRY(fy_window_check_padding(site->attrs, &a, err));
  }
  fy_window_attrs *state = fy_malloc(sizeof *state);
  if (!state) return fy_fail_oom(err, sizeof *state);
  *state = a;
  site->state = state;
  return FY_OK;
}
fy_code fy_conv_prepare_2d(fy_site *site, fy_error *err) {
  return prepare(site, 2, false, err);
}
fy_code fy_conv_prepare_3d(fy_site *site, fy_error *err) {
  return prepare(site, 3, false, err);
}
fy_code fy_conv_prepare_depthwise(fy_site *site, fy_error *err) {
  return prepare(site, 2, true, err);
}

// ---------------------------------------------------------------- geometry
// Sizes of input and filter into the windows (unresolved).
static void fill(const fy_window_attrs *a, const int64_t *in, const int64_t *filter, fy_conv *c) {
  for (int i = 0; i < 3; i++) {
    const int d = i - (3 - a->spatial);  // spatial dim, or negative: the depth of an image
    c->w[i] = (fy_window){.in = d < 0 ? 1 : in[fy_spatial_dim(a, d)],
                          .size = d < 0 ? 1 : filter[d],
                          .stride = a->strides[i],
                          .dilation = a->dilations[i],
                          .before = a->before[i],
                          .after = a->after[i]};
  }
  c->batch = in[0];
  c->in_depth = in[fy_channel_dim(a)];
}

static int64_t times(int64_t a, int64_t b) {
  int64_t p;
  return __builtin_mul_overflow(a, b, &p) ? INT64_MAX : p;
}

// An explicit padding may ask for an output that no memory holds: fy_out refuses it afterwards.
static void totals(fy_conv *c) {
  c->in_spatial = c->out_spatial = c->taps = 1;
  for (int i = 0; i < 3; i++) {
    c->in_spatial = times(c->in_spatial, c->w[i].in);
    c->out_spatial = times(c->out_spatial, c->w[i].out);
    c->taps = times(c->taps, c->w[i].size);
  }
}

static fy_code resolve(const fy_window_attrs *a, fy_conv *c, fy_error *err) {
  for (int i = 3 - a->spatial; i < 3; i++) FY_TRY(fy_window_resolve(&c->w[i], a->padding, err));
  if (a->spatial == 2) c->w[0].out = 1;
  return FY_OK;
}

fy_code fy_conv_forward(fy_kernel_ctx *ctx, const fy_tensor *input, const fy_tensor *filter,
                        bool depthwise, fy_conv *out, fy_error *err) {
  const fy_window_attrs *a = ctx->site->state;
  const int32_t rank = a->spatial + 2;
  char x[128];
  if (input->rank != rank) {
    if (a->spatial == 3) {
      return fy_fail(err, FY_INVALID_ARGUMENT, "input must be 5-dimensional");
    }
    return fy_fail(err, FY_INVALID_ARGUMENT, "%sinput must be 4-dimensional%s%s",
                   depthwise ? "" : "convolution ", depthwise ? "" : ": ",
                   fy_tensor_shape_text(input, x));
  }
  if (filter->rank != rank) {
    if (a->spatial == 3) {
      return fy_fail(err, FY_INVALID_ARGUMENT, "filter must be 5-dimensional");
    }
    return fy_fail(err, FY_INVALID_ARGUMENT, "%sfilter must be 4-dimensional: %s",
                   depthwise ? "" : "convolution ", fy_tensor_shape_text(filter, x));
  }
  fill(a, input->dims, filter->dims, out);
  const int64_t depth = filter->dims[a->spatial];
  out->filter_depth = depthwise ? 1 : depth;
  out->groups = 1;
  if (depthwise) {
    if (out->in_depth != depth) {
      return fy_fail(err, FY_INVALID_ARGUMENT,
                     "input and filter must have the same depth: %lld vs %lld",
                     (long long)out->in_depth, (long long)depth);
    }
    if (__builtin_mul_overflow(depth, filter->dims[3], &out->out_depth)) {
      return fy_fail(err, FY_INVALID_ARGUMENT, "filter too large");
    }
  } else {
    out->out_depth = filter->dims[a->spatial + 1];
    if (a->spatial == 3 && depth > 0 && out->in_depth % depth) {
      return fy_fail(err, FY_INVALID_ARGUMENT,
                     "Input depth must be evenly divisible by filter depth: %lld vs %lld",
                     (long long)out->in_depth, (long long)depth);
    }
    if (a->spatial == 3 && out->in_depth != depth) {
      return fy_fail(
          err, FY_INVALID_ARGUMENT,
          "Number of channels in filter (%lld) must match last dimension of input (%lld)",
          (long long)depth, (long long)out->in_depth);
    }
    if (a->spatial == 3 && out->out_depth == 0) {
      return fy_fail(err, FY_INVALID_ARGUMENT,
                     "filter must not have zero elements (i.e. all "
                     "dimensions must be non-zero)");
    }
    if (depth <= 0 && a->spatial == 3) {
      return fy_fail(err, FY_INVALID_ARGUMENT, "filter_depth must be non-zero");
    }
    if (depth <= 0) {
      return fy_fail(err, FY_INVALID_ARGUMENT, "filter depth must be stricly positive, got %lld",
                     (long long)depth);
    }
    if (out->in_depth % depth) {
      return fy_fail(err, FY_INVALID_ARGUMENT,
                     "input depth must be evenly divisible by filter depth: %lld vs %lld",
                     (long long)out->in_depth, (long long)depth);
    }
    out->groups = out->in_depth / depth;
  }
  FY_TRY(resolve(a, out, err));
  // Conv3D does as documented in the types that oneDNN knows, and so do the gradients.
  const bool known = input->dtype == FY_FLOAT || input->dtype == FY_BFLOAT16;
  const bool skip = !known || !strcmp(ctx->site->op->impl->name, "Conv");
  for (int i = 0; skip && a->spatial == 3 && a->padding == FY_PAD_SAME && i < 3; i++) {
    fy_window_skip_rest(&out->w[i]);
  }
  totals(out);
  return FY_OK;
}

fy_code fy_conv_backward(fy_kernel_ctx *ctx, const char *label, int32_t in_rank,
                         const int64_t *in_dims, int32_t filter_rank, const int64_t *filter_dims,
                         const fy_tensor *grad, bool depthwise, fy_conv *out, fy_error *err) {
  const fy_window_attrs *a = ctx->site->state;
  const int32_t rank = a->spatial + 2;
  if (in_rank != rank) {
    return fy_fail(err, FY_INVALID_ARGUMENT, "%s: input must be %d-dimensional", label, rank);
  }
  if (filter_rank != rank) {
    return fy_fail(err, FY_INVALID_ARGUMENT, "%s: filter must be %d-dimensional", label, rank);
  }
  if (grad->rank != rank) {
    return fy_fail(err, FY_INVALID_ARGUMENT, "%s: out_backprop must be %d-dimensional", label,
                   rank);
  }
  fill(a, in_dims, filter_dims, out);
  const int32_t channel = fy_channel_dim(a);
  const int64_t depth = filter_dims[a->spatial];
  if (out->batch != grad->dims[0]) {
    if (depthwise) {
      return fy_fail(err, FY_INVALID_ARGUMENT,
                     "%s: input and out_backprop must have the same batch size", label);
    }
    return fy_fail(err, FY_INVALID_ARGUMENT,
                   "%s: input and out_backprop must have the same batch size. Input batch: %lld, "
                   "outbackprop batch: %lld, batch_dim: 0",
                   label, (long long)out->batch, (long long)grad->dims[0]);
  }
  if (depthwise) {
    out->filter_depth = out->groups = 1;
    if (depth != out->in_depth) {
      return fy_fail(err, FY_INVALID_ARGUMENT, "%s: input and filter must have the same in_depth",
                     label);
    }
    if (__builtin_mul_overflow(depth, filter_dims[3], &out->out_depth) || out->out_depth < 0 ||
        out->out_depth != grad->dims[channel]) {
      return fy_fail(err, FY_INVALID_ARGUMENT,
                     "%s: depth_multiplier * in_depth not equal to out_depth", label);
    }
  } else {
    if (depth <= 0) {
      return fy_fail(err, FY_INVALID_ARGUMENT,
                     "%s: filter depth must be strictly greated than zero", label);
    }
    if (out->in_depth % depth) {
      return fy_fail(err, FY_INVALID_ARGUMENT,
                     "%s: input depth must be evenly divisible by filter depth", label);
    }
    out->out_depth = filter_dims[a->spatial + 1];
    if (out->out_depth != grad->dims[channel]) {
      return fy_fail(err, FY_INVALID_ARGUMENT,
                     "%s: filter and out_backprop must have the same out_depth", label);
    }
    out->filter_depth = depth;
    out->groups = out->in_depth / depth;
    if (out->groups > 1 && out->out_depth % out->groups) {
      return fy_fail(err, FY_INVALID_ARGUMENT,
                     "output depth must be evenly divisible by number of groups: %lld vs %lld",
                     (long long)out->out_depth, (long long)out->groups);
    }
  }
  for (int i = 0; i < a->spatial; i++) {
    fy_window *w = &out->w[3 - a->spatial + i];
    const int32_t d = fy_spatial_dim(a, i);
    FY_TRY(fy_window_resolve(w, a->padding, err));
    if (w->out == grad->dims[d]) continue;
    if (depthwise) {
      return fy_fail(err, FY_INVALID_ARGUMENT,
                     "%s: Number of %s doesn't match computed: actual = %lld, computed = %lld",
                     label, i == 0 ? "rows of out_backprop" : "cols of out_backprop",
                     (long long)grad->dims[d], (long long)w->out);
    }
    return fy_fail(err, FY_INVALID_ARGUMENT,
                   "%s: Size of out_backprop doesn't match computed: actual = %lld, computed = "
                   "%lld spatial_dim: %d input: %lld filter: %lld output: %lld stride: %lld "
                   "dilation: %lld",
                   label, (long long)grad->dims[d], (long long)w->out, d, (long long)w->in,
                   (long long)w->size, (long long)grad->dims[d], (long long)w->stride,
                   (long long)w->dilation);
  }
  if (a->spatial == 2) out->w[0].out = 1;
  totals(out);
  return FY_OK;
}

// ---------------------------------------------------------------- shape functions
static fy_code fail_dilation(int64_t rate, fy_error *err) {
  return fy_fail(err, FY_INVALID_ARGUMENT, "Dilation rate must be >= 1, but got %lld",
                 (long long)rate);
}

static fy_code infer(fy_shape_ctx *ctx, int spatial, bool depthwise, fy_error *err) {
  const fy_pshape in = ctx->in[0], filter = ctx->in[1];
  const int32_t rank = spatial + 2;
  fy_window_attrs a;
  int lengths[3];
  FY_TRY(fy_shape_rank_is(in, rank, err));
  FY_TRY(fy_shape_rank_is(filter, rank, err));
  fy_window_read(ctx->attrs, spatial, &a, lengths);
  const char *name = depthwise ? "DepthwiseConv2D" : spatial == 3 ? "Conv3D" : "Conv2D";
  if (lengths[2] >= 0 && lengths[2] != rank) {
    return fy_fail(err, FY_INVALID_ARGUMENT,
                   "%s requires the dilation%s attribute to contain %d values, but got: %d", name,
                   depthwise ? "s" : "", rank, lengths[2]);
  }
  if (lengths[1] != rank) {
    if (depthwise || spatial == 3) {
      return fy_fail(err, FY_INVALID_ARGUMENT,
                     "%s requires the stride attribute to contain %d values, but got: %d", name,
                     rank, lengths[1]);
    }
    return fy_fail(err, FY_INVALID_ARGUMENT,
                   "Conv2D on data format %s requires the stride attribute to contain %d values, "
                   "but got: %d",
                   a.channels_last ? "NHWC" : "NCHW", rank, lengths[1]);
  }
  for (int i = 0; i < 3 && !depthwise; i++) {
    if (a.dilations[i] < 1) return fail_dilation(a.dilations[i], err);
  }
  FY_TRY(fy_window_check_padding(ctx->attrs, &a, err));
  const int64_t depth = fy_dim_of(in, fy_channel_dim(&a)),
                filter_depth = fy_dim_of(filter, spatial);
  int64_t out_depth = fy_dim_of(filter, spatial + 1), dims[5], spatial_out[3] = {1, 1, 1};
  if (depthwise) {
    int64_t merged;
    FY_TRY(fy_dim_merge(depth, filter_depth, &merged, err));
    if (merged < 0 || out_depth < 0 || __builtin_mul_overflow(merged, out_depth, &out_depth)) {
      out_depth = -1;
    }
  } else if (depth >= 0 && filter_depth >= 0) {
    if (filter_depth == 0) {
      return fy_fail(err, FY_INVALID_ARGUMENT, "Depth of filter must not be 0");
    } else if (depth % filter_depth) {
      return fy_fail(err, FY_INVALID_ARGUMENT,
                     "Depth of input (%lld) is not a multiple of input depth of filter (%lld)",
                     (long long)depth, (long long)filter_depth);
    } else if (depth != filter_depth) {
      const int64_t groups = depth / filter_depth;
      if (groups == 0) return fy_fail(err, FY_INVALID_ARGUMENT, "Number of groups must not be 0");
      if (out_depth >= 0 && out_depth % groups) {
        return fy_fail(err, FY_INVALID_ARGUMENT,
                       "Depth of output (%lld) is not a multiple of the number of groups (%lld)",
                       (long long)out_depth, (long long)groups);
      }
    }
  }
  for (int i = 0; i < spatial; i++) {
    const int k = 3 - spatial + i;
    FY_TRY(fy_window_infer(fy_dim_of(in, fy_spatial_dim(&a, i)), fy_dim_of(filter, i), a.strides[k],
                           a.dilations[k], a.padding, a.before[k], a.after[k], &spatial_out[k],
                           err));
  }
  fy_window_shape(&a, fy_dim_of(in, 0), spatial_out, out_depth, dims);
  return fy_shape_set(ctx, 0, rank, dims, err);
}
fy_code fy_conv2d_shape(fy_shape_ctx *ctx, fy_error *err) {
  return infer(ctx, 2, false, err);
}
fy_code fy_conv3d_shape(fy_shape_ctx *ctx, fy_error *err) {
  return infer(ctx, 3, false, err);
}
fy_code fy_depthwise_shape(fy_shape_ctx *ctx, fy_error *err) {
  return infer(ctx, 2, true, err);
}

fy_code fy_conv_like_shape(fy_shape_ctx *ctx, fy_error *err) {
  const fy_pshape s = ctx->in[strstr(ctx->spec->name, "Filter") ? 1 : 0];
  FY_TRY(fy_shape_rank_is(s, 5, err));
  return fy_shape_set(ctx, 0, 5, s.rank < 0 ? NULL : s.dims, err);
}

fy_code fy_conv_any_shape(fy_shape_ctx *ctx, fy_error *err) {
  const fy_pshape in = ctx->in[0], filter = ctx->in[1];
  const int64_t batch = fy_shape_attr_int(ctx, "batch_dims", 1),
                groups = fy_shape_attr_int(ctx, "groups", 1);
  if (in.rank < 0 || filter.rank < 0) return FY_OK;
  const int64_t spatial = in.rank - 1 - batch;
  if (batch < 0) return fy_fail(err, FY_INVALID_ARGUMENT, "Batch dims must be non-negative.");
  if (spatial < 2 || spatial > 3) {
    return fy_fail(err, FY_INVALID_ARGUMENT,
                   "Input tensor must be rank 4 or 5, excluding extra batch dimensions, but got: "
                   "%lld",
                   (long long)spatial + 2);
  }
  if (filter.rank != spatial + 2) {
    return fy_fail(err, FY_INVALID_ARGUMENT, "Input tensor rank must be the same as filter rank.");
  }
  int64_t flat[5] = {1};
  for (int64_t d = 0; d < spatial + 1; d++) flat[1 + d] = in.dims[batch + d];
  int lengths[3];
  fy_window_attrs a;
  fy_window_read(ctx->attrs, (int)spatial, &a, lengths);
  if (lengths[2] > 0 && lengths[2] != spatial + 2) {
    return fy_fail(err, FY_INVALID_ARGUMENT,
                   "Conv requires the dilation attribute to contain %lld values, but got: %d",
                   (long long)spatial + 2, lengths[2]);
  }
  if (lengths[1] != spatial + 2) {
    return fy_fail(err, FY_INVALID_ARGUMENT,
                   "Stride attribute should contain %lld values, but got: %d",
                   (long long)spatial + 2, lengths[1]);
  }
  for (int i = 0; i < 3; i++) {
    if (a.dilations[i] < 1) return fail_dilation(a.dilations[i], err);
  }
  const int64_t depth = flat[fy_channel_dim(&a)], own = filter.dims[spatial];
  if (depth >= 0 && own > 0 && depth % own) {
    return fy_fail(err, FY_INVALID_ARGUMENT,
                   "Depth of input (%lld) is not a multiple of input depth of filter (%lld)",
                   (long long)depth, (long long)own);
  }
  if (depth >= 0 && own > 0 && depth / own != groups) {
    return fy_fail(
        err, FY_INVALID_ARGUMENT,
        "Input depth divided by filter input depth does not match with groups parameter (%lld)",
        (long long)groups);
  }
  if (groups > 0 && filter.dims[spatial + 1] >= 0 && filter.dims[spatial + 1] % groups) {
    return fy_fail(err, FY_INVALID_ARGUMENT, "Number of groups should divide output depth");
  }
  FY_TRY(fy_window_check_padding(ctx->attrs, &a, err));
  int64_t sizes[3] = {1, 1, 1}, dims[5], all[FY_MAX_RANK];
  for (int i = 0; i < spatial; i++) {
    const int k = 3 - (int)spatial + i;
    FY_TRY(fy_window_infer(flat[fy_spatial_dim(&a, i)], filter.dims[i], a.strides[k],
                           a.dilations[k], a.padding, a.before[k], a.after[k], &sizes[k], err));
  }
  fy_window_shape(&a, 1, sizes, filter.dims[spatial + 1], dims);
  for (int64_t d = 0; d < batch; d++) all[d] = in.dims[d];
  for (int64_t d = 0; d < spatial + 1; d++) all[batch + d] = dims[1 + d];
  return fy_shape_set(ctx, 0, in.rank, all, err);
}

static fy_code from_sizes(fy_shape_ctx *ctx, int sizes, fy_error *err) {
  const int32_t rank = strstr(ctx->spec->name, "3D") ? 5 : 4;
  fy_pshape shape;
  FY_TRY(fy_shape_from_input(ctx, sizes, &shape, err));
  if (!strcmp(ctx->spec->name, "Conv2DBackpropInput")) {
    int64_t dims[5];
    int lengths[3];
    fy_window_attrs a;
    fy_window_read(ctx->attrs, 2, &a, lengths);
    FY_TRY(fy_shape_rank_is(ctx->in[1], 4, err));
    FY_TRY(fy_shape_rank_is(ctx->in[2], 4, err));
    const int64_t batch = fy_dim_of(ctx->in[2], 0);
    int64_t depth;
    FY_TRY(fy_dim_merge(fy_dim_of(ctx->in[2], fy_channel_dim(&a)), fy_dim_of(ctx->in[1], 3), &depth,
                        err));
    if (shape.rank == 2) {  // height and width alone
      const int64_t spatial[3] = {1, shape.dims[0], shape.dims[1]};
      fy_window_shape(&a, batch, spatial, fy_dim_of(ctx->in[1], 2), dims);
      return fy_shape_set(ctx, 0, 4, dims, err);
    }
    FY_TRY(fy_shape_rank_is(shape, 4, err));
    for (int i = 0; i < 4; i++) dims[i] = fy_dim_of(shape, i);
    FY_TRY(fy_dim_merge(dims[0], batch, &dims[0], err));
    return fy_shape_set(ctx, 0, 4, dims, err);
  }
  FY_TRY(fy_shape_rank_is(shape, rank, err));
  return fy_shape_set(ctx, 0, rank, shape.rank < 0 ? NULL : shape.dims, err);
}
fy_code fy_conv_input_shape(fy_shape_ctx *ctx, fy_error *err) {
  return from_sizes(ctx, 0, err);
}
fy_code fy_conv_filter_shape(fy_shape_ctx *ctx, fy_error *err) {
  return from_sizes(ctx, 1, err);
}

static double elements(fy_pshape s) {
  double n = 1;
  for (int32_t i = 0; i < s.rank; i++) n *= s.dims[i] > 0 ? (double)s.dims[i] : 1;
  return n;
}

// Every pixel of the output (of its gradient, going backward) meets every element of the filter. What the
// optimiser joined to a convolution follows the filter as further inputs. Reads attributes only: placement
// asks before prepare() has run.
void fy_conv_cost(const fy_site *site, const fy_pshape *in, const fy_pshape *out, fy_cost *cost) {
  double bytes = elements(out[0]);
  for (int i = 0; i < site->num_inputs; i++) bytes += elements(in[i]);
  const bool forward = site->num_inputs == 2 || fy_attrs_get(site->attrs, "epilogue");
  const bool to_filter = !forward && site->in_types[1] == FY_INT32;
  const fy_pshape filter = to_filter ? out[0] : in[1], image = forward ? out[0] : in[2];
  const int32_t channel = fy_channels_last(site->attrs) ? image.rank - 1 : 1;
  double pixels = elements(image);
  cost->bytes = bytes * (double)fy_dtype_storage(site->in_types[site->num_inputs - 1]);
  if (image.rank > 2 && image.dims[channel] > 0) pixels /= (double)image.dims[channel];
  cost->flops = 2 * pixels * elements(filter);
}

static void swap(int64_t *a, int64_t *b) {
  const int64_t was = *a;
  *a = *b;
  *b = was;
}

void fy_conv_turn(fy_conv *c) {
  for (int d = 0; d < 3; d++) {
    fy_window *w = &c->w[d];
    swap(&w->in, &w->out);
    w->before = (w->size - 1) * w->dilation - w->before;
    w->after = (w->size - 1) * w->dilation - w->after;
  }
  swap(&c->in_spatial, &c->out_spatial);
  swap(&c->in_depth, &c->out_depth);
}
