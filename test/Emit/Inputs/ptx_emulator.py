"""Runs one CTA of generated PTX on the CPU, all threads side by side.

    machine = Machine(ptx_text, "prefill", threads=256, shared_bytes=98304)
    machine.run(ctaid=0, nctaid=1, params=bytes, memory=bytearray)

Written from the PTX manual, not from the compiler's layout library, so that a
wrong fragment order or swizzle cannot hide on both sides.  Covers what the
sm_80 lowering emits; an unknown instruction is an error.

What it checks besides the values: accesses in bounds and aligned, barriers and
warp-wide instructions reached by all threads.  Shared memory starts as NaN, a
slot is NaN again while a cp.async into it is in flight, and copies land at the
wait of their group, no earlier.
"""

import functools
import math
import operator
import re
import struct
from array import array

DONE = 1 << 60
COLLECTIVE = ("bar", "mma", "ldmatrix", "shfl", "redux", "cp.async.commit", "cp.async.wait")
COMPARE = {"lt": operator.lt, "le": operator.le, "gt": operator.gt, "ge": operator.ge,
           "eq": operator.eq, "ne": operator.ne, "neu": operator.ne,
           "ltu": lambda x, y: not x >= y, "leu": lambda x, y: not x > y,
           "gtu": lambda x, y: not x <= y, "geu": lambda x, y: not x < y,
           "nan": lambda x, y: x != x or y != y, "num": lambda x, y: x == x and y == y}


def reinterpret(values, code):
    """The same bits as an array of another type code."""
    result = array(code)
    result.frombytes(values.tobytes())
    return result


def float_max(x, y):
    return y if math.isnan(x) else x if math.isnan(y) else max(x, y)


def float_min(x, y):
    return y if math.isnan(x) else x if math.isnan(y) else min(x, y)


def saturate(x):
    return 0.0 if math.isnan(x) else min(max(x, 0.0), 1.0)


def rsqrt(x):
    return math.inf if x == 0 else math.nan if x < 0 or math.isnan(x) else 1 / math.sqrt(x)


def exp2(x):
    return math.inf if x > 1000 else 0.0 if x < -126 else x if math.isnan(x) else 2.0 ** x


def log2(x):
    return -math.inf if x == 0 else math.nan if x < 0 or math.isnan(x) else \
        math.inf if x == math.inf else math.log2(x)


def divide(x, y):
    if y == 0:
        return math.nan if x == 0 or math.isnan(x) else math.copysign(math.inf, x)
    return x / y


FLOAT = {"add": operator.add, "sub": operator.sub, "mul": operator.mul, "max": float_max,
         "fma": lambda x, y, z: x * y + z, "neg": operator.neg, "abs": abs, "ex2": exp2, "lg2": log2,
         "div": divide, "rcp": lambda x: divide(1.0, x), "min": float_min, "rsqrt": rsqrt}
INTEGER = {"add": operator.add, "sub": operator.sub, "mul": operator.mul,
           "mad": lambda x, y, z: x * y + z, "and": operator.and_, "or": operator.or_,
           "xor": operator.xor, "not": operator.invert, "neg": operator.neg, "min": min,
           "max": max, "shl": lambda x, n: x << n if n < 64 else 0,
           "shr": lambda x, n: x >> min(n, 63), "bfe": lambda x, at, n: (x >> at) & ((1 << n) - 1)}


def to_half(values, element):
    """Bits of f32 values rounded to 16 bits, nearest even."""
    if element == "f16":
        return [struct.unpack("<H", struct.pack("<e", v))[0] for v in values]
    bits = reinterpret(array("f", values), "I")
    return [0x7FFF if math.isnan(v) else (b + 0x7FFF + ((b >> 16) & 1)) >> 16
            for v, b in zip(values, bits)]


def from_half(bits, element):
    if element == "f16":
        return struct.unpack(f"<{len(bits)}e", struct.pack(f"<{len(bits)}H", *bits))
    return reinterpret(array("I", [b << 16 for b in bits]), "f")


def parse_arguments(text):
    """Splits at commas outside brackets; {a, b} becomes a list."""
    pieces = re.findall(r"\{[^}]*\}|\[[^\]]*\]|[^,\s]+", text)
    return [[r.strip() for r in p[1:-1].split(",")] if p[0] == "{" else p for p in pieces]


