// SPDX-License-Identifier: Apache-2.0
// api_def.c: TF_ApiDefMap: for every op of a list, how a language binding should show it. The base
// is made from the OpDefs; Put merges overrides on top.
// Not here: replacing argument names inside of descriptions, as TensorFlow does for its docs.

#include <string.h>

#include "api/api.h"
#include "api_def.pb-c.h"
#include "base/alloc.h"
#include "op_def.pb-c.h"
#include "wire/proto_util.h"
#include "wire/text_format.h"

typedef Tensorflow__ApiDef api_def;

struct TF_ApiDefMap {
  fy_mutex lock;
  fy_arena arena;
  fy_map by_name;  // -> api_def*
  bool read;       // after a Get nothing may be put
};

// ---------------------------------------------------------------- the base
static fy_code base_args(fy_arena *a, Tensorflow__OpDef__ArgDef *const *from, size_t n,
                         Tensorflow__ApiDef__Arg ***out, size_t *out_n, fy_error *err) {
  *out = fy_arena_array(a, n, sizeof **out);
  if (!*out) return fy_fail_oom(err, n);
  for (size_t i = 0; i < n; i++) {
    Tensorflow__ApiDef__Arg *arg = fy_wire_new(&tensorflow__api_def__arg__descriptor, a);
    if (!arg) return fy_fail_oom(err, sizeof *arg);
    arg->name = arg->rename_to = from[i]->name;
    arg->description = from[i]->description;
    (*out)[(*out_n)++] = arg;
  }
  return FY_OK;
}

static fy_code base_def(fy_arena *a, const Tensorflow__OpDef *op, api_def **out, fy_error *err) {
  api_def *d = fy_wire_new(&tensorflow__api_def__descriptor, a);
  Tensorflow__ApiDef__Endpoint *e = fy_wire_new(&tensorflow__api_def__endpoint__descriptor, a);
  if (!d || !e) return fy_fail_oom(err, sizeof *d);
  d->graph_op_name = e->name = op->name;
  d->visibility = TENSORFLOW__API_DEF__VISIBILITY__VISIBLE;
  d->endpoint = fy_arena_memdup(a, &e, sizeof e);
  d->arg_order = fy_arena_array(a, op->n_input_arg, sizeof *d->arg_order);
  d->attr = fy_arena_array(a, op->n_attr, sizeof *d->attr);
  if (!d->endpoint || !d->arg_order || !d->attr) return fy_fail_oom(err, sizeof *d);
  d->n_endpoint = 1;
  FY_TRY(base_args(a, op->input_arg, op->n_input_arg, &d->in_arg, &d->n_in_arg, err));
  FY_TRY(base_args(a, op->output_arg, op->n_output_arg, &d->out_arg, &d->n_out_arg, err));
  for (size_t i = 0; i < op->n_input_arg; i++)
    d->arg_order[d->n_arg_order++] = op->input_arg[i]->name;
  for (size_t i = 0; i < op->n_attr; i++) {
    Tensorflow__ApiDef__Attr *attr = fy_wire_new(&tensorflow__api_def__attr__descriptor, a);
    if (!attr) return fy_fail_oom(err, sizeof *attr);
    attr->name = attr->rename_to = op->attr[i]->name;
    attr->description = op->attr[i]->description;
    attr->default_value = op->attr[i]->default_value;
    d->attr[d->n_attr++] = attr;
  }
  d->summary = op->summary;
  d->description = op->description;
  *out = d;
  return FY_OK;
}

static fy_code fill(TF_ApiDefMap *m, const TF_Buffer *bytes, fy_error *err) {
  ProtobufCMessage *message;
  fy_code code = fy_wire_unpack(&tensorflow__op_list__descriptor, bytes->data, bytes->length, NULL,
                                &m->arena, &message, err);
  if (code == FY_INVALID_ARGUMENT) return fy_fail(err, code, "Unparseable OpList");
  if (code) return code;
  const Tensorflow__OpList *list = (Tensorflow__OpList *)message;
  for (size_t i = 0; i < list->n_op; i++) {
    api_def *d = NULL;
    FY_TRY(base_def(&m->arena, list->op[i], &d, err));
    if (!fy_map_puts(&m->by_name, d->graph_op_name, d)) return fy_fail_oom(err, sizeof *d);
  }
  return FY_OK;
}

