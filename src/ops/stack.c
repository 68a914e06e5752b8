// SPDX-License-Identifier: Apache-2.0
// stack.c: stacks of tensors, as the gradients of TensorFlow 1's while loops use them. A stack lives as
// long as a handle of it; memory is not swapped, whatever swap_memory says.

#include "base/alloc.h"
#include "ops/resource.h"
#include "ops/shape_fns.h"

typedef struct stack {
  fy_object object;
  fy_mutex lock;
  fy_dtype type;
  fy_tensor **items;
  size_t n, cap;
  int64_t max;  // -1: any number
  bool closed;
  char *name;
} stack;

static void drop_items(stack *s) {
  for (size_t i = 0; i < s->n; i++) fy_tensor_release(s->items[i]);
  s->n = 0;
}

static void destroy(fy_object *self) {
  stack *s = (stack *)self;
  drop_items(s);
  fy_free(s->items);
  fy_free(s->name);
  fy_mutex_destroy(&s->lock);
  fy_free(s);
}

static const fy_object_type stack_type = {"N10tensorflow5StackE", destroy};

static fy_code new_stack(fy_kernel_ctx *ctx, fy_error *err) {
  fy_tensor *out;
  const fy_view name = fy_site_string(ctx->site, "stack_name");
  FY_TRY(fy_out(ctx, 0, 0, NULL, &out, err));
  if (ctx->site->num_inputs && ctx->in[0]->rank != 0) {
    char x[128];
    return fy_fail(err, FY_INVALID_ARGUMENT, "Stack size must be a scalar, but had shape: %s",
                   fy_shape_text(ctx->in[0]->rank, ctx->in[0]->dims, x));
  }
  stack *s = fy_calloc(1, sizeof *s);
  if (!s) return fy_fail_oom(err, sizeof *s);
  atomic_init(&s->object.refs, 1);
  s->object.type = &stack_type;
  fy_mutex_init(&s->lock);
  s->type = fy_site_type(ctx->site, "elem_type");
  s->max = -1;
  if (ctx->site->num_inputs && fy_tensor_int(ctx->in[0], 0) >= 0)
    s->max = fy_tensor_int(ctx->in[0], 0);
  s->name = fy_strndup(name.n ? name.p : "", name.n);
  fy_resource_put(out, &s->object);
  return s->name ? FY_OK : fy_fail_oom(err, name.n);
}

static fy_code open_stack(fy_kernel_ctx *ctx, stack **out, fy_error *err) {
  fy_object *o;
  FY_TRY(fy_resource_object(ctx->in[0], &stack_type, &o, err));
  *out = (stack *)o;
  return FY_OK;
}

static fy_code push(fy_kernel_ctx *ctx, fy_error *err) {
  stack *s;
  fy_tensor *t = ctx->in[1], *kept = NULL;
  FY_TRY(open_stack(ctx, &s, err));
  if (t->dtype != s->type)
    return fy_fail(err, FY_INVALID_ARGUMENT, "Must have type %d but got %d", (int)s->type,
                   (int)t->dtype);
  FY_TRY(t->buffer ? fy_tensor_alias(t, t->dtype, t->rank, t->dims, &kept, err)
                   : fy_tensor_clone(t, &kept, err));
  fy_code code = FY_OK;
  fy_lock(&s->lock);
  if (s->closed)
    code = fy_fail(err, FY_INVALID_ARGUMENT, "Stack[%s] has already been closed.", s->name);
  else if (s->max >= 0 && (int64_t)s->n >= s->max)
    code = fy_fail(err, FY_INVALID_ARGUMENT, "Stack[%s] overflowed its max_size (%lld)", s->name,
                   (long long)s->max);
  else if (!fy_grow(&s->items, &s->cap, s->n + 1, sizeof *s->items))
    code = fy_fail_oom(err, sizeof *s->items);
  else
    s->items[s->n++] = kept;
  fy_unlock(&s->lock);
  if (code) {
    fy_tensor_release(kept);
    return code;
  }
  fy_tensor_retain(kept);
  fy_out_set(ctx, 0, kept);
  return FY_OK;
}

static fy_code pop(fy_kernel_ctx *ctx, fy_error *err) {
  stack *s;
  fy_tensor *t = NULL;
  FY_TRY(open_stack(ctx, &s, err));
  fy_code code = FY_OK;
  fy_lock(&s->lock);
  if (s->closed)
    code = fy_fail(err, FY_INVALID_ARGUMENT, "Stack[%s] has already been closed.", s->name);
  else if (!s->n)
    code = fy_fail(err, FY_INVALID_ARGUMENT, "Stack[%s] is empty when calling Pop().", s->name);
  else
    t = s->items[--s->n];
  fy_unlock(&s->lock);
  if (t) fy_out_set(ctx, 0, t);
  return code;
}

static fy_code close_stack(fy_kernel_ctx *ctx, fy_error *err) {
  stack *s;
  FY_TRY(open_stack(ctx, &s, err));
  fy_lock(&s->lock);
  drop_items(s);
  s->closed = true;
  fy_unlock(&s->lock);
  return FY_OK;
}

// Said of the resource as well, whose handle is a scalar: see tensor_array.c.
static fy_code push_shape(fy_shape_ctx *ctx, fy_error *err) {
  return fy_shape_set(ctx, 0, ctx->in[1].rank, ctx->in[1].dims, err);
}

static fy_code close_shape(fy_shape_ctx *ctx, fy_error *err) {  // a resource counts as two strings
  FY_TRY(fy_shape_rank_is(ctx->in[0], 1, err));
  return fy_dim_is(fy_dim_of(ctx->in[0], 0), 2, err);
}

#define HOST   .flags = FY_OP_HOST | FY_OP_NO_FOLD
#define PASSES .flags = FY_OP_HOST | FY_OP_NO_FOLD | FY_OP_DYNAMIC | FY_OP_SETS_OUTPUT
FY_OP(Stack, .shape = fy_shape_ref, .compute = new_stack, HOST);
FY_OP(StackPush, .shape = push_shape, .compute = push, PASSES);
FY_OP(StackPop, .shape = fy_shape_none, .compute = pop, PASSES);
FY_OP(StackClose, .shape = close_shape, .compute = close_stack, HOST);
FY_OP(StackV2, .shape = fy_shape_ref, .compute = new_stack, HOST);
FY_OP(StackPushV2, .shape = push_shape, .compute = push, PASSES);
FY_OP(StackPopV2, .shape = fy_shape_none, .compute = pop, PASSES);
FY_OP(StackCloseV2, .shape = close_shape, .compute = close_stack, HOST);
