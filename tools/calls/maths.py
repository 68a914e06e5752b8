# SPDX-License-Identifier: Apache-2.0
"""Element-wise functions, comparisons, reductions, scans, segments, products: run under tools/record_calls.py."""
import numpy as np
import tensorflow as tf

from common import done, each, floats, ints, r, tf1

UNARY = """abs acos acosh asin asinh atan atanh ceil conj cos cosh digamma erf erfc erfcinv erfinv exp expm1 floor imag is_finite is_inf is_nan
    is_non_decreasing is_strictly_increasing l2_normalize lbeta lgamma log log1p log_sigmoid log_softmax logical_not ndtri negative real reciprocal
    reciprocal_no_nan rint round rsqrt sigmoid sign sin sinh softmax softplus softsign sqrt square tan tanh xlogy zero_fraction angle
    cumsum cumprod cumulative_logsumexp reduce_all reduce_any reduce_logsumexp reduce_max reduce_min reduce_mean reduce_prod reduce_sum reduce_std
    reduce_variance reduce_euclidean_norm bessel_i0 bessel_i0e bessel_i1 bessel_i1e argmax argmin sobol_sample""".split()
SPECIAL = "bessel_j0 bessel_j1 bessel_k0 bessel_k0e bessel_k1 bessel_k1e bessel_y0 bessel_y1 dawsn expint fresnel_cos fresnel_sin spence".split()
BINARY = """add subtract multiply divide divide_no_nan multiply_no_nan floordiv floormod mod truediv pow maximum minimum squared_difference atan2 xlogy xdivy
    xlog1py equal not_equal less less_equal greater greater_equal logical_and logical_or logical_xor igamma igammac zeta polygamma nextafter""".split()

