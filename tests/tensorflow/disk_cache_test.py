# SPDX-License-Identifier: Apache-2.0
"""Caches on disk: what optimize --disk-cache plans where memory is short, run in stock TensorFlow:
the same elements in the first epoch, from the file, and in a process that only has the file."""
import hashlib
import json
import os
import subprocess
import sys
import unittest

import tensorflow as tf

import rewriting
import support
from support import FolderTest, plumber_tf, record

FILES, RECORDS, VALUES = 4, 60, 20_000  # 160 kB an element once it is decoded
BATCHES = FILES * RECORDS // 8

OTHER_PROCESS = """
import hashlib
import sys
sys.path[:0] = [{tests!r}, {scripts!r}]
import plumber_tf, rewriting
elements = rewriting.elements(plumber_tf.load({program!r}), 1)
print(hashlib.sha256(str(elements).encode()).hexdigest())
"""


def digest(elements):
    return hashlib.sha256(str(elements).encode()).hexdigest()


def decode(record):
    start = tf.strings.to_number(record)
    values = start + tf.range(VALUES, dtype=tf.float32)
    return tf.math.sin(tf.math.exp(tf.math.cos(values))) + tf.math.tan(values), record


class DiskCacheTest(FolderTest):
    @classmethod
    def setUpClass(cls):
        cls.plumber = support.plumber_binary()

    def setUp(self):
        super().setUp()
        self.cache = self.folder / "cache"
        self.cache.mkdir()
        self.names = [self.path(f"part-{i}") for i in range(FILES)]
        for number, name in enumerate(self.names):
            with tf.io.TFRecordWriter(name) as writer:
                for i in range(RECORDS):
                    writer.write(str(number * RECORDS + i).encode())
        self.dataset = (tf.data.Dataset.from_tensor_slices(self.names)
                        .flat_map(tf.data.TFRecordDataset).map(decode).batch(8).prefetch(2))
        self.trace = self.path("trace.pb")
        record(self.dataset, 1.0, self.trace, least=BATCHES + 1)  # an epoch

    def optimize(self, *options):
        done = subprocess.run(
            [self.plumber, "optimize", self.trace, "--cores", "2", "--mem", "20M",
             "--without", "insert_partial_cache", "--format", "json", "--rewrite",
             self.path("tuned.pb"), *options], capture_output=True, text=True, check=True)
        return json.loads(done.stdout)

    def planned_file(self, plan):
        files = [edit["to"] for edit in plan["edits"] if edit["edit"] == "insert_cache"]
        self.assertEqual(len(files), 1, plan["rejected"])
        self.assertTrue(files[0].startswith(f"{self.cache}/plumber-"), files)
        return files[0]

    def test_the_file_is_written_once_and_read_by_others(self):
        plan = self.optimize("--disk-cache", f"{self.cache}:1G", "--disk", f"{self.cache}=1GB/s")
        file = self.planned_file(plan)
        original = rewriting.elements(self.dataset, epochs=1)[0]
        self.assertEqual(rewriting.elements(plumber_tf.load(self.path("tuned.pb"))),
                         [original, original])
        self.assertFalse(any(name.name.endswith(".lockfile") for name in self.cache.iterdir()))
        written = sum(name.stat().st_size for name in self.cache.iterdir())
        self.assertLess(abs(written / plan["disk_cache"]["planned_bytes"] - 1), 0.02)
        self.assertTrue(os.path.exists(file + ".index"))
        for name in self.names:  # from here on only the file has the elements
            os.remove(name)
        program = OTHER_PROCESS.format(tests=os.path.dirname(os.path.abspath(__file__)),
                                       scripts=str(support.ROOT / "scripts"),
                                       program=self.path("tuned.pb"))
        done = subprocess.run([sys.executable, "-c", program], capture_output=True, text=True,
                              check=False)
        self.assertEqual(done.returncode, 0, done.stderr[-2000:])
        self.assertEqual(done.stdout.strip(), digest([original]))

    def test_other_data_under_the_same_graph_get_another_file(self):
        options = ["--disk-cache", f"{self.cache}:1G", "--disk", f"{self.cache}=2GB/s"]
        first = self.planned_file(self.optimize(*options))
        self.assertEqual(self.planned_file(self.optimize(*options)), first)
        renamed = [name + "-b" for name in self.names]
        for old, new in zip(self.names, renamed):
            os.rename(old, new)
        dataset = (tf.data.Dataset.from_tensor_slices(renamed)
                   .flat_map(tf.data.TFRecordDataset).map(decode).batch(8).prefetch(2))
        record(dataset, 1.0, self.trace, least=BATCHES + 1)
        self.assertNotEqual(self.planned_file(self.optimize(*options)), first)

    def test_memory_comes_first_where_both_fit(self):
        done = subprocess.run(
            [self.plumber, "optimize", self.trace, "--cores", "2", "--mem", "1G", "--format",
             "json", "--disk-cache", f"{self.cache}:1G", "--disk", f"{self.cache}=10GB/s"],
            capture_output=True, text=True, check=True)
        plan = json.loads(done.stdout)
        caches = [edit["to"] for edit in plan["edits"] if edit["edit"] == "insert_cache"]
        self.assertEqual(caches, [""])
        self.assertEqual(plan["disk_cache"]["planned_bytes"], 0)


if __name__ == "__main__":
    unittest.main()
