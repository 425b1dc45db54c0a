"""Reads what `attn-plan --json` prints: one JSON object a line, one a kernel."""

import json

import plotting


def read(path, kernel=None):
    """The plan of the kernel of that name, or the first; ends the script if there is none or
    the plan has no item."""
    with open(path) as f:
        plans = {plan["kernel"]: plan for plan in map(json.loads, f)}
    if kernel is None:
        kernel = next(iter(plans), "")
    if kernel not in plans:
        plotting.fail(f"no kernel '{kernel}' (known: {', '.join(plans)})")
    if not plans[kernel]["items"]:
        plotting.fail(f"the plan of {kernel} has 0 items")
    return plans[kernel]


def blocks(plan, request, head):
    """(row, rows, key, keys, class) of every run of blocks of a head's items.  Rows are packed
    rows, keys are tokens; what no item covers is skipped and not listed."""
    for item in plan["items"]:
        if (item["request"], item["head"]) != (request, head):
            continue
        for first, end, kind in item["blocks"]:
            key = item["kv_begin"] + first * plan["tile_k"]
            last = min(item["kv_begin"] + end * plan["tile_k"], item["kv_end"])
            yield item["row0"], item["rows"], key, last - key, kind
