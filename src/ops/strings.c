// SPDX-License-Identifier: Apache-2.0
// strings.c: element-wise string ops: StringJoin, StringLength, StringLower, StringUpper,
// StringStrip, Substr.

#include <stdatomic.h>
#include <stdio.h>

#include "ops/broadcast.h"
#include "ops/shape_fns.h"
#include "ops/text.h"
#include "ops/values.h"

// ---------------------------------------------------------------- StringJoin
static fy_code join_shape(fy_shape_ctx *ctx, fy_error *err) {
  fy_pshape out = FY_UNKNOWN_SHAPE;
  bool all_scalar = true;
  for (int i = 0; i < ctx->num_inputs; i++) {
    if (ctx->in[i].rank != 0) all_scalar = false;
  }
  if (all_scalar) return fy_shape_set(ctx, 0, 0, NULL, err);
  for (int i = 0; i < ctx->num_inputs; i++) {
    if (ctx->in[i].rank > 0) FY_TRY(fy_shape_merge(ctx, out, ctx->in[i], &out, err));
  }
  ctx->out[0] = out;
  return FY_OK;
}

static fy_code join(fy_kernel_ctx *ctx, fy_error *err) {
  const int n = ctx->site->num_inputs;
  const fy_view separator = fy_site_string(ctx->site, "separator");
  const fy_tensor *like = NULL;
  char x[128], y[128];
  for (int i = 0; i < n; i++) {
    const fy_tensor *t = ctx->in[i];
    if (t->rank == 0) continue;
    if (!like) like = t;
    if (!fy_shape_equal(like->rank, like->dims, t->rank, t->dims)) {
      return fy_fail(err, FY_INVALID_ARGUMENT, "Input shapes do not match: %s vs. %s",
                     fy_tensor_shape_text(like, x), fy_tensor_shape_text(t, y));
    }
  }
  fy_tensor *out;
  FY_TRY(fy_out(ctx, 0, like ? like->rank : 0, like ? like->dims : NULL, &out, err));
  fy_str s;
  fy_str_init(&s);
  fy_code code = FY_OK;
  for (int64_t k = 0; k < out->count && !code; k++) {
    for (int i = 0; i < n; i++) {
      const fy_view v = fy_tensor_string(ctx->in[i], ctx->in[i]->rank ? k : 0);
      if (i && separator.n) fy_str_addn(&s, separator.p, separator.n);
      if (v.n) fy_str_addn(&s, v.p, v.n);
    }
    code = fy_text_put_str(out, k, &s, err);
  }
  fy_str_free(&s);
  return code;
}

// ---------------------------------------------------------------- StringLength
static bool by_chars(const fy_site *site) {
  return fy_view_is(fy_site_string(site, "unit"), "UTF8_CHAR");
}

static fy_code length(fy_kernel_ctx *ctx, fy_error *err) {
  const fy_tensor *in = ctx->in[0];
  const bool chars = by_chars(ctx->site);
  fy_tensor *out;
  FY_TRY(fy_out_like(ctx, 0, in, &out, err));
  int32_t *lengths = out->data;
  for (int64_t i = 0; i < in->count; i++) {
    const fy_view v = fy_tensor_string(in, i);
    size_t n = v.n;
    if (chars) {
      n = 0;
      for (size_t k = 0; k < v.n; k++) n += !fy_utf8_is_trail(v.p[k]);
    }
    lengths[i] = (int32_t)n;
  }
  return FY_OK;
}

// ---------------------------------------------------------------- case and strip
static bool is_cased(uint32_t c) {
  const fy_category k = fy_unicode_category(c);
  return k == FY_CAT_LU || k == FY_CAT_LL || k == FY_CAT_LT;
}
static bool is_case_ignorable(uint32_t c) {
  const fy_category k = fy_unicode_category(c);
  return k == FY_CAT_MN || k == FY_CAT_ME || k == FY_CAT_CF || k == FY_CAT_LM || k == FY_CAT_SK ||
         c == '\'' || c == '.' || c == ':' || c == 0xB7 || c == 0x2018 || c == 0x2019;
}

