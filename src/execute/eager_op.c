// SPDX-License-Identifier: Apache-2.0
// eager_op.c: a call being put together: name, inputs, attributes, device. Attributes that inputs
// imply are not stored: they follow from the inputs' types and the arguments' lengths, and are
// worked out only when a kernel is prepared or somebody asks (fy_eager_op_attrs). As in TensorFlow
// the first value of an attribute counts, be it set or implied by an input.

#include <string.h>

#include "base/alloc.h"
#include "execute/eager_impl.h"
#include "graph/function.h"
#include "memory/pool.h"
#include "wire/attr_proto.h"
#include "wire/text_format.h"

fy_code fy_eager_unknown_op(const char *name, fy_error *err) {
  return fy_fail(
      err, FY_NOT_FOUND,
      "'%s' is neither a type of a primitive operation nor a name of a function registered "
      "in binary running on %s. Make sure the operation or function is registered in the "
      "binary running in this process.",
      name, fy_eager_host());
}

const fy_op_spec *fy_eager_op_spec(const fy_eager_op *op) {
  return op->op ? op->op->spec : op->function->spec;
}

// ------------------------------------------------------------------ life
static fy_code set_name(fy_eager_op *op, const char *name, fy_error *err) {
  size_t len = strlen(name);
  const fy_op *found = fy_op_find(name, len);
  const fy_function *function = NULL;
  if (FY_UNLIKELY(!found)) {
    function = fy_funclib_find(op->context->functions, name, len);
    if (!function) return fy_eager_unknown_op(name, err);
  }
  op->op = found;
  op->function = function;
  op->name = found ? found->spec->name : function->name;
  return FY_OK;
}

static fy_eager_op *take_spare(fy_eager *c) {
  for (int i = 0; i < FY_EAGER_SPARES; i++) {
    if (!atomic_load_explicit(&c->spares[i], memory_order_relaxed)) continue;
    fy_eager_op *op = atomic_exchange_explicit(&c->spares[i], NULL, memory_order_acquire);
    if (op) return op;
  }
  fy_eager_op *op = fy_malloc(sizeof *op);
  if (!op) return NULL;
  *op = (fy_eager_op){.context = c};
  op->inputs = op->inline_inputs;
  op->cap_inputs = FY_EAGER_INLINE_INPUTS;
  op->attrs = op->inline_attrs;
  op->cap_attrs = FY_EAGER_INLINE_ATTRS;
  op->inferring = true;
  fy_arena_init(&op->arena);
  return op;
}

void fy_eager_op_drop_inputs(fy_eager_op *op) {
  for (uint32_t i = 0; i < op->num_inputs; i++) fy_handle_release(op->inputs[i]);
  op->num_inputs = 0;
}

// As new; memory for many inputs or attributes is kept.
static void clear(fy_eager_op *op) {
  fy_eager_op_drop_inputs(op);
  if (op->arena.blocks) fy_arena_free(&op->arena);
  op->num_attrs = 0;
  op->next_arg = 0;
  op->inferring = true;
  op->has_lists = false;
  op->has_resources = false;
  op->has_packed = false;
  op->has_custom = false;
  op->arg_counts = NULL;
  op->request = 0;
  op->device = NULL;
  op->cancel = NULL;
  op->expected = 0;
}

fy_code fy_eager_op_new(fy_eager *c, const char *name, fy_eager_op **out, fy_error *err) {
  *out = NULL;
  fy_eager_op *op = take_spare(c);
  if (FY_UNLIKELY(!op)) return fy_fail_oom(err, sizeof *op);
  fy_code code = set_name(op, name, err);
  if (FY_UNLIKELY(code)) {
    fy_eager_op_free(op);
    return code;
  }
  *out = op;
  return FY_OK;
}

void fy_eager_op_free(fy_eager_op *op) {
  fy_eager *c = op->context;
  clear(op);
  for (int i = 0; i < FY_EAGER_SPARES; i++) {
    fy_eager_op *none = NULL;
    if (!atomic_load_explicit(&c->spares[i], memory_order_relaxed) &&
        atomic_compare_exchange_strong_explicit(&c->spares[i], &none, op, memory_order_release,
                                                memory_order_relaxed))
      return;
  }
  fy_eager_drop_recent(op);
  if (op->inputs != op->inline_inputs) fy_free(op->inputs);
  if (op->attrs != op->inline_attrs) fy_free(op->attrs);
  fy_free(op);
}

fy_code fy_eager_op_reset(fy_eager_op *op, const char *name, const char *device, fy_error *err) {
  const fy_device *ran_on = op->device;
  FY_TRY(set_name(op, name, err));
  clear(op);
  op->device = ran_on;  // only shown if |device| is malformed
  fy_code code = fy_eager_op_set_device(op, device, err);
  op->device = NULL;
  return code;
}

