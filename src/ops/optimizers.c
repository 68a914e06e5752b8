// SPDX-License-Identifier: Apache-2.0
// optimizers.c: ResourceApply*: one training step of a variable and its slots from a gradient.
//
// Inputs are some variables (the weight and its slots, all of one shape), then scalars and the
// gradient in the order each op has them. All variables are locked in the order of their addresses;
// a value that a reader holds is replaced, never written. 16-bit floats round after every
// operation, as TensorFlow's do.

#include "ops/elementwise.h"
#include "ops/resource.h"
#include "ops/shape_fns.h"
#include "ops/values.h"
#include "ops/variable.h"

#define MAX_VARS   4
#define MAX_INPUTS 12

typedef struct step_job {
  void *var[MAX_VARS];
  const void *grad;
  const void *scalar[MAX_INPUTS];  // in input order, without the gradient
  bool flag;                       // use_nesterov, update_slots or multiply_linear_by_lr
} step_job;

typedef void (*step_fn)(void *arg, int64_t begin, int64_t end);
typedef struct optimizer {
  int vars, inputs, grad;  // how many variables and inputs; which input is the gradient
  const char *names[MAX_INPUTS];
  const char *flag;
  step_fn step[FY_DTYPE_COUNT];
  double ns;
  bool ftrl, spaced;  // words of its errors: "l1 regularization strength", "lr is not a scalar : "
} optimizer;

