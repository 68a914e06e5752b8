// SPDX-License-Identifier: Apache-2.0
// session_options.c: TF_SessionOptions. The options in effect are kept ready; the bytes too, for
// whoever wants to see them.

#include <string.h>

#include "api/session.h"
#include "base/alloc.h"
#include "wire/config.h"
#include "wire/config_options.h"

TF_SessionOptions *TF_NewSessionOptions(void) {
  TF_SessionOptions *o = fy_calloc(1, sizeof *o);
  if (!o) return NULL;
  fy_options_default(&o->options);
  // A mistake in the environment is told by TF_NewSession, which has a status.
  if (fy_options_environment(&o->options, NULL)) fy_options_default(&o->options);
  return o;
}

void TF_DeleteSessionOptions(TF_SessionOptions *options) {
  if (!options) return;
  fy_free(options->config);
  fy_free(options->target);
  fy_free(options);
}

void TF_SetTarget(TF_SessionOptions *options, const char *target) {
  char *copy = fy_strdup(target ? target : "");
  if (!copy) return;
  fy_free(options->target);
  options->target = copy;
}

static bool is_text(const uint8_t *p, size_t n) {
  for (size_t i = 0; i < n; i++)
    if (p[i] != '\n' && p[i] != '\t' && p[i] != '\r' && (p[i] < ' ' || p[i] > '~')) return false;
  return n > 0;
}

static fy_code parse(const void *proto, size_t n, fy_arena *arena, fy_options *options,
                     fy_error *err) {
  Tensorflow__ConfigProto *config;
  fy_error why;
  fy_error_init(&why);
  fy_code code = n ? fy_wire_config_parse(proto, n, arena, &config, &why) : FY_INVALID_ARGUMENT;
  if (code == FY_INVALID_ARGUMENT) {
    fy_fail(err, code, "Unparseable ConfigProto");
    if (is_text(proto, n)) fy_error_append(err, ": %s", fy_error_text(&why));
    fy_error_clear(&why);
    return code;
  }
  if (code) {
    if (err) fy_error_move(err, &why);
    fy_error_clear(&why);
    return code;
  }
  return fy_wire_config_options(config, options, err);
}

void TF_SetConfig(TF_SessionOptions *options, const void *proto, size_t proto_len,
                  TF_Status *status) {
  fy_error *err = fy_api_begin(status);
  fy_arena arena;
  fy_code code = FY_OK;
  fy_options *fresh = fy_malloc(sizeof *fresh);
  uint8_t *copy = fy_malloc(proto_len);
  fy_arena_init(&arena);
  if (!fresh || !copy) code = fy_fail_oom(err, proto_len);
  if (!code) {
    fy_options_default(fresh);
    if (fy_options_environment(fresh, NULL)) fy_options_default(fresh);
    code = parse(proto, proto_len, &arena, fresh, err);
  }
  if (!code) {
    memcpy(copy, proto, proto_len);
    options->options = *fresh;
    fy_free(options->config);
    options->config = copy;
    options->config_bytes = proto_len;
    copy = NULL;
  }
  fy_free(copy);
  fy_free(fresh);
  fy_arena_free(&arena);
  fy_api_end(status, code);
}
