// SPDX-License-Identifier: Apache-2.0
// ops.c: defining ops (TF_OpDefinitionBuilder) and the context of their shape functions.

#include "tensorflow/c/ops.h"

#include <string.h>

#include "api/library.h"
#include "api/user_kernels.h"
#include "base/alloc.h"
#include "ops/op.h"
#include "ops/spec_parse.h"

typedef struct texts {
  const char **items;
  size_t n, cap;
} texts;

struct TF_OpDefinitionBuilder {
  fy_arena arena;
  fy_spec_text text;
  texts attrs, inputs, outputs;
  void (*shape_fn)(TF_ShapeInferenceContext *, TF_Status *);
  bool failed;  // memory was short
};

// ---------------------------------------------------------------- builders
TF_OpDefinitionBuilder *TF_NewOpDefinitionBuilder(const char *op_name) {
  TF_OpDefinitionBuilder *b = fy_calloc(1, sizeof *b);
  if (!b) return NULL;
  fy_arena_init(&b->arena);
  b->text.name = fy_arena_strdup(&b->arena, op_name);
  b->failed = !b->text.name;
  return b;
}

void TF_DeleteOpDefinitionBuilder(TF_OpDefinitionBuilder *builder) {
  if (!builder) return;
  fy_free(builder->attrs.items);
  fy_free(builder->inputs.items);
  fy_free(builder->outputs.items);
  fy_arena_free(&builder->arena);
  fy_free(builder);
}

static void add_text(TF_OpDefinitionBuilder *b, texts *to, const char *text) {
  char *copy = fy_arena_strdup(&b->arena, text);
  if (!copy || !fy_grow(&to->items, &to->cap, to->n + 1, sizeof *to->items)) {
    b->failed = true;
    return;
  }
  to->items[to->n++] = copy;
}

void TF_OpDefinitionBuilderAddAttr(TF_OpDefinitionBuilder *builder, const char *attr_spec) {
  add_text(builder, &builder->attrs, attr_spec);
}

void TF_OpDefinitionBuilderAddInput(TF_OpDefinitionBuilder *builder, const char *input_spec) {
  add_text(builder, &builder->inputs, input_spec);
}

void TF_OpDefinitionBuilderAddOutput(TF_OpDefinitionBuilder *builder, const char *output_spec) {
  add_text(builder, &builder->outputs, output_spec);
}

// TensorFlow looks at none of the four arguments: calling one sets the flag.
static void set_flag(TF_OpDefinitionBuilder *b, unsigned flag) {
  b->text.flags = (uint16_t)(b->text.flags | flag);
}

void TF_OpDefinitionBuilderSetIsCommutative(TF_OpDefinitionBuilder *builder, bool is_commutative) {
  (void)is_commutative;
  set_flag(builder, FY_SPEC_COMMUTATIVE);
}

void TF_OpDefinitionBuilderSetIsAggregate(TF_OpDefinitionBuilder *builder, bool is_aggregate) {
  (void)is_aggregate;
  set_flag(builder, FY_SPEC_AGGREGATE);
}

void TF_OpDefinitionBuilderSetIsStateful(TF_OpDefinitionBuilder *builder, bool is_stateful) {
  (void)is_stateful;
  set_flag(builder, FY_SPEC_STATEFUL);
}

void TF_OpDefinitionBuilderSetAllowsUninitializedInput(TF_OpDefinitionBuilder *builder,
                                                       bool allows_uninitialized_input) {
  (void)allows_uninitialized_input;
  set_flag(builder, FY_SPEC_UNINITIALIZED_OK);
}

void TF_OpDefinitionBuilderDeprecated(TF_OpDefinitionBuilder *builder, int version,
                                      const char *explanation) {
  builder->text.deprecated_version = version;
  builder->text.deprecated_text = fy_arena_strdup(&builder->arena, explanation);
  if (!builder->text.deprecated_text) builder->failed = true;
}

void TF_OpDefinitionBuilderSetShapeInferenceFunction(
    TF_OpDefinitionBuilder *builder,
    void (*shape_inference_func)(TF_ShapeInferenceContext *ctx, TF_Status *status)) {
  builder->shape_fn = shape_inference_func;
}

static fy_code infer_by_user(const fy_op *op, fy_shape_ctx *ctx, fy_error *err);

