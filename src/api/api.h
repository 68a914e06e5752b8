// SPDX-License-Identifier: Apache-2.0
// api.h: what the C API's opaque types are, and the few helpers all files of this folder share.
//
//   TF_Tensor*     is an fy_tensor*      (one reference)
//   TF_Operation*  is an fy_node*
//   TF_Graph*      is an fy_graph*       (fy_graph.refs counts the client and the sessions)
//   TF_Output, TF_Input have the layout of fy_output, fy_use
//
// A call reports straight into its status: fy_api_begin clears it and gives the fy_error that the
// layers below write to; fy_api_end settles it.

#ifndef FY_API_API_H
#define FY_API_API_H

#include "base/options.h"
#include "base/status.h"
#include "function.pb-c.h"
#include "graph/graph.h"
#include "tensor/tensor.h"
#include "tensorflow/c/c_api.h"

typedef struct fy_payload {
  char *key, *value;  // fy_malloc
} fy_payload;

struct TSL_Status {
  fy_error error;
  fy_payload *payloads;
  size_t num_payloads, cap_payloads;
};

struct TF_SessionOptions {
  fy_options options;
  uint8_t *config;  // the ConfigProto as given, fy_malloc; NULL if none was
  size_t config_bytes;
  char *target;  // fy_malloc; NULL = ""
};

struct TF_Function {
  fy_arena arena;                // holds |def|
  Tensorflow__FunctionDef *def;  // names sorted (fy_function_sort)
};

struct TF_OperationDescription {
  fy_node_builder builder;
  bool locked;  // the caller holds the graph's lock all the time
};

// ---- conversions
_Static_assert(sizeof(TF_Output) == sizeof(fy_output), "TF_Output is fy_output");
_Static_assert(sizeof(TF_Input) == sizeof(fy_use), "TF_Input is fy_use");
static inline fy_graph *fy_api_graph(TF_Graph *g) {
  return (fy_graph *)g;
}
static inline fy_node *fy_api_node(const TF_Operation *op) {
  return (fy_node *)(uintptr_t)op;
}
static inline TF_Operation *fy_api_oper(const fy_node *n) {
  return (TF_Operation *)(uintptr_t)n;
}
static inline fy_output fy_api_output(TF_Output o) {
  return (fy_output){(fy_node *)o.oper, o.index};
}
static inline TF_Output fy_api_tf_output(fy_output o) {
  return (TF_Output){fy_api_oper(o.node), o.index};
}
static inline fy_tensor *fy_api_tensor(const TF_Tensor *t) {
  return (fy_tensor *)(uintptr_t)t;
}
static inline TF_Tensor *fy_api_tf_tensor(fy_tensor *t) {
  return (TF_Tensor *)t;
}
// What a client gets it may write, and is aligned as TensorFlow's memory is: |*t|, of which one reference
// is taken, becomes a copy if it lies in a mapped file (NULL on failure).
FY_MUST_CHECK fy_code fy_api_own(fy_tensor **t, fy_error *err);
// Another tensor over the same memory, for a kernel of the client's to read: a copy if that is not aligned.
FY_MUST_CHECK fy_code fy_api_view(const fy_tensor *t, fy_tensor **out, fy_error *err);
// Sets the graph of an object that is shared with sessions free when nobody uses it any more.
fy_graph *fy_api_graph_ref(fy_graph *g);
void fy_api_graph_unref(fy_graph *g);
// Whether |node| is a node of |g| now.
static inline bool fy_api_in_graph(const fy_graph *g, const fy_node *node) {
  return node && node->graph == g && node->id < g->num_nodes && g->nodes[node->id] == node;
}

// ---- statuses
// OK again, payloads dropped. NULL is fine and gives NULL.
fy_error *fy_api_begin(TF_Status *status);
// |node| has no attribute |name|.
void fy_api_fail_no_attr(const char *name, const char *node, fy_error *err);
// Makes |status| agree with |code|: an error that was recovered from is forgotten.
void fy_api_end(TF_Status *status, fy_code code);
// Moves |err| into |status|.
void fy_api_status(TF_Status *status, fy_code code, fy_error *err);

// ---- buffers
// Makes |buffer|, which must be empty, own |bytes| (fy_malloc).
FY_MUST_CHECK fy_code fy_api_fill_buffer(TF_Buffer *buffer, uint8_t *bytes, size_t n,
                                         fy_error *err);
// Serializes |message| into |buffer|; INVALID_ARGUMENT if that is not empty.
FY_MUST_CHECK fy_code fy_api_message_to_buffer(const ProtobufCMessage *message, TF_Buffer *buffer,
                                               fy_error *err);
// A new buffer with |message|, or NULL.
TF_Buffer *fy_api_new_message_buffer(const ProtobufCMessage *message, fy_error *err);

#endif
