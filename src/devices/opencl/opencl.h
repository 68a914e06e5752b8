// SPDX-License-Identifier: Apache-2.0
// opencl.h: what tests and reports may ask an OpenCL device beyond the device contract.

#ifndef FY_DEVICES_OPENCL_OPENCL_H
#define FY_DEVICES_OPENCL_OPENCL_H

#include "base/str.h"
#include "ferry/device.h"
#include "tensor/dtype.h"

typedef struct fy_opencl_stats {
  uint64_t launches;       // ops that ran on the device
  uint64_t detours;        // ops whose case has no kernel and that the host computed instead
  uint64_t builds;         // programs compiled
  uint64_t cache_hits;     // programs found on disk
  uint64_t library_gemms;  // products that CLBlast did
  uint64_t copies_in, copies_out;  // between host and device
} fy_opencl_stats;

bool fy_opencl_is(const fy_device *d);
void fy_opencl_stats_get(const fy_device *d, fy_opencl_stats *out);
// What others know device memory by: its cl_mem and the offset in it; and back. False: not ours.
bool fy_opencl_export(const fy_device *d, const void *p, void **mem, size_t *offset);
bool fy_opencl_import(const fy_device *d, const void *mem, size_t offset, void **p);
// How copies to and from the device go: AUTO is straight where memory is shared with the host, else
// through pinned staging buffers. For tests and benchmarks.
typedef enum fy_opencl_staging {
  FY_OPENCL_STAGE_AUTO,
  FY_OPENCL_STAGE_ALWAYS,
  FY_OPENCL_STAGE_NEVER,
} fy_opencl_staging;
void fy_opencl_set_staging(fy_device *d, fy_opencl_staging how);
bool fy_opencl_shares_memory(const fy_device *d);
// For tests: the |nth| call of the OpenCL library that can fail does so with |code| (and all later
// ones); 0 = none any more. Nothing else may be using a device meanwhile. And how many were made.
void fy_opencl_fail_call(int64_t nth, int code, bool all_later);
int64_t fy_opencl_calls(void);
// For tests: the kernel that element-wise |op| has for |t|, without the prelude; false: none.
bool fy_opencl_elementwise_source(const char *op, fy_dtype t, fy_str *out);
// For tests: the kernel of the |i|th update of a variable (false: no such), and of a fused program.
bool fy_opencl_update_source(int i, fy_str *out);
struct fy_fused_program;
bool fy_opencl_fused_source(const struct fy_fused_program *p, fy_dtype t, fy_str *out);
// The |i|th op with kernels of its own: its name, the attribute (or NULL) and the types that they
// differ by; false at the end.
bool fy_opencl_op(int i, const char **name, const char **type_attr, uint64_t *types);
// The |i|th source of kernels/ after the prelude (i = 0); NULL at the end.
const char *fy_opencl_source(int i);

#endif
