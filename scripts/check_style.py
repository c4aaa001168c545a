#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Rules of form: licence line, length, line ends, clang-format; with --tidy BUILD also clang-tidy.

BUILD is a build folder with compile_commands.json. A file that passed clang-tidy is not looked at
again until it, a header that it includes, the checks or its command changes. Exit 1 with one line
for each breach.
"""

import argparse
import hashlib
import json
import re
import shutil
import subprocess
import sys
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

ROOT = Path(__file__).resolve().parent.parent
FOLDERS = ("apps", "cmake", "lib", "schemas", "scripts", "testdata/pipelines", "tests", ".ci")
CODE = (".cc", ".h", ".py", ".sh", ".proto", ".cmake")
CXX = (".cc", ".h")
MAX_LINES = 400
ANY_LENGTH = ("scripts/plumber_tf.py",)  # users copy it beside their program: one file
MAX_COLUMNS = 100  # of scripts; clang-format sees to C++
NARROW = ("scripts/", "tests/")
# Versions that Debian 12 and Ubuntu 24.04 both have. Another clang-format formats a little
# differently; clang-tidy before 16 cannot read the ranges of g++ 12.
FORMAT = ("clang-format-14", "clang-format")
TIDY = ("clang-tidy-16", "clang-tidy")


def find_program(names):
    for name in names:
        if shutil.which(name):
            return name
    sys.exit(f"{names[0]} is missing; run scripts/install_deps.sh --tests")


def code_files():
    for folder in FOLDERS:
        for file in sorted((ROOT / folder).rglob("*")):
            if file.is_file() and (file.suffix in CODE or file.name in ("CMakeLists.txt", "run")):
                yield file
    yield from (ROOT / name for name in ("CMakeLists.txt", ".clang-format", ".clang-tidy"))


def check_text(path, text):
    lines = text.split("\n")
    if not any("SPDX-License-Identifier: Apache-2.0" in line for line in lines[:2]):
        yield f"{path}:1: no SPDX line"
    if lines[-1] or (len(lines) > 1 and not lines[-2]):
        yield f"{path}:{len(lines)}: the file must end in one line end"
    if len(lines) - 1 > MAX_LINES and path not in ANY_LENGTH:
        yield f"{path}: {len(lines) - 1} lines, more than {MAX_LINES}: split it by what it computes"
    for number, line in enumerate(lines, 1):
        if line != line.rstrip():
            yield f"{path}:{number}: blanks at the end of the line"
        if len(line) > MAX_COLUMNS and path.startswith(NARROW) and path.endswith((".py", ".sh")):
            yield f"{path}:{number}: {len(line)} columns, more than {MAX_COLUMNS}"


def check_format(files):
    program = find_program(FORMAT)
    done = subprocess.run([program, "--dry-run", "-Werror", *files], cwd=ROOT,
                          capture_output=True, text=True, check=False)
    names = {line.split(":")[0] for line in done.stderr.splitlines() if ": error:" in line}
    return [f"{name}: not as clang-format has it: {program} -i {name}" for name in sorted(names)]


def texts_of(file):
    """The file's text and that of each header of ours that it includes, directly or not."""
    texts, open_files = {}, [file]
    while open_files:
        file = open_files.pop()
        if file in texts or not file.is_file():
            continue
        texts[file] = file.read_text()
        for name in re.findall(r'^#include "([^"]+)"', texts[file], re.MULTILINE):
            open_files += [ROOT / "lib" / name, ROOT / "apps" / name]
    return list(texts.values())


def digest(*texts):
    return hashlib.sha256("\0".join(texts).encode()).hexdigest()


def tidy_one(entry, stamps):
    """clang-tidy on one source file, unless a stamp says that it passed as it stands."""
    file = Path(entry["file"])
    stamp = stamps / digest(find_program(TIDY), (ROOT / ".clang-tidy").read_text(),
                            entry["command"], *texts_of(file))
    if stamp.exists():
        return []
    done = subprocess.run([find_program(TIDY), "-p", str(stamps.parent), "--quiet", str(file)],
                          capture_output=True, text=True, check=False)
    problems = [line.replace(f"{ROOT}/", "") for line in done.stdout.splitlines()
                if ": error:" in line or ": warning:" in line]
    if done.returncode == 0 and not problems:
        stamp.touch()
    elif not problems:
        problems = [f"{file.relative_to(ROOT)}: clang-tidy failed: {done.stderr.strip()[-300:]}"]
    return problems


def check_tidy(build, jobs):
    stamps = build / "tidy-passed"
    stamps.mkdir(exist_ok=True)
    database = json.loads((build / "compile_commands.json").read_text())
    ours = [entry for entry in database
            if Path(entry["file"]).is_relative_to(ROOT / "lib")
            or Path(entry["file"]).is_relative_to(ROOT / "apps")]
    with ThreadPoolExecutor(jobs) as pool:
        found = pool.map(lambda entry: tidy_one(entry, stamps), ours)
        return sorted({line for lines in found for line in lines})  # a header's once, not per user


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--tidy", metavar="BUILD", type=Path)
    parser.add_argument("--jobs", type=int, default=2)
    arguments = parser.parse_args()
    if arguments.tidy:
        problems = check_tidy(arguments.tidy.resolve(), arguments.jobs)
    else:
        files = {file.relative_to(ROOT).as_posix(): file for file in code_files()}
        texts = {path: file.read_text() for path, file in files.items()}
        problems = [line for path, text in texts.items() for line in check_text(path, text)]
        problems += check_format([path for path, file in files.items() if file.suffix in CXX])
    print("\n".join(problems + [f"style: {len(problems)} breaches"]))
    return 1 if problems else 0


if __name__ == "__main__":
    sys.exit(main())