static fy_code register_op(TF_OpDefinitionBuilder *b, const fy_op **out, fy_error *err) {
  fy_op_spec *spec;
  if (b->failed) return fy_fail_oom(err, sizeof *b);
  b->text.attrs = b->attrs.items;
  b->text.num_attrs = b->attrs.n;
  b->text.inputs = b->inputs.items;
  b->text.num_inputs = b->inputs.n;
  b->text.outputs = b->outputs.items;
  b->text.num_outputs = b->outputs.n;
  FY_TRY(fy_spec_parse(&b->text, &b->arena, &spec, err));
  const fy_op *before = fy_op_find(spec->name, strlen(spec->name));
  fy_op_set_user_shape_hook(infer_by_user);
  FY_TRY(fy_op_register(spec, (void *)(uintptr_t)b->shape_fn, out, err));
  fy_api_adopt_kernels(*out);
  if (before) *out = NULL;  // nothing new
  return FY_OK;
}

void TF_RegisterOpDefinition(TF_OpDefinitionBuilder *builder, TF_Status *status) {
  fy_error *err = fy_api_begin(status);
  const fy_op *op = NULL;
  fy_code code = register_op(builder, &op, err);
  TF_DeleteOpDefinitionBuilder(builder);
  fy_api_end(status, code);
  // A library that is being loaded answers for its ops as a whole, as in TensorFlow.
  if (fy_api_library_note(op, code, err)) fy_api_end(status, FY_OK);
}

// ---------------------------------------------------------------- shape functions
struct TF_ShapeInferenceContext {
  fy_shape_ctx *ctx;
};

struct TF_ShapeHandle {
  int32_t rank;
  int64_t *dims;  // fy_malloc
};

struct TF_DimensionHandle {
  int64_t value;  // -1 = unknown
};

// Defined here, called by graph/shape.c.
static fy_code infer_by_user(const fy_op *op, fy_shape_ctx *ctx, fy_error *err) {
  void (*fn)(TF_ShapeInferenceContext *, TF_Status *);
  *(void **)&fn = op->user_shape_fn;
  TF_ShapeInferenceContext c = {ctx};
  TF_Status *status = TF_NewStatus();
  if (!status) return fy_fail_oom(err, sizeof *status);
  fn(&c, status);
  fy_code code = status->error.code;
  if (code && err) fy_error_move(err, &status->error);
  TF_DeleteStatus(status);
  return code;
}

int64_t TF_ShapeInferenceContextNumInputs(TF_ShapeInferenceContext *ctx) {
  return ctx->ctx->num_inputs;
}

TF_ShapeHandle *TF_NewShapeHandle(void) {
  TF_ShapeHandle *h = fy_malloc(sizeof *h);
  if (h) *h = (TF_ShapeHandle){-1, NULL};
  return h;
}

void TF_DeleteShapeHandle(TF_ShapeHandle *handle) {
  if (!handle) return;
  fy_free(handle->dims);
  fy_free(handle);
}

TF_DimensionHandle *TF_NewDimensionHandle(void) {
  TF_DimensionHandle *d = fy_malloc(sizeof *d);
  if (d) d->value = -1;
  return d;
}

void TF_DeleteDimensionHandle(TF_DimensionHandle *handle) {
  fy_free(handle);
}

// Puts a shape into |to|, which may be where |dims| lie.
static fy_code put(TF_ShapeHandle *to, int32_t rank, const int64_t *dims, fy_error *err) {
  int64_t *copy = NULL;
  if (rank > 0) {
    copy = fy_malloc((size_t)rank * sizeof *copy);
    if (!copy) return fy_fail_oom(err, (size_t)rank * sizeof *copy);
    memcpy(copy, dims, (size_t)rank * sizeof *copy);
  }
  fy_free(to->dims);
  *to = (TF_ShapeHandle){rank, copy};
  return FY_OK;
}

void TF_ShapeInferenceContextGetInput(TF_ShapeInferenceContext *ctx, int i, TF_ShapeHandle *handle,
                                      TF_Status *status) {
  fy_error *err = fy_api_begin(status);
  fy_code code;
  if (i < 0 || i >= ctx->ctx->num_inputs)
    code = fy_fail(err, FY_INVALID_ARGUMENT, "input index out of range");
  else
    code = put(handle, ctx->ctx->in[i].rank, ctx->ctx->in[i].dims, err);
  fy_api_end(status, code);
}

