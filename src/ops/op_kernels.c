// SPDX-License-Identifier: Apache-2.0
// op_kernels.c: is there a kernel for an op with these attributes, why not, and which ones exist.
// TensorFlow's registrations ("T=float,Tidx=int32|int64;T=double", see opdefs.tsv) say which types
// an op runs with, so that what TensorFlow refuses is refused here with the same list; our own
// implementation may handle fewer (impl->dtypes).

#include <stdatomic.h>
#include <stdio.h>
#include <string.h>

#include "ops/op.h"

static _Atomic(const fy_user_kernel_hooks *) user_hooks;

typedef fy_code (*infer_fn)(const fy_op *op, fy_shape_ctx *ctx, fy_error *err);
static _Atomic(infer_fn) user_infer;

void fy_op_set_user_kernel_hooks(const fy_user_kernel_hooks *hooks) {
  atomic_store(&user_hooks, hooks);
}

void fy_op_set_user_shape_hook(infer_fn infer) {
  atomic_store(&user_infer, infer);
}

static fy_code no_hooks(fy_error *err) {
  return fy_fail(err, FY_UNIMPLEMENTED, "third-party kernels are not available");
}

fy_code fy_user_kernel_bind(fy_site *site, fy_error *err) {
  const fy_user_kernel_hooks *hooks = atomic_load(&user_hooks);
  return hooks ? hooks->bind(site, err) : no_hooks(err);
}

void fy_user_kernel_unbind(fy_site *site) {
  const fy_user_kernel_hooks *hooks = atomic_load(&user_hooks);
  if (hooks) hooks->unbind(site);
}

fy_code fy_user_kernel_compute(fy_kernel_ctx *ctx, fy_error *err) {
  const fy_user_kernel_hooks *hooks = atomic_load(&user_hooks);
  return hooks ? hooks->compute(ctx, err) : no_hooks(err);
}

fy_code fy_user_shape_infer(const fy_op *op, fy_shape_ctx *ctx, fy_error *err) {
  infer_fn infer = atomic_load(&user_infer);
  return infer ? infer(op, ctx, err) : no_hooks(err);
}

// ---------------------------------------------------------------- reading registrations
typedef struct constraint {
  fy_view name;
  fy_view values;  // "float|double"
} constraint;

// The next piece of |*rest| up to |separator|, quotes respected. False at the end.
static bool next_piece(fy_view *rest, char separator, fy_view *out) {
  if (!rest->p) return false;
  bool quoted = false;
  size_t n = 0;
  for (; n < rest->n; n++) {
    char c = rest->p[n];
    if (c == '\'') quoted = !quoted;
    if (c == separator && !quoted) break;
  }
  *out = (fy_view){rest->p, n};
  *rest = n < rest->n ? (fy_view){rest->p + n + 1, rest->n - n - 1} : (fy_view){NULL, 0};
  return true;
}

// One set without its "!priority" and "@host+memory" tails.
static fy_view only_constraints(fy_view set) {
  bool quoted = false;
  for (size_t i = 0; i < set.n; i++) {
    if (set.p[i] == '\'') quoted = !quoted;
    if (!quoted && (set.p[i] == '!' || set.p[i] == '@')) return (fy_view){set.p, i};
  }
  return set;
}

static bool next_constraint(fy_view *rest, constraint *out) {
  fy_view piece;
  if (!next_piece(rest, ',', &piece)) return false;
  const char *equals = memchr(piece.p, '=', piece.n);
  if (!equals) return false;  // "any"
  out->name = (fy_view){piece.p, (size_t)(equals - piece.p)};
  out->values = (fy_view){equals + 1, piece.n - out->name.n - 1};
  return true;
}

static const fy_attr *get_attr(const fy_attrs *attrs, fy_view name) {
  for (uint32_t i = 0; i < attrs->n; i++) {
    if (fy_view_is(name, attrs->items[i].name)) return &attrs->items[i].value;
  }
  return NULL;
}

static bool type_in(fy_dtype type, fy_view values) {
  fy_view value;
  fy_dtype allowed;
  while (next_piece(&values, '|', &value)) {
    if (fy_dtype_parse(value.p, value.n, &allowed) && allowed == type) return true;
  }
  return false;
}

