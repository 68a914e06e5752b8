// SPDX-License-Identifier: Apache-2.0
// device_name.c: "/job:localhost/replica:0/task:0/device:GPU:1" and all its shorter forms.

#include "place/device_name.h"

#include <ctype.h>
#include <stdlib.h>
#include <string.h>

static bool starts(const char **p, const char *prefix) {
  size_t n = strlen(prefix);
  if (strncmp(*p, prefix, n) != 0) return false;
  *p += n;
  return true;
}

// [A-Za-z][A-Za-z0-9_]* up to '/' , ':' or the end.
static bool word(const char **p, char *out, size_t cap) {
  size_t n = 0;
  if (!isalpha((unsigned char)**p)) return false;
  while (isalnum((unsigned char)**p) || **p == '_') {
    if (n + 1 >= cap) return false;
    out[n++] = *(*p)++;
  }
  out[n] = 0;
  return **p == 0 || **p == '/' || **p == ':';
}

static bool number(const char **p, int *out) {
  if (!isdigit((unsigned char)**p)) return false;
  long v = 0;
  while (isdigit((unsigned char)**p)) {
    v = v * 10 + (*(*p)++ - '0');
    if (v > 1 << 30) return false;
  }
  *out = (int)v;
  return **p == 0 || **p == '/';
}

static bool star_or_number(const char **p, bool *has, int *out) {
  if (starts(p, "*")) {
    *has = false;
    return **p == 0 || **p == '/';
  }
  *has = true;
  return number(p, out);
}

static bool legacy(const char **p, fy_devname *d) {
  const char *type = NULL;
  if (starts(p, "/cpu:") || starts(p, "/CPU:"))
    type = "CPU";
  else if (starts(p, "/gpu:") || starts(p, "/GPU:"))
    type = "GPU";
  if (!type) return false;
  d->has_type = true;
  strcpy(d->type, type);
  return star_or_number(p, &d->has_id, &d->id);
}

static bool component(const char **p, fy_devname *d) {
  if (starts(p, "/job:")) {
    d->has_job = !starts(p, "*");
    return !d->has_job || (word(p, d->job, sizeof d->job) && **p != ':');
  }
  if (starts(p, "/replica:")) return star_or_number(p, &d->has_replica, &d->replica);
  if (starts(p, "/task:")) return star_or_number(p, &d->has_task, &d->task);
  if (starts(p, "/device:")) {
    d->has_type = !starts(p, "*");
    if (d->has_type && !word(p, d->type, sizeof d->type)) return false;
    if (!starts(p, ":")) {
      d->has_id = false;
      return **p == 0 || **p == '/';
    }
    return star_or_number(p, &d->has_id, &d->id);
  }
  return legacy(p, d);
}

bool fy_devname_parse(const char *text, fy_devname *out) {
  memset(out, 0, sizeof *out);
  if (!text || strcmp(text, "/") == 0) return true;
  const char *p = text;
  while (*p)
    if (!component(&p, out)) return false;
  return true;
}

bool fy_devname_parse_local(const char *text, fy_devname *out) {
  memset(out, 0, sizeof *out);
  const char *p = text;
  if (!text || !word(&p, out->type, sizeof out->type) || !starts(&p, ":")) return false;
  if (strcmp(out->type, "cpu") == 0 || strcmp(out->type, "gpu") == 0)
    for (char *c = out->type; *c; c++) *c = (char)toupper((unsigned char)*c);
  out->has_type = out->has_id = true;
  return number(&p, &out->id) && !*p;
}

void fy_devname_print(fy_str *out, const fy_devname *d) {
  if (d->has_job) fy_str_printf(out, "/job:%s", d->job);
  if (d->has_replica) fy_str_printf(out, "/replica:%d", d->replica);
  if (d->has_task) fy_str_printf(out, "/task:%d", d->task);
  if (!d->has_type) return;
  fy_str_printf(out, "/device:%s:", d->type);
  if (d->has_id)
    fy_str_printf(out, "%d", d->id);
  else
    fy_str_add(out, "*");
}

