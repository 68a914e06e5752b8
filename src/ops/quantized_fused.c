// SPDX-License-Identifier: Apache-2.0
// quantized_fused.c: what graph transforms for Intel's processors make of quantized layers: a product or
// convolution of bytes with what follows it (QuantizedMatMulWithBias…, QuantizedConv2DWithBias…,
// QuantizedDepthwiseConv2D…, _FusedQuantizedConv2D …).
//
// Numbers are symmetric: a byte times a scale (range / 255 or / 127) is the real number. The sum is made in
// integers, the rest in floats, in oneDNN's order, which is what TensorFlow runs:
//   real = sum * (scale of input * scale of filter) [+ bias] [+ summand * its scale] [relu]
//   out  = round(real * (1 / scale of output)), saturated
// A 32-bit output has the scale of a product. Rounding is to even.

#include <math.h>
#include <stdio.h>

#include "base/alloc.h"
#include "ops/bytes.h"
#include "ops/quant.h"
#include "ops/shape_fns.h"
#include "ops/values.h"

enum {
  BIAS = 1 << 0,
  SUM = 1 << 1,
  RELU = 1 << 2,
  REQUANTIZE = 1 << 3,  // the range of the output is an input
  DEQUANTIZE = 1 << 4,  // the output is floats
  DEPTHWISE = 1 << 5,
  PRODUCT = 1 << 6,  // of matrices
  LISTS = 1 << 7,    // inputs come as two lists, and `fused_ops` tells what is done
};

typedef struct fused {
  fy_window_attrs window;  // comes first: fy_conv_forward() reads the state as this
  uint32_t what;
  // Inputs: the ranges are min and max of the first input, then of the filter.
  int summand, ranges, sum_range, out_range;
} fused;

// ---------------------------------------------------------------- where the inputs are
static void place_inputs(fused *f, int num_inputs) {
  const int more = f->what & BIAS ? 1 : 0;
  f->ranges = 2 + more;
  if (f->what & LISTS) {
    f->summand = 2 + more;
    f->ranges += f->what & SUM ? 1 : 0;
    f->sum_range = f->ranges + 4;
    f->out_range = num_inputs - 2;
  } else {
    f->out_range = f->ranges + 4;
    f->summand = f->out_range + (f->what & REQUANTIZE ? 2 : 0);
    f->sum_range = f->summand + 1;
  }
}

// "BiasAdd", "Sum", "Relu", "Requantize": some of them in this order, a sum only between a bias and a Relu.
static bool read_steps(const fy_attrs *attrs, uint32_t *what) {
  static const char *const names[] = {"BiasAdd", "Sum", "Relu", "Requantize"};
  const fy_attr *list = fy_attrs_get(attrs, "fused_ops");
  int next = 0;
  for (uint32_t i = 0; list && i < list->n; i++) {
    while (next < 4 && !fy_view_is(list->v.strings[i], names[next])) next++;
    if (next == 4) return false;
    *what |= 1u << next++;
  }
  return !(*what & SUM) || (*what & BIAS && *what & RELU);
}

static fy_code fail_steps(const fy_attrs *attrs, fy_error *err) {
  const fy_attr *list = fy_attrs_get(attrs, "fused_ops");
  char text[160] = "";
  size_t at = 0;
  for (uint32_t i = 0; i < list->n && at < sizeof text; i++)
    at += (size_t)snprintf(text + at, sizeof text - at, "%s%.*s", i ? "," : "",
                           (int)list->v.strings[i].n, list->v.strings[i].p);
  return fy_fail(err, FY_INVALID_ARGUMENT, "Unsupported QuantizedConv fusion: [%s]", text);
}

static fy_code check_types(const fy_site *site, uint32_t what, fy_error *err) {
  const fy_dtype out = fy_site_type(site, "out_type"), summand = fy_site_type(site, "Tsummand");
  if (what & REQUANTIZE && out != FY_QINT8 && out != FY_QUINT8) {
    return fy_fail(err, FY_INVALID_ARGUMENT,
                   "QuantizedConv: unsupported output type when Requantize is fused.");
  }
  if (!(what & SUM) && summand != out) {
    return fy_fail(err, FY_INVALID_ARGUMENT,
                   "QuantizedConv: incorrect summand data type. When Sum is not fused, Tsummand "
                   "attribute must have same value as out_type.");
  }
  if (site->out_types[0] == out && site->in_types[1] == FY_QINT8) return FY_OK;
  return fy_fail(err, FY_INVALID_ARGUMENT, "the lists of types and the attributes differ");
}

