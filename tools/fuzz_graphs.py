#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Random graphs of many ops, run by TensorFlow and by Ferry, and told where the two differ.

  /opt/tfvenv/bin/python tools/fuzz_graphs.py [--seconds N] [--seed N] [--graphs N] [--save DIR] [--large]
      [--modes cpu,plain,…] [--patience N]

Chains of element-wise ops with broadcasting, reductions in their midst, transposes and reshapes, products,
convolutions with bias, normalisation and activations in any order, loops and branches of both versions, arrays,
functions, and gradients of all of it. Ferry runs every graph in each of the modes below, twice; the modes must agree bit for
bit, and with TensorFlow as far as the graph's own sensitivity lets them (TensorFlow runs it a second time with inputs
that differ in the last digits). Feeds are declared with their shape, in part, or not at all.
A graph that differs is kept under --save as pickled {graph, feeds, fetches}, and reduced to the first fetch that differs.
"""
import argparse
import os
import pickle
import random
import resource
import struct
import subprocess
import sys
import time

os.environ["TF_CPP_MIN_LOG_LEVEL"] = "3"
os.environ["CUDA_VISIBLE_DEVICES"] = ""
sys.path.insert(0, os.path.dirname(os.path.abspath(__file__)))
import numpy as np  # noqa: E402
import fuzz_ops as fuzz  # noqa: E402

SIM = "sim=gpu:1,memory=512MiB"
MODES = {"cpu": "", "plain": "optimize=off", "one": "intra_threads=1; inter_threads=-1", "many": "intra_threads=5; inter_threads=3",
         "auto": SIM, "tf": SIM + "; place=tensorflow", "nofuse": "passes=-fuse,-rows", "nocontract": "passes=-contract,-cells,-loops"}
# Those that must agree bit for bit. Without the contract pass nothing is folded into weights, which rounds otherwise, and what a
# simulated GPU runs is another graph to that pass.
ALIKE = [("cpu", "one", "many", "nofuse"), ("plain", "nocontract"), ("auto",), ("tf",)]


# ---------------------------------------------------------------- the child that runs Ferry
def serve():
    import ctypes as C
    from fuzz_driver import Failed
    from model_driver import Models
    resource.setrlimit(resource.RLIMIT_CORE, (0, 0))
    out = os.fdopen(os.dup(1), "wb")
    os.dup2(os.open(os.devnull, os.O_WRONLY), 1)
    api = Models("ferry")
    lib = api.lib

    class Buffer(C.Structure):
        _fields_ = [("data", C.c_void_p), ("length", C.c_size_t), ("free", C.c_void_p)]

    for name in ("TF_NewSession", "TF_NewImportGraphDefOptions"):
        getattr(lib, name).restype = C.c_void_p

    def job(case):
        graph, session = C.c_void_p(lib.TF_NewGraph()), None
        try:
            data = case["graph"]
            keep = C.create_string_buffer(data, len(data))
            buffer = Buffer(C.cast(keep, C.c_void_p), len(data), None)
            options = C.c_void_p(lib.TF_NewImportGraphDefOptions())
            lib.TF_GraphImportGraphDef(graph, C.byref(buffer), options, api.status)
            lib.TF_DeleteImportGraphDefOptions(options)
            api.check()
            options = C.c_void_p(lib.TF_NewSessionOptions())
            session = C.c_void_p(lib.TF_NewSession(graph, options, api.status))
            lib.TF_DeleteSessionOptions(options)
            api.check()
            answers = [api.run(session, graph, run) for run in case["runs"]]
            return ("ok", answers)
        except Failed as e:
            return ("error", e.code, e.text)
        finally:
            if session:
                lib.TF_CloseSession(session, api.status)
                lib.TF_DeleteSession(session, api.status)
            lib.TF_DeleteGraph(graph)

    source = sys.stdin.buffer
    while True:
        head = source.read(4)
        if len(head) < 4:
            return
        reply = pickle.dumps(job(pickle.loads(source.read(struct.unpack("<I", head)[0]))))
        out.write(struct.pack("<I", len(reply)) + reply)
        out.flush()


class Mode(fuzz.Child):
    """Ferry with one set of options, in a process of its own."""

    def start(self):
        if self.proc is None:
            env = dict(os.environ, FERRY_CONFIG=MODES[self.which])
            self.proc = subprocess.Popen([sys.executable, os.path.abspath(__file__), "--serve"], env=env,
                                         stdin=subprocess.PIPE, stdout=subprocess.PIPE)


# ---------------------------------------------------------------- graphs
class Maker:
    """A pool of tensors, and layers that take some of it and add to it."""

    def __init__(self, tf, seed, large):
        self.tf, self.r, self.large = tf, random.Random(seed), large
        self.n = np.random.RandomState(seed & 0x7fffffff)
        self.pool, self.feeds, self.depth, self.said = [], {}, 0, []

    def const(self, a):
        return self.tf.constant(a)

    def values(self, dims, dtype="float32"):
        if dtype.startswith("int"):
            return self.n.randint(-9, 10, dims).astype(dtype)
        style = self.r.random()
        a = self.n.randint(-8, 9, dims) / 4. if style < .3 else self.n.uniform(-2, 2, dims)
        return np.asarray(a).astype(dtype)

    def feed(self, dims, dtype="float32"):
        p = self.tf.compat.v1.placeholder(dtype, dims)
        self.feeds[p.name] = self.values(dims, dtype)
        self.pool.append(p)
        return p

    def dim(self):
        if self.large:
            return self.r.choice([1, 3, 8, 16, 31, 33, 64, 65, 100, 128, 200, 257])
        return self.r.choice([1, 1, 2, 3, 4, 5, 7, 8, 9, 16, 17])

    def shape(self):
        rank = self.r.choice([0, 1, 2, 2, 3, 3, 4])
        dims = [self.dim() for _ in range(rank)]
        while np.prod(dims) > (300000 if self.large else 3000):
            dims[self.r.randrange(len(dims))] = 1
        return dims

    def pick(self, *ranks, kind="float32"):
        few = [v for v in self.pool[-12:] + self.pool[:3] if v.dtype == kind and v.shape.is_fully_defined()
               and (not ranks or v.shape.rank in ranks) and v.shape.num_elements() <= (1 << 20)]
        if few:
            return self.r.choice(few)
        if self.depth:  # inside a function or a loop there are no feeds
            rank = self.r.choice(ranks or [0, 1, 2])
            return self.const(self.values([self.dim() if rank < 4 else self.r.choice([1, 2, 5]) for _ in range(rank)], kind))
        rank = self.r.choice(ranks or [0, 1, 2, 3, 4])
        dims = [self.dim() for _ in range(rank)]
        while np.prod(dims) > (100000 if self.large else 3000):
            dims[self.r.randrange(rank)] = 2
        return self.feed(dims, kind)

    def other(self, v):
        """Something that broadcasts with |v|."""
        dims = v.shape.as_list()
        fits = [x for x in self.pool[-20:] if x.dtype == v.dtype and x.shape.is_fully_defined() and x is not v
                and all(a == b or a == 1 or b == 1 for a, b in zip(x.shape.as_list()[::-1], dims[::-1]))]
        if fits and self.r.random() < .6:
            return self.r.choice(fits)
        own = [1 if self.r.random() < .35 else d for d in dims][self.r.choice([0, 0, 0, 1, 2]):]
        a = self.values(own, v.dtype.name)
        return self.const(a) if self.depth or self.r.random() < .7 else self.feed(own, v.dtype.name)

    # ------------------------------------------------------------ element-wise
    def unary(self, v):
        tf, r = self.tf, self.r
        f = r.choice(["relu", "relu6", "tanh", "sigmoid", "neg", "abs", "square", "elu", "selu", "softplus", "softsign", "sin",
                      "cos", "atan", "erf", "leaky", "expabs", "gelu", "gelutanh", "swish", "hardswish", "mish", "rsqrt", "log1p",
                      "clip", "div", "scale", "expm1", "floor", "where", "identity", "sqrt", "recip", "stop", "pow", "round"])
        if f in ("relu", "relu6", "elu", "selu", "softplus", "softsign"):
            return getattr(tf.nn, f)(v)
        if f in ("tanh", "sigmoid", "sin", "cos", "atan", "abs"):
            return getattr(tf.math, f)(v)
        return {"neg": lambda: -v, "square": lambda: tf.square(tf.tanh(v)) * 3., "erf": lambda: tf.math.erf(v),
                "leaky": lambda: tf.nn.leaky_relu(v, r.choice([.2, .01, 1.5])), "expabs": lambda: tf.exp(-tf.abs(v)),
                "gelu": lambda: tf.nn.gelu(v, approximate=False), "gelutanh": lambda: tf.nn.gelu(v, approximate=True),
                "swish": lambda: v * tf.sigmoid(v), "hardswish": lambda: v * tf.nn.relu6(v + 3.) * (1 / 6.),
                "mish": lambda: v * tf.tanh(tf.nn.softplus(v)), "rsqrt": lambda: tf.math.rsqrt(v * v + .5),
                "log1p": lambda: tf.math.log1p(tf.abs(v)), "clip": lambda: tf.clip_by_value(v, -1., r.choice([.5, 1.])),
                "div": lambda: v / r.choice([3., .5, -2.]), "scale": lambda: v * r.choice([1., 0., -1., .25]) + r.choice([0., 1., -.5]),
                "expm1": lambda: tf.math.expm1(-tf.abs(v)), "floor": lambda: tf.floor(v * 2. + .123),
                "where": lambda: tf.where(v > 0., v, self.const(np.float32(.1)) * v), "identity": lambda: tf.identity(v),
                "sqrt": lambda: tf.sqrt(tf.abs(v) + 1.), "recip": lambda: 1. / (1. + tf.square(v)), "stop": lambda: tf.stop_gradient(v),
                "pow": lambda: tf.pow(tf.abs(v) + .5, r.choice([2., .5, -1., 3., .7])), "round": lambda: tf.round(v + .057)}[f]()

    def binary(self, v):
        tf, r = self.tf, self.r
        w = self.other(v)
        f = r.choice(["add", "sub", "mul", "max", "min", "sqd", "div", "rsub", "addn", "select", "xdivy", "atan2", "bias"])
        if f == "select":
            return tf.where(v > w, v, w) if r.random() < .5 else tf.where(v <= w, v * 2., w - 1.)
        if f == "addn":
            return tf.add_n([v, v, tf.broadcast_to(w, v.shape)]) if w.shape.num_elements() <= v.shape.num_elements() and all(
                a in (b, 1) for a, b in zip(w.shape.as_list()[::-1], v.shape.as_list()[::-1])) and w.shape.rank <= v.shape.rank else v + w
        if f == "bias" and v.shape.rank and v.shape.rank >= 2:
            return tf.nn.bias_add(v, self.const(self.values([v.shape.as_list()[-1]])))
        return {"add": lambda: v + w, "sub": lambda: v - w, "mul": lambda: v * tf.tanh(w), "max": lambda: tf.maximum(v, w),
                "min": lambda: tf.minimum(w, v), "sqd": lambda: tf.tanh(tf.math.squared_difference(v, w)),
                "div": lambda: v / (1. + tf.square(w)), "rsub": lambda: w - v, "bias": lambda: v + w,
                "xdivy": lambda: tf.math.xdivy(v, 1. + tf.abs(w)), "atan2": lambda: tf.atan2(v, 2. + tf.abs(w))}[f]()

    def elementwise(self):
        v = self.pick()
        for _ in range(self.r.choice([1, 2, 3, 5, 8])):
            v = self.unary(v) if self.r.random() < .6 else self.binary(v)
            if v.shape.num_elements() > (1 << 20):
                break
            if self.r.random() < .3:
                self.pool.append(v)
        return v

    def integers(self):
        tf, r = self.tf, self.r
        v = self.pick(kind=r.choice(["int32", "int64"]))
        w = self.other(v)
        f = r.randrange(13)
        out = [lambda: v + w, lambda: v * w, lambda: v - w, lambda: tf.maximum(v, w), lambda: tf.math.floordiv(v, tf.abs(w) + 1),
               lambda: tf.math.floormod(v, tf.abs(w) + 1), lambda: -v, lambda: tf.square(v), lambda: tf.where(v > w, v, w),
               lambda: tf.bitwise.bitwise_and(v, w), lambda: tf.clip_by_value(v, -100, 100), lambda: tf.abs(v) + w,
               lambda: tf.cast(tf.clip_by_value(v, -9, 9), tf.int32 if v.dtype == tf.int64 else tf.int64)][f]()
        if r.random() < .5:
            self.pool.append(tf.cast(tf.clip_by_value(out, -5, 5), tf.float32))
        return out

    # ------------------------------------------------------------ reductions and rows
    def axes(self, v):
        rank = v.shape.rank
        many = self.r.choice([0, 1, 1, 1, 2, rank])
        return sorted(self.r.sample(range(rank), min(many, rank)))

    def reduce(self):
        tf, r = self.tf, self.r
        v = self.pick(1, 2, 3, 4)
        axes, keep = self.axes(v), r.random() < .5
        f = r.choice(["mean", "sum", "max", "min", "std", "logsumexp", "euclidean", "prod", "argmax", "any", "cumsum", "l2"])
        count = float(max(1, np.prod([v.shape.as_list()[a] for a in axes]))) if axes else 1.
        if f == "sum":
            return tf.reduce_sum(v, axes, keep) * (1. / count)
        if f == "std":
            return tf.sqrt(tf.math.reduce_variance(v, axes, keep) + .1)
        if f == "logsumexp":
            return tf.reduce_logsumexp(v, axes, keep)
        if f == "euclidean":
            return tf.sqrt(tf.reduce_sum(tf.square(v), axes, keep) * (1. / count) + .01)
        if f == "prod":
            return tf.reduce_prod(tf.cos(v) * .5 + 1., axes, keep) if count < 9 else tf.reduce_mean(v, axes, keep)
        if f == "argmax":
            k = tf.argmax(v, axes[0] if axes else 0, output_type=r.choice([tf.int32, tf.int64]))
            self.pool.append(k)
            return tf.cast(k, tf.float32) * .125
        if f == "any":
            return tf.cast(r.choice([tf.reduce_any, tf.reduce_all])(v > .1, axes, keep), tf.float32)
        if f == "cumsum":
            axis = r.randrange(v.shape.rank)
            return tf.cumsum(v, axis, exclusive=r.random() < .5, reverse=r.random() < .5) * (1. / v.shape.as_list()[axis])
        if f == "l2":
            return tf.math.l2_normalize(v, axes or [0], epsilon=1e-3)
        return getattr(tf, "reduce_" + f)(v, axes, keep)

    def rows(self):
        tf, r = self.tf, self.r
        v = self.pick(2, 3, 4)
        f = r.choice(["softmax", "log_softmax", "layer", "center", "rms", "hand", "masked"])
        axis = r.choice([-1, -1, -1, 0, 1])
        if f in ("softmax", "log_softmax"):
            return getattr(tf.nn, f)(v, axis)
        if f == "center":
            return v - tf.reduce_mean(v, axis, keepdims=True)
        if f == "rms":
            return v * tf.math.rsqrt(tf.reduce_mean(tf.square(v), -1, keepdims=True) + 1e-2) * self.const(self.values([v.shape.as_list()[-1]]))
        if f == "hand":
            e = tf.exp(tf.minimum(v, 5.) - tf.reduce_max(tf.minimum(v, 5.), -1, keepdims=True))
            return e / tf.reduce_sum(e, -1, keepdims=True)
        if f == "masked":
            return tf.nn.softmax(v * .125 + self.other(v) * -2.)
        mean, var = tf.nn.moments(v, [axis], keepdims=True)
        n = [v.shape.as_list()[axis] if r.random() < .8 else 1]
        if axis not in (-1, v.shape.rank - 1):
            n = [1]
        return tf.nn.batch_normalization(v, mean, var, self.const(self.values(n)), self.const(self.values(n)), 1e-2)

    # ------------------------------------------------------------ moving things
    def move(self):
        tf, r = self.tf, self.r
        v = self.pick(1, 2, 3, 4)
        dims, rank = v.shape.as_list(), v.shape.rank
        f = r.choice(["transpose", "transpose", "reshape", "slice", "strided", "concat", "split", "stack", "tile", "pad", "mirror", "gather",
                      "reverse", "expand", "squeeze", "flat", "unstack", "broadcast", "roll", "gathernd", "scatter", "space", "topk", "onehot"])
        axis = r.randrange(rank)
        if f == "transpose":
            p = r.sample(range(rank), rank)
            v = tf.transpose(v, p)
            return tf.transpose(self.unary(v), [p.index(i) for i in range(rank)]) if r.random() < .4 else v
        if f == "reshape":
            k = r.randrange(rank)
            return tf.reshape(v, dims[:k] + ([1] if r.random() < .3 else []) + [int(np.prod(dims[k:]))])
        if f == "slice":
            begin = [r.randrange(d) for d in dims]
            return tf.slice(v, begin, [r.choice([-1, r.randint(1, d - b)]) for b, d in zip(begin, dims)])
        if f == "strided":
            step = r.choice([1, 2, -1, -2, 3])
            return tf.gather(v, [0], axis=axis) if dims[axis] < 2 else v[tuple([slice(None)] * axis + [slice(None, None, step)])]
        if f == "concat":
            parts = [v, self.unary(v)] + ([v] if r.random() < .3 else [])
            return tf.concat(parts, axis)
        if f == "split" and dims[axis] > 1:
            k = r.randint(1, dims[axis] - 1)
            a, b = tf.split(v, [k, dims[axis] - k], axis)
            self.pool.append(a)
            return self.unary(b)
        if f == "stack":
            return tf.stack([v, self.unary(v)], r.randrange(rank + 1))
        if f == "tile":
            return tf.tile(v, [r.choice([1, 2]) for _ in dims])
        if f == "pad":
            return tf.pad(v, [[r.randint(0, 2), r.randint(0, 2)] for _ in dims], constant_values=r.choice([0, 1.5]))
        if f == "mirror":
            return tf.pad(v, [[min(1, d - 1), 0] for d in dims], "REFLECT")
        if f == "gather":
            n = r.choice([1, 3, 5])
            return tf.gather(v, self.n.randint(0, dims[axis], n if r.random() < .7 else [n, 2]).astype("int32"), axis=axis)
        if f == "reverse":
            return tf.reverse(v, [axis])
        if f == "expand":
            return tf.expand_dims(v, r.randrange(rank + 1))
        if f == "squeeze":
            return tf.squeeze(v) if 1 in dims else v
        if f == "flat":
            return tf.reshape(v, [-1])
        if f == "unstack" and dims[0] <= 8:
            return r.choice(tf.unstack(v))
        if f == "broadcast":
            return tf.broadcast_to(v, [2] + dims)
        if f == "roll":
            return tf.roll(v, r.randint(-2, 3), axis)
        if f == "gathernd":
            return tf.gather_nd(v, self.n.randint(0, dims[0], [3, 1]).astype("int64"))
        if f == "scatter":
            return tf.tensor_scatter_nd_add(v, self.n.randint(0, dims[0], [3, 1]).astype("int32"), self.const(self.values([3] + dims[1:])))
        if f == "topk":
            return tf.math.top_k(v, r.randint(1, dims[-1])).values
        if f == "onehot" and dims[0] < 50:
            return tf.one_hot(tf.argmax(v, 0), dims[0], axis=0) * v
        if f == "space" and rank == 4:
            return tf.nn.depth_to_space(tf.concat([v, v, v, -v], 3), 2)
        return tf.identity(v)

    # ------------------------------------------------------------ products and convolutions
    def weights(self, *dims):
        w = (self.n.uniform(-1, 1, dims) / np.sqrt(max(1, np.prod(dims[:-1])))).astype("float32")
        return self.const(w)

    def around(self, v):
        """Bias, normalisation, sums and activations in any order."""
        tf, r = self.tf, self.r
        for f in r.sample(["bias", "bn", "act", "add", "mul", "bn2", "act2", "res"], r.choice([0, 1, 2, 3, 4])):
            c = v.shape.as_list()[-1]
            if f == "bias":
                v = tf.nn.bias_add(v, self.const(self.values([c]))) if r.random() < .6 else v + self.const(self.values([c]))
            elif f == "bn" and v.shape.rank == 4:
                v = tf.compat.v1.nn.fused_batch_norm(v, self.const(self.values([c])), self.const(self.values([c])), self.const(self.values([c])),
                                                     self.const(np.abs(self.values([c])) + .5), is_training=False, epsilon=1e-3)[0]
            elif f == "bn2":
                v = v * self.const(self.values([c])) + self.const(self.values([c]))
            elif f in ("act", "act2"):
                v = r.choice([tf.nn.relu, tf.nn.relu6, tf.nn.elu, tf.tanh, tf.sigmoid, lambda x: tf.nn.leaky_relu(x, .3), self.unary])(v)
            elif f == "add":
                v = v + self.other(v)
            elif f == "mul":
                v = v * self.const(self.values([1] if r.random() < .5 else []))
            elif f == "res":
                same = [x for x in self.pool if x.dtype == v.dtype and x.shape.is_fully_defined() and x.shape.as_list() == v.shape.as_list()]
                v = r.choice(same) + v if same else v + tf.tanh(v)
            if r.random() < .1:
                self.pool.append(v)
        return v

    def product(self):
        tf, r = self.tf, self.r
        v = self.pick(2, 3)
        if max(v.shape.as_list()) > 1100:  # products of these would be too large
            v = v[..., :600, :300] if v.shape.rank == 2 else v[:9, :300, :300]
        k = v.shape.as_list()[-1]
        if v.shape.rank == 2 and r.random() < .6:
            n, ta, tb = self.dim(), r.random() < .25, r.random() < .4
            k = v.shape.as_list()[0] if ta else k
            return self.around(tf.matmul(v, self.weights(*([n, k] if tb else [k, n])), ta, tb))
        how = r.randrange(4)
        if how == 0:
            return self.around(tf.matmul(v, v, transpose_b=True) * (1. / k))
        if how == 1 and v.shape.rank == 3:
            return self.around(tf.einsum("abc,cd->abd", v, self.weights(k, self.dim())))
        if how == 2:  # attention
            q, w = tf.matmul(v, self.weights(k, 8)), tf.matmul(v, self.weights(k, 8))
            return tf.matmul(tf.nn.softmax(tf.matmul(q, w, transpose_b=True) * .353), v)
        return self.around(tf.tensordot(v, self.weights(k, self.dim()), 1))

    def convolution(self):
        tf, r = self.tf, self.r
        v = self.pick(4)
        n, h, w, c = v.shape.as_list()
        kh, kw, out = r.choice([1, 1, 3, 3, 2, 5]), r.choice([1, 3, 3, 2, 7]), self.dim() if not self.large else r.choice([1, 8, 33, 64])
        if r.random() < .5:
            kw = kh
        pad = "SAME" if h < kh or w < kw or r.random() < .6 else "VALID"
        f = r.choice(["conv", "conv", "conv", "depthwise", "depthwise", "max", "avg", "separable", "dilated", "group", "transposed", "resize", "image"])
        if h * w * n * max(c, out) > (1 << 20) or c * out > (1 << 14):
            f = "avg"
        s = r.choice([1, 1, 2, 3])
        if f == "conv":
            p = [[0, 0], [r.randint(0, 2), kh - 1], [kw - 1, r.randint(0, 1)], [0, 0]] if r.random() < .2 else pad
            return self.around(tf.nn.conv2d(v, self.weights(kh, kw, c, out), [1, s, s, 1], p))
        if f == "depthwise":
            p = [[0, 0], [kh - 1, r.randint(0, 2)], [r.randint(0, 1), kw - 1], [0, 0]] if r.random() < .2 else pad
            return self.around(tf.nn.depthwise_conv2d(v, self.weights(kh, kw, c, r.choice([1, 1, 2])), [1, s, s, 1], p))
        if f == "max":
            return tf.nn.max_pool2d(v, [kh, kw], s, pad)
        if f == "avg":
            return self.around(tf.nn.avg_pool2d(v, [kh, kw], s, pad))
        if f == "separable":
            return self.around(tf.nn.conv2d(tf.nn.depthwise_conv2d(v, self.weights(3, 3, c, 1), [1, 1, 1, 1], "SAME"), self.weights(1, 1, c, out), 1, "SAME"))
        if f == "dilated":
            return self.around(tf.nn.conv2d(v, self.weights(kh, kw, c, out), 1, "SAME", dilations=[1, r.choice([1, 2]), r.choice([2, 3]), 1]))
        if f == "group" and c > 1:
            g = [k for k in range(2, c + 1) if c % k == 0][0]
            return self.around(tf.nn.conv2d(v, self.weights(kh, kw, c // g, g * 3), s, "SAME"))
        if f == "transposed":
            return self.around(tf.nn.conv2d_transpose(v, self.weights(kh, kw, out, c), [n, h * s, w * s, out], s, "SAME"))
        if f == "resize":
            return tf.image.resize(v, [h + r.randint(0, 4), max(1, w - r.randint(0, 2))], r.choice(["bilinear", "nearest", "bicubic"]))
        if f == "image":
            return tf.compat.v1.nn.fused_batch_norm(v, self.const(self.values([c])), self.const(self.values([c])), epsilon=1e-2, is_training=True)[0]
        return self.around(tf.nn.conv2d(v, self.weights(1, 1, c, out), 1, "VALID"))

    # ------------------------------------------------------------ control flow
    def inner(self, many, own):
        """Layers of a body of its own; its first value has |own|'s shape and depends on it."""
        outer, self.pool, self.depth = self.pool, [own], self.depth + 1
        try:
            v = own
            for _ in range(many):
                v = self.layer(inside=True)
            if v.dtype != self.tf.float32:
                v = self.tf.cast(v, self.tf.float32)
            return own * .5 + self.tf.tanh(self.tf.reduce_mean(v)) + .1 * self.unary(own)
        finally:
            self.pool, self.depth = outer, self.depth - 1

    def loop(self):
        tf, r = self.tf, self.r
        v = self.pick(1, 2, 3)
        n = r.choice([0, 1, 3, 5])
        kind = r.choice(["plain", "array", "list", "until", "scan", "rnn"])
        many = r.choice([1, 2])
        if kind == "plain":
            return tf.while_loop(lambda i, x: i < n, lambda i, x: (i + 1, self.inner(many, x)), [0, v], parallel_iterations=r.choice([1, 10]),
                                 maximum_iterations=r.choice([None, 4]))[1]
        if kind == "until":
            top = r.choice([.5, 3.])
            return tf.while_loop(lambda x, k: tf.logical_and(tf.reduce_mean(x) < top, k < 6),
                                 lambda x, k: (x + .25 + .01 * tf.tanh(x), k + 1), [v, 0])[0]
        n = v.shape.as_list()[0]
        if n > 20:
            v = v[:9]
            n = 9
        if kind in ("array", "list"):
            ta = tf.TensorArray(tf.float32, n, element_shape=v.shape[1:] if r.random() < .7 else None)
            src = tf.TensorArray(tf.float32, n, clear_after_read=False).unstack(v)
            own = v[0]
            _, out, last = tf.while_loop(lambda i, a, s: i < n, lambda i, a, s: (i + 1, a.write(i, self.inner(1, s) + src.read(i)), s * .5 + src.read(i)),
                                         [0, ta, own])
            self.pool.append(last)
            got = out.stack() if kind == "list" or v.shape.rank < 2 else out.concat()
            return tf.reshape(got, v.shape)
        if kind == "scan":
            return tf.scan(lambda a, x: .5 * a + self.unary(x), v)
        if v.shape.rank < 2:
            return tf.scan(lambda a, x: tf.tanh(a + x), v)
        x = tf.reshape(v, [n, -1])[:, :8]
        k = x.shape.as_list()[1]
        wx, wh, b = self.weights(1, k, 12), self.weights(1, 3, 12), self.const(self.values([12]))

        def cell(carried, row):
            h, c = carried
            z = tf.matmul(row[None], wx[0]) + tf.matmul(h, wh[0]) + b
            i, f, g, o = tf.split(z, 4, 1)
            c = tf.sigmoid(f) * c + tf.sigmoid(i) * tf.tanh(g)
            return tf.sigmoid(o) * tf.tanh(c), c
        h, c = tf.scan(cell, x, (tf.zeros([1, 3]), tf.zeros([1, 3])))
        self.pool.append(c)
        return h

    def branch(self):
        tf, r = self.tf, self.r
        v = self.pick()
        p = tf.reduce_mean(v) > r.choice([0., -9., 9.])
        if r.random() < .25:
            k = tf.cast(tf.reduce_sum(tf.cast(v > 0., tf.int32)) % 3, tf.int32)
            return tf.switch_case(k, [lambda: self.inner(1, v), lambda: v * 2., lambda: self.unary(v)])
        return tf.cond(p, lambda: self.inner(r.choice([1, 2]), v), lambda: v - 1. if r.random() < .5 else self.inner(1, v))

    def call(self):
        tf = self.tf
        v = self.pick()
        f = tf.function(lambda x: self.inner(self.r.choice([1, 2, 3]), x), autograph=False)
        return f(v)

    def narrow(self):
        """Through half or bfloat16, and back."""
        tf, r = self.tf, self.r
        v = tf.cast(tf.tanh(self.pick()), r.choice([tf.float16, tf.bfloat16, tf.float64]))
        for _ in range(r.randint(1, 4)):
            w = tf.cast(self.const(self.values([])), v.dtype)
            v = r.choice([lambda: v * w, lambda: v + w, lambda: tf.nn.relu(v), lambda: tf.tanh(v), lambda: tf.maximum(v, w), lambda: -v,
                          lambda: tf.reduce_sum(v, [0], True) if v.shape.rank and v.shape.as_list()[0] < 9 else v, lambda: tf.nn.sigmoid(v)])()
        return tf.cast(v, tf.float32)

    def gradient(self):
        tf = self.tf
        v = self.pick()
        xs = [p for p in self.pool if p.op.type == "Placeholder" and p.dtype == tf.float32]
        if self.depth or not xs:
            return tf.identity(v)
        gs = [g for g in tf.gradients(tf.reduce_mean(tf.tanh(v)) * 4., xs) if g is not None and not isinstance(g, tf.IndexedSlices)]
        self.pool += gs[1:3]
        return gs[0] if gs else tf.identity(v)

    LAYERS = [("elementwise", 8), ("integers", 1), ("reduce", 4), ("rows", 3), ("move", 5), ("product", 4), ("convolution", 5), ("narrow", 1),
              ("loop", 1), ("branch", 1), ("call", 1), ("gradient", 1)]

    def layer(self, inside=False):
        names = [n for n, w in self.LAYERS for _ in range(w) if not inside or n not in ("gradient",) and (self.depth < 2 or n not in ("loop", "branch", "call"))]
        v = getattr(self, self.r.choice(names))()
        if not v.shape.is_fully_defined():
            v = self.tf.reduce_mean(self.tf.cast(v, self.tf.float32))
        if v.shape.num_elements() <= (1 << 20):
            self.pool.append(v)
        return v


