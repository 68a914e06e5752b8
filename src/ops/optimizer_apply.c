// SPDX-License-Identifier: Apache-2.0
// optimizer_apply.c: checks what a training step is given, locks its variables and runs the formula
// (optimizer_steps.inc) over all elements, or over the rows that a sparse step names.

#include "ops/fused.h"
#include "ops/optimizers.h"
#include "ops/shape_fns.h"
#include "ops/values.h"
#include "ops/variable.h"

// ---------------------------------------------------------------- checks
static bool is_sparse(const fy_op_spec *spec) {
  return strstr(spec->name, "Sparse") != NULL;
}

// Input |i| of the table: a sparse op has the indices after the gradient.
static const fy_tensor *input(const fy_kernel_ctx *ctx, const fy_optimizer *o, int i) {
  return ctx->in[i > o->grad && is_sparse(ctx->site->op->spec) ? i + 1 : i];
}

// TensorFlow's words differ from op to op.
static fy_code fail_scalar(const fy_op_spec *spec, const fy_optimizer *o, int i, const fy_tensor *t,
                           fy_error *err) {
  const bool sparse = is_sparse(spec);
  const bool spaced = sparse ? strstr(spec->name, "Momentum") != NULL : o->spaced;
  const char *name = o->names[i];
  char x[128];
  fy_tensor_shape_text(t, x);
  if (o->ftrl && !strcmp(name, "lr_power")) {
    return fy_fail(err, FY_INVALID_ARGUMENT, "lr_power is not a scalar%s", x);
  }
  if (name[0] == 'l' && (name[1] == '1' || name[1] == '2')) {
    return fy_fail(err, FY_INVALID_ARGUMENT, "%s regularization strength is not a scalar: %s",
                   !strcmp(name, "l2_shrinkage") ? "l2 shrinkage" : name, x);
  }
  if (sparse && !strcmp(name, "alpha")) name = "lr";
  return fy_fail(err, FY_INVALID_ARGUMENT, "%s is not a scalar%s: %s", name,
                 spaced && !strcmp(name, "lr") ? " " : "", x);
}

// Some steps also say in which range their numbers must be.
static bool is_bounded(const fy_op_spec *spec, const fy_optimizer *o) {
  return strstr(spec->name, "ProximalAdagrad") || (o->ftrl && is_sparse(spec));
}
static fy_code check_bound(const fy_site *site, const fy_optimizer *o, int i, const fy_tensor *t,
                           fy_error *err) {
  const char *name = o->names[i];
  const double v = t->rank == 0 ? fy_tensor_double(t, 0) : NAN;
  char x[128];
  fy_tensor_shape_text(t, x);
  if (!strcmp(name, "lr")) {
    if (v > 0 || (v == 0 && o->ftrl && fy_site_bool(site, "multiply_linear_by_lr"))) return FY_OK;
    return fy_fail(err, FY_INVALID_ARGUMENT, "lr is not a positive scalar%s: %s",
                   o->ftrl ? " (or zero if multiply_linear_by_lr is set)" : "", x);
  }
  if (!strcmp(name, "lr_power")) {
    if (v <= 0) return FY_OK;
    return fy_fail(err, FY_INVALID_ARGUMENT, "lr_power is not a non-positive scalar: %s", x);
  }
  if (v >= 0) return FY_OK;
  return fy_fail(err, FY_INVALID_ARGUMENT,
                 "%s regularization strength is not a non-negative scalar: %s",
                 !strcmp(name, "l2_shrinkage") ? "l2 shrinkage" : name, x);
}

static fy_code check_scalars(fy_kernel_ctx *ctx, const fy_optimizer *o, fy_error *err) {
  const bool bounded = is_bounded(ctx->site->op->spec, o);
  for (int i = o->vars; i < o->inputs; i++) {
    const fy_tensor *t = input(ctx, o, i);
    if (i == o->grad) continue;
    if (bounded) {
      FY_TRY(check_bound(ctx->site, o, i, t, err));
    } else if (t->rank != 0 && (t->count != 1 || strcmp(o->names[i], "sign_decay") != 0)) {
      return fail_scalar(ctx->site->op->spec, o, i, t, err);
    }
  }
  return FY_OK;
}

