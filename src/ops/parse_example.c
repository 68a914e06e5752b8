// SPDX-License-Identifier: Apache-2.0
// parse_example.c: ParseExample, ParseExampleV2, ParseSingleExample: serialized tf.Example messages
// to sparse, dense and ragged tensors.
//
// Two passes over the batch, both split over threads by example. The first finds each wanted feature
// (the last entry of a name wins, unless it is empty), writes dense values of fixed size where they
// belong and counts the others; the second writes those behind one another. When anything is wrong,
// explain() goes through the first bad example again in TensorFlow's order (last entry first) to say
// what TensorFlow would.

#include "base/alloc.h"
#include "ops/parse_example.h"
#include "ops/values.h"

// ---------------------------------------------------------------- first pass
typedef struct finding {
  const fy_ex_call *c;
  fy_ex_piece *row;
  bool bad;
} finding;

// Whether an empty feature hides an earlier one of its name, as it does in batches if not dense.
static bool empty_counts(const fy_ex_call *c, int k) {
  return !c->single && (c->features[k].kind == FY_EX_SPARSE || c->features[k].kind == FY_EX_RAGGED);
}

static void on_feature(void *arg, fy_view key, fy_view value) {
  finding *f = arg;
  const int k = fy_names_find(&f->c->index, key);
  fy_dtype type;
  fy_view list;
  if (k < 0) return;
  if (!fy_feature_kind(value, &type, &list)) {
    f->bad = true;
  } else if (type != FY_INVALID) {
    f->row[k] = (fy_ex_piece){list.p, (uint32_t)list.n, type, 0};
  } else if (empty_counts(f->c, k)) {
    f->row[k] = (fy_ex_piece){0};
  }
}

static bool copy_preset(const fy_ex_feature *f, int64_t e) {
  const int64_t n = f->preset->count;
  if (n == 0) return false;
  return !fy_copy_run(f->type, f->out->data, e * f->stride, f->preset->data, 0, n, NULL);
}

static bool first_pass_one(const fy_ex_call *c, int64_t e) {
  finding found = {.c = c, .row = c->pieces + e * c->n};
  memset(found.row, 0, (size_t)c->n * sizeof *found.row);
  if (!fy_example_walk(fy_tensor_string(c->serialized, e), on_feature, &found) || found.bad) {
    return false;
  }
  for (int k = 0; k < c->n; k++) {
    const fy_ex_feature *f = &c->features[k];
    fy_ex_piece *p = &found.row[k];
    if (!p->p) {
      if (f->kind == FY_EX_DENSE && !copy_preset(f, e)) return false;
      continue;
    }
    if (p->type != f->type) return false;
    const bool fixed = f->kind == FY_EX_DENSE;
    if (!fy_list_read(f->type, (fy_view){p->p, p->n}, fixed ? f->out : NULL,
                      fixed ? e * f->stride : 0, (size_t)f->stride, &p->count)) {
      return false;
    }
    if (fixed && p->count != (size_t)f->stride) return false;
    if (f->kind == FY_EX_VARLEN && (f->stride == 0 || p->count % (size_t)f->stride)) return false;
  }
  return true;
}

static void first_pass(void *arg, int64_t begin, int64_t end) {
  fy_ex_call *c = arg;
  for (int64_t e = begin; e < end; e++) {
    if (first_pass_one(c, e)) continue;
    int64_t seen = __atomic_load_n(&c->bad, __ATOMIC_RELAXED);
    while (e < seen && !__atomic_compare_exchange_n(&c->bad, &seen, e, true, __ATOMIC_RELAXED,
                                                    __ATOMIC_RELAXED)) {
    }
    return;
  }
}

// ---------------------------------------------------------------- second pass
static void second_pass(void *arg, int64_t begin, int64_t end) {
  fy_ex_call *c = arg;
  for (int64_t e = begin; e < end; e++) {
    for (int k = 0; k < c->n; k++) {
      const fy_ex_feature *f = &c->features[k];
      const fy_ex_piece *p = &c->pieces[e * c->n + k];
      if (f->kind == FY_EX_DENSE || !p->p || p->count == 0) continue;
      size_t count;
      if (!fy_list_read(f->type, (fy_view){p->p, p->n}, f->out,
                        c->offsets[(c->examples + 1) * k + e], p->count, &count)) {
        __atomic_store_n(&c->bad, 0, __ATOMIC_RELAXED);  // no memory for a string
      }
    }
  }
}

