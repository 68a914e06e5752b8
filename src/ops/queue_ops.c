// SPDX-License-Identifier: Apache-2.0
// queue_ops.c: FIFOQueue, PaddingFIFOQueue, RandomShuffleQueue, PriorityQueue and what is done with
// them, in both versions: those of version 1 hold a reference, which is the same handle at run time
// (execute/refs.c).

#include <stdio.h>
#include <string.h>

#include "base/alloc.h"
#include "ops/queue.h"
#include "ops/shape_fns.h"
#include "ops/values.h"

static fy_code make_queue(fy_view container, fy_view name, const void *arg, fy_object **out,
                          fy_error *err) {
  fy_queue *q;
  (void)container;
  FY_TRY(fy_queue_new(arg, name, &q, err));
  *out = &q->object;
  return FY_OK;
}

static fy_code new_queue(fy_kernel_ctx *ctx, fy_error *err) {
  const fy_site *site = ctx->site;
  const fy_view shared = fy_site_string(site, "shared_name");
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
  const bool named = shared.n || site->in_shapes;  // eagerly, an unnamed queue is nobody else's
  if (r && named)
    FY_TRY(fy_resources_get(r, &fy_queue_type, fy_site_string(site, "container"), name, make_queue,
                            site, &object, err));
  else
    FY_TRY(make_queue(FY_VIEW(""), name, site, &object, err));
  fy_resource_put(out, object);
  return FY_OK;
}

static fy_code queue_of(fy_kernel_ctx *ctx, fy_queue **out, fy_error *err) {
  fy_object *o;
  FY_TRY(fy_resource_object(ctx->in[0], &fy_queue_type, &o, err));
  *out = (fy_queue *)o;
  return FY_OK;
}

// ---------------------------------------------------------------- putting
// Whether |dims| may be component |i|; a padding queue takes any size where its shape has none.
static bool fits(const fy_queue *q, size_t i, int32_t rank, const int64_t *dims) {
  const fy_pshape want = q->shapes ? q->shapes[i] : FY_UNKNOWN_SHAPE;
  if (want.rank < 0) return true;
  if (want.rank != rank) return false;
  for (int32_t d = 0; d < rank; d++)
    if (want.dims[d] >= 0 && want.dims[d] != dims[d]) return false;
  return true;
}

static fy_code check_components(const fy_queue *q, fy_kernel_ctx *ctx, bool many, fy_error *err) {
  char x[128], y[128];
  if ((size_t)(ctx->site->num_inputs - 1) != q->width)
    return fy_fail(err, FY_INVALID_ARGUMENT,
                   "Wrong number of components in tuple. Expected %zu, got %d", q->width,
                   ctx->site->num_inputs - 1);
  for (size_t i = 0; i < q->width; i++) {
    const fy_tensor *t = ctx->in[1 + i], *first = ctx->in[1];
    if (t->dtype != q->types[i])
      return fy_fail(err, FY_INVALID_ARGUMENT,
                     "Type mismatch in tuple component %zu. Expected %s, got %s", i,
                     fy_dtype_name(q->types[i]), fy_dtype_name(t->dtype));
    if (many && t->rank < 1)
      return fy_fail(err, FY_INVALID_ARGUMENT,
                     "Enqueue many component %zu must have rank at least 1", i);
    const int32_t skip = many ? 1 : 0;
    const bool same = !many || t->dims[0] == first->dims[0];
    if (same && fits(q, i, t->rank - skip, t->dims + skip)) continue;
    int64_t dims[FY_MAX_RANK + 1] = {many ? first->dims[0] : 0};
    const fy_pshape want = q->shapes ? q->shapes[i] : FY_UNKNOWN_SHAPE;
    if (want.rank < 0)
      return fy_fail(err, FY_INVALID_ARGUMENT,
                     "All input tensors must have the same size in the 0th dimension. Component "
                     "%zu has %lld, and should have %lld",
                     i, (long long)t->dims[0], (long long)first->dims[0]);
    for (int32_t d = 0; d < want.rank && d < FY_MAX_RANK; d++) dims[skip + d] = want.dims[d];
    return fy_fail(err, FY_INVALID_ARGUMENT,
                   "Shape mismatch in tuple component %zu. Expected %s, got %s", i,
                   fy_shape_text(want.rank + skip, dims, x), fy_tensor_shape_text(t, y));
  }
  return FY_OK;
}

// The caller's tensor may be memory of a program: the queue keeps its own.
static fy_code own_copy(fy_tensor *t, fy_tensor **out, fy_error *err) {
  if (!t->buffer) return fy_tensor_clone(t, out, err);
  return fy_tensor_alias(t, t->dtype, t->rank, t->dims, out, err);
}

