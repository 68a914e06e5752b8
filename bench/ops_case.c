// SPDX-License-Identifier: Apache-2.0
// ops_case.c: see ops_case.h.

#include "ops_case.h"

#include <math.h>

#include "bench.h"
#include "tensorflow/c/tf_tstring.h"

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

static TF_Output add_feed(ops_case *c, TF_Tensor *t) {
  char name[16];
  int64_t dims[OPS_MAX];
  for (int d = 0; d < TF_NumDims(t); d++) dims[d] = TF_Dim(t, d);
  snprintf(name, sizeof name, "fed%d", c->nodes++);
  TF_OperationDescription *d = TF_NewOperation(c->graph, "Placeholder", name);
  TF_SetAttrType(d, "dtype", TF_TensorType(t));
  TF_SetAttrShape(d, "shape", dims, TF_NumDims(t));
  c->feeds[c->num_feeds] = (TF_Output){TF_FinishOperation(d, c->status), 0};
  c->values[c->num_feeds] = t;
  return c->feeds[c->num_feeds++];
}

// "@2" or "@2:1": an output of a node that the line makes.
static bool made_before(ops_case *c, const char *text, TF_Output *out, char *error, size_t room) {
  char *end;
  const long k = strtol(text + 1, &end, 10);
  const int index = *end == ':' ? (int)strtol(end + 1, NULL, 10) : 0;
  if (k < 0 || k >= c->num_made) return FAIL("no node %s", text);
  *out = (TF_Output){c->made[k].oper, c->made[k].index + index};
  return true;
}

static bool add_input(ops_case *c, char *text, TF_Output *out, char *error, size_t room) {
  if (*text == '@') return made_before(c, text, out, error, room);
  const bool constant = *text == '#', reference = strncmp(text, "ref:", 4) == 0;
  const bool variable = reference || strncmp(text, "var:", 4) == 0;
  text += constant ? 1 : variable ? 4 : 0;
  char *open = strchr(text, '['), *close = open ? strchr(open, ']') : NULL, name[16];
  if (!close) return FAIL("no shape in %s", text);
  const TF_DataType type = ops_type_named(text, (size_t)(open - text));
  if (!type) return FAIL("unknown type in %s", text);
  int64_t dims[OPS_MAX];
  const int rank = parse_ints(open + 1, dims);
  TF_Tensor *t = ops_make_tensor(type, dims, rank, close[1] == '=' ? close + 2 : "");
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
      d = TF_NewOperation(c->graph, reference ? "VariableV2" : "VarHandleOp", more);
      TF_SetAttrType(d, "dtype", type);
      TF_SetAttrShape(d, "shape", dims, rank);
      TF_SetAttrString(d, "shared_name", more, strlen(more));
      *out = (TF_Output){TF_FinishOperation(d, c->status), 0};
      CHECK(more);
      snprintf(more, sizeof more, "%s_init", name);
      d = TF_NewOperation(c->graph, reference ? "Assign" : "AssignVariableOp", more);
      TF_AddInput(d, *out);
      TF_AddInput(d, value);
      c->inits[c->num_inits++] = TF_FinishOperation(d, c->status);
      CHECK(more);
    }
    return true;
  }
  *out = add_feed(c, t);
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
    TF_SetAttrType(d, text, ops_type_named(colon, strlen(colon)));
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
      list[n] = ops_type_named(part, length);
      part = part[length] ? part + length + 1 : NULL;
    }
    TF_SetAttrTypeList(d, text, list, n);
  } else if (strcmp(value, "fn") == 0) {
    TF_SetAttrFuncName(d, text, colon, strlen(colon));
  } else if (strcmp(value, "sl") == 0) {
    const void *strings[OPS_MAX];
    size_t lengths[OPS_MAX];
    for (char *part = colon; part && *part; n++) {
      strings[n] = part;
      lengths[n] = strcspn(part, ",");
      part = part[lengths[n]] ? part + lengths[n] + 1 : NULL;
    }
    TF_SetAttrStringList(d, text, strings, lengths, n);
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
  if (end)
    *end = 0;
  else
    end = start + strlen(start);
  while (end > start && end[-1] == ' ') *--end = 0;
  return start;
}

