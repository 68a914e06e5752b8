// SPDX-License-Identifier: Apache-2.0
// input_values.c: numbers and strings from JSON, tables and lines, before they get a type.

#include <errno.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "input.h"
#include "json.h"

enum { FLOAT = 1, DOUBLE = 2, STRING = 7, COMPLEX64 = 8, BOOL = 10, COMPLEX128 = 18 };

void input_values_free(input_values *v) {
  for (int64_t i = 0; i < v->count; i++) free(v->cells[i].text);
  free(v->cells);
  *v = (input_values){0};
}

void input_add(input_values *v, input_cell cell) {
  if (v->count == v->cap) {
    int64_t cap = v->cap ? 2 * v->cap : 64;
    input_cell *more = realloc(v->cells, (size_t)cap * sizeof *more);
    if (!more) {
      v->failed = true;
      free(cell.text);
      return;
    }
    v->cells = more;
    v->cap = cap;
  }
  v->cells[v->count++] = cell;
}

static char *copy_bytes(const char *p, size_t n) {
  char *c = malloc(n + 1);
  if (c) {
    memcpy(c, p, n);
    c[n] = 0;
  }
  return c;
}

// ------------------------------------------------------------------ JSON
static int base64_digit(char c) {
  if (c >= 'A' && c <= 'Z') return c - 'A';
  if (c >= 'a' && c <= 'z') return c - 'a' + 26;
  if (c >= '0' && c <= '9') return c - '0' + 52;
  return c == '+' || c == '-' ? 62 : c == '/' || c == '_' ? 63 : -1;
}

// TensorFlow Serving's way to write bytes: {"b64": "…"}.
static bool add_base64(input_values *v, const json_value *j) {
  char *out = malloc(j->length + 1);
  size_t n = 0;
  unsigned bits = 0, have = 0;
  if (!out) return false;
  for (size_t i = 0; i < j->length && j->text[i] != '='; i++) {
    int d = base64_digit(j->text[i]);
    if (d < 0) {
      free(out);
      return false;
    }
    bits = bits << 6 | (unsigned)d;
    have += 6;
    if (have >= 8) {
      have -= 8;
      out[n++] = (char)(bits >> have & 255);
    }
  }
  out[n] = 0;
  input_add(v, (input_cell){.text = out, .length = n});
  return true;
}

static bool is_bytes(const json_value *j) {
  const json_value *b = json_get(j, "b64");
  return j->kind == JSON_OBJECT && j->n == 1 && b && b->kind == JSON_STRING;
}

static bool add_json(const char *from, const json_value *j, int depth, input_values *v) {
  if (j->kind == JSON_ARRAY) {
    if (depth >= 16) {
      cli_error("%s: lists are nested more than 16 deep", from);
      return false;
    }
    if (depth >= v->rank && v->settled) {
      cli_error("%s: a list stands where single values were before: a tensor has equal rows", from);
      return false;
    }
    if (depth >= v->rank) v->dims[v->rank++] = (int64_t)j->n;
    if (v->dims[depth] != (int64_t)j->n) {
      cli_error(
          "%s: lists of %lld and of %zu elements in one dimension: a tensor has equal rows (a "
          "ragged value is given by its parts: all elements in one list, and where each row ends)",
          from, (long long)v->dims[depth], j->n);
      return false;
    }
    for (size_t i = 0; i < j->n; i++)
      if (!add_json(from, &j->items[i], depth + 1, v)) return false;
    return true;
  }
  v->settled = true;
  if (depth < v->rank) {
    cli_error("%s: a single value stands where a list of %lld was before", from,
              (long long)v->dims[depth]);
    return false;
  }
  if (j->kind == JSON_STRING) {
    input_add(v, (input_cell){.text = copy_bytes(j->text, j->length), .length = j->length});
    return true;
  }
  if (is_bytes(j) && add_base64(v, json_get(j, "b64"))) return true;
  if (j->kind == JSON_NUMBER || j->kind == JSON_BOOL) {
    input_add(v, (input_cell){.number = j->number,
                              .integer = j->integer,
                              .is_integer = j->is_integer,
                              .is_unsigned = j->is_unsigned});
    return true;
  }
  cli_error("%s: a value is %s, not a number or a string", from,
            j->kind == JSON_NULL ? "null" : "an object");
  return false;
}

