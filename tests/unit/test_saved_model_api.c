// SPDX-License-Identifier: Apache-2.0
// The experimental SavedModel API over the models of tests/data/zoo: every signature is called by
// its op in an eager context and must answer what TensorFlow answered; functions by path; errors.

#include "support_files.h"
#include "support_graph.h"

#include <sys/stat.h>
#include <unistd.h>

#include "api/eager_model.h"
#include "base/alloc.h"
#include "wire/file.h"
#include "wire/npy.h"

#define MAX_ENDS 16

static TFE_Context *new_context(void) {
  TF_Status *st = TF_NewStatus();
  TFE_ContextOptions *o = TFE_NewContextOptions();
  TFE_Context *c = TFE_NewContext(o, st);
  assert_int_equal(TF_GetCode(st), TF_OK);
  TFE_DeleteContextOptions(o);
  TF_DeleteStatus(st);
  return c;
}

static const char *zoo(const char *name) {
  static char path[256];
  snprintf(path, sizeof path, "tests/data/zoo/%s", name);
  return path;
}

static void ok(TF_Status *st, const char *where) {
  if (TF_GetCode(st)) fail_msg("%s: %d %s", where, TF_GetCode(st), TF_Message(st));
}

typedef struct ends {
  char keys[MAX_ENDS][64];
  fy_tensor *values[MAX_ENDS];
  int n;
} ends;

static fy_tensor *find(const ends *e, const TF_SignatureDefParam *p) {
  for (int i = 0; i < e->n; i++)
    if (strcmp(e->keys[i], TF_SignatureDefParamName(p)) == 0) return e->values[i];
  fail_msg("no value for %s", TF_SignatureDefParamName(p));
  return NULL;
}

// What is declared must allow |t|.
static void fits(const TF_SignatureDefParam *p, const fy_tensor *t) {
  const TF_TensorSpec *spec = TF_SignatureDefParamTensorSpec(p);
  const TF_Shape *shape = TF_TensorSpecShape(spec);
  assert_int_equal(TF_TensorSpecDataType(spec), t->dtype);
  if (TF_ShapeDims(shape) < 0) return;
  assert_int_equal(TF_ShapeDims(shape), t->rank);
  for (int i = 0; i < t->rank; i++)
    assert_true(TF_ShapeDimSize(shape, i) == -1 || TF_ShapeDimSize(shape, i) == t->dims[i]);
}

static void call(TF_SavedModel *m, const char *key, const ends *in, const ends *out,
                 const char *where) {
  TF_Status *st = TF_NewStatus();
  TF_SignatureDefFunction *f = TF_GetSavedModelSignatureDefFunction(m, key, st);
  ok(st, where);
  TF_SignatureDefFunctionMetadata *meta = TF_SignatureDefFunctionGetMetadata(f);
  const TF_SignatureDefParamList *args = TF_SignatureDefFunctionMetadataArgs(meta);
  const TF_SignatureDefParamList *returns = TF_SignatureDefFunctionMetadataReturns(meta);
  TFE_TensorHandle *inputs[MAX_ENDS], *results[MAX_ENDS];
  assert_int_equal(TF_SignatureDefParamListSize(args), in->n);
  assert_int_equal(TF_SignatureDefParamListSize(returns), out->n);
  assert_null(TF_SignatureDefParamListGet(args, in->n));
  for (int i = 0; i < in->n; i++) {
    fy_tensor *t = find(in, TF_SignatureDefParamListGet(args, i));
    fits(TF_SignatureDefParamListGet(args, i), t);
    fy_tensor_retain(t);
    inputs[i] = (TFE_TensorHandle *)fy_handle_new(t);
  }
  TFE_Op *op = TF_SignatureDefFunctionMakeCallOp(f, inputs, in->n, st);
  ok(st, where);
  int n = MAX_ENDS;
  TFE_Execute(op, results, &n, st);
  ok(st, where);
  assert_int_equal(n, out->n);
  TFE_DeleteOp(op);
  for (int i = 0; i < n; i++) {
    const TF_SignatureDefParam *p = TF_SignatureDefParamListGet(returns, i);
    fy_tensor *got;
    assert_int_equal(fy_handle_tensor_on((fy_handle *)results[i], NULL, &got, NULL, NULL), FY_OK);
    same_tensor(where, TF_SignatureDefParamName(p), find(out, p), got, 5e-6);
    fits(p, got);
    TFE_DeleteTensorHandle(results[i]);
  }
  for (int i = 0; i < in->n; i++) TFE_DeleteTensorHandle(inputs[i]);
  TF_DeleteStatus(st);
}

