// SPDX-License-Identifier: Apache-2.0
// opencl_elementwise.c: element-wise ops, alone and fused, as kernels written at run time.
//
// An op is an expression in a, b, c; a fused program is a list of them. One kernel per expression
// and types, with two entries: ew_flat, where every operand has either one element or as many as
// the result (a stride of 0 or 1), and ew_geo, which walks broadcast shapes.

#include "devices/opencl/opencl_impl.h"

#ifdef FY_OPENCL

#include <stdio.h>
#include <string.h>

#include "base/alloc.h"
#include "devices/opencl/opencl.h"
#include "ops/broadcast.h"
#include "ops/fused.h"

// --- types ---

const char *fy_ocl_storage(fy_dtype t) {
  switch (t) {
    case FY_FLOAT: return "float";
    case FY_DOUBLE: return "double";
    case FY_HALF: return "half";
    case FY_BFLOAT16: return "ushort";
    case FY_INT32: return "int";
    case FY_INT64: return "long";
    case FY_BOOL:
    case FY_UINT8: return "uchar";
    case FY_INT8: return "char";
    case FY_INT16: return "short";
    case FY_UINT16: return "ushort";
    case FY_UINT32: return "uint";
    case FY_UINT64: return "ulong";
    default: return NULL;
  }
}
const char *fy_ocl_arithmetic(fy_dtype t) {
  return t == FY_HALF || t == FY_BFLOAT16 ? "float" : fy_ocl_storage(t);
}
const char *fy_ocl_suffix(fy_dtype t) {
  return t == FY_HALF ? "half" : t == FY_BFLOAT16 ? "bf16" : t == FY_BOOL ? "bool" : "plain";
}
const char *fy_ocl_options(fy_dtype t) {
  switch (t) {
    case FY_FLOAT: return "-DS=float -DT=float -DKIND=plain -DFLOATING";
    case FY_DOUBLE: return "-DS=double -DT=double -DKIND=plain -DFLOATING -DUSE_DOUBLE";
    case FY_HALF: return "-DS=half -DT=float -DKIND=half -DFLOATING";
    case FY_BFLOAT16: return "-DS=ushort -DT=float -DKIND=bf16 -DFLOATING";
    case FY_INT32: return "-DS=int -DT=int -DKIND=plain";
    case FY_INT64: return "-DS=long -DT=long -DKIND=plain";
    case FY_BOOL: return "-DS=uchar -DT=uchar -DKIND=bool";
    case FY_UINT8: return "-DS=uchar -DT=uchar -DKIND=plain";
    default: return NULL;
  }
}

// --- expressions ---

typedef struct expression {
  const char *op;
  int operands;
  bool makes_bool;
  const char *real;   // of floating types; R(x) is a literal of type T, Q(x) rounds to 16 bits
  const char *whole;  // of int32 and int64; NULL: refused
  const char *why;    // the refusal of whole numbers
} expression;

