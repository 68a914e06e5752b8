// SPDX-License-Identifier: Apache-2.0
// eager_kernel.c: prepared kernels by what a call looks like.
// The key is a few words: the op, how the device was asked for, the inputs' types, the resource's
// device, and the attributes as they were set. Implied and default attributes follow from those.
// A call whose attributes are too long for a key gets a kernel of its own that nobody else finds.

#include <string.h>

#include "base/alloc.h"
#include "execute/eager_impl.h"
#include "graph/function.h"
#include "ops/op.h"

// ------------------------------------------------------------------ keys
typedef struct call_key {
  uint64_t words[FY_EAGER_MAX_KEY];
  uint32_t n;
  bool too_long;
} call_key;

static void add(call_key *k, uint64_t word) {
  if (k->n < FY_EAGER_MAX_KEY)
    k->words[k->n++] = word;
  else
    k->too_long = true;
}

static void add_bytes(call_key *k, const void *p, size_t n) {
  add(k, n);
  if (n / 8 >= FY_EAGER_MAX_KEY) {
    k->too_long = true;
    return;
  }
  for (size_t i = 0; i < n; i += 8) {
    uint64_t w = 0;
    memcpy(&w, (const char *)p + i, n - i < 8 ? n - i : 8);
    add(k, w);
  }
}

static void add_shape(call_key *k, const fy_pshape *s) {
  add(k, (uint64_t)(int64_t)s->rank);
  for (int32_t i = 0; i < s->rank; i++) add(k, (uint64_t)s->dims[i]);
}

static void add_tensor(call_key *k, const fy_tensor *t) {
  if (t->device || !fy_dtype_is_plain(t->dtype)) {
    k->too_long = true;
    return;
  }
  add(k, (uint64_t)t->dtype);
  add_shape(k, &(fy_pshape){t->rank, t->dims});
  add_bytes(k, t->data, fy_tensor_bytes(t));
}

static void add_attr(call_key *k, const fy_attr *a);

static void add_func(call_key *k, const fy_func_attr *f) {
  add_bytes(k, f->name.p, f->name.n);
  add(k, f->attrs.n);
  for (uint32_t i = 0; i < f->attrs.n; i++) {
    add_bytes(k, f->attrs.items[i].name, strlen(f->attrs.items[i].name));
    add_attr(k, &f->attrs.items[i].value);
  }
}

static uint64_t float_bits(float f) {
  uint32_t u;
  memcpy(&u, &f, sizeof u);
  return u;
}

static void add_list(call_key *k, const fy_attr *a) {
  for (uint32_t i = 0; i < a->n && !k->too_long; i++) {
    switch (a->kind) {
      case FY_ATTR_STRING: add_bytes(k, a->v.strings[i].p, a->v.strings[i].n); break;
      case FY_ATTR_INT: add(k, (uint64_t)a->v.ints[i]); break;
      case FY_ATTR_FLOAT: add(k, float_bits(a->v.floats[i])); break;
      case FY_ATTR_BOOL: add(k, a->v.bools[i]); break;
      case FY_ATTR_TYPE: add(k, (uint64_t)a->v.types[i]); break;
      case FY_ATTR_SHAPE: add_shape(k, &a->v.shapes[i]); break;
      case FY_ATTR_TENSOR: add_tensor(k, a->v.tensors[i]); break;
      case FY_ATTR_FUNC: add_func(k, &a->v.funcs[i]); break;
      default: break;
    }
  }
}

static void add_attr(call_key *k, const fy_attr *a) {
  add(k, (uint64_t)a->kind | (uint64_t)a->is_list << 8 | (uint64_t)a->n << 32);
  if (a->is_list) {
    add_list(k, a);
    return;
  }
  switch (a->kind) {
    case FY_ATTR_STRING:
    case FY_ATTR_PLACEHOLDER: add_bytes(k, a->v.s.p, a->v.s.n); break;
    case FY_ATTR_INT: add(k, (uint64_t)a->v.i); break;
    case FY_ATTR_FLOAT: add(k, float_bits(a->v.f)); break;
    case FY_ATTR_BOOL: add(k, a->v.b); break;
    case FY_ATTR_TYPE: add(k, (uint64_t)a->v.type); break;
    case FY_ATTR_SHAPE: add_shape(k, &a->v.shape); break;
    case FY_ATTR_TENSOR: add_tensor(k, a->v.tensor); break;
    case FY_ATTR_FUNC: add_func(k, a->v.func); break;
    case FY_ATTR_NONE: break;
  }
}

