// SPDX-License-Identifier: Apache-2.0
// ferry_ask.c: explain, why, dump and predict: each compiles the program that the request would run
// and lets observe/ speak about it.

#include <stdio.h>
#include <string.h>

#include "api/eager.h"
#include "api/ferry_api.h"
#include "base/alloc.h"
#include "observe/eager_report.h"
#include "observe/predict.h"
#include "observe/report.h"

typedef struct question {
  fy_ferry_query q;
  fy_run_args run;
  fy_program *program;
  fy_str log;
} question;

static fy_code ask(ferry_session *s, const ferry_request *r, const char *stop_after, question *out,
                   fy_error *err) {
  *out = (question){0};
  fy_str_init(&out->log);
  FY_TRY(fy_ferry_query_make(s->graph, r, &out->q, err));
  out->run = (fy_run_args){.feeds = out->q.feeds,
                           .num_feeds = out->q.num_feeds,
                           .fetches = out->q.fetches,
                           .num_fetches = out->q.num_fetches,
                           .targets = out->q.targets,
                           .num_targets = out->q.num_targets};
  fy_code code = fy_session_program(s->session, &out->run, out->q.shapes, stop_after, &out->log,
                                    &out->program, err);
  if (code) {
    fy_ferry_query_free(&out->q);
    fy_str_free(&out->log);
  }
  return code;
}

static void answered(question *q) {
  fy_program_release(q->program);
  fy_ferry_query_free(&q->q);
  fy_str_free(&q->log);
}

typedef enum subject { EVERYTHING, ONE_NODE, SUMMARY } subject;

static fy_code report(ferry_session *s, const ferry_request *r, subject about, const char *node,
                      ferry_format format, char **out, fy_error *err) {
  question q;
  fy_report rep;
  fy_str text;
  int width = r ? r->width : 0;
  FY_TRY(ask(s, r, NULL, &q, err));
  fy_str_init(&text);
  fy_report_args args = {.graph = s->graph,
                         .run = &q.run,
                         .shapes = q.q.shapes,
                         .program = q.program,
                         .log = fy_str_text(&q.log)};
  fy_code code = fy_report_make(&args, &rep, err);
  if (!code) {
    if (about == ONE_NODE)
      code = fy_report_why(&text, &rep, node, format == FERRY_JSON, width, err);
    else if (about == SUMMARY)
      fy_report_summary(&text, &rep);
    else if (format == FERRY_JSON)
      fy_report_json(&text, &rep);
    else
      fy_report_text(&text, &rep, width);
    fy_report_free(&rep);
  }
  if (code)
    fy_str_free(&text);
  else
    code = fy_ferry_text(&text, out, err);
  answered(&q);
  return code;
}

int ferry_explain(ferry_session *s, const ferry_request *r, ferry_format format, char **out,
                  ferry_error *err) {
  fy_error e;
  fy_error_init(&e);
  *out = NULL;
  return fy_ferry_end(report(s, r, EVERYTHING, NULL, format, out, &e), &e, err);
}

int ferry_summary(ferry_session *s, const ferry_request *r, char **out, ferry_error *err) {
  fy_error e;
  fy_error_init(&e);
  *out = NULL;
  return fy_ferry_end(report(s, r, SUMMARY, NULL, FERRY_TEXT, out, &e), &e, err);
}

int ferry_why(ferry_session *s, const ferry_request *r, const char *node, ferry_format format,
              char **out, ferry_error *err) {
  fy_error e;
  fy_error_init(&e);
  *out = NULL;
  fy_code code = node && *node ? report(s, r, ONE_NODE, node, format, out, &e)
                               : fy_fail(&e, FY_INVALID_ARGUMENT, "which node?");
  return fy_ferry_end(code, &e, err);
}

