// SPDX-License-Identifier: Apache-2.0
// test_options.c: options as text, environment and ConfigProto; what is wrong is named.

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include <stdlib.h>
#include <string.h>

#include "base/options.h"
#include "wire/config.h"
#include "wire/config_options.h"

static void apply(fy_options *o, const char *text) {
  fy_error err;
  fy_error_init(&err);
  if (fy_options_text(o, text, &err)) fail_msg("%s: %s", text, fy_error_text(&err));
  fy_error_clear(&err);
}

static void refuse(const char *text, const char *expected) {
  fy_options o, before;
  fy_error err;
  fy_error_init(&err);
  fy_options_default(&o);
  before = o;
  assert_int_equal(fy_options_text(&o, text, &err), FY_INVALID_ARGUMENT);
  if (!strstr(fy_error_text(&err), expected)) {
    fail_msg("'%s' gives '%s', not '%s'", text, fy_error_text(&err), expected);
  }
  assert_memory_equal(&o, &before, sizeof o);
  fy_error_clear(&err);
}

static void text(void **state) {
  (void)state;
  fy_options o;
  fy_options_default(&o);
  assert_int_equal(o.cpu_devices, 1);
  assert_int_equal(o.gpu_devices, -1);
  assert_true(o.optimize && o.spill && !o.soft_placement && !o.place_tensorflow);
  assert_int_equal(o.sim.devices, 0);
  apply(&o,
        "place=tensorflow; intra_threads = 3;inter_threads=-1\nmemory_limit.CPU=4GiB\n# note\n;");
  assert_true(o.place_tensorflow);
  assert_int_equal(o.intra_threads, 3);
  assert_int_equal(o.inter_threads, -1);
  assert_true(o.cpu_memory_limit == 4ull << 30);
  apply(&o, "passes=-fuse, -cse; spill=never; optimize=off; soft_placement=on; max_programs=2");
  assert_string_equal(o.passes_off, "fuse,cse");
  assert_true(!o.spill && !o.optimize && o.soft_placement && o.max_programs == 2);
  apply(&o, "passes=; cores=CPU:1:2-3 CPU:0:0; visible_devices=1,0; memory_fraction=0.25");
  assert_string_equal(o.passes_off, "");
  assert_string_equal(o.cores[1], "2-3");
  assert_string_equal(o.cores[0], "0");
  assert_int_equal(o.cpu_devices, 2);
  assert_string_equal(o.visible_devices, "1,0");
  apply(&o,
        "sim=gpu:2,memory=2GiB,pcie=12.5GB/s,latency=3us,launch=7us,flops=1.5T,bandwidth=1TB/s,"
        "busy=0.8,lack=float64,lack=MatMul:int32,fail_copy=3,lost_after=9");
  assert_int_equal(o.sim.devices, 2);
  assert_true(o.sim.memory_bytes == 2ull << 30 && o.sim.link_bytes_per_s == 12.5e9);
  assert_true(o.sim.link_latency_ns == 3e3 && o.sim.launch_ns == 7e3 && o.sim.flops == 1.5e12);
  assert_true(o.sim.memory_bytes_per_s == 1e12 && o.sim.busy == 0.8);
  assert_int_equal(o.sim.num_lacks, 2);
  assert_string_equal(o.sim.lacks[1], "MatMul:int32");
  assert_int_equal(o.sim.fail_copy, 3);
  assert_int_equal(o.sim.lost_after, 9);
}

static void errors(void **state) {
  (void)state;
  refuse("plase=auto", "unknown option 'plase' (did you mean 'place'?); known options: ");
  refuse("memory_limit.cpu=1", "did you mean 'memory_limit.CPU'?");
  refuse("xyzzy_quux_long=1", "unknown option 'xyzzy_quux_long'; known options: intra_threads, ");
  refuse("place", "option 'place' has no value: write place=");
  refuse("place=cheap", "option 'place': 'cheap' is not auto or tensorflow");
  refuse("intra_threads=-2", "'-2' is not a whole number from 0 to 4096");
  refuse("intra_threads=two", "'two' is not a whole number");
  refuse("intra_threads=99999999999999999999", "is not a whole number");
  refuse("cpu_devices=0", "from 1 to 64");
  refuse("memory_limit.CPU=4 cats", "is not a size such as");
  refuse("memory_fraction=1.5", "is not a number from 0 to 1");
  refuse("memory_fraction=nan", "is not a number from 0 to 1");
  refuse("optimize=maybe", "is not true or false");
  refuse("cores=CPU:1", "is not of the form CPU:1:2-3");
  refuse("cores=GPU:1:0", "is not of the form CPU:1:2-3");
  refuse("cores=CPU:99:0", "is not of the form");
  refuse("passes=fuse", "written -name");
  refuse("sim=gpu:17", "a number of simulated GPUs, at most 16");
  refuse("sim=gpu:1,memmory=1GiB", "unknown simulator option 'memmory' (did you mean 'memory'?)");
  refuse("sim=gpu:1,memory=1KiB", "at least 1MiB");
  refuse("sim=gpu:1,pcie=-1GB/s", "is not a rate");
  refuse("sim=gpu:1,latency=5parsecs", "is not a time");
  refuse("sim=gpu:1,lack=", "is not a dtype");
  refuse("place=auto; optimize=on; plase=1", "unknown option");
}