// A declared attribute is named by the spec's own string: its address will do as a key.
static bool is_declared(const fy_eager_op *op, const char *name) {
  for (int i = 0; op->op && i < op->op->spec->num_attrs; i++)
    if (op->op->spec->attrs[i].name == name) return true;
  return false;
}

static void add_rest(call_key *k, const fy_eager_op *op) {
  if (op->has_lists)
    for (uint32_t i = 0; i < op->next_arg; i++) add(k, op->arg_counts[i]);
  if (op->has_resources)
    for (uint32_t i = 0; i < op->num_inputs; i++)
      if (op->inputs[i]->dtype == FY_RESOURCE) add(k, (uintptr_t)op->inputs[i]->resource_device);
  for (uint32_t i = 0; i < op->num_attrs; i++) {
    const char *name = op->attrs[i].name;
    if (is_declared(op, name))
      add(k, (uintptr_t)name);
    else
      add_bytes(k, name, strlen(name));
    add_attr(k, &op->attrs[i].value);
  }
}

static void make_key(const fy_eager_op *op, call_key *k) {
  const fy_eager *c = op->context;
  k->n = 2;
  k->too_long = false;
  k->words[0] = op->op ? (uintptr_t)op->op : (uintptr_t)op->function;
  k->words[1] = (uint64_t)(uint32_t)op->request << 32 | (uint64_t)op->num_inputs << 8 |
                (uint64_t)op->has_lists << 1 | (uint64_t)op->inferring << 2 |
                (uint64_t)atomic_load_explicit(&c->soft, memory_order_relaxed);
  uint64_t types = 0;
  for (uint32_t i = 0; i < op->num_inputs; i++) {
    types = types << 8 | (uint64_t)op->inputs[i]->dtype;
    if (i % 8 == 7) {
      add(k, types);
      types = 0;
    }
  }
  add(k, types);
  if (FY_UNLIKELY(op->num_attrs || op->has_lists || op->has_resources)) add_rest(k, op);
}

static uint64_t hash_of(const call_key *k) {
  uint64_t h = k->n;
  for (uint32_t i = 0; i < k->n; i++) {
    h = (h ^ k->words[i]) * 0xFF51AFD7ED558CCDull;
    h ^= h >> 32;
  }
  return h;
}

static bool same_key(const fy_eager_kernel *e, const call_key *k) {
  if (e->key_words != k->n) return false;
  for (uint32_t i = 0; i < k->n; i++)
    if (e->key[i] != k->words[i]) return false;
  return true;
}

// ------------------------------------------------------------------ making one
void fy_eager_kernel_free(fy_eager_kernel *k) {
  fy_site_deinit(&k->site);
  fy_eager_drop_bodies(k->bodies);
  fy_arena_free(&k->arena);
  fy_free(k);
}

static fy_code copy_types(fy_eager_kernel *k, const fy_arg_spec *args, int n, fy_dtype **out,
                          fy_error *err) {
  *out = fy_arena_array(&k->arena, (size_t)n + 1, sizeof **out);
  if (!*out) return fy_fail_oom(err, sizeof **out);
  for (int i = 0; i < n; i++) (*out)[i] = args[i].type;
  return FY_OK;
}

