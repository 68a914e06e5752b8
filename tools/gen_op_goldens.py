#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Writes tests/data/op_goldens.txt and shape_goldens.txt: what the real TensorFlow answers, op by op, and
what it infers, in the language of golden_case.py.

Run with a Python that has TensorFlow:  /opt/tfvenv/bin/python tools/gen_op_goldens.py
"""
import numpy as np
import tensorflow as tf
from golden_case import (COMPLEX, INTS, REAL, SIGNED, UNSIGNED, case, cpu_types, data, i32, s32, special,
                         write_both)


def binary_ops():
    plain = ["AddV2", "Sub", "Mul", "Div", "RealDiv", "FloorDiv", "TruncateDiv", "FloorMod", "Mod",
             "TruncateMod", "Maximum", "Minimum", "SquaredDifference", "DivNoNan", "MulNoNan",
             "Atan2", "Xdivy", "Xlogy", "Xlog1py", "Add", "Pow", "BitwiseAnd", "BitwiseOr",
             "BitwiseXor", "LeftShift", "RightShift", "Equal", "NotEqual", "Less", "LessEqual",
             "Greater", "GreaterEqual"]
    for op in plain:
        for t in cpu_types(op):
            if t == tf.bool and op not in ("Equal", "NotEqual"):
                continue
            divides = op in ("Div", "FloorDiv", "TruncateDiv", "FloorMod", "Mod", "TruncateMod")
            low = 0.1 if op in ("Xlogy", "Xlog1py") else -3.0
            high = 12 if op in ("Pow", "LeftShift", "RightShift") else 100
            x = data(t, [2, 5], integer_high=high)
            y = data(t, [5], low, integer_high=high)
            if op == "Pow" and t not in INTS:
                x = data(t, [2, 5], 0.1)
            if t in INTS and divides:
                y = tf.where(tf.equal(tf.cast(y, tf.int64), 0), tf.ones_like(y), y)
            if op == "Pow" and t in INTS:
                y = tf.cast(tf.abs(tf.cast(y, tf.int64)), t)
            case(op, [x, y])
            case(op, [x[0], x[1] if not (t in INTS and (divides or op == "Pow")) else y])
        t = cpu_types(op)[0] if tf.float32 not in cpu_types(op) else tf.float32
        case(op, [data(t, [2, 1, 3], 0.5), data(t, [4, 1], 0.5, integer_high=5)])
        case(op, [data(t, [], 0.5), data(t, [3, 2], 0.5, integer_high=5)])
        case(op, [data(t, [0, 3]), data(t, [1])])
        case(op, [data(t, [2, 3], 0.5), data(t, [4], 0.5)])
        if tf.float32 in cpu_types(op) and op not in ("Pow",):
            s = special(tf.float32)
            case(op, [s, tf.reverse(s, [0])])
            case(op, [s, tf.constant(2.0)])
    for t in SIGNED:
        small = np.iinfo(t.as_numpy_dtype).min
        for op in ("FloorDiv", "Div", "FloorMod", "TruncateMod", "Mod"):
            if t in cpu_types(op):
                case(op, [tf.constant([small, 7, -7, 7, -7], t), tf.constant([-1, 2, 2, -2, -2], t)])
                case(op, [tf.constant([1], t), tf.constant([0], t)])
    case("Pow", [i32(2), i32(-1)])
    case("AddV2", [tf.constant([127, -128], tf.int8), tf.constant([1, -1], tf.int8)])
    case("Mul", [tf.constant([65535], tf.uint16), tf.constant([65535], tf.uint16)])
    case("Add", [tf.constant(["a", "bc"]), tf.constant("xyz")])
    for op in ("Equal", "NotEqual"):
        case(op, [i32(1, 2), i32(1, 2, 3)], incompatible_shape_error=False)
        case(op, [i32(1, 2), i32(1, 2)], incompatible_shape_error=False)
    b = tf.constant([True, True, False, False])
    for op in ("LogicalAnd", "LogicalOr"):
        case(op, [b, tf.constant([True, False, True, False])])
        case(op, [tf.reshape(b, [4, 1]), tf.constant([True, False])])


def unary_ops():
    every = ["Neg", "Abs", "Sign", "Square", "Sqrt", "Rsqrt", "Reciprocal", "Inv", "Exp", "Expm1",
             "Log", "Log1p", "Sin", "Cos", "Tan", "Asin", "Acos", "Atan", "Sinh", "Cosh", "Asinh",
             "Acosh", "Atanh", "Tanh", "Sigmoid", "Erf", "Erfc", "Lgamma", "Digamma", "Floor", "Ceil",
             "Rint", "Round", "IsNan", "IsInf", "IsFinite", "Relu", "Relu6", "LeakyRelu", "Elu",
             "Selu", "Softplus", "Softsign", "Invert"]
    for op in every:
        for t in cpu_types(op):
            if t == tf.bool or (t in INTS and op in ("Acos", "LeakyRelu", "Round")):
                continue  # TensorFlow rounds every integer to 0
            low, high = {"Asin": (-.99, .99), "Acos": (-.99, .99), "Atanh": (-.99, .99),
                         "Acosh": (1.01, 5), "Log": (.1, 5), "Log1p": (-.9, 5), "Sqrt": (0, 5),
                         "Rsqrt": (.1, 5)}.get(op, (-4, 4))
            case(op, [data(t, [3, 7], low, high)])
            if t in (tf.float32, tf.float64):
                if not (op == "Erf" and t == tf.float64):  # there, Erf(Inf) is NaN
                    case(op, [special(t)])
                case(op, [data(t, [0])])
                case(op, [data(t, [], low, high)])
    case("LeakyRelu", [data(tf.float32, [9])], alpha=0.5)
    case("LogicalNot", [tf.constant([True, False])])
    case("Abs", [tf.constant([-2**31], tf.int32)])


def casts():
    types = REAL + INTS + COMPLEX + [tf.bool]
    for a in types:
        for b in types:
            low = 0.0 if b in UNSIGNED else -4.0
            case("Cast", [data(a, [9], low, 100.0)], SrcT=a, DstT=b, Truncate=False)
    for a in (tf.float32, tf.float64):
        wild = tf.constant([np.nan, np.inf, -np.inf, -1.5, 3e9, -3e9, 70000., 1e19], a)
        for b in INTS + [tf.bool]:
            case("Cast", [wild], SrcT=a, DstT=b, Truncate=False)
        for b in (tf.float32, tf.half, tf.bfloat16):
            if a != b:
                case("Cast", [data(a, [20])], SrcT=a, DstT=b, Truncate=True)
    case("Bitcast", [data(tf.float32, [3])], type=tf.uint8)
    case("Bitcast", [data(tf.uint8, [2, 4])], type=tf.float32)
    case("Bitcast", [data(tf.int64, [2])], type=tf.float64)
    case("Bitcast", [data(tf.float32, [3])], type=tf.float64)


def matmuls():
    for t in cpu_types("MatMul"):
        if t == tf.int16:
            continue
        for ta in (False, True):
            for tb in (False, True):
                a = data(t, [7, 3] if ta else [3, 7])
                b = data(t, [5, 7] if tb else [7, 5])
                case("MatMul", [a, b], transpose_a=ta, transpose_b=tb)
    case("MatMul", [data(tf.float32, [6, 140]), data(tf.float32, [140, 9])])
    case("MatMul", [data(tf.float32, [1, 9]), data(tf.float32, [9, 1])])
    case("MatMul", [data(tf.float32, [2, 0]), data(tf.float32, [0, 3])])
    case("MatMul", [data(tf.float32, [0, 2]), data(tf.float32, [2, 3])])
    case("MatMul", [data(tf.float32, [2, 3]), data(tf.float32, [2, 3])])
    case("MatMul", [data(tf.float32, [2]), data(tf.float32, [2, 3])])
    case("MatMul", [data(tf.float32, [2, 2, 2]), data(tf.float32, [2, 2, 2])])
    for t in cpu_types("BatchMatMulV2"):
        case("BatchMatMulV2", [data(t, [2, 1, 3, 4]), data(t, [3, 4, 2])])
        if t != tf.int16:
            case("BatchMatMul", [data(t, [2, 3, 4]), data(t, [2, 4, 2])])
            case("BatchMatMul", [data(t, [2, 4, 3]), data(t, [2, 2, 4])], adj_x=True, adj_y=True)
    f = tf.float32
    for op in ("BatchMatMul", "BatchMatMulV2"):
        case(op, [data(f, [2, 3, 4]), data(f, [3, 4, 5])])
        case(op, [data(f, [2, 3, 4]), data(f, [2, 5, 5])])
        case(op, [data(f, [4]), data(f, [2, 5, 5])])
        case(op, [data(f, [0, 3, 4]), data(f, [0, 4, 5])])


def reductions():
    for op in ("Sum", "Mean", "Prod", "Max", "Min"):
        for t in cpu_types(op):
            x = data(t, [2, 3, 4], integer_high=4)
            for axes in ([0], [1], [2], [0, 1], [0, 2], [1, 2], [0, 1, 2], []):
                if t != tf.float32 and len(axes) not in (1, 3):
                    continue
                case(op, [x, tf.constant(axes, tf.int32)])
        f = tf.float32
        case(op, [data(f, [2, 3, 2, 3]), i32(0, 2)])
        case(op, [data(f, [2, 3, 2, 3]), i32(1, 3)])
        case(op, [data(f, [2, 3]), i32(-1)], keep_dims=True)
        case(op, [data(f, [2, 3]), tf.constant([0, 1], tf.int64)], keep_dims=True)
        case(op, [data(f, [2, 3]), s32(1)])
        case(op, [data(f, [0, 3]), i32(0)])
        case(op, [data(tf.int32, [0, 3]), i32(0)])
        case(op, [data(f, [2, 0]), i32(0)])
        case(op, [data(f, []), tf.constant([], tf.int32)])
        case(op, [data(f, [1100], 0.0, 0.01 if op == "Prod" else 1.0), i32(0)])
        case(op, [data(f, [2, 3]), i32(5)])
        case(op, [data(f, [2, 3]), i32(0, -2)])
        case(op, [tf.constant([1.0, np.nan, 3.0]), i32(0)])
        case(op, [data(tf.half, [700], 0.0, 1.0 if op != "Prod" else 1.01), i32(0)])
    for op in ("All", "Any"):
        x = data(tf.bool, [3, 4])
        for axes in ([0], [1], [0, 1], []):
            case(op, [x, tf.constant(axes, tf.int32)])
        case(op, [data(tf.bool, [0]), i32(0)])
        case(op, [x, i32(-1)], keep_dims=True)
    for op in ("ArgMax", "ArgMin"):
        for t in cpu_types(op):
            case(op, [data(t, [3, 5], integer_high=3), s32(1)], output_type=tf.int64)
            case(op, [data(t, [3, 5], integer_high=3), s32(0)], output_type=tf.int32)
        case(op, [data(tf.float32, [3]), s32(3)], output_type=tf.int64)
        case(op, [data(tf.float32, [0, 3]), s32(0)], output_type=tf.int64)
        case(op, [data(tf.float32, [0, 3]), s32(1)], output_type=tf.int64)
        case(op, [data(tf.float32, []), s32(0)], output_type=tf.int64)
        case(op, [data(tf.float32, [3]), i32(0)], output_type=tf.int64)
        case(op, [tf.constant([np.nan, 1.0, 3.0, 3.0]), s32(0)], output_type=tf.int64)


def shapes():
    f = tf.float32
    x = data(f, [2, 3])
    for shape in ([3, 2], [-1], [6, 1], [-1, 2], [4], [-1, 4], [-1, -1], [-2, 3], [], [1, 1, 6]):
        case("Reshape", [x, tf.constant(shape, tf.int32)])
    case("Reshape", [x, tf.constant([3, -1], tf.int64)])
    case("Reshape", [data(f, [0, 3]), i32(-1, 0)])
    case("Reshape", [data(f, [0, 3]), i32(-1, 3)])
    case("Reshape", [x, tf.constant([[2, 3]], tf.int32)])
    case("Reshape", [data(f, []), tf.constant([], tf.int32)])
    for axis in (0, 1, 2, -1, -3, 5, -4):
        case("ExpandDims", [x, s32(axis)])
    case("ExpandDims", [x, i32(0, 1)])
    y = data(f, [1, 3, 1])
    for dims in ([], [0], [-1], [0, 2], [1], [5]):
        case("Squeeze", [y], squeeze_dims=dims)
    for t in (tf.int32, tf.int64):
        for shape in ([2, 3], [], [0], [1, 2, 3, 4]):
            case("Shape", [data(f, shape)], out_type=t)
            case("Size", [data(f, shape)], out_type=t)
            case("Rank", [data(f, shape)])
    case("ShapeN", [[data(f, [2]), data(f, []), data(f, [1, 0])]], outputs=3, out_type=tf.int32)
    case("Identity", [x])
    case("IdentityN", [[x, i32(1)]], outputs=2)
    case("StopGradient", [x])
    case("PreventGradient", [x])
    case("Snapshot", [x])


def joins():
    f = tf.float32
    for t in REAL + INTS + COMPLEX + [tf.bool, tf.string]:
        case("ConcatV2", [[data(t, [2, 1]), data(t, [2, 3])], s32(1)])
        case("Pack", [[data(t, [3]), data(t, [3])]], axis=1)
        case("Split", [s32(0), data(t, [4, 2])], outputs=2, num_split=2)
        case("Unpack", [data(t, [2, 3])], outputs=3, num=3, axis=1)
    case("ConcatV2", [[data(f, [2, 3]), data(f, [0, 3]), data(f, [1, 3])], s32(-2)])
    case("ConcatV2", [[data(f, [2, 3]), data(f, [2, 4])], s32(0)])
    case("ConcatV2", [[data(f, [2, 3]), data(f, [2])], s32(0)])
    case("ConcatV2", [[data(f, [2]), data(f, [2])], s32(1)])
    case("ConcatV2", [[data(f, []), data(f, [])], s32(0)])
    case("ConcatV2", [[data(f, [2]), data(f, [2])], i32(0, 1)])
    case("Concat", [s32(1), [data(f, [2, 1]), data(f, [2, 3])]])
    case("Concat", [s32(-3), [data(f, [2, 1]), data(f, [2, 3])]])
    case("Pack", [[data(f, []), data(f, [])]])
    case("Pack", [[data(f, [2, 2]), data(f, [2, 2])]], axis=-1)
    case("Pack", [[data(f, [2]), data(f, [3])]])
    case("Pack", [[data(f, [2]), data(f, [2])]], axis=3)
    case("Unpack", [data(f, [2])], outputs=2, num=2)
    case("Unpack", [data(f, [2])], outputs=3, num=3)
    case("Unpack", [data(f, [])], outputs=2, num=2)
    case("Split", [s32(-1), data(f, [2, 6])], outputs=3, num_split=3)
    case("Split", [s32(0), data(f, [3])], outputs=2, num_split=2)
    case("Split", [s32(2), data(f, [3])], outputs=3, num_split=3)
    for sizes in ([1, 2], [-1, 1], [3, 0], [1, 1], [-1, -1], [-1, 5], [-2, 5]):
        case("SplitV", [data(f, [2, 3]), tf.constant(sizes, tf.int64), s32(1)], outputs=2,
             num_split=2)
    case("SplitV", [data(f, [3]), i32(1, 2), s32(3)], outputs=2, num_split=2)
    case("SplitV", [data(f, [3]), i32(1, 1, 1), s32(0)], outputs=2, num_split=2)


def slices():
    f = tf.float32
    x = data(f, [3, 4, 5])
    for t in REAL + INTS + COMPLEX + [tf.bool, tf.string]:
        y = data(t, [3, 4])
        case("Slice", [y, i32(1, 0), i32(2, 3)])
        case("StridedSlice", [y, i32(2, 0), i32(0, 4), i32(-1, 2)])
        case("Transpose", [data(t, [2, 3, 4]), i32(2, 0, 1)])
        case("Tile", [y, i32(2, 2)])
        case("ReverseV2", [y, i32(1)])
        case("GatherV2", [y, i32(2, 0, 2), s32(0)])
        case("GatherNd", [y, tf.constant([[0, 1], [2, 3]], tf.int32)])
        case("BroadcastTo", [data(t, [3, 1]), i32(2, 3, 2)])
        case("SelectV2", [tf.constant([True, False]), data(t, [3, 2]), data(t, [])])
        case("Select", [tf.constant([True, False]), data(t, [2, 2]), data(t, [2, 2])])
        case("Fill", [i32(2, 2), data(t, [])])
        if t != tf.string:
            case("Pad", [y, tf.constant([[1, 0], [0, 2]], tf.int32)])
            case("PadV2", [y, tf.constant([[0, 1], [2, 0]], tf.int32), data(t, [])])
            case("OnesLike", [y])
        case("ZerosLike", [y])
        case("OneHot", [i32(0, 2, -1, 5), s32(3), data(t, []), data(t, [])])
        if t in cpu_types("Where") and t != tf.half:
            case("Where", [data(t, [3, 4], integer_high=1)])
        if t in cpu_types("Cumsum"):
            case("Cumsum", [y, s32(0)])
        if t in cpu_types("AddN"):
            case("AddN", [[y, y, data(t, [3, 4])]])
            case("BiasAdd", [y, data(t, [4])])
        if t in cpu_types("TopKV2"):
            case("TopKV2", [y, s32(3)], outputs=2, index_type=tf.int32)
    for b, s in (([0, 0, 0], [3, 4, 5]), ([1, 2, 3], [-1, -1, -1]), ([3, 0, 0], [0, 4, 5]),
                 ([1, 0, 0], [3, 1, 1]), ([-1, 0, 0], [1, 1, 1]), ([0, 0], [1, 1]),
                 ([1, 1, 1], [1, 2, -2])):
        case("Slice", [x, tf.constant(b, tf.int64), tf.constant(s, tf.int64)])
    for b, e, s, masks in (
            ([0], [3], [1], {}), ([0], [3], [2], {}), ([-1], [-4], [-1], {}),
            ([5], [-10], [-2], {}), ([1, 1], [2, 3], [1, 1], {}),
            ([0, 0], [0, 0], [1, -1], dict(begin_mask=3, end_mask=3)),
            ([1], [0], [1], dict(shrink_axis_mask=1)), ([-1], [0], [1], dict(shrink_axis_mask=1)),
            ([0, 2], [0, 3], [1, 1], dict(ellipsis_mask=1)),
            ([0, 0, 1], [0, 0, 2], [1, 1, 1], dict(new_axis_mask=1, ellipsis_mask=2)),
            ([1, 0, -1], [2, 0, 0], [1, 1, 1], dict(ellipsis_mask=2, shrink_axis_mask=5)),
            ([0, 1, 2, 0], [0, 2, 3, 0], [1, 1, 1, 1], dict(new_axis_mask=9)),
            ([2], [1], [1], {}), ([0], [3], [0], {}), ([7], [8], [1], dict(shrink_axis_mask=1)),
            ([0, 0, 0, 0], [1, 1, 1, 1], [1, 1, 1, 1], {}), ([0], [1], [-1], dict(shrink_axis_mask=1)),
            ([0, 0], [1, 1], [1, 1], dict(ellipsis_mask=3)), ([], [], [], {})):
        case("StridedSlice", [x, tf.constant(b, tf.int32), tf.constant(e, tf.int32),
                              tf.constant(s, tf.int32)], **masks)
    case("StridedSlice", [x, i32(0, 0), i32(1, 1), i32(1)])
    for perm in ([0, 1, 2], [2, 1, 0], [1, 0, 2], [0, 2, 1], [-1, 0, 1], [0, 1], [0, 0, 1], [0, 1, 3]):
        case("Transpose", [x, tf.constant(perm, tf.int32)])
    case("Transpose", [data(f, [17, 35]), i32(1, 0)])
    case("Transpose", [data(f, [1, 5, 1]), i32(2, 1, 0)])
    for m in ([1, 1, 1], [2, 1, 3], [0, 1, 1], [1, 1], [-1, 1, 1]):
        case("Tile", [x, tf.constant(m, tf.int32)])
    for axes in ([0, 2], [], [-1], [3], [0, 0]):
        case("ReverseV2", [x, tf.constant(axes, tf.int32)])
    for shape in ([3], [3, 4, 5, 6], [2, 3, 4, 5], [3, 4, 0], [-1]):
        case("BroadcastTo", [x, tf.constant(shape, tf.int32)])
    case("BroadcastArgs", [i32(2, 1), i32(3)])
    case("BroadcastArgs", [i32(2), i32(3)])
    for axis, batch, indices in ((0, 0, [[0, 1], [2, 0]]), (1, 0, [3, 0]), (-1, 0, [4]),
                                 (1, 1, [[0, 3], [1, 2], [2, 2]]), (2, 1, [[0], [1], [4]]),
                                 (0, 0, [[0, 1], [-1, 2]]), (0, 0, [3]), (3, 0, [0]), (0, 1, [0, 1, 2]),
                                 (1, 1, [[0], [1]]), (2, 2, [[0, 1, 2, 3]] * 3), (1, 0, [])):
        case("GatherV2", [x, tf.constant(indices, tf.int64), s32(axis)], batch_dims=batch)
    case("Gather", [x, i32(2, 0)])
    case("Gather", [x, i32(5)])
    case("GatherV2", [x, s32(1), s32(1)])
    for indices in ([[0]], [[2, 3]], [[2, 3, 4]], [[[0, 0]], [[1, 1]]], [[3, 0]], [[0, 0, 0, 0]],
                    [[0, 0], [1, 9]]):
        case("GatherNd", [x, tf.constant(indices, tf.int32)])
    case("Select", [tf.constant(True), data(f, [2, 2]), data(f, [2, 2])])
    case("Select", [tf.constant([[True, False]]), data(f, [1, 2]), data(f, [1, 2])])
    case("Select", [tf.constant([True, False]), data(f, [3]), data(f, [3])])
    case("Select", [tf.constant([True, False, True]), data(f, [2, 2]), data(f, [2, 2])])
    case("Select", [tf.constant([True, False]), data(f, []), data(f, [])])
    case("SelectV2", [tf.constant([True, False]), data(f, [3]), data(f, [3])])
    case("SelectV2", [tf.constant([[True], [False]]), data(f, [3]), data(f, [1])])
    case("Pad", [data(f, [2]), tf.constant([[1, -1]], tf.int32)])
    case("Pad", [data(f, [2]), tf.constant([[1, 1], [1, 1]], tf.int32)])
    case("Pad", [data(f, [2]), i32(1, 1)])
    case("Pad", [data(f, [0, 2]), tf.constant([[1, 1], [0, 1]], tf.int32)])
    case("Fill", [i32(-1), data(f, [])])
    case("Fill", [i32(2), data(f, [2])])
    for axis in (-1, 0, 1, 2, 3):
        case("OneHot", [tf.constant([[0, 2], [1, 7]], tf.int64), s32(3), data(f, []), data(f, [])],
             axis=axis)
    case("OneHot", [i32(0), s32(-1), data(f, []), data(f, [])])
    case("OneHot", [i32(0), i32(2), data(f, []), data(f, [])])
    for a in ((0, 5, 2), (5, 0, -2), (0, 0, 1), (0, 5, 0), (5, 0, 1), (0, 5, -1)):
        case("Range", [s32(v) for v in a])
        case("Range", [tf.constant(v, tf.int64) for v in a])
    for a in ((0.0, 1.0, 0.3), (1.0, 0.0, -0.25), (0.0, 10.0, 1.0)):
        for t in REAL:
            case("Range", [tf.constant(v, t) for v in a])
    for n in (1, 2, 7, 0):
        case("LinSpace", [tf.constant(0.5), tf.constant(3.0), s32(n)])
        case("LinSpace", [tf.constant(0.5, tf.float64), tf.constant(3.0, tf.float64), s32(n)])
    for e in (False, True):
        for r in (False, True):
            case("Cumsum", [x, s32(1)], exclusive=e, reverse=r)
            case("Cumprod", [x, s32(-1)], exclusive=e, reverse=r)
    case("Cumsum", [x, s32(3)])
    case("InvertPermutation", [i32(2, 0, 1)])
    case("InvertPermutation", [tf.constant([0, 1], tf.int64)])
    for bad in ((0, 0), (0, 2), (-1, 0)):
        case("InvertPermutation", [i32(*bad)])
    case("TopKV2", [data(f, [2]), s32(3)], outputs=2, index_type=tf.int32)
    case("TopKV2", [data(f, [2]), s32(-1)], outputs=2, index_type=tf.int32)
    case("TopKV2", [data(f, []), s32(0)], outputs=2, index_type=tf.int32)
    case("TopKV2", [data(f, [3, 100]), s32(10)], outputs=2, index_type=tf.int32)
    case("TopKV2", [data(f, [3, 4]), s32(0)], outputs=2, index_type=tf.int32)
    case("AddN", [[data(f, [2])]])
    case("AddN", [[data(f, [2]), data(f, [1])]])
    case("BiasAdd", [data(f, [2, 3, 4]), data(f, [3])], data_format="NCHW")
    case("BiasAdd", [data(f, [2, 3, 4, 5]), data(f, [3])], data_format="NCHW")
    case("BiasAdd", [data(f, [2, 3, 4, 5]), data(f, [5])])
    case("BiasAdd", [data(f, [1, 2]), data(f, [3])])
    case("BiasAdd", [data(f, [2]), data(f, [2])])


def rest():
    for op in ("Softmax", "LogSoftmax"):
        for t in REAL:
            case(op, [data(t, [3, 7])])
        case(op, [data(tf.float32, [2, 2, 5], -1000, 1000)])
        case(op, [data(tf.float32, [0, 3])])
        case(op, [data(tf.float32, [])])
        case(op, [data(tf.float32, [4])])
    for op in ("CheckNumerics", "CheckNumericsV2"):
        for v in ([1.0], [np.nan], [np.inf], [-np.inf], [np.nan, np.inf], [np.nan, -np.inf],
                  [np.inf, -np.inf], [np.nan, np.inf, -np.inf], []):
            for t in REAL:
                case(op, [tf.constant(v, t)], message="mine")
    case("Assert", [tf.constant(True), [i32(1)]], outputs=0)
    case("Assert", [tf.constant(False), [i32(1, 2, 3, 4), tf.constant("x"),
                                        tf.constant([[1.5, 2], [3, 4]])]], outputs=0)
    case("Assert", [tf.constant(False), [tf.constant([[[1, 2], [3, 4]], [[5, 6], [7, 8]]]),
                                        tf.constant(1.1)]], outputs=0, summarize=5)
    case("Assert", [tf.constant([True, False]), [i32(1)]], outputs=0)
    seed = 0
    for t in REAL:
        for n in ([7], [2, 3], [], [0], [400]):
            if n == [400] and t == tf.bfloat16:
                continue
            shape = tf.constant(n, tf.int32)
            seed += 1  # a kernel with the same attributes would go on where the last case stopped
            for op in ("RandomUniform", "RandomStandardNormal", "TruncatedNormal"):
                if n == [400] and (op != "TruncatedNormal" or t != tf.float32):
                    continue
                case(op, [shape], seed=seed, seed2=34, dtype=t)
            if n != [400]:
                for op in ("StatelessRandomUniform", "StatelessRandomNormal"):
                    case(op, [shape, tf.constant([5, -6], tf.int64)], dtype=t)
    for t in (tf.int32, tf.int64):
        case("RandomUniformInt", [i32(11), tf.constant(-5, t), tf.constant(1000, t)], seed=3, seed2=4)
        case("RandomUniformInt", [i32(11), tf.constant(5, t), tf.constant(5, t)], seed=3, seed2=5)
    case("RandomUniform", [i32(-1)], seed=1, seed2=1, dtype=tf.float32)
    case("StatelessRandomUniform", [i32(1), tf.constant([1], tf.int64)], dtype=tf.float32)


def main():
    binary_ops()
    unary_ops()
    casts()
    matmuls()
    reductions()
    shapes()
    joins()
    slices()
    rest()
    write_both("")


if __name__ == "__main__":
    main()
