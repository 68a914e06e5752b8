/* TF_GraphImportGraphDef: options, results, naming and error texts. */
#include "tensorflow/c/c_api_experimental.h"
#include "transcript_graph.h"

static TF_Graph *g;
static TF_ImportGraphDefOptions *o;

static const char *label(TF_Operation *op) {
  return op ? TF_OperationName(op) : "null";
}

/* ---- GraphDef writer ---- */
static void attr_type(tr_pb *n, const char *key, int type) {
  tr_pb e = {0}, v = {0};
  tr_pb_int(&v, 6, type);
  tr_pb_str(&e, 1, key);
  tr_pb_msg(&e, 2, &v);
  tr_pb_msg(n, 5, &e);
}
static void attr_class(tr_pb *n, const char *loc) {
  tr_pb e = {0}, v = {0}, l = {0};
  tr_pb_str(&l, 2, loc);
  tr_pb_msg(&v, 1, &l);
  tr_pb_str(&e, 1, "_class");
  tr_pb_msg(&e, 2, &v);
  tr_pb_msg(n, 5, &e);
}
/* A float node: op with inputs in a comma separated list. */
static void add(tr_pb *gd, const char *name, const char *op, const char *in, int type,
                const char *dev) {
  tr_pb n = {0};
  tr_pb_str(&n, 1, name);
  tr_pb_str(&n, 2, op);
  while (in && *in) {
    const char *e = strchr(in, ',');
    size_t k = e ? (size_t)(e - in) : strlen(in);
    tr_pb_bytes(&n, 3, in, k);
    in += k + (e ? 1 : 0);
  }
  if (dev) tr_pb_str(&n, 4, dev);
  if (type > 0) attr_type(&n, strcmp(op, "Placeholder") ? "T" : "dtype", type);
  if (type == -1) attr_class(&n, "loc:@a");
  if (type == -2) attr_class(&n, "loc:@nowhere");
  if (type < 0) attr_type(&n, strcmp(op, "Placeholder") ? "T" : "dtype", 1);
  tr_pb_msg(gd, 1, &n);
}
static void version(tr_pb *gd, int producer, int min_consumer, int bad) {
  tr_pb v = {0};
  if (producer) tr_pb_int(&v, 1, producer);
  if (min_consumer) tr_pb_int(&v, 2, min_consumer);
  if (bad) tr_pb_int(&v, 3, bad);
  tr_pb_msg(gd, 4, &v);
}
static void import(const char *what, tr_pb *gd) {
  TF_Buffer *b = TF_NewBufferFromString(gd->data ? (const void *)gd->data : "", gd->len);
  TF_GraphImportGraphDef(g, b, o, st);
  tr_status(what, st);
  TF_DeleteBuffer(b);
  tr_pb_free(gd);
}
static TF_ImportGraphDefResults *import_keep(const char *what, const tr_pb *gd) {
  TF_Buffer *b = TF_NewBufferFromString(gd->data, gd->len);
  TF_ImportGraphDefResults *r = TF_GraphImportGraphDefWithResults(g, b, o, st);
  tr_status(what, st);
  TF_DeleteBuffer(b);
  return r;
}
static void fresh(const char *name) {
  tr_case(name);
  if (g) TF_DeleteGraph(g);
  g = TF_NewGraph();
  if (o) TF_DeleteImportGraphDefOptions(o);
  o = TF_NewImportGraphDefOptions();
}
static void results(TF_ImportGraphDefResults *r) {
  if (r == NULL) {
    puts("no results");
    return;
  }
  int n = 0, *idx = NULL;
  TF_Output *out = NULL;
  TF_Operation **ops = NULL;
  const char **names = NULL;
  TF_ImportGraphDefResultsReturnOutputs(r, &n, &out);
  printf("outputs %d:", n);
  for (int i = 0; i < n; ++i) printf(" %s:%d", label(out[i].oper), out[i].index);
  TF_ImportGraphDefResultsReturnOperations(r, &n, &ops);
  printf(" operations %d:", n);
  for (int i = 0; i < n; ++i) printf(" %s", label(ops[i]));
  TF_ImportGraphDefResultsMissingUnusedInputMappings(r, &n, &names, &idx);
  printf(" unused %d:", n);
  for (int i = 0; i < n; ++i) printf(" %s:%d", names[i], idx[i]);
  puts("");
  TF_DeleteImportGraphDefResults(r);
}

