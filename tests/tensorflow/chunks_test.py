# SPDX-License-Identifier: Apache-2.0
"""Chunks on stock TensorFlow: maps, filters and a batch go into an interleave over chunks; the
elements are the same bit for bit and in their order over two epochs, for chunks that fit the data
set and chunks that do not. By hand-written plans and by the tool from end to end."""
import json
import subprocess
import unittest

import tensorflow as tf

from rewriting import Range, RewriteTest, all_ops, edit, elements, is_even, name_of
from support import plumber_binary, plumber_tf, record


def into(source, *nodes, size=7, at_once=3):
    chunks = f"plumber/chunks/{source}"
    return [edit("insert_chunks", source, str(at_once), size),
            *(edit("move_into_function", node, chunks) for node in nodes)]


def words(x):
    return tf.strings.split(tf.strings.as_string(x * 37), "1")


class ChunksByHandTest(RewriteTest):
    def chunked(self, dataset, ops, *more, **shape):
        """The data set with the nodes of these ops, lowest first, in chunks of what lies below."""
        graph = plumber_tf.serialize(dataset)
        names, used = [], {}
        for op in ops:
            names.append(name_of(graph, op, used.get(op, 0)))
            used[op] = used.get(op, 0) + 1
        source = self.below(graph, names[0])
        self.rewrite(graph, *into(source, *names, **shape), *(change(names) for change in more))
        return plumber_tf.load(self.path("out.pb"))

    @staticmethod
    def below(graph, name):
        return next(node.input[0] for node in graph.node if node.name == name)

    def assert_same(self, dataset, ops, *more):
        expected = elements(dataset)
        for size, at_once in ((2, 1), (7, 3), (1000, 3)):
            with self.subTest(size=size, at_once=at_once):
                written = self.chunked(dataset, ops, *more, size=size, at_once=at_once)
                self.assertEqual(elements(written), expected)
                self.assertEqual(written.cardinality(), dataset.cardinality())

    def test_maps(self):
        self.assert_same(Range(50).map(lambda x: (x, x * 2)).map(lambda x, y: {"a": x + y, "b": y}),
                         ["MapDataset", "MapDataset"])

    def test_a_filter_that_keeps_few_and_one_that_keeps_none(self):
        self.assert_same(Range(50).map(lambda x: x + 1).filter(is_even),
                         ["MapDataset", "FilterDataset"])
        self.assert_same(Range(50).filter(lambda x: x > 40), ["FilterDataset"])
        self.assert_same(Range(50).filter(lambda x: x < 0), ["FilterDataset"])

    def test_elements_that_differ_in_shape_above(self):
        self.assert_same(Range(40).map(words).filter(lambda x: tf.size(x) > 1)
                         .padded_batch(4, padded_shapes=[None]), ["MapDataset", "FilterDataset"])

    def test_inline_functions_and_a_predicate_that_is_a_flag(self):
        self.assert_same(Range(50).map(words).filter(lambda x: tf.size(x) > 1),
                         ["MapDataset", "FilterDataset"],
                         lambda names: edit("inline", names[0]),
                         lambda names: edit("pass_through_filter", names[1]))

    def test_captured_tables_and_tensors(self):
        table = tf.lookup.StaticHashTable(
            tf.lookup.KeyValueTensorInitializer(tf.range(50, dtype=tf.int64),
                                                tf.range(50, dtype=tf.int64) * 3), -1)
        offset = tf.constant([5, 7], tf.int64)
        self.assert_same(Range(60).map(table.lookup).map(lambda x: x + offset),
                         ["MapDataset", "MapDataset"])

    def test_parallel_maps(self):
        self.assert_same(Range(50).map(lambda x: x * 3, num_parallel_calls=2),
                         ["ParallelMapDatasetV2"], lambda names: edit("inline", names[0]))

    def test_structures_below(self):
        texts = tf.data.Dataset.from_tensor_slices([f"{i}" for i in range(50)])
        pairs = tf.data.Dataset.zip({"a": Range(50), "b": texts})
        self.assert_same(pairs.map(lambda x: (x["a"] * 2, tf.strings.join([x["b"], "!"]))),
                         ["MapDataset"])

    def test_across_epochs(self):
        self.assert_same(Range(9).repeat(3).map(lambda x: x * 2).filter(is_even),
                         ["MapDataset", "FilterDataset"])
        self.assert_same(Range(9).map(lambda x: x * 2).repeat(3).take(25), ["MapDataset"])

    def test_whole_batches_go_in(self):
        for remainder in (False, True):
            dataset = Range(50).map(lambda x: (x, -x)).batch(4, drop_remainder=remainder)
            expected = elements(dataset)
            for size in (4, 8, 40, 400):
                written = self.chunked(dataset, ["MapDataset", "BatchDatasetV2"], size=size)
                self.assertEqual(elements(written), expected)
        padded = Range(50).map(words).padded_batch(5, padding_values="?")
        written = self.chunked(padded, ["MapDataset", "PaddedBatchDatasetV2"], size=15)
        self.assertEqual(elements(written), elements(padded))

    def test_other_batches_are_refused(self):
        graph = plumber_tf.serialize(Range(50).map(words).filter(lambda x: tf.size(x) > 1).batch(1))
        source = self.below(graph, name_of(graph, "MapDataset"))
        nodes = [name_of(graph, op) for op in ("MapDataset", "FilterDataset", "BatchDatasetV2")]
        self.assertIn("a filter below it", self.refused(graph, *into(source, *nodes)))
        graph = plumber_tf.serialize(Range(50).map(lambda x: x).batch(4))
        nodes = [name_of(graph, op) for op in ("MapDataset", "BatchDatasetV2")]
        self.assertIn("do not divide the chunks of 7",
                      self.refused(graph, *into(self.below(graph, nodes[0]), *nodes)))

    def test_what_makes_no_chunk_is_refused(self):
        graph = plumber_tf.serialize(Range(9).map(words).map(tf.size))
        second = name_of(graph, "MapDataset", 1)
        edits = into(self.below(graph, second), second)
        self.assertIn("differ in shape", self.refused(graph, *edits))
        graph = plumber_tf.serialize(Range(9).map(lambda x: x).shuffle(3))
        shuffle = name_of(graph, "ShuffleDatasetV3")
        source = self.below(graph, shuffle)
        self.assertIn("no map, filter or batch", self.refused(graph, *into(source, shuffle)))


