// SPDX-License-Identifier: Apache-2.0
// Memory as ferry.h tells it: predicted is measured, listing costs nothing, closing gives it back.

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>

#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

#include "ferry/ferry.h"

static void ok(int code, const ferry_error *err) {
  if (code) fail_msg("%d: %s", code, err->text);
}

static void digits(const char *config, int64_t batch) {
  ferry_runtime *rt;
  ferry_graph *g;
  ferry_session *s;
  ferry_error err;
  ferry_device d[8];
  ferry_prediction p;
  ok(ferry_open(config, &rt, &err), &err);
  int n = ferry_device_count(rt);
  for (int i = 0; i < n; i++) {  // opening and looking took nothing
    assert_int_equal(ferry_device_get(rt, i, &d[i]), 0);
    assert_int_equal(d[i].memory_in_use + d[i].memory_peak + d[i].memory_reserved, 0);
  }
  ok(ferry_graph_load(rt, "examples/models/digits.pb", &g, &err), &err);
  ok(ferry_session_new(rt, g, &s, &err), &err);
  char *inputs, *outputs;
  ok(ferry_graph_inputs(g, &inputs), &err);
  ok(ferry_graph_outputs(g, &outputs), &err);
  ferry_request r = {.fetch = outputs, .batch = batch};
  ok(ferry_predict(s, &r, &p, &err), &err);
  ferry_tensor *x, *y[8] = {0};
  const char *fetches[8];
  int num = 0;
  for (char *at = strtok(outputs, ", "); at && num < 8; at = strtok(NULL, ", "))
    fetches[num++] = at;
  int64_t dims[3] = {batch, 28, 28};
  char *in = inputs;
  int code = 1;
  // The picture may be flat or not: whichever the graph takes.
  for (int form = 0; form < 3 && code; form++) {
    int64_t flat[2] = {batch, form == 0 ? 784 : 64};
    ok(ferry_tensor_new(4, form == 2 ? 3 : 2, form == 2 ? dims : flat, NULL, &x, &err), &err);
    for (int k = 0; k < 2; k++) {  // the second run has its weights packed
      code = ferry_run(s, 1, (const char *const *)&in, &x, num, fetches, y, 0, &err);
      for (int i = 0; i < num; i++) {
        ferry_tensor_free(y[i]);
        y[i] = NULL;
      }
    }
    ferry_tensor_free(x);
  }
  ok(code, &err);
  for (int i = 0; i < p.num_devices; i++) {
    for (int k = 0; k < n; k++) {
      ferry_device now;
      assert_int_equal(ferry_device_get(rt, k, &now), 0);
      if (!strstr(now.name, p.devices[i].device)) continue;
      print_message("digits, batch %lld on %s (%s): predicted %llu, measured %llu\n",
                    (long long)batch, p.devices[i].device, config,
                    (unsigned long long)p.devices[i].allocator_bytes,
                    (unsigned long long)now.memory_peak);
      assert_true(p.devices[i].exact);
      assert_int_equal(p.devices[i].allocator_bytes, now.memory_peak);
      uint64_t held, most;
      ok(ferry_session_memory(s, p.devices[i].device, &held, &most, &err), &err);
      assert_true(held <= most && most <= now.memory_peak);
      if (p.devices[i].planned_bytes) assert_true(held >= p.devices[i].planned_bytes);
    }
  }
  ferry_free_text(inputs);
  ferry_free_text(outputs);
  ferry_session_free(s);
  for (int k = 0; k < n; k++) {  // the last session is closed: everything is back
    assert_int_equal(ferry_device_get(rt, k, &d[k]), 0);
    assert_int_equal(d[k].memory_in_use, 0);
    assert_int_equal(d[k].memory_reserved, 0);
  }
  ferry_graph_free(g);
  ferry_close(rt);
}

