#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""What goes wrong with models, said by TensorFlow and by Ferry: both run the same SavedModels through the C API
(tools/model_driver.py) with bad feeds, bad values and bad files; codes must agree, texts are shown where they differ.

  /opt/tfvenv/bin/python tools/try_model_errors.py [--all] [NAME ...]
"""
import argparse
import os
import pickle
import re
import shutil
import subprocess
import sys

sys.path.insert(0, os.path.dirname(os.path.abspath(__file__)))
from models.common import *  # noqa: F403,E402
from try_models import parts_of, to_tensor  # noqa: E402

HERE = os.path.dirname(os.path.abspath(__file__))
place["dir"] = "/tmp/try_model_errors"
cases = {}


def case(name, specs, f, feeds, state=None, change=None):
    """|feeds|: list of {input: array}; a key with ":" names a tensor of the graph."""
    cases[name] = (specs, f, feeds, state, change)


X = [S([None, 3])]
ones = np.ones((2, 3), np.float32)
case("feed_dtype", X, lambda m, x: x * 2, [{"x": ones.astype(np.float64)}, {"x": ones.astype(np.int32)}, {"x": np.array(["a"])}])
case("feed_shape", X, lambda m, x: x @ tf.ones([3, 2]), [{"x": np.ones((2, 4), np.float32)}, {"x": np.ones(3, np.float32)}, {"x": np.float32(1)}, {"x": np.ones((1, 2, 3), np.float32)}, {"x": ones}])
case("feed_shape_fixed", [S([2, 3])], lambda m, x: x * 2, [{"x": np.ones((3, 3), np.float32)}, {"x": np.ones((0, 3), np.float32)}, {"x": ones}])
case("feed_missing", [S([None, 3]), S([None], name="y")], lambda m, x, y: tf.reduce_sum(x) + y, [{"x": ones}, {}, {"x": ones, "y": np.ones(1, np.float32)}])
case("feed_inside", X, lambda m, x: x * 2, [{"StatefulPartitionedCall:0": ones}, {"x": ones}])
case("gather_range", [S([None], tf.int32)], lambda m, i: tf.gather(tf.range(5.), i), [{"x": np.array([1, 7], np.int32)}, {"x": np.array([-1], np.int32)}, {"x": np.array([4], np.int32)}])
case("embedding_range", [S([None], tf.int32)], lambda m, i: tf.nn.embedding_lookup(m.e, i), [{"x": np.array([1, 99], np.int32)}], lambda m: setattr(m, "e", tf.Variable(tf.ones([4, 2]))))
case("assert_value", X, lambda m, x: (tf.debugging.assert_less(x, 5., message="too large"), x)[1], [{"x": ones * 9}, {"x": ones}])
case("assert_plain", X, lambda m, x: (tf.debugging.Assert(tf.reduce_all(x > 0), [x, "negative"]), x)[1], [{"x": -ones}])
case("check_numerics", X, lambda m, x: tf.debugging.check_numerics(x, "my message"), [{"x": ones * np.nan}, {"x": ones * np.inf}])
case("ensure_shape", X, lambda m, x: tf.ensure_shape(x, [5, 3]), [{"x": ones}])
case("reshape", X, lambda m, x: tf.reshape(x, [4, -1]), [{"x": ones}, {"x": np.ones((4, 3), np.float32)}])
case("reshape_size", X, lambda m, x: tf.reshape(x, [5, 2]), [{"x": ones}])
case("add_shapes", [S([None]), S([None], name="y")], lambda m, x, y: x + y, [{"x": np.ones(2, np.float32), "y": np.ones(3, np.float32)}])
case("fused_shapes", [S([None]), S([None], name="y")], lambda m, x, y: tf.nn.relu(x * 2 + y) - 1, [{"x": np.ones(2, np.float32), "y": np.ones(3, np.float32)}])
case("matmul_shapes", [S([None, None]), S([None, None], name="y")], lambda m, x, y: x @ y, [{"x": ones, "y": ones}])
case("concat_shapes", [S([None, None]), S([None, None], name="y")], lambda m, x, y: tf.concat([x, y], 0), [{"x": ones, "y": np.ones((1, 2), np.float32)}])
case("divide_zero", [S([None], tf.int32)], lambda m, x: 7 // x, [{"x": np.array([1, 0], np.int32)}])
case("mod_zero", [S([None], tf.int32)], lambda m, x: 7 % x, [{"x": np.array([0], np.int32)}])
case("decode_image", [S([], tf.string)], lambda m, s: tf.io.decode_image(s), [{"x": np.array("not an image")}, {"x": np.array("")}, {"x": np.array(b"\x89PNG\r\n\x1a\nxxxx")}])
case("decode_jpeg", [S([], tf.string)], lambda m, s: tf.io.decode_jpeg(s), [{"x": np.array(b"\xff\xd8\xff\xe0garbage")}, {"x": np.array("GIF")}])
case("decode_wav", [S([], tf.string)], lambda m, s: tf.audio.decode_wav(s).audio, [{"x": np.array("RIFF")}, {"x": np.array("nope")}])
case("parse_example", [S([None], tf.string)], lambda m, s: tf.io.parse_example(s, {"a": tf.io.FixedLenFeature([2], tf.float32), "b": tf.io.FixedLenFeature([], tf.int64, 3)}), [{"x": np.array(["junk"])}, {"x": np.array([b""])}, {"x": np.array([b"\n\x0f\n\r\n\x01a\x12\x08\x12\x06\n\x04\0\0\0\0"])}])
case("parse_json", [S([None], tf.string)], lambda m, s: tf.io.decode_json_example(s), [{"x": np.array(["{"])}])
case("to_number", [S([None], tf.string)], lambda m, s: tf.strings.to_number(s), [{"x": np.array(["1", "abc"])}, {"x": np.array([""])}])
case("decode_raw", [S([None], tf.string)], lambda m, s: tf.io.decode_raw(s, tf.int32), [{"x": np.array(["abcde"])}, {"x": np.array(["abcd", "abcdefgh"])}])
case("decode_csv", [S([None], tf.string)], lambda m, s: tf.stack(tf.io.decode_csv(s, [[0.], [0.]])), [{"x": np.array(["1,2,3"])}, {"x": np.array(["1,x"])}])
case("base64", [S([None], tf.string)], lambda m, s: tf.io.decode_base64(s), [{"x": np.array(["!!"])}])
case("table", [S([None], tf.string)], lambda m, s: m.t.lookup(s), [{"x": np.array(["a", "b"])}], lambda m: setattr(m, "t", tf.lookup.StaticHashTable(tf.lookup.KeyValueTensorInitializer(["a"], tf.constant([1], tf.int64)), -1)))
case("split", X, lambda m, x: tf.split(x, m.n, 0) if False else tf.stack(tf.split(x, 2, 0)), [{"x": np.ones((3, 3), np.float32)}])
case("slice", X, lambda m, x: tf.slice(x, [1, 0], [5, 1]), [{"x": ones}])
case("strided", X, lambda m, x: x[7], [{"x": ones}])
case("scatter", [S([None, 1], tf.int32)], lambda m, i: tf.scatter_nd(i, tf.ones([tf.shape(i)[0]]), [3]), [{"x": np.array([[1], [5]], np.int32)}])
case("segment", [S([None], tf.int32)], lambda m, i: tf.math.segment_sum(tf.ones([3]), i), [{"x": np.array([0, 2, 1], np.int32)}, {"x": np.array([0, 1], np.int32)}])
case("cholesky", [S([2, 2])], lambda m, x: tf.linalg.cholesky(x), [{"x": -np.eye(2, dtype=np.float32)}])
case("inverse", [S([2, 2])], lambda m, x: tf.linalg.inv(x), [{"x": np.zeros((2, 2), np.float32)}])
case("conv_channels", [S([None, None, None, None])], lambda m, x: tf.nn.conv2d(x, tf.ones([3, 3, 2, 1]), 1, "SAME"), [{"x": np.ones((1, 4, 4, 3), np.float32)}, {"x": np.ones((1, 4, 4, 2), np.float32)}])
case("conv_small", [S([None, None, None, 2])], lambda m, x: tf.nn.conv2d(x, tf.ones([3, 3, 2, 1]), 1, "VALID"), [{"x": np.ones((1, 2, 2, 2), np.float32)}])
case("pool_small", [S([None, None, None, 2])], lambda m, x: tf.nn.max_pool2d(x, 3, 1, "VALID"), [{"x": np.ones((1, 2, 2, 2), np.float32)}])
case("one_hot", [S([], tf.int32)], lambda m, d: tf.one_hot([1], d), [{"x": np.int32(-1)}])
case("range", [S([], tf.int32)], lambda m, d: tf.range(0, 10, d), [{"x": np.int32(0)}, {"x": np.int32(-1)}])
case("fill", [S([None], tf.int32)], lambda m, d: tf.fill(d, 1.), [{"x": np.array([-1], np.int32)}, {"x": np.array([2, 2], np.int32)}])
case("huge", [S([None], tf.int64)], lambda m, d: tf.reduce_sum(tf.zeros(d)), [{"x": np.array([2 ** 40, 2 ** 40], np.int64)}])
case("in_loop", [S([], tf.int32)], lambda m, n: tf.while_loop(lambda i, a: i < n, lambda i, a: (i + 1, a + tf.gather(tf.range(3.), i)), [0, 0.])[1], [{"x": np.int32(9)}, {"x": np.int32(3)}])
case("in_cond", X, lambda m, x: tf.cond(tf.reduce_sum(x) > 0, lambda: tf.reshape(x, [5, -1]), lambda: x), [{"x": ones}])
case("in_map", X, lambda m, x: tf.map_fn(lambda r: tf.debugging.check_numerics(r, "row"), x), [{"x": ones * np.nan}])
case("in_nested", X, lambda m, x: tf.function(lambda a: tf.function(lambda b: tf.linalg.inv(b[:2, :2] * 0.))(a))(x), [{"x": ones}])
case("while_shape", X, lambda m, x: tf.while_loop(lambda i, a: i < 2, lambda i, a: (i + 1, a @ a), [0, x])[1], [{"x": ones}])
case("switch", [S([], tf.int32)], lambda m, i: tf.switch_case(i, [lambda: 1., lambda: 2.]), [{"x": np.int32(-3)}, {"x": np.int32(9)}])
case("tensor_array", [S([], tf.int32)], lambda m, i: tf.TensorArray(tf.float32, 2).write(i, 1.).stack(), [{"x": np.int32(5)}, {"x": np.int32(-1)}, {"x": np.int32(0)}])
case("list_shape", [S([None]), S([None], name="y")], lambda m, x, y: tf.TensorArray(tf.float32, 2, infer_shape=False).write(0, x).write(1, y).stack(), [{"x": np.ones(2, np.float32), "y": np.ones(3, np.float32)}])
case("ragged", [S([None], tf.int64)], lambda m, s: tf.RaggedTensor.from_row_splits(tf.range(4.), s).to_tensor(), [{"x": np.array([0, 3, 2], np.int64)}, {"x": np.array([1, 4], np.int64)}, {"x": np.array([0, 9], np.int64)}])
case("sparse", [S([None, 2], tf.int64)], lambda m, i: tf.sparse.to_dense(tf.SparseTensor(i, tf.ones([tf.shape(i)[0]]), [2, 2])), [{"x": np.array([[1, 1], [0, 0]], np.int64)}, {"x": np.array([[5, 0]], np.int64)}, {"x": np.array([[0, 0], [0, 0]], np.int64)}])
case("unicode", [S([None], tf.string)], lambda m, s: tf.strings.unicode_decode(s, "UTF-8", errors="strict").to_tensor(), [{"x": np.array([b"\xff\xfe"])}])
case("regex", [S([None], tf.string), S([], tf.string, "p")], lambda m, s, p: tf.strings.regex_replace(s, p, ""), [{"x": np.array(["a"]), "p": np.array("(")}])
case("substr", [S([None], tf.string)], lambda m, s: tf.strings.substr(s, 5, 1), [{"x": np.array(["abc"])}])
case("bincount", [S([None], tf.int32)], lambda m, x: tf.math.bincount(x), [{"x": np.array([-1], np.int32)}])
case("losses", [S([None], tf.int32)], lambda m, y: tf.nn.sparse_softmax_cross_entropy_with_logits(y, tf.ones([2, 3])), [{"x": np.array([1, 7], np.int32)}, {"x": np.array([1], np.int32)}])
case("read_file", [S([], tf.string)], lambda m, f: tf.io.read_file(f), [{"x": np.array("/no/such/file")}, {"x": np.array("/tmp")}])
case("variable_shape", [S(None)], lambda m, x: (m.v.assign(x), m.v.read_value())[1], [{"x": np.ones(5, np.float32)}, {"x": np.ones(3, np.float32)}], lambda m: setattr(m, "v", tf.Variable(tf.zeros([3]))))
case("dynamic_partition", [S([None], tf.int32)], lambda m, p: tf.dynamic_partition(tf.range(3.), p, 2)[0], [{"x": np.array([0, 5, 1], np.int32)}, {"x": np.array([0, 1], np.int32)}])
case("crop_and_resize", [S([None], tf.int32)], lambda m, i: tf.image.crop_and_resize(tf.ones([1, 4, 4, 1]), tf.zeros([tf.shape(i)[0], 4]), i, [2, 2]), [{"x": np.array([3], np.int32)}])
case("resize", [S([None], tf.int32)], lambda m, s: tf.image.resize(tf.ones([1, 4, 4, 1]), s), [{"x": np.array([0, 2], np.int32)}, {"x": np.array([-1, 2], np.int32)}])
case("einsum", [S([None, None]), S([None, None], name="y")], lambda m, x, y: tf.einsum("ij,jk->ik", x, y), [{"x": ones, "y": ones}])
case("transpose", [S([None], tf.int32)], lambda m, p: tf.transpose(tf.ones([2, 3]), p), [{"x": np.array([0, 0], np.int32)}, {"x": np.array([0, 2], np.int32)}, {"x": np.array([0], np.int32)}])
case("squeeze", [S([None, None])], lambda m, x: tf.squeeze(x, [0]), [{"x": ones}])
case("ctc", X, lambda m, x: tf.nn.ctc_loss(tf.constant([[5, 5]]), x[:, None], [2], [tf.shape(x)[0]]), [{"x": ones}])
case("random_seed", [S([None], tf.int32)], lambda m, s: tf.random.stateless_normal([2], s), [{"x": np.array([1], np.int32)}])


# What is wrong with the files.
def broken(name, change, tags=("serve",)):
    cases["file_" + name] = (X, lambda m, x: x @ m.w, [{"x": ones}], lambda m: setattr(m, "w", tf.Variable(tf.ones([3, 2]))), (change, list(tags)))


def in_model(*parts):
    return lambda d: os.path.join(d, *parts)


def cut(path, n):
    with open(path, "r+b") as f:
        f.truncate(n)


def flip(path, at):
    b = bytearray(open(path, "rb").read())
    b[at % len(b)] ^= 0x55
    open(path, "wb").write(bytes(b))


def graph_change(f):
    def change(d):
        from tensorflow.core.protobuf import saved_model_pb2
        p = os.path.join(d, "saved_model.pb")
        m = saved_model_pb2.SavedModel.FromString(open(p, "rb").read())
        f(m.meta_graphs[0])
        open(p, "wb").write(m.SerializeToString())
    return change


def called(g):
    """Functions reachable from the signature's node."""
    by = {f.signature.name: f for f in g.graph_def.library.function}
    call = [n for n in g.graph_def.node if n.name == "StatefulPartitionedCall"][0]
    return call, by


