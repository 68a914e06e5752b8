# SPDX-License-Identifier: Apache-2.0
"""More of Keras: states, masks, several inputs and outputs, subclassed models, preprocessing in every mode, exports with
several endpoints."""
from models.common import *  # noqa: F403
from models.keras_layers import layer

strings = lambda *rows: lambda: np.array(rows)  # noqa: E731


def functional(name, build, *feeds):
    """|build|() -> keras.Model; feeds: tuples by input order, made when called."""
    def make():
        keras.utils.set_random_seed(11)
        return keras_model("layer_" + name, build(), *[v() if callable(v) else v for v in feeds])
    make.__name__ = "layer_" + name
    makers[make.__name__] = make


# ---------------------------------------------------------------- recurrent
def rnn_states():
    x, m = L.Input([None, 3], name="x"), L.Input([None], dtype="bool", name="m")
    a, h, c = L.LSTM(4, return_sequences=True, return_state=True)(x, mask=m)
    b, s = L.GRU(4, return_state=True)(a, initial_state=h, mask=m)
    f = L.Bidirectional(L.LSTM(2, return_sequences=True, return_state=True))(x, mask=m)
    r = L.RNN([L.LSTMCell(3), L.GRUCell(2), L.SimpleRNNCell(2)], return_sequences=True)(x, mask=m)
    return keras.Model([x, m], [a, h, c, b, s, r] + list(f))


functional("rnn_states", rnn_states, lambda: (normal(2, 5, 3), np.array([[1, 1, 1, 0, 0], [1, 1, 1, 1, 1]], bool)))
layer("lstm_options", [4, 3], lambda: [L.LSTM(4, return_sequences=True, unit_forget_bias=False, use_bias=False), L.LSTM(3, activation="relu", recurrent_activation="tanh", return_sequences=True), L.GRU(3, activation="sigmoid", recurrent_activation="hard_sigmoid", return_sequences=True), L.SimpleRNN(2, activation="elu", go_backwards=True)], lambda: normal(2, 4, 3))
layer("lstm_unrolled", [4, 3], lambda: [L.LSTM(4, unroll=True, return_sequences=True), L.GRU(3, unroll=True)], lambda: normal(2, 4, 3))
layer("lstm_embedding_mask", [None], lambda: [L.Embedding(12, 4, mask_zero=True), L.Bidirectional(L.LSTM(3, return_sequences=True)), L.LSTM(4), L.Dense(1, "sigmoid")], lambda: np.array([[1, 2, 3, 0], [4, 0, 0, 0]], np.int32), lambda: np.array([[5, 6]], np.int32), dtype="int32")
layer("conv_lstm3d", [2, 3, 4, 4, 1], lambda: [L.ConvLSTM3D(2, 2, padding="same", return_sequences=False)], lambda: normal(1, 2, 3, 4, 4, 1))
layer("conv_lstm_state", [3, 6, 6, 2], lambda: [L.ConvLSTM2D(3, 3, strides=2, padding="same", return_sequences=True, go_backwards=True), L.BatchNormalization(), L.ConvLSTM2D(2, 2, dilation_rate=1, recurrent_activation="sigmoid")], lambda: normal(2, 3, 6, 6, 2))


@maker
def layer_stateful_stack():
    m = keras.Sequential([L.Input(batch_shape=(2, 3, 4)), L.GRU(5, stateful=True, return_sequences=True), L.Bidirectional(L.LSTM(3, stateful=True)), L.Dense(2)])
    return keras_model("layer_stateful_stack", m, normal(2, 3, 4), normal(2, 3, 4), normal(2, 3, 4))


# ---------------------------------------------------------------- attention
def attentions():
    q, v, m = L.Input([4, 8], name="q"), L.Input([6, 8], name="v"), L.Input([4, 6], dtype="bool", name="m")
    a, s = L.MultiHeadAttention(2, 3, value_dim=5, output_shape=6, use_bias=False)(q, v, attention_mask=m, return_attention_scores=True)
    b = L.MultiHeadAttention(2, 4, flash_attention=False)(q, v, key=v)
    c = L.GroupQueryAttention(4, 6, 3)(q, v, attention_mask=m)
    d, ds = L.Attention(score_mode="concat", use_scale=True)([q, v], return_attention_scores=True)
    e = L.Attention()([q, v], use_causal_mask=True)
    return keras.Model([q, v, m], [a, s, b, c, d, ds, e])


