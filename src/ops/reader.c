// SPDX-License-Identifier: Apache-2.0
// reader.c: the file readers of TF1 input pipelines: WholeFile-, TextLine-, FixedLengthRecord-,
// TFRecord- and IdentityReaderV2, and the ops that read from them. The handles of version 1 are
// references (execute/refs.c) to the same resource; FixedLengthRecordReader of version 1 is not here:
// TensorFlow's kernel asks for an attribute that only version 2 has, so it never works.
//
// A reader takes names of work (files) from a queue, one after the other, and turns each into
// records with keys "file:position". Plain files are read piece by piece; compressed ones are
// decompressed into memory when they are opened.

#include <stdio.h>

#include "base/alloc.h"
#include "ops/example_wire.h"
#include "ops/queue.h"
#include "ops/resource.h"
#include "ops/shape_fns.h"
#include "ops/summary_wire.h"
#include "ops/text.h"
#include "ops/values.h"
#include "wire/file.h"
#include "wire/record.h"

#define LINE_PART 65536

typedef enum kind { WHOLE, LINES, FIXED, RECORDS, IDENTITY } kind;

typedef struct reader {
  fy_object object;
  fy_mutex lock;
  kind kind;
  char title[128];  // WholeFileReader 'node', for errors
  int64_t skip_lines, header, record, footer, hop;
  int compression;  // 0, 1 = ZLIB, 2 = GZIP
  // The work at hand.
  char *work;  // NULL: none
  char *last;  // the work started last; NULL: none
  fy_record_file in;
  int64_t position;  // number of the line or record
  fy_str line;
  int64_t started, finished, produced;
} reader;

static void close_work(reader *r) {
  fy_record_close(&r->in);
  fy_free(r->work);
  r->work = NULL;
}

static void destroy(fy_object *o) {
  reader *r = (reader *)o;
  close_work(r);
  fy_free(r->last);
  fy_str_free(&r->line);
  fy_mutex_destroy(&r->lock);
  fy_free(r);
}

static const fy_object_type reader_type = {"N10tensorflow15ReaderInterfaceE", destroy};

// ---------------------------------------------------------------- the resource
static fy_code make_reader(fy_view container, fy_view name, const void *arg, fy_object **out,
                           fy_error *err) {
  const fy_site *site = arg;
  const char *op = site->op->spec->name;
  (void)container;
  (void)name;
  reader *r = fy_calloc(1, sizeof *r);
  if (!r) return fy_fail_oom(err, sizeof *r);
  atomic_init(&r->object.refs, 1);
  r->object.type = &reader_type;
  r->in.file.fd = -1;
  fy_mutex_init(&r->lock);
  fy_str_init(&r->line);
  r->kind = op[0] == 'W'   ? WHOLE
            : op[0] == 'I' ? IDENTITY
            : op[0] == 'F' ? FIXED
            : op[1] == 'F' ? RECORDS
                           : LINES;
  static const char *const names[] = {"WholeFile", "TextLine", "FixedLengthRecord", "TFRecord",
                                      "Identity"};
  snprintf(r->title, sizeof r->title, "%sReader '%s'", names[r->kind],
           site->node_name ? site->node_name : op);
  fy_view compression = {NULL, 0};
  if (r->kind == LINES) r->skip_lines = fy_site_int(site, "skip_header_lines");
  if (r->kind == RECORDS) compression = fy_site_string(site, "compression_type");
  if (r->kind == FIXED) {
    r->header = fy_site_int(site, "header_bytes");
    r->record = fy_site_int(site, "record_bytes");
    r->footer = fy_site_int(site, "footer_bytes");
    r->hop = fy_site_int(site, "hop_bytes");
    if (r->hop == 0) r->hop = r->record;
    compression = fy_site_string(site, "encoding");
  }
  r->compression = fy_view_is(compression, "ZLIB") ? 1 : fy_view_is(compression, "GZIP") ? 2 : 0;
  *out = &r->object;
  return FY_OK;
}