void TF_ShapeInferenceContextSetOutput(TF_ShapeInferenceContext *ctx, int i, TF_ShapeHandle *handle,
                                       TF_Status *status) {
  fy_error *err = fy_api_begin(status);
  fy_shape_ctx *c = ctx->ctx;
  if (i < 0 || i >= c->num_outputs) {
    fy_fail(err, FY_INVALID_ARGUMENT, "output index out of range");
    return;
  }
  size_t bytes = handle->rank > 0 ? (size_t)handle->rank * sizeof *handle->dims : 0;
  const int64_t *dims = bytes ? fy_arena_memdup(c->arena, handle->dims, bytes) : NULL;
  if (bytes && !dims)
    fy_fail_oom(err, bytes);
  else
    c->out[i] = (fy_pshape){handle->rank, dims};
}

void TF_ShapeInferenceContextSetUnknownShape(TF_ShapeInferenceContext *ctx, TF_Status *status) {
  fy_api_begin(status);
  for (int i = 0; i < ctx->ctx->num_outputs; i++) ctx->ctx->out[i] = (fy_pshape){-1, NULL};
}

TF_ShapeHandle *TF_ShapeInferenceContextScalar(TF_ShapeInferenceContext *ctx) {
  (void)ctx;
  TF_ShapeHandle *h = TF_NewShapeHandle();
  if (h) h->rank = 0;
  return h;
}

TF_ShapeHandle *TF_ShapeInferenceContextVectorFromSize(TF_ShapeInferenceContext *ctx, size_t size) {
  (void)ctx;
  int64_t dim = (int64_t)size;
  TF_ShapeHandle *h = TF_NewShapeHandle();
  if (!h || put(h, 1, &dim, NULL) == FY_OK) return h;
  TF_DeleteShapeHandle(h);
  return NULL;
}

void TF_ShapeInferenceContext_GetAttrType(TF_ShapeInferenceContext *ctx, const char *attr_name,
                                          TF_DataType *val, TF_Status *status) {
  // The same lookup and words as a kernel's construction.
  fy_site site = {.attrs = ctx->ctx->attrs, .node_name = ctx->ctx->node_name};
  TF_OpKernelConstruction c = {.site = &site};
  TF_OpKernelConstruction_GetAttrType(&c, attr_name, val, status);
}

// ---------------------------------------------------------------- shapes
int64_t TF_ShapeInferenceContextRank(TF_ShapeInferenceContext *ctx, TF_ShapeHandle *handle) {
  (void)ctx;
  return handle->rank;
}

int TF_ShapeInferenceContextRankKnown(TF_ShapeInferenceContext *ctx, TF_ShapeHandle *handle) {
  (void)ctx;
  return handle->rank >= 0;
}

void TF_ShapeInferenceContextWithRank(TF_ShapeInferenceContext *ctx, TF_ShapeHandle *handle,
                                      int64_t rank, TF_ShapeHandle *result, TF_Status *status) {
  (void)ctx;
  fy_error *err = fy_api_begin(status);
  fy_code code = FY_OK;
  if (rank < 0 || rank > FY_MAX_RANK) {
    code = fy_fail(err, FY_INVALID_ARGUMENT, "Rank cannot be %lld", (long long)rank);
  } else if (handle->rank == rank) {
    code = put(result, handle->rank, handle->dims, err);
  } else if (handle->rank < 0) {
    int64_t unknown[FY_MAX_RANK];
    for (int64_t i = 0; i < rank; i++) unknown[i] = -1;
    code = put(result, (int32_t)rank, unknown, err);
  } else {
    code = fy_fail(err, FY_INVALID_ARGUMENT, "Shape must be rank %lld but is rank %d",
                   (long long)rank, (int)handle->rank);
  }
  fy_api_end(status, code);
}

