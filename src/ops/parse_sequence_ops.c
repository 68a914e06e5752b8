// SPDX-License-Identifier: Apache-2.0
// parse_sequence_ops.c: the ops behind parse_sequence.c: which features a call wants, from attributes
// (version 1), vectors of names (version 2) or one input per name (ParseSingleSequenceExample).

#include <stdio.h>

#include "ops/parse_sequence.h"
#include "ops/shape_fns.h"
#include "ops/values.h"

// ---------------------------------------------------------------- attributes and inputs
static int length_of(const fy_attrs *attrs, const char *name) {
  const fy_attr *a = fy_attrs_get(attrs, name);
  return a ? (int)a->n : 0;
}
static const fy_dtype *types_of(const fy_attrs *attrs, const char *name) {
  const fy_attr *a = fy_attrs_get(attrs, name);
  return a ? a->v.types : NULL;
}

typedef struct counts {
  int cs, cd, cr, fs, fd, fr;
  int64_t version;  // 1, 2; 0 = ParseSingleSequenceExample
} counts;

static counts count_all(const fy_attrs *attrs, const char *op) {
  return (counts){.cs = length_of(attrs, "context_sparse_types"),
                  .cd = length_of(attrs, "Tcontext_dense"),
                  .cr = length_of(attrs, "context_ragged_value_types"),
                  .fs = length_of(attrs, "feature_list_sparse_types"),
                  .fd = length_of(attrs, "feature_list_dense_types"),
                  .fr = length_of(attrs, "feature_list_ragged_value_types"),
                  .version = !strcmp(op, "ParseSequenceExampleV2")       ? 2
                             : !strcmp(op, "ParseSingleSequenceExample") ? 0
                                                                         : 1};
}

static fy_code check_counts(fy_site *site, fy_error *err) {
  const counts n = count_all(site->attrs, site->op->spec->name);
  static const struct {
    const char *attr, *types;
  } pairs[] = {{"Ncontext_sparse", "context_sparse_types"},
               {"Nfeature_list_sparse", "feature_list_sparse_types"},
               {"Nfeature_list_dense", "feature_list_dense_types"},
               {"Ncontext_dense", "Tcontext_dense"}};
  for (int i = 0; i < 4; i++) {
    if (i == 3 && n.version == 2) break;
    if (fy_site_int(site, pairs[i].attr) != length_of(site->attrs, pairs[i].types)) {
      return fy_fail(err, FY_INVALID_ARGUMENT, "%s must be len(%s)", pairs[i].attr, pairs[i].types);
    }
  }
  const int wanted[] = {n.cd, n.fd, n.cr, n.fr};
  static const char *const lists[] = {"context_dense_shapes", "feature_list_dense_shapes",
                                      "context_ragged_split_types",
                                      "feature_list_ragged_split_types"};
  for (int i = 0; i < (n.version == 2 ? 4 : 2); i++) {
    if (length_of(site->attrs, lists[i]) != wanted[i]) {
      return fy_fail(err, FY_INVALID_ARGUMENT, "len(%s) must be %d, not %d", lists[i], wanted[i],
                     length_of(site->attrs, lists[i]));
    }
  }
  for (int i = 0; i < 2; i++) {
    const fy_attr *a = fy_site_attr(site, lists[i]);
    for (uint32_t k = 0; a && k < a->n; k++) {
      const fy_pshape s = a->v.shapes[k];
      int64_t count;
      if (!fy_shape_known(s) || !fy_shape_count(s.rank, s.dims, &count)) {
        char text[128];
        return fy_fail(err, FY_INVALID_ARGUMENT, "%s[%u] is not fully defined: %s", lists[i], k,
                       fy_shape_text(s.rank, s.dims, text));
      }
    }
  }
  if (n.version == 1) {
    const int keys[] = {n.cs, n.cd, n.fs, n.fd};
    static const char *const names[] = {"context_sparse_keys", "context_dense_keys",
                                        "feature_list_sparse_keys", "feature_list_dense_keys"};
    for (int i = 0; i < 4; i++) {
      if (length_of(site->attrs, names[i]) != keys[i]) {
        return fy_fail(err, FY_INVALID_ARGUMENT, "len(%s) must be %d, not %d", names[i], keys[i],
                       length_of(site->attrs, names[i]));
      }
    }
  }
  return FY_OK;
}

