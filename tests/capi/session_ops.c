/* Common operations computed through a session from constants. */
#include "transcript_graph.h"

static TF_Graph *g;
static int serial;

static const char *nm(void) {
  static char b[8][16];
  char *r = b[serial & 7];
  snprintf(r, 16, "n%d", serial++);
  return r;
}
static TF_Operation *f(int nd, int d0, int d1, ...) {
  float v[32];
  int64_t d[2] = {d0, d1};
  va_list ap;
  va_start(ap, d1);
  for (int64_t i = 0; i < tr_count(d, nd); ++i) v[i] = (float)va_arg(ap, double);
  va_end(ap);
  return tg_const(g, tr_tensor(TF_FLOAT, d, nd, v), nm());
}
static TF_Operation *iv(int n, ...) {
  int32_t v[32];
  va_list ap;
  va_start(ap, n);
  for (int i = 0; i < (n < 0 ? 1 : n); ++i) v[i] = va_arg(ap, int);
  va_end(ap);
  return tg_const(g, tr_vec(TF_INT32, n, v), nm());
}
static TF_Operation *bv(int n, ...) {
  unsigned char v[32];
  va_list ap;
  va_start(ap, n);
  for (int i = 0; i < (n < 0 ? 1 : n); ++i) v[i] = (unsigned char)va_arg(ap, int);
  va_end(ap);
  return tg_const(g, tr_vec(TF_BOOL, n, v), nm());
}

/* Runs one op on a fresh session, grappler-visible as constants. */
static void run(const char *what, TF_OperationDescription *d) {
  TF_Operation *op = TF_FinishOperation(d, st);
  if (TF_GetCode(st) != TF_OK) {
    tr_status(what, st);
    return;
  }
  TF_Session *s = tg_session(g);
  TF_Output o[4];
  int n = TF_OperationNumOutputs(op);
  for (int i = 0; i < n; ++i) o[i] = tg_out(op, i);
  tg_run(s, what, NULL, NULL, 0, o, n, NULL, 0);
  tg_close(s);
}
#define OP(type, ...) tg_desc(g, type, nm(), __VA_ARGS__)

static void arithmetic(void) {
  tr_case("arithmetic");
  TF_Operation *a = f(2, 2, 3, 1., 2., 3., 4., 5., 6.), *b = f(1, 3, 0, 10., 20., -30.);
  TF_Operation *x = iv(4, 7, -7, 7, -7), *y = iv(4, 2, 2, -2, -2);
  run("AddV2", OP("AddV2", 2, a, b));
  run("Add", OP("Add", 2, a, b));
  run("Sub", OP("Sub", 2, a, b));
  run("Mul", OP("Mul", 2, a, b));
  run("RealDiv", OP("RealDiv", 2, a, b));
  run("RealDiv by 0", OP("RealDiv", 2, f(1, 3, 0, 1., -1., 0.), f(0, 0, 0, 0.)));
  run("Neg", OP("Neg", 1, b));
  run("FloorDiv int", OP("FloorDiv", 2, x, y));
  run("Div int", OP("Div", 2, x, y));
  run("TruncateDiv int", OP("TruncateDiv", 2, x, y));
  run("FloorMod int", OP("FloorMod", 2, x, y));
  run("Mod int", OP("Mod", 2, x, y));
  run("FloorDiv float", OP("FloorDiv", 2, a, b));
  run("Maximum", OP("Maximum", 2, a, b));
  run("Minimum", OP("Minimum", 2, a, b));
  run("Pow", OP("Pow", 2, a, f(0, 0, 0, 2.)));
  run("Square", OP("Square", 1, a));
  run("Sqrt", OP("Sqrt", 1, f(1, 3, 0, 4., 2., -1.)));
  run("Exp", OP("Exp", 1, f(1, 3, 0, 0., 1., -1.)));
  run("Log", OP("Log", 1, f(1, 3, 0, 1., 0., -1.)));
  run("Abs", OP("Abs", 1, b));
  run("Sign", OP("Sign", 1, b));
  run("Floor", OP("Floor", 1, f(1, 3, 0, 1.5, -1.5, 2.)));
  run("Round", OP("Round", 1, f(1, 4, 0, 0.5, 1.5, 2.5, -0.5)));
  run("Relu", OP("Relu", 1, b));
  run("Sigmoid", OP("Sigmoid", 1, f(1, 3, 0, 0., 2., -2.)));
  run("Tanh", OP("Tanh", 1, f(1, 3, 0, 0., 2., -2.)));
  TF_OperationDescription *d = TF_NewOperation(g, "AddN", nm());
  TF_Output l[2] = {tg_out(a, 0), tg_out(a, 0)};
  TF_AddInputList(d, l, 2);
  run("AddN", d);
}

