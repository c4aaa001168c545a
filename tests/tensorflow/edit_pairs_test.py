# SPDX-License-Identifier: Apache-2.0
"""Same elements for every pair of edits that can meet in one program, in both orders: plans written
by hand, rewritten, loaded, and held against the original bit for bit and in order over two epochs.

Every pair of kinds has a host program that takes both. A third of the pairs is run, each kind in
both places, on the two nodes nearest to each other in the first host that takes them.
PLUMBER_LONG=1 runs all pairs on all hosts, on all nodes up to two apart, which takes long. What
cannot be done to one node stands in CONFLICTS, with the reason that the rewriter gives.
"""
import collections
import itertools
import os
import unittest

import tensorflow as tf

from rewriting import Range, RewriteTest, double, edit, elements, is_even
from support import plumber_tf, record

LONG = bool(os.environ.get("PLUMBER_LONG"))
SHARE = 1 if LONG else 3  # one pair in so many is run


# Host programs: the folder of text files and the cycle of their interleave -> data set.

def slices(folder):
    return tf.data.Dataset.from_tensor_slices([f"{folder}/{i}.txt" for i in range(4)])


def read_lines(file):
    return tf.data.TextLineDataset(file)


def number(line):
    return tf.strings.to_number(line, tf.int64)


def table():
    return tf.lookup.StaticHashTable(tf.lookup.KeyValueTensorInitializer(
        tf.range(30, dtype=tf.int64), tf.range(30, dtype=tf.int64) * 3), -1)


def reading(folder, _):
    """Files, a captured lookup table, a filter, a prefetch."""
    words = table()
    dataset = slices(folder).flat_map(read_lines).map(number).map(words.lookup)
    return dataset.filter(lambda x: x % 5 != 1).prefetch(2)


def interleaved(_, cycle):
    """Parallel ops, a captured variable, a cycle that may grow."""
    variable = tf.Variable(7, dtype=tf.int64)
    dataset = Range(4).interleave(lambda x: Range(x * 10, x * 10 + 4), cycle_length=cycle,
                                  num_parallel_calls=2)
    dataset = dataset.map(lambda x: x * variable, num_parallel_calls=2).skip(1)
    return dataset.batch(3, num_parallel_calls=2).cache()


def batches(_, __):
    """A fused map and batch, unbatch and batch, a map that works on batches."""
    variable = tf.Variable(5, dtype=tf.int64)
    fused = tf.data.experimental.map_and_batch(lambda x: x * variable, 4, num_parallel_calls=2)
    dataset = Range(14).apply(fused).unbatch().batch(3).unbatch().batch(5)
    return dataset.unbatch().map(double).batch(4).prefetch(1)


def concatenated(_, __):
    """A nest of concatenations under what a map changes places with."""
    offset = tf.constant(5, tf.int64)
    dataset = Range(3)
    for i in range(3):
        dataset = dataset.concatenate(Range(i, i + 2))
    dataset = dataset.map(lambda x: x + offset).shuffle(4, 1, reshuffle_each_iteration=False)
    return dataset.map(double).repeat(2).cache()


def structures(_, __):
    """Control flow, Python, sparse and ragged elements."""
    def branch(x):
        return tf.cond(x > 3, lambda: x * 2, lambda: x - 1)

    def python(x):
        return tf.ensure_shape(tf.py_function(lambda v: v + 1, [x], tf.int64), [])

    def sparse(x):
        return {"s": tf.sparse.from_dense([x, 0, x]), "r": tf.RaggedTensor.from_row_splits(
            [x, x + 1], [0, 1, 2], validate=False)}

    def dense(e):
        return tf.sparse.to_dense(e["s"]), e["r"].to_tensor()

    def few(e):
        return tf.sparse.reduce_sum(e["s"]) != 4

    dataset = Range(7).map(branch).map(python, num_parallel_calls=2).map(sparse).prefetch(1)
    return dataset.filter(few).batch(2).map(dense).take(3)


