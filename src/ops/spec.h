// SPDX-License-Identifier: Apache-2.0
// spec.h: operation signatures. All of TensorFlow's ship as one table (opdefs.tsv, embedded when
// building) whose lines are parsed when first asked for; third parties add theirs at run time.
// Invariant: an fy_op lives as long as the process; pointers to it may be kept and compared.

#ifndef FY_OPS_SPEC_H
#define FY_OPS_SPEC_H

#include "base/status.h"
#include "tensor/attr.h"

typedef struct fy_arg_spec {
  const char *name;
  fy_dtype type;               // fixed type, or FY_INVALID when an attribute says
  const char *type_attr;       // "T", or NULL
  const char *number_attr;     // "N": a list of N tensors of one type, or NULL
  const char *type_list_attr;  // "Tin": a list of tensors of those types, or NULL
  bool is_ref;
} fy_arg_spec;

typedef struct fy_attr_spec {
  const char *name;
  const char *type;  // "int", "list(type)", "func", … as OpDef writes it
  fy_attr_kind kind;
  bool is_list;
  bool has_default;
  bool has_minimum;
  fy_attr default_value;
  int64_t minimum;                     // of an int, or of a list's length
  uint64_t allowed_types;              // bit per dtype; 0 = any
  const char *const *allowed_strings;  // NULL-terminated, or NULL = any
  const fy_dtype *allowed_list;        // allowed_types in the OpDef's order, FY_INVALID-terminated
} fy_attr_spec;

enum {
  FY_SPEC_STATEFUL = 1,
  FY_SPEC_COMMUTATIVE = 2,
  FY_SPEC_AGGREGATE = 4,
  FY_SPEC_UNINITIALIZED_OK = 8,
  FY_SPEC_DISTRIBUTED = 16,
  FY_SPEC_CUSTOM = 32,        // registered at run time
  FY_SPEC_HAS_GRADIENT = 64,  // in TensorFlow's Python registry
  FY_SPEC_PYTHON = 128,       // not in TensorFlow's C library: a client may register its own
  FY_SPEC_FULL_TYPE = 256,    // times 1, 2 …: the first output's full type (spec_proto.c)
};

typedef struct fy_op_spec {
  const char *name;
  const fy_arg_spec *inputs, *outputs;
  const fy_attr_spec *attrs;
  uint16_t num_inputs, num_outputs, num_attrs;
  uint16_t flags;
  int32_t deprecated_version;  // 0 = not deprecated
  const char *deprecated_text;
  const char *cpu_kernels;  // TensorFlow's own CPU registrations: "T=float;T=double", "any", or ""
  // All groups in TensorFlow's order: "DEFAULT{T=int32@shape} CPU GPU{T=float}", where CPU stands
  // for cpu_kernels and @ names host-memory arguments (@@ after the last set: of every set);
  // "" = only cpu_kernels.
  const char *kernels;
} fy_op_spec;

typedef struct fy_op_impl fy_op_impl;  // op.h
struct fy_user_kernel;                 // kernels registered through kernels.h (api/)

typedef struct fy_op {
  const fy_op_spec *spec;
  const fy_op_impl *impl;               // NULL: known, but has no kernel here
  struct fy_user_kernel *user_kernels;  // guarded by the registry's lock
  void *user_shape_fn;                  // TF_ShapeInferenceFunction of a custom op, or NULL
  uint32_t id;                          // dense, for per-op tables
} fy_op;

// Finds an op by name; NULL if unknown. Thread-safe; the first call for a name parses its line.
const fy_op *fy_op_find(const char *name, size_t len);
// All known names, sorted; the array is static until an op is registered.
size_t fy_op_count(void);
const fy_op *fy_op_at(size_t index);  // by sorted name
// Registers an op from a spec (deep-copied). ALREADY_EXISTS when the name is taken by another spec.
FY_MUST_CHECK fy_code fy_op_register(const fy_op_spec *spec, void *user_shape_fn, const fy_op **out,
                                     fy_error *err);
// Guards user_kernels and user_shape_fn of every op.
void fy_op_lock(void);
void fy_op_unlock(void);
// The op whose name is nearest to |name|, for "did you mean"; NULL if none is near.
const char *fy_op_nearest(const char *name);

// A copy whose memory is all |arena|'s.
FY_MUST_CHECK fy_code fy_spec_copy(const fy_op_spec *spec, fy_arena *arena, fy_op_spec **out,
                                   fy_error *err);
bool fy_spec_equal(const fy_op_spec *a, const fy_op_spec *b);  // kernels are not compared

const fy_attr_spec *fy_spec_attr(const fy_op_spec *spec, const char *name);  // NULL if absent
// "Op<name=MatMul; signature=a:T, b:T -> product:T; attr=transpose_a:bool,default=false; …>"
void fy_spec_print(fy_str *out, const fy_op_spec *spec);

// Dtypes of all inputs/outputs in flat order under |attrs|; arrays in |arena|.
// INVALID_ARGUMENT when an attribute that counts or types them is missing or wrong.
FY_MUST_CHECK fy_code fy_spec_arg_types(const fy_op_spec *spec, bool outputs, const fy_attrs *attrs,
                                        fy_arena *arena, fy_dtype **out_types, int *out_count,
                                        fy_error *err);
// Flat range [*begin, *end) of argument |index| (a list may hold 0..n tensors).
FY_MUST_CHECK fy_code fy_spec_arg_range(const fy_op_spec *spec, bool outputs, int index,
                                        const fy_attrs *attrs, int *begin, int *end, fy_error *err);
// Fills absent attributes that have defaults.
FY_MUST_CHECK fy_code fy_spec_add_defaults(const fy_op_spec *spec, fy_attrs *attrs, fy_arena *arena,
                                           fy_error *err);
// Checks every attribute of |attrs| against |spec|: present, right type, allowed, minimum.
// Texts as TensorFlow's ValidateNodeDef / ValidateAttrValue.
FY_MUST_CHECK fy_code fy_spec_check_attrs(const fy_op_spec *spec, const fy_attrs *attrs,
                                          const char *node_name, fy_error *err);
// One value against its spec, without the node's context (TensorFlow's ValidateAttrValue).
FY_MUST_CHECK fy_code fy_spec_check_attr(const fy_attr_spec *spec, const fy_attr *value,
                                         fy_error *err);

#endif