static bool text_in(fy_view text, fy_view values, bool quoted) {
  fy_view value;
  while (next_piece(&values, '|', &value)) {
    if (quoted && value.n >= 2) value = (fy_view){value.p + 1, value.n - 2};
    if (fy_view_eq(value, text)) return true;
  }
  return false;
}

static bool constraint_holds(const constraint *c, const fy_attrs *attrs) {
  const fy_attr *a = get_attr(attrs, c->name);
  char text[32];
  if (!a) return false;
  switch (a->kind) {
    case FY_ATTR_TYPE:
      if (!a->is_list) return type_in(fy_dtype_base(a->v.type), c->values);
      for (uint32_t i = 0; i < a->n; i++) {
        if (!type_in(fy_dtype_base(a->v.types[i]), c->values)) return false;
      }
      return true;
    case FY_ATTR_STRING: return !a->is_list && text_in(a->v.s, c->values, true);
    case FY_ATTR_BOOL:
      return !a->is_list && text_in(fy_view_of(a->v.b ? "true" : "false"), c->values, false);
    case FY_ATTR_INT:
      snprintf(text, sizeof text, "%lld", (long long)a->v.i);
      return !a->is_list && text_in(fy_view_of(text), c->values, false);
    default: return a->is_list && a->n == 0;
  }
}

static bool set_holds(fy_view set, const fy_attrs *attrs) {
  constraint c;
  fy_view rest = only_constraints(set);
  while (next_constraint(&rest, &c)) {
    if (!constraint_holds(&c, attrs)) return false;
  }
  return true;
}

static bool any_set_holds(const char *sets, const fy_attrs *attrs) {
  fy_view rest = fy_view_of(sets), set;
  while (next_piece(&rest, ';', &set)) {
    if (set_holds(set, attrs)) return true;
  }
  return false;
}

// ---------------------------------------------------------------- reasons
static void print_attr_value(fy_str *out, const fy_attr *a) {
  if (a && a->kind == FY_ATTR_TYPE && !a->is_list) {
    fy_str_add(out, fy_dtype_name(a->v.type));
  } else if (a) {
    fy_attr_print(out, a);
  } else {
    fy_str_add(out, "?");
  }
}

// Is |value| one of "a, b, c"?
static bool is_listed(const char *list, fy_view value) {
  while (*list) {
    size_t n = strcspn(list, ",");
    if (fy_view_eq((fy_view){list, n}, value)) return true;
    list += n;
    list += strspn(list, ", ");
  }
  return false;
}

// Adds the values that any set gives |name|, each once: "float, double".
static bool print_values(fy_str *out, const char *sets, fy_view name, const fy_attrs *attrs) {
  fy_view rest = fy_view_of(sets), set, value;
  size_t start = out->len;
  bool holds = false;
  constraint c;
  while (next_piece(&rest, ';', &set)) {
    fy_view in_set = only_constraints(set);
    bool seen = false;
    while (next_constraint(&in_set, &c)) {
      if (!fy_view_eq(c.name, name)) continue;
      seen = true;
      holds |= constraint_holds(&c, attrs);
      while (next_piece(&c.values, '|', &value)) {
        if (is_listed(fy_str_text(out) + start, value)) continue;
        if (out->len > start) fy_str_add(out, ", ");
        fy_str_addn(out, value.p, value.n);
      }
    }
    holds |= !seen;
  }
  return holds;
}

// "T=string not in [float, double]": the first attribute that no registration accepts; if each is
// accepted somewhere, it is the combination that is missing.
static void explain_sets(const fy_op_spec *spec, const fy_attrs *attrs, fy_error *why) {
  fy_str text, combination;
  fy_str_init(&text);
  fy_str_init(&combination);
  for (size_t i = 0; i < spec->num_attrs; i++) {
    fy_view name = fy_view_of(spec->attrs[i].name);
    fy_str values;
    fy_str_init(&values);
    bool holds = print_values(&values, spec->cpu_kernels, name, attrs);
    if (values.len) {
      fy_str *to = holds ? &combination : &text;
      if (holds && combination.len) fy_str_add(to, ",");
      fy_str_printf(to, "%s=", spec->attrs[i].name);
      print_attr_value(to, get_attr(attrs, name));
      if (!holds) fy_str_printf(to, " not in [%s]", fy_str_text(&values));
    }
    fy_str_free(&values);
    if (text.len) break;
  }
  if (text.len) {
    fy_fail(why, FY_NOT_FOUND, "%s", fy_str_text(&text));
  } else {
    fy_fail(why, FY_NOT_FOUND, "no kernel for the combination %s", fy_str_text(&combination));
  }
  fy_str_free(&text);
  fy_str_free(&combination);
}

