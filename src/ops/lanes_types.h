// SPDX-License-Identifier: Apache-2.0
// lanes_types.h: vectors of LANE_BYTES for the lane kernels. Part of lanes_plain.c and its like.

typedef float vec_f32 __attribute__((vector_size(LANE_BYTES)));
typedef double vec_f64 __attribute__((vector_size(LANE_BYTES)));
typedef int32_t vec_i32 __attribute__((vector_size(LANE_BYTES)));
typedef int64_t vec_i64 __attribute__((vector_size(LANE_BYTES)));
typedef uint32_t vec_u32 __attribute__((vector_size(LANE_BYTES)));
typedef uint64_t vec_u64 __attribute__((vector_size(LANE_BYTES)));
typedef float elem_f32;
typedef double elem_f64;
typedef int32_t elem_i32;
typedef int64_t elem_i64;

// Loops of a few vectors are unrolled, so that their arrays live in registers.
#if defined(__clang__)
#define UNROLL _Pragma("clang loop unroll(full)")
#else
#define UNROLL _Pragma("GCC unroll 8")
#endif
#define ALWAYS_INLINE static inline __attribute__((always_inline))
