// SPDX-License-Identifier: Apache-2.0
// lstm.c: LSTMBlockCell, BlockLSTM, BlockLSTMV2 and their gradients: a whole LSTM step, or all steps
// of a sequence, in one op.
//
// The four gates are columns of one product [x, h] w + b: in the order i, c, f, o, or i, f, c, o in
// version 2. Peepholes let the cell's state into the gates. Steps from seq_len_max on are zeros (in
// TensorFlow only cs, h and x_grad are; the others are left as they were found).

#include "ops/rnn.h"
#include "ops/shape_fns.h"
#include "ops/vecmath.h"

typedef struct cell {
  int64_t time, batch, inputs, cells;
  int f_at, c_at;  // columns of the forget gate and the cell input, in cells
  bool peephole;
  float forget_bias, clip;
  const float *x, *cs_prev, *h_prev, *w, *wci, *wcf, *wco, *b;
} cell;

enum { I_OUT, CS_OUT, F_OUT, O_OUT, CI_OUT, CO_OUT, H_OUT, OUTS };

// Inputs from |first| on: x, cs_prev, h_prev, w, wci, wcf, wco, b.
static fy_code open_cell(fy_kernel_ctx *ctx, int first, bool sequence, cell *c, fy_error *err) {
  fy_tensor **in = ctx->in + first;
  const int32_t x_rank = sequence ? 3 : 2;
  FY_TRY(fy_rnn_rank(in[0], x_rank, "x", err));
  FY_TRY(fy_rnn_rank(in[1], 2, "cs_prev", err));
  c->time = sequence ? in[0]->dims[0] : 1;
  c->batch = in[0]->dims[x_rank - 2];
  c->inputs = in[0]->dims[x_rank - 1];
  FY_TRY(fy_rnn_dim(in[1], 0, c->batch, "cs_prev.dims(0) != batch_size", err));
  c->cells = in[1]->dims[1];
  FY_TRY(fy_rnn_sizes(c->inputs, c->cells, err));
  FY_TRY(fy_rnn_rank(in[2], 2, "h_prev", err));
  FY_TRY(fy_rnn_dim(in[2], 0, c->batch, "h_prev.dims(0) != batch_size", err));
  FY_TRY(fy_rnn_dim(in[2], 1, c->cells, "h_prev.dims(1) != cell_size", err));
  FY_TRY(fy_rnn_rank(in[3], 2, "w", err));
  FY_TRY(
      fy_rnn_dim(in[3], 0, c->inputs + c->cells, "w.dim_size(0) != input_size + cell_size", err));
  FY_TRY(fy_rnn_dim(in[3], 1, c->cells * 4, "w.dim_size(1) != cell_size * 4", err));
  FY_TRY(fy_rnn_rank(in[4], 1, "wci", err));
  FY_TRY(fy_rnn_dim(in[4], 0, c->cells, "wci.dim_size(0) != cell_size", err));
  FY_TRY(fy_rnn_rank(in[5], 1, "wcf", err));
  FY_TRY(fy_rnn_dim(in[5], 0, c->cells, "wcf.dim_size(0) != cell_size", err));
  FY_TRY(fy_rnn_rank(in[6], 1, "wco", err));
  FY_TRY(fy_rnn_dim(in[6], 0, c->cells, "wco.dim_size(0) != cell_size", err));
  FY_TRY(fy_rnn_rank(in[7], 1, "b", err));
  FY_TRY(fy_rnn_dim(in[7], 0, c->cells * 4, "b.dim_size(0) != cell_size * 4", err));
  const float **to[] = {&c->x, &c->cs_prev, &c->h_prev, &c->w, &c->wci, &c->wcf, &c->wco, &c->b};
  for (int i = 0; i < 8; i++) FY_TRY(fy_rnn_load(ctx, in[i], to[i], err));
  const bool two = strstr(ctx->site->op->spec->name, "V2") != NULL;
  c->f_at = two ? 1 : 2;
  c->c_at = two ? 2 : 1;
  c->peephole = fy_site_bool(ctx->site, "use_peephole");
  return FY_OK;
}

