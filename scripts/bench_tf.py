#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Measures plumber's rewritten programs beside stock TensorFlow's on the example pipelines.

For each pipeline up to six programs, each in a process of its own, pulled in turn round by round:
make under default options, the same with the default rewrites off, make_autotune, the programs that
plumber writes (trace, optimize, rewrite, load) with caches and without, and make_best. The first
pull fills caches and is reported apart. --more measures other shapes of pipelines, which have no
version by hand. Needs the built binary (PLUMBER, else build/release/apps/plumber).
"""
import argparse
import contextlib
import datetime
import json
import math
import os
import pathlib
import platform
import re
import statistics
import subprocess
import sys
import tempfile
import time

import plumber_tf

ROOT = pathlib.Path(__file__).resolve().parent.parent
PIPELINES = ROOT / "testdata" / "pipelines"
WARM_S = 4  # where the number of elements that fill caches is not known
MORE = ROOT / "testdata" / "more_pipelines.py"
VARIANTS = {"default": "stock", "off": "rewrites off", "autotune": "AUTOTUNE",
            "no cache": "plumber, no cache", "plumber": "plumber", "best": "by hand"}


def parse():
    parser = argparse.ArgumentParser(description=__doc__.split("\n", maxsplit=1)[0])
    add = parser.add_argument
    add("--overhead", action="store_true", help="measure what tracing costs instead")
    add_options(add, seconds=3.0, trace_seconds=10.0)
    return parser.parse_args()


def add_options(add, *, seconds, trace_seconds):
    """Those of every bench that traces, plans and measures in turn."""
    add("--more", action="store_true", help="measure the shapes of testdata/more_pipelines.py")
    add("--only", metavar="NAME", action="append", help="these pipelines only (repeatable)")
    add("--data", metavar="DIR", help="folder of make_testdata.py (default: made for this run)")
    add("--work", metavar="DIR", help="keep traces, plans and programs here")
    add("--rounds", type=int, default=5)
    add("--seconds", type=float, default=seconds, help="of one run")
    add("--trace-seconds", type=float, default=trace_seconds)
    add("--cores", type=int, default=plumber_tf.cores_allowed())
    add("--mem", default="8G")
    add("-o", "--output", metavar="FILE", help="Markdown file whose marked block is replaced")


def rate(iterator, seconds, warm_seconds):
    """Root elements a second in this process, after what stood in buffers has gone."""
    for pulled_s in (warm_seconds, seconds):
        began, count = time.monotonic(), 0
        while time.monotonic() < began + pulled_s:
            next(iterator)
            count += 1
    return count / (time.monotonic() - began)


def run(command):
    done = subprocess.run([str(word) for word in command], capture_output=True, text=True,
                          check=False)
    if done.returncode:
        sys.exit(f"bench_tf: {' '.join(map(str, command))}\n{done.stderr}")


def sources(name, data):
    """Where the programs of a pipeline are written down: source and arguments, by variant."""
    here = [("data_dir", data)]
    if is_more(name):
        source = f"{MORE}:{name}"
        return {"default": (source, here), "autotune": (source, [*here, ("autotune", "1")])}
    return {variant: (f"{PIPELINES / name}.py:{function}", here)
            for variant, function in (("default", "make"), ("autotune", "make_autotune"),
                                      ("best", "make_best"))}


def is_more(name):
    return not (PIPELINES / f"{name}.py").exists()


def trace_program(name, options, work):
    """Traces the naive program; returns the trace's file."""
    trace = work / f"{name}.trace.pb"
    source, arguments = sources(name, options.data)["default"]
    run([sys.executable, ROOT / "scripts" / "plumber_tf.py", "trace", source,
         *(word for pair in arguments for word in ("--arg", "=".join(pair))),
         "--seconds", options.trace_seconds, "-o", trace])
    return trace


def plan_program(trace, options, *more):
    """Plans a program and writes the new one; returns its file and the plan."""
    stem = str(trace).removesuffix(".trace.pb") + "".join(more)
    plan, tuned = pathlib.Path(stem + ".plan.json"), stem + ".tuned.pb"
    run([plumber(), "optimize", trace, "--cores", options.cores, "--mem", options.mem, *more,
         "-o", plan, "--rewrite", tuned])
    return tuned, json.loads(plan.read_text(encoding="utf-8"))


def plumber():
    return os.environ.get("PLUMBER", ROOT / "build" / "release" / "apps" / "plumber")


