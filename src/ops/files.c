// SPDX-License-Identifier: Apache-2.0
// files.c: ops that touch the file system, the clock or the terminal: ReadFile, WriteFile,
// MatchingFiles, ShardedFilename, ShardedFilespec, Timestamp, PrintV2.

#include <errno.h>
#include <glob.h>
#include <stdio.h>
#include <stdlib.h>

#include "base/alloc.h"
#include "base/thread.h"
#include "ops/shape_fns.h"
#include "ops/text.h"
#include "ops/values.h"
#include "wire/file.h"

#define MAX_FILE ((uint64_t)1 << 36)

static fy_code scalar_text(const fy_tensor *t, const char *name, char **out, fy_error *err) {
  char x[128];
  *out = NULL;
  if (t->rank != 0) {
    return fy_fail(err, FY_INVALID_ARGUMENT, "%s tensor must be scalar but had shape: %s", name,
                   fy_tensor_shape_text(t, x));
  }
  const fy_view v = fy_tensor_string(t, 0);
  *out = fy_strndup(v.p, v.n);
  return *out ? FY_OK : fy_fail_oom(err, v.n);
}

static fy_code scalar_in_shape(fy_shape_ctx *ctx, fy_error *err) {
  for (int i = 0; i < ctx->num_inputs; i++) FY_TRY(fy_shape_rank_is(ctx->in[i], 0, err));
  return fy_shape_scalar(ctx, err);
}

static fy_code print_shape(fy_shape_ctx *ctx, fy_error *err) {
  if (ctx->in[0].rank <= 0) return FY_OK;
  return fy_fail(err, FY_INVALID_ARGUMENT, "input must be a scalar, but has rank: %d",
                 ctx->in[0].rank);
}

// ---------------------------------------------------------------- files
static fy_code read_file(fy_kernel_ctx *ctx, fy_error *err) {
  char *path;
  uint8_t *bytes = NULL;
  size_t n = 0;
  fy_tensor *out;
  FY_TRY(scalar_text(ctx->in[0], "Input filename", &path, err));
  fy_code code = fy_wire_file_load(path, MAX_FILE, &bytes, &n, err);
  if (!code) code = fy_out(ctx, 0, 0, NULL, &out, err);
  if (!code) code = fy_text_put(out, 0, (const char *)bytes, n, err);
  fy_free(bytes);
  fy_free(path);
  return code;
}

static fy_code write_file(fy_kernel_ctx *ctx, fy_error *err) {
  char *path, x[128];
  if (ctx->in[1]->rank != 0) {
    return fy_fail(err, FY_INVALID_ARGUMENT, "Contents tensor must be scalar, but had shape: %s",
                   fy_tensor_shape_text(ctx->in[1], x));
  }
  FY_TRY(scalar_text(ctx->in[0], "Input filename", &path, err));
  const fy_view text = fy_tensor_string(ctx->in[1], 0);
  fy_code code = FY_OK;
  FILE *f = fopen(path, "wb");
  bool good = f != NULL;
  if (good && text.n) good = fwrite(text.p, 1, text.n, f) == text.n;
  const int why = errno;
  if (f && fclose(f)) good = false;
  if (!good) {
    code = fy_fail(err,
                   why == ENOENT   ? FY_NOT_FOUND
                   : why == EACCES ? FY_PERMISSION_DENIED
                                   : FY_UNKNOWN,
                   "%s; %s", path, strerror(why));
  }
  fy_free(path);
  return code;
}

static int by_text(const void *a, const void *b) {
  return strcmp(*(const char *const *)a, *(const char *const *)b);
}

static fy_code matching_shape(fy_shape_ctx *ctx, fy_error *err) {
  FY_TRY(fy_shape_rank_at_most(ctx->in[0], 1, err));
  return fy_shape_set(ctx, 0, 1, (const int64_t[]){-1}, err);
}

