// SPDX-License-Identifier: Apache-2.0
// mapping.c: mapped files and the tensors in them (mapping.h).
//
// A file is mapped whole, which costs addresses only; ranges say which bytes are in use, so that
// nothing else has to be saved when somebody writes the file. The mapping ends with its last range.

#include "wire/mapping.h"

#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/alloc.h"
#include "base/slab.h"
#include "wire/mapping_impl.h"

#define MAX_FILES 256  // each keeps a descriptor

fy_mutex fy_mappings_mu = FY_MUTEX_INIT;
fy_wire_mapping *fy_mappings;
size_t fy_mappings_moved_files, fy_mappings_moved_bytes;
static size_t num_files;
static char refused[512];  // the last one: "path: why"

static bool wanted(void) {
  const char *wish = getenv("FERRY_WEIGHTS");
  return (!wish || !strstr(wish, "read")) && sysconf(_SC_PAGESIZE) == (long)FY_PAGE;
}

// ---------------------------------------------------------------- files
// With the lock held; NULL or why not.
static const char *map_file(const fy_wire_file *file, fy_wire_mapping *m) {
  struct stat st;
  if (num_files >= MAX_FILES) return "too many files are mapped already";
  m->fd = fcntl(file->fd, F_DUPFD_CLOEXEC, 0);
  if (m->fd < 0) return "there is no free file descriptor";
  const char *why = fy_lease_take(m->fd);
  if (why) {
    close(m->fd);
    return why;
  }
  m->pid = getpid();
  m->bytes = (size_t)file->bytes;
  if (fstat(m->fd, &st) != 0 || !S_ISREG(st.st_mode) || (uint64_t)st.st_size != file->bytes) {
    why = "it changed while it was opened";
  } else {
    void *base = mmap(NULL, m->bytes, PROT_READ, MAP_PRIVATE | MAP_NORESERVE, m->fd, 0);
    m->base = base;
    if (base == MAP_FAILED) why = "it could not be mapped";
  }
  if (why) fy_lease_drop(m);
  return why;
}

fy_wire_mapping *fy_wire_mapping_open(const fy_wire_file *file, const char *path) {
  if (file->fd < 0 || file->bytes < FY_MAPPED_BYTES || file->bytes > PTRDIFF_MAX || !wanted())
    return NULL;
  fy_wire_mapping *m = fy_calloc(1, sizeof *m);
  if (!m) return NULL;
  fy_lock(&fy_mappings_mu);
  const char *why = map_file(file, m);
  if (why) {
    snprintf(refused, sizeof refused, "%s: %s", path, why);
  } else {
    m->open = true;
    m->next = fy_mappings;
    if (m->next) m->next->prev = m;
    fy_mappings = m;
    num_files++;
  }
  fy_unlock(&fy_mappings_mu);
  if (!why) return m;
  fy_free(m);
  return NULL;
}

// With the lock held.
static void end_if_unused(fy_wire_mapping *m) {
  if (m->open || m->ranges) return;
  if (m->prev)
    m->prev->next = m->next;
  else
    fy_mappings = m->next;
  if (m->next) m->next->prev = m->prev;
  num_files--;
  munmap(m->base, m->bytes);
  fy_lease_drop(m);
  fy_free(m);
}

void fy_wire_mapping_close(fy_wire_mapping *m) {
  if (!m) return;
  fy_lock(&fy_mappings_mu);
  m->open = false;
  end_if_unused(m);
  fy_unlock(&fy_mappings_mu);
}

// ---------------------------------------------------------------- ranges
// With the lock held.
static fy_wire_range *add_range(fy_wire_mapping *m, size_t offset, size_t bytes) {
  fy_wire_range *r = fy_calloc(1, sizeof *r);
  if (!r) return NULL;
  *r = (fy_wire_range){.of = m, .offset = offset, .bytes = bytes, .next = m->ranges};
  if (r->next) r->next->prev = r;
  m->ranges = r;
  return r;
}

// With the lock held. The whole pages of |r|; false if there are none, or if they are the only copy.
static bool rest(const fy_wire_range *r) {
  const size_t begin = (r->offset + FY_PAGE - 1) & ~(FY_PAGE - 1),
               end = (r->offset + r->bytes) & ~(FY_PAGE - 1);
  return r->of->fd >= 0 && end > begin &&
         madvise(r->of->base + begin, end - begin, MADV_DONTNEED) == 0;
}

