// SPDX-License-Identifier: Apache-2.0
// env.h: files, directories, clocks, threads and shared libraries, for code that must run wherever
// the library does. Handles belong to one thread at a time; everything else is thread-safe.

#ifndef TENSORFLOW_C_ENV_H_
#define TENSORFLOW_C_ENV_H_

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "tensorflow/c/c_api_macros.h"
#include "tensorflow/c/tf_file_statistics.h"
#include "tensorflow/c/tf_status.h"

#ifdef __cplusplus
extern "C" {
#endif

typedef struct TF_WritableFileHandle TF_WritableFileHandle;
typedef struct TF_StringStream TF_StringStream;
typedef struct TF_Thread TF_Thread;

// Zero means the system's default for both sizes; numa_node -1 means no preference.
typedef struct TF_ThreadOptions {
  size_t stack_size;  // bytes
  size_t guard_size;  // bytes
  int numa_node;
} TF_ThreadOptions;

// ALREADY_EXISTS if there is one; parents are not made.
TF_CAPI_EXPORT extern void TF_CreateDir(const char *dirname, TF_Status *status);

// FAILED_PRECONDITION if it is not empty.
TF_CAPI_EXPORT extern void TF_DeleteDir(const char *dirname, TF_Status *status);

// Deletes as much as it can. The counters tell what stayed behind, and |status| why one of them
// did. If |dirname| cannot be read at all, the counters are 0 files and 1 directory.
TF_CAPI_EXPORT extern void TF_DeleteRecursively(const char *dirname, int64_t *undeleted_file_count,
                                                int64_t *undeleted_dir_count, TF_Status *status);

// |*stats| is written only on success.
TF_CAPI_EXPORT extern void TF_FileStat(const char *filename, TF_FileStatistics *stats,
                                       TF_Status *status);

// Creates the file, or empties it. On success the caller owns |*handle| (TF_CloseWritableFile).
TF_CAPI_EXPORT extern void TF_NewWritableFile(const char *filename, TF_WritableFileHandle **handle,
                                              TF_Status *status);

// Frees the handle even when closing fails.
TF_CAPI_EXPORT extern void TF_CloseWritableFile(TF_WritableFileHandle *handle, TF_Status *status);

// Blocks until the contents are on the storage medium.
TF_CAPI_EXPORT extern void TF_SyncWritableFile(TF_WritableFileHandle *handle, TF_Status *status);

// Hands buffered bytes to the system; survives this process, not a power cut.
TF_CAPI_EXPORT extern void TF_FlushWritableFile(TF_WritableFileHandle *handle, TF_Status *status);

TF_CAPI_EXPORT extern void TF_AppendWritableFile(TF_WritableFileHandle *handle, const char *data,
                                                 size_t length, TF_Status *status);

TF_CAPI_EXPORT extern void TF_DeleteFile(const char *filename, TF_Status *status);

// Steps through a list of strings: false, with |*result| NULL, at the end. The list owns
// the strings.
TF_CAPI_EXPORT extern bool TF_StringStreamNext(TF_StringStream *list, const char **result);

// Frees the list and every string it gave out.
TF_CAPI_EXPORT extern void TF_StringStreamDone(TF_StringStream *list);

// Names in a directory, not full paths. The caller owns the list. NULL on failure.
TF_CAPI_EXPORT extern TF_StringStream *TF_GetChildren(const char *filename, TF_Status *status);

// Directories fit for temporary files, best first. The caller owns the list.
TF_CAPI_EXPORT extern TF_StringStream *TF_GetLocalTempDirectories(void);

// A name not used yet that ends in |extension|. The caller frees it with free().
TF_CAPI_EXPORT extern char *TF_GetTempFileName(const char *extension);

// Time since the Unix epoch.
TF_CAPI_EXPORT extern uint64_t TF_NowNanos(void);
TF_CAPI_EXPORT extern uint64_t TF_NowMicros(void);
TF_CAPI_EXPORT extern uint64_t TF_NowSeconds(void);

TF_CAPI_EXPORT extern void TF_DefaultThreadOptions(TF_ThreadOptions *options);

// Runs |work_func(param)| on a new thread. |thread_name| is copied, for debuggers. The caller must
// join the thread.
TF_CAPI_EXPORT extern TF_Thread *TF_StartThread(const TF_ThreadOptions *options,
                                                const char *thread_name, void (*work_func)(void *),
                                                void *param);

// Waits for the end of the thread and frees it.
TF_CAPI_EXPORT extern void TF_JoinThread(TF_Thread *thread);

// NULL on failure. The handle is never closed.
TF_CAPI_EXPORT extern void *TF_LoadSharedLibrary(const char *library_filename, TF_Status *status);

// NULL and NOT_FOUND if there is no such symbol.
TF_CAPI_EXPORT extern void *TF_GetSymbolFromLibrary(void *handle, const char *symbol_name,
                                                    TF_Status *status);

#ifdef __cplusplus
}  // extern "C"
#endif

#endif  // TENSORFLOW_C_ENV_H_
