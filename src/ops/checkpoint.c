// SPDX-License-Identifier: Apache-2.0
// checkpoint.c: SaveV2, RestoreV2, MergeV2Checkpoints, and version 1: Save, SaveSlices, Restore,
// RestoreSlice. The formats are wire/'s; here are the ops' checks and texts.

#include <glob.h>
#include <string.h>
#include <unistd.h>

#include "base/alloc.h"
#include "ops/shape_fns.h"
#include "ops/values.h"
#include "wire/bundle_write.h"

static char *text_at(const fy_tensor *t, int64_t i) {
  const fy_view v = fy_tensor_string(t, i);
  return fy_strndup(v.n ? v.p : "", v.n);
}

// ---------------------------------------------------------------- version 2
static fy_code check_lists(fy_kernel_ctx *ctx, int tensors, bool save, fy_error *err) {
  const fy_tensor *prefix = ctx->in[0], *names = ctx->in[1], *slices = ctx->in[2];
  char x[128], y[128];
  if (prefix->count != 1) {
    return fy_fail(err, FY_INVALID_ARGUMENT,
                   "Input prefix should have a single element, got %lld instead.",
                   (long long)prefix->count);
  }
  if (names->rank != 1 || slices->rank != 1) {
    return fy_fail(
        err, FY_INVALID_ARGUMENT,
        "Input tensor_names and shape_and_slices should be an 1-D tensors, got %s and %s "
        "instead.",
        fy_tensor_shape_text(names, x), fy_tensor_shape_text(slices, y));
  }
  if (names->count != slices->count) {
    return fy_fail(
        err, FY_INVALID_ARGUMENT,
        "tensor_names and shape_and_slices have different number of elements: %lld vs. %lld",
        (long long)names->count, (long long)slices->count);
  }
  if (names->count == tensors) return FY_OK;
  return save ? fy_fail(err, FY_INVALID_ARGUMENT, "Got %lld tensor names but %d tensors.",
                        (long long)names->count, tensors)
              : fy_fail(err, FY_INVALID_ARGUMENT, "Got %lld tensor names, but %d expected dtypes.",
                        (long long)names->count, tensors);
}

static fy_code check_part(fy_view spec, const fy_tensor_slice *resolved, const fy_tensor *t,
                          fy_error *err) {
  char x[128];
  if (fy_shape_equal(resolved->rank, resolved->length, t->rank, t->dims)) return FY_OK;
  return fy_fail(err, FY_INVALID_ARGUMENT,
                 "Slice in shape_and_slice specification does not match the shape of the tensor to "
                 " save: %.*s, tensor: %s",
                 (int)spec.n, spec.p, fy_tensor_shape_text(t, x));
}

static fy_code save_one(fy_bundle_writer *w, fy_view name, fy_view spec, const fy_tensor *t,
                        fy_error *err) {
  fy_tensor_slice slice, resolved;
  int64_t shape[FY_INLINE_RANK];
  if (!spec.n) return fy_bundle_writer_add(w, name, t, err);
  FY_TRY(fy_slice_parse(spec, shape, &slice, &resolved, err));
  FY_TRY(check_part(spec, &resolved, t, err));
  return fy_bundle_writer_add_slice(w, name, (fy_pshape){slice.rank, shape}, &slice, t, err);
}

static fy_code save(fy_kernel_ctx *ctx, fy_error *err) {
  fy_bundle_writer *w = NULL;
  const int n = ctx->site->num_inputs - 3;
  FY_TRY(check_lists(ctx, n, true, err));
  char *prefix = text_at(ctx->in[0], 0);
  if (!prefix) return fy_fail_oom(err, 64);
  fy_code code = fy_bundle_writer_new(prefix, &w, err);
  for (int i = 0; i < n && !code; i++)
    code = save_one(w, fy_tensor_string(ctx->in[1], i), fy_tensor_string(ctx->in[2], i),
                    ctx->in[3 + i], err);
  if (!code) code = fy_bundle_writer_finish(w, err);
  fy_bundle_writer_free(w);
  fy_free(prefix);
  return code;
}

