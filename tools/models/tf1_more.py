# SPDX-License-Identifier: Apache-2.0
"""More graphs as TensorFlow 1 built them: dynamic_rnn and relatives, estimators, queues, stacks, tag sets, assets,
collections, optimizers inside loops, ref variables."""
import struct  # noqa: F401

from models.common import *  # noqa: F403
from models.functions_more import example
from models.graphs_tf1 import t1

R = tf1.nn.rnn_cell


def v1(f):
    def build():
        tf1.disable_control_flow_v2()
        try:
            return f()
        finally:
            tf1.enable_control_flow_v2()
    return build


init = lambda s: tf1.random_normal_initializer(seed=s)  # noqa: E731


def var(name, shape, seed=1, **kw):
    return tf1.get_variable(name, shape, initializer=init(seed), **kw)


# ---------------------------------------------------------------- recurrent
def cell_by_hand(n, d, name="cell"):
    """A GRU-like cell as a function (the classes of TensorFlow 1 are gone with Keras 3)."""
    with tf1.variable_scope(name, reuse=tf1.AUTO_REUSE):
        w, u = var(name + "w", [d + n, 2 * n]), var(name + "u", [d + n, n], 2)

    def call(x, h):
        z, r = tf.split(tf.sigmoid(tf.concat([x, h], 1) @ w), 2, 1)
        c = tf.tanh(tf.concat([x, r * h], 1) @ u)
        return z * h + (1 - z) * c
    return call


def dynamic_rnn():
    """What tf.nn.dynamic_rnn builds: TensorArrays, sequence lengths, zero outputs past the end, min/max length conds."""
    x, n = tf1.placeholder(tf.float32, [None, None, 3], "x"), tf1.placeholder(tf.int32, [None], "n")
    call = cell_by_hand(4, 3)
    t, b = tf.shape(x)[1], tf.shape(x)[0]
    xs = tf1.TensorArray(tf.float32, t, tensor_array_name="in").unstack(tf.transpose(x, [1, 0, 2]))
    out = tf1.TensorArray(tf.float32, t, tensor_array_name="out")
    lo, hi = tf.reduce_min(n), tf.reduce_max(n)

    def body(i, h, o):
        xi = xs.read(i)
        def step():
            return call(xi, h)
        h2 = tf1.cond(i < lo, step, lambda: tf1.cond(i >= hi, lambda: h, lambda: tf1.where(i < n, step(), h)))
        y = tf1.where(tf.tile((i < n)[:, None], [1, 4]), h2, tf.zeros_like(h2))
        return i + 1, h2, o.write(i, y)
    _, h, o = tf1.while_loop(lambda i, *_: i < t, body, [0, tf.zeros([b, 4]), out], parallel_iterations=32, swap_memory=True)
    return {"x": x, "n": n}, {"h": h, "y": tf.transpose(o.stack(), [1, 0, 2])}


def raw_rnn():
    """A decoder that feeds itself until every row is done (dynamic_decode)."""
    start = tf1.placeholder(tf.int32, [None], "start")
    emb, w = var("emb", [6, 3]), var("proj", [4, 6], 3)
    call = cell_by_hand(4, 3)
    b = tf.shape(start)[0]
    ids = tf1.TensorArray(tf.int32, 0, dynamic_size=True)

    def body(i, tok, h, done, o):
        h = call(tf.gather(emb, tok), h)
        nxt = tf.argmax(h @ w * 3. - tf.one_hot(tok, 6) * 5., 1, output_type=tf.int32)
        nxt = tf1.where(done, tf.zeros_like(nxt), nxt)
        return i + 1, nxt, h, tf.logical_or(done, tf.equal(nxt, 0)), o.write(i, nxt)
    i, tok, h, done, o = tf1.while_loop(lambda i, t, h, d, o: tf.logical_and(i < 8, tf.logical_not(tf.reduce_all(d))), body, [0, start, tf.zeros([b, 4]), tf.zeros([b], tf.bool), ids])
    return {"start": start}, {"ids": tf.transpose(o.stack()), "n": i, "h": h}


