// SPDX-License-Identifier: Apache-2.0
// queue.c: the container behind the queue ops. An element is a list of tensors, one per component.
// A full or empty queue blocks its caller, who is woken by the other side, by closing, or by
// cancellation (looked at every few milliseconds: whoever cancels need not know of queues).

#include "ops/queue.h"

#include <stdio.h>
#include <string.h>

#include "base/alloc.h"

#define POLL_NS 2000000

static void destroy(fy_object *o) {
  fy_queue *q = (fy_queue *)o;
  for (size_t i = 0; i < q->n * q->width; i++)
    fy_tensor_release(q->items[(q->head * q->width + i) % (q->cap * q->width)]);
  fy_free(q->items);
  fy_arena_free(&q->arena);
  fy_cond_destroy(&q->changed);
  fy_mutex_destroy(&q->lock);
  fy_free(q);
}

const fy_object_type fy_queue_type = {"N10tensorflow14QueueInterfaceE", destroy};

const char *fy_queue_kind_name(const fy_queue *q) {
  static const char *const names[] = {"FIFOQueue", "PaddingFIFOQueue", "RandomShuffleQueue",
                                      "PriorityQueue"};
  return names[q->kind];
}

// ---------------------------------------------------------------- making
static fy_code fail_text(fy_str *text, fy_error *err) {
  fy_fail(err, FY_INVALID_ARGUMENT, "%s", fy_str_text(text));
  fy_str_free(text);
  return FY_INVALID_ARGUMENT;
}

static fy_code fail_count(const fy_queue *q, const fy_attr *shapes, size_t first, fy_error *err) {
  fy_str text;
  fy_str_init(&text);
  fy_str_add(&text, "Different number of component types.  Types: ");
  for (size_t i = 0; i < q->width; i++)
    fy_str_printf(&text, "%s%s", i ? ", " : "", fy_dtype_name(q->types[i]));
  fy_str_add(&text, ", Shapes: [");
  if (first) fy_str_add(&text, "[]");
  for (uint32_t i = 0; i < shapes->n; i++) {
    if (i || first) fy_str_add(&text, ", ");
    fy_shape_print(&text, shapes->v.shapes[i].rank, shapes->v.shapes[i].dims);
  }
  fy_str_add(&text, "]");
  return fail_text(&text, err);
}

// Only a padding queue takes what is partly known, and it wants the rank. The others read an unknown
// rank as a scalar, as TensorFlow does.
static fy_code check_shape(const fy_queue *q, fy_pshape s, fy_error *err) {
  if (q->kind == FY_QUEUE_PADDING) {
    if (s.rank >= 0) return FY_OK;
    return fy_fail(err, FY_INVALID_ARGUMENT, "shape <unknown> must have known rank.");
  }
  for (int32_t d = 0; d < s.rank; d++) {
    if (s.dims[d] >= 0) continue;
    fy_str text;
    fy_str_init(&text);
    fy_str_add(&text, "Shape ");
    fy_shape_print(&text, s.rank, s.dims);
    fy_str_add(&text, " is not fully defined");
    return fail_text(&text, err);
  }
  return FY_OK;
}

static fy_code copy_shapes(fy_queue *q, const fy_attr *shapes, size_t first, fy_error *err) {
  if (!shapes || !shapes->n) return FY_OK;
  for (uint32_t i = 0; i < shapes->n; i++) FY_TRY(check_shape(q, shapes->v.shapes[i], err));
  if (shapes->n != q->width - first) return fail_count(q, shapes, first, err);
  q->shapes = fy_arena_array(&q->arena, q->width + 1, sizeof *q->shapes);
  if (!q->shapes) return fy_fail_oom(err, q->width * sizeof *q->shapes);
  if (first) q->shapes[0] = (fy_pshape){0, NULL};
  for (uint32_t i = 0; i < shapes->n; i++) {
    const fy_pshape s = shapes->v.shapes[i];
    const int64_t *dims =
        s.rank > 0 ? fy_arena_memdup(&q->arena, s.dims, (size_t)s.rank * sizeof *dims) : NULL;
    if (s.rank > 0 && !dims) return fy_fail_oom(err, sizeof *dims);
    q->shapes[first + i] = (fy_pshape){s.rank > 0 ? s.rank : 0, dims};
  }
  return FY_OK;
}

