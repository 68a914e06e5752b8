// SPDX-License-Identifier: Apache-2.0
// test_device_sim.c: the simulated GPU: protected memory, exact virtual time, what it lacks,
// limits, and faults at every N.

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

#include "base/alloc.h"
#include "devices/devices.h"
#include "devices/sim/sim.h"
#include "memory/pool.h"
#include "ops/op.h"

#define MIB ((size_t)1 << 20)

static fy_device_set *open_set(const char *sim) {
  fy_options o;
  fy_error err;
  fy_device_set *set = NULL;
  fy_error_init(&err);
  fy_options_default(&o);
  if (fy_options_sim(&o, sim, &err) || fy_devices_open(&o, &set, &err)) {
    fail_msg("%s: %s", sim, fy_error_text(&err));
  }
  return set;
}

// --- an op of our own: y = x + scalar (a host argument), through scratch, on request also a view
// ---

static fy_code add_scalar(fy_kernel_ctx *ctx, fy_error *err) {
  fy_tensor *x = ctx->in[0], *y;
  void *scratch;
  FY_TRY(fy_out_like(ctx, 0, x, &y, err));
  FY_TRY(fy_scratch(ctx, fy_tensor_bytes(x), &scratch, err));
  float by = *(const float *)ctx->in[1]->data;
  for (int64_t i = 0; i < x->count; i++) ((float *)scratch)[i] = ((const float *)x->data)[i] + by;
  if (x->count) memcpy(y->data, scratch, fy_tensor_bytes(x));
  return FY_OK;
}

static fy_code pass_through(fy_kernel_ctx *ctx, fy_error *err) {
  (void)err;
  fy_tensor_retain(ctx->in[0]);
  fy_out_set(ctx, 0, ctx->in[0]);
  return FY_OK;
}

static fy_code keep_in_variable(fy_kernel_ctx *ctx, fy_error *err) {
  fy_tensor *fresh, storage;
  FY_TRY(ctx->svc->allocate(ctx, FY_FLOAT, ctx->in[0]->rank, ctx->in[0]->dims, &fresh, err));
  fy_tensor *view = ctx->svc->view(ctx, fresh, &storage);
  memcpy(view->data, ctx->in[0]->data, fy_tensor_bytes(ctx->in[0]));
  fy_out_set(ctx, 0, fresh);
  return FY_OK;
}

static fy_code fails_midway(fy_kernel_ctx *ctx, fy_error *err) {
  fy_tensor *y;
  FY_TRY(fy_out_like(ctx, 0, ctx->in[0], &y, err));
  return fy_fail(err, FY_INVALID_ARGUMENT, "midway");
}

static void known_cost(const fy_site *site, const fy_pshape *in, const fy_pshape *out,
                       fy_cost *cost) {
  (void)site, (void)out;
  cost->flops = 1000.0 * (double)in[0].dims[0];
  cost->bytes = 8.0 * (double)in[0].dims[0];
}

static const fy_arg_spec add_in[] = {{.name = "x", .type = FY_FLOAT},
                                     {.name = "by", .type = FY_FLOAT}};
static const fy_arg_spec add_out[] = {{.name = "y", .type = FY_FLOAT}};
static const fy_op_spec add_spec = {
    .name = "AddScalar", .inputs = add_in, .outputs = add_out, .num_inputs = 2, .num_outputs = 1};
static const fy_op_impl add_impl = {.name = "AddScalar", .compute = add_scalar, .host_inputs = 2};
static const fy_op_impl cost_impl = {
    .name = "AddScalar", .compute = add_scalar, .host_inputs = 2, .cost = known_cost};
static const fy_op_impl pass_impl = {.name = "AddScalar", .compute = pass_through};
static const fy_op_impl keep_impl = {.name = "AddScalar", .compute = keep_in_variable};
static const fy_op_impl fail_impl = {.name = "AddScalar", .compute = fails_midway};

