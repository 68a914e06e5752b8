// SPDX-License-Identifier: Apache-2.0
// named.h: handles of containers that a graph names: by shared_name, or after their node; and what a node
// keeps without a handle.

#ifndef FY_OPS_NAMED_H
#define FY_OPS_NAMED_H

#include "ops/op.h"
#include "ops/resource.h"

static inline fy_view fy_named_name(const fy_site *site) {
  const fy_view name = fy_site_string(site, "shared_name");
  return name.n ? name : fy_view_of(site->node_name ? site->node_name : site->op->spec->name);
}

// Finds or makes (|make| with the site as argument) what this node's attributes name.
FY_MUST_CHECK static inline fy_code fy_named_get(fy_kernel_ctx *ctx, const fy_object_type *type,
                                                 fy_resource_factory make, fy_object **out,
                                                 fy_error *err) {
  const fy_site *site = ctx->site;
  const fy_view name = fy_named_name(site);
  fy_resources *r = ctx->svc->resources ? ctx->svc->resources(ctx) : NULL;
  if (!r) return make(fy_site_string(site, "container"), name, site, out, err);
  return fy_resources_get(r, type, fy_site_string(site, "container"), name, make, site, out, err);
}

// In prepare(): finds or makes (|make| with |arg|) what belongs to the node rather than to one of its sites (a generator): a
// session has many programs, and its node is in each that needs it.
FY_MUST_CHECK static inline fy_code fy_site_keep(const fy_site *site, const fy_object_type *type,
                                                 fy_resource_factory make, const void *arg,
                                                 fy_object **out, fy_error *err) {
  const fy_view in = fy_view_of(site->body_of ? site->body_of : "");
  const fy_view name = fy_view_of(site->node_name ? site->node_name : "");
  if (!site->kept || !name.n) return make(in, name, arg, out, err);
  return fy_resources_get(site->kept, type, in, name, make, arg, out, err);
}

// The same as the kernel of a handle: output 0.
FY_MUST_CHECK static inline fy_code fy_named_handle(fy_kernel_ctx *ctx, const fy_object_type *type,
                                                    fy_resource_factory make, fy_error *err) {
  fy_tensor *out;
  fy_object *object;
  FY_TRY(fy_out(ctx, 0, 0, NULL, &out, err));
  FY_TRY(fy_named_get(ctx, type, make, &object, err));
  fy_resource_put(out, object);
  return FY_OK;
}

// Waits under |lock| for a change, a little; CANCELLED when the run is to stop.
FY_MUST_CHECK static inline fy_code fy_named_wait(fy_kernel_ctx *ctx, fy_cond *changed,
                                                  fy_mutex *lock, const char *what, fy_error *err) {
  if (ctx->svc->cancelled && ctx->svc->cancelled(ctx))
    return fy_fail(err, FY_CANCELLED, "%s operation was cancelled", what);
  fy_cond_wait_until(changed, lock, fy_now_ns() + 2000000);
  return FY_OK;
}

// A tensor of an input that may be kept beyond the call; one reference.
FY_MUST_CHECK static inline fy_code fy_named_keep(fy_tensor *t, fy_tensor **out, fy_error *err) {
  return t->buffer ? fy_tensor_alias(t, t->dtype, t->rank, t->dims, out, err)
                   : fy_tensor_clone(t, out, err);
}

#endif
