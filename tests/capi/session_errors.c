/* Errors raised while running: the text, the code and the node named. */
#include "transcript_graph.h"

static TF_Graph *g;
static TF_Session *s;

static TF_Operation *fp(const char *n) {
  return tg_ph(g, TF_FLOAT, n, NULL, -1);
}
static TF_Operation *ip(const char *n) {
  return tg_ph(g, TF_INT32, n, NULL, -1);
}
static TF_Tensor *F(int nd, int a, int b, float v) {
  int64_t d[2] = {a, b};
  int64_t n = tr_count(d, nd);
  float buf[64];
  for (int64_t i = 0; i < n; ++i) buf[i] = v;
  return tr_tensor(TF_FLOAT, d, nd, buf);
}
static TF_Tensor *I(int n, int a, int b, int c) {
  int32_t v[3] = {a, b, c};
  return tr_vec(TF_INT32, n, v);
}
static void two(const char *what, TF_Operation *op, TF_Operation *a, TF_Tensor *av, TF_Operation *b,
                TF_Tensor *bv) {
  TF_Output in[2] = {tg_out(a, 0), tg_out(b, 0)}, out = tg_out(op, 0);
  TF_Tensor *v[2] = {av, bv};
  tg_run(s, what, in, v, 2, &out, 1, NULL, 0);
}

