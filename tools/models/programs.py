# SPDX-License-Identifier: Apache-2.0
"""Programs as graphs: autograph with every way out of a loop, gradients of loops and branches inside the exported graph,
iterative solvers, decoders, detection, quantisation, distributions, geometry, text."""
from models.common import *  # noqa: F403
from models.functions import fn
from models.functions_more import example, several


def prog(name, specs, f, *feeds, state=None):
    fn("prog_" + name, specs, f, *feeds, state=state)


# ---------------------------------------------------------------- autograph
def ways_out(m, x, limit):
    """break and continue at several depths, for-else by hand, while with two conditions, chained comparisons."""
    total = tf.constant(0.)
    found = tf.constant(-1)
    for i in tf.range(tf.shape(x)[0]):
        for j in tf.range(tf.shape(x)[1]):
            v = x[i, j]
            if v < 0.:
                continue
            if 0.2 < v <= 0.3 and not tf.equal(i, j):
                found = i * 10 + j
                break
            total += v
            k = 0
            while k < 3 and total < limit:
                k += 1
                if k == 2:
                    continue
                total += .01
        if found >= 0:
            break
        if total > limit:
            total = -total
            break
    return {"total": total, "found": found}


prog("ways_out", [S([None, None]), S([], name="limit")], ways_out, lambda: (np.abs(normal(4, 5)), np.float32(3)), lambda: (normal(3, 3), np.float32(100)), lambda: (np.zeros((0, 3), np.float32), np.float32(1)))


def lists(m, x):
    out = []
    rows = tf.TensorArray(tf.float32, size=0, dynamic_size=True, infer_shape=False)
    for r in x:
        if tf.reduce_sum(r) > 0.:
            rows = rows.write(rows.size(), r[:2])
        else:
            rows = rows.write(rows.size(), tf.concat([r, r], 0))
    for i in range(3):
        out.append(x[:, i % 2] * i)
    stack = tf.TensorArray(tf.int32, size=8, clear_after_read=False)
    top = 0
    for i in tf.range(5):
        stack = stack.write(top, i * i)
        top += 1
        if i % 2 == 1:
            top -= 1
    s = tf.constant(0)
    while top > 0:
        top -= 1
        s = s * 10 + stack.read(top)
    return {"rows": rows.concat(), "n": rows.size(), "out": tf.stack(out), "s": s}


prog("lists", [S([None, 3])], lists, lambda: normal(5, 3))


def game_of_life(m, b, n):
    k = tf.reshape(tf.constant([1., 1, 1, 1, 0, 1, 1, 1, 1]), [3, 3, 1, 1])
    seen = tf.TensorArray(tf.int32, size=n, element_shape=[])
    steps = 0
    for i in tf.range(n):
        c = tf.nn.conv2d(tf.cast(b, tf.float32)[None, :, :, None], k, 1, "SAME")[0, :, :, 0]
        nb = tf.logical_or(tf.equal(c, 3.), tf.logical_and(b, tf.equal(c, 2.)))
        seen = seen.write(i, tf.reduce_sum(tf.cast(nb, tf.int32)))
        steps = i + 1
        if tf.reduce_all(tf.equal(nb, b)):
            break
        b = nb
    return {"b": b, "steps": steps, "seen": seen.stack()}


prog("game_of_life", [S([None, None], tf.bool, "b"), S([], tf.int32, "n")], game_of_life, lambda: (rng.random((8, 8)) < .4, np.int32(6)), lambda: (np.zeros((3, 3), bool), np.int32(4)))


def primes_strings(m, n):
    s = tf.constant("")
    i = tf.constant(2)
    while i <= n:
        j = tf.constant(2)
        ok = tf.constant(True)
        while j * j <= i:
            if i % j == 0:
                ok = tf.constant(False)
                break
            j += 1
        if ok:
            s = tf.strings.join([s, tf.strings.as_string(i), " "])
        i += 1
    return {"s": s, "n": tf.strings.length(s)}


prog("primes_strings", [S([], tf.int32, "n")], primes_strings, np.int32(30), np.int32(1))


def tuples(m, x):
    """Conditionals that give several values of several types, nested; assertions and prints in branches."""
    def a():
        tf.debugging.assert_greater(tf.reduce_sum(x), -1e9)
        return x, tf.constant("a"), (tf.shape(x)[0], [x > 0])

    def b():
        return x * 2, tf.constant("bb"), tf.cond(x[0] > -1., lambda: (tf.shape(x)[0] * 2, [x > 1]), lambda: (0, [x < 1]))
    p, q, (r, (s,)) = tf.cond(tf.reduce_sum(x) > 0., a, b)
    t, u = tf.switch_case(r % 3, [lambda: (x, 1), lambda: (x + 1, 2), lambda: (tf.reverse(x, [0]), 3)])
    return {"p": p, "q": q, "r": r, "s": s, "t": t, "u": u}


prog("tuples", [S([3])], tuples, lambda: np.abs(normal(3)), lambda: -np.abs(normal(3)), np.array([-.5, -.1, -.1], np.float32))


