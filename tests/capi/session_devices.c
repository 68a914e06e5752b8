/* Devices, placement, configuration bytes, and their error texts. */
#include "tensorflow/c/c_api_experimental.h"
#include "transcript_graph.h"

static tr_pb config(int cpus, bool soft) {
  tr_pb c = {0}, e = {0};
  if (cpus) {
    tr_pb_str(&e, 1, "CPU");
    tr_pb_int(&e, 2, cpus);
    tr_pb_msg(&c, 1, &e);
  }
  if (soft) tr_pb_int(&c, 7, 1);
  return c;
}
static TF_Session *with(TF_Graph *g, const char *what, tr_pb c) {
  TF_SessionOptions *o = TF_NewSessionOptions();
  TF_SetConfig(o, c.data, c.len, st);
  if (TF_GetCode(st) != TF_OK) tr_status("config", st);
  TF_Session *s = TF_NewSession(g, o, st);
  tr_status(what, st);
  TF_DeleteSessionOptions(o);
  tr_pb_free(&c);
  return s;
}
static void devices(TF_Session *s) {
  TF_DeviceList *l = TF_SessionListDevices(s, st);
  tr_status("list", st);
  int n = TF_DeviceListCount(l);
  char name[8][160];
  for (int i = 0; i < n && i < 8; ++i) {
    snprintf(name[i], 160, "%s %s memory %d", TF_DeviceListName(l, i, st),
             TF_DeviceListType(l, i, st), TF_DeviceListMemoryBytes(l, i, st) > 0);
    if (TF_GetCode(st) != TF_OK || TF_DeviceListIncarnation(l, i, st) == 0) puts("bad");
  }
  for (int i = 0; i < n && i < 8; ++i)
    if (strstr(name[i], "CPU")) puts(name[i]);
  const char *p = TF_DeviceListName(l, 99, st);
  printf("%d ", p == NULL);
  tr_status("name 99", st);
  TF_DeviceListType(l, -1, st);
  tr_status("type -1", st);
  printf("%" PRId64 " ", TF_DeviceListMemoryBytes(l, 99, st));
  tr_status("memory 99", st);
  TF_DeleteDeviceList(l);
}
static TF_Operation *on(TF_Graph *g, const char *dev, const char *op, const char *name,
                        TF_Operation *in) {
  TF_OperationDescription *d = tg_desc(g, op, name, 1, in);
  TF_SetDevice(d, dev);
  return tg_finish(d);
}

static void placement(const char *dev, bool soft, int cpus) {
  char w[96];
  snprintf(w, sizeof w, "op on \"%s\", soft %d, %d cpus", dev, soft, cpus);
  tr_case(w);
  TF_Graph *g = TF_NewGraph();
  TF_Operation *c = tg_cf(g, 2, "c");
  TF_Operation *n = on(g, dev, "Neg", "n", c);
  TF_Session *s = with(g, "session", config(cpus, soft));
  tg_fetch(s, "run", n);
  tg_fetch(s, "again", n);
  tg_close(s);
  TF_DeleteGraph(g);
}

static int cmp(const void *a, const void *b) {
  return strcmp((const char *)a, (const char *)b);
}

/* Nodes of a partition graph list in RunMetadata (field 3), sorted. */
static void partitions(const TF_Buffer *b) {
  static char line[64][200];
  int n = 0;
  const unsigned char *p = (const unsigned char *)b->data, *e = p + b->length;
  tr_field f, nd;
  while (tr_next(&p, e, &f)) {
    if (f.num != 3) continue;
    const unsigned char *q = f.p, *qe = f.p + f.n;
    while (tr_next(&q, qe, &nd) && n < 64) {
      if (nd.num != 1) continue;
      tr_field a = tr_get(nd.p, nd.n, 1), o = tr_get(nd.p, nd.n, 2), d = tr_get(nd.p, nd.n, 4);
      snprintf(line[n++], 200, "%.*s %.*s %.*s", (int)d.n, d.p ? (const char *)d.p : "", (int)o.n,
               (const char *)o.p, (int)a.n, (const char *)a.p);
    }
  }
  qsort(line, (size_t)n, sizeof line[0], cmp);
  for (int i = 0; i < n; ++i) puts(line[i]);
}
/* Node names in RunMetadata.step_stats, sorted. */
static void traced(const TF_Buffer *b) {
  static char line[64][200];
  int n = 0;
  const unsigned char *p = (const unsigned char *)b->data, *e = p + b->length;
  tr_field f, ds, ns;
  while (tr_next(&p, e, &f)) {
    if (f.num != 1) continue;
    const unsigned char *q = f.p, *qe = f.p + f.n;
    while (tr_next(&q, qe, &ds)) {
      if (ds.num != 1) continue;
      tr_field dn = tr_get(ds.p, ds.n, 1);
      const unsigned char *r = ds.p, *re = ds.p + ds.n;
      while (tr_next(&r, re, &ns) && n < 64) {
        if (ns.num != 2) continue;
        tr_field nn = tr_get(ns.p, ns.n, 1), tl = tr_get(ns.p, ns.n, 8);
        snprintf(line[n++], 200, "%.*s %.*s label \"%.*s\"", (int)dn.n, (const char *)dn.p,
                 (int)nn.n, (const char *)nn.p, (int)tl.n, tl.p ? (const char *)tl.p : "");
      }
    }
  }
  qsort(line, (size_t)n, sizeof line[0], cmp);
  for (int i = 0; i < n; ++i) puts(line[i]);
}

