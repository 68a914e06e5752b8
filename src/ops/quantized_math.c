// SPDX-License-Identifier: Apache-2.0
// quantized_math.c: arithmetic on quantized tensors whose ranges come as extra inputs: QuantizedMatMul,
// QuantizedAdd, QuantizedMul, QuantizedBiasAdd, QuantizedRelu, QuantizedRelu6, QuantizedReluX,
// QuantizedConcat, QuantizedConcatV2 and QuantizedReshape.

#include <float.h>

#include "ops/broadcast.h"
#include "ops/bytes.h"
#include "ops/quant.h"
#include "ops/shape_fns.h"
#include "ops/typed.h"
#include "ops/values.h"

static int32_t wrap_add(int32_t a, int32_t b) {
  return (int32_t)((uint32_t)a + (uint32_t)b);
}
static int32_t wrap_mul(int32_t a, int32_t b) {
  return (int32_t)((uint32_t)a * (uint32_t)b);
}

// ---------------------------------------------------------------- MatMul
static void keep_sums(const void *arg, int64_t row, int64_t column, int64_t n,
                      const int32_t *sums) {
  const fy_tensor *out = arg;
  memcpy((int32_t *)out->data + row * out->dims[1] + column, sums, (size_t)n * sizeof *sums);
}

fy_code fy_q_matmul(fy_kernel_ctx *ctx, fy_bytes_fn product, fy_error *err) {
  static const char *const names[] = {"min_a", "max_a", "min_b", "max_b"};
  const fy_tensor *a = ctx->in[0], *b = ctx->in[1];
  const bool ta = fy_site_bool(ctx->site, "transpose_a"),
             tb = fy_site_bool(ctx->site, "transpose_b");
  fy_tensor *out;
  char x[128], y[128];
  for (int i = 0; i < 4; i++) {
    if (ctx->in[2 + i]->rank == 0) continue;
    return fy_fail(err, FY_INVALID_ARGUMENT, "%s must be a scalar, but got shape%s", names[i],
                   fy_tensor_shape_text(ctx->in[2 + i], x));
  }
  const float min_a = fy_q_scalar(ctx, 2), max_a = fy_q_scalar(ctx, 3);
  const float min_b = fy_q_scalar(ctx, 4), max_b = fy_q_scalar(ctx, 5);
  if (!(max_a > min_a)) {
    return fy_fail(err, FY_INVALID_ARGUMENT, "max_a must be larger than min_a.");
  }
  if (!(max_b > min_b)) {
    return fy_fail(err, FY_INVALID_ARGUMENT, "max_b must be larger than min_b.");
  }
  if (a->rank != 2) return fy_fail(err, FY_INVALID_ARGUMENT, "In[0] is not a matrix");
  if (b->rank != 2) return fy_fail(err, FY_INVALID_ARGUMENT, "In[1] is not a matrix");
  const int64_t k = a->dims[ta ? 0 : 1], m = a->dims[ta ? 1 : 0], n = b->dims[tb ? 0 : 1];
  if (k != b->dims[tb ? 1 : 0]) {
    return fy_fail(err, FY_INVALID_ARGUMENT, "Matrix size-incompatible: In[0]: %s, In[1]: %s",
                   fy_tensor_shape_text(a, x), fy_tensor_shape_text(b, y));
  }
  FY_TRY(fy_out(ctx, 0, 2, (const int64_t[]){m, n}, &out, err));
  const fy_qtype qa = fy_qtype_of(a->dtype), qb = fy_qtype_of(b->dtype);
  const fy_byte_product p = {.m = m,
                             .n = n,
                             .k = k,
                             .a = a->data,
                             .a_signed = a->dtype == FY_QINT8,
                             .a_zero = (int32_t)fy_q_from_float_wide(qa, 0, min_a, max_a),
                             .row_step = ta ? 1 : k,
                             .k_step = ta ? m : 1,
                             .groups = 1,
                             .b = b->data,
                             .b_signed = b->dtype == FY_QINT8,
                             .b_zero = (int32_t)fy_q_from_float_wide(qb, 0, min_b, max_b),
                             .step_k = tb ? 1 : n,
                             .step_n = tb ? k : 1,
                             .b_input = 1,
                             .finish = keep_sums,
                             .finish_arg = out};
  if (out->count) FY_TRY(product(ctx, &p, err));
  float min, max;
  fy_q_product_range(qa, qb, fy_qtype_of(out->dtype), min_a, max_a, min_b, max_b, &min, &max);
  FY_TRY(fy_q_out_float(ctx, 1, min, err));
  return fy_q_out_float(ctx, 2, max, err);
}