bool input_from_json(const char *from, const void *json, input_values *v) {
  bool ok = add_json(from, json, 0, v);
  int64_t count = 1;
  for (int i = 0; i < v->rank; i++) count *= v->dims[i];
  if (ok && count != v->count) {
    cli_error("%s: lists of different depth: a tensor has equal rows", from);
    ok = false;
  }
  return ok && !v->failed;
}

// ------------------------------------------------------------------ tables
static bool number_cell(const char *p, size_t n, input_cell *out) {
  char text[64], *end;
  while (n && (p[0] == ' ' || p[0] == '\t')) p++, n--;
  while (n && (p[n - 1] == ' ' || p[n - 1] == '\t')) n--;
  if (!n || n >= sizeof text) return false;
  memcpy(text, p, n);
  text[n] = 0;
  *out = (input_cell){.number = strtod(text, &end)};
  if (end != text + n) {
    bool yes = strcmp(text, "true") == 0 || strcmp(text, "True") == 0;
    if (!yes && strcmp(text, "false") != 0 && strcmp(text, "False") != 0) return false;
    *out = (input_cell){.number = yes, .integer = yes, .is_integer = true};
    return true;
  }
  if (strpbrk(text, ".eExXnNiI")) return true;
  errno = 0;
  out->integer = strtoll(text, &end, 10);
  out->is_integer = !errno && end == text + n;
  return true;
}

typedef struct table_reader {
  const char *at, *end;
  bool spaces;  // cells are parted by blanks, however many
  bool tabs;    // cells are parted by tabs
} table_reader;

// Commas and semicolons part cells where the table has any; else tabs; else, between numbers, blanks.
static table_reader read_table(const char *text, size_t n, bool strings) {
  bool comma = memchr(text, ',', n) || memchr(text, ';', n);
  bool tabs = !comma && memchr(text, '\t', n) && strings;
  return (table_reader){text, text + n, !strings && !comma, tabs};
}

static bool ends_cell(const table_reader *r, char c) {
  if (c == '\n') return true;
  if (r->tabs) return c == '\t';
  return c == ',' || c == ';' || (r->spaces && (c == ' ' || c == '\t'));
}

// The next cell of the current line, unquoted; |*last| if it ends the line. The text is the caller's.
static char *next_cell(table_reader *r, size_t *n, bool *last) {
  size_t cap = 0, len = 0;
  const char *p = r->at;
  while (r->spaces && p < r->end && (*p == ' ' || *p == '\t')) p++;
  bool quoted = p < r->end && *p == '"';
  for (const char *q = p; q < r->end; q++, cap++)
    if (!quoted && *q == '\n') break;
  char *out = malloc(cap + 1);
  if (!out) return NULL;
  if (quoted) {
    for (p++; p < r->end; p++) {
      if (*p == '"' && p + 1 < r->end && p[1] == '"')
        p++;
      else if (*p == '"')
        break;
      out[len++] = *p;
    }
    p += p < r->end;
  }
  while (p < r->end && !ends_cell(r, *p)) out[len++] = *p++;
  if (len && out[len - 1] == '\r') len--;
  while (r->spaces && p < r->end && (*p == ' ' || *p == '\t' || *p == '\r')) p++;
  *last = p >= r->end || *p == '\n';
  r->at = p < r->end ? p + (r->spaces && *p != '\n' && *p != ',' && *p != ';' ? 0 : 1) : p;
  out[len] = 0;
  *n = len;
  return out;
}

bool input_from_table(const char *from, const char *text, size_t n, bool strings, input_values *v) {
  table_reader r = read_table(text, n, strings);
  int64_t columns = -1, line = 0, rows = 0;
  while (r.at < r.end) {
    int64_t k = 0, before = v->count;
    bool last = false, header = false;
    line++;
    if (*r.at == '\n' || (*r.at == '\r' && r.at + 1 < r.end && r.at[1] == '\n')) {  // an empty line
      r.at += *r.at == '\r' ? 2 : 1;
      continue;
    }
    while (!last) {
      size_t len;
      char *cell = next_cell(&r, &len, &last);
      input_cell c = {.text = cell, .length = len};
      if (!cell) return false;
      if (!strings) {
        bool number = number_cell(cell, len, &c);
        header |= !number && rows == 0;
        if (!number && rows) {
          cli_error("%s: line %lld, column %lld: '%s' is not a number", from, (long long)line,
                    (long long)k + 1, cell);
          free(cell);
          return false;
        }
        free(cell);
        c.text = NULL;
      }
      input_add(v, c);
      k++;
    }
    if (header && columns < 0) {  // names of the columns
      while (v->count > before) free(v->cells[--v->count].text);
      columns = k;
      continue;
    }
    if (columns >= 0 && k != columns) {
      cli_error("%s: line %lld has %lld values, the lines before it %lld", from, (long long)line,
                (long long)k, (long long)columns);
      return false;
    }
    columns = k;
    rows++;
  }
  v->rank = 2;
  v->dims[0] = rows;
  v->dims[1] = rows ? columns : 0;
  return !v->failed;
}

