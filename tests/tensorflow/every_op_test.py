# SPDX-License-Identifier: Apache-2.0
"""Every dataset op that a user reaches from the tf.data API, in small pipelines with one expensive
function: each iterator finds its node, the operational laws hold, and that function limits."""
import json
import re
import sqlite3
import subprocess
import unittest

from support import ROOT, FolderTest, plumber_binary, plumber_tf, record
import tensorflow as tf

tf.get_logger().setLevel("ERROR")  # deprecated ways to make ops are reached, too
D = tf.data.Dataset
X = tf.data.experimental
N = 400
SECONDS = 0.2
TEXT = tf.constant("x" * 800_000)  # some 400 us of work for one thread
EXPENSIVE = {"burn", "keep"}


def flag():
    return tf.strings.to_hash_bucket_strong(TEXT, 1000, [1, 2]) >= 0


def burn(*element):
    """The element itself, with work."""
    yes = flag()
    element = element if len(element) > 1 else element[0]
    return tf.nest.map_structure(lambda t: tf.where(yes, t, t), element, expand_composites=True)


def keep(*_):
    return flag()


def numbers(n=N):
    return D.range(n)


def lists():
    return numbers().map(lambda x: tf.range(x % 5))


def count():
    yield from range(N)


def options(**settings):
    made = tf.data.Options()
    for path, value in settings.items():
        *folders, name = path.split("__")
        part = made
        for folder in folders:
            part = getattr(part, folder)
        setattr(part, name, value)
    return made


def captured(around):
    """A data set that a function captures."""
    inner = numbers(10).map(burn)
    return numbers(40).flat_map(lambda x: around(inner))


def saved(path):
    numbers().save(path)
    return D.load(path)


def bad(x):
    return tf.debugging.check_numerics(tf.where(x % 4 == 0, float("nan"), 1.0), "bad")


def number_of(x):
    return tf.cast(x % 2, tf.int32)


FEATURE = {"x": tf.io.FixedLenFeature([], tf.int64)}
SUM = X.Reducer(lambda key: tf.constant(0, tf.int64), lambda s, x: s + x, lambda s: s)

