// SPDX-License-Identifier: Apache-2.0
// fft_plan.h: discrete Fourier transforms of any length in n log n steps, in float and double.
//
// A length whose prime factors are small is done by passes of those factors (Stockham: the order
// comes out right without a permutation). Any other length becomes a cyclic convolution of a length
// that is a power of two (Bluestein). A plan holds the roots of unity and is read-only once made.

#ifndef FY_OPS_FFT_PLAN_H
#define FY_OPS_FFT_PLAN_H

#include <stdbool.h>
#include <stdint.h>

#include "base/status.h"

#define FY_FFT_FACTORS 64

// A number of each of several lines, which are transformed together, one in each lane.
typedef float fy_fft_lanes_f32 __attribute__((vector_size(16)));
typedef double fy_fft_lanes_f64 __attribute__((vector_size(16)));
#define FY_FFT_LINES_f32 4
#define FY_FFT_LINES_f64 2
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
  void *split;  // of a split plan: the lanes' roots for each of the passes' results
  void *chirp;  // Bluestein: [n], and the transform of its mirror: [length]. NULL = not needed
  void *filter;
} fy_fft_plan;

// Release with fy_fft_plan_free, also after a failure.
FY_MUST_CHECK fy_code fy_fft_plan_f32(fy_fft_plan *plan, int64_t n, fy_error *err);
FY_MUST_CHECK fy_code fy_fft_plan_f64(fy_fft_plan *plan, int64_t n, fy_error *err);
// For single lines of |n| numbers, a multiple of the number of lanes: every lane takes each so-manieth
// number of the line (the plan is one of n / lanes), fy_fft_join_ puts the results together.
FY_MUST_CHECK fy_code fy_fft_split_plan_f32(fy_fft_plan *plan, int64_t n, fy_error *err);
FY_MUST_CHECK fy_code fy_fft_split_plan_f64(fy_fft_plan *plan, int64_t n, fy_error *err);
void fy_fft_plan_free(fy_fft_plan *plan);
// Numbers of work space that a transform needs.
static inline int64_t fy_fft_work(const fy_fft_plan *plan) {
  return plan->chirp ? 2 * plan->length : plan->length;
}
// The forward transforms of x [n] in place, not scaled.
void fy_fft_run_f32(const fy_fft_plan *plan, fy_fft_f32 *x, fy_fft_f32 *work);
void fy_fft_run_f64(const fy_fft_plan *plan, fy_fft_f64 *x, fy_fft_f64 *work);
// The transform of a line from |x|, which fy_fft_run_ made: out[i * step], times |scale|, the
// imaginary part times |sign| too.
void fy_fft_join_f32(const fy_fft_plan *plan, const fy_fft_f32 *x, fy_fft_root_f32 *out,
                     int64_t step, float scale, float sign);
void fy_fft_join_f64(const fy_fft_plan *plan, const fy_fft_f64 *x, fy_fft_root_f64 *out,
                     int64_t step, double scale, double sign);

#endif
