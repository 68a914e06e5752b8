// SPDX-License-Identifier: Apache-2.0
// opencl_segment.c: unsorted segments, scatters into rows of variables, Bucketize, Where.
//
// Which rows go where only the indices tell. They are few against the rows themselves, so the host reads
// them, checks them and lists the rows of each place; the rows never leave the device, and every result
// is summed in the order of the CPU.

#include "devices/opencl/opencl_impl.h"

#ifdef FY_OPENCL

#include <float.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/alloc.h"
#include "memory/pool.h"
#include "ops/resource.h"
#include "ops/variable.h"

static bool computes(fy_dtype t) {
  return t == FY_FLOAT || t == FY_DOUBLE || t == FY_HALF || t == FY_BFLOAT16 || t == FY_INT32 ||
         t == FY_INT64;
}

// The indices where the host can read them.
static fy_code to_host(fy_ocl_call *c, fy_tensor *t, fy_tensor **out, fy_error *err) {
  for (int i = 0; i < c->num_after; i++)
    if (c->after[i].device)
      FY_TRY((fy_code)c->after[i].device->ops->wait(c->after[i].device, &c->after[i], err));
  return fy_memory_copy_tensor(t, NULL, out, err);
}

static fy_code upload(fy_ocl_call *c, const void *from, size_t bytes, void **out, fy_error *err) {
  fy_event done = {0};
  FY_TRY(fy_ocl_scratch(c, bytes, out, err));
  return (fy_code)fy_ocl_copy(c->ocl->device, FY_COPY_HOST_TO_DEVICE, *out, from, bytes, NULL, NULL,
                              &done, err);
}

typedef struct lists {
  int32_t *order, *start;
  int64_t *place;   // of scatters: the row that each list goes to
  int64_t n, used;  // lists, rows in them
} lists;

static void drop(lists *l) {
  fy_free(l->order);
  fy_free(l->start);
  fy_free(l->place);
}

// One list per segment. FY_OCL_DETOUR: an index is out of range.
static fy_code by_segment(const fy_tensor *ids, int64_t segments, lists *l, fy_error *err) {
  l->n = segments;
  l->start = fy_calloc((size_t)segments + 2, sizeof *l->start);
  l->order = fy_calloc((size_t)ids->count + 1, sizeof *l->order);
  if (!l->start || !l->order) return fy_fail_oom(err, (size_t)segments * sizeof *l->start);
  for (int64_t i = 0; i < ids->count; i++) {
    const int64_t id = fy_tensor_int(ids, i);
    if (id >= segments) return FY_OCL_DETOUR;
    if (id >= 0) l->start[id + 2]++;
  }
  for (int64_t s = 2; s < segments + 2; s++) l->start[s] += l->start[s - 1];
  for (int64_t i = 0; i < ids->count; i++) {
    const int64_t id = fy_tensor_int(ids, i);
    if (id < 0) continue;
    l->order[l->start[id + 1]++] = (int32_t)i;
    l->used++;
  }
  return FY_OK;  // start[s + 1] was the place of the next row: now it is where s ends
}

static int by_place(const void *a, const void *b) {
  const int64_t *x = a, *y = b;
  return x[0] < y[0] ? -1 : x[0] > y[0] ? 1 : x[1] < y[1] ? -1 : 1;
}

// One list per row that is written.
static fy_code by_row(const fy_tensor *ids, int64_t rows, lists *l, fy_error *err) {
  int64_t(*pairs)[2] = fy_calloc((size_t)ids->count + 1, sizeof *pairs);
  l->start = fy_calloc((size_t)ids->count + 2, sizeof *l->start);
  l->order = fy_calloc((size_t)ids->count + 1, sizeof *l->order);
  l->place = fy_calloc((size_t)ids->count + 1, sizeof *l->place);
  fy_code code = pairs && l->start && l->order && l->place
                     ? FY_OK
                     : fy_fail_oom(err, (size_t)ids->count * sizeof *pairs);
  for (int64_t i = 0; !code && i < ids->count; i++) {
    pairs[i][0] = fy_tensor_int(ids, i);
    pairs[i][1] = i;
    if (pairs[i][0] < 0 || pairs[i][0] >= rows) code = FY_OCL_DETOUR;
  }
  if (!code) qsort(pairs, (size_t)ids->count, sizeof *pairs, by_place);
  for (int64_t i = 0; !code && i < ids->count; i++) {
    if (!i || pairs[i][0] != pairs[i - 1][0]) {
      l->start[l->n] = (int32_t)i;
      l->place[l->n++] = pairs[i][0];
    }
    l->order[i] = (int32_t)pairs[i][1];
    l->start[l->n] = (int32_t)(i + 1);
  }
  l->used = ids->count;
  fy_free(pairs);
  return code;
}

