"""Rewritten rows of slots and of tiles, in the emulator.

usage: check_rewrite.py ATTN-TRANSLATE

Each kernel copies A to shared memory, rewrites some of its rows in place, multiplies
them by the unit, rewrites that tile in registers by way of shared memory, and stores
it.  A second tile has the layout of merge kernels: it comes from global memory.
"""

import random
import struct
import subprocess
import sys
from array import array

from check_prefill import Memory
from ptx_emulator import Machine, from_half, to_half

# warps, columns, element, swizzle, of f32 rows, first and last row that are rewritten
CONFIGURATIONS = [
    (1, 64, "bf16", 128, 128, 0, 16),
    (2, 64, "f16", 128, 128, 5, 30),
    (4, 128, "bf16", 128, 128, 1, 64),
    (2, 96, "f16", 64, 128, 0, 31),
]


def kernel(warps, cols, element, swizzle, wide, first, last):
    m, merged = 16 * warps, 4 * warps
    b_offset = (2 * m * cols + 1023) // 1024 * 1024
    s_offset = b_offset + (2 * cols * cols + 1023) // 1024 * 1024
    shared = s_offset + 4 * 8 * warps * cols

    def layout(atom):
        return f'#frag.layout<"{atom}", warps = {warps}>'

    def vec(rows, kind, atom):
        return f'!frag.vec<{rows}x{kind}, {layout(atom)}>'
    a_tile = f'!frag.reg<{m}x{cols}x{element}, {layout("mma_a")}>'
    c_tile = f'!frag.reg<{m}x{cols}xf32, {layout("mma_c")}>'
    r_tile = f'!frag.reg<{merged}x{cols}xf32, {layout("row_c")}>'
    a_ring = f"!frag.ring<{m}x{cols}x{element}, swizzle = {swizzle}, slots = 1>"
    b_ring = f"!frag.ring<{cols}x{cols}x{element}, swizzle = {swizzle}, slots = 1>"
    s_ring = f"!frag.ring<{8 * warps}x{cols}xf32, swizzle = {wide}, slots = 1>"

    def copy(base, ring, ring_type):
        return f"""  frag.cp_async {base} into {ring}[%p] row (%r) : !frag.ptr<{element}>, {ring_type} {{
    %width = arith.constant {cols} : i64
    %true = arith.constant true
    %wide = arith.extsi %r : i32 to i64
    %offset = arith.muli %wide, %width : i64
    frag.yield %offset, %true : i64, i1
  }}"""

    def places(name, rows, atom):
        return f"""  %{name}_live = frag.map () at (%r) -> {vec(rows, "i1", atom)} {{
    %true = arith.constant true
    frag.yield %true : i1
  }}
  %{name}_offsets = frag.map () at (%r) -> {vec(rows, "i64", atom)} {{
    %n = arith.constant {cols} : i64
    %wide = arith.extsi %r : i32 to i64
    %x = arith.muli %wide, %n : i64
    frag.yield %x : i64
  }}"""

    def store(tile, base, name, kind, rows, atom):
        return (f"  frag.store {tile}, {base}, %{name}_offsets, %{name}_live : {kind}, "
                f"!frag.ptr<f32>, {vec(rows, 'i64', atom)}, {vec(rows, 'i1', atom)}")
    # Behind either end of the row an index is clamped.
    body = f""" {{
    %far = arith.constant {cols + 3} : i32
    %two = arith.constant 2 : i32
    %other = arith.subi %far, %col : i32
    %twice = arith.muli %other, %two : i32
    %behind = arith.subi %twice, %far : i32
    %x = frag.element %col
    %y = frag.element %behind
    %f = arith.sitofp %row : i32 to f32
    %h = arith.constant 0.5 : f32
    %s = arith.mulf %y, %h : f32
    %t = arith.addf %x, %s : f32
    %u = arith.addf %t, %f : f32
    frag.yield %u : f32
  }}"""
    text = f"""frag.kernel @rewrite threads {32 * warps} smem {shared} params 200 {{
  %a = frag.param "a" at 0 : !frag.ptr<{element}>
  %b = frag.param "b" at 8 : !frag.ptr<{element}>
  %c = frag.param "c" at 16 : !frag.ptr<f32>
  %d = frag.param "d" at 24 : !frag.ptr<f32>
  %e = frag.param "e" at 32 : !frag.ptr<f32>
  %first = frag.param "first" at 40 : i32
  %last = frag.param "last" at 44 : i32
  %a_ring = frag.smem "a" at 0 : {a_ring}
  %b_ring = frag.smem "b" at {b_offset} : {b_ring}
  %rows = frag.smem "rows" at {s_offset} : {s_ring}
  %p = frag.pos phase 0 : !frag.pos<slots = 1>
{copy("%a", "%a_ring", a_ring)}
{copy("%b", "%b_ring", b_ring)}
  frag.cp_async_commit
  frag.cp_async_wait pending 0
  frag.cta_sync
  frag.rewrite_rows %a_ring[%p] from %first to %last at (%row, %col) : {a_ring}{body}
  frag.cta_sync
{places("c", m, "mma_c")}
{places("r", merged, "row_c")}
  %A = frag.ldmatrix %a_ring[%p] : {a_ring} -> {a_tile}
  %D = frag.mma "mma.m16n8k16" nk %A, %b_ring[%p] : {a_tile}, {b_ring} -> {c_tile}
  %E = frag.rewrite_tile %D through %rows at (%row, %col) : {c_tile}, {s_ring}{body}
{store("%E", "%d", "c", c_tile, m, "mma_c")}
  %R = frag.load %c, %r_offsets, %r_live : !frag.ptr<f32>, {vec(merged, "i64", "row_c")}, {vec(merged, "i1", "row_c")} -> {r_tile}
  %S = frag.rewrite_tile %R through %rows at (%row, %col) : {r_tile}, {s_ring}{body}
{store("%S", "%e", "r", r_tile, merged, "row_c")}
  frag.return
}}
"""
    return text, m, merged, shared


