// SPDX-License-Identifier: Apache-2.0
// decode_proto.c: DecodeProtoV2: chosen fields of serialized messages as tensors.
// Two walks over each message: one counts what each field has, so that the tensors can be made as wide as
// the longest list, one writes. A field that is not there leaves its default, which also pads short lists.
// What is not repeated but comes twice has the last value. With sanitize, and for messages as text, the
// message is first unpacked and packed again, which merges and checks; nothing is dropped.

#include <string.h>

#include "base/alloc.h"
#include "ops/proto_fields.h"
#include "ops/shape_fns.h"
#include "ops/summary_wire.h"
#include "wire/proto_util.h"
#include "wire/text_format.h"

static fy_code lost(fy_error *err, const char *text) {
  return fy_fail(err, FY_DATA_LOSS, "%s", text);
}

// ---------------------------------------------------------------- prepare
static fy_code read_types(const fy_site *site, fy_proto_plan *p, fy_error *err) {
  const fy_view format = fy_site_string(site, "message_format");
  for (int k = 0; k < p->n; k++) {
    const fy_proto_slot *s = &p->slots[k];
    const bool extension = s->field->flags & FY_PROTO_IS_EXTENSION;
    const fy_dtype dtype = site->out_types[1 + s->index];
    // The kind that C++ has for it: the way it is written does not matter.
    static const uint8_t kinds[FY_PROTO_TYPES] = {
        [FY_PROTO_FIXED64] = FY_PROTO_UINT64, [FY_PROTO_FIXED32] = FY_PROTO_UINT32,
        [FY_PROTO_GROUP] = FY_PROTO_MESSAGE,  [FY_PROTO_BYTES] = FY_PROTO_STRING,
        [FY_PROTO_SFIXED32] = FY_PROTO_INT32, [FY_PROTO_SFIXED64] = FY_PROTO_INT64,
        [FY_PROTO_SINT32] = FY_PROTO_INT32,   [FY_PROTO_SINT64] = FY_PROTO_INT64};
    if (!fy_proto_fits(s->type, dtype))
      return fy_fail(err, FY_INVALID_ARGUMENT, "Unexpected output type for %s%s%s: %s to %s",
                     extension ? "" : p->message->name, extension ? "" : ".", s->field->name,
                     fy_proto_type_name(kinds[s->type] ? kinds[s->type] : s->type),
                     fy_dtype_enum_name(dtype));
  }
  p->text = fy_view_is(format, "text");
  p->sanitize = fy_site_bool(site, "sanitize");
  if (!p->text && !fy_view_is(format, "binary"))
    return fy_fail(err, FY_INVALID_ARGUMENT, "format must be one of binary or text");
  for (int k = 0; k < p->n && (p->text || p->sanitize); k++)  // as protobuf-c packs groups
    if (p->slots[k].type == FY_PROTO_GROUP) p->slots[k].wire_type = FY_WALK_LENGTH;
  return FY_OK;
}

static fy_code prepare(fy_site *site, fy_error *err) {
  const fy_attr *names = fy_site_attr(site, "field_names");
  fy_proto_plan *p;
  FY_TRY(fy_proto_plan_make(site, &p, err));
  site->state = p;
  if (p->n != site->num_outputs - 1 || (names && (int)names->n != p->n))
    return fy_fail(err, FY_INVALID_ARGUMENT,
                   "field_names and output_types attributes must have the same length");
  return read_types(site, p, err);
}

// ---------------------------------------------------------------- sanitizing
// Required fields are there, and if |utf8| strings that must be UTF-8 are: in all messages within.
static bool complete(const ProtobufCMessageDescriptor *m, fy_view bytes, bool utf8, int depth) {
  fy_walk w = fy_walk_of(bytes);
  unsigned required = 0;
  for (unsigned i = 0; i < m->n_fields; i++)
    required += (m->fields[i].flags & FY_PROTO_IS_REQUIRED) != 0;
  while (fy_walk_next(&w)) {
    const ProtobufCFieldDescriptor *f = protobuf_c_message_descriptor_get_field(m, w.number);
    if (!f) continue;
    if (f->flags & FY_PROTO_IS_REQUIRED) required--;
    if (w.wire_type != FY_WALK_LENGTH) continue;
    if (utf8 && (f->flags & FY_PROTO_IS_UTF8) && !fy_wire_is_utf8(w.bytes.p, w.bytes.n))
      return false;
    if (f->type == PROTOBUF_C_TYPE_MESSAGE &&
        (depth >= FY_WIRE_MAX_DEPTH || !complete(f->descriptor, w.bytes, utf8, depth + 1)))
      return false;
  }
  return !required;
}