def unknown_op(g):
    call, by = called(g)
    by[call.attr["f"].func.name].node_def[-2].op = "NoSuchOperation"


def unknown_top(g):
    n = g.graph_def.node.add()
    n.name, n.op = "stray", "NoSuchOperation"


def recursive(g):
    call, by = called(g)
    f = by[call.attr["f"].func.name]
    n = f.node_def.add()
    n.name, n.op = "again", "StatefulPartitionedCall"
    n.attr["f"].func.name = f.signature.name
    n.input.extend([a.name for a in f.signature.input_arg])
    n.attr["Tin"].list.type.extend([a.type for a in f.signature.input_arg])
    n.attr["Tout"].list.type.extend([a.type for a in f.signature.output_arg])
    f.ret[f.signature.output_arg[0].name] = "again:output:0"


def arity(g):
    call, by = called(g)
    del call.input[-1]


def arity_types(g):
    call, by = called(g)
    call.attr["Tin"].list.type.append(1)
    call.input.append(call.input[0])


def no_function(g):
    call, by = called(g)
    call.attr["f"].func.name = "nobody"


def bad_ret(g):
    call, by = called(g)
    f = by[call.attr["f"].func.name]
    f.ret[f.signature.output_arg[0].name] = "nowhere:output:0"


def bad_signature(g):
    g.signature_def["serving_default"].outputs["y"].name = "gone:0"


