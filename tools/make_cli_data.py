#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""tests/data/cli: what tests/cli/model.sh needs beside the zoo: a graph of TensorFlow 1 with its checkpoint,
a checkpoint of version 1, pictures, and what TensorFlow answers for them.
Run: /path/to/python-with-tensorflow tools/make_cli_data.py
"""
import json
import os
import shutil
os.environ["TF_CPP_MIN_LOG_LEVEL"] = "3"
os.environ["CUDA_VISIBLE_DEVICES"] = ""
import numpy as np
import tensorflow as tf
tf1 = tf.compat.v1
HERE = os.path.dirname(os.path.abspath(__file__))
OUT = os.path.join(HERE, "..", "tests", "data", "cli")
ZOO = os.path.join(HERE, "..", "tests", "data", "zoo")
rng = np.random.default_rng(5)


def old_model():
  g = tf1.Graph()
  with g.as_default(), tf1.Session(graph=g) as s:
    x = tf1.placeholder(tf.float32, [None, 3], name="x")
    w = tf1.get_variable("w", initializer=rng.standard_normal((3, 2)).astype(np.float32), use_resource=False)
    b = tf1.get_variable("b", initializer=np.array([1, -1], np.float32), use_resource=True)
    y = tf1.nn.softmax(tf1.matmul(x, w) + b, name="y")
    s.run(tf1.global_variables_initializer())
    path = os.path.join(OUT, "old.ckpt")
    tf1.train.Saver().save(s, path)
    tf1.train.Saver(write_version=tf1.train.SaverDef.V1).save(s, os.path.join(OUT, "v1.ckpt"), write_meta_graph=False)
    v = s.run(y, {x: [[1, 2, 3], [4, 5, 6]]})
  os.remove(os.path.join(OUT, "checkpoint"))
  return v.tolist()


def picture_answers():
  img = rng.integers(0, 256, (10, 12, 3)).astype(np.uint8)
  small = rng.integers(0, 256, (16, 16, 3)).astype(np.uint8)
  for name, a in (("large.png", img), ("small.png", small)):
    tf.io.write_file(os.path.join(OUT, name), tf.io.encode_png(a))
  tf.io.write_file(os.path.join(OUT, "small.jpg"), tf.io.encode_jpeg(small, quality=90))
  jpg = tf.io.decode_jpeg(tf.io.read_file(os.path.join(OUT, "small.jpg"))).numpy()
  f = tf.saved_model.load(os.path.join(ZOO, "cnn")).signatures["serving_default"]
  key = list(f.structured_input_signature[1])[0]
  call = lambda x: f(**{key: tf.constant(x, tf.float32)})["output_0"].numpy().tolist()
  big = tf.compat.v1.image.resize_bilinear(img[None], [16, 16], half_pixel_centers=True).numpy()
  return {"small.png": call(small[None]), "small.png 0..1": call(small[None] / np.float32(255)), "small.jpg": call(jpg[None]),
          "large.png": call(big), "both": call(np.stack([small, jpg]))}


shutil.rmtree(OUT, ignore_errors=True)
os.makedirs(OUT)
answers = {"old.ckpt": old_model()}
answers.update(picture_answers())
with open(os.path.join(OUT, "answers.json"), "w") as f:
  json.dump(answers, f, indent=1)
