// SPDX-License-Identifier: Apache-2.0
// ferry_graph_add.c: one node from text. The op's spec says what each attribute and input must be;
// whatever does not fit is answered with the name that was probably meant.

#include <string.h>

#include "api/ferry_api.h"
#include "place/device_name.h"

#define MAX_INPUTS 1024

static const fy_attr_spec *find_attr(const fy_op_spec *spec, fy_view name, fy_error *err) {
  const char *names[64];
  char word[128];
  size_t n = 0;
  fy_str known;
  for (uint16_t i = 0; i < spec->num_attrs; i++) {
    if (fy_view_is(name, spec->attrs[i].name)) return &spec->attrs[i];
    if (n < 64) names[n++] = spec->attrs[i].name;
  }
  size_t len = name.n < sizeof word - 1 ? name.n : sizeof word - 1;
  memcpy(word, name.p, len);
  word[len] = 0;
  const char *near = fy_nearest(word, names, n);
  fy_str_init(&known);
  for (size_t i = 0; i < n; i++) fy_str_printf(&known, "%s%s", i ? ", " : "", names[i]);
  fy_fail(err, FY_INVALID_ARGUMENT, "op %s has no attribute '%s'%s%s%s; it has: %s", spec->name,
          word, near ? " (did you mean '" : "", near ? near : "", near ? "'?)" : "",
          n ? fy_str_text(&known) : "none");
  fy_str_free(&known);
  return NULL;
}

// An attribute that starts with '_' is anybody's: its kind is read off the value.
static fy_attr_spec guess_spec(const char *name, fy_view value) {
  fy_attr_spec s = {.name = name, .kind = FY_ATTR_STRING};
  if (value.n && value.p[0] == '[')
    s.is_list = true;
  else if (fy_view_is(value, "true") || fy_view_is(value, "false"))
    s.kind = FY_ATTR_BOOL;
  else if (value.n && strspn(value.p, "-0123456789") >= value.n)
    s.kind = FY_ATTR_INT;
  return s;
}

static fy_code set_attrs(fy_node_builder *b, const fy_op_spec *spec, const char *attrs,
                         fy_arena *arena, fy_error *err) {
  fy_view rest = fy_view_of(attrs ? attrs : "");
  fy_dtype dtype = FY_INVALID;  // types the tensor literals that follow it
  while (rest.n) {
    fy_view value = fy_ferry_cut(&rest, ';');
    if (!value.n) continue;
    fy_view whole = value, key = fy_ferry_cut(&value, '=');
    if (key.n == whole.n)
      return fy_fail(err, FY_INVALID_ARGUMENT, "attribute '%.*s' has no value: write %.*s=…",
                     (int)key.n, key.p, (int)key.n, key.p);
    char *name = fy_arena_strndup(arena, key.p, key.n);
    if (!name) return fy_fail_oom(err, key.n);
    value = fy_ferry_trim(value);
    fy_attr_spec own = guess_spec(name, value);
    const fy_attr_spec *want = key.p[0] == '_' ? &own : find_attr(spec, key, err);
    if (!want) return FY_INVALID_ARGUMENT;
    fy_attr a;
    FY_TRY(fy_ferry_attr(want, value, dtype, arena, &a, err));
    if (a.kind == FY_ATTR_TYPE && !a.is_list && strcmp(name, "dtype") == 0) dtype = a.v.type;
    fy_node_set_attr(b, name, &a);
    if (a.kind == FY_ATTR_TENSOR && !a.is_list && dtype == FY_INVALID &&
        fy_spec_attr(spec, "dtype")) {
      fy_attr t = fy_attr_type(a.v.tensor->dtype);
      fy_node_set_attr(b, "dtype", &t);
    }
  }
  return FY_OK;
}

typedef struct inputs {
  fy_output items[MAX_INPUTS];
  int n;
} inputs;

