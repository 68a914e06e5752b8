// SPDX-License-Identifier: Apache-2.0
// opencl_ops.c: which ops the device has kernels for, and what it says to the others.

#include "devices/opencl/opencl_impl.h"

#include "devices/opencl/opencl.h"

#ifdef FY_OPENCL

#include <stdlib.h>
#include <string.h>

#include "ops/host_args.h"

#define REAL  (FY_T(FY_FLOAT) | FY_T(FY_DOUBLE) | FY_T(FY_HALF) | FY_T(FY_BFLOAT16))
#define WHOLE (FY_T(FY_INT32) | FY_T(FY_INT64))
#define BYTES                                                                       \
  (REAL | WHOLE | FY_T(FY_BOOL) | FY_T(FY_UINT8) | FY_T(FY_INT8) | FY_T(FY_INT16) | \
   FY_T(FY_UINT16) | FY_T(FY_UINT32) | FY_T(FY_UINT64) | FY_T(FY_COMPLEX64))
#define ANY          UINT64_MAX
#define PIXELS       (BYTES & ~(FY_T(FY_COMPLEX64) | FY_T(FY_BOOL) | FY_T(FY_UINT32) | FY_T(FY_UINT64)))
#define NORMED       (FY_T(FY_FLOAT) | FY_T(FY_HALF) | FY_T(FY_BFLOAT16))
#define FLOAT_DOUBLE (FY_T(FY_FLOAT) | FY_T(FY_DOUBLE))