// ---------------------------------------------------------------- what was wrong
// The first example of the part that |e| is in: TensorFlow reads up to eight parts and counts the values
// of each in a row.
static int64_t first_of_batch(int64_t examples, int64_t e) {
  const int64_t parts = examples < 8 ? examples : 8;
  int64_t first = 0;
  for (int64_t k = 1; k < parts && examples * k / parts <= e; k++) first = examples * k / parts;
  return first;
}

typedef struct entries {
  fy_view *at;  // key, value, key, value …
  size_t n, cap;
  bool failed;
} entries;

static void keep_entry(void *arg, fy_view key, fy_view value) {
  entries *list = arg;
  if (list->failed || !fy_grow(&list->at, &list->cap, list->n + 2, sizeof *list->at)) {
    list->failed = true;
    return;
  }
  list->at[list->n++] = key;
  list->at[list->n++] = value;
}

static const char *list_word(fy_dtype t) {
  return t == FY_INT64 ? "int64" : t == FY_FLOAT ? "float" : "bytes";
}

// What is wrong with a feature's value; false if nothing is.
static bool describe(const fy_ex_call *c, int64_t e, int k, fy_dtype type, fy_view list,
                     fy_str *text) {
  const fy_ex_feature *f = &c->features[k];
  char shape[128];
  size_t count;
  if (type != f->type) {
    if (f->kind == FY_EX_DENSE || f->kind == FY_EX_VARLEN) {
      fy_str_printf(text, "Data types don't match. Data type: %s but expected type: %s",
                    fy_dtype_name(type), fy_dtype_name(f->type));
    } else {
      fy_str_printf(text, "Data types don't match. Expected type: %s, Actual type: %s",
                    fy_dtype_name(f->type), fy_dtype_name(type));
    }
    return true;
  }
  const bool fixed = f->kind == FY_EX_DENSE;
  if (!fy_list_read(type, list, fixed ? f->out : NULL, fixed ? e * f->stride : 0, (size_t)f->stride,
                    &count) ||
      (fixed && type == FY_STRING && count > (size_t)f->stride)) {
    if (c->single && type == FY_STRING && !fixed) {
      fy_str_add(text, "Can't parse serialized Example: Could not get num elements in bytes_list.");
    } else if (c->single) {
      fy_str_printf(text, "Can't parse serialized Example: Parsing %s_list failed.",
                    list_word(type));
    } else {
      fy_str_add(text, "Can't parse serialized Example.");
    }
    return true;
  }
  fy_shape_text(f->shape.rank, f->shape.dims, shape);
  if (f->kind == FY_EX_DENSE && count != (size_t)f->stride) {
    if (c->single) {
      fy_str_printf(text, "Can't parse serialized Example: Some %s_list slice was not parsed.",
                    list_word(type));
    } else {
      fy_str_printf(text, "Number of %s values != expected.  Values size: %zu but output shape: %s",
                    list_word(type), count, shape);
    }
    return true;
  }
  if (f->kind == FY_EX_VARLEN && (f->stride == 0 || count % (size_t)f->stride)) {
    for (int64_t i = first_of_batch(c->examples, e); i < e; i++)
      count += c->pieces[i * c->n + k].count;
    if (c->single) {
      const fy_view key = c->keys[k];
      fy_str_printf(text,
                    "Error while parsing feature with key %.*s: number of elements should be "
                    "divisible by %lld, found %zu instead",
                    (int)key.n, key.p, (long long)f->stride, count);
    } else {
      fy_str_printf(text,
                    "Number of %s values is not a multiple of stride length. Saw %zu values but "
                    "output shape is: %s",
                    list_word(type), count, shape);
    }
    return true;
  }
  return false;
}