static fy_code outer_output(fy_kernel_ctx *ctx, int i, int32_t rank, const int64_t *dims,
                            fy_error *err) {
  fy_tensor *t;
  FY_TRY(fy_memory_tensor(ctx->site->device, ctx->site->out_types[i], rank, dims,
                          ctx->site->node_name, &t, err));
  fy_out_set(ctx, i, t);
  return FY_OK;
}
static const fy_services outer_services = {.output = outer_output};

static fy_code launch(fy_device *d, const fy_op_impl *impl, fy_tensor *x, fy_tensor **out,
                      const fy_event *after, int n, fy_event *done, fy_error *err) {
  static const fy_dtype in_types[] = {FY_FLOAT, FY_FLOAT};
  static const fy_attrs none = {0};
  fy_op op = {.spec = &add_spec, .impl = impl};
  float by = 10;
  fy_tensor scalar;
  fy_tensor_init(&scalar);
  scalar.dtype = FY_FLOAT;
  scalar.count = 1;
  scalar.data = &by;
  fy_tensor *in[] = {x, &scalar};
  bool owned = false;
  fy_site site = {.op = &op,
                  .attrs = &none,
                  .node_name = "node",
                  .num_inputs = 2,
                  .num_outputs = 1,
                  .in_types = in_types,
                  .out_types = in_types,
                  .device = d};
  fy_kernel_ctx ctx = {.site = &site,
                       .svc = &outer_services,
                       .in = in,
                       .out = out,
                       .out_owned = &owned,
                       .threads = 1};
  fy_code code = (fy_code)d->ops->launch(d, &ctx, after, n, done, err);
  if (code && owned) {
    fy_tensor_release(*out);
    *out = NULL;
  }
  return code;
}

static fy_tensor *to_device(fy_device *d, int64_t n) {
  fy_tensor *host, *t;
  assert_int_equal(fy_tensor_new(FY_FLOAT, 1, &n, &host, NULL), FY_OK);
  for (int64_t i = 0; i < n; i++) ((float *)host->data)[i] = (float)i;
  fy_error err;
  fy_error_init(&err);
  if (fy_memory_copy_tensor(host, d, &t, &err)) fail_msg("%s", fy_error_text(&err));
  fy_tensor_release(host);
  return t;
}

static void check_values(fy_tensor *t, float by) {
  fy_tensor *back;
  assert_int_equal(fy_memory_copy_tensor(t, NULL, &back, NULL), FY_OK);
  for (int64_t i = 0; i < back->count; i++) assert_true(((float *)back->data)[i] == (float)i + by);
  fy_tensor_release(back);
}

// --- tests ---

static void names(void **state) {
  (void)state;
  fy_options o;
  fy_device_set *set;
  fy_options_default(&o);
  assert_int_equal(fy_devices_open(&o, &set, NULL), FY_OK);
  assert_int_equal(set->n, 1);  // nothing is simulated unless asked for
  fy_devices_unref(set);
  set = open_set("gpu:3,memory=64MiB");
  assert_int_equal(set->n, 4);
  assert_string_equal(set->items[3]->name, "/job:localhost/replica:0/task:0/device:GPU:2");
  assert_ptr_equal(set->client, set->items[0]);
  for (int i = 0; i < set->n; i++) {
    assert_int_equal(set->items[i]->ordinal, i);
    assert_true(set->items[i]->incarnation != 0);
    assert_ptr_equal(fy_devices_find(set, set->items[i]->name), set->items[i]);
  }
  assert_ptr_equal(fy_devices_find(set, "GPU:1"), set->items[2]);
  assert_ptr_equal(fy_devices_find(set, "/device:GPU:0"), set->items[1]);
  assert_ptr_equal(fy_devices_find(set, "/gpu:0"), set->items[1]);
  assert_null(fy_devices_find(set, "GPU:3"));
  assert_null(fy_devices_find(set, "nonsense"));
  assert_true(set->items[1]->facts.simulated && !set->items[0]->facts.simulated);
  assert_non_null(strstr(set->items[1]->facts.description, "simulated"));
  assert_int_equal(set->items[1]->facts.memory_limit, 64 * MIB);
  assert_ptr_equal(fy_devices_ref(set), set);
  fy_devices_unref(set);
  fy_devices_unref(set);
  const char *preload = getenv("LD_PRELOAD");
  bool valgrind = preload && strstr(preload, "vgpreload");  // vendors' libraries upset it
  for (size_t i = 0; i < fy_backend_count; i++) {
    bool vendor = !strcmp(fy_backends[i]->name, "cuda") || !strcmp(fy_backends[i]->name, "opencl");
    if (valgrind && vendor) continue;
    fy_str s;
    fy_str_init(&s);
    fy_backends[i]->probe(&o, &s);
    print_message("%-7s %s\n", fy_backends[i]->name, fy_str_text(&s));
    assert_true(s.len > 10);
    fy_str_free(&s);
  }
}

