#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""One C API, two libraries: calls ops through TFE_* and builds graphs through TF_* with ctypes.

Used by tools/fuzz_ops.py. The same code drives TensorFlow's libtensorflow_cc.so.2 and Ferry's
libtensorflow.so.2, each in a child process of its own (`fuzz_driver.py WHICH`), which reads pickled
cases from stdin and answers on stdout. What crashes or hangs takes only the child with it.

A tensor is (dtype name, dims, bytes), with a list of byte strings for strings. A case is a dict:
op, attrs {name: (kind, value)}, inputs [tensor], vars: how many of the first inputs are the values of
resource variables; mode "eager" or "graph"; in graph mode `known` says for every input what inference
may see: "value", or a list of dims (-1 unknown), or None; or how small integers are computed from what is
known: "sum" (of constants), "shape" (of a placeholder), "pack" and "part" (of scalars, one of them unknown).
"""
import ctypes as C
import glob
import os
import pickle
import resource
import struct
import sys

import fuzz_cases as cases

DTYPES = {"float": 1, "double": 2, "int32": 3, "uint8": 4, "int16": 5, "int8": 6, "string": 7,
          "complex64": 8, "int64": 9, "bool": 10, "qint8": 11, "quint8": 12, "qint32": 13,
          "bfloat16": 14, "qint16": 15, "quint16": 16, "uint16": 17, "complex128": 18, "half": 19,
          "resource": 20, "variant": 21, "uint32": 22, "uint64": 23, "float8_e5m2": 24,
          "float8_e4m3fn": 25, "int4": 29, "uint4": 30}
NAMES = {v: k for k, v in DTYPES.items()}
CHAINS = ("sum", "shape", "pack", "part")
ROOT = os.path.join(os.path.dirname(os.path.abspath(__file__)), "..")


class Failed(Exception):
    def __init__(self, code, text):
        Exception.__init__(self, text)
        self.code, self.text = code, text


def load(which):
    if which == "ferry":
        return C.CDLL(os.environ.get("FERRY_LIB") or os.path.join(ROOT, "build/lib/libtensorflow.so.2"))
    os.environ.setdefault("TF_CPP_MIN_LOG_LEVEL", "3")
    where = os.environ.get("TENSORFLOW_DIR")
    for base in [where] if where else sys.path:
        found = glob.glob(os.path.join(base, "" if where else "tensorflow", "libtensorflow_cc.so.2"))
        if found:
            folder = os.path.dirname(found[0])
            C.CDLL(os.path.join(folder, "libtensorflow_framework.so.2"), mode=C.RTLD_GLOBAL)
            return C.CDLL(found[0], mode=C.RTLD_GLOBAL)
    raise SystemExit("TensorFlow is not installed for this Python (or set TENSORFLOW_DIR)")


class Api:
    """The C functions with pointers as integers; each status becomes a Failed."""
    POINTERS = """TF_NewStatus TF_Message TFE_NewContextOptions TFE_NewContext TFE_NewOp TF_AllocateTensor
        TF_TensorData TFE_NewTensorHandle TFE_TensorHandleResolve TF_NewGraph TF_NewOperation
        TF_FinishOperation TF_StringGetDataPointer""".split()

    def __init__(self, which):
        self.lib = load(which)
        for name in self.POINTERS:
            getattr(self.lib, name).restype = C.c_void_p
        self.lib.TF_Message.restype = C.c_char_p
        for name in ("TF_Dim", "TF_StringGetSize", "TF_TensorByteSize"):
            getattr(self.lib, name).restype = C.c_int64
        self.status = C.c_void_p(self.lib.TF_NewStatus())
        self.ctx, self.made = None, 0

    def check(self):
        code = self.lib.TF_GetCode(self.status)
        if code:
            raise Failed(code, self.lib.TF_Message(self.status).decode("utf-8", "replace"))

    def context(self):
        if self.ctx is None:
            options = C.c_void_p(self.lib.TFE_NewContextOptions())
            self.ctx = C.c_void_p(self.lib.TFE_NewContext(options, self.status))
            self.lib.TFE_DeleteContextOptions(options)
            self.check()
        return self.ctx

    # ------------------------------------------------------------ tensors
    def tensor(self, t):
        name, dims, data = t
        array = (C.c_int64 * max(1, len(dims)))(*dims)
        size = 24 * len(data) if name == "string" else len(data)
        made = C.c_void_p(self.lib.TF_AllocateTensor(DTYPES[name], array, len(dims), C.c_size_t(size)))
        at = self.lib.TF_TensorData(made)
        if name == "string":
            for i, text in enumerate(data):
                one = C.c_void_p(at + 24 * i)
                self.lib.TF_StringInit(one)
                self.lib.TF_StringCopy(one, text, C.c_size_t(len(text)))
        elif size:
            C.memmove(at, data, size)
        return made

    def read(self, made):
        name = NAMES.get(self.lib.TF_TensorType(made), "?")
        dims = tuple(self.lib.TF_Dim(made, i) for i in range(self.lib.TF_NumDims(made)))
        count = 1
        for d in dims:
            count *= d
        at = self.lib.TF_TensorData(made)
        if name in ("resource", "variant", "?"):
            return (name, dims, None)
        if name == "string":
            data = []
            for i in range(count):
                one = C.c_void_p(at + 24 * i)
                n = self.lib.TF_StringGetSize(one)
                data.append(C.string_at(self.lib.TF_StringGetDataPointer(one), n))
            return (name, dims, data)
        n = self.lib.TF_TensorByteSize(made)
        return (name, dims, C.string_at(at, n) if n else b"")

    def handle(self, t):
        made = self.tensor(t)
        handle = C.c_void_p(self.lib.TFE_NewTensorHandle(made, self.status))
        self.lib.TF_DeleteTensor(made)
        self.check()
        return handle

    def value(self, handle):
        # A handle of a resource or variant cannot always be resolved to bytes.
        kind = NAMES.get(self.lib.TFE_TensorHandleDataType(handle), "?")
        if kind in ("resource", "variant", "?"):
            return (kind, (), None)
        made = C.c_void_p(self.lib.TFE_TensorHandleResolve(handle, self.status))
        self.check()
        t = self.read(made)
        self.lib.TF_DeleteTensor(made)
        return t

    # ------------------------------------------------------------ attributes
    def attr(self, prefix, owner, name, kind, v):
        lib, key = self.lib, name.encode()

        def call(what, *args):
            getattr(lib, prefix + what)(owner, key, *args)

        def dims_of(shape):
            return (C.c_int64 * max(1, len(shape or ())))(*(shape or ())), -1 if shape is None else len(shape)

        if kind == "int":
            call("Int", C.c_int64(v))
        elif kind == "float":
            call("Float", C.c_float(v))
        elif kind == "bool":
            call("Bool", C.c_ubyte(bool(v)))
        elif kind == "string":
            call("String", v, C.c_size_t(len(v)))
        elif kind == "type":
            call("Type", DTYPES[v])
        elif kind == "shape":
            array, n = dims_of(v)
            if prefix == "TFE_OpSetAttr":
                call("Shape", array, n, self.status)
                self.check()
            else:
                call("Shape", array, n)
        elif kind == "list(int)":
            call("IntList", (C.c_int64 * max(1, len(v)))(*v), len(v))
        elif kind == "list(float)":
            call("FloatList", (C.c_float * max(1, len(v)))(*v), len(v))
        elif kind == "list(bool)":
            call("BoolList", (C.c_ubyte * max(1, len(v)))(*v), len(v))
        elif kind == "list(type)":
            call("TypeList", (C.c_int * max(1, len(v)))(*[DTYPES[x] for x in v]), len(v))
        elif kind == "list(string)":
            call("StringList", (C.c_char_p * max(1, len(v)))(*v),
                 (C.c_size_t * max(1, len(v)))(*[len(x) for x in v]), len(v))
        elif kind == "list(shape)":
            arrays = [dims_of(s) for s in v]
            pointers = (C.c_void_p * max(1, len(v)))(*[C.addressof(a) for a, _ in arrays])
            counts = (C.c_int * max(1, len(v)))(*[n for _, n in arrays])
            if prefix == "TFE_OpSetAttr":
                call("ShapeList", pointers, counts, len(v), self.status)
                self.check()
            else:
                call("ShapeList", pointers, counts, len(v))
        else:
            raise Failed(12, "fuzzer: attribute of kind " + kind)

    # ------------------------------------------------------------ eager
    def execute(self, op, attrs, handles, most=128):
        lib = self.lib
        made = C.c_void_p(lib.TFE_NewOp(self.context(), op.encode(), self.status))
        self.check()
        try:
            lib.TFE_OpSetDevice(made, b"/device:CPU:0", self.status)
            for name, (kind, v) in sorted(attrs.items()):
                self.attr("TFE_OpSetAttr", made, name, kind, v)
            for h in handles:
                lib.TFE_OpAddInput(made, h, self.status)
                self.check()
            results, n = (C.c_void_p * most)(), C.c_int(most)
            lib.TFE_Execute(made, results, C.byref(n), self.status)
            self.check()
            return [C.c_void_p(results[i]) for i in range(n.value)]
        finally:
            lib.TFE_DeleteOp(made)

    def eager(self, case):
        handles, variables, count = [], [], case.get("vars", 0)
        try:
            for i, t in enumerate(case["inputs"]):
                if i >= count:
                    handles.append(self.handle(t))
                    continue
                shape = ("shape", list(t[1]))
                var = self.execute("VarHandleOp", {"dtype": ("type", t[0]), "shape": shape, "shared_name": (
                    "string", b"v%d" % self.made)}, [])[0]
                self.made += 1
                variables.append((var, t[0]))
                value = self.handle(t)
                self.execute("AssignVariableOp", {"dtype": ("type", t[0])}, [var, value])
                self.lib.TFE_DeleteTensorHandle(value)
                handles.append(var)
            out = self.execute(case["op"], case["attrs"], handles)
            tensors = [self.value(h) for h in out]
            for h in out:
                self.lib.TFE_DeleteTensorHandle(h)
            after = []
            for var, dtype in variables:
                read = self.execute("ReadVariableOp", {"dtype": ("type", dtype)}, [var])[0]
                after.append(self.value(read))
                self.lib.TFE_DeleteTensorHandle(read)
            return ("ok", tensors, after)
        finally:
            for h in handles:
                self.lib.TFE_DeleteTensorHandle(h)

    # ------------------------------------------------------------ shapes
    def chain(self, graph, output, i, t, how):
        """Integers |t| computed in the graph: the node."""
        lib, count = self.lib, [0]
        array = cases.to_array(t)

        def node(op, inputs=(), many=(), **attrs):
            count[0] += 1
            d = C.c_void_p(lib.TF_NewOperation(graph, op, b"in%d_%d" % (i, count[0])))
            for x in inputs:
                lib.TF_AddInput(d, output(x, 0))
            if many:
                lib.TF_AddInputList(d, (output * len(many))(*[output(x, 0) for x in many]), len(many))
            for name, (kind, v) in attrs.items():
                if kind == "tensor":
                    made = self.tensor(v)
                    lib.TF_SetAttrTensor(d, name.encode(), made, self.status)
                    lib.TF_DeleteTensor(made)
                else:
                    self.attr("TF_SetAttr", d, name, kind, v)
            made = lib.TF_FinishOperation(d, self.status)
            self.check()
            return made

        def constant(a):
            return node(b"Const", dtype=("type", t[0]), value=("tensor", cases.from_array(t[0], a)))

        if how == "sum":
            return node(b"Sub", [constant(array + 1), constant(array * 0 + 1)])
        if how == "shape":
            x = node(b"Placeholder", dtype=("type", "float"), shape=("shape", [int(v) for v in array]))
            return node(b"Shape", [x], out_type=("type", t[0]))
        scalars = [constant(v) for v in array]
        if how == "part":
            scalars[len(scalars) // 2] = node(b"Placeholder", dtype=("type", t[0]), shape=("shape", []))
        return node(b"Pack", many=scalars)

    def graph(self, case):
        class Output(C.Structure):
            _fields_ = [("oper", C.c_void_p), ("index", C.c_int)]
        lib = self.lib
        lib.TF_AddInput.argtypes = [C.c_void_p, Output]
        lib.TF_GraphGetTensorNumDims.argtypes = [C.c_void_p, Output, C.c_void_p]
        lib.TF_GraphGetTensorShape.argtypes = [C.c_void_p, Output, C.c_void_p, C.c_int, C.c_void_p]
        graph = C.c_void_p(lib.TF_NewGraph())
        try:
            nodes = []
            for i, (t, known) in enumerate(zip(case["inputs"], case["known"])):
                if known in CHAINS:
                    nodes.append(self.chain(graph, Output, i, t, known))
                    continue
                if known == "value":
                    d = C.c_void_p(lib.TF_NewOperation(graph, b"Const", b"in%d" % i))
                    made = self.tensor(t)
                    lib.TF_SetAttrTensor(d, b"value", made, self.status)
                    lib.TF_DeleteTensor(made)
                    self.check()
                else:
                    ref = i < len(case.get("refs", ())) and case["refs"][i]
                    kind = b"VariableV2" if ref else b"Placeholder"
                    d = C.c_void_p(lib.TF_NewOperation(graph, kind, b"in%d" % i))
                    self.attr("TF_SetAttr", d, "shape", "shape", known)
                lib.TF_SetAttrType(d, b"dtype", DTYPES[t[0]])
                nodes.append(lib.TF_FinishOperation(d, self.status))
                self.check()
            d = C.c_void_p(lib.TF_NewOperation(graph, case["op"].encode(), b"n"))
            at = 0
            for size in case["groups"]:  # -1: one tensor; else a list of so many
                if size < 0:
                    lib.TF_AddInput(d, Output(nodes[at], 0))
                    at += 1
                else:
                    many = (Output * max(1, size))(*[Output(x, 0) for x in nodes[at:at + size]])
                    lib.TF_AddInputList(d, many, size)
                    at += size
            for name, (kind, v) in sorted(case["attrs"].items()):
                if name not in case["inferred"]:
                    self.attr("TF_SetAttr", d, name, kind, v)
            made = lib.TF_FinishOperation(d, self.status)
            self.check()
            shapes = []
            for k in range(lib.TF_OperationNumOutputs(C.c_void_p(made))):
                rank = lib.TF_GraphGetTensorNumDims(graph, Output(made, k), self.status)
                self.check()
                if rank < 0:
                    shapes.append(None)
                    continue
                dims = (C.c_int64 * max(1, rank))()
                lib.TF_GraphGetTensorShape(graph, Output(made, k), dims, rank, self.status)
                self.check()
                shapes.append(tuple(dims[:rank]))
            return ("ok", shapes, [])
        finally:
            lib.TF_DeleteGraph(graph)

    # ------------------------------------------------------------ sessions
    def session(self, case):
        """The op in a graph, run once: inputs are constants or fed, as `known` says; variables are made."""
        class Output(C.Structure):
            _fields_ = [("oper", C.c_void_p), ("index", C.c_int)]
        lib = self.lib
        lib.TF_AddInput.argtypes = [C.c_void_p, Output]
        for name in ("TF_NewSessionOptions", "TF_NewSession"):
            getattr(lib, name).restype = C.c_void_p
        graph, session = C.c_void_p(lib.TF_NewGraph()), None

        def finish(d):
            made = lib.TF_FinishOperation(d, self.status)
            self.check()
            return made

        def run(feeds, fetches, targets):
            ins = (Output * max(1, len(feeds)))(*[f for f, _ in feeds])
            tensors = [self.tensor(t) for _, t in feeds]
            values = (C.c_void_p * max(1, len(feeds)))(*[t.value for t in tensors])
            outs = (Output * max(1, len(fetches)))(*fetches)
            got = (C.c_void_p * max(1, len(fetches)))()
            ops = (C.c_void_p * max(1, len(targets)))(*targets)
            lib.TF_SessionRun(session, None, ins, values, len(feeds), outs, got, len(fetches), ops, len(targets),
                              None, self.status)
            for t in tensors:
                lib.TF_DeleteTensor(t)
            self.check()
            answers = []
            for g in got[:len(fetches)]:
                answers.append(self.read(C.c_void_p(g)))
                lib.TF_DeleteTensor(C.c_void_p(g))
            return answers

        try:
            nodes, feeds, assigns, reads = [], [], [], []
            for i, (t, known) in enumerate(zip(case["inputs"], case["known"])):
                if i < case.get("vars", 0):
                    d = C.c_void_p(lib.TF_NewOperation(graph, b"VarHandleOp", b"in%d" % i))
                    self.attr("TF_SetAttr", d, "shape", "shape", list(t[1]))
                    self.attr("TF_SetAttr", d, "shared_name", "string", b"s%d" % self.made)
                    self.made += 1
                    lib.TF_SetAttrType(d, b"dtype", DTYPES[t[0]])
                    nodes.append(finish(d))
                    d = C.c_void_p(lib.TF_NewOperation(graph, b"Placeholder", b"value%d" % i))
                    lib.TF_SetAttrType(d, b"dtype", DTYPES[t[0]])
                    value = finish(d)
                    d = C.c_void_p(lib.TF_NewOperation(graph, b"AssignVariableOp", b"assign%d" % i))
                    lib.TF_AddInput(d, Output(nodes[-1], 0))
                    lib.TF_AddInput(d, Output(value, 0))
                    assigns.append((finish(d), Output(value, 0), t))
                    d = C.c_void_p(lib.TF_NewOperation(graph, b"ReadVariableOp", b"read%d" % i))
                    lib.TF_AddInput(d, Output(nodes[-1], 0))
                    lib.TF_SetAttrType(d, b"dtype", DTYPES[t[0]])
                    reads.append(Output(finish(d), 0))
                    continue
                constant = known == "value"
                d = C.c_void_p(lib.TF_NewOperation(graph, b"Const" if constant else b"Placeholder", b"in%d" % i))
                if constant:
                    made = self.tensor(t)
                    lib.TF_SetAttrTensor(d, b"value", made, self.status)
                    lib.TF_DeleteTensor(made)
                    self.check()
                else:
                    self.attr("TF_SetAttr", d, "shape", "shape", known)
                lib.TF_SetAttrType(d, b"dtype", DTYPES[t[0]])
                nodes.append(finish(d))
                if not constant:
                    feeds.append((Output(nodes[-1], 0), t))
            d = C.c_void_p(lib.TF_NewOperation(graph, case["op"].encode(), b"n"))
            at = 0
            for size in case["groups"]:
                if size < 0:
                    lib.TF_AddInput(d, Output(nodes[at], 0))
                    at += 1
                else:
                    many = (Output * max(1, size))(*[Output(x, 0) for x in nodes[at:at + size]])
                    lib.TF_AddInputList(d, many, size)
                    at += size
            for name, (kind, v) in sorted(case["attrs"].items()):
                if name not in case["inferred"]:
                    self.attr("TF_SetAttr", d, name, kind, v)
            made = finish(d)
            options = C.c_void_p(lib.TF_NewSessionOptions())
            session = C.c_void_p(lib.TF_NewSession(graph, options, self.status))
            lib.TF_DeleteSessionOptions(options)
            self.check()
            for op, where, t in assigns:
                run([(where, t)], [], [op])
            fetches = [Output(made, k) for k in range(lib.TF_OperationNumOutputs(C.c_void_p(made)))]
            for _ in range(case.get("runs", 1)):
                out = run(feeds, fetches, [made])
            return ("ok", out, run([], reads, []) if reads else [])
        finally:
            if session:
                lib.TF_CloseSession(session, self.status)
                lib.TF_DeleteSession(session, self.status)
            lib.TF_DeleteGraph(graph)

    # ------------------------------------------------------------ one call after the other
    def steps(self, case):
        """Calls whose inputs may be ("from", step, output): the answer of each, in one list."""
        made, answers = [], []
        try:
            for op, attrs, inputs in case["steps"]:
                handles, own = [], []
                try:
                    for t in inputs:
                        if t[0] != "from":
                            own.append(self.handle(t))
                            handles.append(own[-1])
                        elif t[1] < len(made) and t[2] < len(made[t[1]]):
                            handles.append(made[t[1]][t[2]])
                        else:
                            raise Failed(-1, "the step it needs failed")
                    out = self.execute(op, attrs, handles)
                    made.append(out)
                    answers.append(("ok", [self.value(h) for h in out], []))
                except Failed as e:
                    if len(made) == len(answers):
                        made.append([])
                    answers.append(("error", e.code, e.text))
                finally:
                    for h in own:
                        self.lib.TFE_DeleteTensorHandle(h)
            return ("steps", answers)
        finally:
            for out in made:
                for h in out:
                    self.lib.TFE_DeleteTensorHandle(h)

    def run(self, case):
        mode = case.get("mode")
        if mode == "steps":
            return self.steps(case)
        try:
            return self.graph(case) if mode == "graph" else self.session(case) if mode == "session" else self.eager(case)
        except Failed as e:
            return ("error", e.code, e.text)


def serve(make, which):
    """Answers cases until there are no more: make(which).run(case) for each."""
    gigabytes = 10 << 30
    resource.setrlimit(resource.RLIMIT_AS, (gigabytes, gigabytes))
    resource.setrlimit(resource.RLIMIT_CORE, (0, 0))
    answers = os.fdopen(os.dup(1), "wb")
    os.dup2(os.open(os.devnull, os.O_WRONLY), 1)  # what an op prints is not an answer
    if "FUZZ_STDERR" not in os.environ:
        os.dup2(1, 2)
    api = make(which)
    source = sys.stdin.buffer
    while True:
        head = source.read(4)
        if len(head) < 4:
            break
        case = pickle.loads(source.read(struct.unpack("<I", head)[0]))
        reply = pickle.dumps(api.run(case))
        answers.write(struct.pack("<I", len(reply)) + reply)
        answers.flush()


if __name__ == "__main__":
    serve(Api, sys.argv[1])