static tr_pb sample(void) {
  tr_pb gd = {0};
  add(&gd, "a", "Placeholder", "", 1, NULL);
  add(&gd, "b", "Neg", "a", 1, "/device:CPU:0");
  add(&gd, "c", "AddV2", "a,b:0", 1, NULL);
  add(&gd, "d", "NoOp", "^c,^a", 0, NULL);
  version(&gd, 1000, 0, 0);
  return gd;
}

static void naming(void) {
  tr_pb s = sample();
  fresh("plain import");
  TF_DeleteImportGraphDefResults(import_keep("import", &s));
  tg_nodes(g);
  tr_case("import twice");
  TF_DeleteImportGraphDefResults(import_keep("again", &s));
  tg_nodes(g);
  tr_case("prefix");
  TF_ImportGraphDefOptionsSetPrefix(o, "pre");
  results(import_keep("prefix", &s));
  tg_nodes(g);
  results(import_keep("same prefix", &s));
  tr_case("uniquify prefix");
  TF_ImportGraphDefOptionsSetUniquifyPrefix(o, 1);
  results(import_keep("pre again", &s));
  tg_nodes(g);
  tr_case("prefix with slash");
  TF_ImportGraphDefOptionsSetPrefix(o, "sl/");
  results(import_keep("slash", &s));
  tr_case("bad prefix");
  TF_ImportGraphDefOptionsSetPrefix(o, "bad prefix");
  results(import_keep("space", &s));
  TF_ImportGraphDefOptionsSetPrefix(o, "_u");
  results(import_keep("underscore", &s));
  fresh("uniquify names");
  tg_cf(g, 1, "a");
  tg_cf(g, 1, "b_1");
  TF_ImportGraphDefOptionsSetUniquifyNames(o, 1);
  TF_ImportGraphDefOptionsAddReturnOutput(o, "c", 0);
  TF_ImportGraphDefOptionsAddReturnOperation(o, "b");
  results(import_keep("one", &s));
  results(import_keep("two", &s));
  tg_nodes(g);
  fresh("default device");
  TF_ImportGraphDefOptionsSetDefaultDevice(o, "/device:CPU:1");
  TF_DeleteImportGraphDefResults(import_keep("import", &s));
  tg_nodes(g);
  fresh("prefix and existing op of the prefix name");
  tg_cf(g, 1, "pre");
  TF_ImportGraphDefOptionsSetPrefix(o, "pre");
  results(import_keep("import", &s));
  tr_pb_free(&s);
}

