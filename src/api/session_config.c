// SPDX-License-Identifier: Apache-2.0
// session_config.c: what a ConfigProto says of one session and fy_options does not hold: filters that must be
// names, an executor that must exist, a name and version that no other open session may have.

#include <string.h>

#include "api/session.h"
#include "base/alloc.h"
#include "place/device_name.h"
#include "wire/config.h"
#include "wire/config_options.h"
#include "wire/text_format.h"

static fy_code check_filters(const Tensorflow__ConfigProto *c, fy_error *err) {
  fy_devname unused;
  for (size_t i = 0; i < c->n_device_filters; i++)
    if (!fy_devname_parse(c->device_filters[i], &unused))
      return fy_fail(err, FY_INVALID_ARGUMENT, "Invalid device filter: %s", c->device_filters[i]);
  return FY_OK;
}

// Nobody minds where there is no GPU that a share could be taken of.
static fy_code check_share(const Tensorflow__ConfigProto *c, const fy_device_set *devices,
                           fy_error *err) {
  for (int i = 0; i < devices->n; i++)
    if (!devices->items[i]->is_host) return fy_wire_config_check_share(c, err);
  return FY_OK;
}

// The text of the metadata is also its key.
static fy_code read_metadata(const Tensorflow__SessionMetadata *m, char **out, fy_error *err) {
  fy_str text;
  fy_str_init(&text);
  fy_wire_text_print(&text, &m->base);
  fy_code code = FY_OK;
  if (m->version < 0)
    code =
        fy_fail(err, FY_INVALID_ARGUMENT,
                "Session version shouldn't be negative: goo.gle/debugstr \n%s", fy_str_text(&text));
  if (!code && !(*out = fy_strdup(fy_str_text(&text)))) code = fy_fail_oom(err, 1);
  fy_str_free(&text);
  return code;
}

static fy_code read_experimental(TF_Session *s, const Tensorflow__ConfigProto__Experimental *e,
                                 fy_error *err) {
  const char *type = e->executor_type;
  if (type && *type && strcmp(type, "DEFAULT") != 0 &&
      strcmp(type, "SINGLE_THREADED_EXECUTOR") != 0 && !(s->executor = fy_strdup(type)))
    return fy_fail_oom(err, strlen(type));
  return e->session_metadata ? read_metadata(e->session_metadata, &s->metadata, err) : FY_OK;
}

fy_code fy_api_session_configure(TF_Session *s, const TF_SessionOptions *o, fy_error *err) {
  if (!o->config_bytes) return FY_OK;
  fy_arena arena;
  Tensorflow__ConfigProto *c;
  fy_arena_init(&arena);
  fy_code code = fy_wire_config_parse(o->config, o->config_bytes, &arena, &c, err);
  if (!code) code = check_filters(c, err);
  if (!code) code = check_share(c, s->devices, err);
  if (!code && c->experimental) code = read_experimental(s, c->experimental, err);
  fy_arena_free(&arena);
  return code;
}

fy_code fy_api_session_no_executor(const TF_Session *s, fy_error *err) {
  return fy_fail(err, FY_NOT_FOUND,
                 "No executor factory registered for the given executor type: %s Registered "
                 "factories are {DEFAULT, , SINGLE_THREADED_EXECUTOR}.",
                 s->executor);
}
