// SPDX-License-Identifier: Apache-2.0
// npy.c: read one array. File: magic, version, header length, a Python dict, then the elements.

#include "wire/npy.h"

#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

#include "base/alloc.h"
#include "wire/file.h"
#include "wire/proto_util.h"

enum { MAX_DIMS = 64, MAX_EMPTY_STRINGS = 1 << 20 };

typedef struct header {
  char kind;  // b i u f c S U
  bool swap;  // big-endian
  bool fortran;
  size_t item;  // bytes per element in the file
  fy_dtype dtype;
  int32_t rank;
  int64_t dims[MAX_DIMS];
} header;

typedef struct cursor {
  const char *p, *end;
  fy_error *err;
} cursor;

static fy_code bad(cursor *c, const char *what) {
  return fy_fail(c->err, FY_INVALID_ARGUMENT, "npy: %s in the header", what);
}

static void skip_blank(cursor *c) {
  while (c->p < c->end && (*c->p == ' ' || *c->p == '\n' || *c->p == '\t')) c->p++;
}

static bool accept(cursor *c, char want) {
  skip_blank(c);
  if (c->p == c->end || *c->p != want) return false;
  c->p++;
  return true;
}

static bool read_quoted(cursor *c, fy_view *out) {
  skip_blank(c);
  if (c->p == c->end || (*c->p != '\'' && *c->p != '"')) return false;
  char quote = *c->p++;
  const char *close = memchr(c->p, quote, (size_t)(c->end - c->p));
  if (!close) return false;
  *out = (fy_view){c->p, (size_t)(close - c->p)};
  c->p = close + 1;
  return true;
}

static bool read_int(cursor *c, int64_t *out) {
  skip_blank(c);
  const char *start = c->p;
  *out = 0;
  for (; c->p < c->end && *c->p >= '0' && *c->p <= '9'; c->p++) {
    if (__builtin_mul_overflow(*out, 10, out) || __builtin_add_overflow(*out, *c->p - '0', out)) {
      return false;
    }
  }
  bool some = c->p > start;
  if (c->p < c->end && *c->p == 'L') c->p++;  // Python 2 wrote longs so
  return some;
}

static fy_dtype dtype_of(char kind, size_t item) {
  switch (kind) {
    case 'b': return item == 1 ? FY_BOOL : FY_INVALID;
    case 'i':
      return item == 1   ? FY_INT8
             : item == 2 ? FY_INT16
             : item == 4 ? FY_INT32
             : item == 8 ? FY_INT64
                         : FY_INVALID;
    case 'u':
      return item == 1   ? FY_UINT8
             : item == 2 ? FY_UINT16
             : item == 4 ? FY_UINT32
             : item == 8 ? FY_UINT64
                         : FY_INVALID;
    case 'f':
      return item == 2 ? FY_HALF : item == 4 ? FY_FLOAT : item == 8 ? FY_DOUBLE : FY_INVALID;
    case 'c': return item == 8 ? FY_COMPLEX64 : item == 16 ? FY_COMPLEX128 : FY_INVALID;
    case 'S':
    case 'U': return FY_STRING;
    default: return FY_INVALID;
  }
}

static fy_code read_descr(cursor *c, header *h) {
  fy_view s;
  skip_blank(c);
  if (c->p < c->end && *c->p == '[') {
    return fy_fail(c->err, FY_UNIMPLEMENTED, "npy: structured arrays are not read");
  }
  if (!read_quoted(c, &s)) return bad(c, "no dtype");
  cursor part = {s.p, s.p + s.n, c->err};
  if (s.n && strchr("<>|=", *s.p)) {
    h->swap = *s.p == '>';
    part.p++;
  }
  h->kind = part.p < part.end ? *part.p++ : 0;
  int64_t size = 0;
  if (h->kind == 'O') {
    return fy_fail(c->err, FY_UNIMPLEMENTED, "npy: pickled objects are not read");
  }
  bool sized = read_int(&part, &size);
  h->item = (size_t)size;
  h->dtype =
      sized && part.p == part.end && size <= INT32_MAX ? dtype_of(h->kind, h->item) : FY_INVALID;
  if (h->dtype == FY_INVALID) {
    return fy_fail(c->err, FY_UNIMPLEMENTED, "npy: dtype '%.*s' is not read",
                   s.n > 20 ? 20 : (int)s.n, s.p);
  }
  if (h->kind == 'U') h->item *= 4;
  return FY_OK;
}

