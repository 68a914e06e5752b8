// SPDX-License-Identifier: Apache-2.0
// ops.h: define new ops, and the functions that infer their output shapes.
// A builder goes either to TF_RegisterOpDefinition or to TF_DeleteOpDefinitionBuilder, never both;
// mistakes in its specs surface when registering. Shape and dimension handles are boxes that the
// caller makes, passes to be filled, and deletes; a context lives only during the shape function.

#ifndef TENSORFLOW_C_OPS_H_
#define TENSORFLOW_C_OPS_H_

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "tensorflow/c/c_api_macros.h"
#include "tensorflow/c/tf_datatype.h"
#include "tensorflow/c/tf_status.h"

#ifdef __cplusplus
extern "C" {
#endif

typedef struct TF_DimensionHandle TF_DimensionHandle;
typedef struct TF_OpDefinitionBuilder TF_OpDefinitionBuilder;
typedef struct TF_ShapeHandle TF_ShapeHandle;
typedef struct TF_ShapeInferenceContext TF_ShapeInferenceContext;

// ---- Ops ------------------------------------------------------------------------------------

TF_CAPI_EXPORT extern TF_OpDefinitionBuilder *TF_NewOpDefinitionBuilder(const char *op_name);

// Frees the builder, also on failure. ALREADY_EXISTS if the name is taken.
TF_CAPI_EXPORT extern void TF_RegisterOpDefinition(TF_OpDefinitionBuilder *builder,
                                                   TF_Status *status);

TF_CAPI_EXPORT extern void TF_DeleteOpDefinitionBuilder(TF_OpDefinitionBuilder *builder);

// "name:type" or "name:type=default". Types: string int float bool type shape tensor func, a set
// such as "{int32,int64}" or "{'a','b'}", list(...) of those, and a minimum as in "int >= 2".
// Defaults are in proto text format, lists as [a, b].
TF_CAPI_EXPORT extern void TF_OpDefinitionBuilderAddAttr(TF_OpDefinitionBuilder *builder,
                                                         const char *attr_spec);

// "name:T" for one tensor (T a type or a type attribute), "name:N*T" for N of them (N an int
// attribute), "name:L" for a list(type) attribute, "name:Ref(T)" for a reference.
TF_CAPI_EXPORT extern void TF_OpDefinitionBuilderAddInput(TF_OpDefinitionBuilder *builder,
                                                          const char *input_spec);
TF_CAPI_EXPORT extern void TF_OpDefinitionBuilderAddOutput(TF_OpDefinitionBuilder *builder,
                                                           const char *output_spec);

// Properties, all false by default. Aggregate: sums any number of equal shapes. Stateful: reads or
// changes more than its inputs, so it is never merged or folded away.
TF_CAPI_EXPORT extern void TF_OpDefinitionBuilderSetIsCommutative(TF_OpDefinitionBuilder *builder,
                                                                  bool is_commutative);
TF_CAPI_EXPORT extern void TF_OpDefinitionBuilderSetIsAggregate(TF_OpDefinitionBuilder *builder,
                                                                bool is_aggregate);
TF_CAPI_EXPORT extern void TF_OpDefinitionBuilderSetIsStateful(TF_OpDefinitionBuilder *builder,
                                                               bool is_stateful);
TF_CAPI_EXPORT extern void TF_OpDefinitionBuilderSetAllowsUninitializedInput(
    TF_OpDefinitionBuilder *builder, bool allows_uninitialized_input);

// |version| is the first GraphDef version in which the op should no longer be used.
TF_CAPI_EXPORT extern void TF_OpDefinitionBuilderDeprecated(TF_OpDefinitionBuilder *builder,
                                                            int version, const char *explanation);

// Called from any thread, for every node of the op.
TF_CAPI_EXPORT extern void TF_OpDefinitionBuilderSetShapeInferenceFunction(
    TF_OpDefinitionBuilder *builder,
    void (*shape_inference_func)(TF_ShapeInferenceContext *ctx, TF_Status *status));

// ---- Shape functions ------------------------------------------------------------------------

TF_CAPI_EXPORT extern int64_t TF_ShapeInferenceContextNumInputs(TF_ShapeInferenceContext *ctx);

// Of unknown rank, until something is put in it.
TF_CAPI_EXPORT extern TF_ShapeHandle *TF_NewShapeHandle(void);

// Writes the shape of input |i| to |handle|. INVALID_ARGUMENT if there is none.
TF_CAPI_EXPORT extern void TF_ShapeInferenceContextGetInput(TF_ShapeInferenceContext *ctx, int i,
                                                            TF_ShapeHandle *handle,
                                                            TF_Status *status);

// The shape is copied.
TF_CAPI_EXPORT extern void TF_ShapeInferenceContextSetOutput(TF_ShapeInferenceContext *ctx, int i,
                                                             TF_ShapeHandle *handle,
                                                             TF_Status *status);

// New handles, which the caller deletes.
TF_CAPI_EXPORT extern TF_ShapeHandle *TF_ShapeInferenceContextScalar(TF_ShapeInferenceContext *ctx);
TF_CAPI_EXPORT extern TF_ShapeHandle *TF_ShapeInferenceContextVectorFromSize(
    TF_ShapeInferenceContext *ctx, size_t size);
TF_CAPI_EXPORT extern TF_DimensionHandle *TF_NewDimensionHandle(void);

TF_CAPI_EXPORT extern void TF_ShapeInferenceContext_GetAttrType(TF_ShapeInferenceContext *ctx,
                                                                const char *attr_name,
                                                                TF_DataType *val,
                                                                TF_Status *status);

// The rank must be known.
TF_CAPI_EXPORT extern int64_t TF_ShapeInferenceContextRank(TF_ShapeInferenceContext *ctx,
                                                           TF_ShapeHandle *handle);

TF_CAPI_EXPORT extern int TF_ShapeInferenceContextRankKnown(TF_ShapeInferenceContext *ctx,
                                                            TF_ShapeHandle *handle);

// Copies |handle| to |result| if its rank fits; an unknown rank becomes |rank| in the first form.
// INVALID_ARGUMENT otherwise.
TF_CAPI_EXPORT extern void TF_ShapeInferenceContextWithRank(TF_ShapeInferenceContext *ctx,
                                                            TF_ShapeHandle *handle, int64_t rank,
                                                            TF_ShapeHandle *result,
                                                            TF_Status *status);
TF_CAPI_EXPORT extern void TF_ShapeInferenceContextWithRankAtLeast(TF_ShapeInferenceContext *ctx,
                                                                   TF_ShapeHandle *handle,
                                                                   int64_t rank,
                                                                   TF_ShapeHandle *result,
                                                                   TF_Status *status);
TF_CAPI_EXPORT extern void TF_ShapeInferenceContextWithRankAtMost(TF_ShapeInferenceContext *ctx,
                                                                  TF_ShapeHandle *handle,
                                                                  int64_t rank,
                                                                  TF_ShapeHandle *result,
                                                                  TF_Status *status);

// A negative |i| counts from the end.
TF_CAPI_EXPORT extern void TF_ShapeInferenceContextDim(TF_ShapeInferenceContext *ctx,
                                                       TF_ShapeHandle *shape_handle, int64_t i,
                                                       TF_DimensionHandle *result);

// Dimensions [start, end). Negative numbers count from the end; large ones are cut to the rank.
TF_CAPI_EXPORT extern void TF_ShapeInferenceContextSubshape(TF_ShapeInferenceContext *ctx,
                                                            TF_ShapeHandle *shape_handle,
                                                            int64_t start, int64_t end,
                                                            TF_ShapeHandle *result,
                                                            TF_Status *status);

// Every output.
TF_CAPI_EXPORT extern void TF_ShapeInferenceContextSetUnknownShape(TF_ShapeInferenceContext *ctx,
                                                                   TF_Status *status);

// The value must be known; -1 otherwise.
TF_CAPI_EXPORT extern int TF_DimensionHandleValueKnown(TF_DimensionHandle *dim_handle);
TF_CAPI_EXPORT extern int64_t TF_DimensionHandleValue(TF_DimensionHandle *dim_handle);

// The dimensions of |first|, then those of |second|.
TF_CAPI_EXPORT extern void TF_ShapeInferenceContextConcatenateShapes(TF_ShapeInferenceContext *ctx,
                                                                     TF_ShapeHandle *first,
                                                                     TF_ShapeHandle *second,
                                                                     TF_ShapeHandle *result,
                                                                     TF_Status *status);

TF_CAPI_EXPORT extern void TF_DeleteShapeHandle(TF_ShapeHandle *handle);
TF_CAPI_EXPORT extern void TF_DeleteDimensionHandle(TF_DimensionHandle *handle);

#ifdef __cplusplus
}  // extern "C"
#endif

#endif  // TENSORFLOW_C_OPS_H_
