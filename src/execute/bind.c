// SPDX-License-Identifier: Apache-2.0
// bind.c: give every instruction its kernel; for a node that calls functions, check first that they
// exist and fit. Errors in TensorFlow's words, which name the node only sometimes.

#include <string.h>

#include "base/alloc.h"
#include "execute/build.h"
#include "execute/kernel_call.h"

static bool is_call(const fy_node *n) {
  return strcmp(n->op_name, "PartitionedCall") == 0 ||
         strcmp(n->op_name, "StatefulPartitionedCall") == 0;
}

static bool is_while(const fy_node *n) {
  return strcmp(n->op_name, "While") == 0 || strcmp(n->op_name, "StatelessWhile") == 0;
}

static fy_code check_exists(fy_program *p, const fy_node *n, const fy_func_attr *f, fy_error *err) {
  const fy_function *found = fy_funclib_find(p->graph->functions, f->name.p, f->name.n);
  if (!found && is_call(n))
    return fy_fail(err, FY_INVALID_ARGUMENT,
                   "Failed to find function \"%.*s\" in function library: it has %u functions",
                   (int)f->name.n, f->name.p, p->graph->functions->by_name.live);
  if (!found)
    return fy_fail(err, FY_NOT_FOUND, "Function %.*s is not defined.", (int)f->name.n, f->name.p);
  return FY_OK;
}

static fy_code check_functions(fy_program *p, const fy_node *n, fy_error *err) {
  for (int i = 0; i < n->spec->num_attrs; i++) {
    if (n->spec->attrs[i].kind != FY_ATTR_FUNC) continue;
    const fy_attr *a = fy_attrs_get(&n->attrs, n->spec->attrs[i].name);
    if (!a || a->kind != FY_ATTR_FUNC) continue;
    const fy_func_attr *f = a->is_list ? a->v.funcs : a->v.func;
    for (uint32_t k = 0; k < (a->is_list ? a->n : 1); k++) FY_TRY(check_exists(p, n, &f[k], err));
  }
  return FY_OK;
}

static fy_code check_call(const fy_node *n, const fy_callable *f, fy_error *err) {
  if (fy_callable_num_args(f) != (int)n->num_inputs)
    return fy_fail(
        err, FY_INVALID_ARGUMENT,
        "InstantiateOptions.input_devices must have the same length as the number of "
        "arguments: input_devices length = %u number of arguments = %d\n\t [[{{node %s}}]]",
        n->num_inputs, fy_callable_num_args(f), n->name);
  for (int i = 0; i < (int)n->num_inputs; i++) {
    fy_dtype got = fy_dtype_base(n->input_types[i]), want = fy_callable_arg_type(f, i);
    if (got == want) continue;
    fy_view name = fy_attrs_get(&n->attrs, "f")->v.func->name;
    return fy_fail(
        err, FY_INVALID_ARGUMENT,
        "{{function_node %.*s}} {{function_node %.*s}} Expects arg[%d] to be %s but %s is "
        "provided\n\t [[{{node %s}}]]",
        (int)name.n, name.p, (int)name.n, name.p, i, fy_dtype_name(want), fy_dtype_name(got),
        n->name);
  }
  for (int i = 0; i < (int)n->num_outputs && i < fy_callable_num_results(f); i++) {
    fy_dtype got = fy_callable_result_type(f, i), want = n->outputs[i].dtype;
    if (got != want)
      return fy_fail(
          err, FY_INTERNAL,
          "Output %d of type %s does not match declared output type %s for node {{node %s}}", i,
          fy_dtype_name(got), fy_dtype_name(want), n->name);
  }
  return FY_OK;
}

static fy_code check_body(const fy_node *n, const fy_callable *f, fy_error *err) {
  for (int i = 0; i < (int)n->num_outputs && i < fy_callable_num_results(f); i++) {
    fy_dtype got = fy_callable_result_type(f, i), want = n->outputs[i].dtype;
    if (got != want)
      return fy_fail(err, FY_INVALID_ARGUMENT,
                     "Expected type %s for return value %d but got %s.\n\t [[{{node %s_RetVal}}]]"
                     "\n\t [[%s]]",
                     fy_dtype_name(want), i, fy_dtype_name(got), n->name, n->name);
  }
  return FY_OK;
}

