// SPDX-License-Identifier: Apache-2.0
// attr_proto.h: AttrValue, NameAttrList and attribute maps to and from fy_attr(s).

#ifndef FY_WIRE_ATTR_PROTO_H
#define FY_WIRE_ATTR_PROTO_H

#include "attr_value.pb-c.h"
#include "function.pb-c.h"
#include "node_def.pb-c.h"
#include "op_def.pb-c.h"
#include "tensor/attr.h"
#include "wire/tensor_proto.h"

// Reads |proto| (NULL = no field set) into |arena|, which also retains tensors. Strings are copied:
// the message may go. |options| limits constants and may be NULL. INVALID_ARGUMENT: a list of more
// than one kind, an unknown data type, a bad shape or tensor.
FY_MUST_CHECK fy_code fy_wire_attr_read(const Tensorflow__AttrValue *proto, fy_arena *arena,
                                        const fy_wire_tensor_options *options, fy_attr *out,
                                        fy_error *err);
// The message lives in |arena| and borrows |attr|'s strings, lists and tensors.
FY_MUST_CHECK fy_code fy_wire_attr_write(const fy_attr *attr, fy_arena *arena,
                                         Tensorflow__AttrValue **out, fy_error *err);

FY_MUST_CHECK fy_code fy_wire_func_read(const Tensorflow__NameAttrList *proto, fy_arena *arena,
                                        const fy_wire_tensor_options *options, fy_func_attr *out,
                                        fy_error *err);
FY_MUST_CHECK fy_code fy_wire_func_write(const fy_func_attr *func, fy_arena *arena,
                                         Tensorflow__NameAttrList **out, fy_error *err);

// The attr map of a NodeDef; the last entry of a name wins. Errors name the attribute. FunctionDef
// and NameAttrList have maps of the same layout: cast their entries (attr_proto.c asserts it).
typedef Tensorflow__NodeDef__AttrEntry fy_wire_attr_entry;
FY_MUST_CHECK fy_code fy_wire_attrs_read(size_t n, fy_wire_attr_entry *const *entries,
                                         fy_arena *arena, const fy_wire_tensor_options *options,
                                         fy_attrs *out, fy_error *err);
// Entries sorted by name, of map type |entry| (e.g. &tensorflow__node_def__attr_entry__descriptor).
FY_MUST_CHECK fy_code fy_wire_attrs_write(const fy_attrs *attrs,
                                          const ProtobufCMessageDescriptor *entry, fy_arena *arena,
                                          size_t *out_n, fy_wire_attr_entry ***out, fy_error *err);

#endif
