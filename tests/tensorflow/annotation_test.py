# SPDX-License-Identifier: Apache-2.0
"""@plumber_tf.optimize: the first call tunes, later ones find the program in the cache folder, the
environment's switch turns it off. Once with real processes under a Keras fit."""
import collections
import itertools
import os
import subprocess
import sys
import time
import unittest
import unittest.mock

from stand_in import ScriptedTuner
from support import BRIDGE, FolderTest, captured_stderr, plumber_binary, plumber_tf
import tensorflow as tf

Range = tf.data.Dataset.range
Parts = collections.namedtuple("Parts", "train steps test")


def number(x):
    return tf.strings.to_number(tf.strings.as_string(x))


def values(dataset):
    return [part.numpy().tolist() for part in dataset]


class AnnotationTest(FolderTest):
    """The cache folder is a new one; environment is that of the test."""

    def setUp(self):
        super().setUp()
        plumber_binary()
        cache = unittest.mock.patch.object(plumber_tf, "cache_folder", lambda: str(self.folder))
        cache.start()
        self.addCleanup(cache.stop)
        self.tuners = []

    def scripted(self, **how):
        """The annotation with given speeds in place of processes and measured rates."""
        speeds = how.pop("speeds", [2])

        def make_tuner(*arguments, **more):
            self.tuners.append(ScriptedTuner(*arguments, speeds=speeds, **more))
            return self.tuners[-1]
        patch = unittest.mock.patch.object(plumber_tf, "Tuner", make_tuner)
        patch.start()
        self.addCleanup(patch.stop)
        return plumber_tf.optimize(cores=2, mem="1G", **how)

    def call(self, function, *arguments, **keywords):
        with captured_stderr() as stderr:
            result = function(*arguments, **keywords)
        self.said = stderr.getvalue()
        return result


class CacheFolderTest(AnnotationTest):
    def make(self, count=800):
        return Range(count).map(number).batch(8)

    def test_tunes_once_for_each_program(self):
        make, counts = self.scripted()(self.make), itertools.count(800)
        self.retried(lambda: self.check_tunes_once(make, next(counts)))  # the plan is measured

    def check_tunes_once(self, make, count):
        before = len(self.tuners)
        first = self.call(make, count)
        self.assertRegex(self.said, r"make: tuning its data set, once .*\n.*make: 2 times as fast "
                                    r"\(.*inline")
        Range(3).map(number).shuffle(3).cache()  # makes names that the next call cannot have
        again = self.call(make, count)
        self.assertEqual(self.said, "")
        self.assertEqual(len(self.tuners), before + 1)
        for tuned in (first, again):
            self.assertEqual(values(tuned), values(self.make(count)))
            self.assertEqual(tuned.element_spec, self.make(count).element_spec)
            inline = [node.attr["use_inter_op_parallelism"].b is False
                      for node in plumber_tf.serialize(tuned).node if "Map" in node.op]
            self.assertEqual(inline, [True])
        self.call(make, count + 100)  # another program
        self.assertEqual(len(self.tuners), before + 2)

    def test_what_is_fastest_as_it_is_stays(self):
        dataset = self.make()
        make = self.scripted(speeds=[0.5])(lambda: dataset)
        self.assertIs(self.call(make), dataset)
        self.assertIn("fastest as it is", self.said)
        self.assertIs(self.call(make), dataset)
        self.assertEqual(len(self.tuners), 1)

    def test_no_gain_on_a_busy_machine_is_not_believed_for_ever(self):
        dataset = self.make()
        make = self.scripted(speeds=[0.5])(lambda: dataset)
        with unittest.mock.patch.object(plumber_tf.OthersCores, "since", lambda _: 1.25):
            self.call(make)
        self.assertIn("other processes took 1.2 cores meanwhile: it is tuned again in 1 h",
                      self.said)
        self.call(make)
        self.assertEqual((len(self.tuners), self.said), (1, ""))
        later = time.time() + plumber_tf.BUSY_LIFE_S
        with unittest.mock.patch.object(plumber_tf.time, "time", lambda: later), \
                unittest.mock.patch.object(plumber_tf.OthersCores, "since", lambda _: 0.0):
            self.call(make)
        self.assertEqual(len(self.tuners), 2)
        note, = (self.folder / "tuned").glob("*.json")
        self.assertNotIn("until", note.read_text(encoding="utf-8"))

    def test_half_a_cache_entry_is_none(self):
        make = self.scripted()(self.make)
        self.call(make)
        program, = (self.folder / "tuned").glob("*.pb")
        program.write_bytes(program.read_bytes()[:-9])
        self.assertEqual(values(self.call(make)), values(self.make()))
        self.assertEqual(len(self.tuners), 2)

    def test_a_seeded_shuffle_keeps_a_state_of_its_own(self):
        """Handles of state are names, numbered in each process."""
        def make():
            return Range(80).map(number).shuffle(80, seed=3).batch(8)
        tuned = self.scripted()(make)
        values(self.call(tuned))  # the first shuffle has moved on
        self.assertEqual(values(self.call(tuned)), values(make()))
        self.assertEqual(len(self.tuners), 1)


