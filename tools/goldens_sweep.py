#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Writes tests/data/op_goldens_sweep.txt: what the sweeps over types, values and times once found different.

  /opt/tfvenv/bin/python tools/goldens_sweep.py

TensorFlow is asked through tools/fuzz_driver.py, so that the cases are those of tools/fuzz_ops.py.
"""
import os
import sys

import ml_dtypes
import numpy as np

import fuzz_cases as cases
import fuzz_ops as fuzz

NAMES = {np.dtype(v).name: k for k, v in cases.NUMPY.items() if not k.startswith("q")}
TABLE = cases.specs()
r = np.random.RandomState(7)


def tensor(x):
    if isinstance(x, tuple):
        return x
    a = np.asarray(x)
    if a.dtype == object:
        return ("string", a.shape, [s.encode() for s in a.reshape(-1)])
    return cases.from_array(NAMES[a.dtype.name], a)


def sigmoids():
    x = np.array([-16.22, -11.734, -5.45, -0.3, 0.04254, 1.34375, 4.934, 20, -65504, 65504, np.inf, -np.inf, np.nan,
                  7.0117188, -7.0117188, -6.38])
    for t in (np.float16, ml_dtypes.bfloat16):
        yield "Sigmoid", (x.astype(t),), {}
        yield "Softplus", (x.astype(t),), {}


def special_functions():
    for op in ("BesselI0", "BesselI0e", "BesselI1", "BesselI1e", "BesselK0", "BesselK0e", "BesselK1", "BesselK1e"):
        yield op, (np.array([29.9, 30, 30.5, 100, 3e4, 8e21, 1e38], np.float32),), {}
        yield op, (np.array([29.9, 31, 700, 1e12, 1e100, 1e308, -1e308 if "I" in op else 5e307]),), {}
    a, x = np.array([6.3, 2.2e23, 1e-66, 1.23, 3.0, 0.5]), np.array([4.8e106, 8.5e259, 2e220, 3.3e124, 800., 1e300])
    yield "Igamma", (a, x), {}
    yield "Igammac", (a, x), {}
    yield "Igamma", (np.array([6.3, 1.23, 3], np.float32), np.array([1e30, 3e38, 2e10], np.float32)), {}
    yield "Erfinv", (np.array([1e-9, .1, .4999, .5, .9, -.3], np.float32),), {}
    yield "Zeta", (np.array([9e33, 1e25, 3e20, 2.5], np.float32), np.array([3.1, 1.5e8, 2.7, 3], np.float32)), {}
    yield "Ndtri", (np.array([1e-300, 1e-9, .1, .4999, .7, .999999]),), {}


def fake_quantization():
    x = np.array([0, -.25, .5, .75, 1, .1, .0333, .9], np.float32)
    yield "FakeQuantWithMinMaxArgs", (x,), {"min": 0., "max": 1.}
    yield "FakeQuantWithMinMaxArgs", (x,), {"min": 0., "max": 1., "num_bits": 4}
    yield "FakeQuantWithMinMaxVars", (x, np.float32(-.34), np.float32(.26)), {"narrow_range": True}
    g, x = r.normal(0, 1, 35).astype(np.float32), r.normal(0, 4, 35).astype(np.float32)
    yield "FakeQuantWithMinMaxArgsGradient", (g, x), {"min": -2., "max": 3.}
    yield "FakeQuantWithMinMaxVarsGradient", (g, x, np.float32(-2), np.float32(3)), {}


def complex_numbers():
    z = (r.normal(0, 1, 14) * 10. ** r.randint(-8, 8, 14)).reshape(2, 7)
    z = z[0] + 1j * z[1]
    for t in (np.complex64, np.complex128):
        a, b = z.astype(t), z[::-1].astype(t)
        for op in ("RealDiv", "DivNoNan", "Xdivy"):
            yield op, (a, b), {}
        yield "Reciprocal", (a,), {}
        yield "SqrtGrad", (a, b), {}
        yield "Mean", (np.zeros((0, 2), t), np.int32(0)), {}
    yield "Mean", (np.zeros((2, 0), np.complex128), np.array([0, 1], np.int32)), {}


def rows():
    for t in (np.float32, np.uint16, np.float16, np.int64):
        v = r.permutation(40).reshape(2, 20).astype(t)
        yield "NthElement", (v, np.int32(7)), {}
        yield "NthElement", (v, np.int32(0)), {"reverse": True}
        yield "NthElement", ((v % 3).astype(t), np.int32(19)), {}
    m = (np.round(4 * r.normal(0, 1, (35, 35))) / 4 + 8 * np.eye(35)).astype(np.float32)
    yield "MatrixInverse", (m,), {}
    yield "Cholesky", (np.minimum.outer(np.arange(1, 36), np.arange(1, 36)).astype(np.float32),), {}
    v, w = r.randint(0, 9, (3, 12)).astype(np.int64), r.randint(-4, 5, (3, 12)).astype(np.float32)
    yield "DenseCountSparseOutput", (v, w), {"binary_output": False, "maxlength": 6, "minlength": -1}
    yield "Reverse", (r.randint(0, 9, (2, 3, 4)).astype(np.int16), np.array([True, False, True])), {}


def others():
    for words in (["", "", "b"], ["", "a", ""], ["", "", ""], ["a", "", "b"]):
        yield "UnsortedSegmentJoin", (np.array(words, object), np.zeros(3, np.int32), np.int32(1)), {"separator": b":"}
    a, b = (cases.from_array("quint8", r.randint(0, 256, s)) for s in ((5, 7), (9, 7)))
    yield "QuantizedMatMul", (a, b, np.float32(-1), np.float32(2), np.float32(0), np.float32(3)), {
        "Toutput": "qint32", "transpose_a": False, "transpose_b": True}
    x = np.array([-.5, .5, 1.5, -1.5, .499, 32767.4, -32769, 40000, 2.5]) / 32768
    yield "EncodeWav", (x.astype(np.float32).reshape(-1, 1), np.int32(8000)), {}


def casts():
    codes = ("int4", (16,), bytes(range(16)))  # the upper half of a byte does not count
    for t in ("int8", "uint8", "int32", "uint64", "uint4"):
        yield "Cast", (codes,), {"DstT": t}
    x = np.array([7.7e-6, .0009775, -5.807, -.0007246, .0123, 1.9, 447, -3000])
    for t in (np.float32, np.float64, np.float16, ml_dtypes.bfloat16, ml_dtypes.float8_e4m3fn):
        for to in ("float8_e5m2", "float8_e4m3fn"):
            if NAMES[np.dtype(t).name] != to:
                yield "Cast", (x.astype(t),), {"DstT": to, "Truncate": True}


def main():
    child = fuzz.Child("tensorflow")
    with open(os.path.join(fuzz.HERE, "../tests/data/op_goldens_sweep.txt"), "w", encoding="utf-8") as out:
        for family in (sigmoids, special_functions, fake_quantization, complex_numbers, rows, others, casts):
            for op, inputs, attrs in family():
                spec, inputs = TABLE[op], [tensor(x) for x in inputs]
                attrs = {k: (spec.attrs[k][0], v) for k, v in attrs.items()}
                for (_, kind), t in zip(spec.inputs, inputs):
                    if kind in spec.attrs:  # a type
                        attrs[kind] = ("type", t[0])
                case = {"op": op, "attrs": attrs, "inputs": inputs, "vars": 0}
                child.send(case)
                out.write(fuzz.text_of(case, child.receive()))
    child.stop()


if __name__ == "__main__":
    sys.exit(main())
