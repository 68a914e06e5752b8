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
#include "ops/example_wire.h"
#include "ops/shape_fns.h"
#include "ops/text.h"
#include "ops/values.h"

typedef enum kind { SPARSE, DENSE, VARLEN, RAGGED } kind;

typedef struct feature {
  kind kind;
  fy_dtype type, splits;
  int d;           // number among its kind
  int64_t stride;  // values of one example (dense) or of one row (variable length)
  fy_pshape shape;
  const fy_tensor *preset;  // what stands for a missing dense feature
  fy_tensor *out;
} feature;

typedef struct plan {  // what the attributes say
  int num_sparse, num_dense, num_ragged;
  const fy_dtype *sparse_types, *dense_types, *ragged_types, *split_types;
  const fy_pshape *dense_shapes;
  const fy_view *sparse_keys, *dense_keys;  // ParseSingleExample only
  int version;                              // 1, 2; 0 = ParseSingleExample
} plan;

typedef struct piece {  // the list of one feature of one example
  const char *p;        // NULL: not there
  uint32_t n;
  fy_dtype type;
  size_t count;
} piece;

typedef struct call {
  const fy_tensor *serialized, *names;
  feature *features;
  const fy_view *keys;
  int n;
  fy_names index;
  piece *pieces;     // [examples, n]
  int64_t *offsets;  // [n, examples + 1] of sparse, ragged and variable-length features
  int64_t examples;
  bool single;
  int64_t bad;  // the first example with anything wrong; examples = none
} call;

// ---------------------------------------------------------------- attributes
static fy_code dense_geometry(const fy_pshape *s, int i, bool *varlen, int64_t *stride,
                              fy_error *err) {
  char text[128];
  bool fine = s->rank >= 0;
  for (int32_t d = 1; d < s->rank && fine; d++) fine = s->dims[d] >= 0;
  if (!fine) {
    return fy_fail(err, FY_INVALID_ARGUMENT,
                   "dense_shapes[%d] has unknown rank or unknown inner dimensions: %s", i,
                   fy_shape_text(s->rank, s->dims, text));
  }
  *varlen = s->rank > 0 && s->dims[0] < 0;
  if (!fy_shape_count(s->rank - *varlen, s->dims + *varlen, stride)) {
    return fy_fail(err, FY_INVALID_ARGUMENT, "dense_shapes[%d] is too large: %s", i,
                   fy_shape_text(s->rank, s->dims, text));
  }
  return FY_OK;
}

static int list_length(const fy_site *site, const char *name) {
  const fy_attr *a = fy_site_attr(site, name);
  return a ? (int)a->n : 0;
}

static fy_code lengths_differ(fy_error *err, const char *a, const char *b) {
  return fy_fail(err, FY_INVALID_ARGUMENT, "len(%s) != len(%s)", a, b);
}

