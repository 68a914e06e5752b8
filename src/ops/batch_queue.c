// SPDX-License-Identifier: Apache-2.0
// batch_queue.c: see batch_queue.h.

#include "ops/batch_queue.h"

#include "base/alloc.h"
#include "base/map.h"
#include "ops/named.h"
#include "ops/values.h"

typedef struct fy_batch {
  fy_batch_task **tasks;
  size_t n, cap;
  int64_t rows, opened_ns;
  bool closed, running;
  struct fy_batch *next;
} fy_batch;

struct fy_batch_queue {
  fy_object object;
  fy_mutex lock;  // guards everything below
  fy_cond changed;
  fy_batch *first, **last;  // those that have not begun, by age; only the last may be open
  int64_t waiting, working;
  // from the attributes of the node that made it
  int64_t threads, most, most_input, most_waiting, timeout_ns;
  int64_t *allowed;
  size_t num_allowed;
};

// ---------------------------------------------------------------- the queue
static void destroy(fy_object *self) {
  fy_batch_queue *q = (fy_batch_queue *)self;
  fy_free(q->allowed);
  fy_cond_destroy(&q->changed);
  fy_mutex_destroy(&q->lock);
  fy_free(q);
}

static const fy_object_type queue_type = {"N10tensorflow7serving17BatchResourceBaseE", destroy};

static fy_code read_limits(const fy_site *site, fy_batch_queue *q, fy_error *err) {
  const fy_attr *sizes = fy_site_attr(site, "allowed_batch_sizes");
  const bool calls = fy_site_attr(site, "f"),
             splits = calls && fy_site_bool(site, "enable_large_batch_splitting");
  const int64_t micros = fy_site_int(site, "batch_timeout_micros");
  q->threads = fy_site_int(site, "num_batch_threads");
  q->most = fy_site_int(site, "max_batch_size");
  if (q->most < 0) q->most = INT64_MAX;  // as an unsigned number
  q->most_input = q->most;
  q->most_waiting = fy_site_int(site, "max_enqueued_batches");
  q->timeout_ns = micros > INT64_MAX / 2000 ? INT64_MAX / 2 : micros * 1000;
  q->num_allowed = sizes ? sizes->n : 0;
  q->allowed = fy_calloc(q->num_allowed + 1, sizeof *q->allowed);
  if (!q->allowed) return fy_fail_oom(err, q->num_allowed * sizeof *q->allowed);
  for (size_t i = 0; i < q->num_allowed; i++) {
    q->allowed[i] = sizes->v.ints[i];
    if (i && q->allowed[i] <= q->allowed[i - 1])
      return fy_fail(err, FY_INVALID_ARGUMENT,
                     "allowed_batch_sizes entries must be monotonically increasing");
  }
  if (q->num_allowed && !splits && q->allowed[q->num_allowed - 1] != q->most)
    return fy_fail(err, FY_INVALID_ARGUMENT,
                   "final entry in allowed_batch_sizes must equal max_batch_size%s",
                   calls ? " when enable_large_batch_splitting is False" : "");
  if (q->num_allowed && q->allowed[q->num_allowed - 1] > q->most)
    return fy_fail(
        err, FY_INVALID_ARGUMENT,
        "final entry in allowed_batch_sizes must be less than or equal to max_batch_size");
  if (q->num_allowed) q->most = q->allowed[q->num_allowed - 1];
  if (!calls && q->threads <= 0)
    return fy_fail(err, FY_INVALID_ARGUMENT, "num_batch_threads must be positive; was %lld",
                   (long long)q->threads);
  if (q->most == 0)
    return fy_fail(err, FY_INVALID_ARGUMENT, "input_batch_size_limit must be positive; was %lld",
                   (long long)q->most);
  if (micros < 0)
    return fy_fail(err, FY_INVALID_ARGUMENT, "batch_timeout_micros must be non-negative; was %lld",
                   (long long)micros);
  return FY_OK;
}

