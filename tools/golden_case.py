# SPDX-License-Identifier: Apache-2.0
"""The language of the golden cases, and the questions to the real TensorFlow that fill it.

Every tool that writes tests/data/op_goldens*.txt or shape_goldens*.txt says its cases with this module.
Text, one case per block:
  op NAME
  attr NAME VALUE                   in the language of src/ops/sample.h
  in TYPE DIMS HEX                  little-endian bytes; strings as hex words joined by ','
  out TYPE DIMS HEX                 or: error CODE MESSAGE
Only values that do not depend on TensorFlow's flushing of denormals are used.
The shape files hold what graph mode infers for some of the same cases when it is told the shapes
(and constants) in full, in part, or not at all:
  shape NAME / attr … / in TYPE DIMS [HEX] / out DIMS / error MESSAGE     unknown dims are '?'
"""
import os
import re
import sys
os.environ["TF_CPP_MIN_LOG_LEVEL"] = "3"
import numpy as np
import tensorflow as tf
from tensorflow.core.framework import attr_value_pb2
from tensorflow.core.framework import node_def_pb2
from tensorflow.python.eager import context
from tensorflow.python.eager import execute as eager_execute
from tensorflow.python.framework import errors
from tensorflow.python.framework import ops as tf_ops

context.ensure_initialized()
HERE = os.path.dirname(os.path.abspath(__file__))
rng = np.random.RandomState(7)
lines = []
shape_lines = []
shape_seen = {}
NAMES = {tf.half: "half", tf.bfloat16: "bfloat16", tf.float32: "float", tf.float64: "double",
         tf.int8: "int8", tf.int16: "int16", tf.int32: "int32", tf.int64: "int64",
         tf.uint8: "uint8", tf.uint16: "uint16", tf.uint32: "uint32", tf.uint64: "uint64",
         tf.complex64: "complex64", tf.complex128: "complex128", tf.bool: "bool",
         tf.string: "string"}
REAL = [tf.half, tf.bfloat16, tf.float32, tf.float64]
COMPLEX = [tf.complex64, tf.complex128]
SIGNED = [tf.int8, tf.int16, tf.int32, tf.int64]
UNSIGNED = [tf.uint8, tf.uint16, tf.uint32, tf.uint64]
INTS = SIGNED + UNSIGNED


def specs():
    with open(os.path.join(HERE, "../src/ops/opdefs.tsv"), encoding="utf-8") as f:
        rows = [line.rstrip("\n").split("\t") for line in f if not line.startswith("#")]
    return {r[0]: r for r in rows}


SPECS = specs()
with open(os.path.join(HERE, "../src/ops/list.inc"), encoding="utf-8") as listed:
    RUNS_HERE = {line[12:-2] for line in listed if line.startswith("FY_OP_ENTRY(")}
# Ops whose shape functions refuse some calls that their kernels do not.
CHECKED_IN_GRAPHS = ("DeserializeManySparse", "ReduceJoin", "SparseBincount")
NO_KERNEL = ("Could not find device", "No OpKernel")


def hexed(t):
    a = t.numpy()
    if t.dtype == tf.string:
        return ",".join("x" + bytes(s).hex() for s in np.asarray(a, dtype=object).reshape(-1)) or "-"
    return np.ascontiguousarray(a).tobytes().hex() or "-"


def dims_text(shape):
    if shape.rank is None:
        return "<unknown>"
    return "[" + ",".join("?" if d is None else str(d) for d in shape.as_list()) + "]"


def tensor_line(kind, t):
    return "%s %s %s %s" % (kind, NAMES[t.dtype], dims_text(t.shape), hexed(t))


def attr_text(v):
    if isinstance(v, bool):
        return "true" if v else "false"
    if isinstance(v, tf.DType):
        return NAMES[v]
    if isinstance(v, tf.TensorShape):
        return dims_text(v)
    if isinstance(v, (list, tuple)):
        return "[" + ",".join(attr_text(x) for x in v) + "]"
    if isinstance(v, (str, bytes)):
        return '"%s"' % (v if isinstance(v, str) else v.decode())
    return repr(v)


def head(kind, op, attrs):
    """The first lines of a block."""
    return [kind + " " + op] + ["attr %s %s" % (k, attr_text(v)) for k, v in sorted(attrs.items())]


def flatten(inputs):
    return [t for x in inputs for t in (x if isinstance(x, list) else [x])]


def type_attrs(op, inputs, attrs):
    """|attrs| and those that the inputs tell: types and numbers, as the op's signature names them."""
    known = dict(attrs)
    for arg, x in zip([a.strip() for a in SPECS[op][1].split(",") if a.strip()], inputs):
        kind = arg.split(":", 1)[1]
        if "*" in kind:
            n, kind = kind.split("*")
            known.setdefault(n, len(x))
        elif kind.startswith("list("):
            known.setdefault(kind[5:-1], [t.dtype for t in x])
            continue
        if isinstance(x, list) and not x:
            continue
        first = (x if isinstance(x, list) else [x])[0]
        if kind not in NAMES.values() and kind not in ("resource", "variant"):
            known.setdefault(kind, first.dtype)
    return known


