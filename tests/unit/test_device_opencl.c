// SPDX-License-Identifier: Apache-2.0
// test_device_opencl.c: the OpenCL device against the CPU: memory, copies, events, every op it has a
// kernel for, faults, and the cache of programs. Runs on whatever OpenCL offers, PoCL included;
// skipped, and said so, where there is none.

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include <dirent.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "devices/devices.h"
#include "devices/opencl/opencl.h"
#include "execute/kernel_call.h"
#include "local_runner.h"
#include "memory/pool.h"

#define MIB ((size_t)1 << 20)

static fy_device_set *open_set(const char *config) {
  fy_options o;
  fy_error err;
  fy_device_set *set = NULL;
  fy_error_init(&err);
  fy_options_default(&o);
  o.opencl_cpu = true;
  if ((config && fy_options_text(&o, config, &err)) || fy_devices_open(&o, &set, &err))
    fail_msg("%s", fy_error_text(&err));
  return set;
}

static fy_device *device_of(fy_device_set *set) {
  for (int i = 0; i < set->n; i++)
    if (fy_opencl_is(set->items[i])) return set->items[i];
  return NULL;
}

#define NEED_DEVICE(set, d)                              \
  fy_device_set *set = open_set(NULL);                   \
  fy_device *d = device_of(set);                         \
  if (!d) {                                              \
    fy_devices_unref(set);                               \
    print_message("no OpenCL device on this machine\n"); \
    skip();                                              \
  }

// --- memory, copies, events ---

static void test_listing_takes_nothing(void **state) {
  (void)state;
  NEED_DEVICE(set, d)
  fy_mempool_stats s;
  fy_mempool_stats_get(d->memory, &s);
  assert_int_equal(s.reserved_bytes, 0);
  assert_string_equal(d->type, "GPU");
  assert_non_null(strstr(d->facts.description, "OpenCL"));
  fy_devices_unref(set);
  fy_options o;
  fy_options_default(&o);
  assert_int_equal(fy_devices_open(&o, &set, NULL), FY_OK);
  for (int i = 0; i < set->n; i++)  // a CPU is no GPU unless asked for
    assert_null(strstr(set->items[i]->facts.description, "on the CPU"));
  fy_devices_unref(set);
}

static void fill(unsigned char *p, size_t n, unsigned seed) {
  for (size_t i = 0; i < n; i++) p[i] = (unsigned char)((i * 2654435761u + seed) >> 7);
}

static void test_copies(void **state) {
  (void)state;
  NEED_DEVICE(set, d)
  static const size_t sizes[] = {1, 1000, 256 << 10, (256 << 10) + 1, 5 << 20, (9 << 20) + 7};
  for (int staged = 0; staged < 3; staged++) {
    fy_opencl_set_staging(d, (fy_opencl_staging)staged);
    for (size_t k = 0; k < sizeof sizes / sizeof *sizes; k++) {
      size_t n = sizes[k];
      unsigned char *a = malloc(n), *b = calloc(1, n), *expect = malloc(n);
      void *p, *q;
      fy_error err;
      fy_event in, moved, out;
      fy_error_init(&err);
      fill(a, n, (unsigned)k);
      memcpy(expect, a, n);
      assert_int_equal(fy_mempool_alloc(d->memory, n, "a", &p, &err), FY_OK);
      assert_int_equal(fy_mempool_alloc(d->memory, n, "b", &q, &err), FY_OK);
      if (d->ops->copy(d, FY_COPY_HOST_TO_DEVICE, p, a, n, NULL, NULL, &in, &err))
        fail_msg("%s", fy_error_text(&err));
      memset(a, 0, n);  // the host's side may be reused at once
      assert_int_equal(d->ops->copy(d, FY_COPY_DEVICE_TO_DEVICE, q, p, n, d, &in, &moved, &err),
                       FY_OK);
      assert_int_equal(d->ops->copy(d, FY_COPY_DEVICE_TO_HOST, b, q, n, NULL, &moved, &out, &err),
                       FY_OK);
      assert_int_equal(d->ops->wait(d, &out, &err), FY_OK);
      assert_memory_equal(b, expect, n);
      fy_mempool_release(d->memory, p);
      fy_mempool_release(d->memory, q);
      free(a);
      free(b);
      free(expect);
    }
  }
  char byte = 0;
  fy_error err;
  fy_error_init(&err);
  fy_event never = {.device = d, .queue = FY_QUEUE_IN, .seq = 1u << 30};
  assert_int_equal(d->ops->wait(d, &never, &err), FY_INVALID_ARGUMENT);
  fy_error_clear(&err);
  assert_int_equal(d->ops->copy(d, FY_COPY_HOST_TO_DEVICE, &byte, &byte, 1, NULL, NULL, NULL, &err),
                   FY_INVALID_ARGUMENT);
  fy_error_clear(&err);
  fy_devices_unref(set);
}

