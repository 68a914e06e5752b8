#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Times ops at random, on medium and large tensors, in TensorFlow and in Ferry, and tells where Ferry is slower.

  /opt/tfvenv/bin/python tools/time_ops.py [--ops REGEX] [--seconds N] [--seed N] [--below R] [--per-op N] [--save FILE]

Cases come from tools/fuzz_cases.py (golden cases with large dims, in any element type that a kernel takes).
Each call is made eagerly in both libraries, a process each, in turns; the least time of each counts. Where
TensorFlow's time over Ferry's is below R the case is timed again, longer, before it is told, and written to
--save as a case that tools/fuzz_ops.py --replay reads. --replay FILE times such cases.
"""
import argparse
import os
import pickle
import re
import struct
import subprocess
import sys
import time

import numpy as np

import fuzz_cases as cases
import fuzz_driver as driver
import fuzz_ops as fuzz


def serve(which, cpu):
    """Like fuzz_driver.serve(), with the least time of a call as the answer."""
    answers = os.fdopen(os.dup(1), "wb")
    os.dup2(os.open(os.devnull, os.O_WRONLY), 1)
    os.dup2(1, 2)
    api = driver.Api(which)
    clock = time.process_time if cpu else time.perf_counter
    while True:
        head = sys.stdin.buffer.read(4)
        if len(head) < 4:
            break
        case, budget = pickle.loads(sys.stdin.buffer.read(struct.unpack("<I", head)[0]))
        handles = []
        try:
            least, end, runs = 1e9, time.perf_counter() + budget, 0
            handles = [api.handle(t) for t in case["inputs"]]
            while runs < 2 or (time.perf_counter() < end and runs < 400):
                start = clock()
                out = api.execute(case["op"], case["attrs"], handles)
                for h in out:
                    api.lib.TFE_DeleteTensorHandle(h)
                least, runs = min(least, clock() - start), runs + 1
            reply = least
        except driver.Failed as e:
            reply = e.text
        for h in handles:
            api.lib.TFE_DeleteTensorHandle(h)
        reply = pickle.dumps(reply)
        answers.write(struct.pack("<I", len(reply)) + reply)
        answers.flush()


class Timer(fuzz.Child):
    def start(self):
        if self.proc is None:
            self.proc = subprocess.Popen([sys.executable, os.path.abspath(__file__), "--serve", self.which] + sys.argv[1:],
                                         stdin=subprocess.PIPE, stdout=subprocess.PIPE)

    def time(self, case, budget):
        self.send((case, budget))
        return self.receive(120)


def compare(tf, ferry, case, rounds, budget):
    """The least time of each, or None if one of the two fails."""
    want = got = 1e9
    for _ in range(rounds):
        a = tf.time(case, budget)
        if not isinstance(a, float):
            return None
        b = ferry.time(case, budget)
        if not isinstance(b, float):
            return None
        want, got = min(want, a), min(got, b)
    return want, got


def grow(r, case, spec):
    """A mutation with more elements than the case has."""
    trial = {"op": case["op"], "attrs": dict(case["attrs"]), "inputs": list(case["inputs"]), "vars": 0}
    for _ in range(r.randint(1, 5)):
        again = dict(trial, attrs=dict(trial["attrs"]), inputs=list(trial["inputs"]))
        if (cases.change_type if r.rand() < .3 else cases.rename_dim)(r, again, spec):
            trial = again
    return cases.reseed(r, trial, spec)


def sizes_of(case):
    return sum(int(np.prod(t[1])) if t[1] else 1 for t in case["inputs"])


def describe(case):
    return " ".join("%s%s" % (t[0], list(t[1])) for t in case["inputs"]) + " " + " ".join(
        "%s=%s" % (k, cases.attr_text(*v)) for k, v in sorted(case["attrs"].items()) if v[0] != "type")


def main():
    p = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    p.add_argument("--ops", default=".*")
    p.add_argument("--seconds", type=float, default=600)
    p.add_argument("--seed", type=int, default=1)
    p.add_argument("--below", type=float, default=.7)
    p.add_argument("--per-op", type=int, default=6, help="cases of each op")
    p.add_argument("--cpu", action="store_true", help="processor time of all threads, for a machine that others use")
    p.add_argument("--save")
    p.add_argument("--replay")
    p.add_argument("--serve", help=argparse.SUPPRESS)
    options = p.parse_args()
    if options.serve:
        return serve(options.serve, options.cpu)
    table, r = cases.specs(), np.random.RandomState(options.seed)
    known = cases.corpus(table)
    cases.large()
    tf, ferry = Timer("tensorflow"), Timer("ferry")
    if options.replay:
        for case in fuzz.replay(options.replay, table):
            both = compare(tf, ferry, case, 5, .05)
            print("%-28s %s %s" % (case["op"], "%9.1f %9.1f us %5.2f" % (both[0] * 1e6, both[1] * 1e6, both[0] / both[1]) if both else "fails",
                                   describe(case)[:150]), flush=True)
        return 0
    ops = [op for op in known if re.fullmatch(options.ops, op) and not any(re.fullmatch(s, op) for s, _ in fuzz.SKIPPED)]
    r.shuffle(ops)
    end, timed, slow = time.time() + options.seconds, 0, []
    for op in ops:
        good = [c for c in known[op] if not c["fails"] and not c["vars"]]
        done = tries = 0
        while good and done < options.per_op and tries < 12 * options.per_op and time.time() < end:
            tries += 1
            case = grow(r, good[r.randint(len(good))], table[op])
            if sizes_of(case) < 3000 or table[op].groups(case) is None:
                continue
            both = compare(tf, ferry, case, 1, .01)
            if both is None:
                continue
            done += 1
            timed += 1
            if both[0] < options.below * both[1] and both[1] > 20e-6:
                both = compare(tf, ferry, case, 4, .05)
                if both and both[0] < options.below * both[1]:
                    slow.append((both[0] / both[1], op))
                    print("%5.2f %-26s %9.1f for %9.1f us  %s" % (both[0] / both[1], op, both[1] * 1e6, both[0] * 1e6,
                                                                  describe(case)[:170]), flush=True)
                    if options.save:
                        with open(options.save, "a", encoding="utf-8") as f:
                            f.write(fuzz.text_of(case, ("crash", "not kept")))
    print("%d calls of %d ops timed, %d slower" % (timed, len(ops), len(slow)))
    tf.stop()
    ferry.stop()
    return 0


if __name__ == "__main__":
    sys.exit(main())
