// SPDX-License-Identifier: Apache-2.0
// batch_ops.c: Batch, Unbatch and UnbatchGrad: the batching of servers as three ops of a graph.
// Of the runs whose inputs make a batch, the last gets all of it with an index of who owns which rows; the
// others get nothing (no rows), run the rest of the graph on it, and wait in Unbatch for their share.

#include "base/alloc.h"
#include "ops/batch_queue.h"
#include "ops/named.h"
#include "ops/shape_fns.h"
#include "ops/values.h"

// ---------------------------------------------------------------- Batch
// An index and an id for |t|: outputs n and n + 1.
static fy_code put_index(fy_batch_task *t, fy_batch_task **tasks, int n, fy_error *err) {
  const int64_t dims[2] = {n, 3};
  FY_TRY(fy_tensor_from(FY_INT64, 0, NULL, &t->id, &t->out[t->num_in + 1], err));
  FY_TRY(fy_tensor_new(FY_INT64, 2, dims, &t->out[t->num_in], err));
  int64_t *row = t->out[t->num_in]->data, at = 0;
  for (int k = 0; k < n; k++, row += 3) {
    row[0] = tasks[k]->id;
    row[1] = at;
    row[2] = at += tasks[k]->rows;
  }
  return FY_OK;
}

static fy_code make_batch(fy_kernel_ctx *ctx, fy_batch_queue *q, fy_batch_task **tasks, int n,
                          fy_error *err) {
  (void)ctx;
  int64_t rows = 0;
  for (int k = 0; k < n; k++) rows += tasks[k]->rows;
  rows = fy_batch_queue_round(q, rows);
  for (int k = 0; k < n; k++) {
    fy_batch_task *t = tasks[k];
    const bool last = k == n - 1;
    for (int i = 0; i < t->num_in; i++)
      FY_TRY(last ? fy_batch_concat(tasks, n, i, rows, &t->out[i], err)
                  : fy_batch_rows(t->in[i], 0, 0, &t->out[i], err));
    FY_TRY(put_index(t, tasks, last ? n : 0, err));
  }
  return FY_OK;
}

static fy_code batch(fy_kernel_ctx *ctx, fy_error *err) {
  const int n = ctx->site->num_inputs;
  fy_batch_queue *q;
  fy_batch_task *task = NULL;
  int64_t rows = 0;
  const int64_t none[2] = {0, 3};
  fy_tensor *out;
  FY_TRY(fy_batch_queue_get(ctx, &q, err));
  fy_code code = fy_batch_check(ctx, n, &rows, err);
  if (!code && !rows) {  // nothing to gather
    for (int i = 0; i < n && !code; i++)
      code = fy_out_alias(ctx, i, i, ctx->in[i]->rank, ctx->in[i]->dims, err);
    if (!code) code = fy_out(ctx, n, 2, none, &out, err);
    if (!code) code = fy_out(ctx, n + 1, 0, NULL, &out, err);
    if (!code) *(int64_t *)out->data = 0;
  } else if (!code) {
    code = fy_batch_task_new(ctx, n, n + 2, 0, rows, &task, err);
    if (!code) code = fy_batch_submit(q, task, err);
    if (!code) code = fy_batch_wait(ctx, q, task, make_batch, err);
    for (int i = 0; i < n + 2 && !code; i++) {
      fy_out_set(ctx, i, task->out[i]);
      task->out[i] = NULL;
    }
  }
  fy_batch_task_free(task);
  fy_batch_queue_release(q);
  return code;
}

// ---------------------------------------------------------------- shares
typedef struct share {  // what waits for the run of this id
  int64_t id, until_ns;
  fy_tensor *tensor;
} share;

typedef struct exchange {
  fy_object object;
  fy_mutex lock;
  fy_cond changed;
  share *shares;
  size_t n, cap;
} exchange;

static void destroy(fy_object *self) {
  exchange *x = (exchange *)self;
  for (size_t i = 0; i < x->n; i++) fy_tensor_release(x->shares[i].tensor);
  fy_free(x->shares);
  fy_cond_destroy(&x->changed);
  fy_mutex_destroy(&x->lock);
  fy_free(x);
}

