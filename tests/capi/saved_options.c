/* TF_LoadSessionFromSavedModel with options: configs, run options, tags in any order, graphs that are in use,
   what the MetaGraphDef says, two sessions of one model. */
#include "transcript_graph.h"

static char dir[4096];

static TF_Session *load(const char *what, const TF_SessionOptions *o, const TF_Buffer *ro,
                        const char *const *tags, int n, TF_Graph *g, TF_Buffer *meta) {
  TF_Session *s = TF_LoadSessionFromSavedModel(o, ro, dir, tags, n, g, meta, st);
  tr_status(what, st);
  printf("  session %d\n", s != NULL);
  return s;
}
static void drop(TF_Session *s) {
  if (s) tg_close(s);
}

int main(void) {
  tg_begin();
  const char *source = getenv("FERRY_SOURCE");
  snprintf(dir, sizeof dir, "%s/examples/models/half_plus_two", source ? source : ".");
  const char *serve[] = {"serve"}, *more[] = {"serve", "gpu"}, *twice[] = {"serve", "serve"};
  TF_SessionOptions *o = TF_NewSessionOptions();
  tr_case("tags");
  TF_Graph *g = TF_NewGraph();
  drop(load("serve", o, NULL, serve, 1, g, NULL));
  TF_DeleteGraph(g);
  g = TF_NewGraph();
  drop(load("one too many", o, NULL, more, 2, g, NULL));
  drop(load("none", o, NULL, serve, 0, g, NULL));
  drop(load("the same twice", o, NULL, twice, 2, g, NULL));
  printf("operations %d\n", TF_GraphOperationByName(g, "x") != NULL);
  TF_DeleteGraph(g);
  tr_case("run options");
  tr_pb ro = {0};
  tr_pb_int(&ro, 2, 60000);
  TF_Buffer *b = TF_NewBufferFromString(ro.data, ro.len);
  g = TF_NewGraph();
  drop(load("a timeout", o, b, serve, 1, g, NULL));
  TF_DeleteGraph(g);
  TF_DeleteBuffer(b);
  b = TF_NewBufferFromString("\x12", 1);
  g = TF_NewGraph();
  drop(load("nonsense", o, b, serve, 1, g, NULL));
  TF_DeleteGraph(g);
  TF_DeleteBuffer(b);
  tr_pb_free(&ro);
  tr_case("config");
  tr_pb c = {0}, e = {0};
  tr_pb_str(&e, 1, "CPU");
  tr_pb_int(&e, 2, 2);
  tr_pb_msg(&c, 1, &e);
  TF_SetConfig(o, c.data, c.len, st);
  g = TF_NewGraph();
  TF_Session *s = load("two CPUs", o, NULL, serve, 1, g, NULL);
  if (s) {
    TF_DeviceList *l = TF_SessionListDevices(s, st);
    printf("  devices %d\n", TF_DeviceListCount(l));
    TF_DeleteDeviceList(l);
  }
  drop(s);
  TF_DeleteGraph(g);
  tr_pb_free(&c);
  TF_SetTarget(o, "nowhere");
  g = TF_NewGraph();
  drop(load("a target that is none", o, NULL, serve, 1, g, NULL));
  TF_DeleteGraph(g);
  TF_SetTarget(o, "");
  tr_case("the graph");
  g = TF_NewGraph();
  TF_Operation *mine = tg_cf(g, 4, "mine");
  s = load("with something in it", o, NULL, serve, 1, g, NULL);
  if (s) tg_fetch(s, "what was there", mine);
  drop(s);
  s = load("a second time", o, NULL, serve, 1, g, NULL);
  drop(s);
  TF_DeleteGraph(g);
  tr_case("two at once");
  TF_Graph *g2 = TF_NewGraph();
  g = TF_NewGraph();
  TF_Buffer *m = TF_NewBuffer(), *full = TF_NewBufferFromString("abc", 3);
  TF_Session *a = load("one", o, NULL, serve, 1, g, m),
             *z = load("two", o, NULL, serve, 1, g2, NULL);
  printf("meta %d\n", m->length > 0);
  TF_Operation *x = NULL, *y = NULL;
  size_t pos = 0;
  for (TF_Operation *op; (op = TF_GraphNextOperation(g, &pos));) {
    if (strcmp(TF_OperationOpType(op), "Placeholder") == 0 &&
        TF_OperationOutputType(tg_out(op, 0)) == TF_FLOAT)
      x = op;
    if (strcmp(TF_OperationOpType(op), "StatefulPartitionedCall") == 0 && !y) y = op;
  }
  printf("placeholder %d call %d\n", x != NULL, y != NULL);
  drop(a);
  drop(z);
  TF_DeleteGraph(g2);
  TF_DeleteGraph(g);
  g = TF_NewGraph();
  drop(load("a buffer that is not empty", o, NULL, serve, 1, g, full));
  TF_DeleteBuffer(full);
  TF_DeleteBuffer(m);
  TF_DeleteGraph(g);
  TF_DeleteSessionOptions(o);
  tg_end();
  return 0;
}
