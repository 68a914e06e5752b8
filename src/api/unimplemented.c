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

// tensorflow/c/tf_status.h
// No use calling TF_SetStatus here: these do nothing at all until the real ones are linked in.

// tensorflow/c/tf_buffer.h

// tensorflow/c/tf_datatype.h

// tensorflow/c/tf_tensor.h

// tensorflow/c/tf_tstring.h

// tensorflow/c/tf_shape.h
ZERO(TF_Shape *, TF_NewShape, (void))
ZERO(int, TF_ShapeDims, (const TF_Shape *shape))
ZERO(int64_t, TF_ShapeDimSize, (const TF_Shape *shape, int d))
NOTHING(TF_DeleteShape, (TF_Shape *shape))

// tensorflow/c/env.h
FAIL_VOID(TF_CreateDir, (const char *dirname, TF_Status *status))
FAIL_VOID(TF_DeleteDir, (const char *dirname, TF_Status *status))
FAIL_VOID(TF_DeleteRecursively,
          (const char *dirname, int64_t *undeleted_file_count, int64_t *undeleted_dir_count,
           TF_Status *status))
FAIL_VOID(TF_FileStat, (const char *filename, TF_FileStatistics *stats, TF_Status *status))
FAIL_VOID(TF_NewWritableFile,
          (const char *filename, TF_WritableFileHandle **handle, TF_Status *status))
FAIL_VOID(TF_CloseWritableFile, (TF_WritableFileHandle *handle, TF_Status *status))
FAIL_VOID(TF_SyncWritableFile, (TF_WritableFileHandle *handle, TF_Status *status))
FAIL_VOID(TF_FlushWritableFile, (TF_WritableFileHandle *handle, TF_Status *status))
FAIL_VOID(TF_AppendWritableFile,
          (TF_WritableFileHandle *handle, const char *data, size_t length, TF_Status *status))
FAIL_VOID(TF_DeleteFile, (const char *filename, TF_Status *status))
ZERO(bool, TF_StringStreamNext, (TF_StringStream *list, const char **result))
NOTHING(TF_StringStreamDone, (TF_StringStream *list))
FAIL(TF_StringStream *, TF_GetChildren, (const char *filename, TF_Status *status))
ZERO(TF_StringStream *, TF_GetLocalTempDirectories, (void))
ZERO(char *, TF_GetTempFileName, (const char *extension))
ZERO(uint64_t, TF_NowNanos, (void))
ZERO(uint64_t, TF_NowMicros, (void))
ZERO(uint64_t, TF_NowSeconds, (void))
NOTHING(TF_DefaultThreadOptions, (TF_ThreadOptions *options))
ZERO(TF_Thread *, TF_StartThread,
     (const TF_ThreadOptions *options, const char *thread_name, void (*work_func)(void *),
      void *param))
NOTHING(TF_JoinThread, (TF_Thread *thread))
FAIL(void *, TF_LoadSharedLibrary, (const char *library_filename, TF_Status *status))
FAIL(void *, TF_GetSymbolFromLibrary, (void *handle, const char *symbol_name, TF_Status *status))

// tensorflow/c/ops.h
ZERO(TF_OpDefinitionBuilder *, TF_NewOpDefinitionBuilder, (const char *op_name))
FAIL_VOID(TF_RegisterOpDefinition, (TF_OpDefinitionBuilder *builder, TF_Status *status))
NOTHING(TF_DeleteOpDefinitionBuilder, (TF_OpDefinitionBuilder *builder))
NOTHING(TF_OpDefinitionBuilderAddAttr, (TF_OpDefinitionBuilder *builder, const char *attr_spec))
NOTHING(TF_OpDefinitionBuilderAddInput, (TF_OpDefinitionBuilder *builder, const char *input_spec))
NOTHING(TF_OpDefinitionBuilderAddOutput, (TF_OpDefinitionBuilder *builder, const char *output_spec))
NOTHING(TF_OpDefinitionBuilderSetIsCommutative,
        (TF_OpDefinitionBuilder *builder, bool is_commutative))