// The place of the column |name| in the first line, or -1.
static int64_t find_column(table_reader *r, const char *name) {
  int64_t want = -1;
  bool last = false;
  for (int64_t k = 0; r->at < r->end && !last; k++) {
    size_t len;
    char *cell = next_cell(r, &len, &last);
    if (!cell) return -1;
    if (strcmp(cell, name) == 0) want = k;
    free(cell);
  }
  return want;
}

bool input_has_column(const char *text, size_t n, const char *name) {
  table_reader r = read_table(text, n, true);
  return find_column(&r, name) >= 0;
}

bool input_from_column(const char *from, const char *text, size_t n, const char *name, bool strings,
                       input_values *v) {
  table_reader r = read_table(text, n, true);
  int64_t want = find_column(&r, name);
  bool ok = want >= 0;
  for (int64_t line = 2; r.at < r.end && ok; line++) {
    bool last = false, found = false;
    if (*r.at == '\n' || (*r.at == '\r' && r.at + 1 < r.end && r.at[1] == '\n')) {
      r.at += *r.at == '\r' ? 2 : 1;
      continue;
    }
    for (int64_t k = 0; !last && ok; k++) {
      size_t len;
      char *cell = next_cell(&r, &len, &last);
      input_cell c = {.text = cell, .length = len};
      if (!cell) return false;
      if (k != want) {
        free(cell);
        continue;
      }
      found = true;
      if (!strings && !(ok = number_cell(cell, len, &c)))
        cli_error("%s: line %lld, column %s: '%s' is not a number", from, (long long)line, name,
                  cell);
      if (!strings) {
        free(cell);
        c.text = NULL;
      }
      if (ok) input_add(v, c);
    }
    if (ok && !found) {
      cli_error("%s: line %lld ends before its column %s", from, (long long)line, name);
      ok = false;
    }
  }
  v->rank = 1;
  v->dims[0] = v->count;
  return ok && !v->failed;
}

bool input_from_lines(const char *text, size_t n, input_values *v) {
  for (const char *p = text, *end = text + n; p < end;) {
    const char *stop = memchr(p, '\n', (size_t)(end - p));
    size_t len = (size_t)((stop ? stop : end) - p);
    if (len && p[len - 1] == '\r') len--;
    input_add(v, (input_cell){.text = copy_bytes(p, len), .length = len});
    p = stop ? stop + 1 : end;
  }
  v->rank = 1;
  v->dims[0] = v->count;
  return !v->failed;
}

// ------------------------------------------------------------------ types
typedef struct integer_type {
  int dtype;
  size_t bytes;
  int64_t least;
  uint64_t most;
} integer_type;

static const integer_type integers[] = {
    {3, 4, INT32_MIN, INT32_MAX}, {4, 1, 0, UINT8_MAX},         {5, 2, INT16_MIN, INT16_MAX},
    {6, 1, INT8_MIN, INT8_MAX},   {9, 8, INT64_MIN, INT64_MAX}, {BOOL, 1, 0, 1},
    {17, 2, 0, UINT16_MAX},       {22, 4, 0, UINT32_MAX},       {23, 8, 0, UINT64_MAX},
};

static const integer_type *integer_of(int dtype) {
  for (size_t i = 0; i < sizeof integers / sizeof *integers; i++)
    if (integers[i].dtype == dtype) return &integers[i];
  return NULL;
}

static bool put_integer(const char *from, const input_cell *c, const integer_type *t, char *to,
                        const ferry_model_value *want) {
  char what[256];
  int64_t value = c->integer;
  bool whole = c->is_integer;
  if (!whole && c->number == floor(c->number) && fabs(c->number) < 9e15) {
    value = (int64_t)c->number;
    whole = true;
  }
  bool fits =
      whole && (c->is_unsigned ? (uint64_t)value <= t->most
                               : value >= t->least && (value < 0 || (uint64_t)value <= t->most));
  if (!fits) {
    input_describe(want, what);
    if (t->dtype == BOOL)
      cli_error("%s: %.17g does not fit %s, which takes true, false, 1 and 0", from, c->number,
                what);
    else
      cli_error("%s: %.17g does not fit %s, which takes whole numbers of %lld to %llu", from,
                c->number, what, (long long)t->least, (unsigned long long)t->most);
    return false;
  }
  memcpy(to, &value, t->bytes);  // little-endian, as every platform we run on
  return true;
}

