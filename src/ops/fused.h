// SPDX-License-Identifier: Apache-2.0
// fused.h: many element-wise operations as one program that runs block by block (op _FerryFused,
// made by optimize/fuse.c, run by fused.c; devices may translate it to their own language).
//
// A program is a list of operations on values. Values are numbered: inputs first, then constants,
// then the result of each operation. It travels as the string attribute "program":
//   uint32 inputs, constants, operations, outputs
//   uint32 kind[inputs]             (fy_fused_kind)
//   uint64 constant[constants]      (the element's bytes, low end first)
//   uint32 op, a, b [operations]    (fy_ew; b is FY_FUSED_NONE where the operation has one operand)
//   uint32 output[outputs]          (values that operations made)
// in the machine's byte order: it never leaves the process. LeakyRelu's alpha is its operand b.

#ifndef FY_OPS_FUSED_H
#define FY_OPS_FUSED_H

#include "ops/op.h"

#define FY_FUSED_NONE UINT32_MAX

typedef enum fy_fused_kind {
  FY_FUSED_FULL = 0,    // as many elements as the outputs
  FY_FUSED_SCALAR = 1,  // one element
  FY_FUSED_ROW = 2,     // repeats: its shape is the tail of the outputs' shape
} fy_fused_kind;

typedef struct fy_fused_op {
  uint32_t op;  // fy_ew
  uint32_t a, b;
} fy_fused_op;

typedef struct fy_fused_program {  // arrays belong to whoever made it
  uint32_t num_inputs, num_consts, num_ops, num_outputs;
  uint32_t *kinds;
  uint64_t *consts;
  fy_fused_op *ops;
  uint32_t *outputs;
} fy_fused_program;

bool fy_ew_is_binary(fy_ew op);  // LeakyRelu counts: its second operand is a constant
// Does the fused kernel know |op| for |dtype|?
bool fy_fused_knows(fy_ew op, fy_dtype dtype);
double fy_ew_ns(fy_ew op);  // rough cost of one element

// Bytes of a program as an attribute; memory in |arena|.
FY_MUST_CHECK fy_code fy_fused_encode(const fy_fused_program *p, fy_arena *arena, fy_view *out,
                                      fy_error *err);
// The opposite; trusts nothing. Arrays in |arena|. INVALID_ARGUMENT if damaged.
FY_MUST_CHECK fy_code fy_fused_decode(fy_view bytes, fy_dtype dtype, fy_arena *arena,
                                      fy_fused_program *out, fy_error *err);

// ---------------------------------------------------------------- a program as part of another kernel
// Ready to run over pieces of memory: inputs of kind FULL are arrays, of kind SCALAR one element.
typedef struct fy_fused_code fy_fused_code;
FY_MUST_CHECK fy_code fy_fused_compile(const fy_fused_program *p, fy_dtype dtype,
                                       fy_fused_code **out, fy_error *err);
void fy_fused_code_free(fy_fused_code *code);          // NULL is fine
size_t fy_fused_code_work(const fy_fused_code *code);  // bytes that run() needs, 64-byte aligned
double fy_fused_code_ns(const fy_fused_code *code);    // of one element
// Outputs may be the memory of inputs. From any number of threads, each with its own |work|.
void fy_fused_code_run(const fy_fused_code *code, const void *const *in, void *const *out,
                       int64_t n, void *work);

// ---------------------------------------------------------------- lanes: one build per machine
// Kernels over SIMD lanes. The same source (lanes_*.inc) is compiled for every instruction set;
// devices/cpu/lanes.c chooses at run time. Ops run alone and fused use the same functions, so that
// fusing changes no bit.
// Short operations are joined, up to three steps in one loop: with a slot, with nothing or with a
// constant as their second operand. The middle one of three is a SHIFT (x + k) or a MAX. SIGN drops or
// turns the sign and leaves all else alone: a product with -1 would make 0 of a denormal number.
enum {
  FY_STEP_ADD,
  FY_STEP_SUB,
  FY_STEP_MUL,
  FY_STEP_SIGN,
  FY_STEP_SQUARE,
  FY_STEP_SCALE,  // x * k
  FY_STEP_MIN,
  FY_STEP_SHIFT,
  FY_STEP_MAX,
  FY_STEP_NONE,
  FY_STEPS_MOST = 3
};
#define FY_STEP_HAS_SLOT(kind)  ((kind) <= FY_STEP_MUL)
#define FY_STEP_HAS_CONST(kind) ((kind) >= FY_STEP_SCALE && (kind) <= FY_STEP_MAX)
#define FY_STEP_IS_MIDDLE(kind) ((kind) >= FY_STEP_SHIFT)
typedef struct fy_fused_step {
  uint32_t slot;
  float k;
  int32_t keep, flip;  // SIGN: the bits that stay, and then those that turn
} fy_fused_step;

