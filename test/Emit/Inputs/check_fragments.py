"""Small GEMM kernels in every swizzle, order and element type, in the emulator.

usage: check_fragments.py ATTN-TRANSLATE

Each kernel copies A and B to shared memory (the last rows are not valid and must
read as 0), loads C, computes C + A B + (col - row), stores it in f32 and in 16
bits, and stores 8 * maximum + sum of each row.
"""

import math
import random
import struct
import subprocess
import sys
from array import array

from check_prefill import Memory
from ptx_emulator import Machine, from_half, to_half

# warps, rows / (16 warps), K, N, element, swizzles of A and B, order of B, slots of B, C
CONFIGURATIONS = [
    (1, 1, 64, 64, "bf16", 128, 128, "nk", 1, False),
    (2, 1, 128, 64, "f16", 128, 128, "nk", 2, True),
    (4, 1, 64, 128, "bf16", 128, 128, "kn", 3, True),
    (1, 2, 32, 32, "bf16", 64, 64, "nk", 1, True),
    (1, 1, 32, 32, "f16", 64, 64, "kn", 2, False),
    (2, 1, 16, 32, "bf16", 32, 32, "nk", 1, False),
    (1, 1, 64, 32, "bf16", 0, 0, "nk", 1, False),
    (1, 1, 64, 32, "bf16", 0, 0, "kn", 1, False),
    (8, 1, 16, 128, "f16", 32, 128, "kn", 2, True),
]


def kernel(warps, repeat, k, n, element, swizzle_a, swizzle_b, order, slots, with_c):
    m = 16 * warps * repeat
    b_rows, b_cols = (n, k) if order == "nk" else (k, n)
    b_offset = (2 * m * k + 1023) // 1024 * 1024
    shared = b_offset + 2 * b_rows * b_cols * slots

    def layout(atom):
        return f'#frag.layout<"{atom}", warps = {warps}>'

    def vec(kind, partial=""):
        return f'!frag.vec<{m}x{kind}, {layout("mma_c")}{partial}>'
    a_tile = f'!frag.reg<{m}x{k}x{element}, {layout("mma_a")}>'
    c_tile = f'!frag.reg<{m}x{n}xf32, {layout("mma_c")}>'
    h_tile = f'!frag.reg<{m}x{n}x{element}, {layout("mma_c")}>'
    a_ring = f"!frag.ring<{m}x{k}x{element}, swizzle = {swizzle_a}, slots = 1>"
    b_ring = f"!frag.ring<{b_rows}x{b_cols}x{element}, swizzle = {swizzle_b}, slots = {slots}>"
    # Once around the ring and one slot more.
    steps = "\n".join(f"  %p{i + 1} = frag.next %p{i} : !frag.pos<slots = {slots}>"
                      for i in range(slots + 1))
    b_pos = f"%p{slots + 1}"

    def copy(base, ring, ring_type, pos, width, rows):
        return f"""  frag.cp_async {base} into {ring}[{pos}] row (%r) : !frag.ptr<{element}>, {ring_type} {{
    %width = arith.constant {width} : i64
    %wide = arith.extsi %r : i32 to i64
    %offset = arith.muli %wide, %width : i64
    %valid = arith.cmpi slt, %r, {rows} : i32
    frag.yield %offset, %valid : i64, i1
  }}"""
    text = f"""frag.kernel @gemm threads {32 * warps} smem {shared} params 200 {{
  %a = frag.param "a" at 0 : !frag.ptr<{element}>
  %b = frag.param "b" at 8 : !frag.ptr<{element}>
  %c = frag.param "c" at 16 : !frag.ptr<f32>
  %d = frag.param "d" at 24 : !frag.ptr<f32>
  %h = frag.param "h" at 32 : !frag.ptr<{element}>
  %s = frag.param "s" at 40 : !frag.ptr<f32>
  %a_rows = frag.param "a_rows" at 48 : i32
  %b_rows = frag.param "b_rows" at 52 : i32
  %a_ring = frag.smem "a" at 0 : {a_ring}
  %b_ring = frag.smem "b" at {b_offset} : {b_ring}
  %pa = frag.pos phase 0 : !frag.pos<slots = 1>
  %p0 = frag.pos phase 0 : !frag.pos<slots = {slots}>
{steps}
{copy("%a", "%a_ring", a_ring, "%pa", k, "%a_rows")}
{copy("%b", "%b_ring", b_ring, b_pos, b_cols, "%b_rows")}
  frag.cp_async_commit
  frag.cp_async_wait pending 0
  frag.cta_sync
  %live = frag.map () at (%r) -> {vec("i1")} {{
    %x = arith.cmpi slt, %r, %a_rows : i32
    frag.yield %x : i1
  }}
  %offsets = frag.map () at (%r) -> {vec("i64")} {{
    %n = arith.constant {n} : i64
    %wide = arith.extsi %r : i32 to i64
    %x = arith.muli %wide, %n : i64
    frag.yield %x : i64
  }}
  %rows = frag.map () at (%r) -> {vec("i64")} {{
    %x = arith.extsi %r : i32 to i64
    frag.yield %x : i64
  }}
  %C = frag.load %c, %offsets, %live : !frag.ptr<f32>, {vec("i64")}, {vec("i1")} -> {c_tile}
  %A = frag.ldmatrix %a_ring[%pa] : {a_ring} -> {a_tile}
  %D0 = frag.mma "mma.m16n8k16" {order} %A, %b_ring[{b_pos}] {"acc %C" if with_c else ""} : {a_tile}, {b_ring} {"acc " + c_tile if with_c else ""} -> {c_tile}
  %D = frag.map (%x = %D0 : {c_tile}) at (%r, %col) -> {c_tile} {{
    %diagonal = arith.subi %col, %r : i32
    %f = arith.sitofp %diagonal : i32 to f32
    %y = arith.addf %x, %f : f32
    frag.yield %y : f32
  }}
  frag.store %D, %d, %offsets, %live : {c_tile}, !frag.ptr<f32>, {vec("i64")}, {vec("i1")}
  %H = frag.pack %D : {c_tile} -> {h_tile}
  frag.store %H, %h, %offsets, %live : {h_tile}, !frag.ptr<{element}>, {vec("i64")}, {vec("i1")}
  %max = frag.reduce_row max row %D : {c_tile} -> {vec("f32")}
  %share = frag.reduce_row sum thread %D : {c_tile} -> {vec("f32", ", partial")}
  %sum = frag.reduce_quad %share : {vec("f32", ", partial")} -> {vec("f32")}
  %both = frag.map (%x = %max : {vec("f32")}, %y = %sum : {vec("f32")}) at (%r) -> {vec("f32")} {{
    %eight = arith.constant 8.0 : f32
    %z = math.fma %x, %eight, %y : f32
    frag.yield %z : f32
  }}
  frag.store_vec %both, %s, %rows, %live : {vec("f32")}, !frag.ptr<f32>, {vec("i64")}, {vec("i1")}
  frag.return
}}
"""
    return text, m, shared


