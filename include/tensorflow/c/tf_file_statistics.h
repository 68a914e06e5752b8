// SPDX-License-Identifier: Apache-2.0
// tf_file_statistics.h: what TF_FileStat (env.h) reports of a path.

#ifndef TENSORFLOW_C_TF_FILE_STATISTICS_H_
#define TENSORFLOW_C_TF_FILE_STATISTICS_H_

#include <stdbool.h>
#include <stdint.h>

typedef struct TF_FileStatistics {
  int64_t length;      // bytes
  int64_t mtime_nsec;  // last change, nanoseconds since the Unix epoch
  bool is_directory;
} TF_FileStatistics;

#endif  // TENSORFLOW_C_TF_FILE_STATISTICS_H_