static void drop_range(fy_wire_range *r) {
  fy_wire_mapping *m = r->of;
  fy_lock(&fy_mappings_mu);
  if (r->prev)
    r->prev->next = r->next;
  else
    m->ranges = r->next;
  if (r->next) r->next->prev = r->prev;
  (void)rest(r);
  end_if_unused(m);
  fy_unlock(&fy_mappings_mu);
  fy_free(r);
}

// ---------------------------------------------------------------- tensors
// As a client's deallocator: memory that is not ours to write (tensor.c).
static void release_range(void *data, size_t bytes, void *range) {
  (void)data;
  (void)bytes;
  drop_range(range);
}

bool fy_wire_mapping_has(const fy_tensor *t) {
  return t->buffer && t->buffer->user_dealloc == release_range;
}

// All pages of it at once; what cannot be read is told here instead of by a signal later.
static bool touch(const fy_wire_range *r) {
#ifdef MADV_POPULATE_READ
  const size_t begin = r->offset & ~(FY_PAGE - 1);
  return madvise(r->of->base + begin, r->offset + r->bytes - begin, MADV_POPULATE_READ) == 0 ||
         errno == EINVAL;  // a kernel before 5.14
#else
  (void)r;
  return true;
#endif
}

static bool fits(size_t offset, fy_dtype dtype, fy_pshape shape, size_t *bytes) {
  int64_t count;
  return fy_dtype_is_plain(dtype) && fy_shape_count(shape.rank, shape.dims, &count) &&
         fy_mul_size((size_t)count, fy_dtype_storage(dtype), bytes) && *bytes >= FY_MAPPED_BYTES &&
         offset % fy_dtype_storage(dtype) == 0;
}

// Over a range, which it takes in any case.
static fy_code tensor_over(fy_wire_range *r, fy_dtype dtype, fy_pshape shape, fy_tensor **out,
                           fy_error *err) {
  fy_buffer *b = fy_buffer_wrap(r->of->base + r->offset, r->bytes, dtype);
  if (!b) {
    drop_range(r);
    return fy_fail_oom(err, sizeof *b);
  }
  b->user_dealloc = release_range;
  b->release_arg = r;
  fy_code code = fy_tensor_over(b, b->data, dtype, shape.rank, shape.dims, out, err);
  fy_buffer_release(b);
  return code;
}

// With the lock held. NULL with |*code| OK: it has to be read.
static fy_wire_range *tensor_range(fy_wire_mapping *m, uint64_t offset, fy_dtype dtype,
                                   fy_pshape shape, fy_code *code, fy_error *err) {
  size_t bytes;
  *code = FY_OK;
  if (m->fd < 0 || offset > m->bytes || !fits((size_t)offset, dtype, shape, &bytes) ||
      bytes > m->bytes - (size_t)offset)
    return NULL;
  fy_wire_range *r = add_range(m, (size_t)offset, bytes);
  if (r)
    r->tensor = true;
  else
    *code = fy_fail_oom(err, sizeof *r);
  return r;
}

fy_code fy_wire_mapping_tensor(fy_wire_mapping *m, uint64_t offset, fy_dtype dtype, fy_pshape shape,
                               fy_tensor **out, fy_error *err) {
  fy_code code;
  *out = NULL;
  if (!m) return FY_OK;
  fy_lock(&fy_mappings_mu);
  fy_wire_range *r = tensor_range(m, offset, dtype, shape, &code, err);
  fy_unlock(&fy_mappings_mu);
  if (r && touch(r)) return tensor_over(r, dtype, shape, out, err);
  if (r) drop_range(r);
  return code;
}

static fy_wire_mapping *find(const void *data) {
  fy_wire_mapping *m = fy_mappings;
  while (m && !((const char *)data >= m->base && (const char *)data < m->base + m->bytes))
    m = m->next;
  return m;
}

fy_code fy_wire_mapping_tensor_at(const void *data, fy_dtype dtype, fy_pshape shape,
                                  fy_tensor **out, fy_error *err) {
  fy_code code = FY_OK;
  *out = NULL;
  fy_lock(&fy_mappings_mu);
  fy_wire_mapping *m = find(data);
  fy_wire_range *r =
      m ? tensor_range(m, (size_t)((const char *)data - m->base), dtype, shape, &code, err) : NULL;
  fy_unlock(&fy_mappings_mu);
  return r ? tensor_over(r, dtype, shape, out, err) : code;
}

void fy_wire_view_drop(const void *data, size_t n) {
  fy_lock(&fy_mappings_mu);
  fy_wire_mapping *m = find(data);
  const fy_wire_range r = {
      .of = m, .offset = m ? (size_t)((const char *)data - m->base) : 0, .bytes = n};
  if (m)
    (void)rest(&r);
  else
    fy_pages_drop(data, n);
  fy_unlock(&fy_mappings_mu);
}

