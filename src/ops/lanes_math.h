// SPDX-License-Identifier: Apache-2.0
// lanes_math.h: the functions of one vector: exp, log, tanh … for float in polynomials and ratios
// (errors measured against double over all exponents: tests/unit/test_ops_vecmath.c), everything
// else exactly as the plain loops of ops/ compute it. Part of lanes_plain.c and its like, which give
// splat_, select_, fma_, less_, more_, sqrt_, floor_, ceil_ and rint_ for their vectors.
// NaN goes through everything; every lane is independent of its neighbours.

#define K(x) splat_f32(x)
#define TANH_ONE 9.02f  // tanh is 1 from here on

static inline vec_f32 exp2_int(vec_i32 n) { return (vec_f32)((n + 127) << 23); }
static inline vec_f32 abs_f32(vec_f32 x) { return (vec_f32)((vec_i32)x & 0x7FFFFFFF); }
static inline vec_f64 abs_f64(vec_f64 x) { return (vec_f64)((vec_i64)x & INT64_MAX); }

// x = n ln 2 + r with |r| <= ln 2 / 2; the caller keeps |x| below 2^20.
static inline vec_f32 reduce_exp(vec_f32 x, vec_i32 *n) {
  const vec_f32 magic = K(12582912.0f);  // 1.5 * 2^23: adding it rounds to an integer
  const vec_f32 t = fma_f32(x, K(1.44269504088896341f), magic);
  *n = (vec_i32)t - (vec_i32)magic;
  const vec_f32 k = t - magic;
  return fma_f32(k, K(2.12194440e-4f), fma_f32(k, K(-0.693359375f), x));
}

// (exp(r) - 1 - r) / r^2 for |r| <= ln 2 / 2
static inline vec_f32 exp_tail(vec_f32 r) {
  vec_f32 p = fma_f32(K(1.9875691500e-4f), r, K(1.3981999507e-3f));
  p = fma_f32(p, r, K(8.3334519073e-3f));
  p = fma_f32(p, r, K(4.1665795894e-2f));
  p = fma_f32(p, r, K(1.6666665459e-1f));
  return fma_f32(p, r, K(5.0000001201e-1f));
}

static inline vec_f32 lane_exp_f32(vec_f32 x) {
  vec_i32 n;
  x = more_f32(K(-105.0f), less_f32(K(89.0f), x));
  const vec_f32 r = reduce_exp(x, &n);
  const vec_f32 p = fma_f32(r * r, exp_tail(r), r) + 1.0f;
  const vec_i32 half = n >> 1;
  return p * exp2_int(half) * exp2_int(n - half);
}

static inline vec_f32 lane_expm1_f32(vec_f32 x) {
  vec_i32 n;
  const vec_f32 c = more_f32(K(-20.0f), less_f32(K(89.0f), x));
  const vec_f32 r = reduce_exp(c, &n);
  const vec_f32 q = fma_f32(r * r, exp_tail(r), r);
  const vec_f32 s = exp2_int(n - 1);
  const vec_f32 y = fma_f32(s, q, s - 0.5f) * 2.0f;
  return select_f32(x == 0.0f, x, y);
}

// log of a positive normal number, as m + e ln 2.
static inline vec_f32 log_positive(vec_f32 x, vec_f32 e0) {
  const vec_i32 bits = (vec_i32)x;
  vec_f32 m = (vec_f32)((bits & 0x007FFFFF) | 0x3F000000);  // [0.5, 1)
  const vec_i32 low = m < K(0.707106781186547524f);
  const vec_i32 e = (bits >> 23) - 126 + low;
  m = m + (vec_f32)((vec_i32)m & low) - 1.0f;
  const vec_f32 k = __builtin_convertvector(e, vec_f32) + e0;
  const vec_f32 z = m * m;
  vec_f32 p = fma_f32(K(7.0376836292e-2f), m, K(-1.1514610310e-1f));
  p = fma_f32(p, m, K(1.1676998740e-1f));
  p = fma_f32(p, m, K(-1.2420140846e-1f));
  p = fma_f32(p, m, K(1.4249322787e-1f));
  p = fma_f32(p, m, K(-1.6668057665e-1f));
  p = fma_f32(p, m, K(2.0000714765e-1f));
  p = fma_f32(p, m, K(-2.4999993993e-1f));
  p = fma_f32(p, m, K(3.3333331174e-1f));
  vec_f32 y = p * m * z;
  y = fma_f32(k, K(-2.12194440e-4f), y);
  y = fma_f32(z, K(-0.5f), y);
  return fma_f32(k, K(0.693359375f), m + y);
}

