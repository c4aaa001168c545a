#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""How many changes of one node it takes to reach 95 % of the best rate: the bottleneck first, as
`plumber_tf.py tune --one-step` chooses it from a new trace each time, against nodes in any order.
All orders of a pipeline are compared with one best rate, and their programs are measured alike:
those of an order in turn in one process, as multiples of the program as written.

`remote` reads files whose reads take 20 ms (tests/tensorflow/slow_disk.py), the others those of
scripts/make_testdata.py. Results are added to those of a file (--results), so that a long
measurement can be made in pieces.
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

ROOT = pathlib.Path(__file__).resolve().parent.parent
sys.path.insert(0, str(ROOT / "tests" / "tensorflow"))
import slow_disk  # noqa: E402

slow_disk.run_again()

import tensorflow as tf  # noqa: E402

import bench_tf  # noqa: E402
import plumber_tf  # noqa: E402

ENOUGH = 0.95
NAMES = {"pictures": ROOT / "testdata" / "step_pipelines.py:pictures",
         "resnet": ROOT / "testdata" / "step_pipelines.py:resnet",
         "remote": ROOT / "testdata" / "step_pipelines.py:remote"}
PARALLEL = {"MapDataset": "ParallelMapDatasetV2", "BatchDatasetV2": "ParallelBatchDataset"}


def parse():
    parser = argparse.ArgumentParser(description=__doc__.split("\n", maxsplit=1)[0])
    add = parser.add_argument
    add("--only", choices=NAMES, action="append")
    add("--data", metavar="DIR", help="folder of make_testdata.py (default: made for this run)")
    add("--tuned", type=int, default=1, metavar="N", help="runs, bottleneck first (default: 1)")
    add("--steps", type=int, default=4, help="of such a run at most (default: 4)")
    add("--orders", type=int, default=4, metavar="N", help="random orders (default: 4)")
    add("--seed", type=int, default=0, help="of the first random order")
    add("--seconds", type=float, default=0.5, help="of one run that measures a rate")
    add("--rounds", type=int, default=3, help="runs of each program, in turn")
    add("--trace-seconds", type=float, default=2.0)
    add("--results", metavar="FILE", help="JSON to add to; the summary is of all in it")
    return parser.parse_args()


def tuned_rates(source, options, folder):
    """Rates after each step, the bottleneck's of a new trace, as multiples of the program's as
    written: the steps of `tune --one-step`, all kept."""
    files = []
    for number in range(options.steps):
        best, file = (files or [source])[-1], os.path.join(folder, f"step{number}.pb")
        arguments = [] if files else [("data_dir", options.data)]
        trace = file + ".trace.pb"
        with plumber_tf.Program(best, arguments) as program:
            program.record(trace, options.trace_seconds)
        analysis = plumber_tf.analysis_of(trace, file + ".analysis.json")
        plan = plumber_tf.optimized(trace, file, limits())
        edits = plumber_tf.by_bottleneck(plumber_tf.changes(plan) if plan else [], analysis)
        if not edits:
            break
        plumber_tf.with_edit(plan, edits[0], trace, file)
        files.append(file)
        print(f"  {number + 1}: {edits[0]['edit']} {edits[0]['node']} {edits[0]['python']}",
              flush=True)
    return multiples(source, files, options)


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


def random_rates(source, case, order, options):
    """Rates after each step in this order, as multiples of the program's as written."""
    trace, plan, edits = case
    upkeep = [without_id(edit) for edit in plan["edits"] if edit["edit"] in plumber_tf._UPKEEP]
    files = []
    for count in range(1, len(order) + 1):
        files.append(os.path.join(os.path.dirname(trace), f"prefix{count}.pb"))
        with open(files[-1] + ".json", "w", encoding="utf-8") as text:
            json.dump({**plan, "edits": [edits[n] for n in order[:count]] + upkeep}, text)
        plumber_tf.run_plumber("rewrite", trace, "--plan", files[-1] + ".json", "-o", files[-1])
    return multiples(source, files, options)


