#!/usr/bin/env python3
"""Graphs of TensorFlow 1 with state, runs of one session over them, and what the real TensorFlow
answers: tests/data/state_*.txt, replayed by tests/unit/test_state_replay.c through TF_SessionRun.

A file is a list of cases:  case NAME / graph HEX (GraphDef) / then per run  run, feed NAME DTYPE
DIMS HEX…, fetch NAME DTYPE DIMS HEX…, target NAME, error CODE TEXT, end.  Strings are hex words."""
import os
import re
import sys

os.environ["TF_CPP_MIN_LOG_LEVEL"] = "3"
import numpy as np
import tensorflow as tf

v1 = tf.compat.v1
raw = tf.raw_ops
HERE = os.path.dirname(os.path.abspath(__file__))
DATA = os.path.join(HERE, "..", "tests", "data")
f32 = np.float32


def ph(dtype=tf.float32, name=None, shape=None):
    return v1.placeholder(dtype, shape, name)


def var(name, shape, dtype=tf.float32, **kw):
    return raw.VariableV2(shape=shape, dtype=dtype, container=kw.get("container", ""),
                          shared_name=kw.get("shared_name", ""), name=name)


def words(value, dtype):
    a = np.asarray(value)
    if dtype == tf.string:
        flat = [x if isinstance(x, bytes) else str(x).encode() for x in a.reshape(-1).tolist()]
        return " ".join(x.hex() or "-" for x in flat)
    data = a.astype(dtype.as_numpy_dtype).tobytes().hex()
    return data or "-"


def line(kind, tensor, value):
    dtype = tensor.dtype.base_dtype
    dims = ",".join(str(d) for d in np.shape(value)) or "s"
    return f"{kind} {tensor.name} {dtype.as_datatype_enum} {dims} {words(value, dtype)}"


class Case:
    def __init__(self, out, name):
        self.out, self.name, self.graph = out, name, tf.Graph()

    def __enter__(self):
        self.scope = self.graph.as_default()
        self.scope.__enter__()
        self.session = None
        self.lines = []
        return self

    def run(self, fetches=(), feeds=None, targets=()):
        if self.session is None:
            config = v1.ConfigProto()
            config.graph_options.rewrite_options.disable_meta_optimizer = True
            self.session = v1.Session(graph=self.graph, config=config)
        fetches = [fetches] if isinstance(fetches, tf.Tensor) else list(fetches)
        targets = [targets] if isinstance(targets, tf.Operation) else list(targets)
        feeds = {self.graph.get_tensor_by_name(k + ":0") if isinstance(k, str) else k: v
                 for k, v in (feeds or {}).items()}
        lines = ["run"] + [line("feed", t, v) for t, v in feeds.items()]
        try:
            got = self.session.run(fetches + targets, feeds)
            lines += [line("fetch", t, v) for t, v in zip(fetches, got)]
        except tf.errors.OpError as e:
            text = e.message
            text = re.sub(r"^(?s:.*)\nNode: '[^\n]*'\n", "", text)
            text = text.replace("Graph execution error:\n\n", "")
            text = text.split("\n\t [[")[0].split("\n")[0]
            text = text.split(" with these attrs:")[0]  # which come in any order
            lines += [f"fetch {t.name} 0 s -" for t in fetches]
            lines.append(f"error {e.error_code} {text}")
        lines += [f"target {t.name}" for t in targets]
        self.lines += lines + ["end"]

    def __exit__(self, *exc):
        self.scope.__exit__(*exc)
        if exc[0] is None:
            self.out.append(f"case {self.name}")
            self.out.append("graph " + self.graph.as_graph_def().SerializeToString().hex())
            self.out.extend(self.lines)
        if self.session:
            self.session.close()
        return False


def write(name, out):
    path = os.path.join(DATA, name)
    with open(path, "w") as f:
        f.write("\n".join(out) + "\n")
    print(path, os.path.getsize(path))