int ferry_eager_explain(struct TFE_Context *context, ferry_format format, char **out,
                        ferry_error *err) {
  fy_error e;
  fy_arena arena;
  fy_eager_call *calls;
  size_t n;
  fy_error_init(&e);
  *out = NULL;
  if (!context)
    return fy_ferry_end(fy_fail(&e, FY_INVALID_ARGUMENT, "no TFE_Context was given"), &e, err);
  fy_arena_init(&arena);
  fy_code code = fy_eager_calls(fy_api_eager(context), &arena, &calls, &n, &e);
  if (!code) {
    fy_str text;
    fy_str_init(&text);
    if (format == FERRY_JSON)
      fy_eager_report_json(&text, calls, n);
    else
      fy_eager_report_text(&text, calls, n);
    code = fy_ferry_text(&text, out, &e);
  }
  fy_arena_free(&arena);
  return fy_ferry_end(code, &e, err);
}

// ------------------------------------------------------------------ dump
static const char *const stages[] = {"import",    "optimize", "place",
                                     "partition", "memory",   "program"};

static void dump_memory(fy_str *out, const fy_program *p) {
  for (int s = 0; s < p->plan.num_spaces; s++) {
    if (s && !p->plan.arena_bytes[s]) continue;
    fy_str_printf(out, "%s: arena %zu bytes, live peak %zu at step %u\n",
                  s ? p->devices->items[s - 1]->name : "host memory", p->plan.arena_bytes[s],
                  p->plan.peak_bytes[s], p->plan.peak_step[s]);
    for (size_t i = 0; i < p->num_lives; i++) {
      const fy_life *l = &p->lives[i];
      if (l->space != s) continue;
      fy_str_printf(out, "  %10zu + %-10zu steps %u..%u  %s\n", l->offset, l->bytes, l->first,
                    l->last, l->owner);
    }
  }
}

static fy_code dump(ferry_session *s, const ferry_request *r, const char *stage, fy_str *out,
                    fy_error *err) {
  size_t known = 0, n = sizeof stages / sizeof *stages;
  question q;
  while (known < n && (!stage || strcmp(stage, stages[known]) != 0)) known++;
  if (known == n) {
    const char *near = fy_nearest(stage ? stage : "", stages, n);
    return fy_fail(err, FY_INVALID_ARGUMENT,
                   "there is no stage '%s'%s%s%s; stages are: import, optimize, place, partition, "
                   "memory, program",
                   stage ? stage : "", near ? " (did you mean '" : "", near ? near : "",
                   near ? "'?)" : "");
  }
  if (known == 0) {
    fy_lock(&s->graph->lock);
    fy_graph_dump(out, s->graph);
    fy_unlock(&s->graph->lock);
    return FY_OK;
  }
  FY_TRY(ask(s, r, known < 4 ? stage : NULL, &q, err));
  const fy_program *p = q.program;
  switch (known) {
    case 1:
      for (const char *l = fy_str_text(&q.log); *l;) {
        size_t len = strcspn(l, "\n");
        fy_str_printf(out, "# %.*s\n", (int)len, l);
        l += len + (l[len] == '\n');
      }
      fy_graph_dump(out, p->graph);
      break;
    case 2: fy_placement_dump(out, p->graph, p->placement); break;
    case 3: fy_parts_dump(out, p->parts); break;
    case 4: dump_memory(out, p); break;
    default: fy_program_dump(out, p); break;
  }
  answered(&q);
  return FY_OK;
}

int ferry_dump(ferry_session *s, const ferry_request *r, const char *stage, char **out,
               ferry_error *err) {
  fy_error e;
  fy_str text;
  fy_error_init(&e);
  fy_str_init(&text);
  *out = NULL;
  fy_code code = dump(s, r, stage, &text, &e);
  if (code)
    fy_str_free(&text);
  else
    code = fy_ferry_text(&text, out, &e);
  return fy_ferry_end(code, &e, err);
}

// ------------------------------------------------------------------ predict
_Static_assert(sizeof(((ferry_prediction *)0)->devices) / sizeof(struct ferry_device_prediction) ==
                   FY_PREDICT_DEVICES,
               "as many devices");

