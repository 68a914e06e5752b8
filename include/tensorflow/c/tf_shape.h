// SPDX-License-Identifier: Apache-2.0
// tf_shape.h: a shape whose rank or dimensions may be unknown, as the experimental SavedModel API
// reports it. (Most of the C API passes shapes as an array and a count instead.)

#ifndef TENSORFLOW_C_TF_SHAPE_H_
#define TENSORFLOW_C_TF_SHAPE_H_

#include <stdint.h>

#include "tensorflow/c/c_api_macros.h"

#ifdef __cplusplus
extern "C" {
#endif

typedef struct TF_Shape TF_Shape;

// A shape of unknown rank, owned by the caller.
TF_CAPI_EXPORT extern TF_Shape *TF_NewShape(void);

// The rank, or -1 when unknown.
TF_CAPI_EXPORT extern int TF_ShapeDims(const TF_Shape *shape);

// The size of dimension |d|, or -1 when unknown. The rank must be known and |d| within it.
TF_CAPI_EXPORT extern int64_t TF_ShapeDimSize(const TF_Shape *shape, int d);

// Only for shapes that the caller owns.
TF_CAPI_EXPORT extern void TF_DeleteShape(TF_Shape *shape);

#ifdef __cplusplus
}  // extern "C"
#endif

#endif  // TENSORFLOW_C_TF_SHAPE_H_
