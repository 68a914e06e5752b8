#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""What the real TensorFlow answers for the ops of servers: messages to tensors and back
(tests/data/state_proto_*.txt), batches of one run (state_batch.txt; of many: tests/unit/test_batch.c).
Replayed by tests/unit/test_state_replay.c.

  /opt/tfvenv/bin/python tools/goldens_serving.py
"""
import numpy as np
from google.protobuf import descriptor_pb2 as d

from goldens_state import Case, ph, raw, tf, v1, write

TYPES = ("double float int64 uint64 int32 fixed64 fixed32 bool string group message bytes uint32 enum "
         "sfixed32 sfixed64 sint32 sint64").split()
NUMBER = {}
for start, prefix in ((1, "o_"), (19, "r_")):
    for i, t in enumerate(TYPES):
        NUMBER[prefix + t] = start + i
NUMBER.update(packed=40, d_int=41, d_dbl=42, d_str=43, d_bytes=44, d_enum=45, d_bool=46, d_sint=47, d_flt=48,
              d_u64=49, e2=50, re2=51, q=52, late=70000)
DEFAULTS = dict(d_int=(5, "-7"), d_dbl=(1, "inf"), d_str=(9, "h\u00e9llo"), d_bytes=(12, "a\\001b\\\"c"),
                d_enum=(14, "B"), d_bool=(8, "true"), d_sint=(17, "-9"), d_flt=(2, "0.5"),
                d_u64=(4, "18446744073709551615"))


def described(fields, syntax="proto2", more=None):
    """A set of one file with just these fields in message p.M."""
    s = d.FileDescriptorSet()
    f = s.file.add(name="t.proto", package="p", syntax=syntax)
    e = f.enum_type.add(name="E")
    for name, v in (("A", 0), ("B", 2), ("C", -1)):
        e.value.add(name=name, number=v)
    m = f.message_type.add(name="M")
    n = f.message_type.add(name="N")
    n.field.add(name="x", number=1, label=1, type=5)
    n.field.add(name="s", number=2, label=3, type=9)
    for name in dict.fromkeys(fields):
        if name not in NUMBER:
            continue
        x = m.field.add(name=name, number=NUMBER[name], label=3 if name[:2] in ("r_", "re") else 1)
        kind = name.split("_")[-1]
        x.type = DEFAULTS[name][0] if name in DEFAULTS else TYPES.index(kind) + 1 if kind in TYPES else 5
        if name in DEFAULTS:
            x.default_value = DEFAULTS[name][1]
        if name == "packed":
            x.label = 3
            x.options.packed = True
        if name == "q":
            x.label = 2
        if name in ("e2", "re2"):
            if not any(v.name == "E2" for v in f.enum_type):
                v = f.enum_type.add(name="E2")
                v.value.add(name="X", number=7)
                v.value.add(name="Y", number=1)
            x.type, x.type_name = 14, ".p.E2"
        elif x.type == 14:
            x.type_name = ".p.E"
        elif x.type == 11:
            x.type_name = "N"  # found from inside
        elif x.type == 10:
            g = m.nested_type.add(name="G" + name)
            g.field.add(name="a", number=1, label=1, type=5)
            x.type_name = ".p.M.G" + name
    if syntax == "proto2":
        m.extension_range.add(start=100, end=200)
        f.extension.add(name="ext", number=100, label=1, type=5, extendee=".p.M")
    if more:
        more(s)
    return b"bytes://" + s.SerializeToString()


def varint(v):
    v &= (1 << 64) - 1
    out = b""
    while v > 127:
        out += bytes([v & 127 | 128])
        v >>= 7
    return out + bytes([v])


def tag(name, wire):
    return varint((NUMBER[name] if isinstance(name, str) else name) << 3 | wire)


def texts(values):
    return np.array(values, dtype=object)


def dtype_of(name):
    kind = name.split("_")[-1]
    if name in DEFAULTS:
        kind = TYPES[DEFAULTS[name][0] - 1]
    return {"double": tf.float64, "float": tf.float32, "int64": tf.int64, "uint64": tf.uint64,
            "fixed64": tf.uint64, "fixed32": tf.uint32, "bool": tf.bool, "string": tf.string,
            "group": tf.string, "message": tf.string, "bytes": tf.string, "uint32": tf.uint32,
            "sfixed64": tf.int64, "sint64": tf.int64}.get(kind, tf.int32)


def decode(out, label, names, feeds, types=None, source=None, message="p.M", fmt="binary", sanitize=False):
    """One case: each feed is a list of messages (or an array of them)."""
    with Case(out, "decode: " + label) as c:
        node = raw.DecodeProtoV2(bytes=ph(tf.string, "in"), message_type=message, field_names=names,
                                 output_types=types or [dtype_of(n) for n in names],
                                 descriptor_source=source if source is not None else described(names),
                                 message_format=fmt, sanitize=sanitize, name="d")
        for f in feeds:
            c.run([node[0]] + list(node[1]), {"in": f if isinstance(f, np.ndarray) else texts(f)})


def encode(out, label, names, runs, types=None, source=None, message="p.M"):
    with Case(out, "encode: " + label) as c:
        types = types or [dtype_of(n) for n in names]
        node = raw.EncodeProto(sizes=ph(tf.int32, "sizes"), values=[ph(t, f"v{i}") for i, t in enumerate(types)],
                               message_type=message, field_names=names,
                               descriptor_source=source if source is not None else described(names), name="e")
        for sizes, values in runs:
            feeds = {"sizes": np.array(sizes, np.int32)}
            for i, (t, v) in enumerate(zip(types, values)):
                feeds[f"v{i}"] = np.array(v, object if t == tf.string else t.as_numpy_dtype)
            c.run(node, feeds)


WIRE = dict(double=(1, b"\0\0\0\0\0\0\x08\xc0"), float=(5, b"\0\0\x40\xc0"), fixed64=(1, b"\xff" * 8),
            fixed32=(5, b"\xfe\xff\xff\xff"), sfixed32=(5, b"\xfe\xff\xff\xff"), sfixed64=(1, b"\xfd" + b"\xff" * 7),
            string=(2, b"\x03abc"), bytes=(2, b"\x02\0\xff"), message=(2, b"\x02\x08\x05"),
            bool=(0, b"\x01"), group=(3, b"\x08\x03"), sint32=(0, b"\x03"), sint64=(0, varint((1 << 64) - 1)),
            enum=(0, varint(-1)), int32=(0, varint(-5)), int64=(0, varint(-(1 << 63))),
            uint32=(0, varint((1 << 32) - 1)), uint64=(0, varint((1 << 64) - 1)))


def one(name):
    kind = name.split("_")[-1]
    wire, body = WIRE[kind]
    return tag(name, wire) + body + (tag(name, 4) if kind == "group" else b"")


def decode_cases(out):
    every = [p + t for p in ("o_", "r_") for t in TYPES]
    for part in (every[:12], every[12:24], every[24:]):
        decode(out, "every type", part, [
            [b"".join(map(one, part)), b""],
            [b"".join(one(n) * 3 for n in part), b"".join(map(one, reversed(part))), b""],
            np.array([[b"", b""], [b"", b"".join(map(one, part[:3]))]], object), np.array(b"", object)])
    for name in every:
        for t in (tf.float32, tf.float64, tf.int32, tf.int64, tf.uint32, tf.uint64, tf.bool, tf.string, tf.half):
            if t != dtype_of(name) and (name[0] == "r" or t == tf.half):
                decode(out, f"{name} as {t.name}", [name], [[one(name)]], [t])
    decode(out, "defaults", list(DEFAULTS) + ["e2", "re2"], [
        [b""], [b"", tag("re2", 0) + b"\1" + tag("re2", 0) + b"\1", tag("d_int", 0) + b"\0"]])
    i = "o_int32"
    decode(out, "lists", ["r_int32", "packed", "r_float"], [
        [tag("r_int32", 2) + b"\2\1\2" + tag("r_int32", 0) + b"\7",
         tag("packed", 0) + b"\5" + tag("packed", 2) + b"\1\6" + tag("packed", 2) + b"\0"],
        [tag("r_float", 2) + b"\x08\0\0\x80\x3f\0\0\0\x40" + tag("r_float", 5) + b"\0\0\x80\xbf"],
        [tag("r_int32", 5) + b"\1\0\0\0"], [tag("packed", 2) + b"\5\1"], [tag("packed", 2) + b"\2\1\x80"],
        [tag("r_float", 2) + b"\5\1\0\0\0\2"]])
    decode(out, "single, but more", [i, "d_int", "o_string", "o_message", "o_fixed32"], [
        [tag(i, 0) + b"\1" + tag(i, 0) + b"\2", tag("o_string", 2) + b"\1a" + tag("o_string", 2) + b"\1b",
         tag("o_message", 2) + b"\2\x08\1" + tag("o_message", 2) + b"\2\x08\5"],
        [tag(i, 2) + b"\1\7"], [tag("d_int", 2) + b"\2\7\x08"], [tag("d_int", 2) + b"\2\7\x08" + tag("d_int", 0) + b"\5"],
        [tag("d_int", 0) + b"\5" + tag("d_int", 2) + b"\2\7\x08"], [tag("d_int", 2) + b"\0"],
        [tag("o_fixed32", 2) + b"\4\1\0\0\0", b""]])
    deep = lambda n: tag(60, 3) * n + tag(60, 4) * n
    decode(out, "odd bytes", [i, "o_string", "o_float", "o_bool", "o_enum", "o_group", "o_message", "late"], [
        [b"\xff"], [b"", b"\x0a"], [tag(i, 5) + b"\1\0\0\0"], [tag("o_string", 2) + b"\5a"],
        [tag(i, 0) + b"\xff" * 8 + b"\x7f"], [tag(i, 0) + b"\xff" * 11 + b"\1"], [b"\0\1"], [tag(60, 6)],
        [tag(i, 7)], [tag(i, 6)], [tag(60, 4) + tag(i, 0) + b"\1"], [tag(i, 0) + b"\1" + tag(60, 4)],
        [tag(i, 4) + tag(i, 0) + b"\1"], [tag(60, 3) + tag(i, 0) + b"\1"],
        [tag(60, 3) + tag(i, 0) + b"\1" + tag(60, 4) + tag(i, 0) + b"\5"],
        [tag(60, 3) + tag(i, 0) + b"\1" + tag(61, 4) + tag(i, 0) + b"\5"],
        [tag("o_group", 3) + b"\x08\1"], [tag("o_group", 2) + b"\2\x08\1"],
        [tag("o_message", 3) + b"\x08\1" + tag("o_message", 4)], [tag("o_float", 5) + b"\1"],
        [tag(i, 0) + b"\x80"], [tag(i, 0)], [tag(i, 0) + b"\1\x80"], [tag(1, 5) + b"\1"],
        [tag("o_string", 2) + varint(-1)], [b"\x85" + b"\x80" * 8 + b"\0"], [deep(90)], [deep(110)],
        [tag("o_bool", 0) + b"\2", tag("o_bool", 0) + b"\x80\x80\x80\x80\x80\1", tag("o_enum", 0) + b"\x63",
         tag("late", 0) + b"\1"], [tag("o_string", 2) + b"\2\xff\xfe"], texts(np.zeros([0, 2], object))])
    decode(out, "narrow as wide", ["o_int32", "o_uint32", "o_sint32", "o_sfixed32", "o_fixed32", "o_float"], [
        [tag(i, 0) + b"\xff\xff\xff\xff\x1f" + one("o_uint32") + one("o_sint32") + one("o_sfixed32") + one("o_fixed32") +
         one("o_float"), b""]], [tf.int64, tf.uint64, tf.int64, tf.int64, tf.uint64, tf.float64])
    decode(out, "twice the same name", [i, i], [[tag(i, 0) + b"\5", b""]])
    decode(out, "other order", ["r_int32", i], [[tag(i, 0) + b"\5" + tag("r_int32", 0) + b"\1", b""]])
    decode(out, "no field", [], [[tag(i, 0) + b"\5", b""], [b"\xff"]])
    decode(out, "an extension", ["p.ext"], [[tag(100, 0) + b"\x09"]], [tf.int32])
    decode(out, "a type within", ["a"], [[b"\x08\1"]], [tf.int32], described(["o_group"]), "p.M.Go_group")
    decode(out, "sanitize", [i, "r_int32", "o_message", "o_string", "o_enum"], [
        [tag(90, 0) + b"\1" + tag("o_message", 2) + b"\4\x08\1\x50\2"], [b"", b"\x0a"],
        [tag("o_message", 2) + b"\2\x08\1" + tag("o_message", 2) + b"\3\x12\1a"],
        [tag(90, 0) + b"\1" + tag("r_int32", 2) + b"\2\1\2" + tag(i, 0) + b"\1"],
        [tag("o_string", 2) + b"\1\xff" + tag("o_enum", 0) + b"\x63"], [tag("o_string", 2) + b"\3a\0b"]],
           sanitize=True)

    def third(s):
        f = s.file.add(name="u.proto", package="q", syntax="proto3")
        m = f.message_type.add(name="M")
        m.field.add(name="s", number=1, label=1, type=9)
        m.field.add(name="r", number=2, label=3, type=5)
        m.field.add(name="m", number=3, label=1, type=11, type_name=".q.M")
        m.field.add(name="u", number=4, label=3, type=5).options.packed = False

    source = described([], more=third)
    runs = [[b"\x0a\1\xff"], [b"\x1a\3\x0a\1\xff"], [b"\x1a\4\x10\1\x10\2"], [b"\x1a\3\x0a\0", b"\x0a\0"],
            [b"\x1a\2\x0a\0", b"\x0a\0"], [b"\x1a\4\x50\1\x10\2"], [b"\x1a\4\x20\1\x20\2"]]
    for sanitize in (False, True):
        decode(out, "proto3, sanitize " + str(sanitize), ["s", "m"], runs, [tf.string, tf.string], source, "q.M",
               sanitize=sanitize)
    for sanitize in (False, True):
        decode(out, "a required field, sanitize " + str(sanitize), ["q", i],
               [[b""], [tag("q", 0) + b"\0"]], sanitize=sanitize)
    decode(out, "text", [i, "r_string", "o_message", "o_enum", "r_enum", "o_bool", "o_double", "r_bytes", "q"], [
        [b"q: 1 o_int32: 3 r_string: 'a' r_string: \"b\" o_message { x: 1 }", b"q: 0"],
        [b"q: 1 o_enum: 2 r_enum: [B, C] o_bool: t o_double: -inf r_bytes: '\\001\\xff' # c\n o_message: < x: 3 >;"],
        [b""], [b"q: 1 foo: 2"], [b"q: 1 o_int32: 1 o_int32: 2"], [b"q: 1 o_int32: 5000000000"], [b"q: 1 o_message {"],
        [b"q: 1 r_string: 'a\\000b'"]], fmt="text")
    decode(out, "text of proto3", ["s", "r"], [[b's: "a" r: 1 r: 2'], [b's: "\\xff"']], [tf.string, tf.int32], source,
           "q.M", "text")
    for label, names, types, kw in (
            ("no such type", [i], None, dict(message="p.Z")), ("an enum", [i], None, dict(message="p.E")),
            ("a dot before", [i], None, dict(message=".p.M")), ("a full name", ["p.M.o_int32"], [tf.int32], {}),
            ("no such field", ["xx"], [tf.int32], {}), ("a short extension", ["ext"], [tf.int32], {}),
            ("another format", [i], None, dict(fmt="json")), ("a bad source", [i], None, dict(source=b"bytes://xxx")),
            ("no such file", [i], None, dict(source=b"/nowhere/at/all")), ("no source", [i], None, dict(source=b"")),
            ("not local", [i], None, dict(source=b"local://")), ("an empty set", [i], None, dict(source=b"bytes://"))):
        decode(out, label, names, [[b""]], types, **kw)
    decode(out, "local", ["features"], [[b"\x0a\5\x0a\3\x0a\1a", b""]], [tf.string], b"local://", "tensorflow.Example")
    decode(out, "local", ["value"], [[b"\x0a\2\1\2", b"\x08\7"]], [tf.int64], b"local://", "tensorflow.Int64List")
    decode(out, "local", ["name", "op", "input"], [[b"\x0a\1a\x12\1b\x1a\1c\x1a\1d"]], [tf.string] * 3, b"", "tensorflow.NodeDef")
    twice = lambda s: s.file.add().CopyFrom(s.file[0])
    decode(out, "the same file twice", [i], [[tag(i, 0) + b"\5"]], source=described([i], more=twice))
    lacking = lambda s: s.file[0].message_type[0].field[0].ClearField("type")
    decode(out, "a type to be found out", ["o_message"], [[one("o_message")]], source=described(["o_message"], more=lacking))


def encode_cases(out):
    values = dict(double=[[1.5, -2.5]], float=[[1.5, -2.5]], bool=[[True, False]], string=[[b"ab", b"\xff"]],
                  bytes=[[b"", b"\0"]], message=[[b"\x08\1", b"\x08"]], group=[[b"\x08\1", b""]],
                  uint32=[[1, (1 << 32) - 1]], fixed32=[[1, (1 << 32) - 1]], uint64=[[1, (1 << 64) - 1]],
                  fixed64=[[1, (1 << 64) - 1]], int64=[[-1, 1 << 62]], sint64=[[-1, 1 << 62]], sfixed64=[[-1, 1 << 62]])
    for prefix in ("o_", "r_"):
        names = [prefix + t for t in TYPES]
        vals = [values.get(t, [[-1, 300]]) for t in TYPES]
        encode(out, "every type " + prefix, names, [([[2] * 18], vals), ([[1, 0] * 9], vals), ([[-1] * 18], vals)])
    wide = [("int32", tf.int64, [[-1, 1 << 33, 1 << 31]]), ("sint32", tf.int64, [[-1, 1 << 33, 1 << 31]]),
            ("sfixed32", tf.int64, [[-1, 1 << 33, 1 << 31]]), ("float", tf.float64, [[1e300, .1, -1e-50]]),
            ("uint32", tf.uint64, [[1 << 33, (1 << 40) - 1, 1]]), ("fixed32", tf.uint64, [[1 << 33, (1 << 40) - 1, 1]])]
    encode(out, "wide to narrow", ["r_" + w[0] for w in wide], [([[3] * 6], [w[2] for w in wide])], [w[1] for w in wide])
    for t in TYPES:
        for dt in (tf.half, tf.float32, tf.float64, tf.int32, tf.int64, tf.uint32, tf.uint64, tf.bool, tf.string):
            if dt != dtype_of("r_" + t):
                encode(out, f"{dt.name} as {t}", ["r_" + t], [([[1]], [[[b"1" if dt == tf.string else 1]]])], [dt])
    encode(out, "packed", ["packed", "o_enum", "o_int32"], [
        ([[2, 1, 1]], [[[5, 300]], [[2]], [[3]]]), ([[0, 0, 0]], [[[5, 300]], [[2]], [[3]]])])
    encode(out, "proto3", ["r_double", "r_bool", "r_sfixed64"], [([[2, 2, 1]], [[[1, 2]], [[True, False]], [[-1]]])],
           source=described(["r_double", "r_bool", "r_sfixed64"], "proto3"))
    r = ["r_int32"]
    encode(out, "shapes", r, [
        ([[1], [2]], [[[5, 6], [7, 8]]]), ([[3]], [[[5, 6]]]), ([[-1]], [[[5, 6]]]), ([[1]], [[[5, 6], [1, 2]]]),
        ([[1]], [[5, 6]]), ([1], [[5, 6]]), ([[1, 1]], [[[5, 6]]]), (1, [[[5, 6]]]), ([[1]], [np.zeros([1, 0])]),
        (np.zeros([0, 1]), [np.zeros([0, 2])]), ([[[1], [2]]], [[[[1, 2], [3, 4]]]])])
    encode(out, "two fields", ["o_int32", "r_int32"], [
        ([[1, 2], [0, 1]], [[[5], [6]], [[1, 2], [3, 4]]]), ([[1, 1], [1, 1]], [[[1], [2]], [[1], [2], [3]]])])
    encode(out, "twice", ["o_int32", "o_int32"], [([[1, 1]], [[[5]], [[6]]])])
    encode(out, "no field", ["xx"], [([[0]], [[[5]]])])
    encode(out, "an extension", ["p.ext"], [([[1]], [[[5]]])])
    encode(out, "no type", r, [([[0]], [[[5]]])], message="p.Z")
    encode(out, "local", ["value"], [([[2]], [[[5, -1]]])], [tf.int64], b"local://", "tensorflow.Int64List")



# ---------------------------------------------------------------- batches
def add_batch(x, **k):
    a = dict(num_batch_threads=1, max_batch_size=10, batch_timeout_micros=100, grad_timeout_micros=0)
    a.update(k)
    return raw.Batch(in_tensors=x, **a)


def batch_cases(out):
    f32, i32 = np.float32, np.int32
    with Case(out, "batch") as c:
        x, y = ph(tf.float32, "x"), ph(tf.int32, "y")
        b = add_batch([x, y])
        index = tf.slice(b[1], [0, 1], [-1, 2])  # ids are random
        known = tf.equal(b[1][0, 0], b[2])
        for f in ([[1, 2], [3, 4]], [5, 6]), ([[1, 2]], [5, 6]), (1, [5]), (np.zeros(11), np.zeros(11)):
            c.run([b[0][0], b[0][1], index, known], {"x": f32(f[0]), "y": i32(f[1])})
        u = raw.Unbatch(batched_tensor=tf.sqrt(b[0][0]), batch_index=b[1], id=b[2], timeout_micros=1000)
        g = raw.UnbatchGrad(original_input=b[0][0], batch_index=b[1], grad=u, id=b[2])
        c.run([u, g], {"x": f32([[1, 4], [9, 16]]), "y": i32([5, 6])})
    for k in (dict(allowed_batch_sizes=[2, 4, 10]), dict(allowed_batch_sizes=[4, 2, 10]), dict(allowed_batch_sizes=[2, 4]),
              dict(allowed_batch_sizes=[0, 10]), dict(num_batch_threads=0), dict(max_batch_size=0), dict(max_batch_size=-1),
              dict(batch_timeout_micros=-1), dict(max_enqueued_batches=0), dict(batching_queue="q"), dict(shared_name="s")):
        with Case(out, "batch " + str(k)) as c:
            b = add_batch([ph(tf.string, "x")], **k)
            c.run(b[0], {"x": texts([b"a", b"b", b"c"])})
    with Case(out, "unbatch") as c:
        u = raw.Unbatch(batched_tensor=ph(tf.int32, "x"), batch_index=ph(tf.int64, "i"), id=ph(tf.int64, "id"),
                        timeout_micros=0)
        for x, i, d in (([1, 2, 3], [[7, 0, 2]], 7), ([1, 2, 3], [[8, 1, 3]], 8), ([1, 2, 3], [[9, 0, 1]], 10),
                        ([], np.zeros([0, 3]), 5), ([1, 2], [[7, 0, 2, 3]], 7),
                        ([[1], [2], [3]], [[20, 0, 1], [21, 1, 1], [22, 1, 3]], 22)):
            c.run(u, {"x": i32(x), "i": np.int64(i), "id": np.int64(d)})
    with Case(out, "unbatch: a share left for another run") as c:
        u = raw.Unbatch(batched_tensor=ph(tf.int32, "x"), batch_index=ph(tf.int64, "i"), id=ph(tf.int64, "id"),
                        timeout_micros=100000000)
        c.run(u, {"x": i32([1, 2]), "i": np.int64([[1, 0, 1], [2, 1, 2]]), "id": np.int64(1)})
        c.run(u, {"x": i32([]), "i": np.zeros([0, 3], np.int64), "id": np.int64(2)})
    with Case(out, "gradient") as c:
        g = raw.UnbatchGrad(original_input=ph(tf.int32, "x"), batch_index=ph(tf.int64, "i"), grad=ph(tf.int32, "g"),
                            id=ph(tf.int64, "id"))
        none = np.zeros([0, 3])
        for x, i, v, d in (([1, 2, 3], [[7, 0, 3]], [4, 5, 6], 7), ([], none, [4, 5], 20),
                           ([1, 2, 3], [[20, 0, 2], [21, 2, 3]], [9], 21), ([1], none, [1], 1),
                           ([1, 2], [[20, 0, 2, 4], [21, 2, 3, 5]], [9], 21), ([], none, [4, 5], 30), ([], none, [4, 5], 30),
                           (np.zeros([0, 7]), none, np.zeros([2, 3]), 40), ([1], [[41, 0, 1]], [[1, 2]], 41)):
            c.run(g, {"x": i32(x), "i": np.int64(i), "g": i32(v), "id": np.int64(d)})


def function_cases(out):
    from tensorflow.python.framework import function
    functions = {
        "twice": lambda a: a * 2, "sizes": lambda a: (tf.fill(tf.shape(a), tf.size(a)), a), "first": lambda a: a[:1],
        "scalar": lambda a: tf.size(a), "more": lambda a, b: a + b, "asserts": lambda a: tf.reshape(a, [2])}
    ok = [[1, 2, 3]]
    for name, feeds, k in (
            ("twice", ok + [[], 5, list(range(11))], {}), ("sizes", ok, dict(allowed_batch_sizes=[2, 4, 10])),
            ("first", ok, {}), ("scalar", ok, {}), ("asserts", ok, {}), ("sizes", ok, dict(num_batch_threads=0)),
            ("sizes", ok, dict(num_batch_threads=-1)), ("sizes", ok, dict(max_batch_size=0)),
            ("sizes", ok, dict(batch_timeout_micros=-1)), ("sizes", ok, dict(max_enqueued_batches=0)),
            ("sizes", ok, dict(allowed_batch_sizes=[4, 6])), ("sizes", ok, dict(allowed_batch_sizes=[6, 4], max_batch_size=4)),
            ("sizes", [list(range(11)), list(range(31)), list(range(6))],
             dict(enable_large_batch_splitting=True, allowed_batch_sizes=[4, 6], max_batch_size=30)),
            ("sizes", [list(range(11))], dict(enable_large_batch_splitting=True)),
            ("sizes", ok, dict(batch_padding_policy="BATCH_DOWN", allowed_batch_sizes=[2, 10]))):
        with Case(out, f"function {name} {k}") as c:
            f = function.Defun(tf.int32, func_name=name)(functions[name])
            a = dict(num_batch_threads=1, max_batch_size=10, batch_timeout_micros=100)
            a.update(k)
            f.add_to_graph(tf.compat.v1.get_default_graph())
            r = raw.BatchFunction(in_tensors=[ph(tf.int32, "x")], captured_tensors=[], f=f,
                                  Tout=[tf.int32] * (2 if name == "sizes" else 1), **a)
            for x in feeds:
                c.run(r, {"x": np.int32(x)})
    with Case(out, "function with a captured tensor") as c:
        f = function.Defun(tf.string, tf.string, tf.string, func_name="join")(lambda a, b, d: tf.strings.join([a, b, d]))
        f.add_to_graph(tf.compat.v1.get_default_graph())
        r = raw.BatchFunction(in_tensors=[ph(tf.string, "x"), ph(tf.string, "y")], captured_tensors=[ph(tf.string, "z")],
                              f=f, Tout=[tf.string], num_batch_threads=2, max_batch_size=4, batch_timeout_micros=0,
                              allowed_batch_sizes=[4])
        c.run(r, {"x": texts([b"a", b"b"]), "y": texts([b"", b"c"]), "z": np.array(b"!", object)})
        c.run(r, {"x": texts([b"a", b"b"]), "y": texts([b"c"]), "z": np.array(b"!", object)})


if __name__ == "__main__":
    lines = []
    decode_cases(lines)
    write("state_proto_decode.txt", lines)
    lines = []
    encode_cases(lines)
    write("state_proto_encode.txt", lines)
    lines = []
    batch_cases(lines)
    function_cases(lines)
    write("state_batch.txt", lines)
