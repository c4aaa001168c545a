# SPDX-License-Identifier: Apache-2.0
"""What the TensorFlow tests share: the bridge, a temporary folder, the example data, the binary."""
import collections
import contextlib
import functools
import io
import os
import pathlib
import subprocess
import sys
import tempfile
import time
import unittest

ROOT = pathlib.Path(__file__).resolve().parents[2]
BRIDGE = ROOT / "scripts" / "plumber_tf.py"
PIPELINES = ROOT / "testdata" / "pipelines"
sys.path.insert(0, str(ROOT / "scripts"))
os.environ.setdefault("TF_CPP_MIN_LOG_LEVEL", "3")

import plumber_tf  # noqa: E402, F401  (the tests take it from here)


class FolderTest(unittest.TestCase):
    """A test with a temporary folder of its own."""

    def setUp(self):
        folder = tempfile.TemporaryDirectory(prefix="plumber-test-")
        self.addCleanup(folder.cleanup)
        self.folder = pathlib.Path(folder.name)

    def file(self, name, text):
        path = self.folder / name
        path.write_text(text, encoding="utf-8")
        return path

    def path(self, name):
        return str(self.folder / name)

    def retried(self, check, times=3):
        """A machine that works for others meanwhile disturbs a measurement: once right is right."""
        for attempt in range(times):
            try:
                return check()
            except AssertionError:
                if attempt < times - 1:
                    continue
                if os.getloadavg()[0] > len(os.sched_getaffinity(0)):
                    self.skipTest("others use the cores: no measurement is exact")
                raise


def measured(tests):
    """Each test of a class is tried again as retried() says."""
    def again(test):
        return functools.wraps(test)(lambda self: self.retried(lambda: test(self)))
    for name, test in list(vars(tests).items()):
        if name.startswith("test"):
            setattr(tests, name, again(test))
    return tests


def record(dataset, seconds, path, least=20):
    """As plumber_tf.record, but from the first element on and of `least` elements: a slow machine
    may take all of so few seconds for making the iterator, and then nothing is known."""
    recorder, watched = plumber_tf._prepare(dataset, "bare")
    end, count = None, 0
    while end is None or count < least or time.monotonic() < end:
        for _ in watched:
            count += 1
            end = end or time.monotonic() + seconds
            if count >= least and time.monotonic() >= end:
                break
        if not count:
            raise plumber_tf.Error("the data set is empty")
    recorder.finish()
    plumber_tf._write(str(path), recorder.snapshot().SerializeToString())
    return recorder


Done = collections.namedtuple("Done", "returncode stdout stderr")


def bridge(*arguments):
    """Runs a command of the bridge in this process: TensorFlow takes seconds to start."""
    with contextlib.redirect_stdout(io.StringIO()) as out, captured_stderr() as err:
        try:
            code = plumber_tf.main([str(word) for word in arguments])
        except SystemExit as exit_:  # usage
            code = exit_.code
    return Done(code, out.getvalue(), err.getvalue())


def bridge_process(*arguments, **environment):
    """The same as a program of its own."""
    done = subprocess.run([sys.executable, str(BRIDGE), *map(str, arguments)], text=True,
                          capture_output=True, check=False, timeout=300,
                          env={**os.environ, **environment})
    return Done(done.returncode, done.stdout, done.stderr)


@functools.lru_cache(maxsize=None)
def example_data():
    """The folder of the example data, made once a test program."""
    folder = tempfile.TemporaryDirectory(prefix="plumber-data-")
    example_data.keep = folder  # removed at the end of the process
    subprocess.run([sys.executable, str(ROOT / "scripts" / "make_testdata.py"), folder.name],
                   check=True, capture_output=True)
    return folder.name


def plumber_binary():
    """The built binary, by the environment; tests that need it are skipped without one."""
    path = os.environ.get("PLUMBER", "")
    if not os.access(path, os.X_OK):
        raise unittest.SkipTest("PLUMBER names no program: build it first")
    return path


@contextlib.contextmanager
def captured_stderr():
    text = io.StringIO()
    with contextlib.redirect_stderr(text):
        yield text


def totals(snapshot):
    """Elements by name of model node, over all iterators."""
    counts = {}
    for node in snapshot.model.nodes.values():
        counts[node.name] = counts.get(node.name, 0) + node.num_elements
    return counts
