#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Writes tests/data/op_goldens_device.txt: cases that kernels of devices are likely to get wrong.

Run with a Python that has TensorFlow:  /opt/tfvenv/bin/python tools/goldens_device.py [FAMILY…]
Groups of 64 items that are not full, rows longer than a group, NaN and infinities through
every element-wise op, integers that overflow, and the types that the other goldens leave out.
"""
import sys

import goldens_dtypes as d
import goldens_ragged as r
import numpy as np
import tensorflow as tf
from goldens_ragged import c32, case, g
from golden_case import data

F, D, H, B = tf.float32, tf.float64, tf.float16, tf.bfloat16
REAL = [F, D, H, B]
WHOLE = [tf.int32, tf.int64]
MOVED = REAL + WHOLE + [tf.bool, tf.uint8, tf.int8, tf.int16, tf.uint16, tf.uint32, tf.uint64, tf.complex64]


def special(t):
    big = {F: 3.4e38, D: 1.7e308, H: 6e4, B: 3.3e38}[t]
    v = [0.0, -0.0, 1.0, -1.0, 0.5, -2.5, np.inf, -np.inf, np.nan, big, -big, 30.0, -30.0, 7.0]
    return tf.cast(tf.constant(v, D), t)


def whole(t):
    low, high = t.min, t.max
    return tf.constant([low, low + 1, -7, -1, 0, 1, 2, 5, 6, 7, high - 1, high], t)


def unary():
    names = """Abs Ceil Cos Elu Erf Erfc Exp Expm1 Floor IsFinite IsInf IsNan Log Log1p Neg Reciprocal Relu
    Relu6 Rint Round Rsqrt Selu Sigmoid Sign Sin Softplus Softsign Sqrt Square Tanh Atan Asinh""".split()
    for name in names:
        for t in REAL:
            x = special(t)
            if name == "Erf" and t == D:
                x = data(t, [16])  # TensorFlow says NaN of what is large
            if name in ("Sin", "Cos") and t == B:
                x = tf.clip_by_value(x, -30.0, 30.0)  # of 3e38: the argument's reduction decides
            case(name, x)
    for name in ("Abs", "Neg", "Relu", "Relu6", "Sign", "Square"):  # Round of integers: TensorFlow says 0
        for t in WHOLE:
            case(name, whole(t))
    case("LogicalNot", tf.constant([[True, False, True]]))


def binary():
    for name in """AddV2 Sub Mul RealDiv Maximum Minimum SquaredDifference Less LessEqual Greater GreaterEqual
    Equal NotEqual DivNoNan MulNoNan Xdivy Xlogy Xlog1py Pow Atan2""".split():
        case(name, special(F)[:, None], special(F))
        case(name, special(D), special(D)[::-1])
    for name in "AddV2 Sub Mul Maximum Minimum SquaredDifference Less LessEqual Greater GreaterEqual Equal NotEqual".split():
        for t in WHOLE:
            x = whole(t)
            case(name, x[:, None], x)
    for name in "ReluGrad Relu6Grad EluGrad SeluGrad SoftplusGrad SoftsignGrad SigmoidGrad TanhGrad InvGrad SqrtGrad RsqrtGrad".split():
        for t in REAL:
            case(name, data(t, [3, 7]), data(t, [3, 7]))
    for t in REAL:
        case("LeakyReluGrad", data(t, [3, 7]), data(t, [3, 7]), alpha=0.3)
    x = tf.constant([[True], [False]])
    case("LogicalAnd", x, tf.constant([True, False, True]))
    case("LogicalOr", x, tf.constant([True, False, True]))


def groups():
    """Sizes around and beyond the groups of 64."""
    for n in (1, 63, 65, 257):
        case("Sum", data(F, [n]), c32([0]))
        case("Mean", data(F, [n, 2]), c32([0]))
        case("Max", data(F, [n]), c32([0]))
        case("ArgMax", data(F, [n]), c32(0), output_type=tf.int64)
        case("Relu", data(F, [n]))
        case("AddV2", data(F, [n]), data(F, [1]))
    for n in (1, 65, 130):
        case("Softmax", data(F, [2, n]))
        case("LogSoftmax", data(F, [2, n]))
        case("Cumsum", data(F, [n]), c32(0), exclusive=False, reverse=False)
    for m, k, n in ((1, 1, 1), (1, 40, 3), (33, 17, 34), (5, 64, 1)):
        case("MatMul", data(F, [m, k]), data(F, [k, n]), transpose_a=False, transpose_b=False)
        case("MatMul", data(F, [k, m]), data(F, [n, k]), transpose_a=True, transpose_b=True)
    for t in REAL:
        case("Softmax", tf.cast([[np.inf, 1, 2], [-np.inf, -np.inf, 0], [1, np.nan, 2], [80, 80, -80]], t))
        for name in ("Max", "Min", "Sum", "Mean", "Prod"):
            case(name, tf.cast([[1, np.nan, 2], [np.inf, 1, -np.inf], [-1, 3, 5]], t), c32([1]))
    for t in WHOLE:
        for name in ("Max", "Min", "Sum", "Prod"):
            case(name, whole(t), c32([0]))
        case("MatMul", whole(t)[:4, None], whole(t)[None, -3:], transpose_a=False, transpose_b=False)
    case("Max", tf.zeros([0, 3], F), c32([0]))
    case("Min", tf.zeros([2, 0], tf.int32), c32([1]))
    case("Mean", tf.zeros([0], F), c32([0]))


def left_out():
    """Types and attributes that no other golden shows."""
    for t in REAL + WHOLE + [tf.bool]:
        x = tf.constant([True, False]) if t == tf.bool else data(t, [2])
        y = tf.constant([False, False]) if t == tf.bool else data(t, [2])
        case("Select", tf.constant([True, False]), x, y)
        case("Select", tf.constant(True), x, y)
    for t in REAL + WHOLE:
        case("Einsum", [data(t, [2, 3]), data(t, [3, 4])], equation="ij,jk->ki")
        case("Einsum", [data(t, [2, 3, 4]), data(t, [2, 5, 4])], equation="bij,bkj->bik")
        case("Einsum", [data(t, [2, 2, 3, 4]), data(t, [2, 5, 2, 4])], equation="bhij,bkhj->bihk")
        case("Einsum", [data(t, [3, 3])], equation="ii->i")
        case("Einsum", [data(t, [3])], equation="i->ii")
        case("Einsum", [data(t, [2, 3, 4])], equation="ijk->ki")
        case("Einsum", [data(t, [2, 3]), data(t, [4, 1, 3, 2])], equation="...j,...jk->...k")
        case("Einsum", [data(t, [0, 3]), data(t, [3, 4])], equation="ij,jk->ik")
        case("Einsum", [data(t, [2, 0]), data(t, [0, 4])], equation="ij,jk->ik")
    for t in REAL + WHOLE:
        case("BiasAddGrad", tf.reshape(tf.cast(tf.range(24) % 7, t), [2, 3, 4]), data_format="NHWC")
        case("BiasAddGrad", tf.reshape(tf.cast(tf.range(120) % 5, t), [2, 3, 4, 5]), data_format="NCHW")
        case("BiasAdd", data(t, [2, 3, 4, 5]), data(t, [3]), data_format="NCHW")


def variables():
    for t in MOVED:
        x = tf.constant([True, False]) if t == tf.bool else tf.constant([1, 2], t)
        y = tf.constant([False, True]) if t == tf.bool else tf.constant([5, 7], t)
        d.step("AssignVariableOp", x, [y])
        d.step("ReadVariableOp", x, [], outputs=1)
    for t in REAL + WHOLE:
        for op in ("AssignAddVariableOp", "AssignSubVariableOp"):
            d.step(op, data(t, [2, 65]), [data(t, [2, 65])])
            d.step(op, data(t, [3]), [data(t, [2])])
            d.step(op, tf.zeros([0], t), [tf.zeros([0], t)])


FAMILIES = {f.__name__: f for f in (unary, binary, groups, left_out, variables)}

if __name__ == "__main__":
    g.rng.seed(31)
    g.infer = lambda *ignored: None  # the same ops' shapes are in other files
    r.write("device", FAMILIES, [f for f in sys.argv[1:] if f in FAMILIES])