static fy_code row_of(const fy_tensor *t, int64_t row, fy_tensor **out, fy_error *err) {
  FY_TRY(fy_tensor_new(t->dtype, t->rank - 1, t->dims + 1, out, err));
  fy_code code =
      fy_copy_run(t->dtype, (*out)->data, 0, t->data, row * (*out)->count, (*out)->count, err);
  if (code) fy_tensor_release(*out);
  return code;
}

static fy_code put_tuple(fy_kernel_ctx *ctx, fy_queue *q, fy_tensor **tuple, int64_t row,
                         fy_error *err) {
  for (size_t i = 0; i < q->width; i++) {
    fy_tensor *t = ctx->in[1 + i];
    fy_code code = row < 0 ? own_copy(t, &tuple[i], err) : row_of(t, row, &tuple[i], err);
    if (!code) continue;
    while (i-- > 0) fy_tensor_release(tuple[i]);
    return code;
  }
  return fy_queue_put(ctx, q, tuple, err);
}

static fy_code enqueue_any(fy_kernel_ctx *ctx, bool many, fy_error *err) {
  fy_queue *q;
  FY_TRY(queue_of(ctx, &q, err));
  FY_TRY(check_components(q, ctx, many, err));
  fy_tensor **tuple = fy_calloc(q->width + 1, sizeof *tuple);
  if (!tuple) return fy_fail_oom(err, q->width * sizeof *tuple);
  fy_code code = FY_OK;
  if (!many) code = put_tuple(ctx, q, tuple, -1, err);
  for (int64_t i = 0; many && !code && i < ctx->in[1]->dims[0]; i++)
    code = put_tuple(ctx, q, tuple, i, err);
  fy_free(tuple);
  return code;
}
static fy_code enqueue(fy_kernel_ctx *ctx, fy_error *err) {
  return enqueue_any(ctx, false, err);
}
static fy_code enqueue_many(fy_kernel_ctx *ctx, fy_error *err) {
  return enqueue_any(ctx, true, err);
}

// ---------------------------------------------------------------- taking
static fy_code check_outputs(const fy_queue *q, fy_kernel_ctx *ctx, fy_error *err) {
  if ((size_t)ctx->site->num_outputs != q->width)
    return fy_fail(err, FY_INVALID_ARGUMENT,
                   "the queue '%s' holds %zu components, %d were asked for", q->name, q->width,
                   ctx->site->num_outputs);
  for (size_t i = 0; i < q->width; i++)
    if (ctx->site->out_types[i] != q->types[i])
      return fy_fail(err, FY_INVALID_ARGUMENT,
                     "component %zu of the queue '%s' is %s, but %s was asked for", i, q->name,
                     fy_dtype_name(q->types[i]), fy_dtype_name(ctx->site->out_types[i]));
  return FY_OK;
}

static fy_code dequeue(fy_kernel_ctx *ctx, fy_error *err) {
  fy_queue *q;
  int64_t taken;
  FY_TRY(queue_of(ctx, &q, err));
  FY_TRY(check_outputs(q, ctx, err));
  fy_tensor **tuple = fy_calloc(q->width + 1, sizeof *tuple);
  if (!tuple) return fy_fail_oom(err, q->width * sizeof *tuple);
  fy_code code = fy_queue_take(ctx, q, 1, false, tuple, &taken, err);
  for (size_t i = 0; i < q->width && !code; i++) fy_out_set(ctx, (int)i, tuple[i]);
  fy_free(tuple);
  return code;
}

// Copies |t| into the corner of element |row| of |to|, whose dims are at least as large.
static fy_code place(fy_tensor *to, int64_t row, const fy_tensor *t, fy_error *err) {
  const int64_t each = fy_product(to->dims + 1, to->rank - 1);
  const int32_t rank = t->rank;
  if (!t->count) return FY_OK;
  if (t->count == each) return fy_copy_run(t->dtype, to->data, row * each, t->data, 0, each, err);
  int64_t index[FY_MAX_RANK] = {0};
  const int64_t run = t->dims[rank - 1];
  for (int64_t from = 0; from < t->count; from += run) {
    int64_t into = 0;
    for (int32_t d = 0; d < rank; d++)
      into = into * to->dims[1 + d] + (d < rank - 1 ? index[d] : 0);
    FY_TRY(fy_copy_run(t->dtype, to->data, row * each + into, t->data, from, run, err));
    for (int32_t d = rank - 2; d >= 0 && ++index[d] == t->dims[d]; d--) index[d] = 0;
  }
  return FY_OK;
}

