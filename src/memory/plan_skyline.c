// SPDX-License-Identifier: Apache-2.0
// plan_skyline.c: offsets from the bottom up (plan.c has the idea).
//
// The tops of what is placed form a skyline over time. Its lowest stretch is filled next: of the lives
// that lie within the stretch, those alive at its most critical step (with the most bytes still to come)
// go first, and of these the one with the largest key. Where no life lies within the stretch, it rises to
// its lower neighbour; that is the only way memory is wasted, and as the bytes still to come are known,
// an attempt that cannot win any more ends at once.
//
// Two trees make placing cheap: |steps| knows the most bytes still to come of any range of steps; |lives|
// is a k-d tree of the lives as points (start, end), each subtree with its box and its largest key, so that
// what does not lie within a stretch is passed over in large pieces; and as most stretches hold no life at
// all, |ends| knows the earliest end of the lives that start in a range of steps.

#include "memory/plan_impl.h"

#include <string.h>

#include "base/alloc.h"

typedef struct step_node {
  size_t most;    // bytes to come in the subtree, with |taken| of the nodes above still to subtract
  size_t taken;   // to subtract from every step below
  uint32_t step;  // where |most| is
} step_node;

typedef struct life_node {
  float key;                 // the largest; -1: nothing left here
  uint32_t leaf;             // who has it
  uint32_t low[2], high[2];  // starts and ends lie between, of those placed too
} life_node;

typedef struct stretch {
  size_t height;
  uint32_t begin, end;  // steps
  uint32_t left, right;
} stretch;

typedef struct low {
  size_t height;
  uint32_t begin, stretch;  // the leftmost of the lowest comes first
} low;

struct skyline {
  uint32_t num_leaves, num_steps;  // leaves of the trees: powers of two
  life_node *lives;                // [2 num_leaves]
  step_node *steps, *all_steps;    // [2 num_steps]; as they are at the start
  uint32_t *leaf_item;             // [n]
  uint32_t *ends;                  // [2 num_steps] of the lives that are left
  uint32_t *by_start, *by_end;     // [n] items; by start: then by end
  uint32_t *next;                  // [steps + 1] the first life of a step that is left
  uint32_t *begins;                // [steps + 1] in |by_start|
  bool *placed;                    // [n]
  stretch *stretches;              // [2n + 2]
  low *heap;                       // [6n + 8]
  uint32_t num_stretches, num_low;
  uint64_t work;
};

// ---------------------------------------------------------------- bytes to come, by step
static void step_update(step_node *t, uint32_t i) {
  const step_node *a = &t[2 * i], *b = &t[2 * i + 1];
  const step_node *more = b->most > a->most ? b : a;
  t[i].most = more->most - t[i].taken;
  t[i].step = more->step;
}

static void step_take(skyline *s, uint32_t first, uint32_t last, size_t bytes) {
  step_node *t = s->steps;
  uint32_t l = first + s->num_steps, r = last + s->num_steps + 1, l0 = l, r0 = r - 1;
  for (; l < r; l >>= 1, r >>= 1) {
    if (l & 1) t[l].most -= bytes, t[l].taken += bytes, l++;
    if (r & 1) --r, t[r].most -= bytes, t[r].taken += bytes;
  }
  for (l = l0 >> 1, r = r0 >> 1; l != r; l >>= 1, r >>= 1) step_update(t, l), step_update(t, r);
  for (; l; l >>= 1) step_update(t, l);
}