typedef struct fy_fused_instr {
  uint16_t code;
  uint16_t unused;
  uint32_t out;  // slot
  uint32_t a;    // slot
  uint32_t b;    // slot or constant
  fy_fused_step steps[FY_STEPS_MOST];
} fy_fused_instr;

typedef struct fy_fused_regs {  // what the code works on
  void **slots;                 // inputs, outputs, temporaries: where this tile's elements are
  const void *consts;           // elements
  int64_t n;                    // elements, whole vectors
} fy_fused_regs;

typedef void (*fy_fused_fn)(const fy_fused_instr *ip, const fy_fused_regs *regs);

// Codes: an fy_ew with slots as operands, plus these.
enum {
  FY_FUSED_BY_CONST = 64,   // the second operand is a constant
  FY_FUSED_OF_CONST = 128,  // b, a constant, is the first operand and a the second
  FY_FUSED_COPY = 60,
  FY_FUSED_SET = FY_FUSED_COPY + FY_FUSED_BY_CONST,
  FY_FUSED_STEPS = 192,
  FY_FUSED_CODES = FY_FUSED_STEPS + FY_STEP_NONE * 3 * FY_STEP_NONE,
};
#define FY_FUSED_STEPS_OF(first, middle, last) \
  (FY_FUSED_STEPS + ((first)*3 + (middle)-FY_STEP_SHIFT) * FY_STEP_NONE + (last))

typedef struct fy_fused_list {
  fy_fused_instr *instrs;
  uint32_t count, num_temps;  // temporaries are the slots behind inputs and outputs
} fy_fused_list;
// The code of |p| for the lanes of |table|; |type| is FY_LANES_*. Memory in |arena|. fused_code.c
FY_MUST_CHECK fy_code fy_fused_make_code(const fy_fused_program *p, int type,
                                         const fy_fused_fn *table, fy_arena *arena,
                                         fy_fused_list *out, fy_error *err);

enum { FY_LANES_F32, FY_LANES_F64, FY_LANES_I32, FY_LANES_I64, FY_LANES_TYPES };

// Functions that are never fused.
enum {
  FY_FN_TAN = FY_EW_COUNT,
  FY_FN_ASIN,
  FY_FN_ACOS,
  FY_FN_ATAN,
  FY_FN_SINH,
  FY_FN_COSH,
  FY_FN_ASINH,
  FY_FN_ACOSH,
  FY_FN_ATANH,
  FY_FN_COUNT
};

// Loops of 16-bit floats.
enum {
  FY_16_ADD,
  FY_16_SUB,
  FY_16_MUL,
  FY_16_DIV,
  FY_16_MAX,
  FY_16_MIN,
  FY_16_EQUAL,
  FY_16_NOT_EQUAL,
  FY_16_LESS,
  FY_16_LESS_EQUAL,
  FY_16_GREATER,
  FY_16_GREATER_EQUAL,
  FY_16_SQDIFF,
  FY_16_FLOOR_DIV,
  FY_16_DIV_NO_NAN,
  FY_16_MUL_NO_NAN,
  FY_16_XDIVY,
  FY_16_BINARY
};
enum {
  FY_16_NEG,
  FY_16_SQUARE,
  FY_16_SQRT,
  FY_16_RECIP,
  FY_16_RSQRT,
  FY_16_RELU,
  FY_16_RELU6,
  FY_16_SIGN,
  FY_16_FLOOR,
  FY_16_CEIL,
  FY_16_RINT,
  FY_16_SOFTSIGN,
  FY_16_UNARY
};
enum { FY_LANES_HALF, FY_LANES_BFLOAT16 };
typedef struct fy_lanes_16 {
  void (*binary[FY_16_BINARY])(const void *a, int64_t step_a, const void *b, int64_t step_b,
                               void *out, int64_t n, int *bad);  // steps are 0 or 1
  void (*unary[FY_16_UNARY])(const void *in, void *out, int64_t n, const void *param);
} fy_lanes_16;

#define FY_SHORT_ROW 512
typedef enum fy_lanes_kind {
  FY_LANES_SUM,
  FY_LANES_PROD,
  FY_LANES_MAX,
  FY_LANES_MIN,
  FY_LANES_KINDS
} fy_lanes_kind;