static void hand_over(const fy_prediction *p, ferry_prediction *out) {
  out->num_devices = p->num_memory;
  for (int i = 0; i < p->num_memory; i++) {
    struct ferry_device_prediction *d = &out->devices[i];
    const fy_space_memory *m = &p->memory[i];
    snprintf(d->device, sizeof d->device, "%s", fy_report_device_name(m->device));
    d->weights_bytes = m->weights_bytes;
    d->planned_bytes = m->planned_bytes;
    d->other_bytes = m->peak_bytes - m->weights_bytes - (m->file_bytes ? 0 : m->planned_bytes);
    d->peak_bytes = m->peak_bytes;
    d->limit_bytes = m->limit_bytes;
    snprintf(d->peak_node, sizeof d->peak_node, "%s", p->peak_node[i]);
    d->largest_batch = p->largest_batch[i];
    d->variables_bytes = m->variables_bytes;
    d->packed_bytes = m->packed_bytes;
    d->scratch_bytes = m->scratch_bytes;
    d->allocator_bytes = m->allocator_bytes;
    d->exact = m->exact;
  }
  if (p->first_exhausted >= 0)
    snprintf(out->first_exhausted, sizeof out->first_exhausted, "%s",
             out->devices[p->first_exhausted].device);
  out->transfers = p->transfers;
  out->transfer_bytes = p->transfer_bytes;
  out->compute_ns = p->compute_ns;
  out->transfer_ns = p->transfer_ns;
  out->spill_copies = p->spill_copies;
  out->spill_bytes = p->spill_bytes;
  out->spill_ns = p->spill_ns;
  out->spill_file_bytes = p->spill_file_bytes;
}

// What is to be predicted: |q|'s run in |s|. |run| is a part of |out| and must live as long.
static void predict_args(const ferry_session *s, const fy_ferry_query *q, fy_run_args *run,
                         fy_predict_args *out) {
  *run = (fy_run_args){.feeds = q->feeds,
                       .num_feeds = q->num_feeds,
                       .fetches = q->fetches,
                       .num_fetches = q->num_fetches,
                       .targets = q->targets,
                       .num_targets = q->num_targets};
  *out = (fy_predict_args){.session = s->session,
                           .devices = s->devices,
                           .run = run,
                           .shapes = q->shapes,
                           .batched = q->batched};
}

static fy_code chart(ferry_session *s, const ferry_request *r, ferry_chart what, bool svg,
                     fy_str *out, fy_error *err) {
  const fy_chart_form form = svg ? FY_CHART_SVG : FY_CHART_TEXT;
  if (what == FERRY_CHART_TIME) {
    question q;
    FY_TRY(ask(s, r, NULL, &q, err));
    fy_chart_time(out, q.program, form);
    answered(&q);
    return FY_OK;
  }
  fy_ferry_query q;
  FY_TRY(fy_ferry_query_make(s->graph, r, &q, err));
  fy_run_args run;
  fy_predict_args args;
  predict_args(s, &q, &run, &args);
  fy_sweep *sweep = fy_malloc(sizeof *sweep);
  fy_code code = sweep ? fy_predict_sweep(&args, sweep, err) : fy_fail_oom(err, sizeof *sweep);
  if (!code) fy_chart_batch(out, sweep, form);
  fy_free(sweep);
  fy_ferry_query_free(&q);
  return code;
}

int ferry_memory_chart(ferry_session *s, const ferry_request *r, ferry_chart what, bool svg,
                       char **out, ferry_error *err) {
  fy_error e;
  fy_str text;
  fy_error_init(&e);
  fy_str_init(&text);
  *out = NULL;
  fy_code code = chart(s, r, what, svg, &text, &e);
  if (code)
    fy_str_free(&text);
  else
    code = fy_ferry_text(&text, out, &e);
  return fy_ferry_end(code, &e, err);
}

int ferry_predict(ferry_session *s, const ferry_request *r, ferry_prediction *out,
                  ferry_error *err) {
  fy_error e;
  fy_ferry_query q;
  fy_prediction p;
  fy_error_init(&e);
  memset(out, 0, sizeof *out);
  fy_code code = fy_ferry_query_make(s->graph, r, &q, &e);
  if (!code) {
    fy_run_args run;
    fy_predict_args args;
    predict_args(s, &q, &run, &args);
    code = fy_predict(&args, &p, &e);
    if (!code) hand_over(&p, out);
    fy_ferry_query_free(&q);
  }
  return fy_ferry_end(code, &e, err);
}
