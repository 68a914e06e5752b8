// SPDX-License-Identifier: Apache-2.0
// opencl_lists.c: which rows go where, as the indices say.
//
// Indices are few against the rows themselves, so the host reads them, checks them and lists the rows of
// each place; the rows never leave the device, and every result is summed in the order of the CPU.

#include "devices/opencl/opencl_impl.h"

#ifdef FY_OPENCL

#include <float.h>
#include <stdio.h>
#include <stdlib.h>

#include "base/alloc.h"
#include "memory/pool.h"

bool fy_ocl_joins(fy_dtype t) {
  return t == FY_FLOAT || t == FY_DOUBLE || t == FY_HALF || t == FY_BFLOAT16 || t == FY_INT32 ||
         t == FY_INT64;
}

fy_code fy_ocl_to_host(fy_ocl_call *c, fy_tensor *t, fy_tensor **out, fy_error *err) {
  for (int i = 0; i < c->num_after; i++)
    if (c->after[i].device)
      FY_TRY((fy_code)c->after[i].device->ops->wait(c->after[i].device, &c->after[i], err));
  return fy_memory_copy_tensor(t, NULL, out, err);
}

fy_code fy_ocl_send(fy_ocl_call *c, const void *from, size_t bytes, void **out, fy_error *err) {
  fy_event done = {0};
  FY_TRY(fy_ocl_scratch(c, bytes, out, err));
  return (fy_code)fy_ocl_copy(c->ocl->device, FY_COPY_HOST_TO_DEVICE, *out, from, bytes, NULL, NULL,
                              &done, err);
}

void fy_ocl_lists_drop(fy_ocl_lists *l) {
  fy_free(l->order);
  fy_free(l->start);
  fy_free(l->place);
}

fy_code fy_ocl_list_segments(const int64_t *ids, int64_t count, int64_t segments, fy_ocl_lists *l,
                             fy_error *err) {
  l->n = segments;
  l->start = fy_calloc((size_t)segments + 2, sizeof *l->start);
  l->order = fy_calloc((size_t)count + 1, sizeof *l->order);
  if (!l->start || !l->order) return fy_fail_oom(err, (size_t)segments * sizeof *l->start);
  for (int64_t i = 0; i < count; i++)
    if (ids[i] >= 0) l->start[ids[i] + 2]++;
  for (int64_t s = 2; s < segments + 2; s++) l->start[s] += l->start[s - 1];
  for (int64_t i = 0; i < count; i++) {
    if (ids[i] < 0) continue;
    l->order[l->start[ids[i] + 1]++] = (int32_t)i;
    l->used++;
  }
  return FY_OK;  // start[s + 1] was the place of the next row: now it is where s ends
}

static int by_place(const void *a, const void *b) {
  const int64_t *x = a, *y = b;
  return x[0] < y[0] ? -1 : x[0] > y[0] ? 1 : x[1] < y[1] ? -1 : 1;
}

// The place that |depth| indices name among |dims|; -1: none.
static int64_t place_of(const fy_tensor *indices, int64_t i, int32_t depth, const int64_t *dims) {
  int64_t at = 0;
  for (int32_t d = 0; d < depth; d++) {
    const int64_t k = fy_tensor_int(indices, i * depth + d);
    if (k < 0 || k >= dims[d]) return -1;
    at = at * dims[d] + k;
  }
  return at;
}

fy_code fy_ocl_list_places(fy_ocl_call *c, fy_tensor *indices, int32_t depth, const int64_t *dims,
                           fy_ocl_lists *l, fy_error *err) {
  fy_tensor *host;
  FY_TRY(fy_ocl_to_host(c, indices, &host, err));
  const int64_t n = host->count / depth;
  int64_t(*pairs)[2] = fy_calloc((size_t)n + 1, sizeof *pairs);
  l->start = fy_calloc((size_t)n + 2, sizeof *l->start);
  l->order = fy_calloc((size_t)n + 1, sizeof *l->order);
  l->place = fy_calloc((size_t)n + 1, sizeof *l->place);
  fy_code code = pairs && l->start && l->order && l->place
                     ? FY_OK
                     : fy_fail_oom(err, (size_t)n * sizeof *pairs);
  for (int64_t i = 0; !code && i < n; i++) {
    pairs[i][0] = place_of(host, i, depth, dims);
    pairs[i][1] = i;
    if (pairs[i][0] < 0) code = FY_OCL_DETOUR;
  }
  fy_tensor_release(host);
  if (!code) qsort(pairs, (size_t)n, sizeof *pairs, by_place);
  for (int64_t i = 0; !code && i < n; i++) {
    if (!i || pairs[i][0] != pairs[i - 1][0]) {
      l->start[l->n] = (int32_t)i;
      l->place[l->n++] = pairs[i][0];
    }
    l->order[i] = (int32_t)pairs[i][1];
    l->start[l->n] = (int32_t)(i + 1);
  }
  l->used = n;
  fy_free(pairs);
  return code;
}

fy_code fy_ocl_add_lists(fy_ocl_call *c, fy_ocl_args *a, const fy_ocl_lists *l, fy_error *err) {
  void *order, *start, *place;
  const size_t rows = (size_t)l->used * sizeof *l->order + sizeof *l->order;
  const size_t ends = ((size_t)l->n + 1) * sizeof *l->start;
  FY_TRY(fy_ocl_send(c, l->order, rows, &order, err));
  FY_TRY(fy_ocl_send(c, l->start, ends, &start, err));
  fy_ocl_add_memory(a, order, rows, sizeof *l->order, false);
  fy_ocl_add_memory(a, start, ends, sizeof *l->start, false);
  if (!l->place) return FY_OK;
  const size_t places = (size_t)l->n * sizeof *l->place;
  FY_TRY(fy_ocl_send(c, l->place, places, &place, err));
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

fy_code fy_ocl_join_rows(fy_ocl_call *c, const fy_ocl_lists *l, bool segments, int join,
                         const fy_tensor *x, int64_t inner, fy_tensor *y, fy_error *err) {
  const int64_t n = l->n * inner;
  char options[160];
  fy_ocl_args a;
  snprintf(options, sizeof options, "%s -DJOIN=%d", fy_ocl_options(y->dtype), join);
  fy_ocl_args_init(&a, c);
  fy_ocl_add_in(&a, x);
  FY_TRY(fy_ocl_add_lists(c, &a, l, err));
  fy_ocl_add_out(&a, y);
  fy_ocl_add_long(&a, n);
  fy_ocl_add_long(&a, inner);
  if (segments)
    add_first(&a, y->dtype, join);
  else
    fy_ocl_add_int(&a, x->rank == 0);
  return fy_ocl_run(&a, fy_ocl_src_segment, options, segments ? "segments" : "scatter_rows", n,
                    false, err);
}

#else
typedef int fy_opencl_lists_is_empty;
#endif
