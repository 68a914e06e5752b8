// SPDX-License-Identifier: Apache-2.0
#include "observe/transfer_bench.h"

#include <string.h>

#include "base/alloc.h"
#include "base/thread.h"
#include "devices/opencl/opencl.h"
#include "execute/kernel_call.h"
#include "memory/pool.h"
#include "observe/report.h"

#define ROUNDS 5  // the best of them

// Short copies more often: an interrupt would be all that is seen.
static int rounds_of(size_t bytes) {
  return bytes < (size_t)1 << 20 ? 20 * ROUNDS : ROUNDS;
}

typedef struct bench {
  fy_device *d;
  void *in, *out;  // on the device
  char *host_in, *host_out;
} bench;

// A copy out, or a kernel, on a thread of its own: devices may make their caller wait.
typedef struct helper {
  bench *b;
  size_t bytes;
  const fy_site *site;  // NULL: a copy
  fy_tensor *x;
  fy_code code;
} helper;

static void *help(void *arg) {
  helper *h = arg;
  fy_event e = {0};
  fy_device *d = h->b->d;
  if (h->site) {
    fy_tensor *y = NULL;
    h->code = fy_kernel_call(h->site, NULL, NULL, &h->x, &y, NULL);
    fy_tensor_release(y);
    return NULL;
  }
  h->code = (fy_code)d->ops->copy(d, FY_COPY_DEVICE_TO_HOST, h->b->host_out, h->b->out, h->bytes,
                                  NULL, NULL, &e, NULL);
  if (!h->code && e.device) h->code = (fy_code)d->ops->wait(d, &e, NULL);
  return NULL;
}

static fy_code copy_in(bench *b, size_t bytes, fy_error *err) {
  fy_event e = {0};
  FY_TRY((fy_code)b->d->ops->copy(b->d, FY_COPY_HOST_TO_DEVICE, b->in, b->host_in, bytes, NULL,
                                  NULL, &e, err));
  return e.device ? (fy_code)b->d->ops->wait(b->d, &e, err) : FY_OK;
}

// A copy in while |h| works; how long until both are done.
static fy_code together(bench *b, helper *h, size_t bytes, double *ns, fy_error *err) {
  pthread_t thread;
  int64_t start = fy_now_ns();
  if (pthread_create(&thread, NULL, help, h))
    return fy_fail(err, FY_RESOURCE_EXHAUSTED, "no thread for the benchmark");
  fy_code code = copy_in(b, bytes, err);
  pthread_join(thread, NULL);
  *ns = (double)(fy_now_ns() - start);
  if (!code && h->code) code = fy_fail(err, h->code, "%s: work beside a copy failed", b->d->name);
  return code;
}

// One copy each way where asked; how long until all are done. Virtual time runs from |*clock| on.
static fy_code once(bench *b, size_t bytes, bool in, bool out, int64_t *clock, double *ns,
                    fy_error *err) {
  fy_event e[2] = {{0}};
  const bool simulated = b->d->facts.simulated;
  if (in && out && !simulated) {
    helper h = {.b = b, .bytes = bytes};
    return together(b, &h, bytes, ns, err);
  }
  int64_t start = fy_now_ns(), last = 0;
  if (in)
    FY_TRY((fy_code)b->d->ops->copy(b->d, FY_COPY_HOST_TO_DEVICE, b->in, b->host_in, bytes, NULL,
                                    NULL, &e[0], err));
  if (out)
    FY_TRY((fy_code)b->d->ops->copy(b->d, FY_COPY_DEVICE_TO_HOST, b->host_out, b->out, bytes, NULL,
                                    NULL, &e[1], err));
  for (int i = 0; i < 2; i++) {
    if (!e[i].device) continue;
    FY_TRY((fy_code)b->d->ops->wait(b->d, &e[i], err));
    if (e[i].at_ns > last) last = e[i].at_ns;
  }
  *ns = simulated ? (double)(last - *clock) : (double)(fy_now_ns() - start);
  *clock = last;
  return FY_OK;
}

// The queues of a simulated device are apart in time until both waited for each other.
static fy_code align(bench *b, int64_t *clock, fy_error *err) {
  if (!b->d->facts.simulated) return FY_OK;
  fy_event in = {0}, out = {0};
  FY_TRY((fy_code)b->d->ops->copy(b->d, FY_COPY_HOST_TO_DEVICE, b->in, b->host_in, 1, NULL, NULL,
                                  &in, err));
  FY_TRY((fy_code)b->d->ops->copy(b->d, FY_COPY_DEVICE_TO_HOST, b->host_out, b->out, 1, NULL, &in,
                                  &out, err));
  FY_TRY((fy_code)b->d->ops->copy(b->d, FY_COPY_HOST_TO_DEVICE, b->in, b->host_in, 1, NULL, &out,
                                  &in, err));
  FY_TRY((fy_code)b->d->ops->copy(b->d, FY_COPY_DEVICE_TO_HOST, b->host_out, b->out, 1, NULL, &out,
                                  &out, err));
  *clock = in.at_ns > out.at_ns ? in.at_ns : out.at_ns;
  return FY_OK;
}

