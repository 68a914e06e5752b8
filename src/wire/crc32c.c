// SPDX-License-Identifier: Apache-2.0
// crc32c.c: eight bytes per step, by the machine's instruction for it or with eight tables, built once.

#include "wire/crc32c.h"

#include <pthread.h>
#include <string.h>

static uint32_t table[8][256];
static pthread_once_t once = PTHREAD_ONCE_INIT;

static void build(void) {
  for (uint32_t i = 0; i < 256; i++) {
    uint32_t crc = i;
    for (int bit = 0; bit < 8; bit++) crc = crc & 1 ? crc >> 1 ^ 0x82F63B78u : crc >> 1;
    table[0][i] = crc;
  }
  for (uint32_t i = 0; i < 256; i++) {
    for (int k = 1; k < 8; k++) {
      table[k][i] = table[k - 1][i] >> 8 ^ table[0][table[k - 1][i] & 0xFF];
    }
  }
}

#if defined(__x86_64__)
__attribute__((target("sse4.2"))) static uint32_t by_instruction(uint32_t crc, const uint8_t *p,
                                                                 size_t n) {
  uint64_t sum = ~crc;
  for (; n >= 8; n -= 8, p += 8) {
    uint64_t word;
    memcpy(&word, p, 8);
    sum = __builtin_ia32_crc32di(sum, word);
  }
  uint32_t rest = (uint32_t)sum;
  for (; n; n--) rest = __builtin_ia32_crc32qi(rest, *p++);
  return ~rest;
}
#endif

uint32_t fy_wire_crc32c(uint32_t crc, const void *bytes, size_t n) {
  const uint8_t *p = bytes;
#if defined(__x86_64__)
  if (__builtin_cpu_supports("sse4.2")) return by_instruction(crc, p, n);
#endif
  pthread_once(&once, build);
  crc = ~crc;
  for (; n >= 8; n -= 8, p += 8) {
    uint64_t word;
    memcpy(&word, p, 8);
    word ^= crc;
    crc = table[7][word & 0xFF] ^ table[6][word >> 8 & 0xFF] ^ table[5][word >> 16 & 0xFF] ^
          table[4][word >> 24 & 0xFF] ^ table[3][word >> 32 & 0xFF] ^ table[2][word >> 40 & 0xFF] ^
          table[1][word >> 48 & 0xFF] ^ table[0][word >> 56];
  }
  for (; n; n--) crc = crc >> 8 ^ table[0][(crc ^ *p++) & 0xFF];
  return ~crc;
}
