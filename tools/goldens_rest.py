#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Writes tests/data/op_goldens_rest.txt (points of Sobol's sequence, slices as XLA makes them) and state_rest.txt: gathering from variables by
batches, counting, and stateful random numbers asked for wrongly.

  /opt/tfvenv/bin/python tools/goldens_rest.py
"""
import os
import struct
import sys

import goldens_dtypes as d
import goldens_ragged as r
import goldens_state
import numpy as np
import tensorflow as tf
from goldens_ragged import case, g
from golden_case import s32


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


# What XLA compiles on the CPU: everything but strings, resources and variants.
XLA_TYPES = (tf.float32, tf.float64, tf.half, tf.bfloat16, tf.int8, tf.int16, tf.int32, tf.int64, tf.uint8, tf.uint16, tf.uint32, tf.uint64,
             tf.bool, tf.complex64, tf.complex128, tf.qint8, tf.quint8, tf.qint32)


def xla_slices():
    for t in XLA_TYPES:
        x, part = d.any_data(t, [3, 4]), d.any_data(t, [2, 2])
        case("XlaDynamicSlice", x, d.c32([1, 3]), d.c32([2, 2]))
        case("XlaDynamicUpdateSlice", x, part, d.c32([1, 3]))
    x = d.any_data(tf.float32, [3, 4, 5])
    for start in ([0, 0, 0], [-7, 2, 1], [5, 5, 5], [2**31 - 1, -2**31, 0]):
        for size in ([1, 1, 1], [3, 4, 5], [2, 0, 3], [3, 2, 5], [1, 4, 5]):
            for kind in (tf.int32, tf.int64):
                case("XlaDynamicSlice", x, tf.constant(start, kind), tf.constant(size, kind))
                case("XlaDynamicUpdateSlice", x, d.any_data(tf.float32, size), tf.constant(start, kind))
    case("XlaDynamicSlice", tf.constant(3.0), tf.constant([], tf.int32), tf.constant([], tf.int32))
    case("XlaDynamicUpdateSlice", tf.constant(3.0), tf.constant(4.0), tf.constant([], tf.int32))
    case("XlaDynamicUpdateSlice", tf.zeros([0, 2]), tf.zeros([0, 1]), d.c32([0, 1]))
    v = tf.constant([1.0, 2.0, 3.0])
    for start, size in (([0], [4]), ([0], [-1]), ([0, 0], [1, 1]), ([0], [1, 1]), ([], [])):  # scalars crash TensorFlow
        case("XlaDynamicSlice", v, tf.constant(start, tf.int32), tf.constant(size, tf.int32))
    for part, at in ((tf.zeros([4]), [0]), (tf.zeros([1, 1]), [0]), (tf.zeros([1]), [0, 0]), (tf.constant(1.0), [0])):
        case("XlaDynamicUpdateSlice", v, part, tf.constant(at, tf.int32))


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


def record_cases(out):
    """Records come in any order, but each once per round: sorted, a round is the same everywhere."""
    with Case(out, "records") as c:
        files = "/tmp/ferry_state_goldens/"
        os.makedirs(files, exist_ok=True)
        crc = lambda b: (lambda x: ((x >> 15 | x << 17) + 0xa282ead8) & 0xffffffff)(crc32c(b))
        whole = []
        for i in range(3):
            data = b""
            for k in range(4):
                value = b"%d %d" % (i, k)
                head = struct.pack("<Q", len(value))
                data += head + struct.pack("<I", crc(head)) + value + struct.pack("<I", crc(value))
                whole.append(value)
            c.run(targets=[raw.WriteFile(filename=files + "records%d" % i, contents=data)])
        c.run(targets=[raw.WriteFile(filename=files + "broken", contents=b"no records at all are here")])
        one = dict(file_parallelism=1, file_random_seed=5)
        x = raw.RecordInput(file_pattern=files + "records*", batch_size=12, **one)
        for _ in range(3):
            c.run(tf.gather(x, raw.TopKV2(input=-tf.strings.to_number(tf.strings.regex_replace(x, " ", "")), k=12)[1]))
        y = raw.RecordInput(file_pattern=files + "records1", batch_size=4, file_buffer_size=1, **one)
        for _ in range(2):
            c.run(tf.gather(y, raw.TopKV2(input=-tf.strings.to_number(tf.strings.regex_replace(y, " ", "")), k=4)[1]))
        c.run(tf.shape(raw.RecordInput(file_pattern=files + "records*", batch_size=0, **one)))
        c.run(raw.RecordInput(file_pattern=files + "none*", **one))
        c.run(raw.RecordInput(file_pattern=files + "broken", **one))


def crc32c(b):
    x = 0xffffffff
    for byte in b:
        x ^= byte
        for _ in range(8):
            x = x >> 1 ^ (0x82f63b78 if x & 1 else 0)
    return x ^ 0xffffffff


def apply_cases(out):
    """Training steps in the types that no other case has."""
    for dtype, index in ((tf.bfloat16, tf.int64), (tf.float32, tf.int64)):
        x = lambda v: tf.constant(v, dtype)
        with Case(out, f"training steps in {dtype.name}") as c:
            names = []

            def var(*shape):
                names.append("w%d" % len(names))
                return made(c, names[-1], np.arange(1, 1 + np.prod(shape)).reshape(shape) / 8, dtype)

            rows, grad = tf.constant([1, 0], index), x([[.5, -.25], [.125, 1.]])
            steps = [
                lambda: raw.ResourceApplyAddSign(var=var(2), m=var(2), lr=x(.5), alpha=x(1.), sign_decay=x(.5), beta=x(.5),
                                                 grad=x([.5, -.25])),
                lambda: raw.ResourceApplyPowerSign(var=var(2), m=var(2), lr=x(.5), logbase=x(1.), sign_decay=x(.5), beta=x(.5),
                                                   grad=x([.5, -.25])),
                lambda: raw.ResourceSparseApplyFtrl(var=var(2, 2), accum=var(2, 2), linear=var(2, 2), grad=grad, indices=rows,
                                                    lr=x(.5), l1=x(0.), l2=x(0.), lr_power=x(-.5)),
                lambda: raw.ResourceSparseApplyFtrlV2(var=var(2, 2), accum=var(2, 2), linear=var(2, 2), grad=grad, indices=rows,
                                                      lr=x(.5), l1=x(0.), l2=x(0.), l2_shrinkage=x(0.), lr_power=x(-.5))]
            if dtype == tf.float32:
                steps += [
                    lambda: raw.ResourceSparseApplyAdagradDA(
                        var=var(2, 2), gradient_accumulator=var(2, 2), gradient_squared_accumulator=var(2, 2), grad=grad,
                        indices=rows, lr=x(.5), l1=x(0.), l2=x(0.), global_step=tf.constant(1, tf.int64)),
                    lambda: raw.ResourceSparseApplyProximalAdagrad(var=var(2, 2), accum=var(2, 2), lr=x(.5), l1=x(0.), l2=x(0.),
                                                                   grad=grad, indices=rows),
                    lambda: raw.ResourceSparseApplyProximalGradientDescent(var=var(2, 2), alpha=x(.5), l1=x(0.), l2=x(0.),
                                                                           grad=grad, indices=rows)]
            for step in steps:
                first = len(names)
                c.run(targets=[step()])
                for name in names[first:]:
                    c.run(raw.ReadVariableOp(resource=raw.VarHandleOp(dtype=dtype, shape=None, shared_name=name), dtype=dtype))


def dtypes():
    for t in d.REAL + d.COMPLEX + d.INTS + [tf.bool, tf.string]:
        if t != tf.float32:
            case("TensorStridedSliceUpdate", d.any_data(t, [3, 2]), d.c32([0, 1]), d.c32([3, 2]), d.c32([2, 1]),
                 d.any_data(t, [2, 1]))
    for t in r.QUANTIZED:
        for op, index in (("TensorListGather", [2, 0]), ("TensorListGetItem", 1)):
            (a,) = d.keep("TensorListFromTensor", d.any_data(t, [3, 2]), d.c32([2]), element_dtype=t, shape_type=tf.int32)
            case(op, a, d.c32(index), d.c32([2]), element_dtype=t)
        (b,) = d.keep("TensorListScatterV2", d.any_data(t, [2, 2]), d.c32([1, 0]), d.c32([2]), s32(-1), element_dtype=t,
                      shape_type=tf.int32)
        case("TensorListStack", b, d.c32([2]), element_dtype=t, num_elements=2)
        (b,) = d.keep("TensorListSplit", d.any_data(t, [3, 2]), d.c32([-1, 2]), tf.constant([1, 2], tf.int64), element_dtype=t,
                      shape_type=tf.int32)
        case("TensorListGetItem", b, s32(0), d.c32([-1, 2]), element_dtype=t)


def state():
    out = []
    apply_cases(out)
    record_cases(out)
    gather_cases(out)
    count_cases(out)
    random_cases(out)
    goldens_state.write("state_rest.txt", out)


FAMILIES = dict(sobol=sobol, dtypes=dtypes, xla_slices=xla_slices, state=state)
if __name__ == "__main__":
    g.rng.seed(77)
    r.write("rest", FAMILIES, sys.argv[1:])
