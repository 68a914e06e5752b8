/* Unusual orders and counts: closing, deleting, extending, resetting, many feeds and fetches. */
#include <pthread.h>
#include <stdatomic.h>

#include "transcript_graph.h"

static void legacy(void) {
  tr_case("deprecated session");
  TF_SessionOptions *o = TF_NewSessionOptions();
  TF_DeprecatedSession *s = TF_NewDeprecatedSession(o, st);
  tr_status("new", st);
  const char *in[1] = {"p:0"}, *out[2] = {"n:0", "n:0"}, *target[1] = {"n"};
  TF_Tensor *v[1] = {tr_f32(3)}, *r[2] = {NULL, NULL};
  TF_Run(s, NULL, in, v, 1, out, r, 1, NULL, 0, NULL, st);
  TF_DeleteTensor(v[0]);
  tr_status("run before a graph", st);
  TF_Graph *g = TF_NewGraph();
  TF_Operation *p = tg_ph(g, TF_FLOAT, "p", NULL, -1);
  tg_op(g, "Neg", "n", 1, p);
  TF_Buffer *b = TF_NewBuffer();
  TF_GraphToGraphDef(g, b, st);
  TF_ExtendGraph(s, b->data, b->length, st);
  tr_status("extend", st);
  TF_ExtendGraph(s, b->data, b->length, st);
  tr_status("extend again", st);
  TF_ExtendGraph(s, "nonsense", 8, st);
  tr_status("extend with nonsense", st);
  TF_ExtendGraph(s, b->data, 0, st);
  tr_status("extend with nothing", st);
  v[0] = tr_f32(3);
  TF_Run(s, NULL, in, v, 1, out, r, 2, target, 1, NULL, st);
  TF_DeleteTensor(v[0]);
  if (tr_status("run", st))
    for (int i = 0; i < 2; i++) tr_show_free("  out", r[i]);
  r[0] = r[1] = NULL;
  v[0] = tr_f32(3);
  in[0] = "p";
  out[0] = "n";
  TF_Run(s, NULL, in, v, 1, out, r, 1, NULL, 0, NULL, st);
  TF_DeleteTensor(v[0]);
  if (tr_status("names without an index", st)) tr_show_free("  out", r[0]);
  r[0] = NULL;
  static const char *const odd[] = {"n:1", "n:-1", "nope:0", "", "n:0:0", "^n", "n:x"};
  for (size_t i = 0; i < sizeof odd / sizeof *odd; i++) {
    out[0] = odd[i];
    v[0] = tr_f32(3);
    TF_Run(s, NULL, in, v, 1, out, r, 1, NULL, 0, NULL, st);
    TF_DeleteTensor(v[0]);
    if (tr_status(odd[i], st)) tr_show_free("  out", r[0]);
    r[0] = NULL;
  }
  out[0] = "n:0";
  target[0] = "nope";
  v[0] = tr_f32(3);
  TF_Run(s, NULL, in, v, 1, out, r, 0, target, 1, NULL, st);
  TF_DeleteTensor(v[0]);
  tr_status("unknown target", st);
  TF_CloseDeprecatedSession(s, st);
  tr_status("close", st);
  v[0] = tr_f32(3);
  TF_Run(s, NULL, in, v, 1, out, r, 1, NULL, 0, NULL, st);
  TF_DeleteTensor(v[0]);
  tr_status("run after close", st);
  TF_CloseDeprecatedSession(s, st);
  tr_status("close again", st);
  TF_DeleteDeprecatedSession(s, st);
  tr_status("delete", st);
  TF_DeleteBuffer(b);
  TF_DeleteGraph(g);
  TF_DeleteSessionOptions(o);
}

static TF_Graph *shared;
static TF_Session *shared_session;
static TF_Operation *shared_in, *shared_out;
static atomic_int bad;

static void *runner(void *arg) {
  (void)arg;
  TF_Status *s = TF_NewStatus();
  for (int i = 0; i < 200; i++) {
    TF_Output in = tg_out(shared_in, 0), out = tg_out(shared_out, 0);
    TF_Tensor *v = tr_f32((float)i), *r = NULL;
    TF_SessionRun(shared_session, NULL, &in, &v, 1, &out, &r, 1, NULL, 0, NULL, s);
    if (TF_GetCode(s) != TF_OK || *(float *)TF_TensorData(r) != (float)-i) bad++;
    TF_DeleteTensor(v);
    TF_DeleteTensor(r);
  }
  TF_DeleteStatus(s);
  return NULL;
}

