/* TFE_InferShapes and the shape-and-type lists. */
#include "eager_common.h"

static TFE_Context *C;

static void show(const char *label, const TF_ShapeAndTypeList *l) {
  if (!l) {
    printf("%s: null\n", label);
    return;
  }
  printf("%s: %d items", label, l->num_items);
  for (int i = 0; i < l->num_items; i++) {
    const TF_ShapeAndType *s = &l->items[i];
    printf(" ");
    if (s->num_dims < 0) {
      printf("unknown(%d)", s->num_dims);
    } else {
      printf("[");
      for (int k = 0; k < s->num_dims; k++) printf("%s%" PRId64, k ? "," : "", s->dims[k]);
      printf("]");
    }
    printf("/%s", tr_dtype_name((int)s->dtype));
  }
  printf("\n");
}

static TF_ShapeAndTypeList *one(int nd, int64_t a, int64_t b) {
  TF_ShapeAndTypeList *l = TF_NewShapeAndTypeList(1);
  int64_t d[2] = {a, b};
  if (nd < 0)
    TF_ShapeAndTypeListSetUnknownShape(l, 0);
  else
    TF_ShapeAndTypeListSetShape(l, 0, d, nd);
  return l;
}

static TF_ShapeAndTypeList *pair(int n1, int64_t a1, int64_t b1, int n2, int64_t a2, int64_t b2) {
  TF_ShapeAndTypeList *l = TF_NewShapeAndTypeList(2);
  int64_t d1[2] = {a1, b1}, d2[2] = {a2, b2};
  if (n1 < 0)
    TF_ShapeAndTypeListSetUnknownShape(l, 0);
  else
    TF_ShapeAndTypeListSetShape(l, 0, d1, n1);
  if (n2 < 0)
    TF_ShapeAndTypeListSetUnknownShape(l, 1);
  else
    TF_ShapeAndTypeListSetShape(l, 1, d2, n2);
  return l;
}

static void infer(const char *label, TFE_Op *op, TF_ShapeAndTypeList *in, TF_Tensor **tensors) {
  TF_ShapeAndTypeList *out = NULL;
  TFE_InferShapes(op, in, tensors, NULL, NULL, &out, NULL, S);
  if (ec_st(label))
    show("  out", out);
  else
    printf("  out %s\n", out ? "not null" : "null");
  if (out) TF_DeleteShapeAndTypeList(out);
  TF_DeleteShapeAndTypeList(in);
  TFE_DeleteOp(op);
}

static TFE_Op *typed(const char *name, TF_DataType t) {
  TFE_Op *op = ec_op(C, name);
  TFE_OpSetAttrType(op, "T", t);
  return op;
}

