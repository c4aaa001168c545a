# SPDX-License-Identifier: Apache-2.0
"""Pipelines whose demands, visit ratios and sizes are known before they are traced."""
import json
import random
import statistics
import subprocess
import time
import unittest

from support import FolderTest, plumber_binary, plumber_tf
import tensorflow as tf

SECONDS = 0.8
# One text for all elements: a kernel that holds one thread, locks nothing, allocates nothing.
TEXTS = {"long": tf.constant("x" * 2_000_000), "short": tf.constant("x" * 700_000)}
BATCH = 4


def kernel(text):
    return tf.strings.to_hash_bucket_strong(text, 1000, [1, 2])


def long_work(x):
    return x + 0 * kernel(TEXTS["long"])


def short_work(x):
    return x + 0 * kernel(TEXTS["short"])


def sleep(x):
    time.sleep(0.004)
    return x


def cpu_s(text, calls=60):
    """CPU of the kernel in one call: of the thread that runs it, which is the caller's outside a
    function. (The process would count other threads too, which spin while they wait for work.)"""
    costs = []
    for given in (text, tf.constant("")):
        kernel(given)
        rounds = []
        for _ in range(5):
            began = time.thread_time()
            for _ in range(calls):
                kernel(given)
            rounds.append((time.thread_time() - began) / calls)
        costs.append(statistics.median(rounds))
    return costs[0] - costs[1]


class TracedTest(FolderTest):
    def analyze(self, dataset, seconds=SECONDS):
        plumber_tf.record(dataset, seconds, self.path("t.pb"))
        done = subprocess.run([plumber_binary(), "analyze", self.path("t.pb"), "--format", "json"],
                              capture_output=True, text=True, check=False)
        self.assertEqual(done.returncode, 0, done.stderr)
        return json.loads(done.stdout)

    def by_function(self, analysis):
        return {node["function"]: node for node in analysis["nodes"]}

    def demands(self, calls):
        """CPU of a root element in each function, by times as many calls in flight."""
        dataset = tf.data.Dataset.range(1 << 40)
        for function in (long_work, short_work):
            dataset = dataset.map(function, num_parallel_calls=calls)
        nodes = self.by_function(self.analyze(dataset.batch(BATCH)))
        return [nodes[name]["demand_s"] for name in ("long_work", "short_work")]

    def cpu_of_functions(self):
        return [BATCH * cpu_s(TEXTS[name]) for name in ("long", "short")]

    def within(self, found, expected, share):
        self.assertLess(abs(found / expected - 1), share, (found, expected))