class ResultsTest(AnnotationTest):
    def test_several_data_sets(self):
        def make():
            return Parts(Range(800).map(number).batch(8), 100, {"a": Range(40).batch(4)})
        parts = self.call(self.scripted()(make))
        self.assertEqual(len(self.tuners), 2)
        self.assertEqual((type(parts), parts.steps), (Parts, 100))
        self.assertEqual(values(parts.train), values(make().train))
        self.assertEqual(values(parts.test["a"]), values(make().test["a"]))

    def test_pick_best(self):
        calls = []

        @self.scripted(speeds=[2, 2, 7], pick_best={"size": [8, 16], "extra": [0]})
        def make(size=1, extra=None):
            calls.append((size, extra))
            return Range(800).map(number).batch(size)
        best = self.call(make)
        self.assertEqual(calls, [(8, 0), (16, 0)])
        self.assertEqual(len(next(iter(best))), 16)  # the seventh-fold one
        count = len(self.tuners)
        self.assertEqual(len(next(iter(self.call(make)))), 16)
        self.assertEqual(len(self.tuners), count)  # the choice is known
        self.assertEqual(len(next(iter(self.call(make, size=8)))), 8)  # given: not tried

    def test_pick_best_among_other_elements_is_refused(self):
        @self.scripted(pick_best={"number": [True, False]})
        def make(number):
            return Range(80) if number else Range(80).map(tf.strings.as_string)
        with self.assertRaisesRegex(plumber_tf.Error, "data sets of different elements"):
            self.call(make)

    def test_failure_leaves_the_data_set(self):
        dataset = Range(10).map(lambda x: tf.numpy_function(lambda v: 2 * v, [x], tf.int64))
        make = self.scripted()(lambda: dataset)
        self.assertIs(self.call(make), dataset)
        self.assertIn("warning: left as written: it calls Python functions", self.said)
        with unittest.mock.patch.dict(os.environ, PLUMBER="/nowhere/plumber"):
            self.assertEqual(values(self.call(self.scripted()(lambda: Range(3)))), [0, 1, 2])
        self.assertIn("warning: left as written: PLUMBER=/nowhere/plumber names no", self.said)

    def test_switched_off(self):
        dataset = Range(800).map(number).batch(8)
        make = self.scripted(pick_best={"a": [1, 2]})(lambda a=0: (dataset, a))
        with unittest.mock.patch.dict(os.environ, PLUMBER_OPTIMIZE="off"):
            self.assertEqual(self.call(make), (dataset, 0))
        self.assertEqual((self.said, self.tuners), ("", []))


PIPELINE = """
import tensorflow as tf
def make(files, size=8, add=1, seed=None, keys="abc"):
    table = tf.lookup.StaticHashTable(
        tf.lookup.KeyValueTensorInitializer(list(keys), tf.range(len(keys))), -1)
    def work(line):
        length = tf.strings.length(line) + add
        with tf.control_dependencies([tf.debugging.assert_positive(length)]):
            count = tf.while_loop(lambda i: i < length, lambda i: i + 1, [0])[0]
        return tf.cond(count > 3, lambda: count, lambda: -count), table.lookup(line)
    files = tf.data.Dataset.from_tensor_slices(files).shuffle(9, seed=seed)
    return (files.interleave(tf.data.TextLineDataset, cycle_length=2, num_parallel_calls=2)
            .map(work).cache().shuffle(9, seed=seed).batch(size).prefetch(2))
def other():
    return tf.data.Dataset.range(9).map(lambda x: x + 1).shuffle(4).cache()
"""
HASH = """
import sys; sys.path[:0] = sys.argv[1:3]
import pipeline, plumber_tf
pipeline.other()
print(plumber_tf.graph_hash(plumber_tf.serialize(pipeline.make(["train"]))))
"""


class HashTest(FolderTest):
    """The hash is of what runs: TensorFlow numbers all it makes, differently in each call."""

    def setUp(self):
        super().setUp()
        self.module = plumber_tf._import(self.file("pipeline.py", PIPELINE))

    def hash(self, *files, **how):
        return plumber_tf.graph_hash(plumber_tf.serialize(self.module.make(list(files), **how)))

    def test_the_same_program_in_each_call_and_process(self):
        again = subprocess.run(
            [sys.executable, "-c", HASH, str(self.folder), str(BRIDGE.parent)],
            capture_output=True, text=True, check=False)
        self.assertEqual(again.stdout, self.hash("train") + "\n", again.stderr)
        self.module.other()
        self.assertEqual(self.hash("train"), again.stdout.strip())
        self.assertEqual(self.hash("train", seed=7), self.hash("train", seed=7))

    def test_another_program(self):
        hashes = {self.hash("train"), self.hash("test"), self.hash("train", "test"),
                  self.hash("train", size=9), self.hash("train", add=2), self.hash("train", seed=7),
                  self.hash("train", seed=8), self.hash("train", keys="abd")}
        self.assertEqual(len(hashes), 8)

    def test_a_shared_state_is_not_two(self):
        numbers = tf.data.Dataset.range(9).shuffle(9, seed=3)
        other = tf.data.Dataset.range(9).shuffle(9, seed=3)
        twice, both = (plumber_tf.graph_hash(plumber_tf.serialize(tf.data.Dataset.zip(*sides)))
                       for sides in ((numbers, numbers), (numbers, other)))
        self.assertNotEqual(twice, both)


class KerasTest(AnnotationTest):
    def test_fit(self):
        """Real processes and rates."""
        @plumber_tf.optimize(cores=2, mem="1G", trace_s=0.5, rate_s=0.2, repeats=3)
        def make():
            return Range(1600).map(number).map(lambda x: (x[None], 2 * x)).batch(32)
        model = tf.keras.Sequential([tf.keras.Input([1]), tf.keras.layers.Dense(1)])
        model.compile(loss="mse")
        dataset = self.call(make)
        self.assertIn("tuning its data set", self.said)
        model.fit(dataset, epochs=2, verbose=0)
        self.assertEqual(model.optimizer.iterations.numpy(), 100)

        def known():
            began = time.monotonic()
            dataset = self.call(make)
            self.assertLess(time.monotonic() - began, 1)
            self.assertEqual(self.said, "")
            return dataset
        model.fit(self.retried(known), epochs=1, verbose=0)
        self.assertEqual(model.optimizer.iterations.numpy(), 150)


if __name__ == "__main__":
    unittest.main()
