#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Writes tests/data/op_goldens_nn.txt, op_goldens_image.txt and shape_goldens_nn.txt: TensorFlow's answers
for neural-network operations, their gradients, image resizing and optimizers.

Run with a Python that has TensorFlow:  /opt/tfvenv/bin/python tools/goldens_nn.py
In the language of golden_case.py, and four more lines:
  terms N                so many numbers are added up in an element of the result
  rough N                TensorFlow adds up 16-bit floats in 16 bits: it is off by so many units
  var TYPE DIMS HEX      an input that is a variable with this value
  after TYPE DIMS HEX    what the variables hold afterwards, in order
TensorFlow's plain kernels answer; oneDNN's only where the plain ones refuse (NCHW, groups and
dilations in gradients).
"""
import os
import re
import subprocess
import sys
import tempfile

ONEDNN = os.environ.get("GOLDENS_ONEDNN") == "1"
os.environ["TF_ENABLE_ONEDNN_OPTS"] = "1" if ONEDNN else "0"
import golden_case as g
import numpy as np
import tensorflow as tf
from golden_case import COMPLEX, INTS, REAL, SPECS, cpu_types, data, i32, s32

g.rng.seed(23)
F, D, H = tf.float32, tf.float64, tf.half


def case(op, inputs, outputs=None, terms=0, rough=0, **attrs):
    if outputs is None:
        outputs = len(inputs[1]) if op == "ConcatOffset" else g.output_count(op)
    at = len(g.lines)
    g.case(op, inputs, outputs, **g.default_types(op, attrs))
    if terms and len(g.lines) > at:
        g.lines.insert(at + 1, "terms %d" % terms)
    if rough and len(g.lines) > at and any(t in (H, tf.bfloat16) for x in inputs for t in [getattr(x, "dtype", 0)]):
        g.lines.insert(at + 1, "rough %d" % rough)


def types(op, attr="T"):
    """The dtypes of TensorFlow's kernels that the op's definition allows."""
    allowed = re.search(r"\b%s:type\{([^}]*)\}" % attr, SPECS[op][3])
    found = cpu_types(op, attr)
    if not allowed:
        return found
    return [t for t in found if g.NAMES[t] in allowed.group(1).split("|")]


def shuffled(t, shape):
    """Distinct values, so that a maximum is in one place only."""
    n = int(np.prod(shape))
    a = g.rng.permutation(n).astype(np.float64)
    if t not in INTS:
        a = (a - n // 2) / 4
    return tf.constant(a.reshape(shape).astype(t.as_numpy_dtype), t)


def conv():
    one, two = [1, 1, 1, 1], [1, 2, 2, 1]
    for t in types("Conv2D"):
        x = data(t, [1, 5, 6, 2])
        for pad in ("SAME", "VALID"):
            for strides in (one, two):
                if (pad, strides) != ("VALID", two):
                    case("Conv2D", [x, data(t, [3, 2, 2, 3])], terms=60, strides=strides, padding=pad)
        case("Conv2D", [data(t, [1, 2, 5, 3]), data(t, [1, 1, 3, 9])], terms=30, strides=one, padding="SAME")
        case("Conv2D", [data(t, [1, 4, 3, 4]), data(t, [3, 3, 2, 4])], terms=60, strides=one, padding="SAME")
        case("Conv2D", [x, data(t, [2, 2, 2, 2])], terms=60, strides=one, padding="EXPLICIT",
             explicit_paddings=[0, 0, 1, 2, 0, 1, 0, 0])
        if t != tf.int32:
            case("Conv2D", [x, data(t, [2, 2, 2, 2])], terms=60, strides=one, padding="SAME",
                 dilations=[1, 2, 3, 1])
    x, w = data(D, [1, 3, 4, 2]), data(D, [2, 2, 2, 3])
    for a in (dict(strides=[1, 1, 1], padding="SAME"), dict(strides=[2, 1, 1, 1], padding="SAME"),
              dict(strides=[1, 0, 1, 1], padding="SAME"),
              dict(strides=one, padding="SAME", dilations=[1, 0, 1, 1]),
              dict(strides=one, padding="SAME", dilations=[1, 1, 1]),
              dict(strides=one, padding="SAME", dilations=[2, 1, 1, 1]),
              dict(strides=one, padding="EXPLICIT", explicit_paddings=[0, 0, 1]),
              dict(strides=one, padding="EXPLICIT", explicit_paddings=[0, 0, 1, -1, 0, 0, 0, 0]),
              dict(strides=one, padding="EXPLICIT", explicit_paddings=[1, 0, 1, 1, 0, 0, 0, 0]),
              dict(strides=one, padding="SAME", explicit_paddings=[0, 0, 1, 1, 0, 0, 0, 0])):
        case("Conv2D", [x, w], **a)
    for s, k in (([1, 3, 4], [2, 2, 2, 3]), ([1, 3, 4, 2], [2, 2, 2]), ([1, 3, 4, 2], [2, 2, 3, 3]),
                 ([1, 3, 4, 2], [2, 2, 0, 3]), ([1, 3, 4, 2], [2, 2, 2, 0]), ([0, 3, 4, 2], [2, 2, 2, 3]),
                 ([1, 3, 4, 4], [2, 2, 2, 3]), ([1, 3, 4, 2], [4, 2, 2, 3]), ([1, 0, 4, 2], [1, 2, 2, 3]),
                 ([1, 3, 4, 2], [0, 2, 2, 3])):
        for t in (D, F):
            case("Conv2D", [data(t, s), data(t, k)], strides=one, padding="VALID")
    for t in types("Conv2DBackpropInput"):
        for strides, out in ((one, [1, 5, 6, 3]), (two, [1, 3, 3, 3])):
            case("Conv2DBackpropInput", [i32(1, 5, 6, 2), data(t, [3, 2, 2, 3]), data(t, out)], terms=60, rough=32,
                 strides=strides, padding="SAME")
        case("Conv2DBackpropInput", [i32(4, 5), data(t, [3, 2, 2, 3]), data(t, [1, 2, 4, 3])], terms=60, rough=32,
             strides=one, padding="VALID")
        case("Conv2DBackpropInput", [i32(1, 3, 3, 2), data(t, [2, 2, 2, 2]), data(t, [1, 5, 3, 2])],
             terms=60, rough=32, strides=one, padding="EXPLICIT", explicit_paddings=[0, 0, 1, 2, 0, 1, 0, 0])
    for t in types("Conv2DBackpropFilter"):
        for strides, out in ((one, [1, 5, 6, 3]), (two, [1, 3, 3, 3])):
            case("Conv2DBackpropFilter", [data(t, [1, 5, 6, 2]), i32(3, 2, 2, 3), data(t, out)], terms=200, rough=32,
                 strides=strides, padding="SAME")
        case("Conv2DBackpropFilter", [data(t, [1, 3, 3, 2]), i32(2, 2, 2, 2), data(t, [1, 5, 3, 2])],
             terms=60, rough=32, strides=one, padding="EXPLICIT", explicit_paddings=[0, 0, 1, 2, 0, 1, 0, 0])
    for sizes, k, out in (([1, 3, 4], [2, 2, 2, 3], [1, 2, 3, 3]), ([1, 3, 4, 2], [2, 2, 2], [1, 2, 3, 3]),
                          ([1, 3, 4, 2], [2, 2, 2, 3], [2, 2, 3, 3]), ([1, 3, 4, 2], [2, 2, 2, 3], [1, 2, 3, 2]),
                          ([1, 3, 4, 2], [2, 2, 2, 3], [1, 3, 3, 3]), ([1, 3, 4, 2], [2, 2, 3, 3], [1, 2, 3, 3]),
                          ([1, -3, 4, 2], [2, 2, 2, 3], [1, 2, 3, 3]), ([-3, 4], [2, 2, 2, 3], [1, 2, 3, 3]),
                          ([1, 3, 4, 2], [2, 2, 2, 3], [1, 2, 3]), ([0, 3, 4, 2], [2, 2, 2, 3], [0, 2, 3, 3])):
        case("Conv2DBackpropInput", [i32(*sizes), data(D, k), data(D, out)], strides=one, padding="VALID")
    case("Conv2DBackpropInput", [s32(3), data(D, [2, 2, 2, 3]), data(D, [1, 2, 3, 3])], strides=one,
         padding="VALID")
    for s, k, out in (([1, 3, 4], [2, 2, 2, 3], [1, 2, 3, 3]), ([1, 3, 4, 2], [2, 2, 2], [1, 2, 3, 3]),
                      ([1, 3, 4, 2], [2, 2, 2, 3], [2, 2, 3, 3]), ([1, 3, 4, 2], [2, 2, 2, 3], [1, 2, 3, 2]),
                      ([1, 3, 4, 2], [2, 2, 2, 3], [1, 3, 3, 3]), ([1, 3, 4, 2], [2, 2, 3, 3], [1, 2, 3, 3]),
                      ([1, 3, 4, 2], [2, -2, 2, 3], [1, 2, 3, 3]), ([0, 3, 4, 2], [2, 2, 2, 3], [0, 2, 3, 3])):
        case("Conv2DBackpropFilter", [data(D, s), i32(*k), data(D, out)], strides=one, padding="VALID")


def conv3d():
    one, two = [1] * 5, [1, 2, 2, 2, 1]
    for t in types("Conv3D"):
        x = data(t, [1, 3, 4, 3, 2])
        for strides, pad, out in ((one, "SAME", [1, 3, 4, 3, 2]), (two, "SAME", [1, 2, 2, 2, 2]),
                                  (one, "VALID", [1, 2, 2, 2, 2])):
            w = data(t, [2, 3, 2, 2, 2])
            case("Conv3D", [x, w], terms=60, rough=32, strides=strides, padding=pad)
            case("Conv3DBackpropInputV2", [i32(1, 3, 4, 3, 2), w, data(t, out)], terms=60, rough=32, strides=strides,
                 padding=pad)
            case("Conv3DBackpropFilterV2", [x, i32(2, 3, 2, 2, 2), data(t, out)], terms=200, rough=32,
                 strides=strides, padding=pad)
    for s, k in (([1, 2, 3, 4], [1, 2, 2, 2, 3]), ([1, 2, 3, 4, 2], [2, 2, 2, 3]),
                 ([1, 2, 3, 4, 2], [1, 2, 2, 3, 3]), ([1, 2, 3, 4, 2], [3, 2, 2, 2, 3]),
                 ([0, 2, 3, 4, 2], [1, 2, 2, 2, 3]), ([1, 2, 3, 4, 2], [1, 2, 2, 2, 0])):
        case("Conv3D", [data(D, s), data(D, k)], strides=one, padding="VALID")
    x, w = data(D, [1, 2, 3, 4, 2]), data(D, [1, 2, 2, 2, 3])
    case("Conv3D", [x, w], strides=[2, 1, 1, 1, 1], padding="SAME")
    case("Conv3D", [x, w], strides=[1, 0, 1, 1, 1], padding="SAME")
    case("Conv3D", [x, w], strides=[1] * 6, padding="SAME")
    case("Conv3DBackpropInputV2", [tf.constant([1, 2, 3, 4, 2], tf.int64), w, data(D, [1, 2, 3, 4, 3])],
         terms=60, strides=one, padding="SAME")
    case("Conv3DBackpropInputV2", [i32(1, 2, 3, 4, 2), w, data(D, [1, 2, 3, 3, 3])], strides=one, padding="SAME")
    case("Conv3DBackpropFilterV2", [x, i32(1, 2, 2, 2, 3), data(D, [1, 2, 3, 3, 3])], strides=one,
         padding="SAME")


def depthwise():
    one, two = [1, 1, 1, 1], [1, 2, 2, 1]
    name = "DepthwiseConv2dNative"
    for t in types(name):
        for mul in (1, 3):
            x, w = data(t, [1, 4, 5, 2]), data(t, [3, 2, 2, mul])
            for strides, pad, out in ((one, "SAME", [1, 4, 5]), (two, "SAME", [1, 2, 3]), (one, "VALID", [1, 2, 4])):
                case(name, [x, w], terms=20, rough=16, strides=strides, padding=pad)
                if mul == 3 and pad == "VALID":
                    continue
                y = data(t, out + [2 * mul])
                case(name + "BackpropInput", [i32(1, 4, 5, 2), w, y], terms=40, rough=32, strides=strides, padding=pad)
                case(name + "BackpropFilter", [x, i32(3, 2, 2, mul), y], terms=200, rough=64, strides=strides, padding=pad)
        case(name, [x, w], terms=20, rough=16, strides=one, padding="EXPLICIT", explicit_paddings=[0, 0, 1, 2, 0, 1, 0, 0])
    for s, k in (([1, 3, 4], [2, 2, 2, 3]), ([1, 3, 4, 2], [2, 2, 2]), ([1, 3, 4, 2], [2, 2, 3, 3]),
                 ([1, 3, 4, 2], [4, 2, 2, 1]), ([0, 3, 4, 2], [2, 2, 2, 1]), ([1, 3, 4, 2], [2, 2, 2, 0])):
        case(name, [data(D, s), data(D, k)], strides=one, padding="VALID")
    x, w = data(D, [1, 3, 4, 2]), data(D, [2, 2, 2, 1])
    for a in (dict(strides=[1, 1, 2, 1]), dict(strides=[2, 1, 1, 1]), dict(strides=[1, 0, 0, 1])):
        case(name, [x, w], padding="SAME", **a)
    for sizes, k, out in (([1, 3, 4], [2, 2, 2, 1], [1, 2, 3, 2]), ([1, 3, 4, 2], [2, 2, 2], [1, 2, 3, 2]),
                          ([1, 3, 4, 2], [2, 2, 2, 1], [2, 2, 3, 2]), ([1, 3, 4, 2], [2, 2, 2, 1], [1, 2, 3, 3]),
                          ([1, 3, 4, 2], [2, 2, 2, 1], [1, 3, 3, 2]), ([1, 3, 4, 2], [2, 2, 2, 1], [1, 2, 2, 2]),
                          ([1, 3, 4, 2], [2, 2, 3, 1], [1, 2, 3, 2]), ([1, -3, 4, 2], [2, 2, 2, 1], [1, 2, 3, 2])):
        case(name + "BackpropInput", [i32(*sizes), data(D, k), data(D, out)], strides=one, padding="VALID")
        if min(sizes) > 0:
            case(name + "BackpropFilter", [data(D, sizes), i32(*k), data(D, out)], strides=one, padding="VALID")


def onednn():
    """What only oneDNN's kernels answer."""
    one, two = [1, 1, 1, 1], [1, 1, 2, 2]
    x, w, wg = data(F, [2, 4, 3, 5]), data(F, [3, 2, 4, 4]), data(F, [3, 2, 2, 4])
    for strides, out in ((one, [2, 4, 3, 5]), (two, [2, 4, 2, 3])):
        a = dict(strides=strides, padding="SAME", data_format="NCHW")
        y = data(F, out)
        case("Conv2D", [x, w], terms=60, **a)
        case("Conv2D", [x, wg], terms=60, **a)
        case("Conv2DBackpropInput", [i32(2, 4, 3, 5), w, y], terms=80, **a)
        case("Conv2DBackpropFilter", [x, i32(3, 2, 4, 4), y], terms=300, **a)
        case("DepthwiseConv2dNative", [x, data(F, [3, 2, 4, 2])], terms=20, **a)
        case("MaxPool", [x], ksize=[1, 1, 2, 3], **a)
        case("AvgPool", [x], ksize=[1, 1, 2, 3], **a)
    x = data(F, [1, 5, 4, 4])
    for dilations in (one, [1, 2, 2, 1]):
        a = dict(strides=one, padding="SAME", dilations=dilations)
        for filt in ([3, 2, 4, 4], [3, 2, 2, 4]):
            w, y = data(F, filt), data(F, [1, 5, 4, 4])
            case("Conv2D", [x, w], terms=60, **a)
            case("Conv2DBackpropInput", [i32(1, 5, 4, 4), w, y], terms=80, **a)
            case("Conv2DBackpropFilter", [x, i32(*filt), y], terms=300, **a)
        case("DepthwiseConv2dNative", [x, data(F, [3, 2, 4, 2])], terms=20, **a)
    a = dict(strides=[1] * 5, padding="SAME", data_format="NCDHW")
    x, w = data(F, [1, 2, 3, 4, 3]), data(F, [2, 3, 2, 2, 3])
    case("Conv3D", [x, w], terms=60, rough=32, **a)
    case("MaxPool3D", [x], ksize=[1, 1, 2, 2, 2], **a)
    case("AvgPool3D", [x], ksize=[1, 1, 2, 2, 2], **a)


