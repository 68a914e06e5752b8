// SPDX-License-Identifier: Apache-2.0
// summary.c: serialized Summary messages: ScalarSummary, HistogramSummary, TensorSummary,
// TensorSummaryV2, AudioSummary, AudioSummaryV2, MergeSummary.

#include <math.h>
#include <stdio.h>

#include "base/alloc.h"
#include "ops/example_wire.h"
#include "ops/shape_fns.h"
#include "ops/summary_wire.h"
#include "ops/text.h"
#include "ops/values.h"

// The message as output 0; frees |s|.
static fy_code put_out(fy_kernel_ctx *ctx, fy_str *s, fy_code code, fy_error *err) {
  fy_tensor *out;
  if (!code) code = fy_out(ctx, 0, 0, NULL, &out, err);
  if (!code) code = fy_text_put_str(out, 0, s, err);
  fy_str_free(s);
  return code;
}

static fy_code scalar(fy_kernel_ctx *ctx, fy_error *err) {
  const fy_tensor *tags = ctx->in[0], *values = ctx->in[1];
  char a[128], b[128];
  if (!fy_shape_equal(tags->rank, tags->dims, values->rank, values->dims)) {
    const fy_view tag = tags->count == 1 ? fy_tensor_string(tags, 0) : FY_VIEW("");
    const bool one = tags->count == 1;
    return fy_fail(err, FY_INVALID_ARGUMENT,
                   "tags and values are not the same shape: %s != %s%s%.*s%s",
                   fy_tensor_shape_text(tags, a), fy_tensor_shape_text(values, b),
                   one ? " (tag '" : "", (int)tag.n, tag.p, one ? "')" : "");
  }
  fy_str s;
  fy_str_init(&s);
  for (int64_t i = 0; i < values->count; i++) {
    const float v = values->dtype == FY_UINT64 ? (float)((const uint64_t *)values->data)[i]
                    : fy_dtype_is_floating(values->dtype) ? (float)fy_tensor_double(values, i)
                                                          : (float)fy_tensor_int(values, i);
    fy_put_scalar(&s, fy_tensor_string(tags, i), v);
  }
  return put_out(ctx, &s, FY_OK, err);
}

static fy_code histogram(fy_kernel_ctx *ctx, fy_error *err) {
  fy_str s;
  if (ctx->in[0]->rank != 0) return fy_fail(err, FY_INVALID_ARGUMENT, "tags must be scalar");
  fy_str_init(&s);
  const fy_code code =
      fy_put_histogram(&s, fy_tensor_string(ctx->in[0], 0), ctx->in[1], ctx->site->node_name, err);
  return put_out(ctx, &s, code, err);
}

static fy_code tensor_v1(fy_kernel_ctx *ctx, fy_error *err) {
  fy_str s, value;
  fy_code code = FY_OK;
  fy_str_init(&s);
  fy_str_init(&value);
  fy_put_bytes(&value, 7, ctx->site->node_name, strlen(ctx->site->node_name));
  if (!fy_put_tensor(&value, 8, ctx->in[0])) {
    code = fy_fail(err, FY_UNIMPLEMENTED, "A summary cannot hold tensors of type %s",
                   fy_dtype_name(ctx->in[0]->dtype));
  }
  fy_put_str(&s, 1, &value);
  fy_str_free(&value);
  return put_out(ctx, &s, code, err);
}

static fy_code tensor_v2(fy_kernel_ctx *ctx, fy_error *err) {
  fy_str s;
  if (ctx->in[0]->rank != 0) return fy_fail(err, FY_INVALID_ARGUMENT, "tag must be scalar");
  if (ctx->in[2]->rank != 0) {
    return fy_fail(err, FY_INVALID_ARGUMENT, "serialized_summary_metadata must be scalar");
  }
  fy_str_init(&s);
  const fy_code code = fy_put_tensor_value(&s, fy_tensor_string(ctx->in[0], 0), ctx->in[1],
                                           fy_tensor_string(ctx->in[2], 0), err);
  return put_out(ctx, &s, code, err);
}

// ---------------------------------------------------------------- audio
static void put_little(fy_str *s, uint32_t v, int bytes) {
  for (int i = 0; i < bytes; i++) fy_str_addc(s, (char)(v >> 8 * i));
}

