// SPDX-License-Identifier: Apache-2.0
// spill_uses.c: where a program uses which variables, and how much of them at once.

#include "execute/spill_impl.h"

#include <stdlib.h>
#include <string.h>

#include "base/alloc.h"
#include "execute/build.h"
#include "memory/pool.h"

bool fy_instr_is_variable(const fy_node *n) {
  return strcmp(n->op_name, "VarHandleOp") == 0 || strcmp(n->op_name, "VariableV2") == 0 ||
         strcmp(n->op_name, "Variable") == 0;
}

bool fy_instr_is_read(const fy_instr *ins) {
  return ins->kind == FY_INSTR_KERNEL && ins->num_in == 1 && ins->num_out == 1 &&
         strcmp(ins->node->op_name, "ReadVariableOp") == 0;
}

// Uses a variable without changing it.
bool fy_instr_only_looks(const fy_instr *ins) {
  static const char *const ops[] = {"ReadVariableOp",       FY_REF_READ,     "ResourceGather",
                                    "ResourceGatherNd",     "VariableShape", "VarIsInitializedOp",
                                    "IsVariableInitialized"};
  for (size_t i = 0; i < sizeof ops / sizeof *ops; i++)
    if (strcmp(ins->node->op_name, ops[i]) == 0) return true;
  return false;
}

static int space_of(const fy_instr *ins) {
  return ins->device->is_host ? 0 : ins->device->ordinal + 1;
}

uint32_t fy_instr_flags(const fy_instr *ins) {
  const fy_op_impl *impl = ins->kind == FY_INSTR_KERNEL ? ins->site->op->impl : NULL;
  return impl ? impl->flags : 0;
}

bool fy_instr_calls(const fy_instr *ins) {
  return ins->kind == FY_INSTR_KERNEL && (!ins->site->op->impl || ins->node->function ||
                                          (fy_instr_flags(ins) & FY_OP_CALLS_FUNCTIONS));
}

void fy_var_uses_drop(fy_var_uses *s) {
  fy_free(s->at);
  fy_free(s->of);
  fy_free(s->uses);
}

static void measure(const fy_program *p, int space, const fy_node *handle, fy_var_use *v) {
  const fy_attr *shape = fy_attrs_get(&handle->attrs, "shape");
  const fy_attr *dtype = fy_attrs_get(&handle->attrs, "dtype");
  const fy_device *d = space ? p->devices->items[space - 1] : p->devices->client;
  int64_t count;
  size_t bytes;
  v->known = shape && dtype && shape->v.shape.rank >= 0 && fy_dtype_is_plain(dtype->v.type) &&
             fy_shape_count(shape->v.shape.rank, shape->v.shape.dims, &count) &&
             fy_mul_size((size_t)count, fy_dtype_storage(dtype->v.type), &bytes);
  if (!v->known) return;
  v->bytes = bytes;
  v->taken = fy_memory_tensor_taken(d, bytes);
}

// A value of |ins| that is |v|'s memory under another name, as far as the instructions tell.
static bool passes_on(const fy_var_uses *s, const fy_instr *ins, uint32_t out) {
  return s->p->values[out].storage == FY_STORE_DYNAMIC &&
         (fy_instr_is_read(ins) || (fy_instr_flags(ins) & (FY_OP_ALIAS | FY_OP_SETS_OUTPUT)));
}

bool fy_var_uses_there(const fy_var_uses *s, const fy_instr *ins) {
  return ins->kind == FY_INSTR_KERNEL && space_of(ins) == s->space;
}

