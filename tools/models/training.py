# SPDX-License-Identifier: Apache-2.0
"""Training steps as signatures: gradients are plain graph ops, so that loss and weights must agree over several steps."""
from models.common import *  # noqa: F403


def step_model(name, build, feeds, optimizer, loss, steps=3, tf1_optimizer=False):
    """|build|() -> (model or callable, variables). The signature takes x and y, and tells loss and the sum of every variable."""
    class M(tf.Module):
        pass
    m = M()
    call, variables = build(m)
    m.held = list(variables)
    opt = optimizer()
    if not tf1_optimizer:
        opt.build(variables)
        m.opt_vars = [v.value if hasattr(v, "value") and not isinstance(v, tf.Variable) else v for v in
                      (opt.variables if not callable(opt.variables) else opt.variables())]
    raw = [getattr(v, "value", v) if not isinstance(v, tf.Variable) else v for v in variables]
    x, y = feeds[0]

    @tf.function(input_signature=[tf.TensorSpec((None,) + x.shape[1:], x.dtype, name="x"), tf.TensorSpec((None,) + y.shape[1:], y.dtype, name="y")])
    def step(x, y):
        with tf.GradientTape() as t:
            out = loss(call(x), y)
        g = t.gradient(out, raw)
        opt.apply_gradients(zip(g, variables if not tf1_optimizer else raw))
        r = {"loss": out}
        for i, v in enumerate(raw):
            r["v%d" % i] = v.read_value()
            r["g%d" % i] = tf.convert_to_tensor(g[i])
        return r
    m.step = step
    tf.saved_model.save(m, path_of(name), signatures={"serving_default": step})
    return [("serving_default", {"x": a, "y": b}) for a, b in (feeds * steps)[:steps]]


def mse(p, y):
    return tf.reduce_mean((p - y) ** 2)


def xent(p, y):
    return tf.reduce_mean(tf.nn.sparse_softmax_cross_entropy_with_logits(y, p))


def keras_net(shape, layers, dtype="float32"):
    def build(m):
        i = L.Input(shape, dtype=dtype)
        x = i
        for layer in layers():
            x = layer(x)
        model = keras.Model(i, x)
        m.model = model
        m.everything = [v.value for v in model.weights]
        return (lambda v: model(v, training=True)), [v.value for v in model.trainable_variables]
    return build


def train(name, build, x, y, optimizer=lambda: keras.optimizers.SGD(.1), loss=mse, steps=3, **kw):
    def make():
        keras.utils.set_random_seed(5)
        return step_model("train_" + name, build, [(x(), y())], optimizer, loss, steps, **kw)
    make.__name__ = "train_" + name
    makers[make.__name__] = make


ints = lambda n, k: lambda: rng.integers(0, k, n).astype(np.int32)  # noqa: E731
f = lambda *s: lambda: normal(*s)  # noqa: E731

# ---------------------------------------------------------------- optimizers
dense = keras_net([5], lambda: [L.Dense(4, "tanh"), L.Dense(2)])
O = keras.optimizers
for oname, make_opt in {
        "sgd_momentum": lambda: O.SGD(.1, momentum=.9), "sgd_nesterov": lambda: O.SGD(.1, momentum=.9, nesterov=True, weight_decay=.01), "adam_amsgrad": lambda: O.Adam(.05, amsgrad=True, clipnorm=1.),
        "adamw": lambda: O.AdamW(.05, global_clipnorm=.5), "adamax": lambda: O.Adamax(.05), "nadam": lambda: O.Nadam(.05), "rmsprop": lambda: O.RMSprop(.05, momentum=.5, centered=True),
        "adagrad": lambda: O.Adagrad(.1, clipvalue=.2), "adadelta": lambda: O.Adadelta(1.), "ftrl": lambda: O.Ftrl(.1, l1_regularization_strength=.01, l2_regularization_strength=.01), "lion": lambda: O.Lion(.05),
        "lamb": lambda: O.Lamb(.05), 
        "ema": lambda: O.Adam(.05, use_ema=True, ema_momentum=.9), "schedule": lambda: O.SGD(O.schedules.CosineDecay(.5, 5, warmup_steps=2, warmup_target=.8)),
        "piecewise": lambda: O.Adam(O.schedules.PiecewiseConstantDecay([1, 2], [.5, .1, .01])), "exponential": lambda: O.SGD(O.schedules.ExponentialDecay(.5, 2, .5, staircase=True)),
        "accumulate": lambda: O.SGD(.1, gradient_accumulation_steps=2)}.items():
    train("opt_" + oname, dense, f(6, 5), f(6, 2), make_opt, steps=4)