static fy_code explain(const fy_ex_call *c, int64_t e, fy_error *err) {
  const fy_view bytes = fy_tensor_string(c->serialized, e);
  const fy_view name =
      c->names && c->names->count ? fy_tensor_string(c->names, e) : FY_VIEW("<unknown>");
  entries list = {0};
  fy_str text;
  fy_code code = FY_OK;
  fy_str_init(&text);
  bool *seen = fy_calloc((size_t)c->n + 1, sizeof *seen);
  const bool walked = fy_example_walk(bytes, keep_entry, &list);
  if (!seen || list.failed) {
    code = fy_fail_oom(err, bytes.n);
  } else if (!walked) {
    const bool whole = !memchr(bytes.p, 0, bytes.n);  // a NUL ends the text
    code = fy_fail(err, FY_INVALID_ARGUMENT, "Could not parse example input, value: '%.*s%s",
                   (int)bytes.n, bytes.p, whole ? "'" : "");
  }
  for (size_t i = list.n; !code && i > 0; i -= 2) {
    const fy_view key = list.at[i - 2];
    const int k = fy_names_find(&c->index, key);
    fy_dtype type;
    fy_view values;
    if (k < 0) continue;
    text.len = 0;
    if (!fy_feature_kind(list.at[i - 1], &type, &values)) {
      code = fy_fail(err, FY_INVALID_ARGUMENT, "Unsupported datatype.");
      break;
    } else {
      if ((type == FY_INVALID && !empty_counts(c, k)) || seen[k]) continue;
      seen[k] = true;
      if (type == FY_INVALID) continue;
      if (!describe(c, e, k, type, values, &text)) continue;
    }
    if (c->single && !strncmp(fy_str_text(&text), "Error", 5)) {
      code = fy_fail(err, FY_INVALID_ARGUMENT, "%s", fy_str_text(&text));
    } else if (c->single) {
      code = fy_fail(err, FY_INVALID_ARGUMENT, "Key: %.*s.  %s", (int)key.n, key.p,
                     fy_str_text(&text));
    } else {
      code = fy_fail(err, FY_INVALID_ARGUMENT, "Name: %.*s, Key: %.*s, Index: %lld.  %s",
                     (int)name.n, name.p, (int)key.n, key.p, (long long)e, fy_str_text(&text));
    }
  }
  for (int k = 0; k < c->n && !code; k++) {
    const fy_ex_feature *f = &c->features[k];
    if (f->kind != FY_EX_DENSE || seen[k] || f->preset->count) continue;
    code = fy_fail(err, FY_INVALID_ARGUMENT,
                   "%s%.*s%sFeature: %.*s (data type: %s) is required but could not be found.",
                   c->single ? "" : "Name: ", c->single ? 0 : (int)name.n, name.p,
                   c->single ? "" : ", ", (int)c->keys[k].n, c->keys[k].p, fy_dtype_name(f->type));
  }
  fy_free(seen);
  fy_free(list.at);
  fy_str_free(&text);
  return code ? code : fy_fail_oom(err, bytes.n);  // only memory is left as a cause
}

// ---------------------------------------------------------------- outputs
static fy_code dense_outputs(fy_kernel_ctx *ctx, const fy_ex_plan *p, fy_ex_call *c,
                             fy_error *err) {
  for (int k = 0; k < c->n; k++) {
    fy_ex_feature *f = &c->features[k];
    int64_t dims[FY_MAX_RANK];
    int32_t rank = 0;
    if (f->kind != FY_EX_DENSE) continue;
    if (f->shape.rank >= FY_MAX_RANK) {
      return fy_fail(err, FY_INVALID_ARGUMENT, "dense_shapes[%d] has too many dimensions", f->d);
    }
    if (!c->single) dims[rank++] = c->examples;
    for (int32_t i = 0; i < f->shape.rank; i++) dims[rank++] = f->shape.dims[i];
    FY_TRY(fy_out(ctx, 3 * p->num_sparse + f->d, rank, dims, &f->out, err));
  }
  return FY_OK;
}

static fy_code sparse_outputs(fy_kernel_ctx *ctx, const fy_ex_plan *p, const fy_ex_call *c, int k,
                              int64_t total, int64_t most, fy_error *err) {
  fy_ex_feature *f = &c->features[k];
  fy_tensor *indices, *shape;
  const int64_t width = c->single ? 1 : 2;
  const int64_t *offsets = c->offsets + (c->examples + 1) * k;
  FY_TRY(fy_out(ctx, f->d, 2, (int64_t[]){total, width}, &indices, err));
  FY_TRY(fy_out(ctx, p->num_sparse + f->d, 1, &total, &f->out, err));
  FY_TRY(fy_out(ctx, 2 * p->num_sparse + f->d, 1, &width, &shape, err));
  int64_t *to = indices->data, *dims = shape->data;
  for (int64_t e = 0; e < c->examples; e++) {
    const int64_t n = offsets[e + 1] - offsets[e];
    for (int64_t i = 0; i < n; i++) {
      if (!c->single) *to++ = e;
      *to++ = i;
    }
  }
  if (!c->single) *dims++ = c->examples;
  *dims = most;
  return FY_OK;
}

