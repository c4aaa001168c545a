# SPDX-License-Identifier: Apache-2.0
"""Algebraic moves on stock TensorFlow, by the tool from end to end: trace, optimise with the moves,
rewrite, load, and the same elements bit for bit and in order over two epochs; and the neighbour of
each that is not legal, with its reason."""
import unittest

import numpy as np
import tensorflow as tf

from moving import MovesTest, hashed, noisy
from rewriting import (Range, all_ops, double, edit, elements, is_even, name_of, nodes_of,
                       read_block)
from support import plumber_tf

def raw_unbatch(dataset):
    """Without the map that Dataset.unbatch puts between."""
    spec = tf.nest.map_structure(lambda s: tf.TensorSpec(s.shape[1:], s.dtype),
                                 dataset.element_spec)
    made = tf.raw_ops.UnbatchDataset(
        input_dataset=tf.data.experimental.to_variant(dataset), output_types=[spec.dtype],
        output_shapes=[spec.shape])
    return tf.data.experimental.from_variant(made, spec)


def examples(count):
    def example(i):
        features = {"x": tf.train.Feature(float_list=tf.train.FloatList(value=[i, i + 0.5])),
                    "y": tf.train.Feature(int64_list=tf.train.Int64List(value=[i]))}
        return tf.train.Example(features=tf.train.Features(feature=features)).SerializeToString()

    return tf.data.Dataset.from_tensor_slices([example(i) for i in range(count)])


def parsed(record):
    features = tf.io.parse_single_example(record, {"x": tf.io.FixedLenFeature([2], tf.float32),
                                                   "y": tf.io.FixedLenFeature([], tf.int64)})
    return features["x"] / 255 - 0.5, tf.stack([features["y"], features["y"] * 2])