def attention_seq2seq():
    x, y = tf1.placeholder(tf.float32, [None, 5, 3], "x"), tf1.placeholder(tf.int32, [None, 4], "y")
    enc = cell_by_hand(4, 3, "enc")
    dec = cell_by_hand(4, 7, "dec")
    emb = var("emb", [6, 3], 5)
    hs = tf1.scan(lambda h, v: enc(v, h), tf.transpose(x, [1, 0, 2]), tf.zeros([tf.shape(x)[0], 4]))
    mem = tf.transpose(hs, [1, 0, 2])

    def step(carry, tok):
        h = carry[0]
        a = tf.nn.softmax(tf.einsum("bd,btd->bt", h, mem))
        ctx = tf.einsum("bt,btd->bd", a, mem)
        return dec(tf.concat([tf.gather(emb, tok), ctx], 1), h), a
    h, a = tf1.scan(step, tf.transpose(y), (hs[-1], tf.zeros([tf.shape(x)[0], 5])))
    loss = tf.reduce_sum(h ** 2)
    return {"x": x, "y": y}, {"h": h, "a": a, "loss": loss, "g": tf1.gradients(loss, [emb])[0] if False else tf1.convert_to_tensor(tf1.gradients(loss, [x])[0])}


def bptt():
    """Back-propagation through a TensorFlow 1 loop, applied to ref variables in the same run."""
    x, y = tf1.placeholder(tf.float32, [4, 3], "x"), tf1.placeholder(tf.float32, [4, 2], "y")
    w = var("w", [3, 3], use_resource=False)
    o = var("o", [3, 2], 2, use_resource=False)
    ta = tf1.TensorArray(tf.float32, 5, clear_after_read=False)
    _, h, ta = tf1.while_loop(lambda i, h, t: i < 5, lambda i, h, t: (i + 1, tf.tanh(h @ w), t.write(i, h)), [0, x, ta])
    loss = tf.reduce_mean((h @ o - y) ** 2) + .1 * tf.reduce_mean(ta.stack() ** 2)
    op = tf1.train.GradientDescentOptimizer(.5).minimize(loss)
    with tf1.control_dependencies([op]):
        return {"x": x, "y": y}, {"loss": tf.identity(loss), "w": w.read_value() + 0., "o": o.read_value() + 0.}


def loop_trains():
    """An optimizer that steps inside a loop: assignments of ref variables in order."""
    x = tf1.placeholder(tf.float32, [3], "x")
    # (Of a reference variable, TensorFlow's loop sees writes through what was read before it: docs/DIFFERENCES.md.)
    w = tf1.get_variable("w", [3], initializer=tf1.zeros_initializer(), use_resource=True)
    r = tf1.get_variable("r", [], initializer=tf1.zeros_initializer(), use_resource=True)

    def body(i, s):
        with tf1.control_dependencies([s]):
            up = w.assign_sub(.3 * 2. * (w - x))
        with tf1.control_dependencies([up]):
            c = r.assign_add(1.)
        with tf1.control_dependencies([c]):
            return i + 1, tf.reduce_sum((tf.identity(w) - x) ** 2)
    n, s = tf1.while_loop(lambda i, s: tf.logical_and(i < 50, s > 1e-4), body, [0, tf.constant(9.)], parallel_iterations=1)
    with tf1.control_dependencies([s]):
        return {"x": x}, {"n": n, "s": s, "w": tf.identity(w.read_value()), "r": r.read_value() * 1.}


def nested_frames():
    x = tf1.placeholder(tf.float32, [None, 3], "x")

    def row(i, acc):
        def col(j, a):
            return j + 1, tf1.cond(tf.equal((i + j) % 2, 0), lambda: a + x[i, j], lambda: a - tf1.while_loop(lambda k, b: k < j, lambda k, b: (k + 1, b * x[i, k]), [0, x[i, 0]])[1])
        return i + 1, tf1.while_loop(lambda j, a: j < 3, col, [0, acc])[1]
    y = tf1.while_loop(lambda i, a: i < tf.shape(x)[0], row, [0, 0.])[1]
    return {"x": x}, {"y": y, "g": tf1.gradients(y, x)[0]}


