// SPDX-License-Identifier: Apache-2.0
// string_split.c: StringSplit and StringSplitV2: a vector of strings becomes a sparse matrix.
// Two passes: count the pieces, then write them.

#include "ops/shape_fns.h"
#include "ops/text.h"
#include "ops/values.h"

static fy_code split_shape(fy_shape_ctx *ctx, fy_error *err) {
  FY_TRY(fy_shape_rank_is(ctx->in[0], 1, err));
  FY_TRY(fy_shape_rank_is(ctx->in[1], 0, err));
  FY_TRY(fy_shape_set(ctx, 0, 2, (const int64_t[]){-1, 2}, err));
  FY_TRY(fy_shape_set(ctx, 1, 1, (const int64_t[]){-1}, err));
  return fy_shape_set(ctx, 2, 1, (const int64_t[]){2}, err);
}

typedef struct splitter {
  fy_view rest;
  bool done;
  // How to split.
  fy_view separator;
  int64_t maxsplit;  // pieces after which the rest is one piece; < 0: no limit
  bool skip_empty;   // StringSplit
  bool any_of;       // StringSplit: the separator is a set of characters
  int64_t taken;
} splitter;

static bool is_space(char c) {
  return c == ' ' || (c >= '\t' && c <= '\r');
}

// Python's str.split(): runs of white space separate, none at the front. As in TensorFlow, a limit
// that was reached makes a last piece of the rest, even of nothing.
static bool next_word(splitter *s, fy_view *out) {
  fy_view r = s->rest;
  if (s->done) return false;
  if (s->maxsplit == 0) {
    *out = r;
    s->done = true;
    return true;
  }
  while (r.n && is_space(r.p[0])) r.p++, r.n--;
  if (s->maxsplit > 0 && s->taken == s->maxsplit) {
    *out = r;
    s->done = true;
    return true;
  }
  if (r.n == 0) return false;
  size_t n = 0;
  while (n < r.n && !is_space(r.p[n])) n++;
  *out = (fy_view){r.p, n};
  s->rest = (fy_view){r.p + n, r.n - n};
  s->taken++;
  return true;
}

static bool next_piece(splitter *s, fy_view *out) {
  const fy_view r = s->rest;
  if (s->done || (s->any_of && r.n == 0 && s->taken == 0)) return false;
  if (s->maxsplit < 0 || s->taken < s->maxsplit) {
    if (s->any_of && s->separator.n == 0) {  // every byte
      s->done = r.n <= 1;
      *out = (fy_view){r.p, r.n ? 1 : 0};
      s->rest = (fy_view){r.p + out->n, r.n - out->n};
      s->taken++;
      return r.n > 0;
    }
    const size_t step = s->any_of ? 1 : s->separator.n;
    for (size_t i = 0; i + step <= r.n; i++) {
      if (!s->any_of || step == s->separator.n) {  // on to where its first byte is
        const char *at = memchr(r.p + i, s->separator.p[0], r.n - step + 1 - i);
        if (!at) break;
        i = (size_t)(at - r.p);
        if (step > 1 && memcmp(at, s->separator.p, step) != 0) continue;
      } else if (!memchr(s->separator.p, r.p[i], s->separator.n)) {
        continue;
      }
      *out = (fy_view){r.p, i};
      s->rest = (fy_view){r.p + i + step, r.n - i - step};
      s->taken++;
      return true;
    }
  }
  *out = r;
  s->done = true;
  return true;
}

static bool next(splitter *s, fy_view *out) {
  if (!s->any_of && s->separator.n == 0) return next_word(s, out);
  while (next_piece(s, out)) {
    if (!s->skip_empty || out->n) return true;
  }
  return false;
}

typedef struct split_job {
  const splitter *how;
  const fy_tensor *in;
  int64_t *ends;  // [count] pieces up to here and of this string
  int64_t *indices;
  fy_tensor *values;
} split_job;

static fy_code count_one(const void *arg, int64_t i, fy_str *unused, fy_error *err) {
  const split_job *j = arg;
  splitter s = *j->how;
  fy_view piece;
  int64_t n = 0;
  (void)unused, (void)err;
  s.rest = fy_tensor_string(j->in, i);
  while (next(&s, &piece)) n++;
  j->ends[i] = n;
  return FY_OK;
}

