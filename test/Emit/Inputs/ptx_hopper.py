"""Runs one CTA of generated PTX with roles, mbarriers, TMA and wgmma on the CPU.

    machine = HopperMachine(ptx_text, "prefill", threads=384, shared_bytes=196952)
    machine.run(ctaid=0, nctaid=1, params=bytes, memory=bytearray)

A tensor map is 128 bytes of `params` as `tensor_map` packs them.  Written from
the PTX manual, not from the compiler's layout library.

Threads wait where the hardware makes them wait: at mbarriers, at named barriers,
and at instructions of a warp or a warpgroup until all of it is there.  Copies land
at random times, and products are done at the wait that covers them: what is read
too early is NaN.
"""

import operator
import random
import re
import struct
from array import array

from ptx_emulator import DONE, Machine, from_half, reinterpret

PARAMS_BASE = 1 << 40  # generic address of the parameters
WARP, WARPGROUP = 32, 128
# Threads that execute an instruction together.
TOGETHER = {"shfl": WARP, "redux": WARP, "vote": WARP, "bar.warp": WARP, "setmaxnreg": WARPGROUP,
            "wgmma": WARPGROUP}
LOCALS = r"\b(first|next|wa|wb|ha|hb|da|db)\b"
WAIT = re.compile(r"\{\s*\.reg \.pred P;\s*W:\s*mbarrier\.try_wait\.parity\.shared::cta\.b64 P, "
                  r"(\[[^\]]*\]), (%r\d+|\d+);\s*@P bra D;\s*bra W;\s*D:\s*\}")


def tensor_map(base, extents, strides, box):
    """Innermost first; strides in elements, that of dimension 0 is 1."""
    data = struct.pack("<QI", base, len(extents))
    for values, code in ((extents, "I"), (box, "I"), (strides, "q")):
        data += struct.pack(f"<5{code}", *values, *[0] * (5 - len(values)))
    return data.ljust(128, b"\0")


def unpack_map(data):
    base, rank = struct.unpack_from("<QI", data)
    extents, box = (struct.unpack_from("<5I", data, at)[:rank] for at in (12, 32))
    return base, extents, box, struct.unpack_from("<5q", data, 52)[:rank]


