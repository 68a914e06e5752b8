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
            config.operation_timeout_in_ms = 20000
            self.session = v1.Session(graph=self.graph, config=config)
        fetches = tf.nest.flatten(fetches)
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
            # names that count up in the whole process
            text = re.sub(r"^(Stack\[[^\]]*\]|TensorArray [^ ]*@[a-z]*:) ", "", text)
            text = re.sub(r"^\w+Queue '_\d+_q'", "", text)
            lines += [f"fetch {t.name} 0 s -" for t in fetches]
            lines.append(f"error {e.error_code} {text}")
        lines += [f"target {t.name}" for t in targets]
        self.lines += lines + ["end"]

    def __exit__(self, *exc):
        self.scope.__exit__(*exc)
        if exc[0] is None:
            self.out.append(f"case {self.name}")
            self.out.append("graph " + self.graph.as_graph_def().SerializeToString(deterministic=True).hex())
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


# ---------------------------------------------------------------- containers
def containers():
    out = []
    for version in ["", "V2"]:
        def op(name):
            return getattr(raw, name + version)

        with Case(out, "FIFOQueue" + version) as c:
            q = op("FIFOQueue")(component_types=[tf.float32, tf.int32], shapes=[[2], []], capacity=4,
                                name="q")
            x, y, n = ph(name="x"), ph(tf.int32, "y"), ph(tf.int32, "n")
            one = op("QueueEnqueue")(handle=q, components=[x, y])
            many = op("QueueEnqueueMany")(handle=q, components=[x, y])
            get = op("QueueDequeue")(handle=q, component_types=[tf.float32, tf.int32])
            get_n = op("QueueDequeueMany")(handle=q, n=n, component_types=[tf.float32, tf.int32])
            up_to = op("QueueDequeueUpTo")(handle=q, n=n, component_types=[tf.float32, tf.int32])
            size, closed = op("QueueSize")(handle=q), op("QueueIsClosed")(handle=q)
            c.run(targets=[one], feeds={"x": f32([1, 2]), "y": 3})
            c.run(targets=[many], feeds={"x": f32([[4, 5], [6, 7]]), "y": [8, 9]})
            c.run([size, closed])
            c.run(get)
            c.run(get_n, {"n": 2})
            c.run(get_n, {"n": 0})
            c.run(get_n, {"n": -1})
            c.run(targets=[one], feeds={"x": f32([1, 2, 3]), "y": 3})
            c.run(targets=[many], feeds={"x": f32([[1, 2]]), "y": [3, 4]})
            c.run(targets=[many], feeds={"x": f32([[1, 2]] * 3), "y": [3, 4, 5]})
            c.run(targets=[op("QueueClose")(handle=q)])
            c.run([size, closed])
            c.run(targets=[one], feeds={"x": f32([1, 2]), "y": 3})
            c.run(get_n, {"n": 4})
            c.run(size)
            c.run(up_to, {"n": 2})
            c.run(up_to, {"n": 2})
            c.run(up_to, {"n": 2})
            c.run(get)
        with Case(out, "queue without shapes" + version) as c:
            q = op("FIFOQueue")(component_types=[tf.string], name="q")
            c.run(targets=[op("QueueEnqueue")(handle=q, components=[tf.constant(["a", "b"])])])
            c.run(targets=[op("QueueEnqueue")(handle=q, components=[tf.constant("c")])])
            c.run(op("QueueDequeueMany")(handle=q, n=1, component_types=[tf.string]))
            get = op("QueueDequeue")(handle=q, component_types=[tf.string])
            c.run(get)
            c.run(get)
        with Case(out, "PaddingFIFOQueue" + version) as c:
            q = op("PaddingFIFOQueue")(component_types=[tf.float32], shapes=[[None, 2]], name="q")
            x = ph(name="x")
            put = op("QueueEnqueue")(handle=q, components=[x])
            c.run(targets=[put], feeds={"x": f32([[1, 2]])})
            c.run(targets=[put], feeds={"x": np.arange(6).reshape(3, 2).astype(f32)})
            c.run(targets=[put], feeds={"x": np.zeros([0, 2], f32)})
            c.run(targets=[put], feeds={"x": f32([[1, 2, 3]])})
            c.run(op("QueueDequeueMany")(handle=q, n=3, component_types=[tf.float32]))
        with Case(out, "RandomShuffleQueue" + version) as c:
            q = op("RandomShuffleQueue")(component_types=[tf.int32], shapes=[[]], seed=5, seed2=6,
                                         min_after_dequeue=0, name="q")
            c.run(targets=[op("QueueEnqueueMany")(handle=q, components=[tf.range(20)])])
            get = op("QueueDequeueMany")(handle=q, n=7, component_types=[tf.int32])
            c.run(get)
            c.run(get)
            c.run(op("QueueDequeue")(handle=q, component_types=[tf.int32]))
            c.run(targets=[op("QueueClose")(handle=q)])
            c.run(get)
        with Case(out, "PriorityQueue" + version) as c:
            q = op("PriorityQueue")(component_types=[tf.string], shapes=[[]], name="q")
            c.run(targets=[op("QueueEnqueueMany")(handle=q, components=[
                np.array([3, 1, 2, 5, 4], np.int64), tf.constant(list("cabed"))])])
            get = op("QueueDequeue")(handle=q, component_types=[tf.int64, tf.string])
            c.run(get)
            c.run(op("QueueDequeueMany")(handle=q, n=3, component_types=[tf.int64, tf.string]))
            c.run(op("QueueSize")(handle=q))
        with Case(out, "Stack" + version) as c:
            s = raw.StackV2(max_size=2, elem_type=tf.float32, stack_name="s") if version else raw.Stack(
                elem_type=tf.float32, stack_name="s")
            a = op("StackPush")(handle=s, elem=[1., 2.])
            with tf.control_dependencies([a]):
                b = op("StackPush")(handle=s, elem=3.)
            with tf.control_dependencies([b]):
                p1 = op("StackPop")(handle=s, elem_type=tf.float32)
            with tf.control_dependencies([p1]):
                p2 = op("StackPop")(handle=s, elem_type=tf.float32)
            with tf.control_dependencies([p2]):
                p3 = op("StackPop")(handle=s, elem_type=tf.float32)
            with tf.control_dependencies([p2]):
                closing = op("StackClose")(handle=s)
            c.run([a, b, p1, p2])
            c.run([p1, p2], targets=[closing])
            c.run(p3)
            c.run(op("StackPush")(handle=s, elem=tf.constant(1)))
            if version:
                with tf.control_dependencies([b]):
                    c.run(raw.StackPushV2(handle=s, elem=3.))
        with Case(out, "tables" + version) as c:
            t = op("HashTable")(key_dtype=tf.string, value_dtype=tf.int64, shared_name="t")
            keys = ph(tf.string, "keys")
            find = op("LookupTableFind")(table_handle=t, keys=keys,
                                         default_value=tf.constant(-1, tf.int64))
            c.run(find, {"keys": ["a"]})
            c.run(targets=[op("InitializeTable")(table_handle=t, keys=["a", "b", "c"],
                                                 values=np.array([1, 2, 3], np.int64))])
            c.run(find, {"keys": [["b", "x"], ["a", "c"]]})
            c.run(op("LookupTableSize")(table_handle=t))
            m = op("MutableHashTable")(key_dtype=tf.int64, value_dtype=tf.string, shared_name="m")
            c.run(targets=[op("LookupTableInsert")(table_handle=m, keys=np.array([4, 5], np.int64),
                                                   values=["four", "five"])])
            c.run(op("LookupTableFind")(table_handle=m, keys=np.array([5, 6], np.int64),
                                        default_value="none"))
            c.run(targets=[op("LookupTableImport")(table_handle=m, keys=np.array([7], np.int64),
                                                   values=["seven"])])
            c.run(op("LookupTableExport")(table_handle=m, Tkeys=tf.int64, Tvalues=tf.string))
            v = op("MutableHashTableOfTensors")(key_dtype=tf.string, value_dtype=tf.float32,
                                                value_shape=[2], shared_name="v")
            c.run(targets=[op("LookupTableInsert")(table_handle=v, keys=["k"], values=[[1., 2.]])])
            c.run(op("LookupTableFind")(table_handle=v, keys=["k", "l"], default_value=[0., -1.]))
            path = FILES + "_vocab.txt"
            with open(path, "w") as f:
                f.write("x\ny\nz\n")
            w = op("HashTable")(key_dtype=tf.string, value_dtype=tf.int64, shared_name="w")
            c.run(targets=[raw.WriteFile(filename=path, contents="x\ny\nz\n")])
            c.run(targets=[op("InitializeTableFromTextFile")(
                table_handle=w, filename=path, key_index=-2, value_index=-1)])
            c.run(op("LookupTableFind")(table_handle=w, keys=["z", "x", "q"],
                                        default_value=tf.constant(9, tf.int64)))
    with Case(out, "gradients of TensorArrays") as c:
        for clear in [True, False]:
            t, f0 = raw.TensorArrayV3(size=3, dtype=tf.float32, clear_after_read=clear,
                                      dynamic_size=True)
            f1 = raw.TensorArrayScatterV3(handle=t, indices=[0, 1], value=[[3., 4.], [5., 6.]],
                                          flow_in=f0)
            got = raw.TensorArrayReadV3(handle=t, index=0, dtype=tf.float32, flow_in=f1)
            with tf.control_dependencies([got]):
                g, gf = raw.TensorArrayGradV3(handle=t, flow_in=f1, source="gradients")
                g2, gf2 = raw.TensorArrayGradV3(handle=t, flow_in=f1, source="gradients")
                g3, gf3 = raw.TensorArrayGradWithShape(handle=t, flow_in=f1, source="other",
                                                       shape_to_prepend=[2])
            w1 = raw.TensorArrayWriteV3(handle=g, index=1, value=[1., 1.], flow_in=gf)
            w2 = raw.TensorArrayWriteV3(handle=g2, index=1, value=[10., 20.], flow_in=w1)
            c.run([got, raw.TensorArrayReadV3(handle=g, index=1, dtype=tf.float32, flow_in=w2),
                   raw.TensorArrayReadV3(handle=g, index=0, dtype=tf.float32, flow_in=w2),
                   raw.TensorArraySizeV3(handle=g, flow_in=w2)])
            c.run(raw.TensorArrayReadV3(handle=g3, index=0, dtype=tf.float32, flow_in=gf3))
            c.run(raw.TensorArrayReadV3(handle=g, index=2, dtype=tf.float32, flow_in=w2))
            c.run(raw.TensorArrayWriteV3(handle=g2, index=1, value=[10.], flow_in=w1))
            c.run(raw.TensorArrayWriteV3(handle=g2, index=3, value=[10.], flow_in=w1))
    write("state_containers.txt", out)