static fy_code batch(fy_kernel_ctx *ctx, const fy_queue *q, fy_tensor **tuples, int64_t n, size_t i,
                     fy_error *err) {
  const fy_pshape shape = q->shapes[i];
  int64_t dims[FY_MAX_RANK + 1] = {n};
  bool padded = false;
  fy_tensor *out;
  for (int32_t d = 0; d < shape.rank; d++) {
    dims[d + 1] = shape.dims[d] < 0 ? 0 : shape.dims[d];
    for (int64_t k = 0; shape.dims[d] < 0 && k < n; k++) {
      const int64_t size = tuples[(size_t)k * q->width + i]->dims[d];
      if (size > dims[d + 1]) dims[d + 1] = size;
    }
    padded |= shape.dims[d] < 0;
  }
  FY_TRY(fy_out(ctx, (int)i, shape.rank + 1, dims, &out, err));
  if (padded && fy_dtype_is_plain(out->dtype) && out->count)
    memset(out->data, 0, fy_tensor_bytes(out));
  for (int64_t k = 0; k < n; k++) FY_TRY(place(out, k, tuples[(size_t)k * q->width + i], err));
  return FY_OK;
}

static fy_code check_batch(const fy_queue *q, const fy_tensor *n, fy_error *err) {
  bool known = q->shapes != NULL;
  for (size_t i = 0; i < q->width && known; i++) {
    known = q->shapes[i].rank >= 0;
    for (int32_t d = 0; known && d < q->shapes[i].rank && q->kind != FY_QUEUE_PADDING; d++)
      known = q->shapes[i].dims[d] >= 0;
  }
  if (n->rank != 0 || fy_tensor_int(n, 0) < 0)
    return fy_fail(err, FY_INVALID_ARGUMENT, "DequeueManyOp requested %lld < 0 elements",
                   (long long)(n->rank ? -1 : fy_tensor_int(n, 0)));
  if (known) return FY_OK;
  return fy_fail(
      err, FY_INVALID_ARGUMENT,
      "%s's DequeueMany and DequeueUpTo require the components to have specified shapes.",
      fy_queue_kind_name(q));
}

static fy_code dequeue_several(fy_kernel_ctx *ctx, bool some, fy_error *err) {
  fy_queue *q;
  int64_t taken = 0;
  size_t room;
  FY_TRY(queue_of(ctx, &q, err));
  FY_TRY(check_outputs(q, ctx, err));
  FY_TRY(check_batch(q, ctx->in[1], err));
  const int64_t n = fy_tensor_int(ctx->in[1], 0);
  if (!fy_mul_size((size_t)n + 1, q->width * sizeof(fy_tensor *), &room))
    return fy_fail_oom(err, SIZE_MAX);
  fy_tensor **tuples = fy_calloc(1, room);
  if (!tuples) return fy_fail_oom(err, room);
  fy_code code = fy_queue_take(ctx, q, n, some, tuples, &taken, err);
  for (size_t i = 0; i < q->width && !code; i++) code = batch(ctx, q, tuples, taken, i, err);
  for (size_t i = 0; i < (size_t)taken * q->width; i++) fy_tensor_release(tuples[i]);
  fy_free(tuples);
  return code;
}
static fy_code dequeue_many(fy_kernel_ctx *ctx, fy_error *err) {
  return dequeue_several(ctx, false, err);
}
static fy_code dequeue_up_to(fy_kernel_ctx *ctx, fy_error *err) {
  return dequeue_several(ctx, true, err);
}

// ---------------------------------------------------------------- asking, closing
static fy_code queue_size(fy_kernel_ctx *ctx, fy_error *err) {
  fy_queue *q;
  fy_tensor *out;
  FY_TRY(queue_of(ctx, &q, err));
  FY_TRY(fy_out(ctx, 0, 0, NULL, &out, err));
  fy_lock(&q->lock);
  *(int32_t *)out->data = (int32_t)q->n;
  fy_unlock(&q->lock);
  return FY_OK;
}

static fy_code queue_is_closed(fy_kernel_ctx *ctx, fy_error *err) {
  fy_queue *q;
  fy_tensor *out;
  FY_TRY(queue_of(ctx, &q, err));
  FY_TRY(fy_out(ctx, 0, 0, NULL, &out, err));
  fy_lock(&q->lock);
  *(bool *)out->data = q->closed;
  fy_unlock(&q->lock);
  return FY_OK;
}

