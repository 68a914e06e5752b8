// SPDX-License-Identifier: Apache-2.0
// contraction.c: the reference of contraction.h: the plain op first, then one loop over its result.

#include "ops/contraction.h"

#include <math.h>
#include <string.h>

#include "base/alloc.h"
#include "ferry/device.h"
#include "ops/shape_fns.h"

extern const fy_op_impl fy_impl_MatMul, fy_impl_BatchMatMulV2, fy_impl_Conv2D,
    fy_impl_DepthwiseConv2dNative;

// ---------------------------------------------------------------- attributes
static fy_code step(fy_view word, int *args, fy_epilogue *e, fy_error *err) {
  static const struct {
    const char *name;
    fy_ew act;
  } acts[] = {{"relu", FY_EW_RELU},       {"relu6", FY_EW_RELU6}, {"tanh", FY_EW_TANH},
              {"sigmoid", FY_EW_SIGMOID}, {"elu", FY_EW_ELU},     {"leaky", FY_EW_LEAKY_RELU},
              {"swish", FY_EW_SIGMOID}};
  static const struct {
    const char *name;
    fy_affine_kind kind;
    int args;
  } affine[] = {{"bias", FY_AFFINE_BIAS, 1},
                {"minus", FY_AFFINE_MINUS, 1},
                {"scale", FY_AFFINE_SCALE, 1},
                {"norm", FY_AFFINE_NORM, 4}};
  const bool late = e->act != FY_EW_NONE;
  for (size_t i = 0; !late && e->add < 0 && i < sizeof affine / sizeof affine[0]; i++) {
    if (!fy_view_is(word, affine[i].name) || e->num_affine == FY_EPILOGUE_STEPS) continue;
    e->affine[e->num_affine++] = (fy_affine){affine[i].kind, *args};
    *args += affine[i].args;
    e->num_vectors += affine[i].args;
    e->scales |= affine[i].kind == FY_AFFINE_SCALE || affine[i].kind == FY_AFFINE_NORM;
    return FY_OK;
  }
  if (fy_view_is(word, "add") && e->add < 0 && !late) {
    e->add = (*args)++;
    return FY_OK;
  }
  for (size_t i = 0; !late && i < sizeof acts / sizeof acts[0]; i++) {
    if (!fy_view_is(word, acts[i].name)) continue;
    e->act = acts[i].act;
    e->swish = strcmp(acts[i].name, "swish") == 0;
    return FY_OK;
  }
  return fy_fail(err, FY_INVALID_ARGUMENT, "epilogue has an unexpected step '%.*s'", (int)word.n,
                 word.p);
}

fy_code fy_epilogue_read(const fy_attrs *attrs, fy_epilogue *out, fy_error *err) {
  *out = (fy_epilogue){.add = -1, .alpha = 0.2f};
  const fy_attr *a = fy_attrs_get(attrs, "alpha"), *n = fy_attrs_get(attrs, "N");
  if (a && a->kind == FY_ATTR_FLOAT) out->alpha = a->v.f;
  if ((a = fy_attrs_get(attrs, "epsilon")) && a->kind == FY_ATTR_FLOAT) out->epsilon = a->v.f;
  a = fy_attrs_get(attrs, "epilogue");
  fy_view rest = a && a->kind == FY_ATTR_STRING ? a->v.s : (fy_view){"", 0};
  int args = 2;
  while (rest.n) {
    const char *comma = memchr(rest.p, ',', rest.n);
    const size_t len = comma ? (size_t)(comma - rest.p) : rest.n;
    FY_TRY(step((fy_view){rest.p, len}, &args, out, err));
    const size_t skip = comma ? len + 1 : len;
    rest = (fy_view){rest.p + skip, rest.n - skip};
  }
  if (!n || n->kind != FY_ATTR_INT || n->v.i != args - 2)
    return fy_fail(err, FY_INVALID_ARGUMENT, "epilogue needs %d args", args - 2);
  return FY_OK;
}