// The step of [first, last] with the most bytes to come, and how many.
static uint32_t step_most(const skyline *s, uint32_t first, uint32_t last, size_t *out_bytes) {
  const step_node *t = s->steps;
  uint32_t l = first + s->num_steps, r = last + s->num_steps;
  size_t left = t[l].most, right = t[r].most;
  uint32_t left_step = t[l].step, right_step = t[r].step;
  while (l >> 1 != r >> 1) {  // the subtrees between them
    if (!(l & 1) && t[l + 1].most > left) left = t[l + 1].most, left_step = t[l + 1].step;
    if ((r & 1) && t[r - 1].most >= right) right = t[r - 1].most, right_step = t[r - 1].step;
    l >>= 1;
    r >>= 1;
    left -= t[l].taken;
    right -= t[r].taken;
  }
  if (right > left) left = right, left_step = right_step;
  for (l >>= 1; l; l >>= 1) left -= t[l].taken;
  *out_bytes = left;
  return left_step;
}

// ---------------------------------------------------------------- lives as points
static void life_update(life_node *t, uint32_t i) {
  const life_node *more = t[2 * i + 1].key > t[2 * i].key ? &t[2 * i + 1] : &t[2 * i];
  t[i].key = more->key;
  t[i].leaf = more->leaf;
}

static void life_remove(skyline *s, uint32_t leaf) {
  uint32_t i = leaf + s->num_leaves;
  s->lives[i].key = -1;
  for (i >>= 1; i && s->lives[i].leaf == leaf; i >>= 1) life_update(s->lives, i);
}

// The life with the largest key that starts in [from[0], to[0]] and ends in [from[1], to[1]].
static uint32_t life_find(skyline *s, const uint32_t from[2], const uint32_t to[2]) {
  uint32_t stack[64], n = 0, found = NONE;
  float key = 0;
  const life_node *t = s->lives;
  stack[n++] = 1;
  while (n) {
    const uint32_t i = stack[--n];
    const life_node *x = &t[i];
    s->work++;
    if (x->key <= key || x->low[0] > to[0] || x->high[0] < from[0] || x->low[1] > to[1] ||
        x->high[1] < from[1])
      continue;
    if (x->low[0] >= from[0] && x->high[0] <= to[0] && x->low[1] >= from[1] &&
        x->high[1] <= to[1]) {
      key = x->key;
      found = x->leaf;
      continue;
    }
    const bool right = t[2 * i + 1].key > t[2 * i].key;  // the better half first
    stack[n++] = 2 * i + !right;
    stack[n++] = 2 * i + right;
  }
  return found;
}

// ---------------------------------------------------------------- is there any?
static void end_refresh(const planner *p, skyline *s, uint32_t step) {
  while (s->next[step] < s->begins[step + 1] && s->placed[s->by_start[s->next[step]]])
    s->next[step]++;
  const uint32_t at = s->next[step];
  s->ends[s->num_steps + step] = at < s->begins[step + 1] ? p->items[s->by_start[at]].last : NONE;
}

static void end_remove(const planner *p, skyline *s, uint32_t which) {
  uint32_t i = s->num_steps + p->items[which].first, *t = s->ends;
  s->placed[which] = true;
  const uint32_t before = t[i];
  end_refresh(p, s, p->items[which].first);
  if (t[i] == before) return;
  for (i >>= 1; i; i >>= 1) {
    const uint32_t least = t[2 * i] < t[2 * i + 1] ? t[2 * i] : t[2 * i + 1];
    if (t[i] == least) break;
    t[i] = least;
  }
}

static bool any_within(const skyline *s, uint32_t first, uint32_t last) {
  const uint32_t *t = s->ends;
  uint32_t l = first + s->num_steps, r = last + s->num_steps + 1;
  for (; l < r; l >>= 1, r >>= 1) {
    if ((l & 1) && t[l++] <= last) return true;
    if ((r & 1) && t[--r] <= last) return true;
  }
  return false;
}

// ---------------------------------------------------------------- the skyline
static bool lower(const low *a, const low *b) {
  return a->height < b->height || (a->height == b->height && a->begin < b->begin);
}

static void push(skyline *s, uint32_t which) {
  const low x = {s->stretches[which].height, s->stretches[which].begin, which};
  uint32_t i = s->num_low++;
  for (; i && lower(&x, &s->heap[(i - 1) / 2]); i = (i - 1) / 2) s->heap[i] = s->heap[(i - 1) / 2];
  s->heap[i] = x;
}

