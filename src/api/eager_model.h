// SPDX-License-Identifier: Apache-2.0
// eager_model.h: what the types of the experimental SavedModel API are.
//
// A TF_SavedModel keeps the model's messages and, for every node of its object graph that functions
// can capture, a handle. A function is a name in the context's library and the nodes it captures; a
// call is that function's op with the caller's inputs and then the captures.
// Everything that can be looked up is made while loading, so that looking up needs no lock.

#ifndef FY_API_EAGER_MODEL_H
#define FY_API_EAGER_MODEL_H

#include "api/eager.h"
#include "api/shape.h"
#include "model/saved_model.h"
#include "tensorflow/c/experimental/saved_model/public/c_saved_model_api.h"

struct TF_TensorSpec {
  fy_dtype dtype;
  TF_Shape shape;  // its dims are the model's arena's
};

struct TF_SignatureDefParam {
  const char *name;
  TF_TensorSpec spec;
};

struct TF_SignatureDefParamList {
  TF_SignatureDefParam *items;
  size_t n;
};

struct TF_SignatureDefFunctionMetadata {
  TF_SignatureDefParamList args, returns;
};

struct TF_FunctionMetadata {
  const char *name;  // in the context's library
};

// One traced function, however it was looked up.
typedef struct fy_model_function {
  TF_SavedModel *model;
  TF_FunctionMetadata about;
  size_t num_args;          // without captures
  const int32_t *captures;  // nodes of the object graph
  size_t num_captures;
} fy_model_function;

struct TF_ConcreteFunction {
  fy_model_function f;
};

struct TF_SignatureDefFunction {
  fy_model_function f;
  const char *key;
  TF_SignatureDefFunctionMetadata metadata;
};

struct TF_ConcreteFunctionList {
  TF_ConcreteFunction **items;
  size_t n;
};

struct TF_SavedModel {
  fy_saved_model m;  // its arena holds everything below
  fy_eager *context;
  const Tensorflow__SavedObjectGraph *objects;
  fy_handle **values;  // [objects->n_nodes] of variables, constants, assets, resources
  TF_ConcreteFunction *
      *functions;  // [objects->n_nodes] NULL: not a function, or not one of one trace
  TF_SignatureDefFunction *signatures;  // by key
  size_t num_signatures;
};

// The child |name| of |node|, or -1.
int32_t fy_model_child(const Tensorflow__SavedObject *node, const char *name, size_t n);
// |f|'s op with |inputs| and captures, ready to run.
FY_MUST_CHECK fy_code fy_model_call_op(const fy_model_function *f, fy_handle **inputs,
                                       size_t num_inputs, fy_eager_op **out, fy_error *err);
// eager_model_state.c: makes |model->values|, restores variables, fills tables.
FY_MUST_CHECK fy_code fy_model_revive(TF_SavedModel *model, fy_error *err);
// eager_function.c: as TFE_ContextAddFunction.
FY_MUST_CHECK fy_code fy_api_add_function(fy_eager *c, const Tensorflow__FunctionDef *def,
                                          fy_error *err);

#endif