// Where the keys of a group come from: an attribute, one vector input, or scalar inputs.
static fy_code take_keys(fy_kernel_ctx *ctx, const counts *n, const char *attr, int input,
                         int count, const char *text, fy_view *keys, fy_error *err) {
  if (n->version == 1) {
    for (int i = 0; i < count; i++) keys[i] = fy_site_attr(ctx->site, attr)->v.strings[i];
    return FY_OK;
  }
  if (n->version == 2) {
    if (ctx->in[input]->count != count) return fy_fail(err, FY_INVALID_ARGUMENT, "%s", text);
    for (int i = 0; i < count; i++) keys[i] = fy_tensor_string(ctx->in[input], i);
    return FY_OK;
  }
  for (int i = 0; i < count; i++) {
    const fy_tensor *t = ctx->in[input + i];
    char shape[128];
    if (t->rank != 0) {
      return fy_fail(err, FY_INVALID_ARGUMENT, "Expected %s[%d] to be a scalar, got shape: %s",
                     attr, i, fy_tensor_shape_text(t, shape));
    }
    keys[i] = fy_tensor_string(t, 0);
  }
  return FY_OK;
}

static bool among(const fy_kernel_ctx *ctx, const counts *n, int i, fy_view key) {
  if (n->version == 2) return ((const bool *)ctx->in[8]->data)[i];
  if (n->version == 0) {
    for (int64_t k = 0; k < ctx->in[1]->count; k++) {
      if (fy_view_eq(fy_tensor_string(ctx->in[1], k), key)) return true;
    }
    return false;
  }
  const fy_attr *a = fy_site_attr(ctx->site, "feature_list_dense_missing_assumed_empty");
  for (uint32_t k = 0; a && k < a->n; k++) {
    if (fy_view_eq(a->v.strings[k], key)) return true;
  }
  return false;
}

static fy_code check_presets(const fy_seq_call *c, int first, int n, int version, fy_error *err) {
  char a[128], b[128];
  for (int d = 0; d < n; d++) {
    const fy_seq_item *f = &c->items[first + d];
    if (f->preset->count == 0 ||
        fy_shape_equal(f->preset->rank, f->preset->dims, f->shape.rank, f->shape.dims)) {
      continue;
    }
    return fy_fail(err, FY_INVALID_ARGUMENT,
                   "%s[%d].shape() == %s != context_dense_shapes%s[%d] == %s",
                   version ? "default_value" : "def_value", d, fy_tensor_shape_text(f->preset, a),
                   version ? "" : "_", d, fy_shape_text(f->shape.rank, f->shape.dims, b));
  }
  return FY_OK;
}

