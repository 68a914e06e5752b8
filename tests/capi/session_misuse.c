/* TF_SessionRun and its kin, asked for what cannot be; and what the graph is like afterwards. */
#include "transcript_graph.h"

static TF_Session *with_config(TF_Graph *g, tr_pb *config, const char *what) {
  TF_SessionOptions *o = TF_NewSessionOptions();
  if (config) {
    TF_SetConfig(o, config->data, config->len, st);
    tr_status(what, st);
  }
  TF_Session *s = TF_NewSession(g, o, st);
  if (TF_GetCode(st) != TF_OK) tr_status("  session", st);
  TF_DeleteSessionOptions(o);
  TF_SetStatus(st, TF_OK, "");
  return s;
}

static void run(TF_Session *s, const char *what, const TF_Output *in, TF_Tensor **iv, int ni,
                const TF_Output *out, int no, const TF_Operation *const *t, int nt) {
  tg_run(s, what, in, iv, ni, out, no, t, nt);
  TF_SetStatus(st, TF_OK, "");
}

static void feeds(void) {
  TF_Graph *g = TF_NewGraph();
  int64_t d3[1] = {3};
  TF_Operation *p = tg_ph(g, TF_FLOAT, "p", d3, 1), *q = tg_ph(g, TF_INT32, "q", NULL, -1);
  TF_Operation *sp = tg_ph(g, TF_STRING, "sp", NULL, -1);
  TF_Operation *n = tg_op(g, "Neg", "n", 1, p), *m = tg_op(g, "Neg", "m", 1, q);
  TF_Operation *join = tg_op(g, "AddV2", "join", 2, n, p);
  TF_Operation *noop = tg_finish(TF_NewOperation(g, "NoOp", "noop"));
  TF_Operation *si = tg_op(g, "Identity", "si", 1, sp);
  TF_Session *s = tg_session(g);
  float v[3] = {1, 2, 3};
  TF_Output p0 = tg_out(p, 0), n0 = tg_out(n, 0), q0 = tg_out(q, 0), m0 = tg_out(m, 0);
  TF_Tensor *t;
  tr_case("feeds");
  t = tr_vec(TF_FLOAT, 3, v);
  run(s, "right", &p0, &t, 1, &n0, 1, NULL, 0);
  t = tr_vec(TF_FLOAT, 2, v);
  run(s, "of another length", &p0, &t, 1, &n0, 1, NULL, 0);
  t = tr_f32(5);
  run(s, "a scalar", &p0, &t, 1, &n0, 1, NULL, 0);
  t = tr_i32(5);
  run(s, "of another type", &p0, &t, 1, &n0, 1, NULL, 0);
  t = tr_str("x");
  run(s, "a string for a number", &q0, &t, 1, &m0, 1, NULL, 0);
  t = tr_i32(5);
  run(s, "for a tensor that is not needed, wrong type", &p0, &t, 1, &m0, 0,
      (const TF_Operation *const[]){noop}, 1);
  TF_Output nn = tg_out(noop, 0);
  t = tr_i32(5);
  run(s, "of an operation without outputs", &nn, &t, 1, &n0, 1, NULL, 0);
  TF_Output bad = tg_out(p, 3);
  t = tr_f32(5);
  run(s, "of an output that is not there", &bad, &t, 1, &n0, 1, NULL, 0);
  TF_Output neg = tg_out(p, -1);
  t = tr_f32(5);
  run(s, "of output -1", &neg, &t, 1, &n0, 1, NULL, 0);
  TF_Output both[2] = {p0, n0}, j0 = tg_out(join, 0);
  TF_Tensor *two[2] = {tr_vec(TF_FLOAT, 3, v), tr_f32(10)};
  run(s, "an inner tensor too", both, two, 2, &j0, 1, NULL, 0);
  two[0] = tr_vec(TF_FLOAT, 3, v);
  two[1] = tr_vec(TF_FLOAT, 2, v);
  run(s, "an inner tensor that does not fit", both, two, 2, &j0, 1, NULL, 0);
  TF_Output so = tg_out(sp, 0), sio = tg_out(si, 0);
  t = tr_str("");
  run(s, "an empty string", &so, &t, 1, &sio, 1, NULL, 0);
  t = tr_tensor(TF_FLOAT, (int64_t[]){0}, 1, v);
  run(s, "an empty tensor", &p0, &t, 1, &n0, 1, NULL, 0);
  tr_case("fetches and targets");
  TF_Output f2[3] = {n0, n0, p0};
  t = tr_vec(TF_FLOAT, 3, v);
  run(s, "twice, and the feed itself", &p0, &t, 1, f2, 3, NULL, 0);
  t = tr_vec(TF_FLOAT, 3, v);
  run(s, "twice", &p0, &t, 1, f2, 2, NULL, 0);
  run(s, "the NoOp's output", NULL, NULL, 0, &nn, 1, NULL, 0);
  const TF_Operation *tg[3] = {noop, noop, n};
  run(s, "a target twice", NULL, NULL, 0, NULL, 0, tg, 2);
  run(s, "a target that needs a feed", NULL, NULL, 0, NULL, 0, tg, 3);
  run(s, "nothing", NULL, NULL, 0, NULL, 0, NULL, 0);
  t = tr_vec(TF_FLOAT, 3, v);
  run(s, "only a feed", &p0, &t, 1, NULL, 0, NULL, 0);
  TF_Output fbad = tg_out(n, 1);
  t = tr_vec(TF_FLOAT, 3, v);
  run(s, "an output that is not there", &p0, &t, 1, &fbad, 1, NULL, 0);
  tr_case("a graph that gets better");
  TF_OperationDescription *d = TF_NewOperation(g, "Neg", "late");
  TF_AddInput(d, p0);
  TF_Operation *late = tg_finish(d);
  TF_Output l0 = tg_out(late, 0);
  t = tr_f32(2);
  run(s, "a new operation", &p0, &t, 1, &l0, 1, NULL, 0);
  tg_close(s);
  tr_case("after closing");
  s = tg_session(g);
  TF_CloseSession(s, st);
  tr_status("close", st);
  TF_CloseSession(s, st);
  tr_status("close again", st);
  t = tr_f32(2);
  run(s, "run", &p0, &t, 1, &l0, 1, NULL, 0);
  const char *h = NULL;
  TF_SessionPRunSetup(s, &p0, 1, &l0, 1, NULL, 0, &h, st);
  tr_status("partial setup", st);
  if (h) TF_DeletePRunHandle(h);
  TF_DeviceList *list = TF_SessionListDevices(s, st);
  tr_status("devices", st);
  if (list) TF_DeleteDeviceList(list);
  TF_DeleteSession(s, st);
  tr_status("delete", st);
  TF_DeleteGraph(g);
}

