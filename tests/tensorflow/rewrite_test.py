# SPDX-License-Identifier: Apache-2.0
"""Every kind of edit, proven by stock TensorFlow: the rewritten program loads and gives the same
elements bit for bit and in order, over two epochs."""
import unittest

from rewriting import (Range, RewriteTest, all_ops, double, edit, elements, is_even, name_of,
                       nodes_of, on, read_block)
from support import plumber_tf
import numpy as np
import tensorflow as tf


def read_back(graph):
    """The numbers of a program that TensorFlow loads without the bridge."""
    variant = tf.raw_ops.DatasetFromGraph(graph_def=graph.SerializeToString())
    number = tf.TensorSpec([], tf.int64)
    return list(tf.data.experimental.from_variant(variant, number).as_numpy_iterator())


class ParallelTest(RewriteTest):
    def test_set_parallelism(self):
        dataset = (Range(4).interleave(read_block, cycle_length=2, num_parallel_calls=1)
                   .map(double, num_parallel_calls=1)
                   .filter(is_even).batch(3, num_parallel_calls=1))
        result = self.assert_same(
            dataset, on("set_parallelism", "ParallelInterleaveDatasetV4", value=2),
            on("set_parallelism", "ParallelMapDatasetV2", value=3),
            on("set_parallelism", "ParallelBatchDataset", value=-1))
        self.assertEqual(len(nodes_of(result, "ParallelBatchDataset")), 1)

    def test_convert_and_back(self):
        offset = tf.constant(5, tf.int64)
        dataset = (Range(4).interleave(lambda x: Range(x, x + 5).map(lambda y: y + offset),
                                       cycle_length=3, block_length=2)
                   .map(lambda x: (x + offset, x)).filter(lambda x, y: x != offset).batch(4))
        forward = [("MapDataset", "ParallelMapDatasetV2"),
                   ("FilterDataset", "ParallelFilterDataset"),
                   ("InterleaveDataset", "ParallelInterleaveDatasetV4"),
                   ("BatchDatasetV2", "ParallelBatchDataset")]
        result = self.assert_same(
            dataset, *(on("convert", old, to=new, value=2) for old, new in forward),
            edit("set_options", to="experimental_optimization.apply_default_optimizations",
                 value=False))
        self.assertEqual({new for _, new in forward} & set(all_ops(result)),
                         {new for _, new in forward})
        back = self.rewrite(result, *(edit("sequential", name_of(result, new))
                                      for _, new in forward))
        self.assertEqual(elements(plumber_tf.load(back)), elements(dataset))
        self.assertTrue({old for old, _ in forward} <= set(all_ops(back)))

    def test_unfuse(self):
        fused = tf.data.experimental.map_and_batch(
            lambda x: (x, tf.fill([2], x)), 4, num_parallel_calls=2)
        dataset = Range(10).apply(fused)
        for after in ("inline", "sequential"):
            result = self.assert_same(dataset, on("unfuse", "MapAndBatchDataset"),
                                      on(after, "MapAndBatchDataset"))
            self.assertIn("MapDataset", all_ops(result))
        self.assert_same(dataset, on("unfuse", "MapAndBatchDataset"),
                         on("set_parallelism", "MapAndBatchDataset", value=3),
                         on("convert", "MapAndBatchDataset", to="ParallelBatchDataset", value=2))


    def test_parallel_filter_needs_default_rewrites_off(self):
        graph = plumber_tf.serialize(Range(5).filter(is_even))
        convert = on("convert", "FilterDataset", to="ParallelFilterDataset", value=2)(graph)
        self.assertIn("default rewrites off only", self.refused(graph, convert))

    def test_no_more_calls_than_the_cycle_is_long(self):
        graph = plumber_tf.serialize(Range(5).interleave(read_block, cycle_length=2))
        convert = on("convert", "InterleaveDataset", to="ParallelInterleaveDatasetV4", value=3)
        self.assertIn("3 calls are more than its cycle_length of 2",
                      self.refused(graph, convert(graph)))


