// SPDX-License-Identifier: Apache-2.0
// diff.c: what differs between two models: nodes, functions, signatures, weights.
// Nodes are matched by name, as are functions and weights. An attribute that one side leaves out and
// the other writes with its default is no difference; nor is the order of nodes.

#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "base/alloc.h"
#include "base/map.h"
#include "model/inspect.h"
#include "wire/attr_proto.h"
#include "wire/bundle.h"
#include "wire/proto_util.h"
#include "wire/text_format.h"

typedef struct differ {
  fy_str *out;
  bool json;
  double tolerance;
  size_t differences;
} differ;

// One line, or one object: kind ("node", "weight" …), change (+ - ~), name, and what.
static void say(differ *d, const char *kind, char change, const char *name, const char *what) {
  d->differences++;
  if (!d->json) {
    fy_str_printf(d->out, "%c %s %s%s%s\n", change, kind, name, *what ? ": " : "", what);
    return;
  }
  fy_str_add(d->out, d->differences > 1 ? ",\n  {" : "\n  {");
  fy_str_printf(d->out, "\"kind\": \"%s\", \"change\": \"%s\", \"name\": ", kind,
                change == '+'   ? "added"
                : change == '-' ? "removed"
                                : "changed");
  fy_str_json(d->out, name, strlen(name));
  fy_str_add(d->out, ", \"what\": ");
  fy_str_json(d->out, what, strlen(what));
  fy_str_addc(d->out, '}');
}

// ------------------------------------------------------------------ values
static bool is_string(fy_dtype t) {
  return t == FY_STRING;
}

// False if they differ; |what| says how much.
static bool same_values(const fy_tensor *a, const fy_tensor *b, double tolerance, fy_str *what) {
  char x[128], y[128];
  if (a->dtype != b->dtype || !fy_shape_equal(a->rank, a->dims, b->rank, b->dims)) {
    fy_str_printf(what, "%s%s is %s%s", fy_dtype_name(a->dtype), fy_shape_text(a->rank, a->dims, x),
                  fy_dtype_name(b->dtype), fy_shape_text(b->rank, b->dims, y));
    return false;
  }
  int64_t count = 0, at = 0;
  double most = 0;
  bool numbers = !is_string(a->dtype) && !fy_dtype_is_complex(a->dtype);
  if (fy_tensor_equal(a, b)) return true;
  for (int64_t i = 0; i < a->count; i++) {
    double distance = INFINITY;
    if (is_string(a->dtype)) {
      if (fy_view_eq(fy_tensor_string(a, i), fy_tensor_string(b, i))) continue;
    } else if (!numbers) {
      size_t n = fy_dtype_storage(a->dtype);
      if (memcmp((const char *)a->data + (size_t)i * n, (const char *)b->data + (size_t)i * n, n) ==
          0)
        continue;
    } else {
      double v = fy_tensor_double(a, i), w = fy_tensor_double(b, i);
      distance = fabs(v - w);
      if (v == w || (isnan(v) && isnan(w)) || distance <= tolerance) continue;
      if (isnan(distance)) distance = INFINITY;
    }
    count++;
    if (distance > most) most = distance, at = i;
  }
  if (!count) return true;
  fy_str_printf(what, "%s%s: %lld of %lld values differ", fy_dtype_name(a->dtype),
                fy_shape_text(a->rank, a->dims, x), (long long)count, (long long)a->count);
  if (numbers)
    fy_str_printf(what, ", max abs difference %.6g (value %lld: %.9g is %.9g)", most, (long long)at,
                  fy_tensor_double(a, at), fy_tensor_double(b, at));
  return false;
}

// ------------------------------------------------------------------ nodes
typedef Tensorflow__NodeDef node_def;
typedef Tensorflow__AttrValue attr_value;

static const attr_value *find_attr(const node_def *n, const char *name) {
  for (size_t i = n->n_attr; i-- > 0;)
    if (strcmp(n->attr[i]->key, name) == 0) return n->attr[i]->value;
  return NULL;
}

static void attr_text(fy_str *out, const attr_value *v) {
  fy_str s;
  fy_str_init(&s);
  if (v) fy_wire_text_print_line(&s, &v->base);
  if (s.len > 80)
    fy_str_printf(out, "%.77s...", fy_str_text(&s));
  else
    fy_str_add(out, v ? fy_str_text(&s) : "(not set)");
  fy_str_free(&s);
}