static void cycles(void) {
  tr_case("cycles made later");
  TF_Graph *g = TF_NewGraph();
  TF_Operation *c = tg_cf(g, 1, "c");
  TF_Operation *a = tg_op(g, "Neg", "a", 1, c), *b = tg_op(g, "Neg", "b", 1, a);
  TF_Operation *free_op = tg_op(g, "Neg", "free", 1, c);
  TF_UpdateEdge(g, tg_out(b, 0), tg_in(a, 0), st);
  tr_status("update edge", st);
  TF_Session *s = tg_session(g);
  tg_fetch(s, "in the cycle", b);
  TF_SetStatus(st, TF_OK, "");
  tg_close(s);
  TF_UpdateEdge(g, tg_out(c, 0), tg_in(a, 0), st);
  tr_status("mended", st);
  s = tg_session(g);
  tg_fetch(s, "run", b);
  tg_fetch(s, "run another", free_op);
  tg_close(s);
  TF_Buffer *buf = TF_NewBuffer();
  TF_GraphToGraphDef(g, buf, st);
  tr_status("graph def", st);
  TF_DeleteBuffer(buf);
  TF_DeleteGraph(g);
}

static void configs(void) {
  tr_case("configs");
  TF_Graph *g = TF_NewGraph();
  TF_Operation *c = tg_cf(g, 2, "c"), *n = tg_op(g, "Neg", "n", 1, c);
  struct {
    const char *what;
    int field;
    int64_t value;
  } ints[] = {{"inter op threads", 5, 3},       {"intra op threads", 2, 2},
              {"negative inter op", 5, -1},     {"soft placement", 7, 1},
              {"operation timeout", 11, 60000}, {"isolate session state", 15, 1}};
  for (size_t i = 0; i < sizeof ints / sizeof ints[0]; ++i) {
    tr_pb k = {0};
    tr_pb_int(&k, ints[i].field, ints[i].value);
    TF_Session *s = with_config(g, &k, ints[i].what);
    tr_pb_free(&k);
    if (s) {
      tg_fetch(s, "  run", n);
      TF_SetStatus(st, TF_OK, "");
      tg_close(s);
    }
  }
  TF_OperationDescription *d = tg_desc(g, "Neg", "far", 1, c);
  TF_SetDevice(d, "/device:CPU:1");
  TF_Operation *far = tg_finish(d);
  for (int cpus = 1; cpus <= 3; ++cpus) {
    tr_pb k = {0}, e = {0};
    tr_pb_str(&e, 1, "CPU");
    tr_pb_int(&e, 2, cpus);
    tr_pb_msg(&k, 1, &e);
    TF_Session *s = with_config(g, &k, "CPUs");
    tr_pb_free(&k);
    TF_DeviceList *l = TF_SessionListDevices(s, st);
    printf("  %d devices\n", TF_DeviceListCount(l));
    for (int i = 0; i < TF_DeviceListCount(l); ++i) {
      printf("  %s %s %d\n", TF_DeviceListName(l, i, st), TF_DeviceListType(l, i, st),
             TF_DeviceListMemoryBytes(l, i, st) > 0);
      printf("  has an incarnation %d\n", TF_DeviceListIncarnation(l, i, st) != 0);
    }
    const char *none = TF_DeviceListName(l, 99, st);
    tr_status("  name 99", st);
    printf("  null %d\n", none == NULL);
    TF_DeviceListType(l, -1, st);
    tr_status("  type -1", st);
    printf("  %d\n", (int)TF_DeviceListMemoryBytes(l, 99, st));
    tr_status("  memory 99", st);
    TF_DeviceListIncarnation(l, 99, st);
    tr_status("  incarnation 99", st);
    TF_SetStatus(st, TF_OK, "");
    TF_DeleteDeviceList(l);
    tg_fetch(s, "  far", far);
    TF_SetStatus(st, TF_OK, "");
    tg_close(s);
  }
  TF_DeleteDeviceList(NULL);
  TF_DeleteGraph(g);
}

