// SPDX-License-Identifier: Apache-2.0
// named_queue.c: TF_EnqueueNamedTensor and TF_DequeueNamedTensor: runs of nodes that the graph's
// author named by convention (fifo_queue_enqueue_N fed by arg_tensor_enqueue_N, fifo_queue_dequeue_N).

#include <stdio.h>

#include "api/session.h"
#include "tensorflow/c/c_api_experimental.h"

// The node |prefix||id|; INTERNAL if there is none.
static TF_Operation *find(TF_Session *session, const char *prefix, int id, const char *what,
                          TF_Status *status) {
  char name[64];
  snprintf(name, sizeof name, "%s%d", prefix, id);
  fy_error *err = fy_api_begin(status);
  TF_Operation *op = TF_GraphOperationByName((TF_Graph *)session->graph, name);
  if (!op) fy_fail(err, FY_INTERNAL, "Unable to find the %s in the TF graph.", what);
  return op;
}

TF_Tensor *TF_DequeueNamedTensor(TF_Session *session, int tensor_id, TF_Status *status) {
  TF_Operation *op = find(session, "fifo_queue_dequeue_", tensor_id, "dequeue node", status);
  TF_Tensor *value = NULL;
  if (op)
    TF_SessionRun(session, NULL, NULL, NULL, 0, &(TF_Output){op, 0}, &value, 1, NULL, 0, NULL,
                  status);
  return value;
}

void TF_EnqueueNamedTensor(TF_Session *session, int tensor_id, TF_Tensor *tensor,
                           TF_Status *status) {
  const TF_Operation *op = find(session, "fifo_queue_enqueue_", tensor_id, "enqueue node", status);
  TF_Operation *arg = op ? find(session, "arg_tensor_enqueue_", tensor_id,
                                "placeholder node as input to enqueue", status)
                         : NULL;
  if (arg)
    TF_SessionRun(session, NULL, &(TF_Output){arg, 0}, &tensor, 1, NULL, NULL, 0, &op, 1, NULL,
                  status);
}
