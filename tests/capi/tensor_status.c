/* TF_Status (codes, messages, payloads, errno mapping) and TF_Buffer. */
#include <errno.h>

#include "transcript.h"

typedef struct kv {
  char text[8][128];
  int n;
} kv;

static void collect(const char *key, const char *value, void *arg) {
  kv *k = (kv *)arg;
  if (k->n < 8) snprintf(k->text[k->n++], 128, "%s=%s", key, value);
}
static int cmp(const void *a, const void *b) {
  return strcmp((const char *)a, (const char *)b);
}
static void payloads(const TF_Status *s) {
  kv k;
  memset(&k, 0, sizeof k);
  TF_ForEachPayload(s, collect, &k);
  qsort(k.text, (size_t)k.n, sizeof k.text[0], cmp);
  printf("payloads %d\n", k.n);
  for (int i = 0; i < k.n; ++i) printf("  %s\n", k.text[i]);
}

static int freed;
static void drop(void *data, size_t n) {
  ++freed;
  printf("deallocator: %zu bytes\n", n);
  free(data);
}

int main(void) {
  TF_Status *s = TF_NewStatus();
  tr_case("new status");
  tr_status("s", s);
  payloads(s);

  tr_case("every code");
  for (int c = 0; c <= 16; ++c) {
    TF_SetStatus(s, (TF_Code)c, "some words");
    printf("%d ", (int)TF_GetCode(s));
    tr_status("s", s);
  }

  tr_case("long message and embedded newline");
  char big[600];
  memset(big, 'q', sizeof big);
  big[100] = '\n';
  big[599] = 0;
  TF_SetStatus(s, TF_UNKNOWN, big);
  printf("length %zu\n", strlen(TF_Message(s)));

  tr_case("set OK with message");
  TF_SetStatus(s, TF_OK, "ignored");
  tr_status("s", s);

  tr_case("payload on OK status");
  TF_SetPayload(s, "key", "value");
  payloads(s);

  tr_case("payloads");
  TF_SetStatus(s, TF_INTERNAL, "bad");
  TF_SetPayload(s, "b", "2");
  TF_SetPayload(s, "a", "1");
  TF_SetPayload(s, "c", "");
  payloads(s);
  TF_SetPayload(s, "a", "replaced");
  payloads(s);
  tr_status("s", s);

  tr_case("set status clears payloads");
  TF_SetStatus(s, TF_ABORTED, "again");
  payloads(s);

  tr_case("io errors");
  static const struct {
    const char *name;
    int code;
  } e[] = {{"0", 0},
           {"EINVAL", EINVAL},
           {"ENAMETOOLONG", ENAMETOOLONG},
           {"E2BIG", E2BIG},
           {"EDESTADDRREQ", EDESTADDRREQ},
           {"EDOM", EDOM},
           {"EFAULT", EFAULT},
           {"EILSEQ", EILSEQ},
           {"ENOPROTOOPT", ENOPROTOOPT},
           {"ENOSTR", ENOSTR},
           {"ENOTSOCK", ENOTSOCK},
           {"ENOTTY", ENOTTY},
           {"EPROTOTYPE", EPROTOTYPE},
           {"ESPIPE", ESPIPE},
           {"ETIMEDOUT", ETIMEDOUT},
           {"ETIME", ETIME},
           {"ENODEV", ENODEV},
           {"ENOENT", ENOENT},
           {"ENXIO", ENXIO},
           {"ESRCH", ESRCH},
           {"EEXIST", EEXIST},
           {"EADDRNOTAVAIL", EADDRNOTAVAIL},
           {"EALREADY", EALREADY},
           {"EPERM", EPERM},
           {"EACCES", EACCES},
           {"EROFS", EROFS},
           {"ENOTEMPTY", ENOTEMPTY},
           {"EISDIR", EISDIR},
           {"ENOTDIR", ENOTDIR},
           {"EADDRINUSE", EADDRINUSE},
           {"EBADF", EBADF},
           {"EBUSY", EBUSY},
           {"ECHILD", ECHILD},
           {"EISCONN", EISCONN},
           {"ENOTBLK", ENOTBLK},
           {"ENOTCONN", ENOTCONN},
           {"EPIPE", EPIPE},
           {"ETXTBSY", ETXTBSY},
           {"ENOSPC", ENOSPC},
           {"EDQUOT", EDQUOT},
           {"EMFILE", EMFILE},
           {"EMLINK", EMLINK},
           {"ENFILE", ENFILE},
           {"ENOBUFS", ENOBUFS},
           {"ENODATA", ENODATA},
           {"ENOMEM", ENOMEM},
           {"ENOSR", ENOSR},
           {"EUSERS", EUSERS},
           {"EFBIG", EFBIG},
           {"EOVERFLOW", EOVERFLOW},
           {"ERANGE", ERANGE},
           {"ENOPKG", ENOPKG},
           {"ENOSYS", ENOSYS},
           {"ENOTSUP", ENOTSUP},
           {"EAFNOSUPPORT", EAFNOSUPPORT},
           {"EPFNOSUPPORT", EPFNOSUPPORT},
           {"EPROTONOSUPPORT", EPROTONOSUPPORT},
           {"ESOCKTNOSUPPORT", ESOCKTNOSUPPORT},
           {"EXDEV", EXDEV},
           {"EAGAIN", EAGAIN},
           {"ECONNREFUSED", ECONNREFUSED},
           {"ECONNABORTED", ECONNABORTED},
           {"ECONNRESET", ECONNRESET},
           {"EINTR", EINTR},
           {"EHOSTDOWN", EHOSTDOWN},
           {"EHOSTUNREACH", EHOSTUNREACH},
           {"ENETDOWN", ENETDOWN},
           {"ENETRESET", ENETRESET},
           {"ENETUNREACH", ENETUNREACH},
           {"ENOLCK", ENOLCK},
           {"ENOLINK", ENOLINK},
           {"EDEADLK", EDEADLK},
           {"ESTALE", ESTALE},
           {"ECANCELED", ECANCELED},
           {"EBADMSG", EBADMSG},
           {"EIDRM", EIDRM},
           {"EINPROGRESS", EINPROGRESS},
           {"ELOOP", ELOOP},
           {"ENOEXEC", ENOEXEC},
           {"ENOMSG", ENOMSG},
           {"EPROTO", EPROTO},
           {"EREMOTE", EREMOTE},
           {"EIO", EIO},
           {"99999", 99999}};
  for (size_t i = 0; i < sizeof e / sizeof e[0]; ++i) {
    TF_SetStatusFromIOError(s, e[i].code, "ctx");
    tr_status(e[i].name, s);
  }
  TF_DeleteStatus(s);

  tr_case("buffer new");
  TF_Buffer *b = TF_NewBuffer();
  printf("data %d length %zu deallocator %d\n", b->data != NULL, b->length,
         b->data_deallocator != NULL);
  TF_DeleteBuffer(b);

  tr_case("buffer from string");
  char src[6] = "hello";
  b = TF_NewBufferFromString(src, 5);
  printf("length %zu copied %d deallocator %d\n", b->length, b->data != (void *)src,
         b->data_deallocator != NULL);
  src[0] = 'J';
  printf("%.5s\n", (const char *)b->data);
  TF_Buffer v = TF_GetBuffer(b);
  printf("get: same data %d length %zu\n", v.data == b->data, v.length);
  TF_DeleteBuffer(b);
  b = TF_NewBufferFromString("", 0);
  printf("empty length %zu\n", b->length);
  TF_DeleteBuffer(b);

  tr_case("buffer with own deallocator");
  b = TF_NewBuffer();
  b->data = malloc(11);
  b->length = 11;
  b->data_deallocator = drop;
  TF_DeleteBuffer(b);
  printf("freed %d\n", freed);

  tr_case("delete null");
  TF_DeleteBuffer(NULL);
  TF_DeleteTensor(NULL);
  puts("fine");
  return 0;
}
