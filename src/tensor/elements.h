// SPDX-License-Identifier: Apache-2.0
// elements.h: what tensor.c and print.c need to know about single elements. Private to this folder.

#ifndef FY_TENSOR_ELEMENTS_H
#define FY_TENSOR_ELEMENTS_H

#include "tensor/tensor.h"

// Frees the strings or releases the objects in |bytes| of host memory, leaving them empty.
void fy_elements_destroy(fy_dtype dtype, void *data, size_t bytes);
// A float8 of any flavour; exact.
float fy_float8_to_float(fy_dtype dtype, uint8_t bits);
// Element |i| of an integer, quantized or bool tensor; uint64 keeps its bits.
int64_t fy_element_int(fy_dtype dtype, const void *data, int64_t i);

#endif
