#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Holds plumber's plan, without caches, against the best by brute force on this machine.

For each pipeline: trace it, plan it, then write and measure programs with other knobs: calls in
flight and execution mode of each map, filter, interleave and batch, a prefetch after each node or
none, chunks, AUTOTUNE. All combinations where they are few; else one knob after the other, from the
program as written and from plumber's plan, until nothing gains or the programs are used up. Each
runs alone for a short time, one after the other in this process; the best four and plumber's plan
then in turn, each in a process of its own. The order of elements is kept in all of them.
"""
import argparse
import itertools
import json
import math
import pathlib
import re
import statistics
import subprocess

import bench_tf
import plumber_tf

CALLS = (1, 2, 4, 8)
FINALISTS = 4
GAIN = 1.03  # less is noise
MOVES = {"reorder", "remove", "balance", "unfuse", "insert_chunks", "move_into_function"}
FUSED = {"RebatchDatasetV2", "MapAndBatchDataset"}
ALWAYS = {"set_options", "rehome_cache"}  # what the recorder had set, and what no rate depends on


def parse():
    parser = argparse.ArgumentParser(description=__doc__.split("\n", maxsplit=1)[0])
    add = parser.add_argument
    add("--programs", type=int, default=60, help="at most so many of a pipeline are tried")
    add("--try-seconds", type=float, default=0.5, help="of one try, after half of it to warm up")
    bench_tf.add_options(add, seconds=1.0, trace_seconds=5.0)
    return parser.parse_args()


def edit(kind, node, value=None, to=""):
    return {"edit": kind, "node": node, "to": to, "value": value}


def bare(given):
    """An edit without what is for people, so that two alike are equal."""
    return edit(given["edit"], given.get("node") or None, given.get("value"), given.get("to") or "")


def modes(op, name):
    """How a node of that op may run otherwise: lists of edits."""
    calls = {"MapDataset": "ParallelMapDatasetV2", "InterleaveDataset":
             "ParallelInterleaveDatasetV4", "BatchDatasetV2": "ParallelBatchDataset"}
    found = []
    if op in calls:
        found += [[edit("convert", name, n, calls[op])] for n in CALLS]
    elif op in calls.values():
        found += [[edit("set_parallelism", name, n)] for n in CALLS]
        found += [[edit("sequential", name)]]
    if op in ("MapDataset", "ParallelMapDatasetV2"):
        found += [[edit("inline", name)], *([edit("parallel_inline", name, n)] for n in CALLS)]
    elif op == "FilterDataset":
        found += [[edit("pass_through_filter", name, n)] for n in (None, *CALLS)]
    elif op == "PrefetchDataset":
        found += [[edit("set_buffer", name, n)] for n in (1, 2, 8)] + [[edit("remove", name)]]
    return found


def datasets(graph):
    """Source first."""
    return [node for node in graph.node
            if re.search(r"Dataset(V\d)?$", node.op) and node.op != "OptionsDataset"]


def chunked(nodes):
    """Each run of maps and filters as a chunk."""
    small = {"MapDataset", "ParallelMapDatasetV2", "FilterDataset"}
    runs = [list(run) for fits, run in itertools.groupby(nodes, lambda node: node.op in small)
            if fits]
    by_name = {node.name for node in nodes}
    return [[edit("insert_chunks", run[0].input[0], size, str(CALLS[-2])),
             *(edit("move_into_function", node.name, None, f"plumber/chunks/{run[0].input[0]}")
               for node in run)]
            for run in runs if run[0].input[0] in by_name for size in (32, 256)]


def knobs(graph, plan):
    """The knobs of a program, each a list of alternatives, which are lists of edits; and the two
    starts: the alternatives that are the program as written, and those of plumber's plan."""
    edits = [bare(each) for each in plan["edits"]]
    moves = [e for e in edits if e["edit"] in MOVES or e["to"] in FUSED]
    always = [e for e in edits if e["edit"] in ALWAYS and e["to"] != "autotune.enabled"]
    autotune = [e for e in edits if e["to"] == "autotune.enabled"]
    nodes = datasets(graph)
    unset, off = ([edit("set_options", None, value, "autotune.enabled")] for value in (None, False))
    found = [([[], *chunked(nodes)], moves)]
    buffers = []
    for node in nodes:
        own = [e for e in edits if e["node"] == node.name and e not in moves + always]
        prefetch = [e for e in own if e["edit"] == "insert_prefetch"]
        found.append(([[], *modes(node.op, node.name)], [e for e in own if e not in prefetch]))
        sizes = (2, 64) if len(found[-1][0]) > 1 or node is nodes[-1] else ()
        buffers.append(([[], *([edit("insert_prefetch", node.name, n)] for n in sizes)], prefetch))
    found += [*reversed(buffers), ([unset, off], autotune or unset), ([always], always)]
    tables = [[*alternatives, *([planned] if planned not in alternatives else [])]
              for alternatives, planned in found]
    return tables, [0] * len(tables), [table.index(planned) for table, (_, planned)
                                       in zip(tables, found)]


