# SPDX-License-Identifier: Apache-2.0
"""Control flow of both versions with gradients, arrays, lists, variables, optimizers: run under tools/record_calls.py."""
import numpy as np
import tensorflow as tf

from common import done, each, floats, ints, quietly, tf1

x = floats(5, low=.2, high=1.5)


def programs():
    """Expressions with control flow in them, each of x."""
    one = lambda x: tf.cond(tf.reduce_sum(x) > 3, lambda: x * 2, lambda: tf.sin(x))  # noqa: E731
    yield one
    yield lambda x: tf.cond(tf.reduce_sum(x) > 3, lambda: tf.cond(x[0] > 1, lambda: x * x, lambda: x / 2), lambda: tf.exp(x))
    yield lambda x: tf.while_loop(lambda i, y: i < 4, lambda i, y: (i + 1, y * x + 1), [0, x])[1]
    yield lambda x: tf.while_loop(lambda y: tf.reduce_sum(y) < 40, lambda y: [y * 1.5 + x], [x])[0]
    yield lambda x: tf.while_loop(lambda i, y: i < 3, lambda i, y: (i + 1, tf.while_loop(lambda j, z: j < i, lambda j, z: (j + 1, z * x), [0, y])[1]), [0, x])[1]
    yield lambda x: tf.while_loop(lambda i, y: i < 4, lambda i, y: (i + 1, tf.cond(i % 2 > 0, lambda: y * x, lambda: y + x)), [0, x])[1]
    yield lambda x: tf.while_loop(lambda i, y: i < 4, lambda i, y: (i + 1, tf.concat([y, x], 0)), [0, x], shape_invariants=[tf.TensorShape([]), tf.TensorShape([None])])[1]
    yield lambda x: tf.while_loop(lambda i, y: i < 9, lambda i, y: (i + 1, y * .9), [0, x], maximum_iterations=3)
    yield lambda x: tf.while_loop(lambda i, y: i < 9, lambda i, y: (i + 1, y * .9), [0, x], parallel_iterations=1, back_prop=False)
    yield lambda x: tf.map_fn(lambda v: v * v + 1, x)
    yield lambda x: tf.map_fn(lambda v: (v, tf.stack([v, v])), x, fn_output_signature=(tf.float32, tf.float32))
    yield lambda x: tf.map_fn(lambda v: tf.RaggedTensor.from_row_lengths(tf.range(v), [v]).flat_values, tf.cast(x * 3, tf.int32), fn_output_signature=tf.RaggedTensorSpec([None], tf.int32))
    yield lambda x: tf.scan(lambda a, v: a * v + 1, x)
    yield lambda x: tf.scan(lambda a, v: a * v + 1, x, reverse=True, initializer=tf.constant(2.))
    yield lambda x: tf.foldl(lambda a, v: a * v + 1, x)
    yield lambda x: tf.foldr(lambda a, v: a - v, x)
    yield lambda x: tf.vectorized_map(lambda v: tf.reduce_sum(v * x), tf.stack([x, x]))
    yield lambda x: tf.case([(x[0] > 5, lambda: x), (x[1] > .1, lambda: x * 3)], default=lambda: -x)
    yield lambda x: tf.case([(x[0] > 5, lambda: x), (x[1] > .1, lambda: x * 3)], exclusive=True, default=lambda: -x)
    yield lambda x: tf.switch_case(tf.cast(x[0], tf.int32), [lambda: x, lambda: x * 2, lambda: x * 3])
    yield lambda x: tf.switch_case(tf.constant(7), [lambda: x, lambda: x * 2, lambda: x * 3])
    yield lambda x: tf.custom_gradient(lambda x: (tf.exp(x), lambda dy: dy * 2))(x)
    yield lambda x: tf.recompute_grad(lambda x: tf.sin(x) * x)(x)
    yield lambda x: tf.grad_pass_through(tf.round)(x)
    yield lambda x: tf.histogram_fixed_width(x, [0., 1.], 4)
    yield lambda x: [t for t in tf.unstack(x)]
    yield lambda x: tf.gradients(tf.reduce_sum(x ** 3), x)[0] if not tf.executing_eagerly() else x
    yield lambda x: tf1.hessians(tf.reduce_sum(x ** 3), x)[0] if not tf.executing_eagerly() else x
    yield lambda x: tf.group(tf.no_op(), tf.identity(x))
    yield lambda x: tf.tuple([x, x * 2])

    def array(x, size=4, dynamic=False, **more):
        a = tf.TensorArray(tf.float32, size=size, dynamic_size=dynamic, **more)
        for i in range(4):
            a = a.write(i, x * float(i + 1))
        return a

    yield lambda x: array(x).stack()
    yield lambda x: array(x, 1, True).concat()
    yield lambda x: array(x, clear_after_read=False).read(2) * 2
    yield lambda x: array(x).gather([3, 1])
    yield lambda x: array(x, 2).stack()
    yield lambda x: tf.TensorArray(tf.float32, 5).unstack(x).read(3)
    yield lambda x: tf.TensorArray(tf.float32, 2).split(x, [2, 3]).concat()
    yield lambda x: tf.TensorArray(tf.float32, 5).scatter([4, 0, 1, 2, 3], x).stack()
    yield lambda x: tf.TensorArray(tf.float32, 5).scatter([4, 0, 1, 2, 9], x).stack()
    yield lambda x: tf.TensorArray(tf.float32, 3, element_shape=[2]).write(0, x).stack()
    yield lambda x: tf.while_loop(lambda i, a: i < 5, lambda i, a: (i + 1, a.write(i, x[i] * 2)), [0, tf.TensorArray(tf.float32, 5)])[1].stack()
    yield lambda x: tf.debugging.assert_greater(x, 9., message="small") or x
    yield lambda x: tf.debugging.assert_shapes([(x, ("N",))]) or x
    yield lambda x: tf.debugging.Assert(tf.reduce_all(x > 9), [x, "mine"]) or x
    yield lambda x: tf.ensure_shape(x, [7])
    yield lambda x: tf.ensure_shape(x, [None])
    yield lambda x: tf.nest.map_structure(lambda v: v + 1, {"a": x, "b": [x]})
    yield lambda x: tf.numpy_function(lambda v: v, [x], tf.float32)


