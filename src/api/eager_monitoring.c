// SPDX-License-Identifier: Apache-2.0
// eager_monitoring.c: TFE_Monitoring*: counters, gauges and samplers with up to four labels.
// A metric is a list of cells, one per choice of labels, that live as long as the metric. Nothing
// collects them: they serve who made them.

#include <float.h>
#include <stdarg.h>
#include <string.h>

#include "api/eager.h"
#include "base/alloc.h"
#include "base/thread.h"

#define MAX_LABELS 4

typedef struct cell {
  struct cell *next;
  char *labels[MAX_LABELS];
  fy_mutex lock;  // guards what follows but |number|
  atomic_llong number;
  char *text;
  const struct metric *metric;
  double min, max, num, sum, squares;
  double *counts;  // [metric->num_limits]
} cell;

typedef struct metric {
  fy_mutex lock;
  cell *cells;
  int num_labels;
  double *limits;  // of a sampler; the last is DBL_MAX
  size_t num_limits;
} metric;

struct TFE_MonitoringBuckets {
  size_t n;
  double limits[];
};

// ---------------------------------------------------------------- metrics
static metric *new_metric(int num_labels, const TFE_MonitoringBuckets *buckets, TF_Status *status) {
  fy_error *err = fy_api_begin(status);
  metric *m = fy_calloc(1, sizeof *m);
  if (!m) {
    fy_fail_oom(err, sizeof *m);
    return NULL;
  }
  fy_mutex_init(&m->lock);
  m->num_labels = num_labels;
  if (!buckets) return m;
  m->num_limits = buckets->n;
  m->limits = fy_malloc(buckets->n * sizeof *m->limits);
  if (m->limits) {
    memcpy(m->limits, buckets->limits, buckets->n * sizeof *m->limits);
    return m;
  }
  fy_fail_oom(err, buckets->n * sizeof *m->limits);
  fy_mutex_destroy(&m->lock);
  fy_free(m);
  return NULL;
}

static void free_cell(cell *c) {
  for (int i = 0; i < MAX_LABELS; i++) fy_free(c->labels[i]);
  fy_free(c->text);
  fy_free(c->counts);
  fy_mutex_destroy(&c->lock);
  fy_free(c);
}

static void delete_metric(metric *m) {
  if (!m) return;
  while (m->cells) {
    cell *next = m->cells->next;
    free_cell(m->cells);
    m->cells = next;
  }
  fy_free(m->limits);
  fy_mutex_destroy(&m->lock);
  fy_free(m);
}

static cell *new_cell(const metric *m, const char *const *labels) {
  cell *c = fy_calloc(1, sizeof *c);
  if (!c) return NULL;
  fy_mutex_init(&c->lock);
  c->metric = m;
  c->min = DBL_MAX;
  c->max = -DBL_MAX;
  bool ok = !m->num_limits || (c->counts = fy_calloc(m->num_limits, sizeof *c->counts));
  for (int i = 0; ok && i < m->num_labels; i++) ok = (c->labels[i] = fy_strdup(labels[i])) != NULL;
  if (ok) return c;
  free_cell(c);
  return NULL;
}

// The cell of these labels, made when first asked for; NULL when memory is short.
static void *get_cell(metric *m, const char *l1, const char *l2, const char *l3, const char *l4) {
  const char *const labels[MAX_LABELS] = {l1, l2, l3, l4};
  fy_lock(&m->lock);
  cell *c = m->cells;
  for (; c; c = c->next) {
    int i = 0;
    while (i < m->num_labels && labels[i] && strcmp(c->labels[i], labels[i]) == 0) i++;
    if (i == m->num_labels) break;
  }
  if (!c && (c = new_cell(m, labels))) {
    c->next = m->cells;
    m->cells = c;
  }
  fy_unlock(&m->lock);
  return c;
}

// ---------------------------------------------------------------- cells
void TFE_MonitoringCounterCellIncrementBy(TFE_MonitoringCounterCell *p, int64_t value) {
  atomic_fetch_add(&((cell *)p)->number, value);
}

