// SPDX-License-Identifier: Apache-2.0
// test_ops_lists.c: ops that need more than one call to show what they do: TensorList, TensorArray
// and lookup tables. Answers are those that TensorFlow documents; most texts were not compared.

#include "op_calls.h"

#include <unistd.h>

// Runs |name| on |in|. |out| gets up to two outputs.
static fy_code call_with(const char *name, const char *attr_text, fy_tensor **in, int n,
                         fy_tensor **out) {
  const fy_op *op = fy_op_find(name, strlen(name));
  fy_attrs attrs = {0};
  fy_site site = {0};
  fy_tensor *outs[LOCAL_OUTPUTS];
  assert_true(op && op->impl);
  assert_int_equal(fy_sample_parse_attrs(attr_text, op->spec, &attrs, &arena, &err), FY_OK);
  fy_code code = local_bind(op, &attrs, in, n, &arena, &site, &err);
  if (code) fail_msg("%s: %s", name, fy_error_text(&err));
  code = local_call(&site, &run, in, outs, &err);
  fy_pshape shapes[LOCAL_OUTPUTS];
  // (TensorFlow's inference wants buckets and their values of one shape; its kernel does not.)
  if (strcmp(name, "LookupTableImportV2") != 0 &&
      local_infer(&site, in, true, &arena, shapes, &err))
    fail_msg("%s: inference: %s", name, fy_error_text(&err));
  for (int i = 0; !code && i < site.num_outputs; i++) {
    if (out && i < 2)
      out[i] = outs[i];
    else
      fy_tensor_release(outs[i]);
  }
  local_unbind(&site);
  return code;
}

// Runs |name| on |first| (or nothing) followed by the tensors of |text|.
static fy_code call(const char *name, const char *attr_text, fy_tensor *first, const char *text,
                    fy_tensor **out) {
  fy_sample_inputs more;
  fy_tensor *in[FY_SAMPLE_INPUTS + 1];
  int n = 0;
  assert_int_equal(fy_sample_parse_inputs(text, &more, &err), FY_OK);
  if (first) in[n++] = first;
  for (int i = 0; i < more.n; i++) in[n++] = more.in[i];
  fy_code code = call_with(name, attr_text, in, n, out);
  fy_sample_inputs_free(&more);
  return code;
}

static void expect(fy_tensor *got, const char *values) {
  fy_tensor *want;
  assert_int_equal(fy_sample_parse_expected(values, got, &want, &err), FY_OK);
  if (!fy_tensor_equal(got, want)) fail_msg("not %s", values);
  fy_tensor_release(want);
  fy_tensor_release(got);
}

// Consumes |list|.
static fy_tensor *changed(const char *name, const char *attrs, fy_tensor *list, const char *text) {
  fy_tensor *out[2] = {NULL, NULL};
  if (call(name, attrs, list, text, out)) fail_msg("%s: %s", name, fy_error_text(&err));
  fy_tensor_release(list);
  return out[0];
}

#define F "element_dtype=float"

