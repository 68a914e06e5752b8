/* Shape inference at construction: results and failure texts. */
#include "transcript_graph.h"

static TF_Graph *g;
static int serial;

/* Placeholders and constants are named by their content and shared, so that
 * names do not depend on the order of evaluation of arguments. */
static TF_Operation *ph(TF_DataType t, int nd, ...) {
  int64_t d[8];
  char nm[64];
  va_list ap;
  int k = snprintf(nm, sizeof nm, "p_%s%s", tr_dtype_name((int)t), nd < 0 ? "_any" : "");
  va_start(ap, nd);
  for (int i = 0; i < nd; ++i) {
    d[i] = va_arg(ap, int);
    k += snprintf(nm + k, sizeof nm - (size_t)k, "_%d", (int)d[i]);
  }
  va_end(ap);
  TF_Operation *old = TF_GraphOperationByName(g, nm);
  return old ? old : tg_ph(g, t, nm, d, nd);
}
static TF_Operation *ints(int n, ...) {
  int32_t d[8];
  char nm[64];
  va_list ap;
  int k = snprintf(nm, sizeof nm, "ints");
  va_start(ap, n);
  for (int i = 0; i < n; ++i) {
    d[i] = va_arg(ap, int);
    k += snprintf(nm + k, sizeof nm - (size_t)k, "_%d", d[i]);
  }
  va_end(ap);
  TF_Operation *old = TF_GraphOperationByName(g, nm);
  return old ? old : tg_const(g, tr_vec(TF_INT32, n, d), nm);
}
static TF_Operation *one_int(int v) {
  char nm[32];
  snprintf(nm, sizeof nm, "int_%d", v);
  TF_Operation *old = TF_GraphOperationByName(g, nm);
  return old ? old : tg_ci(g, v, nm);
}
static void fin(const char *what, TF_OperationDescription *d) {
  TF_Operation *n = tg_finish_show(d, what);
  if (n == NULL) return;
  for (int i = 0; i < TF_OperationNumOutputs(n) && i < 3; ++i) tg_shape(g, "  ->", tg_out(n, i));
}
static const char *nm(void) {
  static char b[16];
  snprintf(b, sizeof b, "n%d", serial++);
  return b;
}
#define FLOATS(...) ph(TF_FLOAT, __VA_ARGS__)

