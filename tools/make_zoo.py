#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Small models of every kind, exported by the real TensorFlow and Keras, with golden inputs and outputs.

tests/data/zoo/NAME/ is a SavedModel; tests/data/zoo/NAME.golden.npz holds for every run i and signature
  i|SIGNATURE|in|KEY    what is fed
  i|SIGNATURE|out|KEY   what TensorFlow answered
Strings are kept as arrays of bytes padded with zeros (dtype S), each with a "|" after it.
tests/unit/test_model_zoo.c replays each. Run: /path/to/python-with-tensorflow tools/make_zoo.py [NAME ...]
"""
import os
import shutil
import sys
os.environ["TF_CPP_MIN_LOG_LEVEL"] = "3"
os.environ["CUDA_VISIBLE_DEVICES"] = ""
import numpy as np
import tensorflow as tf
tf.keras.utils.set_random_seed(7)
tf1 = tf.compat.v1
ZOO = os.path.normpath(os.path.join(os.path.dirname(os.path.abspath(__file__)), "..", "tests", "data", "zoo"))
L = tf.keras.layers
rng = np.random.default_rng(3)
makers = {}


def maker(f):
  makers[f.__name__] = f
  return f


def normal(*shape):
  return rng.standard_normal(shape).astype(np.float32)


def as_bytes(v):
  v = np.asarray(v)
  if v.dtype.kind not in "OSU":
    return v
  flat = [(x if isinstance(x, bytes) else x.encode()) + b"|" for x in v.ravel().tolist()]
  return np.array(flat, dtype="S%d" % max([len(x) for x in flat] + [1])).reshape(v.shape)


def parts_of(infos):
  """{key: tensor name}; of sparse and ragged values the parts, named as Ferry names them."""
  out = {}
  for k, v in infos.items():
    c = v.coo_sparse
    if v.name:
      out[k] = v.name
    elif c.values_tensor_name:
      out.update({k + "/indices": c.indices_tensor_name, k + "/values": c.values_tensor_name, k + "/dense_shape": c.dense_shape_tensor_name})
    for i, part in enumerate(v.composite_tensor.components):
      out["%s/%s" % (k, "row_splits_%d" % (i - 1) if i else "flat_values")] = part.name
  return out


def golden(name, runs):
  """runs: list of (signature, {key: array})."""
  path = os.path.join(ZOO, name)
  out = {}
  g = tf1.Graph()
  with g.as_default(), tf1.Session(graph=g) as s:
    meta = tf1.saved_model.load(s, [tf1.saved_model.SERVING], path)
    for i, (sig, feeds) in enumerate(runs):
      d = meta.signature_def[sig]
      want, ins = parts_of(d.outputs), parts_of(d.inputs)
      got = s.run(want, {ins[k]: v for k, v in feeds.items()})
      for k, v in feeds.items():
        out["%d|%s|in|%s" % (i, sig, k)] = as_bytes(v)
      for k, v in got.items():
        out["%d|%s|out|%s" % (i, sig, k)] = as_bytes(v)
  np.savez(path + ".golden.npz", **out)


def export_keras(model, name):
  model.export(os.path.join(ZOO, name), verbose=False)


@maker
def mlp():
  m = tf.keras.Sequential([L.Input([6]), L.Dense(16, "relu"), L.Dropout(.5), L.Dense(3, "softmax")])
  export_keras(m, "mlp")
  golden("mlp", [("serving_default", {key_of("mlp"): normal(n, 6)}) for n in (1, 5)])


def key_of(name, sig="serving_default"):
  g = tf1.Graph()
  with g.as_default(), tf1.Session(graph=g) as s:
    meta = tf1.saved_model.load(s, [tf1.saved_model.SERVING], os.path.join(ZOO, name))
  return sorted(meta.signature_def[sig].inputs)[0]


@maker
def cnn():
  m = tf.keras.Sequential([L.Input([16, 16, 3]), L.Conv2D(8, 3, strides=2, padding="same", use_bias=False), L.BatchNormalization(),
                           L.ReLU(6.), L.DepthwiseConv2D(3, padding="same"), L.MaxPooling2D(2), L.Conv2D(4, 1), L.GlobalAveragePooling2D(),
                           L.Dense(2)])
  m.layers[1].moving_mean.assign(normal(8)); m.layers[1].moving_variance.assign(np.abs(normal(8)) + .5)
  export_keras(m, "cnn")
  golden("cnn", [("serving_default", {key_of("cnn"): normal(n, 16, 16, 3)}) for n in (1, 3)])


@maker
def lstm():
  m = tf.keras.Sequential([L.Input([None], dtype="int32"), L.Embedding(20, 6, mask_zero=True), L.Bidirectional(L.LSTM(5, return_sequences=True)),
                           L.GRU(4), L.Dense(1, "sigmoid")])
  export_keras(m, "lstm")
  golden("lstm", [("serving_default", {key_of("lstm"): np.array(v, np.int32)})
                  for v in ([[1, 2, 3, 0]], [[5, 6, 7, 8, 9, 10, 11], [3, 2, 1, 0, 0, 0, 0]])])


@maker
def rnn_unrolled():
  m = tf.keras.Sequential([L.Input([5, 3]), L.SimpleRNN(4, unroll=True, return_sequences=True), L.TimeDistributed(L.Dense(2))])
  export_keras(m, "rnn_unrolled")
  golden("rnn_unrolled", [("serving_default", {key_of("rnn_unrolled"): normal(2, 5, 3)})])


@maker
def vocabulary():
  vocab = os.path.join("/tmp", "zoo_vocab.txt")
  with open(vocab, "w") as f:
    f.write("\n".join(["the", "cat", "sat", "on", "mat"]) + "\n")

  class Model(tf.Module):
    def __init__(self):
      init = tf.lookup.TextFileInitializer(vocab, tf.string, tf.lookup.TextFileIndex.WHOLE_LINE, tf.int64, tf.lookup.TextFileIndex.LINE_NUMBER)
      self.table = tf.lookup.StaticVocabularyTable(init, 2)
      self.back = tf.lookup.StaticHashTable(tf.lookup.KeyValueTensorInitializer(tf.range(5, dtype=tf.int64), tf.constant(["THE", "CAT", "SAT", "ON", "MAT"])), "?")
      self.emb = tf.Variable(np.arange(21, dtype=np.float32).reshape(7, 3))

    @tf.function(input_signature=[tf.TensorSpec([None], tf.string, name="text")])
    def __call__(self, text):
      words = tf.strings.split(tf.strings.lower(text)).to_tensor("the")
      ids = self.table.lookup(words)
      return {"ids": ids, "vectors": tf.nn.embedding_lookup(self.emb, ids), "names": self.back.lookup(ids)}
  m = Model()
  tf.saved_model.save(m, os.path.join(ZOO, "vocabulary"), signatures=m.__call__)
  golden("vocabulary", [("serving_default", {"text": np.array([b"The cat sat", b"on a mat"])}), ("serving_default", {"text": np.array([b"zebra"])})])


@maker
def keras_strings():
  t = L.StringLookup(vocabulary=["red", "green", "blue"], num_oov_indices=1)
  i = L.Input([1], dtype="string", name="color")
  x = L.Input([2], name="size")
  e = L.Flatten()(L.Embedding(5, 3)(t(i)))
  m = tf.keras.Model([i, x], L.Dense(2)(L.Concatenate()([e, x])))
  m.export(os.path.join(ZOO, "keras_strings"), verbose=False)
  g = tf1.Graph()
  with g.as_default(), tf1.Session(graph=g) as s:
    d = tf1.saved_model.load(s, ["serve"], os.path.join(ZOO, "keras_strings")).signature_def["serving_default"]
  golden("keras_strings", [("serving_default", {k: (np.array([[b"green"], [b"mauve"]]) if v.dtype == 7 else np.float32([[1, 2], [3, 4]])) for k, v in d.inputs.items()})])


@maker
def transformer():
  i = L.Input([None, 8])
  a = L.MultiHeadAttention(2, 4)(i, i)
  x = L.LayerNormalization()(i + a)
  f = L.Dense(8)(L.Dense(16, "gelu")(x))
  m = tf.keras.Model(i, L.LayerNormalization()(x + f))
  export_keras(m, "transformer")
  golden("transformer", [("serving_default", {key_of("transformer"): normal(b, t, 8)}) for b, t in ((1, 4), (2, 7))])


@maker
def several_signatures():
  class Model(tf.Module):
    def __init__(self):
      self.w = tf.Variable(normal(3, 2), name="w")
      self.count = tf.Variable(0, dtype=tf.int64, name="count", trainable=False)

    @tf.function(input_signature=[tf.TensorSpec([None, 3], tf.float32, name="x")])
    def predict(self, x):
      return {"y": tf.matmul(x, self.w)}

    @tf.function(input_signature=[tf.TensorSpec([], tf.int64, name="by")])
    def step(self, by):
      self.count.assign_add(by)
      return {"count": self.count.read_value()}

    @tf.function(input_signature=[tf.TensorSpec([None], tf.float32, name="v"), tf.TensorSpec([], tf.bool, name="up")])
    def branch(self, v, up):
      n = tf.constant(0)
      while tf.reduce_sum(v) < 100. and n < 20:
        v, n = (v * 2. if up else v + 1.), n + 1
      return {"v": v, "n": n}
  m = Model()
  tf.saved_model.save(m, os.path.join(ZOO, "several_signatures"), signatures={"predict": m.predict, "step": m.step, "branch": m.branch})
  golden("several_signatures", [("predict", {"x": normal(2, 3)}), ("step", {"by": np.int64(3)}), ("step", {"by": np.int64(4)}),
                                ("branch", {"v": np.float32([1, 2]), "up": np.bool_(True)}), ("branch", {"v": np.float32([1, 2]), "up": np.bool_(False)})])


def tf1_model(name, build, runs):
  g = tf1.Graph()
  with g.as_default(), tf1.Session(graph=g) as s:
    was = tf1.control_flow_v2_enabled()
    tf1.disable_control_flow_v2()
    ins, outs, main_op = build()
    if was:
      tf1.enable_control_flow_v2()
    s.run(tf1.global_variables_initializer())
    s.run(tf1.tables_initializer())
    b = tf1.saved_model.Builder(os.path.join(ZOO, name))
    sig = tf1.saved_model.build_signature_def({k: tf1.saved_model.build_tensor_info(v) for k, v in ins.items()},
                                              {k: tf1.saved_model.build_tensor_info(v) for k, v in outs.items()}, "tensorflow/serving/predict")
    b.add_meta_graph_and_variables(s, ["serve"], {"serving_default": sig}, main_op=main_op, strip_default_attrs=name.endswith("while"),
                                   assets_collection=tf1.get_collection(tf1.GraphKeys.ASSET_FILEPATHS))
    b.save()
  golden(name, [("serving_default", r) for r in runs])


@maker
def tf1_while():
  def build():
    x = tf1.placeholder(tf.float32, [None, 4], "x")
    n = tf1.placeholder(tf.int32, [], "n")
    w = tf1.get_variable("w", initializer=normal(4, 4) / 3, use_resource=True)
    b = tf1.get_variable("b", initializer=np.zeros(4, np.float32), use_resource=True)
    i, y = tf1.while_loop(lambda i, y: i < n, lambda i, y: (i + 1, tf.tanh(tf.matmul(y, w) + b)), [0, x])
    z = tf1.cond(tf.reduce_mean(y) > 0, lambda: y * 2, lambda: y - 1)
    return {"x": x, "n": n}, {"y": z, "steps": i}, None
  tf1_model("tf1_while", build, [{"x": normal(2, 4), "n": np.int32(k)} for k in (0, 1, 6)])


@maker
def tf1_refs():
  def build():
    x = tf1.placeholder(tf.float32, [None, 4], "x")
    w = tf1.get_variable("w", initializer=normal(4, 3), use_resource=False)
    p = tf1.get_variable("p", [6, 2], partitioner=tf1.fixed_size_partitioner(3), use_resource=False, initializer=tf1.ones_initializer())
    y = tf1.nn.relu(tf.matmul(x, w)) + tf.reduce_sum(tf.convert_to_tensor(p))
    return {"x": x}, {"y": y}, None
  tf1_model("tf1_refs", build, [{"x": normal(2, 4)}])


@maker
def tf1_examples():
  """What an estimator's serving graph looks like: serialized tf.Example in, scores and classes out."""
  def build():
    s = tf1.placeholder(tf.string, [None], "input_example_tensor")
    f = tf1.io.parse_example(s, {"age": tf.io.FixedLenFeature([1], tf.float32), "job": tf.io.VarLenFeature(tf.string),
                                 "hours": tf.io.FixedLenFeature([2], tf.int64, default_value=[1, 2])})
    vocab = "/tmp/zoo_jobs.txt"
    with open(vocab, "w") as fd:
      fd.write("baker\npilot\n")
    asset = tf1.constant(vocab, name="vocab_path")
    tf1.add_to_collection(tf1.GraphKeys.ASSET_FILEPATHS, asset)
    table = tf.lookup.StaticHashTable(tf.lookup.TextFileInitializer(asset, tf.string, tf.lookup.TextFileIndex.WHOLE_LINE, tf.int64,
                                                                   tf.lookup.TextFileIndex.LINE_NUMBER), -1)
    job = table.lookup(tf.sparse.to_dense(f["job"], default_value="none"))
    w = tf1.get_variable("w", initializer=normal(1, 2), use_resource=True)
    score = tf.nn.softmax(tf.matmul(f["age"], w) + tf.cast(tf.reduce_sum(f["hours"], 1, keepdims=True), tf.float32) * .1)
    return {"inputs": s}, {"scores": score, "job": job, "hours": f["hours"]}, tf1.tables_initializer()

  def example(age, jobs, hours=None):
    e = tf.train.Example()
    e.features.feature["age"].float_list.value.append(age)
    e.features.feature["job"].bytes_list.value.extend(jobs)
    if hours:
      e.features.feature["hours"].int64_list.value.extend(hours)
    return e.SerializeToString(deterministic=True) + b""
  tf1_model("tf1_examples", build, [{"inputs": np.array([example(1.5, [b"pilot"]), example(-2., [b"cook", b"baker"], [4, 5])], dtype=object)}])


