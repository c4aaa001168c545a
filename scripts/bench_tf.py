#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Measures plumber's rewritten programs beside stock TensorFlow's on the example pipelines.

For each pipeline five programs, each in a process of its own, pulled in turn round by round:
make under default options, the same with the default rewrites off, make_autotune, the program that
plumber writes (trace, optimize, rewrite, load), and make_best. The first pull fills caches and is
reported apart. Needs the built binary (PLUMBER, else build/release/apps/plumber).
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

import plumber_tf

ROOT = pathlib.Path(__file__).resolve().parent.parent
PIPELINES = ROOT / "testdata" / "pipelines"
VARIANTS = {"default": "stock", "off": "rewrites off", "autotune": "AUTOTUNE",
            "plumber": "plumber", "best": "by hand"}


def parse():
    parser = argparse.ArgumentParser(description=__doc__.split("\n", maxsplit=1)[0])
    add = parser.add_argument
    add("--only", metavar="NAME", action="append", help="these pipelines only (repeatable)")
    add("--data", metavar="DIR", help="folder of make_testdata.py (default: made for this run)")
    add("--work", metavar="DIR", help="keep traces, plans and programs here")
    add("--rounds", type=int, default=5)
    add("--seconds", type=float, default=3.0, help="of one run")
    add("--trace-seconds", type=float, default=10.0)
    add("--cores", type=int, default=plumber_tf.cores_allowed())
    add("--mem", default="8G")
    add("--overhead", action="store_true", help="measure what tracing costs instead")
    add("-o", "--output", metavar="FILE", help="Markdown file whose marked block is replaced")
    return parser.parse_args()


def run(command):
    done = subprocess.run([str(word) for word in command], capture_output=True, text=True,
                          check=False)
    if done.returncode:
        sys.exit(f"bench_tf: {' '.join(map(str, command))}\n{done.stderr}")


def plan_program(name, options, work):
    """Traces the naive program, plans it, writes the new one; returns its file and the plan."""
    files = {kind: work / f"{name}.{kind}" for kind in ("trace.pb", "plan.json", "tuned.pb")}
    run([sys.executable, ROOT / "scripts" / "plumber_tf.py", "trace", f"{PIPELINES / name}.py:make",
         "--arg", f"data_dir={options.data}", "--seconds", options.trace_seconds,
         "-o", files["trace.pb"]])
    run([os.environ.get("PLUMBER", ROOT / "build" / "release" / "apps" / "plumber"), "optimize",
         files["trace.pb"], "--cores", options.cores, "--mem", options.mem,
         "-o", files["plan.json"], "--rewrite", files["tuned.pb"]])
    return str(files["tuned.pb"]), json.loads(files["plan.json"].read_text(encoding="utf-8"))


def open_programs(name, tuned, plan, data):
    """The five programs of a pipeline, by variant."""
    def source(function):
        return f"{PIPELINES / name}.py:{function}"

    arguments = [("data_dir", data)]
    graph, _ = plumber_tf._read_graph(tuned)
    how = {"functions_from": source("make")} if plumber_tf.python_functions(graph) else {}
    return {
        "default": plumber_tf.Program(source("make"), arguments),
        "off": plumber_tf.Program(source("make"), arguments, rewrites=False),
        "autotune": plumber_tf.Program(source("make_autotune"), arguments),
        "plumber": plumber_tf.Program(tuned, arguments, environment=plan.get("environment"), **how),
        "best": plumber_tf.Program(source("make_best"), arguments)}


def warm_elements(name):
    """Root elements that fill the caches; None where there is nothing to fill."""
    found = re.search(r"^WARM_ELEMENTS = (\d+)", (PIPELINES / f"{name}.py").read_text("utf-8"),
                      re.MULTILINE)
    return int(found.group(1)) if found else None


