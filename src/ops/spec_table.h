// SPDX-License-Identifier: Apache-2.0
// spec_table.h: the embedded table of signatures (opdefs.tsv; its head explains the grammar).
// Not here: finding an op by name (spec.c).

#ifndef FY_OPS_SPEC_TABLE_H
#define FY_OPS_SPEC_TABLE_H

#include "ops/spec.h"

size_t fy_spec_table_count(void);
const char *fy_spec_table_name(size_t line);  // sorted by bytes
// The line of |name|, or the count of lines if there is none.
size_t fy_spec_table_find(const char *name, size_t len);
// Parses one line into |arena|. INTERNAL if the table is damaged.
FY_MUST_CHECK fy_code fy_spec_table_parse(size_t line, fy_arena *arena, fy_op_spec *out,
                                          fy_error *err);

// The OpDef spelling of an attribute type ("list(type)") as a static string, and its parts.
// NULL if |text| is no such type.
const char *fy_spec_type_name(const char *text, size_t n, fy_attr_kind *kind, bool *is_list);

#endif
