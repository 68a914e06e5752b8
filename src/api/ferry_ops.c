// SPDX-License-Identifier: Apache-2.0
// ferry_ops.c: what is known of operations: signature, attributes, kernels per device type.

#include <string.h>

#include "api/ferry_api.h"

static void arg_text(fy_str *out, const fy_arg_spec *a) {
  fy_str_printf(out, "%s: ", a->name);
  if (a->is_ref) fy_str_add(out, "Ref(");
  if (a->number_attr) fy_str_printf(out, "%s * ", a->number_attr);
  fy_str_add(out, a->type_list_attr ? a->type_list_attr
                  : a->type_attr    ? a->type_attr
                                    : fy_dtype_name(a->type));
  if (a->is_ref) fy_str_addc(out, ')');
}

static void signature(fy_str *out, const fy_op_spec *s) {
  fy_str_printf(out, "%s(", s->name);
  for (uint16_t i = 0; i < s->num_inputs; i++) {
    if (i) fy_str_add(out, ", ");
    arg_text(out, &s->inputs[i]);
  }
  fy_str_add(out, ") -> (");
  for (uint16_t i = 0; i < s->num_outputs; i++) {
    if (i) fy_str_add(out, ", ");
    arg_text(out, &s->outputs[i]);
  }
  fy_str_addc(out, ')');
}

static void attr_line(fy_str *out, const fy_attr_spec *a) {
  fy_str_printf(out, "  %s: %s", a->name, a->type);
  if (a->has_default) {
    fy_str_add(out, " = ");
    fy_attr_print(out, &a->default_value);
  }
  if (a->has_minimum) fy_str_printf(out, ", at least %lld", (long long)a->minimum);
  for (const fy_dtype *t = a->allowed_list; t && *t != FY_INVALID; t++)
    fy_str_printf(out, "%s%s", t == a->allowed_list ? ", one of " : ", ", fy_dtype_name(*t));
  for (const char *const *w = a->allowed_strings; w && *w; w++)
    fy_str_printf(out, "%s\"%s\"", w == a->allowed_strings ? ", one of " : ", ", *w);
  fy_str_addc(out, '\n');
}

static bool runs(const fy_op *op) {
  return op->impl || op->user_kernels;
}

// The types that kernels here take for attribute |name|, each once: "float, double". Empty: any.
static void attr_types(fy_str *out, const fy_op_spec *s, const char *name) {
  const size_t length = strlen(name), start = out->len;
  for (const char *p = s->cpu_kernels ? s->cpu_kernels : ""; *p; p += *p != 0) {
    // At the start of a "name=value|value" in "T=float,Tidx=int32|int64@host;T=double".
    if (!strncmp(p, name, length) && p[length] == '=') {
      for (p += length; *p == '=' || *p == '|';) {
        const size_t n = strcspn(++p, "|,;@!");
        const char *seen = fy_str_text(out) + start;
        bool known = false;
        for (; *seen && !known; seen += strcspn(seen, ","), seen += strspn(seen, ", ")) {
          known = strcspn(seen, ",") == n && !strncmp(seen, p, n);
        }
        if (!known) {
          if (out->len > start) fy_str_add(out, ", ");
          fy_str_addn(out, p, n);
        }
        p += n;
      }
    }
    p += strcspn(p, ",;");
  }
}

// Where an op runs and what is worth knowing, one fact after the other.
static void places(fy_str *out, const fy_op *op) {
  if (!op->impl) {
    fy_str_add(out, op->user_kernels ? "third-party kernels" : "nowhere");
  } else if (op->impl->flags & FY_OP_HOST) {
    fy_str_add(out, "host");
  } else {
    fy_str_add(out, "host, devices");
  }
}
static void notes(fy_str *out, const fy_op *op, const char *comma) {
  const size_t start = out->len;
  const struct {
    bool holds;
    const char *text;
  } facts[] = {
      {op->spec->flags & FY_SPEC_STATEFUL, "stateful"},
      {op->spec->flags & FY_SPEC_COMMUTATIVE, "commutative"},
      {op->impl && op->impl->elementwise, "fusable"},
      {op->impl && (op->impl->flags & FY_OP_ALIAS), "never copies"},
      {op->impl && (op->impl->flags & FY_OP_DYNAMIC), "result size depends on data"},
      {op->impl && (op->impl->flags & FY_OP_ASYNC), "may wait"},
      {op->impl && !(op->spec->cpu_kernels && *op->spec->cpu_kernels),
       "no CPU kernel in TensorFlow"},
      {op->spec->deprecated_version > 0, "deprecated"},
  };
  for (size_t i = 0; i < sizeof facts / sizeof *facts; i++) {
    if (facts[i].holds) fy_str_printf(out, "%s%s", out->len > start ? comma : "", facts[i].text);
  }
}

