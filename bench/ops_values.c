// SPDX-License-Identifier: Apache-2.0
// ops_values.c: the tensors of bench/ops.txt: see ops_case.h for how their values are written.

#include <math.h>

#include "bench.h"
#include "ops_case.h"
#include "tensorflow/c/tf_tstring.h"

static const struct {
  const char *name;
  TF_DataType type;
} types[] = {{"f32", TF_FLOAT}, {"f64", TF_DOUBLE}, {"f16", TF_HALF},      {"bf16", TF_BFLOAT16},
             {"i8", TF_INT8},   {"i16", TF_INT16},  {"i32", TF_INT32},     {"i64", TF_INT64},
             {"u8", TF_UINT8},  {"u16", TF_UINT16}, {"u32", TF_UINT32},    {"u64", TF_UINT64},
             {"b", TF_BOOL},    {"str", TF_STRING}, {"c64", TF_COMPLEX64}, {"c128", TF_COMPLEX128},
             {"qi8", TF_QINT8}, {"qu8", TF_QUINT8}, {"res", TF_RESOURCE},  {"variant", TF_VARIANT}};

TF_DataType ops_type_named(const char *name, size_t length) {
  for (size_t i = 0; i < sizeof types / sizeof types[0]; i++)
    if (strlen(types[i].name) == length && strncmp(types[i].name, name, length) == 0)
      return types[i].type;
  return (TF_DataType)0;
}

static uint64_t rng_state;
void ops_values_begin(void) {
  rng_state = 42;
}
static uint32_t rng(void) {
  rng_state = rng_state * 6364136223846793005u + 1442695040888963407u;
  return (uint32_t)(rng_state >> 33);
}
static double uniform(void) {
  return (double)rng() / 2147483648.0;
}

// ---------------------------------------------------------------- values
static void put(TF_DataType type, void *data, int64_t i, double v) {
  const float f = (float)v;
  uint32_t bits;
  memcpy(&bits, &f, sizeof bits);
  switch (type) {
    case TF_FLOAT: ((float *)data)[i] = f; break;
    case TF_DOUBLE: ((double *)data)[i] = v; break;
    case TF_COMPLEX64: ((float *)data)[2 * i] = f, ((float *)data)[2 * i + 1] = f / 2; break;
    case TF_COMPLEX128: ((double *)data)[2 * i] = v, ((double *)data)[2 * i + 1] = v / 2; break;
    case TF_BFLOAT16: ((uint16_t *)data)[i] = (uint16_t)(bits >> 16); break;
    case TF_HALF: {  // normal numbers only
      const uint32_t exponent = (bits >> 23 & 255u) < 113 ? 0 : (bits >> 23 & 255u) - 112;
      ((uint16_t *)data)[i] = (uint16_t)((bits >> 16 & 0x8000u) |
                                         (exponent ? exponent << 10 | (bits >> 13 & 0x3FFu) : 0u));
      break;
    }
    case TF_INT8:
    case TF_QINT8: ((int8_t *)data)[i] = (int8_t)v; break;
    case TF_UINT8:
    case TF_QUINT8: ((uint8_t *)data)[i] = (uint8_t)v; break;
    case TF_BOOL: ((uint8_t *)data)[i] = v != 0; break;
    case TF_INT16: ((int16_t *)data)[i] = (int16_t)v; break;
    case TF_UINT16: ((uint16_t *)data)[i] = (uint16_t)v; break;
    case TF_INT32: ((int32_t *)data)[i] = (int32_t)v; break;
    case TF_UINT32: ((uint32_t *)data)[i] = (uint32_t)v; break;
    case TF_INT64: ((int64_t *)data)[i] = (int64_t)v; break;
    case TF_UINT64: ((uint64_t *)data)[i] = (uint64_t)v; break;
    default: break;
  }
}

static bool is_float(TF_DataType t) {
  return t == TF_FLOAT || t == TF_DOUBLE || t == TF_HALF || t == TF_BFLOAT16 || t == TF_COMPLEX64 ||
         t == TF_COMPLEX128;
}

