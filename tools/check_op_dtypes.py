#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Every op that runs here is shown to run, in every element type it accepts.

For each op of src/ops/list.inc: the types that TensorFlow's CPU kernels register
(src/ops/opdefs.tsv; Ferry accepts the same, see op_kernels.c) must each occur in a golden case
(tests/data/op_goldens*.txt, which test_ops_goldens.c runs) that ends well, or in a sample of its
source file that does, or in a graph of tests/data/state_*.txt. An op without any golden needs a sample, a C unit test that names it or a graph
that a test runs. What is missing is printed, and fails the check unless ALLOWED says why. (That every
op has a shape function is asked by tests/unit/test_ops_samples.c, which sees the real table.)

Needs no TensorFlow:  python3 tools/check_op_dtypes.py
"""
import collections
import glob
import os
import re
import sys

ROOT = os.path.join(os.path.dirname(os.path.abspath(__file__)), "..")
# (op pattern, attribute pattern, type pattern): why no case shows it.
ALLOWED = [
    (r".*", r".*", r"resource",
     "a handle is moved like a variant (fy_elements_copy); a golden has no bytes for it"),
    (r"(OneHot|Fill|DepthToSpace|SpaceToDepth|RandomShuffle|StatelessShuffle|DynamicStitch|"
     r"ParallelDynamicStitch|Transpose|ConjugateTranspose|StridedSliceGrad|SparseConcat|SparseSplit|SparseFillEmptyRows|"
     r"RaggedFillEmptyRows|SerializeManySparse|AddManySparseToTensorsMap|"
     r"TakeManySparseFromTensorsMap|Conj|SerializeTensor|TensorSummary|TensorSummaryV2|Gather|AddN|"
     r"ZerosLike|TensorList.*|Resource.*|MutableHashTableV2)",
     r".*", r"variant",
     "the same copy loop as the variants shown for GatherV2, Pack, Slice and SparseSlice; TensorFlow "
     "refuses or aborts where elements would have to be made or written"),
    (r"AssignVariableOp", r"dtype", r"variant|float4_e2m1fn|u?int2",
     "moved as a whole like every other type, whatever its elements are"),
    (r"ResourceApply.*", r"T", r"half", "TensorFlow's result depends on its vector width"),
    (r"TensorStridedSliceUpdate", r"T", r"float8_.*|qu?int.*|variant",
     "TensorFlow refuses to copy an input of that type: it works where it may write into the input only"),
    (r"Round", r"T", r"int.*", "TensorFlow rounds every integer to 0"),
    (r"Resource(Gather|StridedSliceAssign)", r".*", r"qu?int.*",
     "TensorFlow cannot make a variable of that type"),
    (r"RaggedTensorToVariantGradient", r"Tvalues", r"bool|string", "no gradient has that type"),
    (r"(Stateless)?SampleDistortedBoundingBox(V2)?", r"T", r"u?int.*",
     "the type of image_size, read by one function for all"),
    (r"UnicodeDecodeWithOffsets", r"Tsplits", r"int32", "TensorFlow aborts"),
    (r"_FusedConv2D", r"T", r"half", "TensorFlow's kernel says: Op does not support half inputs"),
    (r"_FusedConv2D", r"T", r"q?int8", "only rewriting for the quantizing tools makes it; UNIMPLEMENTED here"),
    (r"XlaDynamic(Update)?Slice", r"T", r"string|variant|resource|qint16|quint16|float8.*|u?int[124]", "what XLA does not compile on the CPU"),
    (r"Where", r"T", r"half", "no kernel, whatever the table says: TensorFlow refuses it"),
    (r"(Stateful|Stateless)Random.*", r".*", r".*", "shown by tests of the random numbers"),
]

# Ops that run only inside graphs: those of tests/unit/test_execute_flow.c and test_model_zoo.c.
IN_GRAPHS = r"(Ref)?(Switch|Merge|Enter|Exit|NextIteration)|LoopCond"


def read(path):
    with open(os.path.join(ROOT, path), encoding="utf-8") as f:
        return f.read()


def specs():
    table = {}
    for line in read("src/ops/opdefs.tsv").splitlines():
        if not line.startswith("#"):
            fields = line.split("\t") + [""] * 8
            table[fields[0]] = fields
    return table


def accepted(fields):
    """attribute -> types of the CPU kernels that the signature allows."""
    found = collections.defaultdict(set)
    for one in fields[5].split(";"):
        for pair in re.split("[@!]", one)[0].split(","):
            if "=" in pair:
                name, types = pair.split("=", 1)
                found[name] |= set(types.split("|"))
    for name in list(found):
        attr = re.search(r"(?:^| )%s:type(\{([^}]*)\})?" % re.escape(name), fields[3])
        if not attr:
            del found[name]
        elif attr.group(2):
            found[name] &= set(attr.group(2).split("|"))
    return found


def goldens():
    """(op, attribute) -> types of cases that end well; ops with any case."""
    seen, ops = collections.defaultdict(set), set()
    for path in sorted(glob.glob(os.path.join(ROOT, "tests/data/op_goldens*.txt"))):
        with open(path, encoding="utf-8") as f:
            for block in re.split(r"^op ", f.read(), flags=re.M)[1:]:
                lines = block.splitlines()
                ops.add(lines[0])
                if any(line.startswith("error ") for line in lines):
                    continue
                for line in lines:
                    if line.startswith("attr "):
                        _, name, value = line.split(" ", 2)
                        seen[(lines[0], name)] |= set(value.strip("[]").split(","))
    return seen, ops


def sources():
    """op -> its FY_OP line's file; also all text of unit tests."""
    files = {path: read(os.path.relpath(path, ROOT))
             for path in glob.glob(os.path.join(ROOT, "src/ops/*.c"))}
    tests = "".join(read(os.path.relpath(p, ROOT))
                    for p in glob.glob(os.path.join(ROOT, "tests/unit/*.c")))
    return files, tests