static void options(void) {
  tr_pb s = sample();
  fresh("return outputs and operations");
  TF_ImportGraphDefOptionsAddReturnOutput(o, "b", 0);
  TF_ImportGraphDefOptionsAddReturnOutput(o, "a", 0);
  TF_ImportGraphDefOptionsAddReturnOperation(o, "d");
  TF_ImportGraphDefOptionsAddReturnOperation(o, "c");
  printf("%d %d\n", TF_ImportGraphDefOptionsNumReturnOutputs(o),
         TF_ImportGraphDefOptionsNumReturnOperations(o));
  results(import_keep("import", &s));
  fresh("return errors");
  TF_ImportGraphDefOptionsAddReturnOutput(o, "zz", 0);
  results(import_keep("output of unknown node", &s));
  fresh("return errors 2");
  TF_ImportGraphDefOptionsAddReturnOutput(o, "b", 3);
  results(import_keep("bad index", &s));
  fresh("return errors 3");
  TF_ImportGraphDefOptionsAddReturnOperation(o, "zz");
  results(import_keep("unknown operation", &s));
  printf("graph has a: %d\n", TF_GraphOperationByName(g, "a") != NULL);
  fresh("import with return outputs");
  TF_ImportGraphDefOptionsAddReturnOutput(o, "c", 0);
  TF_Output out[2];
  TF_Buffer *b = TF_NewBufferFromString(s.data, s.len);
  TF_GraphImportGraphDefWithReturnOutputs(g, b, o, out, 1, st);
  if (tr_status("one", st)) printf("%s:%d\n", label(out[0].oper), out[0].index);
  TF_GraphImportGraphDefWithReturnOutputs(g, b, o, out, 2, st);
  tr_status("wrong count", st);
  TF_GraphImportGraphDef(g, b, o, st);
  tr_status("plain with return outputs set", st);
  TF_DeleteBuffer(b);
  fresh("input map");
  TF_Operation *x = tg_ph(g, TF_FLOAT, "x", NULL, -1);
  TF_ImportGraphDefOptionsSetPrefix(o, "imp");
  TF_ImportGraphDefOptionsAddInputMapping(o, "a", 0, tg_out(x, 0));
  TF_ImportGraphDefOptionsAddReturnOutput(o, "a", 0);
  TF_ImportGraphDefOptionsAddReturnOutput(o, "b", 0);
  results(import_keep("map a", &s));
  tg_nodes(g);
  fresh("input map unused and missing");
  x = tg_ph(g, TF_FLOAT, "x", NULL, -1);
  TF_ImportGraphDefOptionsSetPrefix(o, "imp");
  TF_ImportGraphDefOptionsAddInputMapping(o, "zz", 0, tg_out(x, 0));
  TF_ImportGraphDefOptionsAddInputMapping(o, "c", 0, tg_out(x, 0));
  results(import_keep("map", &s));
  tg_nodes(g);
  fresh("input map of an output that does not exist");
  x = tg_ph(g, TF_FLOAT, "x", NULL, -1);
  TF_ImportGraphDefOptionsSetPrefix(o, "imp");
  TF_ImportGraphDefOptionsAddInputMapping(o, "b", 7, tg_out(x, 0));
  results(import_keep("map", &s));
  fresh("input map type mismatch");
  x = tg_ci(g, 1, "x");
  TF_ImportGraphDefOptionsSetPrefix(o, "imp");
  TF_ImportGraphDefOptionsAddInputMapping(o, "a", 0, tg_out(x, 0));
  results(import_keep("int for float", &s));
  fresh("input map bad index");
  x = tg_cf(g, 1, "x");
  TF_ImportGraphDefOptionsSetPrefix(o, "imp");
  TF_ImportGraphDefOptionsAddInputMapping(o, "a", 0, tg_out(x, 4));
  results(import_keep("index 4", &s));
  fresh("control dependencies");
  x = tg_cf(g, 1, "x");
  TF_Operation *y = tg_cf(g, 2, "y");
  TF_ImportGraphDefOptionsAddControlDependency(o, x);
  TF_ImportGraphDefOptionsAddControlDependency(o, y);
  results(import_keep("import", &s));
  tg_nodes(g);
  fresh("remap control dependency");
  x = tg_cf(g, 1, "x");
  TF_ImportGraphDefOptionsSetPrefix(o, "imp");
  TF_ImportGraphDefOptionsRemapControlDependency(o, "c", x);
  results(import_keep("import", &s));
  tg_nodes(g);
  fresh("all together");
  x = tg_cf(g, 1, "x");
  y = tg_op(g, "NoOp", "y", 0);
  TF_ImportGraphDefOptionsSetPrefix(o, "imp");
  TF_ImportGraphDefOptionsAddInputMapping(o, "a", 0, tg_out(x, 0));
  TF_ImportGraphDefOptionsAddControlDependency(o, y);
  results(import_keep("import", &s));
  tg_nodes(g);
  tr_pb_free(&s);
}

