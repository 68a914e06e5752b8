// SPDX-License-Identifier: Apache-2.0
// test_ops_shapes.c: shape functions infer what TensorFlow infers, or more
// (tests/data/shape_goldens*.txt, made by tools/gen_op_goldens.py and goldens_array.py) and refuse
// what it refuses, in its words.

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <glob.h>
#include <stdio.h>
#include <stdlib.h>

#include <cmocka.h>

#include "local_runner.h"

#define MAX_ARGS 32

typedef struct shape_case {
  int line;
  char op[64], attrs[1024], error[512];
  char out[MAX_ARGS][128];
  int num_out, num_in;
  fy_dtype types[MAX_ARGS];
  fy_pshape in[MAX_ARGS];
  int64_t dims[MAX_ARGS][16];
  fy_tensor *value[MAX_ARGS];
} shape_case;

static int failures;
#define COMPLAIN(c, ...)                                                \
  do {                                                                  \
    if (failures++ < 60) {                                              \
      print_error("line %d: %s(%s): ", (c)->line, (c)->op, (c)->attrs); \
      print_error(__VA_ARGS__);                                         \
      print_error("\n");                                                \
    }                                                                   \
  } while (0)

static int hex_digit(char c) {
  return c >= '0' && c <= '9' ? c - '0' : c >= 'a' && c <= 'f' ? c - 'a' + 10 : -1;
}

static void read_input(shape_case *c, char *text) {
  char *type = strtok(text, " "), *dims = strtok(NULL, " "), *hex = strtok(NULL, " ");
  const int i = c->num_in++;
  assert_true(type && dims && i < MAX_ARGS && fy_dtype_parse(type, strlen(type), &c->types[i]));
  c->in[i] = (fy_pshape){-1, NULL};
  c->value[i] = NULL;
  if (*dims == '<') return;
  int32_t rank = 0;
  for (char *p = dims + 1; *p && *p != ']';) {
    c->dims[i][rank++] = *p == '?' ? (p++, -1) : strtoll(p, &p, 10);
    if (*p == ',') p++;
  }
  c->in[i] = (fy_pshape){rank, c->dims[i]};
  if (!hex) return;
  assert_int_equal(fy_tensor_new(c->types[i], rank, c->dims[i], &c->value[i], NULL), FY_OK);
  for (size_t b = 0; b < fy_tensor_bytes(c->value[i]); b++) {
    ((unsigned char *)c->value[i]->data)[b] =
        (unsigned char)(hex_digit(hex[2 * b]) * 16 + hex_digit(hex[2 * b + 1]));
  }
}

// Does |got| say all that |want| says, and maybe more?
static bool refines(fy_pshape got, const char *want) {
  if (*want == '<') return true;
  int32_t rank = 0;
  for (const char *p = want + 1; *p && *p != ']'; rank++) {
    char *end;
    if (rank >= got.rank) return false;
    if (*p == '?') {
      p++;
    } else {
      if (got.dims[rank] != strtoll(p, &end, 10)) return false;
      p = end;
    }
    if (*p == ',') p++;
  }
  return rank == got.rank;
}

