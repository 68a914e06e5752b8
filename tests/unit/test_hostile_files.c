// SPDX-License-Identifier: Apache-2.0
// test_hostile_files.c: files with a bit wrong at every position, and cut off at every length: checkpoints of both
// versions, a SavedModel with its variables, one in text, a .meta file, arrays, images. The answer is a status or a value, in
// bounded time and memory, and the status of a model names the file.

#include "support_files.h"

#include <sys/resource.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/alloc.h"
#include "ferry/ferry.h"
#include "sample.h"
#include "wire/bundle.h"
#include "wire/npy.h"

#if defined(__has_feature)
#if __has_feature(address_sanitizer) || __has_feature(thread_sanitizer)
#define SANITIZED 1
#endif
#endif
#if !defined(SANITIZED) && (defined(__SANITIZE_ADDRESS__) || defined(__SANITIZE_THREAD__))
#define SANITIZED 1
#endif
#ifndef SANITIZED
#define SANITIZED 0
#endif

static char dir[64];

static const char *in_dir(const char *name) {
  static char path[192];
  snprintf(path, sizeof path, "%s/%s", dir, name);
  return path;
}

static void copy(const char *from, const char *to) {
  size_t n;
  uint8_t *bytes = read_whole(from, &n);
  write_file(in_dir(to), bytes, n);
  free(bytes);
}

static int setup(void **state) {
  (void)state;
  snprintf(dir, sizeof dir, "/tmp/ferry_hostile_XXXXXX");
  return mkdtemp(dir) ? 0 : -1;
}

static int teardown(void **state) {
  (void)state;
  char command[96];
  snprintf(command, sizeof command, "rm -rf %s", dir);
  return system(command);
}

// Calls |use| with two bits of every byte (each |stride|-th) of |path|'s copy |name| wrong, one at a
// time, with the file cut off there, and at last as it was.
static int ruin(const char *path, const char *name, size_t stride, bool (*use)(void)) {
  size_t n;
  int good = 0;
  uint8_t *bytes = read_whole(path, &n);
  char to[192];
  snprintf(to, sizeof to, "%s", in_dir(name));
  for (size_t i = 0; i < n; i += stride) {
    if (!sample_takes(i)) continue;
    for (size_t bit = i % 4; bit < 8; bit += 4) {
      bytes[i] ^= (uint8_t)(1 << bit);
      write_file(to, bytes, n);
      good += use();
      bytes[i] ^= (uint8_t)(1 << bit);
    }
    write_file(to, bytes, i);
    good += use();
  }
  write_file(to, bytes, n);
  assert_true(use());
  free(bytes);
  return good;
}

// ---------------------------------------------------------------- checkpoints
static const char *prefix;

static bool use_checkpoint(void) {
  fy_wire_bundle *b;
  fy_error err;
  fy_error_init(&err);
  fy_code code = fy_wire_bundle_open(in_dir(prefix), &b, &err);
  bool ok = code == FY_OK;
  if (!code) {
    for (size_t i = 0; i < fy_wire_bundle_count(b); i++) {
      fy_tensor *t;
      code = fy_wire_bundle_read(b, fy_wire_bundle_name(b, i).p, &t, &err);
      if (!code) fy_tensor_release(t);
      ok &= !code;
      if (code && !strstr(fy_error_text(&err), prefix))
        fail_msg("no file is named: %s", fy_error_text(&err));
    }
    fy_wire_bundle_close(b);
  } else if (!strstr(fy_error_text(&err), prefix)) {
    fail_msg("no file is named: %s", fy_error_text(&err));
  }
  fy_error_clear(&err);
  return ok;
}

static void checkpoint_v2(void **state) {
  (void)state;
  prefix = "model";
  copy("tests/data/ckpt/model.index", "model.index");
  copy("tests/data/ckpt/model.data-00000-of-00002", "model.data-00000-of-00002");
  copy("tests/data/ckpt/model.data-00001-of-00002", "model.data-00001-of-00002");
  ruin("tests/data/ckpt/model.index", "model.index", 1, use_checkpoint);
  ruin("tests/data/ckpt/model.data-00001-of-00002", "model.data-00001-of-00002", 1, use_checkpoint);
  ruin("tests/data/ckpt/model.data-00000-of-00002", "model.data-00000-of-00002", 3, use_checkpoint);
}

