# SPDX-License-Identifier: Apache-2.0
"""The golden runner against a program of four lines: what passes, what fails, what is rewritten."""

import os
import subprocess
import sys
import tempfile
import unittest
from pathlib import Path

RUNNER = Path(__file__).resolve().parents[2] / "scripts/golden.py"

PROGRAM = r"""#!/bin/sh
printf '$ odd\n--- stdout\nno line end'
echo "called with $*" >&2
exit 3
"""

CASE = r"""# Output that looks like the format itself.
$ plumber a "b  c"
exit: 3
--- stdout
\$ odd
\--- stdout
no line end
\ no newline at the end
--- stderr
called with a b  c
$ test -d testdata && plumber 2>/dev/null | wc -l
exit: 0
--- stdout
2
"""


class GoldenRunner(unittest.TestCase):
    def setUp(self):
        folder = tempfile.TemporaryDirectory()
        self.addCleanup(folder.cleanup)
        self.folder = Path(folder.name)
        self.program = self.folder / "program"
        self.program.write_text(PROGRAM)
        os.chmod(self.program, 0o755)
        self.case = self.folder / "case.test"

    def run_case(self, text, *options):
        self.case.write_text(text)
        done = subprocess.run([sys.executable, RUNNER, "--plumber", self.program, *options,
                               self.case], capture_output=True, text=True, check=False)
        return done.returncode, done.stdout

    def test_expected_output_passes(self):
        self.assertEqual(self.run_case(CASE), (0, "golden: 1 of 1 cases pass\n"))

    def test_other_output_fails_with_a_diff_and_the_way_to_accept_it(self):
        code, report = self.run_case(CASE.replace("called with a", "called with x"))
        self.assertEqual(code, 1)
        self.assertIn("-called with x b  c\n+called with a b  c\n", report)
        self.assertIn("scripts/golden.py --update", report)

    def test_other_exit_code_fails(self):
        code, report = self.run_case(CASE.replace("exit: 3", "exit: 0"))
        self.assertEqual(code, 1)
        self.assertIn("-exit: 0\n+exit: 3\n", report)

    def test_missing_expectations_fail(self):
        for text in ("", "# only a comment\n", "$ plumber\n", "$ true\nexit: 0\n"):
            code, report = self.run_case(text)
            self.assertEqual(code, 1, text)
            self.assertIn("FAIL", report)

    def test_update_fills_a_new_case(self):
        commands = [line for line in CASE.splitlines() if line.startswith(("# ", "$ "))]
        code, _ = self.run_case("\n".join(commands) + "\n", "--update")
        self.assertEqual(code, 0)
        self.assertEqual(self.case.read_text(), CASE)

    def test_update_without_names_is_refused(self):
        done = subprocess.run([sys.executable, RUNNER, "--plumber", self.program, "--update"],
                              capture_output=True, text=True, check=False)
        self.assertEqual(done.returncode, 2)


if __name__ == "__main__":
    unittest.main()