static bool same_message(const ProtobufCMessage *a, const ProtobufCMessage *b) {
  fy_str x, y;
  fy_str_init(&x);
  fy_str_init(&y);
  fy_wire_text_print_line(&x, a);
  fy_wire_text_print_line(&y, b);
  bool same = !x.failed && !y.failed && strcmp(fy_str_text(&x), fy_str_text(&y)) == 0;
  fy_str_free(&x);
  fy_str_free(&y);
  return same;
}

// What a node means by an attribute that it does not write.
static bool is_default(const node_def *n, const char *name, const attr_value *v) {
  const fy_op *op = n->op ? fy_op_find(n->op, strlen(n->op)) : NULL;
  const fy_attr_spec *spec = op ? fy_spec_attr(op->spec, name) : NULL;
  if (!spec || !spec->has_default) return false;
  fy_arena a;
  fy_error err;
  fy_attr value;
  fy_arena_init(&a);
  fy_error_init(&err);
  attr_value *standard = NULL;
  bool same = fy_wire_attr_read(v, &a, NULL, &value, &err) == FY_OK &&
              fy_wire_attr_write(&spec->default_value, &a, &standard, &err) == FY_OK &&
              same_message(&v->base, &standard->base);
  fy_error_clear(&err);
  fy_arena_free(&a);
  return same;
}

static bool same_tensors(const differ *d, const attr_value *a, const attr_value *b, fy_str *what,
                         bool *decided) {
  fy_tensor *x = NULL, *y = NULL;
  fy_error err;
  bool same = false;
  fy_error_init(&err);
  *decided = fy_wire_tensor_read(a->tensor, NULL, &x, &err) == FY_OK &&
             fy_wire_tensor_read(b->tensor, NULL, &y, &err) == FY_OK;
  if (*decided) same = same_values(x, y, d->tolerance, what);
  fy_tensor_release(x);
  fy_tensor_release(y);
  fy_error_clear(&err);
  return same;
}

static void diff_attr(differ *d, fy_str *what, const node_def *a, const node_def *b,
                      const char *name) {
  const attr_value *x = find_attr(a, name), *y = find_attr(b, name);
  bool decided = false;
  fy_str values;
  fy_str_init(&values);
  if (x && y && x->value_case == TENSORFLOW__ATTR_VALUE__VALUE_TENSOR &&
      y->value_case == TENSORFLOW__ATTR_VALUE__VALUE_TENSOR && x->tensor && y->tensor) {
    bool same = same_tensors(d, x, y, &values, &decided);
    if (decided && !same)
      fy_str_printf(what, "%s%s %s", what->len ? "; " : "", name, fy_str_text(&values));
  }
  fy_str_free(&values);
  if (decided || (x && y && same_message(&x->base, &y->base))) return;
  if ((!x && y && is_default(b, name, y)) || (x && !y && is_default(a, name, x))) return;
  if (!x && !y) return;
  fy_str_printf(what, "%sattribute %s ", what->len ? "; " : "", name);
  attr_text(what, x);
  fy_str_add(what, " is ");
  attr_text(what, y);
}

static const char *input_at(const node_def *n, size_t i) {
  return i < n->n_input ? n->input[i] : "(none)";
}

// "x" and "x:0" are one.
static bool same_input(const char *a, const char *b) {
  size_t n = strlen(a), m = strlen(b);
  if (n > 2 && strcmp(a + n - 2, ":0") == 0) n -= 2;
  if (m > 2 && strcmp(b + m - 2, ":0") == 0) m -= 2;
  return n == m && memcmp(a, b, n) == 0;
}

static const char *or_empty(const char *s) {
  return s ? s : "";
}

