// SPDX-License-Identifier: Apache-2.0
// fate.c: what became of every node of the original graph. A program's node lists the original ones
// it stands for (origins), so most fates are found by looking a name up there; a node that is in no
// list was removed, and its readers and the log of the rewrites tell why.

#include <stdio.h>
#include <string.h>

#include "base/alloc.h"
#include "graph/function.h"
#include "observe/report.h"

static const char *const names[FY_FATE_COUNT] = {[FY_FATE_RUNS] = "runs",
                                                 [FY_FATE_FED] = "fed",
                                                 [FY_FATE_CONSTANT] = "constant",
                                                 [FY_FATE_FOLDED] = "folded",
                                                 [FY_FATE_MERGED] = "merged",
                                                 [FY_FATE_BYPASSED] = "bypassed",
                                                 [FY_FATE_FUSED] = "fused",
                                                 [FY_FATE_REWRITTEN] = "rewritten",
                                                 [FY_FATE_INLINED] = "inlined",
                                                 [FY_FATE_REMOVED] = "removed",
                                                 [FY_FATE_NOT_NEEDED] = "not needed",
                                                 [FY_FATE_ADDED] = "added"};

const char *fy_fate_name(fy_fate fate) {
  return (unsigned)fate < FY_FATE_COUNT ? names[fate] : "?";
}

typedef struct judge {
  fy_report *r;
  const fy_report_args *a;
  fy_map heirs;     // original name -> node of the program that stands for it
  fy_map rewrites;  // name -> line of the log; once it is |indexed|
  bool indexed;
  uint8_t *needed;        // [original id]
  const fy_instr **work;  // [program node id] its instruction
  uint8_t *led;           // [program node id] some entry shows its cost
  uint64_t *sent;  // [program node id] bit per memory a constant is copied to (63 = any further)
} judge;

static bool is_fed(const fy_run_args *run, fy_output o) {
  for (int i = 0; i < run->num_feeds; i++)
    if (run->feeds[i].node == o.node && run->feeds[i].index == o.index) return true;
  return false;
}

static bool feeds_node(const fy_run_args *run, const fy_node *n) {
  for (int i = 0; i < run->num_feeds; i++)
    if (run->feeds[i].node == n) return true;
  return false;
}

static fy_code mark_needed(judge *j, fy_error *err) {
  const fy_graph *g = j->a->graph;
  const fy_run_args *run = j->a->run;
  fy_node **stack = fy_malloc((g->num_nodes + 1) * sizeof *stack);
  size_t top = 0;
  if (!stack) return fy_fail_oom(err, g->num_nodes * sizeof *stack);
#define NEED(node_)           \
  do {                        \
    fy_node *n_ = (node_);    \
    if (!j->needed[n_->id]) { \
      j->needed[n_->id] = 1;  \
      stack[top++] = n_;      \
    }                         \
  } while (0)
  for (int i = 0; i < run->num_fetches; i++) {
    if (is_fed(run, run->fetches[i]))
      j->needed[run->fetches[i].node->id] = 1;
    else
      NEED(run->fetches[i].node);
  }
  for (int i = 0; i < run->num_targets; i++) NEED(run->targets[i]);
  while (top) {
    fy_node *n = stack[--top];
    for (uint32_t i = 0; i < n->num_inputs; i++) {
      if (is_fed(run, n->inputs[i]))
        j->needed[n->inputs[i].node->id] = 1;
      else
        NEED(n->inputs[i].node);
    }
    for (uint32_t i = 0; i < n->num_controls; i++) NEED(n->controls[i]);
  }
#undef NEED
  fy_free(stack);
  return FY_OK;
}

static fy_code map_heirs(judge *j, fy_error *err) {
  const fy_graph *p = j->a->program->graph;
  bool ok = true;
  // First every node under its own name, then origins that nobody bears as a name.
  for (size_t i = 0; i < p->num_nodes; i++)
    if (p->nodes[i] && !p->nodes[i]->origins)
      ok &= fy_map_puts(&j->heirs, p->nodes[i]->name, p->nodes[i]);
  for (size_t i = 0; i < p->num_nodes; i++) {
    fy_node *n = p->nodes[i];
    for (uint32_t k = 0; n && n->origins && k < n->num_origins; k++)
      if (!fy_map_gets(&j->heirs, n->origins[k])) ok &= fy_map_puts(&j->heirs, n->origins[k], n);
  }
  for (uint32_t i = 0; i < j->a->program->num_instrs; i++) {
    const fy_instr *ins = &j->a->program->instrs[i];
    if (ins->kind == FY_INSTR_KERNEL && !ins->spill) j->work[ins->node->id] = ins;
  }
  const fy_parts *parts = j->a->program->parts;
  for (size_t i = 0; i < parts->num_transfers; i++) {
    int to = parts->transfers[i].to_space;
    j->sent[parts->transfers[i].value.node->id] |= 1ull << (to < 63 ? to : 63);
  }
  return ok ? FY_OK : fy_fail_oom(err, sizeof j->heirs);
}

