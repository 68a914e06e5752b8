#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Writes tests/data/op_goldens_{linalg,linalg_complex,fft,rng,special,various}.txt: TensorFlow's answers for linear
algebra, Fourier transforms, special functions and random distributions.

Run with a Python that has TensorFlow:  /opt/tfvenv/bin/python tools/goldens_linalg.py [FILE…]
In the language of golden_case.py, and 'terms N' as goldens_nn.py.
"""
import os
import re
import sys

import golden_case as g
import numpy as np
import tensorflow as tf
from golden_case import COMPLEX, cpu_types, data, i32, s32

F, D = tf.float32, tf.float64
ALL = [F, D] + COMPLEX


def case(op, inputs, terms=0, rough=0, **attrs):
    """Vectors that were not asked for come as a scalar with whatever was in the memory, and graph
    mode infers another shape than that: zero and unknown stand for them here."""
    attrs = g.default_types(op, attrs)
    if os.environ.get("VERBOSE"):
        print(op, inputs, attrs, flush=True)
    at, shape_at = len(g.lines), len(g.shape_lines)
    g.case(op, inputs, g.output_count(op), **attrs)
    if attrs.get("compute_uv", True) is False or attrs.get("compute_v", True) is False:
        for i in range(at, len(g.lines)):
            g.lines[i] = re.sub(r"^(out \w+ \[\]) (\w+)", lambda m: m[1] + " " + "0" * len(m[2]), g.lines[i])
        for i in range(shape_at, len(g.shape_lines)):
            g.shape_lines[i] = re.sub(r"^out \[0\]$", "out <unknown>", g.shape_lines[i])
    if op == "Cholesky" and any("out" in x and ("0000c07f" in x or "0000c0ff" in x or "f87f" in x or "f8ff" in x) for x in g.lines[at:]):
        n = inputs[0].shape[-1]  # above the NaNs is what was in the memory
        clean = np.where(np.tril(np.ones([n, n])) > 0, np.nan, 0.0).astype(inputs[0].dtype.as_numpy_dtype)
        g.lines[-1] = g.tensor_line("out", tf.constant(clean))
    if rough and len(g.lines) > at:
        g.lines.insert(at + 1, "rough %d" % rough)
    if terms and len(g.lines) > at:
        g.lines.insert(at + 1, "terms %d" % terms)


def const(v, t=F):
    return tf.constant(v, t)


def good(t, *shape):
    """Matrices far from singular."""
    x = data(t, list(shape)).numpy()
    n = min(shape[-2:])
    x[..., range(n), range(n)] += 4
    return tf.constant(x)


def positive(t, *shape):
    x = data(t, list(shape)).numpy()
    n = shape[-1]
    a = x @ np.conj(np.swapaxes(x, -1, -2)) + 0.5 * np.eye(n, dtype=x.dtype)
    return tf.constant(a.astype(x.dtype))


def decompositions(types):
    for t in types:
        for shape in ([1, 1], [3, 3], [2, 1, 2, 2], [2, 4, 4], [0, 0], [0, 3, 3], [2, 0, 0], [17, 17]):
            if shape == [17, 17] and t != F:
                continue
            p = positive(t, *shape)
            x = good(t, *shape)
            case("Cholesky", [p], 400)
            case("MatrixInverse", [x], 400)
            case("MatrixInverse", [x], 400, adjoint=True)
            if shape != [17, 17]:
                case("MatrixDeterminant", [x], 4000)
            case("LogMatrixDeterminant", [x], 400)
            case("Lu", [x], 400)
            case("Lu", [x], 400, output_idx_type=tf.int64)
            case("SelfAdjointEigV2", [p], 4000)
            case("SelfAdjointEigV2", [p], 4000, compute_v=False)
            case("Eig", [x], 4000, compute_v=shape != [17, 17],  # the phase of large vectors is noise
                 Tout=t if t in COMPLEX else tf.complex64 if t == F else tf.complex128)
            if t in COMPLEX:
                case("MatrixLogarithm", [x], 4000)
            case("MatrixSquareRoot", [p], 4000)
            for k in (1, 3) if t in (F, tf.complex64) and shape == [3, 3] else (2,):
                rhs = data(t, shape[:-1] + [k])
                for adjoint in (False, True):
                    case("MatrixSolve", [x, rhs], 400, adjoint=adjoint)
                    for lower in (False, True):
                        case("MatrixTriangularSolve", [x, rhs], 400, adjoint=adjoint, lower=lower)
        for shape in ([4, 3], [3, 4], [2, 5, 2], [2, 2, 4], [0, 3], [3, 0], [2, 0, 3], [1, 3], [3, 1],
                      [3, 3], [1, 1], [0, 2, 3]):
            x = data(t, shape)
            for full in (False, True):
                case("Qr", [x], 400, full_matrices=full)
                case("Svd", [x], 1000, full_matrices=full)
            case("Svd", [x], 1000, compute_uv=False)
            if 0 in shape[-2:]:
                continue  # MatrixSolveLs gives what was in the memory
            rhs = data(t, shape[:-1] + [2])
            for fast in (True, False):
                for l2 in (0.0, 0.5):
                    case("MatrixSolveLs", [x, rhs, const(l2, D)], 1000, fast=fast)
        case("Svd", [data(t, [20, 17])], 2000, compute_uv=False)
        case("Svd", [data(t, [3, 20])], 2000, compute_uv=False)
        case("Qr", [data(t, [20, 17])], 1000)
        case("Svd", [tf.zeros([3, 2], t)])
        case("Qr", [tf.zeros([3, 2], t)])
        case("Eig", [tf.linalg.diag(data(t, [3]))], 400,
             Tout=t if t in COMPLEX else tf.complex64 if t == F else tf.complex128)
        case("MatrixTriangularSolve", [good(t, 2, 1, 3, 3), data(t, [3, 3, 2])], 400)
        case("MatrixTriangularSolve", [good(t, 3, 3), data(t, [2, 3, 2])], 400)
        case("MatrixTriangularSolve", [good(t, 2, 2, 2), data(t, [3, 2, 2])])
        case("TridiagonalMatMul", [data(t, [2, 1, 4]), data(t, [2, 1, 4]), data(t, [2, 1, 4]),
                                   data(t, [2, 4, 3])], 40)
        case("TridiagonalMatMul", [data(t, [1, 1]), data(t, [1, 1]), data(t, [1, 1]), data(t, [1, 3])], 40)
        for pivot in (True, False):
            for shape in ([1], [2], [5]):
                n = shape[0]
                d = np.array(data(t, [2, 3, n]).numpy())
                d[:, 1] += 6
                case("TridiagonalSolve", [tf.constant(d), data(t, [2, n, 3])], 400, partial_pivoting=pivot)
                case("TridiagonalSolve", [tf.constant(d[0]), data(t, [n, 1])], 400, partial_pivoting=pivot)
        case("TridiagonalSolve", [data(t, [3, 5]), data(t, [5, 2])], 4000)
        bands = data(t, [2, 3, 5]).numpy()
        for adjoint in (False, True):
            for lower in (False, True):
                b = np.array(bands)
                b[:, 0 if lower else 2] += 4
                b[:, 2 if lower else 0] += 4
                case("BandedTriangularSolve", [tf.constant(b), data(t, [2, 5, 2])], 400, adjoint=adjoint,
                     lower=lower)
                case("BandedTriangularSolve", [tf.constant(b[0]), data(t, [2, 5, 1])], 400,
                     adjoint=adjoint, lower=lower)


def linalg_complex():
    decompositions(COMPLEX)


def linalg():
    decompositions([F, D])
    one = [[1.0, 2.0, 3.0], [4.0, 5.0, 6.0], [7.0, 8.0, 9.0]]
    for t in (F, D):
        for shape in ([1, 1], [3, 3], [2, 4, 4], [0, 0], [9, 9]):
            low = tf.linalg.band_part(good(t, *shape), -1, 0)
            case("CholeskyGrad", [low, data(t, shape)], 4000)
        case("MatrixSquareRoot", [const([[1.0, 2.0], [-3.0, 4.0]], t)], 400)
        case("MatrixSquareRoot", [const([[-1.0, 0.0], [0.0, 4.0]], t)], 400)
        case("MatrixSquareRoot", [good(t, 5, 5)], 4000)
        for singular in (one, [[1.0, 2.0], [2.0, 4.0]], [[0.0, 0.0], [0.0, 0.0]]):
            x = const(singular, t)
            for op in ("MatrixInverse", "MatrixDeterminant", "LogMatrixDeterminant", "Lu", "Qr"):
                case(op, [x], 400)
            case("MatrixSolve", [x, data(t, [len(singular), 1])], 4000)
            case("MatrixTriangularSolve", [x, data(t, [len(singular), 1])], 4000)
            case("Cholesky", [x])
            case("Svd", [x], 1000, compute_uv=False)
            case("SelfAdjointEigV2", [x], 1000)
            case("Eig", [x], 1000, Tout=tf.complex64 if t == F else tf.complex128, compute_v=False)
            case("MatrixSolveLs", [x, data(t, [len(singular), 1]), const(0.0, D)])
            case("MatrixSolveLs", [x, data(t, [len(singular), 1]), const(0.0, D)], 4000, fast=False)
    case("MatrixInverse", [tf.cast(good(F, 3, 3), tf.half)], 4000, 16)
    case("Qr", [tf.cast(data(F, [4, 3]), tf.half)], 4000, 16)
    bad = const([[1.0, np.nan], [2.0, 3.0]])
    for op in ("Cholesky", "MatrixInverse", "MatrixDeterminant", "LogMatrixDeterminant", "SelfAdjointEigV2",
               "Svd", "Qr"):
        case(op, [bad])
    case("Eig", [bad], Tout=tf.complex64)
    case("Cholesky", [const([[1.0, 2.0], [2.0, 1.0]])])
    case("TridiagonalSolve", [const([[1.0, 1.0, 0.0], [0.0, 0.0, 0.0], [0.0, 1.0, 1.0]]), data(F, [3, 1])])
    case("TridiagonalSolve", [const([[1.0, 1.0, 0.0], [0.0, 0.0, 0.0], [0.0, 1.0, 1.0]]), data(F, [3, 1])],
         partial_pivoting=False)
    case("TridiagonalSolve", [data(F, [3, 0]), data(F, [0, 2])])
    case("TridiagonalSolve", [data(F, [2, 3]), data(F, [3, 2])])
    case("TridiagonalSolve", [data(F, [3, 3]), data(F, [4, 2])])
    case("TridiagonalSolve", [data(F, [3, 3]), data(F, [3])])
    case("TridiagonalSolve", [data(F, [3]), data(F, [3, 2])])
    case("TridiagonalSolve", [data(F, [2, 3, 3]), data(F, [3, 3, 2])])
    case("TridiagonalMatMul", [data(F, [1, 4]), data(F, [1, 3]), data(F, [1, 4]), data(F, [4, 3])])
    case("TridiagonalMatMul", [data(F, [4]), data(F, [4]), data(F, [4]), data(F, [4, 3])])
    case("TridiagonalMatMul", [data(F, [2, 4]), data(F, [1, 4]), data(F, [1, 4]), data(F, [4, 3])])
    case("BandedTriangularSolve", [data(F, [3]), data(F, [3, 1])])
    case("BandedTriangularSolve", [data(F, [2, 3]), data(F, [4, 1])])
    case("BandedTriangularSolve", [tf.zeros([2, 3]), data(F, [3, 1])])
    case("BandedTriangularSolve", [data(F, [2, 0]), data(F, [0, 1])])
    for op in ("Cholesky", "MatrixInverse", "MatrixDeterminant", "LogMatrixDeterminant", "SelfAdjointEigV2",
               "Svd", "Qr", "MatrixSquareRoot", "Lu"):
        for shape in ([3], [], [2, 3], [2, 2, 3]):
            case(op, [data(F, shape)])
    case("Eig", [data(F, [2, 3])], Tout=tf.complex64)
    case("Eig", [data(F, [3])], Tout=tf.complex64)
    case("MatrixLogarithm", [data(tf.complex64, [2, 3])])
    case("MatrixLogarithm", [tf.zeros([2, 2], tf.complex64)])
    for op in ("MatrixSolve", "MatrixTriangularSolve", "MatrixSolveLs", "CholeskyGrad"):
        extra = [const(0.0, D)] if op == "MatrixSolveLs" else []
        for a, b in (([3, 3], [2, 3]), ([2, 3], [2, 3]), ([3], [3, 1]), ([3, 3], [3]), ([2, 3, 3], [3, 3]),
                     ([2, 3, 3], [3, 3, 3]), ([0, 0], [0, 2]), ([3, 3], [3, 0]), ([3, 3], [4, 2])):
            case(op, [data(F, a), data(F, b)] + extra, 400)
    case("MatrixSolveLs", [data(F, [3, 3]), data(F, [3, 1]), const(-1.0, D)])
    case("MatrixSolveLs", [data(F, [3, 3]), data(F, [3, 1]), const([0.0], D)])


def fft():
    c64, c128 = COMPLEX
    for t in COMPLEX:
        for op in ("FFT", "IFFT"):
            for n in (1, 2, 3, 4, 5, 6, 7, 8, 9, 12, 13, 16, 30, 37, 64, 97, 101, 128, 202):
                case(op, [data(t, [n])], 100)
            case(op, [data(t, [2, 3, 10])], 40)
            case(op, [data(t, [2, 0])])
            case(op, [data(t, [0, 4])])
            case(op, [data(t, [])])
            for shape in ([3, 4], [2, 5, 7], [1, 1], [4, 0], [5], [], [64, 3], [3, 41]):
                case(op + "2D", [data(t, shape)], 100)
            for shape in ([2, 3, 4], [2, 3, 1, 5], [1, 1, 1], [0, 2, 2], [5, 2]):
                case(op + "3D", [data(t, shape)], 100)
    for t, c in ((F, c64), (D, c128)):
        for n in (1, 2, 3, 4, 5, 7, 8, 10, 37, 74, 128, 202):
            case("RFFT", [data(t, [n]), i32(n)], 100, Tcomplex=c)
            case("IRFFT", [data(c, [n // 2 + 1]), i32(n)], 100, Treal=t)
        for op, real, tail in (("RFFT", t, 0), ("IRFFT", c, 1)):
            kind = {"Tcomplex": c} if op == "RFFT" else {"Treal": t}
            for shape, length in (([2, 9], [9]), ([2, 9], [6]), ([3, 0], [0]), ([0, 5], [4]), ([5], [8, 2]),
                                  ([5], [20]), ([5], [-1]), ([], [2])):
                case(op, [data(real, shape), i32(*length)], 100, **kind)
            case(op, [data(real, [5]), s32(3)], **kind)
            for shape, length in (([4, 7], [4, 7]), ([2, 4, 7], [3, 6]), ([2, 4, 7], [1, 1]), ([4, 7], [5, 6]),
                                  ([2, 4, 7], [2, 5]), ([5], [2, 2]), ([4, 5], [0, 2])):
                case(op + "2D", [data(real, shape), i32(*length)], 100, **kind)
            for shape, length in (([2, 4, 7], [2, 4, 7]), ([2, 3, 4, 7], [2, 3, 6]), ([2, 4, 7], [3, 3, 3])):
                case(op + "3D", [data(real, shape), i32(*length)], 100, **kind)
    case("RFFT", [data(F, [5]), i32(5)], Tcomplex=c128)
    case("RFFT", [data(D, [5]), i32(5)], Tcomplex=c64)
    case("IRFFT", [data(c64, [5]), i32(5)], Treal=D)
    case("IRFFT", [data(c128, [5]), i32(5)], Treal=F)


def i64(*v):
    return tf.constant(list(v), tf.int64)


def generator(op, state, rest, **attrs):
    """An op on a generator whose state is a variable."""
    if os.environ.get("VERBOSE"):
        print(op, state, rest, attrs, flush=True)
    v = tf.Variable(tf.zeros_like(state))
    v.assign(state + tf.zeros_like(state))  # memory of its own: a shared one is not updated
    block = g.head("op", op, attrs) + [g.tensor_line("var", state)] + [g.tensor_line("in", x) for x in rest]
    out = g.ask(op, [v.handle] + rest, g.output_count(op), attrs)
    g.lines.extend(block + g.told(out, [v]))


def rng():
    H, reals = tf.half, [tf.half, F, D]
    ints = [tf.int32, tf.int64]
    seeds = iter(range(1, 10000))  # an eager kernel keeps its generator: every case its own seed
    for t in reals:
        for alpha in ([0.3, 1.0, 2.5], [7.0]):
            for shape in (i32(5), i64(2, 3)):
                case("RandomGamma", [shape, const(alpha, t)], seed=3, seed2=next(seeds))
                tail = tf.concat([shape, tf.cast([len(alpha)], shape.dtype)], 0)
                case("StatelessRandomGammaV2", [tail, i64(next(seeds), 5), const(alpha, t)])
                case("StatelessRandomGammaV3", [tail, tf.constant([next(seeds)], tf.uint64),
                                                tf.constant([4, 5], tf.uint64), s32(1), const(alpha, t)])
    case("StatelessRandomGammaV2", [i32(2, 3), i32(1, 5), const([1.0, 2.0])])
    case("StatelessRandomGammaV2", [i32(0, 2), i32(1, 5), const([1.0, 2.0])])
    case("StatelessRandomGammaV2", [i32(3, 2), i32(1, 5, 6), const([1.0, 2.0])])
    case("StatelessRandomGammaV2", [i32(3), i32(1, 5), const(2.0)])
    case("RandomGamma", [i32(0), const([1.0, 2.0])], seed=3, seed2=next(seeds))
    case("RandomGamma", [s32(3), const([1.0, 2.0])], seed=3, seed2=next(seeds))
    case("RandomGamma", [i32(-3), const([1.0, 2.0])], seed=3, seed2=next(seeds))
    case("RandomGamma", [i32(3), const([])], seed=3, seed2=next(seeds))
    for r in reals + ints:
        for t in reals + ints:
            if r == H or t == H or (r, t) in ((F, D), (D, tf.int32), (tf.int64, F), (F, tf.int64), (D, D)):
                case("RandomPoissonV2", [i32(4), const([1, 3, 12, 50], r)], seed=3, seed2=next(seeds), dtype=t)
                case("StatelessRandomPoisson", [i32(3, 4), i64(next(seeds), 2), const([1, 3, 12, 50], r)], dtype=t)
    case("StatelessRandomPoisson", [i32(3, 4), i64(1, 2), const([1.0, 2.0])], dtype=F)
    case("StatelessRandomPoisson", [i32(3, 2), i64(1, 2), const([0.0, np.inf])], dtype=F)
    case("RandomPoissonV2", [i32(0), const([1.0, 2.0])], seed=3, seed2=next(seeds), dtype=F)
    for r in reals:
        for t in reals + ints:
            case("StatelessRandomBinomial", [i32(3, 4), i64(next(seeds), 2), const([5, 40, 60, 100], r),
                                             const([0.2, 0.3, 0.7, 0.95], r)], dtype=t)
    case("StatelessRandomBinomial", [i32(2, 2, 3), i64(4, 2), const([[10.0], [90.0]]), const([0.0, 0.5, 1.0])],
         dtype=tf.int64)
    case("StatelessRandomBinomial", [i32(2, 3), i64(4, 2), const(10.0), const([0.1, np.nan, 0.9])], dtype=F)
    case("StatelessRandomBinomial", [i32(2, 2), i64(4, 2), const(10.0), const([0.1, 0.2, 0.9])], dtype=F)
    case("StatelessRandomBinomial", [i32(2, 2), i64(4), const(10.0), const([0.1, 0.9])], dtype=F)
    case("StatelessRandomBinomial", [i32(2, 2), i64(4, 2), const([1.0, 2.0, 3.0]), const([0.1, 0.9])], dtype=F)
    for t in reals:
        for low, high in ((-1.0, 1.0), (-2.0, 3.0), (0.5, 1.0), (3.0, 9.0), (-9.0, -4.0), (-np.inf, 1.0),
                          (2.0, np.inf)):
            params = [const(x, t) for x in (0.25, 1.5, low, high)]
            case("ParameterizedTruncatedNormal", [i32(11)] + params, seed=3, seed2=next(seeds))
            case("StatelessParameterizedTruncatedNormal", [i32(9), i64(next(seeds), 2)] + params)
        case("ParameterizedTruncatedNormal", [i32(2, 3), const([0.0, 5.0], t), const([1.0, 2.0], t),
                                              const([-1.0, 3.0], t), const([1.0, 9.0], t)], seed=3,
             seed2=next(seeds))
        case("StatelessParameterizedTruncatedNormal",
             [i32(4, 2, 2), i64(7, 2), const([[0.0], [5.0]], t), const([1.0, 2.0], t), const(-1.0, t),
              const([[1.0], [9.0]], t)])
    bad = [const(0.0), const(-1.0), const(0.0), const(1.0)]
    case("ParameterizedTruncatedNormal", [i32(3)] + bad, seed=3, seed2=next(seeds))
    case("ParameterizedTruncatedNormal", [s32(3)] + bad, seed=3, seed2=next(seeds))
    case("ParameterizedTruncatedNormal", [i32(3), const([[0.0]])] + bad[1:], seed=3, seed2=next(seeds))
    case("StatelessParameterizedTruncatedNormal", [i32(3), i64(1, 2)] + bad)
    case("StatelessParameterizedTruncatedNormal", [i32(3), i64(1, 2), const([0.0, 1.0])] + bad[1:])
    key, counter = tf.constant([9], tf.uint64), tf.constant([3, 4], tf.uint64)
    for t in (F, tf.int64, tf.string, tf.bool, tf.complex64):
        case("StatelessShuffle", [data(t, [7, 2]), key, counter, s32(1)])
    case("StatelessShuffle", [data(F, [20]), key, counter, s32(3)])
    case("StatelessShuffle", [data(F, []), key, counter, s32(1)])
    case("StatelessShuffle", [data(F, [5]), key, counter, s32(2)])
    for t in (tf.int32, tf.uint32, tf.int64, tf.uint64):
        for most in (0, 1, 9, 255, 1000, 65536, 70000, 2000000000):
            at = [x for x in (0, 1, 5, 200, 999, 65000, 1999999999) if x <= most]
            case("RandomIndexShuffle", [const(at, t), const([5, 6, 7], tf.int32), const(most, t)])
        case("RandomIndexShuffle", [const(3, t), const([5, 6, 7], tf.int64), const(10, t)], rounds=8)
        case("RandomIndexShuffle", [const([3, 4], t), const([[5, 6, 7], [1, 2, 3]], tf.uint32), const([10, 20], t)])
    case("RandomIndexShuffle", [const(2**40, tf.int64), const([5, 6, 7], tf.int32), const(2**41, tf.int64)])
    case("RandomIndexShuffle", [const(2**40, tf.int64), const([5, 6, 7], tf.int32), const(2**62 + 1, tf.int64)])
    state = i64(7, -3, 99)
    one = const(1, tf.int64)
    for shape in (i64(5), i32(2, 3), i32(0)):
        kind = {"shape_dtype": shape.dtype}
        for t in reals + [tf.bfloat16]:
            generator("StatefulStandardNormalV2", state, [one, shape], dtype=t, **kind)
            generator("StatefulUniform", state, [one, shape], dtype=t, **kind)
            generator("StatefulTruncatedNormal", state, [one, shape], dtype=t, **kind)
        for t in (tf.int32, tf.int64, tf.uint32, tf.uint64):
            generator("StatefulUniformFullInt", state, [one, shape], dtype=t, **kind)
        for t in ints:
            generator("StatefulUniformInt", state, [one, shape, const(-5, t), const(90, t)], dtype=t, **kind)
        generator("StatefulRandomBinomial", state, [one, tf.concat([tf.cast(shape, tf.int32), [2]], 0), const([8.0, 60.0], D),
                                                   const([0.3, 0.6], D)], dtype=F, T=D, S=tf.int32)
    kind = {"dtype": F, "shape_dtype": tf.int64}
    generator("StatefulUniform", state, [const(7, tf.int64), i64(3)], **kind)
    generator("StatefulUniform", state, [i64(1), i64(3)], **kind)
    generator("StatefulUniform", i64(1, 2), [one, i64(3)], **kind)
    generator("StatefulUniform", tf.constant([[1, 2, 3]], tf.int64), [one, i64(3)], **kind)
    generator("StatefulUniform", tf.constant([1, 2, 3], tf.int32), [one, i64(3)], **kind)
    generator("StatefulUniformInt", state, [one, i64(3), const(5, tf.int64), const(5, tf.int64)], dtype=tf.int64,
              shape_dtype=tf.int64)
    generator("RngSkip", state, [one, const(5, tf.int64)])
    generator("RngSkip", state, [const(9, tf.int64), const(5, tf.int64)])
    generator("RngReadAndSkip", state, [s32(1), tf.constant(2**60, tf.uint64)])
    generator("RngReadAndSkip", state, [s32(1), tf.constant(3, tf.uint64)])


def special():
    wild = [np.nan, np.inf, -np.inf, 0.0, -0.0, 1.0, -1.0, 0.5, -0.5, 2.5, 1e-3, 30.0]
    ranges = {"Ndtri": (0.001, 0.999), "Erfinv": (-0.999, 0.999), "Expint": (0.01, 60), "Dawsn": (-8, 8),
              "FresnelCos": (-6, 6), "FresnelSin": (-6, 6), "Spence": (0, 9)}
    for op in list(ranges) + ["Bessel" + x for x in "I0 I0e I1 I1e J0 J1 K0 K0e K1 K1e Y0 Y1".split()]:
        low, high = ranges.get(op, (-20, 20) if op[6:7] in "IJ" else (0.01, 20))
        for t in cpu_types(op):
            case(op, [data(t, [3, 8], low, high)], 8, 4)
            case(op, [data(t, [12], low / 8, high / 8)], 8, 4)
            case(op, [const(wild, t)], 8, 4)
            case(op, [data(t, [0])])
            case(op, [data(t, [], low, high)], 8, 4)
    for t in (F, D):
        many = 100 if t == F else 1000
        for op in ("Igamma", "Igammac", "IgammaGradA", "RandomGammaGrad"):
            case(op, [data(t, [4, 1], 0.1, 9), data(t, [6], 0, 20)], many)
            case(op, [data(t, [12], 0.1, 60), data(t, [12], 0, 80)], many)
            case(op, [const([1.0, 0.0, -1.0, 2.0, np.nan, 3.0, 1.0], t),
                      const([0.0, 1.0, 1.0, -1.0, 1.0, np.nan, 1e-3], t)], many)
            case(op, [data(t, [0]), data(t, [1])])
        for op in ("Igamma", "Igammac"):
            case(op, [const([np.inf, 1.0, np.inf], t), const([1.0, np.inf, np.inf], t)])
        case("Zeta", [data(t, [12], 1.1, 9), data(t, [12], 0.1, 9)], many)
        case("Zeta", [const([2.0, 3.0, 1.0, 0.5, 2.5, 2.0, np.nan, 4.0], t),
                      const([-1.0, -2.0, 3.0, 3.0, -1.5, -1.5, 1.0, np.nan], t)], many)
        case("Polygamma", [const([0, 1, 2, 3, 5, 1.5, -1, 0, 1], t),
                           const([2.5, 0.5, 3.0, 7.0, 1.5, 2.0, 2.0, -0.5, -1.0], t)], many)
        case("Betainc", [data(t, [12], 0.1, 20), data(t, [12], 0.1, 20), data(t, [12], 0, 1)], many)
        case("Betainc", [const(2.0, t), data(t, [3], 0.1, 5), const(0.25, t)], many)
        case("Betainc", [const(2.0, t), const(3.0, t), const(0.25, t)], many)
        case("Betainc", [const([1.0, -1.0, 1.0, 0.0, 2.0, 3.0, np.nan], t), const([1.0, 1.0, 0.0, 1.0, 2.0, 3.0, 1.0], t),
                         const([0.0, 0.5, 0.5, 0.5, 1.0, 1.5, 0.5], t)], many)
        case("Betainc", [data(t, [2], 0.1), data(t, [3], 0.1), data(t, [2], 0.1)])
        case("Betainc", [const(1.0, t), data(t, [3], 0.1), data(t, [2], 0.1)])
    for t in g.INTS:
        case("PopulationCount", [data(t, [3, 5])])
    case("PopulationCount", [const([-1, -2**63, 2**62], tf.int64)])


def various():
    types = [F, D, tf.half, tf.bfloat16] + g.INTS + COMPLEX
    for t in (tf.int32, tf.int64):
        for x, dims in (([5, 2], [2, 3]), (5, [2, 3]), ([7], [2, 3]), ([[1]], [2, 3]), ([1], [[2, 3]]), ([1], [2, 0]),
                        ([0], [4]), ([23, 1], [2, 3, 4]), ([], [2, 3])):
            case("UnravelIndex", [const(x, t), const(dims, t)])
        for x in ([0, 1, 2, 3, -1, -4], 2, []):
            case("DataFormatDimMap", [const(x, t)], src_format="NHWC", dst_format="NCHW")
            case("DataFormatDimMap", [const(x, t)], src_format="NDHWC", dst_format="NCDHW")
        for x in ([1, 2, 3, 4], [1, 2], [[1, 2], [3, 4]], [[1, 2], [3, 4], [5, 6], [7, 8]], [1, 2, 3], 5,
                  [[1, 2, 3], [4, 5, 6]], [[1, 2], [3, 4], [5, 6]]):
            for a, b in (("NHWC", "NCHW"), ("NCHW", "NHWC"), ("NHWC", "HWNC")):
                case("DataFormatVecPermute", [const(x, t)], src_format=a, dst_format=b)
        case("DataFormatVecPermute", [const([1, 2, 3, 4, 5], t)], src_format="NDHWC", dst_format="NCDHW")
        case("DataFormatVecPermute", [const([1, 2, 3], t)], src_format="NDHWC", dst_format="NCDHW")
    for a, b in (("NHW", "NCHW"), ("NHWC", "NCH"), ("NHWC", "NDHWC"), ("NHWC", "NHWX")):
        case("DataFormatDimMap", [i32(0)], src_format=a, dst_format=b)
        case("DataFormatVecPermute", [i32(1, 2, 3, 4)], src_format=a, dst_format=b)
    for t in cpu_types("NthElement"):
        case("NthElement", [data(t, [3, 7]), s32(2)])
        case("NthElement", [data(t, [3, 7]), s32(2)], reverse=True)
    for shape, n in (([3], 3), ([3], -1), ([], 0), ([0, 3], 1), ([3], [1])):
        case("NthElement", [data(F, shape), const(n, tf.int32)])
    for t in types + [tf.string, tf.bool]:
        x, v = data(t, [4, 3], integer_high=50), data(t, [2, 3], integer_high=50)
        case("InplaceUpdate", [x, i32(1, 3), v])
        if t not in (tf.string, tf.bool):
            case("InplaceAdd", [x, i32(1, 1), v])
            case("InplaceSub", [x, i32(0, -1), v])
        case("DeepCopy", [x])
        case("ConjugateTranspose", [x, i32(1, 0)], 1)
        case("ConjugateTranspose", [x, i32(0, 1)], 1)
        case("Empty", [i32(2, 0)], dtype=t, init=True)
        case("Empty", [i32(2, 3)], dtype=t, init=True)
    for i, v in (([1], [2, 3]), (1, [3]), ([[1]], [1, 3]), ([1], [1, 4]), ([9], [1, 3]), ([], [0, 3])):
        case("InplaceUpdate", [data(F, [4, 3]), const(i, tf.int32), data(F, v)])
        case("InplaceAdd", [data(F, [4, 3]), const(i, tf.int32), data(F, v)])
    case("InplaceAdd", [data(tf.bool, [4]), i32(1), data(tf.bool, [1])])
    case("InplaceUpdate", [data(F, []), i32(1), data(F, [1, 3])])
    case("Empty", [const([[2]], tf.int32)], dtype=F, init=True)
    case("Empty", [i32(-2)], dtype=F, init=True)
    case("Empty", [s32(2)], dtype=F, init=True)
    case("ConjugateTranspose", [data(tf.complex64, [2, 3, 4]), i32(2, 0, 1)])
    case("ConjugateTranspose", [data(tf.complex64, [2, 3]), i32(0, 0)])
    case("ConjugateTranspose", [data(tf.complex64, [2, 3]), i32(0)])
    for t in types:
        x = data(t, [3, 4, 2], integer_high=4)
        for axes in ([0], [1, 2], [-1], [0, 1, 2], []):
            case("EuclideanNorm", [x, const(axes, tf.int32)], 8, 8)
        case("EuclideanNorm", [x, const([1], tf.int64)], 8, 8, keep_dims=True)
    case("EuclideanNorm", [data(F, [2, 3]), i32(2)])
    case("EuclideanNorm", [data(F, [2, 0]), i32(1)])
    case("EuclideanNorm", [data(F, [0, 2]), i32(1)])
    for a, b in ((F, F), (tf.bfloat16, F), (F, tf.bfloat16), (tf.bfloat16, tf.bfloat16)):
        for ta in (False, True):
            for tb in (False, True):
                case("SparseMatMul", [data(a, [4, 3] if ta else [3, 4]), data(b, [5, 4] if tb else [4, 5])], 40,
                     transpose_a=ta, transpose_b=tb, a_is_sparse=ta, b_is_sparse=not tb)
    case("SparseMatMul", [data(F, [3, 4]), data(F, [3, 4])])
    case("SparseMatMul", [data(F, [3]), data(F, [3, 4])])
    case("SparseMatMul", [data(F, [0, 3]), data(F, [3, 4])])
    case("SparseMatMul", [data(F, [2, 0]), data(F, [0, 4])])


FILES = [linalg, linalg_complex, fft, rng, special, various]


def main():
    for family in FILES:
        if len(sys.argv) > 1 and family.__name__ not in sys.argv[1:]:
            continue
        g.rng.seed(23)
        family()
        g.write_both("_" + family.__name__)


if __name__ == "__main__":
    main()
