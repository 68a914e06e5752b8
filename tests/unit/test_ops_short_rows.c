// SPDX-License-Identifier: Apache-2.0
// Short rows and columns (ops/lanes_rows.inc and what calls it): reductions, ArgMax, Cumsum, Select and Gather
// against their definitions written out, bit for bit: zeros of both signs, equals, infinities and NaN, sizes
// around vectors and groups of rows.

#include "op_calls.h"

#include <math.h>
#include <string.h>

#include "ops/typed.h"

static uint32_t seed;
static uint32_t next(void) {
  return seed = seed * 1664525u + 1013904223u, seed >> 8;
}

// Few different values, so that there are equals; |odd|: some are NaN.
static float value(bool odd) {
  const uint32_t k = next() % (odd ? 23 : 20);
  if (k >= 20) return fy_bits_float(0x7FC00000u + next() % 7 + (next() % 2 << 31));
  if (k == 0) return next() % 2 ? 0.0f : -0.0f;
  if (k == 1) return next() % 8 ? -1.5f : -INFINITY;
  if (k == 2) return next() % 8 ? 1.5f : INFINITY;
  return (float)(int32_t)(next() % 2000u) * 0.01f - 10.0f;
}

static fy_tensor *make(fy_dtype type, int32_t rank, const int64_t *dims) {
  fy_tensor *t;
  assert_int_equal(fy_tensor_new(type, rank, dims, &t, &err), FY_OK);
  return t;
}
static fy_tensor *floats(int64_t rows, int64_t cols, bool odd) {
  fy_tensor *t = make(FY_FLOAT, 2, (const int64_t[]){rows, cols});
  for (int64_t i = 0; i < t->count; i++) ((float *)t->data)[i] = value(odd);
  return t;
}
static fy_tensor *number(int32_t v, int32_t rank) {
  fy_tensor *t = make(FY_INT32, rank, (const int64_t[]){1});
  *(int32_t *)t->data = v;
  return t;
}

// Calls |op| and lets the inputs go.
static fy_tensor *call(const char *op, const char *attr, int n, fy_tensor **in) {
  fy_attrs attrs = {0};
  fy_site site;
  fy_tensor *out[LOCAL_OUTPUTS];
  if (attr) {
    const fy_attr yes = {.kind = FY_ATTR_BOOL, .v.b = true};
    char name[32];
    for (const char *at = attr; *at; at += *at == ' ') {
      const size_t len = strcspn(at, " ");
      memcpy(name, at, len), name[len] = 0;
      assert_int_equal(fy_attrs_set(&attrs, &arena, name, &yes, &err), FY_OK);
      at += len;
    }
  }
  if (local_bind(fy_op_find(op, strlen(op)), &attrs, in, n, &arena, &site, &err) ||
      local_call(&site, &run, in, out, &err))
    fail_msg("%s: %s", op, fy_error_text(&err));
  local_unbind(&site);
  return out[0];
}

static float join(char kind, float x, float y) {
  switch (kind) {
    case '+': return x + y;
    case '*': return x * y;
    case '>': return x < y || y != y ? y : x;
    default: return y < x || y != y ? y : x;
  }
}
static float start(char kind) {
  return kind == '+' ? 0.0f : kind == '*' ? 1.0f : kind == '>' ? -INFINITY : INFINITY;
}
// In 32 strands, which are folded.
static float strands(char kind, const float *x, int64_t n) {
  float lane[32];
  for (int k = 0; k < 32; k++) lane[k] = start(kind);
  for (int64_t i = 0; i < n; i++) lane[i % 32] = join(kind, lane[i % 32], x[i]);
  for (int w = 16; w > 0; w /= 2)
    for (int k = 0; k < w; k++) lane[k] = join(kind, lane[k], lane[k + w]);
  return lane[0];
}