static fy_code queue_close(fy_kernel_ctx *ctx, fy_error *err) {
  fy_queue *q;
  FY_TRY(queue_of(ctx, &q, err));
  return fy_queue_close(q, fy_site_bool(ctx->site, "cancel_pending_enqueues"), err);
}

// A reference from a resource, for ops that still want one.
static fy_code fake_queue(fy_kernel_ctx *ctx, fy_error *err) {
  return fy_out_alias(ctx, 0, 0, 0, NULL, err);
}

static fy_code many_shape(fy_shape_ctx *ctx, fy_error *err) {
  int64_t n;
  if (!fy_shape_int_value(ctx, 1, &n) || n >= 0) return FY_OK;
  return fy_fail(err, FY_INVALID_ARGUMENT, "Input 'n' must be >= 0, but is %lld", (long long)n);
}

static const fy_sample queue_samples[] = {
    {"", "component_types=[float]; capacity=1", FY_OK, NULL},
};
static const fy_sample shuffle_samples[] = {
    {"", "component_types=[float]; min_after_dequeue=2; capacity=2", FY_INVALID_ARGUMENT,
     "min_after_dequeue 2 must be < capacity 2"},
};

#define NEW     .compute = new_queue, .flags = FY_OP_HOST | FY_OP_NO_FOLD
#define BLOCKS  .flags = FY_OP_HOST | FY_OP_ASYNC
#define RESULTS .flags = FY_OP_HOST | FY_OP_ASYNC | FY_OP_SETS_OUTPUT
FY_OP(FIFOQueueV2, .shape = fy_shape_scalar, NEW, FY_SAMPLES(queue_samples));
FY_OP(PaddingFIFOQueueV2, .shape = fy_shape_scalar, NEW, FY_SAMPLES(queue_samples));
FY_OP(RandomShuffleQueueV2, .shape = fy_shape_scalar, NEW, FY_SAMPLES(shuffle_samples));
FY_OP(PriorityQueueV2, .shape = fy_shape_scalar, NEW);
FY_OP(QueueEnqueueV2, .shape = fy_shape_none, .compute = enqueue, BLOCKS);
FY_OP(QueueEnqueueManyV2, .shape = fy_shape_none, .compute = enqueue_many, BLOCKS);
FY_OP(QueueDequeueV2, .shape = fy_shape_none, .compute = dequeue, RESULTS);
FY_OP(QueueDequeueManyV2, .shape = many_shape, .compute = dequeue_many, RESULTS);
FY_OP(QueueDequeueUpToV2, .shape = fy_shape_none, .compute = dequeue_up_to, RESULTS);
FY_OP(QueueSizeV2, .shape = fy_shape_unchanged, .compute = queue_size, .flags = FY_OP_HOST);
FY_OP(QueueIsClosedV2, .shape = fy_shape_scalar, .compute = queue_is_closed, .flags = FY_OP_HOST);
FY_OP(QueueCloseV2, .shape = fy_shape_none, .compute = queue_close, .flags = FY_OP_HOST);

// Version 1.
FY_OP(FIFOQueue, .shape = fy_shape_ref, NEW);
FY_OP(PaddingFIFOQueue, .shape = fy_shape_ref, NEW);
FY_OP(RandomShuffleQueue, .shape = fy_shape_ref, NEW);
FY_OP(PriorityQueue, .shape = fy_shape_ref, NEW);
FY_OP(FakeQueue, .shape = fy_shape_ref, .compute = fake_queue,
      .flags = FY_OP_HOST | FY_OP_SETS_OUTPUT | FY_OP_NO_FOLD);
FY_OP(QueueEnqueue, .shape = fy_shape_none, .compute = enqueue, BLOCKS);
FY_OP(QueueEnqueueMany, .shape = fy_shape_none, .compute = enqueue_many, BLOCKS);
FY_OP(QueueDequeue, .shape = fy_shape_none, .compute = dequeue, RESULTS);
FY_OP(QueueDequeueMany, .shape = fy_shape_none, .compute = dequeue_many, RESULTS);
FY_OP(QueueDequeueUpTo, .shape = fy_shape_none, .compute = dequeue_up_to, RESULTS);
FY_OP(QueueSize, .shape = fy_shape_of_handles, .compute = queue_size, .flags = FY_OP_HOST);
FY_OP(QueueIsClosed, .shape = fy_shape_scalar, .compute = queue_is_closed, .flags = FY_OP_HOST);
FY_OP(QueueClose, .shape = fy_shape_of_handles, .compute = queue_close, .flags = FY_OP_HOST);