def check(translate, configuration):
    text, m, shared = kernel(*configuration)
    warps, _, k, n, element, _, _, order, _, with_c = configuration
    ptx = subprocess.run([translate, "--attn-to-ptx", "-"], input=text, capture_output=True,
                         text=True, check=True).stdout
    random.seed(1)
    b_count = n if order == "nk" else k
    b_width = k if order == "nk" else n
    a_live, b_live = m - 3, b_count - 5

    def tensor(rows, cols, live):
        bits = to_half([random.gauss(0, 1) for _ in range(rows * cols)], element)
        values = list(from_half(bits, element))
        return array("H", bits), [values[r * cols:(r + 1) * cols] if r < live else [0.0] * cols
                                  for r in range(rows)]
    a_bits, a = tensor(m, k, a_live)
    b_bits, b = tensor(b_count, b_width, b_live)
    c = [[random.gauss(0, 1) for _ in range(n)] for _ in range(m)]
    memory = Memory(1 << 19)
    inputs = [memory.add(x.tobytes())
              for x in (a_bits, b_bits, array("f", [x for row in c for x in row]))]
    d, h, s = (memory.add(b"\xff" * size) for size in (4 * m * n, 2 * m * n, 4 * m))
    params = struct.pack("<6Q2i144x", *inputs, d, h, s, a_live, b_live)
    machine = Machine(ptx, "gemm", 32 * warps, shared)
    machine.run(0, 1, params, memory.data)

    columns = b if order == "nk" else list(zip(*b))
    got, halves, sums = memory.words(d, m * n, "f"), memory.words(h, m * n, "H"), memory.words(s, m, "f")
    rounded = from_half(halves, element)
    for row in range(m):
        here = slice(row * n, (row + 1) * n)
        if row >= a_live:
            assert all(map(math.isnan, got[here])) and math.isnan(sums[row]), f"row {row} is written"
            assert all(x == 0xFFFF for x in halves[here]), f"row {row} is written"
            continue
        want = [sum(x * y for x, y in zip(a[row], columns[col]))
                + (c[row][col] if with_c else 0.0) + col - row for col in range(n)]
        for col in range(n):
            at = row * n + col
            assert abs(got[at] - want[col]) < 1e-3, f"({row}, {col}): {got[at]}, not {want[col]}"
            assert abs(rounded[at] - want[col]) < 1e-3 + abs(want[col]) / 128, f"({row}, {col})"
        assert abs(sums[row] - 8 * max(want) - sum(want)) < 0.1, f"reductions of row {row}"


def main():
    for configuration in CONFIGURATIONS:
        check(sys.argv[1], configuration)
        print("good:", *configuration)
    return 0


if __name__ == "__main__":
    sys.exit(main())