@maker
def tf1_meta():
  """A training checkpoint: model.ckpt-7.meta, .index, .data and the file that names the latest."""
  path = os.path.join(ZOO, "tf1_meta")
  os.makedirs(path)
  g = tf1.Graph()
  with g.as_default(), tf1.Session(graph=g) as s:
    x = tf1.placeholder(tf.float32, [None, 3], "x")
    w = tf1.get_variable("w", initializer=normal(3, 2), use_resource=True)
    keys = tf.lookup.KeyValueTensorInitializer(["a", "b"], tf.constant([1, 2], tf.int64))
    table = tf.lookup.StaticHashTable(keys, -1)
    word = tf1.placeholder(tf.string, [None], "word")
    tf.identity(table.lookup(word), "number")
    y = tf.nn.relu(tf.matmul(x, w), name="y")
    s.run([tf1.global_variables_initializer(), tf1.tables_initializer()])
    saver = tf1.train.Saver()
    saver.save(s, os.path.join(path, "model.ckpt"), global_step=7)
    v = normal(2, 3)
    words = np.array([b"b", b"c"])
    yv, nv = s.run([y, "number:0"], {x: v, word: words})
  np.savez(path + ".golden.npz", x=v, y=yv, word=as_bytes(words), number=nv)
  state = os.path.join(path, "checkpoint")
  text = open(state).read().replace(os.path.abspath(path) + "/", "")
  open(state, "w").write(text)


