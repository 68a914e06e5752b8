// SPDX-License-Identifier: Apache-2.0
// program_dump.c: a program as text: its instructions in order, with where every value lives.

#include "execute/build.h"

static void print_value(fy_str *out, const fy_program *p, uint32_t v) {
  static const char *const storages[] = {"const", "feed", "planned", "fetch", "dynamic"};
  const fy_value *val = &p->values[v];
  fy_str_printf(out, "%%%u:%s", v, fy_dtype_name(val->dtype));
  fy_shape_print(out, val->rank, val->dims);
  fy_str_printf(out, "@%d.%s", val->space, storages[val->storage]);
  if (val->storage == FY_STORE_PLANNED) fy_str_printf(out, "+%zu", val->offset);
  if (val->root != v) fy_str_printf(out, "(is %%%u)", val->root);
}

static void print_list(fy_str *out, const fy_program *p, uint32_t at, uint32_t n) {
  for (uint32_t i = 0; i < n; i++) {
    if (i) fy_str_add(out, ", ");
    print_value(out, p, p->args[at + i]);
  }
}

void fy_program_dump(fy_str *out, const fy_program *p) {
  fy_str_printf(out, "program: %u instructions, %u values, %u task%s\n", p->num_instrs,
                p->num_values, p->num_tasks, p->num_tasks == 1 ? "" : "s");
  for (int s = 0; s < p->plan.num_spaces; s++)
    if (s == 0 || p->plan.arena_bytes[s])
      fy_str_printf(out, "memory %d (%s): arena %zu bytes, live peak %zu\n", s,
                    s ? p->devices->items[s - 1]->name : "host", p->plan.arena_bytes[s],
                    p->plan.peak_bytes[s]);
  for (uint32_t i = 0; i < p->num_instrs; i++) {
    const fy_instr *ins = &p->instrs[i];
    fy_str_printf(out, "%4u  task %u  ", i, ins->task);
    if (ins->num_out) {
      print_list(out, p, ins->out, ins->num_out);
      fy_str_add(out, " = ");
    }
    fy_str_printf(out, "%s(",
                  ins->kind == FY_INSTR_COPY ? "copy"
                  : ins->spill               ? "move"
                                             : ins->node->op_name);
    print_list(out, p, ins->in, ins->num_in);
    fy_str_printf(out, ")  %s on %s\n", ins->node->name, ins->device->name);
  }
  for (int i = 0; i < p->num_fetches; i++) {
    fy_str_printf(out, "fetch %d = ", i);
    print_value(out, p, p->fetch_value[i]);
    fy_str_addc(out, '\n');
  }
}
