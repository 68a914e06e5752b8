// SPDX-License-Identifier: Apache-2.0
// parse_sequence.h: what a call of the SequenceExample ops is about: parse_sequence_ops.c gathers it
// from attributes and inputs, parse_sequence.c does it.

#ifndef FY_OPS_PARSE_SEQUENCE_H
#define FY_OPS_PARSE_SEQUENCE_H

#include "ops/example_wire.h"

typedef enum fy_seq_kind { FY_SEQ_SPARSE, FY_SEQ_DENSE, FY_SEQ_RAGGED } fy_seq_kind;

typedef struct fy_seq_item {
  bool list;  // of the feature lists, not of the context
  fy_seq_kind kind;
  fy_dtype type, splits;
  fy_pshape shape;
  int64_t stride;           // values of a dense feature (or of one row)
  const fy_tensor *preset;  // of a dense context feature
  bool may_miss;            // a dense list that is empty when it is missing
  int out;                  // first output; sparse and ragged ones have more, |gap| apart
  int gap;
} fy_seq_item;

typedef struct fy_seq_piece {
  const char *p;
  uint32_t n;
  bool present;
  int64_t count, rows;
} fy_seq_piece;

typedef struct fy_seq_call {
  const fy_tensor *serialized, *names;
  fy_seq_item *items;
  fy_view *keys;
  int n, num_context;  // context items come first
  fy_names context, lists;
  fy_seq_piece *pieces;  // [examples, n]
  int64_t examples;
  bool batch, one;  // one: ParseSingleSequenceExample
} fy_seq_call;

// Finds, counts and writes everything. |c| is filled in but for its tables and pieces.
FY_MUST_CHECK fy_code fy_sequence_parse(fy_kernel_ctx *ctx, fy_seq_call *c, fy_error *err);

#endif
