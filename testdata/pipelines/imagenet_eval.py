# SPDX-License-Identifier: Apache-2.0
"""ImageNet-style validation input, all plain ops: slices -> interleave(TFRecord, cycle 2) -> map(parse+decode) -> map(resize)
-> batch -> repeat. No randomness anywhere.
Diagnosis: MapDataset (decode) is the bottleneck, MapDataset (resize) second; both sequential -> ParallelMap.
Cache: legal anywhere below repeat; best after resize (or after batch), 1600 x 602112 B = 0.96 GB, fits memory and
removes reading, decode and resize from every later epoch."""
import os
import tensorflow as tf
FILES = ['img-*-of-00016']
WARM_ELEMENTS = 100   # root elements in one epoch (filled caches)

def _files(d):
    return sorted(tf.io.gfile.glob(os.path.join(d, FILES[0])))

def _decode(s):
    e = tf.io.parse_single_example(s, {'image': tf.io.FixedLenFeature([], tf.string), 'label': tf.io.FixedLenFeature([], tf.int64)})
    return tf.io.decode_jpeg(e['image'], channels=3), e['label']

def _resize(im, label):
    return tf.image.resize(im, [224, 224]) / 255., label

def make(data_dir, par=1):
    return (tf.data.Dataset.from_tensor_slices(_files(data_dir)).interleave(tf.data.TFRecordDataset, cycle_length=2)
            .map(_decode).map(_resize).batch(16).repeat())

def make_autotune(data_dir):
    A = tf.data.AUTOTUNE
    return (tf.data.Dataset.from_tensor_slices(_files(data_dir)).interleave(tf.data.TFRecordDataset, cycle_length=2, num_parallel_calls=A)
            .map(_decode, num_parallel_calls=A).map(_resize, num_parallel_calls=A).batch(16, num_parallel_calls=A).repeat().prefetch(A))

def make_best(data_dir):
    return (tf.data.Dataset.from_tensor_slices(_files(data_dir)).interleave(tf.data.TFRecordDataset, cycle_length=2)
            .map(_decode, num_parallel_calls=2).map(_resize, num_parallel_calls=2).batch(16).cache().repeat().prefetch(2))

def make_best_nocache(data_dir):
    return (tf.data.Dataset.from_tensor_slices(_files(data_dir)).interleave(tf.data.TFRecordDataset, cycle_length=2)
            .map(_decode, num_parallel_calls=2).map(_resize, num_parallel_calls=2).batch(16).repeat().prefetch(2))