for dtype in (np.float32, np.float64, np.float16, np.int32, np.int64, np.complex64, np.complex128, np.uint8):
    x = floats(3, 5, low=.1, high=.9, dtype=dtype) if np.dtype(dtype).kind == "f" else (
        (floats(3, 5) + 1j * floats(3, 5)).astype(dtype) if np.dtype(dtype).kind == "c" else ints(3, 5, low=1, high=9, dtype=dtype))
    y = np.roll(x, 2)
    for name in UNARY:
        f = getattr(tf.math, name, None) or getattr(tf.nn, name)
        each(lambda x, f=f: f(x), x, second=dtype == np.float64)
    for name in SPECIAL if np.dtype(dtype).kind == "f" else ():
        each(lambda x, f=getattr(tf.math.special, name): f(x), x)
    for name in BINARY:
        each(lambda x, y, f=getattr(tf.math, name): f(x, y), x, y, second=dtype == np.float64)
        each(lambda x, y, f=getattr(tf.math, name): f(x, y[:, :1]), x, y)
        each(lambda x, y, f=getattr(tf.math, name): f(x[0], y), x, y)
    each(lambda x, y: [x // y, x % y, -x, x @ tf.transpose(y), abs(x), x ** 2], x, y)
    each(lambda x: [tf.reduce_sum(x, 0), tf.reduce_mean(x, 1, keepdims=True), tf.reduce_max(x, [0, 1]), tf.reduce_min(x, -1), tf.reduce_prod(x, 0)], x)
    each(lambda x: [tf.cumsum(x, 1, exclusive=True), tf.cumsum(x, 0, reverse=True), tf.math.cumprod(x, 1, True, True)], x)
    each(lambda x: tf.clip_by_value(x, tf.cast(.3, x.dtype), tf.cast(4, x.dtype)), x)
    each(lambda x: [tf.clip_by_norm(x, .5), tf.clip_by_global_norm([x, x], .5)[0]], x)
    for name in ("sum", "mean", "max", "min", "prod"):
        each(lambda x, f=getattr(tf.math, "segment_" + name): f(x, [0, 0, 2]), x)
        each(lambda x, f=getattr(tf.math, "segment_" + name): f(x, [0, 2, 1]), x)
        each(lambda x, f=getattr(tf.math, "unsorted_segment_" + name): f(x, [2, 0, -1], 4), x)
    each(lambda x: tf.math.unsorted_segment_sqrt_n(x, [2, 0, 2], 4), x)
    for name in ("sum", "mean", "sqrt_n"):
        each(lambda x, f=getattr(tf.sparse, "segment_" + name): f(x, [0, 2, 1, 0], [0, 0, 1, 3]), x)
        each(lambda x, f=getattr(tf.sparse, "segment_" + name): f(x, [0, 2, 1], [0, 0, 3], num_segments=6), x)
        each(lambda x, f=getattr(tf.sparse, "segment_" + name): f(x, [0, 9], [0, 1]), x)
    each(lambda x, y: tf.matmul(x, y, transpose_b=True), x, y)
    each(lambda x, y: tf.matmul(x, y, adjoint_a=True), x, y)
    each(lambda x, y: tf.matmul(x[tf.newaxis], tf.stack([y, y]), transpose_b=True), x, y)
    each(lambda x, y: tf.linalg.matvec(x, y[0]), x, y)
    each(lambda x, y: tf.tensordot(x, y, [[0, 1], [0, 1]]), x, y)
    each(lambda x, y: tf.tensordot(x, y, 0), x, y)
    for equation in ("ij,kj->ik", "ij,ij->", "ij,kl->ijkl", "ij,ij->ji", "ij,jk->ki" if 0 else "ij,kj->kij", "ii->i" if 0 else "ij->j", "...j,...j->..."):
        each(lambda x, y, e=equation: tf.einsum(e, x, y) if "," in e else tf.einsum(e, x), x, y)
    each(lambda x: tf.cast(x, tf.float32), x)
    for to in (tf.int32, tf.bool, tf.complex64, tf.float16, tf.bfloat16, tf.uint8, tf.string):
        each(lambda x, to=to: tf.cast(x, to), x)
    each(lambda x: tf.saturate_cast(x * 100, tf.uint8), x)
    each(lambda x: tf.add_n([x, x, x]), x)
    each(lambda x: tf.math.accumulate_n([x, x]), x)
    each(lambda x: tf1.scalar_mul(tf.cast(2, x.dtype), x), x)
    each(lambda x: tf.nn.moments(x, [0]), x)
    each(lambda x: tf.nn.weighted_moments(x, [0], tf.cast(x > tf.cast(0, x.dtype), x.dtype)), x)
    each(lambda x: [tf.nn.relu(x), tf.nn.relu6(x), tf.nn.elu(x), tf.nn.selu(x), tf.nn.leaky_relu(x), tf.nn.gelu(x), tf.nn.silu(x), tf.nn.crelu(x)], x)
    for f in (tf.nn.relu, tf.nn.relu6, tf.nn.elu, tf.nn.selu, tf.nn.leaky_relu, tf.nn.gelu, tf.nn.silu, tf.nn.softsign, tf.nn.softplus):
        each(lambda x, f=f: f(x), x, second=True)
    each(lambda x: tf.norm(x, axis=1), x)
    each(lambda x: tf.norm(x, ord=1), x)
    each(lambda x: tf.norm(x, ord=np.inf, axis=0), x)
    each(lambda x, y: [tf.bitwise.bitwise_and(x, y), tf.bitwise.bitwise_or(x, y), tf.bitwise.bitwise_xor(x, y), tf.bitwise.invert(x)], x, y)
    each(lambda x, y: [tf.bitwise.left_shift(x, y), tf.bitwise.right_shift(x, y)], x, y)
    each(lambda x: tf.raw_ops.PopulationCount(x=x), x)
    each(lambda x: tf.raw_ops.Bucketize(input=x, boundaries=[.2, .5, 3.]), x)
    each(lambda x: tf.debugging.check_numerics(x, "mine"), x)
    each(lambda x: tf.debugging.check_numerics(x / tf.zeros_like(x), "mine"), x)
    each(lambda x: tf.approximate_equal(x, x) if 0 else tf1.approximate_equal(x, x + x), x)

x, y = floats(4, low=.1, high=3), floats(4, low=.1, high=.9)
each(lambda a, b, x: tf.math.betainc(a, b, x), x, x[::-1].copy(), y, second=True)
each(lambda x, y: tf.complex(x, y), x, y)
each(lambda x, y: tf.cross(x, y) if 0 else tf.linalg.cross(x[:3], y[:3]), x, y)
each(lambda x, y: x / y, np.array([1, 2], np.int32), np.array([0, 3], np.int32))
each(lambda x, y: x // y, np.array([1, 2], np.int32), np.array([0, 3], np.int32))
each(lambda x, y: x % y, np.array([1, 2], np.int64), np.array([0, 3], np.int64))
each(lambda x, y: tf.pow(x, y), np.array([1, 2], np.int32), np.array([-1, 3], np.int32))
each(lambda x, y: x + y, floats(2, 3), floats(2, 4))
each(lambda x, y: tf.matmul(x, y), floats(2, 3), floats(2, 4))
each(lambda x, y: tf.matmul(x, y), floats(3), floats(3, 4))
each(lambda x, a: tf.reduce_sum(x, a), floats(2, 3, 4), np.array([0, -1], np.int32))
each(lambda x, a: tf.reduce_mean(x, a), floats(2, 3, 4), np.array([5], np.int32))
each(lambda x, a: tf.reduce_max(x, a), floats(2, 3, 4), np.array([], np.int32))
each(lambda x, a: tf.cumsum(x, a), floats(2, 3, 4), np.int32(1))
each(lambda x, a: tf.cumsum(x, a), floats(2, 3, 4), np.int32(3))
each(lambda x, i: tf.math.segment_sum(x, i), floats(4, 2), np.array([0, 1, 1, 2], np.int64))
each(lambda x, i: tf.math.unsorted_segment_max(x, i, 3), floats(4, 2), np.array([0, 1, 9, 2], np.int64))
each(lambda x: tf.math.polyval([x, x, x], 2.), floats(3))
each(lambda x: tf.math.reduce_logsumexp(x, 1, keepdims=True), floats(3, 4), second=True)
each(lambda x: tf.math.top_k(x, 9), floats(3, 4))
each(lambda x: tf.einsum("bij,bjk->bik", x, x), floats(2, 3, 3))
each(lambda x: tf.einsum("...ij,...jk->...ik", x, x), floats(2, 2, 3, 3))
each(lambda x: tf.einsum("ii", x), floats(3, 3))
each(lambda x: tf.einsum("iji->j", x), floats(3, 2, 3))
each(lambda x: tf.einsum("abc,abd,ab->cd", x, x, x[..., 0]), floats(2, 3, 4))
each(lambda x: tf.linalg.trace(x), floats(2, 3, 3))
each(lambda x: tf.math.reduce_any(x > 0, 1), floats(2, 3))
each(lambda x: tf.sparse.sparse_dense_matmul(tf.sparse.from_dense(x), tf.transpose(x)), floats(2, 3))
each(lambda x: tf1.sparse_matmul(x, tf.transpose(x), a_is_sparse=True), floats(2, 3))
each(lambda x: tf.raw_ops.QuantizedMatMul(a=tf.quantization.quantize(x, -2., 2., tf.quint8).output, b=tf.quantization.quantize(x, -2., 2., tf.quint8).output,
                                          min_a=-2., max_a=2., min_b=-2., max_b=2.), floats(3, 3))
done("maths")