#define BY_ZERO "an integer division by zero is an error that only the host reports"
static const expression table[] = {
    {"Abs", 1, false, "fabs(a)", "(a < 0 ? -a : a)", NULL},
    {"Acos", 1, false, "acos(a)", NULL, NULL},
    {"Acosh", 1, false, "acosh(a)", NULL, NULL},
    {"Add", 2, false, "a + b", "a + b", NULL},
    {"AddV2", 2, false, "a + b", "a + b", NULL},
    {"Asin", 1, false, "asin(a)", NULL, NULL},
    {"Asinh", 1, false, "asinh(a)", NULL, NULL},
    {"Atan", 1, false, "atan(a)", NULL, NULL},
    {"Atan2", 2, false, "atan2(a, b)", NULL, NULL},
    {"Atanh", 1, false, "atanh(a)", NULL, NULL},
    {"Ceil", 1, false, "ceil(a)", NULL, NULL},
    {"Cos", 1, false, "cos(a)", NULL, NULL},
    {"Cosh", 1, false, "cosh(a)", NULL, NULL},
    {"Div", 2, false, "a / b", NULL, BY_ZERO},
    {"DivNoNan", 2, false, "b == R(0) ? R(0) : a / b", NULL, NULL},
    {"Elu", 1, false, "a < R(0) ? expm1(a) : a", NULL, NULL},
    {"EluGrad", 2, false, "b < R(0) ? (b + R(1)) * a : a", NULL, NULL},
    {"Equal", 2, true, "a == b", "a == b", NULL},
    {"Erf", 1, false, "erf(a)", NULL, NULL},
    {"Erfc", 1, false, "erfc(a)", NULL, NULL},
    {"Exp", 1, false, "exp(a)", NULL, NULL},
    {"Expm1", 1, false, "expm1(a)", NULL, NULL},
    {"Floor", 1, false, "floor(a)", NULL, NULL},
    {"FloorDiv", 2, false, "floor(a / b)", NULL, BY_ZERO},
    {"Greater", 2, true, "a > b", "a > b", NULL},
    {"GreaterEqual", 2, true, "a >= b", "a >= b", NULL},
    {"Inv", 1, false, "R(1) / a", NULL, BY_ZERO},
    {"InvGrad", 2, false, "b == R(0) ? R(0) : -(a * a) * b", NULL, NULL},
    {"IsFinite", 1, true, "isfinite(a)", NULL, NULL},
    {"IsInf", 1, true, "isinf(a)", NULL, NULL},
    {"IsNan", 1, true, "isnan(a)", NULL, NULL},
    {"LeakyRelu", 2, false, "a > R(0) ? a : a * b", NULL, NULL},
    {"LeakyReluGrad", 3, false, "b > R(0) ? a : a * c", NULL, NULL},
    {"Less", 2, true, "a < b", "a < b", NULL},
    {"LessEqual", 2, true, "a <= b", "a <= b", NULL},
    {"Log", 1, false, "log(a)", NULL, NULL},
    {"Log1p", 1, false, "log1p(a)", NULL, NULL},
    {"Maximum", 2, false, "isnan(a) ? a : isnan(b) ? b : a > b ? a : b", "a > b ? a : b", NULL},
    {"Minimum", 2, false, "isnan(a) ? a : isnan(b) ? b : a < b ? a : b", "a < b ? a : b", NULL},
    {"Mul", 2, false, "a * b", "a * b", NULL},
    {"MulNoNan", 2, false, "b == R(0) ? R(0) : a * b", NULL, NULL},
    {"Neg", 1, false, "-a", "-a", NULL},
    {"NotEqual", 2, true, "a != b", "a != b", NULL},
    {"Pow", 2, false, "pow(a, b)", NULL,
     "a negative exponent is an error that only the host reports"},
    {"RealDiv", 2, false, "a / b", NULL, BY_ZERO},
    {"Reciprocal", 1, false, "R(1) / a", NULL, BY_ZERO},
    {"Relu", 1, false, "isnan(a) ? a : a > R(0) ? a : R(0)", "a > 0 ? a : 0", NULL},
    {"Relu6", 1, false, "isnan(a) ? a : a < R(0) ? R(0) : a > R(6) ? R(6) : a",
     "a < 0 ? 0 : a > 6 ? 6 : a", NULL},
    {"Relu6Grad", 2, false, "a * (b > R(0) && b < R(6) ? R(1) : R(0))", "b > 0 && b < 6 ? a : 0",
     NULL},
    {"ReluGrad", 2, false, "a * (b > R(0) ? R(1) : R(0))", "b > 0 ? a : 0", NULL},
    {"Rint", 1, false, "rint(a)", NULL, NULL},
    {"Round", 1, false, "rint(a)", "a", NULL},
    {"Rsqrt", 1, false, "R(1) / sqrt(a)", NULL, NULL},
    {"RsqrtGrad", 2, false, "b == R(0) ? R(0) : (R(-0.5) * (a * a)) * (a * b)", NULL, NULL},
    {"Selu", 1, false,
     "a < R(0) ? R(1.7580993408473768599402175208123) * expm1(a) : "
     "R(1.0507009873554804934193349852946) * a",
     NULL, NULL},
    {"SeluGrad", 2, false,
     "b < R(0) ? a * Q(b + Q(R(1.7580993408473768599402175208123))) : "
     "a * Q(R(1.0507009873554804934193349852946))",
     NULL, NULL},
    {"Sigmoid", 1, false, "R(1) / (R(1) + exp(-a))", NULL, NULL},
    {"SigmoidGrad", 2, false, "b * a * (R(1) - a)", NULL, NULL},
    {"Sign", 1, false, "a > R(0) ? R(1) : a < R(0) ? R(-1) : a", "a > 0 ? 1 : a < 0 ? -1 : 0",
     NULL},
    {"Sin", 1, false, "sin(a)", NULL, NULL},
    {"Sinh", 1, false, "sinh(a)", NULL, NULL},
    {"Softplus", 1, false, "isnan(a) ? a : a > R(0) ? a + log1p(exp(-a)) : log1p(exp(a))", NULL,
     NULL},
    {"SoftplusGrad", 2, false, "a / (exp(-b) + R(1))", NULL, NULL},
    {"Softsign", 1, false, "a / (fabs(a) + R(1))", NULL, NULL},
    {"SoftsignGrad", 2, false, "a / ((fabs(b) + R(1)) * (fabs(b) + R(1)))", NULL, NULL},
    {"Sqrt", 1, false, "sqrt(a)", NULL, NULL},
    {"SqrtGrad", 2, false, "b == R(0) ? R(0) : (R(0.5) / a) * b", NULL, NULL},
    {"Square", 1, false, "a * a", "a * a", NULL},
    {"SquaredDifference", 2, false, "(a - b) * (a - b)", "(a - b) * (a - b)", NULL},
    {"Sub", 2, false, "a - b", "a - b", NULL},
    {"Tan", 1, false, "tan(a)", NULL, NULL},
    {"Tanh", 1, false, "tanh(a)", NULL, NULL},
    {"TanhGrad", 2, false, "b * (R(1) - a * a)", NULL, NULL},
    {"Xdivy", 2, false, "a == R(0) ? R(0) : a / b", NULL, NULL},
    {"Xlog1py", 2, false, "a == R(0) ? R(0) : a * log1p(b)", NULL, NULL},
    {"Xlogy", 2, false, "a == R(0) ? R(0) : a * log(b)", NULL, NULL},
};

