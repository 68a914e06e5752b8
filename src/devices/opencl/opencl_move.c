// SPDX-License-Identifier: Apache-2.0
// opencl_move.c: ops that move elements, fill, gather, and make random numbers.

#include "devices/opencl/opencl_impl.h"

#ifdef FY_OPENCL

#include <stdio.h>
#include <string.h>

#include "ops/random.h"
#include "ops/resize.h"
#include "ops/values.h"
#include "ops/variable.h"

bool fy_ocl_geo_make(fy_ocl_geo *g, int32_t rank, const int64_t *dims, int n,
                     const int64_t *const *strides) {
  memset(g, 0, sizeof *g);
  for (int32_t d = 0; d < rank; d++) {
    if (dims[d] == 1) continue;
    bool merges = g->rank > 0;
    for (int k = 0; k < n && merges; k++) merges = g->s[k][g->rank - 1] == strides[k][d] * dims[d];
    if (!merges && g->rank == FY_OCL_DIMS) return false;
    if (!merges) g->rank++;
    g->dims[g->rank - 1] = merges ? g->dims[g->rank - 1] * dims[d] : dims[d];
    for (int k = 0; k < n; k++) g->s[k][g->rank - 1] = strides[k][d];
  }
  if (!g->rank) {
    g->rank = 1;
    g->dims[0] = 1;
  }
  return true;
}

const char *fy_ocl_element(size_t size) {
  switch (size) {
    case 1: return "-DE=uchar";
    case 2: return "-DE=ushort";
    case 4: return "-DE=uint";
    case 8: return "-DE=ulong";
    default: return NULL;
  }
}

fy_code fy_ocl_move(fy_ocl_call *c, fy_tensor *out, int64_t out_at, const int64_t *out_strides,
                    const fy_tensor *in, int64_t in_at, const int64_t *in_strides, int32_t rank,
                    const int64_t *dims, fy_error *err) {
  fy_ocl_geo g;
  int64_t n;
  const int64_t *strides[2] = {in_strides, out_strides};
  const char *type = fy_ocl_element(fy_dtype_storage(out->dtype));
  if (!fy_shape_count(rank, dims, &n)) return FY_OCL_DETOUR;
  if (n == 0) return FY_OK;
  if (!type || !fy_ocl_here(c, in) || !fy_ocl_here(c, out) ||
      !fy_ocl_geo_make(&g, rank, dims, 2, strides))
    return FY_OCL_DETOUR;
  fy_ocl_args a;
  fy_ocl_args_init(&a, c);
  // The kernel's offsets are those of the tensors plus ours; negative strides start at the end.
  fy_ocl_add_in(&a, in);
  fy_ocl_add_out(&a, out);
  fy_ocl_add_value(&a, &g, sizeof g);
  fy_ocl_add_long(&a, n);
  fy_ocl_add_long(&a, in_at);
  fy_ocl_add_long(&a, out_at);
  return fy_ocl_run(&a, fy_ocl_src_move, type, "move", n, false, err);
}

fy_code fy_ocl_fill(fy_ocl_call *c, fy_tensor *out, const fy_tensor *value, fy_error *err) {
  static const uint64_t zero[2];
  const size_t size = fy_dtype_storage(out->dtype);
  const char *type = fy_ocl_element(size);
  if (!type) return FY_OCL_DETOUR;
  if (out->count == 0) return FY_OK;
  fy_ocl_args a;
  fy_ocl_args_init(&a, c);
  fy_ocl_add_out(&a, out);
  bool here = value && fy_ocl_here(c, value);
  if (value && !here && value->device && !value->device->is_host) return FY_OCL_DETOUR;
  if (here)
    fy_ocl_add_in(&a, value);
  else
    fy_ocl_add_value(&a, value ? value->data : (const void *)zero, size);
  fy_ocl_add_long(&a, out->count);
  return fy_ocl_run(&a, fy_ocl_src_move, type, here ? "fill_from" : "fill", out->count, false, err);
}

