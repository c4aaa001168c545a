# SPDX-License-Identifier: Apache-2.0
"""CIFAR-like: zip(FixedLengthRecord images, Range labels) -> map(decode_raw, standardize, resize), concatenated with a second zip+map of a
part of the file (other labels), -> repeat -> batch(64). Two branches, one root.
Diagnosis: the MapDataset of the first (long) branch is the bottleneck, the second branch's map has the same cost per element but 1/9 of the
elements (visit ratio 8/9 and 1/9, not 1 and 1); parallelise both maps or move one map above the concatenate.
Cache: legal (no randomness) anywhere below repeat; after concatenate 4500 x 49152 B = 221 MB."""
import os
import tensorflow as tf
FILES = ['fixed.bin']
WARM_ELEMENTS = 71

def _img(rec, label):
    x = tf.reshape(tf.io.decode_raw(rec, tf.uint8)[1:], [3, 32, 32])
    x = tf.image.per_image_standardization(tf.transpose(x, [1, 2, 0]))
    return tf.image.resize(x, [64, 64]), label

def _zips(d):
    f = os.path.join(d, FILES[0])
    a = tf.data.Dataset.zip((tf.data.FixedLengthRecordDataset(f, 3073), tf.data.Dataset.range(4000)))
    b = tf.data.Dataset.zip((tf.data.FixedLengthRecordDataset(f, 3073).take(500), tf.data.Dataset.range(100000, 100500)))
    return a, b

def make(data_dir, par=1):
    a, b = _zips(data_dir)
    return a.map(_img).concatenate(b.map(_img)).repeat().batch(64)

def make_autotune(data_dir):
    A = tf.data.AUTOTUNE
    a, b = _zips(data_dir)
    return a.map(_img, num_parallel_calls=A).concatenate(b.map(_img, num_parallel_calls=A)).repeat().batch(64, num_parallel_calls=A).prefetch(A)

def make_best(data_dir):
    a, b = _zips(data_dir)
    return a.concatenate(b).map(_img, num_parallel_calls=2).cache().repeat().batch(64).prefetch(2)

def make_best_nocache(data_dir):
    a, b = _zips(data_dir)
    return a.concatenate(b).map(_img, num_parallel_calls=2).repeat().batch(64).prefetch(2)