functional("attentions_masks", attentions, lambda: (normal(2, 4, 8), normal(2, 6, 8), np.array([[[1, 1, 1, 1, 0, 0]] * 4, [[1, 1, 0, 0, 0, 0]] * 4], bool)))


def transformer():
    i = L.Input([None], dtype="int32")
    pos = keras.ops.arange(keras.ops.shape(i)[1]) if False else None
    del pos
    x = L.Embedding(20, 8, mask_zero=True)(i)
    for _ in range(2):
        a = L.MultiHeadAttention(2, 4)(x, x, use_causal_mask=True)
        x = L.LayerNormalization(epsilon=1e-6)(L.Add()([x, a]))
        f = L.Dense(8)(L.Dropout(.1)(L.Dense(16, "gelu")(x)))
        x = L.LayerNormalization(epsilon=1e-6)(L.Add()([x, f]))
    return keras.Model(i, [L.Dense(20, "softmax")(x), L.GlobalAveragePooling1D()(x)])


functional("transformer_masked", transformer, lambda: np.array([[3, 5, 7, 0, 0], [1, 2, 3, 4, 5]], np.int32), lambda: np.array([[9]], np.int32))


# ---------------------------------------------------------------- preprocessing
words = ["the", "cat", "sat", "mat"]
for mode in ("int", "multi_hot", "count", "tf_idf"):
    layer("text_vectorization_" + mode, [], lambda mode=mode: [L.TextVectorization(vocabulary=words, output_mode=mode, idf_weights=[.1, .2, .3, .4] if mode == "tf_idf" else None)], strings("The cat sat.", "on the MAT", ""), dtype="string")
layer("text_vectorization_padded", [], lambda: [L.TextVectorization(vocabulary=words, output_sequence_length=6, standardize="lower", split="whitespace", ngrams=(1, 2))], strings("the cat sat on the mat again", "cat"), dtype="string")
layer("text_vectorization_strip", [1], lambda: [L.TextVectorization(vocabulary=words, standardize="strip_punctuation", output_mode="multi_hot", pad_to_max_tokens=True, max_tokens=9)], lambda: np.array([["the, cat!"], ["The"]]), dtype="string")
layer("text_vectorization_ragged_len", [], lambda: [L.TextVectorization(vocabulary=words, output_sequence_length=3, standardize=None, split=None) if False else L.TextVectorization(vocabulary=words, output_sequence_length=3)], strings("a b c d e f the", ""), dtype="string")
for mode in ("int", "one_hot", "multi_hot", "count", "tf_idf"):
    layer("string_lookup_" + mode, [1] if mode in ("one_hot",) else [3], lambda mode=mode: [L.StringLookup(vocabulary=words, output_mode=mode, num_oov_indices=2, idf_weights=[1., 2., 3., 4.] if mode == "tf_idf" else None)], (lambda: np.array([["cat"], ["dog"]])) if mode == "one_hot" else (lambda: np.array([["cat", "dog", "the"], ["mat", "mat", ""]])), dtype="string")
    layer("integer_lookup_" + mode, [1] if mode in ("one_hot",) else [3], lambda mode=mode: [L.IntegerLookup(vocabulary=[3, 7, 1000], output_mode=mode, num_oov_indices=1, idf_weights=[1., 2., 3.] if mode == "tf_idf" else None)], (lambda: np.array([[7], [5]], np.int64)) if mode == "one_hot" else (lambda: np.array([[3, 7, 8], [1000, 7, 7]], np.int64)), dtype="int64")
