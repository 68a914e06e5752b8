#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Writes tests/data/op_goldens_rest.txt (points of Sobol's sequence) and state_rest.txt: gathering from variables by
batches, counting, and stateful random numbers asked for wrongly.

  /opt/tfvenv/bin/python tools/goldens_rest.py
"""
import sys

import goldens_ragged as r
import goldens_state
import numpy as np
import tensorflow as tf
from goldens_ragged import case, g
from gen_op_goldens import s32


def sobol():
    for t in (tf.float32, tf.float64):
        for dim, n, skip in ((1, 1, 0), (2, 7, 0), (3, 4, 5), (40, 3, 1000), (2056, 1, 0), (300, 2, 123456789), (2056, 1, 1072741822),
                             (4, 2, 1073741820), (4, 2, 1073741822), (5, 3, 2147483643), (7, 33, 30)):
            case("SobolSample", s32(dim), s32(n), s32(skip), dtype=t)
    for a in ((0, 1, 0), (-1, 1, 0), (1, 0, 0), (1, -1, 0), (1, 1, -1), (1, 2, 2147483647), (1, 2, 2147483645),
              (1, 2147483647, 5)):
        case("SobolSample", *map(s32, a), dtype=tf.float32)
    for a in (([3], 1, 0), (3, [1], 0), (3, 1, [0])):
        case("SobolSample", *[tf.constant(x, tf.int32) for x in a], dtype=tf.float32)


raw, ph, Case = tf.raw_ops, goldens_state.ph, goldens_state.Case


def made(c, name, value, dtype):
    """A variable with a value, of which the graph knows no shape."""
    v = raw.VarHandleOp(dtype=dtype, shape=None, shared_name=name, name=name)
    c.run(targets=[raw.AssignVariableOp(resource=v, value=tf.constant(value, dtype), name=name + "_init")])
    return v


def gather_cases(out):
    value = np.arange(24).reshape(2, 3, 4)
    for dtype in (tf.float32, tf.int64, tf.half, tf.bool):
        for index in (tf.int32, tf.int64):
            with Case(out, f"gather from {dtype.name} by {index.name}") as c:
                v = made(c, "v", value.astype(dtype.as_numpy_dtype), dtype)
                for dims, ids in ((0, [1, 0, 1]), (0, 1), (0, [[0], [1]]), (1, [[0, 2], [1, 1]]), (1, [[0], [2]]),
                                  (1, [[[0, 1]], [[2, 2]]]), (1, np.zeros([2, 0])), (0, [2]), (0, [-1]), (1, [[3], [0]]),
                                  (1, [[-1], [0]])):
                    r = raw.ResourceGather(resource=v, indices=ph(index, "i%d_%d" % (dims, len(c.lines))), dtype=dtype,
                                           batch_dims=dims)
                    if not (dims and np.max(ids, initial=0) > 2):  # an index that leaves its batch reads the next
                        c.run(r, {r.op.inputs[1].op.name: np.array(ids, index.as_numpy_dtype)})


def count_cases(out):
    for dtype in (tf.int32, tf.int64):
        with Case(out, "count up to, " + dtype.name) as c:
            v = made(c, "v", 1, dtype)
            up = raw.ResourceCountUpTo(resource=v, limit=3, T=dtype)
            read = raw.ReadVariableOp(resource=v, dtype=dtype)
            for _ in range(3):
                c.run(up)
                c.run(read)
            c.run(raw.ResourceCountUpTo(resource=v, limit=-1, T=dtype))
            none = raw.VarHandleOp(dtype=dtype, shape=[], shared_name="none")
            c.run(raw.ResourceCountUpTo(resource=none, limit=3, T=dtype))
            wide = made(c, "wide", [1, 2], dtype)
            c.run(raw.ResourceCountUpTo(resource=wide, limit=3, T=dtype))


def random_cases(out):
    """A generator's state is a variable of int64: what does not fit is refused, and nothing is drawn."""
    states = dict(good=([1, 2, 3], tf.int64), short=([1, 2], tf.int64), scalar=(1, tf.int64), matrix=([[1, 2, 3]], tf.int64),
                  narrow=([1, 2, 3], tf.int32))
    for name, (value, dtype) in states.items():
        with Case(out, "random numbers from a state that is " + name) as c:
            v = made(c, "v", value, dtype)
            shape, alg = ph(tf.int32, "shape"), ph(tf.int64, "alg")
            some = [raw.StatefulUniform(resource=v, algorithm=alg, shape=shape, dtype=tf.float32),
                    raw.StatefulStandardNormalV2(resource=v, algorithm=alg, shape=shape, dtype=tf.float32),
                    raw.StatefulTruncatedNormal(resource=v, algorithm=alg, shape=shape, dtype=tf.float32),
                    raw.StatefulUniformFullInt(resource=v, algorithm=alg, shape=shape, dtype=tf.uint64),
                    raw.StatefulUniformInt(resource=v, algorithm=alg, shape=shape, minval=ph(tf.int32, "low"),
                                           maxval=ph(tf.int32, "high")),
                    raw.StatefulRandomBinomial(resource=v, algorithm=alg, shape=shape, counts=[5.], probs=[.5])]
            read = raw.ReadVariableOp(resource=v, dtype=dtype)
            for i, node in enumerate(some):
                bounds = {"low": np.int32(3), "high": np.int32(9)} if i == 4 else {}
                for s, a in (([2], 1), ([2], 3), ([2], 9), ([[2]], 1), (2, 1), ([-1], 1), ([0], 1), ([2], [1]), ([], 1)):
                    if name == "good" or (np.ndim(a) == 0 and a == 1 and np.ndim(s) == 1 and s == [2]):
                        c.run(node, {"shape": np.int32(s), "alg": np.int64(a), **bounds})
                c.run(read)
            if name == "good":
                for low, high in ((3, 3), (9, 3), ([1], 2), (1, [2])):
                    c.run(some[4], {"shape": np.int32([2]), "alg": np.int64(1), "low": np.int32(low), "high": np.int32(high)})
            skip = raw.RngSkip(resource=v, algorithm=alg, delta=ph(tf.int64, "delta"))
            for a, delta in ((1, 5), (9, 5), (1, [5]), ([1], 5), (1, -1)):
                c.run(targets=[skip], feeds={"alg": np.int64(a), "delta": np.int64(delta)})
                c.run(read)


def state():
    out = []
    gather_cases(out)
    count_cases(out)
    random_cases(out)
    goldens_state.write("state_rest.txt", out)


FAMILIES = dict(sobol=sobol, state=state)
if __name__ == "__main__":
    g.rng.seed(77)
    r.write("rest", FAMILIES, sys.argv[1:])
