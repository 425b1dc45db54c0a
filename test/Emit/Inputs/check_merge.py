"""Runs a merge kernel in the emulator and compares it with sums of weighted partials
in double precision.

usage: check_merge.py PTX DIM TILE_Q THREADS

Two requests of dense storage and three heads.  One merge has a whole tile and a bit
and three partials, the other five rows and two; a row may be empty in one partial or
in all.  References are near each other and small, but for some rows: near 1e6, where a
rounded product with the factor decides, and near the lowest score, where all are equal
or one is a step above.  What is not live is not written.
"""

import math
import random
import struct
import sys
from array import array

from check_prefill import Memory
from ptx_emulator import Machine, from_half

HEADS = 3


SCALE = 0.5
LOWEST = -1e38
FAR = 2.0 ** 29


def single(x):
    """x as an f32."""
    return struct.unpack("<f", struct.pack("<f", x))[0]


FACTOR = single(SCALE * single(math.log2(math.e)))


def merged(parts, references, sums):
    """O, not yet divided, m and l of one row in its partials."""
    top = max(references)
    if top == -math.inf:
        return [0.0] * len(parts[0]), -math.inf
    # What an exponential by m subtracts.
    exponents = [single(FACTOR * m) for m in references]
    if abs(FACTOR * top) < FAR:
        weights = [2.0 ** (e - single(FACTOR * top)) for e in exponents]
    else:
        weights = [2.0 ** max(FACTOR * (m - top), -2000) for m in references]
    total = sum(w * l for w, l in zip(weights, sums))
    row = [sum(w * p for w, p in zip(weights, column)) / total for column in zip(*parts)]
    return row, (single(FACTOR * top) + math.log2(total)) * math.log(2)


def main():
    ptx, dim, tile_q, threads = sys.argv[1], *map(int, sys.argv[2:])
    random.seed(1)
    tokens, slots = 2 * tile_q, 5
    # request, head, first row, rows, first slot, partials
    merges = [(0, 1, tile_q, tile_q - 51, 2, 3), (1, 2, 0, 5, 0, 2)]
    partials = array("f", [random.gauss(0, 1) for _ in range(slots * tile_q * dim)])
    references = array("f", [random.gauss(0, 3) for _ in range(slots * tile_q)])
    sums = array("f", [random.uniform(1, 100) for _ in range(slots * tile_q)])
    for slot in range(2, 5):
        for row in range(8, 12):
            references[slot * tile_q + row] = 1e6 + 0.0625 * slot
        for row in range(12, 16):
            references[slot * tile_q + row] = LOWEST
    for row in range(14, 16):
        references[3 * tile_q + row] = LOWEST * (1 - 2 ** -22)

    def empty(slot, row):
        at = slot * tile_q + row
        references[at], sums[at] = -math.inf, 0
        partials[at * dim:(at + 1) * dim] = array("f", [0.0] * dim)
    empty(3, 7)
    for slot in range(2, 5):
        empty(slot, 40)

    memory = Memory(1 << 22)
    rows = 2 * tokens * HEADS
    out = memory.add(b"\xff" * (2 * rows * dim))
    lse = memory.add(b"\xff" * (4 * rows))
    header = struct.pack("<16I", 0, 0, len(merges), 2, 0, 0, 0, slots, 64, 64,
                         64 + 32 * len(merges), 0, 0, 0, 0, 0)
    plan = memory.add(header + b"".join(struct.pack("<8i", *m, 0, 0) for m in merges) +
                      struct.pack("<4i", 0, tokens, 0, 999) * 2)
    slot_rows = b"".join(part[s * tile_q:(s + 1) * tile_q].tobytes()
                         for s in range(slots) for part in (references, sums))
    partial_o, partial_rows = memory.add(partials.tobytes()), memory.add(slot_rows)
    strides = [tokens * HEADS * dim, HEADS * dim, dim] * 4 + [tokens * HEADS, HEADS, 1]
    params = struct.pack("<8Q15q2ifi", 0, 0, 0, out, lse, plan, partial_o, partial_rows,
                         *strides, HEADS, HEADS, SCALE, 0)
    with open(ptx) as text:
        machine = Machine(text.read(), "prefill_merge", threads, 0)
    for cta in range(2):
        machine.run(cta, 2, params, memory.data)

    bits, got_lses = memory.words(out, rows * dim, "H"), memory.words(lse, rows, "f")
    error = norm = 0.0
    written = 0
    for request, head, row0, count, first, parts in merges:
        for row in range(count):
            at = (request * tokens + row0 + row) * HEADS + head
            places = [slot * tile_q + row for slot in range(first, first + parts)]
            ref, ref_lse = merged([partials[p * dim:(p + 1) * dim] for p in places],
                                  [references[p] for p in places], [sums[p] for p in places])
            got = from_half(bits[at * dim:(at + 1) * dim], "bf16")
            if ref_lse == -math.inf:
                assert got_lses[at] == -math.inf and not any(got), f"row {row} is not empty"
            else:
                limit = max(1e-4, 2e-7 * abs(ref_lse))
                assert abs(got_lses[at] - ref_lse) < limit, f"lse of row {row}: {got_lses[at]}"
            own = math.dist(got, ref) / (math.hypot(*ref) or 1)
            assert own < 1e-2, f"row {row} is off by {own:.1e}"
            error += sum((x - y) ** 2 for x, y in zip(got, ref))
            norm += sum(y ** 2 for y in ref)
            written += 1
    untouched = sum(x == 0xFFFF for x in bits)
    assert untouched == (rows - written) * dim, f"{untouched} elements are not written"
    assert sum(map(math.isnan, got_lses)) == rows - written
    error = math.sqrt(error / norm)
    good = error < 4e-3
    print(f"relative error {error:.1e}: {'good' if good else 'bad'}")
    return 0 if good else 1


if __name__ == "__main__":
    sys.exit(main())
