#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Writes src/ops/opdefs.tsv: the signature of every operation of the installed TensorFlow.

Run: /opt/tfvenv/bin/python tools/gen_opdefs.py src/ops/opdefs.tsv
The output depends only on TensorFlow's version. The grammar is explained in the file's own head.
"""
import os
import subprocess
import sys

os.environ.setdefault("TF_CPP_MIN_LOG_LEVEL", "3")
import numpy as np
from tensorflow.core.framework import op_def_pb2, types_pb2
from tensorflow.python.client import pywrap_tf_session as c_api
from tensorflow.python.framework import kernels, ops, tensor_util
import tensorflow  # noqa: F401  registers gradients

HEAD = """\
# TensorFlow %s: one line per operation, by tools/gen_opdefs.py. Tab-separated, sorted by name:
# name  inputs  outputs  attributes  flags  cpu_kernels  kernels  deprecation
# argument   name:[ref ]TYPE, with TYPE float | T | N*float | N*T | list(Tin)
# attribute  name:type{allowed|allowed}>=minimum=default; strings 'quoted', shapes [2,?] or ?,
#            tensors uint8[4]=255,0,0,255, functions by name, lists of these in [ ; ]
# flags      S stateful, C commutative, A aggregate, U uninitialized input allowed,
#            D distributed communication, G has a gradient in TensorFlow's Python registry,
#            P only TensorFlow's Python modules register it: a client may register another;
#            a, b ... the full type of the first output (FULL_TYPES of spec_proto.c)
# cpu_kernels  sets of constraints, in TensorFlow's order: T=float,Tidx=int32|int64;T=double
#            After a set: !priority, @host+memory+arguments; after the last: @@those+of+every+set
# kernels    every group in TensorFlow's order: DEVICE[:label]{sets}; CPU alone stands for
#            cpu_kernels; empty = only those
# Operations of Ferry's own (_Ferry...) are written by hand; the generator keeps their lines.
# deprecation  version explanation
"""

# Registered by TensorFlow only when a GPU device is made.
LATE = [
    op_def_pb2.OpDef(name=name,
                     input_arg=[op_def_pb2.OpDef.ArgDef(name="input", type_attr="T")],
                     output_arg=[op_def_pb2.OpDef.ArgDef(name="output", type_attr="T")],
                     attr=[op_def_pb2.OpDef.AttrDef(name="T", type="type")])
    for name in ("_CopyFromGpuToHost", "_CopyFromHostToGpu")
]


# The full types of first outputs that there are, as FullTypeDefs: a is the first.
FULL_TYPES = []

# Prints what the C library alone registers, without TensorFlow's Python modules.
LIST_OPS = """
import ctypes, sys
class Buffer(ctypes.Structure):
  _fields_ = [("data", ctypes.c_void_p), ("length", ctypes.c_size_t)]
