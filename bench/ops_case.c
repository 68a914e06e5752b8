// SPDX-License-Identifier: Apache-2.0
// ops_case.c: see ops_case.h.

#include "ops_case.h"

#include <math.h>

#include "bench.h"
#include "tensorflow/c/tf_tstring.h"

static const struct {
  const char *name;
  TF_DataType type;
} types[] = {{"f32", TF_FLOAT},   {"f64", TF_DOUBLE}, {"f16", TF_HALF},      {"bf16", TF_BFLOAT16},
             {"i8", TF_INT8},     {"i16", TF_INT16},  {"i32", TF_INT32},     {"i64", TF_INT64},
             {"u8", TF_UINT8},    {"u16", TF_UINT16}, {"u32", TF_UINT32},    {"u64", TF_UINT64},
             {"b", TF_BOOL},      {"str", TF_STRING}, {"c64", TF_COMPLEX64}, {"qi8", TF_QINT8},
             {"qu8", TF_QUINT8},  {"res", TF_RESOURCE}};

static TF_DataType type_named(const char *name, size_t length) {
  for (size_t i = 0; i < sizeof types / sizeof types[0]; i++)
    if (strlen(types[i].name) == length && strncmp(types[i].name, name, length) == 0)
      return types[i].type;
  return (TF_DataType)0;
}

static uint64_t rng_state;
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
    case TF_BFLOAT16: ((uint16_t *)data)[i] = (uint16_t)(bits >> 16); break;
    case TF_HALF: {  // normal numbers only
      const uint32_t exponent = (bits >> 23 & 255u) < 113 ? 0 : (bits >> 23 & 255u) - 112;
      ((uint16_t *)data)[i] =
          (uint16_t)((bits >> 16 & 0x8000u) |
                     (exponent ? exponent << 10 | (bits >> 13 & 0x3FFu) : 0u));
      break;
    }
    case TF_INT8: case TF_QINT8: ((int8_t *)data)[i] = (int8_t)v; break;
    case TF_UINT8: case TF_QUINT8: ((uint8_t *)data)[i] = (uint8_t)v; break;
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
  return t == TF_FLOAT || t == TF_DOUBLE || t == TF_HALF || t == TF_BFLOAT16 || t == TF_COMPLEX64;
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
    } else {
      length = strlen(how);
      memcpy(text, how, length + 1);
    }
    TF_StringInit(&s[i]);
    TF_StringCopy(&s[i], text, length);
  }
}

