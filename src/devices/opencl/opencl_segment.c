// SPDX-License-Identifier: Apache-2.0
// opencl_segment.c: unsorted segments, counting into bins, Bucketize, Where.

#include "devices/opencl/opencl_impl.h"

#ifdef FY_OPENCL

#include <stdio.h>

#include "base/alloc.h"

// The numbers of |t| for the call, on the host; of those outside [0, limit) -1 where |skip| says so, and
// FY_OCL_DETOUR elsewhere: the host words the error.
static fy_code read_ids(fy_ocl_call *c, fy_tensor *t, int64_t limit, bool skip_low, bool skip_high,
                        int64_t **out, fy_error *err) {
  fy_tensor *host;
  FY_TRY(fy_ocl_to_host(c, t, &host, err));
  int64_t *ids = *out = fy_arena_array(&c->arena, (size_t)host->count + 1, sizeof *ids);
  fy_code code = ids ? FY_OK : fy_fail_oom(err, (size_t)host->count * sizeof *ids);
  for (int64_t i = 0; !code && i < host->count; i++) {
    ids[i] = fy_tensor_int(host, i);
    if (ids[i] < 0 ? !skip_low : ids[i] >= limit && !skip_high) code = FY_OCL_DETOUR;
    if (ids[i] < 0 || ids[i] >= limit) ids[i] = -1;
  }
  fy_tensor_release(host);
  return code;
}

fy_code fy_ocl_unsorted_segment(fy_ocl_call *c, int join, fy_error *err) {
  const fy_tensor *data = c->ctx.in[0], *number = c->ctx.in[2];
  fy_tensor *ids = c->ctx.in[1], *out;
  if (number->device || number->rank || !fy_ocl_here(c, data) || data->rank < ids->rank ||
      !fy_shape_equal(ids->rank, ids->dims, ids->rank, data->dims) || !data->count ||
      data->count / ids->count > INT32_MAX || ids->count >= INT32_MAX || !fy_ocl_joins(data->dtype))
    return FY_OCL_DETOUR;
  const int64_t n = fy_tensor_int(number, 0), inner = data->count / ids->count;
  int64_t dims[FY_MAX_RANK + 1], *numbers;
  int32_t rank = 1;
  if (n <= 0 || n >= INT32_MAX - 2) return FY_OCL_DETOUR;
  dims[0] = n;
  for (int32_t d = ids->rank; d < data->rank; d++) dims[rank++] = data->dims[d];
  if (rank > FY_MAX_RANK) return FY_OCL_DETOUR;
  fy_ocl_lists l = {0};
  FY_TRY(read_ids(c, ids, n, true, false, &numbers, err));
  fy_code code = fy_ocl_list_segments(numbers, ids->count, n, &l, err);
  if (!code) code = fy_ocl_output_dims(c, 0, rank, dims, &out, err);
  if (!code) code = fy_ocl_join_rows(c, &l, true, join, data, inner, out, err);
  fy_ocl_lists_drop(&l);
  return code;
}

// How many there are of each number, or (|once|) whether there are any.
static fy_code count_rows(fy_ocl_call *c, const fy_ocl_lists *l, bool once, fy_tensor *out,
                          fy_error *err) {
  void *start;
  char options[160];
  fy_ocl_args a;
  const size_t ends = ((size_t)l->n + 1) * sizeof *l->start;
  snprintf(options, sizeof options, "%s -DJOIN=0", fy_ocl_options(out->dtype));
  FY_TRY(fy_ocl_send(c, l->start, ends, &start, err));
  fy_ocl_args_init(&a, c);
  fy_ocl_add_memory(&a, start, ends, sizeof *l->start, false);
  fy_ocl_add_out(&a, out);
  fy_ocl_add_long(&a, l->n);
  fy_ocl_add_int(&a, once);
  return fy_ocl_run(&a, fy_ocl_src_segment, options, "segment_sizes", l->n, false, err);
}

// DenseBincount: each row of the input has bins of its own.
fy_code fy_ocl_bincount(fy_ocl_call *c, int arg, fy_error *err) {
  fy_tensor *in = c->ctx.in[0], *out;
  const fy_tensor *number = c->ctx.in[1], *weights = c->ctx.in[2];
  const bool once = fy_site_bool(c->ctx.site, "binary_output");
  (void)arg;
  if (in->rank > 2 || number->device || number->rank || !in->count || in->count >= INT32_MAX ||
      (weights->count && (!fy_ocl_here(c, weights) ||
                          !fy_shape_equal(in->rank, in->dims, weights->rank, weights->dims))))
    return FY_OCL_DETOUR;
  const int64_t size = fy_tensor_int(number, 0), rows = in->rank == 2 ? in->dims[0] : 1;
  const int64_t each = in->count / rows, dims[2] = {rows, size};
  if (size <= 0 || size >= (INT32_MAX - 2) / rows) return FY_OCL_DETOUR;
  int64_t *ids;
  FY_TRY(read_ids(c, in, size, false, true, &ids, err));
  for (int64_t i = 0; i < in->count; i++)
    if (ids[i] >= 0) ids[i] += i / each * size;
  fy_ocl_lists l = {0};
  fy_code code = fy_ocl_list_segments(ids, in->count, rows * size, &l, err);
  if (!code)
    code =
        fy_ocl_output_dims(c, 0, in->rank == 2 ? 2 : 1, in->rank == 2 ? dims : dims + 1, &out, err);
  if (!code)
    code = weights->count && !once ? fy_ocl_join_rows(c, &l, true, 0, weights, 1, out, err)
                                   : count_rows(c, &l, once, out, err);
  fy_ocl_lists_drop(&l);
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
  FY_TRY(fy_ocl_send(c, edges->v.floats, n * sizeof(float), &there, err));
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
  FY_TRY(fy_ocl_send(c, first, (size_t)items * sizeof *first, &begins, err));
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
