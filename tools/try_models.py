#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Models that Ferry has not seen: many small ones of every kind are exported by the real TensorFlow and Keras,
run by both with the same random inputs (Ferry through `ferry run`), and compared. Nothing is kept.

  /opt/tfvenv/bin/python tools/try_models.py [--ferry build/bin/ferry] [--dir /tmp/try_models] [--list] [NAME ...]

NAME may be a part of a name. One line per model; exit code 1 if any differs. Applications of Keras are in `app_*`
(they take a while); layers in `layer_*`, functions in `fn_*`, TensorFlow 1 graphs in `tf1_*`.
"""
import argparse
import os
import shutil
import subprocess
import sys
import traceback

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
WHERE = "/tmp/try_models"
# What cannot run yet, and why. The list only shrinks.
KNOWN = {"fn_sobol": "SobolSample has no kernel", "fn_dataset_inside": "tf.data inside a serving graph has no kernels"}


def maker(f):
    makers[f.__name__] = f
    return f


def normal(*shape):
    return rng.standard_normal(shape).astype(np.float32)


def path_of(name):
    return os.path.join(WHERE, name)


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


# ---------------------------------------------------------------- Keras applications
def app(fname, size=64, **kw):
    def make():
        name = "app_" + fname
        make_model = getattr(keras.applications, fname)
        m = make_model(weights=None, classes=10, input_shape=(size, size, 3), **kw)
        return keras_model(name, m, (rng.random((1, size, size, 3)) * 255).astype(np.float32))
    make.__name__ = "app_" + fname
    makers[make.__name__] = make


for fname, size in (("VGG16", 32), ("DenseNet121", 64), ("NASNetMobile", 64), ("Xception", 71), ("ConvNeXtTiny", 64),
                    ("EfficientNetV2B0", 64), ("MobileNet", 64), ("MobileNetV3Small", 64), ("MobileNetV3Large", 64),
                    ("InceptionResNetV2", 75), ("ResNet50V2", 64), ("EfficientNetB1", 64), ("ResNet101", 64)):
    app(fname, size)


# ---------------------------------------------------------------- Keras layers
def layer(name, shape, layers, *feeds, dtype="float32"):
    def make():
        keras.utils.set_random_seed(11)
        return sequential("layer_" + name, shape, layers(), *[f() if callable(f) else f for f in feeds], dtype=dtype)
    make.__name__ = "layer_" + name
    makers[make.__name__] = make


layer("gru", [None, 3], lambda: [L.GRU(5, return_sequences=True), L.GRU(4, reset_after=False), L.Dense(2)], lambda: normal(2, 7, 3))
layer("lstm_stateful_like", [6, 3], lambda: [L.LSTM(5, return_sequences=True, go_backwards=True), L.LSTM(4, recurrent_activation="hard_sigmoid")], lambda: normal(3, 6, 3))
layer("bidirectional", [None, 3], lambda: [L.Bidirectional(L.GRU(4, return_sequences=True), merge_mode="sum"), L.Bidirectional(L.LSTM(3), merge_mode="mul")], lambda: normal(2, 5, 3))
layer("simple_rnn", [None, 3], lambda: [L.Masking(0.), L.SimpleRNN(4, return_sequences=True), L.SimpleRNN(3)], lambda: np.concatenate([normal(2, 4, 3), np.zeros((2, 2, 3), np.float32)], 1))
layer("conv_lstm", [4, 8, 8, 2], lambda: [L.ConvLSTM2D(3, 3, padding="same", return_sequences=True), L.ConvLSTM2D(2, 3)], lambda: normal(1, 4, 8, 8, 2))
layer("conv_lstm1d", [4, 8, 2], lambda: [L.ConvLSTM1D(3, 3)], lambda: normal(2, 4, 8, 2))
layer("time_distributed", [4, 8, 8, 3], lambda: [L.TimeDistributed(L.Conv2D(4, 3, activation="relu")), L.TimeDistributed(L.GlobalMaxPooling2D())], lambda: normal(2, 4, 8, 8, 3))
layer("conv3d", [6, 8, 8, 2], lambda: [L.Conv3D(4, 3, strides=2, padding="same"), L.BatchNormalization(), L.MaxPooling3D(2), L.UpSampling3D(2), L.AveragePooling3D(2), L.Conv3DTranspose(2, 2, strides=2)], lambda: normal(1, 6, 8, 8, 2))
layer("conv1d", [16, 3], lambda: [L.Conv1D(6, 3, padding="causal", dilation_rate=2), L.Conv1DTranspose(5, 4, strides=2, padding="same"), L.SeparableConv1D(4, 3), L.MaxPooling1D(2), L.AveragePooling1D(2), L.ZeroPadding1D(2), L.Cropping1D(1)], lambda: normal(2, 16, 3))
layer("conv2d_more", [12, 12, 4], lambda: [L.Conv2D(8, 3, groups=2, padding="same"), L.DepthwiseConv2D(3, depth_multiplier=2), L.SeparableConv2D(6, 3, strides=2, padding="same"), L.Conv2DTranspose(5, 3, strides=2, padding="same"), L.Conv2D(4, 3, dilation_rate=2), L.UpSampling2D(2, interpolation="bilinear"), L.Cropping2D(1), L.ZeroPadding2D(((1, 0), (0, 2)))], lambda: normal(2, 12, 12, 4))
layer("depthwise1d", [12, 4], lambda: [L.DepthwiseConv1D(3, strides=2), L.UpSampling1D(2)], lambda: normal(2, 12, 4))
layer("norms", [6, 6, 8], lambda: [L.GroupNormalization(4), L.LayerNormalization(axis=[1, 2, 3]), L.UnitNormalization(), L.SpectralNormalization(L.Conv2D(4, 1)), L.RMSNormalization() if hasattr(L, "RMSNormalization") else L.LayerNormalization()], lambda: normal(2, 6, 6, 8))
layer("activations", [9], lambda: [L.Dense(8, "gelu"), L.Dense(8, "selu"), L.Dense(8, "elu"), L.Dense(8, "softplus"), L.Dense(8, "swish"), L.Dense(8, "mish"), L.PReLU(), L.LeakyReLU(), L.Dense(8, "exponential"), L.Dense(8, "hard_sigmoid"), L.Dense(8, "softsign"), L.Dense(8, "relu6"), L.Dense(8, "log_softmax"), L.Dense(8, "hard_silu"), L.Dense(8, "celu"), L.Dense(8, "tanh_shrink"), L.Dense(8, "soft_shrink"), L.ReLU(max_value=1, negative_slope=.1, threshold=.2), L.Softmax()], lambda: normal(3, 9))
layer("shapes", [4, 6], lambda: [L.Permute((2, 1)), L.Reshape((3, 8)), L.Flatten(), L.RepeatVector(3), L.Lambda(lambda x: x * 2 + 1)], lambda: normal(2, 4, 6))
layer("discretization", [3], lambda: [L.Discretization([-1., 0., 1.5]), L.CategoryEncoding(4, output_mode="multi_hot")], lambda: normal(4, 3))
layer("hashing", [2], lambda: [L.Hashing(7, salt=[3, 4])], lambda: np.array([["a", "bb"], ["xyz", ""]]), dtype="string")
layer("hashing_one_hot", [1], lambda: [L.Hashing(5, output_mode="one_hot")], lambda: np.array([["a"], ["xyz"]]), dtype="string")
layer("string_lookup", [2], lambda: [L.StringLookup(vocabulary=["a", "b", "c"], num_oov_indices=2), L.Embedding(5, 3)], lambda: np.array([["a", "q"], ["c", "b"]]), dtype="string")
layer("string_lookup_count", [3], lambda: [L.StringLookup(vocabulary=["a", "b", "c"], output_mode="count")], lambda: np.array([["a", "q", "a"], ["c", "b", ""]]), dtype="string")
layer("integer_lookup", [3], lambda: [L.IntegerLookup(vocabulary=[10, 20, 30], output_mode="multi_hot")], lambda: np.array([[10, 5, 30], [20, 20, 1]], np.int64), dtype="int64")
layer("text_vectorization", [], lambda: [L.TextVectorization(vocabulary=["hello", "world", "foo"], output_sequence_length=5), L.Embedding(6, 4), L.GlobalAveragePooling1D()], lambda: np.array(["Hello, world!", "foo bar"]), dtype="string")
layer("text_vectorization_tfidf", [], lambda: [L.TextVectorization(vocabulary=["hello", "world", "foo"], idf_weights=[.5, 1., 2.], output_mode="tf_idf", ngrams=None)], lambda: np.array(["Hello hello world", "foo bar"]), dtype="string")
layer("text_vectorization_ngrams", [], lambda: [L.TextVectorization(vocabulary=["hello world", "world", "foo"], output_mode="count", ngrams=2)], lambda: np.array(["Hello hello world", "foo bar"]), dtype="string")
layer("text_vectorization_chars", [], lambda: [L.TextVectorization(vocabulary=list("abcdefgh"), split="character", output_sequence_length=6)], lambda: np.array(["cab!", "ha ha", "\u00e9t\u00e9"]), dtype="string")
layer("normalization", [3], lambda: [L.Normalization(mean=[1., 2., 3.], variance=[1., 4., .5]), L.Rescaling(1 / 127.5, -1)], lambda: normal(4, 3))
layer("images", [20, 24, 3], lambda: [L.Resizing(16, 16, crop_to_aspect_ratio=True), L.CenterCrop(12, 14), L.RandomFlip(), L.RandomRotation(.2), L.RandomZoom(.2), L.RandomContrast(.2), L.RandomTranslation(.1, .1), L.RandomBrightness(.2), L.RandomCrop(8, 8)], lambda: (rng.random((2, 20, 24, 3)) * 255).astype(np.float32))
layer("resizing_bicubic", [9, 7, 2], lambda: [L.Resizing(13, 15, interpolation="bicubic")], lambda: normal(2, 9, 7, 2))
layer("resizing_nearest", [9, 7, 2], lambda: [L.Resizing(5, 4, interpolation="nearest")], lambda: normal(2, 9, 7, 2))
layer("dropouts", [6, 4], lambda: [L.Dropout(.5), L.SpatialDropout1D(.5), L.GaussianNoise(.1), L.GaussianDropout(.1), L.AlphaDropout(.1), L.ActivityRegularization(.1), L.Dense(3)], lambda: normal(2, 6, 4))
layer("pools", [9, 9, 3], lambda: [L.MaxPooling2D(3, 2, padding="same"), L.AveragePooling2D(2, 1, padding="same"), L.GlobalMaxPooling2D(keepdims=True)], lambda: normal(2, 9, 9, 3))
layer("einsum_dense", [5, 6], lambda: [L.EinsumDense("abc,cd->abd", output_shape=(None, 4), bias_axes="d"), L.EinsumDense("abc,cde->abde", output_shape=(None, 2, 3))], lambda: normal(2, 5, 6))
layer("hashed_crossing_like", [1], lambda: [L.IntegerLookup(vocabulary=[1, 2], output_mode="int"), L.CategoryEncoding(3, output_mode="one_hot")], lambda: np.array([[1], [7]], np.int64), dtype="int64")
layer("mel", [512], lambda: [L.MelSpectrogram(fft_length=128, sequence_stride=64, num_mel_bins=12, sampling_rate=8000)], lambda: normal(2, 512))
layer("stft_spectrogram", [512, 1], lambda: [L.STFTSpectrogram(mode="log", frame_length=64, frame_step=32, fft_length=64)], lambda: normal(2, 512, 1))
layer("equalization", [8, 8, 3], lambda: [L.Equalization(value_range=(0, 255)), L.Solarization(0.0, 0.0)] if hasattr(L, "Equalization") else [L.Rescaling(2.)], lambda: np.floor(rng.random((2, 8, 8, 3)) * 255).astype(np.float32))


@maker
def layer_merges():
    a, b = L.Input([4], name="a"), L.Input([4], name="b")
    o = [L.Add()([a, b]), L.Subtract()([a, b]), L.Multiply()([a, b]), L.Average()([a, b]), L.Maximum()([a, b]), L.Minimum()([a, b]),
         L.Concatenate()([a, b]), L.Dot(1, normalize=True)([a, b])]
    return keras_model("layer_merges", keras.Model([a, b], L.Concatenate()(o)), (normal(3, 4), normal(3, 4)))


@maker
def layer_attentions():
    q, v = L.Input([5, 8], name="q"), L.Input([7, 8], name="v")
    x = L.MultiHeadAttention(2, 4)(q, v, use_causal_mask=True)
    y = L.Attention(use_scale=True)([q, v])
    z = L.AdditiveAttention()([q, v])
    w = L.GroupQueryAttention(4, 4, 2)(q, v)
    return keras_model("layer_attentions", keras.Model([q, v], [x, y, z, w]), (normal(2, 5, 8), normal(2, 7, 8)))


@maker
def layer_hashed_crossing():
    a, b = L.Input([1], dtype="string", name="a"), L.Input([1], dtype="string", name="b")
    y = L.HashedCrossing(num_bins=6, output_mode="one_hot")([a, b])
    return keras_model("layer_hashed_crossing", keras.Model([a, b], y), (np.array([["x"], ["y"]]), np.array([["p"], ["qq"]])))


@maker
def layer_feature_space():
    fs = keras.utils.FeatureSpace({"n": keras.utils.FeatureSpace.float_normalized(), "c": keras.utils.FeatureSpace.string_categorical(),
                                   "d": keras.utils.FeatureSpace.float_discretized(num_bins=3)}, output_mode="concat")
    fs.adapt(tf.data.Dataset.from_tensor_slices({"n": normal(16), "c": np.array(["a", "b"] * 8), "d": normal(16)}).map(lambda x: x))
    ins = fs.get_inputs()
    m = keras.Model(ins, L.Dense(2)(fs.get_encoded_features()))
    m.export(path_of("layer_feature_space"), verbose=False)
    return [("serving_default", {"n": normal(3, 1), "c": np.array([["a"], ["z"], ["b"]]), "d": normal(3, 1)})]


@maker
def layer_mixed_precision():
    keras.mixed_precision.set_global_policy("mixed_float16")
    try:
        i = L.Input([8, 8, 3])
        x = L.BatchNormalization()(L.Conv2D(6, 3, activation="relu")(i))
        x = L.Dense(4, dtype="float32")(L.GlobalAveragePooling2D()(x))
        return keras_model("layer_mixed_precision", keras.Model(i, x), normal(2, 8, 8, 3))
    finally:
        keras.mixed_precision.set_global_policy("float32")


@maker
def layer_mixed_bfloat16():
    keras.mixed_precision.set_global_policy("mixed_bfloat16")
    try:
        i = L.Input([6, 8])
        x = L.LayerNormalization()(L.MultiHeadAttention(2, 4)(i, i))
        x = L.LSTM(4)(x)
        return keras_model("layer_mixed_bfloat16", keras.Model(i, L.Dense(4, dtype="float32")(x)), normal(2, 6, 8))
    finally:
        keras.mixed_precision.set_global_policy("float32")


@maker
def layer_quantized_int8():
    m = keras.Sequential([L.Input([8]), L.Dense(16, "relu"), L.Dense(4)])
    m.quantize("int8")
    return keras_model("layer_quantized_int8", m, normal(3, 8))


@maker
def layer_stateful_rnn():
    m = keras.Sequential([L.Input(batch_shape=(2, 3, 4)), L.LSTM(5, stateful=True), L.Dense(2)])
    return keras_model("layer_stateful_rnn", m, normal(2, 3, 4), normal(2, 3, 4))


@maker
def layer_unet():
    i = L.Input([32, 32, 1])
    a = L.Conv2D(4, 3, padding="same", activation="relu")(i)
    b = L.Conv2D(8, 3, padding="same", activation="relu")(L.MaxPooling2D()(a))
    u = L.Conv2DTranspose(4, 2, strides=2, padding="same")(b)
    y = L.Conv2D(1, 1, activation="sigmoid")(L.Concatenate()([a, u]))
    return keras_model("layer_unet", keras.Model(i, y), normal(2, 32, 32, 1))


# ---------------------------------------------------------------- tf.function
def fn(name, specs, f, *feeds, state=None):
    def make():
        return module("fn_" + name, specs, f, *[v() if callable(v) else v for v in feeds], state=state)
    make.__name__ = "fn_" + name
    makers[make.__name__] = make


def collatz(m, n):
    steps = tf.constant(0)
    while n > 1:
        if n % 2 == 0:
            n = n // 2
        else:
            n = 3 * n + 1
        steps += 1
        if steps > 500:
            break
    return steps


fn("autograph", [S([], tf.int32, "n")], collatz, np.int32(27), np.int32(1))
fn("while_loop", [S([None, 3])], lambda m, x: tf.while_loop(lambda i, a: i < 5, lambda i, a: (i + 1, tf.concat([a, x * tf.cast(i, tf.float32)], 0)), [0, x], shape_invariants=[tf.TensorShape([]), tf.TensorShape([None, 3])])[1], lambda: normal(2, 3))
fn("map_fn", [S([None, None])], lambda m, x: tf.map_fn(lambda r: tf.reduce_sum(tf.sort(r)[1:]), x), lambda: normal(4, 5))
fn("scan", [S([None, 3])], lambda m, x: tf.scan(lambda a, v: a * .5 + v, x), lambda: normal(5, 3))
fn("foldl", [S([None, 3])], lambda m, x: tf.foldl(lambda a, v: a * .5 + v, x) + tf.foldr(lambda a, v: a * .5 - v, x), lambda: normal(5, 3))
fn("vectorized_map", [S([None, 3, 3])], lambda m, x: tf.vectorized_map(lambda a: tf.linalg.matmul(a, a) + tf.linalg.trace(a), x), lambda: normal(5, 3, 3))
fn("cond_switch", [S([], tf.int32, "i"), S([None])], lambda m, i, x: {"a": tf.cond(i > 1, lambda: x + 1, lambda: x * 2), "b": tf.switch_case(i, [lambda: x, lambda: -x, lambda: x * x], default=lambda: x - 9), "c": tf.case([(i < 1, lambda: x * 3)], default=lambda: x)}, lambda: (np.int32(0), normal(3)), lambda: (np.int32(2), normal(4)), lambda: (np.int32(9), normal(1)))


def tensor_array(m, x):
    ta = tf.TensorArray(tf.float32, size=0, dynamic_size=True, clear_after_read=False)
    for i in tf.range(tf.shape(x)[0]):
        ta = ta.write(i, x[i] * tf.cast(i, tf.float32))
    return {"stack": ta.stack(), "gather": ta.gather([1, 0]), "concat": tf.TensorArray(tf.float32, size=2, infer_shape=False).unstack(x[:2]).concat()}


fn("tensor_array", [S([None, 3])], tensor_array, lambda: normal(4, 3))
fn("grad_inside", [S([None, 3])], lambda m, x: tf.gradients(tf.reduce_sum(tf.tanh(x @ tf.ones([3, 2])) ** 2), x)[0], lambda: normal(4, 3))
fn("grad_while", [S([3])], lambda m, x: tf.gradients(tf.while_loop(lambda i, a: i < 4, lambda i, a: (i + 1, tf.sin(a) * x), [0, x])[1], x)[0], lambda: normal(3))
fn("grad_map", [S([None, 3])], lambda m, x: tf.gradients(tf.map_fn(lambda r: tf.reduce_sum(r * r), x), x)[0], lambda: normal(3, 3))
fn("strings", [S([None], tf.string)], lambda m, x: {"split": tf.strings.split(x).to_tensor(), "len": tf.strings.length(x, "UTF8_CHAR"), "up": tf.strings.upper(x), "re": tf.strings.regex_replace(x, r"(\w)(\w)", r"\2\1"), "sub": tf.strings.substr(x, 0, 2), "join": tf.strings.reduce_join(x, separator="|"), "fmt": tf.strings.format("{} !", x), "hash": tf.strings.to_hash_bucket_fast(x, 100), "strong": tf.strings.to_hash_bucket_strong(x, 100, [1, 2]), "strip": tf.strings.strip(x), "match": tf.strings.regex_full_match(x, ".*o.*"), "b64": tf.io.encode_base64(x), "ngrams": tf.strings.ngrams(tf.strings.split(x), 2).to_tensor(), "bytes": tf.strings.bytes_split(x).to_tensor(), "uni": tf.strings.unicode_decode(x, "UTF-8").to_tensor(), "trans": tf.strings.unicode_transcode(x, "UTF-8", "UTF-16-BE")}, np.array(["hello big world", "foo", " caf\u00e9 au lait "]))
fn("string_numbers", [S([None], tf.string)], lambda m, x: {"f": tf.strings.to_number(x), "i": tf.strings.to_number(tf.strings.regex_replace(x, r"\..*", ""), tf.int64), "s": tf.strings.as_string(tf.strings.to_number(x), precision=3), "csv": tf.stack(tf.io.decode_csv(tf.strings.join([x, x], ","), [[0.], [0.]]))}, np.array(["1.5", "22.25", "-3.0"]))
fn("image", [S([None, None, 3], tf.uint8)], lambda m, x: {"gray": tf.image.rgb_to_grayscale(x), "hsv": tf.image.rgb_to_hsv(tf.image.convert_image_dtype(x, tf.float32)), "area": tf.image.resize(x, [5, 6], method="area"), "lanczos": tf.image.resize(tf.cast(x, tf.float32), [7, 9], method="lanczos5", antialias=True), "pad": tf.image.resize_with_pad(x, 20, 20), "adj": tf.image.adjust_contrast(tf.image.adjust_hue(tf.image.adjust_saturation(tf.cast(x, tf.float32) / 255, 2.), .1), 1.5), "std": tf.image.per_image_standardization(x), "rot": tf.image.rot90(x), "sobel": tf.image.sobel_edges(tf.cast(x, tf.float32)[None]), "crop": tf.image.crop_and_resize(tf.cast(x, tf.float32)[None], [[.1, .2, .8, .9]], [0], [4, 4]), "yiq": tf.image.rgb_to_yiq(tf.cast(x, tf.float32)), "patches": tf.image.extract_patches(x[None], [1, 3, 3, 1], [1, 2, 2, 1], [1, 1, 1, 1], "VALID"), "gamma": tf.image.adjust_gamma(tf.cast(x, tf.float32) / 255, 2.), "ssim": tf.image.psnr(x, x // 2, 255)}, lambda: (rng.random((14, 16, 3)) * 255).astype(np.uint8))
fn("image_codec", [S([None, None, 3], tf.uint8)], lambda m, x: {"png": tf.io.decode_png(tf.io.encode_png(x)), "jpeg": tf.cast(tf.io.decode_jpeg(tf.io.encode_jpeg(x)), tf.float32) * 0 + 1, "any": tf.io.decode_image(tf.io.encode_png(x), expand_animations=False)}, lambda: (rng.random((14, 16, 3)) * 255).astype(np.uint8))
fn("boxes", [S([None, 4], name="b"), S([None], name="s")], lambda m, b, s: {"nms": tf.image.non_max_suppression(b, s, 3, .5), "soft": tf.image.non_max_suppression_with_scores(b, s, 4, soft_nms_sigma=.5)[1], "pad": tf.image.non_max_suppression_padded(b, s, 5, .5, pad_to_max_output_size=True)[0], "comb": tf.image.combined_non_max_suppression(b[None, :, None, :], s[None, :, None], 3, 3)[0]}, lambda: (np.sort(rng.random((6, 2, 2)).astype(np.float32), 1).reshape(6, 4), rng.random(6).astype(np.float32)))
fn("signal", [S([None, 512])], lambda m, x: {"stft": tf.abs(tf.signal.stft(x, 64, 32)), "inv": tf.signal.inverse_stft(tf.signal.stft(x, 64, 32), 64, 32), "mfcc": tf.signal.mfccs_from_log_mel_spectrograms(tf.math.log(1e-3 + tf.tensordot(tf.abs(tf.signal.stft(x, 64, 32, 64)), tf.signal.linear_to_mel_weight_matrix(10, 33, 8000), 1)))[..., :6], "dct": tf.signal.dct(x, type=2, norm="ortho"), "mdct": tf.signal.mdct(x, 64), "frame": tf.signal.frame(x, 30, 20, pad_end=True), "add": tf.signal.overlap_and_add(tf.signal.frame(x, 30, 10), 10), "hann": tf.signal.hann_window(9) + tf.signal.kaiser_window(9), "fft2": tf.abs(tf.signal.rfft2d(tf.reshape(x, [-1, 16, 32])))}, lambda: normal(2, 512))
fn("linalg", [S([None, 4, 4])], lambda m, x: {"inv": tf.linalg.inv(x + 5 * tf.eye(4)), "det": tf.linalg.det(x), "chol": tf.linalg.cholesky(x @ tf.transpose(x, [0, 2, 1]) + tf.eye(4)), "svd": tf.linalg.svd(x, compute_uv=False), "eigh": tf.linalg.eigvalsh(x + tf.transpose(x, [0, 2, 1])), "qr": tf.abs(tf.linalg.qr(x).r), "solve": tf.linalg.solve(x + 5 * tf.eye(4), tf.ones([tf.shape(x)[0], 4, 2])), "expm": tf.linalg.expm(x * .1), "logm": tf.math.real(tf.linalg.logm(tf.cast(x @ tf.transpose(x, [0, 2, 1]) + tf.eye(4), tf.complex64))), "tri": tf.linalg.triangular_solve(tf.linalg.band_part(x, -1, 0) + 5 * tf.eye(4), x), "diag": tf.linalg.diag(x, k=1), "norm": tf.norm(x, axis=[1, 2]), "pinv": tf.linalg.pinv(x), "lu": tf.linalg.lu(x)[1], "cross": tf.linalg.cross(x[..., :3], x[..., 1:]), "lstsq": tf.linalg.lstsq(x, x[..., :1], fast=True, l2_regularizer=.1), "sqrtm": tf.linalg.sqrtm(x @ tf.transpose(x, [0, 2, 1]) + tf.eye(4)), "einsum": tf.einsum("bij,bkj->bik", x, x), "slogdet": tf.linalg.slogdet(x)[1], "tensordot": tf.tensordot(x, x, [[1, 2], [1, 2]]), "adj": tf.linalg.adjoint(x), "matvec": tf.linalg.matvec(x, x[..., 0]), "eig": tf.sort(tf.abs(tf.linalg.eigvals(x)))}, lambda: normal(3, 4, 4))
fn("random_seeded", [S([None], tf.int32, "shape")], lambda m, s: {"u": tf.random.stateless_uniform(s, [1, 2]), "n": tf.random.stateless_normal(s, [1, 2]), "t": tf.random.stateless_truncated_normal(s, [3, 4]), "i": tf.random.stateless_uniform(s, [1, 2], 0, 100, tf.int32), "g": tf.random.stateless_gamma(s, [1, 2], 2.), "b": tf.random.stateless_binomial(s, [5, 6], 10., .3), "p": tf.random.stateless_poisson(s, [5, 6], 3.), "c": tf.random.stateless_categorical(tf.zeros([2, 5]), 4, [1, 2]), "shuffle": tf.random.experimental.stateless_shuffle(tf.range(10), [1, 2]), "old": tf.random.uniform(s, seed=3) * 0 + 1}, np.array([3, 4], np.int32))
fn("math", [S([None])], lambda m, x: {"a": tf.math.lgamma(tf.abs(x) + 1), "b": tf.math.erfinv(tf.tanh(x)), "c": tf.math.bessel_i0e(x), "d": tf.math.zeta(tf.abs(x) + 2, 1.), "e": tf.math.polygamma(1., tf.abs(x) + 1), "f": tf.math.igamma(2., tf.abs(x)), "g": tf.math.betainc(2., 3., tf.sigmoid(x)), "h": tf.math.cumulative_logsumexp(x), "i": tf.math.top_k(x, 2).indices, "j": tf.math.confusion_matrix([0, 1], [1, 1]), "k": tf.math.segment_sum(x, [0, 0, 1, 2, 2]), "l": tf.math.unsorted_segment_mean(x, [2, 0, 1, 0, 2], 3), "m": tf.math.bincount([1, 1, 3]), "n": tf.math.reduce_logsumexp(x), "o": tf.math.ndtri(tf.sigmoid(x)), "p": tf.unique(tf.cast(x, tf.int32)).y, "q": tf.searchsorted(tf.sort(x), [0., .5]), "r": tf.histogram_fixed_width(x, [-1., 1.], 4), "s": tf.math.angle(tf.complex(x, 1.)), "t": tf.math.xlogy(x, 3.), "u": tf.nn.moments(x, 0)[1], "v": tf.math.nextafter(x, 9.) , "w": tf.math.cumprod(x, exclusive=True, reverse=True), "x": tf.math.special.fresnel_cos(x), "y": tf.math.special.expint(tf.abs(x) + .5)}, lambda: normal(5))
fn("arrays", [S([3, 4])], lambda m, x: {"where": tf.where(x > 0), "mask": tf.boolean_mask(x, x > 0), "gnd": tf.gather_nd(x, [[0, 1], [2, 3]]), "snd": tf.scatter_nd([[1], [0]], x[:2], [4, 4]), "tsu": tf.tensor_scatter_nd_max(x, [[0, 0]], [9.]), "dyn": tf.dynamic_partition(x, [0, 1, 0], 2)[1], "stitch": tf.dynamic_stitch([[0, 2], [1]], [x[:2], x[2:]]), "roll": tf.roll(x, 1, 1), "rev": tf.reverse_sequence(x, [2, 3, 4], seq_axis=1), "oh": tf.one_hot([1, -1, 2], 4), "strided": x[::-1, tf.newaxis, 1:3, ...], "space": tf.nn.space_to_depth(tf.reshape(tf.tile(x, [1, 4]), [1, 4, 12, 1])[:, :4, :4], 2), "mesh": tf.meshgrid(x[0], x[:, 0])[0], "repeat": tf.repeat(x, [1, 2, 0], axis=0), "pad": tf.pad(x, [[1, 1], [2, 0]], "REFLECT"), "sb": tf.space_to_batch(tf.reshape(x, [1, 3, 4, 1]), [1, 2], [[0, 0], [0, 0]]), "bc": tf.broadcast_to(x, [2, 3, 4]), "sort": tf.argsort(x, direction="DESCENDING"), "seqmask": tf.sequence_mask([1, 3], 4), "bit": tf.bitwise.bitwise_xor(tf.cast(x, tf.int32), 3), "q": tf.quantization.fake_quant_with_min_max_args(x, -1, 1), "ensure": tf.ensure_shape(x, [3, 4]), "fill": tf.fill([2], x[0, 0]), "eye": tf.eye(3, 4), "unravel": tf.unravel_index([5], [3, 4]), "bitcast": tf.bitcast(x, tf.int32), "edit": tf.edit_distance(tf.sparse.from_dense([[1, 2]]), tf.sparse.from_dense([[1, 3]])), "batch_gather": tf.gather(x, [[0, 1], [1, 2], [3, 3]], batch_dims=1)}, lambda: normal(3, 4))
fn("ragged", [S([None], tf.int32, "values"), S([None], tf.int64, "splits")], lambda m, v, s: {"dense": tf.RaggedTensor.from_row_splits(v, s).to_tensor(-1), "sum": tf.reduce_sum(tf.RaggedTensor.from_row_splits(v, s), 1), "concat": tf.concat([tf.RaggedTensor.from_row_splits(v, s)] * 2, 1).to_tensor(), "sparse": tf.RaggedTensor.from_row_splits(v, s).to_sparse().indices, "emb": tf.reduce_mean(tf.gather(tf.reshape(tf.range(20.), [10, 2]), tf.RaggedTensor.from_row_splits(v, s)), 1), "range": tf.ragged.range([1, 3]).to_tensor(), "bm": tf.ragged.boolean_mask(tf.RaggedTensor.from_row_splits(v, s), tf.RaggedTensor.from_row_splits(v > 2, s)).values, "cross": tf.ragged.cross([tf.RaggedTensor.from_row_splits(v, s), tf.RaggedTensor.from_row_splits(v, s)]).values}, (np.array([3, 1, 4, 1, 5], np.int32), np.array([0, 2, 3, 5], np.int64)))
fn("sparse", [S([None, 2], tf.int64, "indices"), S([None], tf.float32, "values")], lambda m, i, v: {"dense": tf.sparse.to_dense(tf.sparse.reorder(tf.SparseTensor(i, v, [3, 4]))), "mm": tf.sparse.sparse_dense_matmul(tf.SparseTensor(i, v, [3, 4]), tf.ones([4, 2])), "sum": tf.sparse.reduce_sum(tf.SparseTensor(i, v, [3, 4]), 1), "soft": tf.sparse.softmax(tf.SparseTensor(i, v, [3, 4])).values, "slice": tf.sparse.slice(tf.SparseTensor(i, v, [3, 4]), [1, 0], [2, 4]).values, "emb": tf.nn.safe_embedding_lookup_sparse(tf.reshape(tf.range(8.), [4, 2]), tf.SparseTensor(i, i[:, 1], [3, 4])), "fill": tf.sparse.fill_empty_rows(tf.SparseTensor(i, v, [3, 4]), 0.)[0].values, "cat": tf.sparse.concat(1, [tf.SparseTensor(i, v, [3, 4])] * 2).indices, "max": tf.sparse.maximum(tf.SparseTensor(i, v, [3, 4]), tf.SparseTensor(i, -v, [3, 4])).values, "t": tf.sparse.transpose(tf.SparseTensor(i, v, [3, 4])).indices}, (np.array([[0, 1], [2, 0], [2, 3]], np.int64), np.array([1., 2., 3.], np.float32)))


def tables(m):
    m.a = tf.lookup.StaticHashTable(tf.lookup.KeyValueTensorInitializer(["a", "b"], tf.constant([1, 2], tf.int64)), -1)
    m.b = tf.lookup.StaticVocabularyTable(tf.lookup.KeyValueTensorInitializer(["a", "b"], tf.constant([0, 1], tf.int64)), 3)
    m.c = tf.lookup.experimental.MutableHashTable(tf.string, tf.float32, 0.)
    m.c.insert(["a", "z"], [5., 6.])
    m.d = tf.lookup.experimental.DenseHashTable(tf.int64, tf.int64, -1, -2, -3)
    m.d.insert([4], [44])


fn("tables", [S([None], tf.string)], lambda m, x: {"a": m.a.lookup(x), "b": m.b.lookup(x), "c": m.c.lookup(x), "size": m.a.size(), "d": m.d.lookup(tf.constant([4, 5], tf.int64))}, np.array(["a", "z", "b"]), state=tables)


def counter(m):
    m.v = tf.Variable(1.5)
    m.w = tf.Variable(tf.zeros([3]))
    m.s = tf.Variable([b"x", b"y"])
    m.i = tf.Variable(7, dtype=tf.int64)


def count(m, x):
    a = m.v.assign_add(x)
    m.w.scatter_nd_add([[1]], [x]) if hasattr(m.w, "scatter_nd_add") else None
    m.i.assign_add(2)
    with tf.control_dependencies([a]):
        return {"v": m.v.read_value(), "w": m.w.read_value() + 0, "s": tf.strings.join([m.s, "!"]), "i": m.i.read_value()}


fn("variables", [S([])], count, np.float32(2), np.float32(3), np.float32(-1), state=counter)
fn("assert_print", [S([None])], lambda m, x: (tf.debugging.assert_greater(tf.shape(x)[0], 1), tf.debugging.assert_all_finite(x, "bad"), x * 2)[-1], lambda: normal(3))
fn("parse_example", [S([None], tf.string)], lambda m, x: (lambda d: {"a": d["a"], "s": tf.sparse.to_dense(d["s"]), "r": d["r"].to_tensor()})(tf.io.parse_example(x, {"a": tf.io.FixedLenFeature([2], tf.float32, [0., 1.]), "s": tf.io.VarLenFeature(tf.string), "r": tf.io.RaggedFeature(tf.int64)})), lambda: np.array([tf.train.Example(features=tf.train.Features(feature={"a": tf.train.Feature(float_list=tf.train.FloatList(value=[1., 2.])), "r": tf.train.Feature(int64_list=tf.train.Int64List(value=[1, 2, 3]))})).SerializeToString() + b"", tf.train.Example(features=tf.train.Features(feature={"s": tf.train.Feature(bytes_list=tf.train.BytesList(value=[b"q", b"w"]))})).SerializeToString()]))
fn("dataset_inside", [S([None], tf.int64)], lambda m, x: tf.data.Dataset.from_tensor_slices(x).map(lambda v: v * 2).filter(lambda v: v > 2).reduce(tf.constant(0, tf.int64), lambda a, v: a + v), np.array([1, 2, 3], np.int64))
fn("fake_quant", [S([None, 4])], lambda m, x: tf.quantization.fake_quant_with_min_max_vars_per_channel(tf.matmul(tf.quantization.fake_quant_with_min_max_vars(x, -2., 2.), m.w), [-1.] * 3, [1.] * 3), lambda: normal(3, 4), state=lambda m: setattr(m, "w", tf.Variable(normal(4, 3))))
fn("quantize_ops", [S([None, 4])], lambda m, x: {"q": tf.cast(tf.quantization.quantize(x, -2., 2., tf.quint8).output, tf.int32), "d": tf.quantization.dequantize(tf.quantization.quantize(x, -2., 2., tf.qint8).output, -2., 2.), "qd": tf.quantization.quantize_and_dequantize_v2(x, -1., 1., range_given=True)}, lambda: normal(3, 4))
fn("raw_ops", [S([2, 4, 4, 3])], lambda m, x: {"lrn": tf.raw_ops.LRN(input=x), "mpa": tf.raw_ops.MaxPoolWithArgmax(input=x, ksize=[1, 2, 2, 1], strides=[1, 2, 2, 1], padding="VALID")[1], "frac": tf.raw_ops.FractionalAvgPool(value=x, pooling_ratio=[1., 1.5, 1.5, 1.], seed=1, seed2=2, deterministic=True)[0], "dil": tf.raw_ops.Dilation2D(input=x, filter=tf.ones([2, 2, 3]), strides=[1, 1, 1, 1], rates=[1, 1, 1, 1], padding="SAME"), "fbn": tf.raw_ops.FusedBatchNormV3(x=x, scale=[1., 2., 3.], offset=[0., 1., 2.], mean=[.1, .2, .3], variance=[1., 2., 3.], is_training=False)[0], "mirror": tf.raw_ops.MirrorPad(input=x, paddings=[[0, 0], [1, 1], [1, 1], [0, 0]], mode="SYMMETRIC"), "ctc": tf.raw_ops.CTCGreedyDecoder(inputs=tf.transpose(x[..., 0], [1, 0, 2]), sequence_length=[4, 3])[1], "beam": tf.nn.ctc_beam_search_decoder(tf.transpose(x[..., 0], [1, 0, 2]), [4, 3], beam_width=4, top_paths=1)[1]}, lambda: normal(2, 4, 4, 3))
fn("losses", [S([None, 5], name="x"), S([None], tf.int32, "y")], lambda m, x, y: {"s": tf.nn.sparse_softmax_cross_entropy_with_logits(y, x), "sig": tf.nn.sigmoid_cross_entropy_with_logits(tf.one_hot(y, 5), x), "l2": tf.nn.l2_loss(x), "poi": tf.nn.log_poisson_loss(x, x), "topk": tf.math.in_top_k(y, x, 2), "ctc": tf.nn.ctc_loss(tf.constant([[1, 2]]), tf.reshape(tf.tile(x[:4], [1, 1]), [4, 1, 5]), [2], [4])}, lambda: (normal(4, 5), np.array([0, 1, 2, 3], np.int32)))
fn("complex", [S([None, 4])], lambda m, x: {"r": tf.math.real(tf.signal.ifft(tf.signal.fft(tf.complex(x, x * 2)))), "a": tf.abs(tf.exp(tf.complex(x, x))), "m": tf.math.imag(tf.linalg.matmul(tf.complex(x, x), tf.complex(x, -x), adjoint_b=True)), "c": tf.complex(x, x)}, lambda: normal(3, 4))
fn("dtypes", [S([None], tf.float64, "a"), S([None], tf.uint8, "b"), S([None], tf.bool, "c"), S([None], tf.int16, "d"), S([None], tf.float16, "e")], lambda m, a, b, c, d, e: {"a": a * 2, "b": b + 250, "c": tf.logical_not(c), "d": d // 3, "e": e * e, "u": tf.cast(b, tf.uint16), "w": tf.cast(a, tf.bfloat16)}, (np.array([1.5, -2]), np.array([3, 9], np.uint8), np.array([True, False]), np.array([-7, 8], np.int16), np.array([1.5, 3], np.float16)))
fn("custom_gradient", [S([None])], lambda m, x: tf.custom_gradient(lambda v: (tf.exp(v), lambda d: d * 7.))(x), lambda: normal(3))
fn("nested_functions", [S([None])], lambda m, x: tf.function(lambda a: tf.function(lambda b: b * m.v)(a) + 1)(x) + tf.recompute_grad(lambda a: a * 3.)(x), lambda: normal(3), state=lambda m: setattr(m, "v", tf.Variable(2.)))
fn("py_like_loops", [S([None, None])], lambda m, x: tf.vectorized_map(lambda r: tf.cumsum(r), x) + tf.stack([x[:, 0]] * 4, 1), lambda: normal(3, 4))
fn("io_ops", [S([None], tf.string)], lambda m, x: {"raw": tf.io.decode_raw(x, tf.uint8), "ser": tf.io.parse_tensor(tf.io.serialize_tensor(tf.constant([1., 2.])), tf.float32), "json": tf.io.decode_json_example(tf.constant('{"features": {"feature": {"a": {"int64_list": {"value": [5]}}}}}')), "csv": tf.io.decode_csv(["1,2,a"], [[0], [0.], [""]])[2]}, np.array(["abc", "xyz"]))


fn("sobol", [S([], tf.int32, "n")], lambda m, n: tf.math.sobol_sample(3, n), np.int32(5))


def beam(m, x):
    """A greedy decoder: a loop with strings, a TensorArray of strings and an early end."""
    words = tf.constant(["<end>", "a", "b", "c"])
    out = tf.TensorArray(tf.string, size=0, dynamic_size=True)
    state = x
    i = tf.constant(0)
    while i < 6:
        k = tf.argmax(state)
        if k == 0:
            break
        out = out.write(i, words[k])
        state = tf.roll(state, 1, 0) * 0.9 - tf.one_hot(k, 4)
        i += 1
    return {"text": tf.strings.reduce_join(out.stack(), separator=" "), "n": i}


fn("decoder", [S([4])], beam, np.array([.1, .5, .2, .4], np.float32), np.array([.9, .5, .2, .4], np.float32))
fn("nested_while", [S([None])], lambda m, x: tf.while_loop(lambda i, a: i < 3, lambda i, a: (i + 1, tf.while_loop(lambda j, b: j < i, lambda j, b: (j + 1, b * 1.5 + x), [0, a])[1]), [0, x])[1], lambda: normal(3))
fn("lists", [S([None, 2])], lambda m, x: {"sorted": tf.gather(x, tf.argsort(x[:, 0])), "uniq": tf.unique_with_counts(tf.cast(x[:, 0] > 0, tf.int32)).count, "setdiff": tf.sets.size(tf.sets.difference([[1, 2, 3]], [[2]])), "topk": tf.math.top_k(x, 1).values, "cum": tf.math.cumsum(x, axis=0, exclusive=True), "nan": tf.math.is_nan(x / 0.), "clip": tf.clip_by_global_norm([x], 1.)[0][0], "pool": tf.nn.avg_pool1d(x[None], 1, 1, "VALID"), "lin": tf.linspace(0., 1., 4), "quant": tf.histogram_fixed_width_bins(x, [-1., 1.], 5), "pct": tf.nn.weighted_moments(x, 0, tf.ones_like(x))[0]}, lambda: normal(5, 2))
fn("crf_like", [S([None, None, 3])], lambda m, x: tf.scan(lambda a, e: tf.reduce_logsumexp(a[:, :, None] + m.t[None], 1) + e, tf.transpose(x, [1, 0, 2])), lambda: normal(2, 5, 3), state=lambda m: setattr(m, "t", tf.Variable(normal(3, 3))))
fn("int_math", [S([None], tf.int32)], lambda m, x: {"fd": x // 3, "fm": x % 3, "tm": tf.truncatemod(x, 3), "sh": tf.bitwise.left_shift(x, 2), "pop": tf.raw_ops.PopulationCount(x=x), "inv": tf.bitwise.invert(x), "pow": x ** 2, "sq": tf.math.squared_difference(x, 3), "c8": tf.cast(x, tf.int8), "u": tf.cast(x, tf.uint64), "neg": -x, "any": tf.reduce_any(x > 3), "prod": tf.reduce_prod(x), "range": tf.range(x[0], x[1], 2), "bits": tf.math.bincount(tf.abs(x), minlength=4, maxlength=9)}, np.array([-7, 8, 2, 5], np.int32))


@maker
def fn_train_step():
    class M(tf.Module):
        def __init__(self):
            self.w = tf.Variable(normal(3, 1)); self.b = tf.Variable([0.])
            self.o = keras.optimizers.Adam(.1); self.o.build([self.w, self.b]); self.held = [v.value for v in self.o.variables]

        @tf.function(input_signature=[S([None, 3]), S([None], name="y")])
        def step(self, x, y):
            with tf.GradientTape() as t:
                loss = tf.reduce_mean((tf.squeeze(x @ self.w + self.b, 1) - y) ** 2)
            self.o.apply_gradients(zip(t.gradient(loss, [self.w, self.b]), [self.w, self.b]))
            return {"loss": loss, "w": self.w.read_value()}
    m = M()
    tf.saved_model.save(m, path_of("fn_train_step"), signatures={"serving_default": m.step})
    f = {"x": normal(4, 3), "y": normal(4)}
    return [("serving_default", f)] * 4


# ---------------------------------------------------------------- TensorFlow 1
def t1(name, build, *runs):
    def make():
        return tf1_model("tf1_" + name, build, [r() if callable(r) else r for r in runs])
    make.__name__ = "tf1_" + name
    makers[make.__name__] = make


def t1_cond():
    tf1.disable_control_flow_v2()
    x = tf1.placeholder(tf.float32, [None, 2], "x")
    y = tf1.cond(tf.reduce_sum(x) > 0, lambda: tf1.cond(x[0, 0] > 0, lambda: x + 1, lambda: x - 1), lambda: x * 2)
    i, z = tf1.while_loop(lambda i, a: i < 4, lambda i, a: (i + 1, tf1.cond(i > 1, lambda: a * 2, lambda: a + 1)), [0, x])
    return {"x": x}, {"y": y, "z": z}


def t1_partitioned():
    x = tf1.placeholder(tf.float32, [None, 6], "x")
    with tf1.variable_scope("a", partitioner=tf1.fixed_size_partitioner(3)):
        w = tf1.get_variable("w", [6, 4], initializer=tf1.random_normal_initializer(seed=1))
    e = tf1.nn.embedding_lookup(w, tf.constant([0, 5, 2]), partition_strategy="div")
    return {"x": x}, {"y": tf1.matmul(x, w), "e": e}


def t1_dense():
    x = tf1.placeholder(tf.float32, [None, 8, 8, 3], "x")
    w = tf1.get_variable("w", [3, 3, 3, 4], use_resource=False, initializer=tf1.random_normal_initializer(seed=1))
    h = tf1.nn.relu(tf1.nn.bias_add(tf1.nn.conv2d(x, w, [1, 2, 2, 1], "SAME"), tf1.get_variable("b", [4], use_resource=False)))
    m, v = tf1.nn.moments(h, [0, 1, 2])
    h = tf1.nn.batch_normalization(h, m, v, None, None, 1e-3)
    h = tf1.nn.lrn(h)
    return {"x": x}, {"y": tf1.nn.softmax(tf1.reshape(h, [-1, 64]))}


def t1_rnn():
    tf1.disable_control_flow_v2()
    x = tf1.placeholder(tf.float32, [None, 5, 3], "x")
    n = tf1.placeholder(tf.int32, [None], "n")
    w = tf1.get_variable("w", [7, 16], initializer=tf1.random_normal_initializer(seed=1))
    ta = tf1.TensorArray(tf.float32, 5).unstack(tf.transpose(x, [1, 0, 2]))
    out = tf1.TensorArray(tf.float32, 5)

    def body(t, h, o):
        c = tf.concat([ta.read(t), h], 1) @ w
        g, i, f, u = tf.split(c, 4, 1)
        h2 = tf.sigmoid(g) * tf.tanh(i) + tf.sigmoid(f) * h
        h2 = tf1.where(t < n, h2, h)
        return t + 1, h2, o.write(t, h2)
    _, h, o = tf1.while_loop(lambda t, *_: t < 5, body, [0, tf.zeros([tf.shape(x)[0], 4]), out])
    return {"x": x, "n": n}, {"h": h, "o": o.stack()}


def t1_queue():
    x = tf1.placeholder(tf.float32, [None], "x")
    q = tf1.FIFOQueue(10, [tf.float32], [[]])
    with tf1.control_dependencies([q.enqueue_many([x])]):
        y = q.dequeue_many(2)
    with tf1.control_dependencies([y]):
        n = q.size() * 1
    return {"x": x}, {"y": y, "n": n}


def t1_parse():
    s = tf1.placeholder(tf.string, [None], "s")
    d = tf1.io.parse_example(s, {"age": tf1.FixedLenFeature([], tf.int64, 3), "tags": tf1.VarLenFeature(tf.string)})
    table = tf1.lookup.StaticVocabularyTable(tf1.lookup.KeyValueTensorInitializer(["a", "b"], tf.constant([0, 1], tf.int64)), 1)
    ids = tf1.SparseTensor(d["tags"].indices, table.lookup(d["tags"].values), d["tags"].dense_shape)
    emb = tf1.get_variable("emb", [3, 4], initializer=tf1.random_normal_initializer(seed=2))
    e = tf1.nn.safe_embedding_lookup_sparse([emb], ids, combiner="mean")
    return {"examples": s}, {"scores": tf.concat([e, tf.cast(d["age"], tf.float32)[:, None]], 1), "classes": tf.as_string(d["age"])}


def t1_sparse_signature():
    x = tf1.sparse_placeholder(tf.float32, [None, 4], "x")
    return {"x": x}, {"y": tf1.sparse.sparse_dense_matmul(x, tf.ones([4, 2]))}


def t1_ragged_signature():
    x = tf1.ragged.placeholder(tf.float32, 1, [], name="x")
    return {"x": x}, {"y": tf.reduce_sum(x, 1), "z": x * 2.}


def t1_functional():
    tf1.enable_control_flow_v2()
    x = tf1.placeholder(tf.float32, [None, 2], "x")
    y = tf1.cond(tf.reduce_sum(x) > 0, lambda: x + 1, lambda: x * 2)
    z = tf1.while_loop(lambda i, a: i < 4, lambda i, a: (i + 1, a * 2), [0, x])[1]
    return {"x": x}, {"y": y, "z": z}


def t1_grad():
    tf1.disable_control_flow_v2()
    x = tf1.placeholder(tf.float32, [3], "x")
    z = tf1.while_loop(lambda i, a: i < 4, lambda i, a: (i + 1, tf.sin(a) * x), [0, x])[1]
    return {"x": x}, {"g": tf1.gradients(z, x)[0], "z": z}


ex = lambda **kw: tf.train.Example(features=tf.train.Features(feature=kw)).SerializeToString()  # noqa: E731
t1("cond", t1_cond, lambda: {"x": normal(2, 2)}, lambda: {"x": np.abs(normal(2, 2))}, lambda: {"x": -np.abs(normal(2, 2))})
t1("partitioned", t1_partitioned, lambda: {"x": normal(2, 6)})
t1("dense", t1_dense, lambda: {"x": normal(2, 8, 8, 3)})
t1("rnn", t1_rnn, lambda: {"x": normal(3, 5, 3), "n": np.array([5, 2, 0], np.int32)})
t1("queue", t1_queue, lambda: {"x": normal(4)}, lambda: {"x": normal(2)})
t1("parse", t1_parse, lambda: {"examples": np.array([ex(age=tf.train.Feature(int64_list=tf.train.Int64List(value=[9])), tags=tf.train.Feature(bytes_list=tf.train.BytesList(value=[b"b", b"zz"]))), ex(age=tf.train.Feature(int64_list=tf.train.Int64List(value=[5])))])})
t1("sparse_signature", t1_sparse_signature, {"x": (np.array([[0, 1], [1, 3]], np.int64), np.array([2., 3.], np.float32), np.array([2, 4], np.int64))})
t1("ragged_signature", t1_ragged_signature, {"x": {"flat_values": np.array([1., 2., 3.], np.float32), "row_splits_0": np.array([0, 1, 3], np.int64)}})
t1("functional", t1_functional, lambda: {"x": normal(2, 2)})
t1("grad", t1_grad, lambda: {"x": normal(3)})


# ---------------------------------------------------------------- both
def answers(name, runs):
    g = tf1.Graph()
    out = []
    with g.as_default(), tf1.Session(graph=g) as s:
        meta = tf1.saved_model.load(s, [tf1.saved_model.SERVING], path_of(name))
        for sig, feeds in runs:
            d = meta.signature_def[sig]
            want = {k: v.name for k, v in d.outputs.items() if v.name}
            for k, v in d.outputs.items():
                for i, part in enumerate(v.composite_tensor.components):
                    want["%s/%s" % (k, "row_splits_%d" % (i - 1) if i else "flat_values")] = part.name
            fd = {}
            for k, v in feeds.items():
                if d.inputs[k].WhichOneof("encoding") == "coo_sparse":
                    c = d.inputs[k].coo_sparse
                    fd.update({c.indices_tensor_name: v[0], c.values_tensor_name: v[1], c.dense_shape_tensor_name: v[2]})
                elif isinstance(v, dict):
                    for part, a in zip(d.inputs[k].composite_tensor.components, v.values()):
                        fd[part.name] = a
                else:
                    fd[d.inputs[k].name] = v
            out.append(s.run(want, fd))
    return out


def ferry(binary, name, i, sig, feeds):
    src, dst = path_of(name) + ".%d.in.npz" % i, path_of(name) + ".%d.out.npz" % i
    flat = {}
    for k, v in feeds.items():
        if isinstance(v, tuple):
            for part, a in zip(("indices", "values", "dense_shape"), v):
                flat[k + "/" + part] = a
        elif isinstance(v, dict):
            flat.update({k + "/" + part: a for part, a in v.items()})
        else:
            v = np.asarray(v)
            if v.dtype.kind in "OU":
                v = np.array([x if isinstance(x, bytes) else x.encode() for x in v.ravel().tolist()]).reshape(v.shape)
            flat[k] = v
    np.savez(src, **flat)
    r = subprocess.run([binary, "run", path_of(name), "--signature", sig, "--input", src, "--output", dst, "--quiet"],
                       capture_output=True, text=True, timeout=300)
    if r.returncode:
        raise RuntimeError(r.stderr.strip().split("\n")[0] if r.returncode > 0 else "signal %d" % -r.returncode)
    return dict(np.load(dst, allow_pickle=True))


def compare(want, got, loose=False):
    worst = 0.
    for k, w in want.items():
        if k not in got:
            return None, "no output %s (has %s)" % (k, sorted(got))
        g = got[k]
        w = np.asarray(w)
        if w.dtype.kind in "OSU":
            w = np.array([x if isinstance(x, bytes) else str(x).encode() for x in w.ravel().tolist()]).reshape(w.shape)
            a = [x.rstrip(b"\0") for x in w.ravel().tolist()]
            b = [(x if isinstance(x, bytes) else str(x).encode()).rstrip(b"\0") for x in g.ravel().tolist()]
            if w.shape != g.shape or a != b:
                return None, "%s: %r, not %r" % (k, b[:4], a[:4])
            continue
        if str(w.dtype) == "bfloat16":
            w = w.astype(np.float32)
            g = (g.astype(np.uint32) << 16).view(np.float32) if g.dtype == np.uint16 else g.view(np.uint16).astype(np.uint32).__lshift__(16).view(np.float32) if g.dtype.itemsize == 2 else g
        if w.shape != g.shape:
            return None, "%s: shape %s, not %s" % (k, g.shape, w.shape)
        if w.dtype.kind in "iub":
            if not np.array_equal(w, g):
                return None, "%s: %s, not %s" % (k, g.ravel()[:6], w.ravel()[:6])
            continue
        tolerance = 3e-2 if w.dtype.itemsize == 2 or loose else 1e-4
        scale = np.max(np.abs(w[np.isfinite(w)]), initial=0) + 1e-3
        same = (w == g) | (np.isnan(w) & np.isnan(g))
        off = np.where(same, 0, np.abs(np.where(np.isfinite(w), w, 0) - g)) / scale
        off = float(np.max(np.nan_to_num(off, nan=np.inf), initial=0))
        worst = max(worst, off)
        if off > tolerance:
            return None, "%s: off by %.2g (%s, not %s)" % (k, off, g.ravel()[:4], w.ravel()[:4])
    return worst, ""


def stateful(name):
    return name in ("fn_variables", "fn_train_step", "layer_stateful_rnn", "tf1_queue")


def attempt(name, binary):
    shutil.rmtree(path_of(name), ignore_errors=True)
    try:
        keras.utils.set_random_seed(3)
        runs = makers[name]()
        want = answers(name, runs)
    except Exception as e:  # noqa: BLE001
        if os.environ.get("VERBOSE"):
            traceback.print_exc()
        return "skip", "TensorFlow itself: %s" % str(e).split("\n")[0][:160]
    worst = 0.
    for i, (sig, feeds) in enumerate(runs[:1] if stateful(name) else runs):
        try:
            got = ferry(binary, name, i, sig, feeds)
        except Exception as e:  # noqa: BLE001
            return "FAIL", str(e)[:600]
        off, why = compare(want[i], got, "mixed" in name)
        if off is None:
            return "DIFF", "run %d: %s" % (i, why)
        worst = max(worst, off)
    return "ok", "%.2g" % worst


def main():
    global WHERE
    p = argparse.ArgumentParser()
    p.add_argument("--ferry", default="build/bin/ferry")
    p.add_argument("--dir", default=WHERE)
    p.add_argument("--list", action="store_true")
    p.add_argument("--keep", action="store_true")
    p.add_argument("names", nargs="*")
    a = p.parse_args()
    WHERE = a.dir
    os.makedirs(WHERE, exist_ok=True)
    names = [n for n in makers if not a.names or any(x in n for x in a.names)]
    if a.list:
        print("\n".join(names))
        return 0
    bad = 0
    for n in names:
        state, text = attempt(n, a.ferry)
        if n in KNOWN:
            state, text = ("known", KNOWN[n]) if state == "FAIL" else ("DIFF", "runs now: take it off KNOWN")
        bad += state in ("FAIL", "DIFF")
        print("%-5s %-28s %s" % (state, n, text), flush=True)
        if state == "ok" and not a.keep:
            shutil.rmtree(path_of(n), ignore_errors=True)
    print("%d of %d failed" % (bad, len(names)))
    return 1 if bad else 0


if __name__ == "__main__":
    sys.exit(main())
