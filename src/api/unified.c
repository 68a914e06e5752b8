// SPDX-License-Identifier: Apache-2.0
// unified.c: the unified API over the two that are there: an eager context is a TFE_Context and its
// tensors are TFE_TensorHandles, the very objects, so that what a client gets out of one it may use
// with the other API; a function being traced and its tensors are structs of our own, told apart by
// the lowest bit of their address.

#include <stdio.h>
#include <string.h>

#include "api/eager.h"
#include "api/shape.h"
#include "base/alloc.h"
#include "graph/node.h"

typedef struct tracer {
  TF_Graph *graph;
  char *name;
  uint32_t named;  // operations that were given a name: it becomes part of theirs
  TF_Output *inputs;
  size_t num_inputs, cap_inputs;
} tracer;

struct TF_AbstractOp {
  TFE_Context *eager;  // or
  tracer *tracer;
  TFE_Op *op;                     // eager, once it has a type
  char *type;                     // traced, once it has one
  TF_OperationDescription *desc;  // traced, once it has a name
};

struct TF_AbstractFunction {
  TF_Function *function;
};

struct TF_OutputList {
  TF_AbstractTensor **items;
  size_t n, cap;
};

static bool is_traced(const void *p) {
  return (uintptr_t)p & 1;
}
static void *plain(const void *p) {
  return (void *)((uintptr_t)p & ~(uintptr_t)1);
}
static void *traced(const void *p) {
  return p ? (void *)((uintptr_t)p | 1) : NULL;
}

static fy_code out_of_memory(TF_Status *s, size_t bytes) {
  fy_code code = fy_fail_oom(fy_api_begin(s), bytes);
  fy_api_end(s, code);
  return code;
}

// ---------------------------------------------------------------- contexts
void TF_SetTracingImplementation(const char *name, TF_Status *s) {
  fy_error *err = fy_api_begin(s);
  if (strcmp(name, "graphdef") != 0 && strcmp(name, "mlir") != 0)
    fy_fail(err, FY_INVALID_ARGUMENT,
            "No tracing engine factory has been registered with the key '%s' (available: "
            "graphdef, mlir)",
            name);
}

static void free_tracer(tracer *t) {
  if (!t) return;
  if (t->graph) TF_DeleteGraph(t->graph);
  fy_free(t->name);
  fy_free(t->inputs);
  fy_free(t);
}

TF_ExecutionContext *TF_CreateFunction(const char *fn_name, TF_Status *s) {
  fy_api_begin(s);
  tracer *t = fy_calloc(1, sizeof *t);
  if (t && (t->graph = TF_NewGraph()) && (t->name = fy_strdup(fn_name))) return traced(t);
  free_tracer(t);
  out_of_memory(s, sizeof *t);
  return NULL;
}

TF_ExecutionContext *TF_NewEagerExecutionContext(TFE_ContextOptions *options, TF_Status *s) {
  return (TF_ExecutionContext *)TFE_NewContext(options, s);
}

void TF_DeleteExecutionContext(TF_ExecutionContext *ctx) {
  if (is_traced(ctx))
    free_tracer(plain(ctx));
  else if (ctx)
    TFE_DeleteContext((TFE_Context *)ctx);
}

TFE_Context *TF_ExecutionContextGetTFEContext(TF_ExecutionContext *ctx, TF_Status *s) {
  fy_api_begin(s);
  if (!is_traced(ctx)) return (TFE_Context *)ctx;
  TF_SetStatus(s, TF_INVALID_ARGUMENT, "Not an eager context.");
  return NULL;
}

// ---------------------------------------------------------------- tensors
static TF_AbstractTensor *new_traced(TF_Output output) {
  TF_Output *t = fy_malloc(sizeof *t);
  if (t) *t = output;
  return traced(t);
}

TF_AbstractTensor *TF_CreateAbstractTensorFromEagerTensor(TFE_TensorHandle *t, TF_Status *s) {
  fy_api_begin(s);
  return (TF_AbstractTensor *)t;
}

TFE_TensorHandle *TF_AbstractTensorGetEagerTensor(TF_AbstractTensor *at, TF_Status *s) {
  fy_api_begin(s);
  if (!is_traced(at)) return (TFE_TensorHandle *)at;
  TF_SetStatus(s, TF_INVALID_ARGUMENT, "Not an eager tensor handle.");
  return NULL;
}

void TF_DeleteAbstractTensor(TF_AbstractTensor *t) {
  if (is_traced(t))
    fy_free(plain(t));
  else
    TFE_DeleteTensorHandle((TFE_TensorHandle *)t);
}

TF_OutputList *TF_NewOutputList(void) {
  return fy_calloc(1, sizeof(TF_OutputList));
}

void TF_DeleteOutputList(TF_OutputList *o) {
  if (!o) return;
  fy_free(o->items);
  fy_free(o);
}

