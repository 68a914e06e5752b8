// SPDX-License-Identifier: Apache-2.0
// Graphs of TensorFlow 1 with state: one session per case of tests/data/state_*.txt replays the runs
// that tools/goldens_state.py recorded with the real TensorFlow, and must answer the same.

// cmocka.h wants these before it
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "tensor/dtype.h"
#include "tensor/tensor.h"
#include "tensorflow/c/c_api.h"

#define MAX_ARGS 32

typedef struct replay {
  char name[128];
  int failures, runs;
  TF_Graph *graph;
  TF_Session *session;
  TF_Status *status;
  // the run being read
  TF_Output feeds[MAX_ARGS], fetches[MAX_ARGS];
  TF_Tensor *feed_values[MAX_ARGS], *wants[MAX_ARGS];
  const TF_Operation *targets[MAX_ARGS];
  int num_feeds, num_fetches, num_targets;
  int code;
  char text[512];
} replay;

static void complain(replay *r, const char *what, const char *detail) {
  r->failures++;
  fprintf(stderr, "%s, run %d: %s %s\n", r->name, r->runs, what, detail);
}

static int nibble(char c) {
  return c <= '9' ? c - '0' : c - 'a' + 10;
}

static size_t unhex(const char *hex, unsigned char *out) {
  size_t n = 0;
  if (*hex == '-') return 0;
  for (; hex[2 * n] && hex[2 * n] != ' ' && hex[2 * n] != '\n'; n++)
    out[n] = (unsigned char)(nibble(hex[2 * n]) << 4 | nibble(hex[2 * n + 1]));
  return n;
}

static TF_Output find(replay *r, const char *name) {
  char op[256];
  snprintf(op, sizeof op, "%s", name);
  char *colon = strrchr(op, ':');
  int index = colon ? atoi(colon + 1) : 0;
  if (colon) *colon = 0;
  return (TF_Output){TF_GraphOperationByName(r->graph, op), index};
}

// NAME DTYPE DIMS HEX…
static TF_Tensor *read_tensor(replay *r, char *line, TF_Output *where) {
  char *save = NULL, *name = strtok_r(line, " ", &save), *type = strtok_r(NULL, " ", &save);
  char *dims_text = strtok_r(NULL, " ", &save);
  int64_t dims[8], count = 1;
  int rank = 0;
  assert_true(name && type && dims_text);
  *where = find(r, name);
  assert_non_null(where->oper);
  const TF_DataType dtype = (TF_DataType)atoi(type);
  if (!dtype) return NULL;
  for (char *d = *dims_text == 's' ? NULL : dims_text; d;
       d = strchr(d, ',') ? strchr(d, ',') + 1 : NULL)
    dims[rank++] = atoll(d);
  for (int i = 0; i < rank; i++) count *= dims[i];
  if (dtype == TF_STRING) {
    TF_Tensor *t = TF_AllocateTensor(dtype, dims, rank, (size_t)count * sizeof(TF_TString));
    TF_TString *s = TF_TensorData(t);
    for (int64_t i = 0; i < count; i++) {
      char *word = strtok_r(NULL, " \n", &save);
      unsigned char *bytes = malloc(strlen(word) + 1);
      size_t n = unhex(word, bytes);
      TF_StringInit(&s[i]);
      TF_StringCopy(&s[i], (char *)bytes, n);
      free(bytes);
    }
    return t;
  }
  const size_t bytes = (size_t)count * TF_DataTypeSize(dtype);
  TF_Tensor *t = TF_AllocateTensor(dtype, dims, rank, bytes);
  char *word = strtok_r(NULL, " \n", &save);
  if (word && bytes) assert_int_equal(unhex(word, TF_TensorData(t)), bytes);
  return t;
}

static double number(const TF_Tensor *t, int64_t i) {
  const void *p = TF_TensorData(t);
  switch (TF_TensorType(t)) {
    case TF_FLOAT: return ((const float *)p)[i];
    case TF_DOUBLE: return ((const double *)p)[i];
    case TF_HALF: return fy_half_to_float(((const uint16_t *)p)[i]);
    case TF_BFLOAT16: return fy_bfloat16_to_float(((const uint16_t *)p)[i]);
    default: return NAN;
  }
}