static fy_code check_attrs(fy_site *site, fy_error *err) {
  static const char *const names[] = {"header_bytes", "record_bytes", "footer_bytes", "hop_bytes"};
  const char *op = site->op->spec->name;
  if (op[0] == 'F') {
    for (int i = 0; i < 4; i++) {
      const int64_t v = fy_site_int(site, names[i]);
      if (v < (i == 1) || v > INT32_MAX) {
        return fy_fail(err, FY_INVALID_ARGUMENT, "%s must be %s 0 got %lld", names[i],
                       i == 1 ? ">" : ">=", (long long)v);
      }
    }
  }
  if (op[0] == 'T' && op[1] == 'e' && fy_site_int(site, "skip_header_lines") < 0) {
    return fy_fail(err, FY_INVALID_ARGUMENT, "skip_header_lines must be >= 0 not %lld",
                   (long long)fy_site_int(site, "skip_header_lines"));
  }
  if (op[0] == 'F' || op[1] == 'F') {
    const fy_view c = fy_site_string(site, op[0] == 'F' ? "encoding" : "compression_type");
    if (c.n && !fy_view_is(c, "ZLIB") && !fy_view_is(c, "GZIP")) {
      return fy_fail(err, FY_INVALID_ARGUMENT, "%s must be ZLIB, GZIP or empty, not \"%.*s\"",
                     op[0] == 'F' ? "encoding" : "compression_type", (int)c.n, c.p);
    }
  }
  return FY_OK;
}

static fy_code new_reader(fy_kernel_ctx *ctx, fy_error *err) {
  const fy_site *site = ctx->site;
  const fy_view shared = fy_site_string(site, "shared_name");
  fy_resources *r = ctx->svc->resources ? ctx->svc->resources(ctx) : NULL;
  char own[128];
  fy_view name = shared;
  if (!shared.n) {
    snprintf(own, sizeof own, "_0_%s", site->node_name ? site->node_name : site->op->spec->name);
    name = fy_view_of(own);
  }
  fy_tensor *out;
  fy_object *object;
  FY_TRY(fy_out(ctx, 0, 0, NULL, &out, err));
  if (r && (shared.n || site->in_shapes)) {
    FY_TRY(fy_resources_get(r, &reader_type, fy_site_string(site, "container"), name, make_reader,
                            site, &object, err));
  } else {
    FY_TRY(make_reader(FY_VIEW(""), name, site, &object, err));
  }
  fy_resource_put(out, object);
  return FY_OK;
}

// ---------------------------------------------------------------- files
static fy_code open_file(reader *r, fy_error *err) {
  r->in.at = 0;
  r->position = 0;
  if (r->kind == IDENTITY || r->kind == WHOLE) return FY_OK;
  return fy_record_open(r->work, r->compression, &r->in, err);
}

// The next line into r->line, without its end. |*at_end|: there is none.
static fy_code read_line(reader *r, bool *at_end, fy_error *err) {
  char part[LINE_PART];
  r->line.len = 0;
  *at_end = r->in.at >= r->in.size;
  while (r->in.at < r->in.size) {
    const uint64_t left = r->in.size - r->in.at;
    const size_t n = left < sizeof part ? (size_t)left : sizeof part;
    FY_TRY(fy_record_bytes(&r->in, r->in.at, part, n, err));
    const char *end = memchr(part, '\n', n);
    const size_t taken = end ? (size_t)(end - part) : n;
    fy_str_addn(&r->line, part, taken);
    r->in.at += taken + (end != NULL);
    if (end) {
      if (r->line.len && r->line.p[r->line.len - 1] == '\r') r->line.len--;
      break;
    }
  }
  return r->line.failed ? fy_fail_oom(err, r->line.len) : FY_OK;
}

static fy_code read_fixed(reader *r, fy_str *value, bool *at_end, fy_error *err) {
  uint64_t at = 0;
  if (__builtin_mul_overflow((uint64_t)r->position, (uint64_t)r->hop, &at)) at = UINT64_MAX / 2;
  at += (uint64_t)r->header;
  const uint64_t need = (uint64_t)r->record + (uint64_t)r->footer;
  *at_end = at > r->in.size || r->in.size - at < need;
  if (*at_end) return FY_OK;
  char *to = fy_malloc((size_t)r->record);
  if (!to) return fy_fail_oom(err, (size_t)r->record);
  const fy_code code = fy_record_bytes(&r->in, at, to, (size_t)r->record, err);
  value->len = 0;
  if (!code) fy_str_addn(value, to, (size_t)r->record);
  fy_free(to);
  return code;
}

