#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""SavedModels whose protobuf is whole, but whose graph lies: inputs, attributes, types, shapes, functions, signatures are
changed at random, and Ferry loads and runs what is left (C API, a process each). A status is right, a crash or a hang is not.

  /opt/tfvenv/bin/python tools/fuzz_models.py [--seconds 60] [--seed 1] [--save DIR] MODEL_DIR ...

It prints what ended a process, and keeps the model under --save (/tmp/fuzz_models).
"""
import argparse
import os
import random
import resource
import shutil
import signal
import sys
import time

os.environ["TF_CPP_MIN_LOG_LEVEL"] = "3"
os.environ["CUDA_VISIBLE_DEVICES"] = ""
sys.path.insert(0, os.path.dirname(os.path.abspath(__file__)))
from fuzz_driver import NAMES, Failed  # noqa: E402
from model_driver import Models  # noqa: E402
from tensorflow.core.protobuf import saved_model_pb2  # noqa: E402

SIZES = {"float": 4, "double": 8, "int32": 4, "uint8": 1, "int16": 2, "int8": 1, "complex64": 8, "int64": 8, "bool": 1,
         "bfloat16": 2, "uint16": 2, "half": 2, "uint32": 4, "uint64": 8}


def every_node(g, r):
    groups = [g.graph_def.node] + [f.node_def for f in g.graph_def.library.function]
    return r.choice([x for x in groups if len(x)] or [g.graph_def.node])


def mutate(m, r):
    g = m.meta_graphs[0]
    nodes = every_node(g, r)
    n = r.choice(nodes)
    kind = r.randrange(16)
    if kind == 0 and n.input:
        del n.input[r.randrange(len(n.input))]
    elif kind == 1 and n.input:
        n.input[r.randrange(len(n.input))] = r.choice(nodes).name + r.choice(["", ":0", ":1", ":7", ":output:0", ":output:9"])
    elif kind == 2:
        n.input.append(r.choice(["^", ""]) + r.choice(nodes).name)
    elif kind == 3 and n.attr:
        del n.attr[r.choice(sorted(n.attr))]
    elif kind == 4 and n.attr:
        a = n.attr[r.choice(sorted(n.attr))]
        what = a.WhichOneof("value")
        if what == "i":
            a.i = r.choice([-1, 0, 1, 2 ** 31, 2 ** 62, -2 ** 63])
        elif what == "type":
            a.type = r.choice([1, 2, 3, 7, 9, 10, 20, 21, 101, 0, 99])
        elif what == "s":
            a.s = r.choice([b"", b"x" * 100, b"\0", b"NCHW", b"VALID"])
        elif what == "b":
            a.b = not a.b
        elif what == "f":
            a.f = r.choice([float("nan"), -1., 1e38])
        elif what == "shape":
            a.shape.unknown_rank = False
            a.shape.dim.add().size = r.choice([-1, 0, 5, 2 ** 40, -7])
        elif what == "tensor":
            t = a.tensor
            which = r.randrange(4)
            if which == 0:
                t.tensor_shape.dim.add().size = r.choice([0, 3, 2 ** 33, -1])
            elif which == 1:
                t.dtype = r.choice([1, 3, 7, 9, 20, 21])
            elif which == 2:
                t.tensor_content = t.tensor_content[:-1] if t.tensor_content else b"abc"
            else:
                t.int_val.append(r.choice([-1, 2 ** 30]))
        elif what == "func" and g.graph_def.library.function:
            a.func.name = r.choice(g.graph_def.library.function).signature.name
        elif what == "list":
            if a.list.type:
                a.list.type.append(r.choice([1, 3, 7, 20]))
            elif a.list.i:
                a.list.i.append(r.choice([-1, 0, 2 ** 40]))
            elif a.list.shape:
                a.list.shape[0].dim.add().size = 3
            else:
                a.list.i.append(1)
        else:
            a.i = 1
    elif kind == 5:
        n.op = r.choice(nodes).op
    elif kind == 6 and len(nodes) > 1:
        del nodes[r.randrange(len(nodes))]
    elif kind == 7 and g.graph_def.library.function:
        f = r.choice(g.graph_def.library.function)
        if f.ret:
            f.ret[r.choice(sorted(f.ret))] = r.choice(["nobody:out:0", "", ":", r.choice(nodes).name + ":output:0"])
    elif kind == 8 and g.graph_def.library.function:
        f = r.choice(g.graph_def.library.function)
        if f.signature.input_arg:
            a = r.choice(f.signature.input_arg)
            a.type = r.choice([1, 3, 7, 20, 21])
    elif kind == 9 and g.graph_def.library.function:
        f = r.choice(g.graph_def.library.function)
        if r.randrange(2) and f.signature.input_arg:
            del f.signature.input_arg[r.randrange(len(f.signature.input_arg))]
        elif f.signature.output_arg:
            del f.signature.output_arg[r.randrange(len(f.signature.output_arg))]
    elif kind == 10:
        n.name = r.choice(nodes).name
    elif kind == 11 and g.signature_def:
        s = g.signature_def[r.choice(sorted(g.signature_def))]
        side = s.outputs if r.randrange(2) else s.inputs
        if side:
            v = side[r.choice(sorted(side))]
            v.name = r.choice(["gone:0", "", ":", r.choice(g.graph_def.node).name + ":5"])
    elif kind == 12:
        n.device = r.choice(["/device:GPU:0", "/job:x/device:CPU:99", "nonsense", "/device:CPU:0"])
    elif kind == 13 and g.graph_def.library.function:
        f = g.graph_def.library.function
        f.add().CopyFrom(r.choice(f))
    elif kind == 14:
        g.graph_def.versions.producer = r.choice([0, 5, 10, 99999])
    else:
        x = nodes[r.randrange(len(nodes))]
        y = nodes[r.randrange(len(nodes))]
        x.op, y.op = y.op, x.op


def zeros(info, r):
    name = NAMES.get(info.dtype, "?")
    dims = [2 if d.size < 0 else d.size for d in info.tensor_shape.dim]
    count = 1
    for d in dims:
        count *= d
    if name == "string":
        return ("string", dims, [b"some text"] * count)
    return (name, dims, bytes(SIZES.get(name, 1) * count)) if name in SIZES else None


def child(path, g, r):
    resource.setrlimit(resource.RLIMIT_AS, (8 << 30, 8 << 30))
    resource.setrlimit(resource.RLIMIT_CORE, (0, 0))
    signal.alarm(20)
    api = Models("ferry")
    try:
        session, graph = api.load(path, list(g.meta_info_def.tags))
    except Failed:
        return
    for sig in g.signature_def.values():
        feeds = {v.name: zeros(v, r) for v in sig.inputs.values() if v.name}
        fetches = [v.name for v in sig.outputs.values() if v.name]
        if None in feeds.values() or not fetches:
            continue
        for _ in range(2):
            try:
                api.run(session, graph, {"feeds": feeds, "fetches": fetches})
            except (Failed, ValueError):
                break


def main():
    p = argparse.ArgumentParser()
    p.add_argument("--seconds", type=float, default=60)
    p.add_argument("--seed", type=int, default=1)
    p.add_argument("--save", default="/tmp/fuzz_models")
    p.add_argument("models", nargs="+")
    a = p.parse_args()
    models = []
    for d in a.models:
        try:
            models.append((d, saved_model_pb2.SavedModel.FromString(open(os.path.join(d, "saved_model.pb"), "rb").read())))
        except OSError:
            pass
    end, tried, bad, seed = time.time() + a.seconds, 0, 0, a.seed
    os.makedirs(a.save, exist_ok=True)
    while time.time() < end:
        seed += 1
        r = random.Random(seed)
        d, whole = r.choice(models)
        m = saved_model_pb2.SavedModel()
        m.CopyFrom(whole)
        for _ in range(r.choice([1, 1, 2, 4])):
            mutate(m, r)
        path = os.path.join(a.save, "work")
        shutil.rmtree(path, ignore_errors=True)
        shutil.copytree(d, path)
        open(os.path.join(path, "saved_model.pb"), "wb").write(m.SerializeToString())
        pid = os.fork()
        if pid == 0:
            null = os.open(os.devnull, os.O_WRONLY)
            os.dup2(null, 1), os.dup2(null, 2)
            try:
                child(path, m.meta_graphs[0], r)
            finally:
                os._exit(0)
        _, status = os.waitpid(pid, 0)
        tried += 1
        if status:
            bad += 1
            kept = os.path.join(a.save, "seed%d" % seed)
            shutil.rmtree(kept, ignore_errors=True)
            shutil.copytree(path, kept)
            print("signal %d: %s of %s" % (status & 127, kept, os.path.basename(d)), flush=True)
    print("%d models, %d bad" % (tried, bad))
    return 1 if bad else 0


if __name__ == "__main__":
    sys.exit(main())
