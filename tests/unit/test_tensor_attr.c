// SPDX-License-Identifier: Apache-2.0
// test_tensor_attr.c: attributes: the sorted list, deep copies, equality and text.

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include <math.h>
#include <string.h>

#include "base/alloc.h"
#include "tensor/attr.h"

static fy_tensor *numbers(float last) {
  fy_tensor *t;
  const float data[] = {1, last};
  assert_int_equal(fy_tensor_from(FY_FLOAT, 1, (int64_t[]){2}, data, &t, NULL), FY_OK);
  return t;
}

static void sorted_list(void **state) {
  (void)state;
  static const char *const names[] = {"T", "N", "_class", "a", "Z", "b", "A", "T2", ""};
  fy_arena arena;
  fy_arena_init(&arena);
  fy_attrs attrs = {0};
  for (int i = 0; i < 9; i++) {
    fy_attr v = fy_attr_int(i);
    assert_int_equal(fy_attrs_set(&attrs, &arena, names[i], &v, NULL), FY_OK);
  }
  for (uint32_t i = 1; i < attrs.n; i++) {
    assert_true(strcmp(attrs.items[i - 1].name, attrs.items[i].name) < 0);
  }
  for (int i = 0; i < 9; i++) assert_int_equal(fy_attrs_get(&attrs, names[i])->v.i, i);
  fy_attr v = fy_attr_int(99);
  assert_int_equal(fy_attrs_set(&attrs, &arena, "N", &v, NULL), FY_OK);
  assert_int_equal(attrs.n, 9);
  assert_int_equal(fy_attrs_get(&attrs, "N")->v.i, 99);
  assert_null(fy_attrs_get(&attrs, "nope"));
  assert_false(fy_attrs_remove(&attrs, "nope"));
  assert_true(fy_attrs_remove(&attrs, "a"));
  assert_null(fy_attrs_get(&attrs, "a"));
  assert_int_equal(attrs.n, 8);
  // A value that lies in the list itself, while the list moves.
  for (int i = 0; i < 20; i++) {
    char name[] = {'x', (char)('a' + i), 0};
    assert_int_equal(fy_attrs_set(&attrs, &arena, name, &attrs.items[0].value, NULL), FY_OK);
  }
  assert_int_equal(fy_attrs_get(&attrs, "xt")->v.i, 8);
  fy_arena_free(&arena);
}

// One attribute of every kind, single and list, over memory of the caller's frame.
typedef struct every {
  int64_t dims[2];
  fy_view views[2];
  int64_t ints[2];
  float floats[2];
  bool bools[2];
  fy_dtype types[2];
  fy_pshape shapes[3];
  fy_tensor *tensors[2];
  fy_func_attr funcs[2];
  fy_named_attr named[1];
  fy_attr all[18];
} every;

static void fill_every(every *e, fy_tensor *t) {
  memset(e, 0, sizeof *e);
  e->dims[0] = 2, e->dims[1] = -1;
  e->views[0] = FY_VIEW("one"), e->views[1] = FY_VIEW("two");
  e->ints[0] = -1, e->ints[1] = 2;
  e->floats[0] = 0.5f, e->floats[1] = 1.0f / 3;
  e->bools[1] = true;
  e->types[0] = FY_FLOAT, e->types[1] = FY_STRING;
  e->shapes[0] = (fy_pshape){2, e->dims}, e->shapes[1] = (fy_pshape){-1, NULL};
  e->tensors[0] = e->tensors[1] = t;
  e->named[0] = (fy_named_attr){"k", fy_attr_string(FY_VIEW("v"))};
  e->funcs[0] = (fy_func_attr){FY_VIEW("f"), {e->named, 1, 1}};
  e->funcs[1] = (fy_func_attr){FY_VIEW("g"), {0}};
  fy_attr *a = e->all;
  *a++ = fy_attr_string(e->views[0]);
  *a++ = fy_attr_int(-7);
  *a++ = fy_attr_float(2.5f);
  *a++ = fy_attr_bool(true);
  *a++ = fy_attr_type(FY_HALF);
  *a++ = (fy_attr){.kind = FY_ATTR_SHAPE, .v.shape = e->shapes[0]};
  *a++ = (fy_attr){.kind = FY_ATTR_TENSOR, .v.tensor = t};
  *a++ = (fy_attr){.kind = FY_ATTR_FUNC, .v.func = &e->funcs[0]};
  *a++ = (fy_attr){.kind = FY_ATTR_PLACEHOLDER, .v.s = e->views[1]};
  *a++ = (fy_attr){.kind = FY_ATTR_STRING, .is_list = true, .n = 2, .v.strings = e->views};
  *a++ = (fy_attr){.kind = FY_ATTR_INT, .is_list = true, .n = 2, .v.ints = e->ints};
  *a++ = (fy_attr){.kind = FY_ATTR_FLOAT, .is_list = true, .n = 2, .v.floats = e->floats};
  *a++ = (fy_attr){.kind = FY_ATTR_BOOL, .is_list = true, .n = 2, .v.bools = e->bools};
  *a++ = (fy_attr){.kind = FY_ATTR_TYPE, .is_list = true, .n = 2, .v.types = e->types};
  *a++ = (fy_attr){.kind = FY_ATTR_SHAPE, .is_list = true, .n = 3, .v.shapes = e->shapes};
  *a++ = (fy_attr){.kind = FY_ATTR_TENSOR, .is_list = true, .n = 2, .v.tensors = e->tensors};
  *a++ = (fy_attr){.kind = FY_ATTR_FUNC, .is_list = true, .n = 2, .v.funcs = e->funcs};
  *a++ = (fy_attr){.kind = FY_ATTR_NONE};
}