// The next record of the work at hand; |*got| false: the work is done.
static fy_code read_one(reader *r, fy_str *key, fy_str *value, bool *got, fy_error *err) {
  bool at_end = false;
  char place[32] = "";
  key->len = value->len = 0;
  *got = false;
  switch (r->kind) {
    case IDENTITY:
    case WHOLE:
      if (r->position++ > 0) return FY_OK;
      if (r->kind == WHOLE) {
        uint8_t *bytes;
        size_t n;
        FY_TRY(fy_wire_file_load(r->work, FY_RECORD_MOST, &bytes, &n, err));
        if (n) fy_str_addn(value, (const char *)bytes, n);
        fy_free(bytes);
      } else {
        fy_str_add(value, r->work);
      }
      break;
    case LINES:
      FY_TRY(read_line(r, &at_end, err));
      if (at_end) return FY_OK;
      fy_str_addn(value, fy_str_text(&r->line), r->line.len);
      snprintf(place, sizeof place, ":%lld", (long long)++r->position);
      break;
    case FIXED:
      FY_TRY(read_fixed(r, value, &at_end, err));
      if (at_end) return FY_OK;
      snprintf(place, sizeof place, ":%lld", (long long)r->position++);
      break;
    case RECORDS:
      snprintf(place, sizeof place, ":%llu", (unsigned long long)r->in.at);
      FY_TRY(fy_record_next(&r->in, value, &at_end, err));
      if (at_end) return FY_OK;
      break;
  }
  fy_str_add(key, r->work);
  fy_str_add(key, place);
  *got = true;
  return key->failed || value->failed ? fy_fail_oom(err, value->len) : FY_OK;
}

// The next name from the queue, which must hold single strings.
static fy_code take_name(fy_kernel_ctx *ctx, fy_tensor **out, fy_error *err) {
  fy_object *o;
  int64_t taken;
  FY_TRY(fy_resource_object(ctx->in[1], &fy_queue_type, &o, err));
  fy_queue *q = (fy_queue *)o;
  if (q->width != 1 || q->types[0] != FY_STRING) {
    return fy_fail(err, FY_INVALID_ARGUMENT, "Queue must have single string component");
  }
  FY_TRY(fy_queue_take(ctx, q, 1, false, out, &taken, err));
  if ((*out)->count == 1) return FY_OK;
  fy_tensor_release(*out);
  return fy_fail(err, FY_INVALID_ARGUMENT, "Expected to dequeue a one-element string tensor");
}

static fy_code start_work(fy_kernel_ctx *ctx, reader *r, fy_error *err) {
  fy_tensor *name;
  FY_TRY(take_name(ctx, &name, err));
  const fy_view v = fy_tensor_string(name, 0);
  r->work = fy_strndup(v.p, v.n);
  fy_tensor_release(name);
  if (!r->work) return fy_fail_oom(err, v.n);
  fy_free(r->last);
  r->last = fy_strndup(r->work, strlen(r->work));
  r->started++;
  fy_code code = open_file(r, err);
  if (!code && r->kind == FIXED && (uint64_t)r->header > r->in.size) {
    code = fy_fail(err, FY_OUT_OF_RANGE, "reached end of file");
  }
  for (bool end = false; !code && r->kind == LINES && r->position < r->skip_lines && !end;) {
    code = read_line(r, &end, err);
    if (!end) r->position++;
  }
  if (code) close_work(r);
  return code;
}

static void finish_work(reader *r) {
  r->finished = r->started;
  close_work(r);
}

// Whole files and names are done with their one record.
static bool done_early(const reader *r) {
  return r->kind == WHOLE || r->kind == IDENTITY;
}

static fy_code next_record(fy_kernel_ctx *ctx, reader *r, fy_str *key, fy_str *value,
                           fy_error *err) {
  for (bool got = false; !got;) {
    if (!r->work) FY_TRY(start_work(ctx, r, err));
    FY_TRY(read_one(r, key, value, &got, err));
    if (!got || done_early(r)) finish_work(r);
  }
  r->produced++;
  return FY_OK;
}