static const expression *find(const char *op) {
  for (size_t i = 0; i < sizeof table / sizeof *table; i++)
    if (!strcmp(table[i].op, op)) return &table[i];
  return NULL;
}

static bool is_real(fy_dtype t) {
  return t == FY_FLOAT || t == FY_DOUBLE || t == FY_HALF || t == FY_BFLOAT16;
}

static const char *text_for(const expression *e, fy_dtype t) {
  return is_real(t) ? e->real : t == FY_INT32 || t == FY_INT64 ? e->whole : NULL;
}

bool fy_ocl_knows_elementwise(const char *op, fy_dtype t, const char **why) {
  const expression *e = find(op);
  *why = e && !is_real(t) ? e->why : NULL;
  return e && text_for(e, t);
}

const char *fy_ocl_elementwise_name(int i) {
  return i >= 0 && i < (int)(sizeof table / sizeof *table) ? table[i].op : NULL;
}

// --- generating ---

#define MAX_OPERANDS 3

typedef struct source {
  int n;
  fy_dtype in[MAX_OPERANDS], out, compute;
  const char *text;
} source;

static void add_body(fy_str *s, const source *g) {
  static const char names[] = "abc";
  for (int i = 0; i < g->n; i++)
    fy_str_printf(s, "  %s %c = LD_%s(x%d, i%d);\n", fy_ocl_arithmetic(g->in[i]), names[i],
                  fy_ocl_suffix(g->in[i]), i, i);
  fy_str_printf(s, "  ST_%s(y, yo + i, (%s)(%s));\n}\n", fy_ocl_suffix(g->out),
                fy_ocl_arithmetic(g->out), g->text);
}

