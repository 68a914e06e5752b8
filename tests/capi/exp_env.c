/* env.h: files, directories, time, threads, shared libraries. */
#include "eager_common.h"
#include "tensorflow/c/env.h"

static int cmp(const void *a, const void *b) {
  return strcmp(*(const char *const *)a, *(const char *const *)b);
}

static void children(const char *dir) {
  TF_StringStream *l = TF_GetChildren(dir, S);
  printf("[%s] ", dir);
  if (!ec_st("children")) {
    printf("stream %s\n", l ? "not null" : "null");
    if (l) TF_StringStreamDone(l);
    return;
  }
  char *names[32];
  int n = 0;
  const char *s;
  while (TF_StringStreamNext(l, &s) && n < 32) {
    names[n] = malloc(strlen(s) + 1);
    strcpy(names[n++], s);
  }
  TF_StringStreamDone(l);
  qsort(names, (size_t)n, sizeof *names, cmp);
  printf("  %d:", n);
  for (int i = 0; i < n; i++) {
    printf(" %s", names[i]);
    free(names[i]);
  }
  printf("\n");
}

static void stat_of(const char *f) {
  TF_FileStatistics st = {-1, -1, 0};
  TF_FileStat(f, &st, S);
  printf("[%s] ", f);
  if (!ec_st("stat")) return;
  if (st.is_directory)
    printf("  directory, mtime known %d\n", st.mtime_nsec > 0);
  else
    printf("  length %" PRId64 " directory 0 mtime known %d\n", st.length, st.mtime_nsec > 0);
}

static void put(const char *f, const char *text) {
  TF_WritableFileHandle *h = NULL;
  TF_NewWritableFile(f, &h, S);
  printf("[%s] ", f);
  if (!ec_st("new writable")) return;
  TF_AppendWritableFile(h, text, strlen(text), S);
  ec_st("  append");
  TF_FlushWritableFile(h, S);
  ec_st("  flush");
  TF_SyncWritableFile(h, S);
  ec_st("  sync");
  TF_CloseWritableFile(h, S);
  ec_st("  close");
}

static int ran;
static void work(void *p) {
  ran += *(int *)p;
}

int main(void) {
  ec_open();
  /* Everything happens under one relative directory of the current one. */
  int64_t nf = -1, nd = -1;
  TF_DeleteRecursively("exp_env_tmp", &nf, &nd, S);
  TF_SetStatus(S, TF_OK, "");

  tr_case("directories");
  TF_CreateDir("exp_env_tmp", S);
  ec_st("create");
  TF_CreateDir("exp_env_tmp", S);
  ec_st("create again");
  TF_CreateDir("exp_env_tmp/a/b", S);
  ec_st("create without parent");
  TF_CreateDir("exp_env_tmp/sub", S);
  ec_st("create sub");
  stat_of("exp_env_tmp");

  tr_case("files");
  put("exp_env_tmp/one", "hello");
  put("exp_env_tmp/sub/two", "");
  put("exp_env_tmp/one", "shorter!");
  put("exp_env_tmp/none/x", "x");
  stat_of("exp_env_tmp/one");
  stat_of("exp_env_tmp/sub/two");
  stat_of("exp_env_tmp/absent");
  children("exp_env_tmp");
  children("exp_env_tmp/sub");
  children("exp_env_tmp/absent");
  children("exp_env_tmp/one");

  tr_case("delete");
  TF_DeleteFile("exp_env_tmp/absent", S);
  ec_st("delete absent file");
  TF_DeleteFile("exp_env_tmp/sub", S);
  ec_st("delete a directory as a file");
  TF_DeleteDir("exp_env_tmp/sub", S);
  ec_st("delete a full directory");
  TF_DeleteFile("exp_env_tmp/sub/two", S);
  ec_st("delete file");
  TF_DeleteDir("exp_env_tmp/sub", S);
  ec_st("delete empty directory");
  TF_DeleteDir("exp_env_tmp/sub", S);
  ec_st("delete absent directory");
  nf = nd = -1;
  TF_DeleteRecursively("exp_env_tmp", &nf, &nd, S);
  ec_st("delete recursively");
  printf("undeleted %" PRId64 " %" PRId64 "\n", nf, nd);
  nf = nd = -1;
  TF_DeleteRecursively("exp_env_tmp", &nf, &nd, S);
  ec_st("again");
  printf("undeleted %" PRId64 " %" PRId64 "\n", nf, nd);

  tr_case("temporary names");
  TF_StringStream *l = TF_GetLocalTempDirectories();
  const char *s;
  int n = 0;
  while (TF_StringStreamNext(l, &s)) n++;
  TF_StringStreamDone(l);
  printf("temp directories > 0: %d\n", n > 0);
  char *a = TF_GetTempFileName(".ext");
  char *b = TF_GetTempFileName(".ext");
  printf("extension %d, differ %d\n", strstr(a, ".ext") != NULL, strcmp(a, b) != 0);
  TF_DeleteFile(a, S);
  TF_SetStatus(S, TF_OK, "");
  TF_DeleteFile(b, S);
  TF_SetStatus(S, TF_OK, "");
  free(a);
  free(b);

  tr_case("clock");
  uint64_t ns = TF_NowNanos(), us = TF_NowMicros(), sec = TF_NowSeconds();
  printf("agree %d\n", us >= ns / 1000 && us - ns / 1000 < 5000000 && sec >= ns / 1000000000 - 1 &&
                           sec - ns / 1000000000 < 5);

  tr_case("threads");
  TF_ThreadOptions o;
  memset(&o, 1, sizeof o);
  TF_DefaultThreadOptions(&o);
  printf("stack %zu guard %zu numa %d\n", o.stack_size, o.guard_size, o.numa_node);
  int add = 5;
  TF_Thread *t = TF_StartThread(&o, "worker", work, &add);
  TF_JoinThread(t);
  printf("ran %d\n", ran);

  tr_case("shared libraries");
  void *h = TF_LoadSharedLibrary("./no_such_library.so", S);
  ec_st("load missing");
  printf("handle %s\n", h ? "not null" : "null");
  h = TF_LoadSharedLibrary("libm.so.6", S);
  ec_st("load libm");
  if (h) {
    void *sym = TF_GetSymbolFromLibrary(h, "cos", S);
    ec_st("symbol");
    printf("found %d\n", sym != NULL);
    sym = TF_GetSymbolFromLibrary(h, "no_such_symbol", S);
    if (TF_GetCode(S) != TF_OK) {
      /* the loader's text holds the library's path */
      printf("missing symbol: %s, names the symbol %d, null %d\n", tr_code_name(TF_GetCode(S)),
             strstr(TF_Message(S), "undefined symbol: no_such_symbol") != NULL, sym == NULL);
    }
  }
  return ec_close();
}