static fy_code check_window(const fused *f, const int lengths[3], fy_error *err) {
  const fy_window_attrs *w = &f->window;
  if (lengths[1] != 4) {
    return fy_fail(err, FY_INVALID_ARGUMENT,
                   "Sliding window strides field must specify 4 or 5 dimensions");
  }
  if (w->stride_n != 1 || w->stride_c != 1) {
    return fy_fail(err, FY_UNIMPLEMENTED,
                   "Current implementation does not yet support strides in the batch and depth "
                   "dimensions.");
  }
  if (lengths[2] != 4) {
    return fy_fail(err, FY_INVALID_ARGUMENT,
                   "Sliding window dilations field must specify 4 dimensions");
  }
  if (w->dilation_n != 1 || w->dilation_c != 1) {
    return fy_fail(err, FY_INVALID_ARGUMENT,
                   "Current implementation does not yet support dilations in the batch and depth "
                   "dimensions.");
  }
  if (w->dilations[1] <= 0 || w->dilations[2] <= 0) {
    return fy_fail(err, FY_INVALID_ARGUMENT, "Dilated rates should be larger than 0.");
  }
  if (w->strides[1] <= 0 || w->strides[2] <= 0) {
    return fy_fail(err, FY_INVALID_ARGUMENT, "Row and column strides should be larger than 0.");
  }
  if (!w->channels_last) return fy_fail(err, FY_INVALID_ARGUMENT, "Invalid data format");
  return FY_OK;
}

fy_code fy_q_fused_prepare(fy_site *site, fy_error *err) {
  fused f = {.what = *(const uint32_t *)site->op->impl->aux};
  if (f.what & LISTS) {
    if (site->num_inputs < 2 || site->num_outputs != 3)
      return fy_fail(err, FY_INVALID_ARGUMENT, "%d inputs and %d outputs", site->num_inputs,
                     site->num_outputs);
    if (!read_steps(site->attrs, &f.what)) return fail_steps(site->attrs, err);
    FY_TRY(check_types(site, f.what, err));
  }
  place_inputs(&f, site->num_inputs);
  if (!(f.what & PRODUCT)) {
    int lengths[3];
    fy_window_read(site->attrs, 2, &f.window, lengths);
    FY_TRY(check_window(&f, lengths, err));
    if (f.window.padding == FY_PAD_EXPLICIT)
      FY_TRY(fy_window_check_padding(site->attrs, &f.window, err));
  }
  const bool levels =
      f.what & SUM && f.summand < site->num_inputs && site->in_types[f.summand] != FY_FLOAT;
  const int wanted = f.ranges + 4 + (levels ? 2 : 0) + (f.what & (REQUANTIZE | DEQUANTIZE) ? 2 : 0);
  if (f.what & LISTS && site->num_inputs < wanted) {
    return fy_fail(err, FY_INVALID_ARGUMENT, "%s needs %d inputs, not %d", site->op->spec->name,
                   wanted, site->num_inputs);
  }
  fused *state = fy_malloc(sizeof *state);
  if (!state) return fy_fail_oom(err, sizeof *state);
  *state = f;
  site->state = state;
  return FY_OK;
}

// ---------------------------------------------------------------- scales
static float largest(float a, float b) {
  return fmaxf(fabsf(a), fabsf(b));
}

static fy_code check_filter_ranges(fy_kernel_ctx *ctx, const fused *f, int64_t n, fy_error *err) {
  const fy_tensor *min = ctx->in[f->ranges + 2], *max = ctx->in[f->ranges + 3];
  if (!min->count || !fy_shape_equal(min->rank, min->dims, max->rank, max->dims)) {
    return fy_fail(err, FY_INVALID_ARGUMENT,
                   "`min_ and max_filter` must have sameshape and contain at least one element.");
  }
  if (min->count == 1 || min->count == n) return FY_OK;
  return fy_fail(err, FY_INVALID_ARGUMENT,
                 "the filter has %lld ranges for %lld channels of the output",
                 (long long)min->count, (long long)n);
}

