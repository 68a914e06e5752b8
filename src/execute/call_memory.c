// SPDX-License-Identifier: Apache-2.0
#include "execute/call_memory.h"

#include <string.h>

#include "base/alloc.h"
#include "execute/build.h"
#include "execute/callable.h"
#include "memory/pool.h"

#define MAX_DEPTH 24
#define MAX_CALLS 4096  // functions that call themselves twice would be walked for ever
#define STEPS     64    // of a loop, if it does not settle before: steps that begin alike are alike

typedef struct piece {  // memory that the allocator counts, or that only this has (|taken| is 0)
  uint32_t refs;
  int space;
  uint64_t taken;
} piece;

typedef struct thing {  // a tensor without data
  piece *memory;        // NULL: not counted, and others have it, too
  bool owns;            // its memory outlives the call that made it
  bool part;            // of a larger one
  int space;
  int32_t rank;  // -1: not known
  const int64_t *dims;
  size_t bytes;
  fy_handle_shape handle;  // of a variable's handle
} thing;

typedef struct callee {
  fy_callable *callable;
  fy_program *program;
  int64_t *key;
  size_t key_len;
} callee;

typedef struct walk {
  const fy_program *top;
  fy_call_memory *out;
  uint64_t now[FY_CALL_SPACES];
  callee *callees;
  size_t n, cap;
  int depth, calls;
  bool failed;  // no memory
} walk;

// ---------------------------------------------------------------- memory
static fy_device *device_at(const walk *w, int space) {
  return space ? w->top->devices->items[space - 1] : w->top->devices->client;
}

static void unknown(walk *w) {
  w->out->exact = false;
}

static void take_counted(walk *w, thing *t, uint64_t bytes) {
  piece *m = fy_malloc(sizeof *m);
  w->failed |= !m;
  if (!m) return;
  *m = (piece){1, t->space, bytes};
  t->owns = true;
  t->memory = m;
  w->now[m->space] += m->taken;
  if (w->now[m->space] > w->out->peak[m->space]) w->out->peak[m->space] = w->now[m->space];
}

static void take(walk *w, thing *t) {
  t->owns = true;
  if (t->space >= FY_CALL_SPACES || t->rank < 0)
    unknown(w);
  else
    take_counted(w, t, fy_memory_tensor_taken(device_at(w, t->space), t->bytes));
}

static thing share(thing t) {
  if (t.memory) t.memory->refs++;
  return t;
}

static void drop(walk *w, thing *t) {
  piece *m = t->memory;
  t->memory = NULL;
  if (!m || --m->refs) return;
  w->now[m->space] -= m->taken;
  fy_free(m);
}

// What may outlive the call: itself, or a copy (which only devices count).
static thing keep(walk *w, const thing *t) {
  thing copy = *t;
  if (t->owns) return share(copy);
  if (copy.space)
    take(w, &copy);
  else
    take_counted(w, &copy, 0);
  return copy;
}

// ---------------------------------------------------------------- what is called
static int64_t *put_dims(int64_t *k, int32_t rank, const int64_t *dims) {
  *k++ = rank;
  for (int32_t d = 0; d < rank; d++) *k++ = dims[d];
  return k;
}

static size_t num_dims(int32_t rank) {
  return rank > 0 ? (size_t)rank : 0;
}

static bool same_key(const callee *c, const fy_callable *f, const int64_t *key, size_t n) {
  return c->callable == f && c->key_len == n && memcmp(c->key, key, n * sizeof *key) == 0;
}

static void count_kept(walk *w, const fy_program *p) {
  for (uint32_t v = 0; v < p->num_values; v++) {
    const fy_value *val = &p->values[v];
    const fy_op_impl *impl = val->node && val->node->op ? val->node->op->impl : NULL;
    if (val->storage == FY_STORE_CONST && val->space && !(impl && (impl->flags & FY_OP_ALIAS)))
      w->out->kept[val->space] += fy_memory_tensor_taken(device_at(w, val->space), val->bytes);
  }
  for (uint32_t i = 0; i < p->num_instrs; i++) {
    const fy_device *d = p->instrs[i].device;
    w->out->kept[d->is_host ? 0 : d->ordinal + 1] += p->instrs[i].kept_bytes;
  }
  for (int s = 0; s < p->plan.num_spaces && s < FY_CALL_SPACES; s++)
    if (p->plan.arena_bytes[s] && (s || !p->spill.file_bytes))
      w->out->kept[s] += fy_mempool_taken(device_at(w, s)->memory, p->plan.arena_bytes[s]);
}

