#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""How many changes of one node it takes to reach 95 % of the best rate: the bottleneck first, as
`plumber_tf.py tune --one-step` chooses it from a new trace each time, against nodes in any order.

Needs the built binary (PLUMBER, else on the PATH or build/release/apps/plumber).
"""
import argparse
import contextlib
import json
import os
import pathlib
import random
import statistics
import subprocess
import sys
import tempfile

import plumber_tf

ROOT = pathlib.Path(__file__).resolve().parent.parent
ENOUGH = 0.95
NAMES = {"pictures": ROOT / "testdata" / "step_pipelines.py:pictures",
         "zip_fixed": ROOT / "testdata" / "pipelines" / "zip_fixed.py:make"}
PARALLEL = {"MapDataset": "ParallelMapDatasetV2", "BatchDatasetV2": "ParallelBatchDataset"}


def parse():
    parser = argparse.ArgumentParser(description=__doc__.split("\n", maxsplit=1)[0])
    add = parser.add_argument
    add("--only", choices=NAMES, action="append")
    add("--data", metavar="DIR", help="folder of make_testdata.py (default: made for this run)")
    add("--orders", type=int, default=4, metavar="N", help="random orders (default: 4)")
    add("--seconds", type=float, default=0.5, help="of one run that measures a rate")
    add("--trace-seconds", type=float, default=2.0)
    return parser.parse_args()


def bottleneck_rates(source, options, folder):
    """Rates after each step, as multiples of the program's as written."""
    tuner = plumber_tf.Tuner(
        source, os.path.join(folder, "tuned.pb"), limits(), arguments=[("data_dir", options.data)],
        trace_s=options.trace_seconds, rate_s=options.seconds, repeats=3, verify_s=1.0,
        one_step=True)
    rates = [1.0]
    for row in tuner.run(4):
        rates.append(rates[-1] * (1 + row.gain if row.fate == "kept" else 1))
        print(f"  {row.number}: {rates[-1]:.2f} {row.fate} {plumber_tf.edits_in_words(row.edits)} "
              f"{row.edits[0]['python']}", flush=True)
    return rates


def limits():
    return plumber_tf.Limits(plumber_tf.cores_allowed(), "8G", True)


def random_steps(source, options, folder):
    """A trace of the program as written, its plan, and a change of each node that can run parallel:
    the plan's, else two calls at a time."""
    trace = os.path.join(folder, "trace.pb")
    with plumber_tf.Program(source, [("data_dir", options.data)]) as program:
        program.record(trace, options.trace_seconds)
    analysis = plumber_tf.analysis_of(trace, os.path.join(folder, "analysis.json"))
    plan = plumber_tf.optimized(trace, os.path.join(folder, "plan.pb"), limits())
    edits = {edit["node"]: without_id(edit) for edit in plumber_tf.changes(plan)}
    for node in analysis["nodes"]:
        if node["op"] in PARALLEL and ">" not in node["name"]:
            edits.setdefault(node["name"], {"edit": "convert", "node": node["name"],
                                            "to": PARALLEL[node["op"]], "value": 2})
    return trace, plan, edits


def without_id(edit):
    return {key: value for key, value in edit.items() if key != "id"}


def random_rates(case, order, options, folder):
    """Rates after each step in this order, as multiples of the first."""
    trace, plan, edits = case
    upkeep = [without_id(edit) for edit in plan["edits"] if edit["edit"] in plumber_tf._UPKEEP]
    with contextlib.ExitStack() as stack:
        programs = []
        for count in range(len(order) + 1):
            file = os.path.join(folder, f"prefix{count}.pb")
            with open(file + ".json", "w", encoding="utf-8") as text:
                json.dump({**plan, "edits": [edits[n] for n in order[:count]] + upkeep}, text)
            plumber_tf.run_plumber("rewrite", trace, "--plan", file + ".json", "-o", file)
            programs.append(stack.enter_context(plumber_tf.Program(file)))
        for program in programs:
            program.open()
        rates = plumber_tf.rates_in_turn(programs, 3, options.seconds, warm_seconds=options.seconds)
    return [statistics.median(b / a for a, b in zip(rates[0], some)) for some in rates]


def steps_to(rates, best):
    return next((k for k, rate in enumerate(rates) if rate >= ENOUGH * best), len(rates))


def measure(name, options):
    source = str(NAMES[name])
    with tempfile.TemporaryDirectory() as folder:
        print(f"{name}, bottleneck first", flush=True)
        ours = bottleneck_rates(source, options, folder)
        case = random_steps(source, options, folder)
        others = []
        for seed in range(options.orders):
            order = sorted(case[2])
            random.Random(seed).shuffle(order)
            others.append(random_rates(case, order, options, folder))
            print("  random:", *(f"{rate:.2f}" for rate in others[-1]), flush=True)
    best = max(ours)
    found = [steps_to(rates, min(best, max(rates))) for rates in others]
    mean = statistics.mean(found)
    first = steps_to(ours, best)
    print(f"{name}: {first} steps against {mean:.2g} ({min(found)} .. {max(found)}) of "
          f"{len(case[2])}, {mean / first:.2g} times fewer; best {best:.2f} x as written "
          f"(other orders at last {statistics.median(r[-1] for r in others):.2f})", flush=True)


def main():
    options = parse()
    with contextlib.ExitStack() as stack:
        if options.data is None:
            options.data = stack.enter_context(tempfile.TemporaryDirectory())
            subprocess.run([sys.executable, str(ROOT / "scripts" / "make_testdata.py"),
                            options.data], check=True)
        for name in options.only or NAMES:
            measure(name, options)


if __name__ == "__main__":
    main()