static fy_code read_part(fy_wire_bundle *b, const char *key, fy_view spec, fy_pshape stored,
                         fy_tensor **out, fy_error *err) {
  fy_tensor_slice slice, resolved;
  int64_t shape[FY_INLINE_RANK];
  char x[128], y[128];
  if (!spec.n) {
    if (stored.rank > FY_INLINE_RANK) return fy_wire_bundle_read(b, key, out, err);
    slice.rank = stored.rank;
    for (int32_t d = 0; d < stored.rank; d++) slice.length[d] = -1;
    return fy_wire_bundle_read_slice(b, key, &slice, out, err);
  }
  FY_TRY(fy_slice_parse(spec, shape, &slice, &resolved, err));
  if (!fy_shape_equal(slice.rank, shape, stored.rank, stored.dims)) {
    return fy_fail(err, FY_INVALID_ARGUMENT,
                   "tensor_name = %s; shape in shape_and_slice spec %s does not match the shape "
                   "stored in checkpoint: %s",
                   key, fy_shape_text(slice.rank, shape, x),
                   fy_shape_text(stored.rank, stored.dims, y));
  }
  return fy_wire_bundle_read_slice(b, key, &slice, out, err);
}

static fy_code restore_one(fy_kernel_ctx *ctx, fy_wire_bundle *b, int i, fy_error *err) {
  const fy_dtype want = ctx->site->out_types[i];
  fy_dtype dtype;
  fy_pshape shape;
  fy_tensor *t = NULL;
  char *key = text_at(ctx->in[1], i);
  if (!key) return fy_fail_oom(err, 64);
  fy_code code = fy_wire_bundle_info(b, key, &dtype, &shape, err);
  if (!code && dtype != want) {
    code = fy_fail(err, FY_INVALID_ARGUMENT,
                   "tensor_name = %s; expected dtype %s does not equal original dtype %s", key,
                   fy_dtype_name(want), fy_dtype_name(dtype));
  }
  if (!code) code = read_part(b, key, fy_tensor_string(ctx->in[2], i), shape, &t, err);
  if (!code) fy_out_set(ctx, i, t);
  fy_free(key);
  return code;
}

#define SHARED_BYTES ((size_t)64 << 10)  // smaller ones are not worth the comparison

// Keras writes every variable twice, under two names. What was read already is not read into memory
// once more, but shared: who writes a tensor that others hold makes a new one.
static fy_code share(fy_kernel_ctx *ctx, fy_wire_bundle *b, int i, bool *shared, fy_error *err) {
  *shared = false;
  if (fy_tensor_string(ctx->in[2], i).n) return FY_OK;
  for (int k = i - 1; k >= 0 && !*shared; k--) {
    fy_tensor *t = ctx->out[k];
    if (t->dtype != ctx->site->out_types[i] || fy_tensor_bytes(t) < SHARED_BYTES ||
        fy_tensor_string(ctx->in[2], k).n)
      continue;
    const fy_view a = fy_tensor_string(ctx->in[1], k), c = fy_tensor_string(ctx->in[1], i);
    FY_TRY(fy_wire_bundle_same(b, a, c, t, shared, err));
    if (!*shared) continue;
    fy_tensor_retain(t);
    fy_out_set(ctx, i, t);
  }
  return FY_OK;
}

static fy_code restore(fy_kernel_ctx *ctx, fy_error *err) {
  FY_TRY(check_lists(ctx, ctx->site->num_outputs, false, err));
  fy_wire_bundle *b = NULL;
  char *prefix = text_at(ctx->in[0], 0);
  if (!prefix) return fy_fail_oom(err, 64);
  fy_code code = fy_wire_bundle_open(prefix, &b, err);
  for (int i = 0; i < ctx->site->num_outputs && !code; i++) {
    bool shared;
    code = share(ctx, b, i, &shared, err);
    if (!code && !shared) code = restore_one(ctx, b, i, err);
  }
  fy_wire_bundle_close(b);
  fy_free(prefix);
  return code;
}