int64_t TFE_MonitoringCounterCellValue(TFE_MonitoringCounterCell *p) {
  return atomic_load(&((cell *)p)->number);
}

void TFE_MonitoringIntGaugeCellSet(TFE_MonitoringIntGaugeCell *p, int64_t value) {
  atomic_store(&((cell *)p)->number, value);
}

int64_t TFE_MonitoringIntGaugeCellValue(TFE_MonitoringIntGaugeCell *p) {
  return atomic_load(&((cell *)p)->number);
}

void TFE_MonitoringBoolGaugeCellSet(TFE_MonitoringBoolGaugeCell *p, bool value) {
  atomic_store(&((cell *)p)->number, value);
}

bool TFE_MonitoringBoolGaugeCellValue(TFE_MonitoringBoolGaugeCell *p) {
  return atomic_load(&((cell *)p)->number) != 0;
}

void TFE_MonitoringStringGaugeCellSet(TFE_MonitoringStringGaugeCell *p, const char *value) {
  cell *c = (cell *)p;
  char *copy = fy_strdup(value);
  if (!copy) return;
  fy_lock(&c->lock);
  char *old = c->text;
  c->text = copy;
  fy_unlock(&c->lock);
  fy_free(old);
}

void TFE_MonitoringStringGaugeCellValue(TFE_MonitoringStringGaugeCell *p, TF_Buffer *buf) {
  cell *c = (cell *)p;
  fy_lock(&c->lock);
  const char *text = c->text ? c->text : "";
  size_t n = strlen(text);
  uint8_t *copy = (uint8_t *)fy_strndup(text, n);
  fy_unlock(&c->lock);
  if (copy && fy_api_fill_buffer(buf, copy, n, NULL)) return;
}

void TFE_MonitoringSamplerCellAdd(TFE_MonitoringSamplerCell *p, double value) {
  cell *c = (cell *)p;
  const metric *m = c->metric;
  size_t b = 0;
  while (b + 1 < m->num_limits && value >= m->limits[b]) b++;
  fy_lock(&c->lock);
  c->counts[b] += 1;
  if (value < c->min) c->min = value;
  if (value > c->max) c->max = value;
  c->num += 1;
  c->sum += value;
  c->squares += value * value;
  fy_unlock(&c->lock);
}

// HistogramProto by hand: five doubles and two packed lists.
static uint8_t *put_double(uint8_t *at, int field, double value) {
  if (value == 0) return at;
  *at++ = (uint8_t)(field << 3 | 1);
  memcpy(at, &value, sizeof value);
  return at + sizeof value;
}

static uint8_t *put_list(uint8_t *at, int field, const double *values, size_t n) {
  size_t bytes = n * sizeof *values;
  *at++ = (uint8_t)(field << 3 | 2);
  size_t rest = bytes;
  for (; rest > 127; rest >>= 7) *at++ = (uint8_t)(rest | 128);
  *at++ = (uint8_t)rest;
  memcpy(at, values, bytes);
  return at + bytes;
}

void TFE_MonitoringSamplerCellValue(TFE_MonitoringSamplerCell *p, TF_Buffer *buf) {
  cell *c = (cell *)p;
  const metric *m = c->metric;
  uint8_t *bytes = fy_malloc(5 * 9 + 2 * (11 + m->num_limits * sizeof(double)));
  if (!bytes) return;
  fy_lock(&c->lock);
  uint8_t *at = put_double(bytes, 1, c->min);
  at = put_double(at, 2, c->max);
  at = put_double(at, 3, c->num);
  at = put_double(at, 4, c->sum);
  at = put_double(at, 5, c->squares);
  at = put_list(at, 6, m->limits, m->num_limits);
  at = put_list(at, 7, c->counts, m->num_limits);
  fy_unlock(&c->lock);
  if (fy_api_fill_buffer(buf, bytes, (size_t)(at - bytes), NULL)) return;
}

