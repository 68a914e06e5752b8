/* Functions that fill a TF_Buffer, given one that is not empty; and what TF_Buffer itself does. */
#include "tensorflow/c/c_api_experimental.h"
#include "transcript_graph.h"

static int freed;
static void count(void *data, size_t n) {
  (void)data;
  (void)n;
  ++freed;
}

static TF_Buffer *taken(void) {
  return TF_NewBufferFromString("old", 3);
}
static void kept(TF_Buffer *b, const char *what) {
  tr_status(what, st);
  printf("  %zu %.*s\n", b->length, (int)(b->length < 3 ? b->length : 3),
         b->data && b->length == 3 ? (const char *)b->data : "");
  TF_SetStatus(st, TF_OK, "");
  TF_DeleteBuffer(b);
}

int main(void) {
  tg_begin();
  TF_Graph *g = TF_NewGraph();
  TF_Operation *p = tg_ph(g, TF_FLOAT, "p", NULL, -1);
  TF_Operation *n = tg_op(g, "Neg", "n", 1, p);
  tr_case("filling a buffer that is not empty");
  TF_Buffer *b = taken();
  TF_GraphToGraphDef(g, b, st);
  kept(b, "graph def");
  b = taken();
  TF_GraphGetOpDef(g, "Neg", b, st);
  kept(b, "op def");
  b = taken();
  TF_GraphGetOpDef(g, "NoSuch", b, st);
  kept(b, "op def of nothing");
  b = taken();
  TF_GraphVersions(g, b, st);
  kept(b, "versions");
  b = taken();
  TF_OperationToNodeDef(n, b, st);
  kept(b, "node def");
  b = taken();
  TF_OperationGetAttrTensorShapeProto(p, "shape", b, st);
  kept(b, "shape proto");
  b = taken();
  TF_OperationGetAttrValueProto(p, "dtype", b, st);
  kept(b, "value proto");
  TF_Output in = tg_out(p, 0), out = tg_out(n, 0);
  TF_Function *f = TF_GraphToFunction(g, "F", 0, -1, NULL, 1, &in, 1, &out, NULL, NULL, NULL, st);
  b = taken();
  TF_FunctionToFunctionDef(f, b, st);
  kept(b, "function def");
  TF_FunctionSetAttrValueProto(f, "a", "\x18\x05", 2, st);
  b = taken();
  TF_FunctionGetAttrValueProto(f, "a", b, st);
  kept(b, "function attr");
  b = taken();
  TF_FunctionGetAttrValueProto(f, "none", b, st);
  kept(b, "function attr that is not there");
  TF_Session *s = tg_session(g);
  TF_Tensor *iv = tr_f32(1), *ov = NULL;
  b = taken();
  TF_SessionRun(s, NULL, &in, &iv, 1, &out, &ov, 1, NULL, 0, b, st);
  if (TF_GetCode(st) == TF_OK) TF_DeleteTensor(ov);
  kept(b, "run metadata");
  TF_DeleteTensor(iv);
  tg_close(s);
  TF_DeleteFunction(f);

  tr_case("the same buffer twice");
  b = TF_NewBuffer();
  printf("empty %d %zu %d\n", b->data == NULL, b->length, b->data_deallocator == NULL);
  TF_OperationToNodeDef(n, b, st);
  tr_status("first", st);
  size_t len = b->length;
  TF_OperationToNodeDef(n, b, st);
  tr_status("second", st);
  printf("same length %d\n", len == b->length);
  TF_DeleteBuffer(b);

  tr_case("buffers");
  b = TF_NewBufferFromString(NULL, 0);
  printf("%zu %d\n", b->length, b->data_deallocator != NULL);
  TF_DeleteBuffer(b);
  b = TF_NewBufferFromString("a\0b", 3);
  TF_Buffer c = TF_GetBuffer(b);
  printf("%zu %d %d\n", c.length, c.data == b->data, memcmp(c.data, "a\0b", 3) == 0);
  TF_DeleteBuffer(b);
  b = TF_NewBuffer();
  b->data = "static";
  b->length = 6;
  b->data_deallocator = count;
  TF_DeleteBuffer(b);
  printf("freed %d\n", freed);
  b = TF_NewBuffer();
  b->data_deallocator = count;
  TF_DeleteBuffer(b);
  printf("freed %d\n", freed);
  TF_DeleteBuffer(NULL);

  tr_case("api defs");
  TF_Buffer *ops = TF_GetAllOpList();
  printf("op list %d\n", ops->length > 100000);
  TF_ApiDefMap *m = TF_NewApiDefMap(ops, st);
  tr_status("map", st);
  static const char *const texts[] = {
      "op: <\n graph_op_name: \"Neg\"\n summary: \"less\"\n>\n",
      "op { graph_op_name: \"NoSuchOp\" summary: \"x\" }",
      "op: <\n graph_op_name: \"Neg\"\n in_arg: <\n name: \"x\"\n description: \"what\"\n >\n>\n",
      "op: <\n graph_op_name: \"Neg\"\n in_arg: <\n name: \"zz\"\n >\n>\n",
      "nonsense",
      "op: < graph_op_name: ",
      ""};
  for (size_t i = 0; i < sizeof texts / sizeof texts[0]; ++i) {
    TF_ApiDefMapPut(m, texts[i], strlen(texts[i]), st);
    char w[16];
    snprintf(w, sizeof w, "put %zu", i);
    printf("%s: %s\n", w,
           tr_code_name(TF_GetCode(st))); /* where a text is wrong is said by each in its way */
    TF_SetStatus(st, TF_OK, "");
  }
  b = TF_ApiDefMapGet(m, "Neg", 3, st);
  tr_status("get", st);
  if (b) {
    tr_dump("ApiDef", b->data, b->length, 2);
    TF_DeleteBuffer(b);
  }
  TF_ApiDefMapPut(m, texts[0], strlen(texts[0]), st);
  tr_status("put after get", st);
  TF_SetStatus(st, TF_OK, "");
  b = TF_ApiDefMapGet(m, "NoSuchOp", 8, st);
  tr_status("get of nothing", st);
  printf("null %d\n", b == NULL);
  TF_DeleteApiDefMap(m);
  TF_DeleteBuffer(ops);
  b = TF_NewBufferFromString("\xff\xff", 2);
  m = TF_NewApiDefMap(b, st);
  tr_status("map of bad bytes", st);
  printf("null %d\n", m == NULL);
  if (m) TF_DeleteApiDefMap(m);
  TF_DeleteBuffer(b);

  tr_case("debug strings");
  size_t dl = 0;
  const char *ds = TF_GraphDebugString(g, &dl);
  printf("length agrees %d, names p %d\n", strlen(ds) == dl, strstr(ds, "\"p\"") != NULL);
  free((void *)(uintptr_t)ds);
  TF_DeleteGraph(g);
  tg_end();
  return 0;
}