// A capital sigma at the end of a word is written otherwise: a cased letter before, none after.
static bool is_final_sigma(fy_view s, size_t at) {
  bool before = false;
  size_t len;
  for (size_t k = at; k > 0;) {
    do k--;
    while (k > 0 && fy_utf8_is_trail(s.p[k]));
    const uint32_t c = fy_utf8_next(s.p + k, s.n - k, &len);
    if (is_case_ignorable(c)) continue;
    before = is_cased(c);
    break;
  }
  if (!before) return false;
  for (size_t k = at + 2; k < s.n; k += len) {
    const uint32_t c = fy_utf8_next(s.p + k, s.n - k, &len);
    if (is_case_ignorable(c)) continue;
    return !is_cased(c);
  }
  return true;
}

// Eight bytes: those from |first| to the 25 after it, which are ASCII, change their case.
static uint64_t flip_case(uint64_t x, uint64_t first) {
  const uint64_t each = 0x0101010101010101ull, low = x & 0x7F * each;
  const uint64_t from = low + (0x80 - first) * each, after = low + (0x80 - 26 - first) * each;
  return x ^ ((~x & (from ^ after) & 0x80 * each) >> 2);
}

static void map_ascii(fy_str *out, fy_view s, bool lower) {
  const size_t start = out->len;
  fy_str_addn(out, s.p, s.n);
  if (out->failed) return;
  const uint8_t first = lower ? 'A' : 'a';
  uint64_t eight = 0;
  for (size_t i = start, n; i < out->len; i += n) {
    n = out->len - i < sizeof eight ? out->len - i : sizeof eight;
    memcpy(&eight, out->p + i, n);
    eight = flip_case(eight, first);
    memcpy(out->p + i, &eight, n);
  }
}

// How many of the first bytes are ASCII.
static size_t ascii_run(fy_view s) {
  size_t i = 0;
  uint64_t eight;
  for (; i + 8 <= s.n; i += 8) {
    memcpy(&eight, s.p + i, sizeof eight);
    if (eight & 0x8080808080808080ull) break;
  }
  while (i < s.n && !(s.p[i] & 0x80)) i++;
  return i;
}

static void map_utf8(fy_str *out, fy_view s, bool lower) {
  size_t len;
  const char *nul = s.n ? memchr(s.p, 0, s.n) : NULL;  // TensorFlow hands ICU a C string
  if (nul) s.n = (size_t)(nul - s.p);
  for (size_t i = 0; i < s.n; i += len) {
    len = ascii_run((fy_view){s.p + i, s.n - i});
    if (len) {
      map_ascii(out, (fy_view){s.p + i, len}, lower);
      continue;
    }
    uint32_t c = fy_utf8_next(s.p + i, s.n - i, &len), to[3];
    if (c == FY_BAD_CHAR) c = 0xFFFD;
    int n = lower ? fy_unicode_lower(c, to) : fy_unicode_upper(c, to);
    if (lower && c == 0x3A3 && is_final_sigma(s, i)) to[0] = 0x3C2, n = 1;
    for (int k = 0; k < n; k++) {
      char bytes[4];
      fy_str_addn(out, bytes, fy_utf8_put(to[k], bytes));
    }
  }
}

static fy_code check_encoding(fy_site *site, fy_error *err) {
  const fy_view encoding = fy_site_string(site, "encoding");
  if (encoding.n == 0 || fy_view_is(encoding, "utf-8")) return FY_OK;
  return fy_fail(err, FY_INVALID_ARGUMENT,
                 "only utf-8 or '' (no encoding) is supported, received %.*s", (int)encoding.n,
                 encoding.p);
}

typedef struct case_job {
  const fy_tensor *in;
  fy_tensor *out;
  bool lower, utf8;
} case_job;

