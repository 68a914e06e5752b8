// SPDX-License-Identifier: Apache-2.0
// uniform_geometry.c: what the attributes of a uniformly quantized convolution say about two shapes: which
// dim is which, strides, dilations, padding, groups, and the shape of the result. TensorFlow's checks, in
// its order.

#include <stdio.h>

#include "base/str.h"
#include "ops/uniform.h"
#include "wire/proto_util.h"

// ---------------------------------------------------------------- attributes
static fy_view text_attr(const fy_attrs *attrs, const char *name) {
  const fy_attr *a = fy_attrs_get(attrs, name);
  return a && a->kind == FY_ATTR_STRING && !a->is_list ? a->v.s : (fy_view){"", 0};
}
static int64_t int_attr(const fy_attrs *attrs, const char *name, int64_t otherwise) {
  const fy_attr *a = fy_attrs_get(attrs, name);
  return a && a->kind == FY_ATTR_INT && !a->is_list ? a->v.i : otherwise;
}

// dimension_numbers is a message: for input, kernel and output the numbers of batch, feature and
// spatial dims (fields 1 to 3, 4 to 6, 7 to 9; the kernel has its input features first).
static bool read_field(fy_uniform_geometry *g, uint64_t field, int64_t value) {
  if (field < 1 || field > 9) return true;
  fy_conv_layout *l = field <= 3 ? &g->in : field <= 6 ? &g->kernel : &g->out;
  const uint64_t which = (field - 1) % 3;
  if (which == 2) {
    if (l->n == FY_MAX_SPATIAL) return false;
    l->spatial[l->n++] = value;
  } else if ((which == 0) != (l == &g->kernel)) {
    l->batch = value;
  } else {
    l->feature = value;
  }
  return true;
}
bool fy_uniform_numbers(const fy_attrs *attrs, fy_uniform_geometry *g) {
  const fy_view bytes = text_attr(attrs, "dimension_numbers");
  const uint8_t *at = (const uint8_t *)bytes.p, *end = at + bytes.n;
  while (at < end) {
    uint64_t key, value;
    if (!fy_wire_varint(&at, end, &key) || !fy_wire_varint(&at, end, &value)) return false;
    if ((key & 7) == 0) {
      if (!read_field(g, key >> 3, (int64_t)value)) return false;
      continue;
    }
    if ((key & 7) != 2 || value > (uint64_t)(end - at)) return false;
    for (const uint8_t *stop = at + value; at < stop;) {
      if (!fy_wire_varint(&at, stop, &value) || !read_field(g, key >> 3, (int64_t)value))
        return false;
    }
  }
  return true;
}

static fy_code check_layout(const fy_conv_layout *l, int32_t rank, fy_error *err) {
  if (l->n != rank - 2) {
    return fy_fail(err, FY_INVALID_ARGUMENT,
                   "Spatial dimensions size must be rank - 2. Given rank %d and spatial dimensions "
                   "size %d",
                   rank, l->n);
  }
  for (int i = -2; i < l->n; i++) {
    const int64_t d = i == -2 ? l->batch : i == -1 ? l->feature : l->spatial[i];
    if (d >= 0 && d < rank) continue;
    return fy_fail(err, FY_INVALID_ARGUMENT,
                   "Each dimension number must be in region [0, rank). Given rank %d and dimension "
                   "number value %lld",
                   rank, (long long)d);
  }
  return FY_OK;
}

// Without dimension numbers: batch, feature, then space; in kernels output features, input features.
static fy_code read_layouts(const fy_attrs *attrs, fy_uniform_geometry *g, fy_error *err) {
  if (!fy_uniform_numbers(attrs, g)) {
    return fy_fail(err, FY_INVALID_ARGUMENT, "Error parsing convolution dimension numbers.");
  }
  if (!g->in.n && !g->kernel.n && !g->out.n) {
    g->in = (fy_conv_layout){.batch = 0, .feature = 1, .n = g->spatial};
    for (int i = 0; i < g->spatial; i++) g->in.spatial[i] = i + 2;
    g->kernel = g->out = g->in;
  }
  FY_TRY(check_layout(&g->in, g->rank, err));
  FY_TRY(check_layout(&g->kernel, g->rank, err));
  return check_layout(&g->out, g->rank, err);
}

