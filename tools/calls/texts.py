# SPDX-License-Identifier: Apache-2.0
"""Strings, ragged and sparse tensors, tables, parsing, images, files, summaries: run under tools/record_calls.py."""
import os
import tempfile

import numpy as np
import tensorflow as tf

from common import done, each, floats, ints, quietly, r, tf1

s = np.array([b"Hello World", b"", b"a,b,,c", "\u00e4\u00f6 \u20ac\U0001f600".encode(), b"  x\ty ", b"0123"], object)
for f in (lambda s: tf.strings.length(s), lambda s: tf.strings.length(s, "UTF8_CHAR"), lambda s: tf.strings.lower(s), lambda s: tf.strings.upper(s, "utf-8"),
          lambda s: tf.strings.strip(s), lambda s: tf.strings.substr(s, 0, 2), lambda s: tf.strings.substr(s, -3, 9), lambda s: tf.strings.substr(s, 1, 2, "UTF8_CHAR"),
          lambda s: tf.strings.join([s, s], "-"), lambda s: tf.strings.reduce_join(s), lambda s: tf.strings.reduce_join([s, s], 0, separator="+"),
          lambda s: tf.strings.split(s), lambda s: tf.strings.split(s, ","), lambda s: tf1.string_split(s, " "), lambda s: tf1.string_split(s, " ", skip_empty=False),
          lambda s: tf.strings.regex_replace(s, "[a-z]+", "<\\0>"), lambda s: tf.strings.regex_replace(s, "(", ""), lambda s: tf.strings.regex_full_match(s, ".*o.*"),
          lambda s: tf.strings.to_hash_bucket(s, 100), lambda s: tf.strings.to_hash_bucket_fast(s, 100), lambda s: tf.strings.to_hash_bucket_strong(s, 100, [1, 2]),
          lambda s: tf.strings.to_number(s), lambda s: tf.strings.to_number(s[5:], tf.int64), lambda s: tf.io.encode_base64(s), lambda s: tf.io.decode_base64(tf.io.encode_base64(s, True)),
          lambda s: tf.io.decode_base64(s), lambda s: tf.strings.bytes_split(s), lambda s: tf.strings.unicode_split(s, "UTF-8"), lambda s: tf.strings.unicode_decode(s, "UTF-8"),
          lambda s: tf.strings.unicode_decode_with_offsets(s, "UTF-8"), lambda s: tf.strings.unicode_encode(tf.strings.unicode_decode(s, "UTF-8"), "UTF-16-BE"),
          lambda s: tf.strings.unicode_transcode(s, "UTF-8", "UTF-32-BE"), lambda s: tf.strings.unicode_script([65, 0x4e00]), lambda s: tf.strings.ngrams(s, 2), lambda s: tf.strings.ngrams(s, [1, 3], pad_values=("L", "R")),
          lambda s: tf.strings.format("{} and {}", (s, s[0])), lambda s: tf.strings.as_string(tf.strings.length(s)), lambda s: tf.strings.as_string([1.5, 2.], precision=3, scientific=True),
          lambda s: tf.io.decode_raw(s[5:], tf.uint8), lambda s: tf.io.decode_raw(s, tf.int32), lambda s: tf1.decode_raw(s[5:], tf.int16, little_endian=False), lambda s: s == "0123", lambda s: tf.unique(s),
          lambda s: tf.gather(s, [1, 5]), lambda s: tf.where(s == "", "none", s), lambda s: tf.reverse(s, [0]), lambda s: tf.concat([s, s], 0), lambda s: tf.reshape(s, [2, 3]),
          lambda s: tf.strings.unsorted_segment_join(s, [0, 1, 0, 2, 1, 1], 3, "/"), lambda s: tf.raw_ops.StaticRegexReplace(input=s, pattern="l+", rewrite="L", replace_global=False),
          lambda s: tf.io.parse_tensor(tf.io.serialize_tensor(s), tf.string), lambda s: tf.io.parse_tensor(s[0], tf.string), lambda s: tf.sort(tf.strings.length(s)), lambda s: tf.fill([2], s[0]),
          lambda s: tf.tile(s, [2]), lambda s: tf.pad(s, [[1, 1]]), lambda s: tf.stack([s, s], 1), lambda s: tf.print(s, s, output_stream="file:///dev/null") or s, lambda s: tf.boolean_mask(s, s == "")):
    each(f, s)