// to += a * b, for |rows| rows of |n|; b is one row
static void add_product(float *to, const float *a, const float *b, int64_t rows, int64_t n) {
  for (int64_t r = 0; r < rows; r++, to += n, a += n) {
    FY_VECTOR for (int64_t k = 0; k < n; k++) to[k] += a[k] * b[k];
  }
}

// From the sums of the gates of some rows to all they give. The sums are written over.
typedef struct gate_sums {
  float *i, *c, *f, *o;
} gate_sums;
static void row_gates(const cell *c, const float *before, const gate_sums *g, int64_t rows,
                      float *const out[OUTS]) {
  const int64_t n = c->cells, all = rows * n;
  float *cs = out[CS_OUT];
  if (c->peephole) add_product(g->i, before, c->wci, rows, n);
  fy_vec_sigmoid_f32(g->i, out[I_OUT], all, NULL);
  fy_vec_tanh_f32(g->c, out[CI_OUT], all, NULL);
  FY_VECTOR for (int64_t k = 0; k < all; k++) g->f[k] += c->forget_bias;
  if (c->peephole) add_product(g->f, before, c->wcf, rows, n);
  fy_vec_sigmoid_f32(g->f, out[F_OUT], all, NULL);
  for (int64_t k = 0; k < all; k++)
    cs[k] = out[I_OUT][k] * out[CI_OUT][k] + out[F_OUT][k] * before[k];
  for (int64_t k = 0; c->clip > 0.0f && k < all; k++)
    cs[k] = cs[k] > c->clip ? c->clip : cs[k] < -c->clip ? -c->clip : cs[k];
  fy_vec_tanh_f32(cs, out[CO_OUT], all, NULL);
  if (c->peephole) add_product(g->o, cs, c->wco, rows, n);
  fy_vec_sigmoid_f32(g->o, out[O_OUT], all, NULL);
  for (int64_t k = 0; k < all; k++) out[H_OUT][k] = out[O_OUT][k] * out[CO_OUT][k];
}

typedef struct step_job {
  const cell *c;
  const float *cs_prev;
  float *gates, *const *out;
} step_job;
// Of few cells the gates of many rows are laid side by side: functions are made for longer arrays.
#define TOGETHER 256
static void step_rows(void *arg, int64_t begin, int64_t end) {
  const step_job *j = arg;
  const int64_t n = j->c->cells, most = n > 0 && n < TOGETHER / 4 ? TOGETHER / n : 1;
  float beside[4][TOGETHER];
  for (int64_t b = begin; b < end; b += most) {
    const int64_t rows = end - b < most ? end - b : most;
    float *from = j->gates + b * 4 * n, *to[4], *row[OUTS];
    for (int q = 0; q < 4; q++) {
      to[q] = most > 1 ? beside[q] : from + q * n;
      for (int64_t r = 0; most > 1 && r < rows; r++)
        for (int64_t k = 0; k < n; k++) beside[q][r * n + k] = from[(r * 4 + q) * n + k];
    }
    const gate_sums g = {to[0], to[j->c->c_at], to[j->c->f_at], to[3]};
    for (int i = 0; i < OUTS; i++) row[i] = j->out[i] + b * n;
    row_gates(j->c, j->cs_prev + b * n, &g, rows, row);
  }
}

static fy_code steps_of(const fy_tensor *t, int64_t time, int64_t *out, fy_error *err) {
  if (t->count != 1) return fy_fail(err, FY_INVALID_ARGUMENT, "seq_len_max must be a scalar");
  *out = *(const int64_t *)t->data;
  if (*out >= 0 && *out <= time) return FY_OK;
  return fy_fail(err, FY_INVALID_ARGUMENT, "seq_len_max must be between 0 and %lld, got %lld",
                 (long long)time, (long long)*out);
}