static fy_code matmul(fy_kernel_ctx *ctx, fy_error *err) {
  return fy_q_matmul(ctx, fy_bytes_plain, err);
}

// ---------------------------------------------------------------- Add, Mul
typedef struct pair {
  const fy_tensor *a, *b;
  int32_t *out;
  int64_t a0, a_step, b0, b_step;  // Add: 0 in the new range, and what one level is there
  int32_t zero_a, zero_b;          // Mul
} pair;

static int32_t in_new_range(int64_t zero, int64_t step, int64_t v) {
  const int64_t w = zero + v * step;
  return (int32_t)(w < INT32_MIN ? INT32_MIN : w > INT32_MAX ? INT32_MAX : w);
}

static void add_row(void *arg, const int64_t *at, int64_t out_at, int64_t n) {
  const pair *p = arg;
  const bool step_a = at[2] != 0, step_b = at[3] != 0;
  for (int64_t i = 0; i < n; i++) {
    const int64_t u = fy_q_get(p->a->dtype, p->a->data, at[0] + (step_a ? i : 0));
    const int64_t v = fy_q_get(p->b->dtype, p->b->data, at[1] + (step_b ? i : 0));
    p->out[out_at + i] =
        wrap_add(in_new_range(p->a0, p->a_step, u), in_new_range(p->b0, p->b_step, v));
  }
}

static void mul_row(void *arg, const int64_t *at, int64_t out_at, int64_t n) {
  const pair *p = arg;
  const bool step_a = at[2] != 0, step_b = at[3] != 0;
  for (int64_t i = 0; i < n; i++) {
    const int64_t u = fy_q_get(p->a->dtype, p->a->data, at[0] + (step_a ? i : 0));
    const int64_t v = fy_q_get(p->b->dtype, p->b->data, at[1] + (step_b ? i : 0));
    p->out[out_at + i] =
        wrap_mul(wrap_add((int32_t)u, -p->zero_a), wrap_add((int32_t)v, -p->zero_b));
  }
}

typedef struct row_call {
  const fy_bcast *b;
  const pair *p;
  void (*fn)(void *arg, const int64_t *at, int64_t out_at, int64_t n);
} row_call;
static void one_row(void *arg, const int64_t *at, int64_t out_at, int64_t n) {
  const row_call *c = arg;
  const int64_t with_strides[] = {at[0], at[1], c->b->inner_stride[0], c->b->inner_stride[1]};
  c->fn((void *)(uintptr_t)c->p, with_strides, out_at, n);
}

