/* TF_TensorFromProto: every type from its own list and from bytes, too few and too many values, fields of
   another type, shapes that do not fit, and messages that are broken; the same as an attribute of a Const. */
#include "transcript_graph.h"

static void shape(tr_pb *t, int nd, const int64_t *d) {
  tr_pb s = {0};
  for (int i = 0; i < nd; i++) {
    tr_pb dim = {0};
    tr_pb_int(&dim, 1, d[i]);
    tr_pb_msg(&s, 2, &dim);
  }
  tr_pb_msg(t, 2, &s);
}
static tr_pb start(int dtype, int64_t n) {
  tr_pb t = {0};
  tr_pb_int(&t, 1, dtype);
  shape(&t, 1, &n);
  return t;
}
static void use(const char *what, tr_pb *t, bool attribute) {
  TF_Tensor *r = TF_AllocateTensor(TF_FLOAT, NULL, 0, 4);
  TF_Buffer b = {t->data, t->len, NULL};
  TF_TensorFromProto(&b, r, st);
  bool good = tr_status(what, st);
  if (good) tr_show("  from proto", r);
  TF_DataType type = TF_TensorType(r);
  TF_DeleteTensor(r);
  if (!good || !attribute) {
    tr_pb_free(t);
    return;
  }
  tr_pb v = {0};
  tr_pb_bytes(&v, 8, t->data, t->len);
  TF_Graph *g = TF_NewGraph();
  TF_OperationDescription *d = TF_NewOperation(g, "Const", "c");
  TF_SetAttrValueProto(d, "value", v.data, v.len, st);
  if (tr_status("  attribute", st)) {
    TF_SetAttrType(d, "dtype", type);
    TF_Operation *c = TF_FinishOperation(d, st);
    if (tr_status("  const", st)) {
      tg_shape(g, "  ", tg_out(c, 0));
      TF_Session *s = tg_session(g);
      tg_fetch(s, "  run", c);
      tg_close(s);
    }
  }
  TF_DeleteGraph(g);
  tr_pb_free(&v);
  tr_pb_free(t);
}

int main(void) {
  tg_begin();
  /* type and the field of its values */
  static const int kinds[][2] = {{1, 5},   {2, 6},   {3, 7},   {4, 7},   {5, 7},  {6, 7},
                                 {8, 9},   {9, 10},  {10, 11}, {14, 13}, {17, 7}, {18, 12},
                                 {19, 13}, {22, 16}, {23, 17}, {7, 8}};
  tr_case("own lists: three of three, one for all, two of three, four of three, none");
  static const int counts[] = {3, 1, 2, 4, 0};
  for (size_t k = 0; k < sizeof kinds / sizeof *kinds; k++) {
    for (int c = 0; c < 5; c++) {
      tr_pb t = start(kinds[k][0], 3);
      for (int i = 0; i < counts[c] * (kinds[k][1] == 9 || kinds[k][1] == 12 ? 2 : 1); i++) {
        if (kinds[k][1] == 5 || kinds[k][1] == 9)
          tr_pb_f32(&t, kinds[k][1], (float)i + 0.5f);
        else if (kinds[k][1] == 6 || kinds[k][1] == 12)
          tr_pb_f64(&t, kinds[k][1], i + 0.25);
        else if (kinds[k][1] == 8)
          tr_pb_str(&t, 8, i == 1 ? "a string too long to be kept inside" : "s");
        else
          tr_pb_int(&t, kinds[k][1], i + 1);
      }
      use(tr_dtype_name(kinds[k][0]), &t, true);
    }
  }
  tr_case("bytes");
  tr_pb t = start(1, 2);
  tr_pb_bytes(&t, 4, "\0\0\x80\x3f\0\0\0\x40", 8);
  use("two floats", &t, true);
  t = start(1, 2);
  tr_pb_bytes(&t, 4, "\0\0\x80\x3f", 4);
  use("one of two", &t, true);
  t = start(1, 2);
  tr_pb_bytes(&t, 4, "\0\0\x80\x3f\0\0\0\x40\0", 9);
  use("a byte too many", &t, true);
  t = start(1, 2);
  tr_pb_bytes(&t, 4, "\0\0\x80\x3f\0\0\0\x40", 8);
  tr_pb_f32(&t, 5, 9);
  use("bytes and values", &t, true);
  t = start(7, 2);
  tr_pb_bytes(&t, 4,
              "\x01\x02"
              "abc",
              5);
  use("strings as bytes", &t, true);
  t = start(7, 2);
  tr_pb_bytes(&t, 4,
              "\x01\x09"
              "abc",
              5);
  use("strings that run over", &t, true);
  tr_case("types");
  static const int odd[] = {0, 11, 12, 13, 15, 16, 24, 25, 29, 30, 101, 99, -1};
  for (size_t k = 0; k < sizeof odd / sizeof *odd; k++) {
    t = start(odd[k], 1);
    tr_pb_int(&t, 7, 3);
    use(tr_dtype_name(odd[k]), &t, true);
  }
  t = start(1, 2);
  tr_pb_int(&t, 7, 3);
  use("integers for floats", &t, true);
  tr_case("shapes");
  int64_t big[2] = {1LL << 40, 1LL << 40}, minus[1] = {-1};
  tr_pb_int(&t, 1, 1);
  shape(&t, 2, big);
  use("too large", &t, true);
  tr_pb_int(&t, 1, 1);
  shape(&t, 1, minus);
  use("not known", &t, true);
  tr_pb s = {0};
  tr_pb_int(&s, 3, 1);
  tr_pb_int(&t, 1, 1);
  tr_pb_msg(&t, 2, &s);
  use("unknown rank", &t, false);
  tr_pb_int(&t, 1, 3);
  tr_pb_int(&t, 7, 8);
  use("no shape at all", &t, true);
  tr_case("broken");
  tr_pb_int(&t, 1, 1);
  tr_pb_raw(&t, "\x12\x09\x01", 3);
  use("cut short", &t, true);
  tg_end();
  return 0;
}
