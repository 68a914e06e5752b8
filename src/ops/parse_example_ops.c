// SPDX-License-Identifier: Apache-2.0
// parse_example_ops.c: the ops behind parse_example.c: which features a call wants, from attributes
// (ParseSingleExample), one input per name (ParseExample) or vectors of names (ParseExampleV2).

#include "base/alloc.h"
#include "ops/parse_example.h"
#include "ops/shape_fns.h"
#include "ops/values.h"

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
  fy_ex_plan *p = fy_calloc(1, sizeof *p);
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
    const int keys = list_length(site, "sparse_keys");
    if (keys != p->num_sparse || num_sparse != p->num_sparse) {
      return fy_fail(
          err, FY_INVALID_ARGUMENT,
          "num_sparse (%d) must match the size of sparse_keys (%d) and sparse_types (%d)",
          num_sparse, keys, p->num_sparse);
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
static fy_code check_preset(const fy_ex_feature *f, fy_error *err) {
  char a[128], b[128];
  const fy_tensor *t = f->preset;
  if (f->kind == FY_EX_VARLEN) {
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

static fy_code check_serialized(const fy_ex_call *c, int version, fy_error *err) {
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
static fy_code gather(fy_kernel_ctx *ctx, const fy_ex_plan *p, fy_ex_call *c, fy_view *keys,
                      fy_error *err) {
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
    c->features[n] = (fy_ex_feature){.kind = FY_EX_SPARSE, .type = p->sparse_types[i], .d = i};
    if (p->version == 0) keys[n] = p->sparse_keys[i];
    if (p->version == 1) FY_TRY(key_of(ctx->in[2 + i], i, true, "sparse_keys", &keys[n], err));
    if (p->version == 2) FY_TRY(key_of(ctx->in[2], i, false, "", &keys[n], err));
  }
  for (int i = 0; i < p->num_dense; i++, n++) {
    fy_ex_feature *f = &c->features[n];
    bool varlen;
    *f = (fy_ex_feature){.type = p->dense_types[i], .d = i, .shape = p->dense_shapes[i]};
    FY_TRY(dense_geometry(&f->shape, i, &varlen, &f->stride, err));
    f->kind = varlen ? FY_EX_VARLEN : FY_EX_DENSE;
    f->preset = ctx->in[presets + i];
    if (p->version == 0) keys[n] = p->dense_keys[i];
    if (p->version == 1)
      FY_TRY(key_of(ctx->in[2 + p->num_sparse + i], i, true, "dense_keys", &keys[n], err));
    if (p->version == 2) FY_TRY(key_of(ctx->in[3], i, false, "", &keys[n], err));
  }
  for (int i = 0; i < p->num_ragged; i++, n++) {
    c->features[n] = (fy_ex_feature){
        .kind = FY_EX_RAGGED, .type = p->ragged_types[i], .splits = p->split_types[i], .d = i};
    FY_TRY(key_of(ctx->in[4], i, false, "", &keys[n], err));
  }
  for (int k = 0; k < n; k++) {
    if (c->features[k].preset) FY_TRY(check_preset(&c->features[k], err));
  }
  return FY_OK;
}

static fy_code parse(fy_kernel_ctx *ctx, fy_error *err) {
  const fy_ex_plan *p = ctx->site->state;
  fy_ex_call c = {.serialized = ctx->in[0], .names = p->version ? ctx->in[1] : NULL};
  void *memory;
  c.n = p->num_sparse + p->num_dense + p->num_ragged;
  FY_TRY(check_serialized(&c, p->version, err));
  c.single = c.serialized->rank == 0;
  if (c.single) c.names = NULL;
  c.examples = c.bad = c.serialized->count;
  const size_t n = (size_t)c.n;
  FY_TRY(fy_scratch(ctx, n * (sizeof(fy_ex_feature) + sizeof(fy_view)) + fy_names_bytes(n), &memory,
                    err));
  c.features = memory;
  fy_view *keys = (fy_view *)(c.features + n);
  c.keys = keys;
  FY_TRY(gather(ctx, p, &c, keys, err));
  return fy_example_parse(ctx, p, &c, (uint32_t *)(keys + n), err);
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
  const int64_t given =
      fy_shape_attr_int(ctx, single || two ? "num_sparse" : "Nsparse", num_sparse);
  if (single && (given != num_sparse || shape_list(ctx, "sparse_keys", &a) != num_sparse)) {
    return fy_fail(
        err, FY_INVALID_ARGUMENT,
        "num_sparse (%lld) must match the size of sparse_keys (%d) and sparse_types (%d)",
        (long long)given, shape_list(ctx, "sparse_keys", &a), num_sparse);
  }
  if (given != num_sparse) {
    return fy_fail(err, FY_INVALID_ARGUMENT, "len(sparse_keys) != len(sparse_types)");
  }
  if (shape_list(ctx, "ragged_split_types", &a) != num_ragged) {
    return fy_fail(err, FY_INVALID_ARGUMENT, "len(ragged_value_types) != len(ragged_split_types)");
  }
  if (shape_list(ctx, "dense_shapes", &dense) != num_dense) {
    return fy_fail(err, FY_INVALID_ARGUMENT, "len(dense_keys) != len(dense_shapes)");
  }
  if (!single && !two) {  // names, then keys one by one
    FY_TRY(fy_shape_rank_is(ctx->in[1], 1, err));
  }
  if (two) FY_TRY(fy_shape_rank_at_most(ctx->in[1], 1, err));
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
