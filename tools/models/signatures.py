# SPDX-License-Identifier: Apache-2.0
"""How models are saved: several signatures over one state, nested and composite inputs, options of the saver, checkpoints
inside, functions that are called by other modules, and files as older or newer writers left them."""
from google.protobuf import text_format
from tensorflow.core.protobuf import saved_model_pb2

from models.common import *  # noqa: F403
from models.functions_more import several

NEST = tf.nest


# ---------------------------------------------------------------- structures
@maker
def sig_nested_arguments():
    """A function of nests; its signature is flat, and its concrete function is saved beside it."""
    class M(tf.Module):
        def __init__(self):
            self.w = {"a": tf.Variable(normal(3, 2)), "b": (tf.Variable(normal(2)), [tf.Variable(2.)])}

        @tf.function
        def inner(self, d, scale=2.):
            return NEST.map_structure(lambda t: t * scale, d)

        @tf.function(input_signature=[S([None, 3], name="p"), S([None, 2], name="q"), S([], tf.int32, "n")])
        def serve(self, p, q, n):
            r = self.inner({"x": (p @ self.w["a"], [q, {"deep": q + self.w["b"][0]}])}, scale=tf.cast(n, tf.float32))
            flat = NEST.flatten(r)
            packed = NEST.pack_sequence_as({"u": 0, "v": [0, 0]}, flat)
            return {"u": packed["u"], "v0": packed["v"][0], "v1": packed["v"][1] * self.w["b"][1][0], "n": tf.constant(len(flat))}
    m = M()
    return several("sig_nested_arguments", m, {"serving_default": m.serve}, [("serving_default", {"p": normal(2, 3), "q": normal(2, 2), "n": np.int32(3)})])


@maker
def sig_composites():
    """Ragged, sparse, indexed slices and plain values in one signature, several ragged ranks, and composite results."""
    class M(tf.Module):
        @tf.function(input_signature=[tf.RaggedTensorSpec([None, None, None], tf.int32, ragged_rank=2, row_splits_dtype=tf.int32), tf.SparseTensorSpec([None, 4], tf.string), S([None], tf.bool, "mask")])
        def f(self, r, s, mask):
            return {"sum": tf.reduce_sum(r, axis=2), "flat": r.flat_values, "tri": tf.concat([r, r], axis=1), "nested": tf.reduce_max(tf.reduce_sum(r, 2), 1),
                    "text": tf.sparse.to_dense(s, "-"), "upper": tf.SparseTensor(s.indices, tf.strings.upper(s.values), s.dense_shape), "kept": tf.ragged.boolean_mask(r, mask),
                    "lens": r.nested_row_lengths()[0]}

        @tf.function(input_signature=[S([None, 2], tf.string, "rows")])
        def g(self, rows):
            r = tf.strings.split(rows)
            return {"words": r, "n": r.row_lengths(), "joined": tf.strings.reduce_join(r, axis=-1, separator="+")}
    m = M()
    tf.saved_model.save(m, path_of("sig_composites"), signatures={"serving_default": m.f, "split": m.g})
    keys = sorted(tf.saved_model.load(path_of("sig_composites")).signatures["serving_default"].structured_input_signature[1])
    values = {"r": np.array([1, 2, 3, 4, 5], np.int32), "r_1": np.array([0, 2, 3], np.int32), "r_2": np.array([0, 1, 3, 5], np.int32), "s": np.array([[0, 1], [1, 3]], np.int64),
              "s_1": np.array(["ab", "c"]), "s_2": np.array([2, 4], np.int64), "mask": np.array([True, False])}
    return [("serving_default", {k: values[k] for k in keys}), ("split", {"rows": np.array([["a b", "c"], ["", "d e f"]])})]


