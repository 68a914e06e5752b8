// SPDX-License-Identifier: Apache-2.0
// string_regex.c: RegexReplace, RegexFullMatch and their Static forms, whose pattern is an
// attribute and compiled once.

#include "base/alloc.h"
#include "ops/regex.h"
#include "ops/shape_fns.h"
#include "ops/text.h"
#include "ops/values.h"

#define SPANS 10

static fy_code compile(fy_view pattern, fy_regex **out, fy_error *err) {
  fy_error why;
  fy_error_init(&why);
  fy_code code = fy_regex_new(pattern, out, &why);
  if (code == FY_INVALID_ARGUMENT) {
    fy_fail(err, code, "Invalid pattern: %.*s, error: %s", (int)pattern.n, pattern.p,
            fy_error_text(&why));
  } else if (code) {
    fy_fail(err, code, "%s", fy_error_text(&why));
  }
  fy_error_clear(&why);
  return code;
}

// Whether the rewrite names only groups the pattern has; *whole: and escapes nothing but digits and
// backslashes.
static bool rewrite_fits(const fy_regex *re, fy_view rewrite, bool *whole) {
  *whole = true;
  for (size_t i = 0; i < rewrite.n; i++) {
    if (rewrite.p[i] != '\\') continue;
    const char c = ++i < rewrite.n ? rewrite.p[i] : 0;
    if (c >= '0' && c <= '9') {
      if (c - '0' > fy_regex_groups(re)) return false;
    } else if (c != '\\') {
      *whole = false;
    }
  }
  return true;
}

static void add_rewrite(fy_str *s, fy_view rewrite, fy_view text, const fy_span *spans) {
  for (size_t i = 0; i < rewrite.n; i++) {
    if (rewrite.p[i] != '\\') {
      fy_str_addc(s, rewrite.p[i]);
    } else if (++i < rewrite.n && rewrite.p[i] == '\\') {
      fy_str_addc(s, '\\');
    } else if (i >= rewrite.n || rewrite.p[i] < '0' || rewrite.p[i] > '9') {
      return;  // RE2 stops at an escape it does not know
    } else {
      const fy_span g = spans[rewrite.p[i] - '0'];
      if (g.begin != SIZE_MAX && g.end != SIZE_MAX && g.end > g.begin) {
        fy_str_addn(s, text.p + g.begin, g.end - g.begin);
      }
    }
  }
}

// Spans that a rewrite needs: the match and the groups it names.
static int spans_of(fy_view rewrite) {
  int n = 1;
  for (size_t i = 0; i + 1 < rewrite.n; i++) {
    if (rewrite.p[i] != '\\') continue;
    const char c = rewrite.p[++i];
    if (c >= '0' && c <= '9' && c - '0' >= n) n = c - '0' + 1;
  }
  return n;
}

static fy_code find(const fy_regex *re, fy_regex_cache *cache, fy_view text, size_t at,
                    fy_span *spans, int n, bool *found, fy_error *err) {
  if (cache && fy_regex_cache_find(cache, text, at, spans, found)) {
    if (!*found || n == 1) return FY_OK;
    at = spans[0].begin;  // its groups are still to find
  }
  return fy_regex_match(re, text, at, false, spans, n, found, err);
}

static fy_code replace_one(const fy_regex *re, fy_regex_cache *cache, fy_view text, fy_view rewrite,
                           int num_spans, bool global, fy_str *s, fy_error *err) {
  size_t at = 0, last_end = SIZE_MAX;
  while (at <= text.n) {
    fy_span spans[SPANS];
    bool found;
    FY_TRY(find(re, cache, text, at, spans, num_spans, &found, err));
    if (!found) break;
    fy_str_addn(s, text.p + at, spans[0].begin - at);
    if (spans[0].begin == last_end && spans[0].begin == spans[0].end) {
      // No empty match right behind another: step over one character.
      size_t len = 1;
      if (at < text.n && fy_utf8_next(text.p + at, text.n - at, &len) == FY_BAD_CHAR) len = 1;
      if (at < text.n) fy_str_addn(s, text.p + at, len);
      at += len;
      last_end = SIZE_MAX;
      continue;
    }
    add_rewrite(s, rewrite, text, spans);
    at = last_end = spans[0].end;
    if (!global) break;
  }
  if (at < text.n) fy_str_addn(s, text.p + at, text.n - at);
  return FY_OK;
}

static fy_code replace(fy_kernel_ctx *ctx, const fy_regex *re, fy_view rewrite, fy_error *err) {
  const fy_tensor *in = ctx->in[0];
  const bool global = fy_site_bool(ctx->site, "replace_global");
  // RE2 complains (to its log) and leaves the text as it is.
  bool whole;
  const bool fits = rewrite_fits(re, rewrite, &whole) && (whole || global);
  fy_tensor *out;
  FY_TRY(fy_out_like(ctx, 0, in, &out, err));
  fy_regex_cache *cache = fits ? fy_regex_cache_new(re, false) : NULL;
  const int num_spans = spans_of(rewrite);
  fy_str s;
  fy_str_init(&s);
  fy_code code = FY_OK;
  for (int64_t i = 0; i < in->count && !code; i++) {
    const fy_view text = fy_tensor_string(in, i);
    if (fits)
      code = replace_one(re, cache, text, rewrite, num_spans, global, &s, err);
    else if (text.n)
      fy_str_addn(&s, text.p, text.n);
    if (!code) code = fy_text_put_str(out, i, &s, err);
  }
  fy_str_free(&s);
  fy_regex_cache_free(cache);
  return code;
}

