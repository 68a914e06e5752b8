/* Attributes of eager operations: setting every kind, types, errors. */
#include "eager_common.h"

static void attr_type(TFE_Context *c, const char *op, const char *attr) {
  unsigned char is_list = 9;
  TF_AttrType t = TFE_OpNameGetAttrType(c, op, attr, &is_list, S);
  int ok = TF_GetCode(S) == TF_OK;
  printf("%s.%s ", op, attr);
  ec_st("type");
  if (ok) printf("  %d list %d\n", (int)t, (int)is_list);
}

static void types(TFE_Context *c) {
  tr_case("attr types by op name");
  static const char *const q[][2] = {{"MatMul", "T"},
                                     {"MatMul", "transpose_a"},
                                     {"Const", "value"},
                                     {"Const", "dtype"},
                                     {"Conv2D", "strides"},
                                     {"Conv2D", "padding"},
                                     {"LeakyRelu", "alpha"},
                                     {"VarHandleOp", "shape"},
                                     {"IdentityN", "T"},
                                     {"If", "then_branch"},
                                     {"If", "output_shapes"},
                                     {"Case", "branches"},
                                     {"VarHandleOp", "allowed_devices"},
                                     {"Bucketize", "boundaries"},
                                     {"ConcatV2", "N"},
                                     {"MatMul", "nope"},
                                     {"NoSuchOp", "T"},
                                     {"VarHandleOp", "container"},
                                     {"_NoSuchOp", "x"}};
  for (size_t i = 0; i < sizeof q / sizeof *q; i++) attr_type(c, q[i][0], q[i][1]);

  tr_case("attr types by op");
  TFE_Op *op = ec_op(c, "Conv2D");
  unsigned char is_list = 9;
  int t = (int)TFE_OpGetAttrType(op, "strides", &is_list, S);
  printf("strides %d list %d ", t, is_list);
  ec_st("get");
  t = (int)TFE_OpGetAttrType(op, "T", &is_list, S);
  printf("T %d list %d ", t, is_list);
  ec_st("get");
  TFE_OpGetAttrType(op, "nope", &is_list, S);
  ec_st("nope");
  TFE_DeleteOp(op);
}

static void show_attrs(TFE_Op *op, const char *label) {
  TF_Buffer *b = TF_NewBuffer();
  TFE_OpAttrsSerialize(TFE_OpGetAttrs(op), b, S);
  if (ec_st(label)) {
    /* NameAttrList: 1 = name, 2 = attr map */
    tr_dump("FuncAttr", b->data, b->length, 2);
  }
  TF_DeleteBuffer(b);
}

