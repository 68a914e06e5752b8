/* Every setter of attributes on an attribute of every kind: what TF_FinishOperation says. */
#include "transcript_graph.h"

typedef void (*setter)(TF_OperationDescription *d, const char *a);

static void set_string(TF_OperationDescription *d, const char *a) {
  TF_SetAttrString(d, a, "SAME", 4);
}
static void set_string_list(TF_OperationDescription *d, const char *a) {
  const void *v[2] = {"a", "bc"};
  size_t n[2] = {1, 2};
  TF_SetAttrStringList(d, a, v, n, 2);
}
static void set_int(TF_OperationDescription *d, const char *a) {
  TF_SetAttrInt(d, a, 3);
}
static void set_int_list(TF_OperationDescription *d, const char *a) {
  int64_t v[4] = {1, 2, 2, 1};
  TF_SetAttrIntList(d, a, v, 4);
}
static void set_no_ints(TF_OperationDescription *d, const char *a) {
  TF_SetAttrIntList(d, a, NULL, 0);
}
static void set_float(TF_OperationDescription *d, const char *a) {
  TF_SetAttrFloat(d, a, 0.5f);
}
static void set_float_list(TF_OperationDescription *d, const char *a) {
  float v[2] = {1, 2.5f};
  TF_SetAttrFloatList(d, a, v, 2);
}
static void set_bool(TF_OperationDescription *d, const char *a) {
  TF_SetAttrBool(d, a, 1);
}
static void set_bool_list(TF_OperationDescription *d, const char *a) {
  unsigned char v[2] = {0, 1};
  TF_SetAttrBoolList(d, a, v, 2);
}
static void set_type(TF_OperationDescription *d, const char *a) {
  TF_SetAttrType(d, a, TF_FLOAT);
}
static void set_bad_type(TF_OperationDescription *d, const char *a) {
  TF_SetAttrType(d, a, (TF_DataType)0);
}
static void set_ref_type(TF_OperationDescription *d, const char *a) {
  TF_SetAttrType(d, a, (TF_DataType)101);
}
static void set_type_list(TF_OperationDescription *d, const char *a) {
  TF_DataType v[2] = {TF_FLOAT, TF_INT32};
  TF_SetAttrTypeList(d, a, v, 2);
}
static void set_shape(TF_OperationDescription *d, const char *a) {
  int64_t v[2] = {2, -1};
  TF_SetAttrShape(d, a, v, 2);
}
static void set_bad_shape(TF_OperationDescription *d, const char *a) {
  int64_t v[2] = {2, -7};
  TF_SetAttrShape(d, a, v, 2);
}
static void set_shape_list(TF_OperationDescription *d, const char *a) {
  int64_t v[2] = {2, 3};
  const int64_t *p[2] = {v, NULL};
  int n[2] = {2, -1};
  TF_SetAttrShapeList(d, a, p, n, 2);
}
static void set_shape_proto(TF_OperationDescription *d, const char *a) {
  TF_SetAttrTensorShapeProto(d, a, "\x12\x02\x08\x05", 4, st);
  tr_status("  setter", st);
}
static void set_tensor(TF_OperationDescription *d, const char *a) {
  TF_Tensor *t = tr_f32(1.5f);
  TF_SetAttrTensor(d, a, t, st);
  tr_status("  setter", st);
  TF_DeleteTensor(t);
}
static void set_string_tensor(TF_OperationDescription *d, const char *a) {
  TF_Tensor *t = tr_str("word");
  TF_SetAttrTensor(d, a, t, st);
  tr_status("  setter", st);
  TF_DeleteTensor(t);
}
static void set_tensor_list(TF_OperationDescription *d, const char *a) {
  TF_Tensor *t[2] = {tr_f32(1.5f), tr_i32(2)};
  TF_SetAttrTensorList(d, a, t, 2, st);
  tr_status("  setter", st);
  TF_DeleteTensor(t[0]);
  TF_DeleteTensor(t[1]);
}
static void set_func(TF_OperationDescription *d, const char *a) {
  TF_SetAttrFuncName(d, a, "Func", 4);
}
static void set_placeholder(TF_OperationDescription *d, const char *a) {
  TF_SetAttrPlaceholder(d, a, "T");
}
static void set_value_proto(TF_OperationDescription *d, const char *a) {
  TF_SetAttrValueProto(d, a, "\x18\x07", 2, st);
  tr_status("  setter", st);
}