def default_types(op, attrs):
    """|attrs| and the defaults of the type attributes that no input tells."""
    inverse = {v: k for k, v in NAMES.items()}
    known = dict(attrs)
    for name, default in re.findall(r"(\w+):type(?:\{[^}]*\})?=(\w+)", SPECS[op][3]):
        if not re.search(r":(?:\w+\*)?%s\b" % name, SPECS[op][1]):
            known.setdefault(name, inverse[default])
    return known


def output_count(op):
    return sum(1 for o in SPECS[op][2].split(",") if o.strip())


def raw_attr(v):
    if isinstance(v, tf.DType):
        return v.as_datatype_enum
    if isinstance(v, tf.TensorShape):
        return [-1 if d is None else d for d in v.as_list()]
    if isinstance(v, (list, tuple)):
        return [raw_attr(x) for x in v]
    return v


def first_line(message):
    line = message.split("\n")[0].rstrip()
    return line.rsplit("]): ", 1)[-1] if line.startswith("TF to XLA legalization failed") else line


def ask(op, inputs, outputs, attrs, skip=NO_KERNEL, tidy=first_line):
    """What TensorFlow answers eagerly to |inputs| (a flat list): its outputs, or the line that says
    the error, or None where the error is one of |skip|."""
    raw = [x for k, v in attrs.items() for x in (k, raw_attr(v))]
    try:
        return eager_execute.execute(op.encode(), outputs, inputs=inputs, attrs=tuple(raw),
                                     ctx=context.context()) or []
    except errors.OpError as e:
        text = str(e.message)
        if any(s in text for s in skip):
            return None
        return "error %d %s" % (e.error_code, tidy(text.split("}} ", 1)[-1].split(" [Op:")[0]))


def told(out, after=()):
    """The last lines of a block: what ask gave, and what the variables |after| hold then."""
    if isinstance(out, str):
        return [out]
    return [tensor_line("out", t) for t in out] + [tensor_line("after", v.read_value()) for v in after]


def case(op, inputs, outputs=1, **attrs):
    """Runs |op| on tensors (a list stands for a list argument) and records the answer."""
    flat, known = flatten(inputs), type_attrs(op, inputs, attrs)
    block = asked(op, flat, known)
    out = ask(op, flat, outputs, known, NO_KERNEL + ("not supported",))
    if out is None:
        return
    mark(block, op, flat, known, out)
    lines.extend(block + told(out))
    infer(op, inputs, outputs, known)


def asked(op, flat, attrs):
    """The first lines of a case. Before it is asked: some ops write into their inputs."""
    return head("op", op, attrs) + [tensor_line("in", t) for t in flat]


def mark(block, op, flat, attrs, out):
    """A case that only a graph refuses says so."""
    if op in CHECKED_IN_GRAPHS and not isinstance(out, str) and refused_in_graph(op, flat, attrs):
        block.insert(1, "eager")


def refused_in_graph(op, flat, attrs):
    with tf.Graph().as_default() as g:
        try:
            graph_op(g, op, [tf.constant(t.numpy(), t.dtype) for t in flat], attrs)
        except ValueError:
            return True
    return False


def infer(op, inputs, outputs, attrs):
    """The same case in graph mode, if its kind has not been asked often enough."""
    flat = flatten(inputs)
    if any(t.dtype not in (tf.float32, tf.int32, tf.int64, tf.bool) for t in flat):
        return
    if op == "OneHot" and attrs.get("axis", 0) > len(flat[0].shape):
        return  # TensorFlow infers a shape for what its kernel refuses
    if sum(int(np.prod(t.shape)) for t in flat if t.dtype != tf.float32) > 64:
        return
    key = (op, tuple((tuple(t.shape), t.dtype) for t in flat), str(sorted(attrs.items(), key=str)))
    values = tuple(str(t.numpy().tolist()) for t in flat if t.dtype in (tf.int32, tf.int64))
    if (key, values) in shape_seen or sum(1 for k in shape_seen if k[0][0] == op) >= 14:
        return
    shape_seen[(key, values)] = True
    try:
        infer_each(op, flat, attrs)
    except errors.UnimplementedError:
        pass  # newer graphs may not contain it, though it still runs eagerly


