// SPDX-License-Identifier: Apache-2.0
// proto_fields.c: see proto_fields.h.

#include "ops/proto_fields.h"

#include <stdlib.h>
#include <string.h>

#include "base/alloc.h"
#include "wire/file.h"

enum { MAX_DESCRIPTOR_BYTES = 64 << 20 };

static fy_code find_message(const fy_site *site, fy_proto_plan *p, fy_error *err) {
  const fy_view name = fy_site_string(site, "message_type"),
                source = fy_site_string(site, "descriptor_source");
  fy_code code = FY_OK;
  if (!source.n || fy_view_is(source, "local://")) {
    p->message = fy_proto_find_local(name);
  } else {
    fy_view set = {source.p + 8, source.n - 8};
    if (source.n < 8 || memcmp(source.p, "bytes://", 8)) {
      char *path = fy_arena_strndup(&p->arena, source.p, source.n);
      uint8_t *bytes = NULL;
      if (!path) return fy_fail_oom(err, source.n);
      code = fy_wire_file_load(path, MAX_DESCRIPTOR_BYTES, &bytes, &set.n, err);
      if (code && code != FY_RESOURCE_EXHAUSTED) code = FY_DATA_LOSS;
      if (!code) set.p = (const char *)bytes;
      if (!code && fy_arena_defer(&p->arena, fy_free, bytes)) code = fy_fail_oom(err, set.n);
    }
    if (!code) code = fy_proto_find(set, name, &p->arena, &p->message, err);
  }
  if (code == FY_DATA_LOSS)
    return fy_fail(
        err, FY_INVALID_ARGUMENT,
        "Source does not represent serialized file descriptor set proto. This may be due to "
        "a missing dependency on the file containing REGISTER_DESCRIPTOR_POOL(\"%.*s\", "
        "...);",
        (int)source.n, source.p);
  if (code) return code;
  if (!p->message)
    return fy_fail(err, FY_INVALID_ARGUMENT, "No descriptor found for message type %.*s",
                   (int)name.n, name.p);
  return FY_OK;
}

static const ProtobufCFieldDescriptor *find_field(const ProtobufCMessageDescriptor *m,
                                                  fy_view name) {
  for (unsigned i = 0; i < m->n_fields; i++)
    if (fy_view_is(name, m->fields[i].name)) return &m->fields[i];
  return NULL;
}

static int by_number(const void *a, const void *b) {
  const fy_proto_slot *x = a, *y = b;
  if (x->field->id != y->field->id) return x->field->id < y->field->id ? -1 : 1;
  return x->index - y->index;
}

static fy_code make(const fy_site *site, fy_proto_plan *p, fy_error *err) {
  const fy_attr *names = fy_site_attr(site, "field_names");
  FY_TRY(find_message(site, p, err));
  p->n = names ? (int)names->n : 0;
  p->slots = fy_arena_array(&p->arena, (size_t)p->n + 1, sizeof *p->slots);
  if (!p->slots) return fy_fail_oom(err, (size_t)p->n * sizeof *p->slots);
  for (int i = 0; i < p->n; i++) {
    const fy_view name = names->v.strings[i];
    const ProtobufCFieldDescriptor *f = find_field(p->message, name);
    if (!f)
      return fy_fail(err, FY_INVALID_ARGUMENT, "Unknown field: %.*s in message type %s",
                     (int)name.n, name.p, p->message->name);
    const fy_proto_type type = fy_proto_type_of(f);
    p->slots[i] = (fy_proto_slot){f, type, fy_proto_wire_type(type), i};
  }
  if (p->n) qsort(p->slots, (size_t)p->n, sizeof *p->slots, by_number);
  return FY_OK;
}

fy_code fy_proto_plan_make(const fy_site *site, fy_proto_plan **out, fy_error *err) {
  fy_proto_plan *p = fy_calloc(1, sizeof *p);
  *out = NULL;
  if (!p) return fy_fail_oom(err, sizeof *p);
  fy_arena_init(&p->arena);
  fy_code code = make(site, p, err);
  if (code)
    fy_proto_plan_free(p);
  else
    *out = p;
  return code;
}

