// SPDX-License-Identifier: Apache-2.0
// fit.c: the last step of building: tasks and layout, and if that does not fit a device's memory, the
// same again with tensors that wait on the host meanwhile (spill.c). A program that cannot be made to
// fit is left as it is: its run says what is missing.

#include <string.h>

#include "base/alloc.h"
#include "execute/build.h"
#include "execute/needs.h"
#include "execute/spill.h"
#include "execute/spill_variables.h"
#include "memory/pool.h"
#include "memory/registry.h"

#define ATTEMPTS 4  // an arena may be a little larger than what lives at once

typedef struct snapshot {
  fy_value *values;
  fy_instr *instrs;
  uint32_t *args;
  uint32_t num_values, num_instrs, num_args;
} snapshot;

static bool keep(const fy_program *p, snapshot *s) {
  *s =
      (snapshot){.num_values = p->num_values, .num_instrs = p->num_instrs, .num_args = p->num_args};
  s->values = fy_calloc(p->num_values + 1u, sizeof *s->values);
  s->instrs = fy_calloc(p->num_instrs + 1u, sizeof *s->instrs);
  s->args = fy_calloc(p->num_args + 1u, sizeof *s->args);
  if (!s->values || !s->instrs || !s->args) return false;
  if (p->num_values) memcpy(s->values, p->values, p->num_values * sizeof *s->values);
  if (p->num_instrs) memcpy(s->instrs, p->instrs, p->num_instrs * sizeof *s->instrs);
  if (p->num_args) memcpy(s->args, p->args, p->num_args * sizeof *s->args);
  return true;
}

static void drop(snapshot *s) {
  fy_free(s->values);
  fy_free(s->instrs);
  fy_free(s->args);
}

// The program as it was kept. The new arrays are made first: it stays whole when memory is short.
static fy_code restore(fy_program *p, const snapshot *s, fy_error *err) {
  fy_program like = {.values = s->values,
                     .instrs = s->instrs,
                     .args = s->args,
                     .num_values = s->num_values,
                     .num_instrs = s->num_instrs,
                     .num_args = s->num_args};
  snapshot fresh;
  if (!keep(&like, &fresh)) {
    drop(&fresh);
    return fy_fail_oom(err, s->num_values * sizeof *s->values);
  }
  fy_program_replace(p, fresh.instrs, s->num_instrs, fresh.args, s->num_args, fresh.values,
                     s->num_values);
  p->num_lives = 0;
  p->num_fresh = 0;
  p->num_tasks = 0;
  memset(&p->spill, 0, sizeof p->spill);
  return FY_OK;
}

static fy_code lay_out(fy_program *p, fy_error *err) {
  FY_TRY(fy_program_make_tasks(p, err));
  return fy_program_layout(p, err);
}

uint64_t fy_program_may_hold(const fy_device *d) {
  fy_others others;
  fy_registry_others(d, &others);
  const uint64_t limit = fy_memory_limit(d);
  const uint64_t total = d->facts.memory_total;
  const uint64_t left = total > others.bytes ? total - others.bytes : 1;
  return others.bytes && left < limit ? left : limit;
}

// What the plan takes of |space|; |*fixed|: the part that is results, which cannot wait elsewhere.
static uint64_t taken_of(const fy_program *p, int space, uint64_t *fixed) {
  const fy_device *d = p->devices->items[space - 1];
  uint64_t taken =
      p->plan.arena_bytes[space] ? fy_mempool_taken(d->memory, p->plan.arena_bytes[space]) : 0;
  *fixed = 0;
  for (uint32_t v = 0; v < p->num_values; v++) {
    const fy_value *val = &p->values[v];
    if (val->space != space || val->rank < 0) continue;
    if (val->storage == FY_STORE_CONST) taken += fy_memory_tensor_taken(d, val->bytes);
    if (val->storage != FY_STORE_FETCH || val->root != v) continue;
    taken += fy_memory_tensor_taken(d, val->bytes);
    *fixed += fy_memory_tensor_taken(d, val->bytes);
  }
  fy_variable_needs needs;
  if (space < 65 && p->spill.held[space])
    taken += p->spill.held[space];
  else if (!fy_program_variables(p, space, &needs, NULL))
    taken += needs.taken;
  return taken;
}

