/* TF_GraphToFunctionWithControlOutputs: names that clash or are odd, control outputs, partial bodies. */
#include "tensorflow/c/c_api_experimental.h"
#include "transcript_graph.h"

static void show(TF_Function *f) {
  TF_Buffer *b = TF_NewBuffer();
  TF_FunctionToFunctionDef(f, b, st);
  if (tr_status("  def", st)) tr_dump_buffer("FunctionDef", b);
  TF_DeleteBuffer(b);
}

typedef struct body {
  TF_Graph *g;
  TF_Operation *x, *y, *sum, *neg, *nop, *chk;
} body;

static body make_body(void) {
  body b = {TF_NewGraph(), NULL, NULL, NULL, NULL, NULL, NULL};
  b.x = tg_ph(b.g, TF_FLOAT, "X", NULL, -1);
  b.y = tg_ph(b.g, TF_FLOAT, "scope/y", NULL, 0);
  b.sum = tg_op(b.g, "AddV2", "scope/Sum", 2, b.x, b.y);
  TF_OperationDescription *d = tg_desc(b.g, "Neg", "neg", 1, b.sum);
  TF_AddControlInput(d, b.x);
  b.neg = tg_finish(d);
  d = TF_NewOperation(b.g, "NoOp", "nop");
  TF_AddControlInput(d, b.sum);
  b.nop = tg_finish(d);
  d = tg_desc(b.g, "CheckNumerics", "chk", 1, b.sum);
  TF_SetAttrString(d, "message", "m", 1);
  b.chk = tg_finish(d);
  return b;
}

/* One try: names of the outputs, controls and their names, the body's operations (-1: all). */
static void attempt(const char *what, const char *fn, int append, int nops,
                    TF_Operation *const *ops, int nin, const TF_Output *in, int nout,
                    const TF_Output *out, const char *const *names, int nctl,
                    TF_Operation *const *ctl, const char *const *ctl_names, TF_Graph *g) {
  TF_Function *f = TF_GraphToFunctionWithControlOutputs(
      g, fn, (unsigned char)append, nops, (const TF_Operation *const *)ops, nin, in, nout, out,
      names, nctl, (const TF_Operation *const *)ctl, ctl_names, NULL, "about", st);
  if (!tr_status(what, st)) return;
  if (append)
    printf("  name starts %.3s\n", TF_FunctionName(f));
  else
    printf("  name %s\n", TF_FunctionName(f));
  if (!append) show(f);
  TF_DeleteFunction(f);
}