static void cut(fy_str *s, size_t len) {  // takes back what turned out empty
  s->len = len;
  if (s->p) s->p[len] = 0;
}

static void op_text(fy_str *out, const fy_op *op) {
  const fy_op_spec *s = op->spec;
  signature(out, s);
  fy_str_addc(out, '\n');
  if (s->num_attrs) fy_str_add(out, "\nAttributes\n");
  for (uint16_t i = 0; i < s->num_attrs; i++) attr_line(out, &s->attrs[i]);
  fy_str_add(out, "\nProperties\n");
  fy_str_printf(out, "  %s\n",
                s->flags & FY_SPEC_STATEFUL ? "stateful: never folded, merged or dropped"
                                            : "stateless: may be folded, merged and moved");
  if (s->flags & FY_SPEC_COMMUTATIVE) fy_str_add(out, "  commutative\n");
  if (op->impl && op->impl->elementwise)
    fy_str_add(out, "  element-wise: can be fused with its neighbours\n");
  if (op->impl && (op->impl->flags & FY_OP_ALIAS))
    fy_str_add(out, "  renames memory: never copies\n");
  if (s->deprecated_version)
    fy_str_printf(out, "  deprecated since GraphDef version %d: %s\n", s->deprecated_version,
                  s->deprecated_text ? s->deprecated_text : "");
  fy_str_add(out, "\nRuns on\n  ");
  places(out, op);
  fy_str_add(out, "\n");
  for (uint16_t i = 0; runs(op) && i < s->num_attrs; i++) {
    const size_t start = out->len;
    fy_str_printf(out, "  %s in ", s->attrs[i].name);
    const size_t named = out->len;
    attr_types(out, s, s->attrs[i].name);
    if (out->len == named) {
      cut(out, start);  // any
    } else {
      fy_str_addc(out, '\n');
    }
  }
  const size_t before = out->len;
  fy_str_add(out, "\nNotes\n  ");
  const size_t headed = out->len;
  notes(out, op, "\n  ");
  if (out->len == headed) cut(out, before);
  fy_str_add(out, out->len == before ? "\nKernels here\n" : "\n\nKernels here\n");
  if (!runs(op))
    fy_str_add(out,
               "  none: graphs with it can be loaded, checked, placed and inspected, not run\n");
  else
    fy_op_print_kernels(out, op);
}

static void json_text(fy_str *out, const char *key, const char *value) {
  fy_str_printf(out, "\"%s\": ", key);
  fy_str_json(out, value, strlen(value));
}

static void args_json(fy_str *out, const char *key, const fy_arg_spec *args, uint16_t n) {
  fy_str_printf(out, ", \"%s\": [", key);
  for (uint16_t i = 0; i < n; i++) {
    fy_str t;
    fy_str_init(&t);
    arg_text(&t, &args[i]);
    if (i) fy_str_add(out, ", ");
    fy_str_json(out, fy_str_text(&t), t.len);
    fy_str_free(&t);
  }
  fy_str_addc(out, ']');
}

static void op_json(fy_str *out, const fy_op *op, bool full) {
  const fy_op_spec *s = op->spec;
  fy_str_addc(out, '{');
  json_text(out, "name", s->name);
  fy_str_printf(out, ", \"runs\": %s, \"stateful\": %s", runs(op) ? "true" : "false",
                s->flags & FY_SPEC_STATEFUL ? "true" : "false");
  args_json(out, "inputs", s->inputs, s->num_inputs);
  args_json(out, "outputs", s->outputs, s->num_outputs);
  if (full) {
    fy_str k;
    fy_str_add(out, ", \"attrs\": [");
    for (uint16_t i = 0; i < s->num_attrs; i++) {
      fy_str_add(out, i ? ", {" : "{");
      json_text(out, "name", s->attrs[i].name);
      fy_str_add(out, ", ");
      json_text(out, "type", s->attrs[i].type);
      if (s->attrs[i].has_default) {
        fy_str d;
        fy_str_init(&d);
        fy_attr_print(&d, &s->attrs[i].default_value);
        fy_str_add(out, ", ");
        json_text(out, "default", fy_str_text(&d));
        fy_str_free(&d);
      }
      fy_str_addc(out, '}');
    }
    fy_str_add(out, "], \"kernels\": [");
    fy_str_init(&k);
    if (runs(op)) fy_op_print_kernels(&k, op);
    const char *sep = "";
    for (const char *p = fy_str_text(&k); *p;) {
      size_t n = strcspn(p, "\n"), skip = strspn(p, " ");
      fy_str_add(out, sep);
      fy_str_json(out, p + skip, n > skip ? n - skip : 0);
      sep = ", ";
      p += n + (p[n] == '\n');
    }
    fy_str_free(&k);
    fy_str_addc(out, ']');
  }
  fy_str_addc(out, '}');
}

