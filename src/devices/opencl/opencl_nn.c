// SPDX-License-Identifier: Apache-2.0
// opencl_nn.c: products of matrices, convolutions with what follows them, pooling, normalisation.

#include "devices/opencl/opencl_impl.h"

#ifdef FY_OPENCL

#include <float.h>
#include <stdio.h>
#include <string.h>

#include "ops/broadcast.h"
#include "ops/contraction.h"
#include "ops/pool.h"

#define TILE 32

static void add_real(fy_ocl_args *a, fy_dtype t, double v) {
  if (t == FY_DOUBLE)
    fy_ocl_add_value(a, &v, sizeof v);
  else if (t == FY_INT32)
    fy_ocl_add_int(a, (int)v);
  else if (t == FY_INT64)
    fy_ocl_add_long(a, (int64_t)v);
  else
    fy_ocl_add_float(a, (float)v);
}

static bool all_here(const fy_ocl_call *c, int n) {
  for (int i = 0; i < n; i++)
    if (!fy_ocl_here(c, c->ctx.in[i]) && c->ctx.in[i]->count) return false;
  return true;
}

// --- what is done to results ---

typedef struct epilogue {
  int flags;
  void *scale, *shift;
  size_t bytes;
  const fy_tensor *add;
  float alpha;
} epilogue;

static int act_code(const fy_epilogue *e) {
  switch (e->act) {
    case FY_EW_RELU: return 1;
    case FY_EW_RELU6: return 2;
    case FY_EW_TANH: return 3;
    case FY_EW_SIGMOID: return e->swish ? 7 : 4;
    case FY_EW_ELU: return 5;
    case FY_EW_LEAKY_RELU: return 6;
    default: return 0;
  }
}

// The affine steps become one factor and one term per column, in device memory.
static fy_code fold(fy_ocl_call *c, int64_t channels, int64_t results, epilogue *out,
                    fy_error *err) {
  const fy_epilogue *e = &((const fy_contraction *)c->ctx.site->state)->epilogue;
  const fy_dtype t = c->ctx.in[0]->dtype;
  for (int i = 2; i < c->ctx.site->num_inputs; i++)
    if (c->ctx.in[i]->count != (i == e->add ? results : channels)) return FY_OCL_DETOUR;
  out->alpha = e->alpha;
  out->flags = act_code(e) << 8;
  if (e->add >= 0) {
    out->add = c->ctx.in[e->add];
    out->flags |= 4;
  }
  if (!e->num_affine) return FY_OK;
  out->bytes = (size_t)channels * fy_dtype_storage(t);
  if (e->num_affine == 1 && e->affine[0].kind == FY_AFFINE_BIAS) {
    out->shift = c->ctx.in[e->affine[0].arg]->data;
    out->flags |= 2;
    return FY_OK;
  }
  FY_TRY(fy_ocl_scratch(c, out->bytes, &out->scale, err));
  FY_TRY(fy_ocl_scratch(c, out->bytes, &out->shift, err));
  out->flags |= 3;
  for (int i = 0; i < e->num_affine; i++) {
    fy_tensor *const *from = c->ctx.in + e->affine[i].arg;
    bool norm = e->affine[i].kind == FY_AFFINE_NORM;
    fy_ocl_args a;
    fy_ocl_args_init(&a, c);
    fy_ocl_add_memory(&a, out->scale, out->bytes, fy_dtype_storage(t), true);
    fy_ocl_add_memory(&a, out->shift, out->bytes, fy_dtype_storage(t), true);
    for (int k = 0; k < 4; k++) fy_ocl_add_in(&a, from[norm ? k : 0]);
    fy_ocl_add_long(&a, channels);
    fy_ocl_add_int(&a, (int)e->affine[i].kind);
    fy_ocl_add_int(&a, i == 0);
    fy_ocl_add_float(&a, e->epsilon);
    FY_TRY(fy_ocl_run(&a, fy_ocl_src_gemm, fy_ocl_options(t), "fold", channels, false, err));
  }
  return FY_OK;
}

static void add_epilogue(fy_ocl_args *a, const epilogue *e, fy_dtype t) {
  size_t size = fy_dtype_storage(fy_plain_type(t));
  fy_ocl_add_int(a, e->flags);
  fy_ocl_add_memory(a, e->scale, e->scale ? e->bytes : 0, size, false);
  fy_ocl_add_memory(a, e->shift, e->shift ? e->bytes : 0, size, false);
  fy_ocl_add_in(a, e->add);
  add_real(a, t, (double)e->alpha);
}