# name: pipeline of the files in `f`.
SOURCES = {
    "range": lambda f: numbers(),
    "from_tensors": lambda f: D.from_tensors(5).repeat(N),
    "from_tensor_slices": lambda f: D.from_tensor_slices(tf.range(N)),
    "of_sparse": lambda f: D.from_tensor_slices(tf.sparse.eye(N)),
    "of_ragged": lambda f: D.from_tensor_slices(tf.ragged.range(tf.range(N) % 5)),
    "from_generator": lambda f: D.from_generator(
        count, output_signature=tf.TensorSpec([], tf.int32)),
    "from_list": lambda f: X.from_list(list(range(N))),
    "list_files": lambda f: D.list_files(f["records"]).interleave(tf.data.TFRecordDataset),
    "records": lambda f: tf.data.TFRecordDataset(D.list_files(f["records"], shuffle=False)),
    "parallel_reads": lambda f: tf.data.TFRecordDataset(f["record_files"], num_parallel_reads=2),
    "lines": lambda f: tf.data.TextLineDataset(f["lines"]),
    "fixed_length": lambda f: tf.data.FixedLengthRecordDataset(f["fixed"], 8),
    "csv": lambda f: X.CsvDataset(f["lines"], [tf.int32, tf.int32]),
    "make_csv": lambda f: X.make_csv_dataset(f["csv"], 4, num_epochs=3),
    "batched_features": lambda f: X.make_batched_features_dataset(
        f["records"], 4, FEATURE, num_epochs=3),
    "sql": lambda f: X.SqlDataset("sqlite", f["sql"], "select a from t", (tf.int64,)),
    "random": lambda f: D.random(seed=3).take(N),
    "rerandomized": lambda f: D.random(seed=3, rerandomize_each_iteration=True).take(N),
    "counter": lambda f: D.counter().take(N),
    "saved": lambda f: saved(f["folder"] + "/saved"),
}
BELOW = {
    "filter": lambda f: numbers().filter(lambda x: x % 2 == 0),
    "flat_map": lambda f: numbers(40).flat_map(lambda x: numbers(10)),
    "legacy_interleave": lambda f: numbers(40).apply(
        X.parallel_interleave(lambda x: numbers(10), cycle_length=4)),
    "zip": lambda f: D.zip((numbers(), numbers(300))),
    "concatenate": lambda f: numbers(100).concatenate(numbers(300)),
    "sample": lambda f: D.sample_from_datasets([numbers(200), numbers(200)], [.5, .5], seed=1),
    "sample_weights": lambda f: D.sample_from_datasets(
        [numbers(), numbers()], D.from_tensors([.5, .5]).repeat()),
    "sample_endless": lambda f: D.sample_from_datasets(
        [numbers(20).repeat(), numbers(30).repeat()], [.7, .3]).take(500),
    "choose": lambda f: D.choose_from_datasets(
        [numbers(200), numbers(200)], numbers(2).repeat(150)),
    "shuffle": lambda f: numbers().shuffle(50).repeat(2),
    "shuffle_once": lambda f: numbers().shuffle(1000, reshuffle_each_iteration=False).repeat(),
    "take_skip_shard": lambda f: numbers().skip(10).take(300).shard(3, 1),
    "sliding": lambda f: numbers().window(5, shift=1, drop_remainder=True).flat_map(
        lambda w: w.batch(5)),
    "window_of_pairs": lambda f: D.zip((numbers(), numbers())).window(5).flat_map(
        lambda a, b: D.zip((a, b)).batch(5)),
    "rejection": lambda f: numbers().rejection_resample(number_of, [.5, .5], [.5, .5], seed=1),
    "rejection_estimated": lambda f: numbers().rejection_resample(number_of, [.5, .5], seed=1),
    "ignore_errors": lambda f: numbers().map(bad).ignore_errors(),
    "assert_cardinality": lambda f: numbers().filter(lambda x: x >= 0).apply(
        X.assert_cardinality(N)),
    "options_below": lambda f: numbers().with_options(options(deterministic=False)),
    "parse_example": lambda f: tf.data.TFRecordDataset(f["record_files"]).batch(4).apply(
        X.parse_example_dataset(FEATURE, 2)),
    "numpy_function": lambda f: numbers().map(
        lambda x: tf.numpy_function(lambda v: v, [x], tf.int64)),
    "py_function": lambda f: numbers().map(lambda x: tf.py_function(lambda v: v, [x], tf.int64)),
}
ABOVE = {
    "batch": lambda d, f: d.batch(7),
    "batch_of_one": lambda d, f: d.batch(1),
    "parallel_batch": lambda d, f: d.batch(7, num_parallel_calls=2),
    "unbatch": lambda d, f: d.batch(5).unbatch(),
    "unbatch_applied": lambda d, f: d.batch(5).apply(X.unbatch()),
    "rebatch": lambda d, f: d.batch(6).rebatch([2, 4]),
    "rebatch_to_one_size": lambda d, f: d.batch(6).rebatch(3, drop_remainder=True),
    "snapshot": lambda d, f: d.snapshot(f["folder"] + "/snapshot"),
    "shuffle": lambda d, f: d.shuffle(50),
    "shuffle_and_repeat": lambda d, f: d.apply(X.shuffle_and_repeat(50, 3)),
    "repeat": lambda d, f: d.repeat(2),
    "take_while": lambda d, f: d.take_while(lambda x: x < 300),
    "unique": lambda d, f: d.map(lambda x: x % 100).unique(),
    "window": lambda d, f: d.window(5).flat_map(lambda w: w.batch(5)),
    "group_by_window": lambda d, f: d.group_by_window(
        lambda x: x % 3, lambda key, w: w.batch(8), window_size=8),
    "group_by_reducer": lambda d, f: d.apply(X.group_by_reducer(lambda x: x % 50, SUM)),
    "enumerate": lambda d, f: d.enumerate(),
    "prefetch": lambda d, f: d.prefetch(3),
    "zip_with_itself": lambda d, f: D.zip((d.skip(1), d)),
    "scan": lambda d, f: d.scan(tf.constant(0, tf.int64), lambda s, x: (s + x, s)),
    "threads": lambda d, f: d.with_options(options(
        threading__private_threadpool_size=2, threading__max_intra_op_parallelism=1)),
}
OTHERS = {
    "parallel_map": lambda f: numbers().map(burn, num_parallel_calls=2),
    "map_and_batch": lambda f: numbers().apply(X.map_and_batch(burn, 4, num_parallel_calls=2)),
    "filter_work": lambda f: numbers().filter(keep),
    "padded_batch": lambda f: lists().map(burn).padded_batch(6),
    "ragged_batch": lambda f: lists().map(burn).ragged_batch(6),
    "sparse_batch": lambda f: lists().map(burn).sparse_batch(6, [5]),
    "buckets": lambda f: lists().map(burn).bucket_by_sequence_length(tf.size, [2, 4], [8] * 3),
    "map_in_interleave": lambda f: numbers(40).interleave(
        lambda x: numbers(10).map(burn), cycle_length=4),
    "parallel_interleave": lambda f: numbers(40).interleave(
        lambda x: numbers(10).map(burn), cycle_length=4, num_parallel_calls=2),
    "sloppy_interleave": lambda f: numbers(40).interleave(
        lambda x: numbers(10).map(burn), num_parallel_calls=tf.data.AUTOTUNE, deterministic=False),
    "nested_interleave": lambda f: numbers(4).interleave(lambda x: numbers(5).interleave(
        lambda y: numbers(20).map(burn), cycle_length=2), cycle_length=2),
    "map_in_group": lambda f: numbers().group_by_window(
        lambda x: x % 3, lambda key, w: w.map(burn).batch(8), window_size=8),
    "captured": lambda f: captured(lambda inner: inner),
    "captured_and_changed": lambda f: captured(lambda inner: inner.take(8)),
    "reads_of_images": lambda f: D.from_tensor_slices(f["record_files"]).interleave(
        tf.data.TFRecordDataset, cycle_length=2, num_parallel_calls=2).map(burn).shuffle(
            100).repeat().batch(8).prefetch(1),
    "pad_to_cardinality": lambda f: X.pad_to_cardinality(450)(
        numbers().map(burn).map(lambda x: {"a": x})),
}
# After the first epoch the consumer limits these.
CACHED = {
    "cache": lambda f: numbers(50).map(burn).cache().repeat(30),
    "cache_file": lambda f: numbers(50).map(burn).cache(f["folder"] + "/cache").repeat(30),
}
# Ops of old programs, of TensorFlow's own rewrites and of services, which no call of today's API
# makes, and sinks.
NOT_BY_USERS = set("""
    AssertNextDataset AssertPrevDataset AutoShardDataset BatchDataset BytesProducedStatsDataset
    CSVDataset CacheDataset ChooseFastestBranchDataset ChooseFastestDataset DataServiceDataset
    DataServiceDatasetV2 DataServiceDatasetV3 DataServiceDatasetV4 FilterByLastComponentDataset
    FinalizeDataset FixedLengthRecordDataset GlobalShuffleDataset GroupByReducerDataset
    IndexFlatMapDataset InitializeTableFromDataset LMDBDataset LatencyStatsDataset
    ListSnapshotChunksDataset MatchingFilesDataset MaxIntraOpParallelismDataset ModelDataset
    NonSerializableDataset OptimizeDataset OptimizeDatasetV2 PaddedBatchDataset
    ParallelFilterDataset ParallelInterleaveDataset ParallelInterleaveDatasetV2
    ParallelInterleaveDatasetV3 ParallelMapDataset ParseExampleDataset PrivateThreadPoolDataset
    RebatchDataset ReduceDataset RegisterDataset RegisterDatasetV2 RewriteDataset SamplingDataset
    SaveDataset SaveDatasetV2 SetStatsAggregatorDataset ShuffleAndRepeatDatasetV2 ShuffleDataset
    ShuffleDatasetV2 SleepDataset SlidingWindowDataset SnapshotChunkDataset SnapshotDataset
    SnapshotDatasetReader SnapshotNestedDatasetReader SparseTensorSliceDataset TFRecordDatasetV2
    ThreadPoolDataset UnwrapDatasetVariant WeightedFlatMapDataset WrapDatasetVariant
    """.split())