def measure(name, options, work):
    """One pipeline: {"plan", "first": {variant: rate}, "steady": {variant: [rates]}}."""
    tuned, plan = plan_program(name, options, work)
    warm = warm_elements(name)
    first = {}
    with contextlib.ExitStack() as stack:
        programs = {variant: stack.enter_context(program) for variant, program in
                    open_programs(name, tuned, plan, options.data).items()}
        for program in programs.values():
            program.open()
        for variant, program in programs.items() if warm else ():
            count, elapsed, _ = program.pull(elements=warm)
            first[variant] = count / elapsed
        rates = plumber_tf.rates_in_turn(programs.values(), options.rounds, options.seconds)
    return {"plan": plan, "first": first, "steady": dict(zip(programs, rates))}


def geometric_mean(values):
    return math.exp(statistics.mean(map(math.log, values))) if values else math.nan


def ratio(result, variant):
    """plumber's steady rate over another's; a plan that changes nothing is stock's program."""
    if variant == "default" and result["plan"]["status"] == "no-change":
        return 1.0
    rates = result["steady"]
    return statistics.median(rates["plumber"]) / statistics.median(rates[variant])


def table(head, rows):
    lines = [head, ["---"] * len(head), *rows]
    return "\n".join("| " + " | ".join(line) + " |" for line in lines)


def predicted(result):
    """The plan's rate and how far it is from the measured one."""
    after = result["plan"]["predicted"]["after_per_s"]
    if after is None:
        return "unknown", ""
    error = after / statistics.median(result["steady"]["plumber"]) - 1
    bound = "at most " if result["plan"]["predicted"].get("upper_bound") else ""
    return f"{bound}{after:.4g}", f"{error:+.0%}"


def steady_table(results):
    head = ["pipeline", *VARIANTS.values(), "÷ stock", "÷ AUTOTUNE", "÷ by hand", "predicted",
            "error"]
    rows = [[name, *(plumber_tf.spread(result["steady"][v]) for v in VARIANTS),
             *(f"{ratio(result, v):.2f}" for v in ("default", "autotune", "best")),
             *predicted(result)] for name, result in results.items()]
    means = [geometric_mean([ratio(result, v) for result in results.values()])
             for v in ("default", "autotune", "best")]
    rows.append(["geometric mean", *[""] * len(VARIANTS), *(f"{mean:.2f}" for mean in means),
                 "", ""])
    return table(head, rows)


def first_table(results):
    head = ["pipeline", *VARIANTS.values(), "predicted"]
    rows = []
    for name, result in results.items():
        if result["first"]:
            rate = result["plan"]["predicted"].get("first_epoch_per_s")
            rows.append([name, *(f"{result['first'][v]:.4g}" for v in VARIANTS),
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
    return "\n\n".join([
        f"{machine_facts(options)} Plans for {options.cores} cores and {options.mem}.",
        steady_table(results),
        "First pass over the data (caches are filled), one run each:", first_table(results)])


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
        print(name, *(f"{VARIANTS[v]} {plumber_tf.spread(rates[v])}" for v in VARIANTS),
              sep="\n  ", file=sys.stderr)
        yield text_of(results, options), "Rates on the example pipelines", "bench_tf rates"


def main():
    options = parse()
    known = [path.stem for path in sorted(PIPELINES.glob("*.py"))]
    names = options.only or known
    if not set(names) <= set(known):
        sys.exit(f"bench_tf: --only: the pipelines are {', '.join(known)}")
    with tempfile.TemporaryDirectory(prefix="plumber-bench-") as temporary:
        work = pathlib.Path(options.work or temporary)
        work.mkdir(parents=True, exist_ok=True)
        if options.data is None:
            options.data = os.path.join(temporary, "data")
            run([sys.executable, ROOT / "scripts" / "make_testdata.py", options.data])
        for text, title, mark in bench(names, options, work):
            if options.output is not None:
                update(options.output, text, title, mark)
    if options.output is None:
        print(text)


if __name__ == "__main__":
    main()
