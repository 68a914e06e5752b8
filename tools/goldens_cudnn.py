#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Writes tests/data/op_goldens_cudnn.txt and shape_goldens_cudnn.txt: CudnnRNN and its kin.

  /opt/tfvenv/bin/python tools/goldens_cudnn.py

TensorFlow has no kernels for them on the CPU, so what they give is written out here step by step in its other
ops, and its tape makes the gradients. Where Keras has the same layer (LSTM; GRU with reset_after), the
written-out form is compared with it first. Shapes are inferred by TensorFlow itself.
"""
import numpy as np
import tensorflow as tf

import golden_case as g

GATES = {"lstm": 4, "gru": 3, "rnn_relu": 1, "rnn_tanh": 1}


class Stack:
    """Sizes, and the parameters as cuDNN orders them: all matrices, then all biases."""

    def __init__(self, mode, layers, inputs, units, dirs=1, skip=False, proj=0):
        self.mode, self.layers, self.inputs, self.units, self.dirs = mode, layers, inputs, units, dirs
        self.skip, self.proj, self.outs, self.gates = skip, proj, proj or units, GATES[mode]
        self.matrices, self.biases = [], []
        for part in range(layers * dirs):
            width = inputs if part < dirs else dirs * self.outs
            width = 0 if skip and part < dirs else width
            self.matrices += [(units, width)] * self.gates + [(units, self.outs)] * self.gates
            self.matrices += [(self.outs, units)] if proj else []
            self.biases += [units] * (2 * self.gates)

    def size(self):
        return sum(a * b for a, b in self.matrices) + sum(self.biases)

    def split(self, params):
        """[part] -> (W of each gate, R of each gate, projection or None, bW, bR)"""
        at, mats, vecs = 0, [], []
        for a, b in self.matrices:
            mats.append(tf.reshape(params[at:at + a * b], [a, b]))
            at += a * b
        for n in self.biases:
            vecs.append(params[at:at + n])
            at += n
        k, per, parts = self.gates, 2 * self.gates + bool(self.proj), []
        for p in range(self.layers * self.dirs):
            m, v = mats[p * per:(p + 1) * per], vecs[p * 2 * k:(p + 1) * 2 * k]
            parts.append((m[:k], m[k:2 * k], m[2 * k] if self.proj else None, v[:k], v[k:]))
        return parts

    def step(self, part, x, h, c, skip):
        w, r, project, bw, br = part
        a = [(x if skip else tf.linalg.matvec(w[k], x)) + bw[k] for k in range(self.gates)]
        q = [tf.linalg.matvec(r[k], h) + br[k] for k in range(self.gates)]
        if self.mode == "lstm":
            i, f, o = [tf.sigmoid(a[k] + q[k]) for k in (0, 1, 3)]
            c = f * c + i * tf.tanh(a[2] + q[2])
            h = o * tf.tanh(c)
            return (tf.linalg.matvec(project, h) if self.proj else h), c
        if self.mode == "gru":
            rr, z = tf.sigmoid(a[0] + q[0]), tf.sigmoid(a[1] + q[1])
            return (1 - z) * tf.tanh(a[2] + rr * q[2]) + z * h, c
        return (tf.nn.relu if self.mode == "rnn_relu" else tf.tanh)(a[0] + q[0]), c

    def run(self, x, h0, c0, params, lengths):
        """Time first. Outputs, last states."""
        time, batch = x.shape[0], x.shape[1]
        hs, cs, below = [], [], [[x[t, b] for t in range(time)] for b in range(batch)]
        for p, part in enumerate(self.split(params)):
            layer, d = divmod(p, self.dirs)
            if d == 0:
                ys = [[[] for _ in range(time)] for _ in range(batch)]
            for b in range(batch):
                h, c = h0[p, b], (c0[p, b] if self.mode == "lstm" else None)
                steps = list(range(lengths[b]))
                for t in (reversed(steps) if d else steps):
                    h, c = self.step(part, below[b][t], h, c, self.skip and layer == 0)
                    ys[b][t].append(h)
                for t in range(lengths[b], time):
                    ys[b][t].append(tf.zeros([self.outs], x.dtype))
                hs.append(h)
                cs.append(c)
            if d == self.dirs - 1:
                below = [[tf.concat(y, 0) for y in row] for row in ys]
        y = tf.stack([tf.stack([below[b][t] for b in range(batch)]) for t in range(time)])
        shape = [self.layers * self.dirs, batch, -1]
        return y, tf.reshape(tf.stack(hs), shape), (tf.reshape(tf.stack(cs), shape) if cs[0] is not None else None)


def check_with_keras():
    """The written-out layers are Keras' layers."""
    import keras
    x = tf.random.normal([4, 6, 3])
    for mode, kind in (("lstm", keras.layers.LSTM), ("gru", keras.layers.GRU)):
        layer = kind(5, return_sequences=True, bias_initializer="glorot_uniform",
                     **({"reset_after": True} if mode == "gru" else {}))
        want = layer(x)
        k, r, b = [tf.convert_to_tensor(v) for v in layer.get_weights()]
        b = tf.stack([b, tf.zeros_like(b)]) if mode == "lstm" else b
        order = (0, 1, 2, 3) if mode == "lstm" else (1, 0, 2)  # Keras: z, r, n
        cut = lambda m, n: [tf.split(m, n, axis=-1)[i] for i in order]
        n = len(order)
        params = tf.concat([tf.reshape(tf.transpose(v), [-1]) for v in cut(k, n) + cut(r, n)] +
                           [v for row in (b[0], b[1]) for v in cut(row, n)], 0)
        s = Stack(mode, 1, 3, 5)
        zeros = tf.zeros([1, 4, 5])
        y = s.run(tf.transpose(x, [1, 0, 2]), zeros, zeros, params, [6] * 4)[0]
        np.testing.assert_allclose(tf.transpose(y, [1, 0, 2]), want, atol=2e-6)


