// SPDX-License-Identifier: Apache-2.0
// cold.h: weights that were packed are not read again, or hardly ever. Their pages leave memory: in the
// background, to a temporary file that is mapped in their place, so that whoever does read them
// (another program, an export, a fetch) finds them as they were. Those of a mapped file (wire/mapping.h)
// just go: they are in it.
// FERRY_WEIGHTS=keep turns it off. Threads: any.

#ifndef FY_MEMORY_COLD_H
#define FY_MEMORY_COLD_H

#include "tensor/tensor.h"

// |t| is immutable as long as somebody else holds it, and will not be read soon.
void fy_cold_offer(fy_tensor *t);
// Waits until nothing is left to do; the bytes that left so far. For tests and reports.
size_t fy_cold_wait(void);

#endif