static fy_code gather(fy_kernel_ctx *ctx, fy_seq_call *c, const counts *n, fy_error *err) {
  const fy_attrs *attrs = ctx->site->attrs;
  const int cs = 0, cd = cs + n->cs, cr = cd + n->cd, fs = cr + n->cr, fd = fs + n->fs,
            fr = fd + n->fd;
  // Inputs: keys in the order context sparse, dense, (ragged), lists sparse, dense, (ragged).
  const bool two = n->version == 2;
  const int in_cs = 2, in_cd = two ? 3 : in_cs + n->cs, in_fs = two ? 5 : in_cd + n->cd,
            in_fd = two ? 6 : in_fs + n->fs;
  const int presets = n->version == 1 ? 2 : two ? 9 : in_fd + n->fd;
  FY_TRY(take_keys(ctx, n, "context_dense_keys", in_cd, n->cd,
                   "Expected len(context_dense_keys) to match len(Tcontext_dense)", c->keys + cd,
                   err));
  FY_TRY(take_keys(ctx, n, "context_sparse_keys", in_cs, n->cs,
                   "Expected len(context_sparse_keys) to match Ncontext_sparse", c->keys + cs,
                   err));
  if (two) {
    FY_TRY(take_keys(ctx, n, "", 4, n->cr,
                     "Expected len(context_ragged_keys) to match len(context_ragged_value_types)",
                     c->keys + cr, err));
  }
  FY_TRY(take_keys(ctx, n, "feature_list_dense_keys", in_fd, n->fd,
                   "Expected len(feature_list_dense_keys) to match Nfeature_list_dense",
                   c->keys + fd, err));
  if (two && ctx->in[8]->count != n->fd) {
    return fy_fail(err, FY_INVALID_ARGUMENT,
                   "Expected len(feature_list_dense_missing_assumed_empty to match "
                   "Nfeature_list_dense");
  }
  FY_TRY(take_keys(ctx, n, "feature_list_sparse_keys", in_fs, n->fs,
                   "Expected len(feature_list_sparse_keys) to match Nfeature_list_sparse",
                   c->keys + fs, err));
  if (two) {
    FY_TRY(take_keys(ctx, n, "", 7, n->fr,
                     "Expected len(feature_list_ragged_keys) to match "
                     "len(feature_list_ragged_value_types)",
                     c->keys + fr, err));
  }
  int out = 0;
  for (int i = 0; i < n->cs; i++) {
    c->items[cs + i] = (fy_seq_item){.kind = FY_SEQ_SPARSE,
                                     .type = types_of(attrs, "context_sparse_types")[i],
                                     .out = out + i,
                                     .gap = n->cs};
  }
  out += 3 * n->cs;
  for (int i = 0; i < n->cd; i++) {
    fy_seq_item *f = &c->items[cd + i];
    *f = (fy_seq_item){.kind = FY_SEQ_DENSE,
                       .type = types_of(attrs, "Tcontext_dense")[i],
                       .shape = fy_attrs_get(attrs, "context_dense_shapes")->v.shapes[i],
                       .preset = ctx->in[presets + i],
                       .out = out + i};
    f->stride = fy_product(f->shape.dims, f->shape.rank);
  }
  FY_TRY(check_presets(c, cd, n->cd, (int)n->version, err));
  out += n->cd;
  for (int i = 0; i < n->cr; i++) {
    c->items[cr + i] = (fy_seq_item){.kind = FY_SEQ_RAGGED,
                                     .type = types_of(attrs, "context_ragged_value_types")[i],
                                     .out = out + i,
                                     .gap = n->cr};
  }
  out += 2 * n->cr;
  for (int i = 0; i < n->fs; i++) {
    c->items[fs + i] = (fy_seq_item){.list = true,
                                     .kind = FY_SEQ_SPARSE,
                                     .type = types_of(attrs, "feature_list_sparse_types")[i],
                                     .out = out + i,
                                     .gap = n->fs};
  }
  out += 3 * n->fs;
  for (int i = 0; i < n->fd; i++) {
    fy_seq_item *f = &c->items[fd + i];
    *f = (fy_seq_item){.list = true,
                       .kind = FY_SEQ_DENSE,
                       .type = types_of(attrs, "feature_list_dense_types")[i],
                       .shape = fy_attrs_get(attrs, "feature_list_dense_shapes")->v.shapes[i],
                       .may_miss = among(ctx, n, i, c->keys[fd + i]),
                       .out = out + i,
                       .gap = n->version ? n->fd : 0};
    f->stride = fy_product(f->shape.dims, f->shape.rank);
  }
  out += n->version ? 2 * n->fd : n->fd;
  for (int i = 0; i < n->fr; i++) {
    c->items[fr + i] = (fy_seq_item){.list = true,
                                     .kind = FY_SEQ_RAGGED,
                                     .type = types_of(attrs, "feature_list_ragged_value_types")[i],
                                     .out = out + i,
                                     .gap = n->fr};
  }
  c->num_context = fs;
  return FY_OK;
}

static fy_code parse(fy_kernel_ctx *ctx, fy_error *err) {
  const counts n = count_all(ctx->site->attrs, ctx->site->op->spec->name);
  fy_seq_call c = {.serialized = ctx->in[0], .one = n.version == 0};
  char a[128];
  void *memory;
  c.names = n.version ? ctx->in[1] : ctx->in[ctx->site->num_inputs - 1];
  if (c.serialized->rank > (c.one ? 0 : 1)) {
    return fy_fail(err, FY_INVALID_ARGUMENT, "Expected serialized to be a scalar%s, got shape: %s",
                   c.one ? "" : " or vector", fy_tensor_shape_text(c.serialized, a));
  }
  if (c.one && ctx->in[1]->rank != 1) {
    return fy_fail(
        err, FY_INVALID_ARGUMENT,
        "Expected feature_list_dense_missing_assumed_empty to be a vector, got shape: %s",
        fy_tensor_shape_text(ctx->in[1], a));
  }
  if (c.one && c.names->rank != 0) {
    return fy_fail(err, FY_INVALID_ARGUMENT, "Expected debug_name to be a scalar, got shape: %s",
                   fy_tensor_shape_text(c.names, a));
  }
  c.batch = c.serialized->rank == 1;
  c.examples = c.serialized->count;
  if (c.names->count && c.names->count != c.examples) {
    return fy_fail(err, FY_INVALID_ARGUMENT,
                   "example_names must be empty or have the correct number of elements");
  }
  c.n = n.cs + n.cd + n.cr + n.fs + n.fd + n.fr;
  FY_TRY(
      fy_scratch(ctx, ((size_t)c.n + 1) * (sizeof(fy_seq_item) + sizeof(fy_view)), &memory, err));
  c.items = memory;
  c.keys = (fy_view *)(c.items + c.n + 1);
  FY_TRY(gather(ctx, &c, &n, err));
  return fy_sequence_parse(ctx, &c, err);
}

