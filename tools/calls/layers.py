# SPDX-License-Identifier: Apache-2.0
"""Keras on TensorFlow: operations, layers with gradients, losses, metrics, optimizers: run under tools/record_calls.py."""
import inspect
import os

os.environ.setdefault("KERAS_BACKEND", "tensorflow")
import keras
import numpy as np
import tensorflow as tf

from common import done, floats, ints, quietly

keras.utils.set_random_seed(3)
x, n = floats(2, 6), ints(2, 6, low=1, high=4)
for module in (keras.ops, keras.ops.nn, keras.ops.linalg, keras.ops.image):
    for name in sorted(dir(module)):
        f = getattr(module, name)
        if name[0] == "_" or not inspect.isfunction(f) or name in ("fori_loop", "while_loop", "custom_gradient", "device_scope"):
            continue
        for args in ((x,), (x, x), (n,), (n, n), (x, x, x), (floats(2, 4, 4),), (floats(2, 8, 8, 3),), (floats(2, 8, 8, 3), (4, 4)), (x, 1), (x, [1, 0])):
            quietly(f, *[tf.constant(a) if isinstance(a, np.ndarray) else a for a in args])

SHAPES = {"1D": (2, 7, 3), "2D": (2, 7, 6, 3), "3D": (2, 5, 4, 4, 2)}
for name in sorted(dir(keras.layers)):
    kind = getattr(keras.layers, name)
    if not isinstance(kind, type) or name in ("Layer", "Wrapper", "Lambda", "JaxLayer", "FlaxLayer", "TorchModuleWrapper", "TFSMLayer", "InputLayer", "StackedRNNCells", "RNN"):
        continue
    for more in ({}, {"units": 4}, {"filters": 4, "kernel_size": 2}, {"filters": 4, "kernel_size": 3, "padding": "same", "strides": 2}, {"kernel_size": 2}, {"input_dim": 9, "output_dim": 3}, {"rate": .3}, {"num_heads": 2, "key_dim": 3}):
        made = quietly(kind, **more)
        if made is None:
            continue
        shape = next((s for k, s in SHAPES.items() if k in name), (2, 5, 4))
        for value in ((tf.constant(floats(*shape)), tf.constant(floats(2, 6))) if "Embed" not in name else (tf.constant(n),)):
            def step(v, made=made):
                with tf.GradientTape() as tape:
                    tape.watch(v)
                    out = made(v, training=True) if "training" in inspect.signature(made.call).parameters else made(v)
                    loss = tf.add_n([tf.reduce_sum(tf.cast(t, tf.float32) ** 2) for t in tf.nest.flatten(out)])
                return out, tape.gradient(loss, [v] + [w.value for w in made.trainable_weights])
            if quietly(step, value) is not None:
                quietly(tf.function(step), value)
                break
y, p = tf.constant(floats(4, 3, low=0, high=1)), tf.constant(floats(4, 3, low=.05, high=.95))
for module in (keras.losses, keras.metrics):
    for name in sorted(dir(module)):
        f = getattr(module, name)
        if inspect.isfunction(f):
            quietly(f, y, p)
            quietly(f, tf.constant(ints(4, high=3)), p)
        elif isinstance(f, type):
            made = quietly(f)
            if made is not None:
                quietly(made, y, p)
                quietly(made, tf.constant(ints(4, high=3)), p)
                quietly(lambda: made.result())
for name in sorted(dir(keras.optimizers)):
    kind = getattr(keras.optimizers, name)
    made = quietly(kind) if isinstance(kind, type) and name not in ("Optimizer", "LossScaleOptimizer") else None
    if made is None:
        continue
    v, w = keras.Variable(floats(3, 2)), keras.Variable(floats(4))

    @tf.function
    def train(g, h, made=made, v=v, w=w):
        made.apply([g, h], [v, w])

    quietly(made.build, [v, w])
    for _ in range(2):
        quietly(train, tf.constant(floats(3, 2)), tf.constant(floats(4)))
done("layers")