static void run_case(shape_case *c) {
  const fy_op *op = fy_op_find(c->op, strlen(c->op));
  fy_arena arena;
  fy_attrs attrs = {0};
  fy_error err;
  fy_dtype *in_types = NULL, *out_types = NULL;
  int num_in = 0, num_out = 0;
  fy_pshape out[LOCAL_OUTPUTS], as_shape[MAX_ARGS], out_as_shape[LOCAL_OUTPUTS];
  fy_handle_shape handles[MAX_ARGS], out_handles[LOCAL_OUTPUTS];
  assert_true(op && op->impl);
  fy_error_init(&err);
  fy_arena_init(&arena);
  fy_code code = fy_sample_parse_attrs(c->attrs, op->spec, &attrs, &arena, &err);
  if (!code) code = fy_spec_add_defaults(op->spec, &attrs, &arena, &err);
  if (!code) code = fy_spec_arg_types(op->spec, false, &attrs, &arena, &in_types, &num_in, &err);
  if (!code) code = fy_spec_arg_types(op->spec, true, &attrs, &arena, &out_types, &num_out, &err);
  if (code) fail_msg("line %d: %s", c->line, fy_error_text(&err));
  for (int i = 0; i < num_in; i++) {
    as_shape[i] = FY_UNKNOWN_SHAPE;
    handles[i] = (fy_handle_shape){FY_INVALID, FY_UNKNOWN_SHAPE};
  }
  for (int i = 0; i < num_out; i++) {
    out[i] = out_as_shape[i] = FY_UNKNOWN_SHAPE;
    out_handles[i] = (fy_handle_shape){FY_INVALID, FY_UNKNOWN_SHAPE};
  }
  fy_shape_ctx ctx = {.spec = op->spec,
                      .attrs = &attrs,
                      .node_name = "n",
                      .num_inputs = num_in,
                      .num_outputs = num_out,
                      .in_types = in_types,
                      .out_types = out_types,
                      .in = c->in,
                      .in_value = (const fy_tensor *const *)c->value,
                      .in_as_shape = as_shape,
                      .in_handle = handles,
                      .out = out,
                      .out_handle = out_handles,
                      .out_as_shape = out_as_shape,
                      .arena = &arena};
  code = op->impl->shape(&ctx, &err);
  if (*c->error) {
    if (!code)
      COMPLAIN(c, "accepted, wanted \"%s\"", c->error);
    else if (strcmp(fy_error_text(&err), c->error)) {
      COMPLAIN(c, "said \"%s\", wanted \"%s\"", fy_error_text(&err), c->error);
    }
  } else if (code) {
    COMPLAIN(c, "refused: %s", fy_error_text(&err));
  } else {
    for (int i = 0; i < num_out && i < c->num_out; i++) {
      char text[128];
      fy_shape_text(out[i].rank, out[i].dims, text);
      if (!refines(out[i], c->out[i])) COMPLAIN(c, "output %d: %s, wanted %s", i, text, c->out[i]);
    }
  }
  fy_error_clear(&err);
  fy_arena_free(&arena);
}

static void finish(shape_case *c) {
  if (c->line) run_case(c);
  for (int i = 0; i < c->num_in; i++) fy_tensor_release(c->value[i]);
  memset(c, 0, sizeof *c);
}

static void check_file(const char *path) {
  static char line[1 << 14];
  static shape_case c;
  int number = 0, cases = 0;
  FILE *f = fopen(path, "r");
  if (!f) fail_msg("cannot open %s", path);
  while (fgets(line, sizeof line, f)) {
    number++;
    line[strcspn(line, "\n")] = 0;
    if (!strncmp(line, "shape ", 6)) {
      finish(&c);
      c.line = number;
      cases++;
      snprintf(c.op, sizeof c.op, "%.60s", line + 6);
    } else if (!strncmp(line, "attr ", 5)) {
      char *value = strchr(line + 5, ' ');
      assert_non_null(value);
      *value++ = 0;
      const size_t used = strlen(c.attrs);
      snprintf(c.attrs + used, sizeof c.attrs - used, "%s%s=%.400s", used ? "; " : "", line + 5,
               value);
    } else if (!strncmp(line, "in ", 3)) {
      read_input(&c, line + 3);
    } else if (!strncmp(line, "out ", 4)) {
      snprintf(c.out[c.num_out++], sizeof c.out[0], "%.120s", line + 4);
    } else if (!strncmp(line, "error ", 6)) {
      char *to = c.error;
      for (const char *p = line + 6; *p && to < c.error + sizeof c.error - 1; p++) {
        if (*p == '\\')
          p++, *to++ = *p == 'n' ? '\n' : '\t';
        else
          *to++ = *p;
      }
      *to = 0;
    }
  }
  finish(&c);
  fclose(f);
  print_message("%d cases, %d differ\n", cases, failures);
  assert_int_equal(failures, 0);
}

// Every tests/data/shape_goldens*.txt: one for each tool that makes them.
static void all_shapes(void **state) {
  (void)state;
  const char *source = getenv("FERRY_SOURCE");
  char pattern[512];
  glob_t files;
  snprintf(pattern, sizeof pattern, "%s/tests/data/shape_goldens*.txt", source ? source : ".");
  assert_int_equal(glob(pattern, 0, NULL, &files), 0);
  for (size_t i = 0; i < files.gl_pathc; i++) check_file(files.gl_pathv[i]);
  globfree(&files);
}

int main(void) {
  const struct CMUnitTest tests[] = {cmocka_unit_test(all_shapes)};
  return cmocka_run_group_tests(tests, NULL, NULL);
}
