// SPDX-License-Identifier: Apache-2.0
// fft_plan.h: discrete Fourier transforms of any length in n log n steps, in float and double.
//
// A length whose prime factors are small is done by passes of those factors (Stockham: the order
// comes out right without a permutation). Any other length becomes a cyclic convolution of a length
// with small factors (Bluestein). Several lines go side by side, one in each lane of a vector.
// A line that is alone or long is a matrix (fy_fft_matrix): its columns, and then its rows, are the
// lines that go side by side, on all threads and in near memory. Both are read-only once made.

#ifndef FY_OPS_FFT_PLAN_H
#define FY_OPS_FFT_PLAN_H

#include <stdbool.h>
#include <stdint.h>

#include "base/status.h"

#define FY_FFT_FACTORS 64

// A number of each of several lines, which are transformed together, one in each lane.
typedef float fy_fft_lanes_f32 __attribute__((vector_size(32), aligned(16)));
typedef double fy_fft_lanes_f64 __attribute__((vector_size(32), aligned(16)));
#define FY_FFT_LINES_f32 8
#define FY_FFT_LINES_f64 4
typedef struct fy_fft_f32 {
  fy_fft_lanes_f32 re, im;
} fy_fft_f32;
typedef struct fy_fft_f64 {
  fy_fft_lanes_f64 re, im;
} fy_fft_f64;
typedef struct fy_fft_root_f32 {
  float re, im;
} fy_fft_root_f32;
typedef struct fy_fft_root_f64 {
  double re, im;
} fy_fft_root_f64;

typedef struct fy_fft_plan {
  int64_t n;
  int64_t length;  // of the passes: n, or the convolution's
  int factors;
  int64_t factor[FY_FFT_FACTORS];
  void
      *roots;  // for each pass: [factor - 1][length / (done * factor)], then the factor's own roots
  void *chirp;  // Bluestein: [n], and the transform of its mirror: [length]. NULL = not needed
  void *filter;
} fy_fft_plan;

// A line of rows * cols numbers. Number k of column c is turned by the root k * c of the line's
// length, which is made from near * far and, for the next columns, the lanes of |beside|.
typedef struct fy_fft_matrix {
  int64_t rows, cols;
  fy_fft_plan columns, lines;  // of |rows| and of |cols| numbers
  int64_t split;               // root k is near[k % split] * far[k / split]
  void *near, *far;            // [split], [length / split + 1]
  void *beside;                // [rows] lanes: root k * lane
} fy_fft_matrix;

// Release with fy_fft_plan_free, also after a failure.
FY_MUST_CHECK fy_code fy_fft_plan_f32(fy_fft_plan *plan, int64_t n, fy_error *err);
FY_MUST_CHECK fy_code fy_fft_plan_f64(fy_fft_plan *plan, int64_t n, fy_error *err);
void fy_fft_plan_free(fy_fft_plan *plan);
// Numbers of work space that a transform needs.
static inline int64_t fy_fft_work(const fy_fft_plan *plan) {
  return plan->chirp ? 2 * plan->length : plan->length;
}
// The forward transforms of x [n] in place, not scaled.
void fy_fft_run_f32(const fy_fft_plan *plan, fy_fft_f32 *x, fy_fft_f32 *work);
void fy_fft_run_f64(const fy_fft_plan *plan, fy_fft_f64 *x, fy_fft_f64 *work);
// How a line of |n| numbers becomes a matrix of full lanes; false if it does not.
bool fy_fft_shape(int64_t n, int64_t lanes, int64_t *rows, int64_t *cols);
// Release with fy_fft_matrix_free, also after a failure.
FY_MUST_CHECK fy_code fy_fft_matrix_f32(fy_fft_matrix *m, int64_t n, fy_error *err);
FY_MUST_CHECK fy_code fy_fft_matrix_f64(fy_fft_matrix *m, int64_t n, fy_error *err);
void fy_fft_matrix_free(fy_fft_matrix *m);
// The first |count| of the |n| roots of unity, clockwise; the caller frees them (fy_aligned_free). NULL: no memory.
void *fy_fft_roots_f32(int64_t n, int64_t count);
void *fy_fft_roots_f64(int64_t n, int64_t count);
// Turns the transforms x [rows] of the columns from |col| on.
void fy_fft_turn_f32(const fy_fft_matrix *m, int64_t col, fy_fft_f32 *x);
void fy_fft_turn_f64(const fy_fft_matrix *m, int64_t col, fy_fft_f64 *x);

#endif
