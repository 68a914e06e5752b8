/* TF_GetRegisteredKernelsForOp and TF_GetAllRegisteredKernels: for ops whose CPU kernels are all of TensorFlow's, the
 * types; for every op, that the two agree. Also versions, data types of attributes by builder, device names. */
#include "eager_common.h"

static int by_text(const void *a, const void *b) {
  return strcmp(*(char *const *)a, *(char *const *)b);
}

/* "T=1 Tidx=3" of the CPU kernels, sorted; devices other than the CPU left out. */
static void kernels(const char *op) {
  TF_Buffer *b = TF_GetRegisteredKernelsForOp(op, S);
  ec_st(op);
  const unsigned char *p = b->data, *end = p + b->length;
  tr_field f;
  char *line[512];
  int n = 0;
  while (tr_next(&p, end, &f)) {
    tr_field dev = tr_get(f.p, f.n, 2), name = tr_get(f.p, f.n, 1), label = tr_get(f.p, f.n, 5);
    if (dev.n != 3 || memcmp(dev.p, "CPU", 3) != 0 || n == 512 || label.n) continue;
    char text[512];
    size_t at = (size_t)snprintf(text, sizeof text, "%.*s", (int)name.n, (const char *)name.p);
    const unsigned char *q = f.p, *qe = f.p + f.n;
    tr_field c;
    while (tr_next(&q, qe, &c)) {
      if (c.num != 3) continue;
      tr_field an = tr_get(c.p, c.n, 1), av = tr_get(c.p, c.n, 2), list = tr_get(av.p, av.n, 1);
      at += (size_t)snprintf(text + at, sizeof text - at, " %.*s=", (int)an.n, (const char *)an.p);
      const unsigned char *r = list.p, *re = list.p + list.n;
      tr_field t;
      while (list.p && tr_next(&r, re, &t)) {
        if (t.num == 6 && t.wire == 2)
          for (size_t k = 0; k < t.n; ++k)
            at += (size_t)snprintf(text + at, sizeof text - at, "%d,", t.p[k]);
        else if (t.num == 6)
          at += (size_t)snprintf(text + at, sizeof text - at, "%d,", (int)t.v);
      }
    }
    line[n++] = strdup(text);
  }
  qsort(line, (size_t)n, sizeof *line, by_text);
  for (int i = 0; i < n; ++i) {
    printf("  %s\n", line[i]);
    free(line[i]);
  }
  TF_DeleteBuffer(b);
}

int main(void) {
  ec_open();
  tr_case("kernels of an op");
  static const char *const ops[] = {"Neg",  "Softmax",     "LogicalAnd", "Relu",   "BatchMatMulV2",
                                    "Tanh", "Cholesky",    "Select",     "Cumsum", "NoSuchOp",
                                    "",     "Placeholder", "Assert",     "Sigmoid"};
  for (size_t i = 0; i < sizeof ops / sizeof ops[0]; ++i) kernels(ops[i]);
  tr_case("all kernels");
  TF_Buffer *all = TF_GetAllRegisteredKernels(S);
  ec_st("all");
  int neg = 0;
  const unsigned char *p = all->data, *end = p + all->length;
  tr_field f;
  while (tr_next(&p, end, &f)) {
    tr_field name = tr_get(f.p, f.n, 1), dev = tr_get(f.p, f.n, 2);
    if (name.n == 3 && memcmp(name.p, "Neg", 3) == 0 && dev.n == 3 && memcmp(dev.p, "CPU", 3) == 0)
      ++neg;
  }
  printf("of Neg on the CPU: %d\n", neg);
  TF_DeleteBuffer(all);
  tr_case("attribute builders");
  static const char *const names[] = {"Neg", "MatMul", "NoSuchOp", "Cholesky"};
  for (size_t i = 0; i < sizeof names / sizeof names[0]; ++i)
    for (int t = 0; t < 3; ++t) {
      static const TF_DataType types[] = {TF_FLOAT, TF_STRING, TF_INT32};
      static const char *const devices[] = {"CPU", "GPU", "TPU"};
      TF_AttrBuilder *b = TF_NewAttrBuilder(names[i]);
      TF_AttrBuilderSetType(b, "T", types[t]);
      TF_AttrBuilderCheckCanRunOnDevice(b, t == 2 ? devices[0] : devices[t], S);
      printf("%s %s %s ", names[i], tr_dtype_name((int)types[t]), t == 2 ? devices[0] : devices[t]);
      printf("%s\n", tr_code_name(TF_GetCode(S)));
      TF_SetStatus(S, TF_OK, "");
      TF_DeleteAttrBuilder(b);
    }
  tr_case("facts");
  printf("Neg %d Assert %d\n", TF_OpIsStateful("Neg", S), TF_OpIsStateful("Assert", S));
  ec_st("stateful");
  TF_OpIsStateful("NoSuchOp", S);
  ec_st("stateful of nothing");
  printf("version 2: %d\n", strncmp(TF_Version(), "2.", 2) == 0);
  return ec_close();
}
