// SPDX-License-Identifier: Apache-2.0
// meta_graph.c: TensorFlow 1's training checkpoints: PREFIX.meta holds the graph, PREFIX.index and
// PREFIX.data-… (or, long ago, PREFIX alone) the variables.

#include <stdio.h>
#include <string.h>
#include <sys/stat.h>

#include "base/alloc.h"
#include "model/saved_model.h"
#include "wire/config.h"
#include "wire/file.h"

#define MAX_BYTES       ((uint64_t)INT32_MAX)
#define MAX_STATE_BYTES (1u << 20)

// Reads `model_checkpoint_path: "…"` of the text file that Savers keep beside their checkpoints. A
// relative path starts at the directory.
static fy_code latest(fy_saved_model *m, const char *dir, const char **out, fy_error *err) {
  static const char key[] = "model_checkpoint_path:";
  const char *path = fy_arena_printf(&m->arena, "%s/checkpoint", dir);
  uint8_t *bytes = NULL;
  size_t n = 0;
  if (!path) return fy_fail_oom(err, strlen(dir));
  FY_TRY(fy_wire_file_load(path, MAX_STATE_BYTES, &bytes, &n, err));
  char *text = fy_arena_strndup(&m->arena, (const char *)bytes, n);
  fy_free(bytes);
  if (!text) return fy_fail_oom(err, n);
  char *at =
      strncmp(text, key, sizeof key - 1) == 0 ? text : strstr(text, "\nmodel_checkpoint_path:");
  char *begin = at ? strchr(at, '"') : NULL, *end = begin ? strchr(begin + 1, '"') : NULL;
  if (!end || memchr(begin, '\\', (size_t)(end - begin)))
    return fy_fail(err, FY_DATA_LOSS, "%s: model_checkpoint_path is missing or malformed", path);
  *end = 0;
  *out = begin[1] == '/' ? begin + 1 : fy_arena_printf(&m->arena, "%s/%s", dir, begin + 1);
  return *out ? FY_OK : fy_fail_oom(err, strlen(dir));
}

fy_code fy_meta_graph_open(const char *path, fy_saved_model *m, fy_error *err) {
  struct stat st;
  memset(m, 0, sizeof *m);
  fy_arena_init(&m->arena);
  size_t n = strlen(path);
  if (stat(path, &st) == 0 && S_ISDIR(st.st_mode)) {
    FY_TRY(latest(m, path, &m->checkpoint, err));
  } else {
    if (n > 5 && strcmp(path + n - 5, ".meta") == 0) n -= 5;
    m->checkpoint = fy_arena_strndup(&m->arena, path, n);
  }
  m->file = m->checkpoint ? fy_arena_printf(&m->arena, "%s.meta", m->checkpoint) : NULL;
  if (!m->file) return fy_fail_oom(err, n);
  const char *slash = strrchr(m->checkpoint, '/');
  m->dir =
      slash ? fy_arena_strndup(&m->arena, m->checkpoint, (size_t)(slash - m->checkpoint)) : ".";
  if (!m->dir) return fy_fail_oom(err, n);
  ProtobufCMessage *message;
  FY_TRY(fy_wire_view_open(m->file, MAX_BYTES, &m->view, err));
  fy_code code = fy_wire_parse_either(&tensorflow__meta_graph_def__descriptor, m->view.bytes,
                                      m->view.n, &m->arena, &message, NULL, err);
  if (code) {
    fy_error_prepend(err, "%s: ", m->file);
    return code;
  }
  m->meta = (const Tensorflow__MetaGraphDef *)message;
  if (!m->meta->graph_def)
    return fy_fail(err, FY_INVALID_ARGUMENT, "%s: MetaGraphDef.graph_def is missing", m->file);
  return FY_OK;
}