static void choosing(void **state) {
  (void)state;
  fy_options o;
  fy_device_set *set;
  fy_error err;
  fy_error_init(&err);
  fy_options_default(&o);
  assert_int_equal(fy_options_text(&o, "sim=gpu:3,memory=64MiB; visible_devices=2,0", &err), FY_OK);
  assert_int_equal(fy_devices_open(&o, &set, &err), FY_OK);
  assert_int_equal(set->n, 3);
  assert_non_null(strstr(set->items[1]->facts.physical, "device: 2"));
  fy_devices_unref(set);
  o.gpu_devices = 1;
  o.memory_fraction = 0.5;
  assert_int_equal(fy_devices_open(&o, &set, &err), FY_OK);
  assert_int_equal(set->n, 2);
  assert_int_equal(set->items[1]->facts.memory_limit, 32 * MIB);
  assert_int_equal(set->items[1]->facts.memory_total, 64 * MIB);
  fy_devices_unref(set);
  o.memory_fraction = 0;
  o.virtual_gpus[0] = (fy_virtual_gpu){0, 10 * MIB};
  o.virtual_gpus[1] = (fy_virtual_gpu){0, 20 * MIB};
  o.num_virtual_gpus = 2;
  assert_int_equal(fy_devices_open(&o, &set, &err), FY_OK);
  assert_int_equal(set->n, 3);
  assert_int_equal(set->items[2]->facts.memory_limit, 20 * MIB);
  fy_devices_unref(set);
  o.virtual_gpus[1].memory_bytes = 60 * MIB;
  assert_int_equal(fy_devices_open(&o, &set, &err), FY_INVALID_ARGUMENT);
  o.virtual_gpus[1] = (fy_virtual_gpu){1, MIB};
  assert_int_equal(fy_devices_open(&o, &set, &err), FY_INVALID_ARGUMENT);
  o.num_virtual_gpus = 0;
  const char *bad[] = {"7", "x", "0,0", "-1", "0;"};
  for (size_t i = 0; i < 5; i++) {
    snprintf(o.visible_devices, sizeof o.visible_devices, "%s", bad[i]);
    assert_int_equal(fy_devices_open(&o, &set, &err), FY_INVALID_ARGUMENT);
  }
  fy_error_clear(&err);
}

static void protection(void **state) {
  (void)state;
  fy_device_set *set = open_set("gpu:1,memory=64MiB");
  fy_tensor *t = to_device(set->items[1], 1000);
  for (int write = 0; write < 2; write++) {
    pid_t child = fork();
    if (child == 0) {
      signal(SIGSEGV, SIG_DFL);
      if (write)
        *(volatile float *)t->data = 1;
      else
        _exit((int)*(volatile float *)t->data);
      _exit(0);
    }
    int status;
    assert_int_equal(waitpid(child, &status, 0), child);
    assert_true(WIFSIGNALED(status) && WTERMSIG(status) == SIGSEGV);
  }
  check_values(t, 0);
  fy_tensor_release(t);
  fy_devices_unref(set);
}

