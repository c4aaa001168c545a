# SPDX-License-Identifier: Apache-2.0
"""The README's example shows what the program prints: each "$ plumber ..." block, to the letter.

readme_test.py --update rewrites the blocks; PLUMBER names the binary."""

import os
import shlex
import subprocess
import sys
import unittest
from pathlib import Path

ROOT = Path(__file__).resolve().parents[2]
README = ROOT / "README.md"
PLUMBER = os.environ.get("PLUMBER", str(ROOT / "build/release/apps/plumber"))
INDENT = "    "


def output(command):
    words = shlex.split(command)
    done = subprocess.run([PLUMBER, *words[1:]], capture_output=True, text=True, cwd=ROOT,
                          check=True)
    return "".join((INDENT + line).rstrip() + "\n" for line in done.stdout.splitlines())


def refreshed(text):
    """The text with the output of every example as it is now."""
    lines = text.splitlines(keepends=True)
    fresh, at = [], 0
    while at < len(lines):
        fresh.append(lines[at])
        command = lines[at].strip()
        at += 1
        if not command.startswith("$ plumber "):
            continue
        while at < len(lines) and (lines[at].startswith(INDENT) or not lines[at].strip()):
            if lines[at].strip().startswith("$ "):
                break
            at += 1
        fresh += ["\n", output(command[2:]), "\n"]
    return "".join(fresh)


class Readme(unittest.TestCase):
    maxDiff = None

    def test_examples_print_what_the_program_prints(self):
        text = README.read_text()
        self.assertIn("$ plumber analyze", text)
        self.assertEqual(text, refreshed(text))


if __name__ == "__main__":
    if sys.argv[1:] == ["--update"]:
        README.write_text(refreshed(README.read_text()))
    else:
        unittest.main()
