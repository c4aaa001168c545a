# SPDX-License-Identifier: Apache-2.0
"""Traces of the bridge: both modes, counts against the truth, dumps, refusals."""
import contextlib
import os
import pathlib
import pty
import subprocess
import sys
import textwrap
import time
import unittest

from support import BRIDGE, FolderTest, bridge, captured_stderr, plumber_tf, record, totals
import tensorflow as tf

COUNTING = """
import tensorflow as tf
def make(n=1000, per_s=2000):
    wait = lambda x: tf.numpy_function(lambda v: (__import__("time").sleep(1 / per_s), v)[1],
                                       [x], tf.int64)
    return tf.data.Dataset.range(n).map(wait).repeat().batch(10)
def numbers(n=20):
    print("words of the user's own")
    return tf.data.Dataset.range(n)
def empty():
    return tf.data.Dataset.range(0)
def broken():
    raise RuntimeError("no such bucket")
def wrong():
    return [1, 2, 3]
"""


SLOW = """
import time
import tensorflow as tf
def wait(x):
    time.sleep(1.6)
    return x
def make():
    return tf.data.Dataset.range(9).map(lambda x: tf.numpy_function(wait, [x], tf.int64))
"""


class BareTraceTest(FolderTest):
    def setUp(self):
        super().setUp()
        self.source = self.file("counting.py", COUNTING)

    def test_counts_and_facts(self):
        self.retried(self.check_counts_and_facts)

    def check_counts_and_facts(self):
        done = bridge("trace", f"{self.source}:make", "--arg", "n=400", "--seconds", 1.5,
                      "--no-calibrate", "-o", self.path("t.pb"))
        self.assertEqual((done.returncode, done.stdout), (0, ""))
        self.assertRegex(done.stderr, r"^wrote \S*t\.pb: \d+ elements in 1\.\d s \(\S+/s\)\n$")
        snapshot = plumber_tf.read_trace(self.path("t.pb"))
        counts = totals(snapshot)
        self.assertEqual(counts["Root"], counts["BatchV2"])
        self.assertIn(counts["ForeverRepeat"] - 10 * counts["Root"], range(2))
        # Epochs of 0.2 s, looked at every 20 ms: what the dead iterators of finished epochs
        # counted is kept, but for up to one interval each.
        self.assertGreater(counts["ForeverRepeat"], 800)
        self.assertGreater(counts["Map"], 0.85 * counts["ForeverRepeat"])
        self.assertLessEqual(counts["Map"], counts["ForeverRepeat"] + 1)
        repeat = next(n for n in snapshot.model.nodes.values() if n.name == "ForeverRepeat")
        self.assertGreaterEqual(len(repeat.inputs), counts["ForeverRepeat"] // 400)
        self.check_facts(snapshot)

    def check_facts(self, snapshot):
        facts, times = snapshot.recorder, snapshot.snapshot_info
        self.assertEqual((facts.mode, facts.tensorflow_version), ("bare", tf.__version__))
        self.assertEqual(facts.cores_allowed, len(os.sched_getaffinity(0)))
        self.assertTrue(0.01 <= facts.polling_interval_s < 0.2, facts.polling_interval_s)
        self.assertAlmostEqual((times.current_time - times.start_time) / 1e9, 1.5, delta=0.5)
        cpu_s = (times.process_current_time - times.process_start_time) / 1e9
        self.assertTrue(0 < facts.pipeline_cpu_s <= cpu_s)
        self.assertFalse(facts.HasField("calibration"))
        self.assertGreater(facts.memory_total_bytes, 1 << 28)
        self.assertEqual(snapshot.machine_info.num_cores, os.cpu_count())
        self.assertIsNone(plumber_tf.spec_from_text(facts.element_spec).shape.rank)
        self.assertTrue(snapshot.model.gap_times)
        self.assertTrue(all(0 < fill.mean_elements <= fill.max_elements
                            for fill in facts.buffer_fill))

    def test_the_users_own_program_is_stored(self):
        done = bridge("trace", f"{self.source}:numbers", "--seconds", 0.3, "--no-calibrate",
                      "-o", self.path("t.pb"))
        self.assertEqual(done.returncode, 0, done.stderr)
        graph = plumber_tf.read_trace(self.path("t.pb")).graph
        options = [n for n in graph.node if n.op == "OptionsDataset"]
        for node in options:  # TensorFlow adds one without content
            text = node.attr["serialized_options"].s
            self.assertNotIn(b"\x08\x00", text)
        loaded = plumber_tf.load(self.path("t.pb"), traced=True)
        self.assertEqual([int(x) for x in loaded], list(range(20)))

    def test_an_option_that_tensorflow_dies_of_without_its_default_rewrites(self):
        """The recorder switches the default rewrites off, and the fusion with them."""
        numbers = tf.data.Dataset.range(50).map(lambda x: x + 1)
        chosen = numbers.filter(lambda x: x % 3 != 0).filter(lambda x: x >= 0)
        options = tf.data.Options()
        options.experimental_optimization.map_and_filter_fusion = True
        for defaults, warned in ((None, 0), (False, 1)):
            if defaults is False:
                options.experimental_optimization.apply_default_optimizations = False
            recorder = record(chosen.with_options(options), 0.1, self.path("t.pb"), least=34)
            self.assertGreater(recorder.elements(), 33)
            said = [text for text in recorder.warnings if "map_and_filter_fusion" in text]
            self.assertEqual(len(said), warned, recorder.warnings)

    def test_a_finite_data_set_begins_again(self):
        done = bridge("trace", f"{self.source}:numbers", "--seconds", 0.5, "--no-calibrate",
                      "-o", self.path("t.pb"))
        self.assertEqual(done.returncode, 0, done.stderr)
        snapshot = plumber_tf.read_trace(self.path("t.pb"))
        model = snapshot.model
        roots = [n for n in model.nodes.values() if n.name == "Root"]
        self.assertEqual(len(roots), 1)
        self.assertGreater(roots[0].num_elements, 20)
        self.assertGreater(len(roots[0].inputs), 1)
        for number, node in model.nodes.items():
            self.assertEqual(number, node.id)
            self.assertTrue(all(i in model.nodes for i in node.inputs))

    def test_an_element_that_takes_longer_than_the_trace_is_told(self):
        source = self.file("slow.py", SLOW)
        done = bridge("trace", f"{source}:make", "--seconds", 0.2, "--no-calibrate",
                      "-o", self.path("t.pb"))
        self.assertEqual(done.returncode, 0, done.stderr)
        self.assertRegex(done.stderr,
                         r"warning: recorded for \d+\.\d+ s instead of 0\.2: an element")

    def test_dumps(self):
        done = bridge("trace", f"{self.source}:make", "--seconds", 1.6, "--every", 0.5,
                      "--no-calibrate", "-o", self.path("dumps"))
        self.assertEqual(done.returncode, 0, done.stderr)
        files = sorted(pathlib.Path(self.path("dumps")).iterdir())
        self.assertEqual([f.name for f in files], [f"{i:04d}.pb" for i in range(len(files))])
        self.assertGreaterEqual(len(files), 3)
        traces = [plumber_tf.read_trace(f) for f in files]
        self.assertEqual(len({t.snapshot_info.start_time for t in traces}), 1)
        for before, after in zip(traces, traces[1:]):
            self.assertEqual(before.graph, after.graph)
            self.assertLess(before.snapshot_info.current_time, after.snapshot_info.current_time)
            self.assertLessEqual(totals(before)["Root"], totals(after)["Root"])

    def test_source_files(self):
        lines = self.file("lines.txt", "a\nb\n" * 100)
        self.file("reads.py", f"""
import tensorflow as tf
def make():
    read = lambda f: tf.data.TextLineDataset(f)
    inner = lambda x: tf.data.TextLineDataset({str(self.folder / 'inner.txt')!r}).take(1)
    return (tf.data.Dataset.from_tensor_slices([{str(lines)!r}]).interleave(read)
            .flat_map(inner).repeat())
""")
        self.file("inner.txt", "x\n")
        done = bridge("trace", self.path("reads.py") + ":make", "--seconds", 0.3,
                      "--no-calibrate", "-o", self.path("t.pb"))
        self.assertEqual(done.returncode, 0, done.stderr)
        snapshot = plumber_tf.read_trace(self.path("t.pb"))
        expected = [(self.path("inner.txt"), 2), (str(lines), 400)]
        for files in (snapshot.recorder.source_files, snapshot.ctx_info.file_sizes):
            self.assertEqual([(f.name, f.size_bytes) for f in files], expected)

    def test_bad_input(self):
        cases = {
            "nowhere.py:make": "nowhere.py: no such file",
            f"{self.source}:mak": "no function 'mak'\nhint: it has make",
            f"{self.source}": "not of the form PIPELINE.py:function",
            f"{self.source}:empty": "the data set is empty",
            f"{self.source}:broken": "RuntimeError: no such bucket",
            f"{self.source}:wrong": "not a tf.data.Dataset but a list"}
        for pipeline, problem in cases.items():
            done = bridge("trace", pipeline, "--no-calibrate", "-o", self.path("t.pb"))
            self.assertEqual(done.returncode, 3, pipeline)
            self.assertIn("plumber_tf: error: ", done.stderr)
            self.assertIn(problem, done.stderr)
            self.assertFalse(os.path.exists(self.path("t.pb")))
        for words in (["--seconds", "-1"], ["--arg", "x"], ["--what"]):
            done = bridge("trace", f"{self.source}:numbers", *words)
            self.assertEqual(done.returncode, 2, words)

    def test_output_that_cannot_be_written(self):
        done = bridge("trace", f"{self.source}:numbers", "--seconds", 0.2, "--no-calibrate",
                      "-o", self.path("no/folder/t.pb"))
        self.assertEqual(done.returncode, 3)
        self.assertIn("cannot write: No such file or directory", done.stderr)
        done = bridge("trace", f"{self.source}:numbers", "--seconds", 0.2, "--no-calibrate",
                      "-o", "/dev/full")
        self.assertEqual(done.returncode, 3)
        self.assertIn("/dev/full: cannot write: No space left on device", done.stderr)

    def test_progress_bar_on_a_terminal_only(self):
        command = ["trace", f"{self.source}:numbers", "--seconds", "0.5", "--no-calibrate", "-o",
                   self.path("t.pb")]
        self.assertNotIn("tracing [", bridge(*command).stderr)
        ours, theirs = pty.openpty()
        self.addCleanup(os.close, ours)
        with open(theirs, "w", encoding="utf-8") as terminal:
            with contextlib.redirect_stderr(terminal):
                self.assertEqual(plumber_tf.main(command), 0)
            terminal.write("the end")
        shown = ""
        while "the end" not in shown:
            shown += os.read(ours, 1 << 16).decode()
        self.assertIn("\rtracing [", shown)
        self.assertIn("\r\x1b[K", shown)


def slow_numbers(n, seconds=0.001):
    """A data set of n numbers that takes its time in TensorFlow, not in Python."""
    text = "x" * int(seconds * 3e8)
    return tf.data.Dataset.from_tensors(text).repeat(n).map(
        lambda s: tf.strings.to_hash_bucket_strong(s, 1000, [1, 2]))


class TrainingTraceTest(FolderTest):
    def trace(self, dataset, **how):
        return plumber_tf.trace(dataset, self.path("t.pb"), calibrate=False, **how)

    def read(self):
        return plumber_tf.read_trace(self.path("t.pb"))

    def test_plain_loop(self):
        with self.trace(slow_numbers(100).repeat(3).batch(10)) as dataset:
            for _ in dataset:
                time.sleep(0.002)
        snapshot = self.read()
        self.assertEqual(snapshot.recorder.mode, "training")
        self.assertEqual(snapshot.recorder.pipeline_cpu_s, 0)  # not to be told from the training's
        self.assertEqual(totals(snapshot)["Root"], 30)
        self.assertGreater(sum(snapshot.model.gap_times) / len(snapshot.model.gap_times), 2000)

    def test_every_epoch_of_a_loop(self):
        with self.trace(slow_numbers(60)) as dataset:
            for _ in range(3):
                for _ in dataset:
                    pass
        counts = totals(self.read())
        self.assertEqual(counts["Root"], 180)

    def test_default_rewrites_stay_on(self):
        with self.trace(slow_numbers(200).batch(2)) as dataset:
            for _ in dataset:
                pass
        self.assertIn("MapAndBatch", totals(self.read()))

    def test_next_on_an_iterator_and_a_loop_that_stops(self):
        with self.trace(slow_numbers(1000).repeat()) as dataset:
            iterator = iter(dataset)
            for _ in range(50):
                next(iterator)
            for index, _ in enumerate(dataset):
                if index == 9:
                    break
        self.assertEqual(totals(self.read())["Root"], 60)

    def test_a_loop_that_fails_is_recorded(self):
        with self.assertRaisesRegex(ZeroDivisionError, "x"):
            with self.trace(slow_numbers(100)) as dataset:
                for _ in dataset:
                    raise ZeroDivisionError("x")
        self.assertEqual(totals(self.read())["Root"], 1)

    def test_dumps(self):
        deadline_s = time.monotonic() + 60
        with self.trace(slow_numbers(2000).repeat(), every=0.2) as dataset:
            for _ in dataset:  # until two dumps are there, however slow or fast the machine is
                if self.dumps() >= 2 or time.monotonic() > deadline_s:
                    break
        self.assertGreaterEqual(self.dumps(), 2)

    def dumps(self):
        folder = self.path("t.pb")
        return len(os.listdir(folder)) if os.path.isdir(folder) else 0

    def test_autotune_that_was_off(self):
        options = tf.data.Options()
        options.autotune.enabled = False
        with captured_stderr() as stderr:
            with self.trace(slow_numbers(50).with_options(options)) as dataset:
                list(dataset)
        self.assertIn("warning: autotune was off in the options; it was on", stderr.getvalue())
        snapshot = self.read()
        self.assertIn("autotune was off", snapshot.recorder.warnings[0])
        self.assertEqual(totals(snapshot)["Root"], 50)
        loaded = plumber_tf.load(self.path("t.pb"), traced=True)
        self.assertIs(loaded.options().autotune.enabled, False)  # the program is the user's own
        self.assertTrue(snapshot.recorder.user_options)

    def test_keras_fit(self):
        pairs = slow_numbers(64).map(lambda x: (tf.fill([4], tf.cast(x, tf.float32)),
                                                tf.cast(x, tf.float32))).batch(8)
        model = tf.keras.Sequential([tf.keras.layers.Dense(1)])
        model.compile(loss="mse")
        with self.trace(pairs) as dataset:
            model.fit(dataset, epochs=3, verbose=0)
        self.assertGreaterEqual(totals(self.read())["Root"], 24)
        self.assertLessEqual(totals(self.read())["Root"], 24 + 3)  # Keras looks at first elements
        with self.trace(pairs.repeat()) as dataset:
            model.fit(dataset, epochs=2, steps_per_epoch=10, verbose=0)
        self.assertGreaterEqual(totals(self.read())["Root"], 20)
        self.assertLessEqual(totals(self.read())["Root"], 20 + 3)
        self.assertTrue(self.read().model.gap_times)


class RefusalTest(FolderTest):
    def refused(self, problem, dataset):
        with self.assertRaisesRegex(plumber_tf.Error, problem):
            with plumber_tf.trace(dataset, self.path("t.pb"), calibrate=False) as traced:
                next(iter(traced))

    def test_distributed_data_sets(self):
        strategy = tf.distribute.MirroredStrategy(["cpu:0"])
        dataset = tf.data.Dataset.range(8).batch(2)
        self.refused("a distributed data set cannot be traced(.|\n)*before",
                     strategy.experimental_distribute_dataset(dataset))
        with strategy.scope():
            self.refused("scope is not supported", dataset)

    def test_what_is_no_data_set(self):
        self.refused("not a tf.data.Dataset but a list", [1, 2])

    def test_iterated_in_a_graph_or_not_at_all(self):
        @tf.function
        def total(dataset):
            result = tf.constant(0, tf.int64)
            for x in dataset:
                result += x
            return result

        with self.assertRaisesRegex(plumber_tf.Error, "never iterated(.|\n)*tf.function"):
            with plumber_tf.trace(tf.data.Dataset.range(8), self.path("t.pb"),
                                  calibrate=False) as traced:
                total(traced)

    def test_graph_mode(self):
        program = textwrap.dedent(f"""
            import sys; sys.path.insert(0, {str(BRIDGE.parent)!r})
            import plumber_tf, tensorflow as tf
            tf.compat.v1.disable_eager_execution()
            with plumber_tf.trace(tf.data.Dataset.range(3), "t.pb"): pass
            """)
        done = subprocess.run([sys.executable, "-c", program], capture_output=True, text=True,
                              cwd=self.folder, check=False)
        self.assertIn("TensorFlow is in graph mode", done.stderr)


class MachineTest(FolderTest):
    """Limits of control groups, both versions, anywhere from the process's group to the root."""

    def limits(self, membership, **files):
        for name, text in files.items():
            path = self.folder.joinpath("cgroup", *name.split("__"))
            path.parent.mkdir(parents=True, exist_ok=True)
            (path.parent / path.name.replace("_D_", ".")).write_text(text + "\n")
        groups = self.file("self", membership)

        def folders(controller):
            return list(plumber_tf._cgroup_folders(controller, self.path("cgroup"), groups))
        cpu = [plumber_tf._cpu_quota(f) for f in folders("cpu")]
        memory = [plumber_tf._memory_limit(f) for f in folders("memory")]
        return cpu, memory

    def test_version_2(self):
        cpu, memory = self.limits("0::/user/job\n", user__job__cpu_D_max="150000 100000",
                                  user__cpu_D_max="max 100000", user__memory_D_max="4096")
        self.assertEqual((cpu, memory), ([1.5, 0, 0], [0, 4096, 0]))

    def test_version_1(self):
        cpu, memory = self.limits(
            "4:memory:/job\n2:cpu,cpuacct:/job\n", cpu__job__cpu_D_cfs_quota_us="50000",
            cpu__job__cpu_D_cfs_period_us="100000", cpu__cpu_D_cfs_quota_us="-1",
            cpu__cpu_D_cfs_period_us="100000", memory__job__memory_D_limit_in_bytes="8192",
            memory__memory_D_limit_in_bytes="9223372036854771712")
        self.assertEqual((cpu, memory), ([0.5, 0], [8192, 0]))


if __name__ == "__main__":
    unittest.main()
