#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Makes the files that testdata/pipelines read: make_testdata.py DIR (77 MB, a few seconds).

The same bytes each time for one version of TensorFlow and NumPy: every kind of file draws from a
generator of its own, seeded by its name.
"""
import argparse
import os
import pathlib
import zlib

os.environ.setdefault("TF_CPP_MIN_LOG_LEVEL", "3")
import numpy as np  # noqa: E402
import tensorflow as tf  # noqa: E402

PICTURES = 48  # distinct ones: encoding is slow, and a pipeline decodes them all the same
WORDS = "alpha beta gamma delta eps zeta eta theta iota kappa".split()


def generator(kind):
    return np.random.default_rng(zlib.crc32(kind.encode()))


def picture(index, random):
    """JPEG of 224..320 x 256..352 pixels: smooth waves and noise, as large as a photograph's."""
    height, width = 224 + index % 4 * 32, 256 + index % 3 * 48
    rows, columns = np.mgrid[:height, :width]
    phase = columns * (1 + index % 7) + rows * (2 + index % 5)
    waves = 127 + 100 * np.sin(phase[..., None] / (20 + 7 * np.arange(3)))
    pixels = np.clip(waves + random.normal(0, 12, waves.shape), 0, 255)
    return tf.io.encode_jpeg(pixels.astype("uint8"), quality=90).numpy()


def example(**features):
    """A serialised tf.train.Example of byte strings and lists of integers."""
    message = tf.train.Example()
    for name, value in features.items():
        if isinstance(value, bytes):
            message.features.feature[name].bytes_list.value.append(value)
        else:
            message.features.feature[name].int64_list.value.extend(int(v) for v in value)
    return message.SerializeToString(deterministic=True)


def make_images(folder):
    """16 TFRecord files of 100 pictures with labels."""
    random = generator("images")
    pictures = [picture(index, random) for index in range(PICTURES)]
    for file in range(16):
        with tf.io.TFRecordWriter(str(folder / f"img-{file:05d}-of-00016")) as out:
            for index in range(100 * file, 100 * (file + 1)):
                out.write(example(image=pictures[index % PICTURES],
                                  label=[index % PICTURES % 10]))


def make_token_ids(folder):
    """8 compressed TFRecord files of 300 sentences, 5 to 59 ids each."""
    random = generator("token ids")
    for file in range(8):
        with tf.io.TFRecordWriter(str(folder / f"gz-{file}.tfrecord.gz"), options="GZIP") as out:
            for index in range(300):
                ids = random.integers(0, 30000, random.integers(5, 60))
                out.write(example(ids=ids, lab=[index % 2]))


def make_text(folder):
    """4 files of 5000 lines, 3 to 39 words each."""
    random = generator("text")
    for file in range(4):
        lines = (" ".join(random.choice(WORDS, random.integers(3, 40))) for _ in range(5000))
        (folder / f"text-{file}.txt").write_text("\n".join(lines) + "\n", encoding="ascii")


def make_fixed_records(folder):
    """4000 records of a label byte and a 3 x 32 x 32 picture."""
    (folder / "fixed.bin").write_bytes(generator("fixed records").bytes(4000 * 3073))


def make_table(folder):
    """A heading and 20000 rows of two fractions, a digit and a label."""
    random = generator("table")
    numbers = random.random((20000, 2))
    digits = random.integers(0, 9, 20000)
    rows = [f"{a:.4f},{b:.4f},{digit},{row % 2}"
            for row, ((a, b), digit) in enumerate(zip(numbers, digits))]
    (folder / "table.csv").write_text("\n".join(["a,b,c,y", *rows]) + "\n", encoding="ascii")


def main():
    parser = argparse.ArgumentParser(description=__doc__.split("\n", maxsplit=1)[0])
    parser.add_argument("folder", type=pathlib.Path, metavar="DIR")
    folder = parser.parse_args().folder
    folder.mkdir(parents=True, exist_ok=True)
    for make in (make_images, make_token_ids, make_text, make_fixed_records, make_table):
        make(folder)


if __name__ == "__main__":
    main()