fy_code fy_eager_op_set_device(fy_eager_op *op, const char *device, fy_error *err) {
  bool malformed;
  int32_t request;
  fy_code code = fy_eager_request_of(op->context, device, &request, &malformed, err);
  if (malformed) {
    fy_str text;
    fy_str_init(&text);
    fy_eager_op_print(&text, op);
    code = fy_fail(err, FY_INVALID_ARGUMENT, "Malformed device specification '%s' in eager op: %s",
                   device, fy_str_text(&text));
    fy_str_free(&text);
  }
  if (code) return code;
  op->request = request;
  op->device = NULL;
  if (FY_UNLIKELY(op->context->customs != NULL)) op->has_custom = true;
  return FY_OK;
}

const char *fy_eager_op_device(const fy_eager_op *op) {
  if (op->device) return op->device->name;
  if (!op->request) return "";
  fy_lock(&op->context->lock);
  const char *text = op->context->requests[op->request].text;
  fy_unlock(&op->context->lock);
  return text;
}

// ------------------------------------------------------------------ inputs
static fy_code grow_inputs(fy_eager_op *op, uint32_t more, fy_error *err) {
  uint32_t need = op->num_inputs + more, cap = op->cap_inputs;
  while (cap < need) cap *= 2;
  fy_handle **to = fy_malloc((size_t)cap * sizeof *to);
  if (!to) return fy_fail_oom(err, (size_t)cap * sizeof *to);
  memcpy(to, op->inputs, op->num_inputs * sizeof *to);
  if (op->inputs != op->inline_inputs) fy_free(op->inputs);
  op->inputs = to;
  op->cap_inputs = cap;
  return FY_OK;
}

fy_code fy_eager_op_add_input(fy_eager_op *op, fy_handle *h, fy_error *err) {
  if (FY_UNLIKELY(op->num_inputs == op->cap_inputs)) FY_TRY(grow_inputs(op, 1, err));
  fy_handle_retain(h);
  op->inputs[op->num_inputs++] = h;
  if (FY_UNLIKELY(h->dtype == FY_RESOURCE)) op->has_resources = true;
  if (FY_UNLIKELY(h->packed)) op->has_packed = true;
  if (FY_UNLIKELY(h->custom)) op->has_custom = true;
  if (op->inferring && FY_LIKELY(op->op != NULL)) {
    const fy_op_spec *spec = op->op->spec;
    if (op->next_arg < spec->num_inputs) {
      const fy_arg_spec *arg = &spec->inputs[op->next_arg];
      // The end of a list that comes piece by piece cannot be seen: from here on nothing is
      // inferred.
      if (FY_UNLIKELY(arg->number_attr || arg->type_list_attr)) {
        op->inferring = false;
      } else {
        if (FY_UNLIKELY(op->has_lists)) op->arg_counts[op->next_arg] = 1;
        op->next_arg++;
      }
    }
  }
  return FY_OK;
}

static fy_code begin_lists(fy_eager_op *op, fy_error *err) {
  size_t n = op->op->spec->num_inputs;
  op->arg_counts = fy_arena_array(&op->arena, n, sizeof *op->arg_counts);
  if (!op->arg_counts) return fy_fail_oom(err, n * sizeof *op->arg_counts);
  for (uint32_t i = 0; i < op->next_arg; i++) op->arg_counts[i] = 1;
  op->has_lists = true;
  return FY_OK;
}

fy_code fy_eager_op_add_inputs(fy_eager_op *op, fy_handle **handles, int n, fy_error *err) {
  uint32_t count = n > 0 ? (uint32_t)n : 0;
  if (op->num_inputs + count > op->cap_inputs) FY_TRY(grow_inputs(op, count, err));
  for (uint32_t i = 0; i < count; i++) {
    fy_handle_retain(handles[i]);
    op->inputs[op->num_inputs++] = handles[i];
    if (handles[i]->dtype == FY_RESOURCE) op->has_resources = true;
    if (handles[i]->packed) op->has_packed = true;
    if (handles[i]->custom) op->has_custom = true;
  }
  if (!op->op || !op->inferring || op->next_arg >= op->op->spec->num_inputs) return FY_OK;
  const fy_arg_spec *arg = &op->op->spec->inputs[op->next_arg];
  if (!op->has_lists) FY_TRY(begin_lists(op, err));
  op->arg_counts[op->next_arg++] = count;
  if (arg->number_attr || arg->type_list_attr) return FY_OK;
  op->inferring = false;
  op->next_arg--;
  return fy_fail(err, FY_INVALID_ARGUMENT, "Invalid input list definition");
}

// ------------------------------------------------------------------ attributes
// Does an input that came already imply |name|?
static bool is_implied(const fy_eager_op *op, const char *name) {
  if (!op->op) return false;
  for (uint32_t i = 0; i < op->next_arg; i++) {
    const fy_arg_spec *a = &op->op->spec->inputs[i];
    if ((a->type_attr && strcmp(a->type_attr, name) == 0) ||
        (a->number_attr && strcmp(a->number_attr, name) == 0) ||
        (a->type_list_attr && strcmp(a->type_list_attr, name) == 0))
      return true;
  }
  return false;
}