@maker
def sig_many_outputs():
    """Forty results, some of them the same tensor, inputs given back, constants, and names that need care."""
    class M(tf.Module):
        @tf.function(input_signature=[S([None, 2], name="x"), S([], tf.string, "odd.name-1"), S([], name="under_")])
        def f(self, x, s, u):
            r = {"out_%02d" % i: x * float(i) if i % 4 else x for i in range(40)}
            r.update({"odd out/1": s, "_u": u + 1., "const": tf.constant([1, 2])})
            return r
    m = M()
    tf.saved_model.save(m, path_of("sig_many_outputs"), signatures={"serving_default": m.f})
    keys = tf.saved_model.load(path_of("sig_many_outputs")).signatures["serving_default"].structured_input_signature[1]
    feeds = {k: np.array("text") if t.dtype == tf.string else normal(2, 2) if t.shape.rank == 2 else np.float32(4) for k, t in keys.items()}
    return [("serving_default", feeds)]


@maker
def sig_methods_and_constants():
    """Classify, regress and predict over shared layers, one without inputs, one whose only result is a side effect's count."""
    class M(tf.Module):
        def __init__(self):
            self.w, self.hits = tf.Variable(normal(4, 3)), tf.Variable(0, dtype=tf.int64)
            self.labels = tf.constant(["cat", "dog", "cow"])

        @tf.function(input_signature=[S([None, 4], name="x")])
        def predict(self, x):
            self.hits.assign_add(tf.shape(x, tf.int64)[0])
            return {"logits": x @ self.w}

        @tf.function(input_signature=[S([None, 4], name="x")])
        def classify(self, x):
            p = tf.nn.softmax(self.predict(x)["logits"])
            k = tf.math.top_k(p, 2)
            return {"scores": k.values, "classes": tf.gather(self.labels, k.indices)}

        @tf.function(input_signature=[])
        def stats(self):
            return {"hits": self.hits.read_value(), "norm": tf.norm(self.w)}
    m = M()
    x = normal(3, 4)
    return several("sig_methods_and_constants", m, {"serving_default": m.predict, "classify": m.classify, "stats": m.stats},
                   [("stats", {}), ("serving_default", {"x": x}), ("classify", {"x": x}), ("classify", {"x": normal(1, 4)}), ("stats", {})])


@maker
def sig_reexported():
    """A loaded SavedModel inside a new module, exported again: functions of functions, captured assets and tables."""
    inner = path_of("sig_reexported_inner")
    folder = path_of("sig_reexported_files")
    os.makedirs(folder, exist_ok=True)
    vocab = os.path.join(folder, "v.txt")
    open(vocab, "w").write("a\nb\nc\n")

    class A(tf.Module):
        def __init__(self):
            self.t = tf.lookup.StaticHashTable(tf.lookup.TextFileInitializer(vocab, tf.string, tf.lookup.TextFileIndex.WHOLE_LINE, tf.int64, tf.lookup.TextFileIndex.LINE_NUMBER), 3)
            self.e = tf.Variable(normal(4, 3))

        @tf.function(input_signature=[S([None], tf.string)])
        def __call__(self, x):
            return tf.gather(self.e, self.t.lookup(x))
    tf.saved_model.save(A(), inner)

    class B(tf.Module):
        def __init__(self):
            self.inner = tf.saved_model.load(inner)
            self.w = tf.Variable(normal(3, 2))

        @tf.function(input_signature=[S([None], tf.string)])
        def f(self, x):
            return {"y": tf.nn.relu(self.inner(x) @ self.w), "e": self.inner(x)}
    m = B()
    return several("sig_reexported", m, {"serving_default": m.f}, [("serving_default", {"x": np.array(["c", "zz", "a"])})])


