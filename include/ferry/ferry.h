// SPDX-License-Identifier: Apache-2.0
// ferry.h: what TensorFlow's API cannot say: open devices from a line of text, build or load a
// graph, run it, ask why anything happened, and predict before running.
//
//   ferry_runtime *rt;  ferry_graph *g;  ferry_session *s;  ferry_error err;
//   ferry_open("sim=gpu:1,memory=2GiB", &rt, &err);
//   ferry_graph_load(rt, "model.pb", &g, &err);
//   ferry_session_new(rt, g, &s, &err);
//   char *text;  ferry_request r = {.fetch = "y", .shapes = "x=[32,784]"};
//   ferry_explain(s, &r, FERRY_TEXT, &text, &err);
//
// Every function that can fail returns a TensorFlow status code (0 = OK) and fills |err| (may be
// NULL). Texts returned through `char **` belong to the caller: ferry_free_text.
// Threads: a runtime and a session may be used from many threads at once; a graph may not be
// changed while another thread uses it.

#ifndef FERRY_FERRY_H
#define FERRY_FERRY_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#ifdef __cplusplus
extern "C" {
#endif

#if defined(__GNUC__)
#define FERRY_EXPORT __attribute__((visibility("default")))
#else
#define FERRY_EXPORT
#endif

typedef struct ferry_runtime ferry_runtime;
typedef struct ferry_graph ferry_graph;
typedef struct ferry_session ferry_session;
typedef struct ferry_tensor ferry_tensor;

typedef struct ferry_error {
  int code;  // TensorFlow's: 3 = INVALID_ARGUMENT, 5 = NOT_FOUND, 8 = RESOURCE_EXHAUSTED, …
  char text[2048];  // cut in its middle if longer
} ferry_error;

typedef enum ferry_format {
  FERRY_TEXT = 0,
  FERRY_JSON = 1,
  FERRY_MARKDOWN = 2,  // of ferry_op_help's table; the same as text elsewhere
} ferry_format;

FERRY_EXPORT const char *ferry_version(void);        // "0.1.0"
FERRY_EXPORT const char *ferry_code_name(int code);  // "INVALID_ARGUMENT"
FERRY_EXPORT void ferry_free_text(char *text);

// ------------------------------------------------------------------ devices
// |config|: options as `key=value; key=value` (docs/options.md), a ConfigProto as text, or NULL.
// The environment (FERRY_CONFIG, FERRY_SIM) is applied first. Opening allocates no device memory.
FERRY_EXPORT int ferry_open(const char *config, ferry_runtime **out, ferry_error *err);
FERRY_EXPORT void ferry_close(ferry_runtime *rt);  // after its graphs and sessions

typedef struct ferry_device {
  char name[128];         // "/job:localhost/replica:0/task:0/device:GPU:0"
  char type[16];          // "GPU"
  char backend[16];       // "cpu", "sim", "opencl", "cuda"
  char description[160];  // what the hardware is; a simulated device says so
  bool simulated;
  uint64_t memory_limit, memory_in_use, memory_peak, memory_reserved, largest_free;
  double fragmentation;  // 1 - largest free piece / all that is free inside the pool; 0 = none
  double flops, memory_bytes_per_s, link_bytes_per_s, link_latency_ns, launch_ns;
} ferry_device;

FERRY_EXPORT int ferry_device_count(const ferry_runtime *rt);
FERRY_EXPORT int ferry_device_get(const ferry_runtime *rt, int index, ferry_device *out);
// Gives unused memory back to the device; keeps at most |keep_bytes|. |device| as in "GPU:0".
FERRY_EXPORT int ferry_trim(ferry_runtime *rt, const char *device, uint64_t keep_bytes,
                            ferry_error *err);
FERRY_EXPORT int ferry_set_memory_limit(ferry_runtime *rt, const char *device, uint64_t bytes,
                                        ferry_error *err);
// Measures the links of the devices with memory of their own: time and bandwidth by size, how much of
// two copies happens at once, and what follows from that. Simulated devices tell their virtual time.
FERRY_EXPORT int ferry_bench_transfer(ferry_runtime *rt, ferry_format format, char **out,
                                      ferry_error *err);
// Ferry processes of this user on this machine: what each holds of which device, and its share of a
// core. One that was killed is not listed.
FERRY_EXPORT int ferry_top(ferry_format format, char **out, ferry_error *err);
// Every backend: usable, or exactly why not; the options in force; the machine.
FERRY_EXPORT int ferry_doctor(const char *config, ferry_format format, char **out,
                              ferry_error *err);

// Large weights are used where they lie in their files instead of being copied (docs/memory.md): what
// this process has mapped now, and what it had to copy after all because somebody wrote such a file.
typedef struct ferry_mapped {
  uint64_t files, tensors, bytes;
  uint64_t moved_files, moved_bytes;  // since the process began
} ferry_mapped;
// |text| (may be NULL) gets the same in words, and why the last file that was read had to be.
FERRY_EXPORT int ferry_mapped_weights(ferry_mapped *out, char **text);

// ------------------------------------------------------------------ tensors
// dtype numbers are TensorFlow's (1 = float, 3 = int32 …). Memory is the host's.
FERRY_EXPORT int ferry_tensor_new(int dtype, int rank, const int64_t *dims, const void *data,
                                  ferry_tensor **out,
                                  ferry_error *err);  // copies |data|; NULL = zeros
FERRY_EXPORT int ferry_tensor_strings(int rank, const int64_t *dims, const char *const *values,
                                      ferry_tensor **out, ferry_error *err);
FERRY_EXPORT int ferry_tensor_load(const char *npy_path, ferry_tensor **out, ferry_error *err);
FERRY_EXPORT int ferry_tensor_save(const ferry_tensor *t, const char *npy_path, ferry_error *err);
FERRY_EXPORT void ferry_tensor_free(ferry_tensor *t);
FERRY_EXPORT int ferry_tensor_dtype(const ferry_tensor *t);
FERRY_EXPORT int ferry_tensor_rank(const ferry_tensor *t);
FERRY_EXPORT int64_t ferry_tensor_dim(const ferry_tensor *t, int i);
FERRY_EXPORT int64_t ferry_tensor_count(const ferry_tensor *t);
FERRY_EXPORT size_t ferry_tensor_bytes(const ferry_tensor *t);
FERRY_EXPORT void *ferry_tensor_data(ferry_tensor *t);
FERRY_EXPORT int ferry_tensor_text(const ferry_tensor *t, int64_t limit, char **out);  // summary
// Element |i| of a string tensor: |*n| bytes, any bytes, that live as long as |t|; NULL if there is
// no such element. Setting copies; only while nobody else holds the tensor.
FERRY_EXPORT const char *ferry_tensor_string(const ferry_tensor *t, int64_t i, size_t *n);
FERRY_EXPORT int ferry_tensor_set_string(ferry_tensor *t, int64_t i, const void *bytes, size_t n,
                                         ferry_error *err);
FERRY_EXPORT const char *ferry_dtype_name(int dtype);  // "float", "string"
// Every array of a .npz archive. |*names| and |*tensors| (each of |*n|) are the caller's: free both
// with ferry_npz_free.
FERRY_EXPORT int ferry_npz_load(const char *path, int *n, char ***names, ferry_tensor ***tensors,
                                ferry_error *err);
FERRY_EXPORT void ferry_npz_free(int n, char **names, ferry_tensor **tensors);
FERRY_EXPORT int ferry_npz_save(const char *path, int n, const char *const *names,
                                ferry_tensor *const *tensors, ferry_error *err);

// ------------------------------------------------------------------ graphs
FERRY_EXPORT int ferry_graph_new(ferry_runtime *rt, ferry_graph **out, ferry_error *err);
// GraphDef, binary or text (.pb, .pbtxt), found out by looking. The error names the byte or line.
FERRY_EXPORT int ferry_graph_load(ferry_runtime *rt, const char *path, ferry_graph **out,
                                  ferry_error *err);
FERRY_EXPORT int ferry_graph_parse(ferry_runtime *rt, const void *bytes, size_t n,
                                   ferry_graph **out, ferry_error *err);
FERRY_EXPORT int ferry_graph_save(const ferry_graph *g, const char *path, bool text,
                                  ferry_error *err);
FERRY_EXPORT void ferry_graph_free(ferry_graph *g);
// One node: inputs as text "a, b:1, ^control", attributes as text "transpose_a=true; T=float",
// device as TensorFlow writes it, or NULL. A Const takes its value from |value| (else NULL).
FERRY_EXPORT int ferry_graph_add(ferry_graph *g, const char *op, const char *name,
                                 const char *inputs, const char *attrs, const char *device,
                                 const ferry_tensor *value, ferry_error *err);
FERRY_EXPORT int ferry_graph_dump(const ferry_graph *g, char **out, ferry_error *err);
FERRY_EXPORT size_t ferry_graph_size(const ferry_graph *g);  // nodes
// Names of nodes that nothing reads (likely fetches) or that must be fed, comma-separated.
FERRY_EXPORT int ferry_graph_outputs(const ferry_graph *g, char **out);
FERRY_EXPORT int ferry_graph_inputs(const ferry_graph *g, char **out);
// The same graph as TensorFlow's handle (include/tensorflow/c/c_api.h); owned by |g|.
struct TF_Graph;
FERRY_EXPORT struct TF_Graph *ferry_graph_tf(ferry_graph *g);

// ------------------------------------------------------------------ running
FERRY_EXPORT int ferry_session_new(ferry_runtime *rt, ferry_graph *g, ferry_session **out,
                                   ferry_error *err);
FERRY_EXPORT void ferry_session_free(ferry_session *s);
// A session that was opened with TensorFlow's API (c_api.h), for the questions below. It stays its
// owner's and must outlive what is returned here, which ferry_session_free ends.
struct TF_Session;
FERRY_EXPORT int ferry_session_of(struct TF_Session *tf, ferry_session **out, ferry_error *err);
// Feeds and fetches by name ("x", "x:0"). |results[i]| are the caller's. A fetch "^init", or of a
// node without outputs, is only run: its result is NULL. |timeout_ms| 0 = none.
FERRY_EXPORT int ferry_run(ferry_session *s, int num_feeds, const char *const *feed_names,
                           ferry_tensor *const *feeds, int num_fetches,
                           const char *const *fetch_names, ferry_tensor **results,
                           int64_t timeout_ms, ferry_error *err);

// The same in two halves, so that one thread keeps a device busy: while run n computes, what is fed to
// run n + 1 is on its way, and the result of run n - 1 is on its way back.
//
//   for (int i = 0; i < n + 2; i++) {
//     if (i < n) ferry_run_start(s, 1, names, &x[i], 1, fetch, 0, &t[i % 3], &err);
//     if (i >= 2) ferry_run_wait(t[(i - 2) % 3], &y[i - 2], &err);
//   }
//
// One ahead is enough where computing takes longer than copying, two always.
// Starting returns when everything was handed to the devices; what the host itself computes is done by
// then, so a graph without a device gains nothing. The ticket holds what was fed: it may be freed, but
// not written to. Each run under way has planned memory of its own; where a device has no room for one
// more, the oldest is brought to its end first. Waiting ends the ticket, whatever it returns, and must
// come before ferry_session_free; |results| as in ferry_run.
typedef struct ferry_ticket ferry_ticket;
FERRY_EXPORT int ferry_run_start(ferry_session *s, int num_feeds, const char *const *feed_names,
                                 ferry_tensor *const *feeds, int num_fetches,
                                 const char *const *fetch_names, int64_t timeout_ms,
                                 ferry_ticket **out, ferry_error *err);
FERRY_EXPORT int ferry_run_wait(ferry_ticket *t, ferry_tensor **results, ferry_error *err);

typedef struct
    ferry_stats {  // since the session was made; transfers are counted in the release build
  int64_t runs, programs_compiled;
  int64_t transfers_to_device, transfers_to_host, transfers_between_devices;
  int64_t bytes_to_device, bytes_to_host, bytes_between_devices;
  int64_t constants_placed, constant_bytes;  // copied to a device once, to stay; not counted above
} ferry_stats;
FERRY_EXPORT void ferry_session_stats(const ferry_session *s, ferry_stats *out);
// What this session's programs hold of a device's memory (planned memory, constants on a device), now
// and at most. |device| as in "GPU:0"; "CPU:0" is the host.
FERRY_EXPORT int ferry_session_memory(const ferry_session *s, const char *device, uint64_t *now,
                                      uint64_t *peak, ferry_error *err);

// ------------------------------------------------------------------ models
// Whatever Python wrote, found out by looking: a SavedModel directory; a frozen GraphDef (.pb,
// .pbtxt); a .meta file of TensorFlow 1 with its checkpoint beside it, or the directory whose file
// "checkpoint" names it. Loading imports the graph, restores variables and fills tables.
//
//   ferry_model *m;  ferry_tensor *y;
//   ferry_model_load(rt, "exported/", NULL, &m, &err);
//   ferry_model_run(m, NULL, 1, (const char *[]){"x"}, &x, 1, (const char *[]){"y"}, &y, 0, &err);
typedef struct ferry_model ferry_model;

typedef struct ferry_model_value {
  const char *name;     // "x", as callers know it
  const char *tensor;   // "serving_default_x:0"; NULL: a sparse or composite tensor, not callable
  int dtype;            // TensorFlow's number
  int rank;             // -1 = not known
  const int64_t *dims;  // -1 = any size
  bool optional;        // the signature has a default value for this input
} ferry_model_value;

typedef struct ferry_signature {
  const char *name;    // "serving_default"
  const char *method;  // "tensorflow/serving/predict"
  int num_inputs, num_outputs;
  const ferry_model_value *inputs, *outputs;  // by name
} ferry_signature;

// |tags|: "serve" or "serve,gpu"; NULL = serve, or the only graph there is. The runtime must outlive
// the model. NOT_FOUND, DATA_LOSS … name the file and what is wrong in it.
FERRY_EXPORT int ferry_model_load(ferry_runtime *rt, const char *path, const char *tags,
                                  ferry_model **out, ferry_error *err);
FERRY_EXPORT void ferry_model_free(ferry_model *m);
// Signatures by name. A model without any has one, "default": its placeholders and what nobody reads.
// What is returned lives as long as the model.
FERRY_EXPORT int ferry_model_signature_count(const ferry_model *m);
FERRY_EXPORT const ferry_signature *ferry_model_signature_at(const ferry_model *m, int index);
// NULL |name|: serving_default, or the only one. NOT_FOUND suggests the nearest.
FERRY_EXPORT int ferry_model_signature(const ferry_model *m, const char *name,
                                       const ferry_signature **out, ferry_error *err);
// Calls a signature by the names of its inputs. |output_names| NULL: all outputs in the signature's
// order (|num_outputs| must be their number). |results[i]| are the caller's. Errors say what was
// expected and what came. Thread-safe.
FERRY_EXPORT int ferry_model_run(ferry_model *m, const char *signature, int num_inputs,
                                 const char *const *input_names, ferry_tensor *const *inputs,
                                 int num_outputs, const char *const *output_names,
                                 ferry_tensor **results, int64_t timeout_ms, ferry_error *err);
// The graph and session behind it, for ferry_explain, ferry_predict, ferry_run; owned by |m|.
FERRY_EXPORT ferry_graph *ferry_model_graph(ferry_model *m);
FERRY_EXPORT ferry_session *ferry_model_session(ferry_model *m);

// What a signature needs as one graph without state: variables become constants, tables fill
// themselves. |notes| (may be NULL) gets what is worth knowing, one line each.
// FAILED_PRECONDITION if the signature writes a variable.
FERRY_EXPORT int ferry_model_freeze(ferry_model *m, const char *signature, ferry_graph **out,
                                    char **notes, ferry_error *err);
// A report on any model or checkpoint, without loading it: format, signatures, operations, what has
// no kernel here, weights, assets, which of |rt|'s devices could run it.
FERRY_EXPORT int ferry_inspect(ferry_runtime *rt, const char *path, const char *tags,
                               ferry_format format, char **out, ferry_error *err);
// Text or binary by the extension of |to| (.pbtxt, .pb); a checkpoint of any version to a TensorBundle
// (|to| is its prefix) or to .npz.
FERRY_EXPORT int ferry_convert(const char *from, const char *to, ferry_error *err);
// Compares graphs and weights. Values differ if their distance is above |tolerance|. |*same| says it
// in short, |*out| what differs.
FERRY_EXPORT int ferry_diff(const char *a, const char *b, double tolerance, ferry_format format,
                            bool *same, char **out, ferry_error *err);

// ------------------------------------------------------------------ asking
typedef struct ferry_request {
  const char *fetch;   // "y, z:1"; NULL = every output of the graph
  const char *feed;    // "x, w"; NULL = every placeholder that the fetches need
  const char *shapes;  // "x=[32,784]; w=[784,10]": what the feeds will be; others as the graph says
  int64_t batch;       // > 0: takes the place of unknown leading dimensions
  int width;           // text: longest line in columns; 0 = lines are never broken
} ferry_request;

// Placement of every node with its reason, transfers with cause and bytes, memory of every device.
FERRY_EXPORT int ferry_explain(ferry_session *s, const ferry_request *r, ferry_format format,
                               char **out, ferry_error *err);
// The same in one line: who does which share of the work, and what the transfers cost.
FERRY_EXPORT int ferry_summary(ferry_session *s, const ferry_request *r, char **out,
                               ferry_error *err);
// One node's story: where it runs and why, what became of it in optimisation, the transfers it
// causes.
FERRY_EXPORT int ferry_why(ferry_session *s, const ferry_request *r, const char *node,
                           ferry_format format, char **out, ferry_error *err);
// The program after a stage: "import", "optimize", "place", "partition", "memory", "program".
FERRY_EXPORT int ferry_dump(ferry_session *s, const ferry_request *r, const char *stage, char **out,
                            ferry_error *err);

// Eager calls of a context (tensorflow/c/eager/c_api.h): for each kind of call that was made where it runs
// and why, and which of its inputs had to be copied there, how often and how many bytes.
struct TFE_Context;
FERRY_EXPORT int ferry_eager_explain(struct TFE_Context *context, ferry_format format, char **out,
                                     ferry_error *err);

typedef struct ferry_prediction {
  int num_devices;
  struct ferry_device_prediction {
    char device[32];         // "GPU:0"
    uint64_t weights_bytes;  // constants that stay
    uint64_t planned_bytes;  // arena of one run
    uint64_t other_bytes;    // feeds, results, and what only the run makes
    uint64_t peak_bytes;     // the sum
    uint64_t limit_bytes;    // 0 = none
    char peak_node[128];     // where the peak is
    int64_t largest_batch;   // that fits; -1 = no batch dimension or no limit found
    uint64_t variables_bytes, packed_bytes, scratch_bytes;
    uint64_t allocator_bytes;  // what memory_peak of the device will show (ferry_device_get)
    bool exact;                // every size is known before the run
  } devices[16];
  char first_exhausted[32];  // device whose memory runs out first as the batch grows, "" = none
  int64_t transfers, transfer_bytes;
  double compute_ns, transfer_ns;  // modelled, one run
  // Copies per run that make room on a device that is too small (option spill).
  int64_t spill_copies, spill_bytes;
  double spill_ns;
  // Host memory is too small as well: planned tensors that are in a file (option spill_dir). They are in
  // planned_bytes of the host, but not in its allocator_bytes and peak_bytes.
  uint64_t spill_file_bytes;
} ferry_prediction;
// Plans without running, with the planner that the runner uses: for static shapes peak_bytes is what
// a run takes, to the byte (docs/memory.md says what is counted where).
FERRY_EXPORT int ferry_predict(ferry_session *s, const ferry_request *r, ferry_prediction *out,
                               ferry_error *err);

// Memory of the request as a chart: over the instructions of one run, or over batch sizes 1, 2, 4 …
typedef enum ferry_chart { FERRY_CHART_TIME = 0, FERRY_CHART_BATCH = 1 } ferry_chart;
FERRY_EXPORT int ferry_memory_chart(ferry_session *s, const ferry_request *r, ferry_chart chart,
                                    bool svg, char **out, ferry_error *err);

// ------------------------------------------------------------------ operations
// Signature, dtypes, kernels per device type of one op; or the table of all (NULL).
FERRY_EXPORT int ferry_op_help(const char *op, ferry_format format, char **out, ferry_error *err);
FERRY_EXPORT int ferry_ops_missing(char **out,
                                   ferry_error *err);  // known ops without a kernel, one per line

#ifdef __cplusplus
}
#endif

#endif
