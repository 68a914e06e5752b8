// SPDX-License-Identifier: Apache-2.0
// tensor_proto.h: TensorProto and TensorShapeProto to and from our tensors and shapes.
// Assumes a little-endian host, as tensor_content is.
// Not here: reading the message from bytes (proto_util.h).

#ifndef FY_WIRE_TENSOR_PROTO_H
#define FY_WIRE_TENSOR_PROTO_H

#include "base/arena.h"
#include "base/map.h"
#include "base/status.h"
#include "tensor.pb-c.h"
#include "tensor/tensor.h"

// A few bytes may claim a huge tensor, because the last value repeats; so what repetition makes is
// limited, per tensor and, if |splat_budget_bytes| is given, over all tensors read with it.
typedef struct fy_wire_tensor_options {
  int64_t max_splat_bytes;
  int64_t *splat_budget_bytes;  // counted down; may be NULL
  const fy_imap *ready;         // proto -> tensor: what was read already; may be NULL
  bool passing;                 // no weights, which have pages of their own, but a result of an op
} fy_wire_tensor_options;

#define FY_WIRE_SPLAT_BYTES ((int64_t)1 << 30)       // max_splat_bytes when options are NULL
extern const fy_wire_tensor_options fy_wire_result;  // as NULL, of an op

// Makes a tensor of |proto| in fresh memory, or where it lies in a mapped file (mapping.h). |options| may be NULL. INVALID_ARGUMENT: bad dtype or
// shape, more values than elements, content of the wrong size, a splat above the limit, resource
// or variant elements. Booleans become 0 or 1, int4 and int2 are sign-extended into their byte.
FY_MUST_CHECK fy_code fy_wire_tensor_read(const Tensorflow__TensorProto *proto,
                                          const fy_wire_tensor_options *options, fy_tensor **out,
                                          fy_error *err);

// As TensorFlow writes attributes: tensor_content for two elements or more, else a typed list.
// The message lives in |arena| and borrows |t|'s data: |t| must outlive it.
// UNIMPLEMENTED for resource and variant elements.
FY_MUST_CHECK fy_code fy_wire_tensor_write(const fy_tensor *t, fy_arena *arena,
                                           Tensorflow__TensorProto **out, fy_error *err);

// Partial shapes. NULL |proto| reads as a scalar; dims other than -1 and >= 0 are INVALID_ARGUMENT.
FY_MUST_CHECK fy_code fy_wire_shape_read(const Tensorflow__TensorShapeProto *proto, fy_arena *arena,
                                         fy_pshape *out, fy_error *err);
// The same with any sizes at all, for attributes: ops/spec_bound.h tells what is wrong with them.
FY_MUST_CHECK fy_code fy_wire_shape_read_any(const Tensorflow__TensorShapeProto *proto,
                                             fy_arena *arena, fy_pshape *out, fy_error *err);
FY_MUST_CHECK fy_code fy_wire_shape_write(const fy_pshape *shape, fy_arena *arena,
                                          Tensorflow__TensorShapeProto **out, fy_error *err);

// String elements as checkpoints and tensor_content hold them: all lengths as varints, then all
// bytes. Fills the string tensor |t| from exactly |n| bytes.
FY_MUST_CHECK fy_code fy_wire_strings_decode(const uint8_t *bytes, size_t n, fy_tensor *t,
                                             fy_error *err);

#endif