// The types of all inputs or outputs; texts as TensorFlow's where an attribute is missing or wrong.
static fy_code arg_types(fy_eager_kernel *k, const fy_op_spec *spec, bool outputs, fy_dtype **types,
                         int *n, fy_error *err) {
  fy_code code = fy_spec_arg_types(spec, outputs, &k->attrs, &k->arena, types, n, err);
  for (int i = 0; !code && i < *n; i++) (*types)[i] = fy_dtype_base((*types)[i]);
  if (!code || !err) return code;
  const char *text = fy_error_text(err), *tail = strstr(text, "\n\t for attr");
  char head[FY_ERROR_INLINE];
  size_t len = tail ? (size_t)(tail - text) : strlen(text);
  if (len >= sizeof head) return code;
  memcpy(head, text, len);
  head[len] = '\0';
  if (strncmp(head, "No attr named", 13) == 0)
    return fy_fail(err, FY_NOT_FOUND, "%s\n\t [[{{node %s}}]]", head, spec->name);
  // A count is read first, and its error is bare; a type is checked with the other attributes.
  if (strstr(head, "when 'type' expected"))
    FY_TRY(fy_spec_check_attrs(spec, &k->attrs, spec->name, err));
  return fy_fail(err, code, "%s", head);
}

static void print_types(fy_str *out, const fy_dtype *types, int n) {
  for (int i = 0; i < n; i++) fy_str_printf(out, "%s%s", i ? ", " : "", fy_dtype_name(types[i]));
}

// TensorFlow finds kernels by the attributes that were set or follow from inputs, so a call with too few
// inputs may find one, if those that are there say as much as all would.
static bool was_made_before(const fy_eager_op *call, fy_eager_kernel *like) {
  fy_eager *c = call->context;
  const fy_op *op = call->op;
  fy_attrs set;
  bool found = false;
  if (fy_eager_op_attrs(call, false, &like->arena, &set, NULL)) return false;
  for (int i = 0; i < op->spec->num_inputs; i++) {
    const fy_arg_spec *a = &op->spec->inputs[i];
    const char *names[] = {a->type_attr, a->number_attr, a->type_list_attr};
    for (int k = 0; k < 3; k++)
      if (names[k] && !fy_attrs_get(&set, names[k])) return false;
  }
  fy_spin_lock(&c->spin);
  for (uint64_t i = 0; i <= c->mask; i++)
    for (const fy_eager_kernel *k = c->buckets[i]; k && !found; k = k->next)
      found = k->site.op == op && fy_attrs_equal(&k->attrs, &like->attrs);
  fy_spin_unlock(&c->spin);
  return found;
}

static fy_code check_count(const fy_eager_op *op, fy_eager_kernel *k, const fy_dtype *types, int n,
                           fy_error *err) {
  if ((uint32_t)n == op->num_inputs) return FY_OK;
  if (was_made_before(op, k))
    return fy_fail(err, FY_INVALID_ARGUMENT, "expected %d inputs, got %u", n, op->num_inputs);
  fy_str list, spec;
  fy_str_init(&list);
  fy_str_init(&spec);
  print_types(&list, types, n);
  fy_spec_print(&spec, op->op->spec);
  fy_code code =
      fy_fail(err, FY_INVALID_ARGUMENT,
              "NodeDef expected inputs '%s' do not match %u inputs specified; %s; NodeDef: "
              "{{node %s}}",
              fy_str_text(&list), op->num_inputs, fy_str_text(&spec), op->name);
  fy_str_free(&list);
  fy_str_free(&spec);
  return code;
}

