// SPDX-License-Identifier: Apache-2.0
// optimize.c: runs the passes: all that repeat, until nothing changes; then those that run once.

#include "optimize/optimize.h"

#include <string.h>

#include "optimize/rewrite.h"

#define MAX_ROUNDS       4
#define FOLD_LIMIT_BYTES (10 << 20)

#define FY_PASS(name_, once_, what_) \
  static const fy_pass pass_##name_ = {#name_, what_, fy_pass_##name_, once_};
#include "optimize/passes.inc"
#undef FY_PASS

const fy_pass *const fy_passes[] = {
#define FY_PASS(name_, once_, what_) &pass_##name_,
#include "optimize/passes.inc"
#undef FY_PASS
};
const size_t fy_pass_count = sizeof fy_passes / sizeof fy_passes[0];

static bool enabled(const fy_opt_ctx *ctx, const fy_pass *pass) {
  for (size_t i = 0; ctx->disabled && ctx->disabled[i]; i++)
    if (strcmp(ctx->disabled[i], pass->name) == 0) return false;
  return true;
}

static fy_code check_names(const fy_opt_ctx *ctx, fy_error *err) {
  const char *names[sizeof fy_passes / sizeof fy_passes[0]];
  for (size_t i = 0; i < fy_pass_count; i++) names[i] = fy_passes[i]->name;
  for (size_t i = 0; ctx->disabled && ctx->disabled[i]; i++) {
    bool known = false;
    for (size_t k = 0; k < fy_pass_count; k++) known |= strcmp(names[k], ctx->disabled[i]) == 0;
    if (known) continue;
    const char *near = fy_nearest(ctx->disabled[i], names, fy_pass_count);
    return fy_fail(err, FY_INVALID_ARGUMENT, "there is no optimisation pass '%s'%s%s%s",
                   ctx->disabled[i], near ? "; did you mean '" : "", near ? near : "",
                   near ? "'?" : "");
  }
  return FY_OK;
}

static fy_code run_passes(fy_opt_ctx *ctx, bool once, bool *changed, fy_error *err) {
  for (size_t i = 0; i < fy_pass_count; i++) {
    bool did = false;
    if (fy_passes[i]->once != once || !enabled(ctx, fy_passes[i])) continue;
    FY_TRY(fy_passes[i]->run(ctx, &did, err));
    // What only cleans up gives the others nothing new to look at.
    if (fy_passes[i] != &pass_prune) *changed |= did;
  }
  return FY_OK;
}

static fy_code run_all(fy_opt_ctx *ctx, fy_error *err) {
  bool changed = true;
  for (int round = 0; changed && round < MAX_ROUNDS; round++) {
    changed = false;
    FY_TRY(run_passes(ctx, false, &changed, err));
  }
  changed = false;
  FY_TRY(run_passes(ctx, true, &changed, err));
  if (changed && enabled(ctx, &pass_prune)) FY_TRY(pass_prune.run(ctx, &changed, err));
  return FY_OK;
}

fy_code fy_optimize_run(fy_opt_ctx *ctx, fy_error *err) {
  fy_opt_order order = {.nodes = NULL};
  if (ctx->fold_limit_bytes <= 0) ctx->fold_limit_bytes = FOLD_LIMIT_BYTES;
  FY_TRY(check_names(ctx, err));
  fy_arena_init(&order.arena);
  ctx->order = &order;
  fy_code code = run_all(ctx, err);
  ctx->order = NULL;
  fy_arena_free(&order.arena);
  return code;
}