def nested(_, cycle):
    """Functions of functions that hold data sets."""
    variable = tf.Variable(3, dtype=tf.int64)

    def innermost(x):
        return Range(x, x + 2).map(lambda y: y + variable)

    def inner(x):
        dataset = Range(x, x + 3).interleave(innermost, cycle_length=2).filter(is_even)
        return dataset.map(lambda y: (y, y * x), num_parallel_calls=1).prefetch(1).batch(2)

    return Range(3).interleave(inner, cycle_length=cycle).map(lambda y, z: y + z)


def everything(folder, cycle):
    """For the pairs that meet in no smaller one."""
    words = table()
    fused = tf.data.experimental.map_and_batch(lambda x: x + 1, 4, num_parallel_calls=2)
    dataset = slices(folder).flat_map(read_lines).map(number).filter(is_even)
    for more in (Range(2).cache(), Range(1, 3), Range(2, 4)):
        dataset = dataset.concatenate(more)
    dataset = dataset.apply(fused).unbatch().batch(2).unbatch().map(words.lookup).skip(1)
    dataset = dataset.filter(lambda x: x % 5 != 1).map(double, num_parallel_calls=2).map(double)
    dataset = dataset.batch(2).unbatch().prefetch(1)
    dataset = dataset.interleave(lambda x: Range(x, x + 2), cycle_length=cycle)
    return dataset.map(double).batch(2)


HOSTS = (reading, interleaved, batches, concatenated, structures, nested, everything)


Place = collections.namedtuple("Place", "address op below op_below number")


def places(graph):
    """The data sets of a program and, in its functions, source first."""
    functions = {f.signature.name: f.node_def for f in graph.library.function}
    found, queue = [], [("", graph.node)]
    for prefix, nodes in queue:
        ops = {node.name: node.op for node in nodes}
        for node in nodes:
            if "Dataset" not in node.op:
                continue
            below = node.input[0].split(":")[0] if node.input else ""
            found.append(Place(prefix + node.name, node.op, prefix + below, ops.get(below, ""),
                               len(found)))
            if node.op in INTERLEAVES:
                queue.append((f"{prefix}{node.name}>", functions[node.attr["f"].func.name]))
    return found


# Ops by what an edit asks of its node.
SEQUENTIAL = {"MapDataset": "ParallelMapDatasetV2", "BatchDatasetV2": "ParallelBatchDataset",
              "InterleaveDataset": "ParallelInterleaveDatasetV4"}
PARALLEL = set(SEQUENTIAL.values())
MAPS = {"MapDataset", "ParallelMapDatasetV2"}
FILTERS = {"FilterDataset"}
INTERLEAVES = {"FlatMapDataset", "InterleaveDataset", "ParallelInterleaveDatasetV4"}
SWAPPED = {"SkipDataset", "TakeDataset", "ShuffleDatasetV3", "RepeatDataset", "RepeatDatasetV2",
           "PrefetchDataset", "CacheDatasetV2", "BatchDatasetV2"}
REWRITES_OFF = edit("set_options", to="experimental_optimization.apply_default_optimizations",
                    value=False)


def outside(place):
    return ">" not in place.address


def chunks_below(place):
    return [edit("insert_chunks", place.below, "2", 4),
            edit("move_into_function", place.address, f"plumber/chunks/{place.below}")]


def one(kind, *, to="", value=None):
    return lambda place: [edit(kind, place.address, to, value)]