fy_code fy_ocl_fill_op(fy_ocl_call *c, int arg, fy_error *err) {
  fy_tensor *out;
  FY_TRY(fy_ocl_output(c, 0, &out, err));
  if (arg == 0) return c->ctx.in[1]->rank ? FY_OCL_DETOUR : fy_ocl_fill(c, out, c->ctx.in[1], err);
  if (arg == 1) return fy_ocl_fill(c, out, NULL, err);
  fy_tensor one;
  union {
    float f;
    double d;
    int32_t i;
    int64_t l;
    uint16_t h;
  } v;
  memset(&v, 0, sizeof v);
  switch (out->dtype) {
    case FY_FLOAT: v.f = 1; break;
    case FY_DOUBLE: v.d = 1; break;
    case FY_INT32: v.i = 1; break;
    case FY_INT64: v.l = 1; break;
    case FY_HALF: v.h = 0x3C00; break;
    case FY_BFLOAT16: v.h = 0x3F80; break;
    default: return FY_OCL_DETOUR;
  }
  fy_tensor_init(&one);
  one.dtype = out->dtype;
  one.count = 1;
  one.data = &v;
  return fy_ocl_fill(c, out, &one, err);
}

// --- joining and splitting: a piece is [outer, run] of a whole [outer, total] ---

static fy_code move_piece(fy_ocl_call *c, bool join, fy_tensor *whole, const fy_tensor *piece,
                          int64_t outer, int64_t total, int64_t at, fy_error *err) {
  int64_t run = outer ? piece->count / outer : 0;
  const int64_t dims[2] = {outer, run}, wide[2] = {total, 1}, narrow[2] = {run, 1};
  if (piece->count == 0) return FY_OK;
  if (join) return fy_ocl_move(c, whole, at, wide, piece, 0, narrow, 2, dims, err);
  return fy_ocl_move(c, (fy_tensor *)(uintptr_t)piece, 0, narrow, whole, at, wide, 2, dims, err);
}

fy_code fy_ocl_concat(fy_ocl_call *c, int arg, fy_error *err) {
  const int n = c->ctx.site->num_inputs - (arg < 2), first = arg == 0;
  fy_tensor *const *values = c->ctx.in + first, *out;
  int64_t axis = 0;
  if (arg < 2) {
    const fy_tensor *t = c->ctx.in[arg == 0 ? 0 : n];
    if (t->device || t->rank != 0) return FY_OCL_DETOUR;
    axis = fy_tensor_int(t, 0);
  } else {
    axis = fy_site_int(c->ctx.site, "axis");
  }
  if (axis < 0) axis += values[0]->rank + (arg == 2);
  if (axis < 0 || axis >= values[0]->rank + (arg == 2)) return FY_OCL_DETOUR;
  FY_TRY(fy_ocl_output(c, 0, &out, err));
  int64_t outer = 1, at = 0, total;
  for (int64_t d = 0; d < axis; d++) outer *= out->dims[d];
  if (out->count == 0) return FY_OK;
  total = out->count / outer;
  for (int i = 0; i < n; i++) {
    FY_TRY(move_piece(c, true, out, values[i], outer, total, at, err));
    at += values[i]->count / outer;
  }
  return FY_OK;
}

