// SPDX-License-Identifier: Apache-2.0
// lanes_math.h: the functions of one vector: exp, log, tanh ... for float in polynomials
// (errors measured against double over all exponents: tests/unit/test_ops_vecmath.c), everything
// else exactly as the plain loops of ops/ compute it. Part of lanes_plain.c and its like, which
// give splat_, select_, by_sign_, fma_, less_, more_, sqrt_, floor_, ceil_ and rint_ for their vectors.
// NaN goes through everything; every lane is independent of its neighbours.
//
// The long functions work on |n| vectors step by step: the steps of one vector depend on each other,
// those of several do not, and a processor looks ahead only so far.

#define K(x) splat_f32(x)
#define TANH_ONE 9.02f  // tanh is 1 from here on
#define GROUP 8         // the most vectors at a time
#define EACH UNROLL for (int i = 0; i < n; i++)

static inline vec_f32 exp2_int(vec_i32 n) { return (vec_f32)((n + 127) << 23); }
static inline vec_f32 abs_f32(vec_f32 x) { return (vec_f32)((vec_i32)x & 0x7FFFFFFF); }
static inline vec_f64 abs_f64(vec_f64 x) { return (vec_f64)((vec_i64)x & INT64_MAX); }

// q = exp(r) - 1 for |r| <= ln 2 / 2: r + r^2 T(r), T the polynomial nearest to it (1.4e-8).
ALWAYS_INLINE void small_expm1(const vec_f32 *r, vec_f32 *q, const int n) {
  vec_f32 p[GROUP], s[GROUP];
  EACH p[i] = fma_f32(K(0x1.6b9cb8p-10f), r[i], K(0x1.122564p-7f));
  EACH p[i] = fma_f32(p[i], r[i], K(0x1.5556f2p-5f));
  EACH p[i] = fma_f32(p[i], r[i], K(0x1.5554b4p-3f));
  EACH p[i] = fma_f32(p[i], r[i], K(0x1.fffffep-2f));
  EACH s[i] = r[i] * r[i];
  EACH q[i] = fma_f32(s[i], p[i], r[i]);
}

#define EXP_MAGIC 12582912.0f  // 1.5 * 2^23: adding it rounds to an integer

// x = k ln 2 + r, |x| below 2^20; q = exp(r) - 1.
ALWAYS_INLINE void split_exp(const vec_f32 *x, vec_f32 *q, vec_i32 *k, const int n) {
  vec_f32 t[GROUP], r[GROUP];
  EACH t[i] = fma_f32(x[i], K(1.44269504088896341f), K(EXP_MAGIC));
  EACH k[i] = (vec_i32)t[i] - (vec_i32)K(EXP_MAGIC);
  EACH t[i] = t[i] - EXP_MAGIC;
  EACH r[i] = fma_f32(t[i], K(-0.693359375f), x[i]);
  EACH r[i] = fma_f32(t[i], K(2.12194440e-4f), r[i]);
  small_expm1(r, q, n);
}

ALWAYS_INLINE void group_exp_f32(vec_f32 *x, const int n) {
  vec_f32 q[GROUP];
  vec_i32 k[GROUP], half[GROUP];
  EACH x[i] = more_f32(K(-105.0f), less_f32(K(89.0f), x[i]));
  split_exp(x, q, k, n);
  EACH half[i] = k[i] >> 1;
  EACH x[i] = (q[i] + 1.0f) * exp2_int(half[i]);
  EACH x[i] = x[i] * exp2_int(k[i] - half[i]);
}

ALWAYS_INLINE void group_expm1_f32(vec_f32 *x, const int n) {
  vec_f32 c[GROUP], q[GROUP], s[GROUP];
  vec_i32 k[GROUP];
  EACH c[i] = more_f32(K(-20.0f), less_f32(K(89.0f), x[i]));
  split_exp(c, q, k, n);
  EACH s[i] = exp2_int(k[i] - 1);
  EACH q[i] = fma_f32(s[i], q[i], s[i] - 0.5f) * 2.0f;
  EACH x[i] = select_f32(x[i] == 0.0f, x[i], q[i]);  // -0 stays
}

