// SPDX-License-Identifier: Apache-2.0
// window.c: see window.h.

#include "ops/window.h"

#include "base/alloc.h"
#include "ops/typed.h"

fy_code fy_window_resolve(fy_window *w, fy_padding padding, fy_error *err) {
  if (w->stride <= 0) {
    return fy_fail(err, FY_INVALID_ARGUMENT, "Stride must be > 0, but got %lld",
                   (long long)w->stride);
  }
  if (w->dilation < 1) {
    return fy_fail(err, FY_INVALID_ARGUMENT, "Dilation rate must be >= 1, but got %lld",
                   (long long)w->dilation);
  }
  int64_t reach, padded;
  if (__builtin_mul_overflow(w->size - 1, w->dilation, &reach) || reach >= INT64_MAX / 4 ||
      reach <= -INT64_MAX / 4 || w->in >= INT64_MAX / 4 || w->stride >= INT64_MAX / 4) {
    return fy_fail(err, FY_INVALID_ARGUMENT, "window too large");
  }
  reach += 1;
  if (padding == FY_PAD_SAME) {
    w->out = (w->in + w->stride - 1) / w->stride;
    int64_t need;
    if (__builtin_mul_overflow(w->out - 1, w->stride, &need)) need = 0;
    need += reach - w->in;
    if (need < 0) need = 0;
    w->before = need / 2;
    w->after = need - w->before;
  } else {
    if (padding == FY_PAD_VALID) w->before = w->after = 0;
    if (w->before >= INT64_MAX / 8 || w->after >= INT64_MAX / 8) {
      return fy_fail(err, FY_INVALID_ARGUMENT, "window too large");
    }
    padded = w->in + w->before + w->after;
    w->out = (padded - reach + w->stride) / w->stride;
  }
  if (w->out < 0) {
    return fy_fail(err, FY_INVALID_ARGUMENT,
                   "Computed output size would be negative: %lld [input_size: %lld, "
                   "effective_filter_size: %lld, stride: %lld]",
                   (long long)w->out, (long long)w->in, (long long)reach, (long long)w->stride);
  }
  return FY_OK;
}

void fy_window_skip_rest(fy_window *w) {
  const int64_t over = w->in - (w->out - 1) * w->stride - ((w->size - 1) * w->dilation + 1);
  if (over <= 0 || w->out == 0) return;
  w->before = -(over / 2);
  w->after = -(over - over / 2);
}

void fy_window_range(const fy_window *w, int64_t k, int64_t *lo, int64_t *hi) {
  const int64_t shift = k * w->dilation - w->before;  // input = output * stride + shift
  *lo = shift >= 0 ? 0 : (-shift + w->stride - 1) / w->stride;
  const int64_t room = w->in - shift;  // output * stride < room
  *hi = room <= 0 ? 0 : (room + w->stride - 1) / w->stride;
  if (*hi > w->out) *hi = w->out;
  if (*lo > *hi) *lo = *hi;
}

// ---------------------------------------------------------------- attributes
static const fy_attr *int_list(const fy_attrs *attrs, const char *name) {
  const fy_attr *a = fy_attrs_get(attrs, name);
  return a && a->is_list && (a->kind == FY_ATTR_INT || a->n == 0) ? a : NULL;
}

// Puts list |name| in [depth, height, width] order; its batch and channel entries aside.
static int read_dims(const fy_attrs *attrs, const char *name, const fy_window_attrs *a,
                     int64_t to[3], int64_t *n, int64_t *c) {
  const fy_attr *list = int_list(attrs, name);
  *n = *c = 1;
  for (int i = 0; i < 3; i++) to[i] = 1;
  if (!list) return -1;
  if ((int)list->n != a->spatial + 2) return (int)list->n;
  *n = list->v.ints[0];
  *c = list->v.ints[fy_channel_dim(a)];
  for (int i = 0; i < a->spatial; i++) {
    to[3 - a->spatial + i] = list->v.ints[fy_spatial_dim(a, i)];
  }
  return (int)list->n;
}

bool fy_channels_last(const fy_attrs *attrs) {
  const fy_attr *format = fy_attrs_get(attrs, "data_format");
  return !format || format->kind != FY_ATTR_STRING || format->v.s.n < 2 ||
         (format->v.s.p[1] != 'C' && !fy_view_is(format->v.s, "CHANNELS_FIRST"));
}

// A quantized convolution's own paddings replace its `padding` unless all are zero.
static const fy_attr *paddings(const fy_attrs *attrs, fy_window_attrs *out) {
  const fy_attr *pads = int_list(attrs, "explicit_paddings"),
                *own = pads ? NULL : int_list(attrs, "padding_list");
  for (uint32_t i = 0; own && i < own->n; i++) {
    if (own->v.ints[i]) {
      out->padding = FY_PAD_EXPLICIT;
      return own;
    }
  }
  return pads;
}