// Message |in| unpacked and packed again; |*out| is in |arena|.
static fy_code clean(const fy_proto_plan *p, fy_view in, fy_arena *arena, fy_view *out,
                     fy_error *err) {
  ProtobufCMessage *message;
  uint8_t *bytes;
  fy_code code =
      p->text ? fy_wire_text_parse(p->message, in.p ? in.p : "", in.n, arena, &message, err)
              : fy_wire_unpack(p->message, in.p ? in.p : "", in.n, NULL, arena, &message, err);
  if (!code) code = fy_wire_pack(message, &bytes, &out->n, err);
  if (!code && fy_arena_defer(arena, fy_free, bytes)) {
    fy_free(bytes);
    return fy_fail_oom(err, out->n);
  }
  if (!code) out->p = (const char *)bytes;
  if (code == FY_RESOURCE_EXHAUSTED || (!code && complete(p->message, *out, !p->text, 0)))
    return code;
  return lost(err, p->text ? "Unable to parse text protobuf" : "Unable to parse binary protobuf");
}

// ---------------------------------------------------------------- walking
typedef struct tally {  // of a field in one message
  int64_t count;        // values
  fy_tensor *out;       // NULL: only count
  int64_t first, room;  // the elements that belong to this message
} tally;

static fy_code put(const fy_proto_slot *s, tally *t, uint64_t wire, fy_view bytes, fy_error *err) {
  const int64_t at = t->first + (s->field->label == PROTOBUF_C_LABEL_REPEATED ? t->count : 0);
  t->count++;
  if (!t->out) return FY_OK;
  if (t->out->dtype != FY_STRING) {
    fy_proto_store(s->type, fy_proto_widen(s->type, wire), t->out, at);
    return FY_OK;
  }
  if (s->type != FY_PROTO_GROUP)
    return fy_tensor_set_string(t->out, at, bytes.n ? bytes.p : "", bytes.n)
               ? FY_OK
               : fy_fail_oom(err, bytes.n);
  fy_str group;
  fy_str_init(&group);
  fy_put_varint(&group, (uint64_t)s->field->id << 3 | FY_WALK_GROUP);
  fy_str_addn(&group, bytes.n ? bytes.p : "", bytes.n);
  fy_put_varint(&group, (uint64_t)s->field->id << 3 | FY_WALK_GROUP_END);
  const bool ok = !group.failed && fy_tensor_set_string(t->out, at, group.p, group.len);
  fy_str_free(&group);
  return ok ? FY_OK : fy_fail_oom(err, bytes.n);
}

// A list of numbers without tags. In a field that is not repeated it counts, but is not read.
static fy_code put_packed(const fy_proto_slot *s, tally *t, fy_view bytes, fy_error *err) {
  fy_walk w = fy_walk_of(bytes);
  const int size = s->wire_type == FY_WALK_FIXED32 ? 4 : s->wire_type == FY_WALK_FIXED64 ? 8 : 0;
  if (s->wire_type == FY_WALK_GROUP) return lost(err, "TYPE_GROUP encountered as packed");
  if (size && bytes.n % (size_t)size)
    return fy_fail(err, FY_DATA_LOSS, "Illegal data length for packed fixed-size type: %zu",
                   bytes.n);
  const bool single = s->field->label != PROTOBUF_C_LABEL_REPEATED;
  if (t->out && t->count >= t->room)  // even if this list is empty
    return fy_fail(
        err, FY_DATA_LOSS,
        "ReadPackedValues: Tried to write more entries than allowed.  Field tag: %u, Max "
        "entries allowed: %lld",
        s->field->id, (long long)t->room);
  w.wire_type = s->wire_type;
  while (w.at < w.end) {
    if (!fy_walk_value(&w)) return lost(err, "Corrupt packed varint");
    if (!single)
      FY_TRY(put(s, t, w.value, w.bytes, err));
    else if (!t->out)
      t->count++;
  }
  return FY_OK;
}