static ferry_tensor *typed_strings(const char *from, const input_values *v,
                                   const ferry_model_value *want) {
  ferry_tensor *t;
  ferry_error err;
  char what[256], number[64];
  if (ferry_tensor_strings(v->rank, v->dims, NULL, &t, &err)) {
    cli_fail(from, &err);
    return NULL;
  }
  for (int64_t i = 0; i < v->count; i++) {
    const input_cell *c = &v->cells[i];
    if (!c->text) {
      snprintf(number, sizeof number, "%.17g", c->number);
      input_describe(want, what);
      cli_error("%s: %s wants strings, but %s came: write it in quotes", from, what, number);
      ferry_tensor_free(t);
      return NULL;
    }
    if (ferry_tensor_set_string(t, i, c->text, c->length, &err)) {
      cli_fail(from, &err);
      ferry_tensor_free(t);
      return NULL;
    }
  }
  return t;
}

// "1.5", "2j" or "1-2.5j", as Python writes complex numbers.
static bool complex_text(const char *text, double out[2]) {
  char *end;
  size_t open = strspn(text, " (");
  out[0] = strtod(text + open, &end);
  out[1] = 0;
  if (end == text + open) return false;
  if (*end == '+' || *end == '-') {
    const char *second = end;
    out[1] = strtod(second, &end);
    if (end == second || (*end != 'j' && *end != 'i')) return false;
    end++;
  } else if (*end == 'j' || *end == 'i') {
    out[1] = out[0];
    out[0] = 0;
    end++;
  }
  return end[strspn(end, " )")] == 0;
}

static ferry_tensor *typed_complex(ferry_runtime *rt, const char *from, const input_values *v,
                                   const ferry_model_value *want) {
  ferry_tensor *t;
  ferry_error err;
  char what[256];
  if (ferry_tensor_new(COMPLEX128, v->rank, v->dims, NULL, &t, &err)) {
    cli_fail(from, &err);
    return NULL;
  }
  double *data = ferry_tensor_data(t);
  for (int64_t i = 0; i < v->count; i++, data += 2) {
    const input_cell *c = &v->cells[i];
    data[0] = c->number;
    data[1] = 0;
    if (c->text && !complex_text(c->text, data)) {
      input_describe(want, what);
      cli_error("%s: %s wants numbers such as 1.5 or \"1-2.5j\", but the string \"%.40s\" came",
                from, what, c->text);
      ferry_tensor_free(t);
      return NULL;
    }
  }
  return input_cast(rt, from, t, want);
}

ferry_tensor *input_typed(ferry_runtime *rt, const char *from, const input_values *v,
                          const ferry_model_value *want) {
  ferry_tensor *t;
  ferry_error err;
  char what[256];
  if (want->dtype == STRING) return typed_strings(from, v, want);
  if (want->dtype == COMPLEX64 || want->dtype == COMPLEX128)
    return typed_complex(rt, from, v, want);
  const integer_type *integer = integer_of(want->dtype);
  int dtype = integer || want->dtype == FLOAT ? want->dtype : DOUBLE;
  if (ferry_tensor_new(dtype, v->rank, v->dims, NULL, &t, &err)) {
    cli_fail(from, &err);
    return NULL;
  }
  char *data = ferry_tensor_data(t);
  for (int64_t i = 0; i < v->count; i++) {
    const input_cell *c = &v->cells[i];
    if (c->text) {
      input_describe(want, what);
      cli_error("%s: %s wants numbers, but the string \"%.40s\" came", from, what, c->text);
      ferry_tensor_free(t);
      return NULL;
    }
    if (integer) {
      if (!put_integer(from, c, integer, data + (size_t)i * integer->bytes, want)) {
        ferry_tensor_free(t);
        return NULL;
      }
    } else if (dtype == FLOAT) {
      ((float *)(void *)data)[i] = (float)c->number;
    } else {
      ((double *)(void *)data)[i] = c->number;
    }
  }
  return dtype == want->dtype ? t : input_cast(rt, from, t, want);
}
