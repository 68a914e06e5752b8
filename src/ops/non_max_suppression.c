// SPDX-License-Identifier: Apache-2.0
// non_max_suppression.c: NonMaxSuppression, V2 to V5, and WithOverlaps.
//
// Candidates leave a heap by score (the lower index first among equals). One that overlaps a chosen
// box by more than the threshold is dropped; soft suppression (V5) lowers its score instead and
// puts it back, so that it is measured again against the boxes chosen since.

#include <float.h>
#include <stdio.h>
#include <math.h>

#include "base/alloc.h"
#include "ops/resize.h"
#include "ops/shape_fns.h"
#include "ops/values.h"

typedef struct candidate {
  float score;
  int32_t box;
  int64_t compared;  // chosen boxes it has been measured against
} candidate;

typedef struct suppression {
  const float *boxes;     // [n, 4], or
  const float *overlaps;  // [n, n]
  const float *scores;    // [n]
  int64_t n, limit;
  float threshold, score_threshold, sigma;
  candidate *heap;
  int64_t size;
  int32_t *chosen;  // [limit]
  float *chosen_scores;
  int64_t count;
} suppression;

static bool before(const candidate *a, const candidate *b) {
  return a->score > b->score || (a->score == b->score && a->box < b->box);
}

static void push(suppression *s, candidate c) {
  int64_t i = s->size++;
  while (i > 0 && before(&c, &s->heap[(i - 1) / 2])) {
    s->heap[i] = s->heap[(i - 1) / 2];
    i = (i - 1) / 2;
  }
  s->heap[i] = c;
}

static candidate pop(suppression *s) {
  const candidate top = s->heap[0], last = s->heap[--s->size];
  int64_t i = 0;
  for (int64_t child = 1; child < s->size; child = 2 * i + 1) {
    if (child + 1 < s->size && before(&s->heap[child + 1], &s->heap[child])) child++;
    if (!before(&s->heap[child], &last)) break;
    s->heap[i] = s->heap[child];
    i = child;
  }
  if (s->size > 0) s->heap[i] = last;
  return top;
}

// Of numbers that do not compare, the first.
static inline float lower(float a, float b) {
  return b < a ? b : a;
}
static inline float upper(float a, float b) {
  return a < b ? b : a;
}

// Intersection over union; corners may come in any order.
static float similarity(const suppression *s, int32_t i, int32_t j) {
  if (s->overlaps) return s->overlaps[(int64_t)i * s->n + j];
  const float *a = s->boxes + 4 * (int64_t)i, *b = s->boxes + 4 * (int64_t)j;
  const float ay0 = lower(a[0], a[2]), ax0 = lower(a[1], a[3]);
  const float ay1 = upper(a[0], a[2]), ax1 = upper(a[1], a[3]);
  const float by0 = lower(b[0], b[2]), bx0 = lower(b[1], b[3]);
  const float by1 = upper(b[0], b[2]), bx1 = upper(b[1], b[3]);
  const float area_a = (ay1 - ay0) * (ax1 - ax0), area_b = (by1 - by0) * (bx1 - bx0);
  if (area_a <= 0 || area_b <= 0) return 0;
  const float h = upper(lower(ay1, by1) - upper(ay0, by0), 0);
  const float w = upper(lower(ax1, bx1) - upper(ax0, bx0), 0);
  return h * w / (area_a + area_b - h * w);
}

static void suppress(suppression *s) {
  const bool soft = s->sigma > 0;
  const float scale = soft ? -0.5f / s->sigma : 0;
  for (int64_t i = 0; i < s->n; i++) {
    if (s->scores[i] > s->score_threshold) push(s, (candidate){s->scores[i], (int32_t)i, 0});
  }
  while (s->count < s->limit && s->size > 0) {
    candidate c = pop(s);
    const float original = c.score;
    bool dropped = false;
    for (int64_t j = s->count - 1; j >= c.compared; j--) {
      const float overlap = similarity(s, c.box, s->chosen[j]);
      if (soft)
        c.score *= expf(scale * overlap * overlap);
      else if (!(overlap <= s->threshold))
        c.score *= 0;
      if (!soft && overlap > s->threshold) {
        dropped = true;
        break;
      }
      if (c.score <= s->score_threshold) break;
    }
    c.compared = s->count;
    if (dropped) continue;
    if (c.score == original) {
      s->chosen[s->count] = c.box;
      s->chosen_scores[s->count++] = c.score;
    } else if (c.score > s->score_threshold) {
      push(s, c);
    }
  }
}

