# SPDX-License-Identifier: Apache-2.0
"""Programs that once gave wrong elements after a rewrite, or did not load: randomness whose order
matters, data sets mixed at random, state that the program shares with its process."""
import json
import subprocess
import unittest

from rewriting import Range, RewriteTest, all_ops, elements
from support import bridge_process, plumber_binary, plumber_tf, record
import tensorflow as tf

TEXT = tf.constant("x" * 1_000_000)  # half a millisecond of work for one thread
SMALL = tf.TensorSpec([], tf.int64)


def work(x):
    """x, after some work that would be worth another thread."""
    return x + 0 * tf.strings.to_hash_bucket_strong(TEXT, 1000, [1, 2])


class OptimizeTest(RewriteTest):
    """optimize() traces a data set, and runs the command on the trace: the plan, and what it says
    on stderr."""

    def optimize(self, dataset, *words, seconds=0.3):
        record(dataset, seconds, self.path("trace.pb"))
        return self.optimize_trace(*words)

    def optimize_trace(self, *words):
        done = subprocess.run(
            [plumber_binary(), "optimize", self.path("trace.pb"), "--cores", "8", "--mem", "8G",
             "--format", "json", "-o", self.path("plan.json"), "--rewrite", self.path("tuned.pb"),
             *words], capture_output=True, text=True, check=False)
        self.assertEqual(done.returncode, 0, done.stderr)
        with open(self.path("plan.json"), encoding="utf-8") as file:
            return json.load(file), done.stderr

    def analyze(self):
        done = subprocess.run([plumber_binary(), "analyze", self.path("trace.pb"), "--format",
                               "json"], capture_output=True, text=True, check=False)
        self.assertEqual(done.returncode, 0, done.stderr)
        return json.loads(done.stdout)

    def tuned(self):
        return plumber_tf.load(self.path("tuned.pb"))

    def changed(self, plan):
        return {edit["node"].split("/")[0]: edit["edit"] for edit in plan["edits"]}


class RandomOrderTest(OptimizeTest):
    """Random values of a seed belong to the elements that got them."""

    def check_sequential(self, dataset):
        plan, _ = self.optimize(dataset)
        self.assertNotIn(self.changed(plan).get("MapDataset"), ("convert", "parallel_inline"))
        plan, _ = self.optimize(dataset, "--allow", "stateful-parallel")
        self.assertIn(self.changed(plan).get("MapDataset"), ("convert", "parallel_inline"))

    def test_a_generator_object(self):
        generator = tf.random.Generator.from_seed(7)
        self.check_sequential(Range(500).map(
            lambda x: (work(x), generator.uniform([], maxval=9, dtype=tf.int64))))

    def test_an_op_with_a_seed(self):
        dataset = Range(500).map(lambda x: (work(x), tf.random.uniform([], seed=3)))
        self.check_sequential(dataset)
        self.optimize(dataset)
        self.assertEqual(elements(self.tuned().take(20), 1), elements(dataset.take(20), 1))

    def test_options_that_give_up_the_order(self):
        """The user's own deterministic=False stays, and a plan for it may use it."""
        options = tf.data.Options()
        options.deterministic = False
        dataset = Range(300).map(work, num_parallel_calls=2).with_options(options)
        self.optimize(dataset)
        self.assertIs(self.tuned().options().deterministic, False)
        self.assertEqual(sorted(int(x) for x in self.tuned()), list(range(300)))
        strict = Range(300).map(work, num_parallel_calls=2, deterministic=True)
        self.optimize(strict.with_options(options))
        self.assertEqual([int(x) for x in self.tuned()], list(range(300)))


class MixtureTest(OptimizeTest):
    """A cache would freeze the draw of one epoch."""

    def cache_of(self, dataset):
        record(dataset, 0.2, self.path("trace.pb"))
        root = next(node for node in reversed(self.analyze()["nodes"])
                    if node["op"] == "DirectedInterleaveDataset")
        return root["cache"]

    def test_sampled(self):
        parts = [Range(30), Range(100, 150)]
        for stops, frozen in ((True, "content"), (False, "order")):
            mixed = tf.data.Dataset.sample_from_datasets(parts, [0.5, 0.5],
                                                         stop_on_empty_dataset=stops)
            cache = self.cache_of(mixed)
            self.assertEqual((cache["class"], cache["legal"]), (frozen, False))

    def test_chosen_by_a_finite_random_selector(self):
        choice = tf.data.Dataset.random(rerandomize_each_iteration=True).map(
            lambda x: x % 2).take(20)
        mixed = tf.data.Dataset.choose_from_datasets([Range(30), Range(100, 150)], choice)
        self.assertEqual(self.cache_of(mixed)["class"], "content")

    def test_chosen_in_turn(self):
        mixed = tf.data.Dataset.choose_from_datasets([Range(30), Range(100, 150)],
                                                     Range(2).repeat(10))
        self.assertEqual(self.cache_of(mixed)["class"], "exact")