static fy_code prepare(fy_site *site, fy_prepare_fn window, fy_error *err) {
  fy_contraction *c = fy_calloc(1, sizeof *c);
  if (!c) return fy_fail_oom(err, sizeof *c);
  fy_code code = fy_epilogue_read(site->attrs, &c->epilogue, err);
  if (!code && window) code = window(site, err);
  if (!code && window) {
    c->window = *(const fy_window_attrs *)site->state;
    fy_free(site->state);
  }
  site->state = code ? NULL : c;
  if (code) fy_free(c);
  return code;
}
static fy_code prepare_matmul(fy_site *site, fy_error *err) {
  return prepare(site, NULL, err);
}
static fy_code prepare_conv(fy_site *site, fy_error *err) {
  return prepare(site, fy_conv_prepare_2d, err);
}
static fy_code prepare_depthwise(fy_site *site, fy_error *err) {
  return prepare(site, fy_conv_prepare_depthwise, err);
}

// ---------------------------------------------------------------- the loop
static double activate(const fy_epilogue *e, double x) {
  switch (e->act) {
    case FY_EW_RELU: return x < 0 ? 0 : x;
    case FY_EW_RELU6: return x < 0 ? 0 : x > 6 ? 6 : x;
    case FY_EW_TANH: return tanh(x);
    case FY_EW_SIGMOID: return e->swish ? x / (1 + exp(-x)) : 1 / (1 + exp(-x));
    case FY_EW_ELU: return x < 0 ? expm1(x) : x;
    case FY_EW_LEAKY_RELU: return x > 0 ? x : (double)e->alpha * x;
    default: return x;
  }
}

#define APPLY(REAL)                                                                           \
  do {                                                                                        \
    REAL *y = out->data;                                                                      \
    const REAL *add = e->add < 0 ? NULL : ctx->in[e->add]->data;                              \
    for (int64_t i = 0; i < out->count; i++) {                                                \
      const int64_t c = i % channels;                                                         \
      REAL x = y[i];                                                                          \
      for (int k = 0; k < e->num_affine; k++) {                                               \
        fy_tensor *const *from = ctx->in + e->affine[k].arg;                                  \
        const REAL v = ((const REAL *)from[0]->data)[c];                                      \
        switch (e->affine[k].kind) {                                                          \
          case FY_AFFINE_BIAS: x += v; break;                                                 \
          case FY_AFFINE_MINUS: x -= v; break;                                                \
          case FY_AFFINE_SCALE: x *= v; break;                                                \
          case FY_AFFINE_NORM:                                                                \
            x = (REAL)((double)(x - ((const REAL *)from[2]->data)[c]) * (double)v /           \
                       sqrt((double)((const REAL *)from[3]->data)[c] + (double)e->epsilon)) + \
                ((const REAL *)from[1]->data)[c];                                             \
            break;                                                                            \
        }                                                                                     \
      }                                                                                       \
      if (add) x += add[i];                                                                   \
      y[i] = (REAL)activate(e, (double)x);                                                    \
    }                                                                                         \
  } while (0)

static fy_code apply(fy_kernel_ctx *ctx, fy_error *err) {
  const fy_epilogue *e = &((const fy_contraction *)ctx->site->state)->epilogue;
  fy_tensor *out = ctx->out[0];
  const int64_t channels = out->rank ? out->dims[out->rank - 1] : 1;
  for (int i = 2; i < ctx->site->num_inputs; i++) {
    const int64_t want = i == e->add ? out->count : channels;
    if (ctx->in[i]->dtype != out->dtype || ctx->in[i]->count != want)
      return fy_fail(err, FY_INVALID_ARGUMENT, "arg %d of %s has %lld elements instead of %lld",
                     i - 2, ctx->site->node_name, (long long)ctx->in[i]->count, (long long)want);
  }
  if (out->dtype == FY_FLOAT)
    APPLY(float);
  else
    APPLY(double);
  return FY_OK;
}