def pools():
    windows = (([1, 2, 2, 1], [1, 2, 2, 1]), ([1, 3, 2, 1], [1, 1, 2, 1]))
    for t in types("MaxPool"):
        for k, s in windows:
            for pad in ("SAME", "VALID"):
                if t in INTS and t != tf.int32 and (pad == "SAME") == (k == [1, 2, 2, 1]):
                    continue
                x = shuffled(t, [1, 3, 4, 2] if t not in (F, D) else [2, 3, 4, 2])
                case("MaxPool", [x], ksize=k, strides=s, padding=pad)
                y = tf.raw_ops.MaxPool(input=x, ksize=k, strides=s, padding=pad)
                dy = data(t, y.shape)
                case("MaxPoolGrad", [x, y, dy], ksize=k, strides=s, padding=pad)
                case("MaxPoolGradGrad", [x, y, data(t, x.shape)], ksize=k, strides=s, padding=pad)
                if k == [1, 2, 2, 1]:
                    case("MaxPoolWithArgmax", [x], ksize=k, strides=s, padding=pad,
                         Targmax=tf.int32 if pad == "SAME" else tf.int64, include_batch_in_index=pad == "SAME")
        case("MaxPoolV2", [x, i32(*k), i32(*s)], padding=pad)
        case("MaxPoolGradV2", [x, y, dy, i32(*k), i32(*s)], padding=pad)
        case("MaxPoolGradGradV2", [x, y, data(t, x.shape), i32(*k), i32(*s)], padding=pad)
        case("MaxPool", [shuffled(t, [1, 2, 2, 6])], ksize=[1, 1, 1, 3], strides=[1, 1, 1, 3], padding="SAME")
        y, index = tf.raw_ops.MaxPoolWithArgmax(input=x, ksize=k, strides=s, padding="VALID")
        case("MaxPoolGradWithArgmax", [x, data(t, y.shape), index], ksize=k, strides=s, padding="VALID")
    x = tf.constant(np.array([1, np.nan, 3, -np.inf, np.nan, np.nan, 2, np.inf, -np.inf, -np.inf], np.float64)
                    .reshape([1, 1, 10, 1]))
    for op in ("MaxPool", "MaxPoolWithArgmax", "AvgPool"):
        case(op, [x], ksize=[1, 1, 2, 1], strides=[1, 1, 2, 1], padding="SAME")
    y = data(D, [1, 1, 5, 1])
    case("MaxPoolGrad", [x, tf.raw_ops.MaxPool(input=x, ksize=[1, 1, 2, 1], strides=[1, 1, 2, 1], padding="SAME"),
                         y], ksize=[1, 1, 2, 1], strides=[1, 1, 2, 1], padding="SAME")
    for t in types("AvgPool"):
        for k, s in windows:
            for pad, out in (("SAME", None), ("VALID", None)):
                x = data(t, [1, 4, 5, 2])
                case("AvgPool", [x], terms=9, ksize=k, strides=s, padding=pad)
                y = tf.raw_ops.AvgPool(value=x, ksize=k, strides=s, padding=pad)
                case("AvgPoolGrad", [i32(1, 4, 5, 2), data(t, y.shape)], terms=9, ksize=k, strides=s, padding=pad)
    x = data(D, [1, 5, 4, 2])
    case("MaxPool", [x], ksize=[1, 3, 3, 1], strides=[1, 2, 2, 1], padding="EXPLICIT",
         explicit_paddings=[0, 0, 1, 2, 0, 1, 0, 0])
    good = dict(ksize=[1, 2, 2, 1], strides=[1, 2, 2, 1], padding="VALID")
    bad = (dict(ksize=[2, 2, 2, 1]), dict(strides=[2, 2, 2, 1]), dict(ksize=[1, 2, 2, 2]),
           dict(ksize=[1, 0, 2, 1]), dict(strides=[1, 0, 2, 1]), dict(ksize=[1, 2, 2, 1, 1]),
           dict(strides=[1] * 5), dict(ksize=[1, 6, 2, 1]), dict(ksize=[1, 1, 1, 2]),
           dict(ksize=[1, 1, 1, 3], strides=[1, 1, 1, 3]),
           dict(ksize=[1, 9, 2, 1]))
    y = data(D, [1, 2, 2, 2])
    for b in bad:
        a = dict(good, **b)
        case("MaxPool", [x], **a)
        case("AvgPool", [x], **a)
        case("MaxPoolWithArgmax", [x], **a)
        if a["ksize"][1] in (1, 2) and len(a["ksize"]) == 4:  # there, TensorFlow goes on with nonsense
            case("MaxPoolGrad", [x, y, y], **a)
            case("MaxPoolGradGrad", [x, y, x], **a)
            case("AvgPoolGrad", [i32(1, 5, 4, 2), y], **a)
        case("MaxPoolV2", [x, i32(*a["ksize"]), i32(*a["strides"])], padding="VALID")
        if a["ksize"][1]:
            case("MaxPoolGradV2", [x, y, y, i32(*a["ksize"]), i32(*a["strides"])], padding="VALID")
    for s in ([5, 4, 2], [0, 5, 4, 2], [1, 1, 4, 2], [1, 5, 4, 0]):
        case("MaxPool", [data(D, s)], **good)
        case("AvgPool", [data(D, s)], **good)
        case("MaxPoolWithArgmax", [data(D, s)], **good)
    for a, b, c in (([5, 4, 2], [1, 2, 2, 2], [1, 2, 2, 2]), ([1, 5, 4, 2], [2, 2, 2], [1, 2, 2, 2]),
                    ([1, 5, 4, 2], [1, 2, 2, 2], [2, 2, 2]), ([1, 5, 4, 2], [1, 2, 1, 2], [1, 2, 2, 2]),
                    ([1, 5, 4, 2], [1, 2, 2, 2], [1, 2, 1, 2]), ([0, 5, 4, 2], [0, 2, 2, 2], [0, 2, 2, 2])):
        case("MaxPoolGrad", [data(D, a), data(D, b), data(D, c)], **good)
        case("MaxPoolGradGrad", [data(D, a), data(D, b), data(D, a)], **good)
        if c != [1, 2, 1, 2]:
            case("AvgPoolGrad", [i32(*a), data(D, c)], **good)
        case("MaxPoolGradWithArgmax", [data(D, a), data(D, c), tf.zeros(c, tf.int64)], **good)
    case("AvgPoolGrad", [s32(1), data(D, [1, 2, 2, 2])], **good)
    case("AvgPoolGrad", [i32(1, 5, -4, 2), data(D, [1, 2, 2, 2])], **good)


