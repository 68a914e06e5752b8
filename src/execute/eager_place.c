// SPDX-License-Identifier: Apache-2.0
// eager_place.c: where one call runs (SEMANTICS §2.6): with its resource, else as asked, else on
// the device whose type comes first among those that have a kernel. Nothing is weighed by cost: a
// single call does not know what comes next.

#include <string.h>

#include "base/alloc.h"
#include "execute/eager_impl.h"
#include "graph/node.h"
#include "graph/version.h"
#include "ops/op.h"

#define MAX_TYPES 8

static int type_rank(const char *type) {
  return strcmp(type, "GPU") == 0 ? 0 : strcmp(type, "CPU") == 0 ? 1 : 2;
}

bool fy_eager_supports(const fy_eager_op *op, const fy_attrs *attrs, fy_device *d, fy_error *why) {
  if (!op->op) return true;
  if (!fy_op_has_kernel(op->op, attrs, d->type, why)) return false;
  return d->is_host || !d->ops->supports ||
         d->ops->supports(d, op->op, (const struct fy_attrs *)attrs, why);
}

// The best supported device that |name| (NULL: any) admits.
static fy_device *best(const fy_eager *c, const fy_eager_op *op, const fy_attrs *attrs,
                       const fy_devname *name) {
  fy_device *found = NULL;
  for (int i = 0; i < c->devices->n; i++) {
    fy_device *d = c->devices->items[i];
    fy_devname full;
    if (found && type_rank(d->type) >= type_rank(found->type)) continue;
    if (name && (!fy_devname_parse(d->name, &full) || !fy_devname_is_specification(name, &full)))
      continue;
    if (fy_eager_supports(op, attrs, d, NULL)) found = d;
  }
  return found;
}

// ------------------------------------------------------------------ refusals
// An attribute that the kernels' constraints name must be there before any of them can be chosen.
static fy_code check_constraints(const fy_eager_op *op, const fy_attrs *attrs, fy_error *err) {
  const fy_op_spec *spec = op->op->spec;
  const char *p = spec->cpu_kernels;
  if (!p || (!op->op->impl && !spec->deprecated_version)) return FY_OK;
  while (*p) {
    size_t n = strcspn(p, "=,;!@");
    if (p[n] == '=') {
      char name[64];
      if (n < sizeof name) {
        memcpy(name, p, n);
        name[n] = '\0';
        if (!fy_attrs_get(attrs, name)) {
          size_t value = strcspn(p + n + 1, "|,;!@");
          fy_str text;
          fy_dtype type = FY_INVALID;
          fy_dtype_parse(p + n + 1, value, &type);
          fy_str_init(&text);
          fy_attrs_print(&text, attrs);
          fy_fail(err, FY_INVALID_ARGUMENT,
                  "OpKernel '%s' has constraint on attr '%s' not in NodeDef '[%s]', KernelDef: "
                  "'goo.gle/debugstr op: \"%s\" device_type: \"CPU\" constraint { name: \"%s\" "
                  "allowed_values { list { type: %s } } }'",
                  op->name, name, fy_str_text(&text), op->name, name, fy_dtype_enum_name(type));
          fy_str_free(&text);
          return FY_INVALID_ARGUMENT;
        }
      }
    }
    p += n;
    if (*p == '=') p += 1 + strcspn(p + 1, ",;");
    if (*p) p++;
  }
  return FY_OK;
}

static fy_code no_kernel(const fy_eager_op *op, const fy_attrs *attrs, fy_error *err) {
  FY_TRY(fy_spec_check_attrs(op->op->spec, attrs, op->name, err));
  fy_str text, kernels;
  fy_str_init(&text);
  fy_str_init(&kernels);
  fy_attrs_print(&text, attrs);
  fy_op_print_kernels(&kernels, op->op);
  fy_code code = fy_fail(err, FY_NOT_FOUND,
                         "Could not find device for node: {{node %s}} = %s[%s]\nAll kernels "
                         "registered for op %s:\n%s",
                         op->name, op->name, fy_str_text(&text), op->name, fy_str_text(&kernels));
  fy_str_free(&text);
  fy_str_free(&kernels);
  return code;
}