// What is done to results, after CLBlast.
static fy_code finish(fy_ocl_call *c, const fy_ocl_product *p, const epilogue *e, fy_tensor *out,
                      fy_error *err) {
  fy_ocl_args a;
  fy_ocl_args_init(&a, c);
  fy_ocl_add_out(&a, out);
  fy_ocl_add_long(&a, out->count);
  fy_ocl_add_long(&a, p->n);
  add_epilogue(&a, e, out->dtype);
  return fy_ocl_run(&a, fy_ocl_src_gemm, fy_ocl_options(out->dtype), "finish", out->count, false,
                    err);
}

static fy_code run_product(fy_ocl_call *c, const fy_ocl_product *p, int64_t batches,
                           const epilogue *e, const fy_tensor *x, const fy_tensor *y,
                           fy_tensor *out, bool conv, fy_error *err) {
  char options[160];
  if (!conv) {
    fy_code code = fy_ocl_clblast(c, p, batches, x, y, out, err);
    if (code != FY_OCL_DETOUR) return code || !e->flags ? code : finish(c, p, e, out, err);
  }
  snprintf(options, sizeof options, "%s%s", fy_ocl_options(out->dtype), conv ? " -DCONV" : "");
  fy_ocl_args a;
  fy_ocl_args_init(&a, c);
  fy_ocl_add_in(&a, x);
  fy_ocl_add_in(&a, y);
  fy_ocl_add_out(&a, out);
  fy_ocl_add_value(&a, p, sizeof *p);
  add_epilogue(&a, e, out->dtype);
  const size_t global[3] = {(size_t)((p->n + TILE - 1) / TILE) * 16,
                            (size_t)((p->m + TILE - 1) / TILE) * 16, (size_t)batches};
  const size_t local[3] = {16, 16, 1};
  return fy_ocl_run_nd(&a, fy_ocl_src_gemm, options, "gemm", global, local, err);
}

fy_code fy_ocl_multiply(fy_ocl_call *c, const fy_ocl_product *p, int64_t batches,
                        const fy_tensor *x, const fy_tensor *y, fy_tensor *out, fy_error *err) {
  const epilogue none = {0};
  return run_product(c, p, batches, &none, x, y, out, false, err);
}

// arg: 0 MatMul, 1 BatchMatMul, 2 BatchMatMulV2, 3 _FerryMatMul
fy_code fy_ocl_matmul(fy_ocl_call *c, int arg, fy_error *err) {
  const fy_tensor *x = c->ctx.in[0], *y = c->ctx.in[1];
  const bool batch = arg == 1 || arg == 2;
  const bool tx = fy_site_bool(c->ctx.site, batch ? "adj_x" : "transpose_a");
  const bool ty = fy_site_bool(c->ctx.site, batch ? "adj_y" : "transpose_b");
  epilogue e = {0};
  fy_ocl_product p;
  fy_tensor *out;
  if (x->rank < 2 || y->rank < 2 || !all_here(c, c->ctx.site->num_inputs)) return FY_OCL_DETOUR;
  const int64_t *dx = x->dims + x->rank - 2, *dy = y->dims + y->rank - 2;
  memset(&p, 0, sizeof p);
  p.m = dx[tx], p.k = dx[!tx], p.n = dy[!ty];
  if (dy[ty] != p.k) return FY_OCL_DETOUR;
  p.a_row = tx ? 1 : dx[1], p.a_col = tx ? dx[1] : 1;
  p.b_row = ty ? 1 : dy[1], p.b_col = ty ? dy[1] : 1;
  FY_TRY(fy_ocl_output(c, 0, &out, err));
  if (out->count == 0) return FY_OK;
  if (p.k == 0) return arg == 3 ? FY_OCL_DETOUR : fy_ocl_fill(c, out, NULL, err);
  int64_t batches = out->count / (p.m * p.n);
  if (arg == 3 && batches > 1) {  // one tall matrix
    if (tx || y->rank != 2) return FY_OCL_DETOUR;
    p.m *= batches;
    batches = 1;
  }
  p.out_row = p.n, p.out_col = 1;
  p.batch.rank = 1;
  p.batch.dims[0] = 1;
  if (batches > 1) {
    fy_bcast *b = fy_arena_array(&c->arena, 1, sizeof *b);
    const int32_t ranks[2] = {x->rank - 2, y->rank - 2};
    const int64_t *dims[2] = {x->dims, y->dims}, *strides[2];
    if (!b) return fy_fail_oom(err, sizeof *b);
    if (fy_bcast_init_dims(b, 2, ranks, dims, NULL)) return FY_OCL_DETOUR;
    strides[0] = b->strides[0], strides[1] = b->strides[1];
    if (!fy_ocl_geo_make(&p.batch, b->rank, b->dims, 2, strides)) return FY_OCL_DETOUR;
    int64_t step = p.m * p.n;
    for (int d = p.batch.rank - 1; d >= 0; d--) {
      p.batch.s[0][d] *= p.m * p.k;
      p.batch.s[1][d] *= p.k * p.n;
      p.batch.s[2][d] = step;
      step *= p.batch.dims[d];
    }
  }
  if (arg == 3) FY_TRY(fold(c, p.n, out->count, &e, err));
  return run_product(c, &p, batches, &e, x, y, out, false, err);
}

