// SPDX-License-Identifier: Apache-2.0
// shape.h: what a TF_Shape is: the struct that the unified API passes by value.

#ifndef FY_API_SHAPE_H
#define FY_API_SHAPE_H

#include "tensorflow/c/eager/c_api_unified_experimental.h"

#endif
