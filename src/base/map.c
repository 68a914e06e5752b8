// SPDX-License-Identifier: Apache-2.0
// map.c: open addressing over an array of items in insertion order.
// Invariant: slots number at least twice |cap|, so a probe always ends at an empty slot. A removed
// item keeps its slot until the next rebuild; its key is never read again (it may be gone).

#include "base/map.h"

#include <string.h>

#include "base/alloc.h"

// --- hashing: 128-bit multiply and fold, as wyhash does ---

static uint64_t fold(uint64_t a, uint64_t b) {
  unsigned __int128 m = (unsigned __int128)a * b;
  return (uint64_t)m ^ (uint64_t)(m >> 64);
}

static uint64_t read64(const unsigned char *p) {
  uint64_t v;
  memcpy(&v, p, sizeof v);
  return v;
}

static uint64_t read32(const unsigned char *p) {
  uint32_t v;
  memcpy(&v, p, sizeof v);
  return v;
}

#define K0 0xA0761D6478BD642Full
#define K1 0xE7037ED1A0B428DBull
#define K2 0x8EBC6AF09C88C6E3ull

uint64_t fy_hash64(const void *data, size_t n, uint64_t seed) {
  const unsigned char *p = data;
  uint64_t a = 0, b = 0;
  size_t left = n;
  seed ^= K0;
  for (; left > 16; left -= 16, p += 16) seed = fold(read64(p) ^ K1, read64(p + 8) ^ seed);
  if (left >= 8) {  // the two reads overlap instead of padding
    a = read64(p);
    b = read64(p + left - 8);
  } else if (left >= 4) {
    a = read32(p);
    b = read32(p + left - 4);
  } else if (left > 0) {
    a = ((uint64_t)p[0] << 16) | ((uint64_t)p[left >> 1] << 8) | p[left - 1];
  }
  return fold(K1 ^ n, fold(a ^ K1, b ^ seed ^ K2) ^ K0);
}

uint32_t fy_hash_bytes(const void *p, size_t n) {
  uint64_t h = fy_hash64(p, n, 0);
  return (uint32_t)(h ^ (h >> 32));
}

// --- fy_map ---

void fy_map_init(fy_map *m) {
  *m = (fy_map){0};
}

void fy_map_free(fy_map *m) {
  fy_free(m->items);
  fy_free(m->slots);
  fy_map_init(m);
}

static fy_map_item *find(const fy_map *m, const char *key, size_t len, uint32_t hash) {
  if (!m->slots) return NULL;
  for (uint32_t s = hash & m->slot_mask; m->slots[s]; s = (s + 1) & m->slot_mask) {
    fy_map_item *it = &m->items[m->slots[s] - 1];
    if (it->hash == hash && it->len == len && it->value &&
        (len == 0 || memcmp(it->key, key, len) == 0)) {
      return it;
    }
  }
  return NULL;
}

void *fy_map_get(const fy_map *m, const char *key, size_t len) {
  if (m->live == 0) return NULL;
  fy_map_item *it = find(m, key, len, fy_hash_bytes(key, len));
  return it ? it->value : NULL;
}

void *fy_map_gets(const fy_map *m, const char *key) {
  return fy_map_get(m, key, strlen(key));
}

static void place(fy_map *m, uint32_t index) {
  uint32_t s = m->items[index].hash & m->slot_mask;
  while (m->slots[s]) s = (s + 1) & m->slot_mask;
  m->slots[s] = index + 1;
}

// Drops removed items and fills the (zeroed) slots again.
static void rebuild(fy_map *m) {
  uint32_t kept = 0;
  for (uint32_t i = 0; i < m->n; i++) {
    if (m->items[i].value) m->items[kept++] = m->items[i];
  }
  m->n = kept;
  for (uint32_t i = 0; i < kept; i++) place(m, i);
}