static bool same_number(TF_DataType type, double a, double b) {
  const double tolerance = type == TF_DOUBLE ? 1e-12 : type == TF_FLOAT ? 2e-6 : 8e-3;
  if (isnan(a) || isnan(b)) return isnan(a) && isnan(b);
  return a == b || fabs(a - b) <= tolerance * fmax(fabs(a), fabs(b)) + tolerance * 1e-2;
}

static bool same(const TF_Tensor *a, const TF_Tensor *b) {
  if (TF_TensorType(a) != TF_TensorType(b) || TF_NumDims(a) != TF_NumDims(b)) return false;
  for (int i = 0; i < TF_NumDims(a); i++)
    if (TF_Dim(a, i) != TF_Dim(b, i)) return false;
  const int64_t n = TF_TensorElementCount(a);
  switch (TF_TensorType(a)) {
    case TF_FLOAT:
    case TF_DOUBLE:
    case TF_HALF:
    case TF_BFLOAT16:
      for (int64_t i = 0; i < n; i++)
        if (!same_number(TF_TensorType(a), number(a, i), number(b, i))) return false;
      return true;
    case TF_STRING:
      for (int64_t i = 0; i < n; i++) {
        const TF_TString *x = (TF_TString *)TF_TensorData(a) + i,
                         *y = (TF_TString *)TF_TensorData(b) + i;
        if (TF_StringGetSize(x) != TF_StringGetSize(y) ||
            memcmp(TF_StringGetDataPointer(x), TF_StringGetDataPointer(y), TF_StringGetSize(x)))
          return false;
      }
      return true;
    default:
      return TF_TensorByteSize(a) == TF_TensorByteSize(b) &&
             (!n || !memcmp(TF_TensorData(a), TF_TensorData(b), TF_TensorByteSize(a)));
  }
}

static void describe(const TF_Tensor *t, char *out, size_t n) {
  size_t at = (size_t)snprintf(out, n, "dtype %d [", TF_TensorType(t));
  for (int i = 0; i < TF_NumDims(t); i++)
    at += (size_t)snprintf(out + at, n - at, "%lld ", (long long)TF_Dim(t, i));
  at += (size_t)snprintf(out + at, n - at, "]");
  for (int64_t i = 0; i < TF_TensorElementCount(t) && i < 12 && at + 40 < n; i++) {
    double x = number(t, i);
    if (TF_TensorType(t) == TF_INT32) x = ((int32_t *)TF_TensorData(t))[i];
    if (TF_TensorType(t) == TF_INT64) x = (double)((int64_t *)TF_TensorData(t))[i];
    at += (size_t)snprintf(out + at, n - at, " %.9g", x);
  }
}

static void run(replay *r) {
  TF_Tensor *got[MAX_ARGS] = {NULL};
  TF_SessionRun(r->session, NULL, r->feeds, r->feed_values, r->num_feeds, r->fetches, got,
                r->num_fetches, r->targets, r->num_targets, NULL, r->status);
  if ((int)TF_GetCode(r->status) != r->code ||
      (r->code && !strstr(TF_Message(r->status), r->text))) {
    char detail[2048];
    snprintf(detail, sizeof detail, "%d '%s' where %d '%s' was expected", TF_GetCode(r->status),
             TF_Message(r->status), r->code, r->text);
    complain(r, "status", detail);
  }
  for (int i = 0; i < r->num_fetches; i++) {
    if (got[i] && r->wants[i] && !same(got[i], r->wants[i])) {
      char a[600], b[600], detail[1300];
      describe(got[i], a, sizeof a);
      describe(r->wants[i], b, sizeof b);
      snprintf(detail, sizeof detail, "%s: got %s, want %s", TF_OperationName(r->fetches[i].oper),
               a, b);
      complain(r, "value of", detail);
    }
    if (got[i]) TF_DeleteTensor(got[i]);
    if (r->wants[i]) TF_DeleteTensor(r->wants[i]);
  }
  for (int i = 0; i < r->num_feeds; i++) TF_DeleteTensor(r->feed_values[i]);
  r->num_feeds = r->num_fetches = r->num_targets = r->code = 0;
  r->text[0] = 0;
  r->runs++;
}