# Kinds of edits: where one may stand, and the edits that it takes.
KINDS = {
    "set_parallelism": (lambda p: p.op in PARALLEL | {"MapAndBatchDataset"},
                        one("set_parallelism", value=1)),
    "convert": (lambda p: p.op in SEQUENTIAL,
                lambda p: [edit("convert", p.address, SEQUENTIAL[p.op], 2)]),
    "parallel_filter": (lambda p: p.op in FILTERS, lambda p: [
        edit("convert", p.address, "ParallelFilterDataset", 2), REWRITES_OFF]),
    "rebatch": (lambda p: p.op == "BatchDatasetV2" and p.op_below == "UnbatchDataset",
                one("convert", to="RebatchDatasetV2")),
    "map_and_batch": (lambda p: p.op == "BatchDatasetV2" and p.op_below in MAPS,
                      one("convert", to="MapAndBatchDataset", value=2)),
    "sequential": (lambda p: p.op in PARALLEL, one("sequential")),
    "inline": (lambda p: p.op in MAPS, one("inline")),
    "parallel_inline": (lambda p: p.op in MAPS, one("parallel_inline", value=2)),
    "parallel_unbounded": (lambda p: p.op in MAPS, one("parallel_unbounded", value=5)),
    "pass_through_filter": (lambda p: p.op in FILTERS, one("pass_through_filter")),
    "parallel_predicate": (lambda p: p.op in FILTERS, one("pass_through_filter", value=2)),
    "move_into_function": (lambda p: p.op in MAPS and p.op_below in INTERLEAVES, lambda p: [
        edit("move_into_function", p.address, p.below)]),
    "unfuse": (lambda p: p.op == "MapAndBatchDataset", one("unfuse")),
    "insert_prefetch": (lambda p: True, one("insert_prefetch", value=3)),
    "set_buffer": (lambda p: p.op == "PrefetchDataset", one("set_buffer", value=4)),
    "insert_cache": (outside, one("insert_cache")),
    "rehome_cache": (lambda p: p.op == "CacheDatasetV2", one("rehome_cache")),
    "reorder": (lambda p: p.op in SWAPPED and p.op_below in MAPS,
                lambda p: [edit("reorder", p.address, p.below)]),
    "remove": (lambda p: p.op in {"PrefetchDataset", "CacheDatasetV2", "UnbatchDataset"},
               one("remove")),
    "balance": (lambda p: p.op == "ConcatenateDataset", one("balance")),
    "insert_partial_cache": (lambda p: outside(p) and p.op in MAPS | FILTERS | INTERLEAVES,
                             one("insert_partial_cache", to="TensorSliceDataset/_1", value=2)),
    "insert_chunks": (outside, one("insert_chunks", to="2", value=4)),
    "move_into_chunks": (lambda p: outside(p) and p.op in MAPS | FILTERS | {"BatchDatasetV2"},
                         chunks_below),
    "lengthen_cycle": (lambda p: outside(p) and p.op in INTERLEAVES - {"FlatMapDataset"},
                       one("lengthen_cycle", value=3)),
    "set_options": (lambda p: p.number == 0,
                    lambda p: [edit("set_options", to="autotune.enabled", value=False)]),
}

# Pairs that cannot be made on one node or on neighbours, and why.
CONFLICTS = (
    (interleaved, "sequential", "set_parallelism", "MapDataset has no number of parallel calls"),
    (interleaved, "inline", "sequential", "MapDataset has no sequential op"),
    (interleaved, "move_into_function", "insert_cache", "a cache inside a function is empty again"),
    (interleaved, "move_into_function", "insert_chunks", "it does not stand in the main program"),
    (interleaved, "move_into_function", "reorder", "do not read each other"),
    (interleaved, "insert_prefetch", "move_into_function", "it does not stand right above"),
    (interleaved, "insert_prefetch", "reorder", "do not read each other"),
    (interleaved, "remove", "insert_prefetch", "edit E1 has removed this node"),
    (interleaved, "remove", "rehome_cache", "edit E1 has removed this node"),
    (reading, "parallel_inline", "convert", "it is a ParallelMapDatasetV2 already"),
    (reading, "parallel_unbounded", "convert", "it is a ParallelMapDatasetV2 already"),
    (reading, "parallel_filter", "parallel_filter", "it is a ParallelFilterDataset already"),
    (reading, "pass_through_filter", "parallel_filter", "MapDataset cannot become"),
    (reading, "pass_through_filter", "parallel_predicate", "MapDataset is no filter"),
    (reading, "pass_through_filter", "move_into_chunks", "it does not stand right above"),
    (reading, "insert_chunks", "insert_chunks", "the program has a 'plumber/chunks/"),
    (batches, "convert", "rebatch", "ParallelBatchDataset is no plain batch"),
    (batches, "convert", "map_and_batch", "ParallelBatchDataset is no plain batch"),
    (batches, "rebatch", "convert", "RebatchDatasetV2 has no parallel op"),
    (batches, "rebatch", "insert_prefetch", "edit E1 has removed this node"),
    (batches, "map_and_batch", "inline", "edit E1 has removed this node"),
    (batches, "unfuse", "unfuse", "BatchDatasetV2 is no map and batch in one"),
    (concatenated, "balance", "balance", "fewer than four data sets"),
)


