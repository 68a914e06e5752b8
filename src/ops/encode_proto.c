// SPDX-License-Identifier: Apache-2.0
// encode_proto.c: EncodeProto: serialized messages from tensors, one per field. Fields are written by
// number; the bytes of a message within a message are taken as they are.

#include "base/alloc.h"
#include "ops/proto_fields.h"
#include "ops/shape_fns.h"
#include "ops/summary_wire.h"
#include "ops/values.h"

static fy_code prepare(fy_site *site, fy_error *err) {
  fy_proto_plan *p;
  FY_TRY(fy_proto_plan_make(site, &p, err));
  site->state = p;
  for (int k = 0; k < p->n; k++)
    if (p->slots[k].field->flags & FY_PROTO_IS_EXTENSION)
      return fy_fail(err, FY_INVALID_ARGUMENT, "Unknown field: %s in message type %s",
                     p->slots[k].field->name, p->message->name);
  return FY_OK;
}

static bool same_but_last(const fy_tensor *a, const fy_tensor *b) {
  return fy_shape_equal(a->rank - 1, a->dims, b->rank - 1, b->dims);
}

static fy_code check(fy_kernel_ctx *ctx, fy_error *err) {
  const fy_proto_plan *p = ctx->site->state;
  const fy_tensor *sizes = ctx->in[0], *first = ctx->in[1];
  char x[128], y[128];
  if (ctx->site->num_inputs - 1 != p->n)
    return fy_fail(err, FY_INVALID_ARGUMENT, "Length of inputs list must match field_names");
  for (int k = 0; k < p->n; k++) {
    const fy_proto_slot *s = &p->slots[k];
    const fy_tensor *v = ctx->in[1 + s->index];
    if (v->rank < 2)
      return fy_fail(
          err, FY_INVALID_ARGUMENT,
          "Invalid shape for field %s.  Saw shape %s but it should be at least a matrix.",
          s->field->name, fy_tensor_shape_text(v, x));
    if (!same_but_last(v, first))
      return fy_fail(err, FY_INVALID_ARGUMENT, "Values must match up to the last dimension");
    if (!fy_proto_fits(s->type, v->dtype))
      return fy_fail(err, FY_INVALID_ARGUMENT,
                     "Incompatible type for field %s.  Saw dtype: %s but field type is: %s",
                     s->field->name, fy_dtype_name(v->dtype), fy_proto_type_name(s->type));
  }
  int64_t want[FY_MAX_RANK];
  for (int32_t d = 0; d < first->rank; d++) want[d] = first->dims[d];
  want[first->rank - 1] = p->n;
  if (!fy_shape_equal(sizes->rank, sizes->dims, first->rank, want))
    return fy_fail(err, FY_INVALID_ARGUMENT,
                   "sizes should be batch_size + [len(field_names)].  Saw: %s but expected: %s",
                   fy_tensor_shape_text(sizes, x), fy_shape_text(first->rank, want, y));
  return FY_OK;
}

static void put_number(fy_str *out, const fy_proto_slot *s, const fy_tensor *t, int64_t i) {
  const uint64_t bits = fy_proto_to_wire(s->type, fy_proto_load(s->type, t, i));
  if (s->wire_type == FY_WALK_VARINT)
    fy_put_varint(out, bits);
  else
    fy_str_addn(out, (const char *)&bits, s->wire_type == FY_WALK_FIXED32 ? 4 : 8);
}

// |n| values of |t| from |first| on. |list| is room for a packed list.
static void put_values(fy_str *out, const fy_proto_slot *s, const fy_tensor *t, int64_t first,
                       int64_t n, fy_str *list) {
  const uint64_t tag = (uint64_t)s->field->id << 3;
  if (s->field->flags & PROTOBUF_C_FIELD_FLAG_PACKED) {
    list->len = 0;
    for (int64_t i = 0; i < n; i++) put_number(list, s, t, first + i);
    if (n > 0) fy_put_str(out, (int)s->field->id, list);
    return;
  }
  for (int64_t i = 0; i < n; i++) {
    fy_put_varint(out, tag | s->wire_type);
    if (t->dtype != FY_STRING) {
      put_number(out, s, t, first + i);
      continue;
    }
    const fy_view bytes = fy_tensor_string(t, first + i);
    if (s->type != FY_PROTO_GROUP) fy_put_varint(out, bytes.n);
    fy_str_addn(out, bytes.n ? bytes.p : "", bytes.n);
    if (s->type == FY_PROTO_GROUP) fy_put_varint(out, tag | FY_WALK_GROUP_END);
  }
}

static fy_code encode(const fy_kernel_ctx *ctx, fy_tensor *out, fy_str *message, fy_str *list,
                      fy_error *err) {
  const fy_proto_plan *p = ctx->site->state;
  for (int64_t m = 0; m < out->count; m++) {
    message->len = 0;
    for (int k = 0; k < p->n; k++) {
      const fy_proto_slot *s = &p->slots[k];
      const fy_tensor *v = ctx->in[1 + s->index];
      const int64_t width = v->dims[v->rank - 1];
      const int32_t n = ((const int32_t *)ctx->in[0]->data)[m * p->n + s->index];
      if (n > width)
        return fy_fail(err, FY_INVALID_ARGUMENT,
                       "Size to write must not be larger than value tensor; but saw: %d > %lld at "
                       "message %lld field %d",
                       n, (long long)width, (long long)m, s->index);
      put_values(message, s, v, m * width, n, list);
    }
    if (message->failed ||
        !fy_tensor_set_string(out, m, message->len ? message->p : "", message->len))
      return fy_fail_oom(err, message->len);
  }
  return FY_OK;
}

static fy_code compute(fy_kernel_ctx *ctx, fy_error *err) {
  fy_tensor *out;
  fy_str message, list;
  FY_TRY(check(ctx, err));
  FY_TRY(fy_out(ctx, 0, ctx->in[1]->rank - 1, ctx->in[1]->dims, &out, err));
  fy_str_init(&message);
  fy_str_init(&list);
  const fy_code code = encode(ctx, out, &message, &list, err);
  fy_str_free(&message);
  fy_str_free(&list);
  return code;
}

static fy_code shape(fy_shape_ctx *ctx, fy_error *err) {
  fy_pshape all = FY_UNKNOWN_SHAPE;
  for (int i = 1; i < ctx->num_inputs; i++) {
    FY_TRY(fy_shape_rank_at_least(ctx->in[i], 2, err));
    if (!fy_rank_known(ctx->in[i])) continue;
    const fy_pshape most = {ctx->in[i].rank - 1, ctx->in[i].dims};
    FY_TRY(fy_shape_merge(ctx, all, most, &all, err));
  }
  return fy_rank_known(all) ? fy_shape_set(ctx, 0, all.rank, all.dims, err) : FY_OK;
}

static const fy_sample encode_samples[] = {
    {"i32[1,1]=1; s[1,1]='ab'",
     "message_type=\"tensorflow.BytesList\"; field_names=[\"value\"]; Tinput_types=[string]", FY_OK,
     NULL},
    {"i32[1,1]=2; s[1,1]='ab'",
     "message_type=\"tensorflow.BytesList\"; field_names=[\"value\"]; Tinput_types=[string]",
     FY_INVALID_ARGUMENT, "Size to write must not be larger"},
};
FY_OP(EncodeProto, .shape = shape, .prepare = prepare, .compute = compute,
      .release = fy_proto_plan_free, FY_SAMPLES(encode_samples));