static fy_code make(fy_view container, fy_view name, const void *arg, fy_object **out,
                    fy_error *err) {
  (void)container, (void)name;
  fy_batch_queue *q = fy_calloc(1, sizeof *q);
  if (!q) return fy_fail_oom(err, sizeof *q);
  atomic_init(&q->object.refs, 1);
  q->object.type = &queue_type;
  fy_mutex_init(&q->lock);
  fy_cond_init(&q->changed);
  q->last = &q->first;
  const fy_code code = read_limits(arg, q, err);
  if (code)
    destroy(&q->object);
  else
    *out = &q->object;
  return code;
}

// One queue per value of batching_queue within what shared_name names.
fy_code fy_batch_queue_get(fy_kernel_ctx *ctx, fy_batch_queue **out, fy_error *err) {
  const fy_site *site = ctx->site;
  const fy_view part = fy_site_string(site, "batching_queue");
  fy_resources *r = ctx->svc->resources ? ctx->svc->resources(ctx) : NULL;
  fy_object *object = NULL;
  fy_code code = FY_OK;
  if (r && part.n) {
    fy_view name = fy_named_name(site);
    fy_str full;
    fy_str_init(&full);
    fy_str_printf(&full, "%.*s/%.*s", (int)name.n, name.p, (int)part.n, part.p);
    code = full.failed ? fy_fail_oom(err, name.n + part.n)
                       : fy_resources_get(r, &queue_type, fy_site_string(site, "container"),
                                          (fy_view){full.p, full.len}, make, site, &object, err);
    fy_str_free(&full);
  } else {
    code = fy_named_get(ctx, &queue_type, make, &object, err);
  }
  *out = (fy_batch_queue *)object;
  return code;
}

void fy_batch_queue_release(fy_batch_queue *q) {
  fy_object_release(&q->object);
}
int64_t fy_batch_queue_most(const fy_batch_queue *q) {
  return q->most;
}
int64_t fy_batch_queue_round(const fy_batch_queue *q, int64_t rows) {
  for (size_t i = 0; i < q->num_allowed; i++)
    if (q->allowed[i] >= rows) return q->allowed[i];
  return rows;
}

// ---------------------------------------------------------------- tasks
static fy_code refuse(const fy_kernel_ctx *ctx, int n, const char *what, fy_error *err) {
  char text[128];
  (void)fy_fail(err, FY_INVALID_ARGUMENT, "%s\nBelow are the input tensors: \n", what);
  for (int i = 0; i < n; i++)
    fy_error_append(err, " - in__tensors_%d has shape %s\n", i,
                    fy_tensor_shape_text(ctx->in[i], text));
  return FY_INVALID_ARGUMENT;
}

fy_code fy_batch_check(fy_kernel_ctx *ctx, int n, int64_t *rows, fy_error *err) {
  for (int i = 0; i < n; i++) {
    if (ctx->in[i]->rank == 0)
      return refuse(ctx, n, "Batching input tensors must have at least one dimension.", err);
    if (ctx->in[i]->dims[0] != ctx->in[0]->dims[0])
      return refuse(ctx, n,
                    "Batching input tensors supplied in a given op invocation must have equal "
                    "0th-dimension size.",
                    err);
  }
  *rows = ctx->in[0]->dims[0];
  return FY_OK;
}

static int64_t fresh_id(void) {
  static atomic_uint_least64_t count;
  return (int64_t)fy_hash_mix((uint64_t)fy_now_ns(), atomic_fetch_add(&count, 1));
}

fy_code fy_batch_task_new(fy_kernel_ctx *ctx, int n, int num_out, int64_t first, int64_t rows,
                          fy_batch_task **out, fy_error *err) {
  fy_batch_task *t = fy_calloc(1, sizeof *t);
  *out = NULL;
  if (!t) return fy_fail_oom(err, sizeof *t);
  fy_error_init(&t->err);
  *t = (fy_batch_task){.num_in = n, .num_out = num_out, .rows = rows, .id = fresh_id()};
  t->in = fy_calloc((size_t)n + (size_t)num_out + 1, sizeof *t->in);
  fy_code code = t->in ? FY_OK : fy_fail_oom(err, sizeof *t->in);
  for (int i = 0; i < n && !code; i++)
    code = rows == ctx->in[i]->dims[0] ? fy_named_keep(ctx->in[i], &t->in[i], err)
                                       : fy_batch_rows(ctx->in[i], first, rows, &t->in[i], err);
  if (t->in) t->out = t->in + n;
  if (code)
    fy_batch_task_free(t);
  else
    *out = t;
  return code;
}

