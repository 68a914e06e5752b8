// SPDX-License-Identifier: Apache-2.0
// wav.c: DecodeWav and EncodeWav: RIFF files of 16-bit PCM samples; a sample is x / 2^15.

#include <math.h>

#include "ops/op.h"
#include "ops/shape_fns.h"
#include "ops/typed.h"
#include "ops/values.h"

typedef struct reader {
  const uint8_t *p;
  int64_t n, at;
} reader;

static fy_code step(reader *r, int64_t by, fy_error *err) {
  if (r->at > r->n) {
    return fy_fail(err, FY_INVALID_ARGUMENT, "Initial offset is outside data range: %lld",
                   (long long)r->at);
  }
  if (by > r->n - r->at) {
    return fy_fail(err, FY_INVALID_ARGUMENT, "Data too short when trying to read string");
  }
  r->at += by;
  return FY_OK;
}
static fy_code number(reader *r, int bytes, uint32_t *out, fy_error *err) {
  if (r->at > r->n || bytes > r->n - r->at) {
    return r->at > r->n
               ? step(r, bytes, err)
               : fy_fail(err, FY_INVALID_ARGUMENT, "Data too short when trying to read string");
  }
  *out = 0;
  for (int i = 0; i < bytes; i++) *out |= (uint32_t)r->p[r->at + i] << 8 * i;
  r->at += bytes;
  return FY_OK;
}
static fy_code tag(reader *r, char out[5], fy_error *err) {
  const int64_t from = r->at;
  FY_TRY(step(r, 4, err));
  memcpy(out, r->p + from, 4);
  out[4] = 0;
  return FY_OK;
}
static fy_code expect(reader *r, const char *want, fy_error *err) {
  char found[5];
  FY_TRY(tag(r, found, err));
  if (!memcmp(found, want, 4)) return FY_OK;
  return fy_fail(err, FY_INVALID_ARGUMENT, "Header mismatch: Expected %s but found %s", want,
                 found);
}

// Chunks that may stand before the format.
static bool skippable(const char *name) {
  static const char *const known[] = {"JUNK", "bext", "iXML", "qlty",
                                      "mext", "levl", "link", "axml"};
  for (size_t i = 0; i < sizeof known / sizeof *known; i++) {
    if (!memcmp(name, known[i], 4)) return true;
  }
  return false;
}

typedef struct wav {
  uint32_t channels, rate, frame_bytes, frames;
  const uint8_t *samples;
} wav;

static fy_code read_format(reader *r, wav *w, fy_error *err) {
  uint32_t size, format, per_second, bits;
  FY_TRY(number(r, 4, &size, err));
  if (size != 16 && size != 18) {
    return fy_fail(err, FY_INVALID_ARGUMENT,
                   "Bad format chunk size for WAV: Expected 16 or 18, but got%u", size);
  }
  FY_TRY(number(r, 2, &format, err));
  if (format != 1) {
    return fy_fail(err, FY_INVALID_ARGUMENT,
                   "Bad audio format for WAV: Expected 1 (PCM), but got%u", format);
  }
  FY_TRY(number(r, 2, &w->channels, err));
  if (w->channels < 1) {
    return fy_fail(err, FY_INVALID_ARGUMENT,
                   "Bad number of channels for WAV: Expected at least 1, but got %u", w->channels);
  }
  FY_TRY(number(r, 4, &w->rate, err));
  FY_TRY(number(r, 4, &per_second, err));
  FY_TRY(number(r, 2, &w->frame_bytes, err));
  FY_TRY(number(r, 2, &bits, err));
  if (bits != 16) {
    return fy_fail(err, FY_INVALID_ARGUMENT, "Can only read 16-bit WAV files, but received %u",
                   bits);
  }
  if (w->frame_bytes != 2 * w->channels) {
    return fy_fail(err, FY_INVALID_ARGUMENT,
                   "Bad bytes per sample in WAV header: Expected %u but got %u", 2 * w->channels,
                   w->frame_bytes);
  }
  if (per_second != w->frame_bytes * w->rate) {
    return fy_fail(err, FY_INVALID_ARGUMENT,
                   "Bad bytes per second in WAV header: Expected %u but got %u (sample_rate=%u, "
                   "bytes_per_sample=%u)",
                   w->frame_bytes * w->rate, per_second, w->rate, w->frame_bytes);
  }
  if (size == 18) r->at += 2;
  return FY_OK;
}

