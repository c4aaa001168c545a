# SPDX-License-Identifier: Apache-2.0
"""tune: the measured best is kept, a worse round is undone, a wrong program is left out, and an
interrupted run leaves the best so far. Processes and rates are stand-ins."""
import os
import pathlib
import unittest
import unittest.mock

from stand_in import InProcess, ScriptedTuner
from support import FolderTest, bridge, captured_stderr, plumber_binary, plumber_tf
import tensorflow as tf

PIPELINES = """
import tensorflow as tf
R = tf.data.Dataset.range
def number(x): return tf.strings.to_number(tf.strings.as_string(x), tf.int64)
def words(x): return tf.strings.split(tf.strings.as_string([x, x + 1]), "1").flat_values[:1]
def is_even(x): return x % 2 == 0
def block(x): return R(10 * x, 10 * x + 10)
def heavy_work(x):
    text = tf.strings.substr("alpha Beta, gamma " * 20000, x % 7, 300000)
    return tf.strings.to_hash_bucket_strong(text, 1000, [1, 2])
def heavy(): return R(400).map(heavy_work).batch(8)
def maps(): return R(2000).map(number).batch(8)
def filtered(): return R(2000).map(number).filter(is_even).batch(8)
def read(): return R(200).interleave(block, cycle_length=4).map(words).padded_batch(8)
def fails(n, at=99, more=0): return R(n).map(lambda x: x // tf.cast(x != at, x.dtype) + more)
def endless(): return R(2000).map(number).map(number).batch(8).repeat()
"""
FOUR = ("maps", "filtered", "read", "endless")
LIMITS = plumber_tf.Limits(cores=2, mem="1G")


def values(dataset, count=250):
    return [part.numpy().tolist() for part in dataset.take(count)]


class TuneTest(FolderTest):
    def setUp(self):
        super().setUp()
        plumber_binary()
        self.pipelines = self.file("pipelines.py", PIPELINES)
        self.output = self.path("tuned.pb")

    def source(self, name):
        return f"{self.pipelines}:{name}"

    def tuner(self, name="maps", limits=LIMITS, **how):
        return ScriptedTuner(self.source(name), self.output, limits, **how)

    def written(self):
        return pathlib.Path(self.output).read_bytes()

    def kinds(self, candidate):
        return {edit["edit"] for edit in candidate.edits}


class RoundsTest(TuneTest):
    def test_the_measured_best_of_four_pipelines_is_kept(self):
        for name in FOUR:
            with self.subTest(name):
                tuner = self.tuner(name, speeds=[3, 0.5])
                fates = [row.fate for row in tuner.run(2)]
                # The second plan may be empty: then the first one is the best there is.
                self.assertIn(fates, (["kept", "undone"], ["kept"]))
                best = pathlib.Path(tuner.candidates[0].side)
                self.assertFalse(best.exists())  # the folder of the run is gone
                self.assertEqual(values(plumber_tf.load(self.output)),
                                 values(plumber_tf.build(self.source(name))))
                self.assertTrue(tuner.best.edits)
                self.assertEqual(tuner.rounds[0].gain, 2.0)

    def test_a_worse_round_is_undone_and_the_next_best_plan_tried(self):
        tuner = self.tuner("heavy", speeds=[0.5, 1.5, 1])
        with unittest.mock.patch.object(tuner, "keep", wraps=tuner.keep) as keep:
            fates = [row.fate for row in tuner.run(2)]
        self.assertEqual(fates, ["undone", "kept"])
        first, second = tuner.candidates
        self.assertEqual([call.args[0] for call in keep.call_args_list], [second])
        self.assertIn("insert_cache", self.kinds(first))
        self.assertNotIn("insert_cache", self.kinds(second))
        self.assertEqual(tuner.best.edits, second.edits)

    def test_only_worse_rounds_leave_the_program_as_it_was(self):
        tuner = self.tuner(speeds=[0.5])
        self.assertEqual({row.fate for row in tuner.run(9)}, {"undone"})
        self.assertRegex(tuner.said[-1], r"^stopped after \d of 9 rounds: no other plan is left")
        self.assertFalse(tuner.best.edits)
        self.assertEqual(values(plumber_tf.load(self.output)),
                         values(plumber_tf.build(self.source("maps"))))

    def test_a_gain_within_noise_ends_it(self):
        tuner = self.tuner(speeds=[1.01, 5])
        self.assertEqual([row.fate for row in tuner.run(9)], ["noise"])
        self.assertEqual(tuner.said[-1], "stopped after 1 of 9 rounds: the gain is within noise")
        self.assertFalse(tuner.best.edits)

    def test_an_interrupted_run_leaves_the_best_so_far(self):
        tuner = self.tuner()
        traces = [tuner.trace, unittest.mock.Mock(side_effect=KeyboardInterrupt)]
        tuner.trace = lambda: traces.pop(0)()  # of the second round, which may have no plan
        kept = []
        with unittest.mock.patch.object(
                tuner, "keep", lambda one: (ScriptedTuner.keep(tuner, one),
                                            kept.append(self.written()))):
            with self.assertRaises(KeyboardInterrupt):
                tuner.run(3)
        self.assertEqual([self.written()], kept)
        self.assertEqual(values(plumber_tf.load(self.output)),
                         values(plumber_tf.build(self.source("maps"))))

    def test_caches_without_room_beside_each_other_are_measured_apart(self):
        tuner = self.tuner()
        source = tuner.best
        self.assertEqual(len(tuner.rates([source, source._replace(held_bytes=1)])), 2)
        seen = []
        tuner._rates = lambda programs, _: seen.append(len(programs)) or [[1.0]] * len(programs)
        self.assertEqual(tuner.rates([source, source._replace(held_bytes=1e18)]), [[1.0]] * 2)
        self.assertEqual(seen, [1, 1])

    def test_one_step_changes_one_node_a_round(self):
        tuner = self.tuner("endless", speeds=[1.2, 1.0, 0.5, 1.2], one_step=True)
        fates = [row.fate for row in tuner.run(4)]
        self.assertEqual(fates[:3], ["kept", "kept", "undone"])  # no gain is no reason to stop
        self.assertTrue(all(len(row.edits) == 1 for row in tuner.rounds))
        self.assertEqual(values(plumber_tf.load(self.output)),
                         values(plumber_tf.build(self.source("endless"))))

    def test_options_are_plumbers(self):
        tuner = self.tuner("heavy", limits=plumber_tf.Limits(2, "1G", True, "frozen-order"))
        tuner.run(1)
        self.assertNotIn("insert_cache", self.kinds(tuner.candidates[0]))
        with self.assertRaisesRegex(plumber_tf.Error, "unknown permission 'frozen'"):
            self.tuner(limits=plumber_tf.Limits(allow="frozen")).run(1)


