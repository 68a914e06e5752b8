// SPDX-License-Identifier: Apache-2.0
// grads.cl: gradients of convolutions, of pooling, and of the cross entropy. Every result is summed
// by one item or one group that gathers what goes into it, so that no two ever write one place.

#ifdef CONV_GRADS
// One item per element of the input's gradient.
KERNEL void conv_input(GLOBAL const S *f, long fo, GLOBAL const S *g, long go, GLOBAL S *y, long yo,
                       struct win b) {
  long i = GID(0);
  if (i >= b.batch * b.in_h * b.in_w * b.in_c) return;
  long c = i % b.in_c, p = i / b.in_c;
  long w = p % b.in_w, q = p / b.in_w;
  long h = q % b.in_h, n = q / b.in_h;
  long group = c / b.depth, first = group * b.per_group;
  T sum = 0;
  for (long r = 0; r < b.k_h; r++) {
    long th = h + b.pad_h - r * b.dil_h;
    if (th < 0 || th % b.stride_h || th / b.stride_h >= b.out_h) continue;
    for (long s = 0; s < b.k_w; s++) {
      long tw = w + b.pad_w - s * b.dil_w;
      if (tw < 0 || tw % b.stride_w || tw / b.stride_w >= b.out_w) continue;
      long from = go + n * b.os[0] + th / b.stride_h * b.os[1] + tw / b.stride_w * b.os[2];
      long at = fo + ((r * b.k_w + s) * b.depth + c % b.depth) * b.out_c;
      for (long k = first; k < first + b.per_group; k++)
        sum += LD(g, from + k * b.os[3]) * LD(f, at + k);
    }
  }
  ST(y, yo + n * b.is[0] + h * b.is[1] + w * b.is[2] + c * b.is[3], sum);
}

// One group per element of the filter's gradient.
KERNEL void conv_filter(GLOBAL const S *x, long xo, GLOBAL const S *g, long go, GLOBAL S *y, long yo,
                        struct win b) {
  LOCAL T part[64];
  long i = GROUP(0);
  int id = LID(0);
  long k = i % b.out_c, p = i / b.out_c;
  long c = p % b.depth + k / b.per_group * b.depth, t = p / b.depth;
  long s = t % b.k_w, r = t / b.k_w, pixels = b.batch * b.out_h * b.out_w;
  T sum = 0;
  for (long e = id; e < pixels; e += 64) {
    long ow = e % b.out_w, q = e / b.out_w;
    long oh = q % b.out_h, n = q / b.out_h;
    long h = oh * b.stride_h - b.pad_h + r * b.dil_h, w = ow * b.stride_w - b.pad_w + s * b.dil_w;
    if (h < 0 || h >= b.in_h || w < 0 || w >= b.in_w) continue;
    sum += LD(x, xo + n * b.is[0] + h * b.is[1] + w * b.is[2] + c * b.is[3]) *
           LD(g, go + n * b.os[0] + oh * b.os[1] + ow * b.os[2] + k * b.os[3]);
  }
  sum = group_sum(part, sum);
  if (id == 0) ST(y, yo + i, sum);
}
#endif

#ifdef POOL_GRADS
FN long least(long a, long b) { return a < b ? a : b; }
FN long most(long a, long b) { return a > b ? a : b; }

// One item per element of the input: what the windows that cover it send there, in their order. The
// first of equal maxima gets all of it.
KERNEL void pool_grad(GLOBAL const S *x, long xo, GLOBAL const S *g, long go, GLOBAL S *y, long yo,
                      struct win b, int average) {
  long i = GID(0);
  if (i >= b.batch * b.in_h * b.in_w * b.in_c) return;
  long c = i % b.in_c, p = i / b.in_c;
  long w = p % b.in_w, q = p / b.in_w;
  long h = q % b.in_h, n = q / b.in_h;
  long base = xo + n * b.is[0] + c * b.is[3];
  T sum = 0;
  long h0 = most(0, (h + b.pad_h - b.k_h + b.stride_h) / b.stride_h), w0 = most(0, (w + b.pad_w - b.k_w + b.stride_w) / b.stride_w);
  for (long oh = h0; oh < b.out_h && oh * b.stride_h - b.pad_h <= h; oh++) {
    long top = most(0, oh * b.stride_h - b.pad_h), bottom = least(b.in_h, oh * b.stride_h - b.pad_h + b.k_h);
    if (h < top || h >= bottom) continue;
    for (long ow = w0; ow < b.out_w && ow * b.stride_w - b.pad_w <= w; ow++) {
      long left = most(0, ow * b.stride_w - b.pad_w), right = least(b.in_w, ow * b.stride_w - b.pad_w + b.k_w);
      if (w < left || w >= right) continue;
      T v = LD(g, go + n * b.os[0] + oh * b.os[1] + ow * b.os[2] + c * b.os[3]);
      if (average) {
        T share = RD((T)1 / (T)((bottom - top) * (right - left)));
        sum = RD(sum + RD(share * v));
        continue;
      }
      long best_h = top, best_w = left;
      T best = LD(x, base + top * b.is[1] + left * b.is[2]);
      for (long r = top; r < bottom; r++)
        for (long s = left; s < right; s++) {
          T e = LD(x, base + r * b.is[1] + s * b.is[2]);
          if (e > best) best = e, best_h = r, best_w = s;
        }
      if (best_h == h && best_w == w) sum = RD(sum + v);
    }
  }
  ST(y, yo + n * b.is[0] + h * b.is[1] + w * b.is[2] + c * b.is[3], sum);
}
#endif

#ifdef ENTROPY
// One group per row. |labels| are the rows' classes (4 or 8 bytes each), or rows like the logits
// (|wide| 0). A class out of bounds gives NaN, as on TensorFlow's GPUs: the device cannot stop.
KERNEL void entropy(GLOBAL const S *x, long xo, GLOBAL const void *labels, long lo, GLOBAL S *loss,
                    long so, GLOBAL S *grad, long go, long cols, int wide) {
  LOCAL T part[64];
  int id = LID(0);
  long row = GROUP(0), at = xo + row * cols;
  long label = wide == 8   ? ((GLOBAL const long *)labels)[lo + row]
               : wide == 4 ? (long)((GLOBAL const int *)labels)[lo + row]
                           : 0;
  T bad = label < 0 || label >= cols ? (T)as_float(0x7fc00000u) : (T)0;
  T top = LD(x, at), sum = 0, cost = 0;
  for (long k = id; k < cols; k += 64) {
    T v = LD(x, at + k);
    top = top != top || top > v ? top : v;
  }
  top = group_max(part, top);
  for (long k = id; k < cols; k += 64) sum += exp(LD(x, at + k) - top);
  sum = group_sum(part, sum);
  for (long k = id; k < cols; k += 64) {
    T v = LD(x, at + k) - top, p = exp(v) / sum;
    if (wide) {
      if (k == label) cost += log(sum) - v;
      ST(grad, go + row * cols + k, (k == label ? p - (T)1 : p) + bad);
    } else {
      T y = LD((GLOBAL const S *)labels, lo + row * cols + k);
      cost += y * (log(sum) - v);
      ST(grad, go + row * cols + k, p - y);
    }
  }
  cost = group_sum(part, cost);
  if (id == 0) ST(loss, so + row, cost + bad);
}
#endif