void TF_OutputListSetNumOutputs(TF_OutputList *o, int num_outputs, TF_Status *s) {
  fy_api_begin(s);
  size_t n = num_outputs > 0 ? (size_t)num_outputs : 0;
  o->n = 0;
  if (!fy_grow(&o->items, &o->cap, n, sizeof(void *))) {
    out_of_memory(s, n * sizeof(void *));
    return;
  }
  if (n) memset((void *)o->items, 0, n * sizeof(void *));
  o->n = n;
}

int TF_OutputListNumOutputs(TF_OutputList *o) {
  return (int)o->n;
}

TF_AbstractTensor *TF_OutputListGet(TF_OutputList *o, int i) {
  return i >= 0 && (size_t)i < o->n ? o->items[i] : NULL;
}

void TF_OutputListPushBack(TF_OutputList *o, TF_AbstractTensor *tensor, TF_Status *s) {
  fy_api_begin(s);
  if (fy_grow(&o->items, &o->cap, o->n + 1, sizeof(void *)))
    o->items[o->n++] = tensor;
  else
    out_of_memory(s, sizeof(void *));
}

// ---------------------------------------------------------------- operations
TF_AbstractOp *TF_NewAbstractOp(TF_ExecutionContext *ctx) {
  TF_AbstractOp *op = fy_calloc(1, sizeof *op);
  if (!op) return NULL;
  if (is_traced(ctx))
    op->tracer = plain(ctx);
  else
    op->eager = (TFE_Context *)ctx;
  return op;
}

static void abandon(TF_AbstractOp *op) {
  if (!op->desc) return;
  fy_node_abandon(&op->desc->builder);
  fy_free(op->desc);
  op->desc = NULL;
}

void TF_DeleteAbstractOp(TF_AbstractOp *op) {
  if (!op) return;
  TFE_DeleteOp(op->op);
  abandon(op);
  fy_free(op->type);
  fy_free(op);
}

void TF_AbstractOpSetOpType(TF_AbstractOp *op, const char *const op_type, TF_Status *s) {
  fy_api_begin(s);
  if (op->op) {
    TFE_OpReset(op->op, op_type, NULL, s);
  } else if (op->eager) {
    op->op = TFE_NewOp(op->eager, op_type, s);
  } else if (op->desc) {
    TF_SetStatus(s, TF_FAILED_PRECONDITION, "Reset called on already built op.");
  } else {
    fy_free(op->type);
    if (!(op->type = fy_strdup(op_type))) out_of_memory(s, strlen(op_type));
  }
}

void TF_AbstractOpSetOpName(TF_AbstractOp *op, const char *const op_name, TF_Status *s) {
  fy_str name;
  fy_api_begin(s);
  if (op->eager) {
    TF_SetStatus(s, TF_INVALID_ARGUMENT,
                 "TF_AbstractOpSetOpName must be called on a TracingOperation.");
    return;
  }
  if (op->desc || !op->type) {
    TF_SetStatus(s, TF_FAILED_PRECONDITION,
                 op->desc ? "SetOpName called on already built op."
                          : "GraphOperation::Reset must be called before calling SetOpName.");
    return;
  }
  fy_str_init(&name);
  fy_str_printf(&name, "%s/_%u", op_name, op->tracer->named++);
  if (!name.failed) op->desc = TF_NewOperation(op->tracer->graph, op->type, fy_str_text(&name));
  if (!op->desc) out_of_memory(s, sizeof *op->desc);
  fy_str_free(&name);
}

void TF_AbstractOpSetAttrType(TF_AbstractOp *op, const char *const attr_name, TF_DataType value,
                              TF_Status *s) {
  fy_api_begin(s);
  if (op->op)
    TFE_OpSetAttrType(op->op, attr_name, value);
  else if (op->desc)
    TF_SetAttrType(op->desc, attr_name, value);
  else
    TF_SetStatus(s, TF_FAILED_PRECONDITION,
                 "op_type and op_name must be specified before specifying attrs.");
}

static void run(TF_AbstractOp *op, int num_inputs, TF_AbstractTensor *const *inputs,
                TF_OutputList *o, TF_Status *s) {
  int n = (int)o->n;
  if (!op->op) fy_api_end(s, fy_op_not_registered("", fy_api_begin(s)));
  for (int i = 0; i < num_inputs && TF_GetCode(s) == TF_OK; i++) {
    if (is_traced(inputs[i]))
      TF_SetStatus(s, TF_INVALID_ARGUMENT, "Not an eager tensor handle.");
    else
      TFE_OpAddInput(op->op, (TFE_TensorHandle *)inputs[i], s);
  }
  if (TF_GetCode(s) == TF_OK) TFE_Execute(op->op, (TFE_TensorHandle **)(void *)o->items, &n, s);
}

