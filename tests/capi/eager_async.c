/* Asynchronous execution, executors, cancellation. */
#include "eager_common.h"

static TFE_Context *async_ctx(void) {
  TFE_ContextOptions *o = TFE_NewContextOptions();
  TFE_ContextOptionsSetAsync(o, 1);
  TFE_Context *c = TFE_NewContext(o, S);
  ec_must("context");
  TFE_DeleteContextOptions(o);
  return c;
}

static TFE_TensorHandle *start(TFE_Context *c, const char *label, const char *name,
                               TFE_TensorHandle *a, TFE_TensorHandle *b) {
  TFE_Op *op = ec_op(c, name);
  ec_in(op, a);
  if (b) ec_in(op, b);
  TFE_TensorHandle *r[1] = {0};
  int n = 1;
  TFE_Execute(op, r, &n, S);
  int ok = TF_GetCode(S) == TF_OK;
  ec_st(label);
  if (!ok) r[0] = NULL;
  TFE_DeleteOp(op);
  return r[0];
}

static void del(TFE_TensorHandle *h) {
  if (h) TFE_DeleteTensorHandle(h);
}

static void async_context(void) {
  tr_case("async context: chain");
  TFE_Context *c = async_ctx();
  int64_t d22[2] = {2, 2}, d33[2] = {3, 3};
  TFE_TensorHandle *m = ec_ramp(2, d22);
  TFE_TensorHandle *w = ec_ramp(2, d33);
  TFE_TensorHandle *a = start(c, "MatMul", "MatMul", m, m);
  TFE_TensorHandle *b = start(c, "MatMul", "MatMul", a, m);
  printf("dims %d ", TFE_TensorHandleNumDims(b, S));
  ec_st("NumDims");
  printf("elements %" PRId64 " ", TFE_TensorHandleNumElements(b, S));
  ec_st("NumElements");
  TFE_TensorHandleGetStatus(b, S);
  ec_st("status");
  ec_handle("b", b);
  printf("device %s ", TFE_TensorHandleDeviceName(b, S));
  ec_st("device");
  TFE_Executor *e = TFE_ContextGetExecutorForThread(c);
  printf("is async %d\n", TFE_ExecutorIsAsync(e));
  TFE_ContextAsyncWait(c, S);
  ec_st("wait");
  del(a);
  del(b);

  tr_case("async context: build errors come at once");
  TFE_Op *op = ec_op(c, "Const");
  TFE_TensorHandle *r[1] = {0};
  int n = 1;
  TFE_Execute(op, r, &n, S);
  ec_st("Const without attrs");
  TFE_DeleteOp(op);
  op = ec_op(c, "Neg");
  ec_in(op, m);
  n = 0;
  TFE_Execute(op, r, &n, S);
  ec_st("no room");
  TFE_DeleteOp(op);

  tr_case("async context: a failing op poisons what follows");
  a = start(c, "bad MatMul", "MatMul", m, w);
  TFE_ExecutorWaitForAllPendingNodes(e, S);
  ec_st("wait");
  if (a) {
    TFE_TensorHandleGetStatus(a, S);
    ec_st("status of the failed handle");
    ec_handle("failed handle", a);
    TFE_TensorHandleNumDims(a, S);
    ec_st("NumDims of the failed handle");
    TFE_TensorHandleDim(a, 0, S);
    ec_st("Dim of the failed handle");
    printf("dtype %s\n", tr_dtype_name((int)TFE_TensorHandleDataType(a)));
  }
  b = start(c, "good op after the error", "Neg", m, NULL);
  if (b) ec_handle("its value", b);
  del(b);
  TFE_ContextAsyncWait(c, S);
  ec_st("context wait");

  tr_case("async context: clear the error");
  TFE_ExecutorClearError(e);
  TFE_ExecutorWaitForAllPendingNodes(e, S);
  ec_st("wait");
  b = start(c, "good op after clearing", "Neg", m, NULL);
  if (b) ec_handle("its value", b);
  del(b);
  if (a) {
    TFE_TensorHandleGetStatus(a, S);
    ec_st("status of the failed handle");
    b = start(c, "op on the failed handle", "Neg", a, NULL);
    if (b) ec_handle("its value", b);
    del(b);
  }
  TFE_ExecutorWaitForAllPendingNodes(e, S);
  ec_st("wait");
  TFE_ExecutorClearError(e);
  del(a);
  TFE_DeleteExecutor(e);
  del(m);
  del(w);
  TFE_DeleteContext(c);
}

