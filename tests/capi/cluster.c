/* What the API has for clusters, asked of a program that is alone; and queues by the names of their nodes. */
#include "eager_common.h"

static void defs(void) {
  tr_case("server definitions");
  static const char *const texts[] = {
      ("cluster { job { name: \"worker\" tasks { key: 1 value: \"b:2\" } tasks { key: 0 value: "
       "\"a:1\" } } } "
       "job_name: \"worker\" task_index: 1 protocol: \"grpc\" port: 7"),
      "default_session_config { device_count { key: \"CPU\" value: 2 } }",
      ("cluster_device_filters { jobs { name: \"w\" tasks { key: 2 value { device_filters: "
       "\"/job:ps\" } } } }"),
      "",
      "no_such_field: 1",
      "job_name: 7"};
  for (size_t i = 0; i < sizeof texts / sizeof *texts; i++) {
    TF_Buffer *b = TFE_GetServerDef(texts[i], S);
    /* What TensorFlow's printer says of a map is in hash order: one task at a time is shown. */
    if (ec_st("text") && i > 0) ec_buf("def", b);
    if (b) TF_DeleteBuffer(b);
  }
  TF_NewServer("\x07\x01", 2, S);
  ec_st("a server of garbage");
  TFE_Context *c = ec_ctx();
  TFE_ContextSetServerDef(c, 0, "\x07\x01", 2, S);
  ec_st("set garbage");
  TFE_ContextUpdateServerDef(c, 0, "\x07\x01", 2, S);
  ec_st("update with garbage");
  TFE_ContextSetServerDefWithTimeout(c, 0, "\x07\x01", 2, 10, S, true);
  ec_st("set garbage in time");
  TFE_EnableCollectiveOps(c, "\x07\x01", 2, S);
  ec_st("collectives of garbage");
  TFE_InitializeLocalOnlyContext(c, 0, "\x07\x01", 2, S);
  ec_st("a local context of garbage");
  tr_case("coordination");
  TFE_InsertConfigKeyValue(c, "k", "v", S);
  ec_st("insert");
  TF_Buffer *b = TF_NewBuffer();
  TFE_GetConfigKeyValue(c, "k", 100, b, S);
  ec_st("get");
  TFE_DeleteConfigKeyValue(c, "k", S);
  ec_st("delete");
  TFE_ReportErrorToCluster(c, 3, "m", S);
  ec_st("report");
  TFE_WaitAtBarrier(c, "b", 100, S);
  ec_st("barrier");
  TF_DeleteBuffer(b);
  TFE_CollectiveOpsCheckPeerHealth(c, "/job:worker/replica:0/task:0", 100, S);
  ec_st("health");
  TF_RegisterFilesystemPlugin("/nowhere/at_all.so", S);
  ec_st("file system");
  TFE_DeleteContext(c);
}

static void queues(void) {
  tr_case("queues by name");
  TF_Graph *g = TF_NewGraph();
  TF_DataType types[1] = {TF_FLOAT};
  TF_OperationDescription *d = TF_NewOperation(g, "FIFOQueueV2", "fifo");
  TF_SetAttrTypeList(d, "component_types", types, 1);
  TF_Output q = {TF_FinishOperation(d, S), 0};
  d = TF_NewOperation(g, "Placeholder", "arg_tensor_enqueue_3");
  TF_SetAttrType(d, "dtype", TF_FLOAT);
  TF_Output x = {TF_FinishOperation(d, S), 0};
  d = TF_NewOperation(g, "QueueEnqueueV2", "fifo_queue_enqueue_3");
  TF_AddInput(d, q);
  TF_AddInputList(d, &x, 1);
  TF_FinishOperation(d, S);
  d = TF_NewOperation(g, "QueueDequeueV2", "fifo_queue_dequeue_3");
  TF_SetAttrTypeList(d, "component_types", types, 1);
  TF_AddInput(d, q);
  TF_FinishOperation(d, S);
  d = TF_NewOperation(g, "QueueEnqueueV2", "fifo_queue_enqueue_4");
  TF_AddInput(d, q);
  TF_AddInputList(d, &x, 1);
  TF_FinishOperation(d, S);
  ec_must("graph");
  TF_SessionOptions *o = TF_NewSessionOptions();
  TF_Session *s = TF_NewSession(g, o, S);
  ec_must("session");
  TF_Tensor *t = tr_f32(5), *i = tr_i32(1);
  TF_EnqueueNamedTensor(s, 3, t, S);
  ec_st("enqueue");
  TF_EnqueueNamedTensor(s, 3, i, S);
  ec_st("enqueue a wrong type");
  TF_Tensor *r = TF_DequeueNamedTensor(s, 3, S);
  ec_st("dequeue");
  tr_show_free("value", r);
  TF_EnqueueNamedTensor(s, 4, t, S);
  ec_st("without an argument");
  TF_EnqueueNamedTensor(s, 5, t, S);
  ec_st("unknown");
  r = TF_DequeueNamedTensor(s, 4, S);
  ec_st("unknown");
  tr_show_free("value", r);
  TF_DeleteTensor(t);
  TF_DeleteTensor(i);
  TF_CloseSession(s, S);
  TF_DeleteSession(s, S);
  TF_DeleteSessionOptions(o);
  TF_DeleteGraph(g);
}

int main(void) {
  ec_open();
  defs();
  queues();
  return ec_close();
}