# ---------------------------------------------------------------- reference variables
def refs():
    out = []
    with Case(out, "assign and read") as c:
        v = var("v", [2])
        a = raw.Assign(ref=v, value=ph(name="x"), name="a")
        add = raw.AssignAdd(ref=v, value=ph(name="y"), name="add")
        sub = raw.AssignSub(ref=v, value=ph(name="z"), name="sub")
        ident = tf.identity(v, name="id")
        twice = raw.Add(x=v, y=v, name="twice")
        init = raw.IsVariableInitialized(ref=v, name="init")
        c.run(ident)
        c.run(v)
        c.run(init)
        c.run(add, {"y": f32([1, 2])})
        c.run(a, {"x": f32([1, 2, 3])})
        c.run(a, {"x": f32([1, 2])})
        c.run([init, ident, v])
        c.run(add, {"y": f32([10, 20])})
        c.run(sub, {"z": f32([.5, .25])})
        c.run(add, {"y": f32([10])})
        c.run([twice, ident])
        c.run(targets=[add.op], feeds={"y": f32([1, 1])})
        c.run(v)
        c.run(twice, {v: f32([3, 4])})
        c.run(add, {v: f32([3, 4]), "y": f32([1, 1])})
    with Case(out, "order by control edges") as c:
        v = var("v", [])
        a = raw.Assign(ref=v, value=1., name="a")
        with tf.control_dependencies([a]):
            before = raw.Mul(x=v, y=10., name="before")
        with tf.control_dependencies([before]):
            add = raw.AssignAdd(ref=v, value=5., name="add")
        with tf.control_dependencies([add]):
            after = raw.Mul(x=v, y=10., name="after")
        through = raw.Mul(x=add, y=100., name="through")
        both = raw.Sub(x=v, y=through, name="both")
        for _ in range(2):
            c.run([before, after, through, both])
    with Case(out, "sharing, containers, types") as c:
        for t in [tf.float16, tf.bfloat16, tf.float64, tf.int8, tf.int16, tf.int32, tf.int64, tf.uint8,
                  tf.uint16, tf.complex64, tf.bool, tf.string]:
            n = t.name
            v = var("v_" + n, [2], t, shared_name="s_" + n)
            w = var("w_" + n, [2], t, shared_name="s_" + n)
            a = raw.Assign(ref=v, value=ph(t, "x_" + n), name="a_" + n)
            x = np.array(["a", ""] if t == tf.string else [1, 0]).astype(
                object if t == tf.string else t.as_numpy_dtype)
            c.run(a, {"x_" + n: x})
            c.run(tf.identity(w))
            if t not in (tf.bool, tf.string):
                c.run(raw.AssignAdd(ref=w, value=ph(t, "y_" + n), name="b_" + n), {"y_" + n: x})
                c.run(v)
    with Case(out, "shapes that change") as c:
        v = var("v", None)
        u = var("u", [2])
        any_v = raw.Assign(ref=v, value=ph(name="x"), validate_shape=False, name="any_v")
        strict = raw.Assign(ref=v, value=ph(name="y"), name="strict")
        any_u = raw.Assign(ref=u, value=ph(name="z"), validate_shape=False, name="any_u")
        size = tf.size(v, name="size")
        c.run(strict, {"y": f32([1, 2])})
        c.run(any_v, {"x": f32([1, 2, 3])})
        c.run([v, size])
        c.run(strict, {"y": f32([4, 5, 6])})
        c.run(strict, {"y": f32([1, 2])})
        c.run(any_v, {"x": f32([[1, 2], [3, 4]])})
        c.run([v, size])
        c.run(any_u, {"z": f32([7, 8, 9])})
        c.run(u)
    with Case(out, "count, select, identity, temporary") as c:
        n = var("n", [], tf.int32)
        m = var("m", [], tf.int64)
        up = raw.CountUpTo(ref=n, limit=2, name="up")
        upm = raw.CountUpTo(ref=m, limit=1, name="upm")
        c.run(up)
        c.run([raw.Assign(ref=n, value=0), raw.Assign(ref=m, value=np.int64(0))])
        c.run([up, upm])
        c.run(up)
        c.run(up)
        c.run(upm)
        a, b = var("a", [2]), var("b", [2])
        sel = raw.RefSelect(index=ph(tf.int32, "i"), inputs=[a, b], name="sel")
        put = raw.Assign(ref=raw.RefIdentity(input=a, name="same"), value=[1., 2.], name="put")
        c.run(raw.AssignAdd(ref=raw.RefIdentity(input=b, name="b_same"), value=[1., 1.]))
        c.run([put, raw.Assign(ref=b, value=[5., 6.])])
        to_sel = raw.AssignAdd(ref=sel, value=[10., 10.], name="to_sel")
        c.run(to_sel, {"i": 1})
        c.run([a, b])
        c.run(to_sel, {"i": 2})
        t = raw.TemporaryVariable(shape=[2], dtype=tf.float32, var_name="t", name="t")
        filled = raw.AssignAdd(ref=raw.Assign(ref=t, value=[1., 2.]), value=[3., 3.])
        c.run(raw.DestroyTemporaryVariable(ref=filled, var_name="t", name="done"))
        c.run(raw.DestroyTemporaryVariable(ref=raw.Assign(
            ref=raw.TemporaryVariable(shape=[2], dtype=tf.float32, name="own"), value=[1., 2.]),
            var_name="own"))
    with Case(out, "scatter") as c:
        v = var("v", [4, 2])
        reset = raw.Assign(ref=v, value=np.arange(1, 9).reshape(4, 2).astype(f32), name="reset")
        i, u, s = ph(tf.int32, "i"), ph(name="u"), ph(name="s")
        for op in ["Update", "Add", "Sub", "Mul", "Div", "Min", "Max"]:
            x = getattr(raw, "Scatter" + op)(ref=v, indices=i, updates=u, name=op)
            c.run(x, {"i": [0], "u": f32([[1, 1]])}) if op == "Update" else None
            c.run(reset)
            c.run(x, {"i": [2, 0], "u": f32([[2, 3], [4, 5]])})
            c.run(x, {"i": [[1], [3]], "u": f32([[[2, 3]], [[4, 5]]])})
            c.run(x, {"i": [2, 2], "u": f32(3)})
            c.run(x, {"i": [], "u": np.zeros([0, 2], f32)})
            c.run(x, {"i": [4], "u": f32([[1, 1]])})
            c.run(x, {"i": [-1], "u": f32([[1, 1]])})
            c.run(x, {"i": [0], "u": f32([1, 1])})
        for op in ["Update", "Add", "Sub", "Min", "Max"]:
            x = getattr(raw, "ScatterNd" + op)(ref=v, indices=i, updates=u, name="Nd" + op)
            c.run(reset)
            c.run(x, {"i": [[2, 0], [0, 1]], "u": f32([4, 5])})
            c.run(x, {"i": [[1]], "u": f32([[4, 5]])})
            c.run(x, {"i": [[4]], "u": f32([[4, 5]])})
            c.run(x, {"i": [[1]], "u": f32([4, 5])})
    with Case(out, "strided slice assign") as c:
        v = var("v", [3, 4])
        reset = raw.Assign(ref=v, value=np.arange(12).reshape(3, 4).astype(f32), name="reset")
        b, e, s, x = ph(tf.int32, "b"), ph(tf.int32, "e"), ph(tf.int32, "s"), ph(name="x")
        op = raw.StridedSliceAssign(ref=v, begin=b, end=e, strides=s, value=x, name="op")
        masked = raw.StridedSliceAssign(ref=v, begin=b, end=e, strides=s, value=x, begin_mask=1,
                                        end_mask=2, shrink_axis_mask=4 >> 1, name="masked")
        c.run(op, {"b": [0, 0], "e": [1, 1], "s": [1, 1], "x": f32([[1]])})
        c.run(reset)
        c.run(op, {"b": [0, 1], "e": [2, 3], "s": [1, 1], "x": f32([[-1, -2], [-3, -4]])})
        c.run(op, {"b": [2, 3], "e": [0, 0], "s": [-1, -2], "x": f32([[-5, -6], [-7, -8]])})
        c.run(op, {"b": [0, 0], "e": [0, 4], "s": [1, 1], "x": np.zeros([0, 4], f32)})
        c.run(op, {"b": [0, 0], "e": [2, 2], "s": [1, 1], "x": f32([[1, 2, 3], [4, 5, 6]])})
        c.run(op, {"b": [0, 0], "e": [2, 2], "s": [0, 1], "x": f32([[1, 2], [4, 5]])})
        c.run(masked, {"b": [1, 1], "e": [2, 2], "s": [1, 1], "x": f32([9, 8])})
    write("state_refs.txt", out)


