"""A compiled kernel of any head dims against a reference, in the emulator.

usage: check_dims.py TARGET DIM DIM_V [--schedule=FIELDS] [--queries=N] [--keys=N]
                     [--edit=REGEX=>TEXT]

Causal, two query heads on one KV head, one request.  The kernel runs whole and in two
slices, which its merge kernel joins.  Rows lie 8 elements apart with NaN between them:
a column that is read behind a head dim spoils the result, one that is written there is
seen.  --edit replaces parts of the fragments' text, to see that the check finds it.
"""

import argparse
import math
import random
import re
import struct
import subprocess
import sys
import tempfile
from array import array

from check_prefill import Memory
from ptx_emulator import Machine, from_half, to_half
from ptx_hopper import HopperMachine, tensor_map

GROUP, GAP = 2, 8
TEXT = """\
!Q = !attn.tensor<query, bf16, heads = {h}, dim = {d}, ragged>
!K = !attn.tensor<key, bf16, heads = 1, dim = {d}, ragged>
!V = !attn.tensor<value, bf16, heads = 1, dim = {dv}, ragged>
!O = !attn.tensor<output, bf16, heads = {h}, dim = {dv}, ragged>
!L = !attn.tensor<lse, f32, heads = {h}, dim = 1, ragged>
attn.variant @v {{
  attn.hook mask(%b, %h, %q, %k) {{
    %visible = arith.cmpi sge, %q, %k : i32
    attn.yield %visible : i1
  }}
}}
attn.kernel @prefill(%q: !Q, %k: !K, %v: !V, %scale: f32) {{
  %o, %lse = attn.attention %q, %k, %v, %scale variant(@v) : (!Q, !K, !V) -> (!O, !L)
  attn.return %o, %lse : !O, !L
}}
"""


