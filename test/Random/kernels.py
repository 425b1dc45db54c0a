"""Random kernels: legal ones, composed of what users write.

    rng = random.Random(7)
    kernel = Kernel(rng, "k0", "softmax", "bf16")
    kernel.text           # types, variant and kernel, to be joined with others in one module

Masks are atoms (causal, windows, sink tokens, prefixes, documents, chunks, strided,
per-head widths, either alignment) joined by and, or, not; scores are chains of soft
caps, biases, slopes, temperatures and tables; vector hooks rotate, scale and gate.
Every number that is drawn at run time (parameters, tables) has a sample range, so
that the workload can draw it.

Invariant: the text depends on the state of `rng` alone, and is legal: an error of the
compiler is a finding.
"""

ELEMENTS = ["bf16", "f16", "f32"]


class Body:
    """Lines of one hook; every method returns the name of a new value."""

    def __init__(self, variant):
        self.variant = variant
        self.lines = []

    def emit(self, text):
        name = f"%v{self.variant.fresh()}"
        self.lines.append(f"    {name} = {text}")
        return name

    def i32(self, value):
        return self.emit(f"arith.constant {value} : i32")

    def f32(self, value):
        return self.emit(f"arith.constant {value:e} : f32")

    def i1(self, value):
        return self.emit(f"arith.constant {'true' if value else 'false'}")

    def op(self, name, *operands, type="i32"):
        return self.emit(f"{name} {', '.join(operands)} : {type}")

    def compare(self, predicate, a, b):
        return self.emit(f"arith.cmpi {predicate}, {a}, {b} : i32")

    def select(self, condition, a, b, type="f32"):
        return self.emit(f"arith.select {condition}, {a}, {b} : {type}")

    def length(self, which):
        return self.emit(f"attn.length {which}")

    def to_float(self, value):
        return self.emit(f"arith.sitofp {value} : i32 to f32")

    def read(self, table, *indices):
        name, type = table
        return self.emit(f"attn.read {name}[{', '.join(indices)}] : {type}")

    def element(self, vector, index):
        return self.emit(f"attn.element {vector}[{index}] : vector<{self.variant.width}xf32>")