# ---------------------------------------------------------------- gradients inside
def grads_of_loops(m, x):
    """Gradients through while, cond in while, scan, map_fn, foldl, TensorArray, nested while, and of the gradient again."""
    def f(v):
        a = tf.while_loop(lambda i, a: i < 4, lambda i, a: (i + 1, tf.cond(tf.equal(i % 2, 0), lambda: tf.sin(a) * v, lambda: a + v * v)), [0, v])[1]
        b = tf.scan(lambda c, r: tf.tanh(c + r), v, initializer=tf.zeros([]))
        c = tf.foldl(lambda c, r: c * r + .1, v, initializer=tf.ones([]))
        d = tf.map_fn(lambda r: r * r * r, v)
        e = tf.while_loop(lambda i, s: i < 3, lambda i, s: (i + 1, tf.while_loop(lambda j, t: j < i, lambda j, t: (j + 1, t * tf.reduce_mean(v)), [0, s])[1]), [0, tf.reduce_sum(v)])[1]
        return tf.reduce_sum(a) + tf.reduce_sum(b * b) + c + tf.reduce_sum(d) + e
    with tf.GradientTape() as t2:
        t2.watch(x)
        with tf.GradientTape() as t1:
            t1.watch(x)
            y = f(x)
        g = t1.gradient(y, x)
        s = tf.reduce_sum(g * g)
    return {"y": y, "g": g, "h": t2.gradient(s, x)}


prog("grads_of_loops", [S([4])], grads_of_loops, lambda: normal(4) * .5)
prog("hessian", [S([3])], lambda m, x: {"h": tf.hessians(tf.reduce_sum(tf.sin(x) * tf.reverse(x, [0]) ** 2), x)[0], "jv": tf.gradients(tf.gradients(tf.reduce_sum(x ** 3), x)[0], x)[0]}, lambda: normal(3))


def adversarial(m, x, y):
    """FGSM in the serving graph: gradient of a loss by the input through conv and pools, repeated in a loop."""
    def loss(v):
        h = tf.nn.relu(tf.nn.conv2d(v, m.k, 1, "SAME"))
        h = tf.nn.avg_pool2d(tf.nn.max_pool2d(h, 2, 2, "SAME"), 2, 2, "SAME")
        return tf.nn.sparse_softmax_cross_entropy_with_logits(y, tf.reshape(h, [tf.shape(v)[0], 16]) @ m.w)
    v = x
    for _ in tf.range(3):
        with tf.GradientTape() as t:
            t.watch(v)
            e = loss(v)
        v = tf.clip_by_value(v + .05 * tf.sign(t.gradient(e, v)), -1., 1.)
    return {"v": v, "e": loss(v)}


def adv_state(m):
    m.k, m.w = tf.Variable(normal(3, 3, 1, 4)), tf.Variable(normal(16, 3))


prog("adversarial", [S([None, 8, 8, 1]), S([None], tf.int32, "y")], adversarial, lambda: (np.tanh(normal(2, 8, 8, 1)), np.array([0, 2], np.int32)), state=adv_state)


def grad_cam(m, x):
    with tf.GradientTape() as t:
        h = tf.nn.elu(tf.nn.conv2d(x, m.k, 2, "SAME"))
        t.watch(h)
        z = tf.reduce_max(tf.reduce_mean(h, [1, 2]) @ m.w, 1)
    g = t.gradient(z, h)
    cam = tf.nn.relu(tf.einsum("bhwc,bc->bhw", h, tf.reduce_mean(g, [1, 2])))
    return {"cam": tf.image.resize(cam[..., None], [8, 8]), "z": z}


def cam_state(m):
    m.k, m.w = tf.Variable(normal(3, 3, 1, 4)), tf.Variable(normal(4, 3))


prog("grad_cam", [S([None, 8, 8, 1])], grad_cam, lambda: normal(2, 8, 8, 1), state=cam_state)


@tf.custom_gradient
def reversal(x, w):
    def grad(dy, dz):
        return -dy * 2. + dz, tf.reduce_sum(dz)
    return (x * 1., x * w), grad


def custom(m, x):
    with tf.GradientTape(persistent=True) as t:
        t.watch(x)
        a, b = reversal(x, tf.identity(m.w))
        y = tf.reduce_sum(a * a) + tf.reduce_sum(tf.tanh(b * m.w))
    return {"gx": t.gradient(y, x), "gw": t.gradient(y, m.w), "y": y}


prog("custom_gradients", [S([3])], custom, lambda: normal(3), state=lambda m: setattr(m, "w", tf.Variable(1.5)))


