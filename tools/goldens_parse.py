#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Writes tests/data/op_goldens_parse*.txt and shape_goldens_parse.txt: what the real TensorFlow
answers to parsing, unicode, sequence, sampling, summary and LSTM ops, in the language of
golden_case.py.

Run with a Python that has TensorFlow:  /opt/tfvenv/bin/python tools/goldens_parse.py [SECTION…]
"""
import sys
import golden_case as g
import numpy as np
import tensorflow as tf
from golden_case import s32 as i32, s64 as i64, text as s
from tensorflow.python.framework import errors

rng = g.rng
rng.seed(17)


def tidy(text):
    """A message without what it quotes of the input."""
    if "Could not parse example" in text and ("\n" in text or "\0" in text):
        text = text.split("value: '")[0] + "..."  # the message's own bytes
    if "parsing JSON" in text:
        text = "Error while parsing JSON: ..."
    if "Feature is: " in text:
        text = text.split("Feature is: ")[0] + "Feature is: ..."
    return text.split("\n")[0] + "..." if "\n" in text else text


def case(op, *inputs, outputs=1, terms=None, rough=None, shapes=False, fix=None, **attrs):
    """Runs |op| on tensors (a list stands for a list argument) and records the answer."""
    flat, known = g.flatten(inputs), g.type_attrs(op, inputs, attrs)
    block = g.head("op", op, known)
    if terms:
        block.append("terms %d" % terms)
    if rough:
        block.append("rough %d" % rough)
    block += [g.tensor_line("in", t) for t in flat]
    out = g.ask(op, flat, outputs, known, g.NO_KERNEL + ("No attr named",), tidy)
    if out is None:
        return
    if fix and not isinstance(out, str):
        out = fix(out)
    g.lines.extend(block + g.told(out))
    if shapes:
        g.infer_each(op, flat, known)


def f32(v):
    return tf.constant(v, tf.float32)


EMPTY = tf.zeros([0], tf.string)
S = tf.TensorShape


# ---------------------------------------------------------------- wire bytes by hand
def varint(n):
    n &= (1 << 64) - 1
    out = b""
    while n >= 128:
        out += bytes([n & 127 | 128])
        n >>= 7
    return out + bytes([n])


def field(number, payload):
    return varint(number << 3 | 2) + varint(len(payload)) + payload


def ints(*v, packed=True):
    body = field(1, b"".join(varint(x) for x in v)) if packed else b"".join(
        b"\x08" + varint(x) for x in v)
    return field(3, body if v else b"")


def floats(*v, packed=True):
    raw = [np.float32(x).tobytes() for x in v]
    body = field(1, b"".join(raw)) if packed else b"".join(b"\x0d" + x for x in raw)
    return field(2, body if v else b"")


def texts(*v):
    return field(1, b"".join(field(1, x) for x in v))


def entry(key, value):
    return field(1, field(1, key.encode()) + field(2, value))


def example(*pairs):
    return field(1, b"".join(entry(k, v) for k, v in pairs))


def parse_all(serialized, sparse=(), dense=(), ragged=(), names=EMPTY, shapes=False):
    """sparse: (key, type); dense: (key, type, shape, default); ragged: (key, type, split)."""
    sk, st = [k for k, _ in sparse], [t for _, t in sparse]
    dk, dt = [d[0] for d in dense], [d[1] for d in dense]
    ds, dd = [S(d[2]) for d in dense], [d[3] for d in dense]
    def keys(v):
        return s(v) if v else EMPTY
    one = serialized.shape.rank == 0
    if not one and not ragged:
        case("ParseExample", serialized, names, [s(k) for k in sk], [s(k) for k in dk], dd,
             outputs=3 * len(sk) + len(dk), sparse_types=st, Tdense=dt, dense_shapes=ds, shapes=shapes)
    if one and not ragged:
        case("ParseSingleExample", serialized, dd, outputs=3 * len(sk) + len(dk), num_sparse=len(sk),
             sparse_keys=sk, dense_keys=dk, sparse_types=st, Tdense=dt, dense_shapes=ds, shapes=shapes)
    case("ParseExampleV2", serialized, names, keys(sk), keys(dk), keys([r[0] for r in ragged]), dd,
         outputs=3 * len(sk) + len(dk) + 2 * len(ragged), Tdense=dt, num_sparse=len(sk),
         sparse_types=st, ragged_value_types=[r[1] for r in ragged],
         ragged_split_types=[r[2] for r in ragged], dense_shapes=ds, shapes=shapes)


def examples():
    none = {t: tf.zeros([0], t) for t in (tf.int64, tf.float32, tf.string)}
    full = example(("i", ints(1, -2, 3)), ("f", floats(1.5, -0.0)), ("t", texts(b"ab", b"c" * 40)),
                   ("other", ints(9)))
    unpacked = example(("i", ints(4, 1 << 62, -1, packed=False)), ("f", floats(7, np.nan, packed=False)),
                       ("t", texts(b"", b"\x00\xff")))
    short = example(("i", ints(5)), ("t", texts()))
    wanted = dict(sparse=[("i", tf.int64), ("f", tf.float32), ("t", tf.string)])
    for batch in ([full, unpacked, short, b""], [full], [b""], []):
        x = s(batch) if batch else EMPTY
        parse_all(x, **wanted, shapes=len(batch) == 4)
        parse_all(x, ragged=[("i", tf.int64, tf.int32), ("f", tf.float32, tf.int64),
                             ("t", tf.string, tf.int64), ("gone", tf.int64, tf.int64)],
                  shapes=len(batch) == 4)
        parse_all(x, dense=[("i", tf.int64, [None], i64([-7])), ("f", tf.float32, [None], f32([0.5])),
                            ("t", tf.string, [None], s([b"pad"]))], shapes=len(batch) == 4)
        parse_all(x, dense=[("i", tf.int64, [3], i64([7, 8, 9])),
                            ("f", tf.float32, [2], f32([-1, -2])),
                            ("t", tf.string, [2, 1], s([["x"], ["y"]]))], shapes=len(batch) == 4)
        parse_all(x, sparse=[("i", tf.int64)], dense=[("f", tf.float32, [2, 1], none[tf.float32])],
                  ragged=[("t", tf.string, tf.int32)])
    for one in (full, unpacked, short, b""):
        x = s(one)
        parse_all(x, **wanted, shapes=one == full)
        parse_all(x, ragged=[("i", tf.int64, tf.int32), ("t", tf.string, tf.int64)], shapes=one == full)
        parse_all(x, dense=[("i", tf.int64, [None], i64([-7])), ("t", tf.string, [None, 2], s([b"p"]))],
                  shapes=one == full)
        parse_all(x, dense=[("i", tf.int64, [3], none[tf.int64]), ("f", tf.float32, [], f32(2.0))],
                  shapes=one == full)
        parse_all(x, dense=[("f", tf.float32, [2], f32([1, 2]))])
    # Duplicates, order, concatenated and unknown fields.
    odd = [example(("i", ints(1)), ("i", ints(2, 3))),
           example(("i", ints(1)), ("i", b"")),
           example(("i", ints(1)), ("i", floats(1))),
           example(("i", floats(1)), ("i", ints(1))),
           example(("i", ints(1)), ("i", b"\x22\x00")),
           example(("i", b"\x22\x00"), ("i", ints(1))),
           example(("i", ints(1))) + example(("i", ints(5))),
           example(("i", ints(1)), ("f", floats(2)), ("i", ints(3, 4)), ("f", ints(2))),
           b"\x10\x05" + example(("i", ints(1))),
           b"\x11abcdefgh" + example(("i", ints(1))),
           b"\x15abcd" + example(("i", ints(1))),
           b"\x12\x03abc" + example(("i", ints(1))),
           b"\x12\x63abc",
           b"\x13" + example(("i", ints(1))) + b"\x14",
           b"\x0b", b"\x0c", b"\x16", b"\x00", b"\x00\x00", b"\x0a", b"\x0a\x05", b"\x0a\x00",
           field(1, field(1, field(2, ints(1)) + field(1, b"i"))),
           field(1, field(1, field(1, b"i"))),
           field(1, field(1, b"")),
           field(1, field(1, field(1, b"i") + field(2, ints(1)) + field(3, b""))),
           field(1, field(1, field(1, b"x") + field(1, b"i"))),
           field(1, field(2, b"")),
           example(("i", b"\x1a")), example(("i", b"\x1a\x00")), example(("i", b"\x1a\x05")),
           example(("i", b"\x1a\x02\x0a\x00")), example(("i", b"\x1a\x03\x0a\x01\x05")),
           example(("i", b"\x1a\x03\x0a\x09\x05")), example(("i", b"\x1a\x63\x0a\x01\x05")),
           example(("i", b"\x1a\x03\x0a\x01\x85")), example(("i", b"\x1a\x02\x08\x05")),
           example(("i", b"\x1a\x01\x08")), example(("i", b"\x1a\x02\x10\x05")),
           example(("i", b"\x1a\x06\x0a\x01\x05\x0a\x01\x06")),
           example(("i", b"\x1a\x05\x08\x05\x0a\x01\x06")),
           example(("i", b"\x1a\x05\x0a\x01\x05\x08\x06")),
           example(("i", b"\x1a\x0c\x0a\x0a" + b"\xff" * 9 + b"\x01")),
           example(("i", b"\x1a\x0d\x0a\x0b" + b"\xff" * 10 + b"\x01")),
           example(("i", ints(1) + ints(2))),
           example(("i", ints(1) + floats(2)))]
    for x in odd:
        parse_all(s([x]), sparse=[("i", tf.int64)])
        parse_all(s([example(("i", ints(1))), x]), dense=[("i", tf.int64, [1], i64([7]))])
        parse_all(s([x]), ragged=[("i", tf.int64, tf.int64)])
        parse_all(s(x), sparse=[("i", tf.int64)])
        parse_all(s(x), dense=[("i", tf.int64, [1], none[tf.int64])])
    for x in (b"\x12", b"\x12\x00", b"\x12\x05", b"\x12\x02\x0a\x00", b"\x12\x03\x0a\x01x",
              b"\x12\x06\x0a\x04\x00\x00\x80\x3f", b"\x12\x07\x0a\x05\x00\x00\x80\x3fx",
              b"\x12\x06\x0a\x09\x00\x00\x80\x3f", b"\x12\x05\x0d\x00\x00\x80\x3f",
              b"\x12\x04\x0d\x00\x00\x80", b"\x12\x02\x08\x05", b"\x12\x0c" + b"\x0a\x04\x00\x00\x80\x3f" * 2):
        e = example(("f", x))
        parse_all(s([e]), sparse=[("f", tf.float32)])
        parse_all(s([e]), dense=[("f", tf.float32, [1], none[tf.float32])])
        parse_all(s([e]), dense=[("f", tf.float32, [None], f32([0]))])
        parse_all(s(e), sparse=[("f", tf.float32)])
    for x in (b"\x0a", b"\x0a\x00", b"\x0a\x05", b"\x0a\x02\x0a\x00", b"\x0a\x03\x0a\x01x",
              b"\x0a\x03\x0a\x05x", b"\x0a\x02\x08\x05", b"\x0a\x07\x0a\x01x\x0a\x02yz"):
        e = example(("t", x))
        parse_all(s([e]), sparse=[("t", tf.string)])
        parse_all(s([e]), dense=[("t", tf.string, [1], none[tf.string])])
        parse_all(s(e), dense=[("t", tf.string, [None], s([""]))])
    # Wrong kinds and counts, names in the texts.
    for names in (EMPTY, s(["first", "second"])):
        for key, t, shape, default in (("i", tf.float32, [3], f32([1, 2, 3])), ("i", tf.int64, [2], i64([1, 2])),
                                       ("f", tf.float32, [1], f32([1])), ("t", tf.string, [3], none[tf.string]),
                                       ("t", tf.int64, [None], i64([0])), ("i", tf.int64, [None, 2], i64([0])),
                                       ("f", tf.float32, [None, 3], f32([0])), ("t", tf.string, [None, 3], s([""])),
                                       ("missing", tf.int64, [2], none[tf.int64]),
                                       ("missing", tf.int64, [None], i64([3]))):
            parse_all(s([full, full]), dense=[(key, t, shape, default)], names=names)
            parse_all(s(full), dense=[(key, t, shape, default)])
        parse_all(s([short, full]), sparse=[("i", tf.string)], names=names)
        parse_all(s([short, full]), ragged=[("i", tf.string, tf.int32)], names=names)
    parse_all(s(full), sparse=[("i", tf.string)])
    parse_all(s(full), ragged=[("i", tf.string, tf.int32)])
    parse_all(s([full, short]), dense=[("i", tf.int64, [None, 1], i64([0]))])
    # Bad arguments.
    parse_all(s([full]), dense=[("i", tf.int64, [None], none[tf.int64])])
    parse_all(s([full]), dense=[("i", tf.int64, [None], i64([1, 2]))])
    parse_all(s([full]), dense=[("i", tf.int64, [3], i64([1, 2]))])
    parse_all(s([full]), dense=[("i", tf.int64, [3], i64(4))])
    parse_all(s([full]), dense=[("i", tf.int64, [2, None], i64([1]))])
    parse_all(s([[full]]), sparse=[("i", tf.int64)], shapes=True)
    parse_all(s([full]), sparse=[("i", tf.int64)], names=s(["a", "b"]))
    # A key asked for twice is not shown: TensorFlow then finds nothing at all.
    parse_all(s([full]))
    case("ParseExampleV2", s([full]), EMPTY, s(["i", "j"]), EMPTY, EMPTY, [], outputs=3, Tdense=[],
         num_sparse=1, sparse_types=[tf.int64], ragged_value_types=[], ragged_split_types=[], dense_shapes=[])
    case("ParseExampleV2", s([full]), EMPTY, EMPTY, s(["i", "j"]), EMPTY, [i64([1])], outputs=1,
         num_sparse=0, sparse_types=[], ragged_value_types=[], ragged_split_types=[], dense_shapes=[S([1])])
    case("ParseExampleV2", s([full]), EMPTY, EMPTY, EMPTY, s(["i", "j"]), [], outputs=2, Tdense=[],
         num_sparse=0, sparse_types=[], ragged_value_types=[tf.int64], ragged_split_types=[tf.int64],
         dense_shapes=[])
    case("ParseExample", s([full]), EMPTY, [s(["i"])], [], [], outputs=3, Tdense=[],
         sparse_types=[tf.int64], dense_shapes=[])
    many = [example(("i", ints(*range(k % 5))), ("t", texts(*[b"x" * (k % 30)] * (k % 3)))) for k in range(70)]
    parse_all(s(many), sparse=[("i", tf.int64)], dense=[("t", tf.string, [None], s(["-"]))],
              ragged=[("i2", tf.int64, tf.int32)])


def csv():
    f, i, l, d, t = f32([0.5]), i32([7]), i64([8]), tf.constant([0.25], tf.float64), s(["def"])
    def rows(x, defaults, **attrs):
        case("DecodeCSV", s(x), defaults, outputs=len(defaults), **attrs)
    for quotes in (True, False):
        for x in ('"a""b",c', '"a,b",c', '"a"', '"a",', ',"b"', '"",""', '"', '"a', 'a"b,c', '"a"b,c', '"a" ,c',
                  "a,b\n", "\na,b", "a\r\nb,c", '"a\nb",c', "a,b,", ",", "a,,b", '"a""",b', '""",",b', '"""",b',
                  '"a"\n,b', " a , b ", 'a,"b"\n', "", "\n"):
            rows([x], [t, t], use_quote_delim=quotes)
    for bad in ("x", "1.5", "1e3", " 1", "0x1", "", "-", "9" * 12, "9" * 25, "+3", "-3", "inf", "nan", "1 2"):
        for v in (f, i, l, d):
            rows([bad + ",q"], [v, t])
            rows([bad], [v[:0]])
    rows(["NA,NA,NA,NA,NA"], [f, i, l, d, t], na_value="NA")
    rows(["NA,NA"], [f[:0], t], na_value="NA")
    rows(["NA,x"], [t, t], na_value="NA")
    rows(["1;2", "3;4"], [i, l], field_delim=";")
    rows(["1 2"], [i, l], field_delim=" ")
    rows(["1,2"], [i, l], field_delim="")
    rows(["a,1,b,2", "c,,d,4"], [i, i], select_cols=[1, 3])
    rows(["a,1,b,"], [i, i], select_cols=[1, 3])
    rows(["a,1"], [i, i], select_cols=[1, 3])
    rows(["a,1,b"], [t], select_cols=[0])
    rows(["1,2"], [i, i], select_cols=[1, 0])
    rows(["1,2"], [i, i], select_cols=[1, 1])
    rows(["1,2"], [i, i], select_cols=[-1, 1])
    rows(["1,2"], [i, i], select_cols=[1])
    rows("1,2", [i32(3), i32(4)], shapes=True)
    rows([["1,"], [",2"]], [i, i], shapes=True)
    rows(["1,"], [i, i32([[1]])], shapes=True)
    rows(["1,"], [i, i32([1, 2])], shapes=True)
    case("DecodeCSV", EMPTY, [i], outputs=1)