static void begin(replay *r, const char *hex) {
  unsigned char *bytes = malloc(strlen(hex) / 2 + 1);
  TF_Buffer *def = TF_NewBufferFromString(bytes, unhex(hex, bytes));
  TF_ImportGraphDefOptions *options = TF_NewImportGraphDefOptions();
  r->graph = TF_NewGraph();
  TF_GraphImportGraphDef(r->graph, def, options, r->status);
  if (TF_GetCode(r->status)) fail_msg("%s: %s", r->name, TF_Message(r->status));
  TF_SessionOptions *so = TF_NewSessionOptions();
  r->session = TF_NewSession(r->graph, so, r->status);
  assert_int_equal(TF_GetCode(r->status), TF_OK);
  TF_DeleteSessionOptions(so);
  TF_DeleteImportGraphDefOptions(options);
  TF_DeleteBuffer(def);
  free(bytes);
}

static void finish(replay *r) {
  if (!r->session) return;
  TF_DeleteSession(r->session, r->status);
  TF_DeleteGraph(r->graph);
  r->session = NULL;
}

static void read_line(replay *r, char *line) {
  char *rest = strchr(line, ' ');
  if (rest) *rest++ = 0;
  if (!strcmp(line, "case")) {
    finish(r);
    snprintf(r->name, sizeof r->name, "%s", rest);
    r->runs = 0;
  } else if (!strcmp(line, "graph")) {
    begin(r, rest);
  } else if (!strcmp(line, "feed")) {
    r->feed_values[r->num_feeds] = read_tensor(r, rest, &r->feeds[r->num_feeds]);
    r->num_feeds++;
  } else if (!strcmp(line, "fetch")) {
    r->wants[r->num_fetches] = read_tensor(r, rest, &r->fetches[r->num_fetches]);
    r->num_fetches++;
  } else if (!strcmp(line, "target")) {
    r->targets[r->num_targets++] = find(r, rest).oper;
    assert_non_null(r->targets[r->num_targets - 1]);
  } else if (!strcmp(line, "error")) {
    char *text = strchr(rest, ' ');
    r->code = atoi(rest);
    snprintf(r->text, sizeof r->text, "%s", text ? text + 1 : "");
  } else if (!strcmp(line, "end")) {
    run(r);
  } else {
    assert_string_equal(line, "run");
  }
}

static void replay_file(const char *file) {
  char path[512], *line = NULL;
  size_t cap = 0;
  snprintf(path, sizeof path, "%s/tests/data/%s",
           getenv("FERRY_SOURCE") ? getenv("FERRY_SOURCE") : ".", file);
  FILE *f = fopen(path, "r");
  if (!f) fail_msg("cannot read %s", path);
  replay r = {.status = TF_NewStatus()};
  int cases = 0;
  while (getline(&line, &cap, f) > 0) {
    line[strcspn(line, "\n")] = 0;
    cases += !strncmp(line, "case ", 5);
    read_line(&r, line);
  }
  finish(&r);
  TF_DeleteStatus(r.status);
  free(line);
  fclose(f);
  assert_true(cases > 0);
  if (r.failures) fail_msg("%d differences in %s", r.failures, file);
}

// clang-format off
#define REPLAYS(X)                                                                           \
  X(checkpoints) X(containers) X(coverage) X(more) X(refs) X(optimizers_ref)                 \
  X(optimizers_resource) X(proto_decode) X(proto_encode) X(batch) X(rest)
// clang-format on
#define TEST(name)                      \
  static void name(void **state) {      \
    (void)state;                        \
    replay_file("state_" #name ".txt"); \
  }
REPLAYS(TEST)

int main(void) {
  // where checkpoints.txt reads and writes
  if (system("rm -rf /tmp/ferry_state_goldens && mkdir -p /tmp/ferry_state_goldens")) return 1;
#define ENTRY(name) cmocka_unit_test(name),
  const struct CMUnitTest tests[] = {REPLAYS(ENTRY)};
  if (cmocka_run_group_tests_name("host", tests, NULL, NULL)) return 1;
  // Once more with a device that takes whatever it can, as TensorFlow would place it.
  setenv("FERRY_SIM", "gpu:1,memory=64MiB", 1);
  setenv("FERRY_CONFIG", "place=tensorflow", 1);
  if (system("rm -rf /tmp/ferry_state_goldens && mkdir -p /tmp/ferry_state_goldens")) return 1;
  return cmocka_run_group_tests_name("device", tests, NULL, NULL);
}
