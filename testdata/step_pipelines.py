# SPDX-License-Identifier: Apache-2.0
"""Pipelines of many small steps, all sequential but for a prefetch at the end, as someone who has
not tuned it yet writes it. TensorFlow's default rewrites are off, so that a change of one node
is all that changes. They read the files of scripts/make_testdata.py."""
import tensorflow as tf
from more_pipelines import _files, _parse


def _as_written(dataset):
    options = tf.data.Options()
    options.experimental_optimization.apply_default_optimizations = False
    return dataset.with_options(options)


def _decode(image, label):
    return tf.io.decode_jpeg(image, channels=3), label


def _resize(image, label):
    return tf.image.resize(image, [128, 128]), label


def _scale(image, label):
    return image / 127.5 - 1, label


def _one_hot(image, label):
    return image, tf.one_hot(label, 1000)


def pictures(data_dir):
    dataset = tf.data.TFRecordDataset(_files(data_dir, "img-*"))
    dataset = dataset.map(_parse).map(_decode).map(_resize).map(_scale).map(_one_hot)
    return _as_written(dataset.batch(16).repeat().prefetch(2))


def _read_image(name, label_name):
    return tf.io.read_file(name), label_name


def _read_label(image, label_name):
    return image, tf.io.read_file(label_name)


def _number(image, label):
    return image, tf.strings.to_number(label, tf.int32)


def remote(data_dir):
    """Images and their labels in files of their own, in a far store: two nodes wait."""
    images = tf.constant(_files(data_dir, "image-*"))
    labels = tf.constant(_files(data_dir, "label-*"))
    dataset = tf.data.Dataset.from_tensor_slices((images, labels)).repeat()
    for function in (_read_image, _read_label, _decode, _number, _resize, _scale, _one_hot):
        dataset = dataset.map(function)
    return _as_written(dataset.batch(4).prefetch(2))


def _crop(image, label):
    shape = tf.shape(image)
    height, width = shape[0] * 7 // 8, shape[1] * 7 // 8
    return tf.image.crop_to_bounding_box(image, 0, 0, height, width), label


def _resize_large(image, label):
    return tf.image.resize(image, [224, 224]), label


def _normalise(image, label):
    return tf.image.per_image_standardization(image), label


def _transpose(image, label):
    return tf.transpose(image, [2, 0, 1]), label


def resnet(data_dir):
    """Real work in several nodes, little in the others."""
    dataset = tf.data.TFRecordDataset(_files(data_dir, "img-*"))
    for function in (_parse, _decode, _crop, _resize_large, _normalise, _transpose, _one_hot):
        dataset = dataset.map(function)
    return _as_written(dataset.batch(16).repeat().prefetch(2))
