#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Writes tests/data/op_goldens_edges.txt: what TensorFlow answers at the edges of what ops take: numbers that do not fit
their new type, indices of odd shapes, training steps with numbers out of range, empty slices, lists with unset elements.

Run with a Python that has TensorFlow:  /opt/tfvenv/bin/python tools/goldens_edges.py
The format is that of gen_op_goldens.py and goldens_ragged.py (keep, kept); TensorFlow is asked through its C API, as
tools/fuzz_ops.py does. A case that ends TensorFlow's process is left out.
"""
import os
import sys

import numpy as np

sys.path.insert(0, os.path.dirname(os.path.abspath(__file__)))
import fuzz_cases as cases  # noqa: E402
import fuzz_ops as fuzz  # noqa: E402

DATA = os.path.join(os.path.dirname(os.path.abspath(__file__)), "../tests/data")
TF = fuzz.Child("tensorflow")
BLOCKS = []
I, L, F = "int32", "int64", "float"


def T(name):
    return ("type", name)


def t(name, value):
    """A tensor; floats pass through float64 so that every type rounds by itself."""
    a = np.asarray(value)
    if name in cases.FLOATS + cases.COMPLEX:
        with np.errstate(all="ignore"):
            a = a.astype(np.float64).astype(cases.NUMPY[name])
    return cases.from_array(name, a)


def call(op, *inputs, variables=0, **attrs):
    case = {"op": op, "attrs": attrs, "inputs": list(inputs), "vars": variables}
    TF.send(case)
    answer = TF.receive()
    if answer[0] in ("ok", "error"):
        BLOCKS.append(fuzz.text_of(case, answer))


def steps(*calls):
    """(op, attrs, inputs) each; an input may be ("from", step, output). All but the last only have to succeed."""
    case = {"mode": "steps", "steps": list(calls), "inputs": []}
    TF.send(case)
    answer = TF.receive()
    if answer[0] != "steps" or any(a[0] != "ok" for a in answer[1][:-1]):
        return
    first, number, blocks = [], 0, []
    for (op, attrs, inputs), got in zip(calls, answer[1]):
        lines = ["op " + op] + ["attr %s %s" % (k, cases.attr_text(*v)) for k, v in sorted(attrs.items())]
        for x in inputs:
            lines.append("kept %d" % (first[x[1]] + x[2]) if x[0] == "from" else "in " + cases.tensor_text(x))
        first.append(number)
        if len(first) < len(calls):
            number += len(got[1])
            lines.append("keep")
        elif got[0] == "ok":
            lines += ["out " + cases.tensor_text(x) for x in got[1]]
        else:
            lines.append("error %d %s" % (got[1], fuzz.clean(got[2])))
        blocks.append("\n".join(lines) + "\n")
    BLOCKS.extend(blocks)


# ---------------------------------------------------------------- families
def casts():
    """Whole vectors of TensorFlow's give the nearest number, what is left over is cut."""
    odd = [0, -0.0, 1, -1, .5, -.9, -1.5, 2.7, 127, 128, -128, -129, 255, 256, -300, 32767, 32768, -32768, -32769, 65535, 65536, 70000,
           -70000, 2 ** 31 - 1, 2 ** 31, -2 ** 31, -2 ** 31 - 1024, 2 ** 32, 2 ** 32 + 4096, -2 ** 32, 1e19, -1e30, np.inf, -np.inf, np.nan, 3e9, 1e10]
    for src in ("float", "double", "half", "bfloat16", "complex64", "complex128"):
        for dst in ("int8", "uint8", "int16", "uint16", "uint32"):
            for values in ((odd[::-1] + odd)[:66], odd[20:27]):
                call("Cast", t(src, values), SrcT=T(src), DstT=T(dst))