class Kernel:
    """One kernel with its variant and tensor types.

    rng         random.Random, the only source of choices
    name        symbol; prefix of all types, so that kernels can share a module
    normaliser  "softmax" or "none"
    element     of query, key and value: f32, f16 or bf16
    gpu         what GPUs have: head dims up to 256, no vector hooks
    """

    def __init__(self, rng, name, normaliser, element, gpu=False):
        self.rng, self.name, self.gpu = rng, name, gpu
        self.normaliser, self.element = normaliser, element
        self.output = rng.choice([self.element, self.element, "f32"])
        self.storage = rng.choice(["ragged", "ragged", "dense"])
        self.kv_heads = rng.choice([1, 1, 2, 3])
        self.heads = self.kv_heads * rng.choice([1, 1, 2, 3, 4, 5, 7, 8])
        self.dim = self.any_dim()
        self.dim_v = self.dim if rng.random() < 0.7 else self.any_dim()
        self.count = 0
        self.declarations, self.hooks = [], []
        self.width = 0
        self.make_hooks()
        self.text = self.make_text()

    def any_dim(self):
        r = self.rng.random()
        top = 64 if r < 0.6 else 128 if r < 0.92 else 256 if r < 0.98 or self.gpu else 512
        return 8 * self.rng.randint(1, top // 8)

    def fresh(self):
        self.count += 1
        return self.count

    # Parameters and tables.

    def param(self, low, high, type="i32"):
        name = f"p{self.fresh()}"
        show = (lambda x: f"{x:e}") if type == "f32" else str
        default = f"default = {show(low)} : {type}, " if self.rng.random() < 0.7 else ""
        self.declarations.append(f'  %{name} = attn.param "{name}" : {type} {{{default}'
                                 f'sample = [{show(low)} : {type}, {show(high)} : {type}]}}')
        return f"%{name}"

    def table(self, element, spaces, low, high, ordered=False):
        name = f"t{self.fresh()}"
        type = f"!attn.table<{element}, [{', '.join(spaces)}]>"
        show = (lambda x: f"{x:e}") if element == "f32" else str
        self.declarations.append(
            f'  %{name} = attn.table "{name}" : {type} {{sample = [{show(low)} : {element}, '
            f'{show(high)} : {element}]{", sorted" if ordered else ""}}}')
        return f"%{name}", type

    def number(self, body, low, high):
        """An i32 of [low, high]: a constant, a parameter or a table of heads or requests."""
        r = self.rng.random()
        if r < 0.45:
            return body.i32(self.rng.randint(low, high))
        if r < 0.8:
            return self.param(low, high)
        space, index = self.rng.choice([("head", "%h"), ("batch", "%b")])
        return body.read(self.table("i32", [space], low, high), index)

    def real(self, body, low, high):
        r = self.rng.random()
        if r < 0.4:
            return body.f32(self.rng.uniform(low, high))
        if r < 0.7:
            return self.param(low, high, "f32")
        space, index = self.rng.choice([("head", "%h"), ("batch", "%b")])
        return body.read(self.table("f32", [space], low, high), index)

    # Masks.

    def atom(self, body):
        rng = self.rng
        kind = rng.randrange(15)
        if kind <= 2:  # causal, sometimes shifted
            if rng.random() < 0.6:
                return body.compare("sge", "%q", "%k")
            shift = self.number(body, -20, 20)
            return body.compare(rng.choice(["sge", "sgt"]), body.op("arith.addi", "%q", shift), "%k")
        if kind <= 4:  # a window to the left
            return body.compare(rng.choice(["slt", "sle"]), body.op("arith.subi", "%q", "%k"),
                                self.number(body, 0, 130))
        if kind == 5:  # to the right
            return body.compare("slt", body.op("arith.subi", "%k", "%q"), self.number(body, 0, 90))
        if kind == 6:  # to both sides
            distance = body.op("math.absi", body.op("arith.subi", "%q", "%k"))
            return body.compare("sle", distance, self.number(body, 0, 90))
        if kind == 7:  # the first tokens
            return body.compare("slt", "%k", self.number(body, 0, 100))
        if kind == 8:  # documents
            high = rng.choice([1, 3, 8])
            table = self.table("i32", ["batch", "position"], 0, high, rng.random() < 0.7)
            return body.compare("eq", body.read(table, "%b", "%q"), body.read(table, "%b", "%k"))
        if kind == 9:  # chunks
            size = self.number(body, 1, 70)
            divide = rng.choice(["arith.floordivsi", "arith.divsi"])
            return body.compare(rng.choice(["eq", "sge"]), body.op(divide, "%q", size),
                                body.op(divide, "%k", size))
        if kind == 10:  # every n-th
            distance = body.op("arith.subi", "%q", "%k")
            rest = body.op("arith.remsi", distance, self.number(body, 1, 9))
            return body.compare("eq", rest, body.i32(0))
        if kind == 11:  # rows counted from the first query
            row = body.op("arith.subi", "%q",
                          body.op("arith.subi", body.length("kv"), body.length("q")))
            return body.compare("sge", row, "%k")
        if kind == 12:  # the last keys, or all but them
            border = body.op("arith.subi", body.length(rng.choice(["kv", "q"])),
                             self.number(body, 0, 60))
            return body.compare(rng.choice(["sge", "slt"]), "%k", border)
        if kind == 13:  # some heads or requests
            bits = body.op("arith.andi", rng.choice(["%h", "%b", "%k"]), body.i32(rng.randint(1, 3)))
            return body.compare(rng.choice(["eq", "ne"]), bits, body.i32(0))
        if rng.random() < 0.2:
            return body.i1(rng.random() < 0.7)
        table = self.table("i32", ["free", "free"], 0, 3)  # any bit
        return body.compare("ne", body.read(table, "%q", "%k"), body.i32(0))

    def mask_expression(self, body, depth):
        rng = self.rng
        if depth == 0 or rng.random() < 0.25:
            return self.atom(body)
        a = self.mask_expression(body, depth - 1)
        if rng.random() < 0.12:
            return body.op("arith.xori", a, body.i1(True), type="i1")
        b = self.mask_expression(body, depth - 1)
        if rng.random() < 0.1:
            return body.select(self.atom(body), a, b, "i1")
        return body.op(rng.choice(["arith.andi", "arith.andi", "arith.ori"]), a, b, type="i1")

    # Scores: each link maps a finite score of moderate size to one.

    def link(self, body, s):
        rng = self.rng
        kind = rng.randrange(8)
        f = dict(type="f32")
        if kind == 0:
            cap = self.real(body, 5, 60)
            return body.op("arith.mulf", cap,
                           body.op("math.tanh", body.op("arith.divf", s, cap, **f), **f), **f)
        if kind == 1:
            distance = body.to_float(body.op("arith.subi", "%k", "%q"))
            slope = self.real(body, 0, 0.3)
            return body.op("math.fma", slope, distance, s, **f)
        if kind == 2:
            table = self.table("f32", [rng.choice(["head", "batch"]), "free"], -1, 1)
            index = body.op("arith.addi", body.op("arith.subi", "%k", "%q"), self.number(body, 0, 60))
            return body.op("arith.addf", s,
                           body.read(table, "%h" if "[head" in table[1] else "%b", index), **f)
        if kind == 3:
            return body.op("arith.mulf", s, self.real(body, 0.2, 1.5), **f)
        if kind == 4:
            return body.op("arith.addf", s, self.real(body, -3, 3), **f)
        if kind == 5:  # a mask within the score
            return body.select(self.atom(body), s, body.emit("arith.constant 0xFF800000 : f32"))
        if kind == 6:
            return body.select(self.atom(body), s, body.op("arith.negf", s, **f))
        low, high = self.real(body, -8, -2), self.real(body, 2, 8)
        return body.op("arith.minnumf", body.op("arith.maxnumf", s, low, **f), high, **f)

    def weight(self, body, s):
        """A weight without a normaliser: bounded, so that sums stay moderate."""
        f = dict(type="f32")
        s = body.op("arith.minnumf", s, body.f32(6), **f)
        s = body.op("arith.maxnumf", s, body.f32(-60), **f)
        if self.rng.random() < 0.5:
            one = body.f32(1)
            e = body.op("math.exp", body.op("arith.negf", s, **f), **f)
            return body.op("arith.divf", one, body.op("arith.addf", one, e, **f), **f)
        s = body.op("arith.maxnumf", s, body.f32(0), **f)
        # Not below a share of a row's size: the square of a score near 0 has no
        # digits that a comparison could be about.
        return body.op("math.fma", s, s, body.f32(0.05), **f)

    # Hooks.

    def hook(self, signature, make, type):
        body = Body(self)
        result = make(body)
        self.hooks.append("\n".join([f"  attn.hook {signature} {{", *body.lines,
                                     f"    attn.yield {result} : {type}", "  }"]))

    def vector(self, kind):
        self.width = self.dim if kind in ("query", "key") else self.dim_v

        def make(body):
            rng, f = self.rng, dict(type="f32")
            x = body.element("%x", "%i")
            choice = rng.randrange(3)
            # Rotate pairs by an angle that grows with the position, to a few turns: what
            # f32 rounds off the angle is an error of scores that the check does not know.
            if choice == 0:
                partner = body.element("%x", body.op("arith.xori", "%i", body.i32(1)))
                angle = body.op("arith.mulf", body.to_float("%pos"), self.real(body, 0.001, 0.02), **f)
                odd = body.compare("ne", body.op("arith.andi", "%i", body.i32(1)), body.i32(0))
                sine = body.op("math.sin", angle, **f)
                sine = body.select(odd, sine, body.op("arith.negf", sine, **f))
                return body.op("arith.addf", body.op("arith.mulf", x, body.op("math.cos", angle, **f), **f),
                               body.op("arith.mulf", partner, sine, **f), **f)
            if choice == 1:
                return body.op("arith.mulf", x, self.real(body, 0.3, 1.2), **f)
            return body.select(body.compare("slt", "%i", self.number(body, 0, self.width)), x,
                               body.op("arith.mulf", x, body.f32(0.5), **f))
        self.hook(f"{kind}(%x: vector<{self.width}xf32>, %b, %h, %pos, %i)", make, "f32")

    def make_hooks(self):
        rng = self.rng
        none = self.normaliser == "none"
        if none or rng.random() < 0.5:
            def score(body):
                s = "%s"
                for _ in range(rng.randint(0 if none else 1, 3)):
                    s = self.link(body, s)
                return self.weight(body, s) if none else s
            self.hook("score(%s, %b, %h, %q, %k)", score, "f32")
        if rng.random() < 0.9:
            depth = rng.choice([0, 1, 1, 2, 2, 3])
            self.hook("mask(%b, %h, %q, %k)", lambda body: self.mask_expression(body, depth), "i1")
        if not none and rng.random() < 0.25:
            self.hook("sink(%b, %h)", lambda body: self.real(body, -3, 3), "f32")
        for kind in ("query", "key", "value", "output"):
            if not self.gpu and rng.random() < 0.06:
                self.vector(kind)

    def make_text(self):
        n = self.name
        types = [("Q", "query", self.element, self.heads, self.dim),
                 ("K", "key", self.element, self.kv_heads, self.dim),
                 ("V", "value", self.element, self.kv_heads, self.dim_v),
                 ("O", "output", self.output, self.heads, self.dim_v)]
        lse = self.normaliser == "softmax"
        if lse:
            types.append(("L", "lse", "f32", self.heads, 1))
        lines = [f"!{n}{t} = !attn.tensor<{role}, {element}, heads = {heads}, dim = {dim}, {self.storage}>"
                 for t, role, element, heads, dim in types]
        lines.append(f"attn.variant @{n}_v {'' if lse else 'normaliser(none) '}{{")
        lines += self.declarations + self.hooks + ["}"]
        results = f"!{n}O, !{n}L" if lse else f"!{n}O"
        names = "%o, %lse" if lse else "%o"
        lines += [f"attn.kernel @{n}(%q: !{n}Q, %k: !{n}K, %v: !{n}V, %scale: f32) {{",
                  f"  {names} = attn.attention %q, %k, %v, %scale variant(@{n}_v) "
                  f": (!{n}Q, !{n}K, !{n}V) -> ({results})",
                  f"  attn.return {names} : {results}", "}", ""]
        return "\n".join(lines)


def lengths(rng, pairs):
    """A batch "q=..;kv=.." of at most about `pairs` pairs of query and key."""
    requests = rng.choice([0, 1, 1, 2, 2, 3, 3, 5, 9]) if rng.random() < 0.9 else 30
    q, kv = [], []
    for _ in range(requests):
        budget = max(1, pairs // requests)
        one = rng.choice([0, 1, 1, 2, rng.randint(3, 20), rng.randint(3, 70), rng.randint(3, 300)])
        most = min(900, budget // max(1, one))
        other = min(most, rng.choice([0, 1, one] + [rng.randint(0, most) for _ in range(6)]))
        q.append(str(one))
        kv.append(str(other))
    return f"q={','.join(q)};kv={','.join(kv)}"
