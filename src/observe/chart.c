// SPDX-License-Identifier: Apache-2.0
// chart.c: memory as a picture: over the instructions of a program, and over batch sizes. Bars of text,
// or an SVG that stands for itself.

#include <stdio.h>
#include <string.h>

#include "base/alloc.h"
#include "observe/predict.h"

#define ROWS    24
#define COLUMNS 40
#define WIDTH   640
#define HEIGHT  320
#define MARGIN  60

static void bar(fy_str *out, double share) {
  int n = (int)(share * COLUMNS + 0.5);
  for (int i = 0; i < COLUMNS; i++) fy_str_add(out, i < n ? "#" : ".");
}

// ---------------------------------------------------------------- svg
static const char *const colors[] = {"#1f77b4", "#d62728", "#2ca02c", "#9467bd",
                                     "#ff7f0e", "#8c564b", "#17becf", "#7f7f7f"};

static void svg_begin(fy_str *out, const char *title, double top, const char *unit_x) {
  char text[32];
  fy_str_printf(out,
                "<svg xmlns=\"http://www.w3.org/2000/svg\" width=\"%d\" height=\"%d\" "
                "font-family=\"sans-serif\" font-size=\"12\">\n<rect width=\"100%%\" "
                "height=\"100%%\" fill=\"white\"/>\n<text x=\"%d\" y=\"20\">%s</text>\n",
                WIDTH + 2 * MARGIN, HEIGHT + 2 * MARGIN, MARGIN, title);
  for (int i = 0; i <= 4; i++) {
    int y = MARGIN + HEIGHT - HEIGHT * i / 4;
    fy_str_printf(out,
                  "<line x1=\"%d\" y1=\"%d\" x2=\"%d\" y2=\"%d\" stroke=\"#ddd\"/><text x=\"%d\" "
                  "y=\"%d\" text-anchor=\"end\">%s</text>\n",
                  MARGIN, y, MARGIN + WIDTH, y, MARGIN - 4, y + 4,
                  fy_report_bytes(top * i / 4, text));
  }
  fy_str_printf(out, "<text x=\"%d\" y=\"%d\">%s</text>\n", MARGIN + WIDTH / 2,
                MARGIN + HEIGHT + 40, unit_x);
}

static void svg_line(fy_str *out, const char *name, int which, const double *values, int n,
                     double top, double limit) {
  const char *color = colors[(size_t)which % (sizeof colors / sizeof *colors)];
  fy_str_printf(out, "<polyline fill=\"none\" stroke=\"%s\" stroke-width=\"2\" points=\"", color);
  for (int i = 0; i < n; i++)
    fy_str_printf(out, "%s%.1f,%.1f", i ? " " : "",
                  MARGIN + WIDTH * (n > 1 ? (double)i / (n - 1) : 0),
                  MARGIN + HEIGHT - HEIGHT * values[i] / top);
  fy_str_printf(out, "\"/>\n<text x=\"%d\" y=\"%d\" fill=\"%s\">%s</text>\n", MARGIN + WIDTH + 4,
                MARGIN + 16 * (which + 1), color, name);
  if (limit > 0 && limit <= top) {
    double y = MARGIN + HEIGHT - HEIGHT * limit / top;
    fy_str_printf(out,
                  "<line x1=\"%d\" y1=\"%.1f\" x2=\"%d\" y2=\"%.1f\" stroke=\"%s\" "
                  "stroke-dasharray=\"6 4\"/>\n",
                  MARGIN, y, MARGIN + WIDTH, y, color);
  }
}

// The |i|-th of |n| places on the axis below.
static void svg_tick(fy_str *out, int i, int n, long long label) {
  const double x = MARGIN + WIDTH * (n > 1 ? (double)i / (n - 1) : 0);
  fy_str_printf(out, "<text x=\"%.1f\" y=\"%d\" text-anchor=\"middle\">%lld</text>\n", x,
                MARGIN + HEIGHT + 18, label);
}

// ---------------------------------------------------------------- over time
// Live bytes at each instruction, with what is there all the time.
static double *live_at(const fy_program *p, int space, double fixed) {
  double *live = fy_calloc(p->num_instrs + 2u, sizeof *live);
  if (!live) return NULL;
  for (size_t i = 0; i < p->num_lives; i++) {
    const fy_life *l = &p->lives[i];
    if (l->space != space) continue;
    live[l->first] += (double)l->bytes;
    live[l->last + 1] -= (double)l->bytes;
  }
  double sum = fixed;
  for (uint32_t i = 0; i < p->num_instrs; i++) live[i] = sum += live[i];
  return live;
}

