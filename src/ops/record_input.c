// SPDX-License-Identifier: Apache-2.0
// record_input.c: RecordInput: batches of records from TFRecord files, in random order, without end.
// Each round goes over all files in a new order, by way of a buffer from which records are drawn; the next
// round begins when the buffer is empty, so that every record comes once per round. The order is not
// TensorFlow's, which depends on its threads; turning it (file_shuffle_shift_ratio) would change nothing.

#include <glob.h>
#include <stdlib.h>

#include "base/alloc.h"
#include "ops/named.h"
#include "ops/shape_fns.h"
#include "wire/record.h"

typedef struct record_source {
  fy_object object;
  fy_mutex lock;  // guards everything
  glob_t files;   // in the order of this round
  size_t next_file;
  fy_record_file in;
  bool is_open;
  int compression;
  fy_str *buffer;  // records that wait to be drawn
  size_t n, cap, most;
  uint64_t random;
} record_source;

static void destroy(fy_object *self) {
  record_source *s = (record_source *)self;
  if (s->is_open) fy_record_close(&s->in);
  for (size_t i = 0; s->buffer && i < s->n; i++) fy_str_free(&s->buffer[i]);
  fy_free(s->buffer);
  globfree(&s->files);
  fy_mutex_destroy(&s->lock);
  fy_free(s);
}

static const fy_object_type source_type = {"N10tensorflow12RecordYielderE", destroy};

static size_t draw(record_source *s, size_t n) {  // xorshift
  s->random ^= s->random << 13;
  s->random ^= s->random >> 7;
  s->random ^= s->random << 17;
  return (size_t)(s->random % n);
}

static void shuffle_files(record_source *s) {
  char **paths = s->files.gl_pathv;
  const size_t n = s->files.gl_pathc;
  for (size_t i = n; i > 1; i--) {
    const size_t j = draw(s, i);
    char *path = paths[i - 1];
    paths[i - 1] = paths[j];
    paths[j] = path;
  }
  s->next_file = 0;
}

static fy_code make(fy_view container, fy_view name, const void *arg, fy_object **out,
                    fy_error *err) {
  const fy_site *site = arg;
  const fy_view pattern = fy_site_string(site, "file_pattern"),
                packed = fy_site_string(site, "compression_type");
  const int64_t most = fy_site_int(site, "file_buffer_size");
  (void)container, (void)name;
  record_source *s = fy_calloc(1, sizeof *s);
  char *text = fy_strndup(pattern.n ? pattern.p : "", pattern.n);
  if (!s || !text) {
    fy_free(s);
    fy_free(text);
    return fy_fail_oom(err, sizeof *s);
  }
  atomic_init(&s->object.refs, 1);
  s->object.type = &source_type;
  fy_mutex_init(&s->lock);
  s->random = (uint64_t)fy_site_int(site, "file_random_seed") * 0x9E3779B97F4A7C15u | 1;
  s->most = most < 1 ? 1 : (size_t)most;
  s->compression = fy_view_is(packed, "ZLIB") ? 1 : fy_view_is(packed, "GZIP") ? 2 : 0;
  fy_code code = FY_OK;
  const int found = glob(text, 0, NULL, &s->files);
  if (found == GLOB_NOSPACE)
    code = fy_fail_oom(err, pattern.n);
  else if (found || !s->files.gl_pathc)
    code = fy_fail(err, FY_NOT_FOUND, "Found no files at %s", text);
  else
    shuffle_files(s);
  fy_free(text);
  if (code)
    destroy(&s->object);
  else
    *out = &s->object;
  return code;
}

// The next record of this round; |*at_end|: all have been read.
static fy_code next_record(record_source *s, fy_str *record, bool *at_end, fy_error *err) {
  for (;;) {
    if (!s->is_open) {
      *at_end = s->next_file == s->files.gl_pathc;
      if (*at_end) return FY_OK;
      const char *path = s->files.gl_pathv[s->next_file++];
      fy_code code = fy_record_open(path, s->compression, &s->in, err);
      if (code) {
        fy_record_close(&s->in);
        return code;
      }
      s->is_open = true;
    }
    fy_code code = fy_record_next(&s->in, record, at_end, err);
    if (!code && !*at_end) return FY_OK;
    fy_record_close(&s->in);
    s->is_open = false;
    if (code) return code;
  }
}

static fy_code fill(record_source *s, fy_error *err) {
  while (s->n < s->most) {
    fy_str record;
    bool at_end = false;
    fy_str_init(&record);
    fy_code code = next_record(s, &record, &at_end, err);
    if (!code && (record.failed || !fy_grow(&s->buffer, &s->cap, s->n + 1, sizeof record)))
      code = fy_fail_oom(err, record.len);
    if (code || at_end) {
      fy_str_free(&record);
      return code;
    }
    s->buffer[s->n++] = record;
  }
  return FY_OK;
}

static fy_code take(record_source *s, fy_tensor *out, fy_error *err) {
  for (int64_t i = 0; i < out->count; i++) {
    FY_TRY(fill(s, err));
    if (!s->n) {  // the next round
      shuffle_files(s);
      FY_TRY(fill(s, err));
    }
    if (!s->n) return fy_fail(err, FY_NOT_FOUND, "Found no records in the files");
    fy_str *chosen = &s->buffer[draw(s, s->n)];
    if (!fy_tensor_set_string(out, i, chosen->len ? chosen->p : "", chosen->len))
      return fy_fail_oom(err, chosen->len);
    fy_str_free(chosen);
    *chosen = s->buffer[--s->n];
  }
  return FY_OK;
}

static fy_code compute(fy_kernel_ctx *ctx, fy_error *err) {
  const int64_t n = fy_site_int(ctx->site, "batch_size");
  fy_object *object;
  fy_tensor *out;
  if (n < 0) return fy_fail(err, FY_INVALID_ARGUMENT, "batch_size must not be negative");
  FY_TRY(fy_named_get(ctx, &source_type, make, &object, err));
  record_source *s = (record_source *)object;
  fy_lock(&s->lock);
  fy_code code = fy_out(ctx, 0, 1, &n, &out, err);
  if (!code) code = take(s, out, err);
  fy_unlock(&s->lock);
  fy_object_release(object);
  return code;
}

static const fy_sample samples[] = {
    {"", "file_pattern=\"/nowhere/at/all*\"", FY_NOT_FOUND, "Found no files at /nowhere/at/all*"},
};
FY_OP(RecordInput, .shape = fy_shape_none, .compute = compute,
      .flags = FY_OP_HOST | FY_OP_NO_FOLD | FY_OP_ASYNC | FY_OP_DYNAMIC, FY_SAMPLES(samples));
