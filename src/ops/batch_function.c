// SPDX-License-Identifier: Apache-2.0
// batch_function.c: BatchFunction: calls a function once for the rows of many concurrent runs, and gives
// each run its rows of the results. A task of more rows than a batch has is cut into several if
// enable_large_batch_splitting says so. Tasks of low priority are treated like all others.

#include "base/alloc.h"
#include "ops/batch_queue.h"
#include "ops/shape_fns.h"
#include "ops/values.h"

static int num_batched(const fy_site *site) {
  const fy_attr *types = fy_site_attr(site, "Tin");
  return types ? (int)types->n : 0;
}

static fy_code call(fy_kernel_ctx *ctx, fy_tensor *const *args, fy_tensor **results,
                    fy_error *err) {
  const fy_site *site = ctx->site;
  if (!site->functions || site->num_functions < 1 || !ctx->svc->call)
    return fy_fail(err, FY_INTERNAL, "BatchFunction: its function was not instantiated");
  FY_TRY(ctx->svc->call(ctx, site->functions[0], args, site->num_inputs, results, site->num_outputs,
                        err));
  fy_code code = FY_OK;
  for (int i = 0; i < site->num_outputs && !code; i++) {
    if (!results[i]->device || !ctx->svc->to_host) continue;
    fy_tensor *host = NULL;
    code = ctx->svc->to_host(ctx, results[i], &host, err);
    if (code) break;
    fy_tensor_release(results[i]);
    results[i] = host;
  }
  return code;
}

// Each task's rows of result |i|.
static fy_code split(const fy_tensor *t, int i, fy_batch_task **tasks, int n, int64_t padding,
                     fy_error *err) {
  int64_t rows = 0, at = 0;
  for (int k = 0; k < n; k++) rows += tasks[k]->rows;
  if (!t->rank)
    return fy_fail(err, FY_FAILED_PRECONDITION, "Batched output tensor has 0 dimensions");
  if (t->dims[0] != rows + padding)
    return fy_fail(
        err, FY_FAILED_PRECONDITION,
        "Batched output tensor's 0th dimension does not equal the sum of the 0th dimension "
        "sizes of the input tensors. 0th dimension size: %lld; batch size: %lld; unbatched "
        "tasks size: 0; padding size: %lld",
        (long long)t->dims[0], (long long)rows, (long long)padding);
  for (int k = 0; k < n; k++) {
    FY_TRY(fy_batch_rows(t, at, tasks[k]->rows, &tasks[k]->out[i], err));
    at += tasks[k]->rows;
  }
  return FY_OK;
}

static fy_code run_batch(fy_kernel_ctx *ctx, fy_batch_queue *q, fy_batch_task **tasks, int n,
                         fy_error *err) {
  const fy_site *site = ctx->site;
  const int num_in = num_batched(site), num_out = site->num_outputs;
  fy_tensor **args = fy_calloc((size_t)site->num_inputs + (size_t)num_out + 1, sizeof *args);
  if (!args) return fy_fail_oom(err, sizeof *args);
  fy_tensor **results = args + site->num_inputs;
  fy_code code = FY_OK;
  int64_t rows = 0;
  for (int k = 0; k < n; k++) rows += tasks[k]->rows;
  const int64_t padded = fy_batch_queue_round(q, rows);
  for (int i = 0; i < num_in && !code; i++)
    code = fy_batch_concat(tasks, n, i, padded, &args[i], err);
  for (int i = num_in; i < site->num_inputs; i++) args[i] = ctx->in[i];
  if (!code) code = call(ctx, args, results, err);
  for (int i = 0; i < num_out && !code; i++)
    code = split(results[i], i, tasks, n, padded - rows, err);
  for (int i = 0; i < num_in; i++) fy_tensor_release(args[i]);
  for (int i = 0; i < num_out; i++) fy_tensor_release(results[i]);
  fy_free(args);
  return code;
}

