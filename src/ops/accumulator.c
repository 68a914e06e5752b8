// SPDX-License-Identifier: Apache-2.0
// accumulator.c: ConditionalAccumulator and SparseConditionalAccumulator: gradients of a step are
// summed until enough have come; those of an older step are dropped.

#include <string.h>

#include "base/alloc.h"
#include "ops/elementwise.h"
#include "ops/named.h"
#include "ops/shape_fns.h"
#include "ops/values.h"

typedef struct accumulator {
  fy_object object;
  fy_mutex lock;
  fy_cond changed;
  fy_dtype dtype;
  int32_t rank;  // declared; -1 unknown
  int64_t dims[FY_MAX_RANK];
  int64_t step, count;
  bool mean;
  fy_tensor *sum;  // dense: the value; sparse: [rows, …]
  // sparse: which rows, ascending, and how often each came
  int64_t *rows, *times;
  int64_t num_rows;
  fy_tensor *shape;  // as given by the last gradient
} accumulator;

static void forget(accumulator *a) {
  fy_tensor_release(a->sum);
  fy_tensor_release(a->shape);
  fy_free(a->rows);
  fy_free(a->times);
  a->sum = a->shape = NULL;
  a->rows = a->times = NULL;
  a->num_rows = a->count = 0;
}

static void destroy(fy_object *self) {
  accumulator *a = (accumulator *)self;
  forget(a);
  fy_cond_destroy(&a->changed);
  fy_mutex_destroy(&a->lock);
  fy_free(a);
}

static const fy_object_type accumulator_type = {"N10tensorflow26ConditionalAccumulatorBaseE",
                                                destroy};

static fy_code make(fy_view container, fy_view name, const void *arg, fy_object **out,
                    fy_error *err) {
  const fy_site *site = arg;
  const fy_attr *shape = fy_site_attr(site, "shape");
  (void)container, (void)name;
  accumulator *a = fy_calloc(1, sizeof *a);
  if (!a) return fy_fail_oom(err, sizeof *a);
  atomic_init(&a->object.refs, 1);
  a->object.type = &accumulator_type;
  fy_mutex_init(&a->lock);
  fy_cond_init(&a->changed);
  a->dtype = fy_site_type(site, "dtype");
  a->mean = !fy_view_is(fy_site_string(site, "reduction_type"), "SUM");
  a->rank = shape && shape->kind == FY_ATTR_SHAPE ? shape->v.shape.rank : -1;
  if (a->rank > FY_MAX_RANK) a->rank = -1;
  for (int32_t d = 0; d < a->rank; d++) a->dims[d] = shape->v.shape.dims[d];
  *out = &a->object;
  return FY_OK;
}

static fy_code handle(fy_kernel_ctx *ctx, fy_error *err) {
  return fy_named_handle(ctx, &accumulator_type, make, err);
}

static fy_code open_accumulator(fy_kernel_ctx *ctx, accumulator **out, fy_error *err) {
  fy_object *o;
  *out = NULL;
  FY_TRY(fy_resource_object(ctx->in[0], &accumulator_type, &o, err));
  *out = (accumulator *)o;
  return FY_OK;
}

static bool fits(const accumulator *a, int32_t rank, const int64_t *dims) {
  if (a->rank < 0) return true;
  if (a->rank != rank) return false;
  for (int32_t d = 0; d < rank; d++)
    if (a->dims[d] >= 0 && dims[d] >= 0 && a->dims[d] != dims[d]) return false;
  return true;
}

static fy_code check_step(const fy_tensor *step, fy_error *err) {
  if (step->rank == 0) return FY_OK;
  return fy_fail(err, FY_INVALID_ARGUMENT, "Argument local_step should be a scalar");
}

static fy_code add_into(fy_tensor *to, int64_t at, const fy_tensor *from, int64_t from_at,
                        int64_t n, fy_error *err) {
  const fy_binary_loop loop = fy_add_loops.loop[to->dtype];
  const size_t size = fy_dtype_storage(to->dtype);
  char *p = (char *)to->data + (size_t)at * size;
  int bad = 0;
  if (!loop)
    return fy_fail(err, FY_UNIMPLEMENTED, "No sum of %s tensors", fy_dtype_name(to->dtype));
  if (n) loop(p, 1, (const char *)from->data + (size_t)from_at * size, 1, p, n, &bad);
  return FY_OK;
}