static void serialize(TFE_Context *c) {
  tr_case("serialize attrs of every kind");
  TFE_Op *op = ec_op(c, "VarHandleOp");
  show_attrs(op, "fresh");
  TFE_OpSetAttrString(op, "container", "box", 3);
  TFE_OpSetAttrString(op, "shared_name", "a\0b", 3);
  TFE_OpSetAttrType(op, "dtype", TF_HALF);
  int64_t dims[3] = {2, -1, 3};
  TFE_OpSetAttrShape(op, "shape", dims, 3, S);
  ec_st("shape");
  const void *sl[2] = {"x", "yz"};
  size_t ll[2] = {1, 2};
  TFE_OpSetAttrStringList(op, "allowed_devices", sl, ll, 2);
  show_attrs(op, "VarHandleOp");
  TFE_OpSetAttrShape(op, "shape", NULL, -1, S);
  ec_st("unknown rank");
  show_attrs(op, "VarHandleOp");
  TFE_OpSetAttrShape(op, "shape", dims, 300, S);
  ec_st("300 dims");
  TFE_DeleteOp(op);

  op = ec_op(c, "Conv2D");
  TFE_OpSetAttrIntList(op, "strides", (int64_t[]){1, 2, 2, 1}, 4);
  TFE_OpSetAttrIntList(op, "dilations", NULL, 0);
  TFE_OpSetAttrBool(op, "use_cudnn_on_gpu", 0);
  TFE_OpSetAttrString(op, "padding", "SAME", 4);
  show_attrs(op, "Conv2D");
  TFE_DeleteOp(op);

  op = ec_op(c, "LeakyRelu");
  TFE_OpSetAttrFloat(op, "alpha", 0.25f);
  show_attrs(op, "LeakyRelu");
  TFE_DeleteOp(op);

  op = ec_op(c, "Bucketize");
  TFE_OpSetAttrFloatList(op, "boundaries", (float[]){0.5f, 1.5f}, 2);
  show_attrs(op, "Bucketize");
  TFE_DeleteOp(op);

  op = ec_op(c, "If");
  TFE_Op *f = ec_op(c, "NoOp");
  TFE_OpSetAttrFunction(op, "then_branch", f);
  TFE_OpSetAttrFunctionName(op, "else_branch", "other", 5);
  TFE_OpSetAttrTypeList(op, "Tout", (TF_DataType[]){TF_FLOAT, TF_STRING}, 2);
  TFE_OpSetAttrTypeList(op, "Tin", NULL, 0);
  const int64_t *sd[3] = {dims, NULL, NULL};
  int nd[3] = {2, 0, -1};
  TFE_OpSetAttrShapeList(op, "output_shapes", sd, nd, 3, S);
  ec_st("shape list");
  show_attrs(op, "If");
  TFE_DeleteOp(op);

  op = ec_op(c, "Case");
  const TFE_Op *fl[2] = {f, f};
  TFE_OpSetAttrFunctionList(op, "branches", fl, 2);
  show_attrs(op, "Case");
  TFE_DeleteOp(op);
  TFE_DeleteOp(f);

  op = ec_op(c, "Const");
  TF_Tensor *t = tr_vec(TF_INT32, 3, (int32_t[]){7, 8, 9});
  TFE_OpSetAttrTensor(op, "value", t, S);
  ec_st("tensor");
  TFE_OpSetAttrType(op, "dtype", TF_INT32);
  show_attrs(op, "Const");
  ec_exec("Const", op, 1);
  TF_DeleteTensor(t);

  op = ec_op(c, "BoostedTreesCalculateBestFeatureSplit");
  show_attrs(op, "no attrs set");
  TFE_DeleteOp(op);
  op = ec_op(c, "ParseTensor");
  TFE_OpSetAttrBoolList(op, "flags", (unsigned char[]){1, 0}, 2);
  show_attrs(op, "attr the op does not have");
  TFE_DeleteOp(op);

  tr_case("set attr by proto");
  op = ec_op(c, "Cast");
  TFE_OpSetAttrValueProto(op, "DstT", "\x30\x03", 2, S);
  ec_st("type int32");
  show_attrs(op, "Cast");
  TFE_OpSetAttrValueProto(op, "DstT", "\xff\xff\xff", 3, S);
  ec_st("garbage");
  TFE_OpSetAttrValueProto(op, "Truncate", "", 0, S);
  ec_st("empty");
  TFE_TensorHandle *h = ec_f0(1.75f);
  ec_in(op, h);
  ec_exec("Cast", op, 1);

  tr_case("add attrs of another op");
  TFE_Op *src = ec_op(c, "Cast");
  TFE_OpSetAttrType(src, "DstT", TF_INT64);
  op = ec_op(c, "Cast");
  TFE_OpAddAttrs(op, TFE_OpGetAttrs(src));
  show_attrs(op, "copied");
  ec_in(op, h);
  ec_exec("Cast", op, 1);
  op = ec_op(c, "Cast");
  TFE_OpSetAttrType(op, "DstT", TF_DOUBLE);
  TFE_OpAddAttrs(op, TFE_OpGetAttrs(src));
  show_attrs(op, "copied over a set one");
  ec_in(op, h);
  ec_exec("Cast", op, 1);
  TFE_DeleteOp(src);

  tr_case("attrs inferred by adding inputs");
  op = ec_op(c, "AddV2");
  ec_in(op, h);
  show_attrs(op, "one input");
  ec_in(op, h);
  show_attrs(op, "two inputs");
  TFE_DeleteOp(op);
  op = ec_op(c, "ConcatV2");
  TFE_TensorHandle *l[2] = {h, h};
  TFE_OpAddInputList(op, l, 2, S);
  show_attrs(op, "list");
  TFE_DeleteOp(op);
  op = ec_op(c, "IdentityN");
  TFE_OpAddInputList(op, l, 2, S);
  show_attrs(op, "type list");
  TFE_DeleteOp(op);
  TFE_DeleteTensorHandle(h);
}

