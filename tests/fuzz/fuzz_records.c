// SPDX-License-Identifier: Apache-2.0
// fuzz_records.c: files of records as the readers of TensorFlow 1 read them: TFRecord, plain or
// compressed, lines, fixed lengths. The first byte chooses. Checksums are made right in half of them.

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "tensorflow/c/c_api.h"
#include "wire/crc32c.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t n);

static TF_Output one(TF_Operation *op) {
  return (TF_Output){op, 0};
}

static TF_Operation *finish(TF_OperationDescription *d, TF_Status *s) {
  TF_Operation *op = TF_FinishOperation(d, s);
  if (TF_GetCode(s)) abort();
  return op;
}

static TF_Operation *constant(TF_Graph *g, const char *name, TF_DataType type, const void *value,
                              size_t bytes, TF_Status *s) {
  TF_OperationDescription *d = TF_NewOperation(g, "Const", name);
  TF_Tensor *t = TF_AllocateTensor(type, NULL, 0, bytes);
  memcpy(TF_TensorData(t), value, bytes);
  TF_SetAttrTensor(d, "value", t, s);
  TF_SetAttrType(d, "dtype", type);
  TF_DeleteTensor(t);
  return finish(d, s);
}

static void write_file(const char *path, const uint8_t *data, size_t n, bool frame) {
  FILE *f = fopen(path, "wb");
  if (!f) abort();
  while (frame && n > 1) {  // a byte of length, then a record with the right checksums
    const uint64_t length = data[0] < n - 1 ? data[0] : n - 1;
    const uint32_t a = fy_wire_crc_mask(fy_wire_crc32c(0, &length, 8)),
                   b = fy_wire_crc_mask(fy_wire_crc32c(0, data + 1, length));
    fwrite(&length, 8, 1, f);
    fwrite(&a, 4, 1, f);
    fwrite(data + 1, 1, length, f);
    fwrite(&b, 4, 1, f);
    data += 1 + length;
    n -= 1 + length;
  }
  fwrite(data, 1, n, f);
  fclose(f);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t n) {
  static const char *const ops[] = {"TFRecordReaderV2", "TextLineReaderV2",
                                    "FixedLengthRecordReaderV2", "WholeFileReaderV2"};
  static const char *const compressions[] = {"", "ZLIB", "GZIP", "ZLIB"};
  if (n < 1) return 0;
  char path[64];
  snprintf(path, sizeof path, "/tmp/ferry_fuzz_records_%d", (int)getpid());
  write_file(path, data + 1, n - 1, data[0] & 1);
  const int kind = data[0] >> 1 & 3, packed = data[0] >> 3 & 3;
  TF_Status *s = TF_NewStatus();
  TF_Graph *g = TF_NewGraph();
  TF_OperationDescription *d = TF_NewOperation(g, ops[kind], "reader");
  if (kind == 0)
    TF_SetAttrString(d, "compression_type", compressions[packed], strlen(compressions[packed]));
  if (kind == 2) {
    TF_SetAttrInt(d, "record_bytes", 1 + (data[0] >> 5));
    TF_SetAttrInt(d, "header_bytes", packed);
    TF_SetAttrString(d, "encoding", packed == 2 ? "ZLIB" : "", packed == 2 ? 4 : 0);
  }
  TF_Operation *reader = finish(d, s);
  d = TF_NewOperation(g, "FIFOQueueV2", "queue");
  TF_SetAttrTypeList(d, "component_types", (const TF_DataType[]){TF_STRING}, 1);
  TF_Operation *queue = finish(d, s);
  TF_TString name;
  TF_StringInit(&name);
  TF_StringCopy(&name, path, strlen(path));
  TF_Operation *file = constant(g, "file", TF_STRING, &name, sizeof name, s);
  const int64_t many = 1000;
  TF_Operation *count = constant(g, "count", TF_INT64, &many, sizeof many, s);
  d = TF_NewOperation(g, "QueueEnqueueV2", "put");
  TF_AddInput(d, one(queue));
  TF_AddInputList(d, &(TF_Output){file, 0}, 1);
  TF_Operation *put = finish(d, s);
  d = TF_NewOperation(g, "QueueCloseV2", "close");
  TF_AddInput(d, one(queue));
  TF_Operation *end = finish(d, s);
  d = TF_NewOperation(g, "ReaderReadUpToV2", "read");
  TF_AddInput(d, one(reader));
  TF_AddInput(d, one(queue));
  TF_AddInput(d, one(count));
  TF_Operation *read = finish(d, s);
  TF_SessionOptions *so = TF_NewSessionOptions();
  TF_Session *session = TF_NewSession(g, so, s);
  const TF_Operation *targets[] = {put, end};
  for (int i = 0; i < 2; i++)
    TF_SessionRun(session, NULL, NULL, NULL, 0, NULL, NULL, 0, &targets[i], 1, NULL, s);
  for (int i = 0; i < 3; i++) {
    const TF_Output out[] = {{read, 0}, {read, 1}};
    TF_Tensor *got[2] = {NULL, NULL};
    TF_SessionRun(session, NULL, NULL, NULL, 0, out, got, 2, NULL, 0, NULL, s);
    if (TF_GetCode(s)) break;
    for (int k = 0; k < 2; k++) TF_DeleteTensor(got[k]);
  }
  TF_DeleteSession(session, s);
  TF_DeleteSessionOptions(so);
  TF_DeleteGraph(g);
  TF_DeleteStatus(s);
  unlink(path);
  return 0;
}
