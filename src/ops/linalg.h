// SPDX-License-Identifier: Apache-2.0
// linalg.h: what the linear algebra ops share: the walk over a batch of matrices, the checks every
// one of them makes, and scalars by dtype suffix for the algorithms.
//
// An algorithm is written once, in a file *.inc that is included for each S of f32, f64, c64 and
// c128 (linalg_each.h); T is the scalar, R its real type, LA(name) the name with its suffix.
// Matrices are row-major. The algorithms and their conventions (pivots, signs, phases, the order of
// eigenvalues) are those of the library TensorFlow uses, so that vectors agree and not only values.

#ifndef FY_OPS_LINALG_H
#define FY_OPS_LINALG_H

#include <float.h>

#include "ops/op.h"
#include "ops/typed.h"

typedef struct fy_la_job fy_la_job;
// Works on one matrix of the batch: input and output pointers, and |work| of its own. NULL, or the
// text of an INVALID_ARGUMENT.
typedef const char *(*fy_la_fn)(const fy_la_job *job, const void *const *in, void *const *out,
                                void *work);

#define FY_LA_ARGS 4

struct fy_la_job {
  fy_la_fn fn;
  int64_t m, n;  // input 0: rows, columns
  int64_t k;     // columns of the right-hand side
  bool adjoint, lower, full, vectors, fast, pivoting;
  double l2;
  fy_dtype index_type;
  fy_dtype type;     // of the matrices
  fy_dtype compute;  // what the algorithm works in: inputs are converted to it; FY_INVALID = type
  int64_t batch;
  int num_in, num_out;
  const fy_tensor *in[FY_LA_ARGS];
  fy_tensor *out[FY_LA_ARGS];
  int64_t in_count[FY_LA_ARGS], out_count[FY_LA_ARGS];  // elements of one matrix
  const int64_t *in_index[FY_LA_ARGS];  // [batch] which matrix of the input; NULL = the same
  bool plain_out[FY_LA_ARGS];           // not a matrix of |type| (permutations): never converted
  int64_t work;                         // elements of the computing type
  double flops;                         // of one matrix
  fy_kernel_ctx *ctx;                   // for threads within one matrix; NULL: they have their own
};

// Runs |job| over its batch, on threads when that pays.
FY_MUST_CHECK fy_code fy_la_run(fy_kernel_ctx *ctx, fy_la_job *job, fy_error *err);
// Checks input |i| to be at least a matrix and fills job->m and n from input 0, batch, in_count.
FY_MUST_CHECK fy_code fy_la_inputs(fy_kernel_ctx *ctx, fy_la_job *job, int num_in, fy_error *err);
FY_MUST_CHECK fy_code fy_la_square(const fy_la_job *job, fy_error *err);
// Makes output |i| with the batch dims of input 0 followed by |rank| dims.
FY_MUST_CHECK fy_code fy_la_output(fy_kernel_ctx *ctx, fy_la_job *job, int i, int32_t rank,
                                   const int64_t *dims, fy_error *err);
// Output |i| when vectors are not wanted: a scalar 0. (TensorFlow infers [0] and gives a scalar.)
FY_MUST_CHECK fy_code fy_la_no_vectors(fy_kernel_ctx *ctx, int i, fy_error *err);

// --- shape functions ---
FY_MUST_CHECK fy_code fy_la_shape_square(fy_shape_ctx *ctx, fy_pshape in, fy_pshape *out,
                                         fy_error *err);
FY_MUST_CHECK fy_code fy_la_shape_tail(fy_shape_ctx *ctx, int i, fy_pshape batch_of, int32_t rank,
                                       const int64_t *dims, fy_error *err);