static fy_code combine(fy_kernel_ctx *ctx, bool add, fy_error *err) {
  static const char *const names[] = {"min_x", "max_x", "min_y", "max_y"};
  const fy_tensor *a = ctx->in[0], *b = ctx->in[1];
  pair p = {.a = a, .b = b};
  fy_bcast bc;
  fy_tensor *out;
  for (int i = 0; i < 4; i++) {
    if (ctx->in[2 + i]->rank == 0) continue;
    if (add) return fy_q_need_scalar(ctx, 2 + i, names[i], err);
    return fy_fail(err, FY_INVALID_ARGUMENT, "%s must be a scalar", names[i]);
  }
  const float min_a = fy_q_scalar(ctx, 2), max_a = fy_q_scalar(ctx, 3);
  const float min_b = fy_q_scalar(ctx, 4), max_b = fy_q_scalar(ctx, 5);
  FY_TRY(fy_bcast_init(&bc, 2, (const fy_tensor *const[]){a, b}, err));
  FY_TRY(fy_out(ctx, 0, bc.out_rank, bc.out_dims, &out, err));
  if (!(max_a > min_a)) {
    return fy_fail(err, FY_INVALID_ARGUMENT, "max_x must be larger than min_%s.", add ? "x" : "a");
  }
  if (!(max_b > min_b)) {
    return fy_fail(err, FY_INVALID_ARGUMENT, "max_%s must be larger than min_%s.", add ? "y" : "x",
                   add ? "y" : "b");
  }
  const fy_qtype qa = fy_qtype_of(a->dtype), qb = fy_qtype_of(b->dtype),
                 qc = fy_qtype_of(out->dtype);
  float min, max;
  if (add) {
    // A range in which the sum cannot overflow, whatever the two are.
    max = fmaxf(max_a, fmaxf(-min_a, fmaxf(max_b, -min_b))) * (float)(1 << 14);
    min = -max;
    p.a0 = fy_q_from_float_wide(qc, fy_q_to_float(qa, 0, min_a, max_a), min, max);
    p.a_step =
        (int32_t)(fy_q_from_float_wide(qc, fy_q_to_float(qa, 1, min_a, max_a), min, max) - p.a0);
    p.b0 = fy_q_from_float_wide(qc, fy_q_to_float(qb, 0, min_b, max_b), min, max);
    p.b_step =
        (int32_t)(fy_q_from_float_wide(qc, fy_q_to_float(qb, 1, min_b, max_b), min, max) - p.b0);
    // A single element is converted on its own, which rounds less.
    if (a->count == 1 || b->count == 1) {
      const bool first = a->count == 1;
      const float lo = first ? min_a : min_b, hi = first ? max_a : max_b;
      const fy_tensor *t = first ? a : b;
      const fy_qtype q = first ? qa : qb;
      const int64_t v = fy_q_get(t->dtype, t->data, 0);
      *(first ? &p.a0 : &p.b0) = fy_q_from_float(qc, fy_q_to_float(q, v, lo, hi), min, max);
      *(first ? &p.a_step : &p.b_step) = 0;
    }
  } else {
    fy_q_product_range(qa, qb, qc, min_a, max_a, min_b, max_b, &min, &max);
    p.zero_a = (int32_t)fy_q_from_float_wide(qa, 0, min_a, max_a);
    p.zero_b = (int32_t)fy_q_from_float_wide(qb, 0, min_b, max_b);
  }
  p.out = out->data;
  row_call call = {&bc, &p, add ? add_row : mul_row};
  if (out->count) fy_bcast_rows(&bc, 0, out->count, one_row, &call);
  FY_TRY(fy_q_out_float(ctx, 1, min, err));
  return fy_q_out_float(ctx, 2, max, err);
}
static fy_code quantized_add(fy_kernel_ctx *ctx, fy_error *err) {
  return combine(ctx, true, err);
}
static fy_code quantized_mul(fy_kernel_ctx *ctx, fy_error *err) {
  return combine(ctx, false, err);
}