def make(tf, seed, large):
    """(GraphDef bytes, feeds, fetches)"""
    r = random.Random(seed * 7 + 1)
    v1 = tf.compat.v1
    (v1.enable_control_flow_v2 if r.random() < .5 else v1.disable_control_flow_v2)()
    g = tf.Graph()
    m = Maker(tf, seed, large)
    with g.as_default():
        m.feed(m.shape())
        if r.random() < .5:
            m.feed([r.choice([1, 2, 3]), r.choice([1, 5, 8, 13]), r.choice([4, 7, 8]), r.choice([1, 2, 3, 4, 8, 16, 17, 33])])
        made = []
        for _ in range(r.randint(3, 14)):
            made.append(m.layer())
        names = [v.name for v in made[-3:] + r.sample(made, min(3, len(made)))]
    data = g.as_graph_def(add_shapes=False)
    vague = r.random()
    for n in data.node:
        if n.op == "Placeholder" and vague < .5:
            n.attr["shape"].shape.unknown_rank = vague < .1
            for d in n.attr["shape"].shape.dim:
                if r.random() < .5:
                    d.size = -1
            if vague < .1:
                del n.attr["shape"].shape.dim[:]
    names = [n for n in dict.fromkeys(names) if n not in m.feeds]
    return data, m.feeds, names