// The scales of the sums, of each column, and of the output.
static fy_code read_scales(fy_kernel_ctx *ctx, const fused *f, float in_scale, fy_q_finish *e,
                           fy_error *err) {
  const fy_tensor *min = ctx->in[f->ranges + 2];
  const float *lo = min->data, *hi = ctx->in[f->ranges + 3]->data;
  void *memory;
  FY_TRY(check_filter_ranges(ctx, f, e->n, err));
  FY_TRY(fy_scratch(ctx, (size_t)(e->n + 1) * sizeof(float), &memory, err));
  float *scale = memory, lowest = lo[0], highest = hi[0];
  for (int64_t i = 0; i < e->n; i++) {
    const int64_t c = min->count > 1 ? i : 0;
    scale[i] = in_scale * (float)(largest(lo[c], hi[c]) / 127.0);
    lowest = fminf(lowest, lo[c]);
    highest = fmaxf(highest, hi[c]);
  }
  e->scale = scale;
  float out_scale = in_scale * (float)(largest(lowest, highest) / 127.0);
  if (f->what & REQUANTIZE) {
    out_scale = largest(fy_q_scalar(ctx, f->out_range), fy_q_scalar(ctx, f->out_range + 1)) /
                (e->type == FY_QUINT8 ? 255.0f : 127.0f);
  }
  e->by = 1 / out_scale;
  return FY_OK;
}

// A bias of integers counts levels of a product.
static fy_code read_bias(fy_kernel_ctx *ctx, const fused *f, float in_range, float in_limit,
                         fy_q_finish *e, fy_error *err) {
  const fy_tensor *bias = ctx->in[2], *min = ctx->in[f->ranges + 2], *max = ctx->in[f->ranges + 3];
  const bool given = f->what & BIAS;
  if (given && bias->count != e->n) {
    return fy_fail(err, FY_INVALID_ARGUMENT, "%lld numbers of a bias for %lld channels",
                   (long long)bias->count, (long long)e->n);
  }
  if (given && bias->dtype == FY_FLOAT) {
    e->bias = bias->data;
    return FY_OK;
  }
  void *memory;
  FY_TRY(fy_scratch(ctx, (size_t)(e->n + 1) * sizeof(float), &memory, err));
  float *to = memory;
  e->bias = to;
  for (int64_t i = 0; i < e->n; i++) {
    const int64_t c = min->count > 1 ? i : 0;
    const float range = largest(((const float *)min->data)[c], ((const float *)max->data)[c]);
    const float levels = (float)((double)in_limit * 127.0) / (in_range * range);
    to[i] = given ? (float)((const int32_t *)bias->data)[i] / levels : 0;
  }
  return FY_OK;
}

static fy_code read_summand(fy_kernel_ctx *ctx, const fused *f, const fy_tensor *out,
                            fy_q_finish *e, fy_error *err) {
  const fy_tensor *add = ctx->in[f->summand];
  if (!fy_shape_equal(add->rank, add->dims, out->rank, out->dims)) {
    char x[128], y[128];
    return fy_fail(err, FY_INVALID_ARGUMENT, "a summand of shape %s for an output of shape %s",
                   fy_tensor_shape_text(add, x), fy_tensor_shape_text(out, y));
  }
  if (add->dtype == FY_QINT32) {
    return fy_fail(err, FY_INVALID_ARGUMENT, "Summand datatype is expected to be float.");
  }
  e->add = add->data;
  e->add_type = add->dtype;
  if (add->dtype == FY_FLOAT) return FY_OK;
  for (int i = 0; i < 2; i++)
    FY_TRY(fy_q_need_scalar(ctx, f->sum_range + i,
                            i ? "max_freezed_summand" : "min_freezed_summand", err));
  e->add_scale = largest(fy_q_scalar(ctx, f->sum_range), fy_q_scalar(ctx, f->sum_range + 1)) /
                 (add->dtype == FY_QUINT8 ? 255.0f : 127.0f);
  // What is added to in place is signed bytes.
  if (add->dtype == FY_QINT8) e->hi = INT8_MAX;
  return FY_OK;
}