int main(void) {
  tg_begin();
  body b = make_body();
  TF_Output in[3] = {tg_out(b.x, 0), tg_out(b.y, 0), tg_out(b.x, 0)};
  TF_Output out[3] = {tg_out(b.neg, 0), tg_out(b.sum, 0), tg_out(b.neg, 0)};
  TF_Operation *ctl[3] = {b.nop, b.chk, b.nop};

  tr_case("names of outputs");
  static const char *const plain[] = {"first", "second"}, *const twice[] = {"o", "o"},
                           *const clash[] = {"x", "scope_y"}, *const node[] = {"neg", "nop"},
                           *const odd[] = {"a b", ""}, *const upper[] = {"Out", "_o"},
                           *const digit[] = {"1", "a/b"};
  attempt("plain", "F", 0, -1, NULL, 2, in, 2, out, plain, 0, NULL, NULL, b.g);
  attempt("none given", "F", 0, -1, NULL, 2, in, 2, out, NULL, 0, NULL, NULL, b.g);
  attempt("the same name twice", "F", 0, -1, NULL, 2, in, 2, out, twice, 0, NULL, NULL, b.g);
  attempt("names of inputs", "F", 0, -1, NULL, 2, in, 2, out, clash, 0, NULL, NULL, b.g);
  attempt("names of nodes", "F", 0, -1, NULL, 2, in, 2, out, node, 0, NULL, NULL, b.g);
  attempt("odd names", "F", 0, -1, NULL, 2, in, 2, out, odd, 0, NULL, NULL, b.g);
  attempt("upper case", "F", 0, -1, NULL, 2, in, 2, out, upper, 0, NULL, NULL, b.g);
  attempt("digits and slashes", "F", 0, -1, NULL, 2, in, 2, out, digit, 0, NULL, NULL, b.g);

  tr_case("names of functions");
  static const char *const fns[] = {"f", "F", "_f", "f/g", "f g", "", "1f", "f.g-h", "\xc3\xa4"};
  for (size_t i = 0; i < sizeof fns / sizeof fns[0]; ++i) {
    TF_Function *f =
        TF_GraphToFunction(b.g, fns[i], 0, -1, NULL, 2, in, 1, out, NULL, NULL, NULL, st);
    tr_status("make", st);
    if (!f) continue;
    tr_escaped(TF_FunctionName(f), strlen(TF_FunctionName(f)));
    putchar('\n');
    TF_Graph *g = TF_NewGraph();
    TF_GraphCopyFunction(g, f, NULL, st);
    tr_status("  copy", st);
    TF_GraphCopyFunction(g, f, f, st);
    tr_status("  its own gradient", st);
    printf("  functions %d\n", TF_GraphNumFunctions(g));
    TF_DeleteGraph(g);
    TF_DeleteFunction(f);
  }
  attempt("hash", "abc", 1, -1, NULL, 2, in, 1, out, NULL, 0, NULL, NULL, b.g);

  tr_case("control outputs");
  static const char *const cnames[] = {"c1", "c2"}, *const csame[] = {"c", "c"},
                           *const cempty[] = {"", "c"}, *const cout[] = {"first", "second"};
  attempt("unnamed", "F", 0, -1, NULL, 2, in, 1, out, NULL, 2, ctl, NULL, b.g);
  attempt("named", "F", 0, -1, NULL, 2, in, 1, out, NULL, 2, ctl, cnames, b.g);
  attempt("the same name", "F", 0, -1, NULL, 2, in, 1, out, NULL, 2, ctl, csame, b.g);
  attempt("an empty name", "F", 0, -1, NULL, 2, in, 1, out, NULL, 2, ctl, cempty, b.g);
  attempt("names of outputs", "F", 0, -1, NULL, 2, in, 2, out, plain, 2, ctl, cout, b.g);
  attempt("the same node twice", "F", 0, -1, NULL, 2, in, 1, out, NULL, 3, ctl, NULL, b.g);
  TF_Operation *input_ctl[1] = {b.x};
  attempt("an input", "F", 0, -1, NULL, 2, in, 1, out, NULL, 1, input_ctl, NULL, b.g);

  tr_case("inputs and outputs");
  attempt("an input twice", "F", 0, -1, NULL, 3, in, 1, out, NULL, 0, NULL, NULL, b.g);
  attempt("an output twice", "F", 0, -1, NULL, 2, in, 3, out, NULL, 0, NULL, NULL, b.g);
  attempt("no outputs", "F", 0, -1, NULL, 2, in, 0, NULL, NULL, 0, NULL, NULL, b.g);
  attempt("one input of two", "F", 0, -1, NULL, 1, in, 1, out, NULL, 0, NULL, NULL, b.g);
  TF_Output bad = tg_out(b.sum, 3), none = tg_out(b.nop, 0), minus = tg_out(b.sum, -1);
  attempt("output 3 of one", "F", 0, -1, NULL, 2, in, 1, &bad, NULL, 0, NULL, NULL, b.g);
  attempt("output of a NoOp", "F", 0, -1, NULL, 2, in, 1, &none, NULL, 0, NULL, NULL, b.g);
  attempt("output -1", "F", 0, -1, NULL, 2, in, 1, &minus, NULL, 0, NULL, NULL, b.g);
  attempt("input 3 of one", "F", 0, -1, NULL, 1, &bad, 1, out, NULL, 0, NULL, NULL, b.g);
  attempt("input of a NoOp", "F", 0, -1, NULL, 1, &none, 1, out, NULL, 0, NULL, NULL, b.g);
  TF_Output mid = tg_out(b.sum, 0);
  attempt("an inner node as input", "F", 0, -1, NULL, 1, &mid, 1, out, NULL, 0, NULL, NULL, b.g);
  attempt("input is output", "F", 0, -1, NULL, 2, in, 2, in, NULL, 0, NULL, NULL, b.g);

  tr_case("some of the operations");
  TF_Operation *some[3] = {b.sum, b.neg, b.sum};
  attempt("enough", "F", 0, 2, some, 2, in, 1, out, NULL, 0, NULL, NULL, b.g);
  attempt("too few", "F", 0, 1, some + 1, 2, in, 1, out, NULL, 0, NULL, NULL, b.g);
  attempt("output outside", "F", 0, 1, some, 2, in, 1, out, NULL, 0, NULL, NULL, b.g);
  attempt("one twice", "F", 0, 3, some, 2, in, 1, out, NULL, 0, NULL, NULL, b.g);
  attempt("control outside", "F", 0, 2, some, 2, in, 1, out, NULL, 1, ctl, NULL, b.g);
  attempt("none", "F", 0, 0, NULL, 1, in, 1, in, NULL, 0, NULL, NULL, b.g);
  TF_Operation *with_input[2] = {b.sum, b.x};
  attempt("an input among them", "F", 0, 2, with_input, 2, in, 1, out + 1, NULL, 0, NULL, NULL,
          b.g);
  TF_DeleteGraph(b.g);
  tg_end();
  return 0;
}
