/* TF_GraphImportGraphDef* with its options combined, and GraphDefs as other tools write them. */
#include "tensorflow/c/c_api_experimental.h"
#include "transcript_graph.h"

/* One node of a GraphDef: inputs separated by blanks; `extra` is appended raw. */
static void node(tr_pb *gd, const char *name, const char *op, const char *inputs,
                 const char *device, tr_pb *extra) {
  tr_pb n = {0};
  if (name) tr_pb_str(&n, 1, name);
  if (op) tr_pb_str(&n, 2, op);
  while (*inputs) {
    size_t k = strcspn(inputs, " ");
    tr_pb_bytes(&n, 3, inputs, k);
    inputs += k;
    if (*inputs) ++inputs;
  }
  if (device) tr_pb_str(&n, 4, device);
  if (extra) {
    tr_pb_raw(&n, extra->data, extra->len);
    tr_pb_free(extra);
  }
  tr_pb_msg(gd, 1, &n);
}
static void attr_msg(tr_pb *to, const char *name, tr_pb *value) {
  tr_pb e = {0};
  tr_pb_str(&e, 1, name);
  tr_pb_msg(&e, 2, value);
  tr_pb_msg(to, 5, &e);
}
static tr_pb *a_type(tr_pb *to, const char *name, int type) {
  tr_pb v = {0};
  tr_pb_int(&v, 6, type);
  attr_msg(to, name, &v);
  return to;
}
static tr_pb *a_str(tr_pb *to, const char *name, const char *s) {
  tr_pb v = {0};
  tr_pb_str(&v, 2, s);
  attr_msg(to, name, &v);
  return to;
}
static tr_pb *a_int(tr_pb *to, const char *name, int64_t i) {
  tr_pb v = {0};
  tr_pb_int(&v, 3, i);
  attr_msg(to, name, &v);
  return to;
}
static tr_pb *a_strs(tr_pb *to, const char *name, const char *s) {
  tr_pb v = {0}, l = {0};
  tr_pb_str(&l, 2, s);
  tr_pb_msg(&v, 1, &l);
  attr_msg(to, name, &v);
  return to;
}
/* list(shape) of one shape with one dim */
static tr_pb *a_shapes(tr_pb *to, const char *name, int64_t dim) {
  tr_pb v = {0}, l = {0}, s = {0}, d = {0};
  tr_pb_int(&d, 1, dim);
  tr_pb_msg(&s, 2, &d);
  tr_pb_msg(&l, 7, &s);
  tr_pb_msg(&v, 1, &l);
  attr_msg(to, name, &v);
  return to;
}
static tr_pb *a_float_value(tr_pb *to, float f) {
  tr_pb v = {0}, t = {0};
  tr_pb_int(&t, 1, 1);
  tr_pb_bytes(&t, 2, "", 0);
  tr_pb_f32(&t, 5, f);
  tr_pb_msg(&v, 8, &t);
  attr_msg(to, "value", &v);
  return to;
}

static bool import(TF_Graph *g, tr_pb *gd, TF_ImportGraphDefOptions *o, const char *what) {
  TF_Buffer *b = TF_NewBufferFromString(gd->data, gd->len);
  TF_ImportGraphDefResults *r = TF_GraphImportGraphDefWithResults(g, b, o, st);
  bool ok = tr_status(what, st);
  if (ok) {
    int n;
    TF_Output *out;
    TF_Operation **ops;
    const char **names;
    int *idx;
    TF_ImportGraphDefResultsReturnOutputs(r, &n, &out);
    for (int i = 0; i < n; ++i)
      printf("  returned %s:%d\n", TF_OperationName(out[i].oper), out[i].index);
    TF_ImportGraphDefResultsReturnOperations(r, &n, &ops);
    for (int i = 0; i < n; ++i) printf("  returned %s\n", TF_OperationName(ops[i]));
    TF_ImportGraphDefResultsMissingUnusedInputMappings(r, &n, &names, &idx);
    printf("  missing %d\n", n);
    if (n == 1) printf("  missing %s:%d\n", names[0], idx[0]);
    TF_DeleteImportGraphDefResults(r);
  } else {
    printf("  results %d\n", r != NULL);
  }
  TF_DeleteBuffer(b);
  TF_SetStatus(st, TF_OK, "");
  return ok;
}

