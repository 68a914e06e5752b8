/* What eager execution infers from inputs, and what it says when they do not fit: every kind of argument
   (T, N * T, list(type), fixed, ref) with too few, too many and mixed inputs. */
#include "eager_common.h"

static TFE_TensorHandle *of(int kind) {
  static const int64_t two = 2;
  static const float f[] = {1, 2};
  static const double d[] = {1, 2};
  static const int32_t i[] = {1, 0};
  static const int64_t l[] = {1, 0};
  switch (kind) {
    case 'f': return ec_h(ec_new(TF_FLOAT, 1, &two, f));
    case 'd': return ec_h(ec_new(TF_DOUBLE, 1, &two, d));
    case 'i': return ec_h(ec_new(TF_INT32, 1, &two, i));
    case 'l': return ec_h(ec_new(TF_INT64, 1, &two, l));
    case 'I': return ec_i0(0);
    case 'b': return ec_b0(1);
    case 's': return ec_h(tr_str("x"));
    default: return ec_f0(3);
  }
}

/* inputs: a letter each; "[..]" is one TFE_OpAddInputList. */
static void call(TFE_Context *c, const char *name, const char *inputs) {
  TFE_Op *op = TFE_NewOp(c, name, S);
  char label[96];
  snprintf(label, sizeof label, "%s(%s)", name, inputs);
  if (!op) {
    ec_st(label);
    return;
  }
  TFE_TensorHandle *made[16];
  int n = 0, list = -1;
  for (const char *p = inputs; *p; ++p) {
    if (*p == '[') {
      list = n;
    } else if (*p == ']') {
      TFE_OpAddInputList(op, made + list, n - list, S);
      if (TF_GetCode(S) != TF_OK) ec_st("  add list");
      list = -1;
    } else {
      made[n] = of(*p);
      if (list < 0) TFE_OpAddInput(op, made[n], S);
      if (TF_GetCode(S) != TF_OK) ec_st("  add");
      ++n;
    }
  }
  printf("  inputs %d\n", TFE_OpGetFlatInputCount(op, S));
  TF_SetStatus(S, TF_OK, "");
  ec_exec(label, op, 8);
  for (int i = 0; i < n; ++i) TFE_DeleteTensorHandle(made[i]);
}

int main(void) {
  ec_open();
  TFE_Context *c = ec_ctx();
  static const struct {
    const char *op, *tries[12];
  } all[] = {
      {"AddV2", {"", "f", "ff", "fd", "ss", "bb", "fI"}},
      {"Neg", {"", "f", "s", "b"}},
      {"Cast", {"", "f"}},
      {"ConcatV2", {"", "[ff]I", "ffI", "[fd]I", "[f]I", "[ff]f", "[ff]", "[fff]I"}},
      {"Pack", {"", "[ff]", "[f]", "ff", "[fi]", "f"}},
      {"AddN", {"", "[ff]", "[fd]", "ff", "[ss]"}},
      {"IdentityN", {"", "[fi]", "fi", "f"}},
      {"Select", {"b", "bff", "bfd", "fff"}},
      {"SelectV2", {"bf", "bff", "bfi"}},
      {"GatherV2", {"fiI", "flI", "ffI", "fi", "fif"}},
      {"Reshape", {"fi", "fl", "ff", "f", "fs"}},
      {"Sum", {"fI", "fi", "fl", "ff", "bI", "sI"}},
      {"MatMul", {"ff", "fd", "ii"}},
      {"Range", {"II", "III", "ffI", "xxx", "xxI"}},
      {"StringJoin", {"[ss]", "[sf]", "ss"}},
      {"Assert", {"b[f]", "f[f]", "b"}},
      {"Where", {"f", "b", "i", "s"}},
      {"ReadVariableOp", {"f", ""}},
      {"Variable", {""}},
      {"Assign", {"ff"}},
      {"Switch", {"fb", "ff"}},
      {"Placeholder", {""}},
      {"NoOp", {""}},
      {"Nonsense", {""}},
      {"_Arg", {""}},
      {"Case", {"I[f]"}},
      {"Einsum", {"[ff]"}},
      {"Bincount", {"iIf", "lIf", "iI"}},
      {"TensorArrayV3", {"I", "f"}},
      {"LookupTableFindV2", {"fff"}},
      {"DecodeCSV", {"s[f]", "s[sf]"}},
  };
  for (size_t k = 0; k < sizeof all / sizeof all[0]; ++k) {
    tr_case(all[k].op);
    for (int i = 0; i < 12 && all[k].tries[i]; ++i) call(c, all[k].op, all[k].tries[i]);
  }
  TFE_DeleteContext(c);
  return ec_close();
}