static fy_code add_lists(fy_ocl_call *c, fy_ocl_args *a, const lists *l, fy_error *err) {
  void *order, *start, *place;
  const size_t rows = (size_t)l->used * sizeof *l->order + sizeof *l->order;
  const size_t ends = ((size_t)l->n + 1) * sizeof *l->start;
  FY_TRY(upload(c, l->order, rows, &order, err));
  FY_TRY(upload(c, l->start, ends, &start, err));
  fy_ocl_add_memory(a, order, rows, sizeof *l->order, false);
  fy_ocl_add_memory(a, start, ends, sizeof *l->start, false);
  if (!l->place) return FY_OK;
  const size_t places = (size_t)l->n * sizeof *l->place;
  FY_TRY(upload(c, l->place, places, &place, err));
  fy_ocl_add_memory(a, place, places, sizeof *l->place, false);
  return FY_OK;
}

// What a segment without rows is.
static void add_first(fy_ocl_args *a, fy_dtype t, int join) {
  const double most = t == FY_DOUBLE     ? DBL_MAX
                      : t == FY_HALF     ? 65504.0
                      : t == FY_BFLOAT16 ? 3.38953139e38
                                         : (double)FLT_MAX;
  const int64_t high = t == FY_INT32 ? INT32_MAX : INT64_MAX, low = -high - 1;
  if (join == 3)
    fy_ocl_add_number(a, t, most, high);
  else if (join == 4)
    fy_ocl_add_number(a, t, -most, low);
  else
    fy_ocl_add_number(a, t, join == 2, join == 2);
}

fy_code fy_ocl_unsorted_segment(fy_ocl_call *c, int join, fy_error *err) {
  const fy_tensor *data = c->ctx.in[0], *number = c->ctx.in[2];
  fy_tensor *ids = c->ctx.in[1], *host = NULL, *out;
  if (number->device || number->rank || !fy_ocl_here(c, data) || data->rank < ids->rank ||
      !fy_shape_equal(ids->rank, ids->dims, ids->rank, data->dims) || !data->count ||
      data->count / ids->count > INT32_MAX || ids->count >= INT32_MAX || !computes(data->dtype))
    return FY_OCL_DETOUR;
  const int64_t n = fy_tensor_int(number, 0), inner = data->count / ids->count;
  int64_t dims[FY_MAX_RANK + 1];
  int32_t rank = 1;
  if (n <= 0 || n >= INT32_MAX - 2) return FY_OCL_DETOUR;
  dims[0] = n;
  for (int32_t d = ids->rank; d < data->rank; d++) dims[rank++] = data->dims[d];
  if (rank > FY_MAX_RANK) return FY_OCL_DETOUR;
  lists l = {0};
  fy_code code = to_host(c, ids, &host, err);
  if (!code) code = by_segment(host, n, &l, err);
  fy_tensor_release(host);
  if (!code) code = fy_ocl_output_dims(c, 0, rank, dims, &out, err);
  if (!code) {
    char options[160];
    fy_ocl_args a;
    snprintf(options, sizeof options, "%s -DJOIN=%d", fy_ocl_options(data->dtype), join);
    fy_ocl_args_init(&a, c);
    fy_ocl_add_in(&a, data);
    code = add_lists(c, &a, &l, err);
    fy_ocl_add_out(&a, out);
    fy_ocl_add_long(&a, out->count);
    fy_ocl_add_long(&a, inner);
    add_first(&a, data->dtype, join);
    if (!code)
      code = fy_ocl_run(&a, fy_ocl_src_segment, options, "segments", out->count, false, err);
  }
  drop(&l);
  return code;
}

