# SPDX-License-Identifier: Apache-2.0
"""The main job on all example pipelines: trace, optimize, rewrite, load, the same elements."""
import json
import subprocess
import unittest

import tensorflow as tf

from support import (PIPELINES, FolderTest, bridge, bridge_process, example_data, plumber_binary,
                     plumber_tf)

# Elements compared in order: more than an epoch where that is small.
ELEMENTS = {"imagenet_eval": 110, "text_tokenize": 720, "zip_fixed": 150, "python_function": 40}


class PipelinesTest(FolderTest):
    def test_every_pipeline_is_looked_at(self):
        tested = {name[len("test_pipeline_"):] for name in dir(self) if "test_pipeline_" in name}
        self.assertEqual(tested, {path.stem for path in PIPELINES.glob("*.py")})

    def test_inline_functions_stay_inline_below_a_batch(self):
        """TensorFlow fuses a map and the batch above it unless the plan's options forbid it."""
        source = self.file("tiny.py", """
import tensorflow as tf
def make():
    return (tf.data.Dataset.range(10 ** 8).map(lambda x: x * 3).filter(lambda x: x % 2 == 0)
            .map(lambda x: x + 1).batch(256))
""")
        done = bridge("trace", f"{source}:make", "--seconds", 1.5, "--no-calibrate",
                      "-o", self.path("trace.pb"))
        self.assertEqual(done.returncode, 0, done.stderr)
        done = self.optimize("--no-cache", "--no-moves")
        self.assertEqual(done.returncode, 0, done.stderr)
        edits = {edit["edit"] for edit in json.loads(
            (self.folder / "plan.json").read_text())["edits"]}
        self.assertLessEqual({"inline", "pass_through_filter", "set_options"}, edits)
        tuned = plumber_tf.load(self.path("tuned.pb"))
        with self.assertRaises(tf.errors.NotFoundError):  # nothing is counted without AUTOTUNE
            tf.data.experimental.get_model_proto(iter(tuned))
        options = tf.data.Options()
        options.autotune.enabled = True
        iterator = iter(tuned.with_options(options))
        self.assertEqual(next(iterator).numpy()[:3].tolist(), [1, 7, 13])
        ran = [node.name for node in
               tf.data.experimental.get_model_proto(iterator).nodes.values()]
        self.assertNotIn("MapAndBatch", ran)
        self.assertEqual(ran.count("Map"), 4)  # two maps, and two around the filter

    def optimize(self, *more):
        return subprocess.run(
            [plumber_binary(), "optimize", self.path("trace.pb"), "--cores", "2", "--mem", "8G",
             *more, "-o", self.path("plan.json"), "--rewrite", self.path("tuned.pb")],
            capture_output=True, text=True, check=False)

    def rewritten(self, name):
        """Traces the naive program and writes the planned one; returns its file and environment."""
        # Python functions are known by the order of their making: a process of its own.
        run = bridge_process if name == "python_function" else bridge
        done = run("trace", f"{PIPELINES / name}.py:make", "--arg", f"data_dir={example_data()}",
                   "--seconds", 2.5, "--no-calibrate", "-o", self.path("trace.pb"))
        self.assertEqual(done.returncode, 0, done.stderr)
        done = self.optimize()
        self.assertEqual(done.returncode, 0, done.stderr)
        plan = json.loads((self.folder / "plan.json").read_text())
        return self.path("tuned.pb"), plan.get("environment") or {}

    def check(self, name, verdict):
        tuned, environment = self.rewritten(name)
        source = f"{PIPELINES / name}.py:make"
        arguments = [("data_dir", example_data())]
        how = {"functions_from": source} if name == "python_function" else {}
        with plumber_tf.Program(source, arguments) as before, plumber_tf.Program(
                tuned, arguments, environment=environment, **how) as after:
            same = plumber_tf.same_elements(before, after, elements=ELEMENTS.get(name, 20))
        self.assertEqual(same.verdict, verdict, same.text)

    def test_pipeline_imagenet_train(self):
        self.check("imagenet_train", "multiset")

    def test_pipeline_imagenet_eval(self):
        self.check("imagenet_eval", "equal")

    def test_pipeline_cached_then_random(self):
        self.check("cached_then_random", "multiset")

    def test_pipeline_bert_gzip(self):
        self.check("bert_gzip", "multiset")

    def test_pipeline_text_tokenize(self):
        self.check("text_tokenize", "equal")

    def test_pipeline_csv_table(self):
        self.check("csv_table", "multiset")

    def test_pipeline_zip_fixed(self):
        self.check("zip_fixed", "equal")

    def test_pipeline_python_function(self):
        self.check("python_function", "equal")


if __name__ == "__main__":
    unittest.main()
