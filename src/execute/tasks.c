// SPDX-License-Identifier: Apache-2.0
// tasks.c: one task, unless several pay: branches with enough work to be worth a hand-off, or devices
// with cores of their own. Tasks are maximal chains, so a task never waits in its middle.

#include <stdlib.h>
#include <string.h>

#include "base/alloc.h"
#include "base/pool.h"
#include "execute/build.h"

#define MIN_PARALLEL_NS  100000.0  // less work than this in all is never split
#define MIN_GAIN         1.2       // total work over critical path
#define SPLITS_ITSELF_NS 20000.0   // a kernel with this much work uses all threads by itself
#define LOOP_NS          100000.0  // a loop takes at least that, who knows how long, on one thread

typedef struct deps {
  uint32_t *at;  // [num_instrs + 1] start of each instruction's predecessors in |list|
  uint32_t *list;
  size_t n, cap;
  uint32_t *fan_out;
} deps;

static bool add_dep(deps *d, uint32_t from) {
  if (!fy_grow(&d->list, &d->cap, d->n + 1, sizeof *d->list)) return false;
  d->list[d->n++] = from;
  d->fan_out[from]++;
  return true;
}

typedef struct
    trail {  // a stack of our own: chains of nodes that became no instruction can be long
  fy_node **at;
  size_t n, cap;
} trail;

// |from| must be done before |self| begins. A node that became no instruction (a constant, what was
// folded or renamed) stands for what it waits for itself: that is looked at later.
static bool wait_for(deps *d, trail *t, fy_node *from, const uint32_t *instr_of, uint32_t self) {
  if (from->mark == self + 1) return true;
  const uint32_t at = instr_of[from->id];
  if (at != FY_NO_VALUE) {
    from->mark = self + 1;
    return at == self || add_dep(d, at);
  }
  if (!from->num_controls && !from->num_inputs) return true;
  from->mark = self + 1;
  if (!fy_grow(&t->at, &t->cap, t->n + 1, sizeof *t->at)) return false;
  t->at[t->n++] = from;
  return true;
}

// What the edges of the graph ask for beyond the values that the instruction reads: control edges, also
// those of constants and other nodes among its inputs that became no instruction.
static bool add_hidden_deps(deps *d, trail *t, fy_node *node, const uint32_t *instr_of,
                            uint32_t self) {
  bool ok = true;
  for (uint32_t i = 0; ok && i < node->num_inputs; i++)
    if (instr_of[node->inputs[i].node->id] == FY_NO_VALUE)
      ok = wait_for(d, t, node->inputs[i].node, instr_of, self);
  for (uint32_t i = 0; ok && i < node->num_controls; i++)
    ok = wait_for(d, t, node->controls[i], instr_of, self);
  while (ok && t->n) {
    const fy_node *from = t->at[--t->n];
    for (uint32_t i = 0; ok && i < from->num_inputs; i++)
      ok = wait_for(d, t, from->inputs[i].node, instr_of, self);
    for (uint32_t i = 0; ok && i < from->num_controls; i++)
      ok = wait_for(d, t, from->controls[i], instr_of, self);
  }
  return ok;
}

static bool collect(fy_program *p, deps *d, uint32_t *instr_of) {
  trail t = {0};
  bool ok = true;
  memset(instr_of, 0xff, p->graph->num_nodes * sizeof *instr_of);
  for (size_t i = 0; i < p->graph->num_nodes; i++)
    if (p->graph->nodes[i]) p->graph->nodes[i]->mark = 0;
  for (uint32_t i = 0; i < p->num_instrs; i++)
    if (p->instrs[i].kind == FY_INSTR_KERNEL) instr_of[p->instrs[i].node->id] = i;
  for (uint32_t i = 0; ok && i < p->num_instrs; i++) {
    const fy_instr *ins = &p->instrs[i];
    d->at[i] = (uint32_t)d->n;
    for (uint32_t k = 0; ok && k < ins->num_in; k++) {
      uint32_t from = p->values[p->args[ins->in + k]].producer;
      if (from != FY_NO_VALUE && from != i) ok = add_dep(d, from);
    }
    if (ok && ins->kind == FY_INSTR_KERNEL) ok = add_hidden_deps(d, &t, ins->node, instr_of, i);
  }
  d->at[p->num_instrs] = (uint32_t)d->n;
  fy_free(t.at);
  return ok;
}