def swizzled(address, bytes_wide):
    """The 16-byte chunk of an address xor its 128-byte line, as far as the swizzle goes."""
    return address ^ ((address >> 7 & (bytes_wide // 16 - 1)) << 4)


def preprocess(text):
    text = re.sub(r"//[^\n]*", "", text)
    text = WAIT.sub(r"mbarrier.wait \1, \2;", text)

    def flatten(match):
        return re.sub(LOCALS, r"%\1", match[1])
    return re.sub(r"\{\s*\.reg \.pred first, next;(.*?commit_group\.sync\.aligned;)\s*\}", flatten,
                  text, flags=re.S)


class HopperMachine(Machine):
    def __init__(self, text, entry, threads, shared_bytes):
        super().__init__(preprocess(text), entry, threads, shared_bytes)

    # Scheduling ---------------------------------------------------------------

    def run(self, ctaid, nctaid, params, memory):
        everyone = range(self.threads)
        self.registers = {"%tid.x": array("I", everyone),
                          "%ctaid.x": array("I", [ctaid] * self.threads),
                          "%nctaid.x": array("I", [nctaid] * self.threads)}
        self.params, self.memory = params, memory
        self.shared = bytearray(b"\xff" * self.shared_bytes)
        self.mbarriers, self.named = {}, {}
        self.copies = []  # that have not landed
        groups = self.threads // WARPGROUP
        self.open_products = [[] for _ in range(groups)]
        self.products = [[] for _ in range(groups)]  # committed, oldest first
        self.pcs = [0] * self.threads
        self.parked = {}  # thread -> what it waits for
        while True:
            if self.copies and random.random() < 0.02:
                self.land()
            ready = [t for t in everyone if self.pcs[t] != DONE and t not in self.parked]
            if not ready:
                if self.copies:
                    self.land()
                    continue
                if self.parked:
                    raise RuntimeError(f"deadlock: {sorted(set(map(str, self.parked.values())))}")
                assert not any(self.products) and not any(self.open_products)
                return
            pc = min(self.pcs[t] for t in ready)
            self.execute(pc, [t for t in ready if self.pcs[t] == pc])

    def execute(self, pc, lanes):
        predicate, op, args = self.code[pc]
        width = next((w for prefix, w in TOGETHER.items() if op.startswith(prefix)), None)
        if width:
            lanes = self.complete(pc, lanes, width)
        self.executed[op] = self.executed.get(op, 0) + (1 if lanes else 0)
        for t in lanes:
            self.pcs[t] = pc + 1
        active = lanes if not predicate else \
            [t for t in lanes if self.registers[predicate[0]][t] != predicate[1]]
        if op.startswith("bra"):
            for t in active:
                self.pcs[t] = self.labels[args[0]]
        elif op == "ret":
            for t in lanes:
                self.pcs[t] = DONE
        elif active:
            self.lanes = active
            self.step(op, op.split("."), args)

    def complete(self, pc, lanes, width):
        """Those whose warp or warpgroup is all here; the rest waits for the others."""
        together = []
        for first in range(0, self.threads, width):
            members = [t for t in range(first, first + width) if self.pcs[t] != DONE]
            here = [t for t in members if self.pcs[t] == pc and
                    (t not in self.parked or self.parked[t] == ("together", pc))]
            if not here:
                continue
            if len(here) == len(members):
                together += here
            for t in here:
                if len(here) == len(members):
                    self.parked.pop(t, None)
                else:
                    self.parked[t] = ("together", pc)
        return together

    # Barriers -----------------------------------------------------------------

    def arrive(self, address, bytes_to_come=0, arrivals=1):
        barrier = self.mbarriers[address]
        barrier["bytes"] += bytes_to_come
        barrier["pending"] -= arrivals
        assert barrier["pending"] >= 0, f"too many arrivals at {address}"
        if barrier["pending"] == 0 and barrier["bytes"] == 0:
            barrier["pending"] = barrier["count"]
            barrier["phase"] += 1
            self.parked = {t: why for t, why in self.parked.items() if why[:2] != ("mbar", address)}

    def wait(self, args):
        for t, address, parity in zip(range(self.threads), self.addresses(args[0], "I"),
                                      self.get(args[1], "I")):
            # The phase that runs has parity `phase & 1`; a wait is for the other to be over.
            if t in self.lanes and self.mbarriers[address]["phase"] & 1 == parity:
                self.parked[t] = ("mbar", address)
                self.pcs[t] -= 1

    def named_barrier(self, kind, identity, count, votes=None, result=None):
        state = self.named.setdefault(identity, {"arrived": 0, "waiting": [], "vote": 0})
        state["arrived"] += len(self.lanes)
        state["vote"] |= any(votes[t] for t in self.lanes) if votes else 0
        assert state["arrived"] <= count, f"too many threads at barrier {identity}"
        if kind != "arrive":
            state["waiting"] += self.lanes
            for t in self.lanes:
                self.parked[t] = ("named", identity)
        if state["arrived"] < count:
            return
        for t in state["waiting"]:
            del self.parked[t]
        if result:
            self.lanes = state["waiting"]
            self.put(result, array("B", [int(state["vote"])] * self.threads))
        del self.named[identity]

    # Copies -------------------------------------------------------------------

    def start_copy(self, args):
        target, barrier = self.addresses(args[0], "I"), self.addresses(args[2], "I")
        where = re.match(r"\[(%rd\d+), \{([^}]*)\}\]", args[1])
        maps = self.get(where[1], "Q")
        coordinates = [self.get(name.strip(), "i") for name in where[2].split(",")]
        for t in self.lanes:
            at = maps[t] - PARAMS_BASE
            assert at % 64 == 0 and 0 <= at <= len(self.params) - 128
            base, extents, box, strides = unpack_map(self.params[at:at + 128])
            data = []
            for row in range(self.product_of(box[1:])):
                element, inside, rest = base // 2, True, row
                for d in range(1, len(box)):
                    place = coordinates[d][t] + rest % box[d]
                    rest //= box[d]
                    inside &= 0 <= place < extents[d]
                    element += place * strides[d]
                for col in range(0, box[0], 8):
                    place = coordinates[0][t] + col
                    there = inside and place < extents[0]
                    source = 2 * (element + place)
                    chunk = bytes(self.memory[source:source + 16]) if there else bytes(16)
                    to = swizzled(target[t] + row * box[0] * 2 + col * 2, 2 * box[0])
                    self.shared[to:to + 16] = b"\xff" * 16
                    data.append((to, chunk))
            self.copies.append((barrier[t], data))

    def land(self):
        barrier, data = self.copies.pop(random.randrange(len(self.copies)))
        for to, chunk in data:
            self.shared[to:to + 16] = chunk
        self.arrive(barrier, -16 * len(data), arrivals=0)

    @staticmethod
    def product_of(values):
        result = 1
        for value in values:
            result *= value
        return result

    # Products -----------------------------------------------------------------

    def descriptor(self, name, first):
        values = self.get(name, "Q")
        assert len({values[t] for t in range(first, first + WARPGROUP)}) == 1
        word = values[first]
        swizzle = {1: 128, 2: 64, 3: 32}[word >> 62]
        return (word & 0x3FFF) * 16, (word >> 16 & 0x3FFF) * 16, (word >> 32 & 0x3FFF) * 16, swizzle

    def element_rows(self, name, first, count, transposed):
        """`count` rows of m or n, each with 16 elements of k."""
        start, leading, stride, swizzle = self.descriptor(name, first)
        rows = []
        for mn in range(count):
            row = []
            for k in range(16):
                if transposed:
                    columns = swizzle // 2
                    at = start + mn // columns * leading + mn % columns * 2 + \
                        k // 8 * stride + k % 8 * swizzle
                else:
                    at = start + mn // 8 * stride + mn % 8 * swizzle + 2 * k
                at = swizzled(at, swizzle)
                row.append(self.shared[at] | self.shared[at + 1] << 8)
            rows.append(list(from_half(row, self.element)))
        return rows

    def start_product(self, parts, args):
        n = int(re.search(r"n(\d+)k16", parts[4])[1])
        self.element = parts[-1]
        for first in range(0, self.threads, WARPGROUP):
            if first not in self.lanes:
                continue
            product = {"parts": parts, "args": args, "n": n, "element": parts[-1],
                       "scale": self.get(args[3], "B")[first],
                       "b": self.descriptor_words(args[2], first)}
            if isinstance(args[1], list):
                product["a"] = [list(self.get(name, "I")) for name in args[1]]
                product["transposed"] = args[6] == "1"
            else:
                assert args[6] == "0"
                product["a"] = self.descriptor_words(args[1], first)
                product["transposed"] = args[7] == "1"
            # Until the wait nobody may read the accumulator.
            product["c"] = [self.get(name, "f")[first:first + WARPGROUP]
                            for name in args[0]] if self.fresh(first, args[0]) else None
            self.open_products[first // WARPGROUP].append(product)
            self.lanes, kept = list(range(first, first + WARPGROUP)), self.lanes
            for name in args[0]:
                self.put(name, array("I", [0x7FC00000] * self.threads))
            self.lanes = kept

    def descriptor_words(self, name, first):
        self.descriptor(name, first)
        return self.get(name, "Q")[first]

    def fresh(self, first, names):
        """True for the first step of a chain that goes on in the same registers."""
        group = first // WARPGROUP
        under_way = self.open_products[group] + [p for g in self.products[group] for p in g]
        return not any(p["args"][0] == names for p in under_way) and names[0] in self.registers

    def finish(self, first, pending):
        group = first // WARPGROUP
        while len(self.products[group]) > pending:
            values = {}
            for product in self.products[group].pop(0):
                names = tuple(product["args"][0])
                if product["c"] is not None:
                    values[names] = product["c"]
                values[names] = self.multiply(first, product, values.get(names))
            self.lanes = list(range(first, first + WARPGROUP))
            for names, columns in values.items():
                for name, column in zip(names, columns):
                    whole = array("f", [0.0] * self.threads)
                    whole[first:first + WARPGROUP] = column
                    self.put(name, reinterpret(whole, "I"))

    def multiply(self, first, product, c):
        self.element = product["element"]
        self.registers["%finish"] = array("Q", [product["b"]] * self.threads)
        b = self.element_rows("%finish", first, product["n"], product["transposed"])
        if isinstance(product["a"], list):
            a = [[0.0] * 16 for _ in range(64)]
            for t in range(WARPGROUP):
                g, pair = t % 32 // 4 + t // 32 * 16, t % 4 * 2
                for i, (row, col) in enumerate(((0, 0), (8, 0), (0, 8), (8, 8))):
                    word = product["a"][i][first + t]
                    a[g + row][col + pair:col + pair + 2] = \
                        from_half([word & 0xFFFF, word >> 16], self.element)
        else:
            self.registers["%finish"] = array("Q", [product["a"]] * self.threads)
            a = self.element_rows("%finish", first, 64, False)
        out = []
        for reg in range(product["n"] // 2):
            column = array("f", [0.0] * WARPGROUP)
            for t in range(WARPGROUP):
                row = t // 32 * 16 + t % 32 // 4 + (8 if reg & 2 else 0)
                col = reg // 4 * 8 + t % 4 * 2 + reg % 2
                column[t] = sum(map(operator.mul, a[row], b[col])) + \
                    (c[reg][t] if product["scale"] else 0.0)
            out.append(column)
        return out

    def wgmma(self, parts, args):
        firsts = [f for f in range(0, self.threads, WARPGROUP) if f in self.lanes]
        if parts[1] == "mma_async":
            self.start_product(parts, args)
        for first in firsts:
            group = first // WARPGROUP
            if parts[1] == "commit_group":
                self.products[group].append(self.open_products[group])
                self.open_products[group] = []
            elif parts[1] == "wait_group":
                self.finish(first, int(args[0]))

    # Instructions ---------------------------------------------------------------

    def step(self, op, parts, args):
        kind = parts[0]
        if kind == "wgmma":
            self.wgmma(parts, args)
        elif kind in ("fence", "setmaxnreg") or op.startswith("bar.warp"):
            pass
        elif kind == "mbarrier":
            self.mbarrier(parts, args)
        elif kind in ("bar", "barrier"):
            self.barriers(parts[1], args)
        elif kind == "prefetch":
            pass
        elif kind == "cp":
            self.start_copy(args)
        elif op.startswith("shfl.sync.idx"):
            values, lane = self.get(args[1], "I"), int(args[2])
            self.put(args[0], array("I", [values[(t & ~31) + lane] for t in range(self.threads)]))
        elif kind == "atom":
            self.atomic(args)
        elif kind == "cvta" or op.startswith("mov.b64") and "_param_" in str(args[1]):
            if kind == "cvta":
                self.put(args[0], array("Q", [v + PARAMS_BASE for v in self.get(args[1], "Q")]))
            else:
                self.put(args[0], array("Q", [0] * self.threads))
        elif kind == "mov" and isinstance(args[1], list):
            low, high = (self.get(name, "I") for name in args[1])
            self.put(args[0], array("Q", [x | y << 32 for x, y in zip(low, high)]))
        elif kind == "st" and parts[1] == "shared":
            self.store_shared(args, "Q" if parts[-1].endswith("64") else "I")
        else:
            super().step(op, parts, args)

    def barriers(self, kind, args):
        """Replicas of a role come to barriers of their own by the same instruction."""
        votes, result = None, None
        if kind == "red":
            result, votes, args = args[0], self.get(args[3], "B"), args[1:3]
        identities = self.get(args[0], "I")
        count = self.get(args[1], "I")[self.lanes[0]] if len(args) > 1 else self.threads
        everyone = self.lanes
        for identity in sorted({identities[t] for t in everyone}):
            self.lanes = [t for t in everyone if identities[t] == identity]
            self.named_barrier(kind, identity, count, votes, result)

    def mbarrier(self, parts, args):
        if parts[1] == "wait":
            return self.wait(args)
        bars = self.addresses(args[0 if parts[1] == "init" else 1], "I")
        for t in self.lanes:
            assert bars[t] % 8 == 0 and bars[t] + 8 <= self.shared_bytes
            if parts[1] == "init":
                count = self.get(args[1], "I")[t]
                self.mbarriers[bars[t]] = {"count": count, "pending": count, "bytes": 0, "phase": 0}
            else:
                self.arrive(bars[t], int(args[2]) if parts[2] == "expect_tx" else 0)

    def atomic(self, args):
        at, add = self.addresses(args[1], "Q"), self.get(args[2], "I")
        old = array("I", [0] * self.threads)
        for t in self.lanes:
            old[t] = int.from_bytes(self.memory[at[t]:at[t] + 4], "little")
            self.memory[at[t]:at[t] + 4] = (old[t] + add[t]).to_bytes(4, "little")
        self.put(args[0], old)

    def get(self, operand, code):
        if match := re.match(r"attn_shared\+(\d+)$", operand):
            return array(code, [int(match[1])] * self.threads)
        return super().get(operand, code)

    def load(self, parts, args, code, suffix):
        if parts[1] != "shared":
            super().load(parts, args, code, suffix)
            return
        names = args[0] if isinstance(args[0], list) else [args[0]]
        at, size = self.addresses(args[1], "I"), array(code).itemsize
        for i, name in enumerate(names):
            values = array(code, [0] * self.threads)
            for t in self.lanes:
                where = at[t] + i * size
                assert at[t] % (size * len(names)) == 0 and where + size <= self.shared_bytes
                values[t] = int.from_bytes(self.shared[where:where + size], "little")
            self.put(name, values)

    def store_shared(self, args, code):
        at = self.addresses(args[0], "I")
        names = args[1] if isinstance(args[1], list) else [args[1]]
        size = array(code).itemsize
        for i, name in enumerate(names):
            values = self.get(name, code)
            for t in self.lanes:
                where = at[t] + i * size
                assert at[t] % (size * len(names)) == 0 and where + size <= self.shared_bytes
                self.shared[where:where + size] = values[t].to_bytes(size, "little")
