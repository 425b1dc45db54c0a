#!/usr/bin/env python3
"""Draws the block map of a plan: which blocks of keys a tile skips, masks or computes in full.

usage: plot-block-map.py PLAN.json OUT.png [--kernel=NAME] [--head=0] [--request=N]

PLAN.json is what `attn-plan --json` prints.  A panel a request (the first 6 with rows and
keys), rows downwards and keys to the right.  Rows are packed rows: token * pack + head in
the group.
"""

import plans
import plotting

COLOURS = {"skip": "#e8e8e8", "partial": "#f0a030", "full": "#3070b0"}


def main():
    source, target, given = plotting.arguments(__doc__, ("kernel", "head", "request"))
    plan = plans.read(source, given.get("kernel"))
    head = int(given.get("head", 0))
    heads = sorted({item["head"] for item in plan["items"]})
    if head not in heads:
        plotting.fail(f"no head {head} (known: {heads[0]} to {heads[-1]})")
    shown = [i for i, r in enumerate(plan["requests"]) if r["q_len"] and r["kv_len"]]
    if "request" in given:
        if int(given["request"]) not in shown:
            plotting.fail(f"no request {given['request']} with rows and keys (known: {shown})")
        shown = [int(given["request"])]
    if not shown:
        plotting.fail("no request has rows and keys")
    shown = shown[:6]
    plt = plotting.pyplot()
    from matplotlib.patches import Rectangle

    columns = min(3, len(shown))
    lines = -(-len(shown) // columns)
    figure, grid = plt.subplots(lines, columns, figsize=(5 * columns, 5 * lines), squeeze=False)
    for axes in grid.flat[len(shown):]:
        axes.set_visible(False)
    for axes, index in zip(grid.flat, shown):
        request = plan["requests"][index]
        rows = request["q_len"] * plan["pack"]
        axes.set_facecolor(COLOURS["skip"])
        for row, height, key, keys, kind in plans.blocks(plan, index, head):
            for at in range(key, key + keys, plan["tile_k"]):
                width = min(plan["tile_k"], key + keys - at)
                axes.add_patch(Rectangle((at, row), width, height, facecolor=COLOURS[kind],
                                         edgecolor="white", linewidth=0.3))
        axes.set_xlim(0, request["kv_len"])
        axes.set_ylim(rows, 0)
        axes.set_xlabel("keys", fontsize=8)
        axes.set_ylabel("packed rows", fontsize=8)
        axes.set_title(f"request {index} head {head}: {request['q_len']} by "
                       f"{request['kv_len']}", fontsize=9)
    grid.flat[0].legend([Rectangle((0, 0), 1, 1, facecolor=c) for c in COLOURS.values()],
                        list(COLOURS), fontsize=7, loc="upper right")
    figure.suptitle(f"{plan['kernel']} on {plan['target']}: tiles of {plan['tile_q']} x "
                    f"{plan['tile_k']}", fontsize=10)
    plotting.save(figure, target)


if __name__ == "__main__":
    main()
