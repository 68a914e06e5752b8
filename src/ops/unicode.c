// SPDX-License-Identifier: Apache-2.0
// unicode.c: UnicodeDecode, UnicodeDecodeWithOffsets, UnicodeEncode, UnicodeTranscode,
// UnicodeScript.
//
// Text is decoded one character at a time; what is malformed counts as one bad character per
// sequence, as ICU does it. Known encodings: UTF-8, UTF-16 and UTF-32 (either byte order, or by the
// mark at the start), US-ASCII and the single-byte ones of charset_data.inc. The East Asian
// multi-byte encodings that TensorFlow's ICU brings are not here.

#include "base/alloc.h"
#include "ops/shape_fns.h"
#include "ops/text.h"
#include "ops/values.h"

// ---------------------------------------------------------------- encodings
typedef enum family { UTF8, UTF16, UTF32, ASCII, SINGLE } family;

typedef struct charset {
  const char *names;  // lower case, no separators, one space between
  bool ibm;           // 1A, 1C and 7F change places
  uint16_t upper[128];
} charset;

#define CHARSET(names, ibm, ...) {names, ibm, {__VA_ARGS__}},
static const charset charsets[] = {
#include "ops/charset_data.inc"
};
#undef CHARSET

typedef struct encoding {
  family family;
  bool big, marked;  // byte order; marked: the mark at the start may change it and is dropped
  const charset *single;
} encoding;

// The name as ICU compares it: letters and digits, lower case, no zero before a digit.
static size_t plain_name(fy_view name, char out[64]) {
  size_t n = 0;
  bool after_digit = false;
  for (size_t i = 0; i < name.n; i++) {
    char c = name.p[i];
    if (c >= 'A' && c <= 'Z') c = (char)(c - 'A' + 'a');
    const bool digit = c >= '0' && c <= '9';
    if (!digit && (c < 'a' || c > 'z')) {
      after_digit = false;
      continue;
    }
    const bool more = i + 1 < name.n && name.p[i + 1] >= '0' && name.p[i + 1] <= '9';
    if (c == '0' && !after_digit && more) continue;
    if (n + 1 >= 64) return 0;
    out[n++] = c;
    after_digit = digit;
  }
  out[n] = 0;
  return n;
}

static bool has_word(const char *words, const char *word) {
  const size_t n = strlen(word);
  for (const char *p = words; (p = strstr(p, word)) != NULL; p += n) {
    if ((p == words || p[-1] == ' ') && (p[n] == 0 || p[n] == ' ')) return true;
  }
  return false;
}

static bool find_encoding(fy_view name, encoding *out) {
  static const struct {
    const char *names;
    encoding e;
  } known[] = {
      {"utf8 cp1208 ibm1208 windows65001 unicode11utf8 unicode20utf8", {.family = UTF8}},
      {"utf16 iso10646ucs2 unicode csunicode ucs2", {.family = UTF16, .big = true, .marked = true}},
      {"utf16be xutf16be unicodebigunmarked cp1200 cp1201", {.family = UTF16, .big = true}},
      {"utf16le xutf16le unicodelittleunmarked", {.family = UTF16}},
      {"utf32 iso10646ucs4 csucs4 ucs4", {.family = UTF32, .big = true, .marked = true}},
      {"utf32be", {.family = UTF32, .big = true}},
      {"utf32le", {.family = UTF32}},
      {"usascii ascii ansix341968 ansix341986 iso646us iso646irv1991 us csascii ascii7 646 cp367 "
       "ibm367 isoir6 windows20127",
       {.family = ASCII}},
  };
  char word[64];
  if (plain_name(name, word) == 0) return false;
  for (size_t i = 0; i < sizeof known / sizeof *known; i++) {
    if (has_word(known[i].names, word)) {
      *out = known[i].e;
      return true;
    }
  }
  for (size_t i = 0; i < sizeof charsets / sizeof *charsets; i++) {
    if (has_word(charsets[i].names, word)) {
      *out = (encoding){.family = SINGLE, .single = &charsets[i]};
      return true;
    }
  }
  return false;
}

