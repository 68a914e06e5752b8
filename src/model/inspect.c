// SPDX-License-Identifier: Apache-2.0
// inspect.c: count what is in a model: nodes, ops, weights, what is missing and who needs it.

#include "model/inspect.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

#include "base/alloc.h"
#include "model/inspect_impl.h"
#include "wire/attr_proto.h"
#include "wire/bundle.h"

// ------------------------------------------------------------------ who needs what
static fy_code add_root(report *r, fy_walk *w, const char *name, const fy_signature *s,
                        fy_error *err) {
  int bit = r->num_roots < FY_WALK_MAX_ROOTS ? r->num_roots++ : FY_WALK_MAX_ROOTS - 1;
  r->roots[bit] = name;
  for (uint32_t i = 0; s && i < s->num_outputs; i++)
    FY_TRY(fy_walk_from(w, s->outputs[i].tensor, bit, err));
  return FY_OK;
}

static fy_code walk_roots(report *r, fy_walk *w, fy_error *err) {
  const fy_saved_model *m = &r->file->saved;
  for (size_t i = 0; i < r->num_signatures; i++)
    FY_TRY(add_root(r, w, r->signatures[i].key, &r->signatures[i], err));
  if (m->meta) {
    char *const *init = NULL;
    size_t num_init;
    FY_TRY(fy_saved_model_init_nodes(m, &init, &num_init, err));
    FY_TRY(add_root(r, w, "(loading)", NULL, err));
    if (m->meta->saver_def && r->file->checkpoint)
      FY_TRY(fy_walk_from(w, m->meta->saver_def->restore_op_name, r->num_roots - 1, err));
    for (size_t i = 0; i < num_init; i++) FY_TRY(fy_walk_from(w, init[i], r->num_roots - 1, err));
  }
  if (r->num_signatures) return FY_OK;
  FY_TRY(add_root(r, w, "(the graph)", NULL, err));  // no signature: all of it
  for (size_t i = 0; i < w->bodies[0].n; i++)
    FY_TRY(fy_walk_from(w, w->bodies[0].nodes[i].def->name, r->num_roots - 1, err));
  return FY_OK;
}

// ------------------------------------------------------------------ ops
static int by_count(const void *a, const void *b) {
  const op_count *x = a, *y = b;
  if (x->count != y->count) return x->count < y->count ? 1 : -1;
  return strcmp(x->name, y->name);
}

static fy_code count_ops(report *r, const fy_walk *w, fy_error *err) {
  fy_map index;
  size_t total = 0;
  for (size_t b = 0; b < w->num_bodies; b++) total += w->bodies[b].n;
  r->nodes = w->bodies[0].n;
  r->functions = w->num_bodies - 1;
  r->function_nodes = total - r->nodes;
  r->ops = fy_arena_array(&r->arena, total + 1, sizeof *r->ops);
  if (!r->ops) return fy_fail_oom(err, total * sizeof *r->ops);
  fy_map_init(&index);
  bool ok = true;
  for (size_t b = 0; ok && b < w->num_bodies; b++)
    for (size_t i = 0; ok && i < w->bodies[b].n; i++) {
      const fy_walk_node *n = &w->bodies[b].nodes[i];
      const char *name = n->def->op ? n->def->op : "";
      op_count *c = fy_map_gets(&index, name);
      if (!c) {
        const fy_op *op = fy_op_find(name, strlen(name));
        bool function = fy_map_gets(&w->functions, name) != NULL;
        c = &r->ops[r->num_ops++];
        *c = (op_count){.name = name,
                        .known = op || function,
                        .has_kernel = function || (op && (op->impl || op->user_kernels))};
        ok = fy_map_puts(&index, name, c);
      }
      c->count++;
      c->needed += n->roots != 0;
      c->roots |= n->roots;
      r->needed_nodes += n->roots != 0;
    }
  fy_map_free(&index);
  qsort(r->ops, r->num_ops, sizeof *r->ops, by_count);
  return ok ? FY_OK : fy_fail_oom(err, 64);
}