// The value of |v|, which is locked, here and nobody else's.
static fy_code own(fy_ocl_call *c, fy_variable *v, fy_tensor **garbage, fy_error *err) {
  FY_TRY(fy_variable_settle(&c->ctx, v, garbage, err));
  fy_variable_forget(v);
  fy_tensor *old = v->value, *fresh;
  if (!fy_ocl_here(c, old)) return FY_OCL_DETOUR;
  if (fy_tensor_is_exclusive(old)) return FY_OK;
  FY_TRY(fy_memory_tensor(c->ocl->device, old->dtype, old->rank, old->dims, v->name, &fresh, err));
  fy_event done = {0};
  fy_code code =
      (fy_code)fy_ocl_copy(c->ocl->device, FY_COPY_DEVICE_TO_DEVICE, fresh->data, old->data,
                           fy_tensor_bytes(old), c->ocl->device, NULL, &done, err);
  if (code) {
    fy_tensor_release(fresh);
    return code;
  }
  v->value = fresh;
  *garbage = old;
  return FY_OK;
}

static fy_code scatter_locked(fy_ocl_call *c, fy_variable *v, int join, fy_tensor **garbage,
                              fy_error *err) {
  fy_tensor *indices = c->ctx.in[1], *host = NULL;
  const fy_tensor *updates = c->ctx.in[2], *value = v->value;
  const bool one = updates->rank == 0;
  if (!value || value->dtype != updates->dtype || !computes(value->dtype) || value->rank < 1 ||
      !value->count || !indices->count || indices->count >= INT32_MAX - 1 ||
      !fy_ocl_here(c, updates))
    return FY_OCL_DETOUR;
  const int64_t inner = value->count / value->dims[0];
  if (!one && (updates->rank != indices->rank + value->rank - 1 ||
               !fy_shape_equal(indices->rank, indices->dims, indices->rank, updates->dims) ||
               !fy_shape_equal(value->rank - 1, value->dims + 1, value->rank - 1,
                               updates->dims + indices->rank)))
    return FY_OCL_DETOUR;
  lists l = {0};
  fy_code code = to_host(c, indices, &host, err);
  if (!code) code = by_row(host, value->dims[0], &l, err);
  fy_tensor_release(host);
  if (!code) code = own(c, v, garbage, err);
  if (!code) {
    char options[160];
    fy_ocl_args a;
    snprintf(options, sizeof options, "%s -DJOIN=%d", fy_ocl_options(updates->dtype), join);
    fy_ocl_args_init(&a, c);
    fy_ocl_add_in(&a, updates);
    code = add_lists(c, &a, &l, err);
    fy_ocl_add_out(&a, v->value);
    fy_ocl_add_long(&a, l.n * inner);
    fy_ocl_add_long(&a, inner);
    fy_ocl_add_int(&a, one);
    if (!code)
      code = fy_ocl_run(&a, fy_ocl_src_segment, options, "scatter_rows", l.n * inner, false, err);
  }
  drop(&l);
  return code;
}

fy_code fy_ocl_scatter(fy_ocl_call *c, int join, fy_error *err) {
  fy_object *object = NULL;
  fy_tensor *garbage = NULL;
  if (fy_resource_object(c->ctx.in[0], &fy_variable_type, &object, NULL)) return FY_OCL_DETOUR;
  fy_variable *v = (fy_variable *)object;
  fy_lock(&v->lock);
  fy_code code = scatter_locked(c, v, join, &garbage, err);
  fy_unlock(&v->lock);
  fy_tensor_release(garbage);
  return code;
}