// t / (t + 2) with t = exp(2|x|) - 1, which keeps its digits near zero. ln 2 in one piece is
// enough: where its error would show, exp(2|x|) no longer matters.
ALWAYS_INLINE void group_tanh_f32(vec_f32 *x, const int n) {
  vec_f32 c[GROUP], q[GROUP], s[GROUP], t[GROUP];
  vec_i32 k[GROUP];
  EACH c[i] = less_f32(K(TANH_ONE), abs_f32(x[i]));
  EACH t[i] = fma_f32(c[i], K(2.88539008177792681f), K(EXP_MAGIC));
  EACH c[i] = c[i] + c[i];
  EACH k[i] = (vec_i32)t[i] - (vec_i32)K(EXP_MAGIC);
  EACH t[i] = t[i] - EXP_MAGIC;
  EACH c[i] = fma_f32(t[i], K(-0.693147180559945309f), c[i]);
  small_expm1(c, q, n);
  EACH s[i] = exp2_int(k[i]);
  EACH q[i] = fma_f32(s[i], q[i], s[i] - 1.0f);
  EACH q[i] = q[i] / (q[i] + 2.0f);
  EACH x[i] = (vec_f32)((vec_i32)q[i] | ((vec_i32)x[i] & INT32_MIN));
}

// e = exp(-|x|) never overflows: 1 / (1 + e), or e / (1 + e) for negative x.
ALWAYS_INLINE void group_sigmoid_f32(vec_f32 *x, const int n) {
  vec_f32 c[GROUP], q[GROUP];
  vec_i32 k[GROUP];
  EACH c[i] = more_f32(K(-105.0f), (vec_f32)((vec_i32)x[i] | INT32_MIN));
  split_exp(c, q, k, n);
  EACH q[i] = (q[i] + 1.0f) * exp2_int(k[i] + 64);
  EACH q[i] = q[i] * 0x1p-64f;
  EACH x[i] = by_sign_f32(x[i], q[i], K(1.0f)) / (q[i] + 1.0f);
}

// log of positive normal numbers times 2^e0, as m + e ln 2.
ALWAYS_INLINE void log_positive(vec_f32 *x, const vec_f32 *e0, const int n) {
  vec_f32 m[GROUP], k[GROUP], z[GROUP], p[GROUP];
  vec_i32 low[GROUP];
  EACH m[i] = (vec_f32)(((vec_i32)x[i] & 0x007FFFFF) | 0x3F000000);  // [0.5, 1)
  EACH low[i] = m[i] < K(0.707106781186547524f);
  EACH k[i] = __builtin_convertvector(((vec_i32)x[i] >> 23) - 126 + low[i], vec_f32) + e0[i];
  EACH m[i] = m[i] + (vec_f32)((vec_i32)m[i] & low[i]) - 1.0f;
  EACH z[i] = m[i] * m[i];
  EACH p[i] = fma_f32(K(7.0376836292e-2f), m[i], K(-1.1514610310e-1f));
  EACH p[i] = fma_f32(p[i], m[i], K(1.1676998740e-1f));
  EACH p[i] = fma_f32(p[i], m[i], K(-1.2420140846e-1f));
  EACH p[i] = fma_f32(p[i], m[i], K(1.4249322787e-1f));
  EACH p[i] = fma_f32(p[i], m[i], K(-1.6668057665e-1f));
  EACH p[i] = fma_f32(p[i], m[i], K(2.0000714765e-1f));
  EACH p[i] = fma_f32(p[i], m[i], K(-2.4999993993e-1f));
  EACH p[i] = fma_f32(p[i], m[i], K(3.3333331174e-1f));
  EACH p[i] = p[i] * m[i] * z[i];
  EACH p[i] = fma_f32(k[i], K(-2.12194440e-4f), p[i]);
  EACH p[i] = fma_f32(z[i], K(-0.5f), p[i]);
  EACH x[i] = fma_f32(k[i], K(0.693359375f), m[i] + p[i]);
}

ALWAYS_INLINE void group_log_f32(vec_f32 *x, const int n) {
  vec_f32 y[GROUP], e0[GROUP];
  EACH y[i] = select_f32(x[i] < K(1.17549435e-38f), x[i] * 8388608.0f, x[i]);
  EACH e0[i] = (vec_f32)((x[i] < K(1.17549435e-38f)) & (vec_i32)K(-23.0f));
  log_positive(y, e0, n);
  EACH y[i] = select_f32(x[i] == K(INFINITY), x[i], y[i]);
  EACH y[i] = select_f32(x[i] == 0.0f, K(-INFINITY), y[i]);
  EACH x[i] = select_f32(x[i] < 0.0f, K(NAN), select_f32(x[i] != x[i], x[i], y[i]));
}