// ---------------------------------------------------------------- inputs
// Version 3 alone says it twice, of its first two scalars.
static fy_code check_scalar(fy_kernel_ctx *ctx, int i, const char *name, fy_error *err) {
  const fy_tensor *t = ctx->in[i];
  char x[128], more[64] = "";
  if (t->rank == 0) return FY_OK;
  if (i < 4 && !strcmp(ctx->site->op->spec->name, "NonMaxSuppressionV3")) {
    snprintf(more, sizeof more, " (Shape must be rank 0 but is rank %d)", t->rank);
  }
  return fy_fail(err, FY_INVALID_ARGUMENT, "%s must be 0-D, got shape %s%s", name,
                 fy_tensor_shape_text(t, x), more);
}
static fy_code scalar(fy_kernel_ctx *ctx, int i, const char *name, float *out, fy_error *err) {
  FY_TRY(check_scalar(ctx, i, name, err));
  *out = (float)fy_tensor_double(ctx->in[i], 0);
  return FY_OK;
}

static fy_code read_inputs(fy_kernel_ctx *ctx, suppression *s, fy_error *err) {
  const fy_tensor *boxes = ctx->in[0], *scores = ctx->in[1], *limit = ctx->in[2];
  const int inputs = ctx->site->num_inputs;
  const bool overlaps = ctx->site->op->impl->aux != NULL;
  const char *name = overlaps ? "overlaps" : "boxes";
  char x[128];
  FY_TRY(check_scalar(ctx, 2, "max_output_size", err));
  s->limit = fy_tensor_int(limit, 0);
  s->threshold = 0.5f;
  s->score_threshold = -FLT_MAX;
  s->sigma = 0;
  if (inputs == 3) {
    s->threshold = fy_site_float(ctx->site, "iou_threshold");
  } else {
    FY_TRY(scalar(ctx, 3, overlaps ? "overlap_threshold" : "iou_threshold", &s->threshold, err));
  }
  if (inputs > 4) FY_TRY(scalar(ctx, 4, "score_threshold", &s->score_threshold, err));
  if (inputs > 5) FY_TRY(scalar(ctx, 5, "soft_nms_sigma", &s->sigma, err));
  if (!overlaps && !(s->threshold >= 0 && s->threshold <= 1)) {
    return fy_fail(err, FY_INVALID_ARGUMENT, "iou_threshold must be in [0, 1]");
  }
  if (s->sigma < 0) {
    return fy_fail(err, FY_INVALID_ARGUMENT, "soft_nms_sigma_val must be >= 0");
  }
  if (boxes->rank != 2) {
    fy_code code =
        fy_fail(err, FY_INVALID_ARGUMENT, "%s must be 2-D%s", name, fy_tensor_shape_text(boxes, x));
    if (!overlaps) {
      fy_error_append(err, " (Shape must be rank 2 but is rank %d)", boxes->rank);
    }
    return code;
  }
  s->n = boxes->dims[0];
  if (overlaps && boxes->dims[1] != s->n) {
    return fy_fail(err, FY_INVALID_ARGUMENT, "overlaps must be square%s",
                   fy_tensor_shape_text(boxes, x));
  }
  if (!overlaps && boxes->dims[1] != 4) {
    return fy_fail(err, FY_INVALID_ARGUMENT,
                   "boxes must have 4 columns (Dimension must be 4 but is %lld)",
                   (long long)boxes->dims[1]);
  }
  if (scores->rank != 1) {
    return fy_fail(err, FY_INVALID_ARGUMENT,
                   "scores must be 1-D%s (Shape must be rank 1 but is rank %d)",
                   fy_tensor_shape_text(scores, x), scores->rank);
  }
  if (scores->dims[0] != s->n) {
    return fy_fail(
        err, FY_INVALID_ARGUMENT,
        "scores has incompatible shape (Dimensions must be equal, but are %lld and %lld)",
        (long long)s->n, (long long)scores->dims[0]);
  }
  if (s->n > INT32_MAX) return fy_fail(err, FY_INVALID_ARGUMENT, "too many boxes");
  const float *data;
  FY_TRY(fy_image_floats(ctx, boxes, &data, err));
  if (overlaps) {
    s->overlaps = data;
  } else {
    s->boxes = data;
  }
  return fy_image_floats(ctx, scores, &s->scores, err);
}

static fy_code non_max(fy_kernel_ctx *ctx, fy_error *err) {
  const int outputs = ctx->site->num_outputs;
  suppression s = {.n = 0};
  FY_TRY(read_inputs(ctx, &s, err));
  const int64_t padded = s.limit;
  if (s.limit < 0) {
    return fy_fail(err, FY_INVALID_ARGUMENT, "output size must be non-negative");
  }
  if (s.limit > s.n) s.limit = s.n;
  void *memory;
  FY_TRY(fy_scratch(ctx, (size_t)s.n * sizeof(candidate), &memory, err));
  s.heap = memory;
  FY_TRY(fy_scratch(ctx, (size_t)s.n * (sizeof(float) + sizeof(int32_t)), &memory, err));
  s.chosen_scores = memory;
  s.chosen = (int32_t *)(void *)(s.chosen_scores + s.n);
  suppress(&s);
  const int64_t count = fy_site_bool(ctx->site, "pad_to_max_output_size") ? padded : s.count;
  fy_tensor *out;
  FY_TRY(fy_out(ctx, 0, 1, &count, &out, err));
  for (int64_t i = 0; i < count; i++) {
    ((int32_t *)out->data)[i] = i < s.count ? s.chosen[i] : 0;
  }
  if (outputs == 3) {
    FY_TRY(fy_out(ctx, 1, 1, &count, &out, err));
    for (int64_t i = 0; i < count; i++) {
      const float v = i < s.count ? s.chosen_scores[i] : 0;
      if (out->dtype == FY_HALF) {
        ((uint16_t *)out->data)[i] = fy_float_to_half(v);
      } else {
        ((float *)out->data)[i] = v;
      }
    }
  }
  if (outputs > 1) {
    FY_TRY(fy_out(ctx, outputs - 1, 0, NULL, &out, err));
    *(int32_t *)out->data = (int32_t)s.count;
  }
  return FY_OK;
}