def answer(tf, data, feeds, fetches):
    g = tf.Graph()
    config = tf.compat.v1.ConfigProto(intra_op_parallelism_threads=1, inter_op_parallelism_threads=1)
    config.graph_options.rewrite_options.disable_meta_optimizer = True
    config.graph_options.optimizer_options.opt_level = -1
    with g.as_default():
        tf.import_graph_def(data, name="")
        with tf.compat.v1.Session(graph=g, config=config) as s:
            first = s.run(fetches, feeds)
            n = np.random.RandomState(5)
            near = {k: (v * (1 + 4e-7 * n.uniform(-1, 1, v.shape)) + 2e-7 * n.uniform(-1, 1, v.shape)).astype(v.dtype) if v.dtype == np.float32 else v
                    for k, v in feeds.items()}
            return first, s.run(fetches, near)


def wrong(want, near, got, coarse):
    """None, or how |got| is not what TensorFlow gives, which is as sensitive as |near| shows. With half precision inside, only
    so far: the order of additions shows there."""
    if want.dtype != got.dtype or want.shape != got.shape:
        return "%s%s for %s%s" % (got.dtype, got.shape, want.dtype, want.shape)
    if want.dtype.kind not in "f":
        bad = (want != got) & (want == near)
        return "%d of %d integers" % (bad.sum(), bad.size) if bad.any() and (want == near).all() else None
    a, b, c = (x.astype(np.float64) for x in (want, near, got))
    with np.errstate(all="ignore"):
        fine = np.isfinite(a) & np.isfinite(b)
        odd = ~fine & ~np.isfinite(c) | ((a != b) & ~fine)
        top = np.abs(a[fine]).max() if fine.any() else 0.
        spread = np.abs(a - b)[fine].max() if fine.any() else 0.
        step = 2e-2 if coarse else 1e-5
        bad = ~((fine & (np.abs(a - c) <= step * top + step * np.abs(a) + 60 * spread + .1 * step)) | odd)
    if not bad.any():
        return None
    i = int(np.flatnonzero(bad.reshape(-1))[0])
    return "[%d] is %r, wanted %r (spread %g, top %g), %d of %d" % (i, got.reshape(-1)[i], want.reshape(-1)[i], spread, top, bad.sum(), bad.size)


