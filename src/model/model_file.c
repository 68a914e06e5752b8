// SPDX-License-Identifier: Apache-2.0
// model_file.c: find out what a path names, and read it.

#include "model/model_file.h"

#include <string.h>
#include <sys/stat.h>

#include "base/alloc.h"
#include "wire/bundle.h"
#include "wire/config.h"
#include "wire/file.h"

#define MAX_BYTES ((uint64_t)INT32_MAX)  // of any protobuf message
#define MAX_TAGS  32

const char *fy_model_kind_name(fy_model_kind kind) {
  static const char *const names[] = {"SavedModel", "MetaGraphDef", "GraphDef", "checkpoint"};
  return names[kind];
}

static bool is_directory(const char *path) {
  struct stat s;
  return stat(path, &s) == 0 && S_ISDIR(s.st_mode);
}

static bool is_file(const char *path) {
  struct stat s;
  return stat(path, &s) == 0 && !S_ISDIR(s.st_mode);
}

static bool ends_with(const char *text, const char *end) {
  size_t n = strlen(text), m = strlen(end);
  return n >= m && strcmp(text + n - m, end) == 0;
}

static bool has_index(fy_arena *a, const char *prefix) {
  const char *path = fy_arena_printf(a, "%s.index", prefix);
  return path && is_file(path);
}

// ------------------------------------------------------------------ SavedModel
static void list_tags(fy_str *out, const Tensorflow__SavedModel *proto) {
  for (size_t i = 0; i < proto->n_meta_graphs; i++) {
    const Tensorflow__MetaGraphDef__MetaInfoDef *info = proto->meta_graphs[i]->meta_info_def;
    fy_str_add(out, i ? "; " : "");
    for (size_t k = 0; info && k < info->n_tags; k++)
      fy_str_printf(out, "%s%s", k ? "," : "", info->tags[k]);
    if (!info || !info->n_tags) fy_str_add(out, "(none)");
  }
}

static fy_code pick(fy_model_file *f, const char *tags, fy_error *err) {
  const char *wanted[MAX_TAGS] = {"serve"};
  int n = 1;
  fy_saved_model *m = &f->saved;
  if (tags) {
    char *copy = fy_arena_strdup(&m->arena, tags), *save = NULL;
    if (!copy) return fy_fail_oom(err, strlen(tags));
    n = 0;
    for (char *w = strtok_r(copy, ", ", &save); w; w = strtok_r(NULL, ", ", &save)) {
      if (n == MAX_TAGS) return fy_fail(err, FY_INVALID_ARGUMENT, "more than %d tags", MAX_TAGS);
      wanted[n++] = w;
    }
  }
  fy_code code = fy_saved_model_pick(m, wanted, n, err);
  if (code == FY_NOT_FOUND && !tags && m->proto->n_meta_graphs == 1) {
    m->meta = m->proto->meta_graphs[0];
    code = m->meta->graph_def ? FY_OK
                              : fy_fail(err, FY_INVALID_ARGUMENT,
                                        "%s: MetaGraphDef.graph_def is missing", m->file);
  } else if (code == FY_NOT_FOUND) {
    fy_str have;
    fy_str_init(&have);
    list_tags(&have, m->proto);
    fy_error_append(err, " (%s has the graphs: %s)", m->file, fy_str_text(&have));
    fy_str_free(&have);
  }
  return code;
}

static fy_code open_saved_model(const char *dir, const char *tags, fy_model_file *f,
                                fy_error *err) {
  f->kind = FY_MODEL_SAVED_MODEL;
  fy_arena_free(&f->saved.arena);  // fy_saved_model_open begins with its own
  FY_TRY(fy_saved_model_open(dir, &f->saved, err));
  f->text = ends_with(f->saved.file, ".pbtxt");
  f->message = &f->saved.proto->base;
  FY_TRY(pick(f, tags, err));
  f->graph = f->saved.meta->graph_def;
  if (has_index(&f->saved.arena, f->saved.checkpoint)) f->checkpoint = f->saved.checkpoint;
  return FY_OK;
}

// ------------------------------------------------------------------ files
static fy_code open_meta(fy_model_file *f, fy_error *err) {
  f->kind = FY_MODEL_META;
  fy_arena_free(&f->saved.arena);  // fy_meta_graph_open begins with its own
  FY_TRY(fy_meta_graph_open(f->path, &f->saved, err));
  f->message = &f->saved.meta->base;
  f->graph = f->saved.meta->graph_def;
  const char *prefix = f->saved.checkpoint;
  if (has_index(&f->saved.arena, prefix) || is_file(prefix)) f->checkpoint = prefix;
  return FY_OK;
}

// The last bytes of a table file, which a V1 checkpoint is.
static bool is_table(const uint8_t *bytes, size_t n) {
  static const uint8_t magic[] = {0x57, 0xfb, 0x80, 0x8b, 0x24, 0x75, 0x47, 0xdb};
  return n >= 48 && memcmp(bytes + n - sizeof magic, magic, sizeof magic) == 0;
}

