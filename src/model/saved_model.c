// SPDX-License-Identifier: Apache-2.0
// saved_model.c: read a SavedModel, choose a graph of it, list its signatures and assets.

#include "model/saved_model.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/alloc.h"
#include "tensor/dtype.h"
#include "wire/proto_util.h"
#include "wire/text_format.h"

#define MAX_BYTES ((uint64_t)INT32_MAX)  // of any protobuf message
#define INIT_KEY  "__saved_model_init_op"

// ------------------------------------------------------------------ reading
static bool exists(const char *path) {
  return access(path, F_OK) == 0;
}

// TensorFlow tells a file that ends too early from one that is wrong before its end, which it notices
// when a refill of its 16 bytes of lookahead fails.
static bool ends_early(const char *why, size_t n) {
  const char *at = strstr(why, "at byte ");
  return !at || strstr(why, "past the end") || strstr(why, "is cut off") ||
         strtoull(at + 8, NULL, 10) + 16 >= n;
}

static fy_code read_binary(fy_saved_model *m, const uint8_t *bytes, size_t n,
                           ProtobufCMessage **out, fy_error *err) {
  fy_error why;
  fy_error_init(&why);
  fy_code code = fy_wire_unpack_view(&tensorflow__saved_model__descriptor, bytes, n, NULL,
                                     &m->arena, out, &why);
  const char *text = fy_error_text(&why);
  if (code == FY_INVALID_ARGUMENT && ends_early(text, n))
    code =
        fy_fail(err, FY_OUT_OF_RANGE, "Read less bytes than requested\n\t %s: %s", m->file, text);
  else if (code == FY_INVALID_ARGUMENT)
    code = fy_fail(err, FY_DATA_LOSS, "Can't parse %s as binary proto\n\t %s", m->file, text);
  else if (code)
    fy_fail(err, code, "%s", text);
  fy_error_clear(&why);
  return code;
}

static fy_code read_text(fy_saved_model *m, const uint8_t *bytes, size_t n, ProtobufCMessage **out,
                         fy_error *err) {
  fy_error why;
  fy_error_init(&why);
  fy_code code = fy_wire_text_parse(&tensorflow__saved_model__descriptor, (const char *)bytes, n,
                                    &m->arena, out, &why);
  if (code == FY_INVALID_ARGUMENT)
    code = fy_fail(err, FY_DATA_LOSS, "Can't parse %s as text proto\n\t %s", m->file,
                   fy_error_text(&why));
  else if (code)
    fy_fail(err, code, "%s", fy_error_text(&why));
  fy_error_clear(&why);
  return code;
}

fy_code fy_saved_model_open(const char *dir, fy_saved_model *m, fy_error *err) {
  memset(m, 0, sizeof *m);
  fy_arena_init(&m->arena);
  m->dir = fy_arena_strdup(&m->arena, dir);
  const char *binary = fy_arena_printf(&m->arena, "%s/saved_model.pb", dir);
  const char *text = fy_arena_printf(&m->arena, "%s/saved_model.pbtxt", dir);
  m->checkpoint = fy_arena_printf(&m->arena, "%s/variables/variables", dir);
  if (!m->dir || !binary || !text || !m->checkpoint) return fy_fail_oom(err, strlen(dir));
  m->file = exists(binary) ? binary : exists(text) ? text : NULL;
  if (!m->file)
    return fy_fail(err, FY_NOT_FOUND,
                   "Could not find SavedModel .pb or .pbtxt at supplied export directory path: %s. "
                   "Check that the directory exists and that you have the right permissions for "
                   "accessing it.",
                   dir);
  ProtobufCMessage *message = NULL;
  FY_TRY(fy_wire_view_open(m->file, MAX_BYTES, &m->view, err));
  fy_code code = m->file == binary ? read_binary(m, m->view.bytes, m->view.n, &message, err)
                                   : read_text(m, m->view.bytes, m->view.n, &message, err);
  if (m->file != binary || code) fy_wire_view_close(&m->view);
  m->proto = (const Tensorflow__SavedModel *)message;
  return code;
}

