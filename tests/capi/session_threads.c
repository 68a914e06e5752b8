/* One session and one graph from several threads: runs of different signatures at once, the graph growing
   meanwhile, a run that fails beside runs that do not. Each thread counts; the counts are printed. */
#include <pthread.h>

#include "transcript_graph.h"

enum { THREADS = 4, ROUNDS = 40 };
static TF_Graph *g;
static TF_Session *s;
static TF_Operation *x, *y, *ops[6], *check;

static float run_one(TF_Operation *out, float v, TF_Status *status) {
  TF_Output in[2] = {tg_out(x, 0), tg_out(y, 0)}, o = tg_out(out, 0);
  TF_Tensor *iv[2] = {tr_f32(v), tr_f32(2)}, *ov = NULL;
  TF_SessionRun(s, NULL, in, iv, 2, &o, &ov, 1, NULL, 0, NULL, status);
  float r = ov ? *(const float *)TF_TensorData(ov) : -1;
  if (ov) TF_DeleteTensor(ov);
  TF_DeleteTensor(iv[0]);
  TF_DeleteTensor(iv[1]);
  return r;
}

static float expected(int k, float v) {
  const float all[] = {v + 2, v - 2, v * 2, v / 2, -v, v * v};
  return all[k];
}

typedef struct job {
  int number, right, wrong, failed, refused;
} job;

static void *work(void *arg) {
  job *j = arg;
  TF_Status *status = TF_NewStatus();
  for (int i = 0; i < ROUNDS; ++i) {
    int k = (i + j->number) % 6;
    float v = (float)(i + 1) * (float)(j->number + 1);
    float r = run_one(ops[k], v, status);
    if (TF_GetCode(status) != TF_OK)
      ++j->failed;
    else if (r == expected(k, v))
      ++j->right;
    else
      ++j->wrong;
    if (i % 8 == 3) { /* a run that must fail, with its own message */
      run_one(check, 1.0f / 0.0f, status);
      if (TF_GetCode(status) == TF_INVALID_ARGUMENT && strstr(TF_Message(status), "Inf"))
        ++j->refused;
    }
    if (i % 10 == 5) { /* the graph grows; the new node runs at once */
      char name[32];
      snprintf(name, sizeof name, "grown_%d_%d", j->number, i);
      TF_OperationDescription *d = TF_NewOperation(g, "Square", name);
      TF_AddInput(d, tg_out(x, 0));
      TF_Operation *op = TF_FinishOperation(d, status);
      if (TF_GetCode(status) == TF_OK && run_one(op, 3, status) == 9) ++j->right;
    }
  }
  TF_DeleteStatus(status);
  return NULL;
}

static void *close_it(void *arg) {
  TF_Status *status = TF_NewStatus();
  TF_CloseSession(s, status);
  *(int *)arg = TF_GetCode(status) == TF_OK;
  TF_DeleteStatus(status);
  return NULL;
}

int main(void) {
  tg_begin();
  g = TF_NewGraph();
  x = tg_ph(g, TF_FLOAT, "x", NULL, 0);
  y = tg_ph(g, TF_FLOAT, "y", NULL, 0);
  static const char *const types[] = {"AddV2", "Sub", "Mul", "RealDiv"};
  for (int i = 0; i < 4; ++i) ops[i] = tg_op(g, types[i], types[i], 2, x, y);
  ops[4] = tg_op(g, "Neg", "neg", 1, x);
  ops[5] = tg_op(g, "Square", "sq", 1, x);
  TF_OperationDescription *d = tg_desc(g, "CheckNumerics", "check", 1, x);
  TF_SetAttrString(d, "message", "bad", 3);
  check = tg_finish(d);
  s = tg_session(g);
  tr_case("runs at once");
  pthread_t th[THREADS];
  job jobs[THREADS] = {{0}};
  for (int i = 0; i < THREADS; ++i) {
    jobs[i].number = i;
    pthread_create(&th[i], NULL, work, &jobs[i]);
  }
  for (int i = 0; i < THREADS; ++i) {
    pthread_join(th[i], NULL);
    printf("thread %d: right %d wrong %d failed %d refused %d\n", i, jobs[i].right, jobs[i].wrong,
           jobs[i].failed, jobs[i].refused);
  }
  size_t pos = 0;
  int nodes = 0;
  while (TF_GraphNextOperation(g, &pos)) ++nodes;
  printf("nodes %d\n", nodes);
  tr_case("closed by another thread");
  int closed = 0;
  pthread_t closer;
  pthread_create(&closer, NULL, close_it, &closed);
  pthread_join(closer, NULL);
  printf("closed %d\n", closed);
  run_one(ops[0], 1, st);
  tr_status("run afterwards", st);
  TF_DeleteSession(s, st);
  tr_status("delete", st);
  TF_DeleteGraph(g);
  tg_end();
  return 0;
}
