// SPDX-License-Identifier: Apache-2.0
// combined_nms.c: CombinedNonMaxSuppression: non-maximum suppression of each class of each image,
// then the best of all classes together. Equal scores: in a class as TensorFlow's queue hands them out,
// then in the order of discovery.

#include <math.h>

#include "ops/shape_fns.h"
#include "ops/values.h"

typedef struct found {
  float score;
  int32_t box, class_id;
  int32_t at;  // order of discovery
} found;

// Only as many as are asked for are put in order: a heap, whose root is the best.
static bool better(const found *a, const found *b) {
  return a->score != b->score ? a->score > b->score : a->at < b->at;
}
static void sift(found *heap, int64_t n, int64_t at, found x) {
  for (int64_t child; (child = 2 * at + 1) < n; at = child) {
    if (child + 1 < n && better(&heap[child + 1], &heap[child])) child++;
    if (!better(&heap[child], &x)) break;
    heap[at] = heap[child];
  }
  heap[at] = x;
}
static void make_heap(found *heap, int64_t n) {
  for (int64_t at = n / 2; at-- > 0;) sift(heap, n, at, heap[at]);
}
static found take_best(found *heap, int64_t *n) {
  const found best = heap[0];
  --*n;
  sift(heap, *n, 0, heap[*n]);
  return best;
}

// A class's candidates: the priority queue of the C++ library, which compares nothing but scores.
static void queue_rise(found *heap, int64_t at, found x) {
  for (int64_t up; at > 0 && heap[up = (at - 1) / 2].score < x.score; at = up) heap[at] = heap[up];
  heap[at] = x;
}
static found queue_pop(found *heap, int64_t *n) {
  const found best = heap[0], last = heap[--*n];
  int64_t at = 0;
  while (at < (*n - 1) / 2) {
    int64_t child = 2 * (at + 1);
    if (heap[child].score < heap[child - 1].score) child--;
    heap[at] = heap[child];
    at = child;
  }
  if (*n > 0 && *n % 2 == 0 && at == (*n - 2) / 2) {
    heap[at] = heap[2 * at + 1];
    at = 2 * at + 1;
  }
  queue_rise(heap, at, last);
  return best;
}

typedef struct nms {
  int64_t batch, boxes, q, classes;
  int64_t per_class, total, rows;  // limits; rows of the outputs
  float iou, score;
  bool pad_per_class, clip;
} nms;

// Intersection over union; corners may come in any order.
static float overlap(const float *a, const float *b) {
  const float ay0 = fminf(a[0], a[2]), ax0 = fminf(a[1], a[3]);
  const float ay1 = fmaxf(a[0], a[2]), ax1 = fmaxf(a[1], a[3]);
  const float by0 = fminf(b[0], b[2]), bx0 = fminf(b[1], b[3]);
  const float by1 = fmaxf(b[0], b[2]), bx1 = fmaxf(b[1], b[3]);
  const float area_a = (ay1 - ay0) * (ax1 - ax0), area_b = (by1 - by0) * (bx1 - bx0);
  if (area_a <= 0 || area_b <= 0) return 0;
  const float h = fmaxf(fminf(ay1, by1) - fmaxf(ay0, by0), 0);
  const float w = fmaxf(fminf(ax1, bx1) - fmaxf(ax0, bx0), 0);
  return h * w / (area_a + area_b - h * w);
}

static const float *box_of(const nms *s, const float *boxes, const found *f) {
  return boxes + ((int64_t)f->box * s->q + (s->q > 1 ? f->class_id : 0)) * 4;
}

// Appends what class |k| of one image keeps to |out|; |work| holds the candidates.
static int64_t one_class(const nms *s, int64_t k, const float *boxes, const float *scores,
                         found *work, found *out) {
  int64_t n = 0, kept = 0;
  for (int64_t i = 0; i < s->boxes; i++) {
    const float score = scores[i * s->classes + k];
    if (score > s->score) queue_rise(work, n++, (found){score, (int32_t)i, (int32_t)k, (int32_t)i});
  }
  while (n && kept < s->per_class) {
    const found best = queue_pop(work, &n);
    bool keep = true;
    for (int64_t j = kept - 1; j >= 0 && keep; j--) {
      keep = !(overlap(box_of(s, boxes, &best), box_of(s, boxes, &out[j])) > s->iou);
    }
    if (keep) out[kept++] = best;
  }
  return kept;
}

static fy_code scalar(fy_kernel_ctx *ctx, int i, const char *name, fy_error *err) {
  char x[128];
  if (ctx->in[i]->rank == 0) return FY_OK;
  return fy_fail(err, FY_INVALID_ARGUMENT, "%s must be 0-D, got shape %s", name,
                 fy_tensor_shape_text(ctx->in[i], x));
}

