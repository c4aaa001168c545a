# SPDX-License-Identifier: Apache-2.0
"""Each line of Python that the program advises is Python, and calls what tf.data has: the lines of
every document of the shipped traces, and of every golden test. PLUMBER names the binary."""

import ast
import json
import os
import re
import subprocess
import unittest
from pathlib import Path

ROOT = Path(__file__).resolve().parents[2]
PLUMBER = os.environ.get("PLUMBER", str(ROOT / "build/dev/apps/plumber"))
TRACES = sorted(path for path in (ROOT / "testdata/traces").rglob("*") if path.suffix in
                (".pb", ".dumps"))
COMMANDS = (["analyze"], ["optimize", "--cores", "8", "--mem", "16G"],
            ["optimize", "--cores", "8", "--mem", "16G", "--no-cache", "--no-moves"],
            ["optimize", "--cores", "8", "--mem", "16G", "--model", "paper"])
# Arguments by name that a call takes, as of TensorFlow 2.21; a name that is not here is no call.
METHODS = {
    "apply": {}, "batch": {"drop_remainder", "num_parallel_calls"}, "cache": {},
    "concatenate": {}, "filter": {}, "flat_map": {}, "group_by_window": {}, "ignore_errors": {},
    "interleave": {"cycle_length", "block_length", "num_parallel_calls"},
    "map": {"num_parallel_calls"}, "padded_batch": {"drop_remainder"}, "prefetch": {},
    "rebatch": {}, "repeat": {}, "save": {}, "scan": {}, "shard": {}, "shuffle": {}, "skip": {},
    "snapshot": {}, "sparse_batch": {}, "take": {}, "take_while": {}, "unbatch": {}, "unique": {},
    "window": {}, "with_options": {},
}
TOP = re.compile(r"tf\.data\.(Dataset\.\w+|(TFRecord|TextLine|FixedLengthRecord)Dataset|"
                 r"experimental\.[\w.]+)$|tf\.compat\.v1\.data\.Dataset\.\w+$")


def problem_of(line):
    """Why a line is no advice that runs; empty: it is."""
    try:
        tree = ast.parse("ds" + line if line.startswith(".") else line)
    except SyntaxError as error:
        return str(error)
    for node in ast.walk(tree):
        if not isinstance(node, ast.Call):
            continue
        name = ast.unparse(node.func)
        if isinstance(node.func, ast.Attribute) and not name.startswith("tf."):
            allowed = METHODS.get(node.func.attr)
            unknown = None if allowed is None else [
                word.arg for word in node.keywords if word.arg not in allowed]
            if unknown is None or unknown:
                return f"no such call: {ast.unparse(node)}"
        elif name.startswith("tf.") and not TOP.match(name):
            return f"no such name: {name}"
    return ""


def lines_of_document(command, trace):
    done = subprocess.run([PLUMBER, command[0], str(trace), *command[1:], "-q", "--format", "json"],
                          capture_output=True, text=True, check=False)
    document = json.loads(done.stdout) if done.stdout else {}
    for item in document.get("findings", []) + document.get("edits", []):
        if item.get("python"):
            yield item["python"]


def lines_of_golden(path):
    """What stands behind "python:", with the lines that continue it."""
    lines = path.read_text().splitlines()
    for at, line in enumerate(lines):
        label = re.match(r"( +python: +)(.*)", line)
        if not label:
            continue
        text, more = label[2], at + 1
        while more < len(lines) and lines[more].startswith(" " * len(label[1])):
            text += " " + lines[more].strip()
            more += 1
        yield text


class PythonLines(unittest.TestCase):
    def check(self, lines):
        self.assertEqual({line: problem_of(line) for line in lines if problem_of(line)}, {})

    def test_the_documents_of_all_traces(self):
        seen = 0
        for trace in TRACES:
            for command in COMMANDS:
                with self.subTest(trace=trace.name, command=command):
                    lines = list(lines_of_document(command, trace))
                    seen += len(lines)
                    self.check(lines)
        self.assertGreater(seen, 50)

    def test_the_golden_tests(self):
        for path in sorted((ROOT / "tests/golden").rglob("*.test")):
            with self.subTest(test=path.name):
                self.check(lines_of_golden(path))

    def test_what_is_no_python(self):
        for line in (".map(lambda, num_parallel_calls=2)", ".filter(f, num_parallel_calls=2)",
                     "tf.data.SnapshotDataset(...)", ".repeat() above the last shuffle"):
            self.assertNotEqual(problem_of(line), "", line)


if __name__ == "__main__":
    unittest.main()