def scatters():
    """A vector of indices is one row of them to inference, and rows of one index to the kernels."""
    for index, updates, shape in (([1], [1., 2, 3], [3, 3]), ([0, 1], [[1., 2], [3, 4]], [3, 2]), ([0, 1], [1., 2], [5]), ([2], [7.], [5]),
                                  ([0], [1.], [5, 1]), ([0, 1], [1., 2], [3, 3, 2]), ([9, 1], [[1., 2], [3, 4]], [3, 2]),
                                  ([4], [[1., 2]], [3, 2]), ([1], [[1., 2], [3, 4]], [5])):
        zeros = t(F, np.zeros(shape))
        call("ScatterNd", t(I, index), t(F, updates), t(I, shape), Tindices=T(I))
        for op in ("TensorScatterUpdate", "TensorScatterAdd", "TensorScatterMax"):
            call(op, zeros, t(I, index), t(F, updates), Tindices=T(I))
        for op in ("ResourceScatterNdUpdate", "ResourceScatterNdAdd", "ResourceScatterNdMin"):
            call(op, zeros, t(I, index), t(F, updates), variables=1, Tindices=T(I), T=T(F))
    for index in ([1], [0], [-1]):
        call("ResourceGather", t(F, np.zeros([1, 1, 0])), t(I, index), variables=1, dtype=T(F), Tindices=T(I))
    for value in (np.ones([2, 2]), np.ones([0, 0]), np.ones([5])):
        for op, n in (("ResourceStridedSliceAssign", 1), ("TensorStridedSliceUpdate", 0)):
            for end in ([0, 0], [0, 1], [2, 2]):
                call(op, t(F, np.zeros([3, 2])), t(I, [0, 0]), t(I, end), t(I, [1, 1]), t(F, value), variables=n, T=T(F), Index=T(I))


def training():
    """Learning rates, powers and regularization out of their range; rows of nothing."""
    table = cases.specs()
    state = ("var", "accum", "linear", "ms", "mom", "mg", "m", "v", "vhat", "accum_update", "gradient_accumulator", "gradient_squared_accumulator")
    for op, spec in sorted(table.items()):
        if not op.startswith("Resource") or "Apply" not in op or "Accum" in op:
            continue
        numbers = [n for n, k in spec.inputs if n not in state + ("grad", "indices") and k != "int64"]
        rows = [(2, 0), (0, 3)] if "Sparse" in op else []
        for bad, value, shape in [(n, v, (2, 2)) for n in numbers for v in (-.5, 0., 2.5)] + [(None, 0, s) for s in rows]:
            inputs, variables = [], 0
            for n, kind in spec.inputs:
                if kind == "resource":
                    inputs.append(t(F, np.full(shape, .5)))
                    variables += 1
                elif n == "indices":
                    inputs.append(t(I, np.arange(shape[0] if 0 not in shape else 0)))
                elif n == "grad":
                    inputs.append(t(F, np.full(shape if 0 not in shape else (0,) + shape[1:], .25)))
                elif kind == "int64":
                    inputs.append(t(L, 3))
                else:
                    inputs.append(t(F, value if n == bad else -.5 if n == "lr_power" else .5))
            attrs = {"T": T(F)}
            if "Tindices" in spec.attrs:
                attrs["Tindices"] = T(I)
            call(op, *inputs, variables=variables, **attrs)
    for op in ("ResourceSparseApplyFtrl", "ResourceSparseApplyFtrlV2"):
        inputs = [t(F, np.full([2, 2], .5))] * 3 + [t(F, np.full([2, 2], .25)), t(I, [0, 1]), t(F, 0.), t(F, .5), t(F, .5)]
        inputs += [t(F, .1)] * op.endswith("V2") + [t(F, -.5)]
        call(op, *inputs, variables=3, T=T(F), Tindices=T(I), multiply_linear_by_lr=("bool", True))
    # What blows up: gradients that are no numbers, and states that are not.
    blown = ["Ftrl", "RMSProp", "CenteredRMSProp", "ProximalGradientDescent", "ProximalAdagrad", "Adagrad", "Momentum"]
    for op in ["ResourceSparseApply" + n for n in blown] + ["ResourceApply" + n for n in blown + ["PowerSign", "AddSign", "AdaMax", "Adam"]]:
        spec = table[op]
        more = [] if "Proximal" in op else ["half"] if "Sparse" in op and "RMSProp" in op or "AdaMax" in op else ["half", "bfloat16"]
        for name in ["float", "double"] + more:
            inputs, variables = [], 0
            for n, kind in spec.inputs:
                if kind == "resource":
                    inputs.append(t(name, np.full([2, 4], .5) if variables != 1 else [[.5, .5, np.inf, .5], [.5, np.nan, .25, .5]]))
                    variables += 1
                elif n == "indices":
                    inputs.append(t(I, [0, 1]))
                elif n in ("grad", "delta"):
                    inputs.append(t(name, [[np.nan, np.inf, 1., -np.inf], [.25, 3., -2., -1.5]]))
                else:
                    inputs.append(t(name, -.5 if n == "lr_power" else .25))
            attrs = {"T": T(name)}
            if "Tindices" in spec.attrs:
                attrs["Tindices"] = T(I)
            call(op, *inputs, variables=variables, **attrs)


