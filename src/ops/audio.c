// SPDX-License-Identifier: Apache-2.0
// audio.c: AudioSpectrogram (windowed Fourier transforms of a sound) and Mfcc (its mel-frequency
// cepstrum). All arithmetic is in double precision.

#include <complex.h>
#include <math.h>

#include "ops/shape_fns.h"
#include "ops/values.h"

// ---------------------------------------------------------------- spectrogram
// In place, n a power of two; |roots| are the n / 2 roots of unity exp(-2 pi i k / n).
static void transform(double _Complex *x, const double _Complex *roots, int64_t n) {
  for (int64_t i = 1, j = 0; i < n; i++) {  // bits of the index reversed
    int64_t bit = n >> 1;
    for (; j & bit; bit >>= 1) j ^= bit;
    j ^= bit;
    if (i < j) {
      const double _Complex t = x[i];
      x[i] = x[j];
      x[j] = t;
    }
  }
  for (int64_t size = 2; size <= n; size *= 2) {
    const int64_t half = size / 2, step = n / size;
    for (int64_t at = 0; at < n; at += size) {
      for (int64_t k = 0; k < half; k++) {
        const double _Complex r = roots[k * step], b = x[at + k + half], a = x[at + k];
        const double re = creal(r) * creal(b) - cimag(r) * cimag(b);
        const double im = creal(r) * cimag(b) + cimag(r) * creal(b);
        x[at + k] = __builtin_complex(creal(a) + re, cimag(a) + im);
        x[at + k + half] = __builtin_complex(creal(a) - re, cimag(a) - im);
      }
    }
  }
}

static int64_t power_of_two(int64_t n) {
  int64_t p = 1;
  while (p < n) p *= 2;
  return p;
}

static fy_code spectrogram(fy_kernel_ctx *ctx, fy_error *err) {
  const fy_tensor *in = ctx->in[0];
  const int64_t window = fy_site_int(ctx->site, "window_size");
  const int64_t stride = fy_site_int(ctx->site, "stride");
  const bool squared = fy_site_bool(ctx->site, "magnitude_squared");
  fy_tensor *out;
  void *memory;
  char x[128];
  if (in->rank != 2) {
    return fy_fail(err, FY_INVALID_ARGUMENT, "input must be 2-dimensional%s",
                   fy_tensor_shape_text(in, x));
  }
  if (window < 2 || stride < 1 || window > 1 << 30) {
    return fy_fail(err, FY_INVALID_ARGUMENT,
                   "Spectrogram initialization failed for window size %lld and stride %lld",
                   (long long)window, (long long)stride);
  }
  const int64_t n = power_of_two(window), bins = n / 2 + 1;
  const int64_t samples = in->dims[0], channels = in->dims[1];
  const int64_t slices = samples < window ? 0 : 1 + (samples - window) / stride;
  FY_TRY(fy_out(ctx, 0, 3, (const int64_t[]){channels, slices, bins}, &out, err));
  if (out->count == 0) return FY_OK;
  FY_TRY(fy_scratch(ctx,
                    (size_t)(n + n / 2) * sizeof(double _Complex) + (size_t)window * sizeof(double),
                    &memory, err));
  double _Complex *work = memory, *roots = work + n;
  double *hann = (double *)(void *)(roots + n / 2);
  for (int64_t i = 0; i < window; i++) {
    hann[i] = 0.5 - 0.5 * cos(2 * M_PI * (double)i / (double)window);
  }
  for (int64_t k = 0; k < n / 2; k++) {
    const double angle = -2 * M_PI * (double)k / (double)n;
    roots[k] = __builtin_complex(cos(angle), sin(angle));
  }
  const float *from = in->data;
  float *to = out->data;
  for (int64_t c = 0; c < channels; c++) {
    for (int64_t s = 0; s < slices; s++, to += bins) {
      for (int64_t i = 0; i < n; i++) {
        work[i] = i < window ? (double)from[(s * stride + i) * channels + c] * hann[i] : 0;
      }
      transform(work, roots, n);
      for (int64_t k = 0; k < bins; k++) {
        const double re = creal(work[k]), im = cimag(work[k]), power = re * re + im * im;
        to[k] = (float)(squared ? power : sqrt(power));
      }
    }
  }
  return FY_OK;
}

