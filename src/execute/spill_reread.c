// SPDX-License-Identifier: Apache-2.0
// spill_reread.c: a variable that was read must stay until the last reader of what was read. So each
// reader gets a reading of its own, just before it, as long as nothing may have changed the variable
// meanwhile.

#include <string.h>

#include "base/alloc.h"
#include "execute/build.h"
#include "execute/spill_impl.h"

typedef struct rereader {
  fy_var_uses v;
  fy_program *p;
  fy_instr *instrs;
  uint32_t num_instrs, *args, num_args, num_values;
  fy_value *values;
  size_t cap_instrs, cap_args, cap_values;
  uint32_t *read_by;  // [old values] the instruction that reads a variable into it, or NONE
  uint32_t *is;       // [old values] the value that it only is another name of, or itself
  uint8_t *stale;     // [old values] the variable may have changed since
  bool each;
} rereader;

static void note_changes(rereader *r, const fy_instr *ins) {
  const bool all = fy_instr_calls(ins);
  for (uint32_t k = 0; !all && k < ins->num_in; k++) {
    const uint32_t value = r->p->args[ins->in + k], which = r->v.of[value];
    if (which == NONE || r->p->values[value].dtype != FY_RESOURCE || fy_instr_only_looks(ins))
      continue;
    for (uint32_t v = 0; v < r->p->num_values; v++)
      if (r->read_by[v] != NONE && r->v.of[v] == which) r->stale[v] = 1;
  }
  for (uint32_t v = 0; all && v < r->p->num_values; v++) r->stale[v] = 1;
}

static fy_code read_again(rereader *r, uint32_t v, uint32_t *out, fy_error *err) {
  fy_instr ins = r->p->instrs[r->read_by[v]];
  if (!fy_grow(&r->instrs, &r->cap_instrs, r->num_instrs + 2u, sizeof *r->instrs) ||
      !fy_grow(&r->args, &r->cap_args, r->num_args + 2u, sizeof *r->args) ||
      !fy_grow(&r->values, &r->cap_values, r->num_values + 1u, sizeof *r->values))
    return fy_fail_oom(err, sizeof *r->values);
  *out = r->num_values;
  r->values[r->num_values] = r->values[v];
  r->values[r->num_values].root = r->values[r->num_values].origin = r->num_values;
  r->args[r->num_args] = r->p->args[ins.in];
  r->args[r->num_args + 1] = r->num_values++;
  ins.in = r->num_args;
  ins.out = r->num_args + 1;
  r->num_args += 2;
  r->instrs[r->num_instrs++] = ins;
  return FY_OK;
}

// Identity of what was read: readers of the one may as well read the other.
static bool renames_reading(const rereader *r, const fy_instr *ins) {
  if (ins->kind != FY_INSTR_KERNEL || strcmp(ins->node->op_name, "Identity") != 0) return false;
  const uint32_t in = r->is[r->p->args[ins->in]], out = r->p->args[ins->out];
  const fy_value *a = &r->p->values[in], *b = &r->p->values[out];
  return r->read_by[in] != NONE && !b->fetched && b->root == out && a->space == b->space &&
         a->dtype == b->dtype && fy_shape_equal(a->rank, a->dims, b->rank, b->dims);
}

static fy_code reread_step(rereader *r, uint32_t at, fy_error *err) {
  const fy_instr *ins = &r->p->instrs[at];
  if (renames_reading(r, ins)) {
    r->is[r->p->args[ins->out]] = r->is[r->p->args[ins->in]];
    r->values[r->p->args[ins->out]].storage = FY_STORE_DYNAMIC;
    return FY_OK;
  }
  for (uint32_t k = 0; k < ins->num_in; k++)
    if (r->args[ins->in + k] < r->p->num_values) r->args[ins->in + k] = r->is[r->args[ins->in + k]];
  for (uint32_t k = 0; r->each && k < ins->num_in; k++) {
    const uint32_t v = r->args[ins->in + k];
    if (v >= r->p->num_values || r->read_by[v] == NONE || r->stale[v] ||
        r->v.at[r->v.of[v]].only_read)
      continue;
    uint32_t fresh = v;
    FY_TRY(read_again(r, v, &fresh, err));
    for (uint32_t i = k; i < ins->num_in; i++)
      if (r->args[ins->in + i] == v) r->args[ins->in + i] = fresh;
  }
  if (!fy_grow(&r->instrs, &r->cap_instrs, r->num_instrs + 1u, sizeof *r->instrs))
    return fy_fail_oom(err, sizeof *r->instrs);
  r->instrs[r->num_instrs++] = *ins;
  if (fy_instr_is_read(ins) && fy_var_uses_there(&r->v, ins) &&
      r->v.of[r->p->args[ins->in]] != NONE && !r->p->values[r->p->args[ins->out]].fetched)
    r->read_by[r->p->args[ins->out]] = at;
  note_changes(r, ins);
  return FY_OK;
}

// Readings whose value nobody reads any more go.
static void drop_unread(rereader *r) {
  uint32_t n = 0;
  uint8_t *read = fy_calloc(r->num_values + 1u, 1);
  if (!read) return;  // they cost little
  for (uint32_t i = 0; i < r->num_instrs; i++)
    for (uint32_t k = 0; k < r->instrs[i].num_in; k++) read[r->args[r->instrs[i].in + k]] = 1;
  for (uint32_t i = 0; i < r->num_instrs; i++) {
    const fy_instr *ins = &r->instrs[i];
    const uint32_t out = ins->num_out ? r->args[ins->out] : NONE;
    const bool was = out != NONE && out < r->p->num_values && r->read_by[out] != NONE;
    if (was && !read[out]) {
      r->values[out].storage = FY_STORE_DYNAMIC;
      continue;
    }
    r->instrs[n++] = *ins;
  }
  r->num_instrs = n;
  fy_free(read);
}

fy_code fy_program_read_again(fy_program *p, int space, bool each, fy_error *err) {
  rereader r = {.p = p, .num_args = p->num_args, .num_values = p->num_values, .each = each};
  fy_code code = fy_var_handles(p, space, &r.v, err);
  const bool any = !code && r.v.n > 0;
  if (!code && any) {
    r.read_by = fy_calloc(p->num_values + 1u, sizeof *r.read_by);
    r.is = fy_calloc(p->num_values + 1u, sizeof *r.is);
    r.stale = fy_calloc(p->num_values + 1u, 1);
    if (!r.read_by || !r.is || !r.stale ||
        !fy_grow(&r.args, &r.cap_args, p->num_args + 1u, sizeof *r.args) ||
        !fy_grow(&r.values, &r.cap_values, p->num_values + 1u, sizeof *r.values))
      code = fy_fail_oom(err, p->num_values * sizeof *r.values);
  }
  if (!code && any) {
    memcpy(r.args, p->args, p->num_args * sizeof *r.args);
    memcpy(r.values, p->values, p->num_values * sizeof *r.values);
    for (uint32_t v = 0; v < p->num_values; v++) r.read_by[v] = NONE, r.is[v] = v;
    for (uint32_t i = 0; !code && i < p->num_instrs; i++) code = reread_step(&r, i, err);
  }
  if (!code && any) {
    drop_unread(&r);
    fy_program_replace(p, r.instrs, r.num_instrs, r.args, r.num_args, r.values, r.num_values);
    fy_program_renumber(p);
  } else {
    fy_free(r.instrs);
    fy_free(r.args);
    fy_free(r.values);
  }
  fy_free(r.read_by);
  fy_free(r.is);
  fy_free(r.stale);
  fy_var_uses_drop(&r.v);
  return code;
}