static void lists(void **state) {
  (void)state;
  fy_tensor *list, *out[2], *older;
  assert_int_equal(call("TensorListReserve", F, NULL, "i32[1]=2; i32[]=3", &list), FY_OK);
  list = changed("TensorListSetItem", NULL, list, "i32[]=1; f32[2]=5,6");
  assert_int_equal(call("TensorListStack", F, list, "i32[1]=2", out), FY_OK);
  expect(out[0], "0,0,5,6,0,0");
  assert_int_equal(call("TensorListGetItem", F, list, "i32[]=1; i32[1]=2", out), FY_OK);
  expect(out[0], "5,6");
  assert_int_equal(call("TensorListGetItem", F, list, "i32[]=3; i32[1]=2", out),
                   FY_INVALID_ARGUMENT);
  assert_string_equal(fy_error_text(&err), "Trying to access element 3 in a list with 3 elements.");
  // A list is a value: whoever holds the older one sees no change.
  older = list;
  fy_tensor_retain(older);
  list = changed("TensorListPushBack", NULL, list, "f32[2]=7,8");
  assert_int_equal(call("TensorListLength", NULL, older, "", out), FY_OK);
  expect(out[0], "3");
  assert_int_equal(call("TensorListLength", NULL, list, "", out), FY_OK);
  expect(out[0], "4");
  fy_tensor_release(older);
  assert_int_equal(call("TensorListPushBack", NULL, list, "f32[3]=7,8,9", out),
                   FY_INVALID_ARGUMENT);
  assert_int_equal(call("TensorListPopBack", F, list, "i32[1]=2", out), FY_OK);
  fy_tensor_release(list);
  list = out[0];
  expect(out[1], "7,8");
  assert_int_equal(call("TensorListGather", F, list, "i32[2]=1,0; i32[1]=-1", out), FY_OK);
  expect(out[0], "5,6,0,0");
  list = changed("TensorListResize", NULL, list, "i32[]=2");
  assert_int_equal(call("TensorListElementShape", "shape_type=int32", list, "", out), FY_OK);
  expect(out[0], "2");
  list = changed("TensorListScatterIntoExistingList", NULL, list, "f32[2,2]=1,2,3,4; i32[2]=2,0");
  assert_int_equal(call("TensorListStack", F, list, "i32[]=-1", out), FY_OK);
  expect(out[0], "3,4,5,6,1,2");
  fy_tensor_release(list);
  assert_int_equal(
      call("TensorListSplit", NULL, NULL, "f32[3]=1,2,3; i32[1]=-1; i64[2]=1,2", &list), FY_OK);
  assert_int_equal(call("TensorListConcatV2", F, list, "i32[1]=-1; i64[0]=", out), FY_OK);
  expect(out[0], "1,2,3");
  expect(out[1], "1,2");
  fy_tensor_release(list);
  // What is joined keeps the room of the first.
  assert_int_equal(call("EmptyTensorList", F, NULL, "i32[0]=; i32[]=1", &list), FY_OK);
  list = changed("TensorListPushBack", NULL, list, "f32[]=1");
  assert_int_equal(call_with("TensorListConcatLists", F, (fy_tensor *[]){list, list}, 2, out),
                   FY_OK);
  assert_int_equal(call("TensorListPushBack", NULL, out[0], "f32[]=2", NULL), FY_INVALID_ARGUMENT);
  fy_tensor_release(list);
  fy_tensor_release(out[0]);
}

// The least zero point has no opposite (UBSan sees it).
static void least_zero(void **state) {
  (void)state;
  fy_tensor *out[2];
  assert_int_equal(
      call("UniformDequantize", "Tout=float; quantization_min_val=-128; quantization_max_val=127",
           NULL, "qint8[2]=0,-1; f32[]=1; i32[]=-2147483648", out),
      FY_OK);
  expect(out[0], "-2147483648,2147483648");
}

static void destroyed(void **state) {
  (void)state;
  fy_tensor *queue, *out[2];
  assert_int_equal(call("FIFOQueueV2", "component_types=[float]", NULL, "", &queue), FY_OK);
  assert_int_equal(call("QueueSizeV2", NULL, queue, "", out), FY_OK);
  expect(out[0], "0");
  assert_int_equal(call("DestroyResourceOp", "ignore_lookup_error=false", queue, "", NULL), FY_OK);
  assert_int_equal(call("QueueSizeV2", NULL, queue, "", NULL), FY_NOT_FOUND);
  assert_int_equal(call("DestroyResourceOp", "ignore_lookup_error=false", queue, "", NULL),
                   FY_NOT_FOUND);
  assert_int_equal(call("DestroyResourceOp", "ignore_lookup_error=true", queue, "", NULL), FY_OK);
  fy_tensor_release(queue);
}