// A node |op| of |attrs| and |inputs|. Its inputs first: an op being described cannot wait while
// others are made, for TensorFlow's lock.
static bool add_node(ops_case *c, const char *op, char *attrs, char *inputs, TF_Operation **out,
                     char *error, size_t room) {
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
      if (in_list)
        counts[num]++;
      else
        starts[num] = total, counts[num] = -1, num++;
      total++;
    }
  }
  char name[32];
  snprintf(name, sizeof name, "op%d", c->nodes++);
  TF_OperationDescription *d = TF_NewOperation(c->graph, op, name);
  for (int i = 0; i < num; i++) {
    if (counts[i] < 0)
      TF_AddInput(d, all[starts[i]]);
    else
      TF_AddInputList(d, all + starts[i], counts[i]);
  }
  bool fine = true;
  for (char *token = strtok(attrs, " "); token && fine; token = strtok(NULL, " "))
    fine = set_attr(d, token, error, room);
  *out = TF_FinishOperation(d, c->status);
  if (!fine) return false;
  CHECK(op);
  return true;
}

static bool run_once(ops_case *c, const TF_Output *fetch, TF_Tensor **result,
                     TF_Operation **targets, int num_targets, char *error, size_t room) {
  TF_SessionRun(c->session, NULL, NULL, NULL, 0, fetch, result, fetch ? 1 : 0,
                (const TF_Operation *const *)targets, num_targets, NULL, c->status);
  CHECK("before the case");
  return true;
}

// "Op attributes | inputs": a node for others to refer to. "!" before it: run once before the case;
// "=": its first output is computed once and fed.
static bool add_made(ops_case *c, char *text, char *error, size_t room) {
  if (c->num_made == OPS_MAX) return FAIL("too many nodes");
  const char how = *text;
  if (how == '!' || how == '=') text++;
  char *inputs = strchr(text, '|'), *attrs = text + strcspn(text, " |");
  if (inputs) *inputs++ = 0;
  if (*attrs) *attrs++ = 0;
  TF_Operation *node;
  static char nothing[1];
  if (!add_node(c, text, attrs, inputs ? inputs : nothing, &node, error, room)) return false;
  TF_Output out = {node, 0};
  if (how == '!') {
    if (!run_once(c, NULL, NULL, &node, 1, error, room)) return false;
  } else if (how == '=') {
    TF_Tensor *value = NULL;
    if (!run_once(c, &out, &value, NULL, 0, error, room)) return false;
    out = add_feed(c, value);
    CHECK(text);
  }
  c->made[c->num_made++] = out;
  return true;
}

bool ops_case_build(ops_case *c, char *text, char *error, size_t room) {
  static char copy[4096];
  ops_case_free(c);
  ops_values_begin();
  snprintf(copy, sizeof copy, "%s", text);
  char *rest = copy;
  next_field(&rest);
  char *op = next_field(&rest), *attrs = next_field(&rest), *inputs = next_field(&rest);
  next_field(&rest);  // how many operations
  c->graph = TF_NewGraph();
  c->status = TF_NewStatus();
  ops_functions(c->graph, c->status);
  CHECK("functions");
  TF_SessionOptions *options = TF_NewSessionOptions();
  c->session = TF_NewSession(c->graph, options, c->status);
  TF_DeleteSessionOptions(options);
  CHECK("session");
  for (char *more = next_field(&rest); *more; more = next_field(&rest))
    if (!add_made(c, more, error, room)) return false;
  if (!add_node(c, op, attrs, inputs, &c->target, error, room)) return false;
  for (int i = 0; i < TF_OperationNumOutputs(c->target) && i < OPS_MAX; i++) {
    const TF_DataType type = TF_OperationOutputType((TF_Output){c->target, i});
    if (type != TF_RESOURCE && type != TF_VARIANT && type < 100)
      c->fetches[c->num_fetches++] = (TF_Output){c->target, i};
  }
  return !c->num_inits || run_once(c, NULL, NULL, c->inits, c->num_inits, error, room);
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
      for (int64_t i = 0; i < n; i++)
        sum += (double)((const int32_t *)data)[i] * (double)(1 + i % 7);
      break;
    case TF_INT64:
      for (int64_t i = 0; i < n; i++)
        sum += (double)((const int64_t *)data)[i] * (double)(1 + i % 7);
      break;
    case TF_BOOL:
    case TF_UINT8:
      for (int64_t i = 0; i < n; i++)
        sum += (double)((const uint8_t *)data)[i] * (double)(1 + i % 7);
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
