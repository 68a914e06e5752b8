#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Calls every op in every combination of element types that TensorFlow's CPU kernels register.

  /opt/tfvenv/bin/python tools/sweep_types.py [--ops REGEX] [--tries N] [--save FILE]

tools/check_op_dtypes.py asks that each type of an attribute is shown once; kernels are registered for
combinations (values of half with indices of int16). For each set of constraints in src/ops/opdefs.tsv a
golden case of the op is cast to the set and asked of both libraries (tools/fuzz_driver.py). Told are the
sets that TensorFlow runs and Ferry does not, results that differ, and sets that no case could be made for.
"""
import argparse
import itertools
import os
import re
import sys

import numpy as np

import fuzz_cases as cases
import fuzz_ops as fuzz


def combinations(spec):
    """Each set of types a kernel is registered for, attributes without a constraint left out."""
    seen = set()
    for kernel in spec.kernels:
        names = [n for n in kernel if n in spec.attrs and spec.attrs[n][0] == "type"]
        for types in itertools.product(*[kernel[n] for n in names]):
            allowed = all(not spec.attrs[n][1] or t in spec.attrs[n][1] for n, t in zip(names, types))
            key = tuple(sorted(zip(names, types)))
            if allowed and key and key not in seen:
                seen.add(key)
                yield dict(key)


def cast_to(r, case, spec, types):
    """The case with its type attributes set; None where a type has no bytes (variants, resources)."""
    case = dict(case, attrs=dict(case["attrs"]), inputs=list(case["inputs"]))
    for name, t in types.items():
        case["attrs"][name] = ("type", t)
    for i, (_, kind) in enumerate(spec.arg_of(case)):
        new = types.get(kind)
        if i < case["vars"]:
            new = types.get("T") or types.get("dtype")
        if not new:
            continue
        if new not in cases.NUMPY and new != "string":
            return None
        t = case["inputs"][i]
        case["inputs"][i] = cases.from_array(new, cases.cast_array(r, cases.to_array(t), t[0], new))
    return case


def distance(case, types):
    return sum(case["attrs"].get(n, (0, ""))[1] != t for n, t in types.items())


def main():
    p = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    p.add_argument("--ops", default=".*")
    p.add_argument("--tries", type=int, default=3, help="cases for each combination")
    p.add_argument("--save", help="append each kind of difference here")
    options = p.parse_args()
    for name, value in (("patience", 60), ("text", False), ("goldens", None)):
        setattr(options, name, value)
    fuzzer = fuzz.Fuzzer(options)
    fuzzer.table = cases.specs()
    with open(os.path.join(fuzz.HERE, "../src/ops/list.inc"), encoding="utf-8") as f:
        ours = re.findall(r"^FY_OP_ENTRY\((\w+)\)", f.read(), re.M)
    known, r = cases.corpus(fuzzer.table), np.random.RandomState(1)
    total, unmade, never = 0, [], []
    for op in ours:
        spec = fuzzer.table.get(op)
        if spec is None or not re.fullmatch(options.ops, op):
            continue
        good = [c for c in known.get(op, []) if not c["fails"]]
        for types in combinations(spec):
            total += 1
            ran = made = 0
            for case in sorted(good, key=lambda c: distance(c, types))[:options.tries]:
                trial = cast_to(r, {k: case[k] for k in ("op", "attrs", "inputs", "vars")}, spec, types)
                if trial is None:
                    continue
                made += 1
                before = fuzzer.good[op]
                fuzzer.look(trial)
                ran += fuzzer.good[op] > before
            (unmade if not made else [] if ran else never).append((op, types))
    for what, found in (("no case could be made", unmade), ("no case succeeds in TensorFlow", never)):
        print("\n%s: %d" % (what, len(found)))
        for op, types in found:
            print("  %s %s" % (op, " ".join("%s=%s" % x for x in sorted(types.items()))))
    print("\n%d combinations, %d calls, %d kinds of difference" % (total, sum(fuzzer.calls.values()), len(fuzzer.kinds)))
    for child in (fuzzer.tf, fuzzer.ferry):
        child.stop()
    return 1 if fuzzer.kinds else 0


if __name__ == "__main__":
    sys.exit(main())
