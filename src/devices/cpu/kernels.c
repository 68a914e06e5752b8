// SPDX-License-Identifier: Apache-2.0
// kernels.c: the list of fast kernels.

#include "devices/cpu/kernels.h"

#include <string.h>

#define FY_FAST(name) extern const fy_fast_kernel fy_fast_##name;
#include "devices/cpu/kernels.inc"
#undef FY_FAST
#define FY_FAST(name) &fy_fast_##name,
static const fy_fast_kernel *const kernels[] = {
#include "devices/cpu/kernels.inc"
    NULL};
#undef FY_FAST

const fy_fast_kernel *fy_cpu_kernel(const fy_site *site) {
  if (!site->op->impl || site->num_inputs < 1) return NULL;
  for (size_t i = 0; kernels[i]; i++) {
    if (kernels[i]->dtypes & FY_T(fy_dtype_base(site->in_types[0])) &&
        strcmp(kernels[i]->op, site->op->impl->name) == 0)
      return kernels[i];
  }
  return NULL;
}
