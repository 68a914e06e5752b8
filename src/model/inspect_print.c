// SPDX-License-Identifier: Apache-2.0
// inspect_print.c: what inspect.c found, for people and for programs.

#include <stdio.h>
#include <string.h>

#include "model/inspect_impl.h"

enum { TEXT_WEIGHTS = 10, TEXT_OPS = 30 };

static const Tensorflow__MetaGraphDef__MetaInfoDef *info_of(const report *r) {
  return r->file->saved.meta ? r->file->saved.meta->meta_info_def : NULL;
}

static const char *tensorflow_version(const report *r) {
  const Tensorflow__MetaGraphDef__MetaInfoDef *i = info_of(r);
  return i && i->tensorflow_version ? i->tensorflow_version : "";
}

static int producer(const report *r) {
  const Tensorflow__GraphDef *g = r->file->graph;
  return g && g->versions ? g->versions->producer : g ? g->version : 0;
}

static const char *base_name(const char *path) {
  const char *slash = strrchr(path, '/');
  return slash ? slash + 1 : path;
}

static void put_tags(fy_str *out, const Tensorflow__MetaGraphDef *meta, bool json) {
  const Tensorflow__MetaGraphDef__MetaInfoDef *i = meta->meta_info_def;
  for (size_t k = 0; i && k < i->n_tags; k++) {
    fy_str_add(out, k ? ", " : "");
    if (json)
      fy_str_json(out, i->tags[k], strlen(i->tags[k]));
    else
      fy_str_add(out, i->tags[k]);
  }
}

static void put_type(fy_str *out, fy_dtype dtype, fy_pshape shape) {
  fy_str_add(out, fy_dtype_valid((int)dtype) ? fy_dtype_name(dtype) : "invalid");
  if (shape.rank >= 0)
    fy_shape_print(out, shape.rank, shape.dims);
  else
    fy_str_add(out, " of any shape");
}

// ------------------------------------------------------------------ text
static void text_head(const report *r, fy_str *out) {
  const fy_model_file *f = r->file;
  char size[32];
  fy_human_bytes((double)r->file_bytes, size);
  fy_str_printf(out, "%s: %s%s", f->path, fy_model_kind_name(f->kind), f->text ? " as text" : "");
  if (f->graph) fy_str_printf(out, ", %s", size);
  if (*tensorflow_version(r))
    fy_str_printf(out, ", written by TensorFlow %s", tensorflow_version(r));
  if (f->graph) fy_str_printf(out, ", producer version %d", producer(r));
  fy_str_addc(out, '\n');
  if (f->kind != FY_MODEL_SAVED_MODEL) return;
  fy_str_add(out, "Tags: ");
  put_tags(out, f->saved.meta, false);
  for (size_t i = 0; f->saved.proto->n_meta_graphs > 1 && i < f->saved.proto->n_meta_graphs; i++) {
    if (f->saved.proto->meta_graphs[i] == f->saved.meta) continue;
    fy_str_add(out, "; also there: ");
    put_tags(out, f->saved.proto->meta_graphs[i], false);
  }
  fy_str_addc(out, '\n');
}

static void text_values(fy_str *out, const char *side, const fy_signature_value *v, uint32_t n) {
  for (uint32_t i = 0; i < n; i++) {
    fy_str type;
    fy_str_init(&type);
    put_type(&type, v[i].dtype, v[i].shape);
    fy_str_printf(out, "    %-3s  %-20s %-24s %s\n", side, v[i].key, fy_str_text(&type),
                  v[i].tensor ? v[i].tensor : "(a sparse or composite tensor)");
    fy_str_free(&type);
  }
}

static void text_signatures(const report *r, fy_str *out) {
  if (!r->file->graph) return;
  fy_str_add(out, "\nSignatures\n");
  if (!r->num_signatures)
    fy_str_add(out, "  none: placeholders are its inputs, what nobody reads its outputs\n");
  for (size_t i = 0; i < r->num_signatures; i++) {
    const fy_signature *s = &r->signatures[i];
    fy_str_printf(out, "  %s%s%s%s\n", s->key, *s->method ? " (" : "", s->method,
                  *s->method ? ")" : "");
    text_values(out, "in", s->inputs, s->num_inputs);
    text_values(out, "out", s->outputs, s->num_outputs);
  }
}

static void put_needers(fy_str *out, const report *r, uint64_t roots, bool json) {
  bool first = true;
  for (int i = 0; i < r->num_roots; i++) {
    if (!(roots >> i & 1)) continue;
    if (!first) fy_str_add(out, ", ");
    first = false;
    if (json)
      fy_str_json(out, r->roots[i], strlen(r->roots[i]));
    else
      fy_str_add(out, r->roots[i]);
  }
}