// ---------------------------------------------------------------- BiasAdd
static fy_code bias_add(fy_kernel_ctx *ctx, fy_error *err) {
  static const char *const names[] = {"min_input", "max_input", "min_bias", "max_bias"};
  const fy_tensor *in = ctx->in[0], *bias = ctx->in[1];
  fy_tensor *out;
  char x[128], y[128];
  for (int i = 0; i < 4; i++) {
    FY_TRY(fy_q_need_scalar(ctx, 2 + i, names[i], err));
  }
  if (in->rank < 2) {
    return fy_fail(err, FY_INVALID_ARGUMENT, "Input tensor must be at least 2D: %s",
                   fy_tensor_shape_text(in, x));
  }
  if (bias->rank != 1) {
    return fy_fail(err, FY_INVALID_ARGUMENT, "Biases must be 1D: %s",
                   fy_tensor_shape_text(bias, x));
  }
  if (bias->count != in->dims[in->rank - 1]) {
    return fy_fail(err, FY_INVALID_ARGUMENT,
                   "Must provide as many biases as the last dimension of the input tensor: %s vs. "
                   "%s",
                   fy_tensor_shape_text(bias, x), fy_tensor_shape_text(in, y));
  }
  if (bias->count == 0) {
    return fy_fail(err, FY_INVALID_ARGUMENT, "Must provide at least 1 bias");
  }
  const float min_in = fy_q_scalar(ctx, 2), max_in = fy_q_scalar(ctx, 3);
  const float min_bias = fy_q_scalar(ctx, 4), max_bias = fy_q_scalar(ctx, 5);
  FY_TRY(fy_out_like(ctx, 0, in, &out, err));
  const float max = fmaxf(max_in, fmaxf(-min_in, fmaxf(max_bias, -min_bias))) * (float)(1 << 17);
  const fy_qtype q = fy_qtype_of(out->dtype);
  const int32_t zero = (int32_t)fy_q_from_float(q, 0, -max, max);
  const fy_quantizer z = fy_quantizer_of(q, -max, max);
  const fy_dequantizer di = fy_dequantizer_of(fy_qtype_of(in->dtype), min_in, max_in);
  const fy_dequantizer db = fy_dequantizer_of(fy_qtype_of(bias->dtype), min_bias, max_bias);
  const int64_t n = bias->count;
  void *memory;
  FY_TRY(fy_scratch(ctx, (size_t)n * sizeof(int32_t), &memory, err));
  int32_t *more = memory, *to = out->data, of_byte[256];
  for (int64_t k = 0; k < n; k++) {
    const int64_t v = fy_q_get(bias->dtype, bias->data, k);
    more[k] = wrap_add((int32_t)fy_quantize(z, fy_dequantize(db, v)), zero);
  }
  const bool bytes = fy_qtype_of(in->dtype).bits == 8;
  for (int i = 0; bytes && i < 256; i++) {
    of_byte[i] = (int32_t)fy_quantize(z, fy_dequantize(di, fy_q_of_byte(in->dtype, i)));
  }
  for (int64_t row = 0; row < in->count; row += n) {
    for (int64_t k = 0; k < n; k++) {
      const int32_t a = bytes ? of_byte[((const uint8_t *)in->data)[row + k]]
                              : (int32_t)fy_quantize(
                                    z, fy_dequantize(di, fy_q_get(in->dtype, in->data, row + k)));
      to[row + k] = wrap_add(a, more[k]);
    }
  }
  FY_TRY(fy_q_out_float(ctx, 1, -max, err));
  return fy_q_out_float(ctx, 2, max, err);
}

// ---------------------------------------------------------------- Relu, Relu6, ReluX
typedef struct relu_job {
  fy_dtype type;
  const void *in;
  void *out;
  int32_t low, high;
} relu_job;
static void relu_range(void *arg, int64_t begin, int64_t end) {
  const relu_job *j = arg;
#define CLAMP(T)                                             \
  {                                                          \
    const T *in = j->in, low = (T)j->low, high = (T)j->high; \
    T *out = j->out;                                         \
    FY_VECTOR for (int64_t i = begin; i < end; i++) {        \
      const T v = in[i] > low ? in[i] : low;                 \
      out[i] = v < high ? v : high;                          \
    }                                                        \
  }
  switch (j->type) {
    case FY_QINT8: CLAMP(int8_t) break;
    case FY_QUINT8: CLAMP(uint8_t) break;
    case FY_QINT16: CLAMP(int16_t) break;
    case FY_QUINT16: CLAMP(uint16_t) break;
    default: CLAMP(int32_t)
  }
#undef CLAMP
}

