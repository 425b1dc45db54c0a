"""Products of a warpgroup in every width, swizzle, order and element type.

usage: check_products.py ATTN-TRANSLATE [PTXAS]

Each kernel has two roles: one loads A and B by TMA, the other computes C + A B with A in
shared memory or in registers, stores it in f32, and in 16 bits behind a transpose of
quads where the width allows that.  They run in the emulator and, if it is given, go
through ptxas.
"""

import math
import random
import struct
import subprocess
import sys
import tempfile
from array import array

from check_prefill import Memory
from ptx_emulator import from_half, to_half
from ptx_hopper import HopperMachine, tensor_map

# N, K, element, order of B, swizzle of B, A in registers, C
CONFIGURATIONS = [(n, 16, "bf16", "nk", 32, False, n % 16 == 0) for n in range(8, 257, 8)]
CONFIGURATIONS += [
    (80, 64, "bf16", "nk", 128, False, True),
    (64, 128, "f16", "nk", 128, False, False),
    (96, 32, "bf16", "nk", 64, True, True),
    (64, 32, "bf16", "kn", 128, True, True),
    (128, 80, "bf16", "kn", 128, True, True),
    (256, 16, "f16", "kn", 128, True, False),
    (96, 48, "bf16", "kn", 64, True, True),
    (80, 32, "f16", "kn", 32, False, True),
    (16, 16, "bf16", "kn", 32, True, False),
]
ROWS, FIRST = 128, 64  # rows of A in shared memory, and the first that is used


def kernel(n, k, element, order, swizzle, registers, with_c):
    b_rows, b_cols = (n, k) if order == "nk" else (k, n)
    swizzle_a = max(s for s in (32, 64, 128) if 2 * k % s == 0)
    ring_a = f"!frag.ring<{ROWS}x{k}x{element}, swizzle = {swizzle_a}, slots = 1>"
    ring_b = f"!frag.ring<{b_rows}x{b_cols}x{element}, swizzle = {swizzle}, slots = 2>"
    map_a = f"!frag.tmap<{swizzle_a // 2}x{ROWS}x{element}, swizzle = {swizzle_a}>"
    map_b = f"!frag.tmap<{swizzle // 2}x{b_rows}x{element}, swizzle = {swizzle}>"
    at_b = 2 * ROWS * k + 1024
    at_b -= at_b % 1024
    bars = at_b + 4 * b_rows * b_cols
    bars += -bars % 16
    c, row = '#frag.layout<"wgmma_c", warps = 4>', '#frag.layout<"quad16", warps = 4>'
    tile, vec = f"!frag.reg<64x{n}xf32, {c}>", f"!frag.vec<64xi64, {c}>"
    live = f"!frag.vec<64xi1, {c}>"
    view = f"!frag.view<64x{k}x{element}, swizzle = {swizzle_a}>"
    a_tile = f'!frag.reg<64x{k}x{element}, #frag.layout<"wgmma_a", warps = 4>>'
    if registers:
        operand = f"""
    %af = frag.load %araw, %aoff, %live : !frag.ptr<f32>, {vec}, {live} -> !frag.reg<64x{k}xf32, {c}>
    %a = frag.pack %af : !frag.reg<64x{k}xf32, {c}> -> {a_tile}"""
        a_type = a_tile
    else:
        operand = f"""
    %first = arith.constant {FIRST} : i32
    %a = frag.view_rows %ar[%pa] from %first : {ring_a} -> {view}"""
        a_type = view
    acc, acc_type = (" acc %C", f" acc {tile}") if with_c else ("", "")
    half = f"!frag.reg<64x{n}x{element}, {c}>"
    wide = f"!frag.reg<64x{n}x{element}, {row}>"
    transposed = f"""
    %h = frag.pack %D : {tile} -> {half}
    %t = frag.quad_transpose %h : {half} -> {wide}
    frag.store %t, %hp, %off, %live : {wide}, !frag.ptr<{element}>, {vec}, {live}""" if n % 32 == 0 else ""
    text = f"""frag.kernel @gemm threads 256 smem {bars + 64} params 512 {{
  %araw = frag.param "a" at 0 : !frag.ptr<f32>
  %cp = frag.param "c" at 8 : !frag.ptr<f32>
  %dp = frag.param "d" at 16 : !frag.ptr<f32>
  %hp = frag.param "h" at 24 : !frag.ptr<{element}>
  %ta = frag.tmap "q" at 256 dims ["dim", "token"] pack 1 promotion 128 : {map_a}
  %tb = frag.tmap "k" at 384 dims ["dim", "token"] pack 1 promotion 128 : {map_b}
  %ar = frag.smem "a" at 0 : {ring_a}
  %br = frag.smem "b" at {at_b} : {ring_b}
  %fa = frag.bars "fa" at {bars} count 1 : !frag.bars<slots = 1>
  %fb = frag.bars "fb" at {bars + 16} count 1 : !frag.bars<slots = 2>
  frag.init %fa, %fb : !frag.bars<slots = 1>, !frag.bars<slots = 2>
  %c0 = arith.constant 0 : i32
  %pa = frag.pos phase 0 : !frag.pos<slots = 1>
  %p0 = frag.pos phase 0 : !frag.pos<slots = 2>
  %pb = frag.next %p0 : !frag.pos<slots = 2>
  frag.role_dispatch [#frag.role<"load", first_warp = 0, warps = 4, active = 1, replicas = 1>,
                      #frag.role<"compute", first_warp = 4, warps = 4, active = 4, replicas = 1>] {{
    frag.elect {{
      frag.mbar_expect %fa[%pa] bytes {2 * ROWS * k} : !frag.bars<slots = 1>
      frag.tma_load %ta(%c0) into %ar[%pa] on %fa[%pa] hint evict_first : {map_a}, {ring_a}, !frag.bars<slots = 1>
      frag.mbar_expect %fb[%pb] bytes {2 * b_rows * b_cols} : !frag.bars<slots = 2>
      frag.tma_load %tb(%c0) into %br[%pb] on %fb[%pb] : {map_b}, {ring_b}, !frag.bars<slots = 2>
    }}
  }}, {{
    %true = arith.constant true
    %live = frag.splat %true : i1 -> {live}
    %off = frag.map () at (%r) -> {vec} {{
      %n = arith.constant {n} : i64
      %w = arith.extsi %r : i32 to i64
      %x = arith.muli %w, %n : i64
      frag.yield %x : i64
    }}
    %aoff = frag.map () at (%r) -> {vec} {{
      %n = arith.constant {k} : i64
      %w = arith.extsi %r : i32 to i64
      %x = arith.muli %w, %n : i64
      frag.yield %x : i64
    }}
    %C = frag.load %cp, %off, %live : !frag.ptr<f32>, {vec}, {live} -> {tile}{operand}
    frag.mbar_wait %fa[%pa] : !frag.bars<slots = 1>
    frag.mbar_wait %fb[%pb] : !frag.bars<slots = 2>
    %f = frag.wgmma "wgmma.m64n{n}k16" {order} %a, %br[%pb]{acc} : {a_type}, {ring_b}{acc_type} -> !frag.inflight<64x{n}xf32, {c}>
    %D = frag.wgmma_wait pending 0 %f : !frag.inflight<64x{n}xf32, {c}>
    frag.store %D, %dp, %off, %live : {tile}, !frag.ptr<f32>, {vec}, {live}{transposed}
  }}
  frag.return
}}
"""
    return text, bars + 64, swizzle_a


