#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Writes tests/data/op_goldens_picture.txt and shape_goldens_picture.txt: TensorFlow's answers for colours, boxes,
geometry of images, pooling and convolution variants, and sound.

Run with a Python that has TensorFlow:  /opt/tfvenv/bin/python tools/goldens_picture.py
In the language of golden_case.py, and goldens_nn.py's terms and rough.
"""
import os

os.environ["TF_ENABLE_ONEDNN_OPTS"] = "0"
import golden_case as g
import numpy as np
import tensorflow as tf
from golden_case import INTS, REAL, data, i32, s32
from goldens_nn import case, types

# TensorFlow infers one cut too few for the first two, and rank 4 for the third when it is not told all.
WRONG = ("FractionalMaxPool", "FractionalAvgPool", "ExtractVolumePatches")
infer = g.infer
g.infer = lambda op, *rest: None if op in WRONG else infer(op, *rest)
F, D, H = tf.float32, tf.float64, tf.half


def f32(*v):
    return tf.constant(list(v), F)


def colours():
    for op in ("RGBToHSV", "HSVToRGB"):
        for t in types(op):
            case(op, [data(t, [4, 5, 3], 0, 1)], rough=2)
            case(op, [data(t, [3], 0, 1)], rough=2)
        case(op, [tf.constant([[0., 0, 0], [1, 1, 1], [.5, .5, 0], [0, .5, .5], [.5, 0, .5], [-1, 2, 3], [2, -1, -1]])])
        for s in ([], [2], [0, 3], [2, 4]):
            case(op, [data(F, s)])
    for op in ("AdjustContrastv2", "AdjustHue", "AdjustSaturation"):
        for s in ([3, 4, 3], [2, 3, 3, 3], [1, 1, 3], [0, 3, 3], [2, 3], [3, 2, 1], [2, 2, 5, 7, 3]):
            for v in (0.5, -0.3, 2.0) if s[0] == 3 else (0.5,):
                case(op, [data(F, s, 0, 1), tf.constant(v)], terms=2)
        case(op, [data(F, [2, 2, 3], 0, 1), f32(1, 2)])
        case(op, [tf.constant([[[.5, .5, .5], [0, 0, 0], [1, 0, 0], [1, 1, 0], [0, 1, 1]]]), tf.constant(0.25)])


def boxes():
    for t in types("DrawBoundingBoxes"):
        for d in (1, 3, 4):
            x = data(t, [2, 4, 5, d], 0, 1)
            b = tf.constant([[[.1, .1, .5, .6], [-.5, .2, .4, 1.5], [0, 0, 1, 1]],
                             [[.9, .5, .1, .6], [1.5, 1.5, 2, 2], [.2, .2, .2, .2]]], F)
            case("DrawBoundingBoxes", [x, b])
            case("DrawBoundingBoxesV2", [x, b, data(F, [2, d], 0, 1)])
            case("DrawBoundingBoxesV2", [x, b, data(F, [0, d])])
    x = data(F, [2, 3, 4, 3])
    many = tf.constant(np.tile(np.array([[[0, 0, 1, 1]]], np.float32), (1, 13, 1)))
    case("DrawBoundingBoxes", [x[:1], many])
    for a, b in (([2, 3, 4], [2, 1, 4]), ([2, 3, 4, 3], [2, 4]), ([2, 3, 4, 3], [1, 1, 4]), ([2, 3, 4, 2], [2, 1, 4]),
                 ([2, 3, 4, 3], [2, 1, 3]), ([0, 3, 4, 3], [0, 1, 4]), ([2, 3, 4, 3], [2, 0, 4])):
        case("DrawBoundingBoxes", [data(F, a), data(F, b, 0, 1)])
    case("DrawBoundingBoxesV2", [x, data(F, [2, 1, 4], 0, 1), data(F, [2, 2])])
    case("DrawBoundingBoxesV2", [x, data(F, [2, 1, 4], 0, 1), data(F, [2])])
    one = tf.constant([[[.1, .2, .7, .9]]])
    two = tf.constant([[[0., 0, .3, .3], [.5, .5, 1, 1]]])
    none = tf.zeros([1, 0, 4])
    for k in range(12):  # eager mode keeps a kernel's generator: no two calls with the same attributes
        for b in (one, two)[k % 2:][:1]:
            case("SampleDistortedBoundingBox", [i32(40, 50, 3), b], seed=k, seed2=k + 3, min_object_covered=.1 * k)
            case("SampleDistortedBoundingBoxV2", [i32(31, 17, 3), b, tf.constant(.2 * k)], seed=k + 1, seed2=3,
                 aspect_ratio_range=[.5, 2.], area_range=[.1, .9])
            case("StatelessSampleDistortedBoundingBox", [i32(640, 480, 3), b, tf.constant(.1), i32(k, 7)],
                 aspect_ratio_range=[.9, 1.1], max_attempts=4)
    for t in (tf.uint8, tf.int8, tf.int16, tf.int64):
        case("SampleDistortedBoundingBox", [tf.constant([30, 20, 3], t), one], seed=5, seed2=6)
    case("SampleDistortedBoundingBox", [i32(30, 20, 3), none], seed=5, use_image_if_no_bounding_boxes=True)
    for a in (dict(min_object_covered=-1.), dict(aspect_ratio_range=[1.]), dict(aspect_ratio_range=[-1., 1.]),
              dict(area_range=[.5]), dict(area_range=[0., 1.]), dict(area_range=[.5, 1.5]), dict(max_attempts=0)):
        case("SampleDistortedBoundingBox", [i32(30, 20, 3), one], seed=5, **a)
    for s, b in ((i32(30, 20), one), (tf.constant([[30, 20, 3]]), one), (i32(30, 20, 3), none), (i32(30, 20, 3), one[0]),
                 (i32(30, 20, 3), one[:, :, :3]), (i32(30, 20, 3), one * 2), (i32(-1, 20, 3), one), (i32(0, 0, 3), one)):
        case("SampleDistortedBoundingBox", [s, b], seed=5)
    case("StatelessSampleDistortedBoundingBox", [i32(640, 480, 3), one, tf.constant(.1), i32(1)])
    case("SampleDistortedBoundingBoxV2", [i32(30, 20, 3), one, tf.constant(-.1)], seed=1)
    case("SampleDistortedBoundingBoxV2", [i32(30, 20, 3), one, f32(.1)], seed=1)
    b, s = data(F, [2, 6, 1, 4], 0, 1), data(F, [2, 6, 2], 0, 1)
    q = data(F, [2, 6, 2, 4], -.5, 1.5)

    def nms(b, s, per=3, total=7, iou=.5, score=.2, **kw):
        case("CombinedNonMaxSuppression", [b, s, s32(per), s32(total), tf.constant(iou), tf.constant(score)], **kw)
    for kw in (dict(), dict(pad_per_class=True), dict(clip_boxes=False)):
        nms(b, s, **kw)
        nms(q, s, **kw)
        nms(q, s, 100, 14, **kw)
        nms(q, s, 1, 9, .1, .6, **kw)
        nms(q, s, score=5., **kw)
    nms(b[0], s)
    nms(b, s[0])
    nms(tf.concat([q, q], 2), s)
    nms(b[..., :3], s)
    nms(b[:, :4], s)
    nms(b[:1], s)
    nms(b, s, per=0)
    nms(b, s, total=0)
    nms(b, s, iou=1.5)
    nms(tf.zeros([1, 0, 1, 4]), tf.zeros([1, 0, 2]))
    case("CombinedNonMaxSuppression", [b, s, i32(1), s32(1), tf.constant(.1), tf.constant(.1)])


def geometry():
    turn = [.8, .3, -1, -.3, .9, 1.5, .01, -.02]
    far = [1, 0, -9.5, 0, 1, 13.25, 0, 0]
    for t in types("ImageProjectiveTransformV2", "dtype"):
        x = data(t, [2, 4, 5, 1], integer_high=50)
        for how in ("NEAREST", "BILINEAR"):
            for mode in ("CONSTANT", "REFLECT", "WRAP", "NEAREST"):
                if t not in (F, tf.uint8) and (mode == "NEAREST") != (how == "NEAREST"):
                    continue
                m = tf.constant([turn, far], F)
                case("ImageProjectiveTransformV2", [x, m, i32(4, 5)], interpolation=how, fill_mode=mode, rough=2)
        case("ImageProjectiveTransformV3", [x, tf.constant([turn], F), i32(3, 7), tf.constant(7.)],
             interpolation="BILINEAR", fill_mode="CONSTANT", rough=2)
    x = data(F, [1, 1, 1, 1])
    for mode in ("REFLECT", "WRAP", "NEAREST", "CONSTANT"):
        case("ImageProjectiveTransformV2", [x, tf.constant([far], F), i32(2, 2)], interpolation="NEAREST", fill_mode=mode)
    case("ImageProjectiveTransformV2", [x, tf.constant([[1., 0, 0, 0, 1, 0, -1, 0]]), i32(2, 2)], interpolation="NEAREST")
    x = data(F, [2, 3, 3, 1])
    for im, m, s in ((x[0], [turn], i32(2, 2)), (x, [turn] * 3, i32(2, 2)), (x, [turn[:7]], i32(2, 2)), (x, [turn], i32(2)),
                     (x, [turn], s32(2)), (x, [turn], i32(0, 2)), (x[:0], [turn], i32(2, 2))):
        case("ImageProjectiveTransformV2", [im, tf.constant(m), s], interpolation="NEAREST")
    for k in ("lanczos1", "lanczos3", "lanczos5", "gaussian", "box", "triangle", "keyscubic", "mitchellcubic"):
        for anti in (True, False):
            for out, scale, shift in (([5, 4], [1.3, .7], [.2, -.5]), ([7, 5], [2., 1.], [0., 0.]),
                                      ([3, 2], [.5, .4], [0., .3])):
                case("ScaleAndTranslate", [data(F, [1, 4, 5, 1]), i32(*out), tf.constant(scale), tf.constant(shift)],
                     kernel_type=k, antialias=anti, terms=8)
                case("ScaleAndTranslateGrad", [data(F, [1] + out + [1]), data(F, [1, 4, 5, 1]), tf.constant(scale),
                     tf.constant(shift)], kernel_type=k, antialias=anti, terms=8)
    for t in types("ScaleAndTranslate"):
        case("ScaleAndTranslate", [data(t, [1, 3, 3, 1]), i32(4, 4), f32(1.2, 1.1), f32(0, 0)], terms=400)
    x = data(F, [1, 3, 3, 1])
    for a in ([x[0], i32(4, 4), f32(1, 1), f32(0, 0)], [x, i32(4), f32(1, 1), f32(0, 0)], [x, s32(4), f32(1, 1), f32(0, 0)],
              [x, i32(0, 4), f32(1, 1), f32(0, 0)], [x, i32(4, 4), f32(0, 1), f32(0, 0)], [x, i32(4, 4), f32(1), f32(0, 0)],
              [x, i32(4, 4), f32(1, 1), f32(0)], [x[:, :0], i32(4, 4), f32(1, 1), f32(0, 0)],
              [x[..., :0], i32(4, 4), f32(1, 1), f32(0, 0)], [x[:0], i32(4, 4), f32(1, 1), f32(0, 0)]):
        case("ScaleAndTranslate", a)
    case("ScaleAndTranslate", [x, i32(4, 4), f32(1, 1), f32(0, 0)], kernel_type="what")
    x = data(F, [2, 6, 7, 1])
    for op in ("ExtractGlimpse", "ExtractGlimpseV2"):
        for norm in (True, False):
            for centre in (True, False):
                for at in ([[0., 0], [.3, -.2]], [[-.9, .9], [2., -3.]], [[1., 2.], [3., 1.]], [[5., 6.], [-4., 40.]]):
                    case(op, [x, i32(3, 4), tf.constant(at)], normalized=norm, centered=centre, uniform_noise=False,
                         noise="zero")
        for a in ([x[0], i32(3, 4), f32(0, 0)], [x, i32(3), tf.zeros([2, 2])], [x, i32(3, 4), tf.zeros([2])],
                  [x, i32(3, 4), tf.zeros([1, 2])], [x, i32(3, 4), tf.zeros([2, 3])], [x, i32(0, 4), tf.zeros([2, 2])],
                  [x, i32(-1, 4), tf.zeros([2, 2])]):
            case(op, a, uniform_noise=False, noise="zero")
        case(op, [x, i32(3, 4), tf.zeros([2, 2])], noise="gaussian")
        case(op, [x, i32(3, 4), tf.zeros([2, 2])], noise="what", uniform_noise=False)


def main():
    colours()
    boxes()
    geometry()
    for extra in EXTRA:
        extra()
    g.write_both("_picture")


def sound():
    x = tf.constant(np.sin(np.arange(60).reshape(20, 3) * .7), F)
    for w, st in ((4, 2), (5, 3), (8, 8), (16, 1), (20, 4), (21, 1), (3, 1)):
        for sq in (False, True):
            case("AudioSpectrogram", [x], window_size=w, stride=st, magnitude_squared=sq, terms=8)
    case("AudioSpectrogram", [x], window_size=1, stride=1)
    case("AudioSpectrogram", [x], window_size=4, stride=0)
    case("AudioSpectrogram", [x[0]], window_size=4, stride=1)
    case("AudioSpectrogram", [x[:, :0]], window_size=4, stride=1)
    s = data(F, [1, 1, 129], 0, 4)
    for kw in (dict(), dict(upper_frequency_limit=6000., lower_frequency_limit=100.), dict(filterbank_channel_count=20),
               dict(dct_coefficient_count=5), dict(filterbank_channel_count=12, dct_coefficient_count=12)):
        case("Mfcc", [s, s32(16000)], terms=8, **kw)
    case("Mfcc", [tf.zeros([1, 1, 9]), s32(8000)], terms=8)
    case("Mfcc", [s[0], s32(16000)])
    case("Mfcc", [s, i32(1, 2)])
    case("Mfcc", [s, s32(0)])
    case("Mfcc", [s[:, :, :1], s32(16000)])
    case("Mfcc", [s, s32(16000)], upper_frequency_limit=10.)
    case("Mfcc", [s, s32(16000)], filterbank_channel_count=0)
    case("Mfcc", [s, s32(16000)], dct_coefficient_count=0)
    case("Mfcc", [s, s32(16000)], dct_coefficient_count=50)


def pools():
    n = 0
    for op in ("FractionalMaxPool", "FractionalAvgPool"):
        for t in types(op):
            for pseudo in (True, False):
                for over in (True, False):
                    n += 1
                    k = 2 if t == F and not pseudo else 1
                    x = data(t, [k, 9, 7, k])
                    case(op, [x], pooling_ratio=[1., 1.44, 1.73, 1.], pseudo_random=pseudo, overlapping=over, seed=n,
                         seed2=n + 1, deterministic=True, terms=2)
                    rows, cols = tf.constant([0, 2, 3, 5, 7, 9], tf.int64), tf.constant([0, 2, 5, 7], tf.int64)
                    if op == "FractionalAvgPool":
                        case(op + "Grad", [tf.constant([k, 9, 7, k], tf.int64), data(t, [k, 5, 3, k]), rows, cols],
                             overlapping=over, terms=8)
                    else:
                        v = x.numpy()
                        best = np.stack([np.stack([v[:, a:b + over, c:d + over].max((1, 2)) for c, d in ((0, 2), (2, 5), (5, 7))], 1)
                                         for a, b in ((0, 2), (2, 3), (3, 5), (5, 7), (7, 9))], 1)
                        case(op + "Grad", [x, tf.constant(best), data(t, [k, 5, 3, k]), rows, cols], overlapping=over, terms=8)
                        if t == F:
                            case(op + "Grad", [x, tf.constant(best + 1), data(t, [k, 5, 3, k]), rows, cols], overlapping=over)
        case(op, [data(F, [9, 7, 2])], pooling_ratio=[1., 1.44, 1.73, 1.])
        case(op, [data(F, [1, 9, 7, 2])], pooling_ratio=[1., 2., 2., 1.], seed=91, seed2=1, deterministic=True, pseudo_random=True)
        case(op, [data(F, [1, 8, 6, 2])], pooling_ratio=[1., 2., 2., 1.], seed=92, seed2=2, deterministic=True)
        case(op, [data(F, [1, 8, 6, 2])], pooling_ratio=[1., .5, 2., 1.])
    for t in types("ExtractVolumePatches"):
        for pad in ("SAME", "VALID"):
            case("ExtractVolumePatches", [data(t, [1, 3, 4, 3, 1])], ksizes=[1, 2, 2, 1, 1], strides=[1, 1, 2, 2, 1],
                 padding=pad)
    x = data(F, [1, 3, 4, 3, 2])
    case("ExtractVolumePatches", [x[0]], ksizes=[1, 2, 2, 1, 1], strides=[1, 1, 2, 2, 1], padding="SAME")
    case("ExtractVolumePatches", [x], ksizes=[2, 2, 2, 1, 1], strides=[1, 1, 2, 2, 1], padding="SAME")
    case("ExtractVolumePatches", [x], ksizes=[1, 0, 2, 1, 1], strides=[1, 1, 2, 2, 1], padding="SAME")
    case("ExtractVolumePatches", [x], ksizes=[1, 5, 2, 1, 1], strides=[1, 1, 2, 2, 1], padding="VALID")


EXTRA = [sound, pools]

if __name__ == "__main__":
    main()