// Which of two NaN a sum or product becomes is nobody's promise.
static void same_bits(float a, float b, const char *what, int64_t rows, int64_t n, int64_t at) {
  if (fy_float_bits(a) == fy_float_bits(b) || (a != a && b != b && *what != 'M')) return;
  fail_msg("%s of %lld x %lld at %lld: %.9g (%x), not %.9g (%x)", what, (long long)rows,
           (long long)n, (long long)at, (double)a, fy_float_bits(a), (double)b, fy_float_bits(b));
}

static const int64_t widths[] = {17, 24, 31, 32, 33, 40, 63, 64, 65, 100, 257, 1000};
static const int64_t heights[] = {1, 2, 7, 8, 9, 10, 13, 33};
enum { WIDTHS = sizeof widths / sizeof *widths, HEIGHTS = sizeof heights / sizeof *heights };
#define FOR_SIZES                        \
  for (int w_ = 0; w_ < WIDTHS; w_++)    \
    for (int h_ = 0; h_ < HEIGHTS; h_++) \
      for (int odd = 0; odd < 2; odd++)
#define N    widths[w_]
#define ROWS heights[h_]

static void reductions(void **state) {
  (void)state;
  static const struct {
    const char *op;
    char kind;
  } ops[] = {{"Sum", '+'}, {"Prod", '*'}, {"Max", '>'}, {"Min", '<'}};
  FOR_SIZES for (int k = 0; k < 4; k++) {
    fy_tensor *x = floats(ROWS, N, odd), *axes = number(1, 1), *first = number(0, 1);
    const float *in = x->data;
    fy_tensor *sums = call(ops[k].op, NULL, 2, (fy_tensor *[]){x, axes});
    for (int64_t r = 0; r < ROWS; r++)
      same_bits(((float *)sums->data)[r], strands(ops[k].kind, in + r * N, N), ops[k].op, ROWS, N,
                r);
    fy_tensor_release(sums);
    sums = call(ops[k].op, "keep_dims", 2, (fy_tensor *[]){x, first});
    assert_int_equal(sums->rank, 2);
    for (int64_t c = 0; c < N && ROWS > 1; c++) {
      float y = start(ops[k].kind);
      for (int64_t r = 0; r < ROWS; r++) y = join(ops[k].kind, y, in[r * N + c]);
      same_bits(((float *)sums->data)[c], y, ops[k].op, ROWS, N, c);
    }
    fy_tensor_release(sums), fy_tensor_release(x), fy_tensor_release(axes),
        fy_tensor_release(first);
  }
}

static void places(void **state) {
  (void)state;
  FOR_SIZES for (int form = 0; form < 8; form++) {
    const bool ints = form & 1, least = form & 2, down = form & 4;
    fy_tensor *x = floats(ROWS, N, odd), *axis = number(!down, 0);
    if (ints) {
      x->dtype = FY_INT32;
      for (int64_t i = 0; i < x->count; i++)
        ((int32_t *)x->data)[i] = odd ? INT32_MAX - (least ? 0 : 1) : (int32_t)(next() % 50u) - 25;
      if (odd) ((int32_t *)x->data)[next() % (uint32_t)x->count] = least ? INT32_MIN : INT32_MAX;
    }
    fy_tensor *at = call(least ? "ArgMin" : "ArgMax", NULL, 2, (fy_tensor *[]){x, axis});
    const int64_t along = down ? ROWS : N, step = down ? N : 1;
    for (int64_t o = 0; o < at->count; o++) {
      const int64_t base = down ? o : o * N;
      int64_t best = 0;
      float f = least ? INFINITY : -INFINITY;
      int64_t top = least ? INT32_MAX : INT32_MIN;
      for (int64_t i = 0; i < along; i++) {
        const float y = ((const float *)x->data)[base + i * step];
        const int64_t z = ((const int32_t *)x->data)[base + i * step];
        if (ints ? (least ? z < top : z > top) : (least ? y < f : y > f)) f = y, top = z, best = i;
      }
      assert_int_equal(((int64_t *)at->data)[o], best);
    }
    fy_tensor_release(at), fy_tensor_release(x), fy_tensor_release(axis);
  }
}

