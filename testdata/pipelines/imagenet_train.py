# SPDX-License-Identifier: Apache-2.0
"""ImageNet-style training input: slices -> shuffle -> interleave(TFRecord) -> map(parse+decode+resize+random flip)
-> shuffle -> repeat -> batch -> prefetch(1).
Diagnosis: the parallel map (JPEG decode) is the bottleneck; raise its parallelism to the core count, nothing else matters.
Cache: not legal above the map (tf.random inside) nor above either shuffle without freezing order; only the raw records
below the map could be cached (legal above interleave only if the file shuffle order may be frozen) and it gains nothing."""
import os
import tensorflow as tf
FILES = ['img-*-of-00016']
TRACE_S = 8

def _files(d):
    return sorted(tf.io.gfile.glob(os.path.join(d, FILES[0])))

def _parse(s):
    e = tf.io.parse_single_example(s, {'image': tf.io.FixedLenFeature([], tf.string), 'label': tf.io.FixedLenFeature([], tf.int64)})
    im = tf.io.decode_jpeg(e['image'], channels=3)
    im = tf.image.resize(im, [224, 224])
    return tf.image.random_flip_left_right(im) / 255., e['label']

def make(data_dir, par=1):
    return (tf.data.Dataset.from_tensor_slices(_files(data_dir)).shuffle(16)
            .interleave(tf.data.TFRecordDataset, cycle_length=4, num_parallel_calls=par)
            .map(_parse, num_parallel_calls=par).shuffle(64).repeat().batch(16).prefetch(1))

def make_autotune(data_dir):
    A = tf.data.AUTOTUNE
    return (tf.data.Dataset.from_tensor_slices(_files(data_dir)).shuffle(16)
            .interleave(tf.data.TFRecordDataset, cycle_length=4, num_parallel_calls=A)
            .map(_parse, num_parallel_calls=A).shuffle(64).repeat().batch(16).prefetch(A))

def make_best(data_dir):
    # records shuffled as strings (cheap buffer), one decode map on both cores
    return (tf.data.Dataset.from_tensor_slices(_files(data_dir)).shuffle(16)
            .interleave(tf.data.TFRecordDataset, cycle_length=4, num_parallel_calls=1)
            .shuffle(64).repeat().map(_parse, num_parallel_calls=2).batch(16).prefetch(2))