static void all_text(fy_str *out) {
  size_t n = fy_op_count(), here = 0;
  for (size_t i = 0; i < n; i++) here += runs(fy_op_at(i));
  fy_str_printf(out, "%zu operations are known, %zu run here (*)\n\n", n, here);
  for (size_t i = 0; i < n; i++) {
    const fy_op *op = fy_op_at(i);
    fy_str_add(out, runs(op) ? "* " : "  ");
    signature(out, op->spec);
    fy_str_addc(out, '\n');
  }
}

// docs/ops.md: one row for each op that runs here. No version or date: the same text for the same ops.
static void all_markdown(fy_str *out) {
  size_t here = 0;
  for (size_t i = 0; i < fy_op_count(); i++) here += fy_op_at(i)->impl != NULL;
  fy_str_printf(out,
                "# Operations\n\n"
                "%zu operations run here. This file is made by `ferry ops --markdown`; "
                "`ferry ops OP`\nshows the same of one, with its attributes and kernels. Types are "
                "those of the CPU kernels; an attribute\nthat is not listed takes any type its "
                "signature allows.\n\n"
                "| Signature | Types | Runs on | Notes |\n|---|---|---|---|\n",
                here);
  for (size_t i = 0; i < fy_op_count(); i++) {
    const fy_op *op = fy_op_at(i);
    if (!op->impl) continue;
    fy_str_add(out, "| `");
    signature(out, op->spec);
    fy_str_add(out, "` | ");
    const char *sep = "";
    for (uint16_t k = 0; k < op->spec->num_attrs; k++) {
      fy_str types;
      fy_str_init(&types);
      attr_types(&types, op->spec, op->spec->attrs[k].name);
      if (types.len) {
        fy_str_printf(out, "%s%s: %s", sep, op->spec->attrs[k].name, fy_str_text(&types));
        sep = "; ";
      }
      fy_str_free(&types);
    }
    fy_str_add(out, " | ");
    places(out, op);
    fy_str_add(out, " | ");
    notes(out, op, ", ");
    fy_str_add(out, " |\n");
  }
}

static fy_code help(const char *name, ferry_format format, fy_str *out, fy_error *err) {
  if (name && *name) {
    const fy_op *op = fy_op_find(name, strlen(name));
    if (!op) {
      const char *near = fy_op_nearest(name);
      return fy_fail(err, FY_NOT_FOUND, "there is no op '%s'%s%s%s", name,
                     near ? " (did you mean '" : "", near ? near : "", near ? "'?)" : "");
    }
    if (format == FERRY_JSON)
      op_json(out, op, true);
    else
      op_text(out, op);
    if (format == FERRY_JSON) fy_str_addc(out, '\n');
    return FY_OK;
  }
  if (format != FERRY_JSON) {
    (format == FERRY_MARKDOWN ? all_markdown : all_text)(out);
    return FY_OK;
  }
  fy_str_add(out, "[");
  for (size_t i = 0; i < fy_op_count(); i++) {
    fy_str_add(out, i ? ",\n  " : "\n  ");
    op_json(out, fy_op_at(i), false);
  }
  fy_str_add(out, "\n]\n");
  return FY_OK;
}

int ferry_op_help(const char *op, ferry_format format, char **out, ferry_error *err) {
  fy_error e;
  fy_str s;
  fy_error_init(&e);
  fy_str_init(&s);
  *out = NULL;
  fy_code code = help(op, format, &s, &e);
  if (code)
    fy_str_free(&s);
  else
    code = fy_ferry_text(&s, out, &e);
  return fy_ferry_end(code, &e, err);
}

int ferry_ops_missing(char **out, ferry_error *err) {
  fy_error e;
  fy_str s;
  fy_error_init(&e);
  fy_str_init(&s);
  for (size_t i = 0; i < fy_op_count(); i++)
    if (!runs(fy_op_at(i))) fy_str_printf(&s, "%s\n", fy_op_at(i)->spec->name);
  return fy_ferry_end(fy_ferry_text(&s, out, &e), &e, err);
}
