// SPDX-License-Identifier: Apache-2.0
// eager_why.c: why a call runs where it does, and what it made move. Reasons are written once per
// prepared kernel, copies are counted where they are made: a call that was made before pays nothing.

#include <stdlib.h>
#include <string.h>

#include "base/alloc.h"
#include "execute/eager_impl.h"
#include "ops/op.h"

static const char *name_of(const fy_device *d) {
  return d ? d->name : FY_HOST_NAME;
}

// ------------------------------------------------------------------ reasons
// Adds why |d| cannot run |op|; false if it could.
static bool refuses(const fy_eager_op *op, const fy_attrs *attrs, fy_device *d, fy_str *out) {
  fy_error why;
  fy_error_init(&why);
  const bool yes = fy_eager_supports(op, attrs, d, &why);
  if (!yes)
    fy_str_printf(out, "%s%s cannot run it: %s", out->len ? "; " : "", fy_devname_short(d->name),
                  fy_error_text(&why));
  fy_error_clear(&why);
  return !yes;
}

// Why none of the devices that |name| (NULL: any) admits before |d| was taken.
static void add_refusals(fy_eager *c, const fy_eager_op *op, const fy_attrs *attrs,
                         const fy_devname *name, const fy_device *d, fy_str *out) {
  for (int i = 0; i < c->devices->n; i++) {
    fy_device *other = c->devices->items[i];
    fy_devname full;
    if (other == d || strcmp(other->type, d->type) == 0) continue;
    if (name &&
        (!fy_devname_parse(other->name, &full) || !fy_devname_is_specification(name, &full)))
      continue;
    (void)refuses(op, attrs, other, out);
  }
}

static void reason_of_request(fy_eager *c, const fy_eager_op *op, const fy_attrs *attrs,
                              const fy_device *d, fy_str *out) {
  fy_devname full, name;
  fy_str refusals;
  fy_lock(&c->lock);
  const char *text = c->requests[op->request].text;  // requests are never taken back
  name = c->requests[op->request].name;
  fy_unlock(&c->lock);
  if (fy_devname_parse(d->name, &full) && fy_devname_is_specification(&name, &full)) {
    fy_str_printf(out, "requested by the call's device '%s'", text);
    return;
  }
  fy_str_init(&refusals);
  add_refusals(c, op, attrs, &name, d, &refusals);
  fy_str_printf(out, "'%s' was requested, but %s; soft placement takes what can", text,
                refusals.len ? fy_str_text(&refusals) : "there is no such device");
  fy_str_free(&refusals);
}

const char *fy_eager_reason(fy_eager *c, const fy_eager_op *op, const fy_attrs *attrs,
                            const fy_device *d, fy_arena *arena) {
  if (c->devices->n == 1) return "it is the only device";
  fy_str text;
  fy_str_init(&text);
  fy_device *with = fy_eager_resource_device(c, op);
  if (with == d) {
    fy_str_printf(&text, "its resource is on %s", fy_devname_short(d->name));
  } else if (with) {
    fy_str refusal;
    fy_str_init(&refusal);
    (void)refuses(op, attrs, with, &refusal);
    fy_str_printf(&text, "its resource is on %s, but %s; soft placement takes what can",
                  fy_devname_short(with->name), fy_str_text(&refusal));
    fy_str_free(&refusal);
  } else if (op->request) {
    reason_of_request(c, op, attrs, d, &text);
  } else if (!op->op) {
    fy_str_add(&text,
               "a function without a request starts at the client; its nodes are placed one "
               "by one");
  } else if (d->is_host) {
    add_refusals(c, op, attrs, NULL, d, &text);
  }
  if (!text.len)
    fy_str_add(
        &text,
        "nothing was requested: a GPU comes before a CPU, the first of its kind before others");
  const char *kept = text.failed ? NULL : fy_arena_strdup(arena, fy_str_text(&text));
  fy_str_free(&text);
  return kept ? kept : "memory was too short to say why";
}

