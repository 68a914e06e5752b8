// SPDX-License-Identifier: Apache-2.0
// Several processes on one simulated GPU (sim=…,shared=true), and on one OpenCL device: together they never take more than it has;
// who asks for more is refused or waits; a killed process leaves nothing behind; placement sees how busy
// and how full others keep the device. The others are this program once more, started with a role.

#include "support_graph.h"

#include <errno.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/wait.h>
#include <unistd.h>

#include "base/thread.h"
#include "ferry/ferry.h"
#include "memory/pool.h"
#include "memory/registry.h"
#include "observe/oom.h"

#define GPU "/device:GPU:0"
#define MIB ((size_t)1 << 20)
#define SIM "sim=gpu:1,memory=64MiB,shared=true"

// ---------------------------------------------------------------- the other process
static bool line_in(void) {
  char c;
  ssize_t n;
  while ((n = read(0, &c, 1)) < 0 && errno == EINTR) {
  }
  return n == 1;
}

static void say(char c) {
  ssize_t n = write(1, &c, 1);
  (void)n;
}

static fy_device *gpu(env *e) {
  return e->devices->items[e->devices->n - 1];
}

// The device that the others open.
static const char *device(void) {
  const char *text = getenv("FERRY_TEST_DEVICE");
  return text ? text : SIM;
}

// OpenCL bounds a single buffer.
#define PIECE (64 * MIB)
static bool take(fy_mempool *pool, size_t bytes, void **p, int *n, fy_error *err) {
  for (*n = 0; bytes; (*n)++) {
    const size_t piece = bytes < PIECE ? bytes : PIECE;
    if (fy_mempool_alloc(pool, piece, "held", &p[*n], err)) return false;
    bytes -= piece;
  }
  return true;
}

static void give(fy_mempool *pool, void **p, int n) {
  for (int i = 0; i < n; i++) fy_mempool_release(pool, p[i]);
  fy_mempool_trim(pool, 0);
}

// Takes |bytes|; a byte from the parent makes it let go, and another ends it.
static int hold(size_t bytes) {
  env e;
  void *p[32];
  int n;
  env_open(&e, device());
  bool ok = take(gpu(&e)->memory, bytes, p, &n, NULL);
  fy_registry_update();
  say(ok ? 'y' : 'n');
  if (ok && line_in()) {
    give(gpu(&e)->memory, p, n);
    say('y');
    line_in();
  }
  env_close(&e);
  return ok ? 0 : 1;
}

static fy_node *product(env *e, const char *device, int64_t side) {
  fy_node *x = placeholder(e->g, "x", FY_FLOAT);
  (void)side;
  return op_n(e->g, "MatMul", "product", device, 2, (fy_node *[]){x, x});
}

static fy_tensor *ones(int64_t side) {
  fy_tensor *t;
  assert_int_equal(fy_tensor_new(FY_FLOAT, 2, (int64_t[]){side, side}, &t, NULL), FY_OK);
  for (int64_t i = 0; i < t->count; i++) ((float *)t->data)[i] = 1;
  return t;
}

// Keeps the device busy until it is killed. With |idle| it first leaves |idle| bytes in its pool.
static int spin(size_t idle) {
  env e;
  void *p;
  env_open(&e, device());
  if (idle && fy_mempool_alloc(gpu(&e)->memory, idle, "idle", &p, NULL) == FY_OK)
    fy_mempool_release(gpu(&e)->memory, p);
  fy_node *y = product(&e, GPU, 96);
  env_session(&e);
  fy_tensor *x = ones(96), *out = NULL;
  for (int64_t n = 0;; n++) {
    fy_error err;
    fy_error_init(&err);
    fy_code code = run1(&e, y->inputs[0].node, x, y, &out, &err);
    fy_tensor_release(out);
    out = NULL;
    if (code) return 1;
    if (n == 20) say('y');
    fy_error_clear(&err);
  }
}

