// SPDX-License-Identifier: Apache-2.0
#include "request.h"

#include <stdlib.h>
#include <string.h>

int cli_request_option(cli_request *q, const cli_command *c, int option, const char *value) {
  switch (option) {
    case 0: cli_list_add(&q->fetch, ",", value); break;
    case 1: cli_list_add(&q->feed, ",", value); break;
    case 2: cli_list_add(&q->shapes, ";", value); break;
    case 3:
      if (!cli_number(value, &q->batch) || q->batch < 1)
        return cli_usage(c, "--batch is a number from 1, not '%s'", value);
      break;
    case 4: q->signature = value; break;
    default: q->tags = value; break;
  }
  return EXIT_OK;
}

// |list| with every name that |values| has as its tensor; "NAME=…" keeps what follows.
static void rename_all(cli_list *list, const char *separator, const ferry_model_value *values,
                       int n) {
  cli_list out = {0};
  char *save = NULL;
  for (char *w = list->text ? strtok_r(list->text, separator, &save) : NULL; w;
       w = strtok_r(NULL, separator, &save)) {
    w += strspn(w, " ");
    size_t len = strcspn(w, "= ");
    const char *tensor = NULL;
    for (int i = 0; i < n; i++)
      if (strlen(values[i].name) == len && memcmp(values[i].name, w, len) == 0)
        tensor = values[i].tensor;
    cli_list item = {0};
    if (tensor) cli_list_add(&item, "", tensor);
    cli_list_add(&item, "", tensor ? w + len : w);
    if (item.text) cli_list_add(&out, separator, item.text);
    out.failed |= item.failed;
    free(item.text);
  }
  out.failed |= list->failed;
  free(list->text);
  *list = out;
}

int cli_request_resolve(cli_request *q, const cli_model *m) {
  ferry_error err;
  const ferry_signature *s;
  bool asked = q->fetch.text != NULL;
  if (!q->signature && strcmp(ferry_model_signature_at(m->model, 0)->name, "default") == 0)
    return EXIT_OK;
  if (ferry_model_signature(m->model, q->signature, &s, &err))
    return asked && !q->signature ? EXIT_OK : cli_fail(NULL, &err);
  rename_all(&q->fetch, ",", s->outputs, s->num_outputs);
  rename_all(&q->feed, ",", s->inputs, s->num_inputs);
  rename_all(&q->shapes, ";", s->inputs, s->num_inputs);
  for (int i = 0; i < s->num_outputs && !asked; i++)
    if (s->outputs[i].tensor) cli_list_add(&q->fetch, ",", s->outputs[i].tensor);
  for (int i = 0; i < s->num_inputs && (!asked || q->signature); i++)
    if (s->inputs[i].tensor) cli_list_add(&q->feed, ",", s->inputs[i].tensor);
  return EXIT_OK;
}

ferry_request cli_request_of(const cli_request *q) {
  return (ferry_request){
      .fetch = q->fetch.text, .feed = q->feed.text, .shapes = q->shapes.text, .batch = q->batch};
}

void cli_request_free(cli_request *q) {
  free(q->fetch.text);
  free(q->feed.text);
  free(q->shapes.text);
}