static fy_code no_device(const fy_eager *c, const fy_eager_op *op, const fy_attrs *attrs,
                         const char *request, bool soft, fy_error *err) {
  const char *types[MAX_TYPES];
  int n = 0;
  fy_str all;
  fy_str_init(&all);
  for (int i = 0; i < c->devices->n; i++) {
    fy_device *d = c->devices->items[i];
    bool seen = false;
    fy_str_printf(&all, "%s%s", i ? ", " : "", d->name);
    for (int k = 0; k < n; k++) seen |= strcmp(types[k], d->type) == 0;
    if (!seen && n < MAX_TYPES && fy_eager_supports(op, attrs, d, NULL)) types[n++] = d->type;
  }
  fy_str list;
  fy_str_init(&list);
  for (int i = 0; i < n; i++) fy_str_printf(&list, "%s%s", i ? ", " : "", types[i]);
  fy_code code = fy_fail(err, FY_INVALID_ARGUMENT,
                         "Could not satisfy device specification '%s'. enable_soft_placement=%d. "
                         "Supported device types [%s]. All available devices [%s].",
                         request, soft, fy_str_text(&list), fy_str_text(&all));
  fy_str_free(&list);
  fy_str_free(&all);
  return code;
}

// The device is given (by a resource) but has no kernel.
static fy_code no_kernel_there(const fy_eager_op *op, const fy_attrs *attrs, const fy_device *d,
                               fy_error *err) {
  fy_str text, kernels;
  if (op->op) FY_TRY(fy_spec_check_attrs(op->op->spec, attrs, op->name, err));
  fy_str_init(&text);
  fy_str_init(&kernels);
  fy_attrs_print(&text, attrs);
  fy_op_print_kernels(&kernels, op->op);
  fy_code code = fy_fail(err, FY_NOT_FOUND,
                         "No registered '%s' OpKernel for '%s' devices compatible with node {{node "
                         "%s}}\n\t (OpKernel was found, but attributes didn't match) Requested "
                         "Attributes: %s\n\t.  Registered:  %s",
                         op->name, d->type, op->name, fy_str_text(&text),
                         fy_str_text(&kernels) + strspn(fy_str_text(&kernels), " "));
  fy_str_free(&text);
  fy_str_free(&kernels);
  return code;
}

// ------------------------------------------------------------------ choice
static bool is_exempt(const fy_eager_op *op) {
  return !op->op || (op->op->impl && (op->op->impl->flags & FY_OP_ANY_SPACE));
}

fy_device *fy_eager_resource_device(const fy_eager *c, const fy_eager_op *op) {
  if (!op->has_resources || is_exempt(op)) return NULL;
  for (uint32_t i = 0; i < op->num_inputs; i++) {
    const fy_handle *h = op->inputs[i];
    if (h->dtype != FY_RESOURCE) continue;
    return h->resource_device ? (fy_device *)(uintptr_t)h->resource_device : c->devices->client;
  }
  return NULL;
}

fy_code fy_eager_place(fy_eager *c, const fy_eager_op *op, const fy_attrs *attrs, fy_device **out,
                       fy_error *err) {
  bool soft = atomic_load(&c->soft);
  fy_device *with = fy_eager_resource_device(c, op);
  *out = NULL;
  if (op->op) {
    const char *kernels = op->op->spec->cpu_kernels;
    FY_TRY(check_constraints(op, attrs, err));
    if (kernels && *kernels)  // else that there is none is told first
      FY_TRY(fy_node_check_deprecation(op->op->spec, FY_GRAPH_DEF_VERSION, err));
  }
  if (with) {
    if (!fy_eager_supports(op, attrs, with, NULL)) {
      if (soft && (*out = best(c, op, attrs, NULL))) return FY_OK;
      return no_kernel_there(op, attrs, with, err);
    }
    *out = with;
    return FY_OK;
  }
  if (!op->request) {
    // A function without a wish starts at the client; its nodes are placed one by one.
    *out = op->op ? best(c, op, attrs, NULL) : c->devices->client;
    return *out ? FY_OK : no_kernel(op, attrs, err);
  }
  fy_lock(&c->lock);
  fy_eager_request request = c->requests[op->request];
  fy_unlock(&c->lock);
  fy_devname name = request.name;
  if ((*out = best(c, op, attrs, &name))) return FY_OK;
  if (op->op && !best(c, op, attrs, NULL)) return no_kernel(op, attrs, err);
  if (soft) {
    name.has_type = name.has_id = false;
    if ((*out = best(c, op, attrs, &name))) return FY_OK;
  }
  return no_device(c, op, attrs, request.text, soft, err);
}