@maker
def text_pb():
  """The same as an MLP, but written as text, with two sets of tags."""
  class Model(tf.Module):
    def __init__(self):
      self.v = tf.Variable([1., -2.])

    @tf.function(input_signature=[tf.TensorSpec([None, 2], tf.float32, name="x")])
    def f(self, x):
      return {"y": tf.nn.relu(x * self.v)}
  m = Model()
  path = os.path.join(ZOO, "text_pb")
  tf.saved_model.save(m, path, signatures=m.f)
  golden("text_pb", [("serving_default", {"x": normal(3, 2)})])
  from google.protobuf import text_format
  from tensorflow.core.protobuf import saved_model_pb2
  p = saved_model_pb2.SavedModel.FromString(open(os.path.join(path, "saved_model.pb"), "rb").read())
  gpu = p.meta_graphs.add()
  gpu.CopyFrom(p.meta_graphs[0])
  gpu.meta_info_def.tags[:] = ["gpu", "serve"]
  open(os.path.join(path, "saved_model.pbtxt"), "w").write(text_format.MessageToString(p))
  os.remove(os.path.join(path, "saved_model.pb"))


@maker
def tables():
  """Tables that a checkpoint restores, one that a file fills, and a file that is read."""
  vocab = os.path.join("/tmp", "zoo_pairs.csv")
  with open(vocab, "w") as f:
    f.write("a,1\nb,2\n")

  class Model(tf.Module):
    def __init__(self):
      files = tf.lookup.TextFileInitializer(vocab, tf.string, 0, tf.float32, 1, delimiter=",")
      self.fixed = tf.lookup.StaticHashTable(files, -1.)
      self.words = tf.lookup.experimental.MutableHashTable(tf.string, tf.int64, -1)
      self.words.insert(["q", "r"], tf.constant([5, 6], tf.int64))
      self.dense = tf.lookup.experimental.DenseHashTable(tf.int64, tf.float32, 0., -1, -2, initial_num_buckets=8)
      self.dense.insert(tf.constant([3, 4], tf.int64), [.5, .6])
      self.file = tf.saved_model.Asset(vocab)

    @tf.function(input_signature=[tf.TensorSpec([None], tf.string, name="key"), tf.TensorSpec([None], tf.int64, name="number")])
    def find(self, key, number):
      return {"fixed": self.fixed.lookup(key), "words": self.words.lookup(key), "dense": self.dense.lookup(number),
              "file": tf.io.read_file(self.file.asset_path)}

    @tf.function(input_signature=[tf.TensorSpec([None], tf.string, name="key"), tf.TensorSpec([None], tf.int64, name="value")])
    def learn(self, key, value):
      self.words.insert(key, value)
      return {"size": self.words.size()}
  m = Model()
  tf.saved_model.save(m, os.path.join(ZOO, "tables"), signatures={"find": m.find, "learn": m.learn})
  look = ("find", {"key": np.array([b"a", b"b", b"q", b"new"]), "number": np.int64([3, 9])})
  golden("tables", [look, ("learn", {"key": np.array([b"new", b"q"]), "value": np.int64([7, 8])}), look])


