#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Writes tests/data/op_goldens_uniform.txt: convolutions of uniformly quantized numbers, and answers that once
were different: products of bfloat16, searches in what is not sorted, cuts of FractionalAvgPoolGrad, the order
in which random ops check.

Run with a Python that has TensorFlow:  /opt/tfvenv/bin/python tools/goldens_uniform.py [FAMILY…]
Helpers are those of goldens_ragged.py.
"""
import sys

import goldens_ragged as r
import numpy as np
import tensorflow as tf
from goldens_ragged import c32, c64, case, g, values
from golden_case import cpu_types, data, i32


infer = g.infer
# Of a single slice TensorFlow infers a vector, and gives a scalar.
g.infer = lambda op, *rest: None if op == "QuantizeV2" else infer(op, *rest)


def f(v):
    return tf.constant(v, tf.float32)


RHS = dict(rhs_quantization_min_val=-128, rhs_quantization_max_val=127)
ALL = dict(RHS, lhs_quantization_min_val=-128, lhs_quantization_max_val=127, output_quantization_min_val=-30000,
           output_quantization_max_val=40000)


def both(lhs, rhs, rhs_scales=.25, rhs_zeros=3, out_scales=1.5, out_zeros=-2, lhs_scale=.5, lhs_zero=7, **attrs):
    """The quantized op, and the hybrid one where the attributes fit."""
    ones = [1] * (len(lhs) - 2)
    attrs = dict(dict(padding="VALID"), **attrs)
    # TensorFlow keeps in its kernel what it filled in for another rank.
    for name in ("window_strides", "lhs_dilation", "rhs_dilation"):
        if len(lhs) != 4:
            attrs.setdefault(name, ones)
    case("UniformQuantizedConvolution", values(tf.qint8, lhs), values(tf.qint8, rhs), f(lhs_scale), c32(lhs_zero),
         f(rhs_scales), c32(rhs_zeros), f(out_scales), c32(out_zeros), Tout=tf.qint32, **dict(ALL, **attrs))
    attrs = {k: v for k, v in attrs.items() if "output" not in k and "lhs_q" not in k}
    case("UniformQuantizedConvolutionHybrid", data(tf.float32, lhs), values(tf.qint8, rhs), f(rhs_scales),
         c32(rhs_zeros), Tout=tf.float32, **dict(RHS, **attrs))


def convolutions():
    for padding in ("VALID", "SAME"):
        for lhs, rhs in (([2, 3, 5, 4], [4, 3, 2, 3]), ([1, 2, 6], [3, 2, 3]), ([1, 1, 3, 2, 3], [2, 1, 2, 2, 1])):
            n = len(lhs) - 2
            both(lhs, rhs, padding=padding)
            both(lhs, rhs, padding=padding, window_strides=[2] * n)
            both(lhs, rhs, padding=padding, lhs_dilation=[2] + [1] * (n - 1))
            both(lhs, rhs, padding=padding, rhs_dilation=[1] * (n - 1) + [2])
            both(lhs, rhs, padding=padding, window_strides=[3] * n, lhs_dilation=[3] * n, rhs_dilation=[2] * n)
    both([1, 2, 3, 3], [2, 2, 2, 2], padding="EXPLICIT", explicit_padding=[1, 0, 0, 2])
    both([1, 4, 3, 3], [6, 2, 2, 2], feature_group_count=2)
    both([4, 2, 3, 3], [6, 2, 2, 2], batch_group_count=2)
    both([2, 4, 3, 3], [4, 2, 2, 2], batch_group_count=2, feature_group_count=2)
    both([2, 2, 3, 3], [3, 2, 2, 2], rhs_quantization_axis=0, rhs_scales=[.1, .2, .3], rhs_zeros=[1, 0, -5])
    both([2, 2, 3, 3], [3, 2, 2, 2], rhs_quantization_axis=0, rhs_scales=[.1, .2, .3], rhs_zeros=[1, 0, -5],
         output_quantization_axis=1, out_scales=[1., .5, 2.], out_zeros=[0, 4, -9])
    both([0, 2, 3, 3], [3, 2, 2, 2])
    both([1, 2, 3, 3], [0, 2, 2, 2])
    both([1, 2, 3, 3], [2, 2, 4, 2])
    both([1, 2, 3, 3], [2, 2, 5, 2])
    both([1, 2, 3, 3], [2, 2, 4, 2], window_strides=[2, 2])
    both([1, 2, 3, 3], [2, 2, 6, 2], window_strides=[2, 2])
    both([1, 2, 0, 3], [2, 2, 2, 2], padding="SAME")
    both([1, 2, 3, 3], [2, 2, 0, 2])
    case("UniformQuantizedConvolutionHybrid", tf.zeros([1, 1, 3]), values(tf.qint8, [1, 1, 2]), f(1.), c32(0),
         Tout=tf.float32, padding="SAME", window_strides=[1], lhs_dilation=[1], rhs_dilation=[1], **RHS)


def refused():
    x = [1, 2, 3, 3]
    k = [2, 2, 2, 2]
    for attrs in (dict(padding="EXPLICIT", explicit_padding=[1, 0]), dict(padding="EXPLICIT"),
                  dict(padding="EXPLICIT", explicit_padding=[-1, 0, 0, 1]), dict(window_strides=[2]),
                  dict(window_strides=[0, 1]), dict(lhs_dilation=[0, 1]), dict(lhs_dilation=[1]),
                  dict(rhs_dilation=[1, -1]), dict(rhs_dilation=[2, 2, 2]), dict(feature_group_count=0),
                  dict(feature_group_count=2), dict(batch_group_count=0), dict(batch_group_count=2)):
        both(x, k, **attrs)
    for lhs, rhs, attrs in ((x, [2, 2, 2], {}), ([1, 2], [2, 2], {}), ([1, 3, 3, 3], k, {}), ([1, 4, 3, 3], k, {}),
                            ([1, 4, 3, 3], [3, 2, 2, 2], dict(feature_group_count=2)),
                            ([2, 2, 3, 3], [3, 2, 2, 2], dict(batch_group_count=2)),
                            ([1, 4, 3, 3], k, dict(feature_group_count=3))):
        both(lhs, rhs, **attrs)
    both(x, k, lhs_scale=[.5])
    both(x, k, lhs_scale=-1.)
    both(x, k, rhs_scales=0.)
    both(x, k, out_scales=-1.)
    both(x, k, rhs_scales=[.5])
    both(x, k, rhs_quantization_axis=0, rhs_scales=[.1, .2, .3], rhs_zeros=[0, 0, 0])
    both(x, k, output_quantization_axis=1, out_scales=[.1, .2], out_zeros=[0, 0])


def products():
    for m, k, n in ((1, 1, 1), (3, 5, 4), (7, 33, 5), (2, 300, 2)):
        for ta in (False, True):
            for tb in (False, True):
                a = data(tf.bfloat16, [k, m] if ta else [m, k])
                b = data(tf.bfloat16, [n, k] if tb else [k, n])
                case("MatMul", a, b, transpose_a=ta, transpose_b=tb)
                case("BatchMatMulV2", a[None], b, adj_x=ta, adj_y=tb)


def searches():
    for op in ("LowerBound", "UpperBound"):
        for t in cpu_types(op):
            for n in (1, 2, 5, 8, 13):
                case(op, data(t, [2, n], integer_high=9), data(t, [2, 6], integer_high=9), out_type=tf.int32)


def cuts():
    def grad(sizes, shape, rows, cols, overlapping=False):
        for t in cpu_types("FractionalAvgPoolGrad"):
            case("FractionalAvgPoolGrad", c64(sizes), data(t, shape), c64(rows), c64(cols), overlapping=overlapping)

    grad([1, 2, 2, 1], [1, 1, 1, 1], [0, 2, 5], [0, 2])
    grad([1, 2, 2, 1], [1, 1, 1, 1], [[0, 2]], [1, 1])
    grad([1, 2, 2, 1], [1, 1, 1, 1], [5, 9], [0, 2])
    grad([1, 3, 3, 1], [1, 2, 2, 1], [2, 1, 3], [0, 2, 1], True)
    grad([2, 3, 3, 2], [1, 2, 2, 1], [0, 1, 3], [0, 2, 3])
    for sizes, shape in (([1, 2, 2], [1, 1, 1]), ([1, 2, 2, 1], [1, 1, 1]), ([0, 2, 2, 1], [1, 1, 1, 1]),
                         ([1, 0, 0, 0], [1, 1, 1, 1]), ([1, 1, 1, 0], [1, 1, 1, 1]), ([1, 2, 2, 1], [1, 0, 1, 1]),
                         ([1, -1, 1, 1], [1, 1, 1, 1]), ([1, 2, 2, 1], [1, 2, 1, 1]), ([1, 2, 2, 1], [1, 1, 2, 1])):
        grad(sizes, shape, [0, 2], [0, 2])


def ranges():
    for mode in ("MIN_COMBINED", "MIN_FIRST", "SCALED"):
        for shape, axis in (([1, 3], 0), ([3, 1], 1), ([2, 2], 1)):
            n = shape[axis]
            case("QuantizeV2", data(tf.float32, shape), f([-1.] * n), f([2.] * n), outputs=3, T=tf.qint8, mode=mode,
                 axis=axis)


def checks():
    key, counter = tf.constant([7], tf.uint64), tf.constant([1, 2], tf.uint64)
    for some in (None, 3, -1, [[2]]):  # of nothing a kernel takes bounds that graphs refuse
        shape = i32(0) if some is None else c32(some) if isinstance(some, list) else i32(some)
        for alg in (-1, 0, 1, 2, 3, 4):
            for c in (counter[0], counter[:0], counter):
                case("StatelessRandomUniformV2", shape, key, c, c32(alg), dtype=tf.float32)
            for low in (c32(1), c32(5), i32(1))[:2 if some is None else 3]:
                case("StatelessRandomUniformIntV2", shape, key, counter, c32(alg), low, c32(4), dtype=tf.int32)
            case("StatelessRandomGammaV3", shape, key, counter, c32(alg), f(2.))
        for seed in (i32(1), i32(1, 2)):
            for low in (c32(1), c32(5), i32(1))[:2 if some is None else 3]:
                case("StatelessRandomUniformInt", shape, seed, low, c32(4), dtype=tf.int32)
            case("StatelessRandomNormal", shape, seed, dtype=tf.float32)
            case("StatelessRandomGammaV2", shape, seed, f(2.))
            case("StatelessRandomPoisson", shape, seed, f(2.), dtype=tf.float32)
    for n in (0, 3):
        for alg in (0, 1, 2, 4):
            case("StatelessShuffle", tf.zeros([n]), key, counter, c32(alg))


FAMILIES = {fn.__name__: fn for fn in (convolutions, refused, products, searches, cuts, ranges, checks)}

if __name__ == "__main__":
    g.rng.seed(53)
    r.write("uniform", FAMILIES, [name for name in sys.argv[1:] if name in FAMILIES])