static fy_code fail_list(const fy_attr *a, const char *text, fy_error *err) {
  fy_str list;
  fy_str_init(&list);
  for (uint32_t i = 0; i < a->n; i++)
    fy_str_printf(&list, "%s%lld", i ? ", " : "", (long long)a->v.ints[i]);
  fy_fail(err, FY_INVALID_ARGUMENT, "%s Given %s", text, fy_str_text(&list));
  fy_str_free(&list);
  return FY_INVALID_ARGUMENT;
}

// Ones, if the list is empty.
static fy_code read_list(const fy_attrs *attrs, const char *name, const fy_uniform_geometry *g,
                         int64_t *out, fy_error *err) {
  const fy_attr *a = fy_attrs_get(attrs, name);
  const uint32_t n = a ? a->n : 0;
  char text[96];
  if (n && n != (uint32_t)g->spatial) {
    return fy_fail(err, FY_INVALID_ARGUMENT, "Size of %s Attr must be dims - 2.", name);
  }
  for (int i = 0; i < g->spatial; i++) {
    out[i] = n ? a->v.ints[i] : 1;
    if (out[i] >= 1) continue;
    snprintf(text, sizeof text, "All elements of %s must be >= 1.", name);
    return fail_list(a, text, err);
  }
  return FY_OK;
}

fy_code fy_uniform_padding(const fy_attrs *attrs, fy_error *err) {
  const fy_view how = text_attr(attrs, "padding");
  const fy_attr *pads = fy_attrs_get(attrs, "explicit_padding");
  const bool given = fy_view_is(how, "EXPLICIT");
  if (!given && !fy_view_is(how, "SAME") && !fy_view_is(how, "VALID")) {
    return fy_fail(err, FY_INVALID_ARGUMENT,
                   "padding Attr must be one of [EXPLICIT | SAME | VALID], but given: %.*s",
                   (int)how.n, how.p);
  }
  if (!given && pads && pads->n) {
    return fy_fail(err, FY_INVALID_ARGUMENT,
                   "If padding Attr is not 'EXPLICIT', explicit_padding Attr must be empty. Given "
                   "padding %.*s and explicit_padding of size %u",
                   (int)how.n, how.p, pads->n);
  }
  return FY_OK;
}

// ---------------------------------------------------------------- sizes
static fy_code fail_groups(const char *first, const char *second, int64_t a, int64_t b,
                           fy_error *err) {
  return fy_fail(err, FY_INVALID_ARGUMENT, "%s%s, but %lld does not divide %lld", first, second,
                 (long long)a, (long long)b);
}
static fy_code check_groups(const fy_uniform_geometry *g, const int64_t *in, const int64_t *kernel,
                            fy_error *err) {
  const int64_t batch = in[g->in.batch], features = in[g->in.feature];
  const int64_t from = kernel[g->kernel.feature], to = kernel[g->kernel.batch];
  const int64_t fg = g->feature_groups, bg = g->batch_groups;
  if (fg <= 0) {
    return fy_fail(err, FY_INVALID_ARGUMENT,
                   "feature_group_count must be a positive integer, given: %lld", (long long)fg);
  }
  if (features % fg) {
    return fail_groups("feature_group_count must divide ", "lhs feature dimension size", fg,
                       features, err);
  }
  if (from == 0 || features % from) {
    return fail_groups("rhs input feature dimension must divide ", "lhs feature dimension size",
                       from, features, err);
  }
  if (features / fg != from) {
    return fy_fail(err, FY_INVALID_ARGUMENT,
                   "lhs feature dimension size divided by feature_group_count must equal the rhs "
                   "input feature dimension size, but %lld / %lld != %lld",
                   (long long)features, (long long)fg, (long long)from);
  }
  if (to % fg) {
    return fy_fail(err, FY_INVALID_ARGUMENT,
                   "rhs output dimension size must be a multiple of feature_group_count, but %lld "
                   "is not a multiple of %lld",
                   (long long)to, (long long)fg);
  }
  if (bg <= 0) {
    return fy_fail(err, FY_INVALID_ARGUMENT,
                   "batch_group_count Attr must be a positive integer. Given: %lld", (long long)bg);
  }
  if (batch % bg) {
    return fail_groups("batch_group_count must divide ", "lhs batch dimension size", bg, batch,
                       err);
  }
  if (to % bg == 0) return FY_OK;
  return fy_fail(err, FY_INVALID_ARGUMENT,
                 "rhs output dimension size must be a multiple of batch_group_count, but %lld is "
                 "not a multiple of %lld",
                 (long long)to, (long long)bg);
}