static void predicted_is_measured(void **state) {
  (void)state;
  static const int64_t batches[] = {1, 3, 64, 1024};
  for (int i = 0; i < 4; i++) {
    digits("cpu_devices=1", batches[i]);
    digits("sim=gpu:1,memory=64MiB", batches[i]);
    digits("sim=gpu:1,memory=64MiB; place=tensorflow", batches[i]);
  }
}

static void limits_change_while_running(void **state) {
  (void)state;
  ferry_runtime *rt;
  ferry_error err;
  ferry_device d;
  ok(ferry_open("sim=gpu:1,memory=64MiB; memory_fraction=0.5", &rt, &err), &err);
  assert_int_equal(ferry_device_get(rt, 1, &d), 0);
  assert_int_equal(d.memory_limit, 32 << 20);
  ok(ferry_set_memory_limit(rt, "GPU:0", 8 << 20, &err), &err);
  assert_int_equal(ferry_device_get(rt, 1, &d), 0);
  assert_int_equal(d.memory_limit, 8 << 20);
  ok(ferry_trim(rt, "GPU:0", 0, &err), &err);
  ferry_close(rt);
  ok(ferry_open("sim=gpu:1,memory=64MiB; memory_limit.GPU=4MiB; memory_limit.CPU=1GiB", &rt, &err),
     &err);
  assert_int_equal(ferry_device_get(rt, 1, &d), 0);
  assert_int_equal(d.memory_limit, 4 << 20);
  assert_int_equal(ferry_device_get(rt, 0, &d), 0);
  assert_int_equal(d.memory_limit, 1 << 30);
  ferry_close(rt);
}

static bool top_shows(int pid) {
  char *text, want[64];
  ferry_error err;
  ok(ferry_top(FERRY_JSON, &text, &err), &err);
  snprintf(want, sizeof want, "\"pid\": %d,", pid);
  bool found = strstr(text, want) != NULL;
  ferry_free_text(text);
  return found;
}

// Another process is seen as soon as it holds memory, and not any more once it was killed.
static void processes_see_each_other(void **state) {
  (void)state;
  int ready[2];
  char byte = 0;
  assert_int_equal(pipe(ready), 0);
  pid_t child = fork();
  if (child == 0) {
    ferry_runtime *rt;
    ferry_graph *g;
    ferry_session *s;
    ferry_tensor *x, *y = NULL;
    const char *in = "x", *out = "digit";
    int64_t dims[2] = {4, 784};
    int bad = ferry_open("sim=gpu:1,memory=64MiB; place=tensorflow", &rt, NULL) ||
              ferry_graph_load(rt, "examples/models/digits.pb", &g, NULL) ||
              ferry_session_new(rt, g, &s, NULL);
    for (int form = 0; !bad && !y && form < 2; form++) {
      dims[1] = form ? 64 : 784;
      if (ferry_tensor_new(4, 2, dims, NULL, &x, NULL)) break;
      if (ferry_run(s, 1, &in, &x, 1, &out, &y, 0, NULL)) y = NULL;
    }
    byte = y ? 'y' : 'n';
    if (write(ready[1], &byte, 1) == 1) pause();
    _exit(0);
  }
  assert_true(child > 0);
  assert_int_equal(read(ready[0], &byte, 1), 1);
  assert_int_equal(byte, 'y');
  bool seen = top_shows(child);
  kill(child, SIGKILL);
  assert_int_equal(waitpid(child, NULL, 0), child);
  assert_true(seen);
  assert_false(top_shows(child));
  close(ready[0]);
  close(ready[1]);
}

int main(void) {
  char registry[] = "/tmp/ferry_registry_XXXXXX";
  int fd = mkstemp(registry);
  assert_true(fd >= 0);
  close(fd);
  setenv("FERRY_REGISTRY", registry, 1);
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(predicted_is_measured),
      cmocka_unit_test(limits_change_while_running),
      cmocka_unit_test(processes_see_each_other),
  };
  int failed = cmocka_run_group_tests(tests, NULL, NULL);
  unlink(registry);
  return failed;
}