// ---------------------------------------------------------------- shapes
static fy_code set_group(fy_shape_ctx *ctx, int first, int n, int32_t rank, const int64_t *dims,
                         fy_error *err) {
  for (int i = 0; i < n; i++) FY_TRY(fy_shape_set(ctx, first + i, rank, dims, err));
  return FY_OK;
}

static fy_code set_dense(fy_shape_ctx *ctx, const char *attr, int first, int n, bool batch,
                         bool open, int64_t examples, bool rows, fy_error *err) {
  const fy_attr *a = fy_attrs_get(ctx->attrs, attr);
  for (int i = 0; a && i < n && i < (int)a->n; i++) {
    const fy_pshape s = a->v.shapes[i];
    int64_t dims[FY_MAX_RANK];
    int32_t rank = 0;
    if (s.rank < 0 || s.rank + 2 > FY_MAX_RANK || open) continue;
    if (batch) dims[rank++] = examples;
    if (rows) dims[rank++] = -1;
    for (int32_t d = 0; d < s.rank; d++) dims[rank++] = s.dims[d];
    FY_TRY(fy_shape_set(ctx, first + i, rank, dims, err));
  }
  return FY_OK;
}

// Numbers of features and the lists that tell about them.
static fy_code same_counts(const fy_attrs *attrs, counts n, fy_error *err) {
  static const struct {
    const char *what, *attr, *keys;
  } all[] = {{"context_sparse", "Ncontext_sparse", "context_sparse_keys"},
             {"context_dense", "Ncontext_dense", "context_dense_keys"},
             {"feature_list_sparse", "Nfeature_list_sparse", "feature_list_sparse_keys"},
             {"feature_list_dense", "Nfeature_list_dense", "feature_list_dense_keys"}};
  const int types[] = {n.cs, n.cd, n.fs, n.fd};
  for (int i = 0; i < 4; i++) {
    const fy_attr *a = fy_attrs_get(attrs, all[i].attr);
    if (!a || a->kind != FY_ATTR_INT) continue;
    const int keys = n.version == 1 ? length_of(attrs, all[i].keys) : types[i];
    if (a->v.i == types[i] && keys == types[i]) continue;
    if (n.version == 0) {
      return fy_fail(err, FY_INVALID_ARGUMENT, "len(%s_keys) != len(%s_types)", all[i].what,
                     all[i].what);
    }
    return fy_fail(err, FY_INVALID_ARGUMENT, "num_%s (%lld) must match the size of %s_%s (%d)",
                   all[i].what, (long long)a->v.i, all[i].what,
                   n.version == 1 && keys != a->v.i ? "keys" : "types",
                   n.version == 1 && keys != a->v.i ? keys : types[i]);
  }
  return FY_OK;
}