// Outputs 1 and 2: the range.
static fy_code put_range(fy_kernel_ctx *ctx, const fused *f, fy_error *err) {
  if (f->what & DEQUANTIZE) return FY_OK;
  if (f->what & REQUANTIZE) {
    FY_TRY(fy_q_out_float(ctx, 1, fy_q_scalar(ctx, f->out_range), err));
    return fy_q_out_float(ctx, 2, fy_q_scalar(ctx, f->out_range + 1), err);
  }
  const fy_tensor *lo = ctx->in[f->ranges + 2], *hi = ctx->in[f->ranges + 3];
  const float steps_in = ctx->in[0]->dtype == FY_QUINT8 ? 255 : 254;
  const float level_in = (fy_q_scalar(ctx, f->ranges + 1) - fy_q_scalar(ctx, f->ranges)) / steps_in;
  fy_tensor *out[2];
  for (int i = 0; i < 2; i++) FY_TRY(fy_out_like(ctx, 1 + i, lo, &out[i], err));
  for (int64_t i = 0; i < lo->count; i++) {
    const float level =
        level_in * ((((const float *)hi->data)[i] - ((const float *)lo->data)[i]) / 254.0f);
    ((float *)out[0]->data)[i] = level * (float)INT32_MIN;
    ((float *)out[1]->data)[i] = level * (float)INT32_MAX;
  }
  return FY_OK;
}

static fy_code check_scalars(fy_kernel_ctx *ctx, const fused *f, fy_error *err) {
  static const char *const names[][2] = {{"min_input", "max_input"}, {"min_a", "max_a"}};
  const bool product = f->what & PRODUCT;
  for (int i = 0; i < 2; i++) FY_TRY(fy_q_need_scalar(ctx, f->ranges + i, names[product][i], err));
  if (product) {
    FY_TRY(fy_q_need_scalar(ctx, f->ranges + 2, "min_b", err));
    FY_TRY(fy_q_need_scalar(ctx, f->ranges + 3, "max_b", err));
  }
  if (!(f->what & (REQUANTIZE | DEQUANTIZE))) return FY_OK;
  FY_TRY(fy_q_need_scalar(ctx, f->out_range, "min_freezed_output", err));
  return fy_q_need_scalar(ctx, f->out_range + 1, "max_freezed_output", err);
}

// Everything about the output but its bias.
static fy_code begin_finish(fy_kernel_ctx *ctx, const fused *f, float in_scale, fy_tensor *out,
                            fy_q_finish *e, fy_error *err) {
  const fy_qtype q = fy_qtype_of(out->dtype);
  *e = (fy_q_finish){.type = out->dtype,
                     .out = out->data,
                     .n = out->dims[out->rank - 1],
                     .lo = f->what & RELU ? 0 : (float)q.low,
                     .hi = fminf((float)q.high, 0x1.fffffep30f)};
  FY_TRY(read_scales(ctx, f, in_scale, e, err));
  return f->what & SUM ? read_summand(ctx, f, out, e, err) : FY_OK;
}

// ---------------------------------------------------------------- convolutions
fy_code fy_q_fused_conv(fy_kernel_ctx *ctx, fy_bytes_fn product, fy_error *err) {
  const fused *f = ctx->site->state;
  const fy_tensor *in = ctx->in[0], *filter = ctx->in[1];
  const bool depthwise = f->what & DEPTHWISE;
  fy_conv c;
  fy_tensor *out;
  fy_q_finish e;
  if (!filter->count) {
    return fy_fail(err, FY_INVALID_ARGUMENT,
                   "filter must not have zero elements (i.e. all dimensions must be non-zero)");
  }
  FY_TRY(check_scalars(ctx, f, err));
  FY_TRY(fy_conv_forward(ctx, in, filter, depthwise, &c, err));
  if (!depthwise && c.out_depth % c.groups) {
    return fy_fail(err, FY_INVALID_ARGUMENT,
                   "output depth must be evenly divisible by number of groups: %lld vs %lld",
                   (long long)c.out_depth, (long long)c.groups);
  }
  const int64_t dims[] = {c.batch, c.w[1].out, c.w[2].out, c.out_depth};
  FY_TRY(fy_out(ctx, 0, 4, dims, &out, err));
  const float range = largest(fy_q_scalar(ctx, f->ranges), fy_q_scalar(ctx, f->ranges + 1));
  const float limit = in->dtype == FY_QUINT8 ? 255.0f : 127.0f;
  FY_TRY(begin_finish(ctx, f, range / limit, out, &e, err));
  FY_TRY(read_bias(ctx, f, range, limit, &e, err));
  const fy_byte_product p = {.m = c.batch * c.out_spatial,
                             .n = c.out_depth / c.groups,
                             .k = c.taps * c.filter_depth,
                             .a = in->data,
                             .a_signed = in->dtype == FY_QINT8,
                             .conv = &c,
                             .depthwise = depthwise,
                             .groups = c.groups,
                             .b = filter->data,
                             .b_signed = true,
                             .step_k = c.out_depth,
                             .step_n = 1,
                             .b_input = 1,
                             .finish = fy_q_finish_sums,
                             .finish_arg = &e};
  if (out->count) FY_TRY(product(ctx, &p, err));
  return put_range(ctx, f, err);
}

