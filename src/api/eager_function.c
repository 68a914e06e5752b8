// SPDX-License-Identifier: Apache-2.0
// eager_function.c: functions of a TFE_Context.

#include <string.h>

#include "api/eager_model.h"
#include "base/alloc.h"
#include "graph/function.h"
#include "wire/attr_proto.h"
#include "wire/proto_util.h"
#include "wire/text_format.h"

// Marks |def| as made for eager execution, as TensorFlow does when a context takes a function.
static fy_code mark_eager(Tensorflow__FunctionDef *def, fy_arena *arena, fy_error *err) {
  static const char key[] = "_construction_context", value[] = "kEagerRuntime";
  for (size_t i = 0; i < def->n_attr; i++)
    if (strcmp(def->attr[i]->key, key) == 0) return FY_OK;
  Tensorflow__FunctionDef__AttrEntry *e =
      fy_wire_new(&tensorflow__function_def__attr_entry__descriptor, arena);
  Tensorflow__FunctionDef__AttrEntry **all = fy_arena_array(arena, def->n_attr + 1, sizeof *all);
  fy_attr *text = fy_arena_zalloc(arena, sizeof *text);
  if (!e || !all || !text) return fy_fail_oom(err, sizeof *e);
  *text = fy_attr_string(FY_VIEW(value));
  e->key = (char *)(uintptr_t)key;
  FY_TRY(fy_wire_attr_write(text, arena, &e->value, err));
  if (def->n_attr) memcpy(all, def->attr, def->n_attr * sizeof *all);
  all[def->n_attr++] = e;
  def->attr = all;
  fy_function_sort(&def->base);
  return FY_OK;
}

static void explain_difference(const Tensorflow__FunctionDef *a, const Tensorflow__FunctionDef *b,
                               fy_error *err) {
  fy_str before, now;
  fy_str_init(&before);
  fy_str_init(&now);
  fy_wire_text_print(&before, &a->base);
  fy_wire_text_print(&now, &b->base);
  fy_fail(err, FY_INVALID_ARGUMENT,
          "Attempting to add a duplicate function with name: %s where the previous and current "
          "definitions differ. Previous definition: goo.gle/debugstr \n%s and current definition: "
          "goo.gle/debugstr \n%s",
          b->signature->name, fy_str_text(&before), fy_str_text(&now));
  fy_str_free(&before);
  fy_str_free(&now);
}

// Returns how often |f| had been added again.
static uint32_t count_adds(fy_funclib *lib, fy_function *f, int by) {
  fy_lock(&lib->lock);
  uint32_t before = f->more_adds;
  f->more_adds = by > 0 ? before + 1 : before ? before - 1 : 0;
  fy_unlock(&lib->lock);
  return before;
}

fy_code fy_api_add_function(fy_eager *c, const Tensorflow__FunctionDef *def, fy_error *err) {
  fy_funclib *lib = fy_eager_functions(c);
  fy_arena arena;
  Tensorflow__FunctionDef *own;
  fy_arena_init(&arena);
  fy_code code = fy_function_copy(def, &arena, &own, err);
  if (!code) code = mark_eager(own, &arena, err);
  const char *name = def->signature->name;
  fy_function *there = (fy_function *)(uintptr_t)fy_funclib_find(lib, name, strlen(name));
  if (!code) code = fy_funclib_add(lib, own, err);
  if (!code && there) count_adds(lib, there, 1);
  const fy_function *other =
      code == FY_INVALID_ARGUMENT && err ? fy_funclib_find(lib, name, strlen(name)) : NULL;
  if (other) explain_difference(other->def, own, err);
  fy_arena_free(&arena);
  return code;
}