def bad_input_edge(g):
    g.graph_def.node[-1].input.append("nobody:0")


def bad_attr(g):
    call, _ = called(g)
    del call.attr["Tout"]


def duplicate(g):
    g.graph_def.node.add().CopyFrom(g.graph_def.node[0])


broken("no_pb", lambda d: os.remove(os.path.join(d, "saved_model.pb")))
broken("empty_pb", lambda d: cut(os.path.join(d, "saved_model.pb"), 0))
broken("cut_pb", lambda d: cut(os.path.join(d, "saved_model.pb"), 500))
broken("tags", lambda d: None, ("serve", "gpu"))
broken("no_tags", lambda d: None, ())
broken("no_variables", lambda d: shutil.rmtree(os.path.join(d, "variables")))
broken("no_data", lambda d: os.remove(os.path.join(d, "variables", "variables.data-00000-of-00001")))
broken("no_index", lambda d: os.remove(os.path.join(d, "variables", "variables.index")))
broken("cut_data", lambda d: cut(os.path.join(d, "variables", "variables.data-00000-of-00001"), 3))
broken("cut_index", lambda d: cut(os.path.join(d, "variables", "variables.index"), 30))
broken("flip_data", lambda d: flip(os.path.join(d, "variables", "variables.data-00000-of-00001"), 5))
broken("flip_index", lambda d: flip(os.path.join(d, "variables", "variables.index"), 20))
broken("unknown_op", graph_change(unknown_op))
broken("unknown_top", graph_change(unknown_top))
broken("recursive", graph_change(recursive))
broken("arity", graph_change(arity))
broken("arity_types", graph_change(arity_types))
broken("no_function", graph_change(no_function))
broken("bad_ret", graph_change(bad_ret))
broken("bad_signature", graph_change(bad_signature))
broken("bad_edge", graph_change(bad_input_edge))
broken("bad_attr", graph_change(bad_attr))
broken("duplicate", graph_change(duplicate))


