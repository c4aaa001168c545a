# SPDX-License-Identifier: Apache-2.0
"""Text: TextLine(4 files) -> map(lower, clean, split, hash ids) -> filter(length > 8) -> padded_batch(32) -> repeat; all sequential.
Diagnosis: MapDataset (string work) is the bottleneck; parallelise it. FilterDataset comes next, padded batch is small. Node times cover only
about a third of the wall time here: the rest is thread hand-off per element, so predictions from node times alone are far too high.
Cache: legal and cheap: no randomness; best after filter or after padded_batch (20000 lines of int64 ids, a few MB)."""
import os
import tensorflow as tf
FILES = ['text-*.txt']
WARM_ELEMENTS = 700

def _files(d):
    return sorted(tf.io.gfile.glob(os.path.join(d, FILES[0])))

def _ids(line):
    t = tf.strings.regex_replace(tf.strings.lower(line), '[^a-z ]', '')
    return tf.strings.to_hash_bucket_fast(tf.strings.split(t, ' '), 30000)

def make(data_dir, par=1):
    return (tf.data.TextLineDataset(_files(data_dir)).map(_ids).filter(lambda x: tf.size(x) > 8)
            .padded_batch(32, padded_shapes=[None]).repeat())

def make_autotune(data_dir):
    A = tf.data.AUTOTUNE
    return (tf.data.TextLineDataset(_files(data_dir), num_parallel_reads=A).map(_ids, num_parallel_calls=A).filter(lambda x: tf.size(x) > 8)
            .padded_batch(32, padded_shapes=[None]).repeat().prefetch(A))

def make_best(data_dir):
    return (tf.data.TextLineDataset(_files(data_dir)).map(_ids, num_parallel_calls=2).filter(lambda x: tf.size(x) > 8)
            .padded_batch(32, padded_shapes=[None]).cache().repeat().prefetch(2))

def _ids_batch(lines):
    t = tf.strings.regex_replace(tf.strings.lower(lines), '[^a-z ]', '')
    return tf.ragged.map_flat_values(tf.strings.to_hash_bucket_fast, tf.strings.split(t, ' '), 30000)

def make_best_nocache(data_dir):
    # vectorised: the filter works on the space count of the line, then batch, then one string map per 32 lines
    keep = lambda l: tf.size(tf.strings.split(l, ' ')) > 8
    return (tf.data.TextLineDataset(_files(data_dir)).filter(keep).batch(32)
            .map(lambda l: _ids_batch(l).to_tensor(), num_parallel_calls=2).repeat().prefetch(2))
