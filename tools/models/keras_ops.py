# SPDX-License-Identifier: Apache-2.0
"""What a Keras 3 model may call inside: keras.ops in families, image layers in training (their seeds are state), layers that
no other file shows, and models put together with them."""
from models.common import *  # noqa: F403
from models.functions import fn

K = keras.ops


def ops(name, specs, f, *feeds):
    """|f|(*tensors) -> {name: tensor}, each a call of keras.ops."""
    fn("kops_" + name, specs, lambda m, *a: f(*a), *feeds)


M43 = S([4, 3])
ops("numpy_math", [M43], lambda x: {
    "abs": K.absolute(x), "acos": K.arccos(K.tanh(x)), "acosh": K.arccosh(K.abs(x) + 1.1), "asin": K.arcsin(K.tanh(x)), "asinh": K.arcsinh(x), "atan": K.arctan(x), "atan2": K.arctan2(x, 1.5),
    "atanh": K.arctanh(K.tanh(x) * .9), "cbrt": K.cbrt(x), "ceil": K.ceil(x * 3), "clip": K.clip(x, -.5, .5), "cos": K.cos(x), "cosh": K.cosh(x), "deg": K.deg2rad(x), "exp2": K.exp2(x), "expm1": K.expm1(x),
    "fabs": K.fabs(x), "floor": K.floor(x * 3), "fmod": K.fmod(x * 9, 2.5), "fdiv": K.floor_divide(x * 9, 2.), "heavi": K.heaviside(x, .5), "hypot": K.hypot(x, 2.), "i0": K.i0(x), "ldexp": K.ldexp(x, 3),
    "log10": K.log10(K.abs(x)), "log1p": K.log1p(K.abs(x)), "log2": K.log2(K.abs(x)), "lae": K.logaddexp(x, 1.), "lae2": K.logaddexp2(x, 1.), "mod": K.mod(x * 7, 3.), "nan": K.nan_to_num(K.log(x)),
    "next": K.nextafter(x, 5.), "rad": K.rad2deg(x), "rec": K.reciprocal(x), "round": K.round(x * 2), "rnd1": K.round(x, 1), "sign": K.sign(x), "signbit": K.signbit(x), "sinc": K.sinc(x), "sinh": K.sinh(x),
    "sq": K.square(x), "tan": K.tan(x), "trunc": K.trunc(x * 3), "pow": K.power(K.abs(x), 1.7), "tdiv": K.true_divide(x, 3.), "gcd": K.gcd(K.cast(x * 20, "int32"), 6), "lcm": K.lcm(K.cast(x * 9, "int32"), 4),
    "fmax": K.fmax(x, 0.), "fmin": K.fmin(x, 0.), "isclose": K.isclose(x, x + 1e-9), "isreal": K.isreal(x), "neginf": K.isneginf(K.log(x * 0)), "posinf": K.isposinf(1. / (x * 0)), "vdot": K.vdot(x, x)}, lambda: normal(4, 3))
ops("numpy_reduce", [S([4, 5])], lambda x: {
    "avg": K.average(x, 1, weights=[1., 2., 3., 4., 5.]), "count": K.count_nonzero(K.relu(x), 0), "cumprod": K.cumprod(x, 1), "cumsum": K.cumsum(x, 0), "median": K.median(x, 1), "medk": K.median(x, [0, 1], keepdims=True),
    "quant": K.quantile(x, [.1, .5, .77], axis=1), "qlow": K.quantile(x, .3, axis=0, method="lower"), "qnear": K.quantile(x, .4, method="nearest"), "qmid": K.quantile(x, .4, axis=1, method="midpoint"),
    "pct": K.percentile(x, 30., axis=0), "ptp": K.ptp(x, 1), "std": K.std(x, 0), "var": K.var(x, 1, True), "nanmax": K.nanmax(K.log(x), 1), "nanmean": K.nanmean(K.log(x), 1), "nansum": K.nansum(K.log(x)),
    "nanstd": K.nanstd(K.log(K.abs(x)), 0), "nanarg": K.nanargmax(x, 1), "nancum": K.nancumsum(K.log(x), 1), "nanprod": K.nanprod(x, 0),
    "hist": K.histogram(K.ravel(x), 5, (-2., 2.))[0], "bins": K.bincount(K.cast(K.abs(x[0]) * 3, "int32"), minlength=4), "trap": K.trapezoid(x, axis=1), "amax": K.amax(x, 0), "amin": K.amin(x, 1),
    "all": K.all(x > -1, 0), "any": K.any(x > 1, 1), "argp": K.sum(K.take_along_axis(x, K.argpartition(x, 2, 1), 1)[:, :3], 1), "mom": K.moments(x, [0])[1], "norm": K.norm(x, 1), "normf": K.norm(x, "fro"), "norm2": K.norm(x, 2, axis=(0, 1)),
    "norminf": K.norm(x, np.inf, axis=1), "lse": K.logsumexp(x, (0, 1)), "dig": K.digitize(x, np.array([-1., 0., 1.], np.float32)), "diff": K.diff(x, 2), "cdist": K.cdist(x, x[:2])}, lambda: normal(4, 5))