NOTHING(TF_OpDefinitionBuilderSetIsAggregate, (TF_OpDefinitionBuilder *builder, bool is_aggregate))
NOTHING(TF_OpDefinitionBuilderSetIsStateful, (TF_OpDefinitionBuilder *builder, bool is_stateful))
NOTHING(TF_OpDefinitionBuilderSetAllowsUninitializedInput,
        (TF_OpDefinitionBuilder *builder, bool allows_uninitialized_input))
NOTHING(TF_OpDefinitionBuilderDeprecated,
        (TF_OpDefinitionBuilder *builder, int version, const char *explanation))
NOTHING(TF_OpDefinitionBuilderSetShapeInferenceFunction,
        (TF_OpDefinitionBuilder *builder,
         void (*shape_inference_func)(TF_ShapeInferenceContext *ctx, TF_Status *status)))
ZERO(int64_t, TF_ShapeInferenceContextNumInputs, (TF_ShapeInferenceContext *ctx))
ZERO(TF_ShapeHandle *, TF_NewShapeHandle, (void))
FAIL_VOID(TF_ShapeInferenceContextGetInput,
          (TF_ShapeInferenceContext *ctx, int i, TF_ShapeHandle *handle, TF_Status *status))
FAIL_VOID(TF_ShapeInferenceContextSetOutput,
          (TF_ShapeInferenceContext *ctx, int i, TF_ShapeHandle *handle, TF_Status *status))
ZERO(TF_ShapeHandle *, TF_ShapeInferenceContextScalar, (TF_ShapeInferenceContext *ctx))
ZERO(TF_ShapeHandle *, TF_ShapeInferenceContextVectorFromSize,
     (TF_ShapeInferenceContext *ctx, size_t size))
ZERO(TF_DimensionHandle *, TF_NewDimensionHandle, (void))
FAIL_VOID(TF_ShapeInferenceContext_GetAttrType,
          (TF_ShapeInferenceContext *ctx, const char *attr_name, TF_DataType *val,
           TF_Status *status))
ZERO(int64_t, TF_ShapeInferenceContextRank, (TF_ShapeInferenceContext *ctx, TF_ShapeHandle *handle))
ZERO(int, TF_ShapeInferenceContextRankKnown,
     (TF_ShapeInferenceContext *ctx, TF_ShapeHandle *handle))
FAIL_VOID(TF_ShapeInferenceContextWithRank,
          (TF_ShapeInferenceContext *ctx, TF_ShapeHandle *handle, int64_t rank,
           TF_ShapeHandle *result, TF_Status *status))
FAIL_VOID(TF_ShapeInferenceContextWithRankAtLeast,
          (TF_ShapeInferenceContext *ctx, TF_ShapeHandle *handle, int64_t rank,
           TF_ShapeHandle *result, TF_Status *status))
FAIL_VOID(TF_ShapeInferenceContextWithRankAtMost,
          (TF_ShapeInferenceContext *ctx, TF_ShapeHandle *handle, int64_t rank,
           TF_ShapeHandle *result, TF_Status *status))
NOTHING(TF_ShapeInferenceContextDim,
        (TF_ShapeInferenceContext *ctx, TF_ShapeHandle *shape_handle, int64_t i,
         TF_DimensionHandle *result))
FAIL_VOID(TF_ShapeInferenceContextSubshape,
          (TF_ShapeInferenceContext *ctx, TF_ShapeHandle *shape_handle, int64_t start, int64_t end,
           TF_ShapeHandle *result, TF_Status *status))
FAIL_VOID(TF_ShapeInferenceContextSetUnknownShape,
          (TF_ShapeInferenceContext *ctx, TF_Status *status))
ZERO(int, TF_DimensionHandleValueKnown, (TF_DimensionHandle *dim_handle))
ZERO(int64_t, TF_DimensionHandleValue, (TF_DimensionHandle *dim_handle))
FAIL_VOID(TF_ShapeInferenceContextConcatenateShapes,
          (TF_ShapeInferenceContext *ctx, TF_ShapeHandle *first, TF_ShapeHandle *second,
           TF_ShapeHandle *result, TF_Status *status))
NOTHING(TF_DeleteShapeHandle, (TF_ShapeHandle *handle))
NOTHING(TF_DeleteDimensionHandle, (TF_DimensionHandle *handle))
