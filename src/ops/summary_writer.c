// SPDX-License-Identifier: Apache-2.0
// summary_writer.c: TensorBoard event files: SummaryWriter, CreateSummaryFileWriter, WriteSummary,
// WriteScalarSummary, WriteHistogramSummary, WriteAudioSummary, WriteImageSummary,
// WriteRawProtoSummary, WriteGraphSummary, ImportEvent,
// FlushSummaryWriter, CloseSummaryWriter.
//
// A file is a sequence of Event messages framed as TFRecords (length, masked checksum, bytes, masked
// checksum). Events gather in memory until there are max_queue of them, flush_millis have passed, or
// somebody flushes.

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/alloc.h"
#include "ops/example_wire.h"
#include "ops/resource.h"
#include "ops/shape_fns.h"
#include "ops/summary_wire.h"
#include "ops/text.h"
#include "ops/values.h"
#include "wire/crc32c.h"

typedef struct writer {
  fy_object object;
  fy_mutex lock;
  FILE *file;      // NULL: not created yet, or closed
  fy_str waiting;  // framed events
  int64_t waiting_n, max_queue, flush_ns, last_flush_ns;
  char *container, *name;
} writer;

static fy_code flush(writer *w, fy_error *err) {
  fy_code code = FY_OK;
  if (w->waiting.failed) code = fy_fail_oom(err, w->waiting.len);
  if (!code && w->waiting.len &&
      fwrite(w->waiting.p, 1, w->waiting.len, w->file) != w->waiting.len) {
    code = fy_fail(err, FY_UNKNOWN, "Failed to write %lld events", (long long)w->waiting_n);
  }
  if (fflush(w->file) && !code) {
    code = fy_fail(err, FY_UNKNOWN, "Failed to flush %lld events", (long long)w->waiting_n);
  }
  w->waiting.len = 0;
  w->waiting_n = 0;
  w->last_flush_ns = fy_now_ns();
  return code;
}

static void destroy(fy_object *o) {
  writer *w = (writer *)o;
  if (w->file) {
    fy_error lost;
    fy_error_init(&lost);
    if (flush(w, &lost)) fy_error_clear(&lost);
    fclose(w->file);
  }
  fy_str_free(&w->waiting);
  fy_mutex_destroy(&w->lock);
  fy_free(w->container);
  fy_free(w->name);
  fy_free(w);
}

static const fy_object_type writer_type = {"N10tensorflow22SummaryWriterInterfaceE", destroy};

static fy_code make_writer(fy_view container, fy_view name, const void *arg, fy_object **out,
                           fy_error *err) {
  (void)arg;
  writer *w = fy_calloc(1, sizeof *w);
  if (!w) return fy_fail_oom(err, sizeof *w);
  atomic_init(&w->object.refs, 1);
  w->object.type = &writer_type;
  fy_mutex_init(&w->lock);
  fy_str_init(&w->waiting);
  if (!container.n) container = fy_view_of(FY_DEFAULT_CONTAINER);
  w->container = fy_strndup(container.p, container.n);
  w->name = fy_strndup(name.p ? name.p : "", name.n);
  if (!w->container || !w->name) {
    destroy(&w->object);
    return fy_fail_oom(err, name.n);
  }
  *out = &w->object;
  return FY_OK;
}

static fy_code new_writer(fy_kernel_ctx *ctx, fy_error *err) {
  const fy_site *site = ctx->site;
  fy_view name = fy_site_string(site, "shared_name");
  fy_resources *r = ctx->svc->resources ? ctx->svc->resources(ctx) : NULL;
  const bool named = name.n || site->in_shapes;
  if (!name.n) name = fy_view_of(site->node_name ? site->node_name : site->op->spec->name);
  const fy_view container = fy_site_string(site, "container");
  fy_tensor *out;
  fy_object *object;
  FY_TRY(fy_out(ctx, 0, 0, NULL, &out, err));
  if (r && named)
    FY_TRY(fy_resources_get(r, &writer_type, container, name, make_writer, NULL, &object, err));
  else
    FY_TRY(make_writer(container, name, NULL, &object, err));
  fy_resource_put(out, object);
  return FY_OK;
}

static fy_code writer_of(fy_kernel_ctx *ctx, writer **out, fy_error *err) {
  fy_object *o;
  FY_TRY(fy_resource_object(ctx->in[0], &writer_type, &o, err));
  *out = (writer *)o;
  return FY_OK;
}

