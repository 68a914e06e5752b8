// SPDX-License-Identifier: Apache-2.0
// session_options.c: TF_SessionOptions. The options in effect are kept ready; the bytes too, for
// whoever wants to see them.

#include <string.h>

#include "api/session.h"
#include "base/alloc.h"
#include "tensorflow/c/c_api_experimental.h"
#include "wire/config.h"
#include "wire/config_options.h"
#include "wire/proto_util.h"

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

fy_code fy_api_config(const void *proto, size_t n, fy_arena *arena, fy_options *options,
                      fy_error *err) {
  Tensorflow__ConfigProto *config;
  if (!n) return FY_OK;
  fy_code code = fy_wire_config_parse(proto, n, arena, &config, err);
  if (code == FY_INVALID_ARGUMENT) fy_error_prepend(err, "Unparseable ConfigProto: ");
  return code ? code : fy_wire_config_options(config, options, err);
}

void TF_SetConfig(TF_SessionOptions *options, const void *proto, size_t proto_len,
                  TF_Status *status) {
  fy_error why, *err = &why;
  fy_error_init(&why);
  fy_arena arena;
  fy_code code = FY_OK;
  fy_options *fresh = fy_malloc(sizeof *fresh);
  uint8_t *copy = fy_malloc(proto_len);
  fy_arena_init(&arena);
  if (!fresh || !copy) code = fy_fail_oom(err, proto_len);
  if (!code) {
    fy_options_default(fresh);
    if (fy_options_environment(fresh, NULL)) fy_options_default(fresh);
    code = fy_api_config(proto, proto_len, &arena, fresh, err);
  }
  if (!code) {
    if (proto_len) memcpy(copy, proto, proto_len);
    options->options = *fresh;
    fy_free(options->config);
    options->config = copy;
    options->config_bytes = proto_len;
    copy = NULL;
  }
  fy_free(copy);
  fy_free(fresh);
  fy_arena_free(&arena);
  if (code)
    fy_api_status(status, code, err);  // success leaves the status as it was, as in TensorFlow
  fy_error_clear(&why);
}

// ------------------------------------------------------------------ ready-made messages
static TF_Buffer *make_config(bool xla, bool growth, unsigned cpus, fy_arena *arena) {
  Tensorflow__ConfigProto *c = fy_wire_new(&tensorflow__config_proto__descriptor, arena);
  Tensorflow__GraphOptions *g = fy_wire_new(&tensorflow__graph_options__descriptor, arena);
  Tensorflow__OptimizerOptions *o = fy_wire_new(&tensorflow__optimizer_options__descriptor, arena);
  Tensorflow__GPUOptions *gpu = fy_wire_new(&tensorflow__gpuoptions__descriptor, arena);
  Tensorflow__ConfigProto__DeviceCountEntry *count =
      fy_wire_new(&tensorflow__config_proto__device_count_entry__descriptor, arena);
  if (!c || !g || !o || !gpu || !count) return NULL;
  o->global_jit_level = xla ? TENSORFLOW__OPTIMIZER_OPTIONS__GLOBAL_JIT_LEVEL__ON_1
                            : TENSORFLOW__OPTIMIZER_OPTIONS__GLOBAL_JIT_LEVEL__OFF;
  g->optimizer_options = o;
  gpu->allow_growth = growth;
  static char cpu[] = "CPU";
  count->key = cpu;
  count->value = (int32_t)cpus;
  // A map's value is written even when it is zero; protobuf-c would leave it out.
  ProtobufCMessageUnknownField zero = {
      .tag = 2, .wire_type = PROTOBUF_C_WIRE_TYPE_VARINT, .len = 1, .data = (uint8_t[]){0}};
  if (cpus == 0) {
    count->base.n_unknown_fields = 1;
    count->base.unknown_fields = &zero;
  }
  c->graph_options = g;
  c->gpu_options = gpu;
  c->device_count = &count;
  c->n_device_count = 1;
  c->inter_op_parallelism_threads = 1;
  return fy_api_new_message_buffer(&c->base, NULL);
}

TF_Buffer *TF_CreateConfig(unsigned char enable_xla_compilation,
                           unsigned char gpu_memory_allow_growth, unsigned int num_cpu_devices) {
  fy_arena arena;
  fy_arena_init(&arena);
  TF_Buffer *b = make_config(enable_xla_compilation != 0, gpu_memory_allow_growth != 0,
                             num_cpu_devices, &arena);
  fy_arena_free(&arena);
  return b;
}

TF_Buffer *TF_CreateRunOptions(unsigned char enable_full_trace) {
  Tensorflow__RunOptions o = TENSORFLOW__RUN_OPTIONS__INIT;
  if (enable_full_trace) o.trace_level = TENSORFLOW__RUN_OPTIONS__TRACE_LEVEL__FULL_TRACE;
  return fy_api_new_message_buffer(&o.base, NULL);
}
