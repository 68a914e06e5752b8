#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Writes tests/data/op_goldens_hunt.txt: rare ops, and answers that the fuzzer once found different.

Run with a Python that has TensorFlow:  /opt/tfvenv/bin/python tools/goldens_hunt.py [FAMILY…]
Helpers are those of goldens_ragged.py. shape_goldens_fuzz3.txt is tools/fuzz_ops.py --shapes's.
"""
import sys

import goldens_ragged as r
import numpy as np
import tensorflow as tf
from goldens_ragged import case, g, values
from golden_case import cpu_types, data, i32, s32, special


def f(v):
    return tf.constant(v, tf.float32)


def tops():
    for t in cpu_types("TopKV2"):
        for k in (0, 1, 2, 5, 8, 9):
            case("TopKV2", data(t, [2, 9], integer_high=5), s32(k), outputs=2, sorted=False, index_type=tf.int32)
    for cols, k in ((31, 7), (64, 63), (40, 2), (100, 20)):
        case("TopKV2", data(tf.float32, [1, cols]), s32(k), outputs=2, sorted=False, index_type=tf.int32)
        case("TopKV2", tf.zeros([cols]), s32(k), outputs=2, sorted=False, index_type=tf.int32)


def quantized_images():
    for t in cpu_types("QuantizedResizeBilinear"):
        for corners, centers in ((False, False), (True, False), (False, True), (True, True)):
            for size in ((5, 7), (2, 2), (3, 4), (1, 1), (6, 1)):
                case("QuantizedResizeBilinear", values(t, [2, 3, 4, 2]), i32(*size), f(-1.), f(3.), outputs=3,
                     align_corners=corners, half_pixel_centers=centers)
    x = values(tf.quint8, [1, 2, 2, 1])
    case("QuantizedResizeBilinear", x, i32(3, 3), f(2.), f(1.), outputs=3)
    for size, low, high in ((i32(3, 3), f([0.]), f(1.)), (i32(3, 3), f(0.), f([1.])), (i32(0, 3), f(0.), f(1.)),
                            (i32(3), f(0.), f(1.)), (tf.constant([[3, 3]]), f(0.), f(1.)), (i32(-1, 3), f(0.), f(1.))):
        case("QuantizedResizeBilinear", x, size, low, high, outputs=3)
    for shape in ([2, 2, 1], [1, 0, 2, 1], [1, 2, 2, 0]):
        case("QuantizedResizeBilinear", values(tf.quint8, shape), i32(3, 3), f(0.), f(1.), outputs=3)
    for shape in ([2, 3, 2, 3], [1, 1, 1, 1], [3, 5, 7, 1], [1, 2, 2, 17]):
        x = values(tf.quint8, shape)
        case("QuantizedInstanceNorm", x, f(-1.), f(3.), outputs=3)
        case("QuantizedInstanceNorm", x, f(0.), f(.01), outputs=3, variance_epsilon=.1, min_separation=3.)
        case("QuantizedInstanceNorm", x, f(0.), f(255.), outputs=3, output_range_given=True, given_y_min=-1.,
             given_y_max=1.5)
    case("QuantizedInstanceNorm", tf.bitcast(tf.fill([1, 2, 2, 1], np.uint8(9)), tf.quint8), f(0.), f(4.), outputs=3)
    for low, high in ((3., 3.), ([3.], 4.), (3., [4.]), (4., 3.)):
        case("QuantizedInstanceNorm", x, f(low), f(high), outputs=3)
    case("QuantizedInstanceNorm", x, f(0.), f(4.), outputs=3, output_range_given=True, given_y_min=1., given_y_max=1.)

    def norm(shape=(2, 2, 3, 2), sizes=((2,), (2,), (2,), (2,)), scaled=True, epsilon=.001, ranges=None):
        parts = [values(tf.quint8, list(s)) for s in (shape,) + tuple(sizes)]
        ranges = ranges or [0., 10., 0., 5., .1, 2., -1., 1., -3., 3.]
        inputs = []
        for k, p in enumerate(parts):
            inputs += [p, f(ranges[2 * k]), f(ranges[2 * k + 1])]
        case("QuantizedBatchNormWithGlobalNormalization", *inputs, outputs=3, out_type=tf.qint32,
             variance_epsilon=epsilon, scale_after_normalization=scaled)

    for scaled in (False, True):
        for epsilon in (.001, .5):
            norm(scaled=scaled, epsilon=epsilon)
    norm((3, 1, 4, 5), ((5,),) * 4)
    norm((0, 1, 4, 1), ((1,),) * 4)
    norm((2, 2))
    for k in range(4):
        for bad in ((3,), (2, 1), ()):
            sizes = [(2,)] * 4
            sizes[k] = bad
            norm(sizes=sizes)
    for k in range(10):
        ranges = [0., 10., 0., 5., .1, 2., -1., 1., -3., 3.]
        ranges[k] = [1., 2.]
        norm(ranges=ranges)


def sums():
    for t in cpu_types("ScatterNdNonAliasingAdd"):
        case("ScatterNdNonAliasingAdd", data(t, [4, 2]), tf.constant([[1], [3], [1]]), data(t, [3, 2]))
        case("ScatterNdNonAliasingAdd", data(t, [3]), tf.constant([[2]], tf.int64), data(t, [1]))
    x = tf.constant([1., 2., 3., 4.])
    for indices, updates in (([[4]], [1.]), ([[-1]], [1.]), ([[0], [1]], [1.]), ([[0, 1]], [1.]), ([[0]], [[1.]]), (np.zeros([0, 1], np.int32), np.zeros([0], np.float32)),
                             (np.zeros([2, 0], np.int32), np.zeros([2, 4], np.float32))):
        case("ScatterNdNonAliasingAdd", x, tf.constant(indices, tf.int32), f(updates))
    case("ScatterNdNonAliasingAdd", f(3.), tf.constant([[0]]), f([1.]))
    case("ScatterNdNonAliasingAdd", tf.zeros([0, 2]), tf.constant([[0]]), tf.ones([1, 2]))
    for policy in ("DEFAULT", "ERROR", "IGNORE", "nonsense"):
        case("ScatterNdNonAliasingAdd", x, tf.constant([[1], [9]]), f([1., 2.]), bad_indices_policy=policy)


def answers():
    """What was different once."""
    x = special(tf.float32)
    for op in ("CheckNumerics", "CheckNumericsV2"):
        case(op, x[:1], message="mine")
        case(op, tf.constant([1., -2.]), message="mine")
    key, counter = tf.constant([1], tf.uint64), tf.constant([1, 2], tf.uint64)
    for shape in ([0], [2, 0], [3]):
        for k, c, alg in ((key, counter, 0), (key, counter[:1], 1), (key[:0], counter, 1), (key, counter, [1]),
                          (tf.concat([key, key], 0), counter, 1)):
            if shape == [3] and len(c) < 2:
                continue  # TensorFlow reads what is not there
            case("StatelessRandomUniformV2", i32(*shape), k, c, tf.constant(alg), dtype=tf.float32)
            case("StatelessTruncatedNormalV2", i32(*shape), k, c, tf.constant(alg), dtype=tf.float32)
    for t in (tf.int64, tf.float32, tf.int32):
        case("StatelessRandomPoisson", i32(2, 3), i32(1, 2), f([-1., 0., 3.]), dtype=t)
    case("MatrixDiagPartV3", data(tf.float32, [3, 4]), i32(-1, 1), f([5., 6.]))
    case("UniformDequantize", values(tf.qint8, [3]), f(0.), s32(0), Tout=tf.float32, quantization_min_val=-128,
         quantization_max_val=127)
    case("RequantizationRangePerChannel", values(tf.qint32, [2, 2]), f([0., 0.]), f([1., 1.]), outputs=2,
         clip_value_max=1.)
    for policy in ("", "DEFAULT", "ERROR", "IGNORE", "nonsense"):
        case("ScatterNd", tf.constant([[1], [9]]), f([1., 2.]), i32(4), bad_indices_policy=policy)
        case("TensorScatterAdd", tf.zeros([4]), tf.constant([[1], [9]]), f([1., 2.]), bad_indices_policy=policy)


FAMILIES = {fn.__name__: fn for fn in (tops, quantized_images, sums, answers)}

if __name__ == "__main__":
    g.rng.seed(47)
    r.write("hunt", FAMILIES, [name for name in sys.argv[1:] if name in FAMILIES])