fy_code fy_ocl_split(fy_ocl_call *c, int arg, fy_error *err) {
  const fy_tensor *axis_in = arg == 0 ? c->ctx.in[0] : arg == 1 ? c->ctx.in[2] : NULL;
  fy_tensor *in = c->ctx.in[arg == 0 ? 1 : 0];
  int64_t axis = 0, at = 0, outer = 1;
  if (axis_in && (axis_in->device || axis_in->count != 1)) return FY_OCL_DETOUR;
  axis = axis_in ? fy_tensor_int(axis_in, 0) : fy_site_int(c->ctx.site, "axis");
  if (axis < 0) axis += in->rank;
  if (axis < 0 || axis >= in->rank) return FY_OCL_DETOUR;
  for (int64_t d = 0; d < axis; d++) outer *= in->dims[d];
  if (in->count == 0) return FY_OCL_DETOUR;
  for (int i = 0; i < c->ctx.site->num_outputs; i++) {
    fy_tensor *out;
    FY_TRY(fy_ocl_output(c, i, &out, err));
    FY_TRY(move_piece(c, false, in, out, outer, in->count / outer, at, err));
    at += out->count / outer;
  }
  return FY_OK;
}

fy_code fy_ocl_pad(fy_ocl_call *c, int arg, fy_error *err) {
  const fy_tensor *in = c->ctx.in[0], *paddings = c->ctx.in[1];
  const fy_tensor *value = c->ctx.site->num_inputs > 2 ? c->ctx.in[2] : NULL;
  fy_tensor *out;
  int64_t to[FY_MAX_RANK], from[FY_MAX_RANK], at = 0;
  (void)arg;
  if (paddings->device || paddings->rank != 2 || paddings->dims[0] != in->rank ||
      (value && value->rank != 0))
    return FY_OCL_DETOUR;
  FY_TRY(fy_ocl_output(c, 0, &out, err));
  if (out->rank != in->rank) return FY_OCL_DETOUR;
  FY_TRY(fy_ocl_fill(c, out, value, err));
  int64_t out_step = 1, in_step = 1;
  for (int32_t d = in->rank - 1; d >= 0; d--) {
    at += fy_tensor_int(paddings, 2 * d) * out_step;
    to[d] = out_step;
    from[d] = in_step;
    out_step *= out->dims[d];
    in_step *= in->dims[d];
  }
  return fy_ocl_move(c, out, at, to, in, 0, from, in->rank, in->dims, err);
}

// --- by index ---

// An index out of bounds gives zeros, as on TensorFlow's GPUs: the device cannot stop for it.
static fy_code gather(fy_ocl_call *c, int arg, const fy_tensor *params, fy_error *err) {
  const fy_tensor *indices = c->ctx.in[1];
  int64_t axis = 0, batch_dims = 0;
  fy_tensor *out;
  if (arg == 1) {
    if (c->ctx.in[2]->device || c->ctx.in[2]->rank != 0) return FY_OCL_DETOUR;
    axis = fy_tensor_int(c->ctx.in[2], 0);
    batch_dims = fy_site_int(c->ctx.site, "batch_dims");
  } else if (arg == 2) {
    axis = batch_dims = fy_site_int(c->ctx.site, "batch_dims");
  }
  if (axis < 0) axis += params->rank;
  if (batch_dims < 0) batch_dims += indices->rank;
  const char *type = fy_ocl_element(fy_dtype_storage(params->dtype));
  if (axis < 0 || axis >= params->rank || batch_dims < 0 || batch_dims > axis ||
      batch_dims > indices->rank || !type || !fy_ocl_here(c, params) || !fy_ocl_here(c, indices) ||
      (indices->dtype != FY_INT32 && indices->dtype != FY_INT64))
    return FY_OCL_DETOUR;
  for (int64_t d = 0; d < batch_dims; d++)
    if (params->dims[d] != indices->dims[d]) return FY_OCL_DETOUR;
  if (arg == 2)
    out = c->outer->out[0];  // made by the caller
  else
    FY_TRY(fy_ocl_output(c, 0, &out, err));
  if (out->count == 0) return FY_OK;
  int64_t outer = 1, inner = 1, count = 1;
  for (int64_t d = batch_dims; d < axis; d++) outer *= params->dims[d];
  for (int64_t d = axis + 1; d < params->rank; d++) inner *= params->dims[d];
  for (int64_t d = batch_dims; d < indices->rank; d++) count *= indices->dims[d];
  fy_ocl_args a;
  fy_ocl_args_init(&a, c);
  fy_ocl_add_in(&a, params);
  fy_ocl_add_in(&a, indices);
  fy_ocl_add_out(&a, out);
  fy_ocl_add_long(&a, out->count);
  fy_ocl_add_long(&a, outer);
  fy_ocl_add_long(&a, params->dims[axis]);
  fy_ocl_add_long(&a, count);
  fy_ocl_add_long(&a, inner);
  fy_ocl_add_int(&a, indices->dtype == FY_INT64);
  return fy_ocl_run(&a, fy_ocl_src_move, type, "gather", out->count, false, err);
}