bool fy_eager_op_set_attr(fy_eager_op *op, const char *name, const fy_attr *value) {
  for (uint32_t i = 0; i < op->num_attrs; i++)
    if (strcmp(op->attrs[i].name, name) == 0) return true;
  if (is_implied(op, name)) return true;
  const fy_attr_spec *spec = op->op ? fy_spec_attr(op->op->spec, name) : NULL;
  const char *kept = spec ? spec->name : fy_arena_strdup(&op->arena, name);
  if (!kept) return false;
  if (op->num_attrs == op->cap_attrs) {
    fy_named_attr *to = fy_malloc((size_t)op->cap_attrs * 2 * sizeof *to);
    if (!to) return false;
    memcpy(to, op->attrs, op->num_attrs * sizeof *to);
    if (op->attrs != op->inline_attrs) fy_free(op->attrs);
    op->attrs = to;
    op->cap_attrs *= 2;
  }
  op->attrs[op->num_attrs++] = (fy_named_attr){kept, *value};
  return true;
}

static fy_code add_implied(fy_attrs *attrs, fy_arena *arena, const char *name, fy_attr value,
                           fy_error *err) {
  if (!name || fy_attrs_get(attrs, name)) return FY_OK;
  return fy_attrs_set(attrs, arena, name, &value, err);
}

static fy_code implied_by_arg(const fy_eager_op *op, const fy_arg_spec *arg, uint32_t first,
                              uint32_t count, fy_arena *arena, fy_attrs *attrs, fy_error *err) {
  fy_handle **in = op->inputs + first;
  fy_dtype type = count && first < op->num_inputs ? in[0]->dtype : FY_INVALID;
  if (arg->type_list_attr) {
    fy_dtype *types = fy_arena_array(arena, (size_t)count + 1, sizeof *types);
    if (!types) return fy_fail_oom(err, count * sizeof *types);
    for (uint32_t i = 0; i < count && first + i < op->num_inputs; i++) types[i] = in[i]->dtype;
    fy_attr list = {.kind = FY_ATTR_TYPE, .is_list = true, .n = count, .v.types = types};
    return add_implied(attrs, arena, arg->type_list_attr, list, err);
  }
  FY_TRY(add_implied(attrs, arena, arg->number_attr, fy_attr_int(count), err));
  return add_implied(attrs, arena, arg->type_attr, fy_attr_type(type), err);
}

fy_code fy_eager_op_attrs(const fy_eager_op *op, bool defaults, fy_arena *arena, fy_attrs *out,
                          fy_error *err) {
  *out = (fy_attrs){0};
  for (uint32_t i = 0; i < op->num_attrs; i++)
    FY_TRY(fy_attrs_set(out, arena, op->attrs[i].name, &op->attrs[i].value, err));
  if (!op->op) return FY_OK;
  const fy_op_spec *spec = op->op->spec;
  uint32_t first = 0;
  for (uint32_t i = 0; i < op->next_arg; i++) {
    uint32_t count = op->has_lists ? op->arg_counts[i] : 1;
    FY_TRY(implied_by_arg(op, &spec->inputs[i], first, count, arena, out, err));
    first += count;
  }
  return defaults ? fy_spec_add_defaults(spec, out, arena, err) : FY_OK;
}

// ------------------------------------------------------------------ text
static void print_attrs(fy_str *out, const fy_eager_op *op) {
  fy_arena arena;
  fy_attrs attrs;
  Tensorflow__NodeDef node;
  tensorflow__node_def__init(&node);
  fy_arena_init(&arena);
  if (fy_eager_op_attrs(op, false, &arena, &attrs, NULL) == FY_OK &&
      fy_wire_attrs_write(&attrs, &tensorflow__node_def__attr_entry__descriptor, &arena,
                          &node.n_attr, &node.attr, NULL) == FY_OK)
    fy_wire_text_print(out, &node.base);
  fy_arena_free(&arena);
}

void fy_eager_op_print(fy_str *out, const fy_eager_op *op) {
  const fy_device *d = op->device;
  fy_str_printf(out, "Name: %s\nDevice Name: [%s]\nDevice: ", op->name, fy_eager_op_device(op));
  if (d) {
    fy_str_printf(
        out,
        "goo.gle/debugstr \nname: \"%s\"\ndevice_type: \"%s\"\nmemory_limit: %llu\n"
        "locality {\n}\nincarnation: %llu\nxla_global_id: -1\n\n",
        d->name, d->type,
        strcmp(d->type, "CPU") == 0 ? 256ull << 20 : (unsigned long long)fy_memory_limit(d),
        (unsigned long long)d->incarnation);
  } else {
    fy_str_add(out, "[]\n");
  }
  for (uint32_t i = 0; i < op->num_inputs; i++) {
    fy_str_add(out, "Input: ");
    fy_handle_print(out, op->inputs[i]);
    fy_str_add(out, "\n");
  }
  fy_str_add(out, "Attrs: goo.gle/debugstr \n");
  print_attrs(out, op);
  fy_str_add(out, "\n");
}