static inline vec_f32 lane_log_f32(vec_f32 x) {
  const vec_i32 tiny = x < K(1.17549435e-38f);
  const vec_f32 up = select_f32(tiny, x * 8388608.0f, x);
  vec_f32 y = log_positive(up, (vec_f32)(tiny & (vec_i32)K(-23.0f)));
  y = select_f32(x == K(INFINITY), x, y);
  y = select_f32(x == 0.0f, K(-INFINITY), y);
  return select_f32(x < 0.0f, K(NAN), select_f32(x != x, x, y));
}

// log(1 + x) corrected by what the addition lost.
static inline vec_f32 lane_log1p_f32(vec_f32 x) {
  const vec_f32 u = x + 1.0f;
  const vec_f32 y = lane_log_f32(u);
  const vec_f32 lost = (x - (u - 1.0f)) / u;
  const vec_i32 plain = (u == 0.0f) | (u == K(INFINITY));
  return select_f32(u == 1.0f, x, select_f32(plain, y, y + lost));
}

// t / (t + 2) with t = exp(2x) - 1, which keeps its digits near zero.
static inline vec_f32 lane_tanh_f32(vec_f32 x) {
  vec_i32 n;
  const vec_f32 c = more_f32(K(-TANH_ONE), less_f32(K(TANH_ONE), x));
  const vec_f32 r = reduce_exp(c + c, &n);
  const vec_f32 q = fma_f32(r * r, exp_tail(r), r);
  const vec_f32 s = exp2_int(n);
  const vec_f32 t = fma_f32(s, q, s - 1.0f);
  const vec_f32 y = t / (t + 2.0f);
  return (vec_f32)((vec_i32)y | ((vec_i32)x & INT32_MIN));  // -0 stays
}

// e = exp(-|x|) never overflows: 1 / (1 + e), or e / (1 + e) for negative x.
static inline vec_f32 lane_sigmoid_f32(vec_f32 x) {
  vec_i32 n;
  const vec_f32 minus = (vec_f32)((vec_i32)x | INT32_MIN);
  const vec_f32 r = reduce_exp(more_f32(K(-105.0f), minus), &n);
  const vec_f32 p = fma_f32(r * r, exp_tail(r), r) + 1.0f;
  const vec_f32 e = p * exp2_int(n + 64) * 0x1p-64f;
  return select_f32(x < 0.0f, e, K(1.0f)) / (e + 1.0f);
}

static inline vec_f32 lane_erf_f32(vec_f32 x) {
  const vec_f32 t = less_f32(K(4.0f), abs_f32(x)), s = t * t;
  vec_f32 u = fma_f32(K(-1.72853470e-5f), t, K(3.83197126e-4f));
  u = fma_f32(u, s, fma_f32(K(-3.88396438e-3f), t, K(2.42546219e-2f)));
  u = fma_f32(u, t, K(-1.06777877e-1f));
  u = fma_f32(u, t, K(-6.34846687e-1f));
  u = fma_f32(u, t, K(-1.28717512e-1f));
  const vec_f32 far = 1.0f - lane_exp_f32(fma_f32(u, t, -t));
  vec_f32 v = fma_f32(K(-5.96761703e-4f), s, K(4.99119423e-3f));
  v = fma_f32(v, s, K(-2.67681349e-2f));
  v = fma_f32(v, s, K(1.12819925e-1f));
  v = fma_f32(v, s, K(-3.76125336e-1f));
  v = fma_f32(v, s, K(1.28379166e-1f));
  const vec_f32 near = fma_f32(v, t, t);
  const vec_f32 y = select_f32(t > K(0.927734375f), far, near);
  return (vec_f32)((vec_i32)y | ((vec_i32)x & INT32_MIN));
}

