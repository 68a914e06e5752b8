// SPDX-License-Identifier: Apache-2.0
// opencl_faults.c: for tests: the OpenCL library as it is, except that the Nth call that can fail
// does so. Wrappers take the place of the functions in the table of opencl_load.c for as long as a
// test wants them; nothing of this is on the way otherwise.

#include "devices/opencl/opencl_impl.h"

#include "devices/opencl/opencl.h"

#ifdef FY_OPENCL

#include <stdatomic.h>

static fy_cl real, *table;
static _Atomic(int64_t) left, seen;
static _Atomic(int) fault;
static _Atomic(int) sticky;

// Is this call the one? Counts every call, so that a test knows when N is beyond them all.
static bool due(void) {
  seen++;
  int64_t now = --left;
  return now == 0 || (now < 0 && sticky);
}

#define RETURNS_CODE(name, parameters, arguments)    \
  static cl_int CL_API_CALL fail_##name parameters { \
    return due() ? fault : real.name arguments;      \
  }
#define RETURNS_OBJECT(type, name, parameters, arguments) \
  static type CL_API_CALL fail_##name parameters {        \
    if (!due()) return real.name arguments;               \
    if (code) *code = fault;                              \
    return NULL;                                          \
  }

RETURNS_OBJECT(cl_context, CreateContext,
               (const cl_context_properties *p, cl_uint n, const cl_device_id *d,
                void(CL_CALLBACK *f)(const char *, const void *, size_t, void *), void *u,
                cl_int *code),
               (p, n, d, f, u, code))
RETURNS_OBJECT(cl_command_queue, CreateCommandQueue,
               (cl_context c, cl_device_id d, cl_command_queue_properties p, cl_int *code),
               (c, d, p, code))
RETURNS_OBJECT(cl_mem, CreateBuffer,
               (cl_context c, cl_mem_flags f, size_t n, void *p, cl_int *code), (c, f, n, p, code))
RETURNS_OBJECT(cl_program, CreateProgramWithSource,
               (cl_context c, cl_uint n, const char **s, const size_t *l, cl_int *code),
               (c, n, s, l, code))
RETURNS_OBJECT(cl_kernel, CreateKernel, (cl_program p, const char *s, cl_int *code), (p, s, code))
RETURNS_OBJECT(void *, EnqueueMapBuffer,
               (cl_command_queue q, cl_mem m, cl_bool b, cl_map_flags f, size_t o, size_t s,
                cl_uint n, const cl_event *w, cl_event *e, cl_int *code),
               (q, m, b, f, o, s, n, w, e, code))
RETURNS_CODE(BuildProgram,
             (cl_program p, cl_uint n, const cl_device_id *d, const char *o,
              void(CL_CALLBACK *f)(cl_program, void *), void *u),
             (p, n, d, o, f, u))
RETURNS_CODE(SetKernelArg, (cl_kernel k, cl_uint i, size_t n, const void *p), (k, i, n, p))
RETURNS_CODE(EnqueueNDRangeKernel,
             (cl_command_queue q, cl_kernel k, cl_uint d, const size_t *o, const size_t *g,
              const size_t *l, cl_uint n, const cl_event *w, cl_event *e),
             (q, k, d, o, g, l, n, w, e))
RETURNS_CODE(EnqueueReadBuffer,
             (cl_command_queue q, cl_mem m, cl_bool b, size_t o, size_t s, void *p, cl_uint n,
              const cl_event *w, cl_event *e),
             (q, m, b, o, s, p, n, w, e))
RETURNS_CODE(EnqueueWriteBuffer,
             (cl_command_queue q, cl_mem m, cl_bool b, size_t o, size_t s, const void *p, cl_uint n,
              const cl_event *w, cl_event *e),
             (q, m, b, o, s, p, n, w, e))
RETURNS_CODE(EnqueueCopyBuffer,
             (cl_command_queue q, cl_mem a, cl_mem b, size_t i, size_t o, size_t s, cl_uint n,
              const cl_event *w, cl_event *e),
             (q, a, b, i, o, s, n, w, e))
RETURNS_CODE(WaitForEvents, (cl_uint n, const cl_event *e), (n, e))

void fy_opencl_fail_call(int64_t nth, int code, bool all_later) {
  if (!table) {
    table = (fy_cl *)(uintptr_t)fy_cl_load(NULL);
    if (!table) return;
    real = *table;
  }
  left = nth;
  seen = 0;
  fault = code;
  sticky = all_later;
  if (nth <= 0) {
    *table = real;
    return;
  }
#define WRAP(name) table->name = fail_##name;
  WRAP(CreateContext)
  WRAP(CreateCommandQueue)
  WRAP(CreateBuffer)
  WRAP(CreateProgramWithSource)
  WRAP(CreateKernel)
  WRAP(EnqueueMapBuffer)
  WRAP(BuildProgram)
  WRAP(SetKernelArg)
  WRAP(EnqueueNDRangeKernel)
  WRAP(EnqueueReadBuffer)
  WRAP(EnqueueWriteBuffer)
  WRAP(EnqueueCopyBuffer)
  WRAP(WaitForEvents)
#undef WRAP
}

int64_t fy_opencl_calls(void) {
  return seen;
}

#else

void fy_opencl_fail_call(int64_t nth, int code, bool all_later) {
  (void)nth, (void)code, (void)all_later;
}
int64_t fy_opencl_calls(void) {
  return 0;
}

#endif