void fy_saved_model_close(fy_saved_model *m) {
  fy_arena_free(&m->arena);
  fy_wire_view_close(&m->view);
  m->proto = NULL;
  m->meta = NULL;
}

static bool has_tag(const Tensorflow__MetaGraphDef__MetaInfoDef *info, const char *tag) {
  for (size_t i = 0; info && i < info->n_tags; i++)
    if (strcmp(info->tags[i], tag) == 0) return true;
  return false;
}

static bool tags_match(const Tensorflow__MetaGraphDef *meta, const char *const *tags, int n) {
  const Tensorflow__MetaGraphDef__MetaInfoDef *info = meta->meta_info_def;
  for (int i = 0; i < n; i++)
    if (!has_tag(info, tags[i])) return false;
  for (size_t k = 0; info && k < info->n_tags; k++) {
    bool wanted = false;
    for (int i = 0; i < n && !wanted; i++) wanted = strcmp(info->tags[k], tags[i]) == 0;
    if (!wanted) return false;
  }
  return true;
}

static int by_text(const void *a, const void *b) {
  return strcmp(*(const char *const *)a, *(const char *const *)b);
}

// "{ a b }", each tag once, sorted.
static fy_code no_such_tags(const char *const *tags, int n, fy_error *err) {
  const char **sorted = fy_malloc(((size_t)n + 1) * sizeof *sorted);
  fy_str s;
  if (!sorted) return fy_fail_oom(err, (size_t)n * sizeof *sorted);
  for (int i = 0; i < n; i++) sorted[i] = tags[i];
  qsort((void *)sorted, (size_t)n, sizeof *sorted, by_text);
  fy_str_init(&s);
  for (int i = 0; i < n; i++)
    if (i == 0 || strcmp(sorted[i], sorted[i - 1]) != 0)
      fy_str_printf(&s, "%s%s", i ? " " : "", sorted[i]);
  fy_fail(err, FY_NOT_FOUND,
          "Could not find meta graph def matching supplied tags: { %s }. To inspect available "
          "tag-sets in the SavedModel, please use the SavedModel CLI: `saved_model_cli`",
          fy_str_text(&s));
  fy_str_free(&s);
  fy_free((void *)sorted);
  return FY_NOT_FOUND;
}

fy_code fy_saved_model_pick(fy_saved_model *m, const char *const *tags, int n, fy_error *err) {
  for (size_t i = 0; i < m->proto->n_meta_graphs && !m->meta; i++)
    if (tags_match(m->proto->meta_graphs[i], tags, n)) m->meta = m->proto->meta_graphs[i];
  if (!m->meta) return no_such_tags(tags, n, err);
  if (!m->meta->graph_def)
    return fy_fail(err, FY_INVALID_ARGUMENT, "%s: MetaGraphDef.graph_def is missing", m->file);
  return FY_OK;
}

// ------------------------------------------------------------------ signatures
static fy_code read_shape(const Tensorflow__TensorShapeProto *from, fy_arena *arena, fy_pshape *out,
                          fy_error *err) {
  *out = (fy_pshape){-1, NULL};
  if (!from || from->unknown_rank || from->n_dim > FY_MAX_RANK) return FY_OK;
  int64_t *dims = fy_arena_array(arena, from->n_dim + 1, sizeof *dims);
  if (!dims) return fy_fail_oom(err, from->n_dim * sizeof *dims);
  for (size_t i = 0; i < from->n_dim; i++)
    dims[i] = from->dim[i]->size < 0 ? -1 : from->dim[i]->size;
  *out = (fy_pshape){(int32_t)from->n_dim, dims};
  return FY_OK;
}