static void checkpoint_v1(void **state) {
  (void)state;
  prefix = "v1.ckpt";
  ruin("tests/data/cli/v1.ckpt", "v1.ckpt", 1, use_checkpoint);
}

// ---------------------------------------------------------------- SavedModel
static ferry_runtime *rt;

static const char *model = "m";

// Inspects, loads, freezes and runs it; |*ran| if every signature of one input took a vector.
static bool load(bool *ran) {
  ferry_error err;
  ferry_model *m;
  ferry_graph *frozen;
  char *text;
  if (ferry_inspect(rt, in_dir(model), NULL, FERRY_JSON, &text, &err) == 0) ferry_free_text(text);
  if (ferry_model_load(rt, in_dir(model), NULL, &m, &err)) {
    assert_true(err.text[0]);
    return false;
  }
  if (ferry_model_freeze(m, NULL, &frozen, NULL, &err) == 0) ferry_graph_free(frozen);
  *ran = ferry_model_signature_count(m) > 0;
  const int64_t n = 2;
  ferry_tensor *x, *y;
  assert_int_equal(ferry_tensor_new(1, 1, &n, (const float[]){1, 2}, &x, &err), 0);
  for (int i = 0; i < ferry_model_signature_count(m); i++) {
    const ferry_signature *s = ferry_model_signature_at(m, i);
    if (s->num_inputs != 1 || s->num_outputs != 1) continue;
    if (ferry_model_run(m, s->name, 1, &s->inputs[0].name, &x, 1, &s->outputs[0].name, &y, 2000,
                        &err))
      *ran = false;
    else
      ferry_tensor_free(y);
  }
  ferry_tensor_free(x);
  ferry_model_free(m);
  return true;
}

static bool use_model(void) {
  bool ran;
  return load(&ran) && ran;
}

static bool use_loaded(void) {
  bool ran;
  return load(&ran);
}

static void saved_model(void **state) {
  (void)state;
  const char *from = "examples/models/half_plus_two";
  char path[128];
  mkdir(in_dir("m"), 0700);
  mkdir(in_dir("m/variables"), 0700);
  static const char *const files[] = {"variables/variables.index",
                                      "variables/variables.data-00000-of-00001", "saved_model.pb"};
  assert_int_equal(ferry_open("intra_threads=1", &rt, NULL), 0);
  for (int i = 0; i < 3; i++) {
    char to[128];
    snprintf(path, sizeof path, "%s/%s", from, files[i]);
    snprintf(to, sizeof to, "m/%s", files[i]);
    copy(path, to);
  }
  for (int i = 0; i < 3; i++) {
    char to[128];
    struct stat st;
    snprintf(path, sizeof path, "%s/%s", from, files[i]);
    snprintf(to, sizeof to, "m/%s", files[i]);
    assert_int_equal(stat(path, &st), 0);
    ruin(path, to, st.st_size > 2000 ? (size_t)st.st_size / 400 : 1, use_model);
  }
  // A variables file that ends too soon has TensorFlow's code.
  write_file(in_dir("m/variables/variables.data-00000-of-00001"), "", 0);
  ferry_error err;
  ferry_model *m;
  assert_int_equal(ferry_model_load(rt, in_dir("m"), NULL, &m, &err), FY_OUT_OF_RANGE);
  if (!strstr(err.text, "variables") || !strstr(err.text, "Read less bytes than requested"))
    fail_msg("%s", err.text);
  ferry_close(rt);
}

// Of a TensorFlow 1 graph with its weights beside it, and of a SavedModel as text.
static void meta_and_text(void **state) {
  (void)state;
  static const char *const parts[][2] = {
      {"tests/data/cli/old.ckpt.index", "old.ckpt.index"},
      {"tests/data/cli/old.ckpt.data-00000-of-00001", "old.ckpt.data-00000-of-00001"},
      {"tests/data/zoo/text_pb/variables/variables.index", "text/variables/variables.index"},
      {"tests/data/zoo/text_pb/variables/variables.data-00000-of-00001",
       "text/variables/variables.data-00000-of-00001"},
  };
  assert_int_equal(ferry_open("intra_threads=1", &rt, NULL), 0);
  mkdir(in_dir("text"), 0700);
  mkdir(in_dir("text/variables"), 0700);
  for (int i = 0; i < 4; i++) copy(parts[i][0], parts[i][1]);
  model = "old.ckpt.meta";
  ruin("tests/data/cli/old.ckpt.meta", model, 17, use_loaded);
  model = "text";
  ruin("tests/data/zoo/text_pb/saved_model.pbtxt", "text/saved_model.pbtxt", 499, use_loaded);
  model = "m";
  ferry_close(rt);
}