static fy_code put_field(const fy_proto_slot *s, fy_walk *w, tally *t, fy_error *err) {
  const bool packed = w->wire_type == FY_WALK_LENGTH && s->wire_type != FY_WALK_LENGTH;
  if (!fy_walk_value(w))
    return lost(err, packed ? "ReadPackedValues: Skipping packed field failed"
                     : w->wire_type == s->wire_type
                         ? "ReadValue: Failed skipping field when counting"
                         : "CollectField: Failed skipping malformed field");
  if (packed) return put_packed(s, t, w->bytes, err);
  return w->wire_type == s->wire_type ? put(s, t, w->value, w->bytes, err) : FY_OK;
}

// The first slot of field |number|, or -1.
static int find_slot(const fy_proto_plan *p, uint32_t number) {
  int low = 0, high = p->n;
  while (low < high) {
    const int mid = (low + high) / 2;
    if (p->slots[mid].field->id < number)
      low = mid + 1;
    else
      high = mid;
  }
  return low < p->n && p->slots[low].field->id == number ? low : -1;
}

static fy_code walk_message(const fy_proto_plan *p, fy_view message, tally *tallies,
                            fy_error *err) {
  fy_walk w = fy_walk_of(message);
  while (fy_walk_tag(&w)) {
    const int k = find_slot(p, w.number);
    if (k >= 0)
      FY_TRY(put_field(&p->slots[k], &w, &tallies[k], err));
    else if (!fy_walk_value(&w))
      return lost(err, "Failed skipping unrequested field");
  }
  if (w.at != w.end) return lost(err, "CountFields: Failed to consume entire buffer");
  return FY_OK;
}

// ---------------------------------------------------------------- outputs
static fy_code fill(const fy_proto_slot *s, fy_tensor *out, fy_error *err) {
  const void *preset = s->field->default_value;
  uint64_t bits = 0;
  if (out->dtype == FY_STRING) {
    ProtobufCBinaryData text = {0, NULL};
    if (preset && s->field->type == PROTOBUF_C_TYPE_BYTES)
      text = *(const ProtobufCBinaryData *)preset;
    for (int64_t i = 0; i < out->count && text.len; i++)
      if (!fy_tensor_set_string(out, i, (const char *)text.data, text.len))
        return fy_fail_oom(err, text.len);
    return FY_OK;
  }
  if (preset) {
    const size_t size = fy_wire_element_size(s->field->type);
    memcpy(&bits, preset, size > sizeof bits ? sizeof bits : size);
    if (size == 4 && s->type != FY_PROTO_FLOAT)
      bits = fy_proto_widen(s->type == FY_PROTO_SINT32 ? FY_PROTO_INT32 : s->type, bits);
  }
  for (int64_t i = 0; i < out->count; i++) fy_proto_store(s->type, bits, out, i);
  return FY_OK;
}

typedef struct call {
  const fy_proto_plan *plan;
  fy_view *messages;
  int64_t n;
  tally *tallies;   // [fields]
  int64_t *widest;  // [fields]
  fy_tensor *sizes;
} call;

static fy_code count_all(const call *c, fy_error *err) {
  const fy_proto_plan *p = c->plan;
  for (int64_t m = 0; m < c->n; m++) {
    if (c->messages[m].n > INT32_MAX) return lost(err, "A message is longer than 2 GB");
    for (int k = 0; k < p->n; k++) c->tallies[k] = (tally){0};
    FY_TRY(walk_message(p, c->messages[m], c->tallies, err));
    for (int k = 0; k < p->n; k++) {
      const fy_proto_slot *s = &p->slots[k];
      int64_t count = c->tallies[k].count;
      if (s->field->label != PROTOBUF_C_LABEL_REPEATED && count > 1) count = 1;
      ((int32_t *)c->sizes->data)[m * p->n + s->index] = (int32_t)count;
      if (count > c->widest[k]) c->widest[k] = count;
    }
  }
  return FY_OK;
}

