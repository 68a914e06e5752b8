#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Writes tests/data/op_goldens_ragged.txt: what the real TensorFlow answers to ragged operations.

Run with a Python that has TensorFlow:  /opt/tfvenv/bin/python tools/goldens_ragged.py [FAMILY…]
The language of golden_case.py, and two lines more for values that
have no bytes (variants): a block that ends in
  keep                              only has to succeed; its outputs are numbered on from the last kept
and a later one takes them by
  kept NUMBER                       numbers start again at 0 after a block without keep
goldens_sparse.py uses the helpers of this file.
"""
import sys

import golden_case as g
import numpy as np
import tensorflow as tf
from golden_case import COMPLEX, INTS, REAL, SPECS, cpu_types, data, text, s32 as c32, s64 as c64

for more in ("qint8", "quint8", "qint16", "quint16", "qint32", "variant", "resource"):
    g.NAMES[getattr(tf, more)] = more
INVERSE = {v: k for k, v in g.NAMES.items()}
QUANTIZED = [tf.qint8, tf.quint8, tf.qint16, tf.quint16, tf.qint32]
PLAIN = REAL + INTS + COMPLEX + [tf.bool, tf.string]
kept = []  # tensors of the keep blocks since the last block without


def values(t, shape):
    """Any type: the quantized ones by their integers."""
    if t in QUANTIZED:
        plain = {tf.qint8: tf.int8, tf.quint8: tf.uint8, tf.qint16: tf.int16, tf.quint16: tf.uint16,
                 tf.qint32: tf.int32}[t]
        return tf.bitcast(data(plain, shape), t)
    return data(t, shape)


def run(op, inputs, outputs, attrs, keep):
    global kept
    if op not in g.RUNS_HERE:
        return None
    flat, known = g.flatten(inputs), g.type_attrs(op, inputs, attrs)
    block = g.head("op", op, known)
    for t in flat:
        at = [k for k, x in enumerate(kept) if x is t]
        block.append("kept %d" % at[0] if at else g.tensor_line("in", t))
    out = g.ask(op, flat, outputs, known)
    if out is None:
        return None
    failed = isinstance(out, str)
    if keep and failed:
        raise ValueError(out)
    g.mark(block, op, flat, known, out)
    g.lines.extend(block + (["keep"] if keep else g.told(out)))
    out = [] if failed else out
    if not keep and not any(t.dtype in (tf.variant, tf.resource) for t in flat):
        g.infer(op, inputs, outputs, known)
    kept = kept + list(out) if keep else []
    return out


def case(op, *inputs, outputs=1, **attrs):
    """Runs |op| on tensors (a list stands for a list argument) and records the answer."""
    return run(op, inputs, outputs, attrs, False)


def keep(op, *inputs, outputs=1, **attrs):
    """The same, for outputs that a following case takes."""
    return run(op, inputs, outputs, attrs, True)


def again(op, *inputs, outputs=1, **attrs):
    """A case after which what was kept stays."""
    global kept
    before = kept
    out = run(op, inputs, outputs, attrs, False)
    if out is not None:
        g.lines.append("kept_on")
        kept = before
    return out


def ragged_ranges():
    for t in cpu_types("RaggedRange"):
        for s in (tf.int32, tf.int64):
            case("RaggedRange", tf.constant([0, 5, 8], t), tf.constant([3, 5, 12], t),
                 tf.constant([1, 1, 3], t), outputs=2, Tsplits=s)
        case("RaggedRange", tf.constant(0, t), tf.constant([3, 0, 1], t), tf.constant(2, t), outputs=2,
             Tsplits=tf.int64)
        case("RaggedRange", tf.constant([9, 3, -5], t), tf.constant(-6, t), tf.constant([-2, -1, -4], t),
             outputs=2, Tsplits=tf.int64)
        case("RaggedRange", tf.constant(1, t), tf.constant(4, t), tf.constant(1, t), outputs=2,
             Tsplits=tf.int64)
        case("RaggedRange", tf.constant(1, t), tf.constant(4, t), tf.constant(0, t), outputs=2,
             Tsplits=tf.int64)
        case("RaggedRange", tf.zeros([0], t), tf.zeros([0], t), tf.ones([0], t), outputs=2,
             Tsplits=tf.int64)
        case("RaggedRange", tf.constant([1, 2], t), tf.constant([4, 4, 4], t), tf.constant(1, t),
             outputs=2, Tsplits=tf.int64)
        case("RaggedRange", tf.constant([[1, 2]], t), tf.constant([4], t), tf.constant(1, t),
             outputs=2, Tsplits=tf.int64)
        case("RaggedRange", tf.constant([1], t), tf.constant([[4]], t), tf.constant(1, t),
             outputs=2, Tsplits=tf.int64)
        case("RaggedRange", tf.constant([1], t), tf.constant([4], t), tf.constant([[1]], t),
             outputs=2, Tsplits=tf.int64)
    case("RaggedRange", tf.constant([0.5, 1.0, 0.0]), tf.constant([2.1, -1.0, 1.0]),
         tf.constant([0.4, -0.3, 0.1]), outputs=2, Tsplits=tf.int64)
    for bad in (np.nan, np.inf, -np.inf):
        case("RaggedRange", tf.constant([0.5]), tf.constant([bad]), tf.constant([1.0]), outputs=2,
             Tsplits=tf.int64)
        case("RaggedRange", tf.constant([0.5]), tf.constant([5.0]), tf.constant([bad]), outputs=2,
             Tsplits=tf.int64)
        case("RaggedRange", tf.constant([bad]), tf.constant([5.0]), tf.constant([1.0]), outputs=2,
             Tsplits=tf.int64)
    case("RaggedRange", c64([-2**63]), c64([2**63 - 1]), c64([1]), outputs=2, Tsplits=tf.int64)
    case("RaggedRange", c64([-2**63]), c64([2**63 - 1]), c64([2**62]), outputs=2, Tsplits=tf.int64)
    case("RaggedRange", c64([0]), c64([2**40]), c64([1]), outputs=2, Tsplits=tf.int32)
    case("RaggedRange", tf.constant([0.0]), tf.constant([1e30]), tf.constant([1.0]), outputs=2,
         Tsplits=tf.int64)


def ragged_gathers():
    for t in [x for x in PLAIN + QUANTIZED if x in cpu_types("RaggedGather", "Tvalues")]:
        case("RaggedGather", [c64([0, 2, 2, 5])], values(t, [5]), c32([2, 0, 1, 2]), outputs=2,
             OUTPUT_RAGGED_RANK=1)
    for s in (tf.int32, tf.int64):
        for i in (tf.int32, tf.int64):
            x = tf.constant([0, 2, 2, 5], s)
            case("RaggedGather", [x], data(tf.float32, [5, 2]), tf.constant([[2, 0], [1, 1]], i),
                 outputs=3, OUTPUT_RAGGED_RANK=2)
            case("RaggedGather", [x], data(tf.float32, [5]), tf.constant(2, i), outputs=1,
                 OUTPUT_RAGGED_RANK=0)
            case("RaggedGather", [tf.constant([0, 1, 3], s), x], data(tf.float32, [5]),
                 tf.constant([1, 1, 0], i), outputs=3, OUTPUT_RAGGED_RANK=2)
            case("RaggedGather", [tf.constant([0, 1, 3], s), x], data(tf.float32, [5]),
                 tf.constant(1, i), outputs=2, OUTPUT_RAGGED_RANK=1)
            case("RaggedGather", [x], data(tf.float32, [5]), tf.zeros([0], i), outputs=2,
                 OUTPUT_RAGGED_RANK=1)
            case("RaggedGather", [x], data(tf.float32, [5]), tf.zeros([2, 0], i), outputs=3,
                 OUTPUT_RAGGED_RANK=2)
            for bad in (3, -1):
                case("RaggedGather", [x], data(tf.float32, [5]), tf.constant([0, bad], i), outputs=2,
                     OUTPUT_RAGGED_RANK=1)
    f = data(tf.float32, [5])
    case("RaggedGather", [c64([0, 3, 2, 5])], f, c32([1]), outputs=2, OUTPUT_RAGGED_RANK=1)
    case("RaggedGather", [c64([0, 3, 9])], f, c32([1]), outputs=2, OUTPUT_RAGGED_RANK=1)
    case("RaggedGather", [c64([-1, 3, 5])], f, c32([0]), outputs=2, OUTPUT_RAGGED_RANK=1)
    case("RaggedGather", [c64([1, 3, 5])], f, c32([0]), outputs=2, OUTPUT_RAGGED_RANK=1)
    case("RaggedGather", [tf.zeros([0], tf.int64)], f, c32([0]), outputs=2, OUTPUT_RAGGED_RANK=1)
    case("RaggedGather", [c64([0])], f[:0], c32([0]), outputs=2, OUTPUT_RAGGED_RANK=1)
    case("RaggedGather", [c64([0])], f[:0], tf.zeros([0], tf.int32), outputs=2, OUTPUT_RAGGED_RANK=1)
    case("RaggedGather", [c64([0, 5])], tf.constant(1.0), c32([0]), outputs=2, OUTPUT_RAGGED_RANK=1)
    case("RaggedGather", [c64([[0, 5]])], f, c32([0]), outputs=2, OUTPUT_RAGGED_RANK=1)


def ragged_to_sparse():
    for t in PLAIN + QUANTIZED:
        case("RaggedTensorToSparse", [c64([0, 2, 2, 5])], values(t, [5]), outputs=3)
    for s in (tf.int32, tf.int64):
        case("RaggedTensorToSparse", [tf.constant([0, 2, 2, 5], s)], data(tf.float32, [5, 2]), outputs=3)
        case("RaggedTensorToSparse", [tf.constant([0, 1, 3], s), tf.constant([0, 2, 2, 5], s)],
             data(tf.float32, [5]), outputs=3)
        case("RaggedTensorToSparse", [tf.constant([0], s)], data(tf.float32, [0]), outputs=3)
        case("RaggedTensorToSparse", [tf.constant([0, 0, 0], s)], data(tf.float32, [0, 3]), outputs=3)
        case("RaggedTensorToSparse", [tf.constant([0, 2], s)], data(tf.float32, [2, 3, 0]), outputs=3)
    f = data(tf.float32, [5])
    for bad in ([], [1, 5], [0, 4], [0, 6], [0, 3, 2, 5]):
        case("RaggedTensorToSparse", [tf.constant(bad, tf.int64)], f, outputs=3)
    case("RaggedTensorToSparse", [c64([0, 2]), c64([0, 2, 4, 5])], f, outputs=3)
    case("RaggedTensorToSparse", [c64([0, 5])], tf.constant(1.0), outputs=3)
    case("RaggedTensorToSparse", [c64(0)], f, outputs=3)


def ragged_to_tensor():
    op = "RaggedTensorToTensor"
    split = ["ROW_SPLITS"]
    ids = ["FIRST_DIM_SIZE", "VALUE_ROWIDS"]
    for t in [x for x in PLAIN + QUANTIZED if x in cpu_types(op)]:
        case(op, c64([-1, -1]), values(t, [5]), values(t, []), [c64([0, 2, 2, 5])],
             row_partition_types=split)
    for index in (tf.int32, tf.int64):
        for shape in (tf.int32, tf.int64):
            x = [tf.constant([0, 2, 2, 5], index)]
            y = [tf.constant(4, index), tf.constant([0, 0, 2, 2, 2], index)]
            f = data(tf.float32, [5])
            for s in ([-1, -1], [3, 2], [2, 4], [-1, 4], [5, -1], [0, 3], [0, 0], [3, 0]):
                case(op, tf.constant(s, shape), f, tf.constant(9.0), x, row_partition_types=split)
                case(op, tf.constant(s, shape), f, tf.constant(9.0), y, row_partition_types=ids)
            case(op, tf.constant(-1, shape), f, tf.constant(9.0), x, row_partition_types=split)
    f = data(tf.float32, [5])
    two = [c64([0, 1, 3]), c64([0, 2, 2, 5])]
    for s in ([-1, -1, -1], [2, 2, 3], [3, 1, 2], [1, 4, -1]):
        case(op, c64(s), f, tf.constant(9.0), two, row_partition_types=split * 2)
        case(op, c64(s), f, tf.constant(9.0), [c64(3), c64([0, 1, 1]), c64([0, 0, 2, 2, 2])],
             row_partition_types=["FIRST_DIM_SIZE", "VALUE_ROWIDS", "VALUE_ROWIDS"])
        case(op, c64(s), f, tf.constant(9.0), [c64([0, 1, 3]), c64([0, 0, 2, 2, 2])],
             row_partition_types=["ROW_SPLITS", "VALUE_ROWIDS"])
        case(op, c64(s), f, tf.constant(9.0), [c64(3), c64([0, 1, 1]), c64([0, 2, 2, 5])],
             row_partition_types=["FIRST_DIM_SIZE", "VALUE_ROWIDS", "ROW_SPLITS"])
    f2 = data(tf.float32, [5, 2])
    for default in (tf.constant(9.0), tf.constant([8.0, 9.0]), tf.constant([9.0])):
        for s in ([-1, -1, -1], [-1, -1, 2], [2, 4, 2], [-1, -1, 3]):
            case(op, c64(s), f2, default, [c64([0, 2, 2, 5])], row_partition_types=split)
    case(op, c64([-1, -1]), f2, tf.constant(1.0), [c64([0, 2, 2, 5])], row_partition_types=split)
    case(op, c64(-1), f2, tf.constant(1.0), [c64([0, 2, 2, 5])], row_partition_types=split)
    case(op, c64([-1, -1, 2, 2]), data(tf.float32, [5, 2, 2]), tf.constant([[1.0], [2.0]]),
         [c64([0, 2, 2, 5])], row_partition_types=split)
    case(op, c64([-1, -1]), f, tf.constant([1.0, 2.0]), [c64([0, 2, 2, 5])], row_partition_types=split)
    case(op, c64([-1, -1]), f[:0], tf.constant(1.0), [c64([0])], row_partition_types=split)
    case(op, c64([-1, -1]), f[:0], tf.constant(1.0), [c64([0, 0])], row_partition_types=split)
    case(op, c64([2, 3]), f[:0], tf.constant(1.0), [c64([0, 0])], row_partition_types=split)
    case(op, c64([-1, -1]), f[:0], tf.constant(1.0), [c64([])], row_partition_types=split)
    case(op, c64([-1, -1]), f[:0], tf.constant(1.0), [c64(2), c64([])], row_partition_types=ids)
    for bad in ([0, 2, 2, 4], [1, 2, 2, 5], [0, 3, 2, 5], [0, 9, 2, 5]):  # [0, 2, 2, 7] reads past the values
        case(op, c64([-1, -1]), f, tf.constant(9.0), [c64(bad)], row_partition_types=split)
    for bad in ([0, 0, 2, 2], [0, 0, 2, 2, 9], [-1, 0, 0, 1, 1]):
        case(op, c64([-1, -1]), f, tf.constant(9.0), [c64(4), c64(bad)], row_partition_types=ids)
    case(op, c64([-1, -1]), f, tf.constant(9.0), [c64(-1), c64([0, 0, 2, 2, 2])],
         row_partition_types=ids)
    case(op, c64([-1, -1]), f, tf.constant(9.0), [c64([0, 2, 5])], row_partition_types=["NONSENSE"])
    case(op, c64([-1, -1]), f, tf.constant(9.0), [c64([0, 2, 5])], row_partition_types=["ROW_LENGTHS"])
    case(op, c64([-1, -1]), f, tf.constant(9.0), [c64([0, 2, 5])], row_partition_types=["VALUE_ROWIDS"])
    case(op, c64([-1, -1]), f, tf.constant(9.0), [c64([0, 2, 5])], row_partition_types=[])
    case(op, c64([-1, -1]), f, tf.constant(9.0), [c64(5)], row_partition_types=["FIRST_DIM_SIZE"])
    case(op, c64([-1, -1, -1, -1]), f, tf.constant(9.0), [c64([0, 2, 5])], row_partition_types=split)
    case(op, c64([[-1, -1]]), f, tf.constant(9.0), [c64([0, 2, 5])], row_partition_types=split)
    case(op, c64([-1]), f, tf.constant(9.0), [c64([0, 2, 5])], row_partition_types=split)
    case(op, c64([-2, -1]), f, tf.constant(9.0), [c64([0, 2, 5])], row_partition_types=split)
    case(op, c64([-1, -1]), tf.constant(1.0), tf.constant(9.0), [c64([0, 1])],
         row_partition_types=split)


def ragged_variants():
    to, back = "RaggedTensorToVariant", "RaggedTensorFromVariant"
    gradient = "RaggedTensorToVariantGradient"
    for t in [x for x in PLAIN + QUANTIZED if x in cpu_types(to, "Tvalues")]:
        (v,) = keep(to, [c64([0, 2, 2, 5])], values(t, [5]), batched_input=False)
        case(back, v, outputs=2, input_ragged_rank=1, output_ragged_rank=1, Tvalues=t, Tsplits=tf.int64)
        (v,) = keep(to, [c64([0, 2, 2, 5])], values(t, [5]), batched_input=True)
        case(back, v, outputs=2, input_ragged_rank=0, output_ragged_rank=1, Tvalues=t, Tsplits=tf.int64)
        if t != tf.string and t not in (tf.bool,):
            (v,) = keep(to, [c64([0, 2, 2, 5])], values(t, [5]), batched_input=True)
            case(gradient, v, c64([0, 2, 2, 5]), c32([5]), Tvalues=t, Tsplits=tf.int64)
    for s in (tf.int32, tf.int64):
        one, two = tf.constant([0, 2, 2, 5], s), tf.constant([0, 1, 3], s)
        f = data(tf.float32, [5, 2])
        (v,) = keep(to, [two, one], f, batched_input=False)
        case(back, v, outputs=3, input_ragged_rank=2, output_ragged_rank=2, Tvalues=tf.float32, Tsplits=s)
        (v,) = keep(to, [two, one], f, batched_input=True)
        case(back, v, outputs=3, input_ragged_rank=1, output_ragged_rank=2, Tvalues=tf.float32, Tsplits=s)
        (v,) = keep(to, [two, one], f, batched_input=True)
        case(back, v, outputs=3, input_ragged_rank=-1, output_ragged_rank=2, Tvalues=tf.float32,
             Tsplits=s)
        (v,) = keep(to, [], data(tf.float32, [3, 2]), batched_input=True, RAGGED_RANK=0, Tsplits=s)
        case(back, v, outputs=2, input_ragged_rank=0, output_ragged_rank=1, Tvalues=tf.float32, Tsplits=s)
        (v,) = keep(to, [], data(tf.float32, [3, 2]), batched_input=False, RAGGED_RANK=0, Tsplits=s)
        case(back, v, outputs=1, input_ragged_rank=0, output_ragged_rank=0, Tvalues=tf.float32, Tsplits=s)
        (v,) = keep(to, [one], f, batched_input=True)
        case(gradient, v, one, c32([5, 2]), Tvalues=tf.float32, Tsplits=s)
        (v,) = keep(to, [], data(tf.float32, [3, 2]), batched_input=True, RAGGED_RANK=0, Tsplits=s)
        case(gradient, v, tf.constant([0, 1, 2, 3], s), c32([3, 2]), Tvalues=tf.float32, Tsplits=s)
        (v,) = keep(to, [one], f, batched_input=True)
        case(back, v, outputs=2, input_ragged_rank=0, output_ragged_rank=1, Tvalues=tf.int32, Tsplits=s)
        (v,) = keep(to, [one], f, batched_input=True)
        case(back, v, outputs=3, input_ragged_rank=1, output_ragged_rank=2, Tvalues=tf.float32, Tsplits=s)
        (v,) = keep(to, [one], f, batched_input=True)
        case(back, v, outputs=2, input_ragged_rank=1, output_ragged_rank=1, Tvalues=tf.float32, Tsplits=s)
        (v,) = keep(to, [one], f, batched_input=False)
        other = tf.int32 if s == tf.int64 else tf.int64
        case(back, v, outputs=2, input_ragged_rank=1, output_ragged_rank=1, Tvalues=tf.float32,
             Tsplits=other)
        (v,) = keep(to, [one], f, batched_input=False)
        case(back, v, outputs=3, input_ragged_rank=1, output_ragged_rank=2, Tvalues=tf.float32, Tsplits=s)
        (v,) = keep(to, [one], f, batched_input=False)
        case(back, v, outputs=2, input_ragged_rank=-1, output_ragged_rank=1, Tvalues=tf.float32, Tsplits=s)
    f = data(tf.float32, [5])
    for bad in ([0, 4], [0, 6], [0, 3, 2, 5], [1, 5]):
        case(to, [c64(bad)], f, batched_input=True)
    case(to, [c64([0, 2, 5]), c64([0, 5])], f, batched_input=True)
    case(to, [], f[0], batched_input=True, RAGGED_RANK=0, Tsplits=tf.int64)
    case(to, [c64([])], f, batched_input=True)
    case(to, [c64([])], f, batched_input=False)
    case(to, [c64(0)], f, batched_input=True)
    (v,) = keep(to, [c64([0])], f[:0], batched_input=True)
    case(back, v, outputs=2, input_ragged_rank=0, output_ragged_rank=1, Tvalues=tf.float32,
         Tsplits=tf.int64)
    (v,) = keep(to, [c64([0, 1, 3]), c64([0, 2, 2, 5])], f, batched_input=True)
    again(back, v, outputs=2, input_ragged_rank=0, output_ragged_rank=1, Tvalues=tf.float32,
          Tsplits=tf.int64)
    case(gradient, v, c64([0, 1]), c32([5]), Tvalues=tf.float32, Tsplits=tf.int64)
    (v,) = keep("TensorListReserve", c32([]), c32(2), element_dtype=tf.float32, shape_type=tf.int32)
    case(back, v, outputs=2, input_ragged_rank=1, output_ragged_rank=1, Tvalues=tf.float32,
         Tsplits=tf.int64)


def ragged_fills():
    op, gradient = "RaggedFillEmptyRows", "RaggedFillEmptyRowsGrad"
    for t in [x for x in PLAIN if x in cpu_types(op)]:
        case(op, c64([0, 2, 2]), values(t, [3]), c64(4), values(t, []), outputs=4)
    for t in cpu_types(gradient):
        case(gradient, c64([0, 2, 3]), values(t, [5]), outputs=2)
    f = data(tf.float32, [3])
    case(op, c64([0, 1, 2]), f, c64(3), tf.constant(9.0), outputs=4)
    case(op, c64([2, 0, 2]), f, c64(4), tf.constant(9.0), outputs=4)
    case(op, c64([]), f[:0], c64(2), tf.constant(9.0), outputs=4)
    case(op, c64([0, 1, 2]), f, c64(0), tf.constant(9.0), outputs=4)
    case(op, c64([0, 1, 2]), f, c64(2), tf.constant(9.0), outputs=4)
    case(op, c64([0, -1, 2]), f, c64(3), tf.constant(9.0), outputs=4)
    case(op, c64([0, 1]), f, c64(3), tf.constant(9.0), outputs=4)
    case(op, c64([[0, 1, 2]]), f, c64(3), tf.constant(9.0), outputs=4)
    case(op, c64([0, 1, 2]), f[None], c64(3), tf.constant(9.0), outputs=4)
    case(op, c64([0, 1, 2]), f, c64([3]), tf.constant(9.0), outputs=4)
    case(op, c64([0, 1, 2]), f, c64(3), tf.constant([9.0]), outputs=4)
    case(op, c64([0, 1, 2]), f, c64(-3), tf.constant(9.0), outputs=4)
    for m in ([0, 9], [-1, 0], [], [0, 0]):
        case(gradient, c64(m), data(tf.float32, [4]), outputs=2)
    case(gradient, c64([[0]]), data(tf.float32, [4]), outputs=2)
    case(gradient, c64([0]), data(tf.float32, [4, 1]), outputs=2)


def counts():
    rs, ds, ss = "RaggedCountSparseOutput", "DenseCountSparseOutput", "SparseCountSparseOutput"
    for t in (tf.int32, tf.int64):
        for w in (tf.int32, tf.int64, tf.float32, tf.float64):
            for binary in (False, True):
                v = tf.constant([3, 1, 1, 0, 3, 3], t)
                weights = data(w, [6])
                for lo, hi in ((-1, -1), (5, -1), (-1, 2), (2, 3), (0, 0)):
                    if w != tf.float32 and lo != -1:
                        continue
                    case(ds, v, weights[:0], outputs=3, minlength=lo, maxlength=hi, binary_output=binary)
                    case(rs, c64([0, 2, 2, 6]), v, weights[:0], outputs=3, minlength=lo, maxlength=hi,
                         binary_output=binary)
                case(ss, c64([[0, 0], [0, 3], [1, 1], [1, 2], [3, 0], [3, 1]]), v, c64([4, 4]),
                     weights[:0], outputs=3, minlength=-1, maxlength=-1, binary_output=binary)
                if not binary:
                    case(ds, v, weights, outputs=3, binary_output=binary, minlength=-1, maxlength=-1)
                    case(ds, tf.reshape(v, [2, 3]), tf.reshape(weights, [2, 3]), outputs=3,
                         binary_output=binary, minlength=-1, maxlength=-1)
                    case(rs, c64([0, 2, 2, 6]), v, weights, outputs=3, binary_output=binary,
                         minlength=-1, maxlength=-1)
                    case(ss, c64([[0], [1], [2], [3], [4], [7]]), v, c64([9]), weights, outputs=3,
                         binary_output=binary, minlength=-1, maxlength=-1)
                    case(ss, c64([[0, 0], [0, 3], [1, 1], [1, 2], [3, 0], [3, 1]]), v, c64([4, 4]),
                         weights, outputs=3, minlength=3, maxlength=-1, binary_output=binary)
    kw = dict(outputs=3, minlength=-1, maxlength=-1, binary_output=False)
    v, w = c32([3, 1, 1]), tf.constant([1.0, 2.0, 3.0])
    case(ds, v, w, **dict(kw, binary_output=True))
    case(ds, v, w[:2], **kw)
    case(ds, c32([3, -1]), w[:0], **kw)
    case(ds, tf.zeros([0], tf.int32), w[:0], **kw)
    case(ds, tf.zeros([2, 0], tf.int32), w[:0], **kw)
    case(ds, c32(3), w[:0], **kw)
    case(ds, tf.zeros([1, 1, 1], tf.int32), w[:0], **kw)
    case(ds, v, w[:0], **dict(kw, minlength=9, maxlength=2))
    for s in ([0, 2], [1, 3], [0, 2, 1, 3], [0, 4], [], [0], [0, 3, 5]):
        case(rs, c64(s), v, w[:0], **kw)
    case(rs, c64([0, 3]), c32([1, -2, 3]), w[:0], **kw)
    case(rs, c64([0, 3]), v, w[:2], **kw)
    case(rs, c64([0, 3]), v, w, **dict(kw, binary_output=True))
    case(ss, c64([[0, 0], [0, 1]]), v, c64([2, 2]), w[:0], **kw)
    case(ss, c64([[0, 0], [0, 1], [5, 1]]), v, c64([2, 2]), w[:0], **kw)
    case(ss, c64([[0, 0], [0, 1], [-1, 1]]), v, c64([2, 2]), w[:0], **kw)
    case(ss, c64([[0, 0], [0, 1], [1, 1]]), v, c64([2]), w[:0], **kw)
    case(ss, c64([[0, 0], [0, 1], [1, 1]]), v, c64([2, 2]), w[:2], **kw)
    case(ss, c64([[0, 0], [0, 1], [1, 1]]), v, c64([-2, 2]), w[:0], **kw)
    case(ss, c64([[0, 0], [0, 1], [1, 1]]), v, c64([0, 2]), w[:0], **kw)
    case(ss, c64([0, 1, 2]), v, c64([3]), w[:0], **kw)
    case(ss, c64([[0, 0, 0], [0, 0, 1], [0, 1, 1]]), v, c64([2, 2, 2]), w[:0], **kw)
    case(ss, c64([[0], [1], [2]]), v, c64([3]), w, **dict(kw, binary_output=True))
    case(ss, c64([[0, 0], [0, 1], [1, 1]]), c32([1, -1, 2]), c64([2, 2]), w[:0], **kw)
    case(ss, tf.zeros([0, 2], tf.int64), v[:0], c64([2, 2]), w[:0], **kw)
    case(ss, tf.zeros([0, 1], tf.int64), v[:0], c64([0]), w[:0], **kw)
    case(ss, c64([[0, 0], [0, 1], [1, 1]]), v[:, None], c64([2, 2]), w[:0], **kw)
    case(ss, c64([[0, 0], [0, 1], [1, 1]]), v, c64([[2, 2]]), w[:0], **kw)


def bincounts():
    rb, sb = "RaggedBincount", "SparseBincount"
    for i in (tf.int32, tf.int64):
        for t in (tf.int32, tf.int64, tf.float32, tf.float64):
            for binary in (False, True):
                v = tf.constant([3, 1, 1, 0, 3, 9], i)
                for size in (4, 12, 1, 0) if t == tf.float32 else (4,):
                    case(rb, c64([0, 2, 2, 6]), v, tf.constant(size, i), tf.zeros([0], t),
                         binary_output=binary)
                    case(sb, c64([[0, 0], [0, 3], [1, 1], [1, 2], [3, 0], [3, 1]]), v, c64([4, 4]),
                         tf.constant(size, i), tf.zeros([0], t), binary_output=binary)
                    case(sb, c64([[0], [1], [2], [3], [4], [7]]), v, c64([9]),
                         tf.constant(size, i), tf.zeros([0], t), binary_output=binary)
                case(rb, c64([0, 2, 2, 6]), v, tf.constant(4, i), data(t, [6]), binary_output=binary)
                case(sb, c64([[0, 0], [0, 3], [1, 1], [1, 2], [3, 0], [3, 1]]), v, c64([4, 4]),
                     tf.constant(4, i), data(t, [6]), binary_output=binary)
                case(sb, c64([[0], [1], [2], [3], [4], [7]]), v, c64([9]),
                     tf.constant(4, i), data(t, [6]), binary_output=binary)
    v, w = c32([3, 1, 1]), tf.zeros([0])
    for s in ([0, 2], [1, 3], [0, 2, 1, 3], [0, 4], [], [0], [0, 3, 5], [0, 5, 3]):
        case(rb, c64(s), v, c32(4), w)
    case(rb, c64([[0, 3]]), v, c32(4), w)
    case(rb, c64([0, 3]), v, c32([4]), w)
    case(rb, c64([0, 3]), v, c32(-4), w)
    case(rb, c64([0, 3]), c32([1, -1, 2]), c32(4), w)
    case(rb, c64([0, 3]), v[:, None], c32(4), w)
    at = c64([[0, 0], [0, 1], [1, 1]])
    case(sb, at, v, c64([2, 2]), c32([4]), w)
    case(sb, at, v, c64([2, 2]), c32(-1), w)
    case(sb, at[:2], v, c64([2, 2]), c32(4), w)
    case(sb, at, v, c64([2]), c32(4), w)
    case(sb, at, v, c64([1, 2]), c32(4), w)
    case(sb, c64([[0, 0], [-1, 1], [1, 1]]), v, c64([2, 2]), c32(4), w)
    case(sb, c64([[0, 0, 0], [0, 1, 1], [1, 1, 1]]), v, c64([2, 2, 2]), c32(4), w)
    case(sb, c64([0, 1, 2]), v, c64([3]), c32(4), w)
    case(sb, at, v, c64([[2, 2]]), c32(4), w)
    case(sb, at, v[:, None], c64([2, 2]), c32(4), w)
    case(sb, at, v, c64([]), c32(4), w)


def ragged_crosses():
    op = "RaggedCross"
    s1, s2 = c64([0, 2, 2, 3]), c64([0, 1, 3, 3])
    words, numbers = text(["a", "bc", "żó"]), c64([7, -8, 2**40])

    def cross(ragged, sparse, dense, order, hashed=False, buckets=0, key=956888297470, values_type=None,
              splits=tf.int64):
        ragged = [(v, tf.cast(at, splits)) for v, at in ragged]  # TensorFlow aborts on a mixture
        case(op, [r[0] for r in ragged], [r[1] for r in ragged], [s[0] for s in sparse],
             [s[1] for s in sparse], [s[2] for s in sparse], dense, outputs=2, input_order=order,
             hashed_output=hashed, num_buckets=buckets, hash_key=key,
             out_values_type=values_type or (tf.int64 if hashed else tf.string),
             out_row_splits_type=splits)

    sparse = (c64([[0, 0], [0, 2], [2, 1]]), text(["p", "q", "r"]), c64([3, 3]))
    dense = text([["x", "y"], ["z", "w"], ["u", "v"]])
    for hashed, buckets in ((False, 0), (True, 0), (True, 10), (True, 1)):
        for splits in (tf.int32, tf.int64):
            cross([(words, s1), (numbers, s2)], [], [], "RR", hashed, buckets, splits=splits)
            cross([(words, s1)], [sparse], [dense], "RSD", hashed, buckets, splits=splits)
            cross([(numbers, s1)], [], [c64([[1], [2], [3]])], "DR", hashed, buckets, splits=splits)
            cross([], [sparse], [dense], "SD", hashed, buckets, splits=splits)
            cross([], [sparse, (sparse[0], numbers, sparse[2])], [], "SS", hashed, buckets, 5,
                  splits=splits)
    cross([(words, s1)], [], [], "R", True, 100)
    cross([(words, s1)], [], [], "R")
    cross([(words, s1)], [], [], "RD")
    cross([(words, s1)], [], [], "D")
    cross([(words, s1)], [], [], "X")
    cross([(words, s1), (numbers, c64([0, 3]))], [], [], "RR")
    cross([(words, c64([0, 2, 9]))], [], [], "R")
    cross([(words, c64([]))], [], [], "R")
    cross([(words, c64([1, 3]))], [], [], "R")
    cross([(words, c64([0, 2, 1, 3]))], [], [], "R")
    cross([(words[None], c64([0, 1]))], [], [], "R")
    cross([(words, c64([[0, 3]]))], [], [], "R")
    cross([], [(sparse[0][:2], sparse[1], sparse[2])], [], "S")
    cross([], [(sparse[0][0], sparse[1], sparse[2])], [], "S")
    cross([], [(sparse[0], sparse[1][None], sparse[2])], [], "S")
    cross([], [(sparse[0], sparse[1], c64([3, 3, 3]))], [], "S")
    cross([], [(sparse[0], sparse[1], c64([2, 3]))], [], "S")
    cross([], [], [text(["a"])], "D")
    cross([], [], [text([["a"]]), text([["a"], ["b"]])], "DD")
    cross([], [], [], "")
    cross([(words, s1)], [], [], "R", False, 0, values_type=tf.int64)
    cross([(words, s1)], [], [], "R", True, 0, values_type=tf.string)


FAMILIES = {f.__name__: f for f in (ragged_ranges, ragged_gathers, ragged_to_sparse, ragged_to_tensor,
                                    ragged_variants, ragged_fills, counts, bincounts, ragged_crosses)}


def write(name, families, wanted):
    for each in wanted or families:
        families[each]()
    g.write_both("_" + name)


if __name__ == "__main__":
    g.rng.seed(21)
    write("ragged", FAMILIES, sys.argv[1:])