static fy_code ragged_outputs(fy_kernel_ctx *ctx, const fy_ex_plan *p, const fy_ex_call *c, int k,
                              int64_t total, fy_error *err) {
  fy_ex_feature *f = &c->features[k];
  const int64_t *offsets = c->offsets + (c->examples + 1) * k;
  const int base = 3 * p->num_sparse + p->num_dense;
  fy_tensor *splits;
  FY_TRY(fy_out(ctx, base + f->d, 1, &total, &f->out, err));
  // One example alone has no rows to split.
  const int64_t n = c->single ? 0 : c->examples + 1;
  FY_TRY(fy_out(ctx, base + p->num_ragged + f->d, 1, &n, &splits, err));
  for (int64_t e = 0; e < n; e++) {
    if (f->splits == FY_INT32)
      ((int32_t *)splits->data)[e] = (int32_t)offsets[e];
    else
      ((int64_t *)splits->data)[e] = offsets[e];
  }
  return FY_OK;
}

// Rows of the longest example; the others are filled up with the preset.
static fy_code varlen_output(fy_kernel_ctx *ctx, const fy_ex_plan *p, const fy_ex_call *c, int k,
                             int64_t most, fy_error *err) {
  fy_ex_feature *f = &c->features[k];
  int64_t *offsets = c->offsets + (c->examples + 1) * k, dims[FY_MAX_RANK];
  int32_t rank = 0;
  if (f->shape.rank >= FY_MAX_RANK) {
    return fy_fail(err, FY_INVALID_ARGUMENT, "dense_shapes[%d] has too many dimensions", f->d);
  }
  if (!c->single) dims[rank++] = c->examples;
  dims[rank++] = f->stride ? most / f->stride : 0;
  for (int32_t i = 1; i < f->shape.rank; i++) dims[rank++] = f->shape.dims[i];
  FY_TRY(fy_out(ctx, 3 * p->num_sparse + f->d, rank, dims, &f->out, err));
  for (int64_t e = 0; e < c->examples; e++) {
    const int64_t n = offsets[e + 1] - offsets[e];
    offsets[e] = e * most;
    for (int64_t i = n; i < most; i++) {
      FY_TRY(fy_copy_run(f->type, f->out->data, e * most + i, f->preset->data, 0, 1, err));
    }
  }
  return FY_OK;
}

static fy_code variable_outputs(fy_kernel_ctx *ctx, const fy_ex_plan *p, fy_ex_call *c,
                                fy_error *err) {
  for (int k = 0; k < c->n; k++) {
    if (c->features[k].kind == FY_EX_DENSE) continue;
    int64_t *offsets = c->offsets + (c->examples + 1) * k, total = 0, most = 0;
    for (int64_t e = 0; e < c->examples; e++) {
      const int64_t n = (int64_t)c->pieces[e * c->n + k].count;
      offsets[e] = total;
      total += n;
      most = n > most ? n : most;
    }
    offsets[c->examples] = total;
    switch (c->features[k].kind) {
      case FY_EX_SPARSE: FY_TRY(sparse_outputs(ctx, p, c, k, total, most, err)); break;
      case FY_EX_RAGGED: FY_TRY(ragged_outputs(ctx, p, c, k, total, err)); break;
      case FY_EX_VARLEN: FY_TRY(varlen_output(ctx, p, c, k, most, err)); break;
      case FY_EX_DENSE: break;
    }
  }
  return FY_OK;
}

fy_code fy_example_parse(fy_kernel_ctx *ctx, const fy_ex_plan *p, fy_ex_call *c, uint32_t *slots,
                         fy_error *err) {
  const size_t n = (size_t)c->n, examples = (size_t)c->examples;
  void *memory;
  size_t cells, bytes;
  if (!fy_mul_size(n, examples + 1, &cells) ||
      !fy_mul_size(cells, sizeof(fy_ex_piece) + sizeof(int64_t), &bytes)) {
    return fy_fail_oom(err, SIZE_MAX);
  }
  if (!fy_names_build(&c->index, c->keys, n, slots)) {
    return fy_fail(err, FY_INVALID_ARGUMENT, "A feature key is given more than once");
  }
  FY_TRY(fy_scratch(ctx, bytes + 1, &memory, err));
  c->pieces = memory;
  c->offsets = (int64_t *)(c->pieces + n * examples);
  FY_TRY(dense_outputs(ctx, p, c, err));
  fy_parallel(ctx, c->examples, 40.0 * (double)c->n, first_pass, c);
  if (c->bad < c->examples) return explain(c, c->bad, err);
  FY_TRY(variable_outputs(ctx, p, c, err));
  fy_parallel(ctx, c->examples, 20.0 * (double)c->n, second_pass, c);
  return c->bad < c->examples ? fy_fail_oom(err, 0) : FY_OK;
}
