// SPDX-License-Identifier: Apache-2.0
// sample.h: a fair part of the cases of a test that tries one idea thousands of times, for tools that
// make programs fifty times slower (`make valgrind` sets FERRY_TEST_SAMPLE; nothing else does).
// FERRY_TEST_SAMPLE=PART/OF takes one of each OF cases that follow each other, now this one, now that, so
// that a rhythm in the cases hides none; the parts 1 to OF together are all cases. Unset, every case runs.

#ifndef FY_TESTS_SAMPLE_H
#define FY_TESTS_SAMPLE_H

#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>

#define SAMPLE_ALWAYS 16

// How many parts there are; 1 if every case is to run.
static inline uint64_t sample_parts(uint64_t *part) {
  unsigned long long a = 1, b = 1;
  const char *text = getenv("FERRY_TEST_SAMPLE");
  if (text && *text && (sscanf(text, "%llu/%llu", &a, &b) != 2 || a < 1 || a > b)) {
    fprintf(stderr, "FERRY_TEST_SAMPLE=%s: it must be PART/OF, such as 1/8\n", text);
    exit(1);
  }
  *part = a - 1;
  return b;
}

// Is case |number| part of this run?
static inline bool sample_takes(uint64_t number) {
  uint64_t part;
  const uint64_t parts = sample_parts(&part);
  uint64_t h = (number / parts + 1) * 0x9e3779b97f4a7c15u;
  h = (h ^ h >> 29) * 0xbf58476d1ce4e5b9u;
  return (number % parts + (h >> 32)) % parts == part;
}

// For loops over "the N-th call fails, for every N": the N after |n|. The first few are always tried, so
// what makes only a few calls is tried whole.
static inline int64_t sample_after(int64_t n) {
  do n++;
  while (n > SAMPLE_ALWAYS && !sample_takes((uint64_t)n));
  return n;
}

#endif