static void arrays(void **state) {
  (void)state;
  fy_tensor *a[2], *out[2];
  assert_int_equal(call("TensorArrayV3", "dtype=float; dynamic_size=true", NULL, "i32[]=1", a),
                   FY_OK);
  fy_tensor_release(a[1]);
  assert_int_equal(call("TensorArrayWriteV3", NULL, a[0], "i32[]=2; f32[2]=1,2; f32[]=0", NULL),
                   FY_OK);
  assert_int_equal(call("TensorArrayWriteV3", NULL, a[0], "i32[]=2; f32[2]=1,2; f32[]=0", NULL),
                   FY_INVALID_ARGUMENT);
  assert_int_equal(
      call("TensorArrayScatterV3", NULL, a[0], "i32[2]=0,1; f32[2,2]=3,4,5,6; f32[]=0", NULL),
      FY_OK);
  assert_int_equal(call("TensorArraySizeV3", NULL, a[0], "f32[]=0", out), FY_OK);
  expect(out[0], "3");
  assert_int_equal(call("TensorArrayGatherV3", "dtype=float", a[0], "i32[2]=2,0; f32[]=0", out),
                   FY_OK);
  expect(out[0], "1,2,3,4");
  assert_int_equal(call("TensorArrayReadV3", "dtype=float", a[0], "i32[]=1; f32[]=0", out), FY_OK);
  expect(out[0], "5,6");
  assert_int_equal(call("TensorArrayReadV3", "dtype=float", a[0], "i32[]=1; f32[]=0", out),
                   FY_INVALID_ARGUMENT);
  assert_string_equal(fy_error_text(&err),
                      "Could not read index 1 twice because it was cleared after a previous read "
                      "(perhaps try setting clear_after_read = false?)");
  assert_int_equal(call("TensorArrayCloseV3", NULL, a[0], "", NULL), FY_OK);
  assert_int_equal(call("TensorArraySizeV3", NULL, a[0], "f32[]=0", out), FY_INVALID_ARGUMENT);
  fy_tensor_release(a[0]);
  assert_int_equal(call("TensorArrayV3", "dtype=float", NULL, "i32[]=2", a), FY_OK);
  fy_tensor_release(a[1]);
  assert_int_equal(
      call("TensorArraySplitV3", NULL, a[0], "f32[3]=1,2,3; i64[2]=1,2; f32[]=0", NULL), FY_OK);
  assert_int_equal(call("TensorArrayConcatV3", "dtype=float", a[0], "f32[]=0", out), FY_OK);
  expect(out[0], "1,2,3");
  expect(out[1], "1,2");
  fy_tensor_release(a[0]);
}

// The first element says what a stack is: an empty one makes it empty, whatever the others are.
static void stack_of_empty(void **state) {
  (void)state;
  fy_tensor *a[2], *out[2];
  assert_int_equal(call("TensorArrayV3", "dtype=float; clear_after_read=false", NULL, "i32[]=2", a),
                   FY_OK);
  fy_tensor_release(a[1]);
  assert_int_equal(call("TensorArrayWriteV3", NULL, a[0], "i32[]=0; f32[0]=; f32[]=0", NULL),
                   FY_OK);
  assert_int_equal(call("TensorArrayWriteV3", NULL, a[0], "i32[]=1; f32[1]=7; f32[]=0", NULL),
                   FY_OK);
  assert_int_equal(call("TensorArrayGatherV3", "dtype=float", a[0], "i32[2]=0,1; f32[]=0", out),
                   FY_OK);
  assert_int_equal(out[0]->dims[0], 2);
  assert_int_equal(out[0]->dims[1], 0);
  fy_tensor_release(out[0]);
  assert_int_equal(call("TensorArrayGatherV3", "dtype=float", a[0], "i32[2]=1,0; f32[]=0", out),
                   FY_INVALID_ARGUMENT);
  assert_int_equal(call("TensorArrayConcatV3", "dtype=float", a[0], "f32[]=0", out), FY_OK);
  expect(out[0], "7");
  expect(out[1], "0,1");
  fy_tensor_release(a[0]);
}

