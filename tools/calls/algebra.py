# SPDX-License-Identifier: Apache-2.0
"""Linear algebra, transforms, random numbers, tf.experimental.numpy: run under tools/record_calls.py."""
import numpy as np
import tensorflow as tf

from common import done, each, floats, ints, quietly, r, tf1

for dtype in (np.float32, np.float64, np.complex64, np.complex128):
    x = floats(2, 4, 4, dtype=np.float64)
    if np.dtype(dtype).kind == "c":
        x = x + 1j * floats(2, 4, 4)
    x = x.astype(dtype)
    p = (x @ np.conj(np.swapaxes(x, 1, 2)) + np.eye(4)).astype(dtype)
    b = x[:, :, :2].copy()
    for f in (lambda x, p, b: tf.linalg.cholesky(p), lambda x, p, b: tf.linalg.cholesky(-p), lambda x, p, b: tf.linalg.cholesky_solve(tf.linalg.cholesky(p), b), lambda x, p, b: tf.linalg.inv(x), lambda x, p, b: tf.linalg.inv(x * 0), lambda x, p, b: tf.linalg.det(x), lambda x, p, b: tf.linalg.slogdet(x),
              lambda x, p, b: tf.linalg.logdet(p), lambda x, p, b: tf.linalg.solve(x, b), lambda x, p, b: tf.linalg.solve(x, b, adjoint=True), lambda x, p, b: tf.linalg.solve(x * 0, b), lambda x, p, b: tf.linalg.triangular_solve(x, b), lambda x, p, b: tf.linalg.triangular_solve(x, b, lower=False, adjoint=True), lambda x, p, b: tf.linalg.lstsq(x[:, :, :3], b),
              lambda x, p, b: tf.linalg.lstsq(x[:, :, :3], b, fast=False), lambda x, p, b: tf.linalg.lstsq(x[:, :, :3], b, .1), lambda x, p, b: tf.linalg.eigh(p), lambda x, p, b: tf.linalg.eigvalsh(p), lambda x, p, b: tf.linalg.eigvals(x), lambda x, p, b: tf.linalg.svd(x, compute_uv=False), lambda x, p, b: tf.linalg.svd(x)[0], lambda x, p, b: [abs(t) for t in tf.linalg.svd(x[:, :3])],
              lambda x, p, b: tf.linalg.qr(x), lambda x, p, b: tf.linalg.qr(x[:, :, :2], full_matrices=True), lambda x, p, b: tf.linalg.lu(x), lambda x, p, b: tf.linalg.lu_solve(*tf.linalg.lu(x), b), lambda x, p, b: tf.linalg.expm(x), lambda x, p, b: tf.linalg.logm(tf.cast(p, tf.complex128)), lambda x, p, b: tf.linalg.sqrtm(p), lambda x, p, b: tf.linalg.pinv(x), lambda x, p, b: tf.linalg.matrix_rank(x),
              lambda x, p, b: tf.linalg.adjoint(x), lambda x, p, b: tf.linalg.normalize(x), lambda x, p, b: tf.linalg.global_norm([x, b]), lambda x, p, b: tf.linalg.tridiagonal_solve(x[:, :3], x[:, 0]), lambda x, p, b: tf.linalg.tridiagonal_matmul(x[:, :3], b), lambda x, p, b: tf.linalg.banded_triangular_solve(x[:, :3], b), lambda x, p, b: tf.linalg.cross(x[..., :3], x[..., 1:]),
              lambda x, p, b: tf.linalg.LinearOperatorFullMatrix(p, is_self_adjoint=True, is_positive_definite=True).solve(b), lambda x, p, b: tf.linalg.LinearOperatorLowerTriangular(x).matmul(b), lambda x, p, b: tf.linalg.LinearOperatorKronecker([tf.linalg.LinearOperatorFullMatrix(x), tf.linalg.LinearOperatorFullMatrix(p)]).to_dense(),
              lambda x, p, b: tf.linalg.LinearOperatorCirculant(x[:, 0]).to_dense(), lambda x, p, b: tf.linalg.LinearOperatorToeplitz(x[:, 0], x[:, 0]).to_dense(), lambda x, p, b: tf.linalg.LinearOperatorHouseholder(x[:, 0]).matmul(b), lambda x, p, b: tf.linalg.LinearOperatorBlockDiag([tf.linalg.LinearOperatorFullMatrix(x)] * 2).to_dense(), lambda x, p, b: tf.linalg.LinearOperatorLowRankUpdate(tf.linalg.LinearOperatorFullMatrix(p), b).log_abs_determinant(),
              lambda x, p, b: tf.linalg.experimental.conjugate_gradient(tf.linalg.LinearOperatorFullMatrix(p, is_self_adjoint=True, is_positive_definite=True), x[..., 0]).x):
        each(f, x, p, b, second=dtype == np.float64)
    z = (x if np.dtype(dtype).kind == "c" else x + 0j).astype(np.complex64 if np.dtype(dtype).itemsize < 16 and dtype != np.float64 else np.complex128)
    for f in (tf.signal.fft, tf.signal.ifft, tf.signal.fft2d, tf.signal.ifft2d, tf.signal.fft3d, tf.signal.ifft3d, tf.signal.irfft, tf.signal.irfft2d, tf.signal.irfft3d, tf.signal.fftshift, tf.signal.ifftshift, lambda x: tf.signal.fftnd(x, [4, 4], [1, 2]), lambda x: tf.signal.ifftnd(x, [3, 4], [1, 2])):
        each(lambda z, f=f: f(z), z)
    if np.dtype(dtype).kind == "f":
        for f in (tf.signal.rfft, tf.signal.rfft2d, tf.signal.rfft3d, lambda x: tf.signal.rfft(x, [6]), lambda x: tf.signal.rfft(x, [3]), lambda x: tf.signal.dct(x), lambda x: tf.signal.dct(x, 1), lambda x: tf.signal.dct(x, 3, norm="ortho"), lambda x: tf.signal.idct(x), lambda x: tf.signal.stft(tf.reshape(x, [2, 16]), 8, 4), lambda x: tf.signal.inverse_stft(tf.signal.stft(tf.reshape(x, [2, 16]), 8, 4), 8, 4),
                  lambda x: tf.signal.frame(x, 3, 2, pad_end=True), lambda x: tf.signal.overlap_and_add(x, 2), lambda x: tf.signal.mdct(tf.reshape(x, [2, 16]), 8), lambda x: tf.signal.mfccs_from_log_mel_spectrograms(x), lambda x: tf.matmul(x[0], tf.signal.linear_to_mel_weight_matrix(4, 4, 8000, 1., 3999., x.dtype)), lambda x: tf.signal.rfftnd(x, [4, 4], [1, 2])):
            each(lambda x, f=f: f(x), x, second=dtype == np.float64)
