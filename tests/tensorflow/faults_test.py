# SPDX-License-Identifier: Apache-2.0
"""What a first user meets: no TensorFlow, a forgotten argument, a file that is not there."""
import contextlib
import functools
import os
import signal
import subprocess
import sys
import unittest

from support import BRIDGE, FolderTest, bridge, plumber_tf

PIPELINES = """
import tensorflow as tf
def lines(file="nowhere.txt", folder=""):
    return tf.data.TextLineDataset(["numbers.txt", folder + file])
def needs(data_dir, split, size=8):
    return tf.data.Dataset.range(size)
def divides():
    return tf.data.Dataset.range(9).map(lambda x: 12 // (3 - x))
"""


class InterruptedTest(FolderTest):
    def test_while_tensorflow_is_imported(self):
        """Quietly, as anywhere else."""
        self.file("tensorflow.py", "import time\nprint('importing', flush=True)\ntime.sleep(60)\n")
        # A shell's background job starts what it runs with SIGINT ignored.
        heeds = functools.partial(signal.signal, signal.SIGINT, signal.SIG_DFL)
        with subprocess.Popen([sys.executable, str(BRIDGE), "calibrate"], text=True,
                              stdout=subprocess.PIPE, stderr=subprocess.PIPE, preexec_fn=heeds,
                              env={**os.environ, "PYTHONPATH": str(self.folder)}) as process:
            self.assertEqual(process.stdout.readline(), "importing\n")
            process.send_signal(signal.SIGINT)
            _, said = process.communicate(timeout=60)
        self.assertEqual((process.returncode, said), (130, "plumber_tf: interrupted\n"))


class PipelineTest(FolderTest):
    def setUp(self):
        super().setUp()
        self.source = self.file("pipeline.py", PIPELINES)

    def test_a_call_without_its_arguments(self):
        for words, problem, hint in (
                ([], "needs: called without data_dir, split", "--arg data_dir=… --arg split=…"),
                (["--arg", "split=1"], "needs: called without data_dir", "--arg data_dir=…"),
                (["--arg", "split=1", "--arg", "data_dir=x", "--arg", "siez=1"],
                 "needs: it takes no siez", "it takes data_dir, split, size")):
            done = bridge("trace", f"{self.source}:needs", *words, "-o", self.path("t.pb"))
            self.assertEqual((done.returncode, done.stderr), (
                3, f"plumber_tf: error: {self.source}:{problem}\nhint: {hint}\n"))

    def test_a_pipeline_that_fails_on_the_way(self):
        self.file("numbers.txt", "1\n2\n")
        with contextlib.chdir(self.folder):
            for folder, hint in (("", "\nhint: nowhere.txt is relative to the folder of"),
                                 (self.path("") + "/", "")):
                done = bridge("trace", f"{self.source}:lines", "--arg", f"folder={folder!r}",
                              "--no-calibrate", "-o", self.path("t.pb"))
                self.assertEqual(done.returncode, 3)
                self.assertIn("plumber_tf: error: the data set: fails at element 2: NotFoundError: "
                              f"{folder}nowhere.txt; No such file or directory{hint}", done.stderr)
                self.assertEqual("hint" in done.stderr, bool(hint))
        done = bridge("trace", f"{self.source}:divides", "--no-calibrate", "-o", self.path("t.pb"))
        self.assertEqual(done.returncode, 3)
        self.assertRegex(done.stderr, r"^plumber_tf: error: the data set: fails at element 3: "
                                      r"InvalidArgumentError: .*ivision by zero.*\n$")

    def test_relative_names_are_warned_of(self):
        self.file("numbers.txt", "1\n2\n")
        with contextlib.chdir(self.folder):
            done = bridge("trace", f"{self.source}:lines", "--arg", "file=numbers.txt", "--seconds",
                          0.2, "--no-calibrate", "-o", self.path("t.pb"))
        self.assertEqual(done.returncode, 0, done.stderr)
        self.assertIn("warning: the program names files relative to "
                      f"{os.path.realpath(self.folder)}, such as numbers.txt: what is made of it "
                      "runs in this folder only", done.stderr)
        warnings = plumber_tf.read_trace(self.path("t.pb")).recorder.warnings
        self.assertIn("names files relative to", warnings[0])
        with self.assertRaisesRegex(plumber_tf.Error, "its first element: NotFoundError: numbers.*"
                                                      "\nhint: numbers.txt is relative to the fol"):
            plumber_tf.check(plumber_tf.load(self.path("t.pb"), traced=True))


class NoTensorFlowTest(FolderTest):
    def run_without(self, *words):
        self.file("tensorflow.py", "raise ModuleNotFoundError('No module', name='tensorflow')\n")
        return subprocess.run([sys.executable, *map(str, words)], capture_output=True, text=True,
                              check=False, env={**os.environ, "PYTHONPATH": str(self.folder)})

    def test_help_works(self):
        for words in (["--help"], ["trace", "--help"]):
            done = self.run_without(BRIDGE, *words)
            self.assertEqual((done.returncode, done.stderr), (0, ""))
            self.assertIn("usage: plumber_tf.py", done.stdout)

    def test_commands_and_programs_say_what_is_missing(self):
        missing = f"plumber_tf.py needs TensorFlow 2.17 or later, which {sys.executable} does not"
        done = self.run_without(BRIDGE, "load", "tuned.pb")
        self.assertEqual((done.returncode, done.stdout), (3, ""))
        self.assertRegex(done.stderr, f"^plumber_tf: error: {missing} have\nhint: pip install "
                                      "'tensorflow>=2.17', or (.*)tensorflow_python.sh makes.*\n$")
        done = self.run_without("-c", f"import sys; sys.path.append({str(BRIDGE.parent)!r})\n"
                                "import plumber_tf")
        self.assertIn(f"ModuleNotFoundError: {missing} have\nhint: pip install", done.stderr)


if __name__ == "__main__":
    unittest.main()
