#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""What the real TensorFlow answers for the ops of servers: messages to tensors and back
(tests/data/state_proto.txt), replayed by tests/unit/test_state_replay.c.

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



if __name__ == "__main__":
    lines = []
    decode_cases(lines)
    write("state_proto_decode.txt", lines)
    lines = []
    encode_cases(lines)
    write("state_proto_encode.txt", lines)