void fy_batch_task_free(fy_batch_task *t) {
  if (!t) return;
  for (int i = 0; t->in && i < t->num_in + t->num_out; i++) fy_tensor_release(t->in[i]);
  fy_free(t->in);
  fy_error_clear(&t->err);
  fy_free(t);
}

// ---------------------------------------------------------------- under the lock
static void unlink_batch(fy_batch_queue *q, const fy_batch *b) {
  fy_batch **at = &q->first;
  while (*at != b) at = &(*at)->next;
  *at = b->next;
  if (q->last == &b->next) q->last = at;
  q->waiting--;
}

static void free_batch(fy_batch *b) {
  fy_free(b->tasks);
  fy_free(b);
}

static fy_batch *open_batch(fy_batch_queue *q) {
  fy_batch *b = fy_calloc(1, sizeof *b);
  if (!b) return NULL;
  b->opened_ns = fy_now_ns();
  *q->last = b;
  q->last = &b->next;
  q->waiting++;
  return b;
}

fy_code fy_batch_submit(fy_batch_queue *q, fy_batch_task *task, fy_error *err) {
  fy_code code = FY_OK;
  if (task->rows > q->most_input)
    return fy_fail(err, FY_INVALID_ARGUMENT,
                   "Task size %lld is larger than maximum input batch size %lld",
                   (long long)task->rows, (long long)q->most_input);
  fy_lock(&q->lock);
  fy_batch *b = q->first;
  while (b && b->next) b = b->next;
  if (b && (b->closed || b->rows > q->most - task->rows)) {
    b->closed = true;
    b = NULL;
  }
  if (!b && q->waiting >= (q->most_waiting > 1 ? q->most_waiting : 1)) {
    code = fy_fail(err, FY_UNAVAILABLE,
                   "The batch scheduling queue to which this task was submitted is full; currently "
                   "%lld batches enqueued and max_enqueued_batches is %lld",
                   (long long)q->waiting, (long long)q->most_waiting);
  } else if (!b) {
    b = open_batch(q);
  }
  if (!code && (!b || !fy_grow(&b->tasks, &b->cap, b->n + 1, sizeof *b->tasks)))
    code = fy_fail_oom(err, sizeof *b);
  if (!code) {
    b->tasks[b->n++] = task;
    b->rows += task->rows;
    b->closed = b->rows >= q->most;
    task->batch = b;
  } else if (b && !b->n) {
    unlink_batch(q, b);
    free_batch(b);
  }
  fy_cond_broadcast(&q->changed);
  fy_unlock(&q->lock);
  return code;
}

// A run gives up. Its batch, which nobody works on, goes on without it.
static void leave(fy_batch_queue *q, fy_batch_task *task) {
  fy_batch *b = task->batch;
  size_t n = 0;
  for (size_t i = 0; i < b->n; i++)
    if (b->tasks[i] != task) b->tasks[n++] = b->tasks[i];
  b->n = n;
  b->rows -= task->rows;
  task->batch = NULL;
  if (n) return;
  unlink_batch(q, b);
  free_batch(b);
}

static void finish(fy_batch *b, fy_code code, const fy_error *err) {
  for (size_t i = 0; i < b->n; i++) {
    fy_batch_task *t = b->tasks[i];
    if (code) (void)fy_fail(&t->err, code, "%s", fy_error_text(err));
    t->done = true;
    t->batch = NULL;
  }
}

static bool cancelled(fy_kernel_ctx *ctx) {
  return ctx->svc->cancelled && ctx->svc->cancelled(ctx);
}