static void copies(void **state) {
  (void)state;
  fy_device_set *set = open_set("gpu:2,memory=64MiB");
  fy_device *a = set->items[1], *b = set->items[2];
  fy_tensor *x = to_device(a, 5000), *y, *z;
  assert_int_equal(fy_memory_copy_tensor(x, b, &y, NULL), FY_OK);
  assert_ptr_equal(y->device, b);
  check_values(y, 0);
  fy_tensor borrowed = *x;  // as a program's planned value: on the device, but nobody's buffer
  borrowed.buffer = NULL;
  borrowed.dims = borrowed.inline_dims;
  assert_int_equal(fy_memory_copy_tensor(&borrowed, a, &z, NULL), FY_OK);
  assert_true(z->data != x->data && z->device == a);
  check_values(z, 0);
  fy_tensor_release(z);
  // Addresses that are not the device's are refused, not followed.
  char host[64];
  fy_error err;
  fy_error_init(&err);
  assert_int_equal(a->ops->copy(a, FY_COPY_HOST_TO_DEVICE, host, host, 8, NULL, NULL, NULL, &err),
                   FY_INVALID_ARGUMENT);
  assert_int_equal(
      a->ops->copy(a, FY_COPY_HOST_TO_DEVICE, x->data, host, 65 * MIB, NULL, NULL, NULL, &err),
      FY_INVALID_ARGUMENT);
  assert_int_equal(
      a->ops->copy(a, FY_COPY_DEVICE_TO_DEVICE, x->data, y->data, 8, a, NULL, NULL, &err),
      FY_INVALID_ARGUMENT);
  fy_event never = {.device = b, .queue = FY_QUEUE_COMPUTE, .seq = 99};
  assert_int_equal(
      a->ops->copy(a, FY_COPY_HOST_TO_DEVICE, x->data, host, 8, NULL, &never, NULL, &err),
      FY_INVALID_ARGUMENT);
  assert_non_null(strstr(fy_error_text(&err), "was never issued"));
  fy_view words[] = {FY_VIEW("a")};
  fy_tensor *s, *moved;
  assert_int_equal(fy_tensor_from_strings(0, NULL, words, &s, NULL), FY_OK);
  assert_int_equal(fy_memory_copy_tensor(s, a, &moved, &err), FY_INVALID_ARGUMENT);
  fy_tensor_release(s);
  fy_tensor_release(x);
  fy_tensor_release(y);
  fy_error_clear(&err);
  fy_devices_unref(set);
}

static void kernels(void **state) {
  (void)state;
  fy_device_set *set = open_set("gpu:1,memory=64MiB");
  fy_device *d = set->items[1];
  fy_tensor *x = to_device(d, 1000), *y = NULL, *z = NULL;
  fy_error err;
  fy_event e;
  fy_error_init(&err);
  assert_int_equal(launch(d, &add_impl, x, &y, NULL, 0, &e, &err), FY_OK);
  assert_ptr_equal(y->device, d);
  check_values(y, 10);
  // A planned output is written in place and stays the caller's.
  fy_tensor *planned = to_device(d, 1000), *keep = planned;
  assert_int_equal(launch(d, &add_impl, y, &planned, NULL, 0, &e, &err), FY_OK);
  assert_ptr_equal(planned, keep);
  check_values(planned, 20);
  assert_int_equal(launch(d, &pass_impl, x, &z, NULL, 0, &e, &err), FY_OK);
  assert_true(z->device == d && z->data == x->data && z->buffer == x->buffer);
  fy_tensor_release(z);
  z = NULL;
  fy_tensor borrowed = *x;
  borrowed.buffer = NULL;
  borrowed.dims = borrowed.inline_dims;
  assert_int_equal(launch(d, &pass_impl, &borrowed, &z, NULL, 0, &e, &err), FY_OK);
  assert_true(z->device == d && z->data != x->data);
  check_values(z, 0);
  fy_tensor_release(z);
  z = NULL;
  assert_int_equal(launch(d, &keep_impl, x, &z, NULL, 0, &e, &err), FY_OK);
  assert_true(z->device == d && z->data != x->data);
  check_values(z, 0);
  fy_tensor_release(z);
  z = NULL;
  assert_int_equal(launch(d, &fail_impl, x, &z, NULL, 0, &e, &err), FY_INVALID_ARGUMENT);
  assert_null(z);
  check_values(x, 0);
  fy_tensor_release(x);
  fy_tensor_release(y);
  fy_tensor_release(planned);
  fy_mempool_stats s;
  fy_mempool_stats_get(d->memory, &s);
  assert_int_equal(s.bytes_in_use, 0);
  fy_error_clear(&err);
  fy_devices_unref(set);
}

