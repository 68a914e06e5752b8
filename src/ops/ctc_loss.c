// SPDX-License-Identifier: Apache-2.0
// ctc_loss.c: CTCLoss: -log P(labels | scores) summed over all alignments, and its gradient, by the
// forward-backward recursion in log space (Graves, 2012, chapter 7). The last class is the blank.
// Rows of the batch are independent and split over threads; arithmetic is in double.

#include <float.h>
#include <math.h>

#include "base/alloc.h"
#include "ops/shape_fns.h"
#include "ops/sparse_tensor.h"
#include "ops/values.h"

typedef struct call {
  const fy_tensor *in;     // [time, batch, classes]
  fy_tensor *loss, *grad;  // [batch], like |in|
  const int32_t *lengths;  // [batch]
  const int32_t *labels;   // values, with blanks between them: [sum of 2 u + 1]
  const int64_t *starts;   // [batch + 1] into |labels|
  const int64_t *plain;    // [batch] how many labels were given
  int64_t time, batch, classes;
  bool merge, ignore_longer;
  bool failed;
} call;

static double add_logs(double a, double b) {
  if (a == -INFINITY && b == -INFINITY) return -INFINITY;
  return a > b ? a + log1p(exp(b - a)) : b + log1p(exp(a - b));
}

// y[t, c] := softmax of the scores; log_y its logarithm.
static void softmax_rows(const call *c, int64_t b, int64_t n, double *y, double *log_y) {
  for (int64_t t = 0; t < n; t++) {
    const int64_t at = (t * c->batch + b) * c->classes;
    double *row = y + t * c->classes, most = -INFINITY, sum = 0;
    for (int64_t k = 0; k < c->classes; k++) {
      row[k] = fy_tensor_double(c->in, at + k);
      most = row[k] > most ? row[k] : most;
    }
    for (int64_t k = 0; k < c->classes; k++) {
      row[k] = exp(row[k] - most);
      if (c->in->dtype == FY_FLOAT && row[k] < (double)FLT_MIN) row[k] = 0;
      sum += row[k];
    }
    for (int64_t k = 0; k < c->classes; k++) {
      row[k] /= sum;
      if (c->in->dtype == FY_FLOAT && row[k] < (double)FLT_MIN) row[k] = 0;
      log_y[t * c->classes + k] = log(row[k]);
    }
  }
}

// alpha, beta: [n, u]
static void forward(const call *c, const int32_t *l, int64_t u_n, int64_t n, const double *log_y,
                    double *alpha) {
  const int32_t blank = (int32_t)c->classes - 1;
  for (int64_t i = 0; i < n * u_n; i++) alpha[i] = -INFINITY;
  alpha[0] = log_y[blank];
  if (u_n > 1) alpha[1] = log_y[l[1]];
  for (int64_t t = 1; t < n; t++) {
    const double *before = alpha + (t - 1) * u_n;
    const int64_t first = u_n - 2 * (n - t) > 0 ? u_n - 2 * (n - t) : 0;
    const int64_t last = u_n < 2 * (t + 1) ? u_n : 2 * (t + 1);
    for (int64_t u = first; u < last; u++) {
      double sum = c->merge || l[u] == blank ? before[u] : -INFINITY;
      if (u > 0) sum = add_logs(sum, before[u - 1]);
      if (u > 1 && l[u] != blank && !(c->merge && l[u] == l[u - 2])) {
        sum = add_logs(sum, before[u - 2]);
      }
      alpha[t * u_n + u] = log_y[t * c->classes + l[u]] + sum;
    }
  }
}

static void backward(const call *c, const int32_t *l, int64_t u_n, int64_t n, const double *log_y,
                     double *beta) {
  const int32_t blank = (int32_t)c->classes - 1;
  for (int64_t i = 0; i < n * u_n; i++) beta[i] = -INFINITY;
  beta[n * u_n - 1] = 0;
  // With nothing but blanks this is the last element of the step before, as in TensorFlow.
  if (n * u_n >= 2) beta[n * u_n - 2] = 0;
  for (int64_t t = n - 2; t >= 0; t--) {
    const double *after = beta + (t + 1) * u_n, *y = log_y + (t + 1) * c->classes;
    const int64_t first = u_n - 2 * (n - t) > 0 ? u_n - 2 * (n - t) : 0;
    const int64_t last = u_n < 2 * (t + 1) ? u_n : 2 * (t + 1);
    for (int64_t u = first; u < last; u++) {
      double sum = beta[t * u_n + u];
      if (c->merge || l[u] == blank) sum = add_logs(sum, after[u] + y[l[u]]);
      if (u + 1 < u_n) sum = add_logs(sum, after[u + 1] + y[l[u + 1]]);
      if (u + 2 < u_n && l[u] != blank && !(c->merge && l[u] == l[u + 2])) {
        sum = add_logs(sum, after[u + 2] + y[l[u + 2]]);
      }
      beta[t * u_n + u] = sum;
    }
  }
}