static fy_code not_open(const writer *w, fy_error *err) {
  return fy_fail(err, FY_NOT_FOUND, "Resource %s/%s/%s does not exist.", w->container, w->name,
                 writer_type.name);
}

// ---------------------------------------------------------------- events
static void put_frame(fy_str *s, const fy_str *event) {
  const uint64_t n = event->len;
  const uint32_t head = fy_wire_crc_mask(fy_wire_crc32c(0, &n, sizeof n));
  const uint32_t tail = fy_wire_crc_mask(fy_wire_crc32c(0, event->p, event->len));
  fy_str_addn(s, (const char *)&n, sizeof n);
  fy_str_addn(s, (const char *)&head, sizeof head);
  if (n) fy_str_addn(s, event->p, event->len);
  fy_str_addn(s, (const char *)&tail, sizeof tail);
  s->failed |= event->failed;
}

// Adds an event and writes what waits when it is time. |body| is a Summary (field 5) or a graph.
static fy_code add_event(fy_kernel_ctx *ctx, int field, const fy_str *body, fy_error *err) {
  writer *w;
  fy_str event;
  FY_TRY(writer_of(ctx, &w, err));
  fy_str_init(&event);
  fy_put_double(&event, 1, (double)fy_wall_micros() / 1e6);
  if (ctx->in[1]->count) fy_put_int(&event, 2, *(const int64_t *)ctx->in[1]->data);
  fy_put_str(&event, field, body);
  fy_lock(&w->lock);
  fy_code code = FY_OK;
  if (!w->file) {
    code = not_open(w, err);
  } else {
    put_frame(&w->waiting, &event);
    w->waiting_n++;
    if (w->waiting_n > w->max_queue || fy_now_ns() - w->last_flush_ns > w->flush_ns) {
      code = flush(w, err);
    }
  }
  fy_unlock(&w->lock);
  fy_str_free(&event);
  return code;
}

static fy_code make_dirs(char *path, fy_error *err) {
  for (char *p = path + 1;; p++) {
    if (*p && *p != '/') continue;
    const char keep = *p;
    *p = 0;
    const int bad = mkdir(path, 0777);
    const int why = errno;
    *p = keep;
    if (bad && why != EEXIST) {
      return fy_fail(err, why == EACCES ? FY_PERMISSION_DENIED : FY_FAILED_PRECONDITION,
                     "Could not create the directory %s", path);
    }
    if (!keep) return FY_OK;
  }
}

static fy_code open_events(writer *w, fy_view dir, fy_view suffix, fy_error *err) {
  static int64_t made;
  char host[256] = "localhost";
  fy_str path, event, source;
  const int64_t now = fy_wall_micros() / 1000000;
  char *logdir = fy_strndup(dir.p ? dir.p : "", dir.n);
  if (!logdir) return fy_fail_oom(err, dir.n);
  fy_code code = dir.n ? make_dirs(logdir, err) : FY_OK;
  fy_str_init(&path);
  fy_str_init(&event);
  fy_str_init(&source);
  if (gethostname(host, sizeof host - 1)) snprintf(host, sizeof host, "localhost");
  fy_str_printf(&path, "%s/events.out.tfevents.%010lld.%s.%ld.%lld%.*s", logdir, (long long)now,
                host, (long)getpid(), (long long)__atomic_fetch_add(&made, 1, __ATOMIC_RELAXED),
                (int)suffix.n, suffix.p ? suffix.p : "");
  if (!code && path.failed) code = fy_fail_oom(err, dir.n);
  if (!code) {
    w->file = fopen(path.p, "wb");
    if (!w->file) {
      code = fy_fail(err, errno == EACCES ? FY_PERMISSION_DENIED : FY_NOT_FOUND, "%s; %s", path.p,
                     "Could not be created");
    }
  }
  if (!code) {
    fy_put_double(&event, 1, (double)now);
    fy_put_bytes(&event, 3, "brain.Event:2", 13);
    fy_put_bytes(&source, 1, "tensorflow.core.util.events_writer", 34);
    fy_put_str(&event, 10, &source);
    put_frame(&w->waiting, &event);
    code = flush(w, err);
  }
  fy_str_free(&path);
  fy_str_free(&event);
  fy_str_free(&source);
  fy_free(logdir);
  return code;
}

