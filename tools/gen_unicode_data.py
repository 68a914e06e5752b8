#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Writes src/ops/unicode_data.inc: case mappings and scripts as TensorFlow (ICU) has them, general
categories as Python has them, each as runs of code points.

Run with a Python that has TensorFlow:  /opt/tfvenv/bin/python tools/gen_unicode_data.py
"""
import os
os.environ["TF_CPP_MIN_LOG_LEVEL"] = "3"
import unicodedata
import numpy as np
import tensorflow as tf

POINTS = [c for c in range(0x110000) if not 0xD800 <= c <= 0xDFFF]
CATEGORIES = ["Cn", "Lu", "Ll", "Lt", "Lm", "Lo", "Mn", "Mc", "Me", "Nd", "Nl", "No", "Pc", "Pd",
              "Ps", "Pe", "Pi", "Pf", "Po", "Sm", "Sc", "Sk", "So", "Zs", "Zl", "Zp", "Cc", "Cf",
              "Co", "Cs"]


def mapped(op):
    texts = tf.constant([chr(c).encode() for c in POINTS])
    return [t.decode() for t in op(texts, encoding="utf-8").numpy()]


def case_tables(name, op, out):
    simple, special = [], []
    for c, t in zip(POINTS, mapped(op)):
        if t == chr(c):
            continue
        if len(t) == 1:
            simple.append((c, ord(t) - c))
        else:
            special.append((c, t))
    runs = []  # [first, last, step, delta]
    for c, d in simple:
        if runs and runs[-1][3] == d:
            first, last, step, _ = runs[-1]
            gap = c - last
            if (first == last and gap <= 2) or gap == step:
                runs[-1] = [first, c, gap if first == last else step, d]
                continue
        runs.append([c, c, 1, d])
    out.append("static const fy_case_run %s_runs[] = {" % name)
    wrap(["{0x%X, 0x%X, %d, %d}," % tuple(r) for r in runs], out)
    out.append("};")
    out.append("static const fy_case_special %s_special[] = {" % name)
    wrap(["{0x%X, {%s}}," % (c, ", ".join("0x%X" % ord(x) for x in t)) for c, t in special], out)
    out.append("};")


def wrap(items, out):
    line = " "
    for i in items:
        if len(line) + 1 + len(i) > 98:
            out.append(line)
            line = " "
        line += " " + i
    out.append(line)


def value_runs(name, values, out):
    """(first, value) pairs: a run ends where the next begins."""
    items, last = [], None
    for c, v in enumerate(values):
        if v != last:
            items.append("{0x%X, %d}," % (c, v))
            last = v
    out.append("static const fy_value_run %s_runs[] = {" % name)
    wrap(items, out)
    out.append("};")


out = ["// Made by tools/gen_unicode_data.py with TensorFlow %s. See unicode_data.c." % tf.__version__]
case_tables("lower", tf.strings.lower, out)
case_tables("upper", tf.strings.upper, out)
scripts = tf.strings.unicode_script(tf.constant(np.arange(0x110000), tf.int32)).numpy()
value_runs("script", scripts.tolist(), out)
value_runs("category", [CATEGORIES.index(unicodedata.category(chr(c))) for c in range(0x110000)],
           out)
here = os.path.dirname(os.path.abspath(__file__))
with open(os.path.join(here, "../src/ops/unicode_data.inc"), "w", encoding="utf-8") as f:
    f.write("\n".join(out) + "\n")
