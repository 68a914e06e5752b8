// SPDX-License-Identifier: Apache-2.0
// eager_context.c: TFE_Context: options, devices, policies, executors, switches.

#include <string.h>

#include "api/eager.h"
#include "api/explain.h"
#include "api/session.h"
#include "base/alloc.h"
#include "config.pb-c.h"
#include "wire/config.h"
#include "wire/config_options.h"

// ---------------------------------------------------------------- options
TFE_ContextOptions *TFE_NewContextOptions(void) {
  TFE_ContextOptions *o = fy_calloc(1, sizeof *o);
  if (!o) return NULL;
  fy_error_init(&o->error);
  fy_options_default(&o->options.options);
  fy_code code = fy_options_environment(&o->options.options, &o->error);
  (void)code;  // kept in |error|
  o->options.policy = FY_COPY_SILENT;
  o->options.log = fy_api_log_eager;
  o->options.explain = fy_api_explain_call;
  o->options.explain_body = fy_api_explain_program;
  return o;
}

void TFE_ContextOptionsSetConfig(TFE_ContextOptions *options, const void *proto, size_t proto_len,
                                 TF_Status *status) {
  fy_error *err = fy_api_begin(status);
  fy_arena arena;
  fy_arena_init(&arena);
  fy_code code = fy_api_config(proto, proto_len, &arena, &options->options.options, err);
  fy_arena_free(&arena);
  fy_api_end(status, code);
}

void TFE_ContextOptionsSetAsync(TFE_ContextOptions *options, unsigned char enable) {
  options->options.async = enable != 0;
}

void TFE_ContextOptionsSetDevicePlacementPolicy(TFE_ContextOptions *options,
                                                TFE_ContextDevicePlacementPolicy policy) {
  options->options.policy = (fy_copy_policy)policy;
}

void TFE_ContextOptionsSetTfrt(TFE_ContextOptions *options, bool use_tfrt) {
  (void)options;
  (void)use_tfrt;
}

void TFE_DeleteContextOptions(TFE_ContextOptions *options) {
  if (!options) return;
  fy_error_clear(&options->error);
  fy_free(options);
}

// ---------------------------------------------------------------- life
TFE_Context *TFE_NewContext(const TFE_ContextOptions *opts, TF_Status *status) {
  fy_error *err = fy_api_begin(status);
  fy_eager *c = NULL;
  fy_code code = opts->error.code;
  if (code)
    fy_fail(err, code, "%s", fy_error_text(&opts->error));
  else
    code = fy_api_explain_check(&opts->options.options, err);
  if (!code) code = fy_eager_new(&opts->options, &c, err);
  fy_api_end(status, code);
  return fy_api_tfe_context(c);
}

void TFE_DeleteContext(TFE_Context *ctx) {
  if (ctx) fy_eager_close(fy_api_eager(ctx));
}

TF_DeviceList *TFE_ContextListDevices(TFE_Context *ctx, TF_Status *status) {
  fy_error *err = fy_api_begin(status);
  TF_DeviceList *list = fy_api_device_list(fy_eager_devices(fy_api_eager(ctx)), err);
  fy_api_end(status, list ? FY_OK : FY_RESOURCE_EXHAUSTED);
  return list;
}

void TFE_ContextClearCaches(TFE_Context *ctx) {
  fy_eager_clear_caches(fy_api_eager(ctx));
}

uint64_t TFE_GetContextId(TFE_Context *ctx) {
  (void)ctx;
  return 0;  // TensorFlow numbers contexts only once they join a cluster
}

void TFE_HostAddressSpace(TFE_Context *ctx, TF_Buffer *buf) {
  (void)ctx;
  char *text = fy_strdup(FY_HOST_ADDRESS);
  if (text && fy_api_fill_buffer(buf, (uint8_t *)text, strlen(text), NULL)) return;
}

// ---------------------------------------------------------------- policies and switches
void TFE_ContextSetThreadLocalDevicePlacementPolicy(TFE_Context *ctx,
                                                    TFE_ContextDevicePlacementPolicy policy) {
  fy_code code = fy_eager_set_policy(fy_api_eager(ctx), (fy_copy_policy)policy, NULL);
  (void)code;  // no status to tell by
}

TFE_ContextDevicePlacementPolicy TFE_ContextGetDevicePlacementPolicy(TFE_Context *ctx) {
  return (TFE_ContextDevicePlacementPolicy)fy_eager_policy(fy_api_eager(ctx));
}

void TFE_ContextSetSoftDevicePlacement(TFE_Context *ctx, unsigned char enable, TF_Status *status) {
  fy_api_begin(status);
  fy_eager_set_soft(fy_api_eager(ctx), enable != 0);
}

void TFE_ContextSetLogDevicePlacement(TFE_Context *ctx, unsigned char enable, TF_Status *status) {
  fy_api_begin(status);
  fy_eager_set_log(fy_api_eager(ctx), enable != 0);
}

void TFE_ContextSetRunEagerOpAsFunction(TFE_Context *ctx, unsigned char enable, TF_Status *status) {
  fy_api_begin(status);
  fy_eager_set_as_function(fy_api_eager(ctx), enable != 0);
}

void TFE_ContextSetJitCompileRewrite(TFE_Context *ctx, unsigned char enable, TF_Status *status) {
  (void)ctx;
  (void)enable;
  fy_api_begin(status);  // there is no such compiler
}

void TFE_SetLogicalCpuDevices(TFE_Context *ctx, int num_cpus, const char *prefix,
                              TF_Status *status) {
  (void)prefix;
  fy_error *err = fy_api_begin(status);
  fy_api_end(status, fy_eager_set_cpus(fy_api_eager(ctx), num_cpus, err));
}