static void test_limit(void **state) {
  (void)state;
  fy_device_set *set = open_set("memory_limit.GPU=8MiB");
  fy_device *d = device_of(set);
  if (!d) {
    fy_devices_unref(set);
    skip();
  }
  fy_error err;
  fy_tensor *t = NULL;
  fy_error_init(&err);
  assert_int_equal(fy_memory_tensor(d, FY_FLOAT, 1, (const int64_t[]){4 << 20}, "big", &t, &err),
                   FY_RESOURCE_EXHAUSTED);
  assert_non_null(strstr(fy_error_text(&err), "OOM when allocating tensor with shape[4194304]"));
  fy_error_clear(&err);
  assert_int_equal(fy_memory_tensor(d, FY_FLOAT, 1, (const int64_t[]){1 << 20}, "fits", &t, &err),
                   FY_OK);
  fy_tensor_release(t);
  fy_devices_unref(set);
}

// --- ops ---

static int failures, compared, refused;

static bool is_host_input(const fy_op *op, const fy_attrs *attrs, int i, fy_dtype t) {
  if (!fy_dtype_is_plain(t) || (op->impl->flags & FY_OP_ANY_DEVICE_HOST_DATA)) return true;
  for (int arg = 0; arg < op->spec->num_inputs && arg < 64; arg++) {
    int begin, end;
    if (!(op->impl->host_inputs >> arg & 1)) continue;
    if (fy_spec_arg_range(op->spec, false, arg, attrs, &begin, &end, NULL)) continue;
    if (i >= begin && i < end) return true;
  }
  return false;
}

static bool is_close(const fy_tensor *a, const fy_tensor *b, int64_t k) {
  double x = fy_tensor_double(a, k), y = fy_tensor_double(b, k);
  if (isnan(x) || isnan(y)) return isnan(x) && isnan(y);
  if (x == y) return true;
  double unit = a->dtype == FY_HALF       ? 0x1p-9
                : a->dtype == FY_BFLOAT16 ? 0x1p-6
                : a->dtype == FY_DOUBLE   ? 1e-13
                                          : 3e-6;
  return fabs(x - y) <= unit * (1 + fabs(y));
}

static void compare(const char *what, const fy_tensor *got, const fy_tensor *want) {
  char a[128], b[128];
  if (got->dtype != want->dtype || !fy_shape_equal(got->rank, got->dims, want->rank, want->dims)) {
    print_error("%s: %s %s instead of %s %s\n", what, fy_dtype_name(got->dtype),
                fy_shape_text(got->rank, got->dims, a), fy_dtype_name(want->dtype),
                fy_shape_text(want->rank, want->dims, b));
    failures++;
    return;
  }
  bool real = fy_dtype_is_floating(want->dtype);
  if (!real && want->count && memcmp(got->data, want->data, fy_tensor_bytes(want))) {
    print_error("%s: the bytes differ\n", what);
    failures++;
    return;
  }
  for (int64_t k = 0; real && k < want->count; k++) {
    if (is_close(got, want, k)) continue;
    print_error("%s: element %lld is %.9g instead of %.9g\n", what, (long long)k,
                fy_tensor_double(got, k), fy_tensor_double(want, k));
    failures++;
    return;
  }
}

