/* Runs that wait, and what ends them: another run, a timeout, the session's end from another thread, a queue
   that is closed with or without cancelling, a barrier; and what the session can still do. */
#include <pthread.h>
#include <unistd.h>

#include "transcript_graph.h"

static TF_Graph *g;
static TF_Session *s;

static TF_Operation *queue_op(const char *type, const char *name, TF_Operation *q, bool typed) {
  TF_OperationDescription *d = tg_desc(g, type, name, 1, q);
  TF_DataType t = TF_FLOAT;
  if (typed) TF_SetAttrTypeList(d, "component_types", &t, 1);
  return tg_finish(d);
}
static TF_Operation *enqueue(const char *name, TF_Operation *q, TF_Operation *v) {
  TF_OperationDescription *d = tg_desc(g, "QueueEnqueueV2", name, 1, q);
  TF_Output in = tg_out(v, 0);
  TF_AddInputList(d, &in, 1);
  return tg_finish(d);
}

typedef struct job {
  TF_Operation *fetch, *target;
  int timeout;
  TF_Status *st;
  TF_Tensor *out;
} job;
static void *work(void *arg) {
  job *j = arg;
  tr_pb o = {0};
  tr_pb_int(&o, 2, j->timeout);
  TF_Buffer *b = TF_NewBufferFromString(o.data, o.len);
  TF_Output f = tg_out(j->fetch, 0);
  const TF_Operation *t = j->target;
  TF_SessionRun(s, j->timeout ? b : NULL, NULL, NULL, 0, &f, &j->out, j->fetch != NULL, &t,
                j->target != NULL, NULL, j->st);
  TF_DeleteBuffer(b);
  tr_pb_free(&o);
  return NULL;
}
/* Starts a run that waits, lets |act| happen, and tells how it ended. */
static void waits(const char *what, TF_Operation *fetch, TF_Operation *target, int timeout,
                  void (*act)(void)) {
  pthread_t t;
  job j = {fetch, target, timeout, TF_NewStatus(), NULL};
  pthread_create(&t, NULL, work, &j);
  usleep(200000);
  if (act) act();
  pthread_join(t, NULL);
  if (tr_status(what, j.st) && fetch) tr_show("  out", j.out);
  if (j.out) TF_DeleteTensor(j.out);
  TF_DeleteStatus(j.st);
}

static TF_Operation *put, *close_op, *cancel_op;
static void act_put(void) {
  tg_target(s, "  put", put);
}
static void act_close(void) {
  tg_target(s, "  close", close_op);
}
static void act_cancel(void) {
  tg_target(s, "  close and cancel", cancel_op);
}
static void act_session(void) {
  TF_CloseSession(s, st);
  tr_status("  close session", st);
}

static TF_Operation *new_queue(const char *name, int capacity) {
  TF_OperationDescription *d = TF_NewOperation(g, "FIFOQueueV2", name);
  TF_DataType t = TF_FLOAT;
  TF_SetAttrTypeList(d, "component_types", &t, 1);
  TF_SetAttrInt(d, "capacity", capacity);
  TF_SetAttrString(d, "shared_name", name, strlen(name));
  return tg_finish(d);
}
static TF_Operation *closer(const char *name, TF_Operation *q, bool cancel) {
  TF_OperationDescription *d = tg_desc(g, "QueueCloseV2", name, 1, q);
  TF_SetAttrBool(d, "cancel_pending_enqueues", cancel);
  return tg_finish(d);
}

int main(void) {
  tg_begin();
  g = TF_NewGraph();
  TF_Operation *v = tg_cf(g, 5, "v"), *q = new_queue("q", 1), *r = new_queue("r", 1);
  TF_Operation *get = queue_op("QueueDequeueV2", "get", q, true);
  TF_Operation *size = queue_op("QueueSizeV2", "size", q, false);
  TF_Operation *rget = queue_op("QueueDequeueV2", "rget", r, true);
  TF_Operation *rput = enqueue("rput", r, v), *many = tg_ci(g, 2, "two");
  TF_OperationDescription *d = tg_desc(g, "QueueDequeueManyV2", "get_many", 2, q, many);
  TF_DataType t = TF_FLOAT;
  TF_SetAttrTypeList(d, "component_types", &t, 1);
  TF_Operation *get_many = TF_FinishOperation(d, st);
  tr_status("dequeue many without shapes", st);
  put = enqueue("put", q, v);
  close_op = closer("close", q, false);
  cancel_op = closer("cancel", r, true);
  s = tg_session(g);
  tr_case("another run");
  waits("get", get, NULL, 0, act_put);
  if (get_many) waits("get many", get_many, NULL, 200, NULL);
  tr_case("a timeout");
  waits("get", get, NULL, 150, NULL);
  tg_fetch(s, "size", size);
  tg_target(s, "put", put);
  waits("put into a full queue", NULL, put, 150, NULL);
  tg_fetch(s, "get", get);
  tr_case("closed queues");
  waits("get", get, NULL, 0, act_close);
  tg_target(s, "put", put);
  tg_fetch(s, "get", get);
  tg_target(s, "close again", close_op);
  tg_target(s, "fill", rput);
  waits("put", NULL, rput, 0, act_cancel);
  tg_fetch(s, "what was there", rget);
  tg_fetch(s, "nothing is left", rget);
  tg_target(s, "put", rput);
  tr_case("the session's end");
  tg_close(s);
  s = tg_session(g);
  waits("get", get, NULL, 0, act_session);
  tg_fetch(s, "afterwards", size);
  TF_DeleteSession(s, st);
  s = tg_session(g);
  tg_fetch(s, "a new session", size);
  tg_close(s);
  TF_DeleteGraph(g);
  tg_end();
  return 0;
}