class InlineTest(RewriteTest):
    def test_maps(self):
        offset = tf.constant(5, tf.int64)
        dataset = Range(20).map(lambda x: x + offset).map(double, num_parallel_calls=2)
        for kind, value in (("inline", None), ("parallel_inline", 3)):
            result = self.assert_same(dataset, on(kind, "MapDataset", value=value),
                                      on(kind, "ParallelMapDatasetV2", value=value))
            maps = nodes_of(result, "MapDataset") + nodes_of(result, "ParallelMapDatasetV2")
            self.assertEqual([node.attr["use_inter_op_parallelism"].b for node in maps],
                             [False, False])

    def test_calls_on_threads_of_their_own(self):
        offset = tf.constant(5, tf.int64)
        dataset = Range(50).map(lambda x: x + offset).map(double, num_parallel_calls=2).batch(4)
        result = self.assert_same(dataset, on("parallel_unbounded", "MapDataset", value=3),
                                  on("parallel_unbounded", "ParallelMapDatasetV2", value=16))
        self.assertEqual([node.attr["use_unbounded_threadpool"].b
                          for node in nodes_of(result, "ParallelMapDatasetV2")], [True, True])

    def test_control_flow_is_refused(self):
        dataset = Range(5).map(lambda x: tf.cond(x > 1, lambda: x + 1, lambda: x - 1))
        graph = plumber_tf.serialize(dataset)
        self.assertIn("its function reaches control flow",
                      self.refused(graph, on("inline", "MapDataset")(graph)))

    def test_filters(self):
        least = tf.constant(3, tf.int64)
        for calls in (None, 2):
            dataset = Range(20).map(lambda x: (x, tf.strings.as_string(x), tf.fill([2], x)))
            dataset = dataset.filter(lambda x, _, y: (x > least) & (y[0] % 3 != 0))
            edits = [on("pass_through_filter", "FilterDataset")]
            if calls:
                edits.insert(0, on("convert", "FilterDataset", to="ParallelFilterDataset", value=2))
            result = self.assert_same(dataset, *edits)
            self.assertEqual(len(nodes_of(result, "MapDataset")), 3)

    def test_sparse_and_ragged_elements(self):
        dataset = Range(6).map(lambda x: {"s": tf.sparse.from_dense([x, 0, x]),
                                          "r": tf.RaggedTensor.from_row_splits(
                                              [x, x + 1], [0, 1, 2], validate=False)})
        dataset = dataset.filter(lambda e: tf.sparse.reduce_sum(e["s"]) != 4)
        dataset = dataset.map(lambda e: (tf.sparse.to_dense(e["s"]), e["r"].to_tensor()))
        self.assert_same(dataset, on("pass_through_filter", "FilterDataset"),
                         on("inline", "MapDataset", place=0))


