/* Cancellation and executors that fail: what waits is woken, what follows is refused until the error is
   cleared, in synchronous and asynchronous mode. */
#include <pthread.h>

#include "eager_common.h"

static TFE_TensorHandle *queue(TFE_Context *c) {
  TFE_Op *op = ec_op(c, "FIFOQueueV2");
  TFE_OpSetAttrTypeList(op, "component_types", (TF_DataType[]){TF_FLOAT}, 1);
  TFE_OpSetAttrInt(op, "capacity", 1);
  TFE_TensorHandle *r[1] = {0};
  int n = 1;
  TFE_Execute(op, r, &n, S);
  ec_must("queue");
  TFE_DeleteOp(op);
  return r[0];
}

static TFE_Op *dequeue(TFE_Context *c, TFE_TensorHandle *q) {
  TFE_Op *op = ec_op(c, "QueueDequeueV2");
  ec_in(op, q);
  TFE_OpSetAttrTypeList(op, "component_types", (TF_DataType[]){TF_FLOAT}, 1);
  return op;
}

static void *cancel_soon(void *m) {
  usleep(300000);
  TFE_CancellationManagerStartCancel(m);
  return NULL;
}

static int calls;
static void called(void *arg) {
  (void)arg;
  ++calls;
}

int main(void) {
  ec_open();
  TFE_Context *c = ec_ctx();
  tr_case("a manager by itself");
  TFE_CancellationManager *m = TFE_NewCancellationManager();
  printf("cancelled %d\n", TFE_CancellationManagerIsCancelled(m));
  int64_t t0 = TFE_CancellationManagerGetToken(m), t1 = TFE_CancellationManagerGetToken(m);
  printf("tokens differ %d\n", t0 != t1);
  TFE_CancelCallback cb = {called, NULL};
  printf("registered %d\n", TFE_CancellationManagerRegisterCallback(m, t0, &cb, "first"));
  printf("registered %d\n", TFE_CancellationManagerRegisterCallback(m, t1, &cb, "second"));
  printf("deregistered %d\n", TFE_CancellationManagerDeregisterCallback(m, t1));
  TFE_CancellationManagerStartCancel(m);
  printf("cancelled %d calls %d\n", TFE_CancellationManagerIsCancelled(m), calls);
  TFE_CancellationManagerStartCancel(m);
  printf("again: calls %d\n", calls);
  int64_t t2 = TFE_CancellationManagerGetToken(m);
  printf("registered too late %d\n", TFE_CancellationManagerRegisterCallback(m, t2, &cb, "late"));
  printf("calls %d\n", calls);

  tr_case("an op that is cancelled before it starts");
  TFE_TensorHandle *x = ec_f0(2), *q = queue(c);
  TFE_Op *op = ec_op(c, "Neg");
  ec_in(op, x);
  TFE_OpSetCancellationManager(op, m, S);
  ec_st("set");
  ec_exec("Neg", op, 1);
  op = dequeue(c, q);
  TFE_OpSetCancellationManager(op, m, S);
  ec_st("set");
  ec_exec("QueueDequeueV2", op, 1);
  TFE_DeleteCancellationManager(m);

  tr_case("an op that waits");
  m = TFE_NewCancellationManager();
  pthread_t th;
  pthread_create(&th, NULL, cancel_soon, m);
  op = dequeue(c, q);
  TFE_OpSetCancellationManager(op, m, S);
  ec_exec("QueueDequeueV2", op, 1);
  pthread_join(th, NULL);
  TFE_DeleteCancellationManager(m);
  tr_case("the queue still works");
  op = ec_op(c, "QueueEnqueueV2");
  ec_in(op, q);
  TFE_OpAddInputList(op, &x, 1, S);
  ec_exec("QueueEnqueueV2", op, 0);
  ec_exec("QueueDequeueV2", dequeue(c, q), 1);

  tr_case("an asynchronous executor and its error");
  TFE_Executor *e = TFE_NewExecutor(true, false, 1);
  printf("async %d\n", TFE_ExecutorIsAsync(e));
  TFE_ContextSetExecutorForThread(c, e);
  TFE_TensorHandle *f = ec_f1(2, (float[]){1, 2}), *g = ec_f1(3, (float[]){1, 2, 3}), *r[2] = {0};
  op = ec_op(c, "AddV2");
  ec_in(op, f);
  ec_in(op, g);
  int n = 1;
  TFE_Execute(op, r, &n, S);
  ec_st("wrong shapes");
  TFE_DeleteOp(op);
  if (r[0]) {
    printf("dims %d", TFE_TensorHandleNumDims(r[0], S));
    ec_st(", status");
    TF_Tensor *t = TFE_TensorHandleResolve(r[0], S);
    printf("value %d", t != NULL);
    ec_st(", status");
    op = ec_op(c, "Neg");
    ec_in(op, r[0]);
    TFE_TensorHandle *r2[1] = {0};
    n = 1;
    TFE_Execute(op, r2, &n, S);
    printf("what uses it: %s\n", tr_code_name(TF_GetCode(S)));
    TF_SetStatus(S, TF_OK, "");
    TFE_DeleteOp(op);
    if (r2[0]) TFE_DeleteTensorHandle(r2[0]);
    TFE_DeleteTensorHandle(r[0]);
  }
  TFE_ExecutorWaitForAllPendingNodes(e, S);
  ec_st("wait");
  TFE_ExecutorWaitForAllPendingNodes(e, S);
  ec_st("wait again");
  TFE_ExecutorClearError(e);
  TFE_ExecutorWaitForAllPendingNodes(e, S);
  ec_st("wait after clearing");
  op = ec_op(c, "Neg");
  ec_in(op, x);
  ec_exec("works again", op, 1);
  TFE_Executor *sync = TFE_NewExecutor(false, false, 0);
  TFE_ContextSetExecutorForThread(c, sync);
  TFE_DeleteExecutor(sync);
  TFE_DeleteExecutor(e);
  op = ec_op(c, "Neg");
  ec_in(op, x);
  ec_exec("synchronous again", op, 1);
  TFE_DeleteTensorHandle(x);
  TFE_DeleteTensorHandle(f);
  TFE_DeleteTensorHandle(g);
  TFE_DeleteTensorHandle(q);
  TFE_DeleteContext(c);
  return ec_close();
}