@maker
def prog_train_in_loop():
    """A signature that trains for n steps in a loop (optimizer with slots, dropout without seed 0, batch statistics), one that evaluates, one that resets."""
    class M(tf.Module):
        def __init__(self):
            self.w, self.b = tf.Variable(normal(4, 3)), tf.Variable(tf.zeros([3]))
            self.m = [tf.Variable(tf.zeros_like(v)) for v in (self.w, self.b)]
            self.v = [tf.Variable(tf.zeros_like(v)) for v in (self.w, self.b)]
            self.step = tf.Variable(0, dtype=tf.int64)

        @tf.function(input_signature=[S([None, 4]), S([None], tf.int32, "y"), S([], tf.int32, "n")])
        def train(self, x, y, n):
            losses = tf.TensorArray(tf.float32, n)
            for i in tf.range(n):
                with tf.GradientTape() as t:
                    e = tf.reduce_mean(tf.nn.sparse_softmax_cross_entropy_with_logits(y, x @ self.w + self.b))
                gs = t.gradient(e, [self.w, self.b])
                gs, _ = tf.clip_by_global_norm(gs, 1.)
                self.step.assign_add(1)
                k = tf.cast(self.step, tf.float32)
                for g, v, m1, m2 in zip(gs, (self.w, self.b), self.m, self.v):
                    tf.raw_ops.ResourceApplyAdam(var=v.handle, m=m1.handle, v=m2.handle, beta1_power=.9 ** k, beta2_power=.999 ** k, lr=.1, beta1=.9, beta2=.999, epsilon=1e-7, grad=g, use_locking=False, use_nesterov=False)
                losses = losses.write(i, e)
            return {"losses": losses.stack(), "step": self.step.read_value()}

        @tf.function(input_signature=[S([None, 4])])
        def predict(self, x):
            return {"p": tf.nn.softmax(x @ self.w + self.b)}

        @tf.function(input_signature=[])
        def reset(self):
            for v in [self.b] + self.m + self.v:
                v.assign(tf.zeros_like(v))
            self.step.assign(0)
            return {"n": tf.norm(self.w)}
    m = M()
    x, y = normal(8, 4), rng.integers(0, 3, 8).astype(np.int32)
    return several("prog_train_in_loop", m, {"serving_default": m.predict, "train": m.train, "reset": m.reset},
                   [("serving_default", {"x": x}), ("train", {"x": x, "y": y, "n": np.int32(5)}), ("serving_default", {"x": x}), ("train", {"x": x, "y": y, "n": np.int32(0)}), ("train", {"x": x, "y": y, "n": np.int32(2)}), ("reset", {}), ("serving_default", {"x": x})])


# ---------------------------------------------------------------- solvers
def conjugate_gradient(m, a, b):
    x = tf.zeros_like(b)
    r = b
    p = r
    rs = tf.reduce_sum(r * r)
    k = 0
    while k < 30 and rs > 1e-10:
        ap = tf.linalg.matvec(a, p)
        al = rs / tf.reduce_sum(p * ap)
        x += al * p
        r -= al * ap
        n = tf.reduce_sum(r * r)
        p = r + n / rs * p
        rs = n
        k += 1
    return {"x": x}


def spd(n):
    a = rng.standard_normal((n, n))
    return (a @ a.T + n * np.eye(n)).astype(np.float32)


prog("conjugate_gradient", [S([None, None], name="a"), S([None], name="b")], conjugate_gradient, lambda: (spd(5), normal(5)))
prog("linear_operators", [S([2, 4, 4]), S([2, 4, 3], name="b")], lambda m, x, b: (lambda LO, p: {
    "full": LO.LinearOperatorFullMatrix(p, is_positive_definite=True, is_self_adjoint=True).solve(b), "diag": LO.LinearOperatorDiag(x[:, 0]).matmul(b), "low": LO.LinearOperatorLowerTriangular(tf.linalg.band_part(x, -1, 0) + 3 * tf.eye(4)).solve(b),
    "kron": LO.LinearOperatorKronecker([LO.LinearOperatorFullMatrix(x[:, :2, :2]), LO.LinearOperatorFullMatrix(x[:, 2:, 2:])]).to_dense(), "block": LO.LinearOperatorBlockDiag([LO.LinearOperatorFullMatrix(x), LO.LinearOperatorIdentity(2, batch_shape=[2])]).to_dense(),
    "circ": tf.math.real(LO.LinearOperatorCirculant(tf.cast(tf.abs(x[:, 0]) + 1, tf.complex64)).matvec(tf.cast(b[:, :, 0], tf.complex64))), 
    "house": LO.LinearOperatorHouseholder(x[:, 0]).matmul(b), "upd": LO.LinearOperatorLowRankUpdate(LO.LinearOperatorDiag(tf.abs(x[:, 0]) + 1), b[:, :, :2]).solve(b), "perm": LO.LinearOperatorPermutation(tf.constant([2, 0, 1, 3])).matmul(b),
    "tri": tf.linalg.tridiagonal_matmul(tf.stack([x[:, 0], x[:, 1], x[:, 2]], 1), b, diagonals_format="compact"), "tsol": tf.linalg.tridiagonal_solve(tf.stack([x[:, 0], tf.abs(x[:, 1]) + 5, x[:, 2]], 1), b),
    "bsol": tf.linalg.banded_triangular_solve(tf.stack([tf.abs(x[:, 0]) + 2, x[:, 1]], 1), b), "det": LO.LinearOperatorFullMatrix(p).log_abs_determinant(), "tr": LO.LinearOperatorScaledIdentity(4, 2.).trace()})(tf.linalg, x @ tf.transpose(x, [0, 2, 1]) + 4 * tf.eye(4)), lambda: (normal(2, 4, 4), normal(2, 4, 3)))
