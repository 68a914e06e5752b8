// SPDX-License-Identifier: Apache-2.0
// program.h: a graph made ready to run: instructions with resolved kernels, values with planned memory.
//
// A *value* is one tensor in one memory space: a node's output, or a transferred copy of one.
// Where its bytes are is its storage:
//   CONST    a tensor kept by the program         FEED     the caller's tensor
//   PLANNED  an offset in the space's arena       FETCH    fresh memory for every run, handed to the caller
//   DYNAMIC  made by the kernel at run time
// A *task* is a run of instructions that one thread executes in order. Most programs are one task, on
// the caller's thread, with no atomics at all. More exist where branches are worth a hand-off or a
// device has cores of its own.
// A program is immutable and shared; what changes during a run is in fy_run_state, recycled per program.

#ifndef FY_EXECUTE_PROGRAM_H
#define FY_EXECUTE_PROGRAM_H

#include <stdatomic.h>

#include "base/options.h"
#include "graph/graph.h"
#include "memory/plan.h"
#include "memory/pool.h"
#include "ops/op.h"
#include "ops/resource.h"
#include "partition/partition.h"
#include "place/place.h"

typedef enum fy_storage {
  FY_STORE_CONST,
  FY_STORE_FEED,
  FY_STORE_PLANNED,
  FY_STORE_FETCH,
  FY_STORE_DYNAMIC,
} fy_storage;

typedef struct fy_value {
  union {
    struct {
      fy_dtype dtype;
      int32_t rank;  // -1 = shape not known before the run
      const int64_t *dims;
      size_t bytes;   // when the shape is known
      int64_t count;  // of elements, then
    };
    fy_known_shape known;  // the same
  };
  int space;
  fy_storage storage;
  uint32_t producer;  // instruction, or UINT32_MAX
  uint32_t last_use;  // last instruction that reads it
  uint32_t root;      // value whose memory this one shares (alias or in-place), itself if none
  uint32_t origin;  // value that this one is only another name of, from its first moment; or itself
  size_t shift;     // where in the root's memory it begins: it may be a part of it
  size_t offset;    // PLANNED: in the space's arena
  int32_t feed;     // FEED: index
  fy_tensor *constant;  // CONST (one reference)
  fy_node *node;        // who makes it
  int32_t output;
  bool fetched;
  bool counted;  // CONST on a device: as held by the session
  bool of_feed;  // DYNAMIC: memory of an argument under another name, or a part of it
} fy_value;

typedef enum fy_instr_kind { FY_INSTR_KERNEL, FY_INSTR_COPY } fy_instr_kind;

typedef struct fy_instr {
  fy_compute_fn fn;  // host kernels: called directly
  fy_site *site;     // NULL for copies
  uint32_t in, out;  // positions in program->args of the value numbers
  uint16_t num_in, num_out;
  uint16_t num_free;  // values whose last use is here and whose tensor must be let go
  uint8_t kind;
  bool check_shapes;  // a dynamic output has a static promise to verify
  bool spill;         // a copy that keeps a device's memory within its limit (spill.c)
  bool after_spill;   // takes memory that a copy to the host has to leave first
  bool check_refs;    // the variables of its reference inputs must have values
  uint32_t free_at;   // position in program->args
  uint32_t task;
  fy_device *device;
  fy_node *node;  // for errors and traces; cause of a copy
  double cost_ns;
  size_t scratch_bytes, scratch_offset;  // planned for the call, in the arena of the device's space
  size_t kept_bytes;                     // what the kernel keeps between calls (packed weights)
} fy_instr;

typedef struct fy_task {
  uint32_t begin, end;  // instructions
  uint32_t num_deps;
  uint32_t next_at, num_next;  // tasks to notify, in program->task_next
  fy_device *device;           // whose threads must run it, or NULL: any
} fy_task;