ops("numpy_shape", [S([4, 6])], lambda x: {
    "append": K.append(x, x, 0), "asplit": K.array_split(x, 4, 1)[1], "diag": K.diag(x[0]), "diagf": K.diagflat(x[0, :3], 1), "diagonal": K.diagonal(x, 1), "dstack": K.dstack([x, x]), "flipud": K.flipud(x), "fliplr": K.fliplr(x),
    "hstack": K.hstack([x, x]), "vstack": K.vstack([x, x]), "hsplit": K.hsplit(x, 3)[2], "vsplit": K.vsplit(x, 2)[0], "dsplit": K.dsplit(x[..., None] + K.zeros([2]), 2)[1],
    "mesh": K.meshgrid(x[0], x[:, 0], indexing="ij")[1], "move": K.moveaxis(x[None], 0, 2), "outer": K.outer(x[0], x[1]), "pad": K.pad(x, ((1, 2), (0, 1)), "symmetric"), "padr": K.pad(x, ((1, 2), (0, 1)), "reflect"),
    "padc": K.pad(x, ((1, 1), (0, 0)), constant_values=7.), "ravel": K.ravel(x), "repeat": K.repeat(x, 2, 1), "roll": K.roll(x, (1, 2), (0, 1)), "rot": K.rot90(x, 3), "sel": K.select([x > 1, x < -1], [x, -x], 0.), "swap": K.swapaxes(x, 0, 1),
    "take": K.take(x, [[0, -1], [2, 1]], 1), "taa": K.take_along_axis(x, K.argsort(x, 1), 1), "tile": K.tile(x, (2, 1)), "trace": K.trace(x), "tri": K.tri(3, 4, 1), "tril": K.tril(x, -1), "triu": K.triu(x, 2),
    "unravel": K.unravel_index(K.cast(K.abs(x[0]) * 3, "int32"), (4, 6))[1], "vander": K.vander(x[0], 3), "view": K.view(x, "int32"), "where": K.where(x > 0, x, -1.), "rearr": K.rearrange(x, "a (b c) -> b (a c)", b=2),
    "slice": K.slice(x, (1, 2), (2, 3)), "upd": K.slice_update(x, (1, 2), K.zeros([2, 2])), "scat": K.scatter([[0, 1], [1, 0]], K.array([5., 6.]), (2, 2)), "supd": K.scatter_update(x, [[0, 0], [3, 5]], K.array([5., 6.])),
    "ss": K.searchsorted(K.sort(x[0]), x[1], "right"), "lin": K.linspace(x[0], x[1], 5), "logs": K.logspace(0., 1., 4), "geom": K.geomspace(1., 16., 5), "cross": K.cross(x[:, :3], x[:, 3:]),
    "unst": K.unstack(x, axis=1)[2], "eye": K.eye(3, 4, k=1), "inner": K.inner(x, x), "dot": K.dot(x, K.transpose(x)), "td": K.tensordot(x, x, [[1], [1]]), "corr": K.correlate(x[0], x[1, :3], "same"), "unique": K.unique(K.cast(x, "int32"))}, lambda: normal(4, 6))
ops("numpy_bits", [S([6], tf.int32)], lambda x: {"and": K.bitwise_and(x, 12), "or": K.bitwise_or(x, 3), "xor": K.bitwise_xor(x, 7), "not": K.bitwise_not(x), "inv": K.bitwise_invert(x), "left": K.bitwise_left_shift(x, 2), "right": K.bitwise_right_shift(x, 1),
                                             "xorl": K.logical_xor(x > 3, x < 9), "hot": K.one_hot(x % 5, 6), "multi": K.multi_hot(x % 5, 7), "argmin": K.argmin(x), "sat": K.saturate_cast(x * 100, "int8"), "ones": K.ones_like(x, dtype="float16"),
                                             "segs": K.segment_sum(x, K.array([0, 0, 1, 3, 3, 3]), 5), "segm": K.segment_max(x, K.array([2, 0, 1, 0, 2, 2]), 3, sorted=False),
                                             "segmin": K.segment_min(x, K.array([0, 0, 1, 3, 3, 3]), sorted=True), "segp": K.segment_prod(x, K.array([0, 1, 1, 1, 0, 2]), 3)}, np.array([3, 250, 8, -7, 0, 15], np.int32))
