// SPDX-License-Identifier: Apache-2.0
// goldens.h: reads tests/data/op_goldens*.txt (one case: an op, attributes, inputs, and what the real
// TensorFlow answered) and compares. Integers, strings, shapes and random numbers must be equal bit
// for bit, floats within a few units in the last place (the libraries' exp differ).

#ifndef FY_TESTS_GOLDENS_H
#define FY_TESTS_GOLDENS_H

#include <glob.h>
#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>

#include <cmocka.h>

#include "local_runner.h"
#include "ops/typed.h"

#define MAX_TENSORS 32

typedef struct golden {
  int line;
  char op[64];
  char attrs[1024];
  fy_tensor *in[MAX_TENSORS], *out[MAX_TENSORS];
  int num_in, num_out;
  fy_variable *var[MAX_TENSORS];  // the first inputs are handles of these
  fy_tensor *after[MAX_TENSORS];  // what they hold afterwards
  int num_vars, num_after;
  bool keep, kept_on;  // the outputs are for later cases; what was kept stays
  bool missing;        // an input that was to be kept is not there
  bool eager;          // runs, although graph mode refuses the shapes
  int terms, rough;    // numbers added up in an element of the result; so in 16 bits each
  fy_code code;
  char text[1024];
} golden;

// What cases with a "keep" line made: values without bytes (variants), for the cases after them.
static fy_tensor *kept[MAX_TENSORS];
static int num_kept;
static fy_resources *resources;  // of all cases of a file

static int failures;
#define COMPLAIN(g, ...)                                                \
  do {                                                                  \
    if (failures++ < 40) {                                              \
      print_error("line %d: %s(%s): ", (g)->line, (g)->op, (g)->attrs); \
      print_error(__VA_ARGS__);                                         \
      print_error("\n");                                                \
    }                                                                   \
  } while (0)

static int hex_digit(char c) {
  return c >= '0' && c <= '9' ? c - '0' : c >= 'a' && c <= 'f' ? c - 'a' + 10 : -1;
}

static fy_tensor *read_tensor(char *text) {
  char *type = strtok(text, " "), *dims_text = strtok(NULL, " "), *hex = strtok(NULL, " \n");
  fy_dtype dtype;
  int64_t dims[FY_MAX_RANK];
  int32_t rank = 0;
  fy_tensor *t = NULL;
  assert_true(type && dims_text && fy_dtype_parse(type, strlen(type), &dtype));
  for (char *p = dims_text + 1; *p && *p != ']';) {
    dims[rank++] = strtoll(p, &p, 10);
    if (*p == ',') p++;
  }
  assert_int_equal(fy_tensor_new(dtype, rank, dims, &t, NULL), FY_OK);
  if (dtype == FY_STRING) {
    char *at = hex;
    for (int64_t i = 0; i < t->count; i++) {
      static char bytes[1 << 15];
      size_t n = 0;
      assert_int_equal(*at++, 'x');
      for (; hex_digit(*at) >= 0; at += 2) {
        assert_true(n < sizeof bytes);
        bytes[n++] = (char)(hex_digit(at[0]) * 16 + hex_digit(at[1]));
      }
      if (*at == ',') at++;
      assert_true(fy_tensor_set_string(t, i, bytes, n));
    }
    return t;
  }
  const size_t bytes = fy_tensor_bytes(t);
  for (size_t i = 0; i < bytes; i++) {
    ((unsigned char *)t->data)[i] =
        (unsigned char)(hex_digit(hex[2 * i]) * 16 + hex_digit(hex[2 * i + 1]));
  }
  return t;
}

// An input that is a variable: its handle.
static fy_tensor *read_variable(golden *g, char *text) {
  fy_tensor *value = read_tensor(text), *handle = NULL;
  fy_variable *v = NULL;
  assert_int_equal(fy_variable_new(fy_view_of(""), fy_view_of("v"), value->dtype, &v, NULL), FY_OK);
  fy_variable_assign(v, value);
  assert_int_equal(fy_tensor_new(FY_RESOURCE, 0, NULL, &handle, NULL), FY_OK);
  fy_object_retain(&v->object);
  fy_resource_put(handle, &v->object);
  g->var[g->num_vars++] = v;
  return handle;
}

static void free_golden(golden *g) {
  for (int i = 0; i < g->num_in; i++) fy_tensor_release(g->in[i]);
  for (int i = 0; i < g->num_out; i++) fy_tensor_release(g->out[i]);
  for (int i = 0; i < g->num_vars; i++) fy_object_release(&g->var[i]->object);
  for (int i = 0; i < g->num_after; i++) fy_tensor_release(g->after[i]);
  memset(g, 0, sizeof *g);
}