// ------------------------------------------------------------------ devices
static bool has_placeholder(const Tensorflow__NodeDef *n) {
  for (size_t i = 0; i < n->n_attr; i++)
    if (n->attr[i]->value &&
        n->attr[i]->value->value_case == TENSORFLOW__ATTR_VALUE__VALUE_PLACEHOLDER)
      return true;
  return false;
}

// Types and the like; constants are not copied for this.
static bool could_run(fy_device *d, const Tensorflow__NodeDef *def, const fy_op *op) {
  fy_arena a;
  fy_attrs attrs = {0};
  fy_error why;
  if (!op->impl && !op->user_kernels) return false;
  if (op->impl && !op->impl->compute) return true;  // done by the runner itself
  if (strcmp(def->op, "Const") == 0 || has_placeholder(def)) return true;
  fy_arena_init(&a);
  fy_error_init(&why);
  bool yes = fy_wire_attrs_read(def->n_attr, def->attr, &a, NULL, &attrs, &why) == FY_OK &&
             fy_spec_add_defaults(op->spec, &attrs, &a, &why) == FY_OK &&
             (!d->ops->supports || d->ops->supports(d, op, &attrs, &why));
  fy_error_clear(&why);
  fy_arena_free(&a);
  return yes;
}

static void note_lack(device_share *s, const char *op) {
  size_t n = strlen(op);
  for (const char *p = fy_str_text(&s->lacks); *p; p += strcspn(p, " "), p += *p == ' ')
    if (strncmp(p, op, n) == 0 && (p[n] == ' ' || !p[n])) return;
  fy_str_printf(&s->lacks, "%s%s", s->lacks.len ? " " : "", op);
}

static void ask_devices(report *r, const fy_walk *w, const fy_device_set *devices) {
  for (int k = 0; k < devices->n && r->num_devices < 16; k++) {
    device_share *s = &r->devices[r->num_devices++];
    fy_device *d = devices->items[k];
    snprintf(s->name, sizeof s->name, "%s:%d", d->type, d->index);
    fy_str_init(&s->lacks);
    for (size_t b = 0; b < w->num_bodies; b++)
      for (size_t i = 0; i < w->bodies[b].n; i++) {
        const fy_walk_node *n = &w->bodies[b].nodes[i];
        if (!n->roots || !n->def->op) continue;
        const fy_op *op = fy_op_find(n->def->op, strlen(n->def->op));
        bool yes = op ? could_run(d, n->def, op) : fy_map_gets(&w->functions, n->def->op) != NULL;
        s->nodes += yes;
        if (!yes) note_lack(s, n->def->op);
      }
  }
}

// ------------------------------------------------------------------ weights
static int by_bytes(const void *a, const void *b) {
  const weight *x = a, *y = b;
  if (x->bytes != y->bytes) return x->bytes < y->bytes ? 1 : -1;
  return strcmp(x->name, y->name);
}

static fy_code read_weights(report *r, fy_error *err) {
  fy_wire_bundle *b;
  if (!r->file->checkpoint) return FY_OK;
  FY_TRY(fy_wire_bundle_open(r->file->checkpoint, &b, err));
  size_t n = fy_wire_bundle_count(b);
  fy_code code = FY_OK;
  r->weights = fy_arena_array(&r->arena, n + 1, sizeof *r->weights);
  if (!r->weights) code = fy_fail_oom(err, n * sizeof *r->weights);
  for (size_t i = 0; !code && i < n; i++) {
    fy_view name = fy_wire_bundle_name(b, i);
    weight *w = &r->weights[r->num_weights];
    fy_pshape shape;
    int64_t count = 0;
    w->name = fy_arena_strndup(&r->arena, name.p, name.n);
    if (!w->name) {
      code = fy_fail_oom(err, name.n);
      break;
    }
    if (strcmp(w->name, "_CHECKPOINTABLE_OBJECT_GRAPH") == 0) continue;
    code = fy_wire_bundle_info(b, w->name, &w->dtype, &shape, err);
    if (code) break;
    w->shape.rank = shape.rank;
    w->shape.dims = shape.rank > 0 ? fy_arena_memdup(&r->arena, shape.dims,
                                                     (size_t)shape.rank * sizeof(int64_t))
                                   : NULL;
    if (shape.rank > 0 && !w->shape.dims) code = fy_fail_oom(err, 64);
    if (!code && shape.rank >= 0 && fy_shape_count(shape.rank, shape.dims, &count))
      w->bytes = (uint64_t)count * fy_dtype_size(w->dtype);
    r->weight_bytes += w->bytes;
    r->weight_values += (uint64_t)count;
    r->num_weights++;
  }
  fy_wire_bundle_close(b);
  if (!code) qsort(r->weights, r->num_weights, sizeof *r->weights, by_bytes);
  return code;
}