# ---------------------------------------------------------------- tables
for make in (lambda: tf.lookup.StaticHashTable(tf.lookup.KeyValueTensorInitializer(["a", "0123"], [1, 2], tf.string, tf.int64), -1),
             lambda: tf.lookup.StaticVocabularyTable(tf.lookup.KeyValueTensorInitializer(["a", "0123"], [0, 1], tf.string, tf.int64), 3),
             lambda: tf.lookup.experimental.MutableHashTable(tf.string, tf.int64, -1),
             lambda: tf.lookup.experimental.DenseHashTable(tf.string, tf.int64, -1, "#empty", "#gone")):
    def look(s, make=make):
        t = make()
        out = []
        if hasattr(t, "insert"):
            with tf.control_dependencies([t.insert(s, tf.cast(tf.strings.length(s), tf.int64))]):
                with tf.control_dependencies([t.remove(s[:2])]):
                    out = [t.lookup(s), *t.export()]
        return [t.lookup(s), t.size()] + out if not out else [t.lookup(s)]
    each(look, s, function=False)

# ---------------------------------------------------------------- ragged
rows = np.array([0, 3, 3, 7, 9, 12], np.int64)
for dtype in (np.float32, np.int32, np.int64):
    for f in (lambda x: tf.reduce_sum(x, 1), lambda x: tf.reduce_mean(x, 1), lambda x: tf.reduce_max(x, 0), lambda x: tf.reduce_prod(x), lambda x: x.to_tensor(), lambda x: x.to_tensor(tf.cast(7, x.dtype), [4, 2]),
              lambda x: x.to_sparse(), lambda x: x[1:3], lambda x: x[:, :2], lambda x: x[:, -1:], lambda x: x[3], lambda x: tf.concat([x, x], 1), lambda x: tf.concat([x, x], 0), lambda x: tf.stack([x, x]),
              lambda x: x * x, lambda x: x + tf.cast(1, x.dtype), lambda x: tf.gather(x, [2, 0, 2]), lambda x: tf.gather(x, [[1], [2]]), lambda x: x.row_lengths(), lambda x: x.bounding_shape(), lambda x: x.value_rowids(),
              lambda x: x.nested_row_splits[0], lambda x: tf.ragged.boolean_mask(x, x > tf.cast(0, x.dtype)), lambda x: tf.tile(x, [2, 1]), lambda x: tf.expand_dims(x, 0), lambda x: tf.where(x > tf.cast(1, x.dtype)), lambda x: tf.size(x),
              lambda x: tf.map_fn(tf.reduce_sum, x, fn_output_signature=x.dtype), lambda x: tf.ragged.range(x.row_lengths()), lambda x: tf.reverse(x, [1]), lambda x: tf.sort(x.values), lambda x: tf.one_hot(tf.cast(x, tf.int32), 3),
              lambda x: tf.nn.softmax(tf.cast(x, tf.float32)), lambda x: tf.RaggedTensor.from_tensor(x.to_tensor(), padding=tf.cast(0, x.dtype)), lambda x: tf.ragged.cross([x, x]), lambda x: tf.ragged.cross_hashed([x, x], 50), lambda x: tf.reduce_any(x > tf.cast(1, x.dtype), 1),
              lambda x: tf.ragged.stack_dynamic_partitions(x.values, tf.cast(x.values > tf.cast(1, x.dtype), tf.int32), 2), lambda x: tf.strings.as_string(x), lambda x: tf.argmax(x, 1), lambda x: tf.matmul(x[:1].to_tensor(), x[:1].to_tensor(), transpose_b=True), lambda x: x.merge_dims(0, 1),
              lambda x: tf.math.bincount(tf.cast(x, tf.int32)), lambda x: tf.sparse.bincount(tf.cast(x, tf.int64)), lambda x: tf.dynamic_partition(x, [0, 1, 0, 1, 0], 2), lambda x: tf.ragged.segment_ids_to_row_splits([0, 0, 2]), lambda x: tf.math.top_k(x.to_tensor(), 1)):
        each(lambda v, f=f: f(tf.RaggedTensor.from_row_splits(v, rows)), floats(12).astype(dtype) if dtype == np.float32 else ints(12, dtype=dtype))
    each(lambda v: tf.RaggedTensor.from_row_splits(v, [0, 5, 3, 12]), ints(12, dtype=dtype))
    each(lambda v: tf.RaggedTensor.from_value_rowids(v, [0, 0, 2], 4), ints(3, dtype=dtype))
    each(lambda v: tf.RaggedTensor.from_nested_row_splits(v, [[0, 1, 2], [0, 2, 3]]).to_tensor(), ints(3, dtype=dtype))

