// SPDX-License-Identifier: Apache-2.0
// raw_conv.c: each distinct convolution of MobileNetV2 and ResNet50 (one image) through a session,
// with constant weights, against oneDNN's own best for the shape: its choice of algorithm and of
// blocked layouts for image, weights and result, weights packed before. Each turn is a process of its
// own, because threads of a library go on spinning after a call.
// One line per shape: microseconds of each (least of many), and oneDNN's time over ours.
// raw_conv [TEXT [ferry]]: only the shapes whose name ("14x14 96->576 1x1/1", "… depthwise") has TEXT in
// it; with |ferry| nobody else is measured, to compare two builds of the library in turns.

#include <dnnl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#include "tensorflow/c/c_api.h"

#define TURNS 3

typedef struct shape {
  int64_t size, in, out, window, stride;
  int depthwise;
} shape;

static const shape shapes[] = {
    // MobileNetV2
    {224, 3, 32, 3, 2, 0},
    {112, 32, 32, 3, 1, 1},
    {112, 32, 16, 1, 1, 0},
    {112, 16, 96, 1, 1, 0},
    {112, 96, 96, 3, 2, 1},
    {56, 96, 24, 1, 1, 0},
    {56, 24, 144, 1, 1, 0},
    {56, 144, 144, 3, 1, 1},
    {56, 144, 24, 1, 1, 0},
    {56, 144, 144, 3, 2, 1},
    {28, 144, 32, 1, 1, 0},
    {28, 32, 192, 1, 1, 0},
    {28, 192, 192, 3, 1, 1},
    {28, 192, 32, 1, 1, 0},
    {28, 192, 192, 3, 2, 1},
    {14, 192, 64, 1, 1, 0},
    {14, 64, 384, 1, 1, 0},
    {14, 384, 384, 3, 1, 1},
    {14, 384, 64, 1, 1, 0},
    {14, 384, 96, 1, 1, 0},
    {14, 96, 576, 1, 1, 0},
    {14, 576, 576, 3, 1, 1},
    {14, 576, 96, 1, 1, 0},
    {14, 576, 576, 3, 2, 1},
    {7, 576, 160, 1, 1, 0},
    {7, 160, 960, 1, 1, 0},
    {7, 960, 960, 3, 1, 1},
    {7, 960, 160, 1, 1, 0},
    {7, 960, 320, 1, 1, 0},
    {7, 320, 1280, 1, 1, 0},
    // ResNet50
    {224, 3, 64, 7, 2, 0},
    {56, 64, 64, 1, 1, 0},
    {56, 64, 64, 3, 1, 0},
    {56, 64, 256, 1, 1, 0},
    {56, 256, 64, 1, 1, 0},
    {56, 256, 128, 1, 2, 0},
    {56, 256, 512, 1, 2, 0},
    {28, 128, 128, 3, 1, 0},
    {28, 128, 512, 1, 1, 0},
    {28, 512, 128, 1, 1, 0},
    {28, 512, 256, 1, 2, 0},
    {28, 512, 1024, 1, 2, 0},
    {14, 256, 256, 3, 1, 0},
    {14, 256, 1024, 1, 1, 0},
    {14, 1024, 256, 1, 1, 0},
    {14, 1024, 512, 1, 2, 0},
    {14, 1024, 2048, 1, 2, 0},
    {7, 512, 512, 3, 1, 0},
    {7, 512, 2048, 1, 1, 0},
    {7, 2048, 512, 1, 1, 0},
};

static double now(void) {
  struct timespec t;
  clock_gettime(CLOCK_MONOTONIC, &t);
  return (double)t.tv_sec + (double)t.tv_nsec * 1e-9;
}

static double flops(const shape *s) {
  const double out = (double)((s->size + s->stride - 1) / s->stride);
  return 2 * out * out * (double)(s->out * s->window * s->window * (s->depthwise ? 1 : s->in));
}

static void fill(float *p, size_t n) {
  for (size_t i = 0; i < n; i++) p[i] = (float)(i % 17) / 17 - 0.5f;
}

// Seconds of fn(arg), the least of many.
static double least(void (*fn)(void *), void *arg, double estimate) {
  const int reps = 1 + (int)(3e-3 / estimate);
  double best = 1e9;
  for (int r = 0; r < 15; r++) {
    const double t0 = now();
    for (int k = 0; k < reps; k++) fn(arg);
    const double took = (now() - t0) / reps;
    if (took < best) best = took;
  }
  return best;
}

