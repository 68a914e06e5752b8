/* TF_SessionPRun* called in every wrong way that has an answer. */
#include "transcript_graph.h"

static TF_Graph *g;
static TF_Operation *a, *b, *c, *sum, *prod, *all;

static const char *setup(TF_Session *s, const char *what, const TF_Output *in, int nin,
                         const TF_Output *out, int nout, const TF_Operation *const *t, int nt) {
  const char *h = NULL;
  TF_SessionPRunSetup(s, in, nin, out, nout, t, nt, &h, st);
  tr_status(what, st);
  if ((h == NULL) != (TF_GetCode(st) != TF_OK)) puts("  handle and status disagree");
  return h;
}

static void prun(TF_Session *s, const char *what, const char *h, int nin, const TF_Output *in,
                 const float *v, int nout, const TF_Output *out, int nt,
                 const TF_Operation *const *t) {
  TF_Tensor *iv[4] = {0}, *ov[4] = {0};
  for (int i = 0; i < nin; ++i) iv[i] = tr_f32(v[i]);
  TF_SessionPRun(s, h, in, iv, nin, out, ov, nout, t, nt, st);
  tr_status(what, st);
  for (int i = 0; i < nout; ++i)
    if (ov[i]) tr_show_free("  out", ov[i]);
  for (int i = 0; i < nin; ++i) TF_DeleteTensor(iv[i]);
}

int main(void) {
  tg_begin();
  g = TF_NewGraph();
  a = tg_ph(g, TF_FLOAT, "a", NULL, 0);
  b = tg_ph(g, TF_FLOAT, "b", NULL, 0);
  c = tg_ph(g, TF_FLOAT, "c", NULL, 0);
  sum = tg_op(g, "AddV2", "sum", 2, a, b);
  prod = tg_op(g, "Mul", "prod", 2, sum, c);
  TF_OperationDescription *d = TF_NewOperation(g, "NoOp", "all");
  TF_AddControlInput(d, prod);
  all = tg_finish(d);
  TF_Output in[4] = {tg_out(a, 0), tg_out(b, 0), tg_out(c, 0), tg_out(a, 0)};
  TF_Output out[3] = {tg_out(sum, 0), tg_out(prod, 0), tg_out(sum, 0)};
  const TF_Operation *target[2] = {all, all};
  static const float v[] = {1, 2, 3, 4};
  TF_Session *s = tg_session(g);
  const char *h;

  tr_case("setup that cannot be");
  TF_DeletePRunHandle(setup(s, "feed twice", in, 4, out, 1, NULL, 0));
  TF_DeletePRunHandle(setup(s, "fetch twice", in, 3, out, 3, NULL, 0));
  TF_DeletePRunHandle(setup(s, "target twice", in, 3, out, 1, target, 2));
  TF_DeletePRunHandle(setup(s, "nothing at all", NULL, 0, NULL, 0, NULL, 0));
  TF_Output wrong = tg_out(a, 4), nothing = tg_out(all, 0);
  TF_DeletePRunHandle(setup(s, "feed of output 4", &wrong, 1, out, 1, NULL, 0));
  TF_DeletePRunHandle(setup(s, "fetch of output 4", in, 3, &wrong, 1, NULL, 0));
  TF_DeletePRunHandle(setup(s, "fetch of a NoOp", in, 3, &nothing, 1, NULL, 0));
  TF_DeletePRunHandle(setup(s, "a feed also fetched", in, 3, in, 1, NULL, 0));

  tr_case("feeds in two steps");
  h = setup(s, "setup", in, 3, out, 2, target, 1);
  if (h) {
    prun(s, "a, b -> sum", h, 2, in, v, 1, out, 0, NULL);
    prun(s, "c -> prod, target", h, 1, in + 2, v + 2, 1, out + 1, 1, target);
    prun(s, "after the end", h, 1, in + 2, v + 2, 1, out + 1, 0, NULL);
    TF_DeletePRunHandle(h);
  }
  tr_case("the same feed again");
  h = setup(s, "setup", in, 3, out, 2, NULL, 0);
  if (h) {
    prun(s, "a", h, 1, in, v, 0, NULL, 0, NULL);
    prun(s, "a again", h, 1, in, v, 0, NULL, 0, NULL);
    prun(s, "b after the mistake", h, 1, in + 1, v, 0, NULL, 0, NULL);
    TF_DeletePRunHandle(h);
  }
  tr_case("the same fetch again");
  h = setup(s, "setup", in, 3, out, 2, NULL, 0);
  if (h) {
    prun(s, "a, b -> sum", h, 2, in, v, 1, out, 0, NULL);
    prun(s, "sum again", h, 0, NULL, NULL, 1, out, 0, NULL);
    prun(s, "c -> prod", h, 1, in + 2, v, 1, out + 1, 0, NULL);
    TF_DeletePRunHandle(h);
  }
  tr_case("a fetch whose feeds are missing");
  h = setup(s, "setup", in, 3, out, 2, NULL, 0);
  if (h) {
    prun(s, "a -> sum", h, 1, in, v, 1, out, 0, NULL);
    prun(s, "b -> sum", h, 1, in + 1, v, 1, out, 0, NULL);
    TF_DeletePRunHandle(h);
  }
  tr_case("what setup did not name");
  h = setup(s, "setup", in, 2, out, 1, NULL, 0);
  if (h) {
    prun(s, "feed c", h, 1, in + 2, v, 0, NULL, 0, NULL);
    prun(s, "fetch prod", h, 2, in, v, 1, out + 1, 0, NULL);
    prun(s, "target", h, 2, in, v, 0, NULL, 1, target);
    prun(s, "as said", h, 2, in, v, 1, out, 0, NULL);
    TF_DeletePRunHandle(h);
  }
  tr_case("handles");
  prun(s, "made up", "nonsense", 2, in, v, 1, out, 0, NULL);
  TF_Session *other = tg_session(g);
  h = setup(s, "setup", in, 3, out, 2, NULL, 0);
  if (h) {
    TF_Tensor *iv[2] = {tr_f32(1), tr_f32(2)}, *ov[1] = {0};
    TF_SessionPRun(other, h, in, iv, 2, out, ov, 1, NULL, 0, st);
    printf("another session: %s\n", tr_code_name(TF_GetCode(st)));
    if (ov[0]) TF_DeleteTensor(ov[0]);
    TF_DeleteTensor(iv[0]);
    TF_DeleteTensor(iv[1]);
    prun(s, "its own", h, 2, in, v, 1, out, 0, NULL);
    TF_DeletePRunHandle(h);
  }
  TF_DeletePRunHandle(NULL);
  tr_case("two at a time");
  h = setup(s, "first", in, 3, out, 2, NULL, 0);
  const char *h2 = setup(s, "second", in, 3, out, 2, NULL, 0);
  if (h && h2) {
    prun(s, "first", h, 2, in, v, 1, out, 0, NULL);
    prun(s, "second", h2, 2, in, v + 1, 1, out, 0, NULL);
    prun(s, "second ends", h2, 1, in + 2, v, 1, out + 1, 0, NULL);
    prun(s, "first ends", h, 1, in + 2, v + 3, 1, out + 1, 0, NULL);
  }
  TF_DeletePRunHandle(h);
  TF_DeletePRunHandle(h2);
  tr_case("a closed session");
  TF_CloseSession(other, st);
  tr_status("close", st);
  h = setup(other, "setup", in, 3, out, 2, NULL, 0);
  if (h) TF_DeletePRunHandle(h);
  TF_DeleteSession(other, st);
  tg_close(s);
  TF_DeleteGraph(g);
  tg_end();
  return 0;
}
