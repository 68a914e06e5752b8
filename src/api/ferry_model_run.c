// SPDX-License-Identifier: Apache-2.0
// ferry_model_run.c: call a signature of a model by the names of its inputs and outputs.

#include <string.h>

#include "api/ferry_model.h"
#include "base/alloc.h"

int ferry_model_signature_count(const ferry_model *m) {
  return m->num_signatures;
}

const ferry_signature *ferry_model_signature_at(const ferry_model *m, int index) {
  return index >= 0 && index < m->num_signatures ? &m->signatures[index] : NULL;
}

// ------------------------------------------------------------------ finding
static void list_signatures(fy_str *out, const ferry_model *m) {
  for (int i = 0; i < m->num_signatures; i++)
    fy_str_printf(out, "%s%s", i ? ", " : "", m->signatures[i].name);
}

static fy_code no_signature(const ferry_model *m, const char *name, fy_error *err) {
  const char **names = fy_malloc(((size_t)m->num_signatures + 1) * sizeof *names);
  fy_str have;
  fy_str_init(&have);
  for (int i = 0; names && i < m->num_signatures; i++) names[i] = m->signatures[i].name;
  const char *near = names && name ? fy_nearest(name, names, (size_t)m->num_signatures) : NULL;
  list_signatures(&have, m);
  if (name)
    fy_fail(err, FY_NOT_FOUND, "the model has no signature '%s'%s%s%s; it has: %s", name,
            near ? " (did you mean '" : "", near ? near : "", near ? "'?)" : "",
            fy_str_text(&have));
  else
    fy_fail(err, FY_INVALID_ARGUMENT,
            "the model has no signature 'serving_default': say which one of %s",
            fy_str_text(&have));
  fy_str_free(&have);
  fy_free((void *)names);
  return name ? FY_NOT_FOUND : FY_INVALID_ARGUMENT;
}

static fy_code find_signature(const ferry_model *m, const char *name, int *out, fy_error *err) {
  const char *wanted = name ? name : "serving_default";
  for (*out = 0; *out < m->num_signatures; ++*out)
    if (strcmp(m->signatures[*out].name, wanted) == 0) return FY_OK;
  if (!name && m->num_signatures == 1) {
    *out = 0;
    return FY_OK;
  }
  return no_signature(m, name, err);
}

int ferry_model_signature(const ferry_model *m, const char *name, const ferry_signature **out,
                          ferry_error *err) {
  fy_error e;
  int index;
  fy_error_init(&e);
  fy_code code = find_signature(m, name, &index, &e);
  *out = code ? NULL : &m->signatures[index];
  return fy_ferry_end(code, &e, err);
}

// ------------------------------------------------------------------ values
static void describe(fy_str *out, const ferry_model_value *v) {
  fy_str_printf(out, "'%s': %s", v->name, fy_dtype_name((fy_dtype)v->dtype));
  if (v->rank >= 0) fy_shape_print(out, v->rank, v->dims);
}

static fy_code no_value(const ferry_signature *s, const ferry_model_value *values, int n,
                        const char *what, const char *name, fy_error *err) {
  const char **names = fy_malloc(((size_t)n + 1) * sizeof *names);
  fy_str have;
  fy_str_init(&have);
  for (int i = 0; i < n; i++) {
    if (names) names[i] = values[i].name;
    fy_str_add(&have, i ? ", " : "");
    describe(&have, &values[i]);
  }
  const char *near = names ? fy_nearest(name, names, (size_t)n) : NULL;
  fy_fail(err, FY_INVALID_ARGUMENT, "signature '%s' has no %s '%s'%s%s%s; it has %s", s->name, what,
          name, near ? " (did you mean '" : "", near ? near : "", near ? "'?)" : "",
          n ? fy_str_text(&have) : "none");
  fy_str_free(&have);
  fy_free((void *)names);
  return FY_INVALID_ARGUMENT;
}

static fy_code find_value(const ferry_signature *s, bool input, const char *name, int *out,
                          fy_error *err) {
  const ferry_model_value *v = input ? s->inputs : s->outputs;
  int n = input ? s->num_inputs : s->num_outputs;
  for (*out = 0; *out < n; ++*out)
    if (strcmp(v[*out].name, name) == 0) break;
  if (*out == n) return no_value(s, v, n, input ? "input" : "output", name, err);
  if (!v[*out].tensor)
    return fy_fail(err, FY_UNIMPLEMENTED,
                   "%s '%s' of signature '%s' is a sparse or composite tensor: its parts must be "
                   "fed or fetched by the names of the graph",
                   input ? "input" : "output", name, s->name);
  return FY_OK;
}

static fy_code check_input(const ferry_signature *s, const ferry_model_value *v, const fy_tensor *t,
                           fy_error *err) {
  bool fits = t && (int)t->dtype == v->dtype && (v->rank < 0 || v->rank == t->rank);
  for (int i = 0; fits && i < v->rank; i++) fits = v->dims[i] < 0 || v->dims[i] == t->dims[i];
  if (fits) return FY_OK;
  char shape[128];
  fy_str want;
  fy_str_init(&want);
  describe(&want, v);
  fy_fail(err, FY_INVALID_ARGUMENT, "signature '%s' takes %s, but %s%s was given", s->name,
          fy_str_text(&want), t ? fy_dtype_name(t->dtype) : "NULL",
          t ? fy_shape_text(t->rank, t->dims, shape) : "");
  fy_str_free(&want);
  return FY_INVALID_ARGUMENT;
}