static fy_code matching_files(fy_kernel_ctx *ctx, fy_error *err) {
  const fy_tensor *in = ctx->in[0];
  char x[128];
  if (in->rank > 1) {
    return fy_fail(err, FY_INVALID_ARGUMENT,
                   "Input patterns tensor must be scalar or vector, but had shape: %s",
                   fy_tensor_shape_text(in, x));
  }
  glob_t found = {0};
  fy_code code = FY_OK;
  for (int64_t i = 0; i < in->count && !code; i++) {
    const fy_view v = fy_tensor_string(in, i);
    char *pattern = fy_strndup(v.p, v.n);
    if (!pattern) {
      code = fy_fail_oom(err, v.n);
      break;
    }
    if (glob(pattern, GLOB_NOSORT | (i ? GLOB_APPEND : 0), NULL, &found) == GLOB_NOSPACE) {
      code = fy_fail_oom(err, v.n);
    }
    fy_free(pattern);
  }
  const int64_t n = (int64_t)found.gl_pathc;
  fy_tensor *out;
  if (!code) code = fy_out(ctx, 0, 1, &n, &out, err);
  if (!code && n) qsort(found.gl_pathv, (size_t)n, sizeof *found.gl_pathv, by_text);
  for (int64_t i = 0; i < n && !code; i++) {
    code = fy_text_put(out, i, found.gl_pathv[i], strlen(found.gl_pathv[i]), err);
  }
  if (in->count) globfree(&found);
  return code;
}

static fy_code sharded(fy_kernel_ctx *ctx, bool spec, fy_error *err) {
  static const char *const names[2][3] = {{"basename", "shard", "num_shards"},
                                          {"basename", "num_shards", ""}};
  char x[128], number[64];
  for (int i = 0; i < ctx->site->num_inputs; i++) {
    if (ctx->in[i]->rank == 0) continue;
    return fy_fail(err, FY_INVALID_ARGUMENT, "%s must be a scalar, got shape %s", names[spec][i],
                   fy_tensor_shape_text(ctx->in[i], x));
  }
  const fy_view base = fy_tensor_string(ctx->in[0], 0);
  fy_tensor *out;
  FY_TRY(fy_out(ctx, 0, 0, NULL, &out, err));
  fy_str s;
  fy_str_init(&s);
  if (base.n) fy_str_addn(&s, base.p, base.n);
  const long long a = (long long)fy_tensor_int(ctx->in[1], 0);
  if (spec) {
    snprintf(number, sizeof number, "-\?\?\?\?\?-of-%05lld", a);
  } else {
    snprintf(number, sizeof number, "-%05lld-of-%05lld", a,
             (long long)fy_tensor_int(ctx->in[2], 0));
  }
  fy_str_add(&s, number);
  fy_code code = fy_text_put_str(out, 0, &s, err);
  fy_str_free(&s);
  return code;
}
static fy_code sharded_filename(fy_kernel_ctx *ctx, fy_error *err) {
  return sharded(ctx, false, err);
}
static fy_code sharded_filespec(fy_kernel_ctx *ctx, fy_error *err) {
  return sharded(ctx, true, err);
}

// ---------------------------------------------------------------- Timestamp, PrintV2
static fy_code timestamp(fy_kernel_ctx *ctx, fy_error *err) {
  fy_tensor *out;
  FY_TRY(fy_out(ctx, 0, 0, NULL, &out, err));
  *(double *)out->data = (double)fy_wall_micros() / 1e6;
  return FY_OK;
}