static void malformed(void) {
  tr_pb d = {0};
  fresh("empty graph def");
  import("empty", &d);
  tr_case("bad bytes");
  tr_pb_raw(&d, "\xff\xff\xff", 3);
  import("bytes", &d);
  tr_case("truncated");
  tr_pb_raw(&d, "\x0a\x05\x0a", 3);
  import("bytes", &d);
  fresh("unknown op");
  add(&d, "u", "NoSuchOp", "", 0, NULL);
  import("import", &d);
  fresh("duplicate node");
  add(&d, "u", "NoOp", "", 0, NULL);
  add(&d, "u", "NoOp", "", 0, NULL);
  import("import", &d);
  fresh("missing input node");
  add(&d, "u", "Neg", "zz", 1, NULL);
  import("import", &d);
  fresh("missing control input node");
  add(&d, "u", "NoOp", "^zz", 0, NULL);
  import("import", &d);
  fresh("cycle");
  add(&d, "u", "Neg", "v", 1, NULL);
  add(&d, "v", "Neg", "u", 1, NULL);
  import("import", &d);
  printf("u %d\n", TF_GraphOperationByName(g, "u") != NULL);
  fresh("bad slot");
  add(&d, "a", "Placeholder", "", 1, NULL);
  add(&d, "u", "Neg", "a:3", 1, NULL);
  import("import", &d);
  printf("a %d\n", TF_GraphOperationByName(g, "a") != NULL);
  fresh("bad input syntax");
  add(&d, "a", "Placeholder", "", 1, NULL);
  add(&d, "u", "Neg", "a:x", 1, NULL);
  import("a:x", &d);
  add(&d, "a", "Placeholder", "", 1, NULL);
  add(&d, "u", "Neg", "a:-1", 1, NULL);
  import("a:-1", &d);
  add(&d, "a", "Placeholder", "", 1, NULL);
  add(&d, "u", "NoOp", "^a:0", 0, NULL);
  import("^a:0", &d);
  fresh("control before data");
  add(&d, "a", "Placeholder", "", 1, NULL);
  add(&d, "u", "Neg", "^a,a", 1, NULL);
  import("import", &d);
  fresh("type mismatch");
  add(&d, "a", "Placeholder", "", 3, NULL);
  add(&d, "u", "Neg", "a", 1, NULL);
  import("import", &d);
  fresh("too few and too many inputs");
  add(&d, "a", "Placeholder", "", 1, NULL);
  add(&d, "u", "AddV2", "a", 1, NULL);
  import("few", &d);
  add(&d, "a", "Placeholder", "", 1, NULL);
  add(&d, "u", "Neg", "a,a", 1, NULL);
  import("many", &d);
  fresh("missing attr");
  add(&d, "a", "Placeholder", "", 0, NULL);
  import("import", &d);
  fresh("invalid attr value");
  add(&d, "a", "Placeholder", "", 10, NULL);
  add(&d, "u", "Neg", "a", 10, NULL);
  import("Neg of bool", &d);
  fresh("invalid names");
  add(&d, "", "NoOp", "", 0, NULL);
  import("empty", &d);
  add(&d, "a b", "NoOp", "", 0, NULL);
  import("space", &d);
  add(&d, "_u", "NoOp", "", 0, NULL);
  import("underscore", &d);
  add(&d, "ok/name.x-y>z_", "NoOp", "", 0, NULL);
  import("fine", &d);
  fresh("invalid device");
  add(&d, "a", "NoOp", "", 0, "nonsense");
  import("import", &d);
  if (TF_GraphOperationByName(g, "a")) tg_nodes(g);
  fresh("shape error");
  add(&d, "a", "Placeholder", "", 1, NULL);
  add(&d, "s", "Shape", "a", 1, NULL);
  add(&d, "u", "MatMul", "a,s", 1, NULL);
  import("import", &d);
  fresh("nodes out of order");
  add(&d, "u", "Neg", "a", 1, NULL);
  add(&d, "a", "Placeholder", "", 1, NULL);
  import("import", &d);
  tg_nodes(g);
  fresh("versions");
  version(&d, 1, 0, 0);
  import("producer 1", &d);
  version(&d, 1000, 99999, 0);
  import("min_consumer 99999", &d);
  version(&d, -1, 0, 0);
  import("producer -1", &d);
  version(&d, 99999, 0, 0);
  import("producer 99999", &d);
  version(&d, 1000, 12, 0);
  import("min_consumer 12", &d);
  TF_Buffer *b = TF_NewBuffer();
  TF_GraphVersions(g, b, st);
  tr_dump_buffer("VersionDef", b);
  TF_DeleteBuffer(b);
  fresh("no version");
  add(&d, "a", "Placeholder", "", 1, NULL);
  import("import", &d);
  fresh("colocation");
  add(&d, "a", "Placeholder", "", 1, NULL);
  add(&d, "u", "Neg", "a", -1, NULL);
  TF_ImportGraphDefOptionsSetPrefix(o, "imp");
  import("loc:@a", &d);
  TF_Operation *u = TF_GraphOperationByName(g, "imp/u");
  char buf[32];
  void *p[1];
  size_t l[1];
  if (u) {
    TF_OperationGetAttrStringList(u, "_class", p, l, 1, buf, 32, st);
    printf("%.*s\n", (int)l[0], (char *)p[0]);
  }
  fresh("colocation with unknown node");
  add(&d, "a", "Placeholder", "", 1, NULL);
  add(&d, "u", "Neg", "a", -2, NULL);
  import("loc:@nowhere", &d);
  TF_ImportGraphDefOptionsSetValidateColocationConstraints(o, 0);
  add(&d, "a", "Placeholder", "", 1, NULL);
  add(&d, "u", "Neg", "a", -2, NULL);
  import("not validated", &d);
}

int main(void) {
  tg_begin();
  naming();
  options();
  malformed();
  TF_DeleteGraph(g);
  TF_DeleteImportGraphDefOptions(o);
  tg_end();
  return 0;
}
