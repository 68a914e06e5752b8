// SPDX-License-Identifier: Apache-2.0
// library.c: libraries of ops and kernels: dlopen, and the list of what they registered.
// A library stays loaded: kernels and shape functions point into it.

#include "api/library.h"

#include <dlfcn.h>
#include <string.h>

#include "base/alloc.h"
#include "base/thread.h"
#include "graph/export.h"
#include "op_def.pb-c.h"
#include "tensorflow/c/c_api_experimental.h"
#include "wire/proto_util.h"

struct TF_Library {
  void *handle;      // dlopen's
  uint8_t *op_list;  // serialized OpList, fy_malloc
  size_t op_list_bytes;
};

typedef struct loading {  // one dlopen of this thread
  const fy_op **ops;
  size_t n, cap;
  fy_error error;  // the first bad definition
} loading;

typedef struct loaded {  // by dlopen handle, for the second load
  struct loaded *next;
  void *handle;
  uint8_t *op_list;
  size_t bytes;
} loaded;

static _Thread_local loading *current;
static fy_mutex lock = FY_MUTEX_INIT;
static loaded *libraries;  // guarded by |lock|

__attribute__((destructor)) static void free_libraries(void) {
  while (libraries) {
    loaded *l = libraries;
    libraries = l->next;
    fy_free(l->op_list);
    fy_free(l);
  }
}

bool fy_api_library_note(const fy_op *op, fy_code code, const fy_error *err) {
  loading *l = current;
  if (!l) return false;
  if (!code && op && fy_grow(&l->ops, &l->cap, l->n + 1, sizeof *l->ops)) l->ops[l->n++] = op;
  if (code && code != FY_ALREADY_EXISTS && l->error.code == FY_OK)
    fy_fail(&l->error, code, "%s", err ? fy_error_text(err) : "");
  return true;
}

static fy_code write_ops(const loading *l, uint8_t **bytes, size_t *n, fy_error *err) {
  fy_arena arena;
  Tensorflow__OpList list;
  tensorflow__op_list__init(&list);
  fy_arena_init(&arena);
  list.op = fy_arena_array(&arena, l->n + 1, sizeof *list.op);
  fy_code code = list.op ? FY_OK : fy_fail_oom(err, l->n * sizeof *list.op);
  for (size_t i = 0; i < l->n && !code; i++)
    code = fy_spec_to_opdef(l->ops[i]->spec, &arena, &list.op[list.n_op++], err);
  if (!code) code = fy_wire_pack(&list.base, bytes, n, err);
  fy_arena_free(&arena);
  return code;
}

// Remembers what |handle| registered, or finds what it did the first time. Takes |bytes|.
static fy_code remember(void *handle, uint8_t *bytes, size_t n, loaded **out, fy_error *err) {
  fy_code code = FY_OK;
  fy_lock(&lock);
  loaded *l = libraries;
  while (l && l->handle != handle) l = l->next;
  if (l) {
    fy_free(bytes);
  } else if ((l = fy_malloc(sizeof *l))) {
    *l = (loaded){libraries, handle, bytes, n};
    libraries = l;
  } else {
    fy_free(bytes);
    code = fy_fail_oom(err, sizeof *l);
  }
  fy_unlock(&lock);
  *out = l;
  return code;
}

static fy_code open_library(const char *file, void **handle, loading *l, fy_error *err) {
  loading *outer = current;
  current = l;
  *handle = dlopen(file, RTLD_NOW | RTLD_LOCAL);
  current = outer;
  if (!*handle) {
    const char *why = dlerror();
    return fy_fail(err, FY_NOT_FOUND, "%s", why ? why : file);
  }
  if (l->error.code) return fy_fail(err, l->error.code, "%s", fy_error_text(&l->error));
  return FY_OK;
}

static TF_Library *load(const char *file, void (*after)(void *handle), TF_Status *status) {
  fy_error *err = fy_api_begin(status);
  loading l = {0};
  void *handle;
  uint8_t *bytes = NULL;
  size_t n = 0;
  loaded *known = NULL;
  TF_Library *out = NULL;
  fy_error_init(&l.error);
  fy_code code = open_library(file, &handle, &l, err);
  if (!code && after) after(handle);
  if (!code) code = write_ops(&l, &bytes, &n, err);
  if (!code) code = remember(handle, bytes, n, &known, err);
  if (!code && !(out = fy_calloc(1, sizeof *out))) code = fy_fail_oom(err, sizeof *out);
  if (out && (out->op_list = fy_malloc(known->bytes + 1))) {
    memcpy(out->op_list, known->op_list, known->bytes);
    out->op_list_bytes = known->bytes;
    out->handle = handle;
  } else if (out) {
    code = fy_fail_oom(err, known->bytes);
    fy_free(out);
    out = NULL;
  }
  fy_error_clear(&l.error);
  fy_free(l.ops);
  fy_api_end(status, code);
  return out;
}

TF_Library *TF_LoadLibrary(const char *library_filename, TF_Status *status) {
  return load(library_filename, NULL, status);
}

TF_Buffer TF_GetOpList(TF_Library *lib_handle) {
  return (TF_Buffer){lib_handle->op_list, lib_handle->op_list_bytes, NULL};
}

void TF_DeleteLibraryHandle(TF_Library *lib_handle) {
  if (!lib_handle) return;
  fy_free(lib_handle->op_list);
  fy_free(lib_handle);
}

// A device plugin also has kernels to register; its devices (StreamExecutor) are not supported.
static void init_kernels(void *handle) {
  void (*init)(void);
  *(void **)&init = dlsym(handle, "TF_InitKernel");
  if (init) init();
}

TF_Library *TF_LoadPluggableDeviceLibrary(const char *library_filename, TF_Status *status) {
  return load(library_filename, init_kernels, status);
}

void TF_DeletePluggableDeviceLibraryHandle(TF_Library *lib_handle) {
  TF_DeleteLibraryHandle(lib_handle);
}
