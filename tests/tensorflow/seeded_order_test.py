# SPDX-License-Identifier: Apache-2.0
"""Shuffles with seeds: a written program has the order of the original in every epoch of every
iterator. TensorFlow makes one op of a shuffle and its repeat, whose second iterator has another
order than that of the two apart; and a cache stops the lower of two seeded shuffles."""
import subprocess
import unittest

from rewriting import Range, RewriteTest, elements
from support import plumber_binary, plumber_tf, record
import tensorflow as tf

TEXT = tf.constant("x" * 300_000)


def work(x):
    """x, after work that is worth another thread."""
    return x + 0 * tf.strings.to_hash_bucket_strong(TEXT, 1000, [1, 2])


def large(x):
    return tf.fill([2000], x)


def mixed(dataset, seed=4):
    return dataset.shuffle(20, seed=seed)


class SeededOrderTest(RewriteTest):
    def check(self, dataset, *words):
        expected = elements(dataset, epochs=3)
        record(dataset, 0.3, self.path("trace.pb"))
        done = subprocess.run(
            [plumber_binary(), "optimize", self.path("trace.pb"), "--think-time", "0", *words,
             "--rewrite", self.path("tuned.pb")], capture_output=True, text=True, check=False)
        self.assertEqual(done.returncode, 0, done.stderr)
        found = elements(plumber_tf.load(self.path("tuned.pb")), epochs=3)
        same = [one == other for one, other in zip(found, expected)]
        self.assertEqual(same, [True] * 3, done.stdout)

    def test_a_shuffle_beside_its_repeat(self):
        parsed = Range(60).map(work)
        self.check(mixed(parsed.map(large)).repeat(3).batch(4), "--cores", "4", "--mem", "1M")
        self.check(mixed(parsed).take(-1).repeat(3).map(work).batch(4), "--cores", "2", "--mem",
                   "1G")

    def test_a_shuffle_apart_from_its_repeat(self):
        for put in (lambda one: one.prefetch(2), lambda one: one.batch(8).unbatch()):
            parted = put(mixed(Range(60).map(work)))  # anew: a shuffle goes on with its seeds
            self.check(parted.repeat(3).batch(4), "--cores", "2", "--mem", "1G")

    def test_one_shuffle_over_another(self):
        twice = mixed(mixed(Range(60)).map(work).map(work), seed=5)
        self.check(twice.repeat(3).batch(4), "--cores", "2", "--mem", "1G")


if __name__ == "__main__":
    unittest.main()
