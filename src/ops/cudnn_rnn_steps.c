// SPDX-License-Identifier: Apache-2.0
// cudnn_rnn_steps.c: the arithmetic of CudnnRNN and its gradient, for floats and doubles.
//
// The input's part of all gates of all steps is one product; the state's part is one product per step:
//   LSTM  i, f, o = sigmoid, g = tanh of W x + bW + R h + bR;  c = f c + i g;  h = o tanh(c), or P of that
//   GRU   r, z = sigmoid of the same;  n = tanh(W x + bW + r (R h + bR));  h = (1 - z) n + z h
//   else  h = relu or tanh of W x + bW + R h + bR
// A sequence that has ended keeps its state and gives zeros; backwards, it begins at its own last step.

#include "ops/cudnn_rnn.h"

#include <math.h>

#include "ops/typed.h"
#include "ops/vecmath.h"

// What a part leaves for its gradient.
typedef struct saved {
  void *gates;  // [rows, gates_kept * units]: LSTM i f g o c, GRU r z n and R h + bR of n
  void *cells;  // [rows, units]: what is projected; NULL: that is h
} saved;

static int64_t gates_kept(const fy_rnn_stack *s) {
  return s->mode == FY_RNN_LSTM ? 5 : s->mode == FY_RNN_GRU ? 4 : 1;
}

// Where step |step| of sequence |b| is, or -1 after its end.
static int64_t row_of(const fy_rnn_call *c, int dir, int64_t step, int64_t b) {
  const int64_t n = c->lengths ? c->lengths[b] : c->time;
  if (step >= n) return -1;
  return (dir ? n - 1 - step : step) * c->batch + b;
}

static fy_code room_for(const fy_rnn_call *c, int64_t rows, int64_t columns, void **out,
                        fy_error *err) {
  const size_t size = c->type == FY_FLOAT ? sizeof(float) : sizeof(double);
  size_t bytes;
  *out = NULL;
  if (__builtin_mul_overflow((size_t)rows, (size_t)columns, &bytes) ||
      __builtin_mul_overflow(bytes, size, &bytes) || bytes > SIZE_MAX / 2)
    return fy_fail_oom(err, SIZE_MAX);
  FY_TRY(fy_rnn_take(c->room, bytes, out, err));
  if (bytes) memset(*out, 0, bytes);
  return FY_OK;
}

#define STEP_NS 1.5  // of a gate of a unit

#define T         float
#define NAME(f)   f##_f32
#define PUBLIC(f) f##_f32
#define SIGMOID   fy_vec_sigmoid_f32
#define TANH      fy_vec_tanh_f32
#include "ops/cudnn_rnn_steps.inc"
#undef T
#undef NAME
#undef PUBLIC
#undef SIGMOID
#undef TANH

#define T         double
#define NAME(f)   f##_f64
#define PUBLIC(f) f##_f64
#define SIGMOID   fy_vec_sigmoid_f64
#define TANH      fy_vec_tanh_f64
#include "ops/cudnn_rnn_steps.inc"
