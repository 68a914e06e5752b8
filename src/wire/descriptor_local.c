// SPDX-License-Identifier: Apache-2.0
// descriptor_local.c: the message types that are compiled in, by name: whatever these few lead to.

#include "config.pb-c.h"
#include "example.pb-c.h"
#include "saved_model.pb-c.h"
#include "tensor_bundle.pb-c.h"
#include "wire/descriptor.h"

enum { TYPES = 256 };  // more than there are

typedef struct search {
  fy_view name;
  const ProtobufCMessageDescriptor *seen[TYPES];
  int n;
} search;

static const ProtobufCMessageDescriptor *look(search *s, const ProtobufCMessageDescriptor *d) {
  if (fy_view_is(s->name, d->name)) return d;
  for (int i = 0; i < s->n; i++)
    if (s->seen[i] == d) return NULL;
  if (s->n == TYPES) return NULL;
  s->seen[s->n++] = d;
  for (unsigned i = 0; i < d->n_fields; i++) {
    if (d->fields[i].type != PROTOBUF_C_TYPE_MESSAGE) continue;
    const ProtobufCMessageDescriptor *found = look(s, d->fields[i].descriptor);
    if (found) return found;
  }
  return NULL;
}

const ProtobufCMessageDescriptor *fy_proto_find_local(fy_view name) {
  static const ProtobufCMessageDescriptor *const roots[] = {
      &tensorflow__example__descriptor,
      &tensorflow__sequence_example__descriptor,
      &tensorflow__saved_model__descriptor,
      &tensorflow__config_proto__descriptor,
      &tensorflow__run_options__descriptor,
      &tensorflow__run_metadata__descriptor,
      &tensorflow__bundle_header_proto__descriptor,
      &tensorflow__bundle_entry_proto__descriptor,
  };
  search s = {.name = name};
  for (size_t i = 0; i < sizeof roots / sizeof roots[0]; i++) {
    const ProtobufCMessageDescriptor *found = look(&s, roots[i]);
    if (found) return found;
  }
  return NULL;
}