// ---------------------------------------------------------------- products of matrices
// MIN_FIRST: 0 stands for the least number, which every product then lacks. It is added as TensorFlow does, which
// does not scale it, and not at all to a bias of integers.
static fy_code add_least(fy_kernel_ctx *ctx, float least, const fy_tensor *b, fy_q_finish *e,
                         fy_error *err) {
  const int64_t k = b->dims[0], n = b->dims[1];
  void *memory;
  FY_TRY(fy_scratch(ctx, (size_t)(n + 1) * sizeof(float), &memory, err));
  float *bias = memory;
  for (int64_t j = 0; j < n; j++) {
    int32_t sum = 0;
    for (int64_t i = 0; i < k; i++) sum += ((const int8_t *)b->data)[i * n + j];
    bias[j] = e->bias[j] + (float)sum * least;
  }
  e->bias = bias;
  return FY_OK;
}

fy_code fy_q_fused_matmul(fy_kernel_ctx *ctx, fy_bytes_fn product, fy_error *err) {
  const fused *f = ctx->site->state;
  const fy_tensor *a = ctx->in[0], *b = ctx->in[1];
  fy_tensor *out;
  fy_q_finish e;
  char x[128], y[128];
  if (a->rank != 2) return fy_fail(err, FY_INVALID_ARGUMENT, "In[0] is not a matrix");
  if (b->rank != 2) return fy_fail(err, FY_INVALID_ARGUMENT, "In[1] is not a matrix");
  if (a->dims[1] != b->dims[0]) {
    return fy_fail(err, FY_INVALID_ARGUMENT, "Matrix size-incompatible: In[0]: %s, In[1]: %s",
                   fy_tensor_shape_text(a, x), fy_tensor_shape_text(b, y));
  }
  FY_TRY(check_scalars(ctx, f, err));
  const int64_t dims[] = {a->dims[0], b->dims[1]};
  FY_TRY(fy_out(ctx, 0, 2, dims, &out, err));
  const float min = fy_q_scalar(ctx, f->ranges), max = fy_q_scalar(ctx, f->ranges + 1);
  // TensorFlow hands `input_quant_mode` on for one of these ops only.
  const bool scaled =
      f->what & DEQUANTIZE && fy_view_is(fy_site_string(ctx->site, "input_quant_mode"), "SCALED");
  const float range = scaled ? largest(min, max) : max - min;
  FY_TRY(begin_finish(ctx, f, (float)(range / 255.0), out, &e, err));
  FY_TRY(read_bias(ctx, f, scaled ? max : range, 255.0f, &e, err));
  const float least = 255 * min / range;
  if (!scaled && least != 0 && ctx->in[2]->dtype == FY_FLOAT)
    FY_TRY(add_least(ctx, least, b, &e, err));
  const fy_byte_product p = {.m = dims[0],
                             .n = dims[1],
                             .k = b->dims[0],
                             .a = a->data,
                             .row_step = a->dims[1],
                             .k_step = 1,
                             .groups = 1,
                             .b = b->data,
                             .b_signed = true,
                             .step_k = dims[1],
                             .step_n = 1,
                             .b_input = 1,
                             .finish = fy_q_finish_sums,
                             .finish_arg = &e};
  if (out->count) FY_TRY(product(ctx, &p, err));
  return put_range(ctx, f, err);
}