# ---------------------------------------------------------------- options of the saver
def saved_with(name, **options):
    def make():
        class M(tf.Module):
            def __init__(self):
                self.w = tf.Variable(normal(3, 2), name="w")
                self.opt = [tf.Variable(tf.zeros([3, 2]), name="slot"), tf.Variable(5, dtype=tf.int64, name="step")]

            @tf.function(input_signature=[S([None, 3])])
            def f(self, x):
                @tf.custom_gradient
                def straight(v):
                    return tf.round(v), lambda d: d * 2.
                with tf.GradientTape() as t:
                    t.watch(x)
                    y = straight(x @ self.w)
                return {"y": y, "g": t.gradient(y, x), "step": self.opt[1].assign_add(1)}
        m = M()
        tf.saved_model.save(m, path_of(name), signatures={"serving_default": m.f}, options=tf.saved_model.SaveOptions(**options))
        x = {"x": normal(2, 3)}
        return [("serving_default", x), ("serving_default", x)]
    makers[name] = make


saved_with("sig_custom_gradients", experimental_custom_gradients=True)
saved_with("sig_no_custom_gradients", experimental_custom_gradients=False)
saved_with("sig_debug_info", save_debug_info=True)
saved_with("sig_device_policy", experimental_variable_policy="save_variable_devices")
saved_with("sig_expand_variables", experimental_variable_policy="expand_distributed_variables")
saved_with("sig_namespaces", namespace_whitelist=["Custom"], experimental_io_device="/job:localhost")


@maker
def sig_tables_in_checkpoint():
    """Mutable tables of several kinds whose contents live in the checkpoint of the SavedModel."""
    class M(tf.Module):
        def __init__(self):
            E = tf.lookup.experimental
            self.names = E.MutableHashTable(tf.int64, tf.string, "?")
            self.vectors = E.MutableHashTable(tf.string, tf.float32, [0., 0., 0.])
            self.dense = E.DenseHashTable(tf.int64, tf.float32, -1., empty_key=-1, deleted_key=-2)
            self.wide = E.DenseHashTable(tf.string, tf.int64, [9, 9], empty_key="", deleted_key="\t")
            self.names.insert(tf.constant([1, 5, 9], tf.int64), ["one", "five", "nine"])
            self.vectors.insert(["u", "v"], [[1., 2., 3.], [4., 5., 6.]])
            self.dense.insert(tf.constant([3, 4, 50], tf.int64), [.3, .4, .5])
            self.dense.erase(tf.constant([4], tf.int64))
            self.wide.insert(["p", "q"], tf.constant([[1, 2], [3, 4]], tf.int64))

        @tf.function(input_signature=[S([None], tf.int64, "i"), S([None], tf.string, "s")])
        def f(self, i, s):
            return {"names": self.names.lookup(i), "vectors": self.vectors.lookup(s), "dense": self.dense.lookup(i), "wide": self.wide.lookup(s),
                    "sizes": tf.stack([self.names.size(), self.vectors.size(), self.dense.size(), self.wide.size()]),
                    "dyn": self.names.lookup(i, dynamic_default_values=tf.strings.as_string(i))}

        @tf.function(input_signature=[S([None], tf.int64, "i")])
        def learn(self, i):
            self.names.insert(i, tf.strings.as_string(i * 10))
            self.dense.insert(i, tf.cast(i, tf.float32))
            self.dense.erase(i[:1])
            k, v = self.names.export()
            o = tf.argsort(k)
            return {"k": tf.gather(k, o), "v": tf.gather(v, o)}
    m = M()
    f = {"i": np.array([1, 2, 3, 4, 50], np.int64), "s": np.array(["u", "q", "zz"])}
    return several("sig_tables_in_checkpoint", m, {"serving_default": m.f, "learn": m.learn},
                   [("serving_default", f), ("learn", {"i": np.array([2, 3], np.int64)}), ("serving_default", f)])