static const fy_ocl_op table[] = {
    // sorted by name; element-wise ops are not listed
    {"AddN", fy_ocl_add_n, 0, "T", REAL | WHOLE, NULL},
    {"All", fy_ocl_reduce, 5, NULL, ANY, NULL},
    {"Any", fy_ocl_reduce, 6, NULL, ANY, NULL},
    {"ArgMax", fy_ocl_arg_reduce, 0, "T", REAL | WHOLE, NULL},
    {"ArgMin", fy_ocl_arg_reduce, 1, "T", REAL | WHOLE, NULL},
    {"AssignAddVariableOp", fy_ocl_update, 0, "dtype", FLOAT_DOUBLE | WHOLE, NULL},
    {"AssignSubVariableOp", fy_ocl_update, 0, "dtype", FLOAT_DOUBLE | WHOLE, NULL},
    {"AssignVariableOp", fy_ocl_generic, 0, "dtype", BYTES, NULL},
    {"AvgPool", fy_ocl_pool, 1, "T", REAL, NULL},
    {"AvgPoolGrad", fy_ocl_pool_grad, 1, "T", REAL, NULL},
    {"BatchMatMul", fy_ocl_matmul, 1, "T", REAL | WHOLE, NULL},
    {"BatchMatMulV2", fy_ocl_matmul, 2, "T", REAL | WHOLE, NULL},
    {"BiasAdd", fy_ocl_bias, 0, "T", REAL | WHOLE, NULL},
    {"BiasAddGrad", fy_ocl_bias_grad, 0, "T", REAL | WHOLE, NULL},
    {"BiasAddV1", fy_ocl_bias, 0, "T", REAL | WHOLE, NULL},
    {"BroadcastTo", fy_ocl_generic, 0, "T", BYTES, NULL},
    {"Bucketize", fy_ocl_bucketize, 0, "T", FLOAT_DOUBLE | WHOLE, NULL},
    {"Cast", fy_ocl_cast, 0, "SrcT", BYTES & ~FY_T(FY_COMPLEX64), NULL},
    {"Concat", fy_ocl_concat, 0, "T", BYTES, NULL},
    {"ConcatV2", fy_ocl_concat, 1, "T", BYTES, NULL},
    {"Conv2D", fy_ocl_conv, 0, "T", REAL, NULL},
    {"Conv2DBackpropFilter", fy_ocl_conv_grad, 1, "T", REAL, NULL},
    {"Conv2DBackpropInput", fy_ocl_conv_grad, 0, "T", REAL, NULL},
    {"Cumprod", fy_ocl_scan, 1, "T", REAL | WHOLE, NULL},
    {"Cumsum", fy_ocl_scan, 0, "T", REAL | WHOLE, NULL},
    {"DenseBincount", fy_ocl_bincount, 0, "T", FLOAT_DOUBLE | WHOLE, NULL},
    {"DepthwiseConv2dNative", fy_ocl_conv, 1, "T", REAL, NULL},
    {"DepthwiseConv2dNativeBackpropFilter", fy_ocl_conv_grad, 3, "T", REAL, NULL},
    {"DepthwiseConv2dNativeBackpropInput", fy_ocl_conv_grad, 2, "T", REAL, NULL},
    {"DestroyResourceOp", fy_ocl_generic, 0, NULL, ANY, NULL},
    {"Einsum", fy_ocl_einsum, 0, "T", REAL | WHOLE, NULL},
    {"Fill", fy_ocl_fill_op, 0, "T", BYTES, NULL},
    {"FusedBatchNorm", fy_ocl_batch_norm, 0, "T", FY_T(FY_FLOAT), NULL},
    {"FusedBatchNormGrad", fy_ocl_batch_norm_grad, 0, "T", FY_T(FY_FLOAT), NULL},
    {"FusedBatchNormGradV2", fy_ocl_batch_norm_grad, 0, "T", NORMED, NULL},
    {"FusedBatchNormGradV3", fy_ocl_batch_norm_grad, 0, "T", NORMED, NULL},
    {"FusedBatchNormV2", fy_ocl_batch_norm, 0, "T", NORMED, NULL},
    {"FusedBatchNormV3", fy_ocl_batch_norm, 0, "T", NORMED, NULL},
    {"Gather", fy_ocl_gather, 0, "Tparams", BYTES, NULL},
    {"GatherV2", fy_ocl_gather, 1, "Tparams", BYTES, NULL},
    {"LogSoftmax", fy_ocl_softmax, 1, "T", REAL, NULL},
    {"LogicalAnd", fy_ocl_logical, 0, NULL, ANY, NULL},
    {"LogicalNot", fy_ocl_logical, 2, NULL, ANY, NULL},
    {"LogicalOr", fy_ocl_logical, 1, NULL, ANY, NULL},
    {"MatMul", fy_ocl_matmul, 0, "T", REAL | WHOLE, NULL},
    {"Max", fy_ocl_reduce, 2, "T", REAL | WHOLE, NULL},
    {"MaxPool", fy_ocl_pool, 0, "T", REAL, NULL},
    {"MaxPoolGrad", fy_ocl_pool_grad, 0, "T", REAL, NULL},
    {"Mean", fy_ocl_reduce, 1, "T", REAL, NULL},
    {"Min", fy_ocl_reduce, 3, "T", REAL | WHOLE, NULL},
    {"NoOp", fy_ocl_generic, 0, NULL, ANY, NULL},
    {"OneHot", fy_ocl_one_hot, 0, "T", BYTES & ~FY_T(FY_COMPLEX64), NULL},
    {"OnesLike", fy_ocl_fill_op, 2, "T", REAL | WHOLE, NULL},
    {"Pack", fy_ocl_concat, 2, "T", BYTES, NULL},
    {"Pad", fy_ocl_pad, 0, "T", BYTES, NULL},
    {"PadV2", fy_ocl_pad, 0, "T", BYTES, NULL},
    {"Prod", fy_ocl_reduce, 4, "T", REAL | WHOLE, NULL},
    {"RandomStandardNormal", fy_ocl_generic, 0, "dtype", FLOAT_DOUBLE, NULL},
    {"RandomUniform", fy_ocl_generic, 0, "dtype", FLOAT_DOUBLE, NULL},
    {"RandomUniformInt", fy_ocl_generic, 0, "Tout", WHOLE, NULL},
    {"Range", fy_ocl_upload, 0, "Tidx", FLOAT_DOUBLE | WHOLE, NULL},
    {"Rank", fy_ocl_generic, 0, NULL, ANY, NULL},
    {"ReadVariableOp", fy_ocl_generic, 0, "dtype", BYTES, NULL},
    {"ResizeBilinear", fy_ocl_resize, 1, "T", REAL | WHOLE | FY_T(FY_UINT8), NULL},
    {"ResizeNearestNeighbor", fy_ocl_resize, 0, "T", PIXELS, NULL},
    {"ResourceApplyAdaMax", fy_ocl_update, 0, "T", FLOAT_DOUBLE, NULL},
    {"ResourceApplyAdadelta", fy_ocl_update, 0, "T", FLOAT_DOUBLE, NULL},
    {"ResourceApplyAdagrad", fy_ocl_update, 0, "T", FLOAT_DOUBLE, NULL},
    {"ResourceApplyAdagradV2", fy_ocl_update, 0, "T", FLOAT_DOUBLE, NULL},
    {"ResourceApplyAdam", fy_ocl_update, 0, "T", FLOAT_DOUBLE, NULL},
    {"ResourceApplyAdamWithAmsgrad", fy_ocl_update, 0, "T", FLOAT_DOUBLE, NULL},
    {"ResourceApplyCenteredRMSProp", fy_ocl_update, 0, "T", FLOAT_DOUBLE, NULL},
    {"ResourceApplyGradientDescent", fy_ocl_update, 0, "T", FLOAT_DOUBLE, NULL},
    {"ResourceApplyKerasMomentum", fy_ocl_update, 0, "T", FLOAT_DOUBLE, NULL},
    {"ResourceApplyMomentum", fy_ocl_update, 0, "T", FLOAT_DOUBLE, NULL},
    {"ResourceApplyRMSProp", fy_ocl_update, 0, "T", FLOAT_DOUBLE, NULL},
    {"ResourceGather", fy_ocl_gather, 2, "dtype", BYTES, NULL},
    {"ResourceScatterAdd", fy_ocl_scatter, 0, "dtype", BYTES, NULL},
    {"ResourceScatterMax", fy_ocl_scatter, 4, "dtype", BYTES, NULL},
    {"ResourceScatterMin", fy_ocl_scatter, 3, "dtype", BYTES, NULL},
    {"ResourceScatterMul", fy_ocl_scatter, 2, "dtype", BYTES, NULL},
    {"ResourceScatterNdAdd", fy_ocl_scatter, FY_OCL_ND | 0, "T", BYTES, NULL},
    {"ResourceScatterNdMax", fy_ocl_scatter, FY_OCL_ND | 4, "T", BYTES, NULL},
    {"ResourceScatterNdMin", fy_ocl_scatter, FY_OCL_ND | 3, "T", BYTES, NULL},
    {"ResourceScatterNdSub", fy_ocl_scatter, FY_OCL_ND | 1, "T", BYTES, NULL},
    {"ResourceScatterNdUpdate", fy_ocl_scatter, FY_OCL_ND | 5, "T", BYTES, NULL},
    {"ResourceScatterSub", fy_ocl_scatter, 1, "dtype", BYTES, NULL},
    {"ResourceScatterUpdate", fy_ocl_scatter, 5, "dtype", BYTES, NULL},
    {"ResourceSparseApplyAdadelta", fy_ocl_update, 1, "T", FLOAT_DOUBLE, NULL},
    {"ResourceSparseApplyAdagrad", fy_ocl_update, 1, "T", FLOAT_DOUBLE, NULL},
    {"ResourceSparseApplyAdagradV2", fy_ocl_update, 1, "T", FLOAT_DOUBLE, NULL},
    {"ResourceSparseApplyCenteredRMSProp", fy_ocl_update, 1, "T", FLOAT_DOUBLE, NULL},
    {"ResourceSparseApplyKerasMomentum", fy_ocl_update, 1, "T", FLOAT_DOUBLE, NULL},
    {"ResourceSparseApplyMomentum", fy_ocl_update, 1, "T", FLOAT_DOUBLE, NULL},
    {"ResourceSparseApplyRMSProp", fy_ocl_update, 1, "T", FLOAT_DOUBLE, NULL},
    {"ReverseV2", fy_ocl_generic, 0, "T", BYTES, NULL},
    {"ScatterNd", fy_ocl_scatter_nd, 0, "T", REAL | WHOLE, NULL},
    {"Select", fy_ocl_select, 1, "T", REAL | WHOLE | FY_T(FY_BOOL), NULL},
    {"SelectV2", fy_ocl_select, 0, "T", REAL | WHOLE | FY_T(FY_BOOL), NULL},
    {"Shape", fy_ocl_generic, 0, NULL, ANY, NULL},
    {"ShapeN", fy_ocl_generic, 0, NULL, ANY, NULL},
    {"Size", fy_ocl_generic, 0, NULL, ANY, NULL},
    {"Slice", fy_ocl_generic, 0, "T", BYTES, NULL},
    {"Softmax", fy_ocl_softmax, 0, "T", REAL, NULL},
    {"SoftmaxCrossEntropyWithLogits", fy_ocl_entropy, 0, "T", REAL, NULL},
    {"SparseSoftmaxCrossEntropyWithLogits", fy_ocl_entropy, 1, "T", REAL, NULL},
    {"Split", fy_ocl_split, 0, "T", BYTES, NULL},
    {"SplitV", fy_ocl_split, 1, "T", BYTES, NULL},
    {"StatelessRandomNormal", fy_ocl_generic, 0, "dtype", FLOAT_DOUBLE, NULL},
    {"StatelessRandomNormalV2", fy_ocl_generic, 0, "dtype", FLOAT_DOUBLE, NULL},
    {"StatelessRandomUniform", fy_ocl_generic, 0, "dtype", FLOAT_DOUBLE, NULL},
    {"StatelessRandomUniformInt", fy_ocl_generic, 0, "dtype", WHOLE, NULL},
    {"StatelessRandomUniformIntV2", fy_ocl_generic, 0, "dtype", WHOLE, NULL},
    {"StatelessRandomUniformV2", fy_ocl_generic, 0, "dtype", FLOAT_DOUBLE, NULL},
    {"StridedSlice", fy_ocl_generic, 0, "T", BYTES, NULL},
    {"Sum", fy_ocl_reduce, 0, "T", REAL | WHOLE, NULL},
    {"TensorScatterAdd", fy_ocl_tensor_scatter, 0, "T", REAL | WHOLE, NULL},
    {"TensorScatterMax", fy_ocl_tensor_scatter, 4, "T", REAL | WHOLE, NULL},
    {"TensorScatterMin", fy_ocl_tensor_scatter, 3, "T", REAL | WHOLE, NULL},
    {"TensorScatterSub", fy_ocl_tensor_scatter, 1, "T", REAL | WHOLE, NULL},
    {"TensorScatterUpdate", fy_ocl_tensor_scatter, 5, "T", REAL | WHOLE, NULL},
    {"Tile", fy_ocl_generic, 0, "T", BYTES, NULL},
    {"Transpose", fy_ocl_generic, 0, "T", BYTES, NULL},
    {"Unpack", fy_ocl_split, 2, "T", BYTES, NULL},
    {"UnsortedSegmentMax", fy_ocl_unsorted_segment, 4, "T", REAL | WHOLE, NULL},
    {"UnsortedSegmentMin", fy_ocl_unsorted_segment, 3, "T", REAL | WHOLE, NULL},
    {"UnsortedSegmentProd", fy_ocl_unsorted_segment, 2, "T", REAL | WHOLE, NULL},
    {"UnsortedSegmentSum", fy_ocl_unsorted_segment, 0, "T", REAL | WHOLE, NULL},
    {"VarHandleOp", fy_ocl_generic, 0, "dtype", BYTES, NULL},
    {"VarIsInitializedOp", fy_ocl_generic, 0, NULL, ANY, NULL},
    {"Where", fy_ocl_where, 0, "T", (REAL & ~FY_T(FY_HALF)) | WHOLE | FY_T(FY_BOOL), NULL},
    {"ZerosLike", fy_ocl_fill_op, 1, "T", BYTES, NULL},
    {"_FerryConv2D", fy_ocl_conv, 2, "T", FLOAT_DOUBLE, NULL},
    {"_FerryDepthwise", fy_ocl_conv, 3, "T", FLOAT_DOUBLE, NULL},
    {"_FerryFused", fy_ocl_fused, 0, "T", FLOAT_DOUBLE | WHOLE, NULL},
    {"_FerryMatMul", fy_ocl_matmul, 3, "T", FLOAT_DOUBLE, NULL},
};