ctypes.CDLL(sys.argv[1] + "/libtensorflow_framework.so.2", ctypes.RTLD_GLOBAL)
library = ctypes.CDLL(sys.argv[1] + "/libtensorflow_cc.so.2")
library.TF_GetAllOpList.restype = ctypes.POINTER(Buffer)
ops = library.TF_GetAllOpList().contents
sys.stdout.buffer.write(ctypes.string_at(ops.data, ops.length))
"""


def names_of_library():
  where = os.path.dirname(tensorflow.__file__)
  run = subprocess.run([sys.executable, "-c", LIST_OPS, where], stdout=subprocess.PIPE, check=True)
  return {op.name for op in op_def_pb2.OpList.FromString(run.stdout).op}


def full_type(op):
  typed = [a for a in list(op.input_arg) + list(op.output_arg)
           if a.HasField("experimental_full_type")]
  if not typed:
    return ""
  assert len(typed) == 1 and typed[0] is op.output_arg[0] or typed[0] == op.output_arg[0], op
  value = typed[0].experimental_full_type.SerializeToString(deterministic=True)
  if value not in FULL_TYPES:
    FULL_TYPES.append(value)
  return chr(ord("a") + FULL_TYPES.index(value))


def dtype(value):
  return types_pb2.DataType.Name(value)[3:].lower()


def quoted(value):
  text = ""
  for byte in value if isinstance(value, bytes) else value.encode():
    char = chr(byte)
    if char in "'\\":
      text += "\\" + char
    elif 32 <= byte < 127:
      text += char
    else:
      text += "\\x%02x" % byte
  return "'" + text + "'"


def number(value):
  short = str(np.float32(value))
  return short[:-2] if short.endswith(".0") else short


def shape(value):
  if value.unknown_rank:
    return "?"
  return "[" + ",".join("?" if d.size < 0 else str(d.size) for d in value.dim) + "]"


def tensor(value):
  array = tensor_util.MakeNdarray(value)
  assert array.dtype.kind in "iu", value
  return dtype(value.dtype) + shape(value.tensor_shape) + "=" + ",".join(
      str(x) for x in array.ravel())


SCALARS = {
    "string": ("s", quoted), "int": ("i", str), "float": ("f", number),
    "bool": ("b", lambda b: "true" if b else "false"), "type": ("type", dtype),
    "shape": ("shape", shape), "tensor": ("tensor", tensor), "func": ("func", lambda f: f.name),
}


def attr_value(kind, value):
  if kind.startswith("list("):
    field, show = SCALARS[kind[5:-1]]
    return "[" + ";".join(show(x) for x in getattr(value.list, field)) + "]"
  field, show = SCALARS[kind]
  return show(getattr(value, field))


def attr(a):
  text = a.name + ":" + a.type
  if a.HasField("allowed_values"):
    values = a.allowed_values.list
    text += "{" + "|".join([dtype(t) for t in values.type] + [quoted(s) for s in values.s]) + "}"
  if a.has_minimum:
    text += ">=%d" % a.minimum
  if a.HasField("default_value"):
    text += "=" + attr_value(a.type, a.default_value)
  return text


def arg(a):
  text = a.name + ":" + ("ref " if a.is_ref else "")
  if a.type_list_attr:
    return text + "list(" + a.type_list_attr + ")"
  if a.number_attr:
    text += a.number_attr + "*"
  return text + (a.type_attr or dtype(a.type))


def kernel_set(kernel, with_host):
  parts = []
  for constraint in kernel.constraint:
    values = constraint.allowed_values.list
    shown = ([dtype(t) for t in values.type] + [quoted(s) for s in values.s] +
             [str(i) for i in values.i] + ["true" if b else "false" for b in values.b])
    parts.append(constraint.name + "=" + "|".join(shown))
  text = ",".join(parts) or "any"
  if kernel.priority:
    text += "!%d" % kernel.priority
  if with_host and kernel.host_memory_arg:
    text += "@" + "+".join(kernel.host_memory_arg)
  return text


def kernel_sets(members):
  hosts = {tuple(k.host_memory_arg) for k in members}
  if len(members) > 1 and len(hosts) == 1 and hosts != {()}:  # said once for all
    return ";".join(kernel_set(k, False) for k in members) + "@@" + "+".join(hosts.pop())
  return ";".join(kernel_set(k, True) for k in members)


def kernel_columns(registered):
  groups = {}
  for kernel in registered:
    groups.setdefault((kernel.device_type, kernel.label), []).append(kernel)
  cpu = kernel_sets(groups.get(("CPU", ""), []))
  if not groups or list(groups) == [("CPU", "")]:
    return cpu, ""
  shown = []
  for (device, label), members in groups.items():
    if (device, label) == ("CPU", ""):
      shown.append("CPU")
    else:
      shown.append(device + (":" + label if label else "") + "{" + kernel_sets(members) + "}")
  return cpu, " ".join(shown)


def has_gradient(name):
  try:
    ops.gradient_registry.lookup(name)
    return True
  except LookupError:
    return False


def line(op, registered, in_library):
  flags = "".join(letter for letter, on in (
      ("S", op.is_stateful), ("C", op.is_commutative), ("A", op.is_aggregate),
      ("U", op.allows_uninitialized_input), ("D", op.is_distributed_communication),
      ("G", has_gradient(op.name)), ("P", not in_library)) if on) + full_type(op)
  deprecation = ""
  if op.HasField("deprecation"):
    deprecation = "%d %s" % (op.deprecation.version, op.deprecation.explanation)
  cpu, others = kernel_columns(registered)
  columns = [op.name, ", ".join(map(arg, op.input_arg)), ", ".join(map(arg, op.output_arg)),
             " ".join(map(attr, op.attr)), flags, cpu, others, deprecation]
  text = "\t".join(columns)
  assert text.isascii() and "\n" not in text and text.count("\t") == 7, text
  return text.rstrip("\t")


def own_lines(path):
  """The lines of Ferry's own operations, by name."""
  if not os.path.exists(path):
    return {}
  with open(path, encoding="ascii") as old:
    return {text.split("\t")[0]: text.rstrip("\n") for text in old if text.startswith("_Ferry")}


def main():
  op_list = op_def_pb2.OpList.FromString(c_api.TF_GetBuffer(c_api.TF_GetAllOpList()))
  registered = {}
  for kernel in kernels.get_all_registered_kernels().kernel:
    registered.setdefault(kernel.op, []).append(kernel)
  defs = {op.name: op for op in LATE}
  defs.update((op.name, op) for op in op_list.op)
  library = names_of_library()
  lines = {name: line(defs[name], registered.get(name, []), name in library)
           for name in sorted(defs)}
  lines.update(own_lines(sys.argv[1]))
  with open(sys.argv[1], "w", encoding="ascii", newline="\n") as out:
    out.write(HEAD % tensorflow.__version__)
    for name in sorted(lines):
      out.write(lines[name] + "\n")


if __name__ == "__main__":
  main()
