# SPDX-License-Identifier: Apache-2.0
"""A right use of cache: slices -> interleave(TFRecord) -> map(decode+resize to 256, uint8, par) -> cache() -> map(random crop + flip, par)
-> repeat -> batch(16) -> prefetch(1). In the trace the first epoch fills the cache, later ones read it.
Diagnosis: first epoch bound by the decode map; afterwards by the random-crop ParallelMap, everything below the cache is idle. Do not add
or move a cache: above the crop it would freeze the augmentation. 1600 x 196608 B = 315 MB."""
import os
import tensorflow as tf
FILES = ['img-*-of-00016']
WARM_ELEMENTS = 101

def _files(d):
    return sorted(tf.io.gfile.glob(os.path.join(d, FILES[0])))

def _decode(s):
    e = tf.io.parse_single_example(s, {'image': tf.io.FixedLenFeature([], tf.string), 'label': tf.io.FixedLenFeature([], tf.int64)})
    im = tf.image.resize(tf.io.decode_jpeg(e['image'], channels=3), [256, 256])
    return tf.cast(im, tf.uint8), e['label']

def _crop(im, label):
    im = tf.image.random_crop(im, [224, 224, 3])
    im = tf.cast(tf.image.random_flip_left_right(im), tf.float32) / 127.5 - 1.
    return tf.image.random_brightness(im, 0.2), label

def make(data_dir, par=1):
    return (tf.data.Dataset.from_tensor_slices(_files(data_dir)).interleave(tf.data.TFRecordDataset, cycle_length=4)
            .map(_decode, num_parallel_calls=par).cache().map(_crop, num_parallel_calls=par).repeat().batch(16).prefetch(1))

def make_autotune(data_dir):
    A = tf.data.AUTOTUNE
    return (tf.data.Dataset.from_tensor_slices(_files(data_dir)).interleave(tf.data.TFRecordDataset, cycle_length=4, num_parallel_calls=A)
            .map(_decode, num_parallel_calls=A).cache().map(_crop, num_parallel_calls=A).repeat().batch(16).prefetch(A))

def make_best(data_dir):
    return (tf.data.Dataset.from_tensor_slices(_files(data_dir)).interleave(tf.data.TFRecordDataset, cycle_length=4)
            .map(_decode, num_parallel_calls=2).cache().repeat().map(_crop, num_parallel_calls=2).batch(16).prefetch(2))