// The parts of a sparse, ragged or other composite tensor are values of their own, "x/values".
static size_t num_parts(const Tensorflow__TensorInfo *info) {
  if (!info) return 1;
  if (info->encoding_case == TENSORFLOW__TENSOR_INFO__ENCODING_COO_SPARSE) return 3;
  if (info->encoding_case != TENSORFLOW__TENSOR_INFO__ENCODING_COMPOSITE_TENSOR) return 1;
  return info->composite_tensor->n_components;
}

static const char *part_name(const Tensorflow__TypeSpecProto *spec, size_t i, char buf[32]) {
  static const char *const sparse[] = {"indices", "values", "dense_shape"};
  static const char *const slices[] = {"values", "indices", "dense_shape"};
  const int kind = spec ? (int)spec->type_spec_class : 0;
  if (kind == TENSORFLOW__TYPE_SPEC_PROTO__TYPE_SPEC_CLASS__SPARSE_TENSOR_SPEC && i < 3)
    return sparse[i];
  if (kind == TENSORFLOW__TYPE_SPEC_PROTO__TYPE_SPEC_CLASS__INDEXED_SLICES_SPEC && i < 3)
    return slices[i];
  const bool ragged = kind == TENSORFLOW__TYPE_SPEC_PROTO__TYPE_SPEC_CLASS__RAGGED_TENSOR_SPEC;
  if (ragged && i == 0) return "flat_values";
  snprintf(buf, 32, ragged ? "row_splits_%zu" : "component_%zu", ragged ? i - 1 : i);
  return buf;
}

static fy_code name_part(const char *key, const char *part, const char *tensor, fy_arena *arena,
                         fy_signature_value *out, fy_error *err) {
  out->key = fy_arena_printf(arena, "%s/%s", key, part);
  if (!out->key) return fy_fail_oom(err, strlen(key));
  if (tensor && *tensor) out->tensor = tensor;
  return FY_OK;
}

static fy_code read_sparse(const char *key, const Tensorflow__TensorInfo *info, fy_arena *arena,
                           fy_signature_value *out, fy_error *err) {
  const Tensorflow__TensorInfo__CooSparse *coo = info->coo_sparse;
  fy_pshape whole;
  FY_TRY(read_shape(info->tensor_shape, arena, &whole, err));
  int64_t *dims = fy_arena_array(arena, 4, sizeof *dims);
  if (!dims) return fy_fail_oom(err, 4 * sizeof *dims);
  dims[0] = dims[2] = -1;
  dims[1] = dims[3] = whole.rank;
  out[0] = (fy_signature_value){.dtype = FY_INT64, .shape = {2, dims}};
  out[1] = (fy_signature_value){.dtype = (fy_dtype)info->dtype, .shape = {1, dims + 2}};
  out[2] = (fy_signature_value){.dtype = FY_INT64, .shape = {1, dims + 3}};
  FY_TRY(name_part(key, "indices", coo->indices_tensor_name, arena, &out[0], err));
  FY_TRY(name_part(key, "values", coo->values_tensor_name, arena, &out[1], err));
  return name_part(key, "dense_shape", coo->dense_shape_tensor_name, arena, &out[2], err);
}