// Which memory each argument is wanted in or comes in, asked through a stand-in node.
static fy_code locate(fy_eager *c, fy_eager_kernel *k, fy_error *err) {
  fy_site *s = &k->site;
  const fy_op_impl *impl = s->op->impl;
  bool anywhere = k->function || (impl && (impl->flags & FY_OP_ANY_SPACE));
  k->in_device = fy_arena_array(&k->arena, (size_t)s->num_inputs + 1, sizeof *k->in_device);
  k->out_device = fy_arena_array(&k->arena, (size_t)s->num_outputs + 1, sizeof *k->out_device);
  k->copied = fy_arena_array(&k->arena, (size_t)s->num_inputs + 1, sizeof *k->copied);
  fy_node_out *outs = fy_arena_array(&k->arena, (size_t)s->num_outputs + 1, sizeof *outs);
  if (!k->in_device || !k->out_device || !k->copied || !outs) return fy_fail_oom(err, sizeof *outs);
  for (int i = 0; i < s->num_outputs; i++) outs[i].dtype = s->out_types[i];
  fy_node node = {.op = s->op,
                  .spec = s->op->spec,
                  .attrs = k->attrs,
                  .name = s->node_name,
                  .num_inputs = (uint32_t)s->num_inputs,
                  .num_outputs = (uint32_t)s->num_outputs,
                  .input_types = (fy_dtype *)(uintptr_t)s->in_types,
                  .outputs = outs};
  const fy_device *slot = fy_eager_slot(c, k->device);
  k->op_device = slot;
  for (int i = 0; i < s->num_inputs; i++) {
    bool host = s->in_types[i] == FY_RESOURCE || s->in_types[i] == FY_STRING ||
                (!k->device->is_host && fy_place_input_on_host(&node, k->device, (uint32_t)i));
    k->in_device[i] = host ? NULL : slot;
    if (anywhere && !(impl && !k->function && (impl->host_inputs >> (i < 63 ? i : 63) & 1)))
      k->in_device[i] = FY_EAGER_ANYWHERE;
  }
  for (int i = 0; i < s->num_outputs; i++) {
    bool host = s->out_types[i] == FY_RESOURCE || s->out_types[i] == FY_STRING ||
                (!k->device->is_host && fy_place_output_on_host(&node, k->device, (uint32_t)i));
    k->out_device[i] = host ? NULL : slot;
  }
  return FY_OK;
}

// The function that a call op runs, or that the op is.
static fy_code find_callee(const fy_eager_op *op, const fy_attrs *attrs, const fy_function **out,
                           fy_error *err) {
  *out = op->function;
  if (op->function &&
      !fy_funclib_find(op->context->functions, op->name, strlen(op->name)))  // it was removed
    return fy_fail(err, FY_NOT_FOUND, "Failed to find function '%s'", op->name);
  if (!op->op) return FY_OK;
  const char *name = op->op->spec->name;
  if (strcmp(name, "PartitionedCall") != 0 && strcmp(name, "StatefulPartitionedCall") != 0)
    return FY_OK;
  const fy_attr *f = fy_attrs_get(attrs, "f");
  if (!f || f->kind != FY_ATTR_FUNC || f->is_list) return FY_OK;
  fy_view view = f->v.func->name;
  *out = fy_funclib_find(op->context->functions, view.p, view.n);
  if (*out) return FY_OK;
  return fy_fail(err, FY_NOT_FOUND, "Failed to find definition for function \"%.*s\"", (int)view.n,
                 view.p);
}

static fy_code prepare_call(fy_eager_op *op, fy_eager_kernel *k, const fy_function *f,
                            fy_error *err) {
  fy_site *s = &k->site;
  const fy_op_spec *spec = f->spec;
  fy_dtype *in, *out;
  k->function = f->name;
  k->prefixes = op->op ? 2 : 1;
  fy_attrs attrs = k->attrs;
  if (op->op) {  // attributes of the callee are those of the attribute f
    const fy_attr *a = fy_attrs_get(&k->attrs, "f");
    FY_TRY(fy_attrs_copy(&attrs, &a->v.func->attrs, &k->arena, err));
    k->attrs = attrs;
  }
  if (spec->num_attrs) {
    FY_TRY(arg_types(k, spec, false, &in, &s->num_inputs, err));
    FY_TRY(arg_types(k, spec, true, &out, &s->num_outputs, err));
  } else {
    s->num_inputs = spec->num_inputs;
    s->num_outputs = spec->num_outputs;
    FY_TRY(copy_types(k, spec->inputs, spec->num_inputs, &in, err));
    FY_TRY(copy_types(k, spec->outputs, spec->num_outputs, &out, err));
  }
  s->in_types = in;
  s->out_types = out;
  s->op = fy_op_find("StatefulPartitionedCall", 23);
  if (!s->op) return fy_fail(err, FY_INTERNAL, "no op to call functions with");
  s->node_name = f->name;
  if ((uint32_t)s->num_inputs != op->num_inputs)
    return fy_fail(err, FY_INVALID_ARGUMENT,
                   "InstantiateOptions.input_devices must have the same length as the number of "
                   "arguments: input_devices length = %u number of arguments = %d",
                   op->num_inputs, s->num_inputs);
  FY_TRY(locate(op->context, k, err));
  return fy_site_bind(s, k->bodies->callables, f->name, err);
}