/* a, b placeholders; s = a + b; t = Neg(s), after ^a; u = NoOp after ^t */
static void sample(tr_pb *gd) {
  tr_pb x = {0};
  node(gd, "a", "Placeholder", "", NULL, a_type(&x, "dtype", 1));
  node(gd, "b", "Placeholder", "", "/device:CPU:0", a_type(&x, "dtype", 1));
  node(gd, "s", "AddV2", "a b:0", NULL, a_type(&x, "T", 1));
  node(gd, "t", "Neg", "s ^a", NULL, a_type(&x, "T", 1));
  node(gd, "u", "NoOp", "^t", NULL, NULL);
}

static void combined(void) {
  tr_pb gd = {0};
  sample(&gd);
  TF_Graph *g = TF_NewGraph();
  TF_Operation *m = tg_cf(g, 1, "m"), *k = tg_cf(g, 2, "k");
  tg_cf(g, 3, "s");
  tr_case("prefix, map, control and return together");
  TF_ImportGraphDefOptions *o = TF_NewImportGraphDefOptions();
  TF_ImportGraphDefOptionsSetPrefix(o, "in");
  TF_ImportGraphDefOptionsAddInputMapping(o, "a", 0, tg_out(m, 0));
  TF_ImportGraphDefOptionsRemapControlDependency(o, "a", k);
  TF_ImportGraphDefOptionsAddControlDependency(o, m);
  TF_ImportGraphDefOptionsAddReturnOutput(o, "t", 0);
  TF_ImportGraphDefOptionsAddReturnOutput(o, "a", 0);
  TF_ImportGraphDefOptionsAddReturnOutput(o, "s", 0);
  TF_ImportGraphDefOptionsAddReturnOperation(o, "u");
  TF_ImportGraphDefOptionsAddReturnOperation(o, "a");
  TF_ImportGraphDefOptionsSetDefaultDevice(o, "/device:CPU:3");
  printf("%d %d\n", TF_ImportGraphDefOptionsNumReturnOutputs(o),
         TF_ImportGraphDefOptionsNumReturnOperations(o));
  import(g, &gd, o, "import");
  tg_nodes(g);
  import(g, &gd, o, "the same again");
  TF_ImportGraphDefOptionsSetUniquifyPrefix(o, 1);
  import(g, &gd, o, "with a unique prefix");
  TF_DeleteImportGraphDefOptions(o);
  tr_case("unique names");
  o = TF_NewImportGraphDefOptions();
  TF_ImportGraphDefOptionsSetUniquifyNames(o, 1);
  TF_ImportGraphDefOptionsAddReturnOutput(o, "s", 0);
  TF_ImportGraphDefOptionsAddReturnOperation(o, "s");
  import(g, &gd, o, "first");
  import(g, &gd, o, "second");
  TF_ImportGraphDefOptionsSetUniquifyNames(o, 0);
  import(g, &gd, o, "names taken");
  TF_ImportGraphDefOptionsSetUniquifyPrefix(o, 1);
  import(g, &gd, o, "prefix without prefix");
  TF_DeleteImportGraphDefOptions(o);
  tg_nodes(g);
  tr_case("mappings that say nothing or too much");
  o = TF_NewImportGraphDefOptions();
  TF_ImportGraphDefOptionsSetPrefix(o, "x1");
  TF_ImportGraphDefOptionsAddInputMapping(o, "zz", 0, tg_out(m, 0));
  import(g, &gd, o, "unknown node");
  TF_DeleteImportGraphDefOptions(o);
  o = TF_NewImportGraphDefOptions();
  TF_ImportGraphDefOptionsSetPrefix(o, "x2");
  TF_ImportGraphDefOptionsAddInputMapping(o, "a", 0, tg_out(m, 0));
  TF_ImportGraphDefOptionsAddInputMapping(o, "a", 0, tg_out(k, 0));
  import(g, &gd, o, "mapped twice");
  TF_DeleteImportGraphDefOptions(o);
  o = TF_NewImportGraphDefOptions();
  TF_ImportGraphDefOptionsSetPrefix(o, "x3");
  TF_ImportGraphDefOptionsAddInputMapping(o, "t", 0, tg_out(m, 0));
  import(g, &gd, o, "output that nobody reads");
  TF_DeleteImportGraphDefOptions(o);
  o = TF_NewImportGraphDefOptions();
  TF_ImportGraphDefOptionsSetPrefix(o, "x4");
  TF_ImportGraphDefOptionsRemapControlDependency(o, "nobody", k);
  import(g, &gd, o, "control of an unknown node");
  TF_DeleteImportGraphDefOptions(o);
  o = TF_NewImportGraphDefOptions();
  TF_ImportGraphDefOptionsSetPrefix(o, "x5");
  TF_ImportGraphDefOptionsAddReturnOutput(o, "t", 1);
  import(g, &gd, o, "return index");
  TF_DeleteImportGraphDefOptions(o);
  o = TF_NewImportGraphDefOptions();
  TF_ImportGraphDefOptionsSetPrefix(o, "x6");
  TF_ImportGraphDefOptionsAddReturnOutput(o, "u", 0);
  import(g, &gd, o, "return of a NoOp");
  TF_DeleteImportGraphDefOptions(o);
  o = TF_NewImportGraphDefOptions();
  TF_ImportGraphDefOptionsSetPrefix(o, "");
  import(g, &gd, o, "empty prefix");
  TF_DeleteImportGraphDefOptions(o);
  o = TF_NewImportGraphDefOptions();
  TF_ImportGraphDefOptionsSetPrefix(o, "a//b");
  import(g, &gd, o, "two slashes");
  TF_DeleteImportGraphDefOptions(o);
  TF_DeleteGraph(g);
  tr_pb_free(&gd);
}

