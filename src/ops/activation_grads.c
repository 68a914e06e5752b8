// SPDX-License-Identifier: Apache-2.0
// activation_grads.c: the gradients of activations and of the element-wise functions that
// TensorFlow has gradient ops for. No broadcasting. 16-bit floats round after every operation: theirs
// are made of the loops of Mul, Sub and their like (steps_16).

#include "base/alloc.h"
#include "ops/elementwise.h"
#include "ops/shape_fns.h"
#include "ops/vecmath.h"
#include "ops/values.h"

typedef void (*pair_loop)(const void *a, const void *b, void *out, int64_t n, float param);
typedef struct pair_table {
  pair_loop loop[FY_DTYPE_COUNT];
  double ns;
  bool same_shape;  // the shapes must agree; else the counts
} pair_table;

#define PAIR_f32 FY_CLONES
#define PAIR_f64
#define PAIR_c64
#define PAIR_c128
#define PAIR_i8
#define PAIR_i16
#define PAIR_i32
#define PAIR_i64
#define PAIR_u8
#define PAIR_u16
#define PAIR_u32
#define PAIR_u64
#define PAIR_LOOP(E, S, name, EXPR)                                                    \
  PAIR_##S static void name##_##S(const void *pa, const void *pb, void *po, int64_t n, \
                                  float param) {                                       \
    const fy_t_##S *a = pa, *b = pb;                                                   \
    fy_t_##S *o = po;                                                                  \
    (void)param;                                                                       \
    FY_VECTOR for (int64_t i = 0; i < n; i++) {                                        \
      const fy_a_##S x = FY_LD_##S(a[i]), y = FY_LD_##S(b[i]);                         \
      o[i] = FY_ST_##S(EXPR(S, x, y));                                                 \
    }                                                                                  \
  }

