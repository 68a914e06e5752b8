// SPDX-License-Identifier: Apache-2.0
// why.c: one node's story: where it runs and why, what every other device would say, what became of
// it in optimisation, and the transfers on its edges.

#include <stdio.h>
#include <string.h>

#include "base/alloc.h"
#include "observe/report.h"
#include "observe/report_json.h"
#include "observe/table.h"

#define MARGIN 16

// What |name| may mean: a name of the report, or the end of one ("dense/MatMul" of a node that was inlined
// as "call/dense/MatMul"); also a node that became part of another.
typedef struct hits {
  const char *asked;
  const fy_report_node *entry;
  const char *name;   // in full
  const char *other;  // another one that has the same end
} hits;

static bool ends_with(const char *name, const char *end) {
  const size_t n = strlen(name), m = strlen(end);
  return n > m && name[n - m - 1] == '/' && strcmp(name + n - m, end) == 0;
}

static void hit(hits *h, const fy_report_node *e, const char *name, bool whole) {
  if (!(whole ? strcmp(name, h->asked) == 0 : ends_with(name, h->asked))) return;
  if (!h->entry)
    h->entry = e, h->name = name;
  else if (strcmp(h->name, name) != 0)
    h->other = name;
}

static const fy_report_node *find(const fy_report *r, const char *asked, const char **name,
                                  fy_error *err) {
  hits h = {.asked = asked};
  for (int pass = 0; pass < 3 && !h.entry; pass++)  // names, parts, ends of both
    for (size_t i = 0; i < r->num_nodes; i++) {
      const fy_report_node *e = &r->nodes[i];
      if (pass != 1) hit(&h, e, e->name, pass == 0);
      for (uint32_t k = 0; pass && e->leads && k < e->now->num_origins; k++)
        hit(&h, e, e->now->origins[k], pass == 1);
    }
  if (h.other) {
    fy_fail(err, FY_INVALID_ARGUMENT, "'%s' is the end of several names, such as '%s' and '%s'",
            asked, h.name, h.other);
    return NULL;
  }
  *name = h.name;
  if (h.entry) return h.entry;
  const char **names = fy_malloc((r->num_nodes + 1) * sizeof *names);
  for (size_t i = 0; names && i < r->num_nodes; i++) names[i] = r->nodes[i].name;
  const char *near = names ? fy_nearest(asked, names, r->num_nodes) : NULL;
  fy_free(names);
  fy_fail(err, FY_NOT_FOUND, "the graph has no node '%s'%s%s%s", asked,
          near ? " (did you mean '" : "", near ? near : "", near ? "'?)" : "");
  return NULL;
}

static void line(fy_str *out, const char *label, const char *text, int width) {
  fy_str s;
  fy_str_init(&s);
  fy_report_shorten(&s, text);
  fy_str_printf(out, "  %-*s", MARGIN - 2, label);
  fy_text_wrap(out, fy_str_text(&s), MARGIN, width);
  out->failed |= s.failed;
  fy_str_free(&s);
}

// What each device would say to |n|: how long, or why not.
static void verdict(fy_str *out, const fy_node *n, fy_device *d) {
  fy_error why;
  char ns[32];
  fy_error_init(&why);
  if (n->function || !n->op)
    fy_str_add(out, "decided inside the function");
  else if (fy_place_supported(n, d, &why)) {
    fy_str_printf(out, "could run it: the work alone is modelled at %s",
                  fy_report_ns(fy_place_cost_ns(n, d), ns));
    const fy_node *blocked = fy_place_body(n) ? fy_place_loop_blocked(n, d, &why) : NULL;
    if (blocked)
      fy_str_printf(out, ", as '%s' (%s) inside it would be done by the host at every step: %s",
                    blocked->name, blocked->op_name, fy_error_text(&why));
  } else
    fy_str_printf(out, "cannot: %s", fy_error_text(&why));
  fy_error_clear(&why);
}

static bool touches(const fy_report_transfer *t, const fy_node *n) {
  return t->transfer->value.node == n || t->transfer->cause == n;
}

static const char *story_of(const fy_report_node *e) {
  if (e->fate == FY_FATE_ADDED && !e->now->origins) return "inlined from a function, kept as it is";
  switch (e->fate) {
    case FY_FATE_RUNS:
    case FY_FATE_FED:
    case FY_FATE_CONSTANT: return "kept as it is";
    case FY_FATE_ADDED: return "made by inlining or rewriting";
    default: return fy_fate_name(e->fate);
  }
}

