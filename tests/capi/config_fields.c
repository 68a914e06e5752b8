/* ConfigProto, field by field: which values a session accepts, what it says of the others, which devices it
   then has and whether it runs. */
#include "transcript_graph.h"

static TF_Graph *g;
static TF_Operation *sum;

static void try(const char *what, tr_pb *c) {
  TF_SessionOptions *o = TF_NewSessionOptions();
  TF_SetStatus(st, TF_OK, ""); /* TF_SetConfig sets it only on failure */
  TF_SetConfig(o, c->data, c->len, st);
  tr_pb_free(c);
  if (!tr_status(what, st)) {
    TF_DeleteSessionOptions(o);
    return;
  }
  TF_Session *s = TF_NewSession(g, o, st);
  TF_DeleteSessionOptions(o);
  if (!tr_status("  session", st)) return;
  TF_DeviceList *l = TF_SessionListDevices(s, st);
  printf("  devices %d", TF_DeviceListCount(l));
  for (int i = 0; i < TF_DeviceListCount(l); i++)
    printf(" %s %s %d", strrchr(TF_DeviceListName(l, i, st), '/'), TF_DeviceListType(l, i, st),
           TF_DeviceListMemoryBytes(l, i, st) == 268435456);
  printf("\n");
  TF_DeleteDeviceList(l);
  tg_fetch(s, "  run", sum);
  tg_close(s);
}
static void number(const char *what, int field, int64_t v) {
  tr_pb c = {0};
  tr_pb_int(&c, field, v);
  try(what, &c);
}
static void inner(const char *what, int field, tr_pb *m) {
  tr_pb c = {0};
  tr_pb_msg(&c, field, m);
  try(what, &c);
}
static void count(const char *type, int64_t n) {
  tr_pb e = {0};
  char what[64];
  tr_pb_str(&e, 1, type);
  tr_pb_int(&e, 2, n);
  snprintf(what, sizeof what, "device_count %s %d", type, (int)n);
  inner(what, 1, &e);
}

/* Two sessions of one name and version, at once and one after the other. */
static void twins(void) {
  tr_pb m = {0}, e = {0}, c = {0};
  TF_SessionOptions *o = TF_NewSessionOptions();
  TF_Session *s[4] = {NULL};
  tr_pb_str(&m, 1, "twin");
  tr_pb_int(&m, 2, 1);
  tr_pb_msg(&e, 11, &m);
  tr_pb_msg(&c, 16, &e);
  TF_SetConfig(o, c.data, c.len, st);
  for (int i = 0; i < 4; i++) {
    s[i] = TF_NewSession(g, o, st);
    tr_status("twin", st);
    if (i == 1) TF_CloseSession(s[0], st);
  }
  for (int i = 0; i < 4; i++)
    if (s[i]) TF_DeleteSession(s[i], st);
  tr_pb_free(&c);
  TF_DeleteSessionOptions(o);
}

int main(void) {
  tg_begin();
  g = TF_NewGraph();
  sum = tg_op(g, "AddV2", "sum", 2, tg_cf(g, 1, "a"), tg_cf(g, 2, "b"));
  tr_pb m = {0}, n = {0}, c = {0};
  tr_case("device_count");
  count("CPU", 1);
  count("CPU", 3);
  count("CPU", 0);
  count("CPU", -1);
  count("GPU", 0);
  count("GPU", 4);
  count("FOO", 2);
  count("", 2);
  tr_pb_str(&m, 1, "CPU");
  tr_pb_int(&m, 2, 2);
  tr_pb_msg(&c, 1, &m);
  tr_pb_str(&m, 1, "CPU");
  tr_pb_int(&m, 2, 4);
  tr_pb_msg(&c, 1, &m);
  try("the same key twice", &c);
  tr_case("threads");
  number("intra_op 1", 2, 1);
  number("intra_op -3", 2, -3);
  number("inter_op 1", 5, 1);
  number("inter_op -1", 5, -1);
  number("inter_op -7", 5, -7);
  number("use_per_session_threads", 9, 1);
  tr_pb_int(&m, 1, 2);
  inner("session_inter_op_thread_pool", 12, &m);
  tr_pb_int(&m, 1, 2);
  tr_pb_str(&m, 2, "mine");
  inner("a named pool", 12, &m);
  tr_pb_int(&m, 1, 3);
  tr_pb_str(&m, 2, "mine");
  inner("the same name, another size", 12, &m);
  tr_case("placement");
  number("allow_soft_placement", 7, 1);
  number("placement_period", 3, 5);
  tr_pb_str(&c, 4, "/device:CPU:0");
  try("device_filters", &c);
  tr_pb_str(&c, 4, "nonsense");
  try("a filter that is none", &c);
  tr_pb_str(&c, 4, "/job:ps");
  try("a filter of another job", &c);
  tr_case("gpu_options");
  tr_pb_f64(&m, 1, 2.0);
  inner("fraction 2", 6, &m);
  tr_pb_f64(&m, 1, -1.0);
  inner("fraction -1", 6, &m);
  tr_pb_str(&m, 2, "NoSuchAllocator");
  inner("allocator_type", 6, &m);
  tr_pb_int(&m, 4, 1);
  tr_pb_str(&m, 5, "7,8");
  inner("growth, visible devices", 6, &m);
  tr_case("graph_options");
  for (int level = -2; level <= 3; level++) {
    tr_pb_int(&n, 3, level);
    tr_pb_int(&n, 5, level);
    tr_pb_msg(&m, 3, &n);
    inner("opt_level", 10, &m);
  }
  tr_pb_int(&m, 2, 1);
  tr_pb_int(&m, 4, 3);
  tr_pb_int(&m, 5, 1);
  tr_pb_int(&m, 6, 1);
  tr_pb_int(&m, 7, 1);
  tr_pb_int(&m, 8, 9);
  inner("the rest", 10, &m);
  tr_pb_str(&n, 100, "no such optimizer");
  tr_pb_msg(&m, 10, &n);
  inner("an optimizer that is none", 10, &m);
  tr_pb_int(&n, 19, 1);
  tr_pb_msg(&m, 10, &n);
  inner("disable_meta_optimizer", 10, &m);
  tr_case("others");
  number("operation_timeout_in_ms", 11, 60000);
  number("isolate_session_state", 15, 1);
  number("share_cluster_devices_in_session", 17, 1);
  number("log_device_placement", 8, 0);
  tr_pb_int(&m, 1, 1);
  inner("rpc_options", 13, &m);
  inner("cluster_def", 14, &m);
  tr_pb_str(&m, 3, "no such executor");
  inner("experimental executor_type", 16, &m);
  tr_pb_str(&m, 3, "SINGLE_THREADED_EXECUTOR");
  inner("single threaded", 16, &m);
  tr_pb_int(&m, 5, 1);
  tr_pb_int(&m, 8, 1);
  inner("experimental others", 16, &m);
  tr_pb_str(&n, 1, "model");
  tr_pb_int(&n, 2, 7);
  tr_pb_msg(&m, 11, &n);
  inner("session_metadata", 16, &m);
  tr_pb_str(&n, 1, "");
  tr_pb_int(&n, 2, -7);
  tr_pb_msg(&m, 11, &n);
  inner("session_metadata without a name", 16, &m);
  number("an unknown field", 4095, 1);
  twins();
  tr_pb_raw(&c, "\x0a\x05", 2);
  try("cut short", &c);
  TF_DeleteGraph(g);
  tg_end();
  return 0;
}
