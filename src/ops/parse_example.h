// SPDX-License-Identifier: Apache-2.0
// parse_example.h: what a call of the Example ops is about: parse_example_ops.c gathers it from
// attributes and inputs, parse_example.c does it.

#ifndef FY_OPS_PARSE_EXAMPLE_H
#define FY_OPS_PARSE_EXAMPLE_H

#include "ops/example_wire.h"

typedef enum fy_ex_kind { FY_EX_SPARSE, FY_EX_DENSE, FY_EX_VARLEN, FY_EX_RAGGED } fy_ex_kind;

typedef struct fy_ex_feature {
  fy_ex_kind kind;
  fy_dtype type, splits;
  int d;           // number among its kind
  int64_t stride;  // values of one example (dense) or of one row (variable length)
  fy_pshape shape;
  const fy_tensor *preset;  // what stands for a missing dense feature
  fy_tensor *out;
} fy_ex_feature;

typedef struct fy_ex_plan {  // what the attributes say
  int num_sparse, num_dense, num_ragged;
  const fy_dtype *sparse_types, *dense_types, *ragged_types, *split_types;
  const fy_pshape *dense_shapes;
  const fy_view *sparse_keys, *dense_keys;  // ParseSingleExample only
  int version;                              // 1, 2; 0 = ParseSingleExample
} fy_ex_plan;

typedef struct fy_ex_piece {  // the list of one feature of one example
  const char *p;              // NULL: not there
  uint32_t n;
  fy_dtype type;
  size_t count;
} fy_ex_piece;

typedef struct fy_ex_call {
  const fy_tensor *serialized, *names;
  fy_ex_feature *features;
  const fy_view *keys;
  int n;
  fy_names index;
  fy_ex_piece *pieces;  // [examples, n]
  int64_t *offsets;     // [n, examples + 1] of sparse, ragged and variable-length features
  int64_t examples;
  bool single;
  int64_t bad;  // the first example with anything wrong; examples = none
} fy_ex_call;

// Finds and writes everything. |slots| has fy_names_bytes(c->n) bytes.
FY_MUST_CHECK fy_code fy_example_parse(fy_kernel_ctx *ctx, const fy_ex_plan *p, fy_ex_call *c,
                                       uint32_t *slots, fy_error *err);

#endif
