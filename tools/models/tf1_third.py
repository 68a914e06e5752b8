# SPDX-License-Identifier: Apache-2.0
"""TensorFlow 1 once more: feature columns as estimators used them, the library's own recurrent loops, slices of partitioned
variables, queue runners, conditional accumulators, frozen graphs inside SavedModels, several savers."""
from models.common import *  # noqa: F403
from models.functions_more import example
from models.graphs_tf1 import t1
from models.tf1_more import init, v1, var

FC = tf.feature_column
R = tf1.raw_ops


# ---------------------------------------------------------------- feature columns
def columns():
    age, income = FC.numeric_column("age"), FC.numeric_column("income", shape=(2,), default_value=(1., 2.), normalizer_fn=lambda v: v / 10.)
    city = FC.categorical_column_with_vocabulary_list("city", ["rome", "oslo"], num_oov_buckets=2)
    job = FC.categorical_column_with_hash_bucket("job", 7)
    ident = FC.categorical_column_with_identity("ident", 5, default_value=0)
    bucket = FC.bucketized_column(age, [18., 40., 65.])
    return age, income, city, job, ident, bucket


def receiver(cols):
    s = tf1.placeholder(tf.string, [None], "input_example_tensor")
    return s, tf1.io.parse_example(s, tf1.feature_column.make_parse_example_spec(cols))


def rows():
    return np.array([example(age=[30.], income=[3., 4.], city=["rome"], job=["cook", "poet"], ident=[3], w=[.5, 2.]), example(age=[70.], city=["paris"], job=[], ident=[99]), example(age=[2.], job=["x"])], object)


def dense_columns():
    age, income, city, job, ident, bucket = columns()
    cols = [age, income, bucket, FC.indicator_column(city), FC.embedding_column(job, 3, combiner="sqrtn", initializer=init(1)), FC.indicator_column(ident), FC.embedding_column(city, 2, max_norm=.5, initializer=init(2))]
    s, d = receiver(cols)
    net = tf1.feature_column.input_layer(d, cols)
    return {"inputs": s}, {"net": net, "y": tf.nn.softmax(net @ var("w", [net.shape[1], 2], 3))}


def linear_columns():
    age, income, city, job, ident, bucket = columns()
    cols = [age, income, city, job, FC.crossed_column(["city", "job"], 20), FC.crossed_column([bucket, "job"], 11, hash_key=5), bucket, ident]
    s, d = receiver(cols)
    return {"inputs": s}, {"logits": tf1.feature_column.linear_model(d, cols, units=2, sparse_combiner="mean"), "n": tf.shape(s)[0]}


def shared_columns():
    a = FC.categorical_column_with_vocabulary_list("city", ["rome", "oslo"], default_value=1)
    b = FC.categorical_column_with_vocabulary_list("job", ["rome", "cook"], default_value=0)
    cols = tf1.feature_column.shared_embedding_columns([a, b], 3, combiner="mean", initializer=init(4))
    s, d = receiver(cols)
    return {"inputs": s}, {"net": tf1.feature_column.input_layer(d, cols)}


for name, build in (("columns_dense", dense_columns), ("columns_linear", linear_columns), ("columns_shared", shared_columns)):
    t1(name, build, lambda: {"inputs": rows()})


# ---------------------------------------------------------------- the library's recurrent loops
class Cell:
    """What dynamic_rnn asks of a cell, without the classes that went with Keras 2."""
    def __init__(self, n, d, name):
        self.n, self.state_size, self.output_size, self.dtype = n, n, n, tf.float32
        with tf1.variable_scope(name):
            self.w = var("w", [n + d, n])

    def zero_state(self, b, dtype):
        return tf.zeros([b, self.n], dtype)

    def get_initial_state(self, inputs=None, batch_size=None, dtype=None):
        return tf.zeros([tf.shape(inputs)[0] if inputs is not None else batch_size, self.n])

    def __call__(self, x, h, scope=None):
        y = tf.tanh(tf.concat([x, h], 1) @ self.w)
        return y, y


def library_rnn():
    from tensorflow.python.ops import rnn
    x, n = tf1.placeholder(tf.float32, [None, None, 3], "x"), tf1.placeholder(tf.int32, [None], "n")
    rnn.rnn_cell_impl.assert_like_rnncell = lambda *a: None
    y, h = rnn.dynamic_rnn(Cell(4, 3, "a"), x, sequence_length=n, dtype=tf.float32)
    (yf, yb), (hf, hb) = rnn.bidirectional_dynamic_rnn(Cell(3, 3, "f"), Cell(2, 3, "b"), x, sequence_length=n, dtype=tf.float32, swap_memory=True)
    ym, hm = rnn.dynamic_rnn(Cell(2, 3, "m"), tf.transpose(x, [1, 0, 2]), dtype=tf.float32, time_major=True, parallel_iterations=1)
    g = tf1.gradients(tf.reduce_sum(y * y) + tf.reduce_sum(yb), x)[0]
    return {"x": x, "n": n}, {"y": y, "h": h, "yf": yf, "yb": yb, "hf": hf, "hb": hb, "ym": ym, "hm": hm, "g": g}