class InsertTest(RewriteTest):
    def test_prefetch(self):
        dataset = Range(20).map(double).padded_batch(3).prefetch(1)
        result = self.assert_same(dataset, on("insert_prefetch", "MapDataset", value=4),
                                  on("insert_prefetch", "PaddedBatchDatasetV2", value=-1),
                                  on("insert_prefetch", "RangeDataset", value=2),
                                  on("set_buffer", "PrefetchDataset", value=7))
        self.assertEqual(len(nodes_of(result, "PrefetchDataset")), 4)

    def test_shuffle_buffer(self):
        grown = on("set_buffer", "ShuffleDatasetV3", value=30)
        graph = plumber_tf.serialize(Range(20).shuffle(3))
        result = plumber_tf.load(self.rewrite(graph, grown(graph)))
        self.assertEqual(sorted(result.as_numpy_iterator()), list(range(20)))
        graph = plumber_tf.serialize(Range(20).shuffle(3, seed=1))
        self.assertIn("another order of its seed", self.refused(graph, grown(graph)))

    def test_two_caches(self):
        dataset = Range(10).map(double).batch(2).prefetch(2)
        result = self.assert_same(dataset, on("insert_cache", "MapDataset"),
                                  on("insert_prefetch", "MapDataset", value=2),
                                  on("insert_cache", "BatchDatasetV2"))
        self.assertEqual(len(nodes_of(result, "DummyMemoryCache")), 2)

    def test_cache_in_file(self):
        dataset = Range(10).map(double)
        self.assert_same(dataset, on("insert_cache", "MapDataset", to=self.path("cached")))
        self.assertTrue(list(self.folder.glob("cached*")))

    def test_remove(self):
        dataset = Range(10).prefetch(2).cache().map(double).prefetch(1)
        result = self.assert_same(dataset, on("remove", "PrefetchDataset", place=0),
                                  on("remove", "CacheDatasetV2"),
                                  on("remove", "PrefetchDataset", place=1))
        self.assertEqual([node.op for node in result.node if "Dataset" in node.op],
                         ["RangeDataset", "MapDataset"])

    def test_a_cache_does_not_take_what_the_process_holds(self):
        """A serialised cache's handle is a name: read back by TensorFlow alone, it finds the
        original's cache."""
        original = Range(5).cache()
        list(original)
        graph = plumber_tf.serialize(original)
        stop = graph.node[[n.name for n in graph.node].index(
            nodes_of(graph, "RangeDataset")[0].input[1])]
        stop.attr["value"].tensor.int64_val[0] = 3
        self.assertEqual(read_back(graph), [0, 1, 2, 3, 4])
        self.assertEqual(list(plumber_tf.load(graph)), [0, 1, 2])
        for edits in ((), (on("rehome_cache", "CacheDatasetV2")(graph),)):
            self.assertEqual(read_back(self.rewrite(graph, *edits)), [0, 1, 2])

    def test_a_cache_does_not_take_another_programs_elements(self):
        other = Range(100, 106).cache()
        list(other)
        graph = plumber_tf.serialize(Range(1, 6).cache())
        handles = [n for n in graph.node if n.attr["dtype"].type == tf.resource.as_datatype_enum]
        taken = [n for n in plumber_tf.serialize(other).node
                 if n.attr["dtype"].type == tf.resource.as_datatype_enum]
        handles[0].attr["value"].CopyFrom(taken[0].attr["value"])
        self.assertEqual(read_back(graph), list(range(100, 106)))
        rewritten = self.rewrite(graph)
        self.assertEqual(read_back(rewritten), [1, 2, 3, 4, 5])
        twice = self.rewrite(rewritten)
        self.assertEqual(twice, rewritten)

    def test_caches_in_functions(self):
        dataset = Range(3).flat_map(lambda x: Range(x, x + 2).cache().repeat(2))
        result = self.assert_same(dataset)
        self.assertIn("DummyMemoryCache", all_ops(result))


class CaptureTest(RewriteTest):
    """Tables and variables stand in a program as nodes that others wait for by control inputs."""

    EDITS = (on("convert", "MapDataset", to="ParallelMapDatasetV2", value=2),
             on("inline", "MapDataset"), on("parallel_inline", "MapDataset", value=2),
             on("insert_prefetch", "MapDataset", value=2), on("insert_cache", "MapDataset"))

    def test_tables(self):
        table = tf.lookup.StaticHashTable(tf.lookup.KeyValueTensorInitializer(
            tf.constant([0, 1, 2], tf.int64), tf.constant([10, 11, 12], tf.int64)), -1)
        words = tf.lookup.StaticVocabularyTable(tf.lookup.KeyValueTensorInitializer(
            tf.constant(["0", "1"]), tf.constant([0, 1], tf.int64)), 3)
        dataset = Range(5).map(lambda x: table.lookup(x) + words.lookup(tf.strings.as_string(x)))
        for made in self.EDITS:
            result = self.assert_same(dataset, made)
            self.assertTrue([i for n in result.node for i in n.input if i.startswith("^")])

    def test_variables(self):
        variable = tf.Variable(5, dtype=tf.int64)
        dataset = Range(5).map(lambda x: x + variable).filter(lambda x: x != variable)
        for made in (*self.EDITS, on("pass_through_filter", "FilterDataset")):
            self.assert_same(dataset, made)

    def test_moved_with_its_captures(self):
        variable = tf.Variable(5, dtype=tf.int64)
        offset = tf.constant(7, tf.int64)
        dataset = Range(4).interleave(read_block, cycle_length=2)
        dataset = dataset.map(lambda x: (x + variable, x * offset))
        self.assert_same(dataset, lambda graph: edit(
            "move_into_function", name_of(graph, "MapDataset"),
            name_of(graph, "InterleaveDataset")))


