// SPDX-License-Identifier: Apache-2.0
// model.c: loads a frozen graph, runs it, and says how long that took: model GRAPH.pb INPUT.npy
// BATCH SECONDS. One line: load, first, least and median milliseconds, resident MB, how far the
// result of batch 1 is from OUTPUT.npy if that is there. Only TensorFlow's C API: the same program
// runs on Ferry and on TensorFlow.

#include <fcntl.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <time.h>
#include <unistd.h>

#include "tensorflow/c/c_api.h"

static double now_ms(void) {
  struct timespec t;
  clock_gettime(CLOCK_MONOTONIC, &t);
  return (double)t.tv_sec * 1e3 + (double)t.tv_nsec * 1e-6;
}

static void die(const char *what) {
  fprintf(stderr, "model: %s\n", what);
  exit(1);
}

static char *read_file(const char *path, size_t *n) {
  FILE *f = fopen(path, "rb");
  if (!f) return NULL;
  fseek(f, 0, SEEK_END);
  *n = (size_t)ftell(f);
  rewind(f);
  char *data = malloc(*n + 1);
  if (!data || fread(data, 1, *n, f) != *n) die("cannot read a file");
  data[*n] = 0;
  fclose(f);
  return data;
}

typedef struct array {
  TF_DataType type;
  int rank;
  int64_t dims[8];
  size_t bytes;
  char *data, *file;
} array;

// Version 1 of .npy, little-endian, C order: what tools/make_models.py writes.
static int read_npy(const char *path, array *a) {
  size_t n;
  a->file = read_file(path, &n);
  if (!a->file) return 0;
  const size_t head =
      10 + (size_t)(unsigned char)a->file[8] + 256 * (size_t)(unsigned char)a->file[9];
  const char *descr = strstr(a->file + 10, "'descr': '"),
             *shape = strstr(a->file + 10, "'shape': (");
  if (!descr || !shape) die("not a .npy");
  a->type = descr[11] == 'f' ? TF_FLOAT : TF_INT32;
  a->rank = 0;
  for (char *p = (char *)(uintptr_t)shape + 10; *p && *p != ')';) {
    a->dims[a->rank++] = strtoll(p, &p, 10);
    while (*p == ',' || *p == ' ') p++;
  }
  a->data = a->file + head;
  a->bytes = n - head;
  return 1;
}

static void keep(void *data, size_t n, void *arg) {
  (void)data, (void)n, (void)arg;
}

static int by_time(const void *a, const void *b) {
  const double x = *(const double *)a, y = *(const double *)b;
  return (x > y) - (x < y);
}

// The file is mapped: copying it to memory of our own would be no library's work.
static TF_Session *load(const char *path, TF_Graph *g, TF_Status *s) {
  struct stat st;
  const int file = open(path, O_RDONLY);
  if (file < 0 || fstat(file, &st)) die("cannot open the graph");
  const size_t n = (size_t)st.st_size;
  void *bytes = mmap(NULL, n, PROT_READ, MAP_PRIVATE, file, 0);
  if (bytes == MAP_FAILED) die("cannot map the graph");
  TF_Buffer buffer = {bytes, n, NULL};
  TF_ImportGraphDefOptions *o = TF_NewImportGraphDefOptions();
  TF_GraphImportGraphDef(g, &buffer, o, s);
  TF_DeleteImportGraphDefOptions(o);
  munmap(bytes, n);
  close(file);
  if (TF_GetCode(s)) die(TF_Message(s));
  TF_SessionOptions *so = TF_NewSessionOptions();
  TF_Session *session = TF_NewSession(g, so, s);
  TF_DeleteSessionOptions(so);
  if (TF_GetCode(s)) die(TF_Message(s));
  return session;
}

static double resident_mb(void) {
  char line[256];
  long kb = 0;
  FILE *f = fopen("/proc/self/status", "r");
  while (f && fgets(line, sizeof line, f))
    if (sscanf(line, "VmRSS: %ld", &kb) == 1) break;
  if (f) fclose(f);
  return (double)kb / 1024;
}

int main(int argc, char **argv) {
  if (argc < 5) die("usage: model GRAPH.pb INPUT.npy BATCH SECONDS [OUTPUT.npy]");
  const int64_t batch = atoll(argv[3]);
  const double limit = atof(argv[4]) * 1e3;
  array x, want;
  if (!read_npy(argv[2], &x)) die("cannot open the input");
  const size_t bytes = x.bytes * (size_t)batch;
  char *data = malloc(bytes);
  if (!data) die("no memory");
  for (int64_t i = 0; i < batch; i++) memcpy(data + (size_t)i * x.bytes, x.data, x.bytes);
  x.dims[0] = batch;
  TF_Status *s = TF_NewStatus();
  TF_Graph *g = TF_NewGraph();
  const double start = now_ms();
  TF_Session *session = load(argv[1], g, s);
  const double loaded = now_ms();
  const TF_Output in = {TF_GraphOperationByName(g, "x"), 0};
  const TF_Output out = {TF_GraphOperationByName(g, "Identity"), 0};
  TF_Tensor *tx = TF_NewTensor(x.type, x.dims, x.rank, data, bytes, keep, NULL), *ty = NULL;
  if (!in.oper || !out.oper || !tx) die("the graph has no x and Identity");
  static double times[100000];
  size_t n = 0;
  double first = 0, off = -1;
  for (double begin = 0; n < sizeof times / sizeof times[0];) {
    const double t = now_ms();
    TF_SessionRun(session, NULL, &in, &tx, 1, &out, &ty, 1, NULL, 0, NULL, s);
    const double took = now_ms() - t;
    if (TF_GetCode(s)) die(TF_Message(s));
    if (first == 0) {
      first = took;
      begin = now_ms();
      if (argc > 5 && read_npy(argv[5], &want)) {
        const float *a = TF_TensorData(ty), *b = (const float *)(const void *)want.data;
        off = 0;
        for (size_t i = 0; i < want.bytes / 4; i++)
          off = fmax(off, fabs((double)a[i] - (double)b[i]) / (fabs((double)b[i]) + 1e-3));
      }
    } else {
      times[n++] = took;
    }
    TF_DeleteTensor(ty);
    if (now_ms() - begin > limit && n >= 5) break;
  }
  qsort(times, n, sizeof *times, by_time);
  printf("load %.1f first %.1f least %.3f median %.3f rss %.0f off %.2g\n", loaded - start, first,
         times[0], times[n / 2], resident_mb(), off);
  TF_CloseSession(session, s);
  TF_DeleteSession(session, s);
  TF_DeleteGraph(g);
  TF_DeleteTensor(tx);
  TF_DeleteStatus(s);
  free(data);
  return 0;
}