@maker
def preprocessing():
  """Raw features of every kind in, encoded by Keras' preprocessing layers, crossed and embedded."""
  a, b = L.Input([1], dtype="string", name="city"), L.Input([1], dtype="string", name="job")
  i, x, t = L.Input([3], dtype="int64", name="codes"), L.Input([2], name="x"), L.Input([1], dtype="string", name="text")
  parts = [L.HashedCrossing(7, output_mode="one_hot")((a, b)), L.Hashing(5, output_mode="one_hot", salt=[3, 4])(a),
           L.StringLookup(vocabulary=["cook", "pilot"], output_mode="multi_hot")(b), L.CategoryEncoding(4, "count")(i),
           L.Normalization(mean=[1., 2.], variance=[.5, 2.])(x), L.Discretization([-.5, .5], output_mode="one_hot")(x[:, :1]),
           L.Flatten()(L.TextVectorization(ngrams=2, output_mode="tf_idf", vocabulary=["the", "cat", "the cat"], idf_weights=[.5, .7, .9])(t))]
  words = L.TextVectorization(output_sequence_length=4, vocabulary=["the", "cat"])(t)
  parts.append(L.Flatten()(L.Embedding(4, 2)(words)))
  m = tf.keras.Model([a, b, i, x, t], {"y": L.Dense(2)(L.Concatenate()(parts)), "words": words})
  export_keras(m, "preprocessing")
  golden("preprocessing", [("serving_default", {"city": np.array([[b"Rome"], [b"Oslo"]]), "job": np.array([[b"cook"], [b"poet"]]),
                                                "codes": np.int64([[0, 1, 1], [3, 2, 3]]), "x": normal(2, 2),
                                                "text": np.array([[b"The cat, sat!"], [b"a dog"]])})])


