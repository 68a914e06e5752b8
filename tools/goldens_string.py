#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Writes tests/data/op_goldens_string.txt: what the real TensorFlow answers to string, parsing and
ragged ops, in the language of golden_case.py.

Run with a Python that has TensorFlow:  /opt/tfvenv/bin/python tools/goldens_string.py
"""
import golden_case as g
import numpy as np
import tensorflow as tf
from golden_case import s32 as i32, s64 as i64, text as s

rng = g.rng
rng.seed(11)


def case(op, *inputs, outputs=1, **attrs):
    """Runs |op| on tensors (a list stands for a list argument) and records the answer."""
    flat, known = g.flatten(inputs), g.type_attrs(op, inputs, attrs)
    block = g.asked(op, flat, known)
    out = g.ask(op, flat, outputs, known, ("No attr named",), lambda message: message.split("\n")[0])
    if out is not None:
        g.mark(block, op, flat, known, out)
        g.lines.extend(block + g.told(out))


WORDS = [b"", b"a", b"Hello, World", b"  padded\t\n", "żółć Straße ΣΟΦΟΣ İ".encode(), b"\xff\xfebad\x80",
         "日本語 text \U0001F600".encode(), b"x" * 40, b"nul\x00inside", b"1,2,3"]
ALL = s(WORDS)
EMPTY = tf.zeros([0], tf.string)
EMPTY2 = tf.zeros([2, 0], tf.string)


def basic():
    case("StringJoin", [s("a"), s("b")], separator="-")
    case("StringJoin", [ALL, s("+"), ALL], separator="")
    case("StringJoin", [s([["a", "b"]]), s([["c", "d"]])], separator=", ")
    case("StringJoin", [s(["a", "b"]), s(["c"])])
    case("StringJoin", [s(["a", "b"]), s([["c", "d"]])])
    case("StringJoin", [s("only")])
    case("StringJoin", [EMPTY, s("x")])
    for op in ("StringLower", "StringUpper"):
        case(op, ALL)
        case(op, ALL, encoding="utf-8")
        case(op, s("x"), encoding="latin1")
        case(op, s("ΑΣ ΑΣΑ Σ ΑΣ. Σ1 ŉ ﬁ ǆ ΐ A\u0301Σ"), encoding="utf-8")
        case(op, EMPTY2)
    for unit in ("BYTE", "UTF8_CHAR"):
        case("StringLength", ALL, unit=unit)
        case("StringLength", EMPTY2, unit=unit)
    case("StringStrip", ALL)
    case("StringStrip", s([[" \v\f\r\na b\t "], ["\u00a0x "]]))
    for t in (i32, i64):
        for unit in ("BYTE", "UTF8_CHAR"):
            case("Substr", s("hello"), t(1), t(3), unit=unit)
            case("Substr", s("hello"), t(-3), t(2), unit=unit)
            case("Substr", s("hello"), t(5), t(2), unit=unit)
            case("Substr", s("hello"), t(6), t(2), unit=unit)
            case("Substr", s("hello"), t(-6), t(2), unit=unit)
            case("Substr", s("hello"), t(1), t(-1), unit=unit)
            case("Substr", s(["日本語x", "żółć"]), t(1), t(2), unit=unit)
            case("Substr", s(["日本語x", "żółć"]), t(-2), t(9), unit=unit)
            case("Substr", s(["ab", "cdefg"]), t([0, -3]), t([1, 2]), unit=unit)
            case("Substr", s(["ab", "cdefg"]), t([0, 9]), t([1, 2]), unit=unit)
            case("Substr", s([["abc"], ["defg"]]), t([0, 1, 2]), t([1, 1, 1]), unit=unit)
            case("Substr", s([["abc"], ["defg"]]), t([0, 1, 4]), t([1, 1, 1]), unit=unit)
            case("Substr", s("abcdef"), t([0, 1, 2]), t([1, 2, 9]), unit=unit)
    case("Substr", s(["ab", "cd"]), i32([0, 1]), i32([1]))
    case("Substr", s(["ab", "cd"]), i32([0, 1, 0]), i32([1, 1, 1]))
    case("Substr", s([[["ab"]], [["cd"]]]), i32([0, 1]), i32([1, 1]))
    case("Substr", s(["ab", "cd"]), i32([[[0]]]), i32([[[1]]]))
    case("Substr", EMPTY, i32(0), i32(1))
    case("Substr", s(""), i32(0), i32(1))
    for skip in (True, False):
        case("StringSplit", s(["hello world", "", "a b c", " x  y "]), s(" "), outputs=3,
             skip_empty=skip)
        case("StringSplit", s(["a,b;c", ";;", "abc"]), s(",;"), outputs=3, skip_empty=skip)
        case("StringSplit", s(["abc", "日"]), s(""), outputs=3, skip_empty=skip)
        case("StringSplit", EMPTY, s(" "), outputs=3, skip_empty=skip)
    case("StringSplit", s("scalar"), s(" "), outputs=3)
    case("StringSplit", s(["a"]), s([" "]), outputs=3)
    for m in (-1, 0, 1, 2):
        case("StringSplitV2", s(["hello world", "", "a b c", " x  y "]), s(""), outputs=3, maxsplit=m)
        case("StringSplitV2", s(["1<>2<>3", "<><>", "4", "<>"]), s("<>"), outputs=3, maxsplit=m)
        case("StringSplitV2", s(["1,2,3", ",,a,", "\t\n"]), s(","), outputs=3, maxsplit=m)
        case("StringSplitV2", s(["  lead trail  ", "\ta\nb\rc\vd\fe"]), s(""), outputs=3, maxsplit=m)
    case("StringSplitV2", s("scalar"), s(" "), outputs=3)
    case("StringSplitV2", s(["a"]), s([" "]), outputs=3)
    case("StringSplitV2", EMPTY, s(" "), outputs=3)


def numbers():
    texts = ["0", "-1", "42", " 7 ", "3.25", "-1e3", "1e-2", "inf", "-Inf", "nan", "+5", "0x10",
             "2147483647", "2147483648", "-2147483648", "-2147483649", "4294967295", "4294967296",
             "9223372036854775807", "9223372036854775808", "18446744073709551615", "1e400", "1e39",
             "", " ", "abc", "1 2", "1.5f", ".5", "5.", "-0", "1e", "infinity", "0.1",
             "18446744073709551616", "--1", "1_0", "-", "NaN", "00012", "1\x002"]
    for t in (tf.float32, tf.float64, tf.int32, tf.int64, tf.uint32, tf.uint64):
        for x in texts:
            case("StringToNumber", s(x), out_type=t)
        case("StringToNumber", s([["1", "2"], ["3", "4"]]), out_type=t)
        case("StringToNumber", EMPTY2, out_type=t)
    reals = [0.0, -0.0, 1.0, 3.14159274, -1e10, 1e-10, 123456789.0, np.inf, -np.inf, np.nan, 0.1]
    for t in (tf.float32, tf.float64, tf.half, tf.bfloat16):
        v = tf.cast(tf.constant(reals, tf.float64), t)
        case("AsString", v)
        case("AsString", v, precision=3)
        case("AsString", v, scientific=True)
        case("AsString", v, shortest=True)
        case("AsString", v, width=12)
        case("AsString", v, width=14, fill="0", precision=2)
        case("AsString", v, width=14, fill="-", precision=2, scientific=True)
        case("AsString", v, width=14, fill=" ", shortest=True)
        case("AsString", v, width=10, fill="+")
        case("AsString", v, precision=0)
    for t in (tf.int8, tf.int16, tf.int32, tf.int64, tf.uint8, tf.uint16, tf.uint32, tf.uint64):
        v = tf.constant([[0, 1], [t.max, t.min]], t)
        case("AsString", v)
        case("AsString", v, width=6)
        case("AsString", v, width=6, fill="0")
        case("AsString", v, width=6, fill="-")
        case("AsString", v, width=6, fill="+")
        case("AsString", v, width=6, fill=" ")
    for t in (tf.complex64, tf.complex128):
        v = tf.constant([1 + 2j, -0.5j, complex(np.inf, np.nan)], t)
        case("AsString", v)
        case("AsString", v, precision=2)
        case("AsString", v, scientific=True, width=10)
        case("AsString", v, shortest=True)
    case("AsString", tf.constant([True, False]))
    case("AsString", tf.constant([True, False]), width=7)
    case("AsString", tf.constant([True, False]), width=7, fill="-")
    case("AsString", s(["a", "bcd"]), width=5)
    case("AsString", s(["a", "bcd"]))
    case("AsString", i32(3), precision=2)
    case("AsString", i32(3), scientific=True)
    case("AsString", i32(3), shortest=True)
    case("AsString", tf.constant(3.0), fill="00")
    case("AsString", tf.constant(3.0), fill="x")
    case("AsString", tf.constant(3.0), scientific=True, shortest=True)
    case("AsString", tf.zeros([0, 3]))
    for args in ([i32([1, 2, 3, 4, 5, 6, 7, 8])], [tf.constant([[1.5, 2], [3, 4]])], [s(["a", "b"])],
                 [s("plain")], [tf.constant(True)], [tf.constant([1 + 2j], tf.complex64)],
                 [tf.zeros([0])], [tf.zeros([2, 0])], [tf.constant(np.arange(60).reshape(3, 4, 5))],
                 [tf.constant(np.arange(8), tf.uint8)], [tf.constant([0.1, 1e20], tf.float64)],
                 [tf.constant([0.1, 1e20], tf.half)]):
        for n in (-1, 0, 1, 3):
            if n == 0 and args[0].dtype in (tf.bool, tf.complex64):
                continue
            case("StringFormat", args, template="t: {} end", placeholder="{}", summarize=n)
    case("StringFormat", [i32(1), s("x")], template="%s and %s", placeholder="%s")
    case("StringFormat", [], template="nothing", placeholder="%s")
    case("StringFormat", [i32(1)], template="no placeholder", placeholder="%s")
    case("StringFormat", [i32(1)], template="%s %s", placeholder="%s")


def hashes():
    many = s([bytes(rng.randint(0, 256, n).astype(np.uint8)) for n in
              list(range(0, 70)) + [80, 96, 127, 128, 129, 191, 192, 193, 250]])
    for n in (1, 10, 1000, 2 ** 62):
        case("StringToHashBucketFast", many if n > 10 else ALL, num_buckets=n)
        case("StringToHashBucketStrong", many if n == 1000 else ALL, num_buckets=n,
             key=[123456789, 987654321])
        case("StringToHashBucket", many if n == 1000 else ALL, num_buckets=n)
    case("StringToHashBucketFast", EMPTY2, num_buckets=3)
    case("StringToHashBucketStrong", ALL, num_buckets=3, key=[1])
    case("StringToHashBucketStrong", ALL, num_buckets=3, key=[1, 2, 3])
    case("Fingerprint", many, s("farmhash64"))
    case("Fingerprint", s([["a", "b"], ["c", "d"]]), s("farmhash64"))
    case("Fingerprint", i32([[1, 2, 3], [4, 5, 6]]), s("farmhash64"))
    case("Fingerprint", tf.constant([1.0, 2.0]), s("farmhash64"))
    case("Fingerprint", tf.constant(1.0), s("farmhash64"))
    case("Fingerprint", tf.constant([1.0, 2.0]), s("md5"))
    case("Fingerprint", tf.constant([1.0, 2.0]), s(["farmhash64"]))
    case("Fingerprint", tf.zeros([0, 3]), s("farmhash64"))
    for pad in (False, True):
        case("EncodeBase64", ALL, pad=pad)
        case("EncodeBase64", many, pad=pad)
        case("EncodeBase64", EMPTY2, pad=pad)
    for x in ("YQ", "YQ==", "YWI", "YWI=", "YWJj", "-_-_", "YQ=", "Y", "a+b/", "YW Jj", "====", "",
              "YWJjZA==", "YWJjZ", "YQ==YQ=="):
        case("DecodeBase64", s(x))


def joins():
    x = s([["a", "b", "c"], ["d", "e", "f"]])
    for axes in ([0], [1], [-1], [0, 1], [1, 0], [], [-2, -1]):
        for keep in (False, True):
            case("ReduceJoin", x, i32(axes), keep_dims=keep, separator="-")
    case("ReduceJoin", x, i32(0), separator="")
    case("ReduceJoin", s(np.arange(24).reshape(2, 3, 4).astype(str).tolist()), i32([2, 0]),
         separator=".")
    case("ReduceJoin", x, i32(2))
    case("ReduceJoin", x, i32(-3))
    case("ReduceJoin", x, i32([0, 0]))
    case("ReduceJoin", x, i32([[0]]))
    case("ReduceJoin", s("scalar"), i32([]))
    case("ReduceJoin", EMPTY2, i32(1), separator="x")
    case("ReduceJoin", EMPTY2, i32(0), separator="x")
    case("UnsortedSegmentJoin", s(["a", "b", "c", "d"]), i32([0, 1, 0, -1]), i32(3), separator=":")
    case("UnsortedSegmentJoin", s([["a", "b"], ["c", "d"]]), i64([1, 1]), i64(2), separator=":")
    case("UnsortedSegmentJoin", s([["a", "b"], ["c", "d"]]), i64([[1, 0], [1, 0]]), i32(2))
    case("UnsortedSegmentJoin", s(["a", "b"]), i32([0, 5]), i32(3))
    case("UnsortedSegmentJoin", s(["a", "b"]), i32([0, 1, 2]), i32(3))
    for t in (i32, i64):
        for widths in ([1], [2], [3], [2, 3], [5], []):
            for pad in (-1, 0, 1) if t is i64 else (1,):
                for short in (False, True):
                    case("StringNGrams", s(["aa", "bb", "cc", "dd", "e", "f"]), t([0, 4, 4, 6]),
                         outputs=2, separator="|", ngram_widths=widths, left_pad="L",
                         right_pad="R", pad_width=pad, preserve_short_sequences=short)
        case("StringNGrams", s(["a", "b", "c"]), t([0, 3]), outputs=2, separator=" ",
             ngram_widths=[2], left_pad="", right_pad="", pad_width=0,
             preserve_short_sequences=False)
        for bad in ([0, 2], [1, 3], [0, 3, 2], [0, 4], []):
            case("StringNGrams", s(["a", "b", "c"]), t(bad) if bad else tf.zeros([0], t(0).dtype),
                 outputs=2, separator=" ", ngram_widths=[2], left_pad="", right_pad="",
                 pad_width=0, preserve_short_sequences=False)


def unicode():
    case("UnicodeScript", i32([1, 31, 65, 0x3b1, 0x431, 0x4e00, 0x1F600, -1, 0x110000, 0xD800,
                               0x5d0, 0x641, 0xac00, 0x10ffff, 0x2028]))
    case("UnicodeScript", i32([[]]))
    texts = s(["héllo", "日本語", "", "a\u0001b\tc", b"bad\xff\xc3(\xe2\x82", "\U0001F600x", "tail"])
    for enc in ("UTF-8", "UTF-16-BE", "UTF-32-BE", "utf8", "US-ASCII", "ISO-8859-1", "bogus-enc"):
        src = texts
        if enc.startswith("UTF-16"):
            src = s(["hé😀".encode("utf-16-be"), b"\xd8\x00\x00a", b"\x00a\x00", b""])
        if enc.startswith("UTF-32"):
            src = s(["hé😀".encode("utf-32-be"), b"\x00\x11\x00\x00\x00\x00\x00a", b"\x00\x00a", b""])
        for err in ("replace", "ignore", "strict"):
            for ctl in (False, True):
                case("UnicodeDecode", src, outputs=2, input_encoding=enc, errors=err,
                     replace_control_characters=ctl, Tsplits=tf.int32)
                case("UnicodeDecodeWithOffsets", src, outputs=3, input_encoding=enc, errors=err,
                     replacement_char=32, replace_control_characters=ctl, Tsplits=tf.int64)
                for out in ("UTF-8", "UTF-16-BE" if ctl else "UTF-32-BE"):
                    case("UnicodeTranscode", src, input_encoding=enc, output_encoding=out,
                         errors=err, replacement_char=0xfffd if ctl else 63,
                         replace_control_characters=ctl)
    case("UnicodeDecode", s([["a", "bc"], ["", "d"]]), outputs=2, input_encoding="UTF-8", Tsplits=tf.int64)
    case("UnicodeDecode", s("scal"), outputs=2, input_encoding="UTF-8", Tsplits=tf.int64)
    case("UnicodeDecode", s("scal"), outputs=2, input_encoding="UTF-8", replacement_char=0x110000, Tsplits=tf.int64)
    case("UnicodeDecode", EMPTY, outputs=2, input_encoding="UTF-8", Tsplits=tf.int64)
    for t in (i32, i64):
        for enc in ("UTF-8", "UTF-16-BE", "UTF-32-BE"):
            for err in ("replace", "ignore", "strict"):
                case("UnicodeEncode", i32([104, 233, 0x1F600, 0x65e5]), t([0, 2, 2, 4]),
                     output_encoding=enc, errors=err)
                case("UnicodeEncode", i32([104, 0xD800, 0x110000, -1, 0x65e5]), t([0, 5]),
                     output_encoding=enc, errors=err, replacement_char=63)
        for bad in ([0, 1], [1, 4], [0, 3, 2, 4], [0, 5], [4], [0]):
            case("UnicodeEncode", i32([97, 98, 99, 100]), t(bad), output_encoding="UTF-8")


def regexes():
    patterns = [r"a", r"a*", r"(a|b)+c", r"[a-c]+", r"[^a-c]+", r"\d+", r"\w+", r"\s+", r"\D", r"\W",
                r"^a", r"a$", r"\bfoo\b", r"(?i)HELLO", r"h(.)l", r"(?P<n>l+)o", r"x{2,3}", r"x{2,}",
                r"x{3}", r"a.*b", r"a.*?b", r"(a)(b)?", r"\pL+", r"\p{Lu}", r"\PL", r"[[:alpha:]]+",
                r"[[:^digit:]]", r"é", r".", r"\x41", r"\x{65e5}", r"(?s).+", r"(?m)^b", r"\Aab",
                r"b\z", r"", r"|a", r"a||b", r"[a\]]", r"[]a]", r"[\d\s]+", r"\Qa.b\E", r"a+?", r"a??",
                r"(?:ab)+", r"(?i:A)b", r"\.", r"\t", r"\Bo", r"[^\n]+", r"[!-/:-@]", r"(?U)a+",
                r"\p{Greek}", r"[-a]", r"[a-]", r"a{,3}", r"a{", r"(a*)*", r"(a*)+",
                r"[[:word:]]+", r"\p{^Lu}", r"[\pN]+", r"\141", r"$", r"^", r"\b", r"(?i)straße",
                r"[!\x22#$%&()\*\+,-\./:;<=>?@\[\\\]^_`{|}~\x27]", r"(?i)[k-s]", r"[^[:punct:]]"]
    bad = [r"(", r")", r"[", r"a**", r"*a", r"[b-a]", r"\8", r"\pX", r"\p{Foo}", r"(?P<n", r"(?z)", r"a{1001}",
           r"\\"[:1], r"[[:foo:]]", r"(?P<n>a)(?P<n>b)", r"x{3,2}", r"\x{110000}", r"(?<=a)b", r"+", r"(?",
           r"[a-\d]", r"(?P=n)", r"a{500}{500}", r"\1", r"(a))", r"[[:alpha:]"]
    texts = s(["", "a", "abc", "aabbcc", "hello foo", "Hello 123", "xxxx", "aXbXb", "ab\nba", "A日é",
               "foo bar", "a.b", "]", "ΑΒγ", b"\xff\xc3", "STRASSE Straße", "a-b [c] 'q'"])
    for p in patterns:
        case("StaticRegexReplace", texts, pattern=p.replace('"', "."), rewrite="<\\0>")
        case("StaticRegexFullMatch", texts, pattern=p.replace('"', "."))
    for p in bad:
        case("RegexReplace", texts, s(p), s("x"))
        case("RegexFullMatch", s("a"), s(p))
        if isinstance(p, str):
            case("StaticRegexFullMatch", s("a"), pattern=p)
    for rw in (r"\1", r"\1-\2", r"\\", r"\3", r"x\9", "\\", r"\x", r"\0\0"):
        case("RegexReplace", s(["abab", "b"]), s("(a)(b)"), s(rw))
        case("RegexReplace", s(["abab", "b"]), s("(a)(b)"), s(rw), replace_global=False)
        case("StaticRegexReplace", s(["abab", "b"]), pattern="(a)(b)", rewrite=rw)
    case("RegexReplace", EMPTY2, s("a"), s("b"))
    case("RegexReplace", s(["a"]), s(["a"]), s("b"))
    case("RegexReplace", s(["a"]), s("a"), s(["b"]))
    case("RegexFullMatch", s(["a"]), s(["a"]))
    case("RegexFullMatch", s([["a", "b"], ["ab", ""]]), s("a?b?"))


def decoding():
    raw = bytes(range(1, 33))
    for t in (tf.half, tf.float32, tf.float64, tf.int32, tf.uint16, tf.uint8, tf.int16, tf.int8,
              tf.int64, tf.complex64, tf.complex128, tf.bool, tf.bfloat16):
        raw = bytes(range(1, 33)) if t != tf.bool else bytes([0, 1, 1, 0] * 8)  # ours are 0 or 1
        for little in (True, False):
            case("DecodeRaw", s([raw, raw[::-1]]), out_type=t, little_endian=little)
        case("DecodeRaw", s(raw[:5]), out_type=t)
        case("DecodeRaw", s([raw, raw[:16]]), out_type=t)
        case("DecodeRaw", EMPTY, out_type=t)
        case("DecodeRaw", s(["", ""]), out_type=t)
        if t in (tf.complex64, tf.complex128, tf.bool, tf.half):
            continue
        for n in (8, 16, 40, 3, 0, -8):
            for little in (True, False):
                case("DecodePaddedRaw", s([raw, raw[:5], b""]), i32(n), out_type=t,
                     little_endian=little)
    case("DecodePaddedRaw", s([raw]), i32([8]), out_type=tf.int32)
    f, i, l, d, t = (tf.constant([0.5]), i32([7]), i64([8]), tf.constant([0.25], tf.float64),
                     s(["def"]))
    rows = ["1.5,2,3,4.5,text", ",,,,", '2,3,4,5,"quo""ted, x"', " 1 , 2 , 3 , 4 , a "]
    case("DecodeCSV", s(rows[:3]), [f, i, l, d, t], outputs=5)
    case("DecodeCSV", s(rows), [f, i, l, d, t], outputs=5)
    case("DecodeCSV", s([[rows[0]], [rows[1]]]), [f, i, l, d, t], outputs=5)
    case("DecodeCSV", s("1\t2"), [f, i], outputs=2, field_delim="\t")
    case("DecodeCSV", s("1,NA"), [f, i], outputs=2, na_value="NA")
    case("DecodeCSV", s("a,b,c,d"), [t, t], outputs=2, select_cols=[1, 3])
    case("DecodeCSV", s('a,"b'), [t, t], outputs=2)
    case("DecodeCSV", s('a,"b"c'), [t, t], outputs=2)
    case("DecodeCSV", s('a,b"c'), [t, t], outputs=2)
    case("DecodeCSV", s('a,b"c'), [t, t], outputs=2, use_quote_delim=False)
    case("DecodeCSV", s("a"), [t, t], outputs=2)
    case("DecodeCSV", s("a,b,c"), [t, t], outputs=2)
    case("DecodeCSV", s("x,1"), [i, i], outputs=2)
    case("DecodeCSV", s("99999999999,1"), [i, i], outputs=2)
    case("DecodeCSV", s(",1"), [tf.zeros([0], tf.int32), i], outputs=2)
    case("DecodeCSV", s(",1"), [tf.zeros([0]), i], outputs=2)
    case("DecodeCSV", s("1,1"), [tf.zeros([2]), i], outputs=2)
    case("DecodeCSV", s("1,x"), [f, d], outputs=2)
    case("DecodeCSV", s("1,"), [f, tf.zeros([0], tf.string)], outputs=2)
    case("DecodeCSV", s("1,2"), [f, f], outputs=2, field_delim=",,")
    case("DecodeCSV", s("1,2\r\n"), [f, t], outputs=2)
    case("DecodeCSV", s("1,2\n3,4"), [f, t], outputs=2)
    case("DecodeCSV", EMPTY, [f, t], outputs=2)
    for v in (tf.constant(1.5), i32([[1, 2], [3, 4]]), s(["a", "bc"]), tf.zeros([0, 2]),
              tf.constant([True, False]), tf.constant([1 + 2j]), tf.constant([1, 2], tf.half),
              tf.constant([3], tf.uint8), tf.constant(4, tf.int64), tf.constant([1.0, 2], tf.bfloat16)):
        case("SerializeTensor", v)
        case("ParseTensor", tf.io.serialize_tensor(v), out_type=v.dtype)
    case("ParseTensor", tf.io.serialize_tensor(i32(3)), out_type=tf.float32)
    case("ParseTensor", s(["a"]), out_type=tf.float32)
    for args in ((s("ckpt"), i32(3), i32(10)), (s("a"), i32(0), i32(1))):
        case("ShardedFilename", *args)
        case("ShardedFilespec", args[0], args[2])


SECTIONS = [basic, numbers, hashes, joins, unicode, regexes, decoding]


def main():
    for section in SECTIONS:
        section()
    g.write_both("_string")


if __name__ == "__main__":
    main()
