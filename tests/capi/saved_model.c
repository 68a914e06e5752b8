/* TF_LoadSessionFromSavedModel: the models of tests/data/zoo, runs, the MetaGraphDef that comes back,
 * and what is said of directories and tags that do not exist. */
#include <sys/stat.h>
#include <unistd.h>

#include "transcript_graph.h"

static char path[1024];

static const char *zoo(const char *name) {
  const char *source = getenv("FERRY_SOURCE");
  snprintf(path, sizeof path, "%s/tests/data/zoo/%s", source ? source : ".", name);
  return path;
}

static TF_Session *load(const char *what, const char *dir, const char *const *tags, int n,
                        TF_Graph *g, TF_Buffer *meta) {
  TF_SessionOptions *o = TF_NewSessionOptions();
  TF_Session *s = TF_LoadSessionFromSavedModel(o, NULL, dir, tags, n, g, meta, st);
  printf("%s: %s%s", what, tr_code_name(TF_GetCode(st)), TF_GetCode(st) ? " " : "\n");
  if (TF_GetCode(st)) { /* the first line, without the directory of the sources */
    const char *text = TF_Message(st), *at = strstr(text, "/tests/data/zoo/");
    const char *source = getenv("FERRY_SOURCE");
    const char *from = at && source ? strstr(text, source) : NULL;
    if (from) printf("%.*s", (int)(from - text), text);
    text = from ? at : text;
    tr_escaped(text, strcspn(text, "\n"));
    puts("");
  }
  TF_DeleteSessionOptions(o);
  return s;
}

static void end(TF_Session *s, TF_Graph *g) {
  if (s) tg_close(s);
  TF_DeleteGraph(g);
}

static TF_Output named(TF_Graph *g, const char *name, int index) {
  TF_Operation *op = TF_GraphOperationByName(g, name);
  if (!op) printf("no %s\n", name);
  return (TF_Output){op, index};
}

static TF_Tensor *f32s(int rank, const int64_t *dims, const float *v) {
  int64_t n = 1;
  for (int i = 0; i < rank; ++i) n *= dims[i];
  TF_Tensor *t = TF_AllocateTensor(TF_FLOAT, dims, rank, (size_t)n * sizeof(float));
  memcpy(TF_TensorData(t), v, (size_t)n * sizeof(float));
  return t;
}

static void module(void) {
  static const char *const serve[] = {"serve"};
  tr_case("a module with several signatures");
  TF_Graph *g = TF_NewGraph();
  TF_Buffer *meta = TF_NewBuffer();
  TF_Session *s = load("load", zoo("several_signatures"), serve, 1, g, meta);
  printf("meta graph: %d\n", meta->length > 10000);
  TF_Output in = named(g, "step_by", 0), out = named(g, "StatefulPartitionedCall_1", 0);
  for (int i = 0; i < 3 && in.oper && out.oper; ++i) {
    int64_t by = 2;
    TF_Tensor *t = TF_AllocateTensor(TF_INT64, NULL, 0, 8), *r = NULL;
    memcpy(TF_TensorData(t), &by, 8);
    TF_SessionRun(s, NULL, &in, &t, 1, &out, &r, 1, NULL, 0, NULL, st);
    tr_status("step", st);
    if (r) printf("  count %d\n", (int)*(int64_t *)TF_TensorData(r));
    TF_DeleteTensor(t);
    if (r) TF_DeleteTensor(r);
  }
  TF_DeleteBuffer(meta);
  tr_case("the graph is taken");
  TF_Session *again = load("load", zoo("mlp"), serve, 1, g, NULL);
  printf("session %d\n", again != NULL);
  end(s, g);
}

static void old(void) {
  static const char *const serve[] = {"serve"};
  tr_case("TensorFlow 1: a while loop");
  TF_Graph *g = TF_NewGraph();
  TF_Session *s = load("load", zoo("tf1_while"), serve, 1, g, NULL);
  TF_Output in[2] = {named(g, "x", 0), named(g, "n", 0)}, out = named(g, "while/Exit", 0);
  for (int n = 0; n < 3 && s; ++n) {
    TF_Tensor *feed[2] = {f32s(2, (int64_t[]){1, 4}, (float[]){1, 2, 3, 4}), tr_i32(n)}, *r = NULL;
    TF_SessionRun(s, NULL, in, feed, 2, &out, &r, 1, NULL, 0, NULL, st);
    tr_status("run", st);
    if (r) printf("  steps %d\n", *(int *)TF_TensorData(r));
    TF_DeleteTensor(feed[0]);
    TF_DeleteTensor(feed[1]);
    if (r) TF_DeleteTensor(r);
  }
  end(s, g);
}

static void tags(void) {
  static const char *const none[] = {NULL}, *const serve[] = {"serve"},
                           *const both[] = {"serve", "gpu", "serve"}, *const other[] = {"b", "a"};
  tr_case("tags");
  for (int i = 0; i < 4; ++i) {
    TF_Graph *g = TF_NewGraph();
    TF_Session *s = load(i == 0   ? "none"
                         : i == 1 ? "serve"
                         : i == 2 ? "serve and gpu"
                                  : "others",
                         zoo("text_pb"),
                         i == 0   ? none
                         : i == 1 ? serve
                         : i == 2 ? both
                                  : other,
                         i == 0   ? 0
                         : i == 1 ? 1
                         : i == 2 ? 3
                                  : 2,
                         g, NULL);
    size_t pos = 0;
    printf("  session %d, nodes %d\n", s != NULL, TF_GraphNextOperation(g, &pos) != NULL);
    end(s, g);
  }
}

static void bad(void) {
  static const char *const serve[] = {"serve"};
  tr_case("no such directory");
  TF_Graph *g = TF_NewGraph();
  load("load", "/nowhere/at/all", serve, 1, g, NULL);
  tr_case("an empty one");
  mkdir("empty", 0700);
  load("load", "empty", serve, 1, g, NULL);
  tr_case("no message");
  mkdir("garbage", 0700);
  FILE *f = fopen("garbage/saved_model.pb", "wb");
  fputs("this is no SavedModel", f);
  fclose(f);
  load("load", "garbage", serve, 1, g, NULL);
  tr_case("no text message");
  mkdir("text", 0700);
  f = fopen("text/saved_model.pbtxt", "wb");
  fputs("meta_graphs { nothing: 1 }", f);
  fclose(f);
  load("load", "text", serve, 1, g, NULL);
  tr_case("the graph is still empty");
  size_t pos = 0;
  printf("%d\n", TF_GraphNextOperation(g, &pos) != NULL);
  TF_Session *s = load("load", zoo("mlp"), serve, 1, g, NULL);
  end(s, g);
}

int main(void) {
  tg_begin();
  module();
  old();
  tags();
  bad();
  tg_end();
  return 0;
}
