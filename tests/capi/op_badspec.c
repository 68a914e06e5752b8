/* Wrong operation definitions.  A bad definition aborts the process, except
   while a library is being loaded: there TF_LoadLibrary reports it.  So each
   case loads its own copy of a plug-in (plugin/op_badspec.c) that registers
   the op described by environment variables. */
#define _POSIX_C_SOURCE 200809L
#include <stdlib.h>

#include "eager_common.h"

static int count;
static void spec(const char *name, const char *attr, const char *in, const char *out) {
  char file[64];
  snprintf(file, sizeof file, "./op_badspec_%d.so", count++);
  ec_plugin("op_badspec.so", file);
  setenv("OP_NAME", name, 1);
  setenv("OP_ATTR", attr, 1);
  setenv("OP_IN", in, 1);
  setenv("OP_OUT", out, 1);
  printf("[%s] attr [%s] in [%s] out [%s]\n", name, attr, in, out);
  TF_Library *l = TF_LoadLibrary(file, S);
  int ok = TF_GetCode(S) == TF_OK;
  ec_st("  load");
  if (ok && l) {
    TF_Buffer b = TF_GetOpList(l);
    tr_dump("OpList", b.data, b.length, 4);
  } else {
    printf("  library %s\n", l ? "not null" : "null");
  }
  if (l) TF_DeleteLibraryHandle(l);
  unlink(file);
}

int main(void) {
  ec_open();
  /* Start the registries before any library is loaded. */
  TF_Buffer *b = TF_NewBuffer();
  TF_Graph *g = TF_NewGraph();
  TF_GraphGetOpDef(g, "NoOp", b, S);
  ec_must("registry");
  TF_DeleteBuffer(b);
  TF_DeleteGraph(g);

  tr_case("good");
  spec("FerryGood", "T: type", "x: T", "y: T");
  tr_case("the same again");
  spec("FerryGood", "T: type", "x: T", "y: T");
  tr_case("the same name, another definition");
  spec("FerryGood", "T: type", "x: T", "z: T");
  tr_case("names");
  spec("ferry_bad", "", "", "");
  spec("Ferry Bad", "", "", "");
  spec("1Ferry", "", "", "");
  spec("", "", "", "");
  tr_case("attrs");
  static const char *const attrs[] = {"T",
                                      "T type",
                                      ": type",
                                      "T: bogus",
                                      "T: list(bogus)",
                                      "T: list(int",
                                      "T: {",
                                      "T: {}",
                                      "T: {bogus}",
                                      "T: {'x', int32}",
                                      "T: {'x'",
                                      "T: int = x",
                                      "T: int = 1.5",
                                      "T: string = x",
                                      "T: bool = maybe",
                                      "T: type = float",
                                      "T: type = DT_BOGUS",
                                      "T: shape = bad",
                                      "T: int >= x",
                                      "T: int >=",
                                      "T: float >= 1",
                                      "T: string >= 1",
                                      "T: int = 1 junk",
                                      "T: int junk",
                                      "T: {int32} = DT_FLOAT",
                                      "T: int >= 3 = 2",
                                      "T: list(int) >= 2 = [1]",
                                      "T: {'a'} = 'b'",
                                      "_T: int",
                                      "t t: int",
                                      "T: int =",
                                      "T: list(int) = 3",
                                      "1T: int"};
  for (size_t i = 0; i < sizeof attrs / sizeof *attrs; i++) spec("FerryBad", attrs[i], "", "");
  tr_case("inputs");
  static const char *const ins[] = {"x",          "x float",      ": float",      "x:",
                                    "x: bogus",   "x: 3",         "x: N * float", "x: T",
                                    "x: T *",     "x: T * float", "x: Ref(float", "x: Ref()",
                                    "X: float",   "_x: float",    "x y: float",   "x: float junk",
                                    "x: float*T", "1x: float"};
  for (size_t i = 0; i < sizeof ins / sizeof *ins; i++) spec("FerryBad", "T: string", ins[i], "");
  tr_case("outputs");
  spec("FerryBad", "", "", "y");
  spec("FerryBad", "", "", "y: T");
  spec("FerryBad", "", "", "Y: float");
  tr_case("clashing names");
  spec("FerryBad", "x: type", "x: float", "");
  spec("FerryBad", "", "x: float", "x: float");
  tr_case("reserved words");
  spec("FerryBadWord", "", "while: float", "for: float");
  spec("FerryBad", "N: int", "x: N", "");
  spec("FerryListMin", "N: int", "x: N * float", "");
  return ec_close();
}