def same_bits(a, b):
    if a[:2] != b[:2]:
        return False
    if a[2] == b[2]:
        return True
    kind = {"float": np.float32, "double": np.float64, "half": np.float16}.get(a[0])
    return bool(kind and np.array_equal(np.frombuffer(a[2], kind), np.frombuffer(b[2], kind), equal_nan=True))


TYPES = {np.dtype(np.float32): "float", np.dtype(np.int32): "int32", np.dtype(np.int64): "int64", np.dtype(np.bool_): "bool", np.dtype(np.float64): "double"}


def compare(case, want, near, children, modes, patience):
    """[(mode, fetch, how)]"""
    found, bases = [], {}
    coarse = b"DT_HALF" in case["text"] or b"DT_BFLOAT16" in case["text"]
    for m in modes:
        children[m].send(case)
    answers = {m: children[m].receive(patience) for m in modes}
    for m in modes:
        got = answers[m]
        if got[0] != "ok":
            found.append((m, None, str(got)[:600]))
            continue
        for k, name in enumerate(case["runs"][0]["fetches"]):
            t = got[1][0][k]
            if not same_bits(t, got[1][1][k]):
                found.append((m, name, "the second run differs from the first"))
            a = np.frombuffer(t[2], want[k].dtype).reshape(t[1]) if TYPES.get(want[k].dtype) == t[0] else np.zeros([1, 2, 3, 4, 5, 6])
            how = wrong(want[k], near[k], a, coarse)
            first, base = bases.setdefault(next(g for g in ALIKE if m in g), (m, got[1][0]))
            if how:
                found.append((m, name, how))
            elif not same_bits(t, base[k]):
                b = np.frombuffer(base[k][2], want[k].dtype)
                d = np.flatnonzero((b != a.reshape(-1)))
                found.append((m, name, "not the bits of %s: [%d] %r for %r, %d of %d" % (first, d[0], a.reshape(-1)[d[0]], b[d[0]], d.size, a.size)))
    return found


