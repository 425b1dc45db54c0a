"""Math of maps that the back end spells out, in the emulator.

usage: check_math.py ATTN-OPT ATTN-TRANSLATE

One warp loads a tile of inputs and stores tanh of them, exp2 with a share of
the columns on the FMA pipe, and random sums of products by what a row shares, of the
column and of the distance of two positions.  Prints the largest relative error of each.
"""

import math
import random
import struct
import subprocess
import sys
from array import array

from check_prefill import Memory
from ptx_emulator import Machine

COLS = 128
TEXT = """
!t = !frag.reg<16x128xf32, #frag.layout<"mma_c", warps = 1>>
!i = !frag.vec<16xi64, #frag.layout<"mma_c", warps = 1>>
!b = !frag.vec<16xi1, #frag.layout<"mma_c", warps = 1>>
!ptr = !frag.ptr<f32>
frag.kernel @maps threads 32 smem 0 params 200 {
  %in = frag.param "in" at 0 : !ptr
  %out = frag.param "out" at 8 : !ptr
  %offsets = frag.map () at (%r) -> !i {
    %n = arith.constant 128 : i64
    %wide = arith.extsi %r : i32 to i64
    %x = arith.muli %wide, %n : i64
    frag.yield %x : i64
  }
  %live = frag.map () at (%r) -> !b {
    %x = arith.constant true
    frag.yield %x : i1
  }
  %x = frag.load %in, %offsets, %live : !ptr, !i, !b -> !t
  %y = frag.map (%e = %x : !t) at (%r, %c) -> !t SHARE {
    %v = MATH %e : f32
    frag.yield %v : f32
  }
  frag.store %y, %out, %offsets, %live : !t, !ptr, !i, !b
  frag.return
}
"""


def run(tools, op, share, values, maps=None):
    """The op, or what `maps` makes, of each of 16 x 128 values."""
    attributes = f"attributes {{exp2_fma = {share} : i32}}" if share else ""
    text = TEXT.replace("MATH", op).replace("SHARE", attributes)
    if maps:
        head, tail = text.index("  %y = frag.map"), text.index("  frag.store %y")
        text = text[:head] + maps + text[tail:]
    passes = "builtin.module(frag.kernel(frag-join-maps,frag-fold-affine))"
    for command in ([tools[0], f"--pass-pipeline={passes}", "-"], [tools[1], "--attn-to-ptx", "-"]):
        text = subprocess.run(command, input=text, capture_output=True, text=True,
                              check=True).stdout
    memory = Memory(1 << 16)
    source = memory.add(array("f", values).tobytes())
    out = memory.add(b"\xff" * (4 * len(values)))
    machine = Machine(text, "maps", 32, 0)
    machine.run(0, 1, struct.pack("<2Q184x", source, out), memory.data)
    return list(memory.words(out, len(values), "f")), machine.executed


def soft_cap(values):
    """Two maps that become one, its elements paced."""
    return """  %y0 = frag.map (%e = %x : !t) at (%r, %c) -> !t {
    %part = arith.constant 0.25 : f32
    %u = arith.mulf %e, %part : f32
    %v = math.tanh %u : f32
    %cap = arith.constant 4.0 : f32
    %w = arith.mulf %cap, %v : f32
    frag.yield %w : f32
  }
  %y = frag.map (%e = %y0 : !t) at (%r, %c) -> !t {
    %k = arith.constant 1.5 : f32
    %b = arith.constant -3.0 : f32
    %u = math.fma %e, %k, %b : f32
    %v = math.exp2 %u : f32
    frag.yield %v : f32
  }
""", [2.0 ** (6 * math.tanh(v / 4) - 3) for v in values]


class AffineMaps:
    """Random maps that are affine in element, row and column.

    value(element, row, column) is what they yield, size(..) the sum of its terms' sizes.
    """

    def __init__(self, seed):
        self.random, self.lines = random.Random(seed), []
        self.names, k0 = 0, self.random.randrange(-1000, 1000)
        key = self.emit("arith.addi %k0, %c overflow<nsw> : i32")
        distance = self.emit(f"arith.subi {key}, %r overflow<nsw> : i32")
        back = self.emit(f"arith.subi %r, {key} overflow<nsw> : i32")
        self.lines.insert(0, f"%k0 = arith.constant {k0} : i32")
        # The column's part of a distance is a term of its own.
        def far(e, r, c):
            return abs(k0 - r) + c

        floats = [(self.emit(f"arith.sitofp {name} : i32 to f32"), value, size)
                  for name, value, size in (
                      (distance, lambda e, r, c: k0 + c - r, far),
                      (back, lambda e, r, c: r - k0 - c, far),
                      ("%c", lambda e, r, c: c, lambda e, r, c: c),
                      ("%r", lambda e, r, c: r, lambda e, r, c: r))]
        self.head = list(self.lines)
        steps = self.random.randrange(2, 7)
        cut = self.random.randrange(1, 2 * steps)  # no cut if behind the last step
        name, value, size, self.cut = "%e", lambda e, r, c: e, lambda e, r, c: abs(e), None
        for step in range(steps):
            if step == cut:
                self.cut = (len(self.lines), name)
            name, value, size = self.step(name, value, size, floats)
        self.result, self.value, self.size = name, value, size

    def emit(self, text):
        self.names += 1
        self.lines.append(f"%v{self.names} = {text}")
        return f"%v{self.names}"

    def constant(self):
        value = self.random.randrange(-255, 256) / 64 or 1.0  # exact in f32
        return self.emit(f"arith.constant {value} : f32"), value

    def step(self, name, value, size, floats):
        kind = self.random.randrange(4)
        factor, u = self.constant()
        other, w, far = self.random.choice(floats)
        if kind == 0:
            return (self.emit(f"arith.mulf {name}, {factor} : f32"),
                    lambda *at: u * value(*at), lambda *at: abs(u) * size(*at))
        if kind == 1:
            return (self.emit(f"math.fma {factor}, {other}, {name} : f32"),
                    lambda *at: u * w(*at) + value(*at),
                    lambda *at: abs(u) * far(*at) + size(*at))
        if kind == 2:
            return (self.emit(f"arith.subf {other}, {name} : f32"),
                    lambda *at: w(*at) - value(*at), lambda *at: far(*at) + size(*at))
        return (self.emit(f"math.fma {name}, {factor}, {other} : f32"),
                lambda *at: u * value(*at) + w(*at),
                lambda *at: abs(u) * size(*at) + far(*at))

    def text(self):
        def one(result, source, lines, yielded):
            body = "".join(f"    {line}\n" for line in lines)
            return (f"  {result} = frag.map (%e = {source} : !t) at (%r, %c) -> !t {{\n{body}"
                    f"    frag.yield {yielded} : f32\n  }}\n")
        if self.cut is None:
            return one("%y", "%x", self.lines, self.result)
        at, name = self.cut
        rest = [line.replace(f"{name} ", "%e ").replace(f"{name},", "%e,")
                for line in self.lines[at:]]
        return (one("%y0", "%x", self.lines[:at], name) +
                one("%y", "%y0", self.head + rest, self.result))