def assemble(ptxas, ptx):
    with tempfile.NamedTemporaryFile("w", suffix=".ptx") as file:
        file.write(ptx)
        file.flush()
        done = subprocess.run([ptxas, "-arch=sm_90a", "-v", "-o", "/dev/null", file.name],
                              capture_output=True, text=True, check=False)
    log = done.stdout + done.stderr
    return done.returncode == 0 and "(C75" not in log and " 0 bytes spill stores" in log


def check(translate, ptxas, configuration):
    n, k, element, order, swizzle, registers, with_c = configuration
    text, shared, swizzle_a = kernel(*configuration)
    ptx = subprocess.run([translate, "--attn-to-ptx", "--attn-target=sm_90a", "-"], input=text,
                         capture_output=True, text=True, check=True).stdout
    random.seed(1)
    b_rows, b_cols = (n, k) if order == "nk" else (k, n)

    def tensor(rows, cols):
        bits = to_half([random.gauss(0, 1) for _ in range(rows * cols)], element)
        values = list(from_half(bits, element))
        return array("H", bits), [values[r * cols:(r + 1) * cols] for r in range(rows)]
    a_bits, a = tensor(ROWS, k)
    b_bits, b = tensor(b_rows, b_cols)
    a = a[FIRST:]
    c = [[random.gauss(0, 1) for _ in range(n)] for _ in range(64)]
    memory = Memory(1 << 19)
    a_at, b_at = memory.add(a_bits.tobytes()), memory.add(b_bits.tobytes())
    raw = memory.add(array("f", [x for line in a for x in line]).tobytes())
    c_at = memory.add(array("f", [x for line in c for x in line]).tobytes())
    d_at, h_at = (memory.add(b"\xff" * (size * 64 * n)) for size in (4, 2))
    params = struct.pack("<4Q", raw, c_at, d_at, h_at).ljust(256, b"\0")
    params += tensor_map(a_at, (k, ROWS), (1, k), (swizzle_a // 2, ROWS))
    params += tensor_map(b_at, (b_cols, b_rows), (1, b_cols), (swizzle // 2, b_rows))
    HopperMachine(ptx, "gemm", 256, shared).run(0, 1, params, memory.data)

    columns = b if order == "nk" else list(zip(*b))
    got = memory.words(d_at, 64 * n, "f")
    halves = from_half(memory.words(h_at, 64 * n, "H"), element)
    worst = worst_half = 0.0
    for r in range(64):
        for col in range(n):
            want = sum(x * y for x, y in zip(a[r], columns[col])) + (c[r][col] if with_c else 0.0)
            worst = max(worst, abs(got[r * n + col] - want))
            if n % 32 == 0:
                worst_half = max(worst_half, abs(halves[r * n + col] - want) / (1 + abs(want)))
    good = worst < 1e-4 and worst_half < 1e-2 and not math.isnan(worst + worst_half) and \
        not any(map(math.isnan, got))
    if ptxas:
        good = good and assemble(ptxas, ptx)
    name = f"m64n{n} k {k} {element} {order} swizzle {swizzle} {'RS' if registers else 'SS'}"
    print(f"{'good' if good else 'bad'}: {name}{' acc' if with_c else ''}", flush=True)
    return good


if __name__ == "__main__":
    TOOLS = sys.argv[1:] + [None]
    sys.exit(0 if all([check(TOOLS[0], TOOLS[1], c) for c in CONFIGURATIONS]) else 1)