ops("nn_functions", [S([3, 8])], lambda x: {
    "celu": K.celu(x), "glu": K.glu(x), "gelu": K.gelu(x, approximate=False), "geluA": K.gelu(x), "hshrink": K.hard_shrink(x), "hsig": K.hard_sigmoid(x), "hsilu": K.hard_silu(x), "htanh": K.hard_tanh(x), "lsig": K.log_sigmoid(x), "sshrink": K.soft_shrink(x),
    "splus": K.sparse_plus(x), "ssig": K.sparse_sigmoid(x), "smax": K.sparsemax(x), "sqp": K.squareplus(x), "tshrink": K.tanh_shrink(x), "thr": K.threshold(x, .3, -9.), "softsign": K.softsign(x), "swish": K.silu(x), "selu": K.selu(x), "elu": K.elu(x, .5),
    "norm": K.normalize(x, 1, 2), "norm1": K.normalize(x, -1, 1), "topk": K.top_k(x, 3)[1], "intop": K.in_top_k([1, 2, 7], x, 2), "bce": K.binary_crossentropy(K.sigmoid(x), K.softmax(x)), "cce": K.categorical_crossentropy(K.softmax(x), x, from_logits=True),
    "scce": K.sparse_categorical_crossentropy([1, 0, 7], x, from_logits=True), "psnr": K.psnr(x, x * .9, 2.), "ln": K.layer_normalization(x, K.ones([8]), K.zeros([8])), "rms": K.rms_normalization(x, K.ones([8])), "rmsn": K.softmax(K.rms_normalization(x), 0),
    "bn": K.batch_normalization(x, K.mean(x, 0), K.var(x, 0), 1, K.zeros([8]), K.ones([8]), 1e-3), "erf": K.erf(x), "erfinv": K.erfinv(K.tanh(x)), "rsqrt": K.rsqrt(K.abs(x)), "stop": K.stop_gradient(x), "adp": K.adaptive_average_pool(K.reshape(x, [1, 6, 4, 1]), (3, 3)),
    "admax": K.adaptive_max_pool(K.reshape(x, [1, 6, 4, 1]), (4, 2)), "d2s": K.depth_to_space(K.reshape(x, [1, 2, 3, 4]), 2), "s2d": K.space_to_depth(K.reshape(x, [1, 2, 6, 2]), 2), "unfold": K.unfold(K.reshape(x, [1, 1, 4, 6]), 2), "fold": K.fold(K.unfold(K.reshape(x, [1, 1, 4, 6]), 2), (4, 6), 2),
    "attn": K.dot_product_attention(K.reshape(x, [1, 3, 2, 4]), K.reshape(x * .5, [1, 3, 2, 4]), K.reshape(-x, [1, 3, 2, 4]), is_causal=True), "polar": K.abs(K.polar(K.abs(x), x))}, lambda: normal(3, 8))
ops("linalg", [S([2, 4, 4])], lambda x: (lambda p: {
    "chol": K.cholesky(p), "cholu": K.cholesky(p, upper=True), "cinv": K.cholesky_inverse(K.cholesky(p)), "det": K.det(x), "eigh": K.eigh(p)[0], "inv": K.inv(p), "logdet": K.logdet(p), "lstsq": K.lstsq(p[0], x[0]), "lu": K.lu_factor(x[0])[0],
    "pinv": K.pinv(x), "qr": K.abs(K.qr(x)[1]), "qrc": K.abs(K.qr(x[:, :, :2], mode="complete")[1]), "slog": K.slogdet(x)[1], "solve": K.solve(p, x), "tri": K.solve_triangular(K.cholesky(p), x, lower=True), "svd": K.svd(x, compute_uv=False), "rank": K.matrix_rank(x),
    "eig": K.sort(K.abs(K.eig(x)[0])), "expm": K.linalg.norm(x, "nuc", axis=(1, 2)), "n1": K.linalg.norm(x, 1, axis=(1, 2)), "nm2": K.linalg.norm(x, -2, axis=(1, 2))})(K.matmul(x, K.transpose(x, [0, 2, 1])) + 3 * K.eye(4)), lambda: normal(2, 4, 4))
ops("fft", [S([2, 32])], lambda x: {"fft": K.fft((x, x * .5))[0], "fft2": K.fft2((x[None], x[None] * 0))[1], "ifft2": K.ifft2((x[None], x[None]))[0], "rfft": K.rfft(x, 16)[1], "irfft": K.irfft(K.rfft(x)), "stft": K.stft(x, 8, 4, 16)[0], "istft": K.istft(K.stft(x, 8, 4, 8), 8, 4, 8, 32),
                                   "seq": K.extract_sequences(x, 6, 3), "cplx": K.real(K.conj(K.view_as_complex(K.reshape(x, [2, 16, 2])))), "back": K.view_as_real(K.view_as_complex(K.reshape(x, [2, 16, 2]))), "ang": K.angle(K.view_as_complex(K.reshape(x, [2, 16, 2])))}, lambda: normal(2, 32))
ops("image", [S([2, 9, 8, 3])], lambda x: {
    "affine": K.image.affine_transform(x, K.array([[1., .2, .5, -.1, 1.1, 0., 0., 0.]] * 2)), "affn": K.image.affine_transform(x, K.array([[1., .2, .5, -.1, 1.1, 0., .01, 0.]] * 2), "nearest", "wrap"), "affr": K.image.affine_transform(x, K.array([[1., .4, 2.5, -.3, 1.1, 0., 0., 0.]] * 2), "bilinear", "reflect"),
    "crop": K.image.crop_images(x, 1, 2, target_height=5, target_width=4), "pad": K.image.pad_images(x, 1, 2, target_height=14, target_width=13), "patch": K.image.extract_patches(x, 3, 2, padding="same"), "blur": K.image.gaussian_blur(x, (3, 3), (1., 1.5)),
    "hsv": K.image.hsv_to_rgb(K.image.rgb_to_hsv(K.sigmoid(x))), "map": K.image.map_coordinates(x[0, :, :, 0], K.array([[.5, 3.2, 9.], [1.5, .1, -2.]]), 1, "nearest"), "mapm": K.image.map_coordinates(x[0, :, :, 0], K.array([[.5, 3.2, 7.], [1.5, .1, 2.]]), 0, "mirror"),
    "persp": K.image.perspective_transform(x, K.array([[[0., 0.], [7., 0.], [0., 8.], [7., 8.]]] * 2), K.array([[[1., 0.], [6., 1.], [0., 8.], [7., 7.]]] * 2)), "rs": K.image.resize(x, (5, 5), "bicubic"), "rsa": K.image.resize(x, (5, 6), antialias=True), "rsp": K.image.resize(x, (6, 6), pad_to_aspect_ratio=True),
    "rsc": K.image.resize(x, (5, 6), crop_to_aspect_ratio=True), "gray": K.image.rgb_to_grayscale(x), "st": K.image.scale_and_translate(x, (2, 5, 5, 3), K.array([.5, .7]), K.array([0., .3]), (1, 2), "linear"), "sobel": K.image.sobel_edges(x),
    "stl": K.image.scale_and_translate(x, (2, 12, 10, 3), K.array([1.3, 1.2]), K.array([0., .3]), (1, 2), "lanczos3")}, lambda: normal(2, 9, 8, 3))
