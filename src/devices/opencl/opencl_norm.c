// SPDX-License-Identifier: Apache-2.0
// opencl_norm.c: what runs along channels: normalisation in training and in inference, its
// gradient, bias and its gradient. A tensor is [outer, channels, inner].

#include "devices/opencl/opencl_impl.h"

#ifdef FY_OPENCL

#include <stdio.h>

#define OPTIONS 160

typedef struct layout {
  int64_t outer, channels, inner;
} layout;

static bool channels_last(const fy_site *site) {
  const fy_attr *a = fy_attrs_get(site->attrs, "data_format");
  return !a || a->kind != FY_ATTR_STRING || a->v.s.n < 2 || a->v.s.p[1] != 'C';
}

static layout layout_of(const fy_site *site, const fy_tensor *x) {
  const bool last = channels_last(site);
  layout l = {.outer = 1, .channels = x->dims[last ? x->rank - 1 : 1], .inner = 1};
  for (int32_t d = 0; d < (last ? x->rank - 1 : 1); d++) l.outer *= x->dims[d];
  for (int32_t d = 2; d < x->rank && !last; d++) l.inner *= x->dims[d];
  return l;
}

static bool all_here(const fy_ocl_call *c, int first, int last) {
  for (int i = first; i <= last; i++)
    if (!fy_ocl_here(c, c->ctx.in[i]) && c->ctx.in[i]->count) return false;
  return true;
}

static bool is_vector(const fy_tensor *t, int64_t n) {
  return t->rank == 1 && t->count == n && t->dtype == FY_FLOAT;
}

static const char *options_for(char *out, fy_dtype t, const char *what) {
  snprintf(out, OPTIONS, "%s %s", fy_ocl_options(t), what);
  return out;
}

static void add_layout(fy_ocl_args *a, const layout *l) {
  fy_ocl_add_long(a, l->outer);
  fy_ocl_add_long(a, l->channels);
  fy_ocl_add_long(a, l->inner);
}

// --- normalisation ---

static const char *stats(const fy_ocl_call *c) {
  return c->ocl->has_double ? "-DSTATS -DACC=double -DUSE_DOUBLE" : "-DSTATS -DACC=float";
}

// In training: mean and variance of this batch into out[1..4].
static fy_code batch_stats(fy_ocl_call *c, const layout *l, fy_tensor *const *out, fy_error *err) {
  char options[OPTIONS];
  const fy_tensor *x = c->ctx.in[0];
  const fy_attr *factor = fy_attrs_get(c->ctx.site->attrs, "exponential_avg_factor");
  const float by = factor && factor->kind == FY_ATTR_FLOAT ? factor->v.f : 1;
  const bool blend = by != 1;
  for (int i = 3; i < 5; i++)
    if (blend && !is_vector(c->ctx.in[i], l->channels)) return FY_OCL_DETOUR;
  fy_ocl_args a;
  fy_ocl_args_init(&a, c);
  fy_ocl_add_in(&a, x);
  for (int i = 3; i < 5; i++) fy_ocl_add_in(&a, blend ? c->ctx.in[i] : NULL);
  for (int i = 1; i < 5; i++) fy_ocl_add_out(&a, out[i]);
  add_layout(&a, l);
  fy_ocl_add_float(&a, by);
  fy_ocl_add_int(&a, blend);
  return fy_ocl_run(&a, fy_ocl_src_nn, options_for(options, x->dtype, stats(c)), "norm_stats",
                    l->channels, true, err);
}