class Machine:
    def __init__(self, text, entry, threads, shared_bytes):
        self.threads = threads
        self.shared_bytes = shared_bytes
        self.executed = {}
        self.code, self.labels = [], {}
        body = text[text.index(f".entry {entry}("):]
        body = re.sub(r"//[^\n]*", "", body[body.index("\n{") + 2:])
        for statement in body[:body.index("\n}")].split(";"):
            statement = " ".join(statement.split())
            while match := re.match(r"(\$\w+): ?", statement):
                self.labels[match[1]] = len(self.code)
                statement = statement[match.end():]
            if not statement or statement.startswith((".reg", ".pragma")):
                continue
            predicate = None
            if match := re.match(r"@(!?)(%p\d+) ", statement):
                predicate = (match[2], match[1] == "!")
                statement = statement[match.end():]
            op, _, rest = statement.partition(" ")
            self.code.append((predicate, op, parse_arguments(rest)))

    def run(self, ctaid, nctaid, params, memory):
        everyone = range(self.threads)
        self.registers = {"%tid.x": array("I", everyone),
                          "%ctaid.x": array("I", [ctaid] * self.threads),
                          "%ctaid.z": array("I", [0] * self.threads),
                          "%nctaid.x": array("I", [nctaid] * self.threads)}
        self.params, self.memory = params, memory
        self.shared = bytearray(b"\xff" * self.shared_bytes)
        self.open_group, self.groups = [], []
        pcs = [0] * self.threads
        waiting = set()
        while True:
            ready = [t for t in everyone if t not in waiting] if waiting else everyone
            pc = min((pcs[t] for t in ready), default=DONE)
            if pc >= len(self.code):
                if not waiting:
                    return
                if len(waiting) < self.threads:
                    raise RuntimeError("some threads ended before a barrier")
                waiting = set()
                continue
            predicate, op, args = self.code[pc]
            lanes = [t for t in ready if pcs[t] == pc]
            warps = op.startswith("bar.warp")  # each by itself
            if warps and [t % 32 for t in lanes] != list(range(32)) * (len(lanes) // 32):
                raise RuntimeError("a part of a warp waits for the rest")
            if len(lanes) < self.threads and op.startswith(COLLECTIVE) and not warps:
                waiting.update(lanes)  # until the others come
                if len({pcs[t] for t in waiting}) > 1:
                    raise RuntimeError(f"threads wait at different instructions, one {op}")
                continue
            self.executed[op] = self.executed.get(op, 0) + 1
            for t in lanes:
                pcs[t] = pc + 1
            if op.startswith("bra"):
                for t in lanes:
                    if not predicate or self.registers[predicate[0]][t] != predicate[1]:
                        pcs[t] = self.labels[args[0]]
            elif op == "ret":
                for t in lanes:
                    pcs[t] = DONE
            else:
                self.lanes = lanes if not predicate else \
                    [t for t in lanes if self.registers[predicate[0]][t] != predicate[1]]
                self.step(op, op.split("."), args)

    # Operands -----------------------------------------------------------------

    def get(self, operand, code):
        if operand[0] == "%":
            values = self.registers[operand]
            return values if values.typecode == code else reinterpret(values, code)
        if operand.startswith("0f"):
            return reinterpret(array("I", [int(operand[2:], 16)] * self.threads), code)
        if not re.match(r"-?\d", operand):  # a symbol: its space starts at 0
            return array(code, [0] * self.threads)
        value = int(operand, 0)
        bits = 8 * array(code).itemsize
        if code in "BIQ":
            value &= 1 if code == "B" else (1 << bits) - 1
        return array(code, [value] * self.threads)

    def put(self, name, values):
        if name.startswith("%rd") and values.itemsize == 4:
            # A narrow load into a wide register.
            values = array("Q", [v & (1 << 64) - 1 for v in values])
        old = self.registers.get(name)
        if old is not None and len(self.lanes) < self.threads:
            merged = reinterpret(old, values.typecode)
            for t in self.lanes:
                merged[t] = values[t]
            values = merged
        self.registers[name] = values

    def put_integers(self, name, values, code):
        mask = (1 << (8 * array(code).itemsize)) - 1
        self.put(name, array(code.upper(), [v & mask for v in values]))

    def addresses(self, operand, code):
        base, _, offset = operand[1:-1].partition("+")
        shift = int(offset) if offset else 0
        return [a + shift for a in self.get(base, code)]

    # Instructions ---------------------------------------------------------------

    def step(self, op, parts, args):
        kind, suffix = parts[0], parts[-1]
        unsigned = "Q" if suffix.endswith("64") else "H" if suffix == "b16" else "I"
        code = unsigned.lower() if suffix[0] == "s" else unsigned
        if kind == "mma":
            self.mma(args, "f16" if parts[-2] == "f16" else "bf16")
        elif kind == "ldmatrix":
            self.ldmatrix(args, "trans" in parts)
        elif kind == "cp":
            self.copy(parts, args)
        elif op.startswith("bar.red.or"):
            votes = self.get(args[2], "B")
            self.put(args[0], array("B", [int(any(votes))] * self.threads))
        elif kind == "bar":
            pass
        elif kind == "vote":
            votes = self.get(args[1], "B")
            self.put(args[0], array("B", [int(any(votes[t & ~31:(t & ~31) + 32]))
                                          for t in range(self.threads)]))
        elif kind == "ld":
            self.load(parts, args, unsigned, suffix)
        elif kind == "st":
            self.store(parts, args, unsigned)
        elif kind == "shfl":
            values, lane = self.get(args[1], "I"), int(args[2])
            first = -32 if "idx" in parts else -1  # of the lane's number that is kept
            self.put(args[0], array("I", [values[t & first ^ lane] for t in range(self.threads)]))
        elif kind == "redux":
            values = self.get(args[1], "I")
            lanes = [values[t & ~31:(t & ~31) + 32] for t in range(self.threads)]
            self.put(args[0], array("I", [functools.reduce(operator.or_, l) for l in lanes]))
        elif kind == "mov":
            unsigned = "B" if suffix == "pred" else unsigned
            self.put(args[0], array(unsigned, self.get(args[1], unsigned)))
        elif kind == "setp":
            code = "f" if suffix == "f32" else code
            compare = COMPARE[parts[1]]
            self.put(args[0], array("B", map(compare, self.get(args[1], code),
                                             self.get(args[2], code))))
        elif kind == "selp":
            self.put(args[0], array(unsigned, [
                x if p else y for x, y, p in zip(self.get(args[1], unsigned),
                                                 self.get(args[2], unsigned),
                                                 self.get(args[3], "B"))]))
        elif suffix == "pred":
            sources = [self.get(a, "B") for a in args[1:]]
            self.put(args[0], array("B", [v & 1 for v in map(INTEGER[kind], *sources)]))
        elif kind == "cvt":
            self.convert(parts, args)
        elif suffix == "f32":
            sources = [self.get(a, "f") for a in args[1:]]
            self.put(args[0], reinterpret(array("f", map(FLOAT[kind], *sources)), "I"))
        elif parts[:2] == ["mul", "wide"]:
            sources = [self.get(a, code) for a in args[1:]]
            self.put_integers(args[0], map(operator.mul, *sources), "Q")
        else:
            # Counts and positions are 32 bits whatever the type.
            count_from = {"shl": 1, "shr": 1, "bfe": 1}.get(kind, 9)
            sources = [self.get(a, code if i < count_from else "I")
                       for i, a in enumerate(args[1:])]
            self.put_integers(args[0], map(INTEGER[kind], *sources), code)

    def convert(self, parts, args):
        to, source = parts[-2], parts[-1]
        if to in ("bf16x2", "f16x2"):
            high, low = (to_half(self.get(a, "f"), to[:-2]) for a in args[1:])
            self.put(args[0], array("I", [h << 16 | l for h, l in zip(high, low)]))
            return
        if source in ("bf16", "f16"):
            assert to == "f32", parts
            values = from_half(self.get(args[1], "H"), source)
            self.put(args[0], reinterpret(array("f", values), "I"))
            return
        if "sat" in parts:
            assert to == source == "f32", parts
            self.put(args[0], reinterpret(array("f", map(saturate, self.get(args[1], "f"))), "I"))
            return
        code = {"s32": "i", "u32": "I", "s64": "q", "u64": "Q"}[source]
        values = self.get(args[1], code)
        if to == "f32":
            self.put(args[0], reinterpret(array("f", values), "I"))
        else:
            self.put_integers(args[0], values, "Q" if to.endswith("64") else "I")

    def load(self, parts, args, code, suffix):
        names = args[0] if isinstance(args[0], list) else [args[0]]
        size = array(code).itemsize
        if parts[1] == "param":
            base, _, offset = args[1][1:-1].partition("+")
            source, at = self.params, [int(offset or 0)] * self.threads
        else:
            source, at = self.space(parts, args[1])
        for i, name in enumerate(names):
            values = array(code, [0] * self.threads)
            for t in self.lanes:
                where = at[t] + i * size
                assert at[t] % (size * len(names)) == 0 and 0 <= where <= len(source) - size
                values[t] = int.from_bytes(source[where:where + size], "little")
            signed = suffix == "s32" and name.startswith("%rd")
            self.put(name, reinterpret(values, "i") if signed else values)

    def space(self, parts, operand):
        """The memory that an access goes to, and its addresses there."""
        if parts[1] == "shared":
            return self.shared, self.addresses(operand, "I")
        assert parts[1] == "global", parts
        return self.memory, self.addresses(operand, "Q")

    def store(self, parts, args, code):
        memory, at = self.space(parts, args[0])
        names = args[1] if isinstance(args[1], list) else [args[1]]
        size = array(code).itemsize
        for i, name in enumerate(names):
            values = self.get(name, code)
            for t in self.lanes:
                where = at[t] + i * size
                assert at[t] % (size * len(names)) == 0 and 0 <= where <= len(memory) - size
                memory[where:where + size] = values[t].to_bytes(size, "little")

    def copy(self, parts, args):
        if "commit_group" in parts:
            self.groups.append(self.open_group)
            self.open_group = []
        elif "wait_group" in parts:
            while len(self.groups) > int(args[0]):
                for where, data in self.groups.pop(0):
                    self.shared[where:where + 16] = data
        else:
            to, source = self.addresses(args[0], "I"), self.addresses(args[1], "Q")
            sizes = self.get(args[3], "I")
            for t in self.lanes:
                assert to[t] % 16 == 0 and source[t] % 16 == 0 and sizes[t] in (0, 16)
                assert to[t] + 16 <= self.shared_bytes and source[t] + 16 <= len(self.memory)
                data = self.memory[source[t]:source[t] + 16] if sizes[t] else bytes(16)
                self.shared[to[t]:to[t] + 16] = b"\xff" * 16
                self.open_group.append((to[t], bytes(data)))

    def ldmatrix(self, args, transposed):
        at = self.addresses(args[1], "I")
        rows = []
        for address in at:
            assert address % 16 == 0 and address + 16 <= self.shared_bytes
            rows.append(struct.unpack("<8H", self.shared[address:address + 16]))
        for i in range(4):
            values = array("I")
            for t in range(self.threads):
                first = t // 32 * 32 + 8 * i
                g, pair = t % 32 // 4, t % 4 * 2
                low, high = ((rows[first + pair][g], rows[first + pair + 1][g]) if transposed
                             else rows[first + g][pair:pair + 2])
                values.append(low | high << 16)
            self.put(args[0][i], values)

    def mma(self, args, element):
        halves = [[[r & 0xFFFF for r in reg] + [r >> 16 for r in reg]
                   for reg in (self.get(name, "I") for name in names)] for names in args[1:3]]
        a, b = [[from_half(h, element) for h in operand] for operand in halves]
        c = [self.get(name, "f") for name in args[3]]
        results = [array("f", [0.0] * self.threads) for _ in range(4)]
        high = self.threads
        for warp in range(0, self.threads, 32):
            # Lane 4g + t: A rows g, g + 8, columns 2t.. and 2t + 8..; B likewise by column.
            def line(registers, g):
                lanes = range(warp + 4 * g, warp + 4 * g + 4)
                return [registers[i][t + h] for i in range(2) for t in lanes for h in (0, high)]
            columns = [line(b, g) for g in range(8)]
            for g in range(8):
                upper, lower = line((a[0], a[2]), g), line((a[1], a[3]), g)
                for n, column in enumerate(columns):
                    t = warp + 4 * g + n // 2
                    for reg, row in ((n % 2, upper), (2 + n % 2, lower)):
                        results[reg][t] = c[reg][t] + sum(map(operator.mul, row, column))
        for name, values in zip(args[0], results):
            self.put(name, reinterpret(values, "I"))
