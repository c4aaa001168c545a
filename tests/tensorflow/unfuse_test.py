# SPDX-License-Identifier: Apache-2.0
"""A map and batch in one, taken apart by the tool where that pays: the same elements, and programs
that really run without the one op."""
import subprocess
import unittest

import tensorflow as tf

from moving import MovesTest, hashed
from rewriting import Range, all_ops, double, elements
from support import plumber_binary, plumber_tf, record


def map_and_batch(function, size, **how):
    return tf.data.experimental.map_and_batch(function, size, **how)


class UnfuseTest(MovesTest):
    """MapAndBatch, which TensorFlow would make again of a map right below a batch."""

    def assert_moved(self, dataset, expected, *options, **how):
        """On a busy machine calls look longer than they are, so a few traces are judged."""
        for _ in range(5):
            self.optimised(dataset, *(options or ("--no-cache",)), **how)
            if expected in self.moves():
                break
        written = plumber_tf.load(self.path("out.pb"))
        self.assertEqual(elements(written), elements(dataset))
        self.assertIn(expected, self.moves())
        return written

    def ran(self, dataset):
        """The iterators that TensorFlow makes of it, by the names that it gives them."""
        record(dataset, 0.1, self.path("again.pb"))
        done = subprocess.run([plumber_binary(), "show", self.path("again.pb"), "--format", "json"],
                              capture_output=True, text=True, check=True)
        return done.stdout

    def test_tiny_functions_run_inline(self):
        for remainder in (True, False):
            dataset = Range(30_007).apply(map_and_batch(
                lambda x: (x * 3 + 1, x), 64, num_parallel_calls=2, drop_remainder=remainder))
            written = self.assert_moved(dataset, "unfuse", "--no-cache", "--without",
                                        "insert_chunks,reorder")
            ops = all_ops(plumber_tf.serialize(written))
            self.assertNotIn("MapAndBatchDataset", ops)
            self.assertIn("MapDataset", ops)
            self.assertIn("experimental_optimization.map_and_batch_fusion",
                          [e["to"] for e in self.plan["edits"]])
            self.assertNotIn("MapAndBatch", self.ran(written))

    def test_what_stands_below_and_above_stays(self):
        offset = tf.constant(7, tf.int64)
        dataset = (Range(5).interleave(lambda x: Range(x * 4000, x * 4000 + 4001), cycle_length=2)
                   .shuffle(50, seed=2, reshuffle_each_iteration=False)
                   .apply(map_and_batch(lambda x: {"a": x + offset, "b": tf.strings.as_string(x)},
                                        100, num_parallel_calls=tf.data.AUTOTUNE))
                   .map(lambda d: (d["a"], tf.reduce_sum(d["a"]))).repeat(2).prefetch(1))
        self.assert_moved(dataset, "unfuse")

    def test_values_drawn_from_a_seed_stay_with_their_elements(self):
        dataset = Range(6000).apply(map_and_batch(
            lambda x: tf.cast(x, tf.float32) + tf.random.uniform([], seed=3), 64,
            num_parallel_calls=1))
        self.assert_moved(dataset, "unfuse")

    def test_what_tensorflow_fuses_stays_one_op_where_errors_are_ignored(self):
        """It drops the batch of a failing element; two ops would drop the elements before it."""
        def fails_at_times(x):
            return tf.debugging.check_numerics(1 / tf.cast(x % 997, tf.float32), "zero")

        dataset = Range(1, 20_000).map(fails_at_times).batch(64).ignore_errors()
        written = self.optimised(dataset, "--no-cache")
        self.assertEqual(elements(written), elements(dataset))
        self.assertIn("drops elements", self.why_not("inline"))

    def test_costly_functions_stay(self):
        dataset = Range(4000).apply(map_and_batch(lambda x: hashed(x, 20_000), 16,
                                                  num_parallel_calls=2))
        self.assert_not_moved(dataset, "unfuse", "handing it to a thread costs little")

    def test_where_errors_are_ignored_it_stays(self):
        dataset = Range(9000).apply(map_and_batch(double, 64)).ignore_errors()
        self.assert_not_moved(dataset, "unfuse", "drops elements")


if __name__ == "__main__":
    unittest.main()