// ---------------------------------------------------------------- Mfcc
typedef struct mel_bank {
  int64_t inputs, channels, start, end;
  int64_t *band;   // [inputs] channel left of the frequency; -1: left of all
  double *weight;  // [inputs] its share; the rest goes to the next channel
  double *centre;  // [channels + 1] in mel
} mel_bank;

static double mel(double hertz) {
  return 1127.0 * log1p(hertz / 700.0);
}

static void make_bank(mel_bank *b, double rate, double low, double high) {
  const double mel_low = mel(low), spacing = (mel(high) - mel_low) / (double)(b->channels + 1);
  for (int64_t i = 0; i <= b->channels; i++) b->centre[i] = mel_low + spacing * (double)(i + 1);
  const double per_bin = 0.5 * rate / (double)(b->inputs - 1);
  b->start = (int64_t)(1.5 + low / per_bin);
  b->end = (int64_t)(high / per_bin);
  for (int64_t i = 0, c = 0; i < b->inputs; i++) {
    const double m = mel((double)i * per_bin);
    b->band[i] = -2;
    b->weight[i] = 0;
    if (i < b->start || i > b->end) continue;
    while (c < b->channels && b->centre[c] < m) c++;
    b->band[i] = c - 1;
    b->weight[i] = c > 0 ? (b->centre[c] - m) / (b->centre[c] - b->centre[c - 1])
                         : (b->centre[0] - m) / (b->centre[0] - mel_low);
  }
}

// Energies of the channels from squared magnitudes.
static void filter(const mel_bank *b, const float *in, double *out) {
  for (int64_t c = 0; c < b->channels; c++) out[c] = 0;
  for (int64_t i = b->start; i <= b->end && i < b->inputs; i++) {
    const double v = sqrt((double)in[i]), part = v * b->weight[i];
    const int64_t c = b->band[i];
    if (c >= 0) out[c] += part;
    if (c + 1 < b->channels) out[c + 1] += v - part;
  }
}

static fy_code mfcc(fy_kernel_ctx *ctx, fy_error *err) {
  const fy_tensor *in = ctx->in[0], *rate_in = ctx->in[1];
  const double high = (double)fy_site_float(ctx->site, "upper_frequency_limit");
  const double low = (double)fy_site_float(ctx->site, "lower_frequency_limit");
  const int64_t count = fy_site_int(ctx->site, "dct_coefficient_count");
  mel_bank b = {.channels = fy_site_int(ctx->site, "filterbank_channel_count")};
  fy_tensor *out;
  void *memory;
  char x[128];
  if (in->rank != 3) {
    return fy_fail(err, FY_INVALID_ARGUMENT, "spectrogram must be 3-dimensional%s",
                   fy_tensor_shape_text(in, x));
  }
  if (rate_in->count != 1) {
    return fy_fail(err, FY_INVALID_ARGUMENT,
                   "Input sample_rate should be a scalar tensor, got %s instead.",
                   fy_tensor_shape_text(rate_in, x));
  }
  const int64_t rate = fy_tensor_int(rate_in, 0);
  b.inputs = in->dims[2];
  if (b.channels < 1 || rate <= 0 || b.inputs < 2 || !(low >= 0) || !(high > low) || count < 1 ||
      count > b.channels || b.channels > 1 << 20) {
    return fy_fail(err, FY_INVALID_ARGUMENT,
                   "Mfcc initialization failed for channel count %lld, sample rate %lld and "
                   "filterbank_channel_count %lld",
                   (long long)b.inputs, (long long)rate, (long long)b.channels);
  }
  FY_TRY(fy_out(ctx, 0, 3, (const int64_t[]){in->dims[0], in->dims[1], count}, &out, err));
  if (out->count == 0) return FY_OK;
  const size_t bytes = (size_t)b.inputs * (sizeof(int64_t) + sizeof(double)) +
                       (size_t)(2 * b.channels + 1 + count * b.channels) * sizeof(double);
  FY_TRY(fy_scratch(ctx, bytes, &memory, err));
  b.band = memory;
  b.weight = (double *)(void *)(b.band + b.inputs);
  b.centre = b.weight + b.inputs;
  double *energy = b.centre + b.channels + 1, *cosines = energy + b.channels;
  make_bank(&b, (double)rate, low, high);
  const double norm = sqrt(2.0 / (double)b.channels), arg = M_PI / (double)b.channels;
  for (int64_t i = 0; i < count * b.channels; i++) {
    cosines[i] = norm * cos((double)(i / b.channels) * arg * ((double)(i % b.channels) + 0.5));
  }
  for (int64_t s = 0; s < in->dims[0] * in->dims[1]; s++) {
    filter(&b, (const float *)in->data + s * b.inputs, energy);
    for (int64_t c = 0; c < b.channels; c++) {
      energy[c] = log(energy[c] < 1e-12 ? 1e-12 : energy[c]);
    }
    for (int64_t k = 0; k < count; k++) {
      double sum = 0;
      for (int64_t c = 0; c < b.channels; c++) sum += cosines[k * b.channels + c] * energy[c];
      ((float *)out->data)[s * count + k] = (float)sum;
    }
  }
  return FY_OK;
}

