#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Writes src/ops/charset_data.inc: what the upper half of each single-byte encoding means, as the
real TensorFlow decodes it, and the names it goes by (lower case, without separators).

Run with a Python that has TensorFlow:  /opt/tfvenv/bin/python tools/gen_charset_data.py
"""
import os
os.environ["TF_CPP_MIN_LOG_LEVEL"] = "3"
import tensorflow as tf

NAMES = {"ISO-8859-1": ["latin1", "l1", "iso88591", "88591", "ibm819", "cp819", "isoir100"],
         "ISO-8859-2": ["latin2", "l2", "iso88592", "88592", "isoir101"],
         "ISO-8859-3": ["latin3", "l3", "iso88593", "88593", "isoir109"],
         "ISO-8859-4": ["latin4", "l4", "iso88594", "88594", "isoir110"],
         "ISO-8859-5": ["cyrillic", "iso88595", "88595", "isoir144"],
         "ISO-8859-6": ["arabic", "iso88596", "88596", "isoir127"],
         "ISO-8859-7": ["greek", "iso88597", "88597", "isoir126", "greek8"],
         "ISO-8859-8": ["hebrew", "iso88598", "88598", "isoir138"],
         "ISO-8859-9": ["latin5", "l5", "iso88599", "88599", "isoir148"],
         "ISO-8859-10": ["latin6", "l6", "iso885910", "isoir157"],
         "ISO-8859-11": ["iso885911"],
         "ISO-8859-13": ["iso885913"],
         "ISO-8859-14": ["latin8", "l8", "iso885914", "isoceltic", "isoir199"],
         "ISO-8859-15": ["latin9", "l9", "iso885915"],
         "windows-1250": ["windows1250", "cp1250"], "windows-1251": ["windows1251", "cp1251"],
         "windows-1252": ["windows1252", "cp1252"], "windows-1253": ["windows1253", "cp1253"],
         "windows-1254": ["windows1254", "cp1254"], "windows-1255": ["windows1255", "cp1255"],
         "windows-1256": ["windows1256", "cp1256"], "windows-1257": ["windows1257", "cp1257"],
         "windows-1258": ["windows1258", "cp1258"], "windows-874": ["windows874"],
         "KOI8-R": ["koi8r", "koi8"], "KOI8-U": ["koi8u"], "TIS-620": ["tis620"],
         "macintosh": ["macintosh", "mac", "macroman"], "x-mac-cyrillic": ["xmaccyrillic"],
         "IBM437": ["ibm437", "cp437", "437"], "IBM850": ["ibm850", "cp850", "850"],
         "IBM852": ["ibm852", "cp852", "852"], "IBM866": ["ibm866", "cp866", "866"]}


def decode(name, byte):
    v = tf.raw_ops.UnicodeDecode(input=[bytes([byte])], input_encoding=name).char_values.numpy()
    return int(v[0]) if len(v) else 0xFFFD


def main():
    here = os.path.dirname(os.path.abspath(__file__))
    with open(os.path.join(here, "../src/ops/charset_data.inc"), "w", encoding="utf-8") as f:
        f.write("// Made by tools/gen_charset_data.py with TensorFlow %s: X(names, IBM's order of "
                "control characters, upper half).\n" % tf.__version__)
        for name, aliases in NAMES.items():
            known = []
            for a in aliases:
                try:
                    decode(a, 65)
                    known.append(a)
                except tf.errors.InvalidArgumentError:
                    pass
            upper = [decode(name, b) for b in range(128, 256)]
            ibm = decode(name, 0x7F) != 0x7F
            f.write('CHARSET("%s", %s,\n' % (" ".join(known), "true" if ibm else "false"))
            for k in range(0, 128, 12):
                f.write("        " + ", ".join("0x%x" % c for c in upper[k:k + 12]) +
                        ("," if k + 12 < 128 else ")") + "\n")


if __name__ == "__main__":
    main()
