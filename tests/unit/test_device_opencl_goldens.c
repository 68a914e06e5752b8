// SPDX-License-Identifier: Apache-2.0
// test_device_opencl_goldens.c: every kernel of the OpenCL device answers as TensorFlow did, by the
// same golden cases and within the same bounds as the CPU's kernels (goldens.h). Each op that the
// device takes must have had a case that really ran there: one without is a failure.
//
// A program costs up to half a second to compile when it is not in the cache. So each op runs with
// one of its types first, another one for each op; then all others for as long as BUDGET_NS allows,
// or to the end with FERRY_GOLDENS_ALL=1, which then also asks for a case of every type. What was
// compiled stays in the cache: where the first round does not get to the end in LIMIT_NS, the next run
// of this test goes on.

#include <ctype.h>

#include "goldens.h"

#include "devices/devices.h"
#include "devices/opencl/opencl.h"
#include "execute/kernel_call.h"
#include "memory/pool.h"

#define MAX_OPS   512
#define BUDGET_NS ((int64_t)20e9)
#define LIMIT_NS  ((int64_t)55e9)  // of the first round, when nothing is in the cache

static fy_device *device;
static int ran, detoured, refused, left;
static bool first_round, to_the_end;
static int64_t start;
static struct {
  const char *name, *attr;
  uint64_t types;
  uint64_t done;  // bit per type: a case of it ran on the device
  bool late;      // there was a case, but no time
} ops[MAX_OPS];
static int num_ops;

static bool lives_on_host(const fy_op *op, const fy_attrs *attrs, int i, fy_dtype t) {
  if (!fy_dtype_is_plain(t) || (op->impl->flags & FY_OP_ANY_DEVICE_HOST_DATA)) return true;
  for (int arg = 0; arg < op->spec->num_inputs && arg < 64; arg++) {
    int begin, end;
    if (!(op->impl->host_inputs >> arg & 1)) continue;
    if (fy_spec_arg_range(op->spec, false, arg, attrs, &begin, &end, NULL)) continue;
    if (i >= begin && i < end) return true;
  }
  return false;
}

static int find_op(const char *name) {
  for (int i = 0; i < num_ops; i++)
    if (!strcmp(ops[i].name, name)) return i;
  return -1;
}

// The type that the kernels of op |i| differ by, as a bit; all bits if they do not.
static uint64_t type_of(int i, const fy_attrs *attrs) {
  const fy_attr *a = ops[i].attr ? fy_attrs_get(attrs, ops[i].attr) : NULL;
  return a ? FY_T(fy_dtype_base(a->v.type)) : UINT64_MAX;
}

// Takes away the types of op |i| that TensorFlow has no kernel for, which no golden can show.
static void keep_allowed(int i) {
  const fy_op *op = fy_op_find(ops[i].name, strlen(ops[i].name));
  assert_non_null(op);
  const char *kernels = op->spec->cpu_kernels;
  char word[64];
  for (int t = 1; t < 64 && ops[i].attr && kernels; t++) {
    if (!(ops[i].types >> t & 1)) continue;
    snprintf(word, sizeof word, "%s", fy_dtype_name((fy_dtype)t));
    bool found = false;
    for (const char *p = kernels; (p = strstr(p, word)) && !found; p++)
      found = p > kernels && strchr("=|", p[-1]) && !isalnum((unsigned char)p[strlen(word)]);
    if (!found && strstr(kernels, "=")) ops[i].types &= ~FY_T(t);
  }
  // Of integers TensorFlow's Round gives zeros, which nobody wants to have confirmed.
  if (!strcmp(ops[i].name, "Round")) ops[i].types &= ~(FY_T(FY_INT32) | FY_T(FY_INT64));
}

// The type of op |i| in the first round: the next one for the next op.
static uint64_t chosen_type(int i) {
  if (!ops[i].attr || !ops[i].types) return UINT64_MAX;
  int skip = i % __builtin_popcountll(ops[i].types);
  uint64_t rest = ops[i].types;
  while (skip--) rest &= rest - 1;
  return rest & (~rest + 1);
}

