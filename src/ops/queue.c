// SPDX-License-Identifier: Apache-2.0
// queue.c: first-in first-out queues of TF1 graphs. An element is a list of tensors, one per component.
// A full or empty queue blocks its caller, who is woken by the other side, by closing, or by
// cancellation (looked at every few milliseconds: whoever cancels need not know of queues).

#include <stdio.h>
#include <string.h>

#include "base/alloc.h"
#include "ops/queue.h"
#include "ops/resource.h"
#include "ops/shape_fns.h"

#define POLL_NS 2000000

typedef struct queue {
  fy_object object;
  fy_mutex lock;
  fy_cond changed;
  fy_tensor **items;  // ring of |cap| elements of |width| tensors each
  size_t cap, head, n, width;
  int64_t limit;  // most elements it may hold
  bool closed, cancel_enqueues;
  fy_dtype *types;
  char name[128];
} queue;

static void destroy(fy_object *o) {
  queue *q = (queue *)o;
  for (size_t i = 0; i < q->n * q->width; i++)
    fy_tensor_release(q->items[(q->head * q->width + i) % (q->cap * q->width)]);
  fy_free(q->items);
  fy_free(q->types);
  fy_cond_destroy(&q->changed);
  fy_mutex_destroy(&q->lock);
  fy_free(q);
}

static const fy_object_type queue_type = {"N10tensorflow14QueueInterfaceE", destroy};

static fy_code make_queue(fy_view container, fy_view name, const void *arg, fy_object **out,
                          fy_error *err) {
  (void)container;
  const fy_site *site = arg;
  const fy_attr *types = fy_site_attr(site, "component_types");
  int64_t capacity = fy_site_int(site, "capacity");
  queue *q = fy_calloc(1, sizeof *q);
  if (!q || !types) {
    fy_free(q);
    return fy_fail_oom(err, sizeof *q);
  }
  atomic_init(&q->object.refs, 1);
  q->object.type = &queue_type;
  fy_mutex_init(&q->lock);
  fy_cond_init(&q->changed);
  q->width = types->n;
  q->limit = capacity < 0 ? INT64_MAX : capacity;
  q->types = fy_calloc(q->width + 1, sizeof *q->types);
  if (!q->types) {
    destroy(&q->object);
    return fy_fail_oom(err, q->width);
  }
  memcpy(q->types, types->v.types, q->width * sizeof *q->types);
  snprintf(q->name, sizeof q->name, "%.*s", (int)name.n, name.p);
  *out = &q->object;
  return FY_OK;
}

static fy_code fifo_queue(fy_kernel_ctx *ctx, fy_error *err) {
  const fy_site *site = ctx->site;
  fy_view shared = fy_site_string(site, "shared_name");
  fy_resources *r = ctx->svc->resources ? ctx->svc->resources(ctx) : NULL;
  char own[128];
  fy_view name = shared;
  if (!shared.n) {  // a name of its node's own, as TensorFlow makes it
    snprintf(own, sizeof own, "_0_%s", site->node_name ? site->node_name : site->op->spec->name);
    name = fy_view_of(own);
  }
  fy_tensor *out;
  fy_object *object;
  FY_TRY(fy_out(ctx, 0, 0, NULL, &out, err));
  bool named = shared.n || site->in_shapes;  // eagerly, an unnamed queue is nobody else's
  if (r && named)
    FY_TRY(fy_resources_get(r, &queue_type, fy_site_string(site, "container"), name, make_queue,
                            site, &object, err));
  else
    FY_TRY(make_queue(FY_VIEW(""), name, site, &object, err));
  fy_resource_put(out, object);
  return FY_OK;
}

static fy_code queue_of(fy_kernel_ctx *ctx, queue **out, fy_error *err) {
  fy_object *o;
  FY_TRY(fy_resource_object(ctx->in[0], &queue_type, &o, err));
  *out = (queue *)o;
  return FY_OK;
}