static inline vec_f32 lane_elu_f32(vec_f32 x) {
  return select_f32(x < 0.0f, lane_expm1_f32(x), x);
}
static inline vec_f32 lane_selu_f32(vec_f32 x) {
  return select_f32(x < 0.0f, K(1.7580993408473768599402175208123f) * lane_expm1_f32(x),
                    K(1.0507009873554804934193349852946f) * x);
}
static inline vec_f32 lane_softplus_f32(vec_f32 x) {
  const vec_f32 e = lane_exp_f32(x);
  const vec_f32 y = select_f32(x < K(-13.942385f), e, lane_log1p_f32(e));
  return select_f32(x > K(13.942385f), x, y);
}

// Functions that are called lane by lane, as the plain loops do.
#define CALL_LANES(S, name, fn)                                             \
  static inline vec_##S name(vec_##S x) {                                   \
    elem_##S t[LANE_BYTES / sizeof(elem_##S)];                              \
    memcpy(t, &x, sizeof x);                                                \
    for (size_t i = 0; i < sizeof t / sizeof t[0]; i++) t[i] = fn(t[i]);    \
    memcpy(&x, t, sizeof x);                                                \
    return x;                                                               \
  }
#define CALL_LANES_2(S, name, fn)                                               \
  static inline vec_##S name(vec_##S x, vec_##S y) {                            \
    elem_##S t[LANE_BYTES / sizeof(elem_##S)], u[LANE_BYTES / sizeof(elem_##S)]; \
    memcpy(t, &x, sizeof x);                                                    \
    memcpy(u, &y, sizeof y);                                                    \
    for (size_t i = 0; i < sizeof t / sizeof t[0]; i++) t[i] = fn(t[i], u[i]);  \
    memcpy(&x, t, sizeof x);                                                    \
    return x;                                                                   \
  }
static inline double sigmoid_of(double x) { return 1 / (1 + exp(-x)); }
static inline double elu_of(double x) { return x < 0 ? expm1(x) : x; }
static inline double selu_of(double x) {
  return x < 0 ? 1.7580993408473768599402175208123 * expm1(x)
               : 1.0507009873554804934193349852946 * x;
}
static inline double softplus_of(double x) {
  const double t = -34.04365338911715;
  return x > -t ? x : x < t ? exp(x) : log1p(exp(x));
}
CALL_LANES(f32, lane_sin_f32, sinf)
CALL_LANES(f32, lane_cos_f32, cosf)
CALL_LANES_2(f32, lane_pow_f32, powf)
CALL_LANES(f64, lane_exp_f64, exp)
CALL_LANES(f64, lane_log_f64, log)
CALL_LANES(f64, lane_log1p_f64, log1p)
CALL_LANES(f64, lane_expm1_f64, expm1)
CALL_LANES(f64, lane_tanh_f64, tanh)
CALL_LANES(f64, lane_sigmoid_f64, sigmoid_of)
CALL_LANES(f64, lane_elu_f64, elu_of)
CALL_LANES(f64, lane_selu_f64, selu_of)
CALL_LANES(f64, lane_softplus_f64, softplus_of)
CALL_LANES(f64, lane_sin_f64, sin)
CALL_LANES(f64, lane_cos_f64, cos)
CALL_LANES(f64, lane_erf_f64, erf)
CALL_LANES_2(f64, lane_pow_f64, pow)