// What people take for a model, by its first bytes: what it is, and what to do instead.
static const struct {
  size_t at, n;
  const char *bytes, *what;
} strangers[] = {
    {0, 6, "\x93NUMPY", "an array of NumPy: give it as an input"},
    {0, 4, "PK\3\4",
     "a ZIP archive (.npz, .keras, .zip): a Keras model is exported with model.export(DIRECTORY)"},
    {0, 8, "\x89HDF\r\n\x1a\n",
     "HDF5, as old Keras saved: load it there and use model.export(DIRECTORY)"},
    {4, 4, "TFL3", "a TensorFlow Lite model: export a SavedModel instead"},
    {0, 4, "\x89PNG", "a PNG image: give it as an input"},
    {0, 3, "\xff\xd8\xff", "a JPEG image: give it as an input"},
    {0, 2, "\x1f\x8b", "compressed by gzip: unpack it first"},
    {0, 4,
     "\x7f"
     "ELF",
     "a program or library"},
    {0, 2, "\x08\x01",
     "a SavedModel's file: it is named saved_model.pb, in a directory of its own beside "
     "variables/"},
    {0, 26, "saved_model_schema_version",
     "a SavedModel's file: it is named saved_model.pbtxt, in a directory of its own beside "
     "variables/"},
};

// Nothing but the error changes: a graph whose bytes happen to begin like that has been read before.
static void tell_what_it_is(const uint8_t *bytes, size_t n, fy_error *err) {
  for (size_t i = 0; i < sizeof strangers / sizeof *strangers; i++)
    if (n >= strangers[i].at + strangers[i].n &&
        memcmp(bytes + strangers[i].at, strangers[i].bytes, strangers[i].n) == 0) {
      fy_fail(err, FY_INVALID_ARGUMENT, "no GraphDef but %s", strangers[i].what);
      return;
    }
}

static fy_code open_file(fy_model_file *f, fy_error *err) {
  ProtobufCMessage *message = NULL;
  fy_arena *a = &f->saved.arena;
  FY_TRY(fy_wire_view_open(f->path, MAX_BYTES, &f->saved.view, err));
  const uint8_t *bytes = f->saved.view.bytes;  // the message's long fields point into it
  const size_t n = f->saved.view.n;
  fy_code code = FY_OK;
  f->kind = FY_MODEL_GRAPH;
  f->saved.file = f->path;
  if (is_table(bytes, n)) {
    f->kind = FY_MODEL_CHECKPOINT;
    f->checkpoint = f->path;
  } else if (n == 0) {
    code = fy_fail(err, FY_INVALID_ARGUMENT, "the file is empty");
  } else {
    code = fy_wire_parse_either(&tensorflow__graph_def__descriptor, bytes, n, a, &message, &f->text,
                                err);
    f->message = message;
    f->graph = (const Tensorflow__GraphDef *)message;
    if (code == FY_INVALID_ARGUMENT) tell_what_it_is(bytes, n, err);
  }
  if (code) fy_error_prepend(err, "%s: ", f->path);
  return code;
}

// "x.index" and "x.data-00000-of-00001" name the checkpoint x.
static const char *checkpoint_prefix(fy_arena *a, const char *path) {
  const char *data = strstr(path, ".data-");
  if (ends_with(path, ".index")) return fy_arena_strndup(a, path, strlen(path) - 6);
  if (data && !strchr(data, '/')) return fy_arena_strndup(a, path, (size_t)(data - path));
  return path;
}

static fy_code open_directory(fy_model_file *f, const char *tags, fy_error *err) {
  fy_code code = open_saved_model(f->path, tags, f, err);
  if (code != FY_NOT_FOUND || f->saved.file) return code;
  const char *state = fy_arena_printf(&f->saved.arena, "%s/checkpoint", f->path);
  if (!state) return fy_fail_oom(err, strlen(f->path));
  if (is_file(state)) return open_meta(f, err);  // a directory of checkpoints: the latest
  fy_error_append(err, " (a frozen graph, a .meta file or a checkpoint is named itself)");
  return code;
}

fy_code fy_model_file_open(const char *path, const char *tags, fy_model_file *f, fy_error *err) {
  memset(f, 0, sizeof *f);
  fy_arena *a = &f->saved.arena;
  fy_arena_init(a);
  f->path = path;
  if (is_directory(path)) return open_directory(f, tags, err);
  const char *base = strrchr(path, '/');
  base = base ? base + 1 : path;
  if (is_file(path) &&
      (strcmp(base, "saved_model.pb") == 0 || strcmp(base, "saved_model.pbtxt") == 0)) {
    char *dir = fy_strdup(path);
    if (!dir) return fy_fail_oom(err, strlen(path));
    if (base > path)
      dir[base - path - (base - path > 1)] = 0;
    else
      memcpy(dir, ".", 2);
    fy_code code = open_saved_model(dir, tags, f, err);
    fy_free(dir);
    return code;
  }
  const char *prefix = checkpoint_prefix(a, path);
  if (!prefix) return fy_fail_oom(err, strlen(path));
  if (has_index(a, prefix) && (prefix != path || !is_file(path))) {
    f->kind = FY_MODEL_CHECKPOINT;
    f->checkpoint = prefix;
    return FY_OK;
  }
  return ends_with(path, ".meta") ? open_meta(f, err) : open_file(f, err);
}

void fy_model_file_close(fy_model_file *f) {
  fy_saved_model_close(&f->saved);
  f->graph = NULL;
  f->message = NULL;
}