static void check_results(golden *g, const fy_site *site, fy_tensor **got) {
  if (site->num_outputs != g->num_out) {
    COMPLAIN(g, "%d outputs, wanted %d", site->num_outputs, g->num_out);
    return;
  }
  for (int i = 0; i < g->num_out; i++) {
    fy_tensor *here = NULL;
    if (!got[i]) {
      COMPLAIN(g, "no output %d", i);
      continue;
    }
    assert_int_equal(fy_memory_copy_tensor(got[i], NULL, &here, NULL), FY_OK);
    compare(g, i, g->out[i], here);
    fy_tensor_release(here);
  }
  for (int i = 0; i < g->num_after; i++) {
    fy_tensor *value = fy_variable_read(g->var[i]), *here = NULL;
    assert_int_equal(fy_memory_copy_tensor(value, NULL, &here, NULL), FY_OK);
    compare(g, i, g->after[i], here);
    fy_tensor_release(here);
    fy_tensor_release(value);
  }
}

// Before a call: its variables live on the device, as the placer would have it.
static void move_variables(golden *g) {
  for (int i = 0; i < g->num_vars; i++) {
    fy_tensor *value = fy_variable_read(g->var[i]), *there = NULL;
    assert_int_equal(fy_memory_copy_tensor(value, device, &there, NULL), FY_OK);
    fy_variable_assign(g->var[i], there);
    fy_tensor_release(value);
  }
}

static void run_there(golden *g, fy_site *site, const fy_attrs *attrs, fy_error *err) {
  const fy_op *op = site->op;
  fy_tensor *there[MAX_TENSORS] = {NULL}, *got[LOCAL_OUTPUTS] = {NULL};
  fy_opencl_stats before, after;
  fy_run run = {.resources = resources};
  for (int i = 0; i < g->num_in; i++) {
    if (lives_on_host(op, attrs, i, g->in[i]->dtype)) {
      fy_tensor_retain(g->in[i]);
      there[i] = g->in[i];
    } else {
      assert_int_equal(fy_memory_copy_tensor(g->in[i], device, &there[i], NULL), FY_OK);
    }
  }
  move_variables(g);
  site->device = device;
  fy_opencl_stats_get(device, &before);
  fy_code code = fy_kernel_call(site, &run, NULL, there, got, err);
  fy_opencl_stats_get(device, &after);
  // An index out of bounds is no error on a GPU, here as in TensorFlow: zeros come instead.
  // A class out of bounds gives NaN.
  bool gathers = g->code == FY_INVALID_ARGUMENT && !code &&
                 (strstr(g->op, "Gather") || !strcmp(g->op, "SparseSoftmaxCrossEntropyWithLogits"));
  if (gathers)
    ;
  else if (code != g->code)
    COMPLAIN(g, "code %d (%s), wanted %d %s", code, fy_error_text(err), g->code, g->text);
  else if (code && !same_text(fy_error_text(err), g->text))
    COMPLAIN(g, "said \"%s\", wanted \"%s\"", fy_error_text(err), g->text);
  else if (!code)
    check_results(g, site, got);
  ran++;
  if (after.detours != before.detours)
    detoured++;
  else if (!code && find_op(g->op) >= 0)
    ops[find_op(g->op)].done |= type_of(find_op(g->op), attrs);
  for (int i = 0; i < site->num_outputs; i++) fy_tensor_release(got[i]);
  for (int i = 0; i < g->num_in; i++) fy_tensor_release(there[i]);
}