# ---------------------------------------------------------------- sparse
for dtype in (np.float32, np.int32, np.float64, np.complex64):
    a, b = (np.where(r.rand(3, 4) < .5, (floats(3, 4) * 3), 0).astype(dtype) for _ in range(2))
    for f in (lambda x, y: tf.sparse.to_dense(x), lambda x, y: tf.sparse.add(x, y), lambda x, y: tf.sparse.add(x, tf.sparse.to_dense(y)), lambda x, y: tf.sparse.concat(1, [x, y]), lambda x, y: tf.sparse.concat(0, [x, y]),
              lambda x, y: tf.sparse.reshape(x, [2, -1]), lambda x, y: tf.sparse.transpose(x), lambda x, y: tf.sparse.slice(x, [1, 1], [2, 2]), lambda x, y: tf.sparse.split(x, 2, 1), lambda x, y: tf.sparse.reduce_sum(x, 1), lambda x, y: tf.sparse.reduce_max(x, 0, True),
              lambda x, y: tf.sparse.reduce_sum(x, 0, output_is_sparse=True), lambda x, y: tf.sparse.reorder(x), lambda x, y: tf.sparse.fill_empty_rows(x, tf.cast(1, x.dtype)), lambda x, y: tf.sparse.reset_shape(x, [5, 6]), lambda x, y: tf.sparse.retain(x, x.values != x.values[0]),
              lambda x, y: tf.sparse.softmax(x), lambda x, y: tf.sparse.maximum(x, y), lambda x, y: tf.sparse.minimum(x, y), lambda x, y: tf.sparse.sparse_dense_matmul(x, tf.sparse.to_dense(y), adjoint_b=True), lambda x, y: tf.sparse.sparse_dense_matmul(x, tf.sparse.to_dense(y), adjoint_a=True),
              lambda x, y: x * tf.sparse.to_dense(y), lambda x, y: x / tf.sparse.to_dense(y), lambda x, y: tf.sparse.to_indicator(tf.sparse.map_values(lambda v: tf.cast(tf.abs(tf.cast(v, tf.float32)), tf.int64), x), 9), lambda x, y: tf.sparse.mask(tf.IndexedSlices(x.values, x.indices[:, 0], None), [1]),
              lambda x, y: tf.sparse.expand_dims(x, 1), lambda x, y: tf.sparse.eye(3, 4), lambda x, y: tf.sparse.map_values(tf.abs, x), lambda x, y: tf.io.deserialize_many_sparse(tf.stack([tf.io.serialize_sparse(x), tf.io.serialize_sparse(y)]), x.dtype), lambda x, y: tf.io.serialize_many_sparse(x),
              lambda x, y: tf.RaggedTensor.from_sparse(tf.sparse.from_dense([[1, 2, 0], [3, 0, 0]])), lambda x, y: tf.sets.union(tf.sparse.from_dense([[1, 2]]), tf.sparse.from_dense([[3, 2]])), lambda x, y: tf.sparse.cross([tf.sparse.map_values(tf.strings.as_string, x), tf.sparse.map_values(tf.strings.as_string, y)])):
        each(lambda a, b, f=f: f(tf.sparse.from_dense(a), tf.sparse.from_dense(b)), a, b)
    each(lambda a: tf.sparse.to_dense(tf.SparseTensor([[0, 1], [9, 0]], a[0, :2], [3, 4])), a)
    each(lambda a: tf.sparse.to_dense(tf.SparseTensor([[1, 1], [0, 0]], a[0, :2], [3, 4])), a)
    each(lambda a: tf.sparse.to_dense(tf.SparseTensor([[1, 1], [1, 1]], a[0, :2], [3, 4]), validate_indices=False), a)

# ---------------------------------------------------------------- parsing
example = tf.train.Example(features=tf.train.Features(feature={
    "f": tf.train.Feature(float_list=tf.train.FloatList(value=[1, 2.5])), "i": tf.train.Feature(int64_list=tf.train.Int64List(value=[3])),
    "s": tf.train.Feature(bytes_list=tf.train.BytesList(value=[b"x", b"yz"]))})).SerializeToString()
sequence = tf.train.SequenceExample(context=tf.train.Features(feature={"i": tf.train.Feature(int64_list=tf.train.Int64List(value=[3]))}), feature_lists=tf.train.FeatureLists(feature_list={
    "f": tf.train.FeatureList(feature=[tf.train.Feature(float_list=tf.train.FloatList(value=[1, 2])), tf.train.Feature(float_list=tf.train.FloatList(value=[3]))])})).SerializeToString()
