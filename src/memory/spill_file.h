// SPDX-License-Identifier: Apache-2.0
// spill_file.h: memory that is a file: for planned tensors that are more than the host has.
// The kernel keeps the pages in use in memory and writes the others out. The file has no name, so it is
// gone with its last mapping, also when the process is killed.

#ifndef FY_MEMORY_SPILL_FILE_H
#define FY_MEMORY_SPILL_FILE_H

#include "base/status.h"

// |dir| "" = $TMPDIR, /var/tmp or /tmp, whichever is on a disk first. The space is taken at once, so that a
// full disk is a status here (RESOURCE_EXHAUSTED, naming the directory) and not a fault later.
FY_MUST_CHECK fy_code fy_spill_file_map(const char *dir, size_t bytes, void **out, fy_error *err);
void fy_spill_file_unmap(void *p, size_t bytes);
const char *fy_spill_file_dir(const char *dir);  // where it would be

#endif
