// SPDX-License-Identifier: Apache-2.0
// unimplemented.h: macros for the fall-back definitions in unimplemented*.c.
// Every function of the public headers has one there, so that any program that uses the C API links
// and learns by a status, not by a missing symbol, what Ferry does not do. All are weak: a plain
// definition elsewhere replaces one without touching these lists.
// Beware of static archives: the linker takes the first member that defines a symbol, weak or not.
// Link the objects themselves (or --whole-archive), not an archive that holds these files.

#ifndef FY_API_UNIMPLEMENTED_H_
#define FY_API_UNIMPLEMENTED_H_

#include "tensorflow/c/tf_status.h"

#if defined(__GNUC__)
// A list of functions that ignore their arguments.
#pragma GCC diagnostic ignored "-Wunused-parameter"
#endif

#define FY_WEAK __attribute__((weak))

// Sets |status|, which every parameter list below must call by that name.
#define FY_REFUSE(name) TF_SetStatus(status, TF_UNIMPLEMENTED, #name " is not implemented by Ferry")

// With a status: FAIL returns zero of its type, FAIL_VOID nothing.
#define FAIL(type, name, params) \
  FY_WEAK type name params {     \
    FY_REFUSE(name);             \
    return (type){0};            \
  }
#define FAIL_VOID(name, params) \
  FY_WEAK void name params {    \
    FY_REFUSE(name);            \
  }

// Without a status, or with one that is an input.
#define ZERO(type, name, params) \
  FY_WEAK type name params {     \
    return (type){0};            \
  }
#define NOTHING(name, params) \
  FY_WEAK void name params {}

#endif  // FY_API_UNIMPLEMENTED_H_