// The attribute that types the data: that of the first argument typed by one.
static const char *main_type_attr(const fy_op_spec *spec) {
  for (size_t i = 0; i < spec->num_inputs; i++) {
    if (spec->inputs[i].type_attr) return spec->inputs[i].type_attr;
  }
  for (size_t i = 0; i < spec->num_outputs; i++) {
    if (spec->outputs[i].type_attr) return spec->outputs[i].type_attr;
  }
  return NULL;
}

static bool impl_handles(const fy_op *op, const fy_attrs *attrs, fy_error *why) {
  const char *name = main_type_attr(op->spec);
  const fy_attr *a = name ? fy_attrs_get(attrs, name) : NULL;
  if (!op->impl->dtypes || !a || a->kind != FY_ATTR_TYPE || a->is_list) return true;
  fy_dtype type = fy_dtype_base(a->v.type);
  if ((unsigned)type < 64 && (op->impl->dtypes >> type & 1)) return true;
  fy_fail(why, FY_NOT_FOUND, "%s=%s not in [", name, fy_dtype_name(type));
  const char *comma = "";
  for (int t = 1; t < FY_DTYPE_COUNT; t++) {
    if (!(op->impl->dtypes >> t & 1)) continue;
    if (why) fy_error_append(why, "%s%s", comma, fy_dtype_name((fy_dtype)t));
    comma = ", ";
  }
  if (why) fy_error_append(why, "]");
  return false;
}

static bool host_has_kernel(const fy_op *op, const fy_attrs *attrs, fy_error *why) {
  const char *sets = op->spec->cpu_kernels;
  if (sets && *sets && !any_set_holds(sets, attrs)) {
    if (why) explain_sets(op->spec, attrs, why);
    return false;
  }
  return impl_handles(op, attrs, why);
}

// ---------------------------------------------------------------- other devices
static bool arg_is_plain(const fy_arg_spec *arg, const fy_attrs *attrs, fy_dtype *out) {
  const char *name = arg->type_list_attr ? arg->type_list_attr : arg->type_attr;
  const fy_attr *a = name ? fy_attrs_get(attrs, name) : NULL;
  bool typed = a && a->kind == FY_ATTR_TYPE;
  uint32_t n = typed && a->is_list ? a->n : 1;
  for (uint32_t i = 0; i < n; i++) {
    fy_dtype t = !typed ? arg->type : a->is_list ? a->v.types[i] : a->v.type;
    *out = fy_dtype_base(t);
    // A handle stays on the host, whatever it points to.
    if (*out != FY_INVALID && *out != FY_RESOURCE && !fy_dtype_is_plain(*out)) return false;
  }
  return true;
}

static bool args_are_plain(const fy_arg_spec *args, size_t n, uint64_t on_host,
                           const fy_attrs *attrs, fy_error *why) {
  for (size_t i = 0; i < n; i++) {
    fy_dtype type;
    if ((i < 64 && (on_host >> i & 1)) || arg_is_plain(&args[i], attrs, &type)) continue;
    fy_fail(why, FY_NOT_FOUND, "%s is of type %s, which lives in host memory", args[i].name,
            fy_dtype_name(type));
    return false;
  }
  return true;
}

static bool device_has_kernel(const fy_op *op, const fy_attrs *attrs, const char *device_type,
                              fy_error *why) {
  const fy_op_impl *impl = op->impl;
  if (impl->flags & FY_OP_HOST) {
    fy_fail(why, FY_NOT_FOUND, "op %s runs on the host only, not on %s", op->spec->name,
            device_type);
    return false;
  }
  if (impl->flags & FY_OP_ANY_DEVICE_HOST_DATA) return true;
  return args_are_plain(op->spec->inputs, op->spec->num_inputs, impl->host_inputs, attrs, why) &&
         args_are_plain(op->spec->outputs, op->spec->num_outputs, impl->host_outputs, attrs, why);
}

static bool user_has_kernel(const fy_op *op, const fy_attrs *attrs, const char *device_type) {
  const fy_user_kernel_hooks *hooks = atomic_load(&user_hooks);
  fy_op_lock();
  bool has = op->user_kernels && (!hooks || hooks->matches(op->user_kernels, attrs, device_type));
  fy_op_unlock();
  return has;
}