bool fy_wire_mapping_rest(const fy_tensor *t) {
  if (!fy_wire_mapping_has(t)) return false;
  fy_lock(&fy_mappings_mu);
  const bool done = rest(t->buffer->release_arg);
  fy_unlock(&fy_mappings_mu);
  return done;
}

// ---------------------------------------------------------------- views
static bool map_view(const fy_wire_file *f, const char *path, fy_wire_view *out) {
  fy_wire_mapping *m = fy_wire_mapping_open(f, path);
  if (!m) return false;
  fy_lock(&fy_mappings_mu);
  if (m->fd >= 0) out->range = add_range(m, 0, m->bytes);
  fy_unlock(&fy_mappings_mu);
  fy_wire_mapping_close(m);  // the range keeps it
  if (!out->range) return false;
  (void)madvise(out->range->of->base, (size_t)f->bytes, MADV_WILLNEED);
  out->bytes = (const uint8_t *)out->range->of->base;
  out->n = (size_t)f->bytes;
  return true;
}

fy_code fy_wire_view_open(const char *path, uint64_t max_bytes, fy_wire_view *out, fy_error *err) {
  *out = (fy_wire_view){0};
  fy_wire_file f;
  FY_TRY(fy_wire_file_open(path, &f, err));
  fy_code code = FY_OK;
  if (f.bytes > max_bytes || !map_view(&f, path, out)) {
    uint8_t *bytes;
    code = fy_wire_file_load_open(&f, path, max_bytes, &bytes, &out->n, err);
    out->bytes = bytes;
  }
  fy_wire_file_close(&f);
  return code;
}

void fy_wire_view_close(fy_wire_view *v) {
  if (v->range)
    drop_range(v->range);
  else
    fy_free((void *)(uintptr_t)v->bytes);
  *v = (fy_wire_view){0};
}

// ---------------------------------------------------------------- reports
fy_wire_mapped fy_wire_mapping_count(void) {
  fy_lock(&fy_mappings_mu);
  fy_wire_mapped c = {.moved_files = fy_mappings_moved_files,
                      .moved_bytes = fy_mappings_moved_bytes};
  for (const fy_wire_mapping *m = fy_mappings; m; m = m->next) {
    c.files += m->fd >= 0;
    for (const fy_wire_range *r = m->ranges; r; r = r->next)
      if (m->fd >= 0 && r->tensor) c.tensors++, c.bytes += r->bytes;
  }
  fy_unlock(&fy_mappings_mu);
  return c;
}

// Why a file in |dir| cannot be mapped; NULL if it can be.
static const char *try_lease(const char *dir) {
  char path[256];
  snprintf(path, sizeof path, "%s/ferry_lease_XXXXXX", dir);
  int fd = mkstemp(path);
  if (fd < 0) return "no file could be made there";
  close(fd);  // a file that is open for writing gets no lease
  fd = open(path, O_RDONLY | O_CLOEXEC);
  unlink(path);
  if (fd < 0) return "a file could not be opened again";
  fy_lock(&fy_mappings_mu);
  const char *why = fy_lease_take(fd);
  fy_unlock(&fy_mappings_mu);
  if (!why) (void)fcntl(fd, F_SETLEASE, F_UNLCK);
  close(fd);
  return why;
}

void fy_wire_mapping_doctor(fy_str *out) {
  const char *tmp = getenv("TMPDIR"), *dir = tmp && *tmp ? tmp : "/tmp";
  if (!wanted()) {
    fy_str_add(out, "read from their files: FERRY_WEIGHTS says so, or pages are not of 4096 bytes");
    return;
  }
  const char *why = try_lease(dir);
  if (why)
    fy_str_printf(out, "read from their files: %s, tried in %s", why, dir);
  else
    fy_str_printf(out, "used where they lie in their files, from %d KiB on (leases work in %s)",
                  (int)(FY_MAPPED_BYTES >> 10), dir);
}

void fy_wire_mapping_report(fy_str *out) {
  const fy_wire_mapped c = fy_wire_mapping_count();
  fy_str_printf(out, "%zu tensors (%.1f MiB) of %zu files are mapped", c.tensors,
                (double)c.bytes / (1 << 20), c.files);
  if (c.moved_files)
    fy_str_printf(out, "; %zu files were copied (%.1f MiB) because somebody wrote them",
                  c.moved_files, (double)c.moved_bytes / (1 << 20));
  fy_lock(&fy_mappings_mu);
  if (refused[0]) fy_str_printf(out, "; read instead: %s", refused);
  fy_unlock(&fy_mappings_mu);
}
