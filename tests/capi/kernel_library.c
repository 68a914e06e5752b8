/* Kernel libraries: TF_LoadLibrary of plugin/kernel_library.c. */
#include "eager_common.h"
#include "tensorflow/c/kernels.h"

static void call(TFE_Context *c, const char *name) {
  TFE_Op *op = TFE_NewOp(c, name, S);
  if (!op) {
    ec_st(name);
    return;
  }
  TFE_TensorHandle *x = ec_i0(5);
  ec_in(op, x);
  ec_exec(name, op, 1);
  TFE_DeleteTensorHandle(x);
}

static TF_Library *load(const char *file) {
  printf("[%s]\n", file);
  TF_Library *l = TF_LoadLibrary(file, S);
  int ok = TF_GetCode(S) == TF_OK;
  ec_st("load");
  if (!ok) {
    printf("library %s\n", l ? "not null" : "null");
    return NULL;
  }
  TF_Buffer b = TF_GetOpList(l);
  printf("op list\n");
  tr_dump("OpList", b.data, b.length, 2);
  return l;
}

int main(void) {
  ec_open();
  ec_show_kernels = 1;
  ec_plugin("kernel_library.so", "./kernel_library.so");
  tr_case("missing file");
  load("./no_such_library.so");
  tr_case("not a library");
  FILE *f = fopen("./kernel_library_text.so", "w");
  if (f) {
    fputs("this is not an ELF file, although its name says so, and it is long enough\n", f);
    fclose(f);
  }
  load("./kernel_library_text.so");
  unlink("./kernel_library_text.so");

  tr_case("ops before loading");
  TFE_Context *c = ec_ctx();
  call(c, "FerryPlugA");

  tr_case("load");
  TF_Library *l = load("./kernel_library.so");
  TF_Buffer *kb = TF_GetRegisteredKernelsForOp("FerryPlugA", S);
  tr_dump_buffer("KernelList", kb);
  TF_DeleteBuffer(kb);
  kb = TF_GetRegisteredKernelsForOp("FerryPlugB", S);
  tr_dump_buffer("KernelList", kb);
  TF_DeleteBuffer(kb);
  call(c, "FerryPlugA");
  call(c, "FerryPlugB");

  tr_case("load again");
  TF_Library *l2 = load("./kernel_library.so");
  if (l2) TF_DeleteLibraryHandle(l2);

  tr_case("use in a graph");
  TF_Graph *g = TF_NewGraph();
  TF_OperationDescription *d = TF_NewOperation(g, "Placeholder", "x");
  TF_SetAttrType(d, "dtype", TF_INT32);
  TF_Output x = {TF_FinishOperation(d, S), 0};
  d = TF_NewOperation(g, "FerryPlugA", "a");
  TF_AddInput(d, x);
  TF_Output y = {TF_FinishOperation(d, S), 0};
  ec_st("finish");
  printf("dims %d\n", TF_GraphGetTensorNumDims(g, y, S));
  TF_SessionOptions *so = TF_NewSessionOptions();
  TF_Session *s = TF_NewSession(g, so, S);
  TF_Tensor *in = tr_i32(14);
  TF_Tensor *out = NULL;
  TF_SessionRun(s, NULL, &x, &in, 1, &y, &out, 1, NULL, 0, NULL, S);
  if (ec_st("run")) tr_show_free("y", out);
  TF_DeleteTensor(in);
  TF_DeleteSession(s, S);
  TF_DeleteSessionOptions(so);
  TF_DeleteGraph(g);

  tr_case("after deleting the handle");
  if (l) TF_DeleteLibraryHandle(l);
  call(c, "FerryPlugB");
  TFE_DeleteContext(c);

  tr_case("pluggable device library");
  TF_LoadPluggableDeviceLibrary("./no_such_library.so", S);
  ec_st("load missing");
  return ec_close();
}
