// SPDX-License-Identifier: Apache-2.0
// mapping.h: files whose large tensors are used where they lie: mapped, not copied.
//
// A mapped file that somebody cuts short kills its readers with a signal, and one that is written in
// place changes under them. So a file is mapped only under a read lease: who wants to write it waits
// (the kernel makes him) until a thread of ours has put memory of our own, with the same bytes, under
// the same addresses, and has given the lease up (mapping_guard.c). A file that no lease is given for
// is read, and the reason is kept (fy_wire_mapping_report). FERRY_WEIGHTS=read maps nothing.
//
// Invariant: the memory is read-only. Its tensors are never exclusive, so who wants to write one makes
// another; what a client is handed is a copy (fy_api_own).
// Threads: any.

#ifndef FY_WIRE_MAPPING_H
#define FY_WIRE_MAPPING_H

#include "base/str.h"
#include "tensor/tensor.h"
#include "wire/file.h"

#define FY_MAPPED_BYTES ((size_t)64 << 10)  // smaller tensors are read: they would cost a page each

typedef struct fy_wire_mapping fy_wire_mapping;

// NULL: it has to be read. |path| is for the reason only. Needs fy_wire_mapping_close, which may come
// before or after |file| is closed; tensors keep the file mapped.
fy_wire_mapping *fy_wire_mapping_open(const fy_wire_file *file, const char *path);
void fy_wire_mapping_close(fy_wire_mapping *m);  // NULL is fine

// The tensor whose elements lie at |offset|, all of them in memory. |*out| is NULL if it has to be read: too small, no multiple
// of the element's size, not plain elements, a page that cannot be read, or the lease is gone.
FY_MUST_CHECK fy_code fy_wire_mapping_tensor(fy_wire_mapping *m, uint64_t offset, fy_dtype dtype,
                                             fy_pshape shape, fy_tensor **out, fy_error *err);
// The same for elements at |data|, if these are bytes of an open fy_wire_view that is mapped; they are
// read when they are used.
FY_MUST_CHECK fy_code fy_wire_mapping_tensor_at(const void *data, fy_dtype dtype, fy_pshape shape,
                                                fy_tensor **out, fy_error *err);
bool fy_wire_mapping_has(const fy_tensor *t);  // is it such a tensor?
// The pages of a mapped tensor leave memory until somebody reads them. False: it is not mapped.
bool fy_wire_mapping_rest(const fy_tensor *t);

// A whole file for a parser: mapped, or read.
typedef struct fy_wire_view {
  const uint8_t *bytes;
  size_t n;
  struct fy_wire_range *range;  // NULL: |bytes| were read
} fy_wire_view;
// As fy_wire_file_load. fy_wire_view_close is fine for what is zero or failed to open.
FY_MUST_CHECK fy_code fy_wire_view_open(const char *path, uint64_t max_bytes, fy_wire_view *out,
                                        fy_error *err);
void fy_wire_view_close(fy_wire_view *v);
// Nobody reads |n| bytes of the view at |data| again: their pages may go.
void fy_wire_view_drop(const void *data, size_t n);

// fy_wire_pack for a file: large constants begin at multiples of 64 bytes, so that whoever maps it can
// use them where they lie (pack_graph.c).
struct Tensorflow__GraphDef;
FY_MUST_CHECK fy_code fy_wire_pack_graph(const struct Tensorflow__GraphDef *def, uint8_t **out,
                                         size_t *out_n, fy_error *err);

typedef struct fy_wire_mapped {
  size_t files, tensors, bytes;  // mapped now; |bytes| of these tensors
  size_t moved_files;            // so far: files that somebody wanted to write
  size_t moved_bytes;            // what was copied into our own memory for that
} fy_wire_mapped;
fy_wire_mapped fy_wire_mapping_count(void);
// "3 tensors (12 MiB) of 1 file are mapped", and why what was not; for reports.
void fy_wire_mapping_report(fy_str *out);
// Whether files are mapped in this process, or why not (tried with a temporary file); for `ferry doctor`.
void fy_wire_mapping_doctor(fy_str *out);
#endif
