# SPDX-License-Identifier: Apache-2.0
"""Convolutions, pools, normalisation, losses, recurrent cells, samplers: run under tools/record_calls.py."""
import numpy as np
import tensorflow as tf

from common import done, each, floats, ints, quietly, r, tf1

for dtype in (np.float32, np.float64, np.float16):
    x, w = floats(2, 7, 6, 3, dtype=dtype), floats(3, 2, 3, 4, dtype=dtype)
    for padding in ("SAME", "VALID", [[0, 0], [1, 2], [0, 1], [0, 0]]):
        for strides in (1, 2, [2, 1]):
            each(lambda x, w: tf.nn.conv2d(x, w, strides, padding), x, w, second=dtype == np.float64)
            each(lambda x, w: tf.nn.depthwise_conv2d(x, w, [1, 2, 2, 1] if strides == 2 else [1, 1, 1, 1], padding), x, w)
        each(lambda x, w: tf.nn.conv2d(x, w, 1, padding, dilations=2), x, w)
        each(lambda x: tf1.nn.max_pool(x, [1, 2, 3, 1], [1, 2, 1, 1], padding), x, second=True)
        each(lambda x: tf1.nn.avg_pool(x, [1, 2, 3, 1], [1, 2, 1, 1], padding), x, second=True)
        each(lambda x: tf.nn.max_pool_with_argmax(x, 2, 2, padding if isinstance(padding, str) else "SAME", include_batch_in_index=True), x)
        if isinstance(padding, str):
            each(lambda x, w: tf.nn.conv1d(x[:, 0], w[0], 2, padding), x, w)
            each(lambda x, w: tf.nn.conv3d(x[:, None], w[None], [1, 1, 2, 1, 1], padding), x, w)
            each(lambda x, w: tf.nn.separable_conv2d(x, w, floats(1, 1, 12, 5, dtype=dtype), [1, 1, 1, 1], padding), x, w)
            each(lambda x, w: tf.nn.conv2d_transpose(x, tf.transpose(w, [0, 1, 3, 2]), [2, 14, 12, 4] if padding == "SAME" else [2, 15, 12, 4], 2, padding), x, w)
            each(lambda x, w: tf.nn.conv3d_transpose(x[:, None], tf.transpose(w, [0, 1, 3, 2])[None], [2, 1, 7, 6, 4], 1, "SAME"), x, w)
            each(lambda x, w: tf.nn.atrous_conv2d(x, w, 2, padding), x, w)
            each(lambda x, w: tf.nn.convolution(x, w, 1, padding, dilations=[2, 1]), x, w)
            each(lambda x: tf.nn.max_pool3d(x[:, None], 2, 2, "SAME"), x, second=True)
            each(lambda x: tf.nn.avg_pool3d(x[:, None], [1, 2, 2], 2, "SAME"), x)
            each(lambda x, w: tf.nn.dilation2d(x, w[..., 0], [1, 1, 2, 1], padding, "NHWC", [1, 1, 2, 1]), x, w)
            each(lambda x, w: tf.nn.erosion2d(x, w[..., 0], [1, 1, 2, 1], padding, "NHWC", [1, 1, 2, 1]), x, w)
            each(lambda x: tf.nn.pool(x, [2, 2], "AVG", [1, 1], padding), x)
    each(lambda x, w: tf.nn.conv2d(x, w[:, :, :1], 1, "SAME"), x, w)
    each(lambda x, w: tf.nn.conv2d(x[..., :2], w, 1, "SAME"), x, w)
    each(lambda x: tf.nn.lrn(x, 2, 1., .5, .7), x)
    each(lambda x: tf1.nn.fused_batch_norm(x, floats(3), floats(3), epsilon=.01)[0], x)
    each(lambda x, s, o: tf1.nn.fused_batch_norm(x, s, o, epsilon=.01), x, floats(3), floats(3), second=True)
    each(lambda x, s, o: tf1.nn.fused_batch_norm(x, s, o, mean=o, variance=abs(s), is_training=False), x, floats(3), floats(3), second=True)
    each(lambda x: tf.nn.batch_normalization(x, x[0, 0, 0], x[0, 0, 1] ** 2, None, x[1, 1, 1], .001), x)
    each(lambda x: tf.nn.bias_add(x, x[0, 0, 0]), x)
    each(lambda x: tf.nn.bias_add(x, x[0, 0, 0, :2]), x)
    each(lambda x: tf.nn.l2_loss(x), x)
    each(lambda x: tf.nn.l2_normalize(x, [1, 2]), x, second=True)
    each(lambda x: tf.nn.fractional_max_pool(x, [1., 1.4, 1.7, 1.], seed=3), x)
    each(lambda x: tf.nn.fractional_avg_pool(x, [1., 1.4, 1.7, 1.], seed=3), x)
    each(lambda x: tf.nn.local_response_normalization(x), x)
    x, y = floats(4, 5, dtype=dtype), floats(4, 5, low=0, high=1, dtype=dtype)
    for f in (tf.nn.softmax, tf.nn.log_softmax):
        each(lambda x: f(x), x, second=True)
        each(lambda x: f(x, axis=0), x)
    each(lambda x, y: tf.nn.softmax_cross_entropy_with_logits(y, x), x, y, second=True)
    each(lambda x, y: tf.nn.sigmoid_cross_entropy_with_logits(y, x), x, y, second=True)
    each(lambda x, y: tf.nn.weighted_cross_entropy_with_logits(y, x, 2.), x, y)
    each(lambda x: tf.nn.sparse_softmax_cross_entropy_with_logits(ints(4), x), x, second=True)
    each(lambda x: tf.nn.sparse_softmax_cross_entropy_with_logits(ints(4, high=9) + 3, x), x)
    each(lambda x, y: tf.nn.log_poisson_loss(y, x, True), x, y)
    each(lambda x: tf.nn.isotonic_regression(x), x)
    each(lambda x: tf.nn.dropout(x, .4, seed=3), x)
    each(lambda x: tf.nn.experimental.stateless_dropout(x, .4, [1, 2]), x)
    each(lambda x: tf.nn.sufficient_statistics(x, [0]), x)
    each(lambda x: tf.nn.normalize_moments(*tf.nn.sufficient_statistics(x, [0])[:3], None), x)
    each(lambda x: tf.nn.in_top_k(ints(4), x, 2), x)
    each(lambda x: tf.nn.collapse_repeated(ints(2, 5), ints(2) + 1), x)
    for loss in ("absolute_difference", "cosine_distance", "hinge_loss", "huber_loss", "log_loss", "mean_squared_error", "mean_pairwise_squared_error"):
        each(lambda x, y: getattr(tf1.losses, loss)(y, x, **({"axis": 1} if loss[0] == "c" else {})), x, y)

