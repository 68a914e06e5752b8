#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Random calls of ops for tools/fuzz_ops.py: from the signatures alone, and by changing known cases.

The golden cases of tests/data are the corpus: each is a call whose parts fit together. A mutation
renames a dim everywhere, changes an element type, an attribute, an index, a rank, or the values. The
signature (src/ops/opdefs.tsv) says what may be changed into what, and makes calls out of nothing for
ops that no golden shows.
"""
import glob
import os
import re

import ml_dtypes
import numpy as np

ROOT = os.path.join(os.path.dirname(os.path.abspath(__file__)), "..")
NUMPY = {"float": np.float32, "double": np.float64, "int32": np.int32, "uint8": np.uint8,
         "int16": np.int16, "int8": np.int8, "complex64": np.complex64, "int64": np.int64,
         "bool": np.bool_, "qint8": np.int8, "quint8": np.uint8, "qint32": np.int32,
         "bfloat16": ml_dtypes.bfloat16, "qint16": np.int16, "quint16": np.uint16,
         "uint16": np.uint16, "complex128": np.complex128, "half": np.float16, "uint32": np.uint32,
         "uint64": np.uint64, "float8_e5m2": ml_dtypes.float8_e5m2,
         "float8_e4m3fn": ml_dtypes.float8_e4m3fn, "int4": ml_dtypes.int4, "uint4": ml_dtypes.uint4}
FLOATS = ("float", "double", "half", "bfloat16", "float8_e5m2", "float8_e4m3fn")
COMPLEX = ("complex64", "complex128")
ANY = [t for t in NUMPY if not t.startswith(("q", "float8", "int4", "uint4"))] + ["string"]


# ---------------------------------------------------------------- signatures
class Spec:
    def __init__(self, fields):
        fields = fields + [""] * 8
        self.name, self.flags = fields[0], fields[4]
        self.inputs = [tuple(a.strip().split(":", 1)) for a in fields[1].split(", ") if a.strip()]
        self.outputs = [tuple(a.strip().split(":", 1)) for a in fields[2].split(", ") if a.strip()]
        self.attrs = {}
        for m in re.finditer(r"(\w+):(list\(\w+\)|\w+)(\{(?:[^}']|'[^']*')*\})?(>=-?\d+)?"
                             r"(=(?:'(?:[^'\\]|\\.)*'|\[[^\]]*\]|[^ ]*))?(?: |$)", fields[3]):
            allowed = re.findall(r"'([^']*)'|([^|{}]+)", m.group(3) or "")
            self.attrs[m.group(1)] = (m.group(2), [a or b for a, b in allowed],
                                      int(m.group(4)[2:]) if m.group(4) else None,
                                      m.group(5)[1:] if m.group(5) else None)
        self.kernels = []
        for one in fields[5].split(";"):
            found = {}
            for pair in re.split("[@!]", one)[0].split(","):
                if "=" in pair:
                    k, v = pair.split("=", 1)
                    found[k] = v.split("|")
            self.kernels.append(found)

    def types(self, attr):
        """What the CPU kernels take for a type attribute, else what the signature allows."""
        kind, allowed = self.attrs[attr][:2]
        found = [t for k in self.kernels for t in k.get(attr, [])]
        found = list(dict.fromkeys(t for t in found if not allowed or t in allowed))
        return [t for t in found or allowed or ANY if t in NUMPY or t == "string"]

    def groups(self, case):
        """The size of each list argument, -1 for a plain one; None if the inputs do not fit."""
        sizes = []
        for _, kind in self.inputs:
            kind = kind.replace("ref ", "")
            if "*" in kind:
                sizes.append(case["attrs"].get(kind.split("*")[0], (0, -2))[1])
            elif kind.startswith("list("):
                sizes.append(len(case["attrs"].get(kind[5:-1], (0, []))[1]))
            else:
                sizes.append(-1)
        total = sum(1 if s == -1 else s for s in sizes)
        return sizes if total == len(case["inputs"]) and -2 not in sizes else None

    def inferred(self):
        names = set()
        for _, kind in self.inputs:
            kind = kind.replace("ref ", "")
            if "*" in kind:
                names.update(kind.split("*"))
            elif kind.startswith("list("):
                names.add(kind[5:-1])
            else:
                names.add(kind)
        return names & set(self.attrs)

    def arg_of(self, case):
        """For every input: (argument name, its type or type attribute)."""
        found = []
        for (name, kind), size in zip(self.inputs, self.groups(case) or []):
            kind = kind.replace("ref ", "").split("*")[-1]
            found += [(name, kind)] * (1 if size < 0 else size)
        return found


def specs():
    table = {}
    with open(os.path.join(ROOT, "src/ops/opdefs.tsv"), encoding="utf-8") as f:
        for line in f:
            if not line.startswith("#"):
                fields = line.rstrip("\n").split("\t")
                table[fields[0]] = Spec(fields)
    return table


# ---------------------------------------------------------------- the text of golden cases
def read_attr(kind, text):
    text = text.strip()
    if kind.startswith("list("):
        inner = kind[5:-1]
        body = text[1:-1].strip()
        if inner == "shape":
            return [read_attr("shape", s) for s in re.findall(r"\[[^\]]*\]|\?", body)]
        if inner == "string":
            return [s.encode("latin-1") for s in re.findall(r'"([^"]*)"', body)]
        return [read_attr(inner, s) for s in body.split(",")] if body else []
    if kind == "int":
        return int(text)
    if kind == "float":
        return float(text)
    if kind == "bool":
        return text == "true"
    if kind == "type":
        return text.strip("\"")
    if kind == "string":
        return text[1:-1].encode("utf-8")
    if kind == "shape":
        if text in ("?", "<unknown>"):
            return None
        body = text.strip("[]")
        return [-1 if d.strip() == "?" else int(d) for d in body.split(",")] if body else []
    raise ValueError(kind)


def attr_text(kind, v):
    if kind.startswith("list("):
        return "[" + ",".join(attr_text(kind[5:-1], x) for x in v) + "]"
    if kind == "bool":
        return "true" if v else "false"
    if kind == "string":
        return '"%s"' % v.decode("utf-8")
    if kind == "shape":
        return "?" if v is None else "[" + ",".join("?" if d < 0 else str(d) for d in v) + "]"
    return str(v)


def tensor_text(t):
    name, dims, data = t
    if name == "string":
        text = ",".join("x" + s.hex() for s in data)
    else:
        text = data.hex()
    return "%s [%s] %s" % (name, ",".join(map(str, dims)), text or "-")


def parse_tensor(text):
    name, dims, data = (text.split(" ") + ["-"])[:3]
    dims = tuple(int(d) for d in dims.strip("[]").split(",") if d)
    count = int(np.prod(dims)) if dims else 1
    if name == "string":
        return (name, dims, [bytes.fromhex(s[1:]) for s in data.split(",")] if count else [])
    return (name, dims, b"" if data == "-" else bytes.fromhex(data))


def corpus(table, longest=6000):
    """op -> cases of all golden files that a mutation can start from."""
    found = {}
    for path in sorted(glob.glob(os.path.join(ROOT, "tests/data/op_goldens*.txt"))):
        with open(path, encoding="utf-8") as f:
            blocks = re.split(r"^op ", f.read(), flags=re.M)[1:]
        for block in blocks:
            lines = block.splitlines()
            spec = table.get(lines[0])
            if not spec or len(block) > longest or re.search("^(kept|keep)", block, re.M):
                continue
            case = {"op": lines[0], "attrs": {}, "inputs": [], "vars": 0}
            try:
                for line in lines[1:]:
                    word, _, rest = line.partition(" ")
                    if word == "attr":
                        name, value = rest.split(" ", 1)
                        kind = spec.attrs[name][0]
                        case["attrs"][name] = (kind, read_attr(kind, value))
                    elif word in ("in", "var"):
                        case["inputs"].append(parse_tensor(rest))
                        case["vars"] += word == "var"
            except (ValueError, KeyError):
                continue
            case["fails"] = any(line.startswith("error ") for line in lines)
            if spec.groups(case) is not None:
                found.setdefault(lines[0], []).append(case)
    return found


# ---------------------------------------------------------------- values
def to_array(t):
    if t[0] == "string":
        a = np.empty(len(t[2]), dtype=object)
        a[:] = t[2]
        return a.reshape(t[1])
    return np.frombuffer(t[2], dtype=NUMPY[t[0]]).reshape(t[1])


def from_array(name, a):
    if name == "string":
        return (name, tuple(a.shape), [bytes(x) for x in a.reshape(-1)])
    return (name, tuple(a.shape), np.ascontiguousarray(a, dtype=NUMPY[name]).tobytes())


def make_array(r, name, dims, low=-3.0, high=3.0, special=0.1):
    n = int(np.prod(dims)) if len(dims) else 1
    if name == "string":
        a = np.empty(n, dtype=object)
        pool = [b"", b"a", b"-1.5", b"12", b"a b  c", "\u00e9\u4e2d\U0001f600".encode(), b"\xff\x00z", b"x" * 30]
        for i in range(n):
            a[i] = pool[r.randint(len(pool))]
        return a.reshape(dims)
    if name == "bool":
        return (r.rand(n) < .5).reshape(dims)
    dtype = NUMPY[name]
    if name in FLOATS or name in COMPLEX:
        style = r.rand()
        if style < .3:  # sums of these are exact in any order
            x = r.randint(-8, 9, n) / 4.0
        elif style < .9:
            x = r.uniform(low, high, n)
        else:
            x = r.normal(0, 1, n) * 10.0 ** r.randint(-4, 5, n)
        if r.rand() < special and n:
            for _ in range(r.randint(1, 4)):
                x[r.randint(n)] = r.choice([np.nan, np.inf, -np.inf, 0.0, -0.0, 1.0, -1.0, 0.5, 1e4])
        if name in COMPLEX:
            x = x.astype(np.complex128)
            x.imag = r.permutation(x.real)
        with np.errstate(all="ignore"):
            return x.astype(dtype).reshape(dims)
    info = ml_dtypes.iinfo(dtype)
    style = r.rand()
    lo, hi = (max(int(info.min), -6), min(int(info.max), 7)) if style < .8 else (int(info.min), int(info.max))
    x = [min(hi, lo + int(r.rand() * (hi - lo + 1))) for _ in range(n)]
    if r.rand() < special and n:
        x[r.randint(n)] = [int(info.min), int(info.max), 0, 1][r.randint(4)]
    mask = (1 << 64) - 1  # through 64 bits: numpy would make floats of mixed sizes
    return np.array([v & mask for v in x], np.uint64).astype(np.int64).astype(dtype).reshape(dims)


def resample(r, t, dims, special):
    """New values of the old kind: indices stay in the range they were in."""
    old = to_array(t).reshape(-1)
    n = int(np.prod(dims)) if len(dims) else 1
    if t[0] in FLOATS or t[0] in COMPLEX:
        if r.rand() < .6 or not old.size:
            return make_array(r, t[0], dims, special=special)
    elif not old.size:
        return make_array(r, t[0], dims)
    if n == old.size and (r.rand() < .5 or t[0] == "string"):
        return old.reshape(dims)
    return old[r.randint(0, old.size, n)].reshape(dims)


# ---------------------------------------------------------------- changes
SIZES_OF_DIMS = [0, 1, 1, 2, 2, 3, 3, 4, 5, 5, 7, 8, 9, 13, 17, 33]
MOST = 4096  # elements of a tensor


def large():
    """From now on tensors that kernels split over threads and into blocks."""
    global SIZES_OF_DIMS, MOST
    SIZES_OF_DIMS = [1, 2, 3, 5, 16, 31, 32, 33, 64, 65, 100, 127, 128, 129, 200, 256, 257, 500, 512, 1000, 1025]
    MOST = 1 << 19


def small_dim(r):
    return int(r.choice(SIZES_OF_DIMS))


def rename_dim(r, case, spec):
    sizes = sorted({d for t in case["inputs"] for d in t[1]})
    if not sizes:
        return False
    old, new = int(r.choice(sizes)), small_dim(r)
    follow = r.rand() < .6
    for i, t in enumerate(case["inputs"]):
        dims = tuple(new if d == old else d for d in t[1])
        if int(np.prod(dims)) > MOST:
            return False
        a = resample(r, t, dims, 0)
        if follow and t[0] in ("int32", "int64") and i >= case["vars"] and len(dims) <= 1 and a.size:
            a = np.where(a == old, new, a).astype(a.dtype)
        case["inputs"][i] = from_array(t[0], a)
    return True


def change_values(r, case, spec):
    for i, t in enumerate(case["inputs"]):
        case["inputs"][i] = from_array(t[0], resample(r, t, t[1], .4))
    return True


def change_ints(r, case, spec):
    which = [i for i, t in enumerate(case["inputs"]) if t[0] in ("int32", "int64", "int16") and len(t[2])]
    if not which:
        return False
    i = int(r.choice(which))
    a = to_array(case["inputs"][i]).copy().reshape(-1)
    a = a.astype(np.int64)
    for _ in range(r.randint(1, 3)):
        k = r.randint(a.size)
        a[k] = r.choice([a[k] + 1, a[k] - 1, -a[k] if a[k] > -100 else 0, 0, 1, -1, a[r.randint(a.size)], 7, 2,
                         r.choice([-2 ** 15, 2 ** 15 - 1, 100])])
    if r.rand() < .1 and case["inputs"][i][0] != "int16":
        a[r.randint(a.size)] = r.choice([-2 ** 31, 2 ** 31 - 1])
    case["inputs"][i] = from_array(case["inputs"][i][0], a.reshape(case["inputs"][i][1]))
    return True


def change_shape(r, case, spec):
    if not case["inputs"]:
        return False
    i = r.randint(len(case["inputs"]))
    t = case["inputs"][i]
    dims = list(t[1])
    what = r.randint(4)
    if what == 0 and len(dims) < 7:
        dims.insert(r.randint(len(dims) + 1), 1)
    elif what == 1 and dims:
        dims.pop(r.randint(len(dims)))
    elif what == 2 and dims:
        dims[r.randint(len(dims))] = small_dim(r)
    else:
        dims = [small_dim(r) for _ in range(r.randint(0, 5))]
    if int(np.prod(dims)) > MOST:
        return False
    case["inputs"][i] = from_array(t[0], resample(r, t, dims, 0))
    return True


def all_ranks(r, case, spec):
    """One more dimension in front of every tensor of the largest rank, or one less."""
    rank = max([len(t[1]) for t in case["inputs"]] or [0])
    more = r.rand() < .5
    if not rank or rank > 6:
        return False
    n = int(r.choice([1, 2, 3]))
    for i, t in enumerate(case["inputs"]):
        if len(t[1]) == rank:
            dims = ((n,) + t[1]) if more else t[1][1:]
            if int(np.prod(dims)) > MOST:
                return False
            case["inputs"][i] = from_array(t[0], resample(r, t, dims, 0))
    return True


def cast_array(r, a, old, new):
    if new == old:
        return a
    if new == "string" or old == "string":
        return make_array(r, new, a.shape)
    with np.errstate(all="ignore"):
        if old in COMPLEX:
            a = a.real
        if new in COMPLEX or new in FLOATS or new == "bool":
            return a.astype(np.float64).astype(NUMPY[new])
        info = ml_dtypes.iinfo(NUMPY[new])
        x = np.nan_to_num(a.astype(np.float64), nan=0, posinf=5, neginf=-5)
        x = np.clip(x, max(-1e9, float(info.min)), min(1e9, float(info.max)))
        return x.astype(np.int64).astype(NUMPY[new])


def change_type(r, case, spec):
    names = [a for a in spec.inferred() if spec.attrs[a][0] == "type" and a in case["attrs"]]
    if not names:
        return False
    attr = names[r.randint(len(names))]
    choices = spec.types(attr) if r.rand() < .97 else ANY
    if not choices:
        return False
    new = str(r.choice(choices))
    case["attrs"][attr] = ("type", new)
    for i, (_, kind) in enumerate(spec.arg_of(case)):
        if kind == attr or (i < case["vars"] and attr in ("T", "dtype")):
            t = case["inputs"][i]
            case["inputs"][i] = from_array(new, cast_array(r, to_array(t), t[0], new))
    return True


def random_attr(r, spec, name, old=None):
    kind, allowed, least, default = spec.attrs[name]
    if kind == "bool":
        return bool(r.rand() < .5)
    if kind == "string":
        pool = allowed or [old.decode("latin-1") if old else ""]
        return str(r.choice(pool)).encode("latin-1") if r.rand() < .97 else b"nonsense"
    if kind == "int":
        base = old if old is not None else int(default) if default and re.fullmatch(r"-?\d+", default) else 1
        v = int(r.choice([base, base + 1, base - 1, 0, 1, 2, 3, -1, 5, base * 2]))
        return max(v, least) if least is not None and r.rand() < .8 else v
    if kind == "float":
        return float(r.choice([old if old is not None else 1.0, 0.0, .5, 1.0, -1.0, 2.5, .001, float("nan")],
                              p=[.3, .1, .15, .15, .1, .1, .08, .02]))
    if kind == "type":
        choices = spec.types(name)
        return str(r.choice(choices))
    if kind == "list(int)":
        v = list(old) if old is not None else [int(r.randint(1, 3)) for _ in range(r.choice([0, 1, 2, 4, 4, 5]))]
        if v and r.rand() < .9:
            v[r.randint(len(v))] = int(r.choice([0, 1, 2, 3, 4, -1, 5]))
        elif r.rand() < .5 and v:
            v.pop()
        else:
            v.append(1)
        return v
    if kind == "shape":
        if r.rand() < .1:
            return None
        return [int(r.choice([-1, 0, 1, 2, 3, 4])) for _ in range(r.randint(0, 4))]
    if kind == "list(float)":
        v = list(old) if old else [float(x) for x in r.uniform(-2, 2, r.randint(0, 4))]
        if v:
            v[r.randint(len(v))] = float(r.choice([0, 1, -1, .5, 10]))
        return v
    return old


def change_attr(r, case, spec):
    fixed = spec.inferred()
    names = [a for a in spec.attrs if a not in fixed and spec.attrs[a][0] in (
        "bool", "string", "int", "float", "type", "list(int)", "list(float)", "shape") and a not in (
        "seed", "seed2", "container", "shared_name", "table_name", "message", "exit_without_error")]
    if not names:
        return False
    name = names[r.randint(len(names))]
    kind = spec.attrs[name][0]
    old = case["attrs"].get(name, (kind, None))[1]
    new = random_attr(r, spec, name, old)
    if new is None and kind != "shape":
        return False
    if kind == "int" and abs(new) > 10 ** 6:
        return False
    case["attrs"][name] = (kind, new)
    return True


def change_list(r, case, spec):
    """One tensor more or less in every list of the same length attribute."""
    names = {kind.split("*")[0] for _, kind in spec.inputs if "*" in kind}
    if len(names) != 1:
        return False
    name = names.pop()
    n = case["attrs"][name][1]
    grow = r.rand() < .5 or n < 2
    at, inputs = 0, []
    for (_, kind), size in zip(spec.inputs, spec.groups(case)):
        count = 1 if size < 0 else size
        part = case["inputs"][at:at + count]
        at += count
        if "*" in kind:
            if not part:
                return False
            part = part + [part[r.randint(len(part))]] if grow else part[:-1]
        inputs += part
    case["inputs"] = inputs
    case["attrs"][name] = ("int", n + 1 if grow else n - 1)
    return True


def change_text(r, case, spec):
    which = [i for i, t in enumerate(case["inputs"]) if t[0] == "string" and len(t[2])]
    if not which:
        return False
    i = int(r.choice(which))
    t = case["inputs"][i]
    data = list(t[2])
    k = r.randint(len(data))
    s = bytearray(data[k])
    what = r.randint(5)
    if what == 0 and s:
        s[r.randint(len(s))] = r.randint(256)
    elif what == 1 and s:
        del s[r.randint(len(s))]
    elif what == 2:
        s[r.randint(len(s) + 1):0] = bytes(r.choice([b" ", b"1", b"-", b".", b"e", b"a", b"\xc3", b"\x00", b"A", b",", b"\""]))
    elif what == 3 and s:
        s = s[:r.randint(len(s))]
    else:
        s = bytearray(data[r.randint(len(data))])
    data[k] = bytes(s)
    case["inputs"][i] = (t[0], t[1], data)
    return True


CHANGES = [(rename_dim, 4), (change_values, 3), (change_ints, 3), (change_shape, 2), (all_ranks, 1),
           (change_type, 3), (change_attr, 4), (change_list, 1), (change_text, 3)]
WEIGHTED = [f for f, n in CHANGES for _ in range(n)]


def mutate(r, case, spec):
    case = {"op": case["op"], "attrs": dict(case["attrs"]), "inputs": list(case["inputs"]), "vars": case["vars"]}
    wanted = int(r.choice([1, 1, 2, 2, 3, 4]))
    for _ in range(12):
        trial = {"op": case["op"], "attrs": dict(case["attrs"]), "inputs": list(case["inputs"]),
                 "vars": case["vars"]}
        if WEIGHTED[r.randint(len(WEIGHTED))](r, trial, spec):
            case = trial
            wanted -= 1
            if not wanted:
                break
    return reseed(r, case, spec)


def reseed(r, case, spec):
    """Random numbers of their own for every call: a kernel with the same seeds is the same kernel."""
    if "seed" in spec.attrs and "seed2" in spec.attrs and "S" in spec.flags:
        case["attrs"]["seed"] = ("int", int(r.randint(1, 1 << 30)))
        case["attrs"]["seed2"] = ("int", int(r.randint(1, 1 << 30)))
    return case


# ---------------------------------------------------------------- out of nothing
AXIS = re.compile(r"(axis|axes|dim|dims|dimension|reduction_indices|concat_dim|split_dim|reduction_axes|perm)$")
SIZES = re.compile(r"(shape|size|sizes|dense_shape|output_shape|input_sizes|filter_sizes|multiples|"
                   r"num_segments|depth|k|limit|num|orig_input_shape|s0|s1|num_rows|num_cols|.*_shape|.*_size)$")
INDICES = re.compile(r"(indices|segment_ids|begin|start|starts|end|strides|.*ids|index|i|.*indices|paddings|"
                     r"block_shape|crops|shift)$")


def generate(r, spec, graph=False):
    """A call from the signature alone; None if the signature has what cannot be made: functions, and
    (but in a graph, where only their shape counts) resources and variants."""
    case = {"op": spec.name, "attrs": {}, "inputs": [], "vars": 0}
    kernel = spec.kernels[r.randint(len(spec.kernels))] if spec.kernels else {}
    for name, (kind, allowed, least, default) in spec.attrs.items():
        if kind in ("func", "tensor", "list(func)", "list(tensor)"):
            return None
        if kind == "type":
            types = [t for t in kernel.get(name, []) if t in NUMPY or t == "string"]
            types = [t for t in types if not allowed or t in allowed] or spec.types(name)
            if not types:
                return None
            case["attrs"][name] = (kind, str(r.choice(types)))
        elif kind == "list(type)":
            n = int(r.randint(max(1, least or 0), 4))
            case["attrs"][name] = (kind, [str(r.choice(allowed or ANY)) for _ in range(n)])
        elif name in spec.inferred():
            case["attrs"][name] = (kind, int(r.randint(max(1, least or 0), 4)))
        elif default is None or r.rand() < .3:
            v = random_attr(r, spec, name)
            if v is None and kind != "shape":
                if kind.startswith("list("):
                    v = []
                else:
                    return None
            case["attrs"][name] = (kind, v)
    base = [small_dim(r) for _ in range(r.choice([0, 1, 1, 2, 2, 3, 4, 5, 6]))]
    while int(np.prod(base)) > MOST // 2:
        base.pop()
    style = r.rand()
    for name, kind in spec.inputs:
        count = 1
        kind = kind.replace("ref ", "")
        if "*" in kind:
            n, kind = kind.split("*")
            count = case["attrs"][n][1]
        if kind.startswith("list("):
            types = case["attrs"][kind[5:-1]][1]
        else:
            types = [case["attrs"][kind][1] if kind in case["attrs"] else kind] * count
        for t in types:
            if graph and t in ("resource", "variant"):
                case["inputs"].append((t, () if r.rand() < .8 else (int(r.randint(0, 4)),), b""))
                continue
            if t not in NUMPY and t != "string":
                return None
            dims = list(base)
            if style > .9:
                dims = [small_dim(r) for _ in range(r.randint(0, 4))]
            elif style > .5:
                dims = [1 if r.rand() < .25 else d for d in dims][r.randint(0, len(dims) + 1) if r.rand() < .3 else 0:]
            if t in ("int32", "int64", "int16") and (AXIS.match(name) or SIZES.match(name) or INDICES.match(name)):
                rank = len(base)
                if AXIS.match(name):
                    dims = [] if r.rand() < .5 else [int(r.randint(0, rank + 1))]
                    a = r.randint(-rank - (r.rand() < .1), max(1, rank) + (r.rand() < .1), dims)
                elif SIZES.match(name):
                    if r.rand() < .5:
                        a = np.array(base, np.int64) if r.rand() < .7 else r.permutation(np.array(base, np.int64))
                    else:
                        a = r.randint(-1 if r.rand() < .2 else 0, 6, [] if r.rand() < .5 else [int(r.randint(0, 5))])
                else:
                    dims = dims if r.rand() < .5 else dims[:1]
                    a = r.randint(-1 if r.rand() < .15 else 0, 4, dims)
                    if "segment" in name and r.rand() < .7:
                        a = np.sort(a, axis=0) if a.ndim else a
                a = np.asarray(a).astype(NUMPY[t])
            else:
                a = make_array(r, t, dims)
            case["inputs"].append(from_array(t, a))
    return reseed(r, case, spec)


# ---------------------------------------------------------------- one mistake in a good call
def resized(t, dims):
    """The tensor with other dims: its elements, repeated."""
    a, n = to_array(t).reshape(-1), int(np.prod(dims)) if dims else 1
    if not a.size:
        a = np.array([b""], dtype=object) if t[0] == "string" else np.zeros(1, NUMPY[t[0]])
    return from_array(t[0], np.resize(a, n).reshape(dims))


def faults(case, spec):
    """Calls with one thing wrong (or not): of each input the rank, a size, a number; of each attribute the value."""
    for i, t in enumerate(case["inputs"]):
        dims, changes = list(t[1]), []
        changes += [resized(t, [1] + dims), resized(t, dims + [2])]
        if dims:
            changes += [resized(t, dims[1:]), resized(t, []), resized(t, [0] + dims[1:])]
        for d in range(len(dims)):
            changes.append(resized(t, dims[:d] + [dims[d] + 1] + dims[d + 1:]))
            if dims[d] > 1:
                changes.append(resized(t, dims[:d] + [dims[d] - 1] + dims[d + 1:]))
        if t[0] in ("int32", "int64", "int16") and len(t[2]):
            for v in (-1, -2, 0, 1, 7, 100, 2 ** 31 - 1 if t[0] != "int16" else 32767, -2 ** 31 if t[0] != "int16" else -32768):
                for k in {0, to_array(t).size - 1}:
                    a = to_array(t).copy()
                    a.reshape(-1)[k] = v
                    changes.append(from_array(t[0], a))
        for changed in changes:
            if len(changed[2]) <= 1 << 16:
                yield dict(case, inputs=case["inputs"][:i] + [changed] + case["inputs"][i + 1:])
    for name, (kind, allowed, _, _) in spec.attrs.items():
        old = case["attrs"].get(name, (kind, None))[1]
        wrong = {"int": [-1, 0, 1, 2, 100, -2 ** 31], "string": [b"", b"nonsense"] + [a.encode() for a in allowed], "float": [-1.0, 0.0, 2.5],
                 "bool": [True, False]}.get(kind, [])
        if kind == "list(int)" and old is not None:
            wrong = [[], old[:-1], old + [1]] + [old[:k] + [v] + old[k + 1:] for k in range(len(old)) for v in (0, -1, 2, 5)]
        if kind in ("int", "list(int)", "string", "float", "bool") and name not in spec.inferred():
            for v in wrong:
                if v != old and name not in ("seed", "seed2", "container", "shared_name"):
                    yield dict(case, attrs=dict(case["attrs"], **{name: (kind, v)}))


# ---------------------------------------------------------------- calls that do not fit
def spoil(r, case, spec):
    """The call with something wrong that the signature alone tells (mostly)."""
    case = dict(case, attrs=dict(case["attrs"]), inputs=list(case["inputs"]))
    what = r.randint(8)
    plain = [i for i in range(len(case["inputs"])) if i >= case["vars"]]
    names = list(case["attrs"])
    if what == 0 and plain:
        del case["inputs"][plain[r.randint(len(plain))]]
    elif what in (1, 2) and plain:
        i = plain[r.randint(len(plain))]
        new = str(r.choice(ANY + ["qint8", "qint32"]))
        case["inputs"][i] = from_array(new, make_array(r, new, case["inputs"][i][1]))
    elif what == 3 and names:
        del case["attrs"][names[r.randint(len(names))]]
    elif what == 4 and names:
        name = names[r.randint(len(names))]
        kinds = [("int", 3), ("bool", True), ("float", 1.5), ("string", b"no"), ("type", "float"), ("shape", [2]),
                 ("list(int)", [1, 2]), ("list(type)", ["float"])]
        case["attrs"][name] = kinds[r.randint(len(kinds))]
    elif what == 5:
        case["attrs"]["unheard_of"] = ("int", 1)
    elif what == 6:
        types = [n for n in names if spec.attrs[n][0] == "type"]
        if types:
            case["attrs"][types[r.randint(len(types))]] = ("type", str(r.choice(ANY + ["qint8", "resource", "variant"])))
    elif names:
        name = names[r.randint(len(names))]
        kind = spec.attrs[name][0]
        worst = {"int": [-1, -2 ** 63, 2 ** 63 - 1, 2 ** 31, 0], "string": [b"", b"\xff", b"VALID "],
                 "list(int)": [[], [0] * 4, [-1] * 4, [2 ** 31] * 4, [1] * 40], "float": [float("inf"), -1e38],
                 "shape": [[-1] * 3, [2 ** 40, 2 ** 40], None, [1] * 300], "list(type)": [[], ["string"] * 3],
                 "list(float)": [[], [float("nan")] * 3], "list(shape)": [[], [None]], "list(string)": [[], [b"x"]]}
        if kind in worst:
            case["attrs"][name] = (kind, worst[kind][r.randint(len(worst[kind]))])
    return case
