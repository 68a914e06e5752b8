// small.c [TEXT]: what an op on 1,000 floats costs, in three numbers per op (least of many batches, ns):
//   session  TF_SessionRun of that op alone: one tensor fed, one fetched and released
//   inside   the same op as one of a graph: (a run of 20, one after the other, minus a run of none) / 20
//   limit    the bare loop in C on memory in the first-level cache, as the compiler vectorises it with
//            -O3 -ffast-math -mavx2 -mfma and glibc's vector functions (small_limits.c): no shapes, no checks
// TEXT chooses the cases whose names contain it. Needs no TensorFlow, but runs with it too.
#include "small.h"

#include "bench.h"

enum { NODES = 20, BATCH = 8, BATCHES = 4000 };

typedef enum kind {
  UNARY,
  BINARY,
  REDUCE,
  ARG,
  CONCAT,
  SPLIT,
  SLICE,
  GATHER,
  SELECT,
  TURN,
  SCAN,
  NORM,
  NONE
} kind;

typedef struct small_case {
  const char *name, *op;
  kind kind;
  int64_t dims[2];  // of x; {n, 0}: a vector
  int axis;
  small_loop limit;
} small_case;

static const small_case cases[] = {
    {"NoOp", "NoOp", NONE, {1000, 0}, 0, NULL},
    {"StopGradient", "StopGradient", UNARY, {1000, 0}, 0, NULL},
    {"Neg", "Neg", UNARY, {1000, 0}, 0, small_neg},
    {"Relu", "Relu", UNARY, {1000, 0}, 0, small_relu},
    {"AddV2", "AddV2", BINARY, {1000, 0}, 0, small_add},
    {"Less", "Less", BINARY, {1000, 0}, 0, small_less},
    {"SelectV2", "SelectV2", SELECT, {1000, 0}, 0, small_select},
    {"Sqrt", "Sqrt", UNARY, {1000, 0}, 0, small_sqrt},
    {"Exp", "Exp", UNARY, {1000, 0}, 0, small_exp},
    {"Log", "Log", UNARY, {1000, 0}, 0, small_log},
    {"Tanh", "Tanh", UNARY, {1000, 0}, 0, small_tanh},
    {"Sigmoid", "Sigmoid", UNARY, {1000, 0}, 0, small_sigmoid},
    {"Erf", "Erf", UNARY, {1000, 0}, 0, small_erf},
    {"Sum all", "Sum", REDUCE, {10, 100}, 2, small_sum},
    {"Mean rows", "Mean", REDUCE, {10, 100}, 1, small_sum_rows},
    {"Sum columns", "Sum", REDUCE, {10, 100}, 0, small_sum_columns},
    {"Max rows", "Max", REDUCE, {10, 100}, 1, small_max_rows},
    {"ArgMax all", "ArgMax", ARG, {1000, 0}, 0, NULL},
    {"ArgMax rows", "ArgMax", ARG, {10, 100}, 1, NULL},
    {"ArgMax columns", "ArgMax", ARG, {10, 100}, 0, NULL},
    {"Transpose", "Transpose", TURN, {10, 100}, 0, small_transpose},
    {"Transpose 25 x 40", "Transpose", TURN, {25, 40}, 0, NULL},
    {"ConcatV2 rows", "ConcatV2", CONCAT, {5, 100}, 0, small_copy},
    {"ConcatV2 columns", "ConcatV2", CONCAT, {10, 50}, 1, small_copy},
    {"Split columns", "Split", SPLIT, {10, 100}, 1, small_copy},
    {"Slice columns", "Slice", SLICE, {10, 100}, 1, NULL},
    {"GatherV2 rows", "GatherV2", GATHER, {10, 100}, 0, small_copy},
    {"GatherV2 elements", "GatherV2", GATHER, {1000, 0}, 0, small_gather},
    {"Softmax 1 x 1000", "Softmax", UNARY, {1, 1000}, 0, small_softmax},
    {"Softmax 10 x 100", "Softmax", UNARY, {10, 100}, 0, small_softmax},
    {"Softmax 100 x 10", "Softmax", UNARY, {100, 10}, 0, NULL},
    {"LogSoftmax 10 x 100", "LogSoftmax", UNARY, {10, 100}, 0, NULL},
    {"layer norm 1 x 1000", "", NORM, {1, 1000}, 1, small_norm},
    {"layer norm 10 x 100", "", NORM, {10, 100}, 1, small_norm},
    {"Cumsum", "Cumsum", SCAN, {1000, 0}, 0, small_cumsum},
    {"Cumsum rows", "Cumsum", SCAN, {10, 100}, 1, NULL},
};

// ---------------------------------------------------------------- graphs
static TF_Graph *graph;
static TF_Status *status;
static int names;

static TF_OperationDescription *begin(const char *op) {
  char name[32];
  snprintf(name, sizeof name, "n%d", names++);
  return TF_NewOperation(graph, op, name);
}