// ---------------------------------------------------------------- scalars by suffix
typedef float la_r_f32, la_r_c64;
typedef double la_r_f64, la_r_c128;
#define LA_EPS_f32  FLT_EPSILON
#define LA_EPS_c64  FLT_EPSILON
#define LA_EPS_f64  DBL_EPSILON
#define LA_EPS_c128 DBL_EPSILON
#define LA_MIN_f32  FLT_MIN
#define LA_MIN_c64  FLT_MIN
#define LA_MIN_f64  DBL_MIN
#define LA_MIN_c128 DBL_MIN

#define LA_REAL_SCALAR(S, fabs_, sqrt_, log_, hypot_)         \
  static inline la_r_##S la_real_##S(fy_a_##S x) {            \
    return x;                                                 \
  }                                                           \
  static inline la_r_##S la_imag_##S(fy_a_##S x) {            \
    (void)x;                                                  \
    return 0;                                                 \
  }                                                           \
  static inline fy_a_##S la_conj_##S(fy_a_##S x) {            \
    return x;                                                 \
  }                                                           \
  static inline la_r_##S la_abs_##S(fy_a_##S x) {             \
    return fabs_(x);                                          \
  }                                                           \
  static inline la_r_##S la_abs2_##S(fy_a_##S x) {            \
    return x * x;                                             \
  }                                                           \
  static inline fy_a_##S la_mul_##S(fy_a_##S x, fy_a_##S y) { \
    return x * y;                                             \
  }                                                           \
  LA_PARTS(S, sqrt_, log_, hypot_, fabs_)
#define LA_COMPLEX_SCALAR(S, creal_, cimag_, cabs_, conj_, sqrt_, log_, hypot_, fabs_) \
  static inline la_r_##S la_real_##S(fy_a_##S x) {                                     \
    return creal_(x);                                                                  \
  }                                                                                    \
  static inline la_r_##S la_imag_##S(fy_a_##S x) {                                     \
    return cimag_(x);                                                                  \
  }                                                                                    \
  static inline fy_a_##S la_conj_##S(fy_a_##S x) {                                     \
    return conj_(x);                                                                   \
  }                                                                                    \
  static inline la_r_##S la_abs_##S(fy_a_##S x) {                                      \
    return cabs_(x);                                                                   \
  }                                                                                    \
  static inline la_r_##S la_abs2_##S(fy_a_##S x) {                                     \
    return creal_(x) * creal_(x) + cimag_(x) * cimag_(x);                              \
  }                                                                                    \
  static inline fy_a_##S la_mul_##S(fy_a_##S x, fy_a_##S y) {                          \
    return fy_cmul_##S(x, y);                                                          \
  }                                                                                    \
  static inline la_r_##S la_norm1_##S(fy_a_##S x) {                                    \
    return fabs_(creal_(x)) + fabs_(cimag_(x));                                        \
  }                                                                                    \
  LA_PARTS(S, sqrt_, log_, hypot_, fabs_)
#define LA_PARTS(S, sqrt_, log_, hypot_, fabs_)                  \
  static inline la_r_##S la_rsqrt_##S(la_r_##S x) {              \
    return sqrt_(x);                                             \
  }                                                              \
  static inline la_r_##S la_rlog_##S(la_r_##S x) {               \
    return log_(x);                                              \
  }                                                              \
  static inline la_r_##S la_rhypot_##S(la_r_##S x, la_r_##S y) { \
    return hypot_(x, y);                                         \
  }                                                              \
  static inline la_r_##S la_rabs_##S(la_r_##S x) {               \
    return fabs_(x);                                             \
  }                                                              \
  static inline la_r_##S la_rmax_##S(la_r_##S x, la_r_##S y) {   \
    return x < y ? y : x;                                        \
  }
LA_REAL_SCALAR(f32, fabsf, sqrtf, logf, hypotf)
LA_REAL_SCALAR(f64, fabs, sqrt, log, hypot)
LA_COMPLEX_SCALAR(c64, crealf, cimagf, cabsf, conjf, sqrtf, logf, hypotf, fabsf)
LA_COMPLEX_SCALAR(c128, creal, cimag, cabs, conj, sqrt, log, hypot, fabs)