fy_code fy_ocl_batch_norm(fy_ocl_call *c, int arg, fy_error *err) {
  const fy_tensor *x = c->ctx.in[0];
  const bool training = fy_site_bool(c->ctx.site, "is_training");
  char options[OPTIONS];
  fy_tensor *out[6];
  (void)arg;
  if ((x->rank != 4 && x->rank != 5) || x->count == 0 || !all_here(c, 0, 4)) return FY_OCL_DETOUR;
  const layout l = layout_of(c->ctx.site, x);
  for (int i = 1; i < 5; i++) {
    const fy_tensor *t = c->ctx.in[i];
    if (i > 2 && training ? t->rank != 1 || t->dtype != FY_FLOAT : !is_vector(t, l.channels))
      return FY_OCL_DETOUR;
  }
  FY_TRY(fy_ocl_output_dims(c, 0, x->rank, x->dims, &out[0], err));
  for (int i = 1; i < 5; i++) FY_TRY(fy_ocl_output_dims(c, i, 1, &l.channels, &out[i], err));
  if (c->ctx.site->num_outputs > 5) {
    FY_TRY(fy_ocl_output_dims(c, 5, 0, NULL, &out[5], err));
    FY_TRY(fy_ocl_fill(c, out[5], NULL, err));
  }
  const int64_t one = 1;
  if (training) FY_TRY(batch_stats(c, &l, out, err));
  for (int i = 1; i < 5 && !training; i++)
    FY_TRY(fy_ocl_move(c, out[i], 0, &one, c->ctx.in[i == 1 || i == 3 ? 3 : 4], 0, &one, 1,
                       &l.channels, err));
  fy_ocl_args a;
  fy_ocl_args_init(&a, c);
  for (int i = 0; i < 3; i++) fy_ocl_add_in(&a, c->ctx.in[i]);
  for (int i = 3; i < 5; i++) fy_ocl_add_in(&a, out[i]);
  fy_ocl_add_out(&a, out[0]);
  fy_ocl_add_long(&a, x->count);
  fy_ocl_add_long(&a, l.channels);
  fy_ocl_add_long(&a, l.inner);
  fy_ocl_add_float(&a, fy_site_float(c->ctx.site, "epsilon"));
  return fy_ocl_run(&a, fy_ocl_src_nn, options_for(options, x->dtype, "-DNORM"), "batch_norm",
                    x->count, false, err);
}

// Inputs: y_backprop, x, scale, mean, variance [, unused].
fy_code fy_ocl_batch_norm_grad(fy_ocl_call *c, int arg, fy_error *err) {
  const fy_tensor *g = c->ctx.in[0], *x = c->ctx.in[1];
  const int64_t none = 0;
  const float epsilon = fy_site_float(c->ctx.site, "epsilon");
  char options[OPTIONS];
  fy_tensor *out[5];
  (void)arg;
  if ((x->rank != 4 && x->rank != 5) || x->count == 0 || !all_here(c, 0, 4) ||
      x->dtype != g->dtype || !fy_shape_equal(x->rank, x->dims, g->rank, g->dims))
    return FY_OCL_DETOUR;
  const layout l = layout_of(c->ctx.site, x);
  for (int i = 2; i < 5; i++)
    if (!is_vector(c->ctx.in[i], l.channels)) return FY_OCL_DETOUR;
  FY_TRY(fy_ocl_output_dims(c, 0, x->rank, x->dims, &out[0], err));
  for (int i = 1; i < 5; i++)
    FY_TRY(fy_ocl_output_dims(c, i, 1, i < 3 ? &l.channels : &none, &out[i], err));
  options_for(options, x->dtype, stats(c));
  fy_ocl_args a;
  fy_ocl_args_init(&a, c);
  fy_ocl_add_in(&a, g);
  fy_ocl_add_in(&a, x);
  fy_ocl_add_in(&a, c->ctx.in[3]);
  fy_ocl_add_in(&a, c->ctx.in[4]);
  fy_ocl_add_out(&a, out[1]);
  fy_ocl_add_out(&a, out[2]);
  add_layout(&a, &l);
  fy_ocl_add_float(&a, epsilon);
  FY_TRY(fy_ocl_run(&a, fy_ocl_src_nn, options, "norm_grad_stats", l.channels, true, err));
  fy_ocl_args_init(&a, c);
  fy_ocl_add_in(&a, g);
  fy_ocl_add_in(&a, x);
  for (int i = 2; i < 5; i++) fy_ocl_add_in(&a, c->ctx.in[i]);
  fy_ocl_add_in(&a, out[1]);
  fy_ocl_add_in(&a, out[2]);
  fy_ocl_add_out(&a, out[0]);
  fy_ocl_add_long(&a, x->count);
  fy_ocl_add_long(&a, l.channels);
  fy_ocl_add_long(&a, l.inner);
  fy_ocl_add_float(&a, epsilon);
  fy_ocl_add_int(&a, fy_site_bool(c->ctx.site, "is_training"));
  return fy_ocl_run(&a, fy_ocl_src_nn, options, "norm_grad", x->count, false, err);
}

