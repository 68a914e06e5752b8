// SPDX-License-Identifier: Apache-2.0
// test_memory_mapped.c: tensors of checkpoints and graphs that are used where they lie in their files
// (wire/mapping.h): equal to what is read, never written, and unharmed by other processes that cut,
// overwrite, replace or delete the file while it is mapped.

#include "wire_support.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <stdatomic.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include "base/thread.h"
#include "ferry/ferry.h"
#include "tensorflow/c/c_api_experimental.h"
#include "tensorflow/c/eager/c_api.h"
#include "tensorflow/c/eager/c_api_experimental.h"
#include "tensorflow/c/eager/dlpack.h"
#include "wire/bundle.h"
#include "wire/bundle_write.h"
#include "wire/mapping.h"

#define N     40000  // floats of a large tensor: 160,000 bytes
#define SHARD ".data-00000-of-00001"

static fy_error err;
static char dir[64];
static bool leases;  // does the file system of |dir| give any?

static const char *in_dir(const char *name) {
  static char path[4][336];
  static int next;
  next = (next + 1) % 4;
  snprintf(path[next], sizeof path[next], "%s/%s", dir, name);
  return path[next];
}

static float value(int key, int64_t i) {
  return (float)((i * 7 + key * 13) % 1009) / 8;
}

static fy_tensor *floats(int key, int64_t n) {
  fy_tensor *t;
  assert_ok(fy_tensor_new(FY_FLOAT, 1, &n, &t, &err));
  for (int64_t i = 0; i < n; i++) ((float *)t->data)[i] = value(key, i);
  return t;
}

static void check(const fy_tensor *t, int key) {
  for (int64_t i = 0; i < t->count; i++)
    if (((const float *)t->data)[i] != value(key, i)) fail_msg("element %d", (int)i);
}

// a: at byte 0; b: one that moves what follows by 3 bytes; c: out of step; d: bytes; e: small, 40 bytes.
static void save_as(const char *prefix, const char *order) {
  fy_bundle_writer *w;
  fy_tensor *a = floats(1, N), *c = floats(2, N), *e = floats(3, 10), *b, *d;
  const int64_t three = 3, many = 70000;
  assert_ok(fy_tensor_new(FY_UINT8, 1, &three, &b, &err));
  assert_ok(fy_tensor_new(FY_UINT8, 1, &many, &d, &err));
  memset(b->data, 5, 3);
  for (int64_t i = 0; i < many; i++) ((uint8_t *)d->data)[i] = (uint8_t)(i * 31);
  fy_tensor *all[] = {a, b, c, d, e};
  assert_ok(fy_bundle_writer_new(prefix, &w, &err));
  for (const char *name = order; *name; name++)
    assert_ok(fy_bundle_writer_add(w, (fy_view){name, 1}, all[*name - 'a'], &err));
  for (int i = 0; i < 5; i++) fy_tensor_release(all[i]);
  assert_ok(fy_bundle_writer_finish(w, &err));
  fy_bundle_writer_free(w);
}

static void save(const char *prefix) {
  save_as(prefix, "abcde");
}

static fy_tensor *load(const char *prefix, const char *name) {
  fy_wire_bundle *b;
  fy_tensor *t;
  assert_ok(fy_wire_bundle_open(prefix, &b, &err));
  assert_ok(fy_wire_bundle_read(b, name, &t, &err));
  fy_wire_bundle_close(b);
  return t;
}

static int setup(void **state) {
  (void)state;
  fy_error_init(&err);
  unsetenv("FERRY_WEIGHTS");
  strcpy(dir, "/tmp/ferry_mapped_XXXXXX");
  if (!mkdtemp(dir)) return -1;
  const int fd = open(in_dir("probe"), O_CREAT | O_RDONLY, 0600);
  leases = fcntl(fd, F_SETLEASE, F_RDLCK) == 0;
  close(fd);
  return 0;
}

static int teardown(void **state) {
  (void)state;
  DIR *d = opendir(dir);
  for (struct dirent *e; d && (e = readdir(d));)
    if (e->d_name[0] != '.') unlink(in_dir(e->d_name));
  if (d) closedir(d);
  rmdir(dir);
  fy_error_clear(&err);
  unsetenv("FERRY_WEIGHTS");
  return 0;
}