// One op on the device and on the CPU.
static void run_case(fy_device *d, const char *name, const char *inputs, const char *attr_text,
                     bool must) {
  const fy_op *op = fy_op_find(name, strlen(name));
  fy_sample_inputs in = {0};
  fy_arena arena;
  fy_attrs attrs = {0};
  fy_site site = {0};
  fy_error err, host_err;
  local_run run = {0};
  fy_tensor *want[LOCAL_OUTPUTS] = {NULL}, *got[LOCAL_OUTPUTS] = {NULL};
  fy_tensor *there[FY_SAMPLE_INPUTS] = {NULL};
  char what[400];
  snprintf(what, sizeof what, "%s(%s; %s)", name, inputs, attr_text ? attr_text : "");
  if (!op || !op->impl || !op->impl->compute) fail_msg("%s does not exist", name);
  fy_error_init(&err);
  fy_error_init(&host_err);
  fy_arena_init(&arena);
  fy_code code = fy_sample_parse_inputs(inputs, &in, &err);
  if (!code) code = fy_sample_parse_attrs(attr_text, op->spec, &attrs, &arena, &err);
  if (!code) code = local_bind(op, &attrs, in.in, in.n, &arena, &site, &err);
  if (code) {
    if (must) print_error("%s cannot be bound: %s\n", what, fy_error_text(&err)), failures++;
    goto done;
  }
  if (!d->ops->supports(d, op, &attrs, &err)) {
    if (must) print_error("%s is refused: %s\n", what, fy_error_text(&err)), failures++;
    assert_true(fy_error_text(&err)[0]);  // a refusal has a reason
    refused++;
    goto done;
  }
  if (op->impl->flags & (FY_OP_ALIAS | FY_OP_ANY_DEVICE_HOST_DATA | FY_OP_ANY_SPACE)) goto done;
  code = local_call(&site, &run, in.in, want, &host_err);
  local_unbind(&site);
  if (op->impl->prepare && op->impl->prepare(&site, NULL)) goto done;  // a generator starts anew
  for (int i = 0; i < in.n; i++) {
    if (is_host_input(op, &attrs, i, in.in[i]->dtype)) {
      fy_tensor_retain(in.in[i]);
      there[i] = in.in[i];
    } else {
      assert_int_equal(fy_memory_copy_tensor(in.in[i], d, &there[i], NULL), FY_OK);
    }
  }
  site.device = d;
  fy_code mine = fy_kernel_call(&site, NULL, NULL, there, got, &err);
  // Out of bounds is no error on a GPU.
  bool gathers = strstr(name, "Gather") || strstr(name, "SparseSoftmaxCross");
  if (mine != code && !(gathers && code)) {
    print_error("%s: code %d (%s) instead of %d (%s)\n", what, mine, fy_error_text(&err), code,
                fy_error_text(&host_err));
    failures++;
  } else if (mine && strcmp(fy_error_text(&err), fy_error_text(&host_err))) {
    print_error("%s: \"%s\" instead of \"%s\"\n", what, fy_error_text(&err),
                fy_error_text(&host_err));
    failures++;
  }
  for (int i = 0; !mine && !code && i < site.num_outputs; i++) {
    fy_tensor *here;
    assert_int_equal(fy_memory_copy_tensor(got[i], NULL, &here, NULL), FY_OK);
    compare(what, here, want[i]);
    fy_tensor_release(here);
  }
  compared++;
  for (int i = 0; i < site.num_outputs; i++) {
    fy_tensor_release(want[i]);
    fy_tensor_release(got[i]);
  }
  for (int i = 0; i < in.n; i++) fy_tensor_release(there[i]);
done:
  local_unbind(&site);
  fy_sample_inputs_free(&in);
  fy_error_clear(&err);
  fy_error_clear(&host_err);
  fy_arena_free(&arena);
}

static void report(fy_device *d, const char *what) {
  fy_opencl_stats s;
  fy_opencl_stats_get(d, &s);
  print_message(
      "%s: %d cases equal to the CPU's, %d refused; %llu launches, %llu detours, %llu "
      "compiled, %llu from the cache\n",
      what, compared, refused, (unsigned long long)s.launches, (unsigned long long)s.detours,
      (unsigned long long)s.builds, (unsigned long long)s.cache_hits);
}