// ---------------------------------------------------------------- decoding
typedef struct decoder {
  const encoding *e;
  const uint8_t *p, *end;
  bool big;
} decoder;

static uint32_t unit16(const decoder *d, const uint8_t *p) {
  return d->big ? (uint32_t)(p[0] << 8 | p[1]) : (uint32_t)(p[1] << 8 | p[0]);
}

static uint32_t next16(decoder *d) {
  if (d->end - d->p < 2) {
    d->p = d->end;
    return FY_BAD_CHAR;
  }
  const uint32_t a = unit16(d, d->p);
  d->p += 2;
  if (a < 0xD800 || a > 0xDFFF) return a;
  if (a >= 0xDC00) return FY_BAD_CHAR;
  if (d->end - d->p < 2) {
    d->p = d->end;
    return FY_BAD_CHAR;
  }
  const uint32_t b = unit16(d, d->p);
  if (b < 0xDC00 || b > 0xDFFF) return FY_BAD_CHAR;
  d->p += 2;
  return 0x10000 + ((a - 0xD800) << 10) + (b - 0xDC00);
}

static uint32_t next32(decoder *d) {
  if (d->end - d->p < 4) {
    d->p = d->end;
    return FY_BAD_CHAR;
  }
  const uint8_t *p = d->p;
  d->p += 4;
  const uint32_t c = d->big
                         ? (uint32_t)p[0] << 24 | (uint32_t)p[1] << 16 | (uint32_t)p[2] << 8 | p[3]
                         : (uint32_t)p[3] << 24 | (uint32_t)p[2] << 16 | (uint32_t)p[1] << 8 | p[0];
  return c > 0x10FFFF || (c >= 0xD800 && c <= 0xDFFF) ? FY_BAD_CHAR : c;
}

static uint32_t next_single(const charset *set, uint8_t byte) {
  if (byte >= 128) return set->upper[byte - 128] == 0xFFFD ? FY_BAD_CHAR : set->upper[byte - 128];
  if (!set->ibm) return byte;
  return byte == 0x1A ? 0x1C : byte == 0x1C ? 0x7F : byte == 0x7F ? 0x1A : byte;
}

static uint32_t next_char(decoder *d) {
  size_t n;
  uint32_t c;
  switch (d->e->family) {
    case UTF8:
      c = fy_utf8_next((const char *)d->p, (size_t)(d->end - d->p), &n);
      d->p += n;
      return c;
    case UTF16: return next16(d);
    case UTF32: return next32(d);
    case ASCII: c = *d->p++; return c < 128 ? c : FY_BAD_CHAR;
    default: return next_single(d->e->single, *d->p++);
  }
}

static decoder start(const encoding *e, fy_view s) {
  decoder d = {e, (const uint8_t *)s.p, (const uint8_t *)s.p + s.n, e->big};
  if (!e->marked) return d;
  if (e->family == UTF16 && s.n >= 2) {
    const uint32_t mark = unit16(&d, d.p);
    d.big = mark != 0xFFFE;
    if (mark == 0xFFFE || mark == 0xFEFF) d.p += 2;
  } else if (e->family == UTF32 && s.n >= 4) {
    if (!memcmp(s.p, "\0\0\xFE\xFF", 4)) d.p += 4;
    if (!memcmp(s.p, "\xFF\xFE\0\0", 4)) d.p += 4, d.big = false;
  }
  return d;
}