// A part has the shape that its specification says, if it is known.
static fy_code restore_shape(fy_shape_ctx *ctx, fy_error *err) {
  fy_pshape names;
  FY_TRY(fy_shape_rank_is(ctx->in[0], 0, err));
  FY_TRY(fy_shape_rank_is(ctx->in[1], 1, err));
  FY_TRY(fy_shape_rank_is(ctx->in[2], 1, err));
  FY_TRY(fy_shape_merge(ctx, ctx->in[1], ctx->in[2], &names, err));
  const fy_tensor *specs = fy_shape_tensor(ctx, 2);
  if (!specs || specs->dtype != FY_STRING) return FY_OK;
  for (int i = 0; i < ctx->num_outputs && i < specs->count; i++) {
    fy_tensor_slice slice, resolved;
    int64_t shape[FY_INLINE_RANK];
    const fy_view spec = fy_tensor_string(specs, i);
    if (!spec.n) continue;
    FY_TRY(fy_slice_parse(spec, shape, &slice, &resolved, err));
    FY_TRY(fy_shape_set(ctx, i, resolved.rank, resolved.length, err));
  }
  return FY_OK;
}

static fy_code save_shape(fy_shape_ctx *ctx, fy_error *err) {
  FY_TRY(fy_shape_rank_is(ctx->in[0], 0, err));
  const bool v2 = strcmp(ctx->spec->name, "SaveV2") == 0;
  const int n = ctx->num_inputs - (strcmp(ctx->spec->name, "Save") == 0 ? 2 : 3);
  for (int i = 1; i < 2 + v2; i++) {
    FY_TRY(fy_shape_rank_is(ctx->in[i], 1, err));
    FY_TRY(fy_dim_is(fy_dim_of(ctx->in[i], 0), n, err));
  }
  return FY_OK;
}

static void remove_folder(const char *prefix, const char *keep) {
  const char *slash = strrchr(prefix, '/'), *other = strrchr(keep, '/');
  const size_t n = slash ? (size_t)(slash - prefix) : 0, m = other ? (size_t)(other - keep) : 0;
  if (!n || (n == m && !memcmp(prefix, keep, n))) return;
  char *folder = fy_strndup(prefix, n);
  if (folder) (void)rmdir(folder);  // one that holds something else stays
  fy_free(folder);
}

static fy_code merge(fy_kernel_ctx *ctx, fy_error *err) {
  const fy_tensor *from = ctx->in[0], *to = ctx->in[1];
  char x[128];
  if (from->rank != 1) {
    return fy_fail(err, FY_INVALID_ARGUMENT,
                   "Input checkpoint_prefixes should be an 1-D tensor, got %s instead.",
                   fy_tensor_shape_text(from, x));
  }
  if (to->rank != 0) {
    return fy_fail(err, FY_INVALID_ARGUMENT,
                   "Input destination_prefix should be a scalar tensor, got %s instead.",
                   fy_tensor_shape_text(to, x));
  }
  const size_t n = (size_t)from->count;
  char **prefixes = fy_calloc(n + 1, sizeof *prefixes), *target = text_at(to, 0);
  fy_code code = prefixes && target ? FY_OK : fy_fail_oom(err, n * sizeof *prefixes);
  for (size_t i = 0; i < n && !code; i++)
    if (!(prefixes[i] = text_at(from, (int64_t)i))) code = fy_fail_oom(err, 64);
  if (!code)
    code = fy_bundle_merge((const char *const *)prefixes, n, target,
                           fy_site_bool(ctx->site, "allow_missing_files"), err);
  for (size_t i = 0; i < n && prefixes; i++) {
    if (!code && fy_site_bool(ctx->site, "delete_old_dirs")) remove_folder(prefixes[i], target);
    fy_free(prefixes[i]);
  }
  fy_free(prefixes);
  fy_free(target);
  return code;
}

