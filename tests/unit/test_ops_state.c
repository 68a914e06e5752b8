// SPDX-License-Identifier: Apache-2.0
// test_ops_state.c: ops that remember: variables through the resource manager, random generators
// from call to call; and functional control flow with functions that are plain C here.

#include "op_calls.h"

// Runs an op once; the caller releases |*out| (NULL: the op has no output).
static fy_code call(const char *name, const char *attr_text, fy_tensor **in, int n,
                    fy_tensor **out) {
  const fy_op *op = fy_op_find(name, strlen(name));
  fy_attrs attrs = {0};
  fy_site site;
  fy_tensor *outs[LOCAL_OUTPUTS];
  assert_non_null(op);
  assert_int_equal(fy_sample_parse_attrs(attr_text, op->spec, &attrs, &arena, &err), FY_OK);
  fy_code code = local_bind(op, &attrs, in, n, &arena, &site, &err);
  if (code) fail_msg("%s: %s", name, fy_error_text(&err));
  code = local_call(&site, &run, in, outs, &err);
  if (!code && site.num_outputs) *out = outs[0];
  local_unbind(&site);
  return code;
}

#define VAR "dtype=float; shape=[2]; shared_name=\"v\""

static void variables(void **state) {
  (void)state;
  fy_tensor *handle = NULL, *again = NULL, *value = NULL, *ready = NULL;
  assert_int_equal(call("VarHandleOp", VAR, NULL, 0, &handle), FY_OK);
  assert_int_equal(call("VarHandleOp", VAR, NULL, 0, &again), FY_OK);
  assert_ptr_equal(*(void **)handle->data, *(void **)again->data);

  assert_int_equal(call("ReadVariableOp", "dtype=float", &handle, 1, &value),
                   FY_FAILED_PRECONDITION);
  assert_string_equal(
      fy_error_text(&err),
      "Could not find variable v. This could mean that the variable has been "
      "deleted. In TF1, it can also mean the variable is uninitialized. Debug info: "
      "container=localhost, status error message=Container localhost does not "
      "exist. (Could not find resource: localhost/v)");
  fy_tensor *one = tensor("f32[2]=1,2"), *wrong = tensor("f32[3]=1,2,3"),
            *ints = tensor("i32[2]=1,2");
  assert_int_equal(call("AssignAddVariableOp", NULL, (fy_tensor *[]){handle, one}, 2, NULL),
                   FY_NOT_FOUND);
  assert_int_equal(call("AssignVariableOp", NULL, (fy_tensor *[]){handle, one}, 2, NULL), FY_OK);
  assert_int_equal(call("AssignVariableOp", NULL, (fy_tensor *[]){handle, ints}, 2, NULL),
                   FY_INVALID_ARGUMENT);
  assert_string_equal(fy_error_text(&err),
                      "Trying to assign variable with wrong dtype. Expected float got int32");
  assert_int_equal(call("AssignAddVariableOp", NULL, (fy_tensor *[]){handle, wrong}, 2, NULL),
                   FY_INVALID_ARGUMENT);
  assert_string_equal(fy_error_text(&err),
                      "Cannot update variable with shape [2] using a Tensor with "
                      "shape [3], shapes must be equal.");

  // A reader keeps the value it read whatever happens to the variable.
  assert_int_equal(call("ReadVariableOp", "dtype=float", &again, 1, &value), FY_OK);
  assert_int_equal(call("AssignAddVariableOp", NULL, (fy_tensor *[]){handle, one}, 2, NULL), FY_OK);
  assert_true(fy_tensor_double(value, 0) == 1 && fy_tensor_double(value, 1) == 2);
  assert_true(fy_tensor_double(one, 0) == 1);
  fy_tensor_release(value);
  assert_int_equal(call("AssignSubVariableOp", NULL, (fy_tensor *[]){handle, one}, 2, NULL), FY_OK);
  assert_int_equal(call("AssignAddVariableOp", NULL, (fy_tensor *[]){handle, one}, 2, NULL), FY_OK);
  assert_int_equal(call("ReadVariableOp", "dtype=float", &handle, 1, &value), FY_OK);
  assert_true(fy_tensor_double(value, 0) == 2 && fy_tensor_double(value, 1) == 4);

  assert_int_equal(call("VarIsInitializedOp", NULL, &handle, 1, &ready), FY_OK);
  assert_true(*(bool *)ready->data);
  fy_tensor_release(ready);
  assert_int_equal(call("DestroyResourceOp", NULL, &handle, 1, NULL), FY_OK);
  assert_int_equal(call("DestroyResourceOp", NULL, &handle, 1, NULL), FY_OK);
  assert_int_equal(call("DestroyResourceOp", "ignore_lookup_error=false", &handle, 1, NULL),
                   FY_NOT_FOUND);
  assert_string_equal(fy_error_text(&err), "Resource localhost/v/<unknown> does not exist.");
  assert_int_equal(call("VarIsInitializedOp", NULL, &again, 1, &ready), FY_OK);
  assert_false(*(bool *)ready->data);
  fy_tensor *all[] = {handle, again, value, ready, one, wrong, ints};
  for (size_t i = 0; i < sizeof all / sizeof all[0]; i++) fy_tensor_release(all[i]);
}

