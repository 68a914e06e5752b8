// SPDX-License-Identifier: Apache-2.0
// input_tensor.c: tensors made to fit what a signature wants: other number types, a batch dimension,
// several joined, images. Operations (Cast, DecodeImage, ResizeBilinear) do the work.

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "input.h"

enum { FLOAT = 1, UINT8 = 4, STRING = 7, BOOL = 10, MAX_RANK = 254 };

static void shape_text(int rank, const int64_t *dims, char *out, size_t room) {
  size_t n = 0;
  if (rank < 0) {
    snprintf(out, room, " of any shape");
    return;
  }
  out[n++] = '[';
  for (int i = 0; i < rank && n + 24 < room; i++) {
    if (dims[i] < 0)
      n += (size_t)snprintf(out + n, room - n, "%s?", i ? "," : "");
    else
      n += (size_t)snprintf(out + n, room - n, "%s%lld", i ? "," : "", (long long)dims[i]);
  }
  snprintf(out + n, room - n, "]");
}

void input_describe(const ferry_model_value *v, char out[256]) {
  char shape[128];
  shape_text(v->rank, v->dims, shape, sizeof shape);
  snprintf(out, 256, "%.80s (%s%s)", v->name, ferry_dtype_name(v->dtype), shape);
}

static void describe_tensor(const ferry_tensor *t, char out[256]) {
  char shape[128];
  int64_t dims[16];
  int rank = ferry_tensor_rank(t);
  for (int i = 0; i < rank && i < 16; i++) dims[i] = ferry_tensor_dim(t, i);
  shape_text(rank < 16 ? rank : 16, dims, shape, sizeof shape);
  snprintf(out, 256, "%s%s", ferry_dtype_name(ferry_tensor_dtype(t)), shape);
}

// ------------------------------------------------------------------ small graphs
// Runs a chain of nodes over one tensor: each {op, attrs} takes the one before it, and |extra| too if
// its op says so.
typedef struct step {
  const char *op, *attrs;
  ferry_tensor *extra;  // a second input, or NULL
} step;

static int apply(ferry_runtime *rt, ferry_tensor *x, const step *steps, int n, ferry_tensor **out,
                 ferry_error *err) {
  ferry_graph *g = NULL;
  ferry_session *s = NULL;
  char attrs[64], name[16] = "x";
  const char *feed = "x";
  *out = NULL;
  snprintf(attrs, sizeof attrs, "dtype=%s", ferry_dtype_name(ferry_tensor_dtype(x)));
  int bad = ferry_graph_new(rt, &g, err);
  if (!bad) bad = ferry_graph_add(g, "Placeholder", "x", NULL, attrs, NULL, NULL, err);
  for (int i = 0; i < n && !bad; i++) {
    char inputs[48], extra[16], next[16];
    snprintf(extra, sizeof extra, "c%d", i);
    snprintf(next, sizeof next, "n%d", i);
    if (steps[i].extra)
      bad = ferry_graph_add(g, "Const", extra, NULL, NULL, NULL, steps[i].extra, err);
    snprintf(inputs, sizeof inputs, "%s%s%s", name, steps[i].extra ? ", " : "",
             steps[i].extra ? extra : "");
    if (!bad) bad = ferry_graph_add(g, steps[i].op, next, inputs, steps[i].attrs, NULL, NULL, err);
    memcpy(name, next, sizeof name);
  }
  const char *fetch = name;
  if (!bad) bad = ferry_session_new(rt, g, &s, err);
  if (!bad) bad = ferry_run(s, 1, &feed, &x, 1, &fetch, out, 0, err);
  ferry_session_free(s);
  ferry_graph_free(g);
  return bad;
}

// ------------------------------------------------------------------ number types
static bool is_float(int dtype) {
  return dtype == 1 || dtype == 2 || dtype == 14 || dtype == 19;
}
static bool is_integer(int dtype) {
  return dtype == 3 || dtype == 4 || dtype == 5 || dtype == 6 || dtype == 9 || dtype == 17 ||
         dtype == 22 || dtype == 23;
}

static bool is_complex(int dtype) {
  return dtype == 8 || dtype == 18;
}

static ferry_tensor *convert(ferry_runtime *rt, ferry_tensor *t, int dtype, ferry_error *err) {
  char attrs[64];
  ferry_tensor *out;
  snprintf(attrs, sizeof attrs, "DstT=%s", ferry_dtype_name(dtype));
  step cast = {"Cast", attrs, NULL};
  return apply(rt, t, &cast, 1, &out, err) ? NULL : out;
}

