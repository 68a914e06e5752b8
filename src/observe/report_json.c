// SPDX-License-Identifier: Apache-2.0
// report_json.c: the report for programs. Keys are stable: they may be added to, never renamed.

#include <string.h>

#include "observe/report.h"
#include "observe/report_json.h"

void fy_json_text(fy_str *out, const char *key, const char *value) {
  fy_str_printf(out, "\"%s\": ", key);
  if (value)
    fy_str_json(out, value, strlen(value));
  else
    fy_str_add(out, "null");
}

static void number(fy_str *out, const char *key, double value) {
  fy_str_printf(out, ", \"%s\": %.17g", key, value);
}

static void whole(fy_str *out, const char *key, int64_t value) {
  if (value < 0)
    fy_str_printf(out, ", \"%s\": null", key);
  else
    fy_str_printf(out, ", \"%s\": %lld", key, (long long)value);
}

static void more(fy_str *out, const char *key, const char *value) {
  fy_str_add(out, ", ");
  fy_json_text(out, key, value);
}

static void names(fy_str *out, const char *key, const char *const *items, uint32_t n) {
  fy_str_printf(out, ", \"%s\": [", key);
  for (uint32_t i = 0; i < n; i++) {
    if (i) fy_str_add(out, ", ");
    fy_str_json(out, items[i], strlen(items[i]));
  }
  fy_str_addc(out, ']');
}

void fy_json_node(fy_str *out, const fy_report_node *n) {
  fy_str_addc(out, '{');
  fy_json_text(out, "name", n->name);
  more(out, "op", n->op);
  more(out, "fate", fy_fate_name(n->fate));
  more(out, "device", n->device ? fy_report_device_name(n->device) : NULL);
  more(out, "why", n->why);
  more(out, "reason", n->reason);
  more(out, "wanted", n->wanted);
  more(out, "runs_as", n->now ? fy_report_label(n->now) : NULL);
  if (n->now && n->now->num_origins > 1)
    names(out, "stands_for", n->now->origins, n->now->num_origins);
  number(out, "modelled_ns", n->leads ? n->ns : 0);
  number(out, "flops", n->leads ? n->flops : 0);
  whole(out, "output_bytes", n->out_bytes);
  fy_str_addc(out, '}');
}

void fy_json_transfer(fy_str *out, const fy_report_transfer *t) {
  fy_str_addc(out, '{');
  fy_json_text(out, "value", t->value);
  more(out, "from", t->from);
  more(out, "to", t->to);
  whole(out, "bytes", t->transfer->bytes);
  fy_str_printf(out, ", \"once\": %s", t->once ? "true" : "false");
  number(out, "modelled_ns", t->ns);
  more(out, "cause", t->cause);
  more(out, "cause_op", t->cause_op);
  more(out, "why", t->transfer->why);
  more(out, "advice", t->advice);
  fy_str_addc(out, '}');
}

static void memory(fy_str *out, const fy_space_memory *m) {
  fy_str_addc(out, '{');
  fy_json_text(out, "device", fy_report_device_name(m->device));
  whole(out, "weights_bytes", (int64_t)m->weights_bytes);
  whole(out, "planned_bytes", (int64_t)m->planned_bytes);
  whole(out, "feed_bytes", (int64_t)m->feed_bytes);
  whole(out, "result_bytes", (int64_t)m->result_bytes);
  whole(out, "dynamic_bytes", (int64_t)m->dynamic_bytes);
  whole(out, "variables_bytes", (int64_t)m->variables_bytes);
  whole(out, "packed_bytes", (int64_t)m->packed_bytes);
  whole(out, "peak_bytes", (int64_t)m->peak_bytes);
  whole(out, "limit_bytes", (int64_t)m->limit_bytes);
  whole(out, "file_bytes", (int64_t)m->file_bytes);
  more(out, "peak_node", *m->peak_node ? m->peak_node : NULL);
  whole(out, "unknown_values", m->unknown_values);
  fy_str_addc(out, '}');
}