static const fy_object_type unbatch_type = {"N10tensorflow15UnbatchResourceE", destroy},
                            grad_type = {"N10tensorflow19UnbatchGradResourceE", destroy};

static fy_code make(const fy_object_type *type, fy_object **out, fy_error *err) {
  exchange *x = fy_calloc(1, sizeof *x);
  if (!x) return fy_fail_oom(err, sizeof *x);
  atomic_init(&x->object.refs, 1);
  x->object.type = type;
  fy_mutex_init(&x->lock);
  fy_cond_init(&x->changed);
  *out = &x->object;
  return FY_OK;
}
static fy_code make_unbatch(fy_view container, fy_view name, const void *arg, fy_object **out,
                            fy_error *err) {
  (void)container, (void)name, (void)arg;
  return make(&unbatch_type, out, err);
}
static fy_code make_grad(fy_view container, fy_view name, const void *arg, fy_object **out,
                         fy_error *err) {
  (void)container, (void)name, (void)arg;
  return make(&grad_type, out, err);
}

// Under the lock, like all that follows.
static share *find(exchange *x, int64_t id) {
  for (size_t i = 0; i < x->n; i++)
    if (x->shares[i].id == id) return &x->shares[i];
  return NULL;
}

static fy_tensor *take(exchange *x, share *s) {
  fy_tensor *t = s->tensor;
  *s = x->shares[--x->n];
  return t;
}

static void forget_late(exchange *x) {
  const int64_t now = fy_now_ns();
  for (size_t i = 0; i < x->n;)
    if (x->shares[i].until_ns < now)
      fy_tensor_release(take(x, &x->shares[i]));
    else
      i++;
}

// Takes over |t|.
static fy_code leave(exchange *x, int64_t id, fy_tensor *t, int64_t until_ns, fy_error *err) {
  if (!fy_grow(&x->shares, &x->cap, x->n + 1, sizeof *x->shares)) {
    fy_tensor_release(t);
    return fy_fail_oom(err, sizeof *x->shares);
  }
  x->shares[x->n++] = (share){id, until_ns, t};
  return FY_OK;
}

// ---------------------------------------------------------------- Unbatch
// Splits the batch by the lengths in the index; offsets say nothing more.
static fy_code share_out(exchange *x, const fy_tensor *data, const fy_tensor *index,
                         int64_t until_ns, fy_error *err) {
  const int64_t *row = index->data;
  int64_t at = 0;
  for (int64_t k = 0; k < index->dims[0]; k++, row += 3) {
    int64_t rows;
    fy_tensor *part;
    if (__builtin_sub_overflow(row[2], row[1], &rows) || rows < 0 || !data->rank ||
        rows > data->dims[0] - at)
      return fy_fail(err, FY_INVALID_ARGUMENT,
                     "The index asks for rows that the batch does not have");
    if (find(x, row[0]))
      return fy_fail(err, FY_ALREADY_EXISTS, "Multiple tensors returned for same batch key.");
    fy_code code = fy_batch_rows(data, at, rows, &part, err);
    if (code) {
      fy_tensor_release(part);
      return code;
    }
    FY_TRY(leave(x, row[0], part, until_ns, err));
    at += rows;
  }
  return FY_OK;
}

static fy_code wait_for(fy_kernel_ctx *ctx, exchange *x, int64_t id, int64_t until_ns,
                        fy_error *err) {
  share *s;
  while (!(s = find(x, id))) {
    if (fy_now_ns() >= until_ns)
      return fy_fail(err, FY_DEADLINE_EXCEEDED,
                     "Batched data did not arrive within timeout window.");
    FY_TRY(fy_named_wait(ctx, &x->changed, &x->lock, "Unbatch", err));
  }
  fy_out_set(ctx, 0, take(x, s));
  return FY_OK;
}