features = {"f": tf.io.FixedLenFeature([2], tf.float32), "i": tf.io.VarLenFeature(tf.int64), "s": tf.io.RaggedFeature(tf.string), "d": tf.io.FixedLenFeature([], tf.int64, 7)}
each(lambda e: tf.io.parse_single_example(e, features), np.array(example, object))
each(lambda e: tf.io.parse_example(e, features), np.array([example, example], object))
each(lambda e: tf.io.parse_example(e, {"f": tf.io.FixedLenFeature([3], tf.float32)}), np.array([example, example], object))
each(lambda e: tf.io.parse_example(e, {"q": tf.io.FixedLenFeature([3], tf.float32)}), np.array([example, b"bad"], object))
each(lambda e: tf.io.parse_example(e, {"sp": tf.io.SparseFeature("i", "f", tf.float32, 9)}), np.array([example], object))
each(lambda e: tf.io.parse_single_sequence_example(e, {"i": tf.io.FixedLenFeature([], tf.int64)}, {"f": tf.io.VarLenFeature(tf.float32)}), np.array(sequence, object))
each(lambda e: tf.io.parse_sequence_example(e, {"i": tf.io.FixedLenFeature([], tf.int64)}, {"f": tf.io.RaggedFeature(tf.float32)}), np.array([sequence, sequence], object))
each(lambda e: tf.io.decode_csv(e, [[1.], [0], [""]]), np.array([b"1.5,2,x", b",,y"], object))
each(lambda e: tf.io.decode_csv(e, [[1.], [0], [""]], field_delim=";"), np.array([b"1.5,2,x", b",,y"], object))
each(lambda e: tf.io.decode_json_example(e), np.array(['{"features": {"feature": {"i": {"int64List": {"value": ["3"]}}}}}'], object))
each(lambda e: tf.io.decode_compressed(e), np.array([b"plain"], object))

