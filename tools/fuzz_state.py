#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Random calls on tables, queues, variables, generators, lists and arrays, in TensorFlow and in Ferry.

  /opt/tfvenv/bin/python tools/fuzz_state.py [--family NAME] [--seconds N] [--seed N]

What tools/fuzz_ops.py cannot ask: calls that need what an earlier one left. A case is a dozen eager calls on
one object; after each the two answers are compared. Nothing is called that would wait.
"""
import argparse
import collections
import sys
import time

import numpy as np

import fuzz_cases as cases
import fuzz_ops as fuzz

KEYS = ["int64", "string", "int32"]
VALUES = ["int64", "float", "string", "bool", "int32", "double"]
SERIAL = [0]


def const(r, name, dims, low=-3, high=4):
    if name == "string":
        pool = [b"", b"a", b"b", b"longer than it was", b"\xff\x00", b"1"]
        return ("string", tuple(dims), [pool[r.randint(len(pool))] for _ in range(int(np.prod(dims)))])
    if name == "bool":
        return cases.from_array(name, r.uniform(size=dims) < np.full(dims, .5))
    return cases.from_array(name, r.randint(low, high, dims))


def dims(r, most=3):
    return [int(r.randint(0, 4)) for _ in range(r.randint(0, most))]


def name():
    SERIAL[0] += 1
    return ("string", b"n%d" % SERIAL[0])


def T(v):
    return ("type", v)


def tables(r):
    key, value = str(r.choice(KEYS)), str(r.choice(VALUES))
    kind = r.randint(4)
    shape = dims(r, 2) if kind > 1 else []
    attrs = {"key_dtype": T(key), "value_dtype": T(value), "shared_name": name()}
    if kind > 1:
        attrs["value_shape"] = ("shape", shape)
    if kind == 0:
        steps = [("HashTableV2", attrs, [])]
    elif kind == 1:
        steps = [("MutableHashTableV2", attrs, [])]
    elif kind == 2:
        steps = [("MutableHashTableOfTensorsV2", attrs, [])]
    else:
        attrs["initial_num_buckets"] = ("int", int(r.choice([1, 4, 8, 7, 0])))
        attrs["max_load_factor"] = ("float", float(r.choice([.8, .5, 0., 1.])))
        steps = [("MutableDenseHashTableV2", attrs, [const(r, key, [], -9, -7), const(r, key, [], -8, -6)])]
    table = ("from", 0, 0)
    for _ in range(r.randint(3, 10)):
        k = key if r.rand() < .95 else str(r.choice(KEYS))
        v = value if r.rand() < .95 else str(r.choice(VALUES))
        n = [int(r.randint(0, 5))] if r.rand() < .85 else dims(r)
        row = n + (shape if r.rand() < .9 else dims(r, 2))
        both = {"Tin": T(k), "Tout": T(v)}
        what = r.randint(7)
        if what == 0:
            default = shape if r.rand() < .8 else row
            steps.append(("LookupTableFindV2", both, [table, const(r, k, n), const(r, v, default)]))
        elif what == 1:
            steps.append(("LookupTableSizeV2", {}, [table]))
        elif what == 2:
            op = "InitializeTableV2" if kind == 0 and r.rand() < .8 else "LookupTableImportV2"
            both = {"Tkey": T(k), "Tval": T(v)} if op == "InitializeTableV2" else both
            steps.append((op, both, [table, const(r, k, n), const(r, v, row)]))
        elif what == 3:
            steps.append(("LookupTableRemoveV2", {"Tin": T(k)}, [table, const(r, k, n)]))
        elif what == 4 and r.rand() < .1:  # the order is TensorFlow's hash table's
            steps.append(("LookupTableExportV2", {"Tkeys": T(k), "Tvalues": T(v)}, [table]))
        else:
            steps.append(("LookupTableInsertV2", both, [table, const(r, k, n), const(r, v, row)]))
    return steps


def variables(r):
    types = ["float", "int32", "int64", "double", "bool", "string", "half", "complex64", "uint8"]
    t = str(r.choice(types))
    shape = dims(r)
    said = ("shape", shape if r.rand() < .7 else None if r.rand() < .5 else [-1] * len(shape))
    steps = [("VarHandleOp", {"dtype": T(t), "shape": said, "shared_name": name()}, [])]
    var = ("from", 0, 0)
    for _ in range(r.randint(3, 11)):
        d = t if r.rand() < .93 else str(r.choice(types))
        s = shape if r.rand() < .8 else dims(r)
        index = str(r.choice(["int32", "int64"]))
        n = [int(r.randint(0, 4))]
        what = r.randint(12)
        if what < 2:
            steps.append(("AssignVariableOp", {"dtype": T(d)}, [var, const(r, d, s)]))
        elif what == 2:
            steps.append(("ReadVariableOp", {"dtype": T(d)}, [var]))
        elif what == 3:
            steps.append((str(r.choice(["AssignAddVariableOp", "AssignSubVariableOp"])), {"dtype": T(d)}, [var, const(r, d, s)]))
        elif what == 4:
            steps.append(("VarIsInitializedOp", {}, [var]))
        elif what == 5:
            steps.append(("VariableShape", {"out_type": T(index)}, [var]))
        elif what == 6:
            steps.append(("DestroyResourceOp", {"ignore_lookup_error": ("bool", bool(r.randint(2)))}, [var]))
        elif what == 7:
            steps.append(("ResourceGather", {"dtype": T(d), "Tindices": T(index), "batch_dims": ("int", 0)},
                          [var, const(r, index, dims(r), 0, 3)]))
        elif what == 8:
            op = str(r.choice(["Update", "Add", "Sub", "Mul", "Div", "Min", "Max"]))
            row = n + s[1:] if r.rand() < .8 else dims(r)
            steps.append(("ResourceScatter" + op, {"dtype": T(d), "Tindices": T(index)},
                          [var, const(r, index, n, 0, 3), const(r, d, row if r.rand() < .8 else [], 1, 4)]))
        elif what == 9:
            op = str(r.choice(["Update", "Add", "Sub", "Min", "Max"]))
            depth = int(r.randint(0, 3))
            steps.append(("ResourceScatterNd" + op, {"T": T(d), "Tindices": T(index)},
                          [var, const(r, index, n + [depth], 0, 3), const(r, d, n + s[depth:], 1, 4)]))
        elif what == 10:
            k = [len(s)] if r.rand() < .9 else [1]
            steps.append(("ResourceStridedSliceAssign", {"T": T(d), "Index": T(index), "shrink_axis_mask": ("int", int(r.choice([0, 0, 1]))),
                                                         "end_mask": ("int", int(r.choice([0, 3])))},
                          [var, const(r, index, k, 0, 2), const(r, index, k, 1, 4), const(r, index, k, 1, 2),
                           const(r, d, s if r.rand() < .5 else [])]))
        else:
            steps.append(("ResourceCountUpTo", {"T": T(d), "limit": ("int", int(r.randint(0, 9)))}, [var]))
    return steps


def generators(r):
    t = "int64" if r.rand() < .95 else "uint64"
    size = [3] if r.rand() < .9 else [int(r.randint(0, 5))]
    steps = [("VarHandleOp", {"dtype": T(t), "shape": ("shape", size), "shared_name": name()}, [])]
    var = ("from", 0, 0)
    if r.rand() < .95:
        steps.append(("AssignVariableOp", {"dtype": T(t)}, [var, const(r, t, size, -5 if t == "int64" else 0, 1000)]))
    alg = cases.from_array("int64", np.array(int(r.choice([1, 1, 1, 1, 2, 3, 0]))))
    for _ in range(r.randint(2, 7)):
        out = str(r.choice(["float", "double", "half", "bfloat16"]))
        whole = str(r.choice(["int32", "int64", "uint32", "uint64"]))
        shape = const(r, "int32", [int(r.randint(0, 3))], 0 if r.rand() < .95 else -1, 6)
        what = r.randint(7)
        attrs = {"dtype": T(out), "shape_dtype": T("int32")}
        if what < 3:
            op = ["StatefulStandardNormalV2", "StatefulUniform", "StatefulTruncatedNormal"][what]
            steps.append((op, attrs, [var, alg, shape]))
        elif what == 3:
            steps.append(("StatefulUniformInt", dict(attrs, dtype=T(whole)), [var, alg, shape, const(r, whole, [], 0, 3), const(r, whole, [], 2, 9)]))
        elif what == 4:
            steps.append(("StatefulUniformFullInt", dict(attrs, dtype=T(whole)), [var, alg, shape]))
        elif what == 5:
            steps.append(("RngSkip", {}, [var, alg, const(r, "int64", [], -2 if r.rand() < .1 else 0, 99)]))
        else:
            algorithm = cases.from_array("int32", cases.to_array(alg).astype(np.int32))
            steps.append(("RngReadAndSkip", {}, [var, algorithm, cases.from_array("uint64", np.array(r.randint(0, 99)))]))
    steps.append(("ReadVariableOp", {"dtype": T(t)}, [var]))
    return steps


def queues(r):
    types = [str(r.choice(["float", "int64", "string", "int32"])) for _ in range(r.randint(1, 3))]
    shapes = [dims(r, 2) for _ in types]
    known = r.rand() < .7
    kind = str(r.choice(["FIFOQueueV2", "PaddingFIFOQueueV2", "RandomShuffleQueueV2", "PriorityQueueV2"]))
    capacity = int(r.choice([3, 5, 100]))
    attrs = {"component_types": ("list(type)", types), "capacity": ("int", capacity), "shared_name": name()}
    said = shapes if known or kind[:2] == "Pr" else []
    if kind.startswith("Padding"):
        said = [[-1 if r.rand() < .5 else d for d in s] for s in shapes]
    attrs["shapes"] = ("list(shape)", said)
    full = list(types)
    if kind.startswith("Priority"):
        full = ["int64"] + types
    if kind.startswith("Random"):
        attrs.update(min_after_dequeue=("int", 0), seed=("int", 3), seed2=("int", 4))
    steps, size, closed = [(kind, attrs, [])], 0, False
    q = ("from", 0, 0)

    def element(many):
        own = ([[]] if kind.startswith("Priority") else []) + [s if r.rand() < .93 else dims(r, 2) for s in shapes]
        return [const(r, t, ([many] if many is not None else []) + s) for t, s in zip(full, own)]

    for _ in range(r.randint(3, 10)):
        what = r.randint(8)
        if what < 2 and size < capacity:
            steps.append(("QueueEnqueueV2", {"Tcomponents": ("list(type)", full)}, [q] + element(None)))
            size += 1
        elif what < 4:
            n = int(r.randint(0, 4))
            if size + n > capacity:
                continue
            steps.append(("QueueEnqueueManyV2", {"Tcomponents": ("list(type)", full)}, [q] + element(n)))
            size += n
        elif what == 4:
            steps.append(("QueueSizeV2", {}, [q]))
        elif what == 5 and r.rand() < .3:
            steps.append(("QueueCloseV2", {"cancel_pending_enqueues": ("bool", bool(r.randint(2)))}, [q]))
            closed = True
        elif what == 6:
            steps.append(("QueueIsClosedV2", {}, [q]))
        elif closed:  # of an open one an attempt too many would wait, and an enqueue may have failed
            out = {"component_types": ("list(type)", full)}
            if r.rand() < .5:
                steps.append(("QueueDequeueV2", out, [q]))
            else:
                op = str(r.choice(["QueueDequeueManyV2", "QueueDequeueUpToV2"]))
                steps.append((op, out, [q, cases.from_array("int32", np.array(int(r.randint(-1, 4))))]))
    return steps


def arrays(r):
    t = str(r.choice(["float", "int32", "string", "bool"]))
    shape = dims(r, 2)
    said = ("shape", None if r.rand() < .5 else shape if r.rand() < .8 else [-1] * len(shape))
    flags = {k: ("bool", bool(r.randint(2))) for k in ("dynamic_size", "clear_after_read", "identical_element_shapes")}
    steps = [("TensorArrayV3", dict(flags, dtype=T(t), element_shape=said, tensor_array_name=name()),
              [cases.from_array("int32", np.array(int(r.randint(0, 5))))])]
    h, flow = ("from", 0, 0), ("from", 0, 1)
    at = lambda: cases.from_array("int32", np.array(int(r.randint(-1, 5))))
    for _ in range(r.randint(3, 12)):
        s = shape if r.rand() < .9 else dims(r, 2)
        d = t if r.rand() < .95 else "float"
        n = int(r.randint(0, 4))
        what = r.randint(9)
        if what < 3:
            steps.append(("TensorArrayWriteV3", {"T": T(d)}, [h, at(), const(r, d, s), flow]))
        elif what == 3:
            steps.append(("TensorArrayReadV3", {"dtype": T(d)}, [h, at(), flow]))
        elif what == 4:
            steps.append(("TensorArraySizeV3", {}, [h, flow]))
        elif what == 5:
            steps.append(("TensorArrayGatherV3", {"dtype": T(d), "element_shape": ("shape", None if r.rand() < .7 else s)},
                          [h, const(r, "int32", [n], 0, 4), flow]))
        elif what == 6:
            steps.append(("TensorArrayScatterV3", {"T": T(d)}, [h, cases.from_array("int32", r.permutation(5)[:n]), const(r, d, [n] + s), flow]))
        elif what == 7:
            steps.append(("TensorArrayConcatV3", {"dtype": T(d), "element_shape_except0": ("shape", None)}, [h, flow]))
        elif r.rand() < .4:
            steps.append(("TensorArrayCloseV3", {}, [h]))
        else:
            lengths = const(r, "int64", [n], 0, 3)
            total = int(cases.to_array(lengths).sum())
            steps.append(("TensorArraySplitV3", {"T": T(d)}, [h, const(r, d, [total] + s[1:]), lengths, flow]))
    return steps


def lists(r):
    t = str(r.choice(["float", "int32", "string", "bool", "half", "complex64"]))
    shape = dims(r, 2)

    def said():
        x = r.rand()
        v = np.array(-1) if x < .3 else np.array(shape) if x < .8 else np.array([-1] * len(shape)) if x < .95 else np.array(dims(r))
        return cases.from_array("int32", v)

    n = lambda low=0: cases.from_array("int32", np.array(int(r.randint(low, 4))))
    e, st = {"element_dtype": T(t)}, {"shape_type": T("int32")}
    first = r.randint(4)
    if first == 0:
        steps = [("EmptyTensorList", dict(e, **st), [said(), n(-1)])]
    elif first == 1:
        steps = [("TensorListReserve", dict(e, **st), [said(), n()])]
    elif first == 2:
        steps = [("TensorListFromTensor", dict(e, **st), [const(r, t, [int(r.randint(0, 4))] + shape), said()])]
    else:
        k = int(r.randint(0, 4))
        steps = [("TensorListScatterV2", dict(e, **st), [const(r, t, [k] + shape), const(r, "int32", [k], -1 if r.rand() < .1 else 0, 4), said(), n(-1)])]
    lists_made = [("from", 0, 0)]
    for _ in range(r.randint(3, 12)):
        l = lists_made[r.randint(len(lists_made))]
        d = t if r.rand() < .95 else "float"
        e = {"element_dtype": T(d)}
        s = shape if r.rand() < .9 else dims(r, 2)
        k = int(r.randint(0, 4))
        what = r.randint(13)
        here, grows = len(steps), None
        if what < 2:
            steps.append(("TensorListPushBack", e, [l, const(r, d, s)]))
            grows = 0
        elif what == 2:
            steps.append(("TensorListPopBack", e, [l, said()]))
            grows = 0
        elif what == 3:
            steps.append(("TensorListSetItem", dict(e, resize_if_index_out_of_bounds=("bool", bool(r.randint(2)))), [l, n(-1), const(r, d, s)]))
            grows = 0
        elif what == 4:
            steps.append(("TensorListGetItem", e, [l, n(-1), said()]))
        elif what == 5:
            steps.append(("TensorListLength", {}, [l]))
        elif what == 6:
            steps.append(("TensorListStack", dict(e, num_elements=("int", int(r.choice([-1, -1, k])))), [l, said()]))
        elif what == 7:
            steps.append(("TensorListGather", e, [l, const(r, "int32", [k], 0, 4), said()]))
        elif what == 8:
            steps.append(("TensorListResize", {}, [l, n(-1)]))
            grows = 0
        elif what == 9:
            steps.append(("TensorListElementShape", st, [l]))
        elif what == 10:
            lead = cases.from_array("int64", np.array([int(r.randint(0, 3)) for _ in range(k)], np.int64))
            steps.append(("TensorListConcatV2", dict(e, **st), [l, said(), lead]))
        elif what == 11:
            steps.append(("TensorListConcatLists", e, [l, lists_made[r.randint(len(lists_made))]]))
            grows = 0
        elif r.rand() < .02:  # crashes TensorFlow
            steps.append(("TensorListScatterIntoExistingList", e, [l, const(r, d, [k] + s), const(r, "int32", [k], 0, 4)]))
            grows = 0
        if grows is not None:
            lists_made.append(("from", here, grows))
    return steps


def maps(r):
    key, value = str(r.choice(["int32", "string", "int64", "float"])), str(r.choice(["float", "string", "int32"]))
    steps, last = [("EmptyTensorMap", {}, [])], ("from", 0, 0)
    for _ in range(r.randint(3, 9)):
        k = const(r, key, [] if r.rand() < .9 else [1], 0, 4)
        v = value if r.rand() < .95 else "float"
        what = r.randint(6)
        if what < 2:
            steps.append(("TensorMapInsert", {"key_dtype": T(key), "value_dtype": T(v)}, [last, k, const(r, v, dims(r))]))
            last = ("from", len(steps) - 1, 0)
        elif what == 2:
            steps.append(("TensorMapLookup", {"key_dtype": T(key), "value_dtype": T(v)}, [last, k]))
        elif what == 3:
            steps.append(("TensorMapSize", {}, [last]))
        elif what == 4:
            steps.append(("TensorMapErase", {"key_dtype": T(key), "value_dtype": T(v)}, [last, k]))
        else:
            steps.append(("TensorMapHasKey", {"key_dtype": T(key)}, [last, k]))
    return steps


FAMILIES = {f.__name__: f for f in (tables, variables, generators, queues, arrays, lists, maps)}


def brief(step):
    op, attrs, inputs = step
    return "%s(%s; %s)" % (op, ", ".join("%s=%s" % (k, v[1]) for k, v in sorted(attrs.items())),
                           "; ".join("%s" % (t,) if t[0] == "from" else cases.tensor_text(t)[:90] for t in inputs))


def main():
    p = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    p.add_argument("--family", choices=FAMILIES)
    p.add_argument("--seconds", type=float, default=60)
    p.add_argument("--seed", type=int, default=1)
    p.add_argument("--text", action="store_true", help="error messages must agree, too")
    options = p.parse_args()
    r = np.random.RandomState(options.seed)
    tf, ferry = fuzz.Child("tensorflow"), fuzz.Child("ferry")
    seen, calls, good = collections.Counter(), 0, 0
    end = time.time() + options.seconds
    while time.time() < end:
        family = options.family or str(r.choice([f for f in FAMILIES if f != "queues"]))  # those crash TensorFlow
        case = {"mode": "steps", "steps": FAMILIES[family](r), "inputs": []}
        tf.send(case)
        ferry.send(case)
        want, got = tf.receive(), ferry.receive()
        if want[0] != "steps" or got[0] != "steps":
            key = (family, "TensorFlow: " * (want[0] != "steps") + str(want[:2]) + str(got[:2])) if want[0] != got[0] else None
            if key and not seen[key[:1] + (want[0], got[0])]:
                print("DIFFERENT %s: %s, %s\n  %s" % (family, want[:2] if want[0] != "steps" else "ok", got[:2] if got[0] != "steps" else "ok",
                                                      "\n  ".join(map(brief, case["steps"]))), flush=True)
            if key:
                seen[key[:1] + (want[0], got[0])] += 1
            continue
        for i, (a, b) in enumerate(zip(want[1], got[1])):
            calls += 1
            good += a[0] == "ok"
            op = case["steps"][i][0]
            found = fuzz.differ({"op": op, "inputs": []}, a, b)
            if found is None or (found[0] == "text" and not options.text):
                continue
            key = (op, found[0], "" if found[0] in ("value", "form") else fuzz.re.sub(r"\d+|\[[^\]]*\]|n\d+", "#", found[1])[:80])
            seen[key] += 1
            if seen[key] == 1:
                print("DIFFERENT %s %s: %s\n  %s" % (op, found[0], found[1][:400], "\n  ".join(map(brief, case["steps"][:i + 1]))), flush=True)
            if found[0] != "text":
                break
    tf.stop()
    ferry.stop()
    for key, n in sorted(seen.items(), key=str):
        print("%5d %s" % (n, " ".join(map(str, key))))
    print("%d calls, %d succeed in TensorFlow, %d kinds of difference" % (calls, good, len(seen)))
    return 1 if seen else 0


if __name__ == "__main__":
    sys.exit(main())
