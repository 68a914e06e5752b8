// SPDX-License-Identifier: Apache-2.0
// hash.c: string hashes that must agree with TensorFlow bit for bit: FarmHash's Fingerprint64
// (farmhashna::Hash64), SipHash-2-4 and Hash64 (a 64-bit Murmur), and the ops made of them.

#include "ops/shape_fns.h"
#include "ops/text.h"
#include "ops/values.h"

// ---------------------------------------------------------------- FarmHash
#define K0 0xc3a5c85c97cb3127ull
#define K1 0xb492b66fbe98f273ull
#define K2 0x9ae16a3b2f90404full

static uint64_t load64(const char *p) {
  uint64_t v;
  memcpy(&v, p, 8);
  return v;
}
static uint64_t load32(const char *p) {
  uint32_t v;
  memcpy(&v, p, 4);
  return v;
}
static uint64_t rotate(uint64_t v, int by) {
  return by == 0 ? v : (v >> by) | (v << (64 - by));
}
static uint64_t shift_mix(uint64_t v) {
  return v ^ (v >> 47);
}
static uint64_t hash16(uint64_t u, uint64_t v, uint64_t mul) {
  uint64_t a = (u ^ v) * mul;
  a ^= a >> 47;
  uint64_t b = (v ^ a) * mul;
  b ^= b >> 47;
  return b * mul;
}

static uint64_t hash_to_16(const char *s, size_t n) {
  if (n >= 8) {
    const uint64_t mul = K2 + n * 2, a = load64(s) + K2, b = load64(s + n - 8);
    const uint64_t c = rotate(b, 37) * mul + a, d = (rotate(a, 25) + b) * mul;
    return hash16(c, d, mul);
  }
  if (n >= 4) return hash16(n + (load32(s) << 3), load32(s + n - 4), K2 + n * 2);
  if (n > 0) {
    const uint8_t a = (uint8_t)s[0], b = (uint8_t)s[n >> 1], c = (uint8_t)s[n - 1];
    const uint32_t y = a + ((uint32_t)b << 8), z = (uint32_t)n + ((uint32_t)c << 2);
    return shift_mix(y * K2 ^ z * K0) * K2;
  }
  return K2;
}

static uint64_t hash_17_to_32(const char *s, size_t n) {
  const uint64_t mul = K2 + n * 2, a = load64(s) * K1, b = load64(s + 8);
  const uint64_t c = load64(s + n - 8) * mul, d = load64(s + n - 16) * K2;
  return hash16(rotate(a + b, 43) + rotate(c, 30) + d, a + rotate(b + K2, 18) + c, mul);
}

static uint64_t hash_33_to_64(const char *s, size_t n) {
  const uint64_t mul = K2 + n * 2;
  const uint64_t a = load64(s) * K2, b = load64(s + 8), c = load64(s + n - 8) * mul,
                 d = load64(s + n - 16) * K2;
  const uint64_t y = rotate(a + b, 43) + rotate(c, 30) + d;
  const uint64_t z = hash16(y, a + rotate(b + K2, 18) + c, mul);
  const uint64_t e = load64(s + 16) * mul, f = load64(s + 24);
  const uint64_t g = (y + load64(s + n - 32)) * mul, h = (z + load64(s + n - 24)) * mul;
  return hash16(rotate(e + f, 43) + rotate(g, 30) + h, e + rotate(f + a, 18) + g, mul);
}

typedef struct pair {
  uint64_t first, second;
} pair;

static pair weak_hash(const char *s, uint64_t a, uint64_t b) {
  const uint64_t w = load64(s), x = load64(s + 8), y = load64(s + 16), z = load64(s + 24);
  a += w;
  b = rotate(b + a + z, 21);
  const uint64_t c = a;
  a += x + y;
  b += rotate(a, 44);
  return (pair){a + z, b + c};
}

uint64_t fy_fingerprint64(const char *s, size_t n) {
  if (n <= 16) return hash_to_16(s, n);
  if (n <= 32) return hash_17_to_32(s, n);
  if (n <= 64) return hash_33_to_64(s, n);
  const uint64_t seed = 81;
  uint64_t x = seed, y = seed * K1 + 113, z = shift_mix(y * K2 + 113) * K2;
  pair v = {0, 0}, w = {0, 0};
  x = x * K2 + load64(s);
  const char *end = s + (n - 1) / 64 * 64, *last64 = end + ((n - 1) & 63) - 63;
  do {
    x = rotate(x + y + v.first + load64(s + 8), 37) * K1;
    y = rotate(y + v.second + load64(s + 48), 42) * K1;
    x ^= w.second;
    y += v.first + load64(s + 40);
    z = rotate(z + w.first, 33) * K1;
    v = weak_hash(s, v.second * K1, x + w.first);
    w = weak_hash(s + 32, z + w.second, y + load64(s + 16));
    const uint64_t t = z;
    z = x;
    x = t;
    s += 64;
  } while (s != end);
  const uint64_t mul = K1 + ((z & 0xff) << 1);
  s = last64;
  w.first += (n - 1) & 63;
  v.first += w.first;
  w.first += v.first;
  x = rotate(x + y + v.first + load64(s + 8), 37) * mul;
  y = rotate(y + v.second + load64(s + 48), 42) * mul;
  x ^= w.second * 9;
  y += v.first * 9 + load64(s + 40);
  z = rotate(z + w.first, 33) * mul;
  v = weak_hash(s, v.second * mul, x + w.first);
  w = weak_hash(s + 32, z + w.second, y + load64(s + 16));
  const uint64_t t = z;
  z = x;
  x = t;
  return hash16(hash16(v.first, w.first, mul) + shift_mix(y) * K0 + z,
                hash16(v.second, w.second, mul) + x, mul);
}