bool fy_op_has_kernel(const fy_op *op, const fy_attrs *attrs, const char *device_type,
                      fy_error *why) {
  if (user_has_kernel(op, attrs, device_type)) return true;
  if (!op->impl) {
    fy_fail(why, FY_NOT_FOUND, "no kernel for op %s", op->spec->name);
    return false;
  }
  if (strcmp(device_type, "CPU") == 0) return host_has_kernel(op, attrs, why);
  return device_has_kernel(op, attrs, device_type, why);
}

// ---------------------------------------------------------------- listing
// Should this set be shown, given what our loop handles?
static bool set_is_ours(const fy_op *op, fy_view set) {
  const char *name = main_type_attr(op->spec);
  fy_view rest = only_constraints(set), value;
  constraint c;
  fy_dtype type;
  if (!op->impl->dtypes || !name) return true;
  while (next_constraint(&rest, &c)) {
    if (!fy_view_is(c.name, name)) continue;
    while (next_piece(&c.values, '|', &value)) {
      if (fy_dtype_parse(value.p, value.n, &type) && (op->impl->dtypes >> type & 1)) return true;
    }
    return false;
  }
  return true;
}

static void print_set(fy_str *out, fy_view device, fy_view set) {
  fy_view label = {NULL, 0}, rest = only_constraints(set), value;
  const char *colon = memchr(device.p, ':', device.n);
  constraint c;
  if (colon) {
    label = (fy_view){colon + 1, device.n - (size_t)(colon + 1 - device.p)};
    device.n -= label.n + 1;
  }
  fy_str_printf(out, "  device='%.*s'", (int)device.n, device.p);
  if (label.n) fy_str_printf(out, "; label='%.*s'", (int)label.n, label.p);
  while (next_constraint(&rest, &c)) {
    fy_str_printf(out, "; %.*s in [", (int)c.name.n, c.name.p);
    const char *comma = "";
    for (; next_piece(&c.values, '|', &value); comma = ", ") {
      fy_dtype type;
      fy_str_add(out, comma);
      if (value.n >= 2 && value.p[0] == '\'') {
        fy_str_printf(out, "\"%.*s\"", (int)value.n - 2, value.p + 1);
      } else if (fy_dtype_parse(value.p, value.n, &type)) {
        fy_str_add(out, fy_dtype_enum_name(type));
      } else {
        fy_str_addn(out, value.p, value.n);
      }
    }
    fy_str_add(out, "]");
  }
  fy_str_add(out, "\n");
}

static void print_group(fy_str *out, const fy_op *op, fy_view device, fy_view sets) {
  bool is_cpu = fy_view_is(device, "CPU");
  fy_view set;
  while (sets.n && next_piece(&sets, ';', &set)) {
    if (!is_cpu || set_is_ours(op, set)) print_set(out, device, set);
  }
}

// Groups as opdefs.tsv writes them: "DEFAULT{T=int32@shape} CPU GPU:label{any}".
static void print_groups(fy_str *out, const fy_op *op) {
  fy_view cpu = FY_VIEW("CPU"), cpu_sets = fy_view_of(op->spec->cpu_kernels);
  const char *p = op->spec->kernels;
  if (!p || !*p) {
    print_group(out, op, cpu, cpu_sets.n ? cpu_sets : fy_view_of("any"));
    return;
  }
  while (*p) {
    fy_view device = {p, strcspn(p, "{ ")};
    p += device.n;
    if (*p == '{') {
      size_t n = strcspn(++p, "}");
      print_group(out, op, device, (fy_view){p, n});
      p += n + (p[n] == '}');
    } else {
      print_group(out, op, cpu, cpu_sets);
    }
    while (*p == ' ') p++;
  }
}

void fy_op_print_kernels(fy_str *out, const fy_op *op) {
  size_t start = out->len;
  if (op->impl) print_groups(out, op);
  const fy_user_kernel_hooks *hooks = atomic_load(&user_hooks);
  fy_op_lock();
  if (op->user_kernels && hooks) hooks->print(out, op->user_kernels);
  fy_op_unlock();
  if (out->len == start) fy_str_add(out, "  <no registered kernels>\n");
}