class VerifyTest(TuneTest):
    class Wrong(InProcess):
        """Gives other elements where the program has a cache."""

        def digests(self, **limits):
            found = super().digests(**limits)
            if any(node.op == "CacheDatasetV2" for node in plumber_tf.serialize(self.dataset).node):
                found["digests"][3] = ["other"]
            return found

    def test_a_program_that_gives_other_elements_is_left_out(self):
        tuner = self.tuner("heavy", speeds=[2, 1])
        tuner.open = lambda one: self.Wrong(one.side)
        tuner.run(1)
        first, second = tuner.candidates
        self.assertIn("insert_cache", self.kinds(first))
        self.assertNotIn("insert_cache", self.kinds(second))
        self.assertEqual(tuner.best.edits, second.edits)
        self.assertIn("round 1: left out: different: element 3, component 0", tuner.said)

    def test_where_all_plans_are_wrong_the_program_stays(self):
        tuner = self.tuner()
        tuner.measure = lambda one: (None, "wrong")
        self.assertEqual(tuner.run(3), [])
        self.assertEqual(tuner.said[-1], "stopped after 0 of 3 rounds: "
                         "no other plan is left to try")
        self.assertEqual(values(plumber_tf.load(self.output)),
                         values(plumber_tf.build(self.source("maps"))))

    def test_a_program_that_hangs_fails(self):
        slow = plumber_tf.Program(self.source("maps"), patience_s=0.01)  # it cannot even start
        with slow:
            sameness = plumber_tf.verify(InProcess(self.source("maps")), slow)
        self.assertEqual(sameness, ("fails", f"{self.source('maps')}: no answer within 0.01 s"))

    def test_the_second_epoch_counts(self):
        class Forgetful(InProcess):
            def digests(self, **limits):
                found = super().digests(**limits)
                self.dataset = self.dataset.skip(1)
                return found
        source = self.source("maps")
        self.assertEqual(plumber_tf.verify(InProcess(source), Forgetful(source)),
                         ("different", "different elements in the second epoch"))

    def test_a_slower_program_is_no_other_one(self):
        class Slow(InProcess):
            def digests(self, **limits):
                return super().digests(**{**limits, "elements": 3})
        source = self.source("endless")
        self.assertEqual(plumber_tf.verify(InProcess(source), Slow(source)),
                         ("equal", "equal, bit for bit and in order (3 elements)"))

    def test_programs_that_fail_at_an_element(self):
        def side(*arguments):
            return InProcess(self.source("fails"), tuple(zip(("n", "at", "more"), arguments)))

        def check(a, b, verdict, *parts):
            found = plumber_tf.verify(side(*a), side(*b))
            self.assertEqual(found.verdict, verdict, found)
            for part in parts:
                self.assertIn(part, found.text)
        check((9, 4), (9, 4), "equal", "equal, bit for bit and in order (4 elements); then both "
              "fail alike: it fails at element 4: InvalidArgumentError: ", "ivision by zero")
        check((9, 0), (9, 0), "unknown", "not comparable: each one fails at element 0: Invalid")
        check((9, 4), (9, 5), "different", "both fail, differently: the first one fails at ele"
              "ment 4", "; the second one fails at element 5: Invalid")
        check((9, 4), (9,), "different", "only the first one fails at element 4: Invalid")
        check((9,), (9, 4), "fails", "only the second one fails at element 4: Invalid")
        check((9, 4), (9, 4, 1), "different", "element 0, component 0; then both fail alike")

    def test_permissions_say_what_may_differ(self):
        a, b = (InProcess(self.source(name)) for name in ("maps", "filtered"))
        self.assertEqual(plumber_tf.verify(a, b).verdict, "different")
        self.assertEqual(plumber_tf.verify(a, b, allow="frozen-order").verdict, "different")
        self.assertEqual(plumber_tf.verify(a, b, allow="unfreeze").verdict, "allowed")

    def test_as_a_command(self):
        for name in ("maps", "filtered"):
            InProcess(self.source(name)).write(self.path(name + ".pb"))
        InProcess(self.source("maps")).record(self.path("trace.pb"), 0)
        with unittest.mock.patch.object(plumber_tf, "Program", InProcess):
            done = bridge("verify", self.source("maps"), self.path("maps.pb"))
            self.assertEqual((done.returncode, done.stdout), (
                0, "elements: equal, bit for bit and in order (250 elements)\n"))
            done = bridge("verify", self.path("trace.pb"), self.path("maps.pb"))
            self.assertEqual(done.returncode, 0, done)
            done = bridge("verify", self.path("trace.pb"), self.path("filtered.pb"))
            self.assertEqual((done.returncode, done.stdout), (
                1, "elements: different: 250 elements against 125\n"))

    def test_a_trace_is_not_taken_for_a_rewritten_program(self):
        InProcess(self.source("maps")).record(self.path("trace.pb"), 0)
        with self.assertRaisesRegex(plumber_tf.Error, "a trace, not a rewritten program"):
            plumber_tf.load(self.path("trace.pb"))
        self.assertEqual(len(values(plumber_tf.load(self.path("trace.pb"), traced=True))), 250)


