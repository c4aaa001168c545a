# SPDX-License-Identifier: Apache-2.0
"""The JSON of every command on every shipped trace keeps to its schema in schemas/."""

import itertools
import json
import os
import subprocess
import sys
import unittest
from pathlib import Path

ROOT = Path(__file__).resolve().parents[2]
TRACES = ROOT / "testdata/traces"
sys.path.insert(0, str(ROOT / "tests/support"))
import json_schema  # noqa: E402  (found by the line above)

PLUMBER = os.environ.get("PLUMBER", str(ROOT / "build/dev/apps/plumber"))
COMMANDS = {
    "analyze": [],
    "optimize": ["--cores", "4", "--mem", "8G"],
    "show": [],
}


def traces():
    """Every trace that ships: files, folders of dumps, and those in the original's dialect."""
    yield from sorted(TRACES.glob("*.pb"))
    yield from sorted(TRACES.glob("*.dumps"))
    yield from sorted(TRACES.glob("synthetic/*/trace.pb"))


def schema(command):
    return json.loads((ROOT / f"schemas/{command}.schema.json").read_text())


def refuse_constant(name):
    raise ValueError(f"{name} is not JSON")


def document(command, trace):
    done = subprocess.run([PLUMBER, command, str(trace), "--format", "json", *COMMANDS[command]],
                          capture_output=True, text=True, check=False)
    if done.returncode not in (0, 1):
        raise AssertionError(f"{command} {trace.name}: exit {done.returncode}: {done.stderr}")
    return json.loads(done.stdout, parse_constant=refuse_constant)


class Schemas(unittest.TestCase):
    def check(self, command):
        for trace in traces():
            with self.subTest(trace=trace.relative_to(TRACES)):
                found = list(json_schema.errors(document(command, trace), schema(command)))
                self.assertEqual(found, [])

    def test_analyze(self):
        self.check("analyze")

    def test_optimize(self):
        self.check("optimize")

    def test_curve(self):
        trace = TRACES / "imagenet_train.pb"
        done = subprocess.run([PLUMBER, "optimize", str(trace), "--mem", "8G", "--format", "json",
                               "--curve", "cores=1..8"], capture_output=True, check=True)
        found = json_schema.errors(json.loads(done.stdout), schema("curve"))
        self.assertEqual(list(found), [])

    def test_show(self):
        self.check("show")

    def test_diff(self):
        """Of each trace with the next one: a difference of any kind that there is."""
        for before, after in itertools.pairwise(traces()):
            with self.subTest(before=before.name, after=after.name):
                done = subprocess.run([PLUMBER, "diff", before, after, "--format", "json"],
                                      capture_output=True, text=True, check=False)
                self.assertIn(done.returncode, (0, 1), done.stderr)
                found = json.loads(done.stdout, parse_constant=refuse_constant)
                self.assertEqual(list(json_schema.errors(found, schema("diff"))), [])


class Validator(unittest.TestCase):
    """A check that cannot fail is none."""

    def found(self, change):
        value = document("analyze", TRACES / "imagenet_train.pb")
        change(value)
        return list(json_schema.errors(value, schema("analyze")))

    def test_a_missing_key(self):
        self.assertEqual(self.found(lambda value: value.pop("verdict")), ["$: no 'verdict'"])

    def test_an_unknown_key(self):
        self.assertEqual(self.found(lambda value: value["rate"].update(x=1)),
                         ["$.rate: unknown key 'x'"])

    def test_a_wrong_type(self):
        def change(value):
            value["nodes"][0]["autotuned"] = 1
        self.assertEqual(self.found(change), ["$.nodes[0].autotuned: 1 is not of type boolean"])

    def test_a_wrong_word(self):
        self.assertEqual(len(self.found(lambda value: value.update(verdict="slow"))), 1)

    def test_a_keyword_that_is_not_checked(self):
        with self.assertRaises(ValueError):
            list(json_schema.errors(1, {"multipleOf": 2}))


if __name__ == "__main__":
    unittest.main()
