// SPDX-License-Identifier: Apache-2.0
// checkpoint.c: TF_CheckpointReader over wire/bundle.h (format V2).

#include <string.h>

#include "api/api.h"
#include "base/alloc.h"
#include "tensorflow/c/c_api_experimental.h"
#include "wire/bundle.h"

struct TF_CheckpointReader {
  fy_wire_bundle *bundle;
  char **names;  // NUL-terminated copies
  size_t n;
};

void TF_DeleteCheckpointReader(TF_CheckpointReader *reader) {
  if (!reader) return;
  for (size_t i = 0; reader->names && i < reader->n; i++) fy_free(reader->names[i]);
  fy_free(reader->names);
  fy_wire_bundle_close(reader->bundle);
  fy_free(reader);
}

TF_CheckpointReader *TF_NewCheckpointReader(const char *filename, TF_Status *status) {
  fy_error *err = fy_api_begin(status);
  TF_CheckpointReader *r = fy_calloc(1, sizeof *r);
  fy_code code = r ? fy_wire_bundle_open(filename, &r->bundle, err) : fy_fail_oom(err, sizeof *r);
  if (!code) {
    r->n = fy_wire_bundle_count(r->bundle);
    r->names = fy_calloc(r->n + 1, sizeof *r->names);
    if (!r->names) code = fy_fail_oom(err, r->n * sizeof *r->names);
  }
  for (size_t i = 0; !code && i < r->n; i++) {
    fy_view name = fy_wire_bundle_name(r->bundle, i);
    if (!(r->names[i] = fy_strndup(name.p, name.n))) code = fy_fail_oom(err, name.n);
  }
  fy_api_end(status, code);
  if (!code) return r;
  TF_DeleteCheckpointReader(r);
  return NULL;
}

int TF_CheckpointReaderHasTensor(TF_CheckpointReader *reader, const char *name) {
  return fy_wire_bundle_has(reader->bundle, name);
}

const char *TF_CheckpointReaderGetVariable(TF_CheckpointReader *reader, int index) {
  return index >= 0 && (size_t)index < reader->n ? reader->names[index] : NULL;
}

int TF_CheckpointReaderSize(TF_CheckpointReader *reader) {
  return (int)reader->n;
}

TF_DataType TF_CheckpointReaderGetVariableDataType(TF_CheckpointReader *reader, const char *name) {
  fy_dtype dtype;
  fy_pshape shape;
  return fy_wire_bundle_info(reader->bundle, name, &dtype, &shape, NULL) ? (TF_DataType)0
                                                                         : (TF_DataType)dtype;
}

int TF_CheckpointReaderGetVariableNumDims(TF_CheckpointReader *reader, const char *name) {
  fy_dtype dtype;
  fy_pshape shape;
  return fy_wire_bundle_info(reader->bundle, name, &dtype, &shape, NULL) ? -1 : shape.rank;
}

void TF_CheckpointReaderGetVariableShape(TF_CheckpointReader *reader, const char *name,
                                         int64_t *dims, int num_dims, TF_Status *status) {
  fy_error *err = fy_api_begin(status);
  fy_dtype dtype;
  fy_pshape shape;
  fy_code code = fy_wire_bundle_info(reader->bundle, name, &dtype, &shape, err);
  if (!code && shape.rank != num_dims)
    code = fy_fail(err, FY_INVALID_ARGUMENT, "Expected rank is %d but actual rank is %d", num_dims,
                   (int)shape.rank);
  if (!code && shape.rank > 0) memcpy(dims, shape.dims, (size_t)shape.rank * sizeof *dims);
  fy_api_end(status, code);
}

TF_Tensor *TF_CheckpointReaderGetTensor(TF_CheckpointReader *reader, const char *name,
                                        TF_Status *status) {
  fy_error *err = fy_api_begin(status);
  fy_tensor *t = NULL;
  fy_code code = fy_wire_bundle_read(reader->bundle, name, &t, err);
  if (!code) code = fy_api_own(&t, err);
  fy_api_end(status, code);
  return fy_api_tf_tensor(t);
}