static void executors(void) {
  tr_case("executors in a sync context");
  TFE_Context *c = ec_ctx();
  TFE_Executor *def = TFE_ContextGetExecutorForThread(c);
  printf("default async %d\n", TFE_ExecutorIsAsync(def));
  TFE_Executor *sync = TFE_NewExecutor(false, true, 0);
  TFE_Executor *as = TFE_NewExecutor(true, true, 0);
  printf("new sync async %d, new async async %d\n", TFE_ExecutorIsAsync(sync),
         TFE_ExecutorIsAsync(as));
  int64_t d22[2] = {2, 2}, d33[2] = {3, 3};
  TFE_TensorHandle *m = ec_ramp(2, d22);
  TFE_TensorHandle *w = ec_ramp(2, d33);
  TFE_ContextSetExecutorForThread(c, as);
  TFE_Executor *got = TFE_ContextGetExecutorForThread(c);
  printf("thread executor async %d\n", TFE_ExecutorIsAsync(got));
  TFE_DeleteExecutor(got);
  TFE_TensorHandle *a = start(c, "MatMul", "MatMul", m, m);
  ec_handle("value", a);
  del(a);
  a = start(c, "bad MatMul", "MatMul", m, w);
  TFE_ExecutorWaitForAllPendingNodes(as, S);
  ec_st("wait");
  del(a);
  TFE_ContextSetExecutorForThread(c, sync);
  a = start(c, "on the sync executor", "Neg", m, NULL);
  if (a) ec_handle("value", a);
  del(a);
  a = start(c, "bad on the sync executor", "MatMul", m, w);
  del(a);
  TFE_ExecutorWaitForAllPendingNodes(sync, S);
  ec_st("wait on sync");
  a = start(c, "good on the sync executor", "Neg", m, NULL);
  del(a);
  TFE_ExecutorClearError(as);
  TFE_ContextSetExecutorForThread(c, as);
  a = start(c, "async again", "Neg", m, NULL);
  if (a) ec_handle("value", a);
  del(a);
  TFE_ExecutorWaitForAllPendingNodes(as, S);
  ec_st("wait");
  TFE_ContextSetExecutorForThread(c, def);
  TFE_DeleteExecutor(def);
  TFE_DeleteExecutor(sync);
  TFE_DeleteExecutor(as);
  TFE_ContextAsyncWait(c, S);
  ec_st("context wait");
  del(m);
  del(w);
  TFE_DeleteContext(c);
}

static void async_vars(void) {
  tr_case("async variable updates stay in order");
  TFE_Context *c = async_ctx();
  TFE_Op *op = ec_op(c, "VarHandleOp");
  TFE_OpSetAttrType(op, "dtype", TF_FLOAT);
  TFE_OpSetAttrShape(op, "shape", NULL, 0, S);
  TFE_TensorHandle *v[1];
  int n = 1;
  TFE_Execute(op, v, &n, S);
  ec_st("VarHandleOp");
  TFE_DeleteOp(op);
  TFE_TensorHandle *one = ec_f0(1);
  static const char *const seq[] = {"AssignVariableOp", "AssignAddVariableOp",
                                    "AssignAddVariableOp", "AssignAddVariableOp"};
  for (int i = 0; i < 4; i++) {
    op = ec_op(c, seq[i]);
    ec_in(op, v[0]);
    ec_in(op, one);
    n = 0;
    TFE_Execute(op, NULL, &n, S);
    ec_st(seq[i]);
    TFE_DeleteOp(op);
  }
  op = ec_op(c, "ReadVariableOp");
  ec_in(op, v[0]);
  TFE_OpSetAttrType(op, "dtype", TF_FLOAT);
  ec_exec("ReadVariableOp", op, 1);
  TFE_ContextAsyncWait(c, S);
  ec_st("wait");
  del(v[0]);
  del(one);
  TFE_DeleteContext(c);
}

static void cb(void *arg) {
  printf("callback %d\n", *(int *)arg);
}

