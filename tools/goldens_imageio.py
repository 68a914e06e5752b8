#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Writes tests/data/op_goldens_imageio.txt and shape_goldens_imageio.txt: TensorFlow's answers for reading
and writing JPEG, PNG, GIF, BMP and WAV files.

Run with a Python that has TensorFlow:  /opt/tfvenv/bin/python tools/goldens_imageio.py
In the language of golden_case.py. Files that TensorFlow cannot write (palettes, interlacing, animations,
CMYK) are made here byte by byte.
"""
import struct
import zlib

import golden_case as g
import numpy as np
import tensorflow as tf
from golden_case import SPECS, i32, s32

g.rng.seed(31)
rng = g.rng
NAMES = {v: k for k, v in g.NAMES.items()}


def case(op, inputs, **attrs):
    for one in SPECS[op][3].split(" "):
        if ":type" in one and "=" in one:
            attrs.setdefault(one.split(":")[0], NAMES[one.split("=")[1]])
    flat = [tf.constant(x) if isinstance(x, bytes) else x for x in inputs]
    try:
        g.case(op, flat, g.output_count(op), **attrs)
    except UnicodeDecodeError:  # the error quotes bytes of the file that are no text
        return
    # Inference with unknown string inputs: what g.infer leaves out.
    key = (op, str(sorted(attrs.items(), key=str)))
    if key in seen or len([k for k in seen if k[0] == op]) >= 6:
        return
    seen.add(key)
    g.infer_each(op, flat, attrs, ("shapes", "nothing"))


seen = set()


def picture(h, w, c, dtype=np.uint8, smooth=True):
    y, x = np.mgrid[0:h, 0:w]
    top = np.iinfo(dtype).max
    planes = [(np.sin(y / (2.0 + k)) + np.cos(x / (3.0 - k * .5)) + 2) / 4 for k in range(c)]
    a = np.stack(planes, -1) * top
    if not smooth:
        a = rng.randint(0, top + 1, (h, w, c))
    return a.astype(dtype)


def png(rows, w, h, depth, colour, palette=None, trns=None, interlace=0):
    def chunk(name, body):
        return struct.pack(">I", len(body)) + name + body + struct.pack(">I", zlib.crc32(name + body))
    out = b"\x89PNG\r\n\x1a\n" + chunk(b"IHDR", struct.pack(">IIBBBBB", w, h, depth, colour, 0, 0, interlace))
    if palette is not None:
        out += chunk(b"PLTE", palette)
    if trns is not None:
        out += chunk(b"tRNS", trns)
    return out + chunk(b"IDAT", zlib.compress(rows)) + chunk(b"IEND", b"")


def pack(values, depth):
    """Rows of samples as PNG stores them, filter 0."""
    out = b""
    for row in values:
        flat = [int(v) for v in np.asarray(row).reshape(-1)]
        if depth == 16:
            out += b"\0" + b"".join(struct.pack(">H", v) for v in flat)
        else:
            bits = "".join(format(v, "0%db" % depth) for v in flat)
            bits += "0" * (-len(bits) % 8)
            out += b"\0" + bytes(int(bits[i:i + 8], 2) for i in range(0, len(bits), 8))
    return out


def adam7(a, depth):
    out = b""
    for x0, y0, dx, dy in ((0, 0, 8, 8), (4, 0, 8, 8), (0, 4, 4, 8), (2, 0, 4, 4), (0, 2, 2, 4), (1, 0, 2, 2),
                           (0, 1, 1, 2)):
        part = a[y0::dy, x0::dx]
        if part.size:
            out += pack(part, depth)
    return out


def pngs():
    files = {}
    for colour, c in ((0, 1), (2, 3), (4, 2), (6, 4)):
        for depth in (8, 16):
            a = picture(3, 5, c, np.uint16 if depth == 16 else np.uint8, smooth=False)
            files["%d/%d" % (colour, depth)] = png(pack(a, depth), 5, 3, depth, colour)
            files["%d/%d/i" % (colour, depth)] = png(adam7(a, depth), 5, 3, depth, colour, interlace=1)
    for depth in (1, 2, 4):
        a = rng.randint(0, 1 << depth, (5, 7, 1))
        files["0/%d" % depth] = png(pack(a, depth), 7, 5, depth, 0)
        files["0/%d/i" % depth] = png(adam7(a, depth), 7, 5, depth, 0, interlace=1)
    for depth in (1, 2, 4, 8):
        n = min(1 << depth, 20)
        a = rng.randint(0, n, (5, 7, 1))
        colours = bytes(rng.randint(0, 256, 3 * n).astype(np.uint8))
        files["3/%d" % depth] = png(pack(a, depth), 7, 5, depth, 3, colours)
        files["3/%d/t" % depth] = png(pack(a, depth), 7, 5, depth, 3, colours, trns=bytes([0, 128]))
    a = rng.randint(0, 3, (5, 7, 1))
    files["0/8/t"] = png(pack(a, 8), 7, 5, 8, 0, trns=struct.pack(">H", 1))
    a = rng.randint(0, 2, (5, 7, 3))
    files["2/8/t"] = png(pack(a, 8), 7, 5, 8, 2, trns=struct.pack(">HHH", 1, 0, 1))
    for k, f in enumerate(files.values()):
        for channels in (0, 1, 3, 4):
            case("DecodePng", [f], channels=channels)
            if channels == 0 or k % 4 == 0:
                case("DecodePng", [f], channels=channels, dtype=tf.uint16)
        if k % 3:
            continue
        case("DecodeImage", [f], dtype=tf.float32)
        case("DecodeImage", [f], dtype=tf.uint16, expand_animations=False)
        case("DecodeJpeg", [f])
        case("DecodeGif", [f])
    good = files["2/8"]
    for bad in (good[:40], good[:60], good[:8], good[:-4], good[:50] + b"x" + good[51:], good + b"tail",
                good[:20] + b"\x7f\xff\xff\xff" + good[24:], good[:29] + b"abcd" + good[33:]):
        case("DecodePng", [bad])
    for w, h in ((1 << 26, 1 << 26), (100000, 100000), (30000, 10000)):
        case("DecodePng", [png(b"", w, h, 8, 2)])
    case("DecodePng", [good], channels=2)
    case("DecodePng", [good], channels=-1)
    case("DecodeBmp", [good])
    case("DecodeAndCropJpeg", [good, i32(0, 0, 1, 1)])
    case("DecodePng", [tf.constant([good, good])])
    for c in (1, 2, 3, 4):
        for dtype in (np.uint8, np.uint16):
            for compression in (-1, 0, 1, 9):
                case("EncodePng", [tf.constant(picture(6, 5, c, dtype))], compression=compression)
    case("EncodePng", [tf.constant(np.stack([picture(3, 4, 3)] * 6).reshape(2, 3, 3, 4, 3))])
    for shape in ((2, 2), (2, 2, 5), (2, 2, 0), (0, 2, 2, 1)):
        case("EncodePng", [tf.zeros(shape, tf.uint8)])
    case("EncodePng", [tf.zeros((2, 2, 1), tf.uint8)], compression=10)
    return good


def jpegs():
    files = []
    for c in (1, 3):
        for h, w in ((5, 7), (9, 11), (1, 1)):
            a = picture(h, w, c)
            for kw in (dict(quality=80), dict(quality=95, chroma_downsampling=False),
                       dict(quality=40, progressive=True)):
                files.append(tf.io.encode_jpeg(a, **kw).numpy())
    for k, f in enumerate(files):
        for channels in (0, 1, 3):
            case("DecodeJpeg", [f], channels=channels)
        case("DecodeJpeg", [f], dct_method="INTEGER_ACCURATE")
        case("DecodeJpeg", [f], dct_method="INTEGER_FAST", fancy_upscaling=False)
        case("DecodeJpeg", [f], ratio=(2, 4, 8)[k // 2 % 3])
        case("ExtractJpegShape", [f], output_type=tf.int32 if k % 2 else tf.int64)
        if k % 3 == 0:
            case("DecodeImage", [f], dtype=tf.float32, channels=3)
            case("DecodeImage", [f], dtype=tf.uint16)
            case("DecodePng", [f])
            case("DecodeGif", [f])
    big = tf.io.encode_jpeg(picture(17, 20, 3), quality=60).numpy()
    slow = tf.io.encode_jpeg(picture(17, 20, 3), quality=60, progressive=True).numpy()
    grey = tf.io.encode_jpeg(picture(17, 20, 1), quality=60).numpy()
    for f in (big, slow, grey):
        for window in ((0, 0, 17, 20), (3, 5, 10, 11), (16, 16, 1, 4), (16, 19, 1, 1), (0, 17, 17, 3), (5, 0, 9, 20)):
            case("DecodeAndCropJpeg", [f, i32(*window)])
        case("DecodeAndCropJpeg", [f, i32(2, 3, 5, 6)], ratio=2, fancy_upscaling=False, channels=1)
    for window in ((0, 0, 18, 20), (-1, 0, 3, 3), (0, 0, 0, 3), (15, 0, 8, 3), (0, 2147483647, 1, 1)):
        case("DecodeAndCropJpeg", [big, i32(*window)])
    case("DecodeAndCropJpeg", [big, i32(1, 2, 3)])
    case("DecodeAndCropJpeg", [big, tf.constant([[1, 2, 3, 4]])])
    for f in (big, slow):
        for cut in (4, 20, 200, 400, len(f) // 2, len(f) - 20, len(f) - 2):
            case("DecodeJpeg", [f[:cut]])
            case("DecodeJpeg", [f[:cut]], try_recover_truncated=True)
            if cut >= 200:
                case("DecodeJpeg", [f[:cut]], acceptable_fraction=0.3)
        case("ExtractJpegShape", [f[:100]])
        case("ExtractJpegShape", [f[:len(f) - 30]])
    sof = big.index(b"\xff\xc0")
    huge = big[:sof + 5] + b"\xff\xff\xff\xff" + big[sof + 9:]
    case("DecodeJpeg", [huge])
    case("DecodeJpeg", [big[:sof + 5] + b"\0\0\0\0" + big[sof + 9:]])
    for at in (sof + 9, sof + 10, sof + 11, sof + 12, sof - 3, len(big) // 2):
        case("DecodeJpeg", [big[:at] + bytes([big[at] ^ 0x55]) + big[at + 1:]])
    # CMYK: four components, with and without Adobe's marker.
    case("DecodeJpeg", [big], channels=4)
    case("DecodeJpeg", [big], ratio=3)
    case("DecodeJpeg", [big], dct_method="SLOW")
    case("DecodeJpeg", [b""])
    case("DecodeJpeg", [b"nonsense"])
    case("DecodeBmp", [big])
    case("ExtractJpegShape", [b""])
    case("ExtractJpegShape", [tf.constant([b"", b""])])
    case("DecodeWebP", [b"nonsense"])
    case("DecodeWebP", [b"nonsense"], channels=3)
    case("DecodeJxl", [b"nonsense"], channels=4)
    for c in (1, 3):
        for h, w in ((5, 7), (9, 11)):
            a = tf.constant(picture(h, w, c))
            for kw in (dict(), dict(quality=0), dict(quality=100), dict(progressive=True), dict(optimize_size=True),
                       dict(chroma_downsampling=False), dict(density_unit="cm", x_density=5, y_density=70000),
                       dict(xmp_metadata="hello"), dict(format="grayscale" if c == 1 else "rgb")):
                case("EncodeJpeg", [a], **kw)
            for quality in (0, 50, 100):
                case("EncodeJpegVariableQuality", [a, s32(quality)])
    a = tf.constant(picture(3, 3, 3))
    case("EncodeJpeg", [a], quality=101)
    case("EncodeJpeg", [a], format="grayscale")
    case("EncodeJpeg", [tf.zeros((3, 3), tf.uint8)])
    for shape in ((0, 3, 3), (3, 0, 1), (3, 3, 2)):
        case("EncodeJpeg", [tf.zeros(shape, tf.uint8)])
    case("EncodeJpegVariableQuality", [a, s32(-1)])
    case("EncodeJpegVariableQuality", [a, i32(1)])
    case("EncodeJpegVariableQuality", [tf.zeros((3, 3), tf.uint8), s32(1)])


def lzw(pixels, size):
    """GIF's compression, without ever using the table: a clear code keeps the width."""
    clear, end, bits = 1 << size, (1 << size) + 1, ""
    codes = []
    for i, p in enumerate(pixels):
        if i % ((1 << size) - 2) == 0:
            codes.append(clear)
        codes.append(int(p))
    for c in codes + [end]:
        bits = format(c, "0%db" % (size + 1)) + bits
    bits = "0" * (-len(bits) % 8) + bits
    data = bytes(int(bits[i:i + 8], 2) for i in range(0, len(bits), 8))[::-1]
    out = bytes([size])
    for i in range(0, len(data), 255):
        out += bytes([len(data[i:i + 255])]) + data[i:i + 255]
    return out + b"\0"