def compressed():
    import gzip
    import zlib
    text = b"hello hello hello " * 20 + bytes(range(256))
    raw = zlib.compressobj(9, zlib.DEFLATED, -15)
    raw = raw.compress(text) + raw.flush()
    stored = zlib.compressobj(0)
    stored = stored.compress(text) + stored.flush()
    fixed = zlib.compressobj(9, zlib.DEFLATED, 15, 9, zlib.Z_FIXED)
    fixed = fixed.compress(text) + fixed.flush()
    flushed = zlib.compressobj()
    flushed = flushed.compress(text[:50]) + flushed.flush(zlib.Z_FULL_FLUSH) + flushed.compress(text[50:]) + flushed.flush()
    asks = zlib.compressobj(zdict=b"hello")
    asks = asks.compress(text) + asks.flush()
    z, g = zlib.compress(text), gzip.compress(text, mtime=0)
    named = g[:3] + b"\x1c" + g[4:10] + b"\x03\x00abc" + b"name\x00" + b"comment\x00" + g[10:]
    for kind, all_of in (("ZLIB", (z, stored, fixed, flushed, asks, g, raw, z[:-1], z[:-4], z[:-5], z[:20], z[:2], z[:1],
                                   b"", b"abc", z[:-1] + b"x", z + b"extra", z + z, stored[:50], b"\x79\x9c", b"\x78\x9d",
                                   b"\x88\x1c", z[:4] + b"\xff" * 3 + z[7:], zlib.compress(b""),
                                   b"\x78\x01\x01\x05\x00\x00\x00hello", b"\x78\x01\x07")),
                         ("GZIP", (g, z, named, g + g, g[:-1], g[:-8], g[:15], g[:-1] + b"x", g[:-6] + b"x" + g[-5:], g[:9],
                                   g[:2] + b"\x09" + g[3:], g[:3] + b"\xe0" + g[4:], b"\x1f", b"", g + b"junk", g + b"\x00"))):
        for x in all_of:
            case("DecodeCompressed", s(x), compression_type=kind)
    case("DecodeCompressed", s([[z], [stored]]), compression_type="ZLIB", shapes=True)
    case("DecodeCompressed", s(["a", "b"]))
    case("DecodeCompressed", s(["a", "b"]), compression_type="BZIP")
    case("DecodeCompressed", EMPTY, compression_type="ZLIB")


