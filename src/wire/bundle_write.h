// SPDX-License-Identifier: Apache-2.0
// bundle_write.h: write checkpoints that bundle.h, and TensorFlow, read.
// The bytes go to files of other names next to PREFIX and get their own when everything is written,
// the index last: a reader sees the old checkpoint or the new one. Not thread-safe.

#ifndef FY_WIRE_BUNDLE_WRITE_H
#define FY_WIRE_BUNDLE_WRITE_H

#include "wire/bundle.h"

typedef struct fy_bundle_writer fy_bundle_writer;

// Begins the checkpoint |prefix|; makes its folder if only that is missing. NOT_FOUND,
// PERMISSION_DENIED … as "path; No such file or directory".
FY_MUST_CHECK fy_code fy_bundle_writer_new(const char *prefix, fy_bundle_writer **out,
                                           fy_error *err);
// Adds a host tensor. INVALID_ARGUMENT: "Adding duplicate key: x"; UNIMPLEMENTED: resources and
// variants.
FY_MUST_CHECK fy_code fy_bundle_writer_add(fy_bundle_writer *w, fy_view name, const fy_tensor *t,
                                           fy_error *err);
// Adds |t| as the part |slice| of a tensor of |full| shape, to which other parts may be added.
FY_MUST_CHECK fy_code fy_bundle_writer_add_slice(fy_bundle_writer *w, fy_view name, fy_pshape full,
                                                 const fy_tensor_slice *slice, const fy_tensor *t,
                                                 fy_error *err);
// Completes the checkpoint. The writer can only be freed afterwards.
FY_MUST_CHECK fy_code fy_bundle_writer_finish(fy_bundle_writer *w, fy_error *err);
// Without finish before: removes what was written. NULL is fine.
void fy_bundle_writer_free(fy_bundle_writer *w);

// Makes one checkpoint |to| of several: their data files are renamed, their indices joined and
// deleted. A missing one is skipped if |allow_missing|.
FY_MUST_CHECK fy_code fy_bundle_merge(const char *const *prefixes, size_t n, const char *to,
                                      bool allow_missing, fy_error *err);

// Writes a whole file under another name and renames it.
FY_MUST_CHECK fy_code fy_wire_file_save(const char *path, const void *bytes, size_t n,
                                        fy_error *err);

// A checkpoint of version 1 (Save, SaveSlices): one table file.
typedef struct fy_v1_part {
  fy_view name;
  int32_t rank;
  const int64_t *shape;  // of the whole tensor
  fy_tensor_slice slice;
  const fy_tensor *tensor;
} fy_v1_part;
FY_MUST_CHECK fy_code fy_bundle_write_v1(const char *path, const fy_v1_part *parts, size_t n,
                                         fy_error *err);

#endif