// What is exact, for both real types alike.
#define REAL_LANES(S, M)                                                                        \
  static inline vec_##S lane_add_##S(vec_##S x, vec_##S y) { return x + y; }                    \
  static inline vec_##S lane_sub_##S(vec_##S x, vec_##S y) { return x - y; }                    \
  static inline vec_##S lane_mul_##S(vec_##S x, vec_##S y) { return x * y; }                    \
  static inline vec_##S lane_div_##S(vec_##S x, vec_##S y) { return x / y; }                    \
  static inline vec_##S lane_max_##S(vec_##S x, vec_##S y) {                                    \
    return select_##S(y != y, y, more_##S(y, x));                                               \
  }                                                                                             \
  static inline vec_##S lane_min_##S(vec_##S x, vec_##S y) {                                    \
    return select_##S(y != y, y, less_##S(y, x));                                               \
  }                                                                                             \
  static inline vec_##S lane_sqdiff_##S(vec_##S x, vec_##S y) { return (x - y) * (x - y); }     \
  static inline vec_##S lane_leaky_##S(vec_##S x, vec_##S alpha) {                              \
    return select_##S(x > 0, x, alpha * x);                                                     \
  }                                                                                             \
  static inline vec_##S lane_neg_##S(vec_##S x) { return -x; }                                  \
  static inline vec_##S lane_abs_##S(vec_##S x) { return abs_##S(x); }                          \
  static inline vec_##S lane_square_##S(vec_##S x) { return x * x; }                            \
  static inline vec_##S lane_sqrt_##S(vec_##S x) { return sqrt_##S(x); }                        \
  static inline vec_##S lane_rsqrt_##S(vec_##S x) { return 1 / sqrt_##S(x); }                   \
  static inline vec_##S lane_recip_##S(vec_##S x) { return 1 / x; }                             \
  static inline vec_##S lane_relu_##S(vec_##S x) { return more_##S(splat_##S(0), x); }          \
  static inline vec_##S lane_relu6_##S(vec_##S x) {                                             \
    return less_##S(splat_##S(6), more_##S(splat_##S(0), x));                                   \
  }                                                                                             \
  static inline vec_##S lane_softsign_##S(vec_##S x) { return x / (abs_##S(x) + 1); }           \
  static inline vec_##S lane_floor_##S(vec_##S x) { return floor_##S(x); }                      \
  static inline vec_##S lane_ceil_##S(vec_##S x) { return ceil_##S(x); }                        \
  static inline vec_##S lane_rint_##S(vec_##S x) { return rint_##S(x); }                        \
  static inline vec_##S lane_sign_##S(vec_##S x) {                                              \
    const vec_##S one = (vec_##S)((x > 0) & (vec_##M)splat_##S(1)) -                            \
                        (vec_##S)((x < 0) & (vec_##M)splat_##S(1));                             \
    return select_##S(x != x, x, one);                                                          \
  }
REAL_LANES(f32, i32)
REAL_LANES(f64, i64)

// Integers wrap.
#define INT_LANES(S, U)                                                                        \
  static inline vec_##S lane_add_##S(vec_##S x, vec_##S y) {                                   \
    return (vec_##S)((vec_##U)x + (vec_##U)y);                                                 \
  }                                                                                            \
  static inline vec_##S lane_sub_##S(vec_##S x, vec_##S y) {                                   \
    return (vec_##S)((vec_##U)x - (vec_##U)y);                                                 \
  }                                                                                            \
  static inline vec_##S lane_mul_##S(vec_##S x, vec_##S y) {                                   \
    return (vec_##S)((vec_##U)x * (vec_##U)y);                                                 \
  }                                                                                            \
  static inline vec_##S lane_max_##S(vec_##S x, vec_##S y) {                                   \
    const vec_##S m = x < y;                                                                   \
    return (y & m) | (x & ~m);                                                                 \
  }                                                                                            \
  static inline vec_##S lane_min_##S(vec_##S x, vec_##S y) {                                   \
    const vec_##S m = y < x;                                                                   \
    return (y & m) | (x & ~m);                                                                 \
  }                                                                                            \
  static inline vec_##S lane_sqdiff_##S(vec_##S x, vec_##S y) {                                \
    return (vec_##S)(((vec_##U)x - (vec_##U)y) * ((vec_##U)x - (vec_##U)y));                   \
  }                                                                                            \
  static inline vec_##S lane_neg_##S(vec_##S x) { return (vec_##S)(0 - (vec_##U)x); }          \
  static inline vec_##S lane_square_##S(vec_##S x) {                                           \
    return (vec_##S)((vec_##U)x * (vec_##U)x);                                                 \
  }                                                                                            \
  static inline vec_##S lane_abs_##S(vec_##S x) {                                              \
    const vec_##S m = x < 0;                                                                   \
    return (vec_##S)(((vec_##U)x ^ (vec_##U)m) - (vec_##U)m);                                  \
  }                                                                                            \
  static inline vec_##S lane_sign_##S(vec_##S x) { return (x < 0) - (x > 0); }                 \
  static inline vec_##S lane_relu_##S(vec_##S x) { return x & (x > 0); }                       \
  static inline vec_##S lane_relu6_##S(vec_##S x) {                                            \
    return lane_min_##S(lane_relu_##S(x), splat_##S(6));                                       \
  }
INT_LANES(i32, u32)
INT_LANES(i64, u64)
#undef K
#undef TANH_ONE