static fy_code create(fy_kernel_ctx *ctx, fy_error *err) {
  static const char *const names[] = {"", "logdir", "max_queue", "flush_millis", "filename_suffix"};
  writer *w;
  for (int i = 1; i < 5; i++) {
    if (ctx->in[i]->count != 1) {
      return fy_fail(err, FY_INVALID_ARGUMENT, "%s must be a scalar", names[i]);
    }
  }
  FY_TRY(writer_of(ctx, &w, err));
  fy_lock(&w->lock);
  fy_code code = FY_OK;
  if (!w->file) {  // the first one counts
    w->max_queue = *(const int32_t *)ctx->in[2]->data;
    w->flush_ns = (int64_t) * (const int32_t *)ctx->in[3]->data * 1000000;
    code = open_events(w, fy_tensor_string(ctx->in[1], 0), fy_tensor_string(ctx->in[4], 0), err);
  }
  fy_unlock(&w->lock);
  return code;
}

static fy_code flush_op(fy_kernel_ctx *ctx, fy_error *err) {
  writer *w;
  FY_TRY(writer_of(ctx, &w, err));
  fy_lock(&w->lock);
  const fy_code code = w->file ? flush(w, err) : not_open(w, err);
  fy_unlock(&w->lock);
  return code;
}

static fy_code close_op(fy_kernel_ctx *ctx, fy_error *err) {
  writer *w;
  FY_TRY(writer_of(ctx, &w, err));
  fy_lock(&w->lock);
  fy_code code = w->file ? flush(w, err) : not_open(w, err);
  if (w->file) fclose(w->file);
  w->file = NULL;
  fy_unlock(&w->lock);
  return code;
}

// ---------------------------------------------------------------- what is written
static float as_float(const fy_tensor *t) {
  if (t->dtype == FY_UINT64) return (float)*(const uint64_t *)t->data;
  return fy_dtype_is_floating(t->dtype) ? (float)fy_tensor_double(t, 0)
                                        : (float)fy_tensor_int(t, 0);
}

static fy_code finish(fy_kernel_ctx *ctx, int field, fy_str *body, fy_code code, fy_error *err) {
  if (!code) code = add_event(ctx, field, body, err);
  fy_str_free(body);
  return code;
}

static fy_code need_one(const fy_tensor *t, const char *name, fy_error *err) {
  return t->count > 0 ? FY_OK : fy_fail(err, FY_INVALID_ARGUMENT, "%s must not be empty", name);
}

static fy_code write_scalar(fy_kernel_ctx *ctx, fy_error *err) {
  fy_str s;
  FY_TRY(need_one(ctx->in[2], "tag", err));
  FY_TRY(need_one(ctx->in[3], "value", err));
  fy_str_init(&s);
  fy_put_scalar(&s, fy_tensor_string(ctx->in[2], 0), as_float(ctx->in[3]));
  return finish(ctx, 5, &s, FY_OK, err);
}

static fy_code write_histogram(fy_kernel_ctx *ctx, fy_error *err) {
  fy_str s;
  FY_TRY(need_one(ctx->in[2], "tag", err));
  fy_str_init(&s);
  const fy_view tag = fy_tensor_string(ctx->in[2], 0);
  char *name = fy_strndup(tag.p ? tag.p : "", tag.n);
  fy_code code = name ? fy_put_histogram(&s, tag, ctx->in[3], name, err) : fy_fail_oom(err, tag.n);
  fy_free(name);
  return finish(ctx, 5, &s, code, err);
}

static fy_code write_tensor(fy_kernel_ctx *ctx, fy_error *err) {
  fy_str s, value;
  FY_TRY(need_one(ctx->in[3], "tag", err));
  FY_TRY(need_one(ctx->in[4], "summary_metadata", err));
  const fy_view tag = fy_tensor_string(ctx->in[3], 0), meta = fy_tensor_string(ctx->in[4], 0);
  fy_code code = FY_OK;
  fy_str_init(&s);
  if (meta.n) {
    code = fy_put_tensor_value(&s, tag, ctx->in[2], meta, err);
  } else {
    fy_str_init(&value);
    if (tag.n) fy_put_bytes(&value, 1, tag.p, tag.n);
    if (!fy_put_tensor(&value, 8, ctx->in[2])) {
      code = fy_fail(err, FY_UNIMPLEMENTED, "A summary cannot hold tensors of type %s",
                     fy_dtype_name(ctx->in[2]->dtype));
    }
    fy_put_str(&s, 1, &value);
    fy_str_free(&value);
  }
  return finish(ctx, 5, &s, code, err);
}