// ---------------------------------------------------------------- images
static ferry_session *decoder;

static bool use_image(void) {
  size_t n;
  ferry_error err;
  ferry_tensor *file, *picture;
  const char *feed = "file", *fetch = "picture";
  uint8_t *bytes = read_whole(in_dir("i"), &n);
  assert_int_equal(ferry_tensor_strings(0, NULL, NULL, &file, &err), 0);
  assert_int_equal(ferry_tensor_set_string(file, 0, (const char *)bytes, n, &err), 0);
  bool ok = ferry_run(decoder, 1, &feed, &file, 1, &fetch, &picture, 0, &err) == 0;
  if (ok) ferry_tensor_free(picture);
  ferry_tensor_free(file);
  free(bytes);
  return ok;
}

static void images(void **state) {
  (void)state;
  static const char *const files[] = {"small.png", "small.jpg", "large.png"};
  ferry_graph *g;
  assert_int_equal(ferry_open("intra_threads=1", &rt, NULL), 0);
  assert_int_equal(ferry_graph_new(rt, &g, NULL), 0);
  assert_int_equal(
      ferry_graph_add(g, "Placeholder", "file", NULL, "dtype=string", NULL, NULL, NULL), 0);
  assert_int_equal(ferry_graph_add(g, "DecodeImage", "picture", "file", NULL, NULL, NULL, NULL), 0);
  assert_int_equal(ferry_session_new(rt, g, &decoder, NULL), 0);
  for (int i = 0; i < 3; i++) {
    char path[64];
    struct stat st;
    snprintf(path, sizeof path, "tests/data/cli/%s", files[i]);
    assert_int_equal(stat(path, &st), 0);
    ruin(path, "i", (size_t)st.st_size / 600 + 1, use_image);
  }
  ferry_session_free(decoder);
  ferry_graph_free(g);
  ferry_close(rt);
}

// ---------------------------------------------------------------- arrays
static bool use_array(void) {
  size_t n;
  bool ok = true;
  uint8_t *bytes = read_whole(in_dir("a"), &n);
  uint8_t *exact = malloc(n ? n : 1);  // so that a read past the end is one of somebody else's
  memcpy(exact, bytes, n);
  fy_wire_npz *z;
  fy_tensor *t;
  if (fy_wire_npy_parse(exact, n, &t, NULL) == FY_OK) {
    fy_tensor_release(t);
  } else if (fy_wire_npz_open(exact, n, &z, NULL) == FY_OK) {
    for (size_t i = 0; i < fy_wire_npz_count(z); i++) {
      if (fy_wire_npz_read(z, i, &t, NULL) == FY_OK)
        fy_tensor_release(t);
      else
        ok = false;
    }
    fy_wire_npz_close(z);
  } else {
    ok = false;
  }
  free(exact);
  free(bytes);
  return ok;
}

static void arrays(void **state) {
  (void)state;
  ruin("tests/data/zoo/mlp.golden.npz", "a", 1, use_array);
  ruin("examples/models/digits_x.npy", "a", 16, use_array);
}

int main(void) {
  // Nothing here needs more: a length that lies does not get the memory it claims.
  struct rlimit r;
#if !SANITIZED
  if (getrlimit(RLIMIT_AS, &r) == 0) {
    r.rlim_cur = (rlim_t)2 << 30;
    setrlimit(RLIMIT_AS, &r);
  }
#else
  (void)r;
#endif
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(images),        cmocka_unit_test(meta_and_text),
      cmocka_unit_test(checkpoint_v2), cmocka_unit_test(checkpoint_v1),
      cmocka_unit_test(saved_model),   cmocka_unit_test(arrays),
  };
  return cmocka_run_group_tests(tests, setup, teardown);
}