def cond_state():
    p, x = tf1.placeholder(tf.bool, [], "p"), tf1.placeholder(tf.float32, [], "x")
    v = tf1.get_variable("v", [], initializer=tf1.zeros_initializer(), use_resource=False)
    u = tf1.get_variable("u", [], initializer=tf1.zeros_initializer(), use_resource=True)
    y = tf1.cond(p, lambda: tf1.assign_add(v, x), lambda: tf1.assign_sub(v, x * 2))
    z = tf1.cond(p, lambda: u.assign_add(x), lambda: u.read_value())
    c = tf1.case([(x > 5, lambda: tf.constant("big")), (x < 0, lambda: tf.constant("neg"))], default=lambda: tf.constant("mid"))
    with tf1.control_dependencies([y, z]):
        return {"p": p, "x": x}, {"y": tf.identity(y), "z": tf.identity(z), "c": c, "u": u.read_value() + 0}


def stacks_arrays():
    x = tf1.placeholder(tf.float32, [None, 2], "x")
    h = tf1.raw_ops.StackV2(max_size=-1, elem_type=tf.float32)
    with tf1.control_dependencies([tf1.raw_ops.StackPushV2(handle=h, elem=x)]):
        with tf1.control_dependencies([tf1.raw_ops.StackPushV2(handle=h, elem=x * 2)]):
            a = tf1.raw_ops.StackPopV2(handle=h, elem_type=tf.float32)
    ta = tf1.TensorArray(tf.float32, 3, infer_shape=False, element_shape=None).write(0, x).write(1, x[:1]).write(2, x)
    g = tf1.gradients(tf1.TensorArray(tf.float32, 2, clear_after_read=False).unstack(tf.stack([x, x * x])).gather([1, 0]), x)[0]
    return {"x": x}, {"a": a, "cat": ta.concat(), "size": ta.size(), "g": g}


t1("dynamic_rnn", v1(dynamic_rnn), lambda: {"x": normal(3, 6, 3), "n": np.array([6, 2, 4], np.int32)}, lambda: {"x": normal(1, 2, 3), "n": np.array([1], np.int32)})
t1("dynamic_rnn_v2", dynamic_rnn, lambda: {"x": normal(3, 6, 3), "n": np.array([6, 2, 4], np.int32)})
t1("raw_rnn", v1(raw_rnn), {"start": np.array([1, 2, 3], np.int32)}, {"start": np.array([5], np.int32)})
t1("seq2seq", v1(attention_seq2seq), lambda: {"x": normal(2, 5, 3), "y": np.array([[1, 2, 3, 0], [5, 4, 0, 0]], np.int32)})
t1("bptt", v1(bptt), lambda: {"x": normal(4, 3), "y": normal(4, 2)}, lambda: {"x": normal(4, 3), "y": normal(4, 2)}, lambda: {"x": normal(4, 3), "y": normal(4, 2)})
t1("loop_trains", v1(loop_trains), lambda: {"x": normal(3)}, lambda: {"x": normal(3)})
t1("nested_frames", v1(nested_frames), lambda: {"x": normal(3, 3)}, lambda: {"x": normal(0, 3)})
t1("cond_state", v1(cond_state), *[{"p": np.bool_(p), "x": np.float32(x)} for p, x in ((True, 2), (False, -3), (True, 9), (False, 1))])
t1("stacks_arrays", v1(stacks_arrays), lambda: {"x": normal(2, 2)})


