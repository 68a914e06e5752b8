#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Writes bench/ops.txt's cases in every other element type that TensorFlow's kernels take, as lines of that format.

  tools/ops_types.py [--ops REGEX] [--types f16,i64,…] > /tmp/types.txt; TABLE=/tmp/types.txt bench/ops.sh build

The type that changes is that of the first argument, with all arguments and attributes that share it. Cases with nodes
of their own (lists, tables, control flow) stay away.
"""
import argparse
import os
import re

import fuzz_cases as cases

NAMES = {"f32": "float", "f64": "double", "f16": "half", "bf16": "bfloat16", "i8": "int8", "i16": "int16",
         "i32": "int32", "i64": "int64", "u8": "uint8", "u16": "uint16", "u32": "uint32", "u64": "uint64", "b": "bool",
         "str": "string", "c64": "complex64", "c128": "complex128"}
VALUE = re.compile(r"((?:#|var:|ref:)*)([a-z]+\d*)(\[[^\]]*\])(\S*)$")


def kinds(spec, words):
    """The type attribute of each argument, or None; "( … )" is one argument."""
    args, inside, found = iter(spec.inputs), False, []
    kind = None
    for w in words:
        if w in "()":
            inside = w == "("
            kind = next(args, (None, ""))[1] if inside else None
            found.append(None)
        else:
            k = kind if inside else next(args, (None, ""))[1]
            found.append(k.replace("ref ", "").split("*")[-1])
    return found


def others(line, spec, wanted):
    name, op, attrs, inputs, *rest = [f.strip() for f in line.split(";")]
    words = inputs.split()
    of = kinds(spec, words)
    first = next((k for k in of if k in spec.attrs), None)
    if not first or rest[1:]:
        return
    have = {VALUE.match(w).group(2) for w, k in zip(words, of) if k == first and VALUE.match(w)}
    if len(have) != 1:
        return
    old = have.pop()
    for new in wanted:
        if new != old and NAMES[new] in spec.types(first):
            changed = [VALUE.sub(lambda m: in_type(m, new), w) if k == first or w.startswith("var:" + old + "[") else w
                       for w, k in zip(words, of)]  # a variable's type is not its handle's
            title = name.replace(old + " to", new + " to") if op == "Cast" else re.sub(r" (%s)$" % "|".join(NAMES), "", name) + " " + new
            yield "; ".join([title, op, re.sub(r"\b%s=t:%s\b" % (first, old), "%s=t:%s" % (first, new), attrs),
                             " ".join(changed)] + rest)


def in_type(m, new):
    """Millions of strings are too many, and empty ones say nothing."""
    if new == "str":
        return m.group(1) + new + re.sub(r"\b(4|16)000000", "200000", m.group(3)) + "=words"
    return m.group(1) + new + m.group(3) + m.group(4)


def main():
    p = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    p.add_argument("--ops", default=".*")
    p.add_argument("--types", default=",".join(NAMES))
    options = p.parse_args()
    table = cases.specs()
    with open(os.path.join(cases.ROOT, "bench/ops.txt"), encoding="utf-8") as f:
        lines = [l.rstrip("\n") for l in f if l.strip() and not l.startswith("#")]
    seen = {l.split(";")[0].strip() for l in lines}
    for line in lines:
        op = line.split(";")[1].strip()
        if op in table and re.fullmatch(options.ops, op):
            for other in others(line, table[op], options.types.split(",")):
                name = other.split(";")[0]
                if name not in seen:
                    seen.add(name)
                    print(other)


if __name__ == "__main__":
    main()