static void time_text(fy_str *out, const fy_program *p, const fy_space_memory *m,
                      const double *live, double top) {
  char a[32], b[32];
  fy_str_printf(out, "%s  peak %s%s%s, %u instructions\n", fy_report_device_name(m->device),
                fy_report_bytes((double)m->peak_bytes, a), m->limit_bytes ? " of " : "",
                m->limit_bytes ? fy_report_bytes((double)m->limit_bytes, b) : "", p->num_instrs);
  if (m->file_bytes)
    fy_str_printf(out, "  with %s in a file\n", fy_report_bytes((double)m->file_bytes, a));
  uint32_t per = (p->num_instrs + ROWS - 1) / ROWS;
  for (uint32_t at = 0; at < p->num_instrs; at += per) {
    uint32_t most = at;
    for (uint32_t i = at; i < at + per && i < p->num_instrs; i++)
      if (live[i] > live[most]) most = i;
    fy_str_printf(out, "  %6u  ", most);
    bar(out, top > 0 ? live[most] / top : 0);
    fy_str_printf(out, " %10s  %s\n", fy_report_bytes(live[most], a),
                  fy_report_label(p->instrs[most].node));
  }
}

void fy_chart_time(fy_str *out, const fy_program *p, fy_chart_form form) {
  double top = 1;
  for (int pass = 0; pass < 2; pass++) {
    if (pass && form == FY_CHART_SVG) {
      svg_begin(out, "Memory over the instructions of one run", top, "instruction");
      for (int i = 0; i <= 8 && p->num_instrs > 8; i++)
        svg_tick(out, i, 9, (long long)(p->num_instrs - 1) * i / 8);
    }
    for (int space = 0, which = 0; space <= p->devices->n; space++) {
      fy_space_memory m;
      if (space && p->devices->items[space - 1]->is_host) continue;
      fy_report_memory(p, space, &m);
      const uint64_t all = m.peak_bytes + m.file_bytes;  // what is in a file is no part of the peak
      if ((double)all > top) top = (double)all;
      double *live = pass ? live_at(p, space, (double)(all - m.planned_bytes)) : NULL;
      if (live && form == FY_CHART_TEXT && p->num_instrs) time_text(out, p, &m, live, (double)all);
      if (live && form == FY_CHART_SVG)
        svg_line(out, fy_report_device_name(m.device), which++, live, (int)p->num_instrs, top,
                 (double)m.limit_bytes);
      fy_free(live);
    }
  }
  if (form == FY_CHART_SVG) fy_str_add(out, "</svg>\n");
}

// ---------------------------------------------------------------- over batches
void fy_chart_batch(fy_str *out, const fy_sweep *s, fy_chart_form form) {
  double top = 1;
  char a[32], b[32];
  for (int d = 0; d < s->at.num_memory; d++)
    for (int k = 0; k < s->n; k++)
      if ((double)s->peak_bytes[d][k] > top) top = (double)s->peak_bytes[d][k];
  if (form == FY_CHART_SVG) {
    svg_begin(out, "Peak memory over the batch size", top, "batch size (doubling)");
    for (int k = 0; k < s->n; k++) svg_tick(out, k, s->n, (long long)s->batch[k]);
  }
  for (int d = 0; d < s->at.num_memory; d++) {
    const fy_space_memory *m = &s->at.memory[d];
    double values[FY_SWEEP], most = 1;
    for (int k = 0; k < s->n; k++) {
      values[k] = (double)s->peak_bytes[d][k];
      if (values[k] > most) most = values[k];
    }
    if (form == FY_CHART_SVG) {
      svg_line(out, fy_report_device_name(m->device), d, values, s->n, top, (double)m->limit_bytes);
      continue;
    }
    fy_str_printf(out, "%s  limit %s\n", fy_report_device_name(m->device),
                  m->limit_bytes ? fy_report_bytes((double)m->limit_bytes, a) : "none");
    for (int k = 0; k < s->n; k++) {
      fy_str_printf(out, "  %8lld  ", (long long)s->batch[k]);
      bar(out, values[k] / most);
      fy_str_printf(out, " %10s", fy_report_bytes(values[k], a));
      if (s->over[k] >> d & 1) {
        fy_str_add(out, "  too much");
        if (s->spill_bytes[k])
          fy_str_printf(out, " (fits by spilling %s per run)",
                        fy_report_bytes((double)s->spill_bytes[k], b));
        else if (m->limit_bytes && values[k] <= (double)m->limit_bytes)
          fy_str_add(out, " (so part of the work is done elsewhere)");
      }
      fy_str_add(out, "\n");
    }
  }
  if (form == FY_CHART_SVG) fy_str_add(out, "</svg>\n");
}