# ---------------------------------------------------------------- batch norm, dropout, moving averages
def batch_norm_training():
    x, y = tf1.placeholder(tf.float32, [None, 6, 6, 2], "x"), tf1.placeholder(tf.int32, [None], "y")
    is_training = tf1.placeholder_with_default(tf.constant(True), [], "is_training")
    h = tf1.nn.conv2d(x, var("k", [3, 3, 2, 4]), 1, "SAME")
    mm, mv = tf1.get_variable("mm", [4], initializer=tf1.zeros_initializer(), trainable=False), tf1.get_variable("mv", [4], initializer=tf1.ones_initializer(), trainable=False)
    gamma, beta = tf1.get_variable("gamma", [4], initializer=tf1.ones_initializer()), tf1.get_variable("beta", [4], initializer=tf1.zeros_initializer())
    m, v = tf1.nn.moments(h, [0, 1, 2])
    ups = [tf1.train.ExponentialMovingAverage] and [mm.assign(.9 * mm + .1 * m), mv.assign(.9 * mv + .1 * v)]

    def train():
        with tf1.control_dependencies(ups):
            return tf.identity(m), tf.identity(v)
    mean, vv = tf1.cond(is_training, train, lambda: (mm.read_value(), mv.read_value()))
    h = tf1.nn.relu(tf1.nn.batch_normalization(h, mean, vv, beta, gamma, 1e-3))
    logits = tf.reduce_mean(h, [1, 2]) @ var("o", [4, 3], 4)
    loss = tf1.losses.sparse_softmax_cross_entropy(y, logits)
    ema = tf1.train.ExponentialMovingAverage(.8)
    op = tf1.train.AdamOptimizer(.05).minimize(loss)
    with tf1.control_dependencies([op]):
        avg = ema.apply([gamma])
    with tf1.control_dependencies([avg]):
        return {"x": x, "y": y, "is_training": is_training}, {"loss": tf.identity(loss), "gamma": gamma.read_value() + 0, "avg": tf.identity(ema.average(gamma).read_value()), "mm": mm.read_value() + 0, "mv": mv.read_value() + 0}


t1("batch_norm_training", batch_norm_training, *[lambda: {"x": normal(4, 6, 6, 2), "y": np.array([0, 1, 2, 1], np.int32), "is_training": np.bool_(True)} for _ in range(3)])
t1("batch_norm_training_v1", v1(batch_norm_training), *[lambda: {"x": normal(4, 6, 6, 2), "y": np.array([0, 1, 2, 1], np.int32), "is_training": np.bool_(True)} for _ in range(3)])


def fused_batch_norm():
    x = tf1.placeholder(tf.float32, [4, 5, 5, 3], "x")
    y, m, v = tf1.nn.fused_batch_norm(x, tf.ones([3]), tf.zeros([3]), is_training=True)
    z = tf1.nn.fused_batch_norm(x, [1., 2., 3.], [0., 1., 0.], [.1, .2, .3], [1., 2., 1.], is_training=False, epsilon=1e-2)[0]
    return {"x": x}, {"y": y, "m": m, "v": v, "z": z, "g": tf1.gradients(y * y * y, x)[0]}


t1("fused_batch_norm", fused_batch_norm, lambda: {"x": normal(4, 5, 5, 3)})


def seeded():
    n = tf1.placeholder(tf.int32, [], "n")
    tf1.set_random_seed(42)
    return {"n": n}, {"u": tf1.random_uniform([n]), "n2": tf1.random_normal([n, 2], seed=3), "t": tf1.truncated_normal([n], seed=5), "i": tf1.random_uniform([n], 0, 100, tf.int64), "s": tf1.random_shuffle(tf.range(8), seed=2),
                      "d": tf1.nn.dropout(tf.ones([10]), keep_prob=.5, seed=1), "m": tf1.multinomial(tf.zeros([2, 4]), 5, seed=9), "g": tf1.random_gamma([3], 2., seed=4), "p": tf1.random_poisson(4., [3], seed=4)}


t1("seeded", seeded, {"n": np.int32(3)}, {"n": np.int32(3)}, {"n": np.int32(5)})


# ---------------------------------------------------------------- queues, tables, files, parsing
def pipeline():
    x, s = tf1.placeholder(tf.float32, [None, 2], "x"), tf1.placeholder(tf.string, [None], "s")
    q = tf1.RandomShuffleQueue(20, 0, [tf.float32, tf.string], [[2], []], seed=3)
    p = tf1.PriorityQueue(20, [tf.float32], [[]])
    f = tf1.PaddingFIFOQueue(5, [tf.int32], [[None]])
    with tf1.control_dependencies([q.enqueue_many([x, s]), p.enqueue_many([tf.cast(x[:, 0] * 100, tf.int64), x[:, 1]]), f.enqueue([tf.range(2)])]):
        with tf1.control_dependencies([f.enqueue([tf.range(4)])]):
            a, b = q.dequeue_many(2)
            c, d = p.dequeue_many(2)
            e = f.dequeue_many(2)
    st = tf1.raw_ops.Stage(values=[x], dtypes=[tf.float32]) if False else None
    del st
    with tf1.control_dependencies([a, c, e]):
        return {"x": x, "s": s}, {"n": q.size() * 1, "c": tf.identity(c), "d": tf.identity(d), "e": tf.identity(e), "pn": p.size() + 0, "sum": tf.strings.length(tf.strings.reduce_join(b)) * 0}


