/* Attributes whose value is a placeholder: in a graph, in the functions made of it, and in functions that
   come as bytes; calls that bind them and calls that do not. */
#include "tensorflow/c/eager/c_api.h"
#include "transcript_graph.h"

static void show(TF_Function *f, const char *what) {
  if (!tr_status(what, st)) return;
  TF_Buffer *b = TF_NewBuffer();
  TF_FunctionToFunctionDef(f, b, st);
  tr_dump("FunctionDef", b->data, b->length, 2);
  TF_DeleteBuffer(b);
}

/* key: value of a map field */
static void entry(tr_pb *b, int field, const char *key, tr_pb *value) {
  tr_pb e = {0};
  tr_pb_str(&e, 1, key);
  tr_pb_msg(&e, 2, value);
  tr_pb_msg(b, field, &e);
}
static void arg(tr_pb *sig, int field, const char *name, const char *attr) {
  tr_pb a = {0};
  tr_pb_str(&a, 1, name);
  tr_pb_str(&a, 4, attr);
  tr_pb_msg(sig, field, &a);
}

/* NAME(x: T) -> y: T = OP(x), whose attribute T is the placeholder. */
static TF_Function *unary(const char *name, const char *op, const char *placeholder) {
  tr_pb f = {0}, sig = {0}, node = {0}, v = {0}, ret = {0}, a = {0};
  tr_pb_str(&sig, 1, name);
  arg(&sig, 2, "x", "T");
  arg(&sig, 3, "y", "T");
  tr_pb_str(&a, 1, "T");
  tr_pb_str(&a, 2, "type");
  tr_pb_msg(&sig, 4, &a);
  tr_pb_msg(&f, 1, &sig);
  tr_pb_str(&node, 1, "n");
  tr_pb_str(&node, 2, op);
  tr_pb_str(&node, 3, "x");
  tr_pb_str(&v, 9, placeholder);
  entry(&node, 5, "T", &v);
  tr_pb_msg(&f, 3, &node);
  tr_pb_str(&ret, 1, "y");
  tr_pb_str(&ret, 2, "n:y:0");
  tr_pb_msg(&f, 4, &ret);
  TF_Function *r = TF_FunctionImportFunctionDef(f.data, f.len, st);
  tr_status(name, st);
  tr_pb_free(&f);
  return r;
}

static void call(TF_Graph *g, TF_Session *s, const char *type, const char *name, TF_Operation *x,
                 TF_DataType t) {
  TF_OperationDescription *d = tg_desc(g, type, name, 1, x);
  if (t) TF_SetAttrType(d, "T", t);
  TF_Operation *op = tg_finish_show(d, name);
  if (!op) return;
  printf("  type %s\n", tr_dtype_name((int)TF_OperationOutputType(tg_out(op, 0))));
  tg_shape(g, "  ", tg_out(op, 0));
  tg_fetch(s, "  run", op);
}

/* PartitionedCall of F with its attribute T bound, or not; in a graph of its own. */
static void by_name(const TF_Function *f, const char *name, int t) {
  TF_Graph *g = TF_NewGraph();
  TF_GraphCopyFunction(g, f, NULL, st);
  TF_OperationDescription *d = TF_NewOperation(g, "PartitionedCall", name);
  TF_Output in = tg_out(tg_cf(g, 3, "x"), 0);
  TF_AddInputList(d, &in, 1);
  TF_DataType out = TF_FLOAT;
  TF_SetAttrTypeList(d, "Tout", &out, 1);
  tr_pb v = {0}, list = {0}, ty = {0};
  tr_pb_str(&list, 1, TF_FunctionName((TF_Function *)(uintptr_t)f));
  tr_pb_int(&ty, 6, t);
  if (t) entry(&list, 2, "T", &ty);
  tr_pb_msg(&v, 10, &list);
  TF_SetAttrValueProto(d, "f", v.data, v.len, st);
  tr_pb_free(&v);
  tr_pb_free(&ty);
  TF_Operation *op = tg_finish_show(d, name);
  if (op) {
    tg_shape(g, "  ", tg_out(op, 0));
    TF_Session *s = tg_session(g);
    tg_fetch(s, "  run", op);
    tg_close(s);
  }
  TF_DeleteGraph(g);
}

