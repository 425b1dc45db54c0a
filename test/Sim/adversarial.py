#!/usr/bin/env python3
"""Inputs that are hard on a softmax loop, at every level, and how often an item ran.

usage: adversarial.py PROBLEM TARGET [SCHEDULE]

The problem must give one item of several full blocks for q=40, kv=400.  At L1 a frozen
loop makes as many visits as the exact one, and twice as many where the item must be
redone; at L2 and L3 the masked blocks, which both runs go through, are visited twice.
With redo=visit they are not: the exact loop takes over where the frozen one stopped.

Prints a line a kind and softmax; exits with 1 if one is not right.
"""

import re
import subprocess
import sys

# Kinds whose rows leave the reference of their first blocks behind, or are NaN.
REDONE = ["rising", "late-peak", "huge-row", "nan-row", "nan-key", "floor"]


def run(problem, target, schedule, softmax, kind):
    """Visits of each loop by level, or the output if a level disagrees."""
    done = subprocess.run(
        ["attn-sim", problem, f"--target={target}", f"--schedule=softmax={softmax},{schedule}",
         "--kv-heads=0", "--ctas=1", "--seeds=1", "--batch=q=40;kv=400", f"--inputs={kind}",
         "--visits"], capture_output=True, text=True)
    visits = {}
    for line in done.stdout.splitlines():
        found = re.match(r"\S+ +(\S+) +ok .* rows(?:, visits(.*))?$", line)
        if found:
            visits[found[1]] = [int(n) for n in (found[2] or "").split()]
    good = done.returncode == 0 and set(visits) == {"tiles", "tiles-cpu", "pipe", "frag"}
    return visits if good else done.stdout + done.stderr


def main():
    problem, target, *schedule = sys.argv[1:]
    wrong = 0
    plain = run(problem, target, ",".join(schedule), "exact", "random")
    # Nothing but the numbers of the exact and the lazy loop depends on the kind.
    revisits = [("frozen,redo=visit", ["random", *REDONE])] if target == "sm_90a" else []
    for softmax, kinds in (("exact", ["rising", "floor"]), ("lazy", ["random", *REDONE]),
                           ("frozen,redo=item", ["random", *REDONE]), *revisits):
        for kind in kinds:
            visits = run(problem, target, ",".join(schedule), softmax, kind)
            times = 2 if softmax.startswith("frozen") and kind in REDONE else 1
            items = 1 if softmax.endswith("visit") else times
            if isinstance(visits, str):
                right, text = False, visits
            else:
                right = sum(visits["tiles"]) == times * sum(plain["tiles"])
                for level in ("pipe", "frag"):
                    right &= visits[level][0] == items * plain[level][0] > 0
                if softmax == "frozen,redo=item":
                    # The frozen loop has its part of the first run.
                    right &= all(visits[level][-1] > 0 for level in ("tiles", "pipe", "frag"))
                if softmax == "frozen,redo=visit":
                    # A peak in the last block leaves nothing to the exact loop, which stands
                    # in front of the frozen one.  Numbers are the most of any warp, and each has
                    # both loops between all blocks.
                    some = kind in REDONE and kind != "late-peak"
                    for level in ("pipe", "frag"):
                        right &= (visits[level][-2] > 0) == some and visits[level][-1] > 0
                        right &= sum(visits[level]) >= sum(plain[level])
                text = "" if right else str(visits)
            wrong += not right
            print(f"{target} {softmax} {kind}: {'right' if right else 'wrong'}, "
                  f"{items} run{'s' * (items - 1)} {text}".rstrip(), flush=True)
    return wrong > 0


if __name__ == "__main__":
    sys.exit(main())