// --- windows ---

static void strides_of(int64_t s[4], int64_t h, int64_t w, int64_t ch, bool channels_last) {
  s[0] = h * w * ch;
  s[1] = channels_last ? w * ch : w;
  s[2] = channels_last ? ch : 1;
  s[3] = channels_last ? 1 : h * w;
}

fy_ocl_win fy_ocl_window(const fy_window *h, const fy_window *w, int64_t batch, int64_t in_c,
                         int64_t out_c, bool channels_last) {
  fy_ocl_win k = {.batch = batch,
                  .in_h = h->in,
                  .in_w = w->in,
                  .in_c = in_c,
                  .out_h = h->out,
                  .out_w = w->out,
                  .out_c = out_c,
                  .k_h = h->size,
                  .k_w = w->size,
                  .stride_h = h->stride,
                  .stride_w = w->stride,
                  .dil_h = h->dilation,
                  .dil_w = w->dilation,
                  .pad_h = h->before,
                  .pad_w = w->before};
  strides_of(k.is, h->in, w->in, in_c, channels_last);
  strides_of(k.os, h->out, w->out, out_c, channels_last);
  return k;
}

static fy_code run_depthwise(fy_ocl_call *c, const fy_conv *g, bool last, const epilogue *e,
                             fy_tensor *out, fy_error *err) {
  fy_ocl_win k = fy_ocl_window(&g->w[1], &g->w[2], g->batch, g->in_depth, g->out_depth, last);
  char options[160];
  snprintf(options, sizeof options, "%s -DDEPTHWISE", fy_ocl_options(out->dtype));
  fy_ocl_args a;
  fy_ocl_args_init(&a, c);
  fy_ocl_add_in(&a, c->ctx.in[0]);
  fy_ocl_add_in(&a, c->ctx.in[1]);
  fy_ocl_add_out(&a, out);
  fy_ocl_add_value(&a, &k, sizeof k);
  add_epilogue(&a, e, out->dtype);
  return fy_ocl_run(&a, fy_ocl_src_nn, options, "depthwise", out->count, false, err);
}

