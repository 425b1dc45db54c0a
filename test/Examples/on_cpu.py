#!/usr/bin/env python3
"""Compiles examples for the CPU and compares each kernel with the oracle.

usage: on_cpu.py --batch=LENGTHS EXAMPLE...

Each runs as declared, in f32, and with splits of 32 keys.  Prints a line an
example and exits with 1 if one is not right.
"""

import argparse
import json
import subprocess
import sys
import tempfile
from pathlib import Path

WAYS = [[], ["--dtype=f32"], ["--split=32"]]


def check(example, batch, folder):
    """None, or what went wrong."""
    bundle = folder / f"{example.stem}.attn"
    done = subprocess.run(["attnc", str(example), "--target=cpu", "-o", str(bundle)],
                          capture_output=True, text=True)
    if done.returncode:
        return done.stderr
    for way in WAYS:
        done = subprocess.run(["attn-run", str(bundle), "--device=cpu", f"--batch={batch}", "--check",
                               "--json", *way], capture_output=True, text=True)
        lines = [json.loads(line) for line in done.stdout.splitlines()]
        if done.returncode or not lines or lines[-1] != {"ok": True}:
            return f"{' '.join(way)}\n{done.stdout}{done.stderr}"
        if not all(line["deterministic"] and line["rows_checked"] for line in lines[:-1]):
            return f"{' '.join(way)} checks nothing\n{done.stdout}"
    return None


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("--batch", required=True)
    parser.add_argument("examples", nargs="+", type=Path)
    options = parser.parse_args()
    wrong = 0
    with tempfile.TemporaryDirectory() as folder:
        for example in options.examples:
            error = check(example, options.batch, Path(folder))
            wrong += error is not None
            print(f"{example.stem}: {'ok' if error is None else f'wrong: {error}'}")
    print(f"{len(options.examples)} examples, {wrong} wrong")
    return 1 if wrong else 0


if __name__ == "__main__":
    sys.exit(main())
