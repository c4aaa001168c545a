# SPDX-License-Identifier: Apache-2.0
"""BERT-like: slices -> interleave(GZIP TFRecord, cycle 4) -> map(parse VarLen, to dense) -> map(random masking, tf.random)
-> shuffle -> repeat -> padded_batch(32) -> prefetch(1).
Diagnosis: per-element work is tens of microseconds, so the two maps bound it (masking a little above parsing); GZIP reading is small.
Cache: legal after the parse map (before masking), not after masking (random); shuffle must stay above the cache."""
import os
import tensorflow as tf
FILES = ['gz-*.tfrecord.gz']
WARM_ELEMENTS = 90

def _files(d):
    return sorted(tf.io.gfile.glob(os.path.join(d, FILES[0])))

def _read(f):
    return tf.data.TFRecordDataset(f, compression_type='GZIP')

def _parse(s):
    e = tf.io.parse_single_example(s, {'ids': tf.io.VarLenFeature(tf.int64), 'lab': tf.io.FixedLenFeature([], tf.int64)})
    return tf.sparse.to_dense(e['ids']), e['lab']

def _mask(ids, lab):
    m = tf.random.uniform(tf.shape(ids)) < 0.15
    r = tf.random.uniform(tf.shape(ids), maxval=30000, dtype=tf.int64)
    masked = tf.where(m, tf.where(tf.random.uniform(tf.shape(ids)) < 0.1, r, tf.fill(tf.shape(ids), tf.constant(103, tf.int64))), ids)
    return {'ids': masked, 'target': ids, 'weight': tf.cast(m, tf.float32), 'lab': lab}

_SHAPES = {'ids': [None], 'target': [None], 'weight': [None], 'lab': []}

def make(data_dir, par=1):
    return (tf.data.Dataset.from_tensor_slices(_files(data_dir)).interleave(_read, cycle_length=4, num_parallel_calls=par)
            .map(_parse, num_parallel_calls=par).map(_mask, num_parallel_calls=par).shuffle(256).repeat()
            .padded_batch(32, padded_shapes=_SHAPES).prefetch(1))

def make_autotune(data_dir):
    A = tf.data.AUTOTUNE
    return (tf.data.Dataset.from_tensor_slices(_files(data_dir)).interleave(_read, cycle_length=4, num_parallel_calls=A)
            .map(_parse, num_parallel_calls=A).map(_mask, num_parallel_calls=A).shuffle(256).repeat()
            .padded_batch(32, padded_shapes=_SHAPES).prefetch(A))

def make_best(data_dir):
    return (tf.data.Dataset.from_tensor_slices(_files(data_dir)).interleave(_read, cycle_length=4)
            .map(_parse).cache().shuffle(256).repeat().map(_mask, num_parallel_calls=2)
            .padded_batch(32, padded_shapes=_SHAPES).prefetch(2))