static void work_on(fy_kernel_ctx *ctx, fy_batch_queue *q, fy_batch *b, fy_batch_fn work) {
  fy_error err;
  fy_error_init(&err);
  b->closed = b->running = true;
  unlink_batch(q, b);
  q->working++;
  fy_unlock(&q->lock);
  const fy_code code = work(ctx, q, b->tasks, (int)b->n, &err);
  fy_lock(&q->lock);
  q->working--;
  if (code == FY_CANCELLED && cancelled(ctx) && b->n > 1) {  // somebody else will do it
    b->running = false;
    b->next = q->first;
    q->first = b;
    if (!b->next) q->last = &b->next;
    q->waiting++;
  } else {
    finish(b, code, &err);
    free_batch(b);
  }
  fy_cond_broadcast(&q->changed);
  fy_error_clear(&err);
}

fy_code fy_batch_wait(fy_kernel_ctx *ctx, fy_batch_queue *q, fy_batch_task *task, fy_batch_fn work,
                      fy_error *err) {
  fy_code code = FY_OK;
  fy_lock(&q->lock);
  while (!task->done) {
    fy_batch *b = task->batch;
    const int64_t now = fy_now_ns();
    const int64_t due = b->running ? INT64_MAX : b->closed ? now : b->opened_ns + q->timeout_ns;
    const bool free_hand = q->threads <= 0 || q->working < q->threads;
    if (!b->running && cancelled(ctx)) {
      leave(q, task);
      code = fy_fail(err, FY_CANCELLED, "Batch operation was cancelled");
      break;
    }
    if (!b->running && due <= now && free_hand) {
      work_on(ctx, q, b, work);
      continue;
    }
    const int64_t poll = now + 2000000;  // is the run cancelled?
    fy_cond_wait_until(&q->changed, &q->lock, due > now && due < poll ? due : poll);
  }
  if (!code && task->err.code) code = fy_fail(err, task->err.code, "%s", fy_error_text(&task->err));
  fy_unlock(&q->lock);
  return code;
}

// ---------------------------------------------------------------- rows
fy_code fy_batch_rows(const fy_tensor *t, int64_t first, int64_t rows, fy_tensor **out,
                      fy_error *err) {
  int64_t dims[FY_MAX_RANK];
  const int64_t width = t->dims[0] ? t->count / t->dims[0] : 0;
  *out = NULL;
  for (int32_t d = 0; d < t->rank; d++) dims[d] = d ? t->dims[d] : rows;
  FY_TRY(fy_tensor_new(t->dtype, t->rank, dims, out, err));
  return fy_copy_run(t->dtype, (*out)->data, 0, t->data, first * width, rows * width, err);
}

fy_code fy_batch_concat(fy_batch_task **tasks, int n, int i, int64_t rows, fy_tensor **out,
                        fy_error *err) {
  const fy_tensor *first = tasks[0]->in[i];
  int64_t dims[FY_MAX_RANK], at = 0;
  char x[128], y[128];
  *out = NULL;
  for (int32_t d = 0; d < first->rank; d++) dims[d] = d ? first->dims[d] : rows;
  for (int k = 1; k < n; k++) {
    const fy_tensor *t = tasks[k]->in[i];
    if (!fy_shape_equal(t->rank - 1, t->dims + 1, first->rank - 1, first->dims + 1))
      return fy_fail(err, FY_INVALID_ARGUMENT,
                     "Batching input tensors must have equal dimensions but the 0th: %s vs. %s",
                     fy_tensor_shape_text(first, x), fy_tensor_shape_text(t, y));
  }
  FY_TRY(fy_tensor_new(first->dtype, first->rank, dims, out, err));
  for (int k = 0; k < n; k++) {
    const fy_tensor *t = tasks[k]->in[i];
    FY_TRY(fy_copy_run(t->dtype, (*out)->data, at, t->data, 0, t->count, err));
    at += t->count;
  }
  for (const int64_t width = rows ? (*out)->count / rows : 0; at < (*out)->count; at += width)
    FY_TRY(fy_copy_run(first->dtype, (*out)->data, at, first->data, 0, width, err));
  return FY_OK;
}
