// SPDX-License-Identifier: Apache-2.0
// text.h: what string ops share: UTF-8, Unicode properties, hashes, regular expressions' alphabet.
// Nothing here allocates, and every byte sequence has a meaning: what is no UTF-8 decodes to
// FY_BAD_CHAR, one byte (or one truncated sequence) at a time, as ICU does it.

#ifndef FY_OPS_TEXT_H
#define FY_OPS_TEXT_H

#include "ops/op.h"

#define FY_BAD_CHAR 0xFFFFFFFFu

// Decodes the character at |p| (n > 0 bytes left); *len gets the bytes it takes (1..4).
uint32_t fy_utf8_next(const char *p, size_t n, size_t *len);
// Encodes; returns the bytes written (0 for what is no scalar value).
size_t fy_utf8_put(uint32_t c, char out[4]);
// TensorFlow's own idea of where characters start: bytes that are no continuation.
static inline bool fy_utf8_is_trail(char c) {
  return ((unsigned char)c & 0xC0) == 0x80;
}

// General categories, in the order of unicode_data.inc.
typedef enum fy_category {
  FY_CAT_CN,
  FY_CAT_LU,
  FY_CAT_LL,
  FY_CAT_LT,
  FY_CAT_LM,
  FY_CAT_LO,
  FY_CAT_MN,
  FY_CAT_MC,
  FY_CAT_ME,
  FY_CAT_ND,
  FY_CAT_NL,
  FY_CAT_NO,
  FY_CAT_PC,
  FY_CAT_PD,
  FY_CAT_PS,
  FY_CAT_PE,
  FY_CAT_PI,
  FY_CAT_PF,
  FY_CAT_PO,
  FY_CAT_SM,
  FY_CAT_SC,
  FY_CAT_SK,
  FY_CAT_SO,
  FY_CAT_ZS,
  FY_CAT_ZL,
  FY_CAT_ZP,
  FY_CAT_CC,
  FY_CAT_CF,
  FY_CAT_CO,
  FY_CAT_CS,
  FY_CAT_COUNT
} fy_category;
fy_category fy_unicode_category(uint32_t c);
int32_t fy_unicode_script(uint32_t c);  // ICU's UScriptCode
// Up to three characters of the full mapping; returns how many.
int fy_unicode_lower(uint32_t c, uint32_t out[3]);
int fy_unicode_upper(uint32_t c, uint32_t out[3]);

// FarmHash's Fingerprint64, SipHash-2-4 and the hash behind StringToHashBucket.
uint64_t fy_fingerprint64(const char *p, size_t n);
uint64_t fy_siphash(uint64_t k0, uint64_t k1, const char *p, size_t n);
uint64_t fy_tf_hash64(const char *p, size_t n, uint64_t seed);

// Element |i| of the string tensor |t| := bytes.
FY_MUST_CHECK static inline fy_code fy_text_put(fy_tensor *t, int64_t i, const char *p, size_t n,
                                                fy_error *err) {
  return fy_tensor_set_string(t, i, p ? p : "", n) ? FY_OK : fy_fail_oom(err, n);
}
// The same from a growing string, which is emptied for the next element.
FY_MUST_CHECK static inline fy_code fy_text_put_str(fy_tensor *t, int64_t i, fy_str *s,
                                                    fy_error *err) {
  if (s->failed) return fy_fail_oom(err, s->len);
  fy_code code = fy_text_put(t, i, s->p, s->len, err);
  s->len = 0;
  return code;
}
// Calls |fn| for elements 0 to n - 1, on several threads where |ns| each is worth it; |s| is for its use and empty again
// afterwards. The error is that of the first element that fails.
typedef fy_code (*fy_text_fn)(const void *job, int64_t i, fy_str *s, fy_error *err);
FY_MUST_CHECK fy_code fy_text_each(fy_kernel_ctx *ctx, int64_t n, double ns, fy_text_fn fn,
                                   const void *job, fy_error *err);
// Numbers as TensorFlow reads them: surrounding white space is fine, nothing else.
bool fy_text_to_number(fy_view s, fy_dtype type, void *out);
// "%.*f", to the bit as printf rounds it. False: nothing added, use printf.
bool fy_text_add_fixed(fy_str *s, int places, double v);

#endif