// ---------------------------------------------------------------- comparing
static bool close_enough(double got, double want, double relative, double absolute) {
  if (isnan(want) || isnan(got)) return isnan(want) && isnan(got);
  if (got == want) return true;
  if (isinf(want) || isinf(got)) return false;
  return fabs(got - want) <= absolute + relative * fabs(want);
}

static bool exact_normals = true;  // a device's own log and sin are not the host's

static bool exact_op(const char *op) {
  if (strstr(op, "Normal")) return exact_normals;
  return !strncmp(op, "RandomUniform", 13) || !strcmp(op, "StatelessRandomUniform") ||
         strstr(op, "Binomial") || strstr(op, "Poisson") ||
         (strstr(op, "RandomGamma") && !strstr(op, "Grad")) || strstr(op, "StatefulUniform") ||
         !strcmp(op, "Cast") || !strcmp(op, "AddV2") || !strcmp(op, "Mul") ||
         !strcmp(op, "Transpose");
}

// Adds many terms, some of which cancel.
static bool summing_op(const char *op) {
  return strstr(op, "MatMul") || !strcmp(op, "Sum") || !strcmp(op, "Mean") ||
         !strcmp(op, "Cumsum") || !strcmp(op, "Einsum");
}

// A text that ends in "..." stands for all that start as it does.
static bool same_text(const char *said, const char *want) {
  const size_t n = strlen(want);
  if (n > 3 && !strcmp(want + n - 3, "...") && !strncmp(said, want, n - 3)) return true;
  const char *end = strchr(said, '\n');  // the data keep the first line
  return end ? strlen(want) == (size_t)(end - said) && !strncmp(said, want, (size_t)(end - said))
             : !strcmp(said, want);
}

static void compare(const golden *g, int i, const fy_tensor *want, const fy_tensor *got) {
  char a[128], b[128];
  if (got->dtype != want->dtype || !fy_shape_equal(got->rank, got->dims, want->rank, want->dims)) {
    COMPLAIN(g, "output %d is %s %s, wanted %s %s", i, fy_dtype_name(got->dtype),
             fy_shape_text(got->rank, got->dims, a), fy_dtype_name(want->dtype),
             fy_shape_text(want->rank, want->dims, b));
    return;
  }
  const fy_dtype t = want->dtype;
  if (t == FY_STRING) {
    for (int64_t k = 0; k < want->count; k++) {
      if (!fy_view_eq(fy_tensor_string(got, k), fy_tensor_string(want, k))) {
        COMPLAIN(g, "string %lld differs", (long long)k);
        return;
      }
    }
    return;
  }
  const bool complex_type = fy_dtype_is_complex(t);
  if (!fy_dtype_is_floating(t) && !complex_type) {
    if (want->count && memcmp(got->data, want->data, fy_tensor_bytes(want))) {
      for (int64_t k = 0; k < want->count; k++) {
        if (fy_tensor_int(got, k) == fy_tensor_int(want, k)) continue;
        COMPLAIN(g, "output %d: element %lld is %lld, wanted %lld", i, (long long)k,
                 (long long)fy_tensor_int(got, k), (long long)fy_tensor_int(want, k));
        return;
      }
    }
    return;
  }
  // Units in the last place; sums of many terms may differ by their order.
  double unit = t == FY_HALF                           ? 0x1p-10
                : t == FY_BFLOAT16                     ? 0x1p-7
                : t == FY_DOUBLE || t == FY_COMPLEX128 ? 0x1p-52
                                                       : 0x1p-23;
  double relative = exact_op(g->op) ? 0 : t == FY_DOUBLE || t == FY_COMPLEX128 ? 1e-13 : 8 * unit;
  if (t == FY_HALF || t == FY_BFLOAT16) relative = exact_op(g->op) ? 0 : 2 * unit;
  const bool narrow = (t == FY_HALF || t == FY_BFLOAT16) && !summing_op(g->op);
  const int64_t n = complex_type ? want->count * 2 : want->count;
  double scale = 0;  // complex: relative to the number, not to each part
  for (int64_t k = 0; k < n; k++) {
    double x, y;
    if (t == FY_COMPLEX64) {
      x = (double)((const float *)got->data)[k], y = (double)((const float *)want->data)[k];
    } else if (t == FY_COMPLEX128) {
      x = ((const double *)got->data)[k], y = ((const double *)want->data)[k];
    } else {
      x = fy_tensor_double(got, k), y = fy_tensor_double(want, k);
    }
    if (isfinite(y)) scale = fabs(y) > scale ? fabs(y) : scale;
    const double absolute = exact_op(g->op) ? 0
                            : complex_type  ? scale * relative * 4 + unit * g->terms
                            : narrow        ? unit * (0.25 + g->rough)
                                            : unit * (summing_op(g->op) ? 128 : 0.25 + g->terms);
    if (!close_enough(x, y, relative, absolute)) {
      COMPLAIN(g, "%s output %d: element %lld is %.17g, wanted %.17g", fy_dtype_name(t), i,
               (long long)k, x, y);
      return;
    }
  }
}