static fy_code write_audio(fy_kernel_ctx *ctx, fy_error *err) {
  fy_str s;
  FY_TRY(need_one(ctx->in[4], "sample_rate", err));
  fy_str_init(&s);
  const fy_code code = fy_put_audio(&s, ctx->in[2], ctx->in[3], *(const float *)ctx->in[4]->data,
                                    fy_site_int(ctx->site, "max_outputs"), err);
  return finish(ctx, 5, &s, code, err);
}

static fy_code write_image(fy_kernel_ctx *ctx, fy_error *err) {
  fy_str s;
  fy_str_init(&s);
  const fy_code code = fy_put_images(ctx, &s, ctx->in[2], ctx->in[3], ctx->in[4],
                                     fy_site_int(ctx->site, "max_images"), err);
  return finish(ctx, 5, &s, code, err);
}

static bool well_formed(fy_view v) {
  fy_bytes b = fy_bytes_of(v);
  fy_view part;
  while (b.p < b.end) {
    if (!(fy_bytes_tag(&b, FY_TAG_BYTES(1)) ? fy_bytes_string(&b, &part)
                                            : fy_bytes_skip_field(&b))) {
      return false;
    }
  }
  return true;
}

// Each string is a Summary of its own; their values make one.
static fy_code write_raw(fy_kernel_ctx *ctx, fy_error *err) {
  fy_str s;
  fy_code code = FY_OK;
  fy_str_init(&s);
  for (int64_t i = 0; i < ctx->in[2]->count && !code; i++) {
    const fy_view v = fy_tensor_string(ctx->in[2], i);
    if (!well_formed(v)) {
      code = fy_fail(err, FY_DATA_LOSS,
                     "Bad tf.compat.v1.Summary binary proto tensor string at index %lld",
                     (long long)i);
    } else if (v.n) {
      fy_str_addn(&s, v.p, v.n);
    }
  }
  return finish(ctx, 5, &s, code, err);
}

static fy_code write_graph(fy_kernel_ctx *ctx, fy_error *err) {
  fy_str s;
  FY_TRY(need_one(ctx->in[2], "tensor", err));
  const fy_view v = fy_tensor_string(ctx->in[2], 0);
  if (!well_formed(v))
    return fy_fail(err, FY_DATA_LOSS, "Bad tf.GraphDef binary proto tensor string");
  fy_str_init(&s);
  if (v.n) fy_str_addn(&s, v.p, v.n);
  return finish(ctx, 4, &s, FY_OK, err);
}

static fy_code import_event(fy_kernel_ctx *ctx, fy_error *err) {
  writer *w;
  FY_TRY(need_one(ctx->in[1], "event", err));
  const fy_view v = fy_tensor_string(ctx->in[1], 0);
  if (!well_formed(v)) return fy_fail(err, FY_DATA_LOSS, "Bad tf.Event binary proto tensor string");
  FY_TRY(writer_of(ctx, &w, err));
  fy_str event;
  fy_str_init(&event);
  if (v.n) fy_str_addn(&event, v.p, v.n);
  fy_lock(&w->lock);
  fy_code code = FY_OK;
  if (!w->file) {
    code = not_open(w, err);
  } else {
    put_frame(&w->waiting, &event);
    if (++w->waiting_n > w->max_queue) code = flush(w, err);
  }
  fy_unlock(&w->lock);
  fy_str_free(&event);
  return code;
}

static const fy_sample samples[] = {{"", NULL, FY_OK, NULL}};

FY_OP(SummaryWriter, .shape = fy_shape_scalar, .compute = new_writer,
      .flags = FY_OP_HOST | FY_OP_NO_FOLD, FY_SAMPLES(samples));
#define WRITER_OP(name, fn) \
  FY_OP(name, .shape = fy_shape_none, .compute = fn, .flags = FY_OP_HOST | FY_OP_NO_FOLD)
WRITER_OP(CreateSummaryFileWriter, create);
WRITER_OP(FlushSummaryWriter, flush_op);
WRITER_OP(CloseSummaryWriter, close_op);
WRITER_OP(WriteScalarSummary, write_scalar);
WRITER_OP(WriteHistogramSummary, write_histogram);
WRITER_OP(WriteSummary, write_tensor);
WRITER_OP(WriteRawProtoSummary, write_raw);
WRITER_OP(WriteAudioSummary, write_audio);
WRITER_OP(WriteImageSummary, write_image);
WRITER_OP(WriteGraphSummary, write_graph);
WRITER_OP(ImportEvent, import_event);
