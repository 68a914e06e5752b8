// SPDX-License-Identifier: Apache-2.0
// plan_time.c: offsets by replaying the run through a best-fit allocator (plan.c has the idea).
// Memory is a list of pieces between two walls; the upper wall moves up when nothing fits.

#include "memory/plan_impl.h"

#include <string.h>

#include "base/alloc.h"

#define LOOK_AT 48  // gaps, for one life

static uint32_t bin_of(size_t bytes) {
  if (bytes < 4) return 0;
  const uint32_t log2 = 63u - (uint32_t)__builtin_clzll(bytes);
  return log2 * 4 + (uint32_t)(bytes >> (log2 - 2) & 3);
}

static void free_link(planner *p, uint32_t i) {
  const uint32_t bin = bin_of(p->pieces[i].bytes);
  p->pieces[i].is_free = true;
  p->pieces[i].free_before = NONE;
  p->pieces[i].free_after = p->bins[bin];
  if (p->bins[bin] != NONE) p->pieces[p->bins[bin]].free_before = i;
  p->bins[bin] = i;
  p->used_bins[bin / 64] |= 1ull << bin % 64;
}

static void free_unlink(planner *p, uint32_t i) {
  piece *x = &p->pieces[i];
  x->is_free = false;
  if (x->free_after != NONE) p->pieces[x->free_after].free_before = x->free_before;
  if (x->free_before != NONE) {
    p->pieces[x->free_before].free_after = x->free_after;
    return;
  }
  const uint32_t bin = bin_of(x->bytes);
  p->bins[bin] = x->free_after;
  if (x->free_after == NONE) p->used_bins[bin / 64] &= ~(1ull << bin % 64);
}

// The smallest of |bin| that has |bytes|.
static uint32_t find_in_bin(planner *p, uint32_t bin, size_t bytes) {
  uint32_t found = NONE;
  for (uint32_t i = p->bins[bin]; i != NONE; i = p->pieces[i].free_after) {
    p->work++;
    if (p->pieces[i].bytes < bytes) continue;
    if (found == NONE || p->pieces[i].bytes < p->pieces[found].bytes) found = i;
    if (p->pieces[i].bytes == bytes) break;
  }
  return found;
}

static uint32_t find_free(planner *p, size_t bytes) {
  uint32_t bin = bin_of(bytes);
  uint32_t found = p->bins[bin] != NONE ? find_in_bin(p, bin, bytes) : NONE;
  for (uint32_t word = ++bin / 64; found == NONE && word < FY_PLAN_BINS / 64; word++) {
    uint64_t used = p->used_bins[word];
    if (word == bin / 64) used &= ~0ull << bin % 64;
    if (used) found = find_in_bin(p, word * 64 + (uint32_t)__builtin_ctzll(used), bytes);
  }
  return found;
}

static uint32_t piece_insert_above(planner *p, uint32_t below, size_t begin, size_t bytes) {
  uint32_t i = p->spare;
  if (i != NONE)
    p->spare = p->pieces[i].free_after;
  else
    i = p->num_pieces++;
  uint32_t above = p->pieces[below].above;
  p->pieces[i] = (piece){.begin = begin, .bytes = bytes, .below = below, .above = above};
  p->pieces[below].above = i;
  p->pieces[above].below = i;
  return i;
}

static void piece_remove(planner *p, uint32_t i) {
  piece *x = &p->pieces[i];
  p->pieces[x->below].above = x->above;
  p->pieces[x->above].below = x->below;
  x->free_after = p->spare;
  p->spare = i;
}

