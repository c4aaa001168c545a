# SPDX-License-Identifier: Apache-2.0
"""Epochs of a few milliseconds, shorter than what lies between two polls: the analysis knows their
elements or says that it does not, and blames the node that has the work."""
import collections
import itertools
import json
import os
import subprocess
import time
import unittest
import unittest.mock

from support import FolderTest, plumber_binary, plumber_tf
import tensorflow as tf

Range = tf.data.Dataset.range
TEXT = tf.constant("x" * 300_000)  # some 150 us of work for one thread
UNKNOWN = None
EPOCHS, MOST_ELEMENTS = 6, 2000


def work(x):
    return x + 0 * tf.strings.to_hash_bucket_strong(TEXT, 1000, [1, 2])


class ShortEpochsTest(FolderTest):
    def analyze(self, dataset, seconds=0.2):
        """The analysis of a trace of some epochs, at least, however slow the machine is."""
        recorder, watched = plumber_tf._prepare(dataset, "bare")
        end, epochs = time.monotonic() + seconds, 0
        while epochs < EPOCHS or time.monotonic() < end:
            collections.deque(itertools.islice(watched, MOST_ELEMENTS), maxlen=0)
            epochs += 1
        recorder.finish()
        plumber_tf._write(self.path("t.pb"), recorder.snapshot().SerializeToString())
        return self.read("analyze")

    def read(self, command, *options):
        done = subprocess.run([plumber_binary(), command, self.path("t.pb"), *options,
                               "--format", "json"], capture_output=True, text=True, check=False)
        self.assertEqual(done.returncode, 0, done.stderr)
        return json.loads(done.stdout)

    def check(self, dataset, *expected):
        """`expected`: elements of an epoch of each node, source first, exact but for floats."""
        analysis = self.analyze(dataset)
        found = [node["elements_per_epoch"] for node in analysis["nodes"]]
        self.assertEqual(len(found), len(expected), found)
        for have, want in zip(found, expected):
            if isinstance(want, float):
                self.assertIsNotNone(have, found)
                self.assertAlmostEqual(have / want, 1, delta=0.2, msg=found)
            else:
                self.assertEqual(have, want, found)
        self.assertEqual(analysis["unaligned"]["model"], [])
        return {node["name"].split("/")[0]: node for node in analysis["nodes"]}

    def files(self, count, records, options=""):
        paths = [self.path(f"{k}.tfrecord") for k in range(count)]
        for k, path in enumerate(paths):
            with tf.io.TFRecordWriter(path, options) as writer:
                for i in range(records):
                    writer.write(os.urandom(50 + (k * records + i) * 37 % 400))
        return paths