// Takes and gives back |bytes| for |ms|, at least once; what everybody has together is never more than
// there is.
static int chew(size_t bytes, int64_t ms) {
  env e;
  const int64_t until = fy_now_ns() + ms * 1000000, patience = 20ll * 1000000000;
  int64_t got = 0;
  static fy_registry_process all[FY_REGISTRY_SLOTS];
  env_open(&e, SIM);
  while (fy_now_ns() < until + (got ? 0 : patience)) {
    void *p;
    fy_error err;
    fy_error_init(&err);
    fy_code code = fy_mempool_alloc(gpu(&e)->memory, bytes, "chewed", &p, &err);
    bool as_told = code == FY_OK || (code == FY_RESOURCE_EXHAUSTED &&
                                     strstr(fy_error_text(&err), "other processes hold"));
    fy_error_clear(&err);
    if (!as_told) return 2;
    if (code) continue;
    got++;
    uint64_t sum = 0;
    int n = fy_registry_list(all, FY_REGISTRY_SLOTS);
    for (int i = 0; i < n; i++)
      for (int k = 0; k < all[i].num_devices; k++)
        if (all[i].devices[k].shared[0]) sum += all[i].devices[k].reserved;
    if (sum > 64 * MIB) return 3;
    fy_mempool_release(gpu(&e)->memory, p);
    fy_mempool_trim(gpu(&e)->memory, 0);
  }
  env_close(&e);
  return got ? 0 : 4;
}

static int play(int argc, char **argv) {
  const char *role = argv[1];
  size_t bytes = argc > 2 ? strtoull(argv[2], NULL, 10) : 0;
  if (strcmp(role, "hold") == 0) return hold(bytes);
  if (strcmp(role, "spin") == 0) return spin(bytes);
  return chew(bytes, argc > 3 ? atoll(argv[3]) : 100);
}

// ---------------------------------------------------------------- this one
typedef struct child {
  pid_t pid;
  int to, from;
} child;

static const char *program;  // this one; under Valgrind /proc/self/exe is Valgrind

static child start(const char *role, size_t bytes, int64_t ms) {
  int in[2], out[2];
  char size[32], time[32];
  snprintf(size, sizeof size, "%zu", bytes);
  snprintf(time, sizeof time, "%lld", (long long)ms);
  assert_int_equal(pipe(in), 0);
  assert_int_equal(pipe(out), 0);
  pid_t pid = fork();
  assert_true(pid >= 0);
  if (pid == 0) {
    dup2(in[0], 0);
    dup2(out[1], 1);
    close(in[0]), close(in[1]), close(out[0]), close(out[1]);
    execl(program, "test_memory_processes", role, size, time, (char *)NULL);
    _exit(127);
  }
  close(in[0]);
  close(out[1]);
  return (child){pid, in[1], out[0]};
}

static void hear(const child *c) {
  char answer = 0;
  assert_int_equal(read(c->from, &answer, 1), 1);
  assert_int_equal(answer, 'y');
}

static void tell(const child *c) {
  assert_int_equal(write(c->to, "x", 1), 1);
}

static int end(child *c) {
  int status = 0;
  close(c->to);
  close(c->from);
  assert_int_equal(waitpid(c->pid, &status, 0), c->pid);
  return status;
}

static void shoot(child *c) {
  assert_int_equal(kill(c->pid, SIGKILL), 0);
  int status = end(c);
  assert_true(WIFSIGNALED(status));
}

static void refused(void **state) {
  (void)state;
  env e;
  void *p = NULL, *q = NULL;
  fy_error err;
  fy_error_init(&err);
  child c = start("hold", 40 * MIB, 0);
  hear(&c);
  env_open(&e, SIM);
  fy_mempool *pool = gpu(&e)->memory;
  assert_int_equal(fy_mempool_alloc(pool, 32 * MIB, "mine", &p, &err), FY_RESOURCE_EXHAUSTED);
  print_message("%s", fy_error_text(&err));
  assert_non_null(strstr(fy_error_text(&err), "This is another process's memory: other"));
  assert_non_null(strstr(fy_error_text(&err), "other processes hold 40.00MiB of the 64.00MiB"));
  fy_error_clear(&err);
  assert_int_equal(fy_mempool_alloc(pool, 20 * MIB, "mine", &q, &err), FY_OK);  // that much is left
  char *top, pid[32];
  ferry_error ferr;
  assert_int_equal(ferry_top(FERRY_JSON, &top, &ferr), 0);
  snprintf(pid, sizeof pid, "\"pid\": %d,", (int)c.pid);
  const char *at = strstr(top, pid);
  assert_non_null(at);
  assert_non_null(strstr(at, "{\"device\": \"GPU:0\", \"backend\": \"sim\", \"in_use\": 41943040"));
  ferry_free_text(top);
  // Killed, and its parent has not even looked yet: the memory is free at once.
  assert_int_equal(kill(c.pid, SIGKILL), 0);
  siginfo_t info;
  assert_int_equal(waitid(P_PID, (id_t)c.pid, &info, WEXITED | WNOWAIT), 0);
  assert_int_equal(fy_mempool_alloc(pool, 32 * MIB, "mine", &p, &err), FY_OK);
  end(&c);
  fy_mempool_release(pool, p);
  fy_mempool_release(pool, q);
  env_close(&e);
}

