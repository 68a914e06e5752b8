// SPDX-License-Identifier: Apache-2.0
// report_text.c: the report for people: placement, transfers, memory, and a summary in a few lines.

#include <stdio.h>
#include <string.h>

#include "observe/report.h"

#include "memory/spill_file.h"
#include "observe/table.h"

#define MAX_IDLE_ROWS  12  // more nodes that are not needed are listed by name only
#define MAX_IDLE_NAMES 24  // and of more than these, the rest is a number

// A cell that lives as long as the report: tables borrow their cells.
static const char *cell(const fy_report *r, const char *text) {
  const char *kept = fy_arena_strdup((fy_arena *)(uintptr_t)&r->arena, text);
  return kept ? kept : "?";
}

static const char *bytes_cell(const fy_report *r, int64_t bytes) {
  char b[32];
  return bytes < 0 ? "?" : cell(r, fy_report_bytes((double)bytes, b));
}

static const char *short_cell(const fy_report *r, const char *prefix, const char *text) {
  fy_str s;
  fy_str_init(&s);
  fy_str_add(&s, prefix);
  fy_report_shorten(&s, text);
  const char *kept = cell(r, fy_str_text(&s));
  fy_str_free(&s);
  return kept;
}

// ------------------------------------------------------------------ placement
static const char *op_name(const char *op) {
  return strcmp(op, "_FerryFused") == 0 ? "(fused)" : op;
}

static void print_nodes(fy_str *out, const fy_report *r, int width) {
  fy_table t;
  char b[32];
  size_t idle = 0, added = 0;
  for (size_t i = 0; i < r->num_nodes; i++) {
    idle += r->nodes[i].fate == FY_FATE_NOT_NEEDED;
    added += r->nodes[i].fate == FY_FATE_ADDED;
  }
  fy_str_printf(out, "Placement of %zu node%s", r->num_needed, r->num_needed == 1 ? "" : "s");
  if (added) fy_str_printf(out, " and %zu that inlining and rewriting made", added);
  fy_str_printf(out, ", %s\n\n",
                r->program->placement->mode == FY_PLACE_TENSORFLOW
                    ? "by TensorFlow's rules (place=tensorflow)"
                    : "by cost (place=auto)");
  fy_table_init(&t, 5, 1 << 3);
  static const char *const heads[] = {"NODE", "OP", "DEVICE", "MODELLED", "WHY"};
  for (int i = 0; i < 5; i++) fy_table_add(&t, heads[i]);
  for (size_t i = 0; i < r->num_nodes; i++) {
    const fy_report_node *n = &r->nodes[i];
    if (n->fate == FY_FATE_NOT_NEEDED && idle > MAX_IDLE_ROWS) continue;
    fy_str why;
    fy_str_init(&why);
    if (!strstr(n->reason, n->why)) fy_str_printf(&why, "%s: ", n->why);
    fy_table_add(&t, n->name);
    fy_table_add(&t, op_name(n->op));
    fy_table_add(&t, n->device ? fy_report_device_name(n->device) : "-");
    fy_table_add(&t, n->leads && n->ns > 0 ? cell(r, fy_report_ns(n->ns, b)) : "-");
    fy_table_add(&t, short_cell(r, fy_str_text(&why), n->reason));
    fy_str_free(&why);
  }
  fy_table_print(out, &t, 2, width);
  fy_table_free(&t);
  if (idle <= MAX_IDLE_ROWS) return;
  fy_str names;
  fy_str_init(&names);
  fy_str_printf(&names, "Not needed by the fetches (%zu):", idle);
  size_t left = MAX_IDLE_NAMES;
  for (size_t i = 0; i < r->num_nodes && left; i++)
    if (r->nodes[i].fate == FY_FATE_NOT_NEEDED)
      fy_str_printf(&names, " %s", r->nodes[i].name), left--;
  if (idle > MAX_IDLE_NAMES)
    fy_str_printf(&names, " and %zu more (--json lists all)", idle - MAX_IDLE_NAMES);
  fy_str_add(out, "  ");
  fy_text_wrap(out, fy_str_text(&names), 2, width);
  out->failed |= names.failed;
  fy_str_free(&names);
}

// ------------------------------------------------------------------ transfers
static void print_moves(fy_str *out, const fy_report *r, int width) {
  char b[32];
  fy_str_printf(out, "\nTransfers: %lld per run, %lld once\n", (long long)r->moves,
                (long long)r->once_moves);
  if (r->num_transfers) fy_str_addc(out, '\n');
  fy_table t;
  fy_table_init(&t, 7, 1 << 3 | 1 << 4);
  static const char *const heads[] = {"VALUE",    "FROM", "TO",       "BYTES",
                                      "MODELLED", "WHEN", "NEEDED BY"};
  for (int i = 0; i < 7 && r->num_transfers; i++) fy_table_add(&t, heads[i]);
  for (size_t i = 0; i < r->num_transfers; i++) {
    const fy_report_transfer *m = &r->transfers[i];
    fy_table_add(&t, m->value);
    fy_table_add(&t, m->from);
    fy_table_add(&t, m->to);
    fy_table_add(&t, bytes_cell(r, m->transfer->bytes));
    fy_table_add(&t, cell(r, fy_report_ns(m->ns, b)));
    fy_table_add(&t, m->once ? "once" : "every run");
    fy_table_add(&t, m->cause ? m->cause : "the client (a fetch)");
  }
  fy_table_print(out, &t, 2, width);
  fy_table_free(&t);
  for (size_t i = 0; i < r->num_transfers; i++) {
    const fy_report_transfer *m = &r->transfers[i];
    if (m->once) continue;
    fy_str_printf(out, "\n  %s -> %s\n    why:    ", m->value, m->to);
    fy_text_wrap(out, short_cell(r, "", m->transfer->why), 12, width);
    fy_str_add(out, "    remove: ");
    fy_text_wrap(out, short_cell(r, "", m->advice), 12, width);
  }
}