// A free piece with at least |bytes|: the smallest, or one made by moving the ceiling up.
static uint32_t find_room(planner *p, size_t bytes) {
  const uint32_t found = find_free(p, bytes);
  if (found != NONE) return found;
  piece *ceiling = &p->pieces[1];
  uint32_t last = ceiling->below;
  if (p->pieces[last].is_free) {
    free_unlink(p, last);
    ceiling->begin = p->pieces[last].begin + bytes;
    p->pieces[last].bytes = bytes;
    free_link(p, last);
    return last;
  }
  last = piece_insert_above(p, last, p->pieces[1].begin, bytes);
  p->pieces[1].begin += bytes;
  free_link(p, last);
  return last;
}

// The end of the gap whose neighbour lives longer.
static bool prefers_high(const planner *p, uint32_t gap) {
  const piece *x = &p->pieces[gap];
  return p->pieces[x->above].until > p->pieces[x->below].until;
}

// How unlike two remaining lives are: their ratio. A wall stays, but nothing will need its room.
static float unlike(uint32_t until, uint32_t step, float life) {
  const float rest = until == NONE ? 2 * life : (float)(until - step + 1);
  return rest > life ? rest / life : life / rest;
}

// A gap beside something that ends at about the same time as a life of |bytes| from |step| to |end|, so
// that both leave one large gap; of equals the tighter. The tightest ones are looked at.
static uint32_t find_alike(planner *p, size_t bytes, uint32_t step, uint32_t end, bool *high) {
  const float life = (float)(end - step + 1), whole = (float)p->bound;
  float best = 0;
  uint32_t found = NONE, seen = 0, bin = bin_of(bytes);
  for (uint32_t word = bin / 64; word < FY_PLAN_BINS / 64; word++) {
    uint64_t used = p->used_bins[word];
    if (word == bin / 64) used &= ~0ull << bin % 64;
    for (; used; used &= used - 1) {
      uint32_t i = p->bins[word * 64 + (uint32_t)__builtin_ctzll(used)];
      for (; i != NONE; i = p->pieces[i].free_after) {
        const piece *x = &p->pieces[i];
        p->work++;
        if (x->bytes < bytes) continue;
        const float low = unlike(p->pieces[x->below].until, step, life);
        const float up = unlike(p->pieces[x->above].until, step, life);
        const float worth = x->bytes == bytes
                                ? (low + up) / 4
                                : (low < up ? low : up) + (float)(x->bytes - bytes) / whole;
        if (found == NONE || worth < best) best = worth, found = i, *high = up < low;
        if (++seen >= LOOK_AT) return found;
      }
    }
  }
  return found;
}

// Takes the lower or upper end of the free piece |i|.
static void take_piece(planner *p, item *it, uint32_t i, bool high, uint32_t until) {
  piece *x = &p->pieces[i];
  size_t left = x->bytes - it->bytes;
  it->piece = i;
  free_unlink(p, i);
  if (left) {
    it->piece = high ? piece_insert_above(p, i, x->begin + left, it->bytes)
                     : piece_insert_above(p, x->below, x->begin, it->bytes);
    if (!high) x->begin += it->bytes;
    x->bytes = left;
    free_link(p, i);
  }
  p->pieces[it->piece].until = until;
  it->offset = p->pieces[it->piece].begin;
}

static void take_room(planner *p, item *it, uint32_t step, uint32_t until) {
  bool high = false;
  uint32_t i = p->alike ? find_alike(p, it->bytes, step, until, &high) : NONE;
  p->work += 8;
  if (i == NONE) {
    i = find_room(p, it->bytes);
    high = prefers_high(p, i);
  }
  take_piece(p, it, i, high, until);
}

static void give_back(planner *p, uint32_t i) {
  piece *x = &p->pieces[i];
  uint32_t below = x->below, above = x->above;
  if (p->pieces[below].is_free) {
    x->begin = p->pieces[below].begin;
    x->bytes += p->pieces[below].bytes;
    free_unlink(p, below);
    piece_remove(p, below);
  }
  if (p->pieces[above].is_free) {
    x->bytes += p->pieces[above].bytes;
    free_unlink(p, above);
    piece_remove(p, above);
  }
  free_link(p, i);
}

