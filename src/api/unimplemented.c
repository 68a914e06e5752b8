// SPDX-License-Identifier: Apache-2.0
// unimplemented.c: fall-backs for status, buffers, tensors, strings, env, op definitions.
// What they do and how to replace one: unimplemented.h.

#include "unimplemented.h"

#include "tensorflow/c/env.h"
#include "tensorflow/c/ops.h"
#include "tensorflow/c/tf_buffer.h"
#include "tensorflow/c/tf_datatype.h"
#include "tensorflow/c/tf_shape.h"
#include "tensorflow/c/tf_status.h"
#include "tensorflow/c/tf_tensor.h"
#include "tensorflow/c/tf_tstring.h"

// Inside macro arguments clang-format reads a pointer as a product.
// clang-format off