// What is done to rows of less than FY_NARROW floats. r and mean are of a row; in the order of the ops.
#define FY_NARROW 64
typedef enum fy_norm_form {
  FY_NORM_AFFINE,   // x * (r * gamma) + (beta - mean * (r * gamma)), r = 1 / root
  FY_NORM_SCALED,   // (x - mean) * (r * gamma) + beta
  FY_NORM_TIMES,    // (x - mean) * r [* gamma] [+ beta]
  FY_NORM_OVER,     // (x - mean) / root [* gamma] [+ beta]
  FY_NORM_L2,       // x / root(max(sum of squares, epsilon))
  FY_NORM_SOFTMAX,  // exp(x - max) / sum
  FY_NORM_SHARES,   // exp(x - max) * (1 / sum)
  FY_NORM_LOG,      // (x - max) - log(sum of exp(x - max))
  FY_NORM_FORMS
} fy_norm_form;
typedef struct fy_narrow {
  fy_norm_form form;
  int64_t n;      // of a row
  bool in_order;  // at most FY_REDUCE_SHORT are added one after the other; else as longer rows are
  bool past_cache;  // the result is large, and another tensor
  float epsilon;
  const float *gamma, *beta;  // [n], or NULL
} fy_narrow;

// Whether the |n| floats of |out|, another tensor than |in|, would not stay in a cache with them.
static inline bool fy_past_cache(const void *out, const void *in, int64_t n) {
  return out != in && n >= 4 << 20;
}

// A row of the gradient of a depthwise convolution with windows of 3 x 3, and the lines that it sees.
typedef struct fy_tap_square {
  const float *lines[3], *grad;
  int64_t width, before, stride, dilation;  // pixels of a line; along it
  int64_t channels, pixels, first, last;    // [first, last): those that see no end of the line
  float *sums;                              // [9, channels]
} fy_tap_square;
// Windows over pixels, |next| elements apart, and how many elements lie between two pixels of one.
typedef struct fy_pool_window {
  int64_t depth, height, width;
  int64_t plane_step, row_step, pixel_step;
  int64_t windows, next;
  // What the row of windows below will see and this one does not comes meanwhile: rows, |ahead| elements after
  // the first, and so many pixels of each. No rows: everything is near.
  int64_t ahead, new_rows, new_pixels;
  bool past;  // the results are whole lines of floats that may go past the cache
} fy_pool_window;
typedef enum fy_pool_type { FY_POOL_FLOAT, FY_POOL_HALF, FY_POOL_BFLOAT16 } fy_pool_type;
typedef enum fy_pool_kind {
  FY_POOL_AVERAGE,       // sums of 16-bit floats are rounded at every step
  FY_POOL_AVERAGE_LATE,  // when they were divided
  FY_POOL_MAX,           // a NaN loses against any number
} fy_pool_kind;

// What batch normalisation does to rows of |n| floats: (x - shift) * scale + offset, or with a gradient g
// scale * (g - offset - (x - shift) * slope).
typedef struct fy_affine_rows {
  const float *shift, *scale, *offset, *slope;
  int64_t n;  // a multiple of 16
  bool past;  // the cache: the rows of the result are whole lines
} fy_affine_rows;

