// SPDX-License-Identifier: Apache-2.0
// test_opencl_nvrtc.c: the kernels of the OpenCL device are CUDA C too: NVRTC compiles every one of
// them where it is installed (no GPU is needed). Skipped, and said so, where it is not.

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include <dlfcn.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/str.h"
#include "devices/opencl/opencl.h"
#include "ops/fused.h"
#include "ops/op.h"
#include "sample.h"

typedef struct nvrtc {
  int (*create)(void **program, const char *source, const char *name, int headers,
                const char *const *texts, const char *const *names);
  int (*compile)(void *program, int n, const char *const *options);
  int (*destroy)(void **program);
  int (*log_size)(void *program, size_t *n);
  int (*log)(void *program, char *text);
} nvrtc;

static bool load(nvrtc *n) {
  static const char *const names[] = {"libnvrtc.so", "libnvrtc.so.13", "libnvrtc.so.12",
                                      "libnvrtc.so.11.2"};
  void *lib = NULL;
  for (size_t i = 0; i < sizeof names / sizeof *names && !lib; i++)
    lib = dlopen(names[i], RTLD_NOW | RTLD_LOCAL);
  if (!lib) return false;
  *(void **)&n->create = dlsym(lib, "nvrtcCreateProgram");
  *(void **)&n->compile = dlsym(lib, "nvrtcCompileProgram");
  *(void **)&n->destroy = dlsym(lib, "nvrtcDestroyProgram");
  *(void **)&n->log_size = dlsym(lib, "nvrtcGetProgramLogSize");
  *(void **)&n->log = dlsym(lib, "nvrtcGetProgramLog");
  return n->create && n->compile && n->destroy && n->log_size && n->log;
}

static int made, compiled, failed;

static void try_source(const nvrtc *n, const char *what, const char *source, const char *defines) {
  char words[512];
  void *program = NULL;
  fy_str text;
  snprintf(words, sizeof words, "%s", defines);
  fy_str_init(&text);
  // In the text, not as options: NVRTC's own headers come first and use such short names.
  for (char *save, *w = strtok_r(words, " ", &save); w; w = strtok_r(NULL, " ", &save)) {
    char *value = strchr(w, '=');
    if (value) *value++ = 0;
    fy_str_printf(&text, "#define %s %s\n", w + 2, value ? value : "1");
  }
  fy_str_add(&text, fy_opencl_source(0));
  fy_str_add(&text, source);
  // Of somebody else's compiler Valgrind needs to see a few calls only.
  uint64_t part;
  const bool few = sample_parts(&part) > 1;
  if (!sample_takes((uint64_t)made++) || (few && compiled == 8)) {
    fy_str_free(&text);
    return;
  }
  assert_int_equal(n->create(&program, fy_str_text(&text), what, 0, NULL, NULL), 0);
  compiled++;
  if (n->compile(program, 0, NULL)) {
    size_t size = 0;
    n->log_size(program, &size);
    char *log = calloc(1, size + 1);
    n->log(program, log);
    print_error("%s (%s): %s\n", what, defines, log);
    free(log);
    failed++;
  }
  n->destroy(&program);
  fy_str_free(&text);
}

// One program of everything that is ever fused: a full input, a row and a scalar, and a constant.
static void try_fused(const nvrtc *n, fy_dtype t) {
  uint32_t kinds[] = {FY_FUSED_FULL, FY_FUSED_ROW, FY_FUSED_SCALAR}, outputs[2] = {3, 3};
  uint64_t consts[] = {1};
  fy_fused_op ops[FY_EW_COUNT];
  fy_fused_program p = {.num_inputs = 3,
                        .num_consts = 1,
                        .num_outputs = 2,
                        .kinds = kinds,
                        .consts = consts,
                        .ops = ops,
                        .outputs = outputs};
  for (int op = 1; op < FY_EW_COUNT; op++) {
    if (!fy_fused_knows((fy_ew)op, t)) continue;
    ops[p.num_ops] = (fy_fused_op){(uint32_t)op, p.num_ops + 3, p.num_ops % 4};
    p.num_ops++;
  }
  outputs[1] = 3 + p.num_ops;
  fy_str s;
  fy_str_init(&s);
  if (fy_opencl_fused_source(&p, t, &s)) {
    try_source(n, "fused", fy_str_text(&s), "");
  } else {
    print_error("%s: an op that is fused has no kernel\n", fy_dtype_name(t));
    failed++;
  }
  fy_str_free(&s);
}