layer("string_lookup_mask", [2], lambda: [L.StringLookup(vocabulary=words, mask_token="", num_oov_indices=1)], lambda: np.array([["cat", ""], ["x", "the"]]), dtype="string")
layer("string_lookup_invert", [2], lambda: [L.StringLookup(vocabulary=words, invert=True)], lambda: np.array([[1, 0], [4, 2]], np.int64), dtype="int64")
layer("integer_lookup_invert", [2], lambda: [L.IntegerLookup(vocabulary=[5, 6], invert=True)], lambda: np.array([[1, 0], [2, 1]], np.int64), dtype="int64")
for mode in ("one_hot", "multi_hot", "count"):
    layer("category_" + mode, [1] if mode == "one_hot" else [3], lambda mode=mode: [L.CategoryEncoding(5, output_mode=mode)], (lambda: np.array([[1], [4]], np.int32)) if mode == "one_hot" else (lambda: np.array([[1, 1, 4], [0, 2, 3]], np.int32)), dtype="int32")
for mode in ("int", "one_hot", "multi_hot", "count"):
    layer("discretization_" + mode, [1] if mode == "one_hot" else [2], lambda mode=mode: [L.Discretization([0., .5, 2.], output_mode=mode)], (lambda: normal(4, 1)) if mode == "one_hot" else (lambda: normal(4, 2)))
layer("hashing_multi", [3], lambda: [L.Hashing(9, output_mode="multi_hot")], lambda: np.array([["a", "b", "c"], ["a", "a", "zz"]]), dtype="string")
layer("hashing_ints", [2], lambda: [L.Hashing(9, mask_value=0)], lambda: np.array([[1, 0], [77, 12345678901]], np.int64), dtype="int64")
layer("normalization_axes", [4, 3], lambda: [L.Normalization(axis=-1, mean=[1., 2., 3.], variance=[1., 2., 3.]), L.Normalization(axis=None, mean=.5, variance=2.), L.Normalization(axis=None, mean=.1, variance=3., invert=True)], lambda: normal(2, 4, 3))
layer("resizing_all", [11, 9, 3], lambda: [L.Resizing(8, 10, interpolation="bilinear", antialias=True) if False else L.Resizing(8, 10), L.Resizing(14, 12, interpolation="lanczos3"), L.Resizing(9, 7, interpolation="area") if False else L.Resizing(9, 7, pad_to_aspect_ratio=True)], lambda: normal(2, 11, 9, 3))
layer("crops", [12, 10, 3], lambda: [L.CenterCrop(14, 8), L.RandomCrop(9, 6), L.Rescaling(scale=[1., 2., 3.], offset=.5)], lambda: normal(2, 12, 10, 3))
layer("random_images", [10, 10, 3], lambda: [x for x in [L.RandomFlip("horizontal"), L.RandomRotation(.1), L.RandomZoom(.1), L.RandomTranslation(.1, .1), L.RandomContrast(.1), L.RandomBrightness(.1)] + [getattr(L, n)() for n in ("RandomGrayscale", "RandomSharpness", "RandomInvert") if hasattr(L, n) and n == "RandomGrayscale"]], lambda: (rng.random((2, 10, 10, 3)) * 255).astype(np.float32))
layer("max_num_bounding", [6], lambda: [L.Dense(4, kernel_initializer="orthogonal"), L.Identity(), L.ActivityRegularization(l2=.1), L.Masking(), L.Dense(2, bias_initializer="ones")], lambda: normal(2, 6))
layer("pools_3d", [6, 6, 6, 2], lambda: [L.MaxPooling3D((1, 2, 2), padding="same"), L.ZeroPadding3D(1), L.Cropping3D(((1, 0), (0, 1), (1, 1))), L.AveragePooling3D(2), L.GlobalAveragePooling3D(keepdims=True)], lambda: normal(1, 6, 6, 6, 2))
layer("adaptive", [8, 8, 2], lambda: [getattr(L, "AdaptiveAveragePooling2D", lambda s: L.AveragePooling2D(2))((4, 4)), L.Conv2D(3, 3, data_format="channels_last", dilation_rate=(2, 1), padding="same"), L.DepthwiseConv2D((3, 3), dilation_rate=(1, 1)), L.SeparableConv2D(4, 2, depth_multiplier=2, dilation_rate=1, padding="same")], lambda: normal(2, 8, 8, 2))
layer("conv_strides_odd", [11, 13, 3], lambda: [L.Conv2D(6, (5, 1), strides=(2, 3), padding="same", groups=3), L.Conv2DTranspose(4, (4, 2), strides=(3, 2), padding="valid", output_padding=None), L.Conv2DTranspose(2, 3, dilation_rate=2) if False else L.Conv2D(2, 1, use_bias=False), L.UpSampling2D((3, 1), interpolation="nearest")], lambda: normal(2, 11, 13, 3))
layer("conv3d_transpose", [3, 4, 4, 2], lambda: [L.Conv3DTranspose(3, (2, 3, 3), strides=(1, 2, 2), padding="same"), L.UpSampling3D((1, 2, 1)), L.Conv3D(2, 3, groups=1, dilation_rate=1), L.GlobalMaxPooling3D()], lambda: normal(1, 3, 4, 4, 2))
layer("conv1d_groups", [12, 4], lambda: [L.Conv1D(8, 3, groups=2, strides=2, padding="same"), L.DepthwiseConv1D(2, depth_multiplier=2, padding="same"), L.SeparableConv1D(4, 3, padding="same"), L.Conv1DTranspose(3, 3, strides=2), L.GlobalMaxPooling1D()], lambda: normal(2, 12, 4))
layer("group_norms", [4, 4, 6], lambda: [L.GroupNormalization(groups=-1), L.GroupNormalization(groups=1), L.GroupNormalization(groups=3, axis=-1, center=False), L.BatchNormalization(axis=1, scale=False), L.LayerNormalization(axis=-1, center=False, scale=False), L.UnitNormalization(axis=[1, 2])], lambda: normal(2, 4, 4, 6))
layer("ops_layer", [5, 4], lambda: [L.Lambda(lambda x: keras.ops.softmax(keras.ops.matmul(x, keras.ops.transpose(x, [0, 2, 1])), -1)), L.Lambda(lambda x: keras.ops.logsumexp(x, axis=1) + keras.ops.std(x, axis=1)), L.Lambda(lambda x: keras.ops.top_k(x, 3)[0]), L.Lambda(lambda x: keras.ops.cumsum(x, -1) + keras.ops.erf(x))], lambda: normal(2, 5, 4))