def open_programs(name, plans, data):
    """The programs of a pipeline, by variant; the one without caches where it is another one."""
    written = sources(name, data)
    programs = {variant: plumber_tf.Program(*where) for variant, where in written.items()}
    programs["off"] = plumber_tf.Program(*written["default"], rewrites=False)
    programs |= {variant: open_tuned(name, *plan, data) for variant, plan in plans.items()}
    return {variant: programs[variant] for variant in VARIANTS if variant in programs}


def open_tuned(name, tuned, plan, data):
    """A program that plumber wrote, beside the Python functions that it calls."""
    source, arguments = sources(name, data)["default"]
    graph, _ = plumber_tf._read_graph(tuned)
    how = {"functions_from": source} if plumber_tf.python_functions(graph) else {}
    return plumber_tf.Program(tuned, arguments, environment=plan.get("environment"), **how)


def warm_elements(name):
    """Root elements that fill the caches; None where there is nothing to fill."""
    if is_more(name):
        return None
    found = re.search(r"^WARM_ELEMENTS = (\d+)", (PIPELINES / f"{name}.py").read_text("utf-8"),
                      re.MULTILINE)
    return int(found.group(1)) if found else None


def measure(name, options, work):
    """One pipeline: {"plans", "first": {variant: rate}, "steady": {variant: [rates]}}."""
    trace = trace_program(name, options, work)
    plans = {"plumber": plan_program(trace, options),
             "no cache": plan_program(trace, options, "--no-cache")}
    if plans["plumber"][1]["edits"] == plans["no cache"][1]["edits"]:
        del plans["no cache"]
    warm = warm_elements(name)
    first = {}
    with contextlib.ExitStack() as stack:
        programs = {variant: stack.enter_context(program) for variant, program in
                    open_programs(name, plans, options.data).items()}
        for program in programs.values():
            program.open()
        for variant, program in programs.items() if warm else ():
            count, elapsed, _ = program.pull(elements=warm)
            first[variant] = count / elapsed
            program.pause()
        for program in programs.values():
            program.resume()
        rates = plumber_tf.rates_in_turn(programs.values(), options.rounds, options.seconds,
                                         warm_seconds=1 if warm else WARM_S)
    return {"plans": {variant: plan for variant, (_, plan) in plans.items()}, "first": first,
            "steady": dict(zip(programs, rates))}


def geometric_mean(values):
    return math.exp(statistics.mean(map(math.log, values))) if values else math.nan


def ratio(result, variant, of="plumber"):
    """plumber's steady rate over another's, None where there is none; a plan that changes nothing
    is stock's program, and one that adds no cache is the same without."""
    rates, of = result["steady"], of if of in result["plans"] else "plumber"
    if variant not in rates:
        return None
    if variant == "default" and result["plans"][of]["status"] == "no-change":
        return 1.0
    return statistics.median(rates[of]) / statistics.median(rates[variant])


def table(head, rows):
    lines = [head, ["---"] * len(head), *rows]
    return "\n".join("| " + " | ".join(line) + " |" for line in lines)


RATIOS = {"÷ stock": ("default", "plumber"), "÷ AUTOTUNE": ("autotune", "plumber"),
          "no cache ÷ AUTOTUNE": ("autotune", "no cache"), "÷ by hand": ("best", "plumber")}


def rates_table(results):
    rows = [[name, *(plumber_tf.spread(result["steady"][v]) if v in result["steady"] else ""
                     for v in VARIANTS)] for name, result in results.items()]
    return table(["pipeline", *VARIANTS.values()], rows)


def ratios_table(results):
    found = {name: [ratio(result, *how) for how in RATIOS.values()]
             for name, result in results.items()}
    rows = [[name, *("" if r is None else f"{r:.2f}" for r in ratios),
             prediction(results[name], "plumber"), prediction(results[name], "no cache")]
            for name, ratios in found.items()]
    columns = ([r for r in column if r is not None] for column in zip(*found.values()))
    means = (f"{geometric_mean(column):.2f}" if column else "" for column in columns)
    rows.append(["geometric mean", *means, "", ""])
    return table(["pipeline", *RATIOS, "predicted", "predicted, no cache"], rows)


def prediction(result, variant):
    """The plan's rate and how far it is from the measured one."""
    if variant not in result["plans"]:
        return ""
    predicted = result["plans"][variant]["predicted"]
    if predicted["after_per_s"] is None:
        return "unknown"
    error = predicted["after_per_s"] / statistics.median(result["steady"][variant]) - 1
    bound = ("at most " if predicted.get("upper_bound")
             else "at least " if predicted.get("lower_bound") else "")
    return f"{bound}{predicted['after_per_s']:.4g} ({error:+.0%})"


