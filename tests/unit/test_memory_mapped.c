// SPDX-License-Identifier: Apache-2.0
// test_memory_mapped.c: tensors of checkpoints that are used where they lie in their files (wire/mapping.h):
// equal to what is read, and unharmed by other processes that cut, overwrite, replace or delete the
// file while it is mapped.

#include "mapped_support.h"

#include <stdatomic.h>

#include "base/thread.h"

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

// No memory to do it with: it is tried again while the other waits.
static void there_is_a_second_try(void **state) {
  (void)state;
  save(in_dir("x"));
  fy_tensor *a = load(in_dir("x"), "a");
  const size_t moved = fy_wire_mapping_count().moved_files;
  fy_fault_arm(FY_FAULT_ALLOC, 1, false);
  let_another(CUT, in_dir("x" SHARD));
  const int64_t tries = fy_fault_hits(FY_FAULT_ALLOC);
  fy_fault_disarm(FY_FAULT_ALLOC);
  if (leases) assert_true(tries >= 2);
  assert_int_equal(fy_wire_mapping_count().moved_files - moved, leases);
  check(a, 1);
  fy_tensor_release(a);
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
    end_child(true);
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

int main(void) {
  const struct CMUnitTest tests[] = {
      cmocka_unit_test_setup_teardown(mapped_is_what_is_read, setup, teardown),
      cmocka_unit_test_setup_teardown(damage_is_told_as_when_read, setup, teardown),
      cmocka_unit_test_setup_teardown(a_file_without_a_lease_is_read, setup, teardown),
      cmocka_unit_test_setup_teardown(many_files, setup, teardown),
      cmocka_unit_test_setup_teardown(others_may_do_what_they_like, setup, teardown),
      cmocka_unit_test_setup_teardown(there_is_a_second_try, setup, teardown),
      cmocka_unit_test_setup_teardown(we_may_write_it_ourselves, setup, teardown),
      cmocka_unit_test_setup_teardown(a_fork_leaves_the_lease_alone, setup, teardown),
      cmocka_unit_test_setup_teardown(allocations_may_fail, setup, teardown),
  };
  return cmocka_run_group_tests(tests, NULL, NULL);
}
