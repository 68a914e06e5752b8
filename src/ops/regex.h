// SPDX-License-Identifier: Apache-2.0
// regex.h: regular expressions in RE2's syntax, in time linear in the text. A pattern compiles to a
// small program that a Pike machine runs: all alternatives at once, no backtracking.
// Bounds: repetition counts up to 1000 and programs up to FY_REGEX_MAX_CODE instructions.
// Not here: back-references and look-around, which RE2 refuses too.

#ifndef FY_OPS_REGEX_H
#define FY_OPS_REGEX_H

#include "base/status.h"
#include "base/str.h"

#define FY_REGEX_MAX_CODE 20000

typedef struct fy_regex fy_regex;

// INVALID_ARGUMENT with RE2's words ("missing ): (a"). The caller frees |*out|.
FY_MUST_CHECK fy_code fy_regex_new(fy_view pattern, fy_regex **out, fy_error *err);
void fy_regex_free(fy_regex *re);         // NULL is fine
int fy_regex_groups(const fy_regex *re);  // capturing groups, without the whole match

typedef struct fy_span {
  size_t begin, end;  // SIZE_MAX: did not take part
} fy_span;
// Looks for the leftmost match in |text| from |from| on; |full|: only one of the whole text.
// |spans| gets the match and |num_spans| - 1 groups. *found says whether there was one.
FY_MUST_CHECK fy_code fy_regex_match(const fy_regex *re, fy_view text, size_t from, bool full,
                                     fy_span *spans, int num_spans, bool *found, fy_error *err);

// The same without groups, faster, for many texts: a cache belongs to one thread and to |re|, which
// must outlive it. |full|: what its calls ask. NULL: the pattern has no such cache (or no memory).
typedef struct fy_regex_cache fy_regex_cache;
fy_regex_cache *fy_regex_cache_new(const fy_regex *re, bool full);
void fy_regex_cache_free(fy_regex_cache *cache);  // NULL is fine
// False: it cannot tell; ask fy_regex_match. |span| is set if there is a match that need not be full.
bool fy_regex_cache_find(fy_regex_cache *cache, fy_view text, size_t from, fy_span *span,
                         bool *found);

#endif