static fy_code not_of_a_graph(const fy_node *n, fy_error *err) {
  return fy_fail(err, FY_INVALID_ARGUMENT,
                 "%s is an operation of Ferry's own and cannot be in a graph\n\t [[{{node %s}}]]",
                 n->op_name, n->name);
}

static fy_code set_function(fy_site *site, fy_callable *c, fy_error *err) {
  site->functions = fy_malloc(sizeof *site->functions);
  if (!site->functions) return fy_fail_oom(err, sizeof *site->functions);
  site->functions[0] = c;
  site->num_functions = 1;
  return FY_OK;
}

// A region with control flow: its callable is the program's own.
static fy_code bind_flow(fy_program *p, fy_instr *ins, fy_error *err) {
  const fy_attr *flow = fy_attrs_get(&ins->node->attrs, "flow");
  if (!flow || flow->kind != FY_ATTR_INT || flow->v.i < 0 || (size_t)flow->v.i >= p->num_flows)
    return not_of_a_graph(ins->node, err);
  return set_function(ins->site, p->flows[flow->v.i], err);
}

// A loop whose body the optimiser made: its callable is the program's own, too.
static fy_code bind_loop(fy_program *p, fy_instr *ins, fy_error *err) {
  const fy_attr *at = fy_attrs_get(&ins->node->attrs, "body");
  fy_graph *g = p->graph;
  if (!at || at->kind != FY_ATTR_INT || at->v.i < 0 || (size_t)at->v.i >= g->num_bodies ||
      !g->bodies[at->v.i])
    return not_of_a_graph(ins->node, err);
  fy_callable *c;
  if (!fy_grow(&p->flows, &p->cap_flows, p->num_flows + 1, sizeof *p->flows))
    return fy_fail_oom(err, sizeof *p->flows);
  FY_TRY(fy_callables_adopt(p->callables, g->bodies[at->v.i], ins->site->device, &c, err));
  p->flows[p->num_flows++] = c;
  return set_function(ins->site, c, err);
}

static fy_code bind(fy_program *p, fy_instr *ins, fy_error *err) {
  const fy_node *n = ins->node;
  bool calls = !n->function && n->op && n->op->impl && (n->op->impl->flags & FY_OP_CALLS_FUNCTIONS);
  if (calls) FY_TRY(check_functions(p, n, err));
  ins->site->kept = fy_callables_kept(p->callables);
  ins->site->body_of = p->graph->body_of;
  fy_code code = fy_site_bind(ins->site, p->callables, n->function ? n->op_name : NULL, err);
  if (code) {
    // TensorFlow's placer finds two kernels that fit alike, and names nodes in its own way.
    bool twins = err && strncmp(fy_error_text(err), "Multiple OpKernel", 17) == 0;
    fy_error_append(err, twins ? "\n\t [[%s]]" : "\n\t [[{{node %s}}]]", n->name);
    return code;
  }
  if (calls && strcmp(n->op_name, "_FerryFlow") == 0) FY_TRY(bind_flow(p, ins, err));
  if (calls && strcmp(n->op_name, "_FerryLoop") == 0) FY_TRY(bind_loop(p, ins, err));
  if (calls && is_call(n) && ins->site->num_functions == 1)
    FY_TRY(check_call(n, ins->site->functions[0], err));
  if (calls && is_while(n) && ins->site->num_functions == 2)
    FY_TRY(check_body(n, ins->site->functions[1], err));
  if (ins->device->is_host && ins->site->op->impl) ins->fn = fy_site_compute(ins->site);
  if (!ins->device->is_host) p->has_devices = true;
  return FY_OK;
}

fy_code fy_program_bind(fy_program *p, fy_error *err) {
  for (int i = 0; i < p->devices->n; i++) p->may_move |= !p->devices->items[i]->is_host;
  for (uint32_t i = 0; i < p->num_instrs; i++) {
    fy_instr *ins = &p->instrs[i];
    if (ins->kind != FY_INSTR_KERNEL) {  // an argument may be in a device's memory
      p->has_devices = true;
      continue;
    }
    ins->site = &p->sites[ins->task];
    ins->task = 0;
    FY_TRY(bind(p, ins, err));
  }
  return FY_OK;
}