static fy_code relu(fy_kernel_ctx *ctx, fy_error *err) {
  const fy_tensor *in = ctx->in[0];
  const bool limit_given = ctx->site->num_inputs == 4, six = ctx->site->op->impl->aux != NULL;
  const int first = limit_given ? 2 : 1;
  const fy_qtype q = fy_qtype_of(in->dtype);
  fy_tensor *out;
  for (int i = 1; i < ctx->site->num_inputs; i++) {
    if (ctx->in[i]->rank == 0) continue;
    const char *name = i < first ? "max_value" : i == first ? "min_input" : "max_input";
    return fy_fail(err, FY_INVALID_ARGUMENT, "`%s` must be rank 0 but is rank %d", name,
                   ctx->in[i]->rank);
  }
  const float min = fy_q_scalar(ctx, first), max = fy_q_scalar(ctx, first + 1);
  FY_TRY(fy_out_like(ctx, 0, in, &out, err));
  const int64_t low = fy_q_from_float(q, 0, min, max);
  const int64_t high =
      limit_given || six ? fy_q_from_float(q, six ? 6 : fy_q_scalar(ctx, 1), min, max) : q.high;
  relu_job j = {in->dtype, in->data, out->data, (int32_t)low, (int32_t)high};
  fy_parallel(ctx, in->count, 0.2, relu_range, &j);
  FY_TRY(fy_q_out_float(ctx, 1, min, err));
  return fy_q_out_float(ctx, 2, max, err);
}

// ---------------------------------------------------------------- Concat
typedef struct requantizer {
  fy_dtype type;
  bool same;  // range
  fy_dequantizer from;
  fy_quantizer to;
  uint8_t of_byte[256];
} requantizer;
static void find_requantizer(fy_dtype t, const float in[2], const float out[2], requantizer *r) {
  const fy_qtype q = fy_qtype_of(t);
  r->type = t;
  r->same = in[0] == out[0] && in[1] == out[1];
  r->from = fy_dequantizer_of(q, in[0], in[1]);
  r->to = fy_quantizer_of(q, out[0], out[1]);
  for (int i = 0; q.bits == 8 && i < 256; i++) {
    r->of_byte[i] = (uint8_t)fy_quantize(r->to, fy_dequantize(r->from, fy_q_of_byte(t, i)));
  }
}
static void copy_requantized(const requantizer *r, const void *in, int64_t from, void *out,
                             int64_t to, int64_t n) {
  const int bits = fy_qtype_of(r->type).bits;
  const size_t size = (size_t)bits / 8;
  if (r->same) {
    if (n)
      memcpy((char *)out + (size_t)to * size, (const char *)in + (size_t)from * size,
             (size_t)n * size);
  } else if (bits == 8) {
    const uint8_t *v = (const uint8_t *)in + from;
    for (int64_t i = 0; i < n; i++) ((uint8_t *)out)[to + i] = r->of_byte[v[i]];
  } else {
    for (int64_t i = 0; i < n; i++)
      fy_q_put(r->type, out, to + i,
               fy_quantize(r->to, fy_dequantize(r->from, fy_q_get(r->type, in, from + i))));
  }
}