// Members of the archive are "number|signature|in or out|key"; those of one number are one run.
static void replay(TF_SavedModel *m, const char *name) {
  char path[256];
  uint8_t *bytes;
  size_t n;
  fy_wire_npz *z;
  int runs = 0;
  snprintf(path, sizeof path, "tests/data/zoo/%s.golden.npz", name);
  assert_int_equal(fy_wire_file_load(path, 1 << 24, &bytes, &n, NULL), FY_OK);
  assert_int_equal(fy_wire_npz_open(bytes, n, &z, NULL), FY_OK);
  for (;; runs++) {
    ends in = {.n = 0}, out = {.n = 0};
    char signature[64] = "", where[200];
    for (size_t k = 0; k < fy_wire_npz_count(z); k++) {
      fy_view member = fy_wire_npz_name(z, k);
      char text[256], *save;
      snprintf(text, sizeof text, "%.*s", (int)member.n, member.p);
      if (atoi(strtok_r(text, "|", &save)) != runs) continue;
      snprintf(signature, sizeof signature, "%s", strtok_r(NULL, "|", &save));
      ends *e = strcmp(strtok_r(NULL, "|", &save), "in") == 0 ? &in : &out;
      snprintf(e->keys[e->n], sizeof e->keys[0], "%s", strtok_r(NULL, "|", &save));
      assert_int_equal(fy_wire_npz_read(z, k, &e->values[e->n], NULL), FY_OK);
      plain(e->values[e->n++]);
    }
    if (!out.n) break;
    snprintf(where, sizeof where, "%s, run %d, %s", name, runs, signature);
    call(m, signature, &in, &out, where);
    for (int i = 0; i < in.n; i++) fy_tensor_release(in.values[i]);
    for (int i = 0; i < out.n; i++) fy_tensor_release(out.values[i]);
  }
  assert_true(runs > 0);
  fy_wire_npz_close(z);
  fy_free(bytes);
}

static void model(void **state) {
  TF_Status *st = TF_NewStatus();
  TFE_Context *c = new_context();
  // Two of one model in one context have state of their own.
  for (int i = 0; i < 2; i++) {
    TF_SavedModel *m = TF_LoadSavedModel(zoo(*state), c, st);
    ok(st, *state);
    replay(m, *state);
    TF_DeleteSavedModel(m);
  }
  TFE_DeleteContext(c);
  TF_DeleteStatus(st);
}