// ---------------------------------------------------------------- oneDNN
typedef struct dnnl_case {
  dnnl_primitive_t primitive;
  dnnl_stream_t stream;
  dnnl_exec_arg_t args[3];
} dnnl_case;

static void run_dnnl(void *arg) {
  dnnl_case *c = arg;
  dnnl_primitive_execute(c->primitive, c->stream, 3, c->args);
  dnnl_stream_wait(c->stream);
}

static dnnl_memory_t memory_of(dnnl_primitive_desc_t pd, dnnl_query_t what, dnnl_engine_t engine) {
  const dnnl_memory_desc_t *md = dnnl_primitive_desc_query_md(pd, what, 0);
  dnnl_memory_t m = NULL;
  void *data = NULL;
  if (!md || dnnl_memory_create(&m, md, engine, DNNL_MEMORY_ALLOCATE)) return NULL;
  dnnl_memory_get_data_handle(m, &data);
  fill(data, dnnl_memory_desc_get_size(md) / sizeof(float));
  return m;
}

static double measure_dnnl(const shape *s, double estimate) {
  const int64_t out = (s->size + s->stride - 1) / s->stride;
  int64_t all = (out - 1) * s->stride + s->window - s->size;
  if (all < 0) all = 0;
  const dnnl_dims_t src = {1, s->in, s->size, s->size}, dst = {1, s->out, out, out};
  const dnnl_dims_t plain = {s->out, s->in, s->window, s->window};
  const dnnl_dims_t grouped = {s->in, 1, 1, s->window, s->window};
  const dnnl_dims_t strides = {s->stride, s->stride}, none = {0, 0};
  const dnnl_dims_t before = {all / 2, all / 2}, after = {all - all / 2, all - all / 2};
  dnnl_engine_t engine;
  dnnl_case c;
  dnnl_memory_desc_t smd, wmd, dmd;
  dnnl_convolution_desc_t desc;
  dnnl_primitive_desc_t pd;
  if (dnnl_engine_create(&engine, dnnl_cpu, 0) ||
      dnnl_stream_create(&c.stream, engine, dnnl_stream_default_flags) ||
      dnnl_memory_desc_init_by_tag(&smd, 4, src, dnnl_f32, dnnl_format_tag_any) ||
      dnnl_memory_desc_init_by_tag(&wmd, s->depthwise ? 5 : 4, s->depthwise ? grouped : plain,
                                   dnnl_f32, dnnl_format_tag_any) ||
      dnnl_memory_desc_init_by_tag(&dmd, 4, dst, dnnl_f32, dnnl_format_tag_any) ||
      dnnl_dilated_convolution_forward_desc_init(&desc, dnnl_forward_inference,
                                                 dnnl_convolution_auto, &smd, &wmd, NULL, &dmd,
                                                 strides, none, before, after) ||
      dnnl_primitive_desc_create(&pd, &desc, NULL, engine, NULL) ||
      dnnl_primitive_create(&c.primitive, pd))
    return 0;
  c.args[0] = (dnnl_exec_arg_t){DNNL_ARG_SRC, memory_of(pd, dnnl_query_src_md, engine)};
  c.args[1] = (dnnl_exec_arg_t){DNNL_ARG_WEIGHTS, memory_of(pd, dnnl_query_weights_md, engine)};
  c.args[2] = (dnnl_exec_arg_t){DNNL_ARG_DST, memory_of(pd, dnnl_query_dst_md, engine)};
  run_dnnl(&c);
  return least(run_dnnl, &c, estimate);
}

// ---------------------------------------------------------------- Ferry
typedef struct ferry_case {
  TF_Session *session;
  TF_Output in, out;
  TF_Tensor *image;
  TF_Status *status;
} ferry_case;

static void run_ferry(void *arg) {
  ferry_case *c = arg;
  TF_Tensor *y = NULL;
  TF_SessionRun(c->session, NULL, &c->in, &c->image, 1, &c->out, &y, 1, NULL, 0, NULL, c->status);
  TF_DeleteTensor(y);
}