static fy_code read_inputs(fy_kernel_ctx *ctx, nms *s, fy_error *err) {
  const fy_tensor *boxes = ctx->in[0], *scores = ctx->in[1];
  char x[128];
  if (boxes->rank > 0 && scores->rank > 0 && boxes->dims[0] != scores->dims[0]) {
    return fy_fail(err, FY_INVALID_ARGUMENT, "boxes and scores must have same batch size");
  }
  if (boxes->rank != 4) {
    return fy_fail(err, FY_INVALID_ARGUMENT,
                   "boxes must be 4-D [batch, num_boxes, q, 4], got shape %s",
                   fy_tensor_shape_text(boxes, x));
  }
  if (scores->rank != 3) {
    return fy_fail(err, FY_INVALID_ARGUMENT,
                   "scores must be 3-D [batch, num_boxes, num_classes], got shape %s",
                   fy_tensor_shape_text(scores, x));
  }
  *s = (nms){.batch = boxes->dims[0],
             .boxes = boxes->dims[1],
             .q = boxes->dims[2],
             .classes = scores->dims[2],
             .pad_per_class = fy_site_bool(ctx->site, "pad_per_class"),
             .clip = fy_site_bool(ctx->site, "clip_boxes")};
  if (s->q != 1 && s->q != s->classes) {
    return fy_fail(err, FY_INVALID_ARGUMENT,
                   "third dimension of boxes must be either 1 or num classes");
  }
  if (boxes->dims[3] != 4) return fy_fail(err, FY_INVALID_ARGUMENT, "boxes must have 4 columns");
  if (scores->dims[1] != s->boxes) {
    return fy_fail(err, FY_INVALID_ARGUMENT, "scores has incompatible shape");
  }
  FY_TRY(scalar(ctx, 2, "max_size_per_class", err));
  const int64_t per_class = fy_tensor_int(ctx->in[2], 0);
  if (per_class <= 0) {
    return fy_fail(err, FY_INVALID_ARGUMENT, "max_size_per_class must be positive");
  }
  FY_TRY(scalar(ctx, 3, "max_total_size", err));
  s->total = fy_tensor_int(ctx->in[3], 0);
  if (s->total <= 0) return fy_fail(err, FY_INVALID_ARGUMENT, "max_total_size must be > 0");
  FY_TRY(scalar(ctx, 4, "iou_threshold", err));
  FY_TRY(scalar(ctx, 5, "score_threshold", err));
  s->iou = *(const float *)ctx->in[4]->data;
  s->score = *(const float *)ctx->in[5]->data;
  if (!(s->iou >= 0 && s->iou <= 1)) {
    return fy_fail(err, FY_INVALID_ARGUMENT, "iou_threshold must be in [0, 1]");
  }
  s->per_class = per_class < s->boxes ? per_class : s->boxes;
  s->rows = s->total;
  if (s->pad_per_class && (double)per_class * (double)s->classes < (double)s->total) {
    s->rows = per_class * s->classes;
  }
  return FY_OK;
}

static fy_code combined(fy_kernel_ctx *ctx, fy_error *err) {
  nms s;
  fy_tensor *boxes_out, *scores_out, *classes_out, *valid;
  int64_t most;
  void *memory;
  FY_TRY(read_inputs(ctx, &s, err));
  if (__builtin_mul_overflow(s.per_class, s.classes, &most) || most > INT32_MAX) {
    return fy_fail(err, FY_INVALID_ARGUMENT, "size_per_class * num_classes causes overflow");
  }
  FY_TRY(fy_out(ctx, 3, 1, &s.batch, &valid, err));
  FY_TRY(fy_out(ctx, 0, 3, (const int64_t[]){s.batch, s.rows, 4}, &boxes_out, err));
  FY_TRY(fy_out(ctx, 1, 2, (const int64_t[]){s.batch, s.rows}, &scores_out, err));
  FY_TRY(fy_out(ctx, 2, 2, (const int64_t[]){s.batch, s.rows}, &classes_out, err));
  if (boxes_out->count) {
    memset(boxes_out->data, 0, fy_tensor_bytes(boxes_out));
    memset(scores_out->data, 0, fy_tensor_bytes(scores_out));
    memset(classes_out->data, 0, fy_tensor_bytes(classes_out));
  }
  FY_TRY(fy_scratch(ctx, (size_t)(most + s.boxes) * sizeof(found), &memory, err));
  found *all = memory, *work = all + most;
  for (int64_t b = 0; b < s.batch; b++) {
    const float *boxes = (const float *)ctx->in[0]->data + b * s.boxes * s.q * 4;
    const float *scores = (const float *)ctx->in[1]->data + b * s.boxes * s.classes;
    int64_t n = 0;
    for (int64_t k = 0; k < s.classes; k++) {
      n += one_class(&s, k, boxes, scores, work, all + n);
    }
    for (int64_t i = 0; i < n; i++) all[i].at = (int32_t)i;
    make_heap(all, n);
    const int64_t limit = s.pad_per_class ? s.rows : s.total, kept = n < limit ? n : limit;
    ((int32_t *)valid->data)[b] = (int32_t)kept;
    for (int64_t i = 0; i < kept; i++) {
      const found best = take_best(all, &n);
      const float *from = box_of(&s, boxes, &best);
      float *to = (float *)boxes_out->data + (b * s.rows + i) * 4;
      for (int c = 0; c < 4; c++) {
        const float low = from[c] < 1 ? from[c] : 1;
        to[c] = s.clip ? (low < 0 ? 0 : low) : from[c];
      }
      ((float *)scores_out->data)[b * s.rows + i] = best.score;
      ((float *)classes_out->data)[b * s.rows + i] = (float)best.class_id;
    }
  }
  return FY_OK;
}