ops("flow", [S([5, 3])], lambda x: {
    "cond": K.cond(K.sum(x) > 0, lambda: x + 1, lambda: x - 1), "while": K.while_loop(lambda i, a: i < 4, lambda i, a: (i + 1, a * 1.5), (0, x))[1], "fori": K.fori_loop(0, 3, lambda i, a: a + K.cast(i, "float32"), x), "scan": K.scan(lambda c, v: (c + v, c * v), K.zeros([3]), x)[1],
    "scanr": K.scan(lambda c, v: (c * .5 + v, c), K.zeros([3]), x, reverse=True)[0], "assoc": K.associative_scan(lambda a, b: a + b, x), "assocr": K.associative_scan(lambda a, b: a * b, x, reverse=True), "map": K.map(lambda r: K.sum(r) * r, x), "switch": K.switch(K.cast(2, "int32"), [lambda a: a, lambda a: -a, lambda a: a * a], x),
    "vmap": K.vectorized_map(lambda r: K.outer(r, r), x), "maxit": K.while_loop(lambda a: K.sum(a) < 1e6, lambda a: (a * 2 + 1,), (K.abs(x),), maximum_iterations=5)[0]}, lambda: normal(5, 3))
ops("ctc", [S([2, 6, 5])], lambda x: {"greedy": K.ctc_decode(x, [6, 4], "greedy", mask_index=4)[0], "score": K.ctc_decode(x, [6, 4], "greedy", mask_index=4)[1], "beam": K.ctc_decode(x, [6, 4], "beam_search", beam_width=6, top_paths=2, mask_index=4)[0],
                                    "bscore": K.ctc_decode(x, [6, 4], "beam_search", beam_width=6, top_paths=2, mask_index=4)[1], "loss": K.ctc_loss(K.array([[1, 2], [3, 0]]), x, [2, 1], [6, 4], mask_index=4)}, lambda: normal(2, 6, 5))


# ---------------------------------------------------------------- image layers that draw
def drawing(name, make, shape=(2, 10, 12, 3), high=255., calls=2):
    """A layer in training: the state of its generator is a variable of the model, so that each run draws anew."""
    def build():
        keras.utils.set_random_seed(3)
        layer = make()

        class Net(tf.Module):
            pass
        m = Net()
        f = tf.function(lambda x: {"y": layer(x, training=True)}, input_signature=[S((None,) + shape[1:])])
        f.get_concrete_function()
        m.held = [v.value for v in layer.variables]
        tracked, todo, seen = [], [layer], set()
        while todo:
            v = todo.pop()
            if id(v) in seen:
                continue
            seen.add(id(v))
            if isinstance(v, keras.random.SeedGenerator):
                tracked.append(v.state.value)
            elif isinstance(v, L.Layer):
                todo += list(vars(v).values())
            elif isinstance(v, (list, tuple)):
                todo += list(v)
            elif isinstance(v, dict):
                todo += list(v.values())
        m.more = tracked
        m.f = f
        n = "draw_" + name
        tf.saved_model.save(m, path_of(n), signatures={"serving_default": f})
        x = (rng.random(shape) * high).astype(np.float32)
        return [("serving_default", {"x": x})] * calls
    makers["draw_" + name] = build


