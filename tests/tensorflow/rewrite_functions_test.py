# SPDX-License-Identifier: Apache-2.0
"""Edits that move nodes or change the inside of functions, and random ones, in stock TensorFlow."""
import random
import unittest

from rewriting import (Range, RewriteTest, all_ops, double, edit, elements, is_even, name_of,
                       nodes_of, on, read_block)
from support import plumber_tf
import tensorflow as tf


class MoveTest(RewriteTest):
    def test_two_maps_into_an_interleave(self):
        offset = tf.constant(5, tf.int64)
        for cycle, block in ((2, 1), (3, 2)):
            dataset = (Range(5).interleave(lambda x: Range(x + offset, x + offset + 4),
                                           cycle_length=cycle, block_length=block,
                                           num_parallel_calls=2)
                       .map(lambda x: x + offset, num_parallel_calls=2)
                       .map(lambda x: (x, tf.strings.as_string(x))).batch(3))
            interleave = "ParallelInterleaveDatasetV4"
            result = self.assert_same(
                dataset,
                lambda g: edit("move_into_function", name_of(g, "ParallelMapDatasetV2"),
                               name_of(g, interleave)),
                on("inline", "ParallelMapDatasetV2"),
                lambda g: edit("move_into_function", name_of(g, "MapDataset"),
                               name_of(g, interleave)),
                on("inline", "MapDataset"))
            self.assertEqual([n.op for n in result.node if "Map" in n.op], [])

    def test_a_parallel_map_stays_parallel(self):
        dataset = Range(5).flat_map(read_block).map(double, num_parallel_calls=2)
        self.assert_same(dataset, lambda g: edit("move_into_function",
                                                 name_of(g, "ParallelMapDatasetV2"),
                                                 name_of(g, "FlatMapDataset")))

    def test_a_shared_function_is_forked(self):
        """Two interleaves with one function: an edit below one does not show below the other."""
        graph = plumber_tf.serialize(
            Range(3).interleave(read_block).map(double).concatenate(
                Range(3, 5).interleave(read_block)))
        one, two = nodes_of(graph, "InterleaveDataset")
        two.attr["f"].func.name = one.attr["f"].func.name
        before = elements(plumber_tf.load(graph))
        result = self.rewrite(graph, edit("move_into_function", name_of(graph, "MapDataset"),
                                          one.name))
        self.assertEqual(elements(plumber_tf.load(result)), before)
        self.assertNotEqual(*(n.attr["f"].func.name for n in nodes_of(result, "InterleaveDataset")))

    def test_reorder(self):
        dataset = (Range(40).map(double).take(30).map(double).skip(2).map(double).shard(2, 1)
                   .map(lambda x: (x, tf.strings.as_string(x))).repeat(2))
        pairs = (("TakeDataset", 0), ("SkipDataset", 1), ("ShardDataset", 2))
        result = self.assert_same(dataset, *(
            (lambda g, op=op, place=place: edit("reorder", name_of(g, op),
                                                name_of(g, "MapDataset", place)))
            for op, place in pairs))
        kept = [n.op.replace("Dataset", "") for n in result.node if "Dataset" in n.op]
        self.assertEqual(kept[1:7], ["Take", "Map", "Skip", "Map", "Shard", "Map"])

    def test_shuffle_below_a_map(self):
        dataset = Range(20).map(lambda x: (x, x)).shuffle(5, seed=3)
        graph = plumber_tf.serialize(dataset)
        result = self.rewrite(graph, edit("reorder", name_of(graph, "ShuffleDatasetV3"),
                                          name_of(graph, "MapDataset")))
        got = list(plumber_tf.load(result).as_numpy_iterator())
        self.assertEqual(sorted(got), [(x, x) for x in range(20)])


