# SPDX-License-Identifier: Apache-2.0
"""What the programs of tools/calls/ share: one expression, asked in every way that TensorFlow has.

`each(f, x, …)` calls f eagerly, in a tf.function, and in a graph of TensorFlow 1 with the arguments fed, there with the gradients
of every float argument, so that the ops that only gradients use run too. Errors are answers like any other.
"""
import collections
import os

import numpy as np
import tensorflow as tf

tf1 = tf.compat.v1
r = np.random.RandomState(5)
failed = collections.Counter()
FLOATS = (tf.float32, tf.float64, tf.complex64, tf.complex128, tf.float16, tf.bfloat16)


def quietly(f, *args, **named):
    try:
        return f(*args, **named)
    except Exception as e:  # noqa: BLE001: a refusal is a result, too
        failed[type(e).__name__ + ": " + str(e).split("\n")[0][:100]] += 1
        if os.environ.get("SHOW"):
            print(type(e).__name__, str(e).split("\n")[0][:200])
        return None


def dense(values):
    """The plain tensors in what a call gave."""
    return [t for t in tf.nest.flatten(values, expand_composites=True) if isinstance(t, (tf.Tensor, tf.Variable))]


def in_graph(f, args, gradients=True, second=False):
    with tf1.Graph().as_default(), tf1.Session() as s:
        tf1.set_random_seed(4)
        fed = [tf1.placeholder(a.dtype, a.shape) if isinstance(a, tf.Tensor) else a for a in args]
        feeds = {p: a.numpy() for p, a in zip(fed, args) if isinstance(a, tf.Tensor)}
        out = dense(f(*fed))
        s.run(tf1.global_variables_initializer())
        s.run(tf1.tables_initializer())
        quietly(s.run, out, feeds)
        floats = [p for p in feeds if p.dtype in FLOATS]
        ys = [t for t in out if t.dtype in FLOATS]
        if not (gradients and floats and ys):
            return
        first = [g for g in tf1.gradients(ys, floats, grad_ys=[tf.ones_like(y) * tf.cast(1.5, y.dtype) for y in ys]) if g is not None]
        first = [tf.convert_to_tensor(g) for g in first]
        quietly(s.run, first, feeds)
        if second and first:
            again = [g for g in tf1.gradients(first, floats) if g is not None]
            quietly(s.run, [tf.convert_to_tensor(g) for g in again], feeds)


def each(f, *args, gradients=True, second=False, function=True):
    args = [tf.constant(a) if isinstance(a, (np.ndarray, np.generic)) else a for a in args]
    quietly(f, *args)
    if function:
        quietly(tf.function(f), *args)
    quietly(in_graph, f, args, gradients, second)


def floats(*shape, low=-2.0, high=2.0, dtype=np.float32):
    return r.uniform(low, high, shape).astype(dtype)


def ints(*shape, low=0, high=5, dtype=np.int32):
    return r.randint(low, high, shape).astype(dtype)


def done(name):
    print("%s: %d refusals of %d kinds" % (name, sum(failed.values()), len(failed)))
