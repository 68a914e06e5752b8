// SPDX-License-Identifier: Apache-2.0
// image.cl: images resized. Positions are computed in float, step by step as the host's, so that they
// fall on the same side.

struct resize {
  long in_h, in_w, out_h, out_w, channels;
  float scale_h, scale_w;
  int align_corners, half_pixel;
};

#ifdef NEAREST
FN long nearest(const struct resize *r, long at, float scale, long limit) {
  float p = r->half_pixel ? ((float)at + 0.5f) * scale : (float)at * scale;
  float q = r->align_corners ? round(p) : floor(p);
  long i = q >= (float)limit ? limit - 1 : (long)q;
  return i < 0 ? 0 : i >= limit ? limit - 1 : i;
}
KERNEL void resize_nearest(GLOBAL const E *x, long xo, GLOBAL E *y, long yo, struct resize r, long n) {
  long i = GID(0);
  if (i >= n) return;
  long c = i % r.channels, p = i / r.channels;
  long w = nearest(&r, p % r.out_w, r.scale_w, r.in_w);
  p /= r.out_w;
  long h = nearest(&r, p % r.out_h, r.scale_h, r.in_h);
  y[yo + i] = x[xo + ((p / r.out_h * r.in_h + h) * r.in_w + w) * r.channels + c];
}
#endif

#ifdef BILINEAR
FN long clamp_to(float p, long limit) {
  long i = p < 0 ? 0 : p >= (float)limit ? limit - 1 : (long)p;
  return i >= limit ? limit - 1 : i;
}
FN float position(const struct resize *r, long at, float scale) {
  if (!r->half_pixel) return (float)at * scale;
  float p = ((float)at + 0.5f) * scale;
  return p - 0.5f;
}
KERNEL void resize_bilinear(GLOBAL const S *x, long xo, GLOBAL float *y, long yo, struct resize r,
                            long n) {
  long i = GID(0);
  if (i >= n) return;
  long c = i % r.channels, p = i / r.channels;
  float w = position(&r, p % r.out_w, r.scale_w);
  p /= r.out_w;
  float h = position(&r, p % r.out_h, r.scale_h);
  long image = xo + p / r.out_h * r.in_h * r.in_w * r.channels + c;
  long left = clamp_to(floor(w), r.in_w), right = clamp_to(ceil(w), r.in_w);
  long top = clamp_to(floor(h), r.in_h) * r.in_w, bottom = clamp_to(ceil(h), r.in_h) * r.in_w;
  float tl = (float)LD(x, image + (top + left) * r.channels);
  float tr = (float)LD(x, image + (top + right) * r.channels);
  float bl = (float)LD(x, image + (bottom + left) * r.channels);
  float br = (float)LD(x, image + (bottom + right) * r.channels);
  float a = tl + (tr - tl) * (w - floor(w)), b = bl + (br - bl) * (w - floor(w));
  // Of equal size: the pixels as they are, whatever is beside them.
  if (r.in_h == r.out_h && r.in_w == r.out_w)
    y[yo + i] = (float)LD(x, xo + i);
  else
    y[yo + i] = a + (b - a) * (h - floor(h));
}
#endif