static void queued(void **state) {
  (void)state;
  env e;
  void *p = NULL;
  fy_error err;
  fy_error_init(&err);
  child c = start("hold", 40 * MIB, 0);
  hear(&c);
  env_open(&e, SIM "; oversubscribe=queue; queue_ms=80");
  int64_t begin = fy_now_ns();
  assert_int_equal(fy_mempool_alloc(gpu(&e)->memory, 32 * MIB, "mine", &p, &err),
                   FY_RESOURCE_EXHAUSTED);
  assert_true(fy_now_ns() - begin >= 80 * 1000000);  // it waited, but not for ever
  fy_error_clear(&err);
  env_close(&e);
  env_open(&e, SIM "; oversubscribe=queue; queue_ms=20000");
  pid_t teller = fork();
  if (teller == 0) {  // in a while the other one lets go
    usleep(150000);
    ssize_t n = write(c.to, "x", 1);
    _exit(n == 1 ? 0 : 1);
  }
  begin = fy_now_ns();
  assert_int_equal(fy_mempool_alloc(gpu(&e)->memory, 32 * MIB, "mine", &p, &err), FY_OK);
  assert_true(fy_now_ns() - begin >= 50 * 1000000);
  waitpid(teller, NULL, 0);
  fy_mempool_release(gpu(&e)->memory, p);
  env_close(&e);
  end(&c);
}

// What another process keeps but does not use is given back while it runs on.
static void idle_memory_is_given_back(void **state) {
  (void)state;
  env e;
  void *p = NULL;
  child c = start("spin", 50 * MIB, 0);
  hear(&c);
  env_open(&e, SIM "; oversubscribe=queue; queue_ms=20000");
  assert_int_equal(fy_mempool_alloc(gpu(&e)->memory, 40 * MIB, "mine", &p, NULL), FY_OK);
  fy_mempool_release(gpu(&e)->memory, p);
  env_close(&e);
  shoot(&c);
}

static void many_at_once(void **state) {
  (void)state;
  child c[6];
  for (int i = 0; i < 6; i++) c[i] = start("chew", 24 * MIB, i < 3 ? 400 : 100000);
  usleep(200000);
  for (int i = 3; i < 6; i++) shoot(&c[i]);  // somewhere in the middle
  for (int i = 0; i < 3; i++) {
    int status = end(&c[i]);
    assert_true(WIFEXITED(status));
    assert_int_equal(WEXITSTATUS(status), 0);
  }
  env e;
  void *p = NULL;
  env_open(&e, SIM);
  assert_int_equal(fy_mempool_alloc(gpu(&e)->memory, 64 * MIB, "all", &p, NULL), FY_OK);
  fy_mempool_release(gpu(&e)->memory, p);
  env_close(&e);
}