static bool hands_on(const fy_node *n) {
  static const char *const ops[] = {"Identity",        "IdentityN", "StopGradient",
                                    "PreventGradient", "Snapshot",  "PlaceholderWithDefault",
                                    "CheckNumerics"};
  for (size_t i = 0; i < sizeof ops / sizeof *ops; i++)
    if (strcmp(n->op_name, ops[i]) == 0) return true;
  return false;
}

static bool is_fused(const fy_node *n) {
  return strncmp(n->op_name, "_Ferry", 6) == 0;
}

static fy_fate judge_fate(const judge *j, const fy_node *o, const fy_node *now) {
  bool same = strcmp(o->name, now->name) == 0;
  if (strcmp(now->op_name, "_Arg") == 0)
    return feeds_node(j->a->run, o) ? FY_FATE_FED : FY_FATE_BYPASSED;
  if (now->const_value) {
    if (o->const_value) return same ? FY_FATE_CONSTANT : FY_FATE_MERGED;
    return hands_on(o) && !same ? FY_FATE_BYPASSED : FY_FATE_FOLDED;
  }
  if (is_fused(now)) return now->num_origins > 1 ? FY_FATE_FUSED : FY_FATE_REWRITTEN;
  if (same) return strcmp(o->op_name, now->op_name) == 0 ? FY_FATE_RUNS : FY_FATE_REWRITTEN;
  if (hands_on(o)) return FY_FATE_BYPASSED;
  return strcmp(o->op_name, now->op_name) == 0 ? FY_FATE_MERGED : FY_FATE_BYPASSED;
}

// "a, b, c" of the originals that |n| stands for, but |but| (one of them, or NULL); at most a few. A
// node inside a function that was inlined in several places stands there as often.
static void list_origins(fy_str *out, const fy_node *n, const char *but) {
  uint32_t shown = 0, i = 0;
  bool met = !but;
  for (; i < n->num_origins && shown < 8; i++) {
    const bool is = but && strcmp(n->origins[i], but) == 0;
    met |= is;
    if (is || (i && strcmp(n->origins[i], n->origins[i - 1]) == 0)) continue;
    fy_str_printf(out, "%s%s", shown++ ? ", " : "", n->origins[i]);
  }
  const uint32_t others = n->num_origins - i - (met ? 0 : 1);
  if (others) fy_str_printf(out, " and %u more", others);
}

static const char *keep(judge *j, fy_str *s) {
  const char *text = s->failed ? NULL : fy_arena_strdup(&j->r->arena, fy_str_text(s));
  fy_str_free(s);
  return text;
}

static const char *placed_text(const judge *j, const fy_node *now) {
  const fy_placement *p = j->a->program->placement;
  const char *text = p->nodes[now->id].text;
  return text && *text ? text : fy_why_name(p->nodes[now->id].why);
}

// Which devices get a copy of constant |n| at the first run.
static void tell_copies(const judge *j, fy_str *out, const fy_node *n) {
  const fy_device_set *set = j->a->program->devices;
  const char *sep = ", copied once to ";
  for (int i = 0; i < set->n; i++) {
    if (!(j->sent[n->id] >> (i + 1 < 63 ? i + 1 : 63) & 1)) continue;
    fy_str_printf(out, "%s%s", sep, fy_report_device_name(set->items[i]));
    sep = " and ";
  }
}

static const char *tell(judge *j, fy_fate fate, const fy_node *o, const fy_node *now) {
  fy_str s;
  fy_str_init(&s);
  const char *label = fy_report_label(now);
  switch (fate) {
    case FY_FATE_CONSTANT:
      fy_str_add(&s, "kept in host memory");
      tell_copies(j, &s, now);
      break;
    case FY_FATE_FOLDED:
      fy_str_add(&s, "computed ahead of time: everything it depends on is constant");
      tell_copies(j, &s, now);
      break;
    case FY_FATE_MERGED:
      fy_str_printf(&s, "merged into '%s', which computes the same", label);
      break;
    case FY_FATE_BYPASSED:
      fy_str_printf(&s, "its value is that of '%s': no work is left", label);
      break;
    case FY_FATE_FUSED:
      fy_str_printf(&s, "fused into '%s' with [", label);
      list_origins(&s, now, o->name);
      fy_str_printf(&s, "]; %s", placed_text(j, now));
      break;
    case FY_FATE_REWRITTEN:
      fy_str_printf(&s, "now a %s; %s", now->op_name, placed_text(j, now));
      break;
    default: fy_str_add(&s, placed_text(j, now)); break;
  }
  return keep(j, &s);
}

