/* Partial runs in every order, with targets, with failures, several at once, in a closed session. */
#include "transcript_graph.h"

static TF_Graph *g;
static TF_Operation *a, *b, *c, *ab, *abc, *noop, *bad;
static TF_Session *s;

static void step(const char *h, const char *what, const char *feeds, const char *fetches,
                 const TF_Operation *target) {
  TF_Output in[4], out[4];
  TF_Tensor *iv[4], *ov[4] = {0};
  int ni = 0, no = 0;
  for (; *feeds; ++feeds, ++ni) {
    in[ni] = tg_out(*feeds == 'a' ? a : *feeds == 'b' ? b : c, 0);
    iv[ni] = tr_f32(*feeds == 'a' ? 1 : *feeds == 'b' ? 10 : 100);
  }
  for (; *fetches; ++fetches, ++no)
    out[no] = tg_out(*fetches == 'x' ? ab : *fetches == 'y' ? abc : *fetches == 'z' ? bad : a, 0);
  TF_SessionPRun(s, h, in, iv, ni, out, ov, no, &target, target ? 1 : 0, st);
  tr_status(what, st);
  TF_SetStatus(st, TF_OK, "");
  for (int i = 0; i < ni; ++i) TF_DeleteTensor(iv[i]);
  for (int i = 0; i < no; ++i)
    if (ov[i]) tr_show_free("  out", ov[i]);
}

static const char *setup(const char *what, int ni, int no, int nt) {
  TF_Output in[3] = {tg_out(a, 0), tg_out(b, 0), tg_out(c, 0)};
  TF_Output out[3] = {tg_out(ab, 0), tg_out(abc, 0), tg_out(bad, 0)};
  const TF_Operation *t[1] = {noop};
  const char *h = NULL;
  TF_SessionPRunSetup(s, in, ni, out, no, t, nt, &h, st);
  tr_status(what, st);
  TF_SetStatus(st, TF_OK, "");
  return h;
}

int main(void) {
  tg_begin();
  g = TF_NewGraph();
  a = tg_ph(g, TF_FLOAT, "a", NULL, -1);
  b = tg_ph(g, TF_FLOAT, "b", NULL, -1);
  c = tg_ph(g, TF_FLOAT, "c", NULL, -1);
  ab = tg_op(g, "AddV2", "ab", 2, a, b);
  abc = tg_op(g, "AddV2", "abc", 2, ab, c);
  TF_OperationDescription *d = tg_desc(g, "CheckNumerics", "bad", 1,
                                       tg_op(g, "Log", "log", 1, tg_op(g, "Sub", "zero", 2, c, c)));
  TF_SetAttrString(d, "message", "bad", 3);
  bad = tg_finish(d);
  noop = tg_finish(TF_NewOperation(g, "NoOp", "noop"));
  s = tg_session(g);
  tr_case("all at once");
  const char *h = setup("setup", 3, 2, 0);
  step(h, "everything", "abc", "xy", NULL);
  step(h, "after the end", "", "y", NULL);
  TF_DeletePRunHandle(h);
  tr_case("one by one");
  h = setup("setup", 3, 2, 0);
  step(h, "a", "a", "", NULL);
  step(h, "b", "b", "", NULL);
  step(h, "x", "", "x", NULL);
  step(h, "x again", "", "x", NULL);
  step(h, "c and y", "c", "y", NULL);
  TF_DeletePRunHandle(h);
  tr_case("last first");
  h = setup("setup", 3, 2, 0);
  step(h, "c", "c", "", NULL);
  step(h, "y too early", "", "y", NULL);
  step(h, "b", "b", "", NULL);
  step(h, "a with x and y", "a", "xy", NULL);
  TF_DeletePRunHandle(h);
  tr_case("targets");
  h = setup("setup", 3, 1, 1);
  step(h, "target", "", "", noop);
  step(h, "target again", "", "", noop);
  step(h, "the rest", "ab", "x", NULL);
  TF_DeletePRunHandle(h);
  h = setup("setup", 2, 1, 0);
  step(h, "a target that was not declared", "", "", noop);
  step(h, "fed twice in one call", "aa", "", NULL);
  step(h, "rest", "ab", "x", NULL);
  TF_DeletePRunHandle(h);
  tr_case("two at once");
  const char *h1 = setup("one", 3, 2, 0), *h2 = setup("two", 3, 2, 0);
  printf("different %d\n", strcmp(h1, h2) != 0);
  step(h1, "one", "a", "", NULL);
  step(h2, "two", "ab", "x", NULL);
  step(h1, "one", "b", "x", NULL);
  step(h2, "two", "c", "y", NULL);
  step(h1, "one", "c", "y", NULL);
  TF_DeletePRunHandle(h1);
  TF_DeletePRunHandle(h2);
  tr_case("nothing and wrong things");
  h = setup("no feeds", 0, 0, 1);
  if (h) {
    step(h, "target", "", "", noop);
    TF_DeletePRunHandle(h);
  }
  h = setup("nothing at all", 0, 0, 0);
  if (h) TF_DeletePRunHandle(h);
  h = setup("feeds only", 2, 0, 0);
  if (h) TF_DeletePRunHandle(h);
  h = setup("a full run in between", 3, 2, 0);
  step(h, "a", "a", "", NULL);
  TF_Output in[2] = {tg_out(a, 0), tg_out(b, 0)}, out = tg_out(ab, 0);
  TF_Tensor *iv[2] = {tr_f32(5), tr_f32(6)};
  tg_run(s, "full run", in, iv, 2, &out, 1, NULL, 0);
  step(h, "b and x", "b", "x", NULL);
  step(h, "c and y", "c", "y", NULL);
  TF_DeletePRunHandle(h);
  h = setup("empty steps", 3, 2, 0);
  step(h, "empty", "", "", NULL);
  step(h, "all", "abc", "xy", NULL);
  TF_DeletePRunHandle(h);
  tr_case("closing in the middle");
  h = setup("setup", 3, 2, 0);
  step(h, "a", "a", "", NULL);
  TF_CloseSession(s, st);
  tr_status("close", st);
  step(h, "b", "b", "x", NULL);
  TF_DeletePRunHandle(h);
  TF_DeleteSession(s, st);
  tr_case("a kernel that fails");
  s = tg_session(g);
  h = setup("setup", 3, 3, 0);
  step(h, "a and b", "ab", "x", NULL);
  step(h, "fails", "c", "z", NULL);
  step(h, "afterwards", "", "y", NULL);
  TF_DeletePRunHandle(h);
  TF_DeleteSession(s, st);
  TF_DeleteGraph(g);
  tg_end();
  return 0;
}
