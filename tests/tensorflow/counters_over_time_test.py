# SPDX-License-Identifier: Apache-2.0
"""Traces that are very short, that begin late, that see a part of an epoch or many, that are dumped
on the way, and those of a training by Keras: the same right answers."""
import json
import subprocess
import time
import unittest

from support import FolderTest, measured, plumber_binary, plumber_tf
import tensorflow as tf

Range = tf.data.Dataset.range
TEXT = tf.constant("x" * 2_000_000)  # a millisecond for one thread
FEW = tf.constant("x" * 200_000)
BATCH = 4


def work(x):
    return x + 0 * tf.strings.to_hash_bucket_strong(TEXT, 1000, [1, 2])


def less_work(x):
    return x + 0 * tf.strings.to_hash_bucket_strong(FEW, 1000, [1, 2])


def pipeline(elements=1 << 40):
    return Range(elements).map(work).map(less_work).batch(BATCH)


class CountersTest(FolderTest):
    def analyze(self, dataset=None, seconds=0.6, **how):
        if dataset is not None:
            plumber_tf.record(dataset, seconds, self.path("t"), **how)
        return self.read("analyze")

    def read(self, command, *options):
        done = subprocess.run([plumber_binary(), command, self.path("t"), *options, "--format",
                               "json"], capture_output=True, text=True, check=False)
        self.assertEqual(done.returncode, 0, done.stderr)
        return json.loads(done.stdout)

    def of(self, analysis, function):
        return next(node for node in analysis["nodes"] if node["function"] == function)

    def check(self, analysis, per_epoch=None):
        """Ratios by the program, the map with the work as bottleneck, rates that agree with it."""
        nodes = {node["op"]: node for node in analysis["nodes"]}
        self.assertEqual(nodes["RangeDataset"]["visit_ratio"], BATCH)
        self.assertEqual(nodes["BatchDatasetV2"]["visit_ratio"], 1)
        node = self.of(analysis, "work")
        self.assertEqual(analysis["bottleneck"]["nodes"][0], node["name"])
        # Ten times as much work in one function as in the other, call by call.
        self.assertGreater(node["service_s"], 4 * self.of(analysis, "less_work")["service_s"])
        self.assertLess(node["service_s"] * BATCH * analysis["rate"]["observed_per_s"], 1.1)
        self.assertEqual(analysis["unaligned"]["model"], [])
        if per_epoch:
            self.assertEqual(nodes["BatchDatasetV2"]["elements_per_epoch"], per_epoch)