t1("pipeline", pipeline, lambda: {"x": normal(3, 2), "s": np.array(["a", "b", "c"])}, lambda: {"x": normal(4, 2), "s": np.array(["d", "e", "f", "g"])})


@maker
def tf1_assets_and_collections():
    """A vocabulary as an asset, initialised by legacy_init_op; tables known only by a collection."""
    folder = path_of("tf1_assets_files")
    os.makedirs(folder, exist_ok=True)
    vocab = os.path.join(folder, "vocab.txt")
    open(vocab, "w").write("red\ngreen\nblue\n")
    g = tf1.Graph()
    with g.as_default(), tf1.Session(graph=g) as s:
        x = tf1.placeholder(tf.string, [None], "x")
        file = tf.constant(vocab, name="vocab_file")
        tf1.add_to_collection(tf1.GraphKeys.ASSET_FILEPATHS, file)
        t = tf1.lookup.StaticHashTable(tf1.lookup.TextFileInitializer(file, tf.string, tf1.lookup.TextFileIndex.WHOLE_LINE, tf.int64, tf1.lookup.TextFileIndex.LINE_NUMBER), -1)
        u = tf1.lookup.StaticVocabularyTable(tf1.lookup.KeyValueTensorInitializer(["red"], tf.constant([0], tf.int64)), 2)
        w = tf1.get_variable("w", [4, 2], initializer=init(3))
        y = tf1.nn.embedding_lookup(w, t.lookup(x) + 1)
        s.run([tf1.global_variables_initializer(), tf1.tables_initializer()])
        b = tf1.saved_model.Builder(path_of("tf1_assets_and_collections"))
        sig = tf1.saved_model.predict_signature_def({"x": x}, {"y": y, "id": t.lookup(x), "oov": u.lookup(x)})
        b.add_meta_graph_and_variables(s, ["serve"], {"serving_default": sig, "other": tf1.saved_model.regression_signature_def(x, tf.cast(t.lookup(x), tf.float32))}, assets_collection=tf1.get_collection(tf1.GraphKeys.ASSET_FILEPATHS),
                                       legacy_init_op=tf1.tables_initializer())
        b.save()
    return [("serving_default", {"x": np.array(["blue", "pink", "red"])}), ("other", {"inputs": np.array(["green"])})]


def tag_sets(tags):
    def make():
        name = "tf1_tags_" + "_".join(tags)
        b = tf1.saved_model.Builder(path_of(name))
        for i, which in enumerate((["serve"], ["serve", "gpu"], ["train", "big"])):
            g = tf1.Graph()
            with g.as_default(), tf1.Session(graph=g) as s:
                x = tf1.placeholder(tf.float32, [None], "x")
                w = tf1.get_variable("w", [], initializer=tf1.constant_initializer(3.))
                y = x * w + float(i)
                s.run(tf1.global_variables_initializer())
                sig = {"serving_default": tf1.saved_model.predict_signature_def({"x": x}, {"y": y}), "extra%d" % i: tf1.saved_model.classification_signature_def(tf1.placeholder_with_default(tf.constant(["e"]), [None], "e"), tf.constant(["c"]), tf.constant([1.5]))}
                if i:
                    b.add_meta_graph(which, sig)
                else:
                    b.add_meta_graph_and_variables(s, which, sig)
        b.save(as_text="gpu" in tags)
        return {"runs": [("serving_default", {"x": normal(3)})], "tags": list(tags)}
    makers["tf1_tags_" + "_".join(tags)] = make


for tags in (("serve",), ("serve", "gpu"), ("train", "big")):
    tag_sets(tags)


