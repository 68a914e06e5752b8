// micro_fused.c: the fused element-wise kernel alone: the ten operations of elementwise.c on
// 1,000,000 floats with one thread and with two, each function by itself, and a chain of 10,000
// scalar operations. Linked with the library's internals; run by hand: build/bench/micro_fused.

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include "base/pool.h"
#include "ops/fused.h"

enum { ELEMENTS = 1000000 };

static double now_ns(void) {
  struct timespec t;
  clock_gettime(CLOCK_MONOTONIC, &t);
  return (double)t.tv_sec * 1e9 + (double)t.tv_nsec;
}

static fy_pool *pool;

static fy_code scratch(fy_kernel_ctx *ctx, size_t bytes, void **out, fy_error *err) {
  (void)ctx;
  (void)bytes;
  *out = NULL;
  return fy_fail(err, FY_UNIMPLEMENTED, "no scratch memory here");
}
static void parallel(fy_kernel_ctx *ctx, int64_t n, double ns_per_item,
                     void (*fn)(void *arg, int64_t begin, int64_t end), void *arg) {
  (void)ctx;
  fy_pool_for(pool, n, ns_per_item, fn, arg);
}
static const fy_services services = {.scratch = scratch, .parallel = parallel};

static void die(const fy_error *err) {
  fprintf(stderr, "%s\n", fy_error_text(err));
  exit(1);
}

// Best time of one run of |program| over |elements|.
static double measure(const fy_fused_program *program, int64_t elements, int threads) {
  fy_arena arena;
  fy_error err;
  fy_attrs attrs = {0};
  fy_view bytes = {NULL, 0};
  fy_tensor *in = NULL, *out = NULL;
  fy_arena_init(&arena);
  fy_error_init(&err);
  fy_attr t = fy_attr_type(FY_FLOAT);
  fy_attr shape = {.kind = FY_ATTR_SHAPE, .v.shape = {1, &elements}};
  if (fy_fused_encode(program, &arena, &bytes, &err)) die(&err);
  fy_attr text = fy_attr_string(bytes);
  if (fy_attrs_set(&attrs, &arena, "T", &t, &err) ||
      fy_attrs_set(&attrs, &arena, "program", &text, &err) ||
      fy_attrs_set(&attrs, &arena, "shape", &shape, &err) ||
      fy_tensor_new(FY_FLOAT, 1, &elements, &in, &err) ||
      fy_tensor_new(FY_FLOAT, 1, &elements, &out, &err))
    die(&err);
  float *x = in->data;
  for (int64_t i = 0; i < elements; i++) x[i] = (float)(i % 2001 - 1000) * 0.004f;
  memset(out->data, 0, (size_t)elements * sizeof(float));
  const fy_op *op = fy_op_find("_FerryFused", 11);
  const fy_dtype types[1] = {FY_FLOAT};
  fy_site site = {.op = op,
                  .attrs = &attrs,
                  .node_name = "fused",
                  .num_inputs = 1,
                  .num_outputs = 1,
                  .in_types = types,
                  .out_types = types};
  if (op->impl->prepare(&site, &err)) die(&err);
  bool owned = false;
  fy_kernel_ctx ctx = {.site = &site,
                       .svc = &services,
                       .in = &in,
                       .out = &out,
                       .out_owned = &owned,
                       .threads = threads};
  double best = 1e18;
  const double stop = now_ns() + 0.25e9;
  do {
    const double start = now_ns();
    if (op->impl->compute(&ctx, &err)) die(&err);
    const double took = now_ns() - start;
    if (took < best) best = took;
  } while (now_ns() < stop);
  op->impl->release(site.state);
  fy_tensor_release(in);
  fy_tensor_release(out);
  fy_arena_free(&arena);
  return best;
}

static uint64_t bits(float f) {
  uint64_t u = 0;
  memcpy(&u, &f, sizeof f);
  return u;
}

static void ten(void) {
  uint32_t kinds[1] = {FY_FUSED_FULL}, outputs[1] = {14};
  uint64_t consts[4] = {bits(0.5f), bits(0.1f), bits(-0.9f), bits(0.25f)};
  const uint32_t none = FY_FUSED_NONE;
  fy_fused_op ops[10] = {{FY_EW_MUL, 0, 1},    {FY_EW_ADD, 5, 2},    {FY_EW_TANH, 6, none},
                         {FY_EW_MAX, 7, 3},    {FY_EW_NEG, 8, none}, {FY_EW_SIGMOID, 9, none},
                         {FY_EW_MUL, 10, 0},   {FY_EW_SUB, 11, 4},   {FY_EW_SQUARE, 12, none},
                         {FY_EW_ABS, 13, none}};
  const fy_fused_program p = {1, 4, 10, 1, kinds, consts, ops, outputs};
  printf("ten_ops_1_thread %.4f ns/element\n", measure(&p, ELEMENTS, 1) / ELEMENTS);
  printf("ten_ops_2_threads %.4f ns/element\n", measure(&p, ELEMENTS, 2) / ELEMENTS);
}

static void one(const char *name, fy_ew op, int64_t elements) {
  uint32_t kinds[1] = {FY_FUSED_FULL}, outputs[1] = {2};
  uint64_t consts[1] = {bits(0.5f)};
  fy_fused_op ops[1] = {{op, 0, fy_ew_is_binary(op) ? 1 : FY_FUSED_NONE}};
  const fy_fused_program p = {1, 1, 1, 1, kinds, consts, ops, outputs};
  printf("%s %.4f ns/element\n", name, measure(&p, elements, 1) / (double)elements);
}

static void chain(int64_t elements) {
  enum { LENGTH = 10000 };
  uint32_t kinds[1] = {FY_FUSED_FULL}, outputs[1] = {2 + LENGTH - 1};
  uint64_t consts[1] = {bits(1.0f)};
  fy_fused_op *ops = malloc(LENGTH * sizeof *ops);
  if (!ops) return;
  for (uint32_t i = 0; i < LENGTH; i++) ops[i] = (fy_fused_op){FY_EW_ADD, i ? i + 1 : 0, 1};
  const fy_fused_program p = {1, 1, LENGTH, 1, kinds, consts, ops, outputs};
  printf("chain_10000_on_%lld %.3f ns/op\n", (long long)elements,
         measure(&p, elements, 1) / LENGTH);
  free(ops);
}

int main(void) {
  pool = fy_pool_new(2, NULL, 0);
  printf("lanes %s\n", fy_lanes_best()->name);
  ten();
  one("add", FY_EW_ADD, 4096);
  one("tanh", FY_EW_TANH, 4096);
  one("sigmoid", FY_EW_SIGMOID, 4096);
  one("exp", FY_EW_EXP, 4096);
  one("log", FY_EW_LOG, 4096);
  one("erf", FY_EW_ERF, 4096);
  one("log1p", FY_EW_LOG1P, 4096);
  one("expm1", FY_EW_EXPM1, 4096);
  chain(1);
  chain(64);
  fy_pool_free(pool);
  return 0;
}
