#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Graphs for ops that no single eager call can show: the version 1 forms whose handles are
references (of graphs older than their deprecation), ops that only graphs may hold, and state that
one session keeps: tests/data/state_coverage.txt, replayed by tests/unit/test_state_replay.c.

  /opt/tfvenv/bin/python tools/goldens_coverage.py
"""
import os
import re
import tempfile

import numpy as np

import goldens_state
from goldens_state import Case, f32, ph, raw, tf, v1, write

DTYPES = goldens_state.DTYPES


class Old(Case):
    """A graph of an old producer: nodes are added by op name to a GraphDef that is imported."""

    def __init__(self, out, name, producer):
        Case.__init__(self, out, name)
        self.nodes = v1.GraphDef()
        self.nodes.versions.producer = producer

    def node(self, op, name, *inputs, **attrs):
        n = self.nodes.node.add(name=name, op=op)
        n.input.extend(inputs)
        for key, value in attrs.items():
            a = n.attr[key]
            if isinstance(value, tf.DType):
                a.type = value.as_datatype_enum
            elif isinstance(value, bool):
                a.b = value
            elif isinstance(value, int):
                a.i = value
            elif isinstance(value, float):
                a.f = value
            elif isinstance(value, list):
                a.list.i.extend(value)
            elif isinstance(value, str):
                a.s = value.encode()
            elif isinstance(value, tf.TensorShape):
                a.shape.CopyFrom(value.as_proto())
            else:
                raise ValueError(key)
        return name

    def const(self, name, value, dtype):
        n = self.nodes.node.add(name=name, op="Const")
        n.attr["dtype"].type = dtype.as_datatype_enum
        n.attr["value"].tensor.CopyFrom(tf.make_tensor_proto(value, dtype))
        return name

    def load(self):
        tf.import_graph_def(self.nodes, name="")

    def get(self, *names):
        return [self.graph.get_tensor_by_name(n + ":0" if ":" not in n else n) for n in names]


def values(dtype, n):
    if dtype == tf.string:
        return [b"s%d" % i for i in range(n)]
    if dtype == tf.bool:
        return [bool(i % 2) for i in range(n)]
    return np.arange(1, n + 1).astype(dtype.as_numpy_dtype)


def tensor_arrays(out):
    for dtype in DTYPES + [tf.string]:
        with Old(out, "TensorArray " + dtype.name, 15) as c:
            c.const("three", 3, tf.int32)
            c.const("one", 1, tf.int32)
            c.const("two", [2, 0], tf.int32)
            c.const("flow", 0., tf.float32)
            c.const("lengths", [1, 2, 1], tf.int64)
            c.node("Placeholder", "x", dtype=dtype)
            for a in ["a", "b", "c"]:
                c.node("TensorArray", a, "three", dtype=dtype, tensor_array_name=a)
            c.node("TensorArrayWrite", "write", "a", "one", "x", "flow", T=dtype)
            c.node("TensorArrayRead", "read", "a", "one", "write", dtype=dtype)
            c.node("TensorArraySize", "size", "a", "write")
            c.node("TensorArrayScatter", "scatter", "b", "two", "x", "flow", T=dtype)
            c.node("TensorArrayGather", "gather", "b", "two", "scatter", dtype=dtype)
            c.node("TensorArrayUnpack", "unpack", "b", "x", "flow", T=dtype)
            c.node("TensorArrayPack", "pack", "b", "unpack", dtype=dtype)
            c.node("TensorArraySplit", "split", "c", "x", "lengths", "flow", T=dtype)
            c.node("TensorArrayConcat", "concat", "c", "split", dtype=dtype)
            c.node("TensorArrayClose", "close", "a", "^read")
            c.node("TensorArraySize", "late", "a", "flow", "^close")
            c.load()
            read, size, gather, pack, concat, lengths, late, x = c.get(
                "read", "size", "gather", "pack", "concat", "concat:1", "late", "x")
            c.run([read, size], {x: values(dtype, 2)})
            c.run([gather], {x: values(dtype, 2)})
            c.run([pack], {x: values(dtype, 3)})
            c.run([concat, lengths], {x: values(dtype, 4)})
            if dtype == tf.float32:
                c.run([gather], {x: values(dtype, 3)})
                c.run([concat, lengths], {x: values(dtype, 3)})
                c.run([late], {x: values(dtype, 3)})


def readers(out):
    """Version 1: references. Files are made and read by the graph itself. (FixedLengthRecordReader never
    works in TensorFlow: its kernel wants an attribute that only version 2 has.)"""
    kinds = [("WholeFileReader", {}), ("TextLineReader", dict(skip_header_lines=1)),
             ("IdentityReader", {}), ("TFRecordReader", dict(compression_type=""))]
    with tempfile.NamedTemporaryFile() as f:
        with tf.io.TFRecordWriter(f.name) as w:
            w.write(b"first")
            w.write(b"second one")
        records = open(f.name, "rb").read()
    for op, attrs in kinds:
        with Old(out, op, 25) as c:
            c.const("file", "/tmp/ferry_state_goldens/reader_v1", tf.string)
            c.const("text", records if op[:2] == "TF" else b"head\nline one\nline two\n\nlast", tf.string)
            c.node("WriteFile", "make", "file", "text")
            c.nodes.node.add(name="q", op="FIFOQueue").attr["component_types"].list.type.append(
                tf.string.as_datatype_enum)
            c.node("QueueEnqueue", "add", "q", "file")
            c.nodes.node[-1].attr["Tcomponents"].list.type.append(tf.string.as_datatype_enum)
            c.node("QueueClose", "close", "q")
            c.node(op, "r", shared_name="r", **attrs)
            c.node("ReaderRead", "read", "r", "q")
            c.const("two", 2, tf.int64)
            c.node("ReaderReadUpTo", "some", "r", "q", "two")
            c.node("ReaderNumRecordsProduced", "records", "r")
            c.node("ReaderNumWorkUnitsCompleted", "units", "r")
            c.node("ReaderReset", "reset", "r")
            c.node("ReaderSerializeState", "save", "r")
            c.node("Placeholder", "kept", dtype=tf.string)
            c.node("ReaderRestoreState", "restore", "r", "kept")
            c.load()
            key, value, keys, vals, n, units, save = c.get("read", "read:1", "some", "some:1", "records",
                                                           "units", "save")
            op_of = c.graph.get_operation_by_name
            counts = [n, units]
            c.run(targets=[op_of("make")])
            for _ in range(7):
                c.run(targets=[op_of("add")])
            c.run([key, value])
            c.run(counts)
            c.run([keys, vals])
            c.run([keys, vals])
            c.run(counts)
            c.run([save])
            c.run(targets=[op_of("reset")])
            c.run(counts)
            c.run([key, value])
            c.run(targets=[op_of("restore")], feeds={c.get("kept")[0]: b"\x08\x02\x10\x02\x18\x07"})
            c.run(targets=[op_of("restore")], feeds={c.get("kept")[0]: b"nonsense"})
            c.run(counts)
            c.run(targets=[op_of("close")])
            for _ in range(3):
                c.run([keys, vals])


def few(out):
    with Case(out, "AccumulateNV2") as c:
        a, b = ph(name="a"), ph(name="b")
        c.run(raw.AccumulateNV2(inputs=[a, a, b], shape=[2]), {a: f32([1, 2]), b: f32([10, np.nan])})
        for dtype in [tf.float64, tf.int32, tf.complex64, tf.half, tf.int64, tf.uint8]:
            x = ph(dtype)
            c.run(raw.AccumulateNV2(inputs=[x, x], shape=[3]), {x: values(dtype, 3)})
    with Case(out, "session tensors") as c:
        x, name = ph(name="x"), ph(tf.string, "name")
        with tf.device("/cpu:0"):  # the handle tells
            h = raw.GetSessionHandle(value=x)
        c.run(h, {x: f32([[1, 2], [3, 4]])})
        kept = c.lines[-2].split()
        assert kept[0] == "fetch", kept
        handle = bytes.fromhex(kept[4])
        back = raw.GetSessionTensor(handle=name, dtype=tf.float32)
        c.run(back, {name: handle})
        c.run(raw.GetSessionTensor(handle=name, dtype=tf.int32), {name: handle})
        c.run(back, {name: b"nobody"})
        gone = raw.DeleteSessionTensor(handle=name)
        c.run(targets=[gone], feeds={name: handle})
        c.run(targets=[gone], feeds={name: handle})
        c.run(back, {name: handle})
        second = raw.GetSessionHandleV2(value=x)
        c.run(c.graph.create_op("IsResourceHandleRefCounting", [second], [tf.bool]).outputs, {x: f32([1])})
    with Case(out, "FakeQueue") as c:
        q = raw.FIFOQueueV2(component_types=[tf.int32], shared_name="q")
        f = raw.FakeQueue(resource=q)
        x = ph(tf.int32)
        put = raw.QueueEnqueue(handle=f, components=[x])
        for k in range(3):
            c.run(targets=[put], feeds={x: k * 7})
        c.run(raw.QueueSize(handle=f))
        c.run(raw.QueueDequeueV2(handle=q, component_types=[tf.int32]))
        c.run(raw.QueueDequeue(handle=f, component_types=[tf.int32]))
    with Case(out, "HostConst") as c:
        for dtype in DTYPES + [tf.string]:
            value = v1.AttrValue(tensor=tf.make_tensor_proto(values(dtype, 3), dtype))
            h = c.graph.create_op("HostConst", [], [dtype], attrs={
                "dtype": v1.AttrValue(type=dtype.as_datatype_enum), "value": value})
            c.run(h.outputs)
    with Old(out, "PlaceholderV2", 22) as c:
        c.node("PlaceholderV2", "p", dtype=tf.float32, shape=tf.TensorShape([2]))
        c.node("Neg", "n", "p", T=tf.float32)
        c.load()
        n, p = c.get("n", "p")
        c.run([n], {p: f32([1, 2])})
        c.run([n])
    with Case(out, "MapUnstageNoKey") as c:
        kw = dict(dtypes=[tf.float32, tf.int32], shared_name="s")
        x, y = ph(name="x"), ph(tf.int32, "y")
        put = raw.MapStage(key=np.int64(5), indices=[0, 1], values=[x, y], **kw)
        both = raw.MapUnstageNoKey(indices=[0, 1], **kw)
        c.run(targets=[put], feeds={x: f32([5, 6]), y: 7})
        c.run([both.key] + list(both.values))
    with Old(out, "StatefulStandardNormal", 28) as c:
        c.node("VarHandleOp", "v", dtype=tf.int64, shape=tf.TensorShape([18]), shared_name="rng")
        # the algorithm (1 = Philox), the counter, the key
        c.const("start", [1, 2, 3, 5] + [0] * 14, tf.int64)
        c.const("shape", [2, 3], tf.int32)
        c.node("AssignVariableOp", "init", "v", "start", dtype=tf.int64)
        c.node("ReadVariableOp", "state", "v", dtype=tf.int64)
        types_ = [tf.float32, tf.float64, tf.half, tf.bfloat16]
        for dtype in types_:
            c.node("StatefulStandardNormal", dtype.name, "v", "shape", dtype=dtype, shape_dtype=tf.int32)
        c.load()
        c.run(targets=[c.graph.get_operation_by_name("init")])
        for dtype in types_:
            c.run(c.get(dtype.name))
            c.run(c.get("state"))
    with Case(out, "TensorMapStackKeys") as c:
        m = raw.TensorMapInsert(input_handle=raw.EmptyTensorMap(), key=[1., 2.], value=[1, 2])
        c.run(raw.TensorMapStackKeys(input_handle=m, key_dtype=tf.float32))
        c.run(raw.TensorMapStackKeys(input_handle=raw.EmptyTensorMap(), key_dtype=tf.float32))
        c.run(raw.TensorMapStackKeys(input_handle=m, key_dtype=tf.int32))
    with Case(out, "several variables") as c:
        h = c.graph.create_op("_VarHandlesOp", [], [tf.resource, tf.resource], name="handles", attrs={
            "N": v1.AttrValue(i=2),
            "containers": strings([b"", b""]), "shared_names": strings([b"p", b"q"]),
            "dtypes": types([tf.float32, tf.int32]),
            "shapes": v1.AttrValue(list=v1.AttrValue.ListValue(
                shape=[tf.TensorShape([2]).as_proto(), tf.TensorShape([]).as_proto()]))})
        p, q = h.outputs
        read = c.graph.create_op("_ReadVariablesOp", [p, q], [tf.float32, tf.int32], name="read", attrs={
            "N": v1.AttrValue(i=2), "dtypes": types([tf.float32, tf.int32])})
        c.run(read.outputs)
        c.run(targets=[raw.AssignVariableOp(resource=p, value=[1., 2.]), raw.AssignVariableOp(resource=q, value=3)])
        c.run(read.outputs)
        c.run(c.graph.create_op("IsResourceHandleRefCounting", [p], [tf.bool]).outputs)
        weak = c.graph.create_op("MakeWeakResourceHandle", [p], [tf.resource]).outputs[0]
        c.run([raw.ReadVariableOp(resource=weak, dtype=tf.float32)])


def old_kernels(out):
    """Ops that graphs may no longer hold, in every type."""
    with Old(out, "BatchNormWithGlobalNormalization", 8) as c:
        rng = np.random.RandomState(3)
        kw = dict(variance_epsilon=.25)
        runs = []
        for t in [tf.float32, tf.float64, tf.half]:
            for scale in [True, False]:
                s = "%s_%d" % (t.name, scale)
                for name, shape in [("t", [2, 1, 2, 3]), ("m", [3]), ("v", [3]), ("b", [3]), ("g", [3]), ("d", [2, 1, 2, 3])]:
                    value = rng.randint(1, 9, shape)
                    c.const(name + s, value, t)
                c.node("BatchNormWithGlobalNormalization", "y" + s, *[n + s for n in "tmvbg"], T=t,
                       scale_after_normalization=scale, **kw)
                c.node("BatchNormWithGlobalNormalizationGrad", "z" + s, *[n + s for n in "tmvgd"], T=t,
                       scale_after_normalization=scale, **kw)
                runs += [["y" + s], ["z%s:%d" % (s, i) for i in range(5)]]
        c.load()
        for names in runs:
            c.run(c.get(*names))
    with Old(out, "Conv3DBackprop", 9) as c:
        rng = np.random.RandomState(4)
        runs = []
        for t in [tf.float32, tf.float64, tf.half]:
            for name, shape in [("x", [1, 3, 4, 3, 2]), ("f", [2, 2, 1, 2, 3]), ("d", [1, 3, 2, 3, 3])]:
                c.const(name + t.name, rng.randint(-3, 4, shape), t)
            n = t.name
            for op in ["Input", "Filter"]:
                c.node("Conv3DBackprop" + op, op + n, "x" + n, "f" + n, "d" + n, T=t, padding="SAME",
                       strides=[1, 1, 2, 1, 1])
                runs.append(op + n)
        c.load()
        for name in runs:
            c.run(c.get(name))
    with Case(out, "GenerateVocabRemapping") as c:
        new, old = "/tmp/ferry_state_goldens/new_vocab", "/tmp/ferry_state_goldens/old_vocab"
        words = ph(tf.string)
        c.run(targets=[raw.WriteFile(filename=new, contents="a\nb\nc\nd\n")])
        write_old = raw.WriteFile(filename=old, contents=words)
        for text in [b"c\na\nz\n", b"c\r\na\r\nz", b"", b"a\n\nb", b"a\nb\na\n"]:
            c.run(targets=[write_old], feeds={words: text})
            for kw in [dict(num_new_vocab=4), dict(new_vocab_offset=1, num_new_vocab=2),
                       dict(num_new_vocab=4, old_vocab_size=1), dict(new_vocab_offset=3, num_new_vocab=3),
                       dict(num_new_vocab=0), dict(num_new_vocab=4, old_vocab_size=9)]:
                kw = dict(dict(new_vocab_offset=0, old_vocab_size=-1), **kw)
                c.run(list(raw.GenerateVocabRemapping(new_vocab_file=new, old_vocab_file=old, **kw)))


def strings(values):
    return v1.AttrValue(list=v1.AttrValue.ListValue(s=values))


def types(values):
    return v1.AttrValue(list=v1.AttrValue.ListValue(type=[t.as_datatype_enum for t in values]))


def flow(out):
    with Case(out, "functional") as c:
        @tf.function(input_signature=[tf.TensorSpec([], tf.float32)], autograph=False)
        def double(x):
            return x * 2

        @tf.function(input_signature=[tf.TensorSpec([], tf.float32)], autograph=False)
        def square(x):
            return x * x

        @tf.function(input_signature=[tf.TensorSpec([], tf.float32)], autograph=False)
        def small(x):
            return x < 100

        functions = [f.get_concrete_function() for f in (double, square, small)]
        for f in functions:
            f.add_to_graph(c.graph)
        names = [v1.AttrValue(func=v1.NameAttrList(name=f.name)) for f in functions]
        branch, x = ph(tf.int32), ph()
        both = dict(Tin=types([tf.float32]), Tout=types([tf.float32]))
        shapes = v1.AttrValue(list=v1.AttrValue.ListValue())
        case = c.graph.create_op("StatelessCase", [branch, x], [tf.float32], attrs=dict(
            both, output_shapes=shapes, branches=v1.AttrValue(list=v1.AttrValue.ListValue(
                func=[n.func for n in names[:2]]))))
        for k in [0, 1, 2, -1]:
            c.run(case.outputs, {branch: k, x: 3.})
        cond = ph(tf.bool)
        test = c.graph.create_op("_If", [cond, x], [tf.float32], name="test",
                                 attrs=dict(both, then_branch=names[0], else_branch=names[1]))
        for k in [True, False]:
            c.run(test.outputs, {cond: k, x: 3.})
        loop = c.graph.create_op("_While", [x], [tf.float32], name="loop", attrs=dict(
            T=types([tf.float32]), cond=names[2], body=names[0]))
        c.run(loop.outputs, {x: 3.})
        c.run(loop.outputs, {x: 300.})


if __name__ == "__main__":
    v1.disable_eager_execution()
    os.makedirs("/tmp/ferry_state_goldens", exist_ok=True)
    made = []
    for group in [tensor_arrays, readers, few, flow, old_kernels]:
        group(made)
    # names that count up in the whole process
    made = [re.sub(r"^(error 3 TensorArray )\w+ has", r"\1has", text) for text in made]
    write("state_coverage.txt", made)