static fy_program *compile(walk *w, fy_callable *f, const thing *args, int n) {
  fy_program *p = NULL;
  fy_error e;
  fy_pshape *shapes = fy_calloc((size_t)n + 1, sizeof *shapes);
  int *spaces = fy_calloc((size_t)n + 1, sizeof *spaces);
  fy_handle_shape *handles = fy_calloc((size_t)n + 1, sizeof *handles);
  fy_error_init(&e);
  w->failed |= !shapes || !spaces || !handles;
  for (int i = 0; i < n && !w->failed; i++) {
    shapes[i] = (fy_pshape){args[i].rank, args[i].dims};
    spaces[i] = args[i].space;
    handles[i] = args[i].handle;
  }
  if (!w->failed && fy_callable_explain(f, shapes, spaces, handles, NULL, NULL, &p, &e)) p = NULL;
  fy_error_clear(&e);
  fy_free(shapes);
  fy_free(spaces);
  fy_free(handles);
  return p;
}

// The program of |f| for these arguments; NULL if there can be none.
static fy_program *program_of(walk *w, fy_callable *f, const thing *args, int n) {
  size_t len = 0;
  for (int i = 0; i < n; i++)
    len += 4 + num_dims(args[i].rank) + num_dims(args[i].handle.shape.rank);
  int64_t *key = fy_calloc(len + 1, sizeof *key), *k = key;
  w->failed |= !key || !fy_grow(&w->callees, &w->cap, w->n + 1, sizeof *w->callees);
  if (w->failed) {
    fy_free(key);
    return NULL;
  }
  for (int i = 0; i < n; i++) {
    *k++ = args[i].space;
    *k++ = args[i].handle.dtype;
    k = put_dims(k, args[i].rank, args[i].dims);
    k = put_dims(k, args[i].handle.shape.rank, args[i].handle.shape.dims);
  }
  for (size_t i = 0; i < w->n; i++) {
    if (!same_key(&w->callees[i], f, key, len)) continue;
    fy_free(key);
    return w->callees[i].program;
  }
  fy_program *p = compile(w, f, args, n);
  w->callees[w->n++] = (callee){f, p, key, len};
  if (p) count_kept(w, p);
  return p;
}

static void walk_program(walk *w, const fy_program *p, bool gives, const thing *args,
                         thing *results);

// |results| are the caller's to drop.
static void call(walk *w, void *fn, bool gives, const thing *args, int n, thing *results,
                 int num_results) {
  fy_callable *f = fn;
  const bool fits = f && !fy_callable_is_region(f) && fy_callable_num_args(f) == n &&
                    fy_callable_num_results(f) == num_results && w->depth < MAX_DEPTH &&
                    ++w->calls <= MAX_CALLS;
  const fy_program *p = fits && !w->failed ? program_of(w, f, args, n) : NULL;
  for (int i = 0; i < num_results; i++) results[i] = (thing){.owns = true, .rank = -1};
  if (!p) {
    unknown(w);
    return;
  }
  if (fy_program_in_tasks(p)) unknown(w);  // who is first is not known
  w->depth++;
  walk_program(w, p, gives, args, results);
  w->depth--;
}

// ---------------------------------------------------------------- control flow
// Which of |n| things share memory, by the first that has it, and how many references there are.
typedef struct sharing {
  int32_t first;
  uint32_t refs;
  uint64_t taken;
} sharing;

