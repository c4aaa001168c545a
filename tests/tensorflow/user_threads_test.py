# SPDX-License-Identifier: Apache-2.0
"""What users of tf.data ask in public, each as a small pipeline of its shape: the analysis names
what the answer was. What no trace of one pipeline shows, and why:
  two programs or two releases beside each other   `plumber_tf.py compare`
  the fingerprint of a snapshot    it is made anew in each run, a trace is of one
  the tf.data service              its workers' iterators are in other processes
  crashes and warnings of TensorFlow itself, loaders that are not tf.data
  a profiler without a result      every golden test has one
  waiting for a network or a disk  tests/golden/threads
"""
import json
import subprocess
import time
import unittest

from support import FolderTest, measured, plumber_binary, plumber_tf
import tensorflow as tf

tf.get_logger().setLevel("ERROR")  # deprecated ways to make ops are asked about, too
D = tf.data.Dataset
X = tf.data.experimental
AUTOTUNE = tf.data.AUTOTUNE
SECONDS = 0.4
TEXT = tf.constant("x" * 1_000_000)  # half a millisecond for one thread
MIB = 1 << 20


def work(x, times=1):
    """The element itself, with work on one thread."""
    for seed in range(times):
        x += 0 * tf.strings.to_hash_bucket_strong(TEXT, 1000, [1, 2 + seed])
    return x


def random_work(x):
    """TensorFlow makes no parallel map of it."""
    return work(x, 4) + tf.random.uniform([], 0, 5, tf.int64)


def light(x):
    return x + 1