static bool report_says(const char *part) {
  fy_str s;
  fy_str_init(&s);
  fy_wire_mapping_report(&s);
  const bool found = strstr(fy_str_text(&s), part) != NULL;
  if (!found) print_message("report: %s\n", fy_str_text(&s));
  fy_str_free(&s);
  return found;
}

// ---------------------------------------------------------------- what is mapped
static void mapped_is_what_is_read(void **state) {
  (void)state;
  static const struct {
    const char *name;
    bool fits;
  } all[] = {{"a", true}, {"b", false}, {"c", false}, {"d", true}, {"e", false}};
  save(in_dir("x"));
  const size_t before = fy_wire_mapping_count().bytes;
  for (size_t i = 0; i < 5; i++) {
    fy_tensor *t = load(in_dir("x"), all[i].name);
    assert_int_equal(fy_wire_mapping_has(t), leases && all[i].fits);
    assert_int_equal(fy_wire_mapping_count().bytes - before,
                     leases && all[i].fits ? fy_tensor_bytes(t) : 0);
    setenv("FERRY_WEIGHTS", "read", 1);
    fy_tensor *read = load(in_dir("x"), all[i].name);
    unsetenv("FERRY_WEIGHTS");
    assert_false(fy_wire_mapping_has(read));
    assert_true(fy_tensor_equal(t, read));
    if (fy_wire_mapping_has(t)) {
      assert_false(fy_tensor_is_exclusive(t));
      assert_true(fy_wire_mapping_rest(t));  // its pages come back
      assert_true(fy_tensor_equal(t, read));
    }
    fy_tensor_release(t);
    fy_tensor_release(read);
  }
  assert_int_equal(fy_wire_mapping_count().bytes, before);
  assert_int_equal(fy_wire_mapping_count().files, 0);
}

// The same statuses, word for word.
static void damage_is_told_as_when_read(void **state) {
  (void)state;
  char first[512] = "";
  for (int kind = 0; kind < 2; kind++)
    for (int read = 0; read < 2; read++) {
      save(in_dir("x"));
      const int fd = open(in_dir("x" SHARD), O_RDWR);
      if (kind == 0)
        assert_int_equal(pwrite(fd, "#", 1, 1234), 1);  // a's checksum
      else
        assert_int_equal(ftruncate(fd, N), 0);
      close(fd);
      if (read) setenv("FERRY_WEIGHTS", "read", 1);
      fy_wire_bundle *b;
      fy_tensor *t;
      assert_ok(fy_wire_bundle_open(in_dir("x"), &b, &err));
      const fy_code code = fy_wire_bundle_read(b, "a", &t, &err);
      assert_int_equal(code, kind ? FY_OUT_OF_RANGE : FY_DATA_LOSS);
      if (read)
        assert_string_equal(fy_error_text(&err), first);
      else
        snprintf(first, sizeof first, "%s", fy_error_text(&err));
      fy_error_clear(&err);
      fy_wire_bundle_close(b);
      unsetenv("FERRY_WEIGHTS");
    }
  assert_int_equal(fy_wire_mapping_count().files, 0);
}

static void a_file_without_a_lease_is_read(void **state) {
  (void)state;
  save(in_dir("x"));
  const int fd = open(in_dir("x" SHARD), O_RDWR);
  fy_tensor *t = load(in_dir("x"), "a");
  assert_false(fy_wire_mapping_has(t));
  check(t, 1);
  if (leases) assert_true(report_says("x" SHARD ": somebody has it open for writing"));
  fy_tensor_release(t);
  close(fd);
  if (!leases || geteuid() != 0) return;
  assert_int_equal(chmod(dir, 0755), 0);
  assert_int_equal(chmod(in_dir("x.index"), 0644), 0);
  assert_int_equal(chmod(in_dir("x" SHARD), 0644), 0);
  assert_int_equal(seteuid(65534), 0);
  t = load(in_dir("x"), "a");
  assert_int_equal(seteuid(0), 0);
  assert_false(fy_wire_mapping_has(t));
  check(t, 1);
  assert_true(report_says("belongs to somebody else"));
  fy_tensor_release(t);
}