// What tf.raw_ops.RandomUniform(shape=[2], seed=1, seed2=2, dtype=float32) gives, called twice on
// one kernel, is what one call of 256 * 2 blocks later gives.
static void random_goes_on(void **state) {
  (void)state;
  const fy_op *op = fy_op_find("RandomUniform", 13);
  fy_attrs attrs = {0};
  fy_site site;
  fy_tensor *shape = tensor("i32[1]=2"), *first[LOCAL_OUTPUTS], *second[LOCAL_OUTPUTS];
  assert_int_equal(
      fy_sample_parse_attrs("dtype=float; seed=1; seed2=2", op->spec, &attrs, &arena, &err), FY_OK);
  assert_int_equal(local_bind(op, &attrs, &shape, 1, &arena, &site, &err), FY_OK);
  assert_int_equal(local_call(&site, &run, &shape, first, &err), FY_OK);
  assert_int_equal(local_call(&site, &run, &shape, second, &err), FY_OK);
  assert_false(fy_tensor_equal(first[0], second[0]));
  // TensorFlow 2.21's own answers.
  const float want[] = {0x1.a026780000000p-2f, 0x1.b7174c0000000p-1f},
              then[] = {0x1.352dd80000000p-1f, 0x1.0d5e0c0000000p-1f};
  assert_memory_equal(first[0]->data, want, sizeof want);
  assert_memory_equal(second[0]->data, then, sizeof then);
  fy_tensor_release(first[0]);
  fy_tensor_release(second[0]);
  fy_tensor_release(shape);
  local_unbind(&site);
}

// ---------------------------------------------------------------- control flow
typedef void (*c_function)(fy_tensor *const *args, fy_tensor **results);

static fy_code call_function(fy_kernel_ctx *ctx, void *fn, fy_tensor *const *args, int num_args,
                             fy_tensor **results, int num_results, fy_error *e) {
  (void)ctx, (void)num_args, (void)num_results, (void)e;
  (*(c_function *)fn)(args, results);
  return FY_OK;
}
static void put(fy_tensor **to, fy_dtype type, int64_t v) {
  const int32_t narrow = (int32_t)v;
  const bool flag = v != 0;
  assert_int_equal(
      fy_tensor_from(type, 0, NULL, type == FY_BOOL ? (const void *)&flag : &narrow, to, NULL),
      FY_OK);
}
static void less_than_ten(fy_tensor *const *a, fy_tensor **r) {
  put(r, FY_BOOL, fy_tensor_int(a[0], 0) < 10);
}
static void add_three(fy_tensor *const *a, fy_tensor **r) {
  put(r, FY_INT32, fy_tensor_int(a[0], 0) + 3);
}
static void times_two(fy_tensor *const *a, fy_tensor **r) {
  put(r, FY_INT32, fy_tensor_int(a[0], 0) * 2);
}

static int64_t flow(const char *name, c_function f0, c_function f1, fy_tensor **in, int n,
                    fy_code want) {
  const fy_op *op = fy_op_find(name, strlen(name));
  c_function functions[] = {f0, f1};
  void *pointers[] = {&functions[0], &functions[1]};
  const fy_dtype types[] = {FY_INT32, FY_INT32};
  fy_attrs attrs = {0};
  fy_services services = local_services;
  services.call = call_function;
  fy_site site = {.op = op,
                  .attrs = &attrs,
                  .node_name = "n",
                  .num_inputs = n,
                  .num_outputs = 1,
                  .in_types = types,
                  .out_types = types,
                  .functions = pointers,
                  .num_functions = 2};
  fy_tensor *out[1] = {NULL};
  bool owned[1] = {false};
  fy_kernel_ctx ctx = {.site = &site,
                       .svc = &services,
                       .in = in,
                       .out = out,
                       .out_owned = owned,
                       .run = &run,
                       .threads = 1};
  assert_int_equal(op->impl->compute(&ctx, &err), want);
  const int64_t result = want ? 0 : fy_tensor_int(out[0], 0);
  fy_tensor_release(out[0]);
  return result;
}

