// SPDX-License-Identifier: Apache-2.0
// kernels.h: which ops have a kernel for the CPU that is faster than their reference loop. One kernel
// = one file and one line in kernels.inc. The simulated GPU runs the same code.

#ifndef FY_DEVICES_CPU_KERNELS_H
#define FY_DEVICES_CPU_KERNELS_H

#include "base/thread.h"
#include "ops/op.h"

// The kernel for |site|, which is bound otherwise, or NULL.
const fy_fast_kernel *fy_cpu_kernel(const fy_site *site);
// For a call that a kernel cannot do: the op's own loop.
static inline fy_code fy_fast_reference(fy_kernel_ctx *ctx, fy_error *err) {
  return ctx->site->op->impl->compute(ctx, err);
}

// ---------------------------------------------------------------- packed weights
// What a kernel made of some inputs (its weights), kept as long as these are the same tensors. Where
// an input is steady (site->steady_inputs) a reference is kept, so that nobody writes to it unseen.
// Large weights are kept from their second use on: a model that runs once never pays for fresh pages
// that hold its weights again, and gets its first result sooner.
// Sites that make the same of the same weights share the memory of it.
#define FY_PACK_INPUTS 8
typedef struct fy_pack_block fy_pack_block;
typedef struct fy_packed {
  int refs;  // under the cache's lock
  int n;
  int64_t depth;  // of the first input: the same weights may be read in other groups
  fy_tensor *from[FY_PACK_INPUTS];  // NULL: nothing is kept (the inputs are not steady)
  void *data;                       // 64-byte aligned
  fy_pack_block *block;             // where |data| is; NULL: scratch of the call, or the stage
  bool staged;                      // |data| is the stage
  bool unknown;                     // to other sites, because it is being filled
  void *bias;                       // inside |data|, or NULL
} fy_packed;
typedef struct fy_pack_cache {
  fy_mutex mu;
  fy_packed *current;
  bool used;            // before: large weights are worth keeping
  bool turn_a, turn_b;  // attributes transpose_a, transpose_b or adj_x, adj_y of the site
} fy_pack_cache;

// prepare() and release() of a kernel whose state is such a cache.
fy_code fy_pack_cache_prepare(fy_site *site, fy_error *err);
void fy_pack_cache_free(void *cache);
// Finds what was made of inputs first..first+n-1, or makes room of |bytes|; |*fresh| tells that the
// caller has to fill it. Release it after use.
FY_MUST_CHECK fy_code fy_pack_acquire(fy_kernel_ctx *ctx, fy_pack_cache *cache, int first, int n,
                                      size_t bytes, fy_packed **out, bool *fresh, fy_error *err);
// What fy_pack_acquire will take, for fy_needs_fn.
void fy_pack_needs(const fy_kernel_ctx *ctx, int first, int n, size_t bytes, fy_needs *out);
// |ok|: it was filled and may be kept.
void fy_pack_release(fy_pack_cache *cache, fy_packed *packed, bool ok);

struct fy_conv;
// The gradient of a convolution's input by adding up what each pixel of the output's gradient gives
// (kernel_conv_input.c): where that is less work than to gather it.
bool fy_conv_scatters(const struct fy_conv *c);
size_t fy_conv_scatter_needs(const fy_kernel_ctx *ctx, const struct fy_conv *c);  // for fy_needs
FY_MUST_CHECK fy_code fy_conv_scatter(fy_kernel_ctx *ctx, const struct fy_conv *c,
                                      const float *filter, const float *grad, float *out,
                                      fy_error *err);
// The gradient of a filter over few channels (kernel_conv_filter_few.c): [taps, in_depth, out_depth].
bool fy_filter_few_fits(const struct fy_conv *c, bool wide);
size_t fy_filter_few_needs(const fy_kernel_ctx *ctx, const struct fy_conv *c, bool wide);
FY_MUST_CHECK fy_code fy_filter_few(fy_kernel_ctx *ctx, const struct fy_conv *c, bool wide,
                                    const void *in, const void *grad, void *out, fy_error *err);
// Depthwise convolution of floats, channels last, with one filter per channel (kernel_depthwise.c).
bool fy_depthwise_can(const struct fy_conv *c);
FY_MUST_CHECK fy_code fy_depthwise_plain(fy_kernel_ctx *ctx, const struct fy_conv *c,
                                         const float *in, const float *filter, float *out,
                                         fy_error *err);

#endif
