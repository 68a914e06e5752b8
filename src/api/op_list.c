// SPDX-License-Identifier: Apache-2.0
// op_list.c: the registries as messages: every op, every kernel that TensorFlow registers.
// Kernels are read from the table's text; ops/op_kernels.c explains what they decide here.

#include <stdlib.h>
#include <string.h>

#include "api/api.h"
#include "api/user_kernels.h"
#include "base/alloc.h"
#include "graph/export.h"
#include "graph/node.h"
#include "kernel_def.pb-c.h"
#include "tensorflow/c/c_api_experimental.h"
#include "wire/attr_proto.h"
#include "wire/proto_util.h"

// What the optimiser makes is nobody else's business.
static bool is_private(const fy_op *op) {
  return strncmp(op->spec->name, "_Ferry", 6) == 0;
}

TF_Buffer *TF_GetAllOpList(void) {
  fy_arena tmp;
  Tensorflow__OpList list;
  TF_Buffer *out = NULL;
  fy_arena_init(&tmp);
  tensorflow__op_list__init(&list);
  size_t n = fy_op_count();
  list.op = fy_arena_array(&tmp, n, sizeof *list.op);
  bool sound = list.op != NULL;
  for (size_t i = 0; sound && i < n; i++) {
    const fy_op *op = fy_op_at(i);
    if (op && is_private(op)) continue;
    sound = op && fy_spec_to_opdef(op->spec, &tmp, &list.op[list.n_op++], NULL) == FY_OK;
  }
  if (sound) out = fy_api_new_message_buffer(&list.base, NULL);
  fy_arena_free(&tmp);
  return out;
}

// ---------------------------------------------------------------- kernels
typedef struct lister {
  fy_arena tmp;
  Tensorflow__KernelList list;
  size_t cap;
} lister;

// Cuts the next piece of |*rest| up to |separator| outside of quotes. False at the end.
static bool cut(fy_view *rest, char separator, fy_view *out) {
  if (!rest->p) return false;
  bool quoted = false;
  size_t n = 0;
  for (; n < rest->n; n++) {
    if (rest->p[n] == '\'') quoted = !quoted;
    if (rest->p[n] == separator && !quoted) break;
  }
  *out = (fy_view){rest->p, n};
  *rest = n < rest->n ? (fy_view){rest->p + n + 1, rest->n - n - 1} : (fy_view){NULL, 0};
  return true;
}

static char *copy(lister *l, fy_view v) {
  return fy_arena_strndup(&l->tmp, v.p, v.n);
}

// "float|double", "'SAME'", "true" or "4" as the list that the attribute's kind asks for.
static fy_code read_values(lister *l, fy_view text, fy_attr_kind kind, fy_attr *out,
                           fy_error *err) {
  fy_view rest = text, one;
  uint32_t n = 0;
  while (cut(&rest, '|', &one)) n++;
  *out = (fy_attr){.kind = kind, .is_list = true};
  out->v.strings = fy_arena_array(&l->tmp, n, sizeof *out->v.strings);  // the largest element
  if (!out->v.strings) return fy_fail_oom(err, n);
  for (rest = text; cut(&rest, '|', &one); out->n++) {
    char *s = copy(l, one);
    if (!s) return fy_fail_oom(err, one.n);
    switch (kind) {
      case FY_ATTR_TYPE:
        if (!fy_dtype_parse(s, one.n, &out->v.types[out->n])) out->v.types[out->n] = FY_INVALID;
        break;
      case FY_ATTR_BOOL: out->v.bools[out->n] = strcmp(s, "true") == 0; break;
      case FY_ATTR_INT: out->v.ints[out->n] = strtoll(s, NULL, 10); break;
      default:
        out->v.strings[out->n] = one.n >= 2 ? (fy_view){s + 1, one.n - 2} : (fy_view){s, one.n};
        break;
    }
  }
  return FY_OK;
}