drawing("flip", lambda: L.RandomFlip(seed=3))
drawing("rotation", lambda: L.RandomRotation(.3, fill_mode="wrap", seed=3))
drawing("zoom", lambda: L.RandomZoom(.3, .2, interpolation="nearest", seed=3))
drawing("translation", lambda: L.RandomTranslation(.3, .2, fill_mode="constant", fill_value=9., seed=3))
drawing("crop", lambda: L.RandomCrop(6, 7, seed=3))
drawing("contrast", lambda: L.RandomContrast(.4, seed=3))
drawing("brightness", lambda: L.RandomBrightness(.4, seed=3))
drawing("hue", lambda: L.RandomHue(.4, seed=3))
drawing("saturation", lambda: L.RandomSaturation(.4, seed=3))
drawing("color_jitter", lambda: L.RandomColorJitter(brightness_factor=.2, contrast_factor=.2, saturation_factor=.2, hue_factor=.2, seed=3))
drawing("degeneration", lambda: L.RandomColorDegeneration(.5, seed=3))
drawing("grayscale", lambda: L.RandomGrayscale(.5, seed=3))
drawing("posterization", lambda: L.RandomPosterization(3, seed=3))
drawing("sharpness", lambda: L.RandomSharpness(.6, seed=3))
drawing("shear", lambda: L.RandomShear(.3, .2, seed=3))
drawing("perspective", lambda: L.RandomPerspective(1., seed=3))
drawing("elastic", lambda: L.RandomElasticTransform(1., seed=3))
drawing("blur", lambda: L.RandomGaussianBlur(1., 3, seed=3))
drawing("erasing", lambda: L.RandomErasing(1., seed=3))
drawing("invert", lambda: L.RandomInvert(.5, seed=3))
drawing("solarization", lambda: L.Solarization(addition_factor=.2, threshold_factor=.5, seed=3))
drawing("auto_contrast", lambda: L.AutoContrast())
drawing("equalization", lambda: L.Equalization())
drawing("clahe", lambda: L.ContrastLimitedAdaptiveHistogramEqualization())
drawing("rand_augment", lambda: L.RandAugment(seed=3), calls=3)
drawing("aug_mix", lambda: L.AugMix(seed=3))
drawing("mix_up", lambda: L.MixUp(seed=3))
drawing("cut_mix", lambda: L.CutMix(seed=3))
drawing("pipeline", lambda: L.Pipeline([L.RandomFlip(seed=1), L.RandomRotation(.1, seed=2), L.Rescaling(1 / 255.)]))
drawing("dropouts", lambda: keras.Sequential([L.Dropout(.4, seed=1), L.SpatialDropout2D(.3, seed=2), L.GaussianNoise(.1, seed=3), L.GaussianDropout(.2, seed=4), L.AlphaDropout(.2, seed=5)]), high=1., calls=3)


# ---------------------------------------------------------------- layers
def layers(name, build, *feeds):
    def make():
        keras.utils.set_random_seed(7)
        return keras_model("more_" + name, build(), *[f() if callable(f) else f for f in feeds])
    makers["more_" + name] = make


def chain(shape, *stack, dtype="float32"):
    i = L.Input(shape, dtype=dtype)
    x = i
    for layer in stack:
        x = layer(x)
    return keras.Model(i, x)


layers("adaptive_pools", lambda: (lambda i: keras.Model(i, [L.AdaptiveAveragePooling2D((3, 4))(i), L.AdaptiveMaxPooling2D((4, 3))(i), L.AdaptiveAveragePooling1D(3)(L.Reshape([70, 2])(i)), L.AdaptiveMaxPooling1D(4)(L.Reshape([70, 2])(i)),
                                                                L.AdaptiveAveragePooling3D((2, 3, 2))(L.Reshape([5, 7, 2, 2])(i)), L.AdaptiveMaxPooling3D(2)(L.Reshape([5, 7, 2, 2])(i))]))(L.Input([10, 7, 2])), lambda: normal(2, 10, 7, 2))
layers("reversible_embedding", lambda: (lambda e, i: keras.Model(i, e(L.Dense(6)(e(i)), reverse=True)))(L.ReversibleEmbedding(12, 6), L.Input([4], dtype="int32")), lambda: np.array([[1, 2, 11, 0]], np.int32))
layers("reversible_embedding_untied", lambda: (lambda e, i: keras.Model(i, e(e(i), reverse=True)))(L.ReversibleEmbedding(12, 6, tie_weights=False, logit_soft_cap=5.), L.Input([4], dtype="int32")), lambda: np.array([[1, 2, 11, 0]], np.int32))
layers("rms_normalization", lambda: chain([5, 6], L.RMSNormalization(), L.RMSNormalization(axis=[1, 2], epsilon=1e-3), L.Dense(3), L.LayerNormalization(axis=[1, 2])), lambda: normal(2, 5, 6))
layers("spectral_norm_inference", lambda: chain([8, 8, 2], L.SpectralNormalization(L.Conv2D(4, 3), power_iterations=2), L.Flatten(), L.SpectralNormalization(L.Dense(3))), lambda: normal(2, 8, 8, 2))
layers("stacked_cells", lambda: chain([5, 3], L.RNN([L.LSTMCell(4, dropout=.2), L.GRUCell(3, reset_after=False), L.SimpleRNNCell(2)], return_sequences=True), L.RNN(L.StackedRNNCells([L.GRUCell(3), L.LSTMCell(2, unit_forget_bias=False)]), go_backwards=True)), lambda: normal(2, 5, 3))
layers("time_distributed_deep", lambda: chain([3, 8, 8, 2], L.TimeDistributed(L.Conv2D(3, 3, activation="relu")), L.TimeDistributed(L.BatchNormalization()), L.TimeDistributed(L.GlobalMaxPooling2D()), L.Bidirectional(L.LSTM(4, return_sequences=True), backward_layer=L.GRU(3, go_backwards=True, return_sequences=True), merge_mode="concat")), lambda: normal(2, 3, 8, 8, 2))
layers("group_query_biased", lambda: (lambda q, v: keras.Model([q, v], [L.GroupQueryAttention(3, 4, 2, use_bias=True, use_gate=True)(q, v, use_causal_mask=True), *L.GroupQueryAttention(4, 4, 1)(q, v, key=v, return_attention_scores=True), *L.MultiHeadAttention(3, 4, attention_axes=1)(q, v, return_attention_scores=True)]))(L.Input([5, 8], name="q"), L.Input([5, 8], name="v")), lambda: (normal(2, 5, 8), normal(2, 5, 8)))
layers("attention_2d", lambda: (lambda q: keras.Model(q, [L.MultiHeadAttention(2, 3, attention_axes=(1, 2))(q, q), L.MultiHeadAttention(2, 3, attention_axes=(2,))(q, q)]))(L.Input([3, 4, 6], name="q")), lambda: normal(2, 3, 4, 6))
layers("attention_masks", lambda: (lambda q, v, m, n: keras.Model([q, v, m, n], [L.Attention(use_scale=True)([q, v], mask=[m, n]), L.AdditiveAttention(use_scale=False)([q, v], mask=[m, n]), L.Attention(dropout=.1, score_mode="dot")([q, v, v], mask=[m, n])]))(L.Input([4, 6], name="q"), L.Input([5, 6], name="v"), L.Input([4], dtype="bool", name="m"), L.Input([5], dtype="bool", name="n")),
       lambda: (normal(2, 4, 6), normal(2, 5, 6), np.array([[1, 1, 0, 0], [1, 1, 1, 1]], bool), np.array([[1, 1, 1, 0, 0], [1, 0, 0, 0, 0]], bool)))
