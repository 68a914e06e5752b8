// SPDX-License-Identifier: Apache-2.0
// ferry_tensor.c: host tensors for ferry.h, and .npy files.

#include <errno.h>
#include <fcntl.h>
#include <string.h>
#include <unistd.h>

#include "api/ferry_api.h"
#include "base/alloc.h"
#include "wire/npy.h"

static fy_code check_shape(int rank, const int64_t *dims, fy_error *err) {
  int64_t count;
  if (rank < 0 || rank > FY_MAX_RANK)
    return fy_fail(err, FY_INVALID_ARGUMENT, "a tensor's rank is 0 to %d, not %d", FY_MAX_RANK,
                   rank);
  if (rank && !dims) return fy_fail(err, FY_INVALID_ARGUMENT, "dims is NULL for rank %d", rank);
  if (!fy_shape_count(rank, dims, &count)) {
    char text[128];
    return fy_fail(err, FY_INVALID_ARGUMENT, "%s is not the shape of a tensor",
                   fy_shape_text(rank, dims, text));
  }
  return FY_OK;
}

int ferry_tensor_new(int dtype, int rank, const int64_t *dims, const void *data, ferry_tensor **out,
                     ferry_error *err) {
  fy_error e;
  fy_tensor *t = NULL;
  fy_error_init(&e);
  *out = NULL;
  fy_code code = check_shape(rank, dims, &e);
  if (!code && (!fy_dtype_valid(dtype) || !fy_dtype_is_plain((fy_dtype)dtype)))
    code =
        fy_fail(&e, FY_INVALID_ARGUMENT,
                "dtype %d is not a type of plain numbers (strings: ferry_tensor_strings)", dtype);
  if (!code) code = fy_tensor_new((fy_dtype)dtype, rank, dims, &t, &e);
  if (!code) {
    if (data && fy_tensor_bytes(t))
      memcpy(t->data, data, fy_tensor_bytes(t));
    else if (fy_tensor_bytes(t))
      memset(t->data, 0, fy_tensor_bytes(t));
    *out = (ferry_tensor *)t;
  }
  return fy_ferry_end(code, &e, err);
}

int ferry_tensor_strings(int rank, const int64_t *dims, const char *const *values,
                         ferry_tensor **out, ferry_error *err) {
  fy_error e;
  fy_tensor *t = NULL;
  fy_error_init(&e);
  *out = NULL;
  fy_code code = check_shape(rank, dims, &e);
  if (!code) code = fy_tensor_new(FY_STRING, rank, dims, &t, &e);
  for (int64_t i = 0; !code && i < t->count; i++)
    if (values && values[i] && !fy_tensor_set_string(t, i, values[i], strlen(values[i])))
      code = fy_fail_oom(&e, strlen(values[i]));
  if (code)
    fy_tensor_release(t);
  else
    *out = (ferry_tensor *)t;
  return fy_ferry_end(code, &e, err);
}

int ferry_tensor_load(const char *npy_path, ferry_tensor **out, ferry_error *err) {
  fy_error e;
  fy_tensor *t = NULL;
  fy_error_init(&e);
  *out = NULL;
  fy_code code = fy_wire_npy_load(npy_path, &t, &e);
  if (!code) *out = (ferry_tensor *)t;
  return fy_ferry_end(code, &e, err);
}

// A short write is an error that names the file.
fy_code fy_ferry_write_file(const char *path, const uint8_t *bytes, size_t n, fy_error *err) {
  int fd = open(path, O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC, 0666);
  if (fd < 0)
    return fy_fail(err, errno == ENOENT ? FY_NOT_FOUND : FY_PERMISSION_DENIED, "%s; %s", path,
                   strerror(errno));
  size_t done = 0;
  int failed = 0;
  while (done < n && !failed) {
    ssize_t k = write(fd, bytes + done, n - done);
    if (k > 0)
      done += (size_t)k;
    else if (k < 0 && errno != EINTR)
      failed = errno;
  }
  if (close(fd) != 0 && !failed) failed = errno;
  if (!failed) return FY_OK;
  return fy_fail(err, FY_UNKNOWN, "%s; %s", path, strerror(failed));
}

int ferry_tensor_save(const ferry_tensor *t, const char *npy_path, ferry_error *err) {
  fy_error e;
  uint8_t *bytes = NULL;
  size_t n;
  fy_error_init(&e);
  fy_code code = fy_wire_npy_write(fy_ferry_tensor(t), &bytes, &n, &e);
  if (!code) code = fy_ferry_write_file(npy_path, bytes, n, &e);
  fy_free(bytes);
  return fy_ferry_end(code, &e, err);
}

void ferry_tensor_free(ferry_tensor *t) {
  fy_tensor_release(fy_ferry_tensor(t));
}

int ferry_tensor_dtype(const ferry_tensor *t) {
  return (int)fy_ferry_tensor(t)->dtype;
}

int ferry_tensor_rank(const ferry_tensor *t) {
  return fy_ferry_tensor(t)->rank;
}

int64_t ferry_tensor_dim(const ferry_tensor *t, int i) {
  const fy_tensor *x = fy_ferry_tensor(t);
  return i >= 0 && i < x->rank ? x->dims[i] : -1;
}

int64_t ferry_tensor_count(const ferry_tensor *t) {
  return fy_ferry_tensor(t)->count;
}

size_t ferry_tensor_bytes(const ferry_tensor *t) {
  return fy_tensor_bytes(fy_ferry_tensor(t));
}

void *ferry_tensor_data(ferry_tensor *t) {
  return fy_ferry_tensor(t)->data;
}

// TensorFlow prints no complex numbers; a reader of results wants them, as Python writes them.
static void print_complex(fy_str *out, const fy_tensor *t, int64_t limit) {
  for (int64_t i = 0; i < t->count && i < limit; i++) {
    const bool wide = t->dtype == FY_COMPLEX128;
    const double *d = (const double *)t->data + 2 * i;
    const float *f = (const float *)t->data + 2 * i;
    fy_str_printf(out, "%s%.*g%+.*gj", i ? " " : "", wide ? 17 : 9, wide ? d[0] : (double)f[0],
                  wide ? 17 : 9, wide ? d[1] : (double)f[1]);
  }
  if (t->count > limit) fy_str_add(out, "...");
}

int ferry_tensor_text(const ferry_tensor *t, int64_t limit, char **out) {
  const fy_tensor *x = fy_ferry_tensor(t);
  fy_str s;
  fy_str_init(&s);
  fy_str_add(&s, fy_dtype_name(x->dtype));
  fy_shape_print(&s, x->rank, x->dims);
  fy_str_addc(&s, ' ');
  if (fy_dtype_is_complex(x->dtype) && !x->device)
    print_complex(&s, x, limit);
  else
    fy_tensor_print(&s, x, limit);
  return (int)fy_ferry_text(&s, out, NULL);
}
