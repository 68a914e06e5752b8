// SPDX-License-Identifier: Apache-2.0
// eager_function.c: functions of a TFE_Context.

#include <string.h>

#include "api/eager.h"
#include "base/alloc.h"
#include "graph/function.h"
#include "wire/proto_util.h"

void TFE_ContextAddFunctionDef(TFE_Context *ctx, const char *serialized_function_def, size_t size,
                               TF_Status *status) {
  fy_error *err = fy_api_begin(status);
  fy_arena arena;
  ProtobufCMessage *m;
  fy_arena_init(&arena);
  fy_code code = fy_wire_unpack(&tensorflow__function_def__descriptor, serialized_function_def, size,
                                NULL, &arena, &m, err);
  if (code == FY_INVALID_ARGUMENT) fy_fail(err, code, "Invalid FunctionDef proto");
  const Tensorflow__FunctionDef *def = (const Tensorflow__FunctionDef *)m;
  // TensorFlow takes an empty message for a function without a name; nobody can call it.
  bool nameless = !code && (!def->signature || !def->signature->name || !*def->signature->name);
  if (!code && !nameless)
    code = fy_funclib_add(fy_eager_functions(fy_api_eager(ctx)), def, err);
  fy_arena_free(&arena);
  fy_api_end(status, code);
}

void TFE_ContextAddFunction(TFE_Context *ctx, TF_Function *function, TF_Status *status) {
  fy_error *err = fy_api_begin(status);
  fy_api_end(status, fy_funclib_add(fy_eager_functions(fy_api_eager(ctx)), function->def, err));
}

void TFE_ContextRemoveFunction(TFE_Context *ctx, const char *name, TF_Status *status) {
  fy_error *err = fy_api_begin(status);
  fy_eager *c = fy_api_eager(ctx);
  fy_code code = fy_funclib_remove(fy_eager_functions(c), name, err);
  if (!code) fy_eager_functions_changed(c);
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
  if (f) code = fy_api_message_to_buffer(f->def, buf, err);
  else code = fy_fail(err, FY_NOT_FOUND, "Unable to find FunctionDef with name: %s", function_name);
  fy_api_end(status, code);
}

void TFE_ContextGetGraphDebugInfo(TFE_Context *ctx, const char *function_name, TF_Buffer *buf,
                                  TF_Status *status) {
  fy_error *err = fy_api_begin(status);
  uint8_t *empty = fy_malloc(1);  // a GraphDebugInfo without traces
  fy_code code = empty ? FY_OK : fy_fail_oom(err, 1);
  if (!code && !find(ctx, function_name)) {
    code = fy_fail(err, FY_NOT_FOUND, "Unable to find FunctionDef with name: %s", function_name);
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
