// SPDX-License-Identifier: Apache-2.0
// compile.c: the whole road of a program in one function: start reading Ferry here.
//
//   graph ──refs──> no hidden reads ──infer──> shapes ──extract──> no control flow of TensorFlow 1
//         ──optimize──> fewer nodes ──place──> devices + reasons ──partition──> transfers
//         ──build──> instructions, memory plan, prepared kernels
//
// Each step is a folder; each result can be dumped (`ferry dump --after STAGE`).

#include <string.h>

#include "base/alloc.h"
#include "execute/constant.h"
#include "execute/build.h"
#include "execute/frames.h"
#include "execute/kernel_call.h"
#include "execute/program.h"
#include "memory/registry.h"
#include "optimize/optimize.h"

#define FOLD_LIMIT_BYTES (10 << 20)

// Constant folding evaluates a node on the host as if eagerly.
static fy_code evaluate(void *arg, fy_node *node, fy_tensor **results, fy_error *err) {
  (void)arg;
  fy_tensor *inputs[FY_FOLD_MAX_INPUTS];
  if (node->num_inputs > FY_FOLD_MAX_INPUTS)
    return fy_fail(err, FY_UNIMPLEMENTED, "too many inputs to fold");
  for (uint32_t i = 0; i < node->num_inputs; i++)
    inputs[i] = (fy_tensor *)(uintptr_t)node->inputs[i].node->const_value;
  return fy_kernel_call_node(node, inputs, results, err);
}

static bool stops_after(const fy_compile_args *a, const char *stage) {
  return a->stop_after && strcmp(a->stop_after, stage) == 0;
}

static bool runs_anywhere(void *arg, const fy_node *node) {
  const fy_device_set *devices = arg;
  for (int i = 0; i < devices->n; i++)
    if (!devices->items[i]->is_host && !fy_place_supported(node, devices->items[i], NULL))
      return false;
  return true;
}

static fy_code optimise(fy_compile_args *a, fy_error *err) {
  fy_opt_ctx ctx = {.graph = a->graph,
                    .fetches = a->fetches,
                    .num_fetches = a->num_fetches,
                    .targets = a->targets,
                    .num_targets = a->num_targets,
                    .evaluate = evaluate,
                    .runs_anywhere = runs_anywhere,
                    .runs_anywhere_arg = (void *)(uintptr_t)a->devices,
                    .fold_limit_bytes = FOLD_LIMIT_BYTES,
                    .log = a->log};
  const char *off[FY_MAX_PASSES + 1];
  char names[sizeof a->options->passes_off];
  size_t n = 0;
  memcpy(names, a->options->passes_off, sizeof names);
  char *save = NULL;
  for (char *t = strtok_r(names, ",", &save); t && n < FY_MAX_PASSES;
       t = strtok_r(NULL, ",", &save))
    off[n++] = t;
  off[n] = NULL;
  ctx.disabled = off;
  return fy_optimize_run(&ctx, err);
}

static bool asks_for_devices(const fy_graph *g) {
  for (size_t i = 0; i < g->num_nodes; i++)
    if (g->nodes[i] && (*g->nodes[i]->device || fy_attrs_get(&g->nodes[i]->attrs, "_class")))
      return true;
  return false;
}

// A request that cannot be met is an error even if optimisation would make its node vanish.
static fy_code check_requests(const fy_compile_args *a, const fy_place_options *place,
                              fy_error *err) {
  fy_placement *p;
  if (!asks_for_devices(a->graph)) return FY_OK;
  fy_place_options tf = *place;
  tf.mode = FY_PLACE_TENSORFLOW;
  FY_TRY(fy_place_run(a->graph, a->devices, &tf, &p, err));
  fy_placement_free(p);
  return FY_OK;
}

// What other processes leave of the devices; NULL: there are none, or memory is short (then nobody counts).
static const fy_place_load *others_load(fy_program *p, const fy_device_set *devices) {
  fy_place_load *load = fy_arena_array(&p->arena, (size_t)devices->n, sizeof *load);
  for (int i = 0; load && i < devices->n; i++) {
    fy_device *d = devices->items[i];
    fy_others others;
    if (d->is_host) continue;
    load[i].may_hold = fy_program_may_hold(d);
    fy_registry_others(d, &others);
    load[i].busy = others.busy;
    load[i].others = others.processes ? fy_arena_strdup(&p->arena, others.who) : NULL;
  }
  return load;
}

// Whether fy_exec_line has a short way through it.
static bool is_line(const fy_program *p) {
  if (!p->plain || p->may_move) return false;
  for (uint32_t i = 0; i < p->num_instrs; i++) {
    const fy_instr *ins = &p->instrs[i];
    if (!ins->fn || ins->kind != FY_INSTR_KERNEL || ins->check_refs) return false;
  }
  return true;
}

fy_code fy_program_compile(fy_compile_args *a, fy_program **out, fy_error *err) {
  int64_t start = fy_now_ns();
  *out = NULL;
  fy_program *p = fy_program_new(a);
  if (!p) {
    fy_graph_free(a->graph);
    return fy_fail_oom(err, sizeof *p);
  }
  fy_place_options place = {
      .mode = a->options->place_tensorflow ? FY_PLACE_TENSORFLOW : FY_PLACE_AUTO,
      .soft = a->options->soft_placement,
      .default_device = a->default_device};
  place.load = others_load(p, a->devices);
  fy_graph_set_evaluator(fy_constant_for_shapes);
  fy_code code = fy_refs_lower(a, err);
  if (!code) code = fy_graph_infer_all(a->graph, err);
  if (!code && (a->options->optimize || fy_flow_any(a->graph)))
    code = check_requests(a, &place, err);
  if (!code) code = fy_frames_extract(a, p, err);
  if (!code && a->options->optimize) code = optimise(a, err);
  if (!code && !stops_after(a, "optimize")) {
    code = fy_place_run(a->graph, a->devices, &place, &p->placement, err);
    if (!code && !stops_after(a, "place")) {
      code = fy_partition_run(a->graph, p->placement, a->fetches, a->num_fetches, a->fetch_spaces,
                              a->feed_spaces, a->devices->client, &p->parts, err);
      if (!code && !stops_after(a, "partition")) code = fy_program_build(p, a, err);
    }
  }
  if (code) {
    fy_program_release(p);
    return code;
  }
  p->plain = !p->has_devices && !p->spill.copies && !fy_program_in_tasks(p);
  p->line = is_line(p);
  for (uint32_t k = 0; k < p->num_fresh; k++) p->lends |= !p->values[p->fresh[k]].fetched;
  p->compile_ns = fy_now_ns() - start;
  *out = p;
  return FY_OK;
}