static fy_code change_one(const void *arg, int64_t i, fy_str *s, fy_error *err) {
  const case_job *j = arg;
  (j->utf8 ? map_utf8 : map_ascii)(s, fy_tensor_string(j->in, i), j->lower);
  return fy_text_put_str(j->out, i, s, err);
}

static fy_code change_case(fy_kernel_ctx *ctx, bool lower, fy_error *err) {
  const bool utf8 = fy_site_string(ctx->site, "encoding").n > 0;
  case_job j = {.in = ctx->in[0], .lower = lower, .utf8 = utf8};
  FY_TRY(fy_out_like(ctx, 0, j.in, &j.out, err));
  return fy_text_each(ctx, j.out->count, utf8 ? 40 : 30, change_one, &j, err);
}
static fy_code lower_case(fy_kernel_ctx *ctx, fy_error *err) {
  return change_case(ctx, true, err);
}
static fy_code upper_case(fy_kernel_ctx *ctx, fy_error *err) {
  return change_case(ctx, false, err);
}

static bool is_space(char c) {
  return c == ' ' || (c >= '\t' && c <= '\r');
}

static fy_code strip(fy_kernel_ctx *ctx, fy_error *err) {
  const fy_tensor *in = ctx->in[0];
  fy_tensor *out;
  FY_TRY(fy_out_like(ctx, 0, in, &out, err));
  for (int64_t i = 0; i < in->count; i++) {
    fy_view v = fy_tensor_string(in, i);
    while (v.n && is_space(v.p[0])) v.p++, v.n--;
    while (v.n && is_space(v.p[v.n - 1])) v.n--;
    FY_TRY(fy_text_put(out, i, v.p, v.n, err));
  }
  return FY_OK;
}

// ---------------------------------------------------------------- Substr
// Byte offset of the |pos|-th character (negative: from the end); false if there is none. One past
// the last is fine.
static bool char_offset(fy_view s, int64_t pos, size_t *out) {
  if (pos >= 0) {
    size_t at = 0;
    for (; pos > 0; pos--) {
      if (at >= s.n) return false;
      do at++;
      while (at < s.n && fy_utf8_is_trail(s.p[at]));
    }
    *out = at;
    return true;
  }
  size_t at = s.n;
  for (; pos < 0; pos++) {
    if (at == 0) return false;
    do at--;
    while (at > 0 && fy_utf8_is_trail(s.p[at]));
  }
  *out = at;
  return true;
}

// Narrows |*s| to the part asked for; false if |pos| is out of range.
static bool cut(fy_view *s, int64_t pos, int64_t len, bool chars) {
  if (chars) {
    if (len < 0 && pos < 0) return false;  // TensorFlow counts both from the end, and finds none
    if (len < 0) len = 0;
    size_t from, n;
    if (!char_offset(*s, pos, &from)) return false;
    fy_view rest = {s->p + from, s->n - from};
    if (!char_offset(rest, len, &n)) n = rest.n;
    *s = (fy_view){rest.p, n};
    return true;
  }
  const int64_t size = (int64_t)s->n;
  if (pos < -size || pos > size) return false;
  if (pos < 0) pos += size;
  if (len < 0 || len > size - pos) len = size - pos;
  *s = (fy_view){s->p + pos, (size_t)len};
  return true;
}

static fy_code substr_shape(fy_shape_ctx *ctx, fy_error *err) {
  const fy_pshape pos = ctx->in[1], len = ctx->in[2];
  if (pos.rank >= 0 && len.rank >= 0) FY_TRY(fy_shape_rank_is(pos, len.rank, err));
  for (int32_t d = 0; d < pos.rank; d++) {  // what is not known differs from what is
    char x[128], y[128];
    if (len.rank >= 0 && pos.dims[d] == len.dims[d]) continue;
    if (len.rank < 0 && pos.dims[d] < 0) continue;
    return fy_fail(err, FY_INVALID_ARGUMENT, "pos and len shapes must match: %s vs. %s",
                   fy_shape_text(pos.rank, pos.dims, x), fy_shape_text(len.rank, len.dims, y));
  }
  return fy_shape_broadcast_two(ctx, ctx->in[0], pos, &ctx->out[0], err);
}