// ---------------------------------------------------------------- ops
static fy_code reader_of(fy_kernel_ctx *ctx, reader **out, fy_error *err) {
  fy_object *o;
  FY_TRY(fy_resource_object(ctx->in[0], &reader_type, &o, err));
  *out = (reader *)o;
  return FY_OK;
}

static fy_code read_op(fy_kernel_ctx *ctx, fy_error *err) {
  reader *r;
  fy_tensor *out_key, *out_value;
  fy_str key, value;
  FY_TRY(reader_of(ctx, &r, err));
  FY_TRY(fy_out(ctx, 0, 0, NULL, &out_key, err));
  FY_TRY(fy_out(ctx, 1, 0, NULL, &out_value, err));
  fy_str_init(&key);
  fy_str_init(&value);
  fy_lock(&r->lock);
  fy_code code = next_record(ctx, r, &key, &value, err);
  fy_unlock(&r->lock);
  if (!code) code = fy_text_put_str(out_key, 0, &key, err);
  if (!code) code = fy_text_put_str(out_value, 0, &value, err);
  fy_str_free(&key);
  fy_str_free(&value);
  return code;
}

// Up to |want| records of one piece of work: bytes one after the other, and where each ends.
typedef struct batch {
  fy_str bytes;
  size_t *ends;  // key, value, key, value …
  size_t n, cap;
} batch;

static fy_code keep(batch *b, const fy_str *part, fy_error *err) {
  if (part->len) fy_str_addn(&b->bytes, part->p, part->len);
  if (b->bytes.failed || !fy_grow(&b->ends, &b->cap, b->n + 1, sizeof *b->ends)) {
    return fy_fail_oom(err, b->bytes.len);
  }
  b->ends[b->n++] = b->bytes.len;
  return FY_OK;
}

static fy_code fill(fy_kernel_ctx *ctx, reader *r, int64_t want, batch *b, fy_error *err) {
  fy_str key, value;
  fy_code code = FY_OK;
  int64_t n = 0;
  bool got = true;
  fy_str_init(&key);
  fy_str_init(&value);
  while (n < want && !code) {
    if (!r->work) {
      if (n) break;
      code = start_work(ctx, r, err);
      if (code) break;
    }
    code = read_one(r, &key, &value, &got, err);
    if (code) break;
    if (!got || done_early(r)) finish_work(r);
    if (!got) continue;
    code = keep(b, &key, err);
    if (!code) code = keep(b, &value, err);
    n++;
    r->produced++;
  }
  fy_str_free(&key);
  fy_str_free(&value);
  return code;
}

static fy_code read_up_to(fy_kernel_ctx *ctx, fy_error *err) {
  reader *r;
  fy_tensor *keys, *values;
  batch b = {0};
  FY_TRY(reader_of(ctx, &r, err));
  if (ctx->in[2]->rank != 0) {
    return fy_fail(err, FY_INVALID_ARGUMENT, "num_records must be a scalar");
  }
  fy_str_init(&b.bytes);
  fy_lock(&r->lock);
  fy_code code = fill(ctx, r, *(const int64_t *)ctx->in[2]->data, &b, err);
  fy_unlock(&r->lock);
  const int64_t n = (int64_t)(b.n / 2);
  if (!code) code = fy_out(ctx, 0, 1, &n, &keys, err);
  if (!code) code = fy_out(ctx, 1, 1, &n, &values, err);
  for (size_t i = 0, from = 0; i < b.n && !code; from = b.ends[i++]) {
    code = fy_text_put(i % 2 ? values : keys, (int64_t)i / 2, fy_str_text(&b.bytes) + from,
                       b.ends[i] - from, err);
  }
  fy_str_free(&b.bytes);
  fy_free(b.ends);
  return code;
}