// Fills |now|; false: it was this already.
static bool differs(const thing *t, int n, sharing *now) {
  bool changed = false;
  for (int i = 0; i < n; i++) {
    sharing s = {.first = -1};
    if (t[i].memory) {
      s = (sharing){0, t[i].memory->refs, t[i].memory->taken};
      while (t[s.first].memory != t[i].memory) s.first++;
    }
    changed |= s.first != now[i].first || s.refs != now[i].refs || s.taken != now[i].taken;
    now[i] = s;
  }
  return changed;
}

static bool same_shapes(const thing *a, const thing *b, int n) {
  for (int i = 0; i < n; i++)
    if (a[i].space != b[i].space || !fy_shape_equal(a[i].rank, a[i].dims, b[i].rank, b[i].dims))
      return false;
  return true;
}

static void loop(walk *w, const fy_site *site, thing *in, int first, int64_t trips, bool counted,
                 thing *results) {
  const int n = site->num_outputs, num_in = site->num_inputs - first, lead = counted ? 1 : 0;
  thing *args = fy_calloc((size_t)(num_in + 1 + n) + 1, sizeof *args), *next = args + num_in + 1;
  sharing *now = fy_calloc((size_t)n + 1, sizeof *now);
  bool settled = false;
  w->failed |= !args || !now;
  for (int i = 0; !w->failed && i < num_in; i++)
    args[i + lead] = i < n ? keep(w, &in[first + i]) : share(in[first + i]);
  void *body = site->functions[site->num_functions - 1];
  for (int64_t t = 0; t < trips && t < STEPS && !settled && !w->failed; t++) {
    if (counted) {
      drop(w, &args[0]);
      args[0] = (thing){.bytes = sizeof(int32_t)};
      take_counted(w, &args[0], 0);
    } else {
      thing answer;
      call(w, site->functions[0], false, args, num_in, &answer, 1);
      drop(w, &answer);
    }
    call(w, body, true, args, num_in + lead, next, n);
    settled = same_shapes(args + lead, next, n);
    for (int i = 0; i < n; i++) {
      drop(w, &args[i + lead]);
      args[i + lead] = next[i];
    }
    settled &= !differs(args + lead, n, now);
  }
  for (int i = 0; args && i < n; i++) results[i] = args[i + lead];
  for (int i = n; args && i < num_in; i++) drop(w, &args[i + lead]);
  if (args && counted) drop(w, &args[0]);
  fy_free(args);
  fy_free(now);
}

static void branches(walk *w, const fy_site *site, thing *in, thing *results) {
  unknown(w);  // which one is data
  for (int k = 0; k < site->num_functions; k++) {
    for (int i = 0; k && i < site->num_outputs; i++) drop(w, &results[i]);
    call(w, site->functions[k], true, in + 1, site->num_inputs - 1, results, site->num_outputs);
  }
}

static bool ends_with(const char *name, const char *end) {
  const size_t n = strlen(name), m = strlen(end);
  return n >= m && strcmp(name + n - m, end) == 0;
}

static void walk_call(walk *w, const fy_site *site, thing *in, thing *results) {
  const char *op = site->op->spec->name;
  if (!site->num_functions) {
    unknown(w);
  } else if (strcmp(op, "_FerryLoop") == 0) {
    loop(w, site, in, 0, fy_site_int(site, "trips"), true, results);
  } else if (strcmp(op, "For") == 0 || ends_with(op, "While")) {
    const bool counts = *op == 'F';
    unknown(w);  // how often
    loop(w, site, in, counts ? 3 : 0, STEPS, counts, results);
  } else if (ends_with(op, "If") || ends_with(op, "Case")) {
    branches(w, site, in, results);
  } else {
    const int first = strcmp(op, "RemoteCall") == 0;
    call(w, site->functions[0], true, in + first, site->num_inputs - first, results,
         site->num_outputs);
  }
}

// ---------------------------------------------------------------- programs
static thing thing_of(const fy_value *v) {
  const bool handle = v->dtype == FY_RESOURCE;
  thing t = {.space = v->space,
             .owns = v->storage == FY_STORE_CONST,
             .rank = handle ? 0 : v->rank,
             .dims = v->dims,
             .bytes = v->bytes};
  if (handle && v->node && v->node->outputs && v->output >= 0)
    t.handle = v->node->outputs[v->output].handle;
  return t;
}