@maker
def tf1_main_op():
    """A main op that changes variables after the restore, and local variables that only it makes."""
    g = tf1.Graph()
    with g.as_default(), tf1.Session(graph=g) as s:
        x = tf1.placeholder(tf.float32, [], "x")
        w = tf1.get_variable("w", [], initializer=tf1.constant_initializer(3.))
        loc = tf1.get_variable("loc", [], initializer=tf1.constant_initializer(7.), collections=[tf1.GraphKeys.LOCAL_VARIABLES])
        y = x * w + loc
        s.run([tf1.global_variables_initializer(), tf1.local_variables_initializer()])
        main = tf1.group(tf1.local_variables_initializer(), w.assign(w + 10.), tf1.tables_initializer())
        b = tf1.saved_model.Builder(path_of("tf1_main_op"))
        b.add_meta_graph_and_variables(s, ["serve"], {"serving_default": tf1.saved_model.predict_signature_def({"x": x}, {"y": y})}, main_op=main, strip_default_attrs=True)
        b.save()
    return [("serving_default", {"x": np.float32(2)})]


def estimator_like():
    """The receiver of an estimator: parse_example, feature-column arithmetic by hand, classes and scores as strings."""
    s = tf1.placeholder(tf.string, [None], "input_example_tensor")
    d = tf1.io.parse_example(s, {"age": tf1.FixedLenFeature([1], tf.float32), "city": tf1.VarLenFeature(tf.string), "pets": tf1.VarLenFeature(tf.string), "income": tf1.FixedLenFeature([1], tf.float32, default_value=[0.])})
    t = tf1.lookup.StaticVocabularyTable(tf1.lookup.KeyValueTensorInitializer(["rome", "oslo"], tf.constant([0, 1], tf.int64)), 1)
    city = tf1.SparseTensor(d["city"].indices, t.lookup(d["city"].values), d["city"].dense_shape)
    one = tf.one_hot(tf1.sparse_tensor_to_dense(city, -1), 3)
    one = tf.reduce_sum(one, -2)
    bucket = tf.one_hot(tf1.raw_ops.Bucketize(input=d["age"], boundaries=[18., 35., 60.])[:, 0], 4)
    pets = tf1.nn.safe_embedding_lookup_sparse(var("pets", [10, 3]), tf1.SparseTensor(d["pets"].indices, tf.strings.to_hash_bucket_fast(d["pets"].values, 10), d["pets"].dense_shape), combiner="sum")
    cross = tf1.sparse.to_indicator if False else tf1.sparse.cross_hashed([d["city"], d["pets"]], 13)
    wide = tf1.nn.safe_embedding_lookup_sparse(var("wide", [13, 1], 2), cross, combiner="sum")
    h = tf1.nn.relu(tf.concat([one, bucket, pets, tf.math.log1p(d["income"])], 1) @ var("h", [11, 5], 3))
    logits = h @ var("o", [5, 1], 4) + wide
    two = tf.concat([tf.zeros_like(logits), logits], 1)
    p = tf.nn.softmax(two)
    cls = tf.tile(tf.constant([["no", "yes"]]), [tf.shape(p)[0], 1])
    return {"inputs": s}, {"logits": logits, "logistic": tf.sigmoid(logits), "probabilities": p, "class_ids": tf.argmax(p, 1)[:, None], "classes": tf.as_string(tf.argmax(p, 1))[:, None], "all_classes": cls, "scores": p}


t1("estimator_like", estimator_like, lambda: {"inputs": np.array([example(age=[23.], city=["rome"], pets=["cat", "dog"], income=[100.]), example(age=[70.], city=["paris"]), example(age=[10.])], object)}, lambda: {"inputs": np.array([example(age=[60.], city=["oslo"])], object)})