static fy_code parse_shape(fy_shape_ctx *ctx, fy_error *err) {
  const counts n = count_all(ctx->attrs, ctx->spec->name);
  const fy_pshape in = ctx->in[0];
  if (n.version == 0) FY_TRY(fy_shape_rank_is(in, 0, err));
  if (n.version == 1 && in.rank > 1) FY_TRY(fy_shape_rank_is(in, 1, err));
  if (n.version == 2) FY_TRY(fy_shape_rank_at_most(in, 1, err));
  if (n.version == 0) FY_TRY(fy_shape_rank_is(ctx->in[1], 1, err));
  FY_TRY(same_counts(ctx->attrs, n, err));
  for (int i = 0; n.version == 0 && i < 2; i++) {
    const char *what = i == 0 ? "context_dense" : "feature_list_dense";
    char name[48];
    snprintf(name, sizeof name, "%s_shapes", what);
    if (length_of(ctx->attrs, name) == (i == 0 ? n.cd : n.fd)) continue;
    return fy_fail(err, FY_INVALID_ARGUMENT, "len(%s_keys) != len(%s_shapes)", what, what);
  }
  // Version 1 is meant for batches; of version 2 nothing is known without a rank.
  const bool open = n.version == 2 && in.rank < 0, batch = n.version && in.rank != 0;
  const int64_t examples = in.rank == 1 ? in.dims[0] : -1;
  const int64_t splits = examples < 0 ? -1 : examples + 1;
  const int64_t w1 = open ? -1 : batch ? 2 : 1, w2 = open ? -1 : w1 + 1;
  int at = 0;
  FY_TRY(set_group(ctx, at, n.cs, 2, (int64_t[]){-1, w1}, err));
  FY_TRY(set_group(ctx, at + n.cs, n.cs, 1, NULL, err));
  FY_TRY(set_group(ctx, at + 2 * n.cs, n.cs, 1, &w1, err));
  at += 3 * n.cs;
  FY_TRY(set_dense(ctx, "context_dense_shapes", at, n.cd, batch, open, examples, false, err));
  at += n.cd;
  FY_TRY(set_group(ctx, at, n.cr, 1, NULL, err));
  FY_TRY(set_group(ctx, at + n.cr, n.cr, batch ? 1 : 0, &splits, err));
  at += 2 * n.cr;
  FY_TRY(set_group(ctx, at, n.fs, 2, (int64_t[]){-1, w2}, err));
  FY_TRY(set_group(ctx, at + n.fs, n.fs, 1, NULL, err));
  FY_TRY(set_group(ctx, at + 2 * n.fs, n.fs, 1, &w2, err));
  at += 3 * n.fs;
  FY_TRY(set_dense(ctx, "feature_list_dense_shapes", at, n.fd, batch, open, examples, true, err));
  at += n.fd;
  if (n.version) {
    if (!open) FY_TRY(set_group(ctx, at, n.fd, batch ? 1 : 0, &examples, err));
    at += n.fd;
  }
  FY_TRY(set_group(ctx, at, n.fr, 1, NULL, err));
  FY_TRY(set_group(ctx, at + n.fr, n.fr, batch ? 1 : 0, &splits, err));
  return set_group(ctx, at + 2 * n.fr, n.fr, 1, NULL, err);
}

static const fy_sample v1_samples[] = {
    {"s[2]='',''; s[0]=; i64[1]=5",
     "feature_list_dense_missing_assumed_empty=[]; context_sparse_keys=[]; "
     "context_dense_keys=[\"c\"]; "
     "feature_list_sparse_keys=[]; feature_list_dense_keys=[]; Ncontext_dense=1; "
     "context_dense_shapes=[[1]]; Tcontext_dense=[int64]",
     FY_OK, "5,5"}};
static const fy_sample v2_samples[] = {
    {"s[]=''; s[0]=; s[0]=; s[1]='c'; s[0]=; s[0]=; s[0]=; s[0]=; b[0]=; i64[1]=5",
     "context_dense_shapes=[[1]]; Tcontext_dense=[int64]", FY_OK, "5"}};
static const fy_sample single_samples[] = {
    {"s[]=''; s[0]=; s[]='c'; i64[0]=; s[]='me'",
     "Ncontext_dense=1; context_dense_shapes=[[1]]; Tcontext_dense=[int64]; Ncontext_sparse=0; "
     "Nfeature_list_sparse=0; Nfeature_list_dense=0",
     FY_INVALID_ARGUMENT, "Name: me, Context feature 'c' is required but could not be found."}};

#define SEQUENCE_OP(name, list)                                                \
  FY_OP(name, .shape = parse_shape, .prepare = check_counts, .compute = parse, \
        .flags = FY_OP_HOST | FY_OP_DYNAMIC, FY_SAMPLES(list))
SEQUENCE_OP(ParseSequenceExample, v1_samples);
SEQUENCE_OP(ParseSequenceExampleV2, v2_samples);
SEQUENCE_OP(ParseSingleSequenceExample, single_samples);