static low pop(skyline *s) {
  const low top = s->heap[0], x = s->heap[--s->num_low];
  uint32_t i = 0, n = s->num_low;
  for (;;) {
    uint32_t k = 2 * i + 1;
    if (k >= n) break;
    if (k + 1 < n && lower(&s->heap[k + 1], &s->heap[k])) k++;
    if (!lower(&s->heap[k], &x)) break;
    s->heap[i] = s->heap[k];
    i = k;
  }
  s->heap[i] = x;
  return top;
}

static uint32_t insert_right(skyline *s, uint32_t at, uint32_t begin, uint32_t end, size_t height) {
  const uint32_t i = s->num_stretches++, right = s->stretches[at].right;
  s->stretches[i] = (stretch){height, begin, end, at, right};
  s->stretches[at].right = i;
  if (right != NONE) s->stretches[right].left = i;
  return i;
}

// |i| takes what touches it at the same height. Stretches that end so are told by their height.
static void merge(skyline *s, uint32_t i) {
  stretch *x = &s->stretches[i];
  if (x->left != NONE && s->stretches[x->left].height == x->height) {
    stretch *gone = &s->stretches[x->left];
    x->begin = gone->begin;
    x->left = gone->left;
    gone->height = SIZE_MAX;
    if (x->left != NONE) s->stretches[x->left].right = i;
  }
  if (x->right != NONE && s->stretches[x->right].height == x->height) {
    stretch *gone = &s->stretches[x->right];
    x->end = gone->end;
    x->right = gone->right;
    gone->height = SIZE_MAX;
    if (x->right != NONE) s->stretches[x->right].left = i;
  }
  push(s, i);
}

// The stretch |i| becomes up to three: the life in the middle stands on it.
static void place(skyline *s, uint32_t i, const item *it) {
  const stretch was = s->stretches[i];
  uint32_t middle = i;
  if (it->first > was.begin) {
    s->stretches[i].end = it->first - 1;
    push(s, i);
    middle = insert_right(s, i, it->first, it->last, was.height);
  }
  s->stretches[middle].end = it->last;
  if (it->last < was.end) push(s, insert_right(s, middle, it->last + 1, was.end, was.height));
  s->stretches[middle].height += it->bytes;
  merge(s, middle);
}

static void start(planner *p, skyline *s) {
  memcpy(s->steps, s->all_steps, 2 * (size_t)s->num_steps * sizeof *s->steps);
  for (uint32_t k = 0; k < p->n; k++)
    s->lives[s->num_leaves + k].key = (float)p->keys[s->leaf_item[k]];
  for (uint32_t i = s->num_leaves - 1; i; i--) life_update(s->lives, i);
  memset(s->placed, 0, p->n * sizeof *s->placed);
  memset(s->ends, 0xff, 2 * (size_t)s->num_steps * sizeof *s->ends);
  for (uint32_t t = 0; t < p->steps; t++) {
    s->next[t] = s->begins[t];
    end_refresh(p, s, t);
  }
  for (uint32_t i = s->num_steps - 1; i; i--)
    s->ends[i] = s->ends[2 * i] < s->ends[2 * i + 1] ? s->ends[2 * i] : s->ends[2 * i + 1];
  s->stretches[0] = (stretch){0, 0, p->steps - 1, NONE, NONE};
  s->num_stretches = 1;
  s->num_low = 0;
  push(s, 0);
}

