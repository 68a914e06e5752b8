// SPDX-License-Identifier: Apache-2.0
#include "observe/table.h"

#include "base/alloc.h"

#define GAP      2
#define MIN_WRAP 20  // columns left for the last cell, or it is not broken at all

void fy_table_init(fy_table *t, int columns, uint32_t right) {
  *t = (fy_table){.columns = columns, .right = right};
}

void fy_table_free(fy_table *t) {
  fy_free(t->cells);
}

void fy_table_add(fy_table *t, const char *cell) {
  if (!fy_grow(&t->cells, &t->cap, t->n + 1, sizeof *t->cells)) {
    t->failed = true;
    return;
  }
  t->cells[t->n++] = cell ? cell : "";
}

// Columns that UTF-8 text takes, a code point each.
static int columns_of(const char *s) {
  int n = 0;
  for (; *s; s++) n += ((unsigned char)*s & 0xc0) != 0x80;
  return n;
}

static void spaces(fy_str *out, int n) {
  for (int i = 0; i < n; i++) fy_str_addc(out, ' ');
}

void fy_text_wrap(fy_str *out, const char *text, int at, int width) {
  bool wrap = width > 0 && width - at >= MIN_WRAP;
  int used = 0;
  while (*text) {
    size_t n = 0;
    while (text[n] && text[n] != ' ' && text[n] != '\n') n++;
    int w = 0;
    for (size_t i = 0; i < n; i++) w += ((unsigned char)text[i] & 0xc0) != 0x80;
    if (wrap && used && at + used + 1 + w > width) {
      fy_str_addc(out, '\n');
      spaces(out, at);
      used = 0;
    } else if (used) {
      fy_str_addc(out, ' ');
      used++;
    }
    fy_str_addn(out, text, n);
    used += w;
    text += n;
    while (*text == ' ' || *text == '\n') text++;
  }
  fy_str_addc(out, '\n');
}

void fy_table_print(fy_str *out, const fy_table *t, int indent, int width) {
  int widths[FY_TABLE_COLUMNS] = {0};
  out->failed |= t->failed;
  for (size_t i = 0; i < t->n; i++) {
    int w = columns_of(t->cells[i]), c = (int)(i % (size_t)t->columns);
    if (w > widths[c]) widths[c] = w;
  }
  for (size_t row = 0; row + (size_t)t->columns <= t->n; row += (size_t)t->columns) {
    int at = indent;
    spaces(out, indent);
    for (int c = 0; c + 1 < t->columns; c++) {
      const char *cell = t->cells[row + (size_t)c];
      int pad = widths[c] - columns_of(cell);
      bool right = t->right >> c & 1;
      if (right) spaces(out, pad);
      fy_str_add(out, cell);
      spaces(out, GAP + (right ? 0 : pad));
      at += widths[c] + GAP;
    }
    fy_text_wrap(out, t->cells[row + (size_t)t->columns - 1], at, width);
  }
}