for f in (tf.signal.hann_window, tf.signal.hamming_window, tf.signal.kaiser_window, tf.signal.vorbis_window, tf.signal.kaiser_bessel_derived_window):
    each(lambda n, f=f: f(8), np.int32(1))

for dtype in (tf.float32, tf.float64, tf.float16, tf.bfloat16):
    for f in (lambda s: tf.random.stateless_uniform(s, [1, 2], dtype=dtype), lambda s: tf.random.stateless_normal(s, [1, 2], dtype=dtype), lambda s: tf.random.stateless_truncated_normal(s, [1, 2], dtype=dtype), lambda s: tf.random.stateless_gamma(s, [1, 2], tf.constant(2., dtype), dtype=dtype), lambda s: tf.random.stateless_poisson(s, [1, 2], tf.constant(2., dtype), dtype=dtype),
              lambda s: tf.random.stateless_parameterized_truncated_normal(s, [1, 2], tf.constant(0., dtype), tf.constant(1., dtype)), lambda s: tf.random.uniform(s, seed=3, dtype=dtype), lambda s: tf.random.normal(s, seed=3, dtype=dtype), lambda s: tf.random.truncated_normal(s, seed=3, dtype=dtype), lambda s: tf.random.gamma(s, [.5, 2.], seed=3, dtype=dtype),
              lambda s: tf.random.poisson(s, [.5, 20.], seed=3, dtype=dtype)):
        each(f, np.array([5, 4], np.int32))
        each(f, np.array([-5, 4], np.int32))
for f in (lambda s: tf.random.stateless_uniform(s, [1, 2], -5, 9, tf.int32), lambda s: tf.random.stateless_uniform(s, [1, 2], None, None, tf.int64), lambda s: tf.random.stateless_uniform(s, [1, 2], 9, 5, tf.int32), lambda s: tf.random.stateless_binomial(s, [1, 2], 10., .3), lambda s: tf.random.stateless_categorical(tf.zeros([3, 4]), 5, [1, 2]), lambda s: tf.random.experimental.stateless_shuffle(tf.range(9), [1, 2]),
          lambda s: tf.random.experimental.stateless_split([1, 2], 3), lambda s: tf.random.experimental.stateless_fold_in([1, 2], 3), lambda s: tf.random.experimental.index_shuffle(3, [1, 2], 9), lambda s: tf.random.shuffle(tf.range(9), seed=3), lambda s: tf.random.uniform(s, 0, 9, tf.int64, seed=3), lambda s: tf.random.categorical(tf.zeros([3, 4]), 5, seed=3)):
    each(f, np.array([5, 4], np.int32))
g = tf.random.Generator.from_seed(5)
for f in (lambda: g.normal([3]), lambda: g.uniform([3]), lambda: g.uniform([3], 0, 9, tf.int32), lambda: g.truncated_normal([3]), lambda: g.uniform_full_int([3]), lambda: g.binomial([3], 5., .5), lambda: g.make_seeds(2), lambda: g.split(2)[0].normal([2]), lambda: g.skip(5)):
    quietly(f)
    quietly(tf.function(f))

tnp = tf.experimental.numpy
tnp.experimental_enable_numpy_behavior()
x, n = floats(3, 4), ints(3, 4)
for name in sorted(dir(tnp)):
    f = getattr(tnp, name)
    if name[0] == "_" or isinstance(f, type) or not callable(f) or name.startswith("experimental"):
        continue
    for args in ((x,), (x, x), (n,), (n, n), (x, 1), (x, [0, 1])):
        quietly(f, *args)
    quietly(tf.function(lambda x, f=f: f(x)), tf.constant(x))
done("algebra")