static fy_code check_variables(fy_kernel_ctx *ctx, const fy_optimizer *o, fy_variable **vars,
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
  for (int i = 1; i < o->vars + !is_sparse(ctx->site->op->spec); i++) {
    const fy_tensor *t = i < o->vars ? vars[i]->value : grad;
    if (fy_shape_equal(w->rank, w->dims, t->rank, t->dims)) continue;
    return fy_fail(err, FY_INVALID_ARGUMENT, "var and %s do not have the same shape%s %s",
                   o->names[i < o->vars ? i : o->grad], fy_tensor_shape_text(w, x),
                   fy_tensor_shape_text(t, y));
  }
  return FY_OK;
}

static fy_code check_rows(fy_kernel_ctx *ctx, const fy_optimizer *o, const fy_tensor *w,
                          fy_error *err) {
  const fy_tensor *grad = ctx->in[o->grad], *indices = ctx->in[o->grad + 1];
  if (w->rank < 1) return fy_fail(err, FY_INVALID_ARGUMENT, "var must be at least 1 dimensional");
  if (indices->rank != 1)
    return fy_fail(err, FY_INVALID_ARGUMENT, "indices must be one-dimensional");
  const char *name = ctx->site->op->spec->name;
  const bool inner = strstr(name, "Adagrad") || strstr(name, "Proximal") || o->ftrl;
  if (inner && fy_product(w->dims + 1, w->rank - 1) == 0) {
    return fy_fail(err, FY_INVALID_ARGUMENT, "Inner dimension should be greater than zero.");
  }
  for (int32_t d = 1; d < w->rank; d++) {
    if (d < grad->rank && grad->dims[d] == w->dims[d]) continue;
    return fy_fail(err, FY_INVALID_ARGUMENT, "var and grad must match in dimension %d", d);
  }
  if (grad->rank != w->rank || grad->dims[0] != indices->count) {
    return fy_fail(err, FY_INVALID_ARGUMENT,
                   "grad must be the same size as indices in the first dimension.");
  }
  for (int64_t i = 0; i < indices->count; i++) {
    const int64_t row = fy_tensor_int(indices, i);
    if (row >= 0 && row < w->dims[0]) continue;
    if (strstr(name, "Keras")) {
      return fy_fail(err, FY_INVALID_ARGUMENT, "indices[%lld] = %lld is not in [0, %lld)",
                     (long long)i, (long long)row, (long long)w->dims[0]);
    }
    return fy_fail(err, FY_INVALID_ARGUMENT, "Index %lld at offset %lld in indices is out of range",
                   (long long)row, (long long)i);
  }
  return FY_OK;
}

// The best build of a step that this machine can run, and how many bytes its vectors have.
static fy_step_fn best_step(fy_step step, int type, int *bytes) {
#if defined(__x86_64__)
  const int widest = fy_lanes_best()->bytes;
  *bytes = 64;
  if (widest >= 64 && type == 0 && fy_halves_steps_avx512[step])
    return fy_halves_steps_avx512[step];
  *bytes = 32;
  if (widest >= 32) return fy_steps_avx2[step][type];
#endif
  *bytes = 16;
  return fy_steps_plain[step][type];
}