static fy_code count_of(fy_kernel_ctx *ctx, bool records, fy_error *err) {
  reader *r;
  fy_tensor *out;
  FY_TRY(reader_of(ctx, &r, err));
  FY_TRY(fy_out(ctx, 0, 0, NULL, &out, err));
  fy_lock(&r->lock);
  *(int64_t *)out->data = records ? r->produced : r->finished;
  fy_unlock(&r->lock);
  return FY_OK;
}
static fy_code num_records(fy_kernel_ctx *ctx, fy_error *err) {
  return count_of(ctx, true, err);
}
static fy_code num_units(fy_kernel_ctx *ctx, fy_error *err) {
  return count_of(ctx, false, err);
}

static void forget(reader *r) {
  fy_lock(&r->lock);
  close_work(r);
  fy_free(r->last);
  r->last = NULL;
  r->started = r->finished = r->produced = 0;
  fy_unlock(&r->lock);
}

static fy_code reset(fy_kernel_ctx *ctx, fy_error *err) {
  reader *r;
  FY_TRY(reader_of(ctx, &r, err));
  forget(r);
  return FY_OK;
}

// Only readers that are never inside a file have a state to keep.
static fy_code save_state(fy_kernel_ctx *ctx, fy_error *err) {
  reader *r;
  fy_tensor *out;
  fy_str s;
  FY_TRY(reader_of(ctx, &r, err));
  if (!done_early(r)) return fy_fail(err, FY_UNIMPLEMENTED, "Reader SerializeState");
  FY_TRY(fy_out(ctx, 0, 0, NULL, &out, err));
  fy_str_init(&s);
  fy_lock(&r->lock);
  fy_put_int(&s, 1, r->started);
  fy_put_int(&s, 2, r->finished);
  fy_put_int(&s, 3, r->produced);
  if (r->last && r->last[0]) fy_put_bytes(&s, 4, r->last, strlen(r->last));
  fy_unlock(&r->lock);
  const fy_code code = fy_text_put_str(out, 0, &s, err);
  fy_str_free(&s);
  return code;
}

static fy_code restore_state(fy_kernel_ctx *ctx, fy_error *err) {
  reader *r;
  FY_TRY(reader_of(ctx, &r, err));
  if (ctx->in[1]->rank != 0) {
    return fy_fail(err, FY_INVALID_ARGUMENT, "Reader state must be scalar, but had shape: %s",
                   fy_shape_text(ctx->in[1]->rank, ctx->in[1]->dims, (char[128]){0}));
  }
  if (!done_early(r)) {  // what cannot be restored is reset
    forget(r);
    return fy_fail(err, FY_UNIMPLEMENTED, "Reader RestoreState");
  }
  fy_bytes b = fy_bytes_of(fy_tensor_string(ctx->in[1], 0));
  uint64_t v[4] = {0};
  fy_view work = {NULL, 0};
  bool good = true;
  while (good && b.p < b.end) {
    const uint8_t tag = *b.p;
    if (tag == FY_TAG_VARINT(1) || tag == FY_TAG_VARINT(2) || tag == FY_TAG_VARINT(3)) {
      b.p++;
      good = fy_bytes_varint64(&b, &v[tag >> 3]);
    } else if (fy_bytes_tag(&b, FY_TAG_BYTES(4))) {
      good = fy_bytes_string(&b, &work);
    } else {
      good = fy_bytes_skip_field(&b);
    }
  }
  const int64_t started = (int64_t)v[1], finished = (int64_t)v[2], produced = (int64_t)v[3];
  if (!good || started < 0 || finished < 0 || produced < 0 || started < finished ||
      started > finished + 1) {
    forget(r);
    const fy_view state = fy_tensor_string(ctx->in[1], 0);
    return fy_fail(err, FY_INVALID_ARGUMENT, "Could not parse state for %s: %.*s", r->title,
                   (int)(state.n < 200 ? state.n : 200), state.p);
  }
  char *copy = started > finished ? fy_strndup(work.p ? work.p : "", work.n) : NULL;
  char *last = fy_strndup(work.p ? work.p : "", work.n);
  if ((started > finished && !copy) || !last) {
    fy_free(copy);
    fy_free(last);
    return fy_fail_oom(err, work.n);
  }
  fy_lock(&r->lock);
  close_work(r);
  fy_free(r->last);
  r->last = last;
  r->work = copy;
  r->position = 0;
  r->started = started;
  r->finished = finished;
  r->produced = produced;
  fy_unlock(&r->lock);
  return FY_OK;
}