// Other changes of a variable that lives here: the host makes them, and it comes back when needed.
static fy_code on_host(fy_ocl_call *c, int arg, fy_error *err) {
  (void)c, (void)arg, (void)err;
  return FY_OCL_DETOUR;
}
static const fy_ocl_op of_variable = {"", on_host, 0, NULL, BYTES, NULL};
static const fy_ocl_op elementwise = {"", fy_ocl_elementwise, 0, "T", ANY, NULL};

static int by_name(const void *key, const void *item) {
  return strcmp(key, ((const fy_ocl_op *)item)->name);
}

const fy_ocl_op *fy_ocl_find_op(const char *name) {
  const char *why;
  const fy_ocl_op *found =
      bsearch(name, table, sizeof table / sizeof *table, sizeof *table, by_name);
  if (found) return found;
  if (!strncmp(name, "ResourceScatter", 15) || !strncmp(name, "ResourceSparseApply", 19))
    return &of_variable;
  return fy_ocl_knows_elementwise(name, FY_FLOAT, &why) ? &elementwise : NULL;
}

bool fy_opencl_op(int i, const char **name, const char **type_attr, uint64_t *types) {
  static const fy_dtype all[] = {FY_FLOAT, FY_DOUBLE, FY_HALF, FY_BFLOAT16, FY_INT32, FY_INT64};
  const int listed = (int)(sizeof table / sizeof *table);
  const char *why;
  if (i < 0) return false;
  if (i < listed) {
    *name = table[i].name;
    *type_attr = table[i].type_attr;
    *types = table[i].dtypes;
    return true;
  }
  *name = fy_ocl_elementwise_name(i - listed);
  if (!*name) return false;
  *type_attr = "T";
  *types = 0;
  for (size_t k = 0; k < sizeof all / sizeof *all; k++)
    if (fy_ocl_knows_elementwise(*name, all[k], &why)) *types |= FY_T(all[k]);
  return true;
}