@maker
def ragged_examples():
  """Serialized tf.Example in; ragged, sparse and defaulted features; words split and joined."""
  class Model(tf.Module):
    @tf.function(input_signature=[tf.TensorSpec([None], tf.string, name="examples")])
    def f(self, examples):
      p = tf.io.parse_example(examples, {"a": tf.io.FixedLenFeature([2], tf.float32, default_value=[0., 1.]), "b": tf.io.VarLenFeature(tf.int64),
                                         "c": tf.io.FixedLenSequenceFeature([], tf.string, allow_missing=True, default_value="?"),
                                         "r": tf.io.RaggedFeature(tf.int64), "s": tf.io.SparseFeature("ix", "vl", tf.float32, 10)})
      words = tf.strings.split(tf.strings.reduce_join(p["c"], 1, separator=" "))
      return {"a": p["a"], "b": tf.sparse.to_dense(p["b"]), "c": p["c"], "r": p["r"].to_tensor(), "sum": tf.reduce_sum(p["r"], 1),
              "s": tf.sparse.to_dense(p["s"]), "pairs": tf.strings.ngrams(words, 2).to_tensor("-"), "lengths": tf.strings.length(words).to_tensor()}

  def example(**features):
    e = tf.train.Example()
    for k, v in features.items():
      f = e.features.feature[k]
      {float: f.float_list, int: f.int64_list, bytes: f.bytes_list}[type(v[0])].value.extend(v)
    return e.SerializeToString(deterministic=True)
  m = Model()
  tf.saved_model.save(m, os.path.join(ZOO, "ragged_examples"), signatures=m.f)
  golden("ragged_examples", [("serving_default", {"examples": np.array([
      example(a=[1., 2.], b=[1, 2, 3], c=[b"x y"], r=[4]), example(c=[b"p", b"q"], ix=[3, 7], vl=[.5, .25]), example(b=[9], r=[1, 2])], dtype=object)})])


