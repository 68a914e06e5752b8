/* Partial runs, the deprecated session interface, timeouts, TF_Reset. */
#include "transcript_graph.h"

static TF_Graph *g;
static TF_Operation *a, *b, *plus2, *plusb;

static void build(void) {
  g = TF_NewGraph();
  a = tg_ph(g, TF_FLOAT, "a", NULL, -1);
  b = tg_ph(g, TF_FLOAT, "b", NULL, -1);
  TF_Operation *two = tg_cf(g, 2, "two");
  plus2 = tg_op(g, "AddV2", "plus2", 2, a, two);
  plusb = tg_op(g, "AddV2", "plusb", 2, plus2, b);
}

static void prun(TF_Session *s, const char *h, const char *what, TF_Operation *in, float v,
                 TF_Operation *out) {
  TF_Output i = tg_out(in, 0), o = tg_out(out, 0);
  TF_Tensor *iv = tr_f32(v), *ov = NULL;
  TF_SessionPRun(s, h, &i, &iv, 1, &o, &ov, 1, NULL, 0, st);
  if (tr_status(what, st)) tr_show_free("  out", ov);
  TF_DeleteTensor(iv);
}

static void partial(void) {
  build();
  TF_Session *s = tg_session(g);
  TF_Output in[2] = {tg_out(a, 0), tg_out(b, 0)}, out[2] = {tg_out(plus2, 0), tg_out(plusb, 0)};
  const char *h = NULL;
  tr_case("partial run");
  TF_SessionPRunSetup(s, in, 2, out, 2, NULL, 0, &h, st);
  tr_status("setup", st);
  prun(s, h, "feed a fetch plus2", a, 1, plus2);
  prun(s, h, "feed b fetch plusb", b, 4, plusb);
  tr_case("finished handle");
  prun(s, h, "again", a, 1, plus2);
  TF_DeletePRunHandle(h);
  tr_case("partial run errors");
  h = NULL;
  TF_SessionPRunSetup(s, in, 2, out, 2, NULL, 0, &h, st);
  prun(s, h, "fetch before its feed", a, 1, plusb);
  TF_DeletePRunHandle(h);
  h = NULL;
  TF_SessionPRunSetup(s, in, 2, out, 2, NULL, 0, &h, st);
  prun(s, h, "feed a", a, 1, plus2);
  prun(s, h, "feed a again", a, 1, plusb);
  TF_DeletePRunHandle(h);
  h = NULL;
  TF_SessionPRunSetup(s, in, 1, out, 1, NULL, 0, &h, st);
  tr_status("setup of a and plus2", st);
  prun(s, h, "feed b not declared", b, 1, plus2);
  prun(s, h, "fetch plusb not declared", a, 1, plusb);
  TF_DeletePRunHandle(h);
  h = NULL;
  prun(s, "no such handle", "unknown handle", a, 1, plus2);
  TF_SessionPRunSetup(s, in, 2, NULL, 0, NULL, 0, &h, st);
  tr_status("no outputs", st);
  if (h) TF_DeletePRunHandle(h);
  tg_close(s);
  TF_DeleteGraph(g);
}

static void legacy(void) {
  build();
  TF_Buffer *gd = TF_NewBuffer();
  TF_GraphToGraphDef(g, gd, st);
  TF_SessionOptions *o = TF_NewSessionOptions();
  tr_case("deprecated session");
  TF_DeprecatedSession *s = TF_NewDeprecatedSession(o, st);
  tr_status("new", st);
  const char *in[1] = {"a:0"};
  const char *out[2] = {"plus2:0", "plus2"};
  const char *tgt[1] = {"plus2"};
  TF_Tensor *iv[1] = {tr_f32(1)}, *ov[2] = {NULL, NULL};
  TF_Run(s, NULL, in, iv, 1, out, ov, 1, NULL, 0, NULL, st);
  tr_status("run before extend", st);
  TF_ExtendGraph(s, gd->data, gd->length, st);
  tr_status("extend", st);
  TF_Run(s, NULL, in, iv, 1, out, ov, 2, tgt, 1, NULL, st);
  if (tr_status("run", st)) tr_show_free("0", ov[0]), tr_show_free("1", ov[1]);
  TF_ExtendGraph(s, gd->data, gd->length, st);
  tr_status("extend again", st);
  TF_ExtendGraph(s, "\xff\xff", 2, st);
  tr_status("bad bytes", st);
  const char *none[1] = {"nothing:0"};
  const char *badidx[1] = {"plus2:5"};
  const char *badname[1] = {"plus2:x"};
  TF_Run(s, NULL, in, iv, 1, none, ov, 1, NULL, 0, NULL, st);
  tr_status("unknown fetch", st);
  TF_Run(s, NULL, none, iv, 1, out, ov, 1, NULL, 0, NULL, st);
  tr_status("unknown feed", st);
  TF_Run(s, NULL, in, iv, 1, badidx, ov, 1, NULL, 0, NULL, st);
  tr_status("bad index", st);
  TF_Run(s, NULL, in, iv, 1, badname, ov, 1, NULL, 0, NULL, st);
  tr_status("bad name", st);
  TF_Run(s, NULL, in, iv, 1, NULL, NULL, 0, none, 1, NULL, st);
  tr_status("unknown target", st);
  TF_DeviceList *l = TF_DeprecatedSessionListDevices(s, st);
  tr_status("devices", st);
  printf("some %d\n", TF_DeviceListCount(l) > 0);
  TF_DeleteDeviceList(l);
  TF_DeleteTensor(iv[0]);
  TF_CloseDeprecatedSession(s, st);
  tr_status("close", st);
  TF_DeleteDeprecatedSession(s, st);
  tr_status("delete", st);
  tr_case("reset");
  TF_Reset(o, NULL, 0, st);
  tr_status("reset", st);
  const char *cont[1] = {"box"};
  TF_Reset(o, cont, 1, st);
  tr_status("reset a container", st);
  TF_DeleteSessionOptions(o);
  TF_DeleteBuffer(gd);
  TF_DeleteGraph(g);
}