// ---------------------------------------------------------------- encoding
static void put_char(fy_str *out, family f, uint32_t c) {
  char b[4];
  size_t n;
  if (f == UTF8 && c >= 0xD800 && c <= 0xDFFF) c = 0xFFFD;  // half a pair, given as a replacement
  if (f == UTF8) {
    n = fy_utf8_put(c, b);
  } else if (f == UTF32) {
    b[0] = (char)(c >> 24), b[1] = (char)(c >> 16), b[2] = (char)(c >> 8), b[3] = (char)c;
    n = 4;
  } else if (c < 0x10000) {
    b[0] = (char)(c >> 8), b[1] = (char)c;
    n = 2;
  } else {
    const uint32_t high = 0xD800 + ((c - 0x10000) >> 10), low = 0xDC00 + ((c - 0x10000) & 0x3FF);
    b[0] = (char)(high >> 8), b[1] = (char)high, b[2] = (char)(low >> 8), b[3] = (char)low;
    n = 4;
  }
  fy_str_addn(out, b, n);
}

// ---------------------------------------------------------------- attributes
typedef struct plan {
  encoding in;
  family out;
  bool strict, ignore, control;
  uint32_t replacement;
} plan;

static fy_code prepare(fy_site *site, fy_error *err) {
  plan *p = fy_calloc(1, sizeof *p);
  if (!p) return fy_fail_oom(err, sizeof *p);
  site->state = p;
  const fy_view errors = fy_site_string(site, "errors");
  const int64_t replacement = fy_site_int(site, "replacement_char");
  p->strict = fy_view_is(errors, "strict");
  p->ignore = fy_view_is(errors, "ignore");
  if (replacement < 0 || replacement > 0x10FFFF) {
    return fy_fail(err, FY_INVALID_ARGUMENT, "replacement_char out of unicode codepoint range");
  }
  p->replacement = (uint32_t)replacement;
  if (fy_site_attr(site, "replace_control_characters")) {
    p->control = fy_site_bool(site, "replace_control_characters");
  }
  if (fy_site_attr(site, "output_encoding")) {
    const fy_view out = fy_site_string(site, "output_encoding");
    p->out = fy_view_is(out, "UTF-8") ? UTF8 : fy_view_is(out, "UTF-16-BE") ? UTF16 : UTF32;
  }
  if (fy_site_attr(site, "input_encoding")) {
    const fy_view in = fy_site_string(site, "input_encoding");
    if (!find_encoding(in, &p->in)) {
      return fy_fail(err, FY_INVALID_ARGUMENT,
                     "Could not create converter for input encoding: %.*s", (int)in.n, in.p);
    }
  }
  return FY_OK;
}

// What becomes of |c|: false if it is left out. |*bad| is set where strictness would fail.
static bool translate(const plan *p, uint32_t *c, bool *bad) {
  if (*c == FY_BAD_CHAR) {
    *bad = true;
  } else if (!p->control || *c > 0x1F) {
    return true;
  }
  if (p->ignore) return false;
  *c = p->replacement;
  return true;
}

static fy_code malformed(fy_error *err) {
  return fy_fail(err, FY_INVALID_ARGUMENT, "Invalid formatting on input string");
}

// ---------------------------------------------------------------- UnicodeTranscode
static fy_code transcode(fy_kernel_ctx *ctx, fy_error *err) {
  const plan *p = ctx->site->state;
  const fy_tensor *in = ctx->in[0];
  fy_tensor *out;
  FY_TRY(fy_out_like(ctx, 0, in, &out, err));
  fy_str text;
  fy_str_init(&text);
  fy_code code = FY_OK;
  for (int64_t i = 0; i < in->count && !code; i++) {
    decoder d = start(&p->in, fy_tensor_string(in, i));
    bool bad = false;
    while (d.p < d.end) {
      uint32_t c = next_char(&d);
      bad |= p->control && c <= 0x1F;  // here, unlike in decode()
      if (translate(p, &c, &bad)) put_char(&text, p->out, c);
    }
    code = bad && p->strict ? malformed(err) : fy_text_put_str(out, i, &text, err);
  }
  fy_str_free(&text);
  return code;
}

// ---------------------------------------------------------------- UnicodeDecode
static void put_split(fy_tensor *t, int64_t i, int64_t v) {
  if (t->dtype == FY_INT32)
    ((int32_t *)t->data)[i] = (int32_t)v;
  else
    ((int64_t *)t->data)[i] = v;
}