static fy_code restore_shape(fy_shape_ctx *ctx, fy_error *err) {
  FY_TRY(fy_shape_handle(ctx, 0, err));
  return fy_shape_rank_is(ctx->in[1], 0, err);
}
static fy_code up_to_shape(fy_shape_ctx *ctx, fy_error *err) {
  FY_TRY(fy_shape_handle(ctx, 0, err));
  FY_TRY(fy_shape_handle(ctx, 1, err));
  FY_TRY(fy_shape_rank_is(ctx->in[2], 0, err));
  FY_TRY(fy_shape_set(ctx, 0, 1, NULL, err));
  return fy_shape_set(ctx, 1, 1, NULL, err);
}

static const fy_sample samples[] = {{"", NULL, FY_OK, NULL}};
static const fy_sample fixed_samples[] = {{"", "record_bytes=3", FY_OK, NULL}};

#define READER(name, list)                                                             \
  FY_OP(name, .shape = fy_shape_scalar, .prepare = check_attrs, .compute = new_reader, \
        .flags = FY_OP_HOST | FY_OP_NO_FOLD, FY_SAMPLES(list))
READER(WholeFileReaderV2, samples);
READER(TextLineReaderV2, samples);
READER(FixedLengthRecordReaderV2, fixed_samples);
READER(TFRecordReaderV2, samples);
READER(IdentityReaderV2, samples);
FY_OP(ReaderReadV2, .shape = fy_shape_of_handles, .compute = read_op,
      .flags = FY_OP_HOST | FY_OP_ASYNC);
FY_OP(ReaderReadUpToV2, .shape = up_to_shape, .compute = read_up_to,
      .flags = FY_OP_HOST | FY_OP_ASYNC | FY_OP_DYNAMIC);
FY_OP(ReaderNumRecordsProducedV2, .shape = fy_shape_of_handles, .compute = num_records,
      .flags = FY_OP_HOST);
FY_OP(ReaderNumWorkUnitsCompletedV2, .shape = fy_shape_of_handles, .compute = num_units,
      .flags = FY_OP_HOST);
FY_OP(ReaderResetV2, .shape = fy_shape_of_handles, .compute = reset, .flags = FY_OP_HOST);
FY_OP(ReaderSerializeStateV2, .shape = fy_shape_of_handles, .compute = save_state,
      .flags = FY_OP_HOST);
FY_OP(ReaderRestoreStateV2, .shape = restore_shape, .compute = restore_state, .flags = FY_OP_HOST);

// Version 1.
#define READER_1(name)                                                              \
  FY_OP(name, .shape = fy_shape_ref, .prepare = check_attrs, .compute = new_reader, \
        .flags = FY_OP_HOST | FY_OP_NO_FOLD)
READER_1(WholeFileReader);
READER_1(TextLineReader);
READER_1(TFRecordReader);
READER_1(IdentityReader);
FY_OP(ReaderRead, .shape = fy_shape_of_handles, .compute = read_op,
      .flags = FY_OP_HOST | FY_OP_ASYNC);
FY_OP(ReaderReadUpTo, .shape = up_to_shape, .compute = read_up_to,
      .flags = FY_OP_HOST | FY_OP_ASYNC | FY_OP_DYNAMIC);
FY_OP(ReaderNumRecordsProduced, .shape = fy_shape_of_handles, .compute = num_records,
      .flags = FY_OP_HOST);
FY_OP(ReaderNumWorkUnitsCompleted, .shape = fy_shape_of_handles, .compute = num_units,
      .flags = FY_OP_HOST);
FY_OP(ReaderReset, .shape = fy_shape_of_handles, .compute = reset, .flags = FY_OP_HOST);
FY_OP(ReaderSerializeState, .shape = fy_shape_of_handles, .compute = save_state,
      .flags = FY_OP_HOST);
FY_OP(ReaderRestoreState, .shape = restore_shape, .compute = restore_state, .flags = FY_OP_HOST);