// ---------------------------------------------------------------- functions by path
static void by_path(void **state) {
  (void)state;
  TF_Status *st = TF_NewStatus();
  TFE_Context *c = new_context();
  TF_SavedModel *m = TF_LoadSavedModel(zoo("several_signatures"), c, st);
  ok(st, "load");
  TF_ConcreteFunction *f = TF_GetSavedModelConcreteFunction(m, "step", st);
  ok(st, "step");
  assert_non_null(TF_ConcreteFunctionGetMetadata(f));
  for (int64_t i = 1; i < 4; i++) {
    const int64_t by = 5;
    TF_Tensor *t = TF_AllocateTensor(TF_INT64, NULL, 0, sizeof by);
    memcpy(TF_TensorData(t), &by, sizeof by);
    TFE_TensorHandle *in = TFE_NewTensorHandle(t, st), *out = NULL;
    TFE_Op *op = TF_ConcreteFunctionMakeCallOp(f, &in, 1, st);
    ok(st, "call");
    int n = 1;
    TFE_Execute(op, &out, &n, st);
    ok(st, "run");
    TF_Tensor *r = TFE_TensorHandleResolve(out, st);
    assert_int_equal(*(int64_t *)TF_TensorData(r), 5 * i);
    TF_DeleteTensor(r);
    TF_DeleteTensor(t);
    TFE_DeleteOp(op);
    TFE_DeleteTensorHandle(in);
    TFE_DeleteTensorHandle(out);
  }
  // A path through an object; the same function as the signature.
  assert_non_null(TF_GetSavedModelConcreteFunction(m, "signatures.predict", st));
  ok(st, "signatures.predict");
  assert_null(TF_ConcreteFunctionMakeCallOp(f, NULL, 0, st));
  assert_int_equal(TF_GetCode(st), TF_INVALID_ARGUMENT);
  assert_non_null(strstr(TF_Message(st), "takes 1 inputs, 0 were given"));
  TF_DeleteSavedModel(m);
  TFE_DeleteContext(c);
  TF_DeleteStatus(st);
}

static void unknown_names(void **state) {
  (void)state;
  static const char *const none[] = {"nothing", "step.more", "signatures.nothing", "w", "..", "."};
  TF_Status *st = TF_NewStatus();
  TFE_Context *c = new_context();
  TF_SavedModel *m = TF_LoadSavedModel(zoo("several_signatures"), c, st);
  ok(st, "load");
  for (size_t i = 0; i < sizeof none / sizeof *none; i++) {
    assert_null(TF_GetSavedModelConcreteFunction(m, none[i], st));
    assert_int_equal(TF_GetCode(st), TF_NOT_FOUND);
    assert_non_null(strstr(TF_Message(st), none[i]));
    assert_non_null(strstr(TF_Message(st), "'predict'"));
  }
  assert_null(TF_GetSavedModelSignatureDefFunction(m, "serving_default", st));
  assert_int_equal(TF_GetCode(st), TF_NOT_FOUND);
  assert_string_equal(
      TF_Message(st),
      "No signature with key serving_default; there are 'branch', 'predict', 'step'");
  TF_DeleteSavedModel(m);
  TF_DeleteSavedModel(NULL);
  TFE_DeleteContext(c);
  TF_DeleteStatus(st);
}

static void tags(void **state) {
  (void)state;
  static const char *const gpu[] = {"serve", "gpu"}, *const other[] = {"train"};
  TF_Status *st = TF_NewStatus();
  TFE_Context *c = new_context();
  assert_null(TF_LoadSavedModel(zoo("text_pb"), c, st));  // two graphs
  assert_int_equal(TF_GetCode(st), TF_INVALID_ARGUMENT);
  TF_SavedModel *m = TF_LoadSavedModelWithTags(zoo("text_pb"), c, gpu, 2, st);
  ok(st, "gpu");
  replay(m, "text_pb");
  TF_DeleteSavedModel(m);
  assert_null(TF_LoadSavedModelWithTags(zoo("text_pb"), c, other, 1, st));
  assert_int_equal(TF_GetCode(st), TF_NOT_FOUND);
  assert_null(TF_LoadSavedModelWithTags(zoo("mlp"), c, NULL, 0, st));
  assert_int_equal(TF_GetCode(st), TF_NOT_FOUND);
  assert_null(TF_LoadSavedModel(zoo("tf1_while"), c, st));
  assert_int_equal(TF_GetCode(st), TF_FAILED_PRECONDITION);
  assert_null(TF_LoadSavedModel(zoo("none"), c, st));
  assert_int_equal(TF_GetCode(st), TF_NOT_FOUND);
  TFE_DeleteContext(c);
  TF_DeleteStatus(st);
}