@maker
def photo():
  """Encoded pictures in: decoded, resized each by itself, convolved."""
  class Model(tf.Module):
    def __init__(self):
      self.w = tf.Variable(normal(3, 3, 3, 2), name="w")

    @tf.function(input_signature=[tf.TensorSpec([None], tf.string, name="bytes")])
    def f(self, data):
      def one(b):
        im = tf.io.decode_image(b, 3, expand_animations=False)
        im.set_shape([None, None, 3])
        return tf.image.resize(tf.image.convert_image_dtype(im, tf.float32), [6, 6])
      batch = tf.map_fn(one, data, fn_output_signature=tf.float32)
      return {"y": tf.nn.conv2d(batch, self.w, 1, "SAME"), "grey": tf.image.rgb_to_grayscale(batch)}
  m = Model()
  tf.saved_model.save(m, os.path.join(ZOO, "photo"), signatures=m.f)
  pictures = [rng.integers(0, 255, (h, w, 3)).astype(np.uint8) for h, w in ((12, 10), (5, 7))]
  golden("photo", [("serving_default", {"bytes": np.array([tf.io.encode_png(p).numpy() for p in pictures], dtype=object)})])


@maker
def masked():
  """Masks through recurrent layers and attention, with stacked cells."""
  ids = L.Input([None], dtype="int32", name="ids")
  x = L.Embedding(12, 4, mask_zero=True)(ids)
  h = L.Bidirectional(L.GRU(3, return_sequences=True), merge_mode="sum")(x)
  a = L.MultiHeadAttention(2, 2)(h, h, use_causal_mask=True)
  r = L.RNN([L.LSTMCell(3), L.GRUCell(2)])(L.LayerNormalization()(a + h))
  m = tf.keras.Model(ids, {"y": L.Dense(2, "softmax")(r), "steps": L.TimeDistributed(L.Dense(1))(a)})
  export_keras(m, "masked")
  golden("masked", [("serving_default", {key_of("masked"): np.array(v, np.int32)}) for v in ([[1, 2, 3, 0], [4, 5, 0, 0]], [[7]])])


