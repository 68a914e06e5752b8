// SPDX-License-Identifier: Apache-2.0
// opencl_update.c: variables that are changed where they are: AssignAdd, AssignSub and training steps, dense
// and sparse, as kernels written at run time from one formula each (ops/optimizer_steps.inc has the
// same ones for the host).
//
// As on the host, a value that somebody else holds is never written: the kernel then reads the old
// one and writes a new one. A value is replaced only after its kernel was enqueued, so that a
// failure leaves every variable as it was.

#include "devices/opencl/opencl_impl.h"

#ifdef FY_OPENCL

#include <stdio.h>
#include <string.h>

#include "devices/opencl/opencl.h"
#include "memory/pool.h"
#include "ops/optimizers.h"
#include "ops/variable.h"

// w the weight, a, b, c its slots, g the gradient, s0… the scalars in input order, flag the
// attribute that the op has for its variant, rows whether the step is a sparse one.
typedef struct step {
  const char *op;
  int vars, scalars;
  const char *text;
} step;

#define RATE "T rate = s2 * sqrt(R(1) - s1) / (R(1) - s0); "
#define MOMENTS                     \
  "a = a + (g - a) * (R(1) - s3); " \
  "b = b + (g * g - b) * (R(1) - s4); "
#define MEAN(m, x) \
  m " = rows ? " m " * s1 + " x " * (R(1) - s1) : " m " + (" x " - " m ") * (R(1) - s1); "
#define SCALED(under) "(rows ? R(1) / sqrt(" under ") * s0 * g : g * s0 / sqrt(" under "))"
static const step table[] = {
    {"AssignAddVariableOp", 1, 0, "w = w + g;"},
    {"AssignSubVariableOp", 1, 0, "w = w - g;"},
    {"ResourceApplyAdaMax", 3, 5,
     "a = a + (g - a) * (R(1) - s2); T kept = s3 * b, size = fabs(g); b = size > kept ? size : "
     "kept; w = w - s1 / (R(1) - s0) * (a / (b + s4));"},
    {"ResourceApplyAdadelta", 3, 3,
     "a = a * s1 + g * g * (R(1) - s1); T update = sqrt(b + s2) * (R(1) / sqrt(a + s2)) * g; "
     "w = w - update * s0; b = b * s1 + update * update * (R(1) - s1);"},
    {"ResourceApplyAdagrad", 2, 1, "if (flag) a = a + g * g; w = w - g * s0 * (R(1) / sqrt(a));"},
    {"ResourceApplyAdagradV2", 2, 2, "if (flag) a = a + g * g; w = w - g * s0 / (sqrt(a) + s1);"},
    {"ResourceApplyAdam", 3, 6,
     RATE MOMENTS "T mean = flag ? g * (R(1) - s3) + s3 * a : a; "
                  "w = w - mean * rate / (sqrt(b) + s5);"},
    {"ResourceApplyAdamWithAmsgrad", 4, 6,
     RATE MOMENTS "c = c > b ? c : b; w = w - a * rate / (sqrt(c) + s5);"},
    {"ResourceApplyCenteredRMSProp", 4, 4,
     MEAN("b", "g * g") MEAN("a", "g") "T under = rows ? b + s3 - a * a : b - a * a + s3; "
                                       "c = c * s2 + " SCALED("under") "; w = w - c;"},
    {"ResourceApplyGradientDescent", 1, 1, "w = w - g * s0;"},
    {"ResourceApplyKerasMomentum", 2, 2,
     "a = a * s1 - g * s0; w = w + (flag ? a * s1 - g * s0 : a);"},
    {"ResourceApplyMomentum", 2, 2,
     "a = a * s1 + g; w = w - (flag ? g * s0 + a * s1 * s0 : a * s0);"},
    {"ResourceApplyRMSProp", 3, 4,
     MEAN("a", "g * g") "b = b * s2 + " SCALED("(a + s3)") "; w = w - b;"},
};

// A sparse step is the dense one, for the rows that it names.
static const step *find(const char *op) {
  char dense[64];
  if (!strncmp(op, "ResourceSparse", 14)) {
    snprintf(dense, sizeof dense, "Resource%s", op + 14);
    op = dense;
  }
  for (size_t i = 0; i < sizeof table / sizeof *table; i++)
    if (!strcmp(table[i].op, op)) return &table[i];
  return NULL;
}

