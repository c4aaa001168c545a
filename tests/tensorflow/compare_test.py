# SPDX-License-Identifier: Apache-2.0
"""compare: what counts as the same elements, and rates in turn; calibration's arithmetic."""
import collections
import contextlib
import itertools
import math
import types
import unittest
import unittest.mock

from support import FolderTest, bridge, bridge_process, plumber_tf
import tensorflow as tf

PROGRAMS = """
import tensorflow as tf
R = tf.data.Dataset.range
def plain(): return R(100).repeat().batch(8)
def shifted(): return R(1, 101).repeat().batch(8)
def backwards(): return R(99, -1, -1).repeat().batch(8)
def shuffled(): return R(100).shuffle(50).repeat().batch(8)
def larger_buffer(): return R(100).shuffle(100).repeat().batch(8)
def seeded(): return R(100).shuffle(100, seed=3).repeat().batch(8)
def wrong_shuffled(): return R(2, 102).shuffle(50).repeat().batch(8)
def shorter(): return R(40).batch(8)
def noise(x): return {"noise": tf.random.uniform([x % 5 + 1]), "id": x}
def noisy():
    return R(60).map(noise).shuffle(9).repeat().padded_batch(7)
def noisy_again():
    return R(60).shuffle(60).map(noise).repeat().padded_batch(7)
def only_noise(): return R(60).map(lambda x: tf.random.uniform([])).batch(7)
def flag(x): return x, tf.random.uniform([], maxval=2, dtype=tf.int64)
def flagged(): return R(3).map(flag)
def three(): return R(3).shuffle(3)
def pairs(): return tf.data.Dataset.zip(R(4).shuffle(4), R(4).shuffle(4)).batch(2)
def other_pairs(): return tf.data.Dataset.zip(R(4).shuffle(4), R(1, 5).shuffle(4)).batch(2)
def more_noise(): return R(61).map(lambda x: tf.random.uniform([])).batch(7)
def ragged(n):
    d = R(n).map(lambda x: {"ids": tf.fill([x % 3 + 1], x), "n": x % 3 + 1}).shuffle(n)
    return d.ragged_batch(4)
def ragged_rows(): return ragged(24)
def ragged_rows_lost(): return ragged(23).concatenate(ragged(1))
def sparse_rows():
    d = R(24).map(lambda x: tf.sparse.from_dense(tf.one_hot([x % 5], 24, dtype=tf.int64)[0] * x))
    return d.shuffle(24).batch(4)
def summed(n): return R(n).map(lambda x: x % 2).shuffle(n).batch(2).map(tf.reduce_sum)
def sums(): return summed(6)
def fails(x): return 6 // tf.minimum(x, tf.random.uniform([], maxval=3, dtype=tf.int64))
def fails_by_chance(): return R(1, 2).map(fails)
def fails_always(): return R(2).map(lambda x: 6 // x)
def python(): return R(40).map(lambda x: tf.numpy_function(lambda v: 2 * v, [x], tf.int64))
"""


class InProcess:
    """Stands for a Program without the cost of a process."""

    def __init__(self, make):
        self.make = make
        self.dataset = make()

    def digests(self, **limits):
        return plumber_tf._digests(self.dataset, limits)

    def write(self, path):
        plumber_tf._write(path, plumber_tf.serialize(self.dataset).SerializeToString())

    def fixed_form(self):
        return plumber_tf.fixed_form(self.dataset)

    @contextlib.contextmanager
    def again(self):
        yield InProcess(self.make)


