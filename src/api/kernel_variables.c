// SPDX-License-Identifier: Apache-2.0
// kernel_variables.c: variables and variants for kernels of third parties (kernels_experimental.h).
// A variable's value is shared with its readers: before a kernel may write to it, it becomes a copy
// of the variable's own (made by the plugin's copyFunc) unless nobody else holds it.
// Not here: reference variables of TensorFlow 1, which no kernel of a third party can have as input.

#include <stdlib.h>

#include "api/user_kernels.h"
#include "base/alloc.h"
#include "ops/resource.h"
#include "ops/tensor_list.h"
#include "tensorflow/c/kernels_experimental.h"

typedef void (*copy_fn)(TF_OpKernelContext *, TF_Tensor *source, TF_Tensor *dest);

static fy_code check_input(const TF_OpKernelContext *c, int i, fy_error *err) {
  if (i >= 0 && i < c->ctx->site->num_inputs) return FY_OK;
  return fy_fail(err, FY_OUT_OF_RANGE, "input index out of range");
}

static fy_code variable_at(const TF_OpKernelContext *c, int i, fy_variable **out, fy_error *err) {
  fy_object *o;
  *out = NULL;
  FY_TRY(check_input(c, i, err));
  FY_TRY(fy_resource_object(c->ctx->in[i], &fy_variable_type, &o, err));
  *out = (fy_variable *)o;
  return FY_OK;
}

// |from| in memory of its own. The plugin's function gets, and deletes, references of its own.
static fy_code duplicate(TF_OpKernelContext *c, fy_tensor *from, copy_fn copy, fy_tensor **out,
                         fy_error *err) {
  fy_tensor *source, *dest;
  *out = NULL;
  if (!copy) return fy_tensor_clone(from, out, err);
  fy_tensor *own;
  FY_TRY(c->ctx->svc->allocate(c->ctx, from->dtype, from->rank, from->dims, &own, err));
  fy_code code = fy_api_view(from, &source, err);
  if (!code) {
    code = fy_api_view(own, &dest, err);
    if (code) fy_tensor_release(source);
  }
  if (code) {
    fy_tensor_release(own);
    return code;
  }
  copy(c, fy_api_tf_tensor(source), fy_api_tf_tensor(dest));
  if (c->error.code) {
    fy_tensor_release(own);
    return fy_fail(err, c->error.code, "%s", fy_error_text(&c->error));
  }
  *out = own;
  return FY_OK;
}

// ---------------------------------------------------------------- assignment
static fy_code assign(TF_OpKernelContext *c, int variable, int value, bool validate, copy_fn copy,
                      fy_error *err) {
  fy_variable *v;
  FY_TRY(variable_at(c, variable, &v, err));
  FY_TRY(check_input(c, value, err));
  fy_tensor *in = c->ctx->in[value], *own;
  if (v->dtype != in->dtype)
    return fy_fail(err, FY_INVALID_ARGUMENT,
                   "Trying to assign variable with wrong dtype. Expected %s got %s",
                   fy_dtype_name(v->dtype), fy_dtype_name(in->dtype));
  fy_tensor *old = validate ? fy_variable_read(v) : NULL;
  if (old && !fy_shape_equal(old->rank, old->dims, in->rank, in->dims)) {
    char x[128], y[128];
    fy_fail(err, FY_INVALID_ARGUMENT,
            "Trying to assign to variable with tensor with wrong shape. Expected %s got %s",
            fy_shape_text(old->rank, old->dims, x), fy_shape_text(in->rank, in->dims, y));
    fy_tensor_release(old);
    return FY_INVALID_ARGUMENT;
  }
  fy_tensor_release(old);
  // Memory that is borrowed from a program must not leave the call.
  FY_TRY(in->buffer ? fy_tensor_alias(in, in->dtype, in->rank, in->dims, &own, err)
                    : duplicate(c, in, copy, &own, err));
  fy_variable_assign(v, own);
  if (c->ctx->svc->resources) fy_resources_touch(c->ctx->svc->resources(c->ctx), v->container);
  return FY_OK;
}

void TF_AssignVariable(TF_OpKernelContext *ctx, int input_index, int value_index,
                       bool validate_shape,
                       void (*copyFunc)(TF_OpKernelContext *ctx, TF_Tensor *source,
                                        TF_Tensor *dest),
                       TF_Status *status) {
  fy_error *err = fy_api_begin(status);
  fy_api_end(status, assign(ctx, input_index, value_index, validate_shape, copyFunc, err));
}

