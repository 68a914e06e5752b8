# SPDX-License-Identifier: Apache-2.0
"""More of tf.function: modules with several signatures and shared state, loops in loops, ragged and strings in loops,
decoders, detectors, speech, images inside the serving graph."""
import struct

from models.common import *  # noqa: F403
from models.functions import fn


def several(name, m, signatures, runs):
    """|signatures|: {name: tf.function}, |runs|: [(signature, feeds)]."""
    tf.saved_model.save(m, path_of(name), signatures=signatures)
    return runs


# ---------------------------------------------------------------- state
@maker
def fn_several_signatures():
    class M(tf.Module):
        def __init__(self):
            self.w = tf.Variable(normal(3, 2), name="w")
            self.calls = tf.Variable(0, dtype=tf.int64)
            self.names = tf.Variable(["a", "b"])
            self.flag = tf.Variable(False)

        @tf.function(input_signature=[S([None, 3])])
        def predict(self, x):
            self.calls.assign_add(1)
            return {"y": x @ self.w, "calls": self.calls.read_value()}

        @tf.function(input_signature=[S([], name="by")])
        def scale(self, by):
            self.w.assign(self.w * by)
            self.flag.assign(tf.logical_not(self.flag))
            return {"sum": tf.reduce_sum(self.w), "flag": self.flag.read_value()}

        @tf.function(input_signature=[S([None], tf.string, "names")])
        def rename(self, names):
            old = tf.identity(self.names.read_value())
            with tf.control_dependencies([old]):
                self.names.assign(names[:2])
            return {"old": old, "now": self.names.read_value()}

        @tf.function(input_signature=[])
        def peek(self):
            return {"w": self.w.read_value(), "calls": self.calls.read_value(), "names": tf.strings.join([self.names, "?"])}
    m = M()
    x = {"x": normal(4, 3)}
    return several("fn_several_signatures", m, {"serving_default": m.predict, "scale": m.scale, "rename": m.rename, "peek": m.peek},
                   [("serving_default", x), ("peek", {}), ("scale", {"by": np.float32(2)}), ("serving_default", x), ("scale", {"by": np.float32(.5)}),
                    ("rename", {"names": np.array(["xx", "yy"])}), ("rename", {"names": np.array(["p", "q"])}), ("peek", {}), ("serving_default", {"x": normal(1, 3)})])


@maker
def fn_generator_state():
    class M(tf.Module):
        def __init__(self):
            self.g = tf.random.Generator.from_seed(7)
            self.h = tf.random.Generator.from_seed(9)

        @tf.function(input_signature=[S([], tf.int32, "n")])
        def draw(self, n):
            return {"u": self.g.uniform([n]), "n": self.g.normal([n, 2]), "i": self.h.uniform([n], 0, 1000, tf.int64),
                    "t": self.h.truncated_normal([3]), "b": self.g.binomial([4], 10., .3), "full": self.h.uniform_full_int([2], tf.uint32)}

        @tf.function(input_signature=[S([], tf.int64, "seed")])
        def seed(self, seed):
            self.g.reset_from_seed(seed)
            return {"state": self.g.state.read_value()}

        @tf.function(input_signature=[])
        def skip(self):
            self.h.skip(5)
            return {"keys": self.g.make_seeds(3), "state": self.h.state.read_value()}
    m = M()
    n = {"n": np.int32(3)}
    return several("fn_generator_state", m, {"serving_default": m.draw, "seed": m.seed, "skip": m.skip},
                   [("serving_default", n), ("serving_default", {"n": np.int32(5)}), ("seed", {"seed": np.int64(4)}), ("serving_default", n), ("skip", {}), ("serving_default", n)])


@maker
def fn_list_variables():
    """Variables in lists, dicts, nested modules; unsaved shapes; scatter and slices assigned."""
    class M(tf.Module):
        def __init__(self):
            self.layers = [tf.Variable(normal(3, 3)) for _ in range(4)]
            self.d = {"a": tf.Variable(1.), "b": [tf.Variable([1, 2, 3]), tf.Variable([[1.5]])]}
            self.grow = tf.Variable(tf.zeros([0, 2]), shape=tf.TensorShape([None, 2]))

        @tf.function(input_signature=[S([None, 2]), S([], tf.int32, "i")])
        def push(self, x, i):
            self.grow.assign(tf.concat([self.grow, x], 0))
            self.layers[0].scatter_nd_update([[0], [2]], self.layers[1][:2])
            self.layers[2][1:, :2].assign(tf.cast(tf.fill([2, 2], i), tf.float32))
            self.layers[3].scatter_sub(tf.IndexedSlices(tf.ones([1, 3]), i[None] % 3))
            self.d["b"][0].assign_sub([i, i, i])
            return {"grow": self.grow.read_value(), "l0": self.layers[0].read_value(), "l2": self.layers[2].read_value(),
                    "l3": self.layers[3].read_value(), "b": self.d["b"][0].read_value(), "n": tf.shape(self.grow)[0]}
    m = M()
    return several("fn_list_variables", m, {"serving_default": m.push},
                   [("serving_default", {"x": normal(k + 1, 2), "i": np.int32(k)}) for k in range(4)])


@maker
def fn_tables_state():
    class M(tf.Module):
        def __init__(self):
            self.t = tf.lookup.experimental.MutableHashTable(tf.string, tf.int64, -1)
            self.v = tf.lookup.experimental.MutableHashTable(tf.int64, tf.float32, [0., 0.])
            self.d = tf.lookup.experimental.DenseHashTable(tf.string, tf.int64, -1, "", "$$")
            self.s = tf.lookup.StaticHashTable(tf.lookup.KeyValueTensorInitializer(tf.constant([1, 2], tf.int64), tf.constant(["one", "two"])), "many")

        @tf.function(input_signature=[S([None], tf.string, "k"), S([None], tf.int64, "v")])
        def put(self, k, v):
            self.t.insert(k, v)
            self.d.insert(k, v * 10)
            self.v.insert(v, tf.stack([tf.cast(v, tf.float32), tf.cast(v * v, tf.float32)], 1))
            return {"size": self.t.size(), "dsize": self.d.size()}

        @tf.function(input_signature=[S([None], tf.string, "k")])
        def get(self, k):
            v = self.t.lookup(k)
            return {"v": v, "d": self.d.lookup(k), "two": self.v.lookup(v), "s": self.s.lookup(v)}

        @tf.function(input_signature=[S([None], tf.string, "k")])
        def drop(self, k):
            self.t.remove(k)
            self.d.erase(k)
            return {"left": tf.sort(self.t.export()[1])}
    m = M()
    m.t.insert(["w"], tf.constant([77], tf.int64))
    return several("fn_tables_state", m, {"serving_default": m.get, "put": m.put, "drop": m.drop},
                   [("serving_default", {"k": np.array(["w", "x"])}), ("put", {"k": np.array(["x", "y"]), "v": np.array([1, 2], np.int64)}),
                    ("serving_default", {"k": np.array(["w", "x", "y"])}), ("put", {"k": np.array(["x"]), "v": np.array([5], np.int64)}),
                    ("serving_default", {"k": np.array(["x"])}), ("drop", {"k": np.array(["x", "nope"])}), ("serving_default", {"k": np.array(["x", "y"])})])