TF_ApiDefMap *TF_NewApiDefMap(TF_Buffer *op_list_buffer, TF_Status *status) {
  fy_error *err = fy_api_begin(status);
  TF_ApiDefMap *m = fy_calloc(1, sizeof *m);
  if (m) fy_mutex_init(&m->lock);
  fy_code code = m ? fill(m, op_list_buffer, err) : fy_fail_oom(err, sizeof *m);
  fy_api_end(status, code);
  if (!code) return m;
  TF_DeleteApiDefMap(m);
  return NULL;
}

void TF_DeleteApiDefMap(TF_ApiDefMap *apimap) {
  if (!apimap) return;
  fy_map_free(&apimap->by_name);
  fy_arena_free(&apimap->arena);
  fy_mutex_destroy(&apimap->lock);
  fy_free(apimap);
}

// ---------------------------------------------------------------- merging
static void override(char **to, char *from) {
  if (*from) *to = from;
}

static fy_code merge_args(const api_def *base, Tensorflow__ApiDef__Arg **to, size_t n,
                          Tensorflow__ApiDef__Arg *const *from, size_t count, fy_error *err) {
  for (size_t i = 0; i < count; i++) {
    size_t k = 0;
    while (k < n && strcmp(to[k]->name, from[i]->name) != 0) k++;
    if (k == n)
      return fy_fail(err, FY_FAILED_PRECONDITION, "Argument %s not defined in base api for %s",
                     from[i]->name, base->graph_op_name);
    override(&to[k]->rename_to, from[i]->rename_to);
    override(&to[k]->description, from[i]->description);
  }
  return FY_OK;
}

static fy_code merge_attrs(api_def *base, const api_def *from, fy_error *err) {
  for (size_t i = 0; i < from->n_attr; i++) {
    size_t k = 0;
    while (k < base->n_attr && strcmp(base->attr[k]->name, from->attr[i]->name) != 0) k++;
    if (k == base->n_attr)
      return fy_fail(err, FY_FAILED_PRECONDITION, "Attribute %s not defined in base api for %s",
                     from->attr[i]->name, base->graph_op_name);
    override(&base->attr[k]->rename_to, from->attr[i]->rename_to);
    override(&base->attr[k]->description, from->attr[i]->description);
    if (from->attr[i]->default_value) base->attr[k]->default_value = from->attr[i]->default_value;
  }
  return FY_OK;
}

static fy_code merge_order(api_def *base, const api_def *from, fy_error *err) {
  if (from->n_arg_order == 0) return FY_OK;
  if (from->n_arg_order != base->n_arg_order)
    return fy_fail(err, FY_FAILED_PRECONDITION,
                   "Invalid number of arguments %zu for %s. Expected: %zu", from->n_arg_order,
                   base->graph_op_name, base->n_arg_order);
  for (size_t i = 0; i < base->n_arg_order; i++) {
    size_t k = 0;
    while (k < from->n_arg_order && strcmp(base->arg_order[i], from->arg_order[k]) != 0) k++;
    if (k == from->n_arg_order)
      return fy_fail(err, FY_FAILED_PRECONDITION,
                     "Invalid arg_order for %s. All elements in arg_order override must match base "
                     "arg_order: '%s' is missing",
                     base->graph_op_name, base->arg_order[i]);
  }
  base->arg_order = from->arg_order;
  return FY_OK;
}

static fy_code merge(fy_arena *a, api_def *base, const api_def *from, fy_error *err) {
  if (from->visibility) base->visibility = from->visibility;
  if (from->n_endpoint) {
    base->endpoint = from->endpoint;
    base->n_endpoint = from->n_endpoint;
  }
  override(&base->deprecation_message, from->deprecation_message);
  if (from->deprecation_version) base->deprecation_version = from->deprecation_version;
  FY_TRY(merge_args(base, base->in_arg, base->n_in_arg, from->in_arg, from->n_in_arg, err));
  FY_TRY(merge_args(base, base->out_arg, base->n_out_arg, from->out_arg, from->n_out_arg, err));
  FY_TRY(merge_order(base, from, err));
  FY_TRY(merge_attrs(base, from, err));
  override(&base->summary, from->summary);
  override(&base->description, from->description);
  if (*from->description_prefix)
    base->description = fy_arena_printf(a, "%s\n%s", from->description_prefix, base->description);
  if (base->description && *from->description_suffix)
    base->description = fy_arena_printf(a, "%s\n%s", base->description, from->description_suffix);
  return base->description ? FY_OK : fy_fail_oom(err, 1);
}

