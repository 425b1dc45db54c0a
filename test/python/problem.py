"""A batch for the tiny kernel: inputs, poisoned outputs, reference."""

import math
import random
from array import array

from attn_mlir import Tensor

from reference import attention, nested

HEADS, KV_HEADS, DIM = 4, 2, 8
SCALE = 0.35355339
POISON = -12345.0


class Problem:
    """Ragged requests without gaps, or dense with room for `room` more tokens."""

    def __init__(self, q_lens, kv_lens, dense=False, room=0, seed=5):
        self.q_lens, self.kv_lens, self.dense = q_lens, kv_lens, dense
        self.q_most, self.kv_most = max(q_lens, default=0) + room, max(kv_lens, default=0) + room
        batch = len(q_lens)
        q_tokens = batch * self.q_most if dense else sum(q_lens) + room
        kv_tokens = batch * self.kv_most if dense else sum(kv_lens) + room
        source = random.Random(seed)

        def numbers(count):
            return array("f", [source.uniform(-2, 2) for _ in range(count)])

        # What lies outside the requests is never read: NaN there would be seen.
        self.q = array("f", [math.nan]) * (q_tokens * HEADS * DIM)
        self.k = array("f", [math.nan]) * (kv_tokens * KV_HEADS * DIM)
        self.v = array("f", [math.nan]) * (kv_tokens * KV_HEADS * DIM)
        for r in range(batch):
            for data, at, count, heads in ((self.q, self.q_at(r), q_lens[r], HEADS),
                                           (self.k, self.kv_at(r), kv_lens[r], KV_HEADS),
                                           (self.v, self.kv_at(r), kv_lens[r], KV_HEADS)):
                step = heads * DIM
                data[at * step:(at + count) * step] = numbers(count * step)
        self.o = array("f", [POISON]) * len(self.q)
        self.lse = array("f", [POISON]) * (q_tokens * HEADS)
        self.temp = array("f", [0.5, 1.0, 1.5, 2.0])

    def q_at(self, r):
        """First q token of request r in the storage."""
        return r * self.q_most if self.dense else sum(self.q_lens[:r])

    def kv_at(self, r):
        return r * self.kv_most if self.dense else sum(self.kv_lens[:r])

    def shaped(self, data, *tail):
        """A tensor of the storage's shape."""
        tokens = len(data)
        for extent in tail:
            tokens //= extent
        lead = (len(self.q_lens), tokens // max(1, len(self.q_lens))) if self.dense else (tokens,)
        return Tensor.of(data).reshape(*lead, *tail)

    def tensors(self):
        """q, k, v, o, lse for Plan.run."""
        return (self.shaped(self.q, HEADS, DIM), self.shaped(self.k, KV_HEADS, DIM),
                self.shaped(self.v, KV_HEADS, DIM), self.shaped(self.o, HEADS, DIM),
                self.shaped(self.lse, HEADS))

    def check(self, test, scale=SCALE, bias=0.0, window=1 << 30, lse=True):
        """Every row, and the poison outside the requests."""
        outside = set(range(len(self.lse)))
        for r, (rows, keys) in enumerate(zip(self.q_lens, self.kv_lens)):
            def part(data, at, count, heads):
                step = heads * DIM
                return nested(data[at * step:(at + count) * step], count, heads, DIM)

            expected, expected_lse = attention(
                part(self.q, self.q_at(r), rows, HEADS),
                part(self.k, self.kv_at(r), keys, KV_HEADS),
                part(self.v, self.kv_at(r), keys, KV_HEADS), scale,
                lambda q, k: q >= k and q - k < window, lambda s, h: s * self.temp[h] + bias)
            for i in range(rows):
                for h in range(HEADS):
                    row = (self.q_at(r) + i) * HEADS + h
                    outside.discard(row)
                    found = self.o[row * DIM:(row + 1) * DIM]
                    for a, b in zip(found, expected[i][h]):
                        test.assertAlmostEqual(a, b, delta=2e-5, msg=f"request {r} row {i} head {h}")
                    if not lse:
                        test.assertEqual(self.lse[row], POISON)
                    elif expected_lse[i][h] == -math.inf:
                        test.assertEqual(self.lse[row], -math.inf)
                    else:
                        test.assertAlmostEqual(self.lse[row], expected_lse[i][h], delta=2e-5)
        for row in outside:
            test.assertEqual(list(self.o[row * DIM:(row + 1) * DIM]), [POISON] * DIM)
            test.assertEqual(self.lse[row], POISON)
