// SPDX-License-Identifier: Apache-2.0
// test_ops_files.c: ops that read and write files from step to step: the readers of TF1 pipelines
// (what they answer was seen in TensorFlow 2.21) and TensorBoard's event files.

#include "op_calls.h"

#include <glob.h>
#include <unistd.h>

static char dir[64];

static int setup(void **state) {
  snprintf(dir, sizeof dir, "/tmp/ferry_files_XXXXXX");
  return mkdtemp(dir) ? calls_setup(state) : -1;
}
static int teardown(void **state) {
  char command[128];
  calls_teardown(state);
  snprintf(command, sizeof command, "rm -rf %s", dir);
  return system(command);
}

// Runs an op once; |outs| carry a reference each.
static fy_code call(const char *name, const char *attr_text, fy_tensor **in, int n,
                    fy_tensor **outs) {
  const fy_op *op = fy_op_find(name, strlen(name));
  fy_attrs attrs = {0};
  fy_site site;
  fy_tensor *none[LOCAL_OUTPUTS];
  assert_non_null(op);
  assert_int_equal(fy_sample_parse_attrs(attr_text, op->spec, &attrs, &arena, &err), FY_OK);
  fy_code code = local_bind(op, &attrs, in, n, &arena, &site, &err);
  if (!code) code = local_call(&site, &run, in, outs ? outs : none, &err);
  local_unbind(&site);
  return code;
}

static fy_tensor *string(const char *p, size_t n) {
  fy_tensor *t;
  assert_int_equal(fy_tensor_new(FY_STRING, 0, NULL, &t, NULL), FY_OK);
  assert_true(fy_tensor_set_string(t, 0, p, n));
  return t;
}

static char *path_of(const char *name) {
  static char path[4][128];
  static int at;
  at = (at + 1) % 4;
  snprintf(path[at], sizeof path[at], "%s/%s", dir, name);
  return path[at];
}

static void write_file(const char *name, const char *bytes, size_t n) {
  FILE *f = fopen(path_of(name), "wb");
  assert_non_null(f);
  assert_int_equal(fwrite(bytes, 1, n, f), n);
  fclose(f);
}

// ---------------------------------------------------------------- readers
typedef struct reading {
  fy_tensor *queue, *reader;
} reading;

static reading open_reader(const char *op, const char *attrs, const char *const *names) {
  static int made;
  char text[128];
  reading r;
  snprintf(text, sizeof text, "component_types=[string]; shared_name=\"q%d\"", made);
  assert_int_equal(call("FIFOQueueV2", text, NULL, 0, &r.queue), FY_OK);
  snprintf(text, sizeof text, "%s%sshared_name=\"r%d\"", attrs, *attrs ? "; " : "", made++);
  if (call(op, text, NULL, 0, &r.reader)) fail_msg("%s", fy_error_text(&err));
  for (; *names; names++) {
    fy_tensor *name = string(*names, strlen(*names));
    assert_int_equal(call("QueueEnqueueV2", NULL, (fy_tensor *[]){r.queue, name}, 2, NULL), FY_OK);
    fy_tensor_release(name);
  }
  assert_int_equal(call("QueueCloseV2", NULL, &r.queue, 1, NULL), FY_OK);
  return r;
}

static void close_reader(reading *r) {
  fy_tensor_release(r->queue);
  fy_tensor_release(r->reader);
}

static int64_t count(const reading *r, const char *op) {
  fy_tensor *out, *in = r->reader;
  assert_int_equal(call(op, NULL, &in, 1, &out), FY_OK);
  const int64_t n = *(int64_t *)out->data;
  fy_tensor_release(out);
  return n;
}

static void expect_record(const reading *r, const char *key, const char *value) {
  fy_tensor *out[2];
  const fy_code code = call("ReaderReadV2", NULL, (fy_tensor *[]){r->reader, r->queue}, 2, out);
  if (code) fail_msg("%s: %s", key, fy_error_text(&err));
  const fy_view k = fy_tensor_string(out[0], 0);
  assert_true(k.n >= strlen(key) && !memcmp(k.p + k.n - strlen(key), key, strlen(key)));
  assert_true(fy_view_is(fy_tensor_string(out[1], 0), value));
  fy_tensor_release(out[0]);
  fy_tensor_release(out[1]);
}