def swap(t, major):
    return t if major or t.shape.rank != 3 else tf.transpose(t, [1, 0, 2])


def record(op, attrs, inputs, outputs, terms):
    attrs = dict(attrs, T=inputs[0].dtype)
    g.lines.extend(g.head("op", op, attrs) + ["terms %d" % terms] + [g.tensor_line("in", t) for t in inputs] +
                   [g.tensor_line("out", t) for t in outputs])
    if inputs[0].dtype == tf.float32:
        g.infer(op, inputs, len(outputs), attrs)


def cases(t, mode, version, layers, time, batch, inputs, units, dirs=1, skip="linear_input", proj=0, major=True,
          lengths=None, trains=True):
    s = Stack(mode, layers, inputs, units, dirs, skip != "linear_input", proj)
    wide = tf.float64 if t == tf.float64 else tf.float32
    data = lambda *shape: tf.cast(tf.constant(g.rng.uniform(-0.9, 0.9, shape)), t)
    x, h0 = data(time, batch, inputs), data(layers * dirs, batch, s.outs)
    c0 = data(layers * dirs, batch, units) if mode == "lstm" else tf.zeros([], t)
    params = data(s.size())
    dy, dh = data(time, batch, dirs * s.outs), data(*h0.shape)
    dc = data(*c0.shape)
    args = [tf.cast(v, wide) for v in (x, h0, c0, params)]
    with tf.GradientTape() as tape:
        for v in args:
            tape.watch(v)
        y, hn, cn = s.run(args[0], args[1], args[2], args[3], lengths or [time] * batch)
        loss = tf.reduce_sum(y * tf.cast(dy, wide)) + tf.reduce_sum(hn * tf.cast(dh, wide))
        if cn is not None:
            loss += tf.reduce_sum(cn * tf.cast(dc, wide))
    grads = [tf.cast(v if v is not None else tf.zeros_like(a), t) for v, a in zip(tape.gradient(loss, args), args)]
    y, hn = tf.cast(y, t), tf.cast(hn, t)
    cn = tf.cast(cn, t) if cn is not None else tf.zeros([], t)
    attrs = {"rnn_mode": mode, "input_mode": skip, "direction": "bidirectional" if dirs == 2 else "unidirectional"}
    if version == "V3":
        attrs.update(num_proj=proj, time_major=major)
    first = [swap(v, major) for v in (x, h0, c0)] + [params]
    first += [tf.constant(lengths or [time] * batch, tf.int32)] if version == "V3" else []
    reserve = tf.zeros([0] if trains else [], t)
    host = [tf.zeros([0], tf.int8)] if version else []
    results = [swap(v, major) for v in (y, hn, cn)]
    terms = 4 * (inputs + dirs * units) * time * layers
    record("CudnnRNN" + version, dict(attrs, is_training=trains), first, results + [reserve] + host, terms)
    more = results + [swap(v, major) for v in (dy, dh, dc)] + [tf.zeros([0], t)] + host
    record("CudnnRNNBackprop" + version, attrs, first + more, [swap(v, major) for v in grads[:3]] + [grads[3]],
           terms * batch)