// Numbers become what is wanted if that loses nothing but digits: any real number to a float or a
// complex number, an integer to an integer that can hold all of them.
ferry_tensor *input_cast(ferry_runtime *rt, const char *from, ferry_tensor *t,
                         const ferry_model_value *want) {
  int have = ferry_tensor_dtype(t);
  ferry_error err = {0};
  char what[256], came[256];
  if (have == want->dtype) return t;
  bool number = is_float(have) || is_integer(have) || have == BOOL;
  bool allowed = (number && (is_float(want->dtype) || is_complex(want->dtype))) ||
                 (is_complex(have) && is_complex(want->dtype)) ||
                 (is_integer(have) && is_integer(want->dtype)) ||
                 (have == BOOL && is_integer(want->dtype));
  ferry_tensor *out = allowed ? convert(rt, t, want->dtype, &err) : NULL;
  if (out && is_integer(have) && is_integer(want->dtype)) {  // and back: did all values fit?
    ferry_tensor *back = convert(rt, out, have, &err);
    bool same =
        back && memcmp(ferry_tensor_data(back), ferry_tensor_data(t), ferry_tensor_bytes(t)) == 0;
    ferry_tensor_free(back);
    if (!same) {
      ferry_tensor_free(out);
      out = NULL;
    }
  }
  if (!out) {
    input_describe(want, what);
    describe_tensor(t, came);
    cli_error("%s: %s is wanted, but %s came%s%s", from, what, came, err.text[0] ? ": " : "",
              err.text[0] ? err.text
              : allowed   ? " with values that do not fit"
                          : ": save it with that type (NumPy: x.astype(…))");
  }
  ferry_tensor_free(t);
  return out;
}

// ------------------------------------------------------------------ shapes
static bool fits(const ferry_model_value *want, int rank, const int64_t *dims) {
  if (want->rank < 0) return true;
  if (want->rank != rank) return false;
  for (int i = 0; i < rank; i++)
    if (want->dims[i] >= 0 && want->dims[i] != dims[i]) return false;
  return true;
}

static ferry_tensor *with_shape(ferry_tensor *t, int rank, const int64_t *dims) {
  ferry_tensor *out = NULL;
  ferry_error err;
  bool strings = ferry_tensor_dtype(t) == STRING;
  int bad = strings ? ferry_tensor_strings(rank, dims, NULL, &out, &err)
                    : ferry_tensor_new(ferry_tensor_dtype(t), rank, dims, ferry_tensor_data(t),
                                       &out, &err);
  for (int64_t i = 0; strings && !bad && i < ferry_tensor_count(t); i++) {
    size_t n;
    const char *p = ferry_tensor_string(t, i, &n);
    bad = ferry_tensor_set_string(out, i, p, n, &err);
  }
  if (bad) {
    cli_fail(NULL, &err);
    ferry_tensor_free(out);
    out = NULL;
  }
  ferry_tensor_free(t);
  return out;
}

// As it is, or with a batch dimension of one before it; a list for a column; a row of one column.
ferry_tensor *input_fit(const char *from, ferry_tensor *t, const ferry_model_value *want) {
  int rank = ferry_tensor_rank(t);
  int64_t dims[MAX_RANK + 2] = {1};
  char what[256], came[256];
  if (rank > MAX_RANK) rank = MAX_RANK;
  for (int i = 0; i < rank; i++) dims[i + 1] = ferry_tensor_dim(t, i);
  if (fits(want, rank, dims + 1)) return t;
  if (fits(want, rank + 1, dims)) return with_shape(t, rank + 1, dims);
  if (rank == 1) {
    int64_t column[2] = {dims[1], 1};
    if (fits(want, 2, column)) return with_shape(t, 2, column);
  }
  if (rank == 2 && (dims[1] == 1 || dims[2] == 1) && want->rank == 1) {
    int64_t flat = dims[1] * dims[2];
    if (fits(want, 1, &flat)) return with_shape(t, 1, &flat);
  }
  if (ferry_tensor_count(t) == 1 && want->rank >= 0 && want->rank <= MAX_RANK) {  // one value
    for (int i = 0; i < want->rank; i++) dims[i] = 1;
    if (fits(want, want->rank, dims)) return with_shape(t, want->rank, dims);
  }
  input_describe(want, what);
  describe_tensor(t, came);
  cli_error(
      "%s: %s is wanted, but %s came; ? may be any size, and a missing first dimension counts "
      "as a batch of one",
      from, what, came);
  ferry_tensor_free(t);
  return NULL;
}

