// SPDX-License-Identifier: Apache-2.0
// cost_impl.h: the model behind placement by cost, shared by cost.c and cost_memory.c.

#ifndef FY_PLACE_COST_IMPL_H
#define FY_PLACE_COST_IMPL_H

#include "base/arena.h"
#include "place/groups.h"

// Who is where. How many readers a value has in each memory is counted along (fy_cost_move), so that what
// it costs to send never takes a look at all of them.
typedef struct fy_cost_plan {
  int *device;        // [root id] ordinal of the group's device
  uint32_t *readers;  // [value * spaces + space]
  double ns;
} fy_cost_plan;

// What the search asks again and again of a value, asked once.
typedef struct fy_cost_value {
  double bytes;
  fy_devmask on_host;  // made by these devices it is in host memory
  uint32_t number;     // of the graph's values
} fy_cost_value;

typedef struct fy_cost_model {
  fy_groups *gr;
  const fy_graph *g;
  uint32_t *root;        // [node id] of its group
  fy_cost_value **outs;  // [node id][output]
  fy_devmask **ins;      // [node id][input] devices that read it from host memory
  const fy_device_set *set;
  fy_placement *p;
  fy_devmask *open;    // [root id] candidates; 0 bits elsewhere
  float *node_ns;      // [node id * devices] cost without contention
  double *free_share;  // [device] 1 - busy
  uint32_t *next;      // [node id] next member of its group
  uint32_t *head;      // [root id]
  uint32_t num_values, num_spaces;
  uint32_t *seen;  // [value] the last round of counting that met it
  uint32_t round;
  fy_arena arena;
  uint64_t *limit;            // [device]
  int *space;                 // [device]
  const fy_place_load *load;  // [device] or NULL
} fy_cost_model;

static inline int fy_cost_device_of(const fy_cost_model *m, const fy_cost_plan *pl,
                                    const fy_node *n) {
  return pl->device[m->root[n->id]];
}

static inline int fy_cost_out_space(const fy_cost_model *m, const fy_cost_plan *pl,
                                    const fy_node *n, uint32_t out) {
  const int d = fy_cost_device_of(m, pl, n);
  return m->outs[n->id][out].on_host >> d & 1 ? 0 : m->space[d];
}

static inline const fy_cost_value *fy_cost_input(const fy_cost_model *m, const fy_node *n,
                                                 uint32_t i) {
  return &m->outs[n->inputs[i].node->id][n->inputs[i].index];
}

static inline uint32_t *fy_cost_readers(const fy_cost_model *m, const fy_cost_plan *pl,
                                        const fy_cost_value *v, int space) {
  return &pl->readers[(size_t)v->number * m->num_spaces + (size_t)space];
}

// The memory from which |n|, on device |d|, reads its input |i|.
static inline int fy_cost_in_space(const fy_cost_model *m, const fy_node *n, uint32_t i, int d) {
  return m->ins[n->id][i] >> d & 1 ? 0 : m->space[d];
}

// The group goes to |device|.
void fy_cost_move(const fy_cost_model *m, fy_cost_plan *pl, uint32_t root, int device);
// What one group contributes: its work, what it sends, and what its inputs' producers send.
double fy_cost_group_ns(fy_cost_model *m, const fy_cost_plan *pl, uint32_t root);

// Moves groups off devices that would overflow. What must stay there, stays: whether it fits is for
// the memory plan to say, which knows better (and may spill). |moved[root]| records the device they had
// to leave + 1.
FY_MUST_CHECK fy_code fy_cost_fit_memory(fy_cost_model *m, fy_cost_plan *pl, int *moved,
                                         fy_error *err);

#endif