// The results of all |parts| of this call, one after another.
static fy_code publish(fy_kernel_ctx *ctx, fy_batch_task **parts, int n, fy_error *err) {
  for (int i = 0; i < ctx->site->num_outputs; i++) {
    fy_tensor *whole = parts[0]->out[i];
    if (n == 1) {
      parts[0]->out[i] = NULL;
    } else {
      int64_t rows = 0;
      for (int k = 0; k < n; k++) {  // its results take the place of its inputs
        rows += parts[k]->rows;
        fy_tensor_release(parts[k]->in[0]);
        parts[k]->in[0] = parts[k]->out[i];
        parts[k]->out[i] = NULL;
      }
      fy_code code = fy_batch_concat(parts, n, 0, rows, &whole, err);
      if (code) {
        fy_tensor_release(whole);
        return code;
      }
    }
    fy_out_set(ctx, i, whole);
  }
  return FY_OK;
}

static fy_code run_parts(fy_kernel_ctx *ctx, fy_batch_queue *q, fy_batch_task **parts, int n,
                         int64_t rows, fy_error *err) {
  const int64_t most = n == 1 ? rows : fy_batch_queue_most(q);
  int handed_in = 0;
  fy_code code = FY_OK;
  for (int k = 0; k < n && !code; k++) {
    const int64_t first = k * most;
    code = fy_batch_task_new(ctx, num_batched(ctx->site), ctx->site->num_outputs, first,
                             rows - first < most ? rows - first : most, &parts[k], err);
    if (!code) code = fy_batch_submit(q, parts[k], err);
    if (!code) handed_in++;
  }
  for (int k = 0; k < handed_in; k++) {  // also after an error: others have them in their hands
    fy_error other;
    fy_error_init(&other);
    const fy_code got = fy_batch_wait(ctx, q, parts[k], run_batch, &other);
    if (got && !code) code = fy_fail(err, got, "%s", fy_error_text(&other));
    fy_error_clear(&other);
  }
  return code ? code : publish(ctx, parts, n, err);
}

static fy_code call_alone(fy_kernel_ctx *ctx, fy_error *err) {
  const int n = ctx->site->num_outputs;
  fy_tensor **results = fy_calloc((size_t)n + 1, sizeof *results);
  if (!results) return fy_fail_oom(err, sizeof *results);
  const fy_code code = call(ctx, ctx->in, results, err);
  for (int i = 0; i < n; i++) {
    if (code)
      fy_tensor_release(results[i]);
    else
      fy_out_set(ctx, i, results[i]);
  }
  fy_free(results);
  return code;
}

static fy_code compute(fy_kernel_ctx *ctx, fy_error *err) {
  fy_batch_queue *q;
  int64_t rows = 0;
  FY_TRY(fy_batch_queue_get(ctx, &q, err));
  fy_code code = fy_batch_check(ctx, num_batched(ctx->site), &rows, err);
  if (!code && !rows) {
    code = call_alone(ctx, err);
  } else if (!code) {
    const int64_t most = fy_batch_queue_most(q);
    const bool splits = rows > most && rows <= fy_site_int(ctx->site, "max_batch_size") &&
                        fy_site_bool(ctx->site, "enable_large_batch_splitting");
    const int64_t n = splits ? (rows - 1) / most + 1 : 1;
    fy_batch_task **parts = fy_calloc((size_t)n, sizeof *parts);
    code = parts ? run_parts(ctx, q, parts, (int)n, rows, err)
                 : fy_fail_oom(err, (size_t)n * sizeof *parts);
    for (int64_t k = 0; parts && k < n; k++) fy_batch_task_free(parts[k]);
    fy_free(parts);
  }
  fy_batch_queue_release(q);
  return code;
}

FY_OP(BatchFunction, .shape = fy_shape_none, .compute = compute,
      .flags = FY_OP_HOST | FY_OP_ASYNC | FY_OP_NO_FOLD | FY_OP_SETS_OUTPUT | FY_OP_DYNAMIC |
               FY_OP_CALLS_FUNCTIONS);
