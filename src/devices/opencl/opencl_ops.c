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
    {"AddN", fy_ocl_add_n, 0, "T", REAL | WHOLE},
    {"All", fy_ocl_reduce, 5, NULL, ANY},
    {"Any", fy_ocl_reduce, 6, NULL, ANY},
    {"ArgMax", fy_ocl_arg_reduce, 0, "T", REAL | WHOLE},
    {"ArgMin", fy_ocl_arg_reduce, 1, "T", REAL | WHOLE},
    {"AssignAddVariableOp", fy_ocl_update, 0, "dtype", FLOAT_DOUBLE | WHOLE},
    {"AssignSubVariableOp", fy_ocl_update, 0, "dtype", FLOAT_DOUBLE | WHOLE},
    {"AssignVariableOp", fy_ocl_generic, 0, "dtype", BYTES},
    {"AvgPool", fy_ocl_pool, 1, "T", REAL},
    {"AvgPoolGrad", fy_ocl_pool_grad, 1, "T", REAL},
    {"BatchMatMul", fy_ocl_matmul, 1, "T", REAL | WHOLE},
    {"BatchMatMulV2", fy_ocl_matmul, 2, "T", REAL | WHOLE},
    {"BiasAdd", fy_ocl_bias, 0, "T", REAL | WHOLE},
    {"BiasAddGrad", fy_ocl_bias_grad, 0, "T", REAL | WHOLE},
    {"BiasAddV1", fy_ocl_bias, 0, "T", REAL | WHOLE},
    {"BroadcastTo", fy_ocl_generic, 0, "T", BYTES},
    {"Bucketize", fy_ocl_bucketize, 0, "T", FLOAT_DOUBLE | WHOLE},
    {"Cast", fy_ocl_cast, 0, "SrcT", BYTES & ~FY_T(FY_COMPLEX64)},
    {"Concat", fy_ocl_concat, 0, "T", BYTES},
    {"ConcatV2", fy_ocl_concat, 1, "T", BYTES},
    {"Conv2D", fy_ocl_conv, 0, "T", REAL},
    {"Conv2DBackpropFilter", fy_ocl_conv_grad, 1, "T", REAL},
    {"Conv2DBackpropInput", fy_ocl_conv_grad, 0, "T", REAL},
    {"Cumprod", fy_ocl_scan, 1, "T", REAL | WHOLE},
    {"Cumsum", fy_ocl_scan, 0, "T", REAL | WHOLE},
    {"DenseBincount", fy_ocl_bincount, 0, "T", FLOAT_DOUBLE | WHOLE},
    {"DepthwiseConv2dNative", fy_ocl_conv, 1, "T", REAL},
    {"DepthwiseConv2dNativeBackpropFilter", fy_ocl_conv_grad, 3, "T", REAL},
    {"DepthwiseConv2dNativeBackpropInput", fy_ocl_conv_grad, 2, "T", REAL},
    {"DestroyResourceOp", fy_ocl_generic, 0, NULL, ANY},
    {"Einsum", fy_ocl_einsum, 0, "T", REAL | WHOLE},
    {"Fill", fy_ocl_fill_op, 0, "T", BYTES},
    {"FusedBatchNorm", fy_ocl_batch_norm, 0, "T", FY_T(FY_FLOAT)},
    {"FusedBatchNormGrad", fy_ocl_batch_norm_grad, 0, "T", FY_T(FY_FLOAT)},
    {"FusedBatchNormGradV2", fy_ocl_batch_norm_grad, 0, "T", NORMED},
    {"FusedBatchNormGradV3", fy_ocl_batch_norm_grad, 0, "T", NORMED},
    {"FusedBatchNormV2", fy_ocl_batch_norm, 0, "T", NORMED},
    {"FusedBatchNormV3", fy_ocl_batch_norm, 0, "T", NORMED},
    {"Gather", fy_ocl_gather, 0, "Tparams", BYTES},
    {"GatherV2", fy_ocl_gather, 1, "Tparams", BYTES},
    {"LogSoftmax", fy_ocl_softmax, 1, "T", REAL},
    {"LogicalAnd", fy_ocl_logical, 0, NULL, ANY},
    {"LogicalNot", fy_ocl_logical, 2, NULL, ANY},
    {"LogicalOr", fy_ocl_logical, 1, NULL, ANY},
    {"MatMul", fy_ocl_matmul, 0, "T", REAL | WHOLE},
    {"Max", fy_ocl_reduce, 2, "T", REAL | WHOLE},
    {"MaxPool", fy_ocl_pool, 0, "T", REAL},
    {"MaxPoolGrad", fy_ocl_pool_grad, 0, "T", REAL},
    {"Mean", fy_ocl_reduce, 1, "T", REAL},
    {"Min", fy_ocl_reduce, 3, "T", REAL | WHOLE},
    {"NoOp", fy_ocl_generic, 0, NULL, ANY},
    {"OneHot", fy_ocl_one_hot, 0, "T", BYTES & ~FY_T(FY_COMPLEX64)},
    {"OnesLike", fy_ocl_fill_op, 2, "T", REAL | WHOLE},
    {"Pack", fy_ocl_concat, 2, "T", BYTES},
    {"Pad", fy_ocl_pad, 0, "T", BYTES},
    {"PadV2", fy_ocl_pad, 0, "T", BYTES},
    {"Prod", fy_ocl_reduce, 4, "T", REAL | WHOLE},
    {"RandomStandardNormal", fy_ocl_generic, 0, "dtype", FLOAT_DOUBLE},
    {"RandomUniform", fy_ocl_generic, 0, "dtype", FLOAT_DOUBLE},
    {"RandomUniformInt", fy_ocl_generic, 0, "Tout", WHOLE},
    {"Range", fy_ocl_upload, 0, "Tidx", FLOAT_DOUBLE | WHOLE},
    {"Rank", fy_ocl_generic, 0, NULL, ANY},
    {"ReadVariableOp", fy_ocl_generic, 0, "dtype", BYTES},
    {"ResizeBilinear", fy_ocl_resize, 1, "T", REAL | WHOLE | FY_T(FY_UINT8)},
    {"ResizeNearestNeighbor", fy_ocl_resize, 0, "T", PIXELS},
    {"ResourceApplyAdaMax", fy_ocl_update, 0, "T", FLOAT_DOUBLE},
    {"ResourceApplyAdadelta", fy_ocl_update, 0, "T", FLOAT_DOUBLE},
    {"ResourceApplyAdagrad", fy_ocl_update, 0, "T", FLOAT_DOUBLE},
    {"ResourceApplyAdagradV2", fy_ocl_update, 0, "T", FLOAT_DOUBLE},
    {"ResourceApplyAdam", fy_ocl_update, 0, "T", FLOAT_DOUBLE},
    {"ResourceApplyAdamWithAmsgrad", fy_ocl_update, 0, "T", FLOAT_DOUBLE},
    {"ResourceApplyCenteredRMSProp", fy_ocl_update, 0, "T", FLOAT_DOUBLE},
    {"ResourceApplyGradientDescent", fy_ocl_update, 0, "T", FLOAT_DOUBLE},
    {"ResourceApplyKerasMomentum", fy_ocl_update, 0, "T", FLOAT_DOUBLE},
    {"ResourceApplyMomentum", fy_ocl_update, 0, "T", FLOAT_DOUBLE},
    {"ResourceApplyRMSProp", fy_ocl_update, 0, "T", FLOAT_DOUBLE},
    {"ResourceGather", fy_ocl_gather, 2, "dtype", BYTES},
    {"ResourceScatterAdd", fy_ocl_scatter, 0, "dtype", BYTES},
    {"ResourceScatterMax", fy_ocl_scatter, 4, "dtype", BYTES},
    {"ResourceScatterMin", fy_ocl_scatter, 3, "dtype", BYTES},
    {"ResourceScatterMul", fy_ocl_scatter, 2, "dtype", BYTES},
    {"ResourceScatterNdAdd", fy_ocl_scatter, FY_OCL_ND | 0, "T", BYTES},
    {"ResourceScatterNdMax", fy_ocl_scatter, FY_OCL_ND | 4, "T", BYTES},
    {"ResourceScatterNdMin", fy_ocl_scatter, FY_OCL_ND | 3, "T", BYTES},
    {"ResourceScatterNdSub", fy_ocl_scatter, FY_OCL_ND | 1, "T", BYTES},
    {"ResourceScatterNdUpdate", fy_ocl_scatter, FY_OCL_ND | 5, "T", BYTES},
    {"ResourceScatterSub", fy_ocl_scatter, 1, "dtype", BYTES},
    {"ResourceScatterUpdate", fy_ocl_scatter, 5, "dtype", BYTES},
    {"ResourceSparseApplyAdadelta", fy_ocl_update, 1, "T", FLOAT_DOUBLE},
    {"ResourceSparseApplyAdagrad", fy_ocl_update, 1, "T", FLOAT_DOUBLE},
    {"ResourceSparseApplyAdagradV2", fy_ocl_update, 1, "T", FLOAT_DOUBLE},
    {"ResourceSparseApplyCenteredRMSProp", fy_ocl_update, 1, "T", FLOAT_DOUBLE},
    {"ResourceSparseApplyKerasMomentum", fy_ocl_update, 1, "T", FLOAT_DOUBLE},
    {"ResourceSparseApplyMomentum", fy_ocl_update, 1, "T", FLOAT_DOUBLE},
    {"ResourceSparseApplyRMSProp", fy_ocl_update, 1, "T", FLOAT_DOUBLE},
    {"ReverseV2", fy_ocl_generic, 0, "T", BYTES},
    {"ScatterNd", fy_ocl_scatter_nd, 0, "T", REAL | WHOLE},
    {"Select", fy_ocl_select, 1, "T", REAL | WHOLE | FY_T(FY_BOOL)},
    {"SelectV2", fy_ocl_select, 0, "T", REAL | WHOLE | FY_T(FY_BOOL)},
    {"Shape", fy_ocl_generic, 0, NULL, ANY},
    {"ShapeN", fy_ocl_generic, 0, NULL, ANY},
    {"Size", fy_ocl_generic, 0, NULL, ANY},
    {"Slice", fy_ocl_generic, 0, "T", BYTES},
    {"Softmax", fy_ocl_softmax, 0, "T", REAL},
    {"SoftmaxCrossEntropyWithLogits", fy_ocl_entropy, 0, "T", REAL},
    {"SparseSoftmaxCrossEntropyWithLogits", fy_ocl_entropy, 1, "T", REAL},
    {"Split", fy_ocl_split, 0, "T", BYTES},
    {"SplitV", fy_ocl_split, 1, "T", BYTES},
    {"StatelessRandomNormal", fy_ocl_generic, 0, "dtype", FLOAT_DOUBLE},
    {"StatelessRandomNormalV2", fy_ocl_generic, 0, "dtype", FLOAT_DOUBLE},
    {"StatelessRandomUniform", fy_ocl_generic, 0, "dtype", FLOAT_DOUBLE},
    {"StatelessRandomUniformInt", fy_ocl_generic, 0, "dtype", WHOLE},
    {"StatelessRandomUniformIntV2", fy_ocl_generic, 0, "dtype", WHOLE},
    {"StatelessRandomUniformV2", fy_ocl_generic, 0, "dtype", FLOAT_DOUBLE},
    {"StridedSlice", fy_ocl_generic, 0, "T", BYTES},
    {"Sum", fy_ocl_reduce, 0, "T", REAL | WHOLE},
    {"TensorScatterAdd", fy_ocl_tensor_scatter, 0, "T", REAL | WHOLE},
    {"TensorScatterMax", fy_ocl_tensor_scatter, 4, "T", REAL | WHOLE},
    {"TensorScatterMin", fy_ocl_tensor_scatter, 3, "T", REAL | WHOLE},
    {"TensorScatterSub", fy_ocl_tensor_scatter, 1, "T", REAL | WHOLE},
    {"TensorScatterUpdate", fy_ocl_tensor_scatter, 5, "T", REAL | WHOLE},
    {"Tile", fy_ocl_generic, 0, "T", BYTES},
    {"Transpose", fy_ocl_generic, 0, "T", BYTES},
    {"Unpack", fy_ocl_split, 2, "T", BYTES},
    {"UnsortedSegmentMax", fy_ocl_unsorted_segment, 4, "T", REAL | WHOLE},
    {"UnsortedSegmentMin", fy_ocl_unsorted_segment, 3, "T", REAL | WHOLE},
    {"UnsortedSegmentProd", fy_ocl_unsorted_segment, 2, "T", REAL | WHOLE},
    {"UnsortedSegmentSum", fy_ocl_unsorted_segment, 0, "T", REAL | WHOLE},
    {"VarHandleOp", fy_ocl_generic, 0, "dtype", BYTES},
    {"VarIsInitializedOp", fy_ocl_generic, 0, NULL, ANY},
    {"Where", fy_ocl_where, 0, "T", (REAL & ~FY_T(FY_HALF)) | WHOLE | FY_T(FY_BOOL)},
    {"ZerosLike", fy_ocl_fill_op, 1, "T", BYTES},
    {"_FerryConv2D", fy_ocl_conv, 2, "T", FLOAT_DOUBLE},
    {"_FerryDepthwise", fy_ocl_conv, 3, "T", FLOAT_DOUBLE},
    {"_FerryFused", fy_ocl_fused, 0, "T", FLOAT_DOUBLE | WHOLE},
    {"_FerryMatMul", fy_ocl_matmul, 3, "T", FLOAT_DOUBLE},
};

// Other changes of a variable that lives here: the host makes them, and it comes back when needed.
static fy_code on_host(fy_ocl_call *c, int arg, fy_error *err) {
  (void)c, (void)arg, (void)err;
  return FY_OCL_DETOUR;
}
static const fy_ocl_op of_variable = {"", on_host, 0, NULL, BYTES};
static const fy_ocl_op elementwise = {"", fy_ocl_elementwise, 0, "T", ANY};

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
