# SPDX-License-Identifier: Apache-2.0
"""Layers and applications of Keras."""
from models.common import *  # noqa: F403


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