class SamenessTest(unittest.TestCase):
    programs = types.SimpleNamespace()
    exec(PROGRAMS, vars(programs))

    def verdict(self, a, b, **limits):
        one, two = (InProcess(getattr(self.programs, name)) for name in (a, b))
        return plumber_tf.same_elements(one, two, elements=40, **limits)

    def test_deterministic(self):
        same = self.verdict("plain", "plain")
        self.assertEqual(same, ("equal", "equal, bit for bit and in order (40 elements)"))
        self.assertEqual(self.verdict("plain", "shifted"),
                         ("different", "different: element 0, component 0"))
        self.assertEqual(self.verdict("plain", "backwards").verdict, "order")
        self.assertEqual(self.verdict("plain", "shorter"),
                         ("different", "different: 40 elements against 5"))

    def test_it_says_what_it_does_and_ends_in_time(self):
        said = []
        same = self.verdict("shuffled", "wrong_shuffled", within=1e-9, progress=said.append)
        self.assertEqual(same.verdict, "unknown")
        self.assertIn("within", same.text)
        self.assertEqual(said[0], "comparing 40 elements of each")

    def test_random(self):
        same = self.verdict("shuffled", "larger_buffer")
        self.assertEqual(same.verdict, "multiset")
        self.assertIn("1 of 1 components, 100 rows of an epoch", same.text)
        self.assertEqual(self.verdict("shuffled", "wrong_shuffled").verdict, "different")
        same = self.verdict("noisy", "noisy_again")
        self.assertEqual(same.verdict, "multiset")
        self.assertIn("1 of 2 components, 60 rows", same.text)

    def test_what_cannot_be_judged(self):
        self.assertEqual(self.verdict("only_noise", "only_noise").verdict, "unknown")
        self.assertEqual(self.verdict("shuffled", "larger_buffer", epoch_elements=3).verdict,
                         "unknown")

    def never(self, wrong, a, b, times=12):
        """Where two runs agree by chance, once in some times, a difference would be said."""
        found = collections.Counter(self.verdict(a, b).verdict for _ in range(times))
        self.assertFalse(found.keys() & {"fails", *wrong}, found)
        return found

    def test_what_agrees_by_chance(self):
        for name in ("flagged", "three", "pairs", "sums", "ragged_rows"):
            with self.subTest(name):
                self.never(("different", "order"), name, name, times=8)
        self.never(("different", "order"), "three", "flagged", times=5)

    def test_ends_by_chance(self):
        self.never(("different",), "fails_by_chance", "fails_by_chance")
        self.assertEqual(self.verdict("plain", "fails_always").verdict, "fails")

    def test_rows_of_ragged_and_sparse_batches(self):
        for name in ("ragged_rows", "sparse_rows"):
            same = self.verdict(name, name)
            self.assertEqual(same.verdict, "multiset", same)
            self.assertIn("24 rows of an epoch", same.text)
        same = self.verdict("ragged_rows", "ragged_rows_lost")
        self.assertEqual(same, ("different", "different elements (2 of 2 components, 24 rows of "
                                "an epoch)"))

    def test_differences_within_what_is_random(self):
        self.assertEqual(self.verdict("pairs", "other_pairs").verdict, "different")
        self.assertEqual(self.verdict("only_noise", "more_noise"),
                         ("different", "different: 60 rows of an epoch against 61"))

    def test_what_is_left_to_chance(self):
        for name, fixed in (("plain", True), ("seeded", True), ("shuffled", False),
                            ("noisy", False), ("python", False)):
            self.assertEqual(InProcess(getattr(self.programs, name)).fixed_form() is not None,
                             fixed, name)
        options = tf.data.Options()
        options.deterministic = False
        self.assertIsNone(plumber_tf.fixed_form(self.programs.plain().with_options(options)))

    def test_judge_alone(self):
        def side(*rows):
            return {"elements": list(rows), "rows": [[row] for row in rows]}
        one, two = side(["a", "1"], ["b", "2"]), side(["b", "3"], ["a", "4"])
        wrong, right = side(["a", "7"], ["a", "8"]), side(["a", "7"], ["b", "8"])
        self.assertEqual(plumber_tf.judge([one, two], [right]).verdict, "multiset")
        self.assertEqual(plumber_tf.judge([one, two], [wrong]).verdict, "different")
        self.assertEqual(plumber_tf.judge([one, two], [wrong, right]).verdict, "unknown")


