#!/usr/bin/env python3
"""Measures every schedule of bundles over lengths and prints the winners.

    attnc examples/llama3_prefill.mlir --target=sm_90a --tune-set -o llama3.attn
    scripts/tune.py llama3.attn --state=tune.json [--plot=tune.svg] [-- --device=cuda:1]

Each cell (bundle, tokens a request) is one attn-run of all specialisations; what is
measured is in the state file at once, so that a run that was stopped goes on where
it was.  A bundle that changed is measured anew.  Prints one JSON object, kernel ->
length -> the fastest specialisation, and its speed over the default's (#0).
What follows `--` goes to attn-run.
"""

import argparse
import csv
import hashlib
import io
import json
import os
import pathlib
import subprocess
import sys

HERE = pathlib.Path(__file__).resolve().parent


def measure(options, bundle, length):
    """Rows of attn-run's table that were timed."""
    count = max(1, options.tokens // length)
    command = [options.attn_run, bundle, "--all-specialisations", "--csv", "--bench", "--defaults",
               f"--bench-rounds={options.rounds}", f"--batch=q={length}x{count};kv={length}x{count}"]
    run = subprocess.run(command + (options.rest or ["--device=cuda"]), text=True,
                         capture_output=True)
    if run.returncode:
        raise RuntimeError(run.stderr.strip() or f"attn-run: status {run.returncode}")
    rows = [row for row in csv.DictReader(io.StringIO(run.stdout)) if row["ms"]]
    if not rows:
        raise RuntimeError(f"{bundle}: the device runs no specialisation")
    return [{"kernel": row["kernel"], "specialisation": int(row["specialisation"]),
             "ms": float(row["ms"]), "tflops": float(row["tflops"] or 0),
             "schedule": row["schedule"].split(", pipe =")[0]} for row in rows]


def save(path, state):
    new = path.with_suffix(path.suffix + ".new")
    new.write_text(json.dumps(state, indent=1))
    os.replace(new, path)


def winners(cells):
    table = {}
    for (bundle, length), rows in cells:
        for kernel in dict.fromkeys(row["kernel"] for row in rows):
            own = [row for row in rows if row["kernel"] == kernel]
            best = min(own, key=lambda row: row["ms"])
            default = min(own, key=lambda row: row["specialisation"])
            table.setdefault(f"{bundle.stem}.{kernel}", {})[str(length)] = {
                **{key: best[key] for key in ("specialisation", "ms", "tflops", "schedule")},
                "speed_over_default": round(default["ms"] / best["ms"], 3)}
    return table


def plot(cells, path):
    import matplotlib
    matplotlib.use("Agg")
    from matplotlib import pyplot
    lines = {}
    for (bundle, length), rows in cells:
        for row in rows:
            name = f"{bundle.stem}.{row['kernel']} #{row['specialisation']}"
            lines.setdefault(name, []).append((length, row["tflops"]))
    for name, points in sorted(lines.items()):
        pyplot.plot(*zip(*sorted(points)), marker="o", label=name)
    pyplot.xscale("log", base=2)
    pyplot.xlabel("tokens a request")
    pyplot.ylabel("TFLOP/s")
    pyplot.legend(fontsize="small")
    pyplot.savefig(path)


def main():
    parser = argparse.ArgumentParser(description=__doc__,
                                     formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("bundles", nargs="+", type=pathlib.Path)
    parser.add_argument("--lengths", default="512,1024,2048,4096,8192,16384")
    parser.add_argument("--tokens", type=int, default=16384, help="of all requests together")
    parser.add_argument("--rounds", type=int, default=3)
    parser.add_argument("--state", type=pathlib.Path, default=pathlib.Path("tune.json"))
    parser.add_argument("--plot", type=pathlib.Path)
    parser.add_argument("--attn-run", default=HERE.parent / "build" / "bin" / "attn-run")
    own, rest = sys.argv[1:], []
    if "--" in own:
        own, rest = own[:own.index("--")], own[own.index("--") + 1:]
    options = parser.parse_args(own)
    options.rest = rest

    state = json.loads(options.state.read_text()) if options.state.exists() else {}
    cells, failed = [], False
    todo = [(bundle, int(length)) for bundle in options.bundles
            for length in options.lengths.split(",")]
    for done, (bundle, length) in enumerate(todo, 1):
        key = f"{hashlib.sha256(bundle.read_bytes()).hexdigest()[:16]} {length} of {options.tokens}"
        what = f"[{done}/{len(todo)}] {bundle.stem} {length}"
        if key in state:
            print(what, "is known", file=sys.stderr)
        else:
            print(what, file=sys.stderr)
            try:
                state[key] = measure(options, bundle, length)
            except RuntimeError as error:
                print(error, file=sys.stderr)
                failed = True
                continue
            save(options.state, state)
        cells.append(((bundle, length), state[key]))
    print(json.dumps(winners(cells), indent=1))
    if options.plot:
        plot(cells, options.plot)
    return failed


if __name__ == "__main__":
    sys.exit(main())