@maker
def fn_assets():
    folder = path_of("fn_assets_vocab")
    os.makedirs(folder, exist_ok=True)
    path = os.path.join(folder, "words.txt")
    open(path, "w").write("alpha\nbeta\ngamma delta\n\u00e9t\u00e9\n")
    pairs = os.path.join(folder, "pairs.tsv")
    open(pairs, "w").write("a\t1\nb\t22\nc\t-3\n")

    class M(tf.Module):
        def __init__(self):
            I = tf.lookup.TextFileInitializer
            self.a = tf.lookup.StaticHashTable(I(path, tf.string, tf.lookup.TextFileIndex.WHOLE_LINE, tf.int64, tf.lookup.TextFileIndex.LINE_NUMBER), -1)
            self.b = tf.lookup.StaticHashTable(I(path, tf.int64, tf.lookup.TextFileIndex.LINE_NUMBER, tf.string, tf.lookup.TextFileIndex.WHOLE_LINE), "UNK")
            self.c = tf.lookup.StaticHashTable(I(pairs, tf.string, 0, tf.int64, 1), 0)
            self.v = tf.lookup.StaticVocabularyTable(I(path, tf.string, tf.lookup.TextFileIndex.WHOLE_LINE, tf.int64, tf.lookup.TextFileIndex.LINE_NUMBER), 5)
            self.file = tf.saved_model.Asset(path)

        @tf.function(input_signature=[S([None], tf.string)])
        def f(self, x):
            return {"a": self.a.lookup(x), "b": self.b.lookup(self.a.lookup(x)), "c": self.c.lookup(x), "v": self.v.lookup(x), "n": self.v.size(),
                    "text": tf.strings.length(tf.io.read_file(self.file))}
    m = M()
    return several("fn_assets", m, {"serving_default": m.f}, [("serving_default", {"x": np.array(["alpha", "gamma delta", "c", "\u00e9t\u00e9", "zz"])})])


# ---------------------------------------------------------------- control flow
def game(m, x, n):
    """Loops in loops with breaks, continues, returns, TensorArrays, and variables that change type of use."""
    out = tf.TensorArray(tf.float32, size=0, dynamic_size=True, element_shape=[2])
    best = tf.constant(-1e9)
    for i in tf.range(n):
        if i == 3:
            continue
        row = x[i % tf.shape(x)[0]]
        j = tf.constant(0)
        acc = tf.zeros([2])
        while j < 100:
            acc += row[:2] * tf.cast(j, tf.float32)
            j += 1
            if tf.reduce_sum(acc) > 3. or j > 5:
                break
            for k in tf.range(j):
                if k == 2:
                    break
                acc -= .1
        s = tf.reduce_sum(acc)
        if s > best:
            best = s
        elif s < -100.:
            best = -s
        out = out.write(out.size(), acc)
    return {"rows": out.stack(), "best": best, "n": out.size()}


fn("loops_in_loops", [S([None, 3]), S([], tf.int32, "n")], game, lambda: (normal(4, 3), np.int32(7)), lambda: (normal(2, 3), np.int32(0)), lambda: (normal(1, 3), np.int32(2)))


def word_loop(m, text):
    """Strings built in loops, ragged rows, dictionaries of strings."""
    words = tf.strings.split(text)
    longest = tf.constant("")
    counts = tf.TensorArray(tf.int32, size=words.nrows(out_type=tf.int32))
    line = tf.constant("")
    for i in tf.range(words.nrows(out_type=tf.int32)):
        row = words[i]
        counts = counts.write(i, tf.size(row))
        for w in row:
            if tf.strings.length(w) > tf.strings.length(longest):
                longest = w
            line = tf.strings.join([line, tf.strings.substr(w, 0, 1)])
        line += "|"
    return {"longest": longest, "counts": counts.stack(), "line": line, "rev": tf.strings.reduce_join(tf.reverse(words.flat_values, [0]), separator=" ")}


fn("word_loop", [S([None], tf.string, "text")], word_loop, np.array(["the quick brown", "", "fox jumped over lazy dogs"]), np.array(["one"]))
fn("map_nested", [S([None, None, 3])], lambda m, x: tf.map_fn(lambda a: tf.map_fn(lambda r: tf.stack([tf.reduce_max(r), tf.norm(r)]), a), x), lambda: normal(3, 4, 3))
fn("map_structure", [S([None], tf.int32), S([None], tf.string, "s")], lambda m, x, s: dict(zip(("a", "b", "c"), tf.map_fn(lambda p: (p[0] * 2, tf.strings.join([p[1], tf.strings.as_string(p[0])]), tf.cast(p[0], tf.float32) / 2), (x, s), fn_output_signature=(tf.int32, tf.string, tf.float32)))), (np.array([1, 2, 3], np.int32), np.array(["a", "b", "c"])))
fn("map_ragged", [S([None], tf.int32)], lambda m, x: (lambda r: {"v": r.values, "s": r.row_splits, "t": tf.map_fn(tf.reduce_sum, r, fn_output_signature=tf.int32)})(tf.map_fn(lambda n: tf.range(n), x, fn_output_signature=tf.RaggedTensorSpec([None], tf.int32))), np.array([3, 0, 2], np.int32))
fn("scan_structure", [S([None, 2])], lambda m, x: dict(zip(("h", "c", "n"), tf.scan(lambda a, v: (tf.tanh(a[0] + v), a[1] * .5 + v, a[2] + 1), x, initializer=(tf.zeros([2]), tf.ones([2]), 0), reverse=True))), lambda: normal(5, 2))
fn("while_cond_inside", [S([None])], lambda m, x: dict(zip("iab", tf.while_loop(lambda i, a, b: tf.logical_and(i < 10, tf.reduce_sum(a) < 20.), lambda i, a, b: (i + 1, tf.cond(tf.equal(i % 3, 0), lambda: a + tf.abs(x), lambda: tf.cond(i > 5, lambda: a * 1.1, lambda: a)), tf.switch_case(i % 3, [lambda: b + 1, lambda: b * 2, lambda: b - 3])), [0, x, 0]))), lambda: normal(4))
fn("while_max_iter", [S([])], lambda m, x: tf.while_loop(lambda v: True, lambda v: [v * 1.5], [x], maximum_iterations=7, parallel_iterations=3)[0], np.float32(.3))
fn("case_many", [S([], tf.int32)], lambda m, x: {"c": tf.case([(x < 0, lambda: tf.constant("neg")), (tf.equal(x, 0), lambda: tf.constant("zero")), (x > 100, lambda: tf.strings.as_string(x))], default=lambda: tf.constant("pos"), exclusive=True), "s": tf.switch_case(x, {0: lambda: 30., 1: lambda: 50.}, default=lambda: -1.)}, np.int32(-4), np.int32(0), np.int32(5), np.int32(500), np.int32(3))
fn("grad_of_cond", [S([3])], lambda m, x: {"g": tf.gradients(tf.cond(tf.reduce_sum(x) > 0, lambda: tf.exp(x) * m.v, lambda: x * x), [x])[0], "gv": tf.gradients(tf.cond(tf.reduce_sum(x) > 0, lambda: tf.exp(x) * m.v, lambda: x * x), [m.v.read_value() if False else x])[0]}, lambda: np.abs(normal(3)), lambda: -np.abs(normal(3)), state=lambda m: setattr(m, "v", tf.Variable(2.)))