V = tf1.train
for oname, make_opt in {"gd": lambda: V.GradientDescentOptimizer(.1), "momentum": lambda: V.MomentumOptimizer(.1, .9, use_nesterov=True), "adam": lambda: V.AdamOptimizer(.05), "adagrad": lambda: V.AdagradOptimizer(.1),
                        "rms": lambda: V.RMSPropOptimizer(.05, momentum=.3, centered=True), "ftrl": lambda: V.FtrlOptimizer(.1, l1_regularization_strength=.01), "adadelta": lambda: V.AdadeltaOptimizer(1.),
                        "proximal": lambda: V.ProximalAdagradOptimizer(.1, l1_regularization_strength=.01), "proximal_gd": lambda: V.ProximalGradientDescentOptimizer(.1, l2_regularization_strength=.01)}.items():
    def old(make_opt=make_opt, oname=oname):
        g = tf1.Graph()
        with g.as_default(), tf1.Session(graph=g) as s:
            x, y = tf1.placeholder(tf.float32, [None, 5], "x"), tf1.placeholder(tf.float32, [None, 2], "y")
            w = tf1.get_variable("w", [5, 2], use_resource=oname in ("adam", "momentum", "ftrl"), initializer=tf1.random_normal_initializer(seed=1))
            e = tf1.get_variable("e", [7, 2], use_resource=oname in ("adam", "rms"), initializer=tf1.random_normal_initializer(seed=2))
            p = x @ w + tf1.nn.embedding_lookup(e, tf.constant([1, 3, 3, 6, 0, 1]))
            loss = tf.reduce_mean((p - y) ** 2)
            step = tf1.train.get_or_create_global_step()
            op = make_opt().minimize(loss, global_step=step)
            with tf1.control_dependencies([op]):
                out = {"loss": tf.identity(loss), "w": tf.identity(w.read_value() if hasattr(w, "read_value") else w), "e": tf.identity(e.read_value()), "step": tf.identity(step.read_value())}
            s.run(tf1.global_variables_initializer())
            tf1.saved_model.simple_save(s, path_of("train_v1_" + oname), {"x": x, "y": y}, out)
        fd = {"x": normal(6, 5), "y": normal(6, 2)}
        return [("serving_default", fd)] * 4
    makers["train_v1_" + oname] = old