static fy_code conv(fy_kernel_ctx *ctx, fy_error *err) {
  return fy_q_fused_conv(ctx, fy_bytes_plain, err);
}
static fy_code matmul(fy_kernel_ctx *ctx, fy_error *err) {
  return fy_q_fused_matmul(ctx, fy_bytes_plain, err);
}

// ---------------------------------------------------------------- shapes
static bool starts(const char *name, const char *with) {
  return !strncmp(name, with, strlen(with));
}

// What the names of the arguments tell: a bias is a vector, ranges are scalars, those of a filter may be vectors.
static fy_code ranges_shape(fy_shape_ctx *ctx, bool one_filter, fy_error *err) {
  int last = -1;
  bool known = false;
  for (int i = 2; i < ctx->num_inputs; i++) {
    const char *name = ctx->spec->inputs[i].name;
    if (!strcmp(name, "bias")) {
      FY_TRY(fy_shape_rank_is(ctx->in[i], 1, err));
    } else if (!strcmp(name, "summand")) {
      break;
    } else if (strstr(name, "_filter") && !one_filter) {
      FY_TRY(fy_shape_rank_at_most(ctx->in[i], 1, err));
      last = i;
    } else {
      FY_TRY(fy_shape_rank_is(ctx->in[i], 0, err));
      known |= starts(name, "min_freezed");
    }
  }
  for (int i = 1; i < ctx->num_outputs; i++) {
    if (known || last < 0)
      FY_TRY(fy_shape_set(ctx, i, 0, NULL, err));
    else if (ctx->in[last].rank >= 0)
      FY_TRY(fy_shape_set(ctx, i, ctx->in[last].rank, ctx->in[last].dims, err));
  }
  return FY_OK;
}
static fy_code conv_shape(fy_shape_ctx *ctx, fy_error *err) {
  FY_TRY(fy_conv2d_shape(ctx, err));
  return ranges_shape(ctx, false, err);
}
static fy_code conv_one_shape(fy_shape_ctx *ctx, fy_error *err) {
  FY_TRY(fy_conv2d_shape(ctx, err));
  return ranges_shape(ctx, true, err);
}
// Nothing is asked of the other inputs before the run.
static fy_code depthwise_shape(fy_shape_ctx *ctx, fy_error *err) {
  return fy_depthwise_shape(ctx, err);
}
static fy_code matmul_shape(fy_shape_ctx *ctx, fy_error *err) {
  FY_TRY(fy_q_matmul_shape(ctx, err));
  return ranges_shape(ctx, true, err);
}

// A term of a sum of bytes takes a quarter of one of floats.
static double elements(fy_pshape s) {
  double n = 1;
  for (int32_t d = 0; d < s.rank; d++) n *= s.dims[d] > 0 ? (double)s.dims[d] : 1;
  return n;
}
void fy_q_cost(const fy_site *site, const fy_pshape *in, const fy_pshape *out, fy_cost *cost) {
  (void)site;
  const int64_t columns = out[0].rank > 0 ? out[0].dims[out[0].rank - 1] : 1;
  cost->flops = 0.5 * elements(out[0]) / (columns > 0 ? (double)columns : 1) * elements(in[1]);
  cost->bytes = elements(in[0]) + elements(in[1]) + 4 * elements(out[0]);
}

// Inputs of lists have no names; of those after the ranges nothing is asked.
static fy_code lists_shape(fy_shape_ctx *ctx, fy_error *err) {
  fused f = {.what = LISTS};
  if (ctx->num_inputs < 2 || ctx->num_outputs < 1) return FY_OK;
  FY_TRY((strstr(ctx->spec->name, "Depthwise") ? fy_depthwise_shape : fy_conv2d_shape)(ctx, err));
  if (!read_steps(ctx->attrs, &f.what)) return FY_OK;
  place_inputs(&f, ctx->num_inputs);
  if (ctx->num_inputs < f.ranges + 4) return FY_OK;
  if (f.what & BIAS) FY_TRY(fy_shape_rank_is(ctx->in[2], 1, err));
  if (f.what & SUM) FY_TRY(fy_shape_rank_is(ctx->in[f.summand], 4, err));
  for (int i = 0; i < 4; i++) {
    const fy_pshape s = ctx->in[f.ranges + i];
    FY_TRY(i < 2 ? fy_shape_rank_is(s, 0, err) : fy_shape_rank_at_most(s, 1, err));
  }
  const fy_pshape range = ctx->in[f.ranges + 3];
  for (int i = 1; i < ctx->num_outputs; i++) {
    if (f.what & REQUANTIZE)
      FY_TRY(fy_shape_set(ctx, i, 0, NULL, err));
    else if (range.rank >= 0)
      FY_TRY(fy_shape_set(ctx, i, range.rank, range.dims, err));
  }
  return FY_OK;
}

