#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Writes tests/data/op_goldens_sparse.txt: what the real TensorFlow answers to sparse operations.

Run with a Python that has TensorFlow:  /opt/tfvenv/bin/python tools/goldens_sparse.py [FAMILY…]
Helpers and the two extra lines (keep, kept) are those of goldens_ragged.py.
"""
import sys

import goldens_ragged as r
import numpy as np
import tensorflow as tf
from golden_case import cpu_types, data
from goldens_ragged import PLAIN, again, c32, c64, case, g, keep, text, values

F = tf.float32
AT = [[0, 0], [0, 2], [1, 1], [2, 0]]


def crosses():
    words, numbers = text(["a", "bc", "żó"]), c64([7, -8, 2**40 + 5])
    at, shape = c64([[0, 0], [0, 2], [2, 1]]), c64([3, 3])
    dense, dense_numbers = text([["x", "y"], ["z", "w"], ["u", "v"]]), c64([[1], [-2], [2**33]])
    for hashed, buckets in ((False, 0), (True, 0), (True, 10)):
        for inside in (tf.string, tf.int64):
            if hashed == (inside == tf.string):
                continue
            kw = dict(outputs=3, hashed_output=hashed, num_buckets=buckets, hash_key=956888297470,
                      out_type=tf.int64 if hashed else tf.string, internal_type=inside)
            case("SparseCross", [at, at], [words, words], [shape, shape], [], **kw)
            case("SparseCross", [at, at], [words, numbers], [shape, shape], [dense, dense_numbers], **kw)
            case("SparseCross", [at], [words], [shape], [dense], **kw)
            case("SparseCross", [at], [numbers], [shape], [], **kw)
            case("SparseCross", [at[:0]], [words[:0]], [shape], [dense], **kw)
            case("SparseCross", [at[0]], [words], [shape], [], **kw)
            case("SparseCross", [at[:, :1]], [words], [shape], [], **kw)
            case("SparseCross", [at], [words[:2]], [shape], [], **kw)
            case("SparseCross", [at], [words[None]], [shape], [], **kw)
            case("SparseCross", [at], [words], [c64([3, 3, 3])], [], **kw)
            case("SparseCross", [at], [words], [c64([[3, 3]])], [], **kw)
            case("SparseCross", [at, at], [words, words], [shape, c64([4, 3])], [], **kw)
            case("SparseCross", [at], [words], [shape], [dense[:2]], **kw)
            case("SparseCross", [at], [words], [shape], [dense[0]], **kw)
    for sep in ("_X_", "", "+-"):
        case("SparseCrossV2", [at, at], [words, numbers], [shape, shape], [dense, dense_numbers], text(sep),
             outputs=3)
    case("SparseCrossV2", [at], [words], [shape], [dense], text(["a"]), outputs=3)
    case("SparseCrossV2", [at], [words[:1]], [shape], [dense], text("a"), outputs=3)
    for strong in (False, True):
        for salt in ([0, 0], [137, 173], [-1, 2**40]):
            for buckets in (0, 10):
                # TensorFlow crashes on dense columns with a strong hash.
                case("SparseCrossHashed", [at, at], [words, numbers], [shape, shape],
                     [] if strong else [dense, dense_numbers], c64(buckets), tf.constant(strong), c64(salt),
                     outputs=3)
        case("SparseCrossHashed", [at], [words], [shape], [], c64(0), tf.constant(strong), c64([5, 6]),
             outputs=3)
    case("SparseCrossHashed", [at], [words], [shape], [], c64([0]), tf.constant(True), c64([5, 6]),
         outputs=3)
    case("SparseCrossHashed", [at], [words], [shape], [], c64(0), tf.constant([True]), c64([5, 6]),
         outputs=3)
    case("SparseCrossHashed", [at], [words], [shape], [], c64(0), tf.constant(True), c64([5, 6, 7]),
         outputs=3)


def adds():
    a, b, shape = c64(AT), c64([[0, 2], [1, 0], [1, 1]]), c64([3, 3])
    real = {tf.complex64: tf.float32, tf.complex128: tf.float64}
    for t in cpu_types("SparseAdd"):
        va, vb = data(t, [4]), data(t, [3])
        for thresh in (0, 1):
            case("SparseAdd", a, va, shape, b, vb, shape, tf.constant(thresh, real.get(t, t)), outputs=3)
        case("SparseAddGrad", data(t, [6]), a, b, c64([[0, 0], [0, 2], [1, 0], [1, 1], [2, 0], [2, 2]]),
             outputs=2)
    va, vb, zero = data(F, [4]), data(F, [3]), tf.constant(0.0)
    case("SparseAdd", a, va, shape, b, -va[1:], shape, zero, outputs=3)
    case("SparseAdd", a, va, shape, a, -va, shape, zero, outputs=3)
    case("SparseAdd", a, va, shape, a, -va, shape, tf.constant(0.1), outputs=3)
    case("SparseAdd", a, tf.constant([np.nan, 1.0, np.inf, -2.0]), shape, a, va, shape, tf.constant(0.5),
         outputs=3)
    case("SparseAdd", a[:0], va[:0], shape, b, vb, shape, zero, outputs=3)
    case("SparseAdd", a[:0], va[:0], shape, b[:0], vb[:0], shape, zero, outputs=3)
    case("SparseAdd", a, va, shape, b, vb, c64([3, 4]), zero, outputs=3)
    case("SparseAdd", a, va, shape, b, vb, c64([3]), zero, outputs=3)
    case("SparseAdd", a[0], va, shape, b, vb, shape, zero, outputs=3)
    case("SparseAdd", a, va[None], shape, b, vb, shape, zero, outputs=3)
    case("SparseAdd", a, va[:3], shape, b, vb, shape, zero, outputs=3)
    case("SparseAdd", a, va, shape, b, vb[:2], shape, zero, outputs=3)
    case("SparseAdd", a, va, c64([[3, 3]]), b, vb, shape, zero, outputs=3)
    case("SparseAdd", a, va, shape, b, vb, shape, tf.constant([0.0]), outputs=3)
    case("SparseAdd", a, va, c64([3, 3, 3]), b, vb, c64([3, 3, 3]), zero, outputs=3)
    s = c64([[0, 0], [0, 2], [1, 0], [1, 1], [2, 0]])
    case("SparseAddGrad", data(F, [5]), a, b, s, outputs=2)
    case("SparseAddGrad", data(F, [5]), a, b[:0], s, outputs=2)
    case("SparseAddGrad", data(F, [4]), a, b, s, outputs=2)
    case("SparseAddGrad", data(F, [5, 1]), a, b, s, outputs=2)
    case("SparseAddGrad", data(F, [5]), a[0], b, s, outputs=2)
    case("SparseAddGrad", data(F, [5]), a[:, :1], b, s, outputs=2)
    case("SparseAddGrad", data(F, [5]), a, b, s[:, :1], outputs=2)


def dense_ops():
    a, shape = c64(AT), c64([3, 3])
    op = "SparseTensorDenseAdd"
    for t in cpu_types(op):
        case(op, a, data(t, [4]), shape, data(t, [3, 3]))
    for i in (tf.int32, tf.int64):
        case(op, tf.cast(a, i), data(F, [4]), tf.cast(shape, i), data(F, [3, 3]))
    case(op, a, data(F, [4]), shape, data(F, [3, 4]))
    case(op, a, data(F, [4]), c64([3, 4]), data(F, [3, 3]))
    case(op, a, data(F, [3]), shape, data(F, [3, 3]))
    case(op, a, data(F, [4, 1]), shape, data(F, [3, 3]))
    case(op, a[0], data(F, [4]), shape, data(F, [3, 3]))
    case(op, a + 1, data(F, [4]), shape, data(F, [3, 3]))
    case(op, a - 1, data(F, [4]), shape, data(F, [3, 3]))
    case(op, a, data(F, [4]), c64([3]), data(F, [3]))
    case(op, a[:, :1], data(F, [4]), c64([3]), data(F, [3]))
    case(op, a, data(F, [4]), c64([[3, 3]]), data(F, [3, 3]))
    case(op, tf.zeros([0, 2], tf.int64), data(F, [0]), shape, data(F, [3, 3]))
    case(op, c64([[0, 1, 0], [1, 0, 1]]), data(F, [2]), c64([2, 2, 2]), data(F, [2, 2, 2]))
    case(op, c64([[0] * 6]), data(F, [1]), c64([1] * 6), data(F, [1] * 6))
    for op in ("SparseDenseCwiseAdd", "SparseDenseCwiseMul", "SparseDenseCwiseDiv"):
        for t in cpu_types(op):
            d = data(t, [3, 3], 0.5, 3)
            if t.is_integer:
                d = tf.where(tf.equal(d, tf.zeros_like(d)), tf.ones_like(d), d) if t in (
                    tf.int32, tf.int64, tf.uint8, tf.int8, tf.int16) else tf.ones_like(d)
            case(op, a, data(t, [4]), shape, d)
        f = data(F, [4])
        case(op, a, f, shape, data(F, [3]))
        case(op, a, f, shape, data(F, [1, 3]))
        case(op, a, f, shape, data(F, [3, 1]))
        case(op, a, f, shape, data(F, []))
        case(op, a, f, shape, data(F, [2, 3]))
        case(op, a, f, shape, data(F, [1, 3, 3]))
        case(op, a, f[:3], shape, data(F, [3, 3]))
        case(op, a[0], f, shape, data(F, [3, 3]))
        case(op, a, f[None], shape, data(F, [3, 3]))
        case(op, a, f, c64([[3, 3]]), data(F, [3, 3]))
        case(op, a, f, c64([3]), data(F, [3]))
        case(op, a + 1, f, shape, data(F, [3, 3]))
        case(op, a - 1, f, shape, data(F, [3, 3]))
        case(op, tf.zeros([0, 2], tf.int64), f[:0], shape, data(F, [3, 3]))
        case(op, tf.zeros([0, 2], tf.int64), f[:0], c64([0, 3]), data(F, [3]))
        case(op, a, tf.constant([np.nan, np.inf, 0.0, -0.0]), shape, tf.zeros([3, 3]))


def reductions():
    at = c64([[0, 0, 1], [0, 2, 0], [1, 1, 1], [1, 1, 2], [2, 0, 0]])
    shape = c64([3, 3, 4])
    for op in ("SparseReduceSum", "SparseReduceMax", "SparseReduceSumSparse", "SparseReduceMaxSparse"):
        n = 3 if "Sparse" in op[6:] else 1
        for t in cpu_types(op):
            case(op, at, data(t, [5]), shape, c32([1]), outputs=n, keep_dims=False)
        f = data(F, [5])
        for axes in ([], [0], [1], [2], [-1], [0, 1], [0, 2], [1, 2], [2, 1], [0, 1, 2], [-1, 0]):
            for keeps in (False, True):
                case(op, at, f, shape, c32(axes), outputs=n, keep_dims=keeps)
        case(op, at, f, shape, c32(1), outputs=n, keep_dims=False)
        case(op, at, f, shape, c32([3]), outputs=n, keep_dims=False)
        case(op, at, f, shape, c32([-4]), outputs=n, keep_dims=False)
        case(op, at, f, shape, c32([1, 1]), outputs=n, keep_dims=False)
        case(op, at, f, shape, c32([[1]]), outputs=n, keep_dims=False)
        case(op, at[:0], f[:0], shape, c32([1]), outputs=n, keep_dims=False)
        case(op, at[:0], f[:0], shape, c32([0, 1, 2]), outputs=n, keep_dims=True)
        case(op, at, f[:4], shape, c32([1]), outputs=n, keep_dims=False)
        case(op, at, f, c64([3, 3]), c32([1]), outputs=n, keep_dims=False)
        case(op, at[0], f, shape, c32([1]), outputs=n, keep_dims=False)
        case(op, tf.gather(at, [4, 0, 2, 1, 3]), f, shape, c32([1]), outputs=n, keep_dims=False)
        case(op, at, tf.constant([np.nan, 1.0, -np.inf, np.inf, -0.0]), shape, c32([2]), outputs=n,
             keep_dims=False)


def elementwise():
    a, b, shape = c64(AT), c64([[0, 2], [1, 0], [1, 1]]), c64([3, 3])
    for op in ("SparseSparseMaximum", "SparseSparseMinimum"):
        for t in cpu_types(op):
            case(op, a, data(t, [4]), shape, b, data(t, [3]), shape, outputs=2)
        va, vb = data(F, [4]), data(F, [3])
        case(op, a, va, shape, b[:0], vb[:0], shape, outputs=2)
        case(op, a[:0], va[:0], shape, b[:0], vb[:0], shape, outputs=2)
        case(op, a, tf.constant([np.nan, 1.0, np.inf, -0.0]), shape, a,
             tf.constant([1.0, np.nan, -np.inf, 0.0]), shape, outputs=2)
        case(op, a, va, shape, b, vb, c64([3, 4]), outputs=2)
        case(op, a, va, shape, b, vb, c64([3]), outputs=2)
        case(op, a, va[:2], shape, b, vb, shape, outputs=2)
        case(op, a, va, shape, b, vb[:2], shape, outputs=2)
        case(op, a[0], va, shape, b, vb, shape, outputs=2)
        case(op, a, va[None], shape, b, vb, shape, outputs=2)
        case(op, a, va, c64([[3, 3]]), b, vb, shape, outputs=2)
        case(op, a, va, shape, b[:, :1], vb, shape, outputs=2)
        case(op, tf.zeros([1, 0], tf.int64), va[:1], c64([]), tf.zeros([1, 0], tf.int64), vb[:1], c64([]),
             outputs=2)
    for t in cpu_types("SparseSoftmax"):
        case("SparseSoftmax", a, data(t, [4]), shape)
        case("SparseSoftmax", c64([[0, 0, 1], [0, 0, 2], [0, 2, 0], [1, 1, 1]]), data(t, [4]), c64([2, 3, 3]))
    f = data(F, [4])
    case("SparseSoftmax", a, tf.constant([np.nan, 1.0, np.inf, 300.0]), shape)
    case("SparseSoftmax", a[:0], f[:0], shape)
    case("SparseSoftmax", a[:, :1], f, c64([3]))
    case("SparseSoftmax", a, f[:3], shape)
    case("SparseSoftmax", a[0], f, shape)
    case("SparseSoftmax", a, f[None], shape)
    case("SparseSoftmax", a, f, c64([[3, 3]]))
    case("SparseSoftmax", a, f, c64([3, 3, 3]))


def splits():
    at, shape = c64([[0, 0], [0, 3], [1, 4], [2, 2], [2, 6]]), c64([3, 7])
    for t in [x for x in PLAIN if x in cpu_types("SparseSplit")]:
        case("SparseSplit", c64(1), at, values(t, [5]), shape, outputs=6, num_split=2)
    f = data(F, [5])
    for n in (1, 3, 7):
        case("SparseSplit", c64(1), at, f, shape, outputs=3 * n, num_split=n)
    for axis in (0, -1, -2):
        case("SparseSplit", c64(axis), at, f, shape, outputs=6, num_split=2)
    for axis in (2, -3):
        case("SparseSplit", c64(axis), at, f, shape, outputs=6, num_split=2)
    case("SparseSplit", c64([0]), at, f, shape, outputs=6, num_split=2)
    case("SparseSplit", c64([0, 1]), at, f, shape, outputs=6, num_split=2)
    case("SparseSplit", c64(0), at, f, shape, outputs=12, num_split=4)
    case("SparseSplit", c64(0), at, f[:4], shape, outputs=6, num_split=2)
    case("SparseSplit", c64(0), at[0], f, shape, outputs=6, num_split=2)
    case("SparseSplit", c64(0), at, f[None], shape, outputs=6, num_split=2)
    case("SparseSplit", c64(0), at, f, c64([[3, 7]]), outputs=6, num_split=2)
    case("SparseSplit", c64(0), at, f, c64([3]), outputs=6, num_split=2)
    case("SparseSplit", c64(0), at + 2, f, shape, outputs=6, num_split=2)
    case("SparseSplit", c64(0), at[:0], f[:0], shape, outputs=6, num_split=2)
    for t in cpu_types("SparseSliceGrad"):
        case("SparseSliceGrad", data(t, [2]), at, c64([0, 2]), c64([[0, 1], [2, 0]]))
    case("SparseSliceGrad", data(F, [0]), at, c64([0, 2]), tf.zeros([0, 2], tf.int64))
    case("SparseSliceGrad", data(F, [2]), at, c64([0]), c64([[0, 1], [2, 0]]))
    case("SparseSliceGrad", data(F, [2]), at, c64([[0, 1]]), c64([[0, 1], [2, 0]]))
    case("SparseSliceGrad", data(F, [3]), at, c64([0, 2]), c64([[0, 1], [2, 0]]))
    case("SparseSliceGrad", data(F, [2, 1]), at, c64([0, 2]), c64([[0, 1], [2, 0]]))
    case("SparseSliceGrad", data(F, [2]), at[0], c64([0, 2]), c64([[0, 1], [2, 0]]))
    case("SparseSliceGrad", data(F, [2]), at, c64([0, 2]), c64([[0, 1, 1], [2, 0, 1]]))
    case("SparseSliceGrad", data(F, [2]), at, c64([0, 2]), c64([[0, 0], [2, 1]]))
    for t in cpu_types("SparseFillEmptyRowsGrad"):
        case("SparseFillEmptyRowsGrad", c64([0, 2, 3]), values(t, [5]), outputs=2)
    for m in ([0, 9], [-1, 0], [], [0, 0]):
        case("SparseFillEmptyRowsGrad", c64(m), data(F, [4]), outputs=2)
    case("SparseFillEmptyRowsGrad", c64([[0]]), data(F, [4]), outputs=2)


def segment_grads():
    for name in ("Sum", "Mean", "SqrtN"):
        for version in ("", "V2"):
            op = "SparseSegment%sGrad%s" % (name, version)
            n = 2 if version else 1
            for t in cpu_types(op):
                case(op, data(t, [3, 2]), c32([0, 3, 0, 2]), c32([0, 0, 1, 2]), c32(5), outputs=n)
            for i in (tf.int32, tf.int64):
                for s in (tf.int32, tf.int64):
                    case(op, data(F, [3, 2]), tf.constant([0, 3, 3], i), tf.constant([0, 2, 2], s), c32(4),
                         outputs=n)
            f = data(F, [3, 2])
            if version:  # without, TensorFlow leaves the result as it finds it
                case(op, f, c32([]), c32([]), c32(4), outputs=n)
                case(op, f[:0], c32([]), c32([]), c32(4), outputs=n)
            case(op, data(F, [3]), c32([1, 1]), c32([0, 1]), c32(2), outputs=n)
            case(op, f, c32([0, 4]), c32([0, 1]), c32(4), outputs=n)
            case(op, f, c32([0, -1]), c32([0, 1]), c32(4), outputs=n)
            case(op, f, c32([0, 1]), c32([0, 3]), c32(4), outputs=n)
            case(op, f, c32([0, 1]), c32([-1, 0]), c32(4), outputs=n)
            case(op, f, c32([0, 1]), c32([1, 0]), c32(4), outputs=n)
            case(op, f, c32([0, 1, 2]), c32([0, 1]), c32(4), outputs=n)
            case(op, f, c32([0, 1]), c32([0, 1]), c32([4]), outputs=n)
            case(op, f, c32([[0, 1]]), c32([0, 1]), c32(4), outputs=n)
            case(op, f, c32([0, 1]), c32([[0, 1]]), c32(4), outputs=n)
            case(op, f, c32([0, 1]), c32([0, 1]), c32(-4), outputs=n)
            case(op, f, c32([0, 1]), c32([0, 1]), c32(0), outputs=n)
            case(op, tf.constant(1.0), c32([0]), c32([0]), c32(4), outputs=n)


def serialized():
    at, shape = c64([[0, 0], [0, 3], [2, 2]]), c64([3, 7])
    for t in [x for x in PLAIN]:
        v = values(t, [3])
        (s,) = case("SerializeSparse", at, v, shape, out_type=tf.string) or [None]
        if s is not None:
            case("DeserializeSparse", s, outputs=3, dtype=t)
            case("DeserializeSparse", tf.stack([s, s]), outputs=3, dtype=t)
            case("DeserializeManySparse", tf.stack([s, s]), outputs=3, dtype=t)
        (s,) = keep("SerializeSparse", at, v, shape, out_type=tf.variant) or [None]
        if s is not None:
            case("DeserializeSparse", s, outputs=3, dtype=t)
        (s,) = case("SerializeManySparse", at, v, shape, out_type=tf.string) or [None]
        if s is not None:
            case("DeserializeManySparse", s, outputs=3, dtype=t)
            case("DeserializeSparse", s, outputs=3, dtype=t)
        (s,) = keep("SerializeManySparse", at, v, shape, out_type=tf.variant) or [None]
        if s is not None:
            case("DeserializeSparse", s, outputs=3, dtype=t)
    f = data(F, [3])
    for op in ("SerializeSparse", "SerializeManySparse"):
        case(op, at[0], f, shape, out_type=tf.string)
        case(op, at, f[None], shape, out_type=tf.string)
        case(op, at, f, c64([[3, 7]]), out_type=tf.string)
        case(op, at, f[:2], shape, out_type=tf.string)
        case(op, at, f, c64([3]), out_type=tf.string)
    case("SerializeManySparse", at[:, :1], f, c64([3]), out_type=tf.string)
    case("SerializeManySparse", at, f, c64([2, 7]), out_type=tf.string)
    case("SerializeManySparse", at - 1, f, shape, out_type=tf.string)
    case("SerializeManySparse", tf.reverse(at, [0]), f, shape, out_type=tf.string)
    case("SerializeManySparse", at[:0], f[:0], c64([0, 7]), out_type=tf.string)
    case("SerializeManySparse", at[:0], f[:0], c64([2, 7]), out_type=tf.string)
    (x,) = case("SerializeSparse", at, f, shape, out_type=tf.string)
    (y,) = case("SerializeSparse", at[:2, :1], f[:2], c64([4]), out_type=tf.string)
    (z,) = case("SerializeSparse", at[:1], f[:1], c64([4, 9]), out_type=tf.string)
    for op in ("DeserializeSparse", "DeserializeManySparse"):
        case(op, tf.stack([x, z]), outputs=3, dtype=F)
        case(op, tf.stack([x, y]), outputs=3, dtype=F)
        case(op, x, outputs=3, dtype=tf.int32)
        case(op, tf.stack([x, x]), outputs=3, dtype=tf.int32)
        case(op, x[:, None] if x.shape.rank == 1 else x, outputs=3, dtype=F)
        case(op, x[:2], outputs=3, dtype=F)
        case(op, tf.zeros([0, 3], tf.string), outputs=3, dtype=F)
        case(op, text([["a", "b", "c"]]), outputs=3, dtype=F)
        case(op, tf.stack([tf.stack([x, z])]), outputs=3, dtype=F)
        case(op, tf.stack([x[1], x[1], x[2]])[None], outputs=3, dtype=F)
        case(op, tf.stack([x[0], x[0], x[2]])[None], outputs=3, dtype=F)
        case(op, tf.stack([x[0], x[1], x[0]])[None], outputs=3, dtype=F)


def maps():
    at, shape = c64([[0, 0], [0, 3], [2, 2]]), c64([3, 7])
    add, many, take = "AddSparseToTensorsMap", "AddManySparseToTensorsMap", "TakeManySparseFromTensorsMap"
    for n, t in enumerate(x for x in PLAIN if x in cpu_types(many)):
        kw = dict(container="", shared_name="m%d" % n)
        v = values(t, [3])
        (h,) = case(many, at, v, shape, **kw)
        case(take, h, outputs=3, dtype=t, **kw)
        (h,) = case(add, at, v, shape, **kw)
        (i,) = case(add, at[:1], v[:1], c64([5, 9]), **kw)
        case(take, tf.stack([h, i]), outputs=3, dtype=t, **kw)
    kw = dict(container="c", shared_name="other")
    f = data(F, [3])
    (h,) = case(add, at, f, shape, **kw)
    case(take, h, outputs=3, dtype=F, **kw)
    case(take, tf.stack([h]), outputs=3, dtype=tf.int32, **kw)
    (h,) = case(add, at, f, shape, **kw)
    case(take, tf.stack([h]), outputs=3, dtype=F, **kw)
    case(take, tf.stack([h]), outputs=3, dtype=F, **kw)
    case(take, c64([]), outputs=3, dtype=F, **kw)
    case(add, at[0], f, shape, **kw)
    case(add, at, f[None], shape, **kw)
    case(add, at, f, c64([[3, 7]]), **kw)
    case(add, at, f[:2], shape, **kw)
    case(add, at, f, c64([3]), **kw)
    case(many, at[0], f, shape, **kw)
    case(many, at, f[:2], shape, **kw)
    case(many, at[:, :1], f, c64([3]), **kw)
    case(many, at, f, c64([2, 7]), **kw)
    (h,) = case(add, at, f, shape, **kw)
    (i,) = case(add, at[:, :1], f, c64([3]), **kw)
    case(take, tf.stack([h, i]), outputs=3, dtype=F, **kw)
    case(take, c64([99]), outputs=3, dtype=F, container="", shared_name="nobody")


def sets():
    dd, ds, ss = "DenseToDenseSetOperation", "DenseToSparseSetOperation", "SparseToSparseSetOperation"
    kinds = ("a-b", "b-a", "intersection", "union")
    at1, at2 = c64([[0, 0], [0, 1], [1, 0], [2, 0], [2, 3]]), c64([[0, 0], [1, 0], [1, 1], [2, 1]])
    for t in cpu_types(dd):
        a = tf.cast(c32([[1, 2, 2], [3, 3, 1], [9, 8, 7]]), t) if t != tf.string else text(
            [["a", "b", "b"], ["c", "c", "a"], ["i", "h", "g"]])
        b = tf.cast(c32([[2, 5], [3, 3], [1, 1]]), t) if t != tf.string else text(
            [["b", "e"], ["c", "c"], ["a", "a"]])
        va, vb = tf.reshape(a, [-1])[:5], tf.reshape(b, [-1])[:4]
        for kind in kinds:
            case(dd, a, b, outputs=3, set_operation=kind, validate_indices=True)
            case(ds, a, at2, vb, c64([3, 2]), outputs=3, set_operation=kind, validate_indices=True)
            case(ss, at1, va, c64([3, 4]), at2, vb, c64([3, 2]), outputs=3, set_operation=kind,
                 validate_indices=True)
        case("SetSize", at1, va, c64([3, 4]), validate_indices=True)
    kw = dict(outputs=3, set_operation="union", validate_indices=True)
    a, b = c32([[1, 2, 2], [3, 3, 1]]), c32([[2, 5], [3, 3]])
    case(dd, a[0], b[0], **kw)
    case(dd, a[None], b[None], **kw)
    case(dd, a, b[:1], **kw)
    case(dd, a, b[None], **kw)
    case(dd, a[:, :0], b[:, :0], **kw)
    case(dd, a, b, outputs=3, set_operation="what", validate_indices=True)
    case(dd, a, b, outputs=3, set_operation="UNION", validate_indices=True)
    case(ds, a, at2, c32([1, 2, 3, 4]), c64([2, 2]), **kw)
    case(ds, a, at2[:3], c32([1, 2, 3]), c64([2, 2]), **kw)
    case(ds, a, at2[:3], c32([1, 2, 3]), c64([3, 2]), **kw)
    case(ds, a, tf.reverse(at2[:3], [0]), c32([1, 2, 3]), c64([2, 2]), **kw)
    case(ds, a, at2[:3], c32([1, 2]), c64([2, 2]), **kw)
    case(ds, a, at2[0], c32([1, 2]), c64([2, 2]), **kw)
    case(ds, a, at2[:3], c32([[1, 2, 3]]), c64([2, 2]), **kw)
    case(ds, a, at2[:3], c32([1, 2, 3]), c64([[2, 2]]), **kw)
    x, y, sh = c32([1, 2, 3, 4, 5]), c32([1, 2, 3, 4]), c64([3, 4])
    case(ss, at1, x, sh, at2, y, c64([4, 2]), **kw)
    case(ss, at1, x, sh, at2, y, c64([3, 4, 2]), **kw)
    case(ss, tf.reverse(at1, [0]), x, sh, at2, y, c64([3, 2]), **kw)
    case(ss, at1 + 2, x, sh, at2, y, c64([3, 2]), **kw)
    case(ss, at1[:0], x[:0], sh, at2[:0], y[:0], c64([3, 2]), **kw)
    case(ss, c64([[0, 0, 0], [1, 1, 2]]), x[:2], c64([2, 2, 4]), c64([[0, 0, 0], [0, 1, 2]]), y[:2],
         c64([2, 2, 4]), **kw)
    case("SetSize", at1[:0], x[:0], sh, validate_indices=True)
    case("SetSize", tf.reverse(at1, [0]), x, sh, validate_indices=True)
    case("SetSize", at1 + 2, x, sh, validate_indices=True)
    case("SetSize", at1, x[:3], sh, validate_indices=True)
    case("SetSize", c64([[0, 0, 0], [0, 0, 1], [1, 1, 2]]), c32([7, 7, 8]), c64([2, 2, 4]),
         validate_indices=True)
    case("SetSize", c64([[0], [1], [2]]), c32([7, 7, 8]), c64([4]), validate_indices=True)


def matrices():
    at, shape = c64([[0, 0], [0, 3], [2, 2]]), c64([3, 4])
    at3, shape3 = c64([[0, 0, 1], [0, 2, 0], [1, 1, 3]]), c64([2, 3, 4])
    make, dense, parts = "SparseTensorToCSRSparseMatrix", "CSRSparseMatrixToDense", "CSRSparseMatrixComponents"
    back, from_dense = "CSRSparseMatrixToSparseTensor", "DenseToCSRSparseMatrix"
    for t in cpu_types(make):
        for a, s in ((at, shape), (at3, shape3)):
            (m,) = keep(make, a, data(t, [3]), s)
            again(dense, m, type=t)
            again(back, m, outputs=3, type=t)
            again("SparseMatrixNNZ", m)
            for i in range(1 if a is at else 2):
                again(parts, m, c32(i), outputs=3, type=t)
            for conj in (False, True):
                (x,) = keep("SparseMatrixTranspose", m, conjugate=conj, type=t)
                again(dense, x, type=t)
            lead = [] if a is at else [2]
            for flags in ({}, {"transpose_a": True}, {"adjoint_a": True}, {"transpose_b": True},
                          {"adjoint_b": True}, {"transpose_output": True}, {"conjugate_output": True}):
                full = dict(transpose_a=False, transpose_b=False, adjoint_a=False, adjoint_b=False,
                            transpose_output=False, conjugate_output=False, **{})
                full.update(flags)
                rows = 3 if full["transpose_a"] or full["adjoint_a"] else 4
                b = [2, rows] if full["transpose_b"] or full["adjoint_b"] else [rows, 2]
                again("SparseMatrixMatMul", m, data(t, lead + b), **full)
            (d,) = keep(from_dense, data(t, lead + [4, 3]), c64([[0, 0], [2, 2], [3, 1]]) if a is at else
                        c64([[0, 0, 1], [0, 3, 0], [1, 1, 2]]))
            for flags in ({}, {"transpose_a": True, "transpose_b": True},
                          {"adjoint_a": True, "adjoint_b": True}):
                full = dict(transpose_a=False, transpose_b=False, adjoint_a=False, adjoint_b=False)
                full.update(flags)
                (p,) = keep("SparseMatrixSparseMatMul", m, d, type=t, **full)
                again(dense, p, type=t)
            case(dense, d, type=t)
    (m,) = keep(make, at, data(F, [3]), shape)
    again(dense, m, type=tf.float64)
    again(back, m, outputs=3, type=tf.float64)
    again(parts, m, c32(1), outputs=3, type=F)
    again(parts, m, c32([0]), outputs=3, type=F)
    kw = dict(transpose_a=False, transpose_b=False, adjoint_a=False, adjoint_b=False,
              transpose_output=False, conjugate_output=False)
    again("SparseMatrixMatMul", m, data(F, [3, 2]), **kw)
    again("SparseMatrixMatMul", m, data(F, [4]), **kw)
    again("SparseMatrixMatMul", m, data(F, [2, 4, 2]), **kw)
    again("SparseMatrixMatMul", m, data(tf.float64, [4, 2]), **kw)
    case("SparseMatrixMatMul", m, data(F, [4, 2]), **dict(kw, transpose_a=True, adjoint_a=True))
    (m,) = keep("TensorListReserve", c32([]), c32(2), element_dtype=F, shape_type=tf.int32)
    case(dense, m, type=F)
    case(make, at[0], data(F, [3]), shape)
    case(make, at, data(F, [3, 1]), shape)
    case(make, at, data(F, [2]), shape)
    case(make, at[:, :1], data(F, [3]), c64([3]))
    case(make, at, data(F, [3]), c64([[3, 4]]))
    case(make, at, data(F, [3]), c64([2, 4]))
    case(from_dense, data(F, [4]), at)
    case(from_dense, data(F, [3, 4]), at[:, :1])
    case(from_dense, data(F, [3, 4]), at + 3)
    case(from_dense, data(F, [3, 4]), at[0])


FIRST = {f.__name__: f for f in (crosses, adds, dense_ops, reductions, elementwise, splits)}
SECOND = {f.__name__: f for f in (segment_grads, serialized, maps, sets, matrices)}
FAMILIES = {**FIRST, **SECOND}

if __name__ == "__main__":
    for name, families in (("sparse", FIRST), ("sparse_more", SECOND)):
        g.rng.seed(22)
        r.write(name, families, [f for f in sys.argv[1:] if f in families])
