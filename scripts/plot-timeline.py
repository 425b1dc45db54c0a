#!/usr/bin/env python3
"""Draws a timeline of attn-sim.

usage: plot-timeline.py FILE.json OUT.png [--from=CLOCK] [--to=CLOCK] [--group="cta 0"]

FILE.json is what `attn-sim --timing --timeline=FILE.json` writes (Chrome's trace
format; Perfetto shows it too).  One row a track: warps of roles first, then units.
Without limits the drawing shows 10,000 clocks from the middle of the run.
"""

import json
import sys


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
    plain = [a for a in sys.argv[1:] if not a.startswith("--")]
    given = dict(a[2:].split("=", 1) for a in sys.argv[1:] if a.startswith("--"))
    if len(plain) != 2 or set(given) - {"from", "to", "group"}:
        sys.exit(__doc__)
    timeline = read(plain[0])
    group = given.get("group", next(iter(timeline), ""))
    if group not in timeline:
        sys.exit(f"plot-timeline.py: error: no group '{group}' (known: {', '.join(timeline)})")
    rows = timeline[group]
    end = max(b + d for spans in rows.values() for _, b, d in spans)
    lo = float(given.get("from", max(0.0, end / 2 - 5000)))
    hi = float(given.get("to", min(end, lo + 10000)))
    try:
        import matplotlib
    except ImportError:
        sys.exit("plot-timeline.py: error: needs matplotlib")
    matplotlib.use("Agg")
    from matplotlib import pyplot

    rows = {name: [s for s in spans if s[1] + s[2] >= lo and s[1] <= hi]
            for name, spans in rows.items()}
    names = sorted((n for n in rows if rows[n]), key=lambda n: (not n.startswith("role"), n))
    kinds = sorted({n.split(" by ")[0] for spans in rows.values() for n, _, _ in spans})
    colours = {k: pyplot.get_cmap("tab20")(i % 20) for i, k in enumerate(kinds)}
    figure, axes = pyplot.subplots(figsize=(16, 0.45 * len(names) + 1.5))
    used = {}
    for y, name in enumerate(names):
        for what, begin, length in rows[name]:
            kind = what.split(" by ")[0]
            used[kind] = axes.barh(y, length, left=begin, height=0.8, color=colours[kind])
    axes.set_yticks(range(len(names)), names, fontsize=7)
    axes.invert_yaxis()
    axes.set_xlim(lo, hi)
    axes.set_xlabel("clocks")
    axes.legend(list(used.values()), list(used), fontsize=6, loc="upper left",
                bbox_to_anchor=(1.0, 1.0))
    figure.tight_layout()
    figure.savefig(plain[1], dpi=130)


if __name__ == "__main__":
    main()
