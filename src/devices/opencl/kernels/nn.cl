// SPDX-License-Identifier: Apache-2.0
// nn.cl: pooling, normalisation, bias, depthwise convolution. One item per result.

FN void win_at(const struct win *g, long i, long *n, long *h, long *w, long *c) {
  *c = i % g->out_c;
  i /= g->out_c;
  *w = i % g->out_w;
  i /= g->out_w;
  *h = i % g->out_h;
  *n = i / g->out_h;
}

#ifdef POOL
// A NaN loses against any number; sums of 16-bit floats round at every step.
KERNEL void pool(GLOBAL const S *x, long xo, GLOBAL S *y, long yo, struct win g, int average, T lowest,
                 long most) {
  long i = GID(0), n, h, w, c;
  if (i >= g.batch * g.out_h * g.out_w * g.out_c) return;
  win_at(&g, i, &n, &h, &w, &c);
  T acc = average ? (T)0 : lowest;
  long count = 0;
  for (long r = 0; r < g.k_h; r++) {
    long ih = h * g.stride_h - g.pad_h + r;
    if (ih < 0 || ih >= g.in_h) continue;
    for (long s = 0; s < g.k_w; s++) {
      long iw = w * g.stride_w - g.pad_w + s;
      if (iw < 0 || iw >= g.in_w) continue;
      T v = LD(x, xo + n * g.is[0] + ih * g.is[1] + iw * g.is[2] + c * g.is[3]);
      count++;
      acc = average ? RD(acc + v) : v > acc ? v : acc;
    }
  }
  if (average) acc = acc / (T)(count > most ? most : count);
  ST(y, yo + n * g.os[0] + h * g.os[1] + w * g.os[2] + c * g.os[3], acc);
}
#endif

#ifdef DEPTHWISE
KERNEL void depthwise(GLOBAL const S *x, long xo, GLOBAL const S *f, long fo, GLOBAL S *y, long yo,
                      struct win g, int flags, GLOBAL const T *scale, long so,
                      GLOBAL const T *shift, long ho, GLOBAL const S *add, long ao, T alpha) {
  long i = GID(0), n, h, w, c;
  if (i >= g.batch * g.out_h * g.out_w * g.out_c) return;
  win_at(&g, i, &n, &h, &w, &c);
  long m = g.out_c / g.in_c;
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

#ifdef STATS
// ACC is double where the device has it, so that the order of sums does not show.
// One group per channel of x [outer, channels, inner]: its mean and its variance, what is left of
// the old ones, and what the gradient needs.
KERNEL void norm_stats(GLOBAL const S *x, long xo, GLOBAL const T *old_mean, long mo,
                       GLOBAL const T *old_var, long vo, GLOBAL T *mean, long m1, GLOBAL T *var,
                       long v1, GLOBAL T *saved_mean, long m2, GLOBAL T *saved_var, long v2,
                       long outer, long channels, long inner, float factor, int blend) {
  LOCAL ACC part[64];
  long c = GROUP(0), n = outer * inner;
  int id = LID(0);
  ACC sum = 0;
  for (long k = id; k < n; k += 64) sum += LD(x, xo + (k / inner * channels + c) * inner + k % inner);
  T middle = (T)(group_sum(part, sum) / (ACC)n);
  sum = 0;
  for (long k = id; k < n; k += 64) {
    ACC v = (ACC)LD(x, xo + (k / inner * channels + c) * inner + k % inner) - (ACC)middle;
    sum += v * v;
  }
  T square = (T)(group_sum(part, sum) / (ACC)n);
  if (id) return;
  T unbiased = square * ((T)n / (T)(n > 1 ? n - 1 : 1));
  saved_mean[m2 + c] = middle;
  saved_var[v2 + c] = square;
  mean[m1 + c] = blend ? ((T)1 - factor) * old_mean[mo + c] + factor * middle : middle;
  var[v1 + c] = blend ? ((T)1 - factor) * old_var[vo + c] + factor * unbiased : unbiased;
}
KERNEL void norm_grad_stats(GLOBAL const S *g, long go, GLOBAL const S *x, long xo,
                            GLOBAL const T *mean, long mo, GLOBAL const T *var, long vo,
                            GLOBAL T *scale_grad, long so, GLOBAL T *offset_grad, long oo,
                            long outer, long channels, long inner, float epsilon) {
  LOCAL ACC part[64];
  long c = GROUP(0), n = outer * inner;
  int id = LID(0);
  ACC sum = 0, product = 0;
  for (long k = id; k < n; k += 64) {
    long at = (k / inner * channels + c) * inner + k % inner;
    ACC v = LD(g, go + at);
    sum += v;
    product += v * ((ACC)LD(x, xo + at) - (ACC)mean[mo + c]);
  }
  sum = group_sum(part, sum);
  product = group_sum(part, product);
  if (id) return;
  scale_grad[so + c] = (T)(product / sqrt((ACC)var[vo + c] + (ACC)epsilon));
  offset_grad[oo + c] = (T)sum;
}
KERNEL void norm_grad(GLOBAL const S *g, long go, GLOBAL const S *x, long xo, GLOBAL const T *scale,
                      long so, GLOBAL const T *mean, long mo, GLOBAL const T *var, long vo,
                      GLOBAL const T *scale_grad, long sg, GLOBAL const T *offset_grad, long og,
                      GLOBAL S *y, long yo, long n, long channels, long inner, float epsilon,
                      int training) {
  long i = GID(0);
  if (i >= n) return;
  long c = i / inner % channels;
  T inverse = (T)1 / sqrt(var[vo + c] + (T)epsilon), count = (T)(n / channels);
  T v = LD(g, go + i);
  if (training)
    v = v - offset_grad[og + c] / count -
        (LD(x, xo + i) - mean[mo + c]) * (scale_grad[sg + c] / count * inverse);
  ST(y, yo + i, scale[so + c] * inverse * v);
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
