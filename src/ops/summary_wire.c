// SPDX-License-Identifier: Apache-2.0
// summary_wire.c: the parts of Summary messages that ops and event files share (summary_wire.h).

#include "ops/summary_wire.h"

#include <float.h>
#include <math.h>

#include "base/alloc.h"
#include "ops/example_wire.h"

bool fy_put_tensor(fy_str *s, int field, const fy_tensor *t) {
  fy_str proto, shape, dim;
  if (!fy_dtype_is_plain(t->dtype) && t->dtype != FY_STRING) return false;
  fy_str_init(&proto);
  fy_str_init(&shape);
  fy_str_init(&dim);
  for (int32_t d = 0; d < t->rank; d++) {
    dim.len = 0;
    fy_put_int(&dim, 1, t->dims[d]);
    fy_put_str(&shape, 2, &dim);
  }
  fy_put_int(&proto, 1, (int64_t)t->dtype);
  fy_put_str(&proto, 2, &shape);
  if (t->dtype == FY_STRING) {
    for (int64_t i = 0; i < t->count; i++) {
      const fy_view v = fy_tensor_string(t, i);
      fy_put_bytes(&proto, 8, v.p, v.n);
    }
  } else if (t->count) {
    fy_put_bytes(&proto, 4, t->data, fy_tensor_bytes(t));
  }
  fy_put_str(s, field, &proto);
  fy_str_free(&proto);
  fy_str_free(&shape);
  fy_str_free(&dim);
  return true;
}

void fy_put_scalar(fy_str *s, fy_view tag, float v) {
  fy_str value;
  fy_str_init(&value);
  if (tag.n) fy_put_bytes(&value, 1, tag.p, tag.n);
  fy_put_float(&value, 2, v);
  fy_put_str(s, 1, &value);
  fy_str_free(&value);
}

static bool is_message(fy_view bytes) {
  fy_bytes b = fy_bytes_of(bytes);
  while (b.p < b.end) {
    const uint8_t *at = b.p;
    if (!fy_bytes_skip_field(&b)) return false;
    if (*at >> 3 == 0 && *at < 0x80) return false;
  }
  return true;
}

fy_code fy_put_tensor_value(fy_str *s, fy_view tag, const fy_tensor *t, fy_view metadata,
                            fy_error *err) {
  fy_str value;
  fy_str_init(&value);
  if (tag.n) fy_put_bytes(&value, 1, tag.p, tag.n);
  const bool fine = fy_put_tensor(&value, 8, t);
  fy_put_bytes(&value, 9, metadata.p, is_message(metadata) ? metadata.n : 0);
  fy_put_str(s, 1, &value);
  fy_str_free(&value);
  if (fine) return FY_OK;
  return fy_fail(err, FY_UNIMPLEMENTED, "A summary cannot hold tensors of type %s",
                 fy_dtype_name(t->dtype));
}

// ---------------------------------------------------------------- histograms
static uint64_t bits_of(double v) {
  uint64_t bits;
  memcpy(&bits, &v, sizeof bits);
  return bits;
}

// Limits grow by a tenth from 1e-12 to 1e20, with their negatives and 0 between.
#define POSITIVE 776

// The upper bits of a double, with four of its fraction: there is hardly ever more than one limit
// between two doubles that agree in them.
#define KEY(bits) ((int)((bits) >> 48))
#define FIRST_KEY (983 << 4)  // at or below 2^-40
#define KEYS      (108 << 4)  // up to 2^68

typedef struct limits {
  double at[2 * POSITIVE + 1];
  int n, positive;      // all of them, those above 0
  int16_t below[KEYS];  // positive limits that are less than any double with this key
} limits;

