/* Contexts, executors, asynchronous errors, cancellation, step by step. */
#include "eager_common.h"

static TFE_TensorHandle *run(TFE_Context *c, const char *what, const char *name,
                             TFE_TensorHandle *a, TFE_TensorHandle *b) {
  TFE_Op *op = ec_op(c, name);
  ec_in(op, a);
  if (b) ec_in(op, b);
  TFE_TensorHandle *r[1] = {NULL};
  int n = 1;
  TFE_Execute(op, r, &n, S);
  ec_st(what);
  TFE_DeleteOp(op);
  return r[0];
}

static void wait_for(TFE_Executor *e, const char *what) {
  TFE_ExecutorWaitForAllPendingNodes(e, S);
  ec_st(what);
}

static void drop(TFE_TensorHandle *h) {
  if (h) TFE_DeleteTensorHandle(h);
}

int main(void) {
  ec_open();
  TFE_Context *ctx = ec_ctx();
  float v[4] = {1, 2, 3, 4};
  TFE_TensorHandle *two = ec_f1(2, v), *three = ec_f1(3, v), *one = ec_f0(1);
  tr_case("an asynchronous executor for this thread");
  TFE_Executor *sync = TFE_ContextGetExecutorForThread(ctx);
  TFE_Executor *e = TFE_NewExecutor(true, true, 0);
  printf("async %d %d\n", TFE_ExecutorIsAsync(sync), TFE_ExecutorIsAsync(e));
  TFE_ContextSetExecutorForThread(ctx, e);
  TFE_Executor *now = TFE_ContextGetExecutorForThread(ctx);
  printf("now async %d\n", TFE_ExecutorIsAsync(now));
  TFE_DeleteExecutor(now);
  TFE_TensorHandle *sum = run(ctx, "add", "AddV2", two, one);
  TFE_TensorHandle *neg = run(ctx, "neg", "Neg", sum, NULL);
  ec_handle("neg", neg);
  wait_for(e, "wait");
  drop(sum);
  drop(neg);
  tr_case("an error in the middle");
  TFE_TensorHandle *bad = run(ctx, "bad add", "AddV2", two, three);
  wait_for(e, "wait");
  wait_for(e, "wait again");
  TFE_TensorHandle *after = run(ctx, "after the error", "Neg", two, NULL);
  ec_handle("bad", bad);
  drop(after);
  TFE_ExecutorClearError(e);
  wait_for(e, "cleared");
  after = run(ctx, "after clearing", "Neg", two, NULL);
  ec_handle("after", after);
  drop(after);
  drop(bad);
  wait_for(e, "wait");
  TFE_ExecutorClearError(e);
  TFE_ContextAsyncWait(ctx, S);
  ec_st("context wait");
  tr_case("back to the synchronous one");
  TFE_ContextSetExecutorForThread(ctx, sync);
  TFE_TensorHandle *plain = run(ctx, "bad add", "AddV2", two, three);
  drop(plain);
  plain = run(ctx, "good add", "AddV2", two, one);
  ec_handle("plain", plain);
  drop(plain);
  TFE_DeleteExecutor(e);
  TFE_DeleteExecutor(sync);
  tr_case("an executor that is deleted with work");
  e = TFE_NewExecutor(true, true, 2);
  TFE_ContextSetExecutorForThread(ctx, e);
  TFE_TensorHandle *h[8];
  for (int i = 0; i < 8; ++i) h[i] = run(ctx, "square", "Square", two, NULL);
  TFE_DeleteExecutor(e);
  for (int i = 0; i < 8; ++i) {
    if (i == 7) ec_handle("last", h[i]);
    drop(h[i]);
  }
  tr_case("cancellation managers");
  TFE_CancellationManager *m = TFE_NewCancellationManager();
  printf("cancelled %d\n", TFE_CancellationManagerIsCancelled(m));
  int64_t t1 = (int64_t)TFE_CancellationManagerGetToken(m),
          t2 = (int64_t)TFE_CancellationManagerGetToken(m);
  printf("tokens differ %d\n", t1 != t2);
  TFE_CancellationManagerStartCancel(m);
  printf("cancelled %d\n", TFE_CancellationManagerIsCancelled(m));
  TFE_CancellationManagerStartCancel(m);
  TFE_Op *op = ec_op(ctx, "Neg");
  ec_in(op, two);
  TFE_OpSetCancellationManager(op, m, S);
  ec_st("set");
  TFE_TensorHandle *r[1] = {NULL};
  int n = 1;
  TFE_Execute(op, r, &n, S);
  ec_st("a plain op");
  drop(r[0]);
  TFE_DeleteOp(op);
  TFE_DeleteCancellationManager(m);
  TFE_DeleteCancellationManager(TFE_NewCancellationManager());
  tr_case("steps, caches, metadata");
  TFE_ContextStartStep(ctx);
  drop(run(ctx, "in a step", "Neg", two, NULL));
  TFE_ContextEndStep(ctx);
  TFE_ContextClearCaches(ctx);
  drop(run(ctx, "after clearing caches", "Neg", two, NULL));
  TFE_ContextEnableRunMetadata(ctx);
  drop(run(ctx, "with metadata", "Neg", two, NULL));
  TF_Buffer *b = TF_NewBuffer();
  TFE_ContextExportRunMetadata(ctx, b, S);
  ec_st("export");
  TF_DeleteBuffer(b);
  TFE_ContextDisableRunMetadata(ctx);
  TFE_ContextEnableGraphCollection(ctx);
  drop(run(ctx, "collecting graphs", "Neg", two, NULL));
  TFE_ContextDisableGraphCollection(ctx);
  printf("policy %d\n", (int)TFE_ContextGetDevicePlacementPolicy(ctx));
  TFE_ContextSetThreadLocalDevicePlacementPolicy(ctx, TFE_DEVICE_PLACEMENT_EXPLICIT);
  printf("policy %d\n", (int)TFE_ContextGetDevicePlacementPolicy(ctx));
  drop(two);
  drop(three);
  drop(one);
  TFE_DeleteContext(ctx);
  tr_case("contexts by config");
  static const struct {
    const char *what, *bytes;
    size_t len;
  } k[] = {{"empty", "", 0},
           {"garbage", "\xff\xff", 2},
           {"two CPUs", "\x0a\x07\x0a\x03\x43PU\x10\x02", 9},
           {"soft", "\x38\x01", 2}};
  for (size_t i = 0; i < sizeof k / sizeof k[0]; ++i) {
    TFE_ContextOptions *o = TFE_NewContextOptions();
    TFE_ContextOptionsSetConfig(o, k[i].bytes, k[i].len, S);
    ec_st(k[i].what);
    TFE_ContextOptionsSetAsync(o, i & 1);
    TFE_ContextOptionsSetDevicePlacementPolicy(o, TFE_DEVICE_PLACEMENT_SILENT);
    TFE_Context *c = TFE_NewContext(o, S);
    ec_st("  context");
    TFE_DeleteContextOptions(o);
    if (!c) continue;
    TF_DeviceList *l = TFE_ContextListDevices(c, S);
    printf("  devices %d\n", TF_DeviceListCount(l));
    TF_DeleteDeviceList(l);
    TFE_DeleteContext(c);
  }
  return ec_close();
}
