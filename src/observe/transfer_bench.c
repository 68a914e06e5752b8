// SPDX-License-Identifier: Apache-2.0
#include "observe/transfer_bench.h"

#include <string.h>

#include "base/alloc.h"
#include "base/thread.h"
#include "memory/pool.h"
#include "observe/report.h"

#define ROUNDS 5  // the best of them

typedef struct bench {
  fy_device *d;
  void *in, *out;  // on the device
  char *host_in, *host_out;
} bench;

// One copy each way where asked; how long until all are done. Virtual time runs from |*clock| on.
static fy_code once(bench *b, size_t bytes, bool in, bool out, int64_t *clock, double *ns,
                    fy_error *err) {
  fy_event e[2] = {{0}};
  const bool simulated = b->d->facts.simulated;
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

static fy_code measure(bench *b, fy_transfer_bench *out, size_t most, fy_error *err) {
  size_t bytes = 1024;
  for (; out->n < FY_BENCH_SIZES && bytes <= most; bytes *= 4) {
    const int i = out->n++;
    out->bytes[i] = bytes;
    for (int kind = 0; kind < 3; kind++) {
      double best = 0;
      for (int round = 0; round < ROUNDS; round++) {
        double ns;
        int64_t clock = 0;
        FY_TRY(align(b, &clock, err));
        FY_TRY(once(b, bytes, kind != 1, kind != 0, &clock, &ns, err));
        if (!round || ns < best) best = ns;
      }
      *(kind == 0 ? &out->in_ns[i] : kind == 1 ? &out->out_ns[i] : &out->both_ns[i]) = best;
    }
  }
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
  fy_mempool_stats s;
  fy_mempool_stats_get(d->memory, &s);
  const uint64_t limit = s.limit_bytes ? s.limit_bytes : d->facts.memory_limit;
  size_t most = (size_t)64 << 20;
  while (limit && most > limit / 4 && most > 4096) most /= 2;
  b.host_in = fy_aligned_alloc(most);
  b.host_out = fy_aligned_alloc(most);
  fy_code code = b.host_in && b.host_out ? FY_OK : fy_fail_oom(err, most);
  if (!code) memset(b.host_in, 1, most);
  if (!code) code = fy_mempool_alloc(d->memory, most, "transfer benchmark", &b.in, err);
  if (!code) code = fy_mempool_alloc(d->memory, most, "transfer benchmark", &b.out, err);
  if (!code) code = measure(&b, out, most, err);
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

// Of the shorter copy, how much happened behind the other.
static double overlap(const fy_transfer_bench *b, int i) {
  const double a = b->in_ns[i], c = b->out_ns[i], shorter = a < c ? a : c;
  double hidden = shorter > 0 ? (a + c - b->both_ns[i]) / shorter : 0;
  return hidden < 0 ? 0 : hidden > 1 ? 1 : hidden;
}

void fy_transfer_print(fy_str *out, const fy_device *d, const fy_transfer_bench *b, bool json) {
  char size[32], a[32], c[32];
  const char *name = fy_report_device_name(d);
  if (json) {
    fy_str_printf(out,
                  "{\"device\": \"%s\", \"virtual_time\": %s, \"latency_ns\": %.1f, "
                  "\"bytes_per_s\": %.1f, \"worthwhile_bytes\": %zu, \"sizes\": [",
                  name, b->virtual_time ? "true" : "false", b->latency_ns, b->bytes_per_s,
                  b->worthwhile_bytes);
    for (int i = 0; i < b->n; i++)
      fy_str_printf(out,
                    "%s\n  {\"bytes\": %zu, \"in_ns\": %.1f, \"out_ns\": %.1f, \"both_ns\": %.1f, "
                    "\"overlap\": %.3f}",
                    i ? "," : "", b->bytes[i], b->in_ns[i], b->out_ns[i], b->both_ns[i],
                    overlap(b, i));
    fy_str_add(out, "\n]}");
    return;
  }
  fy_str_printf(out, "%s  %s%s\n", name, d->facts.description,
                b->virtual_time ? " (virtual time)" : "");
  fy_str_printf(out, "  %10s %12s %9s %12s %9s %8s\n", "SIZE", "TO DEVICE", "GB/s", "TO HOST",
                "GB/s", "OVERLAP");
  for (int i = 0; i < b->n; i++)
    fy_str_printf(out, "  %10s %12s %9.2f %12s %9.2f %7.0f%%\n",
                  fy_report_bytes((double)b->bytes[i], size), fy_report_ns(b->in_ns[i], a),
                  rate(b->bytes[i], b->in_ns[i]), fy_report_ns(b->out_ns[i], c),
                  rate(b->bytes[i], b->out_ns[i]), 100 * overlap(b, i));
  if (b->bytes_per_s > 0)
    fy_str_printf(out,
                  "  A copy costs %s before its first byte, then %.2f GB/s: move at least %s at a "
                  "time to have half of the link (larger batches, fewer tensors).\n",
                  fy_report_ns(b->latency_ns, a), b->bytes_per_s / 1e9,
                  fy_report_bytes((double)b->worthwhile_bytes, size));
  fy_str_add(out,
             "  Host memory is pageable: this device offers no pinned memory through Ferry yet.\n");
}
