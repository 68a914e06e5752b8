// SPDX-License-Identifier: Apache-2.0
// test_ops_samples.c: every sample of every op gives what it promises, and the shape functions
// agree with the kernels: what they infer from shapes (and values) fits what comes out.

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>

#include <cmocka.h>

#include "local_runner.h"

static bool shape_fits(fy_pshape inferred, const fy_tensor *t) {
  if (inferred.rank < 0) return true;
  if (inferred.rank != t->rank) return false;
  for (int32_t d = 0; d < t->rank; d++) {
    if (inferred.dims[d] >= 0 && inferred.dims[d] != t->dims[d]) return false;
  }
  return true;
}

static void check_values(const char *name, const char *text, const fy_tensor *out) {
  fy_error err;
  fy_tensor *want = NULL;
  fy_error_init(&err);
  if (fy_sample_parse_expected(text, out, &want, &err)) {
    fail_msg("%s: \"%s\": %s", name, text, fy_error_text(&err));
  }
  for (int64_t i = 0; i < out->count; i++) {
    const bool same =
        out->dtype == FY_STRING ? fy_view_eq(fy_tensor_string(out, i), fy_tensor_string(want, i))
        : fy_dtype_is_floating(out->dtype) ? fy_tensor_double(out, i) == fy_tensor_double(want, i)
                                           : fy_tensor_int(out, i) == fy_tensor_int(want, i);
    if (!same) fail_msg("%s: element %lld is not as in \"%s\"", name, (long long)i, text);
  }
  fy_tensor_release(want);
}

// Returns the kernel's code. |check| = false: only that nothing leaks or crashes.
static fy_code run_sample(const fy_op *op, const fy_sample *s, bool check) {
  const char *name = op->spec->name;
  fy_sample_inputs inputs;
  fy_arena arena;
  fy_attrs attrs = {0};
  fy_site site = {0};
  fy_error err;
  local_run run = {0};
  fy_tensor *out[LOCAL_OUTPUTS];
  fy_error_init(&err);
  fy_arena_init(&arena);
  fy_code code = fy_sample_parse_inputs(s->inputs, &inputs, &err);
  if (!code) code = fy_sample_parse_attrs(s->attrs, op->spec, &attrs, &arena, &err);
  if (!code) code = local_bind(op, &attrs, inputs.in, inputs.n, &arena, &site, &err);
  if (code && check) fail_msg("%s(%s; %s): %s", name, s->inputs, s->attrs, fy_error_text(&err));
  if (!code) code = local_call(&site, &run, inputs.in, out, &err);
  if (site.op && check) {
    if (code != s->code) {
      fail_msg("%s(%s): code %d, wanted %d: %s", name, s->inputs, code, s->code,
               fy_error_text(&err));
    }
    if (code && s->text && !strstr(fy_error_text(&err), s->text)) {
      fail_msg("%s(%s): said \"%s\", wanted \"%s\"", name, s->inputs, fy_error_text(&err), s->text);
    }
    if (!code && s->text && site.num_outputs) check_values(name, s->text, out[0]);
  }
  for (int values = 0; !code && check && values < 2; values++) {
    fy_pshape shapes[LOCAL_OUTPUTS];
    if (local_infer(&site, inputs.in, values, &arena, shapes, &err)) {
      fail_msg("%s(%s): shape function: %s", name, s->inputs, fy_error_text(&err));
    }
    for (int i = 0; i < site.num_outputs; i++) {
      char a[128], b[128];
      // TensorFlow calls the handles of TensorArrays and stacks vectors of two; they are scalars.
      if (out[i]->dtype == FY_RESOURCE || shape_fits(shapes[i], out[i])) continue;
      fail_msg("%s(%s): output %d is %s, inferred %s", name, s->inputs, i,
               fy_shape_text(out[i]->rank, out[i]->dims, a),
               fy_shape_text(shapes[i].rank, shapes[i].dims, b));
    }
  }
  for (int i = 0; !code && i < site.num_outputs; i++) fy_tensor_release(out[i]);
  local_unbind(&site);
  fy_sample_inputs_free(&inputs);
  fy_error_clear(&err);
  fy_arena_free(&arena);
  return code;
}

static void every_sample(void **state) {
  (void)state;
  size_t samples = 0, shapeless = 0;
  for (size_t i = 0; i < fy_op_impl_count; i++) {
    const fy_op_impl *impl = fy_op_impls[i];
    const fy_op *op = fy_op_find(impl->name, strlen(impl->name));
    assert_non_null(op);
    assert_ptr_equal(op->impl, impl);
    if (!impl->shape) {
      print_error("%s has no shape function\n", impl->name);
      shapeless++;
    }
    if (i) assert_true(strcmp(fy_op_impls[i - 1]->name, impl->name) < 0);
    for (uint32_t k = 0; k < impl->num_samples; k++, samples++) {
      run_sample(op, &impl->samples[k], true);
    }
  }
  print_message("%zu ops, %zu samples\n", fy_op_impl_count, samples);
  assert_int_equal(shapeless, 0);
}

// The N-th allocation fails, for every N: a status, no leak, no crash.
static void every_allocation_fails(void **state) {
  (void)state;
  for (size_t i = 0; i < fy_op_impl_count; i++) {
    const fy_op_impl *impl = fy_op_impls[i];
    const fy_op *op = fy_op_find(impl->name, strlen(impl->name));
    if (impl->num_samples == 0) continue;
    for (int64_t n = 1; n < 200; n++) {
      fy_fault_arm(FY_FAULT_ALLOC, n, false);
      run_sample(op, &impl->samples[0], false);
      const bool reached = fy_fault_hits(FY_FAULT_ALLOC) >= n;
      fy_fault_disarm(FY_FAULT_ALLOC);
      if (!reached) break;
    }
  }
}

int main(void) {
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(every_sample),
      cmocka_unit_test(every_allocation_fails),
  };
  return cmocka_run_group_tests(tests, NULL, NULL);
}