static void add_head(fy_str *s, const source *g, const char *name) {
  fy_str_printf(s, "KERNEL void %s(", name);
  for (int i = 0; i < g->n; i++)
    fy_str_printf(s, "GLOBAL const %s *x%d, long o%d, ", fy_ocl_storage(g->in[i]), i, i);
  fy_str_printf(s, "GLOBAL %s *y, long yo, long n, ", fy_ocl_storage(g->out));
}

static void generate(fy_str *s, const source *g) {
  fy_str_printf(s, "#define R(x) ((%s)x)\n#define Q(x) RD_%s(x)\n", fy_ocl_arithmetic(g->compute),
                fy_ocl_suffix(g->compute));
  add_head(s, g, "ew_flat");
  for (int i = 0; i < g->n; i++) fy_str_printf(s, "%sint s%d", i ? ", " : "", i);
  fy_str_add(s, ") {\n  long i = GID(0);\n  if (i >= n) return;\n");
  for (int i = 0; i < g->n; i++) fy_str_printf(s, "  long i%d = o%d + i * s%d;\n", i, i, i);
  add_body(s, g);
  add_head(s, g, "ew_geo");
  fy_str_add(s, "struct geo g) {\n  long i = GID(0);\n  if (i >= n) return;\n");
  for (int i = 0; i < g->n; i++)
    fy_str_printf(s, "  long i%d = o%d + geo_at(&g, %d, i);\n", i, i, i);
  add_body(s, g);
}

static const char *wide(const source *g) {
  for (int i = 0; i < g->n; i++)
    if (g->in[i] == FY_DOUBLE) return "-DUSE_DOUBLE";
  return g->out == FY_DOUBLE ? "-DUSE_DOUBLE" : "";
}

bool fy_opencl_elementwise_source(const char *op, fy_dtype t, fy_str *out) {
  const expression *e = find(op);
  if (!e || !text_for(e, t)) return false;
  source g = {.n = e->operands, .in = {t, t, t}, .out = e->makes_bool ? FY_BOOL : t, .compute = t};
  g.text = text_for(e, t);
  generate(out, &g);
  return true;
}

const char *fy_opencl_source(int i) {
  static const char *const all[] = {fy_ocl_src_prelude, fy_ocl_src_nn,    fy_ocl_src_gemm,
                                    fy_ocl_src_reduce,  fy_ocl_src_move,  fy_ocl_src_random,
                                    fy_ocl_src_image,   fy_ocl_src_grads, fy_ocl_src_segment};
  return i >= 0 && i < (int)(sizeof all / sizeof *all) ? all[i] : NULL;
}

// Operands that are host scalars are put into device memory.
fy_code fy_ocl_bring(fy_ocl_call *c, const fy_tensor *t, fy_tensor **out, fy_tensor *storage,
                     fy_error *err) {
  if (fy_ocl_here(c, t) || t->count == 0) {
    *out = (fy_tensor *)(uintptr_t)t;
    return FY_OK;
  }
  if (t->device && !t->device->is_host) return FY_OCL_DETOUR;
  void *p;
  FY_TRY(fy_ocl_scratch(c, fy_tensor_bytes(t), &p, err));
  FY_TRY((fy_code)fy_ocl_copy(c->ocl->device, FY_COPY_HOST_TO_DEVICE, p, t->data,
                              fy_tensor_bytes(t), NULL, NULL, NULL, err));
  fy_tensor_init(storage);
  storage->dtype = t->dtype;
  storage->rank = t->rank;
  storage->dims = t->dims;
  storage->count = t->count;
  storage->data = p;
  storage->device = c->ocl->device;
  *out = storage;
  return FY_OK;
}

