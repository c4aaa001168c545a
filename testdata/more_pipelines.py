# SPDX-License-Identifier: Apache-2.0
"""Shapes of input pipelines that people ask about, each as a beginner writes it, or with AUTOTUNE
everywhere (autotune=1). They read the files of scripts/make_testdata.py."""
import os

import tensorflow as tf

WORDS = "alpha beta gamma delta eps zeta eta theta iota kappa".split()
_AUTOTUNE = tf.data.AUTOTUNE


def _files(data_dir, pattern):
    return sorted(tf.io.gfile.glob(os.path.join(data_dir, pattern)))


def _calls(autotune):
    return _AUTOTUNE if autotune else None


def _parse(record):
    features = tf.io.parse_single_example(record, {
        "image": tf.io.FixedLenFeature([], tf.string),
        "label": tf.io.FixedLenFeature([], tf.int64)})
    return features["image"], features["label"]


def _decode(image, label):
    return tf.image.resize(tf.io.decode_jpeg(image, channels=3), [160, 160]), label


def _ids(record):
    features = tf.io.parse_single_example(record, {"ids": tf.io.VarLenFeature(tf.int64)})
    return tf.cast(tf.sparse.to_dense(features["ids"]), tf.int32)


def one_reader(data_dir, autotune=0):
    """One sequential reader, prefetches between the maps."""
    calls = _calls(autotune)
    dataset = tf.data.TFRecordDataset(_files(data_dir, "img-*"))
    dataset = dataset.map(_parse, num_parallel_calls=calls).prefetch(100).shuffle(200).repeat()
    return dataset.map(_decode, num_parallel_calls=calls).prefetch(16).batch(32).prefetch(_AUTOTUNE)


def skewed_calls(data_dir, autotune=0):
    """A deterministic parallel map whose calls take 1 or 50 units of time."""
    text = "x" * 600000

    def work(i):
        length = tf.where(i % 16 == 0, 600000, 12000)
        return i, tf.strings.to_hash_bucket_strong(tf.strings.substr(text, 0, length), 1000, [1, 2])

    dataset = tf.data.Dataset.range(20_000)
    dataset = dataset.map(work, num_parallel_calls=_AUTOTUNE if autotune else 2)
    return dataset.batch(64).repeat().prefetch(1)


def unbatched(data_dir, autotune=0):
    """Work on batches that are taken apart again for a shuffle."""
    dataset = tf.data.Dataset.range(300_000).batch(256)
    dataset = dataset.map(lambda x: tf.sqrt(tf.cast(x, tf.float32)),
                          num_parallel_calls=_calls(autotune))
    return dataset.unbatch().shuffle(1000, seed=3).batch(128).repeat()


def map_and_filter(data_dir, autotune=0):
    """Small functions around a filter."""
    calls = _calls(autotune)
    dataset = tf.data.TextLineDataset(_files(data_dir, "text-*")).repeat()
    dataset = dataset.map(lambda s: tf.strings.split(tf.strings.lower(s)), num_parallel_calls=calls)
    dataset = dataset.filter(lambda words: tf.size(words) > 3)
    dataset = dataset.map(lambda words: tf.strings.to_hash_bucket_fast(words, 5000),
                          num_parallel_calls=calls)
    return dataset.padded_batch(64, [None])


def cached_images(data_dir, autotune=0):
    """Decoded pictures in a cache, shuffled and augmented above it."""
    calls = _calls(autotune)
    dataset = tf.data.TFRecordDataset(_files(data_dir, "img-0000*")).map(_parse)
    dataset = dataset.map(_decode, num_parallel_calls=calls).cache().shuffle(300)
    dataset = dataset.map(lambda image, label: (tf.image.random_flip_left_right(image), label),
                          num_parallel_calls=calls)
    return dataset.batch(32).repeat().prefetch(1)


def mixture(data_dir, autotune=0):
    """Two sources mixed by weight."""
    def source(pattern):
        records = tf.data.TFRecordDataset(_files(data_dir, pattern), compression_type="GZIP")
        return records.map(_ids, num_parallel_calls=_calls(autotune)).repeat()

    dataset = tf.data.Dataset.sample_from_datasets([source("gz-[0-3]*"), source("gz-[4-7]*")],
                                                   [0.7, 0.3], seed=7)
    return dataset.padded_batch(64, [None]).prefetch(1)


