# SPDX-License-Identifier: Apache-2.0
"""docs/plumber.1 and the program name the same options, command by command."""

import os
import re
import shutil
import subprocess
import unittest
from pathlib import Path

ROOT = Path(__file__).resolve().parents[2]
PLUMBER = os.environ.get("PLUMBER", str(ROOT / "build/dev/apps/plumber"))
PAGE = ROOT / "docs/plumber.1"
OPTION = re.compile(r"(?<![\w-])(--[a-z][a-z-]*|-[a-z])(?![\w-])")


def help_text(*command):
    return subprocess.run([PLUMBER, *command, "--help"], capture_output=True, text=True,
                          check=True).stdout


def commands(*above):
    """Every command as its words: ("analyze",), ("cluster",), ("cluster", "fit") and so on."""
    _, _, listed = help_text(*above).partition("Subcommands:\n")
    for name in re.findall(r"^  (\w+)", listed.split("\n\n")[0], re.MULTILINE):
        yield (*above, name)
        yield from commands(*above, name)


def options_of_help(text):
    """The options at the start of the lines of the list, not those that a description mentions."""
    lines = re.findall(r"^  (-\S+)", text, re.MULTILINE)
    return {option for line in lines for option in OPTION.findall(line.replace(",", " "))}


def sections():
    """Text of each section (.SH) and of each command (.SS) by its name."""
    found = {}
    for part in re.split(r"^\.S[HS] ", PAGE.read_text(), flags=re.MULTILINE)[1:]:
        title, _, text = part.partition("\n")
        found[title.strip('"')] = text.replace("\\-", "-")
    return found


def options_of_page(text):
    """The options that have an entry of their own: the line after each .TP."""
    tags = re.findall(r"^\.TP\n(.*)", text, re.MULTILINE)
    return {option for tag in tags for option in OPTION.findall(re.sub(r"\\f.|\\&|,|\[", " ", tag))}


class ManPage(unittest.TestCase):
    def test_every_command_has_its_options(self):
        page = sections()
        for command in commands():
            with self.subTest(command=command):
                wanted = options_of_help(help_text(*command)) - {"-h", "--help"}
                self.assertIn(" ".join(command), page)
                self.assertEqual(options_of_page(page[" ".join(command)]), wanted)

    def test_general_options(self):
        self.assertEqual(options_of_page(sections()["OPTIONS"]), options_of_help(help_text()))

    @unittest.skipUnless(shutil.which("groff"), "groff formats manual pages")
    def test_it_is_well_formed(self):
        done = subprocess.run(["groff", "-man", "-ww", "-z", str(PAGE)], capture_output=True,
                              text=True, check=False)
        self.assertEqual((done.returncode, done.stderr), (0, ""))


if __name__ == "__main__":
    unittest.main()