static void print_round_trip(void **state) {
  (void)state;
  fy_options o, again;
  fy_str s;
  fy_options_default(&o);
  apply(&o,
        "sim=gpu:2,memory=768MiB,pcie=12.5GB/s,lack=float64,lack=Exp; passes=-fuse,-cse; "
        "cores=CPU:1:0; memory_limit.GPU=3GiB; place=tensorflow; memory_fraction=0.3");
  fy_str_init(&s);
  fy_options_print(&s, &o);
  fy_options_default(&again);
  char *copy = strdup(fy_str_text(&s));
  int lines = 0;
  for (char *save, *line = strtok_r(copy, "\n", &save); line; line = strtok_r(NULL, "\n", &save)) {
    char *help = strstr(line, "  (");
    assert_non_null(help);
    *help = 0;
    apply(&again, line);
    lines++;
  }
  assert_true(lines >= 20);
  assert_memory_equal(&o, &again, sizeof o);
  free(copy);
  fy_str_free(&s);
}

static void environment(void **state) {
  (void)state;
  fy_options o;
  fy_error err;
  fy_error_init(&err);
  fy_options_default(&o);
  setenv("FERRY_CONFIG", "place=tensorflow; intra_threads=5", 1);
  setenv("FERRY_SIM", "gpu:2,memory=64MiB", 1);
  setenv("TF_NUM_INTEROP_THREADS", "7", 1);
  setenv("FERRY_OPENCL_CPU", "1", 1);
  assert_int_equal(fy_options_environment(&o, &err), FY_OK);
  assert_true(o.place_tensorflow && o.opencl_cpu);
  assert_int_equal(o.intra_threads, 5);
  assert_int_equal(o.inter_threads, 7);
  assert_int_equal(o.sim.devices, 2);
  setenv("FERRY_SIM", "gpu:banana", 1);
  assert_int_equal(fy_options_environment(&o, &err), FY_INVALID_ARGUMENT);
  assert_non_null(strstr(fy_error_text(&err), "environment variable FERRY_SIM: "));
  fy_error_clear(&err);
  unsetenv("FERRY_CONFIG");
  unsetenv("FERRY_SIM");
  unsetenv("TF_NUM_INTEROP_THREADS");
  unsetenv("FERRY_OPENCL_CPU");
}

static fy_code from_config(const char *text, fy_options *o, fy_error *err) {
  fy_arena arena;
  Tensorflow__ConfigProto *c;
  fy_arena_init(&arena);
  fy_options_default(o);
  fy_code code = fy_wire_config_parse(text, strlen(text), &arena, &c, err);
  if (!code) code = fy_wire_config_check_share(c, err);
  if (!code) code = fy_wire_config_options(c, o, err);
  fy_arena_free(&arena);
  return code;
}

static void config(void **state) {
  (void)state;
  fy_options o;
  fy_error err;
  fy_error_init(&err);
  assert_int_equal(
      from_config("device_count { key: \"CPU\" value: 2 } device_count { key: \"GPU\" value: 1 } "
                  "intra_op_parallelism_threads: 4 inter_op_parallelism_threads: -7 "
                  "allow_soft_placement: true log_device_placement: true "
                  "gpu_options { visible_device_list: \"1\" experimental { virtual_devices { "
                  "memory_limit_mb: 128 memory_limit_mb: 256 } } } "
                  "graph_options { optimizer_options { opt_level: L0 } } "
                  "operation_timeout_in_ms: 500 isolate_session_state: true "
                  "experimental { session_metadata { name: \"m\" version: 1 } }",
                  &o, &err),
      FY_OK);
  assert_int_equal(o.cpu_devices, 2);
  assert_int_equal(o.gpu_devices, 1);
  assert_int_equal(o.intra_threads, 4);
  assert_int_equal(o.inter_threads, -1);
  assert_true(o.soft_placement && o.log_placement && !o.optimize && o.isolate_session_state);
  assert_string_equal(o.visible_devices, "1");
  assert_int_equal(o.num_virtual_gpus, 2);
  assert_true(o.virtual_gpus[1].memory_bytes == 256ull << 20 && o.virtual_gpus[1].visible == 0);
  assert_int_equal(o.operation_timeout_ms, 500);
  assert_int_equal(
      from_config("graph_options { rewrite_options { disable_meta_optimizer: true } }", &o, &err),
      FY_OK);
  assert_false(o.optimize);
  assert_int_equal(from_config("gpu_options { per_process_gpu_memory_fraction: 0.5 }", &o, &err),
                   FY_OK);
  assert_true(o.memory_fraction == 0.5 && o.optimize);
  const char *bad[] = {
      "gpu_options { per_process_gpu_memory_fraction: -1 }",
      "gpu_options { per_process_gpu_memory_fraction: 1.5 }",
      ("gpu_options { per_process_gpu_memory_fraction: 0.5 experimental { virtual_devices { "
       "memory_limit_mb: 1 } } }"),
      "gpu_options { experimental { virtual_devices { memory_limit_mb: -3 } } }",
      "device_count { key: \"GPU\" value: -1 }",
      "device_count { key: \"CPU\" value: 1000 }",
      "intra_op_parallelism_threads: 100000",
  };
  for (size_t i = 0; i < sizeof bad / sizeof *bad; i++) {
    assert_int_equal(from_config(bad[i], &o, &err), FY_INVALID_ARGUMENT);
  }
  fy_error_clear(&err);
}

int main(void) {
  const struct CMUnitTest tests[] = {cmocka_unit_test(text), cmocka_unit_test(errors),
                                     cmocka_unit_test(print_round_trip),
                                     cmocka_unit_test(environment), cmocka_unit_test(config)};
  return cmocka_run_group_tests(tests, NULL, NULL);
}