static const struct {
  const char *name;
  setter set;
} kSetters[] = {{"string", set_string},
                {"string list", set_string_list},
                {"int", set_int},
                {"int list", set_int_list},
                {"no ints", set_no_ints},
                {"float", set_float},
                {"float list", set_float_list},
                {"bool", set_bool},
                {"bool list", set_bool_list},
                {"type", set_type},
                {"bad type", set_bad_type},
                {"ref type", set_ref_type},
                {"type list", set_type_list},
                {"shape", set_shape},
                {"bad shape", set_bad_shape},
                {"shape list", set_shape_list},
                {"shape proto", set_shape_proto},
                {"tensor", set_tensor},
                {"string tensor", set_string_tensor},
                {"tensor list", set_tensor_list},
                {"func", set_func},
                {"placeholder", set_placeholder},
                {"value proto", set_value_proto}};

/* The op, the attribute that is tried, and how many float inputs it has. */
static const struct {
  const char *op, *attr;
  int inputs;
} kTargets[] = {{"MaxPool", "padding", 1},    {"MaxPool", "ksize", 1},
                {"LeakyRelu", "alpha", 1},    {"MatMul", "transpose_a", 2},
                {"Cast", "DstT", 1},          {"Placeholder", "shape", 0},
                {"Const", "value", 0},        {"ArgMax", "output_type", 0},
                {"PartitionedCall", "f", 0},  {"FIFOQueueV2", "component_types", 0},
                {"FIFOQueueV2", "shapes", 0}, {"Bucketize", "boundaries", 1},
                {"StageSize", "dtypes", 0},   {"Squeeze", "squeeze_dims", 1},
                {"RandomUniform", "seed", 0}, {"Print", "first_n", 1},
                {"NoOp", "_anything", 0},     {"Case", "branches", 0}};

static void one(size_t k, size_t s) {
  TF_Graph *g = TF_NewGraph();
  int64_t dims[4] = {1, 4, 4, 1};
  TF_Operation *p =
      tg_ph(g, TF_FLOAT, "p", dims, kTargets[k].op[0] == 'M' && kTargets[k].op[2] == 't' ? 2 : 4);
  TF_OperationDescription *d = TF_NewOperation(g, kTargets[k].op, "n");
  for (int i = 0; i < kTargets[k].inputs; ++i) TF_AddInput(d, tg_out(p, 0));
  if (strcmp(kTargets[k].attr, "ksize") == 0) set_string(d, "padding");
  if (strcmp(kTargets[k].op, "MaxPool") == 0) {
    set_int_list(d, "strides");
    if (strcmp(kTargets[k].attr, "ksize") != 0) set_int_list(d, "ksize");
  }
  if (strcmp(kTargets[k].op, "Placeholder") == 0 || strcmp(kTargets[k].op, "Const") == 0)
    TF_SetAttrType(d, "dtype", TF_FLOAT);
  if (strcmp(kTargets[k].attr, "shapes") == 0) set_type_list(d, "component_types");
  kSetters[s].set(d, kTargets[k].attr);
  TF_Operation *op = TF_FinishOperation(d, st);
  tr_status(kSetters[s].name, st);
  if (op != NULL) {
    TF_AttrMetadata m = TF_OperationGetAttrMetadata(op, kTargets[k].attr, st);
    /* TensorFlow leaves the kind of an empty list that no signature knows unset. */
    bool unset = kSetters[s].set == set_no_ints && kTargets[k].attr[0] == '_';
    if (tr_status("  meta", st) && !unset)
      printf("  list %d size %d type %d total %d\n", m.is_list, (int)m.list_size, (int)m.type,
             (int)m.total_size);
  }
  TF_DeleteGraph(g);
}

int main(void) {
  tg_begin();
  for (size_t k = 0; k < sizeof kTargets / sizeof kTargets[0]; ++k) {
    char b[64];
    snprintf(b, sizeof b, "%s of %s", kTargets[k].attr, kTargets[k].op);
    tr_case(b);
    for (size_t s = 0; s < sizeof kSetters / sizeof kSetters[0]; ++s)
      if (kSetters[s].set != set_placeholder || kTargets[k].attr[0] == '_') one(k, s);
  }
  tg_end();
  return 0;
}
