// SPDX-License-Identifier: Apache-2.0
// c_api.h: TensorFlow's stable C API: build a graph, import one, run it in a session.
//
// Names: TF_NewX makes an X that the caller frees with TF_DeleteX, which accepts NULL.
// Errors: a call with a TF_Status* reports through it and returns NULL or 0 on failure. Setters
// without a status (TF_AddInput, TF_SetAttr...) keep the first error for TF_FinishOperation.
// Strings and arrays passed in are copied unless said otherwise; a `const char *` coming out is
// borrowed from the object it was asked of. Protos travel as serialized bytes.
// Threads: a graph and a session may be used from many threads at once; a description, an options
// object or a status by one thread at a time.

#ifndef TENSORFLOW_C_C_API_H_
#define TENSORFLOW_C_C_API_H_

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "tensorflow/c/c_api_macros.h"
#include "tensorflow/c/tf_attrtype.h"
#include "tensorflow/c/tf_buffer.h"
#include "tensorflow/c/tf_datatype.h"
#include "tensorflow/c/tf_status.h"
#include "tensorflow/c/tf_tensor.h"
#include "tensorflow/c/tf_tstring.h"

#ifdef __cplusplus
extern "C" {
#endif

// The version, as "major.minor.patch". A constant.
TF_CAPI_EXPORT extern const char *TF_Version(void);

// Overwrites |to|, a tensor the caller already has, with the value of a serialized TensorProto.
TF_CAPI_EXPORT extern void TF_TensorFromProto(const TF_Buffer *from, TF_Tensor *to,
                                              TF_Status *status);

// Borrowed text, not promised to end in a zero byte.
typedef struct TF_StringView {
  const char *data;
  size_t len;
} TF_StringView;

// ---- Session options ------------------------------------------------------------------------

typedef struct TF_SessionOptions TF_SessionOptions;

TF_CAPI_EXPORT extern TF_SessionOptions *TF_NewSessionOptions(void);

// Where sessions run: "" or "local" for this process, else "host:port" entries with commas between.
TF_CAPI_EXPORT extern void TF_SetTarget(TF_SessionOptions *options, const char *target);

// A serialized ConfigProto. INVALID_ARGUMENT if it cannot be parsed; nothing changes then.
TF_CAPI_EXPORT extern void TF_SetConfig(TF_SessionOptions *options, const void *proto,
                                        size_t proto_len, TF_Status *status);

TF_CAPI_EXPORT extern void TF_DeleteSessionOptions(TF_SessionOptions *options);

// ---- Graphs ---------------------------------------------------------------------------------

typedef struct TF_Graph TF_Graph;

TF_CAPI_EXPORT extern TF_Graph *TF_NewGraph(void);

// The graph lives on until the last session that uses it is deleted.
TF_CAPI_EXPORT extern void TF_DeleteGraph(TF_Graph *graph);

// An operation under construction; its graph must outlive it.
typedef struct TF_OperationDescription TF_OperationDescription;

// An operation of a graph. The pointer stays valid, and does not move, until the graph is gone.
typedef struct TF_Operation TF_Operation;

// Input number |index| of an operation.
typedef struct TF_Input {
  TF_Operation *oper;
  int index;
} TF_Input;

// Output number |index| of an operation.
typedef struct TF_Output {
  TF_Operation *oper;
  int index;
} TF_Output;

// A named subgraph with inputs and outputs. In a graph that holds it, an operation whose type is
// the function's name calls it.
typedef struct TF_Function TF_Function;

// No options exist; pass NULL.
typedef struct TF_FunctionOptions TF_FunctionOptions;

// Merges a shape into what is known of |output|: dimension -1 is unknown, |num_dims| -1 is unknown
// rank (|dims| may be NULL then). INVALID_ARGUMENT on contradiction or a foreign |output|.
TF_CAPI_EXPORT extern void TF_GraphSetTensorShape(TF_Graph *graph, TF_Output output,
                                                  const int64_t *dims, const int num_dims,
                                                  TF_Status *status);

// The rank, or -1 when unknown.
TF_CAPI_EXPORT extern int TF_GraphGetTensorNumDims(TF_Graph *graph, TF_Output output,
                                                   TF_Status *status);

// |num_dims| must equal the rank. Unknown dimensions read as -1; |dims| is left alone when the rank
// is 0 or unknown.
TF_CAPI_EXPORT extern void TF_GraphGetTensorShape(TF_Graph *graph, TF_Output output, int64_t *dims,
                                                  int num_dims, TF_Status *status);

// ---- Building an operation ------------------------------------------------------------------
// New, then device, inputs and attributes in any order but inputs in the order of the op's
// declaration, then Finish.

// As TF_NewOperation, for a caller that already holds the graph's lock (custom gradients).
TF_CAPI_EXPORT extern TF_OperationDescription *TF_NewOperationLocked(TF_Graph *graph,
                                                                     const char *op_type,
                                                                     const char *oper_name);

// Starts an operation; the graph does not change before TF_FinishOperation. Both strings are
// copied. Every description must be finished, as that is what frees it.
TF_CAPI_EXPORT extern TF_OperationDescription *TF_NewOperation(TF_Graph *graph, const char *op_type,
                                                               const char *oper_name);

// "" (the default) leaves the choice to placement.
TF_CAPI_EXPORT extern void TF_SetDevice(TF_OperationDescription *desc, const char *device);

// One call per declared input: the first form for a single tensor, the second for an input declared
// as a list, even a list of one.
TF_CAPI_EXPORT extern void TF_AddInput(TF_OperationDescription *desc, TF_Output input);
TF_CAPI_EXPORT extern void TF_AddInputList(TF_OperationDescription *desc, const TF_Output *inputs,
                                           int num_inputs);

// |input| runs before the new operation; no data flows.
TF_CAPI_EXPORT extern void TF_AddControlInput(TF_OperationDescription *desc, TF_Operation *input);

// Asks for the same device as |op|.
TF_CAPI_EXPORT extern void TF_ColocateWith(TF_OperationDescription *desc, TF_Operation *op);

// One call for each attribute that is neither implied by the inputs nor left at its default.
// Values are copied. A string need not end in a zero byte; lists have |num_values| entries.
TF_CAPI_EXPORT extern void TF_SetAttrString(TF_OperationDescription *desc, const char *attr_name,
                                            const void *value, size_t length);
TF_CAPI_EXPORT extern void TF_SetAttrStringList(TF_OperationDescription *desc,
                                                const char *attr_name, const void *const *values,
                                                const size_t *lengths, int num_values);
TF_CAPI_EXPORT extern void TF_SetAttrInt(TF_OperationDescription *desc, const char *attr_name,
                                         int64_t value);
TF_CAPI_EXPORT extern void TF_SetAttrIntList(TF_OperationDescription *desc, const char *attr_name,
                                             const int64_t *values, int num_values);
TF_CAPI_EXPORT extern void TF_SetAttrFloat(TF_OperationDescription *desc, const char *attr_name,
                                           float value);
TF_CAPI_EXPORT extern void TF_SetAttrFloatList(TF_OperationDescription *desc, const char *attr_name,
                                               const float *values, int num_values);
TF_CAPI_EXPORT extern void TF_SetAttrBool(TF_OperationDescription *desc, const char *attr_name,
                                          unsigned char value);
TF_CAPI_EXPORT extern void TF_SetAttrBoolList(TF_OperationDescription *desc, const char *attr_name,
                                              const unsigned char *values, int num_values);
TF_CAPI_EXPORT extern void TF_SetAttrType(TF_OperationDescription *desc, const char *attr_name,
                                          TF_DataType value);
TF_CAPI_EXPORT extern void TF_SetAttrTypeList(TF_OperationDescription *desc, const char *attr_name,
                                              const TF_DataType *values, int num_values);

// Names a parameter of the enclosing function that will give the value.
TF_CAPI_EXPORT extern void TF_SetAttrPlaceholder(TF_OperationDescription *desc,
                                                 const char *attr_name, const char *placeholder);

// A reference to a function, by name.
TF_CAPI_EXPORT extern void TF_SetAttrFuncName(TF_OperationDescription *desc, const char *attr_name,
                                              const char *value, size_t length);

// |num_dims| -1 means unknown rank, a dimension of -1 unknown size.
TF_CAPI_EXPORT extern void TF_SetAttrShape(TF_OperationDescription *desc, const char *attr_name,
                                           const int64_t *dims, int num_dims);
TF_CAPI_EXPORT extern void TF_SetAttrShapeList(TF_OperationDescription *desc, const char *attr_name,
                                               const int64_t *const *dims, const int *num_dims,
                                               int num_shapes);

// Serialized TensorShapeProtos. INVALID_ARGUMENT if one cannot be parsed.
TF_CAPI_EXPORT extern void TF_SetAttrTensorShapeProto(TF_OperationDescription *desc,
                                                      const char *attr_name, const void *proto,
                                                      size_t proto_len, TF_Status *status);
TF_CAPI_EXPORT extern void TF_SetAttrTensorShapeProtoList(TF_OperationDescription *desc,
                                                          const char *attr_name,
                                                          const void *const *protos,
                                                          const size_t *proto_lens, int num_shapes,
                                                          TF_Status *status);

// The tensors stay the caller's.
TF_CAPI_EXPORT extern void TF_SetAttrTensor(TF_OperationDescription *desc, const char *attr_name,
                                            TF_Tensor *value, TF_Status *status);
TF_CAPI_EXPORT extern void TF_SetAttrTensorList(TF_OperationDescription *desc,
                                                const char *attr_name, TF_Tensor *const *values,
                                                int num_values, TF_Status *status);

// Any attribute, as a serialized AttrValue.
TF_CAPI_EXPORT extern void TF_SetAttrValueProto(TF_OperationDescription *desc,
                                                const char *attr_name, const void *proto,
                                                size_t proto_len, TF_Status *status);

// As TF_FinishOperation, with the graph's lock held by the caller.
TF_CAPI_EXPORT extern TF_Operation *TF_FinishOperationLocked(TF_OperationDescription *desc,
                                                             TF_Status *status);

// Checks the description and adds the operation. |desc| is freed either way; on failure the graph
// is unchanged and the result NULL. The graph owns the operation.
TF_CAPI_EXPORT extern TF_Operation *TF_FinishOperation(TF_OperationDescription *desc,
                                                       TF_Status *status);

// ---- Reading an operation -------------------------------------------------------------------

// Borrowed from the operation.
TF_CAPI_EXPORT extern const char *TF_OperationName(TF_Operation *oper);
TF_CAPI_EXPORT extern const char *TF_OperationOpType(TF_Operation *oper);
TF_CAPI_EXPORT extern const char *TF_OperationDevice(TF_Operation *oper);

TF_CAPI_EXPORT extern int TF_OperationNumOutputs(TF_Operation *oper);
TF_CAPI_EXPORT extern TF_DataType TF_OperationOutputType(TF_Output oper_out);

// How many outputs the declared output |arg_name| stands for. -1 and an error if there is none.
TF_CAPI_EXPORT extern int TF_OperationOutputListLength(TF_Operation *oper, const char *arg_name,
                                                       TF_Status *status);

TF_CAPI_EXPORT extern int TF_OperationNumInputs(TF_Operation *oper);
TF_CAPI_EXPORT extern TF_DataType TF_OperationInputType(TF_Input oper_in);
TF_CAPI_EXPORT extern int TF_OperationInputListLength(TF_Operation *oper, const char *arg_name,
                                                      TF_Status *status);

// What feeds an input.
TF_CAPI_EXPORT extern TF_Output TF_OperationInput(TF_Input oper_in);

// What feeds every input, up to |max_inputs| of them.
TF_CAPI_EXPORT extern void TF_OperationAllInputs(TF_Operation *oper, TF_Output *inputs,
                                                 int max_inputs);

// Consumers may appear at any time when another thread adds operations. The second call returns how
// many it wrote, at most |max_consumers|.
TF_CAPI_EXPORT extern int TF_OperationOutputNumConsumers(TF_Output oper_out);
TF_CAPI_EXPORT extern int TF_OperationOutputConsumers(TF_Output oper_out, TF_Input *consumers,
                                                      int max_consumers);

// Each Get writes at most the maximum and returns how many it wrote.
TF_CAPI_EXPORT extern int TF_OperationNumControlInputs(TF_Operation *oper);
TF_CAPI_EXPORT extern int TF_OperationGetControlInputs(TF_Operation *oper,
                                                       TF_Operation **control_inputs,
                                                       int max_control_inputs);
TF_CAPI_EXPORT extern int TF_OperationNumControlOutputs(TF_Operation *oper);
TF_CAPI_EXPORT extern int TF_OperationGetControlOutputs(TF_Operation *oper,
                                                        TF_Operation **control_outputs,
                                                        int max_control_outputs);

// What an attribute holds, so that the caller can size its arrays.
typedef struct TF_AttrMetadata {
  unsigned char is_list;
  int64_t list_size;  // elements; meaningless unless is_list
  TF_AttrType type;   // of the value, or of each element
  // Strings: bytes, over the whole list. Shapes: dimensions, over the whole list; -1 for one shape
  // of unknown rank. Other types: meaningless.
  int64_t total_size;
} TF_AttrMetadata;

TF_CAPI_EXPORT extern TF_AttrMetadata TF_OperationGetAttrMetadata(TF_Operation *oper,
                                                                  const char *attr_name,
                                                                  TF_Status *status);

// The getters below copy into the caller's memory, never more than the given maximum, and fail with
// INVALID_ARGUMENT when the attribute is missing or of another kind.

// No zero byte is added; the length is TF_AttrMetadata.total_size.
TF_CAPI_EXPORT extern void TF_OperationGetAttrString(TF_Operation *oper, const char *attr_name,
                                                     void *value, size_t max_length,
                                                     TF_Status *status);

// |values| point into |storage|; too little storage is an error.
TF_CAPI_EXPORT extern void TF_OperationGetAttrStringList(TF_Operation *oper, const char *attr_name,
                                                         void **values, size_t *lengths,
                                                         int max_values, void *storage,
                                                         size_t storage_size, TF_Status *status);

TF_CAPI_EXPORT extern void TF_OperationGetAttrInt(TF_Operation *oper, const char *attr_name,
                                                  int64_t *value, TF_Status *status);
TF_CAPI_EXPORT extern void TF_OperationGetAttrIntList(TF_Operation *oper, const char *attr_name,
                                                      int64_t *values, int max_values,
                                                      TF_Status *status);
TF_CAPI_EXPORT extern void TF_OperationGetAttrFloat(TF_Operation *oper, const char *attr_name,
                                                    float *value, TF_Status *status);
TF_CAPI_EXPORT extern void TF_OperationGetAttrFloatList(TF_Operation *oper, const char *attr_name,
                                                        float *values, int max_values,
                                                        TF_Status *status);
TF_CAPI_EXPORT extern void TF_OperationGetAttrBool(TF_Operation *oper, const char *attr_name,
                                                   unsigned char *value, TF_Status *status);
TF_CAPI_EXPORT extern void TF_OperationGetAttrBoolList(TF_Operation *oper, const char *attr_name,
                                                       unsigned char *values, int max_values,
                                                       TF_Status *status);
TF_CAPI_EXPORT extern void TF_OperationGetAttrType(TF_Operation *oper, const char *attr_name,
                                                   TF_DataType *value, TF_Status *status);
TF_CAPI_EXPORT extern void TF_OperationGetAttrTypeList(TF_Operation *oper, const char *attr_name,
                                                       TF_DataType *values, int max_values,
                                                       TF_Status *status);

// |num_dims| should be TF_AttrMetadata.total_size.
TF_CAPI_EXPORT extern void TF_OperationGetAttrShape(TF_Operation *oper, const char *attr_name,
                                                    int64_t *value, int num_dims,
                                                    TF_Status *status);

// |dims[i]| points into |storage|, which has room for |storage_size| numbers; |num_dims[i]| is -1
// for unknown rank. Too little storage is an error.
TF_CAPI_EXPORT extern void TF_OperationGetAttrShapeList(TF_Operation *oper, const char *attr_name,
                                                        int64_t **dims, int *num_dims,
                                                        int num_shapes, int64_t *storage,
                                                        int storage_size, TF_Status *status);

// Serialized TensorShapeProtos. The single form fills an empty buffer of the caller; the list form
// makes new buffers, which the caller deletes.
TF_CAPI_EXPORT extern void TF_OperationGetAttrTensorShapeProto(TF_Operation *oper,
                                                               const char *attr_name,
                                                               TF_Buffer *value, TF_Status *status);
TF_CAPI_EXPORT extern void TF_OperationGetAttrTensorShapeProtoList(TF_Operation *oper,
                                                                   const char *attr_name,
                                                                   TF_Buffer **values,
                                                                   int max_values,
                                                                   TF_Status *status);

// New tensors, which the caller deletes.
TF_CAPI_EXPORT extern void TF_OperationGetAttrTensor(TF_Operation *oper, const char *attr_name,
                                                     TF_Tensor **value, TF_Status *status);
TF_CAPI_EXPORT extern void TF_OperationGetAttrTensorList(TF_Operation *oper, const char *attr_name,
                                                         TF_Tensor **values, int max_values,
                                                         TF_Status *status);

// A serialized AttrValue, into an empty buffer.
TF_CAPI_EXPORT extern void TF_OperationGetAttrValueProto(TF_Operation *oper, const char *attr_name,
                                                         TF_Buffer *output_attr_value,
                                                         TF_Status *status);

// Attributes by number: how many, how long a name is (-1 if there is no such number), and the name,
// which is written without a zero byte.
TF_CAPI_EXPORT extern int TF_OperationGetNumAttrs(TF_Operation *oper);
TF_CAPI_EXPORT extern int TF_OperationGetAttrNameLength(TF_Operation *oper, int i);
TF_CAPI_EXPORT extern void TF_OperationGetAttrName(TF_Operation *oper, int i, char *output,
                                                   TF_Status *status);

// ---- Reading a graph ------------------------------------------------------------------------

// NULL if there is none.
TF_CAPI_EXPORT extern TF_Operation *TF_GraphOperationByName(TF_Graph *graph, const char *oper_name);

// Steps through the operations: start with |*pos| at 0, stop at NULL.
TF_CAPI_EXPORT extern TF_Operation *TF_GraphNextOperation(TF_Graph *graph, size_t *pos);

// Serialized GraphDef, OpDef (of a registered op or a function in the graph) and VersionDef, into
// an empty buffer.
TF_CAPI_EXPORT extern void TF_GraphToGraphDef(TF_Graph *graph, TF_Buffer *output_graph_def,
                                              TF_Status *status);
TF_CAPI_EXPORT extern void TF_GraphGetOpDef(TF_Graph *graph, const char *op_name,
                                            TF_Buffer *output_op_def, TF_Status *status);
TF_CAPI_EXPORT extern void TF_GraphVersions(TF_Graph *graph, TF_Buffer *output_version_def,
                                            TF_Status *status);

// ---- Importing a GraphDef -------------------------------------------------------------------

// What to change while importing. Strings are copied; operations belong to the receiving graph.
typedef struct TF_ImportGraphDefOptions TF_ImportGraphDefOptions;

TF_CAPI_EXPORT extern TF_ImportGraphDefOptions *TF_NewImportGraphDefOptions(void);
TF_CAPI_EXPORT extern void TF_DeleteImportGraphDefOptions(TF_ImportGraphDefOptions *opts);

// Puts "prefix/" before every imported name.
TF_CAPI_EXPORT extern void TF_ImportGraphDefOptionsSetPrefix(TF_ImportGraphDefOptions *opts,
                                                             const char *prefix);

// For imported nodes that name no device.
TF_CAPI_EXPORT extern void TF_ImportGraphDefOptionsSetDefaultDevice(TF_ImportGraphDefOptions *opts,
                                                                    const char *device);

// Whether a clash of names, or of the prefix, is resolved by renaming (1) or is an error (0, the
// default). The first has no effect when a prefix is set.
TF_CAPI_EXPORT extern void TF_ImportGraphDefOptionsSetUniquifyNames(TF_ImportGraphDefOptions *opts,
                                                                    unsigned char uniquify_names);
TF_CAPI_EXPORT extern void TF_ImportGraphDefOptionsSetUniquifyPrefix(TF_ImportGraphDefOptions *opts,
                                                                     unsigned char uniquify_prefix);

// Uses |dst|, already in the graph, wherever the import reads src_name:src_index.
TF_CAPI_EXPORT extern void TF_ImportGraphDefOptionsAddInputMapping(TF_ImportGraphDefOptions *opts,
                                                                   const char *src_name,
                                                                   int src_index, TF_Output dst);

// The same for control inputs.
TF_CAPI_EXPORT extern void TF_ImportGraphDefOptionsRemapControlDependency(
    TF_ImportGraphDefOptions *opts, const char *src_name, TF_Operation *dst);

// Every imported node waits for |oper|.
TF_CAPI_EXPORT extern void TF_ImportGraphDefOptionsAddControlDependency(
    TF_ImportGraphDefOptions *opts, TF_Operation *oper);

// Asks for the imported output or operation of that (unprefixed) name in the results. If an output
// is mapped away, the tensor it is mapped to is returned.
TF_CAPI_EXPORT extern void TF_ImportGraphDefOptionsAddReturnOutput(TF_ImportGraphDefOptions *opts,
                                                                   const char *oper_name,
                                                                   int index);
TF_CAPI_EXPORT extern int TF_ImportGraphDefOptionsNumReturnOutputs(
    const TF_ImportGraphDefOptions *opts);
TF_CAPI_EXPORT extern void TF_ImportGraphDefOptionsAddReturnOperation(
    TF_ImportGraphDefOptions *opts, const char *oper_name);
TF_CAPI_EXPORT extern int TF_ImportGraphDefOptionsNumReturnOperations(
    const TF_ImportGraphDefOptions *opts);

// What the import returned. Everything read out of it is borrowed from it.
typedef struct TF_ImportGraphDefResults TF_ImportGraphDefResults;

// In the order in which they were asked for.
TF_CAPI_EXPORT extern void TF_ImportGraphDefResultsReturnOutputs(TF_ImportGraphDefResults *results,
                                                                 int *num_outputs,
                                                                 TF_Output **outputs);
TF_CAPI_EXPORT extern void TF_ImportGraphDefResultsReturnOperations(
    TF_ImportGraphDefResults *results, int *num_opers, TF_Operation ***opers);

// Input mappings that named a node which is neither in the GraphDef nor read by it.
TF_CAPI_EXPORT extern void TF_ImportGraphDefResultsMissingUnusedInputMappings(
    TF_ImportGraphDefResults *results, int *num_missing_unused_input_mappings,
    const char ***src_names, int **src_indexes);

TF_CAPI_EXPORT extern void TF_DeleteImportGraphDefResults(TF_ImportGraphDefResults *results);

// Adds all of |graph_def| or, on failure, nothing. The caller deletes the results.
TF_CAPI_EXPORT extern TF_ImportGraphDefResults *TF_GraphImportGraphDefWithResults(
    TF_Graph *graph, const TF_Buffer *graph_def, const TF_ImportGraphDefOptions *options,
    TF_Status *status);

// |graph_def->data| points to an in-memory C++ GraphDef in TensorFlow. There is no such object
// here: expect UNIMPLEMENTED.
TF_CAPI_EXPORT extern TF_ImportGraphDefResults *TF_GraphImportGraphDefWithResultsNoSerialization(
    TF_Graph *graph, const TF_Buffer *graph_def, const TF_ImportGraphDefOptions *options,
    TF_Status *status);

// The same import for callers who need only the return outputs (as many as were
// asked for) or nothing at all.
TF_CAPI_EXPORT extern void TF_GraphImportGraphDefWithReturnOutputs(
    TF_Graph *graph, const TF_Buffer *graph_def, const TF_ImportGraphDefOptions *options,
    TF_Output *return_outputs, int num_return_outputs, TF_Status *status);
TF_CAPI_EXPORT extern void TF_GraphImportGraphDef(TF_Graph *graph, const TF_Buffer *graph_def,
                                                  const TF_ImportGraphDefOptions *options,
                                                  TF_Status *status);

// ---- Functions ------------------------------------------------------------------------------

// Copies |func|, and its gradient |grad| if not NULL, into the graph. Adding the same function
// again has no effect; a different gradient or a name that is taken is an error.
TF_CAPI_EXPORT extern void TF_GraphCopyFunction(TF_Graph *g, const TF_Function *func,
                                                const TF_Function *grad, TF_Status *status);

TF_CAPI_EXPORT extern int TF_GraphNumFunctions(TF_Graph *g);

// Returns how many it wrote; the caller deletes each.
TF_CAPI_EXPORT extern int TF_GraphGetFunctions(TF_Graph *g, TF_Function **funcs, int max_func,
                                               TF_Status *status);

// A serialized NodeDef, into an empty buffer.
TF_CAPI_EXPORT extern void TF_OperationToNodeDef(TF_Operation *oper, TF_Buffer *output_node_def,
                                                 TF_Status *status);

// A while loop under construction: two small graphs to fill in. The const members belong to the
// library; the caller sets the others.
typedef struct TF_WhileParams {
  const int ninputs;  // loop variables: the length of the three arrays

  TF_Graph *const cond_graph;
  const TF_Output *const cond_inputs;
  TF_Output cond_output;  // caller: a scalar boolean of cond_graph

  TF_Graph *const body_graph;
  const TF_Output *const body_inputs;
  TF_Output *const body_outputs;  // caller: fills the array with the next values

  const char *name;  // caller: a unique prefix; must stay valid until TF_FinishWhile
} TF_WhileParams;

// |inputs| are the initial values. After success, exactly one of Finish and Abort must follow.
TF_CAPI_EXPORT extern TF_WhileParams TF_NewWhile(TF_Graph *g, TF_Output *inputs, int ninputs,
                                                 TF_Status *status);

// Adds the loop to the graph and writes |ninputs| final values to |outputs|. Frees what |params|
// holds, also on failure.
TF_CAPI_EXPORT extern void TF_FinishWhile(const TF_WhileParams *params, TF_Status *status,
                                          TF_Output *outputs);

TF_CAPI_EXPORT extern void TF_AbortWhile(const TF_WhileParams *params);

// Adds operations for d(sum of y)/dx. |dx|, if not NULL, holds |ny| incoming gradients, otherwise
// ones are used. The |nx| results are written to |dy|. UNIMPLEMENTED names an op without a
// gradient. New names start with "gradients/", made unique.
TF_CAPI_EXPORT extern void TF_AddGradients(TF_Graph *g, TF_Output *y, int ny, TF_Output *x, int nx,
                                           TF_Output *dx, TF_Status *status, TF_Output *dy);

// The same under a prefix of the caller, which must be unused; NULL for the default.
TF_CAPI_EXPORT extern void TF_AddGradientsWithPrefix(TF_Graph *g, const char *prefix, TF_Output *y,
                                                     int ny, TF_Output *x, int nx, TF_Output *dx,
                                                     TF_Status *status, TF_Output *dy);

// Makes a function of part of a graph. |num_opers| -1 takes every operation except those that only
// stand for |inputs|; 0 or more takes exactly |opers|. Every input of the body must come from the
// body or from |inputs|, which may not repeat; |outputs| may. |output_names| may be NULL.
// |append_hash_to_fn_name| adds a hash of the definition to the name. NULL on failure.
TF_CAPI_EXPORT extern TF_Function *TF_GraphToFunction(
    const TF_Graph *fn_body, const char *fn_name, unsigned char append_hash_to_fn_name,
    int num_opers, const TF_Operation *const *opers, int ninputs, const TF_Output *inputs,
    int noutputs, const TF_Output *outputs, const char *const *output_names,
    const TF_FunctionOptions *opts, const char *description, TF_Status *status);

// The same, plus operations that must run whenever the function is called, with optional names.
TF_CAPI_EXPORT extern TF_Function *TF_GraphToFunctionWithControlOutputs(
    const TF_Graph *fn_body, const char *fn_name, unsigned char append_hash_to_fn_name,
    int num_opers, const TF_Operation *const *opers, int ninputs, const TF_Output *inputs,
    int noutputs, const TF_Output *outputs, const char *const *output_names, int ncontrol_outputs,
    const TF_Operation *const *control_outputs, const char *const *control_output_names,
    const TF_FunctionOptions *opts, const char *description, TF_Status *status);

// Borrowed from the function.
TF_CAPI_EXPORT extern const char *TF_FunctionName(TF_Function *func);

// A serialized FunctionDef: out, into an empty buffer, and in. NULL on failure.
TF_CAPI_EXPORT extern void TF_FunctionToFunctionDef(TF_Function *func, TF_Buffer *output_func_def,
                                                    TF_Status *status);
TF_CAPI_EXPORT extern TF_Function *TF_FunctionImportFunctionDef(const void *proto, size_t proto_len,
                                                                TF_Status *status);

// An attribute of the function itself, as a serialized AttrValue. Get fails if it is absent.
TF_CAPI_EXPORT extern void TF_FunctionSetAttrValueProto(TF_Function *func, const char *attr_name,
                                                        const void *proto, size_t proto_len,
                                                        TF_Status *status);
TF_CAPI_EXPORT extern void TF_FunctionGetAttrValueProto(TF_Function *func, const char *attr_name,
                                                        TF_Buffer *output_attr_value,
                                                        TF_Status *status);

// Graphs that the function was copied to keep their copy. NULL is accepted.
TF_CAPI_EXPORT extern void TF_DeleteFunction(TF_Function *func);

// Computes |output| if it depends on constants only: returns 1 and a tensor for the caller. Returns
// 0 otherwise, which is not an error.
TF_CAPI_EXPORT extern unsigned char TF_TryEvaluateConstant(TF_Graph *graph, TF_Output output,
                                                           TF_Tensor **result, TF_Status *status);

// ---- Sessions -------------------------------------------------------------------------------

typedef struct TF_Session TF_Session;

// Keeps |graph| alive. Operations added to the graph later can be run too. |opts| is copied.
TF_CAPI_EXPORT extern TF_Session *TF_NewSession(TF_Graph *graph, const TF_SessionOptions *opts,
                                                TF_Status *status);

// Reads the MetaGraphDef with exactly these tags into |graph|, which must be new, restores its
// variables and runs its initialiser. |run_options| and |meta_graph_def| may be NULL; the latter
// otherwise receives the serialized MetaGraphDef.
TF_CAPI_EXPORT extern TF_Session *TF_LoadSessionFromSavedModel(
    const TF_SessionOptions *session_options, const TF_Buffer *run_options, const char *export_dir,
    const char *const *tags, int tags_len, TF_Graph *graph, TF_Buffer *meta_graph_def,
    TF_Status *status);

// Ends running steps and refuses new ones; memory is freed by Delete.
TF_CAPI_EXPORT extern void TF_CloseSession(TF_Session *session, TF_Status *status);

// Frees the session even if |status| reports an error. No step may be running.
TF_CAPI_EXPORT extern void TF_DeleteSession(TF_Session *session, TF_Status *status);

// Feeds |inputs|, fetches |outputs|, and runs |target_opers| besides. |run_options| (a serialized
// RunOptions) and |run_metadata| (an empty buffer, receives RunMetadata) may be NULL. Inputs stay
// the caller's; the caller deletes the outputs. On failure every entry of |output_values| is NULL.
TF_CAPI_EXPORT extern void TF_SessionRun(TF_Session *session, const TF_Buffer *run_options,
                                         const TF_Output *inputs, TF_Tensor *const *input_values,
                                         int ninputs, const TF_Output *outputs,
                                         TF_Tensor **output_values, int noutputs,
                                         const TF_Operation *const *target_opers, int ntargets,
                                         TF_Buffer *run_metadata, TF_Status *status);

// A run in several parts: Setup names all feeds, fetches and targets and gives a handle; each PRun
// feeds and fetches some of them. |*handle| is NULL on failure, else freed by TF_DeletePRunHandle.
TF_CAPI_EXPORT extern void TF_SessionPRunSetup(TF_Session *session, const TF_Output *inputs,
                                               int ninputs, const TF_Output *outputs, int noutputs,
                                               const TF_Operation *const *target_opers,
                                               int ntargets, const char **handle,
                                               TF_Status *status);
TF_CAPI_EXPORT extern void TF_SessionPRun(TF_Session *session, const char *handle,
                                          const TF_Output *inputs, TF_Tensor *const *input_values,
                                          int ninputs, const TF_Output *outputs,
                                          TF_Tensor **output_values, int noutputs,
                                          const TF_Operation *const *target_opers, int ntargets,
                                          TF_Status *status);
TF_CAPI_EXPORT extern void TF_DeletePRunHandle(const char *handle);

// ---- The session API before TF_Graph --------------------------------------------------------
// Deprecated in TensorFlow: a session that owns its graph, with tensors named "op:0".

typedef struct TF_DeprecatedSession TF_DeprecatedSession;

TF_CAPI_EXPORT extern TF_DeprecatedSession *TF_NewDeprecatedSession(
    const TF_SessionOptions *options, TF_Status *status);
TF_CAPI_EXPORT extern void TF_CloseDeprecatedSession(TF_DeprecatedSession *session,
                                                     TF_Status *status);
TF_CAPI_EXPORT extern void TF_DeleteDeprecatedSession(TF_DeprecatedSession *session,
                                                      TF_Status *status);

// Clears resource containers; with none given, the default one.
TF_CAPI_EXPORT extern void TF_Reset(const TF_SessionOptions *opt, const char **containers,
                                    int ncontainers, TF_Status *status);

// Adds the nodes of a serialized GraphDef.
TF_CAPI_EXPORT extern void TF_ExtendGraph(TF_DeprecatedSession *session, const void *proto,
                                          size_t proto_len, TF_Status *status);

// As their TF_Session namesakes, except that TF_Run and TF_PRun read but do not consume |inputs|.
TF_CAPI_EXPORT extern void TF_Run(TF_DeprecatedSession *session, const TF_Buffer *run_options,
                                  const char **input_names, TF_Tensor **inputs, int ninputs,
                                  const char **output_names, TF_Tensor **outputs, int noutputs,
                                  const char **target_oper_names, int ntargets,
                                  TF_Buffer *run_metadata, TF_Status *status);
TF_CAPI_EXPORT extern void TF_PRunSetup(TF_DeprecatedSession *session, const char **input_names,
                                        int ninputs, const char **output_names, int noutputs,
                                        const char **target_oper_names, int ntargets,
                                        const char **handle, TF_Status *status);
TF_CAPI_EXPORT extern void TF_PRun(TF_DeprecatedSession *session, const char *handle,
                                   const char **input_names, TF_Tensor **inputs, int ninputs,
                                   const char **output_names, TF_Tensor **outputs, int noutputs,
                                   const char **target_oper_names, int ntargets, TF_Status *status);

// ---- Devices --------------------------------------------------------------------------------

// A snapshot of the devices. Strings read out of it are borrowed from it.
typedef struct TF_DeviceList TF_DeviceList;

// The caller deletes the list.
TF_CAPI_EXPORT extern TF_DeviceList *TF_SessionListDevices(TF_Session *session, TF_Status *status);
TF_CAPI_EXPORT extern TF_DeviceList *TF_DeprecatedSessionListDevices(TF_DeprecatedSession *session,
                                                                     TF_Status *status);

TF_CAPI_EXPORT extern void TF_DeleteDeviceList(TF_DeviceList *list);
TF_CAPI_EXPORT extern int TF_DeviceListCount(const TF_DeviceList *list);

// INVALID_ARGUMENT, and NULL, -1 or 0, when |index| is out of range. A name is the full name, such
// as "/job:localhost/replica:0/task:0/device:CPU:0"; an incarnation changes when a device restarts.
TF_CAPI_EXPORT extern const char *TF_DeviceListName(const TF_DeviceList *list, int index,
                                                    TF_Status *status);
TF_CAPI_EXPORT extern const char *TF_DeviceListType(const TF_DeviceList *list, int index,
                                                    TF_Status *status);
TF_CAPI_EXPORT extern int64_t TF_DeviceListMemoryBytes(const TF_DeviceList *list, int index,
                                                       TF_Status *status);
TF_CAPI_EXPORT extern uint64_t TF_DeviceListIncarnation(const TF_DeviceList *list, int index,
                                                        TF_Status *status);

// ---- Plugins and registries -----------------------------------------------------------------

typedef struct TF_Library TF_Library;

// Loads a shared library, whose ops and kernels register themselves. NULL on failure.
TF_CAPI_EXPORT extern TF_Library *TF_LoadLibrary(const char *library_filename, TF_Status *status);

// A serialized OpList of what the library added. The bytes belong to the handle.
TF_CAPI_EXPORT extern TF_Buffer TF_GetOpList(TF_Library *lib_handle);

// Frees the handle. The code stays loaded.
TF_CAPI_EXPORT extern void TF_DeleteLibraryHandle(TF_Library *lib_handle);

// A serialized OpList of every op in the process. The caller deletes the buffer.
TF_CAPI_EXPORT extern TF_Buffer *TF_GetAllOpList(void);

// How each op should look in a language binding, for programs that write one.
typedef struct TF_ApiDefMap TF_ApiDefMap;

// From a serialized OpList.
TF_CAPI_EXPORT extern TF_ApiDefMap *TF_NewApiDefMap(TF_Buffer *op_list_buffer, TF_Status *status);
TF_CAPI_EXPORT extern void TF_DeleteApiDefMap(TF_ApiDefMap *apimap);

// Merges ApiDefs in text format; later ones win.
TF_CAPI_EXPORT extern void TF_ApiDefMapPut(TF_ApiDefMap *api_def_map, const char *text,
                                           size_t text_len, TF_Status *status);

// A serialized ApiDef, or NULL. The caller deletes the buffer.
TF_CAPI_EXPORT extern TF_Buffer *TF_ApiDefMapGet(TF_ApiDefMap *api_def_map, const char *name,
                                                 size_t name_len, TF_Status *status);

// Serialized KernelLists. The caller deletes the buffer.
TF_CAPI_EXPORT extern TF_Buffer *TF_GetAllRegisteredKernels(TF_Status *status);
TF_CAPI_EXPORT extern TF_Buffer *TF_GetRegisteredKernelsForOp(const char *name, TF_Status *status);

// Rewires input |dst| to |new_src| of the same graph. INVALID_ARGUMENT if types differ.
TF_CAPI_EXPORT extern void TF_UpdateEdge(TF_Graph *graph, TF_Output new_src, TF_Input dst,
                                         TF_Status *status);

// ---- In-process server ----------------------------------------------------------------------

typedef struct TF_Server TF_Server;

// From a serialized ServerDef; serves nothing before Start.
TF_CAPI_EXPORT extern TF_Server *TF_NewServer(const void *proto, size_t proto_len,
                                              TF_Status *status);
TF_CAPI_EXPORT extern void TF_ServerStart(TF_Server *server, TF_Status *status);
TF_CAPI_EXPORT extern void TF_ServerStop(TF_Server *server, TF_Status *status);

// Waits for the server to stop.
TF_CAPI_EXPORT extern void TF_ServerJoin(TF_Server *server, TF_Status *status);

// For TF_SetTarget. Borrowed from the server.
TF_CAPI_EXPORT extern const char *TF_ServerTarget(TF_Server *server);

// Stops the server first if need be.
TF_CAPI_EXPORT extern void TF_DeleteServer(TF_Server *server);

// ---- Process-wide hooks ---------------------------------------------------------------------

// Receives what print operations would have written. Listeners cannot be removed; they may be
// called from any thread.
TF_CAPI_EXPORT extern void TF_RegisterLogListener(void (*listener)(const char *));

TF_CAPI_EXPORT extern void TF_RegisterFilesystemPlugin(const char *plugin_filename,
                                                       TF_Status *status);

// ---- Changing a graph in place --------------------------------------------------------------
// What the Python front end needs. No session may be running the operation.

TF_CAPI_EXPORT extern void TF_AddOperationControlInput(TF_Graph *graph, TF_Operation *op,
                                                       TF_Operation *input);

// |attr_value_proto| is a serialized AttrValue.
TF_CAPI_EXPORT extern void TF_SetAttr(TF_Graph *graph, TF_Operation *op, const char *attr_name,
                                      TF_Buffer *attr_value_proto, TF_Status *status);
TF_CAPI_EXPORT extern void TF_ClearAttr(TF_Graph *graph, TF_Operation *op, const char *attr_name,
                                        TF_Status *status);

// A serialized FullTypeDef; ignored if it cannot be parsed.
TF_CAPI_EXPORT extern void TF_SetFullType(TF_Graph *graph, TF_Operation *op,
                                          const TF_Buffer *full_type_proto);

TF_CAPI_EXPORT extern void TF_SetRequestedDevice(TF_Graph *graph, TF_Operation *op,
                                                 const char *device);
TF_CAPI_EXPORT extern void TF_RemoveAllControlInputs(TF_Graph *graph, TF_Operation *op);

// Whether adding an op that has no shape function is an error.
TF_CAPI_EXPORT extern void TF_SetRequireShapeInferenceFns(TF_Graph *graph, bool require);

// Hands new operations to the session now. Afterwards TF_SessionRun no longer does so by itself.
TF_CAPI_EXPORT extern void TF_ExtendSession(TF_Session *session, TF_Status *status);

// Shapes and types behind a resource or variant, as a serialized HandleData; empty for other
// tensors. The caller deletes the buffer.
TF_CAPI_EXPORT extern TF_Buffer *TF_GetHandleShapeAndType(TF_Graph *graph, TF_Output output);
TF_CAPI_EXPORT extern void TF_SetHandleShapeAndType(TF_Graph *graph, TF_Output output,
                                                    const void *proto, size_t proto_len,
                                                    TF_Status *status);

// Adds an input to a While operation whose "T" attribute already counts it.
TF_CAPI_EXPORT extern void TF_AddWhileInputHack(TF_Graph *graph, TF_Output new_src,
                                                TF_Operation *dst, TF_Status *status);

#ifdef __cplusplus
}  // extern "C"
#endif

#endif  // TENSORFLOW_C_C_API_H_