static void tables(void **state) {
  (void)state;
  const char *make = "key_dtype=string; value_dtype=int64; shared_name=\"t\"";
  fy_tensor *t, *same, *out[2];
  assert_int_equal(call("HashTableV2", make, NULL, "", &t), FY_OK);
  assert_int_equal(call("HashTableV2", make, NULL, "", &same), FY_OK);
  assert_int_equal(call("LookupTableFindV2", NULL, t, "s[1]='a'; i64[]=-1", out),
                   FY_FAILED_PRECONDITION);
  assert_string_equal(fy_error_text(&err), "Table not initialized.");
  assert_int_equal(call("LookupTableImportV2", NULL, t, "s[2]='a','b'; i64[2]=1,2", NULL), FY_OK);
  assert_int_equal(call("LookupTableFindV2", NULL, same, "s[2,2]='b','x','a','b'; i64[]=-1", out),
                   FY_OK);
  expect(out[0], "2,-1,1,2");
  assert_int_equal(call("LookupTableSizeV2", NULL, t, "", out), FY_OK);
  expect(out[0], "2");
  fy_tensor_release(t);
  fy_tensor_release(same);

  assert_int_equal(call("MutableHashTableV2", "key_dtype=int64; value_dtype=string", NULL, "", &t),
                   FY_OK);
  for (int i = 0; i < 100; i++) {
    char text[64];
    snprintf(text, sizeof text, "i64[1]=%d; s[1]='v%d'", i * 7, i);
    assert_int_equal(call("LookupTableInsertV2", NULL, t, text, NULL), FY_OK);
  }
  for (int i = 0; i < 100; i += 2) {
    char text[64];
    snprintf(text, sizeof text, "i64[1]=%d", i * 7);
    assert_int_equal(call("LookupTableRemoveV2", NULL, t, text, NULL), FY_OK);
  }
  for (int i = 0; i < 100; i++) {
    char text[64], want[16];
    snprintf(text, sizeof text, "i64[]=%d; s[]='none'", i * 7);
    snprintf(want, sizeof want, i % 2 ? "'v%d'" : "'none'", i);
    assert_int_equal(call("LookupTableFindV2", NULL, t, text, out), FY_OK);
    expect(out[0], want);
  }
  assert_int_equal(call("LookupTableExportV2", "Tkeys=int64; Tvalues=string", t, "", out), FY_OK);
  assert_int_equal(out[0]->count, 50);
  fy_tensor_release(out[0]);
  fy_tensor_release(out[1]);
  assert_int_equal(call("LookupTableFindV2", NULL, t, "s[]='k'; s[]='x'", out),
                   FY_INVALID_ARGUMENT);
  fy_tensor_release(t);

  assert_int_equal(call("MutableDenseHashTableV2", "value_dtype=float; value_shape=[2]", NULL,
                        "i64[]=-1; i64[]=-2", &t),
                   FY_OK);
  assert_int_equal(call("LookupTableInsertV2", NULL, t, "i64[2]=3,4; f32[2,2]=1,2,3,4", NULL),
                   FY_OK);
  assert_int_equal(call("LookupTableFindV2", NULL, t, "i64[2]=4,9; f32[2]=0,0", out), FY_OK);
  expect(out[0], "3,4,0,0");
  assert_int_equal(call("LookupTableInsertV2", NULL, t, "i64[1]=-1; f32[1,2]=1,2", NULL),
                   FY_INVALID_ARGUMENT);
  // As checkpoints of TensorFlow hold it: every bucket, a scalar key as a vector of one.
  assert_int_equal(
      call("LookupTableImportV2", NULL, t, "i64[4,1]=-1,7,-2,8; f32[4,2]=0,0,5,6,0,0,7,8", NULL),
      FY_OK);
  assert_int_equal(call("LookupTableFindV2", NULL, t, "i64[3]=8,7,3; f32[2]=0,0", out), FY_OK);
  expect(out[0], "7,8,5,6,0,0");
  assert_int_equal(call("LookupTableSizeV2", NULL, t, "", out), FY_OK);
  expect(out[0], "2");
  assert_int_equal(call("LookupTableImportV2", NULL, t, "i64[2,1]=1,2; f32[3,2]=0,0,0,0,0,0", NULL),
                   FY_INVALID_ARGUMENT);
  fy_tensor_release(t);
}

static fy_tensor *numbers(int64_t n, int64_t first, int64_t step) {
  fy_tensor *t;
  assert_int_equal(fy_tensor_new(FY_INT64, 1, &n, &t, &err), FY_OK);
  for (int64_t i = 0; i < n; i++) ((int64_t *)t->data)[i] = first + i * step;
  return t;
}