static void expect_failure(const reading *r, fy_code code, const char *text) {
  fy_tensor *out[2];
  assert_int_equal(call("ReaderReadV2", NULL, (fy_tensor *[]){r->reader, r->queue}, 2, out), code);
  assert_non_null(strstr(fy_error_text(&err), text));
}

static void lines(void **state) {
  (void)state;
  write_file("a.txt", "l1\nl\r2\r\n\nlast", 13);
  const char *const twice[] = {path_of("a.txt"), path_of("a.txt"), NULL};
  reading r = open_reader("TextLineReaderV2", "", twice);
  expect_record(&r, "/a.txt:1", "l1");
  expect_record(&r, "/a.txt:2", "l\r2");
  expect_record(&r, "/a.txt:3", "");
  expect_record(&r, "/a.txt:4", "last");
  assert_int_equal(count(&r, "ReaderNumWorkUnitsCompletedV2"), 0);
  fy_tensor *want = tensor("i64[]=3"), *out[2];
  fy_tensor *in[] = {r.reader, r.queue, want};
  assert_int_equal(call("ReaderReadUpToV2", NULL, in, 3, out), FY_OK);
  assert_int_equal(out[0]->count, 3);
  assert_int_equal(count(&r, "ReaderNumWorkUnitsCompletedV2"), 1);
  assert_int_equal(count(&r, "ReaderNumRecordsProducedV2"), 7);
  fy_tensor_release(out[0]);
  fy_tensor_release(out[1]);
  assert_int_equal(call("ReaderReadUpToV2", NULL, in, 3, out), FY_OK);
  assert_int_equal(out[1]->count, 1);
  assert_true(fy_view_is(fy_tensor_string(out[1], 0), "last"));
  assert_int_equal(count(&r, "ReaderNumWorkUnitsCompletedV2"), 2);
  fy_tensor_release(out[1]);
  expect_failure(&r, FY_OUT_OF_RANGE, "is closed and has insufficient elements");
  assert_int_equal(call("ReaderSerializeStateV2", NULL, &r.reader, 1, out + 1), FY_UNIMPLEMENTED);
  assert_int_equal(call("ReaderResetV2", NULL, &r.reader, 1, NULL), FY_OK);
  assert_int_equal(count(&r, "ReaderNumRecordsProducedV2"), 0);
  fy_tensor_release(out[0]);
  fy_tensor_release(want);
  close_reader(&r);

  const char *const once[] = {path_of("a.txt"), path_of("nope"), NULL};
  r = open_reader("TextLineReaderV2", "skip_header_lines=3", once);
  expect_record(&r, "/a.txt:4", "last");
  expect_failure(&r, FY_NOT_FOUND, "No such file");
  close_reader(&r);
}

