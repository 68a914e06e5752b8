// SPDX-License-Identifier: Apache-2.0
// convert.c: the same model or weights in another format, chosen by the extension of the new file.

#include <string.h>

#include "base/alloc.h"
#include "model/inspect.h"
#include "wire/bundle.h"
#include "wire/bundle_write.h"
#include "wire/mapping.h"
#include "wire/npy.h"
#include "wire/proto_util.h"
#include "wire/text_format.h"

static bool ends_with(const char *text, const char *end) {
  size_t n = strlen(text), m = strlen(end);
  return n >= m && strcmp(text + n - m, end) == 0;
}

static fy_code write_message(const ProtobufCMessage *m, const char *to, fy_error *err) {
  if (ends_with(to, ".pbtxt") || ends_with(to, ".txt") || ends_with(to, ".textproto")) {
    fy_str s;
    fy_str_init(&s);
    fy_wire_text_print(&s, m);
    fy_code code =
        s.failed ? fy_fail_oom(err, s.len) : fy_wire_file_save(to, fy_str_text(&s), s.len, err);
    fy_str_free(&s);
    return code;
  }
  if (ends_with(to, ".pb") || ends_with(to, ".meta")) {
    uint8_t *bytes;
    size_t n;
    FY_TRY(m->descriptor == &tensorflow__graph_def__descriptor
               ? fy_wire_pack_graph((const Tensorflow__GraphDef *)m, &bytes, &n, err)
               : fy_wire_pack(m, &bytes, &n, err));
    fy_code code = fy_wire_file_save(to, bytes, n, err);
    fy_free(bytes);
    return code;
  }
  return fy_fail(err, FY_INVALID_ARGUMENT,
                 "%s: the extension says what to write: .pb or .meta (binary), .pbtxt (text)", to);
}

static fy_code bundle_to_npz(fy_wire_bundle *b, const char *to, fy_error *err) {
  fy_arena a;
  size_t n = fy_wire_bundle_count(b), have = 0;
  fy_str out;
  fy_arena_init(&a);
  fy_str_init(&out);
  const char **names = fy_arena_array(&a, n + 1, sizeof *names);
  fy_tensor **tensors = fy_arena_array(&a, n + 1, sizeof *tensors);
  fy_code code = names && tensors ? FY_OK : fy_fail_oom(err, n * sizeof *names);
  for (size_t i = 0; !code && i < n; i++) {
    fy_view name = fy_wire_bundle_name(b, i);
    if (fy_view_is(name, "_CHECKPOINTABLE_OBJECT_GRAPH")) continue;
    names[have] = fy_arena_strndup(&a, name.p, name.n);
    code = names[have] ? fy_wire_bundle_read(b, names[have], &tensors[have], err)
                       : fy_fail_oom(err, name.n);
    if (!code) have++;
  }
  if (!code) code = fy_wire_npz_write(names, (const fy_tensor *const *)tensors, have, &out, err);
  if (!code) code = fy_wire_file_save(to, fy_str_text(&out), out.len, err);
  for (size_t i = 0; i < have; i++) fy_tensor_release(tensors[i]);
  fy_str_free(&out);
  fy_arena_free(&a);
  return code;
}

static fy_code bundle_to_bundle(fy_wire_bundle *b, const char *to, fy_error *err) {
  fy_bundle_writer *w;
  fy_code code = fy_bundle_writer_new(to, &w, err);
  if (code) return code;
  for (size_t i = 0; !code && i < fy_wire_bundle_count(b); i++) {
    fy_view name = fy_wire_bundle_name(b, i);
    fy_tensor *t = NULL;
    char *text = fy_malloc(name.n + 1);
    if (!text) {
      code = fy_fail_oom(err, name.n);
      break;
    }
    memcpy(text, name.p, name.n);
    text[name.n] = 0;
    code = fy_wire_bundle_read(b, text, &t, err);
    if (!code) code = fy_bundle_writer_add(w, name, t, err);
    fy_tensor_release(t);
    fy_free(text);
  }
  if (!code) code = fy_bundle_writer_finish(w, err);
  fy_bundle_writer_free(w);
  return code;
}

fy_code fy_model_convert(const char *from, const char *to, fy_error *err) {
  fy_model_file f;
  fy_wire_bundle *b = NULL;
  fy_code code = fy_model_file_open(from, NULL, &f, err);
  // Several graphs, none of them "serve": all of them are written, so none need be chosen.
  if (code == FY_NOT_FOUND && f.message) code = FY_OK;
  if (!code && f.message) {
    code = write_message(f.message, to, err);
  } else if (!code) {
    code = fy_wire_bundle_open(f.checkpoint, &b, err);
    if (!code && strcmp(f.checkpoint, to) == 0)
      code = fy_fail(err, FY_INVALID_ARGUMENT, "%s would overwrite what it is made from", to);
    if (!code)
      code = ends_with(to, ".npz") ? bundle_to_npz(b, to, err) : bundle_to_bundle(b, to, err);
    fy_wire_bundle_close(b);
  }
  fy_model_file_close(&f);
  return code;
}
