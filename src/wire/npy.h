// SPDX-License-Identifier: Apache-2.0
// npy.h: NumPy's .npy arrays, read and written, and .npz archives of them.
// Dtypes: bool, (u)int8..64, float16/32/64, complex64/128, strings ('S' as bytes, 'U' as UTF-8).
// Big-endian and Fortran-ordered arrays are turned into ours.
// Not here: pickled objects, structured dtypes, dates, encrypted or zip64-sized archive members.

#ifndef FY_WIRE_NPY_H
#define FY_WIRE_NPY_H

#include "tensor/tensor.h"

// Reads an array from memory. INVALID_ARGUMENT if malformed, UNIMPLEMENTED for what is not read.
FY_MUST_CHECK fy_code fy_wire_npy_parse(const void *bytes, size_t n, fy_tensor **out,
                                        fy_error *err);
FY_MUST_CHECK fy_code fy_wire_npy_load(const char *path, fy_tensor **out, fy_error *err);

// Writes |t| (version 1.0, C order). Strings become '|S' of the longest. The caller owns |*out|
// (fy_free). bfloat16 becomes float32; UNIMPLEMENTED for other dtypes that NumPy lacks.
FY_MUST_CHECK fy_code fy_wire_npy_write(const fy_tensor *t, uint8_t **out, size_t *out_n,
                                        fy_error *err);

// Archives. Members are named without ".npy", in the archive's order.
typedef struct fy_wire_npz fy_wire_npz;
// |bytes| must outlive the archive.
FY_MUST_CHECK fy_code fy_wire_npz_open(const void *bytes, size_t n, fy_wire_npz **out,
                                       fy_error *err);
void fy_wire_npz_close(fy_wire_npz *z);  // NULL is fine
size_t fy_wire_npz_count(const fy_wire_npz *z);
fy_view fy_wire_npz_name(const fy_wire_npz *z, size_t i);
// Reads member |i|, stored or deflated, verifying its checksum (DATA_LOSS).
FY_MUST_CHECK fy_code fy_wire_npz_read(const fy_wire_npz *z, size_t i, fy_tensor **out,
                                       fy_error *err);
// Appends an archive of the arrays, stored, to |out|. UNIMPLEMENTED beyond 2 GiB or 65535 members.
FY_MUST_CHECK fy_code fy_wire_npz_write(const char *const *names, const fy_tensor *const *tensors,
                                        size_t n, fy_str *out, fy_error *err);

#endif