static void *builder(void *arg) {
  TF_Status *s = TF_NewStatus();
  for (int i = 0; i < 100; i++) {
    char name[32];
    snprintf(name, sizeof name, "t%d_%d", *(int *)arg, i);
    TF_OperationDescription *d = TF_NewOperation(shared, "Neg", name);
    TF_AddInput(d, tg_out(shared_in, 0));
    TF_Operation *op = TF_FinishOperation(d, s);
    if (TF_GetCode(s) != TF_OK) bad++;
    TF_Output in = tg_out(shared_in, 0), out = tg_out(op, 0);
    TF_Tensor *v = tr_f32(2), *r = NULL;
    TF_SessionRun(shared_session, NULL, &in, &v, 1, &out, &r, 1, NULL, 0, NULL, s);
    if (TF_GetCode(s) != TF_OK || *(float *)TF_TensorData(r) != -2) bad++;
    TF_DeleteTensor(v);
    TF_DeleteTensor(r);
  }
  TF_DeleteStatus(s);
  return NULL;
}

static void threads(void) {
  tr_case("running while others extend the graph");
  shared = TF_NewGraph();
  shared_in = tg_ph(shared, TF_FLOAT, "p", NULL, 0);
  shared_out = tg_op(shared, "Neg", "n", 1, shared_in);
  shared_session = tg_session(shared);
  pthread_t t[6];
  int id[3] = {0, 1, 2};
  for (int i = 0; i < 3; i++) pthread_create(&t[i], NULL, runner, NULL);
  for (int i = 0; i < 3; i++) pthread_create(&t[3 + i], NULL, builder, &id[i]);
  for (int i = 0; i < 6; i++) pthread_join(t[i], NULL);
  printf("failures %d\n", atomic_load(&bad));
  tg_close(shared_session);
  TF_DeleteGraph(shared);
}