static void running_sums(void **state) {
  (void)state;
  static const char *const ways[] = {NULL, "exclusive", "reverse", "exclusive reverse"};
  FOR_SIZES for (int way = 0; way < 4; way++) {
    fy_tensor *x = floats(ROWS, N - 15, odd), *axis = number(1, 0);
    fy_tensor *sums = call("Cumsum", ways[way], 2, (fy_tensor *[]){x, axis});
    for (int64_t r = 0; r < ROWS; r++) {
      float sum = 0;
      for (int64_t i = 0; i < N - 15; i++) {
        const int64_t at = r * (N - 15) + (way & 2 ? N - 16 - i : i);
        const float y = sum + ((const float *)x->data)[at];
        same_bits(((float *)sums->data)[at], way & 1 ? sum : y, "Sum so far", ROWS, N - 15, at);
        sum = y;
      }
    }
    fy_tensor_release(sums), fy_tensor_release(x), fy_tensor_release(axis);
  }
}

static void choices(void **state) {
  (void)state;
  for (int64_t n = 1; n < 70; n++) {
    fy_tensor *a = floats(1, n, true), *b = floats(1, n, true);
    fy_tensor *flags = make(FY_BOOL, 2, (const int64_t[]){1, n});
    for (int64_t i = 0; i < n; i++) ((bool *)flags->data)[i] = next() % 2;
    fy_tensor *out = call("SelectV2", NULL, 3, (fy_tensor *[]){flags, a, b});
    for (int64_t i = 0; i < n; i++)
      assert_int_equal(((uint32_t *)out->data)[i],
                       ((uint32_t *)(((bool *)flags->data)[i] ? a : b)->data)[i]);
    fy_tensor_release(out), fy_tensor_release(a), fy_tensor_release(b), fy_tensor_release(flags);
  }
}

// Elements of every size, by indices of every type.
static void gathered(void **state) {
  (void)state;
  static const fy_dtype types[] = {FY_INT8, FY_INT16, FY_INT32, FY_INT64, FY_COMPLEX128};
  static const fy_dtype places_of[] = {FY_INT32, FY_INT64, FY_INT16};
  for (int t = 0; t < 5; t++) {
    for (int p = 0; p < 3; p++) {
      const size_t size = fy_dtype_storage(types[t]);
      fy_tensor *x = make(types[t], 1, (const int64_t[]){50}), *axis = number(0, 0);
      fy_tensor *at = make(places_of[p], 1, (const int64_t[]){37});
      for (size_t i = 0; i < 50 * size; i++) ((uint8_t *)x->data)[i] = (uint8_t)next();
      for (int64_t i = 0; i < 37; i++) {
        const int64_t k = next() % 50;
        if (p == 0) ((int32_t *)at->data)[i] = (int32_t)k;
        if (p == 1) ((int64_t *)at->data)[i] = k;
        if (p == 2) ((int16_t *)at->data)[i] = (int16_t)k;
      }
      fy_tensor *out = call("GatherV2", NULL, 3, (fy_tensor *[]){x, at, axis});
      for (int64_t i = 0; i < 37; i++) {
        const int64_t k = p == 2 ? ((int16_t *)at->data)[i] : fy_tensor_int(at, i);
        assert_memory_equal((char *)out->data + (size_t)i * size,
                            (char *)x->data + (size_t)k * size, size);
      }
      fy_tensor_release(out), fy_tensor_release(x), fy_tensor_release(at), fy_tensor_release(axis);
    }
  }
}

int main(void) {
  const struct CMUnitTest tests[] = {
      cmocka_unit_test_setup_teardown(reductions, calls_setup, calls_teardown),
      cmocka_unit_test_setup_teardown(places, calls_setup, calls_teardown),
      cmocka_unit_test_setup_teardown(running_sums, calls_setup, calls_teardown),
      cmocka_unit_test_setup_teardown(choices, calls_setup, calls_teardown),
      cmocka_unit_test_setup_teardown(gathered, calls_setup, calls_teardown),
  };
  return cmocka_run_group_tests(tests, NULL, NULL);
}