static void text_ops(const report *r, fy_str *out) {
  size_t missing = 0;
  fy_str_printf(out, "\nGraph: %zu nodes", r->nodes);
  if (r->functions)
    fy_str_printf(out, ", %zu functions with %zu nodes", r->functions, r->function_nodes);
  fy_str_printf(out, "; %zu are needed\n", r->needed_nodes);
  fy_str_printf(out, "\nOperations: %zu kinds\n", r->num_ops);
  for (size_t i = 0; i < r->num_ops && i < TEXT_OPS; i++)
    fy_str_printf(out, "  %6zu  %s\n", r->ops[i].count, r->ops[i].name);
  if (r->num_ops > TEXT_OPS)
    fy_str_printf(out, "  and %zu more kinds (--json lists all)\n", r->num_ops - TEXT_OPS);
  for (size_t i = 0; i < r->num_ops; i++) missing += !r->ops[i].has_kernel;
  fy_str_add(out, missing ? "\nWithout a kernel here\n" : "\nEvery operation has a kernel here.\n");
  for (size_t i = 0; i < r->num_ops; i++) {
    const op_count *c = &r->ops[i];
    if (c->has_kernel) continue;
    fy_str_printf(out, "  %6zu  %s%s: ", c->count, c->name, c->known ? "" : " (unknown operation)");
    if (c->roots) {
      fy_str_add(out, "needed by ");
      put_needers(out, r, c->roots, false);
    } else {
      fy_str_add(out, "not needed by anything that is called");
    }
    fy_str_addc(out, '\n');
  }
}

static void text_weights(const report *r, fy_str *out) {
  char size[32];
  bool all = !r->file->graph;  // a checkpoint: its tensors are what was asked for
  fy_human_bytes((double)r->weight_bytes, size);
  if (r->file->checkpoint)
    fy_str_printf(out, "\nWeights: %zu tensors, %llu values, %s\n", r->num_weights,
                  (unsigned long long)r->weight_values, size);
  else
    fy_str_add(out, "\nWeights: no checkpoint beside the graph\n");
  for (size_t i = 0; i < r->num_weights && (all || i < TEXT_WEIGHTS); i++) {
    fy_str type;
    fy_str_init(&type);
    put_type(&type, r->weights[i].dtype, r->weights[i].shape);
    fy_human_bytes((double)r->weights[i].bytes, size);
    fy_str_printf(out, "  %10s  %-20s %s\n", size, fy_str_text(&type), r->weights[i].name);
    fy_str_free(&type);
  }
  if (!all && r->num_weights > TEXT_WEIGHTS)
    fy_str_printf(out, "  and %zu smaller ones (--json lists all)\n",
                  r->num_weights - TEXT_WEIGHTS);
  fy_human_bytes((double)r->constant_bytes, size);
  if (r->constants) fy_str_printf(out, "Constants: %zu, %s\n", r->constants, size);
}

void fy_inspect_text(const report *r, fy_str *out) {
  text_head(r, out);
  text_signatures(r, out);
  if (r->file->graph) text_ops(r, out);
  text_weights(r, out);
  if (r->num_assets) fy_str_add(out, "\nAssets\n");
  for (size_t i = 0; i < r->num_assets; i++)
    fy_str_printf(out, "  %s -> %s\n", base_name(r->assets[i].path), r->assets[i].tensor);
  if (r->num_devices) fy_str_add(out, "\nDevices\n");
  for (int i = 0; i < r->num_devices; i++) {
    const device_share *d = &r->devices[i];
    fy_str_printf(out, "  %s could run %zu of %zu needed nodes%s%s\n", d->name, d->nodes,
                  r->needed_nodes, d->lacks.len ? "; not: " : "", fy_str_text(&d->lacks));
    out->failed |= d->lacks.failed;
  }
}

// ------------------------------------------------------------------ JSON
static void key_text(fy_str *out, const char *key, const char *value) {
  fy_str_printf(out, "\"%s\": ", key);
  if (value)
    fy_str_json(out, value, strlen(value));
  else
    fy_str_add(out, "null");
}

static void json_shape(fy_str *out, fy_pshape shape) {
  if (shape.rank < 0) {
    fy_str_add(out, "null");
    return;
  }
  fy_str_addc(out, '[');
  for (int32_t i = 0; i < shape.rank; i++)
    fy_str_printf(out, "%s%lld", i ? ", " : "", (long long)shape.dims[i]);
  fy_str_addc(out, ']');
}

static void json_values(fy_str *out, const char *key, const fy_signature_value *v, uint32_t n) {
  fy_str_printf(out, "\"%s\": [", key);
  for (uint32_t i = 0; i < n; i++) {
    fy_str_add(out, i ? ", {" : "{");
    key_text(out, "name", v[i].key);
    fy_str_add(out, ", ");
    key_text(out, "tensor", v[i].tensor);
    fy_str_add(out, ", ");
    key_text(out, "dtype", fy_dtype_valid((int)v[i].dtype) ? fy_dtype_name(v[i].dtype) : "invalid");
    fy_str_add(out, ", \"shape\": ");
    json_shape(out, v[i].shape);
    fy_str_addc(out, '}');
  }
  fy_str_addc(out, ']');
}