static fy_code read_wav(fy_view file, wav *w, fy_error *err) {
  reader r = {(const uint8_t *)file.p, (int64_t)file.n, 0};
  uint32_t size;
  char name[5];
  FY_TRY(expect(&r, "RIFF", err));
  FY_TRY(number(&r, 4, &size, err));
  FY_TRY(expect(&r, "WAVE", err));
  FY_TRY(tag(&r, name, err));
  while (memcmp(name, "fmt ", 4) != 0) {
    if (!skippable(name)) return fy_fail(err, FY_INVALID_ARGUMENT, "Unexpected field %s", name);
    FY_TRY(number(&r, 4, &size, err));
    FY_TRY(step(&r, size, err));
    FY_TRY(tag(&r, name, err));
  }
  FY_TRY(read_format(&r, w, err));
  w->samples = NULL;
  bool found = false;
  while (r.at < r.n) {
    FY_TRY(tag(&r, name, err));
    FY_TRY(number(&r, 4, &size, err));
    if (size > INT32_MAX) {
      return fy_fail(err, FY_INVALID_ARGUMENT,
                     "WAV data chunk '%s' is too large: %u bytes, but the limit is %d", name, size,
                     INT32_MAX);
    }
    if (memcmp(name, "data", 4) != 0) {
      r.at += size;
      continue;
    }
    if (found) return fy_fail(err, FY_INVALID_ARGUMENT, "More than one data chunk found in WAV");
    found = true;
    w->frames = size / w->frame_bytes;
    w->samples = r.p + r.at;
    FY_TRY(step(&r, (int64_t)w->frames * w->frame_bytes, err));
  }
  return found ? FY_OK : fy_fail(err, FY_INVALID_ARGUMENT, "No data chunk found in WAV");
}

static fy_code decode(fy_kernel_ctx *ctx, fy_error *err) {
  const fy_tensor *contents = ctx->in[0];
  const int64_t channels = fy_site_int(ctx->site, "desired_channels");
  const int64_t samples = fy_site_int(ctx->site, "desired_samples");
  wav w;
  fy_tensor *out, *rate;
  char x[128];
  if (contents->rank != 0) {
    return fy_fail(err, FY_INVALID_ARGUMENT, "contents must be scalar, got shape %s",
                   fy_tensor_shape_text(contents, x));
  }
  FY_TRY(read_wav(fy_tensor_string(contents, 0), &w, err));
  if (channels < -1) {
    return fy_fail(err, FY_INVALID_ARGUMENT, "desired_channels must be >= -1, got %lld",
                   (long long)channels);
  }
  if (samples < -1) {
    return fy_fail(err, FY_INVALID_ARGUMENT, "desired_samples must be >= -1, got %lld",
                   (long long)samples);
  }
  const int64_t dims[] = {samples == -1 ? w.frames : samples,
                          channels == -1 ? w.channels : channels};
  FY_TRY(fy_out(ctx, 0, 2, dims, &out, err));
  FY_TRY(fy_out(ctx, 1, 0, NULL, &rate, err));
  *(int32_t *)rate->data = (int32_t)w.rate;
  float *to = out->data;
  for (int64_t i = 0; i < dims[0]; i++) {
    for (int64_t c = 0; c < dims[1]; c++, to++) {
      const int64_t from = i * w.channels + (c < w.channels ? c : w.channels - 1);
      const uint8_t *p = w.samples + 2 * from;
      *to = i < w.frames ? (float)(int16_t)(p[0] | p[1] << 8) * (1.0f / 32768) : 0;
    }
  }
  return FY_OK;
}

static void put(fy_str *s, uint32_t v, int bytes) {
  for (int i = 0; i < bytes; i++) fy_str_addc(s, (char)(uint8_t)(v >> 8 * i));
}

// Halves away from zero, by hand: roundf is a call for each. NaN becomes 0.
static void to_samples(const float *in, int16_t *out, int64_t n) {
  FY_VECTOR for (int64_t i = 0; i < n; i++) {
    const float x = in[i] == in[i] ? in[i] * 32768 : 0;
    const float low = x > -32768 ? x : -32768, v = low < 32767 ? low : 32767;
    const int32_t cut = (int32_t)v;
    const float rest = v - (float)cut;
    out[i] = (int16_t)(cut + (rest >= 0.5f) - (rest <= -0.5f));
  }
}