#define PLAIN_FIRST(name, plain)                           \
  static fy_code name(fy_kernel_ctx *ctx, fy_error *err) { \
    FY_TRY(fy_impl_##plain.compute(ctx, err));             \
    return apply(ctx, err);                                \
  }
// Matrices of higher rank are one tall matrix.
static fy_code matmul(fy_kernel_ctx *ctx, fy_error *err) {
  const bool tall = ctx->in[0]->rank > 2;
  FY_TRY((tall ? fy_impl_BatchMatMulV2 : fy_impl_MatMul).compute(ctx, err));
  return apply(ctx, err);
}
PLAIN_FIRST(conv2d, Conv2D)
PLAIN_FIRST(depthwise, DepthwiseConv2dNative)

static fy_code matmul_shape(fy_shape_ctx *ctx, fy_error *err) {
  const fy_pshape a = ctx->in[0], b = ctx->in[1];
  if (a.rank <= 2) return fy_impl_MatMul.shape(ctx, err);
  FY_TRY(fy_shape_rank_is(b, 2, err));
  int64_t dims[FY_MAX_RANK];
  memcpy(dims, a.dims, (size_t)a.rank * sizeof *dims);
  dims[a.rank - 1] = b.rank == 2 ? b.dims[1] : -1;
  return fy_shape_set(ctx, 0, a.rank, dims, err);
}
static void matmul_cost(const fy_site *site, const fy_pshape *in, const fy_pshape *out,
                        fy_cost *cost) {
  (void)site;
  const double k = in[1].rank == 2 && in[1].dims[0] > 0 ? (double)in[1].dims[0] : 1;
  double n = 1, m = 1;
  for (int32_t i = 0; i < out[0].rank; i++) n *= out[0].dims[i] > 0 ? (double)out[0].dims[i] : 1;
  for (int32_t i = 0; i < in[0].rank; i++) m *= in[0].dims[i] > 0 ? (double)in[0].dims[i] : 1;
  const double columns = in[1].rank == 2 && in[1].dims[1] > 0 ? (double)in[1].dims[1] : 1;
  cost->flops = 2 * n * k;
  cost->bytes = 4 * (n + m + k * columns);
}

static const fy_sample matmul_samples[] = {
    {"f32[3,5]=normal; f32[5,4]=normal; f32[4]=normal", "T=float; N=1; epilogue=\"bias,relu\"",
     FY_OK, NULL},
    {"f32[2,3,5]=normal; f32[5,4]=normal; f32[4]=normal", "T=float; N=1; epilogue=\"bias\"", FY_OK,
     NULL},
    {"f64[3,5]=normal; f64[5,4]=normal; f64[3,4]=normal", "T=double; N=1; epilogue=\"add\"", FY_OK,
     NULL},
};
static const fy_sample conv_samples[] = {
    {"f32[2,7,6,3]=normal; f32[3,3,3,5]=normal; f32[5]=normal; f32[5]=normal; f32[5]=normal; "
     "f32[5]=normal; f32[5]=ones",
     "T=float; N=5; epilogue=\"bias,norm,relu6\"; epsilon=0.001; strides=[1,2,1,1]; "
     "padding=\"SAME\"",
     FY_OK, NULL},
    {"f32[1,5,5,4]=normal; f32[1,1,4,18]=normal; f32[18]=normal; f32[18]=normal; "
     "f32[1,5,5,18]=normal",
     "T=float; N=3; epilogue=\"scale,minus,add,swish\"; strides=[1,1,1,1]; padding=\"VALID\"",
     FY_OK, NULL},
};
static const fy_sample depthwise_samples[] = {
    {"f32[1,6,6,19]=normal; f32[3,3,19,1]=normal; f32[19]=normal",
     "T=float; N=1; epilogue=\"bias,relu6\"; strides=[1,1,1,1]; padding=\"SAME\"", FY_OK, NULL},
};

// Devices without a kernel of their own for it (OpenCL) fold factors and terms in memory beside it.
static void needs(fy_kernel_ctx *ctx, fy_needs *out) {
  const fy_epilogue *e = &((const fy_contraction *)ctx->site->state)->epilogue;
  const fy_device *d = ctx->site->device;
  if (!d || d->is_host || !e->num_affine ||
      (e->num_affine == 1 && e->affine[0].kind == FY_AFFINE_BIAS))
    return;
  const fy_tensor *each = ctx->in[e->affine[0].arg];
  out->scratch += 2 * fy_scratch_line((size_t)each->count * fy_dtype_storage(ctx->in[0]->dtype));
}

FY_OP(_FerryMatMul, .shape = matmul_shape, .prepare = prepare_matmul, .compute = matmul,
      .release = fy_free, .needs = needs, .cost = matmul_cost, FY_SAMPLES(matmul_samples));
FY_OP(_FerryConv2D, .shape = fy_conv2d_shape, .prepare = prepare_conv, .compute = conv2d,
      .release = fy_free, .needs = needs, .cost = fy_conv_cost, FY_SAMPLES(conv_samples));
FY_OP(_FerryDepthwise, .shape = fy_depthwise_shape, .prepare = prepare_depthwise,
      .compute = depthwise, .release = fy_free, .needs = needs, .cost = fy_conv_cost,
      FY_SAMPLES(depthwise_samples));