static void timeouts(void) {
  tr_case("timeout of a dequeue that never returns");
  g = TF_NewGraph();
  TF_DataType ft = TF_FLOAT;
  TF_OperationDescription *d = TF_NewOperation(g, "FIFOQueueV2", "q");
  TF_SetAttrTypeList(d, "component_types", &ft, 1);
  TF_Operation *q = tg_finish(d);
  d = tg_desc(g, "QueueDequeueV2", "deq", 1, q);
  TF_SetAttrTypeList(d, "component_types", &ft, 1);
  TF_Operation *deq = tg_finish(d);
  TF_Operation *c = tg_cf(g, 1, "c");
  TF_Session *s = tg_session(g);
  tr_pb ro = {0};
  tr_pb_int(&ro, 2, 300);
  TF_Buffer *b2 = TF_NewBufferFromString(ro.data, ro.len);
  tr_pb_free(&ro);
  TF_Output o = tg_out(deq, 0);
  TF_Tensor *ov = NULL;
  TF_SessionRun(s, b2, NULL, NULL, 0, &o, &ov, 1, NULL, 0, NULL, st);
  tr_status("dequeue", st);
  o = tg_out(c, 0);
  TF_SessionRun(s, b2, NULL, NULL, 0, &o, &ov, 1, NULL, 0, NULL, st);
  tr_status("quick", st);
  tr_show_free("c", ov);
  tg_close(s);
  TF_DeleteGraph(g);

  tr_case("timeout of an endless While");
  g = TF_NewGraph();
  for (int k = 0; k < 2; ++k) {
    TF_Graph *fb = TF_NewGraph();
    TF_Operation *x = tg_ph(fb, TF_FLOAT, "x", NULL, 0);
    TF_Operation *big = tg_cf(fb, k ? 1.0f : -1.0f, "big");
    TF_Operation *r = k ? tg_op(fb, "Mul", "r", 2, x, big) : tg_op(fb, "Greater", "r", 2, x, big);
    TF_Output fi = tg_out(x, 0), fo = tg_out(r, 0);
    TF_Function *f = TF_GraphToFunction(fb, k ? "Same" : "Always", 0, -1, NULL, 1, &fi, 1, &fo,
                                        NULL, NULL, NULL, st);
    TF_GraphCopyFunction(g, f, NULL, st);
    TF_DeleteFunction(f);
    TF_DeleteGraph(fb);
  }
  a = tg_ph(g, TF_FLOAT, "a", NULL, 0);
  d = TF_NewOperation(g, "While", "loop");
  TF_Output l = tg_out(a, 0);
  TF_AddInputList(d, &l, 1);
  TF_SetAttrFuncName(d, "cond", "Always", 6);
  TF_SetAttrFuncName(d, "body", "Same", 4);
  TF_Operation *w = tg_finish_show(d, "build");
  s = tg_session(g);
  TF_Tensor *iv = tr_f32(1);
  o = tg_out(w, 0);
  TF_SessionRun(s, b2, &l, &iv, 1, &o, &ov, 1, NULL, 0, NULL, st);
  tr_status("loop", st);
  TF_DeleteTensor(iv);
  tg_close(s);
  TF_DeleteBuffer(b2);
  TF_DeleteGraph(g);
}

int main(void) {
  tg_begin();
  partial();
  legacy();
  timeouts();
  tg_end();
  return 0;
}