// ------------------------------------------------------------------ running
typedef struct call {
  const ferry_model *m;
  const ferry_signature *s;
  fy_output *feeds, *fetches;
  fy_tensor **values;
  int num_feeds;
} call;

static fy_code add_feed(call *c, const ferry_model_value *v, fy_tensor *t, fy_error *err) {
  FY_TRY(fy_ferry_find(c->m->graph, fy_view_of(v->tensor), &c->feeds[c->num_feeds], err));
  c->values[c->num_feeds++] = t;
  return FY_OK;
}

static fy_code resolve_inputs(call *c, int index, int n, const char *const *names,
                              ferry_tensor *const *inputs, fy_arena *a, fy_error *err) {
  const ferry_signature *s = c->s;
  bool *given = fy_arena_array(a, (size_t)s->num_inputs + 1, sizeof *given);
  if (!given) return fy_fail_oom(err, (size_t)s->num_inputs);
  for (int i = 0; i < n; i++) {
    int k;
    FY_TRY(find_value(s, true, names[i], &k, err));
    if (given[k]) return fy_fail(err, FY_INVALID_ARGUMENT, "input '%s' is given twice", names[i]);
    given[k] = true;
    FY_TRY(check_input(s, &s->inputs[k], fy_ferry_tensor(inputs[i]), err));
    FY_TRY(add_feed(c, &s->inputs[k], fy_ferry_tensor(inputs[i]), err));
  }
  fy_str want;
  fy_str_init(&want);
  for (int k = 0; k < s->num_inputs; k++) {
    if (given[k] || strcmp(s->name, "default") == 0) continue;  // a graph may not need them all
    fy_tensor *t = c->m->defaults[index] ? c->m->defaults[index][k] : NULL;
    if (t) {
      const fy_code code = add_feed(c, &s->inputs[k], t, err);
      if (!code) continue;
      fy_str_free(&want);
      return code;
    }
    if (want.len) fy_str_add(&want, ", ");
    describe(&want, &s->inputs[k]);
  }
  const fy_code code =
      want.len ? fy_fail(err, FY_INVALID_ARGUMENT, "signature '%s' %sneeds its input%s %s", s->name,
                         n ? "also " : "", strstr(fy_str_text(&want), ", '") ? "s" : "",
                         fy_str_text(&want))
               : FY_OK;
  fy_str_free(&want);
  return code;
}

static fy_code resolve_outputs(call *c, int n, const char *const *names, fy_error *err) {
  if (!names && n != c->s->num_outputs)
    return fy_fail(err, FY_INVALID_ARGUMENT, "signature '%s' has %d outputs, not %d", c->s->name,
                   c->s->num_outputs, n);
  for (int i = 0; i < n; i++) {
    int k = i;
    FY_TRY(find_value(c->s, false, names ? names[i] : c->s->outputs[i].name, &k, err));
    FY_TRY(fy_ferry_find(c->m->graph, fy_view_of(c->s->outputs[k].tensor), &c->fetches[i], err));
  }
  return FY_OK;
}

int ferry_model_run(ferry_model *m, const char *signature, int num_inputs,
                    const char *const *input_names, ferry_tensor *const *inputs, int num_outputs,
                    const char *const *output_names, ferry_tensor **results, int64_t timeout_ms,
                    ferry_error *err) {
  fy_error e;
  fy_arena a;
  call c = {.m = m};
  int index = 0;
  fy_error_init(&e);
  fy_arena_init(&a);
  for (int i = 0; i < num_outputs; i++) results[i] = NULL;
  fy_code code = num_inputs < 0 || num_outputs < 0
                     ? fy_fail(&e, FY_INVALID_ARGUMENT, "a negative number of inputs or outputs")
                     : find_signature(m, signature, &index, &e);
  if (!code) {
    c.s = &m->signatures[index];
    size_t feeds = (size_t)num_inputs + (size_t)c.s->num_inputs + 1;
    c.feeds = fy_arena_array(&a, feeds, sizeof *c.feeds);
    c.values = fy_arena_array(&a, feeds, sizeof *c.values);
    c.fetches = fy_arena_array(&a, (size_t)num_outputs + 1, sizeof *c.fetches);
    if (!c.feeds || !c.values || !c.fetches) code = fy_fail_oom(&e, feeds * sizeof *c.feeds);
  }
  if (!code) {
    fy_lock(&m->graph->lock);
    code = resolve_inputs(&c, index, num_inputs, input_names, inputs, &a, &e);
    if (!code) code = resolve_outputs(&c, num_outputs, output_names, &e);
    fy_unlock(&m->graph->lock);
  }
  if (!code) {
    fy_run_args args = {.feeds = c.feeds,
                        .feed_values = c.values,
                        .num_feeds = c.num_feeds,
                        .fetches = c.fetches,
                        .num_fetches = num_outputs,
                        .timeout_ms = timeout_ms};
    code = fy_session_run(m->session->session, &args, (fy_tensor **)results, &e);
  }
  fy_arena_free(&a);
  return fy_ferry_end(code, &e, err);
}
