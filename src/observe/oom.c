// SPDX-License-Identifier: Apache-2.0
// oom.c: plans the failed run once more, without and with spilling, and says what is in the way.

#include "observe/oom.h"

#include <string.h>

#include "base/alloc.h"
#include "execute/build.h"

#define SHOWN 5

static bool about_memory(const fy_error *err) {
  const char *text = fy_error_text(err);
  return err->code == FY_RESOURCE_EXHAUSTED &&
         (strstr(text, "OOM when allocating") || strstr(text, "ran out of memory"));
}

static fy_pshape *shapes_of(const fy_run_args *a, fy_arena *arena) {
  fy_pshape *s = fy_arena_array(arena, (size_t)a->num_feeds + 1, sizeof *s);
  for (int i = 0; s && i < a->num_feeds; i++)
    s[i] = (fy_pshape){a->feed_values[i]->rank, a->feed_values[i]->dims};
  return s;
}

// The leading dimension of what is fed, where the graph leaves it open.
static bool *batched_of(const fy_run_args *a, fy_arena *arena) {
  bool *b = fy_arena_array(arena, (size_t)a->num_feeds + 1, sizeof *b);
  for (int i = 0; b && i < a->num_feeds; i++) {
    const fy_node *n = a->feeds[i].node;
    if (a->feeds[i].index < 0 || (uint32_t)a->feeds[i].index >= n->num_outputs) continue;
    const fy_pshape *want = &n->outputs[a->feeds[i].index].shape;
    b[i] = a->feed_values[i]->rank > 0 && (want->rank < 0 || (want->rank > 0 && want->dims[0] < 0));
  }
  return b;
}

static void show_peak(const fy_program *p, int space, fy_error *err) {
  const uint32_t step = p->plan.peak_step[space];
  uint64_t before = UINT64_MAX, shown = 0;
  size_t last = SIZE_MAX;
  for (int n = 0; n < SHOWN; n++) {
    size_t best = SIZE_MAX;
    for (size_t i = 0; i < p->num_lives; i++) {
      const fy_life *l = &p->lives[i];
      if (l->space != space || l->first > step || l->last < step || !l->bytes) continue;
      if (l->bytes > before || (l->bytes == before && (last != SIZE_MAX && i <= last))) continue;
      if (best == SIZE_MAX || l->bytes > p->lives[best].bytes) best = i;
    }
    if (best == SIZE_MAX) break;
    const fy_life *l = &p->lives[best];
    char size[32], shape[128];
    fy_human_bytes((double)l->bytes, size);
    if (l->value == UINT32_MAX)
      fy_error_append(err, "  %s of working memory of %s\n", size, l->owner);
    else
      fy_error_append(err, "  %s %s%s from %s\n", size, fy_dtype_name(p->values[l->value].dtype),
                      fy_shape_text(p->values[l->value].rank, p->values[l->value].dims, shape),
                      l->owner);
    before = l->bytes;
    last = best;
    shown += l->bytes;
  }
  size_t others = 0;
  uint64_t rest = 0;
  for (size_t i = 0; i < p->num_lives; i++) {
    const fy_life *l = &p->lives[i];
    if (l->space == space && l->first <= step && l->last >= step && l->bytes)
      others++, rest += l->bytes;
  }
  if (others <= SHOWN) return;
  char size[32];
  fy_human_bytes((double)(rest - shown), size);
  fy_error_append(err, "  and %zu more with %s\n", others - SHOWN, size);
}

static void show_weights(const fy_program *p, int space, fy_error *err) {
  const fy_value *best = NULL;
  for (uint32_t v = 0; v < p->num_values; v++) {
    const fy_value *val = &p->values[v];
    if (val->space == space && val->storage == FY_STORE_CONST &&
        (!best || val->bytes > best->bytes))
      best = val;
  }
  char size[32], shape[128];
  if (!best) return;
  fy_human_bytes((double)best->bytes, size);
  fy_error_append(err, "  largest constant: %s %s%s from %s\n", size, fy_dtype_name(best->dtype),
                  fy_shape_text(best->rank, best->dims, shape), best->node->name);
}

// Returns whether a memory's plan is over its limit. |*exact|: the plan is all that the run takes.
static bool show_needs(const fy_program *p, bool *exact, fy_error *err) {
  bool over = false;
  for (int space = 0; space <= p->devices->n; space++) {
    if (space && p->devices->items[space - 1]->is_host) continue;
    fy_space_memory m;
    fy_report_memory(p, space, &m);
    const uint64_t needs = m.limit_set ? m.allocator_bytes : m.peak_bytes;
    *exact &= m.exact;
    if (!m.limit_bytes || needs + m.loose_bytes <= m.limit_bytes) continue;
    over = true;
    char need[32], limit[32], weights[32], vars[32], arena[32];
    fy_human_bytes((double)needs, need);
    fy_human_bytes((double)m.limit_bytes, limit);
    fy_human_bytes((double)m.weights_bytes, weights);
    fy_human_bytes((double)m.planned_bytes, arena);
    fy_human_bytes((double)m.variables_bytes, vars);
    fy_error_append(err, "%s: this run needs %s of %s: ", fy_report_device_name(m.device), need,
                    limit);
    // The host's constants are the graph's own and not under the allocator's limit.
    if (space || !m.limit_set) fy_error_append(err, "constants %s, ", weights);
    fy_human_bytes((double)m.packed_bytes, weights);
    if (m.packed_bytes) fy_error_append(err, "packed weights %s, ", weights);
    if (m.variables_bytes) fy_error_append(err, "variables %s, ", vars);
    fy_human_bytes((double)m.dynamic_bytes, vars);
    if (m.dynamic_bytes) fy_error_append(err, "what is made while it runs %s, ", vars);
    fy_error_append(err, "tensors at their fullest %s (at '%s'). Live then:\n", arena, m.peak_node);
    show_peak(p, space, err);
    if (space || !m.limit_set) show_weights(p, space, err);
  }
  return over;
}