static fy_code prepare(fy_site *site, fy_error *err) {
  plan *p = fy_calloc(1, sizeof *p);
  if (!p) return fy_fail_oom(err, sizeof *p);
  site->state = p;
  const char *name = site->op->spec->name;
  p->version = !strcmp(name, "ParseSingleExample") ? 0 : !strcmp(name, "ParseExample") ? 1 : 2;
  p->num_sparse = list_length(site, "sparse_types");
  p->num_dense = list_length(site, "Tdense");
  p->num_ragged = list_length(site, "ragged_value_types");
  if (p->num_sparse) p->sparse_types = fy_site_attr(site, "sparse_types")->v.types;
  if (p->num_dense) p->dense_types = fy_site_attr(site, "Tdense")->v.types;
  if (p->num_ragged) p->ragged_types = fy_site_attr(site, "ragged_value_types")->v.types;
  const int num_sparse = (int)fy_site_int(site, p->version == 1 ? "Nsparse" : "num_sparse");
  if (p->version == 1 && num_sparse != p->num_sparse) {
    return lengths_differ(err, "sparse_keys", "sparse_types");
  }
  if (p->version == 1 && fy_site_int(site, "Ndense") != p->num_dense) {
    return lengths_differ(err, "dense_keys", "dense_types");
  }
  if (p->version == 2) {
    if (num_sparse != p->num_sparse) {
      return fy_fail(err, FY_INVALID_ARGUMENT, "len(sparse_keys) != len(sparse_types)");
    }
    if (list_length(site, "ragged_split_types") != p->num_ragged) {
      return lengths_differ(err, "ragged_value_types", "ragged_split_types");
    }
    if (p->num_ragged) p->split_types = fy_site_attr(site, "ragged_split_types")->v.types;
  }
  if (p->version == 0) {
    if (list_length(site, "sparse_keys") != p->num_sparse || num_sparse != p->num_sparse) {
      return lengths_differ(err, "sparse_keys", "sparse_types");
    }
    if (list_length(site, "dense_keys") != p->num_dense) {
      return lengths_differ(err, "dense_keys", "dense_types");
    }
    if (p->num_sparse) p->sparse_keys = fy_site_attr(site, "sparse_keys")->v.strings;
    if (p->num_dense) p->dense_keys = fy_site_attr(site, "dense_keys")->v.strings;
  }
  if (list_length(site, "dense_shapes") != p->num_dense) {
    return p->version == 2
               ? fy_fail(err, FY_INVALID_ARGUMENT, "len(dense_keys) != len(dense_shapes)")
               : lengths_differ(err, "dense_keys", "dense_shapes");
  }
  if (p->num_dense) p->dense_shapes = fy_site_attr(site, "dense_shapes")->v.shapes;
  for (int i = 0; i < p->num_dense; i++) {
    bool varlen;
    int64_t stride;
    FY_TRY(dense_geometry(&p->dense_shapes[i], i, &varlen, &stride, err));
  }
  return FY_OK;
}

// ---------------------------------------------------------------- the inputs of a call
static fy_code check_preset(const feature *f, fy_error *err) {
  char a[128], b[128];
  const fy_tensor *t = f->preset;
  if (f->kind == VARLEN) {
    if (t->count == 1) return FY_OK;
    return fy_fail(err, FY_INVALID_ARGUMENT,
                   "dense_shape[%d] is a variable length shape: %s, therefore def_value[%d] must "
                   "contain a single element (the padding element).  But its shape is: %s",
                   f->d, fy_shape_text(f->shape.rank, f->shape.dims, a), f->d,
                   fy_tensor_shape_text(t, b));
  }
  if (t->count == 0 || fy_shape_equal(t->rank, t->dims, f->shape.rank, f->shape.dims)) return FY_OK;
  return fy_fail(err, FY_INVALID_ARGUMENT,
                 "def_value[%d].shape() == %s is not compatible with dense_shapes_[%d] == %s", f->d,
                 fy_tensor_shape_text(t, a), f->d, fy_shape_text(f->shape.rank, f->shape.dims, b));
}

static fy_code check_key_count(const char *what, const char *attr, int64_t got, int want,
                               fy_error *err) {
  if (got == want) return FY_OK;
  return fy_fail(err, FY_INVALID_ARGUMENT, "Expected len(%s) == %s but got: %lld vs. %d", what,
                 attr, (long long)got, want);
}

static fy_code check_serialized(const call *c, int version, fy_error *err) {
  char a[128], b[128];
  const fy_tensor *s = c->serialized;
  if (version == 0 && s->rank != 0) {
    return fy_fail(err, FY_INVALID_ARGUMENT, "Expected serialized to be a scalar, got shape: %s",
                   fy_tensor_shape_text(s, a));
  }
  if (version == 1 && s->rank != 1) {
    return fy_fail(err, FY_INVALID_ARGUMENT, "Expected serialized to be a vector, got shape: %s",
                   fy_tensor_shape_text(s, a));
  }
  if (s->rank > 1) {
    return fy_fail(err, FY_INVALID_ARGUMENT,
                   "Expected serialized to be a scalar or vector, got shape: %s",
                   fy_tensor_shape_text(s, a));
  }
  if (c->names && c->names->count > 0 &&
      !fy_shape_equal(c->names->rank, c->names->dims, s->rank, s->dims)) {
    return fy_fail(err, FY_INVALID_ARGUMENT,
                   "Expected names have the same shape as serialized: name.shape=%s, "
                   "serialized.shape=%s",
                   fy_tensor_shape_text(c->names, a), fy_tensor_shape_text(s, b));
  }
  return FY_OK;
}