static void diff_node(differ *d, const char *kind, const char *prefix, const node_def *a,
                      const node_def *b) {
  fy_str what, name;
  fy_str_init(&what);
  fy_str_init(&name);
  if (strcmp(or_empty(a->op), or_empty(b->op)) != 0)
    fy_str_printf(&what, "op %s is %s", or_empty(a->op), or_empty(b->op));
  if (strcmp(or_empty(a->device), or_empty(b->device)) != 0)
    fy_str_printf(&what, "%sdevice '%s' is '%s'", what.len ? "; " : "", or_empty(a->device),
                  or_empty(b->device));
  for (size_t i = 0; i < a->n_input || i < b->n_input; i++)
    if (!same_input(input_at(a, i), input_at(b, i)))
      fy_str_printf(&what, "%sinput %zu %s is %s", what.len ? "; " : "", i, input_at(a, i),
                    input_at(b, i));
  for (size_t i = 0; i < a->n_attr; i++) diff_attr(d, &what, a, b, a->attr[i]->key);
  for (size_t i = 0; i < b->n_attr; i++)
    if (!find_attr(a, b->attr[i]->key)) diff_attr(d, &what, a, b, b->attr[i]->key);
  if (what.len) {
    fy_str_printf(&name, "%s%s", prefix, a->name);
    say(d, kind, '~', fy_str_text(&name), fy_str_text(&what));
  }
  d->out->failed |= what.failed || name.failed;
  fy_str_free(&what);
  fy_str_free(&name);
}

static fy_code diff_nodes(differ *d, const char *prefix, node_def *const *a, size_t n,
                          node_def *const *b, size_t m, fy_error *err) {
  fy_map left, right;
  bool ok = true;
  fy_map_init(&left);
  fy_map_init(&right);
  for (size_t i = 0; ok && i < n; i++) ok = fy_map_puts(&left, a[i]->name, a[i]);
  for (size_t i = 0; ok && i < m; i++) ok = fy_map_puts(&right, b[i]->name, b[i]);
  for (size_t i = 0; ok && i < n + m; i++) {
    const node_def *x = i < n ? a[i] : fy_map_gets(&left, b[i - n]->name);
    const node_def *y = i < n ? fy_map_gets(&right, a[i]->name) : b[i - n];
    fy_str name;
    if (i >= n && x) continue;
    fy_str_init(&name);
    fy_str_printf(&name, "%s%s", prefix, x ? x->name : y->name);
    if (x && y)
      diff_node(d, "node", prefix, x, y);
    else
      say(d, "node", x ? '-' : '+', fy_str_text(&name), or_empty(x ? x->op : y->op));
    fy_str_free(&name);
  }
  fy_map_free(&left);
  fy_map_free(&right);
  return ok ? FY_OK : fy_fail_oom(err, 64);
}

// ------------------------------------------------------------------ functions
static const Tensorflow__FunctionDef *find_function(const Tensorflow__GraphDef *g,
                                                    const char *name) {
  for (size_t i = 0; g->library && i < g->library->n_function; i++) {
    const Tensorflow__FunctionDef *f = g->library->function[i];
    if (f->signature && strcmp(or_empty(f->signature->name), name) == 0) return f;
  }
  return NULL;
}

static fy_code diff_functions(differ *d, const Tensorflow__GraphDef *a,
                              const Tensorflow__GraphDef *b, fy_error *err) {
  for (size_t i = 0; a->library && i < a->library->n_function; i++) {
    const Tensorflow__FunctionDef *f = a->library->function[i];
    if (!f->signature) continue;
    const char *name = or_empty(f->signature->name);
    const Tensorflow__FunctionDef *g = find_function(b, name);
    fy_str prefix;
    if (!g) {
      say(d, "function", '-', name, "");
      continue;
    }
    fy_str_init(&prefix);
    fy_str_printf(&prefix, "%s/", name);
    if (!same_message(&f->signature->base, &g->signature->base))
      say(d, "function", '~', name, "its signature differs");
    fy_code code = diff_nodes(d, fy_str_text(&prefix), f->node_def, f->n_node_def, g->node_def,
                              g->n_node_def, err);
    fy_str_free(&prefix);
    if (code) return code;
  }
  for (size_t i = 0; b->library && i < b->library->n_function; i++) {
    const Tensorflow__FunctionDef *f = b->library->function[i];
    if (f->signature && !find_function(a, or_empty(f->signature->name)))
      say(d, "function", '+', or_empty(f->signature->name), "");
  }
  return FY_OK;
}

// ------------------------------------------------------------------ signatures
static const Tensorflow__SignatureDef *find_signature(const Tensorflow__MetaGraphDef *m,
                                                      const char *key) {
  for (size_t i = 0; i < m->n_signature_def; i++)
    if (strcmp(m->signature_def[i]->key, key) == 0) return m->signature_def[i]->value;
  return NULL;
}

