#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Asks what tools/record_calls.py wrote down of TensorFlow's and of Ferry's C API, and tells where the answers differ.

  python tools/replay_calls.py [--text] [--only REGEX] [--save FILE] [--keep FILE] [--patience N] RECORD ...

Needs a Python with TensorFlow 2.21 and a built build/lib/libtensorflow.so.2 (FERRY_LIB for another). Compared are the status code and,
on success, element types, shapes and values, with the tolerances of tools/fuzz_ops.py; in graphs a float may be off by as much as the
order of its additions explains. TensorFlow is asked a second time before a difference is told: what differs from itself is left out.
Differences are grouped by kind, the most frequent last, then come the ops that Ferry lacks, with how often they were asked for.
--only replays cases whose op (or "session", "function NAME") matches. --save writes eager differences as golden cases,
--keep the cases that differ as a record. --text compares error messages, too.
"""
import argparse
import collections
import pickle
import re
import sys

import numpy as np

import fuzz_cases as cases
import fuzz_ops as fuzz

MORE = re.compile(r"No OpKernel was registered|do(es)? not (yet )?support")  # what TensorFlow says that it cannot do
TOLERANCE = {"half": 3e-2, "bfloat16": 6e-2, "float": 1e-4, "double": 1e-8, "complex64": 1e-4, "complex128": 1e-8}
FLOOR = {"half": 1e-1, "bfloat16": 1e-1}


def cases_of(path):
    with open(path, "rb") as f:
        while True:
            try:
                yield pickle.load(f)
            except (EOFError, pickle.UnpicklingError):
                return


def off(a, b):
    """Whether a tensor of a graph is another one: None, or how."""
    if a[:2] != b[:2]:
        return ("form", "%s%s for %s%s" % (b[0], list(b[1]), a[0], list(a[1])))
    if a[2] == b[2] or a[2] is None:
        return None
    x, y = cases.to_array(a).reshape(-1), cases.to_array(b).reshape(-1)
    if a[0] not in TOLERANCE:
        k = [j for j in range(x.size) if x[j] != y[j]]
        return ("value", "%s [%d]: %r for %r (%d of %d)" % (a[0], k[0], y[k[0]], x[k[0]], len(k), x.size)) if k else None
    with np.errstate(all="ignore"):
        x, y = (v.astype(np.complex128 if a[0] in cases.COMPLEX else np.float64) for v in (x, y))
        scale = np.max(np.abs(x[np.isfinite(x)]), initial=0) + FLOOR.get(a[0], 1e-2)  # sums that cancel are never exact
        good = (x == y) | (np.isnan(x) & np.isnan(y)) | (np.abs(x - y) <= TOLERANCE[a[0]] * scale)
    k = np.nonzero(~good)[0]
    return ("value", "%s [%d]: %r for %r (%d of %d)" % (a[0], k[0], y[k[0]], x[k[0]], k.size, x.size)) if k.size else None


def differ_run(a, b):
    if a[0] != "ok" or b[0] != "ok" or len(a[1]) != len(b[1]):
        return fuzz.differ({"op": "", "inputs": []}, a, b)
    for k, (x, y) in enumerate(zip(a[1], b[1])):
        found = off(x, y)
        if found:
            return (found[0], "result %d: %s" % (k, found[1]))
    return None


def differ(case, want, got):
    """None, or (what, kind, detail)."""
    mode = case["mode"]
    what = case.get("what") or case["op"]
    if mode == "eager" or want[0] != got[0] or want[0] not in ("steps", "runs"):
        found = fuzz.differ(case, want, got)
        return (what,) + found if found else None
    for i, (a, b) in enumerate(zip(want[1], got[1])):
        found = differ_run(a, b) if mode == "runs" else fuzz.differ({"op": case["steps"][i][0], "inputs": []}, a, b)
        if found and found[0] != "text":
            return (what if mode == "runs" else case["steps"][i][0], found[0], "at %d: %s" % (i, found[1]))
        if found and mode == "runs" and a[0] == "error" and i == 0:
            return None
        if found:
            return (what, ) + found
    return None


def kind_of(found):
    """Differences with the same words are one kind."""
    what, kind, detail = found
    what = re.sub(r"^function .*", "function", what)
    words = "" if kind in ("value", "form") and what not in ("function", "session") else re.sub(
        r"'[^']*'|\{\{[^}]*\}\}|\"[^\"]*\"|\[[^\]]*\]|-?[\d.]+(e-?\d+)?", "#", detail)[:160]
    return (what, kind, words)


class Replay:
    def __init__(self, options):
        self.options = options
        self.tf, self.ferry = (fuzz.Child(w, "replay_driver.py") for w in ("tensorflow", "ferry"))
        self.kinds, self.lacking = collections.OrderedDict(), collections.Counter()
        self.count, self.unsure, self.known, self.more = collections.Counter(), 0, 0, 0
        self.keep = open(options.keep, "wb") if options.keep else None
        self.save = open(options.save, "w", encoding="latin-1") if options.save else None

    def ask(self, case):
        self.tf.send(case)
        self.ferry.send(case)
        return self.tf.receive(self.options.patience), self.ferry.receive(self.options.patience)

    def stop(self):
        self.tf.stop()
        self.ferry.stop()

    def one(self, case):
        self.count[case["mode"]] += 1
        for _ in range(2):  # the second time in new processes: seeded generators start anew
            want, got = self.ask(case)
            found = differ(case, want, got)
            if found is None or (found[1] == "text" and not self.options.text):
                return
            self.stop()
        if want[0] in ("crash", "hang") or differ(case, want, self.ask(case)[0]):
            self.unsure += 1
            return
        lacks = re.search(r"got error \d+ .*?(?:No OpKernel was registered to support Op '(\w+)'|Could not find device for node: .*?\}\} = (\w+))", found[2])
        if lacks:
            self.lacking[lacks.group(1) or lacks.group(2)] += 1
            return
        if found[1] == "ok for error" and MORE.search(found[2]):
            self.more += 1
            return
        if case["mode"] == "eager" and any(re.fullmatch(op, case["op"]) and (re.fullmatch(k, found[1]) or re.search(k, found[2]))
                                           for op, k, _ in fuzz.KNOWN):
            self.known += 1
            return
        kind = kind_of(found)
        if kind not in self.kinds:
            self.kinds[kind] = [0, found, case]
            print("DIFFERENT %s %s: %s" % (found[0], found[1], found[2][:500]), flush=True)
        self.kinds[kind][0] += 1
        if self.kinds[kind][0] <= 3 and self.keep:
            pickle.dump(case, self.keep)
        if self.kinds[kind][0] == 1 and self.save and case["mode"] == "eager":
            self.save.write(fuzz.text_of(case, want))

    def tell(self):
        for kind, (n, found, case) in sorted(self.kinds.items(), key=lambda k: k[1][0]):
            print("%5d %s" % (n, " | ".join(kind)))
        for op, n in self.lacking.most_common():
            print("lacks %5d %s" % (n, op))
        print("%s cases, %d kinds of difference; %d known, %d that TensorFlow has no kernel for, %d that it answers differently each time, "
              "or not at all" % (dict(self.count), len(self.kinds), self.known, self.more, self.unsure))


def main():
    p = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    p.add_argument("--text", action="store_true")
    p.add_argument("--only", default="")
    p.add_argument("--save")
    p.add_argument("--keep")
    p.add_argument("--patience", type=float, default=60)
    p.add_argument("records", nargs="+")
    options = p.parse_args()
    replay = Replay(options)
    for path in options.records:
        for case in cases_of(path):
            if re.match(options.only, case.get("what") or case["op"]):
                replay.one(case)
    replay.stop()
    replay.tell()
    return 1 if replay.kinds else 0


if __name__ == "__main__":
    sys.exit(main())