static uint64_t bytes_of_args(const fy_program *p, const fy_instr *ins, int space) {
  const uint32_t n = (uint32_t)ins->num_in + ins->num_out;
  uint64_t sum = 0;
  for (uint32_t i = 0; i < n; i++) {
    const uint32_t at = i < ins->num_in ? ins->in + i : ins->out + i - ins->num_in;
    const fy_value *root = &p->values[p->values[p->args[at]].root];
    bool again = false;
    for (uint32_t k = 0; k < i && !again; k++) {
      const uint32_t before = k < ins->num_in ? ins->in + k : ins->out + k - ins->num_in;
      again = &p->values[p->values[p->args[before]].root] == root;
    }
    if (!again && root->space == space && root->rank >= 0) sum += root->bytes;
  }
  return sum;
}

// Keeping tensors elsewhere makes no room for an operation that alone is too much.
static void show_alone(const fy_program *p, fy_error *err) {
  const fy_instr *worst = NULL;
  uint64_t most = 0;
  for (uint32_t i = 0; i < p->num_instrs; i++) {
    const fy_instr *ins = &p->instrs[i];
    if (ins->kind != FY_INSTR_KERNEL || ins->device->is_host) continue;
    const uint64_t needs = bytes_of_args(p, ins, fy_space_of(ins->device)) + ins->scratch_bytes;
    if (needs <= most || needs <= fy_program_may_hold(ins->device)) continue;
    most = needs;
    worst = ins;
  }
  if (worst) {
    char need[32];
    fy_human_bytes((double)most, need);
    fy_error_append(err, "Spilling does not help: '%s' alone needs %s at once on %s.\n",
                    worst->node->name, need, fy_report_device_name(worst->device));
  } else {
    fy_error_append(err, "Spilling (spill=auto) does not make it fit.\n");
  }
}

static void show_spilling(const fy_program *p, bool already, fy_error *err) {
  char bytes[32], ns[32];
  if (!p->spill.copies && !p->spill.file_bytes) {
    show_alone(p, err);
    return;
  }
  fy_human_bytes((double)(p->spill.bytes_in + p->spill.bytes_out), bytes);
  fy_report_ns(fy_report_spill_ns(p), ns);
  if (!p->spill.copies) {
    fy_human_bytes((double)p->spill.file_bytes, bytes);
    fy_error_append(err, "With spilling (spill=auto) it fits: %s are in a file.\n", bytes);
  } else if (already)
    fy_error_append(err,
                    "It spills already (%s cross per run, about %s), and its plan fits: what is "
                    "missing is held by others, or lies in pieces.\n",
                    bytes, ns);
  else
    fy_error_append(err, "With spilling (spill=auto) it fits: %s cross per run, about %s.\n", bytes,
                    ns);
}

static void explain(fy_session *with, fy_session *without, bool spills, const fy_run_args *args,
                    fy_arena *arena, fy_error *err) {
  fy_error why;
  fy_program *p;
  fy_pshape *shapes = shapes_of(args, arena);
  bool *batched = batched_of(args, arena);
  fy_error_init(&why);
  if (!shapes || !batched) return;
  bool over = false, exact = true;
  if (fy_session_program(without, args, shapes, NULL, NULL, &p, &why) == FY_OK) {
    over = show_needs(p, &exact, err);
    fy_program_release(p);
  } else {
    over = why.code == FY_RESOURCE_EXHAUSTED;
  }
  fy_error_clear(&why);
  if (!over) {
    fy_error_append(err, exact ? "The plan of this run alone fits: what is missing is held by "
                                 "others.\n"
                               : "What can be planned of this run fits: what is missing is for "
                                 "sizes that only the data tells, or held by others.\n");
    return;
  }
  fy_prediction pr;
  const fy_predict_args ask = {.session = without,
                               .devices = fy_session_devices(without),
                               .run = args,
                               .shapes = shapes,
                               .batched = batched};
  if (fy_predict(&ask, &pr, &why) == FY_OK && pr.first_exhausted >= 0 &&
      pr.largest_batch[pr.first_exhausted] >= 0)
    fy_error_append(err, "The largest batch that fits is %lld.\n",
                    (long long)pr.largest_batch[pr.first_exhausted]);
  if (pr.first_exhausted >= 0 && pr.largest_batch[pr.first_exhausted] == 0)
    fy_error_append(err, "What does not grow with the batch is too much already.\n");
  fy_error_clear(&why);
  if (fy_session_program(with, args, shapes, NULL, NULL, &p, &why) == FY_OK) {
    show_spilling(p, spills, err);
    fy_program_release(p);
  }
  fy_error_clear(&why);
}

void fy_oom_explain(fy_session *s, const fy_run_args *args, fy_error *err) {
  if (!err || !about_memory(err)) return;
  fy_arena arena;
  fy_session *with = NULL, *without = NULL;
  fy_options o = *fy_session_options(s);
  fy_arena_init(&arena);
  o.spill = true;
  fy_code code = fy_session_new(fy_session_graph(s), fy_session_devices(s), &o, NULL, &with, NULL);
  o.spill = false;
  if (!code)
    code = fy_session_new(fy_session_graph(s), fy_session_devices(s), &o, NULL, &without, NULL);
  const char *text = fy_error_text(err);
  if (!code && *text && text[strlen(text) - 1] != '\n') fy_error_append(err, "\n");
  if (!code) explain(with, without, fy_session_options(s)->spill, args, &arena, err);
  fy_session_free(with);
  fy_session_free(without);
  fy_arena_free(&arena);
}