static fy_code run_source(fy_ocl_call *c, const source *g, const fy_tensor *const *in,
                          fy_error *err) {
  fy_tensor storage[MAX_OPERANDS], *x[MAX_OPERANDS], *y;
  fy_bcast *b = fy_arena_array(&c->arena, 1, sizeof *b);
  fy_error ignored;
  if (!b) return fy_fail_oom(err, sizeof *b);
  fy_error_init(&ignored);
  fy_code fits = fy_bcast_init(b, g->n, in, &ignored);
  fy_error_clear(&ignored);
  if (fits) return FY_OCL_DETOUR;  // words the error
  FY_TRY(fy_ocl_output_dims(c, 0, b->out_rank, b->out_dims, &y, err));
  if (y->count == 0) return FY_OK;
  for (int i = 0; i < g->n; i++) FY_TRY(fy_ocl_bring(c, in[i], &x[i], &storage[i], err));
  fy_ocl_args a;
  fy_ocl_args_init(&a, c);
  for (int i = 0; i < g->n; i++) fy_ocl_add_in(&a, x[i]);
  fy_ocl_add_out(&a, y);
  fy_ocl_add_long(&a, y->count);
  bool flat = true;
  for (int i = 0; i < g->n; i++) flat = flat && (x[i]->count == 1 || x[i]->count == y->count);
  if (flat) {
    for (int i = 0; i < g->n; i++) fy_ocl_add_int(&a, x[i]->count == y->count);
  } else {
    fy_ocl_geo geo;
    const int64_t *strides[MAX_OPERANDS];
    for (int i = 0; i < g->n; i++) strides[i] = b->strides[i];
    if (!fy_ocl_geo_make(&geo, b->rank, b->dims, g->n, strides)) return FY_OCL_DETOUR;
    fy_ocl_add_value(&a, &geo, sizeof geo);
  }
  fy_str s;
  fy_str_init(&s);
  generate(&s, g);
  fy_code code =
      fy_ocl_run(&a, fy_str_text(&s), wide(g), flat ? "ew_flat" : "ew_geo", y->count, false, err);
  fy_str_free(&s);
  return code;
}

// --- handlers ---

fy_code fy_ocl_elementwise(fy_ocl_call *c, int arg, fy_error *err) {
  const fy_site *site = c->ctx.site;
  const expression *e = find(site->op->spec->name);
  const fy_tensor *in[MAX_OPERANDS] = {c->ctx.in[0], site->num_inputs > 1 ? c->ctx.in[1] : NULL};
  fy_tensor alpha;
  float value;
  (void)arg;
  if (!e) return FY_OCL_DETOUR;
  fy_dtype t = in[0]->dtype;
  source g = {.n = e->operands, .in = {t, t, t}, .out = e->makes_bool ? FY_BOOL : t, .compute = t};
  g.text = text_for(e, t);
  if (!g.text) return FY_OCL_DETOUR;
  if (site->num_inputs < e->operands) {  // LeakyRelu: its last operand is an attribute
    value = fy_site_float(site, "alpha");
    fy_tensor_init(&alpha);
    alpha.dtype = FY_FLOAT;
    alpha.count = 1;
    alpha.data = &value;
    in[e->operands - 1] = &alpha;
    g.in[e->operands - 1] = FY_FLOAT;
  }
  // Gradients and the like do not broadcast: other shapes are an error that the reference words.
  size_t len = strlen(e->op);
  if (g.n >= 2 && len > 4 && !strcmp(e->op + len - 4, "Grad") &&
      !fy_shape_equal(in[0]->rank, in[0]->dims, in[1]->rank, in[1]->dims))
    return FY_OCL_DETOUR;
  return run_source(c, &g, in, err);
}