static fy_code key_of(const fy_tensor *t, int64_t i, bool scalar, const char *what, fy_view *out,
                      fy_error *err) {
  char a[128];
  if (scalar && t->count < 1) {
    return fy_fail(err, FY_INVALID_ARGUMENT, "Expected %s[%lld] to be a scalar, got shape: %s",
                   what, (long long)i, fy_tensor_shape_text(t, a));
  }
  *out = fy_tensor_string(t, scalar ? 0 : i);
  return FY_OK;
}

// Fills features and keys from attributes and inputs.
static fy_code gather(fy_kernel_ctx *ctx, const plan *p, call *c, fy_view *keys, fy_error *err) {
  const int first = p->version == 0 ? 1 : p->version == 1 ? 2 : 5;
  const int presets = p->version == 1 ? first + p->num_sparse + p->num_dense : first;
  int n = 0;
  if (p->version == 2) {
    FY_TRY(check_key_count("dense_keys", "len(dense_types)", ctx->in[3]->count, p->num_dense, err));
    FY_TRY(check_key_count("sparse_keys", "num_sparse", ctx->in[2]->count, p->num_sparse, err));
    FY_TRY(check_key_count("ragged_keys", "len(ragged_value_types)", ctx->in[4]->count,
                           p->num_ragged, err));
  }
  for (int i = 0; i < p->num_sparse; i++, n++) {
    c->features[n] = (feature){.kind = SPARSE, .type = p->sparse_types[i], .d = i};
    if (p->version == 0) keys[n] = p->sparse_keys[i];
    if (p->version == 1) FY_TRY(key_of(ctx->in[2 + i], i, true, "sparse_keys", &keys[n], err));
    if (p->version == 2) FY_TRY(key_of(ctx->in[2], i, false, "", &keys[n], err));
  }
  for (int i = 0; i < p->num_dense; i++, n++) {
    feature *f = &c->features[n];
    bool varlen;
    *f = (feature){.type = p->dense_types[i], .d = i, .shape = p->dense_shapes[i]};
    FY_TRY(dense_geometry(&f->shape, i, &varlen, &f->stride, err));
    f->kind = varlen ? VARLEN : DENSE;
    f->preset = ctx->in[presets + i];
    if (p->version == 0) keys[n] = p->dense_keys[i];
    if (p->version == 1)
      FY_TRY(key_of(ctx->in[2 + p->num_sparse + i], i, true, "dense_keys", &keys[n], err));
    if (p->version == 2) FY_TRY(key_of(ctx->in[3], i, false, "", &keys[n], err));
  }
  for (int i = 0; i < p->num_ragged; i++, n++) {
    c->features[n] =
        (feature){.kind = RAGGED, .type = p->ragged_types[i], .splits = p->split_types[i], .d = i};
    FY_TRY(key_of(ctx->in[4], i, false, "", &keys[n], err));
  }
  for (int k = 0; k < n; k++) {
    if (c->features[k].preset) FY_TRY(check_preset(&c->features[k], err));
  }
  return FY_OK;
}

// ---------------------------------------------------------------- first pass
typedef struct finding {
  const call *c;
  piece *row;
  bool bad;
} finding;

// Whether an empty feature hides an earlier one of its name, as it does in batches if not dense.
static bool empty_counts(const call *c, int k) {
  return !c->single && (c->features[k].kind == SPARSE || c->features[k].kind == RAGGED);
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
    f->row[k] = (piece){list.p, (uint32_t)list.n, type, 0};
  } else if (empty_counts(f->c, k)) {
    f->row[k] = (piece){0};
  }
}

static bool copy_preset(const feature *f, int64_t e) {
  const int64_t n = f->preset->count;
  if (n == 0) return false;
  return !fy_copy_run(f->type, f->out->data, e * f->stride, f->preset->data, 0, n, NULL);
}

