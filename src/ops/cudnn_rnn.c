// SPDX-License-Identifier: Apache-2.0
// cudnn_rnn.c: CudnnRNN, CudnnRNNV2, CudnnRNNV3 and their gradients: stacks of LSTM, GRU and simple recurrent
// layers in one op, as models that were trained on a GPU have them. TensorFlow has no kernels for them on the
// CPU, so such models run there only after they were rewritten; here they run as they are.
//
// The arithmetic is in cudnn_rnn_steps.c, the buffer of parameters in rnn_stack.h. 16-bit floats are
// computed with as floats and rounded once. What the gradient needs of the forward op is computed again: the
// reserve space holds only what cannot be, which numbers dropout kept.

#include "ops/cudnn_rnn.h"
#include "ops/random.h"
#include "ops/shape_fns.h"
#include "ops/typed.h"
#include "ops/values.h"

// ---------------------------------------------------------------- tensors as arrays
static bool is_direct(const fy_tensor *t, bool swap) {
  return !swap && (t->dtype == FY_FLOAT || t->dtype == FY_DOUBLE);
}
static size_t number_size(const fy_tensor *t) {
  return t->dtype == FY_DOUBLE ? sizeof(double) : sizeof(float);
}

static void widen(const fy_tensor *t, int64_t at, int64_t n, char *to) {
  if (t->dtype == FY_HALF) {
    fy_halves_to_floats((const uint16_t *)t->data + at, (float *)to, n);
  } else if (t->dtype == FY_BFLOAT16) {
    for (int64_t i = 0; i < n; i++) ((float *)to)[i] = FY_LD_bf16(((uint16_t *)t->data)[at + i]);
  } else if (n) {
    memcpy(to, (const char *)t->data + (size_t)at * number_size(t), (size_t)n * number_size(t));
  }
}
static void narrow(fy_tensor *t, int64_t at, int64_t n, const char *from) {
  if (t->dtype == FY_HALF) {
    fy_floats_to_halves((const float *)from, (uint16_t *)t->data + at, n);
  } else if (t->dtype == FY_BFLOAT16) {
    for (int64_t i = 0; i < n; i++)
      ((uint16_t *)t->data)[at + i] = FY_ST_bf16(((const float *)from)[i]);
  } else if (n) {
    memcpy((char *)t->data + (size_t)at * number_size(t), from, (size_t)n * number_size(t));
  }
}

// Element (i, j, 0) of a tensor of rank 3 whose first two dims are swapped in the array.
static int64_t swapped(const fy_tensor *t, int64_t row) {
  return (row % t->dims[0] * t->dims[1] + row / t->dims[0]) * t->dims[2];
}

// |t|'s numbers as floats or doubles; |swap|: with the first two of three dims exchanged.
static fy_code load(fy_rnn_room *room, const fy_tensor *t, bool swap, const void **out,
                    fy_error *err) {
  void *copy;
  *out = t->data;
  if (is_direct(t, swap)) return FY_OK;
  FY_TRY(fy_rnn_take(room, (size_t)t->count * number_size(t), &copy, err));
  *out = copy;
  if (!swap) {
    widen(t, 0, t->count, copy);
  } else if (t->count) {
    for (int64_t row = 0; row < t->dims[0] * t->dims[1]; row++)
      widen(t, swapped(t, row), t->dims[2],
            (char *)copy + (size_t)(row * t->dims[2]) * number_size(t));
  }
  return FY_OK;
}

