# SPDX-License-Identifier: Apache-2.0
"""Tabular: TextLine(csv) -> skip(1) -> map(decode_csv) -> shuffle(1000) -> repeat -> batch(128). Elements of four scalars.
Diagnosis: MapDataset (decode_csv) is the bottleneck, but all of it is per-element overhead (a few microseconds of real work), so the fix is
batch before map (vectorised decode_csv), not more threads.
Cache: legal after map, below shuffle (no randomness below it); 20000 rows of 4 scalars, under 1 MB."""
import os
import tensorflow as tf
FILES = ['table.csv']
WARM_ELEMENTS = 157

def _decode(line):
    a, b, c, y = tf.io.decode_csv(line, record_defaults=[0.0, 0.0, 0, 0])
    return tf.stack([a, b, tf.cast(c, tf.float32)], -1), y

def make(data_dir, par=1):
    return (tf.data.TextLineDataset(os.path.join(data_dir, FILES[0])).skip(1).map(_decode).shuffle(1000).repeat().batch(128))

def make_autotune(data_dir):
    A = tf.data.AUTOTUNE
    return (tf.data.TextLineDataset(os.path.join(data_dir, FILES[0])).skip(1).map(_decode, num_parallel_calls=A)
            .shuffle(1000).repeat().batch(128, num_parallel_calls=A).prefetch(A))

def make_best(data_dir):
    return (tf.data.TextLineDataset(os.path.join(data_dir, FILES[0])).skip(1).cache().shuffle(1000).repeat()
            .batch(128).map(_decode, num_parallel_calls=2).prefetch(2))

def make_best_nocache(data_dir):
    return (tf.data.TextLineDataset(os.path.join(data_dir, FILES[0])).skip(1).shuffle(1000).repeat()
            .batch(128).map(_decode, num_parallel_calls=2).prefetch(2))