// A loop over elements: w the weight, g the gradient, a, b, c the slots, s0… the scalars; all in
// the type of arithmetic. R rounds.
#define R(S, x)      FY_RD_##S(x)
#define SCALAR(S, i) (j->scalar[i] ? FY_LD_##S(*(const fy_t_##S *)j->scalar[i]) : (fy_a_##S)0)
#define SLOT(S, i)   (j->var[i] ? FY_LD_##S(((fy_t_##S *)j->var[i])[i_]) : (fy_a_##S)0)
#define STEP(E, S, name, ONCE, EACH)                                           \
  static void name##_##S(void *arg, int64_t begin, int64_t end) {              \
    const step_job *j = arg;                                                   \
    const fy_a_##S s0 = SCALAR(S, 0), s1 = SCALAR(S, 1), s2 = SCALAR(S, 2);    \
    const fy_a_##S s3 = SCALAR(S, 3), s4 = SCALAR(S, 4), s5 = SCALAR(S, 5);    \
    const bool flag = j->flag;                                                 \
    ONCE(S)                                                                    \
    (void)s0, (void)s1, (void)s2, (void)s3, (void)s4, (void)s5, (void)flag;    \
    for (int64_t i_ = begin; i_ < end; i_++) {                                 \
      const fy_a_##S g = FY_LD_##S(((const fy_t_##S *)j->grad)[i_]);           \
      fy_a_##S w = SLOT(S, 0), a = SLOT(S, 1), b = SLOT(S, 2), c = SLOT(S, 3); \
      EACH(S)                                                                  \
      ((fy_t_##S *)j->var[0])[i_] = FY_ST_##S(w);                              \
      if (j->var[1]) ((fy_t_##S *)j->var[1])[i_] = FY_ST_##S(a);               \
      if (j->var[2]) ((fy_t_##S *)j->var[2])[i_] = FY_ST_##S(b);               \
      if (j->var[3]) ((fy_t_##S *)j->var[3])[i_] = FY_ST_##S(c);               \
    }                                                                          \
  }
#define NOTHING(S)
#define ROOT(S, x) R(S, FY_MATH_##S(sqrt)(x))

// alpha
#define DESCENT(S) w = R(S, w - R(S, g * s0));
// lr, momentum; accumulator a
#define MOMENTUM(S)           \
  a = R(S, R(S, a * s1) + g); \
  w = R(S, w - (flag ? R(S, R(S, g * s0) + R(S, R(S, a * s1) * s0)) : R(S, a * s0)));
#define KERAS_MOMENTUM(S)                \
  a = R(S, R(S, a * s1) - R(S, g * s0)); \
  w = R(S, w + (flag ? R(S, R(S, a * s1) - R(S, g * s0)) : a));
// beta1_power, beta2_power, lr, beta1, beta2, epsilon; m a, v b, maximum of v c
#define ADAM_RATE(S) const fy_a_##S rate = R(S, R(S, s2 * ROOT(S, R(S, 1 - s1))) / R(S, 1 - s0));
#define ADAM_MOMENTS(S)                           \
  a = R(S, a + R(S, R(S, g - a) * R(S, 1 - s3))); \
  b = R(S, b + R(S, R(S, R(S, g * g) - b) * R(S, 1 - s4)));
#define ADAM(S)                                                                 \
  ADAM_MOMENTS(S)                                                               \
  const fy_a_##S mean = flag ? R(S, R(S, g * R(S, 1 - s3)) + R(S, s3 * a)) : a; \
  w = R(S, w - R(S, R(S, mean * rate) / R(S, ROOT(S, b) + s5)));
#define AMSGRAD(S)   \
  ADAM_MOMENTS(S)    \
  c = c > b ? c : b; \
  w = R(S, w - R(S, R(S, a * rate) / R(S, ROOT(S, c) + s5)));
// lr (, epsilon); sum of squares a
#define ADAGRAD(S)                     \
  if (flag) a = R(S, a + R(S, g * g)); \
  w = R(S, w - R(S, R(S, g * s0) * R(S, 1 / FY_MATH_##S(sqrt)(a))));
#define ADAGRAD_V2(S)                  \
  if (flag) a = R(S, a + R(S, g * g)); \
  w = R(S, w - R(S, R(S, g * s0) / R(S, ROOT(S, a) + s1)));
// lr, rho, momentum, epsilon; mean square a, momentum b
#define RMSPROP(S)                                                     \
  a = R(S, a + R(S, R(S, R(S, g * g) - a) * R(S, 1 - s1)));            \
  b = R(S, R(S, b * s2) + R(S, R(S, g * s0) / ROOT(S, R(S, a + s3)))); \
  w = R(S, w - b);
// mean gradient a, mean square b, momentum c
#define CENTERED(S)                                                                        \
  b = R(S, b + R(S, R(S, R(S, g * g) - b) * R(S, 1 - s1)));                                \
  a = R(S, a + R(S, R(S, g - a) * R(S, 1 - s1)));                                          \
  c = R(S, R(S, c * s2) + R(S, R(S, g * s0) / ROOT(S, R(S, R(S, b - R(S, a * a)) + s3)))); \
  w = R(S, w - c);
// lr, rho, epsilon; mean square a, of updates b
#define ADADELTA(S)                                                                      \
  a = R(S, R(S, a * s1) + R(S, R(S, g * g) * R(S, 1 - s1)));                             \
  const fy_a_##S update =                                                                \
      R(S, R(S, ROOT(S, R(S, b + s2)) * R(S, 1 / FY_MATH_##S(sqrt)(R(S, a + s2)))) * g); \
  w = R(S, w - R(S, update * s0));                                                       \
  b = R(S, R(S, b * s1) + R(S, R(S, update * update) * R(S, 1 - s1)));
// beta1_power, lr, beta1, beta2, epsilon; m a, v b
#define ADAMAX(S)                                                  \
  a = R(S, a + R(S, R(S, g - a) * R(S, 1 - s2)));                  \
  const fy_a_##S size = FY_MATH_##S(fabs)(g), kept = R(S, s3 * b); \
  b = kept > size ? kept : size;                                   \
  w = R(S, w - R(S, R(S, s1 / R(S, 1 - s0)) * R(S, a / R(S, b + s4))));
// lr, l1, l2, (l2_shrinkage,) lr_power; sum of squares a, linear term b
#define FTRL_BODY(S, grad, power)                                                         \
  const fy_a_##S sum = R(S, a + R(S, g * g));                                             \
  const fy_a_##S now =                                                                    \
      (power) == (fy_a_##S) - 0.5 ? ROOT(S, sum) : R(S, FY_MATH_##S(pow)(sum, -(power))); \
  const fy_a_##S was =                                                                    \
      (power) == (fy_a_##S) - 0.5 ? ROOT(S, a) : R(S, FY_MATH_##S(pow)(a, -(power)));     \
  const fy_a_##S lr = flag ? (fy_a_##S)1 : s0, by = flag ? s0 : (fy_a_##S)1;              \
  b = R(S, b + R(S, R(S, (grad)*by) - R(S, R(S, R(S, now - was) / lr) * w)));             \
  const fy_a_##S edge = R(S, s1 * by);                                                    \
  const fy_a_##S pull = R(S, R(S, edge * (fy_a_##S)((b > 0) - (b < 0))) - b);             \
  const fy_a_##S push = R(S, R(S, now / lr) + R(S, R(S, 2 * s2) * by));                   \
  w = FY_MATH_##S(fabs)(b) > edge ? R(S, pull / push) : 0;                                \
  a = sum;
#define FTRL(S) FTRL_BODY(S, g, s3)
#define FTRL_V2(S)                                          \
  const fy_a_##S shrunk = R(S, g + R(S, R(S, 2 * s3) * w)); \
  FTRL_BODY(S, shrunk, s4)

FY_REAL_TYPES(STEP, descent, NOTHING, DESCENT)
FY_COMPLEX_TYPES(STEP, descent, NOTHING, DESCENT)
FY_REAL_TYPES(STEP, momentum, NOTHING, MOMENTUM)
FY_COMPLEX_TYPES(STEP, momentum, NOTHING, MOMENTUM)
FY_REAL_TYPES(STEP, keras_momentum, NOTHING, KERAS_MOMENTUM)
FY_COMPLEX_TYPES(STEP, keras_momentum, NOTHING, KERAS_MOMENTUM)
FY_REAL_TYPES(STEP, adam, ADAM_RATE, ADAM)
FY_COMPLEX_TYPES(STEP, adam, ADAM_RATE, ADAM)
FY_REAL_TYPES(STEP, amsgrad, ADAM_RATE, AMSGRAD)
FY_REAL_TYPES(STEP, adagrad, NOTHING, ADAGRAD)
FY_COMPLEX_TYPES(STEP, adagrad, NOTHING, ADAGRAD)
FY_REAL_TYPES(STEP, adagrad_v2, NOTHING, ADAGRAD_V2)
FY_COMPLEX_TYPES(STEP, adagrad_v2, NOTHING, ADAGRAD_V2)
FY_REAL_TYPES(STEP, rmsprop, NOTHING, RMSPROP)
FY_COMPLEX_TYPES(STEP, rmsprop, NOTHING, RMSPROP)
FY_REAL_TYPES(STEP, centered, NOTHING, CENTERED)
FY_COMPLEX_TYPES(STEP, centered, NOTHING, CENTERED)
FY_REAL_TYPES(STEP, adadelta, NOTHING, ADADELTA)
FY_COMPLEX_TYPES(STEP, adadelta, NOTHING, ADADELTA)
FY_REAL_TYPES(STEP, adamax, NOTHING, ADAMAX)
FY_REAL_TYPES(STEP, ftrl, NOTHING, FTRL)
FY_REAL_TYPES(STEP, ftrl_v2, NOTHING, FTRL_V2)

#define FIELD(name) \
  { FY_REAL_TYPES(FY_LOOP_ENTRY, name) FY_COMPLEX_TYPES(FY_LOOP_ENTRY, name) }
#define REALS(name) \
  { FY_REAL_TYPES(FY_LOOP_ENTRY, name) }
static const optimizer descent = {1,   3,     2,    {"var", "alpha", "delta"}, NULL, FIELD(descent),
                                  0.5, false, false};
static const optimizer momentum = {
    2, 5,     3,    {"var", "accum", "lr", "grad", "momentum"}, "use_nesterov", FIELD(momentum),
    1, false, false};
static const optimizer keras_momentum = {2,
                                         5,
                                         3,
                                         {"var", "accum", "lr", "grad", "momentum"},
                                         "use_nesterov",
                                         FIELD(keras_momentum),
                                         1,
                                         false,
                                         false};
static const optimizer adam = {
    3,
    10,
    9,
    {"var", "m", "v", "beta1_power", "beta2_power", "lr", "beta1", "beta2", "epsilon", "grad"},
    "use_nesterov",
    FIELD(adam),
    3,
    false,
    true};
static const optimizer amsgrad = {4,
                                  11,
                                  10,
                                  {"var", "m", "v", "vhat", "beta1_power", "beta2_power", "lr",
                                   "beta1", "beta2", "epsilon", "grad"},
                                  NULL,
                                  REALS(amsgrad),
                                  3,
                                  false,
                                  true};
static const optimizer adagrad = {
    2, 4, 3, {"var", "accum", "lr", "grad"}, "update_slots", FIELD(adagrad), 2, false, false};
static const optimizer adagrad_v2 = {
    2, 5,     4,    {"var", "accum", "lr", "epsilon", "grad"}, "update_slots", FIELD(adagrad_v2),
    2, false, false};
static const optimizer rmsprop = {
    3,    8,
    7,    {"var", "ms", "mom", "lr", "rho", "momentum", "epsilon", "grad"},
    NULL, FIELD(rmsprop),
    2,    false,
    true};
static const optimizer centered = {
    4,    9,
    8,    {"var", "mg", "ms", "mom", "lr", "rho", "momentum", "epsilon", "grad"},
    NULL, FIELD(centered),
    3,    false,
    true};
static const optimizer adadelta = {
    3,    7,
    6,    {"var", "accum", "accum_update", "lr", "rho", "epsilon", "grad"},
    NULL, FIELD(adadelta),
    3,    false,
    false};
static const optimizer adamax = {
    3,    9,
    8,    {"var", "m", "v", "beta1_power", "lr", "beta1", "beta2", "epsilon", "grad"},
    NULL, REALS(adamax),
    2,    false,
    true};
static const optimizer ftrl = {3,
                               8,
                               3,
                               {"var", "accum", "linear", "grad", "lr", "l1", "l2", "lr_power"},
                               "multiply_linear_by_lr",
                               REALS(ftrl),
                               5,
                               true,
                               false};
static const optimizer ftrl_v2 = {
    3,
    9,
    3,
    {"var", "accum", "linear", "grad", "lr", "l1", "l2", "l2_shrinkage", "lr_power"},
    "multiply_linear_by_lr",
    REALS(ftrl_v2),
    5,
    true,
    false};

// ---------------------------------------------------------------- checks
// TensorFlow's words differ from op to op.
static fy_code fail_scalar(const optimizer *o, int i, const fy_tensor *t, fy_error *err) {
  const char *name = o->names[i];
  char x[128];
  fy_tensor_shape_text(t, x);
  if (o->ftrl && !strcmp(name, "lr_power")) {
    return fy_fail(err, FY_INVALID_ARGUMENT, "lr_power is not a scalar%s", x);
  }
  if (o->ftrl && name[1] != 'r') {
    return fy_fail(err, FY_INVALID_ARGUMENT, "%s regularization strength is not a scalar: %s",
                   !strcmp(name, "l2_shrinkage") ? "l2 shrinkage" : name, x);
  }
  return fy_fail(err, FY_INVALID_ARGUMENT, "%s is not a scalar%s: %s", name,
                 o->spaced && !strcmp(name, "lr") ? " " : "", x);
}

static fy_code check_scalars(fy_kernel_ctx *ctx, const optimizer *o, fy_error *err) {
  for (int i = o->vars; i < o->inputs; i++) {
    if (i != o->grad && ctx->in[i]->rank != 0) return fail_scalar(o, i, ctx->in[i], err);
  }
  return FY_OK;
}

static fy_code check_variables(fy_kernel_ctx *ctx, const optimizer *o, fy_variable **vars,
                               fy_error *err) {
  const fy_tensor *grad = ctx->in[o->grad];
  char x[128], y[128];
  for (int i = 0; i < o->vars; i++) {
    if (!vars[i]->value) {
      return fy_fail(err, FY_INTERNAL, "Invalid variable reference.");
    }
    if (vars[i]->value->dtype != grad->dtype) {
      return fy_fail(err, FY_INVALID_ARGUMENT,
                     "Trying to update variable %s of type %s with a gradient of type %s",
                     vars[i]->name, fy_dtype_name(vars[i]->value->dtype),
                     fy_dtype_name(grad->dtype));
    }
  }
  const fy_tensor *w = vars[0]->value;
  for (int i = 1; i <= o->vars; i++) {
    const fy_tensor *t = i < o->vars ? vars[i]->value : grad;
    if (fy_shape_equal(w->rank, w->dims, t->rank, t->dims)) continue;
    return fy_fail(err, FY_INVALID_ARGUMENT, "var and %s do not have the same shape%s %s",
                   o->names[i < o->vars ? i : o->grad], fy_tensor_shape_text(w, x),
                   fy_tensor_shape_text(t, y));
  }
  return FY_OK;
}

static fy_code step_locked(fy_kernel_ctx *ctx, const optimizer *o, fy_variable **vars,
                           fy_tensor **garbage, fy_error *err) {
  const fy_tensor *grad = ctx->in[o->grad];
  FY_TRY(check_variables(ctx, o, vars, err));
  FY_TRY(check_scalars(ctx, o, err));
  const step_fn step = o->step[grad->dtype];
  if (!step) {
    return fy_fail(err, FY_UNIMPLEMENTED, "%s has no loop for %s", ctx->site->op->impl->name,
                   fy_dtype_name(grad->dtype));
  }
  step_job j = {.grad = grad->data, .flag = o->flag && fy_site_bool(ctx->site, o->flag)};
  int scalars = 0;
  for (int i = o->vars; i < o->inputs; i++) {
    if (i != o->grad) j.scalar[scalars++] = ctx->in[i]->data;
  }
  for (int i = 0; i < o->vars; i++) {
    fy_tensor view;
    FY_TRY(fy_variable_own(ctx, vars[i], &garbage[i], err));
    j.var[i] = (ctx->svc->view ? ctx->svc->view(ctx, vars[i]->value, &view) : vars[i]->value)->data;
  }
  if (grad->count) fy_parallel(ctx, grad->count, o->ns, step, &j);
  return FY_OK;
}

// ApplyAdam … take references to variables, ResourceApplyAdam … resources.
static fy_code variable_of(fy_kernel_ctx *ctx, int i, fy_variable **out, fy_error *err) {
  fy_object *object = NULL;
  if (fy_dtype_is_ref(ctx->site->in_types[i])) return fy_ref_variable(ctx->in[i], out, err);
  fy_code code = fy_resource_object(ctx->in[i], &fy_variable_type, &object, err);
  *out = (fy_variable *)object;
  return code;
}

static fy_code apply(fy_kernel_ctx *ctx, fy_error *err) {
  const optimizer *o = ctx->site->op->impl->aux;
  fy_variable *vars[MAX_VARS], *order[MAX_VARS];
  fy_tensor *garbage[MAX_VARS] = {NULL};
  int n = 0;
  for (int i = 0; i < o->vars; i++) {
    FY_TRY(variable_of(ctx, i, &vars[i], err));
    int at = n;
    while (at > 0 && (uintptr_t)order[at - 1] > (uintptr_t)vars[i]) at--;
    if (at > 0 && order[at - 1] == vars[i]) continue;  // the same one twice
    for (int k = n; k > at; k--) order[k] = order[k - 1];
    order[at] = vars[i];
    n++;
  }
  for (int i = 0; i < n; i++) fy_lock(&order[i]->lock);
  fy_code code = step_locked(ctx, o, vars, garbage, err);
  for (int i = n - 1; i >= 0; i--) fy_unlock(&order[i]->lock);
  for (int i = 0; i < o->vars; i++) fy_tensor_release(garbage[i]);
  if (!code) code = fy_out_ref(ctx, err);
  return code;
}

static const optimizer *by_name(const char *name) {
  const fy_op *op = fy_op_find(name, strlen(name));
  return op && op->impl ? op->impl->aux : NULL;
}

static fy_code apply_shape(fy_shape_ctx *ctx, fy_error *err) {
  const optimizer *o = by_name(ctx->spec->name);
  if (!o || ctx->num_inputs != o->inputs) return FY_OK;
  const bool refs = fy_dtype_is_ref(ctx->in_types[0]);
  fy_pshape all = refs ? ctx->in[0] : ctx->in_handle[0].shape;
  for (int i = 1; i < o->inputs; i++) {
    if (i < o->vars || i == o->grad) {
      const fy_pshape s = i < o->vars && !refs ? ctx->in_handle[i].shape : ctx->in[i];
      FY_TRY(fy_shape_merge(ctx, all, s, &all, err));
    } else {
      FY_TRY(fy_shape_rank_is(ctx->in[i], 0, err));
    }
  }
  return refs ? fy_shape_set(ctx, 0, all.rank, all.dims, err) : FY_OK;
}

#define OPTIMIZER(Name, table) \
  FY_OP(Name, .shape = apply_shape, .compute = apply, .aux = &table, .host_inputs = HOSTS_##table)
#define HOSTS_descent        1
#define HOSTS_momentum       3
#define HOSTS_keras_momentum 3
#define HOSTS_adam           7
#define HOSTS_amsgrad        15
#define HOSTS_adagrad        3
#define HOSTS_adagrad_v2     3
#define HOSTS_rmsprop        7
#define HOSTS_centered       15
#define HOSTS_adadelta       7
#define HOSTS_adamax         7
#define HOSTS_ftrl           7
#define HOSTS_ftrl_v2        7
OPTIMIZER(ResourceApplyGradientDescent, descent);
OPTIMIZER(ResourceApplyMomentum, momentum);
OPTIMIZER(ResourceApplyKerasMomentum, keras_momentum);
OPTIMIZER(ResourceApplyAdam, adam);
OPTIMIZER(ResourceApplyAdamWithAmsgrad, amsgrad);
OPTIMIZER(ResourceApplyAdagrad, adagrad);
OPTIMIZER(ResourceApplyAdagradV2, adagrad_v2);
OPTIMIZER(ResourceApplyRMSProp, rmsprop);
OPTIMIZER(ResourceApplyCenteredRMSProp, centered);
OPTIMIZER(ResourceApplyAdadelta, adadelta);
OPTIMIZER(ResourceApplyAdaMax, adamax);
OPTIMIZER(ResourceApplyFtrl, ftrl);
OPTIMIZER(ResourceApplyFtrlV2, ftrl_v2);

#define REF_OPTIMIZER(Name, table)                                                                 \
  FY_OP(Name, .shape = apply_shape, .compute = apply, .aux = &table, .host_inputs = HOSTS_##table, \
        .host_outputs = 1, .flags = FY_OP_SETS_OUTPUT)
REF_OPTIMIZER(ApplyGradientDescent, descent);
REF_OPTIMIZER(ApplyMomentum, momentum);
REF_OPTIMIZER(ApplyAdam, adam);
REF_OPTIMIZER(ApplyAdagrad, adagrad);
REF_OPTIMIZER(ApplyAdagradV2, adagrad_v2);
REF_OPTIMIZER(ApplyRMSProp, rmsprop);
REF_OPTIMIZER(ApplyCenteredRMSProp, centered);
REF_OPTIMIZER(ApplyAdadelta, adadelta);
REF_OPTIMIZER(ApplyAdaMax, adamax);
REF_OPTIMIZER(ApplyFtrl, ftrl);
REF_OPTIMIZER(ApplyFtrlV2, ftrl_v2);