def more_unicode():
    upper = s([bytes([b]) for b in range(128, 256)])
    lower = s(bytes(range(0, 128)))
    for n in (["US-ASCII", "ascii", "latin1", "utf_8", "UTF8", "iso_8859_1"] +
              ["ISO-8859-%d" % k for k in list(range(1, 12)) + [12, 13, 14, 15]] +
              ["windows-%d" % k for k in list(range(1250, 1259)) + [874]] + ["KOI8-R", "KOI8-U", "TIS-620", "macintosh",
                                                                           "IBM437", "cp850", "IBM852", "IBM866", ""]):
        case("UnicodeDecode", upper, outputs=2, input_encoding=n, replacement_char=63)
        case("UnicodeTranscode", lower, input_encoding=n, output_encoding="UTF-8")
    case("UnicodeEncode", i32([0xFFFE, 0xFDD0, 0x1FFFF, 0x10FFFF, 0, 0xDFFF, 0xD7FF]), i64([0, 4, 7]),
         output_encoding="UTF-8", errors="replace", shapes=True)
    case("UnicodeEncode", i32([0xFFFE]), i64([0, 1]), output_encoding="UTF-8", errors="strict")
    case("UnicodeEncode", tf.zeros([0], tf.int32), i64([0]), output_encoding="UTF-8", shapes=True)
    case("UnicodeEncode", tf.zeros([0], tf.int32), i64([0, 0]), output_encoding="UTF-16-BE")
    case("UnicodeScript", i32(list(range(0, 0x3000, 97)) + list(range(0x3000, 0x110000, 6007))), shapes=True)
    for n in ("UTF-16", "UTF-16LE", "UTF-16BE", "UTF-32", "UTF-32LE", "UTF-32-LE", "UTF-16-LE"):
        x = s([b"\xff\xfea\x00", b"\xfe\xff\x00a", b"a\x00b\x00", b"\x3d\xd8\x00\xde", b"\xd8\x3d\xde\x00", b"\x00\xd8",
               b"\xff\xfe\x00\x00a\x00\x00\x00", b"\x00\x00\xfe\xff\x00\x00\x00a", b"\x00\x00\x00a", b"", b"a", b"\xff\xfe"])
        case("UnicodeDecodeWithOffsets", x, outputs=3, input_encoding=n, shapes=n == "UTF-16")
        case("UnicodeDecodeWithOffsets", x, outputs=3, input_encoding=n, errors="ignore")
    case("UnicodeDecodeWithOffsets", s([b"\xef\xbb\xbfab", b"\xed\xa0\x80", b"\xf4\x90\x80\x80", b"\xc0\x80", b"\xe0\x80\x80x",
                                        b"\xf0\x9f\x98", b"\xe2\x28\xa1", b"\xf8\x88\x80\x80\x80"]), outputs=3, input_encoding="UTF-8")
    odd = s(["ŉ ǰ ΐ ΰ և ẖ ẞ ß ﬀ ﬁ ﬗ ᾀ ᾳ ᾼ ῼ İ ı ſ K Å Ω", "ΑΣ ΑΣ. Σ Σ1 1Σ ΑΣ\u00adΑ Α\u0345Σ a\u0307i̇", "ǅ ǆ Ǆ ǉ ǌ ǳ",
             "ა Ა ᲀ ꭰ Ꭰ ᏸ", "𐐀𐐨 𞤀𞤢 𐓐", "Ⅷ ⅷ Ⓐ ⓐ", "\u1e9e \ua64a \u1c88 \ua7ae \ua7c5", b"ABC\xff\xc3\x28\xe2\x82def"])
    for op in ("StringLower", "StringUpper"):
        case(op, odd, encoding="utf-8")
        case(op, odd)