static fy_code read_constraints(lister *l, const fy_op_spec *spec, fy_view set,
                                Tensorflow__KernelDef *k, fy_error *err) {
  fy_view rest = set, one;
  size_t n = 0;
  while (cut(&rest, ',', &one)) n++;
  k->constraint = fy_arena_array(&l->tmp, n, sizeof *k->constraint);
  if (!k->constraint) return fy_fail_oom(err, n);
  for (rest = set; cut(&rest, ',', &one);) {
    const char *equals = one.n ? memchr(one.p, '=', one.n) : NULL;
    if (!equals) continue;  // "any"
    Tensorflow__KernelDef__AttrConstraint *c =
        fy_wire_new(&tensorflow__kernel_def__attr_constraint__descriptor, &l->tmp);
    if (!c) return fy_fail_oom(err, sizeof *c);
    c->name = copy(l, (fy_view){one.p, (size_t)(equals - one.p)});
    if (!c->name) return fy_fail_oom(err, one.n);
    const fy_attr_spec *a = fy_spec_attr(spec, c->name);
    fy_attr values;
    fy_view text = {equals + 1, one.n - (size_t)(equals + 1 - one.p)};
    FY_TRY(read_values(l, text, a ? a->kind : FY_ATTR_TYPE, &values, err));
    FY_TRY(fy_wire_attr_write(&values, &l->tmp, &c->allowed_values, err));
    k->constraint[k->n_constraint++] = c;
  }
  return FY_OK;
}

// Where the constraints of a set end: at "!priority" or "@host+arguments".
static size_t constraints_end(fy_view set) {
  bool quoted = false;
  size_t i = 0;
  for (; i < set.n; i++) {
    if (set.p[i] == '\'') quoted = !quoted;
    if (!quoted && (set.p[i] == '!' || set.p[i] == '@')) break;
  }
  return i;
}

static fy_code add_host_args(lister *l, Tensorflow__KernelDef *k, fy_view args, fy_error *err) {
  fy_view one;
  k->host_memory_arg = fy_arena_array(&l->tmp, args.n + 1, sizeof *k->host_memory_arg);
  if (!k->host_memory_arg) return fy_fail_oom(err, args.n);
  while (args.n && cut(&args, '+', &one)) {
    char *arg = copy(l, one);
    if (!arg) return fy_fail_oom(err, one.n);
    k->host_memory_arg[k->n_host_memory_arg++] = arg;
  }
  return FY_OK;
}

// |host| are the host-memory arguments that all sets of the group share; a set may name its own.
static fy_code add_kernel(lister *l, const fy_op_spec *spec, fy_view device, fy_view label,
                          fy_view set, fy_view host, fy_error *err) {
  Tensorflow__KernelDef *k = fy_wire_new(&tensorflow__kernel_def__descriptor, &l->tmp);
  if (!k) return fy_fail_oom(err, sizeof *k);
  if (l->list.n_kernel == l->cap) {
    size_t cap = l->cap ? l->cap * 2 : 64;
    Tensorflow__KernelDef **grown = fy_arena_array(&l->tmp, cap, sizeof *grown);
    if (!grown) return fy_fail_oom(err, cap * sizeof *grown);
    if (l->list.n_kernel) memcpy(grown, l->list.kernel, l->list.n_kernel * sizeof *grown);
    l->list.kernel = grown;
    l->cap = cap;
  }
  k->op = (char *)(uintptr_t)spec->name;
  k->device_type = copy(l, device);
  k->label = copy(l, label);
  if (!k->device_type || !k->label) return fy_fail_oom(err, device.n);
  size_t end = constraints_end(set);
  FY_TRY(read_constraints(l, spec, (fy_view){set.p, end}, k, err));
  fy_view tail = {set.p + end, set.n - end};
  if (tail.n && tail.p[0] == '!') {
    k->priority = (int32_t)strtol(tail.p + 1, NULL, 10);
    while (tail.n && tail.p[0] != '@') tail = (fy_view){tail.p + 1, tail.n - 1};
  }
  if (tail.n) host = (fy_view){tail.p + 1, tail.n - 1};
  FY_TRY(add_host_args(l, k, host, err));
  l->list.kernel[l->list.n_kernel++] = k;
  return FY_OK;
}

static fy_code add_sets(lister *l, const fy_op_spec *spec, fy_view device, fy_view label,
                        fy_view sets, fy_error *err) {
  fy_view set, host = FY_VIEW("");
  for (size_t i = sets.n; i-- > 1;) {  // "…@@args": of every set
    if (sets.p[i] != '@' || sets.p[i - 1] != '@') continue;
    host = (fy_view){sets.p + i + 1, sets.n - i - 1};
    sets.n = i - 1;
    break;
  }
  if (sets.n == 0) return FY_OK;
  while (cut(&sets, ';', &set)) FY_TRY(add_kernel(l, spec, device, label, set, host, err));
  return FY_OK;
}

