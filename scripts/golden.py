#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Runs the whole program against expected output.

A case, tests/golden/TOPIC/NAME.test, is any number of these blocks, after lines of comment:

    # Why this case is here.
    $ plumber analyze testdata/traces/imagenet_train.pb
    exit: 0
    --- stdout
    the whole of standard output
    --- stderr
    the whole of standard error; the section is left out when there is none

Each command is a line for the shell, run in a temporary folder (the same one for all commands of
a case) from which testdata/ is reachable. A line of output that would read as part of the format
has a backslash before it. Cases are checked; --update rewrites the named ones, and only those.
"""

import argparse
import difflib
import os
import re
import subprocess
import sys
import tempfile
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass, field
from pathlib import Path

ROOT = Path(__file__).resolve().parent.parent
GOLDEN = ROOT / "tests/golden"
TIMEOUT_S = 120
NO_NEWLINE = "\\ no newline at the end"
SPECIAL = re.compile(r"\\|\$ |exit: |--- (stdout|stderr)$")


@dataclass
class Run:
    """One command with what it gave, or must give."""
    command: str
    exit_code: int | None = None
    output: dict = field(default_factory=dict)  # "stdout", "stderr": text


class Malformed(Exception):
    pass


def parse_case(text):
    """The comment above the first command, and the expected runs."""
    comment, runs, section = [], [], None
    for number, line in enumerate(text.splitlines(), 1):
        heading = re.fullmatch(r"--- (stdout|stderr)", line)
        if line.startswith("$ "):
            runs.append(Run(line[2:]))
            section = None
        elif not runs:
            comment.append(line)
        elif line.startswith("exit: ") and runs[-1].exit_code is None:
            runs[-1].exit_code = int(line[len("exit: "):])
        elif heading:
            section = heading[1]
            runs[-1].output[section] = ""
        elif section is None:
            raise Malformed(f"line {number} is outside of any section: {line}")
        elif line == NO_NEWLINE:
            runs[-1].output[section] = runs[-1].output[section][:-1]
        else:
            runs[-1].output[section] += line.removeprefix("\\") + "\n"
    return comment, runs


def check_complete(runs):
    """An expectation that is missing must fail, not pass."""
    if not runs:
        raise Malformed("no command")
    for run in runs:
        if run.exit_code is None:
            raise Malformed(f"no 'exit:' line for: {run.command}")
        if not run.output:
            raise Malformed(f"no '--- stdout' or '--- stderr' section for: {run.command}")


def format_output(text):
    lines = [("\\" if SPECIAL.match(line) else "") + line for line in text.split("\n")]
    if lines[-1]:
        lines += [NO_NEWLINE, ""]
    return "\n".join(lines)


def format_runs(comment, runs):
    text = "".join(line + "\n" for line in comment)
    for run in runs:
        text += f"$ {run.command}\nexit: {run.exit_code}\n"
        for name in ("stdout", "stderr"):
            if run.output.get(name) or (name == "stdout" and not run.output.get("stderr")):
                text += f"--- {name}\n{format_output(run.output.get(name, ''))}"
    return text


def environment(folder, plumber):
    """Nothing of the caller's but what sanitizers need: the same bytes come out everywhere."""
    (folder / "bin").mkdir()
    (folder / "bin/plumber").symlink_to(plumber)
    kept = {key: value for key, value in os.environ.items() if key.endswith("SAN_OPTIONS")}
    return kept | {"PATH": f"{folder}/bin:/usr/local/bin:/usr/bin:/bin", "LC_ALL": "C.UTF-8",
                   "HOME": str(folder)}


def execute(commands, plumber):
    with tempfile.TemporaryDirectory(prefix="plumber-golden-") as name:
        folder = Path(name)
        env = environment(folder, plumber)
        work = folder / "work"
        work.mkdir()
        (work / "testdata").symlink_to(ROOT / "testdata")
        runs = []
        for command in commands:
            done = subprocess.run(["/bin/sh", "-c", command], cwd=work, env=env, timeout=TIMEOUT_S,
                                  stdin=subprocess.DEVNULL, capture_output=True, check=False)
            runs.append(Run(command, done.returncode, {
                "stdout": done.stdout.decode(errors="backslashreplace"),
                "stderr": done.stderr.decode(errors="backslashreplace")}))
        return runs


def describe_mismatch(case, expected, actual):
    path = os.path.relpath(case, ROOT)
    diff = difflib.unified_diff(expected.splitlines(True), actual.splitlines(True),
                                f"{path} (expected)", f"{path} (actual)")
    return (f"FAIL {path}\n{''.join(diff)}"
            f"If the new output is right: scripts/golden.py --update {path}\n")


def run_case(case, plumber, update):
    """What to report; None when all is as expected."""
    try:
        comment, expected = parse_case(case.read_text())
        actual_text = format_runs(comment, execute([run.command for run in expected], plumber))
        if update and expected:
            case.write_text(actual_text)
            return None
        check_complete(expected)
    except (Malformed, OSError, ValueError, subprocess.TimeoutExpired) as error:
        return f"FAIL {os.path.relpath(case, ROOT)}: {error}\n"
    expected_text = format_runs(comment, expected)
    if actual_text == expected_text:
        return None
    return describe_mismatch(case, expected_text, actual_text)


def collect(names):
    for name in names or [str(GOLDEN)]:
        path = Path(name).resolve()
        yield from sorted(path.rglob("*.test")) if path.is_dir() else [path]


def parse_arguments():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("cases", nargs="*", help="cases or folders of them; all when none is named")
    parser.add_argument("--plumber", default=ROOT / "build/dev/apps/plumber", type=Path)
    parser.add_argument("--update", action="store_true", help="rewrite the named cases")
    parser.add_argument("--jobs", type=int, default=2)
    arguments = parser.parse_args()
    if arguments.update and not all(Path(name).is_file() for name in arguments.cases or [""]):
        parser.error("--update takes the cases to rewrite, each by its file name")
    if not arguments.plumber.is_file():
        parser.error(f"no program at {arguments.plumber}; build it, or name it with --plumber")
    return arguments


def main():
    arguments = parse_arguments()
    plumber = arguments.plumber.resolve()
    cases = list(collect(arguments.cases))
    with ThreadPoolExecutor(arguments.jobs) as pool:
        reports = list(pool.map(lambda case: run_case(case, plumber, arguments.update), cases))
    failures = [report for report in reports if report]
    print("".join(failures) + f"golden: {len(cases) - len(failures)} of {len(cases)} cases pass")
    return 1 if failures or not cases else 0


if __name__ == "__main__":
    sys.exit(main())