typedef struct fy_lanes {
  const char *name;
  int bytes;                                 // of a vector
  const fy_fused_fn *fused[FY_LANES_TYPES];  // [FY_FUSED_CODES]; NULL where there is no such code
  void (*unary_f32[FY_FN_COUNT])(const float *in, float *out, int64_t n);  // NULL: plain C does
  void (*unary_f64[FY_FN_COUNT])(const double *in, double *out, int64_t n);
  void (*atan2_f32)(const float *y, int64_t step_y, const float *x, int64_t step_x, float *out,
                    int64_t n);
  // The sum of exp(x), x = in - less, which must not exceed 0, added as reduce.c adds up to 2048 floats;
  // out = exp(x), or x. In place is fine. What begins at |next| will be read then and comes meanwhile.
  float (*exp_sum_f32)(const float *in, float less, float *out, int64_t n, const float *next);
  float (*minus_exp_sum_f32)(const float *in, float less, float *out, int64_t n, const float *next);
  // Softmax of rows of more than longest_softmax, but at most FY_SHORT_ROW; |log|: LogSoftmax. In place is fine.
  void (*softmax_f32)(const float *in, float *out, int64_t rows, int64_t n, bool log);
  fy_lanes_16 floats_16[2];
  // c [m, n] = a [m, k] b [k, n]; rows of a are |lda| apart, those of b and c |step|. Complex numbers are pairs.
  void (*gemm_i32)(const int32_t *a, int64_t lda, const int32_t *b, int32_t *c, int64_t m,
                   int64_t k, int64_t n, int64_t step);
  void (*gemm_i64)(const int64_t *a, int64_t lda, const int64_t *b, int64_t *c, int64_t m,
                   int64_t k, int64_t n, int64_t step);
  void (*gemm_c64)(const float *a, int64_t lda, const float *b, float *c, int64_t m, int64_t k,
                   int64_t n, int64_t step);
  void (*gemm_c128)(const double *a, int64_t lda, const double *b, double *c, int64_t m, int64_t k,
                    int64_t n, int64_t step);
  // sums[t][c] += sum over p of in[p * in_step + t * tap_step + c] * grad[p * grad_step + c]
  void (*tap_sums_f32)(const float *in, int64_t in_step, int64_t tap_step, int64_t taps,
                       const float *grad, int64_t grad_step, float *sums, int64_t sum_step,
                       int64_t pixels, int64_t channels);
  void (*square_sums_f32)(const fy_tap_square *s, int64_t begin, int64_t end);  // channels
  // Of |rows| rows of |n|: sums[c] += v, products[c] += v d; d = x - shift[c], v = g, or d where g is NULL.
  void (*channel_sums_f32)(const float *x, const float *g, const float *shift, int64_t rows,
                           int64_t n, double *sums, double *products);
  // The averages (a sum, then divided by |over|) or the maxima of windows of pixels of |n| channels, at least 8.
  // [fy_pool_type][fy_pool_kind]
  void (*pool[3][3])(const fy_pool_window *w, const void *in, int64_t n, float over, void *out);
  // NULL, here and below: the machine has no instructions for them.
  void (*halves_to_floats)(const uint16_t *in, float *out, int64_t n);
  void (*floats_to_halves)(const float *in, uint16_t *out, int64_t n);
  // Short rows, and columns (lanes_rows.inc); [fy_lanes_kind]. Rows are added as reduce.c adds up to 2048
  // floats; columns go on from what |acc| holds, row after row.
  void (*rows_f32[FY_LANES_KINDS])(const float *in, int64_t n, int64_t rows, float *out);
  void (*columns_f32[FY_LANES_KINDS])(const float *in, int64_t step, int64_t rows, int64_t n,
                                      float *acc);
  // The means (for FY_NORM_L2 the caller's zeros) and roots of up to 64 rows of up to 2048 floats. There is room for 64.
  void (*norm_stats_f32)(fy_norm_form form, float epsilon, const float *x, int64_t n, int64_t rows,
                         float *means, float *roots);
  // In place is fine. Norms of rows of less than FY_NARROW; softmax of rows of up to longest_softmax.
  void (*narrow_f32)(const fy_narrow *f, const float *in, float *out, int64_t rows);
  int64_t longest_softmax;
  // Where vectors have 64 bytes: sums[c] += in[0][c] + in[1][c] ... of rows of at least 8, as bias.c adds them.
  void (*column_sums_f32)(const float *in, int64_t rows, int64_t n, double *sums);
  void (*affine_rows_f32)(const fy_affine_rows *f, const float *x, const float *g, float *out,
                          int64_t rows);
  // Of up to 128 rows, a multiple of eight, of up to FY_REDUCE_SHORT floats, which are added one after the other.
  void (*sums_in_order)(const float *x, int64_t n, int64_t rows, float *out);
  // Where the greatest (or least) of at least 8 words is, the first of equals; a NaN never is. [floats,
  // integers]
  void (*arg_rows[2])(const void *in, int64_t n, int64_t rows, bool most, int32_t *out);
  void (*arg_columns[2])(const void *in, int64_t step, int64_t rows, int64_t n, bool most,
                         int32_t *out);
  // out[i] = flags[i] ? yes[i] : no[i], of words. In place is fine.
  void (*pick_words)(const bool *flags, const void *yes, const void *no, void *out, int64_t n);
  // out[r][c] = in[c][r] for at least 16 rows and 64 columns; what lies at |next|, if not NULL, comes meanwhile.
  void (*turn_bytes)(uint8_t *out, int64_t out_step, const uint8_t *in, int64_t in_step,
                     int64_t rows, int64_t cols, const uint8_t *next);
} fy_lanes;

// What is read next comes while something is computed. It need not be there: nothing is read.
static inline void fy_fetch_ahead(const void *from, size_t bytes) {
  for (size_t at = 0; at < bytes; at += 64)
    __builtin_prefetch((const char *)((uintptr_t)from + at), 0, 2);
}

extern const fy_lanes fy_lanes_plain;
const fy_lanes *fy_lanes_best(void);  // devices/cpu/lanes.c

#endif
