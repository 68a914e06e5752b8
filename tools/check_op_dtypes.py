#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Every op that runs here is shown to run, in every element type it accepts.

For each op of src/ops/list.inc: the types that TensorFlow's CPU kernels register
(src/ops/opdefs.tsv; Ferry accepts the same, see op_kernels.c) must each occur in a golden case
(tests/data/op_goldens*.txt, which test_ops_goldens.c runs) that ends well, or in a sample of its
source file that does. An op without any golden needs a sample or a C unit test that names it; an op
needs a shape function. What is missing is printed, and fails the check unless ALLOWED says why.

Needs no TensorFlow:  python3 tools/check_op_dtypes.py [--all]
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
     r"ParallelDynamicStitch|Transpose|StridedSliceGrad|SparseConcat|SparseSplit|SparseFillEmptyRows|"
     r"RaggedFillEmptyRows|SerializeManySparse|AddManySparseToTensorsMap|"
     r"TakeManySparseFromTensorsMap|Conj|SerializeTensor|TensorSummary|TensorSummaryV2|Gather|AddN|"
     r"ZerosLike|TensorList.*|Resource.*|MutableHashTableV2)",
     r".*", r"variant",
     "the same copy loop as the variants shown for GatherV2, Pack, Slice and SparseSlice; TensorFlow "
     "refuses or aborts where elements would have to be made or written"),
    (r"ResourceApply.*", r"T", r"half", "TensorFlow's result depends on its vector width"),
    (r"Round", r"T", r"int.*", "TensorFlow rounds every integer to 0"),
    (r"Resource(Gather|StridedSliceAssign)", r".*", r"qu?int.*",
     "TensorFlow cannot make a variable of that type"),
    (r"RaggedTensorToVariantGradient", r"Tvalues", r"bool|string", "no gradient has that type"),
    (r"(Stateless)?SampleDistortedBoundingBox(V2)?", r"T", r"u?int.*",
     "the type of image_size, read by one function for all"),
    (r"UnicodeDecodeWithOffsets", r"Tsplits", r"int32", "TensorFlow aborts"),
    (r"Where", r"T", r"half", "no kernel, whatever the table says: TensorFlow refuses it"),
    (r"(Stateful|Stateless)Random.*", r".*", r".*", "shown by tests of the random numbers"),
]

# Ops that run only inside graphs: those of tests/unit/test_execute_flow.c and test_model_zoo.c.
IN_GRAPHS = r"(Ref)?(Switch|Merge|Enter|Exit|NextIteration)|LoopCond"
# Ops that no golden, sample or unit test shows yet. A debt, not an excuse: strike out, never add.
DEBT = r"""(Resource)?(Sparse)?Apply\w+|Scatter\w+|Assign(Add|Sub)|CountUpTo|ResourceCountUpTo|
    StridedSliceAssign|(Destroy)?TemporaryVariable|Variable(V2)?|IsVariableInitialized|Ref\w+|
    \w*Queue\w*|Stack\w*|TensorArray\w*|\w*HashTable\w*|LookupTable\w+|InitializeTable\w*|
    Save\w*|Restore\w*|MergeV2Checkpoints|AudioSummary|BatchCholesky(Grad)?|BatchMatrix\w+|DecodeJxl|
    ControlTrigger|DisableCopyOnRead|For|RemoteCall|Placeholder\w+|StatefulPartitionedCall|StatefulStandardNormal|StatelessCase|StatelessWhile|_\w+"""


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


def reason(op, attr, dtype):
    for ops, attrs, types, why in ALLOWED:
        if re.fullmatch(ops, op) and re.fullmatch(attrs, attr) and re.fullmatch(types, dtype):
            return why
    return None


def main():
    table = specs()
    ours = re.findall(r"^FY_OP_ENTRY\((\w+)\)", read("src/ops/list.inc"), re.M)
    seen, shown = goldens()
    files, tests = sources()
    gaps, excused, unshown = [], 0, []
    for op in ours:
        if op not in table:
            continue
        if op not in shown:
            named = re.compile(r'"%s"' % op)
            sampled = any(re.search(r"FY_OP\(%s\b[^;]*FY_SAMPLES" % op, text) for text in files.values())
            in_graphs = re.fullmatch(IN_GRAPHS, op)
            if not sampled and not in_graphs and not named.search(tests):
                unshown.append(op)
            continue
        for attr, types in sorted(accepted(table[op]).items()):
            if not seen[(op, attr)]:
                continue  # an attribute that no case spells out has its default
            for dtype in sorted(types - seen[(op, attr)]):
                if reason(op, attr, dtype):
                    excused += 1
                else:
                    gaps.append("%s %s=%s" % (op, attr, dtype))
    for gap in gaps:
        print("no golden shows " + gap)
    debt = [op for op in unshown if re.fullmatch(DEBT, op, re.X)]
    for op in unshown:
        if op not in debt or "--all" in sys.argv:
            print("neither golden, sample nor unit test shows " + op)
    print("%d ops, %d with goldens, %d types not shown, %d excused, %d ops not shown at all (%d known)" %
          (len(ours), len(shown), len(gaps), excused, len(unshown), len(debt)))
    return 1 if gaps or len(unshown) > len(debt) else 0


if __name__ == "__main__":
    sys.exit(main())