def pools3d():
    for t in types("MaxPool3D"):
        for k, s in (([1, 2, 2, 2, 1], [1, 2, 2, 2, 1]), ([1, 1, 3, 2, 1], [1, 1, 1, 2, 1])):
            for pad in ("SAME", "VALID"):
                a = dict(ksize=k, strides=s, padding=pad)
                x = shuffled(t, [1, 2, 3, 4, 2])
                case("MaxPool3D", [x], **a)
                case("AvgPool3D", [x], terms=12, **a)
                y = tf.raw_ops.MaxPool3D(input=x, **a)
                dy = data(t, y.shape)
                case("MaxPool3DGrad", [x, y, dy], **a)
                case("MaxPool3DGradGrad", [x, y, data(t, x.shape)], **a)
                case("AvgPool3DGrad", [i32(1, 2, 3, 4, 2), dy], terms=12, **a)
    good = dict(ksize=[1, 1, 2, 2, 1], strides=[1, 1, 2, 2, 1], padding="VALID")
    x, y = data(F, [1, 2, 5, 4, 2]), data(F, [1, 2, 2, 2, 2])
    for b in (dict(ksize=[2, 1, 2, 2, 1]), dict(ksize=[1, 1, 2, 2, 2]), dict(ksize=[1, 0, 2, 2, 1]),
              dict(strides=[1, 0, 2, 2, 1]), dict(ksize=[1] * 6), dict(ksize=[1, 9, 2, 2, 1])):
        a = dict(good, **b)
        case("MaxPool3D", [x], **a)
        case("AvgPool3D", [x], **a)
        if a["ksize"][1]:
            case("MaxPool3DGrad", [x, y, y], **a)
        case("AvgPool3DGrad", [i32(1, 2, 5, 4, 2), y], **a)
    case("MaxPool3D", [data(F, [1, 5, 4, 2])], **good)
    case("AvgPool3D", [data(F, [1, 5, 4, 2])], **good)
    case("MaxPool3DGrad", [x, data(F, [1, 2, 2, 1, 2]), y], **good)
    case("MaxPool3DGrad", [x, y, data(F, [1, 2, 2, 1, 2])], **good)
    case("AvgPool3DGrad", [i32(1, 5, 4, 2), y], **good)