// The value as nobody else has it. Holds the variable's lock.
static fy_code make_writable(TF_OpKernelContext *c, fy_variable *v, copy_fn copy, fy_error *err) {
  fy_tensor *own;
  if (!v->value)
    return fy_fail(err, FY_FAILED_PRECONDITION,
                   "Could not find variable %s. This could mean that the variable has been "
                   "deleted. In TF1, it can also mean the variable is uninitialized. Debug info: "
                   "container=%s, status error message=Resource %s/%s/%s does not exist.",
                   v->name, v->container, v->container, v->name, fy_variable_type.name);
  fy_variable_forget(v);
  if (fy_tensor_is_exclusive(v->value)) return FY_OK;
  FY_TRY(duplicate(c, v->value, copy, &own, err));
  fy_tensor_release(v->value);
  v->value = own;
  return FY_OK;
}

typedef void (*update_fn)(TF_OpKernelContext *, TF_Tensor *tensor, TF_Tensor *value, int op);

static fy_code update_locked(TF_OpKernelContext *c, fy_variable *v, fy_tensor *in, int op,
                             copy_fn copy, update_fn update, fy_error *err) {
  FY_TRY(make_writable(c, v, copy, err));
  if (v->value->dtype != in->dtype)
    return fy_fail(err, FY_INVALID_ARGUMENT, "DType of variable handle and value does not match.");
  if (!fy_shape_equal(v->value->rank, v->value->dims, in->rank, in->dims)) {
    char x[128], y[128];
    return fy_fail(err, FY_INVALID_ARGUMENT,
                   "Cannot update variable with shape %s using a Tensor with shape %s, shapes must "
                   "be equal.",
                   fy_shape_text(v->value->rank, v->value->dims, x),
                   fy_shape_text(in->rank, in->dims, y));
  }
  fy_tensor *target, *value;
  FY_TRY(fy_api_view(v->value, &target, err));
  fy_code code = fy_api_view(in, &value, err);
  if (code) {
    fy_tensor_release(target);
    return code;
  }
  update(c, fy_api_tf_tensor(target), fy_api_tf_tensor(value), op);
  return FY_OK;
}

void TF_AssignUpdateVariable(
    TF_OpKernelContext *ctx, int input_index, int value_index, int Op, int isVariantType,
    void (*copyFunc)(TF_OpKernelContext *ctx, TF_Tensor *source, TF_Tensor *dest),
    void (*updateFunc)(TF_OpKernelContext *ctx, TF_Tensor *tensor, TF_Tensor *value, int Op),
    TF_Status *status) {
  (void)isVariantType;  // a variable of variants is copied and updated like any other
  fy_error *err = fy_api_begin(status);
  fy_variable *v;
  fy_code code = variable_at(ctx, input_index, &v, err);
  if (!code) code = check_input(ctx, value_index, err);
  if (!code) {
    fy_lock(&v->lock);
    code = update_locked(ctx, v, ctx->ctx->in[value_index], Op, copyFunc, updateFunc, err);
    fy_unlock(&v->lock);
  }
  fy_api_end(status, code);
}

// ---------------------------------------------------------------- locks
struct TF_VariableInputLockHolder {
  size_t n;
  fy_variable *variables[];  // locked, one reference each, by address
};

static int by_address(const void *a, const void *b) {
  uintptr_t x = (uintptr_t) * (fy_variable *const *)a, y = (uintptr_t) * (fy_variable *const *)b;
  return x < y ? -1 : x > y;
}

