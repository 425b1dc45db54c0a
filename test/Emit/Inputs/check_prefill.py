"""Runs the kernel of prefill-sm80.mlir in the emulator and compares it with
attention in double precision.

usage: check_prefill.py PTX

One request of 20 query tokens and 70 keys, one KV head with four query heads:
80 rows of one tile, one masked and one full block of keys.  It runs unsplit and
as two slices that are merged here.  A request of 3 tokens and 2 keys has an empty
row.
"""

import math
import random
import struct
import sys
from array import array

from ptx_emulator import Machine, from_half, to_half

DIM, GROUP, TILE_Q = 128, 4, 128
REQUESTS = [(20, 70), (3, 2)]  # query tokens, keys
# request, head, first row, rows, keys from, to, slot, flags
ITEMS = [(0, 0, 0, 80, 0, 70, -1, 0), (1, 0, 0, 12, 0, 2, -1, 0),
         (0, 0, 0, 80, 0, 64, 0, 0), (0, 0, 0, 80, 64, 70, 1, 0)]


class Memory:
    def __init__(self, size):
        self.data = bytearray(b"\xff" * size)  # NaN in every type
        self.end = 4096

    def add(self, content):
        begin = self.end
        self.data[begin:begin + len(content)] = content
        self.end += (len(content) + 511) // 256 * 256
        return begin

    def words(self, begin, count, code):
        values = array(code)
        values.frombytes(bytes(self.data[begin:begin + count * values.itemsize]))
        return values


def attention(q, keys, values, scale):
    if not keys:
        return [0.0] * DIM, -math.inf
    scores = [scale * sum(map(float.__mul__, q, k)) for k in keys]
    top = max(scores)
    weights = [math.exp(s - top) for s in scores]
    total = sum(weights)
    out = [sum(w * v[d] for w, v in zip(weights, values)) / total for d in range(DIM)]
    return out, top + math.log(total)


def main():
    random.seed(1)
    queries = sum(r[0] for r in REQUESTS)
    tokens = sum(r[1] for r in REQUESTS)

    def tensor(rows, spread):
        bits = to_half([random.gauss(0, spread) for _ in range(rows * DIM)], "bf16")
        return array("H", bits), [list(map(float, from_half(bits[r * DIM:(r + 1) * DIM], "bf16")))
                                  for r in range(rows)]
    q_bits, q = tensor(queries * GROUP, 1.0)
    k_bits, k = tensor(tokens, 2.0)
    v_bits, v = tensor(tokens, 1.0)

    memory = Memory(1 << 20)
    pointers = [memory.add(bits.tobytes()) for bits in (q_bits, k_bits, v_bits)]
    out = memory.add(b"\xff" * (2 * queries * GROUP * DIM))
    lse = memory.add(b"\xff" * (4 * queries * GROUP))
    header = struct.pack("<16I", 0, len(ITEMS), 0, len(REQUESTS), 0, 0, 0, 2, 64, 0,
                         64 + 32 * len(ITEMS), 0, 0, 0, 0, 0)
    records, q_begin, kv_begin = b"", 0, 0
    for q_len, kv_len in REQUESTS:
        records += struct.pack("<4i", q_begin, q_len, kv_begin, kv_len)
        q_begin, kv_begin = q_begin + q_len, kv_begin + kv_len
    plan = memory.add(header + b"".join(struct.pack("<8i", *i) for i in ITEMS) + records)
    partial_o = memory.add(b"\xff" * (4 * 2 * TILE_Q * DIM))
    partial_rows = memory.add(b"\xff" * (4 * 2 * 2 * TILE_Q))
    scale = 1 / math.sqrt(DIM)
    strides = [0, GROUP * DIM, DIM] + [0, DIM, DIM] * 2 + [0, GROUP * DIM, DIM] + [0, GROUP, 1]
    params = struct.pack("<8Q15q2ifi", *pointers, out, lse, plan, partial_o, partial_rows,
                         *strides, GROUP, 1, scale, 0)

    with open(sys.argv[1]) as ptx:
        machine = Machine(ptx.read(), "prefill", 256, 98304)
    ctas = 2
    for cta in range(ctas):
        machine.run(cta, ctas, params, memory.data)

    rows = queries * GROUP
    bits = memory.words(out, rows * DIM, "H")
    lses = memory.words(lse, rows, "f")
    slots = memory.words(partial_o, 2 * TILE_Q * DIM, "f")
    slot_rows = memory.words(partial_rows, 2 * 2 * TILE_Q, "f")
    error = merged_error = norm = 0.0
    row = kv_begin = 0
    for request, (q_len, kv_len) in enumerate(REQUESTS):
        for token in range(q_len):
            visible = kv_begin + max(0, token + kv_len - q_len + 1)
            for head in range(GROUP):
                ref, ref_lse = attention(q[row], k[kv_begin:visible], v[kv_begin:visible], scale)
                got = from_half(bits[row * DIM:(row + 1) * DIM], "bf16")
                if ref_lse == -math.inf:
                    assert lses[row] == -math.inf and not any(got), f"row {row} is not empty"
                else:
                    assert abs(lses[row] - ref_lse) < 1e-4, f"lse of row {row}: {lses[row]}"
                error += sum((x - y) ** 2 for x, y in zip(got, ref))
                norm += sum(y ** 2 for y in ref)
                if request == 0:
                    weights = [math.exp(slot_rows[s * 2 * TILE_Q + row] * scale - ref_lse)
                               for s in range(2)]
                    total = sum(w * slot_rows[(s * 2 + 1) * TILE_Q + row]
                                for s, w in enumerate(weights))
                    assert abs(total - 1) < 1e-4, f"partial sums of row {row}"
                    parts = [slots[(s * TILE_Q + row) * DIM:(s * TILE_Q + row + 1) * DIM]
                             for s in range(2)]
                    merged_error += sum((weights[0] * x + weights[1] * y - z) ** 2
                                        for x, y, z in zip(*parts, ref))
                row += 1
        kv_begin += kv_len
    # Rows of a slot past the item's are not written.
    assert math.isnan(slots[80 * DIM]) and math.isnan(slot_rows[80])
    error, merged_error = math.sqrt(error / norm), math.sqrt(merged_error / norm)
    good = error < 4e-3 and merged_error < 4e-3
    print(f"relative error {error:.1e}, merged {merged_error:.1e}: {'good' if good else 'bad'}")
    return 0 if good else 1


if __name__ == "__main__":
    sys.exit(main())