// ---- x is the gradient, y the feature or the output
#define RELU(S, x, y)      ((x) * ((y) > 0 ? 1 : 0))
#define RELU6(S, x, y)     ((x) * ((y) > 0 && (y) < 6 ? 1 : 0))
#define RELU_INT(S, x, y)  ((y) > 0 ? (x) : 0)
#define RELU6_INT(S, x, y) ((y) > 0 && (y) < 6 ? (x) : 0)
#define LEAKY(S, x, y)     ((y) > 0 ? (x) : (x)*FY_RD_##S((fy_a_##S)param))
#define LEAKY_INT(S, x, y) \
  ((y) > 0 ? (x) : (fy_a_##S)((fy_u_##S)(x) * (fy_u_##S)(fy_a_##S)alpha_int(param)))
#define ELU(S, x, y) ((y) < 0 ? FY_RD_##S((y) + 1) * (x) : (x))
#define SELU_SCALE   1.0507009873554804934193349852946
#define SELU_ALPHA   1.7580993408473768599402175208123
#define SELU(S, x, y)                                             \
  ((y) < 0 ? (x)*FY_RD_##S((y) + FY_RD_##S((fy_a_##S)SELU_ALPHA)) \
           : (x)*FY_RD_##S((fy_a_##S)SELU_SCALE))
#define SOFTSIGN(S, x, y) ((x) / square_##S(FY_RD_##S(FY_MATH_##S(fabs)(y) + 1)))

// ---- x is the output of the function, y the gradient; no NaN comes of a gradient of 0
#define SIGMOID(S, x, y) ((y)*FY_RD_##S((x)*FY_RD_##S(1 - (x))))
#define TANH(S, x, y)    ((y)*FY_RD_##S(1 - FY_RD_##S((x) * (x))))
#define INV(S, x, y)     ((y) == 0 ? 0 : -FY_RD_##S((x) * (x)) * (y))
#define SQRT(S, x, y)    ((y) == 0 ? 0 : FY_RD_##S((fy_a_##S)0.5 / (x)) * (y))
#define RSQRT(S, x, y) \
  ((y) == 0 ? 0 : FY_RD_##S((fy_a_##S) - 0.5 * FY_RD_##S((x) * (x))) * FY_RD_##S((x) * (y)))

#define MUL(S, x, y)          fy_cmul_##S(x, y)
#define CONJ(S, x)            FY_MATH_##S(onj)(x)
#define SIGMOID_CPLX(S, x, y) MUL(S, y, MUL(S, x, 1 - (x)))
#define TANH_CPLX(S, x, y)    MUL(S, y, 1 - MUL(S, x, x))
#define INV_CPLX(S, x, y)     ((y) == 0 ? 0 : -MUL(S, MUL(S, CONJ(S, x), CONJ(S, x)), y))
#define SQRT_CPLX(S, x, y)    ((y) == 0 ? 0 : MUL(S, fy_cdiv_##S((fy_r_##S)0.5, CONJ(S, x)), y))
#define RSQRT_CPLX(S, x, y) \
  ((y) == 0 ? 0 : MUL(S, (fy_r_##S) - 0.5 * MUL(S, CONJ(S, x), CONJ(S, x)), MUL(S, CONJ(S, x), y)))

static inline float square_f32(float v) {
  return v * v;
}
static inline double square_f64(double v) {
  return v * v;
}

// An integer LeakyRelu multiplies by alpha without its fraction.
static inline int64_t alpha_int(float alpha) {
  return alpha > -9e18f && alpha < 9e18f ? (int64_t)alpha : 0;
}

FY_FULL_REAL_TYPES(PAIR_LOOP, relu, RELU)
FY_INT_TYPES(PAIR_LOOP, relu, RELU_INT)
FY_FULL_REAL_TYPES(PAIR_LOOP, relu6, RELU6)
FY_INT_TYPES(PAIR_LOOP, relu6, RELU6_INT)
FY_FULL_REAL_TYPES(PAIR_LOOP, leaky, LEAKY)
FY_INT_TYPES(PAIR_LOOP, leaky, LEAKY_INT)
FY_FULL_REAL_TYPES(PAIR_LOOP, elu, ELU)
FY_FULL_REAL_TYPES(PAIR_LOOP, selu, SELU)
#define SOFTPLUS_LOOP(E, S, _)                                                                 \
  static void softplus_##S(const void *pa, const void *pb, void *po, int64_t n, float param) { \
    const fy_t_##S *a = pa, *b = pb;                                                           \
    fy_t_##S *out = po, s[FY_CHUNK];                                                           \
    (void)param;                                                                               \
    for (int64_t at = 0; at < n; at += FY_CHUNK) {                                             \
      const int64_t m = n - at < FY_CHUNK ? n - at : FY_CHUNK;                                 \
      fy_vec_sigmoid_##S(b + at, s, m, NULL);                                                  \
      FY_VECTOR for (int64_t i = 0; i < m; i++) out[at + i] = a[at + i] * s[i];                \
    }                                                                                          \
  }
FY_FULL_REAL_TYPES(SOFTPLUS_LOOP, _)
FY_FULL_REAL_TYPES(PAIR_LOOP, softsign, SOFTSIGN)
FY_FULL_REAL_TYPES(PAIR_LOOP, sigmoid, SIGMOID)
FY_COMPLEX_TYPES(PAIR_LOOP, sigmoid, SIGMOID_CPLX)
FY_FULL_REAL_TYPES(PAIR_LOOP, tanh, TANH)
FY_COMPLEX_TYPES(PAIR_LOOP, tanh, TANH_CPLX)
FY_FULL_REAL_TYPES(PAIR_LOOP, inv, INV)
FY_COMPLEX_TYPES(PAIR_LOOP, inv, INV_CPLX)
FY_FULL_REAL_TYPES(PAIR_LOOP, sqrt, SQRT)
FY_COMPLEX_TYPES(PAIR_LOOP, sqrt, SQRT_CPLX)
FY_FULL_REAL_TYPES(PAIR_LOOP, rsqrt, RSQRT)
FY_COMPLEX_TYPES(PAIR_LOOP, rsqrt, RSQRT_CPLX)

// ---- 16-bit floats
typedef enum {
  RELU_16,
  RELU6_16,
  LEAKY_16,
  ELU_16,
  SELU_16,
  SOFTPLUS_16,
  SOFTSIGN_16,
  SIGMOID_16,
  TANH_16,
  INV_16,
  SQRT_16,
  RSQRT_16
} steps_kind;

// In bits: numbers from |least| to |most| give |yes|, others |no|. The least above 0 is a denormal
// half, but no denormal bfloat16: that one counts as 0.
FY_CLONES static void choose_16(const uint16_t *restrict v, uint16_t least, uint16_t most,
                                uint16_t yes, uint16_t no, uint16_t *restrict out, int64_t n) {
  const uint16_t range = (uint16_t)(most - least);
  FY_VECTOR for (int64_t i = 0; i < n; i++) out[i] = (uint16_t)(v[i] - least) <= range ? yes : no;
}
// Where |keep| is not 0, |a|, else |b|.
FY_CLONES static void mix_16(const uint16_t *restrict keep, const uint16_t *a, const uint16_t *b,
                             uint16_t *out, int64_t n) {
  FY_VECTOR for (int64_t i = 0; i < n; i++) out[i] =
      (uint16_t)((a[i] & keep[i]) | (b[i] & ~keep[i]));
}

// A loop with operands of which one may be the one that is repeated.
static void step_16(void (*loop)(const void *, int64_t, const void *, int64_t, void *, int64_t,
                                 int *),
                    const uint16_t *repeated, const uint16_t *a, const uint16_t *b, uint16_t *out,
                    int64_t n) {
  int bad = 0;
  loop(a, a != repeated, b, b != repeated, out, n, &bad);
}

static void some_steps(steps_kind kind, bool half, const uint16_t *x, const uint16_t *y,
                       uint16_t *out, int64_t n, float param) {
  const fy_lanes_16 *lanes = &fy_lanes_best()->floats_16[half ? FY_LANES_HALF : FY_LANES_BFLOAT16];
  const uint16_t least = half ? 1 : 0x80, inf = half ? 0x7C00 : 0x7F80;
#define NUMBER(f)         (half ? fy_float_to_half((float)(f)) : fy_float_to_bfloat16((float)(f)))
#define STEP(op, a, b, o) step_16(lanes->binary[FY_16_##op], constant, a, b, o, n)
  uint16_t t[FY_CHUNK], u[FY_CHUNK], mask[FY_CHUNK], constant[1] = {NUMBER(1)};
  const uint16_t one = constant[0], ones = 0xFFFF;
  switch (kind) {
    case RELU_16: choose_16(y, least, inf, one, 0, t, n); break;
    case RELU6_16: choose_16(y, least, (uint16_t)(NUMBER(6) - 1), one, 0, t, n); break;
    case LEAKY_16:  // what is not negative passes as it is
      *constant = NUMBER(param);
      choose_16(y, least, inf, ones, 0, mask, n);
      STEP(MUL, x, constant, t);
      mix_16(mask, x, t, out, n);
      return;
    case ELU_16:
      choose_16(y, 0x8000 | least, 0x8000 | inf, 0, ones, mask, n);
      STEP(ADD, y, constant, t);
      STEP(MUL, x, t, t);
      mix_16(mask, x, t, out, n);
      return;
    case SELU_16:
      *constant = NUMBER(SELU_ALPHA);
      STEP(ADD, y, constant, t);
      choose_16(y, 0x8000 | least, 0x8000 | inf, 0, ones, mask, n);
      choose_16(y, 0, 0xFFFF, NUMBER(SELU_SCALE), 0, u, n);
      mix_16(mask, u, t, t, n);
      break;
    case SOFTPLUS_16:
      for (int64_t i = 0; i < n; i++) t[i] = y[i] ^ 0x8000;
      (half ? fy_vec_exp_f16 : fy_vec_exp_bf16)(t, t, n, NULL);
      STEP(ADD, t, constant, t);
      STEP(DIV, x, t, out);
      return;
    case SOFTSIGN_16:
      for (int64_t i = 0; i < n; i++) t[i] = y[i] & 0x7FFF;
      STEP(ADD, t, constant, t);
      STEP(MUL, t, t, t);
      STEP(DIV, x, t, out);
      return;
    case SIGMOID_16:
      STEP(SUB, constant, x, t);
      STEP(MUL, x, t, t);
      break;
    case TANH_16:
      STEP(MUL, x, x, t);
      STEP(SUB, constant, t, t);
      break;
    case INV_16:
      STEP(MUL, x, x, t);
      for (int64_t i = 0; i < n; i++) t[i] ^= 0x8000;
      break;
    case SQRT_16:
      *constant = NUMBER(0.5);
      STEP(DIV, constant, x, t);
      break;
    case RSQRT_16:
      *constant = NUMBER(-0.5);
      STEP(MUL, x, x, t);
      STEP(MUL, constant, t, t);
      STEP(MUL, x, y, u);
      break;
  }
  if (kind < SOFTSIGN_16) {
    STEP(MUL, x, t, out);
  } else if (kind < INV_16) {
    STEP(MUL, y, t, out);
  } else {  // a gradient of 0 stays 0
    STEP(MUL, t, kind == RSQRT_16 ? u : y, t);
    for (int64_t i = 0; i < n; i++) u[i] = y[i] & 0x7FFF;
    choose_16(u, least, 0x7FFF, ones, 0, mask, n);
    for (int64_t i = 0; i < n; i++) out[i] = t[i] & mask[i];
  }
}
static void steps_16(steps_kind kind, bool half, const void *a, const void *b, void *out, int64_t n,
                     float param) {
  for (int64_t at = 0; at < n; at += FY_CHUNK) {
    some_steps(kind, half, (const uint16_t *)a + at, (const uint16_t *)b + at, (uint16_t *)out + at,
               n - at < FY_CHUNK ? n - at : FY_CHUNK, param);
  }
}
#define STEPS(name, KIND)                                                                  \
  static void name##_f16(const void *a, const void *b, void *o, int64_t n, float param) {  \
    steps_16(KIND, true, a, b, o, n, param);                                               \
  }                                                                                        \
  static void name##_bf16(const void *a, const void *b, void *o, int64_t n, float param) { \
    steps_16(KIND, false, a, b, o, n, param);                                              \
  }
STEPS(relu, RELU_16)
STEPS(relu6, RELU6_16)
STEPS(leaky, LEAKY_16)
STEPS(elu, ELU_16)
STEPS(selu, SELU_16)
STEPS(softplus, SOFTPLUS_16)
STEPS(softsign, SOFTSIGN_16)
STEPS(sigmoid, SIGMOID_16)
STEPS(tanh, TANH_16)
STEPS(inv, INV_16)
STEPS(sqrt, SQRT_16)
STEPS(rsqrt, RSQRT_16)

#define FIELD_TYPES(X, name) FY_REAL_TYPES(X, name) FY_COMPLEX_TYPES(X, name)
static const pair_table relu_table = {{FY_ORDERED_TYPES(FY_LOOP_ENTRY, relu)}, 0.4, true};
static const pair_table relu6_table = {{FY_ORDERED_TYPES(FY_LOOP_ENTRY, relu6)}, 0.4, true};
static const pair_table leaky_table = {{FY_ORDERED_TYPES(FY_LOOP_ENTRY, leaky)}, 0.4, true};
static const pair_table elu_table = {{FY_REAL_TYPES(FY_LOOP_ENTRY, elu)}, 0.4, true};
static const pair_table selu_table = {{FY_REAL_TYPES(FY_LOOP_ENTRY, selu)}, 0.5, true};
static const pair_table softplus_table = {{FY_REAL_TYPES(FY_LOOP_ENTRY, softplus)}, 1.5, true};
static const pair_table softsign_table = {{FY_REAL_TYPES(FY_LOOP_ENTRY, softsign)}, 1, true};
static const pair_table sigmoid_table = {{FIELD_TYPES(FY_LOOP_ENTRY, sigmoid)}, 0.5, false};
static const pair_table tanh_table = {{FIELD_TYPES(FY_LOOP_ENTRY, tanh)}, 0.5, false};
static const pair_table inv_table = {{FIELD_TYPES(FY_LOOP_ENTRY, inv)}, 0.5, false};
static const pair_table sqrt_table = {{FIELD_TYPES(FY_LOOP_ENTRY, sqrt)}, 1, false};
static const pair_table rsqrt_table = {{FIELD_TYPES(FY_LOOP_ENTRY, rsqrt)}, 1, false};

typedef struct pair_job {
  pair_loop loop;
  const char *a, *b;
  char *out;
  size_t size;
  float param;
} pair_job;

static void pair_range(void *arg, int64_t begin, int64_t end) {
  const pair_job *j = arg;
  const size_t at = (size_t)begin * j->size;
  j->loop(j->a + at, j->b + at, j->out + at, end - begin, j->param);
}

static fy_code gradient(fy_kernel_ctx *ctx, fy_error *err) {
  const fy_tensor *a = ctx->in[0], *b = ctx->in[1];
  const pair_table *table = ctx->site->op->impl->aux;
  char x[128], y[128];
  if (table->same_shape && !fy_shape_equal(a->rank, a->dims, b->rank, b->dims)) {
    return fy_fail(err, FY_INVALID_ARGUMENT,
                   "Inputs to operation %s of type %s must have the same size and shape.  Input 0: "
                   "%s != input 1: %s",
                   ctx->site->node_name, ctx->site->op->impl->name, fy_tensor_shape_text(a, x),
                   fy_tensor_shape_text(b, y));
  }
  if (a->count != b->count) {
    return fy_fail(
        err, FY_INVALID_ARGUMENT,
        "The two arguments to a cwise op must have same number of elements, got %lld and "
        "%lld",
        (long long)a->count, (long long)b->count);
  }
  const pair_loop loop = table->loop[a->dtype];
  if (!loop || b->dtype != a->dtype) {
    return fy_fail(err, FY_UNIMPLEMENTED, "%s has no loop for %s", ctx->site->op->impl->name,
                   fy_dtype_name(a->dtype));
  }
  fy_tensor *out;
  FY_TRY(fy_out_like(ctx, 0, a, &out, err));
  pair_job job = {loop,
                  a->data,
                  b->data,
                  out->data,
                  fy_dtype_storage(a->dtype),
                  ctx->site->state ? *(const float *)ctx->site->state : 0};
  fy_parallel(ctx, out->count, table->ns, pair_range, &job);
  return FY_OK;
}

static fy_code leaky_prepare(fy_site *site, fy_error *err) {
  float *alpha = fy_malloc(sizeof *alpha);
  if (!alpha) return fy_fail_oom(err, sizeof *alpha);
  *alpha = fy_site_float(site, "alpha");
  site->state = alpha;
  return FY_OK;
}

static fy_code merged_shape(fy_shape_ctx *ctx, fy_error *err) {
  fy_pshape out;
  FY_TRY(fy_shape_merge(ctx, ctx->in[0], ctx->in[1], &out, err));
  return fy_shape_set(ctx, 0, out.rank, out.dims, err);
}

static const fy_sample relu_samples[] = {
    {"f32[4]=1,2,3,4; f32[4]=-1,0,3,7", NULL, FY_OK, NULL},
    {"i8[3]=1,2,3; i8[3]=-5,5,100", NULL, FY_OK, NULL},
    {"f32[4]=1,2,3,4; f32[2,2]=-1,0,3,7", NULL, FY_INVALID_ARGUMENT, "must have the same size"},
};
static const fy_sample leaky_samples[] = {
    {"f32[3]=1,2,3; f32[3]=-10,0,10", "alpha=0.5", FY_OK, "0.5,1,3"},
};
static const fy_sample samples[] = {
    {"f32[37]=normal; f32[37]=normal", NULL, FY_OK, NULL},
    {"bf16[5]=normal; bf16[5]=normal", NULL, FY_OK, NULL},
    {"f32[3]=ones; f32[2]=ones", NULL, FY_INVALID_ARGUMENT, "must have"},
};

#define GRADIENT(Name, table, shape_fn, array)                                               \
  FY_OP(Name, .shape = shape_fn, .compute = gradient, .aux = &table, .flags = FY_OP_INPLACE, \
        FY_SAMPLES(array))
GRADIENT(ReluGrad, relu_table, merged_shape, relu_samples);
GRADIENT(Relu6Grad, relu6_table, merged_shape, relu_samples);
GRADIENT(EluGrad, elu_table, merged_shape, samples);
GRADIENT(SeluGrad, selu_table, merged_shape, samples);
GRADIENT(SoftplusGrad, softplus_table, merged_shape, samples);
GRADIENT(SoftsignGrad, softsign_table, merged_shape, samples);
GRADIENT(SigmoidGrad, sigmoid_table, fy_shape_unchanged, samples);
GRADIENT(TanhGrad, tanh_table, fy_shape_unchanged, samples);
GRADIENT(InvGrad, inv_table, fy_shape_unchanged, samples);
GRADIENT(ReciprocalGrad, inv_table, fy_shape_unchanged, samples);
GRADIENT(SqrtGrad, sqrt_table, fy_shape_unchanged, samples);
GRADIENT(RsqrtGrad, rsqrt_table, fy_shape_unchanged, samples);
FY_OP(LeakyReluGrad, .shape = merged_shape, .prepare = leaky_prepare, .compute = gradient,
      .release = fy_free, .aux = &leaky_table, .flags = FY_OP_INPLACE, FY_SAMPLES(leaky_samples));
