/* Requests that cannot all be met, with three CPUs: resource and reference edges, colocation in chains and with
   requests of its own, devices in part, soft and hard; what is said, and where things run if they can. */
#include "transcript_graph.h"

static TF_Graph *g;

static TF_Session *open_session(bool soft) {
  tr_pb c = {0}, e = {0};
  tr_pb_str(&e, 1, "CPU");
  tr_pb_int(&e, 2, 3);
  tr_pb_msg(&c, 1, &e);
  if (soft) tr_pb_int(&c, 7, 1);
  TF_SessionOptions *o = TF_NewSessionOptions();
  TF_SetConfig(o, c.data, c.len, st);
  TF_Session *s = TF_NewSession(g, o, st);
  TF_DeleteSessionOptions(o);
  tr_pb_free(&c);
  return s;
}
/* The status without the debug information about the group, which lists types in hash order. */
static bool tell(const char *what) {
  char text[4096];
  snprintf(text, sizeof text, "%s", TF_Message(st));
  char *debug = strstr(text, "Colocation Debug Info");
  if (debug) *debug = 0;
  TF_Code code = TF_GetCode(st);
  TF_SetStatus(st, code, text);
  return tr_status(what, st);
}

/* Runs |op| and tells on which devices the partitions of the run were. */
static void run(const char *what, TF_Operation *op, bool soft) {
  TF_Session *s = open_session(soft);
  tr_pb o = {0};
  tr_pb_int(&o, 5, 1);
  TF_Buffer *ro = TF_NewBufferFromString(o.data, o.len), *m = TF_NewBuffer();
  TF_Output f = tg_out(op, 0);
  const TF_Operation *t = op;
  TF_Tensor *v = NULL;
  bool fetch = TF_OperationNumOutputs(op) > 0 && TF_OperationOutputType(f) != TF_RESOURCE;
  TF_Output c = tg_out(TF_GraphOperationByName(g, "c"), 0);
  bool fed = c.oper && fetch && TF_OperationOutputType(f) == TF_FLOAT;
  TF_Tensor *two = tr_f32(2);
  TF_SessionRun(s, ro, &c, &two, fed, &f, &v, fetch, &t, !fetch, m, st);
  TF_DeleteTensor(two);
  if (tell(what)) {
    if (fetch) tr_show("  out", v);
    const unsigned char *p = m->data, *end = p + m->length;
    tr_field part, node, field;
    while (tr_next(&p, end, &part)) {
      if (part.num != 3) continue;
      for (const unsigned char *q = part.p; tr_next(&q, part.p + part.n, &node);) {
        if (node.num != 1) continue;
        char name[64] = "", dev[64] = "";
        for (const unsigned char *r = node.p; tr_next(&r, node.p + node.n, &field);) {
          if (field.num == 1) snprintf(name, 64, "%.*s", (int)field.n, (const char *)field.p);
          if (field.num == 4) snprintf(dev, 64, "%.*s", (int)field.n, (const char *)field.p);
        }
        if (strcmp(name, TF_OperationName(op)) == 0)
          printf("  %s on %s\n", name, strrchr(dev, '/'));
      }
    }
  }
  if (v) TF_DeleteTensor(v);
  TF_DeleteBuffer(ro);
  TF_DeleteBuffer(m);
  tr_pb_free(&o);
  tg_close(s);
}

static TF_Operation *on(const char *type, const char *name, const char *dev, TF_Operation *in,
                        TF_Operation *with) {
  TF_OperationDescription *d = TF_NewOperation(g, type, name);
  if (dev) TF_SetDevice(d, dev);
  if (strcmp(type, "VarHandleOp") == 0 || strcmp(type, "VariableV2") == 0) {
    TF_SetAttrType(d, "dtype", TF_FLOAT);
    TF_SetAttrShape(d, "shape", NULL, 0);
    TF_SetAttrString(d, "shared_name", name, strlen(name));
  }
  if (strcmp(type, "ReadVariableOp") == 0) TF_SetAttrType(d, "dtype", TF_FLOAT);
  if (in) TF_AddInput(d, tg_out(in, 0));
  if (with) TF_ColocateWith(d, with);
  return tg_finish(d);
}