void TFE_ContextAddFunctionDef(TFE_Context *ctx, const char *serialized_function_def, size_t size,
                               TF_Status *status) {
  fy_error *err = fy_api_begin(status);
  fy_arena arena;
  ProtobufCMessage *m;
  fy_arena_init(&arena);
  fy_code code = fy_wire_unpack(&tensorflow__function_def__descriptor, serialized_function_def,
                                size, NULL, &arena, &m, err);
  if (code == FY_INVALID_ARGUMENT) fy_fail(err, code, "Invalid FunctionDef proto");
  const Tensorflow__FunctionDef *def = (const Tensorflow__FunctionDef *)m;
  // TensorFlow takes an empty message for a function without a name; nobody can call it.
  bool nameless = !code && (!def->signature || !def->signature->name || !*def->signature->name);
  if (!code && !nameless) code = fy_api_add_function(fy_api_eager(ctx), def, err);
  fy_arena_free(&arena);
  fy_api_end(status, code);
}

void TFE_ContextAddFunction(TFE_Context *ctx, TF_Function *function, TF_Status *status) {
  fy_error *err = fy_api_begin(status);
  fy_api_end(status, fy_api_add_function(fy_api_eager(ctx), function->def, err));
}

void TFE_ContextRemoveFunction(TFE_Context *ctx, const char *name, TF_Status *status) {
  fy_error *err = fy_api_begin(status);
  fy_eager *c = fy_api_eager(ctx);
  fy_funclib *lib = fy_eager_functions(c);
  fy_function *f = (fy_function *)(uintptr_t)fy_funclib_find(lib, name, strlen(name));
  fy_code code = FY_OK;
  if (!f || count_adds(lib, f, -1) == 0) {
    code = fy_funclib_remove(lib, name, err);
    if (!code) fy_eager_functions_changed(c);
  }
  fy_api_end(status, code);
}

static const fy_function *find(TFE_Context *ctx, const char *name) {
  return fy_funclib_find(fy_eager_functions(fy_api_eager(ctx)), name, strlen(name));
}

unsigned char TFE_ContextHasFunction(TFE_Context *ctx, const char *name) {
  return find(ctx, name) != NULL;
}

void TFE_ContextGetFunctionDef(TFE_Context *ctx, const char *function_name, TF_Buffer *buf,
                               TF_Status *status) {
  fy_error *err = fy_api_begin(status);
  const fy_function *f = find(ctx, function_name);
  fy_code code;
  if (f)
    code = fy_api_message_to_buffer(f->def, buf, err);
  else
    code = fy_fail(err, FY_NOT_FOUND, "Unable to find FunctionDef with name: %s", function_name);
  fy_api_end(status, code);
}

void TFE_ContextGetGraphDebugInfo(TFE_Context *ctx, const char *function_name, TF_Buffer *buf,
                                  TF_Status *status) {
  fy_error *err = fy_api_begin(status);
  uint8_t *empty = fy_malloc(1);  // a GraphDebugInfo without traces
  fy_code code = empty ? FY_OK : fy_fail_oom(err, 1);
  if (!code && !find(ctx, function_name)) {
    code = fy_fail(err, FY_NOT_FOUND, "Unable to find function with name: %s", function_name);
    fy_free(empty);
  } else if (!code) {
    code = fy_api_fill_buffer(buf, empty, 0, err);
  }
  fy_api_end(status, code);
}

TF_Function *TFE_ContextGetFunction(TFE_Context *ctx, const char *name, TF_Status *status) {
  fy_error *err = fy_api_begin(status);
  const fy_function *f = find(ctx, name);
  TF_Function *out = NULL;
  fy_code code = FY_OK;
  if (!f) code = fy_fail(err, FY_NOT_FOUND, "Unable to find Function with name: %s", name);
  if (!code && !(out = fy_calloc(1, sizeof *out))) code = fy_fail_oom(err, sizeof *out);
  if (!code) code = fy_function_copy(f->def, &out->arena, &out->def, err);
  fy_api_end(status, code);
  if (!code) return out;
  TF_DeleteFunction(out);
  return NULL;
}
