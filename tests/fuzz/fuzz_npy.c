// SPDX-License-Identifier: Apache-2.0
// fuzz_npy.c: NumPy arrays and archives of them.

#include <stdlib.h>

#include "base/alloc.h"
#include "wire/inflate.h"
#include "wire/npy.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t n);

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t n) {
  fy_error err;
  fy_error_init(&err);
  fy_tensor *t, *again;
  uint8_t *out, room[512];
  size_t out_n;
  if (fy_wire_npy_parse(data, n, &t, &err) == FY_OK) {
    if (fy_wire_npy_write(t, &out, &out_n, &err) == FY_OK) {
      if (fy_wire_npy_parse(out, out_n, &again, &err) != FY_OK) abort();
      fy_tensor_release(again);
      fy_free(out);
    }
    fy_tensor_release(t);
  }
  fy_wire_npz *z;
  if (fy_wire_npz_open(data, n, &z, &err) == FY_OK) {
    for (size_t i = 0; i < fy_wire_npz_count(z) && i < 16; i++) {
      if (fy_wire_npz_read(z, i, &t, &err) == FY_OK) fy_tensor_release(t);
    }
    fy_wire_npz_close(z);
  }
  (void)fy_wire_inflate(data, n, room, n ? data[n - 1] : 0);
  fy_error_clear(&err);
  return 0;
}