static fy_code read_shape(cursor *c, header *h) {
  if (!accept(c, '(')) return bad(c, "no shape");
  while (!accept(c, ')')) {
    if (h->rank == MAX_DIMS) return bad(c, "too many dimensions");
    if (!read_int(c, &h->dims[h->rank])) return bad(c, "bad shape");
    h->rank++;
    if (!accept(c, ',')) {
      if (!accept(c, ')')) return bad(c, "bad shape");
      break;
    }
  }
  return FY_OK;
}

static fy_code read_dict(cursor *c, header *h) {
  unsigned seen = 0;
  if (!accept(c, '{')) return bad(c, "no dictionary");
  while (!accept(c, '}')) {
    fy_view key;
    if (!read_quoted(c, &key) || !accept(c, ':')) return bad(c, "bad key");
    if (fy_view_is(key, "descr")) {
      FY_TRY(read_descr(c, h));
      seen |= 1;
    } else if (fy_view_is(key, "shape")) {
      h->rank = 0;
      FY_TRY(read_shape(c, h));
      seen |= 2;
    } else if (fy_view_is(key, "fortran_order")) {
      skip_blank(c);
      size_t left = (size_t)(c->end - c->p);
      h->fortran = left >= 4 && memcmp(c->p, "True", 4) == 0;
      if (!h->fortran && (left < 5 || memcmp(c->p, "False", 5) != 0)) return bad(c, "bad order");
      c->p += h->fortran ? 4 : 5;
      seen |= 4;
    } else {
      return bad(c, "unknown key");
    }
    if (!accept(c, ',')) {
      if (!accept(c, '}')) return bad(c, "bad dictionary");
      break;
    }
  }
  return seen == 7 ? FY_OK : bad(c, "a key is missing");
}

// Reads the header; |*out_data| is where the elements start.
static fy_code read_header(const uint8_t *bytes, size_t n, header *h, size_t *out_data,
                           fy_error *err) {
  if (n < 10 || memcmp(bytes, "\x93NUMPY", 6) != 0) {
    return fy_fail(err, FY_INVALID_ARGUMENT, "npy: not a .npy file");
  }
  size_t start = bytes[6] == 1 ? 10 : 12, len = (size_t)bytes[8] | (size_t)bytes[9] << 8;
  if (bytes[6] < 1 || bytes[6] > 3) {
    return fy_fail(err, FY_UNIMPLEMENTED, "npy: version %d.%d is not read", bytes[6], bytes[7]);
  }
  if (start == 12 && n >= 12) len |= (size_t)bytes[10] << 16 | (size_t)bytes[11] << 24;
  if (n < start || len > n - start) {
    return fy_fail(err, FY_INVALID_ARGUMENT, "npy: the header of %zu bytes is cut off", len);
  }
  cursor c = {(const char *)bytes + start, (const char *)bytes + start + len, err};
  *out_data = start + len;
  return read_dict(&c, h);
}

// --- elements ---

static void swap_bytes(uint8_t *data, size_t count, size_t size) {
  for (size_t i = 0; i < count; i++, data += size) {
    for (size_t k = 0; k < size / 2; k++) {
      uint8_t byte = data[k];
      data[k] = data[size - 1 - k];
      data[size - 1 - k] = byte;
    }
  }
}

// Element |i| of a string tensor from its fixed-size slot; trailing NULs are padding.
static fy_code put_string(const header *h, const uint8_t *slot, char *scratch, fy_tensor *t,
                          int64_t i, fy_error *err) {
  size_t unit = h->kind == 'U' ? 4 : 1, n = h->item;
  while (n && slot[n - 1] == 0 && (unit == 1 || (slot[n - 2] | slot[n - 3] | slot[n - 4]) == 0)) {
    n -= unit;
  }
  const char *text = (const char *)slot;
  if (unit == 4) {
    char *at = scratch;
    for (size_t k = 0; k < n; k += 4) {
      uint32_t code;
      memcpy(&code, slot + k, 4);
      if (h->swap) code = __builtin_bswap32(code);
      size_t used = fy_wire_put_utf8(code, at);
      at += used;
      if (used == 0) {
        return fy_fail(err, FY_INVALID_ARGUMENT, "npy: element %" PRId64 " is no Unicode text", i);
      }
    }
    text = scratch;
    n = (size_t)(at - scratch);
  }
  return n == 0 || fy_tensor_set_string(t, i, text, n) ? FY_OK : fy_fail_oom(err, n);
}

