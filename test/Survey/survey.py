"""Cases that are about memory and conventions: run from Python, on the CPU.

usage: survey.py BUNDLE CASE...    (a bundle with @full and @window in f32)

Nothing here knows the oracle: what is right follows from the case.
"""

import ctypes
import math
import mmap
import random
import sys
import unittest
from array import array

from attn_mlir import AttnError, Bundle, Device, Kernel, Plan, Tensor, merge_states

HEADS, KV_HEADS, DIM = 4, 2, 64
PATH = None


def numbers(count, seed):
    source = random.Random(seed)
    return array("f", [source.uniform(-1, 1) for _ in range(count)])


def shaped(data, heads, dim=DIM):
    return Tensor.of(data).reshape(len(data) // (heads * dim), heads, dim)


class Case(unittest.TestCase):
    def setUp(self):
        self.bundle, self.device = Bundle(PATH), Device("cpu", threads=2)
        self.kernel = Kernel(self.device, self.bundle, self.name, element="f32")

    def tearDown(self):
        for handle in (self.kernel, self.device, self.bundle):
            handle.close()

    def run_on(self, q, k, v, q_lens, kv_lens, params=None, **options):
        """(o, lse) as arrays; q, k, v are arrays or anything that Plan.run takes."""
        rows = sum(q_lens)
        o, lse = array("f", [7]) * (rows * HEADS * DIM), array("f", [7]) * (rows * HEADS)
        inputs = [shaped(x, h) if isinstance(x, array) else x
                  for x, h in ((q, HEADS), (k, KV_HEADS), (v, KV_HEADS))]
        with Plan(self.kernel) as plan:
            plan.plan(q_lens, kv_lens, params=params, **options)
            plan.run(*inputs, shaped(o, HEADS), Tensor.of(lse).reshape(rows, HEADS), params=params)
        return o, lse


class T25(Case):
    """Keys and values end where memory ends: a tail of any length reads no further."""
    name = "full"

    @staticmethod
    def at_the_end(data):
        """(pointer, owner) of a copy whose last byte is followed by forbidden memory."""
        page = mmap.PAGESIZE
        size = data.itemsize * len(data)
        space = (size + page - 1) // page * page
        memory = mmap.mmap(-1, space + page)
        base = ctypes.addressof(ctypes.c_char.from_buffer(memory))
        libc = ctypes.CDLL(None, use_errno=True)
        if libc.mprotect(ctypes.c_void_p(base + space), ctypes.c_size_t(page), 0):
            raise OSError(ctypes.get_errno(), "mprotect")
        ctypes.memmove(base + space - size, data.buffer_info()[0], size)
        return base + space - size, memory

    def test(self):
        for keys in (1, 15, 16, 17, 63, 65, 127):
            q, k, v = (numbers(n * DIM, keys) for n in (3 * HEADS, keys * KV_HEADS, keys * KV_HEADS))
            expected = self.run_on(q, k, v, [3], [keys])
            ends = [self.at_the_end(x) for x in (q, k, v)]
            tensors = [(pointer, (heads * DIM, DIM, 1))
                       for (pointer, _), heads in zip(ends, (HEADS, KV_HEADS, KV_HEADS))]
            for split in (0, 16):
                found = self.run_on(*tensors, [3], [keys], split_keys=split)
                error = max(abs(a - b) for a, b in zip(found[0], expected[0]))
                self.assertLess(error, 1e-5, f"{keys} keys, splits of {split}")


class T41(Case):
    """A request gives the same bits alone and in a batch, if its splits are the same."""
    name = "full"

    def test(self):
        lens = [(50, 1500), (3, 70), (1, 1500), (0, 5), (9, 0), (70, 64)]
        data = [[numbers(n * DIM, 100 * r + i) for i, n in enumerate(
            (rows * HEADS, keys * KV_HEADS, keys * KV_HEADS))] for r, (rows, keys) in enumerate(lens)]
        whole = [sum((part[i] for part in data), array("f")) for i in range(3)]
        for split in (64, 333):
            o, lse = self.run_on(*whole, *map(list, zip(*lens)), split_keys=split)
            at = 0
            for (rows, keys), parts in zip(lens, data):
                if rows:
                    alone_o, alone_lse = self.run_on(*parts, [rows], [keys], split_keys=split)
                    self.assertEqual(alone_o, o[at * HEADS * DIM:(at + rows) * HEADS * DIM])
                    self.assertEqual(alone_lse, lse[at * HEADS:(at + rows) * HEADS])
                at += rows


class T47(Case):
    """Heads before tokens, and gaps between rows: strides are honoured."""
    name = "full"

    def test(self):
        keys = 75
        q, k, v = (numbers(n * DIM, n) for n in (2 * HEADS, keys * KV_HEADS, keys * KV_HEADS))
        expected = self.run_on(q, k, v, [2], [keys])

        def heads_first(data, gap):
            step = keys * (DIM + gap)
            result = array("f", [math.nan]) * (KV_HEADS * step)
            for token in range(keys):
                for head in range(KV_HEADS):
                    at = head * step + token * (DIM + gap)
                    source = (token * KV_HEADS + head) * DIM
                    result[at:at + DIM] = data[source:source + DIM]
            return result, (DIM + gap, step, 1)

        for gap in (0, 8):
            (kk, strides), (vv, _) = heads_first(k, gap), heads_first(v, gap)
            found = self.run_on(q, (kk.buffer_info()[0], strides), (vv.buffer_info()[0], strides),
                                [2], [keys])
            self.assertEqual(found, expected)


class T49(Case):
    """LSE is [tokens, heads], packed, natural log: as merge_states takes it."""
    name = "full"

    def test(self):
        for rows in (1, 3):
            keys, half = 90, 40
            q, k, v = (numbers(n * DIM, n) for n in (rows * HEADS, keys * KV_HEADS, keys * KV_HEADS))
            border = half * KV_HEADS * DIM
            o, lse = self.run_on(q, k, v, [rows], [keys], split_keys=16)
            # By hand: row 0 of the last head.
            scores = [sum(q[(HEADS - 1) * DIM + c] * k[(j * KV_HEADS + 1) * DIM + c] for c in range(DIM))
                      / math.sqrt(DIM) for j in range(keys)]
            by_hand = math.log(sum(math.exp(s) for s in scores))
            self.assertAlmostEqual(lse[HEADS - 1], by_hand, delta=2e-5)
            parts = [self.run_on(q, k[a:b], v[a:b], [rows], [n], split_keys=16)
                     for a, b, n in ((0, border, half), (border, len(k), keys - half))]
            merged_o, merged_lse = array("f", o), array("f", lse)

            def state(part):
                return (Tensor.of(part[0]).reshape(rows * HEADS, DIM),
                        Tensor.of(part[1]).reshape(rows * HEADS))

            merge_states([state(part) for part in parts], *state((merged_o, merged_lse)))
            for found, expected in ((merged_o, o), (merged_lse, lse)):
                self.assertLess(max(abs(a - b) for a, b in zip(found, expected)), 2e-5)


class T73(Case):
    """A window of W tokens holds W tokens, the row's own one among them."""
    name = "window"

    def test(self):
        rows = 100
        q, k, v = (numbers(n * DIM, n) for n in (rows * HEADS, rows * KV_HEADS, rows * KV_HEADS))
        o, lse = self.run_on(q, k, v, [rows], [rows], {"tokens": 1})
        group = HEADS // KV_HEADS
        for i in range(rows):
            for h in range(HEADS):
                source = (i * KV_HEADS + h // group) * DIM
                at = (i * HEADS + h) * DIM
                self.assertLess(max(abs(a - b) for a, b in zip(
                    o[at:at + DIM], v[source:source + DIM])), 1e-6)
        # Equal scores: the LSE counts the keys that a row sees.
        for tokens in (1, 2, 32, 100, 1000):
            _, lse = self.run_on(array("f", [0]) * len(q), k, v, [rows], [rows], {"tokens": tokens})
            for i in range(rows):
                self.assertEqual(round(math.exp(lse[i * HEADS])), min(i + 1, tokens))


class T97(Case):
    """Tensors of another head dim or head count are refused, not read in part."""
    name = "full"

    def test(self):
        for dim, heads, text in ((128, HEADS, "q has 128 dims a head but the kernel has 64"),
                                 (DIM, 8, "q has 8 heads but the kernel has 4")):
            q = array("f", [0]) * (2 * heads * dim)
            k = numbers(5 * KV_HEADS * DIM, 1)
            with self.assertRaises(AttnError) as caught:
                self.run_on(shaped(q, heads, dim), k, k, [2], [5])
            self.assertIn(text, caught.exception.text)


if __name__ == "__main__":
    PATH = sys.argv[1]
    del sys.argv[1]
    unittest.main()