static TF_Output finish(TF_OperationDescription *d) {
  TF_Output out = {TF_FinishOperation(d, status), 0};
  bench_require(status, "an op");
  return out;
}

static TF_Output ints(const int32_t *values, int n, bool vector) {
  const int64_t dims[1] = {n};
  TF_Tensor *t = TF_AllocateTensor(TF_INT32, dims, vector ? 1 : 0, (size_t)n * sizeof *values);
  memcpy(TF_TensorData(t), values, (size_t)n * sizeof *values);
  TF_OperationDescription *d = begin("Const");
  TF_SetAttrTensor(d, "value", t, status);
  TF_SetAttrType(d, "dtype", TF_INT32);
  TF_DeleteTensor(t);
  return finish(d);
}

static TF_Output number(int32_t v) {
  return ints(&v, 1, false);
}

static TF_OperationDescription *of(const char *op, TF_Output a, TF_Output b, TF_Operation *after) {
  TF_OperationDescription *d = begin(op);
  TF_AddInput(d, a);
  if (b.oper) TF_AddInput(d, b);
  if (after) TF_AddControlInput(d, after);
  return d;
}

static TF_Output of_three(const char *op, TF_Output a, TF_Output b, TF_Output c,
                          TF_Operation *after) {
  TF_OperationDescription *d = of(op, a, b, NULL);
  TF_AddInput(d, c);
  if (after) TF_AddControlInput(d, after);
  return finish(d);
}

static TF_Output mean(TF_Output x, TF_Operation *after) {
  TF_OperationDescription *d = of("Mean", x, number(-1), after);
  TF_SetAttrBool(d, "keep_dims", 1);
  return finish(d);
}

// Layer normalisation as Keras writes it, of |x|.
static TF_Output norm(TF_Output x, TF_Output scale, TF_Operation *after) {
  char name[32];
  snprintf(name, sizeof name, "n%d", names++);
  const TF_Output none = {0}, m = mean(x, after);
  TF_Output var = mean(finish(of("SquaredDifference", x, m, NULL)), NULL);
  TF_Output sum = finish(of("AddV2", var, bench_constant(graph, name, 1e-3f), NULL));
  TF_Output s = finish(of("Mul", finish(of("Rsqrt", sum, none, NULL)), scale, NULL));
  TF_Output shift = finish(of("Sub", scale, finish(of("Mul", m, s, NULL)), NULL));
  return finish(of("AddV2", finish(of("Mul", x, s, NULL)), shift, NULL));
}

// The case's op on |x| (and |y|, of the same shape), after |after|.
static TF_Output add(const small_case *c, TF_Output x, TF_Output y, TF_Output flags, TF_Output row,
                     TF_Operation *after) {
  const int64_t cols = c->dims[1] ? c->dims[1] : c->dims[0];
  const TF_Output none = {0};
  TF_OperationDescription *d;
  int32_t list[1000];
  switch (c->kind) {
    case NONE:
      d = begin("NoOp");
      if (after) TF_AddControlInput(d, after);
      return finish(d);
    case UNARY: return finish(of(c->op, x, none, after));
    case BINARY: return finish(of(c->op, x, y, after));
    case SCAN: return finish(of(c->op, x, number(c->axis), after));
    case REDUCE: {
      const int32_t axes[2] = {c->axis == 2 ? 0 : c->axis, 1};
      return finish(of(c->op, x, ints(axes, c->axis == 2 ? 2 : 1, true), after));
    }
    case ARG: return finish(of(c->op, x, number(c->axis), after));
    case TURN: {
      const int32_t perm[2] = {1, 0};
      return finish(of(c->op, x, ints(perm, 2, true), after));
    }
    case CONCAT: {
      const TF_Output parts[2] = {x, y}, axis = number(c->axis);
      d = begin(c->op);
      TF_AddInputList(d, parts, 2);
      TF_AddInput(d, axis);
      if (after) TF_AddControlInput(d, after);
      return finish(d);
    }
    case SPLIT:
      d = of(c->op, number(c->axis), x, after);
      TF_SetAttrInt(d, "num_split", 4);
      return finish(d);
    case SLICE: {
      const int32_t at[2] = {1, 7}, size[2] = {(int32_t)c->dims[0] - 1, (int32_t)cols - 10};
      const TF_Output from = ints(at, 2, true);
      return of_three(c->op, x, from, ints(size, 2, true), after);
    }
    case GATHER: {
      const int n = (int)c->dims[0];
      for (int i = 0; i < n; i++) list[i] = (int32_t)((int64_t)i * 7 % n);
      const TF_Output which = ints(list, n, true);
      return of_three(c->op, x, which, number(0), after);
    }
    case SELECT: return of_three(c->op, flags, x, y, after);
    case NORM: return norm(x, row, after);
  }
  exit(1);
}

// ---------------------------------------------------------------- measuring
typedef struct run {
  TF_Session *session;
  TF_Output feeds[4];
  TF_Tensor *values[4];
  int num_feeds;
  TF_Output fetch;       // no oper: none
  TF_Operation *target;  // or NULL
} run;