layers("embedding_lora", lambda: (lambda e, d, i: (lambda m: (e.enable_lora(2), d.enable_lora(2), m)[2])(keras.Model(i, d(e(i)))))(L.Embedding(9, 4), L.Dense(3), L.Input([5], dtype="int32")), lambda: np.array([[1, 8, 0, 2, 3]], np.int32))
layers("einsum_lora", lambda: (lambda e, i: (lambda m: (e.enable_lora(2), m)[1])(keras.Model(i, e(i))))(L.EinsumDense("abc,cd->abd", (None, 5), bias_axes="d", activation="gelu"), L.Input([3, 4])), lambda: normal(2, 3, 4))
layers("pads_1d_3d", lambda: (lambda i: keras.Model(i, [L.Cropping1D((1, 2))(L.ZeroPadding1D((2, 3))(L.Reshape([12, 4])(i))), L.UpSampling1D(3)(L.Reshape([12, 4])(i)), L.UpSampling3D((2, 1, 2))(i), L.Permute((3, 1, 2, 4))(i), L.UpSampling2D(2, interpolation="bicubic")(L.Reshape([4, 6, 2])(i)), L.UpSampling2D((1, 2), interpolation="lanczos3")(L.Reshape([4, 6, 2])(i)),
                                                            L.UpSampling2D((3, 2), interpolation="lanczos5")(L.Reshape([4, 6, 2])(i)), L.RepeatVector(3)(L.Flatten()(i))]))(L.Input([2, 3, 4, 2])), lambda: normal(2, 2, 3, 4, 2))
layers("dots", lambda: (lambda a, b: keras.Model([a, b], [L.Dot((2, 2))([a, b]), L.Dot((2, 2), normalize=True)([a, b]), L.Concatenate(1)([a, b]), L.Minimum()([a, L.Dense(3)(a)]), L.Softmax(axis=1)(a), L.PReLU(shared_axes=[1])(a), L.LeakyReLU(negative_slope=.1)(b), L.ReLU(max_value=1., threshold=.1, negative_slope=.2)(b), L.ELU(.3)(a)]))(L.Input([4, 3], name="a"), L.Input([5, 3], name="b")), lambda: (normal(2, 4, 3), normal(2, 5, 3)))
layers("resizing_modes", lambda: (lambda i: keras.Model(i, [L.Resizing(7, 9, m)(i) for m in ("bilinear", "nearest", "bicubic", "lanczos3", "lanczos5")] + [L.Resizing(6, 6, crop_to_aspect_ratio=True)(i), L.Resizing(6, 14, pad_to_aspect_ratio=True, fill_value=3.)(i), L.CenterCrop(5, 7)(i), L.CenterCrop(14, 15)(i)]))(L.Input([11, 8, 3])), lambda: normal(2, 11, 8, 3) * 50)
layers("resizing_dynamic", lambda: chain([None, None, 3], L.Resizing(8, 8), L.CenterCrop(6, 6), L.Rescaling(1 / 127.5, -1.), L.Conv2D(2, 3, strides=2), L.GlobalAveragePooling2D()), lambda: normal(1, 9, 17, 3), lambda: normal(2, 30, 6, 3))
layers("mel_modes", lambda: (lambda i: keras.Model(i, [L.MelSpectrogram(fft_length=64, sequence_stride=32, num_mel_bins=10, sampling_rate=8000, power_to_db=False, mag_exp=1.)(i), L.MelSpectrogram(fft_length=64, sequence_length=50, sequence_stride=16, num_mel_bins=8, sampling_rate=4000, window="hamming", top_db=40., ref_power=2.)(i)]))(L.Input([400])), lambda: normal(2, 400))
for kind in ("log", "magnitude", "psd", "real", "imag", "angle", "stft"):
    layers("stft_" + kind, lambda kind=kind: chain([160, 2], L.STFTSpectrogram(mode=kind, frame_length=32, frame_step=16, fft_length=64, window="hann", padding="same", expand_dims=kind == "psd")), lambda: normal(2, 160, 2) + .3)
