// SPDX-License-Identifier: Apache-2.0
// spec.c: the registry: from a name to an op.
// A lock-free hash table holds the ops asked for so far; a miss takes the lock, parses the line of
// the embedded table and publishes the entry. A table that grows is replaced, and the old one is
// kept until the library is unloaded, because a reader may still be looking at it.
// Not here: the table's grammar (spec_table.c), checks (spec_check.c), printing (spec_print.c).

#include "ops/spec.h"

#include <stdatomic.h>
#include <string.h>

#include "base/alloc.h"
#include "base/thread.h"
#include "ops/op.h"
#include "ops/spec_table.h"

typedef struct entry {
  fy_op op;  // first: an fy_op* of ours is an entry*
  fy_op_spec spec;
  uint32_t hash, len;
} entry;

typedef struct slots {
  size_t mask, used;
  struct slots *older;
  _Atomic(entry *) at[];
} slots;

typedef struct custom {
  entry *op;
  size_t table_rank;  // how many names of the embedded table come before
} custom;

static _Atomic(slots *) current;
static fy_mutex lock = FY_MUTEX_INIT;
// The rest is guarded by |lock|.
static fy_arena arena;   // all zero is an empty arena
static custom *customs;  // sorted by name
static size_t num_customs, cap_customs;

void fy_op_lock(void) {
  fy_lock(&lock);
}

void fy_op_unlock(void) {
  fy_unlock(&lock);
}

__attribute__((destructor)) static void free_registry(void) {
  slots *s = atomic_exchange(&current, NULL);
  while (s) {
    slots *older = s->older;
    fy_free(s);
    s = older;
  }
  fy_free(customs);
  customs = NULL;
  num_customs = cap_customs = 0;
  fy_arena_free(&arena);
}

// Names are short and looked up for every eager op: eight bytes at a time, no tail loop.
static uint32_t hash_name(const char *p, size_t n) {
  uint64_t h = n * 0x9E3779B97F4A7C15ull, w;
  if (n >= 8) {
    for (size_t i = 0; i + 8 < n; i += 8) {
      memcpy(&w, p + i, 8);
      h = (h ^ w) * 0xFF51AFD7ED558CCDull;
      h ^= h >> 32;
    }
    memcpy(&w, p + n - 8, 8);
  } else {
    w = 0;
    for (size_t i = 0; i < n; i++) w = w << 8 | (unsigned char)p[i];
  }
  h = (h ^ w) * 0xFF51AFD7ED558CCDull;
  return (uint32_t)(h >> 32);
}

static entry *lookup(const char *name, size_t len, uint32_t hash) {
  slots *s = atomic_load_explicit(&current, memory_order_acquire);
  if (FY_UNLIKELY(!s)) return NULL;
  for (size_t i = hash & s->mask;; i = (i + 1) & s->mask) {
    entry *e = atomic_load_explicit(&s->at[i], memory_order_acquire);
    if (!e) return NULL;
    if (e->hash == hash && e->len == len && memcmp(e->spec.name, name, len) == 0) return e;
  }
}

static void put(slots *s, entry *e) {
  size_t i = e->hash & s->mask;
  while (atomic_load_explicit(&s->at[i], memory_order_relaxed)) i = (i + 1) & s->mask;
  atomic_store_explicit(&s->at[i], e, memory_order_release);
  s->used++;
}

// Makes room for one more entry. False when memory is short. Holds the lock.
static bool reserve(void) {
  slots *s = atomic_load_explicit(&current, memory_order_relaxed);
  if (s && (s->used + 1) * 2 <= s->mask + 1) return true;
  size_t count = s ? 2 * (s->mask + 1) : 256;
  slots *bigger = fy_calloc(1, sizeof *bigger + count * sizeof bigger->at[0]);
  if (!bigger) return false;
  bigger->mask = count - 1;
  bigger->older = s;
  for (size_t i = 0; s && i <= s->mask; i++) {
    entry *e = atomic_load_explicit(&s->at[i], memory_order_relaxed);
    if (e) put(bigger, e);
  }
  atomic_store_explicit(&current, bigger, memory_order_release);
  return true;
}