// Nothing but the walls, as far apart as the bound.
static void clear_room(planner *p) {
  memset(p->heads, 0xff, p->steps * sizeof *p->heads);
  memset(p->bins, 0xff, sizeof p->bins);
  memset(p->used_bins, 0, sizeof p->used_bins);
  p->spare = NONE;
  p->num_pieces = 2;
  p->pieces[0] = (piece){.above = 1, .until = NONE};
  p->pieces[1] = (piece){.begin = p->bound, .until = NONE};
}

static void end_after(planner *p, uint32_t i, uint32_t step) {
  p->items[i].next = p->heads[step];
  p->heads[step] = i;
}

static void end_lives(planner *p, uint32_t step) {
  for (uint32_t i = p->heads[step]; i != NONE; i = p->items[i].next) {
    give_back(p, p->items[i].piece);
  }
}

// Replays the run after step |from| (NONE: the whole) with the lives that begin there. |order| holds
// the items by start (larger first within a step); backwards, by end, and steps count from the end.
static size_t replay(planner *p, bool backwards, uint32_t from) {
  uint32_t at = 0, mirror = p->steps - 1;
  for (uint32_t s = from + 1; s < p->steps; s++) {
    for (; at < p->n; at++) {
      item *it = &p->items[p->order[at]];
      uint32_t begin = backwards ? mirror - it->last : it->first;
      uint32_t end = backwards ? mirror - it->first : it->last;
      if (begin > s) break;
      if (begin < s) continue;  // at the peak, or on its other side
      take_room(p, it, s, end);
      end_after(p, p->order[at], end);
    }
    if (p->pieces[1].begin >= p->best_bytes) return SIZE_MAX;
    end_lives(p, s);
  }
  return p->pieces[1].begin;
}

size_t fy_plan_by_time(planner *p, bool backwards) {
  clear_room(p);
  free_link(p, piece_insert_above(p, 0, 0, p->bound));
  return replay(p, backwards, NONE);
}

size_t fy_plan_beside_peak(planner *p, bool backwards) {
  uint32_t mirror = p->steps - 1, from = backwards ? mirror - p->peak : p->peak;
  size_t offset = 0;
  clear_room(p);
  for (uint32_t n = 0; n < p->num_peak; n++) {
    uint32_t i = p->peak_order[n];
    item *it = &p->items[i];
    uint32_t end = backwards ? mirror - it->first : it->last;
    it->offset = offset;
    it->piece = piece_insert_above(p, p->pieces[1].below, offset, it->bytes);
    p->pieces[it->piece].until = end;
    end_after(p, i, end);
    offset += it->bytes;
  }
  end_lives(p, from);
  return replay(p, backwards, from);
}

// ---------------------------------------------------------------- with a second thought
// The same under a fixed ceiling. Where something does not fit, the replay goes back some steps and takes
// other gaps at random; the longer it is stuck, the further back. Few lives at once (the usual chain of
// layers) make a step back cheap.

#define EVERY     12  // steps between two memories of how things were
#define MEMORIES  12
#define PER_DEPTH 12  // tries before it goes back further

typedef struct memory {
  piece *pieces;
  size_t cap;
  uint32_t step, at, num_pieces, spare;
  uint32_t bins[FY_PLAN_BINS];
  uint64_t used_bins[FY_PLAN_BINS / 64];
} memory;

static bool remember(planner *p, memory *m, uint32_t step, uint32_t at) {
  p->starved = !fy_grow(&m->pieces, &m->cap, p->num_pieces, sizeof *m->pieces);
  if (p->starved) return false;
  memcpy(m->pieces, p->pieces, p->num_pieces * sizeof *m->pieces);
  memcpy(m->bins, p->bins, sizeof m->bins);
  memcpy(m->used_bins, p->used_bins, sizeof m->used_bins);
  m->step = step;
  m->at = at;
  m->num_pieces = p->num_pieces;
  m->spare = p->spare;
  p->work += 16 + p->num_pieces / 2;
  return true;
}