void fy_window_read(const fy_attrs *attrs, int spatial, fy_window_attrs *out, int lengths[3]) {
  memset(out, 0, sizeof *out);
  out->spatial = spatial;
  out->channels_last = fy_channels_last(attrs);
  const fy_attr *padding = fy_attrs_get(attrs, "padding");
  out->padding = FY_PAD_SAME;
  if (padding && padding->kind == FY_ATTR_STRING) {
    if (fy_view_is(padding->v.s, "VALID")) out->padding = FY_PAD_VALID;
    if (fy_view_is(padding->v.s, "EXPLICIT")) out->padding = FY_PAD_EXPLICIT;
  }
  lengths[0] = read_dims(attrs, "ksize", out, out->ksize, &out->ksize_n, &out->ksize_c);
  lengths[1] = read_dims(attrs, "strides", out, out->strides, &out->stride_n, &out->stride_c);
  lengths[2] =
      read_dims(attrs, "dilations", out, out->dilations, &out->dilation_n, &out->dilation_c);
  const fy_attr *pads = paddings(attrs, out);
  out->num_explicit = pads ? (int)pads->n : 0;
  if (out->num_explicit != 2 * (spatial + 2)) return;
  for (int i = 0; i < spatial; i++) {
    const int32_t d = fy_spatial_dim(out, i);
    out->before[3 - spatial + i] = pads->v.ints[2 * d];
    out->after[3 - spatial + i] = pads->v.ints[2 * d + 1];
  }
}

fy_code fy_window_check_padding(const fy_attrs *attrs, const fy_window_attrs *a, fy_error *err) {
  const fy_attr *pads = int_list(attrs, "explicit_paddings");
  if (!pads) pads = int_list(attrs, "padding_list");
  if (a->padding != FY_PAD_EXPLICIT) {
    if (a->num_explicit == 0) return FY_OK;
    return fy_fail(err, FY_INVALID_ARGUMENT,
                   "explicit_paddings attribute must be empty if the padding attribute is not "
                   "EXPLICIT");
  }
  if (a->num_explicit != 2 * (a->spatial + 2)) {
    return fy_fail(err, FY_INVALID_ARGUMENT,
                   "explicit_paddings attribute must contain %d values, but got: %d",
                   2 * (a->spatial + 2), a->num_explicit);
  }
  for (uint32_t i = 0; i < pads->n; i++) {
    if (pads->v.ints[i] < 0) {
      return fy_fail(err, FY_INVALID_ARGUMENT,
                     "All elements of explicit_paddings must be nonnegative");
    }
    if (pads->v.ints[i] > INT32_MAX) {
      return fy_fail(err, FY_INVALID_ARGUMENT, "filter too large");
    }
  }
  const int32_t c = fy_channel_dim(a);
  if (pads->v.ints[0] || pads->v.ints[1] || pads->v.ints[2 * c] || pads->v.ints[2 * c + 1]) {
    return fy_fail(err, FY_INVALID_ARGUMENT,
                   "Nonzero explicit padding in the batch or depth dimensions is not supported");
  }
  return FY_OK;
}

void fy_window_shape(const fy_window_attrs *a, int64_t n, const int64_t spatial[3], int64_t c,
                     int64_t dims[5]) {
  dims[0] = n;
  dims[fy_channel_dim(a)] = c;
  for (int i = 0; i < a->spatial; i++) dims[fy_spatial_dim(a, i)] = spatial[3 - a->spatial + i];
}

fy_code fy_window_infer(int64_t in, int64_t size, int64_t stride, int64_t dilation,
                        fy_padding padding, int64_t before, int64_t after, int64_t *out,
                        fy_error *err) {
  *out = -1;
  if (stride <= 0) {
    return fy_fail(err, FY_INVALID_ARGUMENT, "Stride must be > 0, but got %lld", (long long)stride);
  }
  if (dilation < 1) {
    return fy_fail(err, FY_INVALID_ARGUMENT, "Dilation rate must be >= 1, but got %lld",
                   (long long)dilation);
  }
  if (in < 0 || in >= INT64_MAX / 4 || stride >= INT64_MAX / 4) return FY_OK;
  if (padding == FY_PAD_SAME) {
    *out = (in + stride - 1) / stride;
    return FY_OK;
  }
  int64_t reach;
  if (size < 0 || __builtin_mul_overflow(size - 1, dilation, &reach) || reach > INT64_MAX / 4 ||
      reach < -INT64_MAX / 4 || before > INT64_MAX / 8 || after > INT64_MAX / 8) {
    return FY_OK;
  }
  if (padding == FY_PAD_EXPLICIT) in += before + after;
  if (in < reach + 1) {
    return fy_fail(err, FY_INVALID_ARGUMENT,
                   "Negative dimension size caused by subtracting %lld from %lld",
                   (long long)(reach + 1), (long long)in);
  }
  *out = (in - reach - 1 + stride) / stride;
  return FY_OK;
}

