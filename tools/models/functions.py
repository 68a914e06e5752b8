# SPDX-License-Identifier: Apache-2.0
"""tf.function: control flow, strings, images, signal, linear algebra, tables, state."""
from models.common import *  # noqa: F403


# ---------------------------------------------------------------- tf.function
def fn(name, specs, f, *feeds, state=None):
    def make():
        return module("fn_" + name, specs, f, *[v() if callable(v) else v for v in feeds], state=state)
    make.__name__ = "fn_" + name
    makers[make.__name__] = make


def collatz(m, n):
    steps = tf.constant(0)
    while n > 1:
        if n % 2 == 0:
            n = n // 2
        else:
            n = 3 * n + 1
        steps += 1
        if steps > 500:
            break
    return steps


fn("autograph", [S([], tf.int32, "n")], collatz, np.int32(27), np.int32(1))
fn("while_loop", [S([None, 3])], lambda m, x: tf.while_loop(lambda i, a: i < 5, lambda i, a: (i + 1, tf.concat([a, x * tf.cast(i, tf.float32)], 0)), [0, x], shape_invariants=[tf.TensorShape([]), tf.TensorShape([None, 3])])[1], lambda: normal(2, 3))
fn("map_fn", [S([None, None])], lambda m, x: tf.map_fn(lambda r: tf.reduce_sum(tf.sort(r)[1:]), x), lambda: normal(4, 5))
fn("scan", [S([None, 3])], lambda m, x: tf.scan(lambda a, v: a * .5 + v, x), lambda: normal(5, 3))
fn("foldl", [S([None, 3])], lambda m, x: tf.foldl(lambda a, v: a * .5 + v, x) + tf.foldr(lambda a, v: a * .5 - v, x), lambda: normal(5, 3))
fn("vectorized_map", [S([None, 3, 3])], lambda m, x: tf.vectorized_map(lambda a: tf.linalg.matmul(a, a) + tf.linalg.trace(a), x), lambda: normal(5, 3, 3))
fn("cond_switch", [S([], tf.int32, "i"), S([None])], lambda m, i, x: {"a": tf.cond(i > 1, lambda: x + 1, lambda: x * 2), "b": tf.switch_case(i, [lambda: x, lambda: -x, lambda: x * x], default=lambda: x - 9), "c": tf.case([(i < 1, lambda: x * 3)], default=lambda: x)}, lambda: (np.int32(0), normal(3)), lambda: (np.int32(2), normal(4)), lambda: (np.int32(9), normal(1)))


def tensor_array(m, x):
    ta = tf.TensorArray(tf.float32, size=0, dynamic_size=True, clear_after_read=False)
    for i in tf.range(tf.shape(x)[0]):
        ta = ta.write(i, x[i] * tf.cast(i, tf.float32))
    return {"stack": ta.stack(), "gather": ta.gather([1, 0]), "concat": tf.TensorArray(tf.float32, size=2, infer_shape=False).unstack(x[:2]).concat()}


