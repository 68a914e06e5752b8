#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""examples/models/half_plus_two: y = x / 2 + 2 as a SavedModel of TensorFlow 2, the smallest that has
variables. Run: /path/to/python-with-tensorflow tools/make_half_plus_two.py
"""
import os
import shutil
os.environ["TF_CPP_MIN_LOG_LEVEL"] = "3"
import tensorflow as tf


class HalfPlusTwo(tf.Module):
  def __init__(self):
    self.half = tf.Variable(0.5, name="half")
    self.two = tf.Variable(2.0, name="two")

  @tf.function(input_signature=[tf.TensorSpec([None], tf.float32, name="x")])
  def serve(self, x):
    return {"y": x * self.half + self.two}


path = os.path.join(os.path.dirname(os.path.abspath(__file__)), "..", "examples", "models", "half_plus_two")
shutil.rmtree(path, ignore_errors=True)
m = HalfPlusTwo()
tf.saved_model.save(m, path, signatures={"serving_default": m.serve})
for extra in ("assets", "fingerprint.pb"):
  p = os.path.join(path, extra)
  if os.path.isdir(p):
    os.rmdir(p)
  elif os.path.exists(p):
    os.remove(p)