static void whole_and_fixed(void **state) {
  (void)state;
  write_file("b.bin", "HH0123456789FF", 14);
  const char *const one[] = {path_of("b.bin"), NULL};
  reading r = open_reader("WholeFileReaderV2", "", one);
  expect_record(&r, "/b.bin", "HH0123456789FF");
  fy_tensor *saved;
  assert_int_equal(call("ReaderSerializeStateV2", NULL, &r.reader, 1, &saved), FY_OK);
  char want[600];
  snprintf(want, sizeof want, "\x08\x01\x10\x01\x18\x01\x22%c%s", (int)strlen(one[0]), one[0]);
  assert_true(fy_view_is(fy_tensor_string(saved, 0), want));
  assert_int_equal(call("ReaderResetV2", NULL, &r.reader, 1, NULL), FY_OK);
  fy_tensor *in[] = {r.reader, saved}, *bad = string("\x08\x05", 2);
  assert_int_equal(call("ReaderRestoreStateV2", NULL, in, 2, NULL), FY_OK);
  assert_int_equal(count(&r, "ReaderNumRecordsProducedV2"), 1);
  in[1] = bad;
  assert_int_equal(call("ReaderRestoreStateV2", NULL, in, 2, NULL), FY_INVALID_ARGUMENT);
  assert_int_equal(count(&r, "ReaderNumRecordsProducedV2"), 0);
  fy_tensor_release(saved);
  fy_tensor_release(bad);
  close_reader(&r);

  r = open_reader("FixedLengthRecordReaderV2", "record_bytes=3; header_bytes=2; footer_bytes=2",
                  one);
  expect_record(&r, "/b.bin:0", "012");
  expect_record(&r, "/b.bin:1", "345");
  expect_record(&r, "/b.bin:2", "678");
  expect_failure(&r, FY_OUT_OF_RANGE, "closed");
  assert_int_equal(count(&r, "ReaderNumWorkUnitsCompletedV2"), 1);
  close_reader(&r);
  r = open_reader("FixedLengthRecordReaderV2", "record_bytes=3; hop_bytes=5", one);
  expect_record(&r, "/b.bin:0", "HH0");
  expect_record(&r, "/b.bin:1", "345");
  expect_record(&r, "/b.bin:2", "89F");
  expect_failure(&r, FY_OUT_OF_RANGE, "closed");
  close_reader(&r);

  const char *const names[] = {"x", "y", NULL};
  r = open_reader("IdentityReaderV2", "", names);
  expect_record(&r, "x", "x");
  expect_record(&r, "y", "y");
  assert_int_equal(count(&r, "ReaderNumWorkUnitsCompletedV2"), 2);
  close_reader(&r);
}

static void records(void **state) {
  (void)state;
  // What tf.io.TFRecordWriter writes for b"one", plain and with GZIP.
  static const char plain[] =
      "\x03\0\0\0\0\0\0\0\xb0\x99\x49\x0e"
      "one\x01\x40\x55\x08";
  char broken[sizeof plain - 1];
  const size_t n = sizeof plain - 1;
  write_file("c.rec", plain, n);
  write_file("short.rec", plain, n - 1);
  memcpy(broken, plain, n);
  broken[0] = 'x';
  write_file("head.rec", broken, n);
  memcpy(broken, plain, n);
  broken[13] = 'x';
  write_file("body.rec", broken, n);
  const char *const name[] = {path_of("c.rec"), NULL};
  reading r = open_reader("TFRecordReaderV2", "", name);
  fy_tensor *out[2];
  const fy_code code = call("ReaderReadV2", NULL, (fy_tensor *[]){r.reader, r.queue}, 2, out);
  if (!code) {
    assert_true(fy_view_is(fy_tensor_string(out[1], 0), "one"));
    fy_tensor_release(out[0]);
    fy_tensor_release(out[1]);
  } else {
    fail_msg("%s", fy_error_text(&err));
  }
  expect_failure(&r, FY_OUT_OF_RANGE, "closed");
  close_reader(&r);
  static const char *const bad[][2] = {{"short.rec", "truncated record at 0"},
                                       {"head.rec", "corrupted record at 0 (Is this even"},
                                       {"body.rec", "corrupted record at 0"}};
  for (int i = 0; i < 3; i++) {
    const char *const one[] = {path_of(bad[i][0]), NULL};
    r = open_reader("TFRecordReaderV2", "", one);
    expect_failure(&r, FY_DATA_LOSS, bad[i][1]);
    close_reader(&r);
  }
  const char *const again[] = {path_of("c.rec"), NULL};
  r = open_reader("TFRecordReaderV2", "compression_type=\"GZIP\"", again);
  expect_failure(&r, FY_DATA_LOSS, "incorrect header check");
  close_reader(&r);
}

