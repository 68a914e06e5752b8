// SPDX-License-Identifier: Apache-2.0
// sample.h: the little language of op samples (fy_sample in op.h), for tests, benchmarks and docs.
//
//   inputs:  tensor ("; " tensor)*
//   tensor:  type "[" dims "]=" values     f32[2,3]=1,2,3,4,5,6   i32[]=7   s[2]='a','b'   f32[0]=
//   type:    f16 bf16 f32 f64 i8 i16 i32 i64 u8 u16 u32 u64 c64 c128 b s, or any dtype name
//   values:  a comma-separated list (numbers, true/false, nan, inf, -inf, 'text'), or a generator:
//            normal uniform (fixed pseudo-random), iota (0, 1, 2 …), zeros, ones,
//            special (NaN, Inf, -Inf, 0, -0, the smallest denormal, the largest, the smallest
//            normal, then -1.5, 1 … repeating)
//   attrs:   name "=" value ("; " name "=" value)*
//   value:   true/false, 12, 0.5, "text", float (a dtype), [2,?] (a shape when the op says so),
//            [1,2] [float,int32] (lists)

#ifndef FY_OPS_SAMPLE_H
#define FY_OPS_SAMPLE_H

#include "ops/op.h"

#define FY_SAMPLE_INPUTS 16

typedef struct fy_sample_inputs {
  fy_tensor *in[FY_SAMPLE_INPUTS];
  int n;
} fy_sample_inputs;

// Parses |text|. INVALID_ARGUMENT names the place. Release with fy_sample_inputs_free.
FY_MUST_CHECK fy_code fy_sample_parse_inputs(const char *text, fy_sample_inputs *out,
                                             fy_error *err);
void fy_sample_inputs_free(fy_sample_inputs *inputs);
// Adds the attributes of |text| (may be NULL) to |attrs|, read as |spec| types them.
FY_MUST_CHECK fy_code fy_sample_parse_attrs(const char *text, const fy_op_spec *spec,
                                            fy_attrs *attrs, fy_arena *arena, fy_error *err);
// Sets the attributes that the inputs themselves tell (T, N, Tin) where they are absent.
FY_MUST_CHECK fy_code fy_sample_infer_attrs(const fy_op_spec *spec, fy_tensor *const *in,
                                            int num_inputs, fy_attrs *attrs, fy_arena *arena,
                                            fy_error *err);
// |values| as a tensor like |like| (its type and shape): what a sample expects.
FY_MUST_CHECK fy_code fy_sample_parse_expected(const char *values, const fy_tensor *like,
                                               fy_tensor **out, fy_error *err);

#endif