static void put(fy_tensor *t, int64_t i, double v) {
  if (t->dtype == FY_FLOAT)
    ((float *)t->data)[i] = (float)v;
  else
    ((double *)t->data)[i] = v;
}

static void gradient(const call *c, int64_t b, const int32_t *l, int64_t u_n, int64_t n,
                     const double *y, const double *alpha, const double *beta, double log_p,
                     double *sums) {
  for (int64_t t = 0; t < n; t++) {
    const int64_t at = (t * c->batch + b) * c->classes;
    for (int64_t k = 0; k < c->classes; k++) sums[k] = -INFINITY;
    for (int64_t u = 0; u < u_n; u++) {
      sums[l[u]] = add_logs(sums[l[u]], alpha[t * u_n + u] + beta[t * u_n + u]);
    }
    for (int64_t k = 0; k < c->classes; k++) {
      const double part = log_p == -INFINITY ? 0 : exp(sums[k] - log_p);
      put(c->grad, at + k, y[t * c->classes + k] - part);
    }
  }
}

static void rows(void *arg, int64_t begin, int64_t end) {
  call *c = arg;
  for (int64_t b = begin; b < end; b++) {
    const int64_t n = c->lengths[b], u_n = c->starts[b + 1] - c->starts[b];
    const int32_t *l = c->labels + c->starts[b];
    if (n == 0 || (c->ignore_longer && c->plain[b] > n)) continue;
    size_t cells, classes;
    double *memory = NULL;
    if (fy_mul_size((size_t)n, (size_t)u_n * 2, &cells) &&
        fy_mul_size((size_t)n, (size_t)c->classes * 2, &classes) &&
        fy_add_size(cells, classes, &cells) && fy_add_size(cells, (size_t)c->classes, &cells)) {
      memory = fy_calloc(cells, sizeof *memory);
    }
    if (!memory) {
      __atomic_store_n(&c->failed, true, __ATOMIC_RELAXED);
      return;
    }
    double *alpha = memory, *beta = alpha + n * u_n, *y = beta + n * u_n;
    double *log_y = y + n * c->classes, *sums = log_y + n * c->classes;
    softmax_rows(c, b, n, y, log_y);
    forward(c, l, u_n, n, log_y, alpha);
    backward(c, l, u_n, n, log_y, beta);
    double log_p = -INFINITY;
    for (int64_t u = 0; u < u_n; u++) log_p = add_logs(log_p, alpha[u] + beta[u]);
    put(c->loss, b, -log_p);
    gradient(c, b, l, u_n, n, y, alpha, beta, log_p, sums);
    fy_free(memory);
  }
}

// ---------------------------------------------------------------- labels
static fy_code check_shapes(fy_kernel_ctx *ctx, fy_error *err) {
  const fy_tensor *in = ctx->in[0], *indices = ctx->in[1], *values = ctx->in[2], *len = ctx->in[3];
  char a[128], b[128];
  if (in->rank != 3) return fy_fail(err, FY_INVALID_ARGUMENT, "inputs is not a 3-Tensor");
  if (len->rank != 1) return fy_fail(err, FY_INVALID_ARGUMENT, "sequence_length is not a vector");
  if (indices->rank != 2)
    return fy_fail(err, FY_INVALID_ARGUMENT, "labels_indices is not a matrix");
  if (indices->dims[1] < 2) {
    return fy_fail(err, FY_INVALID_ARGUMENT,
                   "labels_indices second dimension must be >= 1. Received %lld",
                   (long long)indices->dims[1]);
  }
  if (values->rank != 1) return fy_fail(err, FY_INVALID_ARGUMENT, "labels_values is not a vector");
  if (in->dims[1] == 0) return fy_fail(err, FY_INVALID_ARGUMENT, "batch_size must not be 0");
  if (len->count != in->dims[1]) {
    return fy_fail(err, FY_INVALID_ARGUMENT,
                   "len(sequence_length) != batch_size.  len(sequence_length):  %lld batch_size: "
                   "%lld",
                   (long long)len->count, (long long)in->dims[1]);
  }
  if (indices->dims[0] != values->dims[0]) {
    return fy_fail(err, FY_INVALID_ARGUMENT,
                   "labels_indices and labels_values must contain the same number of rows, but saw "
                   "shapes: %s vs. %s",
                   fy_tensor_shape_text(indices, a), fy_tensor_shape_text(values, b));
  }
  for (int64_t i = 0; i < len->count; i++) {
    if (((const int32_t *)len->data)[i] > in->dims[0]) {
      return fy_fail(err, FY_INVALID_ARGUMENT, "sequence_length(%lld) <= %lld", (long long)i,
                     (long long)in->dims[0]);
    }
  }
  if (in->dims[0] == 0) {
    return fy_fail(err, FY_INVALID_ARGUMENT, "Max time or first dimension of input cannot be 0.");
  }
  if (in->dims[2] == 0 || in->dims[2] > INT32_MAX) {
    return fy_fail(err, FY_INVALID_ARGUMENT, "num_classes is out of range: %lld",
                   (long long)in->dims[2]);
  }
  return FY_OK;
}