class SharedStateTest(OptimizeTest):
    """What a program shares with its process, a file cannot hold."""

    def test_one_shuffle_used_twice(self):
        shuffled = Range(40).map(work).shuffle(40)
        dataset = tf.data.Dataset.zip(shuffled, shuffled)
        record(dataset, 0.3, self.path("trace.pb"))
        done = subprocess.run(
            [plumber_binary(), "optimize", self.path("trace.pb"), "--cores", "8", "--mem", "8G",
             "--rewrite", self.path("tuned.pb")], capture_output=True, text=True, check=False)
        self.assertNotEqual(done.returncode, 0)
        self.assertFalse((self.folder / "tuned.pb").exists())
        self.assertRegex(done.stderr, "ShuffleDatasetV3")

    def test_a_variable_is_frozen(self):
        scale = tf.Variable(3, dtype=tf.int64)
        dataset = Range(300).map(lambda x: work(x) * scale)
        _, said = self.optimize(dataset)
        self.assertRegex(said, "MapDataset.*: its function reads a variable; a written program "
                               "keeps the value")

    def test_python_function(self):
        """py_function's node stands on a device, which a loading process would not know."""
        dataset = Range(40).map(lambda x: tf.py_function(lambda v: v * 2, [x], tf.int64))
        graph = plumber_tf.serialize(dataset)
        self.assertIn("EagerPyFunc", all_ops(graph))
        self.assertEqual({node.device for node in plumber_tf.all_nodes(graph)}, {""})
        self.optimize(dataset)
        loaded = tf.data.experimental.from_variant(
            tf.data.experimental.to_variant(self.tuned()), SMALL)
        self.assertEqual([int(x) for x in loaded], [2 * x for x in range(40)])

    def test_optional_elements(self):
        dataset = Range(8).map(tf.experimental.Optional.from_value)
        graph = plumber_tf.serialize(dataset)
        loaded = plumber_tf.load(graph)
        self.assertEqual(loaded.element_spec, dataset.element_spec)
        self.assertEqual([int(x.get_value()) for x in loaded], list(range(8)))

    def test_prefetch_to_device(self):
        program = self.file("device.py", "import tensorflow as tf\n"
                            "def make():\n"
                            "    return tf.data.Dataset.range(9).apply(\n"
                            "        tf.data.experimental.prefetch_to_device('/cpu:0'))\n")
        done = bridge_process("trace", f"{program}:make", "--seconds", 0.2, "--no-calibrate", "-o",
                              self.path("t.pb"))
        self.assertEqual(done.returncode, 3)
        self.assertIn("TensorFlow cannot write this data set as a program", done.stderr)
        self.assertIn("hint: leave out what is tied to this process, such as prefetch_to_device",
                      done.stderr)


class OwnStateTest(unittest.TestCase):
    """State that a program shares with its process goes by names that are numbered in each process:
    a program of another one has the names of data sets here."""

    def named_like(self, dataset, alive):
        graph = plumber_tf.serialize(dataset)
        here = plumber_tf.handles(plumber_tf.serialize(alive))
        plumber_tf._rename_handles(graph, dict(zip(plumber_tf.handles(graph), here)))
        return graph

    def test_a_shuffle_draws_for_itself(self):
        def make(length):
            return Range(length).shuffle(40, seed=5).batch(5)
        expected = elements(make(40), epochs=3)
        for length in (40, 9):
            alive = make(length)
            program = self.named_like(make(40), alive)
            elements(alive)
            loaded, again = plumber_tf.load(program), plumber_tf.load(program)
            self.assertEqual(elements(loaded, epochs=3), expected)
            self.assertEqual(elements(again, epochs=3), expected)

    def test_a_cache_keeps_its_own_elements(self):
        def make(factor):
            return Range(4).map(lambda x: x * factor).cache().batch(2)
        alive = make(1)
        elements(alive)
        self.assertEqual(elements(plumber_tf.load(self.named_like(make(3), alive))),
                         elements(make(3)))


if __name__ == "__main__":
    unittest.main()