// ------------------------------------------------------------------ memory
static void print_spilling(fy_str *out, const fy_report *r) {
  const fy_program *p = r->program;
  char in[32], back[32], ns[32];
  for (int i = 0; i < r->num_memory; i++) {
    const fy_space_memory *m = &r->memory[i];
    const uint64_t needs = m->limit_set ? m->allocator_bytes : m->peak_bytes;
    if (!m->limit_bytes || needs <= m->limit_bytes) continue;
    fy_str_printf(
        out, "\n  It does not fit: %s needs %s and may hold %s%s. The run will fail.\n",
        fy_report_device_name(m->device), fy_report_bytes((double)needs, in),
        fy_report_bytes((double)m->limit_bytes, back),
        p->options->spill
            ? ", and spilling does not help (one operation, or what must stay, is too much alone)"
            : " (spill=never)");
  }
  if (p->spill.copies)
    fy_str_printf(
        out,
        "\n  A device is too small (spill=auto): per run %lld copies make room, %s to devices "
        "and %s to the host, about %s.\n",
        (long long)p->spill.copies, fy_report_bytes((double)p->spill.bytes_in, in),
        fy_report_bytes((double)p->spill.bytes_out, back), fy_report_ns(fy_report_spill_ns(p), ns));
  if (p->spill.file_bytes)
    fy_str_printf(
        out,
        "\n  Host memory is too small (spill=auto): the %s of planned tensors are in a file in "
        "%s (spill_dir).\n",
        fy_report_bytes((double)p->spill.file_bytes, in), fy_spill_file_dir(p->options->spill_dir));
}

static void print_memory(fy_str *out, const fy_report *r, int width) {
  fy_table t;
  fy_str_add(out, "\nMemory of one run\n\n");
  fy_table_init(&t, 7, 0x3e);
  static const char *const heads[] = {"DEVICE", "WEIGHTS", "PLANNED",   "FEEDS+RESULTS",
                                      "PEAK",   "LIMIT",   "FULLEST AT"};
  for (int i = 0; i < 7; i++) fy_table_add(&t, heads[i]);
  for (int i = 0; i < r->num_memory; i++) {
    const fy_space_memory *m = &r->memory[i];
    fy_table_add(&t, fy_report_device_name(m->device));
    // Variables are weights, too; where they wait elsewhere for a part of the run, less of them is here.
    const uint64_t fixed = m->weights_bytes + (m->file_bytes ? 0 : m->planned_bytes);
    const uint64_t rest = m->peak_bytes > fixed ? m->peak_bytes - fixed : 0;
    const uint64_t variables = m->variables_bytes < rest ? m->variables_bytes : rest;
    fy_table_add(&t, bytes_cell(r, (int64_t)(m->weights_bytes + variables)));
    fy_table_add(&t, bytes_cell(r, (int64_t)m->planned_bytes));
    fy_table_add(&t, bytes_cell(r, (int64_t)(rest - variables)));
    fy_table_add(&t, bytes_cell(r, (int64_t)m->peak_bytes));
    fy_table_add(&t, m->limit_bytes ? bytes_cell(r, (int64_t)m->limit_bytes) : "none");
    fy_table_add(&t, *m->peak_node ? m->peak_node : "-");
  }
  fy_table_print(out, &t, 2, width);
  fy_table_free(&t);
  print_spilling(out, r);
}

// ------------------------------------------------------------------ summary
// "CPU:0 3 % (TopK x24, Cast)": the ops of a device that does less than half of the work.
static void list_ops(fy_str *out, const fy_report *r, const fy_device *d) {
  int shown = 0;
  for (size_t i = 0; i < r->num_nodes && shown < 6; i++) {
    const fy_report_node *n = &r->nodes[i];
    if (!n->leads || n->device != d || n->ns <= 0) continue;
    int count = 0;
    bool before = false;
    for (size_t k = 0; k < r->num_nodes; k++) {
      const fy_report_node *o = &r->nodes[k];
      if (!o->leads || o->device != d || o->ns <= 0 ||
          strcmp(o->now->op_name, n->now->op_name) != 0)
        continue;
      before |= k < i;
      count++;
    }
    if (before) continue;
    fy_str_printf(out, "%s%s", shown++ ? ", " : " (", op_name(n->now->op_name));
    if (count > 1) fy_str_printf(out, " x%d", count);
  }
  if (shown) fy_str_addc(out, ')');
}