static size_t build(planner *p, skyline *s) {
  size_t top = 0;
  uint32_t left = p->n;
  start(p, s);
  while (left) {
    const low l = pop(s);
    stretch *x = &s->stretches[l.stretch];
    if (x->height != l.height || x->begin != l.begin) continue;  // it is another by now
    size_t to_come = 0;
    const uint32_t critical = step_most(s, x->begin, x->end, &to_come);
    s->work += 16;
    uint32_t leaf = NONE;
    const uint32_t whole[2] = {x->begin, x->begin}, ends[2] = {x->end, x->end};
    const uint32_t around[2][2] = {{x->begin, critical}, {critical, x->end}};
    if (to_come && any_within(s, x->begin, x->end)) {
      leaf = life_find(s, around[0], around[1]);
      if (leaf == NONE) leaf = life_find(s, whole, ends);
    }
    if (leaf != NONE) {
      item *it = &p->items[s->leaf_item[leaf]];
      it->offset = x->height;
      if (it->offset + it->bytes > top) top = it->offset + it->bytes;
      if (top >= p->best_bytes) return SIZE_MAX;
      life_remove(s, leaf);
      end_remove(p, s, s->leaf_item[leaf]);
      step_take(s, it->first, it->last, it->bytes);
      place(s, l.stretch, it);
      left--;
      continue;
    }
    size_t height = x->left != NONE ? s->stretches[x->left].height : SIZE_MAX;
    if (x->right != NONE && s->stretches[x->right].height < height)
      height = s->stretches[x->right].height;
    if (height == SIZE_MAX || height + to_come >= p->best_bytes) return SIZE_MAX;
    x->height = height;
    merge(s, l.stretch);
  }
  return top;
}

size_t fy_plan_skyline(planner *p) {
  p->sky->work = 0;
  const size_t bytes = build(p, p->sky);
  p->work += p->sky->work;
  return bytes;
}

// ---------------------------------------------------------------- setting up
void fy_plan_skyline_free(planner *p) {
  skyline *s = p->sky;
  if (!s) return;
  fy_free(s->lives);
  fy_free(s->steps);
  fy_free(s->all_steps);
  fy_free(s->leaf_item);
  fy_free(s->ends);
  fy_free(s->by_start);
  fy_free(s->by_end);
  fy_free(s->next);
  fy_free(s->begins);
  fy_free(s->placed);
  fy_free(s->stretches);
  fy_free(s->heap);
  fy_free(s);
  p->sky = NULL;
}

static uint32_t side_of(const item *it, int side) {
  return side ? it->last : it->first;
}

// Reorders list[0, n) so that its |k| least by start (or end) come first.
static void split_list(const item *items, uint32_t *list, uint32_t n, uint32_t k, int side) {
  while (n > 1) {
    const uint32_t pivot = side_of(&items[list[n / 2]], side);
    uint32_t i = 0, j = n - 1;
    for (;;) {
      while (side_of(&items[list[i]], side) < pivot) i++;
      while (side_of(&items[list[j]], side) > pivot) j--;
      if (i >= j) break;
      const uint32_t t = list[i];
      list[i++] = list[j];
      list[j--] = t;
    }
    const uint32_t cut = i == j && side_of(&items[list[i]], side) <= pivot ? i + 1 : i;
    if (k == cut) return;
    if (k < cut) {
      if (cut == n) return;
      n = cut;
    } else {
      if (cut == 0) return;
      list += cut;
      n -= cut;
      k -= cut;
    }
  }
}

// Subtree |i| holds leaves [at, at + size).
static void make_tree(const planner *p, skyline *s, uint32_t i, uint32_t at, uint32_t size,
                      int side) {
  life_node *x = &s->lives[i];
  if (at >= p->n) {
    *x = (life_node){.key = -1, .leaf = NONE, .low = {NONE, NONE}};
    if (size > 1) {
      make_tree(p, s, 2 * i, at, size / 2, !side);
      make_tree(p, s, 2 * i + 1, at + size / 2, size / 2, !side);
    }
    return;
  }
  if (size == 1) {
    const item *it = &p->items[s->leaf_item[at]];
    *x = (life_node){.leaf = at, .low = {it->first, it->last}, .high = {it->first, it->last}};
    return;
  }
  const uint32_t n = p->n - at < size ? p->n - at : size, half = size / 2;
  if (n > half) split_list(p->items, s->leaf_item + at, n, half, side);
  make_tree(p, s, 2 * i, at, half, !side);
  make_tree(p, s, 2 * i + 1, at + half, half, !side);
  for (int k = 0; k < 2; k++) {
    const life_node *a = &s->lives[2 * i], *b = a + 1;
    x->low[k] = a->low[k] < b->low[k] ? a->low[k] : b->low[k];
    x->high[k] = a->high[k] > b->high[k] ? a->high[k] : b->high[k];
  }
}

