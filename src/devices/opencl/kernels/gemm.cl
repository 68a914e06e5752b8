// SPDX-License-Identifier: Apache-2.0
// gemm.cl: products of matrices and convolutions, in tiles of 16 x 16 items through local memory,
// each item computing 2 x 2 results. The epilogue is done before a result is stored:
//   * scale[column] (flag 1), + shift[column] (2), + add[place] (4), then the activation (flags >> 8).

#define TILE 32  // results of a group along each side
#define ITEMS 16
#define DEPTH 16

// scale and shift of a column, step by step: kind 0 bias, 1 minus, 2 scale, 3 norm.
KERNEL void fold(GLOBAL T *scale, long so, GLOBAL T *shift, long ho, GLOBAL const S *a, long ao,
                 GLOBAL const S *b, long bo, GLOBAL const S *c, long co, GLOBAL const S *d, long dd,
                 long n, int kind, int first, float epsilon) {
  long i = GID(0);
  if (i >= n) return;
  T k = first ? (T)1 : scale[so + i], h = first ? (T)0 : shift[ho + i];
  T v = LD(a, ao + i);
  if (kind == 0) {
    h += v;
  } else if (kind == 1) {
    h -= v;
  } else if (kind == 2) {
    k *= v;
    h *= v;
  } else {
#ifdef FLOATING
    T f = v / sqrt(LD(d, dd + i) + (T)epsilon);
    k *= f;
    h = (h - LD(c, co + i)) * f + LD(b, bo + i);
#endif
  }
  scale[so + i] = k;
  shift[ho + i] = h;
}

struct product {
  long m, n, k;
  long a_row, a_col, b_row, b_col;  // strides in elements
  struct geo batch;                 // s[0], s[1], s[2]: where the matrices of a batch are
  // convolution: A is made of patches
  long in_h, in_w, in_c, out_h, out_w, k_h, k_w, stride_h, stride_w, dil_h, dil_w, pad_h, pad_w;
  long is[4];                       // strides of the input's n, h, w, c
  long out_row, out_col, out_image; // strides of the output: pixel, channel, image
  long groups;                      // of channels; in_c and n are one group's
};

#ifdef CONV
FN T load_a(GLOBAL const S *a, long at, const struct product *p, long i, long k, long group) {
  long c = k % p->in_c, t = k / p->in_c;
  long s = t % p->k_w, r = t / p->k_w;
  long w = i % p->out_w, j = i / p->out_w;
  long h = j % p->out_h, n = j / p->out_h;
  long ih = h * p->stride_h - p->pad_h + r * p->dil_h, iw = w * p->stride_w - p->pad_w + s * p->dil_w;
  if (ih < 0 || ih >= p->in_h || iw < 0 || iw >= p->in_w) return (T)0;
  return LD(a, at + n * p->is[0] + ih * p->is[1] + iw * p->is[2] + (group * p->in_c + c) * p->is[3]);
}
#endif