// The reference: the weights as they are.
typedef struct plain_products {
  const float *w;
  int64_t inputs, cells;
} plain_products;
static fy_code plain_begin(fy_kernel_ctx *ctx, const float *w, int64_t inputs, int64_t cells,
                           void **state, fy_error *err) {
  FY_TRY(fy_scratch(ctx, sizeof(plain_products), state, err));
  *(plain_products *)*state = (plain_products){w, inputs, cells};
  return FY_OK;
}
static void plain_product(void *state, int part, const float *a, int64_t rows, float *out) {
  const plain_products *p = state;
  const int64_t depth = part ? p->cells : p->inputs, width = 4 * p->cells;
  fy_rnn_product(a, depth, p->w + (part ? p->inputs * width : 0), out, rows, depth, width);
}
static const fy_lstm_products plain = {plain_begin, plain_product};

fy_code fy_lstm_forward(fy_kernel_ctx *ctx, const fy_lstm_products *by, fy_error *err) {
  const bool sequence = ctx->site->num_inputs == 9;
  cell c = {0};
  int64_t steps = 1;
  fy_tensor *t[OUTS];
  float *out[OUTS];
  void *gates;
  FY_TRY(open_cell(ctx, sequence, sequence, &c, err));
  if (sequence) FY_TRY(steps_of(ctx->in[0], c.time, &steps, err));
  if (fy_site_attr(ctx->site, "forget_bias"))
    c.forget_bias = fy_site_float(ctx->site, "forget_bias");
  c.clip = fy_site_float(ctx->site, "cell_clip");
  const int64_t dims[] = {c.time, c.batch, c.cells};
  for (int i = 0; i < OUTS; i++) {
    FY_TRY(fy_rnn_out(ctx, i, sequence ? 3 : 2, sequence ? dims : dims + 1, &t[i], &out[i], err));
  }
  FY_TRY(fy_scratch(ctx, (size_t)(c.batch * c.cells * 4) * sizeof(float) + 1, &gates, err));
  void *products;
  FY_TRY(by->begin(ctx, c.w, c.inputs, c.cells, &products, err));
  const int64_t slice = c.batch * c.cells, width = 4 * c.cells;
  for (int64_t s = 0; s < steps; s++) {
    float *now[OUTS];
    for (int i = 0; i < OUTS; i++) now[i] = out[i] + s * slice;
    for (int64_t b = 0; b < c.batch; b++)
      memcpy((float *)gates + b * width, c.b, (size_t)width * sizeof(float));
    by->product(products, 0, c.x + s * c.batch * c.inputs, c.batch, gates);
    by->product(products, 1, s ? now[H_OUT] - slice : c.h_prev, c.batch, gates);
    step_job j = {&c, s ? now[CS_OUT] - slice : c.cs_prev, gates, now};
    fy_parallel(ctx, c.batch, 5.0 * (double)c.cells, step_rows, &j);
  }
  for (int i = 0; i < OUTS; i++) fy_rnn_store(t[i], out[i]);
  return FY_OK;
}

static fy_code lstm(fy_kernel_ctx *ctx, fy_error *err) {
  return fy_lstm_forward(ctx, &plain, err);
}

// ---------------------------------------------------------------- gradients
typedef struct back {
  const float *i, *cs, *f, *o, *ci, *co, *h;  // what the forward op gave
  float *gates;                               // [batch, 4 cells]
  float *cs_grad, *wci_grad, *wcf_grad, *wco_grad;
} back;

