/* RunOptions and RunMetadata, field by field: what a session accepts, refuses and fills in. */
#include "tensorflow/c/c_api_experimental.h"
#include "transcript_graph.h"

/* Which fields of a RunMetadata are there. */
static void metadata(const TF_Buffer *m) {
  const unsigned char *p = m->data, *end = p + m->length;
  int seen[8] = {0};
  tr_field f;
  while (tr_next(&p, end, &f))
    if (f.num < 8) seen[f.num]++;
  printf(
      "  step_stats %d cost_graph %d partition_graphs %d function_graphs %d session_metadata %d\n",
      seen[1], seen[2], seen[3], seen[4], seen[5]);
}

static void run(TF_Session *s, const char *what, tr_pb *o, TF_Operation *p, TF_Operation *out) {
  TF_Buffer *b = TF_NewBufferFromString(o->data, o->len), *m = TF_NewBuffer();
  TF_Output in = tg_out(p, 0), fetch = tg_out(out, 0);
  TF_Tensor *v = tr_f32(2), *r = NULL;
  TF_SessionRun(s, b, &in, &v, 1, &fetch, &r, 1, NULL, 0, m, st);
  if (tr_status(what, st)) {
    tr_show_free("  out", r);
    metadata(m);
  }
  TF_DeleteTensor(v);
  TF_DeleteBuffer(b);
  TF_DeleteBuffer(m);
  tr_pb_free(o);
}

static tr_pb one(int field, int64_t v) {
  tr_pb b = {0};
  tr_pb_int(&b, field, v);
  return b;
}

int main(void) {
  tg_begin();
  TF_Graph *g = TF_NewGraph();
  TF_Operation *p = tg_ph(g, TF_FLOAT, "p", NULL, -2);
  TF_Operation *neg = tg_op(g, "Neg", "neg", 1, p), *sq = tg_op(g, "Square", "sq", 1, neg);
  TF_Session *s = tg_session(g);
  tr_pb o = {0};
  tr_case("nothing");
  run(s, "no bytes", &o, p, sq);
  tr_case("trace_level");
  for (int i = 0; i <= 4; i++) {
    o = one(1, i);
    run(s, "level", &o, p, sq);
  }
  tr_case("timeout_in_ms");
  o = one(2, -5);
  run(s, "negative", &o, p, sq);
  o = one(2, 60000);
  run(s, "a minute", &o, p, sq);
  tr_case("inter_op_thread_pool");
  for (int i = -2; i <= 2; i++) {
    o = one(3, i);
    run(s, "pool", &o, p, sq);
  }
  tr_case("output_partition_graphs");
  o = one(5, 1);
  run(s, "yes", &o, p, sq);
  tr_pb_int(&o, 5, 1);
  tr_pb_int(&o, 1, 3);
  run(s, "with a trace", &o, p, sq);
  tr_case("others");
  tr_pb exp = {0};
  o = one(7, 1);
  run(s, "report_tensor_allocations_upon_oom", &o, p, sq);
  tr_pb_int(&exp, 1, 77);
  tr_pb_int(&exp, 2, 1);
  tr_pb_msg(&o, 8, &exp);
  run(s, "experimental", &o, p, sq);
  o = one(99, 5);
  run(s, "unknown field", &o, p, sq);
  tr_pb_raw(&o, "\x08", 1);
  run(s, "cut short", &o, p, sq);
  tr_case("metadata that is not asked for");
  TF_Buffer *full = TF_NewBufferFromString("abc", 3);
  TF_Output fetch = tg_out(sq, 0), in = tg_out(p, 0);
  TF_Tensor *v = tr_f32(3), *r = NULL;
  TF_SessionRun(s, NULL, &in, &v, 1, &fetch, &r, 1, NULL, 0, full, st);
  tr_status("a buffer that is not empty", st);
  printf("  bytes %zu\n", full->length);
  TF_DeleteBuffer(full);
  TF_Buffer *m = TF_NewBuffer();
  if (r) TF_DeleteTensor(r);
  r = NULL;
  TF_SessionRun(s, NULL, &in, &v, 1, &fetch, &r, 1, NULL, 0, m, st);
  tr_status("no options, metadata", st);
  printf("  bytes %zu\n", m->length);
  if (r) TF_DeleteTensor(r);
  TF_DeleteTensor(v);
  TF_DeleteBuffer(m);
  tr_case("helpers");
  for (int i = 0; i < 2; i++) {
    TF_Buffer *b = TF_CreateRunOptions((unsigned char)i);
    printf("%d:", i);
    for (size_t k = 0; k < b->length; k++) printf(" %02x", ((const unsigned char *)b->data)[k]);
    printf("\n");
    TF_DeleteBuffer(b);
  }
  tg_close(s);
  TF_DeleteGraph(g);
  tg_end();
  return 0;
}
