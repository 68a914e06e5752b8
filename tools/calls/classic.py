# SPDX-License-Identifier: Apache-2.0
"""Programs as TensorFlow 1 taught them: sessions with state, conditions with effects, tables, metrics, queues, savers. Run under tools/record_calls.py."""
import os
import tempfile

import numpy as np
import tensorflow as tf

from common import done, floats, ints, quietly, tf1


def steps(f):
    with tf1.Graph().as_default(), tf1.Session() as s:
        tf1.set_random_seed(7)
        for step in f():
            fetches, feeds = step if isinstance(step, tuple) else (step, None)
            quietly(s.run, fetches, feeds)


def program(f):
    """Runs the steps that f yields, fetches or (fetches, feeds): the three mixtures of variables and control flow that there are."""
    for resource, flow in ((True, tf1.enable_control_flow_v2), (True, tf1.disable_control_flow_v2), (False, tf1.disable_control_flow_v2)):
        flow()
        (tf1.enable_resource_variables if resource else tf1.disable_resource_variables)()
        quietly(steps, f)
    tf1.enable_resource_variables()
    return f


def start():
    return [tf1.global_variables_initializer(), tf1.local_variables_initializer(), tf1.tables_initializer()]


@program
def effects():
    """A counter that only one side of a condition moves, and who sees it when."""
    n, m = tf1.get_variable("n", initializer=0), tf1.get_variable("m", initializer=[1., 2.])
    p = tf1.placeholder(tf.bool, [])
    moved = tf.cond(p, lambda: n.assign_add(1), lambda: n.assign_sub(10))
    with tf1.control_dependencies([moved]):
        after = tf.identity(n)
        both = tf.cond(p, lambda: tf.group(m.assign(m * 2), n.assign_add(100)), tf.no_op)
    with tf1.control_dependencies([both]):
        last = [n + 0, m * 1]
    skipped = tf.cond(p, lambda: tf1.Print(m, [m, n], "seen") * 2, lambda: tf.zeros_like(m))
    yield start()
    for value in (True, False, True):
        yield [moved, after], {p: value}
        yield [n, m]
        yield last, {p: value}
        yield skipped, {p: value}
        yield both, {p: value}
    yield [moved]
    nested = tf.cond(p, lambda: tf.cond(n > 3, lambda: n.assign(0), lambda: n.assign_add(2)), lambda: tf.cond(n < 0, lambda: n.assign(50), lambda: n.assign_add(-3)))
    for i in range(12):
        yield nested, {p: i % 3 > 0}
    checked = tf.cond(p, lambda: tf.group(tf1.assert_positive(n, message="not positive")), tf.no_op)
    with tf1.control_dependencies([checked]):
        yield n.assign(-5)
        yield n - 1, {p: True}
        yield tf.identity(n), {p: False}