static const char *const texts[18] = {
    "\"one\"",
    "-7",
    "2.5",
    "true",
    "DT_HALF",
    "[2,?]",
    "Tensor<type: float shape: [2] values: 1 2>",
    "f[k=\"v\"]",
    "$two",
    "[\"one\", \"two\"]",
    "[-1, 2]",
    "[0.5, 0.333333343]",
    "[false, true]",
    "[DT_FLOAT, DT_STRING]",
    "[[2,?], <unknown>, []]",
    "[Tensor<type: float shape: [2] values: 1 2>, Tensor<type: float shape: [2] values: 1 2>]",
    "[f[k=\"v\"], g[]]",
    "<Unknown AttrValue type>",
};

static void expect_text(const fy_attr *a, const char *text) {
  fy_str s;
  fy_str_init(&s);
  fy_attr_print(&s, a);
  assert_string_equal(s.p, text);
  fy_str_free(&s);
}

static void every_kind(void **state) {
  (void)state;
  fy_arena arena;
  every e;
  fy_attr copies[18];
  fy_tensor *t = numbers(2);
  fy_arena_init(&arena);
  fill_every(&e, t);
  for (int i = 0; i < 18; i++) {
    expect_text(&e.all[i], texts[i]);
    assert_int_equal(fy_attr_copy(&copies[i], &e.all[i], &arena, NULL), FY_OK);
  }
  every same;
  fy_tensor *equal = numbers(2);
  fill_every(&same, equal);
  memset(&e, 0xAA, sizeof e);  // the copies own everything
  fy_tensor_release(t);
  for (int i = 0; i < 18; i++) {
    expect_text(&copies[i], texts[i]);
    for (int k = 0; k < 18; k++) {
      assert_int_equal(fy_attr_equal(&copies[i], &same.all[k]), i == k);
      assert_int_equal(fy_attr_hash(&copies[i], 1) == fy_attr_hash(&same.all[k], 1), i == k);
    }
  }
  fy_tensor_release(equal);
  fy_arena_free(&arena);
}

static void by_content(void **state) {
  (void)state;
  fy_arena arena;
  fy_arena_init(&arena);
  fy_tensor *a = numbers(2), *b = numbers(3);
  fy_attr x = fy_attr_tensor(&arena, a), y = fy_attr_tensor(&arena, b);
  assert_false(fy_attr_equal(&x, &y));
  ((float *)b->data)[1] = 2;
  assert_true(fy_attr_equal(&x, &y));
  assert_true(fy_attr_hash(&x, 0) == fy_attr_hash(&y, 0));
  fy_tensor_release(a);
  fy_tensor_release(b);
  fy_attr none = {.kind = FY_ATTR_NONE, .is_list = true},
          ints = {.kind = FY_ATTR_INT, .is_list = true};
  assert_true(fy_attr_equal(&none, &ints));
  assert_true(fy_attr_hash(&none, 5) == fy_attr_hash(&ints, 5));
  expect_text(&none, "[]");
  fy_attr nan1 = fy_attr_float(NAN), nan2 = fy_attr_float(NAN);
  assert_true(fy_attr_equal(&nan1, &nan2));
  fy_arena_free(&arena);
}

