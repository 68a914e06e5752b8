// SPDX-License-Identifier: Apache-2.0
// move.cl: kernels that move elements without looking at them: E is a type of the element's size.

KERNEL void move(GLOBAL const E *x, long xo, GLOBAL E *y, long yo, struct geo g, long n, long xa,
                 long ya) {
  long i = GID(0);
  if (i < n) y[yo + ya + geo_at(&g, 1, i)] = x[xo + xa + geo_at(&g, 0, i)];
}

KERNEL void fill(GLOBAL E *y, long yo, E value, long n) {
  long i = GID(0);
  if (i < n) y[yo + i] = value;
}

KERNEL void fill_from(GLOBAL E *y, long yo, GLOBAL const E *value, long vo, long n) {
  long i = GID(0);
  if (i < n) y[yo + i] = value[vo];
}

// params [batch, outer, limit, inner], indices [batch, count] -> [batch, outer, count, inner]
KERNEL void gather(GLOBAL const E *x, long xo, GLOBAL const void *index, long io, GLOBAL E *y, long yo,
                   long n, long outer, long limit, long count, long inner, int wide) {
  long i = GID(0);
  if (i >= n) return;
  long c = i % inner, j = i / inner;
  long k = j % count, o = j / count;  // o counts batch * outer
  long b = o / outer;
  long at = wide ? ((GLOBAL const long *)index)[io + b * count + k]
                 : (long)((GLOBAL const int *)index)[io + b * count + k];
  y[yo + i] = at >= 0 && at < limit ? x[xo + (o * limit + at) * inner + c] : (E)0;
}

// indices [prefix, suffix] -> [prefix, depth, suffix]
KERNEL void one_hot(GLOBAL const void *index, long io, GLOBAL const E *on, long no, GLOBAL const E *off,
                    long fo, GLOBAL E *y, long yo, long n, long depth, long suffix, int kind) {
  long i = GID(0);
  if (i >= n) return;
  long s = i % suffix, d = i / suffix % depth, p = i / suffix / depth, at = io + p * suffix + s;
  long v = kind == 8 ? ((GLOBAL const long *)index)[at]
           : kind == 4 ? (long)((GLOBAL const int *)index)[at]
                       : (long)((GLOBAL const uchar *)index)[at];
  y[yo + i] = v == d ? on[no] : off[fo];
}