def norms():
    v = lambda n=3: data(F, [n], 0.5, 2.0)
    for op, xt in (("FusedBatchNorm", [F]), ("FusedBatchNormV2", [H, tf.bfloat16, F]),
                   ("FusedBatchNormV3", [H, tf.bfloat16, F])):
        for t in xt:
            for fmt, shape in (("NHWC", [2, 3, 4, 3]), ("NCHW", [2, 3, 4, 3])):
                for factor in (1.0, 0.25):
                    case(op, [data(t, shape), v(), v(), v(), v()], terms=24, data_format=fmt, epsilon=0.001,
                         exponential_avg_factor=factor)
            g_op = op.replace("Norm", "NormGrad")
            for training in (True, False):
                a = [data(t, [2, 3, 4, 3]), data(t, [2, 3, 4, 3]), v(), v(), v()]
                if op.endswith("V3"):
                    a.append(v())
                case(g_op, a, terms=100, is_training=training, epsilon=0.001)
    for fmt, shape in (("NDHWC", [1, 2, 3, 2, 3]), ("NCDHW", [1, 3, 2, 3, 2])):
        case("FusedBatchNormV3", [data(F, shape), v(), v(), v(), v()], terms=24, data_format=fmt)
    x = data(F, [1, 2, 2, 3])
    for vs in ([v(2), v(), v(), v()], [v(), v(2), v(), v()], [v(), v(), v(2), v()], [v(), v(), v(), v(2)],
               [data(F, [1, 3]), v(), v(), v()], [v(), v(), data(F, [1, 3]), v()], [v(), v(), v(0), v(0)]):
        for training in (True, False):
            for factor in (1.0, 0.5):
                if op == "FusedBatchNormV3" and vs[2].shape != [0] and training and factor == 1.0:
                    continue
                case("FusedBatchNormV3", [x] + vs, terms=8, is_training=training, exponential_avg_factor=factor)
    case("FusedBatchNormV3", [data(F, [2, 3]), v(), v(), v(), v()])
    case("FusedBatchNorm", [data(F, [1, 1, 1, 3]), v(), v(), v(), v()], terms=4)
    for gs, xs, n in (([1, 2, 2, 3], [1, 2, 2, 2], 3), ([1, 2, 2, 3], [1, 2, 2, 3], 2), ([2, 3], [2, 3], 3)):
        case("FusedBatchNormGradV3", [data(F, gs), data(F, xs), v(n), v(), v(), v()])
    for t in types("LRN"):
        x = data(t, [2, 2, 3, 7])
        y = tf.raw_ops.LRN(input=x, depth_radius=2, bias=1.5, alpha=0.5, beta=0.75)
        case("LRN", [x], terms=16, depth_radius=2, bias=1.5, alpha=0.5, beta=0.75)
        case("LRN", [x], terms=16)
        case("LRNGrad", [data(t, x.shape), x, y], terms=64, rough=4, depth_radius=2, bias=1.5, alpha=0.5, beta=0.75)
    case("LRN", [data(F, [2, 2, 3])])
    case("LRN", [data(F, [0, 2, 2, 3])])
    case("LRN", [data(F, [1, 2, 2, 3])], depth_radius=2**33)
    x = data(F, [1, 1, 2, 3])
    case("LRNGrad", [data(F, [1, 2, 3]), x, x])
    case("LRNGrad", [x, data(F, [1, 1, 2, 4]), x])
    case("LRNGrad", [x, x, data(F, [1, 1, 2, 4])])


