/* TF_TString and string tensors. */
#include "transcript.h"

static void facts(const char *what, const TF_TString *s) {
  static const char *const kinds[] = {"small", "large", "offset", "view"};
  printf("%s: type %s size %zu capacity %zu value \"", what, kinds[(int)TF_StringGetType(s) & 3],
         TF_StringGetSize(s), TF_StringGetCapacity(s));
  tr_escaped(TF_StringGetDataPointer(s), TF_StringGetSize(s));
  puts("\"");
}

int main(void) {
  static const char *const text = "the quick brown fox jumps over the lazy dog, twice";
  TF_TString s;
  printf("sizeof %zu\n", sizeof s);
  tr_case("init");
  TF_StringInit(&s);
  facts("empty", &s);
  TF_StringDealloc(&s);
  facts("after dealloc", &s);

  tr_case("copy at every size");
  for (size_t n = 0; n <= 40; ++n) {
    TF_StringInit(&s);
    TF_StringCopy(&s, text, n);
    facts("copy", &s);
    if (TF_StringGetDataPointer(&s)[n] != '\0') puts("not terminated");
    TF_StringDealloc(&s);
  }

  tr_case("copy over an existing value");
  TF_StringInit(&s);
  TF_StringCopy(&s, text, 50);
  facts("long", &s);
  TF_StringCopy(&s, "abc", 3);
  facts("then short", &s);
  TF_StringCopy(&s, text, 30);
  facts("then long", &s);
  TF_StringCopy(&s, "a\0b", 3);
  facts("embedded zero", &s);
  TF_StringDealloc(&s);
  facts("dealloc", &s);

  tr_case("view");
  TF_StringInit(&s);
  TF_StringAssignView(&s, text, 9);
  facts("view", &s);
  printf("points at source %d\n", TF_StringGetDataPointer(&s) == text);
  TF_StringCopy(&s, text, 9);
  facts("copied", &s);
  TF_StringAssignView(&s, text, 3);
  facts("short view", &s);
  TF_StringDealloc(&s);
  facts("dealloc", &s);

  tr_case("append");
  TF_TString_Init(&s);
  for (int i = 0; i < 6; ++i) {
    TF_TString_AppendN(&s, "0123456789", 10);
    facts("append 10", &s);
  }
  TF_TString_AppendN(&s, "xyz", 2);
  facts("append 2", &s);
  TF_TString_Dealloc(&s);
  TF_TString_Init(&s);
  TF_TString_AssignView(&s, text, 12);
  TF_TString_AppendN(&s, "!", 1);
  facts("append to view", &s);
  TF_TString_Dealloc(&s);

  tr_case("resize and reserve");
  TF_TString_Init(&s);
  TF_TString_Resize(&s, 5, 'a');
  facts("resize 5", &s);
  TF_TString_Resize(&s, 33, 'b');
  facts("resize 33", &s);
  TF_TString_Resize(&s, 3, 'c');
  facts("resize 3", &s);
  TF_TString_Reserve(&s, 100);
  facts("reserve 100", &s);
  TF_TString_Dealloc(&s);

  tr_case("move and assign");
  TF_TString a, b;
  TF_TString_Init(&a);
  TF_TString_Init(&b);
  TF_TString_Copy(&a, text, 40);
  TF_TString_Move(&b, &a);
  facts("from", &a);
  facts("to", &b);
  TF_TString_Assign(&a, &b);
  facts("assigned", &a);
  TF_TString_Dealloc(&a);
  TF_TString_Dealloc(&b);

  tr_case("string tensor");
  int64_t d[2] = {2, 2};
  static const char *const v[4] = {"", "short", "a string that needs the heap to live", "x\ny"};
  TF_Tensor *t = tr_strings(d, 2, v);
  printf("bytes %zu count %" PRId64 "\n", TF_TensorByteSize(t), TF_TensorElementCount(t));
  tr_show("t", t);
  TF_DeleteTensor(t);

  tr_case("fresh string tensor elements are empty");
  int64_t n = 3;
  t = TF_AllocateTensor(TF_STRING, &n, 1, 3 * sizeof(TF_TString));
  tr_show("t", t);
  TF_DeleteTensor(t);
  return 0;
}