static bool has_dedicated(const fy_program *p) {
  for (uint32_t i = 0; i < p->num_instrs; i++)
    if (p->instrs[i].device->dedicated) return true;
  return false;
}

static bool is_loop(const fy_instr *ins) {
  return ins->kind == FY_INSTR_KERNEL && ins->node &&
         (strcmp(ins->node->op_name, "While") == 0 ||
          strcmp(ins->node->op_name, "StatelessWhile") == 0 ||
          strcmp(ins->node->op_name, "_FerryLoop") == 0);
}

static double cost_of(const fy_instr *ins) {
  return is_loop(ins) ? ins->cost_ns + LOOP_NS : ins->cost_ns;
}

// On one line the large kernels share out their own work and only the small ones leave threads idle;
// measured, that beats tasks wherever the large ones dominate (InceptionV3 by 1.4, ResNet50 by 1.3).
static bool worth_splitting(const fy_program *p, const deps *d, double *finish) {
  double total = 0, longest = 0, small = 0;
  const double threads = fy_pool_threads(p->devices->client->pool);
  for (uint32_t i = 0; i < p->num_instrs; i++) {
    double ready = 0;
    for (uint32_t k = d->at[i]; k < d->at[i + 1]; k++)
      if (finish[d->list[k]] > ready) ready = finish[d->list[k]];
    const double cost = cost_of(&p->instrs[i]);
    finish[i] = ready + cost;
    total += cost;
    if (cost < SPLITS_ITSELF_NS || is_loop(&p->instrs[i])) small += cost;
    if (finish[i] > longest) longest = finish[i];
  }
  const double line = (total - small) / threads + small;
  return total > MIN_PARALLEL_NS && longest > 0 && total / longest > MIN_GAIN &&
         line > MIN_GAIN * total / threads;
}

static fy_device *must_run_on(const fy_instr *ins) {
  return ins->device->dedicated ? ins->device : NULL;
}

// Grows a task only by the sole consumer of its last instruction whose inputs all end there.
static uint32_t assign(fy_program *p, const deps *d, uint32_t *task_of, uint32_t *last_of) {
  uint32_t tasks = 0;
  for (uint32_t i = 0; i < p->num_instrs; i++) {
    uint32_t join = FY_NO_VALUE;
    bool one = d->at[i + 1] > d->at[i];
    for (uint32_t k = d->at[i]; k < d->at[i + 1] && one; k++) {
      uint32_t t = task_of[d->list[k]];
      if (join == FY_NO_VALUE) join = t;
      one = t == join;
    }
    if (one && d->fan_out[last_of[join]] == d->at[i + 1] - d->at[i] &&
        must_run_on(&p->instrs[last_of[join]]) == must_run_on(&p->instrs[i])) {
      task_of[i] = join;
    } else {
      task_of[i] = tasks++;
    }
    last_of[task_of[i]] = i;
  }
  return tasks;
}

// Sorts the instructions by task (stable) and renumbers what refers to them.
static bool reorder(fy_program *p, uint32_t tasks, const uint32_t *task_of, uint32_t *new_of) {
  fy_instr *sorted = fy_malloc((p->num_instrs + 1) * sizeof *sorted);
  if (!sorted) return false;
  for (uint32_t i = 0; i < p->num_instrs; i++) p->tasks[task_of[i]].end++;
  for (uint32_t t = 0, at = 0; t < tasks; t++) {
    p->tasks[t].begin = at;
    at += p->tasks[t].end;
    p->tasks[t].end = p->tasks[t].begin;
  }
  for (uint32_t i = 0; i < p->num_instrs; i++) {
    fy_task *t = &p->tasks[task_of[i]];
    new_of[i] = t->end++;
    sorted[new_of[i]] = p->instrs[i];
    sorted[new_of[i]].task = task_of[i];
    t->device = must_run_on(&p->instrs[i]);
  }
  fy_free(p->instrs);
  p->instrs = sorted;
  for (uint32_t v = 0; v < p->num_values; v++) {
    fy_value *val = &p->values[v];
    if (val->producer != FY_NO_VALUE) val->producer = new_of[val->producer];
    val->last_use = val->producer != FY_NO_VALUE ? val->producer : 0;
  }
  for (uint32_t i = 0; i < p->num_instrs; i++)
    for (uint32_t k = 0; k < p->instrs[i].num_in; k++) {
      fy_value *val = &p->values[p->args[p->instrs[i].in + k]];
      if (i > val->last_use) val->last_use = i;
    }
  return true;
}