// The two ways to the device where the backend lets us choose.
static fy_code compare_memory(bench *b, fy_transfer_bench *out, fy_error *err) {
  fy_code code = FY_OK;
  if (!fy_opencl_is(b->d)) return FY_OK;
  for (int i = 0; i < out->n && !code; i++) {
    for (int way = 1; way < 3 && !code; way++) {
      double *best = way == 1 ? &out->pageable_ns[i] : &out->pinned_ns[i];
      fy_opencl_set_staging(b->d, way == 1 ? FY_OPENCL_STAGE_NEVER : FY_OPENCL_STAGE_ALWAYS);
      for (int round = 0; round < rounds_of(out->bytes[i]) && !code; round++) {
        int64_t start = fy_now_ns();
        code = copy_in(b, out->bytes[i], err);
        double ns = (double)(fy_now_ns() - start);
        if (!round || ns < *best) *best = ns;
      }
    }
  }
  fy_opencl_set_staging(b->d, FY_OPENCL_STAGE_AUTO);
  return code;
}

// How much of a copy happens behind a kernel: squares as long as the copy takes, more or less.
static fy_code measure_behind(bench *b, fy_transfer_bench *out, fy_error *err) {
  const fy_op *op = fy_op_find("Square", 6);
  fy_arena arena;
  fy_attrs attrs = {0};
  fy_dtype type = FY_FLOAT;
  if (b->d->facts.simulated || !op || !op->impl || !out->n) return FY_OK;
  const size_t bytes = out->bytes[out->n - 1] / 4;
  const int64_t count = (int64_t)(bytes / sizeof(float));
  helper h = {.b = b};
  fy_arena_init(&arena);
  fy_attr t = fy_attr_type(FY_FLOAT);
  fy_code code = fy_attrs_set(&attrs, &arena, "T", &t, err);
  fy_site site = {.op = op,
                  .attrs = &attrs,
                  .node_name = "benchmark",
                  .num_inputs = 1,
                  .num_outputs = 1,
                  .in_types = &type,
                  .out_types = &type,
                  .device = b->d};
  if (!code && (!b->d->ops->supports || b->d->ops->supports(b->d, op, &attrs, NULL))) {
    code = fy_memory_tensor(b->d, FY_FLOAT, 1, &count, "transfer benchmark", &h.x, err);
    h.site = &site;
    out->behind_bytes = bytes;
    for (int round = 0; round < ROUNDS && !code; round++) {  // the first one also compiles
      int64_t start = fy_now_ns();
      (void)help(&h);
      double kernel = (double)(fy_now_ns() - start), copy, both = 0;
      code = h.code ? fy_fail(err, h.code, "%s: a kernel failed", b->d->name) : FY_OK;
      start = fy_now_ns();
      if (!code) code = copy_in(b, bytes, err);
      copy = (double)(fy_now_ns() - start);
      if (!code) code = together(b, &h, bytes, &both, err);
      if (round < 2 || kernel < out->kernel_ns) out->kernel_ns = kernel;
      if (round < 2 || copy < out->behind_ns) out->behind_ns = copy;
      if (round < 2 || both < out->kernel_both_ns) out->kernel_both_ns = both;
    }
    fy_tensor_release(h.x);
  }
  fy_arena_free(&arena);
  return code;
}

