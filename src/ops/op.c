// SPDX-License-Identifier: Apache-2.0
// op.c: the table of implemented ops, made of list.inc, and what kernels call while they run.
// Not here: which kernel fits a node, and why none does (op_kernels.c).

#include "ops/op.h"

#include "base/alloc.h"
#include "base/thread.h"

#define FY_OP_ENTRY(name) extern const fy_op_impl fy_impl_##name;
#include "ops/list.inc"
#undef FY_OP_ENTRY

const fy_op_impl *const fy_op_impls[] = {
#define FY_OP_ENTRY(name) &fy_impl_##name,
#include "ops/list.inc"
#undef FY_OP_ENTRY
    NULL,  // so that an empty list is still an array
};
const size_t fy_op_impl_count = sizeof fy_op_impls / sizeof fy_op_impls[0] - 1;

void fy_out_set(fy_kernel_ctx *ctx, int i, fy_tensor *t) {
  if (ctx->out_owned[i]) fy_tensor_release(ctx->out[i]);
  ctx->out[i] = t;
  ctx->out_owned[i] = true;
}

fy_code fy_out_alias(fy_kernel_ctx *ctx, int i, int j, int32_t rank, const int64_t *dims,
                     fy_error *err) {
  const fy_tensor *in = ctx->in[j];
  const fy_tensor *planned = ctx->out[i];
  if (planned && planned->data == in->data &&
      fy_shape_equal(planned->rank, planned->dims, rank, dims))
    return FY_OK;
  // Bitcast's types differ; any other op that says so has no memory to share.
  fy_dtype dtype = fy_dtype_base(ctx->site->out_types[i]);
  size_t count = 1;
  for (int32_t d = 0; d < rank; d++) count *= (size_t)dims[d];
  if (count * fy_dtype_storage(dtype) != fy_tensor_bytes(in)) dtype = in->dtype;
  fy_tensor *t = NULL;
  bool own = planned && planned->data && planned->dtype == dtype &&
             fy_shape_equal(planned->rank, planned->dims, rank, dims);
  if (own && in->device && ctx->svc->strided) {
    // Others may know that memory by further names: it must hold the value.
    static const int64_t step = 1;
    FY_TRY(fy_out(ctx, i, rank, dims, &t, err));
    return in->count ? ctx->svc->strided(ctx, t, in, 1, &in->count, &step, 0, err) : FY_OK;
  }
  if ((own || !in->buffer) && in->device &&
      ctx->svc->keep) {  // memory that only its device can copy
    fy_tensor *kept = NULL;
    FY_TRY(ctx->svc->keep(ctx, ctx->in[j], &kept, err));
    fy_code code = fy_tensor_alias(kept, dtype, rank, dims, &t, err);
    fy_tensor_release(kept);
    if (!code) fy_out_set(ctx, i, t);
    return code;
  }
  if (own || (!in->buffer && in->data)) {
    // An output with memory of its own uses it: the planner may let a later kernel overwrite the
    // input. Borrowed memory must not outlive its program.
    FY_TRY(fy_out(ctx, i, rank, dims, &t, err));
    return fy_elements_copy(in->dtype, t->data, in->data, in->count, err);
  }
  FY_TRY(fy_tensor_alias(in, dtype, rank, dims, &t, err));
  fy_out_set(ctx, i, t);
  return FY_OK;
}

bool fy_out_part(fy_kernel_ctx *ctx, int i, int j, int64_t first, int32_t rank,
                 const int64_t *dims) {
  const fy_tensor *in = ctx->in[j], *planned = ctx->out[i];
  if (!ctx->svc->shares_parts || !fy_dtype_is_plain(in->dtype) || in->device || !in->data)
    return false;
  const size_t at = (size_t)first * fy_dtype_storage(in->dtype);
  char *data = (char *)in->data + at;
  if (planned)
    return planned->data == data && fy_shape_equal(planned->rank, planned->dims, rank, dims);
  fy_tensor *t;
  if (!in->buffer || at % FY_PART_BYTES || fy_tensor_part(in, first, rank, dims, &t, NULL))
    return false;
  fy_out_set(ctx, i, t);
  return true;
}