// |h_grad| and |cs_grad| arrive; b->gates and b->cs_grad (to the step before) leave.
static void backward_step(const cell *c, const back *b, int64_t offset, const float *cs_prev,
                          const float *cs_grad, const float *h_grad) {
  const int64_t n = c->cells;
  for (int64_t r = 0; r < c->batch; r++) {
    float *g = b->gates + r * 4 * n;
    for (int64_t k = 0; k < n; k++) {
      const int64_t at = r * n + k, from = offset + at;
      const float o = b->o[from], co = b->co[from], i = b->i[from], ci = b->ci[from],
                  f = b->f[from];
      const float d_o = o * (1.0f - o) * h_grad[at] * co;
      float dcs = (1.0f - co * co) * h_grad[at] * o + cs_grad[at];
      if (c->peephole) dcs += d_o * c->wco[k];
      const float dci = (1.0f - ci * ci) * dcs * i;
      const float df = f * (1.0f - f) * dcs * cs_prev[at];
      const float di = i * (1.0f - i) * dcs * ci;
      g[k] = di;
      g[c->c_at * n + k] = dci;
      g[c->f_at * n + k] = df;
      g[3 * n + k] = d_o;
      b->cs_grad[at] = dcs * f;
      if (!c->peephole) continue;
      b->cs_grad[at] += di * c->wci[k] + df * c->wcf[k];
      b->wci_grad[k] += di * cs_prev[at];
      b->wcf_grad[k] += df * cs_prev[at];
      b->wco_grad[k] += d_o * b->cs[from];
    }
  }
}

static fy_code load_same(fy_kernel_ctx *ctx, int i, const char *name, int32_t rank,
                         const int64_t *dims, const float **out, fy_error *err) {
  char a[128], b[128];
  const fy_tensor *t = ctx->in[i];
  if (!fy_shape_equal(t->rank, t->dims, rank, dims)) {
    return fy_fail(err, FY_INVALID_ARGUMENT, "%s must have shape %s, got %s", name,
                   fy_shape_text(rank, dims, a), fy_tensor_shape_text(t, b));
  }
  return fy_rnn_load(ctx, t, out, err);
}

static fy_code lstm_cell_grad(fy_kernel_ctx *ctx, fy_error *err) {
  static const char *const names[] = {"i", "cs", "f", "o", "ci", "co", "cs_grad", "h_grad"};
  cell c = {0};
  back b = {0};
  const float *cs_grad, *h_grad;
  fy_tensor *t[5];
  FY_TRY(open_cell(ctx, 0, false, &c, err));
  const int64_t dims[] = {c.batch, c.cells}, wide[] = {c.batch, 4 * c.cells};
  const float **to[] = {&b.i, &b.cs, &b.f, &b.o, &b.ci, &b.co, &cs_grad, &h_grad};
  for (int i = 0; i < 8; i++) FY_TRY(load_same(ctx, 8 + i, names[i], 2, dims, to[i], err));
  FY_TRY(fy_rnn_out(ctx, 0, 2, dims, &t[0], &b.cs_grad, err));
  FY_TRY(fy_rnn_out(ctx, 1, 2, wide, &t[1], &b.gates, err));
  FY_TRY(fy_rnn_out(ctx, 2, 1, &c.cells, &t[2], &b.wci_grad, err));
  FY_TRY(fy_rnn_out(ctx, 3, 1, &c.cells, &t[3], &b.wcf_grad, err));
  FY_TRY(fy_rnn_out(ctx, 4, 1, &c.cells, &t[4], &b.wco_grad, err));
  backward_step(&c, &b, 0, c.cs_prev, cs_grad, h_grad);
  float *from[] = {b.cs_grad, b.gates, b.wci_grad, b.wcf_grad, b.wco_grad};
  for (int i = 0; i < 5; i++) fy_rnn_store(t[i], from[i]);
  return FY_OK;
}