// ---------------------------------------------------------------- samples, ops
#define IMAGE  "quint8[1,1,2,1]=1,2; qint8[1,1,1,1]=3"
#define DEPTH  "quint8[1,1,1,2]=1,2; qint8[1,1,2,1]=3,4"
#define MATRIX "quint8[1,2]=1,2; qint8[2,1]=3,4"
#define SCALES "; f32[]=0; f32[]=255; f32[]=-127; f32[]=127"
#define WINDOW "strides=[1,1,1,1]; padding=\"VALID\"; out_type="
static const fy_sample conv_samples[] = {{IMAGE SCALES, WINDOW "qint32", FY_OK, "3,6"}};
static const fy_sample conv_requant_samples[] = {
    {IMAGE SCALES "; f32[]=-12.7; f32[]=12.7", WINDOW "qint8", FY_OK, "30,60"},
};
static const fy_sample conv_requant_relu_samples[] = {
    {IMAGE SCALES "; f32[]=0; f32[]=25.5", WINDOW "quint8", FY_OK, "30,60"},
};
static const fy_sample conv_bias_samples[] = {
    {IMAGE "; f32[1]=-4" SCALES, WINDOW "qint32", FY_OK, NULL},
};
static const fy_sample conv_bias_requant_samples[] = {
    {IMAGE "; f32[1]=-4" SCALES "; f32[]=-12.7; f32[]=12.7", WINDOW "qint8", FY_OK, "-10,20"},
};
static const fy_sample conv_bias_relu_requant_samples[] = {
    {IMAGE "; f32[1]=-4" SCALES "; f32[]=0; f32[]=25.5", WINDOW "quint8", FY_OK, "0,20"},
};
static const fy_sample sum_samples[] = {
    {IMAGE "; f32[1]=-4" SCALES "; f32[1,1,2,1]=0.5,7", WINDOW "qint32", FY_OK, "0,9"},
};
static const fy_sample sum_requant_samples[] = {
    {IMAGE "; f32[1]=-4" SCALES "; f32[]=0; f32[]=25.5; quint8[1,1,2,1]=1,2; f32[]=0; f32[]=255",
     WINDOW "quint8", FY_OK, "0,40"},
};
static const fy_sample signed_sum_samples[] = {
    {IMAGE "; f32[1]=-4" SCALES "; f32[]=0; f32[]=25.5; qint8[1,1,2,1]=2,-1; f32[]=0; f32[]=127",
     WINDOW "quint8", FY_OK, "10,10"},
};
static const fy_sample depth_samples[] = {{DEPTH SCALES, WINDOW "qint32", FY_OK, "3,8"}};
static const fy_sample depth_bias_samples[] = {
    {DEPTH "; f32[2]=-4,1" SCALES, WINDOW "qint32", FY_OK, NULL},
};
static const fy_sample depth_requant_samples[] = {
    {DEPTH "; f32[2]=-4,1" SCALES "; f32[]=0; f32[]=25.5", WINDOW "quint8", FY_OK, "0,90"},
};
static const fy_sample matmul_samples[] = {
    {MATRIX "; f32[1]=-10" SCALES, "Toutput=qint32", FY_OK, NULL},
};
static const fy_sample matmul_requant_samples[] = {
    {MATRIX "; f32[1]=-10" SCALES "; f32[]=0; f32[]=25.5", "Toutput=quint8", FY_OK, "10"},
};
static const fy_sample matmul_float_samples[] = {
    {MATRIX "; f32[1]=-10" SCALES "; f32[]=0; f32[]=25.5", "Toutput=float", FY_OK, "1"},
};

