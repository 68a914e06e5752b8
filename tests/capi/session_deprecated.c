/* The session that takes GraphDefs and names: extending it, running it, partial runs, and every name and
   byte that it does not know. */
#include "transcript_graph.h"

static TF_DeprecatedSession *s;

static void extend(const char *what, TF_Graph *g) {
  TF_Buffer *b = TF_NewBuffer();
  TF_GraphToGraphDef(g, b, st);
  TF_ExtendGraph(s, b->data, b->length, st);
  tr_status(what, st);
  TF_DeleteBuffer(b);
}

static void run(const char *what, const char *in, TF_Tensor *v, const char *out,
                const char *target) {
  TF_Tensor *r = NULL;
  TF_Run(s, NULL, &in, &v, in != NULL, &out, &r, out != NULL, &target, target != NULL, NULL, st);
  if (tr_status(what, st) && out) tr_show_free("  out", r);
  if (v) TF_DeleteTensor(v);
}

static void prun(const char *h, const char *what, const char *in, float v, const char *out) {
  TF_Tensor *t = in ? tr_f32(v) : NULL, *r = NULL;
  TF_PRun(s, h, &in, &t, in != NULL, &out, &r, out != NULL, NULL, 0, st);
  if (tr_status(what, st) && out) tr_show_free("  out", r);
  if (t) TF_DeleteTensor(t);
}

int main(void) {
  tg_begin();
  TF_SessionOptions *o = TF_NewSessionOptions();
  s = TF_NewDeprecatedSession(o, st);
  tr_status("new", st);
  TF_DeleteSessionOptions(o);
  TF_Graph *g = TF_NewGraph(), *more = TF_NewGraph();
  TF_Operation *p = tg_ph(g, TF_FLOAT, "p", NULL, -2), *q = tg_ph(g, TF_FLOAT, "q", NULL, -2);
  TF_Operation *sum = tg_op(g, "AddV2", "sum", 2, p, q);
  tg_op(g, "Neg", "neg", 1, sum);
  tg_cf(more, 7, "seven");
  tr_case("before there is a graph");
  run("run", NULL, NULL, "seven:0", NULL);
  TF_ExtendGraph(s, "nonsense", 8, st);
  tr_status("extend with nonsense", st);
  TF_ExtendGraph(s, "", 0, st);
  tr_status("extend with nothing", st);
  run("still none", NULL, NULL, "seven:0", NULL);
  tr_case("extending");
  extend("first", g);
  extend("the same again", g);
  extend("more", more);
  run("more", NULL, NULL, "seven:0", NULL);
  run("without :0", NULL, NULL, "seven", NULL);
  tr_case("names");
  run("unknown", NULL, NULL, "nothing:0", NULL);
  run("no such output", NULL, NULL, "seven:1", NULL);
  run("negative", NULL, NULL, "seven:-1", NULL);
  run("odd", NULL, NULL, "seven:x", NULL);
  run("empty", NULL, NULL, "", NULL);
  run("a control input", NULL, NULL, "^seven", NULL);
  run("target", NULL, NULL, NULL, "seven");
  run("unknown target", NULL, NULL, NULL, "nothing");
  run("target with an output", NULL, NULL, NULL, "seven:0");
  run("nothing at all", NULL, NULL, NULL, NULL);
  run("unknown feed", "nothing:0", tr_f32(1), "seven:0", NULL);
  run("feed of another type", "p:0", tr_i32(1), "neg:0", NULL);
  run("a feed is missing", "p:0", tr_f32(1), "neg:0", NULL);
  tr_case("partial runs");
  const char *in[2] = {"p:0", "q:0"}, *out[2] = {"sum:0", "neg:0"}, *none[1] = {"none:0"};
  const char *h = NULL;
  TF_PRunSetup(s, in, 2, out, 2, NULL, 0, &h, st);
  if (tr_status("setup", st)) {
    prun(h, "first feed", "p:0", 1, NULL);
    prun(h, "too early", NULL, 0, "sum:0");
    prun(h, "again", "p:0", 1, NULL);
    prun(h, "second feed", "q:0", 2, "sum:0");
    prun(h, "not in the setup", NULL, 0, "seven:0");
    prun(h, "the rest", NULL, 0, "neg:0");
    prun(h, "after the end", NULL, 0, "neg:0");
  }
  TF_DeletePRunHandle(h);
  h = NULL;
  TF_PRunSetup(s, none, 1, out, 2, NULL, 0, &h, st);
  tr_status("unknown feed", st);
  TF_PRunSetup(s, in, 2, none, 1, NULL, 0, &h, st);
  tr_status("unknown fetch", st);
  TF_PRunSetup(s, in, 2, out, 2, none, 1, &h, st);
  tr_status("unknown target", st);
  prun("1;2;3", "a handle that is none", "p:0", 1, NULL);
  tr_case("devices and the end");
  TF_DeviceList *l = TF_DeprecatedSessionListDevices(s, st);
  if (tr_status("devices", st)) printf("  %d\n", TF_DeviceListCount(l));
  TF_DeleteDeviceList(l);
  TF_CloseDeprecatedSession(s, st);
  tr_status("close", st);
  run("closed", NULL, NULL, "seven:0", NULL);
  extend("closed", more);
  TF_CloseDeprecatedSession(s, st);
  tr_status("close again", st);
  TF_DeleteDeprecatedSession(s, st);
  tr_status("delete", st);
  TF_DeleteGraph(g);
  TF_DeleteGraph(more);
  tg_end();
  return 0;
}