// log(1 + x) corrected by what the addition lost.
ALWAYS_INLINE void group_log1p_f32(vec_f32 *x, const int n) {
  vec_f32 y[GROUP], lost[GROUP];
  EACH y[i] = x[i] + 1.0f;
  EACH lost[i] = (x[i] - (y[i] - 1.0f)) / y[i];
  // Nothing is lost at the poles; and where 1 + x is 1, x is the answer.
  EACH lost[i] = (vec_f32)((vec_i32)lost[i] & ~((y[i] == 0.0f) | (y[i] == K(INFINITY))));
  group_log_f32(y, n);
  EACH x[i] = select_f32(x[i] + 1.0f == 1.0f, x[i], y[i] + lost[i]);
}

ALWAYS_INLINE void group_erf_f32(vec_f32 *x, const int n) {
  vec_f32 t[GROUP], s[GROUP], u[GROUP], v[GROUP];
  EACH t[i] = less_f32(K(4.0f), abs_f32(x[i]));
  EACH s[i] = t[i] * t[i];
  EACH u[i] = fma_f32(K(-1.72853470e-5f), t[i], K(3.83197126e-4f));
  EACH v[i] = fma_f32(K(-3.88396438e-3f), t[i], K(2.42546219e-2f));
  EACH u[i] = fma_f32(u[i], s[i], v[i]);
  EACH u[i] = fma_f32(u[i], t[i], K(-1.06777877e-1f));
  EACH u[i] = fma_f32(u[i], t[i], K(-6.34846687e-1f));
  EACH u[i] = fma_f32(u[i], t[i], K(-1.28717512e-1f));
  EACH u[i] = fma_f32(u[i], t[i], -t[i]);
  group_exp_f32(u, n);
  EACH v[i] = fma_f32(K(-5.96761703e-4f), s[i], K(4.99119423e-3f));
  EACH v[i] = fma_f32(v[i], s[i], K(-2.67681349e-2f));
  EACH v[i] = fma_f32(v[i], s[i], K(1.12819925e-1f));
  EACH v[i] = fma_f32(v[i], s[i], K(-3.76125336e-1f));
  EACH v[i] = fma_f32(v[i], s[i], K(1.28379166e-1f));
  EACH v[i] = fma_f32(v[i], t[i], t[i]);
  EACH v[i] = select_f32(t[i] > K(0.927734375f), 1.0f - u[i], v[i]);
  EACH x[i] = (vec_f32)((vec_i32)v[i] | ((vec_i32)x[i] & INT32_MIN));
}

ALWAYS_INLINE void group_elu_f32(vec_f32 *x, const int n) {
  vec_f32 y[GROUP];
  EACH y[i] = x[i];
  group_expm1_f32(y, n);
  EACH x[i] = select_f32(x[i] < 0.0f, y[i], x[i]);
}

ALWAYS_INLINE void group_selu_f32(vec_f32 *x, const int n) {
  vec_f32 y[GROUP];
  EACH y[i] = x[i];
  group_expm1_f32(y, n);
  EACH x[i] = select_f32(x[i] < 0.0f, K(1.7580993408473768599402175208123f) * y[i],
                         K(1.0507009873554804934193349852946f) * x[i]);
}

ALWAYS_INLINE void group_softplus_f32(vec_f32 *x, const int n) {
  vec_f32 e[GROUP], y[GROUP];
  EACH e[i] = x[i];
  group_exp_f32(e, n);
  EACH y[i] = e[i];
  group_log1p_f32(y, n);
  EACH y[i] = select_f32(x[i] < K(-13.942385f), e[i], y[i]);
  EACH x[i] = select_f32(x[i] > K(13.942385f), x[i], y[i]);
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

// What is exact, for both real types alike. |k| of lane_max_k and lane_min_k is no NaN.
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
  static inline vec_##S lane_max_k_##S(vec_##S x, vec_##S k) { return more_##S(k, x); }         \
  static inline vec_##S lane_min_k_##S(vec_##S x, vec_##S k) { return less_##S(k, x); }         \
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
  static inline vec_##S lane_max_k_##S(vec_##S x, vec_##S k) { return lane_max_##S(x, k); }    \
  static inline vec_##S lane_min_k_##S(vec_##S x, vec_##S k) { return lane_min_##S(x, k); }    \
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