static bool first_pass_one(const call *c, int64_t e) {
  finding found = {.c = c, .row = c->pieces + e * c->n};
  memset(found.row, 0, (size_t)c->n * sizeof *found.row);
  if (!fy_example_walk(fy_tensor_string(c->serialized, e), on_feature, &found) || found.bad) {
    return false;
  }
  for (int k = 0; k < c->n; k++) {
    const feature *f = &c->features[k];
    piece *p = &found.row[k];
    if (!p->p) {
      if (f->kind == DENSE && !copy_preset(f, e)) return false;
      continue;
    }
    if (p->type != f->type) return false;
    const bool fixed = f->kind == DENSE;
    if (!fy_list_read(f->type, (fy_view){p->p, p->n}, fixed ? f->out : NULL,
                      fixed ? e * f->stride : 0, (size_t)f->stride, &p->count)) {
      return false;
    }
    if (fixed && p->count != (size_t)f->stride) return false;
    if (f->kind == VARLEN && (f->stride == 0 || p->count % (size_t)f->stride)) return false;
  }
  return true;
}

static void first_pass(void *arg, int64_t begin, int64_t end) {
  call *c = arg;
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
  call *c = arg;
  for (int64_t e = begin; e < end; e++) {
    for (int k = 0; k < c->n; k++) {
      const feature *f = &c->features[k];
      const piece *p = &c->pieces[e * c->n + k];
      if (f->kind == DENSE || !p->p || p->count == 0) continue;
      size_t count;
      if (!fy_list_read(f->type, (fy_view){p->p, p->n}, f->out,
                        c->offsets[(c->examples + 1) * k + e], p->count, &count)) {
        __atomic_store_n(&c->bad, 0, __ATOMIC_RELAXED);  // no memory for a string
      }
    }
  }
}