def infer_each(op, flat, attrs, ways=("constants", "shapes", "holes", "nothing")):
    """What graph mode infers from constants, full shapes, one dim unknown, rank unknown."""
    for how in ways:
        with tf.Graph().as_default() as g:
            args, block = [], head("shape", op, attrs)
            for k, t in enumerate(flat):
                small = t.dtype in (tf.int32, tf.int64) and how in ("constants", "holes")
                shape = t.shape.as_list()
                if how == "holes" and not small and shape:
                    shape[k % len(shape)] = None
                if how == "nothing":
                    shape = None
                text = "in %s %s" % (NAMES[t.dtype], dims_text(tf.TensorShape(shape)))
                if small:
                    args.append(tf.constant(t.numpy(), t.dtype))
                    text += " " + hexed(t)
                else:
                    args.append(tf.compat.v1.placeholder(t.dtype, shape))
                block.append(text)
            try:
                made = graph_op(g, op, args, attrs)
                block += ["out " + dims_text(t.shape) for t in made.outputs]
            except ValueError as e:
                block.append("error " + str(e).split(" for '{{node")[0].replace("\n", "\\n").replace(
                    "\t", "\\t"))
            shape_lines.extend(block)


def attr_proto(op, name, v):
    a = attr_value_pb2.AttrValue()
    if isinstance(v, (list, tuple)):
        a.list.SetInParent()
        kind = [p for p in SPECS[op][3].split() if p.startswith(name + ":")][0]
        if "list(type)" in kind:
            a.list.type.extend(x.as_datatype_enum for x in v)
        elif "list(string)" in kind:
            a.list.s.extend(x.encode() for x in v)
        elif "list(float)" in kind:
            a.list.f.extend(v)
        elif "list(shape)" in kind:
            a.list.shape.extend(tf.TensorShape(x).as_proto() for x in v)
        else:
            a.list.i.extend(v)
    elif isinstance(v, bool):
        a.b = v
    elif isinstance(v, tf.DType):
        a.type = v.as_datatype_enum
    elif isinstance(v, tf.TensorShape):
        a.shape.CopyFrom(v.as_proto())
    elif isinstance(v, int):
        a.i = v
    elif isinstance(v, float):
        a.f = v
    else:
        a.s = v.encode()
    return a


def graph_op(graph, op, inputs, attrs):
    node = node_def_pb2.NodeDef(name="n", op=op)
    for k, v in attrs.items():
        node.attr[k].CopyFrom(attr_proto(op, k, v))
    c_op = tf_ops._create_c_op(graph, node, inputs, control_inputs=[])
    return graph._create_op_from_tf_operation(c_op)


def data(dtype, shape, low=-3.0, high=3.0, integer_high=100):
    n = int(np.prod(shape))
    if dtype == tf.bool:
        a = rng.randint(0, 2, n).astype(bool)
    elif dtype == tf.string:
        a = np.array([bytes(rng.randint(97, 123, rng.randint(0, 30)).astype(np.uint8))
                      for _ in range(n)], dtype=object)
    elif dtype in INTS:
        info = np.iinfo(dtype.as_numpy_dtype)
        lo = 0 if info.min == 0 else -integer_high
        a = rng.randint(lo, integer_high + 1, n).astype(dtype.as_numpy_dtype)
    elif dtype in COMPLEX:
        a = (rng.uniform(low, high, n) + 1j * rng.uniform(low, high, n))
        a = a.astype(dtype.as_numpy_dtype)
    else:
        a = rng.uniform(low, high, n).astype(dtype.as_numpy_dtype)
    return tf.constant(a.reshape(shape), dtype=dtype)


def special(dtype):
    return tf.constant(np.array([np.nan, np.inf, -np.inf, 0.0, -0.0, 1.0, -1.0, 2.5, -2.5, 0.5, 1e-3,
                                 300.0, -300.0], np.float64), dtype=dtype)


def i32(*v):
    return tf.constant(list(v), tf.int32)


def s32(v):
    return tf.constant(v, tf.int32)


def s64(v):
    return tf.constant(v, tf.int64)


def text(v):
    return tf.constant(v, tf.string)


def cpu_types(op, attr="T"):
    """The dtypes of the CPU kernels that the table lists."""
    found = []
    for one in SPECS[op][5].split(";"):
        for pair in one.split(","):
            if pair.startswith(attr + "="):
                found.append(pair[len(attr) + 1:])
    inverse = {v: k for k, v in NAMES.items()}
    return [inverse[n] for n in dict.fromkeys(found) if n in inverse]


def write(name, what):
    """Writes the blocks |what| as tests/data/|name|.txt, or in the folder that OUT names."""
    path = os.path.join(os.environ.get("OUT", os.path.join(HERE, "../tests/data")), name + ".txt")
    what = "\n".join(what) + "\n"
    with open(path, "w", encoding="utf-8", errors="surrogateescape") as f:
        f.write("# Made by tools/%s with TensorFlow %s.\n" % (os.path.basename(sys.argv[0]), tf.__version__))
        f.write(what)
    print("%s: %d cases, %d bytes" % (name, len(re.findall("^(?:op|shape) ", what, re.M)), os.path.getsize(path)))


def write_both(name):
    """Writes what was recorded as op_goldens|name| and shape_goldens|name|, and forgets it."""
    for kind, what in (("op", lines), ("shape", shape_lines)):
        if what:
            write(kind + "_goldens" + name, what)
    lines.clear()
    shape_lines.clear()
