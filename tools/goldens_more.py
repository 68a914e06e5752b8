#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Writes tests/data/op_goldens_more.txt and shape_goldens_more.txt: ops of version 1 and rare ones.

Run with a Python that has TensorFlow:  /opt/tfvenv/bin/python tools/goldens_more.py [FAMILY…]
Helpers and the extra lines (keep, kept) are those of goldens_ragged.py. Ops that only old graphs may
hold are in goldens_coverage.py.
"""
import sys

import goldens_dtypes as d
import goldens_ragged as r
import numpy as np
import tensorflow as tf
from goldens_ragged import case, g, keep
from golden_case import cpu_types, data, i32, s32, special

STRIDES = {4: [1, 1, 1, 1], 5: [1, 1, 1, 1, 1]}


def whole(t, shape):
    """Small whole numbers: sums of products are exact in any order."""
    return tf.cast(data(tf.int32, shape, integer_high=3), t)


def conv():
    for t in cpu_types("Conv"):
        case("Conv", whole(t, [2, 4, 5, 2]), whole(t, [2, 3, 2, 3]), strides=[1, 2, 1, 1], padding="SAME")
        case("Conv", whole(t, [1, 2, 3, 3, 2]), whole(t, [2, 2, 2, 2, 3]), strides=STRIDES[5], padding="VALID")
    f = tf.float32
    x, k = whole(f, [2, 3, 4, 4, 2]), whole(f, [2, 2, 2, 3])
    for n in (1, 2, 0, -1, 3):
        case("Conv", x, k, strides=STRIDES[4], padding="VALID", batch_dims=n)
    x = whole(f, [2, 4, 4, 2])
    case("Conv", x[0], k, strides=STRIDES[4], padding="VALID", batch_dims=0)
    case("Conv", x, k, strides=STRIDES[4], padding="SAME", dilations=[1, 2, 2, 1])
    case("Conv", x, k, strides=STRIDES[4], padding="SAME", dilations=[1, 2, 1])
    case("Conv", x, k, strides=STRIDES[4], padding="SAME", dilations=[1, 0, 1, 1])
    case("Conv", x, k, strides=STRIDES[4], padding="SAME", dilations=[2, 1, 1, 1])
    case("Conv", x, k, strides=[1, 1, 1], padding="SAME")
    case("Conv", x, k, strides=[2, 1, 1, 1], padding="SAME")
    case("Conv", x, k, strides=[1, 0, 1, 1], padding="SAME")
    case("Conv", x, k, strides=STRIDES[5], padding="SAME")
    case("Conv", x, k, strides=STRIDES[4], padding="SAME", groups=2)
    case("Conv", x, whole(f, [2, 2, 1, 3]), strides=STRIDES[4], padding="SAME")
    case("Conv", x, whole(f, [2, 2, 2]), strides=STRIDES[4], padding="SAME")
    case("Conv", x, k, strides=STRIDES[4], padding="EXPLICIT", explicit_paddings=[0, 0, 1, 0, 2, 1, 0, 0])
    case("Conv", x, k, strides=STRIDES[4], padding="EXPLICIT", explicit_paddings=[0, 0, 1, 0, 2, 1])
    case("Conv", x[:0], k, strides=STRIDES[4], padding="VALID")


def fused_pads():
    # One image: of several, TensorFlow pads all but the first wrongly.
    k = whole(tf.float32, [2, 2, 2, 3])
    for t in cpu_types("FusedPadConv2D"):
        for mode in ("REFLECT", "SYMMETRIC"):
            case("FusedPadConv2D", whole(t, [1, 3, 4, 2]), tf.constant([[0, 0], [1, 2], [2, 1], [0, 0]]),
                 tf.cast(k, t), mode=mode, strides=[1, 1, 2, 1], padding="SAME")
    x = whole(tf.float32, [1, 3, 3, 2])
    for pads in ([[0, 0], [3, 0], [0, 0], [0, 0]], [[0, 0], [4, 0], [0, 0], [0, 0]], [[0, 0], [-1, 0], [0, 0], [0, 0]],
                 [[0, 0], [1, 1], [1, 1]], [[0, 0, 0, 0]]):
        for mode in ("REFLECT", "SYMMETRIC"):
            case("FusedPadConv2D", x, tf.constant(pads), k, mode=mode, strides=STRIDES[4], padding="VALID")
    case("FusedPadConv2D", x, tf.constant([[0, 0]] * 4), k[:, :, :1], mode="REFLECT", strides=STRIDES[4], padding="VALID")
    for t in cpu_types("FusedResizeAndPadConv2D"):
        # (half: TensorFlow's vector code rounds some steps of the interpolation less often)
        for corners in (False, True) if t != tf.half else (True,):
            case("FusedResizeAndPadConv2D", whole(t, [1, 3, 4, 2]), i32(5, 3), tf.constant([[0, 0], [1, 2], [2, 1], [0, 0]]),
                 tf.cast(k, t), mode="SYMMETRIC", strides=[1, 1, 2, 1], padding="SAME", resize_align_corners=corners)
    pads = tf.constant([[0, 0]] * 4)
    for size in (i32(0, 3), i32(3), tf.constant([[3, 3]])):
        case("FusedResizeAndPadConv2D", x, size, pads, k, mode="REFLECT", strides=STRIDES[4], padding="VALID")


def summaries():
    for t in cpu_types("DebugNumericSummaryV2"):
        x = data(t, [2, 3])
        for out in (tf.float32, tf.float64):
            for mode in (2, 3, 4, 5, 8):
                case("DebugNumericSummaryV2", x, output_dtype=out, tensor_debug_mode=mode, tensor_id=7)
    for mode in (2, 3, 4, 5, 8, 1, 6, -1):
        case("DebugNumericSummaryV2", special(tf.float32), output_dtype=tf.float32, tensor_debug_mode=mode)
        case("DebugNumericSummaryV2", data(tf.half, [1, 2, 1, 2, 1, 1, 1]), output_dtype=tf.float32, tensor_debug_mode=mode)
        case("DebugNumericSummaryV2", data(tf.float64, [0, 2]), output_dtype=tf.float32, tensor_debug_mode=mode)
        case("DebugNumericSummaryV2", tf.constant(3.), output_dtype=tf.float32, tensor_debug_mode=mode)
    x = special(tf.float32)
    case("DebugIdentityV2", x)
    case("DebugGradientIdentity", x)
    case("IsTensorFloat32Enabled")
    for x in (3., 0., np.nan, -0.0, 2, 0, True, False, "", "a", [0], [], [[]], 1 + 0j):
        case("ToBool", tf.constant(x))
    for t in (tf.half, tf.bfloat16, tf.int8, tf.uint8, tf.int16, tf.uint16, tf.uint32, tf.int64, tf.uint64):
        case("ToBool", tf.constant(1, t))
        case("ToBool", tf.constant(0, t))


def regressions():
    pairs = [(tf.int32, tf.float64), (tf.int64, tf.float64), (tf.int8, tf.float32), (tf.int16, tf.float32),
             (tf.float64, tf.float64), (tf.float32, tf.float32), (tf.bfloat16, tf.bfloat16), (tf.half, tf.half)]
    for t, out in pairs:
        for shape in ([2, 6], [5], [], [2, 0], [0, 2], [2, 2, 3]):
            case("IsotonicRegression", data(t, shape), outputs=2, output_dtype=out)
    case("IsotonicRegression", tf.constant([1., 2., 3., 2., 2., 4.]), outputs=2, output_dtype=tf.float32)
    case("IsotonicRegression", tf.constant([4., 4., 1., 1.]), outputs=2, output_dtype=tf.float32)
    for t in cpu_types("ApproxTopK"):
        if t in (tf.float32, tf.half, tf.bfloat16):
            for k in (0, 1, 3, 6, 7):
                case("ApproxTopK", data(t, [2, 6]), outputs=2, k=k)
    case("ApproxTopK", data(tf.float32, []), outputs=2, k=1)
    case("ApproxTopK", data(tf.float32, [2, 2, 3]), outputs=2, k=2, recall_target=0.5)
    p, c = tf.constant([[1., 2.], [3, 4], [0, 0]]), tf.constant([[0., 0.], [3, 3], [1, 2], [1, 2]])
    for k in (1, 2, 4, 9, 0):
        case("NearestNeighbors", p, c, tf.constant(k, tf.int64), outputs=2)
    case("NearestNeighbors", p, c[0], tf.constant(1, tf.int64), outputs=2)
    case("NearestNeighbors", p[0], c, tf.constant(1, tf.int64), outputs=2)
    case("NearestNeighbors", p, c[:, :1], tf.constant(1, tf.int64), outputs=2)
    case("NearestNeighbors", p, c, tf.constant([1], tf.int64), outputs=2)
    case("NearestNeighbors", p[:0], c, tf.constant(1, tf.int64), outputs=2)


def composites():
    def parts():
        return [tf.constant([1., 2.]), tf.constant(["a"]), s32(5)]
    types = [tf.float32, tf.string, tf.int32]
    kw = dict(metadata="")
    for wanted, n in ((types, 3), (types[:2], 2), ([tf.float32, tf.int32, tf.int32], 3)):
        (v,) = keep("CompositeTensorVariantFromComponents", parts(), Tcomponents=types, **kw)
        case("CompositeTensorVariantToComponents", v, outputs=n, Tcomponents=wanted, **kw)


def assigns():
    for op in ("AssignAddVariableOp", "AssignSubVariableOp", "AssignVariableOp"):
        for t in d.types(op, "dtype"):
            if t in d.INTS + d.REAL + d.COMPLEX + [tf.string, tf.bool] + d.QUANTIZED + d.F8 + d.I4:
                more = dict(validate_shape=False) if op == "AssignVariableOp" else {}
                d.step(op, d.any_data(t, [2]), [d.any_data(t, [2])], **more)


FAMILIES = {f.__name__: f for f in (conv, fused_pads, summaries, regressions, composites, assigns)}

if __name__ == "__main__":
    g.rng.seed(31)
    r.write("more", FAMILIES, [f for f in sys.argv[1:] if f in FAMILIES])
