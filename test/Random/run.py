#!/usr/bin/env python3
"""Random kernels and batches on the CPU target against the oracle.

usage: run.py [--cases=10000] [--seed=1] [--keep=FOLDER] [--attn-run=PROGRAM]
       run.py --simulate=TARGET [--cases=..] [--seed=..] [--keep=FOLDER] [--attn-sim=PROGRAM]

A group is one file of kernels under one random schedule, compiled by attnc and run by
attn-run on several random batches with random splits, workers and strides; a case is
one kernel on one batch.  Each is compared with the f64 oracle row by row, runs twice
to the same bits, and may touch no byte that is not its own.

With --simulate a case is one kernel of what the GPU target has, lowered with its default
schedule or a small one, on one small batch: attn-sim runs it at every level.

The same seed gives the same cases.  A group that fails is shown with the command that
does it again and how often it failed in REPEATS more runs; its file and its bundle,
with the object that ran, stay in FOLDER (the inputs are those of the command's seed).
Exits with 1 if a case fails.
"""

import argparse
import json
import random
import subprocess
import sys
import time
from pathlib import Path

import kernels

KERNELS, BATCHES = 8, 8
REPEATS = 3


def schedule(rng, normaliser):
    """Overrides that every kernel takes; "" for the default."""
    fields = []
    if rng.random() < 0.5:
        fields.append(f"tile_q={8 * rng.choice([1, 2, 3, 4, 8, 12])}")
    if rng.random() < 0.5:
        fields.append(f"tile_k={16 * rng.choice([1, 2, 3, 4, 8])}")
    if rng.random() < 0.3:
        fields.append("pack=1")
    if rng.random() < 0.3:
        fields.append("kv_order=" + rng.choice(["ascending", "descending"]))
    if normaliser == "softmax" and rng.random() < 0.3:
        fields.append("softmax=" + rng.choice(["exact", "frozen"]))
    return ",".join(fields)


def options(rng, pairs):
    """Arguments of attn-run for one batch."""
    result = [f"--batch={kernels.lengths(rng, pairs)}", f"--seed={rng.randrange(1 << 30)}"]
    if rng.random() < 0.6:
        result.append(f"--split={rng.choice([1, 16, 32, 33, 48, 64, 100, 128])}")
    if rng.random() < 0.4:
        result.append(f"--workers={rng.randint(1, 9)}")
    if rng.random() < 0.4:
        result.append(f"--token-pad={rng.choice([0, 1, 24])}")
    if rng.random() < 0.2:
        result.append("--defaults")
    return result


