// SPDX-License-Identifier: Apache-2.0
#include "ops/random_source.h"

#include <stdio.h>

#include "base/alloc.h"
#include "base/thread.h"
#include "ops/values.h"

typedef struct random_state {
  fy_mutex lock;
  fy_philox generator;
} random_state;

static uint64_t entropy(void) {
  uint64_t bits = 0;
  FILE *f = fopen("/dev/urandom", "rb");
  if (f) {
    if (fread(&bits, sizeof bits, 1, f) != 1) bits = 0;
    fclose(f);
  }
  return bits ? bits : (uint64_t)fy_now_ns() * 0x9E3779B97F4A7C15ull;
}

fy_code fy_random_prepare(fy_site *site, fy_error *err) {
  random_state *s = fy_calloc(1, sizeof *s);
  if (!s) return fy_fail_oom(err, sizeof *s);
  uint64_t seed = (uint64_t)fy_site_int(site, "seed"), seed2 = (uint64_t)fy_site_int(site, "seed2");
  if (seed == 0 && seed2 == 0) {
    seed = entropy();
    seed2 = entropy();
  }
  fy_mutex_init(&s->lock);
  s->generator = fy_philox_seed(seed, seed2);
  site->state = s;
  return FY_OK;
}

void fy_random_release(void *state) {
  random_state *s = state;
  if (!s) return;
  fy_mutex_destroy(&s->lock);
  fy_free(s);
}

fy_philox fy_random_reserve(const fy_kernel_ctx *ctx, uint64_t blocks) {
  random_state *s = ctx->site->state;
  fy_lock(&s->lock);
  const fy_philox g = s->generator;
  fy_philox_skip(&s->generator, blocks);
  fy_unlock(&s->lock);
  return g;
}

// The user's seed is scrambled once, so that a weak one (0, 1, 2 …) still gives strong keys.
fy_code fy_random_of_seed(const fy_tensor *seed, fy_philox *out, fy_error *err) {
  char x[128];
  if (seed->rank != 1 || seed->count != 2) {
    return fy_fail(err, FY_INVALID_ARGUMENT, "seed must have shape [2], not %s",
                   fy_tensor_shape_text(seed, x));
  }
  const uint64_t s0 = (uint64_t)fy_tensor_int(seed, 0), s1 = (uint64_t)fy_tensor_int(seed, 1);
  fy_philox mixer = {{(uint32_t)s0, (uint32_t)(s0 >> 32), (uint32_t)s1, (uint32_t)(s1 >> 32)},
                     {0x3EC8F720u, 0x02461E29u}};
  uint32_t mix[4];
  fy_philox_next(&mixer, mix);
  *out = (fy_philox){{0, 0, mix[2], mix[3]}, {mix[0], mix[1]}};
  return FY_OK;
}