static const fy_op_impl *find_impl(const char *name) {
  size_t low = 0, high = fy_op_impl_count;
  while (low < high) {
    size_t mid = low + (high - low) / 2;
    int order = strcmp(fy_op_impls[mid]->name, name);
    if (order == 0) return fy_op_impls[mid];
    if (order < 0) {
      low = mid + 1;
    } else {
      high = mid;
    }
  }
  return NULL;
}

static void publish(entry *e, uint32_t id) {
  e->len = (uint32_t)strlen(e->spec.name);
  e->hash = hash_name(e->spec.name, e->len);
  e->op.spec = &e->spec;
  e->op.impl = find_impl(e->spec.name);
  e->op.id = id;
  put(atomic_load_explicit(&current, memory_order_relaxed), e);
}

// The entry of a line of the table, parsed now if need be. Holds the lock.
static entry *load_line(size_t line, uint32_t hash) {
  const char *name = fy_spec_table_name(line);
  entry *e = lookup(name, strlen(name), hash);
  if (e) return e;
  e = reserve() ? fy_arena_zalloc(&arena, sizeof *e) : NULL;
  if (!e || fy_spec_table_parse(line, &arena, &e->spec, NULL)) return NULL;
  publish(e, (uint32_t)line);
  return e;
}

const fy_op *fy_op_find(const char *name, size_t len) {
  uint32_t hash = hash_name(name, len);
  entry *e = lookup(name, len, hash);
  if (FY_UNLIKELY(!e)) {
    size_t line = fy_spec_table_find(name, len);
    if (line == fy_spec_table_count()) return NULL;
    fy_lock(&lock);
    e = load_line(line, hash);
    fy_unlock(&lock);
    if (!e) return NULL;
  }
  // What only TensorFlow's Python modules know is there if it runs here.
  return FY_LIKELY(e->op.impl || !(e->spec.flags & FY_SPEC_PYTHON)) ? &e->op : NULL;
}

size_t fy_op_count(void) {
  fy_lock(&lock);
  size_t n = fy_spec_table_count() + num_customs;
  fy_unlock(&lock);
  return n;
}

// Custom op j stands at place j + its table rank of the merged order.
const fy_op *fy_op_at(size_t index) {
  const fy_op *found = NULL;
  fy_lock(&lock);
  size_t before = 0;
  while (before < num_customs && before + customs[before].table_rank < index) before++;
  if (before < num_customs && before + customs[before].table_rank == index) {
    found = &customs[before].op->op;
  } else if (index - before < fy_spec_table_count()) {
    const char *name = fy_spec_table_name(index - before);
    entry *e = load_line(index - before, hash_name(name, strlen(name)));
    if (e) found = &e->op;
  }
  fy_unlock(&lock);
  return found;
}

static size_t table_rank(const char *name) {
  size_t low = 0, high = fy_spec_table_count();
  while (low < high) {
    size_t mid = low + (high - low) / 2;
    if (strcmp(fy_spec_table_name(mid), name) < 0) {
      low = mid + 1;
    } else {
      high = mid;
    }
  }
  return low;
}

static fy_code add_custom(const fy_op_spec *spec, void *user_shape_fn, const fy_op **out,
                          fy_error *err) {
  entry *e = NULL;
  if (reserve() && fy_grow(&customs, &cap_customs, num_customs + 1, sizeof *customs)) {
    e = fy_arena_zalloc(&arena, sizeof *e);
  }
  if (!e) return fy_fail_oom(err, sizeof *e);
  fy_op_spec *copy = NULL;
  FY_TRY(fy_spec_copy(spec, &arena, &copy, err));
  e->spec = *copy;
  e->spec.flags |= FY_SPEC_CUSTOM;
  e->op.user_shape_fn = user_shape_fn;
  size_t at = num_customs;
  while (at > 0 && strcmp(customs[at - 1].op->spec.name, e->spec.name) > 0) at--;
  memmove(&customs[at + 1], &customs[at], (num_customs - at) * sizeof *customs);
  customs[at] = (custom){e, table_rank(e->spec.name)};
  publish(e, (uint32_t)(fy_spec_table_count() + num_customs));
  num_customs++;
  *out = &e->op;
  return FY_OK;
}