@maker
def tf1_nested():
  """Loops in loops with a cond inside, a TensorArray, a counter that is a reference variable, a gradient."""
  def build():
    x = tf1.placeholder(tf.float32, [None, 3], "x")
    n = tf1.placeholder(tf.int32, [], "n")
    w = tf1.get_variable("w", initializer=normal(3, 3), use_resource=False)
    c = tf1.get_variable("c", initializer=0., use_resource=False)

    def body(i, y, steps):
      _, z = tf1.while_loop(lambda j, z: j < i, lambda j, z: (j + 1, tf.tanh(tf.matmul(z, w))), [0, y])
      z = tf1.cond(tf.equal(i % 2, 0), lambda: z + 1, lambda: z * .5)
      return i + 1, z, steps.write(i, z)
    _, y, steps = tf1.while_loop(lambda i, *_: i < n, body, [0, x, tf.TensorArray(tf.float32, size=n)])
    tf1.assign_add(c, 1., name="count")  # not fetched: tests run a case more than once
    case = tf1.case([(n < 2, lambda: x), (n < 3, lambda: -x)], default=lambda: x * 3)
    return {"x": x, "n": n}, {"y": y, "steps": steps.stack(), "case": case, "slope": tf1.gradients(tf.reduce_sum(y), [x])[0]}, None
  tf1_model("tf1_nested", build, [{"x": normal(2, 3), "n": np.int32(k)} for k in (1, 2, 4)])


@maker
def tf1_composite():
  def build():
    s = tf1.sparse_placeholder(tf.float32, [None, 4], "s")
    r = tf1.ragged.placeholder(tf.float32, 1, [], name="r")
    w = tf1.get_variable("w", initializer=np.arange(8, dtype=np.float32).reshape(4, 2))
    return {"s": s, "r": r}, {"product": tf1.sparse.sparse_dense_matmul(s, w), "sums": tf.reduce_sum(r, 1), "twice": r * 2.,
                              "top": tf1.sparse.slice(s, [0, 0], [1, 4])}, None
  tf1_model("tf1_composite", build, [{"s/indices": np.array([[0, 1], [1, 3]], np.int64), "s/values": np.array([2., 3.], np.float32),
                                      "s/dense_shape": np.array([2, 4], np.int64), "r/flat_values": np.array([1., 2., 4.], np.float32),
                                      "r/row_splits_0": np.array([0, 1, 1, 3], np.int64)}])


def main():
  os.makedirs(ZOO, exist_ok=True)
  for name in sys.argv[1:] or sorted(makers):
    shutil.rmtree(os.path.join(ZOO, name), ignore_errors=True)
    makers[name]()
    for extra in ("fingerprint.pb", "keras_metadata.pb"):
      p = os.path.join(ZOO, name, extra)
      if name != "mlp" and os.path.exists(p):
        os.remove(p)
    total = sum(os.path.getsize(os.path.join(d, f)) for d, _, fs in os.walk(os.path.join(ZOO, name)) for f in fs)
    print("%-20s %7d bytes" % (name, total), flush=True)


main()