// The log by the names it speaks of: the line of the first rewrite ("fold: c (Mul)") that is no pruning,
// which is known. What ends a sentence may follow a name, and may be part of it.
static bool index_log(judge *j) {
  const char *line = j->a->log;
  bool ok = true;
  for (; line && *line; line += strcspn(line, "\n"), line += *line == '\n') {
    if (strncmp(line, "prune", 5) == 0) continue;
    for (const char *q = line; *q && *q != '\n';) {
      const size_t n = strcspn(q, "\n '(),:;[]");
      for (size_t k = n; ok && k; k = q[k - 1] == '.' ? k - 1 : 0)
        if (!fy_map_get(&j->rewrites, q, k))
          ok = fy_map_put(&j->rewrites, q, k, (void *)(uintptr_t)line);
      q += n;
      q += *q && *q != '\n';
    }
  }
  j->indexed = true;
  return ok;
}

static const char *tell_removed(judge *j, const fy_node *o) {
  fy_str s;
  if (!j->indexed && !index_log(j)) return NULL;
  const char *line = fy_map_gets(&j->rewrites, o->name);
  fy_str_init(&s);
  if (line && strncmp(line, "fold", 4) == 0)
    fy_str_add(&s, "computed ahead of time, into a constant that took its readers' place");
  else if (line)
    fy_str_printf(&s, "rewritten away (%.*s)", (int)strcspn(line, "\n"), line);
  if (!line) {
    const fy_node *reader = NULL;
    for (uint32_t i = 0; i < o->num_outputs && !reader; i++)
      for (uint32_t u = 0; u < o->outputs[i].num_uses && !reader; u++)
        if (j->needed[o->outputs[i].uses[u].node->id]) reader = o->outputs[i].uses[u].node;
    const fy_node *heir = reader ? fy_map_gets(&j->heirs, reader->name) : NULL;
    if (reader && heir && heir->const_value)
      fy_str_printf(&s, "used up in computing '%s' ahead of time", reader->name);
    else if (reader)
      fy_str_printf(&s, "its reader '%s' was rewritten and does not need it", reader->name);
    else
      fy_str_add(&s, "nothing reads it any more after optimisation");
  }
  return keep(j, &s);
}

static bool was_inlined(judge *j, const fy_node *o) {
  if (!fy_function_is_call(o) || (!j->indexed && !index_log(j))) return false;
  const char *line = fy_map_gets(&j->rewrites, o->name);
  return line && strncmp(line, "inline: ", 8) == 0;
}

// Where the nodes of an inlined call run: "8 nodes on GPU:0, 2 on CPU:0". |*only| is the device of all of them.
static const char *tell_inlined(judge *j, const fy_node *o, const fy_device **only) {
  const fy_program *p = j->a->program;
  const fy_device_set *set = p->devices;
  const size_t n = strlen(o->name);
  fy_str s;
  int kinds = 0;
  fy_str_init(&s);
  fy_str_add(&s, "its function's nodes run in its place");
  for (int d = 0; d < set->n; d++) {
    int count = 0;
    for (size_t i = 0; i < p->graph->num_nodes; i++) {
      const fy_node *now = p->graph->nodes[i];
      count += now && j->work[i] && p->placement->nodes[i].device == set->items[d] &&
               strncmp(now->name, o->name, n) == 0 && now->name[n] == '/';
    }
    if (!count) continue;
    fy_str_printf(&s, "%s%d%s on %s", kinds ? ", " : ": ", count,
                  kinds       ? ""
                  : count > 1 ? " nodes"
                              : " node",
                  fy_report_device_name(set->items[d]));
    *only = kinds++ ? NULL : set->items[d];
  }
  if (!kinds) fy_str_add(&s, ", and nothing of them is left to compute");
  return keep(j, &s);
}

static void fill_work(judge *j, fy_report_node *e, const fy_node *now) {
  const fy_program *p = j->a->program;
  const fy_placed *placed = &p->placement->nodes[now->id];
  e->now = now;
  e->device = placed->device;
  e->wanted = placed->wanted;
  e->why = fy_why_name(placed->why);
  if (j->led[now->id]) return;
  j->led[now->id] = 1;
  e->leads = true;
  const fy_instr *work = j->work[now->id];
  if (!work) return;
  fy_cost cost;
  fy_place_work(now, &cost);
  e->ns = work->cost_ns;
  e->flops = cost.flops;
}