// Calls for C-order element |i| where it lies in the file.
typedef struct walker {
  int64_t index[MAX_DIMS];
  int64_t stride[MAX_DIMS];
  int64_t at;
} walker;

static void walk_init(walker *w, const header *h) {
  *w = (walker){.at = 0};
  int64_t step = 1;
  for (int32_t k = 0; k < h->rank; k++) {
    int32_t d = h->fortran ? k : h->rank - 1 - k;
    w->stride[d] = step;
    step *= h->dims[d];
  }
}

static void walk_next(walker *w, const header *h) {
  for (int32_t d = h->rank - 1; d >= 0; d--) {
    w->at += w->stride[d];
    if (++w->index[d] < h->dims[d]) return;
    w->at -= w->stride[d] * h->dims[d];
    w->index[d] = 0;
  }
}

static fy_code fill_strings(const header *h, const uint8_t *data, fy_tensor *t, fy_error *err) {
  char *scratch = fy_malloc(h->item ? h->item : 1);
  if (!scratch) return fy_fail_oom(err, h->item);
  walker w;
  walk_init(&w, h);
  fy_code code = FY_OK;
  for (int64_t i = 0; i < t->count && code == FY_OK; i++, walk_next(&w, h)) {
    code = put_string(h, data + (size_t)w.at * h->item, scratch, t, i, err);
  }
  fy_free(scratch);
  return code;
}

static void fill_numbers(const header *h, const uint8_t *data, fy_tensor *t) {
  size_t total = (size_t)t->count * h->item;
  uint8_t *to = t->data;
  if (h->fortran && h->rank > 1) {
    walker w;
    walk_init(&w, h);
    for (int64_t i = 0; i < t->count; i++, walk_next(&w, h)) {
      memcpy(to + (size_t)i * h->item, data + (size_t)w.at * h->item, h->item);
    }
  } else {
    memcpy(to, data, total);
  }
  size_t word = h->kind == 'c' ? h->item / 2 : h->item;
  if (h->swap && word > 1) swap_bytes(to, total / word, word);
  if (h->kind == 'b') {
    for (size_t i = 0; i < total; i++) to[i] = to[i] != 0;
  }
}

fy_code fy_wire_npy_parse(const void *bytes, size_t n, fy_tensor **out, fy_error *err) {
  *out = NULL;
  header h = {0};
  size_t start = 0, need;
  FY_TRY(read_header(bytes, n, &h, &start, err));
  int64_t count;
  if (!fy_shape_count(h.rank, h.dims, &count) || !fy_mul_size((size_t)count, h.item, &need)) {
    return fy_fail(err, FY_INVALID_ARGUMENT, "npy: the shape has too many elements");
  }
  if (need > n - start || (h.item == 0 && count > MAX_EMPTY_STRINGS)) {
    return fy_fail(err, FY_INVALID_ARGUMENT, "npy: the array needs %zu bytes, the file has %zu",
                   need, n - start);
  }
  fy_tensor *t;
  FY_TRY(fy_tensor_new(h.dtype, h.rank, h.dims, &t, err));
  fy_code code = FY_OK;
  const uint8_t *data = (const uint8_t *)bytes + start;
  if (h.dtype == FY_STRING) {
    code = fill_strings(&h, data, t, err);
  } else if (count) {
    fill_numbers(&h, data, t);
  }
  if (code != FY_OK) {
    fy_tensor_release(t);
    return code;
  }
  *out = t;
  return FY_OK;
}

fy_code fy_wire_npy_load(const char *path, fy_tensor **out, fy_error *err) {
  *out = NULL;
  uint8_t *bytes;
  size_t n;
  FY_TRY(fy_wire_file_load(path, INT64_MAX, &bytes, &n, err));
  fy_code code = fy_wire_npy_parse(bytes, n, out, err);
  if (code != FY_OK && err) fy_error_prepend(err, "%s: ", path);
  fy_free(bytes);
  return code;
}