static void json_ops(const report *r, fy_str *out, bool missing) {
  bool first = true;
  for (size_t i = 0; i < r->num_ops; i++) {
    const op_count *c = &r->ops[i];
    if (missing && c->has_kernel) continue;
    fy_str_add(out, first ? "\n    {" : ",\n    {");
    first = false;
    key_text(out, "op", c->name);
    fy_str_printf(out, ", \"count\": %zu, \"needed\": %zu", c->count, c->needed);
    if (missing) {
      fy_str_printf(out, ", \"known\": %s, \"needed_by\": [", c->known ? "true" : "false");
      put_needers(out, r, c->roots, true);
      fy_str_addc(out, ']');
    }
    fy_str_addc(out, '}');
  }
}

static void json_weights(const report *r, fy_str *out) {
  for (size_t i = 0; i < r->num_weights; i++) {
    const weight *w = &r->weights[i];
    fy_str_add(out, i ? ",\n    {" : "\n    {");
    key_text(out, "name", w->name);
    fy_str_add(out, ", ");
    key_text(out, "dtype", fy_dtype_name(w->dtype));
    fy_str_add(out, ", \"shape\": ");
    json_shape(out, w->shape);
    fy_str_printf(out, ", \"bytes\": %llu}", (unsigned long long)w->bytes);
  }
}

void fy_inspect_json(const report *r, fy_str *out) {
  const fy_model_file *f = r->file;
  fy_str_add(out, "{\n  ");
  key_text(out, "path", f->path);
  fy_str_add(out, ",\n  ");
  key_text(out, "format", fy_model_kind_name(f->kind));
  fy_str_printf(out, ",\n  \"text\": %s,\n  ", f->text ? "true" : "false");
  key_text(out, "tensorflow_version", *tensorflow_version(r) ? tensorflow_version(r) : NULL);
  fy_str_printf(out, ",\n  \"producer\": %d,\n  \"file_bytes\": %llu,\n  \"tags\": [", producer(r),
                (unsigned long long)r->file_bytes);
  if (f->saved.meta) put_tags(out, f->saved.meta, true);
  fy_str_add(out, "],\n  \"signatures\": [");
  for (size_t i = 0; i < r->num_signatures; i++) {
    const fy_signature *s = &r->signatures[i];
    fy_str_add(out, i ? ",\n    {" : "\n    {");
    key_text(out, "name", s->key);
    fy_str_add(out, ", ");
    key_text(out, "method", s->method);
    fy_str_add(out, ",\n     ");
    json_values(out, "inputs", s->inputs, s->num_inputs);
    fy_str_add(out, ",\n     ");
    json_values(out, "outputs", s->outputs, s->num_outputs);
    fy_str_addc(out, '}');
  }
  fy_str_printf(out,
                "],\n  \"nodes\": %zu,\n  \"functions\": %zu,\n  \"function_nodes\": %zu,\n  "
                "\"needed_nodes\": %zu,\n  \"ops\": [",
                r->nodes, r->functions, r->function_nodes, r->needed_nodes);
  json_ops(r, out, false);
  fy_str_add(out, "],\n  \"missing\": [");
  json_ops(r, out, true);
  fy_str_printf(out, "],\n  \"weight_bytes\": %llu,\n  \"weight_values\": %llu,\n  \"weights\": [",
                (unsigned long long)r->weight_bytes, (unsigned long long)r->weight_values);
  json_weights(r, out);
  fy_str_printf(out, "],\n  \"constants\": %zu,\n  \"constant_bytes\": %llu,\n  \"assets\": [",
                r->constants, (unsigned long long)r->constant_bytes);
  for (size_t i = 0; i < r->num_assets; i++) {
    fy_str_add(out, i ? ", {" : "{");
    key_text(out, "file", r->assets[i].path);
    fy_str_add(out, ", ");
    key_text(out, "tensor", r->assets[i].tensor);
    fy_str_addc(out, '}');
  }
  fy_str_add(out, "],\n  \"devices\": [");
  for (int i = 0; i < r->num_devices; i++) {
    fy_str_add(out, i ? ", {" : "{");
    key_text(out, "device", r->devices[i].name);
    fy_str_printf(out, ", \"nodes\": %zu, \"lacks\": [", r->devices[i].nodes);
    const char *p = fy_str_text(&r->devices[i].lacks);
    for (bool first = true; *p; first = false) {
      size_t n = strcspn(p, " ");
      fy_str_add(out, first ? "" : ", ");
      fy_str_json(out, p, n);
      p += n + (p[n] == ' ');
    }
    fy_str_add(out, "]}");
  }
  fy_str_add(out, "]\n}\n");
}
