// SPDX-License-Identifier: Apache-2.0
// segment.cl: rows that are sent to places: segments, and scatters into variables; and the place of a
// number among edges. |order| lists the rows of one place after the other, each in their order, and
// |start| says where a place's rows begin: one item makes a result, so that no two ever write one place
// and sums are the CPU's.
// JOIN: 0 sum, 1 difference, 2 product, 3 least, 4 largest, 5 the last one.

#ifdef JOIN
FN T join(T a, T b) {
#if JOIN == 0
  return RD(a + b);
#elif JOIN == 1
  return RD(a - b);
#elif JOIN == 2
  return RD(a * b);
#elif JOIN == 3
  return b < a ? b : a;
#elif JOIN == 4
  return a < b ? b : a;
#else
  return b;
#endif
}

// Of a NaN and a number in a segment, the later one stays.
#if JOIN == 3
#define LATER(a, b) ((a) < (b) ? (a) : (b))
#elif JOIN == 4
#define LATER(a, b) ((a) > (b) ? (a) : (b))
#else
#define LATER(a, b) join(a, b)
#endif

KERNEL void segments(GLOBAL const S *x, long xo, GLOBAL const int *order, long oo,
                     GLOBAL const int *start, long so, GLOBAL S *y, long yo, long n, long inner,
                     T first) {
  long i = GID(0);
  if (i >= n) return;
  long s = so + i / inner, c = xo + i % inner;
  T acc = first;
  for (long k = start[s]; k < start[s + 1]; k++) acc = LATER(acc, LD(x, c + order[oo + k] * inner));
  ST(y, yo + i, acc);
}

// How many rows each place has, or whether it has any.
KERNEL void segment_sizes(GLOBAL const int *start, long so, GLOBAL S *y, long yo, long n, int once) {
  long i = GID(0);
  if (i >= n) return;
  int rows = start[so + i + 1] - start[so + i];
  ST(y, yo + i, (T)(once ? rows > 0 : rows));
}

// |place|: the row of y that each list goes to. |one|: x is a scalar.
KERNEL void scatter_rows(GLOBAL const S *x, long xo, GLOBAL const int *order, long oo,
                         GLOBAL const int *start, long so, GLOBAL const long *place, long po,
                         GLOBAL S *y, long yo, long n, long inner, int one) {
  long i = GID(0);
  if (i >= n) return;
  long s = i / inner, c = i % inner, at = yo + place[po + s] * inner + c;
  T acc = LD(y, at);
  for (long k = start[so + s]; k < start[so + s + 1]; k++)
    acc = join(acc, LD(x, one ? xo : xo + order[oo + k] * inner + c));
  ST(y, at, acc);
}
#endif

#ifdef EDGE
// How many edges are not above; of NaN all. Compared as EDGE.
KERNEL void buckets(GLOBAL const S *x, long xo, GLOBAL const float *edges, long eo, GLOBAL int *y,
                    long yo, long n, long num) {
  long i = GID(0);
  if (i >= n) return;
  EDGE v = (EDGE)LD(x, xo + i);
  long low = 0, high = num;
  while (low < high) {
    long middle = (low + high) / 2;
    if (v < (EDGE)edges[eo + middle])
      high = middle;
    else
      low = middle + 1;
  }
  y[yo + i] = (int)low;
}
#endif

#ifdef WHERE
// An item looks at WHERE elements: how many are not zero, and then where they are.
KERNEL void where_count(GLOBAL const S *x, long xo, GLOBAL int *counts, long co, long items, long n) {
  long i = GID(0);
  if (i >= items) return;
  int count = 0;
  for (long k = i * WHERE; k < (i + 1) * WHERE && k < n; k++) count += LD(x, xo + k) != (T)0;
  counts[co + i] = count;
}
KERNEL void where_write(GLOBAL const S *x, long xo, GLOBAL const long *first, long fo, GLOBAL long *y,
                        long yo, long items, long n, struct geo g) {
  long i = GID(0);
  if (i >= items) return;
  long at = yo + first[fo + i] * g.rank;
  for (long k = i * WHERE; k < (i + 1) * WHERE && k < n; k++) {
    if (LD(x, xo + k) == (T)0) continue;
    long left = k;
    for (int d = g.rank - 1; d >= 0; d--) {
      y[at + d] = left % g.dims[d];
      left /= g.dims[d];
    }
    at += g.rank;
  }
}
#endif