def main():
    p = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    p.add_argument("--seconds", type=float, default=60)
    p.add_argument("--seed", type=int, default=1)
    p.add_argument("--graphs", type=int, default=1 << 40)
    p.add_argument("--modes", default="cpu,plain,one,many,auto,tf,nofuse,nocontract")
    p.add_argument("--save", default="/tmp/fuzz_graphs")
    p.add_argument("--large", action="store_true", help="sizes that threads share")
    p.add_argument("--patience", type=float, default=120, help="seconds before a run hangs")
    p.add_argument("--serve", action="store_true", help=argparse.SUPPRESS)
    options = p.parse_args()
    if options.serve:
        return serve()
    import tensorflow as tf
    tf.compat.v1.enable_resource_variables()
    modes = options.modes.split(",")
    children = {m: Mode(m) for m in modes}
    os.makedirs(options.save, exist_ok=True)
    end, seed, graphs, nodes, bad, unmade = time.time() + options.seconds, options.seed, 0, 0, 0, 0
    while time.time() < end and graphs + unmade < options.graphs:
        seed += 1
        try:
            data, feeds, fetches = make(tf, seed, options.large)
            want, near = answer(tf, data, feeds, fetches)
        except Exception as e:  # noqa: BLE001: the maker asked for what TensorFlow does not do
            unmade += 1
            if os.environ.get("VERBOSE"):
                print("seed %d: %s: %s" % (seed, type(e).__name__, str(e)[:300]))
            continue
        run = {"feeds": {k: (TYPES[v.dtype], v.shape, v.tobytes()) for k, v in feeds.items()}, "fetches": fetches}
        case = {"graph": data.SerializeToString(), "runs": [run, run], "text": str(data).encode()}
        graphs += 1
        nodes += len(data.node)
        found = compare(case, want, near, children, modes, options.patience)
        if found:
            bad += 1
            with open(os.path.join(options.save, "%d.pkl" % seed), "wb") as f:
                pickle.dump(dict(case, want=want, near=near), f)
            with open(os.path.join(options.save, "%d.pbtxt" % seed), "w", encoding="utf-8") as f:
                f.write(str(data))
            for m, name, how in found[:6]:
                print("DIFFERENT seed %d %s %s: %s" % (seed, m, name, how), flush=True)
    for c in children.values():
        c.stop()
    print("%d graphs, %d nodes, %d not made, %d differ" % (graphs, nodes, unmade, bad))
    return 1 if bad else 0


if __name__ == "__main__":
    sys.exit(main())