int main(void) {
  tg_begin();
  TF_Graph *g = TF_NewGraph();
  TF_Operation *p = tg_ph(g, TF_FLOAT, "p", NULL, -1);
  TF_Operation *n = tg_op(g, "Neg", "n", 1, p);
  TF_Operation *c = tg_cf(g, 4, "c");
  TF_Operation *nc = tg_op(g, "Neg", "nc", 1, c);
  TF_Operation *nop = tg_op(g, "NoOp", "nop", 0);
  TF_Operation *split_dim = tg_ci(g, 0, "dim");
  TF_OperationDescription *d = TF_NewOperation(g, "Split", "split");
  TF_AddInput(d, tg_out(split_dim, 0));
  TF_AddInput(d, tg_out(p, 0));
  TF_SetAttrInt(d, "num_split", 3);
  TF_Operation *split = tg_finish(d);
  TF_Session *s = tg_session(g);
  TF_Output in[4], out[16];
  TF_Tensor *val[4];
  const TF_Operation *targets[4];

  tr_case("the same fetch sixteen times");
  in[0] = tg_out(p, 0);
  val[0] = tr_f32(5);
  for (int i = 0; i < 16; i++) out[i] = tg_out(n, 0);
  tg_run(s, "run", in, val, 1, out, 16, NULL, 0);
  tr_case("one output of several, out of order");
  float six[6] = {1, 2, 3, 4, 5, 6};
  out[0] = tg_out(split, 2), out[1] = tg_out(split, 0);
  val[0] = tr_vec(TF_FLOAT, 6, six);
  tg_run(s, "run", in, val, 1, out, 2, NULL, 0);
  tr_case("feed one output of several");
  in[0] = tg_out(split, 1);
  out[0] = tg_out(split, 1);
  val[0] = tr_f32(9);
  tg_run(s, "fed and fetched", in, val, 1, out, 1, NULL, 0);
  out[0] = tg_out(split, 0);
  val[0] = tr_f32(9);
  tg_run(s, "its neighbour", in, val, 1, out, 1, NULL, 0);
  in[1] = tg_out(p, 0);
  val[0] = tr_f32(9), val[1] = tr_vec(TF_FLOAT, 6, six);
  tg_run(s, "its neighbour with p", in, val, 2, out, 1, NULL, 0);
  tr_case("does not divide");
  in[0] = tg_out(p, 0);
  val[0] = tr_vec(TF_FLOAT, 5, six);
  tg_run(s, "run", in, val, 1, out, 1, NULL, 0);
  tr_case("targets twice, placeholders, constants");
  targets[0] = targets[1] = nop;
  tg_run(s, "nop twice", NULL, NULL, 0, NULL, 0, targets, 2);
  targets[0] = p;
  tg_run(s, "placeholder", NULL, NULL, 0, NULL, 0, targets, 1);
  targets[0] = c, targets[1] = nc;
  tg_run(s, "constants", NULL, NULL, 0, NULL, 0, targets, 2);
  in[0] = tg_out(p, 0);
  val[0] = tr_f32(1);
  targets[0] = p;
  tg_run(s, "fed placeholder", in, val, 1, NULL, 0, targets, 1);
  out[0] = tg_out(n, 0);
  val[0] = tr_f32(1);
  targets[0] = n;
  tg_run(s, "target and fetch", in, val, 1, out, 1, targets, 1);
  tr_case("fetch an operation without outputs");
  out[0] = tg_out(nop, 0);
  tg_run(s, "nop:0", NULL, NULL, 0, out, 1, NULL, 0);
  out[0] = tg_out(c, -1);
  tg_run(s, "c:-1", NULL, NULL, 0, out, 1, NULL, 0);
  tr_case("shapes fed");
  int64_t d0[1] = {0}, d3[3] = {1, 0, 2}, deep[8] = {1, 1, 1, 1, 1, 1, 1, 2};
  val[0] = tr_tensor(TF_FLOAT, d0, 1, NULL);
  out[0] = tg_out(n, 0);
  tg_run(s, "[0]", in, val, 1, out, 1, NULL, 0);
  val[0] = tr_tensor(TF_FLOAT, d3, 3, NULL);
  tg_run(s, "[1,0,2]", in, val, 1, out, 1, NULL, 0);
  val[0] = tr_tensor(TF_FLOAT, deep, 8, six);
  tg_run(s, "rank 8", in, val, 1, out, 1, NULL, 0);
  tr_case("a feed of the wrong kind");
  val[0] = tr_str("x");
  tg_run(s, "string for float", in, val, 1, out, 1, NULL, 0);
  val[0] = tr_bool(true);
  tg_run(s, "bool for float", in, val, 1, out, 1, NULL, 0);

  tr_case("closing");
  TF_CloseSession(s, st);
  tr_status("close", st);
  TF_CloseSession(s, st);
  tr_status("close again", st);
  val[0] = tr_f32(1);
  tg_run(s, "run", in, val, 1, out, 1, NULL, 0);
  const char *handle = NULL;
  TF_SessionPRunSetup(s, in, 1, out, 1, NULL, 0, &handle, st);
  tr_status("prun setup", st);
  TF_DeviceList *list = TF_SessionListDevices(s, st);
  tr_status("devices", st);
  if (list) {
    printf("devices %d\n", TF_DeviceListCount(list));
    TF_DeleteDeviceList(list);
  }
  TF_DeleteSession(s, st);
  tr_status("delete", st);

  tr_case("device list");
  s = tg_session(g);
  list = TF_SessionListDevices(s, st);
  tr_status("devices", st);
  printf("%s\n", TF_DeviceListName(list, 0, st));
  printf("%s\n", TF_DeviceListType(list, 0, st));
  tr_status("type", st);
  TF_DeviceListName(list, 1, st);
  tr_status("name 1", st);
  TF_DeviceListType(list, -1, st);
  tr_status("type -1", st);
  TF_DeviceListMemoryBytes(list, 7, st);
  tr_status("memory 7", st);
  TF_DeviceListIncarnation(list, 7, st);
  tr_status("incarnation 7", st);
  TF_DeleteDeviceList(list);
  TF_DeleteSession(s, st);
  tr_status("delete without close", st);

  tr_case("an empty graph");
  TF_Graph *empty = TF_NewGraph();
  s = tg_session(empty);
  tg_run(s, "nothing", NULL, NULL, 0, NULL, 0, NULL, 0);
  TF_ExtendSession(s, st);
  tr_status("extend", st);
  TF_DeleteGraph(empty);
  tg_close(s);

  tr_case("reset");
  TF_SessionOptions *o = TF_NewSessionOptions();
  const char *containers[2] = {"", "nope"};
  TF_Reset(o, containers, 2, st);
  tr_status("reset", st);
  TF_SetTarget(o, "grpc://nowhere:1");
  TF_DeleteSessionOptions(o);

  legacy();
  threads();
  TF_DeleteGraph(g);
  tg_end();
  return 0;
}
