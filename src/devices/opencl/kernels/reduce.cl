// SPDX-License-Identifier: Apache-2.0
// reduce.cl: reductions over any axes, softmax, position of the extreme.
// OP: 0 sum, 1 mean, 2 max, 3 min, 4 product, 5 all, 6 any.

#ifdef OP
FN T combine(T a, T b) {
#if OP <= 1
  return a + b;
#elif OP == 2
  return a != a || a > b ? a : b;
#elif OP == 3
  return a != a || a < b ? a : b;
#elif OP == 4
  return a * b;
#elif OP == 5
  return a && b;
#else
  return a || b;
#endif
}

// |kept| and |gone| walk the input along the dims that stay and those that go.
KERNEL void reduce_item(GLOBAL const S *x, long xo, GLOBAL S *y, long yo, struct geo kept,
                        struct geo gone, long n, long count, T start) {
  long i = GID(0);
  if (i >= n) return;
  long base = xo + geo_at(&kept, 0, i);
  T acc = start;
  for (long k = 0; k < count; k++) acc = combine(acc, LD(x, base + geo_at(&gone, 0, k)));
#if OP == 1
  acc = acc / (T)count;
#endif
  ST(y, yo + i, acc);
}

// One group per result.
KERNEL void reduce_group(GLOBAL const S *x, long xo, GLOBAL S *y, long yo, struct geo kept,
                         struct geo gone, long n, long count, T start) {
  LOCAL T part[64];
  long i = GROUP(0);
  int id = LID(0);
  long base = xo + geo_at(&kept, 0, i);
  T acc = start;
  for (long k = id; k < count; k += 64) acc = combine(acc, LD(x, base + geo_at(&gone, 0, k)));
  part[id] = acc;
  BARRIER();
  for (int step = 32; step > 0; step >>= 1) {
    if (id < step) part[id] = combine(part[id], part[id + step]);
    BARRIER();
  }
  if (id == 0) {
    acc = part[0];
#if OP == 1
    acc = acc / (T)count;
#endif
    ST(y, yo + i, acc);
  }
}
#endif

#ifdef SOFTMAX
// One group per row.
KERNEL void softmax(GLOBAL const S *x, long xo, GLOBAL S *y, long yo, long cols, int logarithm) {
  LOCAL T part[64];
  int id = LID(0);
  long at = xo + GROUP(0) * cols, to = yo + GROUP(0) * cols;
  T top = LD(x, at), sum = 0;
  for (long k = id; k < cols; k += 64) {
    T v = LD(x, at + k);
    top = top != top || top > v ? top : v;
  }
  top = group_max(part, top);
  for (long k = id; k < cols; k += 64) sum += exp(LD(x, at + k) - top);
  sum = group_sum(part, sum);
  T log_sum = log(sum);
  for (long k = id; k < cols; k += 64) {
    T v = LD(x, at + k) - top;
    ST(y, to + k, logarithm ? v - log_sum : exp(v) / sum);
  }
}
#endif

#ifdef SCAN
// One item per lane of x [outer, along, inner]; rounds at every step.
KERNEL void scan(GLOBAL const S *x, long xo, GLOBAL S *y, long yo, long lanes, long along, long inner,
                 int product, int exclusive, int reverse) {
  long lane = GID(0);
  if (lane >= lanes) return;
  long base = lane / inner * along * inner + lane % inner;
  T sum = (T)product;
  for (long k = 0; k < along; k++) {
    long at = base + (reverse ? along - 1 - k : k) * inner;
    T v = LD(x, xo + at);
    T next = RD(product ? sum * v : sum + v);
    ST(y, yo + at, exclusive ? sum : next);
    sum = next;
  }
}
#endif

#ifdef ARG
// x [outer, n, inner]; the first of equals; a NaN is never better than anything.
KERNEL void arg_reduce(GLOBAL const S *x, long xo, GLOBAL OUT *y, long yo, long outer, long n,
                       long inner, int smallest) {
  long i = GID(0);
  if (i >= outer * inner) return;
  long at = xo + i / inner * n * inner + i % inner;
  T best = LD(x, at);
  long where = 0;
#ifdef FLOATING
  if (best != best) best = (T)as_float(smallest ? 0x7f800000u : 0xff800000u);
#endif
  for (long k = 1; k < n; k++) {
    T v = LD(x, at + k * inner);
    if (smallest ? v < best : v > best) best = v, where = k;
  }
  y[yo + i] = (OUT)where;
}
#endif