// Where every string has its own numbers or all have the same: the usual case, on several threads. Texts lie
// anywhere; those of the next few strings are asked for before they are read.
typedef struct substr_job {
  const fy_tensor *in, *pos, *len;
  fy_tensor *out;
  int64_t step;  // of |pos| and |len|
  bool chars;
  atomic_bool failed;  // for the loop that says why
} substr_job;

static void substr_some(void *arg, int64_t begin, int64_t end) {
  substr_job *j = arg;
  int64_t pos = fy_tensor_int(j->pos, begin * j->step),
          len = fy_tensor_int(j->len, begin * j->step);
  for (int64_t i = begin; i < end; i++) {
    if (i + 8 < end) __builtin_prefetch(fy_tensor_string(j->in, i + 8).p);
    if (j->step) pos = fy_tensor_int(j->pos, i), len = fy_tensor_int(j->len, i);
    fy_view s = fy_tensor_string(j->in, i);
    if (cut(&s, pos, len, j->chars) && fy_tensor_set_string(j->out, i, s.n ? s.p : "", s.n))
      continue;
    atomic_store(&j->failed, true);
    return;
  }
}

static fy_code substr(fy_kernel_ctx *ctx, fy_error *err) {
  const fy_tensor *in = ctx->in[0], *pos = ctx->in[1], *len = ctx->in[2];
  const bool chars = by_chars(ctx->site);
  char x[128], y[128];
  if (!fy_shape_equal(pos->rank, pos->dims, len->rank, len->dims)) {
    return fy_fail(err, FY_INVALID_ARGUMENT,
                   "pos and len should have the same shape, got: %s vs. %s",
                   fy_tensor_shape_text(pos, x), fy_tensor_shape_text(len, y));
  }
  const bool same = pos->rank == 0 || fy_shape_equal(in->rank, in->dims, pos->rank, pos->dims);
  const int32_t rank = in->rank > pos->rank ? in->rank : pos->rank;
  int64_t dims[FY_MAX_RANK], step_in[FY_MAX_RANK], step_pos[FY_MAX_RANK], at[FY_MAX_RANK] = {0};
  int64_t run_in = 1, run_pos = 1;
  for (int32_t d = rank - 1; d >= 0; d--) {
    const int32_t i = d - (rank - in->rank), p = d - (rank - pos->rank);
    const int64_t a = i < 0 ? 1 : in->dims[i], b = p < 0 ? 1 : pos->dims[p];
    if (a != b && a != 1 && b != 1) {
      return fy_fail(err, FY_INVALID_ARGUMENT, "Incompatible shapes: %s vs. %s",
                     fy_tensor_shape_text(in, x), fy_tensor_shape_text(pos, y));
    }
    dims[d] = a == 1 ? b : a;
    step_in[d] = a == 1 ? 0 : run_in;
    step_pos[d] = b == 1 ? 0 : run_pos;
    run_in *= a;
    run_pos *= b;
  }
  if (!same && rank > 2) {
    return fy_fail(err, FY_UNIMPLEMENTED, "Substr broadcast not implemented for %d dimensions",
                   rank);
  }
  fy_tensor *out;
  FY_TRY(fy_out(ctx, 0, rank, dims, &out, err));
  if (out->count == 0) return FY_OK;
  substr_job job = {in, pos, len, out, pos->rank > 0, chars, !same};
  if (same) fy_parallel(ctx, out->count, 15, substr_some, &job);
  if (!atomic_load(&job.failed)) return FY_OK;
  for (int64_t k = 0; k < out->count; k++) {
    int64_t i = 0, p = 0;
    for (int32_t d = 0; d < rank; d++) i += at[d] * step_in[d], p += at[d] * step_pos[d];
    fy_view s = fy_tensor_string(in, i);
    const int64_t from = fy_tensor_int(pos, p);
    if (!cut(&s, from, fy_tensor_int(len, p), chars)) {
      char index[64];
      if (same || rank < 2 || chars) {
        snprintf(index, sizeof index, "%lld", (long long)(same || rank < 2 ? k : at[0]));
      } else {
        snprintf(index, sizeof index, "(%lld, %lld)", (long long)at[0], (long long)at[1]);
      }
      return fy_fail(err, FY_INVALID_ARGUMENT,
                     "pos %lld out of range for string%s%.*s%s at index %s", (long long)from,
                     chars ? "" : " b'", chars ? 0 : (int)s.n, s.p, chars ? "" : "'", index);
    }
    FY_TRY(fy_text_put(out, k, s.p, s.n, err));
    for (int32_t d = rank - 1; d >= 0 && ++at[d] == dims[d]; d--) at[d] = 0;
  }
  return FY_OK;
}

