# SPDX-License-Identifier: Apache-2.0
"""What the tests of algebraic moves share: functions, and data sets that go through the tool from
end to end."""
import json
import subprocess

import tensorflow as tf

from rewriting import RewriteTest, elements
from support import plumber_binary, plumber_tf, record

SECONDS = 0.35


def hashed(x, times=1500):
    """Some fifty microseconds of work without a batch form."""
    text = tf.strings.reduce_join(tf.repeat(tf.strings.as_string(x), times))
    return tf.strings.to_hash_bucket_strong(text, 1000, [1, 2])


def noisy(x):
    return tf.cast(x, tf.float32) + tf.random.uniform([])


class MovesTest(RewriteTest):
    def optimised(self, dataset, *options, memory="4G"):
        record(dataset, SECONDS, self.path("trace.pb"))
        done = subprocess.run(
            [plumber_binary(), "optimize", self.path("trace.pb"), "--cores", "2", "--mem", memory,
             "--format", "json", "-o", self.path("plan.json"), "--rewrite", self.path("out.pb"),
             *options], capture_output=True, text=True, check=False)
        self.assertEqual(done.returncode, 0, done.stderr)
        self.plan = json.loads((self.folder / "plan.json").read_text("utf-8"))
        return plumber_tf.load(self.path("out.pb"))

    def moves(self):
        kinds = {"reorder", "remove", "balance", "move_into_function", "insert_partial_cache",
                 "unfuse"}
        return [e["edit"] for e in self.plan["edits"]
                if e["edit"] in kinds or e["to"] == "RebatchDatasetV2"]

    def why_not(self, kind):
        return " ".join(r["reason"] for r in self.plan["rejected"] if r["edit"] == kind)

    def assert_moved(self, dataset, expected, *options, **how):
        written = self.optimised(dataset, *(options or ("--no-cache",)), **how)
        self.assertEqual(elements(written), elements(dataset))
        self.assertIn(expected, self.moves())
        return written

    def assert_not_moved(self, dataset, kind, reason, *options):
        self.optimised(dataset, "--no-cache", *options)
        self.assertNotIn(kind, self.moves())
        self.assertIn(reason, self.why_not(kind))