class Group:
    """The files and commands of one seed."""

    def __init__(self, seed, folder, runner):
        rng = random.Random(seed)
        self.source = folder / f"random-{seed}.mlir"
        self.bundle = folder / f"random-{seed}.attn"
        normaliser = "none" if rng.random() < 0.15 else "softmax"
        element = rng.choice(kernels.ELEMENTS)
        made = [kernels.Kernel(rng, f"k{i}", normaliser, element) for i in range(KERNELS)]
        self.kernels = len(made)
        self.source.write_text("\n".join(k.text for k in made))
        fields = schedule(rng, normaliser)
        # Only the declared element type: by default there is f32 code besides.
        self.compile = ["attnc", str(self.source), "--target=cpu", f"--cpu-dtypes={element}",
                        *([f"--schedule={fields}"] if fields else []), "-o", str(self.bundle)]
        widest = max(k.heads * (k.dim + k.dim_v) for k in made)
        self.runs = [[runner, str(self.bundle), "--device=cpu", "--check", "--json",
                      *options(rng, 60_000_000 // widest)] for _ in range(BATCHES)]


def simulation(seed, folder, target, simulator):
    """(file, command) of one kernel on a GPU target."""
    rng = random.Random(seed)
    source = folder / f"random-{target}-{seed}.mlir"
    normaliser = "none" if rng.random() < 0.15 else "softmax"
    kernel = kernels.Kernel(rng, "k", normaliser, rng.choice(["f16", "bf16"]), gpu=True)
    source.write_text(kernel.text)
    fields = []
    if rng.random() < 0.5:
        fields.append("tile_q=64" + (",roles=all:4" if target == "sm_80" else ""))
    if rng.random() < 0.5:
        fields.append(f"tile_k={16 * rng.choice([1, 2, 3])}")
    if rng.random() < 0.3:
        fields.append("pack=1")
    command = [simulator, str(source), f"--target={target}", "--kv-heads=1",
               f"--batch={kernels.lengths(rng, 4000)}", f"--seed={rng.randrange(1 << 30)}"]
    if fields:
        command.append(f"--schedule={','.join(fields)}")
    if rng.random() < 0.5:
        command.append(f"--split={rng.choice([16, 32, 48, 64, 100])}")
    return source, command


def simulate(given):
    """Prints what went wrong and a line of counts; true if nothing did."""
    wrong = 0
    for seed in range(given.seed, given.seed + given.cases):
        source, command = simulation(seed, given.keep, given.simulate, given.attn_sim)
        stdout, error = run(command, 300)
        levels = stdout.count(" ok ")
        if error is None and levels == 4:
            source.unlink()
            continue
        wrong += 1
        quoted = " ".join(f"'{a}'" if ";" in a else a for a in command)
        print(f"seed {seed}: {quoted}\n  {stdout}{error or ''}", flush=True)
    print(f"{given.cases} cases on {given.simulate}, {wrong} wrong")
    return not wrong


def run(command, seconds):
    """(stdout, None) or (stdout, what went wrong)."""
    try:
        done = subprocess.run(command, capture_output=True, text=True, timeout=seconds)
    except subprocess.TimeoutExpired:
        return "", f"hangs: more than {seconds} s"
    if done.returncode < 0:
        return done.stdout, f"signal {-done.returncode}: {done.stderr[-2000:]}"
    return done.stdout, done.stderr if done.returncode else None


def verdicts(stdout, error, kernels):
    """One text a kernel, None where it is right."""
    lines = [json.loads(line) for line in stdout.splitlines()][:-1]
    if len(lines) != kernels:
        return [error or f"{len(lines)} results for {kernels} kernels"] * kernels
    return [None if line["ok"] and line.get("deterministic") else json.dumps(line) for line in lines]


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("--cases", type=int, default=10000)
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument("--keep", type=Path, default=Path("random-kernels"))
    parser.add_argument("--attn-run", default="attn-run")
    parser.add_argument("--simulate", metavar="TARGET")
    parser.add_argument("--attn-sim", default="attn-sim")
    given = parser.parse_args()
    given.keep.mkdir(parents=True, exist_ok=True)
    if given.simulate:
        return 0 if simulate(given) else 1
    begin, done, wrong, rows, seed = time.time(), 0, 0, 0, given.seed
    while done < given.cases:
        group = Group(seed, given.keep, given.attn_run)
        failed = []
        stdout, error = run(group.compile, 300)
        if error:
            failed.append((group.compile, error))
            wrong += group.kernels * BATCHES
            done += group.kernels * BATCHES
        else:
            for command in group.runs:
                stdout, error = run(command, 300)
                results = verdicts(stdout, error, group.kernels)
                done += len(results)
                wrong += sum(text is not None for text in results)
                failed += [(command, text) for text in results if text]
                rows += sum(json.loads(line).get("rows_checked", 0) for line in stdout.splitlines())
        for command, text in failed:
            quoted = " ".join(f"'{a}'" if ";" in a else a for a in command)
            again = sum(any(verdicts(*run(command, 300), group.kernels)) for _ in range(REPEATS)
                        ) if command[0] != "attnc" else REPEATS
            print(f"seed {seed}: {quoted}\n  {text}\n  fails in {again} of {REPEATS} more runs", flush=True)
        if not failed:
            group.bundle.unlink()
            group.source.unlink()
        seed += 1
        if (seed - given.seed) % 25 == 0 and not sys.stdout.isatty():
            print(f"... {done} cases, {wrong} wrong, {time.time() - begin:.0f} s", file=sys.stderr, flush=True)
    print(f"{done} cases, {wrong} wrong, {rows} rows")
    return 1 if wrong else 0


if __name__ == "__main__":
    sys.exit(main())