static void many_files(void **state) {
  (void)state;
  enum { FILES = 300 };
  fy_tensor *t[FILES];
  save(in_dir("x"));
  for (int i = 0; i < FILES; i++) {  // each is opened, mapped and leased anew
    t[i] = load(in_dir("x"), i % 2 ? "a" : "d");
    if (i % 2) check(t[i], 1);
  }
  const size_t files = fy_wire_mapping_count().files;
  assert_true(!leases || (files > 100 && files <= FILES));
  for (int i = 0; i < FILES; i++) fy_tensor_release(t[i]);
  assert_int_equal(fy_wire_mapping_count().files, 0);
}

// ---------------------------------------------------------------- other processes
typedef enum deed { CUT, OVERWRITE, APPEND, REMOVE, REPLACE, NUM_DEEDS } deed;

// In a process of its own: nothing but system calls.
static int do_deed(deed what, const char *path, const char *other) {
  static char junk[2 * N];
  memset(junk, 0x55, sizeof junk);
  int fd = -1;
  switch (what) {
    case CUT: return truncate(path, 100);
    case OVERWRITE:
    case APPEND: fd = open(path, O_WRONLY | (what == OVERWRITE ? O_TRUNC : O_APPEND)); break;
    case REMOVE: return unlink(path);
    default:
      fd = open(other, O_CREAT | O_WRONLY, 0600);
      if (fd >= 0 && rename(other, path) != 0) return -1;
  }
  if (fd < 0 || write(fd, junk, sizeof junk) != (ssize_t)sizeof junk) return -1;
  return close(fd);
}

static void let_another(deed what, const char *path) {
  char name[336], other[344];
  snprintf(name, sizeof name, "%s", path);
  snprintf(other, sizeof other, "%s.new", path);
  const pid_t child = fork();
  if (child == 0) _exit(do_deed(what, name, other) == 0 ? 0 : 1);
  int status;
  assert_int_equal(waitpid(child, &status, 0), child);
  assert_true(WIFEXITED(status) && WEXITSTATUS(status) == 0);
}

static atomic_bool done;

static void *read_on(void *arg) {
  const fy_tensor *t = arg;
  while (!done)
    for (int64_t i = 0; i < t->count && !done; i++)
      if (((const float *)t->data)[i] != value(1, i)) return arg;
  return NULL;
}

static void others_may_do_what_they_like(void **state) {
  (void)state;
  for (deed what = CUT; what < NUM_DEEDS; what++) {
    save(in_dir("x"));
    const fy_wire_mapped before = fy_wire_mapping_count();
    fy_tensor *a = load(in_dir("x"), "a"), *d = load(in_dir("x"), "d");
    assert_int_equal(fy_wire_mapping_has(a), leases);
    done = false;
    fy_thread reader;
    assert_true(fy_thread_start(&reader, read_on, a, "reader"));
    const int64_t start = fy_now_ns();
    let_another(what, in_dir("x" SHARD));
    assert_true(fy_now_ns() - start < (int64_t)30e9);  // nobody waited for the kernel's 45 s
    check(a, 1);
    for (int64_t i = 0; i < d->count; i++)
      assert_int_equal(((uint8_t *)d->data)[i], (uint8_t)(i * 31));
    done = true;
    void *wrong = a;
    pthread_join(reader, &wrong);
    assert_null(wrong);
    const fy_wire_mapped after = fy_wire_mapping_count();
    const bool moved = leases && what < REMOVE;
    assert_int_equal(after.moved_files - before.moved_files, moved ? 2 : 0);
    assert_int_equal(after.files, leases && !moved ? 2 : 0);
    assert_false(moved && fy_wire_mapping_rest(a));  // the only copy
    check(a, 1);
    fy_tensor_release(a);
    fy_tensor_release(d);
    unlink(in_dir("x" SHARD));
  }
  assert_int_equal(fy_wire_mapping_count().files, 0);
}

// The same process may write it, too, and save over it.
static void we_may_write_it_ourselves(void **state) {
  (void)state;
  save(in_dir("x"));
  fy_tensor *a = load(in_dir("x"), "a");
  const int64_t start = fy_now_ns();
  save(in_dir("x"));  // under another name first, then renamed
  check(a, 1);
  fy_tensor *b = load(in_dir("x"), "a");
  assert_int_equal(do_deed(OVERWRITE, in_dir("x" SHARD), NULL), 0);
  assert_true(fy_now_ns() - start < (int64_t)30e9);
  check(a, 1);
  check(b, 1);
  fy_tensor_release(a);
  fy_tensor_release(b);
}

