#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Writes tests/data/op_goldens.txt: what the real TensorFlow answers, op by op, in eager mode.

Run with a Python that has TensorFlow:  /opt/tfvenv/bin/python tools/gen_op_goldens.py
Text, one case per block:
  op NAME
  attr NAME VALUE                   in the language of src/ops/sample.h
  in TYPE DIMS HEX                  little-endian bytes; strings as hex words joined by ','
  out TYPE DIMS HEX                 or: error CODE MESSAGE
Only values that do not depend on TensorFlow's flushing of denormals are used.
Also tests/data/shape_goldens.txt: what graph mode infers for some of the same cases when it is told
the shapes (and constants) in full, in part, or not at all:
  shape NAME / attr … / in TYPE DIMS [HEX] / out DIMS / error MESSAGE     unknown dims are '?'
"""
import os
os.environ["TF_CPP_MIN_LOG_LEVEL"] = "3"
import numpy as np
import tensorflow as tf
from tensorflow.python.eager import context
from tensorflow.python.eager import execute as eager_execute
from tensorflow.core.framework import attr_value_pb2
from tensorflow.core.framework import node_def_pb2
from tensorflow.python.framework import errors
from tensorflow.python.framework import ops as tf_ops

context.ensure_initialized()
CTX = context.context()
rng = np.random.RandomState(7)
lines = []
counts = {}
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
    table = {}
    here = os.path.dirname(os.path.abspath(__file__))
    with open(os.path.join(here, "../src/ops/opdefs.tsv"), encoding="utf-8") as f:
        for line in f:
            if not line.startswith("#"):
                fields = line.rstrip("\n").split("\t")
                table[fields[0]] = fields
    return table


SPECS = specs()


def hexed(t):
    a = t.numpy()
    if t.dtype == tf.string:
        return ",".join("x" + bytes(s).hex() for s in np.asarray(a, dtype=object).reshape(-1))
    return np.ascontiguousarray(a).tobytes().hex() or "-"


def tensor_line(kind, t):
    dims = "[" + ",".join(str(d) for d in t.shape) + "]"
    return "%s %s %s %s" % (kind, NAMES[t.dtype], dims, hexed(t) or "-")


def attr_text(v):
    if isinstance(v, bool):
        return "true" if v else "false"
    if isinstance(v, tf.DType):
        return NAMES[v]
    if isinstance(v, (list, tuple)):
        return "[" + ",".join(attr_text(x) for x in v) + "]"
    if isinstance(v, str):
        return '"%s"' % v
    return repr(v)


def case(op, inputs, outputs=1, types=None, **attrs):
    """Runs |op| on tensors (a list stands for a list argument) and records the answer."""
    flat = []
    for x in inputs:
        flat.extend(x if isinstance(x, list) else [x])
    fields = SPECS[op]
    known = dict(attrs)
    # Type and number attributes from the inputs, as the op's signature names them.
    for arg, x in zip([a.strip() for a in fields[1].split(",") if a.strip()], inputs):
        kind = arg.split(":", 1)[1]
        if "*" in kind:
            n, kind = kind.split("*")
            known.setdefault(n, len(x))
        elif kind.startswith("list("):
            known.setdefault(kind[5:-1], [t.dtype for t in x])
            continue
        first = (x if isinstance(x, list) else [x])[0]
        if kind not in NAMES.values() and kind != "resource":
            known.setdefault(kind, first.dtype)
    raw = []
    for k, v in known.items():
        raw += [k, v.as_datatype_enum if isinstance(v, tf.DType) else
                [x.as_datatype_enum if isinstance(x, tf.DType) else x for x in v]
                if isinstance(v, (list, tuple)) else v]
    block = ["op " + op]
    block += ["attr %s %s" % (k, attr_text(v)) for k, v in sorted(known.items())]
    block += [tensor_line("in", t) for t in flat]
    try:
        out = eager_execute.execute(op.encode(), outputs, inputs=flat, attrs=tuple(raw),
                                    ctx=CTX)
        block += [tensor_line("out", t) for t in out or []]
        if op in CHECKED_IN_GRAPHS and refused_in_graph(op, flat, known):
            block.insert(1, "eager")
    except errors.OpError as e:
        text = str(e.message)
        if "Could not find device" in text or "No OpKernel" in text or "not supported" in text:
            return
        text = text.split("}} ", 1)[-1].split(" [Op:")[0].split("\n")[0].rstrip()
        block.append("error %d %s" % (e.error_code, text))
    lines.extend(block)
    counts[op] = counts.get(op, 0) + 1
    infer(op, inputs, outputs, known)


# Ops whose shape functions refuse some calls that their kernels do not.
CHECKED_IN_GRAPHS = ("DeserializeManySparse", "ReduceJoin", "SparseBincount")


def refused_in_graph(op, flat, attrs):
    with tf.Graph().as_default() as g:
        try:
            graph_op(g, op, [tf.constant(t.numpy(), t.dtype) for t in flat], attrs)
        except ValueError:
            return True
    return False


def dims_text(shape):
    if shape.rank is None:
        return "<unknown>"
    return "[" + ",".join("?" if d is None else str(d) for d in shape.as_list()) + "]"


def infer(op, inputs, outputs, attrs):
    """The same case in graph mode: constants, full shapes, one dim unknown, rank unknown."""
    flat = [t for x in inputs for t in (x if isinstance(x, list) else [x])]
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
    for how in ("constants", "shapes", "holes", "nothing"):
        with tf.Graph().as_default() as g:
            args, block = [], ["shape " + op]
            block += ["attr %s %s" % (k, attr_text(v)) for k, v in sorted(attrs.items())]
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


def graph_op(g, op, inputs, attrs):
    protos = {}
    for k, v in attrs.items():
        a = attr_value_pb2.AttrValue()
        if isinstance(v, bool):
            a.b = v
        elif isinstance(v, tf.DType):
            a.type = v.as_datatype_enum
        elif isinstance(v, int):
            a.i = v
        elif isinstance(v, float):
            a.f = v
        elif isinstance(v, str):
            a.s = v.encode()
        elif v and isinstance(v[0], tf.DType):
            a.list.type.extend(x.as_datatype_enum for x in v)
        elif v and isinstance(v[0], float):
            a.list.f.extend(v)
        else:
            a.list.i.extend(v)
        protos[k] = a
    node = node_def_pb2.NodeDef(name="n", op=op)
    for k, a in protos.items():
        node.attr[k].CopyFrom(a)
    c_op = tf_ops._create_c_op(g, node, inputs, control_inputs=[])
    return g._create_op_from_tf_operation(c_op)


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


def cpu_types(op, attr="T"):
    """The dtypes of the CPU kernels that the table lists."""
    found = []
    for one in SPECS[op][5].split(";"):
        for pair in one.split(","):
            if pair.startswith(attr + "="):
                found.append(pair[len(attr) + 1:])
    inverse = {v: k for k, v in NAMES.items()}
    return [inverse[n] for n in dict.fromkeys(found) if n in inverse]


def binary_ops():
    plain = ["AddV2", "Sub", "Mul", "Div", "RealDiv", "FloorDiv", "TruncateDiv", "FloorMod", "Mod",
             "TruncateMod", "Maximum", "Minimum", "SquaredDifference", "DivNoNan", "MulNoNan",
             "Atan2", "Xdivy", "Xlogy", "Xlog1py", "Add", "Pow", "BitwiseAnd", "BitwiseOr",
             "BitwiseXor", "LeftShift", "RightShift", "Equal", "NotEqual", "Less", "LessEqual",
             "Greater", "GreaterEqual"]
    for op in plain:
        for t in cpu_types(op):
            if t == tf.bool and op not in ("Equal", "NotEqual"):
                continue
            divides = op in ("Div", "FloorDiv", "TruncateDiv", "FloorMod", "Mod", "TruncateMod")
            low = 0.1 if op in ("Xlogy", "Xlog1py") else -3.0
            high = 12 if op in ("Pow", "LeftShift", "RightShift") else 100
            x = data(t, [2, 5], integer_high=high)
            y = data(t, [5], low, integer_high=high)
            if op == "Pow" and t not in INTS:
                x = data(t, [2, 5], 0.1)
            if t in INTS and divides:
                y = tf.where(tf.equal(tf.cast(y, tf.int64), 0), tf.ones_like(y), y)
            if op == "Pow" and t in INTS:
                y = tf.cast(tf.abs(tf.cast(y, tf.int64)), t)
            case(op, [x, y])
            case(op, [x[0], x[1] if not (t in INTS and (divides or op == "Pow")) else y])
        t = cpu_types(op)[0] if tf.float32 not in cpu_types(op) else tf.float32
        case(op, [data(t, [2, 1, 3], 0.5), data(t, [4, 1], 0.5, integer_high=5)])
        case(op, [data(t, [], 0.5), data(t, [3, 2], 0.5, integer_high=5)])
        case(op, [data(t, [0, 3]), data(t, [1])])
        case(op, [data(t, [2, 3], 0.5), data(t, [4], 0.5)])
        if tf.float32 in cpu_types(op) and op not in ("Pow",):
            s = special(tf.float32)
            case(op, [s, tf.reverse(s, [0])])
            case(op, [s, tf.constant(2.0)])
    for t in SIGNED:
        small = np.iinfo(t.as_numpy_dtype).min
        for op in ("FloorDiv", "Div", "FloorMod", "TruncateMod", "Mod"):
            if t in cpu_types(op):
                case(op, [tf.constant([small, 7, -7, 7, -7], t), tf.constant([-1, 2, 2, -2, -2], t)])
                case(op, [tf.constant([1], t), tf.constant([0], t)])
    case("Pow", [i32(2), i32(-1)])
    case("AddV2", [tf.constant([127, -128], tf.int8), tf.constant([1, -1], tf.int8)])
    case("Mul", [tf.constant([65535], tf.uint16), tf.constant([65535], tf.uint16)])
    case("Add", [tf.constant(["a", "bc"]), tf.constant("xyz")])
    for op in ("Equal", "NotEqual"):
        case(op, [i32(1, 2), i32(1, 2, 3)], incompatible_shape_error=False)
        case(op, [i32(1, 2), i32(1, 2)], incompatible_shape_error=False)
    b = tf.constant([True, True, False, False])
    for op in ("LogicalAnd", "LogicalOr"):
        case(op, [b, tf.constant([True, False, True, False])])
        case(op, [tf.reshape(b, [4, 1]), tf.constant([True, False])])


def unary_ops():
    every = ["Neg", "Abs", "Sign", "Square", "Sqrt", "Rsqrt", "Reciprocal", "Inv", "Exp", "Expm1",
             "Log", "Log1p", "Sin", "Cos", "Tan", "Asin", "Acos", "Atan", "Sinh", "Cosh", "Asinh",
             "Acosh", "Atanh", "Tanh", "Sigmoid", "Erf", "Erfc", "Lgamma", "Digamma", "Floor", "Ceil",
             "Rint", "Round", "IsNan", "IsInf", "IsFinite", "Relu", "Relu6", "LeakyRelu", "Elu",
             "Selu", "Softplus", "Softsign", "Invert"]
    for op in every:
        for t in cpu_types(op):
            if t == tf.bool or (t in INTS and op in ("Acos", "LeakyRelu", "Round")):
                continue  # TensorFlow rounds every integer to 0
            low, high = {"Asin": (-.99, .99), "Acos": (-.99, .99), "Atanh": (-.99, .99),
                         "Acosh": (1.01, 5), "Log": (.1, 5), "Log1p": (-.9, 5), "Sqrt": (0, 5),
                         "Rsqrt": (.1, 5)}.get(op, (-4, 4))
            case(op, [data(t, [3, 7], low, high)])
            if t in (tf.float32, tf.float64):
                if not (op == "Erf" and t == tf.float64):  # there, Erf(Inf) is NaN
                    case(op, [special(t)])
                case(op, [data(t, [0])])
                case(op, [data(t, [], low, high)])
    case("LeakyRelu", [data(tf.float32, [9])], alpha=0.5)
    case("LogicalNot", [tf.constant([True, False])])
    case("Abs", [tf.constant([-2**31], tf.int32)])


def casts():
    types = REAL + INTS + COMPLEX + [tf.bool]
    for a in types:
        for b in types:
            low = 0.0 if b in UNSIGNED else -4.0
            case("Cast", [data(a, [9], low, 100.0)], SrcT=a, DstT=b, Truncate=False)
    for a in (tf.float32, tf.float64):
        wild = tf.constant([np.nan, np.inf, -np.inf, -1.5, 3e9, -3e9, 70000., 1e19], a)
        for b in INTS + [tf.bool]:
            case("Cast", [wild], SrcT=a, DstT=b, Truncate=False)
        for b in (tf.float32, tf.half, tf.bfloat16):
            if a != b:
                case("Cast", [data(a, [20])], SrcT=a, DstT=b, Truncate=True)
    case("Bitcast", [data(tf.float32, [3])], type=tf.uint8)
    case("Bitcast", [data(tf.uint8, [2, 4])], type=tf.float32)
    case("Bitcast", [data(tf.int64, [2])], type=tf.float64)
    case("Bitcast", [data(tf.float32, [3])], type=tf.float64)


def matmuls():
    for t in cpu_types("MatMul"):
        if t == tf.int16:
            continue
        for ta in (False, True):
            for tb in (False, True):
                a = data(t, [7, 3] if ta else [3, 7])
                b = data(t, [5, 7] if tb else [7, 5])
                case("MatMul", [a, b], transpose_a=ta, transpose_b=tb)
    case("MatMul", [data(tf.float32, [6, 140]), data(tf.float32, [140, 9])])
    case("MatMul", [data(tf.float32, [1, 9]), data(tf.float32, [9, 1])])
    case("MatMul", [data(tf.float32, [2, 0]), data(tf.float32, [0, 3])])
    case("MatMul", [data(tf.float32, [0, 2]), data(tf.float32, [2, 3])])
    case("MatMul", [data(tf.float32, [2, 3]), data(tf.float32, [2, 3])])
    case("MatMul", [data(tf.float32, [2]), data(tf.float32, [2, 3])])
    case("MatMul", [data(tf.float32, [2, 2, 2]), data(tf.float32, [2, 2, 2])])
    for t in cpu_types("BatchMatMulV2"):
        case("BatchMatMulV2", [data(t, [2, 1, 3, 4]), data(t, [3, 4, 2])])
        if t != tf.int16:
            case("BatchMatMul", [data(t, [2, 3, 4]), data(t, [2, 4, 2])])
            case("BatchMatMul", [data(t, [2, 4, 3]), data(t, [2, 2, 4])], adj_x=True, adj_y=True)
    f = tf.float32
    for op in ("BatchMatMul", "BatchMatMulV2"):
        case(op, [data(f, [2, 3, 4]), data(f, [3, 4, 5])])
        case(op, [data(f, [2, 3, 4]), data(f, [2, 5, 5])])
        case(op, [data(f, [4]), data(f, [2, 5, 5])])
        case(op, [data(f, [0, 3, 4]), data(f, [0, 4, 5])])


def reductions():
    for op in ("Sum", "Mean", "Prod", "Max", "Min"):
        for t in cpu_types(op):
            x = data(t, [2, 3, 4], integer_high=4)
            for axes in ([0], [1], [2], [0, 1], [0, 2], [1, 2], [0, 1, 2], []):
                if t != tf.float32 and len(axes) not in (1, 3):
                    continue
                case(op, [x, tf.constant(axes, tf.int32)])
        f = tf.float32
        case(op, [data(f, [2, 3, 2, 3]), i32(0, 2)])
        case(op, [data(f, [2, 3, 2, 3]), i32(1, 3)])
        case(op, [data(f, [2, 3]), i32(-1)], keep_dims=True)
        case(op, [data(f, [2, 3]), tf.constant([0, 1], tf.int64)], keep_dims=True)
        case(op, [data(f, [2, 3]), s32(1)])
        case(op, [data(f, [0, 3]), i32(0)])
        case(op, [data(tf.int32, [0, 3]), i32(0)])
        case(op, [data(f, [2, 0]), i32(0)])
        case(op, [data(f, []), tf.constant([], tf.int32)])
        case(op, [data(f, [1100], 0.0, 0.01 if op == "Prod" else 1.0), i32(0)])
        case(op, [data(f, [2, 3]), i32(5)])
        case(op, [data(f, [2, 3]), i32(0, -2)])
        case(op, [tf.constant([1.0, np.nan, 3.0]), i32(0)])
        case(op, [data(tf.half, [700], 0.0, 1.0 if op != "Prod" else 1.01), i32(0)])
    for op in ("All", "Any"):
        x = data(tf.bool, [3, 4])
        for axes in ([0], [1], [0, 1], []):
            case(op, [x, tf.constant(axes, tf.int32)])
        case(op, [data(tf.bool, [0]), i32(0)])
        case(op, [x, i32(-1)], keep_dims=True)
    for op in ("ArgMax", "ArgMin"):
        for t in cpu_types(op):
            case(op, [data(t, [3, 5], integer_high=3), s32(1)], output_type=tf.int64)
            case(op, [data(t, [3, 5], integer_high=3), s32(0)], output_type=tf.int32)
        case(op, [data(tf.float32, [3]), s32(3)], output_type=tf.int64)
        case(op, [data(tf.float32, [0, 3]), s32(0)], output_type=tf.int64)
        case(op, [data(tf.float32, [0, 3]), s32(1)], output_type=tf.int64)
        case(op, [data(tf.float32, []), s32(0)], output_type=tf.int64)
        case(op, [data(tf.float32, [3]), i32(0)], output_type=tf.int64)
        case(op, [tf.constant([np.nan, 1.0, 3.0, 3.0]), s32(0)], output_type=tf.int64)


def shapes():
    f = tf.float32
    x = data(f, [2, 3])
    for shape in ([3, 2], [-1], [6, 1], [-1, 2], [4], [-1, 4], [-1, -1], [-2, 3], [], [1, 1, 6]):
        case("Reshape", [x, tf.constant(shape, tf.int32)])
    case("Reshape", [x, tf.constant([3, -1], tf.int64)])
    case("Reshape", [data(f, [0, 3]), i32(-1, 0)])
    case("Reshape", [data(f, [0, 3]), i32(-1, 3)])
    case("Reshape", [x, tf.constant([[2, 3]], tf.int32)])
    case("Reshape", [data(f, []), tf.constant([], tf.int32)])
    for axis in (0, 1, 2, -1, -3, 5, -4):
        case("ExpandDims", [x, s32(axis)])
    case("ExpandDims", [x, i32(0, 1)])
    y = data(f, [1, 3, 1])
    for dims in ([], [0], [-1], [0, 2], [1], [5]):
        case("Squeeze", [y], squeeze_dims=dims)
    for t in (tf.int32, tf.int64):
        for shape in ([2, 3], [], [0], [1, 2, 3, 4]):
            case("Shape", [data(f, shape)], out_type=t)
            case("Size", [data(f, shape)], out_type=t)
            case("Rank", [data(f, shape)])
    case("ShapeN", [[data(f, [2]), data(f, []), data(f, [1, 0])]], outputs=3, out_type=tf.int32)
    case("Identity", [x])
    case("IdentityN", [[x, i32(1)]], outputs=2)
    case("StopGradient", [x])
    case("PreventGradient", [x])
    case("Snapshot", [x])


def joins():
    f = tf.float32
    for t in REAL + INTS + COMPLEX + [tf.bool, tf.string]:
        case("ConcatV2", [[data(t, [2, 1]), data(t, [2, 3])], s32(1)])
        case("Pack", [[data(t, [3]), data(t, [3])]], axis=1)
        case("Split", [s32(0), data(t, [4, 2])], outputs=2, num_split=2)
        case("Unpack", [data(t, [2, 3])], outputs=3, num=3, axis=1)
    case("ConcatV2", [[data(f, [2, 3]), data(f, [0, 3]), data(f, [1, 3])], s32(-2)])
    case("ConcatV2", [[data(f, [2, 3]), data(f, [2, 4])], s32(0)])
    case("ConcatV2", [[data(f, [2, 3]), data(f, [2])], s32(0)])
    case("ConcatV2", [[data(f, [2]), data(f, [2])], s32(1)])
    case("ConcatV2", [[data(f, []), data(f, [])], s32(0)])
    case("ConcatV2", [[data(f, [2]), data(f, [2])], i32(0, 1)])
    case("Concat", [s32(1), [data(f, [2, 1]), data(f, [2, 3])]])
    case("Concat", [s32(-3), [data(f, [2, 1]), data(f, [2, 3])]])
    case("Pack", [[data(f, []), data(f, [])]])
    case("Pack", [[data(f, [2, 2]), data(f, [2, 2])]], axis=-1)
    case("Pack", [[data(f, [2]), data(f, [3])]])
    case("Pack", [[data(f, [2]), data(f, [2])]], axis=3)
    case("Unpack", [data(f, [2])], outputs=2, num=2)
    case("Unpack", [data(f, [2])], outputs=3, num=3)
    case("Unpack", [data(f, [])], outputs=2, num=2)
    case("Split", [s32(-1), data(f, [2, 6])], outputs=3, num_split=3)
    case("Split", [s32(0), data(f, [3])], outputs=2, num_split=2)
    case("Split", [s32(2), data(f, [3])], outputs=3, num_split=3)
    for sizes in ([1, 2], [-1, 1], [3, 0], [1, 1], [-1, -1], [-1, 5], [-2, 5]):
        case("SplitV", [data(f, [2, 3]), tf.constant(sizes, tf.int64), s32(1)], outputs=2,
             num_split=2)
    case("SplitV", [data(f, [3]), i32(1, 2), s32(3)], outputs=2, num_split=2)
    case("SplitV", [data(f, [3]), i32(1, 1, 1), s32(0)], outputs=2, num_split=2)


def slices():
    f = tf.float32
    x = data(f, [3, 4, 5])
    for t in REAL + INTS + COMPLEX + [tf.bool, tf.string]:
        y = data(t, [3, 4])
        case("Slice", [y, i32(1, 0), i32(2, 3)])
        case("StridedSlice", [y, i32(2, 0), i32(0, 4), i32(-1, 2)])
        case("Transpose", [data(t, [2, 3, 4]), i32(2, 0, 1)])
        case("Tile", [y, i32(2, 2)])
        case("ReverseV2", [y, i32(1)])
        case("GatherV2", [y, i32(2, 0, 2), s32(0)])
        case("GatherNd", [y, tf.constant([[0, 1], [2, 3]], tf.int32)])
        case("BroadcastTo", [data(t, [3, 1]), i32(2, 3, 2)])
        case("SelectV2", [tf.constant([True, False]), data(t, [3, 2]), data(t, [])])
        case("Select", [tf.constant([True, False]), data(t, [2, 2]), data(t, [2, 2])])
        case("Fill", [i32(2, 2), data(t, [])])
        if t != tf.string:
            case("Pad", [y, tf.constant([[1, 0], [0, 2]], tf.int32)])
            case("PadV2", [y, tf.constant([[0, 1], [2, 0]], tf.int32), data(t, [])])
            case("OnesLike", [y])
        case("ZerosLike", [y])
        case("OneHot", [i32(0, 2, -1, 5), s32(3), data(t, []), data(t, [])])
        if t in cpu_types("Where") and t != tf.half:
            case("Where", [data(t, [3, 4], integer_high=1)])
        if t in cpu_types("Cumsum"):
            case("Cumsum", [y, s32(0)])
        if t in cpu_types("AddN"):
            case("AddN", [[y, y, data(t, [3, 4])]])
            case("BiasAdd", [y, data(t, [4])])
        if t in cpu_types("TopKV2"):
            case("TopKV2", [y, s32(3)], outputs=2, index_type=tf.int32)
    for b, s in (([0, 0, 0], [3, 4, 5]), ([1, 2, 3], [-1, -1, -1]), ([3, 0, 0], [0, 4, 5]),
                 ([1, 0, 0], [3, 1, 1]), ([-1, 0, 0], [1, 1, 1]), ([0, 0], [1, 1]),
                 ([1, 1, 1], [1, 2, -2])):
        case("Slice", [x, tf.constant(b, tf.int64), tf.constant(s, tf.int64)])
    for b, e, s, masks in (
            ([0], [3], [1], {}), ([0], [3], [2], {}), ([-1], [-4], [-1], {}),
            ([5], [-10], [-2], {}), ([1, 1], [2, 3], [1, 1], {}),
            ([0, 0], [0, 0], [1, -1], dict(begin_mask=3, end_mask=3)),
            ([1], [0], [1], dict(shrink_axis_mask=1)), ([-1], [0], [1], dict(shrink_axis_mask=1)),
            ([0, 2], [0, 3], [1, 1], dict(ellipsis_mask=1)),
            ([0, 0, 1], [0, 0, 2], [1, 1, 1], dict(new_axis_mask=1, ellipsis_mask=2)),
            ([1, 0, -1], [2, 0, 0], [1, 1, 1], dict(ellipsis_mask=2, shrink_axis_mask=5)),
            ([0, 1, 2, 0], [0, 2, 3, 0], [1, 1, 1, 1], dict(new_axis_mask=9)),
            ([2], [1], [1], {}), ([0], [3], [0], {}), ([7], [8], [1], dict(shrink_axis_mask=1)),
            ([0, 0, 0, 0], [1, 1, 1, 1], [1, 1, 1, 1], {}), ([0], [1], [-1], dict(shrink_axis_mask=1)),
            ([0, 0], [1, 1], [1, 1], dict(ellipsis_mask=3)), ([], [], [], {})):
        case("StridedSlice", [x, tf.constant(b, tf.int32), tf.constant(e, tf.int32),
                              tf.constant(s, tf.int32)], **masks)
    case("StridedSlice", [x, i32(0, 0), i32(1, 1), i32(1)])
    for perm in ([0, 1, 2], [2, 1, 0], [1, 0, 2], [0, 2, 1], [-1, 0, 1], [0, 1], [0, 0, 1], [0, 1, 3]):
        case("Transpose", [x, tf.constant(perm, tf.int32)])
    case("Transpose", [data(f, [17, 35]), i32(1, 0)])
    case("Transpose", [data(f, [1, 5, 1]), i32(2, 1, 0)])
    for m in ([1, 1, 1], [2, 1, 3], [0, 1, 1], [1, 1], [-1, 1, 1]):
        case("Tile", [x, tf.constant(m, tf.int32)])
    for axes in ([0, 2], [], [-1], [3], [0, 0]):
        case("ReverseV2", [x, tf.constant(axes, tf.int32)])
    for shape in ([3], [3, 4, 5, 6], [2, 3, 4, 5], [3, 4, 0], [-1]):
        case("BroadcastTo", [x, tf.constant(shape, tf.int32)])
    case("BroadcastArgs", [i32(2, 1), i32(3)])
    case("BroadcastArgs", [i32(2), i32(3)])
    for axis, batch, indices in ((0, 0, [[0, 1], [2, 0]]), (1, 0, [3, 0]), (-1, 0, [4]),
                                 (1, 1, [[0, 3], [1, 2], [2, 2]]), (2, 1, [[0], [1], [4]]),
                                 (0, 0, [[0, 1], [-1, 2]]), (0, 0, [3]), (3, 0, [0]), (0, 1, [0, 1, 2]),
                                 (1, 1, [[0], [1]]), (2, 2, [[0, 1, 2, 3]] * 3), (1, 0, [])):
        case("GatherV2", [x, tf.constant(indices, tf.int64), s32(axis)], batch_dims=batch)
    case("Gather", [x, i32(2, 0)])
    case("Gather", [x, i32(5)])
    case("GatherV2", [x, s32(1), s32(1)])
    for indices in ([[0]], [[2, 3]], [[2, 3, 4]], [[[0, 0]], [[1, 1]]], [[3, 0]], [[0, 0, 0, 0]],
                    [[0, 0], [1, 9]]):
        case("GatherNd", [x, tf.constant(indices, tf.int32)])
    case("Select", [tf.constant(True), data(f, [2, 2]), data(f, [2, 2])])
    case("Select", [tf.constant([[True, False]]), data(f, [1, 2]), data(f, [1, 2])])
    case("Select", [tf.constant([True, False]), data(f, [3]), data(f, [3])])
    case("Select", [tf.constant([True, False, True]), data(f, [2, 2]), data(f, [2, 2])])
    case("Select", [tf.constant([True, False]), data(f, []), data(f, [])])
    case("SelectV2", [tf.constant([True, False]), data(f, [3]), data(f, [3])])
    case("SelectV2", [tf.constant([[True], [False]]), data(f, [3]), data(f, [1])])
    case("Pad", [data(f, [2]), tf.constant([[1, -1]], tf.int32)])
    case("Pad", [data(f, [2]), tf.constant([[1, 1], [1, 1]], tf.int32)])
    case("Pad", [data(f, [2]), i32(1, 1)])
    case("Pad", [data(f, [0, 2]), tf.constant([[1, 1], [0, 1]], tf.int32)])
    case("Fill", [i32(-1), data(f, [])])
    case("Fill", [i32(2), data(f, [2])])
    for axis in (-1, 0, 1, 2, 3):
        case("OneHot", [tf.constant([[0, 2], [1, 7]], tf.int64), s32(3), data(f, []), data(f, [])],
             axis=axis)
    case("OneHot", [i32(0), s32(-1), data(f, []), data(f, [])])
    case("OneHot", [i32(0), i32(2), data(f, []), data(f, [])])
    for a in ((0, 5, 2), (5, 0, -2), (0, 0, 1), (0, 5, 0), (5, 0, 1), (0, 5, -1)):
        case("Range", [s32(v) for v in a])
        case("Range", [tf.constant(v, tf.int64) for v in a])
    for a in ((0.0, 1.0, 0.3), (1.0, 0.0, -0.25), (0.0, 10.0, 1.0)):
        for t in REAL:
            case("Range", [tf.constant(v, t) for v in a])
    for n in (1, 2, 7, 0):
        case("LinSpace", [tf.constant(0.5), tf.constant(3.0), s32(n)])
        case("LinSpace", [tf.constant(0.5, tf.float64), tf.constant(3.0, tf.float64), s32(n)])
    for e in (False, True):
        for r in (False, True):
            case("Cumsum", [x, s32(1)], exclusive=e, reverse=r)
            case("Cumprod", [x, s32(-1)], exclusive=e, reverse=r)
    case("Cumsum", [x, s32(3)])
    case("InvertPermutation", [i32(2, 0, 1)])
    case("InvertPermutation", [tf.constant([0, 1], tf.int64)])
    for bad in ((0, 0), (0, 2), (-1, 0)):
        case("InvertPermutation", [i32(*bad)])
    case("TopKV2", [data(f, [2]), s32(3)], outputs=2, index_type=tf.int32)
    case("TopKV2", [data(f, [2]), s32(-1)], outputs=2, index_type=tf.int32)
    case("TopKV2", [data(f, []), s32(0)], outputs=2, index_type=tf.int32)
    case("TopKV2", [data(f, [3, 100]), s32(10)], outputs=2, index_type=tf.int32)
    case("TopKV2", [data(f, [3, 4]), s32(0)], outputs=2, index_type=tf.int32)
    case("AddN", [[data(f, [2])]])
    case("AddN", [[data(f, [2]), data(f, [1])]])
    case("BiasAdd", [data(f, [2, 3, 4]), data(f, [3])], data_format="NCHW")
    case("BiasAdd", [data(f, [2, 3, 4, 5]), data(f, [3])], data_format="NCHW")
    case("BiasAdd", [data(f, [2, 3, 4, 5]), data(f, [5])])
    case("BiasAdd", [data(f, [1, 2]), data(f, [3])])
    case("BiasAdd", [data(f, [2]), data(f, [2])])


def rest():
    for op in ("Softmax", "LogSoftmax"):
        for t in REAL:
            case(op, [data(t, [3, 7])])
        case(op, [data(tf.float32, [2, 2, 5], -1000, 1000)])
        case(op, [data(tf.float32, [0, 3])])
        case(op, [data(tf.float32, [])])
        case(op, [data(tf.float32, [4])])
    for op in ("CheckNumerics", "CheckNumericsV2"):
        for v in ([1.0], [np.nan], [np.inf], [-np.inf], [np.nan, np.inf], [np.nan, -np.inf],
                  [np.inf, -np.inf], [np.nan, np.inf, -np.inf], []):
            for t in REAL:
                case(op, [tf.constant(v, t)], message="mine")
    case("Assert", [tf.constant(True), [i32(1)]], outputs=0)
    case("Assert", [tf.constant(False), [i32(1, 2, 3, 4), tf.constant("x"),
                                        tf.constant([[1.5, 2], [3, 4]])]], outputs=0)
    case("Assert", [tf.constant(False), [tf.constant([[[1, 2], [3, 4]], [[5, 6], [7, 8]]]),
                                        tf.constant(1.1)]], outputs=0, summarize=5)
    case("Assert", [tf.constant([True, False]), [i32(1)]], outputs=0)
    seed = 0
    for t in REAL:
        for n in ([7], [2, 3], [], [0], [400]):
            if n == [400] and t == tf.bfloat16:
                continue
            shape = tf.constant(n, tf.int32)
            seed += 1  # a kernel with the same attributes would go on where the last case stopped
            for op in ("RandomUniform", "RandomStandardNormal", "TruncatedNormal"):
                if n == [400] and (op != "TruncatedNormal" or t != tf.float32):
                    continue
                case(op, [shape], seed=seed, seed2=34, dtype=t)
            if n != [400]:
                for op in ("StatelessRandomUniform", "StatelessRandomNormal"):
                    case(op, [shape, tf.constant([5, -6], tf.int64)], dtype=t)
    for t in (tf.int32, tf.int64):
        case("RandomUniformInt", [i32(11), tf.constant(-5, t), tf.constant(1000, t)], seed=3, seed2=4)
        case("RandomUniformInt", [i32(11), tf.constant(5, t), tf.constant(5, t)], seed=3, seed2=5)
    case("RandomUniform", [i32(-1)], seed=1, seed2=1, dtype=tf.float32)
    case("StatelessRandomUniform", [i32(1), tf.constant([1], tf.int64)], dtype=tf.float32)


def main():
    binary_ops()
    unary_ops()
    casts()
    matmuls()
    reductions()
    shapes()
    joins()
    slices()
    rest()
    path = os.path.join(os.path.dirname(os.path.abspath(__file__)), "../tests/data/op_goldens.txt")
    with open(path, "w", encoding="utf-8") as f:
        f.write("# Made by tools/gen_op_goldens.py with TensorFlow %s.\n" % tf.__version__)
        f.write("\n".join(lines) + "\n")
    with open(path.replace("op_goldens", "shape_goldens"), "w", encoding="utf-8") as f:
        f.write("# Made by tools/gen_op_goldens.py with TensorFlow %s.\n" % tf.__version__)
        f.write("\n".join(shape_lines) + "\n")
    print("%d cases of %d ops, %d bytes" % (sum(counts.values()), len(counts), os.path.getsize(path)))


if __name__ == "__main__":
    main()
