// SPDX-License-Identifier: Apache-2.0
// transfer_bench.h: what the link of a device really does, by size: latency, bandwidth, how much of a
// copy in hides behind a copy out and behind a kernel, and what pinned memory brings.

#ifndef FY_OBSERVE_TRANSFER_BENCH_H
#define FY_OBSERVE_TRANSFER_BENCH_H

#include "base/options.h"
#include "base/status.h"
#include "base/str.h"
#include "ferry/device.h"
#include "place/place.h"

#define FY_BENCH_AHEAD 2  // runs started before the oldest is waited for, at most
#define FY_BENCH_SIZES 9  // 1 KiB, 4 KiB … 64 MiB, as far as memory allows

typedef struct fy_transfer_bench {
  int n;
  size_t bytes[FY_BENCH_SIZES];
  double in_ns[FY_BENCH_SIZES], out_ns[FY_BENCH_SIZES];  // one copy
  double both_ns[FY_BENCH_SIZES];                        // one of each at the same time
  double host_ns[FY_BENCH_SIZES];                        // memcpy, for comparison; 0 if simulated
  // To the device straight from pageable memory and through pinned memory, where both can be had;
  // else 0.
  double pageable_ns[FY_BENCH_SIZES], pinned_ns[FY_BENCH_SIZES];
  // A kernel, a copy in of |behind_bytes|, and both at the same time; 0 if not measured.
  double kernel_ns, behind_ns, kernel_both_ns;
  size_t behind_bytes;
  double latency_ns, bytes_per_s;  // from the smallest and largest
  size_t worthwhile_bytes;         // from here on a copy has half of the link's bandwidth
  bool virtual_time;               // the simulator's clock, else the wall's
  // |ahead_runs| runs that are fed |ahead_bytes|: one at a time, one and two ahead, and the least that
  // copying and computing at once could take; 0 if not measured.
  int ahead_runs;
  size_t ahead_bytes;
  double ahead_ns[FY_BENCH_AHEAD + 1], least_ns;
} fy_transfer_bench;

FY_MUST_CHECK fy_code fy_transfer_measure(fy_device *d, fy_transfer_bench *out, fy_error *err);
// Of runs whose next ones are always started before the oldest is waited for. After the above.
FY_MUST_CHECK fy_code fy_transfer_measure_ahead(const fy_device_set *set, fy_device *d,
                                                const fy_options *options, fy_transfer_bench *out,
                                                fy_error *err);
void fy_transfer_print(fy_str *out, const fy_device *d, const fy_transfer_bench *b, bool json);

#endif