static fy_code spread(int64_t n, int64_t by, int64_t *out, fy_error *err) {  // with holes between
  if (n == 0) {
    *out = 0;
  } else if (__builtin_mul_overflow(n - 1, by, out) || __builtin_add_overflow(*out, 1, out)) {
    return fy_fail(err, FY_INVALID_ARGUMENT, "a dilation by %lld is too large", (long long)by);
  }
  return FY_OK;
}

static fy_code read_sizes(const fy_attrs *attrs, fy_uniform_geometry *g, const int64_t *in,
                          const int64_t *kernel, fy_error *err) {
  const fy_view how = text_attr(attrs, "padding");
  const fy_attr *pads = fy_attrs_get(attrs, "explicit_padding");
  const bool given = fy_view_is(how, "EXPLICIT"), same = fy_view_is(how, "SAME");
  if (given && (!pads || pads->n != 2 * (uint32_t)g->spatial)) {
    return fy_fail(err, FY_INVALID_ARGUMENT,
                   "Size of explicit_padding Attr must be 2 * (rank - 2). Given rank %d and "
                   "explicit_padding of size %u",
                   g->rank, pads ? pads->n : 0);
  }
  for (uint32_t i = 0; given && i < pads->n; i++) {
    if (pads->v.ints[i] < 0)
      return fail_list(pads, "All explicit_padding elems must be >= 0,", err);
  }
  g->out_dims[g->out.batch] = in[g->in.batch] / g->batch_groups;
  g->out_dims[g->out.feature] = kernel[g->kernel.batch];
  for (int i = 0; i < g->spatial; i++) {
    int64_t size, window, whole;
    FY_TRY(spread(in[g->in.spatial[i]], g->in_dilation[i], &size, err));
    FY_TRY(spread(kernel[g->kernel.spatial[i]], g->kernel_dilation[i], &window, err));
    if (given) {
      g->before[i] = pads->v.ints[2 * i];
      g->after[i] = pads->v.ints[2 * i + 1];
    } else if (same) {
      const int64_t n = (size + g->stride[i] - 1) / g->stride[i];
      const int64_t missing = (n - 1) * g->stride[i] + window - size;
      g->before[i] = missing > 0 ? missing / 2 : 0;
      g->after[i] = missing > 0 ? missing - missing / 2 : 0;
    }
    if (__builtin_add_overflow(size, g->before[i], &whole) ||
        __builtin_add_overflow(whole, g->after[i], &whole)) {
      return fy_fail(err, FY_INVALID_ARGUMENT, "the padding of dimension %d is too large", i);
    }
    const int64_t n = (whole - window + g->stride[i]) / g->stride[i];
    if (n < 0) {
      return fy_fail(err, FY_INVALID_ARGUMENT,
                     "Expected shape dimensions to be non-negative, got %lld", (long long)n);
    }
    g->out_dims[g->out.spatial[i]] = n;
  }
  return FY_OK;
}

fy_code fy_uniform_geometry_of(const fy_attrs *attrs, int32_t rank, const int64_t *in,
                               const int64_t *kernel, fy_uniform_geometry *g, fy_error *err) {
  if (rank < 3) {
    return fy_fail(err, FY_INVALID_ARGUMENT, "lhs and rhs shape dims must be at least 3. Given: %d",
                   rank);
  }
  *g = (fy_uniform_geometry){.rank = rank,
                             .spatial = rank - 2,
                             .feature_groups = int_attr(attrs, "feature_group_count", 1),
                             .batch_groups = int_attr(attrs, "batch_group_count", 1)};
  FY_TRY(read_list(attrs, "window_strides", g, g->stride, err));
  FY_TRY(read_list(attrs, "lhs_dilation", g, g->in_dilation, err));
  FY_TRY(read_list(attrs, "rhs_dilation", g, g->kernel_dilation, err));
  FY_TRY(read_layouts(attrs, g, err));
  FY_TRY(check_groups(g, in, kernel, err));
  return read_sizes(attrs, g, in, kernel, err);
}