def both_versions():
    for version in (2, 1):
        (tf1.enable_control_flow_v2 if version == 2 else tf1.disable_control_flow_v2)()
        for f in programs():
            each(f, x, second=version == 2)


def variables(resource):
    """A session's variables with every update, dense and sparse."""
    with tf1.Graph().as_default(), tf1.Session() as s:
        v = tf1.get_variable("v", [4, 3], initializer=tf1.constant_initializer(np.arange(12.)), use_resource=resource)
        n = tf1.get_variable("n", [], tf.int64, initializer=tf1.zeros_initializer(), use_resource=resource)
        quietly(s.run, v)
        quietly(s.run, tf1.report_uninitialized_variables())
        s.run(tf1.global_variables_initializer())
        row, at = tf.constant(floats(2, 3)), tf.constant([2, 0])
        for op in (v.assign(v * 2), v.assign_add(v), v.assign_sub(v * .5), tf1.assign(v, v + 1), n.assign_add(1), tf1.assign(n, 7),
                   tf1.scatter_update(v, at, row), tf1.scatter_add(v, at, row), tf1.scatter_sub(v, at, row), tf1.scatter_mul(v, at, row),
                   tf1.scatter_div(v, at, row + 5), tf1.scatter_min(v, at, row), tf1.scatter_max(v, at, row), tf1.scatter_update(v, [9, 0], row),
                   tf1.scatter_nd_update(v, [[1, 1], [3, 2]], [5., 6.]), tf1.scatter_nd_add(v, [[1], [3]], row), tf1.scatter_nd_sub(v, [[1], [3]], row),
                   tf.strided_slice(v, [0, 0], [2, 2], var=v).assign(tf.ones([2, 2])) if not resource else v[:2, :2].assign(tf.ones([2, 2])),
                   tf1.count_up_to(n, 9), tf1.count_up_to(n, 9), tf1.count_up_to(n, 9), v.read_value(), tf.gather(v, [1, 3]), v[1]):
            quietly(s.run, op)
            quietly(s.run, v)
        quietly(s.run, tf1.is_variable_initialized(v))