static void diff_signatures(differ *d, const Tensorflow__MetaGraphDef *a,
                            const Tensorflow__MetaGraphDef *b) {
  for (size_t i = 0; i < a->n_signature_def; i++) {
    const char *key = a->signature_def[i]->key;
    const Tensorflow__SignatureDef *x = a->signature_def[i]->value, *y = find_signature(b, key);
    if (!y)
      say(d, "signature", '-', key, "");
    else if (x && !same_message(&x->base, &y->base))
      say(d, "signature", '~', key, "its inputs or outputs differ");
  }
  for (size_t i = 0; i < b->n_signature_def; i++)
    if (!find_signature(a, b->signature_def[i]->key))
      say(d, "signature", '+', b->signature_def[i]->key, "");
}

// ------------------------------------------------------------------ weights
static fy_code diff_weight(differ *d, fy_wire_bundle *a, fy_wire_bundle *b, const char *name,
                           fy_error *err) {
  fy_tensor *x = NULL, *y = NULL;
  fy_str what;
  fy_str_init(&what);
  fy_code code = fy_wire_bundle_read(a, name, &x, err);
  if (!code) code = fy_wire_bundle_read(b, name, &y, err);
  if (!code && !same_values(x, y, d->tolerance, &what))
    say(d, "weight", '~', name, fy_str_text(&what));
  fy_tensor_release(x);
  fy_tensor_release(y);
  fy_str_free(&what);
  return code;
}

static fy_code diff_weights(differ *d, const char *a, const char *b, fy_error *err) {
  fy_wire_bundle *x = NULL, *y = NULL;
  fy_code code = a ? fy_wire_bundle_open(a, &x, err) : FY_OK;
  if (!code && b) code = fy_wire_bundle_open(b, &y, err);
  for (int side = 0; side < 2 && !code; side++) {
    fy_wire_bundle *from = side ? y : x, *other = side ? x : y;
    for (size_t i = 0; from && !code && i < fy_wire_bundle_count(from); i++) {
      fy_view v = fy_wire_bundle_name(from, i);
      fy_str name;
      if (fy_view_is(v, "_CHECKPOINTABLE_OBJECT_GRAPH")) continue;
      fy_str_init(&name);
      fy_str_addn(&name, v.p, v.n);
      bool both = other && fy_wire_bundle_has(other, fy_str_text(&name));
      if (!both)
        say(d, "weight", side ? '+' : '-', fy_str_text(&name), "");
      else if (!side)
        code = diff_weight(d, x, y, fy_str_text(&name), err);
      fy_str_free(&name);
    }
  }
  fy_wire_bundle_close(x);
  fy_wire_bundle_close(y);
  return code;
}

fy_code fy_model_diff(const fy_model_file *a, const fy_model_file *b, double tolerance, bool json,
                      bool *same, fy_str *out, fy_error *err) {
  differ d = {.out = out, .json = json, .tolerance = tolerance};
  *same = false;
  if (!a->graph != !b->graph)
    return fy_fail(err, FY_INVALID_ARGUMENT, "%s is a %s and %s is a %s: they cannot be compared",
                   a->path, fy_model_kind_name(a->kind), b->path, fy_model_kind_name(b->kind));
  if (json) fy_str_add(out, "{\"differences\": [");
  if (a->graph) {
    FY_TRY(diff_nodes(&d, "", a->graph->node, a->graph->n_node, b->graph->node, b->graph->n_node,
                      err));
    FY_TRY(diff_functions(&d, a->graph, b->graph, err));
  }
  if (a->saved.meta && b->saved.meta) diff_signatures(&d, a->saved.meta, b->saved.meta);
  FY_TRY(diff_weights(&d, a->checkpoint, b->checkpoint, err));
  *same = d.differences == 0;
  if (json)
    fy_str_printf(out, "%s],\n \"same\": %s}\n", d.differences ? "\n" : "",
                  *same ? "true" : "false");
  else if (*same)
    fy_str_add(out, "the same\n");
  else
    fy_str_printf(out, "%zu differences\n", d.differences);
  return FY_OK;
}
