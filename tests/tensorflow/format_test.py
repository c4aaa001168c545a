# SPDX-License-Identifier: Apache-2.0
"""The trace format of the bridge is that of schemas/trace.proto; elements keep their structure."""
import collections
import re
import unittest

from support import ROOT, FolderTest, bridge_process, plumber_tf
import tensorflow as tf

# The original's dialect; the bridge writes none of it.
NOT_WRITTEN = {"OpStats", "IteratorStats"}


def schema_messages():
    """Message -> {field: (number, repeated, type)} of schemas/trace.proto."""
    text = re.sub(r"//.*", "", (ROOT / "schemas" / "trace.proto").read_text(encoding="utf-8"))
    found = {}
    for name, body in re.findall(r"message (\w+) \{(.*?)\}", text, re.DOTALL):
        fields = re.findall(r"(repeated )?([\w.]+) (\w+) = (\d+)", body)
        found[name] = {field: (int(number), bool(repeated), kind.split(".")[-1])
                       for repeated, kind, field, number in fields}
    return found


def bridge_messages():
    names = {1: "double", 3: "int64", 5: "int32", 9: "string", 12: "bytes"}
    return {name: {field.name: (field.number, field.is_repeated,
                                names.get(field.type) or field.message_type.name)
                   for field in message.DESCRIPTOR.fields}
            for name, message in plumber_tf.MESSAGES.items()}


class SchemaTest(unittest.TestCase):
    def test_same_fields_as_the_schema(self):
        schema = schema_messages()
        written = {name: {field: facts for field, facts in fields.items()
                          if facts[2] not in NOT_WRITTEN}
                   for name, fields in schema.items() if name not in NOT_WRITTEN}
        self.assertGreater(len(written), 5)
        self.assertEqual(bridge_messages(), written)


Point = collections.namedtuple("Point", "x y")


class ElementSpecTest(FolderTest):
    def round_trip(self, dataset):
        text = plumber_tf.spec_to_text(dataset.element_spec)
        self.assertEqual(plumber_tf.spec_from_text(text), dataset.element_spec)
        path = self.folder / "program.pb"
        path.write_bytes(plumber_tf.serialize(dataset).SerializeToString())
        loaded = plumber_tf.load(path)
        self.assertEqual(loaded.element_spec, dataset.element_spec)
        before, after = (tf.nest.flatten(next(iter(d)), expand_composites=True)
                         for d in (dataset, loaded))
        for a, b in zip(before, after, strict=True):
            self.assertEqual(a if a is None else a.numpy().tolist(),
                             b if b is None else b.numpy().tolist())
        return loaded

    def test_tuple_dict_and_nesting(self):
        self.round_trip(tf.data.Dataset.range(6).batch(2))
        self.round_trip(tf.data.Dataset.range(6).map(
            lambda x: {"b": (x, {"deep": tf.cast(x, tf.float16)}), "a": tf.fill([x], "s")}))

    def test_a_dict_keeps_its_kind_and_order(self):
        dataset = tf.data.Dataset.range(3).map(
            lambda x: collections.OrderedDict(b=x, a={"d": x, "c": x}))
        loaded = self.round_trip(dataset)
        element = next(iter(loaded))
        self.assertIsInstance(element, collections.OrderedDict)
        self.assertEqual(list(element), ["b", "a"])
        self.assertEqual((type(element["a"]), list(element["a"])), (dict, ["d", "c"]))

    def test_named_tuple(self):
        dataset = tf.data.Dataset.range(3).map(lambda x: Point(x, [1.0, 2.0]))
        loaded = self.round_trip_structure(dataset)
        self.assertEqual(next(iter(loaded)).y.shape, [2])

    def round_trip_structure(self, dataset):
        path = self.folder / "program.pb"
        path.write_bytes(plumber_tf.serialize(dataset).SerializeToString())
        return plumber_tf.load(path)

    def test_sparse_and_ragged(self):
        self.round_trip(tf.data.Dataset.range(4).map(
            lambda x: tf.sparse.from_dense(tf.stack([x, 0, x + 1]))))
        self.round_trip(tf.data.Dataset.from_tensors(tf.ragged.constant([[1, 2], [3]])))
        self.round_trip(tf.data.Dataset.range(1, 5).map(tf.range).ragged_batch(2))

    def test_unknown_rank_and_none(self):
        unknown = tf.data.Dataset.from_generator(
            lambda: iter([1.0]), output_signature=tf.TensorSpec(None, tf.float32))
        text = plumber_tf.spec_to_text(unknown.element_spec)
        self.assertIsNone(plumber_tf.spec_from_text(text).shape.rank)
        self.round_trip(tf.data.Dataset.from_tensors((1, None)))

    def test_nothing_is_evaluated(self):
        for text in ("__import__('os').system('true')", '{"tensor":{}}', "[]", '{"what":1}'):
            with self.assertRaisesRegex(plumber_tf.Error, "element_spec not understood"):
                plumber_tf.spec_from_text(text)