OPTIMIZERS = {  # op: slots, (scalars in input order with "g" for the gradient)
    "GradientDescent": ([], [("alpha", .1), "delta"]),
    "Momentum": (["accum"], [("lr", .1), "grad", ("momentum", .9)]),
    "Adam": (["m", "v"], [("beta1_power", .9), ("beta2_power", .99), ("lr", .1), ("beta1", .9),
                          ("beta2", .99), ("epsilon", 1e-4), "grad"]),
    "Adagrad": (["accum"], [("lr", .1), "grad"]),
    "AdagradV2": (["accum"], [("lr", .1), ("epsilon", 1e-3), "grad"]),
    "RMSProp": (["ms", "mom"], [("lr", .1), ("rho", .9), ("momentum", .5), ("epsilon", 1e-3),
                                "grad"]),
    "CenteredRMSProp": (["mg", "ms", "mom"], [("lr", .1), ("rho", .9), ("momentum", .5),
                                              ("epsilon", 1e-3), "grad"]),
    "Adadelta": (["accum", "accum_update"], [("lr", .1), ("rho", .9), ("epsilon", 1e-3), "grad"]),
    "AdaMax": (["m", "v"], [("beta1_power", .9), ("lr", .1), ("beta1", .9), ("beta2", .99),
                            ("epsilon", 1e-4), "grad"]),
    "Ftrl": (["accum", "linear"], ["grad", ("lr", .1), ("l1", .01), ("l2", .02),
                                   ("lr_power", -.5)]),
    "FtrlV2": (["accum", "linear"], ["grad", ("lr", .1), ("l1", .01), ("l2", .02),
                                     ("l2_shrinkage", .1), ("lr_power", -.6)]),
    "AddSign": (["m"], [("lr", .1), ("alpha", 1.), ("sign_decay", .9), ("beta", .9), "grad"]),
    "PowerSign": (["m"], [("lr", .1), ("logbase", 1.), ("sign_decay", .9), ("beta", .9), "grad"]),
    "ProximalAdagrad": (["accum"], [("lr", .1), ("l1", .01), ("l2", .02), "grad"]),
    "ProximalGradientDescent": ([], [("alpha", .1), ("l1", .01), ("l2", .02), "delta"]),
    "AdagradDA": (["gradient_accumulator", "gradient_squared_accumulator"],
                  ["grad", ("lr", .1), ("l1", .01), ("l2", .02), ("global_step", 3)]),
}
FLAGS = {"Momentum": "use_nesterov", "Adam": "use_nesterov", "Adagrad": "update_slots",
         "AdagradV2": "update_slots", "Ftrl": "multiply_linear_by_lr",
         "FtrlV2": "multiply_linear_by_lr"}