static fy_code set_up(fy_queue *q, const fy_site *site, fy_error *err) {
  const fy_attr *types = fy_site_attr(site, "component_types");
  const int64_t capacity = fy_site_int(site, "capacity");
  const size_t first = q->kind == FY_QUEUE_PRIORITY, n = types ? types->n : 0;
  q->width = n + first;
  q->limit = capacity < 0 ? INT64_MAX : capacity;
  q->types = fy_arena_array(&q->arena, q->width + 1, sizeof *q->types);
  if (!q->types) return fy_fail_oom(err, q->width);
  if (first) q->types[0] = FY_INT64;
  for (size_t i = 0; i < n; i++) q->types[first + i] = types->v.types[i];
  if (q->kind == FY_QUEUE_SHUFFLE) {
    const uint64_t a = (uint64_t)fy_site_int(site, "seed"),
                   b = (uint64_t)fy_site_int(site, "seed2");
    q->keep = fy_site_int(site, "min_after_dequeue");
    if (q->keep < 0)
      return fy_fail(err, FY_INVALID_ARGUMENT, "min_after_dequeue %lld must be >= 0",
                     (long long)q->keep);
    if (capacity >= 0 && q->keep >= capacity)
      return fy_fail(err, FY_INVALID_ARGUMENT, "min_after_dequeue %lld must be < capacity %lld",
                     (long long)q->keep, (long long)capacity);
    q->random = a || b ? fy_philox_seed(a, b)
                       : fy_philox_seed((uint64_t)fy_now_ns(), (uint64_t)(uintptr_t)q);
  }
  return copy_shapes(q, fy_site_attr(site, "shapes"), first, err);
}

fy_code fy_queue_new(const fy_site *site, fy_view name, fy_queue **out, fy_error *err) {
  const char *op = site->op->spec->name;
  fy_queue *q = fy_calloc(1, sizeof *q);
  *out = NULL;
  if (!q) return fy_fail_oom(err, sizeof *q);
  atomic_init(&q->object.refs, 1);
  q->object.type = &fy_queue_type;
  fy_mutex_init(&q->lock);
  fy_cond_init(&q->changed);
  fy_arena_init(&q->arena);
  q->kind = op[0] == 'R'                ? FY_QUEUE_SHUFFLE
            : strncmp(op, "Pa", 2) == 0 ? FY_QUEUE_PADDING
            : strncmp(op, "Pr", 2) == 0 ? FY_QUEUE_PRIORITY
                                        : FY_QUEUE_FIFO;
  snprintf(q->name, sizeof q->name, "%.*s", (int)name.n, name.p);
  fy_code code = set_up(q, site, err);
  if (code)
    destroy(&q->object);
  else
    *out = q;
  return code;
}

// ---------------------------------------------------------------- blocking
// Waits for a change; CANCELLED when the run is to stop.
static fy_code wait_change(fy_kernel_ctx *ctx, fy_queue *q, const char *what, fy_error *err) {
  if (ctx->svc->cancelled && ctx->svc->cancelled(ctx))
    return fy_fail(err, FY_CANCELLED, "%s operation was cancelled", what);
  fy_cond_wait_until(&q->changed, &q->lock, fy_now_ns() + POLL_NS);
  return FY_OK;
}