// ---------------------------------------------------------------- event files
static void events(void **state) {
  (void)state;
  fy_tensor *w, *step = tensor("i64[]=7"), *tag = string("loss", 4), *value = tensor("f32[]=1.5");
  fy_tensor *log = string(path_of("deep/log"), strlen(path_of("deep/log")));
  fy_tensor *queue = tensor("i32[]=10"), *millis = tensor("i32[]=60000"),
            *suffix = string(".v2", 3);
  fy_tensor *scalar[] = {NULL, step, tag, value};
  assert_int_equal(call("SummaryWriter", "shared_name=\"w\"", NULL, 0, &w), FY_OK);
  scalar[0] = w;
  assert_int_equal(call("WriteScalarSummary", NULL, scalar, 4, NULL), FY_NOT_FOUND);
  assert_int_equal(call("CreateSummaryFileWriter", NULL,
                        (fy_tensor *[]){w, log, queue, millis, suffix}, 5, NULL),
                   FY_OK);
  assert_int_equal(call("WriteScalarSummary", NULL, scalar, 4, NULL), FY_OK);
  fy_tensor *bad = string("\xff", 1), *nan = tensor("f32[2]=1,nan"),
            *numbers = tensor("f32[2]=1,2");
  assert_int_equal(call("WriteRawProtoSummary", NULL, (fy_tensor *[]){w, step, bad}, 3, NULL),
                   FY_DATA_LOSS);
  scalar[3] = nan;
  assert_int_equal(call("WriteHistogramSummary", NULL, scalar, 4, NULL), FY_INVALID_ARGUMENT);
  assert_string_equal(fy_error_text(&err), "Nan in summary histogram for: loss");
  scalar[3] = numbers;
  assert_int_equal(call("WriteHistogramSummary", NULL, scalar, 4, NULL), FY_OK);
  fy_tensor *raw = string("\x0a\x08\x0a\x01q\x15\0\0\x80\x3f", 10), *meta = string("", 0);
  assert_int_equal(call("WriteRawProtoSummary", NULL, (fy_tensor *[]){w, step, raw}, 3, NULL),
                   FY_OK);
  fy_tensor *whole[] = {w, step, numbers, tag, meta};
  assert_int_equal(call("WriteSummary", NULL, whole, 5, NULL), FY_OK);
  fy_tensor *sound = tensor("f32[1,3]=0,0.5,-1"), *rate = tensor("f32[]=8000");
  fy_tensor *heard[] = {w, step, tag, sound, rate};
  assert_int_equal(call("WriteAudioSummary", NULL, heard, 5, NULL), FY_OK);
  fy_tensor *picture = tensor("u8[1,1,2,1]=0,255"), *red = tensor("u8[4]=255,0,0,255");
  fy_tensor *seen[] = {w, step, tag, picture, red};
  assert_int_equal(call("WriteImageSummary", NULL, seen, 5, NULL), FY_OK);
  seen[3] = numbers;
  assert_int_equal(call("WriteImageSummary", NULL, seen, 5, NULL), FY_INVALID_ARGUMENT);
  assert_string_equal(fy_error_text(&err), "Tensor must be 4-D with last dim 1, 3, or 4, not [2]");
  fy_tensor *graph = string(
                "\x0a\x09\x0a\x01"
                "a\x12\x04NoOp",
                11),
            *event = string("\x10\x09", 2);
  assert_int_equal(call("WriteGraphSummary", NULL, (fy_tensor *[]){w, step, graph}, 3, NULL),
                   FY_OK);
  assert_int_equal(call("WriteGraphSummary", NULL, (fy_tensor *[]){w, step, bad}, 3, NULL),
                   FY_DATA_LOSS);
  assert_int_equal(call("ImportEvent", NULL, (fy_tensor *[]){w, event}, 2, NULL), FY_OK);
  assert_int_equal(call("ImportEvent", NULL, (fy_tensor *[]){w, bad}, 2, NULL), FY_DATA_LOSS);
  assert_int_equal(call("FlushSummaryWriter", NULL, &w, 1, NULL), FY_OK);
  assert_int_equal(call("CloseSummaryWriter", NULL, &w, 1, NULL), FY_OK);
  assert_int_equal(call("FlushSummaryWriter", NULL, &w, 1, NULL), FY_NOT_FOUND);
  assert_string_equal(
      fy_error_text(&err),
      "Resource localhost/w/N10tensorflow22SummaryWriterInterfaceE does not exist.");

  // Read back as what it is: a file of TFRecords.
  glob_t found;
  assert_int_equal(glob(path_of("deep/log/events.out.tfevents.*.v2"), 0, NULL, &found), 0);
  assert_int_equal(found.gl_pathc, 1);
  const char *const file[] = {found.gl_pathv[0], NULL};
  reading r = open_reader("TFRecordReaderV2", "", file);
  static const char scalar_event[] = "\x10\x07\x2a\x0d\x0a\x0b\x0a\x04loss\x15\0\0\xc0\x3f";
  for (int i = 0; i < 9; i++) {
    fy_tensor *out[2];
    const fy_code code = call("ReaderReadV2", NULL, (fy_tensor *[]){r.reader, r.queue}, 2, out);
    if (code) fail_msg("%s", fy_error_text(&err));
    const fy_view v = fy_tensor_string(out[1], 0);
    if (i == 8) assert_true(fy_view_is(v, "\x10\x09"));  // imported as it was
    if (i < 8) assert_true(v.n > 9 && v.p[0] == 9);      // wall_time
    if (i == 6)
      assert_memory_equal(v.p + 13,
                          "\x0a\x5c\x0a\x0closs/image/0\"L\x08\x01\x10\x02\x18\x01\"D\x89PNG", 30);
    if (i == 7)
      assert_memory_equal(v.p + 9,
                          "\x10\x07\"\x0b\x0a\x09\x0a\x01"
                          "a\x12\x04NoOp",
                          15);
    if (i == 0)
      assert_memory_equal(v.p + 9,
                          "\x1a\x0d"
                          "brain.Event:2",
                          15);
    if (i == 1) {
      assert_int_equal(v.n, 9 + sizeof scalar_event - 1);
      assert_memory_equal(v.p + 9, scalar_event, sizeof scalar_event - 1);
    }
    if (i == 3) assert_memory_equal(v.p + 9, "\x10\x07\x2a\x0a\x0a\x08\x0a\x01q", 9);
    fy_tensor_release(out[0]);
    fy_tensor_release(out[1]);
  }
  expect_failure(&r, FY_OUT_OF_RANGE, "closed");
  close_reader(&r);
  const char *keep = getenv("FERRY_KEEP_EVENTS");
  if (keep) assert_int_equal(rename(found.gl_pathv[0], keep), 0);
  globfree(&found);
  fy_tensor *all[] = {w,       step, tag,  value, log,  queue,   millis, suffix, bad,  nan,
                      numbers, raw,  meta, sound, rate, picture, red,    graph,  event};
  for (size_t i = 0; i < sizeof all / sizeof all[0]; i++) fy_tensor_release(all[i]);
}