def higher(m, x):
    with tf.GradientTape() as outer:
        outer.watch(x)
        with tf.GradientTape(persistent=True) as inner:
            inner.watch(x)
            y = tf.reduce_sum(tf.sin(x) * x ** 3 + tf.math.softplus(x))
            z = tf.stack([tf.reduce_prod(x), tf.reduce_logsumexp(x)])
        g = inner.gradient(y, x)
        j = inner.jacobian(z, x)
        s = tf.reduce_sum(g * g)
    return {"g": g, "h": outer.gradient(s, x), "j": j, "y": y}


fn("higher_gradients", [S([4])], higher, lambda: normal(4))


def jac(m, x):
    with tf.GradientTape() as t:
        t.watch(x)
        y = tf.tanh(x @ m.w)
    return {"bj": t.batch_jacobian(y, x)}


fn("batch_jacobian", [S([None, 3])], jac, lambda: normal(5, 3), state=lambda m: setattr(m, "w", tf.Variable(normal(3, 2))))


def newton(m, a):
    """Newton iteration with a linear solve in the body, until it converges."""
    x = tf.ones_like(a)
    err = tf.constant(1.)
    n = 0
    while err > 1e-5 and n < 50:
        f = x * x - a
        step = tf.linalg.solve(tf.linalg.diag(2. * x), f[:, None])[:, 0]
        x -= step
        err = tf.reduce_max(tf.abs(step))
        n += 1
    return {"x": x, "n": n}


fn("newton", [S([None])], newton, lambda: np.abs(normal(4)) + .5)


@tf.custom_gradient
def clipped(x):
    def grad(d):
        return tf.clip_by_value(d, -.1, .1)
    return tf.abs(x), grad


def with_custom(m, x):
    with tf.GradientTape() as t:
        t.watch(x)
        y = tf.reduce_sum(clipped(x) ** 2) + tf.reduce_sum(tf.stop_gradient(x) * x)
    return {"y": y, "g": t.gradient(y, x)}


fn("custom_gradient_used", [S([None])], with_custom, lambda: normal(5))


def fib(m, n):
    a, b = tf.constant(0, tf.int64), tf.constant(1, tf.int64)
    ta = tf.TensorArray(tf.int64, size=n, clear_after_read=False)
    for i in range(0, n):
        ta = ta.write(i, a)
        a, b = b, a + b
    total = tf.constant(0, tf.int64)
    for v in ta.stack():
        total += v
    return {"seq": ta.stack(), "total": total, "last": ta.read(n - 1)}


fn("fibonacci", [S([], tf.int32, "n")], fib, np.int32(12), np.int32(1))


def sieve(m, n):
    marks = tf.ones([n + 1], tf.bool)
    for i in tf.range(2, n + 1):
        if marks[i] and i * i <= n:
            idx = tf.range(i * i, n + 1, i)
            marks = tf.tensor_scatter_nd_update(marks, idx[:, None], tf.zeros_like(idx, tf.bool))
    return tf.where(marks)[2:, 0]


fn("sieve", [S([], tf.int32, "n")], sieve, np.int32(50))


def ta_of_shapes(m, x):
    ta = tf.TensorArray(tf.float32, size=3, infer_shape=False, clear_after_read=False)
    ta = ta.write(0, x).write(1, x[:1]).write(2, tf.concat([x, x], 0))
    parts = tf.TensorArray(tf.float32, size=2).split(tf.concat([x, x], 0), [tf.shape(x)[0], tf.shape(x)[0]])
    sc = tf.TensorArray(tf.float32, size=4, element_shape=[3]).scatter([3, 0, 2, 1], tf.reshape(tf.range(12.), [4, 3]))
    return {"concat": ta.concat(), "r1": ta.read(1), "parts": parts.stack(), "sc": sc.stack(), "size": ta.size(), "un": tf.TensorArray(tf.string, 2).unstack(["p", "q"]).read(1)}


fn("tensor_arrays_odd", [S([None, 3])], ta_of_shapes, lambda: normal(2, 3))


def beam_search(m, start, steps):
    """Beam search over a small language: gather of beams, top-k over beams x words, finished beams, early end."""
    V, B = 6, 3
    logits = m.t
    n = tf.shape(start)[0]
    seq = tf.tile(start[:, None, None], [1, B, 1])
    score = tf.tile([[0.] + [-1e9] * (B - 1)], [n, 1])
    done = tf.zeros([n, B], tf.bool)

    def body(i, seq, score, done):
        last = seq[:, :, -1]
        lp = tf.nn.log_softmax(tf.gather(logits, last))
        keep = tf.one_hot(tf.zeros_like(last), V, on_value=0., off_value=-1e9)
        lp = tf.where(done[:, :, None], keep, lp)
        total = tf.reshape(score[:, :, None] + lp, [n, B * V])
        best, idx = tf.math.top_k(total, B)
        beam, word = idx // V, idx % V
        seq = tf.concat([tf.gather(seq, beam, batch_dims=1), word[:, :, None]], -1)
        done = tf.logical_or(tf.gather(done, beam, batch_dims=1), tf.equal(word, 0))
        return i + 1, seq, best, done
    i, seq, score, done = tf.while_loop(lambda i, q, s, d: tf.logical_and(i < steps, tf.logical_not(tf.reduce_all(d))), body, [0, seq, score, done],
                                        shape_invariants=[tf.TensorShape([]), tf.TensorShape([None, B, None]), tf.TensorShape([None, B]), tf.TensorShape([None, B])])
    lengths = tf.reduce_sum(tf.cast(seq != 0, tf.float32), -1)
    return {"seq": seq, "score": score / tf.pow((5. + lengths) / 6., .6), "n": i}