// The samples of all ops that the device takes.
static void test_samples(void **state) {
  (void)state;
  NEED_DEVICE(set, d)
  failures = compared = refused = 0;
  for (size_t i = 0; i < fy_op_impl_count; i++) {
    const fy_op_impl *impl = fy_op_impls[i];
    if (!impl->compute) continue;
    // A generated kernel per type costs a compilation: other types are in the cases above.
    bool generated = impl->shape == fy_shape_unchanged || impl->shape == fy_shape_broadcast;
    for (uint32_t k = 0; k < impl->num_samples; k++)
      if (!generated || !strncmp(impl->samples[k].inputs, "f32", 3))
        run_case(d, impl->name, impl->samples[k].inputs, impl->samples[k].attrs, false);
  }
  report(d, "samples");
  assert_true(compared > 150);
  assert_int_equal(failures, 0);
  fy_devices_unref(set);
}

#define F8 "f32[8]=0.1,-0.5,2,0.9,-3,7,0.3,1"
static const struct {
  const char *op, *inputs, *attrs;
} cases[] = {
    {"AddV2", "f32[3,1,5]=normal; f32[4,1]=normal", NULL},
    {"AddV2", "i32[130]=iota; i32[]=7", NULL},
    {"Mul", "f16[2,3]=normal; f16[3]=normal", NULL},
    {"Mul", "bf16[2,3]=normal; bf16[3]=normal", NULL},
    {"Sub", "f64[2,3]=normal; f64[2,1]=normal", NULL},
    {"RealDiv", "f32[200]=normal; f32[200]=normal", NULL},
    {"Maximum", "f32[10]=special; f32[]=1", NULL},
    {"Less", "f32[2,3]=normal; f32[3]=normal", NULL},
    {"Equal", "i64[2,3]=iota; i64[3]=iota", NULL},
    {"Exp", F8, NULL},
    {"Log", "f32[4]=0.5,1,2,100", NULL},
    {"Tanh", F8, NULL},
    {"Sigmoid", F8, NULL},
    {"Sigmoid", "f64[5]=normal", NULL},
    {"Erf", F8, NULL},
    {"Relu", "f32[10]=special", NULL},
    {"LeakyRelu", F8, "alpha=0.3"},
    {"Rsqrt", "f32[3]=1,2,3", NULL},
    {"SelectV2", "b[2,1]=true,false; f32[2,3]=normal; f32[]=4", NULL},
    {"Cast", "i32[5]=iota", "DstT=float"},
    {"Cast", "f32[5]=normal", "DstT=half"},
    {"Cast", "f32[3]=0,1,-2", "DstT=bool"},
    {"Cast", "f32[3]=0.7,1.2,-2.9", "DstT=int32"},
    {"MatMul", "f32[37,65]=normal; f32[65,33]=normal", NULL},
    {"MatMul", "f32[65,37]=normal; f32[33,65]=normal", "transpose_a=true; transpose_b=true"},
    {"MatMul", "i32[3,4]=iota; i32[4,2]=iota", NULL},
    {"MatMul", "f64[5,6]=normal; f64[6,7]=normal", NULL},
    {"MatMul", "f32[3,0]=; f32[0,2]=", NULL},
    {"BatchMatMulV2", "f32[2,1,5,6]=normal; f32[3,6,4]=normal", NULL},
    {"BatchMatMulV2", "f32[3,6,5]=normal; f32[3,4,6]=normal", "adj_x=true; adj_y=true"},
    {"_FerryMatMul", "f32[20,30]=normal; f32[30,40]=normal; f32[40]=normal; f32[20,40]=normal",
     "T=float; N=2; epilogue=\"bias,add,tanh\""},
    {"_FerryMatMul", "f32[20,30]=normal; f32[30,40]=normal; f32[40]=normal; f32[40]=normal",
     "T=float; N=2; epilogue=\"scale,bias,leaky\"; alpha=0.1"},
    {"_FerryMatMul", "f32[2,3,5]=normal; f32[5,4]=normal; f32[4]=normal; f32[2,3,4]=normal",
     "T=float; N=2; epilogue=\"bias,add\""},
    {"Conv2D", "f32[2,9,8,3]=normal; f32[3,3,3,7]=normal",
     "strides=[1,2,1,1]; padding=\"SAME\"; dilations=[1,1,2,1]"},
    {"Conv2D", "f32[1,9,8,4]=normal; f32[3,2,2,6]=normal", "strides=[1,1,1,1]; padding=\"VALID\""},
    {"Conv2D", "f32[1,6,6,2]=normal; f32[3,3,2,3]=normal",
     "strides=[1,1,1,1]; padding=\"EXPLICIT\"; explicit_paddings=[0,0,1,2,0,1,0,0]"},
    {"Conv2D", "f32[1,40,40,16]=normal; f32[1,1,16,33]=normal",
     "strides=[1,1,1,1]; padding=\"VALID\""},
    {"_FerryConv2D", "f32[1,7,6,3]=normal; f32[3,3,3,5]=normal; f32[5]=normal; f32[1,7,6,5]=normal",
     "T=float; N=2; epilogue=\"bias,add,swish\"; strides=[1,1,1,1]; padding=\"SAME\""},
    {"DepthwiseConv2dNative", "f32[1,6,5,3]=normal; f32[3,3,3,2]=normal",
     "strides=[1,1,1,1]; padding=\"SAME\""},
    {"MaxPool", "f32[2,7,6,3]=normal", "ksize=[1,3,2,1]; strides=[1,2,2,1]; padding=\"SAME\""},
    {"AvgPool", "f32[2,7,6,3]=normal", "ksize=[1,3,2,1]; strides=[1,2,2,1]; padding=\"SAME\""},
    {"AvgPool", "f32[1,4,4,2]=normal", "ksize=[1,2,2,1]; strides=[1,1,1,1]; padding=\"VALID\""},
    {"FusedBatchNormV3",
     "f32[2,3,2,5]=normal; f32[5]=normal; f32[5]=normal; f32[5]=normal; f32[5]=ones",
     "is_training=false; epsilon=0.001"},
    {"BiasAdd", "f32[2,3,4]=normal; f32[4]=normal", NULL},
    {"Softmax", "f32[5,70]=normal", NULL},
    {"Softmax", "f32[2,3,1]=normal", NULL},
    {"LogSoftmax", "f32[4,100]=normal", NULL},
    {"Sum", "f32[3,4,5,6]=normal; i32[2]=0,2", NULL},
    {"Sum", "f32[1000]=normal; i32[1]=0", "keep_dims=true"},
    {"Sum", "i32[7,9]=iota; i32[1]=1", NULL},
    {"Mean", "f32[40,50]=normal; i32[1]=0", NULL},
    {"Mean", "f32[2,3,4]=normal; i32[0]=", NULL},
    {"Max", "f32[3,300]=normal; i32[1]=1", NULL},
    {"Min", "i64[3,5]=iota; i32[1]=0", NULL},
    {"Prod", "f32[3,5]=normal; i32[2]=0,1", NULL},
    {"All", "b[2,3]=true,true,false,true,true,true; i32[1]=1", NULL},
    {"Any", "b[2,3]=false,true,false,false,false,false; i32[1]=1", NULL},
    {"ArgMax", "f32[4,5,6]=normal; i32[]=1", NULL},
    {"ArgMin", "f32[4,5,6]=normal; i32[]=-1", "output_type=int32"},
    {"GatherV2", "f32[5,4]=normal; i32[2,2]=4,0,1,1; i32[]=0", NULL},
    {"GatherV2", "f32[2,5,3]=normal; i64[2,2]=4,0,1,1; i32[]=1", "batch_dims=1"},
    {"ConcatV2", "f32[2,3]=normal; f32[2,1]=normal; f32[2,2]=normal; i32[]=1", NULL},
    {"Pack", "f32[2,3]=normal; f32[2,3]=normal", "axis=1"},
    {"Unpack", "f32[2,3]=normal", "num=3; axis=1"},
    {"Split", "i32[]=1; f32[2,6]=normal", "num_split=3"},
    {"Slice", "f32[4,5]=normal; i32[2]=1,2; i32[2]=2,-1", NULL},
    {"StridedSlice", "f32[6,5]=normal; i32[2]=5,0; i32[2]=0,5; i32[2]=-2,2", NULL},
    {"Transpose", "f32[3,4,5,2]=normal; i32[4]=3,1,0,2", NULL},
    {"Transpose", "u8[3,4]=iota; i32[2]=1,0", NULL},
    {"Pad", "f32[2,3]=normal; i32[2,2]=1,0,2,3", NULL},
    {"PadV2", "i32[2,3]=iota; i32[2,2]=1,0,2,3; i32[]=9", NULL},
    {"Tile", "f32[2,3]=normal; i32[2]=2,3", NULL},
    {"BroadcastTo", "f32[3,1]=normal; i32[3]=2,3,4", NULL},
    {"ReverseV2", "f32[3,4]=normal; i32[1]=1", NULL},
    {"OneHot", "i32[3]=0,2,5; i32[]=4; f32[]=2; f32[]=-1", NULL},
    {"Fill", "i32[2]=3,4; f32[]=2.5", NULL},
    {"ZerosLike", "f64[3]=normal", NULL},
    {"OnesLike", "f16[3]=normal", NULL},
    {"StatelessRandomUniform", "i32[2]=5,7; i64[2]=1,2", NULL},
    {"StatelessRandomNormal", "i32[1]=99; i64[2]=3,4", NULL},
    {"StatelessRandomUniformInt", "i32[1]=10; i64[2]=3,4; i32[]=-5; i32[]=100", NULL},
    {"RandomUniform", "i32[1]=33", "seed=3; seed2=4; dtype=float"},
    {"RandomUniform", "i32[1]=33", "seed=3; seed2=4; dtype=double"},
    {"AddN", "f32[3]=normal; f32[3]=normal; f32[3]=normal", NULL},
    // Rank 9 with nothing to merge: the host's detour.
    {"Transpose", "f32[2,2,2,2,2,2,2,2,2]=iota; i32[9]=8,7,6,5,4,3,2,1,0", NULL},
};