class InnerTest(RewriteTest):
    """Edits of nodes inside functions, nested."""

    def test_nested(self):
        def read(x):
            inner = Range(x, x + 2).flat_map(lambda y: Range(y, y + 3).map(double).batch(2))
            return inner.filter(lambda z: z[0] > 2).prefetch(1)

        dataset = Range(4).interleave(read, cycle_length=3, num_parallel_calls=2)
        outer = "ParallelInterleaveDatasetV4"

        def inside(kind, path, to="", value=None):
            return lambda g: edit(kind, ">".join([name_of(g, outer), *path]), to, value)

        deep = ["FlatMapDataset", "MapDataset"]
        for made in (inside("inline", deep), inside("insert_prefetch", deep, value=2),
                     inside("convert", deep, "ParallelMapDatasetV2", 2),
                     inside("convert", deep[:1] + ["BatchDatasetV2"], "ParallelBatchDataset", 2),
                     inside("pass_through_filter", ["FilterDataset"]),
                     inside("set_buffer", ["PrefetchDataset"], value=3),
                     inside("insert_prefetch", ["RangeDataset"], value=3),
                     inside("remove", ["PrefetchDataset"])):
            self.assert_same(dataset, made)
        self.assert_same(dataset, inside("inline", deep), inside("remove", ["PrefetchDataset"]),
                         inside("pass_through_filter", ["FilterDataset"]),
                         inside("convert", deep[:1] + ["BatchDatasetV2"], "ParallelBatchDataset",
                                2), on("set_parallelism", outer, value=3))

    def test_readers(self):
        files = [self.path(f"{k}.tfrecord") for k in range(3)]
        for k, path in enumerate(files):
            with tf.io.TFRecordWriter(path) as writer:
                for i in range(4):
                    writer.write(f"{k}:{i}".encode())
        dataset = tf.data.Dataset.from_tensor_slices(files)
        dataset = dataset.interleave(tf.data.TFRecordDataset, cycle_length=2)
        dataset = dataset.map(tf.strings.upper)
        reader = "FlatMapDataset>TFRecordDataset"
        result = self.assert_same(
            dataset,
            lambda g: edit("insert_prefetch", f"{name_of(g, 'InterleaveDataset')}>{reader}",
                           value=2),
            lambda g: edit("move_into_function", name_of(g, "MapDataset"),
                           name_of(g, "InterleaveDataset")),
            on("inline", "MapDataset"))
        self.assertIn("PrefetchDataset", all_ops(result))

    def test_called_functions(self):
        """The data set stands in a function that the interleave's function calls."""
        @tf.function
        def made(x):
            return tf.data.experimental.to_variant(Range(x, x + 3).map(double))

        dataset = Range(3).interleave(lambda x: tf.data.experimental.from_variant(
            made(x), tf.TensorSpec([], tf.int64)))
        self.assert_same(dataset, lambda g: edit(
            "inline", name_of(g, "InterleaveDataset") + ">MapDataset"))


class RandomTest(RewriteTest):
    """Edits drawn at random on programs drawn at random: what is not refused loads and is equal."""

    STEPS = (lambda d: d.map(double), lambda d: d.map(double, num_parallel_calls=2),
             lambda d: d.filter(lambda x: x % 3 != 1), lambda d: d.prefetch(1),
             lambda d: d.cache(), lambda d: d.take(17), lambda d: d.skip(1),
             lambda d: d.shard(2, 0), lambda d: d.repeat(2),
             lambda d: d.interleave(lambda x: Range(x, x + 3).map(double), cycle_length=2),
             lambda d: d.interleave(lambda x: Range(x, x + 2).prefetch(1), cycle_length=3,
                                    num_parallel_calls=2),
             lambda d: d.flat_map(lambda x: Range(x, x + 2).filter(is_even)),
             lambda d: d.concatenate(Range(3)), lambda d: d.batch(2).unbatch(),
             lambda d: tf.data.Dataset.zip(d, d.map(double)).map(lambda x, y: x + y))
    KINDS = ("set_parallelism", "convert", "sequential", "inline", "parallel_inline",
             "pass_through_filter", "move_into_function", "insert_prefetch", "set_buffer",
             "insert_cache", "rehome_cache", "reorder", "remove")
    TARGETS = ("ParallelMapDatasetV2", "ParallelInterleaveDatasetV4", "ParallelBatchDataset")

    def draw(self, dice, graph):
        kind = dice.choice(self.KINDS)
        datasets = [n for n in graph.node if "Dataset" in n.op]
        likely = {"reorder": [n for n in datasets if "MapDataset" in n.input[0]],
                  "move_into_function": nodes_of(graph, "MapDataset")}
        node = dice.choice(likely.get(kind) or datasets)
        address = node.name
        function = next((f for f in graph.library.function
                         if f.signature.name == node.attr["f"].func.name), None)
        inner = [n.name for n in function.node_def if "Dataset" in n.op] if function else []
        if inner and dice.random() < 0.5:
            address += ">" + dice.choice(inner)
        to = dice.choice(self.TARGETS) if kind == "convert" else ""
        if kind in ("reorder", "move_into_function"):
            to = node.input[0]
        value = 2 if kind == "set_buffer" else dice.choice((1, 2, -1))
        return edit(kind, address, to, value)

    def test_random_edits(self):
        made = set()
        for seed in range(16):
            dice = random.Random(seed)
            dataset = Range(12)
            for step in dice.choices(self.STEPS, k=5):
                dataset = step(dataset)
            dataset = dataset.batch(4)
            graph = plumber_tf.serialize(dataset)
            edits = []
            for _ in range(40):
                edits.append(self.draw(dice, graph))
                if self.run_rewrite(graph, edits).returncode != 0:
                    edits.pop()
            made |= {one["edit"] for one in edits}
            with self.subTest(seed=seed, edits=edits):
                result = plumber_tf.load(self.rewrite(graph, *edits))
                self.assertEqual(elements(result), elements(dataset))
        self.assertGreater(len(made), 10, made)


if __name__ == "__main__":
    unittest.main()
