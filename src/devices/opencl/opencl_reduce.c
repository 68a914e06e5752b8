// SPDX-License-Identifier: Apache-2.0
// opencl_reduce.c: reductions, softmax, ArgMax and ArgMin.

#include "devices/opencl/opencl_impl.h"

#ifdef FY_OPENCL

#include <float.h>
#include <math.h>
#include <stdio.h>
#include <string.h>

#include "ops/reduce.h"

// A number as an argument of type T of |t|.
void fy_ocl_add_number(fy_ocl_args *a, fy_dtype t, double v, int64_t whole) {
  switch (t) {
    case FY_DOUBLE: fy_ocl_add_value(a, &v, sizeof v); break;
    case FY_INT32: fy_ocl_add_int(a, (int)whole); break;
    case FY_INT64: fy_ocl_add_long(a, whole); break;
    case FY_BOOL: {
      unsigned char b = whole != 0;
      fy_ocl_add_value(a, &b, 1);
      break;
    }
    default: fy_ocl_add_float(a, (float)v);
  }
}

static void add_start(fy_ocl_args *a, fy_dtype t, int op) {
  int64_t least = t == FY_INT32 ? INT32_MIN : INT64_MIN,
          most = t == FY_INT32 ? INT32_MAX : INT64_MAX;
  switch (op) {
    case 2: fy_ocl_add_number(a, t, -INFINITY, least); break;
    case 3: fy_ocl_add_number(a, t, INFINITY, most); break;
    case 4:
    case 5: fy_ocl_add_number(a, t, 1, 1); break;
    default: fy_ocl_add_number(a, t, 0, 0);
  }
}

fy_code fy_ocl_reduce(fy_ocl_call *c, int op, fy_error *err) {
  const fy_tensor *in = c->ctx.in[0], *axes = c->ctx.in[1];
  bool gone[FY_MAX_RANK] = {false};
  int64_t dims[2][FY_MAX_RANK], strides[2][FY_MAX_RANK], step = 1, count = 1;
  int32_t rank[2] = {0, 0};
  fy_tensor *out;
  fy_ocl_geo geo[2];
  fy_error ignored;
  if (axes->device || !fy_ocl_here(c, in) || in->rank > FY_MAX_RANK) return FY_OCL_DETOUR;
  fy_error_init(&ignored);
  fy_code valid = fy_reduce_axes(in, axes, gone, &ignored);
  fy_error_clear(&ignored);
  if (valid || in->count == 0) return FY_OCL_DETOUR;
  FY_TRY(fy_ocl_output(c, 0, &out, err));
  int64_t dense[FY_MAX_RANK];
  for (int32_t d = in->rank - 1; d >= 0; d--) {
    dense[d] = step;
    step *= in->dims[d];
  }
  for (int32_t d = 0; d < in->rank; d++) {
    int k = gone[d];
    dims[k][rank[k]] = in->dims[d];
    strides[k][rank[k]++] = dense[d];
    if (k) count *= in->dims[d];
  }
  for (int k = 0; k < 2; k++) {
    const int64_t *s[1] = {strides[k]};
    if (!fy_ocl_geo_make(&geo[k], rank[k], dims[k], 1, s)) return FY_OCL_DETOUR;
  }
  if (out->count * count != in->count) return FY_OCL_DETOUR;
  char options[160];
  snprintf(options, sizeof options, "%s -DOP=%d", fy_ocl_options(in->dtype), op);
  fy_ocl_args a;
  fy_ocl_args_init(&a, c);
  fy_ocl_add_in(&a, in);
  fy_ocl_add_out(&a, out);
  fy_ocl_add_value(&a, &geo[0], sizeof geo[0]);
  fy_ocl_add_value(&a, &geo[1], sizeof geo[1]);
  fy_ocl_add_long(&a, out->count);
  fy_ocl_add_long(&a, count);
  add_start(&a, in->dtype, op);
  bool groups = count >= 256;
  return fy_ocl_run(&a, fy_ocl_src_reduce, options, groups ? "reduce_group" : "reduce_item",
                    out->count, groups, err);
}