def static_loop():
    from tensorflow.python.ops import rnn
    rnn.rnn_cell_impl.assert_like_rnncell = lambda *a: None
    x = tf1.placeholder(tf.float32, [None, 4, 3], "x")
    y, h = rnn.static_rnn(Cell(4, 3, "s"), tf.unstack(x, axis=1), dtype=tf.float32, sequence_length=tf.constant([4, 2]))
    return {"x": x}, {"y": tf.stack(y, 1), "h": h}


def block_cells():
    """The fused cells that old exporters wrote: LSTMBlockCell, BlockLSTM, GRUBlockCell."""
    x = tf1.placeholder(tf.float32, [None, 3], "x")
    b = tf.shape(x)[0]
    z = tf.zeros([b, 2])
    cell = R.LSTMBlockCell(x=x, cs_prev=z, h_prev=z, w=var("w", [5, 8]), wci=tf.ones([2]), wcf=tf.ones([2]) * .5, wco=tf.ones([2]), b=var("b", [8], 2), forget_bias=1., cell_clip=3., use_peephole=True)
    seq = R.BlockLSTM(seq_len_max=tf.constant(3, tf.int64), x=tf.stack([x, x * 2, -x]), cs_prev=z, h_prev=z, w=var("w2", [5, 8], 3), wci=tf.zeros([2]), wcf=tf.zeros([2]), wco=tf.zeros([2]), b=tf.zeros([8]))
    gru = R.GRUBlockCell(x=x, h_prev=z + .1, w_ru=var("wr", [5, 4], 4), w_c=var("wc", [5, 2], 5), b_ru=tf.ones([4]), b_c=tf.zeros([2]))
    return {"x": x}, {"cs": cell.cs, "h": cell.h, "seq": seq.h, "gru": gru.h, "r": gru.r}


t1("library_rnn", v1(library_rnn), lambda: {"x": normal(3, 5, 3), "n": np.array([5, 2, 4], np.int32)}, lambda: {"x": normal(1, 2, 3), "n": np.array([0], np.int32)})
t1("library_rnn_v2", library_rnn, lambda: {"x": normal(3, 5, 3), "n": np.array([5, 2, 4], np.int32)})
t1("static_rnn", v1(static_loop), lambda: {"x": normal(2, 4, 3)})
t1("block_cells", block_cells, lambda: {"x": normal(2, 3)})


# ---------------------------------------------------------------- control flow of version 1
def deep_conds():
    """Conditionals in loops in conditionals, with values from every level, a dead branch with an error in it, and a loop that never runs."""
    x, p = tf1.placeholder(tf.float32, [3], "x"), tf1.placeholder(tf.int32, [], "p")

    def loop(a, n):
        return tf1.while_loop(lambda i, v: i < n, lambda i, v: (i + 1, tf1.cond(tf.reduce_sum(v) > 0, lambda: v - x, lambda: tf1.cond(tf.equal(i, p), lambda: v * 0., lambda: v + x * 2))), [0, a])[1]
    y = tf1.cond(p > 2, lambda: loop(x, p), lambda: tf1.cond(p < 0, lambda: tf1.check_numerics(x / 0., "never"), lambda: loop(x * 2, 2) + loop(x, 0)))
    z = tf1.case([(p > 5, lambda: x), (p > 3, lambda: -x)], default=lambda: x * 9)
    g = tf1.gradients(y, x)[0]
    return {"x": x, "p": p}, {"y": y, "z": z, "g": g}


def switch_merge():
    """Switch and Merge by hand, dead tensors that meet, control inputs from dead nodes, RefSwitch."""
    x, p = tf1.placeholder(tf.float32, [2], "x"), tf1.placeholder(tf.bool, [], "p")
    f, t = R.Switch(data=x, pred=p)
    m, idx = R.Merge(inputs=[f * 2, t + 1])
    f2, t2 = R.Switch(data=m, pred=tf.logical_not(p))
    m2, idx2 = R.Merge(inputs=[R.Neg(x=f2), R.Square(x=t2)])
    with tf1.control_dependencies([m2]):
        k = tf.identity(x)
    v = tf1.get_variable("v", [2], initializer=tf1.zeros_initializer(), use_resource=False)
    one = tf1.cond(p, lambda: tf1.assign_add(v, x), lambda: tf1.assign_sub(v, x))
    with tf1.control_dependencies([one]):
        out = v.read_value() + 0.
    return {"x": x, "p": p}, {"m": m, "i": idx, "m2": m2, "i2": idx2, "k": k, "v": out}


