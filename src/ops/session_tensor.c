// SPDX-License-Identifier: Apache-2.0
// session_tensor.c: values kept by a session between runs: GetSessionHandle gives a name,
// GetSessionTensor the value of it, DeleteSessionTensor forgets it.

#include <stdatomic.h>
#include <stdio.h>
#include <string.h>

#include "base/alloc.h"
#include "ops/named.h"
#include "ops/shape_fns.h"

#define STORE "__session_tensors"

typedef struct kept {
  fy_object object;
  fy_tensor *value;
} kept;

static void destroy(fy_object *self) {
  fy_tensor_release(((kept *)self)->value);
  fy_free(self);
}

static const fy_object_type kept_type = {"tensorflow::SessionTensor", destroy};

static fy_code make(fy_view container, fy_view name, const void *arg, fy_object **out,
                    fy_error *err) {
  kept *k = fy_calloc(1, sizeof *k);
  (void)container, (void)name;
  if (!k) return fy_fail_oom(err, sizeof *k);
  atomic_init(&k->object.refs, 1);
  k->object.type = &kept_type;
  fy_code code = fy_named_keep((fy_tensor *)(uintptr_t)arg, &k->value, err);
  if (code)
    fy_free(k);
  else
    *out = &k->object;
  return code;
}

// How many handles this session has given out.
typedef struct counter {
  fy_object object;
  atomic_llong next;
} counter;

static void destroy_counter(fy_object *o) {
  fy_free(o);
}
static const fy_object_type counter_type = {"tensorflow::SessionState", destroy_counter};

static fy_code make_counter(fy_view container, fy_view name, const void *arg, fy_object **out,
                            fy_error *err) {
  counter *c = fy_calloc(1, sizeof *c);
  (void)container, (void)name, (void)arg;
  if (!c) return fy_fail_oom(err, sizeof *c);
  atomic_init(&c->object.refs, 1);
  c->object.type = &counter_type;
  *out = &c->object;
  return FY_OK;
}

static fy_code get_handle(fy_kernel_ctx *ctx, fy_error *err) {
  fy_resources *r = ctx->svc->resources ? ctx->svc->resources(ctx) : NULL;
  fy_tensor *out;
  fy_object *object;
  char name[256];
  FY_TRY(fy_out(ctx, 0, 0, NULL, &out, err));
  if (out->dtype == FY_RESOURCE) {
    FY_TRY(make(FY_VIEW(STORE), FY_VIEW(""), ctx->in[0], &object, err));
    fy_resource_put(out, object);
    return FY_OK;
  }
  if (!r) return fy_fail(err, FY_FAILED_PRECONDITION, "There is no session to keep the tensor");
  FY_TRY(fy_resources_get(r, &counter_type, FY_VIEW(STORE), FY_VIEW("next"), make_counter, NULL,
                          &object, err));
  const long long number = atomic_fetch_add(&((counter *)object)->next, 1);
  fy_object_release(object);
  snprintf(name, sizeof name, "%.100s;%lld;/job:localhost/replica:0/task:0/device:CPU:0",
           ctx->site->node_name ? ctx->site->node_name : "", number);
  FY_TRY(fy_resources_get(r, &kept_type, FY_VIEW(STORE), fy_view_of(name), make, ctx->in[0],
                          &object, err));
  fy_object_release(object);
  return fy_tensor_set_string(out, 0, name, strlen(name)) ? FY_OK : fy_fail_oom(err, strlen(name));
}

static fy_code fail_missing(fy_view name, fy_error *err) {
  return fy_fail(err, FY_INVALID_ARGUMENT,
                 "The tensor with handle '%.*s' is not in the session store.", (int)name.n, name.p);
}

static fy_code need_scalar(const fy_kernel_ctx *ctx, fy_error *err) {
  if (ctx->in[0]->rank == 0) return FY_OK;
  return fy_fail(err, FY_INVALID_ARGUMENT, "handle must be scalar");
}

static fy_code get_tensor(fy_kernel_ctx *ctx, fy_error *err) {
  fy_resources *r = ctx->svc->resources ? ctx->svc->resources(ctx) : NULL;
  FY_TRY(need_scalar(ctx, err));
  const fy_view name = fy_tensor_string(ctx->in[0], 0);
  fy_object *o = NULL;
  if (!r || fy_resources_get(r, &kept_type, FY_VIEW(STORE), name, NULL, NULL, &o, NULL))
    return fail_missing(name, err);
  fy_tensor *t = ((kept *)o)->value;
  fy_code code = FY_OK;
  if (t->dtype != ctx->site->out_types[0]) {
    code =
        fy_fail(err, FY_INTERNAL,
                "Output 0 of type %s does not match declared output type %s for node {{node %s}}",
                fy_dtype_name(t->dtype), fy_dtype_name(ctx->site->out_types[0]),
                ctx->site->node_name ? ctx->site->node_name : "GetSessionTensor");
  } else {
    fy_tensor_retain(t);
    fy_out_set(ctx, 0, t);
  }
  fy_object_release(o);
  return code;
}

static fy_code delete_tensor(fy_kernel_ctx *ctx, fy_error *err) {
  fy_resources *r = ctx->svc->resources ? ctx->svc->resources(ctx) : NULL;
  FY_TRY(need_scalar(ctx, err));
  const fy_view name = fy_tensor_string(ctx->in[0], 0);
  if (r && fy_resources_remove(r, &kept_type, FY_VIEW(STORE), name)) return FY_OK;
  return fy_fail(err, FY_INVALID_ARGUMENT,
                 "Failed to delete a tensor with handle '%.*s' in the session store.", (int)name.n,
                 name.p);
}

static fy_code handle_shape(fy_shape_ctx *ctx, fy_error *err) {
  FY_TRY(fy_shape_rank_is(ctx->in[0], 0, err));
  return FY_OK;
}

#define HOST .flags = FY_OP_HOST | FY_OP_NO_FOLD
FY_OP(GetSessionHandle, .shape = fy_shape_scalar, .compute = get_handle, HOST);
FY_OP(GetSessionHandleV2, .shape = fy_shape_scalar, .compute = get_handle, HOST);
FY_OP(GetSessionTensor, .shape = handle_shape, .compute = get_tensor,
      .flags = FY_OP_HOST | FY_OP_NO_FOLD | FY_OP_SETS_OUTPUT | FY_OP_DYNAMIC);
FY_OP(DeleteSessionTensor, .shape = handle_shape, .compute = delete_tensor, HOST);