int main(void) {
  tg_begin();
  g = TF_NewGraph();
  TF_OperationDescription *d;
  tr_case("binary broadcast");
  fin("2x3 + 3", tg_desc(g, "AddV2", nm(), 2, FLOATS(2, 2, 3), FLOATS(1, 3)));
  fin("2x1 + 1x3", tg_desc(g, "Mul", nm(), 2, FLOATS(2, 2, 1), FLOATS(2, 1, 3)));
  fin("?x3 + 2x?", tg_desc(g, "Sub", nm(), 2, FLOATS(2, -1, 3), FLOATS(2, 2, -1)));
  fin("unknown + 3", tg_desc(g, "AddV2", nm(), 2, FLOATS(-1), FLOATS(1, 3)));
  fin("2x3 + 4", tg_desc(g, "AddV2", nm(), 2, FLOATS(2, 2, 3), FLOATS(1, 4)));
  fin("2x3 < 2x4", tg_desc(g, "Less", nm(), 2, FLOATS(2, 2, 3), FLOATS(2, 2, 4)));
  fin("0 + 1", tg_desc(g, "AddV2", nm(), 2, FLOATS(1, 0), FLOATS(1, 1)));
  tr_case("matmul");
  fin("2x3 3x4", tg_desc(g, "MatMul", nm(), 2, FLOATS(2, 2, 3), FLOATS(2, 3, 4)));
  fin("2x3 4x5", tg_desc(g, "MatMul", nm(), 2, FLOATS(2, 2, 3), FLOATS(2, 4, 5)));
  fin("rank 3", tg_desc(g, "MatMul", nm(), 2, FLOATS(3, 2, 3, 4), FLOATS(2, 4, 5)));
  fin("rank 1", tg_desc(g, "MatMul", nm(), 2, FLOATS(1, 4), FLOATS(2, 4, 5)));
  fin("?x3 unknown", tg_desc(g, "MatMul", nm(), 2, FLOATS(2, -1, 3), FLOATS(-1)));
  d = tg_desc(g, "MatMul", nm(), 2, FLOATS(2, 2, 3), FLOATS(2, 4, 3));
  TF_SetAttrBool(d, "transpose_b", 1);
  fin("2x3 (4x3)'", d);
  d = tg_desc(g, "MatMul", nm(), 2, FLOATS(2, 2, 3), FLOATS(2, 4, 3));
  TF_SetAttrBool(d, "transpose_a", 1);
  fin("(2x3)' 4x3", d);
  fin("batch 7x2x3 7x3x4",
      tg_desc(g, "BatchMatMulV2", nm(), 2, FLOATS(3, 7, 2, 3), FLOATS(3, 7, 3, 4)));
  fin("batch 7x2x3 6x3x4",
      tg_desc(g, "BatchMatMulV2", nm(), 2, FLOATS(3, 7, 2, 3), FLOATS(3, 6, 3, 4)));
  tr_case("reshape");
  fin("6 to 2x3", tg_desc(g, "Reshape", nm(), 2, FLOATS(1, 6), ints(2, 2, 3)));
  fin("6 to 2x-1", tg_desc(g, "Reshape", nm(), 2, FLOATS(1, 6), ints(2, 2, -1)));
  fin("6 to 4x-1", tg_desc(g, "Reshape", nm(), 2, FLOATS(1, 6), ints(2, 4, -1)));
  fin("6 to 4x2", tg_desc(g, "Reshape", nm(), 2, FLOATS(1, 6), ints(2, 4, 2)));
  fin("6 to -1x-1", tg_desc(g, "Reshape", nm(), 2, FLOATS(1, 6), ints(2, -1, -1)));
  fin("6 to -2", tg_desc(g, "Reshape", nm(), 2, FLOATS(1, 6), ints(1, -2)));
  fin("unknown to 2x-1", tg_desc(g, "Reshape", nm(), 2, FLOATS(-1), ints(2, 2, -1)));
  fin("6 to placeholder[3]", tg_desc(g, "Reshape", nm(), 2, FLOATS(1, 6), ph(TF_INT32, 1, 3)));
  fin("6 to matrix shape", tg_desc(g, "Reshape", nm(), 2, FLOATS(1, 6), ph(TF_INT32, 2, 1, 1)));
  fin("?x3 to -1", tg_desc(g, "Reshape", nm(), 2, FLOATS(2, -1, 3), ints(1, -1)));
  tr_case("reductions");
  fin("sum axis 1", tg_desc(g, "Sum", nm(), 2, FLOATS(2, 2, 3), ints(1, 1)));
  fin("mean axis -1", tg_desc(g, "Mean", nm(), 2, FLOATS(2, 2, 3), one_int(-1)));
  fin("max axis 5", tg_desc(g, "Max", nm(), 2, FLOATS(2, 2, 3), ints(1, 5)));
  fin("sum axis -3", tg_desc(g, "Sum", nm(), 2, FLOATS(2, 2, 3), ints(1, -3)));
  fin("sum unknown axis", tg_desc(g, "Sum", nm(), 2, FLOATS(2, 2, 3), ph(TF_INT32, 1, 1)));
  d = tg_desc(g, "Sum", nm(), 2, FLOATS(2, 2, 3), ints(2, 0, 1));
  TF_SetAttrBool(d, "keep_dims", 1);
  fin("sum all keep", d);
  fin("argmax axis 0", tg_desc(g, "ArgMax", nm(), 2, FLOATS(2, 2, 3), one_int(0)));
  fin("argmax axis 2", tg_desc(g, "ArgMax", nm(), 2, FLOATS(2, 2, 3), one_int(2)));
  fin("argmax axis vector", tg_desc(g, "ArgMax", nm(), 2, FLOATS(2, 2, 3), ints(1, 0)));
  tr_case("concat, pack, unpack, split");
  TF_Output l[3];
  l[0] = tg_out(FLOATS(2, 2, 3), 0);
  l[1] = tg_out(FLOATS(2, 2, 5), 0);
  l[2] = tg_out(FLOATS(2, 4, 3), 0);
  d = TF_NewOperation(g, "ConcatV2", nm());
  TF_AddInputList(d, l, 2);
  TF_AddInput(d, tg_out(one_int(1), 0));
  fin("concat axis 1", d);
  d = TF_NewOperation(g, "ConcatV2", nm());
  TF_AddInputList(d, l, 2);
  TF_AddInput(d, tg_out(one_int(0), 0));
  fin("concat axis 0 mismatch", d);
  d = TF_NewOperation(g, "ConcatV2", nm());
  TF_AddInputList(d, l, 2);
  TF_AddInput(d, tg_out(one_int(2), 0));
  fin("concat axis 2", d);
  d = TF_NewOperation(g, "ConcatV2", nm());
  TF_AddInputList(d, l, 2);
  TF_AddInput(d, tg_out(one_int(-3), 0));
  fin("concat axis -3", d);
  d = TF_NewOperation(g, "Concat", nm());
  TF_AddInput(d, tg_out(one_int(0), 0));
  TF_Output l2[2] = {l[0], l[2]};
  TF_AddInputList(d, l2, 2);
  fin("concat v1", d);
  d = TF_NewOperation(g, "Pack", nm());
  TF_AddInputList(d, l, 2);
  fin("pack mismatch", d);
  l2[1] = l2[0];
  d = TF_NewOperation(g, "Pack", nm());
  TF_AddInputList(d, l2, 2);
  TF_SetAttrInt(d, "axis", -1);
  fin("pack axis -1", d);
  d = TF_NewOperation(g, "Pack", nm());
  TF_AddInputList(d, l2, 2);
  TF_SetAttrInt(d, "axis", 3);
  fin("pack axis 3", d);
  l2[0] = tg_out(one_int(-3), 0), l2[1] = tg_out(one_int(2), 0);
  d = TF_NewOperation(g, "Pack", nm());
  TF_AddInputList(d, l2, 2);
  TF_Operation *packed = tg_finish(d);
  d = tg_desc(g, "RandomUniform", nm(), 1, packed);
  TF_SetAttrType(d, "dtype", TF_FLOAT);
  fin("random, packed -3", d);
  fin("reshape, packed -3", tg_desc(g, "Reshape", nm(), 2, FLOATS(2, 2, 3), packed));
  fin("fill, packed -3", tg_desc(g, "Fill", nm(), 2, packed, one_int(1)));
  TF_Operation *less = tg_op(g, "Sub", nm(), 2, ints(2, 1, 2), ints(2, 2, 0));
  fin("fill, computed -1", tg_desc(g, "Fill", nm(), 2, less, one_int(1)));
  fin("unique, computed axis", tg_desc(g, "UniqueV2", nm(), 2, FLOATS(1, 5),
                                       tg_op(g, "Sub", nm(), 2, ints(1, 3), ints(1, 3))));
  d = tg_desc(g, "Unpack", nm(), 1, l[0].oper);
  TF_SetAttrInt(d, "num", 2);
  fin("unpack 2", d);
  d = tg_desc(g, "Unpack", nm(), 1, l[0].oper);
  TF_SetAttrInt(d, "num", 4);
  fin("unpack 4", d);
  d = tg_desc(g, "Split", nm(), 2, one_int(1), FLOATS(2, 2, 6));
  TF_SetAttrInt(d, "num_split", 3);
  fin("split 3", d);
  d = tg_desc(g, "Split", nm(), 2, one_int(1), FLOATS(2, 2, 6));
  TF_SetAttrInt(d, "num_split", 4);
  fin("split 4", d);
  d = tg_desc(g, "Split", nm(), 2, one_int(2), FLOATS(2, 2, 6));
  TF_SetAttrInt(d, "num_split", 2);
  fin("split axis 2", d);
  tr_case("slice and strided slice");
  fin("slice", tg_desc(g, "Slice", nm(), 3, FLOATS(2, 4, 5), ints(2, 1, 2), ints(2, 2, -1)));
  fin("slice beyond", tg_desc(g, "Slice", nm(), 3, FLOATS(2, 4, 5), ints(2, 1, 2), ints(2, 9, 1)));
  fin("slice rank",
      tg_desc(g, "Slice", nm(), 3, FLOATS(2, 4, 5), ints(3, 1, 2, 0), ints(3, 1, 1, 1)));
  fin("slice begin<0",
      tg_desc(g, "Slice", nm(), 3, FLOATS(2, 4, 5), ints(2, -1, 2), ints(2, 1, 1)));
  fin("strided 1:3",
      tg_desc(g, "StridedSlice", nm(), 4, FLOATS(2, 4, 5), ints(1, 1), ints(1, 3), ints(1, 1)));
  fin("strided ::-2",
      tg_desc(g, "StridedSlice", nm(), 4, FLOATS(1, 5), ints(1, 4), ints(1, -9), ints(1, -2)));
  fin("strided step 0",
      tg_desc(g, "StridedSlice", nm(), 4, FLOATS(1, 5), ints(1, 0), ints(1, 2), ints(1, 0)));
  d = tg_desc(g, "StridedSlice", nm(), 4, FLOATS(2, 4, 5), ints(1, 9), ints(1, 10), ints(1, 1));
  TF_SetAttrInt(d, "shrink_axis_mask", 1);
  fin("strided shrink out of range", d);
  d = tg_desc(g, "StridedSlice", nm(), 4, FLOATS(2, 4, 5), ints(2, 0, 0), ints(2, 0, 1),
              ints(2, 1, 1));
  TF_SetAttrInt(d, "ellipsis_mask", 1);
  TF_SetAttrInt(d, "new_axis_mask", 2);
  fin("strided ..., newaxis", d);
  fin("strided too many dims", tg_desc(g, "StridedSlice", nm(), 4, FLOATS(1, 5), ints(2, 0, 0),
                                       ints(2, 1, 1), ints(2, 1, 1)));
  tr_case("gather");
  fin("gather axis 0",
      tg_desc(g, "GatherV2", nm(), 3, FLOATS(2, 4, 5), ph(TF_INT32, 2, 2, 3), one_int(0)));
  fin("gather axis 1",
      tg_desc(g, "GatherV2", nm(), 3, FLOATS(2, 4, 5), ph(TF_INT32, 1, 7), one_int(1)));
  fin("gather axis 2",
      tg_desc(g, "GatherV2", nm(), 3, FLOATS(2, 4, 5), ph(TF_INT32, 1, 7), one_int(2)));
  fin("gather scalar params",
      tg_desc(g, "GatherV2", nm(), 3, FLOATS(0), ph(TF_INT32, 1, 7), one_int(0)));
  tr_case("transpose, expand, squeeze, tile");
  fin("transpose", tg_desc(g, "Transpose", nm(), 2, FLOATS(3, 2, 3, 4), ints(3, 2, 0, 1)));
  fin("transpose short perm", tg_desc(g, "Transpose", nm(), 2, FLOATS(3, 2, 3, 4), ints(2, 1, 0)));
  fin("transpose perm out of range",
      tg_desc(g, "Transpose", nm(), 2, FLOATS(2, 2, 3), ints(2, 0, 2)));
  fin("expand 1", tg_desc(g, "ExpandDims", nm(), 2, FLOATS(2, 2, 3), one_int(1)));
  fin("expand -4", tg_desc(g, "ExpandDims", nm(), 2, FLOATS(2, 2, 3), one_int(-4)));
  fin("expand 3", tg_desc(g, "ExpandDims", nm(), 2, FLOATS(2, 2, 3), one_int(3)));
  fin("squeeze", tg_desc(g, "Squeeze", nm(), 1, FLOATS(4, 1, 2, 1, 3)));
  int64_t sq[1] = {1};
  d = tg_desc(g, "Squeeze", nm(), 1, FLOATS(3, 1, 2, 1));
  TF_SetAttrIntList(d, "squeeze_dims", sq, 1);
  fin("squeeze dim of 2", d);
  sq[0] = 4;
  d = tg_desc(g, "Squeeze", nm(), 1, FLOATS(3, 1, 2, 1));
  TF_SetAttrIntList(d, "squeeze_dims", sq, 1);
  fin("squeeze dim 4", d);
  fin("tile", tg_desc(g, "Tile", nm(), 2, FLOATS(2, 2, 3), ints(2, 2, 2)));
  fin("tile rank", tg_desc(g, "Tile", nm(), 2, FLOATS(2, 2, 3), ints(1, 2)));
  tr_case("fill, range, shape, cast, softmax, select");
  fin("fill", tg_desc(g, "Fill", nm(), 2, ints(2, 2, 3), FLOATS(0)));
  fin("fill negative", tg_desc(g, "Fill", nm(), 2, ints(2, 2, -3), FLOATS(0)));
  fin("fill by vector", tg_desc(g, "Fill", nm(), 2, ints(1, 2), FLOATS(1, 2)));
  fin("range", tg_desc(g, "Range", nm(), 3, one_int(0), one_int(10), one_int(3)));
  fin("range step 0", tg_desc(g, "Range", nm(), 3, one_int(0), one_int(10), one_int(0)));
  fin("range wrong way", tg_desc(g, "Range", nm(), 3, one_int(5), one_int(1), one_int(1)));
  fin("shape", tg_desc(g, "Shape", nm(), 1, FLOATS(3, 1, -1, 2)));
  fin("shape unknown", tg_desc(g, "Shape", nm(), 1, FLOATS(-1)));
  fin("softmax scalar", tg_desc(g, "Softmax", nm(), 1, FLOATS(0)));
  fin("softmax", tg_desc(g, "Softmax", nm(), 1, FLOATS(2, 2, 3)));
  fin("select", tg_desc(g, "SelectV2", nm(), 3, ph(TF_BOOL, 1, 3), FLOATS(2, 2, 3), FLOATS(0)));
  fin("select mismatch",
      tg_desc(g, "SelectV2", nm(), 3, ph(TF_BOOL, 1, 3), FLOATS(2, 2, 4), FLOATS(0)));
  fin("select v1 mismatch",
      tg_desc(g, "Select", nm(), 3, ph(TF_BOOL, 1, 3), FLOATS(2, 2, 4), FLOATS(2, 2, 4)));
  fin("bias add", tg_desc(g, "BiasAdd", nm(), 2, FLOATS(2, 2, 3), FLOATS(1, 4)));
  tr_case("shape inference through constants");
  TF_Operation *sh = tg_op(g, "Shape", nm(), 1, FLOATS(2, 4, 6));
  fin("reshape by Shape", tg_desc(g, "Reshape", nm(), 2, FLOATS(1, 24), sh));
  TF_Operation *part = tg_op(g, "StridedSlice", nm(), 4, sh, ints(1, 0), ints(1, 1), ints(1, 1));
  fin("fill by slice of Shape", tg_desc(g, "Fill", nm(), 2, part, FLOATS(0)));
  TF_Operation *two = tg_op(g, "Mul", nm(), 2, sh, ints(2, 2, 2));
  fin("fill by computed", tg_desc(g, "Fill", nm(), 2, two, FLOATS(0)));
  TF_DeleteGraph(g);
  tg_end();
  return 0;
}