static void test_all(void **state) {
  static const char *const types[] = {
      "-DS=float -DT=float -DKIND=plain -DFLOATING",
      "-DS=double -DT=double -DKIND=plain -DFLOATING", "-DS=half -DT=float -DKIND=half -DFLOATING",
      "-DS=ushort -DT=float -DKIND=bf16 -DFLOATING", "-DS=int -DT=int -DKIND=plain"};
  static const struct {
    int source;
    const char *defines;
    bool whole;  // also for integers
  } kinds[] = {{1, "-DPOOL", false},
               {1, "-DDEPTHWISE", false},
               {1, "-DNORM", false},
               {1, "-DSTATS -DACC=double", false},
               {1, "-DSTATS -DACC=float", false},
               {1, "-DBIAS", true},
               {2, "-DTABLES", true},
               {2, "-DCONV", false},
               {3, "-DOP=0", true},
               {3, "-DOP=1", false},
               {3, "-DOP=2", true},
               {3, "-DOP=3", true},
               {3, "-DOP=4", true},
               {3, "-DSOFTMAX", false},
               {3, "-DSCAN", true},
               {3, "-DARG -DOUT=long", true},
               {4, "-DE=uchar", true},
               {4, "-DE=ulong", true},
               {5, "-DWHAT=2", true},
               {7, "-DCONV_GRADS", false},
               {7, "-DPOOL_GRADS", false},
               {7, "-DENTROPY", false},
               {8, "-DJOIN=0", true},
               {8, "-DJOIN=2", true},
               {8, "-DJOIN=4", true},
               {8, "-DEDGE=float", true},
               {8, "-DWHERE=256", true},
               {6, "-DBILINEAR", true},
               {6, "-DNEAREST -DE=uint", true}};
  static const fy_dtype dtypes[] = {FY_FLOAT, FY_HALF, FY_BFLOAT16, FY_INT32};
  nvrtc n;
  char defines[256];
  (void)state;
  if (!fy_opencl_source(0) || !load(&n)) {
    print_message(
        "libnvrtc is not installed (Debian: libnvrtc11.2 of non-free): nothing compiled\n");
    skip();
  }
  for (size_t k = 0; k < sizeof kinds / sizeof *kinds; k++)
    for (size_t t = 0; t < 5; t++) {
      if (t == 4 && !kinds[k].whole) continue;
      if (t != 4 && kinds[k].source == 5) continue;
      snprintf(defines, sizeof defines, "%s %s", types[t], kinds[k].defines);
      try_source(&n, "kernels", fy_opencl_source(kinds[k].source), defines);
    }
  for (int what = 0; what < 2; what++)
    for (int wide = 0; wide < 2; wide++) {
      snprintf(defines, sizeof defines, "%s -DWHAT=%d%s", types[wide], what, wide ? " -DWIDE" : "");
      try_source(&n, "random", fy_opencl_source(5), defines);
    }
  for (size_t i = 0; i < fy_op_impl_count; i++)
    for (size_t t = 0; t < sizeof dtypes / sizeof *dtypes; t++) {
      fy_str s;
      fy_str_init(&s);
      if (fy_opencl_elementwise_source(fy_op_impls[i]->name, dtypes[t], &s))
        try_source(&n, fy_op_impls[i]->name, fy_str_text(&s), "");
      fy_str_free(&s);
    }
  for (int i = 0;; i++) {
    fy_str s;
    fy_str_init(&s);
    bool more = fy_opencl_update_source(i, &s);
    for (int t = 0; t < 2 && more; t++) try_source(&n, "update", fy_str_text(&s), types[t]);
    fy_str_free(&s);
    if (!more) break;
  }
  static const fy_dtype fused[] = {FY_FLOAT, FY_DOUBLE, FY_INT32, FY_INT64};
  for (size_t t = 0; t < sizeof fused / sizeof *fused; t++) try_fused(&n, fused[t]);
  print_message("%d of %d sources compiled\n", compiled, made);
  assert_int_equal(failed, 0);
}

int main(void) {
  const struct CMUnitTest tests[] = {cmocka_unit_test(test_all)};
  return cmocka_run_group_tests(tests, NULL, NULL);
}