static bool is_call(const fy_instr *ins) {
  const fy_op_impl *impl = ins->kind == FY_INSTR_KERNEL ? ins->site->op->impl : NULL;
  return ins->kind == FY_INSTR_KERNEL &&
         (ins->node->function || (impl && (impl->flags & FY_OP_CALLS_FUNCTIONS)));
}

// What a call returns, where the program wants it.
static thing placed(walk *w, thing r, const fy_value *v) {
  if (r.rank >= 0 && r.space != v->space && fy_dtype_is_plain(v->dtype)) {
    thing there = r;
    there.space = v->space;
    there.memory = NULL;
    if (v->space) take(w, &there);
    drop(w, &r);
    return there;
  }
  return r;
}

// Whether input |i| is read by nobody after |ins| (may_change in services.c): what is not is held meanwhile.
static bool is_given(const fy_program *p, const fy_instr *ins, bool gives, uint32_t i) {
  const uint32_t v = p->args[ins->in + i];
  for (uint32_t k = 0; k < ins->num_in; k++)
    if (k != i && p->args[ins->in + k] == v) return false;
  for (uint32_t k = 0; k < ins->num_free; k++)
    if (p->args[ins->free_at + k] == v) return p->num_tasks <= 1;
  return gives && p->num_tasks <= 1 && p->values[v].storage == FY_STORE_FEED &&
         p->values[v].last_use == (uint32_t)(ins - p->instrs) && !p->values[v].fetched;
}

static void hold(const fy_program *p, const fy_instr *ins, bool gives, const thing *in,
                 uint32_t by) {
  for (uint32_t i = 0; i < ins->num_in; i++)
    if (in[i].memory && !is_given(p, ins, gives, i)) in[i].memory->refs += by;
}

static void walk_call_instr(walk *w, const fy_program *p, const fy_instr *ins, bool gives,
                            thing *slots) {
  thing *in = fy_calloc((size_t)ins->num_in + ins->num_out + 1, sizeof *in);
  w->failed |= !in;
  if (!in) return;
  thing *results = in + ins->num_in;
  for (uint32_t i = 0; i < ins->num_in; i++) in[i] = slots[p->args[ins->in + i]];
  for (uint32_t i = 0; i < ins->num_out; i++) results[i] = (thing){.owns = true, .rank = -1};
  hold(p, ins, gives, in, 1);
  walk_call(w, ins->site, in, results);
  hold(p, ins, gives, in, UINT32_MAX);  // one less
  for (uint32_t i = 0; i < ins->num_out; i++) {
    const uint32_t o = p->args[ins->out + i];
    const thing promised = thing_of(&p->values[o]);
    if (results[i].rank < 0 && promised.rank >= 0 && p->values[o].dtype != FY_RESOURCE) {
      results[i] = promised;
      take(w, &results[i]);
    }
    slots[o] = placed(w, results[i], &p->values[o]);
  }
  fy_free(in);
}

static void walk_kernel(walk *w, const fy_program *p, const fy_instr *ins, thing *slots) {
  const fy_op_impl *impl = ins->kind == FY_INSTR_KERNEL ? ins->site->op->impl : NULL;
  const uint32_t flags = impl ? impl->flags : 0;
  if (ins->kind == FY_INSTR_KERNEL && (!impl || (flags & (FY_OP_DYNAMIC | FY_OP_ASYNC))))
    unknown(w);
  for (uint32_t k = 0; k < ins->num_out; k++) {
    const uint32_t o = p->args[ins->out + k];
    const fy_value *v = &p->values[o];
    if (v->storage != FY_STORE_DYNAMIC) continue;
    thing t = thing_of(v);
    t.owns = true;
    if (ins->num_in && (v->of_feed || (flags & FY_OP_ALIAS))) {
      const thing from = slots[p->args[ins->in]];
      t.memory = from.memory;
      t.owns = from.owns;
      t.part = from.part || t.bytes != from.bytes;
      t = share(t);
    } else if (v->dtype == FY_RESOURCE || (flags & FY_OP_SETS_OUTPUT)) {
      if (t.rank < 0) unknown(w);
    } else {
      take(w, &t);
    }
    slots[o] = t;
  }
}

