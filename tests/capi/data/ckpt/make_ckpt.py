"""Writes the small checkpoints that exp_checkpoint.c reads (run with TF 2.21)."""
import os
import tensorflow as tf

here = os.path.dirname(os.path.abspath(__file__))
os.chdir(here)
R = tf.raw_ops
vals = [
    ("bf", tf.constant([1.5, -2.0], tf.bfloat16)),
    ("bool", tf.constant([True, False, True])),
    ("c64", tf.constant([1 + 2j], tf.complex64)),
    ("f32", tf.constant([[1.0, 2.0, 3.0], [4.0, 5.0, 6.0]])),
    ("f64", tf.constant(2.5, tf.float64)),
    ("half", tf.constant([0.5, 65504.0], tf.float16)),
    ("i16", tf.constant([-300], tf.int16)),
    ("i32", tf.constant([1, -2, 3])),
    ("i64", tf.constant([[1 << 40]], tf.int64)),
    ("i8", tf.constant([-128, 127], tf.int8)),
    ("str", tf.constant(["a", "", "a string longer than the inline capacity"])),
    ("u8", tf.constant([255], tf.uint8)),
    ("zero", tf.zeros([0, 3])),
]
R.SaveV2(prefix="plain", tensor_names=[n for n, _ in vals],
         shape_and_slices=[""] * len(vals), tensors=[t for _, t in vals])
R.SaveV2(prefix="part", tensor_names=["p", "p", "q"],
         shape_and_slices=["4 2 0,2:0,2", "4 2 2,2:0,2", ""],
         tensors=[tf.constant([[1.0, 2.0], [3.0, 4.0]]),
                  tf.constant([[5.0, 6.0], [7.0, 8.0]]), tf.constant(9)])
v1 = [v for v in vals if v[0] in ("bool", "f32", "f64", "i32", "i64", "str")]
R.Save(filename="v1.ckpt", tensor_names=[n for n, _ in v1],
       data=[t for _, t in v1])


class M(tf.Module):
  def __init__(self):
    super().__init__()
    self.w = tf.Variable([[1.0, 2.0]], name="w")
    self.n = tf.Variable(7, dtype=tf.int64, name="n")


tf.train.Checkpoint(model=M()).write("object")