def ta_grads():
    """TensorArrays of version 3: gradient arrays of read, gather, scatter, concat, split, unknown element shapes."""
    x = tf1.placeholder(tf.float32, [None, 2], "x")
    n = tf.shape(x)[0]
    ta = tf1.TensorArray(tf.float32, n, element_shape=[2]).unstack(x * x)
    tb = tf1.TensorArray(tf.float32, n).scatter(tf.range(n - 1, -1, -1), tf.sin(x))
    tc = tf1.TensorArray(tf.float32, 2, infer_shape=False).write(0, x[:1]).write(1, tf.exp(x))
    y = tf.reduce_sum(ta.stack()[1:] * 3.) + tf.reduce_sum(tb.gather([0, 1]) ** 2) + tf.reduce_sum(tc.concat())
    acc = tf1.while_loop(lambda i, a, s: i < n, lambda i, a, s: (i + 1, a.write(i, x[i] * s), s + tf.reduce_sum(x[i])), [0, tf1.TensorArray(tf.float32, n), 0.])[1]
    y += tf.reduce_sum(acc.stack() ** 2)
    return {"x": x}, {"y": y, "g": tf1.gradients(y, x)[0], "n": tb.size()}


t1("deep_conds", v1(deep_conds), *[lambda p=p: {"x": normal(3), "p": np.int32(p)} for p in (0, 1, 4, 6)])
t1("switch_merge", v1(switch_merge), lambda: {"x": normal(2), "p": np.bool_(True)}, lambda: {"x": normal(2), "p": np.bool_(False)})
t1("ta_grads", v1(ta_grads), lambda: {"x": normal(4, 2)})


# ---------------------------------------------------------------- state of version 1
def accumulators():
    """Conditional accumulators, barriers and maps as parameter servers had them."""
    x = tf1.placeholder(tf.float32, [3], "x")
    acc = tf1.ConditionalAccumulator(tf.float32, [3], shared_name="acc", reduction_type="MEAN")
    with tf1.control_dependencies([acc.apply_grad(x, 0)]):
        with tf1.control_dependencies([acc.apply_grad(x * 3, 0)]):
            n = acc.num_accumulated() + 0
    with tf1.control_dependencies([n]):
        g = acc.take_grad(2)
    sp = tf1.SparseConditionalAccumulator(tf.float32, [4, 2], shared_name="sp", reduction_type="SUM")
    with tf1.control_dependencies([sp.apply_grad(tf.constant([0, 2], tf.int64), tf.stack([x[:2], x[1:]]), grad_shape=tf.constant([4, 2], tf.int64))]):
        with tf1.control_dependencies([sp.apply_grad(tf.constant([2, 3], tf.int64), tf.stack([x[:2], x[1:]]))]):
            s = sp.take_indexed_slices_grad(1)
    return {"x": x}, {"n": n, "g": g, "i": s.indices, "v": s.values}


def queues_more():
    x = tf1.placeholder(tf.float32, [None, 2], "x")
    q = tf1.FIFOQueue(50, [tf.float32, tf.string], shapes=[[2], []], names=["a", "b"], shared_name="q1")
    f = tf1.FIFOQueue(9, tf.float32, shared_name="q2")
    with tf1.control_dependencies([q.enqueue_many({"a": x, "b": tf.strings.as_string(x[:, 0], precision=1)}), f.enqueue(x), f.enqueue(x[:1])]):
        d = q.dequeue_up_to(2)
    with tf1.control_dependencies([d["a"]]):
        e = f.dequeue()
        n = q.size() + 0
    with tf1.control_dependencies([e]):
        z = f.size() * 1
    return {"x": x}, {"a": d["a"], "b": d["b"], "n": n, "rank": tf.rank(e), "z": z, "closed": tf.cast(q.is_closed(), tf.int32)}