bool fy_devname_is_specification(const fy_devname *less, const fy_devname *more) {
  return (!less->has_job || (more->has_job && strcmp(less->job, more->job) == 0)) &&
         (!less->has_replica || (more->has_replica && less->replica == more->replica)) &&
         (!less->has_task || (more->has_task && less->task == more->task)) &&
         (!less->has_type || (more->has_type && strcmp(less->type, more->type) == 0)) &&
         (!less->has_id || (more->has_id && less->id == more->id));
}

static fy_code conflict(const char *what, const fy_devname *a, const fy_devname *b, fy_error *err) {
  fy_str sa, sb;
  fy_str_init(&sa);
  fy_str_init(&sb);
  fy_devname_print(&sa, a);
  fy_devname_print(&sb, b);
  fy_fail(err, FY_INVALID_ARGUMENT, "Cannot merge devices with incompatible %s: '%s' and '%s'",
          what, fy_str_text(&sa), fy_str_text(&sb));
  fy_str_free(&sa);
  fy_str_free(&sb);
  return FY_INVALID_ARGUMENT;
}

typedef enum { HARD, SOFT, OVERRIDE } merge_mode;

static fy_code merge(fy_devname *t, const fy_devname *o, merge_mode mode, fy_error *err) {
  if (o->has_job) {
    if (t->has_job && strcmp(t->job, o->job) != 0) return conflict("jobs", t, o, err);
    t->has_job = true;
    strcpy(t->job, o->job);
  }
  if (o->has_replica) {
    if (t->has_replica && t->replica != o->replica) return conflict("replicas", t, o, err);
    t->has_replica = true;
    t->replica = o->replica;
  }
  if (o->has_task) {
    if (t->has_task && t->task != o->task) return conflict("tasks", t, o, err);
    t->has_task = true;
    t->task = o->task;
  }
  if (o->has_type) {
    if (t->has_type && strcmp(t->type, o->type) != 0) {
      if (mode == HARD) return conflict("types", t, o, err);
      if (mode == SOFT) {
        t->has_type = t->has_id = false;
        return FY_OK;
      }
      t->has_id = false;
    }
    t->has_type = true;
    strcpy(t->type, o->type);
  }
  if (o->has_id) {
    if (t->has_id && t->id != o->id) {
      if (mode == HARD) return conflict("ids", t, o, err);
      if (mode == SOFT) {
        t->has_id = false;
        return FY_OK;
      }
    }
    t->has_id = true;
    t->id = o->id;
  }
  return FY_OK;
}

fy_code fy_devname_merge(fy_devname *target, const fy_devname *other, bool soft, fy_error *err) {
  fy_devname t = *target;
  FY_TRY(merge(&t, other, soft ? SOFT : HARD, err));
  *target = t;
  return FY_OK;
}

void fy_devname_merge_override(fy_devname *target, const fy_devname *other) {
  fy_devname t = *target;
  if (merge(&t, other, OVERRIDE, NULL) == FY_OK) *target = t;
}

void fy_devname_merge_unset(fy_devname *t, const fy_devname *o) {
  fy_devname merged = *o;
  fy_devname_ensure(&merged, t);
  *t = merged;
}

void fy_devname_ensure(fy_devname *more, const fy_devname *less) {
  if (less->has_job) {
    more->has_job = true;
    strcpy(more->job, less->job);
  }
  if (less->has_replica) {
    more->has_replica = true;
    more->replica = less->replica;
  }
  if (less->has_task) {
    more->has_task = true;
    more->task = less->task;
  }
  if (less->has_type) {
    more->has_type = true;
    strcpy(more->type, less->type);
  }
  if (less->has_id) {
    more->has_id = true;
    more->id = less->id;
  }
}

bool fy_devname_canonical(const char *text, const char *base, fy_str *out) {
  fy_devname d, b;
  if (!fy_devname_parse(base, &b)) return false;
  if (!fy_devname_parse_local(text, &d) && !fy_devname_parse(text, &d)) return false;
  fy_devname_merge_unset(&d, &b);
  fy_devname_print(out, &d);
  return !out->failed;
}

const char *fy_devname_short(const char *full) {
  const char *at = strstr(full, "/device:");
  return at ? at + strlen("/device:") : full;
}