// Output |i| and zeros in an array to compute it in; finish() brings them together.
typedef struct result {
  fy_tensor *t;
  bool swap;
  void *array;
} result;
static fy_code begin(fy_rnn_room *room, int i, int32_t rank, const int64_t *dims, bool swap,
                     result *r, fy_error *err) {
  FY_TRY(fy_out(room->ctx, i, rank, dims, &r->t, err));
  r->swap = swap;
  r->array = r->t->data;
  const size_t bytes = (size_t)r->t->count * number_size(r->t);
  if (!is_direct(r->t, swap)) FY_TRY(fy_rnn_take(room, bytes, &r->array, err));
  if (bytes) memset(r->array, 0, bytes);
  return FY_OK;
}
static void finish(const result *r) {
  fy_tensor *t = r->t;
  if (is_direct(t, r->swap) || !t->count) return;
  if (!r->swap) {
    narrow(t, 0, t->count, r->array);
    return;
  }
  for (int64_t row = 0; row < t->dims[0] * t->dims[1]; row++)
    narrow(t, swapped(t, row), t->dims[2],
           (const char *)r->array + (size_t)(row * t->dims[2]) * number_size(t));
}

// ---------------------------------------------------------------- a call
#define PIECE ((size_t)64 << 10)
fy_code fy_rnn_take(fy_rnn_room *room, size_t bytes, void **out, fy_error *err) {
  if (bytes > SIZE_MAX / 2) return fy_fail_oom(err, bytes);
  bytes = fy_scratch_line(bytes);
  if (bytes > room->left) {
    const size_t piece = bytes > PIECE ? bytes : PIECE;
    void *more;
    FY_TRY(fy_scratch(room->ctx, piece, &more, err));
    if (piece - bytes <= room->left) {  // the rest of the last one is larger
      *out = more;
      return FY_OK;
    }
    room->at = more;
    room->left = piece;
  }
  *out = room->at;
  room->at += bytes;
  room->left -= bytes;
  return FY_OK;
}

static bool attr_is(const fy_site *site, const char *name, bool otherwise) {
  return fy_site_attr(site, name) ? fy_site_bool(site, name) : otherwise;
}
static bool is_version_3(const fy_site *site) {
  return fy_site_attr(site, "time_major") != NULL;
}

static fy_code wrong_shape(const char *what, const fy_tensor *t, int32_t rank, const int64_t *dims,
                           fy_error *err) {
  char a[128], b[128];
  return fy_fail(err, FY_INVALID_ARGUMENT, "Invalid %s shape: %s %s", what,
                 fy_tensor_shape_text(t, a), fy_shape_text(rank, dims, b));
}
static fy_code check_shape(const char *what, const fy_tensor *t, const int64_t dims[3],
                           fy_error *err) {
  if (fy_shape_equal(t->rank, t->dims, 3, dims)) return FY_OK;
  return wrong_shape(what, t, 3, dims, err);
}

static fy_code read_lengths(fy_rnn_call *c, const fy_tensor *t, fy_error *err) {
  const int32_t *n = t->data;
  if (!fy_shape_equal(t->rank, t->dims, 1, &c->batch))
    return wrong_shape("sequence_lengths", t, 1, &c->batch, err);
  for (int64_t b = 0; b < c->batch; b++) {
    if (n[b] >= 0 && n[b] <= c->time) continue;
    return fy_fail(
        err, FY_INVALID_ARGUMENT,
        "sequence_lengths[%lld] must be between 0 and the %lld steps of the input, got %d",
        (long long)b, (long long)c->time, (int)n[b]);
  }
  c->lengths = n;
  return FY_OK;
}

// The tensors' shapes, with time first or not.
typedef struct shapes {
  bool swap;
  int64_t y[3], h[3], c[3];
} shapes;