class LoadTest(FolderTest):
    def bare_program(self, dataset, name="program.pb"):
        """As another tool would write it: without the element_spec."""
        graph = plumber_tf.serialize(dataset)
        del next(n for n in graph.node if n.op == "_Retval").attr[plumber_tf.SPEC_ATTRIBUTE]
        path = self.folder / name
        path.write_bytes(graph.SerializeToString())
        return path

    def test_rebuilt_flat(self):
        path = self.bare_program(tf.data.Dataset.range(4).map(lambda x: {"a": x, "b": [x]}))
        loaded = plumber_tf.load(path)
        self.assertEqual(loaded.element_spec,
                         (tf.TensorSpec([], tf.int64), tf.TensorSpec([1], tf.int64)))

    def test_given_by_argument_trace_or_file_beside(self):
        dataset = tf.data.Dataset.range(4).map(lambda x: {"a": x})
        path = self.bare_program(dataset)
        self.assertEqual(plumber_tf.load(path, dataset.element_spec).element_spec,
                         dataset.element_spec)
        with plumber_tf.trace(dataset, self.path("trace.pb"), calibrate=False) as traced:
            list(traced)
        self.assertEqual(plumber_tf.load(path, trace=self.path("trace.pb")).element_spec,
                         dataset.element_spec)
        self.file("program.pb.spec.json", plumber_tf.spec_to_text(dataset.element_spec))
        self.assertEqual(plumber_tf.load(path).element_spec, dataset.element_spec)

    def test_a_trace_loads_as_its_program(self):
        with plumber_tf.trace(tf.data.Dataset.range(4), self.path("t.pb"), calibrate=False) as d:
            list(d)
        loaded = plumber_tf.load(self.path("t.pb"), traced=True)
        self.assertEqual([int(x) for x in loaded], [0, 1, 2, 3])

    def test_text_program(self):
        path = self.file("program.pbtxt", str(plumber_tf.serialize(tf.data.Dataset.range(3))))
        self.assertEqual([int(x) for x in plumber_tf.load(path)], [0, 1, 2])

    def test_unknown_structure_asks_for_it(self):
        sparse = tf.data.Dataset.range(4).map(lambda x: tf.sparse.from_dense(tf.stack([x, 0])))
        with self.assertRaisesRegex(plumber_tf.Error, "cannot be told(.|\n)*pass it: load"):
            plumber_tf.load(self.bare_program(sparse))

    def test_what_is_no_program(self):
        for name, content, problem in (("a.pb", b"no", "not a GraphDef"), ("b.pb", b"", "_Retval"),
                                       ("c.pbtxt", b"node {", "not a GraphDef")):
            (self.folder / name).write_bytes(content)
            with self.assertRaisesRegex(plumber_tf.Error, problem):
                plumber_tf.load(self.path(name))
        with self.assertRaisesRegex(plumber_tf.Error, "No such file"):
            plumber_tf.load(self.path("missing.pb"))

    def test_python_functions_fail_clearly_in_another_process(self):
        dataset = tf.data.Dataset.range(4).map(
            lambda x: tf.numpy_function(lambda v: v + 1, [x], tf.int64))
        path = self.folder / "program.pb"
        path.write_bytes(plumber_tf.serialize(dataset).SerializeToString())
        self.assertEqual(int(next(iter(plumber_tf.load(path)))), 1)  # here they are known
        done = bridge_process("load", path)
        self.assertEqual(done.returncode, 3)
        self.assertIn("it calls Python functions", done.stderr)
        self.assertIn("hint: build the original data set first", done.stderr)


if __name__ == "__main__":
    unittest.main()