def activations():
    for op in ("ReluGrad", "Relu6Grad", "LeakyReluGrad", "EluGrad", "SeluGrad", "SoftplusGrad", "SoftsignGrad",
               "SigmoidGrad", "TanhGrad", "SqrtGrad", "RsqrtGrad", "InvGrad", "ReciprocalGrad"):
        for t in types(op):
            a, b = data(t, [3, 7], integer_high=9), data(t, [3, 7], integer_high=9)
            if op in ("SqrtGrad", "RsqrtGrad", "InvGrad", "ReciprocalGrad"):
                a = data(t, [3, 7], 0.5)
            case(op, [a, b], terms=4 if t in COMPLEX else 0)
        s = g.special(F)
        case(op, [tf.reverse(s, [0]), s])
        case(op, [data(F, [0, 2]), data(F, [0, 2])])
        case(op, [data(F, [2]), data(F, [3])])
        case(op, [data(F, [2, 3]), data(F, [6])])
        case(op, [data(F, [], 1.), data(F, [])])
    case("LeakyReluGrad", [data(F, [9]), data(F, [9])], alpha=0.5)
    for op in ("BiasAddGrad",):
        for t in types(op):
            case(op, [data(t, [2, 3, 4], integer_high=100)], terms=8)
            case(op, [data(t, [2, 3, 4], integer_high=100)], terms=8, data_format="NCHW")
        for s in ([3], [0, 3], [3, 0], [2, 3, 1, 2, 2]):
            case(op, [data(F, s)], terms=8)
    for t in types("BiasAddV1"):
        case("BiasAddV1", [data(t, [2, 2, 3]), data(t, [3])])
    for a, b in (([3], [3]), ([2, 3], [1, 3]), ([2, 3], [2])):
        case("BiasAddV1", [data(F, a), data(F, b)])


def losses():
    op = "SoftmaxCrossEntropyWithLogits"
    for t in types(op):
        case(op, [data(t, [3, 5]), data(t, [3, 5], 0, 1)], terms=8, rough=2)
        case(op, [data(t, [3, 5]), data(t, [1, 5], 0, 1)], terms=8, rough=2)
    for a, b in (([2, 3], [2, 2]), ([3], [3]), ([1, 1, 3], [1, 1, 3]), ([2, 3], [3]), ([2, 0], [2, 0]), ([0, 3], [0, 3]),
                 ([2, 3], [2, 1]), ([1, 3], [4, 3]), ([2, 1], [2, 3])):
        case(op, [data(D, a), data(D, b, 0, 1)], terms=8)
        case(op, [data(F, a, -300, 300), data(F, b, 0, 1)], terms=1000)
    op = "SparseSoftmaxCrossEntropyWithLogits"
    for t in types(op):
        for lt in (tf.int32, tf.int64):
            case(op, [data(t, [3, 5]), tf.constant([4, 0, 2], lt)], terms=8, rough=2)
    for s, l in (([2, 3], [0, 3]), ([2, 3], [0, -1]), ([2, 3], [0]), ([3], [0]), ([2, 3], [[0, 1]]), ([2, 0], [0, 0]),
                 ([0, 3], [])):
        case(op, [data(F, s), tf.constant(l, tf.int64)])
    for t in types("L2Loss"):
        case("L2Loss", [data(t, [3, 5])], terms=16)
    case("L2Loss", [data(F, [0])])
    case("L2Loss", [data(F, [])])
    p = tf.constant([[0.1, 0.3, 0.2, 0.4], [0.1, 0.2, 0.3, 0.4], [0.5, 0.5, 0.5, 0.1], [1, np.nan, 2, 3],
                     [np.inf, 1, 2, 3]], F)
    for k in (0, 1, 2, 4, 9, -1):
        for t in (tf.int32, tf.int64):
            target = tf.constant([1, 3, 0, 2, 0], t)
            case("InTopK", [p, target], k=k)
            case("InTopKV2", [p, target, tf.constant(k, t)])
    case("InTopK", [p, i32(4, -1, 9, 0, 1)], k=2)
    case("InTopK", [p, i32(0, 1)], k=2)
    case("InTopK", [p[0], i32(0, 1)], k=2)
    case("InTopK", [p, tf.zeros([5, 1], tf.int32)], k=2)
    case("InTopKV2", [p, i32(0, 1, 2, 3, 0), i32(2)])


def dilations():
    op = "Dilation2D"
    for t in types(op):
        x, w = data(t, [1, 4, 5, 2], integer_high=50), data(t, [2, 2, 2], integer_high=50)
        for pad in ("SAME", "VALID"):
            for s, r in (([1, 1, 1, 1], [1, 1, 1, 1]), ([1, 2, 1, 1], [1, 2, 2, 1])):
                a = dict(strides=s, rates=r, padding=pad)
                case(op, [x, w], **a)
                if pad == "VALID":
                    y = data(t, tf.raw_ops.Dilation2D(input=x, filter=w, **a).shape, integer_high=9)
                    case(op + "BackpropInput", [x, w, y], **a)
                    case(op + "BackpropFilter", [x, w, y], **a)
    good = dict(strides=[1, 1, 1, 1], rates=[1, 1, 1, 1], padding="VALID")
    x, w = data(F, [1, 3, 3, 2]), data(F, [2, 2, 2])
    for b in (dict(strides=[2, 1, 1, 1]), dict(rates=[2, 1, 1, 1]), dict(strides=[1, 0, 1, 1]), dict(strides=[1] * 5),
              dict(rates=[1, 9, 9, 1])):
        case(op, [x, w], **dict(good, **b))
    for s, k in (([3, 3, 2], [2, 2, 2]), ([1, 3, 3, 2], [1, 2, 2, 2]), ([1, 3, 3, 2], [2, 2, 3]), ([0, 3, 3, 2], [2, 2, 2])):
        case(op, [data(F, s), data(F, k)], **good)
    case(op + "BackpropInput", [x, w, data(F, [1, 3, 3, 2])], **good)
    case(op + "BackpropFilter", [x, w, data(F, [1, 3, 3, 2])], **good)


