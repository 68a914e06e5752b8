#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Runs a Python program written for TensorFlow, in the real one, and writes down what it asks of the runtime.

  python tools/record_calls.py [--out FILE] [--each N] [--eagerly] PROGRAM [ARGUMENT ...]
  python tools/record_calls.py [--out FILE] [--each N] [--eagerly] -m MODULE [ARGUMENT ...]     (-m pytest SUITE)

Kept are, as cases for tools/replay_calls.py, which asks them of TensorFlow's and of Ferry's C API and compares:
  - every eager call of an op, with the values of the variables it is given;
  - calls that hand on a table, a list, an iterator … : all calls on the same one, in order ("steps");
  - every session: its graph, and its runs in order ("runs");
  - every call of a tf.function, as a graph with one call of the function ("runs").
Calls that look alike (op, attributes, types, shapes) are kept --each times. --eagerly runs every tf.function's body eagerly.
No results are kept: whoever replays asks TensorFlow again, twice if in doubt, so that what is random shows.
"""
import argparse
import atexit
import collections
import hashlib
import os
import pickle
import runpy
import sys
import threading
import weakref

sys.path.insert(0, os.path.dirname(os.path.abspath(__file__)))
os.environ.setdefault("TF_CPP_MIN_LOG_LEVEL", "3")
import numpy as np  # noqa: E402
import tensorflow as tf  # noqa: E402
from tensorflow.core.framework import graph_pb2  # noqa: E402
from tensorflow.python import pywrap_tfe  # noqa: E402
from tensorflow.python.client import session as tf_session  # noqa: E402
from tensorflow.python.eager import context  # noqa: E402
from tensorflow.python.eager import core  # noqa: E402
import fuzz_cases  # noqa: E402
from fuzz_driver import DTYPES, NAMES  # noqa: E402

MOST_BYTES = 4 << 20     # of one call's inputs
MOST_GRAPH = 16 << 20    # of a graph
MOST_RUNS = 40           # of a session
MOST_STEPS = 60          # on one resource
MOST_OF_KIND = 60        # calls of one op with the same attributes and types, whatever their shapes
HANDLES = ("resource", "variant")
UNPLAYABLE = ("EagerPyFunc", "PyFunc", "PyFuncStateless")


class NotKept(Exception):
    """Why a call cannot be asked again by itself."""


def plain(a):
    """A NumPy array as a tensor of tools/fuzz_driver.py."""
    a = np.asarray(a)
    if a.dtype.kind in "OSU":
        data = [x if isinstance(x, bytes) else str(x).encode() for x in a.ravel().tolist()]
        return ("string", tuple(a.shape), data)
    name = NAMES.get(tf.as_dtype(a.dtype).as_datatype_enum)
    if name is None or a.nbytes > MOST_BYTES:
        raise NotKept("a large tensor" if name else "a type without a name")
    return (name, tuple(a.shape), np.ascontiguousarray(a).tobytes())


def tensor_of(t):
    name = NAMES.get(t.dtype.as_datatype_enum)
    if name is None or name in HANDLES:
        raise NotKept("a handle")
    found = plain(t.numpy())
    return (name,) + found[1:]  # (quantized types have NumPy types of their own)


def form_of(t):
    """(type, shape) of a tensor, or of the variable that a handle names, without its value; None if it cannot be told."""
    name, shape = NAMES.get(t.dtype.as_datatype_enum), t.shape
    if name in HANDLES:
        data = getattr(t, "_handle_data", None)
        if data is None or not data.is_set or len(data.shape_and_type) != 1:
            return None
        name, shape = NAMES.get(data.shape_and_type[0].dtype), tf.TensorShape(data.shape_and_type[0].shape)
    return (name, tuple(shape.as_list())) if name not in (None,) + HANDLES and shape.is_fully_defined() else None


def kind_of(name, attrs, tensors):
    return (name, repr(sorted(attrs.items())), tuple(t[0] for t in tensors), tuple(t[1] for t in tensors))


def size_of(t):
    return sum(map(len, t[2])) if t[0] == "string" else len(t[2])


def shape_of(v):
    shape = tf.TensorShape(v)
    return None if shape.rank is None else [-1 if d is None else d for d in shape.as_list()]


def attr_of(kind, v):
    """The value of an attribute of an eager call, as tools/fuzz_driver.py wants it."""
    if kind.startswith("list("):
        return [attr_of(kind[5:-1], x) for x in v]
    if kind == "type":
        return NAMES[tf.as_dtype(v).as_datatype_enum]
    if kind == "shape":
        return shape_of(v)
    if kind == "string":
        return v if isinstance(v, bytes) else str(v).encode()
    if kind in ("int", "float", "bool"):
        return {"int": int, "float": float, "bool": bool}[kind](v)
    raise NotKept("an attribute of kind " + kind)


class Recorder:
    def __init__(self, path, each):
        self.file, self.each = open(path, "wb"), each
        self.specs = fuzz_cases.specs()
        self.execute = pywrap_tfe.TFE_Py_Execute
        self.kinds, self.seen = collections.Counter(), set()
        self.asked, self.left, self.kept = collections.Counter(), collections.Counter(), collections.Counter()
        self.made = {}      # id of a tensor that is a handle: (number of the step that made it, output)
        self.chains = {}    # number of a step: the list of steps that belong together, shared by all of them
        self.steps, self.sessions = [], weakref.WeakKeyDictionary()
        self.open_sessions, self.local, self.names = {}, threading.local(), 0

    def put(self, what, case):
        self.kept[what] += 1
        pickle.dump(case, self.file)

    def enough(self, kind):
        return self.kinds[kind] >= self.each or self.kinds[kind[:3]] >= MOST_OF_KIND

    def wanted(self, kind, values):
        """Whether one more call like this is worth keeping."""
        key = hashlib.md5(repr((kind, values)).encode()).digest()
        loose = kind[:3]
        if key in self.seen or self.enough(kind):
            return False
        self.seen.add(key)
        self.kinds[kind] += 1
        self.kinds[loose] += loose != kind
        return True

    # ------------------------------------------------------------ eager calls
    def call(self, ctx, device, op, inputs, attrs, *rest):
        """Stands for TFE_Py_Execute and TFE_Py_ExecuteCancelable."""
        run = self.cancelable if len(rest) > 1 else self.execute
        if getattr(self.local, "busy", False):
            return run(ctx, device, op, inputs, attrs, *rest)
        self.local.busy, name, note = True, tf.compat.as_str(op), None
        try:
            self.asked[name if name in self.specs else "(function)"] += 1
            note = self.note(name, list(inputs), attrs)
        except NotKept as e:
            self.left[str(e)] += 1
        except Exception as e:  # noqa: BLE001: the program must not notice that it is watched
            self.left["recorder: %s %s" % (type(e).__name__, str(e)[:80])] += 1
        finally:
            self.local.busy = False
        out = run(ctx, device, op, inputs, attrs, *rest)
        for k, t in enumerate(out if note is not None and isinstance(out, (list, tuple)) else ()):
            if NAMES.get(t.dtype.as_datatype_enum) in HANDLES:
                self.made[t._id] = (note, k)
        return out

    def variable(self, t):
        """(type, value or None, shape) of the variable that a handle names; None if it names something else."""
        data = getattr(t, "_handle_data", None)
        if data is None or not data.is_set or len(data.shape_and_type) != 1:
            return None
        dtype = data.shape_and_type[0].dtype
        if NAMES.get(dtype) in (None,) + HANDLES:
            return None
        try:
            ctx = context.context()
            value = self.execute(ctx._handle, ctx.device_name, "ReadVariableOp", [t], ("dtype", dtype), 1)[0]
            return (NAMES[dtype], tensor_of(value), data.shape_and_type[0].shape)
        except core._NotOkStatusException:
            return (NAMES[dtype], None, data.shape_and_type[0].shape)

    def note(self, name, inputs, attrs):
        """Keeps a call. The number of the step, if what it gives may be handed to others."""
        if name not in self.specs:
            self.function(name, inputs)
            return None
        if name in UNPLAYABLE:
            raise NotKept("calls Python")
        spec = self.specs[name]
        named, attrs = {}, attrs or ()
        for k, v in zip(attrs[::2], attrs[1::2]):
            kind = spec.attrs[tf.compat.as_str(k)][0]
            named[tf.compat.as_str(k)] = (kind, attr_of(kind, v))
        forms = [form_of(t) for t in inputs]
        if None not in forms and self.enough(kind_of(name, named, forms)):  # (before any value is read: suites ask the same for hours)
            return None
        tensors, variables, handles = [], 0, False
        for i, t in enumerate(inputs):
            if NAMES.get(t.dtype.as_datatype_enum) not in HANDLES:
                tensors.append(tensor_of(t))
                continue
            value = self.variable(t)
            if value is None or value[1] is None or i != variables:
                handles = True
                tensors.append(self.made.get(t._id))
                continue
            variables += 1
            tensors.append(value[1])
        if handles or any(k in HANDLES for _, k in spec.outputs):
            return self.step(name, named, inputs, tensors)
        if sum(map(size_of, tensors)) > MOST_BYTES:
            raise NotKept("a large tensor")
        if self.wanted(kind_of(name, named, tensors), [t[2] for t in tensors]):
            self.put("eager", {"op": name, "attrs": named, "inputs": tensors, "vars": variables, "mode": "eager"})
        return None

    def step(self, name, attrs, inputs, tensors):
        """A call with handles: it belongs to the calls that made or had the same ones."""
        number, chain, ins = len(self.steps), [], []
        for t, v in zip(inputs, tensors):
            if NAMES.get(t.dtype.as_datatype_enum) not in HANDLES:
                ins.append(v)
                continue
            if t._id not in self.made:
                raise NotKept("a handle of unknown origin (%s)" % name)
            before, k = self.made[t._id]
            ins.append(("from", before, k))
            other = self.chains[before]
            if other is not chain:
                for s in other:
                    self.chains[s] = chain
                chain.extend(other)
        if len(chain) >= MOST_STEPS:
            raise NotKept("a long sequence of calls")
        for key in ("shared_name", "container"):
            if attrs.get(key, (0, b""))[1] not in (b"", b"localhost"):
                attrs[key] = ("string", b"%s_%d" % (attrs[key][1], number))
        self.steps.append((name, attrs, ins))
        chain.append(number)
        self.chains[number] = chain
        return number

    def write_steps(self):
        for chain in {id(c): c for c in self.chains.values()}.values():
            order = sorted(chain)
            at = {s: i for i, s in enumerate(order)}
            steps = [(n, a, [("from", at[t[1]], t[2]) if t[0] == "from" else t for t in ins]) for n, a, ins in
                     (self.steps[s] for s in order)]
            kind = ("steps", tuple(s[0] for s in steps), repr([[t[:2] for t in s[2] if t[0] != "from"] for s in steps]), "")
            if self.wanted(kind, repr(steps)):
                self.put("steps", {"mode": "steps", "steps": steps, "op": steps[0][0], "inputs": []})

    # ------------------------------------------------------------ functions
    def library(self, name):
        """The function and what it calls, as a GraphDef."""
        g, todo, seen = graph_pb2.GraphDef(), [name], set()
        ctx = context.context()
        while todo:
            one = todo.pop()
            if one in seen or not ctx.has_function(one):
                continue
            seen.add(one)
            body = g.library.function.add()
            body.CopyFrom(ctx.get_function_def(one))
            for n in body.node_def:
                if n.op in UNPLAYABLE:
                    raise NotKept("calls Python")
                todo += [n.op] + [f.name for a in n.attr.values() for f in [a.func] + list(a.list.func) if f.name]
        g.versions.producer = 2500
        return g

    def function(self, name, inputs):
        g = self.library(name)
        signature = g.library.function[0].signature
        ops = [n.op for f in g.library.function for n in f.node_def]
        feeds, call, after, sets, values = {}, [], [], ({}, []), []
        for i, t in enumerate(inputs):
            if NAMES.get(t.dtype.as_datatype_enum) not in HANDLES:
                values.append(tensor_of(t))
                call.append(self.placeholder(g, "in%d" % i, values[-1]))
                feeds["in%d:0" % i] = values[-1]
                continue
            value = self.variable(t)
            if value is None:
                raise NotKept("a function that is given a table, list or iterator")
            values.append(value[1] or ("none", (), b""))
            call.append(self.variable_node(g, i, value, sets, after))
        shapes = tuple(v[:2] for v in values)
        kind = ("function", hashlib.md5(repr([o for o in ops]).encode()).hexdigest(), shapes, "")
        if g.ByteSize() > MOST_GRAPH or sum(map(size_of, values)) > MOST_BYTES * 4:
            raise NotKept("a large function")
        if not self.wanted(kind, [v[2] for v in values]):
            return
        node = g.node.add(name="call", op="StatefulPartitionedCall", input=call)
        node.attr["Tin"].list.type.extend(t.dtype.as_datatype_enum for t in inputs)
        node.attr["Tout"].list.type.extend(a.type for a in signature.output_arg)
        node.attr["f"].func.name = name
        fetches = ["call:%d" % k for k, a in enumerate(signature.output_arg) if NAMES.get(a.type, "?") not in HANDLES + ("?",)]
        runs = [{"feeds": sets[0], "fetches": [], "targets": sets[1]}] if sets[1] else []
        runs.append({"feeds": feeds, "fetches": fetches, "targets": ["call"]})
        if after:
            runs.append({"feeds": {}, "fetches": after, "targets": []})
        self.put("function", {"mode": "runs", "what": "function " + name, "graph": g.SerializeToString(), "runs": runs})

    @staticmethod
    def placeholder(g, name, t):
        g.node.add(name=name, op="Placeholder").attr["dtype"].type = DTYPES[t[0]]
        return name

    def variable_node(self, g, i, value, sets, after):
        dtype, t, shape = value
        n = g.node.add(name="var%d" % i, op="VarHandleOp")
        n.attr["dtype"].type = DTYPES[dtype]
        n.attr["shared_name"].s = b"var%d" % i
        n.attr["shape"].shape.CopyFrom(shape)
        if t is not None:
            fed = self.placeholder(g, "value%d" % i, t)
            g.node.add(name="set%d" % i, op="AssignVariableOp", input=[n.name, fed]).attr["dtype"].type = DTYPES[dtype]
            g.node.add(name="read%d" % i, op="ReadVariableOp", input=[n.name]).attr["dtype"].type = DTYPES[dtype]
            sets[0][fed + ":0"] = t
            sets[1].append("set%d" % i)
            after.append("read%d:0" % i)
        return n.name

    # ------------------------------------------------------------ sessions
    def session_run(self, session, handle, targets, fetches, feeds):
        if handle is not None or session._target:
            raise NotKept("a partial run, or a server")
        log = self.sessions.get(session)
        if log is None:
            log = self.sessions[session] = {"mode": "runs", "what": "session", "graph": b"", "runs": [], "version": None}
            self.names += 1
            number = self.names
            self.open_sessions[number] = log
            weakref.finalize(session, self.end_session, number)
        if len(log["runs"]) >= MOST_RUNS:
            raise NotKept("a long session")
        run = {"feeds": {}, "fetches": [t.name for t in fetches], "targets": [t.name for t in targets]}
        for t, v in feeds.items():
            t = t.deref()
            name = NAMES.get(t.dtype.base_dtype.as_datatype_enum, "resource")
            if name in HANDLES:
                raise NotKept("a handle that is fed")
            run["feeds"][t.name] = (name,) + plain(np.asarray(v, None if name == "string" else t.dtype.base_dtype.as_numpy_dtype))[1:]
        run["fetches"] = [f for f in run["fetches"] if f not in run["feeds"]]
        if log["version"] != session.graph.version:
            log["version"] = session.graph.version
            g = session.graph.as_graph_def()
            if g.ByteSize() > MOST_GRAPH:
                raise NotKept("a large graph")
            for n in g.node:
                n.device = "" if "PU:0" not in n.device and "GPU" in n.device else n.device.replace("GPU", "CPU")
            log["graph"] = g.SerializeToString()
        log["runs"].append(run)

    def end_session(self, number):
        log = self.open_sessions.pop(number, None)
        if not log or not log["runs"] or not log["graph"]:
            return
        g = graph_pb2.GraphDef.FromString(log["graph"])
        ops = repr([n.op for n in g.node] + [n.op for f in g.library.function for n in f.node_def])
        kind = ("session", hashlib.md5(ops.encode()).hexdigest(), repr([[t[:2] for t in r["feeds"].values()] for r in log["runs"]]), "")
        if self.wanted(kind, log["graph"] + repr(log["runs"]).encode()):
            del log["version"]
            self.put("session", log)

    # ------------------------------------------------------------ in and out
    def install(self, eagerly):
        self.cancelable = pywrap_tfe.TFE_Py_ExecuteCancelable
        pywrap_tfe.TFE_Py_Execute = pywrap_tfe.TFE_Py_ExecuteCancelable = self.call

        def slow(*_):
            raise core._FallbackException()

        pywrap_tfe.TFE_Py_FastPathExecute = slow
        run = tf_session.BaseSession._do_run

        def watched(session, handle, targets, fetches, feeds, options, metadata):
            self.asked["(session)"] += 1
            try:
                self.session_run(session, handle, targets, fetches, feeds)
            except NotKept as e:
                self.left[str(e)] += 1
            except Exception as e:  # noqa: BLE001
                self.left["recorder: %s %s" % (type(e).__name__, str(e)[:80])] += 1
            return run(session, handle, targets, fetches, feeds, options, metadata)

        tf_session.BaseSession._do_run = watched
        if eagerly:
            tf.config.run_functions_eagerly(True)
        atexit.register(self.finish)

    def finish(self):
        for number in list(self.open_sessions):
            self.end_session(number)
        self.write_steps()
        self.file.close()
        print("recorded %s of %d calls of %d ops; left alone: %s" % (
            dict(self.kept), sum(self.asked.values()), len(self.asked),
            ", ".join("%d %s" % (n, k) for k, n in self.left.most_common(12)) or "none"), file=sys.stderr)


def main():
    p = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    p.add_argument("--out", default="calls.rec")
    p.add_argument("--each", type=int, default=2)
    p.add_argument("--eagerly", action="store_true")
    p.add_argument("-m", dest="module", action="store_true", help="the program is a module")
    p.add_argument("program")
    p.add_argument("rest", nargs=argparse.REMAINDER)
    a = p.parse_args()
    Recorder(a.out, a.each).install(a.eagerly)
    sys.argv = [a.program] + a.rest
    sys.path.insert(0, os.getcwd() if a.module else os.path.dirname(os.path.abspath(a.program)))
    if a.module:
        runpy.run_module(a.program, run_name="__main__", alter_sys=True)
    else:
        runpy.run_path(a.program, run_name="__main__")


if __name__ == "__main__":
    main()