def partition_slices():
    """Partitioned variables saved as slices of one tensor; a scope of another partitioning reads the same names; local ones beside."""
    x = tf1.placeholder(tf.float32, [None, 7], "x")
    with tf1.variable_scope("deep", partitioner=tf1.fixed_size_partitioner(3, axis=0)):
        w = tf1.get_variable("w", [7, 5], initializer=init(1), use_resource=True)
        b = tf1.get_variable("b", [5], initializer=init(2), use_resource=False)
    with tf1.variable_scope("wide", partitioner=tf1.fixed_size_partitioner(2, axis=1)):
        u = tf1.get_variable("u", [5, 4], initializer=init(3), use_resource=False)
    h = tf1.matmul(x, w) + b
    return {"x": x}, {"h": h, "y": tf1.matmul(h, u), "lens": tf.constant([len(list(w)), len(list(b)), len(list(u))]), "mod": tf1.nn.embedding_lookup([tf.identity(p) for p in list(w)], tf.constant([0, 1, 2, 5]), partition_strategy="mod")}


def moving():
    """Moving averages, global step, learning-rate schedules, streaming metrics with local variables."""
    x, y = tf1.placeholder(tf.float32, [None], "x"), tf1.placeholder(tf.int64, [None], "y")
    step = tf1.train.get_or_create_global_step()
    inc = tf1.assign_add(step, 1)
    with tf1.control_dependencies([inc]):
        lrs = tf.stack([tf1.train.polynomial_decay(.1, step, 10, .01, 2.), tf1.train.piecewise_constant(step, [2, 4], [1., .5, .1]), tf1.train.natural_exp_decay(.1, step, 3, .5), tf1.train.inverse_time_decay(.1, step, 3, .5), tf1.train.cosine_decay(.1, step, 9), tf1.train.linear_cosine_decay(.1, step, 9), tf1.train.cosine_decay_restarts(.1, step, 2)])
    pred = tf.cast(x > .5, tf.int64)
    acc, up = tf1.metrics.accuracy(y, pred)
    auc, up2 = tf1.metrics.auc(y, tf.clip_by_value(x, 0., 1.), num_thresholds=20)
    mean, up3 = tf1.metrics.mean(x)
    pr, up4 = tf1.metrics.precision(y, pred)
    pk, up5 = tf1.metrics.recall(y, pred)
    with tf1.control_dependencies([up, up2, up3, up4, up5]):
        return {"x": x, "y": y}, {"lrs": lrs, "acc": tf.identity(acc), "auc": tf.identity(auc), "mean": tf.identity(mean), "step": step.read_value() + 0 if hasattr(step, "read_value") else tf.identity(step)}


t1("accumulators", accumulators, lambda: {"x": normal(3)}, lambda: {"x": normal(3)})
t1("queues_more", queues_more, lambda: {"x": normal(3, 2)}, lambda: {"x": normal(4, 2)})
t1("partition_slices", partition_slices, lambda: {"x": normal(2, 7)})


@maker
def tf1_metrics_local():
    """Local variables that are not in the checkpoint: the main op makes them."""
    g = tf1.Graph()
    with g.as_default(), tf1.Session(graph=g) as s:
        ins, outs = moving()
        s.run([tf1.global_variables_initializer(), tf1.local_variables_initializer()])
        b = tf1.saved_model.Builder(path_of("tf1_metrics_local"))
        b.add_meta_graph_and_variables(s, ["serve"], {"serving_default": tf1.saved_model.predict_signature_def(ins, outs)}, main_op=tf1.group(tf1.local_variables_initializer(), tf1.tables_initializer()))
        b.save()
    return [("serving_default", {"x": rng.random(5).astype(np.float32), "y": rng.integers(0, 2, 5)}) for _ in range(3)]


@maker
def tf1_frozen_inside():
    """A frozen graph, imported under a prefix with a replaced input, saved as a SavedModel without variables."""
    g = tf1.Graph()
    with g.as_default(), tf1.Session(graph=g) as s:
        x = tf1.placeholder(tf.float32, [None, 4], "x")
        y = tf.nn.relu(x @ var("w", [4, 3]) + var("b", [3], 2))
        tf.identity(tf.nn.softmax(y), "out")
        s.run(tf1.global_variables_initializer())
        frozen = tf1.graph_util.convert_variables_to_constants(s, g.as_graph_def(), ["out"])
        frozen = tf1.graph_util.remove_training_nodes(frozen)
    h = tf1.Graph()
    with h.as_default(), tf1.Session(graph=h) as s:
        z = tf1.placeholder(tf.float64, [None, 4], "z")
        out, = tf1.import_graph_def(frozen, {"x": tf.cast(z, tf.float32) * 2.}, ["out:0"], name="part")
        again, = tf1.import_graph_def(frozen, {"x:0": out[:, :1] + tf.zeros([1, 4])}, ["out:0"], name="part")
        tf1.saved_model.simple_save(s, path_of("tf1_frozen_inside"), {"z": z}, {"out": out, "again": again})
    return [("serving_default", {"z": rng.standard_normal((3, 4))})]


