// SPDX-License-Identifier: Apache-2.0
// place.h: choose a device for every node, and remember why.
// In: an optimised graph and the open devices. Out: a placement, one entry per node id.
// Invariants: nodes that share a resource are placed together; a user's pin is never overridden
// silently; every entry has a reason text that is not empty.
// Not here: cutting the graph (partition/), byte offsets (memory/).

#ifndef FY_PLACE_PLACE_H
#define FY_PLACE_PLACE_H

#include "ferry/device.h"
#include "graph/graph.h"

typedef struct fy_device_set {
  fy_device **items;  // in the order of creation: CPU:0, CPU:1, …, GPU:0, …
  int n;
  fy_device *client;  // CPU:0: where feeds come from and fetches go to
  int refs;
  int changes;  // devices lost, limits changed so far (atomic): programs made before are stale
} fy_device_set;

typedef enum fy_place_mode {
  FY_PLACE_AUTO,        // TensorFlow's constraints; what they leave open is decided by cost
  FY_PLACE_TENSORFLOW,  // SEMANTICS §2 to the letter
} fy_place_mode;

typedef enum fy_why {
  FY_WHY_ONLY_DEVICE,     // there is just one
  FY_WHY_REQUESTED,       // the node's own device string
  FY_WHY_COLOCATED,       // _class or a group member's request
  FY_WHY_RESOURCE,        // follows the variable or table it touches
  FY_WHY_ONLY_KERNEL,     // no other device type has a kernel
  FY_WHY_DEVICE_REFUSES,  // the preferred device declined: its reason is in the text
  FY_WHY_PRIORITY,        // TensorFlow's type order (GPU before CPU)
  FY_WHY_GENERATOR,       // no inputs: goes where all its consumers are
  FY_WHY_METADATA,        // Shape, Size, Rank, pass-through Identity: with its input
  FY_WHY_HOST_DATA,       // its data is host memory anyway (strings, shapes)
  FY_WHY_CHEAPER,         // cost model
  FY_WHY_MEMORY,          // would not fit the other device
  FY_WHY_BUSY,            // the other device is kept busy by others
  FY_WHY_SOFT,            // asked for another device, fell back (soft placement)
  FY_WHY_FEED,            // fed by the client
  FY_WHY_COUNT,
} fy_why;

typedef struct fy_placed {
  fy_device *device;
  fy_why why;
  const char *text;    // one sentence, names nodes, devices and numbers; placement's arena
  const char *wanted;  // the device string that was not honoured, or NULL
} fy_placed;

typedef struct fy_placement {
  fy_arena arena;
  fy_placed *nodes;  // by node id
  size_t n;
  int num_fallbacks;  // entries with |wanted|
  // By cost: [devices] bytes that each was to hold before the limit of some moved work elsewhere. Else NULL.
  double *asked_bytes;
  fy_place_mode mode;
} fy_placement;

// A device as other processes leave it.
typedef struct fy_place_load {
  double busy;         // share that others keep busy
  uint64_t may_hold;   // bytes this process may have now; 0: the device's own limit counts
  const char *others;  // who they are, for reasons; NULL or ""
} fy_place_load;

typedef struct fy_place_options {
  fy_place_mode mode;
  bool soft;  // allow_soft_placement: explicit devices are `prefer`, else `require`
  const fy_device *default_device;  // of the calling function or eager scope; may be NULL
  const fy_place_load *load;        // [devices], or NULL: nobody else is there
} fy_place_options;

// Places every node of |graph|. On success the caller owns |*out| (fy_placement_free).
// INVALID_ARGUMENT if a pin names no device or no kernel exists anywhere; |err| names the node and
// each device's reason, in TensorFlow's words. Thread-safe for distinct graphs.
FY_MUST_CHECK fy_code fy_place_run(const fy_graph *graph, const fy_device_set *devices,
                                   const fy_place_options *options, fy_placement **out,
                                   fy_error *err);
void fy_placement_free(fy_placement *p);
const char *fy_why_name(fy_why why);  // "requested", "only kernel", …
// `name: (Op): device  reason` per line, stable.
void fy_placement_dump(fy_str *out, const fy_graph *g, const fy_placement *p);

// Is there a kernel for |node| on |device|, and does the device accept it? On no |why| says the reason.
bool fy_place_supported(const fy_node *node, fy_device *device, fy_error *why);
// Does input/output |index| (flat) of |node| live in host memory when it runs on |device|?
bool fy_place_input_on_host(const fy_node *node, const fy_device *device, uint32_t index);
bool fy_place_output_on_host(const fy_node *node, const fy_device *device, uint32_t index);
// A *space* is a memory: 0 is the host, k > 0 the own memory of device ordinal k - 1.
int fy_space_of(const fy_device *d);
int fy_place_output_space(const fy_node *node, const fy_device *device, uint32_t index);
// Modelled nanoseconds of one call of |node| on |device| (unknown dims count as 1).
double fy_place_cost_ns(const fy_node *node, const fy_device *device);
// Arithmetic and memory traffic of one call, whatever the device; nothing for constants and feeds.
void fy_place_work(const fy_node *node, fy_cost *out);
// What a loop of a known number of steps does at each of them (loop_cost.c); NULL: |node| is none.
const fy_graph *fy_place_body(const fy_node *node);
// Time and work of such a loop, all steps together.
double fy_place_loop_ns(const fy_node *loop, const fy_device *device);
void fy_place_loop_work(const fy_node *loop, fy_cost *out);
// A node of its body that |device| cannot run, and |why|; NULL if there is none.
const fy_node *fy_place_loop_blocked(const fy_node *loop, fy_device *device, fy_error *why);

#endif