prog("ode", [S([2]), S([], tf.int32, "n")], lambda m, x, n: (lambda f: tf.while_loop(lambda i, y, t: i < n, lambda i, y, t: (lambda k1: (lambda k2: (lambda k3: (lambda k4: (i + 1, y + (k1 + 2 * k2 + 2 * k3 + k4) / 60., t.write(i, y)))(f(y + k3 * .1)))(f(y + k2 * .05)))(f(y + k1 * .05)))(f(y)), [0, x, tf.TensorArray(tf.float32, n)])[2].stack())(lambda y: tf.stack([y[1], -tf.sin(y[0])])), lambda: (normal(2), np.int32(10)))
prog("power_iteration", [S([None, None])], lambda m, a: (lambda v: {"l": tf.tensordot(v, tf.linalg.matvec(a, v), 1), "v": tf.abs(v)})(tf.while_loop(lambda i, v: i < 60, lambda i, v: (i + 1, tf.math.l2_normalize(tf.linalg.matvec(a, v))), [0, tf.ones([tf.shape(a)[0]])])[1]), lambda: spd(4))
prog("sinkhorn", [S([None, None])], lambda m, c: (lambda k: (lambda r: {"p": tf.linalg.diag(r[1]) @ k @ tf.linalg.diag(r[2])})(tf.while_loop(lambda i, u, v: i < 20, lambda i, u, v: (i + 1, 1. / tf.linalg.matvec(k, v), 1. / tf.linalg.matvec(k, 1. / tf.linalg.matvec(k, v), transpose_a=True)), [0, tf.ones([tf.shape(c)[0]]), tf.ones([tf.shape(c)[1]])], shape_invariants=[tf.TensorShape([]), tf.TensorShape([None]), tf.TensorShape([None])])))(tf.exp(-c)), lambda: np.abs(normal(4, 4)))


# ---------------------------------------------------------------- decoders and detectors
def ctc_all(m, x, n):
    g, ng = tf.nn.ctc_greedy_decoder(x, n, merge_repeated=False, blank_index=0)
    b, p = tf.nn.ctc_beam_search_decoder(x, n, beam_width=5, top_paths=3)
    u, idx = tf.nn.ctc_unique_labels(tf.constant([[1, 2, 2], [3, 1, 0]]))
    return {"g": tf.sparse.to_dense(g[0], -1), "gi": g[0].indices, "ng": ng, "b0": tf.sparse.to_dense(b[0], -1), "b2": b[2].values, "bs": b[1].dense_shape, "p": p, "u": u, "ui": idx,
            "loss": tf.nn.ctc_loss(tf.constant([[1, 2, 2], [3, 1, 0]]), x, [3, 2], n, blank_index=0), "v1": tf1.nn.ctc_loss(tf.sparse.from_dense([[1, 2, 2], [3, 1, 0]]), x, n)}


prog("ctc_all", [S([None, 2, 5]), S([2], tf.int32, "n")], ctc_all, lambda: (normal(7, 2, 5), np.array([7, 5], np.int32)))


def ssd(m, loc, conf):
    """Anchors of several levels, decoded boxes, NMS per class in map_fn, padded to a fixed number, crops."""
    levels = []
    for n, s in ((4, .3), (2, .6)):
        g = (tf.range(n, dtype=tf.float32) + .5) / n
        y, x = tf.meshgrid(g, g, indexing="ij")
        for r in (1., 2.):
            levels.append(tf.stack([tf.reshape(y, [-1]), tf.reshape(x, [-1]), tf.fill([n * n], s / r), tf.fill([n * n], s * r)], 1))
    a = tf.concat(levels, 0)
    c = a[:, :2] + loc[..., :2] * .1 * a[:, 2:]
    z = a[:, 2:] * tf.exp(tf.clip_by_value(loc[..., 2:] * .2, -2., 2.))
    boxes = tf.concat([c - z / 2, c + z / 2], -1)
    p = tf.sigmoid(conf)

    def one(args):
        b, s = args
        keep, n = tf.image.non_max_suppression_padded(b, tf.reduce_max(s, 1), 6, .5, .3, pad_to_max_output_size=True)
        best = tf.gather(b, keep)
        return best, tf.gather(tf.reduce_max(s, 1), keep), tf.argmax(tf.gather(s, keep), 1, tf.int32), n
    b, s, k, n = tf.map_fn(one, (boxes, p), fn_output_signature=(tf.float32, tf.float32, tf.int32, tf.int32))
    ind, sc, cl, num = tf.image.combined_non_max_suppression(boxes[:, :, None], p, 3, 8, .45, .3, pad_per_class=True, clip_boxes=False)
    return {"b": b, "s": s, "k": k, "n": n, "ind": ind, "sc": sc, "cl": cl, "num": num, "v3": tf.raw_ops.NonMaxSuppressionV3(boxes=boxes[0], scores=p[0, :, 0], max_output_size=5, iou_threshold=.4, score_threshold=.2),
            "v5": tf.raw_ops.NonMaxSuppressionV5(boxes=boxes[0], scores=p[0, :, 0], max_output_size=5, iou_threshold=.4, score_threshold=.1, soft_nms_sigma=.3, pad_to_max_output_size=True).selected_scores,
            "ov": tf.image.non_max_suppression_overlaps(tf.matmul(boxes[0], boxes[0], transpose_b=True), p[0, :, 1], 4, .9, .1)}


