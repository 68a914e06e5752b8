// SPDX-License-Identifier: Apache-2.0
// decode_compressed.c: DecodeCompressed: every string decompressed on its own.

#include "base/alloc.h"
#include "ops/shape_fns.h"
#include "ops/text.h"
#include "wire/inflate.h"

static fy_code check_type(fy_site *site, fy_error *err) {
  const fy_view type = fy_site_string(site, "compression_type");
  if (type.n == 0 || fy_view_is(type, "ZLIB") || fy_view_is(type, "GZIP")) return FY_OK;
  if (fy_view_is(type, "ZSTD")) {
    return fy_fail(err, FY_UNIMPLEMENTED, "ZSTD compression is not supported here");
  }
  return fy_fail(err, FY_INVALID_ARGUMENT,
                 "Only ZLIB, ZSTD, GZIP or NONE are supported compressions");
}

static fy_code decompress(fy_kernel_ctx *ctx, fy_error *err) {
  const fy_tensor *in = ctx->in[0];
  const fy_view type = fy_site_string(ctx->site, "compression_type");
  if (type.n == 0) return fy_out_alias(ctx, 0, 0, in->rank, in->dims, err);
  fy_tensor *out;
  FY_TRY(fy_out_like(ctx, 0, in, &out, err));
  for (int64_t i = 0; i < in->count; i++) {
    const fy_view v = fy_tensor_string(in, i);
    uint8_t *bytes;
    size_t n;
    bool cut;
    FY_TRY(
        fy_wire_unzlib(fy_view_is(type, "GZIP"), (const uint8_t *)v.p, v.n, &bytes, &n, &cut, err));
    const fy_code code = fy_text_put(out, i, (const char *)bytes, n, err);
    fy_free(bytes);
    FY_TRY(code);
  }
  return FY_OK;
}

static const fy_sample samples[] = {
    {"s[2]='ab','c'", NULL, FY_OK, "'ab','c'"},
    {"s[]='abc'", "compression_type=\"ZLIB\"", FY_DATA_LOSS, "incorrect header check"},
};

FY_OP(DecodeCompressed, .shape = fy_shape_unchanged, .prepare = check_type, .compute = decompress,
      .flags = FY_OP_HOST | FY_OP_DYNAMIC | FY_OP_SETS_OUTPUT, FY_SAMPLES(samples));