# ---------------------------------------------------------------- layers
adam = lambda: O.Adam(.01)  # noqa: E731
train("conv", keras_net([8, 8, 2], lambda: [L.Conv2D(4, 3, strides=2, padding="same", activation="relu"), L.BatchNormalization(), L.MaxPooling2D(2), L.Conv2D(3, 2, activation="elu"), L.Flatten(), L.Dense(3)]), f(4, 8, 8, 2), ints(4, 3), adam, xent)
train("conv_same_avg", keras_net([7, 9, 2], lambda: [L.Conv2D(4, (3, 2), dilation_rate=1, padding="valid", activation="gelu"), L.AveragePooling2D(2, 2, padding="same"), L.GlobalMaxPooling2D(), L.Dense(2)]), f(3, 7, 9, 2), f(3, 2))
train("depthwise", keras_net([8, 8, 3], lambda: [L.DepthwiseConv2D(3, depth_multiplier=2, padding="same"), L.ReLU(6.), L.SeparableConv2D(4, 3, strides=2), L.GlobalAveragePooling2D(), L.Dense(2)]), f(3, 8, 8, 3), f(3, 2))
train("transpose", keras_net([4, 4, 3], lambda: [L.Conv2DTranspose(4, 3, strides=2, padding="same", activation="softplus"), L.Conv2DTranspose(2, 2), L.UpSampling2D(2, interpolation="bilinear"), L.GlobalAveragePooling2D()]), f(2, 4, 4, 3), f(2, 2))
train("upsample_nearest", keras_net([4, 4, 3], lambda: [L.Conv2D(4, 3, padding="same"), L.UpSampling2D(2), L.ZeroPadding2D(1), L.Cropping2D(1), L.GlobalAveragePooling2D(), L.Dense(2)]), f(2, 4, 4, 3), f(2, 2))
train("conv3d", keras_net([4, 6, 6, 2], lambda: [L.Conv3D(3, 2, activation="tanh"), L.MaxPooling3D(2), L.Flatten(), L.Dense(2)]), f(2, 4, 6, 6, 2), f(2, 2))
train("conv3d_avg", keras_net([4, 6, 6, 2], lambda: [L.Conv3D(3, 2, strides=2, padding="same"), L.BatchNormalization(), L.AveragePooling3D(2, padding="same"), L.Conv3DTranspose(2, 2), L.GlobalAveragePooling3D()]), f(2, 4, 6, 6, 2), f(2, 2))
train("conv1d", keras_net([12, 3], lambda: [L.Conv1D(4, 3, padding="causal", dilation_rate=2, activation="relu"), L.LayerNormalization(), L.MaxPooling1D(2), L.Conv1DTranspose(3, 3), L.GlobalAveragePooling1D(), L.Dense(2)]), f(3, 12, 3), f(3, 2))
train("norms", keras_net([5, 8], lambda: [L.Dense(8), L.LayerNormalization(), L.GroupNormalization(2), L.UnitNormalization(), L.RMSNormalization() if hasattr(L, "RMSNormalization") else L.LayerNormalization(), L.Flatten(), L.Dense(2)]), f(3, 5, 8), f(3, 2))
train("batch_norm_axis", keras_net([6], lambda: [L.Dense(5, use_bias=False), L.BatchNormalization(momentum=.8), L.Dense(2)]), f(8, 6), f(8, 2), steps=4)
train("spectral_norm", keras_net([6, 6, 2], lambda: [L.SpectralNormalization(L.Conv2D(3, 3)), L.Flatten(), L.Dense(2)]), f(2, 6, 6, 2), f(2, 2))
train("embedding", keras_net([4], lambda: [L.Embedding(9, 3), L.Flatten(), L.Dense(2)], dtype="int32"), lambda: rng.integers(0, 9, (5, 4)).astype(np.int32), f(5, 2), adam, steps=4)
train("embedding_mask_lstm", keras_net([5], lambda: [L.Embedding(9, 3, mask_zero=True), L.LSTM(4), L.Dense(2)], dtype="int32"), lambda: np.array([[1, 2, 3, 0, 0], [4, 5, 0, 0, 0], [1, 1, 1, 1, 1]], np.int32), f(3, 2), adam)
train("lstm", keras_net([5, 3], lambda: [L.LSTM(4, return_sequences=True), L.LSTM(3), L.Dense(2)]), f(3, 5, 3), f(3, 2), adam)
train("gru", keras_net([5, 3], lambda: [L.GRU(4, return_sequences=True, go_backwards=True), L.GRU(3, reset_after=False), L.Dense(2)]), f(3, 5, 3), f(3, 2), adam)
train("bidirectional", keras_net([5, 3], lambda: [L.Bidirectional(L.LSTM(3, return_sequences=True)), L.Bidirectional(L.GRU(2), merge_mode="ave"), L.Dense(2)]), f(3, 5, 3), f(3, 2))
train("simple_rnn_unrolled", keras_net([4, 3], lambda: [L.SimpleRNN(3, unroll=True), L.Dense(2)]), f(3, 4, 3), f(3, 2))
train("conv_lstm", keras_net([3, 5, 5, 2], lambda: [L.ConvLSTM2D(2, 3, padding="same"), L.GlobalAveragePooling2D()]), f(2, 3, 5, 5, 2), f(2, 2))
train("einsum", keras_net([4, 6], lambda: [L.EinsumDense("abc,cde->abde", output_shape=(None, 2, 3), bias_axes="de"), L.EinsumDense("abde,def->abf", output_shape=(None, 4)), L.GlobalMaxPooling1D(), L.Dense(2)]), f(3, 4, 6), f(3, 2))
train("prelu", keras_net([6], lambda: [L.Dense(5), L.PReLU(), L.Dense(5, "selu"), L.LeakyReLU(.2), L.Dense(5, "mish"), L.Dense(5, "softsign"), L.Dense(5, "hard_sigmoid"), L.Dense(5, "swish"), L.Dense(5, "exponential"), L.Dense(2, "log_softmax")]), f(3, 6), f(3, 2))
train("regularized", lambda m: (lambda b: (b[0], b[1]))(keras_net([4], lambda: [L.Dense(5, kernel_regularizer="l2", activity_regularizer="l1"), L.Dense(2, kernel_constraint="max_norm")])(m)), f(4, 4), f(4, 2))


