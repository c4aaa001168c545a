# SPDX-License-Identifier: Apache-2.0
"""Functions that wait: on threads of their own more of their calls wait at once than TensorFlow's
pool has threads."""
import json
import time
import unittest

import numpy as np

from rewriting import RewriteTest, elements
from support import plumber_tf
import tensorflow as tf

WAIT_S = 0.02
LEAST_FASTER = 4  # of 64 calls against the pool's two to four


def ask(x):
    time.sleep(WAIT_S)
    return np.int64(x * 2)


def asking(x):
    return tf.numpy_function(ask, [x], tf.int64)


class WaitingCallsTest(RewriteTest):
    def planned(self, dataset, *options):
        trace, plan, program = self.path("t.pb"), self.path("plan.json"), self.path("new.pb")
        plumber_tf.record(dataset, 2, trace)
        plumber_tf.run_plumber("optimize", trace, "--cores", "2", "--mem", "1G", "-o", plan,
                               "--rewrite", program, *options)
        with open(plan, encoding="utf-8") as file:
            return json.load(file), program

    def rate(self, dataset, count):
        iterator = iter(dataset)
        next(iterator)
        began = time.monotonic()
        for _ in range(count):
            next(iterator)
        return count / (time.monotonic() - began)

    def test_python_that_sleeps(self):
        dataset = tf.data.Dataset.range(400).map(asking, num_parallel_calls=2).batch(2)
        plan, program = self.planned(dataset)
        edit = next(e for e in plan["edits"] if e["edit"] == "parallel_unbounded")
        self.assertIn("use_unbounded_threadpool=True", edit["python"])
        faster = plumber_tf.load(program)
        self.assertEqual(elements(faster, 1), elements(dataset, 1))
        self.assertGreater(self.rate(faster, 150), LEAST_FASTER * self.rate(dataset, 50))
        again, _ = self.planned(faster)  # it is seen as what it is
        self.assertNotIn("parallel_unbounded", [e["edit"] for e in again["edits"]])
        self.assertGreater(again["predicted"]["before_per_s"],
                           LEAST_FASTER * plan["predicted"]["before_per_s"])

    def test_a_map_and_its_batch_where_errors_are_ignored(self):
        """TensorFlow fuses no calls on threads of their own, and the fused op drops other elements
        than the two."""
        def sometimes(x):
            time.sleep(WAIT_S / 2)
            if x % 7 == 3:
                raise ValueError("three")
            return np.int64(x)

        dataset = tf.data.Dataset.range(56).map(
            lambda x: tf.numpy_function(sometimes, [x], tf.int64), num_parallel_calls=2)
        dataset = dataset.batch(4).ignore_errors()
        plan, program = self.planned(dataset)
        self.assertNotIn("parallel_unbounded", [e["edit"] for e in plan["edits"]])
        self.assertEqual(elements(plumber_tf.load(program), 1), elements(dataset, 1))

    def test_python_called_once_at_a_time_stays_so(self):
        dataset = tf.data.Dataset.range(400).map(asking).batch(2)
        plan, _ = self.planned(dataset)
        self.assertNotIn("parallel_unbounded", [e["edit"] for e in plan["edits"]])
        reasons = [r["reason"] for r in plan["rejected"] if r["edit"] == "parallel_unbounded"]
        self.assertIn("may keep state", reasons[0])
        plan, _ = self.planned(dataset, "--allow", "stateful-parallel")
        self.assertIn("parallel_unbounded", [e["edit"] for e in plan["edits"]])


if __name__ == "__main__":
    unittest.main()
