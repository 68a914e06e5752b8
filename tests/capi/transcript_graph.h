/* Graph and session helpers shared by the graph-side transcript programs. */
#ifndef FERRY_TESTS_CAPI_TRANSCRIPT_GRAPH_H_
#define FERRY_TESTS_CAPI_TRANSCRIPT_GRAPH_H_

#include "transcript.h"

static TF_Status *st; /* one status for the whole program */

static inline void tg_begin(void) {
  st = TF_NewStatus();
}
static inline void tg_end(void) {
  TF_DeleteStatus(st);
}

static inline TF_Output tg_out(TF_Operation *op, int index) {
  TF_Output o;
  o.oper = op;
  o.index = index;
  return o;
}
static inline TF_Input tg_in(TF_Operation *op, int index) {
  TF_Input o;
  o.oper = op;
  o.index = index;
  return o;
}

/* Finishes; prints only failures. */
static inline TF_Operation *tg_finish(TF_OperationDescription *d) {
  TF_Operation *op = TF_FinishOperation(d, st);
  if (TF_GetCode(st) != TF_OK) tr_status("finish", st);
  return op;
}

/* Finishes and prints the status whatever it is. */
static inline TF_Operation *tg_finish_show(TF_OperationDescription *d, const char *what) {
  TF_Operation *op = TF_FinishOperation(d, st);
  tr_status(what, st);
  if ((op == NULL) != (TF_GetCode(st) != TF_OK)) puts("op/status disagree");
  return op;
}

/* A Const node; frees t. */
static inline TF_Operation *tg_const(TF_Graph *g, TF_Tensor *t, const char *name) {
  TF_OperationDescription *d = TF_NewOperation(g, "Const", name);
  TF_SetAttrTensor(d, "value", t, st);
  if (TF_GetCode(st) != TF_OK) tr_status("value", st);
  TF_SetAttrType(d, "dtype", TF_TensorType(t));
  TF_DeleteTensor(t);
  return tg_finish(d);
}
static inline TF_Operation *tg_cf(TF_Graph *g, float v, const char *name) {
  return tg_const(g, tr_f32(v), name);
}
static inline TF_Operation *tg_ci(TF_Graph *g, int32_t v, const char *name) {
  return tg_const(g, tr_i32(v), name);
}

/* A Placeholder; nd -2: no shape attr, nd -1: unknown rank. */
static inline TF_Operation *tg_ph(TF_Graph *g, TF_DataType t, const char *name, const int64_t *dims,
                                  int nd) {
  TF_OperationDescription *d = TF_NewOperation(g, "Placeholder", name);
  TF_SetAttrType(d, "dtype", t);
  if (nd > -2) TF_SetAttrShape(d, "shape", dims, nd);
  return tg_finish(d);
}

/* An op with n single inputs (output 0 of each argument), unfinished. */
static inline TF_OperationDescription *tg_desc(TF_Graph *g, const char *type, const char *name,
                                               int n, ...) {
  TF_OperationDescription *d = TF_NewOperation(g, type, name);
  va_list ap;
  va_start(ap, n);
  for (int i = 0; i < n; ++i) {
    TF_Operation *in = va_arg(ap, TF_Operation *);
    TF_AddInput(d, tg_out(in, 0));
  }
  va_end(ap);
  return d;
}
#define tg_op(g, type, name, ...) tg_finish(tg_desc(g, type, name, __VA_ARGS__))
#define tg_op_show(g, type, name, ...) \
  tg_finish_show(tg_desc(g, type, name, __VA_ARGS__), type " " name)

/* Prints every node with its inputs, control inputs and device. */
static inline void tg_nodes(TF_Graph *g) {
  size_t pos = 0;
  TF_Operation *op, *c[16];
  while ((op = TF_GraphNextOperation(g, &pos)) != NULL) {
    printf("  %s %s", TF_OperationName(op), TF_OperationOpType(op));
    for (int i = 0; i < TF_OperationNumInputs(op); ++i) {
      TF_Output o = TF_OperationInput(tg_in(op, i));
      printf(" %s:%d", TF_OperationName(o.oper), o.index);
    }
    int n = TF_OperationGetControlInputs(op, c, 16);
    for (int i = 0; i < n; ++i) printf(" ^%s", TF_OperationName(c[i]));
    if (TF_OperationDevice(op)[0]) printf(" on %s", TF_OperationDevice(op));
    putchar('\n');
  }
}

/* Prints the inferred shape of an output. */
static inline void tg_shape(TF_Graph *g, const char *what, TF_Output o) {
  int n = TF_GraphGetTensorNumDims(g, o, st);
  if (TF_GetCode(st) != TF_OK) {
    tr_status(what, st);
    return;
  }
  int64_t d[16];
  printf("%s shape ", what);
  if (n < 0) {
    puts("?");
    return;
  }
  TF_GraphGetTensorShape(g, o, d, n, st);
  tr_dims(d, n);
  putchar('\n');
}

static inline TF_Session *tg_session(TF_Graph *g) {
  TF_SessionOptions *o = TF_NewSessionOptions();
  TF_Session *s = TF_NewSession(g, o, st);
  if (TF_GetCode(st) != TF_OK) tr_status("session", st);
  TF_DeleteSessionOptions(o);
  return s;
}
static inline void tg_close(TF_Session *s) {
  TF_CloseSession(s, st);
  if (TF_GetCode(st) != TF_OK) tr_status("close", st);
  TF_DeleteSession(s, st);
  if (TF_GetCode(st) != TF_OK) tr_status("delete", st);
}

/* Runs and prints the status and every fetched value; frees the feeds. */
static inline bool tg_run(TF_Session *s, const char *what, const TF_Output *in, TF_Tensor **inv,
                          int nin, const TF_Output *out, int nout,
                          const TF_Operation *const *target, int ntarget) {
  TF_Tensor *outv[16] = {NULL};
  TF_SessionRun(s, NULL, in, inv, nin, out, outv, nout, target, ntarget, NULL, st);
  bool ok = tr_status(what, st);
  for (int i = 0; i < nout; ++i) {
    if (ok || outv[i] != NULL) {
      char b[16];
      snprintf(b, sizeof b, "  out%d", i);
      tr_show_free(b, outv[i]);
    }
  }
  for (int i = 0; i < nin; ++i) TF_DeleteTensor(inv[i]);
  return ok;
}
static inline bool tg_fetch(TF_Session *s, const char *what, TF_Operation *op) {
  TF_Output o = tg_out(op, 0);
  return tg_run(s, what, NULL, NULL, 0, &o, 1, NULL, 0);
}
static inline bool tg_fetch1(TF_Session *s, const char *what, TF_Operation *in, TF_Tensor *v,
                             TF_Operation *op) {
  TF_Output o = tg_out(op, 0), i = tg_out(in, 0);
  return tg_run(s, what, &i, &v, 1, &o, 1, NULL, 0);
}
static inline bool tg_target(TF_Session *s, const char *what, const TF_Operation *op) {
  return tg_run(s, what, NULL, NULL, 0, NULL, 0, &op, 1);
}

#endif /* FERRY_TESTS_CAPI_TRANSCRIPT_GRAPH_H_ */
