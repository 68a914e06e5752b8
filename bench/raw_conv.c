// SPDX-License-Identifier: Apache-2.0
// raw_conv.c: each distinct convolution of MobileNetV2 and ResNet50 (one image) through a session,
// with constant weights, against oneDNN's own best for the shape: its choice of algorithm and of
// blocked layouts for image, weights and result, weights packed before. They take turns (turns.h).
// One line per shape: microseconds of each (least of all turns), and oneDNN's time over ours: the middle of
// the turns' ratios, and the least over the least.
// raw_conv [TEXT [ferry]]: only the shapes whose name ("14x14 96->576 1x1/1", "… depthwise") has TEXT in
// it; with |ferry| oneDNN is not measured. With FERRY_BENCH_BEFORE=FOLDER the libtensorflow.so.2 there
// plays as well.

#include <dnnl.h>
#include <stdint.h>

#include "tensorflow/c/c_api.h"
#include "turns.h"

#define TURNS 9

enum { FERRY, BEFORE, DNNL, WHO };

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

static double flops(const shape *s) {
  const double out = (double)((s->size + s->stride - 1) / s->stride);
  return 2 * out * out * (double)(s->out * s->window * s->window * (s->depthwise ? 1 : s->in));
}

static void fill(float *p, size_t n) {
  for (size_t i = 0; i < n; i++) p[i] = (float)(i % 17) / 17 - 0.5f;
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

static void begin_dnnl(const shape *s, int to) {
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
    return;
  c.args[0] = (dnnl_exec_arg_t){DNNL_ARG_SRC, memory_of(pd, dnnl_query_src_md, engine)};
  c.args[1] = (dnnl_exec_arg_t){DNNL_ARG_WEIGHTS, memory_of(pd, dnnl_query_weights_md, engine)};
  c.args[2] = (dnnl_exec_arg_t){DNNL_ARG_DST, memory_of(pd, dnnl_query_dst_md, engine)};
  turns_play(to, run_dnnl, &c);
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

static void begin_ferry(const shape *s, int to) {
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
  if (!TF_GetCode(c.status)) turns_play(to, run_ferry, &c);
}

static const char *program;

// The same program with another library.
static void begin_before(const shape *s, int to) {
  char which[24], end[24];
  const char *folder = getenv("FERRY_BENCH_BEFORE");
  if (!folder) return;
  snprintf(which, sizeof which, "%d", (int)(s - shapes));
  snprintf(end, sizeof end, "%d", to);
  setenv("LD_LIBRARY_PATH", folder, 1);
  execl(program, program, which, "plays", end, (char *)NULL);
}

static void begin(void *arg, int who, int to) {
  (who == FERRY ? begin_ferry : who == DNNL ? begin_dnnl : begin_before)(arg, to);
}

static void name_of(const shape *s, char *out, size_t size) {
  snprintf(out, size, "%lldx%lld %lld->%lld %lldx%lld/%lld%s", (long long)s->size,
           (long long)s->size, (long long)s->in, (long long)s->out, (long long)s->window,
           (long long)s->window, (long long)s->stride, s->depthwise ? " depthwise" : "");
}

static void measure(const shape *s, int alone, double *sums) {
  static const char *const names[WHO] = {"Ferry", "before", "oneDNN"};
  static turns_player players[WHO];
  char name[64];
  name_of(s, name, sizeof name);
  memset(players, 0, sizeof players);
  for (int who = 0; who < WHO; who++)
    if (who != DNNL || !alone) turns_start(&players[who], begin, (void *)(uintptr_t)s, who);
  turns_take(players, WHO, TURNS);
  printf("%-30s", name);
  const double ours = turns_middle(&players[FERRY], NULL, TURNS, 0);
  for (int who = 0; who < WHO; who++) {
    const double best = turns_middle(&players[who], NULL, TURNS, 0);
    sums[who] += best;
    if (best <= 0) continue;
    printf("  %s %7.1f us %5.1f GFLOP/s", names[who], best * 1e6, flops(s) / best * 1e-9);
    if (who != FERRY)
      printf(" %.2f (%.2f)", turns_middle(&players[FERRY], &players[who], TURNS, 0.5), best / ours);
    turns_end(&players[who]);
  }
  printf("\n");
  fflush(stdout);
  turns_end(&players[FERRY]);
}

int main(int argc, char **argv) {
  const char *wanted = argc > 1 ? argv[1] : "";
  const int alone = argc > 2 && !strcmp(argv[2], "ferry");
  double sums[WHO] = {0};
  program = argv[0];
  if (argc > 3 && !strcmp(argv[2], "plays")) {
    begin_ferry(&shapes[strtol(wanted, NULL, 10)], (int)strtol(argv[3], NULL, 10));
    return 1;
  }
  for (size_t i = 0; i < sizeof shapes / sizeof shapes[0]; i++) {
    char name[64];
    name_of(&shapes[i], name, sizeof name);
    if (strstr(name, wanted)) measure(&shapes[i], alone, sums);
  }
  printf("together: Ferry %.2f ms", sums[FERRY] * 1e3);
  if (sums[BEFORE] > 0) printf(", before %.2f ms", sums[BEFORE] * 1e3);
  if (sums[DNNL] > 0) printf(", oneDNN %.2f ms, %.2f", sums[DNNL] * 1e3, sums[DNNL] / sums[FERRY]);
  printf("\n");
  return 0;
}