@maker
def tf1_saver_options():
    """A checkpoint written in shards with another name map, moving averages restored under the plain names."""
    g = tf1.Graph()
    with g.as_default(), tf1.Session(graph=g) as s:
        x = tf1.placeholder(tf.float32, [None, 3], "x")
        w, c = var("w", [3, 2], use_resource=False), tf1.get_variable("c", [2], initializer=init(5))
        ema = tf1.train.ExponentialMovingAverage(.5)
        up = ema.apply([w, c])
        y = x @ w + c
        s.run(tf1.global_variables_initializer())
        s.run(up), s.run(w.assign(w * 3.)), s.run(up)
        saver = tf1.train.Saver({"weights/w": w, "weights/c": c}, sharded=True)
        b = tf1.saved_model.Builder(path_of("tf1_saver_options"))
        b.add_meta_graph_and_variables(s, ["serve"], {"serving_default": tf1.saved_model.predict_signature_def({"x": x}, {"y": y})}, saver=saver, clear_devices=True)
        b.save()
    return [("serving_default", {"x": normal(2, 3)})]


def images_old():
    """The resizers of version 1 with their corners, crops at random with seeds, distortions that are off, summaries that nobody reads."""
    x = tf1.placeholder(tf.float32, [None, 9, 7, 3], "x")
    tf1.summary.image("img", x)
    tf1.summary.histogram("h", x)
    I = tf1.image
    return {"x": x}, {"bil": I.resize_bilinear(x, [5, 6], align_corners=True), "near": I.resize_nearest_neighbor(x, [4, 9], align_corners=True), "bic": I.resize_bicubic(x, [5, 11], align_corners=True), "area": I.resize_area(x, [4, 3]), "pad": I.resize_image_with_crop_or_pad(x, 11, 5), "v1": I.resize_images(x, [6, 6], method=2),
                      "gl": I.extract_glimpse(x[:2], [4, 4], [[0., 0.], [.3, -.3]]), "sm": tf1.nn.softmax(x, dim=2), "xe": tf1.nn.softmax_cross_entropy_with_logits_v2(labels=tf.nn.softmax(x), logits=x), "lr": tf1.nn.lrn(x, 2, bias=1., alpha=.1), "l2": tf1.nn.l2_normalize(x, dim=3), "rl": tf1.nn.relu_layer(tf.reshape(x, [-1, 189]), tf.ones([189, 2]), tf.zeros([2])),
                      "sep": tf1.nn.separable_conv2d(x, var("d", [3, 3, 3, 2]), var("p", [1, 1, 6, 4], 2), [1, 1, 1, 1], "SAME", rate=[2, 2]), "ct": tf1.nn.conv2d_transpose(x, var("t", [3, 3, 2, 3], 3), [tf.shape(x)[0], 18, 14, 2], [1, 2, 2, 1]), "wm": tf1.nn.with_space_to_batch(x, [2, 2], "SAME", lambda v, *a: tf1.nn.avg_pool(v, [1, 3, 3, 1], [1, 1, 1, 1], "VALID"), filter_shape=[3, 3])}


t1("images_old", images_old, lambda: {"x": normal(2, 9, 7, 3)})


def sampled():
    """Candidate sampling losses, sparse softmax, top-k recall, edit distances, string joins of a TF1 text model."""
    x, y = tf1.placeholder(tf.float32, [None, 4], "x"), tf1.placeholder(tf.int64, [None, 1], "y")
    w, b = var("w", [20, 4]), tf1.get_variable("b", [20], initializer=tf1.zeros_initializer())
    fixed = tf1.nn.fixed_unigram_candidate_sampler(y, 1, 6, True, 20, unigrams=[float(i + 1) for i in range(20)], seed=4)
    nce = tf1.nn.nce_loss(w, b, y, x, 6, 20, sampled_values=fixed)
    ss = tf1.nn.sampled_softmax_loss(w, b, y, x, 6, 20, sampled_values=fixed, remove_accidental_hits=True)
    return {"x": x, "y": y}, {"nce": nce, "ss": ss, "acc": tf1.nn.compute_accidental_hits(y, fixed[0], 1)[0] * 0, "topk": tf1.nn.in_top_k(x @ tf.transpose(w), y[:, 0], 5), "samp": fixed[0]}


t1("sampled", sampled, lambda: {"x": normal(3, 4), "y": np.array([[3], [0], [19]], np.int64)}, lambda: {"x": normal(2, 4), "y": np.array([[7], [7]], np.int64)})
