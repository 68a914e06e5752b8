// SPDX-License-Identifier: Apache-2.0
// attr_builder.c: TF_AttrBuilder: attributes of an op that exists only to ask whether it could run.

#include <stdio.h>
#include <string.h>

#include "api/api.h"
#include "base/alloc.h"
#include "ops/op.h"
#include "tensorflow/c/c_api_experimental.h"

struct TF_AttrBuilder {
  char *op_name;
  fy_arena arena;
  fy_attrs attrs;
  bool short_of_memory;
};

TF_AttrBuilder *TF_NewAttrBuilder(const char *op_name) {
  TF_AttrBuilder *b = fy_calloc(1, sizeof *b);
  if (!b) return NULL;
  b->op_name = fy_strdup(op_name);
  if (b->op_name) return b;
  fy_free(b);
  return NULL;
}

void TF_DeleteAttrBuilder(TF_AttrBuilder *builder) {
  if (!builder) return;
  fy_free(builder->op_name);
  fy_arena_free(&builder->arena);
  fy_free(builder);
}

static void set(TF_AttrBuilder *b, const char *name, const fy_attr *value) {
  fy_attr own;
  if (fy_attr_copy(&own, value, &b->arena, NULL) != FY_OK ||
      fy_attrs_set(&b->attrs, &b->arena, name, &own, NULL) != FY_OK)
    b->short_of_memory = true;
}

void TF_AttrBuilderSetType(TF_AttrBuilder *builder, const char *attr_name, TF_DataType value) {
  fy_attr a = fy_attr_type((fy_dtype)value);
  set(builder, attr_name, &a);
}

void TF_AttrBuilderSetTypeList(TF_AttrBuilder *builder, const char *attr_name,
                               const TF_DataType *values, int num_values) {
  fy_attr a = {.kind = FY_ATTR_TYPE,
               .is_list = true,
               .n = num_values > 0 ? (uint32_t)num_values : 0,
               .v.types = (fy_dtype *)(uintptr_t)values};
  set(builder, attr_name, &a);
}

// Whether TensorFlow registers kernels of the op for this type of device, or for any.
static bool registered_on(const fy_op *op, const char *device_type) {
  if (strcmp(device_type, "CPU") == 0) return true;  // fy_op_has_kernel knows
  for (const char *p = op->spec->kernels; *p;) {
    size_t n = strcspn(p, ":{ ");
    if ((n == 7 && memcmp(p, "DEFAULT", 7) == 0) ||
        (n == strlen(device_type) && memcmp(p, device_type, n) == 0))
      return true;
    p += strcspn(p, " ");
    p += *p == ' ';
  }
  return false;
}

// TensorFlow's text for a kernel that is not there.
static fy_code no_kernel(const TF_AttrBuilder *b, const fy_op *op, const char *device_type,
                         fy_error *err) {
  fy_str kernels, attrs;
  fy_str_init(&kernels);
  fy_str_init(&attrs);
  if (op) fy_op_print_kernels(&kernels, op);
  char quoted[64];
  snprintf(quoted, sizeof quoted, "device='%.40s'", device_type);
  if (op && strstr(fy_str_text(&kernels), quoted)) {
    fy_str_add(&attrs, " (OpKernel was found, but attributes didn't match) Requested Attributes: ");
    for (uint32_t i = 0; i < b->attrs.n; i++) {
      fy_str_printf(&attrs, "%s%s=", i ? ", " : "", b->attrs.items[i].name);
      fy_attr_print(&attrs, &b->attrs.items[i].value);
    }
    fy_str_add(&attrs, "\n\t");
  }
  fy_fail(err, FY_NOT_FOUND,
          "No registered '%s' OpKernel for %s devices compatible with node {{node %s}}\n\t%s.  "
          "Registered:%s",
          b->op_name, device_type, b->op_name, fy_str_text(&attrs),
          kernels.len ? fy_str_text(&kernels) : "  <no registered kernels>\n");
  fy_str_free(&kernels);
  fy_str_free(&attrs);
  return FY_NOT_FOUND;
}

void TF_AttrBuilderCheckCanRunOnDevice(TF_AttrBuilder *builder, const char *device_type,
                                       TF_Status *status) {
  fy_error *err = fy_api_begin(status);
  const fy_op *op = fy_op_find(builder->op_name, strlen(builder->op_name));
  fy_code code = builder->short_of_memory ? fy_fail_oom(err, sizeof *builder) : FY_OK;
  if (!code && op) code = fy_spec_add_defaults(op->spec, &builder->attrs, &builder->arena, err);
  if (!code && (!op || !registered_on(op, device_type) ||
                !fy_op_has_kernel(op, &builder->attrs, device_type, err)))
    code = no_kernel(builder, op, device_type, err);
  fy_api_end(status, code);
}