static void long_text(void **state) {
  (void)state;
  char text[100];
  memset(text, 'm', sizeof text);
  memcpy(text, "0123456789", 10);
  memcpy(text + 70, "abcdefghij", 10);
  fy_attr a = fy_attr_string((fy_view){text, 80});
  expect_text(&a, "\"0123456789...abcdefghij\"");
  a = fy_attr_string(FY_VIEW("q\"\n\xc3\xa9\x7f"));
  expect_text(&a, "\"q\\\"\\n\\303\\251\\177\"");
  int64_t ints[40];
  for (int i = 0; i < 40; i++) ints[i] = i;
  fy_attr list = {.kind = FY_ATTR_INT, .is_list = true, .n = 30, .v.ints = ints};
  fy_str s;
  fy_str_init(&s);
  fy_attr_print(&s, &list);
  const char *ends = "[0, 1, 2, 3, 4, ..., 25, 26, 27, 28, 29]{attr_hash=";
  assert_int_equal(strncmp(s.p, ends, strlen(ends)), 0);
  fy_str_free(&s);
  fy_str_init(&s);
  list.n = 29;
  fy_attr_print(&s, &list);
  assert_null(strstr(s.p, "..."));
  fy_str_free(&s);
}

static void list_text(void **state) {
  (void)state;
  fy_arena arena;
  fy_arena_init(&arena);
  fy_attrs attrs = {0}, copy;
  fy_attr t = fy_attr_type(FY_FLOAT), n = fy_attr_int(2);
  assert_int_equal(fy_attrs_set(&attrs, &arena, "T", &t, NULL), FY_OK);
  assert_int_equal(fy_attrs_set(&attrs, &arena, "N", &n, NULL), FY_OK);
  assert_int_equal(fy_attrs_set(&attrs, &arena, "_class", &n, NULL), FY_OK);
  fy_str s;
  fy_str_init(&s);
  fy_attrs_print(&s, &attrs);
  assert_string_equal(s.p, "N=2, T=DT_FLOAT, _class=2");
  fy_str_free(&s);
  assert_int_equal(fy_attrs_copy(&copy, &attrs, &arena, NULL), FY_OK);
  assert_true(fy_attrs_equal(&attrs, &copy));
  assert_true(fy_attrs_hash(&attrs, 3) == fy_attrs_hash(&copy, 3));
  assert_true(fy_attrs_remove(&copy, "N"));
  assert_false(fy_attrs_equal(&attrs, &copy));
  assert_true(fy_attrs_hash(&attrs, 3) != fy_attrs_hash(&copy, 3));
  fy_arena_free(&arena);
}

static void out_of_memory(void **state) {
  (void)state;
  fy_tensor *t = numbers(2);
  every e;
  fill_every(&e, t);
  for (int64_t nth = 1;; nth++) {
    fy_arena arena;
    fy_attrs attrs = {0}, copy;
    fy_arena_init(&arena);
    fy_code code = FY_OK;
    fy_fault_arm(FY_FAULT_ALLOC, nth, false);
    for (int i = 0; i < 18 && code == FY_OK; i++) {
      char name[] = {(char)('a' + i), 0};
      code = fy_attrs_set(&attrs, &arena, name, &e.all[i], NULL);
    }
    for (int i = 0; i < 3 && code == FY_OK; i++) code = fy_attrs_copy(&copy, &attrs, &arena, NULL);
    bool reached = fy_fault_hits(FY_FAULT_ALLOC) >= nth;
    fy_fault_disarm(FY_FAULT_ALLOC);
    fy_arena_free(&arena);
    assert_int_equal(code, reached ? FY_RESOURCE_EXHAUSTED : FY_OK);
    if (!reached) break;
  }
  assert_true(fy_tensor_is_exclusive(t));  // every retained reference was given back
  fy_tensor_release(t);
}

int main(void) {
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(sorted_list), cmocka_unit_test(every_kind), cmocka_unit_test(by_content),
      cmocka_unit_test(long_text),   cmocka_unit_test(list_text),  cmocka_unit_test(out_of_memory),
  };
  return cmocka_run_group_tests(tests, NULL, NULL);
}