static void odd(const char *what, tr_pb *gd) {
  TF_Graph *g = TF_NewGraph();
  TF_ImportGraphDefOptions *o = TF_NewImportGraphDefOptions();
  import(g, gd, o, what);
  tg_nodes(g);
  TF_DeleteImportGraphDefOptions(o);
  TF_DeleteGraph(g);
  tr_pb_free(gd);
}

static void odd_graphs(void) {
  tr_pb gd = {0}, x = {0};
  tr_case("odd graphs");
  node(&gd, "a", "Placeholder", "", NULL, a_type(a_str(&x, "color", "red"), "dtype", 1));
  odd("attribute the op does not have", &gd);
  node(&gd, "a", "Placeholder", "", NULL, a_type(a_str(&x, "_color", "red"), "dtype", 1));
  odd("private attribute", &gd);
  node(&gd, "a", "Placeholder", "", NULL, a_int(&x, "dtype", 1));
  odd("attribute of another kind", &gd);
  node(&gd, "a", "Placeholder", "", NULL, NULL);
  odd("attribute missing", &gd);
  node(&gd, NULL, "NoOp", "", NULL, NULL);
  odd("no name", &gd);
  node(&gd, "a", NULL, "", NULL, NULL);
  odd("no op", &gd);
  node(&gd, "a", "NoOp", "^a", NULL, NULL);
  odd("control on itself", &gd);
  node(&gd, "a", "Neg", "a", NULL, a_type(&x, "T", 1));
  odd("input from itself", &gd);
  node(&gd, "a", "NoOp", "^b ^b", NULL, NULL);
  node(&gd, "b", "NoOp", "", NULL, NULL);
  odd("the same control twice", &gd);
  node(&gd, "a", "NoOp", "b", NULL, NULL);
  node(&gd, "b", "Const", "", NULL, a_float_value(a_type(&x, "dtype", 1), 2));
  odd("NoOp with an input", &gd);
  node(&gd, "a", "Const", "^", NULL, a_float_value(a_type(&x, "dtype", 1), 2));
  odd("lone caret", &gd);
  node(&gd, "c", "Const", "", NULL, a_float_value(a_type(&x, "dtype", 1), 2));
  node(&gd, "a", "Neg", "", NULL, a_type(&x, "T", 1));
  odd("input missing", &gd);
  node(&gd, "c", "Const", "", NULL, a_float_value(a_type(&x, "dtype", 1), 2));
  node(&gd, "a", "Neg", "c:0:0", NULL, a_type(&x, "T", 1));
  odd("two colons", &gd);
  node(&gd, "c", "Const", "", NULL, a_float_value(a_type(&x, "dtype", 1), 2));
  node(&gd, "a", "Neg", "c:00", NULL, a_type(&x, "T", 1));
  odd("index 00", &gd);
  node(&gd, "c", "Const", "", NULL, a_float_value(a_type(&x, "dtype", 1), 2));
  node(&gd, "a", "Neg", "c", NULL, a_type(&x, "T", 3));
  odd("declared int32, given float", &gd);
  node(&gd, "c", "Const", "", NULL, a_float_value(a_type(&x, "dtype", 3), 2));
  odd("a Const whose value is of another type", &gd);
  node(&gd, "p", "Placeholder", "", NULL, a_shapes(a_type(&x, "dtype", 1), "_output_shapes", 5));
  odd("_output_shapes", &gd);
  node(&gd, "c", "Const", "", NULL,
       a_shapes(a_float_value(a_type(&x, "dtype", 1), 2), "_output_shapes", 5));
  odd("_output_shapes that contradict", &gd);
  node(&gd, "c", "Const", "", NULL,
       a_strs(a_float_value(a_type(&x, "dtype", 1), 2), "_class", "loc:@zz"));
  odd("colocated with nobody", &gd);
  node(&gd, "c", "Const", "", NULL,
       a_strs(a_float_value(a_type(&x, "dtype", 1), 2), "_class", "loc:@c"));
  odd("colocated with itself", &gd);
  node(&gd, "c", "Const", "", NULL,
       a_strs(a_float_value(a_type(&x, "dtype", 1), 2), "_class", "zz"));
  odd("a class that is no location", &gd);
  node(&gd, "v", "VariableV2", "", NULL, a_type(&x, "dtype", 1));
  odd("variable without a shape", &gd);
  node(&gd, "n", "AddV2", "p p", NULL, NULL);
  node(&gd, "p", "Placeholder", "", NULL, a_type(&x, "dtype", 1));
  odd("T missing though inputs tell it", &gd);
  node(&gd, "l", "NextIteration", "m", NULL, a_type(&x, "T", 1));
  node(&gd, "c", "Const", "", NULL, a_float_value(a_type(&x, "dtype", 1), 2));
  node(&gd, "m", "Merge", "c l", NULL, a_int(a_type(&x, "T", 1), "N", 2));
  odd("a loop through Merge and NextIteration", &gd);
  node(&gd, "l", "Identity", "m", NULL, a_type(&x, "T", 1));
  node(&gd, "c", "Const", "", NULL, a_float_value(a_type(&x, "dtype", 1), 2));
  node(&gd, "m", "Merge", "c l", NULL, a_int(a_type(&x, "T", 1), "N", 2));
  odd("a loop through Merge without NextIteration", &gd);
}