static fy_code measure(bench *b, fy_transfer_bench *out, size_t most, fy_error *err) {
  size_t bytes = 1024;
  for (; out->n < FY_BENCH_SIZES && bytes <= most; bytes *= 4) {
    const int i = out->n++;
    out->bytes[i] = bytes;
    for (int kind = 0; kind < 3; kind++) {
      double best = 0;
      for (int round = 0; round < (kind == 2 ? ROUNDS : rounds_of(bytes)); round++) {
        double ns;
        int64_t clock = 0;
        FY_TRY(align(b, &clock, err));
        FY_TRY(once(b, bytes, kind != 1, kind != 0, &clock, &ns, err));
        if (!round || ns < best) best = ns;
        if (kind || b->d->facts.simulated) continue;
        const int64_t start = fy_now_ns();  // in turns, so that both see the machine alike
        memcpy(b->host_out, b->host_in, bytes);
        ns = (double)(fy_now_ns() - start);
        if (!round || ns < out->host_ns[i]) out->host_ns[i] = ns;
      }
      *(kind == 0 ? &out->in_ns[i] : kind == 1 ? &out->out_ns[i] : &out->both_ns[i]) = best;
    }
  }
  FY_TRY(compare_memory(b, out, err));
  if (out->n < 2) return FY_OK;
  const int last = out->n - 1;
  const double spent = out->in_ns[last] - out->in_ns[0];
  out->bytes_per_s = spent > 0 ? (double)(out->bytes[last] - out->bytes[0]) / spent * 1e9 : 0;
  out->latency_ns = out->in_ns[0];
  if (out->bytes_per_s > 0) out->latency_ns -= (double)out->bytes[0] / out->bytes_per_s * 1e9;
  if (out->latency_ns < 0) out->latency_ns = 0;
  out->worthwhile_bytes = (size_t)(out->latency_ns * out->bytes_per_s / 1e9);
  return FY_OK;
}

fy_code fy_transfer_measure(fy_device *d, fy_transfer_bench *out, fy_error *err) {
  bench b = {.d = d};
  *out = (fy_transfer_bench){.virtual_time = d->facts.simulated};
  const uint64_t limit = fy_memory_limit(d);
  size_t most = (size_t)64 << 20;
  while (limit && most > limit / 4 && most > 4096) most /= 2;
  b.host_in = fy_aligned_alloc(most);
  b.host_out = fy_aligned_alloc(most);
  fy_code code = b.host_in && b.host_out ? FY_OK : fy_fail_oom(err, most);
  if (!code) memset(b.host_in, 1, most);
  if (!code) code = fy_mempool_alloc(d->memory, most, "transfer benchmark", &b.in, err);
  if (!code) code = fy_mempool_alloc(d->memory, most, "transfer benchmark", &b.out, err);
  if (!code) code = measure(&b, out, most, err);
  if (!code) code = measure_behind(&b, out, err);
  fy_mempool_release(d->memory, b.in);
  fy_mempool_release(d->memory, b.out);
  fy_aligned_free(b.host_in);
  fy_aligned_free(b.host_out);
  fy_mempool_trim(d->memory, 0);
  return code;
}

static double rate(size_t bytes, double ns) {
  return ns > 0 ? (double)bytes / ns : 0;  // GB/s
}

// Of the shorter of two works, how much happened behind the other.
static double hidden(double a, double b, double both) {
  const double shorter = a < b ? a : b;
  double share = shorter > 0 ? (a + b - both) / shorter : 0;
  return share < 0 ? 0 : share > 1 ? 1 : share;
}
static double overlap(const fy_transfer_bench *b, int i) {
  return hidden(b->in_ns[i], b->out_ns[i], b->both_ns[i]);
}

// Of what could hide behind computing, how much did; -1: so little that no clock can tell.
static double hid(const fy_transfer_bench *b, int ahead) {
  const double one = b->ahead_ns[0], could = one - b->least_ns, did = one - b->ahead_ns[ahead];
  if (could <= (b->virtual_time ? 0 : 0.02 * one)) return -1;
  return did >= could ? 1 : did <= 0 ? 0 : did / could;
}