static fy_code lstm_grad(fy_kernel_ctx *ctx, fy_error *err) {
  static const char *const names[] = {"i", "cs", "f", "o", "ci", "co", "h", "cs_grad", "h_grad"};
  cell c = {0};
  back b = {0};
  int64_t steps = 0;
  const float *cs_grad, *h_grad;
  fy_tensor *t[8];
  float *x_grad, *cs_prev_grad, *h_prev_grad, *w_grad, *b_grad;
  void *room;
  FY_TRY(open_cell(ctx, 1, true, &c, err));
  FY_TRY(steps_of(ctx->in[0], c.time, &steps, err));
  const int64_t n = c.cells, width = 4 * n, slice = c.batch * n;
  const int64_t dims[] = {c.time, c.batch, n};
  const float **to[] = {&b.i, &b.cs, &b.f, &b.o, &b.ci, &b.co, &b.h, &cs_grad, &h_grad};
  for (int i = 0; i < 9; i++) FY_TRY(load_same(ctx, 9 + i, names[i], 3, dims, to[i], err));
  FY_TRY(fy_rnn_out(ctx, 0, 3, ctx->in[1]->dims, &t[0], &x_grad, err));
  FY_TRY(fy_rnn_out(ctx, 1, 2, dims + 1, &t[1], &cs_prev_grad, err));
  FY_TRY(fy_rnn_out(ctx, 2, 2, dims + 1, &t[2], &h_prev_grad, err));
  FY_TRY(fy_rnn_out(ctx, 3, 2, ctx->in[4]->dims, &t[3], &w_grad, err));
  FY_TRY(fy_rnn_out(ctx, 4, 1, &n, &t[4], &b.wci_grad, err));
  FY_TRY(fy_rnn_out(ctx, 5, 1, &n, &t[5], &b.wcf_grad, err));
  FY_TRY(fy_rnn_out(ctx, 6, 1, &n, &t[6], &b.wco_grad, err));
  FY_TRY(fy_rnn_out(ctx, 7, 1, &width, &t[7], &b_grad, err));
  FY_TRY(fy_scratch(ctx, (size_t)(slice * 6) * sizeof(float) + 1, &room, err));
  b.gates = room;
  float *h_sum = b.gates + slice * 4, *cs_sum = h_sum + slice;
  b.cs_grad = cs_prev_grad;
  for (int64_t s = steps; s-- > 0;) {
    const float *x = c.x + s * c.batch * c.inputs;
    const float *cs_prev = s ? b.cs + (s - 1) * slice : c.cs_prev;
    const float *h_prev = s ? b.h + (s - 1) * slice : c.h_prev;
    for (int64_t k = 0; k < slice; k++) {
      h_sum[k] = h_prev_grad[k] + h_grad[s * slice + k];
      cs_sum[k] = cs_prev_grad[k] + cs_grad[s * slice + k];
      h_prev_grad[k] = 0;
    }
    backward_step(&c, &b, s * slice, cs_prev, cs_sum, h_sum);
    fy_rnn_product_bt(b.gates, c.w, x_grad + s * c.batch * c.inputs, c.inputs, c.batch, c.inputs,
                      width);
    fy_rnn_product_bt(b.gates, c.w + c.inputs * width, h_prev_grad, n, c.batch, n, width);
    fy_rnn_product_at(x, c.inputs, b.gates, w_grad, c.batch, c.inputs, width);
    fy_rnn_product_at(h_prev, n, b.gates, w_grad + c.inputs * width, c.batch, n, width);
    for (int64_t r = 0; r < c.batch; r++) {
      for (int64_t k = 0; k < width; k++) b_grad[k] += b.gates[r * width + k];
    }
  }
  float *from[] = {x_grad,     cs_prev_grad, h_prev_grad, w_grad,
                   b.wci_grad, b.wcf_grad,   b.wco_grad,  b_grad};
  for (int i = 0; i < 8; i++) fy_rnn_store(t[i], from[i]);
  return FY_OK;
}

// ---------------------------------------------------------------- shapes
static fy_code cell_shape(fy_shape_ctx *ctx, fy_error *err) {
  FY_TRY(fy_shape_rank_is(ctx->in[0], 2, err));
  FY_TRY(fy_shape_rank_is(ctx->in[1], 2, err));
  const int64_t dims[] = {fy_dim_of(ctx->in[0], 0), fy_dim_of(ctx->in[1], 1)};
  for (int i = 0; i < ctx->num_outputs; i++) FY_TRY(fy_shape_set(ctx, i, 2, dims, err));
  return FY_OK;
}

