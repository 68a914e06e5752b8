#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Writes tests/data/op_goldens_rows.txt: rows that indices send to places.

Run with a Python that has TensorFlow:  /opt/tfvenv/bin/python tools/goldens_rows.py [FAMILY…]
Sparse training steps, scatters into variables, copies and zeros, and counting into bins: rows that
repeat, that nobody names, whole places, more items than a group of a device has, and bad indices.
"""
import sys

import goldens_dtypes as d
import goldens_nn as nn
import goldens_ragged as r
import tensorflow as tf
from goldens_ragged import case, g
from golden_case import data

F, D = tf.float32, tf.float64
REAL = [F, D, tf.float16, tf.bfloat16]
WHOLE = [tf.int32, tf.int64]


def steps():
    for name, slots, before, after, flags in (
            ("Momentum", 2, [.1], [.9], [dict(use_nesterov=False), dict(use_nesterov=True)]),
            ("KerasMomentum", 2, [.1], [.9], [dict(use_nesterov=False), dict(use_nesterov=True)]),
            ("Adagrad", 2, [.1], [], [dict(update_slots=False), dict(update_slots=True)]),
            ("AdagradV2", 2, [.1, .01], [], [dict(update_slots=True)]),
            ("RMSProp", 3, [.1, .9, .5, .01], [], [{}]),
            ("CenteredRMSProp", 4, [.1, .9, .5, .01], [], [{}]),
            ("Adadelta", 3, [.1, .9, .01], [], [{}])):
        op = "ResourceSparseApply" + name
        for t in nn.types(op):
            for ids in (tf.int32, tf.int64) if t in (F, D) else (tf.int32,):
                for a in flags:
                    for rows, shape in (([2, 0, 2], [4, 3]), ([1], [2]), (list(range(5)) * 2, [6, 15])):
                        if len(rows) > 5 and (t != F or ids == tf.int64 or name[0] == "C"):  # ill-conditioned
                            continue
                        s = lambda v: tf.constant(v, t)
                        values = [data(t, shape)] + [data(t, shape, 1.0, 3.0) for _ in range(slots - 1)]
                        if name == "CenteredRMSProp":
                            values[1] = data(t, shape, 0.0, 0.5)
                        nn.step(op, values, [s(v) for v in before] + [data(t, [len(rows)] + shape[1:]),
                                tf.constant(rows, ids)] + [s(v) for v in after], Tindices=ids, **a)


def scatters():
    cases = (([4, 3], [[1], [3], [1]], [3, 3]), ([4, 3], [[1, 2], [3, 0], [1, 2]], [3]), ([5], [[4], [0], [4], [4]], [4]),
             ([2, 3, 2], [[[0, 1], [1, 2]]], [1, 2, 2]), ([35, 2], [[k % 35] for k in range(45)], [45, 2]))
    for t in REAL + WHOLE:
        for ids in WHOLE:
            for shape, at, updates in cases:
                if (len(at) > 10 and ids == tf.int64) or (t not in (F, tf.int32) and (len(at) > 10 or ids == tf.int64)):
                    continue
                i, u = tf.constant(at, ids), data(t, updates)
                case("ScatterNd", i, u, tf.constant(shape, ids))
                for how in ("Add", "Sub", "Min", "Max", "Update"):
                    case("TensorScatter" + how, data(t, shape), i, u)
                    d.step("ResourceScatterNd" + how, data(t, shape), [i, u])
    i = tf.constant([[1], [5]], tf.int32)
    for how in ("Add", "Update"):
        case("TensorScatter" + how, data(F, [4]), i, data(F, [2]))
        d.step("ResourceScatterNd" + how, data(F, [4]), [i, data(F, [2])])
        d.step("ResourceScatterNd" + how, data(F, [4]), [tf.constant([[0]], tf.int32), data(F, [2])])


def bins():
    for t in (F, D) + tuple(WHOLE):
        for ids in WHOLE:
            none = tf.zeros([0], t)
            for once in (False, True):
                case("DenseBincount", tf.constant([1, 3, 1, 9, 0], ids), tf.constant(4, ids), none, binary_output=once)
                case("DenseBincount", tf.constant([[1, 3, 1], [7, 0, 0]], ids), tf.constant(4, ids), none, binary_output=once)
                case("DenseBincount", tf.constant([k % 11 for k in range(100)], ids), tf.constant(70, ids), none,
                     binary_output=once)
            case("DenseBincount", tf.constant([1, 3, 1, 9, 0], ids), tf.constant(4, ids), data(t, [5]), binary_output=False)
            case("DenseBincount", tf.constant([[1, 3, 1], [7, 0, 0]], ids), tf.constant(4, ids), data(t, [2, 3]),
                 binary_output=False)
    case("DenseBincount", tf.constant([1, -3], tf.int32), tf.constant(4, tf.int32), tf.zeros([0], F), binary_output=False)


FAMILIES = {f.__name__: f for f in (steps, scatters, bins)}

if __name__ == "__main__":
    g.rng.seed(77)
    g.infer = lambda *ignored: None  # the same ops' shapes are in other files
    r.write("rows", FAMILIES, [f for f in sys.argv[1:] if f in FAMILIES])
