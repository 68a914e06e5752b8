#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""The same as model.c for ONNX Runtime: model_ort.py MODEL.onnx INPUT.npy BATCH SECONDS."""
import sys
import time

import numpy as np
import onnxruntime as ort

path, data, batch, seconds = sys.argv[1], sys.argv[2], int(sys.argv[3]), float(sys.argv[4])
x = np.repeat(np.load(data), batch, 0)
start = time.perf_counter()
session = ort.InferenceSession(path, providers=["CPUExecutionProvider"])
loaded = time.perf_counter()
name = session.get_inputs()[0].name
session.run(None, {name: x})
first = time.perf_counter()
times = []
while time.perf_counter() - first < seconds or len(times) < 5:
    t = time.perf_counter()
    session.run(None, {name: x})
    times.append(time.perf_counter() - t)
times.sort()
with open("/proc/self/status") as f:
    rss = next(int(line.split()[1]) for line in f if line.startswith("VmRSS")) / 1024
print("load %.1f first %.1f least %.3f median %.3f rss %.0f off -1" % (
    (loaded - start) * 1e3, (first - loaded) * 1e3, times[0] * 1e3, times[len(times) // 2] * 1e3, rss))