def rewritten(row, number, cols):
    def element(index):
        return row[min(max(index, 0), cols - 1)]
    return [row[i] + 0.5 * element(2 * (cols + 3 - i) - cols - 3) + number for i in range(cols)]


def check(translate, configuration):
    text, m, merged, shared = kernel(*configuration)
    warps, cols, element, _, _, first, last = configuration
    ptx = subprocess.run([translate, "--attn-to-ptx", "-"], input=text, capture_output=True,
                         text=True, check=True).stdout
    random.seed(1)
    bits = to_half([random.gauss(0, 1) for _ in range(m * cols)], element)
    values = list(from_half(bits, element))
    unit = to_half([float(r == c) for r in range(cols) for c in range(cols)], element)
    part = array("f", [random.gauss(0, 1) for _ in range(merged * cols)])
    memory = Memory(1 << 19)
    inputs = [memory.add(x.tobytes()) for x in (array("H", bits), array("H", unit), part)]
    d, e = (memory.add(b"\xff" * 4 * rows * cols) for rows in (m, merged))
    params = struct.pack("<5Q2i152x", *inputs, d, e, first, last)
    Machine(ptx, "rewrite", 32 * warps, shared).run(0, 1, params, memory.data)

    got = memory.words(d, m * cols, "f")
    for row in range(m):
        here = values[row * cols:(row + 1) * cols]
        if first <= row < last:
            here = list(from_half(to_half(rewritten(here, row, cols), element), element))
        for col, want in enumerate(rewritten(here, row, cols)):
            assert abs(got[row * cols + col] - want) < 1e-3, \
                f"({row}, {col}): {got[row * cols + col]}, not {want}"
    got = memory.words(e, merged * cols, "f")
    for row in range(merged):
        for col, want in enumerate(rewritten(part[row * cols:(row + 1) * cols], row, cols)):
            assert abs(got[row * cols + col] - want) < 1e-3, \
                f"merged ({row}, {col}): {got[row * cols + col]}, not {want}"


def main():
    for configuration in CONFIGURATIONS:
        check(sys.argv[1], configuration)
        print("good:", *configuration)
    return 0


if __name__ == "__main__":
    sys.exit(main())
