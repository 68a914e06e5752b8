/* Resource variables run eagerly. */
#include "eager_common.h"

static TFE_Context *C;

static TFE_TensorHandle *var(const char *name, TF_DataType dt, int nd, const int64_t *dims) {
  TFE_Op *op = ec_op(C, "VarHandleOp");
  TFE_OpSetAttrType(op, "dtype", dt);
  TFE_OpSetAttrShape(op, "shape", dims, nd, S);
  TFE_OpSetAttrString(op, "shared_name", name, strlen(name));
  return ec_exec_keep("VarHandleOp", op, 1);
}

static void assign(const char *kind, TFE_TensorHandle *v, TFE_TensorHandle *x) {
  TFE_Op *op = ec_op(C, kind);
  ec_in(op, v);
  ec_in(op, x);
  ec_exec(kind, op, 0);
  TFE_DeleteTensorHandle(x);
}

static void assign_validate(TFE_TensorHandle *v, TFE_TensorHandle *x) {
  TFE_Op *op = ec_op(C, "AssignVariableOp");
  ec_in(op, v);
  ec_in(op, x);
  TFE_OpSetAttrBool(op, "validate_shape", 1);
  ec_exec("AssignVariableOp validate_shape", op, 0);
  TFE_DeleteTensorHandle(x);
}

static void rd(TFE_TensorHandle *v, TF_DataType dt) {
  TFE_Op *op = ec_op(C, "ReadVariableOp");
  ec_in(op, v);
  TFE_OpSetAttrType(op, "dtype", dt);
  ec_exec("ReadVariableOp", op, 1);
}

static void is_init(TFE_TensorHandle *v) {
  TFE_Op *op = ec_op(C, "VarIsInitializedOp");
  ec_in(op, v);
  ec_exec("VarIsInitializedOp", op, 1);
}

static void destroy(TFE_TensorHandle *v, int ignore) {
  TFE_Op *op = ec_op(C, "DestroyResourceOp");
  ec_in(op, v);
  TFE_OpSetAttrBool(op, "ignore_lookup_error", (unsigned char)ignore);
  ec_exec("DestroyResourceOp", op, 0);
}