def counts():
    for shape in ((0, 1), (1, 0), (0,), (2, 0)):
        for weights in (shape, (0,)):
            call("DenseCountSparseOutput", t(I, np.zeros(shape)), t(F, np.zeros(weights)), binary_output=("bool", True))
    for shape in ([0, 0], [0, 3], [2, 0], [0]):
        call("SparseCountSparseOutput", t(L, np.zeros([0, len(shape)])), t(I, np.zeros([0])), t(L, shape), t(F, np.zeros([0])),
             binary_output=("bool", False))
    for shape, dense in (([0, 0], [1]), ([0, 0], [1, 1]), ([3, 0], [3, 1]), ([0, 0], []), ([3, 0], [0]), ([3, 0], [3, 0])):
        for op in ("SparseDenseCwiseAdd", "SparseDenseCwiseMul"):
            call(op, t(L, np.zeros([0, 2])), t(F, np.zeros([0])), t(L, shape), t(F, np.zeros(dense)))
    for op in ("SparseSegmentSumGrad", "SparseSegmentMeanGrad", "SparseSegmentSqrtNGrad"):
        for ids, rows in (([-1, 2], 0), ([0, 5], 0), ([0, 0], 0), ([0, 5], 3)):
            for version in ("", "V2"):
                call(op + version, t(F, [[1., 2]]), t(I, [0, 0]), t(I, ids), t(I, rows), T=T(F), Tidx=T(I), Tsegmentids=T(I))
    for sizes, axis in (([7], 0), ([2], 0), ([1, 1], 0), ([7], 5), ([4], 1)):
        call("SplitV", t(F, np.zeros([2, 4])), t(L, sizes), t(I, axis), num_split=("int", 1))
    for seed in ([1], [1, 2], [[1, 2]]):
        call("StatelessMultinomial", t(F, np.zeros([3, 1])), t(I, 0), t(L, seed), T=T(F), Tseed=T(L), output_dtype=T(L))


def products():
    r = np.random.RandomState(3)
    for a, b in (("int8", "bfloat16"), ("uint8", "bfloat16"), ("bfloat16", "int8"), ("bfloat16", "uint8")):
        for adjoint in (False, True):
            x = r.randint(0, 100, [2, 3, 3])
            y = r.randint(0, 100, [1, 3, 3])
            call("BatchMatMulV3", t(a, x), t(b, y), Ta=T(a), Tb=T(b), Tout=T("bfloat16"), adj_x=("bool", adjoint), adj_y=("bool", not adjoint))
        call("BatchMatMulV3", t(a, 1), t(b, [[1]]), Ta=T(a), Tb=T(b), Tout=T("bfloat16"))
    for stride in (3, 4, 5):
        for size in (1, 2):
            call("ExtractVolumePatches", t("uint16", r.randint(0, 99, [1, 3, 4, 5, 1])), T=T("uint16"), ksizes=("list(int)", [1, size, 1, 2, 1]),
                 strides=("list(int)", [1, stride, stride, stride, 1]), padding=("string", b"SAME"))
    for depth in (0, 2):
        call("Conv", t(F, np.zeros([1, 3, 3, 2])), t(F, np.zeros([1, depth and 0, 2, depth])), T=T(F), padding=("string", b"SAME"),
             strides=("list(int)", [1, 1, 1, 1]))
    for rate in (1.4, 1.5, 2.5, 44100.):
        call("AudioSummaryV2", ("string", (), [b"a"]), t(F, [[0.]]), t(F, rate))