// Which variables there are.
fy_code fy_var_handles(const fy_program *p, int space, fy_var_uses *s, fy_error *err) {
  size_t cap = 0;
  *s = (fy_var_uses){.p = p, .space = space};
  s->of = fy_calloc(p->num_values + 1u, sizeof *s->of);
  if (!s->of) return fy_fail_oom(err, p->num_values * sizeof *s->of);
  for (uint32_t v = 0; v < p->num_values; v++) s->of[v] = NONE;
  for (uint32_t i = 0; i < p->num_instrs; i++) {
    const fy_instr *ins = &p->instrs[i];
    if (ins->spill) continue;
    if (ins->kind == FY_INSTR_KERNEL && ins->num_out && fy_instr_is_variable(ins->node)) {
      if (!fy_grow(&s->at, &cap, s->n + 1, sizeof *s->at)) return fy_fail_oom(err, sizeof *s->at);
      s->at[s->n] = (fy_var_use){.value = p->args[ins->out], .only_read = true};
      measure(p, space, ins->node, &s->at[s->n]);
      s->of[p->args[ins->out]] = s->n++;
    }
    for (uint32_t k = 0; k < ins->num_in; k++) {
      const uint32_t v = p->args[ins->in + k], which = s->of[v];
      if (which == NONE) continue;
      if (p->values[v].dtype == FY_RESOURCE && !fy_instr_is_read(ins))
        s->at[which].only_read = false;
      for (uint32_t o = 0; o < ins->num_out; o++)
        if (passes_on(s, ins, p->args[ins->out + o])) s->of[p->args[ins->out + o]] = which;
    }
  }
  return FY_OK;
}

static int by_first(const void *a, const void *b) {
  const fy_var_span *x = a, *y = b;
  return x->first < y->first ? -1 : x->first > y->first ? 1 : x->last > y->last ? -1 : 1;
}

// Which variables there are, and when each is needed: at the instructions of the space that have its
// handle, and as long as a value lives that is its memory.
fy_code fy_var_uses_find(const fy_program *p, int space, fy_var_uses *s, fy_error *err) {
  FY_TRY(fy_var_handles(p, space, s, err));
  size_t total = 0;
  for (int fill = 0; fill < 2; fill++) {
    for (uint32_t i = 0; i < p->num_instrs; i++) {
      const fy_instr *ins = &p->instrs[i];
      if (ins->spill || !fy_var_uses_there(s, ins)) continue;
      for (uint32_t k = 0; k < (uint32_t)ins->num_in + ins->num_out; k++) {
        const bool out = k >= ins->num_in;
        const uint32_t v = p->args[out ? ins->out + k - ins->num_in : ins->in + k];
        const uint32_t which = s->of[v];
        if (which == NONE || (out != (p->values[v].dtype != FY_RESOURCE))) continue;
        fy_var_use *w = &s->at[which];
        if (fill)
          w->uses[w->num_uses] = (fy_var_span){i, !out                   ? i
                                                  : p->values[v].fetched ? p->num_instrs - 1
                                                                         : p->values[v].last_use};
        w->num_uses++;
        total++;
      }
    }
    if (fill) break;
    s->uses = fy_calloc(total + 1, sizeof *s->uses);
    if (!s->uses) return fy_fail_oom(err, total * sizeof *s->uses);
    for (uint32_t w = 0, at = 0; w < s->n; w++) {
      s->at[w].uses = s->uses + at;
      at += s->at[w].num_uses;
      s->at[w].num_uses = 0;
    }
  }
  for (uint32_t w = 0; w < s->n; w++) {  // spans that meet become one
    fy_var_use *v = &s->at[w];
    uint32_t n = 0;
    qsort(v->uses, v->num_uses, sizeof *v->uses, by_first);
    for (uint32_t u = 0; u < v->num_uses; u++) {
      if (n && v->uses[u].first <= v->uses[n - 1].last) {
        if (v->uses[u].last > v->uses[n - 1].last) v->uses[n - 1].last = v->uses[u].last;
      } else {
        v->uses[n++] = v->uses[u];
      }
    }
    v->num_uses = n;
  }
  return FY_OK;
}

bool fy_var_needed(const fy_var_use *v) {
  return v->num_uses > 0 && v->known && v->bytes > 0;
}

void fy_var_add_uses(const fy_var_use *v, fy_spans *sums, int64_t bytes) {
  for (uint32_t u = 0; u < v->num_uses; u++)
    fy_spans_add(sums, v->uses[u].first, v->uses[u].last, bytes);
}