static void generate(fy_str *s, const step *p, bool sparse) {
  static const char names[] = "wabc";
  fy_str_printf(s, "#define R(x) ((T)x)\nKERNEL void %s(", sparse ? "update_rows" : "update");
  for (int i = 0; i < p->vars; i++)
    fy_str_printf(s, "GLOBAL const S *p%d, long q%d, GLOBAL S *y%d, long z%d, ", i, i, i, i);
  fy_str_add(s, "GLOBAL const S *grad, long go, ");
  for (int i = 0; i < p->scalars; i++) fy_str_printf(s, "GLOBAL const S *t%d, long u%d, ", i, i);
  if (sparse)
    fy_str_add(s,
               "GLOBAL const int *order, long oo, GLOBAL const int *start, long so, "
               "GLOBAL const long *place, long po, long inner, ");
  fy_str_add(s, "long n, int flag) {\n  long i = GID(0);\n  if (i >= n) return;\n");
  if (sparse)
    fy_str_add(s,
               "  long l = i / inner, col = i % inner;\n"
               "  i = place[po + l] * inner + col;\n");
  fy_str_printf(s, "  const int rows = %d;\n", sparse);
  for (int i = 0; i < p->scalars; i++) fy_str_printf(s, "  T s%d = LD(t%d, u%d);\n", i, i, i);
  for (int i = 0; i < p->vars; i++)
    fy_str_printf(s, "  T %c = LD(p%d, q%d + i);\n", names[i], i, i);
  if (sparse)
    fy_str_printf(s,
                  "  for (long k = start[so + l]; k < start[so + l + 1]; k++) {\n"
                  "    T g = LD(grad, go + order[oo + k] * inner + col);\n    %s\n  }\n",
                  p->text);
  else
    fy_str_printf(s, "  T g = LD(grad, go + i);\n  %s\n", p->text);
  for (int i = 0; i < p->vars; i++) fy_str_printf(s, "  ST(y%d, z%d + i, %c);\n", i, i, names[i]);
  fy_str_add(s, "}\n");
}

bool fy_opencl_update_source(int i, fy_str *out) {
  const int n = (int)(sizeof table / sizeof *table);
  if (i < 0 || i >= 2 * n) return false;
  generate(out, &table[i % n], i >= n);
  return true;
}

typedef struct update {
  const step *step;
  fy_variable *vars[FY_STEP_VARS], *order[FY_STEP_VARS];
  int num_locked;
  fy_tensor *garbage[FY_STEP_VARS], *fresh[FY_STEP_VARS];
  const fy_tensor *grad, *scalars[FY_STEP_INPUTS];
  fy_tensor *indices;  // of a sparse step; NULL: all rows
  fy_ocl_lists lists;
  bool flag;
} update;

static bool read_inputs(fy_ocl_call *c, bool sparse, update *u) {
  const fy_site *site = c->ctx.site;
  const fy_optimizer *o = site->num_outputs == 0 && u->step->scalars ? site->op->impl->aux : NULL;
  int scalars = 0;
  for (int i = 0; i < u->step->vars; i++) {
    fy_object *object = NULL;
    if (fy_resource_object(c->ctx.in[i], &fy_variable_type, &object, NULL)) return false;
    u->vars[i] = (fy_variable *)object;
    int at = u->num_locked;
    while (at > 0 && (uintptr_t)u->order[at - 1] > (uintptr_t)u->vars[i]) at--;
    if (at > 0 && u->order[at - 1] == u->vars[i]) return false;  // the same one twice
    for (int k = u->num_locked; k > at; k--) u->order[k] = u->order[k - 1];
    u->order[at] = u->vars[i];
    u->num_locked++;
  }
  u->grad = c->ctx.in[o ? o->grad : 1];
  u->flag = o && o->flag && fy_site_bool(site, o->flag);
  if (sparse && !o) return false;
  u->indices = sparse ? c->ctx.in[o->grad + 1] : NULL;
  for (int i = u->step->vars; o && i < o->inputs; i++) {
    if (i == o->grad) continue;
    const fy_tensor *t = c->ctx.in[sparse && i > o->grad ? i + 1 : i];
    if (t->rank != 0 || t->dtype != u->grad->dtype) return false;
    u->scalars[scalars++] = t;
  }
  return scalars == u->step->scalars && (fy_ocl_here(c, u->grad) || u->grad->count == 0);
}