class ReorderTest(MovesTest):
    def test_shard_and_skip_below_maps(self):
        dataset = Range(2000).map(hashed).map(lambda x: (x, x + 1)).skip(500).shard(4, 1).batch(8)
        self.assert_moved(dataset, "reorder")
        # The calls of what is thrown away are what is won.
        self.assertGreater(self.plan["predicted"]["speedup"], 2)

    def test_take_brings_nothing(self):
        self.assert_not_moved(Range(2000).map(hashed).take(1000), "reorder",
                              "too little; a take stops asking")

    def test_take_below_a_parallel_map_whose_calls_it_would_throw_away(self):
        """Each end of a pass throws away what the calls in flight have begun. An element beyond the
        take whose function fails is not seen before and not computed after."""
        def fails_from_ten_on(x):
            return hashed(x + 1000 // tf.maximum(10 - x, 0), 20_000)

        dataset = Range(5000).map(fails_from_ten_on, num_parallel_calls=16).take(10).repeat(60)
        self.assert_moved(dataset, "reorder")
        self.assertIn("the take throws away", " ".join(e["reason"] for e in self.plan["edits"]))
        self.assert_not_moved(Range(5000).map(noisy, num_parallel_calls=16).take(10).repeat(60),
                              "reorder", "by chance")

    def test_map_below_the_shuffle_under_it_for_a_cache_between(self):
        """The seed's orders of four epochs are those of a data set that no trace has drawn from."""
        def numbers():
            return tf.data.Dataset.from_tensor_slices(list(range(300))).shuffle(100, seed=3)

        for make in (lambda: numbers().map(hashed).batch(8),
                     lambda: numbers().repeat().map(hashed).batch(8).take(80),
                     lambda: numbers().repeat(3).map(hashed).batch(8),
                     lambda: numbers().prefetch(1).map(hashed).map(double).batch(8)):
            written = self.optimised(make())
            self.assertIn("reorder", self.moves())
            self.assertIn("insert_cache", [e["edit"] for e in self.plan["edits"]])
            self.assertEqual(elements(written, 4), elements(make(), 4))

    def test_map_by_chance_stays_above_the_shuffle(self):
        self.optimised(Range(300).shuffle(100, seed=3).map(noisy).batch(8))
        self.assertNotIn("reorder", self.moves())

    def test_shuffle_below_a_map_of_large_elements(self):
        def filled(x):
            return tf.fill([20_000], hashed(x))

        dataset = Range(600).map(filled).shuffle(500, seed=3, reshuffle_each_iteration=False)
        self.assert_moved(dataset.batch(4), "reorder", memory="1G")

    def test_batch_below_decode_csv(self):
        lines = tf.data.Dataset.from_tensor_slices([f"{i}.5,{i},{i % 7}" for i in range(3000)])

        def decoded(line):
            a, b, c = tf.io.decode_csv(line, [0.0, 0, 0])
            return tf.stack([a, tf.cast(b, tf.float32)], 0), c * 2 - 1

        dataset = lines.map(decoded).shuffle(100, seed=1, reshuffle_each_iteration=False)
        for remainder in (True, False):
            self.assert_moved(dataset.batch(256, drop_remainder=remainder), "reorder")

    def test_no_batch_below_a_cast_that_vectors_saturate(self):
        def shifted(x):
            return tf.cast(tf.cast(x, tf.float32) * 1.5 - 400, tf.uint8)

        self.assert_not_moved(Range(2000).map(shifted).batch(32), "reorder",
                              "Cast rounds otherwise in a vector")

    def test_no_batch_below_complex_arithmetic(self):
        parts = np.random.RandomState(0).randn(2, 3000)
        source = tf.data.Dataset.from_tensor_slices((parts[0] + 1j * parts[1]).astype(np.complex64))
        self.assert_not_moved(source.map(lambda z: tf.constant(1 + 1j, tf.complex64) / z).batch(64),
                              "reorder", "RealDiv rounds otherwise in a vector")

    def test_a_batch_of_batches_that_drops_its_last(self):
        """TensorFlow fuses a map with the batch above, which joins a partial batch, then drops it.
        Two batches are left over here, and one is shorter than the other."""
        dataset = Range(97 * 64 + 20).map(lambda x: x * 3 + 1).batch(64)
        self.assert_moved(dataset.batch(3, drop_remainder=True), "reorder")

    def test_batch_below_parse_example(self):
        self.assert_moved(examples(3000).map(parsed).batch(500), "reorder")

    def test_batch_below_element_wise_functions_of_many_types(self):
        def function(x):
            y = tf.cast(x, tf.float32)
            text = tf.strings.as_string(x)
            return (tf.where(x % 3 == 0, y * 3 - 1, y / 7), tf.strings.length(text),
                    tf.strings.to_hash_bucket_fast(tf.strings.lower(text), 1000),
                    tf.stack([y, -y, tf.square(y)], -1), tf.stack([x, x + 1], 0))

        self.assert_moved(Range(3000).map(function).batch(256), "reorder")

    def test_batches_stay_above_functions_without_a_batch_form(self):
        for function, reason in ((tf.exp, "Exp"), (hashed, "Reshape"),
                                 (noisy, "RandomUniform"), (lambda x: (x, 1), "does not depend")):
            source = Range(1000).map(lambda x: tf.cast(x, tf.float32))
            dataset = source.map(function) if function is tf.exp else Range(1000).map(function)
            self.assert_not_moved(dataset.batch(100), "reorder", reason)
        ragged = Range(100).map(lambda x: tf.range(x % 3)).map(double).padded_batch(10)
        self.assert_not_moved(ragged, "reorder", "pads")

    def test_what_stands_between_or_draws_by_chance_stays(self):
        for dataset, reason in (
                (Range(999).map(double).filter(is_even).shard(2, 1), "stands between"),
                (Range(999).map(noisy).shard(2, 1), "by chance"),
                (Range(999).map(noisy).shuffle(10), "by chance"),
                (Range(999).map(double).ignore_errors().shard(2, 1), "stands between"),
                (Range(999).map(double).shard(2, 1).ignore_errors(), "drops elements"),
                (Range(999).map(double, num_parallel_calls=2, deterministic=False).skip(3),
                 "left to chance"),
                (Range(999).map(lambda x: tf.numpy_function(np.abs, [x], tf.int64)).skip(3),
                 "Python")):
            self.assert_not_moved(dataset.batch(10), "reorder", reason)

    def test_a_cache_goes_below_a_random_map_with_permission_only(self):
        def make():  # anew: a data set keeps its cache, and a full one tells nothing
            return Range(4000).map(double).map(noisy).cache().batch(8)

        self.optimised(make())
        self.assertIn("--allow unfreeze", self.why_not("reorder"))
        first, second = elements(self.optimised(make(), "--allow", "unfreeze"))
        self.assertIn("reorder", self.moves())
        self.assertEqual(len(first), 500)
        self.assertNotEqual(first, second)
        first, second = elements(make())
        self.assertEqual(first, second)  # the augmentation was frozen


class RemoveTest(MovesTest):
    def test_prefetches_between_small_functions(self):
        dataset = Range(6000).map(lambda x: x * 3 + 1).prefetch(1).filter(is_even)
        dataset = dataset.prefetch(1).batch(64)
        self.assert_moved(dataset, "remove")

    def test_a_cache_of_what_costs_nothing(self):
        dataset = Range(4000).cache().map(hashed).map(hashed).batch(64)
        self.assert_moved(dataset, "remove", "--no-cache", memory="200K")

    def test_a_cache_above_chance_stays(self):
        dataset = Range(100).shuffle(100).cache().map(hashed).batch(8)
        self.optimised(dataset)
        self.assertIn("changes from epoch to epoch", self.why_not("remove"))

    def test_batch_and_unbatch(self):
        batches = Range(30_000).batch(8)
        for single in (raw_unbatch(batches), batches.unbatch()):  # the latter with a map between
            dataset = single.filter(is_even).batch(500, drop_remainder=True)
            written = self.assert_moved(dataset, "remove")
            self.assertNotIn("UnbatchDataset", all_ops(plumber_tf.serialize(written)))

    def test_a_partial_batch_that_is_dropped_stays(self):
        dataset = raw_unbatch(Range(1003).batch(8, drop_remainder=True)).map(hashed)
        self.assert_not_moved(dataset, "remove", "partial last batch")


class ConvertTest(MovesTest):
    def test_rebatch(self):
        dataset = Range(30_001).batch(32).map(lambda x: (x, x * 2, tf.strings.as_string(x)))
        for remainder in (True, False):
            self.assert_moved(dataset.unbatch().batch(500, drop_remainder=remainder), "convert")

    def test_map_and_batch_by_hand(self):
        offset = tf.constant(5, tf.int64)
        dataset = Range(100).map(lambda x: (x + offset, tf.fill([3], x))).batch(8)
        result = self.assert_same(dataset, lambda g: edit(
            "convert", name_of(g, "BatchDatasetV2"), "MapAndBatchDataset", 2))
        self.assertNotIn("MapDataset", all_ops(result))

    def test_a_costly_predicate_runs_in_parallel(self):
        def keep(x):
            text = tf.strings.reduce_join(tf.repeat(tf.strings.as_string(x), 20000))
            return tf.strings.to_hash_bucket_strong(text, 7, [1, 2]) > 2

        dataset = Range(1000).filter(keep).batch(8)
        written = self.optimised(dataset, "--no-cache")
        self.assertEqual(elements(written), elements(dataset))
        found = [e for e in self.plan["edits"] if e["edit"] == "pass_through_filter"]
        self.assertGreaterEqual(found[0]["value"] or 0, 2)

    def test_nested_concatenations_are_balanced(self):
        dataset = Range(50)
        for i in range(60):
            dataset = dataset.concatenate(Range(i, 50 + i))
        self.assert_moved(dataset.batch(64), "balance")


class FunctionTest(MovesTest):
    def test_maps_go_into_an_interleave(self):
        """By hand: whether it pays depends on the cores. A function that others use is forked."""
        dataset = Range(6).interleave(read_block, cycle_length=3, num_parallel_calls=2)
        dataset = dataset.map(hashed).map(double).concatenate(Range(2).flat_map(read_block))
        graph = plumber_tf.serialize(dataset)
        maps, outer = nodes_of(graph, "MapDataset"), name_of(graph, "ParallelInterleaveDatasetV4")
        result = self.rewrite(graph, *(edit("move_into_function", m.name, outer) for m in maps),
                              *(edit("inline", m.name) for m in maps))
        self.assertEqual(elements(plumber_tf.load(result)), elements(dataset))
        self.assertEqual(nodes_of(result, "MapDataset"), [])

    def test_control_flow_and_chance_stay_outside(self):
        def branches(x):
            return tf.cond(x > 5, lambda: hashed(x), lambda: x)

        read = Range(6).interleave(read_block, cycle_length=3)
        for function, reason in ((branches, "control flow"), (noisy, "by chance")):
            self.assert_not_moved(read.map(function).batch(2), "move_into_function", reason)


class PartialCacheTest(MovesTest):
    def files(self):
        names = []
        for i in range(4):
            names.append(self.path(f"part-{i}"))
            with tf.io.TFRecordWriter(names[-1]) as writer:
                for j in range(60):
                    writer.write(str(1000 * i + j).encode())
        return names

    @staticmethod
    def decoded(record):
        number = tf.strings.to_number(record, tf.int64)
        return tf.fill([10_000], hashed(number))

    def test_the_first_files_are_cached_where_all_do_not_fit(self):
        dataset = tf.data.TFRecordDataset(self.files()).map(self.decoded).batch(4)
        self.assert_moved(dataset, "insert_partial_cache", "--epochs", "10", memory="12M")
        cut = [e for e in self.plan["edits"] if e["edit"] == "insert_partial_cache"][0]
        self.assertIn(cut["value"], (1, 2))
        self.assertIn("% of the elements", cut["reason"])

    def test_readers_side_by_side_need_a_shuffle_above(self):
        files = tf.data.Dataset.from_tensor_slices(self.files())
        dataset = files.interleave(tf.data.TFRecordDataset, cycle_length=2).map(self.decoded)
        self.optimised(dataset.batch(4), memory="12M")
        self.assertIn("no shuffle above", self.why_not("insert_partial_cache"))


class HandWrittenPlanTest(MovesTest):
    """`plumber rewrite` refuses what would change the elements, whoever wrote the plan."""

    def test_illegal_moves_are_refused(self):
        def swap(above, below="MapDataset"):
            return lambda g: edit("reorder", name_of(g, above), name_of(g, below))

        for dataset, move, reason in (
                (Range(9).map(noisy).skip(2), swap("SkipDataset"), "draws by chance"),
                (Range(9).map(noisy).cache(), swap("CacheDatasetV2"), "unfreeze"),
                (Range(9).filter(is_even).skip(2), swap("SkipDataset", "FilterDataset"),
                 "no 1:1 map"),
                (Range(9).map(hashed).batch(2), swap("BatchDatasetV2"),
                 "does not work on batches"),
                (Range(9).map(double).skip(1).ignore_errors(), swap("SkipDataset"),
                 "drops elements"),
                (raw_unbatch(Range(9).batch(2, drop_remainder=True)),
                 lambda g: edit("remove", name_of(g, "UnbatchDataset")), "partial last batch")):
            graph = plumber_tf.serialize(dataset)
            self.assertIn(reason, self.refused(graph, move(graph)))


if __name__ == "__main__":
    unittest.main()