static void test_cases(void **state) {
  (void)state;
  NEED_DEVICE(set, d)
  failures = compared = refused = 0;
  fy_opencl_stats s;
  for (size_t i = 0; i < sizeof cases / sizeof *cases; i++)
    run_case(d, cases[i].op, cases[i].inputs, cases[i].attrs, true);
  report(d, "cases");
  fy_opencl_stats_get(d, &s);
  assert_int_equal(failures, 0);
  assert_true(s.detours <= 3);  // a float to an integer, and nine dims
  fy_devices_unref(set);
}

// --- faults ---

static void test_faults(void **state) {
  (void)state;
  static const fy_fault kinds[] = {FY_FAULT_COPY, FY_FAULT_DEVICE_ALLOC};
  for (size_t k = 0; k < 2; k++) {
    NEED_DEVICE(set, d)
    fy_error err;
    fy_error_init(&err);
    fy_tensor *t = NULL, *there = NULL;
    assert_int_equal(fy_tensor_new(FY_FLOAT, 1, (const int64_t[]){4}, &t, &err), FY_OK);
    memset(t->data, 0, fy_tensor_bytes(t));
    fy_fault_arm(kinds[k], 1, true);  // also when the pool tries again
    fy_code code = fy_memory_copy_tensor(t, d, &there, &err);
    fy_fault_disarm(kinds[k]);
    assert_int_equal(code, kinds[k] == FY_FAULT_COPY ? FY_INTERNAL : FY_RESOURCE_EXHAUSTED);
    assert_true(fy_error_text(&err)[0]);
    fy_error_clear(&err);
    assert_int_equal(fy_memory_copy_tensor(t, d, &there, &err), FY_OK);  // usable again
    fy_tensor_release(there);
    fy_tensor_release(t);
    fy_devices_unref(set);
  }
}

