#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Writes tests/data/op_goldens_combos.txt: types and attribute values of common ops that no other golden shows.

Run with a Python that has TensorFlow:  /opt/tfvenv/bin/python tools/goldens_combos.py
Helpers are those of goldens_edges.py.
"""
import numpy as np

import fuzz_cases as cases
from goldens_edges import F, I, L, T, call, steps, t, write

R = np.random.RandomState(11)
ALL = ["float", "double", "half", "bfloat16", "int8", "uint8", "int16", "uint16", "int32", "uint32", "int64", "uint64", "complex64", "complex128", "bool", "string"]


def some(name, dims, low=-9, high=10):
    if name == "string":
        return (name, tuple(dims), [b"s%d" % k for k in range(int(np.prod(dims)))])
    if name == "bool":
        return cases.from_array(name, R.rand(*dims) < .5)
    low = 0 if name.startswith("u") else low
    return t(name, R.randint(low, high, dims))


def B(v):
    return ("bool", v)


def ints(*v):
    return ("list(int)", list(v))


def handed_on():
    """Ops that look at shapes, or hand on what they get, in every type."""
    for name in ALL:
        x, attrs = some(name, [2, 1, 3]), {"T": T(name)}
        for op in ("Identity", "StopGradient", "Shape", "Size", "Rank", "PreventGradient", "EnsureShape"):
            if op == "EnsureShape":
                call(op, x, shape=("shape", [2, -1, 3]), **attrs)
            else:
                call(op, x, **attrs)
        call("Shape", x, out_type=T(L), **attrs)
        call("Size", x, out_type=T(L), **attrs)
        call("ShapeN", x, x, N=("int", 2), out_type=T(L), **attrs)
        for index in (I, L):
            call("Reshape", x, t(index, [3, -1]), Tshape=T(index), **attrs)
            call("ExpandDims", x, t(index, -1), Tdim=T(index), **attrs)
        call("Squeeze", x, squeeze_dims=ints(), **attrs)
        call("Squeeze", x, squeeze_dims=ints(-2), **attrs)
        if name != "uint16":  # has no loop in TensorFlow
            call("Tile", x, t(L, [1, 2, 1]), Tmultiples=T(L), **attrs)
        if name == "string":
            continue
        call("Where", x, **attrs)
        for dst in ALL[:-1]:
            if not dst.startswith("complex"):  # where TensorFlow clears bits of the exponent, too
                call("Cast", some(name, [3], -3, 100), SrcT=T(name), DstT=T(dst), Truncate=B(True))


def indices():
    """Every type that an index, an axis or a size may have."""
    x = some(F, [2, 3, 4])
    for index in ("int16", I, L):
        call("StridedSlice", x, t(index, [0, 1, -1]), t(index, [2, 3, -4]), t(index, [1, 2, -2]), T=T(F), Index=T(index))
        call("StridedSlice", x, t(index, [1]), t(index, [2]), t(index, [1]), T=T(F), Index=T(index), shrink_axis_mask=("int", 1))
    for index in (I, L):
        call("ArgMax", x, t(index, 1), T=T(F), Tidx=T(index), output_type=T("uint16"))
        call("ArgMin", x, t(index, -1), T=T(F), Tidx=T(index))
        call("StridedSliceGrad", t(index, [2, 3]), t(index, [0, 1]), t(index, [2, 3]), t(index, [1, 1]), some(F, [2, 2]), T=T(F), Index=T(index))
        call("ConcatV2", some(F, [2, 1]), some(F, [2, 2]), t(index, -1), N=("int", 2), T=T(F), Tidx=T(index))
        call("Transpose", x, t(index, [2, 0, 1]), T=T(F), Tperm=T(index))
        call("ConjugateTranspose", some("complex64", [2, 3]), t(index, [1, 0]), T=T("complex64"), Tperm=T(index))
        call("BroadcastTo", some(F, [3, 1]), t(index, [2, 3, 2]), T=T(F), Tidx=T(index))
        call("UnsortedSegmentSum", some(F, [4, 2]), t(L, [0, 2, -1, 0]), t(index, 3), T=T(F), Tindices=T(L), Tnumsegments=T(index))
        for blocks in (I, L):
            call("SpaceToBatchND", some(F, [1, 4, 2, 1]), t(blocks, [2, 2]), t(index, [[0, 0], [1, 1]]), T=T(F), Tblock_shape=T(blocks), Tpaddings=T(index))
            call("BatchToSpaceND", some(F, [4, 2, 1, 1]), t(blocks, [2, 2]), t(index, [[0, 1], [1, 0]]), T=T(F), Tblock_shape=T(blocks), Tcrops=T(index))
        call("SparseReshape", t(L, [[0, 1], [2, 0]]), t(L, [3, 2]), t(L, [2, -1]))
        call("StatelessRandomUniformV2", t(index, [2, 3]), t("uint64", [7]), t("uint64", [1, 2]), t(I, 1), Tshape=T(index), dtype=T(F))
        call("StatelessMultinomial", some(F, [2, 3]), t(I, 5), t(index, [3, 4]), T=T(F), Tseed=T(index), output_dtype=T(I))
        for op in ("RandomUniform", "TruncatedNormal", "RandomStandardNormal"):
            call(op, t(index, [2, 3]), T=T(index), dtype=T(F), seed=("int", 5), seed2=("int", 6))


def logic():
    a, b = t("bool", [[True, False, True]]), t("bool", [[True], [False]])
    for op in ("LogicalAnd", "LogicalOr"):
        call(op, a, b)
        call(op, a, t("bool", np.zeros([0, 3])))
        call(op, a, t("bool", [True, False]))
    call("LogicalNot", a)
    call("ShardedFilename", ("string", (), [b"a/b"]), t(I, 3), t(I, 17))
    for every in (True, False):
        call("StaticRegexReplace", ("string", (2,), [b"abab", b"ba"]), pattern=("string", b"a"), rewrite=("string", b"x\\\\0"), replace_global=B(every))
        call("RegexReplace", ("string", (2,), [b"abab", b"ba"]), ("string", (), [b"a"]), ("string", (), [b"-"]), replace_global=B(every))


def networks():
    for flag in ("grad_a", "grad_b"):
        call("MatMul", some(F, [2, 3]), some(F, [3, 2]), T=T(F), **{flag: B(True)})
    for flag in ("grad_x", "grad_y"):
        for op in ("BatchMatMul", "BatchMatMulV2"):
            call(op, some(F, [2, 2, 3]), some(F, [2, 3, 2]), T=T(F), **{flag: B(True)})
    x = some(F, [1, 4, 4, 2])
    window = dict(T=T(F), ksize=ints(1, 3, 3, 1), strides=ints(1, 2, 2, 1), padding=("string", b"EXPLICIT"), explicit_paddings=ints(0, 0, 1, 0, 0, 1, 0, 0))
    call("MaxPool", x, **window)
    call("MaxPoolGrad", x, some(F, [1, 2, 2, 2]), some(F, [1, 2, 2, 2]), **window)
    for mode in (b"REFLECT", b"SYMMETRIC"):
        for padding in (b"SAME", b"VALID"):
            call("FusedPadConv2D", some(F, [1, 4, 4, 2]), t(I, [[0, 0], [1, 1], [2, 1], [0, 0]]), some(F, [2, 2, 2, 3], -2, 3), T=T(F), mode=("string", mode),
                 strides=ints(1, 1, 1, 1), padding=("string", padding))
    for name in ("float", "double", "half", "bfloat16"):
        v = lambda: t(name, R.randint(1, 9, [2, 2]) / 8.)  # noqa: E731
        s = lambda x: t(name, x)  # noqa: E731
        call("ResourceApplyGradientDescent", v(), s(.5), v(), variables=1, T=T(name))
        call("ResourceApplyKerasMomentum", v(), v(), s(.5), v(), s(.25), variables=2, T=T(name), use_nesterov=B(True))
        call("ResourceApplyAdam", v(), v(), v(), s(.5), s(.25), s(.1), s(.9), s(.99), s(.001), v(), variables=3, T=T(name))
        call("ResourceApplyAdagradV2", v(), v(), s(.1), s(.01), v(), variables=2, T=T(name))
        call("ResourceApplyFtrl", v(), v(), v(), v(), s(.5), s(.01), s(.02), s(-.5), variables=3, T=T(name))
        call("ResourceApplyRMSProp", v(), v(), v(), s(.1), s(.9), s(.5), s(.01), v(), variables=3, T=T(name))


def lists():
    """Lists of every type, through every op that makes, changes or reads one."""
    h, n = ("from", 0, 0), ("from", 1, 0)
    for name in ALL:
        e, s = {"element_dtype": T(name)}, {"shape_type": T(I)}
        made = ("TensorListFromTensor", dict(e, **s), [some(name, [3, 2]), t(I, [2])])
        item, shape = some(name, [2]), t(I, [2])
        steps(made, ("TensorListLength", {}, [h]))
        steps(made, ("TensorListElementShape", s, [h]))
        steps(made, ("TensorListGetItem", e, [h, t(I, 1), shape]))
        steps(made, ("TensorListStack", dict(e, num_elements=("int", 3)), [h, shape]))
        for change in (("TensorListPushBack", e, [h, item]), ("TensorListSetItem", e, [h, t(I, 2), item]),
                       ("TensorListSetItem", dict(e, resize_if_index_out_of_bounds=B(True)), [h, t(I, 4), item]), ("TensorListResize", {}, [h, t(I, 2)]),
                       ("TensorListConcatLists", e, [h, h])):
            steps(made, change, ("TensorListStack", dict(e, num_elements=("int", -1)), [n, shape]))
            steps(made, change, ("TensorListConcatV2", dict(e, **s), [n, shape, t(L, np.zeros([0]))]))
        empty = ("EmptyTensorList", dict(e, **s), [shape, t(I, -1)])
        steps(empty, ("TensorListPushBack", e, [h, item]), ("TensorListGather", e, [n, t(I, [0, 0]), shape]))
        steps(("TensorListReserve", dict(e, **s), [shape, t(I, 2)]), ("TensorListStack", dict(e, num_elements=("int", 2)), [h, shape]))
        steps(("TensorListScatterV2", dict(e, **s), [some(name, [2, 2]), t(I, [1, 0]), shape, t(I, 3)]), ("TensorListGather", e, [h, t(I, [1, 0]), shape]))
        steps(("TensorListSplit", dict(e, **s), [some(name, [5, 2]), t(I, [-1, 2]), t(L, [2, 3])]), ("TensorListGetItem", e, [h, t(I, 1), t(I, [-1, 2])]))


if __name__ == "__main__":
    write("combos", (handed_on, indices, logic, networks, lists))
