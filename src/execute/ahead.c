// SPDX-License-Identifier: Apache-2.0
#include "execute/ahead.h"

#include "execute/state.h"

void fy_ahead_init(fy_ahead *a) {
  fy_mutex_init(&a->lock);
  a->oldest = a->newest = NULL;
}

void fy_ahead_deinit(fy_ahead *a) {
  fy_mutex_destroy(&a->lock);
}

void fy_ahead_add(fy_ahead *a, fy_started *st) {
  fy_lock(&a->lock);
  st->listed = true;
  st->older = a->newest;
  st->newer = NULL;
  *(a->newest ? &a->newest->newer : &a->oldest) = st;
  a->newest = st;
  fy_unlock(&a->lock);
}

static void take_out(fy_ahead *a, fy_started *st) {
  *(st->older ? &st->older->newer : &a->oldest) = st->newer;
  *(st->newer ? &st->newer->older : &a->newest) = st->older;
  st->listed = false;
}

void fy_ahead_remove(fy_ahead *a, fy_started *st) {
  fy_lock(&a->lock);
  if (st->listed) take_out(a, st);
  fy_unlock(&a->lock);
}

// Its lock is taken before the list's is given back: whoever finishes it meanwhile waits there.
bool fy_ahead_settle(fy_ahead *a) {
  fy_lock(&a->lock);
  fy_started *st = a->oldest;
  if (st) {
    take_out(a, st);
    fy_lock(&st->lock);
  }
  fy_unlock(&a->lock);
  if (!st) return false;
  fy_program_settle(st);
  fy_unlock(&st->lock);
  return true;
}