static bool make_room(fy_map *m) {
  if (m->n < m->cap) return true;
  if (m->live < m->cap - m->cap / 4) {  // enough removed items: clean up in place
    memset(m->slots, 0, ((size_t)m->slot_mask + 1) * sizeof *m->slots);
    rebuild(m);
    return true;
  }
  if (m->cap >= UINT32_MAX / 4) return false;
  uint32_t cap = m->cap ? m->cap * 2 : 8;
  uint32_t *slots = fy_calloc((size_t)cap * 2, sizeof *slots);
  if (!slots) return false;
  fy_map_item *items = fy_realloc(m->items, cap * sizeof *items);
  if (!items) {
    fy_free(slots);
    return false;
  }
  fy_free(m->slots);
  m->items = items;
  m->slots = slots;
  m->cap = cap;
  m->slot_mask = cap * 2 - 1;
  rebuild(m);
  return true;
}

bool fy_map_put(fy_map *m, const char *key, size_t len, void *value) {
  if (len > UINT32_MAX || !value) return false;
  uint32_t hash = fy_hash_bytes(key, len);
  fy_map_item *it = find(m, key, len, hash);
  if (it) {
    it->key = key;  // the caller's new key is the one known to live on
    it->value = value;
    return true;
  }
  if (!make_room(m)) return false;
  m->items[m->n] = (fy_map_item){key, (uint32_t)len, hash, value};
  place(m, m->n++);
  m->live++;
  return true;
}

bool fy_map_puts(fy_map *m, const char *key, void *value) {
  return fy_map_put(m, key, strlen(key), value);
}

void *fy_map_remove(fy_map *m, const char *key, size_t len) {
  fy_map_item *it = find(m, key, len, fy_hash_bytes(key, len));
  if (!it) return NULL;
  void *value = it->value;
  it->value = NULL;
  it->key = NULL;
  m->live--;
  return value;
}

// --- fy_imap: one allocation holds keys, values and marks ---

void fy_imap_init(fy_imap *m) {
  *m = (fy_imap){0};
}

void fy_imap_free(fy_imap *m) {
  fy_free(m->keys);
  fy_imap_init(m);
}

static uint32_t imap_slot(const fy_imap *m, uint64_t key) {
  uint32_t s = (uint32_t)fold(key ^ K0, K1) & m->mask;
  while (m->used[s] && m->keys[s] != key) s = (s + 1) & m->mask;
  return s;
}

bool fy_imap_get(const fy_imap *m, uint64_t key, uint64_t *out) {
  if (m->n == 0) return false;
  uint32_t s = imap_slot(m, key);
  if (!m->used[s]) return false;
  *out = m->values[s];
  return true;
}

static bool imap_grow(fy_imap *m) {
  if (m->mask >= UINT32_MAX / 2) return false;
  size_t slots = m->keys ? ((size_t)m->mask + 1) * 2 : 16;
  uint64_t *block = fy_calloc(slots, 2 * sizeof(uint64_t) + 1);
  if (!block) return false;
  fy_imap bigger = {block, block + slots, (uint8_t *)(block + 2 * slots), m->n,
                    (uint32_t)(slots - 1)};
  for (size_t i = 0; m->keys && i <= m->mask; i++) {
    if (!m->used[i]) continue;
    uint32_t s = imap_slot(&bigger, m->keys[i]);
    bigger.used[s] = 1;
    bigger.keys[s] = m->keys[i];
    bigger.values[s] = m->values[i];
  }
  fy_free(m->keys);
  *m = bigger;
  return true;
}

bool fy_imap_put(fy_imap *m, uint64_t key, uint64_t value) {
  if (m->keys) {
    uint32_t s = imap_slot(m, key);
    if (m->used[s]) {
      m->values[s] = value;
      return true;
    }
  }
  if ((!m->keys || m->n >= m->mask / 2) && !imap_grow(m)) return false;
  uint32_t s = imap_slot(m, key);
  m->used[s] = 1;
  m->keys[s] = key;
  m->values[s] = value;
  m->n++;
  return true;
}