// A fork has the mapping but not its thread; what it does with its copies is nothing to us.
static void a_fork_leaves_the_lease_alone(void **state) {
  (void)state;
  save(in_dir("x"));
  fy_tensor *a = load(in_dir("x"), "a");
  const pid_t child = fork();
  if (child == 0) {
    fy_tensor_release(a);
    _exit(0);
  }
  int status;
  assert_int_equal(waitpid(child, &status, 0), child);
  assert_true(WIFEXITED(status) && WEXITSTATUS(status) == 0);
  assert_int_equal(fy_wire_mapping_count().files, leases);
  let_another(CUT, in_dir("x" SHARD));
  check(a, 1);
  fy_tensor_release(a);
}

static void allocations_may_fail(void **state) {
  (void)state;
  save(in_dir("x"));
  const char *const path = in_dir("x");
  for (int64_t nth = 1;; nth++) {
    fy_wire_bundle *b = NULL;
    fy_tensor *t = NULL;
    fy_fault_arm(FY_FAULT_ALLOC, nth, false);
    fy_code code = fy_wire_bundle_open(path, &b, &err);
    if (!code) code = fy_wire_bundle_read(b, "a", &t, &err);
    const bool all = fy_fault_hits(FY_FAULT_ALLOC) < nth;
    fy_fault_disarm(FY_FAULT_ALLOC);
    if (!code) check(t, 1);
    fy_tensor_release(t);
    fy_wire_bundle_close(b);
    fy_error_clear(&err);
    assert_int_equal(fy_wire_mapping_count().files, 0);
    if (all) break;
  }
}

// ---------------------------------------------------------------- sessions
static ferry_error e;
static void fine(int code) {
  if (code) fail_msg("%s", e.text);
}

static ferry_tensor *vector(int64_t n, float x) {
  ferry_tensor *t;
  fine(ferry_tensor_new(FY_FLOAT, 1, &n, NULL, &t, &e));
  for (int64_t i = 0; i < n; i++) ((float *)ferry_tensor_data(t))[i] = x;
  return t;
}

static ferry_tensor *run(ferry_session *s, const char *fetch) {
  ferry_tensor *t = NULL;
  fine(ferry_run(s, 0, NULL, NULL, 1, &fetch, &t, 0, &e));
  return t;
}

// v, restored from x; "add" adds ones; "two" is v + v.
static ferry_session *restored(ferry_runtime *rt, ferry_graph **graph) {
  ferry_graph *g;
  ferry_session *s;
  char attrs[256];
  ferry_tensor *name, *none, *prefix, *ones = vector(N, 1);
  const int64_t one = 1;
  const char *const path = in_dir("x"), *const key = "a", *const empty = "";
  fine(ferry_graph_new(rt, &g, &e));
  fine(ferry_tensor_strings(0, NULL, &path, &prefix, &e));
  fine(ferry_tensor_strings(1, &one, &key, &name, &e));
  fine(ferry_tensor_strings(1, &one, &empty, &none, &e));
  fine(ferry_graph_add(g, "Const", "prefix", "", "", NULL, prefix, &e));
  fine(ferry_graph_add(g, "Const", "name", "", "", NULL, name, &e));
  fine(ferry_graph_add(g, "Const", "none", "", "", NULL, none, &e));
  fine(ferry_graph_add(g, "Const", "ones", "", "", NULL, ones, &e));
  snprintf(attrs, sizeof attrs, "dtype=float; shape=[%d]; shared_name='v'", N);
  fine(ferry_graph_add(g, "VarHandleOp", "v", "", attrs, NULL, NULL, &e));
  fine(
      ferry_graph_add(g, "RestoreV2", "r", "prefix, name, none", "dtypes=[float]", NULL, NULL, &e));
  fine(ferry_graph_add(g, "AssignVariableOp", "init", "v, r", "dtype=float", NULL, NULL, &e));
  fine(ferry_graph_add(g, "ReadVariableOp", "read", "v", "dtype=float", NULL, NULL, &e));
  fine(ferry_graph_add(g, "AddV2", "two", "read, read", "", NULL, NULL, &e));
  fine(ferry_graph_add(g, "AssignAddVariableOp", "add", "v, ones", "dtype=float", NULL, NULL, &e));
  ferry_tensor_free(prefix);
  ferry_tensor_free(name);
  ferry_tensor_free(none);
  ferry_tensor_free(ones);
  fine(ferry_session_new(rt, g, &s, &e));
  assert_null(run(s, "^init"));
  *graph = g;
  return s;
}