static fy_code concat(fy_kernel_ctx *ctx, int axis_input, int first, fy_error *err) {
  const int n = (int)fy_site_int(ctx->site, "N");
  const int mins = n + 1, maxs = 2 * n + 1;
  const fy_tensor *axis_in = ctx->in[axis_input], *head = ctx->in[first];
  fy_tensor *out;
  char x[128], y[128];
  if (axis_in->count != 1) {
    return fy_fail(err, FY_INVALID_ARGUMENT,
                   "Concat dim tensor should be a scalar integer, but got shape %s",
                   fy_tensor_shape_text(axis_in, x));
  }
  int64_t axis = fy_tensor_int(axis_in, 0);
  if (axis_input > 0 && axis < 0) axis += head->rank;
  if (axis < 0 || axis >= head->rank) {
    return fy_fail(
        err, FY_INVALID_ARGUMENT,
        "ConcatOp : Expected concatenating dimensions in the range [0, %d), but got %lld",
        head->rank, (long long)axis);
  }
  float range[2] = {FLT_MAX, -FLT_MAX};
  int64_t along = 0, dims[FY_MAX_RANK];
  for (int i = 0; i < n; i++) {
    const fy_tensor *t = ctx->in[first + i];
    for (int k = 0; k < 2; k++) {
      const fy_tensor *r = ctx->in[(k ? maxs : mins) + i];
      if (r->count == 1) continue;
      return fy_fail(err, FY_INVALID_ARGUMENT, "input_%s must be scalars, but got shape %s",
                     k ? "maxes" : "mins", fy_tensor_shape_text(r, x));
    }
    range[0] = fminf(range[0], fy_q_scalar(ctx, mins + i));
    range[1] = fmaxf(range[1], fy_q_scalar(ctx, maxs + i));
    if (t->rank != head->rank) {
      return fy_fail(err, FY_INVALID_ARGUMENT,
                     "ConcatOp : Ranks of all input tensors should match: shape[0] = %s vs. "
                     "shape[%d] = %s",
                     fy_tensor_shape_text(head, x), i, fy_tensor_shape_text(t, y));
    }
    for (int32_t d = 0; d < t->rank; d++) {
      if (d == axis || t->dims[d] == head->dims[d]) continue;
      return fy_fail(err, FY_INVALID_ARGUMENT,
                     "ConcatOp : Dimensions of inputs should match: shape[0] = %s vs. shape[%d] = "
                     "%s",
                     fy_tensor_shape_text(head, x), i, fy_tensor_shape_text(t, y));
    }
    along += t->dims[axis];
  }
  range[0] = fminf(0, range[0]);
  if (fy_qtype_of(head->dtype).low < 0) {  // symmetric for signed types
    range[1] = fmaxf(fabsf(range[0]), fabsf(range[1]));
    range[0] = -range[1];
  }
  memcpy(dims, head->dims, (size_t)head->rank * sizeof *dims);
  dims[axis] = along;
  FY_TRY(fy_out(ctx, 0, head->rank, dims, &out, err));
  const int64_t outer = fy_product(dims, (int32_t)axis);
  const int64_t inner = fy_product(dims + axis + 1, head->rank - (int32_t)axis - 1);
  int64_t at = 0;
  for (int i = 0; i < n; i++) {
    const fy_tensor *t = ctx->in[first + i];
    const float own[2] = {fy_q_scalar(ctx, mins + i), fy_q_scalar(ctx, maxs + i)};
    const int64_t run = t->dims[axis] * inner;
    requantizer r;
    find_requantizer(t->dtype, own, range, &r);
    for (int64_t o = 0; o < outer; o++)
      copy_requantized(&r, t->data, o * run, out->data, o * along * inner + at, run);
    at += run;
  }
  FY_TRY(fy_q_out_float(ctx, 1, range[0], err));
  return fy_q_out_float(ctx, 2, range[1], err);
}
static fy_code concat_v1(fy_kernel_ctx *ctx, fy_error *err) {
  return concat(ctx, 0, 1, err);
}
static fy_code concat_v2(fy_kernel_ctx *ctx, fy_error *err) {
  return concat(ctx, (int)fy_site_int(ctx->site, "N"), 0, err);
}

// ---------------------------------------------------------------- Reshape
extern const fy_op_impl fy_impl_Reshape, fy_impl_Concat, fy_impl_ConcatV2;

static fy_code reshape(fy_kernel_ctx *ctx, fy_error *err) {
  FY_TRY(fy_impl_Reshape.compute(ctx, err));
  for (int i = 2; i < 4; i++) {
    const fy_tensor *t = ctx->in[i];
    if (t->rank == 0 || (t->rank == 1 && t->count == 1)) continue;
    return fy_fail(err, FY_INVALID_ARGUMENT, "%s must be a scalar or a vector of 1 element",
                   i == 2 ? "input_min" : "input_max");
  }
  for (int i = 2; i < 4; i++) FY_TRY(fy_out_alias(ctx, i - 1, i, 0, NULL, err));
  return FY_OK;
}

