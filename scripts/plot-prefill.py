#!/usr/bin/env python3
"""Draws what bench/prefill.py measured: speed over length, a panel a head dim and mask.

usage: plot-prefill.py PREFILL.json OUT.png [--value=tflops|utilisation|ratio] [--element=bf16]

A line a candidate: ours (the fastest of a target's specialisations at each length), the
prototype, and the peers.  Shapes of uneven lengths and inputs other than random are left out.
"""

import json

import plotting

VALUES = ("tflops", "utilisation", "ratio")


def kind(candidate):
    """The line that a candidate belongs to: `ours sm_90a #1 exact` is `ours sm_90a exact`."""
    words = candidate.split()
    if words[0] == "prototype":
        return "prototype"
    return " ".join(word for word in words if not word.startswith("#"))


def panels(records, value, element):
    """{(dim, mask, score): {line: {length: value}}} of the records that have the value."""
    out = {}
    for r in records:
        if r.get(value) is None or r.get("seq") is None or r.get("element") != element:
            continue
        if r.get("keys", r["seq"]) != r["seq"] or r.get("inputs", "random") != "random":
            continue
        lines = out.setdefault((r["dim"], r["mask"], r["score"]), {})
        line = lines.setdefault(kind(r["candidate"]), {})
        line[r["seq"]] = max(line.get(r["seq"], 0), r[value])
    return out


def main():
    source, target, given = plotting.arguments(__doc__, ("value", "element"))
    value = given.get("value", "tflops")
    if value not in VALUES:
        plotting.fail(f"no value '{value}' (known: {', '.join(VALUES)})")
    with open(source) as f:
        found = panels(json.load(f), value, given.get("element", "bf16"))
    if not found:
        plotting.fail(f"{source} has no record with {value}")
    pyplot = plotting.pyplot()
    names = sorted({name for lines in found.values() for name in lines})
    colours = plotting.colours(pyplot, names, "tab10")
    columns = min(3, len(found))
    rows = -(-len(found) // columns)
    figure, grid = pyplot.subplots(rows, columns, figsize=(5 * columns, 3.5 * rows),
                                   squeeze=False)
    for axes in grid.flat[len(found):]:
        axes.set_visible(False)
    for axes, ((dim, mask, score), lines) in zip(grid.flat, sorted(found.items())):
        for name in sorted(lines):
            lengths = sorted(lines[name])
            axes.plot(lengths, [lines[name][n] for n in lengths], marker="o", markersize=3,
                      color=colours[name], label=name)
        axes.set_xscale("log", base=2)
        axes.set_ylim(bottom=0)
        axes.set_title(f"d {dim} {mask}{'' if score == 'plain' else ' ' + score}", fontsize=9)
        axes.set_xlabel("tokens a request", fontsize=8)
        axes.set_ylabel({"tflops": "TFLOP/s"}.get(value, value), fontsize=8)
        axes.grid(alpha=0.3)
        axes.legend(fontsize=6)
    plotting.save(figure, target)


if __name__ == "__main__":
    main()
