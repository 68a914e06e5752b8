// SPDX-License-Identifier: Apache-2.0
// options.h: the one home of every option, whoever set it: ConfigProto bytes or text
// (wire/config.h), setters (ferry.h), or the environment (FERRY_CONFIG, FERRY_SIM). Later settings
// win: defaults < environment < ConfigProto < setters.
// Text form: `key=value; key=value` (or new lines). An unknown key is an error naming the nearest
// one.

#ifndef FY_BASE_OPTIONS_H
#define FY_BASE_OPTIONS_H

#include "base/status.h"
#include "base/str.h"

#define FY_MAX_CPU_DEVICES  64
#define FY_MAX_SIM_DEVICES  16
#define FY_MAX_SIM_LACKS    64
#define FY_MAX_VIRTUAL_GPUS 64

// FERRY_SIM=gpu:2,memory=2GiB,pcie=12GB/s,latency=10us,launch=5us,…
typedef struct fy_sim_options {
  int devices;                       // 0 = nothing is simulated
  uint64_t memory_bytes;             // per device, default 1 GiB
  double link_bytes_per_s;           // pcie=, default 12 GB/s
  double link_latency_ns;            // latency=, default 10 us
  double launch_ns;                  // launch=, default 5 us
  double flops;                      // flops=, default 10 TFLOP/s
  double memory_bytes_per_s;         // bandwidth=, default 500 GB/s
  bool shared;                       // shared=true: one memory for all processes that say so
  double busy;                       // busy=0.8: pretend other processes keep it busy
  char lacks[FY_MAX_SIM_LACKS][96];  // lack=float64, lack=MatMul, lack=MatMul:float64
  int num_lacks;
  int64_t fail_alloc, fail_launch, fail_copy;  // fail_launch=N: the N-th fails (0 = never)
  int64_t lost_after;                          // lost_after=N: after N launches the device is lost
} fy_sim_options;

typedef struct fy_virtual_gpu {  // a share of a physical GPU that is a device of its own
  int visible;                   // which of the visible GPUs
  uint64_t memory_bytes;         // 0 = all that the GPU has
} fy_virtual_gpu;

typedef struct fy_options {
  int intra_threads, inter_threads;  // 0 = as many as CPUs; inter < 0: run in the caller's thread
  int cpu_devices;                   // device_count{CPU}; default 1
  int gpu_devices;                   // device_count{GPU}; -1 = as many as there are
  char cores[FY_MAX_CPU_DEVICES]
            [64];             // cores=CPU:1:2-3 → dedicated cores "2-3" of CPU:1; "" = none
  char visible_devices[128];  // gpu_options.visible_device_list
  bool soft_placement;
  bool log_placement;
  char explain[256];       // FERRY_EXPLAIN: a file for what would be asked, or "stderr"; "" = none
  bool place_tensorflow;   // place=tensorflow; default place=auto
  bool optimize;           // optimize=off
  bool allow_growth;       // gpu_options.allow_growth; false: the first use takes all
  double memory_fraction;  // gpu_options.per_process_gpu_memory_fraction; 0 = unset
  uint64_t cpu_memory_limit;                         // memory_limit.CPU=4GiB; 0 = none
  uint64_t gpu_memory_limit;                         // memory_limit.GPU=; 0 = what the device has
  fy_virtual_gpu virtual_gpus[FY_MAX_VIRTUAL_GPUS];  // gpu_options.experimental.virtual_devices
  int num_virtual_gpus;                              // 0 = one device per visible GPU
  bool spill;                                        // spill=never → false
  char spill_dir[128];           // where planned tensors are that even host memory is too small for
  bool queue;                    // oversubscribe=queue: wait for memory that other processes have
  int64_t queue_ms;              // at most so long
  char passes_off[256];          // passes=-fuse,-cse → "fuse,cse"
  int max_programs;              // compiled programs kept per session (default 64)
  int64_t operation_timeout_ms;  // ConfigProto.operation_timeout_in_ms
  bool isolate_session_state;
  int inter_op_pools;  // ConfigProto.session_inter_op_thread_pool: how many a run may name (0 = one)
  bool opencl_cpu;     // FERRY_OPENCL_CPU=1
  fy_sim_options sim;
} fy_options;

void fy_options_default(fy_options *o);
// Applies `key=value; …`. INVALID_ARGUMENT names the key, what is allowed and the nearest key.
FY_MUST_CHECK fy_code fy_options_text(fy_options *o, const char *text, fy_error *err);
// FERRY_SIM's own form: "gpu:2,memory=2GiB,pcie=12GB/s".
FY_MUST_CHECK fy_code fy_options_sim(fy_options *o, const char *text, fy_error *err);
// FERRY_CONFIG, FERRY_SIM, FERRY_EXPLAIN, FERRY_OPENCL_CPU, TF_NUM_INTEROP_THREADS, TF_NUM_INTRAOP_THREADS.
FY_MUST_CHECK fy_code fy_options_environment(fy_options *o, fy_error *err);
// One line per option: "key = value  (what it does)", for `ferry doctor` and docs.
void fy_options_print(fy_str *out, const fy_options *o);

#endif