// Puts a client's op in the place of one that TensorFlow's C library does not have. Who found the old one keeps it.
static fy_code replace(const entry *old, const fy_op_spec *spec, void *user_shape_fn,
                       const fy_op **out, fy_error *err) {
  entry *e = fy_arena_zalloc(&arena, sizeof *e);
  fy_op_spec *copy = NULL;
  if (!e) return fy_fail_oom(err, sizeof *e);
  FY_TRY(fy_spec_copy(spec, &arena, &copy, err));
  *e = (entry){.spec = *copy, .len = old->len, .hash = old->hash};
  e->spec.flags |= FY_SPEC_CUSTOM;
  e->op.spec = &e->spec;
  e->op.user_shape_fn = user_shape_fn;
  e->op.id = old->op.id;
  slots *s = atomic_load_explicit(&current, memory_order_relaxed);
  size_t i = e->hash & s->mask;
  while (atomic_load_explicit(&s->at[i], memory_order_relaxed) != old) i = (i + 1) & s->mask;
  atomic_store_explicit(&s->at[i], e, memory_order_release);
  *out = &e->op;
  return FY_OK;
}

fy_code fy_op_register(const fy_op_spec *spec, void *user_shape_fn, const fy_op **out,
                       fy_error *err) {
  const fy_op *unused;
  if (!out) out = &unused;
  *out = NULL;
  size_t len = strlen(spec->name);
  const fy_op *known = fy_op_find(spec->name, len);
  fy_code code = FY_OK;
  fy_lock(&lock);
  // Another thread may have been faster.
  const entry *e = lookup(spec->name, len, hash_name(spec->name, len));
  known = e ? &e->op : known;
  if (!known) {
    code = add_custom(spec, user_shape_fn, out, err);
  } else if (known->spec->flags & FY_SPEC_PYTHON) {
    code = replace(e, spec, user_shape_fn, out, err);
  } else if (fy_spec_equal(known->spec, spec)) {
    *out = known;
  } else {
    code = fy_fail(err, FY_ALREADY_EXISTS, "Op with name %s", spec->name);
  }
  fy_unlock(&lock);
  return code;
}

const char *fy_op_nearest(const char *name) {
  fy_lock(&lock);
  size_t lines = fy_spec_table_count(), n = 0;
  const char *found = NULL;
  const char **names = fy_malloc((lines + num_customs) * sizeof *names);
  if (names) {
    for (size_t i = 0; i < lines; i++) names[n++] = fy_spec_table_name(i);
    for (size_t i = 0; i < num_customs; i++) names[n++] = customs[i].op->spec.name;
    found = fy_nearest(name, names, n);
    fy_free(names);
  }
  fy_unlock(&lock);
  return found;
}

const fy_attr_spec *fy_spec_attr(const fy_op_spec *spec, const char *name) {
  for (size_t i = 0; i < spec->num_attrs; i++) {
    if (strcmp(spec->attrs[i].name, name) == 0) return &spec->attrs[i];
  }
  return NULL;
}

// ---------------------------------------------------------------- copies
typedef struct copier {
  fy_arena *arena;
  bool failed;
} copier;

static const char *copy_text(copier *c, const char *s) {
  if (!s) return NULL;
  char *copy = fy_arena_strdup(c->arena, s);
  if (!copy) c->failed = true;
  return copy;
}

static void *copy_array(copier *c, size_t count, size_t bytes) {
  void *p = fy_arena_array(c->arena, count ? count : 1, bytes);
  if (!p) c->failed = true;
  return p;
}

static const fy_arg_spec *copy_args(copier *c, const fy_arg_spec *from, size_t n) {
  fy_arg_spec *to = copy_array(c, n, sizeof *to);
  for (size_t i = 0; to && i < n; i++) {
    to[i] = from[i];
    to[i].name = copy_text(c, from[i].name);
    to[i].type_attr = copy_text(c, from[i].type_attr);
    to[i].number_attr = copy_text(c, from[i].number_attr);
    to[i].type_list_attr = copy_text(c, from[i].type_list_attr);
  }
  return to;
}

static void copy_allowed(copier *c, fy_attr_spec *to, const fy_attr_spec *from) {
  size_t n = 0;
  if (from->allowed_strings) {
    while (from->allowed_strings[n]) n++;
    const char **strings = copy_array(c, n + 1, sizeof *strings);
    for (size_t i = 0; strings && i < n; i++) strings[i] = copy_text(c, from->allowed_strings[i]);
    to->allowed_strings = strings;
  }
  if (from->allowed_list) {
    for (n = 0; from->allowed_list[n]; n++) {
    }
    to->allowed_list = fy_arena_memdup(c->arena, from->allowed_list, (n + 1) * sizeof(fy_dtype));
    if (!to->allowed_list) c->failed = true;
  }
}