static void in_a_graph(void) {
  tr_case("in a graph");
  TF_Graph *g = TF_NewGraph();
  TF_Operation *p = tg_ph(g, TF_FLOAT, "p", NULL, -2);
  TF_OperationDescription *d = tg_desc(g, "LeakyRelu", "leaky", 1, p);
  TF_SetAttrPlaceholder(d, "alpha", "a");
  TF_Operation *leaky = tg_finish_show(d, "float attribute");
  d = tg_desc(g, "Cast", "cast", 1, p);
  TF_SetAttrPlaceholder(d, "DstT", "To");
  TF_Operation *cast = tg_finish_show(d, "type of an output");
  d = tg_desc(g, "Squeeze", "squeeze", 1, p);
  TF_SetAttrPlaceholder(d, "squeeze_dims", "dims");
  TF_Operation *squeeze = tg_finish_show(d, "list");
  d = tg_desc(g, "Neg", "under", 1, p);
  TF_SetAttrPlaceholder(d, "_own", "own");
  TF_Operation *under = tg_finish_show(d, "undeclared");
  d = TF_NewOperation(g, "Placeholder", "shaped");
  TF_SetAttrType(d, "dtype", TF_FLOAT);
  TF_SetAttrPlaceholder(d, "shape", "S");
  TF_Operation *shaped = tg_finish_show(d, "shape");
  d = TF_NewOperation(g, "Const", "const");
  TF_SetAttrType(d, "dtype", TF_FLOAT);
  TF_SetAttrPlaceholder(d, "value", "V");
  tg_finish_show(d, "tensor");
  d = TF_NewOperation(g, "PartitionedCall", "call");
  TF_AddInputList(d, NULL, 0);
  TF_SetAttrTypeList(d, "Tout", NULL, 0);
  TF_SetAttrPlaceholder(d, "f", "F");
  tg_finish_show(d, "function");
  d = tg_desc(g, "Pack", "pack", 0);
  TF_Output two[2] = {tg_out(p, 0), tg_out(p, 0)};
  TF_AddInputList(d, two, 2);
  TF_SetAttrPlaceholder(d, "axis", "A");
  tg_finish_show(d, "int");
  d = TF_NewOperation(g, "Split", "split");
  TF_AddInput(d, tg_out(tg_ci(g, 0, "zero"), 0));
  TF_AddInput(d, tg_out(p, 0));
  TF_SetAttrPlaceholder(d, "num_split", "N");
  tg_finish_show(d, "number of outputs");
  d = tg_desc(g, "Neg", "empty", 1, p);
  TF_SetAttrPlaceholder(d, "T", "");
  tg_finish_show(d, "T twice, once inferred");
  TF_SetStatus(st, TF_OK, "");
  if (leaky) {
    TF_AttrMetadata m = TF_OperationGetAttrMetadata(leaky, "alpha", st);
    if (tr_status("metadata", st))
      printf("list %d size %d type %d total %d\n", m.is_list, (int)m.list_size, (int)m.type,
             (int)m.total_size);
    float v = 7;
    TF_OperationGetAttrFloat(leaky, "alpha", &v, st);
    tr_status("as float", st);
    TF_Buffer *b = TF_NewBuffer();
    TF_OperationGetAttrValueProto(leaky, "alpha", b, st);
    if (tr_status("as proto", st)) tr_dump_buffer("AttrValue", b);
    TF_DeleteBuffer(b);
    TF_Session *s = tg_session(g);
    tg_fetch1(s, "run", p, tr_f32(-1), leaky);
    tg_close(s);
  }
  tr_case("functions made of it");
  TF_Operation *all[] = {leaky, cast, squeeze, under, shaped};
  const char *names[] = {"leaky", "cast", "squeeze", "under", "shaped"};
  TF_Output p0 = tg_out(p, 0);
  for (int i = 0; i < 5; i++) {
    if (!all[i]) continue;
    TF_Output o = tg_out(all[i], 0);
    const TF_Operation *body[1] = {all[i]};
    TF_Function *f =
        TF_GraphToFunction(g, names[i], 0, 1, body, i < 4, &p0, 1, &o, NULL, NULL, NULL, st);
    show(f, names[i]);
    if (f) TF_DeleteFunction(f);
  }
  if (leaky) {
    TF_Output o = tg_out(leaky, 0);
    const TF_Operation *body[1] = {leaky};
    TF_Function *f =
        TF_GraphToFunction(g, "Leaky", 0, 1, body, 1, &p0, 1, &o, NULL, NULL, NULL, st);
    TF_Graph *h = TF_NewGraph();
    TF_GraphCopyFunction(h, f, NULL, st);
    tr_status("copy", st);
    TF_Operation *c = tg_cf(h, -2, "c");
    d = tg_desc(h, "Leaky", "bound", 1, c);
    TF_SetAttrFloat(d, "a", 0.5f);
    TF_Operation *bound = tg_finish_show(d, "bound");
    TF_Session *s = tg_session(h);
    if (bound) tg_fetch(s, "run", bound);
    TF_Operation *left = tg_op_show(h, "Leaky", "left", 1, c);
    if (left) tg_fetch(s, "run", left);
    d = tg_desc(h, "Leaky", "kind", 1, c);
    TF_SetAttrInt(d, "a", 1);
    tg_finish_show(d, "of another kind");
    tg_close(s);
    TF_DeleteFunction(f);
    TF_DeleteGraph(h);
  }
  TF_DeleteGraph(g);
}

