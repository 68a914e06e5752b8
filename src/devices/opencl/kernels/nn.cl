// SPDX-License-Identifier: Apache-2.0
// nn.cl: pooling, normalisation, bias, depthwise convolution. One item per result.

struct win {  // NHWC by strides: [n, h, w, c] of input and output
  long batch, in_h, in_w, channels, out_h, out_w, out_c;
  long k_h, k_w, stride_h, stride_w, dil_h, dil_w, pad_h, pad_w;
  long is[4], os[4];
};

FN void win_at(const struct win *g, long i, long *n, long *h, long *w, long *c) {
  *c = i % g->out_c;
  i /= g->out_c;
  *w = i % g->out_w;
  i /= g->out_w;
  *h = i % g->out_h;
  *n = i / g->out_h;
}

#ifdef POOL
KERNEL void pool(GLOBAL const S *x, long xo, GLOBAL S *y, long yo, struct win g, int average, T lowest) {
  long i = GID(0), n, h, w, c;
  if (i >= g.batch * g.out_h * g.out_w * g.out_c) return;
  win_at(&g, i, &n, &h, &w, &c);
  T acc = average ? (T)0 : lowest;
  long count = 0;
  int nan = 0;
  T nan_value = acc;
  for (long r = 0; r < g.k_h; r++) {
    long ih = h * g.stride_h - g.pad_h + r;
    if (ih < 0 || ih >= g.in_h) continue;
    for (long s = 0; s < g.k_w; s++) {
      long iw = w * g.stride_w - g.pad_w + s;
      if (iw < 0 || iw >= g.in_w) continue;
      T v = LD(x, xo + n * g.is[0] + ih * g.is[1] + iw * g.is[2] + c * g.is[3]);
      count++;
      if (average)
        acc += v;
      else if (v != v)
        nan = 1, nan_value = v;
      else
        acc = v > acc ? v : acc;
    }
  }
  if (average)
    acc = count ? acc / (T)count : acc;
  else if (nan)
    acc = nan_value;
  ST(y, yo + n * g.os[0] + h * g.os[1] + w * g.os[2] + c * g.os[3], acc);
}
#endif

#ifdef DEPTHWISE
FN T act(T v, int code, T alpha) {
  switch (code) {
    case 1: return v > 0 ? v : (v != v ? v : (T)0);
    case 2: return v != v ? v : v < 0 ? (T)0 : v > 6 ? (T)6 : v;
    case 3: return tanh(v);
    case 4: return (T)1 / ((T)1 + exp(-v));
    case 5: return v < 0 ? expm1(v) : v;
    case 6: return v > 0 ? v : v * alpha;
    case 7: return v / ((T)1 + exp(-v));
  }
  return v;
}
KERNEL void depthwise(GLOBAL const S *x, long xo, GLOBAL const S *f, long fo, GLOBAL S *y, long yo,
                      struct win g, int flags, GLOBAL const T *scale, long so,
                      GLOBAL const T *shift, long ho, GLOBAL const S *add, long ao, T alpha) {
  long i = GID(0), n, h, w, c;
  if (i >= g.batch * g.out_h * g.out_w * g.out_c) return;
  win_at(&g, i, &n, &h, &w, &c);
  long m = g.out_c / g.channels;
  T acc = 0;
  for (long r = 0; r < g.k_h; r++) {
    long ih = h * g.stride_h - g.pad_h + r * g.dil_h;
    if (ih < 0 || ih >= g.in_h) continue;
    for (long s = 0; s < g.k_w; s++) {
      long iw = w * g.stride_w - g.pad_w + s * g.dil_w;
      if (iw < 0 || iw >= g.in_w) continue;
      acc += LD(x, xo + n * g.is[0] + ih * g.is[1] + iw * g.is[2] + c / m * g.is[3]) *
             LD(f, fo + (r * g.k_w + s) * g.out_c + c);
    }
  }
  long at = n * g.os[0] + h * g.os[1] + w * g.os[2] + c * g.os[3];
  if (flags & 1) acc *= scale[so + c];
  if (flags & 2) acc += shift[ho + c];
  if (flags & 4) acc += LD(add, ao + at);
  ST(y, yo + at, act(acc, flags >> 8, alpha));
}
#endif

#ifdef NORM
// x [outer, channels, inner]
KERNEL void batch_norm(GLOBAL const S *x, long xo, GLOBAL const T *scale, long so,
                       GLOBAL const T *offset, long oo, GLOBAL const T *mean, long mo,
                       GLOBAL const T *var, long vo, GLOBAL S *y, long yo, long n, long channels,
                       long inner, float epsilon) {
  long i = GID(0);
  if (i >= n) return;
  long c = i / inner % channels;
  T k = scale[so + c] / sqrt(var[vo + c] + (T)epsilon);
  ST(y, yo + i, (LD(x, xo + i) - mean[mo + c]) * k + offset[oo + c]);
}
#endif

#ifdef BIAS
// x [outer, channels, inner]
KERNEL void bias_add(GLOBAL const S *x, long xo, GLOBAL const S *b, long bo, GLOBAL S *y, long yo,
                     long n, long channels, long inner) {
  long i = GID(0);
  if (i < n) ST(y, yo + i, LD(x, xo + i) + LD(b, bo + i / inner % channels));
}
#endif
