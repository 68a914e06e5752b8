# SPDX-License-Identifier: Apache-2.0
"""What the makers of models share. A maker is a function that writes a SavedModel to path_of(its name) and returns
its runs: a list of (signature, {key: array}). All runs of a model happen in one session, so that state shows.
"""
import os

os.environ["TF_CPP_MIN_LOG_LEVEL"] = "3"
os.environ["CUDA_VISIBLE_DEVICES"] = ""
import numpy as np  # noqa: E402
import tensorflow as tf  # noqa: E402

tf.get_logger().setLevel("ERROR")
import keras  # noqa: E402

tf1 = tf.compat.v1
L = keras.layers
rng = np.random.default_rng(5)
makers = {}
place = {"dir": "/tmp/try_models"}


def maker(f):
    makers[f.__name__] = f
    return f


def normal(*shape):
    return rng.standard_normal(shape).astype(np.float32)


def path_of(name):
    return os.path.join(place["dir"], name)


# A maker returns a list of (signature, {key: array}); the model is at path_of(name).
def keras_model(name, model, *feeds, stats=True):
    for w in model.weights if stats else []:
        if "moving_variance" in w.path:
            w.assign(rng.uniform(0.5, 2, w.shape))
        elif "moving_mean" in w.path or "beta" in w.path:
            w.assign(rng.uniform(-0.2, 0.2, w.shape))
    model.export(path_of(name), verbose=False)
    loaded = tf.saved_model.load(path_of(name))
    keys = sorted(loaded.signatures["serving_default"].structured_input_signature[1])
    order = {t.name: t.name for t in model.inputs}
    keys = [k for k in (t.name for t in model.inputs) if k in keys] if set(order) == set(keys) else keys
    return [("serving_default", dict(zip(keys, f if isinstance(f, tuple) else (f,)))) for f in feeds]


def sequential(name, shape, layers, *feeds, dtype="float32"):
    i = L.Input(shape, dtype=dtype)
    x = i
    for layer in layers:
        x = layer(x)
    return keras_model(name, keras.Model(i, x), *feeds)


def module(name, specs, fn, *feeds, state=None):
    """|fn|(self, *args) -> dict or tensor; |state|(self) makes variables and tables."""
    class M(tf.Module):
        pass
    m = M()
    if state:
        state(m)
    names = [s.name for s in specs]
    def outs(*a):
        r = fn(m, *a)
        return r if isinstance(r, dict) else {"y": r}
    g = tf.function(outs, input_signature=specs)
    m.f = g
    tf.saved_model.save(m, path_of(name), signatures={"serving_default": g})
    return [("serving_default", dict(zip(names, v if isinstance(v, tuple) else (v,)))) for v in feeds]


def S(shape, dtype=tf.float32, name="x"):
    return tf.TensorSpec(shape, dtype, name=name)


def tf1_model(name, build, runs, init=True, meta_runs=None):
    """|build|() -> (inputs, outputs) dicts of tensors."""
    g = tf1.Graph()
    with g.as_default(), tf1.Session(graph=g) as s:
        inputs, outputs = build()
        if init:
            s.run([tf1.global_variables_initializer(), tf1.local_variables_initializer(), tf1.tables_initializer()])
        tf1.saved_model.simple_save(s, path_of(name), inputs, outputs,
                                    legacy_init_op=tf1.tables_initializer(name="init_all_tables"))
    return [("serving_default", r) for r in runs]