KERNEL void gemm(GLOBAL const S *a, long ao, GLOBAL const S *b, long bo, GLOBAL S *y, long yo,
                 struct product p, int flags, GLOBAL const T *scale, long so,
                 GLOBAL const T *shift, long ho, GLOBAL const S *add, long ad, T alpha) {
  LOCAL T ta[DEPTH][TILE + 1];
  LOCAL T tb[DEPTH][TILE + 1];
  int x = LID(0), yy = LID(1), id = yy * ITEMS + x;
  long col0 = GROUP(0) * TILE, row0 = GROUP(1) * TILE, z = GROUP(2);
  long a_at = ao, b_at = bo, y_at = yo, group = 0;
#ifdef CONV
  group = z;
  b_at += group * p.n * p.b_col;
#else
  a_at += geo_at(&p.batch, 0, z);
  b_at += geo_at(&p.batch, 1, z);
  y_at += geo_at(&p.batch, 2, z);
#endif
  T acc00 = 0, acc01 = 0, acc10 = 0, acc11 = 0;
  for (long k0 = 0; k0 < p.k; k0 += DEPTH) {
    for (int e = id; e < TILE * DEPTH; e += ITEMS * ITEMS) {
      int kk = e % DEPTH, r = e / DEPTH;
      long i = row0 + r, k = k0 + kk;
#ifdef CONV
      ta[kk][r] = i < p.m && k < p.k ? load_a(a, a_at, &p, i, k, group) : (T)0;
#else
      ta[kk][r] = i < p.m && k < p.k ? LD(a, a_at + i * p.a_row + k * p.a_col) : (T)0;
#endif
      int cc = e % TILE, kb = e / TILE;
      long j = col0 + cc;
      k = k0 + kb;
      tb[kb][cc] = j < p.n && k < p.k ? LD(b, b_at + k * p.b_row + j * p.b_col) : (T)0;
    }
    BARRIER();
    for (int kk = 0; kk < DEPTH; kk++) {
      T a0 = ta[kk][yy], a1 = ta[kk][yy + ITEMS], b0 = tb[kk][x], b1 = tb[kk][x + ITEMS];
      acc00 += a0 * b0;
      acc01 += a0 * b1;
      acc10 += a1 * b0;
      acc11 += a1 * b1;
    }
    BARRIER();
  }
  for (int q = 0; q < 4; q++) {
    long i = row0 + yy + (q >> 1) * ITEMS, j = col0 + x + (q & 1) * ITEMS;
    if (i >= p.m || j >= p.n) continue;
    T v = q == 0 ? acc00 : q == 1 ? acc01 : q == 2 ? acc10 : acc11;
    long c = group * p.n + j;
#ifdef CONV
    long pixels = p.out_h * p.out_w;
    long at = i / pixels * p.out_image + i % pixels * p.out_row + c * p.out_col;
#else
    long at = i * p.out_row + j * p.out_col;
#endif
    if (flags & 1) v *= scale[so + c];
    if (flags & 2) v += shift[ho + c];
    if (flags & 4) v += LD(add, ad + at);
    ST(y, y_at + at, act(v, flags >> 8, alpha));
  }
}

// The epilogue alone, in place.
KERNEL void finish(GLOBAL S *y, long yo, long count, long n, int flags, GLOBAL const T *scale, long so,
                   GLOBAL const T *shift, long ho, GLOBAL const S *add, long ad, T alpha) {
  long i = GID(0);
  if (i >= count) return;
  T v = LD(y, yo + i);
  if (flags & 1) v *= scale[so + i % n];
  if (flags & 2) v += shift[ho + i % n];
  if (flags & 4) v += LD(add, ad + i);
  ST(y, yo + i, act(v, flags >> 8, alpha));
}

// Any Einsum: the tables (of longs) say where element (batch, row, column) and each summed k are.
#ifdef TABLES
KERNEL void einsum(GLOBAL const S *a, long ao, GLOBAL const S *b, long bo, GLOBAL S *y, long yo,
                   GLOBAL const long *t, long to, long batch, long rows, long cols, long inner,
                   int ones) {
  long i = GID(0);
  if (i >= batch * rows * cols) return;
  long c = i % cols, r = i / cols % rows, m = i / cols / rows;
  GLOBAL const long *a_batch = t + to, *a_rows = a_batch + batch, *a_inner = a_rows + rows;
  GLOBAL const long *b_batch = a_inner + inner, *b_cols = b_batch + batch, *b_inner = b_cols + cols;
  GLOBAL const long *o_batch = b_inner + inner, *o_rows = o_batch + batch, *o_cols = o_rows + rows;
  T sum = 0;
  for (long k = 0; k < inner; k++) {
    T v = LD(a, ao + a_batch[m] + a_rows[r] + a_inner[k]);
    sum += ones ? v : v * LD(b, bo + b_batch[m] + b_cols[c] + b_inner[k]);
  }
  ST(y, yo + o_batch[m] + o_rows[r] + o_cols[c], sum);
}
#endif