# Pairs that no host takes, and why.
NEVER = {
    ("unfuse", "unfuse"): "is no map and batch in one",
    ("insert_partial_cache", "insert_partial_cache"): "stands above its list of files",
}


class Host:
    """A program and its elements."""

    def __init__(self, test, make):
        self.test, self.name = test, make.__name__
        dataset = make(test.folder, 2)
        self.expected = elements(dataset)
        self.longer = elements(make(test.folder, 3))
        trace = test.folder / f"{self.name}.pb"
        # Whole epochs, and so many that polls see the end of some: without their counters a part
        # of the files cannot be cached.
        record(dataset, 0.2, trace, least=20 * sum(map(len, self.expected)))
        snapshot = plumber_tf.read_trace(trace)
        snapshot.graph.CopyFrom(plumber_tf.serialize(dataset))
        trace.write_bytes(snapshot.SerializeToString())
        self.trace, self.places = trace, places(snapshot.graph)
        self.checked = set()

    def plans(self, first, second):
        """(Nodes between the two, edits) with both kinds, nearest first."""
        (fits, make), (also_fits, also_make) = KINDS[first], KINDS[second]
        pairs = [(abs(a.number - b.number), a, b) for a in filter(fits, self.places)
                 for b in filter(also_fits, self.places)]
        for distance, a, b in sorted(pairs):
            before, after = make(a), also_make(b)
            yield distance, before + [e for e in after if first == second or e not in before]

    def write(self, edits):
        """Why it is refused; nothing where it was written."""
        done = self.test.run_plan(self.trace, edits, permissions=["reorder-files"])
        self.test.assertIn(done.returncode, (0, 3), (self.name, edits, done.stderr))
        return done.stderr.split("plan.json", 1)[-1]

    def check(self, edits):
        """What was written, unless it is a program that was checked before."""
        data = (self.test.folder / "out.pb").read_bytes()
        if data in self.checked:
            return
        self.checked.add(data)
        longer = any(e["edit"] == "lengthen_cycle" for e in edits)
        with self.test.subTest(host=self.name, edits=edits):
            self.test.assertEqual(elements(plumber_tf.load(self.test.path("out.pb"))),
                                  self.longer if longer else self.expected)


class EditPairsTest(RewriteTest):
    maxDiff = 2000

    def setUp(self):
        super().setUp()
        for i in range(4):
            self.file(f"{i}.txt", "".join(f"{i * 5 + j}\n" for j in range(4)))
        self.hosts = {}

    def host(self, make):
        if make not in self.hosts:
            self.hosts[make] = Host(self, make)
        return self.hosts[make]

    def test_pairs(self):
        pairs = itertools.product(KINDS, KINDS)
        for number, pair in enumerate(pairs):
            if (number + number // len(KINDS)) % SHARE == 0:
                with self.subTest(pair=pair):
                    met, said = self.meet(pair)
                    self.assertEqual(met, pair not in NEVER, said)
                    self.assertIn(NEVER.get(pair, ""), said)

    def meet(self, pair):
        """Whether a host takes both edits, and what the others say; what is made is checked."""
        met, refusals = False, ""
        for host in map(self.host, HOSTS):
            for distance, edits in host.plans(*pair):
                if met and (not LONG or distance > 2):
                    break
                said = host.write(edits)
                refusals += said
                if said:
                    self.assertRegex(said, r"edit E\d \(", edits)
                else:
                    host.check(edits)
                    met = True
        return met, refusals

    def test_conflicts(self):
        for make, first, second, reason in CONFLICTS:
            with self.subTest(first=first, second=second):
                host = self.host(make)
                plans = host.plans(first, second)
                said = [host.write(edits) for apart, edits in plans if apart < 2]
                self.assertIn(reason, "".join(said))


if __name__ == "__main__":
    unittest.main()
