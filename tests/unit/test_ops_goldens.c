// SPDX-License-Identifier: Apache-2.0
// test_ops_goldens.c: every op answers as TensorFlow did when tools/gen_op_goldens.py asked it (how
// near, goldens.h says), errors in code and text. What a shape function infers must fit, and must not
// call an error what TensorFlow computed.

#include "base/thread.h"
#include "goldens.h"

static bool shape_fits(fy_pshape s, const fy_tensor *t) {
  if (s.rank >= 0 && s.rank != t->rank) return false;
  for (int32_t d = 0; d < s.rank; d++) {
    if (s.dims[d] >= 0 && s.dims[d] != t->dims[d]) return false;
  }
  return true;
}

static bool denormals_stay;  // Valgrind does not know the mode in which they count as 0
static int left_out;

static bool keeps_denormals(void) {
  volatile float tiny = 1e-40f, two = 2;
  return tiny * two != 0.0f;
}

static void run_golden(golden *g, fy_pool *pool) {
  const fy_op *op = fy_op_find(g->op, strlen(g->op));
  fy_arena arena;
  fy_attrs attrs = {0};
  fy_site site = {0};
  fy_error err;
  local_run run = {.pool = pool, .resources = resources};
  fy_tensor *out[LOCAL_OUTPUTS] = {NULL};
  if (denormals_stay && has_denormals(g)) {
    left_out++;
    return;
  }
  if (!op || !op->impl || !op->impl->compute || g->missing) {
    COMPLAIN(g, "no kernel");
    return;
  }
  fy_error_init(&err);
  fy_arena_init(&arena);
  fy_code code = fy_sample_parse_attrs(g->attrs, op->spec, &attrs, &arena, &err);
  if (!code) code = local_bind(op, &attrs, g->in, g->num_in, &arena, &site, &err);
  if (code) {
    if (code != g->code || strcmp(fy_error_text(&err), g->text)) {
      COMPLAIN(g, "cannot be bound: %s, wanted %d %s", fy_error_text(&err), g->code, g->text);
    }
    goto done;
  }
  code = local_call(&site, &run, g->in, out, &err);
  if (code != g->code) {
    COMPLAIN(g, "code %d (%s), wanted %d %s", code, fy_error_text(&err), g->code, g->text);
  } else if (code && !same_text(fy_error_text(&err), g->text)) {
    COMPLAIN(g, "said \"%s\", wanted \"%s\"", fy_error_text(&err), g->text);
  } else if (g->keep) {
    for (int i = 0; i < site.num_outputs; i++) {
      assert_true(num_kept < MAX_TENSORS);
      fy_tensor_retain(out[i]);
      kept[num_kept++] = out[i];
    }
  } else if (!code && site.num_outputs != g->num_out) {
    COMPLAIN(g, "%d outputs, wanted %d", site.num_outputs, g->num_out);
  } else {
    for (int i = 0; !code && i < g->num_out; i++) compare(g, i, g->out[i], out[i]);
    for (int i = 0; !code && i < g->num_after; i++) {
      fy_tensor *value = fy_variable_read(g->var[i]);
      compare(g, i, g->after[i], value);
      fy_tensor_release(value);
    }
  }
  for (int values = 0; !code && g->code == FY_OK && !g->eager && values < 2; values++) {
    fy_pshape shapes[LOCAL_OUTPUTS];
    if (local_infer(&site, g->in, values, &arena, shapes, &err)) {
      // A window larger than the image: nothing comes out of it, and graph mode refuses it.
      if (!strncmp(fy_error_text(&err), "Negative dimension size", 23)) break;
      // A scalar that stands for an unknown shape must be known.
      if (!values && strstr(fy_error_text(&err), "shape scalar with unknown static value"))
        continue;
      COMPLAIN(g, "shape function: %s", fy_error_text(&err));
      break;
    }
    for (int i = 0; i < site.num_outputs; i++) {
      if (!shape_fits(shapes[i], out[i])) COMPLAIN(g, "output %d has not the inferred shape", i);
    }
  }
  for (int i = 0; i < site.num_outputs; i++) fy_tensor_release(out[i]);
done:
  local_unbind(&site);
  fy_error_clear(&err);
  fy_arena_free(&arena);
  if (!g->keep && !g->kept_on) drop_kept();
}

static void all_goldens(void **state) {
  (void)state;
  const int cases = run_all_files(run_golden);
  print_message("%d cases, %d differ\n", cases, failures);
  if (left_out) print_message("%d left out: denormal numbers do not count as 0 here\n", left_out);
  assert_int_equal(failures, 0);
}

int main(void) {
  (void)fy_flush_denormals();  // as the runs of kernels do
  denormals_stay = keeps_denormals();
  const struct CMUnitTest tests[] = {cmocka_unit_test(all_goldens)};
  return cmocka_run_group_tests(tests, NULL, NULL);
}