// ------------------------------------------------------------------ as a value
static fy_code describe(const fy_eager_kernel *k, fy_arena *arena, fy_eager_call *out,
                        fy_error *err) {
  const fy_site *s = &k->site;
  fy_str types;
  fy_str_init(&types);
  for (int i = 0; i < s->num_inputs; i++)
    fy_str_printf(&types, "%s%s", i ? ", " : "", fy_dtype_name(s->in_types[i]));
  *out = (fy_eager_call){.name = fy_arena_strdup(arena, s->node_name),
                         .types = fy_arena_strdup(arena, fy_str_text(&types)),
                         .device = fy_arena_strdup(arena, k->device->name),
                         .reason = fy_arena_strdup(arena, k->reason)};
  const bool failed = types.failed;
  fy_str_free(&types);
  out->copies = fy_arena_array(arena, (size_t)s->num_inputs + 1, sizeof *out->copies);
  if (failed || !out->name || !out->types || !out->device || !out->reason || !out->copies)
    return fy_fail_oom(err, sizeof *out);
  for (int i = 0; i < s->num_inputs; i++) {
    fy_eager_copied *c = &k->copied[i];
    const int64_t times = atomic_load(&c->times);
    if (!times) continue;
    struct fy_eager_call_copy *copy = &out->copies[out->num_copies++];
    *copy =
        (struct fy_eager_call_copy){.input = i,
                                    .from = fy_arena_strdup(arena, name_of(atomic_load(&c->from))),
                                    .to = fy_arena_strdup(arena, name_of(k->in_device[i])),
                                    .times = times,
                                    .bytes = atomic_load(&c->bytes)};
    if (!copy->from || !copy->to) return fy_fail_oom(err, sizeof *copy);
  }
  return FY_OK;
}

void fy_eager_tell(fy_eager *c, fy_eager_kernel *k) {
  fy_arena arena;
  fy_eager_call call;
  if (!c->explain) return;
  fy_arena_init(&arena);
  if (describe(k, &arena, &call, NULL) == FY_OK) c->explain(&c->options, &call);
  fy_arena_free(&arena);
}

void fy_eager_note_copy(fy_eager *c, fy_eager_kernel *k, int i, const fy_device *from,
                        size_t bytes) {
  fy_eager_copied *copied = &k->copied[i];
  atomic_store(&copied->from, from);
  atomic_fetch_add(&copied->bytes, (long long)bytes);
  if (atomic_fetch_add(&copied->times, 1) == 0) fy_eager_tell(c, k);
}

static int by_name(const void *a, const void *b) {
  const fy_eager_call *x = a, *y = b;
  int order = strcmp(x->name, y->name);
  if (!order) order = strcmp(x->types, y->types);
  return order ? order : strcmp(x->device, y->device);
}

// The prepared kernels, each with a reference, so that they can be read without holding the spin lock.
static fy_code take_kernels(fy_eager *c, fy_eager_kernel ***out, size_t *n, fy_error *err) {
  for (;;) {
    fy_spin_lock(&c->spin);
    const size_t room = c->num_kernels;
    fy_spin_unlock(&c->spin);
    *n = 0;
    *out = fy_malloc((room + 1) * sizeof **out);
    if (!*out) return fy_fail_oom(err, (room + 1) * sizeof **out);
    bool more = false;
    fy_spin_lock(&c->spin);
    for (uint64_t b = 0; b <= c->mask; b++) {
      for (fy_eager_kernel *k = c->buckets[b]; k && !(more |= *n == room); k = k->next) {
        atomic_fetch_add_explicit(&k->users, 1, memory_order_relaxed);
        (*out)[(*n)++] = k;
      }
    }
    fy_spin_unlock(&c->spin);
    if (!more) return FY_OK;
    for (size_t i = 0; i < *n; i++) fy_eager_kernel_put((*out)[i]);  // one came meanwhile
    fy_free(*out);
  }
}

fy_code fy_eager_calls(fy_eager *c, fy_arena *arena, fy_eager_call **out, size_t *n,
                       fy_error *err) {
  fy_eager_kernel **kernels;
  FY_TRY(take_kernels(c, &kernels, n, err));
  *out = fy_arena_array(arena, *n + 1, sizeof **out);
  fy_code code = *out ? FY_OK : fy_fail_oom(err, *n * sizeof **out);
  for (size_t i = 0; i < *n; i++) {
    if (!code) code = describe(kernels[i], arena, &(*out)[i], err);
    fy_eager_kernel_put(kernels[i]);
  }
  fy_free(kernels);
  if (!code) qsort(*out, *n, sizeof **out, by_name);
  return code;
}
