// one_copy.c: a program that needs libtensorflow.so.2 (by TensorFlow's symbol version) and
// libferry.so, and opens the other names too, still has one copy of the library in its memory.
#include <dlfcn.h>
#include <stdio.h>
#include <string.h>

const char *TF_Version(void);

static int same_as_linked(const char *name) {
  void *library = dlopen(name, RTLD_NOW | RTLD_LOCAL);
  if (library == NULL) {
    printf("%s\n", dlerror());
    return 0;
  }
  Dl_info mine, theirs;
  void *symbol = dlsym(library, "TF_Version");
  void *linked = dlsym(RTLD_DEFAULT, "TF_Version");
  if (symbol == NULL || symbol != linked || !dladdr(symbol, &theirs) || !dladdr(linked, &mine) ||
      mine.dli_fbase != theirs.dli_fbase) {
    printf("%s: a second copy\n", name);
    return 0;
  }
  return 1;
}

int main(void) {
  static const char *const names[] = {"libferry.so", "libferry.so.0", "libtensorflow.so",
                                      "libtensorflow.so.2", "libtensorflow_framework.so.2"};
  int ok = strcmp(TF_Version(), "foreign") != 0;
  for (size_t i = 0; i < sizeof names / sizeof *names; ++i) ok &= same_as_linked(names[i]);

  // And by what the kernel mapped: every executable mapping of ours is one file.
  FILE *maps = fopen("/proc/self/maps", "r");
  char line[1024];
  int code_mappings = 0;
  while (maps != NULL && fgets(line, sizeof line, maps) != NULL) {
    if (strstr(line, "r-xp") && (strstr(line, "libferry") || strstr(line, "libtensorflow"))) {
      ++code_mappings;
    }
  }
  if (maps != NULL) fclose(maps);
  printf("%d code mapping(s), version %s\n", code_mappings, TF_Version());
  return ok && code_mappings == 1 ? 0 : 1;
}