// ApiDef files may write long text as `description: <<END` … `END`: made an ordinary string here.
static void quote_blocks(fy_str *out, const char *text, size_t n) {
  const char *at = text, *end = text + n;
  while (at < end) {
    const char *line_end = memchr(at, '\n', (size_t)(end - at));
    if (!line_end) line_end = end;
    const char *mark = NULL;
    for (const char *p = at; p + 1 < line_end && !mark; p++)
      if (p[0] == '<' && p[1] == '<') mark = p;
    bool colon =
        mark && memchr(at, ':', (size_t)(mark - at)) && !memchr(at, '"', (size_t)(mark - at));
    if (!colon) {
      fy_str_addn(out, at, (size_t)(line_end - at));
      fy_str_addc(out, '\n');
      at = line_end + 1;
      continue;
    }
    fy_view tag = {mark + 2, (size_t)(line_end - mark - 2)};
    while (tag.n && (tag.p[tag.n - 1] == ' ' || tag.p[tag.n - 1] == '\r')) tag.n--;
    const char *body = line_end < end ? line_end + 1 : end, *stop = body;
    while (stop < end && !((size_t)(end - stop) >= tag.n && memcmp(stop, tag.p, tag.n) == 0)) {
      const char *next = memchr(stop, '\n', (size_t)(end - stop));
      stop = next ? next + 1 : end;
    }
    fy_str_addn(out, at, (size_t)(mark - at));
    fy_str_json(out, body, (size_t)(stop > body ? stop - body - 1 : 0));
    fy_str_addc(out, '\n');
    at = (size_t)(end - stop) > tag.n ? stop + tag.n : end;
  }
}

static fy_code put(TF_ApiDefMap *m, const char *text, size_t n, fy_error *err) {
  if (m->read)
    return fy_fail(err, FY_FAILED_PRECONDITION,
                   "TF_ApiDefMapPut cannot be called after TF_ApiDefMapGet has been called.");
  fy_str plain;
  ProtobufCMessage *message;
  fy_str_init(&plain);
  quote_blocks(&plain, text, n);
  fy_code code = plain.failed
                     ? fy_fail_oom(err, n)
                     : fy_wire_text_parse(&tensorflow__api_defs__descriptor, fy_str_text(&plain),
                                          plain.len, &m->arena, &message, err);
  fy_str_free(&plain);
  if (code) return code;
  const Tensorflow__ApiDefs *defs = (Tensorflow__ApiDefs *)message;
  for (size_t i = 0; i < defs->n_op; i++) {
    api_def *base = fy_map_gets(&m->by_name, defs->op[i]->graph_op_name);
    if (base) FY_TRY(merge(&m->arena, base, defs->op[i], err));
  }
  return FY_OK;
}

void TF_ApiDefMapPut(TF_ApiDefMap *api_def_map, const char *text, size_t text_len,
                     TF_Status *status) {
  fy_error *err = fy_api_begin(status);
  fy_lock(&api_def_map->lock);
  fy_code code = put(api_def_map, text, text_len, err);
  fy_unlock(&api_def_map->lock);
  fy_api_end(status, code);
}

TF_Buffer *TF_ApiDefMapGet(TF_ApiDefMap *api_def_map, const char *name, size_t name_len,
                           TF_Status *status) {
  fy_error *err = fy_api_begin(status);
  fy_lock(&api_def_map->lock);
  api_def_map->read = true;
  const api_def *d = fy_map_get(&api_def_map->by_name, name, name_len);
  TF_Buffer *out = d ? fy_api_new_message_buffer(&d->base, err) : NULL;
  fy_unlock(&api_def_map->lock);
  fy_api_end(status, d && !out ? FY_RESOURCE_EXHAUSTED : FY_OK);
  return out;
}