int main(void) {
  tg_begin();
  for (int soft = 0; soft < 2; soft++) {
    g = TF_NewGraph();
    printf("==== soft %d\n", soft);
    tr_case("resource edges");
    TF_Operation *v1 = on("VarHandleOp", "v1", "/device:CPU:1", NULL, NULL);
    run("where the variable is", on("VarIsInitializedOp", "is", NULL, v1, NULL), soft);
    TF_DeleteGraph(g);
    g = TF_NewGraph();
    v1 = on("VarHandleOp", "v1", "/device:CPU:1", NULL, NULL);
    run("elsewhere", on("VarIsInitializedOp", "is", "/device:CPU:2", v1, NULL), soft);
    TF_DeleteGraph(g);
    g = TF_NewGraph();
    v1 = on("VarHandleOp", "v1", NULL, NULL, NULL);
    run("only the reader asks", on("VarIsInitializedOp", "is", "/device:CPU:2", v1, NULL), soft);
    TF_DeleteGraph(g);
    g = TF_NewGraph();
    v1 = on("VarHandleOp", "v1", "/device:CPU:7", NULL, NULL);
    run("a CPU that is not there", on("VarIsInitializedOp", "is", NULL, v1, NULL), soft);
    TF_DeleteGraph(g);
    tr_case("colocation");
    g = TF_NewGraph();
    TF_Operation *c = tg_ph(g, TF_FLOAT, "c", NULL, -2);
    TF_Operation *a = on("Neg", "a", "/device:CPU:1", c, NULL);
    run("follows", on("Neg", "b", NULL, c, a), soft);
    TF_DeleteGraph(g);
    g = TF_NewGraph();
    c = tg_ph(g, TF_FLOAT, "c", NULL, -2);
    a = on("Neg", "a", "/device:CPU:1", c, NULL);
    run("agrees", on("Neg", "b", "/device:CPU:1", c, a), soft);
    TF_DeleteGraph(g);
    g = TF_NewGraph();
    c = tg_ph(g, TF_FLOAT, "c", NULL, -2);
    a = on("Neg", "a", "/device:CPU:1", c, NULL);
    run("disagrees", on("Neg", "b", "/device:CPU:2", c, a), soft);
    TF_DeleteGraph(g);
    g = TF_NewGraph();
    c = tg_ph(g, TF_FLOAT, "c", NULL, -2);
    a = on("Neg", "a", NULL, c, NULL);
    TF_Operation *b = on("Neg", "b", "/device:CPU:2", c, a);
    (void)b;
    run("led by the follower", a, soft);
    TF_Operation *d = on("Neg", "d", NULL, c, b);
    run("a chain", d, soft);
    run("a chain that breaks", on("Neg", "e", "/device:CPU:1", c, d), soft);
    TF_DeleteGraph(g);
    g = TF_NewGraph();
    v1 = on("VarHandleOp", "v1", "/device:CPU:1", NULL, NULL);
    c = tg_ph(g, TF_FLOAT, "c", NULL, -2);
    a = on("Neg", "a", "/device:CPU:2", c, NULL);
    run("with a resource of another device", on("VarIsInitializedOp", "is", NULL, v1, a), soft);
    TF_DeleteGraph(g);
    tr_case("in part");
    static const char *const parts[] = {"/cpu:2",         "/device:CPU",
                                        "/job:localhost", "/task:0/cpu:1",
                                        "/replica:1",     "/job:localhost/device:CPU:*",
                                        "/device:*"};
    for (size_t i = 0; i < sizeof parts / sizeof *parts; i++) {
      g = TF_NewGraph();
      c = tg_ph(g, TF_FLOAT, "c", NULL, -2);
      run(parts[i], on("Neg", "n", parts[i], c, NULL), soft);
      TF_DeleteGraph(g);
    }
    tr_case("references");
    g = TF_NewGraph();
    v1 = on("VariableV2", "ref", "/device:CPU:1", NULL, NULL);
    run("identity elsewhere", on("IsVariableInitialized", "n", "/device:CPU:2", v1, NULL), soft);
    TF_DeleteGraph(g);
  }
  tg_end();
  return 0;
}