def more():
    out = []
    for kind in ["", "Resource"]:
        with Case(out, kind + "ConditionalAccumulator") as c:
            for reduction in ["MEAN", "SUM"]:
                h = getattr(raw, kind + "ConditionalAccumulator")(
                    dtype=tf.float32, shape=[None, 2], reduction_type=reduction,
                    shared_name=reduction)
                g, step = ph(), ph(tf.int64)
                put = getattr(raw, kind + "AccumulatorApplyGradient")(handle=h, local_step=step,
                                                                      gradient=g)
                num = getattr(raw, kind + "AccumulatorNumAccumulated")(handle=h)
                take = getattr(raw, kind + "AccumulatorTakeGradient")(handle=h, num_required=2,
                                                                      dtype=tf.float32)
                for k in range(2):
                    c.run(targets=[put], feeds={g: f32([[1, 2]]) * (k + 1), step: 0})
                c.run(targets=[put], feeds={g: f32([[1, 2, 3]]), step: 0})
                c.run(targets=[put], feeds={g: f32([[1, 2], [3, 4]]), step: 0})
                c.run(num)
                c.run(take)
                c.run(targets=[put], feeds={g: f32([[1, 2]]), step: 0})
                c.run(num)
                c.run(targets=[put], feeds={g: f32([[1, 2]]), step: 1})
                c.run(num)
                c.run(targets=[getattr(raw, kind + "AccumulatorSetGlobalStep")(
                    handle=h, new_global_step=np.int64(5))])
                c.run(targets=[put], feeds={g: f32([[1, 2]]), step: 4})
                c.run(num)
    with Case(out, "SparseConditionalAccumulator") as c:
        for reduction in ["MEAN", "SUM"]:
            h = raw.SparseConditionalAccumulator(dtype=tf.float32, shape=[None, 2],
                                                 reduction_type=reduction, shared_name=reduction)
            i, g = ph(tf.int64), ph()
            put = raw.SparseAccumulatorApplyGradient(
                handle=h, local_step=np.int64(0), gradient_indices=i, gradient_values=g,
                gradient_shape=np.array([4, 2], np.int64), has_known_shape=True)
            c.run(targets=[put], feeds={i: [0, 2], g: f32([[1, 2], [3, 4]])})
            c.run(targets=[put], feeds={i: [1, 2], g: f32([[10, 20], [30, 40]])})
            c.run(raw.AccumulatorNumAccumulated(handle=h))
            c.run(raw.SparseAccumulatorTakeGradient(handle=h, num_required=2, dtype=tf.float32))
    with Case(out, "Stage") as c:
        kw = dict(capacity=5, dtypes=[tf.float32, tf.int32], shared_name="s")
        x, y = ph(name="x"), ph(tf.int32, "y")
        put = raw.Stage(values=[x, y], capacity=5, shared_name="s")
        for k in range(3):
            c.run(targets=[put], feeds={"x": f32([k, k]), "y": k})
        c.run(raw.StageSize(**kw))
        c.run(raw.StagePeek(index=1, **kw))
        c.run(raw.Unstage(**kw))
        c.run(raw.StageSize(**kw))
        c.run(targets=[raw.StageClear(**kw)])
        c.run(raw.StageSize(**kw))
    for m in ["Map", "OrderedMap"]:
        with Case(out, m + "Stage") as c:
            kw = dict(dtypes=[tf.float32, tf.int32], shared_name="s")
            key, x, y = ph(tf.int64, "key"), ph(name="x"), ph(tf.int32, "y")
            both = getattr(raw, m + "Stage")(key=key, indices=[0, 1], values=[x, y], **kw)
            first = getattr(raw, m + "Stage")(key=key, indices=[0], values=[x], **kw)
            second = getattr(raw, m + "Stage")(key=key, indices=[1], values=[y], **kw)
            sizes = [getattr(raw, m + "Size")(**kw), getattr(raw, m + "IncompleteSize")(**kw)]
            c.run(targets=[both], feeds={"key": 5, "x": f32([5]), "y": 5})
            c.run(targets=[first], feeds={"key": 3, "x": f32([3])})
            c.run(sizes)
            c.run(targets=[first], feeds={"key": 3, "x": f32([3])})
            c.run(targets=[second], feeds={"key": 3, "y": 3})
            c.run(sizes)
            c.run(getattr(raw, m + "Peek")(key=key, indices=[0, 1], **kw), {"key": 3})
            if m == "OrderedMap":
                c.run(list(getattr(raw, m + "UnstageNoKey")(indices=[0, 1], **kw).values[:0]) or [
                    getattr(raw, m + "UnstageNoKey")(indices=[0, 1], **kw).key])
            c.run(getattr(raw, m + "Unstage")(key=key, indices=[0, 1], **kw), {"key": 5})
            c.run(sizes)
            c.run(targets=[getattr(raw, m + "Clear")(**kw)])
            c.run(sizes)
    with Case(out, "Barrier") as c:
        b = raw.Barrier(component_types=[tf.float32, tf.string], shapes=[[2], []], shared_name="b")
        k, x, y = ph(tf.string, "k"), ph(name="x"), ph(tf.string, "y")
        first = raw.BarrierInsertMany(handle=b, keys=k, values=x, component_index=0)
        second = raw.BarrierInsertMany(handle=b, keys=k, values=y, component_index=1)
        sizes = [raw.BarrierReadySize(handle=b), raw.BarrierIncompleteSize(handle=b)]

        def take(n, **kw):
            return raw.BarrierTakeMany(handle=b, num_elements=n,
                                       component_types=[tf.float32, tf.string], **kw)

        c.run(targets=[first], feeds={"k": ["a", "b", "c"], "x": f32([[1, 2], [3, 4], [5, 6]])})
        c.run(targets=[second], feeds={"k": ["c", "a"], "y": ["C", "A"]})
        c.run(sizes)
        c.run(take(2))
        c.run(targets=[first], feeds={"k": ["b"], "x": f32([[1, 2]])})
        c.run(targets=[raw.BarrierClose(handle=b)])
        c.run(targets=[first], feeds={"k": ["new"], "x": f32([[1, 2]])})
        c.run(targets=[second], feeds={"k": ["b"], "y": ["B"]})
        c.run(take(2))
        c.run(take(2, allow_small_batch=True))
        c.run(sizes)
    with Case(out, "optionals and maps") as c:
        o = raw.OptionalFromValue(components=[tf.constant([1., 2.]), tf.constant("a")])
        n = raw.OptionalNone()
        c.run([raw.OptionalHasValue(optional=o), raw.OptionalHasValue(optional=n)])
        types = dict(output_types=[tf.float32, tf.string], output_shapes=[[None], []])
        c.run(raw.OptionalGetValue(optional=o, **types))
        c.run(raw.OptionalGetValue(optional=n, **types))
        c.run(raw.OptionalGetValue(optional=o, output_types=[tf.float32, tf.string],
                                   output_shapes=[[3], []]))
        c.run(raw.OptionalGetValue(optional=o, output_types=[tf.int32, tf.string],
                                   output_shapes=[[2], []]))
        c.run(raw.OptionalGetValue(optional=o, output_types=[tf.float32], output_shapes=[[2]]))
        m = raw.TensorMapInsert(input_handle=raw.EmptyTensorMap(), key=1., value=[1, 2])
        m = raw.TensorMapInsert(input_handle=m, key=2., value=[3, 4])
        m2 = raw.TensorMapInsert(input_handle=m, key=1., value=[9])
        c.run([raw.TensorMapSize(input_handle=m2),
               raw.TensorMapHasKey(input_handle=m2, key=2.), raw.TensorMapHasKey(input_handle=m2, key=3.),
               raw.TensorMapLookup(input_handle=m2, key=1., value_dtype=tf.int32),
               raw.TensorMapLookup(input_handle=m, key=1., value_dtype=tf.int32),
               raw.TensorMapSize(input_handle=raw.TensorMapErase(
                   input_handle=m, key=2., value_dtype=tf.int32))])
        c.run(raw.TensorMapLookup(input_handle=m, key=7., value_dtype=tf.int32))
        c.run(raw.TensorMapErase(input_handle=m, key=7., value_dtype=tf.int32).op.outputs[:0],
              targets=[raw.TensorMapErase(input_handle=m, key=7., value_dtype=tf.int32).op])
    with Case(out, "resource variables") as c:
        h = raw.VarHandleOp(dtype=tf.int32, shape=[], shared_name="n")
        up = raw.ResourceCountUpTo(resource=h, limit=1, T=tf.int32)
        c.run(up)
        c.run(targets=[raw.AssignVariableOp(resource=h, value=0)])
        c.run(up)
        c.run(up)
        w = raw.VarHandleOp(dtype=tf.float32, shape=[3], shared_name="w")
        c.run(targets=[raw.AssignVariableOp(resource=w, value=[1., 2., 3.])])
        c.run(targets=[raw.ResourceStridedSliceAssign(ref=w, begin=[0], end=[2], strides=[1],
                                                      value=[7., 8.])])
        c.run(raw.ReadVariableOp(resource=w, dtype=tf.float32))
        c.run(raw.TensorStridedSliceUpdate(input=[1., 2., 3.], begin=[2], end=[0], strides=[-1],
                                           value=[5., 6.]))
        c.run(targets=[raw.DisableCopyOnRead(resource=w)])
        mutex = raw.MutexV2(shared_name="m")
        lock = raw.MutexLock(mutex=mutex)
        c.run(targets=[raw.ConsumeMutexLock(mutex_lock=lock)])
        c.run(targets=[raw.ConsumeMutexLock(mutex_lock=lock)])
        c.run(raw.GuaranteeConst(input=tf.constant([1., 2.])))
        c.run(raw.FakeParam(dtype=tf.float32, shape=[0, 2]))
    write("state_more.txt", out)


DTYPES = [tf.float32, tf.float64, tf.float16, tf.bfloat16, tf.int8, tf.int16, tf.int32, tf.int64,
          tf.uint8, tf.uint16, tf.uint32, tf.uint64, tf.bool, tf.complex64, tf.complex128]
GROUPS = {"checkpoints": checkpoints, "containers": containers, "more": more, "refs": refs, "optimizers_ref": lambda: optimizers(False),
          "optimizers_resource": lambda: optimizers(True)}

if __name__ == "__main__":
    v1.disable_eager_execution()
    for g in sys.argv[1:] or GROUPS:
        GROUPS[g]()
