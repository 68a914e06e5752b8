# SPDX-License-Identifier: Apache-2.0
"""Graphs as TensorFlow 1 built them."""
from models.common import *  # noqa: F403


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
