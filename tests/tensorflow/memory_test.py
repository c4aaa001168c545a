# SPDX-License-Identifier: Apache-2.0
"""The memory ledger beside what the process grows by, each pipeline in a process of its own."""
import ctypes
import gc
import json
import subprocess
import sys
import time
import unittest

from support import FolderTest, plumber_binary, plumber_tf
import tensorflow as tf

D = tf.data.Dataset
WITHIN = 0.30


def floats(count):
    return lambda x: tf.cast(tf.fill([count], x), tf.float32)


def endless(count):
    return D.range(1 << 40).map(floats(count))


# name: pipeline, elements to pull (None: an epoch)
CASES = {
    "shuffle of small elements": (lambda: D.range(1 << 40).shuffle(400_000), 5),
    "prefetch": (lambda: endless(25_000).prefetch(800), 5),
    "cache of small elements": (lambda: D.range(300_000).cache(), None),
    "open groups": (lambda: endless(10_000).group_by_window(
        lambda x: tf.cast(x[0], tf.int64) % 20, lambda key, w: w.batch(64), window_size=64), 10),
    "parallel interleave": (lambda: D.range(1000).interleave(
        lambda x: D.range(1 << 40).map(lambda y: tf.cast(tf.fill([50_000], x + y), tf.float32)),
        cycle_length=16, block_length=4, num_parallel_calls=4), 200),
}


def resident_bytes():
    gc.collect()
    ctypes.CDLL("libc.so.6").malloc_trim(0)  # what is free, but kept by the allocator
    with open("/proc/self/status", encoding="ascii") as status:
        return next(int(line.split()[1]) * 1024 for line in status if line.startswith("VmRSS"))


def grow(name, path):
    """Fills the buffers of a pipeline; writes its trace and returns the growth."""
    make, elements = CASES[name]
    list(D.range(10).map(floats(10), num_parallel_calls=2).batch(2).prefetch(1))
    recorder, watched = plumber_tf._prepare(make(), "bare")
    before = resident_bytes()
    iterator = iter(watched)
    for _ in zip(range(elements or 1 << 40), iterator):
        pass
    time.sleep(1)  # prefetches fill
    grown = resident_bytes() - before
    recorder.finish()
    plumber_tf._write(path, recorder.snapshot().SerializeToString())
    return grown


class MemoryTest(FolderTest):
    def test_the_ledger_is_what_the_process_grows_by(self):
        for name in CASES:
            with self.subTest(name):
                path = self.path("t.pb")
                done = subprocess.run([sys.executable, __file__, "--grow", name, path],
                                      capture_output=True, text=True, check=True)
                grown = int(done.stdout)
                done = subprocess.run([plumber_binary(), "analyze", path, "--format", "json"],
                                      capture_output=True, text=True, check=True)
                held = json.loads(done.stdout)["memory"]["held_bytes"]
                self.assertLess(abs(held / grown - 1), WITHIN, (held, grown))


if __name__ == "__main__":
    if sys.argv[1:2] == ["--grow"]:
        print(grow(*sys.argv[2:]))
    else:
        unittest.main()