def graphs():
    """All bytes of graphs that tests run: tests/data/state_*.txt, flow/ and zoo/."""
    found = []
    for path in glob.glob(os.path.join(ROOT, "tests/data/state_*.txt")):
        with open(path, encoding="utf-8") as f:
            found += [bytes.fromhex(line.split()[1]) for line in f if line.startswith("graph ")]
    for pattern in ("flow/*.pb", "zoo/*/saved_model.pb"):
        for path in glob.glob(os.path.join(ROOT, "tests/data", pattern)):
            with open(path, "rb") as f:
                found.append(f.read())
    return b"\0".join(found)


# DataType
TYPE_NAMES = dict(enumerate("""float double int32 uint8 int16 int8 string complex64 int64 bool qint8 quint8 qint32 bfloat16
qint16 quint16 uint16 complex128 half resource variant uint32 uint64 float8_e5m2 float8_e4m3fn""".split(), 1))


def fields(data):
    """(number, value) of each field of a serialized message; a value is a number or bytes."""
    at = 0

    def varint():
        nonlocal at
        value = shift = 0
        while True:
            value |= (data[at] & 127) << shift
            at += 1
            if data[at - 1] < 128:
                return value
            shift += 7

    while at < len(data):
        tag = varint()
        if tag & 7 == 0:
            yield tag >> 3, varint()
        else:
            n = varint() if tag & 7 == 2 else 4 if tag & 7 == 5 else 8
            yield tag >> 3, data[at:at + n]
            at += n


def graph_types():
    """(op, attribute) -> types of the nodes of graphs of which some run ends well."""
    seen = collections.defaultdict(set)
    for path in glob.glob(os.path.join(ROOT, "tests/data/state_*.txt")):
        for case in re.split(r"^case ", open(path, encoding="utf-8").read(), flags=re.M)[1:]:
            if not any("\nerror " not in run for run in re.split(r"^run$", case, flags=re.M)[1:]):
                continue
            graph = re.search(r"^graph (\w+)", case, re.M).group(1)
            for node in (v for n, v in fields(bytes.fromhex(graph)) if n == 1):
                op = next((v.decode() for n, v in fields(node) if n == 2), "")
                for entry in (dict(fields(v)) for n, v in fields(node) if n == 5):
                    kind = dict(fields(entry.get(2, b""))).get(6)
                    if kind in TYPE_NAMES:
                        seen[(op, entry[1].decode())].add(TYPE_NAMES[kind])
    return seen


def in_graph(op, data):
    """Is there a NodeDef (field 2: op) of this name?"""
    return b"\x12" + bytes([len(op)]) + op.encode() in data


def sampled_ops(files):
    """Ops with samples: by FY_OP itself, or by a macro of their file that makes it."""
    found = set()
    for text in files.values():
        found.update(re.findall(r"FY_OP\((\w+),[^;]*FY_SAMPLES", text))
        for m in re.finditer(r"#define (\w+)\(((?:[^\n]*\\\n)*[^\n]*)", text):
            if "FY_OP(" in m.group(2) and "FY_SAMPLES(" in m.group(2):
                found.update(re.findall(r"^%s\(\s*(\w+)" % m.group(1), text, re.M))
    return found


def reason(op, attr, dtype):
    for ops, attrs, types, why in ALLOWED:
        if re.fullmatch(ops, op) and re.fullmatch(attrs, attr) and re.fullmatch(types, dtype):
            return why
    return None


def main():
    table = specs()
    ours = re.findall(r"^FY_OP_ENTRY\((\w+)\)", read("src/ops/list.inc"), re.M)
    seen, shown = goldens()
    in_graphs_seen = graph_types()
    files, tests = sources()
    ran, with_samples = graphs(), sampled_ops(files)
    gaps, excused, unshown = [], 0, []
    for op in ours:
        if op not in table:
            continue
        if op not in shown:
            named = re.compile(r'"%s"' % op)
            sampled = op in with_samples
            in_graphs = re.fullmatch(IN_GRAPHS, op)
            if not sampled and not in_graphs and not named.search(tests) and not in_graph(op, ran):
                unshown.append(op)
            continue
        for attr, types in sorted(accepted(table[op]).items()):
            if not seen[(op, attr)]:
                continue  # an attribute that no case spells out has its default
            for dtype in sorted(types - seen[(op, attr)] - in_graphs_seen[(op, attr)]):
                if reason(op, attr, dtype):
                    excused += 1
                else:
                    gaps.append("%s %s=%s" % (op, attr, dtype))
    for gap in gaps:
        print("no golden shows " + gap)
    for op in unshown:
        print("neither golden, sample, unit test nor graph shows " + op)
    print("%d ops, %d with goldens, %d types not shown, %d excused, %d ops not shown at all" %
          (len(ours), len(shown), len(gaps), excused, len(unshown)))
    return 1 if gaps or unshown else 0


if __name__ == "__main__":
    sys.exit(main())