// A session whose device is full of somebody else's tensors.
static void a_session(void **state) {
  (void)state;
  env e;
  fy_error err;
  fy_tensor *x = ones(1500), *y = NULL;  // three of 9 MiB
  fy_error_init(&err);
  child c = start("hold", 50 * MIB, 0);
  hear(&c);
  env_open(&e, SIM "; spill=never");
  fy_node *out = product(&e, GPU, 1500);
  env_session(&e);
  assert_int_equal(run1(&e, out->inputs[0].node, x, out, &y, &err), FY_RESOURCE_EXHAUSTED);
  fy_output feed = {out->inputs[0].node, 0}, fetch = {out, 0};
  fy_run_args args = {
      .feeds = &feed, .feed_values = &x, .num_feeds = 1, .fetches = &fetch, .num_fetches = 1};
  fy_oom_explain(e.s, &args, &err);
  print_message("%s", fy_error_text(&err));
  assert_non_null(strstr(fy_error_text(&err), "OOM when allocating tensor with shape[1500,1500]"));
  assert_non_null(strstr(fy_error_text(&err), "other processes hold 50.00MiB"));
  fy_error_clear(&err);
  tell(&c);  // it lets go
  hear(&c);
  if (run1(&e, out->inputs[0].node, x, out, &y, &err)) fail_msg("%s", fy_error_text(&err));
  assert_true(((float *)y->data)[7] == 1500);
  fy_tensor_release(y);
  fy_tensor_release(x);
  env_close(&e);
  end(&c);
}

// Where |product| runs now and what the placement says of it.
static bool on_gpu(int64_t side, char why[256]) {
  env e;
  fy_program *p;
  env_open(&e, SIM ",flops=1TFLOP/s");
  fy_node *y = product(&e, NULL, side);
  env_session(&e);
  fy_output feed = {y->inputs[0].node, 0}, fetch = {y, 0};
  fy_tensor *x = ones(side);
  fy_pshape shape = {2, x->dims};
  fy_run_args args = {
      .feeds = &feed, .feed_values = &x, .num_feeds = 1, .fetches = &fetch, .num_fetches = 1};
  assert_int_equal(fy_session_program(e.s, &args, &shape, NULL, NULL, &p, NULL), FY_OK);
  bool gpu_chosen = false;
  for (size_t i = 0; i < p->placement->n; i++) {
    const fy_node *n = p->graph->nodes[i];
    if (!n || !strstr(n->op_name, "MatMul")) continue;
    gpu_chosen = !p->placement->nodes[i].device->is_host;
    snprintf(why, 256, "%s: %s", fy_why_name(p->placement->nodes[i].why),
             p->placement->nodes[i].text);
  }
  fy_program_release(p);
  fy_tensor_release(x);
  env_close(&e);
  return gpu_chosen;
}

static void placement_sees_others(void **state) {
  (void)state;
  char why[256], pid[40];
  int64_t side = 64;
  while (side < 2048 && !on_gpu(side, why)) side += side / 4;  // the least that is worth the way
  assert_true(side < 2048);
  print_message("alone: %s\n", why);
  child c = start("spin", 0, 0);
  hear(&c);
  bool there = true;
  for (int i = 0; there && i < 60; i++) {  // a second at most until its share shows
    usleep(50000);
    there = on_gpu(side, why);
  }
  print_message("beside a busy process: %s\n", why);
  assert_false(there);
  snprintf(pid, sizeof pid, "process %d (", (int)c.pid);
  assert_non_null(strstr(why, "busy by others (process"));
  assert_non_null(strstr(why, pid));
  // The board says how busy.
  char *top;
  ferry_error ferr;
  assert_int_equal(ferry_top(FERRY_TEXT, &top, &ferr), 0);
  print_message("%s", top);
  ferry_free_text(top);
  fy_registry_process all[FY_REGISTRY_SLOTS];
  int n = fy_registry_list(all, FY_REGISTRY_SLOTS);
  double busy = 0;
  for (int i = 0; i < n; i++)
    for (int k = 0; all[i].pid == c.pid && k < all[i].num_devices; k++)
      if (all[i].devices[k].shared[0]) busy = all[i].devices[k].busy;
  assert_true(busy > 0.05 && busy <= 1);
  shoot(&c);
  assert_true(on_gpu(side, why));
  // Full of others' tensors: what does not fit goes elsewhere, and it says whose they are.
  c = start("hold", 63 * MIB + 512 * 1024, 0);
  hear(&c);
  assert_false(on_gpu(1024, why));
  print_message("beside a full process: %s\n", why);
  snprintf(pid, sizeof pid, "process %d (", (int)c.pid);
  assert_non_null(strstr(why, pid));
  shoot(&c);
  assert_true(on_gpu(1024, why));
}

