#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Writes src/ops/sobol_data.inc: the direction numbers of Joe and Kuo (new-joe-kuo-6) for 2056 dimensions, as
few bits as they have: for each dimension but the first, by the degree s of its polynomial, the s - 1 inner
coefficients, then the first s numbers, of which the i-th is odd and below 2^i, as (m - 1) / 2 in i - 1 bits.

The numbers are read off what TensorFlow's SobolSample answers; that they obey the recurrence is checked.
  /opt/tfvenv/bin/python tools/gen_sobol_data.py
"""
import os

os.environ["TF_CPP_MIN_LOG_LEVEL"] = "3"
import numpy as np
import tensorflow as tf

DIMS, BITS = 2056, 29
COUNTS = [1, 1, 2, 2, 6, 6, 18, 16, 48, 60, 176, 144, 630, 756, 1800]  # primitive polynomials of degree 1, 2 …


def points(skip):
    return tf.raw_ops.SobolSample(dim=DIMS, num_results=1, skip=skip, dtype=tf.float64).numpy()[0]


def main():
    # Point 2^(j+1) - 1 is direction number j alone, since the order is Gray's.
    m = [[int(v * 2 ** (j + 1)) for v in points(2 ** (j + 1) - 2)] for j in range(BITS)]
    bits, d = [], 1

    def put(value, n):
        bits.extend((value >> i) & 1 for i in range(n))

    for degree, count in enumerate(COUNTS, 1):
        for d in range(d, min(d + count, DIMS)):
            own = [row[d] for row in m]
            a = None
            for k in range(degree, BITS):
                rest = own[k] ^ own[k - degree] ^ own[k - degree] << degree
                found = 0
                for i in range(1, degree):
                    if rest >> i & 1:
                        found |= 1 << (degree - 1 - i)
                        rest ^= own[k - i] << i
                assert rest == 0 and a in (None, found), (d, degree)
                a = found
            put(a, degree - 1)
            for i in range(2, degree + 1):
                put(own[i - 1] >> 1, i - 1)
        d += 1
    words = [sum(b << i for i, b in enumerate(bits[at:at + 32])) for at in range(0, len(bits), 32)]
    path = os.path.join(os.path.dirname(os.path.abspath(__file__)), "../src/ops/sobol_data.inc")
    with open(path, "w") as f:
        f.write("// Written by tools/gen_sobol_data.py, which says what is in it.\n")
        for at in range(0, len(words), 9):
            f.write(" ".join("0x%08x," % w for w in words[at:at + 9]) + "\n")
    print(len(bits), len(words) * 4)


main()
