#!/usr/bin/env python3
"""Runs an example under each schedule of its target and under 20 of the simulator's.

usage: schedules.py [--target=NAME] EXAMPLE...

For each example: every choice of the schedule below x whole and split keys x
random, adversarial and round-robin order in turn, at every level, on small
ragged batches (requests without queries or keys, tails of tiles, 0, 1, 2 and
many visits).  Large scores make a frozen reference fail, so that items are
redone.  A choice that a kernel cannot take must be refused with its text.

Prints a line a run and exits with 1 if one is not right.
"""

import subprocess
import sys
from pathlib import Path

SEEDS = 20
KINDS = ["random", "adversarial", "rr"]
# Of the schedule, by target.
CHOICES = {"sm_80": ["softmax=frozen", "softmax=exact"]}
# (example, choice) -> what the compiler says
REFUSED = {("sigmoid", "softmax=frozen"):
           "softmax = frozen needs normaliser softmax but the variant has none"}
# (lengths, factor of the scores), keys of a split
INPUTS = [([("q=5,0,1,40;kv=9,3,130,70", 0), ("q=70;kv=300", 4)], 0),
          ([("q=5,0,40;kv=130,3,300", 0), ("q=40;kv=300", 4)], 64)]


def run(example, target, choice, batches, split):
    """Levels that were right, and the output."""
    command = ["attn-sim", str(example), f"--target={target}", f"--schedule={choice}",
               "--kv-heads=1", "--ctas=2", f"--seeds={SEEDS}", f"--split={split}"]
    command += [f"--schedule={kind}" for kind in KINDS]
    for batch, scale in batches:
        command += [f"--batch={batch}", f"--scale={scale}"]
    done = subprocess.run(command, capture_output=True, text=True)
    ok = [line.split()[1] for line in done.stdout.splitlines() if " ok " in line]
    concurrent = done.stdout.count(f"{SEEDS} schedules")
    right = (done.returncode == 0 and concurrent == 2 * len(batches) and
             all(ok.count(level) == len(batches) for level in ("tiles", "pipe", "frag")))
    return right, done.stdout + done.stderr


def main():
    target, wrong, runs = "sm_80", 0, 0
    for argument in sys.argv[1:]:
        if argument.startswith("--target="):
            target = argument.split("=")[1]
            continue
        example = Path(argument)
        for choice in CHOICES[target]:
            refusal = REFUSED.get((example.stem, choice))
            for batches, split in INPUTS:
                right, output = run(example, target, choice, batches, split)
                if refusal:
                    right = refusal in output
                runs += 1
                wrong += not right
                print(f"{example.stem} {target} {choice} {'split' if split else 'whole'}: "
                      f"{'wrong' if not right else 'refused' if refusal else 'ok'}")
                if not right:
                    print(output)
    print(f"{runs} runs, {wrong} wrong")
    return 1 if wrong or not runs else 0


if __name__ == "__main__":
    sys.exit(main())
