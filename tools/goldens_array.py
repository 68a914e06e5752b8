#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Writes tests/data/op_goldens_array.txt: TensorFlow's answers for array and math operations.

Run with a Python that has TensorFlow:  /opt/tfvenv/bin/python tools/goldens_array.py [FAMILY…]
In the language of golden_case.py.
"""
import re
import sys

import golden_case as g
import numpy as np
import tensorflow as tf
from golden_case import COMPLEX, INTS, REAL, cpu_types, data, i32, s32

g.rng.seed(11)
for quantized in ("qint8", "quint8", "qint16", "quint16", "qint32"):
    g.NAMES[getattr(tf, quantized)] = quantized
F = tf.float32
ANY = REAL + INTS + COMPLEX + [tf.bool, tf.string]


def case(op, inputs, outputs=1, **attrs):
    g.case(op, inputs, outputs, **g.default_types(op, attrs))


def i64(*v):
    return tf.constant(list(v), tf.int64)


def c32(v):
    return tf.constant(v, tf.int32)


def scatter():
    x = [[0], [2], [0]]
    for t in cpu_types("ScatterNd"):
        case("ScatterNd", [c32(x), data(t, [3, 2]), i32(4, 2)], bad_indices_policy="")
    case("ScatterNd", [tf.constant([[0, 1], [1, 0]], tf.int64), data(F, [2]), i64(2, 2)])
    case("ScatterNd", [c32([[0, 1], [1, 2]]), data(F, [2]), i32(2, 2)])
    case("ScatterNd", [c32([[-1]]), data(F, [1]), i32(2)])
    case("ScatterNd", [c32([[[0]], [[1]]]), data(F, [2, 1, 3]), i32(3, 3)])
    case("ScatterNd", [c32([[0], [1]]), data(F, [3]), i32(3)])
    case("ScatterNd", [c32([[0, 0, 0]]), data(F, [1]), i32(3, 3)])
    case("ScatterNd", [c32([0]), data(F, []), i32(3)])
    case("ScatterNd", [s32(0), data(F, [1]), i32(3)])
    case("ScatterNd", [c32([[0]]), data(F, [1]), i32(-3)])
    case("ScatterNd", [c32([[0]]), data(F, [1]), i32(0)])
    case("ScatterNd", [tf.zeros([0, 1], tf.int32), data(F, [0]), i32(3)])
    case("ScatterNd", [c32([[0], [5]]), data(F, [2]), i32(3)], bad_indices_policy="IGNORE")
    case("ScatterNd", [c32([[0], [5]]), data(F, [2]), i32(3)], bad_indices_policy="ERROR")
    for op in ("Update", "Add", "Sub", "Min", "Max"):
        op = "TensorScatter" + op
        for t in cpu_types(op):
            case(op, [data(t, [4, 2]), c32(x), data(t, [3, 2])])
        case(op, [data(F, [2, 2]), tf.constant([[0, 1], [1, 0]], tf.int64), data(F, [2])])
        case(op, [data(F, [2, 2]), c32([[0, 1], [1, 2]]), data(F, [2])])
        case(op, [data(F, [3]), c32([[0], [1]]), data(F, [3])])
        case(op, [data(F, []), c32([[0]]), data(F, [1])])
        case(op, [data(F, [3]), s32(0), data(F, [1])])
        case(op, [data(F, [3]), c32([[0, 0]]), data(F, [1])])
        case(op, [data(F, [0]), c32([[0]]), data(F, [1])])


def segments():
    ids = i32(0, 0, 2, 3)
    for op in ("Sum", "Mean", "Prod", "Min", "Max"):
        name = "Segment" + op
        for t in cpu_types(name):
            case(name, [data(t, [4, 3], integer_high=9), ids])
        case(name, [data(F, [4]), tf.cast(ids, tf.int64)])
        case(name, [data(F, [4]), i32(1, 1, 0, 2)])
        case(name, [data(F, [4]), i32(-1, 1, 1, 2)])
        case(name, [data(F, [4]), i32(0, 1)])
        case(name, [data(F, [0, 2]), tf.zeros([0], tf.int32)])
        case(name, [data(F, [4, 1]), c32([[0], [1], [2], [3]])])
        case(name, [data(F, []), s32(0)])
    for op in ("Sum", "Prod", "Min", "Max"):
        name = "UnsortedSegment" + op
        for t in cpu_types(name):
            case(name, [data(t, [4, 3], integer_high=9), i32(2, 0, -1, 2), s32(4)])
        case(name, [data(F, [2, 2, 3]), c32([[0, 1], [1, 0]]), s32(2)])
        case(name, [data(F, [2]), i64(0, 5), tf.constant(2, tf.int64)])
        case(name, [data(F, [2]), i32(0, 1, 1), s32(2)])
        case(name, [data(F, [2]), i32(0, 1), s32(-1)])
        case(name, [data(F, [2]), i32(0, 1), i32(1, 2)])
        if op == "Sum":
            case(name, [data(F, [2]), tf.constant([0, 1], tf.int16), s32(3)])
    for op in ("Sum", "Mean", "SqrtN"):
        name = "SparseSegment" + op
        for t in cpu_types(name):
            case(name, [data(t, [5, 3], integer_high=9), i32(4, 0, 0, 1), ids])
            case(name + "WithNumSegments",
                 [data(t, [5, 3], integer_high=9), i32(4, 0, 0, 1), ids, s32(6)])
        case(name, [data(F, [5]), i64(4, 0, 0, 1), tf.cast(ids, tf.int64)])
        case(name, [data(F, [5]), i32(5, 0, 0, 1), ids])
        case(name, [data(F, [5]), i32(4, 0, 0, 1), i32(0, 2, 1, 3)])
        case(name, [data(F, [5]), i32(4, 0), ids])
        case(name, [data(F, [5]), i32(0), i32(-1)])
        case(name, [data(F, []), i32(0), i32(0)])
        case(name, [data(F, [5, 2]), tf.zeros([0], tf.int32), tf.zeros([0], tf.int32)])
        case(name + "WithNumSegments", [data(F, [5]), i32(4, 0, 0, 1), ids, s32(2)])
        case(name + "WithNumSegments", [data(F, [5]), i32(0), i32(0), s32(-2)])
        case(name + "WithNumSegments", [data(F, [5]), i32(0), i32(0), i32(1, 1)])
        case(name + "WithNumSegments",
             [data(F, [5, 2]), tf.zeros([0], tf.int32), tf.zeros([0], tf.int32), s32(2)])


def counting():
    e = tf.constant([], F)
    for t in (tf.int32, tf.int64, tf.float32, tf.float64):
        case("Bincount", [i32(1, 5, 1, 0, 9), s32(6), data(t, [5])])
        case("Bincount", [i32(1, 5, 1, 0, 9), s32(6), tf.constant([], t)])
        for k in (tf.int32, tf.int64):
            x = tf.constant([1, 5, 1, 0, 9], k)
            y = tf.constant([[1, 5, 1], [0, 9, 0]], k)
            n = tf.constant(6, k)
            for b in (False, True):
                case("DenseBincount", [x, n, tf.constant([], t)], binary_output=b)
                case("DenseBincount", [y, n, tf.constant([], t)], binary_output=b)
                case("DenseBincount", [y, n, data(t, [2, 3])], binary_output=b)
            case("DenseBincount", [x, n, data(t, [5])])
    case("Bincount", [i32(1, -5), s32(6), e])
    case("Bincount", [i32(1, 5), s32(-6), e])
    case("Bincount", [i32(1, 5), i32(6), e])
    case("Bincount", [i32(1, 5), s32(6), data(F, [3])])
    case("Bincount", [i32(), s32(3), e])
    case("Bincount", [c32([[1, 5]]), s32(6), e])
    case("DenseBincount", [i32(1, -5), s32(6), e])
    case("DenseBincount", [c32([[1, -5]]), s32(6), e])
    case("DenseBincount", [i32(1, 5), s32(-6), e])
    case("DenseBincount", [i32(1, 5), i32(6), e])
    case("DenseBincount", [i32(1, 5), i32(6, 7), e])
    case("DenseBincount", [i32(1, 5), s32(6), data(F, [3])])
    case("DenseBincount", [c32([[[1]]]), s32(6), e])
    case("DenseBincount", [s32(1), s32(6), e])
    for t in cpu_types("Bucketize"):
        case("Bucketize", [tf.constant([-5, 10000, 150, 10, 5, 100], t)],
             boundaries=[0.0, 10.0, 100.0])
        case("Bucketize", [tf.constant([[-5, 3]], t)], boundaries=[])
    case("Bucketize", [data(F, [2])], boundaries=[3.0, 1.0])
    for t in (tf.int32, tf.int64, tf.float32, tf.float64):
        for d in (tf.int32, tf.int64):
            case("HistogramFixedWidth",
                 [tf.constant([-1, 0, 1, 2, 5, 15], t), tf.constant([0, 5], t), s32(5)], dtype=d)
    case("HistogramFixedWidth", [data(F, [50]), tf.constant([-2.5, 1.5]), s32(7)])
    case("HistogramFixedWidth", [data(F, [2]), tf.constant([2.5, 1.5]), s32(7)])
    case("HistogramFixedWidth", [data(F, [2]), tf.constant([1.0, 1.5]), s32(0)])
    case("HistogramFixedWidth", [data(F, [2]), tf.constant([1.0]), s32(2)])
    case("HistogramFixedWidth", [data(F, [0]), tf.constant([0.0, 1.5]), s32(2)])
    case("HistogramFixedWidth", [data(F, [2]), tf.constant([1.0, 2.0]), i32(2)])


def sets():
    for t in ANY:
        if t in cpu_types("Unique"):
            x = data(t, [12], integer_high=3)
            x = tf.concat([x, x[:5]], 0) if t != tf.string else tf.constant(
                ["a", "", "b", "a", "ccc", "", "b"])
            for k in (tf.int32, tf.int64):
                case("Unique", [x], outputs=2, out_idx=k)
            case("UniqueWithCounts", [x], outputs=3)
            case("UniqueWithCountsV2", [x, tf.constant([], tf.int64)], outputs=3)
            case("UniqueV2", [x, i64(0)], outputs=2)
        if t in cpu_types("ListDiff"):
            case("ListDiff", [x, x[2:4]], outputs=2)
            case("ListDiff", [x, x[2:4]], outputs=2, out_idx=tf.int64)
    m = c32([[1, 0, 1], [1, 0, 1], [2, 0, 2]])
    case("Unique", [m], outputs=2)
    case("UniqueV2", [m, i64(0)], outputs=2)
    case("UniqueV2", [m, i64(1)], outputs=2)
    case("UniqueV2", [m, i32(-1)], outputs=2)
    case("UniqueWithCountsV2", [m, i64(1)], outputs=3)
    case("UniqueV2", [m, i64(2)], outputs=2)
    case("UniqueV2", [m, i64(0, 1)], outputs=2)
    case("UniqueV2", [m, i64()], outputs=2)
    case("UniqueV2", [m, tf.constant(0, tf.int64)], outputs=2)
    case("Unique", [tf.constant([np.nan, 1.0, np.nan, -0.0, 0.0])], outputs=2)
    case("Unique", [tf.constant([], F)], outputs=2)
    case("UniqueV2", [tf.zeros([0, 3]), i64(0)], outputs=2)
    case("UniqueV2", [tf.zeros([2, 0]), i64(0)], outputs=2)
    case("ListDiff", [m, i32(1)], outputs=2)
    case("ListDiff", [i32(1), m], outputs=2)
    for op in ("LowerBound", "UpperBound"):
        for t in cpu_types(op):
            a = tf.constant([[0, 3, 9, 9, 10], [1, 2, 3, 4, 5]], t)
            v = tf.constant([[2, 4, 9], [0, 2, 6]], t)
            case(op, [a, v])
            case(op, [a, v], out_type=tf.int64)
        case(op, [data(F, [2, 3]), data(F, [3, 2])])
        case(op, [data(F, [3]), data(F, [3])])
        case(op, [data(F, [2, 0]), data(F, [2, 2])])


def diagonals():
    for t in cpu_types("Diag"):
        case("Diag", [data(t, [3])])
        case("DiagPart", [data(t, [2, 3, 2, 3])])
    case("Diag", [data(F, [2, 2])])
    case("Diag", [data(F, [])])
    case("Diag", [data(F, [0])])
    case("DiagPart", [data(F, [2, 3])])
    case("DiagPart", [data(F, [2, 3, 2])])
    for t in cpu_types("MatrixDiag"):
        z = data(t, [])
        case("MatrixDiag", [data(t, [2, 3])])
        case("MatrixDiagPart", [data(t, [2, 3, 4])])
        case("MatrixSetDiag", [data(t, [2, 3, 4]), data(t, [2, 3])])
        case("MatrixBandPart", [data(t, [2, 3, 4]), tf.constant(1, tf.int64),
                                tf.constant(-1, tf.int64)])
        case("MatrixDiagV3", [data(t, [2, 3, 2]), i32(-1, 1), s32(-1), s32(-1), z])
        case("MatrixDiagPartV3", [data(t, [3, 4]), i32(-1, 2), z])
        case("MatrixSetDiagV3", [data(t, [3, 4]), data(t, [3, 3]), i32(-1, 1)])
    z = data(F, [])
    for align in ("LEFT_RIGHT", "RIGHT_LEFT", "LEFT_LEFT", "RIGHT_RIGHT"):
        for shape in ([3, 4], [4, 2], [2, 2, 3]):
            for k in ([0], [1], [-1, 1], [-1, 0], [1, 2]):
                x = data(F, shape)
                case("MatrixDiagPartV3", [x, tf.constant(k, tf.int32), z], align=align)
                try:
                    d = tf.raw_ops.MatrixDiagPartV3(input=x, k=k, padding_value=0.0, align=align)
                except Exception:
                    continue
                if len(shape) == 2:
                    case("MatrixSetDiagV3", [x, d, tf.constant(k, tf.int32)], align=align)
                    if align == "RIGHT_LEFT":
                        case("MatrixDiagV3", [d, tf.constant(k, tf.int32), s32(shape[0]),
                                              s32(shape[1]), z], align=align)
    x = data(F, [3, 4])
    for k in ([0], [-1], [-1, 1], [2]):
        case("MatrixDiagPartV2", [x, tf.constant(k, tf.int32), z])
        d = tf.raw_ops.MatrixDiagPartV2(input=x, k=k, padding_value=0.0)
        case("MatrixSetDiagV2", [x, d, tf.constant(k, tf.int32)])
        case("MatrixDiagV2", [d, tf.constant(k, tf.int32), s32(3), s32(4), z])
        case("MatrixDiagV2", [d, tf.constant(k, tf.int32), s32(-1), s32(-1), z])
        case("MatrixDiagV2", [d, tf.constant(k, tf.int32), s32(7), s32(-1), z])
        case("MatrixDiagV2", [d, tf.constant(k, tf.int32), s32(-1), s32(7), z])
        case("MatrixDiagV2", [d, tf.constant(k, tf.int32), s32(7), s32(7), z])
    case("MatrixDiagPartV3", [x, s32(0), z])
    case("MatrixDiagPartV3", [x, i32(4), z])
    case("MatrixDiagPartV3", [x, i32(-3), z])
    case("MatrixDiagPartV3", [x, i32(1, -1), z])
    case("MatrixDiagPartV3", [x, i32(0, 1, 2), z])
    case("MatrixDiagPartV3", [x, i32(0, 5), z])
    case("MatrixDiagPartV3", [data(F, [3]), i32(0), z])
    case("MatrixDiagPartV3", [x, i32(0), data(F, [2])])
    case("MatrixDiagPart", [data(F, [3])])
    case("MatrixDiag", [data(F, [])])
    case("MatrixDiagV3", [data(F, [2, 3]), i32(0, 2), s32(-1), s32(-1), z])
    case("MatrixDiagV3", [data(F, [3]), i32(1, 0), s32(-1), s32(-1), z])
    case("MatrixDiagV3", [data(F, [3]), i32(0), s32(2), s32(-1), z])
    case("MatrixDiagV3", [data(F, [3]), i32(0), s32(5), s32(5), z])
    case("MatrixSetDiag", [x, data(F, [2])])
    case("MatrixSetDiag", [data(F, [3]), data(F, [3])])
    case("MatrixSetDiagV3", [x, data(F, [2]), i32(0)])
    case("MatrixSetDiagV3", [x, data(F, [2, 3]), i32(0)])
    case("MatrixSetDiagV3", [x, data(F, [2, 3]), i32(5)])
    case("MatrixSetDiagV3", [x, data(F, []), i32(0)])
    for lo in (0, 1, -1, 5):
        for up in (0, 2, -1):
            case("MatrixBandPart", [data(F, [4, 4]), s32(lo), s32(up)])
    case("MatrixBandPart", [data(F, [4]), s32(0), s32(0)])
    case("MatrixBandPart", [x, s32(-7), s32(0)])
    case("MatrixBandPart", [x, s32(0), s32(9)])
    case("MatrixBandPart", [x, i32(1), s32(0)])


def moves():
    for t in cpu_types("Cross"):
        case("Cross", [data(t, [2, 3], integer_high=9), data(t, [2, 3], integer_high=9)])
    case("Cross", [data(F, [2, 2]), data(F, [2, 2])])
    case("Cross", [data(F, [2, 3]), data(F, [3])])
    case("Cross", [data(F, []), data(F, [])])
    for t in ANY:
        y = data(t, [3, 4])
        case("Roll", [y, i32(1, -1), i32(0, 1)])
        case("Reverse", [y, tf.constant([True, False])])
        case("DynamicPartition", [y, i32(1, 0, 1)], outputs=3, num_partitions=3)
        case("DynamicStitch", [[i32(2, 0), s32(1)], [y[:2], y[2]]])
        case("ParallelDynamicStitch", [[i32(2, 0), s32(1)], [y[:2], y[2]]])
    x = data(F, [3, 4])
    case("Roll", [x, s32(2), s32(1)])
    case("Roll", [x, i64(-5), i64(-1)])
    case("Roll", [x, i32(1, 1), i32(0, 0)])
    case("Roll", [x, i32(1), i32(2)])
    case("Roll", [x, i32(1), i32(0, 1)])
    case("Roll", [x, i32(1, 2), i32(0)])
    case("Roll", [data(F, []), s32(1), s32(0)])
    case("Roll", [x, c32([[1]]), s32(0)])
    case("Roll", [x, s32(1), c32([[0]])])
    case("Roll", [data(F, [0, 3]), s32(1), s32(0)])
    case("Reverse", [x, tf.constant([True])])
    case("Reverse", [x, tf.constant([[True]])])
    case("Reverse", [x, tf.constant([True, True])])
    case("DynamicPartition", [x, c32([[0, 1, 1, 0]] * 3)], outputs=2, num_partitions=2)
    case("DynamicPartition", [x, s32(1)], outputs=2, num_partitions=2)
    case("DynamicPartition", [x, i32(0, 1, 2)], outputs=2, num_partitions=2)
    case("DynamicPartition", [x, i32(0, -1, 1)], outputs=2, num_partitions=2)
    case("DynamicPartition", [x, i32(0, 1)], outputs=2, num_partitions=2)
    case("DynamicPartition", [data(F, [0, 2]), i32()], outputs=2, num_partitions=2)
    for op in ("DynamicStitch", "ParallelDynamicStitch"):
        case(op, [[i32(4, 0), c32([[1, 1], [2, 6]])], [data(F, [2, 3]), data(F, [2, 2, 3])]])
        case(op, [[i32(0, -1)], [data(F, [2])]])
        case(op, [[i32(0, 1)], [data(F, [3])]])
        case(op, [[i32(0, 1), i32(2)], [data(F, [2, 2]), data(F, [1, 3])]])
        case(op, [[i32(), i32()], [data(F, [0, 2]), data(F, [0, 2])]])
        case(op, [[i32(0), s32(1)], [data(F, [1]), data(F, [2])]])


def maths():
    for r, c in ((F, tf.complex64), (tf.float64, tf.complex128)):
        case("Complex", [data(r, [2, 3]), data(r, [3])], Tout=c)
        case("Complex", [data(r, [2]), data(r, [3])], Tout=c)
        for op in ("Real", "Imag", "Angle", "ComplexAbs"):
            case(op, [data(c, [2, 3])], Tout=r)
            case(op, [data(c, [])], Tout=r)
        case("Conj", [data(c, [2, 3])])
        case("NextAfter", [data(r, [5]), data(r, [5])])
        case("NextAfter", [tf.constant([1.0, 1.0, 0.0, 2.0], r), tf.constant([2.0, 0.0, 1.0, 2.0], r)])
        case("ApproximateEqual", [tf.constant([1, 2, 3.0], r), tf.constant([1, 2.0005, 3.1], r)],
             tolerance=0.01)
        case("ApproximateEqual", [data(r, [2]), data(r, [3])], tolerance=0.01)
        case("CumulativeLogsumexp", [data(r, [2, 5]), s32(1)])
    case("CumulativeLogsumexp", [tf.constant([-np.inf, -np.inf, 1.0, -2.0]), s32(0)])
    for e in (False, True):
        for v in (False, True):
            case("CumulativeLogsumexp", [data(F, [3, 2, 2]), s32(0)], exclusive=e, reverse=v)
    case("CumulativeLogsumexp", [data(F, [3]), s32(1)])
    for t in cpu_types("ClipByValue"):
        if t in COMPLEX:
            continue
        lo, hi = (tf.constant(10, t), tf.constant(50, t)) if t in INTS else (
            tf.constant(-1, t), tf.constant(1, t))
        case("ClipByValue", [data(t, [2, 6]), lo, hi])
        case("ClipByValue", [data(t, [2, 6]), tf.fill([2, 6], lo), hi])
        case("ClipByValue", [data(t, [6]), tf.fill([6], lo), tf.fill([6], hi)])
        case("ClipByValue", [data(t, [6]), lo, tf.fill([6], hi)])
    case("ClipByValue", [data(F, [6]), data(F, [3]), data(F, [])])
    case("ClipByValue", [data(F, [6]), data(F, []), data(F, [3])])
    case("ClipByValue", [tf.constant([np.nan, 1.0, -5.0]), tf.constant(-1.0), tf.constant(0.5)])
    case("ClipByValue", [tf.constant([7.0]), tf.constant(3.0), tf.constant(1.0)])


def sparse():
    ind = tf.constant([[0, 1], [1, 0], [2, 3]], tf.int64)
    for t in ANY:
        v = data(t, [3])
        d = data(t, [])
        if t in cpu_types("SparseToDense"):
            case("SparseToDense", [tf.cast(ind, tf.int32), i32(3, 4), v, d])
        case("SparseFillEmptyRows", [tf.constant([[0, 1], [3, 0], [3, 3]], tf.int64), v, i64(5, 4), d],
             outputs=4)
        case("SparseReorder", [tf.constant([[2, 1], [0, 3], [2, 0]], tf.int64), v, i64(3, 4)],
             outputs=2)
        case("SparseConcat", [[ind, ind], [v, v], [i64(3, 4), i64(3, 4)]], outputs=3, concat_dim=1)
        case("SparseSlice", [ind, v, i64(3, 4), i64(1, 0), i64(2, 3)], outputs=3)
        if t in cpu_types("SparseTensorDenseMatMul"):
            for a in (False, True):
                for b in (False, True):
                    case("SparseTensorDenseMatMul",
                         [ind, v, i64(3, 4), data(t, [[4, 2], [2, 4], [3, 2], [2, 3]][a * 2 + b])],
                         adjoint_a=a, adjoint_b=b)
    v = data(F, [3])
    z = data(F, [])
    i, s = tf.cast(ind, tf.int32), i32(3, 4)
    case("SparseToDense", [s32(1), i32(3), data(F, []), z])
    case("SparseToDense", [i32(0, 2), i32(3), data(F, [2]), z])
    case("SparseToDense", [i32(0, 2), i32(3), data(F, []), z])
    case("SparseToDense", [i32(2, 0), i32(3), data(F, [2]), z])
    case("SparseToDense", [i32(2, 0), i32(3), data(F, [2]), z], validate_indices=False)
    case("SparseToDense", [i32(0, 0), i32(3), data(F, [2]), z])
    case("SparseToDense", [i32(0, 3), i32(3), data(F, [2]), z])
    case("SparseToDense", [i32(0, 3), i32(3), data(F, [2]), z], validate_indices=False)
    case("SparseToDense", [i, s, data(F, [2]), z])
    case("SparseToDense", [i, i32(3), v, z])
    case("SparseToDense", [i, s, v, v])
    case("SparseToDense", [i, s32(3), v, z])
    case("SparseToDense", [c32([[[1]]]), s, v, z])
    case("SparseToDense", [i, s, data(F, [3, 1]), z])
    for new in ([12], [2, -1], [4, 3], [-1, -1], [5, -1], [7], [-2, 3], [2, 3, -1]):
        case("SparseReshape", [ind, i64(3, 4), tf.constant(new, tf.int64)], outputs=2)
    case("SparseReshape", [i64(1), i64(3, 4), i64(12)], outputs=2)
    case("SparseReshape", [ind, i64(3), i64(12)], outputs=2)
    case("SparseReshape", [ind, i64(3, 4), tf.constant(3, tf.int64)], outputs=2)
    case("SparseReshape", [tf.zeros([0, 2], tf.int64), i64(3, 0), i64(-1, 2)], outputs=2)
    case("SparseFillEmptyRows", [ind, v, i64(2, 4), z], outputs=4)
    case("SparseFillEmptyRows", [ind, v, i64(3, 4), z], outputs=4)
    case("SparseFillEmptyRows", [ind, data(F, [2]), i64(3, 4), z], outputs=4)
    case("SparseFillEmptyRows", [ind, v, i64(3, 4), v], outputs=4)
    case("SparseFillEmptyRows", [i64(1), v, i64(3, 4), z], outputs=4)
    case("SparseFillEmptyRows", [tf.zeros([0, 2], tf.int64), data(F, [0]), i64(3, 4), z], outputs=4)
    case("SparseFillEmptyRows", [tf.zeros([0, 2], tf.int64), data(F, [0]), i64(0, 4), z], outputs=4)
    case("SparseFillEmptyRows", [tf.constant([[2, 0], [0, 1], [2, 1]], tf.int64), v, i64(4, 4), z],
         outputs=4)
    case("SparseFillEmptyRows", [tf.constant([[0, 0], [-1, 1], [2, 1]], tf.int64), v, i64(4, 4), z],
         outputs=4)
    case("SparseReorder", [ind, v, i64(3)], outputs=2)
    case("SparseReorder", [i64(1), v, i64(3, 4)], outputs=2)
    case("SparseReorder", [ind, data(F, [2]), i64(3, 4)], outputs=2)
    case("SparseReorder", [tf.constant([[1, 0], [0, 3], [0, 1]], tf.int64), v, i64(2, 4)], outputs=2)
    case("SparseConcat", [[ind, ind], [v, v], [i64(3, 4), i64(3, 4)]], outputs=3, concat_dim=0)
    case("SparseConcat", [[ind, ind], [v, v], [i64(3, 4), i64(3, 4)]], outputs=3, concat_dim=-1)
    case("SparseConcat", [[ind, ind], [v, v], [i64(3, 4), i64(3, 5)]], outputs=3, concat_dim=0)
    case("SparseConcat", [[ind, ind], [v, v], [i64(3, 4), i64(3, 4)]], outputs=3, concat_dim=2)
    case("SparseConcat", [[ind, ind], [v, v[:2]], [i64(3, 4), i64(3, 4)]], outputs=3, concat_dim=0)
    case("SparseSlice", [ind, v, i64(3, 4), i64(0, 0), i64(9, 9)], outputs=3)
    case("SparseSlice", [ind, v, i64(3, 4), i64(0), i64(9, 9)], outputs=3)
    case("SparseSlice", [ind, v, i64(3, 4), i64(5, 0), i64(1, 1)], outputs=3)
    b = data(F, [4, 2])
    case("SparseTensorDenseMatMul", [ind, v, i64(3, 5), b])
    case("SparseTensorDenseMatMul", [ind, v, i64(3, 4), data(F, [4])])
    case("SparseTensorDenseMatMul", [ind, v, i64(2, 4), b])
    case("SparseTensorDenseMatMul", [ind, v, i64(3, 4, 1), b])
    case("SparseTensorDenseMatMul", [ind, data(F, [2]), i64(3, 4), b])
    case("SparseTensorDenseMatMul", [tf.cast(ind, tf.int32), v, i64(3, 4), b])
    case("SparseTensorDenseMatMul", [tf.zeros([0, 2], tf.int64), data(F, [0]), i64(3, 4), b])
    case("SparseTensorDenseMatMul", [tf.constant([[0, 1], [1, 0], [2, 4]], tf.int64), v, i64(3, 4), b])


def einsums():
    def run(eq, *shapes):
        case("Einsum", [[data(F, list(s)) for s in shapes]], equation=eq)
    for t in cpu_types("Einsum"):
        case("Einsum", [[data(t, [2, 3], integer_high=9), data(t, [3, 4], integer_high=9)]],
             equation="ab,bc->ac")
        case("Einsum", [[data(t, [2, 3, 3], integer_high=9)]], equation="abb->ba")
    run("ab,bc->ca", (2, 3), (3, 4))
    run("abc,cd->abd", (2, 3, 4), (4, 5))
    run("abc,abd->acd", (2, 3, 4), (2, 3, 5))
    run("bfnh,btnh->bnft", (2, 3, 2, 4), (2, 5, 2, 4))
    run("bnft,btnh->bfnh", (2, 2, 3, 5), (2, 5, 2, 4))
    run("...ab,...bc->...ac", (2, 1, 3, 4), (5, 4, 2))
    run("ab->ba", (2, 3))
    run("ab->a", (2, 3))
    run("ab->", (2, 3))
    run("aa->a", (3, 3))
    run("aa->", (3, 3))
    run("...a->a...", (2, 3, 4))
    run("a,b->ab", (2,), (3,))
    run("a,a->", (3,), (3,))
    run("abc,bd->ad", (2, 3, 4), (3, 5))
    run("ab,ab->ab", (2, 3), (2, 3))
    run("a,->a", (3,), ())
    run(",->", (), ())
    run("aab,bc->ac", (2, 2, 3), (3, 4))
    run("a->aa", (3,))
    run("ab,cb->ac", (2, 0), (3, 0))
    run("ab,bc->ac", (2, 3), (4, 5))
    run("abc->ab", (2, 3))
    run("ab,bc,cd->ad", (2, 3), (3, 4), (4, 2))
    run("ab,bc->acc", (2, 3), (3, 4))
    run("ab", (2, 3))
    run("aa->a", (2, 3))
    run("...ij,...jk->...ik", (2, 2, 3), (3, 3, 4))
    for t in cpu_types("BatchMatMulV3", "Ta"):
        if t in (tf.int8, tf.uint8):
            continue
        case("BatchMatMulV3", [data(t, [2, 3, 4], integer_high=9), data(t, [4, 2], integer_high=9)],
             Tout=t)
    case("BatchMatMulV3", [data(F, [2, 3]), data(F, [2, 3])], Tout=F)


def random():
    one = tf.constant(1, tf.int32)
    key, counter = tf.constant([0x123456789abcdef1], tf.uint64), tf.constant([5, 77], tf.uint64)
    shapes = ([7], [2, 3], [], [0], [33])
    for t in REAL:
        for n in shapes:
            s = tf.constant(n, tf.int32)
            for op in ("Uniform", "Normal"):
                case("StatelessRandom%sV2" % op, [s, key, counter, one], dtype=t)
            case("StatelessTruncatedNormalV2", [s, key, counter, one], dtype=t)
            case("StatelessTruncatedNormal", [s, i64(5, -6)], dtype=t)
    for t in (tf.int32, tf.int64, tf.uint32, tf.uint64):
        case("StatelessRandomUniformFullIntV2", [i32(9), key, counter, one], dtype=t)
        case("StatelessRandomUniformFullInt", [i32(9), i64(3, 4)], dtype=t)
    for t in (tf.int32, tf.int64):
        lo, hi = tf.constant(-7, t), tf.constant(1000, t)
        case("StatelessRandomUniformIntV2", [i32(9), key, counter, one, lo, hi])
        case("StatelessRandomUniformInt", [i32(9), i64(3, 4), lo, hi])
        case("StatelessRandomUniformIntV2", [i32(9), key, counter, one, hi, lo])
        case("StatelessRandomUniformInt", [i32(9), i64(3, 4), hi, hi])
        case("StatelessRandomUniformInt", [i32(9), i64(3, 4), hi, tf.fill([1], hi)])
    for s in (i64(1, 2), i64(-1, -2), i32(7, 9), i64(1)):
        case("StatelessRandomGetKeyCounter", [s], outputs=2)
        case("StatelessRandomGetKeyCounterAlg", [s], outputs=3)
    case("StatelessRandomGetAlg", [])
    for alg in (0, 3, 2):
        case("StatelessRandomUniformV2", [i32(9), key, counter, s32(alg)], dtype=F)
        case("StatelessRandomNormalV2", [i32(9), key, counter, s32(alg)], dtype=F)
    case("StatelessRandomUniformV2", [i32(9), counter, counter, one], dtype=F)
    case("StatelessRandomUniformV2", [i32(9), key, counter, i32(1)], dtype=F)
    for t in cpu_types("StatelessMultinomial"):
        for d in (tf.int32, tf.int64):
            case("StatelessMultinomial", [data(t, [3, 5]), s32(9), i64(3, 4)], output_dtype=d)
            case("Multinomial", [data(t, [3, 5]), s32(9)], output_dtype=d, seed=3 if d == tf.int32
                 else 4, seed2=int(t.as_datatype_enum))
    case("StatelessMultinomial", [tf.constant([[0.0, -np.inf, np.nan, 3.0]]), s32(20), i64(3, 4)])
    case("StatelessMultinomial", [data(F, [3]), s32(9), i64(3, 4)])
    case("StatelessMultinomial", [data(F, [3, 2]), s32(-1), i64(3, 4)])
    case("StatelessMultinomial", [data(F, [3, 2]), i32(1), i64(3, 4)])
    case("StatelessMultinomial", [data(F, [3, 0]), s32(2), i64(3, 4)])
    case("StatelessMultinomial", [data(F, [0, 2]), s32(2), i64(3, 4)])
    case("StatelessMultinomial", [data(F, [3, 2]), s32(0), i64(3, 4)])
    for k, t in enumerate(ANY):
        case("RandomShuffle", [data(t, [7, 2])], seed=9, seed2=k + 1)
    case("RandomShuffle", [data(F, [20])], seed=9, seed2=101)
    case("RandomShuffle", [data(F, [])], seed=9, seed2=102)
    case("RandomShuffle", [data(F, [1, 3])], seed=9, seed2=103)


FAMILIES = [scatter, segments, counting, sets, diagonals, moves, maths, sparse, einsums, random]


def sensible(blocks):
    """Without the shapes that TensorFlow refuses only because a dim is unknown to it."""
    for block in re.split(r"\n(?=shape )", "\n".join(blocks)):
        if not re.match(r"shape Matrix\w+V[23]\n", block) or not re.search(r"\?|error ", block):
            yield block


def main():
    for family in FAMILIES:
        if len(sys.argv) < 2 or family.__name__ in sys.argv[1:]:
            family()
    g.write("op_goldens_array", g.lines)
    g.write("shape_goldens_array", sensible(g.shape_lines))


if __name__ == "__main__":
    main()