fy_code fy_ocl_logical(fy_ocl_call *c, int arg, fy_error *err) {
  static const char *const texts[] = {"a && b", "a || b", "!a"};
  const fy_tensor *in[MAX_OPERANDS] = {c->ctx.in[0], arg < 2 ? c->ctx.in[1] : NULL};
  source g = {.n = arg < 2 ? 2 : 1, .in = {FY_BOOL, FY_BOOL}, .out = FY_BOOL, .compute = FY_BOOL};
  g.text = texts[arg];
  return run_source(c, &g, in, err);
}

fy_code fy_ocl_select(fy_ocl_call *c, int arg, fy_error *err) {
  const fy_tensor *in[3] = {c->ctx.in[0], c->ctx.in[1], c->ctx.in[2]};
  fy_dtype t = in[1]->dtype;
  source g = {.n = 3, .in = {FY_BOOL, t, t}, .out = t, .compute = t, .text = "a ? b : c"};
  if (arg == 1) {  // Select: a vector chooses rows, anything else has the operands' shape
    if (!fy_shape_equal(in[1]->rank, in[1]->dims, in[2]->rank, in[2]->dims)) return FY_OCL_DETOUR;
    if (in[0]->rank != 0 && !fy_shape_equal(in[0]->rank, in[0]->dims, in[1]->rank, in[1]->dims))
      return FY_OCL_DETOUR;
  }
  return run_source(c, &g, in, err);
}

// Between numbers; a value that an integer cannot hold is undefined in TensorFlow, here the host's.
fy_code fy_ocl_cast(fy_ocl_call *c, int arg, fy_error *err) {
  const fy_tensor *in[1] = {c->ctx.in[0]};
  (void)arg;
  source g = {.n = 1, .in = {in[0]->dtype}, .out = c->ctx.site->out_types[0], .text = "a"};
  g.compute = g.out;
  bool from_real = is_real(g.in[0]), to_real = is_real(g.out);
  const fy_attr *truncate = fy_attrs_get(c->ctx.site->attrs, "Truncate");
  if (truncate && truncate->v.b) return FY_OCL_DETOUR;
  if (from_real && !to_real && g.out != FY_BOOL) return FY_OCL_DETOUR;
  if ((g.in[0] == FY_DOUBLE || g.in[0] == FY_INT64 || g.in[0] == FY_INT32) &&
      (g.out == FY_HALF || g.out == FY_BFLOAT16))
    return FY_OCL_DETOUR;  // would round twice
  if (g.out == FY_BOOL) g.text = "a != 0";
  return run_source(c, &g, in, err);
}

fy_code fy_ocl_add_n(fy_ocl_call *c, int arg, fy_error *err) {
  static const char *const sums[] = {"a", "a + b", "a + b + c"};
  (void)arg;
  int n = c->ctx.site->num_inputs;
  fy_dtype t = c->ctx.in[0]->dtype;
  if (n > 3) return FY_OCL_DETOUR;
  const fy_tensor *in[3] = {0};
  for (int i = 0; i < n; i++) {
    in[i] = c->ctx.in[i];
    if (!fy_shape_equal(in[i]->rank, in[i]->dims, in[0]->rank, in[0]->dims)) return FY_OCL_DETOUR;
  }
  source g = {.n = n, .in = {t, t, t}, .out = t, .compute = t, .text = sums[n - 1]};
  return run_source(c, &g, in, err);
}

// --- fused programs ---