// How fast, for the report; told, not judged: the machine may be busy.
static void test_bandwidth(void **state) {
  (void)state;
  NEED_DEVICE(set, d)
  size_t n = 64 * MIB;
  unsigned char *a = malloc(n), *b = malloc(n);
  void *p;
  double best[3] = {0};
  memset(a, 1, n);
  memset(b, 2, n);
  assert_int_equal(fy_mempool_alloc(d->memory, n, "x", &p, NULL), FY_OK);
  for (int i = 0; i < 8; i++) {
    for (int k = 0; k < 3; k++) {
      fy_event done = {0};
      int64_t start = fy_now_ns();
      if (k == 0) {
        memcpy(b, a, n);
      } else {
        assert_int_equal(d->ops->copy(d, k == 1 ? FY_COPY_HOST_TO_DEVICE : FY_COPY_DEVICE_TO_HOST,
                                      k == 1 ? p : (void *)b, k == 1 ? (void *)a : p, n, NULL, NULL,
                                      &done, NULL),
                         FY_OK);
        assert_int_equal(d->ops->wait(d, &done, NULL), FY_OK);
      }
      double speed = (double)n / (double)(fy_now_ns() - start);
      if (speed > best[k]) best[k] = speed;
    }
  }
  print_message("memcpy %.2f GB/s, to the device %.2f, from it %.2f\n", best[0], best[1], best[2]);
  assert_memory_equal(a, b, n);
  fy_mempool_release(d->memory, p);
  free(a);
  free(b);
  fy_devices_unref(set);
}