typedef struct match_job {
  const fy_regex *re;
  const fy_tensor *in;
  bool *out, failed;
} match_job;
static void match_some(void *arg, int64_t begin, int64_t end) {
  match_job *j = arg;
  fy_regex_cache *cache = fy_regex_cache_new(j->re, true);
  for (int64_t i = begin; i < end; i++) {
    const fy_view text = fy_tensor_string(j->in, i);
    if (cache && fy_regex_cache_find(cache, text, 0, NULL, &j->out[i])) continue;
    if (fy_regex_match(j->re, text, 0, true, NULL, 0, &j->out[i], NULL)) {
      __atomic_store_n(&j->failed, true, __ATOMIC_RELAXED);
    }
  }
  fy_regex_cache_free(cache);
}

static fy_code match_all(fy_kernel_ctx *ctx, const fy_regex *re, fy_error *err) {
  const fy_tensor *in = ctx->in[0];
  fy_tensor *out;
  FY_TRY(fy_out_like(ctx, 0, in, &out, err));
  match_job job = {re, in, out->data, false};
  fy_parallel(ctx, in->count, 150, match_some, &job);
  return job.failed ? fy_fail_oom(err, sizeof job) : FY_OK;
}

static fy_code check_scalar(const fy_tensor *t, const char *name, fy_error *err) {
  char x[128];
  if (t->rank == 0) return FY_OK;
  return fy_fail(err, FY_INVALID_ARGUMENT, "%s must be scalar, but received %s", name,
                 fy_tensor_shape_text(t, x));
}

static fy_code regex_replace(fy_kernel_ctx *ctx, fy_error *err) {
  fy_regex *re;
  FY_TRY(check_scalar(ctx->in[1], "Pattern", err));
  FY_TRY(check_scalar(ctx->in[2], "Rewrite", err));
  FY_TRY(compile(fy_tensor_string(ctx->in[1], 0), &re, err));
  fy_code code = replace(ctx, re, fy_tensor_string(ctx->in[2], 0), err);
  fy_regex_free(re);
  return code;
}

static fy_code regex_match(fy_kernel_ctx *ctx, fy_error *err) {
  fy_regex *re;
  FY_TRY(check_scalar(ctx->in[1], "Pattern", err));
  FY_TRY(compile(fy_tensor_string(ctx->in[1], 0), &re, err));
  fy_code code = match_all(ctx, re, err);
  fy_regex_free(re);
  return code;
}

static fy_code prepare(fy_site *site, fy_error *err) {
  fy_regex *re;
  FY_TRY(compile(fy_site_string(site, "pattern"), &re, err));
  site->state = re;
  return FY_OK;
}
static void release(void *state) {
  fy_regex_free(state);
}
static fy_code static_replace(fy_kernel_ctx *ctx, fy_error *err) {
  return replace(ctx, ctx->site->state, fy_site_string(ctx->site, "rewrite"), err);
}
static fy_code static_match(fy_kernel_ctx *ctx, fy_error *err) {
  return match_all(ctx, ctx->site->state, err);
}

static fy_code replace_shape(fy_shape_ctx *ctx, fy_error *err) {
  FY_TRY(fy_shape_rank_is(ctx->in[1], 0, err));
  if (ctx->num_inputs > 2) FY_TRY(fy_shape_rank_is(ctx->in[2], 0, err));
  return fy_shape_unchanged(ctx, err);
}

static const fy_sample replace_samples[] = {
    {"s[2]='hello','all'; s[]='l(l|o)'; s[]='<\\1>'", NULL, FY_OK, "'he<l>o','a<l>'"},
    {"s[]='a'; s[]='('; s[]=''", NULL, FY_INVALID_ARGUMENT, "Invalid pattern: ("},
};
static const fy_sample match_samples[] = {
    {"s[3]='abc','abcd','aXc'; s[]='(?i)a[bx]c'", NULL, FY_OK, "true,false,true"}};
static const fy_sample static_replace_samples[] = {
    {"s[1]='a, b; c'", "pattern=\"[,;] *\"; rewrite=\"-\"", FY_OK, "'a-b-c'"},
    {"s[1]='aaa'", "pattern=\"a\"; rewrite=\"b\"; replace_global=false", FY_OK, "'baa'"},
};
static const fy_sample static_match_samples[] = {
    {"s[2]='s3://x','/tmp'", "pattern=\"^s3://.*\"", FY_OK, "true,false"}};

FY_OP(RegexReplace, .shape = replace_shape, .compute = regex_replace, .flags = FY_OP_HOST,
      FY_SAMPLES(replace_samples));
FY_OP(RegexFullMatch, .shape = replace_shape, .compute = regex_match, .flags = FY_OP_HOST,
      FY_SAMPLES(match_samples));
FY_OP(StaticRegexReplace, .shape = fy_shape_unchanged, .prepare = prepare, .release = release,
      .compute = static_replace, .flags = FY_OP_HOST, FY_SAMPLES(static_replace_samples));
FY_OP(StaticRegexFullMatch, .shape = fy_shape_unchanged, .prepare = prepare, .release = release,
      .compute = static_match, .flags = FY_OP_HOST, FY_SAMPLES(static_match_samples));