// ---------------------------------------------------------------- steps and metadata
void TFE_ContextStartStep(TFE_Context *ctx) {
  fy_eager_step(fy_api_eager(ctx), true);
}

void TFE_ContextEndStep(TFE_Context *ctx) {
  fy_eager_step(fy_api_eager(ctx), false);
}

// TensorFlow's own eager run metadata is empty unless remote or traced functions ran.
void TFE_ContextEnableRunMetadata(TFE_Context *ctx) {
  (void)ctx;
}
void TFE_ContextDisableRunMetadata(TFE_Context *ctx) {
  (void)ctx;
}
void TFE_ContextEnableGraphCollection(TFE_Context *ctx) {
  (void)ctx;
}
void TFE_ContextDisableGraphCollection(TFE_Context *ctx) {
  (void)ctx;
}

void TFE_ContextExportRunMetadata(TFE_Context *ctx, TF_Buffer *buf, TF_Status *status) {
  fy_error *err = fy_api_begin(status);
  Tensorflow__RunMetadata metadata;
  tensorflow__run_metadata__init(&metadata);
  fy_code code = fy_eager_wait(fy_api_eager(ctx), err);
  if (!code) code = fy_api_message_to_buffer(&metadata.base, buf, err);
  fy_api_end(status, code);
}

void TFE_GetExecutedOpNames(TFE_Context *ctx, TF_Buffer *buf, TF_Status *status) {
  (void)ctx;
  fy_error *err = fy_api_begin(status);
  uint8_t *empty = fy_malloc(1);
  fy_code code = empty ? fy_api_fill_buffer(buf, empty, 0, err) : fy_fail_oom(err, 1);
  fy_api_end(status, code);
}

// ---------------------------------------------------------------- executors
static fy_executor *executor_of(TFE_Executor *e) {
  return (fy_executor *)e;
}

TFE_Executor *TFE_NewExecutor(bool is_async, bool enable_streaming_enqueue, int limit) {
  (void)enable_streaming_enqueue;
  (void)limit;
  return (TFE_Executor *)fy_executor_new(is_async);
}

void TFE_DeleteExecutor(TFE_Executor *executor) {
  fy_executor_release(executor_of(executor));
}

bool TFE_ExecutorIsAsync(TFE_Executor *executor) {
  return fy_executor_is_async(executor_of(executor));
}

void TFE_ExecutorWaitForAllPendingNodes(TFE_Executor *executor, TF_Status *status) {
  fy_error *err = fy_api_begin(status);
  fy_api_end(status, fy_executor_wait(executor_of(executor), err));
}

void TFE_ExecutorClearError(TFE_Executor *executor) {
  fy_executor_clear_error(executor_of(executor));
}

void TFE_ContextSetExecutorForThread(TFE_Context *ctx, TFE_Executor *executor) {
  fy_code code = fy_eager_set_executor(fy_api_eager(ctx), executor_of(executor), NULL);
  (void)code;  // no status to tell by
}

TFE_Executor *TFE_ContextGetExecutorForThread(TFE_Context *ctx) {
  return (TFE_Executor *)fy_eager_get_executor(fy_api_eager(ctx));
}

void TFE_ContextAsyncWait(TFE_Context *ctx, TF_Status *status) {
  fy_error *err = fy_api_begin(status);
  fy_api_end(status, fy_eager_wait(fy_api_eager(ctx), err));
}

// ---------------------------------------------------------------- cancellation
static fy_cancel *cancel_of(TFE_CancellationManager *m) {
  return (fy_cancel *)m;
}

TFE_CancellationManager *TFE_NewCancellationManager(void) {
  return (TFE_CancellationManager *)fy_cancel_new();
}

bool TFE_CancellationManagerIsCancelled(TFE_CancellationManager *manager) {
  return fy_cancel_requested(cancel_of(manager));
}

bool TFE_CancellationManagerIsCancelling(TFE_CancellationManager *manager) {
  return fy_cancel_in_progress(cancel_of(manager));
}

void TFE_CancellationManagerStartCancel(TFE_CancellationManager *manager) {
  fy_cancel_start(cancel_of(manager));
}

TFE_CancellationToken TFE_CancellationManagerGetToken(TFE_CancellationManager *manager) {
  return fy_cancel_token(cancel_of(manager));
}

bool TFE_CancellationManagerRegisterCallback(TFE_CancellationManager *manager,
                                             TFE_CancellationToken token,
                                             const TFE_CancelCallback *c_callback,
                                             const char *callback_name) {
  (void)callback_name;
  return fy_cancel_register(cancel_of(manager), token, c_callback->callback, c_callback->context);
}

bool TFE_CancellationManagerDeregisterCallback(TFE_CancellationManager *manager,
                                               TFE_CancellationToken token) {
  return fy_cancel_deregister(cancel_of(manager), token);
}

bool TFE_CancellationManagerTryDeregisterCallback(TFE_CancellationManager *manager,
                                                  TFE_CancellationToken token) {
  return fy_cancel_try_deregister(cancel_of(manager), token);
}

void TFE_DeleteCancellationManager(TFE_CancellationManager *manager) {
  fy_cancel_free(cancel_of(manager));
}

void TFE_OpSetCancellationManager(TFE_Op *op, TFE_CancellationManager *manager, TF_Status *status) {
  fy_api_begin(status);
  fy_api_op(op)->cancel = cancel_of(manager);
}
