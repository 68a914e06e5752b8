/* Every TF_SetAttr* on an attribute of every declared kind, and what is said when the node is finished. */
#include "transcript_graph.h"

/* op, attribute, what else it needs */
static const struct {
  const char *op, *attr, *kind;
} targets[] = {
    {"Placeholder", "dtype", "type"},
    {"Placeholder", "shape", "shape"},
    {"Const", "value", "tensor"},
    {"RandomUniformInt", "seed", "int"},
    {"VarHandleOp", "shared_name", "string"},
    {"FIFOQueueV2", "component_types", "list(type)"},
    {"FIFOQueueV2", "shapes", "list(shape)"},
    {"FIFOQueueV2", "capacity", "int"},
    {"MaxPool", "ksize", "list(int)"},
    {"LeakyRelu", "alpha", "float"},
    {"Squeeze", "squeeze_dims", "list(int)"},
    {"FakeParam", "shape", "shape"},
    {"PartitionedCall", "f", "func"},
    {"PartitionedCall", "config", "string"},
    {"VarHandleOp", "allowed_devices", "list(string)"},
    {"BoostedTreesBucketize", "num_features", "int"},
    {"Bucketize", "boundaries", "list(float)"},
    {"Sum", "keep_dims", "bool"},
    {"NoOp", "free", "undeclared"},
    {"NoOp", "_free", "undeclared"},
};

static void set(TF_OperationDescription *d, const char *a, int how) {
  static const void *const list[] = {"x", "yz"};
  static const size_t lens[] = {1, 2};
  static const int64_t ints[] = {1, 2, 3, 4};
  static const float floats[] = {1.5f, 2.5f};
  static const unsigned char bools[] = {1, 0};
  static const TF_DataType types[] = {TF_FLOAT, TF_INT32};
  static const int64_t dims[] = {2, -1};
  static const int64_t *const shapes[] = {dims, dims};
  static const int ranks[] = {2, -1};

  TF_Tensor *t = NULL;
  TF_SetStatus(st, TF_OK, "");
  switch (how) {
    case 0: TF_SetAttrString(d, a, "SAME", 4); break;
    case 1: TF_SetAttrStringList(d, a, list, lens, 2); break;
    case 2: TF_SetAttrInt(d, a, 7); break;
    case 3: TF_SetAttrIntList(d, a, ints, 4); break;
    case 4: TF_SetAttrFloat(d, a, 0.5f); break;
    case 5: TF_SetAttrFloatList(d, a, floats, 2); break;
    case 6: TF_SetAttrBool(d, a, 1); break;
    case 7: TF_SetAttrBoolList(d, a, bools, 2); break;
    case 8: TF_SetAttrType(d, a, TF_INT64); break;
    case 9: TF_SetAttrTypeList(d, a, types, 2); break;
    case 10: TF_SetAttrPlaceholder(d, a, "ph"); break;
    case 11: TF_SetAttrFuncName(d, a, "fn", 2); break;
    case 12: TF_SetAttrShape(d, a, dims, 2); break;
    case 13: TF_SetAttrShapeList(d, a, shapes, ranks, 2); break;
    case 14:
      t = tr_i32(5);
      TF_SetAttrTensor(d, a, t, st);
      break;
    case 15: {
      t = tr_i32(5);
      TF_Tensor *two[2] = {t, t};
      TF_SetAttrTensorList(d, a, two, 2, st);
      break;
    }
    case 16: TF_SetAttrIntList(d, a, NULL, 0); break;
    case 17: TF_SetAttrStringList(d, a, NULL, NULL, 0); break;
    case 18: TF_SetAttrValueProto(d, a, "\x18\x09", 2, st); break; /* i: 9 */
    case 19: TF_SetAttrValueProto(d, a, "\x18", 1, st); break;
    case 20: TF_SetAttrTensorShapeProto(d, a, "\x12\x02\x08\x03", 4, st); break;
    case 21: TF_SetAttrFuncName(d, a, "", 0); break;
    default: break;
  }
  if (TF_GetCode(st) != TF_OK) tr_status("  set", st);
  if (t) TF_DeleteTensor(t);
}