static fy_code merge_shape(fy_shape_ctx *ctx, fy_error *err) {
  FY_TRY(fy_shape_rank_is(ctx->in[0], 1, err));
  return fy_shape_rank_is(ctx->in[1], 0, err);
}

// ---------------------------------------------------------------- version 1
static fy_code check_v1(const fy_tensor *file, const fy_tensor *names, const fy_tensor *slices,
                        int n, fy_error *err) {
  if (file->count != 1)
    return fy_fail(err, FY_INVALID_ARGUMENT,
                   "Input 0 (filename) must be a string scalar; got a tensor of %lldelements",
                   (long long)file->count);
  if (names->count != n)
    return fy_fail(err, FY_INVALID_ARGUMENT,
                   "The number of tensor names should match the number of tensors: %lld vs. %d",
                   (long long)names->count, n);
  if (slices && slices->count != n)
    return fy_fail(err, FY_INVALID_ARGUMENT,
                   "Expected %d elements for the tensor shapes and slices but got %lld", n,
                   (long long)slices->count);
  return FY_OK;
}

static fy_code save_v1(fy_kernel_ctx *ctx, fy_error *err) {
  const bool sliced = ctx->site->op->impl->aux != NULL;
  const int fixed = sliced ? 3 : 2, n = ctx->site->num_inputs - fixed;
  const fy_tensor *specs = sliced ? ctx->in[2] : NULL;
  FY_TRY(check_v1(ctx->in[0], ctx->in[1], specs, n, err));
  fy_v1_part *parts = fy_calloc((size_t)n + 1, sizeof *parts);
  int64_t(*shapes)[FY_INLINE_RANK] = fy_calloc((size_t)n + 1, sizeof *shapes);
  char *path = text_at(ctx->in[0], 0);
  fy_code code = parts && shapes && path ? FY_OK : fy_fail_oom(err, (size_t)n * sizeof *parts);
  for (int i = 0; i < n && !code; i++) {
    const fy_tensor *t = ctx->in[fixed + i];
    const fy_view spec = specs ? fy_tensor_string(specs, i) : (fy_view){NULL, 0};
    fy_tensor_slice resolved;
    parts[i] = (fy_v1_part){.name = fy_tensor_string(ctx->in[1], i), .tensor = t, .rank = t->rank};
    parts[i].shape = t->dims;
    parts[i].slice.rank = t->rank;
    if (spec.n) {
      code = fy_slice_parse(spec, shapes[i], &parts[i].slice, &resolved, err);
      if (!code) code = check_part(spec, &resolved, t, err);
      parts[i].shape = shapes[i];
      parts[i].rank = parts[i].slice.rank;
    } else if (t->rank > FY_INLINE_RANK) {
      code = fy_fail(err, FY_UNIMPLEMENTED, "Version 1 of checkpoints: rank %d", t->rank);
    } else {
      for (int32_t d = 0; d < t->rank; d++) parts[i].slice.length[d] = -1;
    }
  }
  if (!code) code = fy_bundle_write_v1(path, parts, (size_t)n, err);
  fy_free(path);
  fy_free(shapes);
  fy_free(parts);
  return code;
}

// The first of the files that |pattern| names in which |key| is.
static fy_code open_v1(const char *pattern, const char *key, fy_wire_bundle **out, fy_error *err) {
  glob_t found;
  *out = NULL;
  if (glob(pattern, 0, NULL, &found) != 0) {
    return fy_fail(err, FY_NOT_FOUND,
                   "Unsuccessful TensorSliceReader constructor: Failed to find any matching files "
                   "for %s",
                   pattern);
  }
  fy_code code = FY_OK;
  for (size_t i = 0; i < found.gl_pathc && !code && !*out; i++) {
    code = fy_wire_bundle_open(found.gl_pathv[i], out, err);
    if (!code && !fy_wire_bundle_has(*out, key)) {
      fy_wire_bundle_close(*out);
      *out = NULL;
    }
  }
  globfree(&found);
  if (code || *out) return code;
  return fy_fail(err, FY_NOT_FOUND, "Tensor name \"%s\" not found in checkpoint files %s", key,
                 pattern);
}

