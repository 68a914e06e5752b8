// SPDX-License-Identifier: Apache-2.0
// gemm.h: products of matrices and convolutions on the CPU by one small kernel.
//
// C[m, n] = sum over taps t and depth d of  A_t[m][d] * B[t][d][n], where each tap has its own row
// of A for every m: one tap is a matrix product; the taps of a window, each row a pixel (or zeros
// outside of the image), are a convolution, with no copy of the image. B is packed into panels of
// columns once and kept when it does not change. The kernel holds a block of C in registers.
// Measured (bench/README.md): as fast as oneDNN's and OpenBLAS' sgemm, and it shares our
// threads, starts in no time and keeps activations in NHWC, so we use no library here.

#ifndef FY_DEVICES_CPU_GEMM_H
#define FY_DEVICES_CPU_GEMM_H

#include "ops/conv.h"
#include "ops/op.h"

#define FY_GEMM_ROWS    12     // rows of C that any kernel holds, at most …
#define FY_GEMM_HELD    6      // more rows than this are found by their distance where it is even
#define FY_GEMM_FEW     8      // … of a panel and a half at a time
#define FY_GEMM_PANEL   128    // bytes of a row of a panel, at most
#define FY_GEMM_TERM_NS 0.025  // on one thread

typedef enum fy_gemm_type { FY_GEMM_F32, FY_GEMM_F64, FY_GEMM_TYPES } fy_gemm_type;
static inline size_t fy_gemm_size(fy_gemm_type type) {  // of an element
  return type == FY_GEMM_F32 ? sizeof(float) : sizeof(double);
}

// One call of the kernel: blocks of at most |rows| rows (fy_gemm_kernels), one below the other, and one panel of
// columns.
typedef struct fy_gemm_block {
  int64_t count;            // blocks
  int64_t taps, depth;      // of this piece of the sum
  const void *const *rows;  // [count][taps_all][number of rows of a block], from the first tap on
  int64_t taps_all;
  bool even;         // all rows of a block lie evenly apart
  const char *next;  // what will be read next: |lines| cache lines of it are called for per block
  int64_t lines;
  int64_t offset, step;  // first element in a row, distance to the next (elements)
  const void *b;         // [taps * depth] rows of a panel
  int64_t ldb;
  int64_t second;  // elements to the next panel of B, whose first half comes with this one
  void *packed;    // of the kernels that pack B: where to
  void *c;
  int64_t ldc;
  bool first;        // C starts from zero, else it is added to
  bool last;         // what follows is applied
  const void *bias;  // one panel of columns; NULL: none
  const void *add;   // like c, NULL: none
  int64_t ldadd;
  int part;  // of kernels with |cut|: columns of the last vector of a row; 0: all
  bool clamps;
  double lo, hi;  // the result is clamped; NaN stays
} fy_gemm_block;

typedef void (*fy_gemm_fn)(const fy_gemm_block *block);
// A few rows times a wide matrix as it is: |n| columns of b (row length ldb).
typedef void (*fy_gemm_row_fn)(const void *a, const void *b, int64_t ldb, int64_t k, int64_t n,
                               void *c);
// The same for |n| a multiple of four panels; with |adds| c is added to.
typedef void (*fy_gemm_far_fn)(const void *a, const void *b, int64_t ldb, int64_t k, int64_t n,
                               bool adds, void *c);

// Depthwise, a row of the output with at least four pixels and two vectors of channels, or seven and
// one.
#define FY_DEPTH_HEIGHT 16
typedef struct fy_depth_row {
  const float *const *lines;    // of the image that the row sees, each from its first pixel on …
  const float *const *filters;  // … and the weights of that line
  int64_t height;               // lines, at most FY_DEPTH_HEIGHT
  int64_t width, before;      // pixels of a line; those that the first window hangs over its start
  int64_t channels, count;    // of a pixel; those that are wanted
  const float *zeros, *bias;  // bias NULL: none
  bool clamps;
  float lo, hi;
  float *out;
  int64_t n;  // pixels of the row
} fy_depth_row;
typedef void (*fy_line_fn)(const fy_depth_row *row);

typedef struct fy_gemm_kernels {
  const char *name;
  int columns[FY_GEMM_TYPES];  // of a panel
  int rows[FY_GEMM_TYPES];     // of a block, at most …
  int few;                     // … of a panel and a half
  int cut
      [FY_GEMM_TYPES];  // columns of a vector that may be cut (fy_gemm_block.part); 0: whole vectors only
  int lanes;            // floats of a vector, in depthwise convolutions
  int piece;            // terms of a sum at a time: a panel's stay in L1
  fy_gemm_fn block[FY_GEMM_TYPES][FY_GEMM_ROWS + 1];  // by rows
  fy_gemm_fn half[FY_GEMM_TYPES][FY_GEMM_ROWS + 1];   // only the first half of the columns
  fy_gemm_fn wide[FY_GEMM_FEW + 1];   // floats: a panel and the first half of the next
  fy_gemm_fn packing[FY_GEMM_TYPES];  // |rows| rows and one tap; B is packed on the way
  // |rows| rows of floats, each a run of |n|, woven into one; how many terms of it, the first ones. May be NULL.
  int64_t (*weave)(const float *from, int64_t row_step, int64_t n, float *to);
  fy_gemm_row_fn row[FY_GEMM_TYPES];
  fy_gemm_far_fn row_far[FY_GEMM_TYPES];
  // Depthwise: out[x][c] for |n| pixels of a row; |rows| as above, one pixel after the other.
  void (*depthwise)(const float *const *rows, const float *filter, int64_t taps, int64_t channels,
                    const float *bias, float lo, float hi, float *out, int64_t n);
  fy_line_fn line[2][2];  // windows 3 and 5 wide; stride 1 and 2
  // Parts of winograd.c: see gemm_winograd.inc.
  void (*winograd_weights)(const float *in, int64_t tap, int64_t channels, float *out,
                           int64_t step);
  void (*winograd_in)(const float *const rows[16], int64_t channels, float *out, int64_t step);
  bool (*winograd_out)(const float *in, int64_t step, const float *bias, const float *const add[4],
                       float lo, float hi, float *const out[4]);
} fy_gemm_kernels;

