// SPDX-License-Identifier: Apache-2.0
// vocab_remap.c: GenerateVocabRemapping: for a range of lines of a new vocabulary file, where the old
// one has the same word (warm starts of TensorFlow 1).

#include "base/alloc.h"
#include "base/map.h"
#include "ops/shape_fns.h"
#include "ops/text.h"
#include "ops/values.h"
#include "wire/file.h"

#define MAX_FILE ((uint64_t)1 << 32)

// The next line of [*at, end) without its end; false when there is none.
static bool next_line(const char **at, const char *end, fy_view *line) {
  if (*at >= end) return false;
  const char *stop = memchr(*at, '\n', (size_t)(end - *at));
  *line = (fy_view){*at, (size_t)((stop ? stop : end) - *at)};
  if (line->n && line->p[line->n - 1] == '\r') line->n--;
  *at = stop ? stop + 1 : end;
  return true;
}

static fy_code check_name(const fy_tensor *t, const char *which, fy_error *err) {
  char x[128];
  if (t->rank != 0) {
    return fy_fail(err, FY_INVALID_ARGUMENT, "%s_vocab_file should be a single string, but got %s",
                   which, fy_tensor_shape_text(t, x));
  }
  if (fy_tensor_string(t, 0).n == 0) {
    return fy_fail(err, FY_INVALID_ARGUMENT, "%s vocab filename cannot be empty.", which);
  }
  return FY_OK;
}

static fy_code load(const fy_tensor *t, uint8_t **bytes, size_t *n, fy_error *err) {
  const fy_view v = fy_tensor_string(t, 0);
  char *path = fy_strndup(v.p, v.n);
  if (!path) return fy_fail_oom(err, v.n);
  const fy_code code = fy_wire_file_load(path, MAX_FILE, bytes, n, err);
  fy_free(path);
  return code;
}

// Every word of the old file, up to |most| (-1 = all), to its line.
static fy_code read_old(const fy_tensor *name, const char *at, const char *end, int64_t most,
                        fy_map *words, fy_error *err) {
  const fy_view file = fy_tensor_string(name, 0);
  const char *begin = at;
  int64_t n = 0;
  if (at == end && most < 0) {  // TensorFlow looks for the last line first
    return fy_fail(err, FY_OUT_OF_RANGE, "Read less bytes than requested");
  }
  for (fy_view line; (most < 0 || n < most) && next_line(&at, end, &line); n++) {
    if (line.n == 0) {
      return fy_fail(err, FY_INVALID_ARGUMENT,
                     "Invalid content in %.*s: empty line found at position %lld.", (int)file.n,
                     file.p, (long long)(at - begin));
    }
    void *old = fy_map_get(words, line.p, line.n);
    if (old) {
      return fy_fail(err, FY_FAILED_PRECONDITION,
                     "HashTable has different value for same key. Key %.*s has %lld and trying to "
                     "add value %lld",
                     (int)line.n, line.p, (long long)(intptr_t)old - 1, (long long)n);
    }
    if (!fy_map_put(words, line.p, line.n, (void *)(intptr_t)(n + 1))) {
      return fy_fail_oom(err, line.n);
    }
  }
  if (most >= 0 && n != most) {
    return fy_fail(err, FY_INVALID_ARGUMENT,
                   "Invalid vocab_size in %.*s: expected %lld but got %lld", (int)file.n, file.p,
                   (long long)most, (long long)n);
  }
  return FY_OK;
}

static fy_code remap_new(fy_kernel_ctx *ctx, const char *at, const char *end, const fy_map *words,
                         fy_error *err) {
  const int64_t offset = fy_site_int(ctx->site, "new_vocab_offset"),
                wanted = fy_site_int(ctx->site, "num_new_vocab");
  fy_tensor *out, *present;
  FY_TRY(fy_out(ctx, 0, 1, &wanted, &out, err));
  FY_TRY(fy_out(ctx, 1, 0, NULL, &present, err));
  int64_t n = 0;
  int32_t found = 0;
  for (fy_view line; next_line(&at, end, &line); n++) {
    if (n < offset || n - offset >= wanted) continue;
    const intptr_t old = (intptr_t)fy_map_get(words, line.p, line.n);
    ((int64_t *)out->data)[n - offset] = old - 1;
    found += old != 0;
  }
  *(int32_t *)present->data = found;
  return FY_OK;
}

static fy_code check_new(const fy_site *site, const char *at, const char *end, fy_error *err) {
  const int64_t last = fy_site_int(site, "new_vocab_offset") + fy_site_int(site, "num_new_vocab");
  int64_t n = 0;
  for (fy_view line; n < last && next_line(&at, end, &line);) n++;
  if (n == last) return FY_OK;
  return fy_fail(err, FY_INVALID_ARGUMENT,
                 "lookup table size must be larger than last new vocab entry's line");
}

static fy_code remap(fy_kernel_ctx *ctx, fy_error *err) {
  uint8_t *fresh, *old;
  size_t fresh_n, old_n;
  FY_TRY(check_name(ctx->in[0], "new", err));
  FY_TRY(load(ctx->in[0], &fresh, &fresh_n, err));
  fy_code code = check_new(ctx->site, (const char *)fresh, (const char *)fresh + fresh_n, err);
  if (!code) code = check_name(ctx->in[1], "old", err);
  if (!code) code = load(ctx->in[1], &old, &old_n, err);
  if (!code) {
    fy_map words;
    fy_map_init(&words);
    const char *p = (const char *)old, *q = (const char *)fresh;
    code =
        read_old(ctx->in[1], p, p + old_n, fy_site_int(ctx->site, "old_vocab_size"), &words, err);
    if (!code) code = remap_new(ctx, q, q + fresh_n, &words, err);
    fy_map_free(&words);
    fy_free(old);
  }
  fy_free(fresh);
  return code;
}

static fy_code shape(fy_shape_ctx *ctx, fy_error *err) {
  const int64_t n = fy_shape_attr_int(ctx, "num_new_vocab", -1);
  FY_TRY(fy_shape_rank_is(ctx->in[0], 0, err));
  FY_TRY(fy_shape_rank_is(ctx->in[1], 0, err));
  FY_TRY(fy_shape_set(ctx, 0, 1, &n, err));
  return fy_shape_set(ctx, 1, 0, NULL, err);
}

static const fy_sample samples[] = {
    {"s[]=''; s[]='x'", "new_vocab_offset=0; num_new_vocab=1", FY_INVALID_ARGUMENT,
     "new vocab filename cannot be empty."},
    {"s[]='/nowhere/at/all'; s[]='x'", "new_vocab_offset=0; num_new_vocab=1", FY_NOT_FOUND,
     "/nowhere/at/all"},
};
FY_OP(GenerateVocabRemapping, .shape = shape, .compute = remap, .flags = FY_OP_HOST | FY_OP_NO_FOLD,
      FY_SAMPLES(samples));
