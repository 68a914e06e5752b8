// SPDX-License-Identifier: Apache-2.0
// random.cl: Philox 4x32-10, group by group, the same bits as the host's (ops/philox.h).
// WHAT: 0 uniform, 1 normal, 2 integers.

struct philox {
  uint counter[4];
  uint key[2];
};

FN void philox_block(struct philox p, ulong skip, uint *out) {
  uint low = (uint)skip, high = (uint)(skip >> 32);
  p.counter[0] += low;
  if (p.counter[0] < low) high++;
  p.counter[1] += high;
  if (p.counter[1] < high) {
    if (++p.counter[2] == 0) ++p.counter[3];
  }
  uint c0 = p.counter[0], c1 = p.counter[1], c2 = p.counter[2], c3 = p.counter[3];
  uint k0 = p.key[0], k1 = p.key[1];
  for (int round = 0; round < 10; round++) {
    uint a_hi = mul_hi(0xD2511F53u, c0), a_lo = 0xD2511F53u * c0;
    uint b_hi = mul_hi(0xCD9E8D57u, c2), b_lo = 0xCD9E8D57u * c2;
    uint n0 = b_hi ^ c1 ^ k0, n2 = a_hi ^ c3 ^ k1;
    c0 = n0;
    c1 = b_lo;
    c2 = n2;
    c3 = a_lo;
    k0 += 0x9E3779B9u;
    k1 += 0xBB67AE85u;
  }
  out[0] = c0, out[1] = c1, out[2] = c2, out[3] = c3;
}

FN float unit_float(uint x) { return as_float(0x3F800000u | (x & 0x7FFFFFu)) - 1.0f; }

#if WHAT == 2
KERNEL void philox_fill(GLOBAL S *y, long yo, struct philox p, long n, long low, ulong range) {
  long g = GID(0);
  uint x[4];
#ifdef WIDE
  if (g * 2 >= n) return;
  philox_block(p, (ulong)g, x);
  for (int i = 0; i < 2; i++) {
    ulong bits = (ulong)x[2 * i] | (ulong)x[2 * i + 1] << 32;
    if (g * 2 + i < n) y[yo + g * 2 + i] = (S)((ulong)low + (range ? bits % range : bits));
  }
#else
  if (g * 4 >= n) return;
  philox_block(p, (ulong)g, x);
  for (int i = 0; i < 4; i++)
    if (g * 4 + i < n) y[yo + g * 4 + i] = (S)((uint)low + (range ? x[i] % (uint)range : x[i]));
#endif
}
#elif defined(WIDE)
FN double unit_double(uint x0, uint x1) {
  return as_double(0x3FF0000000000000ul | (ulong)(x0 & 0xFFFFFu) << 32 | x1) - 1.0;
}
KERNEL void philox_fill(GLOBAL S *y, long yo, struct philox p, long n) {
  long g = GID(0);
  uint x[4];
  double d[2];
  if (g * 2 >= n) return;
  philox_block(p, (ulong)g, x);
#if WHAT == 0
  d[0] = unit_double(x[0], x[1]);
  d[1] = unit_double(x[2], x[3]);
#else
  double u1 = unit_double(x[0], x[1]);
  if (u1 < 1.0e-7) u1 = 1.0e-7;
  double v1 = 6.283185307179586 * unit_double(x[2], x[3]), u2 = sqrt(-2.0 * log(u1));
  d[0] = sin(v1) * u2;
  d[1] = cos(v1) * u2;
#endif
  for (int i = 0; i < 2; i++)
    if (g * 2 + i < n) y[yo + g * 2 + i] = d[i];
}
#else
KERNEL void philox_fill(GLOBAL S *y, long yo, struct philox p, long n) {
  long g = GID(0);
  uint x[4];
  float f[4];
  if (g * 4 >= n) return;
  philox_block(p, (ulong)g, x);
#if WHAT == 0
  for (int i = 0; i < 4; i++) f[i] = unit_float(x[i]);
#else
  for (int i = 0; i < 4; i += 2) {
    float u1 = unit_float(x[i]);
    if (u1 < 1.0e-7f) u1 = 1.0e-7f;
    // 2 pi u in more than float, so that it rounds as the host's product in double does.
    float u = unit_float(x[i + 1]);
    float hi = 6.2831855f * u;
    float lo = fma(6.2831855f, u, -hi) + -1.7484556e-7f * u;
    float v1 = hi + lo;
    float u2 = sqrt(-2.0f * log(u1));
    f[i] = sin(v1) * u2;
    f[i + 1] = cos(v1) * u2;
  }
#endif
  for (int i = 0; i < 4; i++)
    if (g * 4 + i < n) ST(y, yo + g * 4 + i, f[i]);
}
#endif
