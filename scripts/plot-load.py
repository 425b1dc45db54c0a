#!/usr/bin/env python3
"""Draws what each worker does of a plan: a row a worker, a bar an item, a colour a request.

usage: plot-load.py PLAN.json OUT.png [--kernel=NAME] [--from=WORKER] [--to=WORKER]

PLAN.json is what `attn-plan --json` prints.  Bars are as long as the planner's cost.
Without limits the drawing shows the first 64 workers.
"""

import plans
import plotting


def main():
    source, target, given = plotting.arguments(__doc__, ("kernel", "from", "to"))
    plan = plans.read(source, given.get("kernel"))
    lo = int(given.get("from", 0))
    hi = min(int(given.get("to", lo + 63)), plan["workers"] - 1)
    if not 0 <= lo <= hi:
        plotting.fail(f"workers {lo} to {hi} of {plan['workers']}")
    rows = {f"worker {i}": [] for i in range(lo, hi + 1)}
    for item in plan["items"]:
        if lo <= item["worker"] <= hi:
            rows[f"worker {item['worker']}"].append(
                (f"request {item['request']}", item["begin"], item["cost"]))
    plt = plotting.pyplot()
    figure, axes = plotting.spans(plt, rows, "cost")
    for bars in axes.containers:
        for bar in bars:
            bar.set_edgecolor("white")
    axes.axvline(plan["total_cost"] / plan["workers"], color="black", linewidth=0.8)
    axes.set_title(f"{plan['kernel']} on {plan['target']}; the line is the mean load", fontsize=9)
    plotting.save(figure, target)


if __name__ == "__main__":
    main()