void fy_transfer_print(fy_str *out, const fy_device *d, const fy_transfer_bench *b, bool json) {
  char size[32], a[32], c[32];
  const char *name = fy_report_device_name(d);
  if (json) {
    fy_str_printf(out,
                  "{\"device\": \"%s\", \"virtual_time\": %s, \"latency_ns\": %.1f, "
                  "\"bytes_per_s\": %.1f, \"worthwhile_bytes\": %zu, \"behind_kernel\": %.3f, "
                  "\"runs\": {\"n\": %d, \"bytes\": %zu, \"one_at_a_time_ns\": %.1f, "
                  "\"one_ahead_ns\": %.1f, \"two_ahead_ns\": %.1f, \"least_ns\": %.1f, "
                  "\"achieved_one_ahead\": %.3f, \"achieved\": %.3f}, "
                  "\"sizes\": [",
                  name, b->virtual_time ? "true" : "false", b->latency_ns, b->bytes_per_s,
                  b->worthwhile_bytes, hidden(b->kernel_ns, b->behind_ns, b->kernel_both_ns),
                  b->ahead_runs, b->ahead_bytes, b->ahead_ns[0], b->ahead_ns[1], b->ahead_ns[2],
                  b->least_ns, hid(b, 1), hid(b, 2));
    for (int i = 0; i < b->n; i++)
      fy_str_printf(out,
                    "%s\n  {\"bytes\": %zu, \"in_ns\": %.1f, \"out_ns\": %.1f, \"both_ns\": %.1f, "
                    "\"overlap\": %.3f, \"memcpy_ns\": %.1f, \"pageable_ns\": %.1f, "
                    "\"pinned_ns\": %.1f}",
                    i ? "," : "", b->bytes[i], b->in_ns[i], b->out_ns[i], b->both_ns[i],
                    overlap(b, i), b->host_ns[i], b->pageable_ns[i], b->pinned_ns[i]);
    fy_str_add(out, "\n]}");
    return;
  }
  fy_str_printf(out, "%s  %s%s\n", name, d->facts.description,
                b->virtual_time ? " (virtual time)" : "");
  const bool ways = b->n && b->pinned_ns[b->n - 1] > 0;
  fy_str_printf(out, "  %10s %12s %9s %12s %9s %8s%s%s\n", "SIZE", "TO DEVICE", "GB/s", "TO HOST",
                "GB/s", "OVERLAP", b->virtual_time ? "" : "   MEMCPY",
                ways ? " PAGEABLE   PINNED" : "");
  for (int i = 0; i < b->n; i++) {
    fy_str_printf(out, "  %10s %12s %9.2f %12s %9.2f %7.0f%%",
                  fy_report_bytes((double)b->bytes[i], size), fy_report_ns(b->in_ns[i], a),
                  rate(b->bytes[i], b->in_ns[i]), fy_report_ns(b->out_ns[i], c),
                  rate(b->bytes[i], b->out_ns[i]), 100 * overlap(b, i));
    if (!b->virtual_time) fy_str_printf(out, " %8.2f", rate(b->bytes[i], b->host_ns[i]));
    if (ways)
      fy_str_printf(out, " %8.2f %8.2f", rate(b->bytes[i], b->pageable_ns[i]),
                    rate(b->bytes[i], b->pinned_ns[i]));
    fy_str_add(out, "\n");
  }
  if (b->bytes_per_s > 0 && b->worthwhile_bytes < 1024)
    fy_str_printf(out,
                  "  A copy costs next to nothing before its first byte, then %.2f GB/s: its "
                  "size does not matter.\n",
                  b->bytes_per_s / 1e9);
  else if (b->bytes_per_s > 0)
    fy_str_printf(out,
                  "  A copy costs %s before its first byte, then %.2f GB/s: move at least %s at a "
                  "time to have half of the link (larger batches, fewer tensors).\n",
                  fy_report_ns(b->latency_ns, a), b->bytes_per_s / 1e9,
                  fy_report_bytes((double)b->worthwhile_bytes, size));
  if (b->kernel_both_ns > 0)
    fy_str_printf(out, "  Of a copy of %s to the device, %.0f %% hide behind a kernel of %s.\n",
                  fy_report_bytes((double)b->behind_bytes, size),
                  100 * hidden(b->kernel_ns, b->behind_ns, b->kernel_both_ns),
                  fy_report_ns(b->kernel_ns, a));
  if (b->ahead_runs) {
    char two[32], least[32];
    fy_str_printf(out,
                  "  %d runs that are fed %s each: %s one at a time; with the next one started "
                  "(ferry_run_start) before the last is waited for %s, with the next two %s; at "
                  "best %s. ",
                  b->ahead_runs, fy_report_bytes((double)b->ahead_bytes, size),
                  fy_report_ns(b->ahead_ns[0], a), fy_report_ns(b->ahead_ns[1], c),
                  fy_report_ns(b->ahead_ns[2], two), fy_report_ns(b->least_ns, least));
    if (hid(b, 2) < 0)
      fy_str_add(out, "Copies are too short against it to matter.\n");
    else
      fy_str_printf(out, "Achieved of the possible overlap: %.0f %% one ahead, %.0f %% two.\n",
                    100 * hid(b, 1), 100 * hid(b, 2));
  }
  if (ways) {
    const int last = b->n - 1;
    fy_str_printf(out,
                  "  A large copy through the ring of pinned buffers takes %.2f of the time of one "
                  "from pageable memory; Ferry takes %s.\n",
                  b->pinned_ns[last] / b->pageable_ns[last],
                  fy_opencl_shares_memory(d) ? "the second: the device shares the host's memory"
                                             : "the first");
  } else {
    fy_str_add(out, "  Host memory is pageable: this device offers no pinned memory.\n");
  }
}
