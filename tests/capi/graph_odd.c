/* Odd names, shapes, attributes and orders while building a graph. */
#include "transcript_graph.h"

static void show_def(TF_Operation *op) {
  TF_Buffer *b = TF_NewBuffer();
  TF_OperationToNodeDef(op, b, st);
  if (tr_status("node def", st)) tr_dump_buffer("NodeDef", b);
  TF_DeleteBuffer(b);
}

static void name_case(const char *name) {
  TF_Graph *g = TF_NewGraph();
  TF_Operation *op = tg_cf(g, 1, name);
  if (op) {
    printf("name ");
    tr_escaped(TF_OperationName(op), strlen(TF_OperationName(op)));
    printf(" found %d\n", TF_GraphOperationByName(g, name) == op);
    TF_Session *s = tg_session(g);
    if (s) {
      tg_fetch(s, "run", op);
      tg_close(s);
    }
  }
  TF_DeleteGraph(g);
}

static void shape_case(const int64_t *dims, int n) {
  TF_Graph *g = TF_NewGraph();
  TF_OperationDescription *d = TF_NewOperation(g, "Placeholder", "p");
  TF_SetAttrType(d, "dtype", TF_FLOAT);
  TF_SetAttrShape(d, "shape", dims, n);
  TF_Operation *p = tg_finish_show(d, "placeholder");
  if (p) {
    tg_shape(g, "p", tg_out(p, 0));
    TF_Operation *neg = tg_op_show(g, "Neg", "n", 1, p);
    if (neg) tg_shape(g, "n", tg_out(neg, 0));
    TF_Operation *mm = tg_op_show(g, "Mul", "m", 2, p, p);
    if (mm) tg_shape(g, "m", tg_out(mm, 0));
    TF_Operation *size = tg_op_show(g, "Size", "size", 1, p);
    TF_Tensor *t = NULL;
    if (size) {
      TF_Output o = tg_out(size, 0);
      unsigned char known = TF_TryEvaluateConstant(g, o, &t, st);
      tr_status("evaluate", st);
      printf("known %d\n", known);
      if (known) tr_show_free("size", t);
    }
  }
  TF_DeleteGraph(g);
}

static void tensor_shapes(void) {
  tr_case("shape set by hand");
  TF_Graph *g = TF_NewGraph();
  TF_Operation *p = tg_ph(g, TF_FLOAT, "p", NULL, -1);
  TF_Output o = tg_out(p, 0);
  int64_t a[2] = {-1, 3}, b[2] = {2, -1}, c[2] = {5, 3}, d3[3] = {1, 1, 1};
  int64_t big[2] = {INT64_MAX, 4};
  TF_GraphSetTensorShape(g, o, a, 2, st);
  tr_status("[?,3]", st);
  TF_GraphSetTensorShape(g, o, b, 2, st);
  tr_status("[2,?]", st);
  tg_shape(g, "p", o);
  TF_GraphSetTensorShape(g, o, c, 2, st);
  tr_status("[5,3]", st);
  TF_GraphSetTensorShape(g, o, d3, 3, st);
  tr_status("[1,1,1]", st);
  TF_GraphSetTensorShape(g, o, NULL, -1, st);
  tr_status("unknown rank", st);
  tg_shape(g, "p", o);
  TF_Operation *q = tg_ph(g, TF_FLOAT, "r", NULL, -1);
  TF_GraphSetTensorShape(g, tg_out(q, 0), big, 2, st);
  tr_status("[max,4]", st);
  tg_shape(g, "r", tg_out(q, 0));
  TF_GraphSetTensorShape(g, tg_out(q, 3), big, 2, st);
  tr_status("output 3", st);
  int64_t room[2];
  TF_GraphGetTensorShape(g, o, room, 1, st);
  tr_status("too little room", st);
  TF_GraphGetTensorShape(g, o, room, 5, st);
  tr_status("too much room", st);
  TF_DeleteGraph(g);
}

static void constants(void) {
  tr_case("constants of every kind");
  TF_Graph *g = TF_NewGraph();
  int64_t d0[1] = {0}, d22[2] = {2, 2};
  const char *strings[4] = {"", "a", "b\0c", "a long string that does not fit in a small one"};
  TF_Operation *ops[4];
  ops[0] = tg_const(g, tr_tensor(TF_FLOAT, d0, 1, NULL), "empty");
  ops[1] = tg_const(g, tr_strings(d22, 2, strings), "strings");
  ops[2] = tg_const(g, tr_bool(true), "bool");
  double z[2] = {1.5, -2};
  ops[3] = tg_const(g, tr_tensor(TF_COMPLEX128, NULL, 0, z), "complex");
  TF_Session *s = tg_session(g);
  for (int i = 0; i < 4; i++) {
    show_def(ops[i]);
    tg_fetch(s, "run", ops[i]);
  }
  tg_close(s);
  TF_DeleteGraph(g);
}

