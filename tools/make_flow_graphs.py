#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Graphs with TensorFlow 1's control flow and what the real TensorFlow makes of them.

Writes tests/data/flow/NAME.pb (GraphDef) and tests/data/flow/cases.txt, read by
tests/unit/test_execute_flow.c:

  case NAME                       the graph; a fresh session for it
  run                             starts a run of that session
  feed TENSOR DTYPE SHAPE VALUES
  fetch TENSOR DTYPE SHAPE VALUES expected; in an error case without the last three
  target NODE
  error CODE TEXT                 the run fails like this (TEXT: the first line of the message)
  end

Run with a Python that has TensorFlow: tools/make_flow_graphs.py
"""
import os
os.environ["TF_CPP_MIN_LOG_LEVEL"] = "3"
os.environ["CUDA_VISIBLE_DEVICES"] = ""
import numpy as np
import tensorflow as tf
from tensorflow.python.ops import gen_control_flow_ops as gcf

from tensorflow.python.framework import error_interpolation
error_interpolation.interpolate_graph = lambda message, graph: message  # as the runtime said it

tf1 = tf.compat.v1
tf1.disable_eager_execution()
tf1.disable_control_flow_v2()
HERE = os.path.join(os.path.dirname(os.path.abspath(__file__)), "..", "tests", "data", "flow")
out = []


def text_of(a):
  a = np.asarray(a)
  if a.dtype.kind in "SUO":
    vals = [(v if isinstance(v, bytes) else str(v).encode()).hex() or "-" for v in a.ravel()]
    dtype = "string"
  elif a.dtype == np.bool_:
    vals, dtype = [str(int(v)) for v in a.ravel()], "bool"
  elif a.dtype.kind == "f":
    vals, dtype = [repr(float(v)) for v in a.ravel()], {4: "float", 8: "double"}[a.dtype.itemsize]
  else:
    vals, dtype = [str(int(v)) for v in a.ravel()], a.dtype.name
  shape = ",".join(map(str, a.shape)) or "-"
  return "%s %s %s" % (dtype, shape, " ".join(vals) if vals else "")


def case(name, build, runs, grappler=False):
  g = tf1.Graph()
  with g.as_default():
    build()
  d = g.as_graph_def()
  with open(os.path.join(HERE, name + ".pb"), "wb") as f:
    f.write(d.SerializeToString(deterministic=True))
  # A fresh import forgets Python's marks about what may be fetched.
  g2 = tf1.Graph()
  with g2.as_default():
    tf1.import_graph_def(d, name="")
  cfg = tf1.ConfigProto()
  cfg.graph_options.rewrite_options.disable_meta_optimizer = not grappler
  out.append("case %s" % name)
  with tf1.Session(graph=g2, config=cfg) as s:
    for feeds, fetches, targets in runs:
      out.append("run")
      for k, v in feeds.items():
        v = np.asarray(v)
        out.append("feed %s %s" % (k, text_of(v)))
      try:
        r = s.run([fetches, [g2.get_operation_by_name(t) for t in targets]], feeds)[0]
        for k, v in zip(fetches, r):
          out.append("fetch %s %s" % (k, text_of(v)))
      except tf.errors.OpError as e:
        for k in fetches:
          out.append("fetch %s" % k)
        out.append("error %d %s" % (e.error_code, e.message.split("\n")[0]))
        print("  ", name, e.error_code, e.message.split("\n")[0])
      for t in targets:
        out.append("target %s" % t)
      out.append("end")


def f32(*v):
  return np.array(v if len(v) != 1 else v[0], np.float32)


def cond_simple():
  p = tf1.placeholder(tf.bool, [], name="p")
  x = tf1.placeholder(tf.float32, [None], name="x")
  a, b, c = tf1.cond(p, lambda: (x * 2, x + 1, tf.constant(7)), lambda: (x - 1, tf.exp(x), tf.constant(9)))
  tf.identity(a, "a"); tf.identity(b, "b"); tf.identity(c, "c")
  tf.add(a, tf.reduce_sum(b), name="after")


def cond_nested():
  x = tf1.placeholder(tf.float32, [], name="x")
  y = tf1.cond(x > 0, lambda: tf1.cond(x > 10, lambda: x * 100, lambda: tf1.cond(x > 5, lambda: x * 10, lambda: x)),
               lambda: tf1.cond(x < -10, lambda: -x, lambda: x * 0))
  tf.identity(y, "y")
  z = tf1.cond(y > 3, lambda: y + 1, lambda: y - 1)
  tf.identity(z, "z")


def cond_effects():
  v = tf1.get_variable("v", initializer=tf.constant(1.0), use_resource=True)
  p = tf1.placeholder(tf.bool, [], name="p")
  init = tf1.global_variables_initializer()
  tf.group(init, name="init")
  c = tf1.cond(p, lambda: v.assign_add(10.0).op, lambda: tf.no_op())
  with tf1.control_dependencies([c] if isinstance(c, tf.Operation) else [c]):
    tf.identity(v.read_value(), name="r")
  tf.identity(v.read_value(), name="now")
  w = tf1.get_variable("w", initializer=tf.constant(0), use_resource=True)
  tf.group(w.initializer, name="winit")
  tf1.cond(p, lambda: tf.group(w.assign_add(1)), lambda: tf.group(w.assign_sub(1)), name="effects")
  tf.identity(w.read_value(), name="wnow")


def assert_guard():
  x = tf1.placeholder(tf.float32, [None], name="x")
  chk = tf1.Assert(tf.reduce_all(x > 0), [x], name="check")
  with tf1.control_dependencies([chk]):
    tf.identity(tf.sqrt(x), "y")
  a = tf1.assert_equal(tf.size(x), 3, message="three")
  with tf1.control_dependencies([a]):
    tf.identity(x * 2, "z")


def raw_switch():
  p = tf1.placeholder(tf.bool, None, name="p")
  x = tf1.placeholder(tf.float32, None, name="x")
  f, t = gcf.switch(x, p, name="sw")
  tf.identity(f, "onlyf")
  tf.identity(t, "onlyt")
  n = tf.negative(t, name="neg")
  e = tf.exp(f, name="exp")
  m, i = gcf.merge([e, n], name="m")
  tf.identity(i, "index")
  tf.add(m, 1.0, name="after")
  # dead into a Merge with a live third
  m3, i3 = gcf.merge([t, t, tf.negative(f)], name="m3")
  tf.identity(i3, "index3")
  # a dead operand makes the sum dead; the merge rescues it
  s = tf.add(t, x, name="partly")
  m4, _ = gcf.merge([s, f], name="m4")
  tf.identity(m4, "rescued")
  # two different predicates: nothing can be said before the run
  q = tf1.placeholder(tf.bool, [], name="q")
  qf, qt = gcf.switch(x * 3, q)
  m5, i5 = gcf.merge([t, qt], name="m5")
  tf.identity(m5, "either")
  tf.add(tf.identity(m5), 5.0, name="either5")
  # control edge from a dead node
  with tf1.control_dependencies([n]):
    tf.constant(5.0, name="controlled")
  with tf1.control_dependencies([n, e]):
    gcf.control_trigger(name="trigger")
  with tf1.control_dependencies([g_op("trigger")]):
    tf.constant(6.0, name="triggered")


def g_op(name):
  return tf1.get_default_graph().get_operation_by_name(name)


def switch_n():
  x = tf1.placeholder(tf.float32, [2], name="x")
  i = tf1.placeholder(tf.int32, [], name="i")
  op = tf1.get_default_graph().create_op("_SwitchN", [x, i], [tf.float32] * 3, name="sn", attrs={
      "num_outs": tf1.AttrValue(i=3), "T": tf1.AttrValue(type=tf.float32.as_datatype_enum)})
  a, b, c = op.outputs
  m, k = gcf.merge([a + 1, b * 2, c - 3], name="m")
  tf.add(m, 10.0, name="y")
  tf.identity(k, "k")


def while_simple():
  n = tf1.placeholder(tf.int32, [], name="n")
  x = tf1.placeholder(tf.float32, [2, 2], name="x")
  w = tf.constant([[0.5, 1.0], [-1.0, 0.25]])
  i, y = tf1.while_loop(lambda i, y: i < n, lambda i, y: (i + 1, tf.matmul(y, w) + tf.cast(i, tf.float32)), [0, x])
  tf.identity(i, "i"); tf.identity(y, "y")
  tf.add(tf.reduce_sum(y), tf.cast(i, tf.float32), name="after")


def while_nested():
  n = tf1.placeholder(tf.int32, [], name="n")

  def outer(i, acc):
    j, a = tf1.while_loop(lambda j, a: j < i, lambda j, a: (j + 1, a + j * i), [0, acc], parallel_iterations=3)
    return i + 1, tf1.cond(tf.equal(i % 2, 0), lambda: a + j, lambda: tf1.while_loop(lambda q: q < a, lambda q: q + 50, [a - 20]))
  i, acc = tf1.while_loop(lambda i, acc: i < n, outer, [0, 1], parallel_iterations=1)
  tf.identity(i, "i"); tf.identity(acc, "acc")


def while_in_cond():
  p = tf1.placeholder(tf.bool, [], name="p")
  x = tf1.placeholder(tf.float32, [None], name="x")
  k = tf.constant(2.0)
  y = tf1.cond(p, lambda: tf1.while_loop(lambda y: tf.reduce_sum(y) < 100., lambda y: y * k, [x + 1.]),
               lambda: x)
  tf.identity(y, "y")


def while_ta():
  x = tf1.placeholder(tf.float32, [None, 2], name="x")
  n = tf.shape(x)[0]
  src = tf1.TensorArray(tf.float32, size=n).unstack(x)
  dst = tf1.TensorArray(tf.float32, size=n)

  def body(i, h, ta):
    h = tf.tanh(src.read(i) + 0.5 * h)
    return i + 1, h, ta.write(i, h)
  _, h, ta = tf1.while_loop(lambda i, h, ta: i < n, body, [0, tf.zeros([2]), dst])
  tf.identity(h, "h")
  tf.identity(ta.stack(), "ys")


def while_grow():
  n = tf1.placeholder(tf.int32, [], name="n")
  i, y = tf1.while_loop(lambda i, y: i < n, lambda i, y: (i + 1, tf.concat([y, [i * i]], 0)), [0, tf.constant([], tf.int32)],
                        shape_invariants=[tf.TensorShape([]), tf.TensorShape([None])])
  tf.identity(y, "y")


def while_effects():
  v = tf1.get_variable("v", initializer=tf.constant(0.0), use_resource=True)
  n = tf1.placeholder(tf.int32, [], name="n")
  tf.group(v.initializer, name="init")

  def body(i):
    with tf1.control_dependencies([v.assign_add(tf.cast(i, tf.float32))]):
      return tf.identity(i + 1)
  i = tf1.while_loop(lambda i: i < n, body, [0], parallel_iterations=1)
  with tf1.control_dependencies([i]):
    tf.identity(v.read_value(), "v_after")
  tf.identity(i, "i")


def while_vars():
  n = tf1.placeholder(tf.int32, [], name="n")
  vs = [tf.constant(float(k)) for k in range(12)]
  r = tf1.while_loop(lambda i, *a: i < n, lambda i, *a: [i + 1] + list(a[1:]) + [a[0] + a[1]], [tf.constant(0)] + vs)
  for k, t in enumerate(r):
    tf.identity(t, "r%d" % k)


def while_strings():
  s = tf1.placeholder(tf.string, [], name="s")
  _, t = tf1.while_loop(lambda i, t: i < 3, lambda i, t: (i + 1, tf.strings.join([t, s, tf.strings.as_string(i)], "-")), [0, s])
  tf.identity(t, "t")


def while_grad():
  x = tf1.placeholder(tf.float32, [3], name="x")
  w = tf.constant([0.1, 0.2, 0.3])
  _, y = tf1.while_loop(lambda i, y: i < 4, lambda i, y: (i + 1, tf.tanh(y * w + x)), [0, x])
  g = tf1.gradients(tf.reduce_sum(y), [x])[0]
  tf.identity(y, "y"); tf.identity(g, "g")


def cond_grad():
  x = tf1.placeholder(tf.float32, [3], name="x")
  p = tf1.placeholder(tf.bool, [], name="p")
  y = tf1.cond(p, lambda: x * x, lambda: tf.sin(x))
  tf.identity(y, "y")
  tf.identity(tf1.gradients(y, [x])[0], "g")


def case_v1():
  i = tf1.placeholder(tf.int32, [], name="i")
  x = tf1.placeholder(tf.float32, [], name="x")
  y = tf1.case([(tf.equal(i, 0), lambda: x + 1), (tf.equal(i, 1), lambda: x * 2), (tf.equal(i, 2), lambda: x - 5)],
               default=lambda: -x)
  tf.identity(y, "y")
  z = tf1.case({x < 0.: lambda: tf.constant(1), x > 10.: lambda: tf.constant(2)}, default=lambda: tf.constant(3), exclusive=True)
  tf.identity(z, "z")


def scan_map():
  x = tf1.placeholder(tf.float32, [None, 3], name="x")
  tf.identity(tf1.map_fn(lambda r: tf.reduce_sum(r * r), x), "m")
  tf.identity(tf1.scan(lambda a, r: a * 0.5 + r, x), "s")
  tf.identity(tf1.foldl(lambda a, r: a + r, x), "f")


def in_function():
  from tensorflow.python.framework import function

  @function.Defun(tf.bool, tf.float32, func_name="OldCond")
  def f(p, x):
    return tf1.cond(p, lambda: x * 2, lambda: x + 100)

  @function.Defun(tf.int32, tf.float32, func_name="OldWhile")
  def w(n, x):
    return tf1.while_loop(lambda i, x: i < n, lambda i, x: (i + 1, x * 2), [0, x])[1]
  p = tf1.placeholder(tf.bool, [], name="p")
  n = tf1.placeholder(tf.int32, [], name="n")
  x = tf1.placeholder(tf.float32, [], name="x")
  tf.add(f(p, x), f(tf.logical_not(p), x), name="y")
  tf.add(w(n, x), w(n + 1, x), name="z")


def frames_mixed():
  x = tf1.placeholder(tf.float32, [], name="x")
  e = gcf.enter(x, "fr", name="e")
  tf.add(e, x, name="bad")
  gcf._exit(e, name="straight")
  c = gcf.enter(x * 2, "other", is_constant=True)
  tf.identity(gcf._exit(tf.negative(c)), "through")


def fetch_inside():
  i = tf1.while_loop(lambda i: i < 3, lambda i: tf.add(i, 1, name="inc"), [tf.constant(0)], name="w")
  tf.identity(i, "i")


def cond_refs():
  """Reference variables reach the branches through RefSwitch."""
  v = tf1.get_variable("v", initializer=tf.constant([1., 2.]), use_resource=False)
  p = tf1.placeholder(tf.bool, [], name="p")
  tf.group(v.initializer, name="init")
  y = tf1.cond(p, lambda: tf1.assign_add(v, [10., 10.]), lambda: tf1.assign_sub(v, [1., 1.]), name="c")
  tf.identity(y, "y")
  tf.identity(v, "now")
  f, t = gcf.ref_switch(v._variable, p, name="rs")
  m, i = gcf.ref_merge([tf1.assign(f, [7., 7.]), tf1.assign(t, [8., 8.])], name="rm")
  tf.identity(m, "merged")
  tf.identity(i, "which")
  w = tf1.get_variable("w", initializer=0, use_resource=False)
  tf.group(w.initializer, name="winit")
  n = tf1.placeholder(tf.int32, [], name="n")

  def body(i):
    with tf1.control_dependencies([tf1.assign_add(w, i)]):
      return tf.identity(i + 1)
  tf.identity(tf1.while_loop(lambda i: i < n, body, [0], parallel_iterations=1), "i")
  tf.identity(w, "wnow")


def dynamic_rnn():
  """An RNN over sequences of several lengths, as TensorFlow 1 models have them."""
  x = tf1.placeholder(tf.float32, [None, None, 3], name="x")
  lengths = tf1.placeholder(tf.int32, [None], name="lengths")
  w = tf.constant(np.linspace(-1, 1, 28).reshape(7, 4).astype(np.float32))
  time, batch = tf.shape(x)[1], tf.shape(x)[0]
  xs = tf1.TensorArray(tf.float32, size=time).unstack(tf.transpose(x, [1, 0, 2]))
  ys = tf1.TensorArray(tf.float32, size=time)

  def body(t, h, ys):
    new = tf.tanh(tf.matmul(tf.concat([xs.read(t), h], 1), w))
    done = tf.expand_dims(t >= lengths, 1)
    out = tf.where(done, tf.zeros_like(new), new)
    h = tf1.cond(t < tf.reduce_min(lengths), lambda: new, lambda: tf.where(done, h, new))
    return t + 1, h, ys.write(t, out)
  _, h, ys = tf1.while_loop(lambda t, *_: t < time, body, [0, tf.zeros([batch, 4]), ys])
  tf.identity(h, "h")
  tf.identity(tf.transpose(ys.stack(), [1, 0, 2]), "ys")


def dead_loops():
  """Loops that a branch does not enter, and loops that leave by several doors."""
  p = tf1.placeholder(tf.bool, [], name="p")
  x = tf1.placeholder(tf.float32, [], name="x")
  f, t = gcf.switch(x, p)
  a = tf1.while_loop(lambda v: v < 50., lambda v: v * 3., [t], name="a")
  b, c = tf1.while_loop(lambda v, k: v < 10., lambda v, k: (v + k, k), [f, 2.], name="b")
  m, i = gcf.merge([a, b], name="m")
  tf.identity(m, "y")
  tf.identity(i, "which")
  tf.identity(a, "a_out")
  with tf1.control_dependencies([a]):
    tf.constant(1.0, name="after_a")
  nested = tf1.cond(p, lambda: tf1.while_loop(lambda v: v < 5., lambda v: tf1.cond(v > 2., lambda: v + 2., lambda: v + 1.), [x]),
                    lambda: tf1.while_loop(lambda v: v > -5., lambda v: v - 1., [x]))
  tf.identity(nested, "nested")


def functional():
  """For and RemoteCall: loops and calls by function that no pass of TensorFlow rewrites."""
  from tensorflow.python.framework import function
  from tensorflow.python.ops import functional_ops

  @function.Defun(tf.int32, tf.float32, tf.float32, func_name="ForBody")
  def body(i, a, b):
    return a + tf.cast(i, tf.float32), b * 2.

  @function.Defun(tf.float32, func_name="Remote")
  def remote(x):
    return x + 1., tf.reduce_sum(x)
  n = tf1.placeholder(tf.int32, [], name="n")
  d = tf1.placeholder(tf.int32, [], name="d")
  x = tf1.placeholder(tf.float32, [2], name="x")
  a, b = functional_ops.For(0, n, d, [x, 1.0], body, rewrite_with_while=False)
  tf.identity(a, "a"); tf.identity(b, "b")
  u, v = functional_ops.remote_call(target="/job:localhost/replica:0/task:0/device:CPU:0", args=[x], Tout=[tf.float32, tf.float32], f=remote)
  tf.identity(u, "u"); tf.identity(v, "v")


B = np.bool_
case("functional", functional, [({"n:0": np.int32(n), "d:0": np.int32(d), "x:0": f32([1, 2])}, ["a:0", "b:0"], [])
                                for n, d in ((0, 1), (5, 1), (5, 2), (-4, -1), (-4, 1), (3, 0), (4, -1))] +
     [({"x:0": f32([1, 2])}, ["u:0", "v:0"], [])])
case("cond_refs", cond_refs, [({}, [], ["init", "winit"]), ({"p:0": B(True)}, ["y:0"], []), ({}, ["now:0"], []), ({"p:0": B(False)}, ["y:0"], []),
                              ({}, ["now:0"], []), ({"p:0": B(True)}, ["merged:0", "which:0"], []), ({}, ["now:0"], []),
                              ({"p:0": B(False)}, ["merged:0", "which:0"], []), ({}, ["now:0"], []), ({"n:0": np.int32(5)}, ["i:0"], []), ({}, ["wnow:0"], [])])
case("dynamic_rnn", dynamic_rnn, [({"x:0": np.linspace(-2, 2, b * t * 3).reshape(b, t, 3).astype(np.float32), "lengths:0": np.array(l, np.int32)}, ["h:0", "ys:0"], [])
                                  for b, t, l in ((2, 4, [4, 2]), (1, 1, [1]), (3, 6, [0, 6, 3]))])
case("dead_loops", dead_loops, [({"p:0": B(v), "x:0": f32(1)}, k, []) for v in (True, False)
                                for k in (["y:0", "which:0"], ["a_out:0"], ["after_a:0"], ["nested:0"], ["y:0", "nested:0"])])
case("cond_simple", cond_simple, [({"p:0": B(v), "x:0": f32([1, 2, 3][:n])}, ["a:0", "b:0", "c:0", "after:0"], [])
                                  for v in (True, False) for n in (3, 1, 0)] +
     [({"p:0": B(True), "x:0": f32([1])}, ["cond/Merge:0", "cond/Merge:1", "cond/Merge_2:1"], []),
      ({"p:0": B(False), "x:0": f32([1])}, ["cond/Merge:1"], ["after"]),
      ({"p:0": B(False), "x:0": f32([1])}, ["cond/mul:0"], []),
      ({"p:0": B(True), "x:0": f32([1])}, ["cond/mul:0"], []),
      ({"p:0": B(True), "x:0": f32([1]), "cond/mul:0": f32([5])}, ["a:0"], []),
      ({"p:0": B(False), "x:0": f32([1]), "cond/mul:0": f32([5])}, ["a:0"], []),
      ({"p:0": B(True), "x:0": f32([1])}, ["a:0", "cond/sub:0"], [])])
case("cond_nested", cond_nested, [({"x:0": f32(v)}, ["y:0", "z:0"], []) for v in (20, 7, 2, -3, -30, 0)])
case("cond_effects", cond_effects, [({}, [], ["init", "winit"]), ({"p:0": B(True)}, ["r:0"], []), ({"p:0": B(False)}, ["r:0"], []),
                                    ({}, ["now:0"], []), ({"p:0": B(True)}, [], ["r"]), ({}, ["now:0", "wnow:0"], [])])
case("assert_guard", assert_guard, [({"x:0": f32([4, 9, 16])}, ["y:0", "z:0"], []), ({"x:0": f32([4, -9])}, ["y:0"], []),
                                    ({"x:0": f32([4, 9])}, ["z:0"], []), ({"x:0": f32([4, 9])}, ["y:0"], [])])
rs = []
for v in (True, False):
  fd = {"p:0": B(v), "x:0": f32(2.0), "q:0": B(False)}
  for k in ("onlyf", "onlyt", "after", "index", "index3", "rescued", "either", "either5", "controlled", "triggered", "m3", "partly"):
    rs.append((fd, [k + ":0"], []))
  rs.append((fd, ["after:0", "onlyt:0", "onlyf:0"], []))
  rs.append((fd, [], ["neg", "exp", "controlled"]))
  rs.append(({"p:0": B(v), "x:0": f32([2.0, 3]), "q:0": B(not v)}, ["either:0", "either5:0"], []))
rs.append(({"p:0": np.array([True, False]), "x:0": f32(1)}, ["after:0"], []))
case("raw_switch", raw_switch, rs)
case("switch_n", switch_n, [({"x:0": f32([1, 2]), "i:0": np.int32(i)}, ["y:0", "k:0"], []) for i in (0, 1, 2, 3, -1)])
case("while_simple", while_simple, [({"n:0": np.int32(n), "x:0": f32([[1, 2], [3, 4]])}, ["i:0", "y:0", "after:0"], []) for n in (0, 1, 5, 30)])
case("while_nested", while_nested, [({"n:0": np.int32(n)}, ["i:0", "acc:0"], []) for n in (0, 1, 4, 7)])
case("while_in_cond", while_in_cond, [({"p:0": B(v), "x:0": f32([1, 2])}, ["y:0"], []) for v in (True, False)])
case("while_ta", while_ta, [({"x:0": np.arange(2 * n, dtype=np.float32).reshape(n, 2) / 10}, ["h:0", "ys:0"], []) for n in (4, 1, 15)])
case("while_grow", while_grow, [({"n:0": np.int32(n)}, ["y:0"], []) for n in (0, 3, 12)])
case("while_effects", while_effects, [({}, [], ["init"]), ({"n:0": np.int32(5)}, ["v_after:0", "i:0"], []), ({"n:0": np.int32(3)}, ["v_after:0"], [])])
case("while_vars", while_vars, [({"n:0": np.int32(n)}, ["r%d:0" % k for k in range(13)], []) for n in (0, 5, 21)])
case("while_strings", while_strings, [({"s:0": np.array(b"ab")}, ["t:0"], [])])
case("cond_grad", cond_grad, [({"x:0": f32([.1, .2, .3]), "p:0": B(v)}, ["y:0", "g:0"], []) for v in (True, False)])
case("case_v1", case_v1, [({"i:0": np.int32(i), "x:0": f32(x)}, ["y:0", "z:0"], []) for i, x in ((0, 3), (1, 30), (2, -3), (9, 4))])
case("scan_map", scan_map, [({"x:0": np.arange(12, dtype=np.float32).reshape(4, 3)}, ["m:0", "s:0", "f:0"], [])])
case("in_function", in_function, [({"p:0": B(v), "n:0": np.int32(3), "x:0": f32(2)}, ["y:0", "z:0"], []) for v in (True, False)])
case("frames_mixed", frames_mixed, [({"x:0": f32(2)}, ["bad:0"], []), ({"x:0": f32(2)}, ["straight:0"], []), ({"x:0": f32(2)}, ["through:0"], [])])
case("fetch_inside", fetch_inside, [({}, ["i:0"], []), ({}, ["w/inc:0"], []), ({"w/Identity:0": np.int32(7)}, ["w/inc:0"], []),
                                    ({}, ["w/Switch:0"], []), ({}, ["w/Merge:1"], []), ({}, ["w/Enter:0"], []), ({"w/Less:0": B(False)}, ["i:0"], [])])
case("while_grad", while_grad, [({"x:0": f32([.1, .2, .3])}, ["y:0", "g:0"], [])])

with open(os.path.join(HERE, "cases.txt"), "w") as f:
  f.write("# Made by tools/make_flow_graphs.py with TensorFlow %s.\n" % tf.__version__)
  f.write("\n".join(out) + "\n")