// ---------------------------------------------------------------- shapes
static fy_code spectrogram_shape(fy_shape_ctx *ctx, fy_error *err) {
  const int64_t window = fy_shape_attr_int(ctx, "window_size", 0);
  const int64_t stride = fy_shape_attr_int(ctx, "stride", 0);
  FY_TRY(fy_shape_rank_is(ctx->in[0], 2, err));
  if (window <= 1) {
    return fy_fail(err, FY_INVALID_ARGUMENT, "window size must be > 1, got %lld",
                   (long long)window);
  }
  if (stride <= 0) {
    return fy_fail(err, FY_INVALID_ARGUMENT, "stride must be strictly positive, got %lld",
                   (long long)stride);
  }
  int64_t dims[] = {fy_dim_of(ctx->in[0], 1), -1, -1};
  const int64_t samples = fy_dim_of(ctx->in[0], 0);
  if (samples >= 0 && stride > 0) {
    dims[1] = samples < window ? 0 : 1 + (samples - window) / stride;
  }
  if (window > 0 && window <= 1 << 30) dims[2] = 1 + power_of_two(window) / 2;
  return fy_shape_set(ctx, 0, 3, dims, err);
}

static fy_code mfcc_shape(fy_shape_ctx *ctx, fy_error *err) {
  FY_TRY(fy_shape_rank_is(ctx->in[0], 3, err));
  FY_TRY(fy_shape_rank_is(ctx->in[1], 0, err));
  const int64_t dims[] = {fy_dim_of(ctx->in[0], 0), fy_dim_of(ctx->in[0], 1),
                          fy_shape_attr_int(ctx, "dct_coefficient_count", 13)};
  return fy_shape_set(ctx, 0, 3, dims, err);
}

static const fy_sample spectrogram_samples[] = {
    {"f32[4,1]=1,1,1,1", "window_size=4; stride=2", FY_OK, "2,1,0"},
    {"f32[4]=1,1,1,1", "window_size=4; stride=2", FY_INVALID_ARGUMENT,
     "input must be 2-dimensional"},
};
static const fy_sample mfcc_samples[] = {
    {"f32[1,2,513]=uniform; i32[]=22050", NULL, FY_OK, NULL},
};
FY_OP(AudioSpectrogram, .shape = spectrogram_shape, .compute = spectrogram,
      FY_SAMPLES(spectrogram_samples));
FY_OP(Mfcc, .shape = mfcc_shape, .compute = mfcc, .host_inputs = 2, FY_SAMPLES(mfcc_samples));