// Fills num_parts(info) values.
static fy_code read_value(const char *key, const Tensorflow__TensorInfo *info, fy_arena *arena,
                          fy_signature_value *out, fy_error *err) {
  if (info && info->encoding_case == TENSORFLOW__TENSOR_INFO__ENCODING_COO_SPARSE)
    return read_sparse(key, info, arena, out, err);
  if (info && info->encoding_case == TENSORFLOW__TENSOR_INFO__ENCODING_COMPOSITE_TENSOR) {
    const Tensorflow__TensorInfo__CompositeTensor *all = info->composite_tensor;
    for (size_t i = 0; i < all->n_components; i++) {
      const Tensorflow__TensorInfo *part = all->components[i];
      const bool named = part->encoding_case == TENSORFLOW__TENSOR_INFO__ENCODING_NAME;
      char buf[32];
      out[i] = (fy_signature_value){.dtype = (fy_dtype)part->dtype};
      FY_TRY(name_part(key, part_name(all->type_spec, i, buf), named ? part->name : NULL, arena,
                       &out[i], err));
      FY_TRY(read_shape(part->tensor_shape, arena, &out[i].shape, err));
    }
    return FY_OK;
  }
  *out = (fy_signature_value){.key = key, .shape = {-1, NULL}};
  if (!info) return FY_OK;
  if (info->encoding_case == TENSORFLOW__TENSOR_INFO__ENCODING_NAME) out->tensor = info->name;
  out->dtype = (fy_dtype)info->dtype;
  return read_shape(info->tensor_shape, arena, &out->shape, err);
}

static fy_code read_inputs(const Tensorflow__SignatureDef *d, fy_arena *arena, fy_signature *s,
                           fy_error *err) {
  size_t n = 0, at = 0;
  for (size_t k = 0; k < d->n_inputs; k++) n += num_parts(d->inputs[k]->value);
  s->inputs = fy_arena_array(arena, n + 1, sizeof *s->inputs);
  if (!s->inputs || n > UINT32_MAX) return fy_fail_oom(err, n * sizeof *s->inputs);
  for (size_t k = 0; k < d->n_inputs; at += num_parts(d->inputs[k++]->value))
    FY_TRY(read_value(d->inputs[k]->key, d->inputs[k]->value, arena, &s->inputs[at], err));
  s->num_inputs = (uint32_t)n;
  return FY_OK;
}

static fy_code read_outputs(const Tensorflow__SignatureDef *d, fy_arena *arena, fy_signature *s,
                            fy_error *err) {
  size_t n = 0, at = 0;
  for (size_t k = 0; k < d->n_outputs; k++) n += num_parts(d->outputs[k]->value);
  s->outputs = fy_arena_array(arena, n + 1, sizeof *s->outputs);
  if (!s->outputs || n > UINT32_MAX) return fy_fail_oom(err, n * sizeof *s->outputs);
  for (size_t k = 0; k < d->n_outputs; at += num_parts(d->outputs[k++]->value))
    FY_TRY(read_value(d->outputs[k]->key, d->outputs[k]->value, arena, &s->outputs[at], err));
  s->num_outputs = (uint32_t)n;
  return FY_OK;
}

static int by_key(const void *a, const void *b) {
  return strcmp(((const fy_signature_value *)a)->key, ((const fy_signature_value *)b)->key);
}

static int by_signature(const void *a, const void *b) {
  return strcmp(((const fy_signature *)a)->key, ((const fy_signature *)b)->key);
}

fy_code fy_saved_model_signatures(const Tensorflow__MetaGraphDef *meta, fy_arena *arena,
                                  fy_signature **out, size_t *n, fy_error *err) {
  *n = 0;
  *out = fy_arena_array(arena, meta->n_signature_def + 1, sizeof **out);
  if (!*out) return fy_fail_oom(err, meta->n_signature_def * sizeof **out);
  for (size_t i = 0; i < meta->n_signature_def; i++) {
    const Tensorflow__SignatureDef *d = meta->signature_def[i]->value;
    const char *key = meta->signature_def[i]->key;
    if (!d || strcmp(key, INIT_KEY) == 0) continue;
    fy_signature *s = &(*out)[(*n)++];
    s->key = key;
    s->method = d->method_name ? d->method_name : "";
    FY_TRY(read_inputs(d, arena, s, err));
    FY_TRY(read_outputs(d, arena, s, err));
    qsort(s->inputs, s->num_inputs, sizeof *s->inputs, by_key);
    qsort(s->outputs, s->num_outputs, sizeof *s->outputs, by_key);
  }
  qsort(*out, *n, sizeof **out, by_signature);
  return FY_OK;
}