// arg: 0 Conv2D, 1 DepthwiseConv2dNative, 2 _FerryConv2D, 3 _FerryDepthwise
fy_code fy_ocl_conv(fy_ocl_call *c, int arg, fy_error *err) {
  const fy_window_attrs *w = c->ctx.site->state;
  const bool depthwise = arg & 1, last = w->channels_last;
  fy_conv g;
  fy_tensor *out;
  epilogue e = {0};
  fy_error ignored;
  fy_error_init(&ignored);
  fy_code valid = fy_conv_forward(&c->ctx, c->ctx.in[0], c->ctx.in[1], depthwise, &g, &ignored);
  fy_error_clear(&ignored);
  if (valid || !all_here(c, c->ctx.site->num_inputs) ||
      (g.groups > 0 && g.out_depth % g.groups != 0))
    return FY_OCL_DETOUR;
  int64_t dims[5], spatial[3] = {g.w[0].out, g.w[1].out, g.w[2].out};
  fy_window_shape(w, g.batch, spatial, g.out_depth, dims);
  FY_TRY(fy_ocl_output_dims(c, 0, 4, dims, &out, err));
  if (out->count == 0) return FY_OK;
  if (c->ctx.in[0]->count == 0 || c->ctx.in[1]->count == 0 || (arg >= 2 && !last))
    return FY_OCL_DETOUR;
  if (arg >= 2) FY_TRY(fold(c, g.out_depth, out->count, &e, err));
  if (depthwise) return run_depthwise(c, &g, last, &e, out, err);
  const fy_window *h = &g.w[1], *v = &g.w[2];
  fy_ocl_product p;
  memset(&p, 0, sizeof p);
  p.groups = g.groups > 0 ? g.groups : 1;
  p.m = g.batch * h->out * v->out;
  p.n = g.out_depth / p.groups;
  p.in_c = g.filter_depth;
  p.k = h->size * v->size * p.in_c;
  p.b_row = g.out_depth, p.b_col = 1;
  p.in_h = h->in, p.in_w = v->in, p.out_h = h->out, p.out_w = v->out;
  p.k_h = h->size, p.k_w = v->size, p.stride_h = h->stride, p.stride_w = v->stride;
  p.dil_h = h->dilation, p.dil_w = v->dilation, p.pad_h = h->before, p.pad_w = v->before;
  // A window of one pixel: a product of matrices as they are.
  if (last && p.groups == 1 && h->size == 1 && v->size == 1 && h->stride == 1 && v->stride == 1 &&
      h->before == 0 && v->before == 0 && h->in == h->out && v->in == v->out) {
    p.a_row = p.in_c, p.a_col = 1;
    p.out_row = p.n, p.out_col = 1;
    p.batch.rank = 1;
    p.batch.dims[0] = 1;
    return run_product(c, &p, 1, &e, c->ctx.in[0], c->ctx.in[1], out, false, err);
  }
  int64_t os[4];
  strides_of(p.is, h->in, v->in, g.in_depth, last);
  strides_of(os, h->out, v->out, g.out_depth, last);
  p.out_row = os[2], p.out_col = os[3], p.out_image = os[0];
  p.batch.rank = 1;
  p.batch.dims[0] = 1;
  return run_product(c, &p, p.groups, &e, c->ctx.in[0], c->ctx.in[1], out, true, err);
}

fy_code fy_ocl_pool(fy_ocl_call *c, int average, fy_error *err) {
  const fy_tensor *in = c->ctx.in[0];
  fy_pool_geometry g;
  fy_tensor *out;
  fy_error ignored;
  fy_error_init(&ignored);
  fy_code valid = fy_pool_resolve(&c->ctx, in->rank, in->dims, 0, &g, &ignored);
  fy_error_clear(&ignored);
  if (valid || in->rank != 4 || g.depth_window > 1 || !all_here(c, 1)) return FY_OCL_DETOUR;
  FY_TRY(fy_ocl_output_dims(c, 0, g.rank, g.out_dims, &out, err));
  if (out->count == 0) return FY_OK;
  if (in->count == 0) return FY_OCL_DETOUR;
  fy_ocl_win k = fy_ocl_window(&g.w[1], &g.w[2], g.batch, g.depth, g.depth, true);
  k.dil_h = k.dil_w = 1;
  char options[160];
  snprintf(options, sizeof options, "%s -DPOOL", fy_ocl_options(in->dtype));
  fy_ocl_args a;
  fy_ocl_args_init(&a, c);
  fy_ocl_add_in(&a, in);
  fy_ocl_add_out(&a, out);
  fy_ocl_add_value(&a, &k, sizeof k);
  fy_ocl_add_int(&a, average);
  // 16-bit floats: the lowest number, and how far their counts go.
  const fy_dtype t = in->dtype;
  add_real(&a, t,
           t == FY_DOUBLE  ? -DBL_MAX
           : t == FY_HALF  ? -65504.0
           : t == FY_FLOAT ? (double)-FLT_MAX
                           : -3.38953139e38);
  fy_ocl_add_long(&a, t == FY_HALF ? 2048 : t == FY_BFLOAT16 ? 256 : (int64_t)1 << 24);
  return fy_ocl_run(&a, fy_ocl_src_nn, options, "pool", out->count, false, err);
}

#else
typedef int fy_opencl_nn_is_empty;
#endif
