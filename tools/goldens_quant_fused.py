#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Writes tests/data/op_goldens_quant_fused.txt and shape_goldens_quant_fused.txt: TensorFlow's answers for quantized
products and convolutions with what follows them.

Run with a Python that has TensorFlow:  /opt/tfvenv/bin/python tools/goldens_quant_fused.py
In the language of golden_case.py. TensorFlow runs these ops by oneDNN only, in graphs, with a filter that is a
constant, and writes the result where the summand was: so it is asked there.
"""
import golden_case as g

import numpy as np
import tensorflow as tf

tf1 = tf.compat.v1
TYPES = {tf.qint8: np.int8, tf.quint8: np.uint8, tf.qint32: np.int32, tf.float32: np.float32}
for q in TYPES:
    g.NAMES[q] = q.name.replace("32", "") if q == tf.float32 else q.name
F, I8, U8, W = tf.float32, tf.qint8, tf.quint8, tf.qint32
rng = np.random.RandomState(23)
shapes_of = {}


def f(v):
    return np.asarray(v, np.float32), F


def q(t, *shape, span=None):
    info = np.iinfo(TYPES[t])
    low, high = (max(info.min, -127), info.max) if span is None else (-span, span)
    return rng.randint(low, high + 1, shape).astype(TYPES[t]), t


def hexed(a):
    return np.ascontiguousarray(a).tobytes().hex() or "-"


def line(word, a, t):
    return "%s %s [%s] %s" % (word, g.NAMES[t], ",".join(map(str, a.shape)), hexed(a))


def constant(v, t):
    return tf.constant(v if t == F else v.astype(t.as_numpy_dtype), t, v.shape)


def fresh(v, t, feeds):
    """A tensor in memory that only its reader holds."""
    if t == F:
        p = tf1.placeholder(F, v.shape)
        feeds[p] = v
        return p * 2. - p
    p = tf1.placeholder(tf.int8 if t == I8 else tf.uint8, v.shape)
    feeds[p] = v
    one = [1, 1, 1, 1]
    return tf.raw_ops.QuantizedMaxPool(input=tf.bitcast(p, t), min_input=0., max_input=1., ksize=one, strides=one,
                                       padding="VALID").output


def ask(op, names, inputs, attrs):
    with tf1.Graph().as_default():
        feeds, args = {}, {}
        for name, (v, t) in zip(names, inputs):
            if name == "summand":
                args[name] = fresh(v, t, feeds)
            elif name in ("input", "a"):
                args[name] = tf1.placeholder(t, v.shape)
                feeds[args[name]] = v.astype(t.as_numpy_dtype)
            else:
                args[name] = constant(v, t)
        try:
            made = getattr(tf.raw_ops, op)(**args, **attrs)
        except ValueError:
            return None  # a graph refuses it: see shapes()
        with tf1.Session() as s:
            out = s.run(list(made) if isinstance(made, tuple) else [made], feeds)
        kinds = [x.dtype for x in (made if isinstance(made, tuple) else [made])]
    return [(np.asarray(x).view(TYPES[t]) if t in TYPES else x, t) for x, t in zip(out, kinds)]


def case(op, inputs, **attrs):
    names = [a.split(":")[0].strip() for a in g.SPECS[op][1].split(", ")]
    out = ask(op, names, inputs, attrs)
    if out is None:
        return
    flat = [tf.constant(v if t == F else v, None) for v, t in inputs]
    known = types(op, inputs, attrs)
    g.lines.extend(g.head("op", op, known) + [line("in", v, t) for v, t in inputs])
    g.lines.extend(line("out", v, t) for v, t in out)
    del flat
    if shapes_of.setdefault(op, 0) < 3:
        shapes_of[op] += 1
        for how in ("all", "ranges", "nothing", "vectors"):
            shapes(op, inputs, known, how)


def types(op, inputs, attrs):
    known = dict(attrs)
    for arg, (_, t) in zip(g.SPECS[op][1].split(", "), inputs):
        kind = arg.split(":")[1].strip()
        if kind != "float":
            known[kind] = t
    return known


def shapes(op, inputs, attrs, how):
    """What is inferred when all shapes are known, only those of the ranges, none; and when ranges are vectors."""
    block = g.head("shape", op, attrs)
    with tf1.Graph().as_default() as graph:
        args = []
        for i, (v, t) in enumerate(inputs):
            dims = list(v.shape)
            if how == "nothing" or (how == "ranges" and i < 2):
                dims = None
            if how == "vectors" and not dims:
                dims = [3]
            block.append("in %s %s" % (g.NAMES[t], g.dims_text(tf.TensorShape(dims))))
            args.append(tf1.placeholder(t, dims))
        try:
            made = g.graph_op(graph, op, args, attrs)
            block += ["out " + g.dims_text(t.shape) for t in made.outputs]
        except ValueError as e:
            block.append("error " + str(e).split(" for '{{node")[0].replace("\n", "\\n"))
    g.shape_lines.extend(block)


# op: (follows, type of the summand, type of the output)
CONVS = {"QuantizedConv2D": ("", None, W), "QuantizedConv2DPerChannel": ("", None, W),
         "QuantizedConv2DAndRelu": ("", None, W), "QuantizedConv2DAndReluAndRequantize": ("r", None, U8),
         "QuantizedConv2DAndRequantize": ("r", None, I8), "QuantizedConv2DWithBias": ("b", None, W),
         "QuantizedConv2DWithBiasAndRelu": ("b", None, W),
         "QuantizedConv2DWithBiasAndReluAndRequantize": ("br", None, U8),
         "QuantizedConv2DWithBiasAndRequantize": ("br", None, I8),
         "QuantizedConv2DWithBiasSumAndRelu": ("b", F, W),
         "QuantizedConv2DWithBiasSumAndReluAndRequantize": ("br", U8, U8),
         "QuantizedConv2DWithBiasSignedSumAndReluAndRequantize": ("br", I8, U8)}
DEPTHWISE = {"QuantizedDepthwiseConv2D": ("", None, W), "QuantizedDepthwiseConv2DWithBias": ("b", None, W),
             "QuantizedDepthwiseConv2DWithBiasAndRelu": ("b", None, W),
             "QuantizedDepthwiseConv2DWithBiasAndReluAndRequantize": ("br", None, U8)}
TAKES_SIGNED = ("QuantizedConv2DWithBias", "QuantizedConv2DWithBiasAndRelu",
                "QuantizedConv2DWithBiasAndReluAndRequantize", "QuantizedConv2DWithBiasAndRequantize")


def output_dims(image, kernel, attrs, depth):
    pads = attrs.get("padding_list") or [0] * 8
    same = attrs["padding"] == "SAME" and not any(pads)
    dims = [image[0]]
    for i in (1, 2):
        size = (kernel[i - 1] - 1) * attrs.get("dilations", [1] * 4)[i] + 1
        stride = attrs["strides"][i]
        dims.append(-(-image[i] // stride) if same else (image[i] + sum(pads[2 * i:2 * i + 2]) - size) // stride + 1)
    return dims + [depth]


def conv(op, follows, summand, out_type, image, kernel, in_type=U8, bias_type=F, per_channel=False, **attrs):
    depth = kernel[2] * kernel[3] if "Depthwise" in op else kernel[3]
    attrs.setdefault("padding", "VALID")
    attrs.setdefault("strides", [1, 1, 1, 1])
    inputs = [q(in_type, *image), q(I8, *kernel)]
    if "b" in follows:
        inputs.append(f(rng.randn(depth) * 20) if bias_type == F else q(W, depth, span=20000))
    n = (depth,) if per_channel else ()
    inputs += [f(-1.1), f(6.3), f(-rng.rand(*n)), f(rng.rand(*n))]
    if "r" in follows:
        inputs += [f(-3.3), f(90.)]
    if summand:
        dims = output_dims(image, kernel, attrs, depth)
        inputs.append(f(rng.randn(*dims) * 30) if summand == F else q(summand, *dims))
        if summand != F:
            inputs += [f(-1.), f(40.)]
    case(op, inputs, out_type=out_type, **attrs)


def convolutions():
    two, skip = dict(strides=[1, 2, 2, 1]), dict(dilations=[1, 2, 1, 1])
    for op, (follows, summand, out) in CONVS.items():
        scalar = op == "QuantizedConv2DAndRequantize"
        many = not scalar and op != "QuantizedConv2D"
        pads = "padding_list" in g.SPECS[op][3]
        args = (op, follows, summand, out)
        conv(*args, [1, 4, 5, 3], [2, 2, 3, 4], per_channel=many)
        conv(*args, [2, 5, 3, 1], [3, 3, 1, 3], padding="SAME")
        conv(*args, [1, 3, 3, 17], [1, 1, 17, 35], per_channel=many)
        conv(*args, [1, 6, 5, 2], [3, 2, 2, 3], padding="SAME", **two)
        conv(*args, [1, 6, 5, 2], [2, 3, 2, 1], padding="SAME", strides=[1, 2, 1, 1], per_channel=many)
        conv(*args, [1, 6, 4, 3], [2, 2, 3, 2], **skip)
        conv(*args, [1, 4, 4, 4], [2, 2, 2, 6])
        if pads:
            conv(*args, [1, 4, 3, 2], [2, 2, 2, 3], padding_list=[0, 0, 1, 2, 0, 1, 0, 0])
            conv(*args, [1, 4, 3, 2], [3, 3, 2, 2], padding="SAME", padding_list=[0, 0, 0, 1, 1, 1, 0, 0])
            conv(*args, [1, 4, 3, 2], [3, 3, 2, 2], padding="SAME", padding_list=[0] * 8)
        if "Tbias" in g.SPECS[op][3]:
            conv(*args, [1, 4, 4, 3], [2, 2, 3, 5], bias_type=W, per_channel=True)
            conv(*args, [1, 4, 4, 3], [2, 2, 3, 5], bias_type=W, padding="SAME")
        if op in TAKES_SIGNED:
            conv(*args, [1, 4, 4, 3], [2, 2, 3, 5], in_type=I8, per_channel=True)
            conv(*args, [1, 4, 4, 5], [3, 3, 5, 2], in_type=I8, padding="SAME")
            if "Tbias" in g.SPECS[op][3]:
                conv(*args, [1, 3, 3, 4], [2, 2, 4, 2], in_type=I8, bias_type=W)
    for op, (follows, summand, out) in DEPTHWISE.items():
        args = (op, follows, summand, out)
        conv(*args, [1, 4, 5, 3], [2, 2, 3, 1], per_channel=True)
        conv(*args, [2, 5, 4, 17], [3, 3, 17, 1], padding="SAME")
        conv(*args, [1, 5, 5, 5], [3, 2, 5, 1], padding="SAME", per_channel=True, **two)
        conv(*args, [1, 4, 4, 3], [2, 2, 3, 2], per_channel=True)
        conv(*args, [1, 5, 4, 2], [2, 2, 2, 1], **skip)
        if "Tbias" in g.SPECS[op][3]:
            conv(*args, [1, 4, 4, 3], [2, 2, 3, 1], bias_type=W, per_channel=True)
            conv(*args, [1, 4, 4, 3], [2, 2, 3, 1], bias_type=W)
        if "padding_list" in g.SPECS[op][3]:
            conv(*args, [1, 4, 3, 2], [2, 2, 2, 1], padding_list=[0, 0, 1, 2, 0, 1, 0, 0])


def matmuls():
    for op, out, more in (("QuantizedMatMulWithBias", W, False), ("QuantizedMatMulWithBiasAndRelu", W, False),
                          ("QuantizedMatMulWithBiasAndReluAndRequantize", U8, True),
                          ("QuantizedMatMulWithBiasAndRequantize", U8, True),
                          ("QuantizedMatMulWithBiasAndDequantize", F, True)):
        for m, k, n in ((2, 3, 4), (1, 1, 1), (1, 17, 33), (7, 16, 2), (9, 40, 17)):
            for least in (0., -1.3):
                for mode in ("MIN_FIRST", "SCALED"):
                    for bias_type in (F, W) if "Tbias" in g.SPECS[op][3] else (F,):
                        if m + n > 20 and (least or bias_type == W):
                            continue
                        bias = f(rng.randn(n) * 3) if bias_type == F else q(W, n, span=9000)
                        inputs = [q(U8, m, k), q(I8, k, n), bias, f(least), f(5.7), f(-.6), f(.9)]
                        inputs += [f(-2.), f(60.)] if more else []
                        case(op, inputs, Toutput=out, input_quant_mode=mode)


def listed(op, steps, in_type, summand, out, bias_type=F, per_channel=False, image=(1, 4, 5, 3), kernel=(2, 2, 3, 4), **attrs):
    """The ops whose inputs are two lists, asked eagerly: the summand is lost."""
    depth = kernel[2] * kernel[3] if "Depthwise" in op else kernel[3]
    attrs = dict({"strides": [1, 1, 1, 1], "padding": "VALID", "fused_ops": steps, "Tinput": in_type, "Tfilter": I8,
                  "Tbias": bias_type, "Tsummand": summand, "out_type": out}, **attrs)
    device, host = [q(in_type, *image), q(I8, *kernel)], [f(-1.1), f(6.3)]
    n = (depth,) if per_channel else ()
    host += [f(-rng.rand(*n)), f(rng.rand(*n))]
    if "BiasAdd" in steps:
        device.append(f(rng.randn(depth) * 20) if bias_type == F else q(W, depth, span=20000))
    if "Sum" in steps:
        dims = output_dims(image, kernel, attrs, depth)
        device.append(f(rng.randn(*dims) * 30) if summand == F else q(summand, *dims))
        host += [] if summand == F else [f(-1.), f(40.)]
    if "Requantize" in steps:
        host += [f(-3.3), f(90.)]
    attrs.update(Tdevice_inputs=[t for _, t in device], Thost_inputs=[F] * len(host), Tdevice_outputs=[out],
                 Thost_outputs=[F, F])
    block = g.head("op", op, attrs) + [line("in", v, t) for v, t in device + host]
    raw = g.ask(op, [constant(v, t) for v, t in device + host], 3, attrs)
    if isinstance(raw, str):
        g.lines.extend(block + [raw])
        return
    out = [(x.numpy().view(TYPES[x.dtype]) if x.dtype in TYPES else x.numpy(), x.dtype) for x in raw]
    g.lines.extend(block + [line("out", np.asarray(v), t) for v, t in out])
    if shapes_of.setdefault(op, 0) < 8:
        shapes_of[op] += 1
        for how in ("all", "ranges", "nothing", "vectors"):
            shapes(op, device + host, attrs, how)


def lists():
    for op in ("_FusedQuantizedConv2D", "_FusedQuantizedDepthwiseConv2D"):
        for kernel in ((2, 2, 3, 4), (3, 3, 3, 1)):
            for steps in ([], ["BiasAdd"], ["Relu"], ["BiasAdd", "Relu"]):
                listed(op, steps, U8, W, W, kernel=kernel)
                listed(op, steps, I8, W, W, kernel=kernel, padding="SAME", per_channel=True)
            for steps in (["Requantize"], ["BiasAdd", "Requantize"], ["Relu", "Requantize"], ["BiasAdd", "Relu", "Requantize"]):
                for out in (U8, I8):
                    listed(op, steps, U8, out, out, kernel=kernel, bias_type=W, strides=[1, 2, 2, 1])
                    listed(op, steps, I8, out, out, kernel=kernel, padding="EXPLICIT", explicit_paddings=[0, 0, 1, 0, 2, 1, 0, 0])
        listed(op, ["Sum"], U8, U8, U8)
        listed(op, ["BiasAdd", "Sum"], U8, U8, U8)
        listed(op, ["Relu", "BiasAdd"], U8, W, W)
        listed(op, ["Nonsense"], U8, W, W)
        listed(op, ["Requantize"], U8, W, W)
        listed(op, ["BiasAdd"], U8, U8, W)
        listed(op, ["BiasAdd"], U8, W, W, strides=[2, 1, 1, 1])
        listed(op, ["BiasAdd"], U8, W, W, dilations=[1, 0, 1, 1])


if __name__ == "__main__":
    convolutions()
    matmuls()
    lists()
    g.write_both("_quant_fused")