static fy_code split_one(const void *arg, int64_t i, fy_str *unused, fy_error *err) {
  const split_job *j = arg;
  splitter s = *j->how;
  fy_view piece;
  int64_t at = i ? j->ends[i - 1] : 0;
  (void)unused;
  s.rest = fy_tensor_string(j->in, i);
  for (int64_t k = 0; next(&s, &piece); k++, at++) {
    j->indices[2 * at] = i;
    j->indices[2 * at + 1] = k;
    FY_TRY(fy_text_put(j->values, at, piece.p, piece.n, err));
  }
  return FY_OK;
}

static fy_code split(fy_kernel_ctx *ctx, const splitter *how, fy_error *err) {
  split_job j = {.how = how, .in = ctx->in[0]};
  const int64_t count = j.in->count;
  fy_tensor *indices, *shape;
  int64_t total = 0, widest = 0;
  void *ends;
  FY_TRY(fy_scratch(ctx, (size_t)count * sizeof *j.ends + 1, &ends, err));
  j.ends = ends;
  FY_TRY(fy_text_each(ctx, count, 20, count_one, &j, err));
  for (int64_t i = 0; i < count; i++) {
    if (j.ends[i] > widest) widest = j.ends[i];
    j.ends[i] = total += j.ends[i];
  }
  FY_TRY(fy_out(ctx, 0, 2, (const int64_t[]){total, 2}, &indices, err));
  FY_TRY(fy_out(ctx, 1, 1, &total, &j.values, err));
  FY_TRY(fy_out(ctx, 2, 1, (const int64_t[]){2}, &shape, err));
  j.indices = indices->data;
  FY_TRY(fy_text_each(ctx, count, 50, split_one, &j, err));
  ((int64_t *)shape->data)[0] = count;
  ((int64_t *)shape->data)[1] = widest;
  return FY_OK;
}

static fy_code check_inputs(fy_kernel_ctx *ctx, const char *name, fy_error *err) {
  const fy_tensor *in = ctx->in[0], *by = ctx->in[1];
  char x[128];
  if (in->rank != 1) {
    return fy_fail(err, FY_INVALID_ARGUMENT, "input must be a vector, got shape: %s",
                   fy_tensor_shape_text(in, x));
  }
  if (by->rank != 0) {
    return fy_fail(err, FY_INVALID_ARGUMENT, "%s must be a scalar, got shape: %s", name,
                   fy_tensor_shape_text(by, x));
  }
  return FY_OK;
}

static fy_code split_v1(fy_kernel_ctx *ctx, fy_error *err) {
  FY_TRY(check_inputs(ctx, "delimiter", err));
  const splitter how = {.separator = fy_tensor_string(ctx->in[1], 0),
                        .maxsplit = -1,
                        .skip_empty = fy_site_bool(ctx->site, "skip_empty"),
                        .any_of = true};
  return split(ctx, &how, err);
}

static fy_code split_v2(fy_kernel_ctx *ctx, fy_error *err) {
  FY_TRY(check_inputs(ctx, "sep", err));
  const splitter how = {.separator = fy_tensor_string(ctx->in[1], 0),
                        .maxsplit = fy_site_int(ctx->site, "maxsplit")};
  return split(ctx, &how, err);
}

static const fy_sample v1_samples[] = {
    {"s[3]='hello world','','a b c'; s[]=' '", NULL, FY_OK, "0,0,0,1,2,0,2,1,2,2"},
    {"s[]='x'; s[]=' '", NULL, FY_INVALID_ARGUMENT, "input must be a vector"},
};
static const fy_sample v2_samples[] = {
    {"s[2]='1<>2<>3','4'; s[]='<>'", NULL, FY_OK, "0,0,0,1,0,2,1,0"},
    {"s[2]=' a  b c ',''; s[]=''", "maxsplit=1", FY_OK, "0,0,0,1"},
};

FY_OP(StringSplit, .shape = split_shape, .compute = split_v1, .flags = FY_OP_HOST | FY_OP_DYNAMIC,
      FY_SAMPLES(v1_samples));
FY_OP(StringSplitV2, .shape = split_shape, .compute = split_v2, .flags = FY_OP_HOST | FY_OP_DYNAMIC,
      FY_SAMPLES(v2_samples));