def attention_net(m):
    q = L.Input([4, 6])
    a = L.MultiHeadAttention(2, 3, value_dim=2)(q, q, use_causal_mask=True)
    a = L.LayerNormalization()(L.Add()([q, a]))
    b = L.GroupQueryAttention(3, 4, 2)(a, a)
    c = L.Attention(use_scale=True)([b, q])
    d = L.AdditiveAttention()([c, q])
    model = keras.Model(q, L.Dense(2)(L.GlobalAveragePooling1D()(d)))
    m.model, m.everything = model, [v.value for v in model.weights]
    return (lambda v: model(v, training=True)), [v.value for v in model.trainable_variables]


train("attention", attention_net, f(2, 4, 6), f(2, 2))


def mixed(policy, layers, shape):
    def build(m):
        keras.mixed_precision.set_global_policy(policy)
        try:
            return keras_net(shape, layers)(m)
        finally:
            keras.mixed_precision.set_global_policy("float32")
    return build


train("mixed_half", mixed("mixed_float16", lambda: [L.Conv2D(3, 3, activation="relu"), L.BatchNormalization(), L.Flatten(), L.Dense(2, dtype="float32")], [6, 6, 2]), f(3, 6, 6, 2), f(3, 2))
train("mixed_bfloat16", mixed("mixed_bfloat16", lambda: [L.Dense(8, "relu"), L.LayerNormalization(), L.Dense(2, dtype="float32")], [6]), f(3, 6), f(3, 2))


# ---------------------------------------------------------------- functions
def free(make):
    def build(m):
        call, vs = make()
        m.vs = vs
        return call, vs
    return build


def var(*s):
    return tf.Variable(normal(*s))


def grads_of(name, make, x, y, loss=mse, **kw):
    train("grad_" + name, free(make), x, y, lambda: V.GradientDescentOptimizer(.05), loss, tf1_optimizer=True, **kw)


def one(fnn, *shapes):
    def make():
        vs = [var(*s) for s in shapes]
        return (lambda x: fnn(x, *vs)), vs
    return make


