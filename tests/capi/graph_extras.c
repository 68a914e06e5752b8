/* Functions of c_api.h and its experimental header that no other transcript calls: operations made and
   finished under the lock, full types, imports without serialization, switches of the graph. */
#include "tensorflow/c/c_api_experimental.h"
#include "transcript_graph.h"

int main(void) {
  tg_begin();
  tr_case("compilers that are not there");
  TF_SessionOptions *so = TF_NewSessionOptions();
  TF_EnableXLACompilation(so, 0);
  TF_EnableXLACompilation(so, 1);
  printf("xla folding disabled %d\n", TF_GetXlaConstantFoldingDisabled());
  TF_SetXlaConstantFoldingDisabled(1);
  printf("xla folding disabled %d\n", TF_GetXlaConstantFoldingDisabled());
  TF_SetXlaConstantFoldingDisabled(0);
  TF_SetXlaEnableLazyCompilation(1);
  TF_SetXlaMinClusterSize(4);
  printf("jit %d\n", TF_GetXlaAutoJitEnabled());
  TF_SetXlaAutoJitMode("off");
  TF_DeleteSessionOptions(so);
  tr_case("configurations");
  for (int bits = 0; bits < 8; ++bits) {
    TF_Buffer *b = TF_CreateConfig((unsigned char)(bits & 1), (unsigned char)(bits >> 1 & 1),
                                   (unsigned)(bits >> 2 & 1) + 1);
    printf("%d:", bits);
    for (size_t i = 0; i < b->length; ++i) printf(" %02x", ((const unsigned char *)b->data)[i]);
    putchar('\n');
    TF_Graph *g = TF_NewGraph();
    TF_Operation *c = tg_cf(g, (float)bits, "c");
    so = TF_NewSessionOptions();
    TF_SetConfig(so, b->data, b->length, st);
    tr_status("set", st);
    TF_Session *s = TF_NewSession(g, so, st);
    if (tr_status("session", st)) {
      tg_fetch(s, "run", tg_op(g, "Neg", "n", 1, c));
      TF_DeviceList *l = TF_SessionListDevices(s, st);
      printf("devices %d\n", TF_DeviceListCount(l));
      TF_DeleteDeviceList(l);
      tg_close(s);
    }
    TF_DeleteSessionOptions(so);
    TF_DeleteGraph(g);
    TF_DeleteBuffer(b);
  }
  tr_case("run options");
  for (int on = 0; on < 2; ++on) {
    TF_Buffer *b = TF_CreateRunOptions((unsigned char)on);
    for (size_t i = 0; i < b->length; ++i) printf(" %02x", ((const unsigned char *)b->data)[i]);
    puts(".");
    TF_DeleteBuffer(b);
  }
  tr_case("a session's devices by option");
  for (int i = 0; i < 6; ++i) {
    static const struct {
      const char *bytes;
      size_t n;
    } config[] = {{"", 0},
                  {"\x0a\x07\x0a\x03"
                   "CPU\x10\x03",
                   9},
                  {"\x0a\x07\x0a\x03"
                   "CPU\x10\x00",
                   9},
                  {"\x0a\x07\x0a\x03"
                   "GPU\x10\x02",
                   9},
                  {"\x10\x01\x28\x01", 4},
                  {"\xff\xff", 2}};
    so = TF_NewSessionOptions();
    TF_SetConfig(so, config[i].bytes, config[i].n, st);
    tr_status("set", st);
    TF_Graph *g = TF_NewGraph();
    TF_Session *s = TF_NewSession(g, so, st);
    if (tr_status("session", st)) {
      TF_DeviceList *l = TF_SessionListDevices(s, st);
      for (int k = 0; k < TF_DeviceListCount(l); ++k) {
        printf("  %s %s", TF_DeviceListName(l, k, st), TF_DeviceListType(l, k, st));
        printf(" memory %d incarnation %d\n", TF_DeviceListMemoryBytes(l, k, st) > 0,
               TF_DeviceListIncarnation(l, k, st) != 0);
      }
      static const int bad[] = {-1, 99};
      for (int k = 0; k < 2; ++k) {
        const char *name = TF_DeviceListName(l, bad[k], st);
        printf("  %d", name == NULL);
        tr_status(" name", st);
        TF_DeviceListType(l, bad[k], st);
        tr_status("  type", st);
        printf("  %d", (int)TF_DeviceListMemoryBytes(l, bad[k], st));
        tr_status(" memory", st);
        printf("  %d", (int)TF_DeviceListIncarnation(l, bad[k], st));
        tr_status(" incarnation", st);
      }
      TF_DeleteDeviceList(l);
      tg_close(s);
    }
    TF_DeleteGraph(g);
    TF_DeleteSessionOptions(so);
  }
  tr_case("targets of sessions");
  static const char *const targets[] = {"", "local", "grpc://localhost:1", "nonsense://x"};
  for (int i = 0; i < 4; ++i) {
    if (i == 2) continue;
    so = TF_NewSessionOptions();
    TF_SetTarget(so, targets[i]);
    TF_Graph *g = TF_NewGraph();
    TF_Session *s = TF_NewSession(g, so, st);
    tr_status(targets[i], st);
    if (s) tg_close(s);
    TF_SetStatus(st, TF_OK, "");
    TF_DeleteGraph(g);
    TF_DeleteSessionOptions(so);
  }
  tg_end();
  return 0;
}
