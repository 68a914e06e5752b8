// SPDX-License-Identifier: Apache-2.0
// lookup_file.c: InitializeTableFromTextFileV2: keys and values from the lines of a file.

#include <string.h>

#include "base/alloc.h"
#include "ops/lookup_table.h"
#include "ops/text.h"
#include "ops/values.h"
#include "wire/file.h"

enum { WHOLE_LINE = -2, LINE_NUMBER = -1 };

static fy_view field(fy_view line, int64_t index, char delimiter, bool *found) {
  *found = true;
  if (index == WHOLE_LINE) return line;
  for (int64_t i = 0;; i++) {
    const char *end = line.n ? memchr(line.p, delimiter, line.n) : NULL;
    const size_t n = end ? (size_t)(end - line.p) : line.n;
    if (i == index) return (fy_view){line.p, n};
    if (!end) break;
    line = (fy_view){end + 1, line.n - n - 1};
  }
  *found = false;
  return (fy_view){"", 0};
}

static fy_code set_cell(fy_tensor *to, int64_t i, int64_t index, fy_view line, int64_t number,
                        char delimiter, fy_error *err) {
  if (index == LINE_NUMBER) {
    if (to->dtype != FY_INT64) {
      return fy_fail(err, FY_INVALID_ARGUMENT,
                     "Key index for line number requires tensor dtype of int64, got %s",
                     fy_dtype_name(to->dtype));
    }
    ((int64_t *)to->data)[i] = number;
    return FY_OK;
  }
  bool found;
  const fy_view v = field(line, index, delimiter, &found);
  if (!found) {
    return fy_fail(err, FY_INVALID_ARGUMENT,
                   "Invalid number of columns in line %lld (%.*s): expected at least %lld",
                   (long long)number, (int)line.n, line.p, (long long)index + 1);
  }
  if (to->dtype == FY_STRING) return fy_text_put(to, i, v.p, v.n, err);
  if (!fy_text_to_number(v, to->dtype,
                         (char *)to->data + (size_t)i * fy_dtype_storage(to->dtype))) {
    return fy_fail(err, FY_INVALID_ARGUMENT, "Field %.*s in line %lld is not a valid %s.", (int)v.n,
                   v.p, (long long)number, fy_dtype_name(to->dtype));
  }
  return FY_OK;
}

static fy_code read_lines(fy_kernel_ctx *ctx, fy_table *t, fy_view text, const char *path,
                          fy_error *err) {
  const fy_site *site = ctx->site;
  const int64_t key_index = fy_site_int(site, "key_index");
  const int64_t value_index = fy_site_int(site, "value_index");
  const int64_t offset = fy_site_int(site, "offset");
  int64_t vocab = fy_site_int(site, "vocab_size");
  const fy_view delimiter = fy_site_string(site, "delimiter");
  int64_t lines = 0, skipped = 0, n = 0;
  if (delimiter.n != 1) return fy_fail(err, FY_INVALID_ARGUMENT, "delimiter should be only 1 char");
  for (size_t i = 0; i < text.n; i++) lines += text.p[i] == '\n';
  if (text.n && text.p[text.n - 1] != '\n') lines++;
  lines = lines > offset ? lines - offset : 0;
  if (vocab >= 0 && lines < vocab) {
    return fy_fail(err, FY_INVALID_ARGUMENT, "Invalid vocab_size in %s: expected %lld but got %lld",
                   path, (long long)vocab, (long long)lines);
  }
  if (vocab < 0) vocab = lines;
  fy_tensor *keys = NULL, *values = NULL;
  fy_code code = fy_tensor_new(t->key_type, 1, &vocab, &keys, err);
  if (!code) code = fy_tensor_new(t->value_type, 1, &vocab, &values, err);
  while (!code && text.n && n < vocab) {
    const char *end = memchr(text.p, '\n', text.n);
    fy_view line = {text.p, end ? (size_t)(end - text.p) : text.n};
    const size_t used = line.n + (end != NULL);
    text = (fy_view){text.p + used, text.n - used};
    if (line.n && line.p[line.n - 1] == '\r') line.n--;
    if (skipped++ < offset) continue;
    code = set_cell(keys, n, key_index, line, n, delimiter.p[0], err);
    if (!code) code = set_cell(values, n, value_index, line, n, delimiter.p[0], err);
    n++;
  }
  if (!code) code = fy_table_initialize(t, keys, values, n, err);
  fy_tensor_release(keys);
  fy_tensor_release(values);
  return code;
}

fy_code fy_table_from_file(fy_kernel_ctx *ctx, fy_error *err) {
  const fy_tensor *file = ctx->in[1];
  fy_table *t;
  char x[128];
  uint8_t *bytes = NULL;
  size_t n = 0;
  FY_TRY(fy_table_of(ctx, &t, err));
  if (file->rank != 0) {
    return fy_fail(err, FY_INVALID_ARGUMENT, "filename should be a single string, but got %s",
                   fy_tensor_shape_text(file, x));
  }
  const fy_view name = fy_tensor_string(file, 0);
  if (name.n == 0) return fy_fail(err, FY_INVALID_ARGUMENT, "filename cannot be empty.");
  char *path = fy_strndup(name.p, name.n);
  if (!path) return fy_fail_oom(err, name.n);
  fy_lock(&t->lock);
  fy_code code = FY_OK;
  if (!t->initialized) {
    code = fy_wire_file_load(path, (uint64_t)1 << 32, &bytes, &n, err);
    if (!code) code = read_lines(ctx, t, (fy_view){(const char *)bytes, n}, path, err);
  }
  fy_unlock(&t->lock);
  fy_free(bytes);
  fy_free(path);
  return code;
}