// Numbers chosen so that every term is a whole number of nanoseconds.
static void virtual_time(void **state) {
  (void)state;
  fy_device_set *set =
      open_set("gpu:2,memory=64MiB,pcie=1GB/s,latency=100ns,launch=50ns,flops=1T,bandwidth=10GB/s");
  fy_device *a = set->items[1], *b = set->items[2];
  fy_tensor *x = NULL, *y = NULL;
  fy_event in, run, out, peer;
  int64_t n = 1000;
  char host[4000] = {0};
  assert_int_equal(fy_memory_tensor(a, FY_FLOAT, 1, &n, "x", &x, NULL), FY_OK);
  assert_int_equal(
      a->ops->copy(a, FY_COPY_HOST_TO_DEVICE, x->data, host, 4000, NULL, NULL, &in, NULL), FY_OK);
  assert_int_equal(in.at_ns, 4100);  // 100 + 4000 bytes at 1 byte/ns
  // 1e6 flops at 1000/ns = 1000 ns; 8000 bytes at 10/ns = 800 ns.
  assert_int_equal(launch(a, &cost_impl, x, &y, &in, 1, &run, NULL), FY_OK);
  assert_int_equal(run.at_ns, 4100 + 50 + 1000);
  fy_tensor_release(y);
  y = NULL;
  // Without a cost function: 4000 + 4 + 4000 bytes at 10/ns = 800.4 against 1 ns of flops.
  assert_int_equal(launch(a, &add_impl, x, &y, NULL, 0, &run, NULL), FY_OK);
  assert_int_equal(run.at_ns, 5150 + 50 + 800);
  // The queues are independent: the way out starts when |run| is done, a second way in at once.
  assert_int_equal(
      a->ops->copy(a, FY_COPY_DEVICE_TO_HOST, host, y->data, 4000, NULL, &run, &out, NULL), FY_OK);
  assert_int_equal(out.at_ns, 6000 + 4100);
  assert_int_equal(
      a->ops->copy(a, FY_COPY_HOST_TO_DEVICE, x->data, host, 400, NULL, NULL, &in, NULL), FY_OK);
  assert_int_equal(in.at_ns, 4100 + 500);
  // A peer copy takes the sender's way out and the receiver's way in.
  fy_tensor *z;
  assert_int_equal(fy_memory_tensor(b, FY_FLOAT, 1, &n, "z", &z, NULL), FY_OK);
  assert_int_equal(
      b->ops->copy(b, FY_COPY_DEVICE_TO_DEVICE, z->data, x->data, 4000, a, &in, &peer, NULL),
      FY_OK);
  assert_int_equal(peer.at_ns, 10100 + 4100);
  assert_int_equal(fy_sim_now_ns(a), 14200);
  assert_int_equal(fy_sim_now_ns(b), 14200);
  fy_sim_entry log[16];
  assert_int_equal(fy_sim_log(a, log, 16), 6);
  assert_int_equal(fy_sim_log_total(a), 6);
  assert_string_equal(log[0].name, "MemcpyHToD");
  assert_true(log[0].queue == FY_QUEUE_IN && log[0].start_ns == 0 && log[0].bytes == 4000);
  assert_string_equal(log[1].name, "node");
  assert_true(log[1].start_ns == 4100 && log[1].end_ns == 5150);
  assert_true(log[5].queue == FY_QUEUE_OUT && strcmp(log[5].name, "MemcpyDToD") == 0);
  assert_int_equal(fy_sim_log(a, log, 2), 2);
  assert_true(log[1].end_ns == 14200);
  assert_int_equal(b->ops->wait(b, &peer, NULL), FY_OK);
  for (int i = 0; i < 5000; i++) {  // the ring is bounded
    assert_int_equal(
        a->ops->copy(a, FY_COPY_HOST_TO_DEVICE, x->data, host, 4, NULL, NULL, NULL, NULL), FY_OK);
  }
  assert_int_equal(fy_sim_log_total(a), 5006);
  assert_int_equal(fy_sim_log(a, log, 3), 3);
  fy_tensor_release(x);
  fy_tensor_release(y);
  fy_tensor_release(z);
  fy_devices_unref(set);
}