// Two passes: the first counts.
static fy_code decode(fy_kernel_ctx *ctx, fy_error *err) {
  const plan *p = ctx->site->state;
  const fy_tensor *in = ctx->in[0];
  fy_tensor *splits, *chars = NULL, *starts = NULL;
  const int64_t rows = in->count + 1;
  FY_TRY(fy_out(ctx, 0, 1, &rows, &splits, err));
  for (int pass = 0; pass < 2; pass++) {
    int64_t n = 0;
    put_split(splits, 0, 0);
    for (int64_t i = 0; i < in->count; i++) {
      const fy_view s = fy_tensor_string(in, i);
      decoder d = start(&p->in, s);
      const uint8_t *from = (const uint8_t *)s.p;
      bool bad = false;
      for (const uint8_t *at = from; d.p < d.end; at = d.p) {
        uint32_t c = next_char(&d);
        if (!translate(p, &c, &bad)) continue;
        if (pass == 1) {
          ((int32_t *)chars->data)[n] = (int32_t)c;
          if (starts) ((int64_t *)starts->data)[n] = at - from;
        }
        n++;
      }
      if (bad && p->strict) return malformed(err);
      put_split(splits, i + 1, n);
    }
    if (pass == 1) break;
    if (splits->dtype == FY_INT32 && n > INT32_MAX) {
      return fy_fail(err, FY_INVALID_ARGUMENT,
                     "More characters than row_splits of int32 can count");
    }
    FY_TRY(fy_out(ctx, 1, 1, &n, &chars, err));
    if (ctx->site->num_outputs == 3) FY_TRY(fy_out(ctx, 2, 1, &n, &starts, err));
  }
  return FY_OK;
}

static fy_code decode_shape(fy_shape_ctx *ctx, fy_error *err) {
  int64_t n = -1;
  if (fy_shape_known(ctx->in[0]) && fy_shape_count(ctx->in[0].rank, ctx->in[0].dims, &n)) n++;
  FY_TRY(fy_shape_set(ctx, 0, 1, &n, err));
  for (int i = 1; i < ctx->num_outputs; i++) FY_TRY(fy_shape_set(ctx, i, 1, NULL, err));
  return FY_OK;
}

// ---------------------------------------------------------------- UnicodeEncode
static bool is_character(int32_t c) {
  return c >= 0 && c <= 0x10FFFF && !(c >= 0xD800 && c <= 0xDFFF);
}

static fy_code encode(fy_kernel_ctx *ctx, fy_error *err) {
  const plan *p = ctx->site->state;
  const fy_tensor *values = ctx->in[0], *splits = ctx->in[1];
  const int32_t *c = values->data;
  fy_tensor *out;
  if (values->rank != 1 || splits->rank != 1) {
    return fy_fail(err, FY_INVALID_ARGUMENT, "input_values and input_splits must be vectors");
  }
  if (splits->count == 0) {
    return fy_fail(err, FY_INVALID_ARGUMENT,
                   "Input_splits should contain elements, but given input_values has 0 elements");
  }
  if (fy_tensor_int(splits, 0) != 0) {
    return fy_fail(err, FY_INVALID_ARGUMENT, "First value in input_splits must be zero.");
  }
  for (int64_t i = 1; i < splits->count; i++) {
    if (fy_tensor_int(splits, i - 1) > fy_tensor_int(splits, i)) {
      return fy_fail(err, FY_INVALID_ARGUMENT,
                     "Values in input_splits must be equal or in ascending order.");
    }
  }
  if (fy_tensor_int(splits, splits->count - 1) != values->count) {
    return fy_fail(err, FY_INVALID_ARGUMENT,
                   "Last value in input_splits must be equal to length of input_tensor.");
  }
  const int64_t rows = splits->count - 1;
  FY_TRY(fy_out(ctx, 0, 1, &rows, &out, err));
  fy_str text;
  fy_str_init(&text);
  fy_code code = FY_OK;
  for (int64_t i = 0; i < rows && !code; i++) {
    const int64_t end = fy_tensor_int(splits, i + 1);
    for (int64_t k = fy_tensor_int(splits, i); k < end && !code; k++) {
      if (is_character(c[k])) {
        put_char(&text, p->out, (uint32_t)c[k]);
      } else if (p->strict) {
        code = fy_fail(err, FY_INVALID_ARGUMENT,
                       "Code point is out of range for Unicode, or is a surrogate.");
      } else if (!p->ignore) {
        put_char(&text, p->out, p->replacement);
      }
    }
    if (!code) code = fy_text_put_str(out, i, &text, err);
  }
  fy_str_free(&text);
  return code;
}