bool fy_var_sums(const fy_var_uses *s, fy_spans *out) {
  uint64_t *none = fy_calloc(s->p->num_instrs + 1u, sizeof *none);
  const bool ok = none && fy_spans_make(out, none, s->p->num_instrs);
  for (uint32_t w = 0; ok && w < s->n; w++)
    if (fy_var_needed(&s->at[w])) fy_var_add_uses(&s->at[w], out, (int64_t)s->at[w].taken);
  fy_free(none);
  return ok;
}

fy_code fy_program_variables(const fy_program *p, int space, fy_variable_needs *out,
                             fy_error *err) {
  fy_var_uses s;
  *out = (fy_variable_needs){.exact = true};
  fy_code code = fy_var_uses_find(p, space, &s, err);
  fy_spans sums = {0};
  if (!code && !fy_var_sums(&s, &sums)) code = fy_fail_oom(err, p->num_instrs * sizeof(int64_t));
  for (uint32_t w = 0; !code && w < s.n; w++) {
    if (!s.at[w].num_uses) continue;
    out->exact &= s.at[w].known;
    out->bytes += s.at[w].bytes;
    out->taken += s.at[w].taken;
  }
  if (!code) out->least = (uint64_t)fy_spans_most(&sums);
  fy_spans_free(&sums);
  fy_var_uses_drop(&s);
  return code;
}

// The last instruction that still needs what was read of variable |w| before instruction |i| changes it;
// |i| if none does.
static uint32_t old_needed_until(const fy_var_uses *s, uint32_t w, uint32_t i) {
  uint32_t last = i;
  for (uint32_t v = 0; v < s->p->num_values; v++) {
    const fy_value *val = &s->p->values[v];
    if (s->of[v] != w || val->dtype == FY_RESOURCE || val->space != s->space || val->producer >= i)
      continue;
    const uint32_t until = val->fetched ? s->p->num_instrs - 1 : val->last_use;
    if (until > last) last = until;
  }
  return last;
}

fy_code fy_program_variable_copies(const fy_program *p, int space, uint64_t *live, fy_error *err) {
  fy_var_uses s;
  fy_code code = fy_var_handles(p, space, &s, err);
  for (uint32_t i = 0; !code && s.n && i < p->num_instrs; i++) {
    const fy_instr *ins = &p->instrs[i];
    if (ins->spill || !fy_var_uses_there(&s, ins) || fy_instr_only_looks(ins) ||
        fy_instr_is_variable(ins->node) || fy_instr_calls(ins))
      continue;
    for (uint32_t k = 0; k < ins->num_in; k++) {
      const uint32_t v = p->args[ins->in + k], w = s.of[v];
      if (w == NONE || p->values[v].dtype != FY_RESOURCE || !s.at[w].known) continue;
      const uint32_t until = old_needed_until(&s, w, i);
      for (uint32_t at = i; until > i && at <= until; at++) live[at] += s.at[w].taken;
    }
  }
  fy_var_uses_drop(&s);
  return code;
}

// Values know their instructions by number.
void fy_program_renumber(fy_program *p) {
  for (uint32_t v = 0; v < p->num_values; v++) {
    p->values[v].producer = NONE;
    p->values[v].last_use = 0;
  }
  for (uint32_t i = 0; i < p->num_instrs; i++)
    for (uint32_t k = 0; k < p->instrs[i].num_out; k++) {
      fy_value *val = &p->values[p->args[p->instrs[i].out + k]];
      val->producer = val->last_use = i;
    }
  for (uint32_t i = 0; i < p->num_instrs; i++)
    for (uint32_t k = 0; k < p->instrs[i].num_in; k++)
      p->values[p->args[p->instrs[i].in + k]].last_use = i;
  for (uint32_t v = 0; v < p->num_values; v++)
    if (p->values[v].root != v && p->values[v].producer == NONE)
      p->values[v].producer = p->values[p->values[v].root].producer;
}