// The same on PoCL, which is told to have 1 GiB.
static void on_opencl(void **state) {
  (void)state;
  env e;
  void *p[32];
  int n = 0, m = 0;
  fy_error err;
  fy_error_init(&err);
  setenv("POCL_MEMORY_LIMIT", "1", 1);
  setenv("FERRY_TEST_DEVICE", "opencl_cpu=true", 1);
  env_open(&e, device());
  fy_mempool *pool = gpu(&e)->memory;
  if (gpu(&e)->is_host || gpu(&e)->facts.memory_total != 1024 * MIB) {
    print_message("no OpenCL device, or one that cannot be told how much memory it has\n");
    env_close(&e);
    unsetenv("FERRY_TEST_DEVICE");
    unsetenv("POCL_MEMORY_LIMIT");
    skip();
  }
  child c = start("hold", 640 * MIB, 0);
  hear(&c);
  assert_false(take(pool, 512 * MIB, p, &n, &err));
  print_message("%s", fy_error_text(&err));
  assert_non_null(strstr(fy_error_text(&err), "other processes hold 640.00MiB of the 1.00GiB"));
  assert_int_equal(n, 6);  // what the other left
  fy_error_clear(&err);
  char *top, text[64];
  ferry_error ferr;
  assert_int_equal(ferry_top(FERRY_JSON, &top, &ferr), 0);
  snprintf(text, sizeof text, "\"pid\": %d,", (int)c.pid);
  const char *at = strstr(top, text);
  assert_non_null(at);
  assert_non_null(
      strstr(at, "{\"device\": \"GPU:0\", \"backend\": \"opencl\", \"in_use\": 671088640"));
  ferry_free_text(top);
  shoot(&c);  // what it held is free at once
  assert_true(take(pool, 128 * MIB, p + n, &m, &err));
  give(pool, p, n + m);
  env_close(&e);
  // Waiting for another one that lets go.
  c = start("hold", 640 * MIB, 0);
  hear(&c);
  env_open(&e, "opencl_cpu=true; oversubscribe=queue; queue_ms=20000");
  pool = gpu(&e)->memory;
  pid_t teller = fork();
  if (teller == 0) {
    usleep(150000);
    ssize_t wrote = write(c.to, "x", 1);
    _exit(wrote == 1 ? 0 : 1);
  }
  const int64_t begin = fy_now_ns();
  assert_true(take(pool, 512 * MIB, p, &n, &err));
  assert_true(fy_now_ns() - begin >= 50 * 1000000);
  waitpid(teller, NULL, 0);
  give(pool, p, n);
  end(&c);
  // How busy another one keeps it.
  c = start("spin", 0, 0);
  hear(&c);
  double busy = 0;
  fy_registry_process all[FY_REGISTRY_SLOTS];
  for (int i = 0; i < 60 && busy < 0.02; i++) {
    usleep(50000);
    int processes = fy_registry_list(all, FY_REGISTRY_SLOTS);
    for (int k = 0; k < processes; k++)
      for (int d = 0; all[k].pid == c.pid && d < all[k].num_devices; d++)
        if (all[k].devices[d].shared[0]) busy = all[k].devices[d].busy;
  }
  print_message("the other keeps it %.0f %% busy\n", 100 * busy);
  assert_true(busy >= 0.02 && busy <= 1);
  shoot(&c);
  env_close(&e);
  unsetenv("FERRY_TEST_DEVICE");
  unsetenv("POCL_MEMORY_LIMIT");
}

int main(int argc, char **argv) {
  if (argc > 1) return play(argc, argv);
  program = argv[0];
  char registry[] = "/tmp/ferry_registry_XXXXXX";
  int fd = mkstemp(registry);
  if (fd < 0) return 1;
  close(fd);
  setenv("FERRY_REGISTRY", registry, 1);
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(refused),      cmocka_unit_test(queued),
      cmocka_unit_test(many_at_once), cmocka_unit_test(idle_memory_is_given_back),
      cmocka_unit_test(a_session),    cmocka_unit_test(placement_sees_others),
      cmocka_unit_test(on_opencl),
  };
  int failed = cmocka_run_group_tests(tests, NULL, NULL);
  unlink(registry);
  return failed;
}