// ---------------------------------------------------------------- shapes
static fy_code scalars(fy_shape_ctx *ctx, int first, fy_error *err) {
  for (int i = first; i < ctx->num_inputs; i++) FY_TRY(fy_shape_rank_is(ctx->in[i], 0, err));
  for (int i = 1; i < ctx->num_outputs; i++) FY_TRY(fy_shape_set(ctx, i, 0, NULL, err));
  return FY_OK;
}
fy_code fy_q_matmul_shape(fy_shape_ctx *ctx, fy_error *err) {
  const bool ta = fy_shape_attr_bool(ctx, "transpose_a"),
             tb = fy_shape_attr_bool(ctx, "transpose_b");
  int64_t k;
  FY_TRY(fy_shape_rank_is(ctx->in[0], 2, err));
  FY_TRY(fy_shape_rank_is(ctx->in[1], 2, err));
  FY_TRY(
      fy_dim_merge(fy_dim_of(ctx->in[0], ta ? 0 : 1), fy_dim_of(ctx->in[1], tb ? 1 : 0), &k, err));
  const int64_t dims[] = {fy_dim_of(ctx->in[0], ta ? 1 : 0), fy_dim_of(ctx->in[1], tb ? 0 : 1)};
  return fy_shape_set(ctx, 0, 2, dims, err);
}
static fy_code matmul_shape(fy_shape_ctx *ctx, fy_error *err) {
  FY_TRY(fy_q_matmul_shape(ctx, err));
  return scalars(ctx, 2, err);
}
static fy_code pair_shape(fy_shape_ctx *ctx, fy_error *err) {
  FY_TRY(fy_shape_broadcast(ctx, err));
  const bool sum = !strcmp(ctx->spec->name, "QuantizedAdd");
  for (int i = 2; sum && i < 6; i++) FY_TRY(fy_shape_rank_is(ctx->in[i], 0, err));
  for (int i = 1; i < 3; i++) FY_TRY(fy_shape_set(ctx, i, 0, NULL, err));
  return FY_OK;
}
static fy_code bias_shape(fy_shape_ctx *ctx, fy_error *err) {
  const fy_pshape in = ctx->in[0];
  FY_TRY(fy_shape_rank_at_least(in, 2, err));
  FY_TRY(fy_shape_rank_is(ctx->in[1], 1, err));
  if (in.rank >= 0) {
    int64_t n, *dims = fy_shape_dims(ctx, in.rank);
    if (!dims) return fy_fail_oom(err, 0);
    FY_TRY(fy_dim_merge(in.dims[in.rank - 1], fy_dim_of(ctx->in[1], 0), &n, err));
    memcpy(dims, in.dims, (size_t)in.rank * sizeof *dims);
    dims[in.rank - 1] = n;
    FY_TRY(fy_shape_set(ctx, 0, in.rank, dims, err));
  }
  return scalars(ctx, 2, err);
}
static fy_code relu_shape(fy_shape_ctx *ctx, fy_error *err) {
  return fy_q_shape_like_first(ctx, 1, err);
}
static fy_code concat_shape(fy_shape_ctx *ctx, const fy_op_impl *plain, fy_error *err) {
  const int all = ctx->num_inputs, n = (int)fy_shape_attr_int(ctx, "N", 2);
  FY_TRY(scalars(ctx, n + 1, err));
  ctx->num_inputs = n + 1;
  const fy_code code = plain->shape(ctx, err);
  ctx->num_inputs = all;
  return code;
}
static fy_code concat_v1_shape(fy_shape_ctx *ctx, fy_error *err) {
  return concat_shape(ctx, &fy_impl_Concat, err);
}
static fy_code concat_v2_shape(fy_shape_ctx *ctx, fy_error *err) {
  return concat_shape(ctx, &fy_impl_ConcatV2, err);
}
static fy_code reshape_shape(fy_shape_ctx *ctx, fy_error *err) {
  FY_TRY(fy_impl_Reshape.shape(ctx, err));
  FY_TRY(fy_shape_rank_is(ctx->in[2], 0, err));
  FY_TRY(fy_shape_rank_is(ctx->in[3], 0, err));
  for (int i = 1; i < 3; i++) FY_TRY(fy_shape_set(ctx, i, 0, NULL, err));
  return FY_OK;
}