def first_table(results):
    head = ["pipeline", *VARIANTS.values(), "predicted"]
    rows = []
    for name, result in results.items():
        if result["first"]:
            rate = result["plans"]["plumber"]["predicted"].get("first_epoch_per_s")
            rows.append([name, *(f"{result['first'][v]:.4g}" if v in result["first"] else ""
                                 for v in VARIANTS),
                         "" if rate is None else f"{rate:.4g}"])
    return table(head, rows)


def measure_overhead(name, options):
    """Rates of the naive program, watched by a recorder and not, in turn."""
    source = f"{PIPELINES / name}.py:make"
    arguments = [("data_dir", options.data)]
    with plumber_tf.Program(source, arguments, rewrites=False) as alone, \
            plumber_tf.Program(source, arguments, rewrites=False, traced=True) as traced:
        return plumber_tf.rates_in_turn([alone, traced], options.rounds, options.seconds,
                                        warm_elements(name) or 0)


def overhead_table(results):
    head = ["pipeline", "alone", "traced", "cost"]
    rows = [[name, plumber_tf.spread(alone), plumber_tf.spread(traced),
             f"{1 - statistics.median(traced) / statistics.median(alone):+.1%}"]
            for name, (alone, traced) in results.items()]
    return table(head, rows)


def machine_facts(options):
    machine = plumber_tf.machine_info()
    return (f"{datetime.date.today()}, TensorFlow {plumber_tf.tf.__version__}, Python "
            f"{platform.python_version()}, {machine.model}, {plumber_tf.cores_allowed()} cores. "
            f"Root elements per second: median (least .. most) of {options.rounds} rounds of "
            f"{options.seconds:g} s, all programs in turn.")


def text_of(results, options):
    parts = [f"{machine_facts(options)} Plans for {options.cores} cores and {options.mem}.",
             rates_table(results), ratios_table(results)]
    if any(result["first"] for result in results.values()):
        parts += ["First pass over the data (caches are filled), one run each:",
                  first_table(results)]
    return "\n\n".join(parts)


def update(path, text, title, mark):
    """Replaces the marked block of a file, or appends it."""
    begin, end = f"<!-- {mark} begin -->", f"<!-- {mark} end -->"
    file = pathlib.Path(path)
    old = file.read_text(encoding="utf-8") if file.exists() else "# Results\n"
    block = f"{begin}\n\n{text}\n\n{end}"
    if begin in old and end in old:
        before, rest = old.split(begin, 1)
        new = before + block + rest.split(end, 1)[1]
    else:
        new = old.rstrip("\n") + f"\n\n## {title}\n\n{block}\n"
    plumber_tf._write(file, new.encode())


def bench(names, options, work):
    """Measures; yields the text, its title and its mark in a Markdown file after each pipeline."""
    results = {}
    for name in names:
        if options.overhead:
            results[name] = measure_overhead(name, options)
            text = f"{machine_facts(options)}\n\n{overhead_table(results)}"
            yield text, "Cost of tracing", "bench_tf overhead"
            continue
        results[name] = measure(name, options, work)
        rates = results[name]["steady"]
        print(name, *(f"{VARIANTS[v]} {plumber_tf.spread(rates[v])}" for v in rates),
              sep="\n  ", file=sys.stderr)
        title, mark = (("Rates on more shapes", "bench_tf more") if options.more else
                       ("Rates on the example pipelines", "bench_tf rates"))
        yield text_of(results, options), title, mark


def more_names():
    return re.findall(r"^def ([a-z]\w*)\(data_dir", MORE.read_text("utf-8"), re.MULTILINE)


def example_names():
    return [path.stem for path in sorted(PIPELINES.glob("*.py"))]


def names_to_measure(options):
    known = more_names() if options.more else example_names()
    if not set(options.only or ()) <= set(known):
        sys.exit(f"--only: the pipelines are {', '.join(known)}")
    return options.only or known


@contextlib.contextmanager
def work_folder(options):
    """Where a run keeps its files; makes the data of the pipelines unless there is a folder."""
    with tempfile.TemporaryDirectory(prefix="plumber-bench-") as temporary:
        work = pathlib.Path(options.work or temporary)
        work.mkdir(parents=True, exist_ok=True)
        if options.data is None:
            options.data = os.path.join(temporary, "data")
            run([sys.executable, ROOT / "scripts" / "make_testdata.py", options.data])
        yield work


def main():
    options = parse()
    names = names_to_measure(options)
    with work_folder(options) as work:
        for text, title, mark in bench(names, options, work):
            if options.output is not None:
                update(options.output, text, title, mark)
    if options.output is None:
        print(text)


if __name__ == "__main__":
    main()
