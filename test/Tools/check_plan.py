"""Checks `attn-plan --json` against the mask itself, pair by pair.

usage: check_plan.py PLAN.json WINDOW

The mask is 0 <= q - k < WINDOW with the last row and the last key at one position.  Prints
how many blocks of each class were found; ends with an error if a class is not what the pairs
of the block say, if a visible pair lies in no item, or if costs and turns do not add up.
"""

import json
import sys
from collections import Counter


def expected(q_begin, q_end, key, end, window, whole):
    """The class of the block of rows [q_begin, q_end) and keys [key, end)."""
    seen = [0 <= q - k < window for q in range(q_begin, q_end) for k in range(key, end)]
    if not any(seen):
        return "skip"
    return "full" if whole and all(seen) else "partial"


def main():
    with open(sys.argv[1]) as f:
        plan = json.loads(f.readline())
    window, pack, tile_k = int(sys.argv[2]), plan["pack"], plan["tile_k"]
    found, known, pairs = Counter(), {}, Counter()
    for item in plan["items"]:
        request = plan["requests"][item["request"]]
        shift = request["kv_len"] - request["q_len"]
        rows = (item["row0"] // pack + shift, (item["row0"] + item["rows"] - 1) // pack + shift + 1)
        at = 0
        for first, end, kind in item["blocks"]:
            assert first == at < end, f"item {item}: run at block {first}, not {at}"
            at = end
            for j in range(first, end):
                key = item["kv_begin"] + j * tile_k
                last = min(key + tile_k, item["kv_end"])
                question = (*rows, key, last)
                if question not in known:
                    known[question] = expected(*question, window, last - key == tile_k)
                assert kind == known[question], f"block {question}: {kind}, not {known[question]}"
                found[kind] += 1
        assert at == -(-(item["kv_end"] - item["kv_begin"]) // tile_k), f"item {item}: {at} blocks"
        for q in range(*rows):
            for k in (max(0, q - window + 1), q):  # the ends of what the row sees
                if item["kv_begin"] <= k < item["kv_end"]:
                    pairs[item["request"], item["head"], q, k] += 1
    for i, request in enumerate(plan["requests"]):
        for q in range(request["kv_len"] - request["q_len"], request["kv_len"]):
            for k in {max(0, q - window + 1), q} if q >= 0 else ():
                assert pairs[i, 0, q, k] >= 1, f"request {i}: pair {q}, {k} lies in no item"
    total = sum(item["cost"] for item in plan["items"])
    # The planner's total is that of whole tiles: a split pays for its rows once more.
    if all(item["slot"] < 0 for item in plan["items"]):
        assert abs(total - plan["total_cost"]) <= 1e-6 * total, (total, plan["total_cost"])
    else:
        assert total > plan["total_cost"], (total, plan["total_cost"])
    assert max(item["cost"] for item in plan["items"]) == plan["longest_cost"]
    ends = [0.0] * plan["workers"]
    for item in plan["items"]:
        assert item["begin"] == ends[item["worker"]] == min(ends), f"item {item}: begins late"
        ends[item["worker"]] += item["cost"]
    print(", ".join(f"{kind} {found[kind]}" for kind in ("skip", "partial", "full")))


if __name__ == "__main__":
    main()
