/* Random NodeDefs, most of them wrong in one or two places, imported one graph at a time: the first
   complaint, or the graph that results, must be TensorFlow's. The generator is seeded and has its own
   arithmetic, so both libraries see the same graphs. */
#include "transcript_graph.h"

static uint64_t seed;
static unsigned rnd(unsigned n) {
  seed = seed * 6364136223846793005u + 1442695040888963407u;
  return (unsigned)(seed >> 33) % n;
}
static bool one_in(unsigned n) {
  return rnd(n) == 0;
}
/* At most one flaw per node (which of two TensorFlow names first is a matter of hashing), two per graph. */
static int flaws_of_graph, flaws_of_node;
static bool flaw(unsigned n) {
  if (!one_in(n) || flaws_of_node > 0 || flaws_of_graph > 1) return false;
  ++flaws_of_graph;
  ++flaws_of_node;
  return true;
}

static void attr(tr_pb *node, const char *name, tr_pb *value) {
  tr_pb e = {0};
  tr_pb_str(&e, 1, name);
  tr_pb_msg(&e, 2, value);
  tr_pb_msg(node, 5, &e);
}

/* A shape of rank 0 to 2, or unknown, sometimes one that cannot be. */
static void shape_body(tr_pb *s) {
  unsigned k = rnd(7);
  if (k == 0) {
    tr_pb_int(s, 3, 1);
    return;
  }
  for (unsigned i = 0; i < k % 3; ++i) {
    static const int64_t sizes[] = {0, 1, 2, 3, -1, -1, 2, 3};
    tr_pb d = {0};
    tr_pb_int(&d, 1, sizes[rnd(8)]);
    tr_pb_msg(s, 2, &d);
  }
}

/* A value of one of the kinds an attribute can have. */
static void value(tr_pb *v, char kind) {
  tr_pb s = {0}, l = {0};
  static const int types[] = {1, 3, 1, 3, 7, 9, 2, 10, 0, 101, 99};
  switch (kind) {
    case 't': tr_pb_int(v, 6, types[flaw(10) ? rnd(11) : 0]); break;
    case 'i': tr_pb_int(v, 3, flaw(10) ? (int64_t)rnd(5) - 1 : 2); break;
    case 'f': tr_pb_f32(v, 4, (float)rnd(4) / 2); break;
    case 'b': tr_pb_int(v, 5, rnd(2)); break;
    case 's': tr_pb_str(v, 2, flaw(10) ? "loc:@n0" : "VALID"); break;
    case 'h':
      shape_body(&s);
      tr_pb_msg(v, 7, &s);
      break;
    case 'n': {
      tr_pb_int(&s, 1, flaw(10) ? 3 : 1);
      tr_pb h = {0};
      unsigned n = rnd(4);
      if (n) {
        tr_pb d = {0};
        tr_pb_int(&d, 1, n);
        tr_pb_msg(&h, 2, &d);
      }
      tr_pb_msg(&s, 2, &h);
      for (unsigned i = 0; i < rnd(4); ++i) tr_pb_f32(&s, 5, (float)i);
      for (unsigned i = 0; i < rnd(4); ++i) tr_pb_int(&s, 7, i);
      tr_pb_msg(v, 8, &s);
      break;
    }
    case 'F':
      tr_pb_str(&s, 1, one_in(2) ? "Nowhere" : "");
      tr_pb_msg(v, 10, &s);
      break;
    case 'T':
      for (unsigned i = flaw(10) ? rnd(3) : 0; i < 2; ++i) tr_pb_int(&l, 6, flaw(20) ? 3 : 1);
      tr_pb_msg(v, 1, &l);
      break;
    case 'I':
      for (unsigned i = flaw(10) ? rnd(5) : 0; i < 4; ++i) tr_pb_int(&l, 3, flaw(10) ? rnd(3) : 1);
      tr_pb_msg(v, 1, &l);
      break;
    case 'S':
      for (unsigned i = 0; i < rnd(3); ++i) tr_pb_str(&l, 2, "loc:@n0");
      tr_pb_msg(v, 1, &l);
      break;
    case 'H':
      for (unsigned i = 0; i < rnd(3); ++i) {
        shape_body(&s);
        tr_pb_msg(&l, 7, &s);
      }
      tr_pb_msg(v, 1, &l);
      break;
    default: break;
  }
}

/* Op, its number of inputs, then its attributes: a letter of value() and a name each. */
static const struct {
  const char *op;
  int inputs;
  const char *attrs[5];
} ops[] = {
    {"Placeholder", 0, {"tdtype", "hshape"}},
    {"Const", 0, {"tdtype", "nvalue"}},
    {"Identity", 1, {"tT"}},
    {"AddV2", 2, {"tT"}},
    {"MatMul", 2, {"tT", "btranspose_a", "btranspose_b"}},
    {"NoOp", 0, {NULL}},
    {"ConcatV2", 3, {"tT", "iN", "tTidx"}},
    {"Pack", 2, {"tT", "iN", "iaxis"}},
    {"Split", 2, {"tT", "inum_split"}},
    {"IdentityN", 2, {"TT"}},
    {"Cast", 1, {"tSrcT", "tDstT", "bTruncate"}},
    {"Sum", 2, {"tT", "tTidx", "bkeep_dims"}},
    {"MaxPool", 1, {"tT", "Iksize", "Istrides", "spadding"}},
    {"VarHandleOp", 0, {"tdtype", "hshape", "sshared_name"}},
    {"ReadVariableOp", 1, {"tdtype"}},
    {"Squeeze", 1, {"tT", "Isqueeze_dims"}},
    {"Reshape", 2, {"tT", "tTshape"}},
    {"Merge", 2, {"tT", "iN"}},
    {"Switch", 2, {"tT"}},
    {"PartitionedCall", 1, {"TTin", "TTout", "Ff"}},
    {"FIFOQueueV2", 0, {"Tcomponent_types", "Hshapes", "icapacity"}},
    {"LeakyRelu", 1, {"tT", "falpha"}},
    {"NoSuchOp", 1, {"tT"}},
};