static TF_Tensor *make_tensor(TF_DataType type, const int64_t *dims, int rank, const char *how) {
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
      if (!*how) v = is_float(type) ? 2 * uniform() - 1 : (double)(rng() % 100);
      else if (how[0] == 'p') v = is_float(type) ? 0.5 + uniform() : (double)(1 + rng() % 99);
      else if (how[0] == 't' && how[1] == 'o') v = (double)(rng() % (uint32_t)top);
      else if (how[0] == 'u') v = floor((double)i * top / (double)n);
      else if (how[0] == 'i') v = (double)i;
      else if (how[0] == 'z') v = 0;
      else if (how[0] == 'o' || how[0] == 't') v = 1;
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

// ---------------------------------------------------------------- the graph
#define FAIL(...) (snprintf(error, room, __VA_ARGS__), false)
#define CHECK(what) \
  if (TF_GetCode(c->status) != TF_OK) return FAIL("%s: %s", what, TF_Message(c->status))

static int parse_ints(const char *p, int64_t *out) {
  int n = 0;
  while (n < OPS_MAX && (*p == '-' || (*p >= '0' && *p <= '9'))) {
    char *end;
    out[n++] = strtoll(p, &end, 10);
    p = *end == ',' ? end + 1 : end;
  }
  return n;
}

static bool add_input(ops_case *c, char *text, TF_Output *out, char *error, size_t room) {
  const bool constant = *text == '#', variable = strncmp(text, "var:", 4) == 0;
  text += constant ? 1 : variable ? 4 : 0;
  char *open = strchr(text, '['), *close = open ? strchr(open, ']') : NULL, name[16];
  if (!close) return FAIL("no shape in %s", text);
  const TF_DataType type = type_named(text, (size_t)(open - text));
  if (!type) return FAIL("unknown type in %s", text);
  int64_t dims[OPS_MAX];
  const int rank = parse_ints(open + 1, dims);
  TF_Tensor *t = make_tensor(type, dims, rank, close[1] == '=' ? close + 2 : "");
  if (!constant) c->bytes += (double)TF_TensorByteSize(t);
  snprintf(name, sizeof name, "in%d", c->nodes++);
  if (constant || variable) {
    TF_OperationDescription *d = TF_NewOperation(c->graph, "Const", name);
    TF_SetAttrTensor(d, "value", t, c->status);
    TF_SetAttrType(d, "dtype", type);
    const TF_Output value = {TF_FinishOperation(d, c->status), 0};
    TF_DeleteTensor(t);
    CHECK(name);
    *out = value;
    if (variable) {
      char more[32];
      snprintf(more, sizeof more, "%s_handle", name);
      d = TF_NewOperation(c->graph, "VarHandleOp", more);
      TF_SetAttrType(d, "dtype", type);
      TF_SetAttrShape(d, "shape", dims, rank);
      TF_SetAttrString(d, "shared_name", more, strlen(more));
      *out = (TF_Output){TF_FinishOperation(d, c->status), 0};
      CHECK(more);
      snprintf(more, sizeof more, "%s_init", name);
      d = TF_NewOperation(c->graph, "AssignVariableOp", more);
      TF_AddInput(d, *out);
      TF_AddInput(d, value);
      c->inits[c->num_inits++] = TF_FinishOperation(d, c->status);
      CHECK(more);
    }
    return true;
  }
  TF_OperationDescription *d = TF_NewOperation(c->graph, "Placeholder", name);
  TF_SetAttrType(d, "dtype", type);
  TF_SetAttrShape(d, "shape", dims, rank);
  *out = (TF_Output){TF_FinishOperation(d, c->status), 0};
  c->feeds[c->num_feeds] = *out;
  c->values[c->num_feeds++] = t;
  CHECK(name);
  return true;
}

static bool set_attr(TF_OperationDescription *d, char *text, char *error, size_t room) {
  char *value = strchr(text, '='), *colon = value ? strchr(value, ':') : NULL;
  if (!colon) return FAIL("attribute %s", text);
  *value++ = 0, *colon++ = 0;
  int64_t ints[OPS_MAX];
  TF_DataType list[OPS_MAX];
  float floats[OPS_MAX];
  int n = 0;
  if (strcmp(value, "i") == 0) {
    TF_SetAttrInt(d, text, strtoll(colon, NULL, 10));
  } else if (strcmp(value, "f") == 0) {
    TF_SetAttrFloat(d, text, strtof(colon, NULL));
  } else if (strcmp(value, "b") == 0) {
    TF_SetAttrBool(d, text, *colon == 't');
  } else if (strcmp(value, "s") == 0) {
    TF_SetAttrString(d, text, colon, strlen(colon));
  } else if (strcmp(value, "t") == 0) {
    TF_SetAttrType(d, text, type_named(colon, strlen(colon)));
  } else if (strcmp(value, "l") == 0) {
    n = parse_ints(colon, ints);
    TF_SetAttrIntList(d, text, ints, n);
  } else if (strcmp(value, "sh") == 0) {
    n = parse_ints(colon, ints);
    TF_SetAttrShape(d, text, ints, n);
  } else if (strcmp(value, "shl") == 0) {  // shapes separated by "/"
    const int64_t *dims[OPS_MAX];
    int ranks[OPS_MAX], at = 0;
    for (char *part = colon; part; n++) {
      ranks[n] = parse_ints(part, ints + at);
      dims[n] = ints + at;
      at += ranks[n];
      part = strchr(part, '/');
      if (part) part++;
    }
    TF_SetAttrShapeList(d, text, dims, ranks, n);
  } else if (strcmp(value, "tl") == 0) {
    for (char *part = colon; part && *part; n++) {
      const size_t length = strcspn(part, ",");
      list[n] = type_named(part, length);
      part = part[length] ? part + length + 1 : NULL;
    }
    TF_SetAttrTypeList(d, text, list, n);
  } else if (strcmp(value, "fl") == 0) {
    for (char *part = colon; *part; n++) {
      floats[n] = strtof(part, &part);
      if (*part == ',') part++;
    }
    TF_SetAttrFloatList(d, text, floats, n);
  } else {
    return FAIL("kind of attribute %s", text);
  }
  return true;
}

static char *next_field(char **text) {
  char *start = *text + strspn(*text, " "), *end = strchr(start, ';');
  *text = end ? end + 1 : start + strlen(start);
  if (end) *end = 0;
  else end = start + strlen(start);
  while (end > start && end[-1] == ' ') *--end = 0;
  return start;
}

bool ops_case_build(ops_case *c, char *text, char *error, size_t room) {
  static char copy[4096];
  ops_case_free(c);
  rng_state = 42;
  snprintf(copy, sizeof copy, "%s", text);
  char *rest = copy;
  next_field(&rest);
  char *op = next_field(&rest), *attrs = next_field(&rest), *inputs = next_field(&rest);
  c->graph = TF_NewGraph();
  c->status = TF_NewStatus();
  // Inputs first: an op being described cannot wait while others are made, for TensorFlow's lock.
  TF_Output all[OPS_MAX];
  int starts[OPS_MAX], counts[OPS_MAX], num = 0, total = 0;
  bool in_list = false;
  for (char *token = strtok(inputs, " "); token; token = strtok(NULL, " ")) {
    if (*token == '(') {
      in_list = true;
      starts[num] = total, counts[num] = 0;
    } else if (*token == ')') {
      in_list = false;
      num++;
    } else {
      if (!add_input(c, token, &all[total], error, room)) return false;
      if (in_list) counts[num]++;
      else starts[num] = total, counts[num] = -1, num++;
      total++;
    }
  }
  TF_OperationDescription *d = TF_NewOperation(c->graph, op, "op");
  for (int i = 0; i < num; i++) {
    if (counts[i] < 0) TF_AddInput(d, all[starts[i]]);
    else TF_AddInputList(d, all + starts[i], counts[i]);
  }
  bool fine = true;
  for (char *token = strtok(attrs, " "); token && fine; token = strtok(NULL, " "))
    fine = set_attr(d, token, error, room);
  c->target = TF_FinishOperation(d, c->status);
  if (!fine) return false;
  CHECK(op);
  for (int i = 0; i < TF_OperationNumOutputs(c->target) && i < OPS_MAX; i++)
    if (TF_OperationOutputType((TF_Output){c->target, i}) != TF_RESOURCE)
      c->fetches[c->num_fetches++] = (TF_Output){c->target, i};
  TF_SessionOptions *options = TF_NewSessionOptions();
  c->session = TF_NewSession(c->graph, options, c->status);
  TF_DeleteSessionOptions(options);
  CHECK("session");
  if (c->num_inits) {
    TF_SessionRun(c->session, NULL, NULL, NULL, 0, NULL, NULL, 0,
                  (const TF_Operation *const *)c->inits, c->num_inits, NULL, c->status);
    CHECK("variables");
  }
  return true;
}

// A number that tells whether two results are alike: the mean of what is finite.
static double summary(const TF_Tensor *t) {
  const int64_t n = TF_TensorElementCount(t);
  const void *data = TF_TensorData(t);
  double sum = 0;
  switch (TF_TensorType(t)) {
    case TF_FLOAT:
      for (int64_t i = 0; i < n; i++) {
        const float v = ((const float *)data)[i];
        if (isfinite(v)) sum += fabs((double)v) * (1 + (double)(i % 7));
      }
      break;
    case TF_INT32:
      for (int64_t i = 0; i < n; i++) sum += (double)((const int32_t *)data)[i] * (double)(1 + i % 7);
      break;
    case TF_INT64:
      for (int64_t i = 0; i < n; i++) sum += (double)((const int64_t *)data)[i] * (double)(1 + i % 7);
      break;
    case TF_BOOL: case TF_UINT8:
      for (int64_t i = 0; i < n; i++) sum += (double)((const uint8_t *)data)[i] * (double)(1 + i % 7);
      break;
    case TF_STRING: {
      const TF_TString *s = data;
      for (int64_t i = 0; i < n; i++) sum += (double)TF_StringGetSize(&s[i]);
      break;
    }
    default: return (double)n;
  }
  return n ? sum / (double)n : 0;
}

bool ops_case_run(ops_case *c, char *error) {
  TF_Tensor *results[OPS_MAX] = {NULL};
  TF_SessionRun(c->session, NULL, c->feeds, c->values, c->num_feeds, c->fetches, results,
                c->num_fetches, (const TF_Operation *const *)&c->target, c->num_fetches ? 0 : 1,
                NULL, c->status);
  const bool ok = TF_GetCode(c->status) == TF_OK;
  if (error) {
    if (!ok) snprintf(error, 512, "%s", TF_Message(c->status));
    c->check = 0;
    for (int i = 0; ok && i < c->num_fetches; i++) {
      c->check += summary(results[i]);
      c->bytes += (double)TF_TensorByteSize(results[i]);
    }
  }
  for (int i = 0; ok && i < c->num_fetches; i++) TF_DeleteTensor(results[i]);
  return ok;
}

void ops_case_free(ops_case *c) {
  if (c->session) {
    TF_CloseSession(c->session, c->status);
    TF_DeleteSession(c->session, c->status);
  }
  if (c->graph) TF_DeleteGraph(c->graph);
  for (int i = 0; i < c->num_feeds; i++) TF_DeleteTensor(c->values[i]);
  if (c->status) TF_DeleteStatus(c->status);
  memset(c, 0, sizeof *c);
  c->calls = 1;
}