// Numbers too small to be normal count as 0 in the CPU's kernels, as in TensorFlow's, by a mode of the
// processor that not everything else has.
static inline bool has_denormals(const golden *g) {
  for (int k = 0; k < g->num_in; k++) {
    const fy_tensor *t = g->in[k];
    for (int64_t i = 0; (t->dtype == FY_FLOAT || t->dtype == FY_DOUBLE) && i < t->count; i++)
      if (t->dtype == FY_FLOAT ? fpclassify(((const float *)t->data)[i]) == FP_SUBNORMAL
                               : fpclassify(((const double *)t->data)[i]) == FP_SUBNORMAL)
        return true;
  }
  return false;
}

static void drop_kept(void) {
  while (num_kept > 0) fy_tensor_release(kept[--num_kept]);
}

// Every case of a file through |run|; how many there were.
static int run_file(const char *path, void (*run)(golden *g, fy_pool *pool)) {
  static char line[1 << 16];
  FILE *f = fopen(path, "r");
  if (!f) fail_msg("cannot open %s", path);
  static golden g;
  int number = 0, cases = 0;
  fy_pool *pool = fy_pool_new(2, NULL, 0);
  resources = fy_resources_new();
  while (fgets(line, sizeof line, f)) {
    number++;
    line[strcspn(line, "\n")] = 0;
    if (!strncmp(line, "op ", 3)) {
      if (g.line) run(&g, pool);
      free_golden(&g);
      g.line = number;
      snprintf(g.op, sizeof g.op, "%.60s", line + 3);
      cases++;
    } else if (!strncmp(line, "attr ", 5)) {
      char *value = strchr(line + 5, ' ');
      assert_non_null(value);
      *value++ = 0;
      const size_t used = strlen(g.attrs);
      snprintf(g.attrs + used, sizeof g.attrs - used, "%s%s=%.500s", used ? "; " : "", line + 5,
               value);
    } else if (!strncmp(line, "in ", 3)) {
      assert_true(g.num_in < MAX_TENSORS);
      g.in[g.num_in++] = read_tensor(line + 3);
    } else if (!strncmp(line, "kept ", 5)) {
      const int which = atoi(line + 5);
      assert_true(g.num_in < MAX_TENSORS);
      g.missing = g.missing || which >= num_kept;
      if (g.missing) continue;
      fy_tensor_retain(kept[which]);
      g.in[g.num_in++] = kept[which];
    } else if (!strcmp(line, "keep")) {
      g.keep = true;
    } else if (!strcmp(line, "eager")) {
      g.eager = true;
    } else if (!strcmp(line, "kept_on")) {
      g.kept_on = true;
    } else if (!strncmp(line, "terms ", 6)) {
      g.terms = atoi(line + 6);
    } else if (!strncmp(line, "rough ", 6)) {
      g.rough = atoi(line + 6);
    } else if (!strncmp(line, "var ", 4)) {
      assert_true(g.num_in < MAX_TENSORS);
      g.in[g.num_in++] = read_variable(&g, line + 4);
    } else if (!strncmp(line, "after ", 6)) {
      assert_true(g.num_after < MAX_TENSORS);
      g.after[g.num_after++] = read_tensor(line + 6);
    } else if (!strncmp(line, "out ", 4)) {
      assert_true(g.num_out < MAX_TENSORS);
      g.out[g.num_out++] = read_tensor(line + 4);
    } else if (!strncmp(line, "error ", 6)) {
      char *text;
      g.code = (fy_code)strtol(line + 6, &text, 10);
      snprintf(g.text, sizeof g.text, "%.1000s", *text ? text + 1 : "");
    }
  }
  if (g.line) run(&g, pool);
  free_golden(&g);
  fclose(f);
  drop_kept();
  fy_resources_release(resources);
  fy_pool_free(pool);
  return cases;
}

// Runs the cases of every tests/data/op_goldens*.txt (one for each tool that makes them).
static int run_all_files(void (*run)(golden *g, fy_pool *pool)) {
  const char *source = getenv("FERRY_SOURCE"), *only = getenv("FERRY_GOLDENS");
  char pattern[512];
  glob_t files;
  int cases = 0;
  snprintf(pattern, sizeof pattern, "%s/tests/data/op_goldens%s.txt", source ? source : ".",
           only ? only : "*");
  assert_int_equal(glob(pattern, 0, NULL, &files), 0);
  for (size_t i = 0; i < files.gl_pathc; i++) {
    const int before = failures, n = run_file(files.gl_pathv[i], run);
    print_message("%s: %d cases, %d differ\n", files.gl_pathv[i], n, failures - before);
    cases += n;
  }
  globfree(&files);
  return cases;
}

#endif