// A number's size, to compare with others: as cabs(), without a call where double holds the squares.
#define la_size_f32(x)  la_abs_f32(x)
#define la_size_f64(x)  la_abs_f64(x)
#define la_size_c128(x) la_abs_c128(x)
static inline float la_size_c64(float _Complex x) {
  const double re = (double)crealf(x), im = (double)cimagf(x);
  return (float)sqrt(re * re + im * im);
}

#define LA_JOIN_(a, b) a##_##b
#define LA_JOIN(a, b)  LA_JOIN_(a, b)
#define LA(name)       LA_JOIN(name, S)
#define T              LA(fy_a)
#define R              LA(la_r)
#define EPS            LA(LA_EPS)
#define TINY           LA(LA_MIN)  // the smallest normal number
#define CONJ(x)        LA(la_conj)(x)
#define REAL(x)        LA(la_real)(x)
#define IMAG(x)        LA(la_imag)(x)
#define ABS(x)         LA(la_abs)(x)
#define ABS2(x)        LA(la_abs2)(x)
#define NORM1(x)       LA(la_norm1)(x)
#define MUL(x, y)      LA(la_mul)(x, y)
#define RSQRT(x)       LA(la_rsqrt)(x)  // of a real number, as the next four
#define RLOG(x)        LA(la_rlog)(x)
#define RHYPOT(x, y)   LA(la_rhypot)(x, y)
#define RABS(x)        LA(la_rabs)(x)
#define RMAX(x, y)     LA(la_rmax)(x, y)

// c[j] -= sum over p < k of f[p * step] b[p * ldb + j], j < n, in the order of p; f's conjugates if
// |turn|. The loop that all of this spends its time in; |c| overlaps no row of |b|.
#define LA_TAKE_ROWS(E, S, _)                                                       \
  void fy_la_take_rows_##S(fy_a_##S *c, const fy_a_##S *f, int64_t step, bool turn, \
                           const fy_a_##S *b, int64_t ldb, int64_t k, int64_t n);
FY_FULL_REAL_TYPES(LA_TAKE_ROWS, _)
FY_COMPLEX_TYPES(LA_TAKE_ROWS, _)
#define TAKE_ROWS LA(fy_la_take_rows)

// Rotations of rows x and y: x = c x - s y, y = s x + c y, gathered and then applied to strips of the
// columns, which stay in near memory, on all threads if there is a |ctx|. In double, which holds floats.
typedef struct fy_la_turn {
  double c, s;
  int32_t x, y;
} fy_la_turn;
typedef struct fy_la_turns {
  void *rows;     // NULL: they are not wanted
  int64_t width;  // real numbers of a row
  bool wide;      // of doubles
  int64_t count, room;
  fy_la_turn *list;
  fy_kernel_ctx *ctx;
} fy_la_turns;
#define FY_LA_TURNS(n) (16 * (n))                    // the room for rows of n
static inline int64_t fy_la_turns_work(int64_t n) {  // elements of any type that hold them
  return FY_LA_TURNS(n) * (int64_t)(sizeof(fy_la_turn) / sizeof(float)) + 2;
}
// |work| need not be aligned.
fy_la_turns fy_la_turns_of(void *rows, int64_t n, size_t element, bool wide, void *work,
                           fy_kernel_ctx *ctx);
void fy_la_turn_add(fy_la_turns *t, int64_t x, int64_t y, double c, double s);
void fy_la_turn_all(fy_la_turns *t);

// Four entries of a table by dtype, and half by float.
#define FY_LA_TABLE(name)                                                      \
  {                                                                            \
    [FY_HALF] = name##_f32, [FY_FLOAT] = name##_f32, [FY_DOUBLE] = name##_f64, \
    [FY_COMPLEX64] = name##_c64, [FY_COMPLEX128] = name##_c128                 \
  }

#endif
