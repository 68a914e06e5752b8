// SPDX-License-Identifier: Apache-2.0
// library.h: what loading a library must know of the ops that it registers meanwhile.

#ifndef FY_API_LIBRARY_H
#define FY_API_LIBRARY_H

#include "api/api.h"
#include "ops/op.h"

// Called for every op registered through the C API: |op| (NULL: nothing new) or the failure. True
// if the calling thread is loading a library, which then answers for the failure.
bool fy_api_library_note(const fy_op *op, fy_code code, const fy_error *err);

#endif