// Large products by CLBlast: the same results, also with what follows them and in batches.
static void test_clblast(void **state) {
  (void)state;
  NEED_DEVICE(set, d)
  static const struct {
    const char *op, *inputs, *attrs;
  } products[] = {
      {"MatMul", "f32[37,65]=normal; f32[65,33]=normal", NULL},
      {"MatMul", "f32[65,37]=normal; f32[33,65]=normal", "transpose_a=true; transpose_b=true"},
      {"MatMul", "f32[1,65]=normal; f32[65,33]=normal", NULL},
      {"MatMul", "f32[37,65]=normal; f32[65,1]=normal", NULL},
      {"BatchMatMulV2", "f32[3,6,5]=normal; f32[3,4,6]=normal", "adj_x=true; adj_y=true"},
      {"BatchMatMulV2", "f32[3,5,6]=normal; f32[6,4]=normal", NULL},
      {"BatchMatMulV2", "f32[2,1,5,6]=normal; f32[3,6,4]=normal", NULL},
      {"Einsum", "f32[4,6,5]=normal; f32[5,7]=normal", "equation=\"abc,cd->abd\""},
      {"_FerryMatMul", "f32[20,30]=normal; f32[30,40]=normal; f32[40]=normal; f32[20,40]=normal",
       "T=float; N=2; epilogue=\"bias,add,tanh\""},
      {"Conv2D", "f32[1,9,8,16]=normal; f32[1,1,16,33]=normal",
       "strides=[1,1,1,1]; padding=\"VALID\""},
  };
  fy_opencl_stats s;
  setenv("FERRY_CLBLAST", "1", 1);
  failures = compared = refused = 0;
  int64_t start = fy_now_ns();
  for (size_t i = 0; i < sizeof products / sizeof *products; i++)
    run_case(d, products[i].op, products[i].inputs, products[i].attrs, true);
  unsetenv("FERRY_CLBLAST");
  fy_opencl_stats_get(d, &s);
  print_message("%llu of %zu products by CLBlast, %.1f s\n", (unsigned long long)s.library_gemms,
                sizeof products / sizeof *products, (double)(fy_now_ns() - start) * 1e-9);
  fy_devices_unref(set);
  assert_int_equal(failures, 0);
  if (!s.library_gemms) {
    print_message("no CLBlast on this machine\n");
    skip();
  }
  assert_true(s.library_gemms >= 9);  // two dims of batches with other steps are our own kernel's
}

// --- the cache of programs ---

// A cache of its own for as long as a test runs.
static char folder[64], *old_cache;
static void own_cache(void) {
  old_cache = getenv("XDG_CACHE_HOME") ? strdup(getenv("XDG_CACHE_HOME")) : NULL;
  snprintf(folder, sizeof folder, "/tmp/ferry_opencl_XXXXXX");
  assert_non_null(mkdtemp(folder));
  setenv("XDG_CACHE_HOME", folder, 1);
}
static void drop_cache(void) {
  char command[128];
  if (old_cache)
    setenv("XDG_CACHE_HOME", old_cache, 1);
  else
    unsetenv("XDG_CACHE_HOME");
  free(old_cache);
  snprintf(command, sizeof command, "rm -rf %s", folder);
  assert_int_equal(system(command), 0);
}