// Waits for a change; CANCELLED when the run is to stop.
static fy_code wait_change(fy_kernel_ctx *ctx, queue *q, const char *what, fy_error *err) {
  if (ctx->svc->cancelled && ctx->svc->cancelled(ctx))
    return fy_fail(err, FY_CANCELLED, "%s operation was cancelled", what);
  fy_cond_wait_until(&q->changed, &q->lock, fy_now_ns() + POLL_NS);
  return FY_OK;
}

static fy_code check_components(const queue *q, fy_kernel_ctx *ctx, int first, fy_error *err) {
  if ((size_t)(ctx->site->num_inputs - first) != q->width)
    return fy_fail(err, FY_INVALID_ARGUMENT,
                   "Wrong number of components in tuple. Expected %zu, got %d", q->width,
                   ctx->site->num_inputs - first);
  for (size_t i = 0; i < q->width; i++)
    if (ctx->in[first + (int)i]->dtype != q->types[i])
      return fy_fail(err, FY_INVALID_ARGUMENT,
                     "Type mismatch in tuple component %zu. Expected %s, got %s", i,
                     fy_dtype_name(q->types[i]), fy_dtype_name(ctx->in[first + (int)i]->dtype));
  return FY_OK;
}

static bool make_room(queue *q) {
  if (q->n < q->cap) return true;
  size_t cap = q->cap ? q->cap * 2 : 8;
  fy_tensor **grown = fy_calloc(cap * q->width + 1, sizeof *grown);
  if (!grown) return false;
  for (size_t i = 0; i < q->n * q->width; i++)
    grown[i] = q->items[(q->head * q->width + i) % (q->cap * q->width)];
  fy_free(q->items);
  q->items = grown;
  q->cap = cap;
  q->head = 0;
  return true;
}

// The caller's tensor may be memory of a program: the queue keeps its own.
static fy_code own_copy(fy_tensor *t, fy_tensor **out, fy_error *err) {
  if (!t->buffer) return fy_tensor_clone(t, out, err);
  fy_tensor_retain(t);
  *out = t;
  return FY_OK;
}

static fy_code enqueue(fy_kernel_ctx *ctx, fy_error *err) {
  queue *q;
  FY_TRY(queue_of(ctx, &q, err));
  FY_TRY(check_components(q, ctx, 1, err));
  fy_lock(&q->lock);
  fy_code code = FY_OK;
  while (!code && !q->closed && (int64_t)q->n >= q->limit)
    code = wait_change(ctx, q, "Enqueue", err);
  if (!code && q->closed) code = fy_fail(err, FY_CANCELLED, "FIFOQueue '%s' is closed.", q->name);
  if (!code && !make_room(q)) code = fy_fail_oom(err, sizeof *q->items);
  size_t at = q->cap ? (q->head + q->n) % q->cap * q->width : 0, done = 0;
  for (; !code && done < q->width; done++)
    code = own_copy(ctx->in[1 + done], &q->items[at + done], err);
  if (code) {
    for (size_t i = 0; i + 1 < done; i++) fy_tensor_release(q->items[at + i]);
  } else {
    q->n++;
    fy_cond_broadcast(&q->changed);
  }
  fy_unlock(&q->lock);
  return code;
}

static fy_code dequeue(fy_kernel_ctx *ctx, fy_error *err) {
  queue *q;
  FY_TRY(queue_of(ctx, &q, err));
  if ((size_t)ctx->site->num_outputs != q->width)
    return fy_fail(err, FY_INVALID_ARGUMENT,
                   "the queue '%s' holds %zu components, %d were asked for", q->name, q->width,
                   ctx->site->num_outputs);
  fy_lock(&q->lock);
  fy_code code = FY_OK;
  while (!code && !q->n && !q->closed) code = wait_change(ctx, q, "Dequeue", err);
  if (!code && !q->n)
    code = fy_fail(
        err, FY_OUT_OF_RANGE,
        "FIFOQueue '%s' is closed and has insufficient elements (requested 1, current size 0)",
        q->name);
  if (!code) {
    size_t at = q->head * q->width;
    for (size_t i = 0; i < q->width; i++) fy_out_set(ctx, (int)i, q->items[at + i]);
    q->head = (q->head + 1) % q->cap;
    q->n--;
    fy_cond_broadcast(&q->changed);
  }
  fy_unlock(&q->lock);
  return code;
}

