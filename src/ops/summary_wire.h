// SPDX-License-Identifier: Apache-2.0
// summary_wire.h: writes Summary and Event messages field by field, as protobuf would.
// A failed growth is remembered in the string, as everywhere.

#ifndef FY_OPS_SUMMARY_WIRE_H
#define FY_OPS_SUMMARY_WIRE_H

#include "base/str.h"
#include "ops/op.h"
#include "tensor/tensor.h"

static inline void fy_put_varint(fy_str *s, uint64_t v) {
  for (; v >= 0x80; v >>= 7) fy_str_addc(s, (char)(v | 0x80));
  fy_str_addc(s, (char)v);
}
static inline void fy_put_int(fy_str *s, int field, int64_t v) {  // left out when 0
  if (v == 0) return;
  fy_put_varint(s, (uint64_t)field << 3);
  fy_put_varint(s, (uint64_t)v);
}
static inline void fy_put_bytes(fy_str *s, int field, const char *p, size_t n) {
  fy_put_varint(s, (uint64_t)field << 3 | 2);
  fy_put_varint(s, n);
  if (n) fy_str_addn(s, p, n);
}
static inline void fy_put_str(fy_str *s, int field, const fy_str *inner) {
  fy_put_bytes(s, field, inner->p, inner->len);
  s->failed |= inner->failed;
}
static inline void fy_put_float(fy_str *s, int field, float v) {
  fy_put_varint(s, (uint64_t)field << 3 | 5);
  fy_str_addn(s, (const char *)&v, sizeof v);
}
static inline void fy_put_double(fy_str *s, int field, double v) {
  fy_put_varint(s, (uint64_t)field << 3 | 1);
  fy_str_addn(s, (const char *)&v, sizeof v);
}

// A TensorProto: numbers as tensor_content, strings as a list. False for handles and variants.
bool fy_put_tensor(fy_str *s, int field, const fy_tensor *t);
// A Summary.Value (field 1 of |s|) with a histogram of |t|. Status and text as HistogramSummary's.
FY_MUST_CHECK fy_code fy_put_histogram(fy_str *s, fy_view tag, const fy_tensor *t, const char *node,
                                       fy_error *err);
// A Summary.Value with one number.
void fy_put_scalar(fy_str *s, fy_view tag, float v);
// A Summary.Value with a tensor and serialized metadata (left empty if it is no message).
FY_MUST_CHECK fy_code fy_put_tensor_value(fy_str *s, fy_view tag, const fy_tensor *t,
                                          fy_view metadata, fy_error *err);
// One Summary.Value per sound (at most |most|) of [batch, frames] or [batch, frames, channels].
FY_MUST_CHECK fy_code fy_put_audio(fy_str *s, const fy_tensor *tag, const fy_tensor *t, float rate,
                                   int64_t most, fy_error *err);
// One Summary.Value per picture of [batch, height, width, 1 | 3 | 4]. Uses scratch of |ctx|.
FY_MUST_CHECK fy_code fy_put_images(fy_kernel_ctx *ctx, fy_str *s, const fy_tensor *tag,
                                    const fy_tensor *t, const fy_tensor *bad_color, int64_t most,
                                    fy_error *err);

#endif