void TF_ShapeInferenceContextWithRankAtLeast(TF_ShapeInferenceContext *ctx, TF_ShapeHandle *handle,
                                             int64_t rank, TF_ShapeHandle *result,
                                             TF_Status *status) {
  (void)ctx;
  fy_error *err = fy_api_begin(status);
  fy_code code;
  if (handle->rank < 0 || handle->rank >= rank)
    code = put(result, handle->rank, handle->dims, err);
  else
    code = fy_fail(err, FY_INVALID_ARGUMENT, "Shape must be at least rank %lld but is rank %d",
                   (long long)rank, (int)handle->rank);
  fy_api_end(status, code);
}

void TF_ShapeInferenceContextWithRankAtMost(TF_ShapeInferenceContext *ctx, TF_ShapeHandle *handle,
                                            int64_t rank, TF_ShapeHandle *result,
                                            TF_Status *status) {
  (void)ctx;
  fy_error *err = fy_api_begin(status);
  fy_code code;
  if (handle->rank <= rank)
    code = put(result, handle->rank, handle->dims, err);
  else
    code = fy_fail(err, FY_INVALID_ARGUMENT, "Shape must be at most rank %lld but is rank %d",
                   (long long)rank, (int)handle->rank);
  fy_api_end(status, code);
}

void TF_ShapeInferenceContextDim(TF_ShapeInferenceContext *ctx, TF_ShapeHandle *shape_handle,
                                 int64_t i, TF_DimensionHandle *result) {
  (void)ctx;
  if (i < 0) i += shape_handle->rank;
  result->value = i >= 0 && i < shape_handle->rank ? shape_handle->dims[i] : -1;
}

int TF_DimensionHandleValueKnown(TF_DimensionHandle *dim_handle) {
  return dim_handle->value >= 0;
}

int64_t TF_DimensionHandleValue(TF_DimensionHandle *dim_handle) {
  return dim_handle->value;
}

void TF_ShapeInferenceContextSubshape(TF_ShapeInferenceContext *ctx, TF_ShapeHandle *shape_handle,
                                      int64_t start, int64_t end, TF_ShapeHandle *result,
                                      TF_Status *status) {
  (void)ctx;
  fy_error *err = fy_api_begin(status);
  int64_t rank = shape_handle->rank, from = start, to = end;
  fy_code code;
  if (from > rank) from = rank;
  if (to > rank) to = rank;
  if (from < 0) from += rank;
  if (to < 0) to += rank;
  if (rank < 0)
    code = put(result, -1, NULL, err);
  else if (start < 0 && from < 0)
    code = fy_fail(err, FY_INVALID_ARGUMENT,
                   "Subshape start out of bounds: %lld, for shape with rank %lld", (long long)start,
                   (long long)rank);
  else if (end < 0 && to < 0)
    code = fy_fail(err, FY_INVALID_ARGUMENT,
                   "Subshape end out of bounds: %lld, for shape with rank %lld", (long long)end,
                   (long long)rank);
  else if (from > to)
    code = fy_fail(
        err, FY_INVALID_ARGUMENT,
        "Subshape must have computed start <= end, but is %lld and %lld (computed from start "
        "%lld and end %lld over shape with rank %lld)",
        (long long)from, (long long)to, (long long)start, (long long)end, (long long)rank);
  else
    code = put(result, (int32_t)(to - from), shape_handle->dims ? shape_handle->dims + from : NULL,
               err);
  fy_api_end(status, code);
}

void TF_ShapeInferenceContextConcatenateShapes(TF_ShapeInferenceContext *ctx, TF_ShapeHandle *first,
                                               TF_ShapeHandle *second, TF_ShapeHandle *result,
                                               TF_Status *status) {
  (void)ctx;
  fy_error *err = fy_api_begin(status);
  fy_code code;
  if (first->rank < 0 || second->rank < 0) {
    code = put(result, -1, NULL, err);
  } else if (first->rank + second->rank > FY_MAX_RANK) {
    code = fy_fail(err, FY_INVALID_ARGUMENT, "a shape cannot have %d dimensions",
                   (int)(first->rank + second->rank));
  } else {
    int64_t dims[FY_MAX_RANK];
    if (first->rank) memcpy(dims, first->dims, (size_t)first->rank * sizeof *dims);
    if (second->rank) memcpy(dims + first->rank, second->dims, (size_t)second->rank * sizeof *dims);
    code = put(result, first->rank + second->rank, dims, err);
  }
  fy_api_end(status, code);
}