static void colocation(void) {
  tr_case("validate colocation constraints");
  for (int validate = 0; validate < 2; ++validate) {
    tr_pb gd = {0}, x = {0};
    node(&gd, "c", "Const", "", NULL,
         a_strs(a_float_value(a_type(&x, "dtype", 1), 2), "_class", "loc:@zz"));
    TF_Graph *g = TF_NewGraph();
    TF_ImportGraphDefOptions *o = TF_NewImportGraphDefOptions();
    TF_ImportGraphDefOptionsSetValidateColocationConstraints(o, (unsigned char)validate);
    TF_ImportGraphDefOptionsSetPrefix(o, "p");
    import(g, &gd, o, validate ? "checked" : "not checked");
    TF_Operation *c = TF_GraphOperationByName(g, "p/c");
    if (c) {
      TF_Buffer *b = TF_NewBuffer();
      TF_OperationToNodeDef(c, b, st);
      tr_dump_buffer("NodeDef", b);
      TF_DeleteBuffer(b);
    }
    TF_DeleteImportGraphDefOptions(o);
    TF_DeleteGraph(g);
    tr_pb_free(&gd);
  }
  tr_case("names follow the prefix inside colocations");
  tr_pb gd = {0}, x = {0};
  node(&gd, "c", "Const", "", NULL, a_float_value(a_type(&x, "dtype", 1), 2));
  node(&gd, "d", "Identity", "c", NULL, a_strs(a_type(&x, "T", 1), "_class", "loc:@c"));
  TF_Graph *g = TF_NewGraph();
  tg_cf(g, 1, "c");
  TF_ImportGraphDefOptions *o = TF_NewImportGraphDefOptions();
  TF_ImportGraphDefOptionsSetUniquifyNames(o, 1);
  import(g, &gd, o, "unique");
  TF_ImportGraphDefOptionsSetPrefix(o, "pre");
  import(g, &gd, o, "prefixed");
  const char *const names[] = {"d", "pre/d"};
  for (int i = 0; i < 2; ++i) {
    TF_Operation *d = TF_GraphOperationByName(g, names[i]);
    TF_Buffer *b = TF_NewBuffer();
    TF_OperationToNodeDef(d, b, st);
    tr_dump_buffer("NodeDef", b);
    TF_DeleteBuffer(b);
  }
  TF_DeleteImportGraphDefOptions(o);
  TF_DeleteGraph(g);
  tr_pb_free(&gd);
}