// Adds on a new device: how many programs were compiled for it.
static int compiled_for_add(void) {
  fy_opencl_stats s;
  fy_device_set *set = open_set(NULL);
  fy_device *d = device_of(set);
  failures = 0;
  run_case(d, "AddV2", "f32[3]=1,2,3; f32[3]=4,5,6", NULL, true);
  fy_opencl_stats_get(d, &s);
  fy_devices_unref(set);
  assert_int_equal(failures, 0);
  assert_int_equal(s.builds + s.cache_hits, 1);
  return (int)s.builds;
}

// The one file of the cache.
static void cached_file(char *path, size_t n) {
  char dir_name[128];
  int files = 0;
  snprintf(dir_name, sizeof dir_name, "%s/ferry/opencl", folder);
  DIR *dir = opendir(dir_name);
  assert_non_null(dir);
  for (struct dirent *e; (e = readdir(dir));) {
    if (e->d_name[0] == '.') continue;
    snprintf(path, n, "%s/%.200s", dir_name, e->d_name);
    files++;
  }
  closedir(dir);
  assert_int_equal(files, 1);
}

// A file that is damaged anywhere or too short is made anew.
static void test_cache(void **state) {
  (void)state;
  NEED_DEVICE(set, d)
  (void)d;
  fy_devices_unref(set);
  char path[400];
  own_cache();
  assert_int_equal(compiled_for_add(), 1);
  assert_int_equal(compiled_for_add(), 0);
  cached_file(path, sizeof path);
  static const int damage[] = {0, 9, 30, 100, -1, -40};  // a byte from the front or from the end
  for (size_t i = 0; i < sizeof damage / sizeof *damage; i++) {
    FILE *f = fopen(path, "r+b");
    assert_non_null(f);
    assert_int_equal(fseek(f, damage[i], damage[i] < 0 ? SEEK_END : SEEK_SET), 0);
    int byte = fgetc(f);
    assert_int_equal(fseek(f, -1, SEEK_CUR), 0);
    fputc(byte ^ 0x55, f);
    fclose(f);
    assert_int_equal(compiled_for_add(), 1);
  }
  assert_int_equal(compiled_for_add(), 0);
  static const long lengths[] = {0, 7, 39, 40, 1000};
  for (size_t i = 0; i < sizeof lengths / sizeof *lengths; i++) {
    assert_int_equal(truncate(path, lengths[i]), 0);
    assert_int_equal(compiled_for_add(), 1);
  }
  // A folder that cannot be written to: everything works, nothing is kept.
  setenv("XDG_CACHE_HOME", "/proc/nowhere", 1);
  assert_int_equal(compiled_for_add(), 1);
  assert_int_equal(compiled_for_add(), 1);
  setenv("XDG_CACHE_HOME", folder, 1);
  drop_cache();
}

static const char *program;  // this one

// Several processes at once, all of which find the cache empty.
static void test_cache_processes(void **state) {
  (void)state;
  NEED_DEVICE(set, d)
  (void)d;
  fy_devices_unref(set);
  char command[600], path[400];
  own_cache();
  snprintf(command, sizeof command,
           "a=0; for i in 1 2 3 4; do '%s' add & p=\"$p $!\"; done; "
           "for q in $p; do wait $q || a=1; done; exit $a",
           program);
  assert_int_equal(system(command), 0);
  cached_file(path, sizeof path);
  assert_int_equal(compiled_for_add(), 0);  // what they left is whole
  drop_cache();
}

int main(int argc, char **argv) {
  program = argv[0];
  if (argc > 1) {  // one of several processes
    fy_device_set *set = open_set(NULL);
    fy_device *d = device_of(set);
    if (d) run_case(d, "AddV2", "f32[3]=1,2,3; f32[3]=4,5,6", NULL, true);
    fy_devices_unref(set);
    _exit(failures);  // without a leak check: the driver's compiler has its own
  }
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(test_listing_takes_nothing),
      cmocka_unit_test(test_copies),
      cmocka_unit_test(test_limit),
      cmocka_unit_test(test_cases),
      cmocka_unit_test(test_samples),
      cmocka_unit_test(test_faults),
      cmocka_unit_test(test_bandwidth),
      cmocka_unit_test(test_clblast),
      cmocka_unit_test(test_cache),
      cmocka_unit_test(test_cache_processes),
  };
  return cmocka_run_group_tests(tests, NULL, NULL);
}