static void recall(planner *p, const memory *m) {
  memcpy(p->pieces, m->pieces, m->num_pieces * sizeof *m->pieces);
  memcpy(p->bins, m->bins, sizeof m->bins);
  memcpy(p->used_bins, m->used_bins, sizeof m->used_bins);
  p->num_pieces = m->num_pieces;
  p->spare = m->spare;
  p->work += 16 + p->num_pieces / 2;
}

// A gap for |bytes|; with |noise| not always the tightest.
static uint32_t choose_gap(planner *p, size_t bytes, uint64_t *noise) {
  uint32_t found = find_free(p, bytes);
  if (found == NONE || !*noise) return found;
  *noise = *noise * 6364136223846793005u + 1442695040888963407u;
  if (*noise >> 62) return found;
  for (uint32_t word = FY_PLAN_BINS / 64; word-- > 0;) {
    if (!p->used_bins[word]) continue;
    const uint32_t largest =
        p->bins[word * 64 + 63 - (uint32_t)__builtin_clzll(p->used_bins[word])];
    return p->pieces[largest].bytes >= bytes ? largest : found;
  }
  return found;
}

// Places what begins at |step|, from |*at| in the order. False: something does not fit.
static bool begin_lives(planner *p, uint32_t step, uint32_t *at, uint64_t *noise) {
  for (; *at < p->n && p->items[p->order[*at]].first == step; ++*at) {
    item *it = &p->items[p->order[*at]];
    bool high = false;
    uint32_t gap = NONE;
    if (p->alike && !*noise) gap = find_alike(p, it->bytes, step, it->last, &high);
    p->work += 8;
    if (gap == NONE) {
      gap = choose_gap(p, it->bytes, noise);
      if (gap == NONE) return false;
      high = prefers_high(p, gap);
    }
    const bool other = *noise && (*noise >> 40 & 3) == 0;
    take_piece(p, it, gap, high != other, it->last);
  }
  return true;
}

size_t fy_plan_retry(planner *p, size_t ceiling, uint64_t budget) {
  memory memories[MEMORIES] = {0};
  const uint64_t most = p->work + budget;
  uint64_t seed = 1, noise = 0;
  uint32_t at = 0, taken = 0, furthest = 0, stuck = 0, first = 0;
  clear_room(p);
  p->pieces[1].begin = ceiling;
  free_link(p, piece_insert_above(p, 0, 0, ceiling));
  for (uint32_t i = 0; i < p->n; i++) end_after(p, i, p->items[i].last);  // all are there by then
  bool ok = true;
  for (uint32_t s = 0; ok && s < p->steps; s++) {
    if (s >= furthest + EVERY) noise = 0, stuck = 0;  // over the hill: no more adventures
    if (s % EVERY == 0 && (!taken || s > memories[(taken - 1) % MEMORIES].step)) {
      ok = remember(p, &memories[taken % MEMORIES], s, at);
      taken++;
      if (taken - first > MEMORIES) first = taken - MEMORIES;
    }
    if (ok && begin_lives(p, s, &at, &noise)) {
      end_lives(p, s);
      continue;
    }
    if (s > furthest) furthest = s, stuck = 0;
    uint32_t back = 1 + stuck++ / PER_DEPTH;
    ok = ok && p->work < most && back <= taken - first;
    if (!ok) break;
    taken -= back - 1;
    const memory *m = &memories[(taken - 1) % MEMORIES];
    recall(p, m);
    at = m->at;
    s = m->step - 1;  // again from there
    seed = seed * 6364136223846793005u + 1442695040888963407u;
    noise = seed | 1;
  }
  for (int i = 0; i < MEMORIES; i++) fy_free(memories[i].pieces);
  return ok ? ceiling : SIZE_MAX;
}