static fy_code write_all(fy_kernel_ctx *ctx, const call *c, fy_error *err) {
  const fy_proto_plan *p = c->plan;
  const fy_tensor *in = ctx->in[0];
  int64_t dims[FY_MAX_RANK + 1];
  fy_tensor **outs;
  FY_TRY(fy_scratch(ctx, ((size_t)p->n + 1) * sizeof *outs, (void **)&outs, err));
  for (int32_t d = 0; d < in->rank; d++) dims[d] = in->dims[d];
  for (int k = 0; k < p->n; k++) {
    dims[in->rank] = c->widest[k];
    FY_TRY(fy_out(ctx, 1 + p->slots[k].index, in->rank + 1, dims, &outs[k], err));
    FY_TRY(fill(&p->slots[k], outs[k], err));
  }
  for (int64_t m = 0; m < c->n; m++) {
    for (int k = 0; k < p->n; k++)
      c->tallies[k] = (tally){0, outs[k], m * c->widest[k], c->widest[k]};
    FY_TRY(walk_message(p, c->messages[m], c->tallies, err));
  }
  return FY_OK;
}

static fy_code decode(fy_kernel_ctx *ctx, fy_arena *arena, fy_error *err) {
  const fy_proto_plan *p = ctx->site->state;
  const fy_tensor *in = ctx->in[0];
  call c = {.plan = p, .n = in->count};
  int64_t dims[FY_MAX_RANK + 1];
  for (int32_t d = 0; d < in->rank; d++) dims[d] = in->dims[d];
  dims[in->rank] = p->n;
  FY_TRY(fy_out(ctx, 0, in->rank + 1, dims, &c.sizes, err));
  FY_TRY(fy_scratch(ctx, (size_t)c.n * sizeof *c.messages, (void **)&c.messages, err));
  FY_TRY(fy_scratch(ctx, ((size_t)p->n + 1) * sizeof *c.tallies, (void **)&c.tallies, err));
  FY_TRY(fy_scratch(ctx, ((size_t)p->n + 1) * sizeof *c.widest, (void **)&c.widest, err));
  for (int k = 0; k < p->n; k++) c.widest[k] = 1;
  for (int64_t m = 0; m < c.n; m++) {
    c.messages[m] = fy_tensor_string(in, m);
    if (p->text || p->sanitize) FY_TRY(clean(p, c.messages[m], arena, &c.messages[m], err));
  }
  FY_TRY(count_all(&c, err));
  return write_all(ctx, &c, err);
}

static fy_code compute(fy_kernel_ctx *ctx, fy_error *err) {
  fy_arena arena;
  if (!ctx->in[0]->count)
    return fy_fail(err, FY_INVALID_ARGUMENT, "Bufs argument must contain at least one value");
  if (ctx->in[0]->rank >= FY_MAX_RANK)
    return fy_fail(err, FY_INVALID_ARGUMENT, "bytes has too many dimensions");
  fy_arena_init(&arena);
  const fy_code code = decode(ctx, &arena, err);
  fy_arena_free(&arena);
  return code;
}

static fy_code shape(fy_shape_ctx *ctx, fy_error *err) {
  const fy_pshape in = ctx->in[0];
  if (!fy_rank_known(in)) return FY_OK;
  int64_t *dims = fy_shape_dims(ctx, in.rank + 1);
  if (!dims) return fy_fail_oom(err, sizeof *dims);
  for (int32_t d = 0; d < in.rank; d++) dims[d] = in.dims[d];
  for (int i = 0; i < ctx->num_outputs; i++) {
    dims[in.rank] = i ? -1 : ctx->num_outputs - 1;
    FY_TRY(fy_shape_set(ctx, i, in.rank + 1, dims, err));
  }
  return FY_OK;
}

static const fy_sample decode_samples[] = {
    {"s[]=''",
     "message_type=\"tensorflow.Example\"; field_names=[\"features\"]; output_types=[string]",
     FY_OK, "0"},
    {"s[0]=", "message_type=\"tensorflow.Example\"; field_names=[]; output_types=[]",
     FY_INVALID_ARGUMENT, "at least one value"},
};
FY_OP(DecodeProtoV2, .shape = shape, .prepare = prepare, .compute = compute,
      .release = fy_proto_plan_free, .flags = FY_OP_DYNAMIC, FY_SAMPLES(decode_samples));