static void lacks(void **state) {
  (void)state;
  fy_device_set *set = open_set("gpu:1,lack=float64,lack=Exp,lack=MatMul:int32");
  fy_device *d = set->items[1];
  fy_error why;
  fy_error_init(&why);
  fy_arena arena;
  fy_arena_init(&arena);
  static const fy_arg_spec arg[] = {{.name = "x", .type_attr = "T"}};
  static const fy_op_impl impl = {.name = "op"}, host = {.name = "op", .flags = FY_OP_HOST};
  const struct {
    const char *op;
    fy_dtype t;
    const fy_op_impl *impl;
    const char *why;
  } cases[] = {
      {"MatMul", FY_FLOAT, &impl, NULL},
      {"MatMul", FY_DOUBLE, &impl, "the simulated GPU lacks float64 (lack=float64)"},
      {"MatMul", FY_INT32, &impl, "the simulated GPU lacks MatMul of int32 (lack=MatMul:int32)"},
      {"Add", FY_INT32, &impl, NULL},
      {"Exp", FY_FLOAT, &impl, "the simulated GPU lacks Exp (lack=Exp)"},
      {"Add", FY_STRING, &impl, "Add handles strings, which live in host memory"},
      {"Add", FY_FLOAT, &host, "Add runs on the host only"},
      {"Add", FY_FLOAT, NULL, "no kernel for op Add"},
  };
  for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
    fy_op_spec spec = {
        .name = cases[i].op, .inputs = arg, .outputs = arg, .num_inputs = 1, .num_outputs = 1};
    fy_op op = {.spec = &spec, .impl = cases[i].impl};
    fy_attrs attrs = {0};
    fy_attr t = fy_attr_type(cases[i].t);
    assert_int_equal(fy_attrs_set(&attrs, &arena, "T", &t, NULL), FY_OK);
    bool yes = d->ops->supports(d, &op, &attrs, &why);
    assert_int_equal(yes, cases[i].why == NULL);
    if (!yes) assert_string_equal(fy_error_text(&why), cases[i].why);
  }
  fy_error_clear(&why);
  fy_arena_free(&arena);
  fy_devices_unref(set);
}

static void lacks_of_nothing(void **state) {
  (void)state;
  const struct {
    const char *sim, *text;
  } cases[] = {
      {"gpu:1,lack=MatMull", "'MatMull' is no dtype or op (did you mean 'MatMul'?)"},
      {"gpu:1,lack=MatMull:float64", "'MatMull' is no op (did you mean 'MatMul'?)"},
      {"gpu:1,lack=MatMul:float65", "'float65' is no dtype;"},
      {"gpu:1,lack=SparseSoftmaxCrossEntropyWithLogits:bfloat16", NULL},
  };
  for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
    fy_options o;
    fy_error err;
    fy_device_set *set = NULL;
    fy_error_init(&err);
    fy_options_default(&o);
    assert_int_equal(fy_options_sim(&o, cases[i].sim, &err), FY_OK);
    const fy_code code = fy_devices_open(&o, &set, &err);
    assert_int_equal(code, cases[i].text ? FY_INVALID_ARGUMENT : FY_OK);
    if (cases[i].text) assert_non_null(strstr(fy_error_text(&err), cases[i].text));
    fy_devices_unref(set);
    fy_error_clear(&err);
  }
}