// arg: 0 Gather, 1 GatherV2, 2 ResourceGather
fy_code fy_ocl_gather(fy_ocl_call *c, int arg, fy_error *err) {
  if (arg < 2) return gather(c, arg, c->ctx.in[0], err);
  fy_object *object = NULL;
  fy_tensor *value = NULL;
  if (fy_resource_object(c->ctx.in[0], &fy_variable_type, &object, NULL)) return FY_OCL_DETOUR;
  FY_TRY(fy_variable_get(&c->ctx, (fy_variable *)object, &value, err));
  fy_code code = FY_OCL_DETOUR;  // words what is missing
  if (value && value->dtype == c->ctx.site->out_types[0]) {
    int64_t dims[FY_MAX_RANK];
    int32_t rank = 0;
    const fy_tensor *indices = c->ctx.in[1];
    const int64_t batch = fy_site_int(c->ctx.site, "batch_dims");
    fy_tensor *out;
    // The shape function does not know what the variable holds now.
    if (batch == 0 && value->rank >= 1 && indices->rank + value->rank - 1 <= FY_MAX_RANK) {
      for (int32_t d = 0; d < indices->rank; d++) dims[rank++] = indices->dims[d];
      for (int32_t d = 1; d < value->rank; d++) dims[rank++] = value->dims[d];
      code = fy_ocl_output_dims(c, 0, rank, dims, &out, err);
      if (!code) code = gather(c, arg, value, err);
    }
  }
  fy_tensor_release(value);
  return code;
}

fy_code fy_ocl_one_hot(fy_ocl_call *c, int arg, fy_error *err) {
  const fy_tensor *indices = c->ctx.in[0];
  const char *type = fy_ocl_element(fy_dtype_storage(c->ctx.in[2]->dtype));
  int64_t axis = fy_site_int(c->ctx.site, "axis"), suffix = 1;
  fy_tensor *out;
  (void)arg;
  if (c->ctx.in[1]->device || c->ctx.in[1]->rank || c->ctx.in[2]->rank || c->ctx.in[3]->rank ||
      !type || !fy_ocl_here(c, indices) || !fy_ocl_here(c, c->ctx.in[2]) ||
      !fy_ocl_here(c, c->ctx.in[3]) || axis < -1 || axis > indices->rank ||
      (indices->dtype != FY_INT32 && indices->dtype != FY_INT64 && indices->dtype != FY_UINT8))
    return FY_OCL_DETOUR;
  FY_TRY(fy_ocl_output(c, 0, &out, err));
  if (out->count == 0) return FY_OK;
  if (axis < 0) axis = indices->rank;
  for (int64_t d = axis; d < indices->rank; d++) suffix *= indices->dims[d];
  fy_ocl_args a;
  fy_ocl_args_init(&a, c);
  fy_ocl_add_in(&a, indices);
  fy_ocl_add_in(&a, c->ctx.in[2]);
  fy_ocl_add_in(&a, c->ctx.in[3]);
  fy_ocl_add_out(&a, out);
  fy_ocl_add_long(&a, out->count);
  fy_ocl_add_long(&a, out->dims[axis]);
  fy_ocl_add_long(&a, suffix);
  fy_ocl_add_int(&a, (int)fy_dtype_storage(indices->dtype));
  return fy_ocl_run(&a, fy_ocl_src_move, type, "one_hot", out->count, false, err);
}