fy_code fy_ocl_softmax(fy_ocl_call *c, int arg, fy_error *err) {
  const fy_tensor *in = c->ctx.in[0];
  fy_tensor *out;
  if (in->rank < 1 || !fy_ocl_here(c, in)) return FY_OCL_DETOUR;
  FY_TRY(fy_ocl_output_dims(c, 0, in->rank, in->dims, &out, err));
  if (out->count == 0) return FY_OK;
  int64_t cols = in->dims[in->rank - 1];
  char options[160];
  snprintf(options, sizeof options, "%s -DSOFTMAX", fy_ocl_options(in->dtype));
  fy_ocl_args a;
  fy_ocl_args_init(&a, c);
  fy_ocl_add_in(&a, in);
  fy_ocl_add_out(&a, out);
  fy_ocl_add_long(&a, cols);
  fy_ocl_add_int(&a, arg);
  return fy_ocl_run(&a, fy_ocl_src_reduce, options, "softmax", in->count / cols, true, err);
}

fy_code fy_ocl_scan(fy_ocl_call *c, int product, fy_error *err) {
  const fy_tensor *in = c->ctx.in[0], *axis_in = c->ctx.in[1];
  fy_tensor *out;
  if (axis_in->device || axis_in->rank || !fy_ocl_here(c, in)) return FY_OCL_DETOUR;
  int64_t axis = fy_tensor_int(axis_in, 0), inner = 1;
  if (axis < 0) axis += in->rank;
  if (axis < 0 || axis >= in->rank) return FY_OCL_DETOUR;
  FY_TRY(fy_ocl_output_dims(c, 0, in->rank, in->dims, &out, err));
  if (out->count == 0) return FY_OK;
  for (int64_t d = axis + 1; d < in->rank; d++) inner *= in->dims[d];
  const int64_t lanes = in->count / in->dims[axis];
  char options[160];
  snprintf(options, sizeof options, "%s -DSCAN", fy_ocl_options(in->dtype));
  fy_ocl_args a;
  fy_ocl_args_init(&a, c);
  fy_ocl_add_in(&a, in);
  fy_ocl_add_out(&a, out);
  fy_ocl_add_long(&a, lanes);
  fy_ocl_add_long(&a, in->dims[axis]);
  fy_ocl_add_long(&a, inner);
  fy_ocl_add_int(&a, product);
  fy_ocl_add_int(&a, fy_site_bool(c->ctx.site, "exclusive"));
  fy_ocl_add_int(&a, fy_site_bool(c->ctx.site, "reverse"));
  return fy_ocl_run(&a, fy_ocl_src_reduce, options, "scan", lanes, false, err);
}

fy_code fy_ocl_arg_reduce(fy_ocl_call *c, int arg, fy_error *err) {
  const fy_tensor *in = c->ctx.in[0];
  fy_tensor *out;
  if (c->ctx.in[1]->device || c->ctx.in[1]->rank || !fy_ocl_here(c, in)) return FY_OCL_DETOUR;
  int64_t axis = fy_tensor_int(c->ctx.in[1], 0), outer = 1, inner = 1;
  if (axis < 0) axis += in->rank;
  if (axis < 0 || axis >= in->rank || in->dims[axis] == 0) return FY_OCL_DETOUR;
  FY_TRY(fy_ocl_output(c, 0, &out, err));
  if (out->count == 0) return FY_OK;
  if (out->dtype != FY_INT32 && out->dtype != FY_INT64) return FY_OCL_DETOUR;
  for (int64_t d = 0; d < axis; d++) outer *= in->dims[d];
  for (int64_t d = axis + 1; d < in->rank; d++) inner *= in->dims[d];
  char options[160];
  snprintf(options, sizeof options, "%s -DARG -DOUT=%s", fy_ocl_options(in->dtype),
           fy_ocl_storage(out->dtype));
  fy_ocl_args a;
  fy_ocl_args_init(&a, c);
  fy_ocl_add_in(&a, in);
  fy_ocl_add_out(&a, out);
  fy_ocl_add_long(&a, outer);
  fy_ocl_add_long(&a, in->dims[axis]);
  fy_ocl_add_long(&a, inner);
  fy_ocl_add_int(&a, arg);
  return fy_ocl_run(&a, fy_ocl_src_reduce, options, "arg_reduce", out->count, false, err);
}

#else
typedef int fy_opencl_reduce_is_empty;
#endif