def affine(tools, programs):
    """Largest error over the sum of the terms' sizes, and FMAs an element at most."""
    worst, count, most = 0.0, 16 * COLS, 0.0
    for seed in range(programs):
        maps = AffineMaps(seed)
        values = array("f", (random.uniform(-8, 8) for _ in range(count)))
        got, executed = run(tools, "", 0, values, maps.text())
        for i, (x, g) in enumerate(zip(values, got)):
            at = (x, i // COLS, i % COLS)
            worst = max(worst, abs(g - maps.value(*at)) / max(1.0, maps.size(*at)))
        # 64 elements a thread, and a few ops for each of its two rows.
        arithmetic = sum(n for op, n in executed.items()
                         if op.startswith(("fma", "add", "sub", "mul", "neg")) and
                         op.endswith("f32"))
        most = max(most, (arithmetic - 12) / 64)
    return worst, most


def relative(got, wanted):
    if math.isinf(wanted) or math.isnan(wanted):
        return 0.0 if str(got) == str(wanted) else math.inf
    return abs(got - wanted) / max(abs(wanted), 2.0 ** -100)


def on_fma(column, share):
    """A thread's columns are 8 i + 2 lane and + 1."""
    slot = column // 8 * 2 + column % 2
    return slot % 16 * share % 16 < share


def main():
    tools = sys.argv[1:3]
    random.seed(1)
    count = 16 * COLS

    values = [random.choice((-1, 1)) * 2.0 ** random.uniform(-100, 127.9) if i % 2 else
              random.uniform(-10, 10) for i in range(count)]
    got, _ = run(tools, "math.tanh", 0, values)
    rounded = array("f", values)
    tanh = max(relative(g, math.tanh(v)) for g, v in zip(got, rounded))
    print(f"tanh {'good' if tanh < 1.2e-6 else 'bad'} {tanh:.2e}")

    values = list(array("f", (random.uniform(-20, 20) for _ in range(count))))
    maps, wanted = soft_cap(values)
    got, executed = run(tools, "", 0, values, maps)
    worst = max(map(relative, got, wanted))
    # All of the 64 elements but the first 8 wait for another one; one `or` is of an address.
    print(f"soft cap {'good' if worst < 8e-6 else 'bad'} {worst:.2e}, {executed['or.b32']} or")

    worst, most = affine(tools, 12)
    print(f"affine {'good' if worst < 1e-6 and most <= 2 else 'bad'} {worst:.2e}, "
          f"{most:.2f} an element")

    special = [math.inf, -math.inf, 128.0, 127.75, -127.0, -1e30, 1e30, 0.0, -0.0, 300.0, math.nan]
    values = [random.uniform(-125, 127) for _ in range(count)]
    for row in range(len(special)):
        values[row * COLS:(row + 1) * COLS] = [special[row]] * COLS
    rounded = array("f", values)
    for share in (1, 5, 16):
        got, executed = run(tools, "math.exp2", share, values)
        moved = [on_fma(column, share) for column in range(COLS)]
        worst = 0.0
        for (i, x), g in zip(enumerate(rounded), got):
            if moved[i % COLS] and math.isnan(x):
                wanted = math.inf
            elif math.isnan(x):
                wanted = x
            else:
                wanted = math.inf if x >= 128 else 2.0 ** x if x > -126 else 0.0
            worst = max(worst, relative(g, wanted))
        mufu = sum(n for op, n in executed.items() if op.startswith("ex2"))
        print(f"exp2 {share}/16 {'good' if worst < 3.5e-6 else 'bad'} {worst:.2e}, {mufu} ex2")
    # Below the smallest normal number a value between 0 and it.
    values = [-126 - i / count for i in range(count)]
    got, _ = run(tools, "math.exp2", 16, values)
    small = all(0 <= g <= 2.0 ** -126 for g in got)
    print(f"underflow {'good' if small else 'bad'}")


if __name__ == "__main__":
    sys.exit(main())
