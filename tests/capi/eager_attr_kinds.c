/* Every eager setter of attributes on attributes of every kind, executed. */
#include "eager_common.h"

static TFE_Context *ctx;

static void set(TFE_Op *op, const char *a, int kind) {
  static const int64_t ints[4] = {1, 2, 2, 1}, dims[2] = {2, 1};
  static const float floats[2] = {0.5f, 2};
  static const unsigned char bools[2] = {1, 0};
  static const TF_DataType types[2] = {TF_FLOAT, TF_INT32};
  const void *strings[2] = {"ab", "c"};
  size_t lens[2] = {2, 1};
  const int64_t *shapes[2] = {dims, NULL};
  int ranks[2] = {2, -1};
  TF_Tensor *t;
  switch (kind) {
    case 0: TFE_OpSetAttrString(op, a, "SAME", 4); break;
    case 1: TFE_OpSetAttrInt(op, a, 1); break;
    case 2: TFE_OpSetAttrFloat(op, a, 0.5f); break;
    case 3: TFE_OpSetAttrBool(op, a, 1); break;
    case 4: TFE_OpSetAttrType(op, a, TF_INT32); break;
    case 5: TFE_OpSetAttrShape(op, a, dims, 2, S); break;
    case 6:
      t = tr_f32(3);
      TFE_OpSetAttrTensor(op, a, t, S);
      TF_DeleteTensor(t);
      break;
    case 7: TFE_OpSetAttrFunctionName(op, a, "Func", 4); break;
    case 8: TFE_OpSetAttrStringList(op, a, strings, lens, 2); break;
    case 9: TFE_OpSetAttrIntList(op, a, ints, 4); break;
    case 10: TFE_OpSetAttrFloatList(op, a, floats, 2); break;
    case 11: TFE_OpSetAttrBoolList(op, a, bools, 2); break;
    case 12: TFE_OpSetAttrTypeList(op, a, types, 2); break;
    case 13: TFE_OpSetAttrShapeList(op, a, shapes, ranks, 2, S); break;
    default: break;
  }
}

static const char *const kKinds[] = {"string", "int",    "float", "bool",    "type",
                                     "shape",  "tensor", "func",  "strings", "ints",
                                     "floats", "bools",  "types", "shapes",  "nothing"};

static const struct {
  const char *op, *attr;
  int inputs;
} kTargets[] = {{"MaxPool", "padding", 1},
                {"MaxPool", "ksize", 1},
                {"LeakyRelu", "alpha", 1},
                {"Elu", "alpha", 1},
                {"Cast", "DstT", 1},
                {"Cast", "Truncate", 1},
                {"Squeeze", "squeeze_dims", 1},
                {"Print", "first_n", 2},
                {"Const", "value", 0},
                {"Const", "dtype", 0},
                {"Bucketize", "boundaries", 1},
                {"Pack", "axis", 1},
                {"Pack", "N", 1},
                {"VarHandleOp", "shape", 0},
                {"PartitionedCall", "f", 0}};

int main(void) {
  ec_open();
  ctx = ec_ctx();
  int64_t d4[4] = {1, 4, 4, 1};
  TFE_TensorHandle *x = ec_ramp(4, d4), *axis = ec_i0(1);
  for (size_t k = 0; k < sizeof kTargets / sizeof kTargets[0]; ++k) {
    char b[64];
    snprintf(b, sizeof b, "%s of %s", kTargets[k].attr, kTargets[k].op);
    tr_case(b);
    for (int kind = 0; kind < 15; ++kind) {
      TFE_Op *op = ec_op(ctx, kTargets[k].op);
      const char *a = kTargets[k].attr, *name = kTargets[k].op;
      if (strcmp(name, "MaxPool") == 0) {
        set(op, "strides", 9);
        set(op, strcmp(a, "ksize") == 0 ? "padding" : "ksize", strcmp(a, "ksize") == 0 ? 0 : 9);
      }
      if (strcmp(name, "Cast") == 0 && strcmp(a, "DstT") != 0) set(op, "DstT", 4);
      if (strcmp(name, "Const") == 0)
        strcmp(a, "value") == 0 ? TFE_OpSetAttrType(op, "dtype", TF_FLOAT) : set(op, "value", 6);
      if (strcmp(name, "VarHandleOp") == 0) {
        TFE_OpSetAttrType(op, "dtype", TF_FLOAT);
        TFE_OpSetAttrString(op, "shared_name", kKinds[kind], strlen(kKinds[kind]));
      }
      if (strcmp(name, "PartitionedCall") == 0) {
        TFE_OpSetAttrTypeList(op, "Tin", NULL, 0);
        TFE_OpSetAttrTypeList(op, "Tout", NULL, 0);
      }
      set(op, a, kind);
      if (TF_GetCode(S) != TF_OK) ec_st("setter");
      if (strcmp(name, "Pack") == 0) {
        TFE_TensorHandle *l[2] = {x, x};
        TFE_OpAddInputList(op, l, 2, S);
        if (TF_GetCode(S) != TF_OK) ec_st("inputs");
      } else {
        if (kTargets[k].inputs > 0) ec_in(op, x);
        if (kTargets[k].inputs > 1) ec_in(op, axis);
      }
      ec_exec(kKinds[kind], op, 2);
    }
  }
  tr_case("functions as attributes");
  TFE_Op *call = ec_op(ctx, "StatelessIf"), *fn = ec_op(ctx, "Neg");
  TFE_OpSetAttrFunction(call, "then_branch", fn);
  const TFE_Op *fns[1] = {fn};
  TFE_OpSetAttrFunctionList(call, "else_branch", fns, 1);
  TFE_DeleteOp(fn);
  TFE_TensorHandle *yes = ec_b0(1);
  ec_in(call, yes);
  TFE_OpSetAttrTypeList(call, "Tin", NULL, 0);
  TFE_OpSetAttrTypeList(call, "Tout", NULL, 0);
  ec_exec("If", call, 1);
  TFE_DeleteTensorHandle(yes);
  tr_case("kinds of attributes");
  static const char *const ops[][2] = {
      {"MaxPool", "ksize"},   {"MaxPool", "T"},      {"MaxPool", "padding"},
      {"Case", "branches"},   {"If", "then_branch"}, {"Case", "output_shapes"},
      {"Const", "value"},     {"Const", "nope"},     {"Bucketize", "boundaries"},
      {"LeakyRelu", "alpha"}, {"Cast", "Truncate"},  {"ParseExampleV2", "dense_shapes"},
      {"NoOp", ""},           {"Func", "f"}};
  for (size_t i = 0; i < sizeof ops / sizeof ops[0]; ++i) {
    unsigned char list = 7;
    TF_AttrType t = TFE_OpNameGetAttrType(ctx, ops[i][0], ops[i][1], &list, S);
    int ok = TF_GetCode(S) == TF_OK;
    printf("%s.%s ", ops[i][0], ops[i][1]);
    ec_st("kind");
    if (ok) printf("  %d list %d\n", (int)t, list);
  }
  TFE_DeleteTensorHandle(x);
  TFE_DeleteTensorHandle(axis);
  TFE_DeleteContext(ctx);
  return ec_close();
}
