// SPDX-License-Identifier: Apache-2.0
// report.h: everything a user may ask about a compiled program, as one value that text and JSON are
// printed from.
// Invariants: every node of the original graph has an entry, with a reason that is not empty, also
// when optimisation removed it; numbers come from the same planner and cost model as the program.
// Not here: what really happened in a run (execute/trace.h).

#ifndef FY_OBSERVE_REPORT_H
#define FY_OBSERVE_REPORT_H

#include "execute/program.h"
#include "execute/session.h"

typedef enum fy_fate {  // what became of a node of the original graph
  FY_FATE_RUNS,
  FY_FATE_FED,
  FY_FATE_CONSTANT,
  FY_FATE_FOLDED,      // computed ahead of time
  FY_FATE_MERGED,      // another node computes the same
  FY_FATE_BYPASSED,    // its value is its input's
  FY_FATE_FUSED,       // part of one kernel with others
  FY_FATE_REWRITTEN,   // another op does its work
  FY_FATE_INLINED,     // a call: the nodes of its function run in its place
  FY_FATE_REMOVED,     // nothing reads it any more
  FY_FATE_NOT_NEEDED,  // no fetch depends on it
  FY_FATE_ADDED,       // not in the original graph: made by inlining or rewriting
  FY_FATE_COUNT,
} fy_fate;

typedef struct fy_report_node {
  const char *name, *op;  // in the original graph
  fy_fate fate;
  const fy_node *now;       // who does its work in the program; NULL = nobody
  const fy_device *device;  // NULL = nowhere
  const char *why;          // "cheaper", "requested", …; of a node that is gone: the fate
  const char *reason;       // one sentence
  const char *wanted;       // device string that was not honoured, or NULL
  bool leads;               // the entry that |now|'s cost is shown with
  double ns, flops;
  int64_t out_bytes;  // -1 = only run time can tell
} fy_report_node;

typedef struct fy_report_transfer {
  const fy_transfer *transfer;
  char *value;            // "x:0"
  const char *from, *to;  // "CPU:0"
  const char *cause;      // node that needs it; NULL = the client fetches it
  const char *cause_op;
  const char *advice;  // the one change that would remove it
  bool once;           // a constant: crosses at the first run and stays
  double ns;           // modelled
} fy_report_transfer;

typedef struct fy_space_memory {  // one memory: the host's or a device's own
  const fy_device *device;
  uint64_t weights_bytes;  // constants that stay
  uint64_t planned_bytes;  // arena of one run
  uint64_t feed_bytes, result_bytes;
  uint64_t dynamic_bytes;            // most that is live at once of what kernels make at run time
  uint64_t variables_bytes;          // of variables that kernels here use: they stay or move here
  uint64_t packed_bytes;             // what kernels keep of their weights
  uint64_t scratch_bytes;            // part of the arena: the largest kernel's working memory
  uint64_t peak_bytes, limit_bytes;  // the sum; 0 = no limit
  uint64_t loose_bytes;  // a device's pool may lose that much between pieces that are not planned
  // What the device's allocator will show as its peak: on a device everything, on the host
  // everything but constants, variables and feeds, which the graph, the session and the caller hold.
  uint64_t allocator_bytes;
  uint64_t file_bytes;      // the arena, where it is a file and in no other sum; else 0
  uint64_t run_bytes;       // of that, what a run adds to the variables that are there
  bool limit_set;           // |limit_bytes| is the allocator's, not what the machine has
  bool exact;               // every size is known, and which way a run takes
  const char *peak_node;    // where the arena is fullest; "" = it is empty
  uint32_t unknown_values;  // sizes that only run time can tell
  uint32_t unknown_data;    // those of them that are no handles
} fy_space_memory;

typedef struct fy_report_device {
  const fy_device *device;
  double ns, flops;
  int nodes;
} fy_report_device;

typedef struct fy_report {
  fy_arena arena;
  const fy_graph *graph;  // as the user gave it
  const fy_program *program;
  const char *const *fetch_names;
  int num_fetches;
  const char *const *feed_names;
  const fy_pshape *feed_shapes;
  int num_feeds;
  fy_report_node *nodes;
  size_t num_nodes, num_needed;
  fy_report_transfer *transfers;
  size_t num_transfers;
  fy_space_memory *memory;  // one per memory that is used or limited, host first
  int num_memory;
  fy_report_device *devices;  // [number of devices]
  int num_devices;
  double compute_ns, transfer_ns, flops;
  int64_t moves, once_moves;                               // transfers per run, at the first run
  int64_t bytes_in, bytes_out, bytes_between, once_bytes;  // to devices, to the host, between
  bool sizes_unknown;                                      // some dims count as 1
  bool feeds_known;                                        // if so, not those of what is fed
} fy_report;

// What was asked: the session's graph, its request and the program compiled for it (compile log
// too).
typedef struct fy_report_args {
  fy_graph *graph;
  const fy_run_args *run;
  const fy_pshape *shapes;  // [num_feeds]
  const fy_program *program;
  const char *log;  // of the rewrites, "" = none
} fy_report_args;

// The report borrows graph and program: both must outlive it.
FY_MUST_CHECK fy_code fy_report_make(const fy_report_args *args, fy_report *out, fy_error *err);
void fy_report_free(fy_report *r);

const char *fy_fate_name(fy_fate fate);  // "runs", "folded", …

// Tables for people. |width| 0 = lines are never broken.
void fy_report_text(fy_str *out, const fy_report *r, int width);
void fy_report_json(fy_str *out, const fy_report *r);
// One node's story. NOT_FOUND if no node has that name.
FY_MUST_CHECK fy_code fy_report_why(fy_str *out, const fy_report *r, const char *node, bool json,
                                    int width, fy_error *err);

// ---- shared in this folder
// "GPU:0" of "/job:localhost/replica:0/task:0/device:GPU:0".
const char *fy_report_device_name(const fy_device *d);
// The name a user knows a program's node by.
const char *fy_report_label(const fy_node *n);
// Sums up memory |space| of |p|. Constants that are shared count once.
void fy_report_memory(const fy_program *p, int space, fy_space_memory *out);
// Modelled time of moving |bytes| between two memories.
double fy_report_link_ns(const fy_device_set *set, int from, int to, double bytes);
double fy_report_spill_ns(const fy_program *p);  // of the copies that make room, per run
FY_MUST_CHECK fy_code fy_report_advise(fy_report *r, fy_report_transfer *t, fy_error *err);
// Fates and reasons of all nodes (fate.c).
FY_MUST_CHECK fy_code fy_report_fates(fy_report *r, const fy_report_args *args, fy_error *err);
void fy_report_summary(fy_str *out, const fy_report *r);
// "x (3 of 9)" …: |n| bytes, nanoseconds for people.
const char *fy_report_bytes(double bytes, char out[32]);  // "4.0 KiB"
const char *fy_report_ns(double ns, char out[32]);        // "20.1 us"
// Adds |text| with the long form of local device names made short.
void fy_report_shorten(fy_str *out, const char *text);

#endif
