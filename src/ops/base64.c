// SPDX-License-Identifier: Apache-2.0
// base64.c: EncodeBase64 and DecodeBase64, the web-safe alphabet.

#include "ops/shape_fns.h"
#include "ops/text.h"

static const char alphabet[] = "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789-_";

static fy_code encode(fy_kernel_ctx *ctx, fy_error *err) {
  const fy_tensor *in = ctx->in[0];
  const bool pad = fy_site_bool(ctx->site, "pad");
  fy_tensor *out;
  FY_TRY(fy_out_like(ctx, 0, in, &out, err));
  fy_str s;
  fy_str_init(&s);
  fy_code code = FY_OK;
  for (int64_t i = 0; i < in->count && !code; i++) {
    const fy_view v = fy_tensor_string(in, i);
    for (size_t k = 0; k < v.n; k += 3) {
      const size_t left = v.n - k;
      const uint32_t a = (uint8_t)v.p[k], b = left > 1 ? (uint8_t)v.p[k + 1] : 0,
                     c = left > 2 ? (uint8_t)v.p[k + 2] : 0, w = a << 16 | b << 8 | c;
      fy_str_addc(&s, alphabet[w >> 18]);
      fy_str_addc(&s, alphabet[w >> 12 & 63]);
      if (left > 1 || pad) fy_str_addc(&s, left > 1 ? alphabet[w >> 6 & 63] : '=');
      if (left > 2 || pad) fy_str_addc(&s, left > 2 ? alphabet[w & 63] : '=');
    }
    code = fy_text_put_str(out, i, &s, err);
  }
  fy_str_free(&s);
  return code;
}

static fy_code decode_one(fy_view v, fy_str *s, fy_error *err) {
  if (v.n % 4 == 0 && v.n && v.p[v.n - 1] == '=') v.n -= v.p[v.n - 2] == '=' ? 2 : 1;
  uint32_t w = 0;
  for (size_t k = 0; k < v.n; k++) {
    const char *at = v.p[k] ? strchr(alphabet, v.p[k]) : NULL;
    if (!at) return fy_fail(err, FY_INVALID_ARGUMENT, "Invalid character found in base64.");
    w = w << 6 | (uint32_t)(at - alphabet);
    if (k % 4 == 3) {
      fy_str_addc(s, (char)(w >> 16));
      fy_str_addc(s, (char)(w >> 8));
      fy_str_addc(s, (char)w);
      w = 0;
    }
  }
  if (v.n % 4 == 1) {
    return fy_fail(err, FY_INVALID_ARGUMENT, "Base64 string length cannot be 1 modulo 4.");
  }
  if (v.n % 4 == 2) fy_str_addc(s, (char)(w >> 4));
  if (v.n % 4 == 3) {
    fy_str_addc(s, (char)(w >> 10));
    fy_str_addc(s, (char)(w >> 2));
  }
  return FY_OK;
}

static fy_code decode(fy_kernel_ctx *ctx, fy_error *err) {
  const fy_tensor *in = ctx->in[0];
  fy_tensor *out;
  FY_TRY(fy_out_like(ctx, 0, in, &out, err));
  fy_str s;
  fy_str_init(&s);
  fy_code code = FY_OK;
  for (int64_t i = 0; i < in->count && !code; i++) {
    code = decode_one(fy_tensor_string(in, i), &s, err);
    if (!code) code = fy_text_put_str(out, i, &s, err);
  }
  fy_str_free(&s);
  return code;
}

static const fy_sample encode_samples[] = {
    {"s[3]='a','ab','abc'", NULL, FY_OK, "'YQ','YWI','YWJj'"},
    {"s[2]='a','ab'", "pad=true", FY_OK, "'YQ==','YWI='"},
};
static const fy_sample decode_samples[] = {
    {"s[2]='YQ','YWI='", NULL, FY_OK, "'a','ab'"},
    {"s[]='a+b/'", NULL, FY_INVALID_ARGUMENT, "Invalid character found in base64."},
};

FY_OP(EncodeBase64, .shape = fy_shape_unchanged, .compute = encode, .flags = FY_OP_HOST,
      FY_SAMPLES(encode_samples));
FY_OP(DecodeBase64, .shape = fy_shape_unchanged, .compute = decode, .flags = FY_OP_HOST,
      FY_SAMPLES(decode_samples));