@maker
def sig_tables_static():
    """Every static table: from arrays, from a file by columns, numbers to numbers, strings to floats, vocabularies with hash
    buckets of both key types, a table inside a loop and in a branch."""
    folder = path_of("sig_tables_static_files")
    os.makedirs(folder, exist_ok=True)
    csv = os.path.join(folder, "t.csv")
    open(csv, "w").write("x,1,0.5\ny,2,1.5\nz z,3,-2.5\n")

    class M(tf.Module):
        def __init__(self):
            K, F = tf.lookup.KeyValueTensorInitializer, tf.lookup.TextFileInitializer
            H = tf.lookup.StaticHashTable
            self.a = H(K(tf.constant([1, 2, 3], tf.int64), tf.constant([10, 20, 30], tf.int64)), -1)
            self.b = H(K(["p", "q"], [.5, .25]), -1.)
            self.c = H(F(csv, tf.string, 0, tf.int64, 1, delimiter=","), 0)
            self.d = H(F(csv, tf.int64, 1, tf.float32, 2, delimiter=","), 99.)
            self.e = tf.lookup.StaticVocabularyTable(K(tf.constant([100, 200], tf.int64), tf.constant([0, 1], tf.int64)), 4, lookup_key_dtype=tf.int64)
            self.g = tf.lookup.StaticVocabularyTable(K(["k"], tf.constant([0], tf.int64)), 7)
            self.h = H(K(tf.constant([1, 2], tf.int32), tf.constant([7, 8], tf.int32)), 0)

        @tf.function(input_signature=[S([None], tf.int64, "i"), S([None], tf.string, "s")])
        def f(self, i, s):
            n = tf.constant(0, tf.int64)
            for k in i:
                if self.a.lookup(k) > 0:
                    n += self.a.lookup(k)
                else:
                    n -= self.e.lookup(k)
            return {"a": self.a.lookup(i), "b": self.b.lookup(s), "c": self.c.lookup(s), "d": self.d.lookup(i), "e": self.e.lookup(i), "g": self.g.lookup(s),
                    "h": self.h.lookup(tf.cast(i, tf.int32)), "n": n, "map": tf.map_fn(self.c.lookup, s, fn_output_signature=tf.int64), "sz": self.d.size()}
    m = M()
    return several("sig_tables_static", m, {"serving_default": m.f}, [("serving_default", {"i": np.array([1, 3, 100, 77], np.int64), "s": np.array(["x", "z z", "k", "nope", "p"])})])


# ---------------------------------------------------------------- as other writers left it
def rewritten(name, change, build=None, text=False):
    """A model whose saved_model.pb is changed by |change|(meta graph) before anybody reads it."""
    def make():
        runs = (build or plain)(name)
        file = os.path.join(path_of(name), "saved_model.pb")
        m = saved_model_pb2.SavedModel.FromString(open(file, "rb").read())
        for g in m.meta_graphs:
            change(g)
        os.remove(file)
        if text:
            open(os.path.join(path_of(name), "saved_model.pbtxt"), "w").write(text_format.MessageToString(m))
        else:
            open(file, "wb").write(m.SerializeToString())
        return runs
    makers[name] = make


def plain(name):
    class M(tf.Module):
        def __init__(self):
            self.k, self.w, self.v = tf.Variable(normal(3, 3, 2, 4)), tf.Variable(normal(4, 3)), tf.Variable(normal(3))

        @tf.function(input_signature=[S([None, 6, 6, 2])])
        def f(self, x):
            h = tf.nn.relu(tf.nn.conv2d(x, self.k, 1, "SAME"))
            h = tf.nn.max_pool2d(h, 2, 2, "VALID")
            h = tf.image.resize(h, [5, 5])
            h = tf.reduce_mean(h, [1, 2]) @ self.w + self.v
            i = tf.constant(0)
            while i < 3:
                h = h * .5 + tf.cast(i, tf.float32)
                i += 1
            return {"p": tf.nn.softmax(h), "arg": tf.argmax(h, 1), "s": tf.strings.as_string(h, precision=2), "u": tf.unique(tf.argmax(h, 1)).y,
                    "c": tf.cond(tf.reduce_sum(h) > 0, lambda: h + 1, lambda: h - 1)}
    m = M()
    return several(name, m, {"serving_default": m.f}, [("serving_default", {"x": normal(2, 6, 6, 2)}), ("serving_default", {"x": normal(1, 6, 6, 2)})])


