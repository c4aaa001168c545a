#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""What the algebraic moves bring: small pipelines, one for each, as TensorFlow runs them and as
plumber rewrites them, with the moves and without. The three run in turn, so that whatever else the
machine does falls on all of them. --slow-disk instead: what a longer cycle_length brings where each
read waits, in the order of the files as it was and with leave to change it.

Needs the built binary (PLUMBER, else on the PATH or build/release/apps/plumber).
"""
import argparse
import json
import os
import pathlib
import statistics
import sys
import tempfile

if "--slow-disk" in sys.argv:
    sys.path.insert(0, str(pathlib.Path(__file__).resolve().parent.parent / "tests" / "tensorflow"))
    import slow_disk

    slow_disk.run_again()

import tensorflow as tf  # noqa: E402

import bench_tf  # noqa: E402
import plumber_tf  # noqa: E402

Range = tf.data.Dataset.range


def hashed(x):
    """Some fifty microseconds of work without a batch form."""
    text = tf.strings.reduce_join(tf.repeat(tf.strings.as_string(x), 1500))
    return tf.strings.to_hash_bucket_strong(text, 1000, [1, 2])


def costly(x):
    text = tf.strings.reduce_join(tf.repeat(tf.strings.as_string(x), 5000))
    return tf.strings.to_hash_bucket_strong(text, 7, [1, 2]) > 2


def shard_and_skip():
    return Range(20_000).map(hashed).skip(500).shard(4, 1).batch(8)


def batch_below_csv():
    lines = tf.data.Dataset.from_tensor_slices([f"{i}.5,{i},{i % 7}" for i in range(3000)])

    def decoded(line):
        a, b, c = tf.io.decode_csv(line, [0.0, 0, 0])
        return tf.stack([a, tf.cast(b, tf.float32)], 0), c * 2 - 1

    return lines.repeat().map(decoded).batch(64)


def take_below_parallel():
    return Range(1_000_000).map(costly, num_parallel_calls=16).take(16).repeat()


def shuffle_below_large():
    def filled(x):
        return tf.fill([100_000], hashed(x))

    return Range(20_000).map(filled).shuffle(500, seed=3, reshuffle_each_iteration=False)


def rebatch():
    dataset = Range(1_000_000).batch(32).map(lambda x: (x, x * 2, tf.strings.as_string(x)))
    return dataset.unbatch().batch(500, drop_remainder=True)


def unbatch_of_batch():
    return Range(5_000_000).batch(8).unbatch().filter(lambda x: x % 2 == 0).batch(256)


def nested_concatenations():
    dataset = Range(5000)
    for i in range(60):
        dataset = dataset.concatenate(Range(i, 5000 + i))
    return dataset.batch(64)


def small_prefetches():
    dataset = Range(5_000_000).map(lambda x: x * 3 + 1).prefetch(1)
    return dataset.filter(lambda x: x % 2 == 0).prefetch(1).batch(64)


def costly_predicate():
    return Range(100_000).filter(costly).batch(8)


def tiny_map_and_batch(function=lambda x: x * 3 + 1):
    return Range(5_000_000).apply(tf.data.experimental.map_and_batch(
        function, 256, num_parallel_calls=2))


def short_map_and_batch():
    """Without a batch form."""
    return tiny_map_and_batch(lambda x: tf.exp(tf.cast(x, tf.float32) / 1e6))


MOVES = {
    "shard, skip below a map": shard_and_skip,
    "batch below decode_csv": batch_below_csv,
    "take(16) below a map with 16 calls": take_below_parallel,
    "shuffle below a map of 800 kB elements": shuffle_below_large,
    "unbatch + batch -> rebatch": rebatch,
    "batch + unbatch taken out": unbatch_of_batch,
    "61 nested concatenations balanced": nested_concatenations,
    "prefetches between small functions taken out": small_prefetches,
    "a costly predicate in parallel": costly_predicate,
    "map_and_batch of a tiny function taken apart": tiny_map_and_batch,
    "map_and_batch of a function without a batch form": short_map_and_batch,
}


def parse():
    parser = argparse.ArgumentParser(description=__doc__.split("\n", maxsplit=1)[0])
    parser.add_argument("--rounds", type=int, default=5)
    parser.add_argument("--seconds", type=float, default=0.3, help="of one run")
    parser.add_argument("--only", choices=MOVES, action="append")
    parser.add_argument("--slow-disk", action="store_true", help="files whose reads wait 50 ms")
    return parser.parse_args()


def rate(dataset, seconds, warm_s):
    """Root elements a second; passes that end begin again."""
    iterator = iter(dataset.repeat())
    next(iterator)
    return bench_tf.rate(iterator, seconds, warm_s)


def programs(dataset, folder, plans=(["--no-moves"], []), trace_s=0.5):
    """The program as written, and as planned with these options; and what the plans predict."""
    trace = os.path.join(folder, "trace.pb")
    plumber_tf.record(dataset, trace_s, trace)
    tuned, predicted = [], []
    for number, options in enumerate(plans):
        path, plan = (os.path.join(folder, f"{number}.{ending}") for ending in ("pb", "json"))
        plumber_tf.run_plumber("optimize", trace, "--cores", 2, "--mem", "1G", "--no-cache", "-q",
                               *options, "--format", "json", "-o", plan, "--rewrite", path)
        tuned.append(plumber_tf.load(path))
        with open(plan, encoding="utf-8") as file:
            predicted.append(json.load(file)["predicted"])
    return [dataset, *tuned], [predicted[0]["before_per_s"],
                               *(one["after_per_s"] for one in predicted)]


def in_words(rates):
    middle = statistics.median(rates)
    return f"{middle:.0f} ({min(rates):.0f} … {max(rates):.0f})"


def waiting_readers():
    """Many files of 20 kB records, two read at a time."""
    names = [os.path.join(slow_disk.folder(), f"part-{i:02}") for i in range(32)]
    for name in names:
        with tf.io.TFRecordWriter(name) as writer:
            for _ in range(200):
                writer.write(os.urandom(20_000))

    def work(record):
        numbers = tf.cast(tf.io.decode_raw(record, tf.uint8), tf.float32)
        return tf.reduce_sum(tf.sqrt(numbers) * tf.sin(numbers))

    files = tf.data.Dataset.from_tensor_slices(names).repeat()
    return (files.interleave(tf.data.TFRecordDataset, cycle_length=2, num_parallel_calls=2)
            .map(work, num_parallel_calls=2).batch(16).prefetch(2))


def rates_in_turn(runs, rounds, seconds, warm_s=0.0):
    rates = [[] for _ in runs]
    for _ in range(rounds):
        for run, seen in zip(runs, rates):
            seen.append(rate(run, seconds, warm_s))
    return rates


def measure_slow_disk(options):
    slow_disk.disk(0, 0.05)
    print("| reads of 50 ms, 32 files | predicted | measured |\n| --- | --- | --- |", flush=True)
    with tempfile.TemporaryDirectory(prefix="plumber-moves-") as folder:
        runs, predicted = programs(waiting_readers(), folder, ([], ["--allow", "reorder-files"]),
                                   trace_s=3)
        rates = rates_in_turn(runs, options.rounds, 3, warm_s=1)
    for name, expected, seen in zip(("as written", "planned", "planned with --allow reorder-files"),
                                    predicted, rates):
        print(f"| {name} | {expected:.0f} | {in_words(seen)} |", flush=True)


def measure_moves(options):
    print("| move | as written | planned without moves | with them | times as fast as these two |\n"
          "| --- | --- | --- | --- | --- |", flush=True)
    for name, make in MOVES.items():
        if options.only and name not in options.only:
            continue
        with tempfile.TemporaryDirectory(prefix="plumber-moves-") as folder:
            runs, _ = programs(make(), folder)
            rates = rates_in_turn(runs, options.rounds, options.seconds)
        middle = [statistics.median(seen) for seen in rates]
        gains = ", ".join(f"{middle[2] / other:.2f}" for other in middle[:2])
        print(f"| {name} | {' | '.join(map(in_words, rates))} | {gains} |", flush=True)


def main():
    options = parse()
    if options.slow_disk:
        measure_slow_disk(options)
    else:
        measure_moves(options)


if __name__ == "__main__":
    main()