static fy_code open_call(fy_rnn_room *room, const fy_rnn_products *by, fy_rnn_call *c,
                         shapes *shape, fy_error *err) {
  fy_kernel_ctx *ctx = room->ctx;
  const fy_site *site = ctx->site;
  const fy_tensor *x = ctx->in[0], *h = ctx->in[1], *m = ctx->in[2], *params = ctx->in[3];
  const bool major = attr_is(site, "time_major", true);
  const int first = major ? 0 : 1;  // the dim of time, and of the parts of the stack
  *c = (fy_rnn_call){
      .ctx = ctx, .room = room, .by = by, .type = x->dtype == FY_DOUBLE ? FY_DOUBLE : FY_FLOAT};
  if (x->rank != 3 || h->rank != 3)
    return fy_fail(err, FY_INVALID_ARGUMENT, "RNN input must be a 3-D vector.");
  const bool lstm = fy_view_is(fy_site_string(site, "rnn_mode"), "lstm");
  const bool both = fy_view_is(fy_site_string(site, "direction"), "bidirectional");
  const int64_t projected = fy_site_attr(site, "num_proj") ? fy_site_int(site, "num_proj") : 0;
  if (lstm && m->rank != 3)
    return fy_fail(err, FY_INVALID_ARGUMENT, "RNN input must be a 3-D vector.");
  c->time = x->dims[first];
  c->batch = x->dims[!first];
  if (__builtin_mul_overflow(c->time, c->batch, &c->rows)) return fy_fail_oom(err, SIZE_MAX);
  const int64_t parts = h->dims[first], outs = h->dims[2];
  FY_TRY(fy_rnn_stack_make(site, parts / (both ? 2 : 1), x->dims[2],
                           projected && lstm ? m->dims[2] : outs, outs, &c->s, err));
  const int64_t want = c->s.layers * c->s.dirs, state = projected ? projected : outs;
  for (int i = 0; i < 3; i++) {
    const int64_t of_first = i == 2 ? 0 : i == first ? want : c->batch;
    shape->h[i] = i == 2 ? state : of_first;
    shape->c[i] = i == 2 ? c->s.units : of_first;
    shape->y[i] = i == 2 ? c->s.dirs * outs : x->dims[i];
  }
  shape->swap = !major;
  FY_TRY(check_shape("input_h", h, shape->h, err));
  if (lstm) FY_TRY(check_shape("input_c", m, shape->c, err));
  const int64_t count = fy_rnn_stack_params(&c->s);
  if (params->rank != 1 || params->count != count)
    return wrong_shape("params", params, 1, &count, err);
  if (is_version_3(site)) FY_TRY(read_lengths(c, ctx->in[4], err));
  if (!c->batch) c->time = 0;  // however many steps of nothing there are
  FY_TRY(load(c->room, x, shape->swap, &c->x, err));
  FY_TRY(load(c->room, h, shape->swap, &c->h0, err));
  if (lstm) FY_TRY(load(c->room, m, shape->swap, &c->c0, err));
  return load(c->room, params, false, &c->params, err);
}

// ---------------------------------------------------------------- dropout
// How many numbers dropout looks at: what all layers but the last hand on.
static fy_code dropped(const fy_rnn_call *c, bool trains, int64_t *count, fy_error *err) {
  *count = 0;
  if (!trains || !(fy_site_float(c->ctx->site, "dropout") > 0)) return FY_OK;
  if (__builtin_mul_overflow(c->s.layers - 1, c->rows, count) ||
      __builtin_mul_overflow(*count, c->s.dirs * c->s.outs, count))
    return fy_fail_oom(err, SIZE_MAX);
  return FY_OK;
}

// |flags|, 1 where a number is kept, become its factors.
static fy_code factors_of(fy_rnn_call *c, const fy_tensor *flags, fy_error *err) {
  const double rate = (double)fy_site_float(c->ctx->site, "dropout");
  const double factor = rate < 1 ? 1 / (1 - rate) : 0;
  void *room;
  if (!flags->count) return FY_OK;
  FY_TRY(fy_rnn_take(c->room, (size_t)flags->count * number_size(flags), &room, err));
  widen(flags, 0, flags->count, room);
  for (int64_t i = 0; i < flags->count; i++) {
    if (c->type == FY_DOUBLE)
      ((double *)room)[i] *= factor;
    else
      ((float *)room)[i] *= (float)factor;
  }
  c->kept = room;
  return FY_OK;
}