static const char *const ew_names[FY_EW_COUNT] = {
    [FY_EW_ADD] = "AddV2",
    [FY_EW_SUB] = "Sub",
    [FY_EW_MUL] = "Mul",
    [FY_EW_DIV] = "RealDiv",
    [FY_EW_MAX] = "Maximum",
    [FY_EW_MIN] = "Minimum",
    [FY_EW_SQDIFF] = "SquaredDifference",
    [FY_EW_POW] = "Pow",
    [FY_EW_NEG] = "Neg",
    [FY_EW_ABS] = "Abs",
    [FY_EW_SQUARE] = "Square",
    [FY_EW_SQRT] = "Sqrt",
    [FY_EW_RSQRT] = "Rsqrt",
    [FY_EW_EXP] = "Exp",
    [FY_EW_LOG] = "Log",
    [FY_EW_LOG1P] = "Log1p",
    [FY_EW_EXPM1] = "Expm1",
    [FY_EW_TANH] = "Tanh",
    [FY_EW_SIGMOID] = "Sigmoid",
    [FY_EW_RELU] = "Relu",
    [FY_EW_RELU6] = "Relu6",
    [FY_EW_ELU] = "Elu",
    [FY_EW_SELU] = "Selu",
    [FY_EW_SOFTPLUS] = "Softplus",
    [FY_EW_SOFTSIGN] = "Softsign",
    [FY_EW_SIN] = "Sin",
    [FY_EW_COS] = "Cos",
    [FY_EW_ERF] = "Erf",
    [FY_EW_FLOOR] = "Floor",
    [FY_EW_CEIL] = "Ceil",
    [FY_EW_RINT] = "Rint",
    [FY_EW_RECIPROCAL] = "Reciprocal",
    [FY_EW_SIGN] = "Sign",
    [FY_EW_LEAKY_RELU] = "LeakyRelu",
    [FY_EW_ERFC] = "Erfc",
};

// The text of a constant: its bits, so that nothing is rounded on the way.
static void add_constant(fy_str *s, fy_dtype t, uint64_t bits) {
  if (t == FY_FLOAT)
    fy_str_printf(s, "as_float(0x%08xu)", (unsigned)bits);
  else if (t == FY_DOUBLE)
    fy_str_printf(s, "as_double(0x%016llxul)", (unsigned long long)bits);
  else if (t == FY_INT32)
    fy_str_printf(s, "(int)0x%08xu", (unsigned)bits);
  else
    fy_str_printf(s, "(long)0x%016llxul", (unsigned long long)bits);
}

static bool write_fused(fy_str *s, const fy_fused_program *p, fy_dtype t) {
  const char *type = fy_ocl_arithmetic(t);
  fy_str_printf(s, "#define R(x) ((%s)x)\nKERNEL void fused(", type);
  for (uint32_t i = 0; i < p->num_inputs; i++)
    fy_str_printf(s, "GLOBAL const %s *x%u, long o%u, %s", fy_ocl_storage(t), i, i, "");
  for (uint32_t i = 0; i < p->num_outputs; i++)
    fy_str_printf(s, "GLOBAL %s *y%u, long z%u, ", fy_ocl_storage(t), i, i);
  for (uint32_t i = 0; i < p->num_inputs; i++)
    if (p->kinds[i] == FY_FUSED_ROW) fy_str_printf(s, "long m%u, ", i);
  fy_str_add(s, "long n) {\n  long i = GID(0);\n  if (i >= n) return;\n");
  for (uint32_t i = 0; i < p->num_inputs; i++) {
    fy_str_printf(s, "  %s v%u = LD_%s(x%u, o%u", type, i, fy_ocl_suffix(t), i, i);
    if (p->kinds[i] == FY_FUSED_FULL) fy_str_add(s, " + i");
    if (p->kinds[i] == FY_FUSED_ROW) fy_str_printf(s, " + i %% m%u", i);
    fy_str_add(s, ");\n");
  }
  for (uint32_t i = 0; i < p->num_consts; i++) {
    fy_str_printf(s, "  %s v%u = ", type, p->num_inputs + i);
    add_constant(s, t, p->consts[i]);
    fy_str_add(s, ";\n");
  }
  uint32_t base = p->num_inputs + p->num_consts;
  for (uint32_t i = 0; i < p->num_ops; i++) {
    const char *name = p->ops[i].op < FY_EW_COUNT ? ew_names[p->ops[i].op] : NULL;
    const expression *e = name ? find(name) : NULL;
    const char *text = e ? text_for(e, t) : NULL;
    if (!text) return false;
    fy_str_printf(s, "  %s v%u;\n  { %s a = v%u;", type, base + i, type, p->ops[i].a);
    if (e->operands == 2) fy_str_printf(s, " %s b = v%u;", type, p->ops[i].b);
    fy_str_printf(s, " v%u = %s; }\n", base + i, text);
  }
  for (uint32_t i = 0; i < p->num_outputs; i++)
    fy_str_printf(s, "  ST_%s(y%u, z%u + i, v%u);\n", fy_ocl_suffix(t), i, i, p->outputs[i]);
  fy_str_add(s, "}\n");
  return true;
}

