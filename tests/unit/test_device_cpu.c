// SPDX-License-Identifier: Apache-2.0
// test_device_cpu.c: CPU devices: shared threads, dedicated cores that really hold, facts, limits.

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include <sched.h>
#include <stdio.h>
#include <string.h>

#include "base/pool.h"
#include "base/thread.h"
#include "devices/cpu/cpu.h"
#include "devices/devices.h"
#include "memory/pool.h"

static fy_device_set *open_set(const char *text) {
  fy_options o;
  fy_error err;
  fy_device_set *set = NULL;
  fy_error_init(&err);
  fy_options_default(&o);
  if (fy_options_text(&o, text, &err) || fy_devices_open(&o, &set, &err)) {
    fail_msg("%s: %s", text, fy_error_text(&err));
  }
  return set;
}

static void facts(void **state) {
  (void)state;
  fy_device_set *set = open_set("cpu_devices=2; memory_limit.CPU=1MiB");
  assert_int_equal(set->n, 2);
  for (int i = 0; i < 2; i++) {
    fy_device *d = set->items[i];
    print_message("%s: %s, %.0f GFLOP/s\n", d->name, d->facts.description, d->facts.flops / 1e9);
    assert_true(d->is_host && !d->dedicated && d->pool && d->memory);
    assert_true(d->facts.flops > 1e9 && d->facts.memory_total > 1 << 20);
    assert_int_equal(d->facts.memory_limit, 1 << 20);
    assert_false(d->facts.simulated);
  }
  fy_tensor *t;
  int64_t n = 1 << 20;
  assert_int_equal(fy_memory_tensor(set->client, FY_FLOAT, 1, &n, "x", &t, NULL),
                   FY_RESOURCE_EXHAUSTED);
  char from[8] = "ferry", to[8];
  fy_device *d = set->client;
  assert_int_equal(d->ops->copy(d, FY_COPY_HOST_TO_DEVICE, to, from, 8, NULL, NULL, NULL, NULL),
                   FY_OK);
  assert_string_equal(to, "ferry");
  fy_devices_unref(set);
}

static void sharing(void **state) {
  (void)state;
  fy_device_set *a = open_set("cpu_devices=2; intra_threads=2"), *b = open_set("intra_threads=2");
  fy_device_set *c = open_set("intra_threads=3");
  assert_ptr_equal(a->items[0]->pool, a->items[1]->pool);
  assert_ptr_equal(a->items[0]->pool, b->items[0]->pool);
  assert_true(c->items[0]->pool != a->items[0]->pool);
  assert_int_equal(fy_pool_threads(c->items[0]->pool), 3);
  fy_devices_unref(a);
  assert_int_equal(fy_pool_threads(b->items[0]->pool), 2);
  fy_devices_unref(b);
  fy_devices_unref(c);
}

typedef struct probe {
  fy_mutex lock;
  fy_cond done;
  int left;
  bool outside;  // a task ran on a CPU that it should not
  cpu_set_t wanted;
} probe;

static void run_probe(void *arg) {
  probe *p = arg;
  cpu_set_t now;
  CPU_ZERO(&now);
  bool bad = sched_getaffinity(0, sizeof now, &now) != 0;
  for (int i = 0; i < CPU_SETSIZE; i++) {
    bad |= CPU_ISSET((size_t)i, &now) && !CPU_ISSET((size_t)i, &p->wanted);
  }
  for (int i = 0; i < 2000; i++) bad |= !CPU_ISSET((size_t)sched_getcpu(), &p->wanted);
  fy_lock(&p->lock);
  p->outside |= bad;
  if (--p->left == 0) fy_cond_signal(&p->done);
  fy_unlock(&p->lock);
}

static void check_on(fy_pool *pool, const int *cpus, int n) {
  probe p = {.left = 50};
  fy_mutex_init(&p.lock);
  fy_cond_init(&p.done);
  CPU_ZERO(&p.wanted);
  for (int i = 0; i < n; i++) CPU_SET((size_t)cpus[i], &p.wanted);
  for (int i = 0; i < 50; i++) assert_true(fy_pool_submit(pool, run_probe, &p));
  fy_lock(&p.lock);
  while (p.left) fy_cond_wait(&p.done, &p.lock);
  fy_unlock(&p.lock);
  assert_false(p.outside);
  fy_mutex_destroy(&p.lock);
  fy_cond_destroy(&p.done);
}

static void dedicated(void **state) {
  (void)state;
  fy_cpu_list allowed;
  bool hwloc;
  fy_cpu_allowed(&allowed, &hwloc);
  print_message("%d CPUs, hwloc: %s\n", allowed.n, hwloc ? "yes" : "no");
  char text[64];
  int last = allowed.ids[allowed.n - 1];
  snprintf(text, sizeof text, "cpu_devices=2; cores=CPU:1:%d", last);
  fy_device_set *set = open_set(text);
  assert_true(set->items[1]->dedicated && !set->items[0]->dedicated);
  assert_true(set->items[0]->pool != set->items[1]->pool);
  assert_non_null(strstr(set->items[1]->facts.description, "dedicated"));
  check_on(set->items[1]->pool, &last, 1);
  // The others keep off the dedicated core.
  if (allowed.n > 2) check_on(set->items[0]->pool, allowed.ids, allowed.n - 1);
  fy_devices_unref(set);
}

static void refuse(const char *text, const char *expected) {
  fy_options o;
  fy_error err;
  fy_device_set *set;
  fy_error_init(&err);
  fy_options_default(&o);
  assert_int_equal(fy_options_text(&o, text, &err), FY_OK);
  assert_int_equal(fy_devices_open(&o, &set, &err), FY_INVALID_ARGUMENT);
  if (!strstr(fy_error_text(&err), expected)) {
    fail_msg("'%s' gives '%s', not '%s'", text, fy_error_text(&err), expected);
  }
  fy_error_clear(&err);
}

static void bad_cores(void **state) {
  (void)state;
  fy_cpu_list allowed;
  char known[256], text[320];
  fy_cpu_allowed(&allowed, NULL);
  fy_cpu_list_print(&allowed, known, sizeof known);
  snprintf(text, sizeof text, "is not available; this process may use cores %s", known);
  refuse("cores=CPU:0:900", text);
  refuse("cores=CPU:0:1-0", "is not a list of cores");
  refuse("cores=CPU:0:--", "is not a list of cores");
  refuse("cores=CPU:0:0,", "is not a list of cores");
  snprintf(text, sizeof text, "cores=CPU:0:%d CPU:1:%d", allowed.ids[0], allowed.ids[0]);
  refuse(text, "is already dedicated to CPU:0");
}

static void lists(void **state) {
  (void)state;
  fy_cpu_list all = {.n = 12}, out;
  char text[64];
  for (int i = 0; i < 12; i++) all.ids[i] = i;
  assert_int_equal(fy_cpu_list_parse("7,1-3,2,11", &all, &out, NULL), FY_OK);
  fy_cpu_list_print(&out, text, sizeof text);
  assert_string_equal(text, "1-3,7,11");
  assert_true(fy_cpu_list_has(&out, 7) && !fy_cpu_list_has(&out, 8));
}

int main(void) {
  const struct CMUnitTest tests[] = {cmocka_unit_test(facts), cmocka_unit_test(sharing),
                                     cmocka_unit_test(dedicated), cmocka_unit_test(bad_cores),
                                     cmocka_unit_test(lists)};
  return cmocka_run_group_tests(tests, NULL, NULL);
}