static bool refuse(fy_error *why, const char *op, const char *text, const char *more) {
  fy_fail(why, FY_UNIMPLEMENTED, "the OpenCL device has no kernel for %s%s%s", op, text, more);
  return false;
}

bool fy_ocl_supports(fy_device *d, const fy_op *op, const fy_attrs *attrs, fy_error *why) {
  const fy_ocl *o = fy_ocl_of(d);
  const char *name = op->spec->name, *note = NULL;
  if (!op->impl) return refuse(why, name, "", "");
  // They touch no bytes: memory is renamed, or everything is on the host.
  if (op->impl->flags & (FY_OP_ANY_DEVICE_HOST_DATA | FY_OP_ALIAS | FY_OP_ANY_SPACE)) return true;
  if (op->impl->flags & FY_OP_HOST) {
    fy_fail(why, FY_UNIMPLEMENTED, "%s runs on the host only", name);
    return false;
  }
  const fy_ocl_op *known = fy_ocl_find_op(name);
  if (!known) return refuse(why, name, "", "");
  if (fy_op_uses_type(op, attrs, FY_DOUBLE) && !o->has_double)
    return refuse(why, name, " of double: ", "its hardware has no 64-bit floats");
  const char *by = known->type_attr;
  if (known == &of_variable) by = fy_attrs_get(attrs, "dtype") ? "dtype" : "T";
  const fy_attr *a = by ? fy_attrs_get(attrs, by) : NULL;
  fy_dtype t = a && a->kind == FY_ATTR_TYPE && !a->is_list ? fy_dtype_base(a->v.type) : FY_INVALID;
  if (known == &elementwise) {
    if (t == FY_INVALID) return refuse(why, name, "", "");
    if (!fy_ocl_knows_elementwise(name, t, &note)) {
      fy_fail(why, FY_UNIMPLEMENTED, "the OpenCL device has no kernel for %s of %s%s%s", name,
              fy_dtype_name(t), note ? ": " : "", note ? note : "");
      return false;
    }
    return true;
  }
  if (by && (t == FY_INVALID || !(known->dtypes >> t & 1)))
    return refuse(why, name, " of ", t == FY_INVALID ? "this type" : fy_dtype_name(t));
  if (known->run == fy_ocl_cast) {
    const fy_attr *to = fy_attrs_get(attrs, "DstT");
    fy_dtype dst = to && to->kind == FY_ATTR_TYPE ? fy_dtype_base(to->v.type) : FY_INVALID;
    if (!fy_ocl_storage(dst)) return refuse(why, name, " to ", fy_dtype_name(dst));
  }
  return true;
}

#else
typedef int fy_opencl_ops_is_empty;
#endif
