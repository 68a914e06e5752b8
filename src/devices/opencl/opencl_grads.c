// SPDX-License-Identifier: Apache-2.0
// opencl_grads.c: gradients of convolutions, of pooling, and of the cross entropy.

#include "devices/opencl/opencl_impl.h"

#ifdef FY_OPENCL

#include <stdio.h>

#include "ops/conv.h"
#include "ops/pool.h"

static fy_code run(fy_ocl_call *c, const fy_tensor *x, const fy_tensor *g, fy_tensor *out,
                   const fy_ocl_win *b, const char *define, const char *name, bool groups, int mode,
                   fy_error *err) {
  char options[160];
  snprintf(options, sizeof options, "%s %s", fy_ocl_options(out->dtype), define);
  fy_ocl_args a;
  fy_ocl_args_init(&a, c);
  fy_ocl_add_in(&a, x);
  fy_ocl_add_in(&a, g);
  fy_ocl_add_out(&a, out);
  fy_ocl_add_value(&a, b, sizeof *b);
  if (mode >= 0) fy_ocl_add_int(&a, mode);
  return fy_ocl_run(&a, fy_ocl_src_grads, options, name, out->count, groups, err);
}

// arg: bit 0 of the filter, bit 1 depthwise
fy_code fy_ocl_conv_grad(fy_ocl_call *c, int arg, fy_error *err) {
  const bool of_filter = arg & 1, depthwise = arg & 2;
  const fy_window_attrs *w = c->ctx.site->state;
  const fy_tensor *sizes = c->ctx.in[of_filter], *x = c->ctx.in[!of_filter], *g = c->ctx.in[2];
  fy_tensor *out;
  fy_conv v;
  fy_error ignored;
  if (sizes->device || sizes->rank != 1 || x->rank != 4 || g->rank != 4 || x->dtype != g->dtype ||
      !fy_ocl_here(c, x) || !fy_ocl_here(c, g) || !x->count || !g->count)
    return FY_OCL_DETOUR;
  FY_TRY(fy_ocl_output(c, 0, &out, err));
  if (out->rank != 4 || !out->count) return FY_OCL_DETOUR;
  const fy_tensor *in = of_filter ? x : out, *filter = of_filter ? out : x;
  fy_error_init(&ignored);
  fy_code valid = fy_conv_backward(&c->ctx, "", in->rank, in->dims, filter->rank, filter->dims, g,
                                   depthwise, &v, &ignored);
  fy_error_clear(&ignored);
  if (valid) return FY_OCL_DETOUR;
  const int64_t groups = depthwise ? v.in_depth : v.groups > 0 ? v.groups : 1;
  if (!groups || v.out_depth % groups || v.in_depth % groups) return FY_OCL_DETOUR;
  fy_ocl_win b =
      fy_ocl_window(&v.w[1], &v.w[2], v.batch, v.in_depth, v.out_depth, w->channels_last);
  b.depth = v.in_depth / groups;
  b.per_group = v.out_depth / groups;
  return run(c, x, g, out, &b, "-DCONV_GRADS", of_filter ? "conv_filter" : "conv_input", of_filter,
             -1, err);
}

// arg: 0 MaxPoolGrad, 1 AvgPoolGrad
fy_code fy_ocl_pool_grad(fy_ocl_call *c, int average, fy_error *err) {
  const fy_tensor *x = c->ctx.in[0], *g = c->ctx.in[average ? 1 : 2];
  fy_pool_geometry v;
  fy_tensor *out;
  fy_error ignored;
  if ((average && (x->device || x->rank != 1)) || g->rank != 4 || !fy_ocl_here(c, g))
    return FY_OCL_DETOUR;
  if (!average && (x->rank != 4 || x->dtype != g->dtype || !fy_ocl_here(c, x)))
    return FY_OCL_DETOUR;
  FY_TRY(fy_ocl_output(c, 0, &out, err));
  if (out->rank != 4 || !out->count) return FY_OCL_DETOUR;
  fy_error_init(&ignored);
  fy_code valid = fy_pool_resolve(&c->ctx, out->rank, out->dims, 0, &v, &ignored);
  fy_error_clear(&ignored);
  const fy_tensor *maxima = average ? g : c->ctx.in[1];
  if (valid || v.depth_window > 1 || !fy_shape_equal(g->rank, g->dims, v.rank, v.out_dims) ||
      !fy_shape_equal(maxima->rank, maxima->dims, v.rank, v.out_dims))
    return FY_OCL_DETOUR;
  const fy_window_attrs *w = c->ctx.site->state;
  const bool wider = v.w[1].size > v.w[1].in || v.w[2].size > v.w[2].in;  // has a rule of its own
  if (!w->channels_last || (average && wider)) return FY_OCL_DETOUR;
  const fy_ocl_win b = fy_ocl_window(&v.w[1], &v.w[2], v.batch, v.depth, v.depth, true);
  return run(c, average ? NULL : x, g, out, &b, "-DPOOL_GRADS", "pool_grad", false, average, err);
}

// arg: 0 SoftmaxCrossEntropyWithLogits, 1 its sparse form
fy_code fy_ocl_entropy(fy_ocl_call *c, int sparse, fy_error *err) {
  const fy_tensor *x = c->ctx.in[0], *labels = c->ctx.in[1];
  char options[160];
  fy_tensor *loss, *grad;
  if (x->rank != 2 || !x->count || !fy_ocl_here(c, x) || !fy_ocl_here(c, labels))
    return FY_OCL_DETOUR;
  if (sparse ? labels->rank != 1 || labels->dims[0] != x->dims[0]
             : !fy_shape_equal(x->rank, x->dims, labels->rank, labels->dims))
    return FY_OCL_DETOUR;
  FY_TRY(fy_ocl_output_dims(c, 0, 1, x->dims, &loss, err));
  FY_TRY(fy_ocl_output_dims(c, 1, 2, x->dims, &grad, err));
  snprintf(options, sizeof options, "%s -DENTROPY", fy_ocl_options(x->dtype));
  fy_ocl_args a;
  fy_ocl_args_init(&a, c);
  fy_ocl_add_in(&a, x);
  fy_ocl_add_in(&a, labels);
  fy_ocl_add_out(&a, loss);
  fy_ocl_add_out(&a, grad);
  fy_ocl_add_long(&a, x->dims[1]);
  fy_ocl_add_int(&a, sparse ? (int)fy_dtype_storage(labels->dtype) : 0);
  return fy_ocl_run(&a, fy_ocl_src_grads, options, "entropy", x->dims[0], true, err);
}

#else
typedef int fy_opencl_grads_is_empty;
#endif
