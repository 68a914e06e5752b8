#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Writes tests/data/op_goldens_rest.txt: what is left over: points of Sobol's sequence, truth values that are
no scalars, stateful random numbers asked for wrongly.

  /opt/tfvenv/bin/python tools/goldens_rest.py
"""
import sys

import goldens_ragged as r
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


FAMILIES = dict(sobol=sobol)
if __name__ == "__main__":
    g.rng.seed(77)
    r.write("rest", FAMILIES, sys.argv[1:])
