// SPDX-License-Identifier: Apache-2.0
// base64.c: EncodeBase64 and DecodeBase64, the web-safe alphabet.

#include "ops/shape_fns.h"
#include "ops/text.h"

static const char alphabet[] = "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789-_";

typedef struct base64_job {
  const fy_tensor *in;
  fy_tensor *out;
  bool pad;
} base64_job;

static fy_code encode_one(const void *arg, int64_t i, fy_str *s, fy_error *err) {
  const base64_job *j = arg;
  const fy_view v = fy_tensor_string(j->in, i);
  for (size_t k = 0; k < v.n;) {
    char four[64];  // many at a time
    size_t n = 0;
    for (; k + 3 <= v.n && n < sizeof four; k += 3, n += 4) {
      const uint8_t *b = (const uint8_t *)v.p + k;
      four[n] = alphabet[b[0] >> 2];
      four[n + 1] = alphabet[(b[0] << 4 | b[1] >> 4) & 63];
      four[n + 2] = alphabet[(b[1] << 2 | b[2] >> 6) & 63];
      four[n + 3] = alphabet[b[2] & 63];
    }
    fy_str_addn(s, four, n);
    const size_t left = v.n - k;
    if (left == 0 || left > 2) continue;
    const uint32_t w =
        (uint32_t)(uint8_t)v.p[k] << 16 | (left > 1 ? (uint32_t)(uint8_t)v.p[k + 1] << 8 : 0);
    const char last[4] = {alphabet[w >> 18], alphabet[w >> 12 & 63],
                          left > 1 ? alphabet[w >> 6 & 63] : '=', '='};
    fy_str_addn(s, last, j->pad ? 4 : left + 1);
    break;
  }
  return fy_text_put_str(j->out, i, s, err);
}

static fy_code encode(fy_kernel_ctx *ctx, fy_error *err) {
  base64_job j = {.in = ctx->in[0], .pad = fy_site_bool(ctx->site, "pad")};
  FY_TRY(fy_out_like(ctx, 0, j.in, &j.out, err));
  return fy_text_each(ctx, j.in->count, 40, encode_one, &j, err);
}

static fy_code decode_one(const void *arg, int64_t i, fy_str *s, fy_error *err) {
  const base64_job *j = arg;
  fy_view v = fy_tensor_string(j->in, i);
  if (v.n % 4 == 0 && v.n && v.p[v.n - 1] == '=') v.n -= v.p[v.n - 2] == '=' ? 2 : 1;
  uint32_t w = 0;
  for (size_t k = 0; k < v.n; k++) {
    if (k % 4 == 0 && k + 1 == v.n) {
      return fy_fail(err, FY_INVALID_ARGUMENT, "Base64 string length cannot be 1 modulo 4.");
    }
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
  if (v.n % 4 == 2) fy_str_addc(s, (char)(w >> 4));
  if (v.n % 4 == 3) {
    fy_str_addc(s, (char)(w >> 10));
    fy_str_addc(s, (char)(w >> 2));
  }
  return fy_text_put_str(j->out, i, s, err);
}

static fy_code decode(fy_kernel_ctx *ctx, fy_error *err) {
  base64_job j = {.in = ctx->in[0]};
  FY_TRY(fy_out_like(ctx, 0, j.in, &j.out, err));
  return fy_text_each(ctx, j.in->count, 200, decode_one, &j, err);
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