static void trace(TF_AbstractOp *op, int num_inputs, TF_AbstractTensor *const *inputs,
                  TF_OutputList *o, TF_Status *s) {
  for (int i = 0; i < num_inputs && op->desc; i++) {
    if (!is_traced(inputs[i])) {
      TF_SetStatus(s, TF_INVALID_ARGUMENT, "Unable to cast input to GraphTensor");
      return;
    }
    TF_AddInput(op->desc, *(const TF_Output *)plain(inputs[i]));
  }
  if (!op->desc) {
    TF_SetStatus(s, TF_INVALID_ARGUMENT, "AbstractOp is incomplete.");
    return;
  }
  TF_Operation *node = TF_FinishOperation(op->desc, s);
  op->desc = NULL;
  int n = node ? TF_OperationNumOutputs(node) : 0;
  if (node && (size_t)n > o->n) TF_OutputListSetNumOutputs(o, n, s);
  for (int i = 0; i < n && TF_GetCode(s) == TF_OK; i++)
    if (!(o->items[i] = new_traced((TF_Output){node, i}))) out_of_memory(s, sizeof(TF_Output));
}

void TF_ExecuteOperation(TF_AbstractOp *op, int num_inputs, TF_AbstractTensor *const *inputs,
                         TF_OutputList *o, TF_Status *s) {
  fy_api_begin(s);
  if (op->eager)
    run(op, num_inputs, inputs, o, s);
  else
    trace(op, num_inputs, inputs, o, s);
}

// ---------------------------------------------------------------- functions
TF_AbstractTensor *TF_AddFunctionParameter(TF_ExecutionContext *func, TF_DataType dtype,
                                           TF_Shape shape, TF_Status *s) {
  char name[32];
  fy_api_begin(s);
  tracer *t = plain(func);
  if (!is_traced(func)) {
    TF_SetStatus(s, TF_INVALID_ARGUMENT,
                 "TF_AddFunctionParameter must be called on a TracingContext.");
    return NULL;
  }
  if (!fy_grow(&t->inputs, &t->cap_inputs, t->num_inputs + 1, sizeof *t->inputs)) {
    out_of_memory(s, sizeof *t->inputs);
    return NULL;
  }
  snprintf(name, sizeof name, "_input_%zu/_%u", t->num_inputs, t->named++);
  TF_OperationDescription *d = TF_NewOperation(t->graph, "Placeholder", name);
  TF_SetAttrType(d, "dtype", dtype);
  if (shape.num_dims >= 0) TF_SetAttrShape(d, "shape", shape.dim_sizes, shape.num_dims);
  TF_Operation *node = TF_FinishOperation(d, s);
  if (!node) return NULL;
  TF_AbstractTensor *r = new_traced((TF_Output){node, 0});
  if (r)
    t->inputs[t->num_inputs++] = (TF_Output){node, 0};
  else
    out_of_memory(s, sizeof(TF_Output));
  return r;
}

static TF_Function *finalize(const tracer *t, const TF_OutputList *o, TF_Status *s) {
  TF_Output *outputs = fy_malloc((o->n + 1) * sizeof *outputs);
  TF_Function *f = NULL;
  if (!outputs) out_of_memory(s, o->n * sizeof *outputs);
  for (size_t i = 0; outputs && i < o->n; i++) {
    if (is_traced(o->items[i])) {
      outputs[i] = *(const TF_Output *)plain(o->items[i]);
      continue;
    }
    TF_SetStatus(s, TF_UNIMPLEMENTED,
                 "Returning a non-graph tensor from a function has not been implemented yet.");
    break;
  }
  if (TF_GetCode(s) == TF_OK)
    f = TF_GraphToFunction(t->graph, t->name, 0, -1, NULL, (int)t->num_inputs, t->inputs, (int)o->n,
                           outputs, NULL, NULL, t->name, s);
  fy_free(outputs);
  return f;
}

TF_AbstractFunction *TF_FinalizeFunction(TF_ExecutionContext *ctx, TF_OutputList *outputs,
                                         TF_Status *s) {
  fy_api_begin(s);
  if (!is_traced(ctx)) {
    TF_SetStatus(s, TF_INVALID_ARGUMENT, "Only TracingContext can be converted into a function.");
    return NULL;
  }
  TF_Function *function = finalize(plain(ctx), outputs, s);
  TF_DeleteExecutionContext(ctx);
  if (!function) return NULL;
  TF_AbstractFunction *f = fy_malloc(sizeof *f);
  if (f) {
    f->function = function;
  } else {
    TF_DeleteFunction(function);
    out_of_memory(s, sizeof *f);
  }
  return f;
}

void TF_DeleteAbstractFunction(TF_AbstractFunction *func) {
  if (!func) return;
  TF_DeleteFunction(func->function);
  fy_free(func);
}

void TF_ExecutionContextRegisterFunction(TF_ExecutionContext *ctx, TF_AbstractFunction *func,
                                         TF_Status *s) {
  fy_api_begin(s);
  if (is_traced(ctx))
    TF_SetStatus(s, TF_UNIMPLEMENTED, "Registering graph functions has not been implemented yet.");
  else
    TFE_ContextAddFunction((TFE_Context *)ctx, func->function, s);
}