typedef struct fy_program {
  atomic_int refs;
  fy_arena arena;
  fy_graph *graph;          // the optimised graph (owned)
  fy_placement *placement;  // owned
  fy_parts *parts;          // owned
  const fy_device_set *devices;
  fy_memplan plan;
  fy_life *lives;  // what was planned, for reports
  size_t num_lives;
  fy_value *values;
  fy_instr *instrs;
  fy_task *tasks;
  uint32_t *args, *task_next;
  fy_site *sites;
  uint32_t num_values, num_instrs, num_tasks, num_args, num_sites;
  uint32_t max_in, max_out;
  int num_feeds, num_fetches;
  uint32_t *feed_value;   // [num_feeds] value number or UINT32_MAX when nothing reads it
  uint32_t *fetch_value;  // [num_fetches]
  int *fetch_spaces;
  struct {                                // per run, because memory is short (spill.c)
    int64_t copies, bytes_in, bytes_out;  // to devices, to the host
    uint64_t spaces;                      // bit per memory that was too small
    uint64_t held[65];  // by space: the most of variables at once, where they come and go; else 0
    size_t file_bytes;  // the host's arena, where it is a file (spill_file.h); else 0
  } spill;
  bool has_devices;  // something runs or lies off the host
  bool may_move;     // what a kernel hands out (of a call, a stack) may lie off the host
  const fy_options *options;
  fy_mutex states_lock, constants_lock;
  struct fy_run_state *states;           // recycled
  _Atomic(struct fy_run_state *) handy;  // one more, taken without the lock; of plain programs only
  bool plain;           // nothing of devices, no tasks: the caller's thread runs it on the host
  bool line;            // plain, and every instruction a kernel that needs no check but its own
  bool any_shape;       // for arguments of several shapes
  bool called;          // a function's: its callers may give arguments away
  atomic_bool touched;  // run without asking its callable (ready.h)
  int num_idle;
  atomic_bool constants_placed;  // those of device memory
  atomic_int active;             // with devices: runs in progress; without any, constants may leave
  atomic_int most_active;        // memory had no room for more at once; 0: not met yet
  atomic_bool seen;              // by the session's watcher
  uint32_t *fresh;               // FETCH values, roots before aliases
  uint32_t num_fresh;
  int32_t
      *takes;  // [num_fresh] the argument whose memory it takes over if that is given away; or -1
  bool any_takes;
  bool lends;  // a fresh one is not fetched, but begins as the memory of one that is
  struct fy_program *peer_next, **peer_at;  // all programs with device memory (state.c)
  bool is_peer;                             // one of them; never taken back
  atomic_size_t unplanned[2];  // most that kernels of one run took beyond the plan: host, devices
  struct fy_callables *callables;  // function instances shared by the session
  struct fy_callable **flows;      // [num_flows] regions with control flow (frames.h), owned
  size_t num_flows, cap_flows;
  int64_t compile_ns;
  _Atomic(struct fy_call_memory *) calls;  // told once somebody asked (call_memory.h); or NULL
} fy_program;

// Whether it runs as tasks: several, or one that belongs to a device's own threads. Otherwise the caller
// runs it from the first instruction to the last.
static inline bool fy_program_in_tasks(const fy_program *p) {
  return p->num_tasks > 1 || (p->num_tasks == 1 && p->tasks[0].device);
}

// What a program is made from. Everything is borrowed except |graph|, which the program takes over
// (also on failure).
typedef struct fy_compile_args {
  fy_graph *graph;     // pruned copy with concrete "_Arg" shapes where known
  fy_output *fetches;  // in |graph|
  int num_fetches, num_feeds;
  fy_node **targets;
  int num_targets;
  const int *feed_spaces;   // NULL: host
  const int *fetch_spaces;  // NULL: host; -1 = wherever it is
  const fy_device_set *devices;
  const fy_device *default_device;
  const fy_options *options;
  struct fy_callables *callables;
  fy_resources *resources;  // for folding: none needed
  fy_str *log;              // rewrites and decisions, or NULL
  bool called;              // by kernels, as a function; else by a session
  bool keep_refs;           // a fetched reference is handed out as the handle it is
  const char *stop_after;   // "optimize", "place", "partition": for dumps; NULL = all
} fy_compile_args;

// The whole road: optimise → place → partition → plan → ready to run. Read this one first (compile.c).
FY_MUST_CHECK fy_code fy_program_compile(fy_compile_args *args, fy_program **out, fy_error *err);
void fy_program_retain(fy_program *p);
void fy_program_release(fy_program *p);
void fy_program_dump(fy_str *out, const fy_program *p);  // stable text

struct fy_trace;
typedef struct fy_run {
  fy_resources *resources;
  struct fy_cancel *cancel;  // may be NULL
  int64_t deadline_ns;       // 0 = none
  struct fy_trace *trace;    // may be NULL
  int64_t step_id;
  struct fy_ahead *ahead;  // started runs that may be settled to make room; may be NULL
  int depth;               // nesting of function calls
  bool inside;             // a kernel calls: its thread flushes denormals already
  bool gives;              // the feeds are let go afterwards: what nobody else holds may be changed
} fy_run;

// Runs once. |feeds[i]| are borrowed; |results[i]| get one reference each.
FY_MUST_CHECK fy_code fy_program_run(fy_program *p, const fy_run *run, fy_tensor *const *feeds,
                                     fy_tensor **results, fy_error *err);

// The same for a plain program and feeds of the types it wants. |*kept| is a state of it that nobody else has,
// from a call before, or NULL; afterwards the caller has one, unless the run failed.
FY_MUST_CHECK fy_code fy_program_run_plain(fy_program *p, struct fy_run_state **kept,
                                           const fy_run *run, fy_tensor *const *feeds,
                                           fy_tensor **results, fy_error *err);

// The same in two halves, so that one thread can keep a device busy: start() hands all work to the
// devices (what the host computes is done by then), finish() waits for the results. |feeds| must live
// until then. Every start that succeeds needs its finish. settle(), under its lock, waits for the results
// and keeps them for finish(): what the run took of devices is free again.
typedef struct fy_started fy_started;
void fy_program_settle(fy_started *st);
FY_MUST_CHECK fy_code fy_program_start(fy_program *p, const fy_run *run, fy_tensor *const *feeds,
                                       fy_started **out, fy_error *err);
FY_MUST_CHECK fy_code fy_program_finish(fy_started *st, fy_tensor **results, fy_error *err);

#endif
