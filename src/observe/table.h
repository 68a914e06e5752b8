// SPDX-License-Identifier: Apache-2.0
// table.h: aligned columns. Widths come from the contents; only the last column may be wrapped, and
// only if the caller gives the width of its terminal. Private to this folder.

#ifndef FY_OBSERVE_TABLE_H
#define FY_OBSERVE_TABLE_H

#include "base/str.h"

#define FY_TABLE_COLUMNS 8

typedef struct fy_table {
  const char **cells;  // row by row; borrowed
  size_t n, cap;
  int columns;
  uint32_t right;  // bit per column that is aligned to the right
  bool failed;
} fy_table;

void fy_table_init(fy_table *t, int columns, uint32_t right);
void fy_table_free(fy_table *t);
void fy_table_add(fy_table *t, const char *cell);  // the next cell; NULL = ""
void fy_table_print(fy_str *out, const fy_table *t, int indent, int width);
// |text| at column |at|, broken at spaces so that no line passes |width| (0 = not broken), with
// "\n".
void fy_text_wrap(fy_str *out, const char *text, int at, int width);

#endif