static fy_code drop(fy_rnn_call *c, fy_tensor *flags, fy_error *err) {
  const float rate = fy_site_float(c->ctx->site, "dropout");
  fy_philox_singles random = {.generator = fy_random_reserve(c->ctx, flags->count)};
  for (int64_t i = 0; i < flags->count; i++) {
    const float one = fy_bits_to_unit_float(fy_philox_single(&random)) >= rate ? 1.0f : 0.0f;
    const double wide = (double)one;
    narrow(flags, i, 1, c->type == FY_DOUBLE ? (const char *)&wide : (const char *)&one);
  }
  return factors_of(c, flags, err);
}

// ---------------------------------------------------------------- ops
fy_code fy_cudnn_rnn(fy_kernel_ctx *ctx, const fy_rnn_products *by, fy_error *err) {
  fy_rnn_room room = {.ctx = ctx};
  fy_rnn_call c;
  shapes shape;
  result y, h, m;
  fy_tensor *reserve, *host;
  FY_TRY(open_call(&room, by, &c, &shape, err));
  const bool trains = fy_site_bool(ctx->site, "is_training");
  const int64_t none = 0;
  int64_t flags;
  FY_TRY(dropped(&c, trains, &flags, err));
  FY_TRY(begin(&room, 0, 3, shape.y, shape.swap, &y, err));
  FY_TRY(begin(&room, 1, 3, shape.h, shape.swap, &h, err));
  FY_TRY(c.c0 ? begin(&room, 2, 3, shape.c, shape.swap, &m, err)
              : begin(&room, 2, 0, NULL, false, &m, err));
  FY_TRY(fy_out(ctx, 3, trains ? 1 : 0, &flags, &reserve, err));
  if (!trains) memset(reserve->data, 0, fy_dtype_size(reserve->dtype));
  if (ctx->site->num_outputs > 4) FY_TRY(fy_out(ctx, 4, 1, &none, &host, err));
  if (flags) FY_TRY(drop(&c, reserve, err));
  c.y = y.array;
  c.hn = h.array;
  c.cn = m.array;
  FY_TRY(c.type == FY_DOUBLE ? fy_rnn_forward_f64(&c, err) : fy_rnn_forward_f32(&c, err));
  finish(&y);
  finish(&h);
  finish(&m);
  return FY_OK;
}

fy_code fy_cudnn_rnn_grad(fy_kernel_ctx *ctx, const fy_rnn_products *by, fy_error *err) {
  fy_rnn_room room = {.ctx = ctx};
  fy_rnn_call c;
  fy_rnn_back back = {0};
  shapes shape;
  result dx, dh, dm, dparams;
  void *state[2];
  FY_TRY(open_call(&room, by, &c, &shape, err));
  fy_tensor **in = ctx->in + (is_version_3(ctx->site) ? 5 : 4);  // output, output_h …
  FY_TRY(check_shape("output_backprop", in[3], shape.y, err));
  FY_TRY(check_shape("output_h_backprop", in[4], shape.h, err));
  if (c.c0) FY_TRY(check_shape("output_c_backprop", in[5], shape.c, err));
  int64_t flags;
  FY_TRY(dropped(&c, true, &flags, err));
  if (flags && in[6]->count != flags) {
    return fy_fail(
        err, FY_INVALID_ARGUMENT,
        "reserve_space has %lld elements, not the %lld that the op with is_training=true "
        "gave",
        (long long)in[6]->count, (long long)flags);
  }
  if (flags) FY_TRY(factors_of(&c, in[6], err));
  FY_TRY(load(&room, in[3], shape.swap, &back.dy, err));
  FY_TRY(load(&room, in[4], shape.swap, &back.dhn, err));
  if (c.c0) FY_TRY(load(&room, in[5], shape.swap, &back.dcn, err));
  FY_TRY(begin(&room, 0, 3, ctx->in[0]->dims, shape.swap, &dx, err));
  FY_TRY(begin(&room, 1, 3, shape.h, shape.swap, &dh, err));
  FY_TRY(begin(&room, 2, ctx->in[2]->rank, ctx->in[2]->dims, c.c0 && shape.swap, &dm, err));
  FY_TRY(begin(&room, 3, 1, ctx->in[3]->dims, false, &dparams, err));
  for (int i = 0; i < 2; i++) {  // the last states of the forward op, once more
    const size_t n = (size_t)ctx->in[i + 1]->count * number_size(ctx->in[0]);
    FY_TRY(fy_rnn_take(&room, n, &state[i], err));
  }
  c.hn = state[0];
  c.cn = state[1];
  back.dx = dx.array;
  back.dh0 = dh.array;
  back.dc0 = dm.array;
  back.dparams = dparams.array;
  FY_TRY(c.type == FY_DOUBLE ? fy_rnn_backward_f64(&c, &back, err)
                             : fy_rnn_backward_f32(&c, &back, err));
  finish(&dx);
  finish(&dh);
  finish(&dm);
  finish(&dparams);
  return FY_OK;
}