fy_code fy_spec_copy(const fy_op_spec *spec, fy_arena *to_arena, fy_op_spec **out, fy_error *err) {
  copier c = {to_arena, false};
  fy_op_spec *copy = copy_array(&c, 1, sizeof *copy);
  fy_attr_spec *attrs = copy_array(&c, spec->num_attrs, sizeof *attrs);
  *out = NULL;
  if (c.failed) return fy_fail_oom(err, sizeof *copy);
  *copy = *spec;
  copy->name = copy_text(&c, spec->name);
  copy->inputs = copy_args(&c, spec->inputs, spec->num_inputs);
  copy->outputs = copy_args(&c, spec->outputs, spec->num_outputs);
  copy->attrs = attrs;
  copy->deprecated_text = copy_text(&c, spec->deprecated_text);
  copy->cpu_kernels = spec->cpu_kernels ? copy_text(&c, spec->cpu_kernels) : "";
  copy->kernels = spec->kernels ? copy_text(&c, spec->kernels) : "";
  for (size_t i = 0; i < spec->num_attrs && !c.failed; i++) {
    attrs[i] = spec->attrs[i];
    attrs[i].name = copy_text(&c, spec->attrs[i].name);
    attrs[i].type = copy_text(&c, spec->attrs[i].type);
    copy_allowed(&c, &attrs[i], &spec->attrs[i]);
    if (attrs[i].has_default) {
      FY_TRY(fy_attr_copy(&attrs[i].default_value, &spec->attrs[i].default_value, to_arena, err));
    }
  }
  if (c.failed) return fy_fail_oom(err, sizeof *copy);
  *out = copy;
  return FY_OK;
}

static bool same_text(const char *a, const char *b) {
  return strcmp(a ? a : "", b ? b : "") == 0;
}

static bool same_args(const fy_arg_spec *a, const fy_arg_spec *b, size_t n) {
  for (size_t i = 0; i < n; i++) {
    if (!same_text(a[i].name, b[i].name) || a[i].type != b[i].type ||
        !same_text(a[i].type_attr, b[i].type_attr) ||
        !same_text(a[i].number_attr, b[i].number_attr) ||
        !same_text(a[i].type_list_attr, b[i].type_list_attr) || a[i].is_ref != b[i].is_ref)
      return false;
  }
  return true;
}

static bool same_attr(const fy_attr_spec *a, const fy_attr_spec *b) {
  if (!same_text(a->name, b->name) || !same_text(a->type, b->type)) return false;
  if (a->has_default != b->has_default || a->has_minimum != b->has_minimum) return false;
  if (a->has_minimum && a->minimum != b->minimum) return false;
  if (a->has_default && !fy_attr_equal(&a->default_value, &b->default_value)) return false;
  if (a->allowed_types != b->allowed_types) return false;
  if (!a->allowed_strings || !b->allowed_strings) return a->allowed_strings == b->allowed_strings;
  size_t i = 0;
  while (a->allowed_strings[i] && b->allowed_strings[i] &&
         same_text(a->allowed_strings[i], b->allowed_strings[i]))
    i++;
  return !a->allowed_strings[i] && !b->allowed_strings[i];
}

bool fy_spec_equal(const fy_op_spec *a, const fy_op_spec *b) {
  unsigned ignored =
      FY_SPEC_CUSTOM | FY_SPEC_HAS_GRADIENT | FY_SPEC_PYTHON | (0u - FY_SPEC_FULL_TYPE);
  if (a == b) return true;
  if (!same_text(a->name, b->name) || (a->flags | ignored) != (b->flags | ignored)) return false;
  if (a->num_inputs != b->num_inputs || a->num_outputs != b->num_outputs ||
      a->num_attrs != b->num_attrs)
    return false;
  if (!same_args(a->inputs, b->inputs, a->num_inputs) ||
      !same_args(a->outputs, b->outputs, a->num_outputs))
    return false;
  for (size_t i = 0; i < a->num_attrs; i++) {
    if (!same_attr(&a->attrs[i], &b->attrs[i])) return false;
  }
  return true;
}