static void request(fy_str *out, const fy_report *r) {
  fy_str_add(out, "\n  \"feeds\": [");
  for (int i = 0; i < r->num_feeds; i++) {
    fy_pshape s = r->feed_shapes[i];
    fy_str_add(out, i ? ", {" : "{");
    fy_json_text(out, "name", r->feed_names[i]);
    fy_str_add(out, ", \"shape\": ");
    if (s.rank < 0) fy_str_add(out, "null");
    for (int32_t d = 0; d < s.rank; d++)
      fy_str_printf(out, "%s%lld", d ? ", " : "[", (long long)s.dims[d]);
    if (s.rank >= 0) fy_str_add(out, s.rank ? "]" : "[]");
    fy_str_addc(out, '}');
  }
  fy_str_addc(out, ']');
  names(out, "fetches", r->fetch_names, (uint32_t)r->num_fetches);
}

static void devices(fy_str *out, const fy_report *r) {
  for (int i = 0; i < r->num_devices; i++) {
    const fy_report_device *d = &r->devices[i];
    fy_str_printf(out, "%s\n    {", i ? "," : "");
    fy_json_text(out, "device", fy_report_device_name(d->device));
    more(out, "description", d->device->facts.description);
    fy_str_printf(out, ", \"simulated\": %s", d->device->facts.simulated ? "true" : "false");
    whole(out, "nodes", d->nodes);
    number(out, "flops", d->flops);
    number(out, "modelled_ns", d->ns);
    fy_str_addc(out, '}');
  }
}

void fy_report_json(fy_str *out, const fy_report *r) {
  fy_str text;
  fy_str_add(out, "{");
  request(out, r);
  more(out, "mode", r->program->placement->mode == FY_PLACE_TENSORFLOW ? "tensorflow" : "auto");
  fy_str_add(out, ",\n  \"nodes\": [");
  for (size_t i = 0; i < r->num_nodes; i++) {
    fy_str_add(out, i ? ",\n    " : "\n    ");
    fy_json_node(out, &r->nodes[i]);
  }
  fy_str_add(out, "\n  ],\n  \"transfers\": [");
  for (size_t i = 0; i < r->num_transfers; i++) {
    fy_str_add(out, i ? ",\n    " : "\n    ");
    fy_json_transfer(out, &r->transfers[i]);
  }
  fy_str_add(out, "\n  ],\n  \"memory\": [");
  for (int i = 0; i < r->num_memory; i++) {
    fy_str_add(out, i ? ",\n    " : "\n    ");
    memory(out, &r->memory[i]);
  }
  fy_str_add(out, "\n  ],\n  \"devices\": [");
  devices(out, r);
  fy_str_init(&text);
  fy_report_summary(&text, r);
  fy_str_add(out, "\n  ],\n  \"summary\": {");
  fy_json_text(out, "text", fy_str_text(&text));
  fy_str_free(&text);
  number(out, "compute_ns", r->compute_ns);
  number(out, "transfer_ns", r->transfer_ns);
  number(out, "flops", r->flops);
  whole(out, "transfers", r->moves);
  whole(out, "transfers_once", r->once_moves);
  whole(out, "bytes_to_devices", r->bytes_in);
  whole(out, "bytes_to_host", r->bytes_out);
  whole(out, "bytes_between_devices", r->bytes_between);
  whole(out, "bytes_once", r->once_bytes);
  whole(out, "spill_copies", r->program->spill.copies);
  whole(out, "spill_bytes", r->program->spill.bytes_in + r->program->spill.bytes_out);
  whole(out, "spill_file_bytes", (int64_t)r->program->spill.file_bytes);
  whole(out, "fallbacks", r->program->placement->num_fallbacks);
  fy_str_printf(out, ", \"sizes_unknown\": %s}\n}\n", r->sizes_unknown ? "true" : "false");
}