static fy_code choose_step(fy_kernel_ctx *ctx, const fy_optimizer *o, fy_dtype dtype,
                           fy_step_job *j, fy_error *err) {
  static const fy_dtype types[FY_STEP_TYPES] = {FY_HALF,   FY_BFLOAT16,  FY_FLOAT,
                                                FY_DOUBLE, FY_COMPLEX64, FY_COMPLEX128};
  int type = 0, bytes = 0;
  while (type < FY_STEP_TYPES && types[type] != dtype) type++;
  j->step = type < FY_STEP_TYPES ? best_step(o->step, type, &bytes) : NULL;
  if (!j->step) {
    return fy_fail(err, FY_UNIMPLEMENTED, "%s has no loop for %s", ctx->site->op->impl->name,
                   fy_dtype_name(dtype));
  }
  j->vars = o->vars;
  j->bytes = (int)fy_dtype_storage(dtype);
  j->lanes = bytes / (j->bytes < 4 ? 4 : j->bytes);
  return FY_OK;
}

// What does not fill a vector is computed in one beside the tensors.
static void step_rest(const fy_step_job *j, int64_t begin, size_t bytes) {
  char rest[FY_STEP_VARS + 1][32] = {{0}};  // the widest: 16 halves
  const size_t at = (size_t)begin * (size_t)j->bytes;
  fy_step_job one = *j;
  for (int k = 0; k < j->vars; k++) {
    memcpy(rest[k], (const char *)j->var[k] + at, bytes);
    one.var[k] = rest[k];
  }
  memcpy(rest[FY_STEP_VARS], (const char *)j->grad + at, bytes);
  one.grad = rest[FY_STEP_VARS];
  j->step(&one, 0, j->lanes);
  for (int k = 0; k < j->vars; k++) memcpy((char *)j->var[k] + at, rest[k], bytes);
}

static void step_range(const fy_step_job *j, int64_t begin, int64_t end) {
  const int64_t whole = end - (end - begin) % j->lanes;
  if (whole > begin) j->step(j, begin, whole);
  if (end > whole) step_rest(j, whole, (size_t)(end - whole) * (size_t)j->bytes);
}

// Threads share whole lines of the cache.
#define BLOCK 64
static void step_blocks(void *arg, int64_t begin, int64_t end) {
  const fy_step_job *j = arg;
  step_range(j, begin * BLOCK, end * BLOCK < j->count ? end * BLOCK : j->count);
}

// Rows may repeat, so they are taken one after the other.
static void step_rows(fy_kernel_ctx *ctx, const fy_optimizer *o, const fy_step_job *all,
                      const fy_tensor *w) {
  const fy_tensor *indices = ctx->in[o->grad + 1];
  const int64_t inner = fy_product(w->dims + 1, w->rank - 1);
  const size_t row_bytes = (size_t)inner * fy_dtype_storage(w->dtype);
  for (int64_t i = 0; i < indices->count && inner; i++) {
    fy_step_job row = *all;
    row.grad = (const char *)all->grad + (size_t)i * row_bytes;
    for (int k = 0; k < o->vars; k++)
      row.var[k] = (char *)all->var[k] + (size_t)fy_tensor_int(indices, i) * row_bytes;
    step_range(&row, 0, inner);
  }
}

