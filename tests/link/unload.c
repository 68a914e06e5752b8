// SPDX-License-Identifier: Apache-2.0
// unload.c LIBRARY: loads the library, runs a graph on the CPU and a simulated GPU, and unloads it, again and
// again: no thread, file, mapping or place in the table of processes stays behind.

#include <dirent.h>
#include <dlfcn.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "ferry/ferry.h"

#define ROUNDS 150  // more than the table of processes has places

#define NEED(cond)                                               \
  do {                                                           \
    if (!(cond)) {                                               \
      fprintf(stderr, "%s:%d: %s\n", __FILE__, __LINE__, #cond); \
      exit(1);                                                   \
    }                                                            \
  } while (0)

static int entries(const char *path) {
  DIR *d = opendir(path);
  int n = 0;
  NEED(d);
  while (readdir(d)) n++;
  closedir(d);
  return n;
}

static int mappings(void) {
  FILE *f = fopen("/proc/self/maps", "r");
  int n = 0, c;
  NEED(f);
  while ((c = fgetc(f)) != EOF) n += c == '\n';
  fclose(f);
  return n;
}

static void *find(void *library, const char *name) {
  void *p = dlsym(library, name);
  if (!p) fprintf(stderr, "%s: %s\n", name, dlerror());
  NEED(p);
  return p;
}
#define FIND(name) \
  __typeof__(&(name)) p_##name = (__typeof__(&(name)))(uintptr_t)find(library, #name)

static void run(void *library) {
  FIND(ferry_open);
  FIND(ferry_close);
  FIND(ferry_graph_new);
  FIND(ferry_graph_free);
  FIND(ferry_graph_add);
  FIND(ferry_session_new);
  FIND(ferry_session_free);
  FIND(ferry_tensor_new);
  FIND(ferry_tensor_free);
  FIND(ferry_run);
  FIND(ferry_top);
  FIND(ferry_free_text);
  ferry_runtime *rt;
  ferry_graph *g;
  ferry_session *s;
  ferry_tensor *x, *y;
  char *text;
  const char *in = "x", *out = "y";
  const int64_t dims[2] = {128, 128};
  NEED(!p_ferry_open("sim=gpu:1", &rt, NULL));
  NEED(!p_ferry_graph_new(rt, &g, NULL));
  NEED(!p_ferry_graph_add(g, "Placeholder", "x", "", "dtype=float", NULL, NULL, NULL));
  NEED(!p_ferry_graph_add(g, "MatMul", "m", "x, x", "", "/device:GPU:0", NULL, NULL));
  NEED(!p_ferry_graph_add(g, "MatMul", "y", "m, x", "", "/device:CPU:0", NULL, NULL));
  NEED(!p_ferry_session_new(rt, g, &s, NULL));
  NEED(!p_ferry_tensor_new(1, 2, dims, NULL, &x, NULL));
  NEED(!p_ferry_run(s, 1, &in, &x, 1, &out, &y, 0, NULL));
  // This process is in the table while it runs, once.
  NEED(!p_ferry_top(FERRY_JSON, &text, NULL));
  int times = 0;
  for (const char *at = text; (at = strstr(at, "\"program\": \"link_unload")) != NULL; at++)
    times++;
  NEED(times == 1);
  p_ferry_free_text(text);
  p_ferry_tensor_free(x);
  p_ferry_tensor_free(y);
  p_ferry_session_free(s);
  p_ferry_graph_free(g);
  p_ferry_close(rt);
}

int main(int argc, char **argv) {
  int files = 0, maps = 0;
  NEED(argc == 2);
  // A table of its own: other tests may run now.
  char registry[] = "/tmp/ferry_unload_XXXXXX";
  const int fd = mkstemp(registry);
  NEED(fd >= 0);
  NEED(!setenv("FERRY_REGISTRY", registry, 1));
  for (int i = 0; i < ROUNDS; i++) {
    void *library = dlopen(argv[1], RTLD_NOW | RTLD_LOCAL);
    if (!library) fprintf(stderr, "%s\n", dlerror());
    NEED(library);
    run(library);
    NEED(!dlclose(library));
    NEED(!dlopen(argv[1], RTLD_NOW | RTLD_NOLOAD));  // it is really gone
    NEED(entries("/proc/self/task") == 3);           // ".", ".." and this one
    if (i == 10) files = entries("/proc/self/fd"), maps = mappings();
  }
  printf("files %d -> %d, mappings %d -> %d\n", files, entries("/proc/self/fd"), maps, mappings());
  NEED(entries("/proc/self/fd") == files);
  NEED(mappings() <= maps + 8);  // the allocator's own
  remove(registry);
  return 0;
}
