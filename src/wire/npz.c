// SPDX-License-Identifier: Apache-2.0
// npz.c: arrays in a zip archive. The central directory at the end is what counts; the headers
// before each member are only skipped.

#include <string.h>

#include "base/alloc.h"
#include "base/arena.h"
#include "wire/inflate.h"
#include "wire/npy.h"

enum { END_SIZE = 22, CENTRAL_SIZE = 46, LOCAL_SIZE = 30, MAX_COMMENT = 65535 };

typedef struct member {
  fy_view name;
  unsigned method;
  uint32_t crc;
  size_t packed, plain, local;  // sizes, and where the local header is
} member;

struct fy_wire_npz {
  fy_arena arena;
  const uint8_t *bytes;
  size_t n;
  member *members;
  size_t count;
};

static unsigned read16(const uint8_t *p) {
  return (unsigned)p[0] | (unsigned)p[1] << 8;
}
static uint32_t read32(const uint8_t *p) {
  return read16(p) | (uint32_t)read16(p + 2) << 16;
}

static const uint8_t *find_end(const uint8_t *bytes, size_t n) {
  for (size_t back = END_SIZE; back <= n && back <= END_SIZE + MAX_COMMENT; back++) {
    const uint8_t *p = bytes + n - back;
    if (memcmp(p, "PK\5\6", 4) == 0) return p;
  }
  return NULL;
}

static fy_code malformed(fy_error *err, const char *what) {
  return fy_fail(err, FY_INVALID_ARGUMENT, "npz: %s", what);
}

static fy_code read_member(fy_wire_npz *z, const uint8_t **at, const uint8_t *end, fy_error *err) {
  const uint8_t *p = *at;
  if (end - p < CENTRAL_SIZE || memcmp(p, "PK\1\2", 4) != 0) {
    return malformed(err, "the directory of the archive is cut off");
  }
  size_t name_n = read16(p + 28), skip = name_n + read16(p + 30) + read16(p + 32);
  if (skip > (size_t)(end - p) - CENTRAL_SIZE) {
    return malformed(err, "the directory of the archive is cut off");
  }
  const char *name = (const char *)p + CENTRAL_SIZE;
  member m = {.method = read16(p + 10),
              .crc = read32(p + 16),
              .packed = read32(p + 20),
              .plain = read32(p + 24),
              .local = read32(p + 42)};
  if (read16(p + 8) & 1) return fy_fail(err, FY_UNIMPLEMENTED, "npz: the archive is encrypted");
  if (m.packed == UINT32_MAX || m.plain == UINT32_MAX || m.local == UINT32_MAX) {
    return fy_fail(err, FY_UNIMPLEMENTED, "npz: members of 4 GiB and more are not read");
  }
  *at = p + CENTRAL_SIZE + skip;
  if (name_n < 4 || memcmp(name + name_n - 4, ".npy", 4) != 0) return FY_OK;  // no array
  char *copy = fy_arena_strndup(&z->arena, name, name_n - 4);
  if (!copy) return fy_fail_oom(err, name_n);
  m.name = (fy_view){copy, name_n - 4};
  z->members[z->count++] = m;
  return FY_OK;
}

static fy_code read_directory(fy_wire_npz *z, fy_error *err) {
  const uint8_t *end = find_end(z->bytes, z->n);
  if (!end) return malformed(err, "not a zip archive");
  size_t total = read16(end + 10), start = read32(end + 16);
  if (start > (size_t)(end - z->bytes)) return malformed(err, "the directory lies outside");
  z->members = fy_arena_array(&z->arena, total ? total : 1, sizeof *z->members);
  if (!z->members) return fy_fail_oom(err, total * sizeof *z->members);
  const uint8_t *p = z->bytes + start;
  for (size_t i = 0; i < total; i++) FY_TRY(read_member(z, &p, end, err));
  return FY_OK;
}

fy_code fy_wire_npz_open(const void *bytes, size_t n, fy_wire_npz **out, fy_error *err) {
  *out = NULL;
  fy_wire_npz *z = fy_calloc(1, sizeof *z);
  if (!z) return fy_fail_oom(err, sizeof *z);
  fy_arena_init(&z->arena);
  z->bytes = bytes;
  z->n = n;
  fy_code code = read_directory(z, err);
  if (code != FY_OK) {
    fy_wire_npz_close(z);
    return code;
  }
  *out = z;
  return FY_OK;
}

void fy_wire_npz_close(fy_wire_npz *z) {
  if (!z) return;
  fy_arena_free(&z->arena);
  fy_free(z);
}

size_t fy_wire_npz_count(const fy_wire_npz *z) {
  return z->count;
}
fy_view fy_wire_npz_name(const fy_wire_npz *z, size_t i) {
  return z->members[i].name;
}

static fy_code read_plain(const member *m, const uint8_t *bytes, fy_tensor **out, fy_error *err) {
  if (fy_wire_crc32(bytes, m->plain) != m->crc) {
    return fy_fail(err, FY_DATA_LOSS, "npz: checksum mismatch");
  }
  return fy_wire_npy_parse(bytes, m->plain, out, err);
}

static fy_code read_data(const member *m, const uint8_t *data, fy_tensor **out, fy_error *err) {
  if (m->method == 0) {
    if (m->packed != m->plain) return malformed(err, "the sizes of a stored member differ");
    return read_plain(m, data, out, err);
  }
  if (m->method != 8) {
    return fy_fail(err, FY_UNIMPLEMENTED, "npz: compression method %u is not read", m->method);
  }
  if (m->plain / 1040 > m->packed) return malformed(err, "the uncompressed size is absurd");
  uint8_t *plain = fy_malloc(m->plain ? m->plain : 1);
  if (!plain) return fy_fail_oom(err, m->plain);
  fy_code code = fy_wire_inflate(data, m->packed, plain, m->plain)
                     ? read_plain(m, plain, out, err)
                     : fy_fail(err, FY_DATA_LOSS, "npz: malformed compressed data");
  fy_free(plain);
  return code;
}

fy_code fy_wire_npz_read(const fy_wire_npz *z, size_t i, fy_tensor **out, fy_error *err) {
  *out = NULL;
  const member *m = &z->members[i];
  fy_code code = FY_OK;
  size_t left = m->local < z->n ? z->n - m->local : 0;
  const uint8_t *local = z->bytes + (left ? m->local : 0);
  size_t skip = 0;
  if (left >= LOCAL_SIZE) skip = LOCAL_SIZE + (size_t)read16(local + 26) + read16(local + 28);
  if (left < LOCAL_SIZE || memcmp(local, "PK\3\4", 4) != 0 || skip > left ||
      m->packed > left - skip) {
    code = malformed(err, "the member runs past the end of the archive");
  } else {
    code = read_data(m, local + skip, out, err);
  }
  if (code != FY_OK && err) {
    fy_error_prepend(err, "'%.*s': ", m->name.n > 100 ? 100 : (int)m->name.n, m->name.p);
  }
  return code;
}