#define RANGE "; f32[]=-1; f32[]=1"
static const fy_sample matmul_samples[] = {
    {"quint8[1,2]=1,2; quint8[2,1]=3,4; f32[]=0; f32[]=255; f32[]=0; f32[]=255", NULL, FY_OK, "11"},
    {"quint8[1,2]=1,2; quint8[3,1]=3,4,5; f32[]=0; f32[]=255; f32[]=0; f32[]=255", NULL,
     FY_INVALID_ARGUMENT, "Matrix size-incompatible"},
};
static const fy_sample add_samples[] = {
    {"quint8[2]=0,255; quint8[2]=0,255" RANGE RANGE, NULL, FY_OK, NULL},
};
static const fy_sample mul_samples[] = {
    {"quint8[2]=2,3; quint8[1]=4; f32[]=0; f32[]=255; f32[]=0; f32[]=255", NULL, FY_OK, "8,12"},
};
static const fy_sample bias_samples[] = {
    {"quint8[1,2]=1,2; quint8[2]=3,4" RANGE RANGE, "out_type=qint32", FY_OK, NULL},
};
static const fy_sample relu_samples[] = {
    {"quint8[3]=0,128,255" RANGE, NULL, FY_OK, "128,128,255"},
};
static const fy_sample relu_x_samples[] = {
    {"quint8[3]=0,128,255; f32[]=0.5; f32[]=0; f32[]=1", "Tinput=quint8", FY_OK, "0,128,128"},
};
static const fy_sample concat_samples[] = {
    {"i32[]=0; quint8[1]=1; quint8[1]=2; f32[]=0; f32[]=0; f32[]=1; f32[]=1", "N=2; T=quint8",
     FY_OK, "1,2"},
};
static const fy_sample concat2_samples[] = {
    {"quint8[1]=1; quint8[1]=2; i32[]=-1; f32[]=0; f32[]=0; f32[]=1; f32[]=1",
     "N=2; T=quint8; Tidx=int32", FY_OK, "1,2"},
};
static const fy_sample reshape_samples[] = {
    {"quint8[2,2]=1,2,3,4; i32[1]=4" RANGE, NULL, FY_OK, "1,2,3,4"},
};
static const char is_six;
FY_OP(QuantizedMatMul, .shape = matmul_shape, .compute = matmul, .cost = fy_q_cost,
      FY_SAMPLES(matmul_samples));
FY_OP(QuantizedAdd, .shape = pair_shape, .compute = quantized_add, FY_SAMPLES(add_samples));
FY_OP(QuantizedMul, .shape = pair_shape, .compute = quantized_mul, FY_SAMPLES(mul_samples));
FY_OP(QuantizedBiasAdd, .shape = bias_shape, .compute = bias_add, FY_SAMPLES(bias_samples));
FY_OP(QuantizedRelu, .shape = relu_shape, .compute = relu, FY_SAMPLES(relu_samples));
FY_OP(QuantizedRelu6, .shape = relu_shape, .compute = relu, .aux = &is_six,
      FY_SAMPLES(relu_samples));
FY_OP(QuantizedReluX, .shape = relu_shape, .compute = relu, FY_SAMPLES(relu_x_samples));
FY_OP(QuantizedConcat, .shape = concat_v1_shape, .compute = concat_v1, .host_inputs = 1,
      FY_SAMPLES(concat_samples));
FY_OP(QuantizedConcatV2, .shape = concat_v2_shape, .compute = concat_v2, .host_inputs = 2,
      FY_SAMPLES(concat2_samples));
FY_OP(QuantizedReshape, .shape = reshape_shape, .compute = reshape, .host_inputs = 2,
      .flags = FY_OP_ALIAS, FY_SAMPLES(reshape_samples));