static void compare(void) {
  tr_case("comparison and logic");
  TF_Operation *a = f(1, 3, 0, 1., 2., 3.), *b = f(0, 0, 0, 2.);
  run("Less", OP("Less", 2, a, b));
  run("LessEqual", OP("LessEqual", 2, a, b));
  run("Greater", OP("Greater", 2, a, b));
  run("GreaterEqual", OP("GreaterEqual", 2, a, b));
  run("Equal", OP("Equal", 2, a, b));
  run("NotEqual", OP("NotEqual", 2, a, b));
  TF_OperationDescription *d = OP("Equal", 2, a, f(1, 2, 0, 1., 2.));
  TF_SetAttrBool(d, "incompatible_shape_error", 0);
  run("Equal of incompatible shapes", d);
  TF_Operation *p = bv(4, 0, 0, 1, 1), *q = bv(4, 0, 1, 0, 1);
  run("LogicalAnd", OP("LogicalAnd", 2, p, q));
  run("LogicalOr", OP("LogicalOr", 2, p, q));
  run("LogicalNot", OP("LogicalNot", 1, p));
  run("SelectV2", OP("SelectV2", 3, bv(3, 1, 0, 1), a, b));
  run("Select",
      OP("Select", 3, bv(2, 1, 0), f(2, 2, 2, 1., 2., 3., 4.), f(2, 2, 2, 5., 6., 7., 8.)));
  run("All", OP("All", 2, p, iv(1, 0)));
  run("Any", OP("Any", 2, p, iv(1, 0)));
}

static void shapes(void) {
  tr_case("shapes and pieces");
  TF_Operation *a = f(2, 2, 3, 1., 2., 3., 4., 5., 6.);
  TF_Operation *b = f(2, 2, 3, 7., 8., 9., 10., 11., 12.);
  TF_OperationDescription *d;
  TF_Output l[2] = {tg_out(a, 0), tg_out(b, 0)};
  run("Reshape", OP("Reshape", 2, a, iv(2, 3, -1)));
  run("Shape", OP("Shape", 1, a));
  run("Rank", OP("Rank", 1, a));
  run("Size", OP("Size", 1, a));
  run("Transpose", OP("Transpose", 2, a, iv(2, 1, 0)));
  run("ExpandDims", OP("ExpandDims", 2, a, iv(-1, -1)));
  run("Squeeze", OP("Squeeze", 1, f(2, 1, 3, 1., 2., 3.)));
  for (int axis = 0; axis < 2; ++axis) {
    d = TF_NewOperation(g, "ConcatV2", nm());
    TF_AddInputList(d, l, 2);
    TF_AddInput(d, tg_out(iv(-1, axis), 0));
    run("ConcatV2", d);
    d = TF_NewOperation(g, "Pack", nm());
    TF_AddInputList(d, l, 2);
    TF_SetAttrInt(d, "axis", axis);
    run("Pack", d);
    d = OP("Unpack", 1, a);
    TF_SetAttrInt(d, "num", 2 + axis);
    TF_SetAttrInt(d, "axis", axis);
    run("Unpack", d);
  }
  d = OP("Split", 2, iv(-1, 1), a);
  TF_SetAttrInt(d, "num_split", 3);
  run("Split", d);
  d = OP("SplitV", 3, a, iv(2, 1, 2), iv(-1, 1));
  TF_SetAttrInt(d, "num_split", 2);
  run("SplitV", d);
  run("Slice", OP("Slice", 3, a, iv(2, 0, 1), iv(2, -1, 2)));
  run("StridedSlice", OP("StridedSlice", 4, a, iv(2, 0, 0), iv(2, 2, 3), iv(2, 1, 2)));
  d = OP("StridedSlice", 4, a, iv(2, -1, 0), iv(2, 0, 0), iv(2, 1, -1));
  TF_SetAttrInt(d, "shrink_axis_mask", 1);
  TF_SetAttrInt(d, "begin_mask", 2);
  TF_SetAttrInt(d, "end_mask", 2);
  run("StridedSlice [-1, ::-1]", d);
  run("GatherV2 axis 0", OP("GatherV2", 3, a, iv(3, 1, 0, 1), iv(-1, 0)));
  run("GatherV2 axis 1", OP("GatherV2", 3, a, iv(2, 2, 0), iv(-1, 1)));
  run("Tile", OP("Tile", 2, a, iv(2, 1, 2)));
  run("Fill", OP("Fill", 2, iv(2, 2, 2), f(0, 0, 0, 9.)));
  run("Range", OP("Range", 3, iv(-1, 3), iv(-1, -5), iv(-1, -3)));
  run("Pad",
      OP("Pad", 2, f(1, 2, 0, 1., 2.), tg_op(g, "Reshape", nm(), 2, iv(2, 1, 2), iv(2, 1, 2))));
  run("ReverseV2", OP("ReverseV2", 2, a, iv(1, 1)));
  run("OneHot", OP("OneHot", 4, iv(3, 0, 2, 5), iv(-1, 3), f(0, 0, 0, 1.), f(0, 0, 0, 0.)));
  run("BroadcastTo", OP("BroadcastTo", 2, f(1, 3, 0, 1., 2., 3.), iv(2, 2, 3)));
  run("ZerosLike", OP("ZerosLike", 1, a));
  d = OP("Cast", 1, f(1, 4, 0, 1.9, -1.9, 300., 0.));
  TF_SetAttrType(d, "DstT", TF_INT32);
  run("Cast to int32", d);
  d = OP("Cast", 1, f(1, 3, 0, 1.5, 0., -2.));
  TF_SetAttrType(d, "DstT", TF_BOOL);
  run("Cast to bool", d);
  d = OP("Cast", 1, f(1, 3, 0, 1.5, 65520., 1e-8));
  TF_SetAttrType(d, "DstT", TF_HALF);
  run("Cast to half", d);
  d = OP("Cast", 1, f(1, 3, 0, 1.5, 3.14159, -1e-3));
  TF_SetAttrType(d, "DstT", TF_BFLOAT16);
  run("Cast to bfloat16", d);
}

