# SPDX-License-Identifier: Apache-2.0
"""What the tests of rewrites share: plans written by hand, run through the command, and the result
held against the original in stock TensorFlow: bit for bit and in order, over two epochs."""
import json
import subprocess

from support import FolderTest, plumber_binary, plumber_tf
import numpy as np
import tensorflow as tf

Range = tf.data.Dataset.range


def double(x):
    return x * 2


def is_even(x):
    return x % 2 == 0


def read_block(x):
    return Range(x * 10, x * 10 + 3)


def nodes_of(graph, op):
    return [node for node in graph.node if node.op == op]


def name_of(graph, op, place=0):
    return nodes_of(graph, op)[place].name


def all_ops(graph):
    return [node.op for node in plumber_tf.all_nodes(graph)]


def elements(dataset, epochs=2):
    """Every component of every element, epoch by epoch, comparable bit for bit."""
    return [[[exact(np.asarray(part)) for part in tf.nest.flatten(element, expand_composites=True)]
             for element in dataset.as_numpy_iterator()] for _ in range(epochs)]


def exact(array):
    """Strings are objects to NumPy: their bytes would be pointers."""
    content = array.tolist() if array.dtype == object else array.tobytes()
    return array.dtype.str, array.shape, content


def edit(kind, node="", to="", value=None):
    return {"edit": kind, "node": node, "to": to, "value": value}


class RewriteTest(FolderTest):
    """rewrite() is the command on hand-written plans; assert_same() loads what it wrote."""

    def run_rewrite(self, graph, edits, output="out.pb"):
        size = len(graph.SerializeToString())
        header, number = bytearray(b"\x0a"), size  # field 1 of a PipelineSnapshot: the graph
        while number > 127:
            header.append(number & 127 | 128)
            number >>= 7
        header.append(number)
        trace = self.folder / "trace.pb"
        trace.write_bytes(bytes(header) + graph.SerializeToString())
        return self.run_plan(trace, edits, output)

    def run_plan(self, trace, edits, output="out.pb", permissions=()):
        plan = self.file("plan.json", json.dumps(
            {"schema_version": 1, "graph_fingerprint": "", "edits": edits,
             "permissions": permissions}))
        return subprocess.run([plumber_binary(), "rewrite", str(trace), "--plan", str(plan), "-o",
                               self.path(output)], capture_output=True, text=True, check=False)

    def rewrite(self, graph, *edits):
        done = self.run_rewrite(graph, edits)
        self.assertEqual(done.returncode, 0, done.stderr)
        return plumber_tf._read_graph(self.path("out.pb"))[0]

    def refused(self, graph, *edits):
        done = self.run_rewrite(graph, edits)
        self.assertEqual(done.returncode, 3, done.stderr)
        return done.stderr

    def assert_same(self, dataset, *edits):
        """`edits` take the graph, as node names are known only after serialising."""
        graph = plumber_tf.serialize(dataset)
        made = [make(graph) if callable(make) else make for make in edits]
        result = self.rewrite(graph, *made)
        self.assertEqual(elements(plumber_tf.load(result)), elements(dataset))
        return result


def on(kind, op, *, place=0, to="", value=None):
    """An edit of the `place`-th node of that op."""
    return lambda graph: edit(kind, name_of(graph, op, place), to, value)