class CommandTest(FolderTest):
    def test_program_with_python_functions_and_rates(self):
        source = self.file("programs.py", PROGRAMS)
        # Python functions are known by the order of their making: a process of its own.
        done = bridge_process("trace", f"{source}:python", "--seconds", 0.2, "--no-calibrate",
                              "-o", self.path("t.pb"))
        self.assertEqual(done.returncode, 0, done.stderr)
        done = bridge("compare", f"{source}:python", self.path("t.pb"), "--rounds", 2,
                      "--seconds", 0.2)
        self.assertEqual(done.returncode, 0, done.stderr)
        lines = done.stdout.splitlines()
        self.assertEqual(lines[0], "elements: equal, bit for bit and in order (40 elements)")
        number = r"[\d.e+]+ \([\d.e+]+ \.\. [\d.e+]+\)"
        self.assertRegex(lines[1], f"^rate A:   {number} /s  {source}:python$")
        self.assertRegex(lines[2], f"^rate B:   {number} /s  {self.path('t.pb')}$")
        self.assertRegex(lines[3], f"^B / A:    {number}  \\(2 rounds of 0.2 s in turn\\)$")

    def test_exit_codes(self):
        source = self.file("programs.py", PROGRAMS)
        done = bridge("compare", f"{source}:seeded", f"{source}:seeded", "--rounds", 0)
        self.assertEqual((done.returncode, done.stdout), (
            0, "elements: equal, bit for bit and in order (256 elements)\n"))
        done = bridge("compare", f"{source}:plain", f"{source}:shifted", "--rounds", 0)
        self.assertEqual((done.returncode, done.stdout),
                         (1, "elements: different: element 0, component 0\n"))
        done = bridge("compare", self.path("missing.pb"), f"{source}:plain", "--rounds", 0)
        self.assertEqual(done.returncode, 3)
        self.assertIn("No such file", done.stderr)


class NoiseTest(unittest.TestCase):
    def test_rounds_that_contradict_each_other(self):
        self.assertTrue(plumber_tf.too_noisy([0.7, 1.6, 1.1]))
        self.assertFalse(plumber_tf.too_noisy([0.95, 1.02, 1.1]))  # alike
        self.assertFalse(plumber_tf.too_noisy([1.1, 3.0]))


class ProbeTest(FolderTest):
    def test_cpu_an_element(self):
        source = self.file("work.py", """
import tensorflow as tf
def make():
    text = tf.data.Dataset.from_tensors("x" * 300000).repeat()
    return text.map(lambda s: tf.strings.to_hash_bucket_strong(s, 9, [1, 2]))
def branches():
    return make().map(lambda x: tf.cond(x > 4, lambda: x, lambda: -x))
""")
        for function in ("make", "branches"):  # a function with control flow stays as it is
            cpu_s, problem = plumber_tf.inline_probe_cpu_s(f"{source}:{function}", [], 0.5)
            self.assertIsNone(problem)
            self.assertTrue(2e-6 < cpu_s < 0.1, cpu_s)


    def test_a_seeded_shuffle_keeps_its_order_when_read_back(self):
        source = self.file("seeded.py", """
import tensorflow as tf
def make():
    return tf.data.Dataset.range(10 ** 9).shuffle(50, seed=3).batch(4)
def other():
    return make().map(lambda x: x + 1)
""")
        program = self.path("seeded.pb")
        plumber_tf._write(program, plumber_tf.serialize(
            plumber_tf.build(f"{source}:make")).SerializeToString())
        wrong = self.path("other.pb")
        plumber_tf._write(wrong, plumber_tf.serialize(
            plumber_tf.build(f"{source}:other")).SerializeToString())
        for file, verdict in ((program, "equal"), (wrong, "different")):
            with plumber_tf.Program(f"{source}:make") as one, plumber_tf.Program(file) as other:
                same = plumber_tf.same_elements(one, other, elements=8, epoch_elements=20)
                self.assertEqual(same.verdict, verdict, same.text)