fy_code fy_ocl_bucketize(fy_ocl_call *c, int arg, fy_error *err) {
  const fy_tensor *in = c->ctx.in[0];
  const fy_attr *edges = fy_site_attr(c->ctx.site, "boundaries");
  const uint32_t n = edges ? edges->n : 0;
  fy_tensor *out;
  void *there;
  (void)arg;
  for (uint32_t i = 1; i < n; i++)
    if (edges->v.floats[i] < edges->v.floats[i - 1]) return FY_OCL_DETOUR;
  if (!fy_ocl_here(c, in) || !n) return FY_OCL_DETOUR;
  FY_TRY(fy_ocl_output_dims(c, 0, in->rank, in->dims, &out, err));
  if (!out->count) return FY_OK;
  FY_TRY(upload(c, edges->v.floats, n * sizeof(float), &there, err));
  char options[160];
  fy_ocl_args a;
  snprintf(options, sizeof options, "%s -DEDGE=%s", fy_ocl_options(in->dtype),
           in->dtype == FY_DOUBLE ? "double" : "float");
  fy_ocl_args_init(&a, c);
  fy_ocl_add_in(&a, in);
  fy_ocl_add_memory(&a, there, n * sizeof(float), sizeof(float), false);
  fy_ocl_add_out(&a, out);
  fy_ocl_add_long(&a, out->count);
  fy_ocl_add_long(&a, n);
  return fy_ocl_run(&a, fy_ocl_src_segment, options, "buckets", out->count, false, err);
}

#define LOOKED_AT 256  // elements by an item

fy_code fy_ocl_where(fy_ocl_call *c, int arg, fy_error *err) {
  const fy_tensor *in = c->ctx.in[0];
  const int64_t items = (in->count + LOOKED_AT - 1) / LOOKED_AT;
  fy_ocl_geo g = {.rank = in->rank};
  fy_tensor *out;
  void *counted, *begins;
  (void)arg;
  if (!fy_ocl_here(c, in) || in->rank < 1 || in->rank > FY_OCL_DIMS || !in->count)
    return FY_OCL_DETOUR;
  for (int32_t d = 0; d < in->rank; d++) g.dims[d] = in->dims[d];
  int32_t *counts = fy_arena_array(&c->arena, (size_t)items, sizeof *counts);
  int64_t *first = fy_arena_array(&c->arena, (size_t)items, sizeof *first), total = 0;
  if (!counts || !first) return fy_fail_oom(err, (size_t)items * sizeof *first);
  char options[160];
  snprintf(options, sizeof options, "%s -DWHERE=%d", fy_ocl_options(in->dtype), LOOKED_AT);
  const size_t bytes = (size_t)items * sizeof *counts;
  FY_TRY(fy_ocl_scratch(c, bytes, &counted, err));
  fy_ocl_args a;
  fy_ocl_args_init(&a, c);
  fy_ocl_add_in(&a, in);
  fy_ocl_add_memory(&a, counted, bytes, sizeof *counts, true);
  fy_ocl_add_long(&a, items);
  fy_ocl_add_long(&a, in->count);
  FY_TRY(fy_ocl_run(&a, fy_ocl_src_segment, options, "where_count", items, false, err));
  fy_event done = {0};
  FY_TRY((fy_code)fy_ocl_copy(c->ocl->device, FY_COPY_DEVICE_TO_HOST, counts, counted, bytes, NULL,
                              &c->done, &done, err));
  if (done.device) FY_TRY((fy_code)fy_ocl_wait(c->ocl->device, &done, err));
  for (int64_t i = 0; i < items; i++) {
    first[i] = total;
    total += counts[i];
  }
  FY_TRY(fy_ocl_output_dims(c, 0, 2, (int64_t[]){total, in->rank}, &out, err));
  if (!out->count) return FY_OK;
  FY_TRY(upload(c, first, (size_t)items * sizeof *first, &begins, err));
  fy_ocl_args_init(&a, c);
  fy_ocl_add_in(&a, in);
  fy_ocl_add_memory(&a, begins, (size_t)items * sizeof *first, sizeof *first, false);
  fy_ocl_add_out(&a, out);
  fy_ocl_add_long(&a, items);
  fy_ocl_add_long(&a, in->count);
  fy_ocl_add_value(&a, &g, sizeof g);
  return fy_ocl_run(&a, fy_ocl_src_segment, options, "where_write", items, false, err);
}

#else
typedef int fy_opencl_segment_is_empty;
#endif