// ---------------------------------------------------------------- plain products
typedef struct plain {
  fy_dtype type;
  const void *b;
  int64_t k, n, step_k, step_n;
} plain;
static fy_code open_plain(fy_rnn_room *room, fy_dtype type, const void *b, int64_t k, int64_t n,
                          int64_t step_k, int64_t step_n, void **state, fy_error *err) {
  FY_TRY(fy_rnn_take(room, sizeof(plain), state, err));
  *(plain *)*state = (plain){type, b, k, n, step_k, step_n};
  return FY_OK;
}
#define ADD_PLAIN(T)                                             \
  for (int64_t i = 0; i < rows; i++) {                           \
    for (int64_t j = 0; j < p->n; j++) {                         \
      T sum = 0;                                                 \
      for (int64_t k = 0; k < p->k; k++)                         \
        sum += ((const T *)a)[i * row_step + k * k_step] *       \
               ((const T *)p->b)[k * p->step_k + j * p->step_n]; \
      ((T *)out)[i * p->n + j] += sum;                           \
    }                                                            \
  }
static void add_plain(fy_kernel_ctx *ctx, const void *state, const void *a, int64_t row_step,
                      int64_t k_step, int64_t rows, void *out) {
  const plain *p = state;
  (void)ctx;
  if (p->type == FY_DOUBLE) {
    ADD_PLAIN(double)
  } else {
    ADD_PLAIN(float)
  }
}
static const fy_rnn_products plain_products = {open_plain, add_plain};

static fy_code forward(fy_kernel_ctx *ctx, fy_error *err) {
  return fy_cudnn_rnn(ctx, &plain_products, err);
}
static fy_code backward(fy_kernel_ctx *ctx, fy_error *err) {
  return fy_cudnn_rnn_grad(ctx, &plain_products, err);
}