static void execution(TFE_Context *c) {
  int64_t d22[2] = {2, 2}, d23[2] = {2, 3};
  TFE_TensorHandle *m = ec_ramp(2, d22);
  TFE_TensorHandle *m23 = ec_ramp(2, d23);

  tr_case("bool attr");
  TFE_Op *op = ec_op(c, "MatMul");
  ec_in(op, m);
  ec_in(op, m);
  TFE_OpSetAttrBool(op, "transpose_a", 1);
  ec_exec("transpose_a", op, 1);
  op = ec_op(c, "MatMul");
  ec_in(op, m);
  ec_in(op, m23);
  TFE_OpSetAttrBool(op, "transpose_b", 1);
  ec_exec("transpose_b", op, 1);

  tr_case("missing required attr");
  op = ec_op(c, "Const");
  ec_exec("Const without attrs", op, 1);
  op = ec_op(c, "Split");
  TFE_TensorHandle *z = ec_i0(0);
  ec_in(op, z);
  ec_in(op, m);
  ec_exec("Split without num_split", op, 2);
  op = ec_op(c, "RandomUniform");
  TFE_TensorHandle *sh = ec_i1(1, (int32_t[]){2});
  ec_in(op, sh);
  ec_exec("RandomUniform without dtype", op, 1);
  op = ec_op(c, "VarHandleOp");
  TFE_OpSetAttrType(op, "dtype", TF_FLOAT);
  ec_exec("VarHandleOp without shape", op, 1);

  tr_case("attr of the wrong kind");
  op = ec_op(c, "MatMul");
  ec_in(op, m);
  ec_in(op, m);
  TFE_OpSetAttrInt(op, "transpose_a", 1);
  ec_exec("int for bool", op, 1);
  op = ec_op(c, "Split");
  ec_in(op, z);
  ec_in(op, m);
  TFE_OpSetAttrString(op, "num_split", "2", 1);
  ec_exec("string for int", op, 2);
  op = ec_op(c, "MatMul");
  ec_in(op, m);
  ec_in(op, m);
  TFE_OpSetAttrBoolList(op, "transpose_a", (unsigned char[]){1}, 1);
  ec_exec("list for scalar", op, 1);

  tr_case("attr the op does not have");
  op = ec_op(c, "Neg");
  ec_in(op, m);
  TFE_OpSetAttrInt(op, "bogus", 3);
  ec_exec("bogus", op, 1);
  op = ec_op(c, "Neg");
  ec_in(op, m);
  TFE_OpSetAttrInt(op, "_private", 3);
  ec_exec("_private", op, 1);

  tr_case("attr value not allowed");
  int64_t d4[4] = {1, 2, 2, 1};
  TFE_TensorHandle *img = ec_ramp(4, d4);
  op = ec_op(c, "MaxPool");
  ec_in(op, img);
  TFE_OpSetAttrIntList(op, "ksize", (int64_t[]){1, 2, 2, 1}, 4);
  TFE_OpSetAttrIntList(op, "strides", (int64_t[]){1, 1, 1, 1}, 4);
  TFE_OpSetAttrString(op, "padding", "WRONG", 5);
  ec_exec("padding", op, 1);
  op = ec_op(c, "MaxPool");
  ec_in(op, img);
  TFE_OpSetAttrIntList(op, "ksize", (int64_t[]){1, 2}, 2);
  TFE_OpSetAttrIntList(op, "strides", (int64_t[]){1, 1, 1, 1}, 4);
  TFE_OpSetAttrString(op, "padding", "SAME", 4);
  ec_exec("short ksize", op, 1);
  op = ec_op(c, "MaxPool");
  ec_in(op, img);
  TFE_OpSetAttrIntList(op, "ksize", (int64_t[]){1, 2, 2, 1}, 4);
  TFE_OpSetAttrIntList(op, "strides", (int64_t[]){1, 1, 1, 1}, 4);
  TFE_OpSetAttrString(op, "padding", "SAME", 4);
  ec_exec("good", op, 1);
  op = ec_op(c, "Split");
  ec_in(op, z);
  ec_in(op, m);
  TFE_OpSetAttrInt(op, "num_split", 0);
  ec_exec("below minimum", op, 2);

  tr_case("first value wins");
  op = ec_op(c, "Cast");
  ec_in(op, z);
  TFE_OpSetAttrType(op, "DstT", TF_DOUBLE);
  TFE_OpSetAttrType(op, "DstT", TF_INT8);
  ec_exec("Cast", op, 1);

  tr_case("float, list and shape attrs at work");
  op = ec_op(c, "LeakyRelu");
  TFE_TensorHandle *neg = ec_f1(3, (float[]){-4, 0, 4});
  ec_in(op, neg);
  ec_exec("LeakyRelu default", op, 1);
  op = ec_op(c, "LeakyRelu");
  ec_in(op, neg);
  TFE_OpSetAttrFloat(op, "alpha", 0.5f);
  ec_exec("LeakyRelu 0.5", op, 1);
  op = ec_op(c, "Bucketize");
  ec_in(op, neg);
  TFE_OpSetAttrFloatList(op, "boundaries", (float[]){-1, 1}, 2);
  ec_exec("Bucketize", op, 1);
  op = ec_op(c, "Squeeze");
  ec_in(op, img);
  TFE_OpSetAttrIntList(op, "squeeze_dims", (int64_t[]){-1}, 1);
  ec_exec("Squeeze -1", op, 1);
  op = ec_op(c, "Squeeze");
  ec_in(op, img);
  ec_exec("Squeeze all", op, 1);
  op = ec_op(c, "EnsureShape");
  ec_in(op, m23);
  TFE_OpSetAttrShape(op, "shape", (int64_t[]){2, -1}, 2, S);
  ec_exec("EnsureShape ok", op, 1);
  op = ec_op(c, "EnsureShape");
  ec_in(op, m23);
  TFE_OpSetAttrShape(op, "shape", (int64_t[]){3, -1}, 2, S);
  ec_exec("EnsureShape bad", op, 1);

  TFE_TensorHandle *all[] = {m, m23, z, sh, img, neg};
  for (size_t q = 0; q < sizeof all / sizeof *all; q++) TFE_DeleteTensorHandle(all[q]);
}

int main(void) {
  ec_open();
  TFE_Context *c = ec_ctx();
  types(c);
  serialize(c);
  execution(c);
  TFE_DeleteContext(c);
  return ec_close();
}