// |n| elements at |at| divided by |by|.
static fy_code divide(fy_tensor *t, int64_t at, int64_t n, int64_t by, fy_error *err) {
  for (int64_t i = at; i < at + n; i++) {
    switch (t->dtype) {
      case FY_FLOAT: ((float *)t->data)[i] /= (float)by; break;
      case FY_DOUBLE: ((double *)t->data)[i] /= (double)by; break;
      case FY_HALF: {
        uint16_t *h = (uint16_t *)t->data + i;
        *h = fy_st_half(fy_ld_half(*h) / (float)by);
        break;
      }
      case FY_BFLOAT16: {
        uint16_t *h = (uint16_t *)t->data + i;
        *h = fy_float_to_bfloat16(fy_bfloat16_to_float(*h) / (float)by);
        break;
      }
      case FY_INT32: ((int32_t *)t->data)[i] /= (int32_t)by; break;
      case FY_INT64: ((int64_t *)t->data)[i] /= by; break;
      default:
        return fy_fail(err, FY_UNIMPLEMENTED, "No mean of %s tensors", fy_dtype_name(t->dtype));
    }
  }
  return FY_OK;
}

// ---------------------------------------------------------------- dense
static fy_code apply_locked(accumulator *a, const fy_tensor *g, fy_error *err) {
  char x[128], y[128];
  if (a->sum && !fy_shape_equal(a->sum->rank, a->sum->dims, g->rank, g->dims))
    return fy_fail(err, FY_INVALID_ARGUMENT, "Shape mismatch: expected %s, got %s",
                   fy_tensor_shape_text(a->sum, x), fy_tensor_shape_text(g, y));
  if (!fits(a, g->rank, g->dims))
    return fy_fail(err, FY_INVALID_ARGUMENT, "Shape mismatch: expected %s, got %s",
                   fy_shape_text(a->rank, a->dims, x), fy_tensor_shape_text(g, y));
  if (!a->sum)
    FY_TRY(fy_tensor_clone(g, &a->sum, err));
  else
    FY_TRY(add_into(a->sum, 0, g, 0, g->count, err));
  a->count++;
  return FY_OK;
}

static fy_code apply(fy_kernel_ctx *ctx, fy_error *err) {
  accumulator *a;
  FY_TRY(open_accumulator(ctx, &a, err));
  FY_TRY(check_step(ctx->in[1], err));
  fy_code code = FY_OK;
  fy_lock(&a->lock);
  if (fy_tensor_int(ctx->in[1], 0) >= a->step) code = apply_locked(a, ctx->in[2], err);
  fy_cond_broadcast(&a->changed);
  fy_unlock(&a->lock);
  return code;
}

static fy_code wait_for(fy_kernel_ctx *ctx, accumulator *a, fy_error *err) {
  const fy_tensor *need = ctx->in[1];
  if (need->rank != 0)
    return fy_fail(err, FY_INVALID_ARGUMENT, "Argument num_required must be a scalar");
  const int64_t n = fy_tensor_int(need, 0);
  if (n <= 0) return fy_fail(err, FY_INVALID_ARGUMENT, "Argument num_required must be positive");
  while (a->count < n) FY_TRY(fy_named_wait(ctx, &a->changed, &a->lock, "TakeGrad", err));
  return FY_OK;
}

static fy_code take(fy_kernel_ctx *ctx, fy_error *err) {
  accumulator *a;
  fy_tensor *sum = NULL;
  int64_t count = 0;
  FY_TRY(open_accumulator(ctx, &a, err));
  fy_lock(&a->lock);
  fy_code code = wait_for(ctx, a, err);
  if (!code) {
    sum = a->sum;
    count = a->count;
    a->sum = NULL;
    forget(a);
    a->step++;
  }
  fy_unlock(&a->lock);
  if (!code && a->mean) code = divide(sum, 0, sum->count, count, err);
  if (code)
    fy_tensor_release(sum);
  else
    fy_out_set(ctx, 0, sum);
  return code;
}