// ---------------------------------------------------------------- SipHash-2-4, Hash64
typedef struct sip {
  uint64_t v0, v1, v2, v3;
} sip;

static void sip_round(sip *s) {
  s->v0 += s->v1;
  s->v1 = rotate(s->v1, 51) ^ s->v0;
  s->v0 = rotate(s->v0, 32);
  s->v2 += s->v3;
  s->v3 = rotate(s->v3, 48) ^ s->v2;
  s->v0 += s->v3;
  s->v3 = rotate(s->v3, 43) ^ s->v0;
  s->v2 += s->v1;
  s->v1 = rotate(s->v1, 47) ^ s->v2;
  s->v2 = rotate(s->v2, 32);
}

static void sip_word(sip *s, uint64_t m) {
  s->v3 ^= m;
  sip_round(s);
  sip_round(s);
  s->v0 ^= m;
}

uint64_t fy_siphash(uint64_t k0, uint64_t k1, const char *p, size_t n) {
  sip s = {k0 ^ 0x736f6d6570736575ull, k1 ^ 0x646f72616e646f6dull, k0 ^ 0x6c7967656e657261ull,
           k1 ^ 0x7465646279746573ull};
  size_t i = 0;
  for (; i + 8 <= n; i += 8) sip_word(&s, load64(p + i));
  uint64_t last = (uint64_t)n << 56;
  for (size_t k = 0; i + k < n; k++) last |= (uint64_t)(uint8_t)p[i + k] << (8 * k);
  sip_word(&s, last);
  s.v2 ^= 0xff;
  for (int k = 0; k < 4; k++) sip_round(&s);
  return s.v0 ^ s.v1 ^ s.v2 ^ s.v3;
}

uint64_t fy_tf_hash64(const char *p, size_t n, uint64_t seed) {
  const uint64_t m = 0xc6a4a7935bd1e995ull;
  uint64_t h = seed ^ (n * m);
  for (; n >= 8; p += 8, n -= 8) {
    uint64_t k = load64(p) * m;
    k ^= k >> 47;
    h = (h ^ k * m) * m;
  }
  if (n) {
    for (size_t i = n; i-- > 0;) h ^= (uint64_t)(uint8_t)p[i] << (8 * i);
    h *= m;
  }
  h = (h ^ (h >> 47)) * m;
  return h ^ (h >> 47);
}

// ---------------------------------------------------------------- buckets
enum { FAST, STRONG, LEGACY };

static fy_code bucket(fy_kernel_ctx *ctx, int which, fy_error *err) {
  const fy_tensor *in = ctx->in[0];
  const uint64_t buckets = (uint64_t)fy_site_int(ctx->site, "num_buckets");
  const fy_attr *key = fy_site_attr(ctx->site, "key");
  fy_tensor *out;
  FY_TRY(fy_out_like(ctx, 0, in, &out, err));
  for (int64_t i = 0; i < in->count; i++) {
    const fy_view v = fy_tensor_string(in, i);
    const uint64_t h =
        which == FAST     ? fy_fingerprint64(v.p, v.n)
        : which == STRONG ? fy_siphash((uint64_t)key->v.ints[0], (uint64_t)key->v.ints[1], v.p, v.n)
                          : fy_tf_hash64(v.p, v.n, 0xDECAFCAFFEull);
    ((int64_t *)out->data)[i] = (int64_t)(h % buckets);
  }
  return FY_OK;
}
static fy_code bucket_fast(fy_kernel_ctx *ctx, fy_error *err) {
  return bucket(ctx, FAST, err);
}
static fy_code bucket_strong(fy_kernel_ctx *ctx, fy_error *err) {
  return bucket(ctx, STRONG, err);
}
static fy_code bucket_legacy(fy_kernel_ctx *ctx, fy_error *err) {
  return bucket(ctx, LEGACY, err);
}
static fy_code check_key(fy_site *site, fy_error *err) {
  const fy_attr *key = fy_site_attr(site, "key");
  if (key && key->is_list && key->n == 2) return FY_OK;
  return fy_fail(err, FY_INVALID_ARGUMENT, "Key must have 2 elements");
}