fn("beam_search", [S([None], tf.int32, "start"), S([], tf.int32, "steps")], beam_search, (np.array([1, 2], np.int32), np.int32(6)), (np.array([5], np.int32), np.int32(1)), state=lambda m: setattr(m, "t", tf.Variable(normal(6, 6) * 2)))


def transformer_cache(m, x):
    """Greedy decoding with a cache that grows by a row each step."""
    k = tf.zeros([1, 0, 4])
    v = tf.zeros([1, 0, 4])
    out = tf.TensorArray(tf.float32, size=5)
    for i in tf.range(5):
        tf.autograph.experimental.set_loop_options(shape_invariants=[(k, tf.TensorShape([1, None, 4])), (v, tf.TensorShape([1, None, 4]))])
        k = tf.concat([k, (x @ m.wk)[:, None]], 1)
        v = tf.concat([v, (x @ m.wv)[:, None]], 1)
        a = tf.nn.softmax(tf.einsum("bd,btd->bt", x @ m.wq, k) / 2.)
        x = tf.einsum("bt,btd->bd", a, v)
        out = out.write(i, x)
    return {"out": out.stack(), "k": k}


def qkv(m):
    m.wq, m.wk, m.wv = (tf.Variable(normal(4, 4)) for _ in range(3))


fn("growing_cache", [S([1, 4])], transformer_cache, lambda: normal(1, 4), state=qkv)


def recursion(m, n):
    @tf.function(input_signature=[S([], tf.int32, "k")])
    def even(k):
        return tf.cond(tf.equal(k % 2, 0), lambda: tf.constant(True), lambda: tf.constant(False))
    inner = tf.function(lambda a, b: {"s": a + b, "p": a * b})
    r = inner(n, n + 1)
    r2 = inner(tf.cast(n, tf.float32), 2.)
    return {"e": even(n), "s": r["s"], "p": r2["p"]}


fn("functions_of_types", [S([], tf.int32, "n")], recursion, np.int32(6), np.int32(7))


# ---------------------------------------------------------------- models by hand
def detector(m, image):
    """Boxes from an image: conv, anchors, decode, NMS per class, crops of the winners."""
    x = tf.image.resize(tf.cast(image, tf.float32)[None] / 255., [16, 16])
    f = tf.nn.relu(tf.nn.conv2d(x, m.k, 2, "SAME"))
    head = tf.reshape(tf.nn.conv2d(f, m.h, 1, "SAME"), [-1, 7])
    gy, gx = tf.meshgrid(tf.range(8.), tf.range(8.), indexing="ij")
    c = tf.stack([tf.reshape(gy, [-1]), tf.reshape(gx, [-1])], 1) / 8.
    yx = c + tf.sigmoid(head[:, :2]) / 8.
    hw = tf.exp(tf.clip_by_value(head[:, 2:4], -3., 1.)) / 4.
    boxes = tf.clip_by_value(tf.concat([yx - hw / 2, yx + hw / 2], 1), 0., 1.)
    scores = tf.nn.softmax(head[:, 4:])
    b, s, c2, n = tf.image.combined_non_max_suppression(boxes[None, :, None], scores[None], 4, 6, .4, .35, clip_boxes=True)
    keep = tf.image.non_max_suppression(boxes, scores[:, 0], 5, .5, .3)
    crops = tf.image.crop_and_resize(x, tf.gather(boxes, keep), tf.zeros_like(keep), [3, 3])
    drawn = tf.image.draw_bounding_boxes(x, boxes[None, :2], [[1., 0., 0.]])
    return {"b": b, "s": s, "c": c2, "n": n, "keep": keep, "crops": crops, "drawn": drawn, "iou": tf.math.top_k(scores[:, 1], 3, sorted=True).indices}


def det_state(m):
    m.k, m.h = tf.Variable(normal(3, 3, 3, 8) * .3), tf.Variable(normal(1, 1, 8, 7))


fn("detector", [S([None, None, 3], tf.uint8, "image")], detector, lambda: (rng.random((20, 30, 3)) * 255).astype(np.uint8), lambda: (rng.random((7, 5, 3)) * 255).astype(np.uint8), state=det_state)


def wav(n=800, rate=8000):
    samples = (np.sin(np.arange(n) * .3) * 12000).astype("<i2").tobytes()
    return b"RIFF" + struct.pack("<I", 36 + len(samples)) + b"WAVEfmt " + struct.pack("<IHHIIHH", 16, 1, 1, rate, 2 * rate, 2, 16) + b"data" + struct.pack("<I", len(samples)) + samples


def speech(m, data):
    audio, rate = tf.audio.decode_wav(data, desired_channels=1)
    x = tf.squeeze(audio, -1)
    spec = tf.abs(tf.signal.stft(x, 64, 32, fft_length=128))
    mel = tf.tensordot(spec, tf.signal.linear_to_mel_weight_matrix(12, 65, 8000., 80., 3600.), 1)
    logmel = tf.math.log(mel + 1e-2)
    mfcc = tf.signal.mfccs_from_log_mel_spectrograms(logmel)[..., :8]
    logits = mfcc @ m.w
    paths, prob = tf.nn.ctc_beam_search_decoder(logits[:, None], [tf.shape(logits)[0]], beam_width=8, top_paths=2)
    greedy, neg = tf.nn.ctc_greedy_decoder(logits[:, None], [tf.shape(logits)[0]])
    raw = tf.raw_ops.AudioSpectrogram(input=audio, window_size=64, stride=32)
    return {"rate": rate, "mfcc": mfcc, "dense": tf.sparse.to_dense(greedy[0]), "neg": neg, "beam": tf.sparse.to_dense(paths[0]), "prob": prob, "raw": raw,
            "mfcc1": tf.raw_ops.Mfcc(spectrogram=raw, sample_rate=rate), "wav": tf.strings.length(tf.audio.encode_wav(audio, rate))}