// What LoadAndRemapMatrix makes of rows, columns and initializing values; all seen in TensorFlow.
typedef struct remapping {
  const char *name, *rows, *cols, *fill, *attrs;
  fy_code code;
  const char *want;  // values, or the text of the error
} remapping;
static const remapping remappings[] = {
    {"m", "i64[3]=3,1,2", "i64[0]=", "f32[0]=", "num_rows=3; num_cols=3", FY_OK,
     "9,10,11,3,4,5,6,7,8"},
    {"m", "i64[4]=3,-1,0,2", "i64[0]=", "f32[3]=7,8,9",
     "num_rows=4; num_cols=3; max_rows_in_memory=2", FY_OK, "9,10,11,7,8,9,0,1,2,6,7,8"},
    {"m", "i64[2]=-1,1", "i64[2]=2,-1", "f32[3]=1,2,3", "num_rows=2; num_cols=2", FY_OK, "1,2,5,3"},
    {"m", "i64[2]=-1,-2", "i64[1]=0", "f32[2]=1,2", "num_rows=2; num_cols=1", FY_OK, "1,2"},
    {"m", "i64[2]=0,5", "i64[0]=", "f32[0]=", "num_rows=2; num_cols=3", FY_INTERNAL,
     "Extent in dimension 0 out of bounds: shape = [4,3], slice = 0,6:-"},
    {"m", "i64[1]=0", "i64[1]=5", "f32[0]=", "num_rows=1; num_cols=1", FY_INVALID_ARGUMENT,
     "col_remapping[0] = 5 is not in [0, 3)"},
    {"m", "i64[1]=-1", "i64[0]=", "f32[2]=7,8", "num_rows=1; num_cols=3", FY_INVALID_ARGUMENT,
     "initializing_values contained 2 elements, but more missing values remain."},
    {"m", "i64[1]=-1", "i64[0]=", "f32[4]=7,8,9,10", "num_rows=1; num_cols=3", FY_INVALID_ARGUMENT,
     "initializing_values contained 4 elements, but only 3 elements were used to fill in missing "
     "values."},
    {"m", "i64[1]=0", "i64[0]=", "f32[0]=", "num_rows=1; num_cols=2", FY_INVALID_ARGUMENT,
     "Tensor m has shape [4,3], where the size of its 2nd dimension is 3 instead of being equal to "
     "num_cols=2"},
    {"m", "i64[1]=0", "i64[2]=0,1", "f32[0]=", "num_rows=1; num_cols=3", FY_INVALID_ARGUMENT,
     "Provided col_remapping, but its size is 2 instead of being equal to num_cols=3"},
    {"m", "i64[2]=0,1", "i64[0]=", "f32[0]=", "num_rows=3; num_cols=3", FY_INVALID_ARGUMENT,
     "Size of row_remapping is 2 instead of being equal to num_rows=3"},
    {"m", "i64[1,2]=0,1", "i64[0]=", "f32[0]=", "num_rows=2; num_cols=3", FY_INVALID_ARGUMENT,
     "The `row_remapping` tensor must be 1-D, got a tensor of shape [1,2]"},
    {"v", "i64[1]=0", "i64[0]=", "f32[0]=", "num_rows=1; num_cols=1", FY_INVALID_ARGUMENT,
     "Tensor v has shape [4] of invalid rank 1 instead of expected shape of rank 2."},
    {"i", "i64[1]=0", "i64[0]=", "f32[0]=", "num_rows=1; num_cols=3", FY_INVALID_ARGUMENT,
     "Tensor i has invalid type int32 instead of expected type float"},
    {"nope", "i64[1]=0", "i64[0]=", "f32[0]=", "num_rows=1; num_cols=3", FY_NOT_FOUND,
     "Key nope not found in checkpoint"},
};