prog("ssd", [S([None, 40, 4], name="loc"), S([None, 40, 3], name="conf")], ssd, lambda: (normal(2, 40, 4), normal(2, 40, 3)))


def rcnn(m, f, rois):
    """Crops of regions in two ways, masks pasted back into the picture, and a padded NMS in tiles."""
    c = tf.image.crop_and_resize(f, tf.reshape(rois, [-1, 4]), tf.repeat(tf.range(tf.shape(f)[0]), tf.shape(rois)[1]), [6, 6])
    n = tf.image.crop_and_resize(f, rois[0], tf.zeros([tf.shape(rois)[1]], tf.int32), [3, 5], "nearest", extrapolation_value=-1.)
    pool = tf.nn.max_pool2d(c, 2, 2, "VALID")
    mask = tf.sigmoid(tf.reduce_mean(pool, -1))
    canvas = tf.zeros([8, 8])
    for i in tf.range(3):
        y, x = tf.cast(rois[0, i, 0] * 5., tf.int32), tf.cast(rois[0, i, 1] * 5., tf.int32)
        y, x = tf.clip_by_value(y, 0, 5), tf.clip_by_value(x, 0, 5)
        canvas = tf.maximum(canvas, tf.pad(mask[i], [[y, 5 - y], [x, 5 - x]]))
    sel, num = tf.image.non_max_suppression_padded(rois, tf.reduce_sum(rois, -1), 3, .6, pad_to_max_output_size=True, sorted_input=False, canonicalized_coordinates=True, tile_size=4)
    gl = tf.image.extract_glimpse(f, [4, 4], [[.1, -.2], [.4, .9]], noise="zero")
    return {"pool": pool, "n": n, "canvas": canvas, "sel": sel, "num": num, "gl": gl}


prog("rcnn", [S([2, 9, 9, 2], name="f"), S([2, 5, 4], name="rois")], rcnn, lambda: (normal(2, 9, 9, 2), np.sort(rng.random((2, 5, 2, 2)).astype(np.float32), 2).reshape(2, 5, 4)))


def sampler(m, ids, n):
    """Greedy, top-k and top-p sampling with stateless seeds until an end token, in one loop with a growing prompt."""
    for i in tf.range(n):
        tf.autograph.experimental.set_loop_options(shape_invariants=[(ids, tf.TensorShape([None, None]))])
        h = tf.reduce_mean(tf.gather(m.e, ids), 1)
        z = h @ m.w
        v, _ = tf.math.top_k(z, 4)
        z = tf.where(z < v[:, -1:], -1e9, z)
        order = tf.argsort(z, direction="DESCENDING")
        p = tf.nn.softmax(tf.gather(z, order, batch_dims=1))
        keep = tf.cumsum(p, axis=1, exclusive=True) < .9
        z = tf.where(tf.gather(keep, tf.argsort(order), batch_dims=1), z, -1e9)
        nxt = tf.random.stateless_categorical(z, 1, tf.stack([i, 7]), tf.int32)
        ids = tf.concat([ids, nxt], 1)
        if tf.reduce_all(tf.equal(nxt, 0)):
            break
    return {"ids": ids}


def sampler_state(m):
    m.e, m.w = tf.Variable(normal(9, 4)), tf.Variable(normal(4, 9))


prog("sampler", [S([None, None], tf.int32, "ids"), S([], tf.int32, "n")], sampler, (np.array([[1, 2], [3, 4]], np.int32), np.int32(6)), state=sampler_state)


# ---------------------------------------------------------------- quantisation
def qat(m, x):
    """A network as quantisation-aware training leaves it: per-tensor and per-channel fake quantisation around every layer."""
    q = tf.quantization
    h = q.fake_quant_with_min_max_vars(x, m.lo, m.hi, 8)
    k = q.fake_quant_with_min_max_vars_per_channel(m.k, tf.reduce_min(m.k, [0, 1, 2]), tf.reduce_max(m.k, [0, 1, 2]), 8, narrow_range=True)
    h = tf.nn.relu6(tf.nn.bias_add(tf.nn.conv2d(h, k, 2, "SAME"), m.b))
    h = q.fake_quant_with_min_max_args(h, 0., 6.)
    d = q.fake_quant_with_min_max_vars_per_channel(m.d, -tf.ones([4]), tf.ones([4]), 4)
    h = q.fake_quant_with_min_max_vars(tf.nn.depthwise_conv2d(h, d[..., None], [1, 1, 1, 1], "SAME"), -3., 3., narrow_range=True)
    h = tf.reduce_mean(h, [1, 2])
    return {"y": q.fake_quant_with_min_max_vars(h @ m.w, -4., 4., 16), "qd": q.quantize_and_dequantize_v2(h, -1., 1., range_given=True), "qd2": q.quantize_and_dequantize_v2(h, [0.] * 4, [0.] * 4, axis=1, num_bits=6, narrow_range=True)}