// Keys that all begin at the same place of an index, in the table at once or one by one.
static void crowded_keys(void **state) {
  (void)state;
  enum { KEYS = 3000 };
  const int64_t step = (int64_t)1 << 40;
  fy_tensor *t, *out[2], *none = numbers(1, -1, 0);
  none->rank = 0;
  assert_int_equal(call("MutableHashTableV2", "key_dtype=int64; value_dtype=int64", NULL, "", &t),
                   FY_OK);
  fy_tensor *keys = numbers(KEYS, 5, step), *values = numbers(KEYS, 100, 1);
  fy_tensor *in[] = {t, keys, values}, *ask[] = {t, keys, none};
  assert_int_equal(call_with("LookupTableInsertV2", NULL, in, 3, NULL), FY_OK);
  assert_int_equal(call_with("LookupTableInsertV2", NULL, in, 3, NULL), FY_OK);  // again
  assert_int_equal(call("LookupTableSizeV2", NULL, t, "", out), FY_OK);
  expect(out[0], "3000");
  fy_tensor *gone = numbers(KEYS / 3, 5, 3 * step), *away[] = {t, gone};
  assert_int_equal(call_with("LookupTableRemoveV2", NULL, away, 2, NULL), FY_OK);
  assert_int_equal(call_with("LookupTableFindV2", NULL, ask, 3, out), FY_OK);
  for (int64_t i = 0; i < KEYS; i++)
    assert_int_equal(((int64_t *)out[0]->data)[i], i % 3 ? 100 + i : -1);
  fy_tensor_release(out[0]);
  fy_tensor *rest[] = {t, keys, values, gone, none};
  for (int i = 0; i < 5; i++) fy_tensor_release(rest[i]);
}

// ---------------------------------------------------------------- variants as numbers
static fy_tensor *optional(const char *values) {
  fy_tensor *t;
  assert_int_equal(call("OptionalFromValue", NULL, NULL, values, &t), FY_OK);
  return t;
}

static void optionals(void **state) {
  (void)state;
  static const char get[] = "output_types=[float,int32]; output_shapes=[[2],[]]";
  fy_tensor *in[3] = {optional("f32[2]=1,2; i32[]=5"), optional("f32[2]=10,20; i32[]=6"), NULL};
  fy_tensor *out[2], *sum, *zeros, *none, *bad;
  assert_int_equal(call("OptionalNone", NULL, NULL, "", &none), FY_OK);
  assert_int_equal(call_with("ZerosLike", NULL, in, 1, &zeros), FY_OK);
  assert_int_equal(call("OptionalGetValue", get, zeros, "", out), FY_OK);
  expect(out[0], "0,0");
  expect(out[1], "0");
  in[2] = zeros;
  assert_int_equal(call_with("AddN", NULL, in, 3, &sum), FY_OK);
  assert_int_equal(call("OptionalGetValue", get, sum, "", out), FY_OK);
  expect(out[0], "11,22");
  expect(out[1], "11");
  fy_tensor_release(sum);
  // A branch that was not taken: nothing stays nothing, and cannot be added to something.
  fy_tensor *nones[2] = {none, none}, *mixed[2] = {none, in[0]}, *kinds[2] = {none, NULL};
  assert_int_equal(call_with("ZerosLike", NULL, nones, 1, &sum), FY_OK);
  assert_int_equal(call("OptionalHasValue", NULL, sum, "", out), FY_OK);
  expect(out[0], "false");
  fy_tensor_release(sum);
  assert_int_equal(call_with("AddN", NULL, nones, 2, &sum), FY_OK);
  fy_tensor_release(sum);
  assert_int_equal(call_with("AddN", NULL, mixed, 2, &bad), FY_INVALID_ARGUMENT);
  assert_int_equal(
      call("EmptyTensorList", "element_dtype=float", NULL, "i32[]=-1; i32[]=-1", &kinds[1]), FY_OK);
  assert_int_equal(call_with("AddN", NULL, kinds, 2, &bad), FY_INTERNAL);
  fy_tensor_release(kinds[1]);
  fy_tensor_release(none);
  for (int i = 0; i < 3; i++) fy_tensor_release(in[i]);
}

