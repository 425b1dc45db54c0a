"""A bundle of the compiler: q and kv lengths 3 and 5, against pure Python.

usage: test_compiled.py BUNDLE    (examples/llama3_prefill.mlir for cpu)
"""

import math
import random
import struct
import sys
import unittest
from array import array

from attn_mlir import Bundle, Device, Kernel, Plan, Tensor

from reference import attention, nested

PATH = sys.argv.pop()
ROWS, KEYS = 3, 5
POISON = -12345.0


def to_bf16(value):
    """The 16-bit word nearest to a float."""
    word, = struct.unpack("<I", struct.pack("<f", value))
    return (word + 0x7fff + (word >> 16 & 1)) >> 16


def from_bf16(word):
    return struct.unpack("<f", struct.pack("<I", word << 16))[0]


class Compiled(unittest.TestCase):
    def check(self, element, tolerance):
        source = random.Random(11)
        with Bundle(PATH) as bundle, Device("cpu", threads=2) as device, \
                Kernel(device, bundle, "prefill", element=element) as kernel, Plan(kernel) as plan:
            info, chosen = kernel.info, kernel.specialisation
            self.assertEqual((info.heads, info.kv_heads, info.dim, info.storage),
                             (32, 8, 128, "ragged"))
            self.assertEqual((chosen.target, chosen.element), ("cpu", element))
            words = {"f32": False, "bf16": True}

            def numbers(count):
                values = [source.uniform(-1, 1) for _ in range(count)]
                if words[element]:
                    return array("H", [to_bf16(value) for value in values])
                return array("f", values)

            def plain(data):
                return [from_bf16(word) for word in data] if data.typecode == "H" else list(data)

            # One token more than the request on both sides of the output.
            q, k, v = (numbers(tokens * heads * info.dim) for tokens, heads in (
                (ROWS, info.heads), (KEYS, info.kv_heads), (KEYS, info.kv_heads)))
            size = info.heads * info.dim_v
            o = (array("H", [to_bf16(POISON)]) if words[chosen.output] else array("f", [POISON]))
            o *= (ROWS + 2) * size
            lse = array("f", [POISON]) * ((ROWS + 2) * info.heads)
            item = o.itemsize
            plan.plan([ROWS], [KEYS])
            plan.run(Tensor.of(q).reshape(ROWS, info.heads, info.dim),
                     Tensor.of(k).reshape(KEYS, info.kv_heads, info.dim),
                     Tensor.of(v).reshape(KEYS, info.kv_heads, info.dim),
                     (o.buffer_info()[0] + size * item, (size, info.dim_v, 1)),
                     (lse.buffer_info()[0] + info.heads * 4, (info.heads, 1)))
            expected, expected_lse = attention(
                nested(plain(q), ROWS, info.heads, info.dim),
                nested(plain(k), KEYS, info.kv_heads, info.dim),
                nested(plain(v), KEYS, info.kv_heads, info.dim), 1 / math.sqrt(info.dim),
                lambda query, key: query >= key)
        found = plain(o)
        flat = [value for row in expected for head in row for value in head]
        self.assertEqual(set(found[:size] + found[-size:]), {found[0]})
        self.assertAlmostEqual(found[0], POISON, delta=64)
        error = math.sqrt(sum((a - b) ** 2 for a, b in zip(found[size:-size], flat)))
        norm = math.sqrt(sum(value * value for value in flat))
        self.assertGreater(norm, 1.0)
        self.assertLessEqual(error / norm, tolerance)
        flat_lse = [value for row in expected_lse for value in row]
        for a, b in zip(lse[info.heads:-info.heads], flat_lse):
            self.assertAlmostEqual(a, b, delta=2e-5)
        self.assertEqual(set(lse[:info.heads] + lse[-info.heads:]), {POISON})

    def test_f32(self):
        self.check("f32", 1e-5)

    def test_bf16(self):
        self.check("bf16", 4e-3)


if __name__ == "__main__":
    unittest.main()
