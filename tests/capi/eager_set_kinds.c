/* Every TFE_OpSetAttr* on an attribute of every declared kind: what is said at once, at TFE_Execute, and
   what TFE_OpGetAttrType says of it. */
#include "eager_common.h"

static const struct {
  const char *op, *attr;
} targets[] = {
    {"VarHandleOp", "dtype"},    {"VarHandleOp", "shape"},    {"VarHandleOp", "shared_name"},
    {"FIFOQueueV2", "shapes"},   {"FIFOQueueV2", "capacity"}, {"FIFOQueueV2", "component_types"},
    {"LeakyRelu", "alpha"},      {"Sum", "keep_dims"},        {"MaxPool", "ksize"},
    {"Bucketize", "boundaries"}, {"PartitionedCall", "f"},    {"VarHandleOp", "allowed_devices"},
    {"Identity", "undeclared"},  {"Identity", "_hidden"},     {"Const", "value"},
};

static void set(TFE_Context *c, TFE_Op *op, const char *a, int how) {
  static const void *const list[] = {"x", "yz"};
  static const size_t lens[] = {1, 2};
  static const int64_t ints[] = {1, 2, 3, 4};
  static const float floats[] = {1.5f, 2.5f};
  static const unsigned char bools[] = {1, 0};
  static const TF_DataType types[] = {TF_FLOAT, TF_INT32};
  static const int64_t dims[] = {2, -1};
  const int64_t *shapes[] = {dims, dims};
  static const int ranks[] = {2, -1};
  TF_Tensor *t = NULL;
  switch (how) {
    case 0: TFE_OpSetAttrString(op, a, "SAME", 4); break;
    case 1: TFE_OpSetAttrInt(op, a, 7); break;
    case 2: TFE_OpSetAttrFloat(op, a, 0.5f); break;
    case 3: TFE_OpSetAttrBool(op, a, 1); break;
    case 4: TFE_OpSetAttrType(op, a, TF_INT64); break;
    case 5: TFE_OpSetAttrShape(op, a, dims, 2, S); break;
    case 6: {
      TFE_Op *f = ec_op(c, "Identity");
      TFE_OpSetAttrFunction(op, a, f);
      TFE_DeleteOp(f);
      break;
    }
    case 7: TFE_OpSetAttrFunctionName(op, a, "fn", 2); break;
    case 8:
      t = tr_i32(5);
      TFE_OpSetAttrTensor(op, a, t, S);
      break;
    case 9: TFE_OpSetAttrStringList(op, a, list, lens, 2); break;
    case 10: TFE_OpSetAttrIntList(op, a, ints, 4); break;
    case 11: TFE_OpSetAttrFloatList(op, a, floats, 2); break;
    case 12: TFE_OpSetAttrBoolList(op, a, bools, 2); break;
    case 13: TFE_OpSetAttrTypeList(op, a, types, 2); break;
    case 14: TFE_OpSetAttrShapeList(op, a, shapes, ranks, 2, S); break;
    case 15: TFE_OpSetAttrValueProto(op, a, "\x18\x09", 2, S); break;
    case 16: TFE_OpSetAttrValueProto(op, a, "\x18", 1, S); break;
    default: break;
  }
  if (TF_GetCode(S) != TF_OK) ec_st("  set");
  if (t) TF_DeleteTensor(t);
}

int main(void) {
  static const char *const how_name[] = {
      "string",  "int",  "float",  "bool",  "type",  "shape",  "func",  "name",     "tensor",
      "strings", "ints", "floats", "bools", "types", "shapes", "proto", "bad proto"};
  ec_open();
  TFE_Context *c = ec_ctx();
  for (size_t k = 0; k < sizeof targets / sizeof targets[0]; ++k) {
    char name[96];
    const char *on = targets[k].op, *an = targets[k].attr;
    snprintf(name, sizeof name, "%s.%s", on, an);
    tr_case(name);
    for (int how = 0; how < 17; ++how) {
      TFE_Op *op = ec_op(c, on);
      TFE_TensorHandle *f = ec_ramp(4, (int64_t[]){1, 2, 2, 1}), *i = ec_i0(0);
      if (strcmp(on, "FIFOQueueV2") != 0 && strcmp(on, "VarHandleOp") != 0 &&
          strcmp(on, "Const") != 0 && strcmp(on, "PartitionedCall") != 0)
        ec_in(op, f);
      if (strcmp(on, "Sum") == 0) ec_in(op, i);
      if (strcmp(on, "VarHandleOp") == 0) {
        TFE_OpSetAttrType(op, "dtype", TF_FLOAT);
        TFE_OpSetAttrShape(op, "shape", NULL, 0, S);
      }
      if (strcmp(on, "FIFOQueueV2") == 0)
        TFE_OpSetAttrTypeList(op, "component_types", (TF_DataType[]){TF_FLOAT, TF_FLOAT}, 2);
      if (strcmp(on, "PartitionedCall") == 0) {
        TFE_OpSetAttrTypeList(op, "Tin", NULL, 0);
        TFE_OpSetAttrTypeList(op, "Tout", NULL, 0);
      }
      if (strcmp(on, "Const") == 0) TFE_OpSetAttrType(op, "dtype", TF_INT32);
      if (strcmp(on, "Bucketize") == 0) TFE_OpSetAttrFloatList(op, "boundaries", (float[]){2}, 1);
      if (strcmp(on, "MaxPool") == 0) {
        TFE_OpSetAttrIntList(op, "ksize", (int64_t[]){1, 1, 1, 1}, 4);
        TFE_OpSetAttrIntList(op, "strides", (int64_t[]){1, 1, 1, 1}, 4);
        TFE_OpSetAttrString(op, "padding", "SAME", 4);
      }
      set(c, op, an, how);
      unsigned char is_list = 9;
      TF_AttrType type = TFE_OpGetAttrType(op, an, &is_list, S);
      if (TF_GetCode(S) == TF_OK)
        printf("  kind %d list %d\n", (int)type, is_list);
      else
        ec_st("  kind");
      ec_exec(how_name[how], op, 4);
      TFE_DeleteTensorHandle(f);
      TFE_DeleteTensorHandle(i);
    }
  }
  TFE_DeleteContext(c);
  return ec_close();
}