// ---------------------------------------------------------------- sparse
static fy_code check_sparse(const accumulator *a, const fy_tensor *rows, const fy_tensor *values,
                            const fy_tensor *shape, fy_error *err) {
  char x[128], y[128];
  if (rows->rank != 1)
    return fy_fail(err, FY_INVALID_ARGUMENT,
                   "Input indices should be vector but received shape: %s",
                   fy_tensor_shape_text(rows, x));
  if (values->rank < 1 || values->dims[0] != rows->count)
    return fy_fail(err, FY_INVALID_ARGUMENT,
                   "Values must have as many rows as there are indices: %s vs. %s",
                   fy_tensor_shape_text(values, x), fy_tensor_shape_text(rows, y));
  if (a->sum &&
      (a->sum->rank != values->rank ||
       !fy_shape_equal(a->sum->rank - 1, a->sum->dims + 1, values->rank - 1, values->dims + 1)))
    return fy_fail(err, FY_INVALID_ARGUMENT, "Shape mismatch: expected %s, got %s",
                   fy_tensor_shape_text(a->sum, x), fy_tensor_shape_text(values, y));
  for (int32_t d = 1; a->rank > 0 && d < values->rank; d++)
    if (d >= a->rank || (a->dims[d] >= 0 && a->dims[d] != values->dims[d]))
      return fy_fail(err, FY_INVALID_ARGUMENT, "Shape mismatch: expected shape %s, got %s",
                     fy_shape_text(a->rank, a->dims, x), fy_tensor_shape_text(values, y));
  for (int64_t i = 0; i < rows->count; i++) {
    const int64_t row = fy_tensor_int(rows, i);
    if (row < 0 || (a->rank > 0 && a->dims[0] >= 0 && row >= a->dims[0]))
      return fy_fail(err, FY_INVALID_ARGUMENT, "Index %lld is outside of the shape %s",
                     (long long)row, fy_shape_text(a->rank, a->dims, x));
  }
  (void)shape;
  return FY_OK;
}

// The union of the rows kept and the rows given, both ascending.
static fy_code merge_rows(accumulator *a, const fy_tensor *rows, const fy_tensor *values,
                          fy_error *err) {
  const int64_t most = a->num_rows + rows->count;
  const int64_t each = fy_product(values->dims + 1, values->rank - 1);
  int64_t dims[FY_MAX_RANK], n = 0, i = 0, k = 0;
  fy_tensor *all = NULL, *exact = NULL;
  int64_t *ids = fy_calloc((size_t)most + 1, sizeof *ids),
          *times = fy_calloc((size_t)most + 1, sizeof *times);
  for (int32_t d = 0; d < values->rank; d++) dims[d] = values->dims[d];
  dims[0] = most;
  fy_code code = ids && times ? fy_tensor_new(a->dtype, values->rank, dims, &all, err)
                              : fy_fail_oom(err, (size_t)most * sizeof *ids);
  while (!code && (i < a->num_rows || k < rows->count)) {
    const bool old = i < a->num_rows, fresh = k < rows->count;
    const int64_t x = old ? a->rows[i] : INT64_MAX;
    const int64_t y = fresh ? fy_tensor_int(rows, k) : INT64_MAX;
    const bool take_old = old && x <= y, take_new = fresh && y <= x;
    ids[n] = take_old ? x : y;
    if (take_old)
      code = fy_copy_run(a->dtype, all->data, n * each, a->sum->data, i * each, each, err);
    if (take_old && take_new && !code) code = add_into(all, n * each, values, k * each, each, err);
    if (!take_old)
      code = fy_copy_run(a->dtype, all->data, n * each, values->data, k * each, each, err);
    times[n] = (take_old ? a->times[i] : 0) + take_new;
    i += take_old;
    k += take_new;
    n++;
  }
  dims[0] = n;
  if (!code) code = fy_tensor_new(a->dtype, values->rank, dims, &exact, err);
  if (!code) code = fy_copy_run(a->dtype, exact->data, 0, all->data, 0, exact->count, err);
  fy_tensor_release(all);
  if (code) {
    fy_tensor_release(exact);
    fy_free(ids);
    fy_free(times);
    return code;
  }
  fy_tensor_release(a->sum);
  fy_free(a->rows);
  fy_free(a->times);
  a->sum = exact;
  a->rows = ids;
  a->times = times;
  a->num_rows = n;
  return FY_OK;
}

static fy_code apply_sparse(fy_kernel_ctx *ctx, fy_error *err) {
  accumulator *a;
  FY_TRY(open_accumulator(ctx, &a, err));
  FY_TRY(check_step(ctx->in[1], err));
  fy_code code = FY_OK;
  fy_lock(&a->lock);
  if (fy_tensor_int(ctx->in[1], 0) >= a->step) {
    fy_tensor *shape = NULL;
    code = check_sparse(a, ctx->in[2], ctx->in[3], ctx->in[4], err);
    if (!code) code = fy_tensor_clone(ctx->in[4], &shape, err);
    if (!code) code = merge_rows(a, ctx->in[2], ctx->in[3], err);
    if (!code) {
      fy_tensor_release(a->shape);
      a->shape = shape;
      a->count++;
    } else {
      fy_tensor_release(shape);
    }
  }
  fy_cond_broadcast(&a->changed);
  fy_unlock(&a->lock);
  return code;
}