static int64_t bytes_of(const fy_node *n) {
  int64_t total = 0, count;
  for (uint32_t i = 0; i < n->num_outputs; i++) {
    fy_pshape s = n->outputs[i].shape;
    if (s.rank < 0 || !fy_shape_count(s.rank, s.dims, &count)) return -1;
    total += count * (int64_t)fy_dtype_storage(fy_dtype_base(n->outputs[i].dtype));
  }
  return total;
}

static fy_code judge_node(judge *j, const fy_node *o, fy_error *err) {
  fy_report_node *e = &j->r->nodes[j->r->num_nodes++];
  *e = (fy_report_node){.name = o->name, .op = o->op_name, .out_bytes = -1};
  bool needed = j->needed[o->id] != 0;
  j->r->num_needed += needed;
  const fy_node *now = needed ? fy_map_gets(&j->heirs, o->name) : NULL;
  if (!needed) {
    e->fate = FY_FATE_NOT_NEEDED;
    e->reason = "none of the fetches depends on it";
  } else if (was_inlined(j, o)) {
    e->fate = FY_FATE_INLINED;
    e->reason = tell_inlined(j, o, &e->device);
    e->now = now;
  } else if (!now) {
    e->fate = FY_FATE_REMOVED;
    e->reason = tell_removed(j, o);
  } else {
    e->fate = judge_fate(j, o, now);
    e->reason = tell(j, e->fate, o, now);
    e->out_bytes = bytes_of(now);
    if (e->fate != FY_FATE_BYPASSED && e->fate != FY_FATE_MERGED)
      fill_work(j, e, now);
    else
      e->now = now;
  }
  if (!e->reason) return fy_fail_oom(err, 64);
  bool gone = !e->device || e->fate == FY_FATE_FOLDED || e->fate == FY_FATE_INLINED;
  if (e->fate == FY_FATE_CONSTANT) e->device = j->a->program->devices->client;
  if (gone || !e->why || e->fate == FY_FATE_CONSTANT) e->why = fy_fate_name(e->fate);
  if (e->fate == FY_FATE_FOLDED) e->device = NULL;
  return FY_OK;
}

// What the program has and the original graph has not: bodies of inlined functions, new constants.
static fy_code judge_added(judge *j, fy_error *err) {
  const fy_graph *p = j->a->program->graph;
  for (size_t i = 0; i < p->num_nodes; i++) {
    const fy_node *n = p->nodes[i];
    if (!n || j->led[i] || strcmp(n->op_name, "_Arg") == 0 || !j->work[i]) continue;
    fy_report_node *e = &j->r->nodes[j->r->num_nodes++];
    *e = (fy_report_node){
        .name = n->name, .op = n->op_name, .fate = FY_FATE_ADDED, .out_bytes = bytes_of(n)};
    fill_work(j, e, n);
    fy_str s;
    fy_str_init(&s);
    if (n->origins && n->num_origins) {
      fy_str_add(&s, "stands for [");
      list_origins(&s, n, NULL);
      fy_str_add(&s, "]; ");
    }
    fy_str_add(&s, placed_text(j, n));
    if (!(e->reason = keep(j, &s))) return fy_fail_oom(err, 64);
  }
  return FY_OK;
}

fy_code fy_report_fates(fy_report *r, const fy_report_args *a, fy_error *err) {
  judge j = {.r = r, .a = a};
  size_t n = a->graph->num_nodes, m = a->program->graph->num_nodes;
  j.needed = fy_arena_array(&r->arena, n + 1, 1);
  j.led = fy_arena_array(&r->arena, m + 1, 1);
  j.work = fy_arena_array(&r->arena, m + 1, sizeof *j.work);
  j.sent = fy_arena_array(&r->arena, m + 1, sizeof *j.sent);
  r->nodes = fy_arena_array(&r->arena, n + m + 1, sizeof *r->nodes);
  if (!j.needed || !j.led || !j.work || !j.sent || !r->nodes)
    return fy_fail_oom(err, n * sizeof *r->nodes);
  fy_map_init(&j.heirs);
  fy_map_init(&j.rewrites);
  fy_code code = mark_needed(&j, err);
  if (!code) code = map_heirs(&j, err);
  for (size_t i = 0; !code && i < n; i++)
    if (a->graph->nodes[i]) code = judge_node(&j, a->graph->nodes[i], err);
  if (!code) code = judge_added(&j, err);
  fy_map_free(&j.heirs);
  fy_map_free(&j.rewrites);
  return code;
}
