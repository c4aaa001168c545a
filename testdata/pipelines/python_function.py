# SPDX-License-Identifier: Apache-2.0
"""Python in the pipeline: from_generator (ids) -> map(numpy_function, pure Python loop, par calls) -> map(scale) -> batch(16).
Diagnosis: the map that holds the PyFunc is the bottleneck; it holds the GIL, so its useful parallelism is 1 whatever num_parallel_calls says;
prefetch at the root is the only cheap gain, rewriting the function with TF ops is the real one.
Cache: not provably legal (PyFunc/Generator are opaque and stateful); must not be inserted without the user's word."""
import numpy as np
import tensorflow as tf
FILES = []
N = 1000000

def _gen():
    for i in range(N):
        yield i

def _load(i):
    a = int(i) * 2654435761 % 4294967296
    s = 0
    for k in range(4000):
        a = (a * 1103515245 + 12345) & 0x7fffffff
        s ^= a
    return (np.arange(1024, dtype=np.float32) + np.float32(s & 255))

def _np(i):
    x = tf.numpy_function(_load, [i], tf.float32)
    x.set_shape([1024])
    return x

def _scale(x):
    return tf.reshape(x, [32, 32]) / 255.

def _src():
    return tf.data.Dataset.from_generator(_gen, output_signature=tf.TensorSpec([], tf.int64))

def make(data_dir, par=1):
    return _src().map(_np, num_parallel_calls=par).map(_scale).batch(16)

def make_autotune(data_dir):
    A = tf.data.AUTOTUNE
    return _src().map(_np, num_parallel_calls=A).map(_scale, num_parallel_calls=A).batch(16).prefetch(A)

def make_best(data_dir):
    # same function, batch before the scaling map, one prefetch
    return _src().map(_np, num_parallel_calls=1).batch(16).map(lambda x: tf.reshape(x, [-1, 32, 32]) / 255.).prefetch(2)