static fy_code restore_v1(fy_kernel_ctx *ctx, fy_error *err) {
  const bool sliced = ctx->site->op->impl->aux != NULL;
  const fy_dtype want = ctx->site->out_types[0];
  for (int i = 0; i < (sliced ? 3 : 2); i++)
    if (ctx->in[i]->count != 1)
      return fy_fail(err, FY_INVALID_ARGUMENT,
                     "Input %d (%s) must be a string scalar; got a tensor of %lld elements", i,
                     i == 0   ? "file_pattern"
                     : i == 1 ? "tensor_name"
                              : "shape_and_slice",
                     (long long)ctx->in[i]->count);
  char *pattern = text_at(ctx->in[0], 0), *key = text_at(ctx->in[1], 0);
  fy_wire_bundle *b = NULL;
  fy_dtype dtype;
  fy_pshape shape;
  fy_tensor *t = NULL;
  fy_code code = pattern && key ? open_v1(pattern, key, &b, err) : fy_fail_oom(err, 64);
  if (!code) code = fy_wire_bundle_info(b, key, &dtype, &shape, err);
  if (!code && dtype != want)
    code = fy_fail(err, FY_INVALID_ARGUMENT,
                   "Expected to restore a tensor of type %s, got a tensor of type %s instead: "
                   "tensor_name = %s",
                   fy_dtype_name(want), fy_dtype_name(dtype), key);
  const fy_view spec = sliced ? fy_tensor_string(ctx->in[2], 0) : (fy_view){NULL, 0};
  if (!code) code = read_part(b, key, spec, shape, &t, err);
  if (!code) fy_out_set(ctx, 0, t);
  fy_wire_bundle_close(b);
  fy_free(pattern);
  fy_free(key);
  return code;
}

static fy_code restore_v1_shape(fy_shape_ctx *ctx, fy_error *err) {
  for (int i = 0; i < ctx->num_inputs; i++) FY_TRY(fy_shape_rank_is(ctx->in[i], 0, err));
  const fy_tensor *spec = ctx->num_inputs > 2 ? fy_shape_tensor(ctx, 2) : NULL;
  if (!spec || spec->dtype != FY_STRING || !fy_tensor_string(spec, 0).n) return FY_OK;
  fy_tensor_slice slice, resolved;
  int64_t shape[FY_INLINE_RANK];
  FY_TRY(fy_slice_parse(fy_tensor_string(spec, 0), shape, &slice, &resolved, err));
  return fy_shape_set(ctx, 0, resolved.rank, resolved.length, err);
}

static const fy_sample restore_samples[] = {
    {"s[]='/nonexistent/ckpt'; s[1]='v'; s[1]=''", "dtypes=[float]", FY_NOT_FOUND, NULL}};
#define FILES FY_OP_HOST | FY_OP_NO_FOLD
FY_OP(SaveV2, .shape = save_shape, .compute = save, .flags = FILES);
FY_OP(RestoreV2, .shape = restore_shape, .compute = restore,
      .flags = FILES | FY_OP_DYNAMIC | FY_OP_SETS_OUTPUT, FY_SAMPLES(restore_samples));
FY_OP(MergeV2Checkpoints, .shape = merge_shape, .compute = merge, .flags = FILES);
FY_OP(Save, .shape = save_shape, .compute = save_v1, .flags = FILES);
FY_OP(SaveSlices, .shape = save_shape, .compute = save_v1, .flags = FILES, .aux = "slices");
FY_OP(Restore, .shape = restore_v1_shape, .compute = restore_v1,
      .flags = FILES | FY_OP_DYNAMIC | FY_OP_SETS_OUTPUT);
FY_OP(RestoreSlice, .shape = restore_v1_shape, .compute = restore_v1,
      .flags = FILES | FY_OP_DYNAMIC | FY_OP_SETS_OUTPUT, .aux = "slices");