void TF_MaybeLockVariableInputMutexesInOrder(
    TF_OpKernelContext *ctx, bool do_lock, bool sparse, const int *const inputs, size_t len,
    void (*copyFunc)(TF_OpKernelContext *ctx, TF_Tensor *source, TF_Tensor *dest),
    TF_VariableInputLockHolder **lockHolder, TF_Status *status) {
  (void)sparse;  // writers make their copy in TF_GetInputTensorFromVariable
  (void)copyFunc;
  fy_error *err = fy_api_begin(status);
  *lockHolder = NULL;
  if (len > (SIZE_MAX - sizeof **lockHolder) / sizeof(fy_variable *)) {
    fy_api_end(status, fy_fail_oom(err, len));
    return;
  }
  TF_VariableInputLockHolder *h = fy_malloc(sizeof *h + len * sizeof h->variables[0]);
  fy_code code = h ? FY_OK : fy_fail_oom(err, len * sizeof h->variables[0]);
  if (h) h->n = 0;
  for (size_t i = 0; !code && do_lock && i < len; i++) {
    code = variable_at(ctx, inputs[i], &h->variables[h->n], err);
    if (!code) h->n++;
  }
  if (code) {
    fy_free(h);
    fy_api_end(status, code);
    return;
  }
  if (h->n > 1) qsort(h->variables, h->n, sizeof h->variables[0], by_address);
  size_t kept = 0;
  for (size_t i = 0; i < h->n; i++) {  // one variable given twice is locked once
    if (kept && h->variables[kept - 1] == h->variables[i]) continue;
    h->variables[kept++] = h->variables[i];
  }
  h->n = kept;
  for (size_t i = 0; i < h->n; i++) {
    fy_object_retain(&h->variables[i]->object);
    fy_lock(&h->variables[i]->lock);
  }
  *lockHolder = h;
}

void TF_ReleaseVariableInputLockHolder(TF_VariableInputLockHolder *lockHolder) {
  if (!lockHolder) return;
  for (size_t i = lockHolder->n; i-- > 0;) {
    fy_unlock(&lockHolder->variables[i]->lock);
    fy_object_release(&lockHolder->variables[i]->object);
  }
  fy_free(lockHolder);
}

void TF_GetInputTensorFromVariable(TF_OpKernelContext *ctx, int input, bool lock_held,
                                   bool isVariantType, bool sparse,
                                   void (*copyFunc)(TF_OpKernelContext *ctx, TF_Tensor *source,
                                                    TF_Tensor *dest),
                                   TF_Tensor **out, TF_Status *status) {
  (void)isVariantType;
  (void)sparse;
  fy_error *err = fy_api_begin(status);
  fy_variable *v;
  fy_tensor *t = NULL;
  *out = NULL;
  fy_code code = variable_at(ctx, input, &v, err);
  if (!code) {
    if (!lock_held) fy_lock(&v->lock);
    code = make_writable(ctx, v, copyFunc, err);
    if (!code) code = fy_api_view(v->value, &t, err);
    if (!lock_held) fy_unlock(&v->lock);
  }
  fy_api_end(status, code);
  *out = fy_api_tf_tensor(t);
}

// ---------------------------------------------------------------- variants
// The list in a scalar variant: the only variant whose inside Ferry knows.
static fy_code list_of(const fy_tensor *t, fy_tensor_list **out, fy_error *err) {
  *out = NULL;
  fy_object *o = t->dtype == FY_VARIANT && t->count == 1 ? *(fy_object *const *)t->data : NULL;
  if (!o || o->type != &fy_tensor_list_type)
    return fy_fail(err, FY_INVALID_ARGUMENT, "expected a scalar variant that holds a TensorList");
  *out = (fy_tensor_list *)o;
  return FY_OK;
}

static fy_code publish_list(TF_OpKernelContext *c, fy_tensor_list *list, fy_error *err) {
  fy_tensor *out;
  fy_code code = fy_out(c->ctx, 0, 0, NULL, &out, err);
  if (code)
    fy_object_release(&list->object);
  else
    fy_resource_put(out, &list->object);
  return code;
}

// An element made by the plugin's function from |a| and, for a sum, |b|.
typedef struct element_fns {
  void (*add)(TF_OpKernelContext *, TF_Tensor *a, TF_Tensor *b, TF_Tensor *out);
  void (*zeros)(TF_OpKernelContext *, TF_Tensor *in, TF_Tensor *out);
} element_fns;

static fy_code make_element(TF_OpKernelContext *c, const element_fns *f, fy_tensor *a, fy_tensor *b,
                            fy_tensor **out, fy_error *err) {
  fy_tensor *x = NULL, *y = NULL, *to = NULL, *own;
  *out = NULL;
  FY_TRY(c->ctx->svc->allocate(c->ctx, a->dtype, a->rank, a->dims, &own, err));
  fy_code code = fy_api_view(a, &x, err);
  if (!code && b) code = fy_api_view(b, &y, err);
  if (!code) code = fy_api_view(own, &to, err);
  if (code) {
    fy_tensor_release(x);
    fy_tensor_release(y);
    fy_tensor_release(own);
    return code;
  }
  if (b)
    f->add(c, fy_api_tf_tensor(x), fy_api_tf_tensor(y), fy_api_tf_tensor(to));
  else
    f->zeros(c, fy_api_tf_tensor(x), fy_api_tf_tensor(to));
  *out = own;
  return FY_OK;
}