def qat_state(m):
    m.lo, m.hi, m.k, m.b, m.d, m.w = (tf.Variable(v) for v in (-2., 2., normal(3, 3, 2, 4), normal(4), normal(3, 3, 4), normal(4, 3)))


prog("qat", [S([None, 8, 8, 2])], qat, lambda: normal(2, 8, 8, 2), state=qat_state)


def int8_by_hand(m, x):
    """Weights and activations in int8, sums in int32, rescaled by hand: what exporters for integers write."""
    s = tf.reduce_max(tf.abs(x)) / 127.
    q = tf.cast(tf.clip_by_value(tf.round(x / s), -127., 127.), tf.int8)
    acc = tf.matmul(tf.cast(q, tf.int32), tf.cast(m.q, tf.int32))
    y = tf.cast(acc, tf.float32) * s * m.s
    qz, a, b = tf.quantization.quantize(y, -6., 6., tf.quint8)
    back = tf.quantization.dequantize(qz, a, b)
    z, za, zb = tf.raw_ops.QuantizedRelu(features=qz, min_features=a, max_features=b)
    mm, ma, mb = tf.raw_ops.QuantizedMatMul(a=qz, b=tf.quantization.quantize(tf.ones([3, 2]), -2., 2., tf.quint8)[0], min_a=a, max_a=b, min_b=-2., max_b=2.)
    r = tf.raw_ops.RequantizationRange(input=mm, input_min=ma, input_max=mb)
    return {"acc": acc, "y": y, "back": back, "relu": tf.quantization.dequantize(z, za, zb), "mm": tf.quantization.dequantize(mm, ma, mb), "lo": r[0], "hi": r[1],
            "mm8": tf.matmul(q, m.q, output_type=tf.int32)}


def int8_state(m):
    m.q, m.s = tf.Variable(tf.constant(rng.integers(-127, 127, (5, 3)), tf.int8)), tf.Variable(.02)


prog("int8_by_hand", [S([None, 5])], int8_by_hand, lambda: normal(4, 5), state=int8_state)


# ---------------------------------------------------------------- text, signals, pictures
def subword(m, text):
    """Unicode: code points, scripts, normalised case, n-grams by windows, hash embeddings, ragged attention."""
    cp = tf.strings.unicode_decode(text, "UTF-8", errors="replace", replacement_char=63)
    off = tf.strings.unicode_decode_with_offsets(text, "UTF-8")[1]
    up = tf.strings.unicode_encode(tf.ragged.map_flat_values(lambda c: tf.where((c >= 97) & (c <= 122), c - 32, c), cp), "UTF-8")
    ch = tf.strings.unicode_split(text, "UTF-8")
    tri = tf.strings.ngrams(ch, 3, separator="", pad_values=("<", ">"), padding_width=1)
    ids = tf.ragged.map_flat_values(lambda s: tf.strings.to_hash_bucket_strong(s, 31, [5, 6]), tri)
    e = tf.nn.embedding_lookup_sparse(m.e, ids.to_sparse(), None, combiner="mean")
    sc = tf.ragged.map_flat_values(tf.strings.unicode_script, cp)
    return {"cp": cp.to_tensor(), "off": off.to_tensor(-1), "up": up, "tri": tri.to_tensor(), "e": e, "sc": sc.to_tensor(-1), "len": tf.strings.length(text, "UTF8_CHAR"), "rev": tf.strings.reduce_join(tf.reverse(ch, [1]), axis=1),
            "u16": tf.strings.length(tf.strings.unicode_encode(cp, "UTF-16-BE")), "skip": tf.ragged.stack_dynamic_partitions(tf.constant(["a", "b", "c"]), [1, 0, 1], 2).to_tensor(), "sub": tf.strings.substr(text, 1, 2, "UTF8_CHAR")}


prog("subword", [S([None], tf.string, "text")], subword, np.array(["h\u00e9llo", "\u65e5\u672c\u8a9e ok", "abc"]), state=lambda m: setattr(m, "e", tf.Variable(normal(31, 3))))
prog("json_csv", [S([None], tf.string, "rows")], lambda m, r: (lambda c: {"a": c[0], "b": c[1], "c": c[2], "d": c[3], "n": tf.strings.to_number(tf.strings.regex_replace(tf.strings.as_string(c[0], fill="0", width=6), "^0+", "")), "j": tf.io.parse_tensor(tf.io.serialize_tensor(c[0] * 2), tf.int32), "raw": tf.io.decode_raw(tf.strings.join(["abcd", "efgh"]), tf.uint16, little_endian=False),
     "pad": tf.raw_ops.DecodePaddedRaw(input_bytes=["ab", "abcd"], fixed_length=4, out_type=tf.uint8), "z": tf.io.decode_compressed(tf.constant([b"x\x9c\xcbH\xcd\xc9\xc9\x07\x00\x06,\x02\x15"]), "ZLIB")})(tf.io.decode_csv(r, [[7], [1.5], ["none"], tf.constant([], tf.int64)], field_delim=";", na_value="NA")), np.array(["1;2.5;x;9", "NA;;\"q;r\";8"]))
