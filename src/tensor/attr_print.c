// SPDX-License-Identifier: Apache-2.0
// attr_print.c: attribute values as text, as TensorFlow's SummarizeAttrValue writes them in its
// error messages. One difference: the attr_hash of a long list is our hash, not a FarmHash.

#include "base/map.h"
#include "tensor/attr.h"
#include "tensor/print.h"

enum {
  LONG_STRING = 80,  // from this length a string shows its ends only
  STRING_ENDS = 10,
  LONG_LIST = 30,
  LIST_ENDS = 5,
  TENSOR_VALUES = 3,
};

static void print_string(fy_str *out, fy_view s) {
  fy_str_addc(out, '"');
  size_t start = out->len;
  fy_print_escaped(out, s, false);
  size_t n = out->len - start;
  if (!out->failed && n >= LONG_STRING) {  // moves the tail forward over the middle
    char tail[STRING_ENDS];
    memcpy(tail, out->p + out->len - STRING_ENDS, STRING_ENDS);
    out->len = start + STRING_ENDS;
    fy_str_add(out, "...");
    fy_str_addn(out, tail, STRING_ENDS);
  }
  fy_str_addc(out, '"');
}

static void print_tensor(fy_str *out, const fy_tensor *t) {
  if (!t) {
    fy_str_add(out, "<Invalid TensorProto>");
    return;
  }
  fy_str_printf(out, "Tensor<type: %s shape: ", fy_dtype_name(t->dtype));
  fy_shape_print(out, t->rank, t->dims);
  fy_str_add(out, " values: ");
  fy_tensor_print(out, t, TENSOR_VALUES);
  fy_str_addc(out, '>');
}

static void print_items(fy_str *out, const fy_attrs *a) {
  for (uint32_t i = 0; i < a->n; i++) {
    const fy_named_attr *item = &a->items[i];
    if (i) fy_str_add(out, ", ");
    fy_str_add(out, item->name);
    fy_str_addc(out, '=');
    fy_attr_print(out, &item->value);
  }
}

static void print_func(fy_str *out, const fy_func_attr *f) {
  fy_str_addn(out, f->name.p, f->name.n);
  fy_str_addc(out, '[');
  print_items(out, &f->attrs);
  fy_str_addc(out, ']');
}

// Element |i| of the list |a|, as a value.
static fy_attr element(const fy_attr *a, uint32_t i) {
  fy_attr e = {.kind = a->kind};
  switch (a->kind) {
    case FY_ATTR_STRING:
    case FY_ATTR_PLACEHOLDER: e.v.s = a->v.strings[i]; break;
    case FY_ATTR_INT: e.v.i = a->v.ints[i]; break;
    case FY_ATTR_FLOAT: e.v.f = a->v.floats[i]; break;
    case FY_ATTR_BOOL: e.v.b = a->v.bools[i]; break;
    case FY_ATTR_TYPE: e.v.type = a->v.types[i]; break;
    case FY_ATTR_SHAPE: e.v.shape = a->v.shapes[i]; break;
    case FY_ATTR_TENSOR: e.v.tensor = a->v.tensors[i]; break;
    case FY_ATTR_FUNC: e.v.func = &a->v.funcs[i]; break;
    case FY_ATTR_NONE: break;
  }
  return e;
}

static void print_list(fy_str *out, const fy_attr *a) {
  fy_str_addc(out, '[');
  for (uint32_t i = 0; i < a->n; i++) {
    if (i > 0) fy_str_add(out, ", ");
    if (a->n >= LONG_LIST && i == LIST_ENDS) {
      fy_str_add(out, "..., ");
      i = a->n - LIST_ENDS;
    }
    fy_attr e = element(a, i);
    fy_attr_print(out, &e);
  }
  fy_str_addc(out, ']');
  if (a->n >= LONG_LIST) {  // tells apart lists with the same ends
    fy_str_printf(out, "{attr_hash=%llu}", (unsigned long long)fy_attr_hash(a, 0));
  }
}

void fy_attr_print(fy_str *out, const fy_attr *a) {
  if (a->is_list) {
    print_list(out, a);
    return;
  }
  switch (a->kind) {
    case FY_ATTR_STRING: print_string(out, a->v.s); break;
    case FY_ATTR_INT: fy_str_printf(out, "%lld", (long long)a->v.i); break;
    case FY_ATTR_FLOAT: fy_print_float(out, a->v.f); break;
    case FY_ATTR_BOOL: fy_str_add(out, a->v.b ? "true" : "false"); break;
    case FY_ATTR_TYPE: fy_str_add(out, fy_dtype_enum_name(a->v.type)); break;
    case FY_ATTR_SHAPE: fy_shape_print(out, a->v.shape.rank, a->v.shape.dims); break;
    case FY_ATTR_TENSOR: print_tensor(out, a->v.tensor); break;
    case FY_ATTR_FUNC: print_func(out, a->v.func); break;
    case FY_ATTR_PLACEHOLDER:
      fy_str_addc(out, '$');
      fy_str_addn(out, a->v.s.p, a->v.s.n);
      break;
    case FY_ATTR_NONE: fy_str_add(out, "<Unknown AttrValue type>"); break;
  }
}

void fy_attrs_print(fy_str *out, const fy_attrs *a) {
  print_items(out, a);
}
