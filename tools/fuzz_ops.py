#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Calls ops at random in TensorFlow and in Ferry, and tells where the two differ.

  /opt/tfvenv/bin/python tools/fuzz_ops.py [--ops REGEX] [--seconds N] [--calls N] [--seed N]
      [--save FILE] [--shapes] [--session] [--large] [--spoil] [--faults] [--text] [--first FILE] [--shuffle] [--patience N]
      [--replay FILE] [--goldens FILE]

Needs a Python with TensorFlow 2.21 and a built build/lib/libtensorflow.so.2 (FERRY_LIB for another).
Each call runs in both libraries through the C API (tools/fuzz_driver.py, a child process each, which
may crash). Compared are the status code, and on success element types, shapes and values: integers,
strings and comparisons bit for bit, floats within what the order of additions explains. --text also
tells of different error messages. --shapes asks graph mode instead: what is inferred when the inputs
are known in full, in part, or not at all. Each kind of difference is reduced and written to --save in
the format of tests/data/op_goldens*.txt (or shape_goldens*.txt), with TensorFlow's answer.
--session runs the op in a graph instead, its inputs
constant or fed; --spoil makes calls that do not fit the signature: too few or too many inputs, types,
attributes that are missing, of another kind, or unknown.
--first names a file with an op on each line (tab-separated, first column): those go first.
--replay runs the cases of such a file again. --goldens keeps small calls on which both agree. Calls come from tools/fuzz_cases.py.
"""
import argparse
import collections
import os
import pickle
import re
import select
import signal
import struct
import subprocess
import sys
import time

import numpy as np

import fuzz_cases as cases

HERE = os.path.dirname(os.path.abspath(__file__))
# Ops that are not called at random, and why.
SKIPPED = [
    (r"_.*", "internal: made by graph rewriting only"),
    (r"(Ref)?(Enter|Exit|Switch|Merge|NextIteration)|RefSelect|LoopCond|ControlTrigger", "control flow of graphs"),
    (r"Placeholder\w*|Const", "structural; every graph case has them"),
    (r"If|While|For|Case|Stateless(If|While|Case)|\w*PartitionedCall|RemoteCall", "needs functions"),
    (r"ReadFile|WriteFile|MatchingFiles|\w*Checkpoints?|Save\w*|Restore\w*|InitializeTableFromTextFile\w*",
     "files"),
    (r"Print|PrintV2", "prints"),
    (r"Timestamp|NonDeterministicInts", "differs from call to call by design"),
    (r"\w*Queue\w*|Stack\w*|TensorArray\w*|FakeQueue", "state between calls (or blocks)"),
    (r"\w*(HashTable|LookupTable|InitializeTable)\w*", "state between calls"),
    (r"(Ordered)?Map(Stage|Unstage|Peek)\w*|StagePeek|Unstage|\w*Reader\w*|Mutex\w*|ConsumeMutexLock", "blocks, or files"),
    (r"(Add|Take)\w*Sparse\w*TensorsMap|DestroyResourceOp|VarHandleOp|VarIsInitializedOp|DisableCopyOnRead",
     "state between calls"),
    (r"Rng\w+|Stateful(Random|Standard|Truncated|Uniform)\w*", "state between calls"),
    (r"Variable(V2)?|TemporaryVariable", "reference variables: graphs only"),
    (r"Empty|EncodeJpeg\w*|DecodeJxl", "nothing to compare: uninitialised, or another encoder"),
]
# Of the above, those whose shape inference is not asked either.
SHAPELESS = r"internal.*|control flow.*|structural.*|needs functions"
# Float results of these depend on the order of many additions, or on a decomposition.
SUMS = re.compile(r".*(MatMul|Conv|Depthwise|Pool|Sum|Mean|Prod|Norm|Einsum|Softmax|LRN|FFT|Loss|CrossEntropy|"
                  r"SqrtN|Segment|BiasAddGrad|Dilation|Resize|Crop|Scale|Bilinear|Project|Adjust|Cum|AddN|HSV|RGB|Sparse"
                  r"|Apply|Betainc|Igamma|Zeta|Polygamma|Glimpse|Scatter|Bessel|Lgamma|Digamma|Ndtri|Pow|Quantize|"
                  r"Dequantize|LinSpace|Bincount|Erfinv|FakeQuant|RandomGamma|Grad).*")
SOLVERS = re.compile(r".*(Svd|Qr|Eig|Cholesky|Solve|Inverse|Determinant|Lu|Exponential|Logarithm|SquareRoot|"
                     r"SolveLs|CTC|Expint|Dawsn|Fresnel|Spence|TruncatedNormal|TridiagonalMatMul).*")


# Differences that stay, as (op, kind or detail, why). docs/DIFFERENCES.md tells of those that matter.
KNOWN = [
    (r"Conv\w*|\w*Pool\w*|FusedBatchNorm\w*|DepthwiseConv\w*|LRN\w*|BiasAdd\w*|\w*Dilation\w*",
     r".*(only supports? |not yet support|only supported|NCHW|not supported).*",
     "TensorFlow's CPU kernel lacks it, Ferry's does not"),
    (r"Arg(Max|Min)", r".*Dimension|dimension .*must be in the range.*|.*in the range.*",
     "TensorFlow reads an int16 axis as int32"),
    (r"Round", r".*u?int\d+ output.*", "TensorFlow rounds every integer to 0"),
    (r"FusedBatchNorm\w*", r".*output [345].*", "reserved for the gradient; not even set for inference"),
    (r"SelfAdjointEig\w*|Svd|Eig|Cholesky\w*", r"value.*|.*output.*", "signs, or what TensorFlow leaves uninitialised"),
    (r"\w*Pool\w*|HSVToRGB|RGBToHSV", r".*nan.*", "which NaN wins depends on TensorFlow's vector width"),
    (r"I?R?FFT\w*|Matrix\w+|Batch\w+|LogMatrixDeterminant|\w*Solve\w*|CholeskyGrad|Einsum|\w*MatMul\w*|Conv\w+",
     r".*(nan|inf).*", "where a NaN or an Inf spreads to depends on the order of the work"),
    (r"RealDiv|Div|Xdivy|ResourceApply\w+|Reciprocal|Inv|Pow|Sigmoid|Tanh|\w*Grad", r".*complex.*nan.*|.*complex.*inf.*",
     "complex numbers that are not finite"),
    (r"ParallelConcat", r".*parallel_stack.*", "TensorFlow's has a kernel in graphs only, by rewriting"),
    (r"QuantizedConcatV2|QuantizedConv2D", r".*\('float', \[0\]\).*", "a kernel of TensorFlow's that does nothing"),
    (r"DataFormatDimMap", r".*", "out of range: TensorFlow reads elsewhere in memory"),
    (r"ImageProjectiveTransform\w*", r".*nonsense.*|.*int64 output.*", "an unknown mode; an overflowing cast"),
    (r"ResourceScatter\w+", r".*half.*|.*Must have updates.shape.*", "TensorFlow reads past the updates of 16-bit types"),
    (r"\w*LSTM\w*", r".*", "time steps that are not run are left uninitialised; NaNs"),
    (r"FusedBatchNormGrad\w*|AudioSpectrogram|DivNoNan|MulNoNan|LinSpace|IgammaGradA|Lgamma|RandomGammaGrad",
     r".*(nan|inf|-0.0).*", "not finite"),
    (r"QuantizedReluX|AccumulateNV2", r".*", "kernels that TensorFlow registers for fewer types than it says; none on CPU"),
    (r"Conv2DBackpropFilter", r".*does not have enough elements.*", "a filter wider than the image"),
    (r"RFFT\w*", r".*value.*|.*output.*", "an empty input: uninitialised in TensorFlow"),
    (r"CTC\w+", r".*double output.*", "TensorFlow adds logarithms in float"),
    (r"Barrier|\w*ConditionalAccumulator", r".*", "reference variables: graphs only"),
    (r"FakeQuant\w+|SparseReduceMax|SparseSparse\w+", r".*nan.*", "which NaN wins depends on TensorFlow's vector width"),
    (r"S?elu|Mfcc|GRUBlockCell", r".*output.*", "TensorFlow's exp(x) - 1 and sums of them lose digits"),
    (r"SparseReduce\w+|SparseSoftmax|SetSize", r".*", "indices out of bounds or unsorted: TensorFlow notices late or never"),
    (r"FakeParam|ImmutableConst|\w*Session(Handle|Tensor)\w*|(Ordered)?Map\w+|Stage\w*|Unstage", r".*",
     "state between calls, files, or uninitialised"),
    (r"RandomIndexShuffle|StatelessRandomGamma\w*|RandomGamma", r".*hang.*", "TensorFlow does not come back"),
    (r"MatrixDiagV[23]", r"shape|.*num_rows.*|.*num_cols.*|.*number of rows.*",
     "TensorFlow takes a num_rows that is not known for -1"),
    (r"Fractional(Avg|Max)Pool|ExtractVolumePatches|DenseBincount|(Dense|Sparse|Ragged)CountSparseOutput", r"shape",
     "TensorFlow infers what its own kernel does not give"),
    (r"GatherV2", r"shape", "TensorFlow subtracts a negative batch_dims"),
    (r"Svd|Eig|SelfAdjointEigV2", r"shape", "inferred as [0], given as a scalar"),
    (r"SoftmaxCrossEntropyWithLogits", r"shape", "a dim of 1 may still be broadcast"),
    (r"CSRSparseMatrix\w+|SparseMatrix\w+|ResourceCountUpTo|ResourceGather\w*", r".*(shape and type info|shape/type|params shape).*",
     "a handle about which nothing is known: TensorFlow wants to know more"),
    (r"ResourceScatterNd\w+|ResourceApply\w+", r".*(must be equal rank|of input\[shape=\[\]\]|specified for empty input).*",
     "a handle about which nothing is known: TensorFlow takes the handle's own shape for the variable's"),
    (r"ParseSequenceExample(V2)?", r"shape|.*must be rank 1 but is rank 0.*",
     "a single example: TensorFlow's kernel takes it, its inference does not"),
    (r"MatrixSetDiagV[23]", r".*Shapes must be equal rank.*", "TensorFlow forgets that a band has a dim more"),
    (r"IsResourceHandleRefCounting|IsTensorFloat32Enabled|MakeWeakResourceHandle", r".*(not registered|neither a type).*",
     "registered by another of TensorFlow's libraries"),
    (r"TensorArray\w+V3|TensorArrayGradWithShape", r".*Shape must be rank 1 but is rank 0.*",
     "a handle that is an argument is a scalar"),
    (r"Fused(Resize\w+)?PadConv2D", r"value.*|.*output.*", "TensorFlow pads all images but the first wrongly"),
    (r"NearestNeighbors", r"value.*|.*output.*", "TensorFlow expands the square, and loses digits"),
    (r"DepthwiseConv2dNativeBackpropFilter", r"value.*|.*output.*", "no images: TensorFlow leaves the gradient uninitialised"),
    (r"CumulativeLogsumexp|EuclideanNorm", r".*half output.*|.*bfloat16 output.*", "TensorFlow adds in 16 bits, up to 2048 ones"),
    (r"ResizeBicubicGrad", r".*double output.*", "TensorFlow's weights are floats"),
    (r"Erf", r".*double output.*nan.*", "TensorFlow's erf of infinity is NaN in double"),
    (r"SplitV", r"shape.*|.*can't split.*|.*Length of size_splits.*|.*size_splits.*",
     "without the axis TensorFlow takes the last one for it"),
]


class Child:
    """A library in a process of its own."""

    def __init__(self, which, driver="fuzz_driver.py"):
        self.which, self.driver, self.proc = which, driver, None

    def start(self):
        if self.proc is None:
            self.proc = subprocess.Popen([sys.executable, os.path.join(HERE, self.driver), self.which],
                                         stdin=subprocess.PIPE, stdout=subprocess.PIPE)

    def send(self, case):
        self.start()
        data = pickle.dumps(case)
        try:
            self.proc.stdin.write(struct.pack("<I", len(data)) + data)
            self.proc.stdin.flush()
        except BrokenPipeError:
            pass

    def stop(self):
        if self.proc:
            self.proc.kill()
            self.proc.wait()
            self.proc.stdin.close()
            self.proc.stdout.close()
            self.proc = None

    def fetch(self, n, deadline):
        data = b""
        while len(data) < n:
            left = deadline - time.time()
            if left <= 0 or not select.select([self.proc.stdout], [], [], left)[0]:
                return None
            part = os.read(self.proc.stdout.fileno(), n - len(data))
            if not part:
                return b""
            data += part
        return data

    def receive(self, seconds=60):
        deadline = time.time() + seconds
        head = self.fetch(4, deadline)
        body = self.fetch(struct.unpack("<I", head)[0], deadline) if head else head
        if body is None:
            self.stop()
            return ("hang",)
        if not body:
            try:
                code = self.proc.wait(timeout=5)
            except subprocess.TimeoutExpired:
                code = 0
            self.stop()
            return ("crash", signal.Signals(-code).name if code < 0 else str(code))
        return pickle.loads(body)


# ---------------------------------------------------------------- comparing
def clean(text):
    text = re.sub(r"^\{\{function_node [^}]*\}\} ?", "", text)
    text = re.sub(r"^\{\{node [^}]*\}\} ?", "", text)
    return text.split(" [Op:")[0].split("\n")[0].rstrip()


def magnitude(case):
    product = 1.0
    for t in case["inputs"]:
        if t[0] in cases.FLOATS + cases.COMPLEX and len(t[2]):
            with np.errstate(all="ignore"):
                a = np.abs(cases.to_array(t).astype(np.complex128))
            a = a[np.isfinite(a)]
            if a.size:
                product *= max(1.0, float(a.max()))
    return min(product, 1e30)


def differ(case, want, got):
    """None, or how two answers differ: (kind, detail)."""
    if want[0] == "error" and want[1] == 12 and got[0] in ("ok", "error"):
        return None  # TensorFlow says itself that its kernel lacks this
    if want[0] != got[0]:
        return ("%s for %s" % (got[0], want[0]) if want[0] != "error" else "%s for error" % got[0],
                "wanted %s, got %s" % (brief(want), brief(got)))
    if want[0] == "error":
        if want[1] != got[1]:
            return ("code", "wanted %s, got %s" % (brief(want), brief(got)))
        if clean(want[2]) != clean(got[2]):
            return ("text", "wanted %s, got %s" % (brief(want), brief(got)))
        return None
    if want[0] != "ok":
        return None
    if case.get("mode") == "graph":
        same = len(want[1]) == len(got[1]) and all(refines(g, w) for w, g in zip(want[1], got[1]))
        return None if same else ("shape", "wanted %s, got %s" % (want[1], got[1]))
    if len(want[1]) != len(got[1]):
        return ("outputs", "%d for %d" % (len(got[1]), len(want[1])))
    for i, (a, b) in enumerate(zip(want[1] + want[2], got[1] + got[2])):
        if a[:2] != b[:2]:
            return ("form", "output %d is %s%s for %s%s" % (i, b[0], list(b[1]), a[0], list(a[1])))
        if a[2] == b[2] or a[2] is None:
            continue
        if a[0] not in cases.FLOATS + cases.COMPLEX:
            x, y = cases.to_array(a).reshape(-1), cases.to_array(b).reshape(-1)
            k = [j for j in range(x.size) if x[j] != y[j]]
            if not k:
                continue
            return ("value", "%s output %d[%d]: %r for %r (%d of %d)" % (a[0], i, k[0], y[k[0]], x[k[0]], len(k), x.size))
        x = cases.to_array(a).reshape(-1)
        y = cases.to_array(b).reshape(-1)
        bad = far(case, a[0], x, y)
        if bad is not None:
            return ("value", "%s output %d[%d]: %r for %r" % (a[0], i, bad, y[bad], x[bad]))
    return None


def refines(got, want):
    """Says all that |want| says, and maybe more. (TensorFlow also says -3.)"""
    if want is None:
        return True
    return got is not None and len(got) == len(want) and all(w < 0 or w == g for w, g in zip(want, got))


def far(case, name, x, y):
    unit = {"half": 2.0 ** -10, "bfloat16": 2.0 ** -7, "double": 2.0 ** -52, "complex128": 2.0 ** -52,
            "float8_e5m2": 2.0 ** -2, "float8_e4m3fn": 2.0 ** -3}.get(name, 2.0 ** -23)
    wide = np.complex128 if name in cases.COMPLEX else np.float64
    with np.errstate(all="ignore"):
        x, y = x.astype(wide), y.astype(wide)
        low = 2 if name in ("half", "bfloat16") else 16 if name != "double" else 450
        relative, absolute = low * unit, .25 * unit
        finite = np.abs(x[np.isfinite(x)])
        top = float(finite.max()) if finite.size else 0.0
        if SOLVERS.match(case["op"]):
            relative, absolute = 4096 * unit, 65536 * unit * max(1.0, top)
        elif SUMS.match(case["op"]):
            terms = max([t[2].__len__() // max(1, np.dtype(cases.NUMPY.get(t[0], np.int8)).itemsize)
                         for t in case["inputs"]] or [1])
            if any(t[0] in ("half", "bfloat16") for t in case["inputs"]):
                unit = max(unit, 2.0 ** -10 if any(t[0] == "half" for t in case["inputs"]) else 2.0 ** -7)
            relative = 64 * unit
            absolute = unit * (8 + min(terms, 512)) * max(1.0, magnitude(case))
        elif name in cases.COMPLEX:
            absolute = 8 * unit * max(1.0, top)
        same = (x == y) | (np.isnan(x) & np.isnan(y))
        close = np.isfinite(x) & np.isfinite(y) & (np.abs(x - y) <= absolute + relative * np.abs(x))
        if name in cases.COMPLEX:  # Inf and NaN parts of complex numbers are nobody's promise
            close |= ~np.isfinite(x) & ~np.isfinite(y)
        bad = np.nonzero(~(same | close))[0]
    return int(bad[0]) if bad.size else None


def brief(answer):
    if answer[0] == "ok":
        return "ok " + str([(t[0], list(t[1])) if isinstance(t, tuple) and t and isinstance(t[0], str) else t
                            for t in answer[1]])[:200]
    if answer[0] == "error":
        return "error %d %s" % (answer[1], clean(answer[2])[:240])
    return " ".join(map(str, answer))


# ---------------------------------------------------------------- cases
def in_graph(r, case, spec):
    """The same call for graph mode, with some of what is known taken away. Variables become handles."""
    known, refs, inputs = [], [], list(case["inputs"])
    for i in range(case["vars"]):
        inputs[i] = ("resource", () if r.rand() < .8 else (2,), b"")
    case = dict(case, inputs=inputs, vars=0)
    groups = spec.groups(case)
    for (_, kind), size in zip(spec.inputs, groups or []):
        refs += ["ref " in kind] * (1 if size < 0 else size)
    how = r.rand()
    for i, t in enumerate(case["inputs"]):
        ints = t[0] in ("int32", "int64", "int16") and not refs[i]
        x = r.rand()
        if how < .1:
            known.append(None)
        elif ints and x < .3:
            known.append("value")
        elif ints and x < .6:
            known.append(chain_of(r, t))
        elif x < .75:
            known.append(list(t[1]))
        elif x < .92:
            known.append([-1 if r.rand() < .4 else d for d in t[1]])
        else:
            known.append(None)
    return dict(case, mode="graph", known=known, groups=groups, inferred=spec.inferred(), refs=refs)


def chain_of(r, t):
    """How a graph may compute the integers |t| so that inference knows them, or some."""
    a = cases.to_array(t)
    ways = ["sum"] if t[0] != "int16" else ["value"]
    if len(t[1]) == 1 and 0 < a.size < 20 and t[0] != "int16":
        ways += ["pack", "part"]
        if (a >= 0).all() and int(a.max()) < 1 << 20:
            ways += ["shape", "shape"]
    return str(r.choice(ways))


def in_session(r, case, spec):
    """The same call in a graph that is run: inputs are constants, or fed with their shape known or not."""
    how, known = r.rand(), []
    for t in case["inputs"]:
        x = how if how < .5 else r.rand()
        known.append("value" if x < .25 else None if x < .5 else list(t[1]) if x < .75 else [-1] * len(t[1]))
    return dict(case, mode="session", known=known, groups=spec.groups(case), inferred=spec.inferred())


def text_of(case, answer):
    graph = case.get("mode") == "graph"
    lines = [("shape " if graph else "op ") + case["op"]]
    lines += ["attr %s %s" % (k, cases.attr_text(*v)) for k, v in sorted(case["attrs"].items())]
    for i, t in enumerate(case["inputs"]):
        if graph:
            known = case["known"][i]
            if known in ("sum", "shape", "pack", "part"):
                lines.append("# computed: " + known)
                known = "value"
            dims = list(t[1]) if known == "value" else known
            line = "in %s %s" % (t[0], "<unknown>" if dims is None else "[%s]" % ",".join(
                "?" if d < 0 else str(d) for d in dims))
            lines.append(line + (" " + cases.tensor_text(t).split(" ", 2)[2] if known == "value" else ""))
        else:
            lines.append(("var " if i < case["vars"] else "in ") + cases.tensor_text(t))
    if answer[0] == "error":
        text = clean(answer[2])
        lines.append("error " + text.split(" for '{{node")[0] if graph else "error %d %s" % (answer[1], text))
    elif answer[0] == "ok" and graph:
        lines += ["out " + ("<unknown>" if s is None else "[%s]" % ",".join("?" if d < 0 else str(d) for d in s))
                  for s in answer[1]]
    elif answer[0] == "ok":
        lines += ["out " + cases.tensor_text(t) for t in answer[1] if t[2] is not None]
        lines += ["after " + cases.tensor_text(t) for t in answer[2]]
    else:
        lines.append("# TensorFlow: " + brief(answer))
    return "\n".join(lines) + "\n"


def simpler(case):
    """Smaller calls that may show the same."""
    graph = case.get("mode") == "graph"
    for i, t in enumerate(case["inputs"]):
        if t[0] != "string" and len(t[2]) and t[2].strip(b"\0"):
            for a in (np.zeros(t[1]), np.ones(t[1])):
                inputs = list(case["inputs"])
                inputs[i] = cases.from_array(t[0], a)
                yield dict(case, inputs=inputs)
        if graph and isinstance(case["known"][i], list):
            yield dict(case, known=case["known"][:i] + [None] + case["known"][i + 1:])
    for old in sorted({d for t in case["inputs"] for d in t[1] if d > 1}, reverse=True):
        for new in (1, 2):
            if new < old and not graph:
                inputs = []
                for t in case["inputs"]:
                    a = cases.to_array(t)
                    for axis, d in enumerate(t[1]):
                        if d == old:
                            a = np.take(a, range(new), axis=axis)
                    inputs.append(cases.from_array(t[0], a))
                yield dict(case, inputs=inputs)
    for name in list(case["attrs"]):
        yield dict(case, attrs={k: v for k, v in case["attrs"].items() if k != name})


class Fuzzer:
    def __init__(self, options):
        self.options = options
        self.tf, self.ferry = Child("tensorflow"), Child("ferry")
        self.calls = collections.Counter()
        self.good = collections.Counter()
        self.kinds = {}
        self.stay = collections.Counter()
        self.kept, self.kept_bytes = collections.Counter(), 0

    def ask(self, case):
        self.tf.send(case)
        self.ferry.send(case)
        want, got = self.tf.receive(self.options.patience), self.ferry.receive(self.options.patience)
        return want, got

    def reduce(self, case, kind):
        spec = self.table[case["op"]]
        for _ in range(3):
            changed = False
            for trial in simpler(case):
                if spec.groups(trial) is None:
                    continue
                want, got = self.ask(trial)
                found = differ(trial, want, got)
                if found and found[0] == kind and want[0] in ("ok", "error"):
                    case, changed = trial, True
                    break
            if not changed:
                break
        return case

    def look(self, case):
        want, got = self.ask(case)
        op = case["op"]
        self.calls[op] += 1
        self.good[op] += want[0] == "ok"
        found = differ(case, want, got)
        if found is None and self.options.goldens:
            self.keep(case, want)
        if found is None or (found[0] == "text" and not self.options.text):
            return
        kind, detail = found
        if want[0] in ("crash", "hang"):
            kind = "TensorFlow: " + want[0]
        elif got[0] not in ("crash", "hang") and any(
                re.fullmatch(ops, op) and (re.fullmatch(what, kind) or re.fullmatch(what, detail, re.S))
                for ops, what, _ in KNOWN):
            self.stay[op] += 1
            return
        if want[0] == "error" and "fuzzer:" in want[2]:
            return
        shape = re.sub(r"-?\d+(\.\d+)?|\[[^\]]*\]", "#", detail)[:70] if kind in ("code", "ok for error", "error for ok", "text") else ""
        key = (op, kind, shape)
        known = self.kinds.setdefault(key, [0, detail, None])
        known[0] += 1
        if known[0] > 1:
            return
        if want[0] in ("ok", "error") and got[0] != "hang":
            case = self.reduce(case, kind)
            want, got = self.ask(case)
            again = differ(case, want, got)
            if again:
                known[1] = again[1]
        print("DIFFERENT %s %s: %s" % (op, kind, known[1]), flush=True)
        text = text_of(case, want)
        known[2] = text
        if self.options.save:
            with open(self.options.save, "a", encoding="utf-8") as f:
                f.write("# %s %s: %s\n" % (op, kind, known[1].replace("\n", " ")) + text)

    def keep(self, case, answer):
        """Appends a call on which both agree, text and all, to --goldens: small, two or so of an op."""
        graph = case.get("mode") == "graph"
        text = text_of(case, answer)
        kind = (case["op"], answer[0]) + (() if self.options.replay else (len(case["inputs"]) and case["inputs"][0][0],))
        if "# computed" in text or len(text) > 700 or self.kept[kind] >= self.options.per_op or self.kept_bytes > 390000:
            return
        if answer[0] not in ("ok", "error"):
            return
        if answer[0] == "ok" and not graph and any(t[2] is None for t in answer[1] + answer[2]):
            return
        self.kept[kind] += 1
        self.kept_bytes += len(text)
        with open(self.options.goldens, "a", encoding="utf-8") as f:
            f.write(text)

    def run(self):
        options = self.options
        self.table = cases.specs()
        with open(os.path.join(HERE, "../src/ops/list.inc"), encoding="utf-8") as f:
            ours = re.findall(r"^FY_OP_ENTRY\((\w+)\)", f.read(), re.M)
        known = cases.corpus(self.table)
        skipped = collections.defaultdict(list)
        wanted = []
        for op in ours:
            if op not in self.table or not re.fullmatch(options.ops, op):
                continue
            why = next((why for pattern, why in SKIPPED if re.fullmatch(pattern, op)), None)
            if not why and any("ref " in kind for _, kind in self.table[op].inputs):
                why = "reference variables: graphs only"
            if options.shapes and why and not re.fullmatch(SHAPELESS, why):
                why = None
            if why:
                skipped[why].append(op)
            else:
                wanted.append(op)
        if options.first:
            with open(options.first, encoding="utf-8") as f:
                order = {line.split("\t")[0]: i for i, line in enumerate(f)}
            wanted.sort(key=lambda op: order.get(op, 1 << 20))
        r = np.random.RandomState(options.seed)
        if options.shuffle:
            r.shuffle(wanted)
        end = time.time() + options.seconds
        unmade = set()
        if options.replay:
            table = self.table
            for case in replay(options.replay, table):
                self.look(case)
            return self.report(ours, skipped, unmade)
        if options.faults:
            self.faults(r, wanted, known, end)
            return self.report(ours, skipped, unmade)
        rounds = 0
        while time.time() < end and rounds * options.burst < options.calls:
            rounds += 1
            for op in wanted:
                if time.time() >= end:
                    break
                spec, seeds = self.table[op], known.get(op)
                for _ in range(options.burst):
                    case = None
                    if seeds and r.rand() < .75:
                        case = cases.mutate(r, seeds[r.randint(len(seeds))], spec)
                    if case is None:
                        case = cases.generate(r, spec, options.shapes)
                    if case is None and seeds:
                        case = cases.mutate(r, seeds[r.randint(len(seeds))], spec)
                    if case is None or spec.groups(case) is None:
                        unmade.add(op)
                        continue
                    if options.shapes:
                        case = in_graph(r, case, spec)
                    elif options.session:
                        case = in_session(r, case, spec)
                    elif options.spoil:
                        case = cases.spoil(r, case, spec)
                    try:
                        self.look(case)
                    except (UnicodeDecodeError, OverflowError) as e:
                        print("cannot ask %s: %s" % (op, e))
        self.report(ours, skipped, unmade - set(self.calls))

    def faults(self, r, wanted, known, end):
        """Every mistake that cases.faults() can make in --calls good calls of each op."""
        for op in wanted:
            good = [c for c in known.get(op, []) if not c["fails"]]
            r.shuffle(good)
            for case in good[:min(self.options.calls, 3)]:
                for trial in cases.faults({k: case[k] for k in ("op", "attrs", "inputs", "vars")}, self.table[op]):
                    if time.time() >= end:
                        return
                    if self.table[op].groups(trial) is None:
                        continue
                    if self.options.session:
                        trial = in_session(r, trial, self.table[op])
                    try:
                        self.look(trial)
                    except (UnicodeDecodeError, OverflowError) as e:
                        print("cannot ask %s: %s" % (op, e))

    def report(self, ours, skipped, unmade):
        print("\n%-32s %s" % ("why not called", "ops"))
        for why, ops in sorted(skipped.items()):
            print("%s: %d: %s" % (why, len(ops), " ".join(ops)))
        if unmade:
            print("takes a resource or variant: %d: %s" % (len(unmade), " ".join(sorted(unmade))))
        print("\ndifferences, by op")
        for (op, kind, _), (n, detail, _) in sorted(self.kinds.items()):
            print("%5d %s %s: %s" % (n, op, kind, detail[:300]))
        never = [op for op in self.calls if not self.good[op]]
        if never:
            print("never succeeded in TensorFlow: " + " ".join(sorted(never)))
        print("%d answers differ in a way that stays (KNOWN)" % sum(self.stay.values()))
        print("%d of %d ops, %d calls (%d succeed in TensorFlow), %d kinds of difference" %
              (len(self.calls), len(ours), sum(self.calls.values()), sum(self.good.values()),
               sum(1 for k in self.kinds if not k[1].startswith("TensorFlow"))))


def replay(path, table):
    with open(path, encoding="utf-8") as f:
        text = f.read()
    for block in re.split(r"^(?=op |shape )", text, flags=re.M)[1:]:
        lines = block.splitlines()
        mode, op = lines[0].split(" ", 1)
        case = {"op": op, "attrs": {}, "inputs": [], "vars": 0}
        spec = table[op]
        for line in lines[1:]:
            word, _, rest = line.partition(" ")
            if word == "attr":
                name, value = rest.split(" ", 1)
                case["attrs"][name] = (spec.attrs[name][0], cases.read_attr(spec.attrs[name][0], value))
            elif word in ("in", "var") and mode == "op":
                case["inputs"].append(cases.parse_tensor(rest))
                case["vars"] += word == "var"
            elif word == "in":
                parts = rest.split(" ")
                dims = None if parts[1] == "<unknown>" else [
                    -1 if d == "?" else int(d) for d in parts[1].strip("[]").split(",") if d]
                value = len(parts) > 2
                case["inputs"].append(cases.parse_tensor(rest) if value else (parts[0], (), b""))
                case.setdefault("known", []).append("value" if value else dims)
        if mode == "shape":
            case.setdefault("known", [])
            groups = spec.groups(case)
            refs = ["ref " in kind for (_, kind), size in zip(spec.inputs, groups or []) for _ in range(abs(size))]
            case.update(mode="graph", groups=groups, inferred=spec.inferred(), refs=refs)
        yield case


def main():
    p = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    p.add_argument("--ops", default=".*", help="names that match this (whole)")
    p.add_argument("--seconds", type=float, default=60)
    p.add_argument("--calls", type=int, default=1 << 40, help="at most so many of each op")
    p.add_argument("--burst", type=int, default=8, help="calls of an op before the next op")
    p.add_argument("--seed", type=int, default=1)
    p.add_argument("--patience", type=float, default=60, help="seconds before a call hangs")
    p.add_argument("--shuffle", action="store_true", help="ops in any order")
    p.add_argument("--save", help="append each kind of difference here")
    p.add_argument("--shapes", action="store_true", help="shape inference instead of calls")
    p.add_argument("--session", action="store_true", help="in a session, inputs constant or fed")
    p.add_argument("--large", action="store_true", help="tensors of up to half a million elements")
    p.add_argument("--spoil", action="store_true", help="calls that do not fit the signature")
    p.add_argument("--faults", action="store_true", help="one mistake in a good call, all of them in turn")
    p.add_argument("--text", action="store_true", help="error messages must agree, too")
    p.add_argument("--first", help="file whose ops go first")
    p.add_argument("--goldens", help="append calls on which both agree here")
    p.add_argument("--per-op", type=int, default=1, help="so many for each op, outcome and first type")
    p.add_argument("--replay", help="run the cases of this file")
    options = p.parse_args()
    if options.large:
        cases.large()
    fuzzer = Fuzzer(options)
    try:
        fuzzer.run()
    finally:
        fuzzer.tf.stop()
        fuzzer.ferry.stop()
    return 1 if any(not k[1].startswith("TensorFlow") for k in fuzzer.kinds) else 0


if __name__ == "__main__":
    sys.exit(main())
