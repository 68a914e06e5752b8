// SPDX-License-Identifier: Apache-2.0
// print.c: Print: passes its first input on and writes the others to stderr, at most first_n times.

#include <stdio.h>

#include "base/alloc.h"
#include "ops/shape_fns.h"

typedef struct counter {
  int64_t done;
} counter;

static fy_code prepare(fy_site *site, fy_error *err) {
  counter *c = fy_calloc(1, sizeof *c);
  if (!c) return fy_fail_oom(err, sizeof *c);
  site->state = c;
  return FY_OK;
}

static fy_code print(fy_kernel_ctx *ctx, fy_error *err) {
  counter *c = ctx->site->state;
  const int64_t first = fy_site_int(ctx->site, "first_n");
  const int64_t limit = fy_site_int(ctx->site, "summarize");
  const fy_view message = fy_site_string(ctx->site, "message");
  FY_TRY(fy_out_alias(ctx, 0, 0, ctx->in[0]->rank, ctx->in[0]->dims, err));
  if (first >= 0 && __atomic_load_n(&c->done, __ATOMIC_RELAXED) >= first) return FY_OK;
  __atomic_fetch_add(&c->done, 1, __ATOMIC_RELAXED);
  fy_str s;
  fy_str_init(&s);
  if (message.n) fy_str_addn(&s, message.p, message.n);
  for (int i = 1; i < ctx->site->num_inputs; i++) {
    fy_str_addc(&s, '[');
    fy_tensor_print(&s, ctx->in[i], limit < 0 ? ctx->in[i]->count : limit);
    fy_str_addc(&s, ']');
  }
  fy_str_addc(&s, '\n');
  if (!s.failed) fwrite(s.p, 1, s.len, stderr);
  const bool failed = s.failed;
  fy_str_free(&s);
  return failed ? fy_fail_oom(err, 1) : FY_OK;
}

static const fy_sample samples[] = {{"f32[2]=1,2", "U=[]; first_n=0", FY_OK, "1,2"}};

FY_OP(Print, .shape = fy_shape_unchanged, .prepare = prepare, .compute = print, .release = fy_free,
      .flags = FY_OP_HOST | FY_OP_ALIAS | FY_OP_NO_FOLD, FY_SAMPLES(samples));