class Compiled:
    def __init__(self, options):
        with tempfile.NamedTemporaryFile("w", suffix=".mlir") as file:
            file.write(TEXT.format(h=GROUP, d=options.dim, dv=options.dim_v))
            file.flush()
            command = ["attnc", file.name, f"--target={options.target}"]
            command += [f"--schedule={options.schedule}"] * bool(options.schedule)
            self.schedule, self.frag = (self.output([*command, f"--emit={what}"])
                                        for what in ("schedule", "frag"))
        if options.edit:
            before, _, after = options.edit.partition("=>")
            assert re.search(before, self.frag), f"the fragments have no '{before}'"
            self.frag = re.sub(before, after, self.frag)
        self.ptx = self.output(["attn-translate", "--attn-to-ptx", f"--attn-target={options.target}"],
                               self.frag)
        self.hopper = options.target == "sm_90a"

    @staticmethod
    def output(command, text=None):
        return subprocess.run(command, input=text, check=True, capture_output=True, text=True).stdout

    def kernel(self, name):
        threads, shared = re.search(rf"frag.kernel @{name} .*?threads (\d+) smem (\d+)",
                                    self.frag).groups()
        make = HopperMachine if self.hopper else Machine
        return make(self.ptx, name, int(threads), int(shared))

    def maps(self, at, shapes):
        """The tensor maps behind the parameters, by the recipes in the text."""
        found = re.findall(r'frag.tmap "(\w)" at (\d+) dims \[(.*?)\].*?<([\dx]+)xbf16', self.frag)
        maps = {}
        for name, offset, dims, box in found:
            extents, strides = zip(*[shapes[name][dim.strip('" ')] for dim in dims.split(",")])
            maps[int(offset)] = tensor_map(at[name], extents, strides, tuple(map(int, box.split("x"))))
        return maps


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("target")
    parser.add_argument("dim", type=int)
    parser.add_argument("dim_v", type=int)
    parser.add_argument("--schedule", default="")
    parser.add_argument("--queries", type=int, default=20)
    parser.add_argument("--keys", type=int, default=70)
    parser.add_argument("--edit", default="")
    options = parser.parse_args()
    random.seed(1)
    compiled = Compiled(options)
    dim, dim_v = options.dim, options.dim_v
    queries, keys = options.queries, options.keys
    cut = keys * 3 // 4 // 16 * 16
    memory = Memory(1 << 20)

    def tensor(rows, width):
        """Address, pitch and rows of a tensor; memory is NaN where nothing is."""
        bits = [to_half([random.gauss(0, 1) for _ in range(width)], "bf16") for _ in range(rows)]
        content = b"".join(array("H", row).tobytes() + b"\xff" * (2 * GAP) for row in bits)
        return memory.add(content), [list(map(float, from_half(row, "bf16"))) for row in bits]
    q_at, q = tensor(queries * GROUP, dim)
    k_at, k = tensor(keys, dim)
    v_at, v = tensor(keys, dim_v)
    rows, pitch, pitch_v = queries * GROUP, dim + GAP, dim_v + GAP
    out, lse = memory.add(b"\xff" * (2 * rows * pitch_v)), memory.add(b"\xff" * (4 * rows))
    tile_q = int(re.search(r"tile_q = (\d+)", compiled.schedule)[1])
    assert tile_q >= rows, "one tile holds all rows"
    partial_o = memory.add(b"\xff" * (4 * 2 * tile_q * dim_v))
    partial_rows = memory.add(b"\xff" * (4 * 2 * 2 * tile_q))
    strides = [0, GROUP * pitch, pitch, 0, pitch, pitch, 0, pitch_v, pitch_v,
               0, GROUP * pitch_v, pitch_v, 0, GROUP, 1]
    shapes = {
        "q": {"dim": (dim, 1), "group": (GROUP, pitch), "token": (queries, GROUP * pitch),
              "head": (1, 8), "batch": (1, 8)},
        "k": {"dim": (dim, 1), "token": (keys, pitch), "head": (1, 8), "batch": (1, 8)},
        "v": {"dim": (dim_v, 1), "token": (keys, pitch_v), "head": (1, 8), "batch": (1, 8)}}
    maps = compiled.maps({"q": q_at, "k": k_at, "v": v_at}, shapes)

    def run(name, items, merges):
        header = struct.pack("<16I", 0, len(items), len(merges), 1, 0, 0, 0, 2, 64, 64 + 32 * len(items),
                             64 + 32 * (len(items) + len(merges)), 0, 0, 0, 0, 0)
        plan = memory.add(header + b"".join(struct.pack("<8i", *i) for i in items + merges) +
                          struct.pack("<4i", 0, queries, 0, keys))
        params = struct.pack("<8Q15q2ifi", q_at, k_at, v_at, out, lse, plan, partial_o, partial_rows,
                             *strides, GROUP, 1, 1 / math.sqrt(dim), 0)
        for at, data in sorted(maps.items()):
            params = params.ljust(at, b"\0") + data
        machine = compiled.kernel(name)
        ctas = max(1, len(items) + len(merges))
        for cta in range(ctas):
            machine.run(cta, ctas, params, memory.data)

    def error():
        """Of the output; NaN where nothing was written and between the rows."""
        bits = memory.words(out, rows * pitch_v, "H")
        lses = memory.words(lse, rows, "f")
        wrong = norm = 0.0
        for row in range(rows):
            visible = row // GROUP + keys - queries + 1
            scores = [sum(map(float.__mul__, q[row], key)) / math.sqrt(dim) for key in k[:visible]]
            top = max(scores)
            weights = [math.exp(s - top) for s in scores]
            total = sum(weights)
            got = from_half(bits[row * pitch_v:row * pitch_v + dim_v], "bf16")
            for column in range(dim_v):
                ref = sum(w * value[column] for w, value in zip(weights, v)) / total
                wrong += (got[column] - ref) ** 2
                norm += ref ** 2
            assert abs(lses[row] - top - math.log(total)) < 1e-4, f"lse of row {row} is {lses[row]}"
            gap = bits[row * pitch_v + dim_v:(row + 1) * pitch_v]
            assert all(x == 0xFFFF for x in gap), f"row {row} is written past {dim_v} columns"
        return math.sqrt(wrong / norm)

    run("prefill", [(0, 0, 0, rows, 0, keys, -1, 0)], [])
    whole = error()
    for at, size in ((out, 2 * rows * pitch_v), (lse, 4 * rows)):
        memory.data[at:at + size] = b"\xff" * size
    run("prefill", [(0, 0, 0, rows, 0, cut, 0, 0), (0, 0, 0, rows, cut, keys, 1, 0)], [])
    slots = memory.words(partial_o, 2 * tile_q * dim_v, "f")
    for slot in range(2):
        live = slots[slot * tile_q * dim_v:(slot * tile_q + rows) * dim_v]
        dead = slots[(slot * tile_q + rows) * dim_v:(slot + 1) * tile_q * dim_v]
        assert not any(map(math.isnan, live)) and all(map(math.isnan, dead)), f"slot {slot}"
    run("prefill_merge", [], [(0, 0, 0, rows, 0, 2, 0, 0)])
    merged = error()
    good = whole < 4e-3 and merged < 4e-3
    print(f"relative error {whole:.1e}, merged {merged:.1e}: {'good' if good else 'bad'}")
    return 0 if good else 1


if __name__ == "__main__":
    sys.exit(main())
