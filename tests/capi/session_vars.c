/* Variables and other state kept by a session. */
#include "transcript_graph.h"

static TF_Graph *g;

static TF_Operation *var(const char *name, const char *shared, TF_DataType t, const int64_t *dims,
                         int nd) {
  TF_OperationDescription *d = TF_NewOperation(g, "VarHandleOp", name);
  TF_SetAttrType(d, "dtype", t);
  TF_SetAttrShape(d, "shape", dims, nd);
  if (shared) TF_SetAttrString(d, "shared_name", shared, strlen(shared));
  return tg_finish(d);
}
static TF_Operation *typed(const char *op, const char *name, TF_Operation *v, TF_Operation *x,
                           TF_Operation *after) {
  TF_OperationDescription *d = x ? tg_desc(g, op, name, 2, v, x) : tg_desc(g, op, name, 1, v);
  if (strcmp(op, "DestroyResourceOp") && strcmp(op, "VarIsInitializedOp"))
    TF_SetAttrType(d, "dtype", TF_FLOAT);
  if (after) TF_AddControlInput(d, after);
  return tg_finish_show(d, name);
}

int main(void) {
  tg_begin();
  g = TF_NewGraph();
  int64_t two = 2;
  float f2[2] = {1, 2}, f3[3] = {5, 6, 7};
  tr_case("build");
  TF_Operation *v = var("v", "", TF_FLOAT, &two, 1);
  TF_Operation *c2 = tg_const(g, tr_vec(TF_FLOAT, 2, f2), "c2");
  TF_Operation *any = tg_ph(g, TF_FLOAT, "any", NULL, -1);
  TF_Operation *init = typed("AssignVariableOp", "init", v, c2, NULL);
  TF_Operation *set = typed("AssignVariableOp", "set", v, any, NULL);
  TF_Operation *read = typed("ReadVariableOp", "read", v, NULL, NULL);
  TF_Operation *addv = typed("AssignAddVariableOp", "addv", v, any, NULL);
  TF_Operation *subv = typed("AssignSubVariableOp", "subv", v, c2, NULL);
  TF_Operation *isin = typed("VarIsInitializedOp", "isin", v, NULL, NULL);
  TF_Operation *destroy = typed("DestroyResourceOp", "destroy", v, NULL, NULL);
  TF_Operation *after = typed("ReadVariableOp", "after", v, NULL, addv);
  tg_shape(g, "read", tg_out(read, 0));
  TF_Session *s = tg_session(g);
  tr_case("uninitialised");
  tg_fetch(s, "is initialised", isin);
  tg_fetch(s, "read", read);
  TF_Output in = tg_out(any, 0);
  TF_Tensor *t = tr_vec(TF_FLOAT, 2, f2);
  const TF_Operation *tg[1] = {addv};
  tg_run(s, "add", &in, &t, 1, NULL, 0, tg, 1);
  tr_case("assign and read");
  tg_target(s, "init", init);
  tg_fetch(s, "is initialised", isin);
  tg_fetch(s, "read", read);
  tr_case("update");
  t = tr_vec(TF_FLOAT, 2, f2);
  tg_run(s, "add", &in, &t, 1, NULL, 0, tg, 1);
  tg_fetch(s, "read", read);
  tg_target(s, "sub", subv);
  tg_fetch(s, "read", read);
  t = tr_vec(TF_FLOAT, 2, f2);
  TF_Output o = tg_out(after, 0);
  tg_run(s, "read after add", &in, &t, 1, &o, 1, NULL, 0);
  tr_case("bad shapes");
  t = tr_vec(TF_FLOAT, 3, f3);
  tg_run(s, "add [3]", &in, &t, 1, NULL, 0, tg, 1);
  t = tr_vec(TF_FLOAT, 3, f3);
  tg[0] = set;
  tg_run(s, "assign [3] to [2]", &in, &t, 1, NULL, 0, tg, 1);
  tg_fetch(s, "read", read);
  tr_case("build time checks");
  TF_Operation *c3 = tg_const(g, tr_vec(TF_FLOAT, 3, f3), "c3");
  typed("AssignVariableOp", "bad3", v, c3, NULL);
  TF_Operation *ci = tg_ci(g, 1, "ci");
  tg_op_show(g, "AssignVariableOp", "badtype", 2, v, ci);
  TF_OperationDescription *d = tg_desc(g, "AssignVariableOp", "badtype2", 2, v, c2);
  TF_SetAttrType(d, "dtype", TF_INT32);
  tg_finish_show(d, "badtype2");
  tg_close(s);
  s = tg_session(g);
  tr_case("a new session has its own variables");
  tg_fetch(s, "is initialised", isin);
  tg_target(s, "init", init);
  tg_fetch(s, "read", read);
  tr_case("destroy");
  tg_target(s, "destroy", destroy);
  tg_fetch(s, "read", read);
  tg_target(s, "destroy again", destroy);
  tr_case("shared names");
  TF_Operation *s1 = var("s1", "shared", TF_FLOAT, NULL, 0);
  TF_Operation *s2 = var("s2", "shared", TF_FLOAT, NULL, 0);
  TF_Operation *s3 = var("s3", "shared", TF_INT32, NULL, 0);
  TF_Operation *one = tg_cf(g, 1, "one");
  TF_Operation *w1 = typed("AssignVariableOp", "w1", s1, one, NULL);
  TF_Operation *r2 = typed("ReadVariableOp", "r2", s2, NULL, NULL);
  d = tg_desc(g, "ReadVariableOp", "r3", 1, s3);
  TF_SetAttrType(d, "dtype", TF_INT32);
  TF_Operation *r3 = tg_finish(d);
  tg_target(s, "write s1", w1);
  tg_fetch(s, "read s2", r2);
  tg_fetch(s, "read as int", r3);
  tr_case("nodes without a shared name");
  TF_Operation *n1 = var("n1", NULL, TF_FLOAT, NULL, 0);
  TF_Operation *rn = typed("ReadVariableOp", "rn", n1, NULL, NULL);
  tg_fetch(s, "read n1", rn);
  tg_target(s, "init v", init);
  tg_fetch(s, "read n1", rn);
  tg_close(s);
  TF_DeleteGraph(g);

  tr_case("queues");
  g = TF_NewGraph();
  TF_DataType ft = TF_FLOAT;
  d = TF_NewOperation(g, "FIFOQueueV2", "q");
  TF_SetAttrTypeList(d, "component_types", &ft, 1);
  TF_SetAttrInt(d, "capacity", 2);
  TF_Operation *q = tg_finish_show(d, "q");
  TF_Operation *p = tg_ph(g, TF_FLOAT, "p", NULL, -1);
  d = tg_desc(g, "QueueEnqueueV2", "enq", 1, q);
  TF_Output pl = tg_out(p, 0);
  TF_AddInputList(d, &pl, 1);
  TF_Operation *enq = tg_finish_show(d, "enq");
  d = tg_desc(g, "QueueDequeueV2", "deq", 1, q);
  TF_SetAttrTypeList(d, "component_types", &ft, 1);
  TF_Operation *deq = tg_finish_show(d, "deq");
  TF_Operation *size = tg_op_show(g, "QueueSizeV2", "size", 1, q);
  TF_Operation *cl = tg_op_show(g, "QueueCloseV2", "close", 1, q);
  s = tg_session(g);
  for (int i = 0; i < 2; ++i) {
    t = tr_f32((float)i + 3);
    tg[0] = enq;
    in = tg_out(p, 0);
    tg_run(s, "enqueue", &in, &t, 1, NULL, 0, tg, 1);
  }
  tg_fetch(s, "size", size);
  tg_fetch(s, "dequeue", deq);
  tg_target(s, "close", cl);
  tg_fetch(s, "dequeue", deq);
  tg_fetch(s, "dequeue from empty", deq);
  t = tr_f32(1);
  tg_run(s, "enqueue to closed", &in, &t, 1, NULL, 0, tg, 1);
  tg_close(s);
  TF_DeleteGraph(g);
  tg_end();
  return 0;
}