def pipelines():
    """All of them: name, how to make it."""
    for name, make in SOURCES.items():
        yield name, lambda f, make=make: make(f).map(burn)
    for name, make in BELOW.items():
        yield name + " below", lambda f, make=make: make(f).map(burn)
    for name, wrap in ABOVE.items():
        yield name + " above", lambda f, wrap=wrap: wrap(numbers().map(burn), f)
    yield from OTHERS.items()
    yield from CACHED.items()


class EveryOpTest(FolderTest):
    def files(self):
        pairs = "".join(f"{i},{2 * i}\n" for i in range(N))
        paths = [self.path(f"{k}.tfrecord") for k in range(4)]
        for path in paths:
            with tf.io.TFRecordWriter(path) as writer:
                for i in range(N // 4):
                    value = tf.train.Feature(int64_list=tf.train.Int64List(value=[i]))
                    features = tf.train.Features(feature={"x": value})
                    writer.write(tf.train.Example(features=features).SerializeToString())
        (self.folder / "fixed.bin").write_bytes(b"12345678" * N)
        with sqlite3.connect(self.path("a.db")) as data:
            data.execute("create table t (a integer)")
            data.executemany("insert into t values (?)", [(i,) for i in range(N)])
        return {"record_files": paths, "records": self.path("*.tfrecord"),
                "lines": str(self.file("lines.csv", pairs)), "fixed": self.path("fixed.bin"),
                "csv": str(self.file("named.csv", "a,b\n" + pairs)), "sql": self.path("a.db"),
                "folder": str(self.folder)}

    def analyzed(self, dataset):
        record(dataset, SECONDS, self.path("t.pb"))
        done = subprocess.run([plumber_binary(), "analyze", self.path("t.pb"), "--format", "json"],
                              capture_output=True, text=True, check=False)
        self.assertEqual(done.returncode, 0, done.stderr)
        program = plumber_tf.read_trace(self.path("t.pb")).graph
        self.ops |= {node.op for node in plumber_tf.all_nodes(program)}
        return json.loads(done.stdout)

    def check(self, name, analysis):
        unaligned = analysis["unaligned"]
        self.assertEqual(unaligned["model"], [])
        self.assertEqual(unaligned["graph"], unaligned["unseen"])
        self.assertEqual([w for w in analysis["warnings"] if "law" in w or "wrong" in w], [])
        if name in CACHED:
            self.assertEqual(analysis["bottleneck"]["kind"], "consumer")
            return
        if name == "batched_features" and "ParseExample" in analysis["bottleneck"]["nodes"][0]:
            return  # four records to parse are as much work
        functions = {node["name"]: node["function"] for node in analysis["nodes"]}
        self.assertIn(functions[analysis["bottleneck"]["nodes"][0]], EXPENSIVE,
                      analysis["bottleneck"])

    def test_every_pipeline(self):
        self.ops = set()
        files = self.files()
        made = list(pipelines())
        self.assertGreaterEqual(len(made), 40)
        for name, make in made:
            with self.subTest(name):
                self.retried(lambda: self.check(name, self.analyzed(make(files))))
        table = (ROOT / "lib" / "pipeline" / "op_table.cc").read_text("utf-8")
        known = set(re.findall(r'^    \{"(\w+Dataset\w*)"', table, re.MULTILINE))
        used = {re.sub("^Experimental", "", op) for op in self.ops}
        self.assertEqual(sorted(known - used - NOT_BY_USERS), [])


if __name__ == "__main__":
    unittest.main()