def buckets(data_dir, autotune=0):
    """Sentences of similar length in one batch."""
    dataset = tf.data.TFRecordDataset(_files(data_dir, "gz-*"), compression_type="GZIP").repeat()
    dataset = dataset.map(_ids, num_parallel_calls=_calls(autotune))
    return dataset.bucket_by_sequence_length(tf.size, [10, 20, 30, 40, 50], [32] * 6).prefetch(2)


def lines_of_files(data_dir, autotune=0):
    """Files one after the other, a small function, padded batches."""
    dataset = tf.data.Dataset.from_tensor_slices(_files(data_dir, "text-*")).repeat()
    dataset = dataset.flat_map(tf.data.TextLineDataset)
    dataset = dataset.map(lambda s: tf.strings.to_hash_bucket_fast(tf.strings.split(s), 10000),
                          num_parallel_calls=_calls(autotune))
    return dataset.padded_batch(32, [None])


def windows(data_dir, autotune=0):
    """Sliding windows over a time series."""
    dataset = tf.data.Dataset.range(30_000).map(lambda x: tf.cast(x, tf.float32))
    dataset = dataset.window(10, shift=1, drop_remainder=True).flat_map(lambda w: w.batch(10))
    dataset = dataset.map(lambda w: (w[:-1], w[-1:]), num_parallel_calls=_calls(autotune))
    return dataset.batch(32).repeat().prefetch(1)


def tiny_functions(data_dir, autotune=0):
    """Five functions of an operation or two, and a filter."""
    dataset = tf.data.Dataset.range(100_000)
    for number in range(5):
        dataset = dataset.map(lambda x, number=number: x * 3 + number,
                              num_parallel_calls=_calls(autotune))
    return dataset.filter(lambda x: x % 3 != 0).batch(256).repeat()


def map_in_interleave(data_dir, autotune=0):
    """The expensive map stands in the interleave's function."""
    def read(file):
        return tf.data.TFRecordDataset(file).map(_parse).map(_decode)

    dataset = tf.data.Dataset.from_tensor_slices(_files(data_dir, "img-*"))
    dataset = dataset.interleave(read, cycle_length=4, num_parallel_calls=_calls(autotune))
    return dataset.repeat().batch(16)


def vocabulary(data_dir, autotune=0):
    """Words looked up in a table."""
    numbers = tf.range(len(WORDS), dtype=tf.int64)
    table = tf.lookup.StaticVocabularyTable(
        tf.lookup.KeyValueTensorInitializer(WORDS, numbers), 2)
    dataset = tf.data.TextLineDataset(_files(data_dir, "text-*")).repeat()
    dataset = dataset.map(lambda s: table.lookup(tf.strings.split(tf.strings.lower(s))),
                          num_parallel_calls=_calls(autotune))
    return dataset.padded_batch(64, [None]).prefetch(1)


def fixed_records(data_dir, autotune=0):
    """Small pictures in records of one length, shuffled as bytes."""
    def picture(record):
        pixels = tf.io.decode_raw(record, tf.uint8)
        return tf.reshape(tf.cast(pixels[1:], tf.float32) / 255, [32, 32, 3]), pixels[0]

    dataset = tf.data.FixedLengthRecordDataset(_files(data_dir, "fixed.bin"), 3073).repeat()
    return dataset.shuffle(1000).map(picture, num_parallel_calls=_calls(autotune)).batch(128)


def decode_batches(data_dir, autotune=0):
    """Whole batches are parsed and decoded in one call."""
    def pictures(records):
        features = tf.io.parse_example(records, {
            "image": tf.io.FixedLenFeature([], tf.string),
            "label": tf.io.FixedLenFeature([], tf.int64)})

        def decode(image):
            return tf.image.resize(tf.io.decode_jpeg(image, channels=3), [128, 128])

        images = tf.map_fn(decode, features["image"], fn_output_signature=tf.float32)
        return images, features["label"]

    dataset = tf.data.TFRecordDataset(_files(data_dir, "img-*"), num_parallel_reads=2)
    return dataset.repeat().batch(16).map(pictures, num_parallel_calls=_calls(autotune))