TFE_MonitoringBuckets *TFE_MonitoringNewExponentialBuckets(double scale, double growth_factor,
                                                           int bucket_count) {
  size_t n = bucket_count > 0 ? (size_t)bucket_count : 0;
  TFE_MonitoringBuckets *b = fy_malloc(sizeof *b + (n + 1) * sizeof *b->limits);
  if (!b) return NULL;
  b->n = n + 1;
  for (size_t i = 0; i < n; i++, scale *= growth_factor) b->limits[i] = scale;
  b->limits[n] = DBL_MAX;
  return b;
}

void TFE_MonitoringDeleteBuckets(TFE_MonitoringBuckets *buckets) {
  fy_free(buckets);
}

// ---------------------------------------------------------------- one set of functions per kind
// clang-format off
#define P0
#define P1 , const char *label1
#define P2 P1, const char *label2
#define P3 P2, const char *label3
#define P4 P3, const char *label4
#define U0
#define U1 (void)label1;
#define U2 U1 (void)label2;
#define U3 U2 (void)label3;
#define U4 U3 (void)label4;
#define A0 NULL, NULL, NULL, NULL
#define A1 label1, NULL, NULL, NULL
#define A2 label1, label2, NULL, NULL
#define A3 label1, label2, label3, NULL
#define A4 label1, label2, label3, label4

#define LIFE(Kind, N, Cell)                                                                   \
  void TFE_MonitoringDelete##Kind##N(TFE_Monitoring##Kind##N *m) { delete_metric((metric *)m); } \
  Cell *TFE_MonitoringGetCell##Kind##N(TFE_Monitoring##Kind##N *m P##N) {                     \
    return get_cell((metric *)m, A##N);                                                       \
  }
#define METRIC(Kind, N, Cell)                                                                 \
  TFE_Monitoring##Kind##N *TFE_MonitoringNew##Kind##N(const char *name, TF_Status *status,    \
                                                      const char *description P##N) {         \
    (void)name; (void)description; U##N                                                       \
    return (TFE_Monitoring##Kind##N *)new_metric(N, NULL, status);                            \
  }                                                                                           \
  LIFE(Kind, N, Cell)
#define SAMPLER(N)                                                                            \
  TFE_MonitoringSampler##N *TFE_MonitoringNewSampler##N(                                      \
      const char *name, TFE_MonitoringBuckets *buckets, TF_Status *status,                    \
      const char *description P##N) {                                                         \
    (void)name; (void)description; U##N                                                       \
    return (TFE_MonitoringSampler##N *)new_metric(N, buckets, status);                        \
  }                                                                                           \
  LIFE(Sampler, N, TFE_MonitoringSamplerCell)

METRIC(Counter, 0, TFE_MonitoringCounterCell)
METRIC(Counter, 1, TFE_MonitoringCounterCell)
METRIC(Counter, 2, TFE_MonitoringCounterCell)
METRIC(IntGauge, 0, TFE_MonitoringIntGaugeCell)
METRIC(IntGauge, 1, TFE_MonitoringIntGaugeCell)
METRIC(IntGauge, 2, TFE_MonitoringIntGaugeCell)
METRIC(StringGauge, 0, TFE_MonitoringStringGaugeCell)
METRIC(StringGauge, 1, TFE_MonitoringStringGaugeCell)
METRIC(StringGauge, 2, TFE_MonitoringStringGaugeCell)
METRIC(StringGauge, 3, TFE_MonitoringStringGaugeCell)
METRIC(StringGauge, 4, TFE_MonitoringStringGaugeCell)
METRIC(BoolGauge, 0, TFE_MonitoringBoolGaugeCell)
METRIC(BoolGauge, 1, TFE_MonitoringBoolGaugeCell)
METRIC(BoolGauge, 2, TFE_MonitoringBoolGaugeCell)
SAMPLER(0)
SAMPLER(1)
SAMPLER(2)