class KnownAnswersTest(TracedTest):
    def test_demands_are_the_cpu_that_functions_burn(self):
        """A core's speed is that of the moment: what a call costs is measured on both sides of each
        trace, and the median of three traces counts."""
        def check():
            known = self.cpu_of_functions()
            ratios = []
            for _ in range(3):
                before, found, known = known, self.demands(None), self.cpu_of_functions()
                ratios.append([2 * d / (a + b) for d, a, b in zip(found, before, known)])
            for of_function in zip(*ratios):
                self.within(statistics.median(of_function), 1, 0.10)
        self.retried(check, times=2)

    def test_more_calls_than_cores_do_not_raise_demands(self):
        def check():
            one = self.demands(1)
            for calls in (2, 8, 60):
                for found, known in zip(self.demands(calls), one):
                    self.within(found, known, 0.20)
        self.retried(check)

    def test_waiting_is_not_cpu(self):
        def check(calls):
            dataset = tf.data.Dataset.range(1 << 40).map(long_work, num_parallel_calls=calls)
            dataset = dataset.map(lambda x: tf.numpy_function(sleep, [x], tf.int64),
                                  num_parallel_calls=calls)
            analysis = self.analyze(dataset.batch(BATCH), 1.2)
            nodes = self.by_function(analysis)
            self.within(nodes["long_work"]["demand_s"], BATCH * cpu_s(TEXTS["long"]), 0.3)
            self.assertLess(nodes["lambda"]["cpu_s_per_element"], 0.001)
            self.assertGreater(nodes["lambda"]["service_s"], 0.004)
            self.assertEqual(nodes["lambda"]["cpu_basis"], "at-most")
            self.within(analysis["bottleneck"]["bound_per_s"],
                        analysis["rate"]["observed_per_s"], 0.3)
        for calls in (None, 2, 8):
            self.retried(lambda calls=calls: check(calls))

    def test_a_full_epoch(self):
        elements, length, files = 3000, 500, 6
        paths = [self.path(f"{k}.tfrecord") for k in range(files)]
        for path in paths:
            with tf.io.TFRecordWriter(path) as writer:
                for _ in range(elements // files):
                    writer.write(b"r" * length)
        dataset = tf.data.Dataset.from_tensor_slices(paths)
        dataset = dataset.interleave(tf.data.TFRecordDataset, cycle_length=2, block_length=4)
        dataset = dataset.map(lambda s: tf.io.decode_raw(s, tf.uint8))
        dataset = dataset.map(lambda b: tf.cast(b, tf.float32)).batch(32).prefetch(2)
        with plumber_tf.trace(dataset, self.path("t.pb"), calibrate=False) as watched:
            self.assertEqual(sum(1 for _ in watched), 94)
        done = subprocess.run([plumber_binary(), "analyze", self.path("t.pb"), "--format", "json"],
                              capture_output=True, text=True, check=True)
        nodes = json.loads(done.stdout)["nodes"]
        main = [n for n in nodes if ">" not in n["name"]]
        ratios = [n["visit_ratio"] for n in main]
        for found, known in zip(ratios, [32 * files / elements, 32, 32, 32, 1, 1]):
            self.within(found, known, 0.005)
        sizes = [n["materialized_bytes"] for n in main[1:]]
        string = length + 24  # TensorFlow's header of a string
        for found, known in zip(sizes, [elements * string, elements * length]
                                + 3 * [elements * length * 4]):
            self.within(found, known, 0.02)


class PartialEpochTest(TracedTest):
    """What a trace that stops within the first epoch says of the whole."""
    FILES, RECORDS = 24, 250

    def files(self, options=""):
        dice = random.Random(1)
        paths = [self.path(f"{k}{options}.tfrecord") for k in range(self.FILES)]
        for path in paths:
            with tf.io.TFRecordWriter(path, options) as writer:
                for _ in range(int(self.RECORDS * dice.uniform(0.5, 1.5))):
                    writer.write(dice.randbytes(dice.randrange(50, 800)))
        return paths

    def check(self, dataset, most_error):
        elements = size = 0
        for element in dataset:
            elements, size = elements + 1, size + len(element.numpy().tobytes())
        for share in (0.05, 0.2, 0.6):
            recorder, watched = plumber_tf._prepare(dataset, "bare")
            for _ in zip(range(int(share * elements)), watched):
                pass
            recorder.finish()
            plumber_tf._write(self.path("t.pb"), recorder.snapshot().SerializeToString())
            done = subprocess.run([plumber_binary(), "analyze", self.path("t.pb"), "--format",
                                   "json"], capture_output=True, text=True, check=True)
            root = json.loads(done.stdout)["nodes"][-1]
            if root["elements_per_epoch"] is None:  # not one file was read to its end
                self.assertEqual((share, most_error), (0.05, None))
                continue
            for name, known, error in (("elements_per_epoch", elements, "elements_error"),
                                       ("materialized_bytes", size, "materialized_error_bytes")):
                self.assertLessEqual(abs(root[name] - known), root[error], (share, name))
                if most_error:
                    self.within(root[name], known, most_error)

    def test_sizes_and_their_errors(self):
        def bytes_of(record):
            return tf.cast(tf.io.decode_raw(record, tf.uint8), tf.float32)

        read = tf.data.TFRecordDataset
        names = tf.data.Dataset.from_tensor_slices(self.files())
        records = names.interleave(read, cycle_length=4, num_parallel_calls=2)
        self.check(records.map(bytes_of), 0.1)
        self.check(names.shuffle(50, seed=1).flat_map(read).map(bytes_of), 0.1)
        long = records.filter(lambda record: tf.strings.length(record) > 300)
        self.check(long.map(bytes_of).padded_batch(7), 0.15)
        self.check(records.map(bytes_of).padded_batch(64, drop_remainder=True), 0.15)
        packed = tf.data.Dataset.from_tensor_slices(self.files("GZIP"))
        packed = packed.interleave(lambda name: read(name, "GZIP"), cycle_length=4)
        self.check(packed.map(bytes_of), None)


if __name__ == "__main__":
    unittest.main()