int main(void) {
  static const char *const how_name[] = {
      "string", "strings",   "int",         "ints",      "float",       "floats",
      "bool",   "bools",     "type",        "types",     "placeholder", "func",
      "shape",  "shapes",    "tensor",      "tensors",   "no ints",     "no strings",
      "proto",  "bad proto", "shape proto", "empty func"};
  tg_begin();
  for (size_t k = 0; k < sizeof targets / sizeof targets[0]; ++k) {
    char name[96];
    snprintf(name, sizeof name, "%s.%s: %s", targets[k].op, targets[k].attr, targets[k].kind);
    tr_case(name);
    bool declared = strcmp(targets[k].kind, "undeclared") != 0;
    for (int how = 0; how < 22; ++how) {
      if (declared && how == 10) continue; /* only bodies of functions have placeholders */
      TF_Graph *g = TF_NewGraph();
      TF_Operation *f = tg_ph(g, TF_FLOAT, "f", NULL, -2), *i = tg_ph(g, TF_INT32, "i", NULL, -2);
      TF_OperationDescription *d = TF_NewOperation(g, targets[k].op, "n");
      const char *op = targets[k].op;
      if (strcmp(op, "MaxPool") == 0 || strcmp(op, "LeakyRelu") == 0 ||
          strcmp(op, "Squeeze") == 0 || strcmp(op, "Sum") == 0 || strcmp(op, "Bucketize") == 0)
        TF_AddInput(d, tg_out(f, 0));
      if (strcmp(op, "Sum") == 0) TF_AddInput(d, tg_out(i, 0));
      if (strcmp(op, "RandomUniformInt") == 0)
        for (int n = 0; n < 3; ++n) TF_AddInput(d, tg_out(i, 0));
      if (strcmp(op, "PartitionedCall") == 0) {
        TF_Output in = tg_out(f, 0);
        TF_AddInputList(d, &in, 1);
        TF_DataType types[1] = {TF_FLOAT};
        TF_SetAttrTypeList(d, "Tout", types, 1);
      }
      if (strcmp(op, "MaxPool") == 0) {
        static const int64_t ones[] = {1, 1, 1, 1};
        TF_SetAttrIntList(d, "strides", ones, 4);
        TF_SetAttrString(d, "padding", "SAME", 4);
      }
      if (strcmp(targets[k].attr, "dtype") != 0 &&
          (strcmp(op, "Placeholder") == 0 || strcmp(op, "VarHandleOp") == 0 ||
           strcmp(op, "FakeParam") == 0 || strcmp(op, "Const") == 0))
        TF_SetAttrType(d, "dtype", TF_INT32);
      if (strcmp(op, "VarHandleOp") == 0) TF_SetAttrShape(d, "shape", NULL, -1);
      if (strcmp(op, "FIFOQueueV2") == 0 && strcmp(targets[k].attr, "component_types") != 0) {
        TF_DataType types[2] = {TF_FLOAT, TF_FLOAT};
        TF_SetAttrTypeList(d, "component_types", types, 2);
      }
      set(d, targets[k].attr, how);
      TF_Operation *n = tg_finish_show(d, how_name[how]);
      if (n && (declared || how < 16 || how > 17)) { /* empty and undeclared: no kind at all */
        TF_AttrMetadata m = TF_OperationGetAttrMetadata(n, targets[k].attr, st);
        if (TF_GetCode(st) == TF_OK)
          printf("  list %d size %d type %d total %d\n", m.is_list, (int)m.list_size, (int)m.type,
                 (int)m.total_size);
        else
          tr_status("  metadata", st);
      }
      TF_DeleteGraph(g);
    }
  }
  tg_end();
  return 0;
}