class CountTest(ShortEpochsTest):
    def check_read(self, analysis):
        """A snapshot that was read, so that what made it stood still."""
        self.assertIn("cache-producers-gone", [f["id"] for f in analysis["findings"]])
        self.assertEqual(analysis["unaligned"]["model"], [])
        maker = next(node for node in analysis["nodes"] if node["function"] == "work")
        self.assertEqual(maker["visit_ratio"], 0)
        self.assertNotIn(maker["name"], analysis["bottleneck"]["nodes"])

    def test_ends_by_its_own_choice(self):
        self.check(Range(600).take_while(lambda x: x < 77), 600, 77)
        self.check(Range(26).map(lambda x: x % 13).unique(), 26, 26, 13)
        self.check(Range(600).take_while(lambda x: x < 77).repeat(), 600, UNKNOWN, "infinite")

    def test_drops_elements(self):
        self.check(Range(99).filter(lambda x: x % 3 == 0), 99, 33)
        bad = Range(100).map(lambda x: tf.debugging.check_numerics(
            tf.where(x % 4 == 0, float("nan"), 1.0), "bad")).ignore_errors()
        self.check(bad, 100, 100, 75)
        self.check(Range(100).shard(3, 1), 100, 33)

    def test_an_estimate_below_a_batch(self):
        nodes = self.check(Range(150).map(work).filter(lambda x: x % 3 == 0).batch(5),
                           150, 150, 50.0, 10)
        self.assertLessEqual(nodes["FilterDataset"]["elements_per_epoch"], 50)
        self.assertGreater(nodes["FilterDataset"]["elements_per_epoch"], 45)

    def test_makes_several_of_one(self):
        self.check(Range(40).flat_map(lambda x: Range(x % 4)), 40, 60, 60)
        self.check(Range(40).interleave(lambda x: Range(x % 4), cycle_length=4,
                                        num_parallel_calls=2), 40, 60, 60)
        self.check(Range(50).flat_map(lambda x: Range(10)), 50, 500, 500)
        self.check(Range(100).map(lambda x: tf.range(x % 5)).unbatch(), 100, 100, 100, 200)

    def test_readers(self):
        files = self.files(10, 7)
        for calls in (4, tf.data.AUTOTUNE):
            self.check(tf.data.TFRecordDataset(files, num_parallel_reads=calls), 10, 70, 70)
        packed = self.files(10, 7, "GZIP")
        self.check(tf.data.TFRecordDataset(packed, "GZIP", num_parallel_reads=4), 10, 70, 70)

    def test_windows(self):
        self.check(Range(48).window(6).flat_map(lambda w: w.batch(1)), 48, 8, 48, 48)
        self.check(Range(48).window(6, shift=3, drop_remainder=True).flat_map(lambda w: w),
                   48, 15, 90)
        nodes = self.check(Range(100).window(4, shift=10).flat_map(lambda w: w), 100, 10, 40)
        self.assertAlmostEqual(nodes["RangeDataset"]["visit_ratio"], 2.5)

    def test_groups(self):
        self.check(Range(100).group_by_window(lambda x: x % 3, lambda _, w: w.batch(10),
                                              window_size=10), 100, 12, 12)

    def test_mixtures(self):
        parts = [Range(30), Range(50)]
        self.check(tf.data.Dataset.choose_from_datasets(parts, Range(2).repeat(10)),
                   2, 20, 30, 50, 20)
        mixed = tf.data.Dataset.sample_from_datasets(parts, [.5, .5], seed=1)
        nodes = self.check(mixed, "infinite", "infinite", "infinite", 30, 50, 80)
        self.assertAlmostEqual(nodes["RangeDataset"]["visit_ratio"], 50 / 80)

    def test_snapshots(self):
        snapshot = Range(64).map(work).snapshot(self.path("snapshot")).batch(4)
        nodes = self.check(snapshot, "infinite", 64, 64, 64, 64.0, 64.0, 64.0, 16)
        self.assertGreater(nodes["SnapshotDatasetV2"]["service_s"], 0)
        list(snapshot)  # written by now, and only read
        self.check_read(self.analyze(snapshot))
        with unittest.mock.patch.multiple(plumber_tf, POLL_S=9, FIRST_POLL_S=9):
            self.check_read(self.analyze(snapshot))  # by readers that no poll has seen at work
        Range(64).save(self.path("saved"))
        self.assertEqual(self.analyze(tf.data.Dataset.load(self.path("saved")))["unaligned"],
                         {"graph": [], "model": [], "unseen": []})


class BlameTest(ShortEpochsTest):
    """A producer that is drained into a shuffle at once is gone when the epoch ends."""

    def bottleneck(self, dataset):
        return self.analyze(dataset, 0.6)["bottleneck"]["nodes"][0].split("/")[0]

    def test_shuffle_of_a_whole_epoch(self):
        self.assertEqual(self.bottleneck(Range(50).map(work).shuffle(100).batch(5)), "MapDataset")
        self.assertEqual(self.bottleneck(Range(900).map(work).shuffle(1000).batch(9)),
                         "MapDataset")
        self.assertEqual(self.bottleneck(Range(50).map(work).shuffle(100).repeat().batch(5)),
                         "MapDataset")

    def test_time_between_epochs_is_nobodys_waiting(self):
        dataset = Range(104).map(work, num_parallel_calls=2).batch(8).prefetch(2)
        with plumber_tf.trace(dataset, self.path("t.pb"), calibrate=False) as watched:
            for _ in range(8):
                for _ in watched:
                    time.sleep(0.005)
                time.sleep(0.06)  # validation, a checkpoint
        analysis = self.read("analyze")
        self.assertEqual((analysis["verdict"], analysis["bottleneck"]["kind"]),
                         ("consumer-bound", "consumer"))
        self.assertGreater(analysis["rate"]["epoch_start_s"], 0.05)
        plan = self.read("optimize", "--cores", "2", "--mem", "1G")
        self.assertEqual(plan["predicted"]["bound"]["kind"], "consumer")

    def test_starting_epochs_is_said(self):
        analysis = self.analyze(Range(5).map(lambda x: x + 1))
        self.assertIn("short-epochs", [finding["id"] for finding in analysis["findings"]])


if __name__ == "__main__":
    unittest.main()
