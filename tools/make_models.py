#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Makes the large models of `bench/models.sh` with the real TensorFlow and Keras: frozen graphs with
random weights (the time does not depend on them), an input and TensorFlow's own output, and, where
tf2onnx is installed, the same model for ONNX Runtime.

  /opt/tfvenv/bin/python tools/make_models.py build/models [NAME ...]

Each NAME gives NAME.pb, NAME_x.npy, NAME_y.npy and NAME.onnx; the placeholder is x, the result
Identity. About 250 MB in all; a few minutes.
"""
import os
import subprocess
import sys

os.environ["TF_CPP_MIN_LOG_LEVEL"] = "3"
import keras  # noqa: E402
import numpy as np  # noqa: E402
import tensorflow as tf  # noqa: E402
from keras import layers as L  # noqa: E402
from tensorflow.python.framework.convert_to_constants import (  # noqa: E402
    convert_variables_to_constants_v2)

rng = np.random.RandomState(0)


def image(make, size):
    model = make(weights=None)
    for w in model.weights:  # statistics of batch norms as a trained model has them
        if "moving_variance" in w.path:
            w.assign(rng.uniform(0.5, 2, w.shape))
        elif "moving_mean" in w.path or "beta" in w.path:
            w.assign(rng.uniform(-0.2, 0.2, w.shape))
    return model, rng.rand(1, size, size, 3).astype(np.float32)


def mlp():
    i = L.Input([784])
    x = L.Dense(512, activation="relu")(i)
    x = L.Dense(256, activation="relu")(x)
    return keras.Model(i, L.Dense(10, activation="softmax")(x)), rng.rand(1, 784).astype(np.float32)


def bilstm():
    i = L.Input([64], dtype="int32")
    x = L.Bidirectional(L.LSTM(64))(L.Embedding(5000, 64)(i))
    return keras.Model(i, L.Dense(2)(x)), rng.randint(0, 5000, (1, 64)).astype(np.int32)


def transformer():
    i = L.Input([128], dtype="int32")
    x = L.Embedding(2000, 256)(i)
    for _ in range(4):
        x = L.LayerNormalization()(x + L.MultiHeadAttention(4, 64)(x, x))
        h = L.Dense(256)(L.Dense(1024, activation="relu")(x))
        x = L.LayerNormalization()(x + h)
    x = L.GlobalAveragePooling1D()(x)
    return keras.Model(i, L.Dense(8)(x)), rng.randint(0, 2000, (1, 128)).astype(np.int32)


A = keras.applications
MODELS = {
    "mlp": mlp,
    "bilstm": bilstm,
    "transformer": transformer,
    "mobilenetv2": lambda: image(A.MobileNetV2, 224),
    "efficientnetb0": lambda: image(A.EfficientNetB0, 224),
    "resnet50": lambda: image(A.ResNet50, 224),
    "inceptionv3": lambda: image(A.InceptionV3, 299),
}


def main():
    if len(sys.argv) < 2 or sys.argv[1].startswith("-"):
        sys.exit(__doc__)
    out = sys.argv[1]
    os.makedirs(out, exist_ok=True)
    keras.utils.set_random_seed(1)
    for name in sys.argv[2:] or MODELS:
        print(name, end=" ", flush=True)
        model, x = MODELS[name]()
        spec = tf.TensorSpec([None] + list(x.shape[1:]), x.dtype)
        f = tf.function(lambda x: model(x, training=False)).get_concrete_function(spec)
        frozen = convert_variables_to_constants_v2(f, lower_control_flow=False)
        path = os.path.join(out, name)
        with open(path + ".pb", "wb") as file:
            file.write(frozen.graph.as_graph_def().SerializeToString())
        y = frozen(tf.constant(x))
        np.save(path + "_x.npy", x)
        np.save(path + "_y.npy", (y[0] if isinstance(y, (list, tuple)) else y).numpy())
        shape = ",".join(map(str, x.shape))
        done = subprocess.run([sys.executable, "-m", "tf2onnx.convert", "--graphdef", path + ".pb",
                               "--inputs", "x:0[%s]" % shape, "--outputs", "Identity:0", "--opset",
                               "17", "--output", path + ".onnx"], capture_output=True)
        print("" if done.returncode == 0 else "(no .onnx)")


if __name__ == "__main__":
    main()