def gif(w, h, frames, bits=3, trailer=b"\x3b", table=True):
    out = b"GIF89a" + struct.pack("<HHBBB", w, h, (0x80 if table else 0) | (bits - 1), 0, 0)
    if table:
        out += bytes(rng.randint(0, 256, 3 << bits).astype(np.uint8))
    for f in frames:
        x, y, fw, fh = f["at"]
        if "transparent" in f:
            out += b"\x21\xf9\x04" + bytes([1 | f.get("dispose", 0) << 2, 0, 0, f["transparent"], 0])
        out += b"\x2c" + struct.pack("<HHHHB", x, y, fw, fh, f.get("flags", 0))
        if f.get("flags", 0) & 0x80:
            out += bytes(rng.randint(0, 256, 3 << ((f["flags"] & 7) + 1)).astype(np.uint8))
        n = f.get("pixels", fw * fh)
        out += lzw(rng.randint(0, f.get("colours", 1 << bits), n), f.get("bits", bits))
    return out + trailer


def gifs():
    whole = dict(at=(0, 0, 7, 5))
    one = gif(7, 5, [whole])
    files = [one,
             gif(7, 5, [whole, whole, whole]),
             gif(7, 5, [whole, dict(at=(2, 1, 3, 2)), dict(at=(0, 0, 4, 4), transparent=3)]),
             gif(7, 5, [dict(at=(1, 1, 4, 3)), dict(at=(0, 0, 7, 5), transparent=2, dispose=2), dict(at=(5, 3, 4, 4))]),
             gif(9, 9, [whole]), gif(3, 3, [whole, dict(at=(3, 2, 7, 5))]),
             gif(7, 5, [dict(at=(0, 0, 7, 5), transparent=0, dispose=1)]),
             gif(7, 5, [dict(at=(0, 0, 7, 5), flags=0x40)]),
             gif(7, 5, [dict(at=(0, 0, 7, 5), flags=0x82), dict(at=(0, 0, 7, 5), flags=0x81, colours=4)]),
             gif(7, 5, [dict(at=(0, 0, 7, 5), flags=0x82)], table=False)]
    for f in files:
        case("DecodeGif", [f])
        case("DecodeImage", [f])
        case("DecodeImage", [f], expand_animations=False, dtype=tf.float32)
        case("DecodeImage", [f], dtype=tf.uint16, channels=3)
        case("DecodePng", [f])
        case("DecodeJpeg", [f])
    for f in (gif(7, 5, [whole], table=False), gif(7, 5, []), gif(7, 5, [whole], trailer=b""),
              gif(7, 5, [whole], bits=2)[:30], one[:5], one[:13], one[:40], one[:-6],
              files[1][:-30], files[1][:-2], gif(7, 5, [dict(at=(0, 0, 7, 5), pixels=20)]),
              gif(7, 5, [dict(at=(0, 0, 7, 5), flags=0x81, colours=8)]), gif(7, 5, [dict(at=(0, 0, 0, 5), pixels=0)])):
        case("DecodeGif", [f])
        case("DecodeImage", [f], expand_animations=False)
    case("DecodeImage", [one], channels=1)
    case("DecodeImage", [one], channels=4)
    case("DecodeBmp", [one])
    case("DecodeAndCropJpeg", [one, i32(0, 0, 1, 1)])