layers("lookup_layers_mixed", lambda: (lambda a, b, c: keras.Model([a, b, c], [L.StringLookup(vocabulary=["x", "y"], output_mode="int", mask_token="m", oov_token="?")(a), L.IntegerLookup(vocabulary=np.array([10, 20]), mask_token=0, output_mode="multi_hot")(b),
                                                                               L.CategoryEncoding(4, "count")(c, count_weights=L.Rescaling(.5)(c)), L.Hashing(7, salt=[3, 4])(a), L.Hashing(5, salt=9, output_mode="count")(b), L.Hashing(6, mask_value="m")(a)]))(L.Input([2], dtype="string", name="a"), L.Input([2], dtype="int64", name="b"), L.Input([3], dtype="int32", name="c")),
       lambda: (np.array([["x", "m"], ["zz", "y"]]), np.array([[10, 0], [5, 20]], np.int64), np.array([[0, 1, 1], [3, 2, 0]], np.int32)))
layers("crossing_ints", lambda: (lambda a, b, c: keras.Model([a, b, c], [L.HashedCrossing(9)([a, b]), L.HashedCrossing(9, output_mode="one_hot")([c, b])]))(L.Input([1], dtype="int64", name="a"), L.Input([1], dtype="string", name="b"), L.Input([1], dtype="int64", name="c")), lambda: (np.array([[1], [2]], np.int64), np.array([["p"], ["q"]]), np.array([[3], [4]], np.int64)))
layers("text_split_modes", lambda: (lambda a: keras.Model(a, [L.TextVectorization(vocabulary=["a", "b", "c d"], split=lambda t: tf.strings.split(t, "|"), standardize=lambda t: tf.strings.regex_replace(tf.strings.lower(t), "[^a-z| ]", ""))(a), L.TextVectorization(vocabulary=list("abcdef"), split="character", output_sequence_length=8)(a), L.TextVectorization(vocabulary=["a b", "b c"], ngrams=(2,), output_mode="count")(a),
                                                             L.TextVectorization(vocabulary=["a", "b"], output_mode="int", ragged=False, encoding="utf-8", output_sequence_length=2)(a)]))(L.Input([], dtype="string", name="a")), lambda: np.array(["A|c D|z!", "b", "a b c"]))
layers("bounding_boxes", lambda: chain([8, 8, 3], L.RandomFlip(), L.RandomErasing(.5), L.RandomShear(.1, .1), L.MixUp(), L.RandomHue(.2), L.RandomPerspective(), L.Solarization(), L.Conv2D(2, 3)), lambda: normal(2, 8, 8, 3))


@maker
def more_custom_cell():
    class Cell(L.Layer):
        def __init__(self, n):
            super().__init__()
            self.n, self.state_size, self.output_size = n, [n, 1], n

        def build(self, shape):
            self.w, self.u = self.add_weight(shape=(shape[-1], self.n), name="w"), self.add_weight(shape=(self.n, self.n), name="u", initializer="orthogonal")

        def call(self, x, states, training=None):
            h = K.tanh(K.matmul(x, self.w) + K.matmul(states[0], self.u))
            return h, [h, states[1] + 1]
    keras.utils.set_random_seed(1)
    i = L.Input([None, 3])
    y, h, n = L.RNN(Cell(4), return_sequences=True, return_state=True)(L.Masking(9.)(i))
    x = normal(2, 5, 3)
    x[0, 3:] = 9.
    return keras_model("more_custom_cell", keras.Model(i, [y, h, n]), x, normal(1, 1, 3))


@maker
def more_tfsm_layer():
    """A SavedModel as a layer of a Keras model, exported again."""
    inner = path_of("more_tfsm_inner")
    keras.utils.set_random_seed(2)
    keras.Sequential([L.Input([4]), L.Dense(3, "relu"), L.BatchNormalization()]).export(inner, verbose=False)
    layer = L.TFSMLayer(inner, call_endpoint="serve")
    i = L.Input([4])
    m = keras.Model(i, L.Dense(2)(L.Lambda(lambda t: layer(t) * 2., output_shape=(3,))(i)))

    class Whole(tf.Module):
        def __init__(self):
            self.inner = layer._reloaded_obj
            self.ws = [w.value for w in m.weights]

        @tf.function(input_signature=[S([None, 4])])
        def f(self, x):
            return {"y": m(x)}
    w = Whole()
    tf.saved_model.save(w, path_of("more_tfsm_layer"), signatures={"serving_default": w.f})
    return [("serving_default", {"x": normal(3, 4)})]


@maker
def more_export_archive():
    """Several endpoints, one with dict inputs and optional keywords, a non-trainable set of variables, and a table."""
    keras.utils.set_random_seed(2)
    words, emb, head = L.StringLookup(vocabulary=["a", "b"]), L.Embedding(4, 3), L.Dense(2)
    head.build([None, 3]), emb.build([None]), words.build([None])
    a = keras.export.ExportArchive()
    a.add_endpoint("words", lambda t: words(t), [S([None], tf.string, "t")])
    a.add_endpoint("vectors", lambda d: {"v": emb(d["ids"]), "m": d["more"] * 2}, [{"ids": S([None], tf.int32, "ids"), "more": S([], name="more")}])
    a.add_endpoint("both", lambda t: head(emb(words(t))), [S([None], tf.string, "t")])
    a.track(words), a.track(emb), a.track(head)
    a.write_out(path_of("more_export_archive"), verbose=False)
    t = np.array(["b", "zz", "a"])
    return [("words", {"t": t}), ("vectors", {"ids": np.array([1, 2], np.int32), "more": np.float32(4)}), ("both", {"t": t})]


