// SPDX-License-Identifier: Apache-2.0
// spill_variables.c: two ways, by what the program does with a variable.
//
// Only read: its value stays on the host. The reading becomes one of the host, and a copy brings the
// value into the arena, where it is a tensor like any other that can be had again (spill.c): it is
// dropped without being written back.
// Changed, or used in place: its value is memory of its own that kernels find through the handle. Two
// instructions that are no node's move it: in before it is used, out (written back) when room is needed.
// Which leaves first is known from the schedule: the one whose next use is farthest away. What moved is
// on the host again when the run ends, so that every run begins alike and costs what was announced.

#include "execute/spill_variables.h"

#include <stdlib.h>
#include <string.h>

#include "base/alloc.h"
#include "execute/build.h"
#include "execute/callable.h"
#include "execute/state.h"
#include "memory/pool.h"

#define NONE UINT32_MAX

typedef struct span {  // instructions
  uint32_t first, last;
} span;

typedef struct var {
  uint32_t value;  // its handle
  uint64_t bytes, taken;
  span *uses;  // when it must be in the space, by |first|
  uint32_t num_uses, next;
  bool known;      // its size
  bool only_read;  // by ReadVariableOp, wherever
  bool stays, here, dirty;
} var;

typedef struct vars {
  const fy_program *p;
  int space;
  var *at;
  uint32_t n;
  uint32_t *of;  // [num_values] the variable whose handle, or whose memory, a value is; or NONE
  span *uses;    // storage
} vars;

static bool is_variable(const fy_node *n) {
  return strcmp(n->op_name, "VarHandleOp") == 0 || strcmp(n->op_name, "VariableV2") == 0 ||
         strcmp(n->op_name, "Variable") == 0;
}

static bool is_read(const fy_instr *ins) {
  return ins->kind == FY_INSTR_KERNEL && ins->num_in == 1 && ins->num_out == 1 &&
         strcmp(ins->node->op_name, "ReadVariableOp") == 0;
}