def layers():
    for mode in GATES:
        for t in g.REAL:
            cases(t, mode, "", 1, 3, 2, 2, 3)
        cases(tf.float32, mode, "V2", 2, 3, 2, 3, 3, dirs=2)
        cases(tf.float32, mode, "V3", 1, 4, 3, 2, 3, lengths=[4, 1, 2])
        cases(tf.float32, mode, "V3", 2, 4, 3, 2, 2, dirs=2, lengths=[0, 4, 3], major=False)
        cases(tf.double, mode, "V3", 3, 2, 2, 3, 3, skip="skip_input", trains=False)
        cases(tf.float32, mode, "V3", 1, 2, 9, 3, 3, skip="auto_select")
        cases(tf.float32, mode, "", 1, 1, 1, 1, 1)
        cases(tf.float32, mode, "", 1, 4, 1, 5, 17)
        for t in (tf.half, tf.bfloat16, tf.double):
            cases(t, mode, "V2", 1, 2, 1, 2, 2, trains=False)
            cases(t, mode, "V3", 1, 2, 2, 2, 2, major=False)
    cases(tf.float32, "lstm", "V3", 1, 3, 2, 4, 6, proj=2)
    cases(tf.float32, "lstm", "V3", 2, 3, 2, 4, 6, dirs=2, proj=3, lengths=[2, 3])
    cases(tf.double, "lstm", "V3", 1, 3, 2, 4, 6, proj=5, major=False)


def parameters():
    for mode, n, units, inputs, dirs, skip, proj in (("lstm", 1, 3, 2, 1, False, 0), ("gru", 2, 2, 3, 1, False, 0),
                                                     ("rnn_tanh", 3, 2, 2, 2, True, 0), ("lstm", 1, 4, 3, 1, False, 2),
                                                     ("rnn_relu", 1, 1, 1, 2, False, 0)):
        s = Stack(mode, n, inputs, units, dirs, skip, proj)
        attrs = {"rnn_mode": mode, "input_mode": "skip_input" if skip else "linear_input",
                 "direction": "bidirectional" if dirs == 2 else "unidirectional"}
        sizes = [g.s32(n), g.s32(units), g.s32(inputs)]
        for t, kind in zip(g.REAL, (tf.int32, tf.int64, tf.int32, tf.int64)):
            g.lines.extend(g.head("op", "CudnnRNNParamsSize", dict(attrs, T=t, S=kind, num_proj=proj)) +
                           [g.tensor_line("in", v) for v in sizes] +
                           [g.tensor_line("out", tf.constant([s.size()], kind))])
        for t in g.REAL:
            params = g.data(t, [s.size()])
            at, mats, vecs = 0, [], []
            for a, b in s.matrices:
                mats.append(tf.reshape(params[at:at + a * b], [a, b]))
                at += a * b
            for k in s.biases:
                vecs.append(params[at:at + k])
                at += k
            for v2 in ([True] if proj else [False, True]):
                count = dict(num_params_weights=len(mats), num_params_biases=len(vecs), num_proj=proj) if v2 else \
                    dict(num_params=len(mats))
                for op, ins, outs in (("ParamsToCanonical", [params], mats + vecs), ("CanonicalToParams", mats + vecs, [params])):
                    name = "CudnnRNN" + op + ("V2" if v2 else "")
                    g.lines.extend(g.head("op", name, dict(attrs, T=t, **count)) +
                                   [g.tensor_line("in", v) for v in sizes + ins] + [g.tensor_line("out", v) for v in outs])
                    if t == tf.float32:
                        g.infer(name, sizes + ins, len(outs), dict(attrs, T=t, **count))


if __name__ == "__main__":
    check_with_keras()
    g.rng.seed(611)
    layers()
    parameters()
    g.write_both("_cudnn")
