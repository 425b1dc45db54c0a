"""The worked SM90 prefill against a reference, in the emulator.

usage: check_sm90.py PREFILL.ptx [--seed=N] [--scale=X]

Causal, head dim 128, four query heads on each of two KV heads, ragged requests
with NaN behind them.  Two CTAs take items from the queue one after the other.
A large scale makes the frozen reference fail, so that items are redone.
"""

import argparse
import math
import random
import struct
import sys
from array import array

from check_prefill import Memory, attention
from ptx_emulator import from_half, to_half
from ptx_hopper import HopperMachine, tensor_map

DIM, GROUP, KV_HEADS, TILE_Q, TILE_K = 128, 4, 2, 128, 128
HEADS = GROUP * KV_HEADS
THREADS, SHARED, PARAMS = 384, 196960, 640
REQUESTS = [(3, 5), (20, 300), (2, 0), (6, 4)]  # query and key tokens


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("ptx")
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument("--scale", type=float, default=1 / math.sqrt(DIM))
    parser.add_argument("--requests", type=lambda s: [tuple(map(int, r.split("/"))) for r in s.split(",")],
                        default=REQUESTS)
    options = parser.parse_args()
    random.seed(options.seed)
    queries = sum(r[0] for r in options.requests)
    tokens = sum(r[1] for r in options.requests)

    def tensor(rows, spread):
        bits = to_half([random.gauss(0, spread) for _ in range(rows * DIM)], "bf16")
        return array("H", bits), [list(map(float, from_half(bits[r * DIM:(r + 1) * DIM], "bf16")))
                                  for r in range(rows)]
    q_bits, q = tensor(queries * HEADS, 1.0)
    k_bits, k = tensor(tokens * KV_HEADS, 1.0)
    v_bits, v = tensor(tokens * KV_HEADS, 1.0)
    memory = Memory(1 << 22)
    poison = b"\xff" * (2 * TILE_K * KV_HEADS * DIM)
    q_at, k_at, v_at = (memory.add(bits.tobytes() + poison) for bits in (q_bits, k_bits, v_bits))
    out = memory.add(b"\xff" * (2 * queries * HEADS * DIM))
    lse = memory.add(b"\xff" * (4 * queries * HEADS))
    items, records, q_begin, kv_begin = b"", b"", 0, 0
    count = 0
    for request, (q_len, kv_len) in enumerate(options.requests):
        records += struct.pack("<4i", q_begin, q_len, kv_begin, kv_len)
        q_begin, kv_begin = q_begin + q_len, kv_begin + kv_len
        for row0 in reversed(range(0, q_len * GROUP, TILE_Q)):
            for head in range(KV_HEADS):
                items += struct.pack("<8i", request, head, row0, min(TILE_Q, q_len * GROUP - row0),
                                     0, kv_len, -1, 0)
                count += 1
    header = struct.pack("<16I", 0, count, 0, len(options.requests), 0, 0, 0, 0, 64, 0,
                         64 + len(items), 0, 0, 0, 0, 0)
    plan = memory.add(header + items + records)
    strides = [0, HEADS * DIM, DIM] + [0, KV_HEADS * DIM, DIM] * 2 + [0, HEADS * DIM, DIM] + \
        [0, HEADS, 1]
    params = struct.pack("<8Q15q2ifi", q_at, k_at, v_at, out, lse, plan, 0, 0, *strides, HEADS,
                         KV_HEADS, options.scale, 0).ljust(256, b"\0")
    params += tensor_map(q_at, (DIM, GROUP, queries, KV_HEADS, 1),
                         (1, DIM, HEADS * DIM, GROUP * DIM, 0), (64, GROUP, TILE_Q // GROUP, 1, 1))
    for at in (k_at, v_at):
        # The extent is longer than the tokens: what lies behind is NaN.
        params += tensor_map(at, (DIM, tokens + TILE_K, KV_HEADS, 1), (1, KV_HEADS * DIM, DIM, 0),
                             (64, TILE_K, 1, 1))
    assert len(params) == PARAMS

    with open(options.ptx) as ptx:
        machine = HopperMachine(ptx.read(), "prefill", THREADS, SHARED)
    for cta in range(2):
        machine.run(cta, 2, params, memory.data)
    assert memory.words(plan + 48, 2, "I").tolist() == [0, 0], "the queue was not reset"

    bits = memory.words(out, queries * HEADS * DIM, "H")
    lses = memory.words(lse, queries * HEADS, "f")
    error = norm = 0.0
    row = kv_begin = 0
    for q_len, kv_len in options.requests:
        for token in range(q_len):
            visible = kv_begin + max(0, token + kv_len - q_len + 1)
            for head in range(HEADS):
                keys = [x[t * KV_HEADS + head // GROUP] for x in (k, v)
                        for t in range(kv_begin, visible)]
                half = len(keys) // 2
                ref, ref_lse = attention(q[row], keys[:half], keys[half:], options.scale)
                got = from_half(bits[row * DIM:(row + 1) * DIM], "bf16")
                if ref_lse == -math.inf:
                    assert lses[row] == -math.inf and not any(got), f"row {row} is not empty"
                else:
                    limit = 1e-4 + 2e-6 * abs(ref_lse)
                    assert abs(lses[row] - ref_lse) < limit, f"lse of row {row}: {lses[row]}"
                error += sum((x - y) ** 2 for x, y in zip(got, ref))
                norm += sum(y ** 2 for y in ref)
                row += 1
        kv_begin += kv_len
    error = math.sqrt(error / norm)
    products = sum(n for op, n in machine.executed.items() if op.startswith("wgmma.mma"))
    print(f"relative error {error:.1e}, {products} products: {'good' if error < 4e-3 else 'bad'}")
    return 0 if error < 4e-3 else 1


if __name__ == "__main__":
    sys.exit(main())
