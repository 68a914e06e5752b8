// SPDX-License-Identifier: Apache-2.0
// file.c: positioned reads with a fault point.

#include "wire/file.h"

#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/alloc.h"

static fy_code fail_errno(int number, const char *path, fy_error *err) {
  fy_code code = number == ENOENT || number == ENOTDIR ? FY_NOT_FOUND
                 : number == EACCES || number == EPERM ? FY_PERMISSION_DENIED
                 : number == EISDIR                    ? FY_FAILED_PRECONDITION
                                                       : FY_UNKNOWN;
  char text[128];
  return fy_fail(err, code, "%s; %s", path, strerror_r(number, text, sizeof text));
}

fy_code fy_wire_file_open(const char *path, fy_wire_file *out, fy_error *err) {
  *out = (fy_wire_file){.fd = -1};
  struct stat st;
  if (fy_fault_due(FY_FAULT_READ)) return fail_errno(EIO, path, err);
  int fd = open(path, O_RDONLY | O_CLOEXEC);
  if (fd < 0) return fail_errno(errno, path, err);
  if (fstat(fd, &st) != 0 || S_ISDIR(st.st_mode)) {
    int number = S_ISDIR(st.st_mode) ? EISDIR : errno;
    close(fd);
    return fail_errno(number, path, err);
  }
  *out = (fy_wire_file){.fd = fd, .bytes = (uint64_t)st.st_size};
  return FY_OK;
}

void fy_wire_file_close(fy_wire_file *f) {
  if (f->fd >= 0) close(f->fd);
  f->fd = -1;
}

fy_code fy_wire_file_read(const fy_wire_file *f, uint64_t offset, void *to, size_t n,
                          fy_error *err) {
  if (offset > f->bytes || n > f->bytes - offset) {
    return fy_fail(err, FY_OUT_OF_RANGE,
                   "%zu bytes at byte %" PRIu64 " run past the end of the file (%" PRIu64 ")", n,
                   offset, f->bytes);
  }
  char *at = to;
  while (n) {
    bool fault = fy_fault_due(FY_FAULT_READ);
    ssize_t got = fault ? -1 : pread(f->fd, at, n, (off_t)offset);
    if (fault) errno = EIO;
    if (got < 0 && errno == EINTR) continue;
    if (got <= 0) {
      char text[128];
      return fy_fail(err, FY_DATA_LOSS, "reading %zu bytes at byte %" PRIu64 ": %s", n, offset,
                     got ? strerror_r(errno, text, sizeof text) : "the file has shrunk");
    }
    at += got;
    n -= (size_t)got;
    offset += (uint64_t)got;
  }
  return FY_OK;
}

fy_code fy_wire_file_load_open(const fy_wire_file *f, const char *path, uint64_t max_bytes,
                               uint8_t **out, size_t *out_n, fy_error *err) {
  *out = NULL;
  *out_n = 0;
  const size_t n = (size_t)f->bytes;
  if (f->bytes > max_bytes) {
    return fy_fail(err, FY_INVALID_ARGUMENT,
                   "%s: %" PRIu64 " bytes, more than the %" PRIu64 " allowed", path, f->bytes,
                   max_bytes);
  }
  uint8_t *bytes = fy_malloc(n ? n : 1);
  if (!bytes) return fy_fail_oom(err, n);
  fy_code code = fy_wire_file_read(f, 0, bytes, n, err);
  if (code != FY_OK) {
    if (err) fy_error_prepend(err, "%s: ", path);
    fy_free(bytes);
    return code;
  }
  *out = bytes;
  *out_n = n;
  return FY_OK;
}

fy_code fy_wire_file_load(const char *path, uint64_t max_bytes, uint8_t **out, size_t *out_n,
                          fy_error *err) {
  *out = NULL;
  *out_n = 0;
  fy_wire_file f;
  FY_TRY(fy_wire_file_open(path, &f, err));
  fy_code code = fy_wire_file_load_open(&f, path, max_bytes, out, out_n, err);
  fy_wire_file_close(&f);
  return code;
}