// A WAV file of 16-bit samples.
static void put_wav(fy_str *s, const float *samples, int64_t frames, int64_t channels,
                    uint32_t rate) {
  const uint32_t bytes = (uint32_t)(frames * channels * 2);
  fy_str_addn(s, "RIFF", 4);
  put_little(s, bytes + 36, 4);
  fy_str_addn(s, "WAVEfmt ", 8);
  put_little(s, 16, 4);
  put_little(s, 1, 2);
  put_little(s, (uint32_t)channels, 2);
  put_little(s, rate, 4);
  put_little(s, rate * (uint32_t)channels * 2, 4);
  put_little(s, (uint32_t)channels * 2, 2);
  put_little(s, 16, 2);
  fy_str_addn(s, "data", 4);
  put_little(s, bytes, 4);
  for (int64_t i = 0; i < frames * channels; i++) {
    const float v = roundf(samples[i] * 32768.0f);
    const float cut = v < -32768.0f ? -32768.0f : v > 32767.0f ? 32767.0f : v;
    put_little(s, (uint32_t)(isnan(cut) ? 0 : (int32_t)cut), 2);
  }
}

fy_code fy_put_audio(fy_str *s, const fy_tensor *tag, const fy_tensor *t, float rate, int64_t most,
                     fy_error *err) {
  char a[128], name[48];
  if (tag->rank != 0) return fy_fail(err, FY_INVALID_ARGUMENT, "Tag must be a scalar");
  if (t->rank != 2 && t->rank != 3) {
    return fy_fail(err, FY_INVALID_ARGUMENT, "Tensor must be 3-D or 2-D, got: %s",
                   fy_tensor_shape_text(t, a));
  }
  if (!(rate > 0.0f)) return fy_fail(err, FY_INVALID_ARGUMENT, "sample_rate must be > 0");
  const int64_t frames = t->dims[1], channels = t->rank == 3 ? t->dims[2] : 1;
  if (channels < 1 || channels > 65535 || frames > (INT32_MAX - 36) / 2 / channels) {
    return fy_fail(err, FY_INVALID_ARGUMENT, "Audio of shape %s does not fit a WAV file",
                   fy_tensor_shape_text(t, a));
  }
  const int64_t n = t->dims[0] < most ? t->dims[0] : most;
  const fy_view base = fy_tensor_string(tag, 0);
  fy_str value, part, wav;
  fy_str_init(&value);
  fy_str_init(&part);
  fy_str_init(&wav);
  for (int64_t i = 0; i < n; i++) {
    part.len = value.len = wav.len = 0;
    if (base.n) fy_str_addn(&part, base.p, base.n);
    snprintf(name, sizeof name, most > 1 ? "/audio/%lld" : "/audio", (long long)i);
    fy_str_add(&part, name);
    fy_put_str(&value, 1, &part);
    part.len = 0;
    put_wav(&wav, (const float *)t->data + i * frames * channels, frames, channels,
            (uint32_t)(rate < 4e9f ? rintf(rate) : 4e9f));
    fy_put_float(&part, 1, rate);
    fy_put_int(&part, 2, channels);
    fy_put_int(&part, 3, frames);
    fy_put_str(&part, 4, &wav);
    fy_put_bytes(&part, 5, "audio/wav", 9);
    fy_put_str(&value, 6, &part);
    fy_put_str(s, 1, &value);
  }
  fy_str_free(&value);
  fy_str_free(&part);
  fy_str_free(&wav);
  return FY_OK;
}

static fy_code audio(fy_kernel_ctx *ctx, fy_error *err) {
  const bool given = ctx->site->num_inputs == 3;
  fy_str s;
  if (given && ctx->in[2]->count != 1) {
    return fy_fail(err, FY_INVALID_ARGUMENT, "sample_rate must be a scalar");
  }
  const float rate =
      given ? *(const float *)ctx->in[2]->data : fy_site_float(ctx->site, "sample_rate");
  fy_str_init(&s);
  const fy_code code =
      fy_put_audio(&s, ctx->in[0], ctx->in[1], rate, fy_site_int(ctx->site, "max_outputs"), err);
  return put_out(ctx, &s, code, err);
}

// ---------------------------------------------------------------- MergeSummary
typedef struct tags {
  fy_view *at;
  size_t n, cap;
} tags;