SPARSE_FLAGS = {k: v for k, v in FLAGS.items() if k != "Adam"}
SPARSE = ["Adadelta", "Adagrad", "AdagradV2", "AdagradDA", "CenteredRMSProp", "Ftrl", "FtrlV2",
          "Momentum", "ProximalAdagrad", "ProximalGradientDescent", "RMSProp"]


NO_HALF = ["ProximalAdagrad", "ProximalGradientDescent", "AdagradDA"]


def start(slot, shape, dtype):
    n = int(np.prod(shape))
    base = {"var": 1.0, "linear": .3, "mg": .05, "m": .2}.get(slot, .5)
    return (base + .1 * np.arange(n).reshape(shape) * (-1 if slot == "var" else 1)).astype(dtype)


def optimizers(resource):
    out = []
    kind = "Resource" if resource else ""
    todo = [(op, False) for op in OPTIMIZERS] + [(op, True) for op in SPARSE]
    if resource:
        todo.append(("KerasMomentum", False))
        todo.append(("KerasMomentum", True))
    for op, sparse in todo:
        slots, args = OPTIMIZERS["Momentum" if op == "KerasMomentum" else op]
        flags = SPARSE_FLAGS if sparse else FLAGS
        flag = "use_nesterov" if op == "KerasMomentum" else flags.get(op)
        for value in ([False, True] if flag else [None]):
            for dtype in [tf.float32, tf.float64, tf.float16]:
                if dtype != tf.float32 and value is False:
                    continue
                if dtype == tf.float16 and op in NO_HALF:  # Ferry has loops that TensorFlow lacks
                    continue
                name = f"{kind}{'Sparse' if sparse else ''}Apply{op}"
                with Case(out, f"{name} {dtype.name} {value}") as c:
                    nt = dtype.as_numpy_dtype
                    shape = [3, 2]
                    kw, handles, inits, reads = {}, [], [], []
                    for slot in ["var"] + slots:
                        x = start(slot, shape, nt)
                        if resource:
                            h = raw.VarHandleOp(dtype=dtype, shape=shape, shared_name=slot, name=slot)
                            inits.append(raw.AssignVariableOp(resource=h, value=x))
                            reads.append(raw.ReadVariableOp(resource=h, dtype=dtype))
                        else:
                            h = var(slot, shape, dtype)
                            inits.append(raw.Assign(ref=h, value=x).op)
                            reads.append(h)
                        kw[slot] = h
                    grad = ph(dtype, "g")
                    index = ph(tf.int32, "index")
                    for a in args:
                        if isinstance(a, str):
                            key = "grad" if sparse else a
                            kw[key] = grad
                        elif a[0] == "global_step":
                            kw[a[0]] = tf.constant(a[1], tf.int64)
                        else:
                            kw[a[0]] = tf.constant(a[1], dtype)
                    if sparse:
                        kw["indices"] = index
                    if flag:
                        kw[flag] = value
                    step = getattr(raw, name)(**kw, name="step")
                    target = step if resource else step.op
                    feed = {"g": np.array([[.5, -1], [.25, 0], [-.125, 2]], nt)}
                    if sparse:
                        feed = {"g": np.array([[.5, -1], [.25, 3]], nt), "index": [2, 0]}
                    c.run(targets=[target], feeds=feed)
                    c.run(targets=inits)
                    c.run(targets=[target], feeds=feed)
                    c.run(reads)
                    c.run(targets=[target], feeds=feed)
                    c.run(reads)
                    if dtype == tf.float32:
                        if sparse:
                            c.run(targets=[target], feeds={"g": feed["g"], "index": [2, 7]})
                            c.run(targets=[target], feeds={"g": feed["g"], "index": [1]})
                            c.run(targets=[target], feeds={"g": feed["g"][:, :1], "index": [2, 1]})
                            c.run(targets=[target], feeds={"g": np.zeros([0, 2], nt), "index": []})
                        else:
                            c.run(targets=[target], feeds={"g": feed["g"][:2]})
    write(f"state_optimizers_{'resource' if resource else 'ref'}.txt", out)