static void control_flow(void **state) {
  (void)state;
  fy_tensor *one = tensor("i32[]=1"), *zero = tensor("i32[]=0"), *empty = tensor("f32[0]=");
  fy_tensor *text = tensor("s[]='x'"), *seven = tensor("i32[]=7"), *pair = tensor("i32[2]=1,2");
  fy_tensor *cplx = tensor("c64[]=1");
  assert_int_equal(flow("While", less_than_ten, add_three, &one, 1, FY_OK), 10);
  assert_int_equal(flow("StatelessIf", add_three, times_two, (fy_tensor *[]){one, seven}, 2, FY_OK),
                   10);
  assert_int_equal(flow("If", add_three, times_two, (fy_tensor *[]){zero, seven}, 2, FY_OK), 14);
  assert_int_equal(flow("If", add_three, times_two, (fy_tensor *[]){empty, seven}, 2, FY_OK), 14);
  assert_int_equal(flow("If", add_three, times_two, (fy_tensor *[]){text, seven}, 2, FY_OK), 10);
  flow("If", add_three, times_two, (fy_tensor *[]){cplx, seven}, 2, FY_INVALID_ARGUMENT);
  assert_string_equal(fy_error_text(&err), "complex64 cannot be converted to a boolean");
  assert_int_equal(flow("Case", add_three, times_two, (fy_tensor *[]){zero, seven}, 2, FY_OK), 10);
  assert_int_equal(flow("Case", add_three, times_two, (fy_tensor *[]){seven, seven}, 2, FY_OK), 14);
  flow("Case", add_three, times_two, (fy_tensor *[]){pair, seven}, 2, FY_INVALID_ARGUMENT);
  assert_string_equal(fy_error_text(&err), "branch_index must be scalar");
  assert_int_equal(flow("PartitionedCall", times_two, NULL, &seven, 1, FY_OK), 14);
  fy_tensor *all[] = {one, zero, empty, text, seven, pair, cplx};
  for (size_t i = 0; i < sizeof all / sizeof all[0]; i++) fy_tensor_release(all[i]);
}

// A number that is known stays known through the ops that compute shapes.
static void shapes_as_values(void **state) {
  (void)state;
  const fy_op *op = fy_op_find("StridedSlice", 12);
  fy_attrs attrs = {0};
  const int64_t four = 4, one = 1, dims[] = {7, -1, 3, 2};
  const fy_dtype types[] = {FY_INT32, FY_INT32, FY_INT32, FY_INT32};
  fy_tensor *begin = tensor("i32[1]=1"), *end = tensor("i32[1]=4"), *step = tensor("i32[1]=1");
  const fy_tensor *values[] = {NULL, begin, end, step};
  const fy_pshape in[] = {{1, &four}, {1, &one}, {1, &one}, {1, &one}};
  const fy_pshape as_shape[] = {{4, dims}, FY_UNKNOWN_SHAPE, FY_UNKNOWN_SHAPE, FY_UNKNOWN_SHAPE};
  const fy_handle_shape handles[4] = {0};
  fy_pshape out = FY_UNKNOWN_SHAPE, out_as = FY_UNKNOWN_SHAPE;
  fy_handle_shape out_handle = {FY_INVALID, FY_UNKNOWN_SHAPE};
  fy_shape_ctx ctx = {.spec = op->spec,
                      .attrs = &attrs,
                      .node_name = "n",
                      .num_inputs = 4,
                      .num_outputs = 1,
                      .in_types = types,
                      .out_types = types,
                      .in = in,
                      .in_value = values,
                      .in_as_shape = as_shape,
                      .in_handle = handles,
                      .out = &out,
                      .out_handle = &out_handle,
                      .out_as_shape = &out_as,
                      .arena = &arena};
  assert_int_equal(op->impl->shape(&ctx, &err), FY_OK);
  assert_int_equal(out.rank, 1);
  assert_int_equal(out.dims[0], 3);
  assert_int_equal(out_as.rank, 3);
  assert_true(out_as.dims[0] == -1 && out_as.dims[1] == 3 && out_as.dims[2] == 2);
  fy_tensor_release(begin);
  fy_tensor_release(end);
  fy_tensor_release(step);
}

int main(void) {
  const struct CMUnitTest tests[] = {
      cmocka_unit_test_setup_teardown(variables, calls_setup, calls_teardown),
      cmocka_unit_test_setup_teardown(random_goes_on, calls_setup, calls_teardown),
      cmocka_unit_test_setup_teardown(control_flow, calls_setup, calls_teardown),
      cmocka_unit_test_setup_teardown(shapes_as_values, calls_setup, calls_teardown),
  };
  return cmocka_run_group_tests(tests, NULL, NULL);
}
