# SPDX-License-Identifier: Apache-2.0
"""A disk that limits: predicted rates against a token bucket on read and pread, the measured curve
of a source with a latency, the readers that are recommended for it."""
import json
import os
import subprocess
import sys
import time
import unittest

import slow_disk

slow_disk.run_again()

import tensorflow as tf  # noqa: E402

import support  # noqa: E402
from slow_disk import disk  # noqa: E402
from support import FolderTest, bridge, plumber_tf  # noqa: E402

FILES, RECORDS, RECORD_BYTES, BATCH = 8, 100, 20_000, 16


def write_data():
    names = [os.path.join(slow_disk.folder(), f"part-{i}") for i in range(FILES)]
    for name in names:
        with tf.io.TFRecordWriter(name) as writer:
            for _ in range(RECORDS):
                writer.write(os.urandom(RECORD_BYTES))
    return names


def work(record):
    numbers = tf.cast(tf.io.decode_raw(record, tf.uint8), tf.float32)
    return tf.reduce_sum(tf.sqrt(numbers) * tf.sin(numbers))


def pipeline(names, readers=4, cycle=4):
    files = tf.data.Dataset.from_tensor_slices(names).repeat()
    return (files.interleave(tf.data.TFRecordDataset, cycle_length=cycle,
                             num_parallel_calls=readers)
            .map(work, num_parallel_calls=2).batch(BATCH).prefetch(2))


def rate(dataset, seconds=2.0, warm=1.0):
    iterator = iter(dataset)
    end = time.monotonic() + warm
    while time.monotonic() < end:
        next(iterator)
    began, count = time.monotonic(), 0
    while time.monotonic() < began + seconds:
        next(iterator)
        count += 1
    return count / (time.monotonic() - began)


class SlowDisk(FolderTest):
    @classmethod
    def setUpClass(cls):
        cls.plumber = support.plumber_binary()
        disk(0)
        cls.names = write_data()

    def optimize(self, trace, *options):
        done = subprocess.run([self.plumber, "optimize", trace, "--cores", "2", "--mem", "1G",
                               "--no-cache", "--format", "json", "--rewrite", self.path("tuned.pb"),
                               *options], capture_output=True, text=True, check=True)
        return json.loads(done.stdout)

    def record(self, dataset, name="trace.pb", seconds=2.0, setup=None):
        plumber_tf.record(dataset, seconds, self.path(name), setup=setup)
        return self.path(name)

    def test_the_rate_is_the_disks_until_the_cores_bind(self):
        disk(0)
        dataset = pipeline(self.names)
        calibration = plumber_tf.calibration_for(dataset.element_spec)
        trace = self.record(dataset, setup=lambda recorder: recorder.calibrated(*calibration))
        for megabytes in (5, 20, 100, 300):
            plan = self.optimize(trace, "--disk", f"{megabytes}MB/s")
            disk(megabytes * 1e6)
            measured = rate(plumber_tf.load(self.path("tuned.pb"), trace=trace))
            predicted = plan["predicted"]["after_per_s"]
            kind = plan["predicted"]["bound"]["kind"]
            print(f"{megabytes} MB/s: predicted {predicted:.1f}/s ({kind}), measured "
                  f"{measured:.1f}/s", file=sys.stderr)
            if megabytes < 300:  # that much is near what the cores can do with it
                self.assertEqual(kind, "disk")
            if kind == "disk":
                self.assertLess(abs(predicted / measured - 1), 0.15)
        plan = self.optimize(trace, "--disk", "5GB/s")
        self.assertNotEqual(plan["predicted"]["bound"]["kind"], "disk")
        disk(5e9)
        measured = rate(plumber_tf.load(self.path("tuned.pb"), trace=trace))
        predicted = plan["predicted"]["after_per_s"]
        print(f"5 GB/s: predicted {predicted:.1f}/s, measured {measured:.1f}/s", file=sys.stderr)
        self.assertLess(abs(predicted / measured - 1), 0.25)

    def test_readers_that_wait_for_a_remote_store_become_more(self):
        disk(0, 0.1)  # a request takes so long, however many there are
        before = pipeline(self.names, readers=2, cycle=2)
        trace = self.record(before, seconds=2.5)
        refused = self.optimize(trace)
        self.assertNotIn("lengthen_cycle", [edit["edit"] for edit in refused["edits"]])
        reasons = [candidate["reason"] for candidate in refused["rejected"]
                   if candidate["edit"] == "lengthen_cycle"]
        self.assertEqual(len(reasons), 1, refused["rejected"])
        self.assertRegex(reasons[0], r"cycle_length=8 would bring .* \(--allow reorder-files\)")
        plan = self.optimize(trace, "--allow", "reorder-files")
        cycles = [edit["value"] for edit in plan["edits"] if edit["edit"] == "lengthen_cycle"]
        self.assertEqual(cycles, [8])
        slow, quick = rate(before), rate(plumber_tf.load(self.path("tuned.pb"), trace=trace))
        gain = plan["predicted"]["after_per_s"] / plan["predicted"]["before_per_s"]
        print(f"waiting readers: {slow:.1f}/s -> {quick:.1f}/s, predicted gain {gain:.2f}",
              file=sys.stderr)
        self.assertLess(abs(quick / slow / gain - 1), 0.3)

    def test_the_measured_curve_and_the_readers_for_it(self):
        disk(20e6, 0.05)  # 256 KiB a read: 5.2 MB/s a reader
        names = self.names
        trace = self.record(pipeline(names, readers=1, cycle=16), seconds=1.5)
        curve = self.path("disk.json")
        done = bridge("disk", trace, "-o", curve, "--most", "8", "--seconds", "2.5", "--plumber",
                      self.plumber)
        self.assertEqual(done.returncode, 0, done.stderr)
        with open(curve, encoding="utf-8") as file:
            points = json.load(file)["points"]
        self.assertEqual([point["readers"] for point in points], [1, 2, 4, 8])
        self.assertLess(abs(points[0]["bytes_per_s"] / 5.2e6 - 1), 0.15)
        self.assertLess(abs(points[-1]["bytes_per_s"] / 20e6 - 1), 0.1)
        plan = self.optimize(trace, "--disk", curve)
        readers = next(edit["value"] for edit in plan["edits"] if "Interleave" in edit["node"])
        got = rate(plumber_tf.load(self.path("tuned.pb"), trace=trace))
        best = max(rate(pipeline(names, readers=number, cycle=16)) for number in (4, 16))
        print(f"{readers} readers: {got:.1f}/s, the best {best:.1f}/s", file=sys.stderr)
        self.assertGreaterEqual(got, 0.95 * best)


if __name__ == "__main__":
    unittest.main()