def large(x, bytes_=MIB):
    return tf.fill([bytes_ // 4], tf.cast(x, tf.float32))


def number(record):
    return tf.cast(tf.strings.length(record), tf.int64)


def python(x):
    def body(value):
        return value + 0 * sum(range(30_000))
    return tf.numpy_function(body, [x], tf.int64)


def numbers(n=1 << 40):
    return D.range(n)


class ThreadsTest(FolderTest):
    def traced(self, dataset, seconds=SECONDS):
        plumber_tf.record(dataset, seconds, self.path("t.pb"))
        return self.plumber("analyze")

    def plumber(self, command, *options):
        done = subprocess.run([plumber_binary(), command, self.path("t.pb"), *options,
                               "--format", "json"], capture_output=True, text=True, check=False)
        self.assertIn(done.returncode, (0, 1), done.stderr)
        return json.loads(done.stdout)

    def finding(self, analysis, name):
        found = {f["id"]: f for f in analysis["findings"]}
        self.assertIn(name, found)
        return found[name]

    def limits(self, analysis, op, function=None):
        """The op (and its function) is the bottleneck's first."""
        first = analysis["bottleneck"]["nodes"][0]
        node = next(n for n in analysis["nodes"] if n["name"] == first)
        self.assertEqual((node["op"], node["function"]), (op, function), analysis["bottleneck"])

    def held(self, analysis, what):
        return sum(i["bytes"] for i in analysis["memory"]["items"] if i["what"] == what)

    def records(self, count=4, each=200, length=1000):
        paths = [self.path(f"{k}.tfrecord") for k in range(count)]
        for path in paths:
            with tf.io.TFRecordWriter(path) as writer:
                for _ in range(each):
                    writer.write(b"r" * length)
        return paths


@measured
class Parallelism(ThreadsTest):
    def test_what_autotune_chose_and_the_op_that_caps_at_one_core(self):
        analysis = self.traced(numbers().map(work, AUTOTUNE).map(random_work).batch(4).prefetch(
            AUTOTUNE))
        self.limits(analysis, "MapDataset", "random_work")
        tuned = [n for n in analysis["nodes"] if n["autotuned"]]
        self.assertEqual({n["op"] for n in tuned}, {"ParallelMapDatasetV2", "PrefetchDataset"})
        self.assertGreaterEqual(tuned[0]["parallelism"], 1)

    def test_the_buffer_that_autotune_chose_its_fill_and_its_bytes(self):
        analysis = self.traced(numbers().map(lambda x: large(work(x))).prefetch(AUTOTUNE))
        (buffer,) = analysis["buffers"]
        self.assertTrue(buffer["autotuned"])
        self.assertGreaterEqual(buffer["capacity"], 1)
        self.assertEqual(buffer["level"], "empty")  # one thread makes what is taken at once
        self.assertGreaterEqual(self.held(analysis, "prefetch"), MIB)

    def test_more_calls_of_python_do_not_help(self):
        found = self.finding(self.traced(numbers().map(python, AUTOTUNE), 0.6), "python-lock")
        self.assertIn("cannot help", found["text"])

    def test_one_step_in_parallel_and_the_sequential_one_before_it(self):
        dataset = tf.data.TFRecordDataset(self.records()).repeat().map(
            lambda r: work(number(r), 3)).prefetch(8).shuffle(16)
        dataset = dataset.map(light, AUTOTUNE).prefetch(2).batch(8)
        analysis = self.traced(dataset)
        self.limits(analysis, "MapDataset", "lambda")
        self.assertGreater(self.finding(analysis, "sequential-op")["gain_per_s"], 0)

    def test_a_busy_accelerator_leaves_cores_idle(self):
        with plumber_tf.trace(numbers().map(work, 2).batch(2).prefetch(2), self.path("t.pb"),
                              calibrate=False) as watched:
            for _ in zip(range(30), watched):  # the time after the last one counts
                time.sleep(0.05)
        analysis = self.plumber("analyze")
        self.assertEqual(analysis["verdict"], "consumer-bound")
        self.assertEqual([f for f in analysis["findings"] if f["severity"] == "warning"], [])
        self.assertEqual({b["level"] for b in analysis["buffers"] if "Prefetch" in b["node"]},
                         {"full"})

    def test_the_sequential_rest_caps_a_parallel_map(self):
        dataset = D.from_tensors(large(0, 4 * MIB)).repeat()
        analysis = self.traced(dataset.map(lambda t: (t, tf.shape(t)), 3).batch(8))
        self.assertEqual(analysis["bottleneck"]["kind"], "thread")
        self.limits(analysis, "BatchDatasetV2")

    def test_cores_are_dealt_out_to_all_ops_at_once(self):
        self.traced(numbers().map(lambda x: work(x, 3), 1).map(work, 1).batch(4))
        plan = self.plumber("optimize", "--cores", "16", "--mem", "4G", "--model", "paper")
        theta = {t["node"].split("/")[0] + str(i): t["cores"]
                 for i, t in enumerate(plan["lp"]["theta"])}
        self.assertLessEqual(sum(theta.values()), 16 + 1e-6)
        self.assertGreater(max(theta.values()), 6)

    def test_more_calls_than_cores(self):
        self.finding(self.traced(numbers().map(work, 64)), "many-calls")

    def test_deepreg_720_and_tf_yarn_13_fewer_cores_than_the_host_has(self):
        self.traced(numbers().map(light, AUTOTUNE).batch(64))
        plan = self.plumber("optimize", "--cores", "1", "--mem", "1G")
        pool = [e["value"] for e in plan["edits"]
                if e["to"] == "threading.private_threadpool_size"]
        self.assertEqual(pool, [1], plan["edits"])
        shared = self.plumber("optimize", "--cores", "2", "--mem", "2G", "--processes-per-host",
                              "2")
        self.assertEqual(shared["limits"]["cores"], 1)


@measured
class Memory(ThreadsTest):
    def test_calls_in_flight_hold_batches(self):
        analysis = self.traced(numbers().apply(
            X.map_and_batch(lambda x: large(work(x)), 1, num_parallel_calls=8)))
        self.assertAlmostEqual(self.held(analysis, "calls in flight") / MIB, 9, delta=0.1)

    def test_an_autotuned_prefetch_becomes_a_number(self):
        self.traced(numbers().map(lambda x: large(work(x))).batch(4).prefetch(AUTOTUNE))
        plan = self.plumber("optimize", "--cores", "2", "--mem", "64M")
        self.assertLessEqual(plan["memory"]["planned_bytes"], 64 * MIB)
        self.assertIn("set_buffer", [e["edit"] for e in plan["edits"]])

    def test_batches_of_batches(self):
        self.finding(self.traced(numbers().batch(4).batch(8)), "batch-of-batch")

    def test_a_shuffle_of_the_whole_data_set(self):
        found = self.finding(self.traced(numbers(80).map(large).shuffle(80).repeat()),
                             "shuffle-whole-epoch")
        self.assertIn("twice that", found["text"])

    def test_shuffle_before_what_makes_elements_large(self):
        found = self.finding(self.traced(numbers(80).map(large).cache().shuffle(80).repeat()),
                             "shuffle-after-growth")
        self.assertIn("right after", found["python"])

    def test_what_a_cache_holds_and_that_it_does_not_fit(self):
        analysis = self.traced(numbers(40).map(large).cache().repeat())
        self.assertAlmostEqual(self.held(analysis, "cache") / MIB, 40, delta=0.1)
        plan = self.plumber("optimize", "--cores", "2", "--mem", "20M")
        self.assertEqual(plan["status"], "infeasible")

    def test_a_file_cache_larger_than_the_files(self):
        dataset = tf.data.TFRecordDataset(self.records(1, 80)).map(
            lambda r: large(tf.strings.length(r)))
        analysis = self.traced(dataset.cache(self.path("cache")).repeat())
        self.finding(analysis, "cache-larger-than-files")
        self.assertEqual(self.held(analysis, "cache"), 0)

    def test_one_reader_and_a_prefetch_of_ten_thousand_batches(self):
        dataset = tf.data.TFRecordDataset(self.records(1, 500, 50_000)).repeat().batch(40)
        analysis = self.traced(dataset.prefetch(10_000).map(tf.size, 32))
        self.assertEqual(analysis["bottleneck"]["kind"], "thread")
        self.assertIn("TFRecordDataset", " ".join(analysis["bottleneck"]["nodes"]))
        self.finding(analysis, "prefetch-large")


@measured
class Caches(ThreadsTest):
    def test_take_after_cache(self):
        found = self.finding(self.traced(numbers(60).map(work).cache().take(20).repeat()),
                             "cache-discarded")
        self.assertEqual(found["python"], ".take(20).cache()")
        self.assertEqual(found["severity"], "warning")

    def test_a_cache_that_is_read_to_its_end_is_no_fault(self):
        analysis = self.traced(numbers(30).map(work).cache(self.path("cache")).repeat())
        self.assertNotIn("cache-discarded", [f["id"] for f in analysis["findings"]])

    def test_a_cache_of_file_names(self):
        names = D.from_tensor_slices(self.records()).cache().repeat()
        found = self.finding(self.traced(names.interleave(tf.data.TFRecordDataset)),
                             "cache-of-names")
        self.assertEqual(found["python"], ".cache()  # after .interleave(..., cycle_length=2)")

    def test_a_random_flip_then_cache(self):
        self.finding(self.traced(numbers(50).map(random_work).cache().repeat()),
                     "augmentation-frozen")

    def test_shuffle_batch_cache(self):
        self.finding(self.traced(numbers(50).shuffle(50).batch(5).cache().repeat()),
                     "order-frozen")

    def test_no_promise_for_what_is_random(self):
        analysis = self.traced(numbers(500).map(random_work, 2).repeat())
        node = next(n for n in analysis["nodes"] if n["function"] == "random_work")
        self.assertEqual((node["cache"]["class"], node["cache"]["legal"]), ("content", False))


@measured
class Reading(ThreadsTest):
    def test_readers_in_parallel_inside_readers_in_parallel(self):
        names = D.from_tensor_slices(self.records()).repeat()
        dataset = names.batch(2).interleave(
            lambda f: tf.data.TFRecordDataset(f, num_parallel_reads=2), num_parallel_calls=2)
        self.finding(self.traced(dataset), "nested-parallel-reads")

    def test_a_generator_is_one_thread_under_the_lock(self):
        def count():
            while True:
                yield sum(range(3000))
        dataset = D.from_generator(count, output_signature=tf.TensorSpec([], tf.int64))
        analysis = self.traced(dataset.batch(8))
        self.finding(analysis, "python-lock")

    def test_interleaved_python(self):
        dataset = numbers().interleave(lambda x: D.range(20).map(python), cycle_length=4,
                                       num_parallel_calls=4)
        self.finding(self.traced(dataset), "python-lock")

    def test_xprof_2_python_that_reads_files_is_input_bound(self):
        analysis = self.traced(numbers().map(python).batch(4).prefetch(2))
        self.assertEqual(analysis["verdict"], "input-bound")
        self.limits(analysis, "MapDataset", "python")

    def test_xprof_16_no_prefetch_is_ever_blamed(self):
        analysis = self.traced(numbers().map(work).prefetch(2).map(light).prefetch(2))
        self.limits(analysis, "MapDataset", "work")


@measured
class Shapes(ThreadsTest):
    def test_batch_map_unbatch(self):
        self.finding(self.traced(numbers().map(large).batch(8).map(light, 2).unbatch()),
                     "unbatch-of-batch")

    def test_map_filter_batch(self):
        analysis = self.traced(numbers().map(work).filter(lambda x: x % 4 == 0).batch(4))
        self.limits(analysis, "MapDataset", "work")
        self.assertGreater(self.finding(analysis, "sequential-op")["gain_per_s"], 0)

    def test_tiny_elements_cost_a_call_each(self):
        found = self.finding(self.traced(numbers().map(light).batch(256)), "per-element-overhead")
        self.assertIn(".batch(N).map(f)", found["python"])
        self.assertGreater(found["gain_per_s"], 0)

    def test_a_shuffle_is_filled_before_the_first_element(self):
        analysis = self.traced(numbers(150).map(work).shuffle(150).batch(10))
        told = analysis["rate"]["start_s"] or analysis["rate"]["epoch_start_s"]
        self.assertGreater(told, 0.03)
        self.limits(analysis, "MapDataset", "work")

    def test_an_ordered_map_of_uneven_calls(self):
        long = tf.constant("x" * 14_000_000)  # one thread's work, as that of 14 others

        def uneven(x):
            text = tf.cond(x % 16 == 0, lambda: long, lambda: TEXT)
            return x + 0 * tf.strings.to_hash_bucket_strong(text, 1000, [1, 2])
        for deterministic in (True, False):
            dataset = numbers().map(uneven, 2, deterministic=deterministic)
            ids = [f["id"] for f in self.traced(dataset, 0.8)["findings"]]
            self.assertEqual("order-kept" in ids, deterministic, ids)


if __name__ == "__main__":
    unittest.main()