static void ragged_sums(void **state) {
  (void)state;
  static const char back[] =
      "input_ragged_rank=1; output_ragged_rank=1; Tvalues=float; Tsplits=int64";
  fy_tensor *a, *b, *sum, *out[2], *bad;
  assert_int_equal(call("RaggedTensorToVariant", "RAGGED_RANK=1; batched_input=false", NULL,
                        "i64[3]=0,2,3; f32[3]=1,2,3", &a),
                   FY_OK);
  assert_int_equal(call("RaggedTensorToVariant", "RAGGED_RANK=1; batched_input=false", NULL,
                        "i64[3]=0,1,3; f32[3]=1,2,3", &b),
                   FY_OK);
  fy_tensor *same[2] = {a, a}, *other[2] = {a, b};
  assert_int_equal(call_with("AddN", NULL, same, 2, &sum), FY_OK);
  assert_int_equal(call("RaggedTensorFromVariant", back, sum, "", out), FY_OK);
  expect(out[0], "0,2,3");
  expect(out[1], "2,4,6");
  fy_tensor_release(sum);
  assert_int_equal(call_with("AddN", NULL, other, 2, &bad), FY_INVALID_ARGUMENT);
  assert_int_equal(call_with("ZerosLike", NULL, same, 1, &sum), FY_OK);
  assert_int_equal(call("RaggedTensorFromVariant", back, sum, "", out), FY_OK);
  expect(out[0], "0,2,3");
  expect(out[1], "0,0,0");
  fy_tensor_release(sum);
  fy_tensor_release(a);
  fy_tensor_release(b);
}

static void text_file(void **state) {
  (void)state;
  char path[] = "/tmp/ferry_vocab_XXXXXX", text[96];
  const int fd = mkstemp(path);
  assert_true(fd >= 0);
  assert_int_equal(write(fd, "un\ndeux\ntrois\n", 14), 14);
  close(fd);
  fy_tensor *t, *out[2];
  assert_int_equal(call("HashTableV2", "key_dtype=string; value_dtype=int64", NULL, "", &t), FY_OK);
  snprintf(text, sizeof text, "s[]='%s'", path);
  assert_int_equal(
      call("InitializeTableFromTextFileV2", "key_index=-2; value_index=-1", t, text, NULL), FY_OK);
  assert_int_equal(call("LookupTableFindV2", NULL, t, "s[2]='trois','x'; i64[]=-1", out), FY_OK);
  expect(out[0], "2,-1");
  assert_int_equal(call("ReadFile", NULL, NULL, text, out), FY_OK);
  assert_true(fy_view_is(fy_tensor_string(out[0], 0), "un\ndeux\ntrois\n"));
  fy_tensor_release(out[0]);
  fy_tensor_release(t);
  unlink(path);
}

int main(void) {
  const struct CMUnitTest tests[] = {
      cmocka_unit_test_setup_teardown(lists, calls_setup, calls_teardown),
      cmocka_unit_test_setup_teardown(destroyed, calls_setup, calls_teardown),
      cmocka_unit_test_setup_teardown(least_zero, calls_setup, calls_teardown),
      cmocka_unit_test_setup_teardown(arrays, calls_setup, calls_teardown),
      cmocka_unit_test_setup_teardown(stack_of_empty, calls_setup, calls_teardown),
      cmocka_unit_test_setup_teardown(tables, calls_setup, calls_teardown),
      cmocka_unit_test_setup_teardown(crowded_keys, calls_setup, calls_teardown),
      cmocka_unit_test_setup_teardown(optionals, calls_setup, calls_teardown),
      cmocka_unit_test_setup_teardown(ragged_sums, calls_setup, calls_teardown),
      cmocka_unit_test_setup_teardown(text_file, calls_setup, calls_teardown),
  };
  return cmocka_run_group_tests(tests, NULL, NULL);
}