def spaces():
    anything = [F, tf.int8, tf.int64, tf.complex128, tf.bool, tf.string]
    for t in anything:
        case("SpaceToDepth", [data(t, [1, 4, 6, 1])], block_size=2)
        case("DepthToSpace", [data(t, [1, 2, 3, 4])], block_size=2)
    for s in ([1, 3, 4, 1], [4, 4, 1], [0, 4, 4, 1], [1, 4, 5, 1]):
        case("SpaceToDepth", [data(F, s)], block_size=2)
    for s in ([1, 2, 2, 3], [2, 2, 4], [0, 2, 2, 4]):
        case("DepthToSpace", [data(F, s)], block_size=2)
    pads = lambda *v: tf.constant(np.array(v).reshape([-1, 2]), tf.int32)
    for t in types("SpaceToBatchND"):
        case("SpaceToBatchND", [data(t, [2, 3, 4, 2]), i32(2, 3), pads(0, 1, 2, 0)])
        case("BatchToSpaceND", [data(t, [12, 2, 2, 2]), i32(2, 3), pads(0, 1, 2, 0)])
    case("SpaceToBatch", [data(F, [1, 3, 4, 2]), pads(1, 0, 1, 1)], block_size=2)
    case("BatchToSpace", [data(F, [8, 2, 3, 2]), pads(1, 0, 1, 2)], block_size=2)
    case("SpaceToBatchND", [data(F, [2, 3]), tf.constant([], tf.int32), tf.zeros([0, 2], tf.int32)])
    case("SpaceToBatchND", [data(F, [2, 3]), i32(1), pads(1, 2)])
    for s, b, p in (([2, 3], [2], [0, 0]), ([2], [2], [0, 0]), ([2, 3], [0], [0, 0]), ([2, 3], [2], [-1, 0]),
                    ([2, 3], [2], [0, 0, 0, 0]), ([0, 3], [3], [0, 0]), ([2, 4], [-2], [0, 0]), ([2, 4], [2], [9, 9])):
        case("SpaceToBatchND", [data(F, s), i32(*b), pads(*p)])
        case("BatchToSpaceND", [data(F, s), i32(*b), pads(*p)])
    case("SpaceToBatchND", [data(F, [2, 3]), s32(2), pads(0, 0)])
    case("BatchToSpace", [data(F, [3, 2, 2, 1]), pads(0, 0, 0, 0)], block_size=2)
    for mode in ("REFLECT", "SYMMETRIC"):
        for t in types("MirrorPad"):
            case("MirrorPad", [data(t, [3, 2, 3]), pads(2, 1, 1, 0, 0, 2)], mode=mode)
        for t in types("MirrorPadGrad"):
            case("MirrorPadGrad", [data(t, [6, 3, 5]), pads(2, 1, 1, 0, 0, 2)], mode=mode, terms=16, rough=4)
        for s, p in (([3], [3, 0]), ([3], [4, 0]), ([3], [-1, 0]), ([3], [0, 0, 0, 0]), ([0, 2], [0, 0, 1, 1]),
                     ([1, 1, 1, 1, 1, 1], [0] * 12), ([], [])):
            case("MirrorPad", [data(F, s), pads(*p)], mode=mode)
            case("MirrorPadGrad", [data(F, s), pads(*p)], mode=mode)
        case("MirrorPad", [data(F, [3]), i32(1, 1)], mode=mode)
        case("MirrorPadGrad", [data(F, [3]), pads(1, 1)], mode=mode)
    for t in types("ExtractImagePatches"):
        case("ExtractImagePatches", [data(t, [1, 3, 4, 2])], ksizes=[1, 3, 2, 1], strides=[1, 2, 1, 1],
             rates=[1, 1, 2, 1], padding="SAME")
    good = dict(ksizes=[1, 2, 2, 1], strides=[1, 2, 2, 1], rates=[1, 1, 1, 1], padding="VALID")
    for b in ({}, dict(ksizes=[2, 2, 2, 1]), dict(strides=[1, 0, 1, 1]), dict(rates=[1, 0, 1, 1]),
              dict(strides=[1, 1, 1, 2]), dict(rates=[1, 9, 9, 1])):
        case("ExtractImagePatches", [data(F, [1, 4, 4, 2])], **dict(good, **b))
    case("ExtractImagePatches", [data(F, [4, 4, 2])], **good)


def resizes():
    sizes = ((3, 7), (5, 4), (2, 2), (1, 1), (9, 8))
    modes = ({}, dict(align_corners=True), dict(half_pixel_centers=True))
    for op in ("ResizeNearestNeighbor", "ResizeBilinear", "ResizeBicubic", "ResizeArea"):
        allowed = modes[:2] if op == "ResizeArea" else modes
        for t in types(op):
            for a in allowed:
                if t == F:
                    for h, w in sizes:
                        case(op, [data(t, [1, 5, 4, 2]), i32(h, w)], terms=20, **a)
                else:
                    case(op, [data(t, [1, 5, 4, 2]), i32(3, 7)], terms=20, **a)
        for s, size in (([5, 4, 2], [3, 3]), ([1, 5, 4, 0], [3, 3]), ([1, 0, 4, 1], [3, 3]), ([0, 5, 4, 1], [3, 3]),
                        ([1, 5, 4, 1], [3]), ([1, 5, 4, 1], [0, 3]), ([1, 5, 4, 1], [3, -1])):
            case(op, [data(F, s), i32(*size)])
        case(op, [data(F, [1, 5, 4, 1]), s32(3)])
        if op != "ResizeArea":
            case(op, [data(F, [1, 5, 4, 1]), i32(3, 3)], align_corners=True, half_pixel_centers=True)
    for op in ("ResizeBilinearGrad", "ResizeBicubicGrad"):
        for t in types(op):
            for a in modes:
                case(op, [data(F, [1, 3, 7, 2]), data(t, [1, 5, 4, 2])], terms=40, **a)
                case(op, [data(F, [1, 6, 2, 2]), data(t, [1, 4, 3, 2])], terms=40, **a)
        for a, b in (([3, 7, 2], [1, 5, 4, 2]), ([1, 0, 7, 2], [1, 5, 4, 2]), ([1, 3, 7, 2], [5, 4, 2]),
                     ([1, 3, 7, 2], [1, 0, 4, 2])):
            case(op, [data(F, a), data(F, b)])
    op = "ResizeNearestNeighborGrad"
    for t in types(op):
        for a in modes:
            case(op, [data(t, [1, 6, 7, 2], integer_high=9), i32(4, 3)], terms=40, **a)
    for s, size in (([6, 7, 2], [4, 3]), ([1, 6, 7, 2], [4]), ([1, 6, 7, 2], [0, 3]), ([1, 6, 7, 2], [-1, 3]),
                    ([0, 6, 7, 2], [4, 3])):
        case(op, [data(F, s), i32(*size)])
    boxes = tf.constant([[0, 0, 1, 1], [0.2, 0.3, 0.7, 0.9], [1, 1, 0, 0], [-0.5, 0, 1.5, 0.5]], F)
    which = i32(0, 1, 1, 0)
    for t in types("CropAndResize"):
        for method in ("bilinear", "nearest"):
            case("CropAndResize", [data(t, [2, 4, 5, 2]), boxes, which, i32(3, 4)], terms=16, method=method,
                 extrapolation_value=2.5)
    for t in types("CropAndResizeGradImage"):
        for method in ("bilinear", "nearest"):
            case("CropAndResizeGradImage", [data(F, [4, 3, 4, 2]), boxes, which, i32(2, 4, 5, 2)], terms=16, T=t,
                 method=method)
    for t in types("CropAndResizeGradBoxes"):
        case("CropAndResizeGradBoxes", [data(F, [4, 3, 4, 2]), data(t, [2, 4, 5, 2]), boxes, which],
             terms=2000 if t not in INTS else 40000)
    case("CropAndResize", [data(F, [2, 4, 5, 2]), boxes, which, i32(1, 1)], terms=8)
    case("CropAndResizeGradBoxes", [data(F, [4, 1, 1, 2]), data(F, [2, 4, 5, 2]), boxes, which], terms=200)
    im = data(F, [2, 4, 5, 2])
    for args in ((im[0], boxes, which, i32(3, 3)), (im, boxes[0], which, i32(3, 3)), (im, boxes[:, :3], which, i32(3, 3)),
                 (im, boxes, which[:2], i32(3, 3)), (im, boxes, i32(0, 2, 0, 0), i32(3, 3)),
                 (im, boxes, i32(0, -1, 0, 0), i32(3, 3)), (im, boxes, which, i32(3)), (im, boxes, which, i32(0, 3)),
                 (im, boxes, which, s32(3)), (data(F, [2, 0, 5, 2]), boxes, which, i32(3, 3)),
                 (im, boxes[:0], which[:0], i32(3, 3)), (im, boxes, tf.zeros([4, 1], tf.int32), i32(3, 3))):
        case("CropAndResize", list(args))
    gr = data(F, [4, 3, 4, 2])
    for args in ((gr[0], boxes, which, i32(2, 4, 5, 2)), (gr, boxes, which, i32(2, 4, 5)), (gr, boxes, which, i32(2, 4, 5, 3)),
                 (gr[:2], boxes, which, i32(2, 4, 5, 2)), (gr, boxes, which, i32(2, 0, 5, 2)),
                 (gr, boxes, i32(0, 3, 0, 0), i32(2, 4, 5, 2))):
        case("CropAndResizeGradImage", list(args), T=F)
    for args in ((gr[0], im, boxes, which), (gr, im[0], boxes, which), (gr[:, :, :, :1], im, boxes, which),
                 (gr[:2], im, boxes, which), (gr, im, boxes, i32(0, 3, 0, 0))):
        case("CropAndResizeGradBoxes", list(args))