static void libraries(void) {
  tr_case("libraries");
  /* F(x: float) -> y: float { n = Neg(x) }; y = n:y:0 */
  for (int kind = 0; kind < 7; ++kind) {
    tr_pb gd = {0}, lib = {0}, f = {0}, sig = {0}, arg = {0}, x = {0}, nd = {0}, ret = {0};
    tr_pb_str(&sig, 1, kind == 1 ? "" : "F");
    tr_pb_str(&arg, 1, "x");
    tr_pb_int(&arg, 3, 1);
    tr_pb_msg(&sig, 2, &arg);
    tr_pb_str(&arg, 1, "y");
    tr_pb_int(&arg, 3, 1);
    tr_pb_msg(&sig, 3, &arg);
    tr_pb_msg(&f, 1, &sig);
    tr_pb_str(&nd, 1, "n");
    tr_pb_str(&nd, 2, kind == 2 ? "NoSuchOp" : "Neg");
    tr_pb_str(&nd, 3, kind == 3 ? "zz" : "x");
    a_type(&x, "T", 1);
    tr_pb_raw(&nd, x.data, x.len);
    tr_pb_free(&x);
    tr_pb_msg(&f, 3, &nd);
    tr_pb_str(&ret, 1, "y");
    tr_pb_str(&ret, 2, kind == 4 ? "n:zz:0" : kind == 5 ? "q:y:0" : "n:y:0");
    if (kind != 6) tr_pb_msg(&f, 4, &ret);
    tr_pb_free(&ret);
    tr_pb_msg(&lib, 1, &f);
    tr_pb_msg(&gd, 2, &lib);
    node(&gd, "c", "Const", "", NULL, a_float_value(a_type(&x, "dtype", 1), 2));
    node(&gd, "call", kind == 1 ? "Identity" : "F", "c", NULL,
         kind == 1 ? a_type(&x, "T", 1) : NULL);
    static const char *const what[] = {"good",          "no name",        "unknown op",
                                       "unknown input", "unknown output", "unknown node",
                                       "no return"};
    TF_Graph *g = TF_NewGraph();
    TF_ImportGraphDefOptions *o = TF_NewImportGraphDefOptions();
    if (import(g, &gd, o, what[kind])) printf("  functions %d\n", TF_GraphNumFunctions(g));
    TF_Operation *call = TF_GraphOperationByName(g, "call");
    if (call && kind == 0) {
      TF_Session *s = tg_session(g);
      tg_fetch(s, "  run", call);
      tg_close(s);
    }
    import(g, &gd, o, "again");
    TF_ImportGraphDefOptionsSetPrefix(o, "p");
    if (import(g, &gd, o, "again with a prefix"))
      printf("  functions %d\n", TF_GraphNumFunctions(g));
    TF_DeleteImportGraphDefOptions(o);
    TF_DeleteGraph(g);
    tr_pb_free(&gd);
  }
}

static void versions(void) {
  tr_case("versions");
  static const struct {
    const char *what;
    int producer, consumer, bad;
  } k[] = {{"none", -1, -1, -1},       {"old producer", 1, 0, -1},
           {"current", 2000, 12, -1},  {"consumer ahead", 10, 99999, -1},
           {"bad consumer", 30, 0, 1}, {"negative", -5, 0, -1}};
  for (size_t i = 0; i < sizeof k / sizeof k[0]; ++i) {
    tr_pb gd = {0}, v = {0}, x = {0};
    node(&gd, "c", "Const", "", NULL, a_float_value(a_type(&x, "dtype", 1), 2));
    if (k[i].producer != -1) tr_pb_int(&v, 1, k[i].producer);
    if (k[i].consumer != -1) tr_pb_int(&v, 2, k[i].consumer);
    if (k[i].bad != -1) tr_pb_int(&v, 3, k[i].bad);
    tr_pb_msg(&gd, 4, &v);
    TF_Graph *g = TF_NewGraph();
    TF_ImportGraphDefOptions *o = TF_NewImportGraphDefOptions();
    import(g, &gd, o, k[i].what);
    TF_Buffer *b = TF_NewBuffer();
    TF_GraphVersions(g, b, st);
    if (i > 0 && i < 2) tr_dump("Versions", b->data, b->length, 2);
    TF_DeleteBuffer(b);
    TF_DeleteImportGraphDefOptions(o);
    TF_DeleteGraph(g);
    tr_pb_free(&gd);
  }
}

int main(void) {
  tg_begin();
  combined();
  odd_graphs();
  colocation();
  libraries();
  versions();
  tg_end();
  return 0;
}
