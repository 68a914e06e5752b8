// SPDX-License-Identifier: Apache-2.0
// saved_model_start.c: assets of a SavedModel and the runs that bring its state to life: restore, then
// initialise, each fed with the paths of the assets.

#include <string.h>
#include <unistd.h>

#include "base/alloc.h"
#include "graph/import.h"
#include "model/saved_model.h"
#include "wire/proto_util.h"

#define INIT_KEY "__saved_model_init_op"

static const Tensorflow__CollectionDef *collection(const Tensorflow__MetaGraphDef *meta,
                                                   const char *key) {
  for (size_t i = meta->n_collection_def; i-- > 0;)  // of equal keys the last counts
    if (strcmp(meta->collection_def[i]->key, key) == 0) return meta->collection_def[i]->value;
  return NULL;
}

// ------------------------------------------------------------------ assets
// A name that leads out of the directory is refused, whoever wrote it.
static bool stays_inside(const char *name) {
  if (!*name || name[0] == '/') return false;
  for (const char *p = name; *p;) {
    size_t n = strcspn(p, "/");
    if (n == 2 && p[0] == '.' && p[1] == '.') return false;
    p += n + (p[n] == '/');
  }
  return true;
}

static fy_code add_asset(const fy_saved_model *m, const Tensorflow__AssetFileDef *def, size_t index,
                         fy_arena *arena, fy_asset *out, fy_error *err) {
  const char *name = def->filename ? def->filename : "";
  if (!stays_inside(name))
    return fy_fail(err, FY_INVALID_ARGUMENT,
                   "%s: asset_file_def[%zu].filename \"%s\" leads out of the model's directory",
                   m->file, index, name);
  if (!def->tensor_info ||
      def->tensor_info->encoding_case != TENSORFLOW__TENSOR_INFO__ENCODING_NAME)
    return fy_fail(err, FY_INVALID_ARGUMENT, "%s: asset_file_def[%zu].tensor_info names no tensor",
                   m->file, index);
  out->tensor = def->tensor_info->name;
  out->path = fy_arena_printf(arena, "%s/assets/%s", m->dir, name);
  return out->path ? FY_OK : fy_fail_oom(err, strlen(name));
}

// TensorFlow 1 kept them in a collection of packed messages.
static fy_code old_assets(const fy_saved_model *m, fy_arena *arena, fy_asset **out, size_t *n,
                          fy_error *err) {
  const Tensorflow__CollectionDef *c = collection(m->meta, "saved_model_assets");
  if (!c || c->kind_case != TENSORFLOW__COLLECTION_DEF__KIND_ANY_LIST) return FY_OK;
  size_t count = c->any_list->n_value;
  *out = fy_arena_array(arena, count + 1, sizeof **out);
  if (!*out) return fy_fail_oom(err, count * sizeof **out);
  for (size_t i = 0; i < count; i++) {
    ProtobufCMessage *def;
    const ProtobufCBinaryData bytes = c->any_list->value[i]->value;
    fy_code code = fy_wire_unpack(&tensorflow__asset_file_def__descriptor, bytes.data, bytes.len,
                                  NULL, arena, &def, err);
    if (code) {
      fy_error_prepend(err, "%s: saved_model_assets[%zu]: ", m->file, i);
      return code;
    }
    FY_TRY(add_asset(m, (const Tensorflow__AssetFileDef *)def, i, arena, &(*out)[(*n)++], err));
  }
  return FY_OK;
}

fy_code fy_saved_model_assets(const fy_saved_model *m, fy_arena *arena, fy_asset **out, size_t *n,
                              fy_error *err) {
  const Tensorflow__MetaGraphDef *meta = m->meta;
  *n = 0;
  *out = NULL;
  if (!meta->n_asset_file_def) return old_assets(m, arena, out, n, err);
  *out = fy_arena_array(arena, meta->n_asset_file_def + 1, sizeof **out);
  if (!*out) return fy_fail_oom(err, meta->n_asset_file_def * sizeof **out);
  for (size_t i = 0; i < meta->n_asset_file_def; i++)
    FY_TRY(add_asset(m, meta->asset_file_def[i], i, arena, &(*out)[(*n)++], err));
  return FY_OK;
}

// ------------------------------------------------------------------ steps
static void release(void *tensor) {
  fy_tensor_release(tensor);
}

static fy_node *find_node(const fy_graph *g, const char *text, int32_t *index) {
  fy_view name = fy_graph_parse_input(text, index);
  return fy_map_get(&g->by_name, name.p, name.n);
}

static fy_code add_feed(fy_model_step *s, const fy_graph *g, fy_arena *arena, const char *tensor,
                        const char *value, fy_error *err) {
  int32_t index;
  fy_node *node = find_node(g, tensor, &index);
  fy_view v = fy_view_of(value);
  fy_tensor *t = NULL;
  if (!node || index < 0 || index >= (int32_t)node->num_outputs)
    return fy_fail(err, FY_NOT_FOUND, "FeedInputs: unable to find feed output %s", tensor);
  FY_TRY(fy_tensor_from_strings(0, NULL, &v, &t, err));
  if (fy_arena_defer(arena, release, t)) {
    fy_tensor_release(t);
    return fy_fail_oom(err, v.n);
  }
  for (int i = 0; i < s->num_feeds; i++)  // two assets may share a tensor: the last counts
    if (s->feeds[i].node == node && s->feeds[i].index == index) {
      s->values[i] = t;
      return FY_OK;
    }
  s->feeds[s->num_feeds] = (fy_output){node, index};
  s->values[s->num_feeds++] = t;
  return FY_OK;
}