def ctc():
    for t in (tf.float32, tf.float64):
        # TensorFlow adds logarithms in float even for doubles.
        slack = 64 if t == tf.float32 else 1 << 30
        for time, batch, classes in ((4, 2, 3), (1, 1, 2), (9, 2, 5)) if t == tf.float32 else ((5, 2, 4),):
            x = tf.constant(rng.normal(size=[time, batch, classes]) * 2, t)
            full = i32([time] * batch)
            part = i32([max(time - k, 0) for k in range(batch)])
            for n in (full, part):
                for merge in (False, True):
                    for blank in (-1, 0, classes - 1, -classes):
                        case("CTCGreedyDecoder", x, n, outputs=4, terms=slack, merge_repeated=merge, blank_index=blank,
                             shapes=blank == 0 and time == 4)
                    for width, paths in ((1, 1), (3, 1), (5, 2), (50, 2)):
                        case("CTCBeamSearchDecoder", x, n, outputs=3 * paths + 1, terms=slack, beam_width=width,
                             top_paths=paths, merge_repeated=merge, shapes=width == 5 and time == 4)
                labels = [list(rng.randint(0, classes - 1, max(1, min(int(k) // 2, 4)))) for k in n.numpy()]
                where = [[b, k] for b, l in enumerate(labels) for k in range(len(l))]
                flat = [v for l in labels for v in l]
                for collapse in (False, True):
                    for merge in (False, True):
                        for longer in (False, True):
                            case("CTCLoss", x, i64(where), i32(flat), n, outputs=2, terms=slack,
                                 preprocess_collapse_repeated=collapse, ctc_merge_repeated=merge,
                                 ignore_longer_outputs_than_inputs=longer, shapes=collapse and merge and time == 4)
    x = tf.constant(rng.normal(size=[4, 2, 3]), tf.float32)
    for n in ([4, 2, 1], [5, 2], [[4, 2]], [-1, 2], [0, 0]):
        case("CTCGreedyDecoder", x, i32(n), outputs=4, shapes=True)
        case("CTCBeamSearchDecoder", x, i32(n), outputs=4, beam_width=2, top_paths=1)
        case("CTCBeamSearchDecoder", x, i32(n), outputs=7, beam_width=2, top_paths=2)
        case("CTCLoss", x, i64([[0, 0], [1, 0]]), i32([0, 1]), i32(n), outputs=2, shapes=True)
    case("CTCBeamSearchDecoder", x, i32([4, 4]), outputs=10, beam_width=2, top_paths=3)
    for b in (3, -4):
        case("CTCGreedyDecoder", x, i32([4, 4]), outputs=4, blank_index=b)
    for y in (x[0], x[:0], x[:, :, :0]):
        case("CTCGreedyDecoder", y, i32([0, 0]), outputs=4)
        case("CTCBeamSearchDecoder", y, i32([0, 0]), outputs=4, beam_width=2, top_paths=1)
        if y.shape.rank != 3 or y.shape[2]:
            case("CTCLoss", y, i64([[0, 0], [1, 0]]), i32([0, 1]), i32([0, 0]), outputs=2)
    case("CTCLoss", x[:, :0], tf.zeros([0, 2], tf.int64), tf.zeros([0], tf.int32), tf.zeros([0], tf.int32), outputs=2)
    four = i32([4, 2])
    for where, v in (([[0, 0], [0, 1], [1, 0]], [0, 0, 1]), ([[0, 0], [1, 0]], [2, 1]), ([[0, 0], [1, 0]], [5, 1]),
                     ([[0, 0], [1, 0]], [-1, 1]), ([[0, 0]], [0]), ([[0, 0], [2, 0]], [0, 1]), ([[1, 0], [0, 0]], [0, 1]),
                     ([[0, 0], [0, 0], [1, 0]], [0, 1, 1]), ([[0, 0], [1, 0]], [0]), ([[0, 0], [0, 1], [1, 0]], [2, 0, 1]),
                     ([[0, 0], [0, 1], [1, 0]], [0, 2, 1]), ([[0, 0], [0, 5], [1, 0]], [0, 1, 1]), ([[0, -1], [1, 0]], [0, 1]),
                     ([[0, 0], [0, 1], [0, 2], [0, 3], [0, 4], [1, 0]], [0, 1, 0, 1, 0, 1])):
        for longer in (False, True):
            case("CTCLoss", x, i64(where), i32(v), four, outputs=2, terms=16, ignore_longer_outputs_than_inputs=longer)
    case("CTCLoss", x, i64([0, 1]), i32([0, 1]), four, outputs=2)
    case("CTCLoss", x, i64([[0, 0], [1, 0]]), i32([[0, 1]]), four, outputs=2)
    case("CTCLoss", x * 200.0, i64([[0, 0], [1, 0]]), i32([0, 1]), four, outputs=2, terms=16)
    case("CTCLoss", x[:, :, :1], i64([[0, 0], [1, 0]]), i32([0, 1]), four, outputs=2, terms=16)


def distances():
    def sparse(rows, t):
        where = [list(k) + [i] for k, v in rows for i in range(len(v))]
        return i64(where or np.zeros([0, len(rows[0][0]) + 1])), tf.constant([x for _, v in rows for x in v], t)
    def both(h, hs, t, ts, kind, **attrs):
        a, b = sparse(h, kind), sparse(t, kind)
        case("EditDistance", a[0], a[1], i64(hs), b[0], b[1], i64(ts), **attrs)
    for kind in (tf.int32, tf.int64, tf.float32, tf.float64, tf.half, tf.bfloat16, tf.string, tf.bool, tf.int8, tf.uint8,
                 tf.int16, tf.uint16, tf.uint32, tf.uint64, tf.complex64, tf.complex128):
        def v(*x):
            return [str(k) for k in x] if kind == tf.string else [bool(k & 1) for k in x] if kind == tf.bool else list(x)
        h = [((0, 0), v(1, 2, 3)), ((0, 1), v(4)), ((1, 1), v(1, 1, 2, 5))]
        t = [((0, 0), v(2, 3, 3, 4)), ((1, 0), v(7, 8)), ((1, 1), v(1, 2, 5))]
        for n in (True, False):
            both(h, [2, 2, 4], t, [2, 2, 4], kind, normalize=n, shapes=kind == tf.int32)
            both(h, [2, 3, 4], t, [3, 2, 4], kind, normalize=n)
    nan = tf.constant([np.nan, 1.0], tf.float32)
    one = i64([[0, 0], [0, 1]])
    case("EditDistance", one, nan, i64([1, 2]), one, nan, i64([1, 2]))
    i2 = i32([1, 2])
    for hi, hv, hs, ti, tv, ts in (
            ([[0, 0], [1, 0]], [1], [2, 1], [[0, 0], [0, 1]], [1, 3], [2, 2]), ([0, 1], [1, 2], [2, 1], [[0, 0], [0, 1]], [1, 3], [2, 2]),
            ([[0, 0], [1, 0]], [1, 2], [2, 1], [[0, 0, 0], [0, 1, 0]], [1, 3], [2, 2, 1]),
            ([[0, 0], [5, 0]], [1, 2], [2, 1], [[0, 0], [0, 1]], [1, 3], [2, 2]),
            ([[0, 0], [1, 0]], [1, 2], [2], [[0, 0], [0, 1]], [1, 3], [2, 2]),
            ([[1, 0], [0, 0]], [1, 2], [2, 1], [[0, 0], [0, 1]], [1, 3], [2, 2]),
            ([[0, 0], [1, 0]], [1, 2], [2, 1], [[0, 0], [3, 1]], [1, 3], [2, 2]),
            ([[0, 0], [1, 0]], [1, 2], [2, 1], [[0, 0], [0, 1]], [[1, 3]], [2, 2]),
            ([[0], [1]], [1, 2], [2], [[0], [1]], [1, 3], [2]), ([[0, 0], [-1, 0]], [1, 2], [2, 1], [[0, 0], [0, 1]], [1, 3], [2, 2]),
            ([[0, 0]], [1], [-1, 1], [[0, 0]], [1], [2, 2]), ([[0, 9]], [1], [2, 1], [[0, 0]], [1], [2, 2]),
            ([[0, 0], [1, 0]], [1, 2], [[2, 1]], [[0, 0], [0, 1]], [1, 3], [2, 2])):
        case("EditDistance", i64(hi), i32(hv), i64(hs), i64(ti), i32(tv), i64(ts))
    none = tf.zeros([0, 2], tf.int64), tf.zeros([0], tf.int32)
    case("EditDistance", none[0], none[1], i64([2, 0]), none[0], none[1], i64([2, 0]), shapes=True)
    case("EditDistance", none[0], none[1], i64([0, 0]), none[0], none[1], i64([0, 3]))


def samplers():
    seed = [100]
    def one(op, true, n, unique, **attrs):
        seed[0] += 1  # a kernel of its own for every case: the generator moves on with each call
        case(op, i64(true), outputs=3, num_true=len(true[0]), num_sampled=n, unique=unique, seed=seed[0], seed2=7 * seed[0], **attrs)
    for n, top in ((1, 1), (5, 5), (5, 7), (20, 64), (40, 1000), (10, 2 ** 20)):
        for unique in (True, False):
            true = [[0, top - 1], [top // 2, top // 3]]
            for op in ("UniformCandidateSampler", "LogUniformCandidateSampler", "LearnedUnigramCandidateSampler",
                       "ThreadUnsafeUnigramCandidateSampler"):
                if top < 2 ** 20 or op in ("UniformCandidateSampler", "LogUniformCandidateSampler"):
                    one(op, true, n, unique, range_max=top)
            one("AllCandidateSampler", true, n, unique)
            if top <= 64:
                w = [float(k % 5 + 1) for k in range(top)]
                for distortion in (1.0, 0.75, 0.0):
                    one("FixedUnigramCandidateSampler", true, n, unique, range_max=top, unigrams=w, distortion=distortion)
    one("FixedUnigramCandidateSampler", [[0]], 3, True, range_max=5, unigrams=[1.0, 2.0, 3.0], num_reserved_ids=2)
    one("FixedUnigramCandidateSampler", [[9]], 3, False, range_max=2, unigrams=[1.0, 2.0, 3.0, 4.0], num_shards=2, shard=1)
    one("FixedUnigramCandidateSampler", [[0]], 3, True, range_max=4, unigrams=[1.0, 2.0, 3.0])
    one("FixedUnigramCandidateSampler", [[0]], 3, True, range_max=4)
    for op in ("UniformCandidateSampler", "LogUniformCandidateSampler", "LearnedUnigramCandidateSampler"):
        one(op, [[0]], 6, True, range_max=5)
        case(op, i64([0]), outputs=3, num_true=1, num_sampled=2, unique=True, range_max=5, seed=5, shapes=True)
        case(op, i64([[0, 1]]), outputs=3, num_true=1, num_sampled=2, unique=True, range_max=5, seed=5, shapes=True)
    case("ComputeAccidentalHits", i64([[1, 2], [3, 4], [5, 1]]), i64([1, 9, 4, 1, 3]), outputs=3, num_true=2, shapes=True)
    case("ComputeAccidentalHits", i64([[1], [3]]), i64([7]), outputs=3, num_true=1)
    case("ComputeAccidentalHits", i64([[1], [3]]), i64([[7]]), outputs=3, num_true=1, shapes=True)
    case("ComputeAccidentalHits", i64([[1], [3]]), i64([7]), outputs=3, num_true=2, shapes=True)
    case("ComputeAccidentalHits", i64([1]), i64([7]), outputs=3, num_true=1)
    case("ComputeAccidentalHits", tf.zeros([0, 2], tf.int64), i64([7]), outputs=3, num_true=2)


def summaries():
    from tensorflow.core.framework import summary_pb2
    numbers = [tf.float32, tf.float64, tf.int32, tf.uint8, tf.int16, tf.int8, tf.int64, tf.bfloat16, tf.uint16, tf.half,
               tf.uint32, tf.uint64]
    for t in numbers:
        case("ScalarSummary", s("a"), tf.constant(3, t), shapes=t == tf.float32)
        case("ScalarSummary", s(["a", "bc"]), tf.constant([0, 100], t))
        case("HistogramSummary", s("h"), tf.constant([[1, 2, 3], [0, 100, 7]], t), shapes=t == tf.float32)
    case("ScalarSummary", s([["a"], [""]]), f32([[np.nan], [-np.inf]]))
    case("ScalarSummary", tf.zeros([0], tf.string), f32([])[:0])
    case("ScalarSummary", s(["a", "b"]), f32([1]))
    case("ScalarSummary", s(["a"]), f32([[1]]))
    case("ScalarSummary", s("a"), f32([1]))
    for v in ([1.0, 2.0, 2.1, -5.0, 0.0], [], [1.0, np.nan], [np.inf], [-np.inf, np.nan], [1e38, -1e38, 1e-30], [1e-12, -1e-12],
              [-0.0], list(rng.normal(size=50))):
        case("HistogramSummary", s("h"), f32(v) if v else f32([0])[:0])
    case("HistogramSummary", s("h"), tf.constant([1e300, -1e300, 1e-20], tf.float64))
    case("HistogramSummary", s("h"), tf.constant([2 ** 64 - 1, 2 ** 63], tf.uint64))
    case("HistogramSummary", s(["h"]), f32([1]))
    for v in (f32([1, 2]), s(["a", ""]), i64([[1], [2]]), tf.constant(True), tf.zeros([0, 3]), tf.constant([1 + 2j]), f32(0),
              tf.constant([1, 2], tf.half)):
        case("TensorSummary", v, description="d", labels=["x"], display_name="n", shapes=v.dtype == tf.float32)
        case("TensorSummaryV2", s("t"), v, s(""))
        case("TensorSummaryV2", s(""), v, s(summary_pb2.SummaryMetadata(display_name="q", plugin_data=summary_pb2.SummaryMetadata.PluginData(
            plugin_name="p", content=b"x")).SerializeToString()))
    case("TensorSummaryV2", s(["t"]), f32(1), s(""))
    case("TensorSummaryV2", s("t"), f32(1), s([""]))
    case("TensorSummaryV2", s("t"), f32(1), s(b"\xff"))
    for v in ([[0.0, 0.5, -1.0, 2.0]], np.linspace(-2, 2, 12).reshape(2, 3, 2), np.linspace(-1, 1, 8).reshape(4, 2)):
        for most in (1, 3):
            case("AudioSummaryV2", s("a"), f32(v), f32(44100), max_outputs=most)
    case("AudioSummaryV2", s("a"), f32([[0.25]]), f32(0.0))
    case("AudioSummaryV2", s("a"), f32([[0.25]]), f32(-1.0))
    case("AudioSummaryV2", s("a"), f32([[0.25]]), f32([1.0]))
    case("AudioSummaryV2", s(["a"]), f32([[0.25]]), f32(1.0))
    case("AudioSummaryV2", s("a"), f32([0.25]), f32(1.0))
    a = tf.raw_ops.ScalarSummary(tags="a", values=1.5)
    b = tf.raw_ops.ScalarSummary(tags="b", values=1.5)
    n = tf.raw_ops.TensorSummary(tensor=1.0)
    for v in ([a], [a, b], [a, a], [n, n, a], [a, s(b"\xff")], [tf.stack([a, b])], [tf.stack([a, b]), a], [s("")], [s(b"\x0a\x05ab")]):
        case("MergeSummary", v)


def recurrent():
    for kind, rough in ((tf.float32, None), (tf.half, 12)):
        def r(*shape):
            return tf.constant(rng.uniform(-1, 1, shape), kind)
        for time, batch, inputs, cells in ((3, 2, 2, 3), (1, 1, 1, 1), (4, 3, 5, 2)):
            w = [r(time, batch, inputs), r(batch, cells), r(batch, cells), r(inputs + cells, 4 * cells), r(cells), r(cells),
                 r(cells), r(4 * cells)]
            one = [w[0][0]] + w[1:]
            slack = dict(terms=24, rough=rough, shapes=kind == tf.float32 and time == 3)
            for peephole in (False, True):
                for clip, bias in ((3.0, 1.0), (0.2, 0.0), (-1.0, 0.5), (0.0, 1.0)):
                    case("LSTMBlockCell", *one, outputs=7, use_peephole=peephole, cell_clip=clip, forget_bias=bias, **slack)
                    case("BlockLSTM", i64(time), *w, outputs=7, use_peephole=peephole, cell_clip=clip, forget_bias=bias, **slack)
                    case("BlockLSTMV2", i64(time), *w, outputs=7, use_peephole=peephole, cell_clip=clip, **slack)
                    slack["shapes"] = False
                # What TensorFlow leaves unwritten is zero here.
                def cut(out):
                    return [tf.concat([o[:time - 1], tf.zeros_like(o[time - 1:])], 0) for o in out]
                case("BlockLSTM", i64(time - 1), *w, outputs=7, use_peephole=peephole, fix=cut, **slack)
                if kind == tf.half and time == 4:
                    continue
                slack["shapes"] = kind == tf.float32 and time == 3 and peephole
                cells_of = lambda *lead: [tf.constant(rng.uniform(0, 1, lead + (batch, cells)), kind) for _ in range(6)]
                case("LSTMBlockCellGrad", *one, *cells_of(), r(batch, cells), r(batch, cells), outputs=5, use_peephole=peephole, **slack)
                kept = cells_of(time) + [r(time, batch, cells)]
                for op in ("BlockLSTMGrad", "BlockLSTMGradV2"):
                    case(op, i64(time), *w, *kept, r(time, batch, cells), r(time, batch, cells), outputs=8, use_peephole=peephole, **slack)
                    slack["shapes"] = False
                case("BlockLSTMGrad", i64(max(time - 1, 1)), *w, *kept, r(time, batch, cells), r(time, batch, cells), outputs=8,
                     use_peephole=peephole, **slack)
    def r(*shape):
        return f32(rng.uniform(-1, 1, shape))
    for batch, inputs, cells in ((2, 3, 4), (1, 1, 1), (3, 2, 5)):
        w = [r(batch, inputs), r(batch, cells), r(inputs + cells, 2 * cells), r(inputs + cells, cells), r(2 * cells), r(cells)]
        case("GRUBlockCell", *w, outputs=4, terms=24, shapes=batch == 2)
        gates = [tf.constant(rng.uniform(0, 1, [batch, cells]), tf.float32) for _ in range(3)]
        case("GRUBlockCellGrad", *w, *gates, r(batch, cells), outputs=4, terms=24, shapes=batch == 2)
    t, b, n, c = 3, 2, 2, 3
    w = [r(t, b, n), r(b, c), r(b, c), r(n + c, 4 * c), r(c), r(c), r(c), r(4 * c)]
    for k, bad in ((0, r(b, n)), (1, r(b + 1, c)), (1, r(c)), (2, r(b + 1, c)), (2, r(b, c + 1)), (2, r(c)), (3, r(n + c + 1, 4 * c)),
                   (3, r(n + c, 4 * c + 4)), (4, r(c + 1)), (4, r(c, 1)), (5, r(c + 1)), (6, r(c + 1)), (7, r(4 * c + 4)), (7, r(1, 4 * c))):
        case("BlockLSTM", i64(t), *[bad if i == k else x for i, x in enumerate(w)], outputs=7)


def sequences():
    def row(*v):
        return field(1, b"".join(field(1, x) for x in v))
    def sequence(context=(), lists=()):
        out = field(1, b"".join(entry(k, v) for k, v in context)) if context else b""
        return out + (field(2, b"".join(entry(k, b"".join(field(1, x) for x in v)) for k, v in lists)) if lists else b"")
    def parse(x, cs=(), cd=(), cr=(), fs=(), fd=(), fr=(), names=EMPTY, shapes=False):
        """cs, fs: (key, type); cd: (key, type, shape, default); fd: (key, type, shape, may miss); cr, fr: (key, type, split)."""
        keys = lambda v: [k[0] for k in v]
        vec = lambda v: s(keys(v)) if v else EMPTY
        common = dict(context_sparse_types=[k[1] for k in cs], Tcontext_dense=[k[1] for k in cd],
                      feature_list_sparse_types=[k[1] for k in fs], feature_list_dense_types=[k[1] for k in fd],
                      context_dense_shapes=[S(k[2]) for k in cd], feature_list_dense_shapes=[S(k[2]) for k in fd],
                      Ncontext_sparse=len(cs), Nfeature_list_sparse=len(fs), Nfeature_list_dense=len(fd))
        missing = [k[0] for k in fd if k[3]]
        outputs = 3 * len(cs) + len(cd) + 3 * len(fs) + 2 * len(fd)
        presets = [k[3] for k in cd]
        if not cr and not fr:
            case("ParseSequenceExample", x, names, presets, outputs=outputs, feature_list_dense_missing_assumed_empty=missing,
                 context_sparse_keys=keys(cs), context_dense_keys=keys(cd), feature_list_sparse_keys=keys(fs),
                 feature_list_dense_keys=keys(fd), Ncontext_dense=len(cd), shapes=shapes, **common)
            if x.shape.rank == 0:
                case("ParseSingleSequenceExample", x, s(missing) if missing else EMPTY, [s(k) for k in keys(cs)], [s(k) for k in keys(cd)],
                     [s(k) for k in keys(fs)], [s(k) for k in keys(fd)], presets, names if names.shape.rank == 0 else s("name"),
                     outputs=outputs - len(fd), Ncontext_dense=len(cd), shapes=shapes, **common)
        def settled(out):  # TensorFlow leaves the row splits of one example alone unwritten
            out = list(out)
            first = 3 * len(cs) + len(cd) + len(cr)
            last = first + len(cr) + 3 * len(fs) + 2 * len(fd) + len(fr)
            for k in list(range(first, first + len(cr))) + list(range(last, last + len(fr))):
                out[k] = tf.zeros_like(out[k])
            return out
        case("ParseSequenceExampleV2", x, names, vec(cs), vec(cd), vec(cr), vec(fs), vec(fd), vec(fr),
             tf.constant([bool(k[3]) for k in fd], tf.bool), presets, outputs=outputs + 2 * len(cr) + 3 * len(fr),
             context_ragged_value_types=[k[1] for k in cr], context_ragged_split_types=[k[2] for k in cr],
             feature_list_ragged_value_types=[k[1] for k in fr], feature_list_ragged_split_types=[k[2] for k in fr],
             fix=settled if x.shape.rank == 0 else None, shapes=shapes, **common)
    none = {t: tf.zeros([0], t) for t in (tf.int64, tf.float32, tf.string)}
    full = sequence([("i", ints(1, 2)), ("f", floats(0.5)), ("t", texts(b"ab", b"c"))],
                    [("I", [ints(1, 2), ints(3, 4, packed=False)]), ("F", [floats(1), floats(2), floats(3)]),
                     ("T", [texts(b"x"), texts(), texts(b"y", b"z")])])
    short = sequence([("i", ints(7, 8))], [("I", [ints(5, 6)]), ("T", [b"", texts(b"q")]), ("F", [])])
    for x in (s([full, short]), s([full]), s(full), s(short), EMPTY, s([b"", full])):
        big = x.shape.rank == 1 and x.shape[0] == 2
        parse(x, cs=[("i", tf.int64), ("f", tf.float32), ("t", tf.string), ("no", tf.int64)], shapes=big)
        parse(x, cd=[("i", tf.int64, [2], i64([8, 9])), ("f", tf.float32, [1], f32([2]))], shapes=big)
        parse(x, cd=[("f", tf.float32, [], none[tf.float32])])
        parse(x, cr=[("i", tf.int64, tf.int32), ("t", tf.string, tf.int64)], shapes=big)
        parse(x, fs=[("I", tf.int64), ("F", tf.float32), ("T", tf.string), ("no", tf.int64)], shapes=big)
        parse(x, fd=[("I", tf.int64, [2], True), ("F", tf.float32, [], True), ("no", tf.string, [3], True)], shapes=big)
        parse(x, fd=[("F", tf.float32, [1], False)])
        parse(x, fr=[("I", tf.int64, tf.int64), ("F", tf.float32, tf.int32), ("T", tf.string, tf.int64)], shapes=big)
        parse(x, cs=[("i", tf.int64)], cd=[("f", tf.float32, [1], f32([7]))], fs=[("T", tf.string)], fd=[("I", tf.int64, [2], True)],
              fr=[("F", tf.float32, tf.int32)], cr=[("t", tf.string, tf.int32)])
    dup = sequence([("i", ints(1)), ("i", ints(2, 3))], [("I", [ints(1)]), ("I", [ints(2), ints(3)])])
    for x in (dup, dup + dup, b"\x18\x05" + dup):
        parse(s([x]), cs=[("i", tf.int64)], fs=[("I", tf.int64)])
        parse(s([x]), cd=[("i", tf.int64, [2], i64([1, 1]))], fd=[("I", tf.int64, [1], False)])
    for names in (EMPTY, s(["first", "second"])):
        for bad in (b"\x0a", b"\x0a\x05", b"\x12\x02\x08\x01", b"\x0b", field(1, field(2, b"")), field(1, field(1, field(1, b"i")))):
            parse(s([full, bad]), cs=[("i", tf.int64)], names=names)
        parse(s([full, full]), cs=[("i", tf.float32)], names=names)
        parse(s([full, full]), cd=[("t", tf.float32, [2], f32([1, 2]))], names=names)
        parse(s([full, full]), cr=[("i", tf.float32, tf.int64)], names=names)
        parse(s([full, full]), fs=[("I", tf.float32)], names=names)
        parse(s([full, full]), fd=[("I", tf.float32, [2], False)], names=names)
        parse(s([full, full]), fr=[("I", tf.float32, tf.int64)], names=names)
        parse(s([full, short]), cd=[("f", tf.float32, [1], none[tf.float32])], names=names)
        parse(s([full, short]), fd=[("no", tf.float32, [1], False)], names=names)
        parse(s([full, short]), fd=[("I", tf.int64, [3], False)], names=names)
        parse(s([full, short]), cd=[("i", tf.int64, [3], i64([1, 2, 3]))], names=names)
        parse(s([full, short]), fd=[("T", tf.string, [1], False)], names=names)
    parse(s([full]), cd=[("i", tf.int64, [2], i64([1, 2, 3]))])
    parse(s([[full]]), cs=[("i", tf.int64)], shapes=True)
    parse(s([full]), cs=[("i", tf.int64)], names=s(["a", "b"]))
    parse(s(full), cs=[("i", tf.float32)])
    parse(s(full), cd=[("i", tf.int64, [3], i64([1, 2, 3]))])
    parse(s(full), fd=[("I", tf.int64, [3], False)])
    parse(s(full), fd=[("I", tf.float32, [2], False)])
    parse(s(full), fs=[("I", tf.float32)])
    parse(s(b"\x0a\x05"), cs=[("i", tf.int64)])


def json_examples():
    whole = '{"features":{"feature":{%s}}}'
    def one(text):
        case("DecodeJSONExample", s(whole % text))
    one('"a":{"int64List":{"value":["1",2,-3]}},"f":{"floatList":{"value":[1.5,"NaN","-Infinity","Infinity",3,"2.5",1e3]}},'
        '"t":{"bytesList":{"value":["aGVsbG8=","YWJj","YQ","","-_-_"]}}')
    for v in ("1", "[]", "[1,]", "null", "[1.5]", "[1.0]", "[1e2]", '["x"]', "[true]", "[null]", '["9223372036854775807"]', "[9223372036854775808]",
              '[" 1"]', "{}", '"5"', "[[1]]", "[1 2]", "[,1]", "[1"):
        one('"a":{"int64List":{"value":%s}}' % v)
    for v in ("1", "[1,]", "[1e40]", '["nan"]', '["1.5"]', "[-0.0]", "[true]", '["inf"]', "[1e-50]"):
        one('"a":{"floatList":{"value":%s}}' % v)
    for v in ('"YQ=="', '["###"]', '["YQ="]', '["Y"]', "[1]", '["YW Jj"]', "[\\'YWJj\\']".replace("\\", "")):
        one('"a":{"bytesList":{"value":%s}}' % v)
    for text in ("", '"a":{}', '"a":{"int64List":{}}', '"a":{"int64_list":{"value":[1]}}', '"a":{"int64List":null}', '"a":null',
                 '"a":{"int64List":{"value":[1]},"floatList":{"value":[1]}}', '"a":{"int64List":{"value":[1]}},"a":{"int64List":{"value":[2]}}',
                 '"b":{"int64List":{"value":[1]}},"a":{"int64List":{"value":[1]}}', "a:{int64List:{value:[1]}}",
                 "'a':{'int64List':{'value':[1]}}", '"a":{"int64List":{"value":[1],}},', '"a":{"int64List":{"val":[1]}}', '"a":{"doubleList":{}}',
                 '"a":{"int64List":{"value":[1],"value":[2]}}', '"\\u00e9\\n\\ud83d\\ude00":{}', '"a":[]', '"a" {}', '"a":{', '"":{}',
                 '"a":{"int64List":[1]}'):
        one(text)
    for text in ("{}", "", " { } ", "[1]", '{"x":1}', '{"features":null}', '{"features":{}}', '{"features":{"feature":null}}', "{features:{feature:{}}}",
                 '{"features":{},"features":{}}', "{} x", "null", "1", '{"features":[]}', '{"features":{"feature":[]}}', "{,}", '{"features"}'):
        case("DecodeJSONExample", s(text))
    case("DecodeJSONExample", s([["{}", "{}"]]), shapes=True)
    case("DecodeJSONExample", EMPTY)


def images():
    """ImageSummary has a tensor among its attributes, which eager calls cannot give: a session."""
    def one(tag, x, most=3):
        block = ["op ImageSummary", "attr T " + g.NAMES[x.dtype], "attr max_images %d" % most, g.tensor_line("in", tag),
                 g.tensor_line("in", x)]
        with tf.Graph().as_default(), tf.compat.v1.Session() as session:
            fed = tf.compat.v1.placeholder(tf.string), tf.compat.v1.placeholder(x.dtype)
            made = tf.raw_ops.ImageSummary(tag=fed[0], tensor=fed[1], max_images=most)
            try:
                block.append("out string [] x" + session.run(made, {fed[0]: TAG[tag.shape.rank], fed[1]: x_value(x)}).hex())
            except errors.OpError as e:
                text = str(e.message).split("\n")
                node = [k for k, line in enumerate(text) if line.startswith("\t [[")][0]
                block.append("error %d %s" % (e.error_code, text[node - 1]))
        g.lines.extend(block)
    TAG = {0: b"i", 1: [b"i"]}
    def x_value(x):
        return x.numpy()
    for t in (tf.uint8, tf.float32, tf.half, tf.float64):
        for shape in ([2, 3, 4, 3], [1, 2, 2, 1], [1, 5, 3, 4]):
            x = rng.uniform(0, 200, shape)
            for v in ([x] if t == tf.uint8 else [x, x - 100, x * 0, x / 1e9 - 1e-9]):
                one(s("i"), tf.constant(v, t))
        one(s("i"), tf.constant(rng.uniform(0, 9, [4, 2, 2, 3]), t), most=1)
    odd = rng.uniform(-1, 1, [1, 3, 3, 3])
    odd[0, 1, 1, 0] = np.nan
    odd[0, 0, 2, 2] = np.inf
    one(s("i"), f32(odd))
    one(s("i"), f32(odd * np.nan))
    for shape in ([1, 2, 2, 2], [2, 2, 3], [1, 2, 2, 5]):
        one(s("i"), tf.zeros(shape, tf.uint8))
    one(s(["i"]), tf.zeros([1, 2, 2, 1], tf.uint8))
    one(s("i"), tf.zeros([0, 2, 2, 1], tf.uint8))


FILES = {"parse": [examples], "text": [csv, compressed, more_unicode, json_examples], "sequence": [ctc, distances, samplers],
         "summary": [summaries, images], "rnn": [recurrent], "parse_sequence": [sequences]}


def main():
    for name in sys.argv[1:] or list(FILES):
        for section in FILES[name]:
            section()
        g.write_both("_" + name)


if __name__ == "__main__":
    main()