static void free_all(ferry_tensor **parts, int n) {
  for (int i = 0; i < n; i++) ferry_tensor_free(parts[i]);
}

static bool same_rows(const ferry_tensor *a, const ferry_tensor *b) {
  if (ferry_tensor_rank(a) != ferry_tensor_rank(b)) return false;
  for (int i = 1; i < ferry_tensor_rank(a); i++)
    if (ferry_tensor_dim(a, i) != ferry_tensor_dim(b, i)) return false;
  return true;
}

ferry_tensor *input_join(const ferry_model_value *want, ferry_tensor **parts, int n) {
  char what[256], one[256], other[256];
  ferry_error err;
  ferry_tensor *out = NULL;
  int64_t dims[MAX_RANK + 1] = {0}, at = 0;
  int rank = ferry_tensor_rank(parts[0]);
  if (n == 1) return parts[0];
  input_describe(want, what);
  for (int i = 0; i < n; i++) {
    if (rank == 0 || rank > MAX_RANK || !same_rows(parts[0], parts[i])) {
      describe_tensor(parts[0], one);
      describe_tensor(parts[i], other);
      cli_error("%s: %d values for it, but %s and %s cannot be one batch", what, n, one, other);
      free_all(parts, n);
      return NULL;
    }
    dims[0] += ferry_tensor_dim(parts[i], 0);
  }
  for (int i = 1; i < rank; i++) dims[i] = ferry_tensor_dim(parts[0], i);
  if (!fits(want, rank, dims)) {
    cli_error("%s takes one value, but %d were given", what, n);
    free_all(parts, n);
    return NULL;
  }
  bool strings = ferry_tensor_dtype(parts[0]) == STRING;
  int bad = strings ? ferry_tensor_strings(rank, dims, NULL, &out, &err)
                    : ferry_tensor_new(ferry_tensor_dtype(parts[0]), rank, dims, NULL, &out, &err);
  for (int i = 0; i < n && !bad; i++) {
    if (!strings) {
      if (ferry_tensor_bytes(parts[i]))
        memcpy((char *)ferry_tensor_data(out) + at, ferry_tensor_data(parts[i]),
               ferry_tensor_bytes(parts[i]));
      at += (int64_t)ferry_tensor_bytes(parts[i]);
      continue;
    }
    for (int64_t k = 0; k < ferry_tensor_count(parts[i]) && !bad; k++) {
      size_t len;
      const char *p = ferry_tensor_string(parts[i], k, &len);
      bad = ferry_tensor_set_string(out, at++, p, len, &err);
    }
  }
  if (bad) {
    cli_fail(what, &err);
    ferry_tensor_free(out);
    out = NULL;
  }
  free_all(parts, n);
  return out;
}

// ------------------------------------------------------------------ images
typedef struct picture {
  int64_t height, width;  // -1 = any
  int channels;           // 0 = as the file has
  bool squeeze;           // no dimension for channels
} picture;

static bool is_channels(int64_t d) {
  return d == 1 || d == 3 || d == 4;
}

// How the wanted shape reads as a picture: [b,h,w,c], [h,w,c], [b,h,w], [h,w] or [b,h*w].
static bool picture_of(const ferry_model_value *want, picture *p) {
  const int64_t *d = want->dims;
  *p = (picture){-1, -1, 0, false};
  if (want->rank < 0) return true;
  if (want->rank == 4) {
    *p = (picture){d[1], d[2], is_channels(d[3]) ? (int)d[3] : 0, false};
    return d[3] < 0 || is_channels(d[3]);
  }
  if (want->rank == 3 && is_channels(d[2])) {
    *p = (picture){d[0], d[1], (int)d[2], false};
    return true;
  }
  if (want->rank == 3) {
    *p = (picture){d[1], d[2], 1, true};
    return true;
  }
  if (want->rank == 2) {
    *p = (picture){-1, -1, 1, true};
    return true;
  }
  return false;
}