// The one op that prints, because the user's graph asks for it.
static fy_code print(fy_kernel_ctx *ctx, fy_error *err) {
  const fy_view where = fy_site_string(ctx->site, "output_stream");
  const fy_view end = fy_site_string(ctx->site, "end");
  char x[128];
  if (ctx->in[0]->rank != 0) {
    return fy_fail(err, FY_INVALID_ARGUMENT, "Input is expected to be scalar, but got %s",
                   fy_tensor_shape_text(ctx->in[0], x));
  }
  const fy_view text = fy_tensor_string(ctx->in[0], 0);
  FILE *f = NULL;
  bool close = false;
  if (fy_view_is(where, "stdout")) {
    f = stdout;
  } else if (where.n > 7 && !memcmp(where.p, "file://", 7)) {
    char *path = fy_strndup(where.p + 7, where.n - 7);
    if (!path) return fy_fail_oom(err, where.n);
    f = fopen(path, "ab");
    close = true;
    fy_free(path);
    if (!f) return fy_fail(err, FY_NOT_FOUND, "%.*s cannot be written", (int)where.n, where.p);
  } else {
    f = stderr;  // also log(info) and its like
  }
  flockfile(f);
  if (text.n) fwrite(text.p, 1, text.n, f);
  if (end.n) fwrite(end.p, 1, end.n, f);
  fflush(f);
  funlockfile(f);
  if (close) fclose(f);
  return FY_OK;
}

static fy_code check_stream(fy_site *site, fy_error *err) {
  const fy_view w = fy_site_string(site, "output_stream");
  static const char *const known[] = {"stdout", "stderr", "log(info)", "log(warning)",
                                      "log(error)"};
  for (size_t i = 0; i < sizeof known / sizeof known[0]; i++) {
    if (fy_view_is(w, known[i])) return FY_OK;
  }
  if (w.n > 7 && !memcmp(w.p, "file://", 7)) return FY_OK;
  return fy_fail(err, FY_INVALID_ARGUMENT,
                 "Unknown output stream: %.*s, Valid streams are: stdout, stderr, log(info), "
                 "log(warning), log(error), file://<filename>",
                 (int)w.n, w.p);
}

static const fy_sample read_samples[] = {
    {"s[]='/nonexistent/file'", NULL, FY_NOT_FOUND, "No such file or directory"}};
static const fy_sample write_samples[] = {
    {"s[]='/nonexistent/dir/file'; s[]='x'", NULL, FY_NOT_FOUND, "No such file or directory"}};
static const fy_sample matching_samples[] = {{"s[]='/nonexistent/*'", NULL, FY_OK, NULL}};
static const fy_sample filename_samples[] = {
    {"s[]='ckpt'; i32[]=3; i32[]=10", NULL, FY_OK, "'ckpt-00003-of-00010'"}};
static const fy_sample filespec_samples[] = {
    {"s[]='ckpt'; i32[]=10", NULL, FY_OK, "'ckpt-\?\?\?\?\?-of-00010'"}};

static const fy_sample timestamp_samples[] = {{"", NULL, FY_OK, NULL}};
static const fy_sample print_samples[] = {
    {"s[]=''", "end=\"\"", FY_OK, NULL},
    {"s[1]='x'", NULL, FY_INVALID_ARGUMENT, "Input is expected to be scalar, but got [1]"},
};
FY_OP(ReadFile, .shape = scalar_in_shape, .compute = read_file, .flags = FY_OP_HOST | FY_OP_NO_FOLD,
      FY_SAMPLES(read_samples));
FY_OP(WriteFile, .shape = scalar_in_shape, .compute = write_file,
      .flags = FY_OP_HOST | FY_OP_NO_FOLD, FY_SAMPLES(write_samples));
FY_OP(MatchingFiles, .shape = matching_shape, .compute = matching_files,
      .flags = FY_OP_HOST | FY_OP_NO_FOLD | FY_OP_DYNAMIC, FY_SAMPLES(matching_samples));
FY_OP(ShardedFilename, .shape = scalar_in_shape, .compute = sharded_filename, .flags = FY_OP_HOST,
      FY_SAMPLES(filename_samples));
FY_OP(ShardedFilespec, .shape = scalar_in_shape, .compute = sharded_filespec, .flags = FY_OP_HOST,
      FY_SAMPLES(filespec_samples));
FY_OP(Timestamp, .shape = fy_shape_scalar, .compute = timestamp, .flags = FY_OP_HOST,
      FY_SAMPLES(timestamp_samples));
FY_OP(PrintV2, .shape = print_shape, .prepare = check_stream, .compute = print, .flags = FY_OP_HOST,
      FY_SAMPLES(print_samples));