def image_server():
    data = tf1.placeholder(tf.string, [None], "data")

    def one(b):
        x = tf1.image.decode_png(b, 3)
        x = tf1.image.convert_image_dtype(x, tf.float32)
        x = tf1.image.central_crop(x, .875) if False else x
        return tf1.image.resize_bilinear(x[None], [8, 8], align_corners=True)[0]
    x = tf1.map_fn(one, data, dtype=tf.float32, back_prop=False, parallel_iterations=4)
    x = (x - .5) * 2.
    y = tf1.nn.softmax(tf.reshape(tf1.nn.avg_pool2d(tf1.nn.conv2d(x, var("k", [3, 3, 3, 4]), 2, "SAME"), 2, 2, "SAME"), [-1, 16]) @ var("o", [16, 3], 2))
    return {"data": data}, {"y": y, "top": tf1.nn.top_k(y, 2).indices, "x": x}


def png(h, w, seed):
    return tf.io.encode_png(np.random.default_rng(seed).integers(0, 255, (h, w, 3)).astype(np.uint8)).numpy()


t1("image_server", image_server, lambda: {"data": np.array([png(9, 12, 1), png(30, 7, 2)], object)})
t1("image_server_v1", v1(image_server), lambda: {"data": np.array([png(9, 12, 1), png(30, 7, 2)], object)}, lambda: {"data": np.array([png(2, 3, 4)], object)})


def old_ops():
    """Ops that only old graphs have."""
    x = tf1.placeholder(tf.float32, [2, 4, 4, 2], "x")
    r = tf1.raw_ops
    return {"x": x}, {"add": tf1.add_n([x, x]), "rsz": r.ResizeNearestNeighbor(images=x, size=[3, 5]), "bmm": r.BatchMatMul(x=x, y=tf.transpose(x, [0, 1, 3, 2])), "sel": r.Select(condition=x > 0, x=x, y=-x), "cat": r.Concat(concat_dim=3, values=[x, x]), "split": r.Split(axis=3, value=x, num_split=2)[1],
                      "pack": r.Pack(values=[x, x]), "g": r.Gather(params=x, indices=[1, 0]),
                      "mpv2": r.MaxPoolV2(input=x, ksize=[1, 2, 2, 1], strides=[1, 2, 2, 1], padding="SAME"), "rev": r.Reverse(tensor=x, dims=[False, True, False, False]), "inv": r.Inv(x=x + 9.), "fl": r.FloorDiv(x=x, y=.3), "div": r.Div(x=x, y=3.), "rd": r.RealDiv(x=x, y=3.), "b2s": r.BatchToSpace(input=tf.tile(x, [2, 1, 1, 1]), crops=[[0, 0], [0, 0]], block_size=2),
                      "am": r.ArgMax(input=x, dimension=3, output_type=tf.int32), "fb": r.FusedBatchNorm(x=x, scale=[1., 1.], offset=[0., 0.], mean=[], variance=[])[0], "uniq": r.ListDiff(x=[1, 2, 3], y=[2])[0], "bias": r.BiasAddV1(value=x, bias=[1., 2.]), "adj": r.AdjustContrastv2(images=x, contrast_factor=2.),
                      "rb": r.ResizeBilinear(images=x, size=[7, 3], half_pixel_centers=True), "s2d": r.SpaceToDepth(input=x, block_size=2), "sm": r.SparseToDense(sparse_indices=[1, 3], output_shape=[5], sparse_values=[2., 3.], default_value=0.), "l2": r.L2Loss(t=x), "ew": r.Softsign(features=x)}


t1("old_ops", old_ops, lambda: {"x": normal(2, 4, 4, 2)})


def sparse_learning():
    """Ref variables with scatter and sparse updates, counters, print and assert on the way."""
    i, v = tf1.placeholder(tf.int32, [None], "i"), tf1.placeholder(tf.float32, [None, 2], "v")
    w = tf1.get_variable("w", [5, 2], initializer=init(1), use_resource=False)
    c = tf1.Variable(0, name="c", use_resource=False)
    ok = tf1.Assert(tf.reduce_all(i < 5), ["bad", i])
    with tf1.control_dependencies([ok]):
        a = tf1.scatter_add(w, i, v)
    with tf1.control_dependencies([a]):
        b = tf1.scatter_update(w, i[:1], v[:1] * 0.)
        k = tf1.count_up_to(c, 100)
    with tf1.control_dependencies([b, k]):
        d = tf1.scatter_nd_sub(w, i[:1, None] * 0 + 4, v[:1])
    with tf1.control_dependencies([d]):
        e = tf1.assign(w[1:3, :1], v[:2, :1])
    with tf1.control_dependencies([e]):
        return {"i": i, "v": v}, {"w": tf.identity(w.read_value()), "k": tf.identity(k), "init": tf1.is_variable_initialized(w)}