def optimizers(resource, name, make):
    """Steps of training: dense gradients, sparse ones, with a repeated index."""
    with tf1.Graph().as_default(), tf1.Session() as s:
        v = tf1.get_variable("v", [5, 3], initializer=tf1.constant_initializer(np.arange(15.) / 9), use_resource=resource)
        w = tf1.get_variable("w", [3], initializer=tf1.constant_initializer([.1, .2, -.3]), use_resource=resource)
        at = tf1.placeholder(tf.int32, [None])
        loss = tf.reduce_sum(tf.nn.embedding_lookup(v, at) * w) ** 2 + tf.nn.l2_loss(w)
        optimizer = make()
        step = optimizer.minimize(loss, global_step=tf1.train.get_or_create_global_step())
        s.run(tf1.global_variables_initializer())
        for ids in ([1, 3], [3, 3, 0], []):
            quietly(s.run, [step, loss], {at: ids})
            quietly(s.run, [v, w, tf1.train.get_global_step()])


def recurrent():
    """dynamic_rnn-like loops with lists and gradients through tf.function."""
    cell = tf.Variable(floats(4, 4))

    @tf.function
    def f(x):
        state = tf.zeros([2, 4])
        out = tf.TensorArray(tf.float32, 0, dynamic_size=True)
        for t in tf.range(tf.shape(x)[0]):
            state = tf.tanh(tf.matmul(state, cell) + x[t])
            if tf.reduce_sum(state) > 1:
                state *= .5
            out = out.write(t, state)
        return out.stack()

    @tf.function
    def train(x):
        with tf.GradientTape() as tape:
            loss = tf.reduce_mean(f(x) ** 2)
        g = tape.gradient(loss, cell)
        cell.assign_sub(.1 * g)
        return loss, g

    for n in (3, 5, 0):
        quietly(f, tf.constant(floats(n, 2, 4)))
        quietly(train, tf.constant(floats(n, 2, 4)))
    quietly(tf.function(lambda x: tf.autodiff.ForwardAccumulator and tf.gradients(f(x), x)), tf.constant(floats(3, 2, 4)))


both_versions()
for resource in (True, False):
    quietly(variables, resource)
    for name, make in {"sgd": lambda: tf1.train.GradientDescentOptimizer(.1), "momentum": lambda: tf1.train.MomentumOptimizer(.1, .9),
                       "nesterov": lambda: tf1.train.MomentumOptimizer(.1, .9, use_nesterov=True), "adam": lambda: tf1.train.AdamOptimizer(.1),
                       "adagrad": lambda: tf1.train.AdagradOptimizer(.1), "adadelta": lambda: tf1.train.AdadeltaOptimizer(.1),
                       "rms": lambda: tf1.train.RMSPropOptimizer(.1, momentum=.5), "centered": lambda: tf1.train.RMSPropOptimizer(.1, centered=True),
                       "ftrl": lambda: tf1.train.FtrlOptimizer(.1, l1_regularization_strength=.01, l2_shrinkage_regularization_strength=.01),
                       "proximal": lambda: tf1.train.ProximalGradientDescentOptimizer(.1, .01, .01), "da": lambda: tf1.train.AdagradDAOptimizer(.1, tf1.train.get_or_create_global_step()),
                       "prox_ada": lambda: tf1.train.ProximalAdagradOptimizer(.1, l1_regularization_strength=.01)}.items():
        quietly(optimizers, resource, name, make)
quietly(recurrent)