def nodes_of(meta):
    for n in meta.graph_def.node:
        yield n
    for f in meta.graph_def.library.function:
        for n in f.node_def:
            yield n


def strip_defaults(meta):
    """What `strip_default_attrs` does: attributes with the default value are not written."""
    from tensorflow.python.framework import op_def_registry
    for n in nodes_of(meta):
        d = op_def_registry.get(n.op)
        for a in d.attr if d else ():
            if a.HasField("default_value") and a.name in n.attr and n.attr[a.name] == a.default_value:
                del n.attr[a.name]
    meta.meta_info_def.stripped_default_attrs = True


def producer(v, least=0):
    def change(meta):
        meta.graph_def.versions.producer = v
        meta.graph_def.versions.min_consumer = least
    return change


def private_attrs(meta):
    """Attributes of the writer's own, and internal ones of a newer TensorFlow: a leading underscore means "ignore me"."""
    for i, n in enumerate(nodes_of(meta)):
        n.attr["_my_tool"].s = b"x" * (i % 5)
        n.attr["_future"].list.i.extend([1, 2, 3])
        n.attr["_output_shapes"].list.shape.add().unknown_rank = True
        n.attr["_nested"].func.name = "nobody"
    for f in meta.graph_def.library.function:
        f.attr["_noinline"].b = True
        f.attr["_vendor"].s = b"\xff\xfe"


def no_shapes(meta):
    """Written without _output_shapes, without argument shapes and names, without debug info and object graph."""
    meta.ClearField("object_graph_def")
    for n in nodes_of(meta):
        for k in ("_output_shapes", "_class", "_read_only_resource_inputs", "config", "config_proto", "executor_type"):
            if k in n.attr and k.startswith("_"):
                del n.attr[k]
        n.ClearField("experimental_debug_info")
    for f in meta.graph_def.library.function:
        f.arg_attr.clear()
        for k in list(f.attr):
            del f.attr[k]


def shuffled(meta):
    """Nodes and functions in another order than the writer's: order means nothing."""
    r = np.random.default_rng(1)
    nodes = list(meta.graph_def.node)
    order = r.permutation(len(nodes))
    copies = [type(nodes[0]).FromString(nodes[i].SerializeToString()) for i in order]
    del meta.graph_def.node[:]
    meta.graph_def.node.extend(copies)
    fs = [type(meta.graph_def.library.function[0]).FromString(f.SerializeToString()) for f in meta.graph_def.library.function]
    del meta.graph_def.library.function[:]
    meta.graph_def.library.function.extend(reversed(fs))
    for f in meta.graph_def.library.function:
        c = [type(nodes[0]).FromString(n.SerializeToString()) for n in f.node_def]
        p = r.permutation(len(c))
        del f.node_def[:]
        f.node_def.extend([c[i] for i in p])


def devices(meta):
    """Every node asks for a device, in long and in short form."""
    for i, n in enumerate(nodes_of(meta)):
        n.device = "/job:localhost/replica:0/task:0/device:CPU:0" if i % 2 else "/device:CPU:0"


def old_names(meta):
    """Inputs written with and without ":0", as old writers did."""
    for n in meta.graph_def.node:
        for i, x in enumerate(n.input):
            if not x.startswith("^") and ":" not in x and i % 2:
                n.input[i] = x + ":0"


rewritten("old_producer_987", producer(987))
rewritten("old_producer_134", producer(134, 12))
rewritten("old_producer_24", producer(24))
rewritten("old_stripped", strip_defaults)
rewritten("old_private_attrs", private_attrs)
rewritten("old_no_shapes", no_shapes)
rewritten("old_shuffled", shuffled)
rewritten("old_shuffled_text", shuffled, text=True)
rewritten("old_devices", devices)
rewritten("old_colons", old_names)
rewritten("new_producer", producer(5000))
