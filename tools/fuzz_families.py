#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Calls whose parts fit together, family by family, in TensorFlow and in Ferry: the sizes around which kernels change their way
(blocks, vectors, tiles), every padding and stride, odd windows, special numbers.

  /opt/tfvenv/bin/python tools/fuzz_families.py [--family NAME,…] [--seconds N] [--seed N] [--save FILE] [--goldens FILE]

tools/fuzz_ops.py changes known calls at random and mostly makes small or wrong ones of these ops; here almost all succeed.
Comparing, reducing and saving is its work. Large results must also be the same bits with one thread and with many: Ferry is asked
twice (FERRY_CONFIG).
"""
import argparse
import os
import sys
import time

import numpy as np

sys.path.insert(0, os.path.dirname(os.path.abspath(__file__)))
import fuzz_cases as cases  # noqa: E402
import fuzz_ops as fuzz  # noqa: E402

FLOATS = ["float", "float", "float", "double", "half", "bfloat16"]


def T(v):
    return ("type", v)


def B(v):
    return ("bool", bool(v))


def ints(v):
    return ("list(int)", [int(x) for x in v])


def floats(r, name, dims, low=-2., high=2.):
    a = r.randint(-8, 9, dims) / 4. if r.rand() < .3 else r.uniform(low, high, dims)
    return cases.from_array(name, np.asarray(a).astype(cases.NUMPY[name]))


def whole(r, name, dims, low, high):
    return cases.from_array(name, r.randint(low, high, dims))


def pick(r, *choices):
    return choices[r.randint(len(choices))]


def make(op, inputs, variables=0, **attrs):
    return {"op": op, "attrs": attrs, "inputs": inputs, "vars": variables}


# ---------------------------------------------------------------- convolutions, pools
def channels(r):
    return int(pick(r, 1, 2, 3, 4, 5, 7, 8, 9, 12, 15, 16, 17, 24, 31, 32, 33, 48, 63, 64, 65, 70)) if r.rand() < .8 else r.randint(1, 71)


def geometry(r, spatial, least=1):
    """(sizes, window, strides, dilations, padding, explicit, output sizes), all positive."""
    while True:
        size = [int(r.randint(least, 20 if spatial < 3 else 8)) for _ in range(spatial)]
        k = [int(pick(r, 1, 1, 2, 3, 3, 3, 4, 5, 7)) for _ in range(spatial)]
        if r.rand() < .5:
            k = [k[0]] * spatial
        s = [int(pick(r, 1, 1, 1, 2, 2, 3))] * spatial
        if r.rand() < .2:
            s = [int(r.randint(1, 4)) for _ in range(spatial)]
        d = [int(pick(r, 1, 1, 1, 2, 3))] * spatial if max(s) == 1 else [1] * spatial
        how = pick(r, "SAME", "VALID", "EXPLICIT") if spatial == 2 else pick(r, "SAME", "VALID")
        pads = [[int(r.randint(0, 3)), int(r.randint(0, 3))] for _ in range(spatial)]
        wide = [(a - 1) * b + 1 for a, b in zip(k, d)]
        if how == "SAME":
            out = [-(-a // b) for a, b in zip(size, s)]
        else:
            extra = [sum(p) if how == "EXPLICIT" else 0 for p in pads]
            out = [(a + e - w) // b + 1 if a + e >= w else 0 for a, e, w, b in zip(size, extra, wide, s)]
        if min(out) > 0:
            explicit = [0, 0] + [x for p in pads for x in p] + [0, 0] if how == "EXPLICIT" else []
            return size, k, s, d, how, explicit, out


def conv2d(r):
    name = pick(r, *FLOATS)
    n = int(pick(r, 1, 1, 2, 3, 0, 5))
    size, k, s, d, how, explicit, out = geometry(r, 2)
    group = int(pick(r, 1, 1, 1, 2, 3))
    cin, cout = channels(r), channels(r)
    if group > 1:
        cin, cout = group * int(r.randint(1, 12)), group * int(r.randint(1, 12))
    attrs = dict(T=T(name), strides=ints([1] + s + [1]), dilations=ints([1] + d + [1]), padding=("string", how.encode()),
                 explicit_paddings=ints(explicit))
    filter_shape = k + [cin // group, cout]
    what = r.randint(4)
    if what == 0 and max(d) == 1 and group == 1:
        return make("Conv2DBackpropInput", [whole(r, "int32", [4], 0, 1) if 0 else cases.from_array("int32", np.array([n] + size + [cin])),
                                            floats(r, name, filter_shape), floats(r, name, [n] + out + [cout])], **attrs)
    if what == 1 and max(d) == 1 and group == 1:
        return make("Conv2DBackpropFilter", [floats(r, name, [n] + size + [cin]), cases.from_array("int32", np.array(filter_shape)),
                                             floats(r, name, [n] + out + [cout])], **attrs)
    return make("Conv2D", [floats(r, name, [n] + size + [cin]), floats(r, name, filter_shape)], **attrs)


def depthwise(r):
    name = pick(r, *FLOATS)
    n = int(pick(r, 1, 1, 2, 0))
    size, k, s, d, how, explicit, out = geometry(r, 2)
    d = [1, 1] if d[0] > 1 and r.rand() < .6 else d
    if max(d) > 1 or s[0] != s[1]:
        s, d = [s[0]] * 2, [1, 1]
        if how != "SAME":
            how, explicit = "SAME", []
        out = [-(-a // b) for a, b in zip(size, s)]
    c, m = channels(r), int(pick(r, 1, 1, 1, 2, 3))
    attrs = dict(T=T(name), strides=ints([1] + s + [1]), padding=("string", how.encode()), explicit_paddings=ints(explicit),
                 dilations=ints([1, 1, 1, 1]))
    what = r.randint(3)
    if what == 0:
        return make("DepthwiseConv2dNativeBackpropInput", [cases.from_array("int32", np.array([n] + size + [c])), floats(r, name, k + [c, m]),
                                                           floats(r, name, [n] + out + [c * m])], **attrs)
    if what == 1:
        return make("DepthwiseConv2dNativeBackpropFilter", [floats(r, name, [n] + size + [c]), cases.from_array("int32", np.array(k + [c, m])),
                                                            floats(r, name, [n] + out + [c * m])], **attrs)
    return make("DepthwiseConv2dNative", [floats(r, name, [n] + size + [c]), floats(r, name, k + [c, m])], **attrs)


def conv3d(r):
    name = pick(r, "float", "float", "double", "half", "bfloat16")
    n = int(pick(r, 1, 2, 1, 0))
    size, k, s, _, how, _, out = geometry(r, 3)
    if how == "EXPLICIT":
        return None
    out = [-(-a // b) for a, b in zip(size, s)] if how == "SAME" else [(a - w) // b + 1 for a, w, b in zip(size, k, s)]
    if min(out) < 1:
        return None
    cin, cout = int(r.randint(1, 20)), int(r.randint(1, 20))
    attrs = dict(T=T(name), strides=ints([1] + s + [1]), padding=("string", how.encode()))
    what = r.randint(3)
    if what == 0:
        return make("Conv3DBackpropInputV2", [cases.from_array("int32", np.array([n] + size + [cin])), floats(r, name, k + [cin, cout]),
                                              floats(r, name, [n] + out + [cout])], **attrs)
    if what == 1:
        return make("Conv3DBackpropFilterV2", [floats(r, name, [n] + size + [cin]), cases.from_array("int32", np.array(k + [cin, cout])),
                                               floats(r, name, [n] + out + [cout])], **attrs)
    return make("Conv3D", [floats(r, name, [n] + size + [cin]), floats(r, name, k + [cin, cout])], **attrs)


def pools(r):
    three = r.rand() < .3
    spatial = 3 if three else 2
    name = pick(r, "float", "float", "double", "half", "bfloat16") if not three else pick(r, "float", "half", "bfloat16", "float")
    size, k, s, _, how, _, _ = geometry(r, spatial)
    how = "SAME" if how == "EXPLICIT" else how
    out = [-(-a // b) for a, b in zip(size, s)] if how == "SAME" else [(a - w) // b + 1 for a, w, b in zip(size, k, s)]
    if min(out) < 1:
        return None
    c, n = channels(r), int(pick(r, 1, 2, 3, 0))
    attrs = dict(T=T(name), ksize=ints([1] + k + [1]), strides=ints([1] + s + [1]), padding=("string", how.encode()))
    x, dy = floats(r, name, [n] + size + [c]), floats(r, name, [n] + out + [c])
    shape = cases.from_array("int32", np.array([n] + size + [c]))
    what, tail = r.randint(4), "3D" if three else ""
    if what == 0:
        return make("AvgPool" + tail, [x], **attrs)
    if what == 1:
        return make("AvgPool" + tail + "Grad", [shape, dy], **attrs)
    if what == 2 and not three:
        return make("MaxPoolWithArgmax", [x], include_batch_in_index=B(r.rand() < .5), Targmax=T(pick(r, "int64", "int32")), **attrs)
    return make("MaxPool" + tail, [x], **attrs)


# ---------------------------------------------------------------- products, reductions, scans
def side(r):
    return int(pick(r, 1, 2, 3, 4, 5, 6, 7, 8, 9, 15, 16, 17, 23, 24, 25, 31, 32, 33, 47, 48, 49, 63, 64, 65, 95, 97, 127, 129, 191, 255, 257, 0))


def products(r):
    name = pick(r, "float", "float", "float", "double", "half", "bfloat16", "int32", "complex64", "int64", "complex128")
    m, k, n = side(r), side(r), side(r)
    ta, tb = bool(r.randint(2)), bool(r.randint(2))
    make_one = (lambda d: floats(r, name, d)) if not name.startswith("int") else (lambda d: whole(r, name, d, -9, 10))
    a, b = [k, m] if ta else [m, k], [n, k] if tb else [k, n]
    if r.rand() < .5:
        return make("MatMul", [make_one(a), make_one(b)], T=T(name), transpose_a=B(ta), transpose_b=B(tb))
    lead = [int(r.randint(1, 4)) for _ in range(r.randint(0, 3))]
    other = [1 if r.rand() < .4 else x for x in lead][r.randint(0, len(lead) + 1):]
    if m * k * int(np.prod(lead)) > 1 << 16:
        return None
    return make("BatchMatMulV2", [make_one(lead + a), make_one(other + b)], T=T(name), adj_x=B(ta), adj_y=B(tb))


def extent(r):
    return int(pick(r, 1, 2, 3, 4, 5, 7, 8, 9, 15, 16, 17, 31, 33, 63, 65, 100, 127, 129, 255, 257, 1000, 1023, 1025, 4097))


def shape_of(r, most=1 << 16, rank=None):
    dims = [extent(r) for _ in range(rank if rank is not None else r.randint(1, 6))]
    while np.prod(dims) > most:
        dims[r.randint(len(dims))] = int(r.randint(1, 4))
    return dims


def reductions(r):
    op = pick(r, "Sum", "Mean", "Max", "Min", "Prod", "EuclideanNorm", "All", "Any")
    name = "bool" if op in ("All", "Any") else pick(r, "float", "float", "double", "half", "bfloat16", "int32", "int64", "int8", "uint8", "complex64")
    if name == "complex64" and op in ("Max", "Min"):
        name = "float"
    dims = shape_of(r)
    axes = [int(a) for a in r.permutation(len(dims))[:r.randint(0, len(dims) + 1)]]
    axes = [a - len(dims) if r.rand() < .3 else a for a in axes]
    if name == "bool":
        x = cases.from_array("bool", r.rand(*dims) < pick(r, .5, .01, .99))
    elif name in ("float", "double", "half", "bfloat16", "complex64"):
        x = floats(r, name, dims, .9, 1.1) if op == "Prod" else floats(r, name, dims)
    else:
        x = whole(r, name, dims, 0, 5)
    attrs = dict(keep_dims=B(r.rand() < .5), Tidx=T("int32"))
    if name != "bool":
        attrs["T"] = T(name)
    return make(op, [x, cases.from_array("int32", np.array(axes, np.int32).reshape([len(axes)]))], **attrs)


def scans(r):
    op = pick(r, "Cumsum", "Cumprod", "CumulativeLogsumexp")
    name = pick(r, "float", "double", "half", "bfloat16", "int32", "int64", "uint8") if op != "CumulativeLogsumexp" else pick(r, "float", "double", "half")
    dims = shape_of(r, 1 << 13)
    x = floats(r, name, dims, .5, 1.5) if name in cases.FLOATS else whole(r, name, dims, 0, 4)
    axis = int(r.randint(-len(dims), len(dims)))
    return make(op, [x, cases.from_array("int32", np.array(axis))], T=T(name), exclusive=B(r.rand() < .5), reverse=B(r.rand() < .5))


def ranks(r):
    op = pick(r, "TopKV2", "ArgMax", "ArgMin", "InTopKV2", "NthElement", "Unique", "UniqueWithCounts", "LowerBound", "UpperBound", "Where")
    name = pick(r, "float", "double", "half", "bfloat16", "int32", "int64", "uint8", "int16")
    dims = shape_of(r, 1 << 13, int(r.randint(1, 4)))
    x = whole(r, name, dims, 0, pick(r, 3, 100)) if r.rand() < .5 or name not in cases.FLOATS else floats(r, name, dims)
    if op == "TopKV2":
        return make(op, [x, cases.from_array("int32", np.array(r.randint(0, dims[-1] + 1)))], T=T(name), sorted=B(r.rand() < .8))
    if op in ("ArgMax", "ArgMin"):
        return make(op, [x, cases.from_array("int32", np.array(r.randint(-len(dims), len(dims))))], T=T(name), output_type=T(pick(r, "int64", "int32")))
    if op == "InTopKV2":
        a, b = extent(r) % 300 + 1, extent(r) % 200 + 1
        p = floats(r, "float", [a, b])
        return make(op, [p, whole(r, "int32", [a], -1, b + 1), cases.from_array("int32", np.array(r.randint(0, b + 2)))], T=T("int32"))
    if op == "NthElement":
        return make(op, [x, cases.from_array("int32", np.array(r.randint(0, dims[-1])))], T=T(name), reverse=B(r.rand() < .5))
    if op in ("Unique", "UniqueWithCounts"):
        return make(op, [whole(r, name, [extent(r)], 0, pick(r, 2, 30, 120))], T=T(name), out_idx=T(pick(r, "int32", "int64")))
    if op == "Where":
        return make(op, [cases.from_array(name, cases.to_array(x) * (r.rand(*dims) < .4))], T=T(name))
    name = pick(r, "float", "double", "int32", "int64")
    rows = int(r.randint(1, 4))
    a = np.sort(r.randint(0, 20, [rows, extent(r) % 200 + 1]), axis=1)
    return make(op, [cases.from_array(name, a), whole(r, name, [rows, int(r.randint(1, 9))], -2, 23)], T=T(name), out_type=T("int32"))


# ---------------------------------------------------------------- numbers
def special(r):
    """Functions at their ends, in every precision."""
    ops = {"Lgamma": 1, "Digamma": 1, "Erfinv": 1, "Ndtri": 1, "Erf": 1, "Erfc": 1, "Expm1": 1, "Log1p": 1, "Tanh": 1, "Sigmoid": 1, "Exp": 1,
           "Log": 1, "Sin": 1, "Cos": 1, "Tan": 1, "Asin": 1, "Acos": 1, "Atan": 1, "Sinh": 1, "Cosh": 1, "Asinh": 1, "Acosh": 1, "Atanh": 1,
           "Sqrt": 1, "Rsqrt": 1, "Softplus": 1, "Elu": 1, "Selu": 1, "Softsign": 1, "Rint": 1, "Round": 1, "Floor": 1, "Ceil": 1, "Sign": 1,
           "Relu6": 1, "Igamma": 2, "Igammac": 2, "Zeta": 2, "Polygamma": 2, "Betainc": 3, "Atan2": 2, "Pow": 2, "FloorMod": 2, "FloorDiv": 2,
           "TruncateMod": 2, "Xlogy": 2, "Xlog1py": 2, "Xdivy": 2, "DivNoNan": 2, "MulNoNan": 2, "SquaredDifference": 2, "NextAfter": 2,
           "BesselI0e": 1, "BesselI1e": 1, "BesselI0": 1, "BesselI1": 1, "BesselJ0": 1, "BesselJ1": 1, "BesselY0": 1, "BesselY1": 1, "BesselK0": 1,
           "BesselK1": 1, "BesselK0e": 1, "BesselK1e": 1, "Dawsn": 1, "Expint": 1, "FresnelSin": 1, "FresnelCos": 1, "Spence": 1}
    op = sorted(ops)[r.randint(len(ops))]
    n = int(pick(r, 3, 8, 17, 40))
    names = ["float", "double"] + (["half", "bfloat16"] if ops[op] == 1 or op in ("Atan2", "Pow", "FloorMod", "FloorDiv", "TruncateMod", "Xlogy", "Xlog1py",
                                                                                "Xdivy", "DivNoNan", "MulNoNan", "SquaredDifference") else [])
    name = pick(r, *names)
    inputs = []
    for _ in range(ops[op]):
        style = r.randint(5)
        if style == 0:
            x = r.choice([0., -0., 1., -1., .5, -.5, 2., -2., 3., 10., -10., 1e-8, -1e-8, 1e-30, 20., 50., 88., -88., 700., 1e4, -1e4, np.inf, -np.inf, np.nan], n)
        elif style == 1:
            x = r.uniform(0, 1, n)
        elif style == 2:
            x = r.uniform(-10, 10, n)
        elif style == 3:
            x = r.normal(0, 1, n) * 10. ** r.randint(-6, 4, n)
        else:
            x = r.randint(-12, 13, n) * .5
        with np.errstate(all="ignore"):
            inputs.append(cases.from_array(name, x.astype(cases.NUMPY[name])))
    return make(op, inputs, T=T(name))


def integers(r):
    names = ["int8", "uint8", "int16", "uint16", "int32", "uint32", "int64", "uint64"]
    name = pick(r, *names)
    op = pick(r, "Div", "FloorDiv", "FloorMod", "TruncateDiv", "TruncateMod", "Mod", "LeftShift", "RightShift", "Pow", "Add", "Mul", "Sub", "Abs", "Neg", "Sign",
              "Square", "SquaredDifference", "BitwiseAnd", "Invert", "PopulationCount", "Maximum")
    info = np.iinfo(cases.NUMPY[name])
    n = int(pick(r, 1, 5, 16, 33))

    def numbers(low=None):
        pool = [int(info.min), int(info.max), 0, 1, 2, 3, 5, 7, 31, 32, 63, 64] + ([-1, -2, -3, -7] if info.min < 0 else [])
        v = [pool[r.randint(len(pool))] if r.rand() < .5 else int(r.randint(max(-100, int(info.min)), 100)) for _ in range(n)]
        return cases.from_array(name, np.array([x & (2 ** 64 - 1) for x in v], np.uint64).astype(np.int64).astype(cases.NUMPY[name]))
    one = op in ("Abs", "Neg", "Sign", "Square", "Invert", "PopulationCount")
    inputs = [numbers()] if one else [numbers(), numbers()]
    if op == "Pow":
        inputs[1] = whole(r, name, [n], -2 if info.min < 0 and r.rand() < .2 else 0, 9)
    return make(op, inputs, T=T(name))


# ---------------------------------------------------------------- rows, slices, pictures
def segments(r):
    op = pick(r, "SegmentSum", "SegmentMax", "SegmentMean", "SegmentMin", "SegmentProd", "UnsortedSegmentSum", "UnsortedSegmentMax", "UnsortedSegmentMin",
              "UnsortedSegmentProd", "SparseSegmentSum", "SparseSegmentMean", "SparseSegmentSqrtN", "SparseSegmentSumWithNumSegments",
              "SparseSegmentMeanWithNumSegments")
    name = pick(r, "float", "double", "half", "bfloat16") if "Sparse" in op else pick(r, "float", "double", "half", "bfloat16", "int32", "int64", "uint8")
    rows, inner = int(r.randint(0, 40)), shape_of(r, 300, int(r.randint(0, 3)))
    x = floats(r, name, [rows] + inner) if name in cases.FLOATS else whole(r, name, [rows] + inner, 0, 5)
    index = pick(r, "int32", "int64")
    count = int(r.randint(1, 12))
    if "Unsorted" in op:
        return make(op, [x, whole(r, index, [rows], -2, count), cases.from_array("int32", np.array(count))], T=T(name), Tindices=T(index), Tnumsegments=T("int32"))
    if "Sparse" in op:
        n = int(r.randint(0, 60)) if rows else 0
        ids = np.sort(r.randint(0, count, n))
        inputs = [x, whole(r, index, [n], 0, max(1, rows)), cases.from_array("int32", ids)]
        inputs += [cases.from_array("int32", np.array(count))] if "Num" in op else []
        attrs = dict(T=T(name), Tidx=T(index), Tsegmentids=T("int32"))
        return make(op, inputs, **(dict(attrs, Tnumsegments=T("int32")) if "Num" in op else attrs))
    return make(op, [x, cases.from_array(index, np.sort(r.randint(0, count, rows)))], T=T(name), Tindices=T(index))


def slices(r):
    name = pick(r, "float", "int32", "half", "string", "int64", "bool", "complex64", "uint8")
    dims = [int(r.randint(0 if r.rand() < .05 else 1, 9)) for _ in range(r.randint(1, 6))]
    entries = int(r.randint(0, len(dims) + 2))
    mask = {k: ("int", int(r.randint(0, 1 << entries)) if r.rand() < p else 0) for k, p in (
        ("begin_mask", .4), ("end_mask", .4), ("new_axis_mask", .2), ("shrink_axis_mask", .3))}
    mask["ellipsis_mask"] = ("int", 1 << r.randint(entries) if entries and r.rand() < .3 else 0)
    index = pick(r, "int32", "int64")
    begin, end = r.randint(-9, 10, entries), r.randint(-9, 10, entries)
    strides = r.choice([1, 1, 1, 2, 3, -1, -2, 7], entries)
    x = cases.from_array(name, cases.make_array(r, name, dims))
    return make("StridedSlice", [x] + [cases.from_array(index, np.array(v)) for v in (begin, end, strides)], T=T(name), Index=T(index), **mask)


def pictures(r):
    op = pick(r, "ResizeBilinear", "ResizeNearestNeighbor", "ResizeBicubic", "ResizeArea", "CropAndResize", "ScaleAndTranslate", "ResizeBilinearGrad",
              "ResizeNearestNeighborGrad", "ResizeBicubicGrad")
    n, h, w, c = int(r.randint(1, 3)), int(r.randint(1, 14)), int(r.randint(1, 14)), int(pick(r, 1, 2, 3, 4, 7, 8, 9))
    size = cases.from_array("int32", r.randint(1, 20, 2))
    corners = r.rand() < .3
    both = dict(align_corners=B(corners), half_pixel_centers=B(not corners and r.rand() < .6))
    if op == "CropAndResize":
        name, k = pick(r, "float", "uint8", "half", "double", "int32"), int(r.randint(0, 5))
        x = floats(r, name, [n, h, w, c]) if name in cases.FLOATS else whole(r, name, [n, h, w, c], 0, 100)
        return make(op, [x, floats(r, "float", [k, 4], -.3, 1.3), whole(r, "int32", [k], 0, n), size], T=T(name), method=("string", pick(r, b"bilinear", b"nearest")),
                    extrapolation_value=("float", 1.5))
    if op == "ScaleAndTranslate":
        return make(op, [floats(r, "float", [n, h, w, c]), size, floats(r, "float", [2], .2, 3.), floats(r, "float", [2], -3., 3.)], T=T("float"),
                    kernel_type=("string", pick(r, b"lanczos1", b"lanczos3", b"lanczos5", b"gaussian", b"box", b"triangle", b"keyscubic", b"mitchellcubic")),
                    antialias=B(r.rand() < .5))
    if op.endswith("Grad"):
        name = pick(r, "float", "double")
        to = r.randint(1, 12, 2)
        if op == "ResizeNearestNeighborGrad":
            return make(op, [floats(r, name, [n, h, w, c]), cases.from_array("int32", to)], T=T(name), **both)
        return make(op, [floats(r, "float", [n, h, w, c]), floats(r, name, [n] + list(to) + [c])], T=T(name), **both)
    name = pick(r, "float", "double", "half", "bfloat16", "uint8", "int8", "int16", "uint16", "int32", "int64")
    x = floats(r, name, [n, h, w, c]) if name in cases.FLOATS else whole(r, name, [n, h, w, c], 0, 100)
    if op == "ResizeArea":
        return make(op, [x, size], T=T(name), align_corners=B(corners))
    return make(op, [x, size], T=T(name), **both)


def elementwise(r):
    """Broadcasting of every kind, past the sizes where threads share the work."""
    op = pick(r, "AddV2", "Mul", "Sub", "RealDiv", "Maximum", "Minimum", "Less", "Equal", "NotEqual", "SelectV2", "BiasAdd", "SquaredDifference", "LogicalAnd",
              "FloorMod", "Pow", "Atan2", "AddN", "ClipByValue", "BroadcastTo", "Tile", "Transpose", "ConcatV2", "Pad", "GatherV2", "ReverseV2", "Softmax",
              "LogSoftmax", "L2Loss", "Pack", "MirrorPad", "SpaceToDepth", "OneHot", "Cast")
    name = pick(r, "float", "float", "double", "half", "bfloat16", "int32", "int64")
    most = 1 << 18 if r.rand() < .15 else 1 << 12
    dims = shape_of(r, most, int(r.randint(1, 6)))
    real = name in cases.FLOATS
    if op in ("Softmax", "LogSoftmax", "L2Loss", "Pow", "Atan2", "RealDiv", "SquaredDifference") and not real:
        name, real = "float", True

    def one(d, low=-2., high=2.):
        return floats(r, name, d, low, high) if real else whole(r, name, d, 1, 9)
    part = [1 if r.rand() < .4 else x for x in dims][r.randint(0, len(dims) + 1) if r.rand() < .4 else 0:]
    i32 = lambda v: cases.from_array("int32", np.array(v, np.int32))  # noqa: E731
    axis = int(r.randint(-len(dims), len(dims)))
    if op == "SelectV2":
        return make(op, [cases.from_array("bool", r.rand(*part) < .5 if part else np.array(True)), one(dims), one(part)], T=T(name))
    if op == "BiasAdd":
        return make(op, [one(dims), one([dims[-1]])], T=T(name)) if len(dims) > 1 else None
    if op == "LogicalAnd":
        return make(op, [cases.from_array("bool", r.rand(*dims) < .5), cases.from_array("bool", np.asarray(r.rand(*part) < .5))])
    if op == "AddN":
        k = int(r.randint(1, 10))
        return make(op, [one(dims) for _ in range(k)], N=("int", k), T=T(name))
    if op == "ClipByValue":
        return make(op, [one(dims), one([]), one([])], T=T(name))
    if op == "BroadcastTo":
        return make(op, [one(part), i32(dims)], T=T(name), Tidx=T("int32"))
    if op == "Tile":
        return make(op, [one(dims), i32(r.randint(0, 3, len(dims)))], T=T(name), Tmultiples=T("int32"))
    if op == "Transpose":
        return make(op, [one(dims), i32(r.permutation(len(dims)))], T=T(name), Tperm=T("int32"))
    if op == "ConcatV2":
        parts = []
        for _ in range(r.randint(2, 5)):
            d = list(dims)
            d[axis] = int(r.randint(0, 9))
            parts.append(one(d))
        return make(op, parts + [i32(axis)], N=("int", len(parts)), T=T(name), Tidx=T("int32"))
    if op == "Pad":
        return make(op, [one(dims), i32(r.randint(0, 4, [len(dims), 2]))], T=T(name), Tpaddings=T("int32")) if np.prod(dims) < 9000 else None
    if op == "MirrorPad":
        pads = np.stack([r.randint(0, [min(3, d) for d in dims]) for _ in range(2)], 1)
        return make(op, [one(dims), i32(pads)], T=T(name), Tpaddings=T("int32"), mode=("string", pick(r, b"REFLECT", b"SYMMETRIC")))
    if op == "GatherV2":
        return make(op, [one(dims), whole(r, "int64", shape_of(r, 20, int(r.randint(0, 3))), 0, dims[axis]), i32(axis)], Tparams=T(name), Tindices=T("int64"),
                    Taxis=T("int32"))
    if op == "ReverseV2":
        return make(op, [one(dims), i32(r.permutation(len(dims))[:r.randint(0, len(dims) + 1)])], T=T(name), Tidx=T("int32"))
    if op in ("Softmax", "LogSoftmax", "L2Loss"):
        return make(op, [one(dims)], T=T(name))
    if op == "Pack":
        k = int(r.randint(1, 5))
        return make(op, [one(dims) for _ in range(k)], N=("int", k), T=T(name), axis=("int", int(r.randint(-len(dims) - 1, len(dims) + 1))))
    if op == "SpaceToDepth":
        b = int(r.randint(2, 4))
        return make(op, [one([int(r.randint(1, 3)), b * int(r.randint(1, 7)), b * int(r.randint(1, 7)), int(r.randint(1, 9))])], T=T(name), block_size=("int", b))
    if op == "OneHot":
        return make(op, [whole(r, "int32", dims[:3], -1, 9), i32(int(r.randint(0, 12))), one([]), one([])], T=T(name), TI=T("int32"),
                    axis=("int", int(r.randint(-1, len(dims[:3]) + 1)))) if np.prod(dims[:3]) < 5000 else None
    if op == "Cast":
        return make(op, [one(dims, -300., 300.)], SrcT=T(name), DstT=T(pick(r, "float", "double", "half", "bfloat16", "int32", "int64", "uint8", "int16", "bool")))
    return make(op, [one(dims), one(part, .5, 2.)], T=T(name))


FAMILIES = {f.__name__: f for f in (conv2d, depthwise, conv3d, pools, products, reductions, scans, ranks, special, integers, segments, slices, pictures,
                                    elementwise)}


class Threads(fuzz.Child):
    """Ferry with many threads, however small the machine."""

    def start(self):
        if self.proc is None:
            os.environ["FERRY_CONFIG"] = "intra_threads=6"
            fuzz.Child.start(self)
            del os.environ["FERRY_CONFIG"]


def main():
    p = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    p.add_argument("--family", help="some of: " + " ".join(FAMILIES))
    p.add_argument("--seconds", type=float, default=60)
    p.add_argument("--seed", type=int, default=1)
    p.add_argument("--save", help="append each kind of difference here")
    p.add_argument("--goldens", help="append calls on which both agree here")
    p.add_argument("--per-op", type=int, default=1)
    p.add_argument("--text", action="store_true")
    p.set_defaults(replay=None, patience=60)
    options = p.parse_args()
    chosen = options.family.split(",") if options.family else list(FAMILIES)
    fuzzer, many = fuzz.Fuzzer(options), Threads("ferry")
    fuzzer.table = cases.specs()
    r = np.random.RandomState(options.seed)
    end, differ, twice = time.time() + options.seconds, 0, 0
    while time.time() < end:
        case = FAMILIES[chosen[r.randint(len(chosen))]](r)
        if case is None or fuzzer.table[case["op"]].groups(case) is None:
            continue
        fuzzer.look(case)
        if sum(len(t[2]) for t in case["inputs"]) > 1 << 14:
            many.send(case)
            fuzzer.ferry.send(case)
            a, b = fuzzer.ferry.receive(), many.receive()
            twice += 1
            if a[0] == "ok" and a[:2] != b[:2]:
                differ += 1
                print("THREADS %s %s: other bits with other threads" % (case["op"], [t[:2] for t in case["inputs"]]), flush=True)
    fuzzer.report([], {}, set())
    print("%d calls with one thread and with many, %d differ" % (twice, differ))
    fuzzer.tf.stop()
    fuzzer.ferry.stop()
    many.stop()
    return 1 if differ or any(not k[1].startswith("TensorFlow") for k in fuzzer.kinds) else 0


if __name__ == "__main__":
    sys.exit(main())