def average(resource):
    with tf1.Graph().as_default(), tf1.Session() as s:
        v = tf1.get_variable("v", [2], initializer=tf1.ones_initializer(), use_resource=resource)
        step = tf1.train.get_or_create_global_step()
        ema = tf.train.ExponentialMovingAverage(.9, num_updates=step)
        apply = ema.apply([v])
        rate = [f(.1) for f in (lambda a: tf1.train.exponential_decay(a, step, 10, .5, True), lambda a: tf1.train.polynomial_decay(a, step, 10), lambda a: tf1.train.cosine_decay(a, step, 10),
                                lambda a: tf1.train.inverse_time_decay(a, step, 10, .5), lambda a: tf1.train.piecewise_constant(step, [2, 5], [a, a / 2, a / 4]))]
        s.run(tf1.global_variables_initializer())
        for _ in range(4):
            for op in (apply, v.assign_add([1., 2.]), step.assign_add(1)):
                quietly(s.run, op)
            quietly(s.run, [ema.average(v), rate])


def queues():
    with tf1.Graph().as_default(), tf1.Session() as s:
        for q in (tf1.FIFOQueue(5, [tf.float32, tf.int32], [[2], []]), tf1.PaddingFIFOQueue(5, [tf.float32, tf.int32], [[None], []]),
                  tf1.PriorityQueue(5, [tf.float32, tf.int32], [[2], []]), tf1.RandomShuffleQueue(5, 0, [tf.float32, tf.int32], [[2], []], seed=3)):
            key = [np.int64(3)] if isinstance(q, tf1.PriorityQueue) else []
            for i in range(3):
                quietly(s.run, q.enqueue(key + [[1. * i, 2.], i]))
            quietly(s.run, q.size())
            quietly(s.run, q.dequeue())
            quietly(s.run, q.enqueue_many([[k] * 2 for k in key] + [[[1., 2.], [3., 4.]], [7, 8]]))
            quietly(s.run, q.dequeue_many(2))
            quietly(s.run, q.enqueue(key + [[1., 2., 3.], 1]))
            quietly(s.run, q.close())
            quietly(s.run, q.dequeue_up_to(9))
            quietly(s.run, q.dequeue())
            quietly(s.run, q.is_closed())
        a = tf1.ConditionalAccumulator(tf.float32, [2])
        quietly(s.run, [a.apply_grad([1., 2.], 0), a.num_accumulated()])
        quietly(s.run, a.take_grad(1))
        b = tf1.SparseConditionalAccumulator(tf.float32, [4, 2])
        quietly(s.run, b.apply_grad([0, 2], [[1., 2.], [3., 4.]], [4, 2]))
        quietly(s.run, b.take_grad(1))
        for area in (tf.raw_ops.Stage(values=[tf.ones([2])]), tf.raw_ops.Unstage(dtypes=[tf.float32])):
            quietly(s.run, area)
        p = tf1.placeholder(tf.float32)
        quietly(s.run, tf1.get_session_handle(p), {p: [1., 2.]})


def layers():
    with tf1.Graph().as_default(), tf1.Session() as s:
        tf1.set_random_seed(5)
        h = tf1.random_normal([3, 4], seed=1) * tf1.truncated_normal([4], seed=2) + tf1.random_uniform([4], seed=3) + tf1.random_gamma([4], 2., seed=4)
        for init in (tf1.glorot_uniform_initializer, tf1.variance_scaling_initializer, tf1.orthogonal_initializer, tf1.truncated_normal_initializer, tf1.uniform_unit_scaling_initializer,
                     tf1.random_normal_initializer, tf1.initializers.he_normal, tf1.initializers.lecun_uniform):
            tf1.get_variable(init.__name__, [4, 4], initializer=init(seed=3))
        tf1.get_variable("eye", [4, 4], initializer=tf1.initializers.identity())
        s.run(tf1.global_variables_initializer())
        quietly(s.run, tf1.global_variables())
        for _ in range(3):
            quietly(s.run, h)
        quietly(s.run, [h, tf1.multinomial(tf.zeros([2, 5]), 6, seed=3), tf1.random_shuffle(tf.range(9), seed=3), tf1.random_poisson(3., [4], seed=3),
                        tf1.random_crop(h, [2, 2], seed=9), tf.random.categorical(tf.zeros([2, 5]), 6, seed=3)])
        quietly(s.run, h)


for resource in (True, False):
    quietly(average, resource)
quietly(queues)
quietly(layers)
done("flow")