# ---------------------------------------------------------------- images
for dtype in (np.float32, np.uint8):
    i = (r.rand(2, 8, 7, 3) * (255 if dtype == np.uint8 else 1)).astype(dtype)
    for f in (lambda i: tf.image.flip_left_right(i), lambda i: tf.image.flip_up_down(i), lambda i: tf.image.rot90(i), lambda i: tf.image.transpose(i), lambda i: tf.image.adjust_brightness(i, .2), lambda i: tf.image.adjust_contrast(i, 1.7), lambda i: tf.image.adjust_hue(i, .2),
              lambda i: tf.image.adjust_saturation(i, .4), lambda i: tf.image.adjust_gamma(i, 2.), lambda i: tf.image.adjust_jpeg_quality(i[0], 50), lambda i: tf.image.rgb_to_grayscale(i), lambda i: tf.image.grayscale_to_rgb(i[..., :1]), lambda i: tf.image.rgb_to_hsv(tf.cast(i, tf.float32)),
              lambda i: tf.image.hsv_to_rgb(tf.cast(i, tf.float32) / 255), lambda i: tf.image.rgb_to_yiq(tf.cast(i, tf.float32)), lambda i: tf.image.rgb_to_yuv(tf.cast(i, tf.float32)), lambda i: tf.image.central_crop(i, .5), lambda i: tf.image.crop_to_bounding_box(i, 1, 2, 3, 4), lambda i: tf.image.pad_to_bounding_box(i, 1, 2, 12, 12),
              lambda i: tf.image.crop_to_bounding_box(i, 6, 2, 3, 4), lambda i: tf.image.resize_with_crop_or_pad(i, 5, 9), lambda i: tf.image.resize_with_pad(i, 5, 9), lambda i: tf.image.per_image_standardization(i), lambda i: tf.image.convert_image_dtype(i, tf.float16), lambda i: tf.image.convert_image_dtype(i, tf.uint16), lambda i: tf.image.total_variation(i),
              lambda i: tf.image.sobel_edges(tf.cast(i, tf.float32)), lambda i: tf.image.image_gradients(i), lambda i: tf.image.psnr(i, tf.image.flip_left_right(i), 255), lambda i: tf.image.ssim(i, tf.image.flip_left_right(i), 255, filter_size=5), lambda i: tf.image.crop_and_resize(i, [[.1, .2, .9, .8], [0., 0., 1.2, 1.]], [0, 1], [4, 5]), lambda i: tf.image.crop_and_resize(i, [[.1, .2, .9, .8]], [5], [4, 5], "nearest"),
              lambda i: tf.image.draw_bounding_boxes(tf.cast(i, tf.float32), [[[.1, .2, .9, .8]], [[0., 0., 1., 1.]]], [[1., 0., 0.]]), lambda i: tf.image.extract_patches(i, [1, 3, 3, 1], [1, 2, 2, 1], [1, 1, 2, 1], "VALID"), lambda i: tf.image.stateless_random_crop(i, [1, 3, 3, 3], [1, 2]), lambda i: tf.image.stateless_random_flip_left_right(i, [1, 2]),
              lambda i: tf.image.stateless_random_hue(i, .2, [1, 2]), lambda i: tf.image.stateless_random_contrast(i, .2, .5, [1, 2]), lambda i: tf.image.stateless_random_jpeg_quality(i[0], 60, 90, [1, 2]), lambda i: tf.image.stateless_sample_distorted_bounding_box(tf.shape(i[0]), [[[.1, .2, .9, .8]]], [1, 2]), lambda i: tf.io.decode_png(tf.io.encode_png(i[0])), lambda i: tf.io.decode_image(tf.io.encode_png(i[0]), dtype=tf.float32),
              lambda i: tf.io.decode_jpeg(tf.io.encode_jpeg(i[0], quality=100), ratio=2), lambda i: tf.image.combined_non_max_suppression(r.rand(1, 5, 1, 4).astype("f"), r.rand(1, 5, 2).astype("f"), 2, 3), lambda i: tf.image.non_max_suppression_padded(r.rand(5, 4).astype("f"), r.rand(5).astype("f"), 3, pad_to_max_output_size=True), lambda i: tf.image.non_max_suppression_with_scores(r.rand(5, 4).astype("f"), r.rand(5).astype("f"), 3, soft_nms_sigma=.5),
              lambda i: tf.image.non_max_suppression_overlaps(r.rand(5, 5).astype("f"), r.rand(5).astype("f"), 3), lambda i: tf.raw_ops.ImageProjectiveTransformV3(images=i, transforms=[[1, .1, 0, 0, 1, .5, 0, .01]], output_shape=[5, 5], interpolation="BILINEAR", fill_mode="REFLECT", fill_value=0.), lambda i: tf.image.generate_bounding_box_proposals(floats(1, 4, 4, 2), floats(1, 4, 4, 8), [[32., 32, 1, 0, 0]], floats(2, 4), pre_nms_topn=5, post_nms_topn=3)):
        each(f, i)
    for method in ("bilinear", "nearest", "bicubic", "area", "lanczos3", "lanczos5", "gaussian", "mitchellcubic"):
        for size in ([5, 9], [16, 3], [8, 7]):
            each(lambda i: tf.image.resize(i, size, method), i)
            each(lambda i: tf.image.resize(i, size, method, antialias=True, preserve_aspect_ratio=True), i)
            if method in ("bilinear", "nearest", "bicubic", "area"):
                each(lambda i: tf1.image.resize(i, size, method, align_corners=True), i)

# ---------------------------------------------------------------- files and summaries
folder = tempfile.mkdtemp()
name = os.path.join(folder, "f")
each(lambda s: tf.io.write_file(name, s[0]), s)
each(lambda s: tf.io.read_file(name), s)
each(lambda s: tf.io.read_file(name + "none"), s)
each(lambda s: tf.io.matching_files(name + "*"), s)
each(lambda s: [tf1.summary.scalar("a", 2.), tf1.summary.histogram("h", [1., 2.]), tf1.summary.text("t", s), tf1.summary.image("i", floats(1, 4, 4, 3)), tf1.summary.audio("b", floats(1, 9, 1), 8)] if not tf.executing_eagerly() else s, s)
each(lambda s: tf1.summary.merge([tf1.summary.scalar("a", 2.), tf1.summary.scalar("b", 3.)]) if not tf.executing_eagerly() else s, s)


def saver():
    with tf1.Graph().as_default(), tf1.Session() as sess:
        v = tf1.get_variable("v", [3], initializer=tf1.constant_initializer([1., 2, 3]))
        saver = tf1.train.Saver()
        sess.run(tf1.global_variables_initializer())
        path = saver.save(sess, os.path.join(folder, "model"))
        sess.run(v.assign([0., 0, 0]))
        saver.restore(sess, path)
        sess.run(v)


quietly(saver)
done("texts")