// [h,w] for a shape [?,h*w] is one row.
static ferry_tensor *fit_picture(const char *from, ferry_tensor *t, const picture *p,
                                 const ferry_model_value *want) {
  int64_t h = ferry_tensor_dim(t, 0), w = ferry_tensor_dim(t, 1);
  if (p->squeeze && want->rank == 2 && want->dims[1] == h * w && want->dims[1] != w)
    t = with_shape(t, 2, (int64_t[]){1, h * w});
  else if (p->squeeze)
    t = with_shape(t, 2, (int64_t[]){h, w});
  return t ? input_fit(from, t, want) : NULL;
}

ferry_tensor *input_image(const char *from, const void *bytes, size_t n,
                          const ferry_model_value *want, const input_options *o) {
  ferry_tensor *file, *t = NULL, *size = NULL, *scale = NULL, *offset = NULL;
  ferry_error err;
  picture p;
  char what[256], attrs[96];
  input_describe(want, what);
  if (ferry_tensor_strings(0, NULL, NULL, &file, &err) ||
      ferry_tensor_set_string(file, 0, bytes, n, &err)) {
    cli_fail(from, &err);
    return NULL;
  }
  if (want->dtype == STRING) return input_fit(from, file, want);  // the model decodes it itself
  if (!picture_of(want, &p) || (want->dtype != UINT8 && !is_float(want->dtype))) {
    cli_error("%s: %s does not take an image (uint8 or float, [height,width,channels])", from,
              what);
    ferry_tensor_free(file);
    return NULL;
  }
  snprintf(attrs, sizeof attrs, "channels=%d; dtype=uint8; expand_animations=false", p.channels);
  step decode = {"DecodeImage", attrs, NULL};
  int bad = apply(o->rt, file, &decode, 1, &t, &err);
  ferry_tensor_free(file);
  if (bad) {
    cli_fail(from, &err);
    return NULL;
  }
  int64_t h = ferry_tensor_dim(t, 0), w = ferry_tensor_dim(t, 1), c = ferry_tensor_dim(t, 2);
  bool other = (p.height >= 0 && p.height != h) || (p.width >= 0 && p.width != w);
  if (other && !o->resize) {
    char wanted[64];
    snprintf(wanted, sizeof wanted, "%lld x %lld", (long long)p.height, (long long)p.width);
    cli_error("%s: %s wants %s pixels (height x width), the image has %lld x %lld: add --resize",
              from, what, wanted, (long long)h, (long long)w);
    ferry_tensor_free(t);
    return NULL;
  }
  step steps[8];
  int count = 0;
  if (other) {
    int32_t to[2] = {(int32_t)(p.height < 0 ? h : p.height), (int32_t)(p.width < 0 ? w : p.width)};
    bad = ferry_tensor_new(3, 1, (int64_t[]){2}, to, &size, &err);
    steps[count++] = (step){"ExpandDims", NULL, NULL};
    steps[count++] = (step){"ResizeBilinear", "half_pixel_centers=true", size};
    int32_t axis = 0;
    if (!bad) bad = ferry_tensor_new(3, 0, NULL, &axis, &steps[0].extra, &err);
    steps[count++] = (step){"Squeeze", "squeeze_dims=[0]", NULL};
  } else if (is_float(want->dtype)) {
    steps[count++] = (step){"Cast", "DstT=float", NULL};
  }
  if (!bad && is_float(want->dtype) && (o->scale != 1 || o->offset != 0)) {
    float by = (float)o->scale, plus = (float)o->offset;
    bad = ferry_tensor_new(FLOAT, 0, NULL, &by, &scale, &err);
    if (!bad) bad = ferry_tensor_new(FLOAT, 0, NULL, &plus, &offset, &err);
    steps[count++] = (step){"Mul", NULL, scale};
    steps[count++] = (step){"AddV2", NULL, offset};
  }
  if (want->dtype == UINT8 && other) {
    steps[count++] = (step){"Round", NULL, NULL};
    steps[count++] = (step){"Cast", "DstT=uint8", NULL};
  }
  (void)c;
  if (!bad && count) {
    ferry_tensor *done;
    bad = apply(o->rt, t, steps, count, &done, &err);
    ferry_tensor_free(t);
    t = bad ? NULL : done;
  }
  if (other) ferry_tensor_free(steps[0].extra);
  ferry_tensor_free(size);
  ferry_tensor_free(scale);
  ferry_tensor_free(offset);
  if (bad) {
    cli_fail(from, &err);
    ferry_tensor_free(t);
    return NULL;
  }
  if (is_float(want->dtype) && want->dtype != FLOAT) t = input_cast(o->rt, from, t, want);
  return t ? fit_picture(from, t, &p, want) : NULL;
}