// References need a graph: TensorFlow trips over them in these words.
static fy_code refuse_refs(const fy_dtype *types, int n, fy_error *err) {
  for (int i = 0; i < n; i++)
    if (fy_dtype_is_ref(types[i]))
      return fy_fail(err, FY_INVALID_ARGUMENT, "AttrValue must not have reference type value of %s",
                     fy_dtype_name(types[i]));
  return FY_OK;
}

// There is nothing here that could be referred to: a reference variable lives in a session's graph.
static fy_code refuse_ref_args(const fy_eager_op *op, fy_eager_kernel *k, fy_error *err) {
  const fy_op_spec *spec = op->op->spec;
  fy_dtype *types;
  int n;
  FY_TRY(fy_spec_arg_types(spec, false, &k->attrs, &k->arena, &types, &n, err));
  for (int i = 0; i < n; i++) {
    if (!fy_dtype_is_ref(types[i])) continue;
    return fy_fail(err, FY_INVALID_ARGUMENT,
                   "cannot compute %s as input #%d(zero-based) was expected to be a %s tensor but "
                   "is a %s tensor",
                   op->name, i, fy_dtype_name(types[i]), fy_dtype_name(fy_dtype_base(types[i])));
  }
  FY_TRY(fy_spec_arg_types(spec, true, &k->attrs, &k->arena, &types, &n, err));
  for (int i = 0; i < n; i++) {
    if (!fy_dtype_is_ref(types[i])) continue;
    if (strncmp(spec->name, "Variable", 8) == 0) {
      return fy_fail(err, FY_FAILED_PRECONDITION,
                     "attempt to use a tensor with an uninitialized value");
    }
    return fy_fail(err, FY_UNIMPLEMENTED,
                   "%s makes a reference, which only operations of a graph can use", spec->name);
  }
  return FY_OK;
}

static fy_code prepare_op(fy_eager_op *op, fy_eager_kernel *k, fy_error *err) {
  fy_site *s = &k->site;
  const fy_op_spec *spec = op->op->spec;
  fy_dtype *in, *out;
  FY_TRY(arg_types(k, spec, false, &in, &s->num_inputs, err));
  FY_TRY(arg_types(k, spec, true, &out, &s->num_outputs, err));
  FY_TRY(fy_spec_check_attrs(spec, &k->attrs, op->name, err));
  FY_TRY(refuse_refs(out, s->num_outputs, err));
  FY_TRY(refuse_refs(in, s->num_inputs, err));
  FY_TRY(check_count(op, k, in, s->num_inputs, err));
  s->in_types = in;
  s->out_types = out;
  s->op = op->op;
  s->node_name = spec->name;
  FY_TRY(locate(op->context, k, err));
  FY_TRY(refuse_ref_args(op, k, err));
  return fy_site_bind(s, k->bodies ? k->bodies->callables : NULL, NULL, err);
}

static fy_code prepare(fy_eager_op *op, fy_eager_kernel *k, fy_error *err) {
  fy_eager *c = op->context;
  fy_attrs attrs;
  const fy_function *callee;
  FY_TRY(fy_eager_op_attrs(op, true, &k->arena, &attrs, err));
  FY_TRY(fy_attrs_copy(&k->attrs, &attrs, &k->arena, err));
  FY_TRY(find_callee(op, &k->attrs, &callee, err));
  bool calls = callee || (op->op && op->op->impl && (op->op->impl->flags & FY_OP_CALLS_FUNCTIONS));
  for (int i = 0; !calls && op->op && i < op->op->spec->num_attrs; i++)
    calls = op->op->spec->attrs[i].kind == FY_ATTR_FUNC;
  FY_TRY(fy_eager_place(c, op, &k->attrs, &k->device, err));
  k->reason = fy_eager_reason(c, op, &k->attrs, k->device, &k->arena);
  k->site.device = k->device;
  k->site.attrs = &k->attrs;
  k->resources = c->resources[k->device->ordinal];
  if (calls && !(k->bodies = fy_eager_take_bodies(c))) return fy_fail_oom(err, sizeof *k->bodies);
  return callee ? prepare_call(op, k, callee, err) : prepare_op(op, k, err);
}