static fy_code encode(fy_kernel_ctx *ctx, fy_error *err) {
  const fy_tensor *audio = ctx->in[0], *rate = ctx->in[1];
  fy_tensor *out;
  char x[128];
  if (audio->rank != 2) {
    return fy_fail(err, FY_INVALID_ARGUMENT, "audio must be 2-dimensional%s",
                   fy_tensor_shape_text(audio, x));
  }
  if (rate->rank != 0) {
    return fy_fail(err, FY_INVALID_ARGUMENT,
                   "Input sample_rate should be a scalar tensor, got %s "
                   "instead.",
                   fy_tensor_shape_text(rate, x));
  }
  if (audio->count >= INT32_MAX) {
    return fy_fail(err, FY_INVALID_ARGUMENT, "Cannot encode audio with >= max int32 elements");
  }
  const int64_t hertz = fy_tensor_int(rate, 0), channels = audio->dims[1];
  if (audio->count == 0 && audio->dims[0] > 0) {
    return fy_fail(err, FY_INVALID_ARGUMENT, "audio is null");
  }
  if (hertz <= 0) {
    return fy_fail(err, FY_INVALID_ARGUMENT, "sample_rate must be in (0, 2^32), got: %llu",
                   (unsigned long long)hertz);
  }
  if (channels <= 0 || channels > 65535) {
    return fy_fail(err, FY_INVALID_ARGUMENT, "num_channels must be in (0, 2^16), got: %lld",
                   (long long)channels);
  }
  const uint64_t bytes = (uint64_t)audio->count * 2;
  if (bytes + 44 > UINT32_MAX) {
    return fy_fail(err, FY_INVALID_ARGUMENT,
                   "Provided channels and frames cannot be encoded as a WAV.");
  }
  FY_TRY(fy_out(ctx, 0, 0, NULL, &out, err));
  fy_str s;
  fy_str_init(&s);
  fy_str_addn(&s, "RIFF", 4);
  put(&s, (uint32_t)bytes + 36, 4);
  fy_str_addn(&s, "WAVEfmt ", 8);
  put(&s, 16, 4);
  put(&s, 1, 2);
  put(&s, (uint32_t)channels, 2);
  put(&s, (uint32_t)hertz, 4);
  put(&s, (uint32_t)(hertz * 2 * channels), 4);
  put(&s, (uint32_t)(2 * channels), 2);
  put(&s, 16, 2);
  fy_str_addn(&s, "data", 4);
  put(&s, (uint32_t)bytes, 4);
  const float *v = audio->data;
  for (int64_t at = 0; at < audio->count; at += FY_CHUNK) {
    const int64_t n = audio->count - at < FY_CHUNK ? audio->count - at : FY_CHUNK;
    int16_t samples[FY_CHUNK];  // little-endian, as the file's
    to_samples(v + at, samples, n);
    fy_str_addn(&s, (const char *)samples, (size_t)n * 2);
  }
  const bool ok = !s.failed && fy_tensor_set_string(out, 0, s.p, s.len);
  fy_str_free(&s);
  return ok ? FY_OK : fy_fail_oom(err, (size_t)bytes);
}

static fy_code decode_shape(fy_shape_ctx *ctx, fy_error *err) {
  const int64_t channels = fy_shape_attr_int(ctx, "desired_channels", -1);
  const int64_t samples = fy_shape_attr_int(ctx, "desired_samples", -1);
  FY_TRY(fy_shape_rank_is(ctx->in[0], 0, err));
  if (channels != -1 && channels < 0) {
    return fy_fail(err, FY_INVALID_ARGUMENT, "channels must be non-negative, got %lld",
                   (long long)channels);
  }
  if (samples != -1 && samples < 0) {
    return fy_fail(err, FY_INVALID_ARGUMENT, "samples must be non-negative, got %lld",
                   (long long)samples);
  }
  FY_TRY(fy_shape_set(ctx, 0, 2, (const int64_t[]){samples, channels}, err));
  return fy_shape_set(ctx, 1, 0, NULL, err);
}

static fy_code encode_shape(fy_shape_ctx *ctx, fy_error *err) {
  FY_TRY(fy_shape_rank_is(ctx->in[0], 2, err));
  FY_TRY(fy_shape_rank_is(ctx->in[1], 0, err));
  return fy_shape_set(ctx, 0, 0, NULL, err);
}

static const fy_sample decode_samples[] = {
    {"s[]='RIFX'", NULL, FY_INVALID_ARGUMENT, "Header mismatch: Expected RIFF but found RIFX"},
};
static const fy_sample encode_samples[] = {
    {"f32[0,0]=; i32[]=8000", NULL, FY_INVALID_ARGUMENT, "num_channels must be in (0, 2^16)"},
};
FY_OP(DecodeWav, .shape = decode_shape, .compute = decode, .flags = FY_OP_DYNAMIC | FY_OP_HOST,
      FY_SAMPLES(decode_samples));
FY_OP(EncodeWav, .shape = encode_shape, .compute = encode, .flags = FY_OP_HOST,
      FY_SAMPLES(encode_samples));