def volumes():
    """Under SAME, strides that leave something over, and windows wider than the volume."""
    r = np.random.RandomState(4)

    def geometry(stride, **more):
        return dict(more, T=T(F), strides=("list(int)", [1] + stride + [1]), padding=("string", b"SAME"))
    for n, k, s in ((3, 1, 3), (6, 1, 3), (4, 2, 4), (7, 1, 4), (9, 2, 5), (8, 3, 5), (5, 1, 2)):
        for op in ("Conv3D", "Conv"):
            call(op, t(F, r.randint(-9, 9, [1, n, 1, n, 1])), t(F, r.randint(-3, 3, [k, 1, 1, 1, 2])), **geometry([s, 1, s]))
        for op in ("MaxPool3D", "AvgPool3D"):
            call(op, t(F, r.randint(-9, 9, [1, n, 1, n, 1])), **geometry([s, 1, s], ksize=("list(int)", [1, k, 2, 1, 1])))
    for n, k, s in ((5, 7, 1), (6, 7, 1), (6, 9, 1), (5, 7, 2), (6, 5, 1), (2, 3, 1), (6, 1, 3)):
        out = -(-n // s)
        call("AvgPool3DGrad", t(I, [1, n, 1, n, 1]), t(F, r.randint(1, 9, [1, out, 1, out, 1])), **geometry([s, 1, s], ksize=("list(int)", [1, k, 1, k, 1])))
        call("AvgPoolGrad", t(I, [1, n, n, 1]), t(F, r.randint(1, 9, [1, out, out, 1])), T=T(F), ksize=("list(int)", [1, k, 3, 1]),
             strides=("list(int)", [1, s, s, 1]), padding=("string", b"SAME"))
    for size in ([6, 3], [1, 1], [1, 4]):
        for shape in ([1, 1, 1, 1], [1, 1, 2, 1], [1, 2, 1, 1], [1, 2, 3, 1]):
            for op in ("ResizeArea", "ResizeBilinear", "ResizeNearestNeighbor", "ResizeBicubic"):
                call(op, t(F, np.arange(1, 1 + np.prod(shape)).reshape(shape)), t(I, size), T=T(F), align_corners=("bool", True))


def functions():
    """Where special functions leave their domain, or the range of float."""
    x = [-30.7, -12.6, -8.5, -5.25, -3.1, -.5, -1., -10., 0., np.nan, np.inf, -np.inf, 2.5]
    for name in ("float", "double"):
        for n in (0., 1., 2., -1., .5, np.nan):
            call("Polygamma", t(name, np.full(len(x), n)), t(name, x), T=T(name))
        for s in (1., 2., 3., 1.5, .5, np.nan):
            call("Zeta", t(name, np.full(len(x), s)), t(name, x), T=T(name))
    for name in ("float", "double", "half"):
        for op in ("BesselI0", "BesselI1", "BesselK0", "BesselK1"):
            call(op, t(name, [88., 88.7, 88.73, 89., 91., -89.5, 700., 709.5, 709.8, 711., -712., 720.]), T=T(name))


def lists():
    e, s, h = {"element_dtype": T(F)}, {"shape_type": T(I)}, ("from", 0, 0)
    for said in (-1, [2], [-1]):
        made = ("TensorListReserve", dict(e, **s), [t(I, said), t(I, 3)])
        for items in ((0,), (1,), (0, 2)):
            sets = []
            for k in items:
                sets.append(("TensorListSetItem", e, [("from", len(sets), 0), t(I, k), t(F, [1., 2] if said == [2] else [1., 2, 3][:2 + k // 2])]))
            last = ("from", len(sets), 0)
            for given in (-1, [2], [-1], [3]):
                for index in ([0], [1], [0, 1], [], [3]):
                    steps(made, *sets, ("TensorListGather", e, [last, t(I, np.array(index, np.int32)), t(I, given)]))
                for leading in ([], [1, 1, 1]):
                    steps(made, *sets, ("TensorListConcatV2", dict(e, **s), [last, t(I, given), t(L, np.array(leading, np.int64))]))
        for given in (-1, [2], [3]):
            empty = ("TensorListReserve", dict(e, **s), [t(I, said), t(I, 0)])
            steps(empty, ("TensorListConcatV2", dict(e, **s), [h, t(I, given), t(L, np.zeros([0]))]))
            steps(empty, ("TensorListGather", e, [h, t(I, np.zeros([0])), t(I, given)]))


def write(name, families):
    """All of |families| into op_goldens_NAME.txt."""
    for family in families:
        family()
    TF.stop()
    path = os.path.join(DATA, "op_goldens_%s.txt" % name)
    with open(path, "w", encoding="utf-8") as f:
        f.write("# Made by tools/goldens_%s.py from TensorFlow's answers.\n" % name + "".join(BLOCKS))
    print("%d blocks, %d bytes" % (len(BLOCKS), os.path.getsize(path)))


if __name__ == "__main__":
    write("edges", (casts, scatters, training, counts, products, volumes, functions, lists))