# ---------------------------------------------------------------- whole models
def many_ends():
    a, b, c = L.Input([4], name="numbers"), L.Input([1], dtype="string", name="word"), L.Input([6, 6, 1], name="picture")
    w = L.StringLookup(vocabulary=words)(b)
    e = L.Flatten()(L.Embedding(6, 3)(w))
    p = L.Flatten()(L.Conv2D(2, 3, activation="relu")(c))
    h = L.Concatenate()([L.Dense(5, "relu")(a), e, p])
    return keras.Model({"numbers": a, "word": b, "picture": c}, {"score": L.Dense(1, name="score")(h), "classes": L.Dense(3, "softmax", name="classes")(h)})


@maker
def layer_many_ends():
    m = many_ends()
    m.export(path_of("layer_many_ends"), verbose=False)
    return [("serving_default", {"numbers": normal(n, 4), "word": np.array([["cat"], ["dog"]])[:n], "picture": normal(n, 6, 6, 1)}) for n in (2, 1)]


@maker
def layer_subclassed():
    class Block(L.Layer):
        def __init__(self, n):
            super().__init__()
            self.a, self.b = L.Dense(n, "relu"), L.Dense(n)
            self.norm = L.LayerNormalization()

        def call(self, x, training=None):
            return self.norm(x + self.b(self.a(x)))

    class Net(keras.Model):
        def __init__(self):
            super().__init__()
            self.blocks = [Block(6) for _ in range(3)]
            self.heads = {"a": L.Dense(2), "b": L.Dense(3)}
            self.count = self.add_weight(shape=(), initializer="zeros", trainable=False, name="count")

        def call(self, x):
            for i, b in enumerate(self.blocks):
                x = b(x)
            i = tf.constant(0)
            i, x = tf.while_loop(lambda i, x: tf.logical_and(i < 3, tf.reduce_mean(x) < .5), lambda i, x: (i + 1, x + .2), [i, x])
            return {"a": self.heads["a"](x), "b": tf.nn.softmax(self.heads["b"](x)), "i": i}
    m = Net()
    m(normal(2, 6))
    e = keras.export.ExportArchive()
    e.track(m)
    e.add_endpoint("serve", m.call, [S([None, 6], name="x")])
    e.add_endpoint("embed", lambda x: {"e": m.blocks[0](x)}, [S([None, 6], name="x")])
    e.write_out(path_of("layer_subclassed"), verbose=False)
    x = {"x": normal(3, 6)}
    return [("serve", x), ("embed", x), ("serving_default", x)]