#define LISTED(type)                                                               \
  "Tinput=quint8; Tfilter=qint8; Tbias=float; Tsummand=" type                      \
  "; strides=[1,1,1,1]; "                                                          \
  "padding=\"VALID\"; Tdevice_inputs=[quint8,qint8,float]; Tdevice_outputs=[" type \
  "]; "                                                                            \
  "Thost_outputs=[float,float]; out_type=" type
static const fy_sample listed_samples[] = {
    {IMAGE "; f32[1]=-4" SCALES,
     LISTED("qint32") "; Thost_inputs=[float,float,float,float]; fused_ops=[\"BiasAdd\"]", FY_OK,
     NULL},
};
static const fy_sample depth_listed_samples[] = {
    {DEPTH "; f32[2]=-4,1" SCALES,
     LISTED("qint32") "; Thost_inputs=[float,float,float,float]; fused_ops=[\"BiasAdd\"]", FY_OK,
     NULL},
};

#define FUSED(name, what, shape_fn, compute_fn, sample)                                \
  static const uint32_t is_##name = what;                                              \
  FY_OP(name, .shape = shape_fn, .prepare = fy_q_fused_prepare, .compute = compute_fn, \
        .release = fy_free, .cost = fy_q_cost, .aux = &is_##name, FY_SAMPLES(sample))
#define CONV(name, what, sample)   FUSED(name, what, conv_shape, conv, sample)
#define DEPTHS(name, what, sample) FUSED(name, (what) | DEPTHWISE, depthwise_shape, conv, sample)
#define MATMUL(name, what, sample) \
  FUSED(name, BIAS | PRODUCT | (what), matmul_shape, matmul, sample)
FUSED(QuantizedConv2DAndRequantize, REQUANTIZE, conv_one_shape, conv, conv_requant_samples);
CONV(QuantizedConv2DAndRelu, RELU, conv_samples);
CONV(QuantizedConv2DAndReluAndRequantize, RELU | REQUANTIZE, conv_requant_relu_samples);
CONV(QuantizedConv2DPerChannel, 0, conv_samples);
CONV(QuantizedConv2DWithBias, BIAS, conv_bias_samples);
CONV(QuantizedConv2DWithBiasAndRelu, BIAS | RELU, conv_bias_samples);
CONV(QuantizedConv2DWithBiasAndReluAndRequantize, BIAS | RELU | REQUANTIZE,
     conv_bias_relu_requant_samples);
CONV(QuantizedConv2DWithBiasAndRequantize, BIAS | REQUANTIZE, conv_bias_requant_samples);
CONV(QuantizedConv2DWithBiasSumAndRelu, BIAS | SUM | RELU, sum_samples);
CONV(QuantizedConv2DWithBiasSumAndReluAndRequantize, BIAS | SUM | RELU | REQUANTIZE,
     sum_requant_samples);
CONV(QuantizedConv2DWithBiasSignedSumAndReluAndRequantize, BIAS | SUM | RELU | REQUANTIZE,
     signed_sum_samples);
DEPTHS(QuantizedDepthwiseConv2D, 0, depth_samples);
DEPTHS(QuantizedDepthwiseConv2DWithBias, BIAS, depth_bias_samples);
DEPTHS(QuantizedDepthwiseConv2DWithBiasAndRelu, BIAS | RELU, depth_bias_samples);
DEPTHS(QuantizedDepthwiseConv2DWithBiasAndReluAndRequantize, BIAS | RELU | REQUANTIZE,
       depth_requant_samples);
MATMUL(QuantizedMatMulWithBias, 0, matmul_samples);
MATMUL(QuantizedMatMulWithBiasAndRelu, RELU, matmul_samples);
MATMUL(QuantizedMatMulWithBiasAndRequantize, REQUANTIZE, matmul_requant_samples);
MATMUL(QuantizedMatMulWithBiasAndReluAndRequantize, RELU | REQUANTIZE, matmul_requant_samples);
MATMUL(QuantizedMatMulWithBiasAndDequantize, DEQUANTIZE, matmul_float_samples);
FUSED(_FusedQuantizedConv2D, LISTS, lists_shape, conv, listed_samples);
FUSED(_FusedQuantizedDepthwiseConv2D, LISTS | DEPTHWISE, lists_shape, conv, depth_listed_samples);