static fy_code put_sparse(fy_kernel_ctx *ctx, accumulator *a, fy_error *err) {
  fy_tensor *rows, *shape;
  const int64_t each = a->num_rows ? a->sum->count / a->num_rows : 0;
  for (int64_t i = 0; a->mean && i < a->num_rows; i++)
    FY_TRY(divide(a->sum, i * each, each, a->times[i], err));
  FY_TRY(fy_out(ctx, 0, 1, &a->num_rows, &rows, err));
  if (a->num_rows) memcpy(rows->data, a->rows, (size_t)a->num_rows * sizeof *a->rows);
  // The declared shape if it has one, else what the gradients said or showed.
  int64_t n = a->rank > 0 ? a->rank : a->shape && a->shape->count ? a->shape->count : a->sum->rank;
  FY_TRY(fy_out(ctx, 2, 1, &n, &shape, err));
  for (int64_t d = 0; d < n; d++)
    ((int64_t *)shape->data)[d] = a->rank > 0                   ? a->dims[d]
                                  : a->shape && a->shape->count ? fy_tensor_int(a->shape, d)
                                  : d                           ? a->sum->dims[d]
                                                                : -1;
  fy_tensor_retain(a->sum);
  fy_out_set(ctx, 1, a->sum);
  return FY_OK;
}

static fy_code take_sparse(fy_kernel_ctx *ctx, fy_error *err) {
  accumulator *a;
  FY_TRY(open_accumulator(ctx, &a, err));
  fy_lock(&a->lock);
  fy_code code = wait_for(ctx, a, err);
  if (!code) code = put_sparse(ctx, a, err);
  if (!code) {
    forget(a);
    a->step++;
  }
  fy_unlock(&a->lock);
  return code;
}

// ---------------------------------------------------------------- asking
static fy_code num_accumulated(fy_kernel_ctx *ctx, fy_error *err) {
  accumulator *a;
  fy_tensor *out;
  FY_TRY(open_accumulator(ctx, &a, err));
  FY_TRY(fy_out(ctx, 0, 0, NULL, &out, err));
  fy_lock(&a->lock);
  *(int32_t *)out->data = (int32_t)a->count;
  fy_unlock(&a->lock);
  return FY_OK;
}

static fy_code set_step(fy_kernel_ctx *ctx, fy_error *err) {
  accumulator *a;
  FY_TRY(open_accumulator(ctx, &a, err));
  if (ctx->in[1]->rank != 0)
    return fy_fail(err, FY_INVALID_ARGUMENT, "Argument new_global_step should be a scalar");
  fy_lock(&a->lock);
  a->step = fy_tensor_int(ctx->in[1], 0);
  fy_unlock(&a->lock);
  return FY_OK;
}

static fy_code step_shape(fy_shape_ctx *ctx, fy_error *err) {  // or how many are wanted
  return fy_shape_rank_is(ctx->in[1], 0, err);
}

#define HOST   .flags = FY_OP_HOST | FY_OP_NO_FOLD
#define BLOCKS .flags = FY_OP_HOST | FY_OP_NO_FOLD | FY_OP_ASYNC | FY_OP_SETS_OUTPUT | FY_OP_DYNAMIC
FY_OP(ConditionalAccumulator, .shape = fy_shape_ref, .compute = handle, HOST);
FY_OP(ResourceConditionalAccumulator, .shape = fy_shape_scalar, .compute = handle, HOST);
FY_OP(SparseConditionalAccumulator, .shape = fy_shape_ref, .compute = handle, HOST);
FY_OP(AccumulatorApplyGradient, .shape = step_shape, .compute = apply, HOST);
FY_OP(ResourceAccumulatorApplyGradient, .shape = step_shape, .compute = apply, HOST);
FY_OP(SparseAccumulatorApplyGradient, .shape = step_shape, .compute = apply_sparse, HOST);
FY_OP(AccumulatorTakeGradient, .shape = step_shape, .compute = take, BLOCKS);
FY_OP(ResourceAccumulatorTakeGradient, .shape = step_shape, .compute = take, BLOCKS);
FY_OP(SparseAccumulatorTakeGradient, .shape = step_shape, .compute = take_sparse, BLOCKS);
FY_OP(AccumulatorNumAccumulated, .shape = fy_shape_scalar, .compute = num_accumulated, HOST);
FY_OP(ResourceAccumulatorNumAccumulated, .shape = fy_shape_scalar, .compute = num_accumulated,
      HOST);
FY_OP(AccumulatorSetGlobalStep, .shape = step_shape, .compute = set_step, HOST);
FY_OP(ResourceAccumulatorSetGlobalStep, .shape = step_shape, .compute = set_step, HOST);