@measured
class LengthTest(CountersTest):
    def test_a_fifth_of_a_second(self):
        analysis = self.analyze(pipeline(), 0.2)
        self.check(analysis)
        self.assertTrue(any("short" in warning for warning in analysis["warnings"]))

    def test_a_part_of_an_epoch(self):
        self.check(self.analyze(pipeline(100_000)), 25_000)

    def test_many_epochs(self):
        analysis = self.analyze(pipeline(16))
        self.check(analysis, 16 // BATCH)
        self.assertGreater(analysis["trace"]["root_elements"], 3 * 16 // BATCH)

    def test_epochs_within_the_program(self):
        analysis = self.analyze(Range(64).map(work).map(less_work).batch(BATCH).repeat())
        self.check(analysis, 64 // BATCH)
        self.assertEqual(analysis["nodes"][-1]["elements_per_epoch"], "infinite")


@measured
class DumpsTest(CountersTest):
    def test_counters_that_begin_anew_in_each_epoch(self):
        analysis = self.analyze(pipeline(64), 1.2, every=0.2)
        self.assertGreaterEqual(analysis["trace"]["dumps"], 4)
        self.check(analysis, 64 // BATCH)
        low, high = analysis["rate"]["ci95_per_s"]
        self.assertLessEqual(low, analysis["rate"]["observed_per_s"])
        self.assertGreaterEqual(high, analysis["rate"]["observed_per_s"])
        self.assertFalse(any("backwards" in warning for warning in analysis["warnings"]))

    def test_buffers_over_time(self):
        def levels(slow):
            dataset = Range(1 << 40).map(work, 2).prefetch(4)
            with plumber_tf.trace(dataset, self.path("t"), calibrate=False, every=0.1) as watched:
                end = time.monotonic() + 0.6
                for _ in watched:
                    time.sleep(0.02 if slow else 0)
                    if time.monotonic() > end:
                        break
            analysis = self.read("analyze")
            (buffer,) = [b for b in analysis["buffers"] if b["capacity"] == 4]
            self.assertEqual(len(buffer["fills"]), analysis["trace"]["dumps"])
            self.assertLessEqual(buffer["least"], buffer["most"])
            return buffer["level"]
        self.assertEqual(levels(slow=True), "full")

    def test_an_empty_buffer(self):
        analysis = self.analyze(Range(1 << 40).map(work).prefetch(4), 0.6, every=0.1)
        (buffer,) = analysis["buffers"]
        self.assertEqual((buffer["level"], buffer["capacity"]), ("empty", 4))


@measured
class LateTest(CountersTest):
    def test_only_after_the_cache_was_full(self):
        dataset = Range(40).map(work).cache().map(less_work).batch(BATCH)
        for _ in dataset:  # fills it
            pass
        analysis = self.analyze(dataset, 0.4)
        found = {f["id"]: f for f in analysis["findings"]}["cache-producers-gone"]
        self.assertIn("unknown", found["text"])
        self.assertEqual(found["python"], "# trace from the first epoch on")
        self.assertNotEqual(analysis["bottleneck"]["nodes"][0], self.of(analysis, "work")["name"])
        self.assertGreater(self.of(analysis, "less_work")["service_s"], 0)
        plan = self.read("optimize", "--cores", "4", "--mem", "1G")
        self.assertIsNone(plan["predicted"]["first_epoch_per_s"])
        self.assertTrue(any("before the trace began" in w for w in plan["warnings"]))
        changed = {edit["node"] for edit in plan["edits"]}
        self.assertNotIn(self.of(analysis, "work")["name"], changed)

    def test_from_the_first_epoch_on_its_producers_are_known(self):
        dataset = Range(40).map(work).cache().map(less_work).batch(BATCH)
        analysis = self.analyze(dataset, 0.4)
        self.assertGreater(self.of(analysis, "work")["service_s"],
                           4 * self.of(analysis, "less_work")["service_s"])
        self.assertTrue(self.of(analysis, "work")["below_cache"])
        self.assertNotIn("cache-producers-gone", [f["id"] for f in analysis["findings"]])


@measured
class KerasTest(CountersTest):
    def test_fit_with_several_epochs(self):
        elements, epochs = 80, 4
        dataset = Range(elements).map(work).map(less_work).batch(BATCH)
        dataset = dataset.map(lambda x: (tf.cast(x[:, None], tf.float32), x))
        model = tf.keras.Sequential([tf.keras.Input([1]), tf.keras.layers.Dense(1)])
        model.compile(optimizer="sgd", loss="mse")
        model.fit(tf.data.Dataset.from_tensors((tf.ones([4, 1]), tf.ones([4]))), verbose=0)
        with plumber_tf.trace(dataset, self.path("t"), calibrate=False) as watched:
            model.fit(watched, epochs=epochs, verbose=0)
        analysis = self.read("analyze")
        self.assertEqual(analysis["trace"]["mode"], "training")
        self.assertEqual(analysis["trace"]["root_elements"], epochs * elements // BATCH)
        nodes = {n["op"]: n for n in analysis["nodes"]}
        self.assertEqual(nodes["BatchDatasetV2"]["elements_per_epoch"], elements // BATCH)
        self.assertEqual(nodes["RangeDataset"]["visit_ratio"], BATCH)
        self.assertEqual(self.of(analysis, "work")["elements"], epochs * elements)
        self.assertIn(analysis["verdict"], ("input-bound", "balanced"))
        self.assertEqual(analysis["bottleneck"]["nodes"][0], self.of(analysis, "work")["name"])


if __name__ == "__main__":
    unittest.main()