static void fill_limits(limits *l) {
  double up[POSITIVE];
  int n = 0;
  for (double v = 1.0e-12; v < 1.0e20 && n < POSITIVE - 1; v *= 1.1) up[n++] = v;
  up[n++] = DBL_MAX;
  l->n = 0;
  l->positive = n;
  for (int i = n; i-- > 0;) l->at[l->n++] = -up[i];
  l->at[l->n++] = 0;
  for (int i = 0; i < n; i++) l->at[l->n++] = up[i];
  for (int k = 0, below = 0; k < KEYS; k++) {
    while (KEY(bits_of(up[below])) < FIRST_KEY + k) below++;
    l->below[k] = (int16_t)below;
  }
}

// How many limits are at or below |v|, but for the last: it counts what is beyond all of them, too.
static int bucket_of(const limits *l, double v) {
  const double *up = l->at + l->positive + 1, size = fabs(v);
  const int key = KEY(bits_of(size)) - FIRST_KEY;
  int below = l->below[key < 0 ? 0 : key < KEYS ? key : KEYS - 1];
  if (v < 0) {
    while (below < l->positive && up[below] < size) below++;
    return l->positive - below;
  }
  while (below < l->positive && up[below] <= size) below++;
  return below < l->positive ? l->positive + 1 + below : l->n - 1;
}

static void put_double_unless_zero(fy_str *s, int field, double v) {
  if (bits_of(v)) fy_put_double(s, field, v);
}

fy_code fy_put_histogram(fy_str *s, fy_view tag, const fy_tensor *t, const char *node,
                         fy_error *err) {
  limits *l = fy_malloc(sizeof *l);
  double *counts = fy_calloc(2 * POSITIVE + 1, sizeof *counts);
  double min = DBL_MAX, max = -DBL_MAX, sum = 0, squares = 0;
  fy_code code = l && counts ? FY_OK : fy_fail_oom(err, sizeof *l);
  if (!code) fill_limits(l);
  for (int64_t i = 0; i < t->count && !code; i++) {
    const double v = t->dtype == FY_UINT64            ? (double)((const uint64_t *)t->data)[i]
                     : fy_dtype_is_floating(t->dtype) ? fy_tensor_double(t, i)
                                                      : (double)fy_tensor_int(t, i);
    if (isnan(v)) {
      code = fy_fail(err, FY_INVALID_ARGUMENT, "Nan in summary histogram for: %s", node);
    } else if (isinf(v)) {
      code = fy_fail(err, FY_INVALID_ARGUMENT, "Infinity in Histogram for: %s", node);
    } else {
      counts[bucket_of(l, v)] += 1;
      min = v < min ? v : min;
      max = v > max ? v : max;
      sum += v;
      squares += v * v;
    }
  }
  if (!code) {
    fy_str histo, ends, numbers, value;
    fy_str_init(&histo);
    fy_str_init(&ends);
    fy_str_init(&numbers);
    fy_str_init(&value);
    for (int i = 0; i < l->n;) {  // a run of empty buckets is one
      double end = l->at[i], count = counts[i];
      for (i++; count <= 0 && i < l->n && counts[i] <= 0; i++) end = l->at[i];
      fy_str_addn(&ends, (const char *)&end, sizeof end);
      fy_str_addn(&numbers, (const char *)&count, sizeof count);
    }
    put_double_unless_zero(&histo, 1, min);
    put_double_unless_zero(&histo, 2, max);
    put_double_unless_zero(&histo, 3, (double)t->count);
    put_double_unless_zero(&histo, 4, sum);
    put_double_unless_zero(&histo, 5, squares);
    fy_put_str(&histo, 6, &ends);
    fy_put_str(&histo, 7, &numbers);
    if (tag.n) fy_put_bytes(&value, 1, tag.p, tag.n);
    fy_put_str(&value, 5, &histo);
    fy_put_str(s, 1, &value);
    fy_str_free(&histo);
    fy_str_free(&ends);
    fy_str_free(&numbers);
    fy_str_free(&value);
  }
  fy_free(l);
  fy_free(counts);
  return code;
}