static fy_code new_step(const fy_saved_model *m, const fy_graph *g, fy_arena *arena,
                        char *const *targets, size_t num_targets, const char *what,
                        fy_model_step *out, fy_error *err) {
  fy_asset *assets;
  size_t n;
  int32_t index;
  FY_TRY(fy_saved_model_assets(m, arena, &assets, &n, err));
  *out = (fy_model_step){.what = what};
  out->feeds = fy_arena_array(arena, n + 2, sizeof *out->feeds);
  out->values = fy_arena_array(arena, n + 2, sizeof *out->values);
  out->targets = fy_arena_array(arena, num_targets + 1, sizeof(fy_node *));
  if (!out->feeds || !out->values || !out->targets) return fy_fail_oom(err, n * sizeof *out->feeds);
  for (size_t i = 0; i < num_targets; i++) {
    out->targets[i] = find_node(g, targets[i], &index);
    if (!out->targets[i])
      return fy_fail(err, FY_NOT_FOUND, "PruneForTargets: Some target nodes not found: %s",
                     targets[i]);
  }
  out->num_targets = (int)num_targets;
  for (size_t i = 0; i < n; i++)
    FY_TRY(add_feed(out, g, arena, assets[i].tensor, assets[i].path, err));
  return FY_OK;
}

fy_code fy_saved_model_init_nodes(const fy_saved_model *m, char *const **out, size_t *n,
                                  fy_error *err) {
  const Tensorflow__MetaGraphDef *meta = m->meta;
  *n = 0;
  for (size_t i = meta->n_signature_def; i-- > 0;) {
    const Tensorflow__SignatureDef *d = meta->signature_def[i]->value;
    if (!d || strcmp(meta->signature_def[i]->key, INIT_KEY) != 0) continue;
    for (size_t k = 0; k < d->n_outputs; k++)
      if (strcmp(d->outputs[k]->key, INIT_KEY) == 0 && d->outputs[k]->value &&
          d->outputs[k]->value->encoding_case == TENSORFLOW__TENSOR_INFO__ENCODING_NAME) {
        *out = &d->outputs[k]->value->name;
        *n = 1;
      }
    if (!*n)
      return fy_fail(err, FY_FAILED_PRECONDITION,
                     "%s: signature_def[\"" INIT_KEY "\"] names no operation", m->file);
    return FY_OK;
  }
  const Tensorflow__CollectionDef *c = collection(meta, "saved_model_main_op");
  if (!c) c = collection(meta, "legacy_init_op");
  // A training checkpoint has only what its program would have run by itself.
  const bool tables = !c && !m->proto && (c = collection(meta, "table_initializer")) != NULL;
  if (!c) return FY_OK;
  if (c->kind_case != TENSORFLOW__COLLECTION_DEF__KIND_NODE_LIST ||
      (c->node_list->n_value != 1 && !tables))
    return fy_fail(err, FY_FAILED_PRECONDITION, "Expected exactly one main op in : %s", m->dir);
  *out = c->node_list->value;
  *n = c->node_list->n_value;
  return FY_OK;
}

// Both formats of checkpoints: an index with data beside it, or the single file of old.
static fy_code has_checkpoint(const fy_saved_model *m, fy_arena *arena, bool *out, fy_error *err) {
  const char *index = fy_arena_printf(arena, "%s.index", m->checkpoint);
  if (!index) return fy_fail_oom(err, strlen(m->checkpoint));
  *out = access(index, F_OK) == 0 || (!m->proto && access(m->checkpoint, F_OK) == 0);
  return FY_OK;
}

fy_code fy_saved_model_steps(const fy_saved_model *m, const fy_graph *g, fy_arena *arena,
                             fy_model_step steps[FY_MODEL_MAX_STEPS], int *n, fy_error *err) {
  const Tensorflow__SaverDef *saver = m->meta->saver_def;
  char *const *init = NULL;
  size_t num_init;
  bool restore = false;
  *n = 0;
  FY_TRY(has_checkpoint(m, arena, &restore, err));
  if (saver && saver->restore_op_name && *saver->restore_op_name && restore) {
    FY_TRY(new_step(m, g, arena, &saver->restore_op_name, 1, "restore", &steps[*n], err));
    FY_TRY(add_feed(&steps[*n], g, arena, saver->filename_tensor_name, m->checkpoint, err));
    ++*n;
  }
  FY_TRY(fy_saved_model_init_nodes(m, &init, &num_init, err));
  if (num_init && init[0] && *init[0]) {
    FY_TRY(new_step(m, g, arena, init, num_init, "initialise", &steps[*n], err));
    ++*n;
  }
  return FY_OK;
}