int main(void) {
  tg_begin();
  g = TF_NewGraph();
  TF_Operation *a = fp("a"), *b = fp("b"), *i = ip("i"), *j = ip("j");
  TF_OperationDescription *d;
  TF_Operation *op;
  s = tg_session(g);
  float zero = 0.0f;

  tr_case("reshape");
  op = tg_op(g, "Reshape", "scope/reshape", 2, a, i);
  two("6 to 4x2", op, a, F(1, 6, 0, 1), i, I(2, 4, 2, 0));
  two("6 to 4x-1", op, a, F(1, 6, 0, 1), i, I(2, 4, -1, 0));
  two("6 to -1x-1", op, a, F(1, 6, 0, 1), i, I(2, -1, -1, 0));
  two("6 to -2", op, a, F(1, 6, 0, 1), i, I(1, -2, 0, 0));
  two("0 to -1x0", op, a, F(1, 0, 0, 1), i, I(2, -1, 0, 0));
  tr_case("matmul");
  op = tg_op(g, "MatMul", "mm", 2, a, b);
  two("2x3 4x5", op, a, F(2, 2, 3, 1), b, F(2, 4, 5, 1));
  two("vector", op, a, F(1, 2, 0, 1), b, F(2, 4, 5, 1));
  two("vector right", op, a, F(2, 2, 3, 1), b, F(1, 3, 0, 1));
  tr_case("broadcast");
  op = tg_op(g, "AddV2", "add", 2, a, b);
  two("2x3 + 2x4", op, a, F(2, 2, 3, 1), b, F(2, 2, 4, 1));
  two("3 + 2", op, a, F(1, 3, 0, 1), b, F(1, 2, 0, 1));
  op = tg_op(g, "Less", "less", 2, a, b);
  two("3 < 2", op, a, F(1, 3, 0, 1), b, F(1, 2, 0, 1));
  tr_case("integer division by zero");
  static const char *const divs[] = {"FloorDiv", "Div", "TruncateDiv", "FloorMod", "Mod"};
  for (int k = 0; k < 5; ++k) {
    op = tg_op(g, divs[k], divs[k], 2, i, j);
    two(divs[k], op, i, I(2, 5, 6, 0), j, I(2, 1, 0, 0));
  }
  tr_case("gather");
  TF_Operation *zero_axis = tg_ci(g, 0, "axis0");
  op = tg_op(g, "GatherV2", "gather", 3, a, i, zero_axis);
  two("index 7 of 3", op, a, F(1, 3, 0, 1), i, I(2, 1, 7, 0));
  two("index -1", op, a, F(1, 3, 0, 1), i, I(1, -1, 0, 0));
  two("matrix, index 5", op, a, F(2, 3, 2, 1), i, I(-1, 5, 0, 0));
  two("scalar params", op, a, F(0, 0, 0, 1), i, I(1, 0, 0, 0));
  op = tg_op(g, "GatherV2", "gather_axis", 3, a, i, j);
  TF_Output in3[3] = {tg_out(a, 0), tg_out(i, 0), tg_out(j, 0)}, o1 = tg_out(op, 0);
  TF_Tensor *v3[3] = {F(1, 3, 0, 1), I(1, 0, 0, 0), I(-1, 4, 0, 0)};
  tg_run(s, "axis 4", in3, v3, 3, &o1, 1, NULL, 0);
  tr_case("concat, split, pack");
  d = TF_NewOperation(g, "ConcatV2", "cat");
  TF_Output l[2] = {tg_out(a, 0), tg_out(b, 0)};
  TF_AddInputList(d, l, 2);
  TF_AddInput(d, tg_out(zero_axis, 0));
  op = tg_finish(d);
  two("2x3 2x4 on 0", op, a, F(2, 2, 3, 1), b, F(2, 2, 4, 1));
  two("rank 2 and 1", op, a, F(2, 2, 3, 1), b, F(1, 3, 0, 1));
  two("scalars", op, a, F(0, 0, 0, 1), b, F(0, 0, 0, 1));
  d = TF_NewOperation(g, "Pack", "pack");
  TF_AddInputList(d, l, 2);
  op = tg_finish(d);
  two("pack 2 and 3", op, a, F(1, 2, 0, 1), b, F(1, 3, 0, 1));
  d = tg_desc(g, "Split", "split", 2, i, a);
  TF_SetAttrInt(d, "num_split", 4);
  op = tg_finish(d);
  two("6 into 4", op, i, I(-1, 0, 0, 0), a, F(1, 6, 0, 1));
  two("axis 3", op, i, I(-1, 3, 0, 0), a, F(1, 8, 0, 1));
  d = tg_desc(g, "Unpack", "unpack", 1, a);
  TF_SetAttrInt(d, "num", 2);
  op = tg_finish(d);
  tg_fetch1(s, "unpack 3 into 2", a, F(1, 3, 0, 1), op);
  tr_case("slice");
  op = tg_op(g, "Slice", "slice", 3, a, i, j);
  TF_Output in4[3] = {tg_out(a, 0), tg_out(i, 0), tg_out(j, 0)};
  o1 = tg_out(op, 0);
  TF_Tensor *v4[3] = {F(1, 4, 0, 1), I(1, 2, 0, 0), I(1, 5, 0, 0)};
  tg_run(s, "2..7 of 4", in4, v4, 3, &o1, 1, NULL, 0);
  TF_Tensor *v5[3] = {F(1, 4, 0, 1), I(1, -1, 0, 0), I(1, 1, 0, 0)};
  tg_run(s, "from -1", in4, v5, 3, &o1, 1, NULL, 0);
  TF_Tensor *v6[3] = {F(1, 4, 0, 1), I(2, 0, 0, 0), I(2, 1, 1, 0)};
  tg_run(s, "rank", in4, v6, 3, &o1, 1, NULL, 0);
  tr_case("transpose, expand, squeeze, tile, fill, range");
  op = tg_op(g, "Transpose", "tr", 2, a, i);
  two("perm 0 0", op, a, F(2, 2, 3, 1), i, I(2, 0, 0, 0));
  two("perm 0 5", op, a, F(2, 2, 3, 1), i, I(2, 0, 5, 0));
  two("perm of 1", op, a, F(2, 2, 3, 1), i, I(1, 0, 0, 0));
  op = tg_op(g, "ExpandDims", "exp", 2, a, i);
  two("expand 9", op, a, F(1, 3, 0, 1), i, I(-1, 9, 0, 0));
  two("expand vector dim", op, a, F(1, 3, 0, 1), i, I(2, 0, 0, 0));
  int64_t sq = 0;
  d = tg_desc(g, "Squeeze", "sq", 1, a);
  TF_SetAttrIntList(d, "squeeze_dims", &sq, 1);
  tg_fetch1(s, "squeeze dim of 3", a, F(1, 3, 0, 1), tg_finish(d));
  op = tg_op(g, "Tile", "tile", 2, a, i);
  two("tile rank", op, a, F(2, 2, 3, 1), i, I(1, 2, 0, 0));
  two("tile negative", op, a, F(1, 3, 0, 1), i, I(1, -2, 0, 0));
  op = tg_op(g, "Fill", "fill", 2, i, a);
  two("fill negative", op, i, I(1, -3, 0, 0), a, F(0, 0, 0, 1));
  two("fill with vector", op, i, I(1, 3, 0, 0), a, F(1, 2, 0, 1));
  op = tg_op(g, "Range", "range", 3, i, j, zero_axis);
  two("range delta 0", op, i, I(-1, 0, 0, 0), j, I(-1, 5, 0, 0));
  tr_case("reductions");
  op = tg_op(g, "Sum", "sum", 2, a, i);
  two("axis 4", op, a, F(1, 3, 0, 1), i, I(1, 4, 0, 0));
  two("axis twice", op, a, F(1, 3, 0, 1), i, I(2, 0, 0, 0));
  op = tg_op(g, "ArgMax", "argmax", 2, a, i);
  two("argmax axis 4", op, a, F(1, 3, 0, 1), i, I(-1, 4, 0, 0));
  two("argmax of empty", op, a, F(1, 0, 0, 1), i, I(-1, 0, 0, 0));
  tr_case("CheckNumerics");
  d = tg_desc(g, "CheckNumerics", "chk", 1, a);
  TF_SetAttrString(d, "message", "found bad", 9);
  op = tg_finish(d);
  tg_fetch1(s, "inf", a, tr_f32(1 / zero), op);
  tg_fetch1(s, "nan", a, tr_f32(zero / zero * 0.0f), op);
  tr_case("Assert");
  TF_Operation *cond = tg_ph(g, TF_BOOL, "cond", NULL, -1);
  d = TF_NewOperation(g, "Assert", "assert");
  TF_AddInput(d, tg_out(cond, 0));
  TF_AddInputList(d, l, 1);
  op = tg_finish(d);
  TF_Output in2[2] = {tg_out(cond, 0), tg_out(a, 0)};
  TF_Tensor *v2[2] = {tr_bool(false), F(1, 5, 0, 2.5f)};
  const TF_Operation *tgt[1] = {op};
  tg_run(s, "assert", in2, v2, 2, NULL, 0, tgt, 1);
  tr_case("two uses of the failing node");
  d = tg_desc(g, "Identity", "use1", 1, TF_GraphOperationByName(g, "mm"));
  TF_Operation *u1 = tg_finish(d);
  TF_Operation *u2 = tg_op(g, "Neg", "use2", 1, u1);
  two("through consumers", u2, a, F(2, 2, 3, 1), b, F(2, 4, 5, 1));
  tr_case("no kernel for a type");
  TF_Operation *ps = tg_ph(g, TF_UINT16, "pu", NULL, -1);
  tg_op_show(g, "MatMul", "mmu", 2, ps, ps);
  tg_fetch(s, "another node", zero_axis);
  op = TF_GraphOperationByName(g, "mmu");
  int64_t one1[2] = {1, 1};
  uint16_t uu = 3;
  if (op) tg_fetch1(s, "itself", ps, tr_tensor(TF_UINT16, one1, 2, &uu), op);
  tg_close(s);
  TF_DeleteGraph(g);
  tg_end();
  return 0;
}