static void is_values(ferry_tensor *t, int key, float times, float plus) {
  assert_int_equal(ferry_tensor_count(t), N);
  const float *data = ferry_tensor_data(t);
  for (int64_t i = 0; i < N; i++)
    if (data[i] != value(key, i) * times + plus) fail_msg("element %d", (int)i);
}

static void variables_are_never_written_in_the_file(void **state) {
  (void)state;
  ferry_runtime *rt;
  ferry_graph *g, *h;
  save_as(in_dir("x"), "ea");  // in step, but not at a multiple of 64
  fine(ferry_open("isolate_session_state=true", &rt, &e));
  ferry_session *s = restored(rt, &g), *other = restored(rt, &h);
  const size_t mapped = fy_wire_mapping_count().tensors;
  if (leases) assert_int_equal(mapped, 2);
  ferry_tensor *t = run(s, "read");  // the client's own, aligned, to write
  assert_int_equal((uintptr_t)ferry_tensor_data(t) % 64, 0);
  is_values(t, 1, 1, 0);
  memset(ferry_tensor_data(t), 0, ferry_tensor_bytes(t));
  ferry_tensor_free(t);
  for (int i = 0; i < 2; i++) assert_null(run(s, "^add"));
  if (leases) assert_int_equal(fy_wire_mapping_count().tensors, 1);  // has memory of its own now
  t = run(s, "two");
  is_values(t, 1, 2, 4);
  ferry_tensor_free(t);
  if (leases) let_another(OVERWRITE, in_dir("x" SHARD));
  t = run(other, "two");
  is_values(t, 1, 2, 0);
  ferry_tensor_free(t);
  ferry_session_free(s);
  ferry_session_free(other);
  ferry_graph_free(g);
  ferry_graph_free(h);
  ferry_close(rt);
  assert_int_equal(fy_wire_mapping_count().files, 0);
}

// What the CPU's allocator saw at most: |mapped| or read, it must be the same.
static uint64_t peak_of_training(bool mapped) {
  ferry_runtime *rt;
  ferry_graph *g;
  ferry_device device;
  if (!mapped) setenv("FERRY_WEIGHTS", "read", 1);
  fine(ferry_open("", &rt, &e));
  ferry_session *s = restored(rt, &g);
  for (int i = 0; i < 3; i++) assert_null(run(s, "^add"));
  ferry_tensor *t = run(s, "two");
  is_values(t, 1, 2, 6);
  ferry_tensor_free(t);
  assert_int_equal(ferry_device_get(rt, 0, &device), 0);
  ferry_session_free(s);
  ferry_graph_free(g);
  ferry_close(rt);
  unsetenv("FERRY_WEIGHTS");
  return device.memory_peak;
}

static void allocators_see_no_difference(void **state) {
  (void)state;
  save(in_dir("x"));
  assert_int_equal(peak_of_training(true), peak_of_training(false));
}

static void an_immutable_const_is_mapped(void **state) {
  (void)state;
  ferry_runtime *rt;
  ferry_graph *g;
  ferry_session *s;
  char attrs[512];
  save(in_dir("x"));
  fine(ferry_open(NULL, &rt, &e));
  fine(ferry_graph_new(rt, &g, &e));
  snprintf(attrs, sizeof attrs, "dtype=float; shape=[%d]; memory_region_name='%s'", N,
           in_dir("x" SHARD));
  fine(ferry_graph_add(g, "ImmutableConst", "c", "", attrs, NULL, NULL, &e));
  fine(ferry_graph_add(g, "AddV2", "two", "c, c", "", NULL, NULL, &e));
  fine(ferry_session_new(rt, g, &s, &e));
  for (int i = 0; i < 2; i++) {
    ferry_tensor *t = run(s, i ? "two" : "c");
    is_values(t, 1, i ? 2 : 1, 0);
    memset(ferry_tensor_data(t), 0, 4);  // ours
    ferry_tensor_free(t);
  }
  ferry_session_free(s);
  ferry_graph_free(g);
  ferry_close(rt);
  assert_int_equal(fy_wire_mapping_count().files, 0);
}

// ---------------------------------------------------------------- eager calls
static TF_Status *status;
static void good(void) {
  if (TF_GetCode(status)) fail_msg("%s", TF_Message(status));
}