// The model may outlive the caller's hold on the context, and lists are the caller's.
static void context_goes_first(void **state) {
  (void)state;
  TF_Status *st = TF_NewStatus();
  TFE_Context *c = new_context();
  TF_SavedModel *m = TF_LoadSavedModel(zoo("vocabulary"), c, st);
  ok(st, "load");
  TFE_DeleteContext(c);
  TF_DeleteSavedModel(m);
  TF_DeleteConcreteFunctionList(NULL);
  TF_DeleteStatus(st);
}

// ---------------------------------------------------------------- bad input
// Whatever bit is wrong, loading says so or works, and so does looking things up.
static void every_bit_may_be_wrong(void **state) {
  (void)state;
  static const char *const files[] = {"variables/variables.index",
                                      "variables/variables.data-00000-of-00001"};
  char dir[] = "/tmp/ferry_api_XXXXXX", path[128], from[256];
  uint8_t *bytes;
  size_t n;
  TF_Status *st = TF_NewStatus();
  assert_non_null(mkdtemp(dir));
  snprintf(path, sizeof path, "%s/variables", dir);
  assert_int_equal(mkdir(path, 0700), 0);
  for (int i = 0; i < 2; i++) {
    snprintf(from, sizeof from, "tests/data/zoo/several_signatures/%s", files[i]);
    snprintf(path, sizeof path, "%s/%s", dir, files[i]);
    assert_int_equal(fy_wire_file_load(from, 1 << 24, &bytes, &n, NULL), FY_OK);
    write_file(path, bytes, n);
    fy_free(bytes);
  }
  snprintf(path, sizeof path, "%s/saved_model.pb", dir);
  assert_int_equal(fy_wire_file_load("tests/data/zoo/several_signatures/saved_model.pb", 1 << 24,
                                     &bytes, &n, NULL),
                   FY_OK);
  int failed = 0;
  for (size_t at = 0; at < n; at += 31) {
    TFE_Context *c = new_context();
    bytes[at] ^= (uint8_t)(1u << (at % 8));
    write_file(path, bytes, n);
    bytes[at] ^= (uint8_t)(1u << (at % 8));
    TF_SavedModel *m = TF_LoadSavedModel(dir, c, st);
    failed += !m;
    if (m) TF_GetSavedModelConcreteFunction(m, "step", st);
    if (m) TF_GetSavedModelSignatureDefFunction(m, "predict", st);
    TF_DeleteSavedModel(m);
    TFE_DeleteContext(c);
  }
  assert_true(failed > 0);
  fy_free(bytes);
  unlink(path);
  for (int i = 0; i < 2; i++) {
    snprintf(path, sizeof path, "%s/%s", dir, files[i]);
    unlink(path);
  }
  snprintf(path, sizeof path, "%s/variables", dir);
  rmdir(path);
  rmdir(dir);
  TF_DeleteStatus(st);
}

int main(void) {
  static char *const names[] = {"cnn",           "keras_strings",
                                "lstm",          "masked",
                                "mlp",           "photo",
                                "preprocessing", "ragged_examples",
                                "rnn_unrolled",  "several_signatures",
                                "tables",        "transformer",
                                "vocabulary"};
  enum { COUNT = sizeof names / sizeof *names };
  struct CMUnitTest models[COUNT];
  for (int i = 0; i < COUNT; i++)
    models[i] = (struct CMUnitTest){names[i], model, NULL, NULL, names[i]};
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(by_path),
      cmocka_unit_test(unknown_names),
      cmocka_unit_test(tags),
      cmocka_unit_test(context_goes_first),
      cmocka_unit_test(every_bit_may_be_wrong),
  };
  int bad = cmocka_run_group_tests(models, NULL, NULL);
  return bad + cmocka_run_group_tests(tests, NULL, NULL);
}