// Uses a variable without changing it.
static bool only_looks(const fy_instr *ins) {
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

static uint32_t flags_of(const fy_instr *ins) {
  const fy_op_impl *impl = ins->kind == FY_INSTR_KERNEL ? ins->site->op->impl : NULL;
  return impl ? impl->flags : 0;
}

static void drop_vars(vars *s) {
  fy_free(s->at);
  fy_free(s->of);
  fy_free(s->uses);
}

static void measure(const fy_program *p, int space, const fy_node *handle, var *v) {
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
static bool passes_on(const vars *s, const fy_instr *ins, uint32_t out) {
  return s->p->values[out].storage == FY_STORE_DYNAMIC &&
         (is_read(ins) || (flags_of(ins) & (FY_OP_ALIAS | FY_OP_SETS_OUTPUT)));
}

static bool uses_there(const vars *s, const fy_instr *ins) {
  return ins->kind == FY_INSTR_KERNEL && space_of(ins) == s->space;
}

// Which variables there are.
static fy_code find_handles(const fy_program *p, int space, vars *s, fy_error *err) {
  size_t cap = 0;
  *s = (vars){.p = p, .space = space};
  s->of = fy_calloc(p->num_values + 1u, sizeof *s->of);
  if (!s->of) return fy_fail_oom(err, p->num_values * sizeof *s->of);
  for (uint32_t v = 0; v < p->num_values; v++) s->of[v] = NONE;
  for (uint32_t i = 0; i < p->num_instrs; i++) {
    const fy_instr *ins = &p->instrs[i];
    if (ins->spill) continue;
    if (ins->kind == FY_INSTR_KERNEL && ins->num_out && is_variable(ins->node)) {
      if (!fy_grow(&s->at, &cap, s->n + 1, sizeof *s->at)) return fy_fail_oom(err, sizeof *s->at);
      s->at[s->n] = (var){.value = p->args[ins->out], .only_read = true};
      measure(p, space, ins->node, &s->at[s->n]);
      s->of[p->args[ins->out]] = s->n++;
    }
    for (uint32_t k = 0; k < ins->num_in; k++) {
      const uint32_t v = p->args[ins->in + k], which = s->of[v];
      if (which == NONE) continue;
      if (p->values[v].dtype == FY_RESOURCE && !is_read(ins)) s->at[which].only_read = false;
      for (uint32_t o = 0; o < ins->num_out; o++)
        if (passes_on(s, ins, p->args[ins->out + o])) s->of[p->args[ins->out + o]] = which;
    }
  }
  return FY_OK;
}

static int by_first(const void *a, const void *b) {
  const span *x = a, *y = b;
  return x->first < y->first ? -1 : x->first > y->first ? 1 : x->last > y->last ? -1 : 1;
}

// Which variables there are, and when each is needed: at the instructions of the space that have its
// handle, and as long as a value lives that is its memory.
static fy_code find(const fy_program *p, int space, vars *s, fy_error *err) {
  FY_TRY(find_handles(p, space, s, err));
  size_t total = 0;
  for (int fill = 0; fill < 2; fill++) {
    for (uint32_t i = 0; i < p->num_instrs; i++) {
      const fy_instr *ins = &p->instrs[i];
      if (ins->spill || !uses_there(s, ins)) continue;
      for (uint32_t k = 0; k < (uint32_t)ins->num_in + ins->num_out; k++) {
        const bool out = k >= ins->num_in;
        const uint32_t v = p->args[out ? ins->out + k - ins->num_in : ins->in + k];
        const uint32_t which = s->of[v];
        if (which == NONE || (out != (p->values[v].dtype != FY_RESOURCE))) continue;
        var *w = &s->at[which];
        if (fill)
          w->uses[w->num_uses] = (span){i, !out                   ? i
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
    var *v = &s->at[w];
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

static bool needed(const var *v) {
  return v->num_uses > 0 && v->known && v->bytes > 0;
}

// The most that one instruction needs at once of those that do not stay.
static uint64_t least_room(const vars *s, uint64_t *sums) {
  uint64_t most = 0;
  memset(sums, 0, s->p->num_instrs * sizeof *sums);
  for (uint32_t w = 0; w < s->n; w++) {
    const var *v = &s->at[w];
    for (uint32_t u = 0; needed(v) && !v->stays && u < v->num_uses; u++)
      for (uint32_t i = v->uses[u].first; i <= v->uses[u].last; i++) sums[i] += v->taken;
  }
  for (uint32_t i = 0; i < s->p->num_instrs; i++)
    if (sums[i] > most) most = sums[i];
  return most;
}

fy_code fy_program_variables(const fy_program *p, int space, fy_variable_needs *out,
                             fy_error *err) {
  vars s;
  *out = (fy_variable_needs){.exact = true};
  fy_code code = find(p, space, &s, err);
  uint64_t *sums = code ? NULL : fy_calloc(p->num_instrs + 1u, sizeof *sums);
  if (!code && !sums) code = fy_fail_oom(err, p->num_instrs * sizeof *sums);
  for (uint32_t w = 0; !code && w < s.n; w++) {
    if (!s.at[w].num_uses) continue;
    out->exact &= s.at[w].known;
    out->bytes += s.at[w].bytes;
    out->taken += s.at[w].taken;
  }
  if (!code) out->least = least_room(&s, sums);
  fy_free(sums);
  drop_vars(&s);
  return code;
}

// Values know their instructions by number.
static void renumber(fy_program *p) {
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

// ---------------------------------------------------------------- reading again
// A variable that was read must stay until the last reader of what was read. So each reader gets a
// reading of its own, just before it, as long as nothing may have changed the variable meanwhile.
typedef struct rereader {
  vars v;
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

static bool calls(const fy_instr *ins) {
  return ins->kind == FY_INSTR_KERNEL &&
         (!ins->site->op->impl || ins->node->function || (flags_of(ins) & FY_OP_CALLS_FUNCTIONS));
}

static void note_changes(rereader *r, const fy_instr *ins) {
  const bool all = calls(ins);
  for (uint32_t k = 0; !all && k < ins->num_in; k++) {
    const uint32_t value = r->p->args[ins->in + k], which = r->v.of[value];
    if (which == NONE || r->p->values[value].dtype != FY_RESOURCE || only_looks(ins)) continue;
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
  r->values[r->num_values].root = r->num_values;
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
  if (is_read(ins) && uses_there(&r->v, ins) && r->v.of[r->p->args[ins->in]] != NONE &&
      !r->p->values[r->p->args[ins->out]].fetched)
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
  fy_code code = find_handles(p, space, &r.v, err);
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
    renumber(p);
  } else {
    fy_free(r.instrs);
    fy_free(r.args);
    fy_free(r.values);
  }
  fy_free(r.read_by);
  fy_free(r.is);
  fy_free(r.stale);
  drop_vars(&r.v);
  return code;
}

// ---------------------------------------------------------------- only read
// Whether value |v| has readers that may keep it under another name, or is a result.
static fy_code find_lent(const fy_program *p, uint8_t **out, fy_error *err) {
  uint8_t *lent = *out = fy_calloc(p->num_values + 1u, 1);
  if (!lent) return fy_fail_oom(err, p->num_values);
  for (uint32_t v = 0; v < p->num_values; v++) lent[v] = p->values[v].fetched;
  for (uint32_t i = 0; i < p->num_instrs; i++) {
    const fy_instr *ins = &p->instrs[i];
    const bool lends = ins->kind == FY_INSTR_KERNEL &&
                       (!ins->site->op->impl ||
                        (flags_of(ins) & (FY_OP_ALIAS | FY_OP_SETS_OUTPUT | FY_OP_DYNAMIC)));
    for (uint32_t k = 0; lends && k < ins->num_in; k++) lent[p->args[ins->in + k]] = 1;
  }
  return FY_OK;
}

static bool may_stream(const vars *s, const uint8_t *lent, const fy_instr *ins) {
  if (!is_read(ins) || !uses_there(s, ins)) return false;
  const uint32_t v = s->p->args[ins->out], which = s->of[s->p->args[ins->in]];
  const fy_value *val = &s->p->values[v];
  return which != NONE && s->at[which].only_read && s->at[which].known && val->rank >= 0 &&
         val->root == v && val->space == s->space && val->bytes > 0 && !lent[v];
}

fy_code fy_program_stream_reads(fy_program *p, int space, fy_error *err) {
  vars s;
  uint8_t *lent = NULL;
  fy_code code = find(p, space, &s, err);
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
    values[host].root = host;
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
  drop_vars(&s);
  return code;
}

// ---------------------------------------------------------------- changed
// Moves the variable of input 0 to the site's device, or to the host. While it is there unchanged, the
// host's tensor is kept (fy_variable.twin), so that it need not be written back.
static fy_code copy_there(fy_exec *e, fy_variable *v, fy_device *d, bool in, fy_tensor **out,
                          fy_error *err) {
  fy_run_state *s = e->state;
  const fy_tensor *t = v->value;
  const size_t bytes = fy_tensor_bytes(t);
  const fy_copy_kind kind = in ? FY_COPY_HOST_TO_DEVICE : FY_COPY_DEVICE_TO_HOST;
  fy_event done = {0};
  const fy_event *after = in ? &s->left[d->ordinal + 1] : &s->computed[d->ordinal + 1];
  FY_TRY(fy_memory_tensor(in ? d : s->program->devices->client, t->dtype, t->rank, t->dims, v->name,
                          out, err));
  fy_code code = FY_OK;
  if (bytes)
    code = (fy_code)d->ops->copy(d, kind, (*out)->data, t->data, bytes, NULL, after, &done, err);
  if (!code && done.device) code = (fy_code)done.device->ops->wait(done.device, &done, err);
  if (code) {
    fy_tensor_release(*out);
    *out = NULL;
    return code;
  }
  if (in)
    s->events[s->program->args[e->instr->in]] = done;
  else
    s->left[d->ordinal + 1] = done;
  fy_counters *counters = fy_callables_counters(s->program->callables);
  if (counters) {
    fy_count(&counters->transfers[kind], 1);
    fy_count(&counters->bytes[kind], (int64_t)bytes);
  }
  return FY_OK;
}

static fy_code move(fy_kernel_ctx *ctx, bool in, fy_error *err) {
  fy_device *d = ctx->site->device;
  fy_variable *v;
  fy_tensor *old = NULL, *moved = NULL;
  fy_code code = FY_OK;
  FY_TRY(fy_ref_variable(ctx->in[0], &v, err));
  fy_lock(&v->lock);
  fy_tensor *t = v->value;
  const bool due = t && fy_dtype_is_plain(t->dtype) && t->device != (in ? d : NULL) &&
                   (in || fy_tensor_is_exclusive(t));  // else somebody else keeps it there anyway
  if (due && in && t->device) {                        // another device's: no plan of ours
    code = fy_memory_copy_tensor(t, d, &moved, err);
  } else if (due && !in && v->twin) {
    moved = v->twin;
    v->twin = NULL;
  } else if (due) {
    code = copy_there(ctx->run, v, d, in, &moved, err);
  }
  if (!code && moved) {
    fy_variable_forget(v);
    v->value = moved;
    old = t;
    if (in && !t->device) {
      v->twin = t;
      old = NULL;
    }
  }
  if (!code && in) fy_variable_touch(v);
  fy_unlock(&v->lock);
  fy_tensor_release(old);
  return code;
}

static fy_code move_in(fy_kernel_ctx *ctx, fy_error *err) {
  return move(ctx, true, err);
}

static fy_code move_out(fy_kernel_ctx *ctx, fy_error *err) {
  return move(ctx, false, err);
}

typedef struct mover {
  vars v;
  fy_program *p;
  uint64_t room, live, most;
  fy_instr *instrs;
  uint32_t num_instrs;
  size_t cap;
  int64_t copies, bytes_in, bytes_out;
} mover;

static fy_code put(mover *m, const fy_instr *ins, fy_error *err) {
  if (!fy_grow(&m->instrs, &m->cap, m->num_instrs + 1u, sizeof *m->instrs))
    return fy_fail_oom(err, sizeof *m->instrs);
  m->instrs[m->num_instrs++] = *ins;
  return FY_OK;
}

static fy_code put_move(mover *m, uint32_t which, bool in, fy_error *err) {
  fy_program *p = m->p;
  var *v = &m->v.at[which];
  const fy_instr *maker = &p->instrs[p->values[v->value].producer];
  fy_device *d = p->devices->items[m->v.space - 1];
  fy_site *site = fy_arena_memdup(&p->arena, maker->site, sizeof *site);
  fy_instr ins = {.kind = FY_INSTR_KERNEL,
                  .fn = in ? move_in : move_out,
                  .site = site,
                  .device = p->devices->client,
                  .node = maker->node,
                  .num_in = 1,
                  .in = maker->out,  // the position of its handle
                  .spill = true};
  if (!site) return fy_fail_oom(err, sizeof *site);
  const fy_device_info *f = &d->facts;
  ins.cost_ns = f->link_latency_ns +
                (f->link_bytes_per_s > 0 ? (double)v->bytes / f->link_bytes_per_s * 1e9 : 0);
  site->device = d;
  if (in || v->dirty) {
    m->copies++;
    *(in ? &m->bytes_in : &m->bytes_out) += (int64_t)v->bytes;
  } else {
    ins.cost_ns = 0;  // the host has it still
  }
  v->here = in;
  v->dirty = false;
  m->live += in ? v->taken : 0;
  m->live -= in ? 0 : v->taken;
  if (m->live > m->most) m->most = m->live;
  return put(m, &ins, err);
}

static uint32_t next_use(const var *v) {
  return v->next < v->num_uses ? v->uses[v->next].first : NONE;
}

static fy_code make_room(mover *m, uint64_t bytes, uint32_t at, fy_error *err) {
  while (m->live + bytes > m->room) {
    uint32_t best = NONE, best_next = 0;
    for (uint32_t w = 0; w < m->v.n; w++) {
      const var *v = &m->v.at[w];
      if (!v->here || v->stays || next_use(v) <= at) continue;
      if (best == NONE || next_use(v) > best_next) best = w, best_next = next_use(v);
    }
    if (best == NONE)
      return fy_fail(err, FY_OUT_OF_RANGE,
                     "{{node %s}} alone needs more variables at once than fit",
                     m->p->instrs[at].node->name);
    FY_TRY(put_move(m, best, false, err));
  }
  return FY_OK;
}

// The largest first: what fits beside the most that the others need at once stays.
static fy_code settle(mover *m, uint64_t *held, fy_error *err) {
  uint64_t(*order)[2] = fy_calloc(m->v.n + 1u, sizeof *order);
  uint64_t *sums = fy_calloc(m->p->num_instrs + 1u, sizeof *sums);
  uint32_t n = 0;
  *held = 0;
  fy_code code = order && sums ? FY_OK : fy_fail_oom(err, m->p->num_instrs * sizeof *sums);
  for (uint32_t w = 0; !code && w < m->v.n; w++)
    if (needed(&m->v.at[w])) order[n][0] = m->v.at[w].taken, order[n++][1] = w;
  if (!code) qsort(order, n, sizeof *order, fy_by_size);
  for (uint32_t i = 0; !code && i < n; i++) {
    var *v = &m->v.at[order[i][1]];
    v->stays = true;
    if (*held + v->taken + least_room(&m->v, sums) <= m->room)
      *held += v->taken;
    else
      v->stays = false;
  }
  fy_free(order);
  fy_free(sums);
  return code;
}

static fy_code walk(mover *m, uint32_t at, fy_error *err) {
  const fy_instr *ins = &m->p->instrs[at];
  const bool there = !ins->spill && uses_there(&m->v, ins);
  for (uint32_t k = 0; !ins->spill && ins->kind == FY_INSTR_KERNEL && k < ins->num_in; k++) {
    const uint32_t value = m->p->args[ins->in + k], which = m->v.of[value];
    var *v = which == NONE ? NULL : &m->v.at[which];
    if (!v || v->stays || !needed(v)) continue;
    if (!there) {  // a kernel of another memory takes it away; better we do, and say so
      if (v->here && m->p->values[value].dtype == FY_RESOURCE && !is_variable(ins->node))
        FY_TRY(put_move(m, which, false, err));
    } else if (!v->here) {
      FY_TRY(make_room(m, v->taken, at, err));
      FY_TRY(put_move(m, which, true, err));
    }
  }
  FY_TRY(put(m, ins, err));
  for (uint32_t k = 0; there && k < ins->num_in; k++) {
    const uint32_t value = m->p->args[ins->in + k], which = m->v.of[value];
    if (which != NONE && m->p->values[value].dtype == FY_RESOURCE && !only_looks(ins))
      m->v.at[which].dirty = true;
  }
  for (uint32_t w = 0; w < m->v.n; w++)
    while (m->v.at[w].next < m->v.at[w].num_uses && m->v.at[w].uses[m->v.at[w].next].last <= at)
      m->v.at[w].next++;
  return FY_OK;
}

fy_code fy_program_move_variables(fy_program *p, int space, uint64_t room, fy_error *err) {
  mover m = {.p = p, .room = room};
  uint64_t held = 0;
  fy_code code = find(p, space, &m.v, err);
  if (!code) code = settle(&m, &held, err);
  m.room = room > held ? room - held : 0;
  for (uint32_t i = 0; !code && i < p->num_instrs; i++) code = walk(&m, i, err);
  for (uint32_t w = 0; !code && w < m.v.n; w++)
    if (m.v.at[w].here && !m.v.at[w].stays) code = put_move(&m, w, false, err);
  if (!code && m.copies) {
    fy_free(p->instrs);
    p->instrs = m.instrs;
    p->num_instrs = m.num_instrs;
    m.instrs = NULL;
    renumber(p);
    p->spill.copies += m.copies;
    p->spill.bytes_in += m.bytes_in;
    p->spill.bytes_out += m.bytes_out;
    p->spill.spaces |= 1ull << space;
    if (space < 65) p->spill.held[space] = held + m.most;
  }
  fy_free(m.instrs);
  drop_vars(&m.v);
  return code;
}