static void cancellation(void) {
  tr_case("cancellation manager");
  TFE_CancellationManager *m = TFE_NewCancellationManager();
  printf("cancelled %d cancelling %d\n", TFE_CancellationManagerIsCancelled(m),
         TFE_CancellationManagerIsCancelling(m));
  int id[4] = {0, 1, 2, 3};
  TFE_CancelCallback k[4];
  TFE_CancellationToken t[4];
  for (int i = 0; i < 4; i++) {
    k[i] = (TFE_CancelCallback){cb, &id[i]};
    t[i] = TFE_CancellationManagerGetToken(m);
  }
  printf("tokens differ %d\n", t[0] != t[1] && t[1] != t[2]);
  printf("tokens %" PRId64 " %" PRId64 " %" PRId64 "\n", t[0], t[1], t[2]);
  printf("register %d %d %d\n", TFE_CancellationManagerRegisterCallback(m, t[0], &k[0], "zero"),
         TFE_CancellationManagerRegisterCallback(m, t[1], &k[1], "one"),
         TFE_CancellationManagerRegisterCallback(m, t[2], &k[2], "two"));
  printf("deregister 0: %d\n", TFE_CancellationManagerDeregisterCallback(m, t[0]));
  printf("deregister 0 again: %d\n", TFE_CancellationManagerDeregisterCallback(m, t[0]));
  printf("try deregister 1: %d\n", TFE_CancellationManagerTryDeregisterCallback(m, t[1]));
  TFE_CancellationManagerStartCancel(m);
  printf("cancelled %d cancelling %d\n", TFE_CancellationManagerIsCancelled(m),
         TFE_CancellationManagerIsCancelling(m));
  printf("register after cancel %d\n",
         TFE_CancellationManagerRegisterCallback(m, t[3], &k[3], "three"));
  printf("deregister after cancel %d\n", TFE_CancellationManagerDeregisterCallback(m, t[2]));
  printf("try deregister after cancel %d\n", TFE_CancellationManagerTryDeregisterCallback(m, t[2]));
  TFE_CancellationManagerStartCancel(m);
  printf("cancel twice\n");

  tr_case("op with a cancelled manager");
  TFE_Context *c = ec_ctx();
  TFE_TensorHandle *x = ec_f0(4);
  TFE_Op *op = ec_op(c, "Neg");
  ec_in(op, x);
  TFE_OpSetCancellationManager(op, m, S);
  ec_st("set");
  ec_exec("Neg", op, 1);

  TF_Graph *g = TF_NewGraph();
  TF_OperationDescription *d = TF_NewOperation(g, "Placeholder", "x");
  TF_SetAttrType(d, "dtype", TF_FLOAT);
  TF_Output in = {TF_FinishOperation(d, S), 0};
  d = TF_NewOperation(g, "Neg", "n");
  TF_AddInput(d, in);
  TF_Output o = {TF_FinishOperation(d, S), 0};
  TF_Function *f = TF_GraphToFunction(g, "fneg", 0, -1, NULL, 1, &in, 1, &o, NULL, NULL, NULL, S);
  TFE_ContextAddFunction(c, f, S);
  ec_st("AddFunction");
  op = ec_op(c, "fneg");
  ec_in(op, x);
  TFE_OpSetCancellationManager(op, m, S);
  ec_exec("fneg, cancelled", op, 1);
  TFE_CancellationManager *m2 = TFE_NewCancellationManager();
  op = ec_op(c, "fneg");
  ec_in(op, x);
  TFE_OpSetCancellationManager(op, m2, S);
  ec_exec("fneg, not cancelled", op, 1);
  TF_DeleteFunction(f);
  TF_DeleteGraph(g);

  tr_case("blocked queue op is cancelled");
  op = ec_op(c, "FIFOQueueV2");
  TFE_OpSetAttrTypeList(op, "component_types", (TF_DataType[]){TF_FLOAT}, 1);
  TFE_OpSetAttrString(op, "shared_name", "q", 1);
  TFE_TensorHandle *q = ec_exec_keep("FIFOQueueV2", op, 1);
  if (q) {
    op = ec_op(c, "QueueDequeueV2");
    ec_in(op, q);
    TFE_OpSetAttrTypeList(op, "component_types", (TF_DataType[]){TF_FLOAT}, 1);
    TFE_OpSetCancellationManager(op, m, S);
    ec_exec("QueueDequeueV2, cancelled manager", op, 1);
    del(q);
  }
  TFE_DeleteCancellationManager(m);
  TFE_DeleteCancellationManager(m2);
  del(x);
  TFE_DeleteContext(c);
}

int main(void) {
  ec_open();
  async_context();
  executors();
  async_vars();
  cancellation();
  return ec_close();
}