// The tag of a Summary.Value; false if malformed.
static bool find_tag(fy_view value, fy_view *tag) {
  fy_bytes b = fy_bytes_of(value);
  *tag = (fy_view){NULL, 0};
  while (b.p < b.end) {
    if (fy_bytes_tag(&b, FY_TAG_BYTES(1))) {
      if (!fy_bytes_string(&b, tag)) return false;
    } else if (!fy_bytes_skip_field(&b)) {
      return false;
    }
  }
  return true;
}

static fy_code merge_one(fy_str *s, tags *seen, fy_view summary, fy_error *err) {
  fy_bytes b = fy_bytes_of(summary);
  while (b.p < b.end) {
    fy_view value, tag;
    const bool is_value = fy_bytes_tag(&b, FY_TAG_BYTES(1));
    if (!(is_value ? fy_bytes_string(&b, &value) && find_tag(value, &tag)
                   : fy_bytes_skip_field(&b))) {
      return fy_fail(err, FY_INVALID_ARGUMENT, "Could not parse one of the summary inputs");
    }
    if (!is_value) continue;
    for (size_t i = 0; tag.n && i < seen->n; i++) {
      if (fy_view_eq(seen->at[i], tag)) {
        return fy_fail(err, FY_INVALID_ARGUMENT, "Duplicate tag %.*s found in summary inputs ",
                       (int)tag.n, tag.p);
      }
    }
    if (tag.n) {
      if (!fy_grow(&seen->at, &seen->cap, seen->n + 1, sizeof *seen->at)) {
        return fy_fail_oom(err, seen->cap);
      }
      seen->at[seen->n++] = tag;
    }
    fy_put_bytes(s, 1, value.p, value.n);
  }
  return FY_OK;
}

static fy_code merge(fy_kernel_ctx *ctx, fy_error *err) {
  tags seen = {0};
  fy_str s;
  fy_code code = FY_OK;
  fy_str_init(&s);
  for (int k = 0; k < ctx->site->num_inputs && !code; k++) {
    for (int64_t i = 0; i < ctx->in[k]->count && !code; i++) {
      code = merge_one(&s, &seen, fy_tensor_string(ctx->in[k], i), err);
    }
  }
  fy_free(seen.at);
  return put_out(ctx, &s, code, err);
}

static const fy_sample scalar_samples[] = {
    {"s[]='a'; f32[]=1.5", NULL, FY_OK, NULL},
    {"s[2]='a','b'; f32[1]=1", NULL, FY_INVALID_ARGUMENT,
     "tags and values are not the same shape: [2] != [1]"},
};
static const fy_sample histogram_samples[] = {
    {"s[]='h'; f32[3]=1,2,-3", NULL, FY_OK, NULL},
    {"s[]='h'; f32[1]=nan", NULL, FY_INVALID_ARGUMENT, "Nan in summary histogram for: "},
};
static const fy_sample v1_samples[] = {{"f32[2]=1,2", NULL, FY_OK, NULL}};
static const fy_sample v2_samples[] = {{"s[]='t'; i32[1]=7; s[]=''", NULL, FY_OK, NULL}};
static const fy_sample audio_samples[] = {
    {"s[]='a'; f32[1,3]=0,0.5,-1", "sample_rate=8000", FY_OK, NULL}};
static const fy_sample audio2_samples[] = {
    {"s[]='a'; f32[1,3]=0,0.5,-1; f32[]=8000", NULL, FY_OK, NULL},
    {"s[]='a'; f32[1,3]=0,0.5,-1; f32[]=0", NULL, FY_INVALID_ARGUMENT, "sample_rate must be > 0"},
};
static const fy_sample merge_samples[] = {
    {"s[]=''; s[]=''", NULL, FY_OK, "''"},
    {"s[]='\xff'", NULL, FY_INVALID_ARGUMENT, "Could not parse one of the summary inputs"},
};

#define SUMMARY(name, fn, list) \
  FY_OP(name, .shape = fy_shape_scalar, .compute = fn, .flags = FY_OP_HOST, FY_SAMPLES(list))
SUMMARY(ScalarSummary, scalar, scalar_samples);
SUMMARY(HistogramSummary, histogram, histogram_samples);
SUMMARY(TensorSummary, tensor_v1, v1_samples);
SUMMARY(TensorSummaryV2, tensor_v2, v2_samples);
SUMMARY(AudioSummary, audio, audio_samples);
SUMMARY(AudioSummaryV2, audio, audio2_samples);
SUMMARY(MergeSummary, merge, merge_samples);