// Whether |t| has the gradient's shape; of a sparse step, its rows have.
static bool fits(const update *u, const fy_tensor *t) {
  const fy_tensor *g = u->grad, *first = u->vars[0]->value;
  if (!t || t->dtype != g->dtype || !fy_shape_equal(t->rank, t->dims, first->rank, first->dims))
    return false;
  if (!u->indices) return fy_shape_equal(t->rank, t->dims, g->rank, g->dims);
  return t->rank > 0 && g->rank == t->rank && u->indices->rank == 1 &&
         g->dims[0] == u->indices->count && u->indices->count < INT32_MAX - 1 &&
         fy_shape_equal(t->rank - 1, t->dims + 1, t->rank - 1, g->dims + 1);
}

// The values as the kernel reads and writes them. A sparse step writes some rows only, so that a value
// that somebody else holds is copied first.
static fy_code add_variables(fy_ocl_call *c, update *u, fy_ocl_args *a, fy_error *err) {
  for (int i = 0; i < u->step->vars; i++) {
    fy_variable *v = u->vars[i];
    if (u->indices) {
      FY_TRY(fy_ocl_own_variable(c, v, &u->garbage[i], err));
    } else {
      FY_TRY(fy_variable_settle(&c->ctx, v, &u->garbage[i], err));
      fy_variable_forget(v);
      if (!fy_ocl_here(c, v->value)) return FY_OCL_DETOUR;
      if (!fy_tensor_is_exclusive(v->value))
        FY_TRY(fy_memory_tensor(c->ocl->device, v->value->dtype, v->value->rank, v->value->dims,
                                c->ctx.site->node_name, &u->fresh[i], err));
    }
    fy_ocl_add_in(a, v->value);
    fy_ocl_add_out(a, u->fresh[i] ? u->fresh[i] : v->value);
  }
  return FY_OK;
}

static fy_code run_locked(fy_ocl_call *c, update *u, fy_error *err) {
  fy_tensor storage[FY_STEP_INPUTS], *x;
  fy_ocl_args a;
  int64_t n = u->grad->count;
  for (int i = 0; i < u->step->vars; i++)
    if (!u->vars[0]->value || !fits(u, u->vars[i]->value)) return FY_OCL_DETOUR;  // words the error
  if (n == 0) return u->indices ? FY_OCL_DETOUR : FY_OK;
  if (u->indices)
    FY_TRY(fy_ocl_list_places(c, u->indices, 1, u->vars[0]->value->dims, &u->lists, err));
  fy_ocl_args_init(&a, c);
  FY_TRY(add_variables(c, u, &a, err));
  fy_ocl_add_in(&a, u->grad);
  for (int i = 0; i < u->step->scalars; i++) {
    FY_TRY(fy_ocl_bring(c, u->scalars[i], &x, &storage[i], err));
    fy_ocl_add_in(&a, x);
  }
  if (u->indices) {
    const int64_t inner = n / u->indices->count;
    FY_TRY(fy_ocl_add_lists(c, &a, &u->lists, err));
    fy_ocl_add_long(&a, inner);
    n = u->lists.n * inner;
  }
  fy_ocl_add_long(&a, n);
  fy_ocl_add_int(&a, u->flag);
  fy_str s;
  fy_str_init(&s);
  generate(&s, u->step, u->indices != NULL);
  fy_code code = fy_ocl_run(&a, fy_str_text(&s), fy_ocl_options(u->grad->dtype),
                            u->indices ? "update_rows" : "update", n, false, err);
  fy_str_free(&s);
  for (int i = 0; i < u->step->vars && !code; i++) {
    if (!u->fresh[i]) continue;
    fy_tensor *old = u->vars[i]->value;
    u->vars[i]->value = u->fresh[i];
    u->fresh[i] = old;  // released without the lock
  }
  return code;
}

fy_code fy_ocl_update(fy_ocl_call *c, int sparse, fy_error *err) {
  update u = {.step = find(c->ctx.site->op->spec->name)};
  if (!u.step || !read_inputs(c, sparse, &u)) return FY_OCL_DETOUR;
  for (int i = 0; i < u.num_locked; i++) fy_lock(&u.order[i]->lock);
  fy_code code = run_locked(c, &u, err);
  for (int i = u.num_locked - 1; i >= 0; i--) fy_unlock(&u.order[i]->lock);
  for (int i = 0; i < u.step->vars; i++) {
    fy_tensor_release(u.garbage[i]);
    fy_tensor_release(u.fresh[i]);
  }
  fy_ocl_lists_drop(&u.lists);
  return code;
}

#else
typedef int fy_opencl_update_is_empty;
#endif
