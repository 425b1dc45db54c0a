#!/usr/bin/env python3
"""Draws a timeline of attn-sim.

usage: plot-timeline.py FILE.json OUT.png [--from=CLOCK] [--to=CLOCK] [--group="cta 0"]

FILE.json is what `attn-sim --timing --timeline=FILE.json` writes (Chrome's trace
format; Perfetto shows it too).  One row a track: warps of roles first, then units.
Without limits the drawing shows 10,000 clocks from the middle of the run.
"""

import json

import plotting


def read(path):
    """{group: {track: [(name, begin, length)]}} in the order of the file."""
    with open(path) as f:
        events = json.load(f)["traceEvents"]
    groups, tracks, out = {}, {}, {}
    for e in events:
        if e["ph"] == "M" and e["name"] == "process_name":
            groups[e["pid"]] = e["args"]["name"]
        elif e["ph"] == "M" and e["name"] == "thread_name":
            tracks[e["pid"], e["tid"]] = e["args"]["name"]
    for e in events:
        if e["ph"] == "X":
            rows = out.setdefault(groups[e["pid"]], {})
            rows.setdefault(tracks[e["pid"], e["tid"]], []).append((e["name"], e["ts"], e["dur"]))
    return out


def main():
    source, target, given = plotting.arguments(__doc__, ("from", "to", "group"))
    timeline = read(source)
    group = given.get("group", next(iter(timeline), ""))
    if group not in timeline:
        plotting.fail(f"no group '{group}' (known: {', '.join(timeline)})")
    tracks = timeline[group]
    end = max(b + d for spans in tracks.values() for _, b, d in spans)
    lo = float(given.get("from", max(0.0, end / 2 - 5000)))
    hi = float(given.get("to", min(end, lo + 10000)))
    rows = {name: [(what.split(" by ")[0], begin, length) for what, begin, length in spans
                   if begin + length >= lo and begin <= hi]
            for name, spans in tracks.items()}
    names = sorted((n for n in rows if rows[n]), key=lambda n: (not n.startswith("role"), n))
    figure, axes = plotting.spans(plotting.pyplot(), {n: rows[n] for n in names}, "clocks")
    axes.set_xlim(lo, hi)
    plotting.save(figure, target)


if __name__ == "__main__":
    main()