class OptionsTest(RewriteTest):
    def options_of(self, graph):
        from tensorflow.core.framework import dataset_options_pb2
        return [dataset_options_pb2.Options.FromString(n.attr["serialized_options"].s)
                for n in nodes_of(graph, "OptionsDataset")]

    SET = (edit("set_options", to="experimental_optimization.map_parallelization", value=False),
           edit("set_options", to="threading.private_threadpool_size", value=3),
           edit("set_options", to="autotune.enabled", value=False))

    def test_made_where_there_are_none(self):
        options, = self.options_of(self.assert_same(Range(5).map(double), *self.SET))
        self.assertFalse(options.optimization_options.map_parallelization)
        self.assertEqual(options.threading_options.private_threadpool_size, 3)

    def test_merged_and_unset(self):
        own = tf.data.Options()
        own.deterministic = True
        own.threading.max_intra_op_parallelism = 1
        own.experimental_distribute.auto_shard_policy = tf.data.experimental.AutoShardPolicy.DATA
        dataset = Range(5).map(double).with_options(own)
        options, = self.options_of(self.assert_same(
            dataset, *self.SET, edit("set_options", to="threading.max_intra_op_parallelism")))
        self.assertTrue(options.deterministic)
        self.assertEqual(options.threading_options.private_threadpool_size, 3)
        self.assertEqual(options.threading_options.WhichOneof("optional_max_intra_op_parallelism"),
                         None)
        self.assertEqual(options.distribute_options.auto_shard_policy, 2)

    def test_dropped_when_nothing_is_set(self):
        own = tf.data.Options()
        own.autotune.enabled = True
        dataset = Range(5).map(double).with_options(own)
        result = self.assert_same(dataset, edit("set_options", to="autotune.enabled"))
        self.assertEqual(nodes_of(result, "OptionsDataset"), [])

    def test_structure_survives(self):
        dataset = Range(5).map(lambda x: {"a": x, "b": (x, tf.strings.as_string(x))}).batch(2)
        graph = plumber_tf.serialize(dataset)
        result = plumber_tf.load(self.rewrite(graph, *self.SET))
        self.assertEqual(result.element_spec, dataset.element_spec)


class RefusalTest(RewriteTest):
    def test_all_faults_at_once(self):
        graph = plumber_tf.serialize(Range(5).map(double))
        name = name_of(graph, "MapDataset")
        message = self.refused(graph, edit("set_parallelism", name, value=2),
                               edit("insert_prefetch", name + "x", value=2),
                               edit("set_options", to="autotune.enable", value=True))
        self.assertIn("3 edits cannot be made", message)
        self.assertIn("did you mean 'autotune.enabled'?", message)
        self.assertFalse((self.folder / "out.pb").exists())

    def test_text(self):
        graph = plumber_tf.serialize(Range(5).map(double))
        done = self.run_rewrite(graph, [on("inline", "MapDataset")(graph)], "out.pbtxt")
        self.assertEqual(done.returncode, 0, done.stderr)
        self.assertEqual(elements(plumber_tf.load(self.path("out.pbtxt"))),
                         [[[("<i8", (), np.int64(2 * x).tobytes())] for x in range(5)]] * 2)


if __name__ == "__main__":
    unittest.main()