@maker
def layer_saved_with_tf():
    """tf.saved_model.save of a Keras model (the low-level road), with its train function beside it."""
    i = L.Input([5], name="x")
    m = keras.Model(i, L.Dense(2)(L.BatchNormalization()(L.Dense(4, "relu")(i))))
    f = tf.function(lambda x: {"y": m(x, training=False)}, input_signature=[S([None, 5])])
    t = tf.function(lambda x: {"y": m(x, training=True), "n": tf.shape(x)[0]}, input_signature=[S([None, 5])])
    f.get_concrete_function(), t.get_concrete_function()
    m.held = tf.Module()
    m.held.v = [w.value for w in m.weights]
    tf.saved_model.save(m, path_of("layer_saved_with_tf"), signatures={"serving_default": f, "train": t})
    x = {"x": normal(4, 5)}
    return [("serving_default", x), ("train", x), ("train", x), ("serving_default", x)]


def quantized(mode):
    def make():
        keras.utils.set_random_seed(3)
        m = keras.Sequential([L.Input([12]), L.Dense(16, "relu"), L.EinsumDense("ab,bc->ac", 8) if mode == "int8" else L.Dense(8), L.Dense(4)])
        m.quantize(mode)
        return keras_model("layer_quantized_" + mode, m, normal(3, 12), normal(1, 12))
    makers["layer_quantized_" + mode] = make


for mode in ("int8", "int4", "float8"):
    quantized(mode)


@maker
def layer_quantized_embedding():
    m = keras.Sequential([L.Input([5], dtype="int32"), L.Embedding(30, 8), L.GlobalAveragePooling1D(), L.Dense(3)])
    m.quantize("int8")
    return keras_model("layer_quantized_embedding", m, np.array([[1, 2, 3, 4, 29]], np.int32))


def precision(policy, tag, layers, shape, feed, dtype=None):
    def make():
        keras.mixed_precision.set_global_policy(policy)
        try:
            return sequential("layer_" + tag, shape, layers(), feed())
        finally:
            keras.mixed_precision.set_global_policy("float32")
    makers["layer_" + tag] = make


precision("mixed_float16", "half_cnn", lambda: [L.Conv2D(4, 3, padding="same", use_bias=False), L.BatchNormalization(), L.ReLU(), L.DepthwiseConv2D(3), L.GlobalAveragePooling2D(), L.Dense(3, "softmax", dtype="float32")], [8, 8, 3], lambda: normal(2, 8, 8, 3))
precision("mixed_float16", "half_lstm", lambda: [L.LSTM(4, return_sequences=True), L.GRU(3), L.Dense(2, dtype="float32")], [5, 3], lambda: normal(2, 5, 3))
precision("mixed_bfloat16", "bfloat16_cnn", lambda: [L.Conv2D(4, 3, strides=2, padding="same"), L.LayerNormalization(), L.MaxPooling2D(2), L.Flatten(), L.Dense(3, dtype="float32")], [8, 8, 3], lambda: normal(2, 8, 8, 3))
precision("float64", "float64", lambda: [L.Conv1D(4, 3), L.LSTM(3, return_sequences=True), L.MultiHeadAttention(1, 2) if False else L.Dense(3, "gelu"), L.BatchNormalization(), L.GlobalAveragePooling1D()], [8, 3], lambda: normal(2, 8, 3))
precision("float16", "half_all", lambda: [L.Dense(8, "relu"), L.LayerNormalization(), L.Dense(3, "softmax")], [6], lambda: normal(2, 6))
precision("bfloat16", "bfloat16_all", lambda: [L.Dense(8, "tanh"), L.Dense(3)], [6], lambda: normal(2, 6))