static int num_slices(const fy_kernel_ctx *ctx, int64_t items) {
  const int most = ctx->threads < 1 ? 1 : ctx->threads > 64 ? 64 : ctx->threads;
  return items < most ? (items < 1 ? 1 : (int)items) : most;
}

size_t fy_slices_needs(const fy_kernel_ctx *ctx, int64_t items, size_t bytes) {
  return (size_t)num_slices(ctx, items) * fy_scratch_line(bytes);
}

fy_code fy_slices_make(fy_kernel_ctx *ctx, int64_t items, size_t bytes, fy_slices *out,
                       fy_error *err) {
  void *base;
  size_t all;
  out->n = num_slices(ctx, items);
  out->bytes = fy_scratch_line(bytes);
  atomic_init(&out->taken, 0);
  if (out->bytes < bytes || !fy_mul_size(out->bytes, (size_t)out->n, &all))
    return fy_fail_oom(err, bytes);
  FY_TRY(fy_scratch(ctx, all, &base, err));
  out->base = base;
  return FY_OK;
}

void *fy_slice_take(fy_slices *s) {
  for (;;) {
    uint_least64_t taken = atomic_load_explicit(&s->taken, memory_order_relaxed);
    const int free_one = ~taken ? __builtin_ctzll(~taken) : 64;
    if (free_one >= s->n) {
      fy_cpu_relax();
      continue;
    }
    if (atomic_compare_exchange_weak_explicit(&s->taken, &taken, taken | 1ull << free_one,
                                              memory_order_acquire, memory_order_relaxed))
      return s->base + (size_t)free_one * s->bytes;
  }
}

void fy_slice_give(fy_slices *s, void *slice) {
  const size_t i = (size_t)((char *)slice - s->base) / s->bytes;
  atomic_fetch_and_explicit(&s->taken, ~(1ull << i), memory_order_release);
}

// Whether it is worth waking a worker that sleeps, the pool knows.
void fy_parallel(fy_kernel_ctx *ctx, int64_t n, double ns_per_item,
                 void (*fn)(void *arg, int64_t begin, int64_t end), void *arg) {
  if (n <= 0) return;
  if (n == 1 || fy_loop_is_short(ctx, (double)n * ns_per_item))
    fn(arg, 0, n);
  else
    ctx->svc->parallel(ctx, n, ns_per_item, fn, arg);
}

const fy_attr *fy_site_attr(const fy_site *site, const char *name) {
  return fy_attrs_get(site->attrs, name);
}

// The scalar attribute |name| if it is of |kind|; specs were checked before, so that NULL means a
// kernel that asks for an attribute its op does not have.
static const fy_attr *scalar(const fy_site *site, const char *name, fy_attr_kind kind) {
  const fy_attr *a = fy_attrs_get(site->attrs, name);
  return a && a->kind == kind && !a->is_list ? a : NULL;
}

int64_t fy_site_int(const fy_site *site, const char *name) {
  const fy_attr *a = scalar(site, name, FY_ATTR_INT);
  return a ? a->v.i : 0;
}

float fy_site_float(const fy_site *site, const char *name) {
  const fy_attr *a = scalar(site, name, FY_ATTR_FLOAT);
  return a ? a->v.f : 0;
}

bool fy_site_bool(const fy_site *site, const char *name) {
  const fy_attr *a = scalar(site, name, FY_ATTR_BOOL);
  return a && a->v.b;
}

fy_dtype fy_site_type(const fy_site *site, const char *name) {
  const fy_attr *a = scalar(site, name, FY_ATTR_TYPE);
  return a ? a->v.type : FY_INVALID;
}

fy_view fy_site_string(const fy_site *site, const char *name) {
  const fy_attr *a = scalar(site, name, FY_ATTR_STRING);
  return a ? a->v.s : (fy_view){"", 0};
}