// The indices must be sorted, unique and in [batch, longest].
static fy_code check_indices(const fy_tensor *indices, int64_t batch, fy_error *err) {
  const int64_t n = indices->dims[0], width = indices->dims[1], *at = indices->data;
  int64_t longest = 0;
  for (int64_t i = 0; i < n; i++) {
    const int64_t k = at[i * width + 1];
    if (k < INT64_MAX && k + 1 > longest) longest = k + 1;
  }
  for (int64_t i = 0; i < n; i++) {
    const int64_t b = at[i * width], k = at[i * width + 1];
    const char *what = NULL;
    if (b < 0 || b >= batch || k < 0 || k >= longest) {
      return fy_fail(
          err, FY_INVALID_ARGUMENT,
          "label SparseTensor is not valid: indices[%lld] = [%lld,%lld] is out of bounds: "
          "need 0 <= index < [%lld,%lld]",
          (long long)i, (long long)b, (long long)k, (long long)batch, (long long)longest);
    }
    if (i) {
      const int64_t b0 = at[(i - 1) * width], k0 = at[(i - 1) * width + 1];
      if (b < b0 || (b == b0 && k < k0)) {
        what = FY_OUT_OF_ORDER;
      } else if (b == b0 && k == k0) {
        what = "repeated";
      }
    }
    if (what) {
      return fy_fail(err, FY_INVALID_ARGUMENT,
                     "label SparseTensor is not valid: indices[%lld] = [%lld,%lld] is %s",
                     (long long)i, (long long)b, (long long)k, what);
    }
  }
  return FY_OK;
}

static void join(fy_str *s, const int32_t *v, int64_t n, int64_t step) {
  for (int64_t i = 0; i < n; i++) fy_str_printf(s, "%s%d", i ? "," : "", (int)v[i * step]);
}

// The labels of row |b| with blanks around each, appended to |to|.
static fy_code expand(const call *c, int64_t b, const int32_t *label, int64_t n, bool collapse,
                      int32_t *to, int64_t *count, fy_error *err) {
  const int32_t blank = (int32_t)c->classes - 1;
  int64_t kept = 0;
  bool finished = false, negative = false;
  fy_str all, seen;
  fy_code code = FY_OK;
  if (n == 0) {
    return fy_fail(err, FY_INVALID_ARGUMENT, "Labels length is zero in batch %lld", (long long)b);
  }
  fy_str_init(&all);
  fy_str_init(&seen);
  to[0] = blank;
  for (int64_t i = 0; i < n && !code; i++) {
    if (i && collapse && label[i] == label[i - 1]) continue;
    if (label[i] >= blank) {
      finished = true;
    } else if (finished) {
      join(&all, label, n, 1);
      join(&seen, to + 1, kept, 2);
      code = fy_fail(err, FY_INVALID_ARGUMENT,
                     "Saw a non-null label (index >= num_classes - 1) following a null label, "
                     "batch: %lld num_classes: %lld labels: %s labels seen so far: %s",
                     (long long)b, (long long)c->classes, fy_str_text(&all), fy_str_text(&seen));
    } else {
      negative |= label[i] < 0;
      to[2 * kept + 1] = label[i];
      to[2 * kept + 2] = blank;
      kept++;
    }
  }
  if (!code && negative) {
    join(&seen, to + 1, kept, 2);
    code = fy_fail(err, FY_INVALID_ARGUMENT,
                   "All labels must be nonnegative integers, batch: %lld labels: %s", (long long)b,
                   fy_str_text(&seen));
  }
  if (!code && !c->ignore_longer && n > c->lengths[b]) {
    code = fy_fail(err, FY_INVALID_ARGUMENT,
                   "Not enough time for target transition sequence (required: %lld, available: "
                   "%d)%lldYou can turn this error into a warning by using the flag "
                   "ignore_longer_outputs_than_inputs",
                   (long long)n, (int)c->lengths[b], (long long)b);
  }
  *count = 2 * kept + 1;
  fy_str_free(&all);
  fy_str_free(&seen);
  return code;
}

