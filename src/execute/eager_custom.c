// SPDX-License-Identifier: Apache-2.0
// eager_custom.c: custom devices of a context, and the handles that live on them. A device stays
// until the context and its last handle are gone; what it can do ends with the context.
// Not here: calling the client (api/eager_custom.c).

#include <string.h>

#include "base/alloc.h"
#include "execute/eager_impl.h"

static fy_custom_device *find(const fy_eager *c, const char *name) {
  fy_custom_device *d = c->customs;
  while (d && strcmp(d->name, name) != 0) d = d->next;
  return d;
}

fy_custom_device *fy_eager_find_custom(fy_eager *c, const char *name) {
  if (!name) return NULL;
  fy_lock(&c->lock);
  fy_custom_device *d = find(c, name);
  fy_unlock(&c->lock);
  return d;
}

fy_code fy_eager_add_custom(fy_eager *c, fy_custom_device *d, fy_error *err) {
  if (*d->name && fy_eager_find_device(c, d->name))
    return fy_fail(err, FY_ALREADY_EXISTS, "%s already registered as a physical device.", d->name);
  fy_devname *n = &d->parsed;
  if (!fy_devname_parse(d->name, n) || !n->has_job || !n->has_replica || !n->has_task ||
      !n->has_type || !n->has_id)
    return fy_fail(err, FY_INVALID_ARGUMENT,
                   "%s could not be parsed as a device name. Use the full "
                   "/job:<name>/replica:<replica>/task:<task>/device:<type>:<device_num> format.",
                   d->name);
  fy_lock(&c->lock);
  bool known = find(c, d->name) != NULL;
  if (!known) {
    d->next = c->customs;
    c->customs = d;
  }
  fy_unlock(&c->lock);
  return known
             ? fy_fail(err, FY_ALREADY_EXISTS, "%s already registered as a custom device.", d->name)
             : FY_OK;
}

void fy_eager_close_customs(fy_eager *c) {
  for (fy_custom_device *d = c->customs; d; d = d->next) {
    d->closed = true;
    d->close(d);
  }
}

void fy_eager_free_customs(fy_eager *c) {
  while (c->customs) {
    fy_custom_device *d = c->customs;
    c->customs = d->next;
    d->free(d);
  }
}

fy_handle *fy_handle_on_custom(fy_eager *c, fy_dtype dtype, fy_custom_value *v) {
  fy_handle *h = fy_handle_pending(c, dtype, NULL, NULL);
  struct fy_handle_extra *x = h ? fy_calloc(1, sizeof *x) : NULL;
  if (!x) {
    if (h) fy_handle_release(h);
    return NULL;
  }
  fy_fail(&x->error, FY_UNIMPLEMENTED, "The value is on the custom device %s.", v->device->name);
  x->custom = v;
  h->extra = x;
  h->custom = true;
  atomic_init(&h->state, FY_HANDLE_FAILED);
  return h;
}

fy_custom_value *fy_handle_custom_value(const fy_handle *h) {
  return h->extra->custom;
}
