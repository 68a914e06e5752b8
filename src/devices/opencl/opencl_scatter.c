// SPDX-License-Identifier: Apache-2.0
// opencl_scatter.c: rows that are written to the places that indices name: of variables (ResourceScatter…,
// ResourceScatterNd…), of a copy (TensorScatter…), of zeros (ScatterNd).

#include "devices/opencl/opencl_impl.h"

#ifdef FY_OPENCL

#include "memory/pool.h"
#include "ops/resource.h"
#include "ops/variable.h"

fy_code fy_ocl_own_variable(fy_ocl_call *c, fy_variable *v, fy_tensor **garbage, fy_error *err) {
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

// What a scatter writes to: |depth| indices name a place of |dims|, whose rows have |inner| elements.
typedef struct target {
  int32_t rank, depth;
  const int64_t *dims;
  int64_t inner;
} target;

// Whether indices and updates fit; else the host words the error, or has the rule for it (a vector of
// indices). |nd|: the last dimension of the indices is the depth.
static bool fits(fy_ocl_call *c, const fy_tensor *indices, const fy_tensor *updates, bool nd,
                 bool scalar, target *t) {
  const int32_t outer = nd ? indices->rank - 1 : indices->rank;
  if (outer < (nd ? 1 : 0) || (nd && updates->rank < 1) || !indices->count || !updates->count ||
      !fy_ocl_here(c, updates) || !fy_ocl_joins(updates->dtype))
    return false;
  const int64_t depth = nd ? indices->dims[outer] : 1;
  if (depth < 1 || depth > t->rank || indices->count / depth >= INT32_MAX - 1) return false;
  t->depth = (int32_t)depth;
  t->inner = 1;
  for (int32_t d = t->depth; d < t->rank; d++) t->inner *= t->dims[d];
  if (scalar && updates->rank == 0) return t->inner > 0;
  return updates->rank == outer + t->rank - t->depth &&
         fy_shape_equal(outer, indices->dims, outer, updates->dims) &&
         fy_shape_equal(t->rank - t->depth, t->dims + t->depth, t->rank - t->depth,
                        updates->dims + outer);
}

static fy_code scatter_locked(fy_ocl_call *c, fy_variable *v, int how, fy_tensor **garbage,
                              fy_error *err) {
  fy_tensor *indices = c->ctx.in[1];
  const fy_tensor *updates = c->ctx.in[2], *value = v->value;
  const bool nd = how & FY_OCL_ND;
  if (!value || value->dtype != updates->dtype || !value->count || value->rank < 1)
    return FY_OCL_DETOUR;
  target t = {.rank = value->rank, .dims = value->dims};
  if (!fits(c, indices, updates, nd, !nd, &t)) return FY_OCL_DETOUR;
  fy_ocl_lists l = {0};
  fy_code code = fy_ocl_list_places(c, indices, t.depth, t.dims, &l, err);
  if (!code) code = fy_ocl_own_variable(c, v, garbage, err);
  if (!code)
    code = fy_ocl_join_rows(c, &l, false, how & ~FY_OCL_ND, updates, t.inner, v->value, err);
  fy_ocl_lists_drop(&l);
  return code;
}

fy_code fy_ocl_scatter(fy_ocl_call *c, int how, fy_error *err) {
  fy_object *object = NULL;
  fy_tensor *garbage = NULL;
  if (fy_resource_object(c->ctx.in[0], &fy_variable_type, &object, NULL)) return FY_OCL_DETOUR;
  fy_variable *v = (fy_variable *)object;
  fy_lock(&v->lock);
  fy_code code = scatter_locked(c, v, how, &garbage, err);
  fy_unlock(&v->lock);
  fy_tensor_release(garbage);
  return code;
}

static fy_code write_places(fy_ocl_call *c, int join, fy_tensor *indices, const fy_tensor *updates,
                            const fy_tensor *from, const target *t, fy_error *err) {
  fy_ocl_lists l = {0};
  fy_tensor *out;
  fy_event done = {0};
  fy_code code = fy_ocl_list_places(c, indices, t->depth, t->dims, &l, err);
  if (!code) code = fy_ocl_output_dims(c, 0, t->rank, t->dims, &out, err);
  if (!code && from && from->data != out->data)
    code = (fy_code)fy_ocl_copy(c->ocl->device, FY_COPY_DEVICE_TO_DEVICE, out->data, from->data,
                                fy_tensor_bytes(from), c->ocl->device, NULL, &done, err);
  if (!code && !from) code = fy_ocl_fill(c, out, NULL, err);
  if (!code) code = fy_ocl_join_rows(c, &l, false, join, updates, t->inner, out, err);
  fy_ocl_lists_drop(&l);
  return code;
}

fy_code fy_ocl_tensor_scatter(fy_ocl_call *c, int join, fy_error *err) {
  const fy_tensor *from = c->ctx.in[0];
  target t = {.rank = from->rank, .dims = from->dims};
  if (!fy_ocl_here(c, from) || !from->count ||
      !fits(c, c->ctx.in[1], c->ctx.in[2], true, false, &t))
    return FY_OCL_DETOUR;
  return write_places(c, join, c->ctx.in[1], c->ctx.in[2], from, &t, err);
}

fy_code fy_ocl_scatter_nd(fy_ocl_call *c, int join, fy_error *err) {
  const fy_tensor *shape = c->ctx.in[2];
  int64_t dims[FY_MAX_RANK];
  if (shape->device || shape->rank != 1 || shape->count < 1 || shape->count > FY_MAX_RANK)
    return FY_OCL_DETOUR;
  for (int64_t d = 0; d < shape->count; d++) {
    dims[d] = fy_tensor_int(shape, d);
    if (dims[d] <= 0) return FY_OCL_DETOUR;
  }
  target t = {.rank = (int32_t)shape->count, .dims = dims};
  if (!fits(c, c->ctx.in[0], c->ctx.in[1], true, false, &t)) return FY_OCL_DETOUR;
  return write_places(c, join, c->ctx.in[0], c->ctx.in[1], NULL, &t, err);
}

#else
typedef int fy_opencl_scatter_is_empty;
#endif