static void random_node(tr_pb *gd, int index) {
  tr_pb n = {0};
  char name[32];
  flaws_of_node = 0;
  unsigned k = flaw(40) ? 22 : rnd(22);
  if (index < 2) k = rnd(2); /* something to read */
  snprintf(name, sizeof name, "n%u", flaw(25) ? rnd(4) : (unsigned)index);
  if (flaw(60)) strcpy(name, "bad name");
  tr_pb_str(&n, 1, name);
  tr_pb_str(&n, 2, ops[k].op);
  int inputs = ops[k].inputs;
  if (flaw(15)) inputs += (int)rnd(3) - 1;
  for (int i = 0; i < inputs; ++i) {
    char in[32];
    unsigned from = flaw(20) ? rnd(9) : rnd(index ? (unsigned)index : 1u);
    if (flaw(12))
      snprintf(in, sizeof in, "n%u:%u", from, rnd(3));
    else
      snprintf(in, sizeof in, "n%u", from);
    tr_pb_str(&n, 3, in);
  }
  if (one_in(6)) {
    char in[32];
    snprintf(in, sizeof in, "^n%u", flaw(6) ? rnd(9) : rnd(index ? (unsigned)index : 1u));
    tr_pb_str(&n, 3, in);
    if (flaw(8)) tr_pb_str(&n, 3, "n0"); /* a data input after a control input */
  }
  if (one_in(12)) tr_pb_str(&n, 4, one_in(2) ? "/cpu:0" : "/job:w/device:GPU:1");
  for (int i = 0; i < 5 && ops[k].attrs[i]; ++i) {
    const char *a = ops[k].attrs[i];
    tr_pb v = {0};
    if (flaw(14)) continue;
    static const char kinds[] = "tifbshnFTISH";
    if (a[0] == 't' && strcmp(a, "tTidx") == 0 && !flaw(5))
      tr_pb_int(&v, 6, 3);
    else
      value(&v, flaw(25) ? kinds[rnd(12)] : a[0]);
    attr(&n, a + 1, &v);
  }
  if (flaw(20)) {
    tr_pb v = {0};
    value(&v, 'i');
    attr(&n, one_in(2) ? "extra" : "_hidden", &v);
  }
  if (one_in(20)) {
    tr_pb v = {0};
    value(&v, 'S');
    attr(&n, "_class", &v);
  }
  tr_pb_msg(gd, 1, &n);
}

static void show(TF_Graph *g) {
  size_t pos = 0;
  TF_Operation *op;
  while ((op = TF_GraphNextOperation(g, &pos)) != NULL) {
    printf("  %s %s", TF_OperationName(op), TF_OperationOpType(op));
    for (int i = 0; i < TF_OperationNumInputs(op); ++i) {
      TF_Output o = TF_OperationInput(tg_in(op, i));
      printf(" %s:%d", TF_OperationName(o.oper), o.index);
    }
    printf(" ^%d ->", TF_OperationNumControlInputs(op));
    for (int i = 0; i < TF_OperationNumOutputs(op); ++i) {
      TF_Output o = tg_out(op, i);
      int64_t d[8];
      int nd = TF_GraphGetTensorNumDims(g, o, st);
      printf(" %s", tr_dtype_name((int)TF_OperationOutputType(o)));
      if (nd < 0) {
        putchar('?');
      } else if (nd <= 8) {
        TF_GraphGetTensorShape(g, o, d, nd, st);
        tr_dims(d, nd);
      }
    }
    putchar('\n');
  }
}

int main(void) {
  tg_begin();
  for (int round = 0; round < 400; ++round) {
    char name[32];
    snprintf(name, sizeof name, "%d", round);
    tr_case(name);
    flaws_of_graph = 0;
    seed = (uint64_t)round * 7919 + 17;
    tr_pb gd = {0};
    int n = 3 + (int)rnd(4);
    for (int i = 0; i < n; ++i) random_node(&gd, i);
    TF_Graph *g = TF_NewGraph();
    TF_Buffer *b = TF_NewBufferFromString(gd.data, gd.len);
    TF_ImportGraphDefOptions *o = TF_NewImportGraphDefOptions();
    TF_GraphImportGraphDef(g, b, o, st);
    tr_status("import", st);
    show(g);
    TF_DeleteImportGraphDefOptions(o);
    TF_DeleteBuffer(b);
    TF_DeleteGraph(g);
    tr_pb_free(&gd);
  }
  tg_end();
  return 0;
}