static void limits(void **state) {
  (void)state;
  fy_device_set *set = open_set("gpu:1,memory=8MiB");
  fy_device *d = set->items[1];
  void *p[3];
  fy_error err;
  fy_error_init(&err);
  assert_int_equal(fy_sim_resident_bytes(d), 0);
  assert_int_equal(d->ops->alloc(d, 5 * MIB, &p[0], &err), FY_OK);
  assert_int_equal(d->ops->alloc(d, 4 * MIB, &p[1], &err), FY_RESOURCE_EXHAUSTED);
  assert_int_equal(d->ops->alloc(d, 3 * MIB, &p[1], &err), FY_OK);
  assert_int_equal(d->ops->alloc(d, 1, &p[2], &err), FY_RESOURCE_EXHAUSTED);
  static char bytes[5 << 20];
  memset(bytes, 7, sizeof bytes);
  assert_int_equal(
      d->ops->copy(d, FY_COPY_HOST_TO_DEVICE, p[0], bytes, sizeof bytes, NULL, NULL, NULL, &err),
      FY_OK);
  assert_true(fy_sim_resident_bytes(d) >= 5 * MIB);
  d->ops->free(d, p[0], 5 * MIB);
  assert_true(fy_sim_resident_bytes(d) < MIB);  // pages really went back
  assert_int_equal(d->ops->alloc(d, 2 * MIB, &p[0], &err), FY_OK);
  d->ops->free(d, p[0], 2 * MIB);
  d->ops->free(d, p[1], 3 * MIB);
  int64_t n = 3 * (int64_t)MIB;
  fy_tensor *t;
  assert_int_equal(fy_memory_tensor(d, FY_FLOAT, 1, &n, "too/big", &t, &err),
                   FY_RESOURCE_EXHAUSTED);
  assert_non_null(strstr(fy_error_text(&err),
                         "OOM when allocating tensor with shape[3145728] and type "
                         "float on /job:localhost/replica:0/task:0/device:GPU:0 "
                         "by allocator GPU_0_bfc"));
  fy_error_clear(&err);
  fy_devices_unref(set);
  set = open_set("gpu:1,memory=16GiB");  // sparse
  t = to_device(set->items[1], 100);
  check_values(t, 0);
  fy_tensor_release(t);
  fy_devices_unref(set);
}

static void faults(void **state) {
  (void)state;
  fy_error err;
  fy_error_init(&err);
  for (int nth = 1; nth <= 4; nth++) {
    char text[96];
    snprintf(text, sizeof text, "gpu:1,memory=64MiB,fail_launch=%d,fail_copy=%d,fail_alloc=%d", nth,
             nth + 1, nth + 2);
    fy_device_set *set = open_set(text);
    fy_device *d = set->items[1];
    fy_tensor *x = to_device(d, 100), *back;  // copy 1
    for (int i = 1; i <= 5; i++) {
      fy_tensor *y = NULL;
      fy_code code = launch(d, &add_impl, x, &y, NULL, 0, NULL, &err);
      assert_int_equal(code, i == nth ? FY_INTERNAL : FY_OK);
      if (code) assert_non_null(strstr(fy_error_text(&err), "device:GPU:0: launch"));
      fy_tensor_release(y);
    }
    for (int i = 2; i <= 6; i++) {
      fy_code code = fy_memory_copy_tensor(x, NULL, &back, &err);
      assert_int_equal(code, i == nth + 1 ? FY_INTERNAL : FY_OK);
      fy_tensor_release(back);
    }
    void *p[6];
    for (int i = 2; i <= 6; i++) {  // allocation 1 was the pool's
      fy_code code = (fy_code)d->ops->alloc(d, 1000, &p[i - 2], &err);
      assert_int_equal(code, i == nth + 2 ? FY_RESOURCE_EXHAUSTED : FY_OK);
    }
    check_values(x, 0);  // memory is intact
    fy_tensor_release(x);
    fy_devices_unref(set);
  }
  // The same through fault injection, sticky and not.
  for (int kind = FY_FAULT_DEVICE_ALLOC; kind <= FY_FAULT_COPY; kind++) {
    fy_device_set *set = open_set("gpu:1,memory=64MiB");
    fy_device *d = set->items[1];
    fy_tensor *x = to_device(d, 100), *y = NULL, *back = NULL;
    int64_t big = 1 << 20;
    fy_fault_arm((fy_fault)kind, 1, true);
    fy_tensor *t = NULL;
    fy_code alloc = fy_memory_tensor(d, FY_FLOAT, 1, &big, "n", &t, &err);
    fy_code run = launch(d, &add_impl, x, &y, NULL, 0, NULL, &err);
    fy_code copy = fy_memory_copy_tensor(x, NULL, &back, &err);
    fy_fault_disarm((fy_fault)kind);
    assert_int_equal(alloc, kind == FY_FAULT_DEVICE_ALLOC ? FY_RESOURCE_EXHAUSTED : FY_OK);
    assert_int_equal(run, kind == FY_FAULT_LAUNCH ? FY_INTERNAL : FY_OK);
    assert_int_equal(copy, kind == FY_FAULT_COPY ? FY_INTERNAL : FY_OK);
    fy_tensor_release(t);
    fy_tensor_release(y);
    fy_tensor_release(back);
    fy_tensor_release(x);
    fy_devices_unref(set);
  }
  fy_error_clear(&err);
}