fn("speech", [S([], tf.string, "data")], speech, np.array(wav()), state=lambda m: setattr(m, "w", tf.Variable(normal(8, 5))))


def png(h, w, c, seed):
    a = np.random.default_rng(seed).integers(0, 255, (h, w, c)).astype(np.uint8)
    return tf.io.encode_png(a).numpy(), tf.io.encode_jpeg(np.full((h, w, 3), 100 + seed, np.uint8)).numpy()


def serve_images(m, data):
    def one(b):
        x = tf.io.decode_image(b, channels=3, expand_animations=False)
        x.set_shape([None, None, 3])
        return tf.image.resize_with_crop_or_pad(tf.cast(x, tf.float32), 12, 12)
    x = tf.map_fn(one, data, fn_output_signature=tf.TensorSpec([12, 12, 3]))
    x = (x - 127.5) / 127.5
    return {"x": x, "y": tf.nn.softmax(tf.reduce_mean(x, [1, 2]) @ m.w), "mean": tf.reduce_mean(x)}


fn("serve_images", [S([None], tf.string, "data")], serve_images, lambda: np.array([png(9, 14, 3, 1)[0], png(20, 8, 3, 2)[0], png(5, 5, 1, 3)[0]], object), state=lambda m: setattr(m, "w", tf.Variable(normal(3, 4))))


def feature(v):
    v = v if isinstance(v, list) else [v]
    if not v:
        return tf.train.Feature()
    if isinstance(v[0], float):
        return tf.train.Feature(float_list=tf.train.FloatList(value=v))
    if isinstance(v[0], int):
        return tf.train.Feature(int64_list=tf.train.Int64List(value=v))
    return tf.train.Feature(bytes_list=tf.train.BytesList(value=[x.encode() for x in v]))


def example(**kw):
    return tf.train.Example(features=tf.train.Features(feature={k: feature(v) for k, v in kw.items()})).SerializeToString()


def serve_examples(m, s):
    d = tf.io.parse_example(s, {"f": tf.io.FixedLenFeature([2], tf.float32), "i": tf.io.FixedLenFeature([], tf.int64, default_value=-1), "s": tf.io.FixedLenFeature([1], tf.string, default_value="none"),
                                "v": tf.io.VarLenFeature(tf.int64), "w": tf.io.FixedLenSequenceFeature([2], tf.float32, allow_missing=True, default_value=9.), "sp": tf.io.SparseFeature("idx", "val", tf.float32, 5),
                                "r": tf.io.RaggedFeature(tf.string), "rr": tf.io.RaggedFeature(tf.int64, partitions=[tf.io.RaggedFeature.RowLengths("lens")], value_key="flat"),
                                "ur": tf.io.RaggedFeature(tf.float32, partitions=[tf.io.RaggedFeature.UniformRowLength(2)], value_key="u")})
    return {"f": d["f"], "i": d["i"], "s": d["s"], "v": tf.sparse.to_dense(d["v"]), "w": d["w"], "sp": tf.sparse.to_dense(d["sp"]), "r": d["r"].to_tensor("-"), "rr": d["rr"].to_tensor(), "ur": d["ur"].to_tensor(),
            "vi": d["v"].indices, "rrs": d["rr"].values.row_splits}


fn("serve_examples", [S([None], tf.string, "examples")], serve_examples,
   lambda: np.array([example(f=[1., 2.], i=5, s="x", v=[1, 2, 3], w=[1., 2., 3., 4.], idx=[0, 3], val=[.5, .25], r=["a", "b"], flat=[1, 2, 3], lens=[1, 2], u=[1., 2.]), example(f=[3., 4.], r=["z"], lens=[0], u=[1., 2., 3., 4.])], object),
   lambda: np.array([example(f=[0., 0.], v=[])], object))


def serve_sequence(m, s):
    c, q = tf.io.parse_single_sequence_example(s, {"n": tf.io.FixedLenFeature([], tf.int64), "t": tf.io.VarLenFeature(tf.string)}, {"x": tf.io.FixedLenSequenceFeature([2], tf.float32), "y": tf.io.VarLenFeature(tf.int64), "z": tf.io.RaggedFeature(tf.string)})
    return {"n": c["n"], "t": tf.sparse.to_dense(c["t"]), "x": q["x"], "y": tf.sparse.to_dense(q["y"]), "z": q["z"].to_tensor()}


def sequence_example():
    fl = lambda rows: tf.train.FeatureList(feature=[feature(r) for r in rows])  # noqa: E731
    return tf.train.SequenceExample(context=tf.train.Features(feature={"n": feature(3), "t": feature(["p", "q"])}),
                                    feature_lists=tf.train.FeatureLists(feature_list={"x": fl([[1., 2.], [3., 4.]]), "y": fl([[1], [2, 3], []]), "z": fl([["a"], ["b", "c"]])})).SerializeToString()


fn("serve_sequence", [S([], tf.string, "s")], serve_sequence, lambda: np.array(sequence_example(), object))