class PartsTest(unittest.TestCase):
    def test_gain_and_noise(self):
        self.assertEqual(plumber_tf.gain_of([10, 10, 10], [15, 15, 15]), (0.5, 0.02))
        gain, noise = plumber_tf.gain_of([10] * 5, [10, 11, 12, 13, 14])
        self.assertAlmostEqual(gain, 0.2)
        self.assertAlmostEqual(noise, 2 * 1.2533 * 0.14826 / 5 ** 0.5)

    def test_order_by_bottleneck(self):
        edits = [{"node": name} for name in "abc"]
        analysis = {"bounds": [{"nodes": ["x", "c"]}, {"nodes": ["a", "c"]}]}
        found = [edit["node"] for edit in plumber_tf.by_bottleneck(edits, analysis)]
        self.assertEqual(found, ["c", "a", "b"])

    def test_elements_to_fill(self):
        def node(name, op, count):
            return {"name": name, "op": op, "elements_per_epoch": count, "visit_ratio": 8}
        plan = {"edits": [{"edit": "insert_cache", "node": "b"}, {"edit": "inline", "node": "c"}]}
        nodes = [node("a", "MapDataset", 8000), node("b", "MapDataset", 801)]
        self.assertEqual(plumber_tf.elements_to_fill(plan, {"nodes": nodes}), 102)
        self.assertEqual(plumber_tf.elements_to_fill({"edits": []}, {"nodes": nodes}), 0)
        nodes.append(node("d", "CacheDatasetV2", None))  # one that was there
        self.assertIsNone(plumber_tf.elements_to_fill(plan, {"nodes": nodes}))

    def test_the_environment_travels_with_the_program(self):
        graph = plumber_tf.serialize(tf.data.Dataset.range(3))
        attr = plumber_tf._return_node(graph).attr
        attr[plumber_tf.ENVIRONMENT_ATTRIBUTE].s = b'{"PLUMBER_TEST": "1"}'
        with captured_stderr() as stderr:
            plumber_tf.load(graph)
        self.assertIn("tuned with PLUMBER_TEST=1: set it before", stderr.getvalue())
        with unittest.mock.patch.dict(os.environ, PLUMBER_TEST="1"), captured_stderr() as stderr:
            plumber_tf.load(graph)
        self.assertEqual(stderr.getvalue(), "")

    def test_plumber_is_found_or_asked_for(self):
        with unittest.mock.patch.dict(os.environ, PLUMBER="/nowhere/plumber"):
            with self.assertRaisesRegex(plumber_tf.Error, "PLUMBER=/nowhere/plumber names no"):
                plumber_tf.plumber_program()


if __name__ == "__main__":
    unittest.main()
