// SPDX-License-Identifier: Apache-2.0
// env.c: files, directories, clocks, threads and shared libraries (env.h of the C API).

#include "tensorflow/c/env.h"

#include <dirent.h>
#include <dlfcn.h>
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <time.h>
#include <unistd.h>

#include "api/api.h"
#include "base/alloc.h"
#include "base/thread.h"

// |failed|: the status tells errno about |name|; else OK.
static void settle(TF_Status *status, bool failed, const char *name) {
  int why = errno;
  fy_api_begin(status);
  if (failed) TF_SetStatusFromIOError(status, why, name);
}

static void out_of_memory(TF_Status *status) {
  fy_fail_oom(fy_api_begin(status), 0);
}

// ---------------------------------------------------------------- directories
void TF_CreateDir(const char *dirname, TF_Status *status) {
  settle(status, mkdir(dirname, 0755) != 0, dirname);
}

void TF_DeleteDir(const char *dirname, TF_Status *status) {
  settle(status, rmdir(dirname) != 0, dirname);
}

void TF_DeleteFile(const char *filename, TF_Status *status) {
  settle(status, unlink(filename) != 0, filename);
}

// Deletes what is in |dir| and |dir| itself; counts what stays, keeps the last reason.
static void delete_tree(const char *dir, int64_t *files, int64_t *dirs, TF_Status *status) {
  DIR *d = opendir(dir);
  const struct dirent *e;
  if (!d) {
    settle(status, true, dir);
    ++*dirs;
    return;
  }
  while ((e = readdir(d))) {
    if (strcmp(e->d_name, ".") == 0 || strcmp(e->d_name, "..") == 0) continue;
    fy_str path;
    struct stat st;
    fy_str_init(&path);
    fy_str_printf(&path, "%s/%s", dir, e->d_name);
    if (path.failed) {
      out_of_memory(status);
      ++*files;
    } else if (lstat(path.p, &st) == 0 && S_ISDIR(st.st_mode)) {
      delete_tree(path.p, files, dirs, status);
    } else if (unlink(path.p) != 0) {
      settle(status, true, path.p);
      ++*files;
    }
    fy_str_free(&path);
  }
  closedir(d);
  if (rmdir(dir) == 0) return;
  settle(status, true, dir);
  ++*dirs;
}

void TF_DeleteRecursively(const char *dirname, int64_t *undeleted_file_count,
                          int64_t *undeleted_dir_count, TF_Status *status) {
  struct stat st;
  *undeleted_file_count = *undeleted_dir_count = 0;
  fy_error *err = fy_api_begin(status);
  if (stat(dirname, &st) != 0) {
    *undeleted_dir_count = 1;
    fy_fail(err, FY_NOT_FOUND, "%s not found", dirname);
    return;
  }
  if (S_ISDIR(st.st_mode))
    delete_tree(dirname, undeleted_file_count, undeleted_dir_count, status);
  else
    TF_DeleteFile(dirname, status);
}

void TF_FileStat(const char *filename, TF_FileStatistics *stats, TF_Status *status) {
  struct stat st;
  bool failed = stat(filename, &st) != 0;
  settle(status, failed, filename);
  if (failed) return;
  stats->length = st.st_size;
  stats->mtime_nsec = (int64_t)st.st_mtim.tv_sec * 1000000000 + st.st_mtim.tv_nsec;
  stats->is_directory = S_ISDIR(st.st_mode);
}

// ---------------------------------------------------------------- files
struct TF_WritableFileHandle {
  FILE *file;
  char name[];
};

void TF_NewWritableFile(const char *filename, TF_WritableFileHandle **handle, TF_Status *status) {
  size_t n = strlen(filename) + 1;
  TF_WritableFileHandle *h = fy_malloc(sizeof *h + n);
  *handle = NULL;
  if (!h) {
    out_of_memory(status);
    return;
  }
  memcpy(h->name, filename, n);
  h->file = fopen(filename, "wb");
  settle(status, !h->file, filename);
  if (h->file)
    *handle = h;
  else
    fy_free(h);
}

void TF_AppendWritableFile(TF_WritableFileHandle *handle, const char *data, size_t length,
                           TF_Status *status) {
  settle(status, fwrite(data, 1, length, handle->file) != length, handle->name);
}

void TF_FlushWritableFile(TF_WritableFileHandle *handle, TF_Status *status) {
  settle(status, fflush(handle->file) != 0, handle->name);
}

void TF_SyncWritableFile(TF_WritableFileHandle *handle, TF_Status *status) {
  settle(status, fflush(handle->file) != 0 || fsync(fileno(handle->file)) != 0, handle->name);
}

void TF_CloseWritableFile(TF_WritableFileHandle *handle, TF_Status *status) {
  settle(status, fclose(handle->file) != 0, handle->name);
  fy_free(handle);
}

// ---------------------------------------------------------------- lists of strings
struct TF_StringStream {
  char **items;
  size_t n, cap, next;
};

static bool add(TF_StringStream *l, const char *text) {
  char *copy = fy_strdup(text);
  if (copy && fy_grow(&l->items, &l->cap, l->n + 1, sizeof *l->items)) {
    l->items[l->n++] = copy;
    return true;
  }
  fy_free(copy);
  return false;
}

