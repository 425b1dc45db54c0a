"""Products, waits and barriers in the PTX of every specialisation, against the schedule.

usage: counts.py OUT TARGET [--exact] PROBLEM...

What a kernel's text must hold follows from its schedule and block map alone:

    loops       one a masked class, one a full class, two where a full class is
                also run with a frozen reference
    warpgroups  the first product of QK and the last of PV stand outside of the
                loops, so there are loops + 1 of each; a product is one fence, dim/16
                or tile_k/16 steps, one commit, and is waited for once; a visit that is
                redone has another QK
    barriers    full and empty for each slot of q, k, v and work; one for rows of V that are
                set to 0; for verdicts one a slot and replica where the kernel speculates
    one role    each loop has both products: steps of 16 x 8 x 16 a warp, of its share of
                the keys where a tile has fewer rows than the warps

With --exact also of softmax = exact.  Prints a line a specialisation; exits with 1 if
one differs.
"""

import re
import subprocess
import sys
from pathlib import Path

from specialisations import depth, field, replicas, specialisations, threads


def classes(problem, target):
    done = subprocess.run(["attnc", str(problem), f"--target={target}", "--emit=block-map"],
                          capture_output=True, text=True, check=True)
    return re.search(r"classes = \[(.*?)\]", done.stdout)[1].split(", ")


def dims(problem):
    """Of key and value, padded to what products take."""
    text = Path(problem).read_text()
    found = [re.search(rf"tensor<{role}, .*?dim = (\d+)", text)[1] for role in ("key", "value")]
    return [-(-int(dim) // 16) * 16 for dim in found]


def wanted(schedule, kinds, dim, dim_v):
    tile_k = int(field(schedule, "tile_k"))
    frozen = field(schedule, "softmax") == "frozen" and "full" in kinds
    loops = kinds.count("partial") + kinds.count("full") * (2 if frozen else 1)
    if "wgmma" not in schedule:
        units, warps = int(field(schedule, "tile_q")) // 16, threads(schedule) // 32
        groups, rows = max(1, warps // units), max(1, units // warps)  # rows of a warp, by 16
        tile_k //= groups
        steps = tile_k // 8 * dim // 16 + dim_v // 8 * tile_k // 16
        return {"mma.sync": loops * steps * rows, "wgmma.mma_async": 0}
    each = loops + 1
    barriers = 2 * sum(depth(schedule, name) for name in ("q", "k", "v", "work")) + 1
    if frozen:
        barriers += replicas(schedule) * depth(schedule, "verdict")
    again = int(frozen and "redo = visit" in schedule)
    issued = 2 * each + again
    return {"wgmma.mma_async": (each * (dim + tile_k) + again * dim) // 16,
            "wgmma.fence": issued, "wgmma.commit_group": issued, "wgmma.wait_group": issued,
            "mma.sync": 0, "mbarrier.init": barriers, "setmaxnreg": 2}


def found(text, names):
    body = text.split(".visible .entry")[1]
    return {name: len(re.findall(rf"\n\s*(?:@!?%p\d+ )?{re.escape(name)}", body))
            for name in names}


def main():
    out, target, *problems = sys.argv[1:]
    exact = "--exact" in problems
    wrong = 0
    for problem in problems[exact:]:
        kinds, (dim, dim_v) = classes(problem, target), dims(problem)
        for softmax in ["", "softmax=exact"][:1 + exact]:
            for schedule, text in specialisations(problem, target, out, softmax):
                want = wanted(schedule, kinds, dim, dim_v)
                have = found(text, want)
                wrong += want != have
                tile = f"{field(schedule, 'tile_q')} x {field(schedule, 'tile_k')}"
                print(f"{Path(problem).stem} {target} {tile} {field(schedule, 'softmax')}:",
                      "as scheduled" if want == have else f"has {have} but needs {want}")
    return wrong > 0


if __name__ == "__main__":
    sys.exit(main())
