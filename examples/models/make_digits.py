#!/usr/bin/env python3
"""make_digits.py: trains the small network that `ferry demo` shows, and writes digits.pb (a GraphDef),
digits_x.npy and digits_y.npy (samples it was not trained on, and their labels).

Needs numpy and scikit-learn (for the data). Writes the protobuf by hand: four wire rules are enough.
The network: 64 pixels (uint8, 0..16) -> 128 -> 64 -> 10, relu between, softmax and argmax at the end.
"""
import os

import numpy as np
from sklearn.datasets import load_digits

HERE = os.path.dirname(os.path.abspath(__file__))
FLOAT, INT32, UINT8, INT64 = 1, 3, 4, 9


def train(x, y, sizes, steps=4000, rate=2e-3, seed=1):
    rng = np.random.default_rng(seed)
    weights = [rng.normal(0, np.sqrt(2 / a), (a, b)) for a, b in zip(sizes, sizes[1:])]
    biases = [np.zeros(b) for b in sizes[1:]]
    params = weights + biases
    m = [np.zeros_like(p) for p in params]
    v = [np.zeros_like(p) for p in params]
    for t in range(1, steps + 1):
        i = rng.integers(0, len(x), 64)
        acts = [x[i]]
        for k, (w, b) in enumerate(zip(weights, biases)):
            z = acts[-1] @ w + b
            acts.append(np.maximum(z, 0) if k + 1 < len(weights) else z)
        p = np.exp(acts[-1] - acts[-1].max(1, keepdims=True))
        p /= p.sum(1, keepdims=True)
        g = (p - np.eye(10)[y[i]]) / len(i)
        grads_w, grads_b = [None] * len(weights), [None] * len(weights)
        for k in reversed(range(len(weights))):
            grads_w[k] = acts[k].T @ g + 1e-4 * weights[k]
            grads_b[k] = g.sum(0)
            if k:
                g = (g @ weights[k].T) * (acts[k] > 0)
        for j, grad in enumerate(grads_w + grads_b):  # Adam
            m[j] = 0.9 * m[j] + 0.1 * grad
            v[j] = 0.999 * v[j] + 0.001 * grad * grad
            step = (m[j] / (1 - 0.9**t)) / (np.sqrt(v[j] / (1 - 0.999**t)) + 1e-8)
            params[j] -= rate * step
    return [w.astype(np.float32) for w in weights], [b.astype(np.float32) for b in biases]


# --- protobuf
def varint(n):
    n &= (1 << 64) - 1
    out = b''
    while n > 127:
        out += bytes([n & 127 | 128])
        n >>= 7
    return out + bytes([n])


def field(number, value):
    if isinstance(value, int):
        return varint(number << 3) + varint(value)
    if isinstance(value, str):
        value = value.encode()
    return varint(number << 3 | 2) + varint(len(value)) + value


def shape(dims):
    return b''.join(field(2, field(1, d)) for d in dims)


def tensor(a):
    dtype = {'float32': FLOAT, 'int32': INT32}[a.dtype.name]
    return field(8, field(1, dtype) + field(2, shape(a.shape)) + field(4, a.tobytes()))


def kind(dtype):
    return field(6, dtype)


nodes = b''


def node(name, op, inputs=(), **attrs):
    global nodes
    body = field(1, name) + field(2, op) + b''.join(field(3, i) for i in inputs)
    for key in sorted(attrs):
        body += field(5, field(1, key) + field(2, attrs[key]))
    nodes += field(1, body)


def const(name, value):
    value = np.asarray(value)
    node(name, 'Const', dtype=kind({'float32': FLOAT, 'int32': INT32}[value.dtype.name]), value=tensor(value))


def main():
    data = load_digits()
    order = np.random.default_rng(0).permutation(len(data.data))
    x, y = data.data[order], data.target[order]
    test = 360
    weights, biases = train(x[test:] / 16, y[test:], [64, 128, 64, 10])

    f = kind(FLOAT)
    node('x', 'Placeholder', dtype=kind(UINT8), shape=field(7, shape([-1, 64])))
    node('pixels', 'Cast', ['x'], SrcT=kind(UINT8), DstT=f, Truncate=field(5, 0))
    const('one', np.float32(1))
    const('brightest', np.float32(16))
    node('scale', 'RealDiv', ['one', 'brightest'], T=f)
    node('scaled', 'Mul', ['pixels', 'scale'], T=f)
    last = 'scaled'
    for k in range(3):
        const(f'weights{k + 1}', weights[k])
        const(f'bias{k + 1}', biases[k])
        name = ['hidden1', 'hidden2', 'logits'][k]
        product = name + '/matmul'
        node(product, 'MatMul', [last, f'weights{k + 1}'], T=f, transpose_a=field(5, 0), transpose_b=field(5, 0))
        node(name + '/bias' if k < 2 else name, 'BiasAdd', [product, f'bias{k + 1}'], T=f,
             data_format=field(2, 'NHWC'))
        if k < 2:
            node(name, 'Relu', [name + '/bias'], T=f)
        last = name
    node('probability', 'Softmax', ['logits'], T=f)
    const('axis', np.int32(1))
    node('digit', 'ArgMax', ['logits', 'axis'], T=f, Tidx=kind(INT32), output_type=kind(INT64))
    graph = nodes + field(4, field(1, 2474))
    open(os.path.join(HERE, 'digits.pb'), 'wb').write(graph)
    np.save(os.path.join(HERE, 'digits_x.npy'), x[:test].astype(np.uint8))
    np.save(os.path.join(HERE, 'digits_y.npy'), y[:test].astype(np.int64))

    h = x[:test] / 16
    for k in range(3):
        h = h @ weights[k] + biases[k]
        if k < 2:
            h = np.maximum(h, 0)
    right = int((h.argmax(1) == y[:test]).sum())
    print(f'{right} of {test} right, digits.pb {len(graph)} bytes')


if __name__ == '__main__':
    main()