static void run_golden(golden *g, fy_pool *pool) {
  const fy_op *op = fy_op_find(g->op, strlen(g->op));
  fy_arena arena;
  fy_attrs attrs = {0};
  fy_site site = {0};
  fy_error err;
  (void)pool;
  if (!op || !op->impl || !op->impl->compute || g->keep || g->missing) return;
  if (op->impl->flags & (FY_OP_ALIAS | FY_OP_ANY_SPACE | FY_OP_ANY_DEVICE_HOST_DATA)) return;
  if (has_denormals(g)) return;  // whether they count as 0 is up to the device
  fy_error_init(&err);
  fy_arena_init(&arena);
  fy_code code = fy_sample_parse_attrs(g->attrs, op->spec, &attrs, &arena, &err);
  if (!code) code = local_bind(op, &attrs, g->in, g->num_in, &arena, &site, &err);
  if (!code && !device->ops->supports(device, op, &attrs, &err)) {
    if (!fy_error_text(&err)[0]) COMPLAIN(g, "refused without a reason");
    refused += first_round;
  } else if (!code) {
    int i = find_op(g->op);
    bool chosen = i >= 0 && (type_of(i, &attrs) & chosen_type(i));
    bool late = !to_the_end && fy_now_ns() - start > (first_round ? LIMIT_NS : BUDGET_NS);
    if (i >= 0 && late) ops[i].late = true;
    if (chosen == first_round && !late)
      run_there(g, &site, &attrs, &err);
    else if (chosen == first_round)
      left++;
  }
  local_unbind(&site);
  fy_error_clear(&err);
  fy_arena_free(&arena);
}

// Every op that the device says it takes, and to the end every type of it.
static void check_coverage(void) {
  int pairs = 0, missing = 0;
  for (int i = 0; i < num_ops; i++) {
    const fy_op *op = fy_op_find(ops[i].name, strlen(ops[i].name));
    assert_non_null(op);
    // Made by the optimiser, or nothing but handles: other tests have them.
    if (ops[i].name[0] == '_' || (op->impl->flags & FY_OP_ANY_DEVICE_HOST_DATA) ||
        !strcmp(ops[i].name, "VarHandleOp") || !strcmp(ops[i].name, "VarIsInitializedOp") ||
        !strcmp(ops[i].name, "DestroyResourceOp"))
      continue;
    if (!ops[i].done && !ops[i].late) {
      print_error("%s: no golden case ran on the device\n", ops[i].name);
      failures++;
    }
    for (int t = 1; t < 64 && ops[i].attr; t++) {
      pairs += (int)(ops[i].types >> t & 1);
      if (!((ops[i].types & ~ops[i].done) >> t & 1)) continue;
      missing++;
      if (!to_the_end) continue;
      print_error("%s of %s: no golden case ran\n", ops[i].name, fy_dtype_name((fy_dtype)t));
      failures++;
    }
  }
  print_message("%d of %d pairs of op and type had a case\n", pairs - missing, pairs);
}

static void all_goldens(void **state) {
  fy_options options;
  fy_device_set *set = NULL;
  fy_opencl_stats s;
  (void)state;
  fy_options_default(&options);
  options.opencl_cpu = true;
  assert_int_equal(fy_devices_open(&options, &set, NULL), FY_OK);
  for (int i = 0; i < set->n && !device; i++)
    if (fy_opencl_is(set->items[i])) device = set->items[i];
  if (!device) {
    fy_devices_unref(set);
    print_message("no OpenCL device on this machine\n");
    skip();
  }
  exact_normals = false;
  to_the_end = getenv("FERRY_GOLDENS_ALL") != NULL;
  while (num_ops < MAX_OPS &&
         fy_opencl_op(num_ops, &ops[num_ops].name, &ops[num_ops].attr, &ops[num_ops].types))
    keep_allowed(num_ops++);
  start = fy_now_ns();
  first_round = true;
  run_all_files(run_golden);
  first_round = false;
  run_all_files(run_golden);
  fy_opencl_stats_get(device, &s);
  print_message("%d cases ran on %s, %d of them by the host's detour, %d refused, %d differ\n", ran,
                device->facts.description, detoured, refused, failures);
  print_message("%d cases left out for want of time (FERRY_GOLDENS_ALL=1 runs them)\n", left);
  print_message("%llu programs compiled, %llu from the cache, %.1f s\n",
                (unsigned long long)s.builds, (unsigned long long)s.cache_hits,
                (double)(fy_now_ns() - start) * 1e-9);
  if (!getenv("FERRY_GOLDENS")) check_coverage();
  assert_int_equal(failures, 0);
  fy_devices_unref(set);
}

int main(void) {
  const struct CMUnitTest tests[] = {cmocka_unit_test(all_goldens)};
  return cmocka_run_group_tests(tests, NULL, NULL);
}