static int by_number(const void *a, const void *b) {
  const uint64_t x = *(const uint64_t *)a, y = *(const uint64_t *)b;
  return x < y ? -1 : x > y;
}

static bool link_tasks(fy_program *p, const deps *d, const uint32_t *task_of) {
  size_t edges = d->n, n = 0;
  uint64_t *pairs = fy_malloc((edges + 1) * sizeof *pairs);
  p->task_next = fy_arena_alloc(&p->arena, (edges + 1) * sizeof *p->task_next);
  if (!pairs || !p->task_next) {
    fy_free(pairs);
    return false;
  }
  for (uint32_t i = 0; i < p->num_instrs; i++)
    for (uint32_t k = d->at[i]; k < d->at[i + 1]; k++) {
      uint32_t from = task_of[d->list[k]], to = task_of[i];
      if (from != to) pairs[n++] = (uint64_t)from << 32 | to;
    }
  qsort(pairs, n, sizeof *pairs, by_number);
  uint32_t at = 0;
  for (size_t i = 0; i < n; i++) {
    if (i && pairs[i] == pairs[i - 1]) continue;
    fy_task *t = &p->tasks[pairs[i] >> 32];
    if (!t->num_next++) t->next_at = at;
    p->task_next[at++] = (uint32_t)pairs[i];
    p->tasks[(uint32_t)pairs[i]].num_deps++;
  }
  fy_free(pairs);
  return true;
}

static fy_code one_task(fy_program *p, fy_error *err) {
  p->tasks = fy_arena_zalloc(&p->arena, sizeof *p->tasks);
  if (!p->tasks) return fy_fail_oom(err, sizeof *p->tasks);
  p->tasks[0].end = p->num_instrs;
  p->num_tasks = 1;
  return FY_OK;
}

fy_code fy_program_make_tasks(fy_program *p, fy_error *err) {
  bool dedicated = has_dedicated(p);
  bool threads = p->options->inter_threads != 1 && p->options->inter_threads >= 0 &&
                 p->devices->client->pool && fy_pool_threads(p->devices->client->pool) > 1;
  double total = 0;
  for (uint32_t i = 0; i < p->num_instrs; i++) total += cost_of(&p->instrs[i]);
  if (p->spill.copies || (!dedicated && (p->num_instrs < 2 || !threads || total < MIN_PARALLEL_NS)))
    return one_task(p, err);

  size_t n = p->num_instrs + 1;
  deps d = {.at = fy_calloc(n, sizeof *d.at), .fan_out = fy_calloc(n, sizeof *d.fan_out)};
  uint32_t *instr_of = fy_calloc(p->graph->num_nodes + 1, sizeof *instr_of);
  uint32_t *task_of = fy_calloc(n, sizeof *task_of);
  uint32_t *scratch = fy_calloc(n, sizeof *scratch);
  double *finish = fy_calloc(n, sizeof *finish);
  fy_code code = FY_OK;
  bool ok =
      d.at && d.fan_out && instr_of && task_of && scratch && finish && collect(p, &d, instr_of);
  if (ok && !dedicated && !worth_splitting(p, &d, finish)) {
    code = one_task(p, err);
  } else if (ok) {
    uint32_t tasks = assign(p, &d, task_of, scratch);
    p->tasks = fy_arena_array(&p->arena, tasks + 1, sizeof *p->tasks);
    ok = p->tasks && link_tasks(p, &d, task_of) && reorder(p, tasks, task_of, scratch);
    p->num_tasks = tasks;
  }
  if (!ok) code = fy_fail_oom(err, n * sizeof *task_of);
  fy_free(d.at);
  fy_free(d.list);
  fy_free(d.fan_out);
  fy_free(instr_of);
  fy_free(task_of);
  fy_free(scratch);
  fy_free(finish);
  return code;
}