t1("sparse_learning", sparse_learning, *[lambda: {"i": np.array([0, 3, 3], np.int32), "v": normal(3, 2)} for _ in range(3)])


def partitioned():
    x = tf1.placeholder(tf.int64, [None], "x")
    with tf1.variable_scope("p", partitioner=tf1.min_max_variable_partitioner(4, 0, 16)):
        e = tf1.get_variable("e", [11, 3], initializer=init(1), use_resource=False)
    with tf1.variable_scope("q", partitioner=tf1.variable_axis_size_partitioner(24)):
        w = tf1.get_variable("w", [3, 8], initializer=init(2), use_resource=True)
    a = tf1.nn.embedding_lookup(e, x, partition_strategy="mod", max_norm=1.) if False else tf1.nn.embedding_lookup(e, x, partition_strategy="div")
    return {"x": x}, {"a": a, "y": tf1.matmul(a, w), "all": tf.concat(list(e), 0), "n": tf1.nn.embedding_lookup_sparse(e, tf1.SparseTensor([[0, 0], [1, 0]], tf.constant([3, 9], tf.int64), [2, 1]), None, partition_strategy="div", combiner="sum")}


t1("partitioned_more", partitioned, {"x": np.array([0, 10, 5, 5], np.int64)})


@maker
def tf1_function_in_v1():
    """Defun and tf.function called from a TensorFlow 1 graph, with captured variables."""
    g = tf1.Graph()
    with g.as_default(), tf1.Session(graph=g) as s:
        x = tf1.placeholder(tf.float32, [None, 2], "x")
        w = tf1.get_variable("w", [2, 2], initializer=init(1), use_resource=True)

        @tf.function
        def f(a):
            return tf.tanh(a @ w) + tf.cond(tf.reduce_sum(a) > 0, lambda: 1., lambda: -1.)
        from tensorflow.python.framework import function

        @function.Defun(tf.float32, tf.float32)
        def h(a, b):
            return a * b, a + b
        p, q = h(x, f(x))
        s.run(tf1.global_variables_initializer())
        tf1.saved_model.simple_save(s, path_of("tf1_function_in_v1"), {"x": x}, {"y": f(x), "p": p, "q": q})
    return [("serving_default", {"x": normal(3, 2)})]


def optimizers_in_graph():
    x, y = tf1.placeholder(tf.float32, [None, 3], "x"), tf1.placeholder(tf.float32, [None, 1], "y")
    h, i = x, 0
    for n in (4, 4, 1):
        h = h @ var("w%d" % i, [h.shape[1], n], i, use_resource=bool(i % 2)) + tf1.get_variable("b%d" % i, [n], initializer=tf1.zeros_initializer(), use_resource=not i % 2)
        h, i = tf.nn.relu(h) if n > 1 else h, i + 1
    loss = tf1.losses.mean_squared_error(y, h) + 1e-3 * tf.add_n([tf.nn.l2_loss(v) for v in tf1.trainable_variables()])
    step = tf1.train.get_or_create_global_step()
    lr = tf1.train.exponential_decay(.1, step, 2, .5, staircase=True)
    opt = tf1.train.MomentumOptimizer(lr, .9)
    gv = opt.compute_gradients(loss)
    clipped, norm = tf1.clip_by_global_norm([g for g, _ in gv], 1.)
    op = opt.apply_gradients(zip(clipped, [v for _, v in gv]), global_step=step)
    with tf1.control_dependencies([op]):
        return {"x": x, "y": y}, {"loss": tf.identity(loss), "norm": tf.identity(norm), "step": step.read_value() + 0, "lr": tf.identity(lr), "w0": tf.identity(tf1.trainable_variables()[0].read_value())}


t1("optimizers_in_graph", optimizers_in_graph, *[lambda: {"x": normal(6, 3), "y": normal(6, 1)} for _ in range(4)])