def drive(which, job):
    try:
        r = subprocess.run([sys.executable, os.path.join(HERE, "model_driver.py"), which], input=job, capture_output=True, timeout=120)
    except subprocess.TimeoutExpired:
        return [("error", -2, "hangs")]
    if r.returncode:
        return [("error", -1, "process ended: %d %s" % (r.returncode, r.stderr.decode()[-200:]))]
    return pickle.loads(r.stdout)


def plain(text):
    """Names that Python numbers, and what TensorFlow says of its own build, are no difference."""
    text = re.sub(r"__inference_(\w+?)_\d+", r"__inference_\1_N", text)
    return text.strip()


def main():
    p = argparse.ArgumentParser()
    p.add_argument("--all", action="store_true", help="show what agrees too")
    p.add_argument("names", nargs="*")
    a = p.parse_args()
    bad = texts = 0
    for name, (specs, f, feeds, state, change) in cases.items():
        if a.names and not any(x in name for x in a.names):
            continue
        shutil.rmtree(path_of(name), ignore_errors=True)
        try:
            module(name, specs, lambda m, *v: f(m, *v), state=state)
        except Exception as e:  # noqa: BLE001
            print("skip  %s: %s" % (name, str(e).split("\n")[0][:200]))
            continue
        from tensorflow.core.protobuf import saved_model_pb2
        sig = saved_model_pb2.SavedModel.FromString(open(os.path.join(path_of(name), "saved_model.pb"), "rb").read()).meta_graphs[0].signature_def["serving_default"]
        ins, outs = parts_of(sig.inputs), parts_of(sig.outputs)
        first = sorted(ins)[0]
        runs = [{"feeds": {k if ":" in k else ins[k] if k in ins else ins[first]: to_tensor(np.asarray(v)) for k, v in fd.items()}, "fetches": [v for v in outs.values()]} for fd in feeds]
        tags = ["serve"]
        if change:
            change[0](path_of(name))
            tags = change[1]
        job = pickle.dumps({"path": path_of(name), "tags": tags, "runs": runs})
        want, got = drive("tensorflow", job), drive("ferry", job)
        for i in range(max(len(want), len(got))):
            w = want[i] if i < len(want) else ("none",)
            g = got[i] if i < len(got) else ("none",)
            what = "load" if i == 0 else "run %d" % (i - 1)
            if w[0] == g[0] == "ok" or (w[0] == g[0] == "none"):
                if a.all:
                    print("ok    %s %s" % (name, what))
                continue
            wt, gt = (plain(x[2]) if x[0] == "error" else x[0] for x in (w, g))
            wc, gc = (x[1] if x[0] == "error" else x[0] for x in (w, g))
            if wc == gc and wt == gt:
                if a.all:
                    print("ok    %s %s: %s" % (name, what, gt.split("\n")[0][:100]))
                continue
            bad += wc != gc
            texts += wc == gc
            print("%s %s %s\n   tf    %s: %s\n   ferry %s: %s" % ("CODE " if wc != gc else "text ", name, what, wc, wt.replace("\n", "\n         "), gc, gt.replace("\n", "\n         ")))
        sys.stdout.flush()
    print("%d codes and %d texts differ" % (bad, texts))
    return 1 if bad else 0


if __name__ == "__main__":
    sys.exit(main())