static void count_constants(report *r, const fy_walk *w) {
  for (size_t b = 0; b < w->num_bodies; b++)
    for (size_t i = 0; i < w->bodies[b].n; i++) {
      const Tensorflow__NodeDef *n = w->bodies[b].nodes[i].def;
      if (!n->op || strcmp(n->op, "Const") != 0) continue;
      r->constants++;
      for (size_t k = 0; k < n->n_attr; k++) {
        const Tensorflow__AttrValue *v = n->attr[k]->value;
        if (strcmp(n->attr[k]->key, "value") != 0 || !v ||
            v->value_case != TENSORFLOW__ATTR_VALUE__VALUE_TENSOR || !v->tensor)
          continue;
        const Tensorflow__TensorShapeProto *shape = v->tensor->tensor_shape;
        uint64_t count = 1;
        for (size_t d = 0; shape && d < shape->n_dim; d++)
          if (shape->dim[d]->size < 0 ||
              __builtin_mul_overflow(count, (uint64_t)shape->dim[d]->size, &count))
            count = 0;
        if (fy_dtype_valid((int)v->tensor->dtype) &&
            !__builtin_mul_overflow(count, fy_dtype_size((fy_dtype)v->tensor->dtype), &count))
          r->constant_bytes += count;
      }
    }
}

// ------------------------------------------------------------------ all of it
static fy_code look(report *r, const fy_device_set *devices, fy_error *err) {
  const fy_model_file *f = r->file;
  struct stat s;
  fy_walk w;
  if (stat(f->saved.file ? f->saved.file : f->path, &s) == 0) r->file_bytes = (uint64_t)s.st_size;
  if (f->saved.meta) {
    FY_TRY(fy_saved_model_signatures(f->saved.meta, &r->arena, &r->signatures, &r->num_signatures,
                                     err));
    FY_TRY(fy_saved_model_assets(&f->saved, &r->arena, &r->assets, &r->num_assets, err));
  }
  FY_TRY(read_weights(r, err));
  if (!f->graph) return FY_OK;
  fy_code code = fy_walk_open(f->graph, &w, err);
  if (!code) code = walk_roots(r, &w, err);
  if (!code) code = count_ops(r, &w, err);
  if (!code) ask_devices(r, &w, devices);
  if (!code) count_constants(r, &w);
  fy_walk_close(&w);
  return code;
}

fy_code fy_model_inspect(const fy_model_file *f, const fy_device_set *devices, bool json,
                         fy_str *out, fy_error *err) {
  report *r = fy_calloc(1, sizeof *r);
  if (!r) return fy_fail_oom(err, sizeof *r);
  r->file = f;
  fy_arena_init(&r->arena);
  fy_code code = look(r, devices, err);
  if (!code && json)
    fy_inspect_json(r, out);
  else if (!code)
    fy_inspect_text(r, out);
  for (int i = 0; i < r->num_devices; i++) fy_str_free(&r->devices[i].lacks);
  fy_arena_free(&r->arena);
  fy_free(r);
  return code;
}
