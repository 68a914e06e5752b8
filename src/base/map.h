// SPDX-License-Identifier: Apache-2.0
// map.h: hash tables. fy_map is keyed by bytes (not copied: the key must outlive the entry);
// fy_imap by a 64-bit number. Insertion order is kept by fy_map (iterate items[0..n)).
// Not thread-safe.

#ifndef FY_BASE_MAP_H
#define FY_BASE_MAP_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

typedef struct fy_map_item {
  const char *key;
  uint32_t len;
  uint32_t hash;
  void *value;  // NULL in a removed item
} fy_map_item;

typedef struct fy_map {
  fy_map_item *items;
  uint32_t *slots;  // index + 1 into items, 0 = empty
  uint32_t n, cap, slot_mask, live;
} fy_map;

void fy_map_init(fy_map *m);
void fy_map_free(fy_map *m);
void *fy_map_get(const fy_map *m, const char *key, size_t len);  // NULL if absent
void *fy_map_gets(const fy_map *m, const char *key);
// Values must not be NULL. Replaces. False when memory is short.
bool fy_map_put(fy_map *m, const char *key, size_t len, void *value);
bool fy_map_puts(fy_map *m, const char *key, void *value);
void *fy_map_remove(fy_map *m, const char *key, size_t len);  // the value that was there

typedef struct fy_imap {
  uint64_t *keys;
  uint64_t *values;
  uint8_t *used;
  uint32_t n, mask;
} fy_imap;

void fy_imap_init(fy_imap *m);
void fy_imap_free(fy_imap *m);
bool fy_imap_get(const fy_imap *m, uint64_t key, uint64_t *out);
bool fy_imap_put(fy_imap *m, uint64_t key, uint64_t value);  // replaces

uint32_t fy_hash_bytes(const void *p, size_t n);
uint64_t fy_hash64(const void *p, size_t n, uint64_t seed);
static inline uint64_t fy_hash_mix(uint64_t h, uint64_t v) {
  h ^= v + 0x9E3779B97F4A7C15ull + (h << 6) + (h >> 2);
  h *= 0xFF51AFD7ED558CCDull;
  return h ^ (h >> 32);
}

#endif