class Search:
    """Programs of one pipeline by their choices, each tried once."""

    def __init__(self, trace, tables, options):
        self.trace, self.tables, self.options = trace, tables, options
        self.rates, self.files = {}, {}

    def rate(self, choice):
        """Of the program with these alternatives; 0 where plumber refuses them."""
        edits = [e for table, place in zip(self.tables, choice) for e in table[place]]
        key = json.dumps(edits)
        if key not in self.rates and len(self.files) < self.options.programs:
            self.rates[key] = self._try(key, edits)
        return self.rates.get(key, 0)

    def _try(self, key, edits):
        stem = f"{self.trace}.{len(self.files)}"
        plan = pathlib.Path(stem + ".json")
        plan.write_text(json.dumps({"schema_version": 1, "graph_fingerprint": "", "edits": edits}),
                        encoding="utf-8")
        done = subprocess.run([bench_tf.plumber(), "rewrite", self.trace, "--plan", plan, "-o",
                               stem + ".pb"], capture_output=True, check=False)
        if done.returncode:
            return 0
        self.files[key] = stem + ".pb"
        iterator = iter(plumber_tf.load(stem + ".pb"))
        next(iterator)
        return bench_tf.rate(iterator, self.options.try_seconds, self.options.try_seconds / 2)

    def grid(self):
        for choice in itertools.product(*(range(len(table)) for table in self.tables)):
            self.rate(choice)

    def descend(self, choice, programs):
        """Knob by knob from a start, until a whole turn gains nothing or the programs are used."""
        end, best, gained = len(self.files) + programs, self.rate(choice), True
        while gained:
            gained = False
            for knob, table in enumerate(self.tables):
                for place in range(len(table)):
                    if len(self.files) >= end:
                        return
                    other = [*choice[:knob], place, *choice[knob + 1:]]
                    if (rate := self.rate(other)) > GAIN * best:
                        choice, best, gained = other, rate, True

    def best(self, count, without):
        ranked = sorted(self.files, key=self.rates.get, reverse=True)
        return [key for key in ranked if json.loads(key) != without][:count]


def changed(edits):
    """The edits as one cell of a table."""
    words = (" ".join(str(e[key]) for key in ("edit", "node", "to", "value")
                      if e[key] not in (None, "")) for e in edits if e["edit"] != "set_options")
    off = any(e["to"] == "autotune.enabled" and e["value"] is False for e in edits)
    return "; ".join([*words, *(["AUTOTUNE off"] if off else [])]) or "as written"


def measure(name, options, work):
    """One pipeline: programs tried, edits and rates of the best by brute force, plumber's rates."""
    trace = bench_tf.trace_program(name, options, work)
    tuned, plan = bench_tf.plan_program(trace, options, "--no-cache")
    keep = plumber_tf.build(*bench_tf.sources(name, options.data)["default"])
    tables, written, planned = knobs(plumber_tf.read_trace(trace).graph, plan)
    search = Search(trace, tables, options)
    if math.prod(map(len, tables)) <= options.programs:
        search.grid()
    else:
        search.descend(planned, options.programs // 2)
        search.descend(written, options.programs - len(search.files))
    del keep
    keys = search.best(FINALISTS, [e for table, place in zip(tables, planned)
                                   for e in table[place]])
    programs = [bench_tf.open_tuned(name, search.files[key], {}, options.data) for key in keys]
    programs.append(bench_tf.open_tuned(name, tuned, plan, options.data))
    try:
        *rates, own = plumber_tf.rates_in_turn(programs, options.rounds, options.seconds)
    finally:
        for program in programs:
            program.close()
    most = max(range(len(rates)), key=lambda place: statistics.median(rates[place]))
    return {"tried": len(search.files), "edits": json.loads(keys[most]), "best": rates[most],
            "own": own}


def table_of(results):
    head = ["pipeline", "programs", "best by brute force", "plumber", "plumber ÷ best",
            "what the best one changes"]
    rows = [[name, str(r["tried"]), plumber_tf.spread(r["best"]), plumber_tf.spread(r["own"]),
             f"{statistics.median(r['own']) / statistics.median(r['best']):.2f}",
             changed(r["edits"])] for name, r in results.items()]
    return bench_tf.table(head, rows)


def main():
    options = parse()
    names = bench_tf.names_to_measure(options)
    title, mark = (("More shapes against brute force", "bench_brute more") if options.more else
                   ("Against brute force", "bench_brute"))
    results = {}
    with bench_tf.work_folder(options) as work:
        for name in names:
            results[name] = measure(name, options, work)
            text = (f"{bench_tf.machine_facts(options)} Plans for {options.cores} cores and "
                    f"{options.mem}, without caches.\n\n{table_of(results)}")
            if options.output is not None:
                bench_tf.update(options.output, text, title, mark)
    if options.output is None:
        print(text)


if __name__ == "__main__":
    main()