int main(void) {
  tg_begin();
  TF_Graph *g = TF_NewGraph();
  tr_case("default devices");
  TF_Session *s = tg_session(g);
  devices(s);
  tg_close(s);
  tr_case("two CPUs");
  s = with(g, "session", config(2, false));
  devices(s);
  tg_close(s);
  tr_case("config helpers");
  TF_Buffer *cb = TF_CreateConfig(0, 0, 3);
  TF_SessionOptions *o = TF_NewSessionOptions();
  TF_SetConfig(o, cb->data, cb->length, st);
  tr_status("set config", st);
  TF_DeleteBuffer(cb);
  s = TF_NewSession(g, o, st);
  TF_DeviceList *dl = TF_SessionListDevices(s, st);
  int cpus = 0;
  for (int i = 0; i < TF_DeviceListCount(dl); ++i)
    cpus += strcmp(TF_DeviceListType(dl, i, st), "CPU") == 0;
  printf("cpus %d\n", cpus);
  TF_DeleteDeviceList(dl);
  tg_close(s);
  tr_case("bad config bytes");
  TF_SetConfig(o, "\xff\xff", 2, st);
  tr_status("set", st);
  TF_SetConfig(o, "", 0, st);
  tr_status("empty", st);
  tr_case("bad target");
  TF_SetTarget(o, "nonsense://x");
  TF_Session *bad = TF_NewSession(g, o, st);
  tr_status("new", st);
  printf("null %d\n", bad == NULL);
  TF_SetTarget(o, "local");
  bad = TF_NewSession(g, o, st);
  tr_status("local", st);
  if (bad) TF_DeleteSession(bad, st);
  TF_DeleteSessionOptions(o);
  TF_DeleteGraph(g);

  placement("/device:CPU:0", false, 0);
  placement("/cpu:0", false, 0);
  placement("/job:localhost/replica:0/task:0/device:CPU:1", false, 2);
  placement("/device:CPU:1", false, 1);
  placement("/device:CPU:1", true, 1);
  placement("/device:GPU:0", false, 0);
  placement("/device:GPU:0", true, 0);
  placement("/gpu:0", false, 0);
  placement("/device:CPU:*", false, 2);
  placement("/job:other", false, 0);
  placement("/job:other", true, 0);
  placement("nonsense", false, 0);
  placement("/device:FOO:0", true, 0);

  tr_case("colocation conflict");
  g = TF_NewGraph();
  TF_Operation *c = tg_cf(g, 1, "c");
  TF_Operation *a = on(g, "/device:CPU:0", "Neg", "a", c);
  TF_OperationDescription *d = tg_desc(g, "Neg", "b", 1, c);
  TF_SetDevice(d, "/device:CPU:1");
  TF_ColocateWith(d, a);
  TF_Operation *b = tg_finish(d);
  s = with(g, "hard", config(2, false));
  tg_fetch(s, "run", b);
  tg_close(s);
  s = with(g, "soft", config(2, true));
  tg_fetch(s, "run", b);
  tg_close(s);
  TF_DeleteGraph(g);

  tr_case("across two devices, partition graphs and trace");
  g = TF_NewGraph();
  TF_Operation *p = tg_ph(g, TF_FLOAT, "p", NULL, -1);
  a = on(g, "/device:CPU:0", "Neg", "a", p);
  b = on(g, "/device:CPU:1", "Square", "b", a);
  TF_Operation *b2 = on(g, "/device:CPU:1", "Exp", "b2", a);
  d = tg_desc(g, "AddV2", "sum", 2, b, b2);
  TF_SetDevice(d, "/device:CPU:0");
  TF_Operation *sum = tg_finish(d);
  tr_pb cfg = config(2, false), go = {0}, rw = {0};
  tr_pb_int(&rw, 19, 1); /* RewriterConfig.disable_meta_optimizer */
  tr_pb_msg(&go, 10, &rw);
  tr_pb_msg(&cfg, 10, &go);
  s = with(g, "session", cfg);
  tr_pb ro = {0};
  tr_pb_int(&ro, 1, 3); /* trace_level FULL_TRACE */
  tr_pb_int(&ro, 5, 1); /* output_partition_graphs */
  TF_Buffer *rob = TF_NewBufferFromString(ro.data, ro.len);
  TF_Buffer *meta = TF_NewBuffer();
  TF_Output in = tg_out(p, 0), out = tg_out(sum, 0);
  TF_Tensor *iv = tr_f32(0), *ov = NULL;
  TF_SessionRun(s, rob, &in, &iv, 1, &out, &ov, 1, NULL, 0, meta, st);
  tr_status("run", st);
  tr_show_free("sum", ov);
  puts("partition graphs:");
  partitions(meta);
  puts("traced:");
  traced(meta);
  TF_DeleteBuffer(meta);
  TF_DeleteBuffer(rob);
  tr_case("run options: bad bytes and non-empty metadata");
  rob = TF_NewBufferFromString("\xff\xff", 2);
  TF_SessionRun(s, rob, &in, &iv, 1, &out, &ov, 1, NULL, 0, NULL, st);
  tr_status("bad options", st);
  TF_DeleteBuffer(rob);
  meta = TF_NewBufferFromString("x", 1);
  TF_SessionRun(s, NULL, &in, &iv, 1, &out, &ov, 1, NULL, 0, meta, st);
  tr_status("metadata not empty", st);
  TF_DeleteBuffer(meta);
  TF_DeleteTensor(iv);
  tr_pb_free(&ro);
  tg_close(s);
  TF_DeleteGraph(g);
  tg_end();
  return 0;
}