fy_code fy_queue_take_string(fy_kernel_ctx *ctx, const fy_tensor *handle, fy_tensor **out,
                             fy_error *err) {
  fy_object *o;
  FY_TRY(fy_resource_object(handle, &queue_type, &o, err));
  queue *q = (queue *)o;
  if (q->width != 1 || q->types[0] != FY_STRING) {
    return fy_fail(err, FY_INVALID_ARGUMENT, "Queue must have single string component");
  }
  fy_lock(&q->lock);
  fy_code code = FY_OK;
  while (!code && !q->n && !q->closed) code = wait_change(ctx, q, "Dequeue", err);
  if (!code && !q->n) {
    code = fy_fail(
        err, FY_OUT_OF_RANGE,
        "FIFOQueue '%s' is closed and has insufficient elements (requested 1, current size 0)",
        q->name);
  }
  if (!code) {
    *out = q->items[q->head];
    q->head = (q->head + 1) % q->cap;
    q->n--;
    fy_cond_broadcast(&q->changed);
    if ((*out)->count != 1) {
      fy_tensor_release(*out);
      code = fy_fail(err, FY_INVALID_ARGUMENT, "Expected to dequeue a one-element string tensor");
    }
  }
  fy_unlock(&q->lock);
  return code;
}

static fy_code queue_size(fy_kernel_ctx *ctx, fy_error *err) {
  queue *q;
  fy_tensor *out;
  FY_TRY(queue_of(ctx, &q, err));
  FY_TRY(fy_out(ctx, 0, 0, NULL, &out, err));
  fy_lock(&q->lock);
  *(int32_t *)out->data = (int32_t)q->n;
  fy_unlock(&q->lock);
  return FY_OK;
}

static fy_code queue_is_closed(fy_kernel_ctx *ctx, fy_error *err) {
  queue *q;
  fy_tensor *out;
  FY_TRY(queue_of(ctx, &q, err));
  FY_TRY(fy_out(ctx, 0, 0, NULL, &out, err));
  fy_lock(&q->lock);
  *(bool *)out->data = q->closed;
  fy_unlock(&q->lock);
  return FY_OK;
}

static fy_code queue_close(fy_kernel_ctx *ctx, fy_error *err) {
  queue *q;
  FY_TRY(queue_of(ctx, &q, err));
  fy_lock(&q->lock);
  fy_code code =
      q->closed ? fy_fail(err, FY_CANCELLED, "Queue '%s' is already closed.", q->name) : FY_OK;
  q->closed = true;
  fy_cond_broadcast(&q->changed);
  fy_unlock(&q->lock);
  return code;
}

static const fy_sample queue_samples[] = {
    {"", "component_types=[float]; capacity=1", FY_OK, NULL},
};

FY_OP(FIFOQueueV2, .shape = fy_shape_scalar, .compute = fifo_queue,
      .flags = FY_OP_HOST | FY_OP_NO_FOLD, FY_SAMPLES(queue_samples));
FY_OP(QueueEnqueueV2, .compute = enqueue, .flags = FY_OP_HOST | FY_OP_ASYNC);
FY_OP(QueueDequeueV2, .compute = dequeue, .flags = FY_OP_HOST | FY_OP_ASYNC | FY_OP_SETS_OUTPUT);
FY_OP(QueueSizeV2, .shape = fy_shape_scalar, .compute = queue_size, .flags = FY_OP_HOST);
FY_OP(QueueIsClosedV2, .shape = fy_shape_scalar, .compute = queue_is_closed, .flags = FY_OP_HOST);
FY_OP(QueueCloseV2, .compute = queue_close, .flags = FY_OP_HOST);