prog("examples_out", [S([None], tf.int64, "i"), S([None], name="f")], lambda m, i, f: (lambda p: {"i": p["i"], "s": tf.sparse.to_dense(p["s"]), "n": tf.strings.length(m.one)})(tf.io.parse_single_example(m.one, {"i": tf.io.FixedLenFeature([3], tf.int64), "s": tf.io.VarLenFeature(tf.float32)})) | {"ser": tf.io.deserialize_many_sparse(tf.io.serialize_many_sparse(tf.sparse.from_dense(f[None] * tf.ones([2, 1]))), tf.float32).values, "sum": i + tf.cast(f, tf.int64)}, lambda: (np.array([1, 2], np.int64), normal(2)), state=lambda m: setattr(m, "one", tf.constant(example(i=[1, 2, 3], s=[.5, .25]))))
prog("picture_math", [S([None, None, 3])], lambda m, x: {"ssim": tf.image.ssim(x[None], x[None] * .8, 1., filter_size=5), "ms": tf.image.ssim_multiscale(tf.image.resize(x[None], [64, 64]), tf.image.resize(x[None], [64, 64]) * .9, 1., power_factors=[.5, .5], filter_size=5), "tv": tf.image.total_variation(x), "grad": tf.image.image_gradients(x[None])[0], "yuv": tf.image.yuv_to_rgb(tf.image.rgb_to_yuv(x)), "cc": tf.image.central_crop(x, .6),
     "bb": tf.image.pad_to_bounding_box(x, 1, 2, 16, 18), "cb": tf.image.crop_to_bounding_box(x, 1, 2, 5, 6), "tr": tf.image.transpose(x), "jq": tf.cast(tf.shape(tf.image.adjust_jpeg_quality(tf.clip_by_value(x, 0., 1.), 80)), tf.float32), "sat": tf.image.adjust_saturation(x, .5), "br": tf.image.adjust_brightness(x, .1), "hsv": tf.image.hsv_to_rgb(tf.image.rgb_to_hsv(x)),
     "rz": tf.image.resize(x, [30, 7], "gaussian"), "mi": tf.image.resize(x, [6, 11], "mitchellcubic", antialias=True), "l3": tf.image.resize(x, [9, 4], "lanczos3", preserve_aspect_ratio=True), "dil": tf.nn.dilation2d(x[None], tf.zeros([3, 3, 3]), [1, 1, 1, 1], "SAME", "NHWC", [1, 1, 1, 1]), "ero": tf.nn.erosion2d(x[None], tf.zeros([2, 2, 3]), [1, 1, 1, 1], "VALID", "NHWC", [1, 2, 2, 1]),
     "proj": tf.raw_ops.ImageProjectiveTransformV3(images=x[None], transforms=[[1., .1, 2., 0., 1.2, -1., .001, 0.]], output_shape=[8, 9], fill_value=.5, interpolation="BILINEAR", fill_mode="CONSTANT"), "frac": tf.nn.fractional_max_pool(x[None], 1.5, pseudo_random=True, overlapping=True, seed=3)[0]}, lambda: rng.random((14, 13, 3)).astype(np.float32))
prog("filters", [S([None, 200])], lambda m, x: {"lp": tf.nn.conv1d(x[:, :, None], tf.signal.hamming_window(9)[:, None, None] / 5., 1, "SAME"), "frame": tf.signal.frame(x, 16, 8) * tf.signal.vorbis_window(16), "imdct": tf.signal.inverse_mdct(tf.signal.mdct(x[:, :192], 32, norm="ortho"), norm="ortho"), "idct": tf.signal.idct(tf.signal.dct(x, 3, norm="ortho"), 3, norm="ortho"), "dct1": tf.signal.dct(x, 1), "dct4": tf.signal.dct(x, 4),
     "ifr": tf.signal.inverse_stft(tf.signal.stft(x, 32, 8, window_fn=tf.signal.hann_window), 32, 8, window_fn=tf.signal.inverse_stft_window_fn(8)), "f2": tf.abs(tf.signal.fft2d(tf.cast(tf.reshape(x, [-1, 10, 20]), tf.complex64))), "r3": tf.abs(tf.signal.rfft3d(tf.reshape(x, [-1, 5, 10, 4]))), "if3": tf.signal.irfft2d(tf.signal.rfft2d(tf.reshape(x, [-1, 10, 20]))), "shift": tf.signal.ifftshift(x),
     "kbd": tf.signal.kaiser_bessel_derived_window(16), "atr": tf.nn.atrous_conv2d(tf.reshape(x, [-1, 10, 20, 1]), tf.ones([3, 3, 1, 2]), 2, "SAME"), "conv3": tf.nn.conv3d(tf.reshape(x, [-1, 2, 10, 10, 1]), tf.ones([2, 3, 3, 1, 2]), [1, 1, 2, 2, 1], "SAME"), "pool": tf.nn.pool(tf.reshape(x, [-1, 10, 20, 1]), [2, 3], "AVG", [2, 1], "SAME"), "wsum": tf.nn.weighted_moments(x, [1], tf.abs(x))[1]}, lambda: normal(2, 200))