// ---------------------------------------------------------------- plain copies
#define COPIES(E, S, _)                                                                         \
  static void load_##S(const void *pi, void *po, int64_t n, int64_t m, int64_t c, bool last) {  \
    const fy_t_##S *in = pi;                                                                    \
    fy_a_##S *out = po;                                                                         \
    if (last) {                                                                                 \
      for (int64_t i = 0; i < n * m * c; i++) out[i] = FY_LD_##S(in[i]);                        \
      return;                                                                                   \
    }                                                                                           \
    for (int64_t b = 0; b < n; b++) {                                                           \
      for (int64_t k = 0; k < c; k++) {                                                         \
        for (int64_t p = 0; p < m; p++) {                                                       \
          out[(b * m + p) * c + k] = FY_LD_##S(in[(b * c + k) * m + p]);                        \
        }                                                                                       \
      }                                                                                         \
    }                                                                                           \
  }                                                                                             \
  static void store_##S(const void *pi, void *po, int64_t n, int64_t m, int64_t c, bool last) { \
    const fy_a_##S *in = pi;                                                                    \
    fy_t_##S *out = po;                                                                         \
    if (last) {                                                                                 \
      for (int64_t i = 0; i < n * m * c; i++) out[i] = FY_ST_##S(in[i]);                        \
      return;                                                                                   \
    }                                                                                           \
    for (int64_t b = 0; b < n; b++) {                                                           \
      for (int64_t k = 0; k < c; k++) {                                                         \
        for (int64_t p = 0; p < m; p++) {                                                       \
          out[(b * c + k) * m + p] = FY_ST_##S(in[(b * m + p) * c + k]);                        \
        }                                                                                       \
      }                                                                                         \
    }                                                                                           \
  }
FY_ORDERED_TYPES(COPIES, _)
typedef void (*copy_fn)(const void *in, void *out, int64_t n, int64_t m, int64_t c, bool last);
static const copy_fn loads[FY_DTYPE_COUNT] = {FY_ORDERED_TYPES(FY_LOOP_ENTRY, load)};
static const copy_fn stores[FY_DTYPE_COUNT] = {FY_ORDERED_TYPES(FY_LOOP_ENTRY, store)};

static fy_code room(fy_kernel_ctx *ctx, fy_dtype type, int64_t count, void **out, fy_error *err) {
  size_t bytes;
  if (!fy_mul_size((size_t)count, fy_dtype_storage(fy_plain_type(type)), &bytes)) {
    return fy_fail_oom(err, SIZE_MAX);
  }
  return fy_scratch(ctx, bytes, out, err);
}

fy_code fy_plain_load(fy_kernel_ctx *ctx, fy_dtype type, const void *data, int64_t n,
                      int64_t spatial, int64_t c, bool channels_last, const void **out,
                      fy_error *err) {
  *out = data;
  if (channels_last && fy_plain_type(type) == type) return FY_OK;
  if (!loads[type]) return fy_fail(err, FY_UNIMPLEMENTED, "no loop for %s", fy_dtype_name(type));
  void *copy;
  FY_TRY(room(ctx, type, n * spatial * c, &copy, err));
  if (channels_last && type == FY_HALF)
    fy_halves_to_floats(data, copy, n * spatial * c);
  else
    loads[type](data, copy, n, spatial, c, channels_last);
  *out = copy;
  return FY_OK;
}

fy_code fy_plain_room(fy_kernel_ctx *ctx, fy_dtype type, void *data, int64_t count,
                      bool channels_last, void **out, fy_error *err) {
  *out = data;
  if (channels_last && fy_plain_type(type) == type) return FY_OK;
  return room(ctx, type, count, out, err);
}

void fy_plain_store(fy_dtype type, const void *plain, void *data, int64_t n, int64_t spatial,
                    int64_t c, bool channels_last) {
  if (plain == data || !stores[type]) return;
  if (channels_last && type == FY_HALF)
    fy_floats_to_halves(plain, data, n * spatial * c);
  else
    stores[type](plain, data, n, spatial, c, channels_last);
}
