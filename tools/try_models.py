#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Models that Ferry has not seen: many small ones of every kind (tools/models/) are exported by the real TensorFlow and
Keras, run by both with the same inputs, and compared. Nothing is kept.

  /opt/tfvenv/bin/python tools/try_models.py [--modes cpu,auto,…] [--dir /tmp/try_models] [--list] [--cli] [--freeze]
      [NAME ...]

NAME may be a part of a name. One line per model; exit code 1 if any differs. Ferry is called through the C API
(tools/model_driver.py; --cli: also through `ferry run`; --freeze: TensorFlow runs what `ferry freeze` made of it) in
each of the modes:
  cpu    as usual                          plain   without optimisation
  auto   CPU and a simulated GPU           tf      the same, placed by TensorFlow's rules
  gpu    every node asks for the GPU       mix     nodes ask for CPU and GPU in turn (both with soft placement)
"""
import argparse
import base64
import json
import os
import pickle
import shutil
import subprocess
import sys
import traceback

sys.path.insert(0, os.path.dirname(os.path.abspath(__file__)))
import numpy as np  # noqa: E402
from fuzz_driver import DTYPES  # noqa: E402
from models import functions, functions_more, graphs_tf1, keras_layers, keras_more, keras_ops, programs, signatures, tf1_more, tf1_third, training  # noqa: E402,F401
from models.common import keras, makers, path_of, place, tf, tf1  # noqa: E402
from google.protobuf import text_format  # noqa: E402
from tensorflow.core.protobuf import saved_model_pb2  # noqa: E402

# What cannot run yet, and why. The list only shrinks.
KNOWN = {"fn_sobol": "SobolSample has no kernel", "fn_dataset_inside": "tf.data inside a serving graph has no kernels"}
# Where TensorFlow's own rounding is that coarse (half precision inside; long chains of float).
LOOSE = {"mixed": 3e-2, "half": 3e-2, "bfloat16": 3e-2}
SIM = "sim=gpu:1,memory=512MiB"
MODES = {"cpu": "", "plain": "optimize=off", "auto": SIM, "tf": SIM + "; place=tensorflow",
         "gpu": SIM + "; soft_placement=true", "mix": SIM + "; soft_placement=true"}
HOLDERS = ("VarHandleOp", "VariableV2", "Variable")
HERE = os.path.dirname(os.path.abspath(__file__))


def parts_of(infos):
    """{key: tensor name}; the parts of sparse and ragged values are named as Ferry names them."""
    out = {}
    for k, v in infos.items():
        c = v.coo_sparse
        if v.name:
            out[k] = v.name
        elif c.values_tensor_name:
            out.update({k + "/indices": c.indices_tensor_name, k + "/values": c.values_tensor_name,
                        k + "/dense_shape": c.dense_shape_tensor_name})
        for i, part in enumerate(v.composite_tensor.components):
            out["%s/%s" % (k, "row_splits_%d" % (i - 1) if i else "flat_values")] = part.name
    return out


def flat(feeds):
    """{key: array}, with the parts of sparse and ragged values as entries of their own."""
    out = {}
    for k, v in feeds.items():
        if isinstance(v, tuple):
            out.update({k + "/" + part: np.asarray(a) for part, a in zip(("indices", "values", "dense_shape"), v)})
        elif isinstance(v, dict):
            out.update({k + "/" + part: np.asarray(a) for part, a in v.items()})
        else:
            out[k] = np.asarray(v)
    return out


def answers(name, runs, tags):
    """What TensorFlow says, and each run as tensors of the graph."""
    g = tf1.Graph()
    out, jobs = [], []
    with g.as_default(), tf1.Session(graph=g) as s:
        meta = tf1.saved_model.load(s, tags, path_of(name))
        for sig, feeds in runs:
            d = meta.signature_def[sig]
            want, ins = parts_of(d.outputs), parts_of(d.inputs)
            fd = {ins[k]: v for k, v in flat(feeds).items()}
            jobs.append((want, fd))
            out.append(s.run(want, fd))
    return out, jobs


def bytes_of(x):
    return x if isinstance(x, bytes) else str(x).encode()


def to_tensor(a):
    if a.dtype.kind in "OSU":
        return ("string", a.shape, [bytes_of(x) for x in a.ravel().tolist()])
    return (tf.as_dtype(a.dtype).name.replace("float32", "float").replace("float64", "double").replace("float16", "half")
            .replace("bhalf", "bfloat16"), a.shape, np.ascontiguousarray(a).tobytes())


def to_array(t):
    name, dims, data = t
    if name == "string":
        a = np.empty(len(data), object)
        a[:] = data
        return a.reshape(dims)
    return np.frombuffer(data, tf.as_dtype(DTYPES[name]).as_numpy_dtype).reshape(dims)


def drive(which, path, tags, jobs, config):
    # What is fed cannot be fetched (Python's Session answers such fetches itself).
    jobs = [({k: v for k, v in want.items() if v not in fd}, fd) for want, fd in jobs]
    runs = [{"feeds": {k: to_tensor(np.asarray(v)) for k, v in fd.items()}, "fetches": list(want.values())} for want, fd in jobs]
    job = pickle.dumps({"path": path, "tags": tags, "runs": runs})
    env = dict(os.environ, FERRY_CONFIG=config)
    env.pop("FERRY_SIM", None)
    r = subprocess.run([sys.executable, os.path.join(HERE, "model_driver.py"), which], input=job, capture_output=True, timeout=600,
                       env=env)
    if r.returncode:
        raise RuntimeError("driver: %s %s" % ("signal %d" % -r.returncode if r.returncode < 0 else "failed", r.stderr.decode()[-600:]))
    got = pickle.loads(r.stdout)
    bad = [x for x in got if x[0] != "ok"]
    if bad and len(got) == 1:
        raise RuntimeError("load: %s" % bad[0][2])
    return [{k: to_array(t) for k, t in zip(want, x[1])} if x[0] == "ok" else x for (want, _), x in zip(jobs, got[1:])]


def ask(name, path, mode):
    """A copy of the model whose nodes ask for devices."""
    shutil.rmtree(path, ignore_errors=True)
    shutil.copytree(path_of(name), path)
    pb, text = os.path.join(path, "saved_model.pb"), os.path.join(path, "saved_model.pbtxt")
    if os.path.exists(text):
        m = text_format.Parse(open(text).read(), saved_model_pb2.SavedModel())
        os.remove(text)
    else:
        m = saved_model_pb2.SavedModel.FromString(open(pb, "rb").read())
    turn = 0
    for meta in m.meta_graphs:
        for nodes in [meta.graph_def.node] + [f.node_def for f in meta.graph_def.library.function]:
            for n in nodes:
                # (Resources that one op reads must be together, in TensorFlow too.)
                holds = n.op in HOLDERS or "Table" in n.op
                n.device = "/device:GPU:0" if mode == "gpu" or turn % 2 or holds else "/device:CPU:0"
                turn += 1
    open(pb, "wb").write(m.SerializeToString())


def as_json(v):
    """Nested lists of bytes, as TensorFlow Serving takes them: NumPy drops zeros at the end of strings."""
    return [as_json(x) for x in v] if isinstance(v, list) else {"b64": base64.b64encode(bytes_of(v)).decode()}


def cli(binary, name, i, sig, feeds):
    arrays, dst = flat(feeds), path_of(name) + ".%d.out.npz" % i
    texts = [v.dtype.kind in "OSU" for v in arrays.values()]
    if arrays and all(texts):
        src = path_of(name) + ".%d.in.json" % i
        json.dump({"inputs": {k: as_json(v.tolist()) for k, v in arrays.items()}}, open(src, "w"))
    else:
        src = path_of(name) + ".%d.in.npz" % i
        np.savez(src, **{k: np.array([bytes_of(x) for x in v.ravel().tolist()]).reshape(v.shape) if text else v for (k, v), text in zip(arrays.items(), texts)})
    r = subprocess.run([binary, "run", path_of(name), "--signature", sig, "--output", dst, "--quiet"] + (["--input", src] if arrays else []),
                       capture_output=True, text=True, timeout=300)
    if r.returncode:
        raise RuntimeError(r.stderr.strip().split("\n")[0] if r.returncode > 0 else "signal %d" % -r.returncode)
    return dict(np.load(dst, allow_pickle=True))


def frozen(binary, name, sig, tags, job):
    """The first run of a signature that `ferry freeze` made one graph of, by TensorFlow. None: it says why it cannot."""
    out = path_of(name) + ".frozen.pb"
    r = subprocess.run([binary, "freeze", path_of(name), "--signature", sig, "--tags", ",".join(tags), "--output", out],
                       capture_output=True, text=True, timeout=300)
    if r.returncode:
        if "cannot be frozen" in r.stderr:
            return None
        raise RuntimeError(r.stderr.strip() if r.returncode > 0 else "signal %d" % -r.returncode)
    want, fd = job
    d = tf1.GraphDef.FromString(open(out, "rb").read())
    g = tf1.Graph()
    with g.as_default(), tf1.Session(graph=g) as s:
        tf1.import_graph_def(d, name="")
        return s.run(want, fd)


def compare(want, got, tolerance):
    worst = 0.
    for k, w in want.items():
        if k not in got:
            return None, "no output %s (has %s)" % (k, sorted(got))
        g, w = np.asarray(got[k]), np.asarray(w)
        if w.dtype.kind in "OSU":
            a = [bytes_of(x).rstrip(b"\0") for x in w.ravel().tolist()]
            b = [bytes_of(x).rstrip(b"\0") for x in g.ravel().tolist()]
            if w.shape != g.shape or a != b:
                return None, "%s: %r, not %r" % (k, b[:4], a[:4])
            continue
        if str(w.dtype) == "bfloat16":
            w = w.astype(np.float32)
            # (`ferry run` writes what NumPy has no type for as float32.)
            g = (np.frombuffer(g.tobytes(), np.uint16).astype(np.uint32) << 16).view(np.float32).reshape(g.shape) if g.dtype.kind in "uV" else g.astype(np.float32)
            tol = 3e-2
        else:
            tol = max(tolerance, 3e-2 if w.dtype.itemsize == 2 and w.dtype.kind == "f" else 0)
            if w.dtype != g.dtype:
                return None, "%s: %s, not %s" % (k, g.dtype, w.dtype)
        if w.shape != g.shape:
            return None, "%s: shape %s, not %s" % (k, g.shape, w.shape)
        if w.dtype.kind in "iub":
            if not np.array_equal(w, g):
                return None, "%s: %s, not %s" % (k, g.ravel()[:6], w.ravel()[:6])
            continue
        scale = np.max(np.abs(w[np.isfinite(w)]), initial=0) + 1e-3
        same = (w == g) | (np.isnan(w) & np.isnan(g))
        with np.errstate(invalid="ignore"):
            off = np.where(same, 0, np.abs(np.where(np.isfinite(w), w, 0) - g)) / scale
        off = float(np.max(np.nan_to_num(off, nan=np.inf), initial=0))
        worst = max(worst, off)
        if off > tol:
            return None, "%s: off by %.2g (%s, not %s)" % (k, off, g.ravel()[:4], w.ravel()[:4])
    return worst, ""


def attempt(name, a):
    shutil.rmtree(path_of(name), ignore_errors=True)
    try:
        keras.utils.set_random_seed(3)
        runs = makers[name]()
        tags = [tf1.saved_model.SERVING]
        if isinstance(runs, dict):
            runs, tags = runs["runs"], runs.get("tags", tags)
        want, jobs = answers(name, runs, tags)
    except Exception as e:  # noqa: BLE001
        if os.environ.get("VERBOSE"):
            traceback.print_exc()
        return "skip", "TensorFlow itself: %s" % str(e).split("\n")[0][:160]
    tolerance = max([v for k, v in LOOSE.items() if k in name] + [1e-4])
    worst, problems = 0., []
    for mode in a.modes.split(",") if a.modes else []:
        path = path_of(name)
        if mode in ("gpu", "mix"):
            path += "." + mode
            ask(name, path, mode)
        try:
            got = drive("ferry", path, tags, jobs, MODES[mode])
        except Exception as e:  # noqa: BLE001
            problems.append("%s: %s" % (mode, str(e)[:500]))
            continue
        for i, g in enumerate(got):
            if isinstance(g, tuple):
                problems.append("%s: run %d: %s" % (mode, i, g[2][:500]))
                break
            fed = jobs[i][1]
            off, why = compare({k: v for k, v in want[i].items() if jobs[i][0][k] not in fed}, g, tolerance)
            if off is None:
                problems.append("%s: run %d: %s" % (mode, i, why))
                break
            worst = max(worst, off)
        if mode in ("gpu", "mix"):
            shutil.rmtree(path, ignore_errors=True)
    if a.cli:
        try:
            off, why = compare(want[0], cli(a.ferry, name, 0, *runs[0]), tolerance)
            if off is None:
                problems.append("ferry run: " + why)
        except Exception as e:  # noqa: BLE001
            problems.append("ferry run: " + str(e)[:500])
    if a.freeze:
        try:
            got = frozen(a.ferry, name, runs[0][0], tags, jobs[0])
            off, why = compare(want[0], got, tolerance) if got is not None else (0, "")
            if off is None:
                problems.append("ferry freeze: " + why)
        except Exception as e:  # noqa: BLE001
            problems.append("ferry freeze: " + str(e)[:500])
    return ("BAD", "\n      ".join(problems)) if problems else ("ok", "%.2g" % worst)


def main():
    p = argparse.ArgumentParser()
    p.add_argument("--ferry", default="build/bin/ferry")
    p.add_argument("--dir", default=place["dir"])
    p.add_argument("--modes", default=",".join(MODES))
    p.add_argument("--cli", action="store_true")
    p.add_argument("--freeze", action="store_true")
    p.add_argument("--list", action="store_true")
    p.add_argument("--keep", action="store_true")
    p.add_argument("names", nargs="*")
    a = p.parse_args()
    place["dir"] = a.dir
    os.makedirs(a.dir, exist_ok=True)
    names = [n for n in makers if not a.names or any(x in n for x in a.names)]
    if a.list:
        print("\n".join(names))
        return 0
    bad = 0
    for n in names:
        state, text = attempt(n, a)
        if n in KNOWN and a.modes:
            state, text = ("known", KNOWN[n]) if state == "BAD" else ("BAD", "runs now: take it off KNOWN")
        bad += state == "BAD"
        print("%-5s %-28s %s" % (state, n, text), flush=True)
        if state == "ok" and not a.keep:
            shutil.rmtree(path_of(n), ignore_errors=True)
    print("%d of %d failed" % (bad, len(names)))
    return 1 if bad else 0


if __name__ == "__main__":
    sys.exit(main())