static fy_code read_list(const fy_graph *g, fy_view text, inputs *out, fy_error *err) {
  out->n = 0;
  while (text.n) {
    fy_view piece = fy_ferry_cut(&text, ',');
    if (!piece.n) continue;
    if (out->n == MAX_INPUTS)
      return fy_fail(err, FY_INVALID_ARGUMENT, "more than %d inputs as text", MAX_INPUTS);
    FY_TRY(fy_ferry_find(g, piece, &out->items[out->n++], err));
  }
  return FY_OK;
}

static bool is_list(const fy_arg_spec *a) {
  return a->number_attr || a->type_list_attr;
}

// Tensors of the single list argument when the others take one each.
static int unbracketed_length(const fy_op_spec *spec, int pieces, fy_error *err) {
  int lists = 0;
  for (uint16_t i = 0; i < spec->num_inputs; i++) lists += is_list(&spec->inputs[i]);
  if (lists > 1) {
    fy_fail(err, FY_INVALID_ARGUMENT,
            "op %s takes several lists: write each in brackets, as in [a,b],[c]", spec->name);
    return -1;
  }
  int n = pieces - (spec->num_inputs - 1);
  return n < 0 ? 0 : n;
}

// Hands the pieces of "a, [b, c], ^d" to the op's arguments in order.
static fy_code set_inputs(fy_node_builder *b, const fy_op_spec *spec, const char *text,
                          inputs *scratch, fy_error *err) {
  const fy_graph *g = b->graph;
  fy_view rest = fy_view_of(text ? text : "");
  int pieces = 0, arg = 0, given = 0;
  for (fy_view r = rest; r.n;) {
    fy_view piece = fy_ferry_cut(&r, ',');
    pieces += piece.n && piece.p[0] != '^';
  }
  while (rest.n || arg < spec->num_inputs) {
    const fy_arg_spec *a = arg < spec->num_inputs ? &spec->inputs[arg] : NULL;
    fy_view ahead = rest;
    fy_view piece = fy_ferry_cut(&ahead, ',');
    if (piece.n && piece.p[0] == '^') {
      fy_node *c;
      FY_TRY(fy_ferry_find_node(g, (fy_view){piece.p + 1, piece.n - 1}, &c, err));
      fy_node_add_control(b, c);
      rest = ahead;
    } else if (piece.n && piece.p[0] == '[' && piece.p[piece.n - 1] == ']') {
      FY_TRY(read_list(g, (fy_view){piece.p + 1, piece.n - 2}, scratch, err));
      fy_node_add_input_list(b, scratch->items, scratch->n);
      rest = ahead;
      arg++;
      given++;
    } else if (a && is_list(a)) {
      int n = unbracketed_length(spec, pieces, err);
      if (n < 0) return FY_INVALID_ARGUMENT;
      scratch->n = 0;
      while (scratch->n < n && scratch->n < MAX_INPUTS && rest.n) {
        piece = fy_ferry_cut(&rest, ',');
        if (!piece.n) continue;
        if (piece.p[0] == '^') {
          fy_node *c;
          FY_TRY(fy_ferry_find_node(g, (fy_view){piece.p + 1, piece.n - 1}, &c, err));
          fy_node_add_control(b, c);
          continue;
        }
        FY_TRY(fy_ferry_find(g, piece, &scratch->items[scratch->n++], err));
      }
      fy_node_add_input_list(b, scratch->items, scratch->n);
      arg++;
      given++;
    } else if (piece.n) {
      fy_output o;
      FY_TRY(fy_ferry_find(g, piece, &o, err));
      fy_node_add_input(b, o);
      rest = ahead;
      arg++;
      given++;
    } else if (!rest.n) {
      break;
    } else {
      rest = ahead;  // an empty piece
    }
  }
  if (given == spec->num_inputs) return FY_OK;
  fy_str names;
  fy_str_init(&names);
  for (uint16_t i = 0; i < spec->num_inputs; i++)
    fy_str_printf(&names, "%s%s", i ? ", " : "", spec->inputs[i].name);
  fy_fail(err, FY_INVALID_ARGUMENT, "op %s takes %d input%s (%s) but %d %s given", spec->name,
          spec->num_inputs, spec->num_inputs == 1 ? "" : "s", fy_str_text(&names), given,
          given == 1 ? "was" : "were");
  fy_str_free(&names);
  return FY_INVALID_ARGUMENT;
}