static void reduce(void) {
  tr_case("reductions");
  TF_Operation *a = f(2, 2, 3, 1., 2., 3., 4., 5., 7.);
  static const char *const ops[] = {"Sum", "Mean", "Max", "Min", "Prod"};
  for (int i = 0; i < 5; ++i) {
    char w[32];
    snprintf(w, sizeof w, "%s axis 0", ops[i]);
    run(w, tg_desc(g, ops[i], nm(), 2, a, iv(1, 0)));
    snprintf(w, sizeof w, "%s all", ops[i]);
    run(w, tg_desc(g, ops[i], nm(), 2, a, iv(2, 0, 1)));
    snprintf(w, sizeof w, "%s none", ops[i]);
    run(w, tg_desc(g, ops[i], nm(), 2, a, iv(0)));
    TF_OperationDescription *d = tg_desc(g, ops[i], nm(), 2, a, iv(1, -1));
    TF_SetAttrBool(d, "keep_dims", 1);
    snprintf(w, sizeof w, "%s -1 keep", ops[i]);
    run(w, d);
    snprintf(w, sizeof w, "%s of nothing", ops[i]);
    run(w, tg_desc(g, ops[i], nm(), 2, f(1, 0, 0), iv(1, 0)));
  }
  run("ArgMax", OP("ArgMax", 2, a, iv(-1, 1)));
  run("ArgMin", OP("ArgMin", 2, a, iv(-1, 0)));
  run("ArgMax ties", OP("ArgMax", 2, f(1, 3, 0, 2., 2., 1.), iv(-1, 0)));
  run("Softmax", OP("Softmax", 1, a));
  run("LogSoftmax", OP("LogSoftmax", 1, a));
}

static void matmul(void) {
  tr_case("matmul");
  TF_Operation *a = f(2, 2, 3, 1., 2., 3., 4., 5., 6.), *b = f(2, 3, 2, 1., 0., 0., 1., 1., 1.);
  run("2x3 3x2", OP("MatMul", 2, a, b));
  TF_OperationDescription *d = OP("MatMul", 2, a, a);
  TF_SetAttrBool(d, "transpose_b", 1);
  run("a a'", d);
  d = OP("MatMul", 2, a, a);
  TF_SetAttrBool(d, "transpose_a", 1);
  run("a' a", d);
  run("0x3 3x2", OP("MatMul", 2, f(2, 0, 3), b));
  run("2x0 0x2", OP("MatMul", 2, f(2, 2, 0), f(2, 0, 2)));
  run("BiasAdd", OP("BiasAdd", 2, a, f(1, 3, 0, 10., 20., 30.)));
}

int main(void) {
  tg_begin();
  g = TF_NewGraph();
  arithmetic();
  compare();
  shapes();
  reduce();
  matmul();
  TF_DeleteGraph(g);
  tg_end();
  return 0;
}
