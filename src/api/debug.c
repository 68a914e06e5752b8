// SPDX-License-Identifier: Apache-2.0
// debug.c: graphs and functions as text for people. The client frees the text with free().
// A graph is protobuf text behind the line that marks it as not meant for parsing; a function is
// TensorFlow's own short notation.

#include <stdlib.h>
#include <string.h>

#include "api/api.h"
#include "base/alloc.h"
#include "graph/export.h"
#include "place/device_name.h"
#include "tensorflow/c/c_api_experimental.h"
#include "wire/attr_proto.h"
#include "wire/text_format.h"

static char *take(fy_str *s, size_t *len) {
  *len = s->len;
  char *text = fy_str_take(s);
  if (!text) *len = 0;
  return text;
}

const char *TF_GraphDebugString(TF_Graph *graph, size_t *len) {
  fy_graph *g = fy_api_graph(graph);
  fy_arena tmp;
  fy_str s;
  Tensorflow__GraphDef *def;
  const char *text = NULL;
  fy_arena_init(&tmp);
  fy_str_init(&s);
  *len = 0;
  fy_lock(&g->lock);
  if (fy_graph_export(g, &tmp, &def, NULL) == FY_OK) {
    fy_str_add(&s, "goo.gle/debugonly \n");
    fy_wire_text_print(&s, &def->base);
    text = take(&s, len);
  }
  fy_unlock(&g->lock);
  fy_str_free(&s);
  fy_arena_free(&tmp);
  return text;
}

// ---------------------------------------------------------------- functions
static void print_value(fy_str *out, const fy_attr *a) {
  if (!a->is_list && a->kind == FY_ATTR_TYPE) {
    fy_str_add(out, fy_dtype_name(a->v.type));
  } else if (a->is_list && a->kind == FY_ATTR_TYPE && a->n) {
    for (uint32_t i = 0; i < a->n; i++)
      fy_str_printf(out, "%s%s", i ? ", " : "{", fy_dtype_name(a->v.types[i]));
    fy_str_addc(out, '}');
  } else if (!a->is_list && a->kind == FY_ATTR_FUNC) {
    const fy_func_attr *f = a->v.func;
    fy_str_addn(out, f->name.p, f->name.n);
    for (uint32_t i = 0; i < f->attrs.n; i++) {
      fy_str_printf(out, "%s%s=", i ? ", " : "[", f->attrs.items[i].name);
      print_value(out, &f->attrs.items[i].value);
    }
    if (f->attrs.n) fy_str_addc(out, ']');
  } else {
    fy_attr_print(out, a);
  }
}

static void print_message_value(fy_str *out, const Tensorflow__AttrValue *value) {
  fy_arena tmp;
  fy_attr a;
  fy_arena_init(&tmp);
  if (fy_wire_attr_read(value, &tmp, NULL, &a, NULL) == FY_OK)
    print_value(out, &a);
  else
    fy_str_add(out, "<unreadable>");
  fy_arena_free(&tmp);
}

static void print_device(fy_str *out, const char *device) {
  fy_devname d;
  if (fy_devname_parse(device, &d))
    fy_str_printf(out, "device=%s:%d", d.has_type ? d.type : "", d.has_id ? d.id : 0);
  else
    fy_str_add(out, "device=<FAILED_TO_PARSE>");
}

static void print_node(fy_str *out, const Tensorflow__NodeDef *n) {
  fy_str_printf(out, "  %s = %s", n->name, n->op);
  for (size_t i = 0; i < n->n_attr; i++) {  // sorted by name
    fy_str_printf(out, "%s%s=", i ? ", " : "[", n->attr[i]->key);
    print_message_value(out, n->attr[i]->value);
  }
  if (n->n_attr && *n->device) {
    fy_str_add(out, ", ");
    print_device(out, n->device);
  }
  fy_str_add(out, n->n_attr ? "](" : "(");
  const char *between = "";
  for (size_t i = 0; i < n->n_input; i++) {
    if (n->input[i][0] == '^') continue;
    fy_str_printf(out, "%s%s", between, n->input[i]);
    between = ", ";
  }
  fy_str_addc(out, ')');
  between = " @ ";
  for (size_t i = 0; i < n->n_input; i++) {
    if (n->input[i][0] != '^') continue;
    fy_str_printf(out, "%s%s", between, n->input[i] + 1);
    between = ", ";
  }
  fy_str_addc(out, '\n');
}

static void print_args(fy_str *out, Tensorflow__OpDef__ArgDef *const *args, size_t n) {
  for (size_t i = 0; i < n; i++) {
    const Tensorflow__OpDef__ArgDef *a = args[i];
    fy_str_printf(out, "%s%s:%s", i ? ", " : "", a->name, a->is_ref ? "Ref(" : "");
    if (*a->number_attr) fy_str_printf(out, "%s*", a->number_attr);
    fy_str_add(out, a->type ? fy_dtype_name((fy_dtype)a->type) : a->type_attr);
    if (a->is_ref) fy_str_addc(out, ')');
  }
}

static void print_signature(fy_str *out, const Tensorflow__OpDef *sig) {
  fy_str_printf(out, "\n%s", sig->name);
  for (size_t i = 0; i < sig->n_attr; i++) {
    fy_str_printf(out, "%s%s:", i ? ", " : "[", sig->attr[i]->name);
    if (strcmp(sig->attr[i]->type, "type") == 0)
      print_message_value(out, sig->attr[i]->allowed_values);
    else
      fy_str_add(out, sig->attr[i]->type);
  }
  fy_str_add(out, sig->n_attr ? "](" : "(");
  print_args(out, sig->input_arg, sig->n_input_arg);
  fy_str_add(out, ") -> (");
  print_args(out, sig->output_arg, sig->n_output_arg);
  fy_str_add(out, ") {\n");
}

char *TF_FunctionDebugString(TF_Function *func, size_t *len) {
  const Tensorflow__FunctionDef *def = func->def;
  fy_str s;
  fy_str_init(&s);
  if (def->signature)
    print_signature(&s, def->signature);
  else
    fy_str_add(&s, "\n() -> () {\n");
  for (size_t i = 0; i < def->n_node_def; i++) print_node(&s, def->node_def[i]);
  for (size_t i = 0; i < def->n_control_ret; i++)
    fy_str_printf(&s, "  @return %s = %s\n", def->control_ret[i]->key, def->control_ret[i]->value);
  for (size_t i = 0; i < def->n_ret; i++)
    fy_str_printf(&s, "  return %s = %s\n", def->ret[i]->key, def->ret[i]->value);
  fy_str_add(&s, "}\n");
  char *text = take(&s, len);
  fy_str_free(&s);
  return text;
}
