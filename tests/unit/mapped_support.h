// SPDX-License-Identifier: Apache-2.0
// mapped_support.h: what the tests of mapped files share: a folder with a checkpoint in it, and another
// process that spoils it.

#ifndef TESTS_MAPPED_SUPPORT_H
#define TESTS_MAPPED_SUPPORT_H

#include "wire_support.h"

#include <dirent.h>
#include <fcntl.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include "wire/bundle.h"
#include "wire/bundle_write.h"
#include "wire/mapping.h"

#define N     40000  // floats of a large tensor: 160,000 bytes
#define SHARD ".data-00000-of-00001"

static char dir[64];
static bool leases;  // does the file system of |dir| give any?

static inline const char *in_dir(const char *name) {
  static char path[4][336];
  static int next;
  next = (next + 1) % 4;
  snprintf(path[next], sizeof path[next], "%s/%s", dir, name);
  return path[next];
}

static inline float value(int key, int64_t i) {
  return (float)((i * 7 + key * 13) % 1009) / 8;
}

static inline fy_tensor *floats(int key, int64_t n) {
  fy_tensor *t;
  assert_ok(fy_tensor_new(FY_FLOAT, 1, &n, &t, &err));
  for (int64_t i = 0; i < n; i++) ((float *)t->data)[i] = value(key, i);
  return t;
}

static inline void check(const fy_tensor *t, int key) {
  for (int64_t i = 0; i < t->count; i++)
    if (((const float *)t->data)[i] != value(key, i)) fail_msg("element %d", (int)i);
}

// a: at byte 0; b: one that moves what follows by 3 bytes; c: out of step; d: bytes; e: small, 40 bytes.
static inline void save_as(const char *prefix, const char *order) {
  fy_bundle_writer *w;
  fy_tensor *a = floats(1, N), *c = floats(2, N), *e = floats(3, 10), *b, *d;
  const int64_t three = 3, many = 70000;
  assert_ok(fy_tensor_new(FY_UINT8, 1, &three, &b, &err));
  assert_ok(fy_tensor_new(FY_UINT8, 1, &many, &d, &err));
  memset(b->data, 5, 3);
  for (int64_t i = 0; i < many; i++) ((uint8_t *)d->data)[i] = (uint8_t)(i * 31);
  fy_tensor *all[] = {a, b, c, d, e};
  assert_ok(fy_bundle_writer_new(prefix, &w, &err));
  for (const char *name = order; *name; name++)
    assert_ok(fy_bundle_writer_add(w, (fy_view){name, 1}, all[*name - 'a'], &err));
  for (int i = 0; i < 5; i++) fy_tensor_release(all[i]);
  assert_ok(fy_bundle_writer_finish(w, &err));
  fy_bundle_writer_free(w);
}

static inline void save(const char *prefix) {
  save_as(prefix, "abcde");
}

static inline fy_tensor *load(const char *prefix, const char *name) {
  fy_wire_bundle *b;
  fy_tensor *t;
  assert_ok(fy_wire_bundle_open(prefix, &b, &err));
  assert_ok(fy_wire_bundle_read(b, name, &t, &err));
  fy_wire_bundle_close(b);
  return t;
}

static inline int setup(void **state) {
  (void)state;
  fy_error_init(&err);
  unsetenv("FERRY_WEIGHTS");
  strcpy(dir, "/tmp/ferry_mapped_XXXXXX");
  if (!mkdtemp(dir)) return -1;
  const int fd = open(in_dir("probe"), O_CREAT | O_RDONLY, 0600);
  leases = fcntl(fd, F_SETLEASE, F_RDLCK) == 0;
  close(fd);
  return 0;
}

static inline int teardown(void **state) {
  (void)state;
  DIR *d = opendir(dir);
  for (struct dirent *e; d && (e = readdir(d));)
    if (e->d_name[0] != '.') unlink(in_dir(e->d_name));
  if (d) closedir(d);
  rmdir(dir);
  fy_error_clear(&err);
  unsetenv("FERRY_WEIGHTS");
  return 0;
}

typedef enum deed { CUT, OVERWRITE, APPEND, REMOVE, REPLACE, NUM_DEEDS } deed;

// In a process of its own: nothing but system calls.
static inline int do_deed(deed what, const char *path, const char *other) {
  static char junk[2 * N];
  memset(junk, 0x55, sizeof junk);
  int fd = -1;
  switch (what) {
    case CUT: return truncate(path, 100);
    case OVERWRITE:
    case APPEND: fd = open(path, O_WRONLY | (what == OVERWRITE ? O_TRUNC : O_APPEND)); break;
    case REMOVE: return unlink(path);
    default:
      fd = open(other, O_CREAT | O_WRONLY, 0600);
      if (fd >= 0 && rename(other, path) != 0) return -1;
  }
  if (fd < 0 || write(fd, junk, sizeof junk) != (ssize_t)sizeof junk) return -1;
  return close(fd);
}

// Ends a forked child as another program: Valgrind would ask the child for all that its parent owns.
static inline void end_child(bool ok) {
  execl(ok ? "/bin/true" : "/bin/false", "end", (char *)NULL);
  _exit(2);
}

static inline void let_another(deed what, const char *path) {
  char name[336], other[344];
  snprintf(name, sizeof name, "%s", path);
  snprintf(other, sizeof other, "%s.new", path);
  const pid_t child = fork();
  if (child == 0) end_child(do_deed(what, name, other) == 0);
  int status;
  assert_int_equal(waitpid(child, &status, 0), child);
  assert_true(WIFEXITED(status) && WEXITSTATUS(status) == 0);
}

#endif