static void run_once(const run *r) {
  TF_Tensor *out = NULL;
  TF_SessionRun(r->session, NULL, r->feeds, r->values, r->num_feeds, &r->fetch, &out,
                r->fetch.oper != NULL, (const TF_Operation *const *)&r->target, r->target != NULL,
                NULL, status);
  bench_require(status, "TF_SessionRun");
  if (out) TF_DeleteTensor(out);
}

static double least_ns(const run *r, int batches) {
  double best = 1e30;
  for (int i = 0; i < 200; i++) run_once(r);
  for (int i = 0; i < batches; i++) {
    const double start = bench_now_ns();
    for (int k = 0; k < BATCH; k++) run_once(r);
    const double took = bench_now_ns() - start;
    if (took < best) best = took;
  }
  return best / BATCH;
}

static double least_limit(small_loop fn, const float *x, const float *y, float *out) {
  double best = 1e30;
  for (int i = 0; i < BATCHES; i++) {
    const double start = bench_now_ns();
    for (int k = 0; k < BATCH; k++) fn(x, y, out);
    const double took = bench_now_ns() - start;
    if (took < best) best = took;
  }
  return best / BATCH;
}

static TF_Output feed(run *r, const char *name, TF_DataType type, const int64_t *dims, int rank) {
  const size_t each = type == TF_BOOL ? 1 : sizeof(float);
  size_t n = 1;
  for (int i = 0; i < rank; i++) n *= (size_t)dims[i];
  TF_Tensor *t = TF_AllocateTensor(type, dims, rank, n * each);
  for (size_t i = 0; i < n; i++) {
    if (type == TF_BOOL)
      ((bool *)TF_TensorData(t))[i] = i % 3 == 0;
    else
      ((float *)TF_TensorData(t))[i] = small_value(i);
  }
  TF_OperationDescription *d = TF_NewOperation(graph, "Placeholder", name);
  TF_SetAttrType(d, "dtype", type);
  TF_SetAttrShape(d, "shape", dims, rank);
  r->feeds[r->num_feeds] = finish(d);
  r->values[r->num_feeds++] = t;
  return r->feeds[r->num_feeds - 1];
}

static void measure(const small_case *c) {
  static _Alignas(64) float x[1024], y[1024], out[1024];
  const int rank = c->dims[1] ? 2 : 1;
  const int64_t cols = c->dims[rank - 1];
  for (size_t i = 0; i < 1024; i++) x[i] = y[i] = small_value(i);
  graph = TF_NewGraph();
  status = TF_NewStatus();
  run r = {0};
  TF_Output b = {0}, flags = {0}, row = {0}, a = feed(&r, "x", TF_FLOAT, c->dims, rank);
  if (c->kind == BINARY || c->kind == CONCAT || c->kind == SELECT)
    b = feed(&r, "y", TF_FLOAT, c->dims, rank);
  if (c->kind == SELECT) flags = feed(&r, "flags", TF_BOOL, c->dims, rank);
  if (c->kind == NORM) row = feed(&r, "row", TF_FLOAT, &cols, 1);
  r.session = bench_session(graph);
  run alone = r, inside = r, none = r;
  alone.fetch = add(c, a, b, flags, row, NULL);
  if (c->kind == NONE) alone.target = alone.fetch.oper, alone.fetch.oper = NULL;
  TF_Operation *last = NULL;
  for (int i = 0; i < NODES; i++) last = add(c, a, b, flags, row, last).oper;
  TF_OperationDescription *end =
      begin("NoOp");  // a target itself is never part of something larger
  TF_AddControlInput(end, last);
  inside.target = finish(end).oper;
  none.target = finish(begin("NoOp")).oper;
  double one = 1e30, all = 1e30, empty = 1e30;
  for (int i = 0; i < 8; i++) {  // in turn, so that all three have their quiet moments
    const double o = least_ns(&alone, BATCHES / 8), e = least_ns(&none, BATCHES / 8),
                 n = least_ns(&inside, BATCHES / 32);
    one = o < one ? o : one, empty = e < empty ? e : empty, all = n < all ? n : all;
  }
  printf("%-20s %8.0f %8.0f", c->name, one, (all - empty) / NODES);
  if (c->limit)
    printf(" %8.0f\n", least_limit(c->limit, x, y, out));
  else
    printf("        -\n");
  fflush(stdout);
  for (int i = 0; i < r.num_feeds; i++) TF_DeleteTensor(r.values[i]);
  TF_DeleteSession(r.session, status);
  TF_DeleteGraph(graph);
  TF_DeleteStatus(status);
}

int main(int argc, char **argv) {
  printf("%-20s %8s %8s %8s\n", "op", "session", "inside", "limit");
  for (size_t i = 0; i < sizeof cases / sizeof *cases; i++)
    if (argc < 2 || strstr(cases[i].name, argv[1])) measure(&cases[i]);
  return 0;
}