// "CPU DEFAULT{T=int32@x+y} GPU:label{any}"; a bare CPU stands for cpu_kernels.
static fy_code add_op(lister *l, const fy_op_spec *spec, fy_error *err) {
  fy_view cpu = fy_view_of(spec->cpu_kernels), rest = fy_view_of(spec->kernels), group;
  if (rest.n == 0) return add_sets(l, spec, FY_VIEW("CPU"), FY_VIEW(""), cpu, err);
  while (cut(&rest, ' ', &group)) {
    const char *brace = group.n ? memchr(group.p, '{', group.n) : NULL;
    fy_view name = {group.p, brace ? (size_t)(brace - group.p) : group.n}, label = FY_VIEW("");
    const char *colon = name.n ? memchr(name.p, ':', name.n) : NULL;
    if (colon) {
      label = (fy_view){colon + 1, name.n - (size_t)(colon + 1 - name.p)};
      name.n = (size_t)(colon - name.p);
    }
    fy_view sets = cpu;
    if (brace) sets = (fy_view){brace + 1, group.n - (size_t)(brace + 1 - group.p) - 1};
    FY_TRY(add_sets(l, spec, name, label, sets, err));
  }
  return FY_OK;
}

// Registrations of third parties.
static fy_code add_user_kernels(lister *l, const fy_op *op, fy_error *err) {
  Tensorflow__KernelDef **defs;
  size_t n;
  if (!op->user_kernels) return FY_OK;
  FY_TRY(fy_api_user_kernel_defs(op, &l->tmp, &defs, &n, err));
  size_t have = l->list.n_kernel;
  Tensorflow__KernelDef **grown = fy_arena_array(&l->tmp, have + n + 1, sizeof *grown);
  if (!grown) return fy_fail_oom(err, n * sizeof *grown);
  if (have) memcpy(grown, l->list.kernel, have * sizeof *grown);
  if (n) memcpy(grown + have, defs, n * sizeof *grown);
  l->list.kernel = grown;
  l->list.n_kernel = l->cap = have + n;
  return FY_OK;
}

static TF_Buffer *list_kernels(const char *only, TF_Status *status) {
  fy_error *err = fy_api_begin(status);
  lister l = {0};
  TF_Buffer *out = NULL;
  fy_arena_init(&l.tmp);
  tensorflow__kernel_list__init(&l.list);
  size_t n = only ? 1 : fy_op_count();
  fy_code code = FY_OK;
  for (size_t i = 0; !code && i < n; i++) {
    const fy_op *op = only ? fy_op_find(only, strlen(only)) : fy_op_at(i);
    if (op && !only && is_private(op)) continue;
    if (op) code = add_op(&l, op->spec, err);
    if (op && !code) code = add_user_kernels(&l, op, err);
  }
  if (!code) {
    out = fy_api_new_message_buffer(&l.list.base, err);
    if (!out) code = FY_RESOURCE_EXHAUSTED;
  }
  fy_arena_free(&l.tmp);
  fy_api_end(status, code);
  return out;
}

TF_Buffer *TF_GetAllRegisteredKernels(TF_Status *status) {
  return list_kernels(NULL, status);
}

TF_Buffer *TF_GetRegisteredKernelsForOp(const char *name, TF_Status *status) {
  return list_kernels(name, status);
}

// ---------------------------------------------------------------- facts about one op
static const fy_op *find_op(const char *name, TF_Status *status) {
  fy_error *err = fy_api_begin(status);
  const fy_op *op = fy_op_find(name, strlen(name));
  if (!op) fy_op_not_registered(name, err);
  return op;
}

int TF_OpIsStateful(const char *op_type, TF_Status *status) {
  const fy_op *op = find_op(op_type, status);
  return op && (op->spec->flags & FY_SPEC_STATEFUL);
}

const char *TF_GetNumberAttrForOpListInput(const char *op_name, int input_index,
                                           TF_Status *status) {
  const fy_op *op = find_op(op_name, status);
  if (!op) return NULL;
  fy_error *err = &status->error;
  if (input_index < 0 || input_index >= op->spec->num_inputs) {
    fy_fail(err, FY_INVALID_ARGUMENT, "%d out of range for %s", input_index, op_name);
    return NULL;
  }
  const fy_arg_spec *arg = &op->spec->inputs[input_index];
  if (arg->number_attr) return arg->number_attr;
  fy_fail(err, FY_NOT_FOUND, "%s does not have number_attr() defined.", op_name);
  return NULL;
}