static TFE_TensorHandle *call(TFE_Context *c, const char *name, TFE_TensorHandle **in, int n,
                              bool result) {
  TFE_TensorHandle *out = NULL;
  const int64_t dims[] = {N};
  const TF_DataType type = TF_FLOAT;
  int num = result;
  TFE_Op *op = TFE_NewOp(c, name, status);
  good();
  for (int i = 0; i < n; i++) TFE_OpAddInput(op, in[i], status);
  if (strcmp(name, "RestoreV2") == 0)
    TFE_OpSetAttrTypeList(op, "dtypes", &type, 1);
  else
    TFE_OpSetAttrType(op, "dtype", TF_FLOAT);
  if (strcmp(name, "VarHandleOp") == 0) TFE_OpSetAttrShape(op, "shape", dims, 1, status);
  good();
  TFE_Execute(op, &out, &num, status);
  good();
  TFE_DeleteOp(op);
  return out;
}

static TFE_TensorHandle *text_handle(int rank, const char *text) {
  ferry_tensor *t;
  const int64_t one = 1;
  fine(ferry_tensor_strings(rank, &one, &text, &t, &e));
  TFE_TensorHandle *h = TFE_NewTensorHandle((TF_Tensor *)t, status);
  good();
  ferry_tensor_free(t);
  return h;
}

static void own_and_aligned(void *data) {
  assert_int_equal((uintptr_t)data % 64, 0);
  for (int64_t i = 0; i < N; i++)
    if (((float *)data)[i] != value(1, i)) fail_msg("element %d", (int)i);
  ((float *)data)[0] = value(1, 0);  // may be written
}

static void clients_get_memory_of_their_own(void **state) {
  (void)state;
  save_as(in_dir("x"), "ea");
  status = TF_NewStatus();
  TFE_ContextOptions *o = TFE_NewContextOptions();
  TFE_Context *c = TFE_NewContext(o, status);
  good();
  TFE_TensorHandle *in[] = {text_handle(0, in_dir("x")), text_handle(1, "a"), text_handle(1, "")};
  TFE_TensorHandle *pair[] = {call(c, "VarHandleOp", NULL, 0, true),
                              call(c, "RestoreV2", in, 3, true)};
  if (leases) assert_int_equal(fy_wire_mapping_count().tensors, 1);
  call(c, "AssignVariableOp", pair, 2, false);
  TFE_TensorHandle *read = call(c, "ReadVariableOp", pair, 1, true);
  TF_Tensor *t = TFE_TensorHandleResolve(read, status);
  good();
  own_and_aligned(TF_TensorData(t));
  assert_ptr_equal(TFE_TensorHandleDevicePointer(read, status), TF_TensorData(t));  // made once
  TF_DeleteTensor(t);
  void *pack = TFE_HandleToDLPack(read, status);
  good();
  own_and_aligned(*(void **)pack);
  TFE_CallDLManagedTensorDeleter(pack);
  TF_CheckpointReader *r = TF_NewCheckpointReader(in_dir("x"), status);
  good();
  t = TF_CheckpointReaderGetTensor(r, "a", status);
  good();
  own_and_aligned(TF_TensorData(t));
  TF_DeleteTensor(t);
  TF_DeleteCheckpointReader(r);
  for (int i = 0; i < 3; i++) TFE_DeleteTensorHandle(in[i]);
  TFE_DeleteTensorHandle(pair[0]);
  TFE_DeleteTensorHandle(pair[1]);
  TFE_DeleteTensorHandle(read);
  TFE_DeleteContextOptions(o);
  TFE_DeleteContext(c);
  TF_DeleteStatus(status);
  assert_int_equal(fy_wire_mapping_count().files, 0);
}

// ---------------------------------------------------------------- graphs
enum { CONSTS = 8 };