def suppressions():
    n = 12
    c = g.rng.uniform(0, 3, [n, 2])
    size = g.rng.uniform(0.5, 2, [n, 2])
    corners = np.concatenate([c, c + size], 1)
    corners[3] = corners[3][[2, 3, 0, 1]]
    scores = np.round(g.rng.uniform(0, 1, [n]), 1)
    for t in (F, H):
        b, s = tf.constant(corners, t), tf.constant(scores, t)
        for limit in (0, 3, 20):
            for iou in (0.0, 0.3, 1.0):
                th = tf.constant(iou, t)
                if t == F:
                    case("NonMaxSuppression", [b, s, s32(limit)], iou_threshold=iou)
                case("NonMaxSuppressionV2", [b, s, s32(limit), th])
                case("NonMaxSuppressionV3", [b, s, s32(limit), th, tf.constant(0.4, t)])
                case("NonMaxSuppressionV4", [b, s, s32(limit), th, tf.constant(0.4, t)],
                     pad_to_max_output_size=limit == 20)
                for sigma in (0.0, 0.5):
                    case("NonMaxSuppressionV5", [b, s, s32(limit), th, tf.constant(0.2, t), tf.constant(sigma, t)],
                         pad_to_max_output_size=limit == 20)
    b, s, th = tf.constant(corners, F), tf.constant(scores, F), tf.constant(0.5)
    for args in ((b, s, i32(3), th), (b, s, s32(-1), th), (b[0], s, s32(3), th), (b[:, :3], s, s32(3), th),
                 (b, s[:5], s32(3), th), (b, b, s32(3), th), (b, s, s32(3), tf.constant(1.5)),
                 (b, s, s32(3), tf.constant([0.5])), (b[:0], s[:0], s32(3), th)):
        case("NonMaxSuppressionV2", list(args))
    case("NonMaxSuppression", [b, s, s32(3)], iou_threshold=-0.5)
    zero = tf.constant(0.0)
    case("NonMaxSuppressionV3", [b, s, s32(3), th, tf.constant([0.5])])
    case("NonMaxSuppressionV4", [b, s, s32(-3), th, zero], pad_to_max_output_size=True)
    case("NonMaxSuppressionV5", [b, s, s32(3), th, zero, tf.constant(-1.0)])
    case("NonMaxSuppressionV5", [b, s, s32(3), th, zero, tf.constant([1.0])])
    o = data(F, [n, n], 0, 1)
    for limit in (2, 20):
        case("NonMaxSuppressionWithOverlaps", [o, s, s32(limit), tf.constant(0.7), tf.constant(0.2)])
    case("NonMaxSuppressionWithOverlaps", [o[:3], s, s32(2), th, zero])
    case("NonMaxSuppressionWithOverlaps", [o[0], s, s32(2), th, zero])
    case("NonMaxSuppressionWithOverlaps", [o, s[:3], s32(2), th, zero])


def small():
    for t in (tf.int32, tf.int64):
        v = lambda *x: tf.constant(list(x), t)
        for a, b in (([2, 3], [2, 3]), ([2, 3], [3]), ([2, 1, 3], [4, 1]), ([1, 1], [1, 1]), ([1, 1], [1]), ([], [2, 3]),
                     ([1, 3], [2, 3]), ([2, 3], [2]), ([0, 1], [1, 5]), ([1], [])):
            case("BroadcastGradientArgs", [v(*a), v(*b)])
        case("BroadcastGradientArgs", [tf.constant(1, t), v(2)])
        case("ConcatOffset", [s32(1), [v(2, 3, 4), v(2, 5, 4), v(2, 0, 4)]])
        case("ConcatOffset", [s32(-1), [v(2, 3, 4), v(2, 3, 1)]])
    v = i32
    case("ConcatOffset", [s32(2), [v(2, 3), v(2, 5)]])
    case("ConcatOffset", [s32(-3), [v(2, 3), v(2, 5)]])
    case("ConcatOffset", [s32(0), [v(2, 3), v(2, 5)]])
    case("ConcatOffset", [s32(0), [v(2, 3), v(2, 5, 7)]])
    case("ConcatOffset", [v(0), [v(2, 3), v(2, 3)]])
    case("ConcatOffset", [s32(0), [s32(2), v(2, 3)]])
    shape = [3, 4, 5]
    for b, e, s, masks, dy in (
            ([0, 1, 0], [2, 3, 5], [1, 1, 2], {}, [2, 2, 3]), ([1], [3], [1], {}, [2, 4, 5]),
            ([-1, 0], [0, 4], [-1, 2], {}, [2, 2, 5]), ([0, 0], [0, 0], [1, -1], dict(begin_mask=3, end_mask=3), [3, 4, 5]),
            ([1, 0, -1], [2, 0, 0], [1, 1, 1], dict(ellipsis_mask=2, shrink_axis_mask=5), [4]),
            ([0, 1, 2, 0], [0, 2, 3, 0], [1, 1, 1, 1], dict(new_axis_mask=9), [1, 1, 1, 5, 1]),
            ([2], [1], [1], {}, [0, 4, 5]), ([], [], [], {}, [3, 4, 5]), ([0], [3], [0], {}, [3, 4, 5]),
            ([7], [8], [1], dict(shrink_axis_mask=1), [4, 5]), ([0], [2], [1], {}, [3, 4, 5]),
            ([0] * 4, [1] * 4, [1] * 4, {}, [1, 1, 1]), ([0, 0], [1, 1], [1, 1], dict(ellipsis_mask=3), [3, 4, 5])):
        for t in (F, tf.string) if dy == [2, 2, 3] else (F,):
            i = lambda x: tf.constant(x, tf.int32)
            case("StridedSliceGrad", [i(shape), i(b), i(e), i(s), data(t, dy)], **masks)
    case("StridedSliceGrad", [s32(3), i32(0), i32(1), i32(1), data(F, [1])])
    case("StridedSliceGrad", [i32(3), i32(0, 0), i32(1), i32(1), data(F, [1])])
    case("StridedSliceGrad", [i32(-3), i32(0), i32(1), i32(1), data(F, [1])])
    for t in (F, tf.int8, tf.string, tf.complex128, tf.bool):
        for lt in (tf.int32, tf.int64):
            case("ReverseSequence", [data(t, [3, 4, 2]), tf.constant([0, 4, 2], lt)], seq_dim=1)
            case("ReverseSequence", [data(t, [3, 4, 2]), tf.constant([3, 2], lt)], seq_dim=0, batch_dim=2)
    for lens, a in (([1, 2], dict(seq_dim=1)), ([1, 2, 5], dict(seq_dim=1)), ([1, 2, -1], dict(seq_dim=1)),
                    ([1, 2, 1], dict(seq_dim=0)), ([1, 2, 1], dict(seq_dim=3)), ([1, 2, 1], dict(seq_dim=1, batch_dim=3)),
                    ([1, 2, 1], dict(seq_dim=-1))):
        case("ReverseSequence", [data(F, [3, 4, 2]), tf.constant(lens, tf.int32)], **a)
    case("ReverseSequence", [data(F, [3, 4]), s32(1)], seq_dim=1)