def graph_net(m, x, edges):
    """Message passing over edges: gathers, segment sums, softmax per node, scatter, dynamic sizes."""
    n = tf.shape(x)[0]
    for _ in range(2):
        s, d = tf.gather(x, edges[:, 0]), tf.gather(x, edges[:, 1])
        z = tf.nn.leaky_relu(tf.reduce_sum(tf.concat([s, d], 1) * m.a, 1))
        top = tf.gather(tf.math.unsorted_segment_max(z, edges[:, 1], n), edges[:, 1])
        e = tf.exp(z - top)
        w = e / tf.gather(tf.math.unsorted_segment_sum(e, edges[:, 1], n), edges[:, 1])
        x = tf.nn.elu(tf.math.unsorted_segment_sum(w[:, None] * (s @ m.w), edges[:, 1], n))
    adj = tf.sparse.reorder(tf.SparseTensor(tf.cast(edges, tf.int64), tf.ones([tf.shape(edges)[0]]), tf.cast([n, n], tf.int64)))
    return {"x": x, "mean": tf.math.unsorted_segment_sqrt_n(x, tf.range(n) % 2, 2), "deg": tf.math.bincount(edges[:, 1], minlength=n, maxlength=n), "adj": tf.sparse.sparse_dense_matmul(adj, x, adjoint_a=True), "pairs": tf.sparse.reduce_max(adj, 1)}


def gnn_state(m):
    m.a, m.w = tf.Variable(normal(6)), tf.Variable(normal(3, 3))


prog("graph_net", [S([None, 3]), S([None, 2], tf.int32, "edges")], graph_net, lambda: (normal(5, 3), np.array([[0, 1], [1, 2], [2, 0], [3, 1], [4, 4], [0, 2]], np.int32)), state=gnn_state)
prog("bootstrap", [S([None])], lambda m, x: {"rs": tf.gather(x, tf.random.stateless_uniform([3, tf.shape(x)[0]], [1, 2], 0, tf.shape(x)[0], tf.int32)), "pn": tf.random.stateless_parameterized_truncated_normal([5], [1, 2], 0., 1., -1., 2.), "philox": tf.random.experimental.stateless_fold_in([1, 2], 7), "split": tf.random.split([1, 2], 3), "u3": tf.random.stateless_uniform([4], [5, 6], alg="threefry"), "lap": tf.sign(x) * tf.math.log1p(-tf.abs(tf.random.stateless_uniform(tf.shape(x), [3, 3]) - .5)),
     "sh": tf.random.experimental.stateless_shuffle(x, [4, 5], alg="philox"), "log": tf.random.log_uniform_candidate_sampler([[1, 2]], 2, 4, True, 50, seed=3)[0]}, lambda: normal(6))
prog("bits_and_hash", [S([None], tf.int64)], lambda m, x: {"pop": tf.raw_ops.PopulationCount(x=x), "shl": tf.bitwise.left_shift(x, tf.constant(3, tf.int64)), "inv": tf.bitwise.invert(x), "hash": tf.strings.to_hash_bucket(tf.strings.as_string(x), 97), "fp": tf.raw_ops.Fingerprint(data=tf.strings.as_string(x), method="farmhash64"), "cb": tf.raw_ops.CompareAndBitpack(input=tf.reshape(tf.tile(x[:4], [4]), [2, 8]), threshold=tf.constant(3, tf.int64)), "cast": tf.bitcast(tf.cast(x, tf.int32), tf.uint8), "div": x // tf.constant(-3, tf.int64), "mod": x % tf.constant(-3, tf.int64), "tm": tf.truncatemod(x, tf.constant(-3, tf.int64)), "u64": tf.cast(x, tf.uint64), "half": tf.cast(x, tf.float16), "cplx": tf.cast(x, tf.complex128), "bool": tf.cast(x, tf.bool), "sat": tf.saturate_cast(x * 1000, tf.uint16)}, np.array([1, -5, 77, 1 << 40, 0], np.int64))


def state_machine(m, events):
    """Strings drive a table-lookup machine with variables as registers, in a loop with an early return."""
    log = tf.TensorArray(tf.int64, size=0, dynamic_size=True)
    for e in events:
        c = m.t.lookup(e)
        if c == 0:
            m.r.assign_add([1, 0])
        elif c == 1:
            m.r.assign_sub([0, 1])
        elif c == 2:
            m.r.assign(tf.reverse(m.r, [0]))
        else:
            break
        log = log.write(log.size(), m.r[0] * 100 + m.r[1])
    return {"log": log.stack(), "r": m.r.read_value()}


def machine_state(m):
    m.t, m.r = tf.lookup.StaticHashTable(tf.lookup.KeyValueTensorInitializer(["inc", "dec", "swap"], tf.constant([0, 1, 2], tf.int64)), -1), tf.Variable([0, 0], dtype=tf.int64)


prog("state_machine", [S([None], tf.string, "events")], state_machine, np.array(["inc", "inc", "swap", "dec", "halt", "inc"]), np.array(["swap", "inc"]), state=machine_state)
