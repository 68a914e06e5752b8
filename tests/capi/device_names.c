/* Device strings: which of them name a device, in a graph with three CPUs and eagerly. */
#include "eager_common.h"
#include "transcript_graph.h"

static const char *const kNames[] = {"",
                                     "/",
                                     "CPU:0",
                                     "cpu:0",
                                     "/cpu:0",
                                     "/CPU:1",
                                     "/cpu:*",
                                     "/device:CPU:2",
                                     "/device:CPU:3",
                                     "/device:CPU",
                                     "/device:CPU:*",
                                     "/device:cpu:1",
                                     "/device:Cpu:0",
                                     "/DEVICE:CPU:1",
                                     "/gpu:0",
                                     "/device:GPU:0",
                                     "/device:GPU:*",
                                     "/device:TPU:0",
                                     "/device:FOO:0",
                                     "/job:localhost",
                                     "/job:localhost/cpu:1",
                                     "/job:worker",
                                     "/job:worker/cpu:0",
                                     "/job:*",
                                     "/replica:0",
                                     "/replica:1",
                                     "/task:0",
                                     "/task:1",
                                     "/replica:0/task:0/cpu:1",
                                     "/job:localhost/replica:0/task:0/device:CPU:1",
                                     "/job:localhost/replica:0/task:0/cpu:1",
                                     "/task:0/job:localhost/device:CPU:1",
                                     "/cpu:0/cpu:0",
                                     "/cpu:0/cpu:1",
                                     "/cpu:0/gpu:0",
                                     "/device:CPU:01",
                                     "/device:CPU:-1",
                                     "/device:CPU:x",
                                     "/device:CPU:1/",
                                     "/device:CPU:1 ",
                                     " /device:CPU:1",
                                     "device:CPU:1",
                                     "/device:",
                                     "/device::0",
                                     "/job:",
                                     "/job:local host",
                                     "/replica:x",

                                     "//cpu:0",
                                     "/device:CPU:1/extra",
                                     "/cpu",
                                     "cpu",
                                     "nonsense",
                                     "/nonsense:0",
                                     "@c",
                                     "/device:CPU:0:0",
                                     "/job:localhost/replica:*/task:*/cpu:*"};

static void in_graph(const char *name, int soft) {
  TF_Graph *g = TF_NewGraph();
  TF_Operation *c = tg_cf(g, 2, "c");
  TF_OperationDescription *d = tg_desc(g, "Neg", "n", 1, c);
  TF_SetDevice(d, name);
  TF_Operation *n = tg_finish_show(d, "build");
  if (n == NULL) {
    TF_DeleteGraph(g);
    return;
  }
  printf("  says \"%s\"\n", TF_OperationDevice(n));
  tr_pb k = {0}, e = {0};
  tr_pb_str(&e, 1, "CPU");
  tr_pb_int(&e, 2, 3);
  tr_pb_msg(&k, 1, &e);
  if (soft) tr_pb_int(&k, 7, 1);
  TF_SessionOptions *o = TF_NewSessionOptions();
  TF_SetConfig(o, k.data, k.len, st);
  tr_pb_free(&k);
  TF_Session *s = TF_NewSession(g, o, st);
  TF_DeleteSessionOptions(o);
  tg_fetch(s, soft ? "  soft" : "  run", n);
  TF_SetStatus(st, TF_OK, "");
  tg_close(s);
  TF_DeleteGraph(g);
}

int main(void) {
  ec_open();
  tg_begin();
  for (size_t i = 0; i < sizeof kNames / sizeof kNames[0]; ++i) {
    char b[96];
    snprintf(b, sizeof b, "\"%s\"", kNames[i]);
    tr_case(b);
    in_graph(kNames[i], 0);
    in_graph(kNames[i], 1);
  }
  TFE_ContextOptions *co = TFE_NewContextOptions();
  tr_pb k = {0}, e = {0};
  tr_pb_str(&e, 1, "CPU");
  tr_pb_int(&e, 2, 3);
  tr_pb_msg(&k, 1, &e);
  TFE_ContextOptionsSetConfig(co, k.data, k.len, S);
  tr_pb_free(&k);
  TFE_Context *ctx = TFE_NewContext(co, S);
  ec_must("context");
  TFE_DeleteContextOptions(co);
  TFE_TensorHandle *two = ec_f0(2);
  for (size_t i = 0; i < sizeof kNames / sizeof kNames[0]; ++i) {
    char b[96];
    snprintf(b, sizeof b, "eager \"%s\"", kNames[i]);
    tr_case(b);
    TFE_Op *op = ec_op(ctx, "Neg");
    TFE_OpSetDevice(op, kNames[i], S);
    if (ec_st("set")) {
      printf("  says \"%s\"\n", TFE_OpGetDevice(op, S));
      ec_in(op, two);
      TFE_TensorHandle *h = ec_exec_keep("  run", op, 1);
      if (h) {
        printf("  on %s\n", TFE_TensorHandleDeviceName(h, S));
        TFE_DeleteTensorHandle(h);
      }
    } else {
      TFE_DeleteOp(op);
    }
    TFE_TensorHandle *copy = TFE_TensorHandleCopyToDevice(two, ctx, kNames[i], S);
    int ok = TF_GetCode(S) == TF_OK;
    ec_st("  copy");
    if (ok) {
      printf("  on %s\n", TFE_TensorHandleDeviceName(copy, S));
      TFE_DeleteTensorHandle(copy);
    }
  }
  TFE_DeleteTensorHandle(two);
  TFE_DeleteContext(ctx);
  tg_end();
  return ec_close();
}