bool TF_StringStreamNext(TF_StringStream *list, const char **result) {
  bool more = list && list->next < list->n;
  *result = more ? list->items[list->next++] : NULL;
  return more;
}

void TF_StringStreamDone(TF_StringStream *list) {
  if (!list) return;
  for (size_t i = 0; i < list->n; i++) fy_free(list->items[i]);
  fy_free(list->items);
  fy_free(list);
}

// An empty list comes with a failure too, as in TensorFlow.
TF_StringStream *TF_GetChildren(const char *filename, TF_Status *status) {
  TF_StringStream *l = fy_calloc(1, sizeof *l);
  if (!l) {
    out_of_memory(status);
    return NULL;
  }
  DIR *d = opendir(filename);
  const struct dirent *e;
  settle(status, !d, filename);
  if (!d) return l;
  while ((e = readdir(d)))
    if (strcmp(e->d_name, ".") != 0 && strcmp(e->d_name, "..") != 0 && !add(l, e->d_name))
      out_of_memory(status);
  closedir(d);
  return l;
}

static bool is_dir(const char *path) {
  struct stat st;
  return path && *path && stat(path, &st) == 0 && S_ISDIR(st.st_mode);
}

static const char *temp_dir(int i) {
  const char *const candidates[] = {getenv("TEST_TMPDIR"), getenv("TMPDIR"), getenv("TMP"), "/tmp"};
  for (size_t k = 0; k < sizeof candidates / sizeof *candidates; k++)
    if (is_dir(candidates[k]) && i-- == 0) return candidates[k];
  return NULL;
}

TF_StringStream *TF_GetLocalTempDirectories(void) {
  TF_StringStream *l = fy_calloc(1, sizeof *l);
  const char *dir;
  for (int i = 0; l && (dir = temp_dir(i)); i++)
    if (!add(l, dir)) break;
  return l;
}

char *TF_GetTempFileName(const char *extension) {
  static atomic_uint counter;
  const char *dir = temp_dir(0);
  char *name;  // freed with free()
  if (asprintf(&name, "%s/ferry-%d-%llx-%u%s%s", dir ? dir : ".", (int)getpid(),
               (unsigned long long)TF_NowNanos(), atomic_fetch_add(&counter, 1),
               extension && *extension && *extension != '.' ? "." : "",
               extension ? extension : "") < 0)
    return NULL;
  return name;
}

// ---------------------------------------------------------------- clocks and threads
uint64_t TF_NowNanos(void) {
  struct timespec t;
  clock_gettime(CLOCK_REALTIME, &t);
  return (uint64_t)t.tv_sec * 1000000000u + (uint64_t)t.tv_nsec;
}

uint64_t TF_NowMicros(void) {
  return TF_NowNanos() / 1000;
}
uint64_t TF_NowSeconds(void) {
  return TF_NowNanos() / 1000000000u;
}

void TF_DefaultThreadOptions(TF_ThreadOptions *options) {
  *options = (TF_ThreadOptions){.numa_node = -1};
}

struct TF_Thread {
  fy_thread thread;
  void (*work)(void *);
  void *param;
};

static void *run(void *arg) {
  TF_Thread *t = arg;
  t->work(t->param);
  return NULL;
}

TF_Thread *TF_StartThread(const TF_ThreadOptions *options, const char *thread_name,
                          void (*work_func)(void *), void *param) {
  (void)options;  // the system's sizes serve
  TF_Thread *t = fy_malloc(sizeof *t);
  if (!t) return NULL;
  *t = (TF_Thread){.work = work_func, .param = param};
  if (fy_thread_start(&t->thread, run, t, thread_name)) return t;
  fy_free(t);
  return NULL;
}

void TF_JoinThread(TF_Thread *thread) {
  if (!thread) return;
  fy_thread_join(thread->thread);
  fy_free(thread);
}

// ---------------------------------------------------------------- shared libraries
void *TF_LoadSharedLibrary(const char *library_filename, TF_Status *status) {
  fy_error *err = fy_api_begin(status);
  void *handle = dlopen(library_filename, RTLD_NOW | RTLD_LOCAL);
  const char *why = handle ? NULL : dlerror();
  if (!handle) fy_fail(err, FY_NOT_FOUND, "%s", why ? why : library_filename);
  return handle;
}

void *TF_GetSymbolFromLibrary(void *handle, const char *symbol_name, TF_Status *status) {
  fy_error *err = fy_api_begin(status);
  void *symbol = handle ? dlsym(handle, symbol_name) : NULL;
  const char *why = symbol ? NULL : handle ? dlerror() : "library handle cannot be null";
  if (!handle)
    fy_fail(err, FY_INVALID_ARGUMENT, "%s", why);
  else if (!symbol)
    fy_fail(err, FY_NOT_FOUND, "%s", why ? why : symbol_name);
  return symbol;
}

// File systems are the operating system's: a plug-in is looked for, and refused.
void TF_RegisterFilesystemPlugin(const char *plugin_filename, TF_Status *status) {
  void *handle = TF_LoadSharedLibrary(plugin_filename, status);
  if (handle && TF_GetSymbolFromLibrary(handle, "TF_InitPlugin", status))
    TF_SetStatus(status, TF_UNIMPLEMENTED,
                 "TF_RegisterFilesystemPlugin is not implemented by Ferry");
}