def multiples(source, files, options):
    """Rates of the programs in these files by that of the source, the least noisy way: run by run,
    each beside the source's of the same round."""
    datasets = [plumber_tf.build(source, [("data_dir", options.data)])]
    datasets += [plumber_tf.load(file) for file in files]
    iterators = [iter(dataset) for dataset in datasets]
    rates = [[bench_tf.rate(iterator, options.seconds, options.seconds / 2)
              for iterator in iterators] for _ in range(options.rounds)]
    return [statistics.median(row[place] / row[0] for row in rates)
            for place in range(1, len(iterators))]


def far_files():
    """Small pictures and their labels in a folder where each read takes 20 ms."""
    slow_disk.disk(0, 0.02)
    for number in range(64):
        pixels = tf.random.stateless_uniform([48, 48, 3], [number, 0], 0, 255, tf.int32)
        picture = tf.io.encode_jpeg(tf.cast(pixels, tf.uint8))
        for kind, content in (("image", picture), ("label", tf.constant(str(number)))):
            tf.io.write_file(os.path.join(slow_disk.folder(), f"{kind}-{number:02}"), content)
    return slow_disk.folder()


def measure(name, options, found):
    """Yields whenever there is one more order in `found`."""
    source = str(NAMES[name])
    if name == "remote":
        options = argparse.Namespace(**{**vars(options), "data": far_files()})
    for _ in range(options.tuned):
        with tempfile.TemporaryDirectory() as folder:
            found["tuned"].append(tuned_rates(source, options, folder))
            print(f"{name}, bottleneck first:", in_words(found["tuned"][-1]), flush=True)
            yield
    if options.orders == 0:
        return
    with tempfile.TemporaryDirectory() as folder:
        case = random_steps(source, options, folder)
        for seed in range(options.seed, options.seed + options.orders):
            order = sorted(case[2])
            random.Random(seed).shuffle(order)
            found["random"].append(random_rates(source, case, order, options))
            print(f"{name}, random:", in_words(found["random"][-1]), flush=True)
            yield


def in_words(rates):
    return " ".join(f"{rate:.2f}" for rate in rates)


def steps_to(rates, least):
    """An order that does not get there takes one step more than it has."""
    return next((k + 1 for k, rate in enumerate(rates) if rate >= least), len(rates) + 1)


def summary(name, found):
    """All orders against one best: that of the bottleneck's steps, or of all nodes changed."""
    tuned, others = found["tuned"], found["random"]
    if not tuned or not others:
        return
    best = max(statistics.median(max(rates) for rates in tuned),
               statistics.median(rates[-1] for rates in others))
    ours = [steps_to(rates, ENOUGH * best) for rates in tuned]
    random_order = [steps_to(rates, ENOUGH * best) for rates in others]
    fewer = statistics.mean(random_order) / statistics.mean(ours)
    print(f"{name}: best {best:.2f} x as written; bottleneck first {ours}, mean "
          f"{statistics.mean(ours):.2g} steps; random {random_order}, mean "
          f"{statistics.mean(random_order):.2g} of {len(others[0])}; {fewer:.2g} times fewer",
          flush=True)


def results_so_far(path):
    if path is None or not os.path.exists(path):
        return {}
    with open(path, encoding="utf-8") as file:
        return json.load(file)


def save(results, path):
    if path:
        with open(path, "w", encoding="utf-8") as file:
            json.dump(results, file)


def main():
    options = parse()
    results = results_so_far(options.results)
    with contextlib.ExitStack() as stack:
        if options.data is None:
            options.data = stack.enter_context(tempfile.TemporaryDirectory())
            subprocess.run([sys.executable, str(ROOT / "scripts" / "make_testdata.py"),
                            options.data], check=True)
        for name in options.only or NAMES:
            found = results.setdefault(name, {"tuned": [], "random": []})
            for _ in measure(name, options, found):
                save(results, options.results)
            summary(name, found)


if __name__ == "__main__":
    main()