int main(void) {
  tg_begin();
  in_a_graph();
  tr_case("functions from bytes");
  TF_Graph *g = TF_NewGraph();
  TF_Function *f[4] = {unary("Generic", "Neg", "T"), unary("Loose", "Neg", "U"),
                       unary("Outer", "Generic", "T"), unary("Nowhere", "NoSuchOp", "T")};
  for (int i = 0; i < 4; i++) {
    if (!f[i]) continue;
    TF_GraphCopyFunction(g, f[i], NULL, st);
    tr_status("copy", st);
  }
  TF_Operation *x = tg_cf(g, 3, "x"), *i = tg_ci(g, 4, "i");
  TF_Session *s = tg_session(g);
  tr_case("calls");
  call(g, s, "Generic", "inferred", x, 0);
  call(g, s, "Generic", "said", i, TF_INT32);
  call(g, s, "Generic", "disagrees", i, TF_FLOAT);
  call(g, s, "Loose", "loose", x, 0);
  call(g, s, "Outer", "outer", x, 0);
  call(g, s, "Nowhere", "nowhere", x, 0);
  tr_case("by name");
  by_name(f[0], "pc/bound", TF_FLOAT);
  by_name(f[0], "pc/unbound", 0);
  by_name(f[0], "pc/other", TF_INT32);
  by_name(f[1], "pc/loose", TF_FLOAT);
  by_name(f[2], "pc/bytes", TF_FLOAT);
  tg_close(s);
  TF_DeleteGraph(g);
  tr_case("eagerly");
  TFE_ContextOptions *co = TFE_NewContextOptions();
  TFE_Context *c = TFE_NewContext(co, st);
  TFE_DeleteContextOptions(co);
  for (int k = 0; k < 3; k++) {
    if (!f[k]) continue;
    TFE_ContextAddFunction(c, f[k], st);
    tr_status("add", st);
  }
  TF_Tensor *t = tr_f32(5);
  TFE_TensorHandle *h = TFE_NewTensorHandle(t, st);
  for (int k = 0; k < 3; k++) {
    TFE_Op *op = TFE_NewOp(c, k < 2 ? "Generic" : "Loose", st);
    TFE_OpAddInput(op, h, st);
    if (k) TFE_OpSetAttrType(op, "T", TF_FLOAT);
    TFE_TensorHandle *out = NULL;
    int n = 1;
    TFE_Execute(op, &out, &n, st);
    if (tr_status(k == 0 ? "T inferred" : k == 1 ? "T said" : "loose", st)) {
      TF_Tensor *r = TFE_TensorHandleResolve(out, st);
      tr_show_free("  out", r);
      TFE_DeleteTensorHandle(out);
    }
    TFE_DeleteOp(op);
  }
  TFE_DeleteTensorHandle(h);
  TF_DeleteTensor(t);
  for (int k = 0; k < 4; k++)
    if (f[k]) TF_DeleteFunction(f[k]);
  TFE_DeleteContext(c);
  tg_end();
  return 0;
}
