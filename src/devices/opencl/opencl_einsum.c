// SPDX-License-Identifier: Apache-2.0
// opencl_einsum.c: Einsum. Where the labels lie at regular steps, which is nearly always, it is a
// batch of products of matrices; else a kernel looks every position up in the tables of ops/einsum.h.

#include "devices/opencl/opencl_impl.h"

#ifdef FY_OPENCL

#include <stdio.h>
#include <string.h>

#include "base/alloc.h"
#include "ops/einsum.h"

// The distance between neighbours where it is the same for all and the first is at 0.
static bool steps(const int64_t *at, int64_t n, int64_t *step) {
  *step = n > 1 ? at[1] - at[0] : 0;
  for (int64_t i = 1; i < n; i++)
    if (at[i] - at[i - 1] != *step) return false;
  return n == 0 || at[0] == 0;
}

// at[i] == i / inner * outer_step + i % inner * step for all i?
static bool steps_twice(const int64_t *at, int64_t n, int64_t inner, int64_t out[2]) {
  out[1] = inner > 1 ? at[1] : 0;
  out[0] = n > inner ? at[inner] : 0;
  for (int64_t i = 0; i < n; i++)
    if (at[i] != i / inner * out[0] + i % inner * out[1]) return false;
  return true;
}

// The batch as one or two dims with the same steps in all three tensors.
static bool batch_geo(const fy_einsum_job *j, fy_ocl_geo *g) {
  const int64_t *tables[3] = {j->a_batch, j->b_batch, j->o_batch};
  int64_t inner = j->batch;
  for (int k = 0; k < 3; k++) {  // where the first table's steps break
    int64_t n = 1;
    while (n < j->batch && tables[k][n] == n * tables[k][1]) n++;
    if (n < inner) inner = n;
  }
  memset(g, 0, sizeof *g);
  g->rank = 2;
  g->dims[0] = j->batch / inner;
  g->dims[1] = inner;
  if (g->dims[0] * inner != j->batch) return false;
  for (int k = 0; k < 3; k++) {
    int64_t s[2];
    if (!steps_twice(tables[k], j->batch, inner, s)) return false;
    g->s[k][0] = s[0];
    g->s[k][1] = s[1];
  }
  return true;
}

static fy_code by_tables(fy_ocl_call *c, const fy_einsum_job *j, fy_tensor *out, fy_error *err) {
  const struct {
    const int64_t *at;
    int64_t n;
  } parts[] = {{j->a_batch, j->batch}, {j->a_rows, j->rows}, {j->a_inner, j->inner},
               {j->b_batch, j->batch}, {j->b_cols, j->cols}, {j->b_inner, j->inner},
               {j->o_batch, j->batch}, {j->o_rows, j->rows}, {j->o_cols, j->cols}};
  const fy_tensor *x = c->ctx.in[0], *y = c->ctx.site->num_inputs > 1 ? c->ctx.in[1] : NULL;
  size_t n = 0, at = 0;
  for (size_t i = 0; i < sizeof parts / sizeof *parts; i++) n += (size_t)parts[i].n;
  int64_t *table = fy_malloc(n * sizeof *table);
  void *there;
  if (!table) return fy_fail_oom(err, n * sizeof *table);
  for (size_t i = 0; i < sizeof parts / sizeof *parts; i++) {
    memcpy(table + at, parts[i].at, (size_t)parts[i].n * sizeof *table);
    at += (size_t)parts[i].n;
  }
  fy_code code = fy_ocl_scratch(c, n * sizeof *table, &there, err);
  if (!code)
    code = (fy_code)fy_ocl_copy(c->ocl->device, FY_COPY_HOST_TO_DEVICE, there, table,
                                n * sizeof *table, NULL, NULL, NULL, err);
  fy_free(table);
  if (code) return code;
  char options[160];
  snprintf(options, sizeof options, "%s -DTABLES", fy_ocl_options(x->dtype));
  fy_ocl_args a;
  fy_ocl_args_init(&a, c);
  fy_ocl_add_in(&a, x);
  fy_ocl_add_in(&a, y ? y : x);
  fy_ocl_add_out(&a, out);
  fy_ocl_add_memory(&a, there, n * sizeof(int64_t), sizeof(int64_t), false);
  fy_ocl_add_long(&a, j->batch);
  fy_ocl_add_long(&a, j->rows);
  fy_ocl_add_long(&a, j->cols);
  fy_ocl_add_long(&a, j->inner);
  fy_ocl_add_int(&a, y == NULL);
  return fy_ocl_run(&a, fy_ocl_src_gemm, options, "einsum", j->batch * j->rows * j->cols, false,
                    err);
}

fy_code fy_ocl_einsum(fy_ocl_call *c, int arg, fy_error *err) {
  fy_einsum_job j;
  fy_ocl_product p;
  fy_error ignored;
  (void)arg;
  for (int i = 0; i < c->ctx.site->num_inputs; i++)
    if (!fy_ocl_here(c, c->ctx.in[i]) && c->ctx.in[i]->count) return FY_OCL_DETOUR;
  fy_error_init(&ignored);
  fy_code valid = fy_einsum_begin(&c->ctx, &j, &ignored);
  fy_error_clear(&ignored);
  if (valid) return FY_OCL_DETOUR;
  fy_tensor *out = c->outer->out[0];
  if (out->count == 0) return FY_OK;
  if (!fy_ocl_here(c, out)) return FY_OCL_DETOUR;
  if (!j.inner || j.batch * j.rows * j.cols != out->count)  // a diagonal: zeros around it
    FY_TRY(fy_ocl_fill(c, out, NULL, err));
  if (!j.inner || !j.batch) return FY_OK;
  memset(&p, 0, sizeof p);
  p.m = j.rows, p.n = j.cols, p.k = j.inner;
  if (c->ctx.site->num_inputs == 2 && steps(j.a_rows, j.rows, &p.a_row) &&
      steps(j.a_inner, j.inner, &p.a_col) && steps(j.b_inner, j.inner, &p.b_row) &&
      steps(j.b_cols, j.cols, &p.b_col) && steps(j.o_rows, j.rows, &p.out_row) &&
      steps(j.o_cols, j.cols, &p.out_col) && batch_geo(&j, &p.batch))
    return fy_ocl_multiply(c, &p, j.batch, c->ctx.in[0], c->ctx.in[1], out, err);
  return by_tables(c, &j, out, err);
}

#else
typedef int fy_opencl_einsum_is_empty;
#endif
