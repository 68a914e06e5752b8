// SPDX-License-Identifier: Apache-2.0
// shape.h: what a TF_Shape is.

#ifndef FY_API_SHAPE_H
#define FY_API_SHAPE_H

#include <stdint.h>

#include "tensorflow/c/tf_shape.h"

struct TF_Shape {
  int num_dims;  // -1 = unknown
  int64_t *dims;
};

#endif