// --- images ---

// As in kernels/image.cl.
typedef struct resize {
  int64_t in_h, in_w, out_h, out_w, channels;
  float scale_h, scale_w;
  int32_t align_corners, half_pixel;
} resize;

fy_code fy_ocl_resize(fy_ocl_call *c, int bilinear, fy_error *err) {
  const fy_tensor *in = c->ctx.in[0];
  fy_resize r;
  fy_tensor *out;
  fy_error ignored;
  if (c->ctx.in[1]->device || !fy_ocl_here(c, in)) return FY_OCL_DETOUR;
  fy_error_init(&ignored);
  fy_code valid = fy_resize_check(&c->ctx, &r, &ignored);
  fy_error_clear(&ignored);
  if (valid) return FY_OCL_DETOUR;
  const int64_t dims[] = {r.batch, r.out_h, r.out_w, r.channels};
  FY_TRY(fy_ocl_output_dims(c, 0, 4, dims, &out, err));
  if (out->count == 0) return FY_OK;
  const char *type =
      bilinear ? fy_ocl_options(in->dtype) : fy_ocl_element(fy_dtype_storage(in->dtype));
  if (!type) return FY_OCL_DETOUR;
  char options[160];
  snprintf(options, sizeof options, "%s %s", type, bilinear ? "-DBILINEAR" : "-DNEAREST");
  const resize k = {.in_h = r.in_h,
                    .in_w = r.in_w,
                    .out_h = r.out_h,
                    .out_w = r.out_w,
                    .channels = r.channels,
                    .scale_h = r.scale_h,
                    .scale_w = r.scale_w,
                    .align_corners = r.align_corners,
                    .half_pixel = r.half_pixel};
  fy_ocl_args a;
  fy_ocl_args_init(&a, c);
  fy_ocl_add_in(&a, in);
  fy_ocl_add_out(&a, out);
  fy_ocl_add_value(&a, &k, sizeof k);
  fy_ocl_add_long(&a, out->count);
  return fy_ocl_run(&a, fy_ocl_src_image, options, bilinear ? "resize_bilinear" : "resize_nearest",
                    out->count, false, err);
}

// --- random numbers ---

// The service behind fy_random_fill, which has no status: an error waits in the call.
fy_code fy_ocl_random_fill(fy_kernel_ctx *ctx, const void *kind, void *job, const fy_tensor *out) {
  fy_ocl_call *c = (fy_ocl_call *)(void *)ctx;
  const fy_random_job *j = job;
  const bool integers = kind == &fy_random_integers, wide = fy_dtype_storage(out->dtype) == 8;
  const int per_group = wide ? 2 : 4;
  char options[160];
  if (kind != &fy_random_uniform && kind != &fy_random_normal && !integers) {
    c->hook_code = fy_fail(c->hook_err, FY_UNIMPLEMENTED, "no OpenCL kernel for this distribution");
    return c->hook_code;
  }
  snprintf(options, sizeof options, "%s -DWHAT=%d%s", fy_ocl_options(out->dtype),
           integers ? 2 : kind == &fy_random_normal, wide ? " -DWIDE" : "");
  fy_ocl_args a;
  fy_ocl_args_init(&a, c);
  fy_ocl_add_out(&a, out);
  fy_ocl_add_value(&a, &j->generator, sizeof j->generator);
  fy_ocl_add_long(&a, out->count);
  if (integers) {
    fy_ocl_add_long(&a, j->low);
    fy_ocl_add_long(&a, (int64_t)j->range);
  }
  c->hook_code = fy_ocl_run(&a, fy_ocl_src_random, options, "philox_fill",
                            (out->count + per_group - 1) / per_group, false, c->hook_err);
  return c->hook_code;
}

#else
typedef int fy_opencl_move_is_empty;
#endif
