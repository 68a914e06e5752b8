// SPDX-License-Identifier: Apache-2.0
// constant.c: TF_TryEvaluateConstant.

#include "execute/constant.h"

#include "api/api.h"

unsigned char TF_TryEvaluateConstant(TF_Graph *graph, TF_Output output, TF_Tensor **result,
                                     TF_Status *status) {
  fy_error *err = fy_api_begin(status);
  fy_graph *g = fy_api_graph(graph);
  fy_tensor *t = NULL;
  *result = NULL;
  fy_lock(&g->lock);
  fy_code code;
  fy_output o = fy_api_output(output);
  if (!fy_api_in_graph(g, o.node) || o.index < 0 || (uint32_t)o.index >= o.node->num_outputs)
    code = fy_fail(err, FY_INVALID_ARGUMENT, "Node is null or has no output %d", o.index);
  else
    code = fy_constant_evaluate(o, &t, err);
  if (!code && t) code = fy_api_own(&t, err);
  fy_unlock(&g->lock);
  fy_api_end(status, code);
  *result = fy_api_tf_tensor(t);
  return t != NULL;
}