static void why_text(fy_str *out, const fy_report *r, const fy_report_node *e, const char *name,
                     int width) {
  fy_str s;
  char b[32], when[96];
  fy_str_init(&s);
  if (strcmp(name, e->name) != 0) fy_str_printf(out, "%s is part of\n", name);
  fy_str_printf(out, "%s (%s)\n", e->name, e->op);
  if (e->device)
    fy_str_printf(&s, "%s", fy_report_device_name(e->device));
  else
    fy_str_printf(&s, "nowhere: %s", fy_fate_name(e->fate));
  line(out, "runs on", fy_str_text(&s), width);
  fy_str_free(&s);
  fy_str_init(&s);
  if (!strstr(e->reason, e->why)) fy_str_printf(&s, "%s: ", e->why);
  fy_str_add(&s, e->reason);
  line(out, "because", fy_str_text(&s), width);
  fy_str_free(&s);
  if (e->wanted) line(out, "asked for", e->wanted, width);
  line(out, "optimisation", story_of(e), width);
  bool counts = e->now && e->device && !e->now->const_value && strcmp(e->now->op_name, "_Arg") != 0;
  for (int i = 0; counts && i < r->num_devices; i++) {
    fy_str_init(&s);
    verdict(&s, e->now, (fy_device *)(uintptr_t)r->devices[i].device);
    line(out, fy_report_device_name(r->devices[i].device), fy_str_text(&s), width);
    fy_str_free(&s);
  }
  int shown = 0;
  for (size_t i = 0; e->now && i < r->num_transfers; i++) {
    const fy_report_transfer *t = &r->transfers[i];
    if (!touches(t, e->now)) continue;
    fy_str_init(&s);
    snprintf(
        when, sizeof when, "%s",
        t->transfer->bytes < 0 ? "unknown size" : fy_report_bytes((double)t->transfer->bytes, b));
    fy_str_printf(&s, "%s from %s to %s, %s, %s: ", t->value, t->from, t->to, when,
                  t->once ? "once" : "every run");
    fy_str_add(&s, t->transfer->why);
    line(out, shown++ ? "" : "transfers", fy_str_text(&s), width);
    fy_str_free(&s);
    if (!t->once) {
      fy_str_init(&s);
      fy_str_printf(&s, "to remove it: %s", t->advice);
      line(out, "", fy_str_text(&s), width);
      fy_str_free(&s);
    }
  }
  if (!shown) line(out, "transfers", "none on its edges", width);
}

static void why_json(fy_str *out, const fy_report *r, const fy_report_node *e, const char *name) {
  fy_str_add(out, "{\n  ");
  if (strcmp(name, e->name) != 0) {
    fy_json_text(out, "part", name);
    fy_str_add(out, ",\n  ");
  }
  fy_str_add(out, "\"node\": ");
  fy_json_node(out, e);
  fy_str_add(out, ",\n  \"devices\": [");
  bool counts = e->now && e->device && !e->now->const_value && strcmp(e->now->op_name, "_Arg") != 0;
  for (int i = 0; counts && i < r->num_devices; i++) {
    fy_str s;
    fy_str_init(&s);
    verdict(&s, e->now, (fy_device *)(uintptr_t)r->devices[i].device);
    fy_str_add(out, i ? ", {" : "{");
    fy_json_text(out, "device", fy_report_device_name(r->devices[i].device));
    fy_str_add(out, ", ");
    fy_json_text(out, "verdict", fy_str_text(&s));
    fy_str_addc(out, '}');
    fy_str_free(&s);
  }
  fy_str_add(out, "],\n  \"transfers\": [");
  const char *sep = "";
  for (size_t i = 0; e->now && i < r->num_transfers; i++) {
    if (!touches(&r->transfers[i], e->now)) continue;
    fy_str_add(out, sep);
    fy_json_transfer(out, &r->transfers[i]);
    sep = ", ";
  }
  fy_str_add(out, "]\n}\n");
}

fy_code fy_report_why(fy_str *out, const fy_report *r, const char *node, bool json, int width,
                      fy_error *err) {
  const char *name = NULL;
  const fy_report_node *e = find(r, node, &name, err);
  if (!e) return err ? err->code : FY_NOT_FOUND;
  if (json)
    why_json(out, r, e, name);
  else
    why_text(out, r, e, name, width);
  return FY_OK;
}
