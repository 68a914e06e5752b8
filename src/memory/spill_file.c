// SPDX-License-Identifier: Apache-2.0
#include "memory/spill_file.h"

#include <errno.h>
#include <fcntl.h>
#include <linux/magic.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/statfs.h>
#include <unistd.h>

#include "base/alloc.h"

// A file in memory would be no gain.
static bool on_disk(const char *dir) {
  struct statfs fs;
  return dir && *dir && statfs(dir, &fs) == 0 && fs.f_type != TMPFS_MAGIC &&
         fs.f_type != RAMFS_MAGIC;
}

const char *fy_spill_file_dir(const char *dir) {
  if (dir && *dir) return dir;  // whoever names one has reasons
  const char *const from[] = {getenv("TMPDIR"), "/var/tmp", "/tmp"};
  for (size_t i = 0; i < sizeof from / sizeof *from; i++)
    if (on_disk(from[i])) return from[i];
  return "/var/tmp";
}

static int open_unnamed(const char *dir) {
  int fd = open(dir, O_TMPFILE | O_RDWR | O_CLOEXEC, 0600);
  if (fd >= 0) return fd;
  char path[4096];  // a file system without unnamed files
  if (snprintf(path, sizeof path, "%s/ferry_spill_XXXXXX", dir) >= (int)sizeof path) return -1;
  fd = mkostemp(path, O_CLOEXEC);
  if (fd >= 0) unlink(path);
  return fd;
}

fy_code fy_spill_file_map(const char *dir, size_t bytes, void **out, fy_error *err) {
  dir = fy_spill_file_dir(dir);
  *out = NULL;
  int code = 0, fd = fy_fault_due(FY_FAULT_ALLOC) ? -1 : open_unnamed(dir);
  void *p = MAP_FAILED;
  if (fd < 0 || bytes > INT64_MAX)
    code = fd < 0 ? errno : EFBIG;
  else
    code = posix_fallocate(fd, 0, (off_t)bytes);
  if (!code) {
    p = mmap(NULL, bytes, PROT_READ | PROT_WRITE, MAP_SHARED, fd, 0);
    if (p == MAP_FAILED) code = errno;
  }
  if (fd >= 0) close(fd);
  if (p == MAP_FAILED)
    return fy_fail(
        err, FY_RESOURCE_EXHAUSTED,
        "ran out of memory: host memory is too small for %zu bytes of planned tensors, and "
        "they cannot be in a file in %s either: %s (option spill_dir)",
        bytes, dir, strerror(code));
  *out = p;
  return FY_OK;
}

void fy_spill_file_unmap(void *p, size_t bytes) {
  if (p) munmap(p, bytes);
}