static fy_code ctc_loss(fy_kernel_ctx *ctx, fy_error *err) {
  const fy_tensor *in = ctx->in[0], *indices = ctx->in[1], *values = ctx->in[2];
  const bool collapse = fy_site_bool(ctx->site, "preprocess_collapse_repeated");
  FY_TRY(check_shapes(ctx, err));
  FY_TRY(check_indices(indices, in->dims[1], err));
  call c = {.in = in,
            .lengths = ctx->in[3]->data,
            .time = in->dims[0],
            .batch = in->dims[1],
            .classes = in->dims[2],
            .merge = fy_site_bool(ctx->site, "ctc_merge_repeated"),
            .ignore_longer = fy_site_bool(ctx->site, "ignore_longer_outputs_than_inputs")};
  for (int64_t b = 0; b < c.batch; b++) {
    if (c.lengths[b] < 0)
      return fy_fail(err, FY_INVALID_ARGUMENT, "seq_len(%lld) < 0", (long long)b);
  }
  void *memory;
  const size_t batch = (size_t)c.batch, most = (size_t)values->count * 2 + batch;
  FY_TRY(fy_scratch(ctx, (2 * batch + 1) * sizeof(int64_t) + most * sizeof(int32_t), &memory, err));
  int64_t *starts = memory, *plain = starts + batch + 1;
  int32_t *labels = (int32_t *)(plain + batch);
  const int64_t *at = indices->data, width = indices->dims[1];
  starts[0] = 0;
  for (int64_t b = 0, i = 0; b < c.batch; b++) {
    const int64_t from = i;
    int64_t count = 0;
    while (i < values->count && at[i * width] == b) i++;
    plain[b] = i - from;
    FY_TRY(expand(&c, b, (const int32_t *)values->data + from, i - from, collapse,
                  labels + starts[b], &count, err));
    starts[b + 1] = starts[b] + count;
  }
  c.labels = labels;
  c.starts = starts;
  c.plain = plain;
  FY_TRY(fy_out(ctx, 0, 1, &c.batch, &c.loss, err));
  FY_TRY(fy_out_like(ctx, 1, in, &c.grad, err));
  memset(c.loss->data, 0, fy_tensor_bytes(c.loss));
  memset(c.grad->data, 0, fy_tensor_bytes(c.grad));
  fy_parallel(ctx, c.batch, 50.0 * (double)c.time * (double)(c.classes + 8), rows, &c);
  return c.failed ? fy_fail_oom(err, 0) : FY_OK;
}

static fy_code loss_shape(fy_shape_ctx *ctx, fy_error *err) {
  int64_t batch, rows_n;
  FY_TRY(fy_shape_rank_is(ctx->in[0], 3, err));
  FY_TRY(fy_shape_rank_is(ctx->in[1], 2, err));
  FY_TRY(fy_shape_rank_is(ctx->in[2], 1, err));
  FY_TRY(fy_shape_rank_is(ctx->in[3], 1, err));
  FY_TRY(fy_dim_merge(fy_dim_of(ctx->in[1], 0), fy_dim_of(ctx->in[2], 0), &rows_n, err));
  FY_TRY(fy_dim_merge(fy_dim_of(ctx->in[0], 1), fy_dim_of(ctx->in[3], 0), &batch, err));
  FY_TRY(fy_shape_set(ctx, 0, 1, &batch, err));
  if (ctx->in[0].rank == 3) {
    return fy_shape_set(ctx, 1, 3, (int64_t[]){ctx->in[0].dims[0], batch, ctx->in[0].dims[2]}, err);
  }
  return fy_shape_set(ctx, 1, 3, (int64_t[]){-1, batch, -1}, err);
}

static const fy_sample samples[] = {
    {"f32[3,1,3]=normal; i64[2,2]=0,0,0,1; i32[2]=0,1; i32[1]=3", NULL, FY_OK, NULL},
    {"f32[1,1,3]=0,1,0; i64[2,2]=0,0,0,1; i32[2]=0,1; i32[1]=1", NULL, FY_INVALID_ARGUMENT,
     "Not enough time for target transition sequence (required: 2, available: 1)0"},
};

FY_OP(CTCLoss, .shape = loss_shape, .compute = ctc_loss, .flags = FY_OP_HOST, FY_SAMPLES(samples));
