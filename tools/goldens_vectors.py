#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Writes tests/data/op_goldens_vectors.txt: numbers on both sides of where a loop of vectors gives up.

Run with a Python that has TensorFlow:  /opt/tfvenv/bin/python tools/goldens_vectors.py
64-bit divisions below and above 2^51, casts of floats below and above 2^31, sums of many tensors.
"""
import os

import numpy as np
import tensorflow as tf

N = 134  # two whole blocks and a rest
NAMES = {"float32": "float"}
rng = np.random.default_rng(7)
lines = ["# Made by tools/goldens_vectors.py with TensorFlow %s." % tf.__version__]


def tensor(kind, x):
    shape = ",".join(map(str, x.shape))
    return "%s %s [%s] %s" % (kind, NAMES.get(x.dtype.name, x.dtype.name), shape, x.tobytes().hex())


def case(op, inputs, call, **attrs):
    lines.append("op " + op)
    lines.extend("attr %s %s" % a for a in sorted(attrs.items()))
    lines.extend(tensor("in", x) for x in inputs)
    lines.append(tensor("out", call().numpy()))


def divisions():
    near = rng.integers(-2**51, 2**51, N, dtype=np.int64)
    near[:6] = [2**51 - 1, -2**51, 7, -7, 0, -1]
    by = rng.choice(np.array([-9, -2, -1, 1, 2, 3, 7], np.int64), N)
    by[:6] = [1, 1, -2, 2, -5, 2**50]
    far, far_by = near.copy(), by.copy()
    far[70], far[131], far_by[70], far_by[131] = 2**51, -2**63, -2**40, -1
    multiples = by * rng.integers(-2**40, 2**40, N)
    others = rng.integers(-2**51, 2**51, N, dtype=np.int64) | 1
    for x, y in ((near, by), (far, far_by), (multiples, by), (near, others),
                 (np.asarray(np.int64(5 - 2**51)), by), (near, np.asarray(np.int64(-7)))):
        for op in ("FloorDiv", "FloorMod"):
            case(op, [x, y], lambda: getattr(tf.raw_ops, op)(x=x, y=y), T="int64")


def casts():
    x = (rng.standard_normal(300) * 10.0**rng.integers(-3, 8, 300)).astype(np.float32)
    odd = x.copy()
    odd[:6] = [np.nan, np.inf, -np.inf, 2.0**31, -2.0**31, 2.0**62]
    for v in (x, odd, x[:256].copy()):
        for to in (tf.int64, tf.uint8):
            case("Cast", [v], lambda: tf.raw_ops.Cast(x=v, DstT=to), SrcT="float", DstT=to.name,
                 Truncate="false")


def sums():
    for n in (2, 4, 5, 7, 8):
        xs = [rng.standard_normal(37).astype(np.float32) for _ in range(n)]
        case("AddN", xs, lambda: tf.raw_ops.AddN(inputs=xs), T="float", N=n)


divisions()
casts()
sums()
out = os.path.join(os.path.dirname(__file__), "..", "tests", "data", "op_goldens_vectors.txt")
with open(out, "w") as f:
    f.write("\n".join(lines) + "\n")