// A device that was asked for and not given is said in the same line, with the cause.
static void list_fallbacks(fy_str *out, const fy_report *r) {
  int shown = 0, all = r->program->placement->num_fallbacks;
  for (size_t i = 0; i < r->num_nodes && shown < 1; i++) {
    const fy_report_node *n = &r->nodes[i];
    if (n->wanted) fy_str_printf(out, "; '%s' %s", n->name, n->reason), shown++;
  }
  if (all > shown) fy_str_printf(out, "%s%d more", shown ? ", and " : "; fallbacks: ", all - shown);
}

void fy_report_summary(fy_str *out, const fy_report *r) {
  char a[32], b[32];
  int shown = 0;
  for (int pass = 0; pass < 2; pass++)  // the busiest first
    for (int i = 0; i < r->num_devices; i++) {
      const fy_report_device *d = &r->devices[i];
      double share = r->flops > 0 ? 100 * d->flops / r->flops : 0;
      if ((share >= 50) == (pass == 1) || (d->ns <= 0 && share <= 0)) continue;
      bool fine = (share > 0 && share < 10) || (share > 99 && share < 100);
      if (share > 99.9 && share < 100) share = 99.9;
      fy_str_printf(out, shown++ ? ", %s %.*f %%" : "%s does %.*f %% of the FLOPs",
                    fy_report_device_name(d->device), fine ? 1 : 0, share);
      if (share < 50) list_ops(out, r, d->device);
    }
  if (!shown) fy_str_add(out, "nothing is left to compute");
  double total = r->compute_ns + r->transfer_ns;
  if (r->moves) {
    fy_str_printf(out, "; %lld transfer%s, %s to devices", (long long)r->moves,
                  r->moves == 1 ? "" : "s", fy_report_bytes((double)r->bytes_in, a));
    fy_str_printf(out, " and %s back per run", fy_report_bytes((double)r->bytes_out, b));
    if (r->bytes_between)
      fy_str_printf(out, " (%s between devices)", fy_report_bytes((double)r->bytes_between, a));
    fy_str_printf(out, ", modelled %s = %.0f %% of the run", fy_report_ns(r->transfer_ns, a),
                  total > 0 ? 100 * r->transfer_ns / total : 0);
  } else {
    fy_str_add(out, "; no transfers per run");
  }
  const fy_program *p = r->program;
  uint64_t stay = p->spill.copies ? 0 : (uint64_t)r->once_bytes;  // others come again and again
  for (int i = 0; p->spill.copies && i < r->num_memory; i++)
    if (!r->memory[i].device->is_host) stay += r->memory[i].weights_bytes;
  if (r->once_moves && stay)
    fy_str_printf(out, "; %s of weights go to devices once", fy_report_bytes((double)stay, a));
  if (p->spill.copies)
    fy_str_printf(out, "; memory is short: %lld more copies of %s per run (spill=auto), about %s",
                  (long long)p->spill.copies,
                  fy_report_bytes((double)(p->spill.bytes_in + p->spill.bytes_out), a),
                  fy_report_ns(fy_report_spill_ns(p), b));
  list_fallbacks(out, r);
}

static void print_summary(fy_str *out, const fy_report *r, int width) {
  fy_str s;
  char a[32], b[32], c[32];
  fy_str_init(&s);
  fy_report_summary(&s, r);
  fy_str_add(out, "\nSummary\n  ");
  fy_text_wrap(out, fy_str_text(&s), 2, width);
  out->failed |= s.failed;
  fy_str_free(&s);
  fy_str_printf(out, "  modelled run: %s = %s computing + %s moving, if nothing overlaps\n",
                fy_report_ns(r->compute_ns + r->transfer_ns, a), fy_report_ns(r->compute_ns, b),
                fy_report_ns(r->transfer_ns, c));
  if (r->program->placement->num_fallbacks)
    fy_str_printf(out, "  %d node%s not where asked for (soft placement): see WHY\n",
                  r->program->placement->num_fallbacks,
                  r->program->placement->num_fallbacks == 1 ? " is" : "s are");
  if (!r->sizes_unknown) return;
  if (r->feeds_known) {
    fy_str_add(out, "  sizes that only the run can tell count as 1 or not at all\n");
    return;
  }
  fy_str_add(out, "  unknown sizes count as 1 or not at all; known so far:");
  for (int i = 0; i < r->num_feeds; i++) {
    char text[128];
    fy_str_printf(out, " %s %s", r->feed_names[i],
                  fy_shape_text(r->feed_shapes[i].rank, r->feed_shapes[i].dims, text));
  }
  fy_str_add(out, " (give a batch or shapes)\n");
}

void fy_report_text(fy_str *out, const fy_report *r, int width) {
  print_nodes(out, r, width);
  print_moves(out, r, width);
  print_memory(out, r, width);
  print_summary(out, r, width);
}