// y = c0 + c1 + …; |shift| bytes that mean nothing put the constants out of step.
static void write_graph(ferry_runtime *rt, int shift) {
  ferry_graph *g;
  char inputs[256] = "", name[32];
  fine(ferry_graph_new(rt, &g, &e));
  for (int i = 0; i < CONSTS; i++) {
    snprintf(name, sizeof name, "c%d", i);
    ferry_tensor *t = vector(N, 0);
    for (int64_t k = 0; k < N; k++) ((float *)ferry_tensor_data(t))[k] = value(i, k);
    fine(ferry_graph_add(g, "Const", name, "", "", NULL, t, &e));
    ferry_tensor_free(t);
    snprintf(inputs + strlen(inputs), sizeof inputs - strlen(inputs), "%s%s", i ? ", " : "", name);
  }
  fine(ferry_graph_add(g, "AddN", "y", inputs, "", NULL, NULL, &e));
  fine(ferry_graph_save(g, in_dir("g.pb"), false, &e));
  ferry_graph_free(g);
  if (!shift) return;
  fy_wire_view v;
  assert_ok(fy_wire_view_open(in_dir("g.pb"), INT32_MAX, &v, &err));
  FILE *f = fopen(in_dir("shifted.pb"), "wb");
  fwrite("\x18\x80\x80\x80", 1, (size_t)shift - 1, f);  // version: 0
  fputc(0, f);
  fwrite(v.bytes, 1, v.n, f);
  assert_int_equal(fclose(f), 0);
  fy_wire_view_close(&v);
  assert_int_equal(rename(in_dir("shifted.pb"), in_dir("g.pb")), 0);
}

static void is_sum(ferry_tensor *t) {
  for (int64_t i = 0; i < N; i++) {
    float sum = 0;
    for (int k = 0; k < CONSTS; k++) sum += value(k, i);
    if (((float *)ferry_tensor_data(t))[i] != sum) fail_msg("element %d", (int)i);
  }
}

static void constants_of_a_graph(void **state) {
  (void)state;
  ferry_runtime *rt;
  ferry_graph *g;
  ferry_session *s;
  fine(ferry_open("optimize=false", &rt, &e));
  for (int i = 0; i < 2 * NUM_DEEDS; i++) {
    const deed what = (deed)(i % NUM_DEEDS);
    const int shift = i < NUM_DEEDS ? 0 : i % NUM_DEEDS == CUT ? 4 : 3;
    write_graph(rt, shift);
    fine(ferry_graph_load(rt, in_dir("g.pb"), &g, &e));
    const fy_wire_mapped c = fy_wire_mapping_count();
    assert_int_equal(c.tensors, leases && shift % 4 == 0 ? CONSTS : 0);
    assert_int_equal(c.bytes, c.tensors * N * 4);
    fine(ferry_session_new(rt, g, &s, &e));
    ferry_tensor *t = run(s, "y");
    is_sum(t);
    ferry_tensor_free(t);
    let_another(what, in_dir("g.pb"));
    t = run(s, "y");
    is_sum(t);
    ferry_tensor_free(t);
    t = run(s, "c0");  // the client's own
    is_values(t, 0, 1, 0);
    ((float *)ferry_tensor_data(t))[0] = -1;
    ferry_tensor_free(t);
    ferry_session_free(s);
    ferry_graph_free(g);
    assert_int_equal(fy_wire_mapping_count().files, 0);
    unlink(in_dir("g.pb"));
  }
  ferry_close(rt);
}

int main(void) {
  const struct CMUnitTest tests[] = {
      cmocka_unit_test_setup_teardown(mapped_is_what_is_read, setup, teardown),
      cmocka_unit_test_setup_teardown(damage_is_told_as_when_read, setup, teardown),
      cmocka_unit_test_setup_teardown(a_file_without_a_lease_is_read, setup, teardown),
      cmocka_unit_test_setup_teardown(many_files, setup, teardown),
      cmocka_unit_test_setup_teardown(others_may_do_what_they_like, setup, teardown),
      cmocka_unit_test_setup_teardown(we_may_write_it_ourselves, setup, teardown),
      cmocka_unit_test_setup_teardown(a_fork_leaves_the_lease_alone, setup, teardown),
      cmocka_unit_test_setup_teardown(allocations_may_fail, setup, teardown),
      cmocka_unit_test_setup_teardown(variables_are_never_written_in_the_file, setup, teardown),
      cmocka_unit_test_setup_teardown(allocators_see_no_difference, setup, teardown),
      cmocka_unit_test_setup_teardown(clients_get_memory_of_their_own, setup, teardown),
      cmocka_unit_test_setup_teardown(an_immutable_const_is_mapped, setup, teardown),
      cmocka_unit_test_setup_teardown(constants_of_a_graph, setup, teardown),
  };
  return cmocka_run_group_tests(tests, NULL, NULL);
}
