/* Queues with shapes that are partly known, in a graph: which of them refuse, and what they say. */
#include "transcript_graph.h"

static void try_queue(const char *op, int variant) {
  TF_Graph *g = TF_NewGraph();
  TF_OperationDescription *d = TF_NewOperation(g, op, "q");
  static const int64_t part[] = {2, -1}, full[] = {2};
  const int64_t *shapes[2] = {full, part};
  int ranks[2] = {1, 2};
  TF_DataType types[2] = {TF_FLOAT, TF_INT32};
  if (variant == 1) ranks[1] = -1;
  if (variant == 2) shapes[1] = full, ranks[1] = 1;
  TF_SetAttrTypeList(d, "component_types", types, 2);
  TF_SetAttrShapeList(d, "shapes", shapes, ranks, variant == 3 ? 1 : 2);
  TF_Operation *q = tg_finish_show(d, op);
  if (q) {
    TF_Operation *size = tg_op(g, "QueueSizeV2", "size", 1, q);
    d = TF_NewOperation(g, "QueueDequeueV2", "get");
    TF_AddInput(d, tg_out(q, 0));
    TF_SetAttrTypeList(d, "component_types", types, 2);
    TF_Operation *get = tg_finish_show(d, "dequeue");
    for (int i = 0; get && i < 2; ++i) tg_shape(g, "  component", tg_out(get, i));
    d = TF_NewOperation(g, "QueueDequeueManyV2", "many");
    TF_AddInput(d, tg_out(q, 0));
    TF_AddInput(d, tg_out(tg_ci(g, 3, "three"), 0));
    TF_SetAttrTypeList(d, "component_types", types, 2);
    get = tg_finish_show(d, "dequeue many");
    for (int i = 0; get && i < 2; ++i) tg_shape(g, "  component", tg_out(get, i));
    TF_Session *s = tg_session(g);
    if (size) tg_fetch(s, "size", size);
    tg_close(s);
  }
  TF_DeleteGraph(g);
}

int main(void) {
  static const char *const ops[] = {"FIFOQueueV2", "PaddingFIFOQueueV2", "RandomShuffleQueueV2",
                                    "PriorityQueueV2"};
  static const char *const what[] = {"a dimension is not known", "a rank is not known", "all known",
                                     "a shape is missing"};
  tg_begin();
  for (int v = 0; v < 4; ++v) {
    tr_case(what[v]);
    for (int i = 0; i < 4; ++i) try_queue(ops[i], v);
  }
  tg_end();
  return 0;
}