static fy_code step_locked(fy_kernel_ctx *ctx, const fy_optimizer *o, fy_variable **vars,
                           fy_tensor **garbage, fy_error *err) {
  const fy_tensor *grad = ctx->in[o->grad];
  FY_TRY(check_variables(ctx, o, vars, err));
  FY_TRY(check_scalars(ctx, o, err));
  if (is_sparse(ctx->site->op->spec)) FY_TRY(check_rows(ctx, o, vars[0]->value, err));
  fy_step_job j = {.grad = grad->data,
                   .flag = o->flag && fy_site_bool(ctx->site, o->flag),
                   .sparse = is_sparse(ctx->site->op->spec),
                   .count = grad->count};
  FY_TRY(choose_step(ctx, o, grad->dtype, &j, err));
  int scalars = 0;
  float count_f32;
  double count_f64;
  for (int i = o->vars; i < o->inputs; i++) {
    if (i == o->grad) continue;
    const fy_tensor *t = input(ctx, o, i);
    j.scalar[scalars++] = t->data;
    if (t->dtype == grad->dtype) continue;
    count_f32 = (float)fy_tensor_int(t, 0);  // global_step
    count_f64 = (double)fy_tensor_int(t, 0);
    j.scalar[scalars - 1] = grad->dtype == FY_FLOAT ? (const void *)&count_f32 : &count_f64;
  }
  for (int i = 0; i < o->vars; i++) {
    fy_tensor view;
    FY_TRY(fy_variable_own(ctx, vars[i], &garbage[i], err));
    j.var[i] = (ctx->svc->view ? ctx->svc->view(ctx, vars[i]->value, &view) : vars[i]->value)->data;
  }
  if (j.sparse) {
    step_rows(ctx, o, &j, vars[0]->value);
  } else if (grad->count) {
    fy_parallel(ctx, (grad->count + BLOCK - 1) / BLOCK, BLOCK * o->ns, step_blocks, &j);
  }
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

fy_code fy_optimizer_apply(fy_kernel_ctx *ctx, fy_error *err) {
  const fy_optimizer *o = ctx->site->op->impl->aux;
  fy_variable *vars[FY_STEP_VARS], *order[FY_STEP_VARS];
  fy_tensor *garbage[FY_STEP_VARS] = {NULL};
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

static const fy_optimizer *by_name(const char *name) {
  const fy_op *op = fy_op_find(name, strlen(name));
  return op && op->impl ? op->impl->aux : NULL;
}

fy_code fy_optimizer_shape(fy_shape_ctx *ctx, fy_error *err) {
  const fy_optimizer *o = by_name(ctx->spec->name);
  const bool sparse = is_sparse(ctx->spec);
  if (!o || ctx->num_inputs != o->inputs + sparse) return FY_OK;
  const bool refs = fy_dtype_is_ref(ctx->in_types[0]);
  // Beside a handle TensorFlow's inference looks at the gradient's handle, which it has not.
  const bool graded = refs || !strcmp(ctx->spec->name, "ResourceApplyGradientDescent") ||
                      !strcmp(ctx->spec->name, "ResourceApplyProximalAdagrad");
  const bool unchecked_last =
      strstr(ctx->spec->name, "FtrlV2") != NULL;  // lr_power, TensorFlow too
  fy_pshape all = refs ? ctx->in[0] : ctx->in_handle[0].shape;
  for (int i = 1; i < o->inputs; i++) {
    if (i == o->grad && !sparse && !graded) continue;
    if (sparse && i == o->grad) {  // its rows are those that the indices name
      fy_pshape rows;
      FY_TRY(fy_shape_rank_is(ctx->in[i + 1], 1, err));
      if (ctx->in[i].rank == 0 && graded) {
        return fy_fail(err, FY_INVALID_ARGUMENT,
                       "Argument grad must not be a scalar. Got grad with rank 0");
      }
      if (!fy_rank_known(all) || all.rank < 1 || !graded) continue;
      int64_t *dims = fy_shape_dims(ctx, all.rank);
      if (!dims) return fy_fail_oom(err, sizeof *dims);
      for (int32_t d = 0; d < all.rank; d++) dims[d] = all.dims[d];
      dims[0] = fy_rank_known(ctx->in[i + 1]) ? ctx->in[i + 1].dims[0] : -1;
      FY_TRY(fy_shape_merge(ctx, (fy_pshape){all.rank, dims}, ctx->in[i], &rows, err));
    } else if (i < o->vars || i == o->grad) {
      const fy_pshape s = i < o->vars && !refs ? ctx->in_handle[i].shape : ctx->in[i];
      FY_TRY(fy_shape_merge(ctx, all, s, &all, err));
    } else if (i + 1 < o->inputs || !unchecked_last) {
      FY_TRY(fy_shape_rank_is(ctx->in[i + (sparse && i > o->grad)], 0, err));
    }
  }
  return refs ? fy_shape_set(ctx, 0, all.rank, all.dims, err) : FY_OK;
}