static void fill(planner *p, skyline *s) {
  for (uint32_t i = 0; i < p->n; i++) s->leaf_item[i] = i;
  make_tree(p, s, 1, 0, s->num_leaves, 0);
  // By end, then stably by start: two rounds of counting.
  for (int side = 1; side >= 0; side--) {
    const uint32_t *from = side ? s->leaf_item : s->by_end;
    uint32_t *to = side ? s->by_end : s->by_start;
    memset(s->begins, 0, ((size_t)p->steps + 1) * sizeof *s->begins);
    for (uint32_t i = 0; i < p->n; i++) s->begins[side_of(&p->items[i], side) + 1]++;
    for (uint32_t t = 0; t < p->steps; t++) s->begins[t + 1] += s->begins[t];
    memcpy(s->next, s->begins, p->steps * sizeof *s->next);
    for (uint32_t i = 0; i < p->n; i++) to[s->next[side_of(&p->items[from[i]], side)]++] = from[i];
  }
  for (uint32_t t = 0; t < s->num_steps; t++) s->all_steps[s->num_steps + t].step = t;
  for (uint32_t i = 0; i < p->n; i++) {
    s->all_steps[s->num_steps + p->items[i].first].most += p->items[i].bytes;
    if (p->items[i].last + 1 < s->num_steps)
      s->all_steps[s->num_steps + p->items[i].last + 1].most -= p->items[i].bytes;
  }
  for (uint32_t t = 1; t < s->num_steps; t++)
    s->all_steps[s->num_steps + t].most += s->all_steps[s->num_steps + t - 1].most;
  for (uint32_t i = s->num_steps - 1; i; i--) step_update(s->all_steps, i);
}

bool fy_plan_skyline_init(planner *p) {
  fy_plan_skyline_free(p);
  skyline *s = p->sky = fy_calloc(1, sizeof *s);
  if (!s) return false;
  s->num_leaves = s->num_steps = 1;
  while (s->num_leaves < p->n) s->num_leaves *= 2;
  while (s->num_steps < p->steps) s->num_steps *= 2;
  s->lives = fy_calloc(2 * (size_t)s->num_leaves, sizeof *s->lives);
  s->steps = fy_calloc(2 * (size_t)s->num_steps, sizeof *s->steps);
  s->all_steps = fy_calloc(2 * (size_t)s->num_steps, sizeof *s->all_steps);
  s->leaf_item = fy_calloc(p->n, sizeof *s->leaf_item);
  s->ends = fy_calloc(2 * (size_t)s->num_steps, sizeof *s->ends);
  s->by_start = fy_calloc(p->n, sizeof *s->by_start);
  s->by_end = fy_calloc(p->n, sizeof *s->by_end);
  s->next = fy_calloc((size_t)p->steps + 1, sizeof *s->next);
  s->begins = fy_calloc((size_t)p->steps + 1, sizeof *s->begins);
  s->placed = fy_calloc(p->n, sizeof *s->placed);
  s->stretches = fy_calloc(2 * (size_t)p->n + 2, sizeof *s->stretches);
  s->heap = fy_calloc(6 * (size_t)p->n + 8, sizeof *s->heap);
  if (!s->lives || !s->steps || !s->all_steps || !s->leaf_item || !s->ends || !s->by_start ||
      !s->by_end || !s->next || !s->begins || !s->placed || !s->stretches || !s->heap)
    return false;
  fill(p, s);
  return true;
}
