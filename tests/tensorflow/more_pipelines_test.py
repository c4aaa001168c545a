# SPDX-License-Identifier: Apache-2.0
"""Many shapes of pipelines through the main job: the written program loads and gives the same."""
import re
import resource
import subprocess
import unittest

from support import ROOT, FolderTest, bridge, example_data, plumber_binary, plumber_tf

MORE = ROOT / "testdata" / "more_pipelines.py"
# Their order is random, or another one after any reload.
SHUFFLED = {"one_reader", "cached_images", "fixed_records", "unbatched"}
ELEMENTS = 12


def names():
    return re.findall(r"^def ([a-z]\w*)\(data_dir", MORE.read_text("utf-8"), re.MULTILINE)


def digests(dataset):
    return plumber_tf._digests(dataset, {"elements": ELEMENTS, "seconds": 60})["digests"]


class MorePipelinesTest(FolderTest):
    def written(self, name, *more):
        done = bridge("trace", f"{MORE}:{name}", "--arg", f"data_dir={example_data()}",
                      "--seconds", 0.8, "--no-calibrate", "-o", self.path("trace.pb"))
        self.assertEqual(done.returncode, 0, done.stderr)
        done = subprocess.run(
            [plumber_binary(), "optimize", self.path("trace.pb"), "--cores", "2", "--mem", "8G",
             "--rewrite", self.path("tuned.pb"), *more],
            capture_output=True, text=True, check=False)
        self.assertEqual(done.returncode, 0, done.stderr)
        return plumber_tf.load(self.path("tuned.pb"))

    def test_every_shape_gives_the_same_elements(self):
        self.assertGreaterEqual(len(names()), 12)
        for name in names():
            with self.subTest(name):
                written = self.written(name)
                before = plumber_tf.build(f"{MORE}:{name}", [("data_dir", example_data())])
                self.assertEqual(str(written.element_spec), str(before.element_spec))
                found = digests(written)
                self.assertEqual(len(found), ELEMENTS)
                if name not in SHUFFLED:
                    self.assertEqual(found, digests(before))

    def test_inline_functions_stay_on_their_thread_below_a_batch(self):
        """A call that TensorFlow hands to another thread puts its caller to sleep."""
        elements, calls_each = 20, 6 * 256
        iterator = iter(self.written("tiny_functions", "--no-cache"))
        next(iterator)
        before = resource.getrusage(resource.RUSAGE_SELF).ru_nvcsw
        for _ in range(elements):
            next(iterator)
        slept = resource.getrusage(resource.RUSAGE_SELF).ru_nvcsw - before
        self.assertLess(slept, 0.1 * elements * calls_each)


if __name__ == "__main__":
    unittest.main()