static fy_code find_spec(fy_graph *g, const char *op, const fy_op_spec **out, fy_error *err) {
  const fy_op *known = fy_op_find(op, strlen(op));
  const fy_function *f = known ? NULL : fy_funclib_find(g->functions, op, strlen(op));
  *out = known ? known->spec : f ? f->spec : NULL;
  if (*out) return FY_OK;
  const char *near = fy_op_nearest(op);
  return fy_fail(err, FY_NOT_FOUND, "there is no op '%s'%s%s%s", op, near ? " (did you mean '" : "",
                 near ? near : "", near ? "'?)" : "");
}

// "GPU:0" means "/device:GPU:0".
static fy_code set_device(fy_node_builder *b, const char *device, fy_arena *arena, fy_error *err) {
  fy_devname d;
  if (!device || !*device) return FY_OK;
  const char *full = device[0] != '/' && fy_devname_parse_local(device, &d)
                         ? fy_arena_printf(arena, "/device:%s", device)
                         : device;
  if (!full) return fy_fail_oom(err, strlen(device));
  fy_node_set_device(b, full);
  return FY_OK;
}

static fy_code add(fy_graph *g, const char *op, const char *name, const char *in, const char *attrs,
                   const char *device, const ferry_tensor *value, fy_arena *arena, fy_error *err) {
  const fy_op_spec *spec;
  fy_node_builder b;
  fy_node *node;
  FY_TRY(find_spec(g, op, &spec, err));
  inputs *scratch = fy_arena_alloc(arena, sizeof *scratch);
  if (!scratch) return fy_fail_oom(err, sizeof *scratch);
  if (fy_graph_find(g, name))
    return fy_fail(err, FY_ALREADY_EXISTS, "the graph already has a node '%s'", name);
  FY_TRY(fy_node_begin(g, op, name, &b, err));
  fy_code code = set_device(&b, device, arena, err);
  if (!code) code = set_inputs(&b, spec, in, scratch, err);
  if (!code) code = set_attrs(&b, spec, attrs, arena, err);
  if (!code && value) {
    if (!fy_spec_attr(spec, "value")) {
      code = fy_fail(err, FY_INVALID_ARGUMENT, "op %s takes no value: only a Const does", op);
    } else {
      fy_attr t = fy_attr_type(fy_ferry_tensor(value)->dtype);
      fy_attr v = fy_attr_tensor(&g->arena, fy_ferry_tensor(value));
      if (v.kind == FY_ATTR_NONE) code = fy_fail_oom(err, sizeof v);
      fy_node_set_attr(&b, "dtype", &t);
      fy_node_set_attr(&b, "value", &v);
    }
  }
  if (code) {
    fy_node_abandon(&b);
    return code;
  }
  return fy_node_finish(&b, &node, err);
}

int ferry_graph_add(ferry_graph *g, const char *op, const char *name, const char *in,
                    const char *attrs, const char *device, const ferry_tensor *value,
                    ferry_error *err) {
  fy_error e;
  fy_arena arena;
  fy_graph *graph = fy_ferry_graph(g);
  fy_error_init(&e);
  fy_arena_init(&arena);
  fy_lock(&graph->lock);
  fy_code code = add(graph, op, name, in, attrs, device, value, &arena, &e);
  fy_unlock(&graph->lock);
  fy_arena_free(&arena);
  if (code) fy_error_prepend(&e, "node '%s': ", name);
  return fy_ferry_end(code, &e, err);
}