class ChunksByPlanTest(RewriteTest):
    def plan_for(self, dataset, cores):
        record(dataset, 0.4, self.path("trace.pb"))
        done = subprocess.run(
            [plumber_binary(), "optimize", self.path("trace.pb"), "--cores", str(cores), "--mem",
             "4G", "--no-cache", "--format", "json", "-o", self.path("plan.json"), "--rewrite",
             self.path("out.pb")], capture_output=True, text=True, check=False)
        self.assertEqual(done.returncode, 0, done.stderr)
        return json.loads((self.folder / "plan.json").read_text("utf-8"))

    def test_small_functions_use_many_cores(self):
        def ids(line):
            words = tf.strings.split(tf.strings.lower(line), "a")
            return tf.strings.to_hash_bucket_fast(words, 1000)

        text = "".join(f"Line {i} has {'a ' * (i % 9)}\n" for i in range(8000))
        lines = self.file("lines.txt", text)
        dataset = (tf.data.TextLineDataset(lines).map(ids).filter(lambda x: tf.size(x) > 3)
                   .padded_batch(32, padded_shapes=[None]))
        plan = self.plan_for(dataset.repeat(), cores=16)
        kinds = [e["edit"] for e in plan["edits"]]
        self.assertIn("insert_chunks", kinds)
        self.assertEqual(kinds.count("move_into_function"), 2)
        self.assertEqual(plan["status"], "optimal")
        written = plumber_tf.load(self.path("out.pb"))
        self.assertEqual(elements(written.take(400), 1), elements(dataset.repeat().take(400), 1))
        # A program with chunks is a program like any other: traced and planned again.
        again = self.plan_for(written, cores=16)
        self.assertIn(again["status"], ("optimal", "no-change"))
        self.assertIn("ParallelInterleaveDatasetV4", all_ops(plumber_tf.serialize(written)))
        self.assertEqual(elements(plumber_tf.load(self.path("out.pb")).take(400), 1),
                         elements(dataset.repeat().take(400), 1))

    def test_random_values_with_a_seed_stay_out(self):
        def noisy(x):
            return tf.cast(x, tf.float32) + tf.random.uniform([], seed=3)

        plan = self.plan_for(Range(20000).map(noisy).batch(32).repeat(), cores=16)
        self.assertNotIn("insert_chunks", [e["edit"] for e in plan["edits"]])


if __name__ == "__main__":
    unittest.main()