static void remapped(void **state) {
  (void)state;
  char text[128];
  snprintf(text, sizeof text, "s[]='%s/ck'", dir);
  fy_tensor *saved[] = {tensor(text),
                        tensor("s[3]='m','v','i'"),
                        tensor("s[3]='','',''"),
                        tensor("f32[4,3]=iota"),
                        tensor("f32[4]=iota"),
                        tensor("i32[2,3]=iota")};
  assert_int_equal(call("SaveV2", NULL, saved, 6, NULL), FY_OK);
  for (size_t i = 0; i < sizeof remappings / sizeof remappings[0]; i++) {
    const remapping *r = &remappings[i];
    fy_tensor *out[LOCAL_OUTPUTS] = {NULL}, *want;
    snprintf(text, sizeof text, "s[]='%s'", r->name);
    fy_tensor *in[] = {saved[0], tensor(text), tensor(r->rows), tensor(r->cols), tensor(r->fill)};
    assert_int_equal(call("LoadAndRemapMatrix", r->attrs, in, 5, out), r->code);
    if (r->code) {
      assert_string_equal(fy_error_text(&err), r->want);
    } else {
      assert_int_equal(fy_sample_parse_expected(r->want, out[0], &want, &err), FY_OK);
      assert_memory_equal(out[0]->data, want->data, fy_tensor_bytes(want));
      fy_tensor_release(want);
      fy_tensor_release(out[0]);
    }
    fy_error_clear(&err);
    for (int k = 1; k < 5; k++) fy_tensor_release(in[k]);
  }
  for (int i = 0; i < 6; i++) fy_tensor_release(saved[i]);
}

int main(void) {
  const struct CMUnitTest tests[] = {
      cmocka_unit_test_setup_teardown(lines, setup, teardown),
      cmocka_unit_test_setup_teardown(whole_and_fixed, setup, teardown),
      cmocka_unit_test_setup_teardown(records, setup, teardown),
      cmocka_unit_test_setup_teardown(events, setup, teardown),
      cmocka_unit_test_setup_teardown(remapped, setup, teardown),
  };
  return cmocka_run_group_tests(tests, NULL, NULL);
}