// ---------------------------------------------------------------- shapes
static fy_code forward_shape(fy_shape_ctx *ctx, fy_error *err) {
  const fy_attr *mode = fy_attrs_get(ctx->attrs, "rnn_mode");
  const fy_attr *direction = fy_attrs_get(ctx->attrs, "direction");
  const bool lstm = !mode || fy_view_is(mode->v.s, "lstm"), three = ctx->num_inputs > 4;
  const bool both = direction && fy_view_is(direction->v.s, "bidirectional");
  FY_TRY(fy_shape_rank_is(ctx->in[0], 3, err));
  FY_TRY(fy_shape_rank_is(ctx->in[1], 3, err));
  if (three && lstm) FY_TRY(fy_shape_rank_is(ctx->in[2], 3, err));
  FY_TRY(fy_shape_rank_is(ctx->in[3], 1, err));
  if (three) FY_TRY(fy_shape_rank_is(ctx->in[4], 1, err));
  const int64_t units = fy_dim_of(ctx->in[1], 2);
  const int64_t dims[] = {fy_dim_of(ctx->in[0], 0), fy_dim_of(ctx->in[0], 1),
                          units < 0 || units > INT64_MAX / 2 ? -1
                          : both                             ? 2 * units
                                                             : units};
  FY_TRY(fy_shape_set(ctx, 0, 3, dims, err));
  ctx->out[1] = ctx->in[1];
  if (!lstm) return fy_shape_set(ctx, 2, 0, NULL, err);
  ctx->out[2] = ctx->in[three ? 2 : 1];
  return FY_OK;
}
static fy_code backward_shape(fy_shape_ctx *ctx, fy_error *err) {
  (void)err;
  for (int i = 0; i < 4; i++) ctx->out[i] = ctx->in[i];
  return FY_OK;
}

static void cost(const fy_site *site, const fy_pshape *in, const fy_pshape *out, fy_cost *to) {
  double rows = 1, params = 1;
  (void)out;
  for (int i = 0; i < 2 && in[0].rank == 3; i++)
    rows *= in[0].dims[i] > 0 ? (double)in[0].dims[i] : 1;
  if (in[3].rank == 1 && in[3].dims[0] > 0) params = (double)in[3].dims[0];
  to->flops = 2 * rows * params * (site->num_outputs == 4 && site->num_inputs > 6 ? 4 : 1);
  to->bytes = 4 * (params + rows);
}

#define REALS (FY_T(FY_FLOAT) | FY_T(FY_DOUBLE) | FY_T(FY_HALF) | FY_T(FY_BFLOAT16))
static const fy_sample samples[] = {
    {"f32[3,2,2]=normal; f32[1,2,1]=normal; f32[1,2,1]=normal; f32[20]=normal", NULL, FY_OK, NULL},
    {"f32[3,2,2]=normal; f32[1,2,1]=normal; f32[1,2,1]=normal; f32[19]=normal", NULL,
     FY_INVALID_ARGUMENT, "Invalid params shape: [19] [20]"},
    {"f32[3,2,2]=normal; f32[1,3,1]=normal; f32[1,2,1]=normal; f32[20]=normal", NULL,
     FY_INVALID_ARGUMENT, "Invalid input_h shape: [1,3,1] [1,2,1]"},
};
static const fy_sample samples_3[] = {
    {"f32[3,2,2]=normal; f32[2,2,1]=normal; f32[]=0; f32[30]=normal; i32[2]=3,1",
     "rnn_mode=\"gru\"; direction=\"bidirectional\"", FY_OK, NULL},
    {"f32[3,2,2]=normal; f32[1,2,1]=normal; f32[]=0; f32[15]=normal; i32[2]=4,1",
     "rnn_mode=\"gru\"", FY_INVALID_ARGUMENT,
     "sequence_lengths[0] must be between 0 and the 3 steps of the input, got 4"},
};

#define FORWARD(name, ...)                                                                \
  FY_OP(name, .shape = forward_shape, .prepare = fy_random_prepare, .compute = forward,   \
        .release = fy_random_release, .cost = cost, .flags = FY_OP_HOST, .dtypes = REALS, \
        __VA_ARGS__)
FORWARD(CudnnRNN, FY_SAMPLES(samples));
FORWARD(CudnnRNNV2, FY_SAMPLES(samples));
FORWARD(CudnnRNNV3, FY_SAMPLES(samples_3));
#define BACKWARD(name)                                                                         \
  FY_OP(name, .shape = backward_shape, .compute = backward, .cost = cost, .flags = FY_OP_HOST, \
        .dtypes = REALS)
BACKWARD(CudnnRNNBackprop);
BACKWARD(CudnnRNNBackpropV2);
BACKWARD(CudnnRNNBackpropV3);