void fy_proto_plan_free(void *plan) {
  fy_proto_plan *p = plan;
  if (!p) return;
  fy_arena_free(&p->arena);
  fy_free(p);
}

bool fy_proto_fits(fy_proto_type type, fy_dtype dtype) {
  switch (type) {
    case FY_PROTO_DOUBLE: return dtype == FY_DOUBLE;
    case FY_PROTO_FLOAT: return dtype == FY_FLOAT || dtype == FY_DOUBLE;
    case FY_PROTO_INT64:
    case FY_PROTO_SINT64:
    case FY_PROTO_SFIXED64: return dtype == FY_INT64;
    case FY_PROTO_UINT64:
    case FY_PROTO_FIXED64: return dtype == FY_UINT64;
    case FY_PROTO_INT32:
    case FY_PROTO_SINT32:
    case FY_PROTO_SFIXED32: return dtype == FY_INT32 || dtype == FY_INT64;
    case FY_PROTO_UINT32:
    case FY_PROTO_FIXED32: return dtype == FY_UINT32 || dtype == FY_UINT64;
    case FY_PROTO_BOOL: return dtype == FY_BOOL;
    case FY_PROTO_ENUM: return dtype == FY_INT32;
    default: return dtype == FY_STRING;
  }
}

uint64_t fy_proto_widen(fy_proto_type type, uint64_t wire) {
  switch (type) {
    case FY_PROTO_INT32:
    case FY_PROTO_ENUM:
    case FY_PROTO_SFIXED32: return (uint64_t)(int64_t)(int32_t)(uint32_t)wire;
    case FY_PROTO_UINT32:
    case FY_PROTO_FIXED32: return (uint32_t)wire;
    case FY_PROTO_SINT32: wire = (uint32_t)wire;  // fall through
    case FY_PROTO_SINT64: return wire >> 1 ^ (0 - (wire & 1));
    case FY_PROTO_BOOL: return wire != 0;
    default: return wire;
  }
}

uint64_t fy_proto_to_wire(fy_proto_type type, uint64_t bits) {
  const uint64_t sign = 0 - (bits >> 63);
  switch (type) {
    case FY_PROTO_INT32:
    case FY_PROTO_ENUM: return (uint64_t)(int64_t)(int32_t)(uint32_t)bits;
    case FY_PROTO_UINT32: return (uint32_t)bits;
    case FY_PROTO_SINT32: return (uint32_t)((uint32_t)bits << 1 ^ (0 - ((uint32_t)bits >> 31)));
    case FY_PROTO_SINT64: return bits << 1 ^ sign;
    default: return bits;
  }
}

void fy_proto_store(fy_proto_type type, uint64_t bits, fy_tensor *t, int64_t i) {
  float f;
  const uint32_t low = (uint32_t)bits;
  switch (t->dtype) {
    case FY_BOOL: ((bool *)t->data)[i] = bits != 0; break;
    case FY_FLOAT:
    case FY_INT32:
    case FY_UINT32: memcpy((uint32_t *)t->data + i, &low, sizeof low); break;
    case FY_DOUBLE:
      memcpy(&f, &low, sizeof f);
      if (type == FY_PROTO_FLOAT) {
        ((double *)t->data)[i] = (double)f;
        break;
      }  // fall through
    default: memcpy((uint64_t *)t->data + i, &bits, sizeof bits); break;
  }
}

uint64_t fy_proto_load(fy_proto_type type, const fy_tensor *t, int64_t i) {
  uint64_t bits = 0;
  switch (t->dtype) {
    case FY_BOOL: return ((const bool *)t->data)[i];
    case FY_INT32: return (uint64_t)(int64_t)((const int32_t *)t->data)[i];
    case FY_FLOAT:
    case FY_UINT32: return ((const uint32_t *)t->data)[i];
    case FY_DOUBLE:
      if (type == FY_PROTO_FLOAT) {
        const float f = (float)((const double *)t->data)[i];
        memcpy(&bits, &f, sizeof f);
        return bits;
      }  // fall through
    default: memcpy(&bits, (const uint64_t *)t->data + i, sizeof bits); return bits;
  }
}