static fy_code make(fy_eager_op *op, const call_key *key, uint64_t hash, fy_eager_kernel **out,
                    fy_error *err) {
  *out = NULL;
  fy_eager_kernel *k = fy_calloc(1, sizeof *k);
  if (!k) return fy_fail_oom(err, sizeof *k);
  fy_arena_init(&k->arena);
  atomic_init(&k->users, 1);
  k->hash = hash;
  k->key_words = key->n;
  k->key = fy_arena_memdup(&k->arena, key->words, key->n * sizeof *key->words);
  fy_code code = k->key ? prepare(op, k, err) : fy_fail_oom(err, sizeof *k);
  if (code) {
    fy_eager_kernel_free(k);
    return code;
  }
  *out = k;
  return FY_OK;
}

// ------------------------------------------------------------------ the table
static fy_eager_kernel *find(fy_eager *c, const call_key *key, uint64_t hash) {
  fy_spin_lock(&c->spin);
  fy_eager_kernel *k = c->buckets[hash & c->mask];
  while (k && (k->hash != hash || !same_key(k, key))) k = k->next;
  if (k) atomic_fetch_add_explicit(&k->users, 1, memory_order_relaxed);
  fy_spin_unlock(&c->spin);
  return k;
}

// Puts |k| where others find it, unless one like it is there by now.
static void publish(fy_eager *c, fy_eager_kernel *k) {
  bool full;
  fy_spin_lock(&c->spin);
  full = c->num_kernels >= FY_EAGER_MAX_KERNELS;
  fy_spin_unlock(&c->spin);
  if (full) fy_eager_clear_caches(c);
  fy_spin_lock(&c->spin);
  fy_eager_kernel **bucket = &c->buckets[k->hash & c->mask];
  atomic_fetch_add_explicit(&k->users, 1, memory_order_relaxed);
  k->next = *bucket;
  *bucket = k;
  c->num_kernels++;
  fy_spin_unlock(&c->spin);
}

void fy_eager_drop_recent(fy_eager_op *op) {
  for (int i = 0; i < FY_EAGER_RECENT; i++) {
    if (op->recent[i]) fy_eager_kernel_put(op->recent[i]);
    op->recent[i] = NULL;
  }
}

static fy_code get_slow(fy_eager_op *op, const call_key *key, uint64_t hash, fy_eager_kernel **out,
                        bool *own, fy_error *err) {
  *out = key->too_long ? NULL : find(op->context, key, hash);
  *own = key->too_long;
  if (!*out) {
    FY_TRY(make(op, key, hash, out, err));
    if (!key->too_long) publish(op->context, *out);
    if (FY_UNLIKELY(op->context->explain)) fy_eager_tell(op->context, *out);
  }
  if (*own) return FY_OK;
  fy_eager_kernel **slot = &op->recent[hash >> 32 & (FY_EAGER_RECENT - 1)];
  if (*slot) fy_eager_kernel_put(*slot);
  *slot = *out;
  return FY_OK;
}

fy_code fy_eager_kernel_get(fy_eager_op *op, fy_eager_kernel **out, bool *own, fy_error *err) {
  call_key key;
  make_key(op, &key);
  uint64_t hash = hash_of(&key);
  uint64_t generation = atomic_load_explicit(&op->context->generation, memory_order_acquire);
  if (FY_UNLIKELY(op->generation != generation)) {
    fy_eager_drop_recent(op);
    op->generation = generation;
  }
  fy_eager_kernel *k = op->recent[hash >> 32 & (FY_EAGER_RECENT - 1)];
  if (FY_LIKELY(k && k->hash == hash && !key.too_long && same_key(k, &key))) {
    *out = k;
    *own = false;
    return FY_OK;
  }
  return get_slow(op, &key, hash, out, own, err);
}