// ---------------------------------------------------------------- Fingerprint
static fy_code fingerprint_shape(fy_shape_ctx *ctx, fy_error *err) {
  FY_TRY(fy_shape_rank_at_least(ctx->in[0], 1, err));
  FY_TRY(fy_shape_rank_is(ctx->in[1], 0, err));
  const fy_tensor *method = fy_shape_tensor(ctx, 1);
  const bool farm =
      method && method->count == 1 && fy_view_is(fy_tensor_string(method, 0), "farmhash64");
  return fy_shape_set(ctx, 0, 2, (const int64_t[]){fy_dim_of(ctx->in[0], 0), farm ? 8 : -1}, err);
}

static fy_code fingerprint(fy_kernel_ctx *ctx, fy_error *err) {
  const fy_tensor *in = ctx->in[0], *method = ctx->in[1];
  char x[128];
  if (method->rank != 0) {
    return fy_fail(err, FY_INVALID_ARGUMENT, "`method` should be a scalar string: %s",
                   fy_tensor_shape_text(method, x));
  }
  const fy_view name = fy_tensor_string(method, 0);
  if (!fy_view_is(name, "farmhash64")) {
    return fy_fail(err, FY_INVALID_ARGUMENT, "Unsupported fingerprint method: %.*s", (int)name.n,
                   name.p);
  }
  if (in->rank < 1) {
    return fy_fail(err, FY_INVALID_ARGUMENT, "`data` should have at least one dimension: %s",
                   fy_tensor_shape_text(in, x));
  }
  if (!fy_dtype_is_plain(in->dtype) && in->dtype != FY_STRING) {
    return fy_fail(err, FY_INVALID_ARGUMENT, "Variant not supported");
  }
  const int64_t rows = in->dims[0], inner = rows ? in->count / rows : 0;
  fy_tensor *out;
  FY_TRY(fy_out(ctx, 0, 2, (const int64_t[]){rows, 8}, &out, err));
  fy_str hashes;
  fy_str_init(&hashes);
  for (int64_t r = 0; r < rows; r++) {
    uint64_t h;
    if (in->dtype != FY_STRING) {
      const size_t bytes = (size_t)inner * fy_dtype_storage(in->dtype);
      h = fy_fingerprint64(bytes ? (const char *)in->data + (size_t)r * bytes : "", bytes);
    } else if (inner == 1) {
      const fy_view v = fy_tensor_string(in, r);
      h = fy_fingerprint64(v.p, v.n);
    } else {  // the hash of the strings' hashes
      hashes.len = 0;
      for (int64_t k = 0; k < inner; k++) {
        const fy_view v = fy_tensor_string(in, r * inner + k);
        const uint64_t one = fy_fingerprint64(v.p, v.n);
        fy_str_addn(&hashes, (const char *)&one, 8);
      }
      h = fy_fingerprint64(hashes.p ? hashes.p : "", hashes.len);
    }
    memcpy((char *)out->data + r * 8, &h, 8);
  }
  const bool failed = hashes.failed;
  fy_str_free(&hashes);
  return failed ? fy_fail_oom(err, 8) : FY_OK;
}

static const fy_sample fast_samples[] = {
    {"s[3]='Hello','TensorFlow','2.x'", "num_buckets=3", FY_OK, "0,2,2"}};
static const fy_sample strong_samples[] = {
    {"s[2]='Hello','TF'", "num_buckets=3; key=[1,2]", FY_OK, "2,0"}};
static const fy_sample legacy_samples[] = {{"s[2]='a','b'", "num_buckets=7", FY_OK, NULL}};
static const fy_sample fingerprint_samples[] = {
    {"s[1]='a'; s[]='farmhash64'", NULL, FY_OK, NULL},
    {"i32[2]=1,2; s[]='md5'", NULL, FY_INVALID_ARGUMENT, "Unsupported fingerprint method: md5"},
};

FY_OP(StringToHashBucketFast, .shape = fy_shape_unchanged, .compute = bucket_fast,
      .flags = FY_OP_HOST, FY_SAMPLES(fast_samples));
FY_OP(StringToHashBucketStrong, .shape = fy_shape_unchanged, .prepare = check_key,
      .compute = bucket_strong, .flags = FY_OP_HOST, FY_SAMPLES(strong_samples));
FY_OP(StringToHashBucket, .shape = fy_shape_unchanged, .compute = bucket_legacy,
      .flags = FY_OP_HOST, FY_SAMPLES(legacy_samples));
FY_OP(Fingerprint, .shape = fingerprint_shape, .compute = fingerprint, .flags = FY_OP_HOST,
      FY_SAMPLES(fingerprint_samples));