# ---------------------------------------------------------------- checkpoints
FILES = "/tmp/ferry_state_goldens"  # test_state_replay makes it anew


def checkpoints():
    import shutil
    shutil.rmtree(FILES, ignore_errors=True)
    os.makedirs(FILES)
    out = []
    a = np.arange(6, dtype=f32).reshape(2, 3)

    def save(prefix, names, slices, tensors):
        return raw.SaveV2(prefix=prefix, tensor_names=names, shape_and_slices=slices, tensors=tensors)

    def restore(prefix, names, slices, dtypes):
        return raw.RestoreV2(prefix=prefix, tensor_names=names, shape_and_slices=slices,
                             dtypes=dtypes)

    def dump(c, name):  # the files themselves, byte by byte
        c.run(raw.ReadFile(filename=f"{FILES}/{name}"))

    with Case(out, "every dtype") as c:
        values = [np.array([1, 0, 3]).astype(t.as_numpy_dtype) for t in DTYPES]
        values += [np.array([b"hi", b"", b"long" * 80], object), np.zeros([0, 2], f32), f32(7),
                   np.array([], object).reshape(0, 3)]
        names = [f"t{i}/.ATTRIBUTES/VARIABLE_VALUE" for i in range(len(values))]
        types = DTYPES + [tf.string, tf.float32, tf.float32, tf.string]
        tensors = [tf.constant(v, t, shape=np.shape(v)) for v, t in zip(values, types)]
        c.run(targets=save(FILES + "/all", names, [""] * len(names), tensors))
        dump(c, "all.index")
        dump(c, "all.data-00000-of-00001")
        c.run(restore(FILES + "/all", names, [""] * len(names), types))
        c.run(restore(FILES + "/all", names[:1], [""], [tf.int32]))
        c.run(restore(FILES + "/all", ["nope"], [""], [tf.int32]))
    with Case(out, "many keys") as c:
        names = [f"layer_{i // 7}/w_{i}" for i in range(60)]
        c.run(targets=save(FILES + "/many", names, [""] * 60, [tf.constant(i) for i in range(60)]))
        dump(c, "many.index")
        c.run(restore(FILES + "/many", names[::9], [""] * 7, [tf.int32] * 7))
    with Case(out, "slices and merging") as c:
        c.run(targets=save(FILES + "/b", ["p"], ["4 3 0,2:-"], [a]))
        c.run(targets=save(FILES + "/c", ["p", "zz"], ["4 3 2,2:-", ""], [a, tf.constant(True)]))
        dump(c, "b.index")
        c.run(restore(FILES + "/b", ["p"], [""], [tf.float32]))
        c.run(restore(FILES + "/b", ["p"], ["4 3 1,1:-"], [tf.float32]))
        c.run(targets=raw.MergeV2Checkpoints(checkpoint_prefixes=[FILES + "/b", FILES + "/c"],
                                             destination_prefix=FILES + "/m",
                                             delete_old_dirs=False))
        for name in ["m.index", "m.data-00000-of-00002", "m.data-00001-of-00002"]:
            dump(c, name)
        for spec in ["", "4 3 1,2:0,1", "4 3 -:2,1", "4 4 1,2:0,1", "4 3 1,9:0,1", "4 3", "a 3 -:-",
                     "4 3 -", "4 3 -:x", "4 3 -:0,0"]:
            place = tf.constant([spec])
            c.run(restore(FILES + "/m", ["p"], v1.placeholder_with_default(place, [1]), [tf.float32]))
        c.run(targets=raw.MergeV2Checkpoints(checkpoint_prefixes=[FILES + "/nope"],
                                             destination_prefix=FILES + "/n"))
        c.run(targets=raw.MergeV2Checkpoints(checkpoint_prefixes=[FILES + "/nope", FILES + "/m"],
                                             destination_prefix=FILES + "/n",
                                             allow_missing_files=True))
        dump(c, "n.index")
        c.run(restore(FILES + "/n", ["p"], [""], [tf.float32]))
        c.run(targets=save(FILES + "/q", ["x", "x"], ["2 3 0,1:-", "2 3 1,1:-"], [a[:1], a[1:]]))
        dump(c, "q.index")
        c.run(restore(FILES + "/q", ["x", "x"], ["", "2 3 -:1,2"], [tf.float32] * 2))
    with Case(out, "refusals") as c:
        c.run(targets=save(FILES + "/x", ["x"], ["2 3 0,1:-"], [a]))
        c.run(targets=save(FILES + "/x", ["x", "x"], ["", ""], [a, a]))
        c.run(targets=save("/proc/nope/x", ["x"], [""], [a]))
        c.run(targets=save(FILES + "/new/deep/x", ["x"], [""], [a]))
        c.run(targets=save(FILES + "/new/x", ["x"], [""], [a]))
        c.run(restore(FILES + "/new/x", ["x"], [""], [tf.float32]))
    with Case(out, "version 1") as c:
        values = [a, np.array([b"k", b"ll"]), np.int32(5), np.array([1, 2], np.int64),
                  np.array([True, False]), np.array([1.5], np.float64)]
        names = [f"v{i}" for i in range(len(values))]
        types = [tf.float32, tf.string, tf.int32, tf.int64, tf.bool, tf.float64]
        c.run(targets=raw.Save(filename=FILES + "/v1", tensor_names=names, data=values))
        c.run(targets=raw.SaveSlices(filename=FILES + "/v1s", tensor_names=["x", "x"],
                                     shapes_and_slices=["2 3 0,1:-", "2 3 1,1:-"],
                                     data=[a[:1], a[1:]]))
        for n, t in zip(names, types):
            c.run(raw.Restore(file_pattern=FILES + "/v1", tensor_name=n, dt=t))
        c.run(raw.Restore(file_pattern=FILES + "/v1", tensor_name="v0", dt=tf.int32))
        c.run(raw.Restore(file_pattern=FILES + "/v1", tensor_name="nope", dt=tf.int32))
        c.run(raw.Restore(file_pattern=FILES + "/none", tensor_name="v0", dt=tf.int32))
        c.run(raw.Restore(file_pattern=FILES + "/v1s", tensor_name="x", dt=tf.float32))
        c.run(raw.RestoreSlice(file_pattern=FILES + "/v1s", tensor_name="x",
                               shape_and_slice="2 3 -:1,2", dt=tf.float32))
        c.run(restore(FILES + "/v1", names, [""] * len(names), types))
    write("state_checkpoints.txt", out)


DTYPES = [tf.float32, tf.float64, tf.float16, tf.bfloat16, tf.int8, tf.int16, tf.int32, tf.int64,
          tf.uint8, tf.uint16, tf.uint32, tf.uint64, tf.bool, tf.complex64, tf.complex128]
GROUPS = {"checkpoints": checkpoints, "refs": refs, "optimizers_ref": lambda: optimizers(False),
          "optimizers_resource": lambda: optimizers(True)}

if __name__ == "__main__":
    v1.disable_eager_execution()
    for g in sys.argv[1:] or GROUPS:
        GROUPS[g]()