int main(void) {
  ec_open();
  C = ec_ctx();
  int64_t d2[1] = {2};
  const float f12[2] = {1, 2}, f34[2] = {3, 4}, f3[3] = {7, 8, 9};

  tr_case("fresh variable");
  TFE_TensorHandle *v = var("v", TF_FLOAT, 1, d2);
  printf("dtype %s dims %d elements %" PRId64 "\n", tr_dtype_name((int)TFE_TensorHandleDataType(v)),
         TFE_TensorHandleNumDims(v, S), TFE_TensorHandleNumElements(v, S));
  printf("device %s\n", TFE_TensorHandleDeviceName(v, S));
  printf("backing %s\n", TFE_TensorHandleBackingDeviceName(v, S));
  is_init(v);
  rd(v, TF_FLOAT);
  assign("AssignAddVariableOp", v, ec_f1(2, f12));

  tr_case("assign and read");
  assign("AssignVariableOp", v, ec_f1(2, f12));
  is_init(v);
  rd(v, TF_FLOAT);
  assign("AssignAddVariableOp", v, ec_f1(2, f34));
  rd(v, TF_FLOAT);
  assign("AssignSubVariableOp", v, ec_f1(2, f12));
  rd(v, TF_FLOAT);

  tr_case("read keeps its value after a later write");
  TFE_Op *op = ec_op(C, "ReadVariableOp");
  ec_in(op, v);
  TFE_OpSetAttrType(op, "dtype", TF_FLOAT);
  TFE_TensorHandle *old = ec_exec_keep("ReadVariableOp", op, 1);
  assign("AssignAddVariableOp", v, ec_f1(2, f12));
  ec_handle("old read", old);
  rd(v, TF_FLOAT);
  TFE_DeleteTensorHandle(old);

  tr_case("dtype errors");
  rd(v, TF_INT32);
  assign("AssignVariableOp", v, ec_i0(1));
  op = ec_op(C, "ReadVariableOp");
  ec_in(op, v);
  ec_exec("ReadVariableOp without dtype", op, 1);
  op = ec_op(C, "AssignVariableOp");
  TFE_TensorHandle *x = ec_f1(2, f12);
  ec_in(op, v);
  ec_in(op, x);
  TFE_OpSetAttrType(op, "dtype", TF_INT32);
  ec_exec("AssignVariableOp with wrong dtype", op, 0);
  op = ec_op(C, "ReadVariableOp");
  ec_in(op, x);
  TFE_OpSetAttrType(op, "dtype", TF_FLOAT);
  ec_exec("ReadVariableOp of a float", op, 1);
  TFE_DeleteTensorHandle(x);

  tr_case("shape changes");
  assign("AssignAddVariableOp", v, ec_f1(3, f3));
  assign_validate(v, ec_f1(3, f3));
  rd(v, TF_FLOAT);
  assign("AssignVariableOp", v, ec_f1(3, f3));
  rd(v, TF_FLOAT);
  op = ec_op(C, "VariableShape");
  ec_in(op, v);
  ec_exec("VariableShape", op, 1);

  tr_case("same shared name is the same variable");
  TFE_TensorHandle *v2 = var("v", TF_FLOAT, 1, d2);
  rd(v2, TF_FLOAT);
  TFE_TensorHandle *w = var("w", TF_FLOAT, 1, d2);
  is_init(w);

  tr_case("same shared name, other dtype");
  TFE_TensorHandle *vi = var("v", TF_INT32, 1, d2);
  if (vi) {
    is_init(vi);
    rd(vi, TF_INT32);
    rd(vi, TF_FLOAT);
    assign("AssignVariableOp", vi, ec_i0(4));
    TFE_DeleteTensorHandle(vi);
  }

  tr_case("identity of a handle");
  op = ec_op(C, "Identity");
  ec_in(op, v);
  TFE_TensorHandle *vid = ec_exec_keep("Identity", op, 1);
  rd(vid, TF_FLOAT);
  TFE_DeleteTensorHandle(vid);

  tr_case("resolve a resource handle");
  TF_Tensor *t = TFE_TensorHandleResolve(v, S);
  ec_st("resolve");
  if (t) {
    printf("dtype %s dims %d\n", tr_dtype_name((int)TF_TensorType(t)), TF_NumDims(t));
    TFE_TensorHandle *again = TFE_NewTensorHandle(t, S);
    ec_st("handle from the resolved tensor");
    if (again) {
      rd(again, TF_FLOAT);
      TFE_DeleteTensorHandle(again);
    }
    TF_DeleteTensor(t);
  }

  tr_case("scatter and gather");
  TFE_TensorHandle *idx = ec_i1(2, (int32_t[]){0, 2});
  TFE_TensorHandle *bad = ec_i1(2, (int32_t[]){0, 5});
  TFE_TensorHandle *up = ec_f1(2, (float[]){100, 200});
  static const char *const sc[] = {"ResourceScatterUpdate", "ResourceScatterAdd",
                                   "ResourceScatterMul"};
  for (int i = 0; i < 3; i++) {
    op = ec_op(C, sc[i]);
    ec_in(op, v);
    ec_in(op, idx);
    ec_in(op, up);
    TFE_OpSetAttrType(op, "dtype", TF_FLOAT);
    ec_exec(sc[i], op, 0);
    rd(v, TF_FLOAT);
  }
  op = ec_op(C, "ResourceScatterUpdate");
  ec_in(op, v);
  ec_in(op, bad);
  ec_in(op, up);
  TFE_OpSetAttrType(op, "dtype", TF_FLOAT);
  ec_exec("ResourceScatterUpdate out of range", op, 0);
  op = ec_op(C, "ResourceGather");
  ec_in(op, v);
  ec_in(op, idx);
  TFE_OpSetAttrType(op, "dtype", TF_FLOAT);
  ec_exec("ResourceGather", op, 1);
  op = ec_op(C, "ResourceGather");
  ec_in(op, v);
  ec_in(op, bad);
  TFE_OpSetAttrType(op, "dtype", TF_FLOAT);
  ec_exec("ResourceGather out of range", op, 1);

  tr_case("optimizer step");
  TFE_TensorHandle *lr = ec_f0(0.5f);
  TFE_TensorHandle *g = ec_f1(3, (float[]){2, 4, 6});
  op = ec_op(C, "ResourceApplyGradientDescent");
  ec_in(op, v);
  ec_in(op, lr);
  ec_in(op, g);
  ec_exec("ResourceApplyGradientDescent", op, 0);
  rd(v, TF_FLOAT);
  TFE_DeleteTensorHandle(g);
  g = ec_f1(2, f12);
  op = ec_op(C, "ResourceApplyGradientDescent");
  ec_in(op, v);
  ec_in(op, lr);
  ec_in(op, g);
  ec_exec("wrong gradient shape", op, 0);
  op = ec_op(C, "ResourceApplyGradientDescent");
  ec_in(op, w);
  ec_in(op, lr);
  ec_in(op, g);
  ec_exec("uninitialized variable", op, 0);

  tr_case("destroy");
  destroy(v, 0);
  is_init(v);
  rd(v, TF_FLOAT);
  destroy(v, 1);
  destroy(v, 0);
  assign("AssignVariableOp", v, ec_f1(2, f12));
  rd(v, TF_FLOAT);
  destroy(v, 0);

  tr_case("anonymous variable");
  TFE_TensorHandle *anon = var("cd2c89b7-88b7-44c8-ad83-06c2a9158347", TF_FLOAT, 1, d2);
  assign("AssignVariableOp", anon, ec_f1(2, f34));
  rd(anon, TF_FLOAT);
  TFE_TensorHandle *anon2 = var("cd2c89b7-88b7-44c8-ad83-06c2a9158347", TF_FLOAT, 1, d2);
  is_init(anon2);
  rd(anon2, TF_FLOAT);

  tr_case("other dtypes");
  const char *sv[1] = {"text"};
  TFE_TensorHandle *vs = var("s", TF_STRING, 0, NULL);
  assign("AssignVariableOp", vs, ec_h(tr_strings(NULL, 0, sv)));
  rd(vs, TF_STRING);
  assign("AssignAddVariableOp", vs, ec_h(tr_strings(NULL, 0, sv)));
  TFE_TensorHandle *vb = var("b", TF_BOOL, 0, NULL);
  assign("AssignVariableOp", vb, ec_b0(1));
  rd(vb, TF_BOOL);
  TFE_TensorHandle *vu = var("u", TF_FLOAT, -1, NULL);
  assign("AssignVariableOp", vu, ec_f0(5));
  assign("AssignVariableOp", vu, ec_f1(2, f12));
  rd(vu, TF_FLOAT);

  TFE_TensorHandle *all[] = {v, v2, w, idx, bad, up, lr, g, anon, anon2, vs, vb, vu};
  for (size_t q = 0; q < sizeof all / sizeof *all; q++) TFE_DeleteTensorHandle(all[q]);
  TFE_DeleteContext(C);
  return ec_close();
}