static bool make_room(fy_queue *q) {
  if (q->n < q->cap) return true;
  const size_t cap = q->cap ? q->cap * 2 : 8;
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

static fy_tensor **at(fy_queue *q, size_t i) {
  return q->items + (q->head + i) % q->cap * q->width;
}

static void append(fy_queue *q, fy_tensor **tuple) {  // there is room
  memcpy(at(q, q->n), tuple, q->width * sizeof *tuple);
  q->n++;
}

fy_code fy_queue_put(fy_kernel_ctx *ctx, fy_queue *q, fy_tensor **tuple, fy_error *err) {
  fy_lock(&q->lock);
  fy_code code = FY_OK;
  if (q->closed)
    code = fy_fail(err, FY_CANCELLED, "%s '%s' is closed.", fy_queue_kind_name(q), q->name);
  while (!code && (int64_t)q->n >= q->limit) {
    code = wait_change(ctx, q, "Enqueue", err);
    if (!code && q->cancel_enqueues)
      code = fy_fail(err, FY_CANCELLED, "Enqueue operation was cancelled");
  }
  if (!code && !make_room(q)) code = fy_fail_oom(err, sizeof *q->items);
  if (!code) {
    append(q, tuple);
    fy_cond_broadcast(&q->changed);
  }
  fy_unlock(&q->lock);
  for (size_t i = 0; code && i < q->width; i++) fy_tensor_release(tuple[i]);
  return code;
}

static uint32_t draw(fy_queue *q) {
  if (!q->bits_left) {
    fy_philox_next(&q->random, q->bits);
    q->bits_left = 4;
  }
  return q->bits[4 - q->bits_left--];
}

static size_t choose(fy_queue *q) {
  size_t best = 0;
  if (q->kind == FY_QUEUE_SHUFFLE) return draw(q) % q->n;
  if (q->kind != FY_QUEUE_PRIORITY) return 0;
  for (size_t i = 1; i < q->n; i++)
    if (*(int64_t *)at(q, i)[0]->data < *(int64_t *)at(q, best)[0]->data) best = i;
  return best;
}

// Takes the next element. What shuffling takes from the middle is replaced by the last one; elsewhere
// order is kept.
static void take_one(fy_queue *q, fy_tensor **out) {
  const size_t i = choose(q), bytes = q->width * sizeof *out;
  memcpy(out, at(q, i), bytes);
  if (q->kind == FY_QUEUE_SHUFFLE) {
    memcpy(at(q, i), at(q, q->n - 1), bytes);
  } else if (i == 0) {
    q->head = (q->head + 1) % q->cap;
  } else {
    for (size_t k = i; k + 1 < q->n; k++) memcpy(at(q, k), at(q, k + 1), bytes);
  }
  q->n--;
}

// Gives back what was taken, to where it was.
static void give_back(fy_queue *q, fy_tensor **taken, int64_t n) {
  for (int64_t i = n - 1; i >= 0; i--) {
    if (!make_room(q)) {  // short of memory: the elements are lost, not the queue
      for (size_t k = 0; k < q->width; k++) fy_tensor_release(taken[(size_t)i * q->width + k]);
      continue;
    }
    if (q->kind == FY_QUEUE_SHUFFLE || q->kind == FY_QUEUE_PRIORITY) {
      append(q, taken + (size_t)i * q->width);
    } else {
      q->head = (q->head + q->cap - 1) % q->cap;
      q->n++;
      memcpy(at(q, 0), taken + (size_t)i * q->width, q->width * sizeof *taken);
    }
  }
}

static bool has_one(const fy_queue *q) {
  return q->n && (q->closed || (int64_t)q->n > q->keep);
}

fy_code fy_queue_take(fy_kernel_ctx *ctx, fy_queue *q, int64_t n, bool some, fy_tensor **out,
                      int64_t *taken, fy_error *err) {
  fy_code code = FY_OK;
  *taken = 0;
  fy_lock(&q->lock);
  while (!code && q->taking) code = wait_change(ctx, q, "Dequeue", err);
  if (!code) {
    q->taking = true;
    while (!code && *taken < n) {
      if (has_one(q)) {
        take_one(q, out + (size_t)*taken * q->width);
        ++*taken;
        fy_cond_broadcast(&q->changed);
      } else if (q->closed && some && *taken) {
        break;
      } else if (q->closed) {
        code = fy_fail(err, FY_OUT_OF_RANGE,
                       "%s '%s' is closed and has insufficient elements (requested %lld, current "
                       "size %lld)",
                       fy_queue_kind_name(q), q->name, (long long)n, (long long)*taken);
      } else {
        code = wait_change(ctx, q, "Dequeue", err);
      }
    }
    if (code) {
      give_back(q, out, *taken);
      *taken = 0;
    }
    q->taking = false;
    fy_cond_broadcast(&q->changed);
  }
  fy_unlock(&q->lock);
  return code;
}

fy_code fy_queue_close(fy_queue *q, bool cancel_enqueues, fy_error *err) {
  fy_lock(&q->lock);
  const bool again = q->closed && (!cancel_enqueues || q->cancel_enqueues);
  q->closed = true;
  q->cancel_enqueues |= cancel_enqueues;
  fy_cond_broadcast(&q->changed);
  fy_unlock(&q->lock);
  return again ? fy_fail(err, FY_CANCELLED, "Queue '%s' is already closed.", q->name) : FY_OK;
}
