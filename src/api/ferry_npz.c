// SPDX-License-Identifier: Apache-2.0
// ferry_npz.c: string elements and .npz archives for ferry.h.

#include <string.h>

#include "api/ferry_api.h"
#include "base/alloc.h"
#include "wire/file.h"
#include "wire/npy.h"

#define MAX_BYTES ((uint64_t)1 << 40)

const char *ferry_dtype_name(int dtype) {
  return fy_dtype_valid(dtype) ? fy_dtype_name((fy_dtype)dtype) : "invalid";
}

const char *ferry_tensor_string(const ferry_tensor *t, int64_t i, size_t *n) {
  const fy_tensor *x = fy_ferry_tensor(t);
  *n = 0;
  if (x->dtype != FY_STRING || i < 0 || i >= x->count) return NULL;
  fy_view v = fy_tensor_string(x, i);
  *n = v.n;
  return v.p ? v.p : "";
}

int ferry_tensor_set_string(ferry_tensor *t, int64_t i, const void *bytes, size_t n,
                            ferry_error *err) {
  fy_error e;
  fy_tensor *x = fy_ferry_tensor(t);
  fy_error_init(&e);
  fy_code code = FY_OK;
  if (x->dtype != FY_STRING || i < 0 || i >= x->count)
    code = fy_fail(&e, FY_INVALID_ARGUMENT, "a %s tensor of %lld elements has no string %lld",
                   fy_dtype_name(x->dtype), (long long)x->count, (long long)i);
  else if (!fy_tensor_set_string(x, i, bytes, n))
    code = fy_fail_oom(&e, n);
  return fy_ferry_end(code, &e, err);
}

static fy_code read_members(const fy_wire_npz *z, int n, char **names, ferry_tensor **tensors,
                            fy_error *err) {
  for (int i = 0; i < n; i++) {
    fy_view name = fy_wire_npz_name(z, (size_t)i);
    fy_tensor *t;
    names[i] = fy_malloc(name.n + 1);
    if (!names[i]) return fy_fail_oom(err, name.n);
    memcpy(names[i], name.p, name.n);
    names[i][name.n] = 0;
    FY_TRY(fy_wire_npz_read(z, (size_t)i, &t, err));
    tensors[i] = (ferry_tensor *)t;
  }
  return FY_OK;
}

int ferry_npz_load(const char *path, int *n, char ***names, ferry_tensor ***tensors,
                   ferry_error *err) {
  fy_error e;
  uint8_t *bytes = NULL;
  size_t size = 0;
  fy_wire_npz *z = NULL;
  fy_error_init(&e);
  *n = 0;
  *names = NULL;
  *tensors = NULL;
  fy_code code = fy_wire_file_load(path, MAX_BYTES, &bytes, &size, &e);
  if (!code) {
    code = fy_wire_npz_open(bytes, size, &z, &e);
    if (!code) {
      size_t count = fy_wire_npz_count(z);
      *names = fy_calloc(count + 1, sizeof **names);
      *tensors = fy_calloc(count + 1, sizeof **tensors);
      *n = (int)count;
      code = *names && *tensors ? read_members(z, *n, *names, *tensors, &e)
                                : fy_fail_oom(&e, count * sizeof **names);
    }
    if (code) fy_error_prepend(&e, "%s: ", path);
  }
  if (code) {
    ferry_npz_free(*n, *names, *tensors);
    *n = 0;
    *names = NULL;
    *tensors = NULL;
  }
  fy_wire_npz_close(z);
  fy_free(bytes);
  return fy_ferry_end(code, &e, err);
}

void ferry_npz_free(int n, char **names, ferry_tensor **tensors) {
  for (int i = 0; i < n; i++) {
    if (names) fy_free(names[i]);
    if (tensors) ferry_tensor_free(tensors[i]);
  }
  fy_free((void *)names);
  fy_free((void *)tensors);
}

int ferry_npz_save(const char *path, int n, const char *const *names, ferry_tensor *const *tensors,
                   ferry_error *err) {
  fy_error e;
  fy_str bytes;
  fy_error_init(&e);
  fy_str_init(&bytes);
  fy_code code = fy_wire_npz_write(names, (const fy_tensor *const *)tensors, n < 0 ? 0 : (size_t)n,
                                   &bytes, &e);
  if (!code) code = fy_ferry_write_file(path, (const uint8_t *)fy_str_text(&bytes), bytes.len, &e);
  fy_str_free(&bytes);
  return fy_ferry_end(code, &e, err);
}
