#!/usr/bin/env python3
"""Prints the default schedules, all fields of all specialisations, of the shapes below
and of every example.

usage: golden.py SCRATCH_FOLDER [--write-only] [> test/Schedule/default-schedules.txt]

The problems are left in the folder; --write-only stops there.  default-schedules.test
compares the output with the file; a change of a default shows as a change of it.  To write
it anew, from the root of the tree:

    PATH=build/bin:$PATH python3 test/Schedule/golden.py /tmp/golden \\
        > test/Schedule/default-schedules.txt
"""

import re
import subprocess
import sys
from pathlib import Path

ROOT = Path(__file__).resolve().parents[2]
sys.path.insert(0, str(ROOT / "bench"))
import kernels  # noqa: E402

DIMS = [(64, 64), (72, 40), (96, 96), (128, 128), (160, 160), (192, 128), (256, 256)]
MASKS = ["dense", "causal", "window"]
TARGETS = ["sm_80", "sm_90a"]


def problem(dim, dim_v, mask):
    """A kernel of 16 heads without groups."""
    text = kernels.text(dim, mask, 16, 16)
    return re.sub(r"(<(?:value|output), .*?dim = )\d+", rf"\g<1>{dim_v}", text)


def schedules(path, target):
    """A paragraph: what the compiler prints, in lines of one subject."""
    done = subprocess.run(["attnc", str(path), f"--target={target}", "--emit=schedule"],
                          capture_output=True, text=True)
    if done.returncode:
        reason = re.search(r"error: (?:'attn.kernel' op )?(.*)", done.stderr)
        return f"  refused: {reason[1] if reason else done.stderr}\n"
    text = ""
    for line in done.stdout.splitlines():
        schedule = line.partition(": #attn.schedule")[2].strip("<>")
        fields = re.sub(r", (kv_order|p_type|pipe|place|agents|atoms|channels) =", r",\n    \1 =",
                        schedule)
        text += f"  {fields}\n"
    return text


def main():
    folder = Path(sys.argv[1])
    folder.mkdir(parents=True, exist_ok=True)
    cells = []
    for dim, dim_v in DIMS:
        for mask in MASKS:
            path = folder / f"d{dim}{f'-{dim_v}' * (dim != dim_v)}-{mask}.mlir"
            path.write_text(problem(dim, dim_v, mask))
            cells.append(path)
    if "--write-only" in sys.argv:
        return
    cells += sorted((ROOT / "examples").glob("*.mlir"))
    for path in cells:
        for target in TARGETS:
            print(f"{path.stem} {target}\n{schedules(path, target)}")


if __name__ == "__main__":
    main()