static void lists(void) {
  tr_case("list inputs: empty, nested, too short");
  TF_Graph *g = TF_NewGraph();
  TF_Operation *a = tg_cf(g, 1, "a"), *b = tg_cf(g, 2, "b"), *i = tg_ci(g, 0, "i");
  TF_Output ab[3] = {tg_out(a, 0), tg_out(b, 0), tg_out(i, 0)};
  TF_OperationDescription *d = TF_NewOperation(g, "AddN", "none");
  TF_AddInputList(d, ab, 0);
  tg_finish_show(d, "AddN of nothing");
  d = TF_NewOperation(g, "AddN", "one");
  TF_AddInputList(d, ab, 1);
  TF_Operation *one = tg_finish_show(d, "AddN of one");
  d = TF_NewOperation(g, "AddN", "mixed");
  TF_AddInputList(d, ab, 3);
  tg_finish_show(d, "AddN of two types");
  d = TF_NewOperation(g, "IdentityN", "idn");
  TF_AddInputList(d, ab, 3);
  TF_Operation *idn = tg_finish_show(d, "IdentityN");
  d = TF_NewOperation(g, "IdentityN", "idn0");
  TF_AddInputList(d, ab, 0);
  tg_finish_show(d, "IdentityN of nothing");
  d = TF_NewOperation(g, "ConcatV2", "cat");
  TF_AddInputList(d, ab, 1);
  TF_AddInput(d, ab[2]);
  tg_finish_show(d, "ConcatV2 of one");
  d = TF_NewOperation(g, "Pack", "pack");
  TF_AddInputList(d, ab, 2);
  TF_SetAttrInt(d, "N", 3);
  tg_finish_show(d, "Pack with N=3 of 2");
  d = TF_NewOperation(g, "Pack", "pack2");
  TF_AddInputList(d, ab, 2);
  TF_SetAttrInt(d, "axis", 5);
  tg_finish_show(d, "Pack axis 5");
  if (idn) {
    printf("length %d\n", TF_OperationInputListLength(idn, "input", st));
    tr_status("input", st);
    TF_OperationInputListLength(idn, "nope", st);
    tr_status("nope", st);
    printf("length %d\n", TF_OperationOutputListLength(idn, "output", st));
    TF_OperationOutputListLength(idn, "input", st);
    tr_status("output named input", st);
  }
  if (one) {
    TF_Session *s = tg_session(g);
    tg_fetch(s, "one", one);
    tg_close(s);
  }
  TF_DeleteGraph(g);
}

static void attributes(void) {
  tr_case("attribute values at their edges");
  TF_Graph *g = TF_NewGraph();
  TF_Operation *p = tg_ph(g, TF_FLOAT, "p", NULL, -1);
  TF_OperationDescription *d = tg_desc(g, "Identity", "s", 1, p);
  TF_SetAttrString(d, "_s", "a\0b\xff", 4);
  TF_SetAttrString(d, "_empty", NULL, 0);
  TF_SetAttrInt(d, "_min", INT64_MIN);
  TF_SetAttrFloat(d, "_nan", __builtin_nanf(""));
  TF_SetAttrFloat(d, "_inf", -__builtin_inff());
  TF_SetAttrBool(d, "_b", 7);
  TF_SetAttrType(d, "_t", (TF_DataType)999);
  TF_SetAttrIntList(d, "_il", NULL, 0);
  TF_SetAttrFuncName(d, "_f", "some function", 13);
  TF_SetAttrPlaceholder(d, "_ph", "later");
  int64_t dims[2] = {-1, 5};
  TF_SetAttrShape(d, "_sh", dims, 2);
  TF_SetAttrShape(d, "_unknown", NULL, -1);
  TF_Operation *op = tg_finish_show(d, "identity");
  if (op) {
    show_def(op);
    printf("attrs %d\n", TF_OperationGetNumAttrs(op));
    static const char *const names[] = {"_s", "_empty", "_min", "_nan", "_b",
                                        "_t", "_f",     "_ph",  "_sh",  "_unknown"};
    for (size_t i = 0; i < sizeof names / sizeof *names; i++) {
      TF_AttrMetadata m = TF_OperationGetAttrMetadata(op, names[i], st);
      if (tr_status(names[i], st))
        printf("  list %d size %d type %d total %d\n", m.is_list, (int)m.list_size, (int)m.type,
               (int)m.total_size);
    }
  }
  TF_DeleteGraph(g);
}

static void colliding(void) {
  tr_case("names that collide or nest");
  TF_Graph *g = TF_NewGraph();
  tg_cf(g, 1, "a");
  TF_OperationDescription *d = TF_NewOperation(g, "NoOp", "a");
  TF_Operation *op = tg_finish_show(d, "a again");
  d = TF_NewOperation(g, "NoOp", "A");
  tg_finish_show(d, "A");
  d = TF_NewOperation(g, "NoOp", "a/b");
  tg_finish_show(d, "a/b");
  d = TF_NewOperation(g, "NoOp", "a/");
  op = tg_finish_show(d, "a/");
  (void)op;
  printf("by name: %d %d %d\n", TF_GraphOperationByName(g, "a") != NULL,
         TF_GraphOperationByName(g, "a:0") != NULL, TF_GraphOperationByName(g, "") != NULL);
  TF_OperationDescription *one = TF_NewOperation(g, "NoOp", "twin");
  TF_OperationDescription *two = TF_NewOperation(g, "NoOp", "twin");
  tg_finish_show(one, "first twin");
  tg_finish_show(two, "second twin");
  TF_DeleteGraph(g);
}

int main(void) {
  tg_begin();
  tr_case("names");
  static const char *const names[] = {"x",  "é",     "日本", "a b", "a.b-c/d\\e", "_x",
                                      ".x", "x:0",   "^x",   "",    "x\ny",       "a//b",
                                      "0",  "while", "/",    "-",   "a>b"};
  for (size_t i = 0; i < sizeof names / sizeof *names; i++) name_case(names[i]);
  tr_case("shapes");
  /* TensorFlow aborts on a shape whose elements cannot be counted. */
  int64_t s2[1] = {-1}, s3[1] = {-2}, s4[2] = {0, INT64_MAX}, s7[1] = {INT64_MAX};
  shape_case(s2, 1);
  shape_case(s3, 1);
  shape_case(s4, 2);
  shape_case(s7, 1);
  tensor_shapes();
  constants();
  lists();
  attributes();
  colliding();
  tg_end();
  return 0;
}