typedef struct share {  // of a memory that is too small
  uint64_t budget;  // for what is planned, and constants and variables that stay for good; 0 = all
  uint64_t held;    // for variables that the program changes, while they move; 0 = they stay
  int tries, shrunk;  // how often the two were divided anew, and the budget was made smaller since
} share;

static int first_over(const fy_program *p, uint64_t *fixed) {
  for (int space = 1; space < p->plan.num_spaces; space++) {
    const fy_device *d = p->devices->items[space - 1];
    const uint64_t limit = fy_program_may_hold(d);
    if (d->is_host || !limit) continue;
    if (taken_of(p, space, fixed) > limit) return space;
  }
  return 0;
}

bool fy_program_fits(const fy_program *p) {
  uint64_t fixed;
  return !first_over(p, &fixed);
}

// Divides what |space| may hold between variables that the program changes and all else. The first try
// leaves those variables where they are; the following ones move them, with less and less room.
static fy_code divide(const fy_program *p, int space, uint64_t fixed, share *s, bool *more,
                      fy_error *err) {
  const uint64_t limit = fy_program_may_hold(p->devices->items[space - 1]);
  fy_variable_needs needs;
  FY_TRY(fy_program_variables(p, space, &needs, err));
  // Variables are pieces of their own: a pool cannot fill every gap between them.
  const uint64_t loss = fixed + 512 + (needs.taken ? limit / 16 : 0);
  const uint64_t have = limit > loss ? limit - loss : 0;
  uint64_t held = needs.taken;
  *more = true;
  if (s->tries > 0) {
    const uint64_t spare = have > needs.least ? have - needs.least : 0;
    held = needs.least + (s->tries < 4 ? spare >> s->tries : 0);
    if (held > needs.taken) held = needs.taken;
    *more = s->tries <= 4 && needs.taken > 0 && have > needs.least;
  }
  s->held = s->tries > 0 ? held : 0;
  s->budget = have > held ? have - held : 0;
  s->tries++;
  s->shrunk = 0;
  return FY_OK;
}

// The program with its copies: OUT_OF_RANGE if one instruction alone is too much.
static fy_code spill_all(fy_program *p, const snapshot *s, const share *shares, fy_error *err) {
  FY_TRY(restore(p, s, err));
  for (int k = 1; k < 65 && k <= p->devices->n; k++) {
    if (!shares[k].tries) continue;
    FY_TRY(fy_program_read_again(p, k, shares[k].held > 0, err));
    FY_TRY(fy_program_stream_reads(p, k, err));
    FY_TRY(fy_program_spill(p, k, shares[k].budget, err));
    if (shares[k].held) FY_TRY(fy_program_move_variables(p, k, shares[k].held, err));
  }
  return lay_out(p, err);
}

// The needs of the variables that the program changes, once the others are read from the host.
static fy_code divide_anew(fy_program *p, const snapshot *s, int space, uint64_t fixed,
                           share *shares, bool *more, fy_error *err) {
  FY_TRY(restore(p, s, err));
  FY_TRY(fy_program_read_again(p, space, shares[space].tries > 0, err));
  FY_TRY(fy_program_stream_reads(p, space, err));
  return divide(p, space, fixed, &shares[space], more, err);
}

// It fits: variables that move get what is left over, unless that undoes it. A quarter stays free: they
// come and go in pieces of their own, which leaves gaps.
static fy_code use_rest(fy_program *p, const snapshot *s, share *shares, fy_error *err) {
  share more[65];
  bool any = false;
  uint64_t fixed;
  memcpy(more, shares, sizeof more);
  for (int k = 1; k < 65 && k < p->plan.num_spaces; k++) {
    if (!more[k].held || !p->spill.held[k]) continue;
    const uint64_t limit = fy_program_may_hold(p->devices->items[k - 1]);
    const uint64_t taken = taken_of(p, k, &fixed);
    if (taken >= limit - limit / 4) continue;
    more[k].held = p->spill.held[k] + (limit - limit / 4 - taken);
    any = true;
  }
  if (!any) return FY_OK;
  fy_code code = spill_all(p, s, more, err);
  if (!code && !first_over(p, &fixed)) return FY_OK;
  if (err) fy_error_clear(err);
  return spill_all(p, s, shares, err);
}

