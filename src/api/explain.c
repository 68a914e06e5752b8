// SPDX-License-Identifier: Apache-2.0
// explain.c: what a compiled program or an eager call would answer, added to the file of the option
// explain. A program is compiled once more for it, with the log of its rewrites, and not kept.

#include "api/explain.h"

#include <errno.h>
#include <fcntl.h>
#include <string.h>
#include <unistd.h>

#include "api/session.h"
#include "base/alloc.h"
#include "observe/eager_report.h"
#include "observe/report.h"

static bool to_stderr(const char *path) {
  return strcmp(path, "stderr") == 0;
}

static bool as_json(const char *path) {
  const size_t n = strlen(path);
  return n > 5 && strcmp(path + n - 5, ".json") == 0;
}

static int open_file(const char *path) {
  return open(path, O_WRONLY | O_APPEND | O_CREAT | O_CLOEXEC, 0666);
}

fy_code fy_api_explain_check(const fy_options *o, fy_error *err) {
  if (!o->explain[0] || to_stderr(o->explain)) return FY_OK;
  int fd = open_file(o->explain);
  if (fd < 0)
    return fy_fail(err, FY_INVALID_ARGUMENT, "option 'explain': '%s' cannot be written: %s",
                   o->explain, strerror(errno));
  close(fd);
  return FY_OK;
}

// In one piece, so that what several threads say is not mixed.
static void add_to(const char *path, const fy_str *text) {
  if (text->failed) return;
  if (to_stderr(path)) {
    fy_api_log_error(fy_str_text(text));
    return;
  }
  int fd = open_file(path);
  if (fd < 0) return;
  for (size_t at = 0; at < text->len;) {
    ssize_t n = write(fd, text->p + at, text->len - at);
    if (n < 0 && errno == EINTR) continue;
    if (n <= 0) break;
    at += (size_t)n;
  }
  close(fd);
}

#define MAX_NAMES 4

// Names of what was asked for, the first few, then what it was called with.
static void print_title(fy_str *out, const fy_compiled *c) {
  const int n = c->num_fetches + c->num_targets;
  if (c->graph->body_of)
    fy_str_printf(out, "== The function %s", c->graph->body_of);
  else
    fy_str_add(out, "== A request for ");
  for (int i = 0; i < n && i < MAX_NAMES && !c->graph->body_of; i++) {
    const bool fetch = i < c->num_fetches;
    fy_str_printf(out, "%s%s", i ? ", " : "",
                  (fetch ? c->fetches[i].node : c->targets[i - c->num_fetches])->name);
    if (fetch && c->fetches[i].index) fy_str_printf(out, ":%d", (int)c->fetches[i].index);
  }
  if (n > MAX_NAMES && !c->graph->body_of) fy_str_printf(out, " and %d more", n - MAX_NAMES);
  for (int i = 0; i < c->num_feeds; i++) {
    char shape[128];
    fy_str_printf(out, "%s%s %s", i ? ", " : ", given ", fy_dtype_name(c->args[i]->dtype),
                  fy_shape_text(c->args[i]->rank, c->args[i]->dims, shape));
  }
  fy_str_add(out, "\n\n");
}

static fy_code explain(const fy_options *options, const fy_compiled *c, fy_str *out,
                       fy_error *err) {
  fy_program *program = NULL;
  fy_report report;
  fy_str log;
  fy_pshape *shapes = fy_calloc((size_t)c->num_feeds + 1, sizeof *shapes);
  int *spaces = fy_calloc((size_t)c->num_feeds + 1, sizeof *spaces);
  fy_code code = shapes && spaces ? FY_OK : fy_fail_oom(err, sizeof *shapes);
  for (int i = 0; !code && i < c->num_feeds; i++) {
    const fy_tensor *t = c->args[i];
    shapes[i] = (fy_pshape){t->rank, t->dims};
    spaces[i] = t->device ? t->device->ordinal + 1 : 0;
  }
  fy_str_init(&log);
  if (!code)
    code = fy_callable_explain(c->callable, shapes, spaces, NULL, NULL, &log, &program, err);
  if (!code) {
    const fy_run_args run = {.feeds = c->feeds,
                             .num_feeds = c->num_feeds,
                             .fetches = c->fetches,
                             .num_fetches = c->num_fetches,
                             .targets = c->targets,
                             .num_targets = c->num_targets};
    const fy_report_args args = {.graph = c->graph,
                                 .run = &run,
                                 .shapes = shapes,
                                 .program = program,
                                 .log = fy_str_text(&log)};
    code = fy_report_make(&args, &report, err);
    if (!code && as_json(options->explain)) {
      fy_report_json(out, &report);
    } else if (!code) {
      print_title(out, c);
      fy_report_text(out, &report, 0);
      fy_str_addc(out, '\n');
    }
    if (!code) fy_report_free(&report);
  }
  fy_program_release(program);
  fy_str_free(&log);
  fy_free(spaces);
  fy_free(shapes);
  return code;
}

void fy_api_explain_program(const fy_options *options, const fy_compiled *compiled) {
  fy_error err;
  fy_str text;
  fy_error_init(&err);
  fy_str_init(&text);
  if (explain(options, compiled, &text, &err)) {
    text.len = 0;
    fy_str_printf(&text, "== A program could not be explained: %s\n", fy_error_text(&err));
  }
  add_to(options->explain, &text);
  fy_str_free(&text);
  fy_error_clear(&err);
}

static void log_placement(const fy_program *p) {
  fy_str line;
  fy_str_init(&line);
  for (size_t i = 0; i < p->graph->num_nodes; i++) {
    const fy_node *n = p->graph->nodes[i];
    if (!n) continue;
    line.len = 0;
    fy_str_printf(&line, "%s: (%s): %s", n->name, n->op_name, p->placement->nodes[i].device->name);
    if (!line.failed) fy_api_log(line.p);
  }
  fy_str_free(&line);
}

fy_code fy_api_watch(fy_session *s, fy_error *err) {
  const fy_options *o = fy_session_options(s);
  FY_TRY(fy_api_explain_check(o, err));
  if (o->explain[0]) fy_session_explain_to(s, fy_api_explain_program);
  if (o->log_placement) fy_session_watch(s, log_placement);
  return FY_OK;
}

void fy_api_explain_call(const fy_options *options, const fy_eager_call *call) {
  fy_str text;
  fy_str_init(&text);
  fy_eager_report_line(&text, call, as_json(options->explain));
  add_to(options->explain, &text);
  fy_str_free(&text);
}
