#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Writes tests/data/op_goldens_quant.txt and shape_goldens_quant.txt: TensorFlow's answers for quantization and
quantized arithmetic.

Run with a Python that has TensorFlow:  /opt/tfvenv/bin/python tools/goldens_quant.py
In the language of golden_case.py, and goldens_nn.py's terms and rough.
"""
import os

os.environ["TF_ENABLE_ONEDNN_OPTS"] = "0"
import golden_case as g

import numpy as np
import tensorflow as tf

QTYPES = {tf.qint8: np.int8, tf.quint8: np.uint8, tf.qint16: np.int16, tf.quint16: np.uint16, tf.qint32: np.int32}
for q in QTYPES:
    g.NAMES[q] = q.name
from golden_case import data, i32, s32
from goldens_nn import case, types

infer = g.infer
g.infer = lambda op, *rest: None if op.startswith("_") else infer(op, *rest)
g.rng.seed(41)
rng = g.rng
F, D = tf.float32, tf.float64


def f(v):
    return tf.constant(v, F)


def q(t, shape, low=None, high=None):
    info = np.iinfo(QTYPES[t])
    a = rng.randint(info.min if low is None else low, (info.max if high is None else high) + 1, shape, dtype=np.int64)
    a = np.asarray(a, np.int64)
    flat = a.reshape(-1)
    if low is None and flat.size > 2:
        flat[0], flat[1] = info.min, info.max
    base = {np.int8: tf.int8, np.uint8: tf.uint8, np.int16: tf.int16, np.uint16: tf.uint16, np.int32: tf.int32}
    return tf.bitcast(tf.constant(flat.reshape(shape).astype(QTYPES[t]), base[QTYPES[t]]), t)


def quantize():
    x = tf.constant([[-3.7, -1, -.5, 0, .25], [.5, 1, 2.49, 3.9, 100]], F)
    for t in QTYPES:
        for mode in ("MIN_COMBINED", "MIN_FIRST", "SCALED"):
            for lo, hi in ((-1., 1.), (0., 4.), (-4., 0.), (-2., 6.), (1., 3.), (0., 0.), (-3., -1.)):
                if t == tf.qint32 and mode != "SCALED" and (lo, hi) != (-1., 1.):
                    continue
                case("QuantizeV2", [x, f(lo), f(hi)], T=t, mode=mode)
        for kw in (dict(round_mode="HALF_TO_EVEN"), dict(narrow_range=True), dict(ensure_minimum_range=.5)):
            case("QuantizeV2", [x, f(-1.), f(1.)], T=t, mode="SCALED", **kw)
        for mode in ("MIN_COMBINED", "SCALED"):
            case("QuantizeV2", [x, f([-1., -2]), f([1., 6])], T=t, mode=mode, axis=0)
            case("QuantizeV2", [x, f([-1., -2, 0, 0, -3]), f([1., 6, 1, 2, 4])], T=t, mode=mode, axis=1)
            case("Dequantize", [q(t, [2, 3]), f([-1., -2]), f([1., 6])], mode=mode, axis=0)
            case("Dequantize", [q(t, [2, 3, 2]), f([-1., -2, 0]), f([1., 6, 1])], mode=mode, axis=1, narrow_range=True)
        for mode in ("MIN_COMBINED", "MIN_FIRST", "SCALED"):
            for lo, hi in ((-1., 1.), (0., 4.), (-2., 6.), (1., 3.), (2., 2.)):
                case("Dequantize", [q(t, [3, 4]), f(lo), f(hi)], mode=mode)
            case("Dequantize", [q(t, [5]), f(-1.), f(1.)], mode=mode, dtype=tf.bfloat16)
        case("Dequantize", [q(t, [5]), f(-1.), f(1.)], mode="SCALED", narrow_range=True)
    case("QuantizeV2", [tf.zeros([0, 2]), f(-1.), f(1.)], T=tf.quint8)
    case("QuantizeV2", [f(1.), f(-1.), f(1.)], T=tf.quint8)
    case("QuantizeV2", [x, f(1.), f(-1.)], T=tf.quint8)
    case("QuantizeV2", [x, f([1., 2]), f([2., 3])], T=tf.quint8)
    case("QuantizeV2", [x, f(-1.), f(1.)], T=tf.quint8, axis=0)
    case("QuantizeV2", [x, f([-1.]), f([1.])], T=tf.quint8, axis=0)
    case("QuantizeV2", [x, f([-1., -1]), f([1.])], T=tf.quint8, axis=0)
    case("QuantizeV2", [x, f([-1., -1]), f([1., 1])], T=tf.quint8, axis=2)
    case("QuantizeV2", [x, f([-1., -1]), f([1., 1])], T=tf.quint8, axis=0, mode="MIN_FIRST")
    case("QuantizeV2", [x, f(-1.), f(1.)], T=tf.quint8, round_mode="HALF_TO_EVEN")
    y = q(tf.quint8, [2, 3])
    case("Dequantize", [y, f([-1., 0]), f([1., 1])])
    case("Dequantize", [y, f([-1.]), f([1.])], axis=0)
    case("Dequantize", [y, f([-1., 0]), f([1.])], axis=0)
    case("Dequantize", [y, f([-1., -1]), f([1., 1])], axis=2)
    case("Dequantize", [y, f([-1., -1]), f([1., 1])], axis=0, mode="MIN_FIRST")
    case("Dequantize", [y[:0], f(-1.), f(1.)])


def both_ways():
    for t in (F, D):
        x = data(t, [2, 5], -3, 3)
        c = lambda v: tf.constant(v, t)
        for signed in (True, False):
            for bits in (2, 8, 16):
                for given in (True, False):
                    for kw in (dict(), dict(narrow_range=True), dict(round_mode="HALF_UP")):
                        case("QuantizeAndDequantizeV2", [x, c(-1.), c(2.)], signed_input=signed, num_bits=bits,
                             range_given=given, **kw)
                    case("QuantizeAndDequantizeV3", [x, c(-1.), c(2.), s32(bits)], signed_input=signed, range_given=given)
                    case("QuantizeAndDequantizeV4", [x, c(-2.), c(1.)], signed_input=signed, num_bits=bits,
                         range_given=given)
        for op in ("QuantizeAndDequantizeV2", "QuantizeAndDequantizeV4"):
            for given in (True, False):
                case(op, [x, c([-1., -2]), c([2., 1])], axis=0, range_given=given)
                case(op, [x, c([-1., -2, -1, -1, -.5]), c([2., 1, 1, 2, 3])], axis=1, range_given=given, narrow_range=True)
        case("QuantizeAndDequantizeV3", [x, c([-1., -2]), c([2., 1]), s32(4)], axis=0)
        case("QuantizeAndDequantizeV4Grad", [data(t, [2, 5]), x, c(-1.), c(2.)])
        case("QuantizeAndDequantizeV4Grad", [data(t, [2, 5]), x, c([-1., 0]), c([2., 1])], axis=0)
        case("QuantizeAndDequantizeV4Grad", [data(t, [2, 5]), x, c([-1.] * 5), c([2.] * 5)], axis=1)
    x = data(F, [2, 3])
    for op in ("QuantizeAndDequantizeV2", "QuantizeAndDequantizeV4"):
        case(op, [x, f(1.), f(-1.)], range_given=True)
        case(op, [x, f(-1.), f(1.)], num_bits=0)
        case(op, [x, f(-1.), f(1.)], num_bits=63)
        case(op, [x, f(-1.), f(1.)], num_bits=62, signed_input=False)
        case(op, [x, f(-1.), f(1.)], axis=-2)
        case(op, [x, f([-1.]), f([1.])], axis=2)
        case(op, [x, f([-1.]), f([1.])], axis=0, range_given=True)
        case(op, [x, f([-1., -1]), f([1.])], axis=0, range_given=True)
        case(op, [x, f(0.), f(0.)], range_given=True)
        case(op, [x[:0], f(-1.), f(1.)], range_given=True)
    case("QuantizeAndDequantizeV3", [x, f(1.), f(-1.), s32(8)])
    case("QuantizeAndDequantizeV3", [x, f(-1.), f(1.), s32(0)])
    case("QuantizeAndDequantizeV3", [x, f(-1.), f(1.), i32(8, 8)])
    case("QuantizeAndDequantizeV3", [x, f([-1.]), f([1.]), s32(8)], axis=2)
    case("QuantizeAndDequantizeV4Grad", [x[0], x, f(-1.), f(1.)])
    case("QuantizeAndDequantizeV4Grad", [x, x, f([-1.]), f([1.])])
    case("QuantizeAndDequantizeV4Grad", [x, x, f([-1.]), f([1.])], axis=0)
    case("QuantizeAndDequantizeV4Grad", [x, x, f([-1.]), f([1.])], axis=2)


def fake():
    x, gr = data(F, [3, 5], -8, 8), data(F, [3, 5])
    for lo, hi in ((-6., 6.), (0., 1.), (-1., 0.), (2., 5.), (-5., -2.), (-.1, 7.3)):
        for bits in (2, 8, 16):
            for narrow in (False, True):
                kw = dict(num_bits=bits, narrow_range=narrow)
                case("FakeQuantWithMinMaxArgs", [x], min=lo, max=hi, **kw)
                case("FakeQuantWithMinMaxVars", [x, f(lo), f(hi)], **kw)
        case("FakeQuantWithMinMaxArgsGradient", [gr, x], min=lo, max=hi)
        case("FakeQuantWithMinMaxVarsGradient", [gr, x, f(lo), f(hi)], terms=2)
    mins, maxs = f([-6., 0, -1, -.3, 2]), f([6., 1, 0, 4.4, 5])
    for s in ([5], [3, 5], [2, 2, 5], [2, 1, 2, 5]):
        for kw in (dict(), dict(num_bits=4, narrow_range=True)):
            case("FakeQuantWithMinMaxVarsPerChannel", [data(F, s, -8, 8), mins, maxs], **kw)
            case("FakeQuantWithMinMaxVarsPerChannelGradient", [data(F, s), data(F, s, -8, 8), mins, maxs], terms=2, **kw)
    case("FakeQuantWithMinMaxVars", [x, f(0.), f(0.)])
    case("FakeQuantWithMinMaxVarsGradient", [gr, x, f(0.), f(0.)])
    case("FakeQuantWithMinMaxVars", [x[:0], f(-1.), f(1.)])
    for op in ("FakeQuantWithMinMaxArgs",):
        case(op, [x], min=1., max=0.)
        case(op, [x], num_bits=1)
        case(op, [x], num_bits=17)
    case("FakeQuantWithMinMaxVars", [x, f(0.), f(1.)], num_bits=1)
    case("FakeQuantWithMinMaxVars", [x, f([0.]), f(1.)])
    case("FakeQuantWithMinMaxVars", [x, f(0.), f([1.])])
    case("FakeQuantWithMinMaxVarsGradient", [gr[:2], x, f(0.), f(1.)])
    case("FakeQuantWithMinMaxVarsGradient", [gr, x, f([0.]), f(1.)])
    case("FakeQuantWithMinMaxArgsGradient", [gr[:2], x])
    case("FakeQuantWithMinMaxVarsPerChannel", [x, f([0., 0]), f([1., 1])])
    case("FakeQuantWithMinMaxVarsPerChannel", [x, f(0.), f(1.)])
    case("FakeQuantWithMinMaxVarsPerChannelGradient", [gr, x, f([0., 0]), f([1., 1])])


def requantize():
    big = (-2.**31, 2.**31)
    for lo, hi in (big, (-1., 1.), (-1000., 5000.), (0., 10.)):
        for x in (q(tf.qint32, [2, 3]), q(tf.qint32, [4], -1000, 1000000), q(tf.qint32, [3], 5, 900), q(tf.qint32, [0])):
            if x.shape[0]:
                case("QuantizeDownAndShrinkRange", [x, f(lo), f(hi)], out_type=tf.quint8)
                case("RequantizationRange", [x, f(lo), f(hi)])
            for olo, ohi in ((0., 255.), (-1., 1.), (-200., 1000.), (0., 0.)):
                for t in (tf.quint8, tf.qint8):
                    case("Requantize", [x, f(lo), f(hi), f(olo), f(ohi)], out_type=t)
    x = q(tf.qint32, [4])
    case("Requantize", [x, f(-1.), f(1.), f(1.), f(2.)], out_type=tf.quint8)
    case("Requantize", [x, f(-1.), f(1.), f(-1.), f(-2.)], out_type=tf.quint8)
    case("Requantize", [x, f([-1., 1]), f(1.), f(-1.), f(2.)], out_type=tf.quint8)
    case("Requantize", [x, f(-1.), f([]), f(-1.), f(2.)], out_type=tf.quint8)
    case("QuantizeDownAndShrinkRange", [x, f([]), f(1.)], out_type=tf.quint8)
    case("QuantizeDownAndShrinkRange", [x, f(0.), f([1., 2])], out_type=tf.quint8)
    case("RequantizationRange", [x, f([]), f(1.)])


def arithmetic():
    U, I, W = tf.quint8, tf.qint8, tf.qint32
    r = [f(-1.), f(1.)]
    s = [f(0.), f(6.)]
    for ta in (False, True):
        for tb in (False, True):
            a, b = q(U, [5, 3] if ta else [3, 5]), q(U, [4, 5] if tb else [5, 4])
            case("QuantizedMatMul", [a, b] + r + s, Toutput=W, transpose_a=ta, transpose_b=tb)
    case("QuantizedMatMul", [q(U, [2, 3]), q(U, [3, 2])] + s + r, Toutput=W)
    case("QuantizedMatMul", [q(U, [2, 3]), q(U, [2, 2])] + s + r, Toutput=W)
    case("QuantizedMatMul", [q(U, [3]), q(U, [3, 2])] + s + r, Toutput=W)
    case("QuantizedMatMul", [q(U, [2, 3]), q(U, [3])] + s + r, Toutput=W)
    case("QuantizedMatMul", [q(U, [2, 3]), q(U, [3, 2]), f(1.), f(1.)] + r, Toutput=W)
    case("QuantizedMatMul", [q(U, [2, 3]), q(U, [3, 2])] + r + [f(1.), f(0.)], Toutput=W)
    for op in ("QuantizedAdd", "QuantizedMul"):
        for x, y in (([4], [4]), ([3, 4], [4]), ([4], [2, 3, 4]), ([2, 3], []), ([], [2, 3]), ([1], [5]), ([0], [0])):
            case(op, [q(U, x), q(U, y)] + r + s, Toutput=W)
            case(op, [q(U, x), q(U, y)] + s + [f(-3.), f(9.)], Toutput=W)
        case(op, [q(U, [2]), q(U, [3])] + r + s, Toutput=W)
        case(op, [q(U, [2]), q(U, [2]), f(1.), f(1.)] + r, Toutput=W)
        case(op, [q(U, [2]), q(U, [2])] + r + [f(1.), f(1.)], Toutput=W)
        case(op, [q(U, [2]), q(U, [2]), f([1.]), f(1.)] + r, Toutput=W)
    for t in (U, I):
        for lo in ([2, 3], [2, 2, 3]):
            case("QuantizedBiasAdd", [q(t, lo), q(t, [3])] + r + s, out_type=W)
            case("QuantizedBiasAdd", [q(t, lo), q(t, [3])] + s + [f(-5.), f(2.)], out_type=W)
    case("QuantizedBiasAdd", [q(U, [3]), q(U, [3])] + r + s, out_type=W)
    case("QuantizedBiasAdd", [q(U, [2, 3]), q(U, [2])] + r + s, out_type=W)
    case("QuantizedBiasAdd", [q(U, [2, 3]), q(U, [3, 1])] + r + s, out_type=W)
    case("QuantizedBiasAdd", [q(U, [2, 0]), q(U, [0])] + r + s, out_type=W)
    case("QuantizedBiasAdd", [q(U, [2, 3]), q(U, [3]), f([1.])] + r + [f(1.)], out_type=W)
    for t in (U, W):
        for lo, hi in ((-1., 1.), (-10., 10.), (2., 8.), (-8., -2.)):
            case("QuantizedRelu", [q(t, [2, 5]), f(lo), f(hi)], out_type=t)
            case("QuantizedRelu6", [q(t, [2, 5]), f(lo), f(hi)], out_type=t)
            case("QuantizedReluX", [q(t, [2, 5]), f(3.), f(lo), f(hi)], out_type=t)
        case("QuantizedConcat", [s32(0), [q(t, [2, 3]), q(t, [1, 3])], [f(-1.), f(0.)], [f(1.), f(6.)]])
        case("QuantizedConcat", [s32(1), [q(t, [2, 3]), q(t, [2, 1])], [f(0.), f(0.)], [f(6.), f(6.)]])
        case("QuantizedReshape", [q(t, [2, 3]), i32(3, -1), f(-1.), f(1.)])
        case("QuantizedReshape", [q(t, [2, 3]), i32(4), f(-1.), f(1.)])
        case("QuantizedReshape", [q(t, [2, 3]), i32(6), f([-1., 0]), f([1.])])
    case("QuantizedRelu", [q(U, [2]), f([1.]), f(2.)], out_type=U)
    case("QuantizedRelu6", [q(U, [2]), f(1.), f([2.])], out_type=U)
    case("QuantizedConcat", [s32(2), [q(U, [2, 3]), q(U, [1, 3])], [f(-1.), f(0.)], [f(1.), f(6.)]])
    case("QuantizedConcat", [s32(-1), [q(U, [2, 3]), q(U, [1, 3])], [f(-1.), f(0.)], [f(1.), f(6.)]])
    case("QuantizedConcat", [s32(0), [q(U, [2, 3]), q(U, [1, 2])], [f(-1.), f(0.)], [f(1.), f(6.)]])
    case("QuantizedConcat", [s32(0), [q(U, [2, 3]), q(U, [3])], [f(-1.), f(0.)], [f(1.), f(6.)]])
    one = [1, 1, 1, 1]
    for t in (U, I):
        if t == U:
            for filt in (U,):  # the kernel for qint8 filters is empty without oneDNN
                for pad in ("SAME", "VALID"):
                    for stride in (1, 2, 3):
                        case("QuantizedConv2D", [q(U, [1, 6, 7, 2]), q(filt, [3, 2, 2, 3])] + r + s, out_type=W,
                             strides=[1, stride, stride, 1], padding=pad)
        for pad in ("SAME", "VALID"):
            for stride in (1, 2):
                for op in ("QuantizedMaxPool", "QuantizedAvgPool"):
                    case(op, [q(t, [2, 5, 6, 3])] + r, ksize=[1, 2, 3, 1], strides=[1, stride, stride, 1], padding=pad)
    x, w = q(U, [1, 4, 4, 2]), q(U, [2, 2, 2, 3])
    case("QuantizedConv2D", [x, w] + s + s, out_type=W, strides=one, padding="SAME")
    case("QuantizedConv2D", [x[0], w] + r + r, out_type=W, strides=one, padding="SAME")
    case("QuantizedConv2D", [x, w[0]] + r + r, out_type=W, strides=one, padding="SAME")
    case("QuantizedConv2D", [x, w] + r + r, out_type=W, strides=[1, 1, 2, 1], padding="SAME")
    case("QuantizedConv2D", [x, w] + r + r, out_type=W, strides=[2, 1, 1, 1], padding="SAME")
    case("QuantizedConv2D", [x, w] + r + r, out_type=W, strides=one, padding="SAME", dilations=[1, 2, 2, 1])
    case("QuantizedConv2D", [x, q(U, [2, 2, 3, 3])] + r + r, out_type=W, strides=one, padding="SAME")
    case("QuantizedConv2D", [x, w, f([1.])] + r + [f(1.)], out_type=W, strides=one, padding="SAME")
    case("QuantizedMaxPool", [x[0]] + r, ksize=one, strides=one, padding="SAME")
    case("QuantizedAvgPool", [x] + [f([1.]), f(1.)], ksize=one, strides=one, padding="SAME")
    case("QuantizedMaxPool", [x] + [f([1.]), f(1.)], ksize=one, strides=one, padding="SAME")


def fused():
    acts = ["Relu", "Relu6", "Elu", "LeakyRelu", "Tanh", "Sigmoid"]
    for t in (F, tf.bfloat16, tf.half):
        a, b, c = data(t, [3, 4]), data(t, [4, 5]), data(t, [5])
        for act in [[]] + [[x] for x in acts]:
            case("_FusedMatMul", [a, b, [c]], fused_ops=["BiasAdd"] + act, terms=40, rough=8)
    case("_FusedMatMul", [data(F, [4, 3]), data(F, [5, 4]), [data(F, [5])]], fused_ops=["BiasAdd", "Relu"],
         transpose_a=True, transpose_b=True, terms=40)
    for t in (F, D):
        x, w, bias = data(t, [1, 4, 5, 2]), data(t, [2, 2, 2, 3]), data(t, [3])
        for act in [[]] + [[y] for y in acts[:4]]:
            case("_FusedConv2D", [x, w, [bias]], fused_ops=["BiasAdd"] + act, num_args=1, num_host_args=0, TArgs=[t],
                 strides=[1, 1, 1, 1], padding="SAME", terms=40)
            norm = [data(t, [3], .5, 2), data(t, [3]), data(t, [3]), data(t, [3], .5, 2)]
            case("_FusedConv2D", [x, w, norm], fused_ops=["FusedBatchNorm"] + act, num_args=4, num_host_args=0,
                 TArgs=[t] * 4, strides=[1, 2, 2, 1], padding="VALID", terms=60, epsilon=.01)


def uniform():
    I, W = tf.qint8, tf.qint32
    x = data(F, [3, 4], -40, 40)

    def lim(*names):
        return {k: v for n in names for k, v in ((n + "quantization_min_val", -128), (n + "quantization_max_val", 127))}
    for t in (I, tf.quint8, W):
        for sc, z in ((.3, 0), (.05, 7), (2., -3)):
            case("UniformQuantize", [x, f(sc), s32(z)], Tout=t, **lim(""))
            case("UniformDequantize", [q(t, [3, 4]), f(sc), s32(z)], Tout=F, **lim(""))
        for axis, n in ((0, 3), (1, 4)):
            sc, z = data(F, [n], .1, 2), data(tf.int32, [n], integer_high=20)
            case("UniformQuantize", [x, sc, z], Tout=t, quantization_axis=axis, **lim(""))
            case("UniformDequantize", [q(t, [3, 4]), sc, z], Tout=F, quantization_axis=axis, **lim(""))
    for t in (I, W):
        for sc, so in ((.3, .5), (.5, .3), (1e-4, 3.)):
            case("UniformRequantize", [q(t, [3, 4]), f(sc), s32(3), f(so), s32(-5)], Tout=I, **lim("input_", "output_"))
        sc, z = data(F, [4], .1, 2), data(tf.int32, [4], integer_high=20)
        part = q(t, [3, 4], -100, 100)
        case("UniformRequantize", [part, sc, z, f(.4), s32(2)], Tout=I, input_quantization_axis=1,
             **lim("input_", "output_"))
        case("UniformRequantize", [part, f(.4), s32(2), sc, z], Tout=I, output_quantization_axis=1,
             **lim("input_", "output_"))
        case("UniformRequantize", [part, sc, z, sc + .1, z], Tout=I, output_quantization_axis=1,
             input_quantization_axis=1, **lim("input_", "output_"))
    wide = dict(output_quantization_min_val=-2147483648, output_quantization_max_val=2147483647)
    one = lambda v, z: [f(v), s32(z)]
    a, b = q(I, [3, 5]), q(I, [5, 4])
    case("UniformQuantizedDot", [a, b] + one(.5, 3) + one(.2, -4) + one(.1, 9), Tout=W, **lim("lhs_", "rhs_"), **wide)
    sc, z = data(F, [4], .1, 2), data(tf.int32, [4], integer_high=20)
    case("UniformQuantizedDot", [a, b] + one(.5, 3) + [sc, z] + one(.1, 9), Tout=W, rhs_quantization_axis=1,
         **lim("lhs_", "rhs_"), **wide)
    case("UniformQuantizedDot", [a, b] + one(.5, 3) + [sc, z] + [sc, z], Tout=W, rhs_quantization_axis=1,
         output_quantization_axis=1, **lim("lhs_", "rhs_"), **wide)
    case("UniformQuantizedDot", [a, b[0]] + one(.5, 3) + one(.2, -4) + one(.1, 9), Tout=W, **lim("lhs_", "rhs_"), **wide)
    case("UniformQuantizedDot", [a, a] + one(.5, 3) + one(.2, -4) + one(.1, 9), Tout=W, **lim("lhs_", "rhs_"), **wide)
    case("UniformQuantizedDotHybrid", [data(F, [3, 5]), b] + one(.2, -4), Tout=F, **lim("rhs_"))
    case("UniformQuantizedDotHybrid", [data(F, [3, 5], 1, 2), b, sc, z], Tout=F, rhs_quantization_axis=1, **lim("rhs_"))
    case("UniformQuantizedDotHybrid", [tf.zeros([2, 5]), b] + one(.2, -4), Tout=F, **lim("rhs_"))
    big = lambda *s: q(W, list(s), -100000, 100000)
    for s, t in (([3, 4], [3, 4]), ([3, 4], [4]), ([4], [2, 3, 4]), ([3, 4], [])):
        case("UniformQuantizedAdd", [big(*s), big(*t)] + one(.5, 3) + one(.2, -4) + one(.7, 9), **lim("lhs_", "rhs_"), **wide)
    case("UniformQuantizedClipByValue", [big(3, 4), q(W, [], -50000, 0), q(W, [], 1, 50000)] + one(.5, 3), quantization_min_val=-2147483648,
         quantization_max_val=2147483647)
    case("UniformQuantizedClipByValue", [big(3, 4), q(W, [4], -50000, 0), q(W, [4], 1, 50000), sc, z], quantization_axis=1,
         quantization_min_val=-2147483648, quantization_max_val=2147483647)


def moved():
    """Ops that only move or compare elements, for every quantized type."""
    plain = {tf.qint8: tf.int8, tf.quint8: tf.uint8, tf.qint16: tf.int16, tf.quint16: tf.uint16, tf.qint32: tf.int32}
    for t, p in plain.items():
        x = q(t, [2, 3])
        case("Identity", [x])
        case("Reshape", [x, i32(3, 2)])
        case("ConcatV2", [[x, x], s32(1)], Tidx=tf.int32)
        case("Pack", [[x, x]], axis=1)
        case("GatherV2", [x, i32(1, 0), s32(0)])
        case("Slice", [x, i32(0, 1), i32(2, 1)])
        case("Split", [s32(1), x], 3, num_split=3)
        case("ExpandDims", [x, s32(0)])
        case("Squeeze", [q(t, [1, 3])])
        case("Bitcast", [x], type=p)
        case("Pad", [x, tf.constant([[1, 0], [0, 1]])])
        case("Fill", [i32(2, 2), q(t, [])])
        case("Equal", [x, q(t, [2, 3])])
        case("Shape", [x], out_type=tf.int32)
        for d in (F, tf.int32, tf.int64, p):
            case("Cast", [x], SrcT=t, DstT=d, Truncate=False)
            case("Cast", [data(d, [5], -100, 100)], SrcT=d, DstT=t, Truncate=False)


EXTRA = [requantize, arithmetic, fused, uniform, moved]


def main():
    quantize()
    both_ways()
    fake()
    for extra in EXTRA:
        extra()
    g.write_both("_quant")


if __name__ == "__main__":
    main()