def wide(m, city, age, tags):
    """A wide-and-deep model by hand: hashing, crossing, buckets, vocabulary, embeddings with bags."""
    cross = tf.sparse.cross_hashed([city, tf.strings.as_string(age // 10)[:, None] if False else tags], 50)
    ids = tf.sparse.reorder(cross)
    emb = tf.nn.embedding_lookup_sparse(m.e, ids, None, combiner="sqrtn")
    bucket = tf.one_hot(tf.raw_ops.Bucketize(input=age, boundaries=[18, 30, 60]), 4)
    h = tf.strings.to_hash_bucket_fast(city[:, 0], 20)
    deep = tf.nn.relu(tf.concat([emb, bucket, tf.gather(m.c, h)], 1) @ m.w)
    return {"y": tf.sigmoid(tf.reduce_sum(deep, 1)), "h": h, "ids": ids.values}


def wide_state(m):
    m.e, m.c, m.w = tf.Variable(normal(50, 3)), tf.Variable(normal(20, 2)), tf.Variable(normal(9, 4))


fn("wide_and_deep", [S([None, 1], tf.string, "city"), S([None], tf.int32, "age"), S([None, 2], tf.string, "tags")], wide, (np.array([["rome"], ["oslo"]]), np.array([17, 65], np.int32), np.array([["a", "b"], ["c", ""]])), state=wide_state)


def bert_tokens(m, text):
    """A word-piece tokenizer as a graph: lower, split punctuation, greedy longest match in a loop over a table."""
    text = tf.strings.lower(tf.strings.regex_replace(text, r"([[:punct:]])", r" \1 "))
    words = tf.strings.split(text)
    ids = tf.TensorArray(tf.int64, size=0, dynamic_size=True)
    n = 0
    for w in words.flat_values:
        start = 0
        size = tf.strings.length(w)
        while start < size:
            end = size
            found = tf.constant(-1, tf.int64)
            while end > start and found < 0:
                piece = tf.strings.substr(w, start, end - start)
                if start > 0:
                    piece = "##" + piece
                found = m.t.lookup(piece)
                if found < 0:
                    end -= 1
            if found < 0:
                ids = ids.write(n, tf.constant(1, tf.int64))
                n += 1
                break
            ids = ids.write(n, found)
            n += 1
            start = end
    return {"ids": ids.stack(), "n": n, "lens": tf.cast(words.row_lengths(), tf.int32)}


fn("word_pieces", [S([None], tf.string, "text")], bert_tokens, np.array(["Playing, the players!", "unseen zzz"]),
   state=lambda m: setattr(m, "t", tf.lookup.StaticHashTable(tf.lookup.KeyValueTensorInitializer(["play", "##ing", "##ers", "the", ",", "!", "un", "##seen"], tf.constant([10, 11, 12, 13, 14, 15, 16, 17], tf.int64)), -1)))


def ragged_model(m, x):
    """Ragged in, ragged out: embeddings, softmax per row, mask, concatenation, sorting."""
    e = tf.gather(m.e, x)
    w = tf.ragged.map_flat_values(tf.exp, tf.reduce_sum(e, 2))
    p = w / tf.expand_dims(tf.reduce_sum(w, 1), 1)
    mean = tf.reduce_sum(e * tf.expand_dims(p, 2), 1)
    pad = tf.concat([x, tf.ones_like(x)], axis=1)
    return {"mean": mean, "p": p, "pad": pad.to_tensor(), "max": tf.reduce_max(x, 1), "lens": x.row_lengths(), "any": tf.ragged.boolean_mask(x, x > 3), "st": tf.ragged.stack([x, x]).to_tensor(), "tile": tf.tile(x, [1, 2]).flat_values,
            "slice": x[:, :2].to_tensor(-1), "rev": tf.reverse(x, [1]), "sum": tf.reduce_sum(tf.cast(x, tf.float32) ** 2)}


@maker
def fn_ragged_signature():
    class M(tf.Module):
        def __init__(self):
            self.e = tf.Variable(normal(10, 3))

        @tf.function(input_signature=[tf.RaggedTensorSpec([None, None], tf.int64)])
        def f(self, x):
            return ragged_model(self, x)
    m = M()
    c = m.f.get_concrete_function()
    tf.saved_model.save(m, path_of("fn_ragged_signature"), signatures={"serving_default": c})
    # (Composite arguments are flattened into several inputs.)
    return [("serving_default", {"x": np.array([3, 1, 4, 1, 5], np.int64), "x_1": np.array([0, 2, 2, 5], np.int64)})]


@maker
def fn_sparse_signature():
    class M(tf.Module):
        def __init__(self):
            self.w = tf.Variable(normal(6, 2))

        @tf.function(input_signature=[tf.SparseTensorSpec([None, 6], tf.float32)])
        def f(self, x):
            return {"y": tf.sparse.sparse_dense_matmul(x, self.w), "n": tf.sparse.reduce_sum(x, 1), "z": tf.sparse.map_values(tf.square, x), "c": tf.sparse.retain(x, x.values > 1.)}
    m = M()
    tf.saved_model.save(m, path_of("fn_sparse_signature"), signatures={"serving_default": m.f})
    return [("serving_default", {"x": np.array([[0, 1], [1, 3], [1, 5]], np.int64), "x_1": np.array([2., 3., .5], np.float32), "x_2": np.array([2, 6], np.int64)})]


@maker
def fn_default_inputs():
    class M(tf.Module):
        @tf.function(input_signature=[S([None]), S([], name="scale")])
        def f(self, x, scale=2.):
            return {"y": x * scale}

        @tf.function(input_signature=[])
        def nothing(self):
            return {"a": tf.range(3), "s": tf.constant("hello"), "e": tf.zeros([0, 3]), "c": tf.complex(1., 2.)}
    m = M()
    return several("fn_default_inputs", m, {"serving_default": m.f, "nothing": m.nothing}, [("nothing", {}), ("serving_default", {"x": normal(3), "scale": np.float32(3)})])


fn("passthrough", [S([None], tf.string, "a"), S([], tf.bool, "b"), S(None, tf.float32, "c"), S([None, None], tf.complex64, "d")], lambda m, a, b, c, d: {"a": a, "b": tf.logical_not(b), "c": c, "d": d, "same": c, "k": tf.constant([1, 2])}, (np.array(["x"]), np.bool_(True), np.ones((2, 1, 2), np.float32), np.ones((1, 2), np.complex64)))
fn("unknown_rank", [S(None)], lambda m, x: {"n": tf.size(x), "r": tf.rank(x), "flat": tf.reshape(x, [-1]), "sum": tf.reduce_sum(x), "t": tf.transpose(x), "e": tf.expand_dims(x, 0), "b": x + tf.ones([1])}, lambda: normal(2, 3), np.float32(3), lambda: normal(1, 2, 3, 1))
fn("empty", [S([None, 3])], lambda m, x: {"mm": x @ tf.ones([3, 2]), "sum": tf.reduce_sum(x, 0), "mean": tf.reduce_mean(x, 0), "max": tf.reduce_max(x, 0), "arg": tf.argmax(x, 1), "soft": tf.nn.softmax(x), "cat": tf.concat([x, x], 0), "sort": tf.sort(x, 0), "top": tf.math.top_k(x, 2).values, "cum": tf.cumsum(x), "where": tf.where(x > 0), "uniq": tf.unique(x[:, 0]).y, "conv": tf.nn.conv1d(x[:, :, None], tf.ones([2, 1, 2]), 1, "SAME"), "map": tf.map_fn(lambda r: r * 2, x), "join": tf.strings.reduce_join(tf.as_string(x[:, 0])), "gat": tf.gather(x, tf.zeros([0], tf.int32)), "seg": tf.math.unsorted_segment_sum(x, tf.zeros([tf.shape(x)[0]], tf.int32), 2), "bn": tf.nn.batch_normalization(x, 0., 1., None, None, 1e-3), "pad": tf.pad(x, [[1, 0], [0, 0]]), "std": tf.math.reduce_std(x, 1)}, lambda: np.zeros((0, 3), np.float32), lambda: normal(2, 3))
fn("image_augment_stateless", [S([None, None, 3], tf.float32)], lambda m, x: {"flip": tf.image.stateless_random_flip_left_right(x, [1, 2]), "crop": tf.image.stateless_random_crop(x, [4, 4, 3], [3, 4]), "bright": tf.image.stateless_random_brightness(x, .3, [5, 6]), "hue": tf.image.stateless_random_hue(x, .2, [1, 5]), "box": tf.image.stateless_sample_distorted_bounding_box(tf.shape(x), [[[.1, .1, .9, .9]]], [1, 2])[0], "contrast": tf.image.stateless_random_contrast(x, .5, 1.5, [2, 2]), "sat": tf.image.stateless_random_saturation(x, .5, 1.5, [2, 3]), "jpeg": tf.image.adjust_jpeg_quality(x, 90) * 0., "tv": tf.image.total_variation(x), "ssim": tf.image.ssim(x[None], x[None] * .9, 1., filter_size=5), "grad": tf.image.image_gradients(x[None])[0], "transpose": tf.image.transpose(x), "yuv": tf.image.rgb_to_yuv(x), "central": tf.image.central_crop(x, .5)}, lambda: rng.random((12, 10, 3)).astype(np.float32))
fn("spectral", [S([None, 64])], lambda m, x: {"rfft": tf.signal.rfft(x), "pow": tf.abs(tf.signal.fft(tf.cast(x, tf.complex64))) ** 2, "shift": tf.signal.fftshift(x, 1), "fft3": tf.signal.irfft(tf.signal.rfft(x)), "hil": tf.signal.dct(tf.signal.dct(x, 2), 3), "f2": tf.signal.fft2d(tf.complex(tf.reshape(x, [-1, 8, 8]), 0.)), "rf3": tf.signal.rfft3d(tf.reshape(x, [-1, 4, 4, 4])), "idct": tf.signal.idct(x, type=1), "imdct": tf.signal.inverse_mdct(tf.signal.mdct(x, 16)), "fftn": tf.signal.fftnd(tf.complex(tf.reshape(x, [-1, 8, 8]), 1.), axes=[1, 2], fft_length=[8, 8]) if False else x}, lambda: normal(2, 64))
fn("int_kinds", [S([None], tf.int8, "a"), S([None], tf.uint16, "b"), S([None], tf.uint32, "c"), S([None], tf.uint64, "d"), S([None], tf.int64, "e")], lambda m, a, b, c, d, e: {"a": tf.cast(a, tf.int32) * 3, "am": tf.reduce_max(a), "b": tf.bitwise.bitwise_and(b, 255), "c": tf.bitwise.right_shift(c, 3), "d": d * d, "e": e // 7, "em": e % -5, "ad": tf.abs(a), "bc": tf.concat([tf.cast(b, tf.uint64), d], 0), "ea": tf.argsort(e), "es": tf.cumsum(e, reverse=True), "cg": tf.gather(c, [1, 0]), "ed": tf.math.floordiv(e, 3), "f": tf.cast(d, tf.float64) / 3, "u": tf.unique_with_counts(a).count}, (np.array([-128, 127, 5], np.int8), np.array([65535, 3, 700], np.uint16), np.array([4000000000, 9, 1], np.uint32), np.array([2 ** 40, 7, 1], np.uint64), np.array([-15, 22, 2 ** 50], np.int64)))
fn("half_math", [S([None, 8], tf.float16)], lambda m, x: {"mm": tf.matmul(x, x, transpose_b=True), "sm": tf.nn.softmax(x), "ln": (x - tf.reduce_mean(x, -1, True)) * tf.math.rsqrt(tf.math.reduce_variance(x, -1, True) + .1), "gelu": tf.nn.gelu(x), "cat": tf.concat([x, -x], 1), "top": tf.math.top_k(x, 2).values, "conv": tf.nn.conv1d(x[:, :, None], tf.ones([3, 1, 2], tf.float16), 2, "SAME"), "cum": tf.cumsum(x, 1), "pow": tf.abs(x) ** .5, "max": tf.nn.max_pool1d(x[:, :, None], 2, 2, "SAME"), "oh": tf.one_hot([1, 2], 3, dtype=tf.float16), "bf": tf.cast(tf.cast(x, tf.bfloat16) * 2, tf.float32), "loss": tf.nn.sparse_softmax_cross_entropy_with_logits([1] * 3, x)}, lambda: normal(3, 8).astype(np.float16))
fn("double_math", [S([None, 6], tf.float64)], lambda m, x: {"mm": x @ tf.transpose(x), "conv": tf.nn.conv2d(tf.reshape(x, [-1, 2, 3, 1]), tf.ones([2, 2, 1, 3], tf.float64), 1, "SAME"), "bn": tf.nn.batch_normalization(x, tf.reduce_mean(x, 0), tf.math.reduce_variance(x, 0), None, None, 1e-5), "lg": tf.math.lgamma(tf.abs(x) + 1), "erf": tf.math.erf(x), "ein": tf.einsum("ij,kj->ik", x, x), "pool": tf.nn.avg_pool2d(tf.reshape(x, [-1, 2, 3, 1]), 2, 1, "VALID"), "sm": tf.nn.log_softmax(x), "chol": tf.linalg.cholesky(tf.eye(6, dtype=tf.float64) + tf.matmul(x, x, transpose_a=True))}, lambda: normal(3, 6).astype(np.float64))
fn("einsums", [S([2, 3, 4]), S([2, 4, 5], name="y")], lambda m, x, y: {"a": tf.einsum("bij,bjk->bik", x, y), "b": tf.einsum("bij,bjk->ki", x, y), "c": tf.einsum("...ij,...jk->...ik", x, y), "d": tf.einsum("bij->b", x), "e": tf.einsum("bii->bi", x[:, :, :3]), "f": tf.einsum("bij,bjk,k->b", x, y, tf.ones([5])), "g": tf.einsum("ij,kl->ijkl", x[0], y[0]), "h": tf.einsum("bij->jib", x), "i": tf.einsum("abc,acd->", x, y)}, lambda: (normal(2, 3, 4), normal(2, 4, 5)))
fn("segments", [S([6, 2])], lambda m, x: {"sum": tf.math.segment_sum(x, [0, 0, 1, 3, 3, 3]), "mean": tf.math.segment_mean(x, [0, 0, 1, 3, 3, 3]), "max": tf.math.unsorted_segment_max(x, [5, 0, -1, 0, 2, 2], 6), "prod": tf.math.unsorted_segment_prod(x, [1, 0, 1, 0, 2, 2], 3), "sqrtn": tf.sparse.segment_sqrt_n(x, [0, 2, 4], [0, 0, 2]), "ss": tf.sparse.segment_sum(x, [0, 2, 4], [0, 0, 2], num_segments=5), "bag": tf.nn.embedding_lookup_sparse(x, tf.SparseTensor([[0, 0], [0, 1], [2, 0]], tf.constant([1, 3, 5], tf.int64), [3, 2]), tf.SparseTensor([[0, 0], [0, 1], [2, 0]], [.5, 2., 1.], [3, 2]), combiner="mean")}, lambda: normal(6, 2))
fn("strings_more", [S([None], tf.string)], lambda m, x: {"lower": tf.strings.lower(x, "utf-8"), "usub": tf.strings.substr(x, -3, 2, "UTF8_CHAR"), "script": tf.strings.unicode_script(tf.strings.unicode_decode(x, "UTF-8").flat_values), "enc": tf.strings.unicode_encode(tf.strings.unicode_decode(x, "UTF-8"), "UTF-8"), "usplit": tf.strings.unicode_split(x, "UTF-8").to_tensor(), "off": tf.strings.unicode_decode_with_offsets(x, "UTF-8")[1].to_tensor(), "hex": tf.strings.as_string(tf.strings.to_hash_bucket(x, 1000), width=6, fill="0"), "sci": tf.strings.as_string([1.5, -2e10, float("nan"), float("inf")], scientific=True, precision=4), "short": tf.strings.as_string([True, False]), "join": tf.strings.join([x, "1", x], "-"), "fj": tf.strings.reduce_join([["a", "b"], ["c", "d"]], axis=0, separator="+"), "re": tf.strings.regex_replace(x, r"(?i)[aeiou]+", "<\\0>", replace_global=False), "fm": tf.strings.regex_full_match(x, r"\p{L}+"), "sp": tf.strings.split(x, "a").to_tensor("#"), "num": tf.strings.to_number(["1e3", " 42 ", "-0x1p3" if False else "7"], tf.float64), "b64": tf.io.decode_base64(tf.io.encode_base64(x, pad=True)), "fmt": tf.strings.format("x={} n={}", (x, tf.size(x)), summarize=2), "ng": tf.strings.ngrams(tf.constant(["a", "b", "c", "d"]), [2, 3], "_", ("<", ">")), "eq": tf.equal(x, "abc"), "sort": tf.gather(x, tf.argsort(tf.strings.length(x), stable=True)), "u": tf.unique(x).y, "lk": tf.strings.unsorted_segment_join(x, [0, 1, 0], 2, separator=":")}, np.array(["abcabc", "\u041f\u0440\u0438\u0432\u0435\u0442 mir", "na\u00efve \U0001F600!"]))
fn("dedupe_topk", [S([None], tf.int64, "ids"), S([None], name="w")], lambda m, ids, w: (lambda u: {"ids": u.y, "sum": tf.math.unsorted_segment_sum(w, u.idx, tf.size(u.y)), "best": tf.gather(u.y, tf.math.top_k(tf.math.unsorted_segment_sum(w, u.idx, tf.size(u.y)), 2).indices)})(tf.unique(ids)), lambda: (np.array([5, 3, 5, 9, 3, 3], np.int64), normal(6)))
fn("interpolate", [S([None])], lambda m, x: (lambda i: tf.gather(m.ys, i) + (x - tf.gather(m.xs, i)) * (tf.gather(m.ys, i + 1) - tf.gather(m.ys, i)) / (tf.gather(m.xs, i + 1) - tf.gather(m.xs, i)))(tf.clip_by_value(tf.searchsorted(m.xs, x, side="right") - 1, 0, 3)), lambda: normal(7), state=lambda m: (setattr(m, "xs", tf.Variable([-2., -1., 0., 1., 2.])), setattr(m, "ys", tf.Variable(normal(5)))))
fn("kalman", [S([None, 2])], lambda m, z: (lambda r: {"x": r[0], "p": r[1]})(tf.scan(lambda a, o: (lambda xp, pp: (lambda k: (xp + tf.linalg.matvec(k, o - xp), (tf.eye(2) - k) @ pp))(pp @ tf.linalg.inv(pp + .5 * tf.eye(2))))(tf.linalg.matvec(m.tr, a[0]), m.tr @ a[1] @ tf.transpose(m.tr) + .1 * tf.eye(2)), z, (tf.zeros([2]), tf.eye(2)))), lambda: normal(6, 2), state=lambda m: setattr(m, "tr", tf.Variable([[1., .1], [0., 1.]])))
fn("kmeans", [S([None, 2])], lambda m, x: tf.while_loop(lambda i, c: i < 5, lambda i, c: (i + 1, tf.math.unsorted_segment_mean(x, tf.argmin(tf.reduce_sum((x[:, None] - c[None]) ** 2, 2), 1, tf.int32), 3)), [0, x[:3]])[1], lambda: normal(12, 2))
fn("viterbi", [S([None, None, 4])], lambda m, x: (lambda s: {"score": s[0], "back": s[1]})(tf.scan(lambda a, e: (lambda t: (tf.reduce_max(t, 1) + e, tf.argmax(t, 1, tf.int32)))(a[0][:, :, None] + m.t[None]), tf.transpose(x, [1, 0, 2])[1:], (x[:, 0], tf.zeros_like(x[:, 0], tf.int32)))), lambda: normal(2, 5, 4), state=lambda m: setattr(m, "t", tf.Variable(normal(4, 4))))
fn("assert_many", [S([None, 2])], lambda m, x: (tf.debugging.assert_rank(x, 2), tf.debugging.assert_shapes([(x, ("N", 2))]), tf.debugging.assert_type(x, tf.float32), tf.debugging.assert_less_equal(x, 1e6), tf.debugging.check_numerics(x, "bad") + tf.ensure_shape(x, [None, 2]))[-1], lambda: normal(3, 2))
fn("print_inside", [S([None])], lambda m, x: (tf.print("x is", x, summarize=2, output_stream="file:///dev/null"), x + 1)[-1], lambda: normal(3))
fn("numpy_function_free", [S([3])], lambda m, x: tf.grad_pass_through(tf.round)(x) + tf.nest.flatten({"a": x, "b": [x * 2]})[1], lambda: normal(3))