@program
def loops():
    """Variables, arrays and feeds in loops."""
    v = tf1.get_variable("v", initializer=np.arange(6, dtype=np.float32))
    x, limit = tf1.placeholder(tf.float32, [None]), tf1.placeholder_with_default(3, [])

    def body(i, a):
        with tf1.control_dependencies([v.assign_add(tf.fill([6], tf.cast(i, tf.float32)))]):
            return i + 1, a * 1.5 + tf.identity(v)[i]

    count, total = tf.while_loop(lambda i, a: i < limit, body, [0, tf.reduce_sum(x)], parallel_iterations=1)
    inner = total * 2
    array = tf.TensorArray(tf.float32, size=0, dynamic_size=True, clear_after_read=False, infer_shape=False)
    _, array = tf.while_loop(lambda i, a: i < limit, lambda i, a: (i + 1, a.write(i, tf.fill([i], tf.cast(i, tf.float32)))), [0, array])
    collatz = tf.while_loop(lambda n, s: n > 1, lambda n, s: (tf.cond(tf.equal(n % 2, 0), lambda: n // 2, lambda: 3 * n + 1), s + 1), [limit * 7, 0])
    yield start()
    for n in (3, 0, 5):
        yield [count, total, inner], {x: floats(4), limit: n}
        yield v
        yield [inner], {total: 4., limit: n}          # a value in the middle is fed
        yield [array.size(), array.concat()], {limit: n}
        yield array.read(1), {limit: n}
        yield array.stack(), {limit: n}               # rows of different lengths
        yield collatz, {limit: n}
    grads = tf.gradients(total, [x])
    yield grads, {x: floats(3)}
    words = tf.while_loop(lambda i, s: i < limit, lambda i, s: (i + 1, tf1.string_join([s, tf.as_string(i)], "-")), [0, "w"])
    yield words, {limit: 4}
    endless = tf.while_loop(lambda i: True, lambda i: [i + 1], [0], maximum_iterations=11)
    yield endless


@program
def tables():
    keys, values = tf.constant(["a", "b", "c"]), tf.constant([10, 20, 30], tf.int64)
    t = tf.lookup.StaticHashTable(tf.lookup.KeyValueTensorInitializer(keys, values), -1)
    back = tf.lookup.StaticHashTable(tf.lookup.KeyValueTensorInitializer(values, keys), "?")
    path = os.path.join(tempfile.gettempdir(), "ferry_words.txt")
    with open(path, "w", encoding="utf-8") as f:
        f.write("one\ntwo\nthree\n")
    lines = tf.lookup.StaticVocabularyTable(tf.lookup.TextFileInitializer(path, tf.string, 0, tf.int64, tf.lookup.TextFileIndex.LINE_NUMBER), 4)
    m = tf.lookup.experimental.MutableHashTable(tf.string, tf.float32, [0., 0.])
    d = tf.lookup.experimental.DenseHashTable(tf.int64, tf.string, "none", -1, -2)
    text = tf1.placeholder(tf.string, [None])
    words = tf1.string_split(text)
    ids = tf.SparseTensor(words.indices, t.lookup(words.values), words.dense_shape)
    yield t.lookup(text), {text: ["a"]}               # not yet initialised
    yield start()
    yield [t.lookup(text), t.size(), back.lookup(t.lookup(text)), lines.lookup(text)], {text: ["b", "zz", "two", ""]}
    yield [ids, tf.sparse.to_dense(ids, -7)], {text: ["a b", "", "c x a"]}
    yield m.insert(tf.constant(["p", "q"]), tf.constant([[1., 2.], [3., 4.]]))
    yield [m.lookup(text), m.size()], {text: ["q", "p", "r"]}
    yield m.remove(tf.constant(["p"])), {text: ["q"]}
    yield [m.size(), m.lookup(text)], {text: ["q", "p"]}
    yield d.insert(tf.constant([4, 5], tf.int64), tf.constant(["four", "five"]))
    yield [d.lookup(tf.constant([5, 9], tf.int64)), d.size()]
    yield d.insert(tf.constant([-1], tf.int64), tf.constant(["empty key"]))
    hashed = [tf.strings.to_hash_bucket_fast(text, 100), tf.strings.to_hash_bucket_strong(text, 100, [3, 4]), tf1.string_to_hash_bucket(text, 100)]
    yield hashed, {text: ["x", "", "long words of text"]}
    yield [tf.strings.regex_replace(text, r"(\w+) (\w+)", r"\2 \1"), tf.strings.substr(text, 1, 3), tf.strings.length(text), tf.strings.upper(text),
           tf.strings.reduce_join(text, separator="|"), tf1.string_to_number(text)], {text: ["12.5"]}
    yield tf1.string_to_number(text), {text: ["1e3", "x"]}
    yield [tf.strings.regex_replace(text, r"(\w+) (\w+)", r"\2 \1"), tf.strings.substr(text, 1, 3)], {text: ["ab cd", "xyz w"]}
    yield tf.unique_with_counts(text), {text: ["u", "v", "u"]}


@program
def metrics():
    m = tf1.metrics
    label, guess = tf1.placeholder(tf.int64, [None]), tf1.placeholder(tf.float32, [None, 3])
    weight = tf1.placeholder_with_default(tf.ones_like(label, tf.float32), [None])
    best, two, first = tf.argmax(guess, 1), tf.cast(label > 0, tf.float32), guess[:, 0]
    kinds = {"accuracy": lambda: m.accuracy(label, best, weight), "auc": lambda: m.auc(two, first, weight, num_thresholds=20), "auc_pr": lambda: m.auc(two, first, curve="PR", num_thresholds=20),
             "fn": lambda: m.false_negatives(two, best), "fp": lambda: m.false_positives(two, best), "mean": lambda: m.mean(guess), "mae": lambda: m.mean_absolute_error(two, first, weight),
             "cosine": lambda: m.mean_cosine_distance(tf.one_hot(label, 3), guess, 1), "iou": lambda: m.mean_iou(label, best, 3, weight), "per_class": lambda: m.mean_per_class_accuracy(label, best, 3),
             "relative": lambda: m.mean_relative_error(two, first, first + 1), "mse": lambda: m.mean_squared_error(two, first), "tensor": lambda: m.mean_tensor(tf.reduce_sum(guess, 0)),
             "below": lambda: m.percentage_below(guess, .5), "precision": lambda: m.precision(two, best), "precision_k": lambda: m.precision_at_k(label, guess, 2),
             "top": lambda: m.average_precision_at_k(label[:, None], guess, 2), "thresholds": lambda: m.precision_at_thresholds(two, first, [.2, .6]), "recall": lambda: m.recall(two, best),
             "recall_k": lambda: m.recall_at_k(label, guess, 2, class_id=1), "rmse": lambda: m.root_mean_squared_error(two, first), "sens": lambda: m.sensitivity_at_specificity(two, first, .5, num_thresholds=20),
             "spec": lambda: m.specificity_at_sensitivity(two, first, .5, num_thresholds=20), "tn": lambda: m.true_negatives(two, best), "tp_t": lambda: m.true_positives_at_thresholds(two, first, [.3, .5])}
    made = [quietly(kinds[k]) for k in sorted(kinds)]
    value, update = zip(*[k for k in made if k])
    yield start()
    yield list(value)
    for n in (5, 3, 0):
        feeds = {label: ints(n, low=0, high=3).astype(np.int64), guess: floats(n, 3, low=0, high=1)}
        if n == 3:
            feeds[weight] = np.float32([.5, 0, 2])
        yield list(update), feeds
        yield list(value), feeds


@program
def saving():
    a, b = tf1.get_variable("a", initializer=floats(3, 4)), tf1.get_variable("b", initializer=np.int64(4))
    c = tf1.get_variable("c", initializer=["x", "why"], dtype=tf.string)
    prefix = tf1.placeholder(tf.string, [])
    saver, old = tf1.train.Saver({"a": a, "b": b, "c": c}), tf1.train.Saver([a, b], write_version=tf1.train.SaverDef.V1)
    names = saver.as_saver_def(), old.as_saver_def()
    graph = tf1.get_default_graph()
    folder = tempfile.mkdtemp()
    yield start()
    for i, d in enumerate(names):
        path = {graph.get_tensor_by_name(d.filename_tensor_name): os.path.join(folder, "model%d" % i)}
        yield graph.get_tensor_by_name(d.save_tensor_name), path
        yield [a.assign(a * 0), b.assign(9)]
        yield graph.get_operation_by_name(d.restore_op_name), path
        yield [a, b, c]
    yield tf1.raw_ops.RestoreV2(prefix=prefix, tensor_names=["a", "b"], shape_and_slices=["3 4 0,2:1,2", ""], dtypes=[tf.float32, tf.int64]), {prefix: os.path.join(folder, "model0")}
    yield tf1.raw_ops.RestoreV2(prefix=prefix, tensor_names=["nobody"], shape_and_slices=[""], dtypes=[tf.float32]), {prefix: os.path.join(folder, "model0")}
    yield tf1.raw_ops.RestoreV2(prefix=prefix, tensor_names=["a"], shape_and_slices=[""], dtypes=[tf.float64]), {prefix: os.path.join(folder, "model0")}


@program
def pipeline():
    """Queues between producers and readers, as before tf.data."""
    q = tf1.RandomShuffleQueue(20, 2, [tf.float32, tf.string], [[2], []], seed=1)
    f = tf1.FIFOQueue(10, tf.int64, [[]])
    b = tf1.train.batch([f.dequeue(), tf.constant([1., 2.])], 3, num_threads=1)
    x = tf1.placeholder(tf.float32, [None, 2])
    yield start()
    yield q.enqueue_many([x, tf.as_string(x[:, 0])]), {x: floats(6, 2)}
    yield [q.size(), f.size()]
    yield q.dequeue_many(3)
    yield f.enqueue_many([np.arange(8, dtype=np.int64)])
    batching = tf1.get_collection(tf1.GraphKeys.QUEUE_RUNNERS)[0]
    for _ in range(4):
        yield batching.enqueue_ops[0]
    yield b
    yield f.dequeue_up_to(2)
    yield batching.close_op
    yield b
    yield q.close(cancel_pending_enqueues=True)
    yield q.dequeue_up_to(9)
    yield q.enqueue([[1., 2.], "late"])
    yield tf1.train.limit_epochs(tf.constant([1, 2]), 2)


@program
def training():
    """A network with dropout, normalisation and clipping; what is fed in the middle replaces what is computed."""
    x, y, mode = tf1.placeholder(tf.float32, [None, 6]), tf1.placeholder(tf.int32, [None]), tf1.placeholder_with_default(False, [])
    w1, w2 = tf1.get_variable("w1", initializer=floats(6, 5)), tf1.get_variable("w2", initializer=floats(5, 3))
    shift = tf1.get_variable("shift", [5], initializer=tf1.zeros_initializer())
    mean = tf1.get_variable("mean", [5], initializer=tf1.zeros_initializer(), trainable=False)
    h = tf.matmul(x, w1) + shift
    moments = tf.nn.moments(h, [0])
    track = tf.cond(mode, lambda: mean.assign(mean * .9 + moments[0] * .1), lambda: tf.identity(mean))
    with tf1.control_dependencies([track]):
        h = tf.nn.relu((h - tf.cond(mode, lambda: moments[0], lambda: mean + 0)) * tf.math.rsqrt(moments[1] + .1))
    logits = tf.matmul(h, w2)
    loss = tf.reduce_mean(tf.nn.sparse_softmax_cross_entropy_with_logits(labels=y, logits=logits)) + .01 * tf.nn.l2_loss(w1)
    variables = tf1.trainable_variables()
    grads, norm = tf.clip_by_global_norm(tf.gradients(loss, variables), .5)
    step = tf1.train.get_or_create_global_step()
    train = tf1.train.MomentumOptimizer(tf1.train.exponential_decay(.1, step, 2, .5, staircase=True), .9).apply_gradients(zip(grads, variables), global_step=step)
    feeds = {x: floats(7, 6), y: ints(7, low=0, high=3).astype(np.int32)}
    yield start()
    for i in range(4):
        yield [train, loss, norm], {**feeds, mode: i % 2 == 0}
        yield [mean, w1, shift, step]
    yield [loss, logits], {h: floats(4, 5), y: [0, 1, 2, 0]}
    yield [loss, grads], {**feeds, logits: floats(7, 3)}
    yield [loss], {x: floats(2, 6), y: [0, 5]}
    yield [loss], {x: floats(2, 6), y: [0]}
    yield [tf.nn.in_top_k(y, logits, 2), tf.nn.top_k(logits, 2), tf1.confusion_matrix(y, tf.argmax(logits, 1), 3)], feeds


done("classic")