// ---------------------------------------------------------------- what was wrong
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
static bool describe(const call *c, int64_t e, int k, fy_dtype type, fy_view list, fy_str *text) {
  const feature *f = &c->features[k];
  char shape[128];
  size_t count;
  if (type != f->type) {
    if (f->kind == DENSE || f->kind == VARLEN) {
      fy_str_printf(text, "Data types don't match. Data type: %s but expected type: %s",
                    fy_dtype_name(type), fy_dtype_name(f->type));
    } else {
      fy_str_printf(text, "Data types don't match. Expected type: %s, Actual type: %s",
                    fy_dtype_name(f->type), fy_dtype_name(type));
    }
    return true;
  }
  const bool fixed = f->kind == DENSE;
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
  if (f->kind == DENSE && count != (size_t)f->stride) {
    if (c->single) {
      fy_str_printf(text, "Can't parse serialized Example: Some %s_list slice was not parsed.",
                    list_word(type));
    } else {
      fy_str_printf(text, "Number of %s values != expected.  Values size: %zu but output shape: %s",
                    list_word(type), count, shape);
    }
    return true;
  }
  if (f->kind == VARLEN && (f->stride == 0 || count % (size_t)f->stride)) {
    for (int64_t i = 0; i < e; i++) count += c->pieces[i * c->n + k].count;
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

static fy_code explain(const call *c, int64_t e, fy_error *err) {
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
    const feature *f = &c->features[k];
    if (f->kind != DENSE || seen[k] || f->preset->count) continue;
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
static fy_code dense_outputs(fy_kernel_ctx *ctx, const plan *p, call *c, fy_error *err) {
  for (int k = 0; k < c->n; k++) {
    feature *f = &c->features[k];
    int64_t dims[FY_MAX_RANK];
    int32_t rank = 0;
    if (f->kind != DENSE) continue;
    if (f->shape.rank >= FY_MAX_RANK) {
      return fy_fail(err, FY_INVALID_ARGUMENT, "dense_shapes[%d] has too many dimensions", f->d);
    }
    if (!c->single) dims[rank++] = c->examples;
    for (int32_t i = 0; i < f->shape.rank; i++) dims[rank++] = f->shape.dims[i];
    FY_TRY(fy_out(ctx, 3 * p->num_sparse + f->d, rank, dims, &f->out, err));
  }
  return FY_OK;
}

static fy_code sparse_outputs(fy_kernel_ctx *ctx, const plan *p, const call *c, int k,
                              int64_t total, int64_t most, fy_error *err) {
  feature *f = &c->features[k];
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

static fy_code ragged_outputs(fy_kernel_ctx *ctx, const plan *p, const call *c, int k,
                              int64_t total, fy_error *err) {
  feature *f = &c->features[k];
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
static fy_code varlen_output(fy_kernel_ctx *ctx, const plan *p, const call *c, int k, int64_t most,
                             fy_error *err) {
  feature *f = &c->features[k];
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

static fy_code variable_outputs(fy_kernel_ctx *ctx, const plan *p, call *c, fy_error *err) {
  for (int k = 0; k < c->n; k++) {
    if (c->features[k].kind == DENSE) continue;
    int64_t *offsets = c->offsets + (c->examples + 1) * k, total = 0, most = 0;
    for (int64_t e = 0; e < c->examples; e++) {
      const int64_t n = (int64_t)c->pieces[e * c->n + k].count;
      offsets[e] = total;
      total += n;
      most = n > most ? n : most;
    }
    offsets[c->examples] = total;
    switch (c->features[k].kind) {
      case SPARSE: FY_TRY(sparse_outputs(ctx, p, c, k, total, most, err)); break;
      case RAGGED: FY_TRY(ragged_outputs(ctx, p, c, k, total, err)); break;
      case VARLEN: FY_TRY(varlen_output(ctx, p, c, k, most, err)); break;
      case DENSE: break;
    }
  }
  return FY_OK;
}

static fy_code parse(fy_kernel_ctx *ctx, fy_error *err) {
  const plan *p = ctx->site->state;
  call c = {.serialized = ctx->in[0], .names = p->version ? ctx->in[1] : NULL};
  void *memory;
  c.n = p->num_sparse + p->num_dense + p->num_ragged;
  FY_TRY(check_serialized(&c, p->version, err));
  c.single = c.serialized->rank == 0;
  if (c.single) c.names = NULL;
  c.examples = c.bad = c.serialized->count;
  const size_t n = (size_t)c.n, examples = (size_t)c.examples;
  size_t cells, bytes;
  if (!fy_mul_size(n, examples + 1, &cells) ||
      !fy_mul_size(cells, sizeof(piece) + sizeof(int64_t), &bytes)) {
    return fy_fail_oom(err, SIZE_MAX);
  }
  FY_TRY(
      fy_scratch(ctx, n * (sizeof(feature) + sizeof(fy_view)) + fy_names_bytes(n), &memory, err));
  c.features = memory;
  fy_view *keys = (fy_view *)(c.features + n);
  c.keys = keys;
  FY_TRY(gather(ctx, p, &c, keys, err));
  if (!fy_names_build(&c.index, keys, n, (uint32_t *)(keys + n))) {
    return fy_fail(err, FY_INVALID_ARGUMENT, "A feature key is given more than once");
  }
  FY_TRY(fy_scratch(ctx, bytes + 1, &memory, err));
  c.pieces = memory;
  c.offsets = (int64_t *)(c.pieces + n * examples);
  FY_TRY(dense_outputs(ctx, p, &c, err));
  fy_parallel(ctx, c.examples, 40.0 * (double)c.n, first_pass, &c);
  if (c.bad < c.examples) return explain(&c, c.bad, err);
  FY_TRY(variable_outputs(ctx, p, &c, err));
  fy_parallel(ctx, c.examples, 20.0 * (double)c.n, second_pass, &c);
  return c.bad < c.examples ? fy_fail_oom(err, 0) : FY_OK;
}

// ---------------------------------------------------------------- shapes
static int shape_list(const fy_shape_ctx *ctx, const char *name, const fy_attr **out) {
  *out = fy_attrs_get(ctx->attrs, name);
  return *out ? (int)(*out)->n : 0;
}

static fy_code parse_shape(fy_shape_ctx *ctx, fy_error *err) {
  const bool two = !strcmp(ctx->spec->name, "ParseExampleV2");
  const bool single = !strcmp(ctx->spec->name, "ParseSingleExample");
  const fy_attr *a, *dense;
  const int num_sparse = shape_list(ctx, "sparse_types", &a);
  const int num_ragged = shape_list(ctx, "ragged_value_types", &a);
  const int num_dense = shape_list(ctx, "Tdense", &a);
  const fy_pshape in = ctx->in[0];
  if (single) FY_TRY(fy_shape_rank_is(in, 0, err));
  if (two) FY_TRY(fy_shape_rank_at_most(in, 1, err));
  if (!single && !two) FY_TRY(fy_shape_rank_is(in, 1, err));
  if (two && in.rank < 0) {
    for (int i = 0; i < num_sparse; i++) {
      FY_TRY(fy_shape_set(ctx, i, 2, NULL, err));
      FY_TRY(fy_shape_set(ctx, num_sparse + i, 1, NULL, err));
      FY_TRY(fy_shape_set(ctx, 2 * num_sparse + i, 1, NULL, err));
    }
    for (int i = 0; i < num_ragged; i++) {
      FY_TRY(fy_shape_set(ctx, 3 * num_sparse + num_dense + i, 1, NULL, err));
      FY_TRY(fy_shape_set(ctx, 3 * num_sparse + num_dense + num_ragged + i, 1, NULL, err));
    }
    return FY_OK;
  }
  const bool batch = !single && (in.rank == 1 || (!two && in.rank < 0));
  const int64_t examples = batch && in.rank == 1 ? in.dims[0] : -1, width = batch ? 2 : 1;
  for (int i = 0; i < num_sparse; i++) {
    FY_TRY(fy_shape_set(ctx, i, 2, (int64_t[]){-1, width}, err));
    FY_TRY(fy_shape_set(ctx, num_sparse + i, 1, NULL, err));
    FY_TRY(fy_shape_set(ctx, 2 * num_sparse + i, 1, &width, err));
  }
  if (shape_list(ctx, "dense_shapes", &dense) != num_dense) {
    return fy_fail(err, FY_INVALID_ARGUMENT, "len(dense_keys) != len(dense_shapes)");
  }
  for (int i = 0; i < num_dense; i++) {
    const fy_pshape s = dense->v.shapes[i];
    bool varlen;
    int64_t stride, dims[FY_MAX_RANK];
    int32_t rank = 0;
    FY_TRY(dense_geometry(&s, i, &varlen, &stride, err));
    if (s.rank >= FY_MAX_RANK) continue;
    if (batch) dims[rank++] = examples;
    for (int32_t d = 0; d < s.rank; d++) dims[rank++] = s.dims[d];
    FY_TRY(fy_shape_set(ctx, 3 * num_sparse + i, rank, dims, err));
  }
  const int ragged = 3 * num_sparse + num_dense;
  for (int i = 0; i < num_ragged; i++) {
    const int64_t splits = !batch ? 0 : examples < 0 ? -1 : examples + 1;
    FY_TRY(fy_shape_set(ctx, ragged + i, 1, NULL, err));
    FY_TRY(fy_shape_set(ctx, ragged + num_ragged + i, 1, &splits, err));
  }
  return FY_OK;
}

static const fy_sample v1_samples[] = {
    {"s[1]=''; s[0]=; s[]='a'; s[]='b'; f32[2]=1,2",
     "Nsparse=1; Ndense=1; sparse_types=[int64]; Tdense=[float]; dense_shapes=[[2]]", FY_OK, NULL},
    {"s[1]=''; s[0]=; s[]='b'; f32[0]=",
     "Nsparse=0; Ndense=1; sparse_types=[]; Tdense=[float]; dense_shapes=[[2]]",
     FY_INVALID_ARGUMENT, "Feature: b (data type: float) is required but could not be found."},
};
static const fy_sample v2_samples[] = {
    {"s[2]='',''; s[0]=; s[0]=; s[1]='b'; s[0]=; i64[1]=7",
     "num_sparse=0; sparse_types=[]; ragged_value_types=[]; ragged_split_types=[]; "
     "dense_shapes=[[1]]",
     FY_OK, "7,7"},
};
static const fy_sample single_samples[] = {
    {"s[]=''; i64[1]=7",
     "num_sparse=0; sparse_keys=[]; sparse_types=[]; dense_keys=[\"b\"]; dense_shapes=[[1]]", FY_OK,
     "7"},
};

#define PARSE_OP(name, samples)                                                               \
  FY_OP(name, .shape = parse_shape, .prepare = prepare, .compute = parse, .release = fy_free, \
        .flags = FY_OP_HOST | FY_OP_DYNAMIC, FY_SAMPLES(samples))
PARSE_OP(ParseExample, v1_samples);
PARSE_OP(ParseExampleV2, v2_samples);
PARSE_OP(ParseSingleExample, single_samples);