static fy_code combined_shape(fy_shape_ctx *ctx, fy_error *err) {
  int64_t n, boxes, per_class, total, rows = -1;
  FY_TRY(fy_shape_rank_is(ctx->in[0], 4, err));
  FY_TRY(fy_shape_rank_is(ctx->in[1], 3, err));
  for (int i = 2; i < 6; i++) FY_TRY(fy_shape_rank_is(ctx->in[i], 0, err));
  FY_TRY(fy_dim_is(fy_dim_of(ctx->in[0], 3), 4, err));
  const int64_t q = fy_dim_of(ctx->in[0], 2), classes = fy_dim_of(ctx->in[1], 2);
  if (q >= 0 && classes >= 0 && q != 1 && q != classes) {
    return fy_fail(err, FY_INVALID_ARGUMENT,
                   "third dimension of boxes must be either 1 or equal to the third dimension of "
                   "scores");
  }
  FY_TRY(fy_dim_merge(fy_dim_of(ctx->in[0], 0), fy_dim_of(ctx->in[1], 0), &n, err));
  FY_TRY(fy_dim_merge(fy_dim_of(ctx->in[0], 1), fy_dim_of(ctx->in[1], 1), &boxes, err));
  n = fy_dim_of(ctx->in[0], 0);
  FY_TRY(fy_shape_dim_from_scalar(ctx, 2, &per_class, err));
  if (fy_shape_int_value(ctx, 3, &total)) {
    if (total <= 0) {
      return fy_fail(err, FY_INVALID_ARGUMENT, "max_total_size should be > 0 ");
    }
    if (!fy_shape_attr_bool(ctx, "pad_per_class")) {
      rows = total;
    } else if (fy_shape_int_value(ctx, 2, &per_class) && classes >= 0) {
      if (per_class <= 0) {
        return fy_fail(err, FY_INVALID_ARGUMENT, "max_output_size_per_class should be > 0");
      }
      rows = total <= per_class * classes ? total : per_class * classes;
    }
  }
  FY_TRY(fy_shape_set(ctx, 0, 3, (const int64_t[]){n, rows, 4}, err));
  FY_TRY(fy_shape_set(ctx, 1, 2, (const int64_t[]){n, rows}, err));
  FY_TRY(fy_shape_set(ctx, 2, 2, (const int64_t[]){n, rows}, err));
  return fy_shape_set(ctx, 3, 1, (const int64_t[]){n}, err);
}

static const fy_sample samples[] = {
    {"f32[1,2,1,4]=0,0,1,1,0,0,1,0.9; f32[1,2,1]=0.5,0.8; i32[]=2; i32[]=2; f32[]=0.5; f32[]=0",
     NULL, FY_OK, "0,0,1,0.9,0,0,0,0"},
    {"f32[1,2,1,4]=zeros; f32[1,2,1]=0.5,0.8; i32[]=0; i32[]=2; f32[]=0.5; f32[]=0", NULL,
     FY_INVALID_ARGUMENT, "max_size_per_class must be positive"},
};
FY_OP(CombinedNonMaxSuppression, .shape = combined_shape, .compute = combined,
      .flags = FY_OP_DYNAMIC, .host_inputs = 0x3C, FY_SAMPLES(samples));