def step(op, values, rest, **attrs):
    """An optimizer: |values| are the variables' before, |rest| the other inputs."""
    t = values[0].dtype
    variables = [tf.Variable(v) for v in values]
    known = dict(attrs, T=t)
    block = g.head("op", op, known) + [g.tensor_line("var", v) for v in values]
    block += [g.tensor_line("in", v) for v in rest]
    out = g.ask(op, [v.handle for v in variables] + rest, 0, known)
    if out is not None:
        g.lines.extend(block + g.told(out, variables))


def optimizers():
    for name, slots, before, after, flags in (
            ("GradientDescent", 1, [.1], [], [{}]),
            ("Momentum", 2, [.1], [.9], [dict(use_nesterov=False), dict(use_nesterov=True)]),
            ("KerasMomentum", 2, [.1], [.9], [dict(use_nesterov=False), dict(use_nesterov=True)]),
            ("Adam", 3, [.81, .9, .1, .9, .95, .01], [], [dict(use_nesterov=False), dict(use_nesterov=True)]),
            ("AdamWithAmsgrad", 4, [.81, .9, .1, .9, .95, .01], [], [{}]),
            ("Adagrad", 2, [.1], [], [dict(update_slots=False), dict(update_slots=True)]),
            ("AdagradV2", 2, [.1, .01], [], [dict(update_slots=False), dict(update_slots=True)]),
            ("RMSProp", 3, [.1, .9, .5, .01], [], [{}]),
            ("CenteredRMSProp", 4, [.1, .9, .5, .01], [], [{}]),
            ("Adadelta", 3, [.1, .9, .01], [], [{}]),
            ("AdaMax", 3, [.81, .1, .9, .95, .01], [], [{}]),
            ("Ftrl", 3, [], [.1, .05, .2, -.5], [dict(multiply_linear_by_lr=False), dict(multiply_linear_by_lr=True)]),
            ("FtrlV2", 3, [], [.1, .05, .2, .3, -.7], [dict(multiply_linear_by_lr=False), dict(multiply_linear_by_lr=True)]),
            ("FtrlV2", 3, [], [.1, .05, .2, .3, -.5], [{}])):
        op = "ResourceApply" + name
        for t in types(op):
            for a in flags:
                s = lambda v: tf.constant(v, t)
                values = [data(t, [2, 5])] + [data(t, [2, 5], 1.0, 3.0) for _ in range(slots - 1)]
                if name == "CenteredRMSProp":
                    values[1] = data(t, [2, 5], 0.0, 0.5)
                step(op, values, [s(v) for v in before] + [data(t, [2, 5])] + [s(v) for v in after], **a)
        s = lambda v: tf.constant(v, F)
        values = [data(F, [2], 1.) for _ in range(slots)]
        ok = [s(v) for v in before] + [data(F, [2])] + [s(v) for v in after]
        for i in range(len(ok)):
            wrong = list(ok)
            wrong[i] = data(F, [3])
            step(op, values, wrong)
        for i in range(1, slots):
            if (name, i) in (("AdamWithAmsgrad", 3), ("Adadelta", 2), ("CenteredRMSProp", 1)):
                continue  # not looked at, or told wrongly
            step(op, values[:i] + [data(F, [4])] + values[i + 1:], ok)
    f = [data(F, [2], 1.) for _ in range(3)]
    for scalars in ((-.1, .05, .2, -.5), (.1, -.05, .2, -.5), (.1, .05, -.2, -.5), (.1, .05, .2, .5), (0., .05, .2, -.5)):
        step("ResourceApplyFtrl", f, [data(F, [2])] + [tf.constant(v) for v in scalars])
        step("ResourceApplyFtrlV2", f, [data(F, [2])] + [tf.constant(v) for v in scalars[:3]] +
             [tf.constant(-1.0 if scalars[0] == 0 else 1.0), tf.constant(scalars[3])])


NETWORKS = [conv, conv3d, depthwise, pools, pools3d, norms, activations, losses, optimizers]
IMAGES = [dilations, spaces, resizes, suppressions, small]


def sensible(lines):
    """Without shapes that TensorFlow refuses, or decides on, only because it does not know them."""
    for block in re.split(r"\n(?=shape )", "\n".join(lines)):
        guessed = "SoftmaxCross" in block and "?" in block and "error" not in block
        if not guessed and not ("<unknown>" in block and "block_shape must have rank 1" in block):
            yield block


def main():
    if ONEDNN:
        onednn()
        sys.stdout.write("\n".join(g.lines))
        return
    for name, families in (("op_goldens_nn", NETWORKS), ("op_goldens_image", IMAGES)):
        for family in families:
            family()
        if families is NETWORKS:
            with tempfile.TemporaryFile("w+") as f:
                subprocess.run([sys.executable, os.path.abspath(__file__)], stdout=f, check=True,
                               env=dict(os.environ, GOLDENS_ONEDNN="1"))
                f.seek(0)
                g.lines.extend(f.read().split("\n"))
        g.write(name, g.lines)
        g.lines.clear()
    g.write("shape_goldens_nn", sensible(g.shape_lines))


if __name__ == "__main__":
    main()