x = floats(6, 3, 5)
for decoder in (lambda x: tf.nn.ctc_greedy_decoder(x, [6, 4, 5]), lambda x: tf.nn.ctc_beam_search_decoder(x, [6, 4, 5], 4, 2)):
    each(decoder, x)
labels = tf.sparse.SparseTensor([[0, 0], [0, 1], [1, 0], [2, 0]], [1, 2, 0, 3], [3, 2])
each(lambda x: tf1.nn.ctc_loss(tf.SparseTensor(labels.indices.numpy(), labels.values.numpy(), labels.dense_shape.numpy()), x, [6, 5, 6]), x)
each(lambda x: tf.nn.ctc_loss(ints(3, 2, low=1, high=4), x, [2, 2, 1], [6, 5, 6], logits_time_major=True, blank_index=0), x)
each(lambda x: tf.nn.ctc_unique_labels(ints(3, 4)), x)
w, b, inputs = floats(9, 4), floats(9), floats(3, 4)
true = ints(3, 1, high=9, dtype=np.int64)
each(lambda w, b, x: tf.nn.sampled_softmax_loss(w, b, true, x, 4, 9, seed=2), w, b, inputs)
each(lambda w, b, x: tf.nn.nce_loss(w, b, true, x, 4, 9, sampled_values=tf.random.uniform_candidate_sampler(true, 1, 4, True, 9, seed=3)), w, b, inputs)
for sampler in (tf.random.uniform_candidate_sampler, tf.random.log_uniform_candidate_sampler, tf.random.learned_unigram_candidate_sampler):
    each(lambda t: sampler(t, 1, 4, True, 9, seed=3), true)
    each(lambda t: sampler(t, 1, 12, True, 9, seed=3), true)
each(lambda t: tf.random.fixed_unigram_candidate_sampler(t, 1, 4, True, 9, unigrams=[1., 2, 3, 4, 5, 6, 7, 8, 9], seed=3), true)
each(lambda t: tf.random.all_candidate_sampler(t, 1, 4, False, seed=3), true)
each(lambda t: tf.nn.compute_accidental_hits(t, [1, 4, 7], 1), true)
ids = tf.sparse.SparseTensor([[0, 0], [0, 1], [2, 0]], np.array([1, 3, 8], np.int64), [3, 2])
for combiner in ("sum", "mean", "sqrtn"):
    each(lambda w: tf.nn.embedding_lookup_sparse(w, tf.SparseTensor(ids.indices.numpy(), ids.values.numpy(), [3, 2]), None, combiner=combiner), w)
    each(lambda w: tf.nn.embedding_lookup_sparse(w, tf.SparseTensor(ids.indices.numpy(), ids.values.numpy(), [3, 2]),
                                                 tf.SparseTensor(ids.indices.numpy(), [.5, 2., 3.], [3, 2]), combiner=combiner), w)
    each(lambda w: tf.nn.safe_embedding_lookup_sparse(w, tf.SparseTensor(ids.indices.numpy(), ids.values.numpy(), [3, 2]), combiner=combiner, default_id=0), w)
each(lambda x, s: tf.raw_ops.LSTMBlockCell(x=x, cs_prev=s, h_prev=s, w=floats(7, 12), wci=floats(3), wcf=floats(3), wco=floats(3), b=floats(12), use_peephole=True), floats(2, 4), floats(2, 3))
each(lambda x, s: tf.raw_ops.GRUBlockCell(x=x, h_prev=s, w_ru=floats(7, 6), w_c=floats(7, 3), b_ru=floats(6), b_c=floats(3)), floats(2, 4), floats(2, 3))
each(lambda x: tf.image.extract_glimpse(x, [3, 3], [[.1, .2], [0., 0.]]) if hasattr(tf.image, "extract_glimpse") else x, floats(2, 6, 6, 1))
for layer in ("LSTM", "GRU", "SimpleRNN"):
    made = getattr(tf.keras.layers, layer)(4, return_sequences=True)
    quietly(made, floats(2, 5, 3))
    f = tf.function(lambda x: made(x))

    def train(x):
        with tf.GradientTape() as tape:
            loss = tf.reduce_sum(f(x) ** 2)
        return tape.gradient(loss, made.trainable_weights)

    quietly(train, tf.constant(floats(2, 5, 3)))
    quietly(tf.function(train), tf.constant(floats(2, 5, 3)))
done("neural")
