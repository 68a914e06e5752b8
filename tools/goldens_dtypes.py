#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Writes tests/data/op_goldens_dtypes.txt: element types that the other goldens leave out.

Run with a Python that has TensorFlow:  /opt/tfvenv/bin/python tools/goldens_dtypes.py [FAMILY…]
tools/check_op_dtypes.py says which types of which op no golden shows; this file is where they go.
Helpers and the two extra lines (keep, kept) are those of goldens_ragged.py.
"""
import re
import sys

import goldens_ragged as r
import numpy as np
import tensorflow as tf
from goldens_ragged import SPECS, c32, c64, case, g, keep, values
from golden_case import COMPLEX, INTS, REAL, cpu_types, data

X = tf.dtypes.experimental
for name in ("float8_e5m2", "float8_e4m3fn", "int4", "uint4"):
    g.NAMES[getattr(X, name)] = name
    r.INVERSE[name] = getattr(X, name)
F8 = [X.float8_e5m2, X.float8_e4m3fn]
I4 = [X.int4, X.uint4]
QUANTIZED = r.QUANTIZED


def any_data(t, shape):
    if t in F8:
        return tf.cast(data(tf.float32, shape), t)
    if t in I4:
        n = int(np.prod(shape))
        return tf.cast(tf.constant(np.arange(n).reshape(shape) % 8, tf.int32), t)
    return values(t, shape)


def types(op, attr="T"):
    found = []
    for one in SPECS[op][5].split(";"):
        for pair in one.split("@")[0].split("!")[0].split(","):
            if pair.startswith(attr + "="):
                found += pair[len(attr) + 1:].split("|")
    return [r.INVERSE[n] for n in dict.fromkeys(found)
            if n in r.INVERSE and n not in ("variant", "resource")]


def moving():
    """Ops that only move elements, in every type."""
    for t in types("ConcatV2"):
        case("ConcatV2", [any_data(t, [2, 1]), any_data(t, [2, 2])], c32(1))
    for t in types("Concat"):
        case("Concat", c32(0), [any_data(t, [1, 2]), any_data(t, [2, 2])])
    for t in types("Pack"):
        case("Pack", [any_data(t, [2]), any_data(t, [2])], axis=1)
    for t in types("Unpack"):
        case("Unpack", any_data(t, [2, 2]), outputs=2, axis=1, num=2)
    for t in types("Split"):
        case("Split", c32(1), any_data(t, [2, 4]), outputs=2, num_split=2)
    for t in types("SplitV"):
        case("SplitV", any_data(t, [2, 4]), c64([1, 3]), c32(1), outputs=2, num_split=2)
    case("SplitV", data(tf.float32, [4]), c32([1, 3]), c32(0), outputs=2, num_split=2)
    case("SplitV", data(tf.float32, [4]), tf.constant([1, 3], tf.int8), c32(0), outputs=2, num_split=2)
    for t in types("Gather", "Tparams"):
        case("Gather", any_data(t, [3, 2]), c64([2, 0]), validate_indices=True)
    for t in types("GatherV2", "Tparams"):
        for i in (tf.int16, tf.int32):
            case("GatherV2", any_data(t, [3, 2]), tf.constant([2, 0], i), c32(0), batch_dims=0)
    for t in types("GatherNd", "Tparams"):
        for i in (tf.int16, tf.int64):
            case("GatherNd", any_data(t, [3, 2]), tf.constant([[2, 0], [0, 1]], i),
                 bad_indices_policy="")
    for t in types("Slice"):
        case("Slice", any_data(t, [3, 2]), c32([1, 0]), c32([2, 1]))
    masks = dict(begin_mask=0, end_mask=0, ellipsis_mask=0, new_axis_mask=0, shrink_axis_mask=0)
    for t in types("StridedSlice"):
        case("StridedSlice", any_data(t, [3, 2]), c32([2, 0]), c32([0, 2]), c32([-1, 1]), **masks)
    for t in types("StridedSliceGrad"):
        case("StridedSliceGrad", c32([3, 2]), c32([0, 1]), c32([3, 2]), c32([2, 1]), any_data(t, [2, 1]),
             **masks)
    for t in types("Transpose"):
        case("Transpose", any_data(t, [3, 2]), c32([1, 0]))
    for t in types("BroadcastTo"):
        case("BroadcastTo", any_data(t, [2, 1]), c32([2, 3]))
    for t in types("Fill"):
        case("Fill", c64([2, 2]), any_data(t, []))
    for t in types("ReverseSequence"):
        case("ReverseSequence", any_data(t, [2, 3]), c64([2, 3]), seq_dim=1, batch_dim=0)
    for t in types("Snapshot"):
        case("Snapshot", any_data(t, [3]))
    for op in ("Pad", "MirrorPad"):
        for t in types(op):
            kw = dict(mode="REFLECT") if op == "MirrorPad" else {}
            case(op, any_data(t, [2, 2]), c64([[1, 0], [0, 1]]), **kw)
    for t in types("PadV2"):
        case("PadV2", any_data(t, [2, 2]), c64([[1, 0], [0, 1]]), any_data(t, []))
    for t in types("DynamicStitch"):
        for op in ("DynamicStitch", "ParallelDynamicStitch"):
            case(op, [c32([0, 2]), c32([1])], [any_data(t, [2]), any_data(t, [1])])
    for t in types("SparseToDense"):
        case("SparseToDense", c64([[0, 1], [1, 0]]), c64([2, 2]), any_data(t, [2]), any_data(t, []),
             validate_indices=True)
    for op in ("SpaceToDepth", "DepthToSpace"):
        for t in types(op):
            case(op, any_data(t, [1, 2, 2, 4]), block_size=2, data_format="NHWC")
    for op in ("SpaceToBatch", "BatchToSpace"):
        for t in types(op):
            case(op, any_data(t, [4, 2, 2, 1]), c32([[0, 0], [0, 0]]), block_size=2)
    for op in ("SpaceToBatchND", "BatchToSpaceND"):
        for t in types(op):
            case(op, any_data(t, [4, 2, 2, 1]), c32([2, 2]), c32([[0, 0], [0, 0]]))
    for t in types("SerializeTensor"):
        if t not in F8 + I4:
            case("SerializeTensor", any_data(t, [2]))
    for t in types("MatrixDiagV2"):
        case("MatrixDiagV2", any_data(t, [2]), c32(0), c32(2), c32(2), any_data(t, []))
        case("MatrixDiagPartV2", any_data(t, [2, 3]), c32([0, 1]), any_data(t, []))
        case("MatrixSetDiagV2", any_data(t, [2, 3]), any_data(t, [2]), c32(0))
    for op in ("Equal", "NotEqual"):
        for t in QUANTIZED:
            x = any_data(t, [3])
            case(op, x, x, incompatible_shape_error=True)
    case("BroadcastArgs", c64([2, 1]), c64([3]))
    case("ExpandDims", data(tf.float32, [2]), c64(0))
    case("Tile", data(tf.float32, [2]), c64([2]))
    case("ReverseV2", data(tf.float32, [2, 3]), c64([1]))
    case("ShapeN", [data(tf.float32, [2]), data(tf.float32, [3, 1])], outputs=2, out_type=tf.int64)
    case("Where", tf.constant([0.0, 1.5, -0.0, np.nan], tf.half))


def computing():
    for op in ("All", "Any"):
        case(op, tf.constant([[True, False], [True, True]]), c64([0]), keep_dims=False)
    for op in ("Cumsum", "Cumprod", "CumulativeLogsumexp"):
        for t in types(op):
            case(op, any_data(t, [2, 3]), c64(1), exclusive=False, reverse=False)
    for t in (tf.int16, tf.uint16):
        case("ArgMax", data(tf.float32, [2, 3]), c32(1), output_type=t)
    for t in COMPLEX:
        case("ClipByValue", data(t, [3]), data(t, []), data(t, []))
    case("LinSpace", tf.constant(0.0), tf.constant(1.0), c64(4))
    case("OneHot", tf.constant([0, 2], tf.int8), c32(3), tf.constant(1.0), tf.constant(0.0), axis=-1)
    case("OneHot", tf.constant([0, 2], tf.uint8), c32(3), tf.constant(1.0), tf.constant(0.0), axis=-1)
    for t in (tf.int16, tf.int64):
        case("TopKV2", data(tf.float32, [5]), c32(2), outputs=2, sorted=True, index_type=t)
    case("UniqueV2", c32([3, 1, 3]), c64([0]), outputs=2, out_idx=tf.int64)
    case("UniqueWithCounts", c32([3, 1, 3]), outputs=3, out_idx=tf.int64)
    case("UniqueWithCountsV2", c32([3, 1, 3]), c64([0]), outputs=3, out_idx=tf.int64)
    for op in ("Max", "Min", "Prod", "Sum"):
        case("UnsortedSegment" + op, data(tf.float32, [3]), c64([1, 0, 1]), c32(2))
    for op in ("Sum", "Mean", "SqrtN"):
        case("SparseSegment%sWithNumSegments" % op, data(tf.float32, [3]), c64([1, 0, 1]), c64([0, 0, 1]),
             c32(3), sparse_gradient=False)
    case("UnsortedSegmentJoin", tf.constant(["a", "b"]), c32([1, 1]), c32(2), separator="-")
    for a in (tf.int8, tf.uint8):
        for b in (tf.int8, tf.uint8):
            case("BatchMatMulV3", data(a, [2, 3]), data(b, [3, 2]), adj_x=False, adj_y=False,
                 Tout=tf.int32)
    pool = dict(ksize=[1, 2, 2, 1], strides=[1, 2, 2, 1], padding="VALID")
    for t in types("MaxPoolGrad"):
        x, y, d = data(t, [1, 4, 4, 1]), data(t, [1, 2, 2, 1]), data(t, [1, 2, 2, 1])
        for op in ("MaxPoolGrad", "MaxPoolGradV2"):
            v2 = op.endswith("V2")
            extra = [c32([1, 2, 2, 1]), c32([1, 2, 2, 1])] if v2 else []
            kw = dict(padding="VALID") if v2 else pool
            case(op, x, tf.constant(np.asarray(x).reshape(1, 2, 2, 2, 2, 1).max((2, 4)), t), d, *extra,
                 data_format="NHWC", **({} if v2 else dict(explicit_paddings=[])), **kw)
    for t in types("MaxPoolGradGrad"):
        x, d = data(t, [1, 4, 4, 1]), data(t, [1, 4, 4, 1])
        top = tf.constant(np.asarray(x).reshape(1, 2, 2, 2, 2, 1).max((2, 4)), t)
        case("MaxPoolGradGrad", x, top, d, data_format="NHWC", **pool)
        case("MaxPoolGradGradV2", x, top, d, c32([1, 2, 2, 1]), c32([1, 2, 2, 1]), data_format="NHWC",
             padding="VALID")
    for t in types("MaxPoolWithArgmax"):
        x = data(t, [1, 4, 4, 1])
        case("MaxPoolWithArgmax", x, outputs=2, Targmax=tf.int64, include_batch_in_index=False, **pool)
        case("MaxPoolGradWithArgmax", x, data(t, [1, 2, 2, 1]), c64([[[[0], [2]], [[9], [15]]]]),
             include_batch_in_index=False, **pool)
    case("MirrorPadGrad", data(tf.float32, [4, 4]), c64([[1, 0], [0, 1]]), mode="REFLECT")
    case("CropAndResizeGradImage", data(tf.float32, [1, 2, 2, 1]), tf.constant([[0.0, 0.0, 1.0, 1.0]]),
         c32([0]), c32([1, 3, 3, 1]), T=tf.half, method="bilinear")
    for t in types("StatelessShuffle"):
        case("StatelessShuffle", any_data(t, [5]), tf.constant([1], tf.uint64),
             tf.constant([2, 3], tf.uint64), c32(1))
    for t in types("TensorSummary"):
        case("TensorSummary", any_data(t, [2]), description="d", labels=["x"], display_name="n")
        case("TensorSummaryV2", tf.constant("t"), any_data(t, [2]), tf.constant(""))
    case("RaggedFillEmptyRows", c64([0, 2]), data(tf.uint64, [2]), c64(3), data(tf.uint64, []), outputs=4)


def casts():
    wild = tf.constant([0.0, -0.0, 1.0, -1.5, 0.0625, 3e-3, 17.0, 447.0, 449.0, 480.0, 57344.0, 61439.0,
                        61441.0, 1e9, np.inf, -np.inf, np.nan, 1e-9, 2e-8, 0.0019, 0.00098, -300.0],
                       tf.float32)
    small = tf.constant([0, 1, -1, 7, 8, -8, 15, 16, 100, -100], tf.int32)
    others = REAL + INTS + COMPLEX + [tf.bool]
    for t in F8:
        for o in others:
            mild = data(o, [6], 0.0, 100.0)
            case("Cast", wild if o == tf.float32 else mild, SrcT=o, DstT=t, Truncate=False)
            case("Cast", tf.cast(tf.constant([0.0, 1.0, 2.5, 30.0, 7.0]), t), SrcT=t, DstT=o, Truncate=False)
        every = tf.constant(np.arange(256, dtype=np.uint8).view(t.as_numpy_dtype), t)
        case("Cast", every, SrcT=t, DstT=tf.float32, Truncate=False)
        for o in F8:
            case("Cast", every, SrcT=t, DstT=o, Truncate=False)
    for t in I4:
        for o in others:
            if o in COMPLEX:
                continue
            case("Cast", small if o == tf.int32 else tf.cast(small[:4], o) if o != tf.bool else
                 tf.constant([True, False]), SrcT=o, DstT=t, Truncate=False)
            case("Cast", tf.cast(tf.constant([0, 1, 5, 7], tf.int32), t), SrcT=t, DstT=o, Truncate=False)
        for o in I4:
            case("Cast", tf.cast(tf.constant([0, 1, 5, 7], tf.int32), t), SrcT=t, DstT=o, Truncate=False)


def variants():
    """Variants through the ops that move elements: rows of a ragged tensor, read back afterwards."""
    def rows():
        return keep("RaggedTensorToVariant", [c64([0, 2, 2, 5, 6])], data(tf.float32, [6]),
                    batched_input=True)[0]

    def back(v):
        case("RaggedTensorFromVariant", v, outputs=1 + v.shape.rank, input_ragged_rank=0,
             output_ragged_rank=v.shape.rank, Tvalues=tf.float32, Tsplits=tf.int64)

    def through(op, make, outputs=1, which=0, **attrs):
        v = rows()
        out = keep(op, *make(v), outputs=outputs, **attrs)
        if out is not None:
            back(out[which])

    masks = dict(begin_mask=0, end_mask=0, ellipsis_mask=0, new_axis_mask=0, shrink_axis_mask=0)
    through("Identity", lambda v: [v])
    through("Pack", lambda v: [[v, v]], axis=0)
    through("Unpack", lambda v: [v], outputs=4, which=2, axis=0, num=4)
    through("ConcatV2", lambda v: [[v, v], c32(0)])
    through("GatherV2", lambda v: [v, c32([2, 0, 2]), c32(0)], batch_dims=0)
    through("GatherNd", lambda v: [v, c32([[2], [0]])], bad_indices_policy="")
    through("StridedSlice", lambda v: [v, c32([3]), c32([0]), c32([-2])], **masks)
    through("Slice", lambda v: [v, c32([1]), c32([2])])
    through("Split", lambda v: [c32(0), v], outputs=2, which=1, num_split=2)
    through("SplitV", lambda v: [v, c64([1, 3]), c32(0)], outputs=2, which=1, num_split=2)
    through("Reshape", lambda v: [v, c32([2, 2])])
    through("Tile", lambda v: [v, c32([2])])
    through("BroadcastTo", lambda v: [v, c32([2, 4])])
    through("Roll", lambda v: [v, c32(1), c32(0)])
    through("Select", lambda v: [tf.constant([True, False, True, False]), v, v])
    through("SelectV2", lambda v: [tf.constant([True, False, True, False]), v, v])
    through("DynamicPartition", lambda v: [v, c32([0, 1, 0, 1])], outputs=2, which=1, num_partitions=2)
    through("SparseSlice", lambda v: [c64([[0], [1], [2], [3]]), v, c64([4]), c64([1]), c64([2])],
            outputs=3, which=1)
    through("SparseReorder", lambda v: [c64([[3], [1], [2], [0]]), v, c64([4])], outputs=2, which=1)


def step(op, value, inputs, outputs=0, **attrs):
    """An op on a variable that holds |value|: its outputs, and what it holds afterwards."""
    variable = tf.Variable(value)
    known = g.type_attrs(op, [value] + inputs, attrs)
    for name in ("dtype", "T"):
        if re.search(r"(?:^| )%s:type" % name, SPECS[op][3]):
            known.setdefault(name, value.dtype)
    block = g.head("op", op, known) + [g.tensor_line("var", value)]
    block += [g.tensor_line("in", x) for x in inputs]
    out = g.ask(op, [variable.handle] + inputs, outputs, known)
    if out is not None:
        g.lines.extend(block + g.told(out, [variable]))


def variables():
    """Reading and changing parts of a variable."""
    numbers = [t for t in REAL + INTS + COMPLEX]
    for kind in ("Update", "Add", "Sub", "Mul", "Div", "Min", "Max"):
        op = "ResourceScatter" + kind
        for t in [x for x in numbers if x in types(op, "dtype")]:
            v = any_data(t, [3, 2])
            u = tf.ones([2, 2], t) if kind == "Div" else any_data(t, [2, 2])
            step(op, v, [c32([2, 0]), u])
        f = data(tf.float32, [3, 2])
        step(op, f, [c64([2, 2]), data(tf.float32, [2, 2], 1)])
        step(op, f, [c32([[0], [1]]), data(tf.float32, [2, 1, 2], 1)])
        step(op, f, [c32(1), data(tf.float32, [2], 1)])
        step(op, f, [c32([1, 0]), tf.constant(3.0)])
        step(op, f, [c32([]), data(tf.float32, [0, 2])])
        step(op, f, [c32([3]), data(tf.float32, [1, 2], 1)])
        step(op, f, [c32([-1]), data(tf.float32, [1, 2], 1)])
    for kind in ("Update", "Add", "Sub", "Min", "Max"):
        op = "ResourceScatterNd" + kind
        kw = dict(use_locking=True, bad_indices_policy="")
        for t in [x for x in numbers if x in types(op)]:
            step(op, any_data(t, [3, 2]), [c32([[2], [0]]), any_data(t, [2, 2])], **kw)
        f = data(tf.float32, [3, 2])
        step(op, f, [c64([[2, 1], [0, 0]]), data(tf.float32, [2])], **kw)
        step(op, f, [c32([[3]]), data(tf.float32, [1, 2])], **kw)
        step(op, f, [c32([[0]]), data(tf.float32, [1, 3])], **kw)
        step(op, f, [c32([[0, 0, 0]]), data(tf.float32, [1])], **kw)
    for t in [x for x in numbers + [tf.bool] if x in types("ResourceGather", "dtype")]:
        step("ResourceGather", any_data(t, [3, 2]), [c32([2, 0])], outputs=1, batch_dims=0,
             validate_indices=True)
        step("ResourceGatherNd", any_data(t, [3, 2]), [c32([[2, 0]])], outputs=1)
    for t in QUANTIZED + [tf.string, tf.bool] + F8:
        if t in QUANTIZED:
            continue  # TensorFlow cannot copy such a variable
        v = any_data(t, [3, 2])
        if t in types("ResourceGather", "dtype"):
            step("ResourceGather", v, [c32([2, 0])], outputs=1, batch_dims=0, validate_indices=True)
        if t in types("ResourceGatherNd", "dtype"):
            step("ResourceGatherNd", v, [c32([[2, 0]])], outputs=1)
        if t in types("ResourceScatterUpdate", "dtype"):
            step("ResourceScatterUpdate", v, [c32([2]), any_data(t, [1, 2])])
        for kind in ("Update", "Add", "Sub"):
            if t in types("ResourceScatterNd" + kind):
                step("ResourceScatterNd" + kind, v, [c32([[2]]), any_data(t, [1, 2])], use_locking=True,
                     bad_indices_policy="")
        if t in types("ResourceStridedSliceAssign"):
            step("ResourceStridedSliceAssign", v, [c32([0, 1]), c32([3, 2]), c32([2, 1]), any_data(t, [2, 1])],
                 begin_mask=0, end_mask=0, ellipsis_mask=0, new_axis_mask=0, shrink_axis_mask=0)
    f = data(tf.float32, [3, 2])
    step("ResourceGather", f, [c64([[2], [0]])], outputs=1, batch_dims=0, validate_indices=True)
    step("ResourceGather", f, [c64([[1], [0], [1]])], outputs=1, batch_dims=1, validate_indices=True)
    step("ResourceGather", f, [c32([3])], outputs=1, batch_dims=0, validate_indices=True)
    step("ResourceGather", f, [c32([-1])], outputs=1, batch_dims=0, validate_indices=True)
    step("ResourceGatherNd", f, [c64([[2], [0]])], outputs=1)
    step("ResourceGatherNd", f, [c32([[3, 0]])], outputs=1)
    step("ResourceGatherNd", f, [c32([[0, 0, 0]])], outputs=1)
    for t in (tf.int32, tf.int64):
        step("VariableShape", f, [], outputs=1, out_type=t)
    masks = dict(begin_mask=0, end_mask=0, ellipsis_mask=0, new_axis_mask=0, shrink_axis_mask=0)
    for t in [x for x in numbers if x in types("ResourceStridedSliceAssign")]:
        step("ResourceStridedSliceAssign", any_data(t, [3, 2]),
             [c32([0, 1]), c32([3, 2]), c32([2, 1]), any_data(t, [2, 1])], **masks)
    step("ResourceStridedSliceAssign", f, [c32([0, 1]), c32([3, 2]), c32([2, 1]), data(tf.float32, [3, 1])],
         **masks)


def lists():
    """Lists of tensors, whose values are variants."""
    def full(x):
        return keep("TensorListFromTensor", x, c32([2]), element_dtype=x.dtype, shape_type=tf.int32)[0]

    for t in r.PLAIN + QUANTIZED:
        a, b = full(any_data(t, [3, 2])), None
        case("TensorListStack", a, c32([2]), element_dtype=t, num_elements=-1)
        if t not in (tf.float32, tf.int64, tf.string, tf.bool):
            a = full(any_data(t, [1, 2]))
            case("TensorListConcatV2", a, c32([2]), c64([]), outputs=2, element_dtype=t,
                 shape_type=tf.int32)
            a = full(any_data(t, [1, 2]))
            case("TensorListConcat", a, outputs=2, element_dtype=t, element_shape=[2])
            a, b = full(any_data(t, [1, 2])), full(any_data(t, [1, 2]))
            (batch,) = keep("Pack", [a, b], axis=0)
            (pushed,) = keep("TensorListPushBackBatch", batch, any_data(t, [2, 2]), element_dtype=t)
            (one, two) = keep("Unpack", pushed, outputs=2, axis=0, num=2)
            case("TensorListStack", two, c32([2]), element_dtype=t, num_elements=2)
            continue
        a, b = full(any_data(t, [3, 2])), full(any_data(t, [1, 2]))
        (both,) = keep("TensorListConcatLists", a, b, element_dtype=t)
        case("TensorListStack", both, c32([2]), element_dtype=t, num_elements=4)
        a = full(any_data(t, [3, 2]))
        case("TensorListConcatV2", a, c32([2]), c64([]), outputs=2, element_dtype=t, shape_type=tf.int32)
        a = full(any_data(t, [3, 2]))
        case("TensorListConcat", a, outputs=2, element_dtype=t, element_shape=[2])
        a, b = full(any_data(t, [2, 2])), full(any_data(t, [1, 2]))
        (batch,) = keep("Pack", [a, b], axis=0)
        (pushed,) = keep("TensorListPushBackBatch", batch, any_data(t, [2, 2]), element_dtype=t)
        (one, two) = keep("Unpack", pushed, outputs=2, axis=0, num=2)
        case("TensorListStack", two, c32([2]), element_dtype=t, num_elements=2)


def tables():
    """Lookup tables: made, filled and read in consecutive cases that keep the handle."""
    words, numbers = tf.constant(["a", "bc", "d"]), c64([7, -8, 9])
    pairs = ((words, numbers, c64(-1)), (numbers, words, tf.constant("?")),
             (c64([1, 2, 3]), tf.constant([0.5, 1.5, 2.5]), tf.constant(-1.0)),
             (c32([1, 2, 3]), tf.constant([0.5, 1.5, 2.5], tf.float64), tf.constant(-1.0, tf.float64)),
             (words, c32([4, 5, 6]), c32(-1)),
             (words, tf.constant([True, False, True]), tf.constant(False)),
             (words, tf.constant(["x", "y", "z"]), tf.constant("")))
    n = 0
    for keys, found, default in pairs:
        kw = dict(key_dtype=keys.dtype, value_dtype=found.dtype, container="")
        asked = tf.concat([keys[1:], keys[:1], keys[1:2]], 0)
        other = (tf.constant(["zz", "yy"]) if keys.dtype == tf.string else
                 tf.constant([98, 99], keys.dtype))
        unknown, defaults = tf.concat([keys[:1], other], 0), tf.reverse(found, [0])
        n += 1
        (h,) = keep("HashTableV2", shared_name="h%d" % n, use_node_name_sharing=False, **kw)
        r.again("LookupTableSizeV2", h)
        r.again("LookupTableFindV2", h, asked, default)
        r.again("InitializeTableV2", h, keys, found, outputs=0)
        r.again("InitializeTableV2", h, keys, found, outputs=0)
        r.again("LookupTableSizeV2", h)
        r.again("LookupTableFindV2", h, tf.reshape(asked, [2, 2]), default)
        r.again("LookupTableFindV2", h, asked, tf.stack([default, default]))
        r.again("LookupTableFindV2", h, unknown, default)
        r.again("LookupTableFindV2", h, unknown, defaults)
        case("LookupTableInsertV2", h, keys, found, outputs=0)
        n += 1
        (h,) = keep("HashTableV2", shared_name="h%d" % n, use_node_name_sharing=False, **kw)
        r.again("InitializeTableV2", h, keys, found[:2], outputs=0)
        case("InitializeTableV2", h, tf.concat([keys, keys[:1]], 0), tf.concat([found, found[1:2]], 0),
             outputs=0)
        n += 1
        made = keep("MutableHashTableV2", shared_name="h%d" % n, use_node_name_sharing=False, **kw)
        if not made:
            continue  # no kernel for these types
        (h,) = made
        r.again("LookupTableSizeV2", h)
        r.again("LookupTableInsertV2", h, keys, found, outputs=0)
        r.again("LookupTableInsertV2", h, keys[:1], found[1:2], outputs=0)
        r.again("LookupTableFindV2", h, asked, default)
        r.again("LookupTableFindV2", h, unknown, defaults)
        r.again("LookupTableRemoveV2", h, keys[1:], outputs=0)
        r.again("LookupTableSizeV2", h)
        r.again("LookupTableExportV2", h, outputs=2, Tkeys=keys.dtype, Tvalues=found.dtype)
        r.again("LookupTableImportV2", h, keys[2:], found[:1], outputs=0)
        r.again("LookupTableExportV2", h, outputs=2, Tkeys=keys.dtype, Tvalues=found.dtype)
        case("LookupTableInsertV2", h, keys, found[:2], outputs=0)
        n += 1
        (h,) = keep("MutableHashTableOfTensorsV2", shared_name="h%d" % n, use_node_name_sharing=False,
                    value_shape=[2], **kw)
        r.again("LookupTableInsertV2", h, keys, tf.stack([found, found], 1), outputs=0)
        r.again("LookupTableFindV2", h, asked, tf.stack([default, default]))
        r.again("LookupTableFindV2", h, asked, default)
        r.again("LookupTableSizeV2", h)
        case("LookupTableInsertV2", h, keys, found, outputs=0)


FAMILIES = {f.__name__: f for f in (moving, computing, casts, variants, variables,
                                    lists)}

if __name__ == "__main__":
    g.rng.seed(23)
    g.infer = lambda *ignored: None  # shapes do not depend on types
    r.write("dtypes", FAMILIES, [f for f in sys.argv[1:] if f in FAMILIES])
    r.write("tables", {"tables": tables}, [])