static TF_Tensor *tensor(const int64_t *dims) {
  const size_t n = (size_t)(dims[0] * dims[1] * dims[2] * dims[3]);
  TF_Tensor *t = TF_AllocateTensor(TF_FLOAT, dims, 4, n * sizeof(float));
  fill(TF_TensorData(t), n);
  return t;
}

static double measure_ferry(const shape *s, double estimate) {
  const int64_t image[] = {1, s->size, s->size, s->in}, strides[] = {1, s->stride, s->stride, 1};
  const int64_t filter[] = {s->window, s->window, s->in, s->depthwise ? 1 : s->out};
  ferry_case c = {.status = TF_NewStatus(), .image = tensor(image)};
  TF_Graph *g = TF_NewGraph();
  TF_OperationDescription *d = TF_NewOperation(g, "Placeholder", "x");
  TF_SetAttrType(d, "dtype", TF_FLOAT);
  c.in = (TF_Output){TF_FinishOperation(d, c.status), 0};
  d = TF_NewOperation(g, "Const", "w");
  TF_SetAttrType(d, "dtype", TF_FLOAT);
  TF_SetAttrTensor(d, "value", tensor(filter), c.status);
  const TF_Output w = {TF_FinishOperation(d, c.status), 0};
  d = TF_NewOperation(g, s->depthwise ? "DepthwiseConv2dNative" : "Conv2D", "y");
  TF_AddInput(d, c.in);
  TF_AddInput(d, w);
  TF_SetAttrIntList(d, "strides", strides, 4);
  TF_SetAttrString(d, "padding", "SAME", 4);
  c.out = (TF_Output){TF_FinishOperation(d, c.status), 0};
  TF_SessionOptions *o = TF_NewSessionOptions();
  c.session = TF_NewSession(g, o, c.status);
  run_ferry(&c);
  if (TF_GetCode(c.status)) return 0;
  return least(run_ferry, &c, estimate);
}

static double turn(const shape *s, int ferry) {
  int ends[2];
  double best = 0;
  if (pipe(ends)) return 0;
  const pid_t child = fork();
  if (child == 0) {
    const double estimate = flops(s) / 80e9 + 1e-6;
    best = ferry ? measure_ferry(s, estimate) : measure_dnnl(s, estimate);
    _exit(write(ends[1], &best, sizeof best) != sizeof best);
  }
  close(ends[1]);
  if (child < 0 || read(ends[0], &best, sizeof best) != sizeof best) best = 0;
  close(ends[0]);
  if (child > 0) waitpid(child, NULL, 0);
  return best;
}

static void name_of(const shape *s, char *out, size_t size) {
  snprintf(out, size, "%lldx%lld %lld->%lld %lldx%lld/%lld%s", (long long)s->size,
           (long long)s->size, (long long)s->in, (long long)s->out, (long long)s->window,
           (long long)s->window, (long long)s->stride, s->depthwise ? " depthwise" : "");
}

int main(int argc, char **argv) {
  const char *wanted = argc > 1 ? argv[1] : "";
  const int alone = argc > 2 && !strcmp(argv[2], "ferry");
  double sums[2] = {0, 0};
  for (size_t i = 0; i < sizeof shapes / sizeof shapes[0]; i++) {
    const shape *s = &shapes[i];
    char name[64];
    double best[2] = {1e9, 1e9};
    name_of(s, name, sizeof name);
    if (!strstr(name, wanted)) continue;
    for (int t = 0; t < TURNS; t++) {
      for (int who = alone; who < 2; who++) {
        const double took = turn(s, who);
        if (took > 0 && took < best[who]) best[who] = took;
      }
    }
    printf("%-30s Ferry %8.1f us %6.1f GFLOP/s", name, best[1] * 1e6, flops(s) / best[1] * 1e-9);
    if (!alone)
      printf("  oneDNN %8.1f us %6.1f GFLOP/s  %.2f", best[0] * 1e6, flops(s) / best[0] * 1e-9,
             best[0] / best[1]);
    printf("\n");
    fflush(stdout);
    sums[0] += best[0];
    sums[1] += best[1];
  }
  printf("together: Ferry %.2f ms", sums[1] * 1e3);
  if (!alone) printf(", oneDNN %.2f ms, %.2f", sums[0] * 1e3, sums[0] / sums[1]);
  printf("\n");
  return 0;
}