static void run_options(void) {
  tr_case("run options and metadata");
  TF_Graph *g = TF_NewGraph();
  TF_Operation *c = tg_cf(g, 2, "c"), *n = tg_op(g, "Neg", "n", 1, c);
  TF_Session *s = tg_session(g);
  TF_Output o = tg_out(n, 0);
  static const struct {
    const char *what;
    int field;
    int64_t value;
  } k[] = {{"no trace", 1, 0},         {"full trace", 1, 3},      {"software trace", 1, 1},
           {"inter op pool 0", 3, 0},  {"inter op pool 7", 3, 7}, {"inter op pool -1", 3, -1},
           {"partition graphs", 5, 1}, {"timeout", 2, 10000},     {"negative timeout", 2, -5}};
  for (size_t i = 0; i < sizeof k / sizeof k[0]; ++i) {
    tr_pb r = {0};
    tr_pb_int(&r, k[i].field, k[i].value);
    TF_Buffer *b = TF_NewBufferFromString(r.data, r.len), *meta = TF_NewBuffer();
    tr_pb_free(&r);
    TF_Tensor *t = NULL;
    TF_SessionRun(s, b, NULL, NULL, 0, &o, &t, 1, NULL, 0, meta, st);
    if (tr_status(k[i].what, st)) {
      tr_show_free("  out", t);
      bool stats = tr_get(meta->data, meta->length, 1).p != NULL;
      bool graphs = tr_get(meta->data, meta->length, 3).p != NULL;
      printf("  stats %d graphs %d\n", stats, graphs);
    }
    TF_SetStatus(st, TF_OK, "");
    TF_DeleteBuffer(b);
    TF_DeleteBuffer(meta);
  }
  TF_Buffer *b = TF_NewBufferFromString("\x08", 1);
  TF_Tensor *t = NULL;
  TF_SessionRun(s, b, NULL, NULL, 0, &o, &t, 1, NULL, 0, NULL, st);
  tr_status("cut off", st);
  TF_DeleteBuffer(b);
  b = TF_NewBuffer();
  TF_SessionRun(s, b, NULL, NULL, 0, &o, &t, 1, NULL, 0, NULL, st);
  if (tr_status("empty", st)) tr_show_free("  out", t);
  TF_DeleteBuffer(b);
  tg_close(s);
  TF_DeleteGraph(g);
}

int main(void) {
  tg_begin();
  feeds();
  cycles();
  configs();
  run_options();
  tg_end();
  return 0;
}
