// SPDX-License-Identifier: Apache-2.0
// test_ops_linalg.c: what goldens cannot show: decompositions of larger matrices, whose vectors are
// unique up to a sign, give back the matrix; transforms of many lengths undo each other and agree
// with the definition.

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

typedef double _Complex cplx;

static uint64_t seed = 1;
static double noise(void) {
  seed = seed * 6364136223846793005ull + 1442695040888963407ull;
  return (double)(seed >> 11) * 0x1p-53 * 2 - 1;
}

static cplx get(const fy_tensor *t, int64_t i) {
  switch (t->dtype) {
    case FY_FLOAT: return (double)((const float *)t->data)[i];
    case FY_DOUBLE: return ((const double *)t->data)[i];
    case FY_COMPLEX64: return ((const float _Complex *)t->data)[i];
    default: return ((const cplx *)t->data)[i];
  }
}
static void put(fy_tensor *t, int64_t i, cplx v) {
  switch (t->dtype) {
    case FY_FLOAT: ((float *)t->data)[i] = (float)creal(v); break;
    case FY_DOUBLE: ((double *)t->data)[i] = creal(v); break;
    case FY_COMPLEX64: ((float _Complex *)t->data)[i] = (float _Complex)v; break;
    default: ((cplx *)t->data)[i] = v; break;
  }
}

static fy_tensor *random_tensor(fy_dtype type, int32_t rank, const int64_t *dims) {
  fy_tensor *t;
  assert_int_equal(fy_tensor_new(type, rank, dims, &t, NULL), FY_OK);
  for (int64_t i = 0; i < t->count; i++) {
    const double re = noise(), im = noise();
    put(t, i, re + I * im);
  }
  return t;
}

static void call(const char *name, const char *attrs_text, fy_tensor **in, int num_in,
                 fy_tensor **out) {
  const fy_op *op = fy_op_find(name, strlen(name));
  fy_arena arena;
  fy_attrs attrs = {0};
  fy_site site = {0};
  fy_error err;
  local_run run = {0};
  assert_non_null(op);
  fy_error_init(&err);
  fy_arena_init(&arena);
  fy_code code = fy_sample_parse_attrs(attrs_text, op->spec, &attrs, &arena, &err);
  if (!code) code = local_bind(op, &attrs, in, num_in, &arena, &site, &err);
  if (!code) code = local_call(&site, &run, in, out, &err);
  if (code) fail_msg("%s: %s", name, fy_error_text(&err));
  local_unbind(&site);
  fy_error_clear(&err);
  fy_arena_free(&arena);
}

static double tolerance(fy_dtype t, int64_t n) {
  return (t == FY_FLOAT || t == FY_COMPLEX64 ? 0x1p-23 : 0x1p-52) * 30 * (double)(n + 2);
}

// a = u diag(s) v^H, u and v with orthonormal columns.
static void check_svd(fy_dtype type, int64_t m, int64_t n, bool full) {
  fy_tensor *a = random_tensor(type, 2, (const int64_t[]){m, n}), *out[3];
  if (n > 3) {  // a column twice: a singular value is zero
    for (int64_t i = 0; i < m; i++) put(a, i * n + 1, get(a, i * n));
  }
  call("Svd", full ? "full_matrices=true" : "full_matrices=false", &a, 1, out);
  const int64_t side = m < n ? m : n, nu = out[1]->dims[1], nv = out[2]->dims[1];
  const double allowed = tolerance(type, m + n);
  for (int64_t i = 0; i < m; i++) {
    for (int64_t j = 0; j < n; j++) {
      cplx sum = 0;
      for (int64_t k = 0; k < side; k++) {
        sum += get(out[1], i * nu + k) * get(out[0], k) * conj(get(out[2], j * nv + k));
      }
      assert_true(cabs(sum - get(a, i * n + j)) < allowed);
    }
  }
  for (int which = 1; which < 3; which++) {
    const int64_t rows = out[which]->dims[0], cols = out[which]->dims[1];
    for (int64_t p = 0; p < cols; p++) {
      for (int64_t q = 0; q <= p; q++) {
        cplx sum = 0;
        for (int64_t i = 0; i < rows; i++) {
          sum += get(out[which], i * cols + p) * conj(get(out[which], i * cols + q));
        }
        assert_true(cabs(sum - (p == q)) < allowed);
      }
    }
  }
  for (int64_t k = 1; k < side; k++) {
    assert_true(creal(get(out[0], k)) <= creal(get(out[0], k - 1)));
  }
  for (int i = 0; i < 3; i++) fy_tensor_release(out[i]);
  fy_tensor_release(a);
}

static void singular_values(void **state) {
  static const fy_dtype types[] = {FY_FLOAT, FY_DOUBLE, FY_COMPLEX64, FY_COMPLEX128};
  (void)state;
  for (size_t t = 0; t < 4; t++) {
    for (int full = 0; full < 2; full++) {
      check_svd(types[t], 16, 16, full);
      check_svd(types[t], 40, 23, full);
      check_svd(types[t], 5, 33, full);
      check_svd(types[t], 40, 9, full);
      check_svd(types[t], 1, 20, full);
    }
  }
}