@maker
def more_trained_then_saved():
    """Fitted for a few steps, then exported: statistics and weights that are not initial."""
    keras.utils.set_random_seed(2)
    m = keras.Sequential([L.Input([8, 8, 1]), L.RandomFlip(seed=1), L.Conv2D(4, 3, use_bias=False), L.BatchNormalization(), L.Activation("relu"), L.MaxPooling2D(), L.Dropout(.2), L.Flatten(), L.Dense(3, "softmax", kernel_regularizer="l2", kernel_constraint=keras.constraints.MaxNorm(1.))])
    m.compile("adam", "sparse_categorical_crossentropy", metrics=["accuracy"])
    m.fit(normal(32, 8, 8, 1), rng.integers(0, 3, 32), epochs=3, verbose=0, batch_size=8)
    return keras_model("more_trained_then_saved", m, normal(4, 8, 8, 1), stats=False)


def gpt():
    """A small decoder: rotary positions, RMS norm, grouped queries, gated feed-forward, logits of tied embeddings."""
    i = L.Input([None], dtype="int32")
    e = L.ReversibleEmbedding(24, 8)
    x = e(i)

    class Rotary(L.Layer):
        def call(self, t):
            n, d = K.shape(t)[1], t.shape[-1] // 2
            ang = K.expand_dims(K.cast(K.arange(n), "float32"), 1) * K.exp(-K.arange(d, dtype="float32") / d * 3.)
            c, s = K.cos(ang), K.sin(ang)
            a, b = K.split(t, 2, -1)
            return K.concatenate([a * c - b * s, a * s + b * c], -1)
    for _ in range(2):
        h = L.RMSNormalization()(x)
        h = L.GroupQueryAttention(4, 4, 2)(Rotary()(h), Rotary()(h), use_causal_mask=True)
        x = L.Add()([x, h])
        g = L.RMSNormalization()(x)
        x = L.Add()([x, L.Dense(8)(L.Multiply()([L.Dense(16, "silu")(g), L.Dense(16)(g)]))])
    return keras.Model(i, e(L.RMSNormalization()(x), reverse=True))


layers("gpt", gpt, lambda: np.array([[1, 2, 3, 23, 7], [4, 4, 0, 1, 2]], np.int32), lambda: np.array([[9]], np.int32))


def vit():
    i = L.Input([16, 16, 3])
    p = L.Reshape([16, 12])(L.Conv2D(12, 4, 4)(i))

    class Tokens(L.Layer):
        def build(self, s):
            self.c, self.pos = self.add_weight(shape=(1, 1, 12), initializer="normal"), self.add_weight(shape=(1, 17, 12), initializer="normal")

        def call(self, x):
            return K.concatenate([K.broadcast_to(self.c, (K.shape(x)[0], 1, 12)), x], 1) + self.pos
    x = Tokens()(p)
    for _ in range(2):
        h = L.LayerNormalization(epsilon=1e-6)(x)
        x = L.Add()([x, L.MultiHeadAttention(3, 4)(h, h)])
        h = L.LayerNormalization(epsilon=1e-6)(x)
        x = L.Add()([x, L.Dense(12)(L.Dense(24, keras.activations.gelu)(h))])
    return keras.Model(i, L.Dense(5)(L.LayerNormalization()(x)[:, 0]))


layers("vit", vit, lambda: normal(2, 16, 16, 3))


def wavenet():
    i = L.Input([None, 2])
    x, skips = L.Conv1D(4, 1)(i), []
    for d in (1, 2, 4, 8):
        g = L.Multiply()([L.Conv1D(4, 2, dilation_rate=d, padding="causal", activation="tanh")(x), L.Conv1D(4, 2, dilation_rate=d, padding="causal", activation="sigmoid")(x)])
        s = L.Conv1D(4, 1)(g)
        skips.append(s)
        x = L.Add()([x, s])
    return keras.Model(i, L.Conv1D(3, 1)(L.ReLU()(L.Add()(skips))))


layers("wavenet", wavenet, lambda: normal(2, 30, 2), lambda: normal(1, 5, 2))


def vae_gan():
    i = L.Input([8, 8, 1])
    h = L.Conv2D(4, 3, 2, "same")(i)
    h = L.GroupNormalization(2)(h)
    z = L.Dense(3)(L.Flatten()(h))
    d = L.Reshape([2, 2, 4])(L.Dense(16)(z))
    for _ in range(2):
        d = L.Conv2DTranspose(4, 4, 2, "same", use_bias=False)(d)
        d = L.LeakyReLU(.2)(L.BatchNormalization()(d))
    return keras.Model(i, [z, L.Conv2D(1, 3, padding="same", activation="tanh")(d), L.SeparableConv2D(2, 3, dilation_rate=2)(d)])


layers("vae", vae_gan, lambda: normal(2, 8, 8, 1))
