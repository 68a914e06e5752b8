#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Writes tests/data/op_goldens_flow.txt and shape_goldens_flow.txt: TensorFlow's answers for the nodes of
its first control flow where they run eagerly, and what it infers of their shapes.

Run with a Python that has TensorFlow:  /opt/tfvenv/bin/python tools/goldens_flow.py
"""
import golden_case as g
import tensorflow as tf

g.rng.seed(23)
F = tf.float32


def shapes(op, inputs, outputs, **attrs):
    known = dict(attrs)
    first = inputs[0][0] if isinstance(inputs[0], list) else inputs[0]
    if op != "LoopCond":
        known.setdefault("T", first.dtype)
    if isinstance(inputs[0], list):
        known.setdefault("N", len(inputs[0]))
    g.infer(op, inputs, outputs, known)


def main():
    yes, no = tf.constant(True), tf.constant(False)
    for shape in ([], [3], [2, 3], [0]):
        x = g.data(F, shape)
        for op in ("Enter",):
            for constant in (False, True):
                shapes(op, [x], 1, frame_name="f", is_constant=constant, parallel_iterations=3)
        for op in ("Exit", "NextIteration"):
            shapes(op, [x], 1)
        shapes("Switch", [x, yes], 2)
        shapes("Switch", [x, tf.constant([True])], 2)
        shapes("_SwitchN", [x, tf.constant(1)], 3, num_outs=3)
        shapes("_SwitchN", [x, tf.constant([1])], 3, num_outs=3)
        for other in ([], [3], [2, 3], [4, 3]):
            shapes("Merge", [[x, g.data(F, other)]], 2)
        shapes("Merge", [[x]], 2)
        shapes("Merge", [[x, x, g.data(F, [2, 5])]], 2)
    shapes("LoopCond", [no], 1)
    shapes("LoopCond", [tf.constant([True])], 1)
    for t in (F, tf.int32, tf.string, tf.bool, tf.complex64):
        x = tf.constant(["a", "bc"]) if t == tf.string else g.data(t, [2])
        g.case("Exit", [x])
        g.case("NextIteration", [x])
        g.case("Enter", [x], frame_name="f", is_constant=False, parallel_iterations=2)
    g.case("LoopCond", [yes])
    g.write_both("_flow")


main()