// a v = v diag(e) for a matrix and, made self-adjoint, for both ops.
static void check_eigen(fy_dtype type, int64_t n, bool self_adjoint) {
  fy_tensor *a = random_tensor(type, 2, (const int64_t[]){n, n}), *out[2];
  for (int64_t i = 0; self_adjoint && i < n; i++) {
    for (int64_t j = 0; j <= i; j++) {
      const cplx v = (get(a, i * n + j) + conj(get(a, j * n + i))) / 2;
      put(a, i * n + j, v);
      put(a, j * n + i, conj(v));
    }
  }
  const bool single = type == FY_FLOAT || type == FY_COMPLEX64;
  if (self_adjoint) {
    call("SelfAdjointEigV2", "compute_v=true", &a, 1, out);
  } else {
    call("Eig", single ? "Tout=complex64" : "Tout=complex128", &a, 1, out);
  }
  for (int64_t i = 0; i < n; i++) {
    for (int64_t k = 0; k < n; k++) {
      cplx sum = 0;
      for (int64_t j = 0; j < n; j++) sum += get(a, i * n + j) * get(out[1], j * n + k);
      assert_true(cabs(sum - get(out[1], i * n + k) * get(out[0], k)) < tolerance(type, 4 * n));
    }
  }
  fy_tensor_release(out[0]);
  fy_tensor_release(out[1]);
  fy_tensor_release(a);
}

static void eigenvalues(void **state) {
  static const fy_dtype types[] = {FY_FLOAT, FY_DOUBLE, FY_COMPLEX64, FY_COMPLEX128};
  (void)state;
  for (size_t t = 0; t < 4; t++) {
    for (int64_t n = 1; n < 50; n = n * 2 + 1) {
      check_eigen(types[t], n, true);
      check_eigen(types[t], n, false);
    }
  }
}

// Against the sum itself, and back.
static void transforms(void **state) {
  (void)state;
  for (int64_t n = 1; n < 150; n++) {
    fy_tensor *x = random_tensor(n % 3 ? FY_COMPLEX128 : FY_COMPLEX64, 1, &n), *y, *z;
    const double allowed = tolerance(x->dtype, n);
    call("FFT", NULL, &x, 1, &y);
    call("IFFT", NULL, &y, 1, &z);
    for (int64_t k = 0; k < n; k++) {
      cplx sum = 0;
      for (int64_t i = 0; i < n; i++) {
        const double angle = -2 * M_PI * (double)(i * k % n) / (double)n;
        sum += get(x, i) * (cos(angle) + I * sin(angle));
      }
      assert_true(cabs(sum - get(y, k)) < allowed);
      assert_true(cabs(get(z, k) - get(x, k)) < allowed);
    }
    fy_tensor_release(x);
    fy_tensor_release(y);
    fy_tensor_release(z);
  }
}

// Solves and factors of larger systems: a x = b.
static void systems(void **state) {
  (void)state;
  const int64_t n = 70;
  fy_tensor *in[2] = {random_tensor(FY_DOUBLE, 2, (const int64_t[]){n, n}),
                      random_tensor(FY_DOUBLE, 2, (const int64_t[]){n, 2})};
  fy_tensor *x, *inverse;
  call("MatrixSolve", "adjoint=false", in, 2, &x);
  call("MatrixInverse", "adjoint=false", in, 1, &inverse);
  for (int64_t i = 0; i < n; i++) {
    for (int64_t k = 0; k < 2; k++) {
      cplx sum = 0, other = 0;
      for (int64_t j = 0; j < n; j++) {
        sum += get(in[0], i * n + j) * get(x, j * 2 + k);
        other += get(inverse, i * n + j) * get(in[1], j * 2 + k);
      }
      assert_true(cabs(sum - get(in[1], i * 2 + k)) < 1e-10);
      assert_true(cabs(other - get(x, i * 2 + k)) < 1e-9);
    }
  }
  fy_tensor_release(in[0]);
  fy_tensor_release(in[1]);
  fy_tensor_release(x);
  fy_tensor_release(inverse);
}

// e to a turn is a rotation; only graphs older than version 27 may hold this op, so no golden has it.
static void exponentials(void **state) {
  static const fy_dtype types[] = {FY_FLOAT, FY_DOUBLE, FY_COMPLEX64, FY_COMPLEX128};
  (void)state;
  for (size_t t = 0; t < 4; t++) {
    for (double angle = 0.01; angle < 40; angle *= 3) {
      fy_tensor *a, *y;
      assert_int_equal(fy_tensor_new(types[t], 2, (const int64_t[]){2, 2}, &a, NULL), FY_OK);
      const cplx turn[4] = {0, angle, -angle, 0};
      for (int64_t i = 0; i < 4; i++) put(a, i, turn[i]);
      const double exact = creal(get(a, 1));
      call("MatrixExponential", NULL, &a, 1, &y);
      const double want[4] = {cos(exact), sin(exact), -sin(exact), cos(exact)};
      for (int64_t i = 0; i < 4; i++) {
        assert_true(cabs(get(y, i) - want[i]) < tolerance(types[t], (int64_t)angle));
      }
      fy_tensor_release(a);
      fy_tensor_release(y);
    }
  }
}

int main(void) {
  const struct CMUnitTest tests[] = {cmocka_unit_test(singular_values),
                                     cmocka_unit_test(eigenvalues), cmocka_unit_test(transforms),
                                     cmocka_unit_test(systems), cmocka_unit_test(exponentials)};
  return cmocka_run_group_tests(tests, NULL, NULL);
}