static fy_code unbatch(fy_kernel_ctx *ctx, fy_error *err) {
  const fy_tensor *data = ctx->in[0], *index = ctx->in[1], *id = ctx->in[2];
  const int64_t micros = fy_site_int(ctx->site, "timeout_micros");
  fy_object *object;
  if (id->rank)
    return fy_fail(err, FY_INVALID_ARGUMENT,
                   "Input id should be scalar; Got a tensor of %lld elements.",
                   (long long)id->count);
  if (index->rank != 2 || index->dims[1] != 3)
    return fy_fail(err, FY_INVALID_ARGUMENT,
                   "Wrong shape for index tensor. Expected 1st dimension size to be 3 ; Got: %lld.",
                   (long long)(index->rank > 1 ? index->dims[1] : 0));
  FY_TRY(fy_named_get(ctx, &unbatch_type, make_unbatch, &object, err));
  exchange *x = (exchange *)object;
  const int64_t until = fy_now_ns() + (micros > 1000000000000 ? 1000000000000000 : micros * 1000);
  fy_lock(&x->lock);
  forget_late(x);
  fy_code code = share_out(x, data, index, until, err);
  fy_cond_broadcast(&x->changed);
  if (!code) code = wait_for(ctx, x, *(const int64_t *)id->data, until, err);
  fy_unlock(&x->lock);
  fy_object_release(object);
  return code;
}

// ---------------------------------------------------------------- UnbatchGrad
// All the gradients that the index names, in its order.
static fy_code gather(fy_kernel_ctx *ctx, exchange *x, const fy_tensor *index, fy_error *err) {
  const int64_t *row = index->data, n = index->dims[0];
  fy_batch_task *tasks = fy_calloc((size_t)n, sizeof *tasks),
                **list = fy_calloc((size_t)n, sizeof *list);
  fy_tensor **in = fy_calloc((size_t)n, sizeof *in), *out = NULL;
  fy_code code = tasks && list && in ? FY_OK : fy_fail_oom(err, (size_t)n * sizeof *tasks);
  int64_t rows = 0;
  for (int64_t k = 0; k < n && !code; k++) {
    share *s;
    while (!code && !(s = find(x, row[3 * k])))
      code = fy_named_wait(ctx, &x->changed, &x->lock, "UnbatchGrad", err);
    if (code) break;
    in[k] = take(x, s);
    tasks[k] = (fy_batch_task){.in = &in[k], .num_in = 1};
    list[k] = &tasks[k];
    rows += in[k]->dims[0];
  }
  if (!code) code = fy_batch_concat(list, (int)n, 0, rows, &out, err);
  if (code)
    fy_tensor_release(out);
  else
    fy_out_set(ctx, 0, out);
  for (int64_t k = 0; in && k < n; k++) fy_tensor_release(in[k]);
  fy_free(in);
  fy_free(list);
  fy_free(tasks);
  return code;
}

static fy_code unbatch_grad(fy_kernel_ctx *ctx, fy_error *err) {
  const fy_tensor *data = ctx->in[0], *index = ctx->in[1], *id = ctx->in[3];
  fy_object *object;
  fy_tensor *kept, *out;
  if (id->rank)
    return fy_fail(err, FY_INVALID_ARGUMENT,
                   "Expected `id` to be scalar. Received a tensor of %lld elements",
                   (long long)id->count);
  if (index->rank < 1 || index->count != 3 * index->dims[0])
    return fy_fail(err, FY_INVALID_ARGUMENT,
                   "batch_index should contain %lld elements. Received %lld",
                   (long long)(index->rank ? 3 * index->dims[0] : 3), (long long)index->count);
  if (data->count && !index->count)
    return fy_fail(err, FY_INVALID_ARGUMENT, "batch_index is empty while the tensor isn't.");
  if (!ctx->in[2]->rank) return fy_fail(err, FY_INVALID_ARGUMENT, "grad must not be a scalar");
  FY_TRY(fy_named_get(ctx, &grad_type, make_grad, &object, err));
  exchange *x = (exchange *)object;
  fy_code code = fy_named_keep(ctx->in[2], &kept, err);
  if (!code) {
    fy_lock(&x->lock);
    if (find(x, *(const int64_t *)id->data)) {
      fy_tensor_release(kept);
      code = fy_fail(err, FY_INVALID_ARGUMENT, "Two runs with the same batch key.");
    } else {
      code = leave(x, *(const int64_t *)id->data, kept, INT64_MAX, err);
    }
    fy_cond_broadcast(&x->changed);
    if (!code && data->count) code = gather(ctx, x, index, err);
    fy_unlock(&x->lock);
  }
  if (!code && !data->count) {  // another run has the batch
    code = fy_batch_rows(ctx->in[2], 0, 0, &out, err);
    if (!code) fy_out_set(ctx, 0, out);
  }
  fy_object_release(object);
  return code;
}

