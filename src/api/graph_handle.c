// SPDX-License-Identifier: Apache-2.0
// graph_handle.c: what is known of a resource's contents, as the message HandleData
// (is_set = 1, shape_and_type = 2 { shape = 1, dtype = 2, type = 4 }). It is small and used here
// only, so it is read and written by hand.

#include <string.h>

#include "api/api.h"
#include "base/alloc.h"
#include "wire/proto_util.h"
#include "wire/tensor_proto.h"

enum { VARINT = 0, BYTES = 2 };

static void put_varint(fy_str *s, uint64_t v) {
  for (; v > 127; v >>= 7) fy_str_addc(s, (char)(v | 128));
  fy_str_addc(s, (char)v);
}

static void put_bytes(fy_str *s, int field, const void *p, size_t n) {
  put_varint(s, (uint64_t)field << 3 | BYTES);
  put_varint(s, n);
  fy_str_addn(s, p, n);
}

// The bytes of HandleData for |h|, or NULL when short of memory.
static TF_Buffer *write_handle(const fy_handle_shape *h) {
  fy_arena tmp;
  fy_str entry, all;
  Tensorflow__TensorShapeProto *shape;
  uint8_t *bytes = NULL;
  size_t n = 0;
  TF_Buffer *out = NULL;
  fy_arena_init(&tmp);
  fy_str_init(&entry);
  fy_str_init(&all);
  if (fy_wire_shape_write(&h->shape, &tmp, &shape, NULL) == FY_OK &&
      fy_wire_pack(&shape->base, &bytes, &n, NULL) == FY_OK) {
    put_bytes(&entry, 1, bytes, n);
    put_varint(&entry, 2 << 3 | VARINT);
    put_varint(&entry, (uint64_t)h->dtype);
    put_bytes(&entry, 4, "", 0);
    put_varint(&all, 1 << 3 | VARINT);
    put_varint(&all, 1);
    put_bytes(&all, 2, fy_str_text(&entry), entry.len);
    if (!entry.failed && !all.failed) out = TF_NewBufferFromString(all.p, all.len);
  }
  fy_free(bytes);
  fy_str_free(&entry);
  fy_str_free(&all);
  fy_arena_free(&tmp);
  return out;
}

TF_Buffer *TF_GetHandleShapeAndType(TF_Graph *graph, TF_Output output) {
  fy_graph *g = fy_api_graph(graph);
  const fy_node *n = fy_api_node(output.oper);
  TF_Buffer *out = NULL;
  fy_lock(&g->lock);
  if (fy_api_in_graph(g, n) && output.index >= 0 && (uint32_t)output.index < n->num_outputs &&
      n->outputs[output.index].handle.dtype != FY_INVALID)
    out = write_handle(&n->outputs[output.index].handle);
  fy_unlock(&g->lock);
  return out;
}

typedef struct field {
  uint32_t number, wire;
  uint64_t value;
  const uint8_t *p;
  size_t n;
} field;

// Reads a field; false at the end or if the bytes are not sound (*at stays before the end then).
static bool next_field(const uint8_t **at, const uint8_t *end, field *out) {
  const uint8_t *p = *at;
  uint64_t tag, n;
  if (p == end || !fy_wire_varint(&p, end, &tag) || tag >> 3 == 0 || tag >> 3 > UINT32_MAX)
    return false;
  *out = (field){.number = (uint32_t)(tag >> 3), .wire = (uint32_t)(tag & 7)};
  if (out->wire == VARINT) {
    if (!fy_wire_varint(&p, end, &out->value)) return false;
  } else if (out->wire == BYTES) {
    if (!fy_wire_varint(&p, end, &n) || n > (uint64_t)(end - p)) return false;
    out->p = p;
    out->n = (size_t)n;
    p += n;
  } else {
    size_t skip = out->wire == 1 ? 8 : out->wire == 5 ? 4 : SIZE_MAX;
    if (skip > (size_t)(end - p)) return false;
    p += skip;
  }
  *at = p;
  return true;
}

static fy_code bad_handle(fy_error *err) {
  return fy_fail(err, FY_INVALID_ARGUMENT, "Couldn't deserialize HandleData proto");
}

static fy_code read_entry(const field *entry, fy_arena *tmp, fy_handle_shape *out, fy_error *err) {
  const uint8_t *at = entry->p, *end = entry->p + entry->n;
  field f;
  out->shape = (fy_pshape){0, NULL};
  while (next_field(&at, end, &f)) {
    if (f.number == 2 && f.wire == VARINT && fy_dtype_valid((int)f.value))
      out->dtype = (fy_dtype)f.value;
    if (f.number != 1 || f.wire != BYTES) continue;
    ProtobufCMessage *m;
    fy_code code =
        fy_wire_unpack(&tensorflow__tensor_shape_proto__descriptor, f.p, f.n, NULL, tmp, &m, err);
    if (!code) code = fy_wire_shape_read((Tensorflow__TensorShapeProto *)m, tmp, &out->shape, err);
    if (code) return code == FY_INVALID_ARGUMENT ? bad_handle(err) : code;
  }
  return at == end ? FY_OK : bad_handle(err);
}

static fy_code read_handle(const void *proto, size_t len, fy_arena *tmp, fy_handle_shape *out,
                           fy_error *err) {
  const uint8_t *at = proto, *end = at + len;
  field f;
  bool first = true;
  *out = (fy_handle_shape){FY_INVALID, {-1, NULL}};
  while (next_field(&at, end, &f)) {
    if (f.number != 2 || f.wire != BYTES || !first) continue;
    FY_TRY(read_entry(&f, tmp, out, err));
    first = false;
  }
  return at == end ? FY_OK : bad_handle(err);
}

static fy_code set_handle(fy_graph *g, TF_Output output, const fy_handle_shape *h, fy_error *err) {
  fy_node *n = fy_api_node(output.oper);
  if (!fy_api_in_graph(g, n))
    return fy_fail(err, FY_INVALID_ARGUMENT, "Node %s was not found in the graph",
                   n ? n->name : "");
  if (output.index < 0 || (uint32_t)output.index >= n->num_outputs)
    return fy_fail(err, FY_INVALID_ARGUMENT, "Node %s has no output %d", n->name, output.index);
  fy_pshape shape = {-1, NULL};
  FY_TRY(fy_graph_merge_shape(g, &shape, h->shape, err));
  n->outputs[output.index].handle = (fy_handle_shape){h->dtype, shape};
  g->version++;
  return FY_OK;
}

void TF_SetHandleShapeAndType(TF_Graph *graph, TF_Output output, const void *proto,
                              size_t proto_len, TF_Status *status) {
  fy_error *err = fy_api_begin(status);
  fy_graph *g = fy_api_graph(graph);
  fy_arena tmp;
  fy_handle_shape h;
  fy_arena_init(&tmp);
  fy_code code = read_handle(proto, proto_len, &tmp, &h, err);
  if (!code) {
    fy_lock(&g->lock);
    code = set_handle(g, output, &h, err);
    fy_unlock(&g->lock);
  }
  fy_arena_free(&tmp);
  fy_api_end(status, code);
}