fn("tensor_array", [S([None, 3])], tensor_array, lambda: normal(4, 3))
fn("grad_inside", [S([None, 3])], lambda m, x: tf.gradients(tf.reduce_sum(tf.tanh(x @ tf.ones([3, 2])) ** 2), x)[0], lambda: normal(4, 3))
fn("grad_while", [S([3])], lambda m, x: tf.gradients(tf.while_loop(lambda i, a: i < 4, lambda i, a: (i + 1, tf.sin(a) * x), [0, x])[1], x)[0], lambda: normal(3))
fn("grad_map", [S([None, 3])], lambda m, x: tf.gradients(tf.map_fn(lambda r: tf.reduce_sum(r * r), x), x)[0], lambda: normal(3, 3))
fn("strings", [S([None], tf.string)], lambda m, x: {"split": tf.strings.split(x).to_tensor(), "len": tf.strings.length(x, "UTF8_CHAR"), "up": tf.strings.upper(x), "re": tf.strings.regex_replace(x, r"(\w)(\w)", r"\2\1"), "sub": tf.strings.substr(x, 0, 2), "join": tf.strings.reduce_join(x, separator="|"), "fmt": tf.strings.format("{} !", x), "hash": tf.strings.to_hash_bucket_fast(x, 100), "strong": tf.strings.to_hash_bucket_strong(x, 100, [1, 2]), "strip": tf.strings.strip(x), "match": tf.strings.regex_full_match(x, ".*o.*"), "b64": tf.io.encode_base64(x), "ngrams": tf.strings.ngrams(tf.strings.split(x), 2).to_tensor(), "bytes": tf.strings.bytes_split(x).to_tensor(), "uni": tf.strings.unicode_decode(x, "UTF-8").to_tensor(), "trans": tf.strings.unicode_transcode(x, "UTF-8", "UTF-16-BE")}, np.array(["hello big world", "foo", " caf\u00e9 au lait "]))
fn("string_numbers", [S([None], tf.string)], lambda m, x: {"f": tf.strings.to_number(x), "i": tf.strings.to_number(tf.strings.regex_replace(x, r"\..*", ""), tf.int64), "s": tf.strings.as_string(tf.strings.to_number(x), precision=3), "csv": tf.stack(tf.io.decode_csv(tf.strings.join([x, x], ","), [[0.], [0.]]))}, np.array(["1.5", "22.25", "-3.0"]))
fn("image", [S([None, None, 3], tf.uint8)], lambda m, x: {"gray": tf.image.rgb_to_grayscale(x), "hsv": tf.image.rgb_to_hsv(tf.image.convert_image_dtype(x, tf.float32)), "area": tf.image.resize(x, [5, 6], method="area"), "lanczos": tf.image.resize(tf.cast(x, tf.float32), [7, 9], method="lanczos5", antialias=True), "pad": tf.image.resize_with_pad(x, 20, 20), "adj": tf.image.adjust_contrast(tf.image.adjust_hue(tf.image.adjust_saturation(tf.cast(x, tf.float32) / 255, 2.), .1), 1.5), "std": tf.image.per_image_standardization(x), "rot": tf.image.rot90(x), "sobel": tf.image.sobel_edges(tf.cast(x, tf.float32)[None]), "crop": tf.image.crop_and_resize(tf.cast(x, tf.float32)[None], [[.1, .2, .8, .9]], [0], [4, 4]), "yiq": tf.image.rgb_to_yiq(tf.cast(x, tf.float32)), "patches": tf.image.extract_patches(x[None], [1, 3, 3, 1], [1, 2, 2, 1], [1, 1, 1, 1], "VALID"), "gamma": tf.image.adjust_gamma(tf.cast(x, tf.float32) / 255, 2.), "ssim": tf.image.psnr(x, x // 2, 255)}, lambda: (rng.random((14, 16, 3)) * 255).astype(np.uint8))
fn("image_codec", [S([None, None, 3], tf.uint8)], lambda m, x: {"png": tf.io.decode_png(tf.io.encode_png(x)), "jpeg": tf.cast(tf.io.decode_jpeg(tf.io.encode_jpeg(x)), tf.float32) * 0 + 1, "any": tf.io.decode_image(tf.io.encode_png(x), expand_animations=False)}, lambda: (rng.random((14, 16, 3)) * 255).astype(np.uint8))
fn("boxes", [S([None, 4], name="b"), S([None], name="s")], lambda m, b, s: {"nms": tf.image.non_max_suppression(b, s, 3, .5), "soft": tf.image.non_max_suppression_with_scores(b, s, 4, soft_nms_sigma=.5)[1], "pad": tf.image.non_max_suppression_padded(b, s, 5, .5, pad_to_max_output_size=True)[0], "comb": tf.image.combined_non_max_suppression(b[None, :, None, :], s[None, :, None], 3, 3)[0]}, lambda: (np.sort(rng.random((6, 2, 2)).astype(np.float32), 1).reshape(6, 4), rng.random(6).astype(np.float32)))
fn("signal", [S([None, 512])], lambda m, x: {"stft": tf.abs(tf.signal.stft(x, 64, 32)), "inv": tf.signal.inverse_stft(tf.signal.stft(x, 64, 32), 64, 32), "mfcc": tf.signal.mfccs_from_log_mel_spectrograms(tf.math.log(1e-3 + tf.tensordot(tf.abs(tf.signal.stft(x, 64, 32, 64)), tf.signal.linear_to_mel_weight_matrix(10, 33, 8000), 1)))[..., :6], "dct": tf.signal.dct(x, type=2, norm="ortho"), "mdct": tf.signal.mdct(x, 64), "frame": tf.signal.frame(x, 30, 20, pad_end=True), "add": tf.signal.overlap_and_add(tf.signal.frame(x, 30, 10), 10), "hann": tf.signal.hann_window(9) + tf.signal.kaiser_window(9), "fft2": tf.abs(tf.signal.rfft2d(tf.reshape(x, [-1, 16, 32])))}, lambda: normal(2, 512))
fn("linalg", [S([None, 4, 4])], lambda m, x: {"inv": tf.linalg.inv(x + 5 * tf.eye(4)), "det": tf.linalg.det(x), "chol": tf.linalg.cholesky(x @ tf.transpose(x, [0, 2, 1]) + tf.eye(4)), "svd": tf.linalg.svd(x, compute_uv=False), "eigh": tf.linalg.eigvalsh(x + tf.transpose(x, [0, 2, 1])), "qr": tf.abs(tf.linalg.qr(x).r), "solve": tf.linalg.solve(x + 5 * tf.eye(4), tf.ones([tf.shape(x)[0], 4, 2])), "expm": tf.linalg.expm(x * .1), "logm": tf.math.real(tf.linalg.logm(tf.cast(x @ tf.transpose(x, [0, 2, 1]) + tf.eye(4), tf.complex64))), "tri": tf.linalg.triangular_solve(tf.linalg.band_part(x, -1, 0) + 5 * tf.eye(4), x), "diag": tf.linalg.diag(x, k=1), "norm": tf.norm(x, axis=[1, 2]), "pinv": tf.linalg.pinv(x), "lu": tf.linalg.lu(x)[1], "cross": tf.linalg.cross(x[..., :3], x[..., 1:]), "lstsq": tf.linalg.lstsq(x, x[..., :1], fast=True, l2_regularizer=.1), "sqrtm": tf.linalg.sqrtm(x @ tf.transpose(x, [0, 2, 1]) + tf.eye(4)), "einsum": tf.einsum("bij,bkj->bik", x, x), "slogdet": tf.linalg.slogdet(x)[1], "tensordot": tf.tensordot(x, x, [[1, 2], [1, 2]]), "adj": tf.linalg.adjoint(x), "matvec": tf.linalg.matvec(x, x[..., 0]), "eig": tf.sort(tf.abs(tf.linalg.eigvals(x)))}, lambda: normal(3, 4, 4))
fn("random_seeded", [S([None], tf.int32, "shape")], lambda m, s: {"u": tf.random.stateless_uniform(s, [1, 2]), "n": tf.random.stateless_normal(s, [1, 2]), "t": tf.random.stateless_truncated_normal(s, [3, 4]), "i": tf.random.stateless_uniform(s, [1, 2], 0, 100, tf.int32), "g": tf.random.stateless_gamma(s, [1, 2], 2.), "b": tf.random.stateless_binomial(s, [5, 6], 10., .3), "p": tf.random.stateless_poisson(s, [5, 6], 3.), "c": tf.random.stateless_categorical(tf.zeros([2, 5]), 4, [1, 2]), "shuffle": tf.random.experimental.stateless_shuffle(tf.range(10), [1, 2]), "old": tf.random.uniform(s, seed=3) * 0 + 1}, np.array([3, 4], np.int32))
fn("math", [S([None])], lambda m, x: {"a": tf.math.lgamma(tf.abs(x) + 1), "b": tf.math.erfinv(tf.tanh(x)), "c": tf.math.bessel_i0e(x), "d": tf.math.zeta(tf.abs(x) + 2, 1.), "e": tf.math.polygamma(1., tf.abs(x) + 1), "f": tf.math.igamma(2., tf.abs(x)), "g": tf.math.betainc(2., 3., tf.sigmoid(x)), "h": tf.math.cumulative_logsumexp(x), "i": tf.math.top_k(x, 2).indices, "j": tf.math.confusion_matrix([0, 1], [1, 1]), "k": tf.math.segment_sum(x, [0, 0, 1, 2, 2]), "l": tf.math.unsorted_segment_mean(x, [2, 0, 1, 0, 2], 3), "m": tf.math.bincount([1, 1, 3]), "n": tf.math.reduce_logsumexp(x), "o": tf.math.ndtri(tf.sigmoid(x)), "p": tf.unique(tf.cast(x, tf.int32)).y, "q": tf.searchsorted(tf.sort(x), [0., .5]), "r": tf.histogram_fixed_width(x, [-1., 1.], 4), "s": tf.math.angle(tf.complex(x, 1.)), "t": tf.math.xlogy(x, 3.), "u": tf.nn.moments(x, 0)[1], "v": tf.math.nextafter(x, 9.) , "w": tf.math.cumprod(x, exclusive=True, reverse=True), "x": tf.math.special.fresnel_cos(x), "y": tf.math.special.expint(tf.abs(x) + .5)}, lambda: normal(5))
fn("arrays", [S([3, 4])], lambda m, x: {"where": tf.where(x > 0), "mask": tf.boolean_mask(x, x > 0), "gnd": tf.gather_nd(x, [[0, 1], [2, 3]]), "snd": tf.scatter_nd([[1], [0]], x[:2], [4, 4]), "tsu": tf.tensor_scatter_nd_max(x, [[0, 0]], [9.]), "dyn": tf.dynamic_partition(x, [0, 1, 0], 2)[1], "stitch": tf.dynamic_stitch([[0, 2], [1]], [x[:2], x[2:]]), "roll": tf.roll(x, 1, 1), "rev": tf.reverse_sequence(x, [2, 3, 4], seq_axis=1), "oh": tf.one_hot([1, -1, 2], 4), "strided": x[::-1, tf.newaxis, 1:3, ...], "space": tf.nn.space_to_depth(tf.reshape(tf.tile(x, [1, 4]), [1, 4, 12, 1])[:, :4, :4], 2), "mesh": tf.meshgrid(x[0], x[:, 0])[0], "repeat": tf.repeat(x, [1, 2, 0], axis=0), "pad": tf.pad(x, [[1, 1], [2, 0]], "REFLECT"), "sb": tf.space_to_batch(tf.reshape(x, [1, 3, 4, 1]), [1, 2], [[0, 0], [0, 0]]), "bc": tf.broadcast_to(x, [2, 3, 4]), "sort": tf.argsort(x, direction="DESCENDING"), "seqmask": tf.sequence_mask([1, 3], 4), "bit": tf.bitwise.bitwise_xor(tf.cast(x, tf.int32), 3), "q": tf.quantization.fake_quant_with_min_max_args(x, -1, 1), "ensure": tf.ensure_shape(x, [3, 4]), "fill": tf.fill([2], x[0, 0]), "eye": tf.eye(3, 4), "unravel": tf.unravel_index([5], [3, 4]), "bitcast": tf.bitcast(x, tf.int32), "edit": tf.edit_distance(tf.sparse.from_dense([[1, 2]]), tf.sparse.from_dense([[1, 3]])), "batch_gather": tf.gather(x, [[0, 1], [1, 2], [3, 3]], batch_dims=1)}, lambda: normal(3, 4))
fn("ragged", [S([None], tf.int32, "values"), S([None], tf.int64, "splits")], lambda m, v, s: {"dense": tf.RaggedTensor.from_row_splits(v, s).to_tensor(-1), "sum": tf.reduce_sum(tf.RaggedTensor.from_row_splits(v, s), 1), "concat": tf.concat([tf.RaggedTensor.from_row_splits(v, s)] * 2, 1).to_tensor(), "sparse": tf.RaggedTensor.from_row_splits(v, s).to_sparse().indices, "emb": tf.reduce_mean(tf.gather(tf.reshape(tf.range(20.), [10, 2]), tf.RaggedTensor.from_row_splits(v, s)), 1), "range": tf.ragged.range([1, 3]).to_tensor(), "bm": tf.ragged.boolean_mask(tf.RaggedTensor.from_row_splits(v, s), tf.RaggedTensor.from_row_splits(v > 2, s)).values, "cross": tf.ragged.cross([tf.RaggedTensor.from_row_splits(v, s), tf.RaggedTensor.from_row_splits(v, s)]).values}, (np.array([3, 1, 4, 1, 5], np.int32), np.array([0, 2, 3, 5], np.int64)))
fn("sparse", [S([None, 2], tf.int64, "indices"), S([None], tf.float32, "values")], lambda m, i, v: {"dense": tf.sparse.to_dense(tf.sparse.reorder(tf.SparseTensor(i, v, [3, 4]))), "mm": tf.sparse.sparse_dense_matmul(tf.SparseTensor(i, v, [3, 4]), tf.ones([4, 2])), "sum": tf.sparse.reduce_sum(tf.SparseTensor(i, v, [3, 4]), 1), "soft": tf.sparse.softmax(tf.SparseTensor(i, v, [3, 4])).values, "slice": tf.sparse.slice(tf.SparseTensor(i, v, [3, 4]), [1, 0], [2, 4]).values, "emb": tf.nn.safe_embedding_lookup_sparse(tf.reshape(tf.range(8.), [4, 2]), tf.SparseTensor(i, i[:, 1], [3, 4])), "fill": tf.sparse.fill_empty_rows(tf.SparseTensor(i, v, [3, 4]), 0.)[0].values, "cat": tf.sparse.concat(1, [tf.SparseTensor(i, v, [3, 4])] * 2).indices, "max": tf.sparse.maximum(tf.SparseTensor(i, v, [3, 4]), tf.SparseTensor(i, -v, [3, 4])).values, "t": tf.sparse.transpose(tf.SparseTensor(i, v, [3, 4])).indices}, (np.array([[0, 1], [2, 0], [2, 3]], np.int64), np.array([1., 2., 3.], np.float32)))


def tables(m):
    m.a = tf.lookup.StaticHashTable(tf.lookup.KeyValueTensorInitializer(["a", "b"], tf.constant([1, 2], tf.int64)), -1)
    m.b = tf.lookup.StaticVocabularyTable(tf.lookup.KeyValueTensorInitializer(["a", "b"], tf.constant([0, 1], tf.int64)), 3)
    m.c = tf.lookup.experimental.MutableHashTable(tf.string, tf.float32, 0.)
    m.c.insert(["a", "z"], [5., 6.])
    m.d = tf.lookup.experimental.DenseHashTable(tf.int64, tf.int64, -1, -2, -3)
    m.d.insert([4], [44])


fn("tables", [S([None], tf.string)], lambda m, x: {"a": m.a.lookup(x), "b": m.b.lookup(x), "c": m.c.lookup(x), "size": m.a.size(), "d": m.d.lookup(tf.constant([4, 5], tf.int64))}, np.array(["a", "z", "b"]), state=tables)


def counter(m):
    m.v = tf.Variable(1.5)
    m.w = tf.Variable(tf.zeros([3]))
    m.s = tf.Variable([b"x", b"y"])
    m.i = tf.Variable(7, dtype=tf.int64)


def count(m, x):
    a = m.v.assign_add(x)
    m.w.scatter_nd_add([[1]], [x]) if hasattr(m.w, "scatter_nd_add") else None
    m.i.assign_add(2)
    with tf.control_dependencies([a]):
        return {"v": m.v.read_value(), "w": m.w.read_value() + 0, "s": tf.strings.join([m.s, "!"]), "i": m.i.read_value()}


fn("variables", [S([])], count, np.float32(2), np.float32(3), np.float32(-1), state=counter)
fn("assert_print", [S([None])], lambda m, x: (tf.debugging.assert_greater(tf.shape(x)[0], 1), tf.debugging.assert_all_finite(x, "bad"), x * 2)[-1], lambda: normal(3))
fn("parse_example", [S([None], tf.string)], lambda m, x: (lambda d: {"a": d["a"], "s": tf.sparse.to_dense(d["s"]), "r": d["r"].to_tensor()})(tf.io.parse_example(x, {"a": tf.io.FixedLenFeature([2], tf.float32, [0., 1.]), "s": tf.io.VarLenFeature(tf.string), "r": tf.io.RaggedFeature(tf.int64)})), lambda: np.array([tf.train.Example(features=tf.train.Features(feature={"a": tf.train.Feature(float_list=tf.train.FloatList(value=[1., 2.])), "r": tf.train.Feature(int64_list=tf.train.Int64List(value=[1, 2, 3]))})).SerializeToString() + b"", tf.train.Example(features=tf.train.Features(feature={"s": tf.train.Feature(bytes_list=tf.train.BytesList(value=[b"q", b"w"]))})).SerializeToString()]))
fn("dataset_inside", [S([None], tf.int64)], lambda m, x: tf.data.Dataset.from_tensor_slices(x).map(lambda v: v * 2).filter(lambda v: v > 2).reduce(tf.constant(0, tf.int64), lambda a, v: a + v), np.array([1, 2, 3], np.int64))
fn("fake_quant", [S([None, 4])], lambda m, x: tf.quantization.fake_quant_with_min_max_vars_per_channel(tf.matmul(tf.quantization.fake_quant_with_min_max_vars(x, -2., 2.), m.w), [-1.] * 3, [1.] * 3), lambda: normal(3, 4), state=lambda m: setattr(m, "w", tf.Variable(normal(4, 3))))
fn("quantize_ops", [S([None, 4])], lambda m, x: {"q": tf.cast(tf.quantization.quantize(x, -2., 2., tf.quint8).output, tf.int32), "d": tf.quantization.dequantize(tf.quantization.quantize(x, -2., 2., tf.qint8).output, -2., 2.), "qd": tf.quantization.quantize_and_dequantize_v2(x, -1., 1., range_given=True)}, lambda: normal(3, 4))
fn("raw_ops", [S([2, 4, 4, 3])], lambda m, x: {"lrn": tf.raw_ops.LRN(input=x), "mpa": tf.raw_ops.MaxPoolWithArgmax(input=x, ksize=[1, 2, 2, 1], strides=[1, 2, 2, 1], padding="VALID")[1], "frac": tf.raw_ops.FractionalAvgPool(value=x, pooling_ratio=[1., 1.5, 1.5, 1.], seed=1, seed2=2, deterministic=True)[0], "dil": tf.raw_ops.Dilation2D(input=x, filter=tf.ones([2, 2, 3]), strides=[1, 1, 1, 1], rates=[1, 1, 1, 1], padding="SAME"), "fbn": tf.raw_ops.FusedBatchNormV3(x=x, scale=[1., 2., 3.], offset=[0., 1., 2.], mean=[.1, .2, .3], variance=[1., 2., 3.], is_training=False)[0], "mirror": tf.raw_ops.MirrorPad(input=x, paddings=[[0, 0], [1, 1], [1, 1], [0, 0]], mode="SYMMETRIC"), "ctc": tf.raw_ops.CTCGreedyDecoder(inputs=tf.transpose(x[..., 0], [1, 0, 2]), sequence_length=[4, 3])[1], "beam": tf.nn.ctc_beam_search_decoder(tf.transpose(x[..., 0], [1, 0, 2]), [4, 3], beam_width=4, top_paths=1)[1]}, lambda: normal(2, 4, 4, 3))
fn("losses", [S([None, 5], name="x"), S([None], tf.int32, "y")], lambda m, x, y: {"s": tf.nn.sparse_softmax_cross_entropy_with_logits(y, x), "sig": tf.nn.sigmoid_cross_entropy_with_logits(tf.one_hot(y, 5), x), "l2": tf.nn.l2_loss(x), "poi": tf.nn.log_poisson_loss(x, x), "topk": tf.math.in_top_k(y, x, 2), "ctc": tf.nn.ctc_loss(tf.constant([[1, 2]]), tf.reshape(tf.tile(x[:4], [1, 1]), [4, 1, 5]), [2], [4])}, lambda: (normal(4, 5), np.array([0, 1, 2, 3], np.int32)))
fn("complex", [S([None, 4])], lambda m, x: {"r": tf.math.real(tf.signal.ifft(tf.signal.fft(tf.complex(x, x * 2)))), "a": tf.abs(tf.exp(tf.complex(x, x))), "m": tf.math.imag(tf.linalg.matmul(tf.complex(x, x), tf.complex(x, -x), adjoint_b=True)), "c": tf.complex(x, x)}, lambda: normal(3, 4))
fn("dtypes", [S([None], tf.float64, "a"), S([None], tf.uint8, "b"), S([None], tf.bool, "c"), S([None], tf.int16, "d"), S([None], tf.float16, "e")], lambda m, a, b, c, d, e: {"a": a * 2, "b": b + 250, "c": tf.logical_not(c), "d": d // 3, "e": e * e, "u": tf.cast(b, tf.uint16), "w": tf.cast(a, tf.bfloat16)}, (np.array([1.5, -2]), np.array([3, 9], np.uint8), np.array([True, False]), np.array([-7, 8], np.int16), np.array([1.5, 3], np.float16)))
fn("custom_gradient", [S([None])], lambda m, x: tf.custom_gradient(lambda v: (tf.exp(v), lambda d: d * 7.))(x), lambda: normal(3))
fn("nested_functions", [S([None])], lambda m, x: tf.function(lambda a: tf.function(lambda b: b * m.v)(a) + 1)(x) + tf.recompute_grad(lambda a: a * 3.)(x), lambda: normal(3), state=lambda m: setattr(m, "v", tf.Variable(2.)))
fn("py_like_loops", [S([None, None])], lambda m, x: tf.vectorized_map(lambda r: tf.cumsum(r), x) + tf.stack([x[:, 0]] * 4, 1), lambda: normal(3, 4))
fn("io_ops", [S([None], tf.string)], lambda m, x: {"raw": tf.io.decode_raw(x, tf.uint8), "ser": tf.io.parse_tensor(tf.io.serialize_tensor(tf.constant([1., 2.])), tf.float32), "json": tf.io.decode_json_example(tf.constant('{"features": {"feature": {"a": {"int64_list": {"value": [5]}}}}}')), "csv": tf.io.decode_csv(["1,2,a"], [[0], [0.], [""]])[2]}, np.array(["abc", "xyz"]))


fn("sobol", [S([], tf.int32, "n")], lambda m, n: tf.math.sobol_sample(3, n), np.int32(5))


def beam(m, x):
    """A greedy decoder: a loop with strings, a TensorArray of strings and an early end."""
    words = tf.constant(["<end>", "a", "b", "c"])
    out = tf.TensorArray(tf.string, size=0, dynamic_size=True)
    state = x
    i = tf.constant(0)
    while i < 6:
        k = tf.argmax(state)
        if k == 0:
            break
        out = out.write(i, words[k])
        state = tf.roll(state, 1, 0) * 0.9 - tf.one_hot(k, 4)
        i += 1
    return {"text": tf.strings.reduce_join(out.stack(), separator=" "), "n": i}


fn("decoder", [S([4])], beam, np.array([.1, .5, .2, .4], np.float32), np.array([.9, .5, .2, .4], np.float32))
fn("nested_while", [S([None])], lambda m, x: tf.while_loop(lambda i, a: i < 3, lambda i, a: (i + 1, tf.while_loop(lambda j, b: j < i, lambda j, b: (j + 1, b * 1.5 + x), [0, a])[1]), [0, x])[1], lambda: normal(3))
fn("lists", [S([None, 2])], lambda m, x: {"sorted": tf.gather(x, tf.argsort(x[:, 0])), "uniq": tf.unique_with_counts(tf.cast(x[:, 0] > 0, tf.int32)).count, "setdiff": tf.sets.size(tf.sets.difference([[1, 2, 3]], [[2]])), "topk": tf.math.top_k(x, 1).values, "cum": tf.math.cumsum(x, axis=0, exclusive=True), "nan": tf.math.is_nan(x / 0.), "clip": tf.clip_by_global_norm([x], 1.)[0][0], "pool": tf.nn.avg_pool1d(x[None], 1, 1, "VALID"), "lin": tf.linspace(0., 1., 4), "quant": tf.histogram_fixed_width_bins(x, [-1., 1.], 5), "pct": tf.nn.weighted_moments(x, 0, tf.ones_like(x))[0]}, lambda: normal(5, 2))
fn("crf_like", [S([None, None, 3])], lambda m, x: tf.scan(lambda a, e: tf.reduce_logsumexp(a[:, :, None] + m.t[None], 1) + e, tf.transpose(x, [1, 0, 2])), lambda: normal(2, 5, 3), state=lambda m: setattr(m, "t", tf.Variable(normal(3, 3))))
fn("int_math", [S([None], tf.int32)], lambda m, x: {"fd": x // 3, "fm": x % 3, "tm": tf.truncatemod(x, 3), "sh": tf.bitwise.left_shift(x, 2), "pop": tf.raw_ops.PopulationCount(x=x), "inv": tf.bitwise.invert(x), "pow": x ** 2, "sq": tf.math.squared_difference(x, 3), "c8": tf.cast(x, tf.int8), "u": tf.cast(x, tf.uint64), "neg": -x, "any": tf.reduce_any(x > 3), "prod": tf.reduce_prod(x), "range": tf.range(x[0], x[1], 2), "bits": tf.math.bincount(tf.abs(x), minlength=4, maxlength=9)}, np.array([-7, 8, 2, 5], np.int32))


@maker
def fn_train_step():
    class M(tf.Module):
        def __init__(self):
            self.w = tf.Variable(normal(3, 1)); self.b = tf.Variable([0.])
            self.o = keras.optimizers.Adam(.1); self.o.build([self.w, self.b]); self.held = [v.value for v in self.o.variables]

        @tf.function(input_signature=[S([None, 3]), S([None], name="y")])
        def step(self, x, y):
            with tf.GradientTape() as t:
                loss = tf.reduce_mean((tf.squeeze(x @ self.w + self.b, 1) - y) ** 2)
            self.o.apply_gradients(zip(t.gradient(loss, [self.w, self.b]), [self.w, self.b]))
            return {"loss": loss, "w": self.w.read_value()}
    m = M()
    tf.saved_model.save(m, path_of("fn_train_step"), signatures={"serving_default": m.step})
    f = {"x": normal(4, 3), "y": normal(4)}
    return [("serving_default", f)] * 4