// Result |v| has the memory of an argument that is given away and that nobody else has, as take_over() in run_plain.c
// decides; else false.
static bool take_over(const fy_program *p, uint32_t k, const thing *args, thing *v) {
  const thing *from = p->takes[k] < 0 ? NULL : &args[p->takes[k]];
  if (!from || !from->memory || from->memory->refs != 1 || from->part || from->space) return false;
  v->memory = from->memory;
  v->owns = true;
  *v = share(*v);
  return true;
}

// Arguments are the caller's: borrowed.
static void fill_slots(walk *w, const fy_program *p, bool gives, const thing *args, thing *slots) {
  for (uint32_t v = 0; v < p->num_values; v++) {
    slots[v] = thing_of(&p->values[v]);
    slots[v].owns |= p->values[v].storage == FY_STORE_FEED;
  }
  for (uint32_t k = 0; k < p->num_fresh; k++) {
    const uint32_t v = p->fresh[k];
    if (p->values[v].root == v) {
      if (!args || !gives || !take_over(p, k, args, &slots[v])) take(w, &slots[v]);
    } else if (p->values[v].fetched) {
      slots[v].memory = slots[p->values[v].root].memory;
      slots[v].owns = true;
      slots[v] = share(slots[v]);
    }
  }
  for (int i = 0; args && i < p->num_feeds; i++)
    if (p->feed_value[i] != FY_NO_VALUE) slots[p->feed_value[i]] = args[i];
}

static void walk_program(walk *w, const fy_program *p, bool gives, const thing *args,
                         thing *results) {
  thing *slots = fy_calloc((size_t)p->num_values + 1, sizeof *slots);
  w->failed |= !slots;
  if (!slots) return;
  fill_slots(w, p, gives, args, slots);
  for (uint32_t i = 0; i < p->num_instrs && !w->failed; i++) {
    const fy_instr *ins = &p->instrs[i];
    if (is_call(ins))
      walk_call_instr(w, p, ins, gives, slots);
    else
      walk_kernel(w, p, ins, slots);
    for (uint32_t k = 0; k < (uint32_t)ins->num_in + ins->num_out; k++) {
      const uint32_t v = p->args[k < ins->num_in ? ins->in + k : ins->out + k - ins->num_in];
      const fy_value *val = &p->values[v];
      if (val->storage == FY_STORE_DYNAMIC && !val->fetched && val->last_use == i)
        drop(w, &slots[v]);
    }
  }
  for (int i = 0; results && i < p->num_fetches; i++) {
    const uint32_t v = p->fetch_value[i];
    thing t = slots[v];
    t.owns &= p->values[v].storage != FY_STORE_CONST || t.space;  // handed out as a copy
    if (!t.owns) t.memory = NULL;
    results[i] = keep(w, &t);
  }
  for (int i = 0; i < p->num_feeds; i++)
    if (p->feed_value[i] != FY_NO_VALUE) slots[p->feed_value[i]].memory = NULL;
  for (uint32_t v = 0; v < p->num_values; v++) drop(w, &slots[v]);
  fy_free(slots);
}

bool fy_program_has_calls(const fy_program *p) {
  for (uint32_t i = 0; i < p->num_instrs; i++)
    if (is_call(&p->instrs[i])) return true;
  return false;
}

bool fy_program_call_memory(const fy_program *p, fy_call_memory *out) {
  walk w = {.top = p, .out = out};
  *out = (fy_call_memory){.exact = true};
  walk_program(&w, p, false, NULL, NULL);
  for (size_t i = 0; i < w.n; i++) {
    fy_program_release(w.callees[i].program);
    fy_free(w.callees[i].key);
  }
  fy_free(w.callees);
  return !w.failed;
}