// A serialized Example with a float list "x" of four and an int64 list "y" of one.
static size_t example(char *to) {
  const char head[] = "\x0a\x2a\x0a\x19\x0a\x01x\x12\x14\x12\x12\x0a\x10";
  char *p = to;
  memcpy(p, head, 13), p += 13;
  // sizes: features 0x2a = 42 = entry x (2 + 25) + entry y (2 + 13)
  for (int k = 0; k < 4; k++) {
    const float f = (float)uniform();
    memcpy(p, &f, 4), p += 4;
  }
  const char tail[] = "\x0a\x0d\x0a\x01y\x12\x08\x1a\x06\x0a\x04";
  memcpy(p, tail, 11), p += 11;
  for (int k = 0; k < 3; k++) *p++ = (char)(0x80 | (rng() & 0x7f));
  *p++ = 1;
  return (size_t)(p - to);
}

static void fill_strings(TF_Tensor *t, int64_t n, const char *how) {
  TF_TString *s = TF_TensorData(t);
  for (int64_t i = 0; i < n; i++) {
    char text[256];
    size_t length = 0;
    if (strncmp(how, "example", 7) == 0) {
      length = example(text);
    } else if (strncmp(how, "num", 3) == 0) {
      length = (size_t)sprintf(text, "%.3f", uniform() * 1000);
    } else if (strncmp(how, "csv", 3) == 0) {
      length = (size_t)sprintf(text, "%.3f,%u,word%u", uniform(), rng() % 1000, rng() % 100);
    } else if (strncmp(how, "words", 5) == 0) {
      for (int w = 0; w < 4; w++)
        length += (size_t)sprintf(text + length, "%sword%u", w ? " " : "", rng() % 5000);
    } else if (strncmp(how, "lines", 5) == 0) {
      length = (size_t)sprintf(text, "line%lld\n", (long long)i);
    } else if (strncmp(how, "none", 4) == 0) {
      length = 0;
    } else if (strncmp(how, "letters", 7) == 0) {  // x, y, z …
      text[0] = (char)('x' + i);
      length = 1;
    } else {
      length = strlen(how);
      memcpy(text, how, length + 1);
    }
    TF_StringInit(&s[i]);
    TF_StringCopy(&s[i], text, length);
  }
}

TF_Tensor *ops_make_tensor(TF_DataType type, const int64_t *dims, int rank, const char *how) {
  int64_t n = 1;
  for (int i = 0; i < rank; i++) n *= dims[i];
  const size_t size = type == TF_STRING ? sizeof(TF_TString) : TF_DataTypeSize(type);
  TF_Tensor *t = TF_AllocateTensor(type, dims, rank, (size_t)n * size);
  void *data = TF_TensorData(t);
  if (type == TF_STRING) {
    fill_strings(t, n, how);
  } else if (strncmp(how, "perm", 4) == 0) {
    for (int64_t i = 0; i < n; i++) put(type, data, i, (double)i);
    for (int64_t i = n - 1; i > 0; i--) {
      const int64_t k = rng() % (i + 1);
      char a[16], *x = (char *)data + (size_t)i * size, *y = (char *)data + (size_t)k * size;
      memcpy(a, x, size), memcpy(x, y, size), memcpy(y, a, size);
    }
  } else {
    const char *at = how;
    const double top = strchr(how, ':') ? strtod(strchr(how, ':') + 1, NULL) : 0;
    for (int64_t i = 0; i < n; i++) {
      double v;
      if (!*how)
        v = is_float(type) ? 2 * uniform() - 1 : (double)(rng() % 100);
      else if (how[0] == 'p')
        v = is_float(type) ? 0.5 + uniform() : (double)(1 + rng() % 99);
      else if (how[0] == 't' && how[1] == 'o')
        v = (double)(rng() % (uint32_t)top);
      else if (how[0] == 'u')
        v = floor((double)i * top / (double)n);
      else if (how[0] == 'i')
        v = (double)i;
      else if (how[0] == 'z')
        v = 0;
      else if (how[0] == 'o' || how[0] == 't')
        v = 1;
      else {
        char *end;
        v = strtod(at, &end);
        at = *end == ',' ? end + 1 : how;
      }
      put(type, data, i, v);
    }
  }
  return t;
}