static fy_code non_max_shape(fy_shape_ctx *ctx, fy_error *err) {
  const bool overlaps = strstr(ctx->spec->name, "Overlaps") != NULL;
  int64_t n, limit = -1;
  FY_TRY(fy_shape_rank_is(ctx->in[0], 2, err));
  FY_TRY(fy_shape_rank_is(ctx->in[1], 1, err));
  for (int i = 2; i < ctx->num_inputs; i++) FY_TRY(fy_shape_rank_is(ctx->in[i], 0, err));
  FY_TRY(fy_dim_merge(fy_dim_of(ctx->in[0], 0), fy_dim_of(ctx->in[1], 0), &n, err));
  if (!overlaps) FY_TRY(fy_dim_is(fy_dim_of(ctx->in[0], 1), 4, err));
  if (overlaps) FY_TRY(fy_dim_merge(fy_dim_of(ctx->in[0], 0), fy_dim_of(ctx->in[0], 1), &n, err));
  if (fy_shape_attr_bool(ctx, "pad_to_max_output_size")) {
    FY_TRY(fy_shape_dim_from_scalar(ctx, 2, &limit, err));
  }
  FY_TRY(fy_shape_set(ctx, 0, 1, &limit, err));
  if (ctx->num_outputs == 3) FY_TRY(fy_shape_set(ctx, 1, 1, &limit, err));
  return ctx->num_outputs > 1 ? fy_shape_set(ctx, ctx->num_outputs - 1, 0, NULL, err) : FY_OK;
}

#define BOXES "f32[3,4]=0,0,1,1,0,0,1,1.1,0,2,1,3; f32[3]=0.5,0.9,0.7; i32[]=3"
static const fy_sample v1_samples[] = {
    {BOXES, "iou_threshold=0.5", FY_OK, "1,2"},
    {"f32[3,4]=zeros; f32[2]=zeros; i32[]=3", NULL, FY_INVALID_ARGUMENT,
     "scores has incompatible shape"},
};
static const fy_sample v2_samples[] = {
    {BOXES "; f32[]=0.5", NULL, FY_OK, "1,2"},
    {"f16[2,4]=0,0,1,1,0,0,1,1; f16[2]=1,2; i32[]=2; f16[]=0.5", NULL, FY_OK, "1"},
};
static const fy_sample v3_samples[] = {{BOXES "; f32[]=0.5; f32[]=0.8", NULL, FY_OK, "1"}};
static const fy_sample v4_samples[] = {
    {BOXES "; f32[]=0.5; f32[]=0.0", "pad_to_max_output_size=true", FY_OK, "1,2,0"}};
static const fy_sample v5_samples[] = {
    {BOXES "; f32[]=0.5; f32[]=0.0; f32[]=0.0", NULL, FY_OK, "1,2"},
    {BOXES "; f32[]=1.0; f32[]=0.0; f32[]=0.5", NULL, FY_OK, "1,2,0"}};
static const fy_sample overlap_samples[] = {
    {"f32[2,2]=1,0.2,0.2,1; f32[2]=1,2; i32[]=2; f32[]=0.5; f32[]=0.0", NULL, FY_OK, "1,0"}};

#define NON_MAX(Name, hosts, data, array)                                         \
  FY_OP(Name, .shape = non_max_shape, .compute = non_max, .flags = FY_OP_DYNAMIC, \
        .host_inputs = hosts, .aux = data, FY_SAMPLES(array))
NON_MAX(NonMaxSuppression, 4, NULL, v1_samples);
NON_MAX(NonMaxSuppressionV2, 12, NULL, v2_samples);
NON_MAX(NonMaxSuppressionV3, 28, NULL, v3_samples);
NON_MAX(NonMaxSuppressionV4, 28, NULL, v4_samples);
NON_MAX(NonMaxSuppressionV5, 60, NULL, v5_samples);
NON_MAX(NonMaxSuppressionWithOverlaps, 28, "overlaps", overlap_samples);
