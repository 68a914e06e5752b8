// SPDX-License-Identifier: Apache-2.0
// buffer.c: TF_Buffer.

#include <string.h>

#include "api/api.h"
#include "base/alloc.h"
#include "wire/proto_util.h"

static void free_bytes(void *data, size_t length) {
  (void)length;
  fy_free(data);
}

TF_Buffer *TF_NewBuffer(void) {
  return fy_calloc(1, sizeof(TF_Buffer));
}

TF_Buffer *TF_NewBufferFromString(const void *proto, size_t proto_len) {
  TF_Buffer *b = TF_NewBuffer();
  void *copy = fy_malloc(proto_len);
  if (!b || !copy) {
    fy_free(b);
    fy_free(copy);
    return NULL;
  }
  if (proto_len) memcpy(copy, proto, proto_len);
  *b = (TF_Buffer){copy, proto_len, free_bytes};
  return b;
}

void TF_DeleteBuffer(TF_Buffer *buffer) {
  if (!buffer) return;
  if (buffer->data_deallocator)
    buffer->data_deallocator((void *)(uintptr_t)buffer->data, buffer->length);
  fy_free(buffer);
}

TF_Buffer TF_GetBuffer(TF_Buffer *buffer) {
  return *buffer;
}

fy_code fy_api_fill_buffer(TF_Buffer *buffer, uint8_t *bytes, size_t n, fy_error *err) {
  if (buffer->data) {
    fy_free(bytes);
    return fy_fail(err, FY_INVALID_ARGUMENT, "Passing non-empty TF_Buffer is invalid.");
  }
  *buffer = (TF_Buffer){bytes, n, free_bytes};
  return FY_OK;
}

fy_code fy_api_message_to_buffer(const ProtobufCMessage *message, TF_Buffer *buffer,
                                 fy_error *err) {
  uint8_t *bytes;
  size_t n;
  FY_TRY(fy_wire_pack(message, &bytes, &n, err));
  return fy_api_fill_buffer(buffer, bytes, n, err);
}

TF_Buffer *fy_api_new_message_buffer(const ProtobufCMessage *message, fy_error *err) {
  TF_Buffer *b = TF_NewBuffer();
  if (!b) {
    fy_fail_oom(err, sizeof *b);
    return NULL;
  }
  if (fy_api_message_to_buffer(message, b, err) == FY_OK) return b;
  TF_DeleteBuffer(b);
  return NULL;
}