def bmp(w, h, bpp, header=54):
    row = (w * bpp // 8 + 3) // 4 * 4
    body = bytes(rng.randint(0, 256, row * abs(h)).astype(np.uint8))
    head = b"BM" + struct.pack("<IHHI", header + len(body), 0, 0, header)
    head += struct.pack("<IiiHHIIiiII", 40, w, h, 1, bpp, 0, len(body), 0, 0, 0, 0)
    return head.ljust(header, b"\0") + body


def bmps():
    for bpp in (8, 24, 32):
        for w, h in ((7, 5), (4, -3), (1, 1)):
            f = bmp(w, h, bpp)
            for channels in (0, 3, 4):
                case("DecodeBmp", [f], channels=channels)
            case("DecodeImage", [f])
            if h > 0:  # TensorFlow's float and uint16 of upside-down files are garbage
                case("DecodeImage", [f], dtype=tf.float32)
                case("DecodeImage", [f], dtype=tf.uint16, expand_animations=False)
    f = bmp(7, 5, 24)
    for bad in (f[:20], f[:60], f + b"x", bmp(7, 5, 16), bmp(7, 5, 1), f[:18] + struct.pack("<i", -7) + f[22:],
                f[:22] + struct.pack("<i", 0) + f[26:], f[:10] + struct.pack("<i", -1) + f[14:],
                f[:18] + struct.pack("<ii", 1 << 30, 1 << 30) + f[26:]):
        case("DecodeBmp", [bad])
    case("DecodeBmp", [f], channels=1)
    case("DecodeBmp", [f], channels=2)
    case("DecodePng", [f])
    case("DecodeAndCropJpeg", [f, i32(0, 0, 1, 1)])
    case("DecodeImage", [b""])
    case("DecodeImage", [b"????????????????"])


def wavs():
    files = []
    for channels in (1, 2, 3):
        audio = tf.constant(rng.uniform(-1.2, 1.2, (9, channels)).astype(np.float32))
        case("EncodeWav", [audio, s32(8000)])
        files.append(tf.audio.encode_wav(audio, 44100).numpy())
    case("EncodeWav", [tf.constant([[np.inf], [-np.inf], [1.0], [-1.0], [0.5 / 32768], [1.5 / 32768]]), s32(1)])
    for shape, rate in (((0, 2), 8000), ((2, 0), 8000), ((2, 2), 0), ((2, 2), -1), ((4,), 8000)):
        case("EncodeWav", [tf.zeros(shape), s32(rate)])
    case("EncodeWav", [tf.zeros((2, 2)), i32(8000)])
    for f in files:
        case("DecodeWav", [f])
        for channels in (-1, 0, 1, 2, 5):
            for samples in (-1, 0, 4, 20):
                case("DecodeWav", [f], desired_channels=channels, desired_samples=samples)
    f = files[1]
    junk = f[:12] + b"JUNK" + struct.pack("<I", 6) + b"abcdef" + f[12:]
    more = f[:36] + b"LIST" + struct.pack("<I", 4) + b"abcd" + f[36:]
    wide = f[:16] + struct.pack("<I", 18) + f[20:36] + b"\0\0" + f[36:]
    for x in (junk, more, wide, f + b"\0", f + b"LIST\x04\0\0\0ab", f + f[36:], f[:40], f[:20], f[:36], f[:60], b"", b"RIFF",
              b"RIFX" + f[4:], f[:8] + b"AVIX" + f[12:], f[:12] + b"what" + f[16:], f[:16] + b"\x11" + f[17:],
              f[:20] + b"\x02" + f[21:], f[:22] + b"\0" + f[23:], f[:24] + b"\1" + f[25:], f[:32] + b"\1" + f[33:],
              f[:34] + b"\x08" + f[35:], f[:40] + b"\xff\xff\xff\xff" + f[44:], f[:40] + b"\xff\xff\xff\x7f" + f[44:],
              f[:40] + b"\x05" + f[41:], junk[:16] + b"\xff\xff\xff\xff" + junk[20:]):
        case("DecodeWav", [x])
    case("DecodeWav", [f], desired_channels=-2)
    case("DecodeWav", [f], desired_samples=-3)
    case("DecodeWav", [tf.constant([f])])


def main():
    pngs()
    jpegs()
    gifs()
    bmps()
    wavs()
    g.write_both("_imageio")


if __name__ == "__main__":
    main()
