// SPDX-License-Identifier: Apache-2.0
// c_api_unified_experimental.h: one way to call operations, whether they run at once (an eager
// context) or become nodes of a function (a tracing context). The same op-building code serves
// both; TF_FinalizeFunction turns what was traced into a function that an eager context can run.

#ifndef TENSORFLOW_C_EAGER_C_API_UNIFIED_EXPERIMENTAL_H_
#define TENSORFLOW_C_EAGER_C_API_UNIFIED_EXPERIMENTAL_H_

#include "tensorflow/c/eager/c_api.h"
#include "tensorflow/c/tf_datatype.h"
#include "tensorflow/c/tf_shape.h"
#include "tensorflow/c/tf_status.h"

#ifdef __cplusplus
extern "C" {
#endif

typedef struct TF_ExecutionContext TF_ExecutionContext;
typedef struct TF_AbstractTensor TF_AbstractTensor;
typedef struct TF_AbstractOp TF_AbstractOp;
typedef struct TF_AbstractFunction TF_AbstractFunction;
typedef struct TF_OutputList TF_OutputList;

struct TF_Shape {
  int num_dims;  // -1: unknown rank
  int64_t *dim_sizes;
};

// ---- Contexts -------------------------------------------------------------------------------

// How later calls of TF_CreateFunction trace. "graphdef" is the only one.
TF_CAPI_EXPORT extern void TF_SetTracingImplementation(const char *name, TF_Status *status);

// A context whose operations become nodes of the function |fn_name|.
TF_CAPI_EXPORT extern TF_ExecutionContext *TF_CreateFunction(const char *fn_name,
                                                             TF_Status *status);
// A context whose operations run.
TF_CAPI_EXPORT extern TF_ExecutionContext *TF_NewEagerExecutionContext(TFE_ContextOptions *options,
                                                                       TF_Status *s);
TF_CAPI_EXPORT extern void TF_DeleteExecutionContext(TF_ExecutionContext *ctx);

// The next argument of a function that is being traced. The shape's memory stays the caller's.
TF_CAPI_EXPORT extern TF_AbstractTensor *TF_AddFunctionParameter(TF_ExecutionContext *func,
                                                                 TF_DataType dtype, TF_Shape shape,
                                                                 TF_Status *s);

// ---- Operations -----------------------------------------------------------------------------

// Set the type first; a traced operation needs a name, too, and attributes come after it.
TF_CAPI_EXPORT extern TF_AbstractOp *TF_NewAbstractOp(TF_ExecutionContext *ctx);
TF_CAPI_EXPORT extern void TF_DeleteAbstractOp(TF_AbstractOp *op);
TF_CAPI_EXPORT extern void TF_AbstractOpSetOpType(TF_AbstractOp *op, const char *const op_type,
                                                  TF_Status *s);
TF_CAPI_EXPORT extern void TF_AbstractOpSetOpName(TF_AbstractOp *op, const char *const op_name,
                                                  TF_Status *s);
TF_CAPI_EXPORT extern void TF_AbstractOpSetAttrType(TF_AbstractOp *op, const char *const attr_name,
                                                    TF_DataType value, TF_Status *s);

TF_CAPI_EXPORT extern void TF_DeleteAbstractTensor(TF_AbstractTensor *t);

// Tensors in an output list belong to whoever gets them out of it: deleting the list keeps them.
TF_CAPI_EXPORT extern TF_OutputList *TF_NewOutputList(void);
TF_CAPI_EXPORT extern void TF_DeleteOutputList(TF_OutputList *o);
// Empties the list and makes room: how many outputs an operation will give.
TF_CAPI_EXPORT extern void TF_OutputListSetNumOutputs(TF_OutputList *o, int num_outputs,
                                                      TF_Status *s);
TF_CAPI_EXPORT extern int TF_OutputListNumOutputs(TF_OutputList *o);
TF_CAPI_EXPORT extern TF_AbstractTensor *TF_OutputListGet(TF_OutputList *o, int i);
TF_CAPI_EXPORT extern void TF_OutputListPushBack(TF_OutputList *o, TF_AbstractTensor *tensor,
                                                 TF_Status *s);

// Runs or traces |op|; its outputs go into |o|, which has room for them.
TF_CAPI_EXPORT extern void TF_ExecuteOperation(TF_AbstractOp *op, int num_inputs,
                                               TF_AbstractTensor *const *inputs, TF_OutputList *o,
                                               TF_Status *s);

// ---- Functions ------------------------------------------------------------------------------

// Consumes a tracing context.
TF_CAPI_EXPORT extern TF_AbstractFunction *TF_FinalizeFunction(TF_ExecutionContext *ctx,
                                                               TF_OutputList *outputs,
                                                               TF_Status *s);
TF_CAPI_EXPORT extern void TF_DeleteAbstractFunction(TF_AbstractFunction *func);
TF_CAPI_EXPORT extern void TF_ExecutionContextRegisterFunction(TF_ExecutionContext *ctx,
                                                               TF_AbstractFunction *func,
                                                               TF_Status *s);

// ---- Eager contexts only --------------------------------------------------------------------

// The tensor takes over the handle; the handle of a tensor stays the tensor's.
TF_CAPI_EXPORT extern TF_AbstractTensor *TF_CreateAbstractTensorFromEagerTensor(TFE_TensorHandle *t,
                                                                                TF_Status *s);
TF_CAPI_EXPORT extern TFE_TensorHandle *TF_AbstractTensorGetEagerTensor(TF_AbstractTensor *at,
                                                                        TF_Status *s);
TF_CAPI_EXPORT extern TFE_Context *TF_ExecutionContextGetTFEContext(TF_ExecutionContext *ctx,
                                                                    TF_Status *s);

#ifdef __cplusplus
}  // extern "C"
#endif

#endif  // TENSORFLOW_C_EAGER_C_API_UNIFIED_EXPERIMENTAL_H_
