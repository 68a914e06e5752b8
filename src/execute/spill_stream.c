// SPDX-License-Identifier: Apache-2.0
// spill_stream.c: variables that a program only reads. Their values stay on the host: the reading becomes
// one of the host, and a copy brings the value into the arena, where it is a tensor like any other that
// can be had again (spill.c): it is dropped without being written back.

#include <string.h>

#include "base/alloc.h"
#include "execute/build.h"
#include "execute/spill_impl.h"

// Whether value |v| has readers that may keep it under another name, or is a result.
static fy_code find_lent(const fy_program *p, uint8_t **out, fy_error *err) {
  uint8_t *lent = *out = fy_calloc(p->num_values + 1u, 1);
  if (!lent) return fy_fail_oom(err, p->num_values);
  for (uint32_t v = 0; v < p->num_values; v++) lent[v] = p->values[v].fetched;
  for (uint32_t i = 0; i < p->num_instrs; i++) {
    const fy_instr *ins = &p->instrs[i];
    const bool lends = ins->kind == FY_INSTR_KERNEL &&
                       (!ins->site->op->impl ||
                        (fy_instr_flags(ins) & (FY_OP_ALIAS | FY_OP_SETS_OUTPUT | FY_OP_DYNAMIC)));
    for (uint32_t k = 0; lends && k < ins->num_in; k++) lent[p->args[ins->in + k]] = 1;
  }
  return FY_OK;
}

static bool may_stream(const fy_var_uses *s, const uint8_t *lent, const fy_instr *ins) {
  if (!fy_instr_is_read(ins) || !fy_var_uses_there(s, ins)) return false;
  const uint32_t v = s->p->args[ins->out], which = s->of[s->p->args[ins->in]];
  const fy_value *val = &s->p->values[v];
  return which != NONE && s->at[which].only_read && s->at[which].known && val->rank >= 0 &&
         val->root == v && val->space == s->space && val->bytes > 0 && !lent[v];
}

fy_code fy_program_stream_reads(fy_program *p, int space, fy_error *err) {
  fy_var_uses s;
  uint8_t *lent = NULL;
  fy_code code = fy_var_uses_find(p, space, &s, err);
  if (!code) code = find_lent(p, &lent, err);
  uint32_t count = 0, n = 0;
  for (uint32_t i = 0; !code && i < p->num_instrs; i++)
    count += may_stream(&s, lent, &p->instrs[i]);
  fy_instr *instrs = NULL;
  uint32_t *args = NULL;
  fy_value *values = NULL;
  if (!code && count) {
    instrs = fy_calloc((size_t)p->num_instrs + count + 1, sizeof *instrs);
    args = fy_calloc((size_t)p->num_args + 2ull * count + 1, sizeof *args);
    values = fy_calloc((size_t)p->num_values + count + 1, sizeof *values);
    if (!instrs || !args || !values) code = fy_fail_oom(err, p->num_instrs * sizeof *instrs);
  }
  if (!code && count) {
    memcpy(args, p->args, p->num_args * sizeof *args);
    memcpy(values, p->values, p->num_values * sizeof *values);
  }
  uint32_t num_args = p->num_args, num_values = p->num_values;
  for (uint32_t i = 0; !code && count && i < p->num_instrs; i++) {
    fy_instr ins = p->instrs[i];
    if (!may_stream(&s, lent, &ins)) {
      instrs[n++] = ins;
      continue;
    }
    fy_site *site = fy_arena_memdup(&p->arena, ins.site, sizeof *site);
    if (!site) {
      code = fy_fail_oom(err, sizeof *site);
      break;
    }
    const uint32_t there = p->args[ins.out], host = num_values++;
    fy_instr copy = {.kind = FY_INSTR_COPY,
                     .device = ins.device,
                     .site = ins.site,  // how it was read before, should it stay after all
                     .node = ins.node,
                     .num_in = 1,
                     .num_out = 1,
                     .spill = true,
                     .in = num_args,
                     .out = num_args + 1};
    args[num_args++] = host;
    args[num_args++] = there;
    values[host] = values[there];
    values[host].space = 0;
    values[host].root = values[host].origin = host;
    values[there].storage = FY_STORE_PLANNED;
    site->device = p->devices->client;
    ins.site = site;
    ins.device = p->devices->client;
    ins.fn = fy_site_compute(site);
    args[ins.out] = host;
    instrs[n++] = ins;
    instrs[n++] = copy;
  }
  if (!code && count) {
    fy_program_replace(p, instrs, n, args, num_args, values, num_values);
  } else {
    fy_free(instrs);
    fy_free(args);
    fy_free(values);
  }
  fy_free(lent);
  fy_var_uses_drop(&s);
  return code;
}