static const fy_sample join_samples[] = {
    {"s[2]='a','b'; s[]='-'; s[2]='x','y'", "separator=\"+\"", FY_OK, "'a+-+x','b+-+y'"},
    {"s[2]='a','b'; s[1]='x'", NULL, FY_INVALID_ARGUMENT, "Input shapes do not match"},
};
static const fy_sample length_samples[] = {
    {"s[3]='','abc','żx'", NULL, FY_OK, "0,3,3"},
    {"s[3]='','abc','żx'", "unit=\"UTF8_CHAR\"", FY_OK, "0,3,2"},
};
static const fy_sample lower_samples[] = {
    {"s[2]='AbC','Ż'", NULL, FY_OK, "'abc','Ż'"},
    {"s[2]='AbC','ŻΑΣ'", "encoding=\"utf-8\"", FY_OK, "'abc','żας'"},
};
static const fy_sample upper_samples[] = {
    {"s[2]='abC','ż'", NULL, FY_OK, "'ABC','ż'"},
    {"s[2]='abC','straße'", "encoding=\"utf-8\"", FY_OK, "'ABC','STRASSE'"},
};
static const fy_sample strip_samples[] = {{"s[2]='  a b ','x'", NULL, FY_OK, "'a b','x'"}};
static const fy_sample substr_samples[] = {
    {"s[2]='hello','world'; i32[]=1; i32[]=3", NULL, FY_OK, "'ell','orl'"},
    {"s[2]='żółć','ab'; i64[2]=-2,0; i64[2]=9,1", "unit=\"UTF8_CHAR\"", FY_OK, "'łć','a'"},
    {"s[]='abc'; i32[]=4; i32[]=1", NULL, FY_INVALID_ARGUMENT, "pos 4 out of range for string"},
};

FY_OP(StringJoin, .shape = join_shape, .compute = join, .flags = FY_OP_HOST,
      FY_SAMPLES(join_samples));
FY_OP(StringLength, .shape = fy_shape_unchanged, .compute = length, .flags = FY_OP_HOST,
      FY_SAMPLES(length_samples));
FY_OP(StringLower, .shape = fy_shape_unchanged, .prepare = check_encoding, .compute = lower_case,
      .flags = FY_OP_HOST, FY_SAMPLES(lower_samples));
FY_OP(StringUpper, .shape = fy_shape_unchanged, .prepare = check_encoding, .compute = upper_case,
      .flags = FY_OP_HOST, FY_SAMPLES(upper_samples));
FY_OP(StringStrip, .shape = fy_shape_unchanged, .compute = strip, .flags = FY_OP_HOST,
      FY_SAMPLES(strip_samples));
FY_OP(Substr, .shape = substr_shape, .compute = substr, .flags = FY_OP_HOST,
      FY_SAMPLES(substr_samples));