static fy_code block_shape(fy_shape_ctx *ctx, fy_error *err) {
  const fy_pshape x = ctx->in[1], b = ctx->in[8];
  FY_TRY(fy_shape_rank_is(x, 3, err));
  FY_TRY(fy_shape_rank_is(b, 1, err));
  const int64_t width = fy_dim_of(b, 0);
  if (width >= 0 && width % 4) {
    return fy_fail(err, FY_INVALID_ARGUMENT,
                   "Dimension size must be evenly divisible by 4 but is %lld", (long long)width);
  }
  const int64_t dims[] = {fy_dim_of(x, 0), fy_dim_of(x, 1), width < 0 ? -1 : width / 4};
  for (int i = 0; i < ctx->num_outputs; i++) FY_TRY(fy_shape_set(ctx, i, 3, dims, err));
  return FY_OK;
}

static fy_code cell_grad_shape(fy_shape_ctx *ctx, fy_error *err) {
  FY_TRY(fy_shape_rank_is(ctx->in[0], 2, err));
  FY_TRY(fy_shape_rank_is(ctx->in[1], 2, err));
  const int64_t n = fy_dim_of(ctx->in[1], 1), batch = fy_dim_of(ctx->in[0], 0);
  FY_TRY(fy_shape_set(ctx, 0, 2, (int64_t[]){batch, n}, err));
  FY_TRY(fy_shape_set(ctx, 1, 2, (int64_t[]){batch, n < 0 || n > INT64_MAX / 4 ? -1 : 4 * n}, err));
  for (int i = 2; i < 5; i++) FY_TRY(fy_shape_set(ctx, i, 1, &n, err));
  return FY_OK;
}

static fy_code block_grad_shape(fy_shape_ctx *ctx, fy_error *err) {
  static const int32_t ranks[] = {3, 2, 2, 2, 1, 1, 1, 1};
  for (int i = 0; i < 8; i++) {
    FY_TRY(fy_shape_rank_is(ctx->in[i + 1], ranks[i], err));
    if (ctx->in[i + 1].rank < 0)
      FY_TRY(fy_shape_set(ctx, i, ranks[i], NULL, err));
    else
      ctx->out[i] = ctx->in[i + 1];
  }
  return FY_OK;
}

static const fy_sample cell_samples[] = {
    {"f32[1,2]=normal; f32[1,1]=normal; f32[1,1]=normal; f32[3,4]=normal; f32[1]=1; f32[1]=1; "
     "f32[1]=1; f32[4]=0,0,0,0",
     NULL, FY_OK, NULL}};
static const fy_sample block_samples[] = {
    {"i64[]=2; f32[2,1,2]=normal; f32[1,1]=normal; f32[1,1]=normal; f32[3,4]=normal; f32[1]=1; "
     "f32[1]=1; f32[1]=1; f32[4]=0,0,0,0",
     NULL, FY_OK, NULL},
    {"i64[]=3; f32[2,1,2]=normal; f32[1,1]=normal; f32[1,1]=normal; f32[3,4]=normal; f32[1]=1; "
     "f32[1]=1; f32[1]=1; f32[4]=0,0,0,0",
     NULL, FY_INVALID_ARGUMENT, "seq_len_max must be between 0 and 2, got 3"},
};

FY_OP(LSTMBlockCell, .shape = cell_shape, .compute = lstm, .flags = FY_OP_HOST,
      FY_SAMPLES(cell_samples));
FY_OP(BlockLSTM, .shape = block_shape, .compute = lstm, .flags = FY_OP_HOST,
      FY_SAMPLES(block_samples));
FY_OP(BlockLSTMV2, .shape = block_shape, .compute = lstm, .flags = FY_OP_HOST,
      FY_SAMPLES(block_samples));
FY_OP(LSTMBlockCellGrad, .shape = cell_grad_shape, .compute = lstm_cell_grad, .flags = FY_OP_HOST);
FY_OP(BlockLSTMGrad, .shape = block_grad_shape, .compute = lstm_grad, .flags = FY_OP_HOST);
FY_OP(BlockLSTMGradV2, .shape = block_grad_shape, .compute = lstm_grad, .flags = FY_OP_HOST);