static void lost(void **state) {
  (void)state;
  fy_device_set *set = open_set("gpu:1,memory=64MiB,lost_after=2");
  fy_device *d = set->items[1];
  fy_tensor *x = to_device(d, 100), *y = NULL, *back;
  fy_error err;
  fy_event e = {0};
  void *p;
  int64_t big = 8 << 20;
  fy_error_init(&err);
  for (int i = 0; i < 2; i++) {
    assert_int_equal(launch(d, &add_impl, x, &y, NULL, 0, &e, &err), FY_OK);
    fy_tensor_release(y);
    y = NULL;
  }
  assert_int_equal(launch(d, &add_impl, x, &y, NULL, 0, &e, &err), FY_UNAVAILABLE);
  assert_non_null(strstr(fy_error_text(&err), "device:GPU:0 is lost"));
  assert_int_equal(fy_memory_copy_tensor(x, NULL, &back, &err), FY_UNAVAILABLE);
  assert_int_equal(d->ops->alloc(d, 10, &p, &err), FY_UNAVAILABLE);
  assert_int_equal(d->ops->wait(d, &e, &err), FY_UNAVAILABLE);
  assert_int_equal(fy_memory_tensor(d, FY_FLOAT, 1, &big, "n", &y, &err), FY_UNAVAILABLE);
  assert_non_null(strstr(fy_error_text(&err), "device:GPU:0"));
  fy_tensor_release(x);
  fy_error_clear(&err);
  fy_devices_unref(set);
}

// The N-th host allocation fails for every N, from opening to a launch.
static void memory_short(void **state) {
  (void)state;
  fy_options o;
  fy_options_default(&o);
  assert_int_equal(fy_options_sim(&o, "gpu:2,memory=64MiB", NULL), FY_OK);
  bool seen = true;
  for (int nth = 1; seen; nth++) {
    fy_device_set *set = NULL;
    fy_tensor *x = NULL, *y = NULL;
    int64_t n = 100;
    fy_error err;
    fy_error_init(&err);
    fy_fault_arm(FY_FAULT_ALLOC, nth, false);
    fy_code code = fy_devices_open(&o, &set, &err);
    if (!code) code = fy_memory_tensor(set->items[1], FY_FLOAT, 1, &n, "x", &x, &err);
    if (!code) code = launch(set->items[1], &cost_impl, x, &y, NULL, 0, NULL, &err);
    seen = fy_fault_hits(FY_FAULT_ALLOC) >= nth;
    fy_fault_disarm(FY_FAULT_ALLOC);
    assert_true(code == FY_OK || (seen && code == FY_RESOURCE_EXHAUSTED));
    fy_tensor_release(y);
    fy_tensor_release(x);
    fy_devices_unref(set);
    fy_error_clear(&err);
  }
}

int main(void) {
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(names),      cmocka_unit_test(choosing),
      cmocka_unit_test(protection), cmocka_unit_test(copies),
      cmocka_unit_test(kernels),    cmocka_unit_test(virtual_time),
      cmocka_unit_test(lacks),      cmocka_unit_test(lacks_of_nothing),
      cmocka_unit_test(limits),     cmocka_unit_test(faults),
      cmocka_unit_test(lost),       cmocka_unit_test(memory_short)};
  return cmocka_run_group_tests(tests, NULL, NULL);
}