// ---------------------------------------------------------------- shapes
// Like input |i|, but for the number of rows.
static fy_code other_rows(fy_shape_ctx *ctx, int i, fy_error *err) {
  const fy_pshape in = ctx->in[i];
  if (!fy_rank_known(in)) return FY_OK;
  if (!in.rank)
    return fy_fail(err, FY_INVALID_ARGUMENT,
                   "Out of range dim_index 0 for shape with 0 dimensions");
  int64_t *dims = fy_shape_dims(ctx, in.rank);
  if (!dims) return fy_fail_oom(err, sizeof *dims);
  for (int32_t d = 1; d < in.rank; d++) dims[d] = in.dims[d];
  return fy_shape_set(ctx, i, in.rank, dims, err);
}

static fy_code batch_shape(fy_shape_ctx *ctx, fy_error *err) {
  const int n = ctx->num_inputs;
  const int64_t index[2] = {-1, 3};
  for (int i = 0; i < n; i++) FY_TRY(other_rows(ctx, i, err));
  FY_TRY(fy_shape_set(ctx, n, 2, index, err));
  return fy_shape_set(ctx, n + 1, 0, NULL, err);
}

static fy_code unbatch_shape(fy_shape_ctx *ctx, fy_error *err) {
  return other_rows(ctx, 0, err);
}

static fy_code unbatch_grad_shape(fy_shape_ctx *ctx, fy_error *err) {
  return fy_rank_known(ctx->in[2]) ? fy_shape_set(ctx, 0, ctx->in[2].rank, NULL, err) : FY_OK;
}

#define WAITS .flags = FY_OP_HOST | FY_OP_ASYNC | FY_OP_NO_FOLD | FY_OP_SETS_OUTPUT | FY_OP_DYNAMIC
static const fy_sample batch_samples[] = {
    {"i32[2,1]=3,4",
     "num_batch_threads=1; max_batch_size=4; batch_timeout_micros=0; grad_timeout_micros=0; "
     "allowed_batch_sizes=[3,4]",
     FY_OK, "3,4,3"},
    {"i32[]=3",
     "num_batch_threads=1; max_batch_size=4; batch_timeout_micros=0; grad_timeout_micros=0",
     FY_INVALID_ARGUMENT, "at least one dimension"},
};
static const fy_sample unbatch_samples[] = {
    {"i32[3]=5,6,7; i64[2,3]=1,0,2,2,2,3; i64[]=2", "timeout_micros=0", FY_OK, "7"},
    {"i32[3]=5,6,7; i64[1,3]=1,0,2; i64[]=2", "timeout_micros=0", FY_DEADLINE_EXCEEDED,
     "did not arrive"},
};
static const fy_sample grad_samples[] = {
    {"i32[2]=5,6; i64[1,3]=1,0,2; i32[2]=8,9; i64[]=1", NULL, FY_OK, "8,9"},
};
FY_OP(Batch, .shape = batch_shape, .compute = batch, WAITS, FY_SAMPLES(batch_samples));
FY_OP(Unbatch, .shape = unbatch_shape, .compute = unbatch, WAITS, FY_SAMPLES(unbatch_samples));
FY_OP(UnbatchGrad, .shape = unbatch_grad_shape, .compute = unbatch_grad, WAITS,
      FY_SAMPLES(grad_samples));
