#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Writes tests/data/op_goldens_probe.txt and shape_goldens_probe.txt: corners found by probing ops one by one.

Run with a Python that has TensorFlow:  /opt/tfvenv/bin/python tools/goldens_probe.py
Calls go through the C API of TensorFlow only (tools/fuzz_driver.py), so that any call can be made; a case that
TensorFlow cannot answer (it ends the process) is left out.
"""
import os

import numpy as np

import fuzz_cases as cases
import fuzz_ops

NAN, INF = float("nan"), float("inf")
TABLE = cases.specs()
TF = fuzz_ops.Child("tensorflow")
EAGER, SHAPES = [], []


def tensor(name, v):
    if name == "string":
        a = np.empty(np.shape(v), dtype=object)
        a[...] = v
        return cases.from_array(name, a)
    with np.errstate(all="ignore"):
        return cases.from_array(name, np.array(v).astype(cases.NUMPY[name]))


def f32(v):
    return tensor("float", v)


def i32(*v):
    return tensor("int32", list(v))


def ones(*dims):
    return f32(np.ones(dims))


def call(op, *inputs, **attrs):
    """A case; type attributes and lengths of lists are read from the inputs."""
    spec, found, at = TABLE[op], {}, 0
    for name, v in attrs.items():
        kind = spec.attrs[name][0]
        found[name] = (kind, v.encode() if kind == "string" and isinstance(v, str) else v)
    for _, kind in spec.inputs:
        count, kind = kind.split("*") if "*" in kind else (None, kind)
        if count:
            found.setdefault(count, ("int", len(inputs) - len(spec.inputs) + 1))
        if kind in spec.attrs and at < len(inputs):
            found.setdefault(kind, ("type", inputs[at][0]))
        at += found[count][1] if count else 1
    return {"op": op, "attrs": found, "inputs": list(inputs), "vars": 0}


def in_graph(case, known):
    spec = TABLE[case["op"]]
    return dict(case, mode="graph", known=list(known), groups=spec.groups(case), inferred=spec.inferred())


def ask(case, to):
    TF.send(case)
    answer = TF.receive(20)
    if answer[0] not in ("ok", "error"):
        print("left out: %s: %s" % (case["op"], " ".join(answer)))
        return
    text = fuzz_ops.text_of(case, answer)
    if to is EAGER and answer[0] == "ok" and case["op"] in ("Einsum", "Conv2D"):
        TF.send(in_graph(case, [list(t[1]) for t in case["inputs"]]))
        if TF.receive(20)[0] == "error":
            text += "eager\n"
    if answer[0] == "error":  # in full, on one line
        said = answer[2].split(" for '{{node")[0] if to is SHAPES else answer[2]
        said = said.replace("\n", "\\n").replace("\t", "\\t") if to is SHAPES else said.split("\n")[0].rstrip()
        head = text[:text.rindex("\nerror ") + 1]
        text = head + ("error %s\n" % said if to is SHAPES else "error %d %s\n" % (answer[1], said))
    to.append(text)


def eager(op, *inputs, **attrs):
    ask(call(op, *inputs, **attrs), EAGER)


def shapes(known, op, *inputs, **attrs):
    """known: "value", dims (-1 unknown) or None for each input."""
    ask(in_graph(call(op, *inputs, **attrs), known), SHAPES)


def both(op, *inputs, **attrs):
    eager(op, *inputs, **attrs)
    shapes([list(t[1]) if t[0] == "float" else "value" for t in inputs], op, *inputs, **attrs)


# ---------------------------------------------------------------- families
def ranges():
    for name in ("float", "double", "half", "bfloat16"):
        for start, delta, n in ((-1.83, .0137, 90), (2.7, -.0251, 70), (0, .1, 40), (1e3, .5, 30)):
            a, d = (float(np.array(v).astype(cases.NUMPY[name])) for v in (start, delta))
            eager("Range", tensor(name, a), tensor(name, a + d * n), tensor(name, d))
    for i in range(3):
        inputs = [f32(0), f32(1), f32(.25)]
        inputs[i] = f32([[1]])
        both("Range", *inputs)


def einsums():
    for equation, *dims in (
            ("ij,jk->ik", (2, 0), (3, 4)), ("ij,jk->ik", (2, 3), (0, 4)), ("ij,jk->ijk", (2, 0), (3, 4)),
            ("bij,bjk->bik", (0, 2, 3), (5, 3, 4)), ("bij,bjk->bik", (5, 2, 3), (0, 3, 4)), ("i,i->", (0,), (3,)),
            ("i,i->i", (0,), (1,)), ("i,i->i", (1,), (0,)), ("i,i->i", (0,), (3,)), ("...i,...i->...", (0, 3), (2, 3)),
            ("...i,...i->...i", (2, 3), (0, 3)), ("...i,...i->...i", (2, 3), (4, 3)), ("...i,...i->...i", (1, 3), (0, 3)),
            ("ab,b->a", (2, 0), (3,)), ("bi,bj->bij", (0, 2), (3, 4)), ("ii,i->", (0, 0), (3,)), ("ii->i", (2, 3)),
            ("ij,ij->j", (0, 2), (3, 2)), ("ij,ij->", (0, 2), (3, 0)), ("kjb...a,yb...aj->...abky", (4, 3, 9, 2, 5), (7, 9, 4, 5, 3)),
            ("j...a,y...aj->...a", (3, 3, 3), (2, 2, 2, 3, 3)), ("...a->a", (3, 2, 5)), ("...a->a", (4,)), ("...a,a->", (2, 3), (3,)),
            ("ij,jk->ik", (2, 3, 1), (3, 2)), ("...ij->ij...", (2,)), ("ij,jk->ik", (2, 3), (3,)), ("ab c,c->ab", (2, 2, 2), (2,)),
            ("i1,1->i", (2, 3), (3,)), ("i, i->i", (2,), (2, 2)), ("ij->ji", (2, 3), (2, 3)), ("ij,jk->ik", (2, 3))):
        both("Einsum", *[ones(*d) for d in dims], equation=equation)
    for equation, *dims in (("i.j->ij", (2, 2)), ("..i->i", (3,)), ("...i...->i", (2, 3, 2)), ("ij,jk->iz", (2, 3), (3, 2)),
                            ("i,j->ij,", (2,), (2,)), ("ij->...k", (2, 2))):
        shapes([None] * len(dims), "Einsum", *[ones(*d) for d in dims], equation=equation)
    for known, equation in (([[-1, 3], [1, 3]], "...i,...i->...i"), ([[1, 3], [-1, 3]], "...i,...i->...i"), ([[0, 3], [-1, 3]], "...i,...i->...i"),
                            ([[-1], None], "...a,a->..."), ([None, [3]], "...a,a->"), ([None, [3]], "...a,a->..."), ([None, None], "ab,bc->ac")):
        shapes(known, "Einsum", ones(1, 3), ones(1, 3), equation=equation)


def quantize():
    values = [NAN, INF, -INF, 0., -0., 1., -1., .5, -.5, 3e38, -3e38, .25, .75, -.25, NAN, .1, .9, NAN, INF]
    for name in ("qint8", "quint8", "qint32", "qint16", "quint16"):
        for mode in ("MIN_COMBINED", "MIN_FIRST", "SCALED"):
            for rounding in ("HALF_AWAY_FROM_ZERO", "HALF_TO_EVEN"):
                for low, high in ((-1, 1), (-INF, 1), (0, INF)):
                    eager("QuantizeV2", f32(values), f32(low), f32(high), T=name, mode=mode, round_mode=rounding)
        eager("QuantizeV2", f32([values] * 2), f32([-1, 0]), f32([1, 2]), T=name, mode="SCALED", axis=0)


def projections():
    r = np.random.RandomState(3)
    for name in ("float", "half", "double", "uint8", "int32", "int64"):
        for mode in ("REFLECT", "WRAP", "CONSTANT", "NEAREST"):
            for how in ("NEAREST", "BILINEAR"):
                image = tensor(name, r.randint(0, 20, (1, 3, 4, 1)))
                t = np.array([[1, .2, 0, .1, 1, 0, 0, 0]])
                t[0, r.randint(8)] = r.choice([NAN, INF, -INF, 1e30, 1e12, -50])
                eager("ImageProjectiveTransformV3", image, f32(t), i32(3, 4), f32(2.5), interpolation=how, fill_mode=mode)


def slices():
    for n in (1, 2, 5):
        for mask in ({}, {"new_axis_mask": 1}, {"ellipsis_mask": 1}, {"shrink_axis_mask": 1}):
            both("StridedSlice", f32(3.), i32(*[0] * n), i32(*[1] * n), i32(*[1] * n), **mask)
    both("StridedSlice", ones(4), i32(0, 0), i32(1, 1), i32(-1, 1), shrink_axis_mask=1)
    both("StridedSlice", ones(4), i32(0, 0), i32(1, 1), i32(0, 1))
    x = ones(4, 4)
    for known in ([[4, 4], [3], [2], [2]], [[4, 4], [2], [2], [3]], [[4, 4], [2], [2, 1], [2]], [None, [4], [2], [5, 2, 1]]):
        shapes(known, "StridedSlice", x, i32(0, 0), i32(1, 1), i32(1, 1))
    for dims, size in (((3, 0), (3, 3, 2)), ((3, 5), (3, 3, 2)), ((3, 2), (3, 3, 0)), ((1, 1), (2, 0, 1))):
        shapes([list(dims), "value"], "BroadcastTo", ones(*dims), i32(*size))
    for known, batch in (([[3, 2], None, "value"], 5), ([[3, 2], None, "value"], 1), ([None, [2], "value"], 2), ([[3, 2], [3, 1], None], 1)):
        shapes(known, "GatherV2", ones(3, 2), i32(0), tensor("int32", 0), batch_dims=batch)


def windows():
    for dims, filt in (((1, 5, 5, 5, 3), (2, 2, 2, 2, 3)), ((1, 5, 5, 5, 4), (2, 2, 2, 2, 4)), ((1, 5, 5, 5, 4), (2, 2, 2, 2, 3)),
                       ((1, 5, 5, 5, 0), (2, 2, 2, 2, 3)), ((1, 5, 5, 5, 0), (2, 2, 2, 0, 3)), ((1, 5, 5, 5, 2), (2, 2, 2, 4, 3))):
        both("Conv3D", ones(*dims), ones(*filt), strides=[1] * 5, padding="SAME")
        both("Conv2D", ones(*dims[1:]), ones(*filt[1:]), strides=[1] * 4, padding="SAME")
    for rates in ([1, 0, 1, 1], [1, 1, -2, 1]):
        for known in ([None, None], [[1, 5, 5, 2], [2, 2, 2, 3]]):
            shapes(known, "Conv2D", ones(1, 5, 5, 2), ones(2, 2, 2, 3), strides=[1] * 4, padding="SAME", dilations=rates)
            shapes([None, None], "Conv3D", ones(1), ones(1), strides=[1] * 5, padding="SAME", dilations=rates + [1])
    for op, n in (("AvgPool3D", 5), ("MaxPool3D", 5), ("AvgPool", 4), ("MaxPool", 4)):
        for longer in (0, 1):
            shapes([None], op, ones(1), ksize=[1] * (n + 1 - longer), strides=[1] * (n + longer), padding="SAME")


def constants():
    shapes([None, "value"], "Pad", ones(2, 2), tensor("int32", [[0, 0], [0, -1]]))
    shapes([None, "value"], "MirrorPad", ones(2, 2), tensor("int32", [[-1, 0]]), mode="REFLECT")
    for op in ("SpaceToBatchND", "BatchToSpaceND"):
        shapes([None, "value", "value"], op, ones(2, 2), i32(0), tensor("int32", [[0, 0]]))
        shapes([None, "value", [3, 3, 8]], op, ones(2, 2), i32(1), tensor("int32", [[0, 0]]))
    for shape in (0, -1, [[1]], [2, 3]):
        for known in ("value", None, list(np.shape(shape))):
            shapes([known, "value"], "EmptyTensorList", tensor("int32", shape), tensor("int32", 3), element_dtype="float")
            shapes([known, "value"], "TensorListReserve", tensor("int32", shape), tensor("int32", 3), element_dtype="float")


def mistakes():
    x = ones(2, 3)
    for axis in (-3, -4, 2, 5):
        for op in ("Cumsum", "Cumprod", "CumulativeLogsumexp"):
            eager(op, x, tensor("int32", axis))
    for dims, size in (((2, 1), (1, 1)), ((2, 1), (3, 3)), ((3,), (3, 1)), ((0,), (3,)), ((3, 1), (2, 1, 5)), ((4,), (3,))):
        eager("BroadcastTo", ones(*dims), i32(*size))
    for blocks in ((2, -3), (0, 3), (-1, 1)):
        for op in ("BatchToSpaceND", "SpaceToBatchND"):
            eager(op, ones(6, 2, 2), i32(*blocks), tensor("int32", [[0, 0]] * 2))
    for dims in (((), ()), ((), (2,)), ((2, 1), ()), ((2,), (2, 2)), ((2, 1), (2,), ())):
        for axis in (0, 1, -1, -3):
            eager("ConcatV2", *[ones(*d) for d in dims], tensor("int32", axis), N=len(dims))
    for dims, size in (((2,), (0, -1)), ((0,), (0, -1)), ((0, 3), (0, -1)), ((0, 3), (-1, 0, 2)), ((2,), (0, -1, 3)), ((4,), (-1, 3)), ((4,), (-1, 0, 0))):
        both("Reshape", ones(*dims), i32(*size))
    for dims, low, high, axis in (((2,), (3,), (2,), 0), ((3, 2, 3), (2,), (5,), 2), ((3, 2, 3), (1,), (3,), 0), ((3,), (), (), -2)):
        for known in (list(dims), None):
            shapes([known, list(low), list(high)], "QuantizeV2", ones(*dims), f32(-np.ones(low)), f32(np.ones(high)), T="qint8", axis=axis)
    for i in range(3):
        inputs = [tensor("string", b"a"), tensor("int32", 1), tensor("int32", 2)]
        inputs[i] = (inputs[i][0], (1,), inputs[i][2])
        eager("ShardedFilename", *inputs)
    for logits, number, seed in ((x, 3, [1]), (x, [3], [1, 2]), (ones(3), 3, [1, 2]), (ones(3), 3, 1), (x, -1, [1, 2])):
        eager("StatelessMultinomial", logits, tensor("int32", number), tensor("int32", seed))
    for labels in ((2, 100), (5, -3), (-1, 7), (0, 3)):
        eager("SparseSoftmaxCrossEntropyWithLogits", ones(2, 3), i32(*labels))
    for batch, seq, lengths in ((0, -1, 1), (-1, 0, [1, 1]), (1, 1, [1, 1]), (0, 5, [1, 1]), (5, 1, [1, 1]), (0, 1, [[1, 1]])):
        both("ReverseSequence", x, tensor("int64", lengths), batch_dim=batch, seq_dim=seq)
    for low, high in ((8, [1]), ([8], 3), ([[1]], [1])):
        shapes([None, list(np.shape(low)), list(np.shape(high))], "RandomUniformInt", i32(1), tensor("int32", low), tensor("int32", high))
    for dims in ((1, 1), (2, 3)):
        for op in ("MirrorPadGrad", "MirrorPad"):
            for known in (None, [3] * dims[0], [3] * (dims[0] + 1)):
                shapes([known, list(dims)], op, ones(3), tensor("int32", np.zeros(dims)), mode="REFLECT")
    shapes([[1]], "PrintV2", tensor("string", [b"a"]))
    bad = tensor("int64", [[4], [0], [5], [1]])
    for op in ("TensorScatterAdd", "TensorScatterUpdate", "TensorScatterMin"):
        eager(op, ones(4), bad, ones(4))
    eager("ScatterNd", bad, ones(4), tensor("int64", [4]))
    for ids in ([0, 0, -1], [0, 1, 2 ** 31 - 1], [0, 1, 0], [0, 1, 5]):
        for op in ("SparseSegmentSumWithNumSegments", "SparseSegmentMeanWithNumSegments"):
            eager(op, ones(3), tensor("int64", [0, 1, 2]), tensor("int64", ids), tensor("int32", 3))
    for dense in ([[1, 2, 0]], [[0, 2, 3]]):
        eager("SparseDenseCwiseDiv", tensor("int64", [[0, 0], [2, 1]]), i32(6, 8), tensor("int64", [3, 3]), tensor("int32", dense))
    for shape in ([-1, 3], []):
        eager("SparseDenseCwiseMul", tensor("int64", [[0, 0]]), f32([6.]), tensor("int64", np.array(shape, np.int64)), ones(3, 3))
    for sizes, axis in (([-2], 0), ([3], 0), ([1, 1], [0, 1])):
        eager("SplitV", x, i32(*sizes), tensor("int32", axis), num_split=len(sizes))
    for index in ([], [1], [0, 1], [1, 2, 3], [2, 1]):
        eager("MatrixDiagV3", ones(3), i32(*index), tensor("int32", -1), tensor("int32", -1), f32(0.))
        eager("MatrixSetDiagV3", ones(3, 3), ones(3), i32(*index))
    eager("SparseReshape", tensor("int64", [[0, 0], [0, 1]]), tensor("int64", [0, 0]), tensor("int64", [2, 0]))
    eager("SparseFillEmptyRows", tensor("int64", [[0, 0]]), f32([1.]), tensor("int64", [-1, 2]), f32(0.))


def small():
    """Numbers that are not normal are 0, in and out of every kernel; copies keep them."""
    tiny = f32([1e-40, -1e-40, 1e-45, -0., 1.2e-38, 1., 2., 3.])
    for op in ("Sqrt", "Rsqrt", "Log", "Neg", "Abs", "Square", "Floor", "Ceil", "Identity", "Reciprocal", "Exp", "Tanh", "Sigmoid", "IsFinite"):
        eager(op, tiny)
    for op in ("AddV2", "Sub", "Mul", "RealDiv", "Equal", "Greater", "DivNoNan", "MulNoNan", "FloorDiv", "FloorMod", "Xlogy", "Xdivy"):
        eager(op, tiny, f32([0., 1., 1., 0., .25, 1e-40, 1e-45, -1e-40]))
        eager(op, f32([0., 1., 1., -0., .25, 1e-40, 1e-45, -1e-40]), tiny)
    for op in ("Sum", "Mean", "Max", "Prod"):
        eager(op, f32([1e-40, -1e-40, 1e-38, 3e-39]), i32(0))
    for name in ("double", "half", "bfloat16"):
        eager("Cast", tiny, DstT=name)
    eager("Cast", tensor("half", [6e-8, 1e-7, 6e-5]), DstT="float")
    eager("MatMul", f32([[1e-40, 1]]), f32([[1.], [1e-40]]))
    eager("StringToNumber", tensor("string", [b"1e-40", b"1e-45"]), out_type="float")
    for name in ("float", "double", "half"):
        for op in ("Xlogy", "Xdivy", "Xlog1py"):
            eager(op, tensor(name, [-0.] * 19), tensor(name, [NAN, INF, -1., 0., 2.] * 3 + [1.] * 4))


def main():
    for family in (ranges, einsums, quantize, projections, slices, windows, constants, mistakes, small):
        family()
    TF.stop()
    root = os.path.join(os.path.dirname(os.path.abspath(__file__)), "../tests/data")
    for name, found in (("op_goldens_probe.txt", EAGER), ("shape_goldens_probe.txt", SHAPES)):
        with open(os.path.join(root, name), "w", encoding="utf-8") as f:
            f.write("# Made by tools/goldens_probe.py with TensorFlow; do not edit.\n" + "".join(dict.fromkeys(found)))
        print("%s: %d cases" % (name, len(found)))


if __name__ == "__main__":
    main()
