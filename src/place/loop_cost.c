// SPDX-License-Identifier: Apache-2.0
// loop_cost.c: what a loop of a known number of steps costs (optimize/loops.c): the work of its body, as often
// as it is done. On a device, a node of the body that cannot run there is done by the host, with a copy each
// way at every step: this is what keeps such loops on one side.

#include <string.h>

#include "place/place.h"

// A CPU core of any kind, for what has to be done beside the device in question.
#define HOST_FLOPS   20e9
#define HOST_BYTES_S 10e9

const fy_graph *fy_place_body(const fy_node *node) {
  if (!node->op || !node->op->impl || !(node->op->impl->flags & FY_OP_CALLS_FUNCTIONS) ||
      strcmp(node->op_name, "_FerryLoop") != 0)
    return NULL;
  const fy_attr *a = fy_attrs_get(&node->attrs, "body");
  return a && a->kind == FY_ATTR_INT && a->v.i >= 0 && (size_t)a->v.i < node->graph->num_bodies
             ? node->graph->bodies[a->v.i]
             : NULL;
}

static double trips_of(const fy_node *loop) {
  const fy_attr *a = fy_attrs_get(&loop->attrs, "trips");
  return a && a->kind == FY_ATTR_INT && a->v.i > 0 ? (double)a->v.i : 1;
}

static bool is_work(const fy_node *n) {
  return n && !n->const_value && strcmp(n->op_name, "_Arg") != 0 &&
         strcmp(n->op_name, "_Retval") != 0;
}

void fy_place_loop_work(const fy_node *loop, fy_cost *out) {
  const fy_graph *body = fy_place_body(loop);
  const double trips = trips_of(loop);
  *out = (fy_cost){0};
  for (size_t i = 0; i < body->num_nodes; i++) {
    fy_cost cost;
    if (!is_work(body->nodes[i])) continue;
    fy_place_work(body->nodes[i], &cost);
    out->flops += trips * cost.flops;
    out->bytes += trips * cost.bytes;
  }
}

// Done by the host on behalf of |device|: what it reads and writes crosses the link.
static double detour_ns(const fy_node *n, const fy_device *device) {
  const fy_device_info *f = &device->facts;
  fy_cost cost;
  fy_place_work(n, &cost);
  const double compute = cost.flops / HOST_FLOPS * 1e9, move = cost.bytes / HOST_BYTES_S * 1e9;
  return 2 * f->link_latency_ns +
         (f->link_bytes_per_s > 0 ? cost.bytes / f->link_bytes_per_s * 1e9 : 0) +
         (compute > move ? compute : move);
}

double fy_place_loop_ns(const fy_node *loop, const fy_device *device) {
  const fy_graph *body = fy_place_body(loop);
  double ns = 0;
  for (size_t i = 0; i < body->num_nodes; i++) {
    const fy_node *n = body->nodes[i];
    if (!is_work(n)) continue;
    const bool here =
        device->is_host || fy_place_supported(n, (fy_device *)(uintptr_t)device, NULL);
    ns += here ? fy_place_cost_ns(n, device) : detour_ns(n, device);
  }
  return trips_of(loop) * ns;
}

const fy_node *fy_place_loop_blocked(const fy_node *loop, fy_device *device, fy_error *why) {
  const fy_graph *body = fy_place_body(loop);
  for (size_t i = 0; i < body->num_nodes; i++) {
    const fy_node *n = body->nodes[i];
    if (is_work(n) && !fy_place_supported(n, device, why)) return n;
  }
  return NULL;
}