// Spills every space that is too small, with less and less of it in use.
static fy_code make_fit(fy_program *p, const snapshot *s, bool *done, fy_error *err) {
  *done = false;
  share shares[65] = {{0}};
  for (int attempt = 0; attempt < (ATTEMPTS + 1) * 5 * p->devices->n; attempt++) {
    uint64_t fixed = 0;
    const int space = first_over(p, &fixed);
    *done = !space;
    if (*done) return use_rest(p, s, shares, err);
    if (space >= 65) return FY_OK;
    share *sh = &shares[space];
    bool more = true;
    if (sh->tries && sh->shrunk++ < ATTEMPTS)
      sh->budget -= sh->budget / 12;  // an arena is a little larger than what lives at once
    else
      FY_TRY(divide_anew(p, s, space, fixed, shares, &more, err));
    fy_code code = FY_OUT_OF_RANGE;
    while (more && (code = spill_all(p, s, shares, err)) == FY_OUT_OF_RANGE) {
      if (err) fy_error_clear(err);
      FY_TRY(divide_anew(p, s, space, fixed, shares, &more, err));
    }
    if (code == FY_OUT_OF_RANGE) return FY_OK;
    if (code) return code;
  }
  uint64_t ignore;
  *done = !first_over(p, &ignore);
  return FY_OK;
}

// Weights that kernels keep packed.
static uint64_t packed_bytes(const fy_program *p) {
  uint64_t bytes = 0;
  for (uint32_t i = 0; i < p->num_instrs; i++) bytes += p->instrs[i].kept_bytes;
  return bytes;
}

// The host's limit that was asked for; 0: none, it has what the machine has.
static uint64_t asked_limit(const fy_program *p) {
  fy_mempool_stats s;
  fy_mempool_stats_get(p->devices->client->memory, &s);
  return s.limit_bytes;
}

// Where the host's arena and what must lie beside it are more than the host has, the arena is a file.
static void use_file(fy_program *p) {
  const fy_device *d = p->devices->client;
  const uint64_t limit = fy_memory_limit(d);
  if (!p->plan.num_spaces || !p->plan.arena_bytes[0] || !limit) return;
  const uint64_t arena = fy_mempool_taken(d->memory, p->plan.arena_bytes[0]);
  // A limit counts what the allocator gives out; the machine's memory holds everything.
  const bool holds_all = !asked_limit(p);
  uint64_t beside = packed_bytes(p);
  for (uint32_t v = 0; v < p->num_values; v++) {
    const fy_value *val = &p->values[v];
    if (val->space || val->rank < 0 || val->root != v) continue;
    if (val->storage == FY_STORE_FETCH) beside += fy_memory_tensor_taken(d, val->bytes);
    if (holds_all && (val->storage == FY_STORE_CONST || val->storage == FY_STORE_FEED))
      beside += val->bytes;
  }
  if (arena + beside > limit && beside <= limit) p->spill.file_bytes = p->plan.arena_bytes[0];
}

// Where the host's limit has no room for packed weights, kernels pack them at every call: slow, but it runs.
// (Before the layout: which values are results is not known yet.)
static fy_code pack_each_time(fy_program *p, fy_error *err) {
  const uint64_t limit = asked_limit(p);
  if (!limit || packed_bytes(p) <= limit) return FY_OK;
  for (uint32_t i = 0; i < p->num_instrs; i++)
    if (p->instrs[i].kept_bytes) p->instrs[i].site->steady_inputs = 0;
  return fy_program_find_needs(p, err);
}

fy_code fy_program_fit(fy_program *p, fy_error *err) {
  snapshot s;
  uint64_t fixed;
  bool done = true;
  FY_TRY(fy_program_find_needs(p, err));
  if (!p->options->spill) return lay_out(p, err);
  FY_TRY(pack_each_time(p, err));
  if (!p->has_devices) {
    FY_TRY(lay_out(p, err));
    use_file(p);
    return FY_OK;
  }
  bool kept = keep(p, &s);
  fy_code code = kept ? lay_out(p, err) : fy_fail_oom(err, p->num_values * sizeof *s.values);
  if (!code && first_over(p, &fixed)) code = make_fit(p, &s, &done, err);
  if (!code && !done) {
    code = restore(p, &s, err);
    if (!code) code = lay_out(p, err);
  }
  drop(&s);
  if (!code) use_file(p);
  return code;
}