const fy_gemm_kernels *fy_gemm_best(void);
// The best of those whose vectors |channels| floats fill.
const fy_gemm_kernels *fy_gemm_for(int64_t channels);
extern const fy_gemm_kernels fy_gemm_plain, fy_gemm_avx2, fy_gemm_avx512_wide;
// |to| is fy_gemm_avx2's, and what is faster with vectors of 512 bits is replaced.
void fy_gemm_avx512(fy_gemm_kernels *to);
// Blocks of so many rows, by rows.
#define FY_GEMM_SHORT(width, S)                                              \
  NULL, block_##width##_1_##S, block_##width##_2_##S, block_##width##_3_##S, \
      block_##width##_4_##S, block_##width##_5_##S, block_##width##_6_##S
#define FY_GEMM_TALL(width, S)                                                                 \
  block_##width##_7_##S, block_##width##_8_##S, block_##width##_9_##S, block_##width##_10_##S, \
      block_##width##_11_##S, block_##width##_12_##S
#define FY_GEMM_PANEL_AND_HALF \
  NULL, block_wide_1_f32, block_wide_2_f32, block_wide_3_f32, block_wide_4_f32
// Kernels whose blocks have up to six rows.
#define FY_GEMM_SIX                                                                            \
  .rows = {6, 6}, .few = 4, .block = {{FY_GEMM_SHORT(full, f32)}, {FY_GEMM_SHORT(full, f64)}}, \
  .half = {{FY_GEMM_SHORT(half, f32)}, {FY_GEMM_SHORT(half, f64)}},                            \
  .wide = {FY_GEMM_PANEL_AND_HALF}, .packing = {block_packing_6_f32, block_packing_6_f64}

// What gemm_kernel.inc, gemm_depthwise.inc and gemm_winograd.inc made for floats and doubles.
#define FY_GEMM_PARTS                                                                           \
  .row = {row_f32, row_f64}, .row_far = {row_far_f32, row_far_f64}, .depthwise = depthwise_f32, \
  .line = {{line_3_1, line_3_2}, {line_5_1, line_5_2}}, .winograd_weights = winograd_weights,   \
  .winograd_in = winograd_in, .winograd_out = winograd_out

// ---------------------------------------------------------------- packed B
// Bytes of |groups| x [taps * depth, n] packed.
bool fy_gemm_packed_bytes(fy_gemm_type type, int64_t k, int64_t n, int64_t groups, size_t *out);
// b(i, j) = b[i * step_k + j * step_n]; |scale| (may be NULL) multiplies columns.
void fy_gemm_pack(fy_kernel_ctx *ctx, fy_gemm_type type, const void *b, int64_t k, int64_t n,
                  int64_t step_k, int64_t step_n, const void *scale, void *packed);

// ---------------------------------------------------------------- a whole product
typedef struct fy_gemm_job {
  fy_gemm_type type;
  int64_t m, n, depth, taps;
  // A: with |conv| the rows are the pixels of |a| seen through its window (channels [first,
  // first + depth) of c->in_depth), else row i starts at a + i * row_step, elements k_step apart.
  const fy_conv *conv;
  bool backward;         // conv: m counts input pixels and a is the gradient of the output
  int64_t first, pixel;  // first channel; elements per pixel
  const void *a;
  const void *zeros;  // conv: [depth] zeros, seen outside of the image
  int64_t row_step, k_step;
  const void *b;  // packed, or with ldb the matrix itself
  int64_t ldb;    // 0: packed
  // Not NULL: |b| is room that is filled on the way as fy_gemm_pack would.
  const void *raw, *raw_scale;
  int64_t raw_step_k, raw_step_n;
  void *c;
  int64_t ldc;
  bool adds;          // the product is added to c
  const void *bias;   // [n] rounded up to whole panels; NULL: none
  int64_t bias_step;  // the caller's own: elements from one group's bias to the next
  const void *add;    // [m, n] rows of ldc, other memory than c; NULL: none
  double lo, hi;
  // Applied to each finished row of floats; NULL: none.
  void (*finish)(const void *arg, float *row, int64_t n);
  const void *finish_arg;
} fy_gemm_job;

// Splits over the threads of |ctx| where that pays; NULL: runs here.
void fy_gemm_run(fy_kernel_ctx *ctx, const fy_gemm_job *job);
// True if |job| can be run: windows of absurd size are left to the reference.
bool fy_gemm_can(const fy_gemm_job *job);

#endif