class CalibrationTest(unittest.TestCase):
    def test_constants_from_a_known_machine(self):
        """Costs by the formulas, w 28 -> 90, tau 30 and so on, give the constants back."""
        cost = plumber_tf._Cost
        over, per_op = 4.6, 0.18
        seen = {"source": cost(0.5, 0.5, 0.4)}
        for name, ops, work in (("few", 2, 1.0), ("many", 21, 4.0)):
            inline = 0.5 + work
            seen[name + " inline"] = cost(inline, inline, 0)
            seen[name + " dispatched"] = cost(inline + 28, inline + 37,
                                              inline + over + per_op * ops)
        seen["few parallel"] = cost((1.0 + 58) / 2, 1.5 + 45, 0)
        seen["few parallel inline"] = cost((1.0 + 46) / 2, 1.5 + 33, 0)
        for work in (3, 10, 20, 40, 200):
            inline, growth = 0.5 + work, 1 - math.exp(-work / 30)
            seen[f"hash {work} inline"] = cost(inline * 3, inline, 0)  # the wall is disturbed
            seen[f"hash {work} dispatched"] = cost(inline + 28 + 62 * growth,
                                                   inline + 37 + 58 * growth, 0)
            seen[f"hash {work} parallel"] = cost(0, 0, 0.4 + work + 14.4)
            seen[f"hash {work} prefetch"] = cost(work + min(15, 3 + 0.33 * work), 0, 0)
        expected = {"dispatch_base_s": 28, "dispatch_deep_s": 90, "dispatch_tau_s": 30,
                    "dispatch_cpu_base_s": 37, "dispatch_cpu_deep_s": 95, "node_overcount_s": 4.6,
                    "node_overcount_op_s": 0.18, "parallel_overcount_s": 14.4,
                    "parallel_wall_s": 58, "parallel_inline_wall_s": 46, "parallel_cpu_s": 45,
                    "parallel_inline_cpu_s": 33, "handover_base_s": 3, "handover_slope": 0.33,
                    "handover_max_s": 15}
        found = plumber_tf._constants(seen)
        self.assertEqual(found.keys(), expected.keys())
        for name, value in expected.items():
            self.assertAlmostEqual(found[name], value, delta=0.01 * value + 0.001, msg=name)

    def test_measured(self):
        calibration, _ = plumber_tf.calibrate(seconds=2)
        for name, (low, high) in plumber_tf._BOUNDS.items():
            if name != "next_s":
                unit = 1 if name == "handover_slope" else 1e-6
                value = getattr(calibration, name) / unit
                self.assertTrue(low * 0.999 <= value <= high * 1.001, f"{name} {value}")
        self.assertGreater(calibration.cores, 0)

    def test_a_disturbed_machine_is_measured_longer(self):
        """Runs wait as long as they work, but for the last two."""
        seen = []

        def measure(dataset, *_):
            seen.append(dataset)
            return plumber_tf._Cost(20.0 if len(seen) > 2 * 3 else 40.0, 20.0, 20.0)
        names = ["source", "few inline", "many inline"]
        with unittest.mock.patch.multiple(
                plumber_tf, _measure=measure, _constants=lambda costs: {"handover_max_s": 5.0},
                _calibration_cases=lambda: {name: lambda: 0 for name in names}):
            calibration, disturbed = plumber_tf.calibrate()
        self.assertEqual((len(seen), disturbed), (4 * 3, False))
        self.assertAlmostEqual(calibration.handover_max_s, 5e-6)

    def test_empty_next_is_the_least_of_short_turns(self):
        turns = itertools.chain([9.0, 80.0, 31.0], itertools.repeat(55.0))
        with unittest.mock.patch.object(plumber_tf, "_turn_us", lambda *_: next(turns)):
            self.assertAlmostEqual(plumber_tf.empty_next_s(tf.TensorSpec([]), 0.1), 31e-6)

    def test_empty_next(self):
        spec = {"a": tf.TensorSpec([None, 3], tf.float32), "b": (tf.TensorSpec([], tf.string),)}
        self.assertTrue(2e-6 <= plumber_tf.empty_next_s(spec, 0.2) <= 2e-3)
        self.assertEqual(plumber_tf.empty_next_s(tf.SparseTensorSpec([3], tf.int64), 0.2), 0)


if __name__ == "__main__":
    unittest.main()