// --- bias ---

fy_code fy_ocl_bias(fy_ocl_call *c, int arg, fy_error *err) {
  const fy_tensor *x = c->ctx.in[0], *bias = c->ctx.in[1];
  const bool last = channels_last(c->ctx.site);
  char options[OPTIONS];
  fy_tensor *out;
  (void)arg;
  if (x->rank < 2 || bias->rank != 1 || !all_here(c, 0, 1)) return FY_OCL_DETOUR;
  if (!last && x->rank < 3) return FY_OCL_DETOUR;
  const layout l = layout_of(c->ctx.site, x);
  if (bias->count != l.channels) return FY_OCL_DETOUR;
  FY_TRY(fy_ocl_output_dims(c, 0, x->rank, x->dims, &out, err));
  if (out->count == 0) return FY_OK;
  fy_ocl_args a;
  fy_ocl_args_init(&a, c);
  fy_ocl_add_in(&a, x);
  fy_ocl_add_in(&a, bias);
  fy_ocl_add_out(&a, out);
  fy_ocl_add_long(&a, x->count);
  fy_ocl_add_long(&a, l.channels);
  fy_ocl_add_long(&a, l.inner);
  return fy_ocl_run(&a, fy_ocl_src_nn, options_for(options, x->dtype, "-DBIAS"), "bias_add",
                    x->count, false, err);
}

// The sum over all but the channels.
fy_code fy_ocl_bias_grad(fy_ocl_call *c, int arg, fy_error *err) {
  const fy_tensor *x = c->ctx.in[0];
  const bool last = channels_last(c->ctx.site);
  char options[OPTIONS];
  fy_tensor *out;
  (void)arg;
  if (x->rank < 2 || !all_here(c, 0, 0) || x->count == 0) return FY_OCL_DETOUR;
  if (!last && x->rank < 3) return FY_OCL_DETOUR;
  const layout l = layout_of(c->ctx.site, x);
  FY_TRY(fy_ocl_output_dims(c, 0, 1, &l.channels, &out, err));
  fy_ocl_geo kept, gone;
  const int64_t channel_step = l.inner, dims[2] = {l.outer, l.inner};
  const int64_t steps[2] = {l.channels * l.inner, 1}, *s[1] = {&channel_step}, *t[1] = {steps};
  if (!fy_ocl_geo_make(&kept, 1, &l.channels, 1, s) || !fy_ocl_geo_make(&gone, 2, dims, 1, t))
    return FY_OCL_DETOUR;
  fy_ocl_args a;
  fy_ocl_args_init(&a, c);
  fy_ocl_add_in(&a, x);
  fy_ocl_add_out(&a, out);
  fy_ocl_add_value(&a, &kept, sizeof kept);
  fy_ocl_add_value(&a, &gone, sizeof gone);
  fy_ocl_add_long(&a, l.channels);
  fy_ocl_add_long(&a, l.outer * l.inner);
  const double zero = 0;
  const bool wide = x->dtype == FY_DOUBLE || x->dtype == FY_INT64;
  fy_ocl_add_value(&a, &zero, wide ? 8 : 4);
  return fy_ocl_run(&a, fy_ocl_src_reduce, options_for(options, x->dtype, "-DOP=0"), "reduce_group",
                    l.channels, true, err);
}

#else
typedef int fy_opencl_norm_is_empty;
#endif