// One element of the sum of two lists; an unset element counts as nothing.
static fy_code add_element(TF_OpKernelContext *c, const element_fns *f, fy_tensor *a, fy_tensor *b,
                           fy_tensor **out, fy_error *err) {
  char x[128], y[128];
  *out = a ? a : b;
  if (!a || !b) {
    if (*out) fy_tensor_retain(*out);
    return FY_OK;
  }
  *out = NULL;
  if (a->dtype != b->dtype || !fy_shape_equal(a->rank, a->dims, b->rank, b->dims))
    return fy_fail(err, FY_INVALID_ARGUMENT,
                   "Trying to add two tensors with incompatible element shapes. One is %s and the "
                   "other is %s",
                   fy_shape_text(a->rank, a->dims, x), fy_shape_text(b->rank, b->dims, y));
  return make_element(c, f, a, b, out, err);
}

static fy_code add_lists(TF_OpKernelContext *c, const element_fns *f, fy_tensor_list *a,
                         fy_tensor_list *b, fy_tensor_list **out, fy_error *err) {
  *out = NULL;
  FY_TRY(fy_tensor_list_check_sum(a, b, err));
  fy_tensor_list *sum;
  FY_TRY(fy_tensor_list_new(a->dtype, a->rank, a->dims, a->n, &sum, err));
  fy_code code = FY_OK;
  for (int64_t i = 0; !code && i < a->n; i++)
    code = add_element(c, f, a->items[i], b->items[i], &sum->items[i], err);
  if (code)
    fy_object_release(&sum->object);
  else
    *out = sum;
  return code;
}

static fy_code add_n(TF_OpKernelContext *c, const element_fns *f, fy_error *err) {
  fy_tensor_list *sum, *next, *more;
  FY_TRY(check_input(c, 0, err));
  FY_TRY(list_of(c->ctx->in[0], &sum, err));
  fy_object_retain(&sum->object);
  fy_code code = FY_OK;
  for (int i = 1; !code && i < c->ctx->site->num_inputs; i++) {
    code = list_of(c->ctx->in[i], &next, err);
    if (!code) code = add_lists(c, f, sum, next, &more, err);
    if (code) break;
    fy_object_release(&sum->object);
    sum = more;
  }
  if (!code) return publish_list(c, sum, err);
  fy_object_release(&sum->object);
  return code;
}

void TF_AddNVariant(TF_OpKernelContext *ctx,
                    void (*binary_add_func)(TF_OpKernelContext *ctx, TF_Tensor *a, TF_Tensor *b,
                                            TF_Tensor *out),
                    TF_Status *status) {
  fy_error *err = fy_api_begin(status);
  fy_api_end(status, add_n(ctx, &(element_fns){.add = binary_add_func}, err));
}

static fy_code zeros_like(TF_OpKernelContext *c, const element_fns *f, fy_error *err) {
  fy_tensor_list *from, *zeros;
  FY_TRY(check_input(c, 0, err));
  FY_TRY(list_of(c->ctx->in[0], &from, err));
  FY_TRY(fy_tensor_list_new(from->dtype, from->rank, from->dims, from->n, &zeros, err));
  fy_code code = FY_OK;
  for (int64_t i = 0; !code && i < from->n; i++)
    if (from->items[i]) code = make_element(c, f, from->items[i], NULL, &zeros->items[i], err);
  if (!code) return publish_list(c, zeros, err);
  fy_object_release(&zeros->object);
  return code;
}

void TF_ZerosLikeVariant(TF_OpKernelContext *ctx,
                         void (*zeros_like_func)(TF_OpKernelContext *ctx, TF_Tensor *input,
                                                 TF_Tensor *out),
                         TF_Status *status) {
  fy_error *err = fy_api_begin(status);
  fy_api_end(status, zeros_like(ctx, &(element_fns){.zeros = zeros_like_func}, err));
}
