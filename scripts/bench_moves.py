#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""What the algebraic moves bring: small pipelines, one for each, as TensorFlow runs them and as
plumber rewrites them, with the moves and without. The three run in turn, so that whatever else the
machine does falls on all of them.

Needs the built binary (PLUMBER, else on the PATH or build/release/apps/plumber).
"""
import argparse
import os
import statistics
import tempfile
import time

import tensorflow as tf

import plumber_tf

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


MOVES = {
    "shard, skip below a map": shard_and_skip,
    "batch below decode_csv": batch_below_csv,
    "shuffle below a map of 800 kB elements": shuffle_below_large,
    "unbatch + batch -> rebatch": rebatch,
    "batch + unbatch taken out": unbatch_of_batch,
    "61 nested concatenations balanced": nested_concatenations,
    "prefetches between small functions taken out": small_prefetches,
    "a costly predicate in parallel": costly_predicate,
}


def parse():
    parser = argparse.ArgumentParser(description=__doc__.split("\n", maxsplit=1)[0])
    parser.add_argument("--rounds", type=int, default=5)
    parser.add_argument("--seconds", type=float, default=0.3, help="of one run")
    parser.add_argument("--only", choices=MOVES, action="append")
    return parser.parse_args()


def rate(dataset, seconds):
    """Root elements a second; passes that end begin again."""
    iterator, count = iter(dataset.repeat()), 0
    next(iterator)
    began = time.monotonic()
    while time.monotonic() - began < seconds:
        next(iterator)
        count += 1
    return count / (time.monotonic() - began)


def programs(make, folder):
    """The program as written, as planned without moves, as planned with them."""
    dataset, trace = make(), os.path.join(folder, "trace.pb")
    plumber_tf.record(dataset, 0.5, trace)
    tuned = []
    for name, options in (("without", ["--no-moves"]), ("with", [])):
        path = os.path.join(folder, name + ".pb")
        plumber_tf.run_plumber("optimize", trace, "--cores", 2, "--mem", "1G", "--no-cache", "-q",
                               *options, "-o", os.path.join(folder, name + ".json"), "--rewrite",
                               path)
        tuned.append(plumber_tf.load(path))
    return [dataset, *tuned]


def in_words(rates):
    middle = statistics.median(rates)
    return f"{middle:.0f} ({min(rates):.0f} … {max(rates):.0f})"


def main():
    options = parse()
    print("| move | as written | planned without moves | with them | times as fast as these two |\n"
          "| --- | --- | --- | --- | --- |", flush=True)
    for name, make in MOVES.items():
        if options.only and name not in options.only:
            continue
        with tempfile.TemporaryDirectory(prefix="plumber-moves-") as folder:
            runs = programs(make, folder)
            rates = [[] for _ in runs]
            for _ in range(options.rounds):
                for run, seen in zip(runs, rates):
                    seen.append(rate(run, options.seconds))
        middle = [statistics.median(seen) for seen in rates]
        gains = ", ".join(f"{middle[2] / other:.2f}" for other in middle[:2])
        print(f"| {name} | {' | '.join(map(in_words, rates))} | {gains} |", flush=True)


if __name__ == "__main__":
    main()
