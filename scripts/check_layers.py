#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Holds every #include to the layers of lib/CMakeLists.txt and to the fences below, and every type
in a header to a name of its own: all share one namespace, and two of one name corrupt memory. Every
source must stand in a list of CMake.

The diagram is written once, as the plumber_module lines of lib/CMakeLists.txt: a module may include
itself, the modules it USES, and what those use. A linker does not see a header that is used against
the arrow; this does. Exit 1 with one line for each breach.
"""

import re
import sys
from pathlib import Path

ROOT = Path(__file__).resolve().parent.parent

# Third-party headers, and the only places that may see them.
FENCES = [
    (r"glpk\.h", r"lib/lp/glpk_solver\.cc"),
    (r".*\.pb\.h|google/protobuf/.*",
     r"(lib|tests/unit)/(trace|pipeline|rewrite)/.*|tests/(property|support)/.*"),
    (r"nlohmann/.*",
     r"lib/(report|cluster)/.*|lib/base/json_\w+\.(h|cc)|lib/pipeline/plan_file\.cc|tests/.*"),
    (r"CLI/.*|spdlog/.*", r"apps/.*"),
    (r"catch2/.*", r"tests/support/catch2_any\.h"),
]

# Not even through a header of those that may: the values they hand on are free of protobuf.
FREE_OF_PROTOBUF = re.compile(r"apps/|lib/(?!trace/|pipeline/|rewrite/)")

# What a library must leave to the program around it.
FORBIDDEN_IN_LIB = re.compile(
    r"\bstd::(cout|cerr|clog)\b|(?<![\w:.>])f?printf\(|\bfmt::print\b"
    r"|(?<![\w.>])(exit|abort|_exit)\("
    r"|\bgetenv\(|\b(system|steady|high_resolution)_clock\b|(?<![\w.>])(::|std::)time\(")

INCLUDE = re.compile(r'^\s*#\s*include\s*([<"])([^>"]+)[>"]')


TYPE = re.compile(r"^(?:struct|class|enum class) (\w+)(?: final)?(?: *:.*)? *\{", re.MULTILINE)


def read_modules(text):
    """The modules of lib/CMakeLists.txt, each with all that it may include."""
    uses = {}
    for name, arguments in re.findall(r"^plumber_module\((\w+)([^)]*)\)", text, re.MULTILINE):
        listed = re.search(r"USES((?:\s+(?!LINK\b)[\w]+)+)", arguments)
        uses[name] = listed.group(1).split() if listed else []
    allowed = {}
    for name, direct in uses.items():  # a module stands below those it uses
        allowed[name] = {name}.union(*(allowed[used] for used in direct))
    return allowed


def module_of(path):
    """The module whose rules hold for this file; None for apps and property tests: all of them."""
    parts = path.split("/")
    if parts[0] == "lib":
        return parts[1]
    return parts[2] if parts[:2] == ["tests", "unit"] else None


def check_include(path, header, quoted, allowed):
    """What is wrong with this line, or None."""
    for pattern, places in FENCES:
        if re.fullmatch(pattern, header) and not re.fullmatch(places, path):
            return f"<{header}> is fenced: only {places} may include it"
    module, used = module_of(path), header.split("/")[0]
    if quoted and module and used in allowed and used not in allowed[module]:
        names = " ".join(sorted(allowed[module]))
        return f'"{header}" is against the layers: {module} may use {names}'
    return None


def headers_of(text):
    return [line[2] for line in map(INCLUDE.match, text.splitlines()) if line]


def protobuf_through(path, texts):
    """The headers from this file to one that protobuf generates, or None."""
    ways = {path: [path]}
    for current in (queue := [path]):
        for header in headers_of(texts[current]):
            if header.endswith(".pb.h"):
                return ways[current][1:] + [header]
            for known in (f"lib/{header}", f"apps/{header}"):
                if known in texts and known not in ways:
                    ways[known] = ways[current] + [known]
                    queue.append(known)
    return None


def check_file(path, text, allowed):
    for number, line in enumerate(text.splitlines(), 1):
        include = INCLUDE.match(line)
        if include:
            problem = check_include(path, include[2], include[1] == '"', allowed)
        elif path.startswith("lib/") and FORBIDDEN_IN_LIB.search(line.split("//")[0]):
            problem = "library code does not print, exit, or read the environment or the clock"
        else:
            problem = None
        if problem:
            yield f"{path}:{number}: {problem}"


def check_type_names(headers):
    """Types that are defined in two of the headers {path: text}."""
    defined = {}
    for path, text in headers.items():
        for name in TYPE.findall(text):
            if name in defined:
                yield f"{path}: '{name}' is a type in {defined[name]} already; name it otherwise"
            defined.setdefault(name, path)


def check_lists(paths, lists):
    """Sources that no list of CMake {folder: text} names: the linker would not say which."""
    for path in paths:
        folder = path.split("/")[0]
        if folder in lists and path.endswith(".cc"):
            if path.split("/", 1)[1] not in lists[folder].replace(")", " ").split():
                yield f"{path}: not listed in CMake: it is not compiled"


def main():
    allowed = read_modules((ROOT / "lib/CMakeLists.txt").read_text())
    files = [file for folder in ("lib", "apps", "tests") for file in (ROOT / folder).rglob("*")]
    texts = {file.relative_to(ROOT).as_posix(): file.read_text()
             for file in sorted(files) if file.suffix in (".h", ".cc")}
    problems = []
    for path, text in texts.items():
        if path.startswith("lib/") and module_of(path) not in allowed:
            problems.append(f"{path}: not in a module of lib/CMakeLists.txt")
            continue
        problems += check_file(path, text, allowed)
        way = FREE_OF_PROTOBUF.match(path) and protobuf_through(path, texts)
        if way:
            problems.append(f"{path}: sees protobuf through {' -> '.join(way)}")
    lists = {"lib": (ROOT / "lib/sources.cmake").read_text(),
             "apps": (ROOT / "apps/CMakeLists.txt").read_text()}
    problems += check_lists(texts, lists)
    print("\n".join(problems + [f"layers: {len(problems)} breaches"]))
    return 1 if problems else 0


if __name__ == "__main__":
    sys.exit(main())