static fy_code encode_shape(fy_shape_ctx *ctx, fy_error *err) {
  FY_TRY(fy_shape_rank_is(ctx->in[0], 1, err));
  FY_TRY(fy_shape_rank_is(ctx->in[1], 1, err));
  const int64_t rows = fy_dim_of(ctx->in[1], 0) < 0 ? -1 : ctx->in[1].dims[0] - 1;
  if (ctx->in[1].rank == 1 && ctx->in[1].dims[0] == 0) {
    return fy_fail(err, FY_INVALID_ARGUMENT,
                   "Negative dimension size caused by subtracting 1 from 0");
  }
  return fy_shape_set(ctx, 0, 1, &rows, err);
}

// ---------------------------------------------------------------- UnicodeScript
typedef struct script_job {
  const int32_t *in;
  int32_t *out;
} script_job;
static void script_some(void *arg, int64_t begin, int64_t end) {
  const script_job *j = arg;
  for (int64_t i = begin; i < end; i++) {
    const int32_t c = j->in[i];
    j->out[i] = c < 0 || c > 0x10FFFF ? -1 : fy_unicode_script((uint32_t)c);
  }
}
static fy_code script(fy_kernel_ctx *ctx, fy_error *err) {
  fy_tensor *out;
  FY_TRY(fy_out_like(ctx, 0, ctx->in[0], &out, err));
  script_job j = {ctx->in[0]->data, out->data};
  fy_parallel(ctx, out->count, 8, script_some, &j);
  return FY_OK;
}

static const fy_sample transcode_samples[] = {
    {"s[1]='abc'", "input_encoding=\"UTF-8\"; output_encoding=\"UTF-8\"", FY_OK, "'abc'"},
};
static const fy_sample decode_samples[] = {
    {"s[2]='ab','c'", "input_encoding=\"UTF-8\"", FY_OK, "0,2,3"}};
static const fy_sample encode_samples[] = {
    {"i32[3]=97,98,99; i64[3]=0,2,3", "output_encoding=\"UTF-8\"", FY_OK, "'ab','c'"}};
static const fy_sample script_samples[] = {{"i32[3]=65,945,1073", NULL, FY_OK, "25,14,8"}};

FY_OP(UnicodeTranscode, .shape = fy_shape_unchanged, .prepare = prepare, .compute = transcode,
      .release = fy_free, .flags = FY_OP_HOST, FY_SAMPLES(transcode_samples));
FY_OP(UnicodeDecode, .shape = decode_shape, .prepare = prepare, .compute = decode,
      .release = fy_free, .flags = FY_OP_HOST | FY_OP_DYNAMIC, FY_SAMPLES(decode_samples));
FY_OP(UnicodeDecodeWithOffsets, .shape = decode_shape, .prepare = prepare, .compute = decode,
      .release = fy_free, .flags = FY_OP_HOST | FY_OP_DYNAMIC, FY_SAMPLES(decode_samples));
FY_OP(UnicodeEncode, .shape = encode_shape, .prepare = prepare, .compute = encode,
      .release = fy_free, .flags = FY_OP_HOST | FY_OP_DYNAMIC, FY_SAMPLES(encode_samples));
FY_OP(UnicodeScript, .shape = fy_shape_unchanged, .compute = script, .flags = FY_OP_HOST,
      FY_SAMPLES(script_samples));