int main(void) {
  ec_open();
  C = ec_ctx();

  tr_case("lists");
  TF_ShapeAndTypeList *l = TF_NewShapeAndTypeList(3);
  TF_ShapeAndTypeListSetShape(l, 0, (int64_t[]){2, -1}, 2);
  TF_ShapeAndTypeListSetUnknownShape(l, 1);
  TF_ShapeAndTypeListSetShape(l, 2, NULL, 0);
  for (int i = 0; i < 3; i++) TF_ShapeAndTypeListSetDtype(l, i, TF_FLOAT);
  show("list", l);
  TF_ShapeAndTypeListSetShape(l, 0, (int64_t[]){7}, 1);
  TF_ShapeAndTypeListSetDtype(l, 0, TF_STRING);
  show("changed", l);
  TF_DeleteShapeAndTypeList(l);
  l = TF_NewShapeAndTypeList(0);
  printf("empty %d\n", l->num_items);
  TF_DeleteShapeAndTypeList(l);
  TF_DeleteShapeAndTypeList(NULL);

  tr_case("unary");
  infer("known", typed("Neg", TF_FLOAT), one(2, 2, 3), NULL);
  infer("partly known", typed("Neg", TF_FLOAT), one(2, -1, 3), NULL);
  infer("unknown", typed("Neg", TF_FLOAT), one(-1, 0, 0), NULL);
  infer("scalar", typed("Neg", TF_FLOAT), one(0, 0, 0), NULL);

  tr_case("MatMul");
  infer("good", typed("MatMul", TF_FLOAT), pair(2, 2, 3, 2, 3, 4), NULL);
  infer("partly", typed("MatMul", TF_FLOAT), pair(2, -1, 3, -1, 0, 0), NULL);
  infer("mismatch", typed("MatMul", TF_FLOAT), pair(2, 2, 3, 2, 4, 4), NULL);
  infer("rank", typed("MatMul", TF_FLOAT), pair(1, 2, 0, 2, 4, 4), NULL);
  TFE_Op *op = typed("MatMul", TF_FLOAT);
  TFE_OpSetAttrBool(op, "transpose_a", 1);
  infer("transpose_a", op, pair(2, 3, 2, 2, 3, 4), NULL);

  tr_case("broadcast");
  infer("good", typed("AddV2", TF_FLOAT), pair(2, 2, 1, 1, 3, 0), NULL);
  infer("bad", typed("AddV2", TF_FLOAT), pair(1, 2, 0, 1, 3, 0), NULL);
  infer("unknown", typed("AddV2", TF_FLOAT), pair(1, -1, 0, 1, 3, 0), NULL);

  tr_case("input tensors");
  TF_Tensor *shape = tr_vec(TF_INT32, 2, (int32_t[]){3, 2});
  TF_Tensor *tin[2] = {NULL, shape};
  op = typed("Reshape", TF_FLOAT);
  TFE_OpSetAttrType(op, "Tshape", TF_INT32);
  infer("Reshape with the shape's value", op, pair(1, 6, 0, 1, 2, 0), tin);
  op = typed("Reshape", TF_FLOAT);
  TFE_OpSetAttrType(op, "Tshape", TF_INT32);
  infer("Reshape without it", op, pair(1, 6, 0, 1, 2, 0), NULL);
  op = typed("Reshape", TF_FLOAT);
  TFE_OpSetAttrType(op, "Tshape", TF_INT32);
  infer("Reshape that does not fit", op, pair(1, 5, 0, 1, 2, 0), tin);
  TF_DeleteTensor(shape);

  tr_case("several outputs");
  op = typed("Split", TF_FLOAT);
  TFE_OpSetAttrInt(op, "num_split", 3);
  TF_Tensor *axis = tr_i32(0);
  TF_Tensor *t2[2] = {axis, NULL};
  infer("Split", op, pair(0, 0, 0, 1, 6, 0), t2);
  op = typed("Split", TF_FLOAT);
  TFE_OpSetAttrInt(op, "num_split", 4);
  infer("Split uneven", op, pair(0, 0, 0, 1, 6, 0), t2);
  TF_DeleteTensor(axis);
  op = typed("TopKV2", TF_FLOAT);
  infer("TopKV2", op, pair(1, 5, 0, 0, 0, 0), NULL);

  tr_case("no inputs");
  op = ec_op(C, "VarHandleOp");
  TFE_OpSetAttrType(op, "dtype", TF_FLOAT);
  TFE_OpSetAttrShape(op, "shape", (int64_t[]){2}, 1, S);
  infer("VarHandleOp", op, TF_NewShapeAndTypeList(0), NULL);
  op = ec_op(C, "NoOp");
  infer("NoOp", op, TF_NewShapeAndTypeList(0), NULL);

  tr_case("missing attrs");
  op = ec_op(C, "MatMul");
  infer("MatMul without T", op, pair(2, 2, 3, 2, 3, 4), NULL);
  infer("too few shapes", typed("MatMul", TF_FLOAT), one(2, 2, 3), NULL);
  TFE_DeleteContext(C);
  return ec_close();
}
