// SPDX-License-Identifier: Apache-2.0
// prelude.cl: one kernel language out of two. Kernels are written in what OpenCL C 1.2 and CUDA C
// have in common, with the words below for the rest. Types come from the build options:
//   S  how an element is stored (half, ushort for bfloat16, float, int …)
//   T  what is computed with    (float for the 16-bit floats, else S)
//   LD(p, i), ST(p, i, v)       load and store with the conversion
// A tensor is a pointer and an offset in elements, because memory is cut out of large buffers.

#if defined(__CUDACC__) || defined(__CUDACC_RTC__)
#define KERNEL extern "C" __global__
#define GLOBAL
#define LOCAL __shared__
#define LOCAL_ARG
#define FN static __device__ __forceinline__
#define BARRIER() __syncthreads()
#define GID(d) ((long)(d == 0 ? blockIdx.x : d == 1 ? blockIdx.y : blockIdx.z) * (d == 0 ? blockDim.x : d == 1 ? blockDim.y : blockDim.z) + (d == 0 ? threadIdx.x : d == 1 ? threadIdx.y : threadIdx.z))
#define LID(d) ((int)(d == 0 ? threadIdx.x : d == 1 ? threadIdx.y : threadIdx.z))
#define GROUP(d) ((long)(d == 0 ? blockIdx.x : d == 1 ? blockIdx.y : blockIdx.z))
#define GROUP_SIZE ((int)blockDim.x)
typedef unsigned char uchar;
typedef unsigned short ushort;
typedef unsigned int uint;
typedef unsigned long ulong;
struct half_bits { ushort bits; };
typedef half_bits half;
FN float ld_half(const half *p, long i) {
  float f;
  asm("cvt.f32.f16 %0, %1;" : "=f"(f) : "h"(p[i].bits));
  return f;
}
FN void st_half(half *p, long i, float v) {
  asm("cvt.rn.f16.f32 %0, %1;" : "=h"(p[i].bits) : "f"(v));
}
FN float round_half(float v) {
  half h;
  st_half(&h, 0, v);
  return ld_half(&h, 0);
}
#define LD_half(p, i) ld_half(p, i)
#define ST_half(p, i, v) st_half(p, i, v)
#define as_float(x) __uint_as_float(x)
#define as_uint(x) __float_as_uint(x)
#define as_double(x) __longlong_as_double((long long)(x))
#define mul_hi(a, b) __umulhi(a, b)
#define isnan(x) ((x) != (x))
FN float sign(float x) { return x > 0 ? 1.0f : x < 0 ? -1.0f : x; }
#else
#pragma OPENCL FP_CONTRACT OFF
#ifdef USE_DOUBLE
#pragma OPENCL EXTENSION cl_khr_fp64 : enable
#endif
#define KERNEL __kernel
#define GLOBAL __global
#define LOCAL __local
#define LOCAL_ARG __local
#define FN
#define BARRIER() barrier(CLK_LOCAL_MEM_FENCE)
#define GID(d) ((long)get_global_id(d))
#define LID(d) ((int)get_local_id(d))
#define GROUP(d) ((long)get_group_id(d))
#define GROUP_SIZE ((int)get_local_size(0))
#define LD_half(p, i) vload_half((size_t)(i), p)
#define ST_half(p, i, v) vstore_half_rte(v, (size_t)(i), p)
FN float round_half(float v) {
  ushort h;
  vstore_half_rte(v, 0, (half *)&h);
  return vload_half(0, (const half *)&h);
}
#endif

FN float bf16_to_float(ushort b) { return as_float((uint)b << 16); }
FN ushort float_to_bf16(float f) {
  uint u = as_uint(f);
  if ((u & 0x7fffffffu) > 0x7f800000u) return (ushort)((u >> 16) | 0x40u);
  return (ushort)((u + 0x7fffu + ((u >> 16) & 1u)) >> 16);
}
#define LD_bf16(p, i) bf16_to_float((p)[i])
#define ST_bf16(p, i, v) ((p)[i] = float_to_bf16(v))
#define LD_plain(p, i) ((p)[i])
#define ST_plain(p, i, v) ((p)[i] = (v))
#define LD_bool(p, i) ((p)[i] != 0)
#define ST_bool(p, i, v) ((p)[i] = (v) ? 1 : 0)
// As if stored and loaded again: what a 16-bit float keeps of |v|.
#define RD_plain(v) (v)
#define RD_half(v) round_half(v)
#define RD_bf16(v) bf16_to_float(float_to_bf16(v))
#define LD_(k, p, i) LD_##k(p, i)
#define LDX(k, p, i) LD_(k, p, i)
#define ST_(k, p, i, v) ST_##k(p, i, v)
#define STX(k, p, i, v) ST_(k, p, i, v)
#define RD_(k, v) RD_##k(v)
#define RDX(k, v) RD_(k, v)
#ifdef KIND
#define RD(v) RDX(KIND, v)
#define LD(p, i) LDX(KIND, p, i)
#define ST(p, i, v) STX(KIND, p, i, v)
#endif

#ifdef T
// What may follow a product or a convolution.
FN T act(T v, int code, T alpha) {
#ifdef FLOATING
  switch (code) {
    case 1: return v > 0 ? v : (v != v ? v : (T)0);
    case 2: return v != v ? v : v < 0 ? (T)0 : v > 6 ? (T)6 : v;
    case 3: return tanh(v);
    case 4: return (T)1 / ((T)1 + exp(-v));
    case 5: return v < 0 ? expm1(v) : v;
    case 6: return v > 0 ? v : v * alpha;
    case 7: return v / ((T)1 + exp(-v));
  }
#endif
  return v;
}

// The sum and the largest of what the 64 items of a group have, for all of them; a NaN is the largest.
// ACC: what is summed in, if it is not T.
#ifndef ACC
#define ACC T
#endif
FN ACC group_sum(LOCAL_ARG ACC *part, ACC v) {
  int id = LID(0);
  part[id] = v;
  BARRIER();
  for (int step = 32; step > 0; step >>= 1) {
    if (id < step) part[id] += part[id + step];
    BARRIER();
  }
  v = part[0];
  BARRIER();
  return v;
}
FN T group_max(LOCAL_ARG T *part, T v) {
  int id = LID(0);
  part[id] = v;
  BARRIER();
  for (int step = 32; step > 0; step >>= 1) {
    if (id < step) {
      T a = part[id], b = part[id + step];
      part[id] = a != a || a > b ? a : b;
    }
    BARRIER();
  }
  v = part[0];
  BARRIER();
  return v;
}
#endif

struct win {  // NHWC by strides: [n, h, w, c] of input and output
  long batch, in_h, in_w, in_c, out_h, out_w, out_c;
  long k_h, k_w, stride_h, stride_w, dil_h, dil_w, pad_h, pad_w;
  long is[4], os[4];
  long depth, per_group;  // input and output channels of a group of a convolution
};

struct geo {
  int rank, unused;
  long dims[8];
  long s[3][8];
};
FN long geo_at(const struct geo *g, int k, long i) {
  long at = 0;
  for (int d = g->rank - 1; d > 0; d--) {
    long q = i / g->dims[d];
    at += (i - q * g->dims[d]) * g->s[k][d];
    i = q;
  }
  return at + i * g->s[k][0];
}