bool fy_opencl_fused_source(const struct fy_fused_program *p, fy_dtype t, fy_str *out) {
  return write_fused(out, p, t);
}

fy_code fy_ocl_fused(fy_ocl_call *c, int arg, fy_error *err) {
  const fy_site *site = c->ctx.site;
  fy_fused_program p;
  fy_dtype t = fy_dtype_base(site->in_types[0]);
  const fy_attr *shape = fy_site_attr(site, "shape");
  int64_t count;
  (void)arg;
  if (!shape || shape->kind != FY_ATTR_SHAPE || shape->v.shape.rank < 0 ||
      !fy_shape_count(shape->v.shape.rank, shape->v.shape.dims, &count))
    return FY_OCL_DETOUR;
  if (t != FY_FLOAT && t != FY_DOUBLE && t != FY_INT32 && t != FY_INT64) return FY_OCL_DETOUR;
  FY_TRY(fy_fused_decode(fy_site_string(site, "program"), t, &c->arena, &p, err));
  if ((int)p.num_inputs != site->num_inputs || (int)p.num_outputs != site->num_outputs ||
      p.num_inputs + p.num_outputs > FY_OCL_RANGES)
    return FY_OCL_DETOUR;
  for (uint32_t i = 0; i < p.num_inputs; i++) {
    if (!fy_ocl_here(c, c->ctx.in[i])) return FY_OCL_DETOUR;
    int64_t n = c->ctx.in[i]->count;
    bool fits = p.kinds[i] == FY_FUSED_FULL     ? n == count
                : p.kinds[i] == FY_FUSED_SCALAR ? n == 1
                                                : n > 0 && count % n == 0;
    if (!fits) return FY_OCL_DETOUR;
  }
  fy_ocl_args a;
  fy_ocl_args_init(&a, c);
  for (uint32_t i = 0; i < p.num_inputs; i++) fy_ocl_add_in(&a, c->ctx.in[i]);
  for (uint32_t i = 0; i < p.num_outputs; i++) {
    fy_tensor *y;
    FY_TRY(fy_ocl_output_dims(c, (int)i, shape->v.shape.rank, shape->v.shape.dims, &y, err));
    fy_ocl_add_out(&a, y);
  }
  if (count == 0) return FY_OK;
  for (uint32_t i = 0; i < p.num_inputs; i++)
    if (p.kinds[i] == FY_FUSED_ROW) fy_ocl_add_long(&a, c->ctx.in[i]->count);
  fy_ocl_add_long(&a, count);
  fy_str s;
  fy_str_init(&s);
  fy_code code = FY_OCL_DETOUR;
  if (write_fused(&s, &p, t))
    code = fy_ocl_run(&a, fy_str_text(&s), t == FY_DOUBLE ? "-DUSE_DOUBLE" : "", "fused", count,
                      false, err);
  fy_str_free(&s);
  return code;
}

#else
typedef int fy_opencl_elementwise_is_empty;
#endif