grads_of("while", one(lambda x, w: tf.while_loop(lambda i, a: i < 4, lambda i, a: (i + 1, tf.tanh(a @ w)), [0, x])[1], [3, 3]), f(4, 3), f(4, 3))
grads_of("scan", one(lambda x, w: tf.scan(lambda a, v: tf.tanh(a @ w + v), tf.transpose(x, [1, 0, 2]), tf.zeros([2, 3]))[-1], [3, 3]), f(2, 5, 3), f(2, 3))
grads_of("cond", one(lambda x, w: tf.cond(tf.reduce_sum(x) > 0, lambda: x @ w, lambda: tf.sin(x @ w)), [3, 2]), f(4, 3), f(4, 2))
grads_of("gather", one(lambda x, e: tf.reduce_sum(tf.gather(e, tf.cast(tf.abs(x) * 2, tf.int32) % 5), 1), [5, 2]), f(4, 3), f(4, 2))
grads_of("gather_nd", one(lambda x, w: tf.gather_nd(w, [[0, 1], [2, 0], [0, 1], [1, 1]])[:, None] * x, [3, 2]), f(4, 3), f(4, 3))
grads_of("softmaxes", one(lambda x, w: tf.nn.softmax(x @ w) + tf.nn.log_softmax(x @ w) + tf.math.reduce_logsumexp(x @ w, 1, keepdims=True), [3, 4]), f(5, 3), f(5, 4))
grads_of("reductions", one(lambda x, w: tf.stack([tf.reduce_max(x @ w, 1), tf.reduce_prod(x @ w, 1), tf.math.reduce_std(x @ w, 1), tf.reduce_mean(x @ w, 1), tf.norm(x @ w, axis=1), tf.reduce_min(x @ w, 1), tf.cumsum(x @ w, 1)[:, 1], tf.math.cumprod(x @ w, 1)[:, 2]], 1), [3, 4]), f(5, 3), f(5, 8))
grads_of("arrays", one(lambda x, w: tf.concat([tf.tile(w[:1], [2, 1]), tf.pad(w[1:], [[0, 1], [0, 0]]), tf.reverse(w, [0])[::2], tf.transpose(tf.reshape(w, [2, 3]))[:2] if False else w[:1]], 0)[:4] * x, [3, 2]), f(4, 2), f(4, 2))
grads_of("strided", one(lambda x, w: w[::-1, 1:][..., None][:, :, 0] * x + tf.roll(w, 1, 0)[:, :2] + tf.broadcast_to(w[0, :2], [4, 2]) + tf.stack(tf.unstack(w, axis=1)[:2], 1) + tf.split(w, [2, 1], 1)[0], [4, 3]), f(4, 2), f(4, 2))
grads_of("segments", one(lambda x, w: tf.math.segment_mean(w, [0, 0, 1, 2]) + tf.math.unsorted_segment_max(w, [2, 1, 0, 0], 3) + tf.math.unsorted_segment_prod(w, [0, 1, 2, 2], 3) + tf.sparse.segment_sum(w, [0, 2, 3], [0, 1, 2]) + x, [4, 2]), f(3, 2), f(3, 2))
grads_of("linalg", one(lambda x, w: tf.linalg.inv(w @ tf.transpose(w) + 3 * tf.eye(3)) @ x + tf.linalg.cholesky(w @ tf.transpose(w) + tf.eye(3)) + tf.linalg.det(w + 2 * tf.eye(3)) + tf.linalg.solve(w + 5 * tf.eye(3), x) + tf.linalg.trace(w) + tf.linalg.band_part(w, 1, 0) + tf.linalg.diag_part(w) + tf.linalg.slogdet(w + 4 * tf.eye(3))[1] + tf.linalg.triangular_solve(w + 5 * tf.eye(3), x) + tf.linalg.eigh(w + tf.transpose(w))[0], [3, 3]), f(3, 3), f(3, 3))
grads_of("svd_qr", one(lambda x, w: tf.linalg.svd(w + 3 * tf.linalg.diag([1., 2., 3.]), compute_uv=False) * x + tf.linalg.qr(w + 3 * tf.eye(3)).r, [3, 3]), f(3, 3), f(3, 3))
grads_of("math", one(lambda x, w: tf.math.lgamma(tf.abs(w) + 1) + tf.math.erf(w) + tf.math.digamma(tf.abs(w) + 1.5) + tf.math.log1p(tf.abs(w)) + tf.math.expm1(w * .1) + tf.math.atan2(w, x) + tf.math.asinh(w) + tf.math.sigmoid(w) + tf.abs(w) ** 1.5 + tf.math.xlogy(tf.abs(w) + .1, tf.abs(x) + .1) + tf.math.igamma(tf.abs(w) * 0 + 2., tf.abs(w)) + tf.math.rsqrt(tf.abs(w) + 1) + tf.math.squared_difference(w, x) + tf.maximum(w, x) + tf.math.divide_no_nan(w, x) + tf.math.floormod(w, 1.7) + tf.math.bessel_i0e(w) + tf.math.acos(tf.tanh(w)), [2, 3]), f(2, 3), f(2, 3))
grads_of("clip_where", one(lambda x, w: tf.where(w > 0, tf.clip_by_value(w, -.5, .5), tf.nn.relu6(w * 9)) + tf.clip_by_norm(w, 1.) + tf.nn.crelu(w)[:, :3] + tf.nn.l2_normalize(w, 1) + tf.nn.leaky_relu(w) + tf.nn.softplus(w) + tf.nn.elu(w) + tf.nn.selu(w) + tf.nn.gelu(w, approximate=False) + x, [2, 3]), f(2, 3), f(2, 3))
grads_of("images", one(lambda x, w: tf.reshape(tf.image.resize(w * x, [7, 5]), [1, -1])[:, :20] + tf.reshape(tf.image.resize(w, [3, 3], "bicubic"), [1, -1])[:, :1] + tf.reshape(tf.image.resize(w, [6, 8], "nearest"), [1, -1])[:, 3:4] + tf.reshape(tf.image.crop_and_resize(w, [[.1, .1, .8, .9]], [0], [2, 2]), [1, -1])[:, :1] + tf.reshape(tf.nn.max_pool_with_argmax(w, 2, 2, "SAME")[0], [1, -1])[:, 2:3], [1, 4, 4, 2]), f(1, 4, 4, 2), f(1, 20))
grads_of("pools", one(lambda x, w: tf.reduce_sum(tf.nn.max_pool2d(w, 3, 2, "SAME"), [1, 2]) + tf.reduce_sum(tf.nn.avg_pool2d(w, 2, 1, "VALID") ** 2, [1, 2]) + tf.reduce_sum(tf.nn.lrn(w) ** 2, [1, 2]) + tf.reduce_sum(tf.nn.depth_to_space(tf.concat([w, w], 3), 2)[..., :2] ** 2, [1, 2]) + tf.reduce_sum(tf.pad(w, [[0, 0], [1, 1], [1, 1], [0, 0]], "REFLECT") ** 2, [1, 2]) + tf.reduce_sum(tf.image.extract_patches(w, [1, 2, 2, 1], [1, 1, 1, 1], [1, 1, 1, 1], "VALID")[..., :2] ** 2, [1, 2]) + x, [1, 5, 5, 2]), f(1, 2), f(1, 2))
grads_of("losses", one(lambda x, w: tf.stack([tf.nn.sigmoid_cross_entropy_with_logits(tf.sigmoid(x), x @ w)[:, 0], tf.nn.softmax_cross_entropy_with_logits(tf.nn.softmax(x), x @ w), tf.nn.weighted_cross_entropy_with_logits(tf.sigmoid(x), x @ w, 2.)[:, 1], tf.keras.losses.huber(x, x @ w), tf.keras.losses.cosine_similarity(x, x @ w), tf.keras.losses.kld(tf.nn.softmax(x), tf.nn.softmax(x @ w))], 1), [3, 3]), f(4, 3), f(4, 6))
grads_of("ctc", one(lambda x, w: tf.nn.ctc_loss(tf.constant([[1, 2], [2, 0]]), tf.transpose(x, [1, 0, 2]) @ w, [2, 1], [5, 4], logits_time_major=True)[:, None], [3, 4]), f(2, 5, 3), f(2, 1))
grads_of("signal", one(lambda x, w: tf.abs(tf.signal.stft(x * w, 16, 8))[:, 0, :4] + tf.signal.dct(x * w)[:, :4], [32]), f(2, 32), f(2, 4))
grads_of("sparse", one(lambda x, w: tf.sparse.sparse_dense_matmul(tf.SparseTensor([[0, 1], [1, 0], [2, 2]], w[0], [3, 3]), x) + tf.sparse.to_dense(tf.SparseTensor([[0, 0], [1, 1], [2, 2]], w[1], [3, 3])) + tf.nn.embedding_lookup_sparse(w, tf.SparseTensor([[0, 0], [0, 1], [1, 0], [2, 0]], tf.constant([1, 0, 2, 2], tf.int64), [3, 2]), None, combiner="mean"), [3, 3]), f(3, 3), f(3, 3))
grads_of("ragged", one(lambda x, w: tf.reduce_sum(tf.RaggedTensor.from_row_splits(w, [0, 2, 2, 5]), 1) + tf.RaggedTensor.from_row_splits(w, [0, 2, 2, 5]).to_tensor()[:, 0] + x, [5, 2]), f(3, 2), f(3, 2))
grads_of("einsum", one(lambda x, w, v: tf.einsum("bi,ijk,kj->bj", x, w, v) + tf.einsum("ii,bi->b", v[:2, :2], x[:, :2])[:, None], [3, 4, 2], [2, 4]), f(3, 3), f(3, 4))
grads_of("map_fn", one(lambda x, w: tf.map_fn(lambda r: tf.tanh(tf.linalg.matvec(w, r)), x), [3, 3]), f(4, 3), f(4, 3))
grads_of("tensor_array", one(lambda x, w: tf.while_loop(lambda i, t: i < 4, lambda i, t: (i + 1, t.write(i, x[i] @ w)), [0, tf.TensorArray(tf.float32, 4)])[1].stack(), [3, 2]), f(4, 2, 3), f(4, 2, 2))
grads_of("vectorized", one(lambda x, w: tf.vectorized_map(lambda r: tf.nn.softmax(tf.linalg.matvec(w, r)), x), [3, 3]), f(4, 3), f(4, 3))
grads_of("batch_matmul", one(lambda x, w: tf.matmul(tf.matmul(x, w, transpose_b=True), w), [2, 4, 3]), f(2, 5, 3), f(2, 5, 3))
grads_of("conv_odd", one(lambda x, w, v: tf.reduce_mean(tf.nn.conv2d(x, w, [1, 2, 1, 1], [[0, 0], [2, 1], [0, 1], [0, 0]]), [1, 2]) + tf.reduce_mean(tf.nn.depthwise_conv2d(x, v, [1, 1, 1, 1], "SAME", dilations=[2, 2])[..., :3], [1, 2]), [3, 2, 2, 3], [2, 2, 2, 2]), f(2, 6, 5, 2), f(2, 3))
grads_of("dilation", one(lambda x, w: tf.reduce_mean(tf.nn.dilation2d(x, w, [1, 1, 1, 1], "SAME", "NHWC", [1, 1, 1, 1]), [1, 2]), [2, 2, 3]), f(2, 5, 5, 3), f(2, 3))
grads_of("complex", one(lambda x, w: tf.abs(tf.signal.ifft(tf.signal.fft(tf.complex(w * x, x)) * tf.complex(w, w))), [8]), f(2, 8), f(2, 8))
grads_of("fake_quant", one(lambda x, w: x @ tf.quantization.fake_quant_with_min_max_args(w, -1, 1) + tf.quantization.fake_quant_with_min_max_vars(x @ w, -2., 2.), [3, 2]), f(4, 3), f(4, 2))
grads_of("dynamic_partition", one(lambda x, w: tf.dynamic_stitch([[0, 2], [1, 3]], [tf.dynamic_partition(w, [0, 1, 0, 1], 2)[0] * 2, tf.dynamic_partition(w, [0, 1, 0, 1], 2)[1]]) + x, [4, 2]), f(4, 2), f(4, 2))
grads_of("scatter", one(lambda x, w: tf.tensor_scatter_nd_add(x, [[0], [2]], w) + tf.scatter_nd([[1], [1]], w, [4, 2]) + tf.tensor_scatter_nd_update(x, [[3], [0]], w), [2, 2]), f(4, 2), f(4, 2))
grads_of("topk_sort", one(lambda x, w: tf.math.top_k(x @ w, 2).values + tf.sort(x @ w, 1)[:, :2], [3, 4]), f(4, 3), f(4, 2))
grads_of("stateless_dropout", one(lambda x, w: tf.nn.experimental.stateless_dropout(x @ w, .4, [1, 2]) + tf.nn.dropout(x @ w, 0.), [3, 4]), f(4, 3), f(4, 4))
