"""Prints a variant of the worked SM90 prefill (test/Sim/Inputs/prefill-sm90.*).

    variant.py problem|pipe [dim=64] [dim_v=..] [tile_k=64] [replicas=3] [pack=1] [stages=4]
               [q_stages=1] [order=static_order] [handover=ring] [exact] [dense] [unmasked] [sink] [mma]

`problem` is level L0, `pipe` the kernel of level L2 for it: the worked text with other numbers
and, for `exact`, without the frozen loop and its verdicts.  Each edit must find its place.
"""

import os
import re
import sys

INPUTS = os.path.join(os.path.dirname(os.path.abspath(__file__)), *[os.pardir] * 3, "Sim", "Inputs")
WORDS = ("order", "handover")
FLAGS = ("exact", "dense", "unmasked", "sink", "mma")


class Text:
    def __init__(self, name):
        with open(os.path.join(INPUTS, name)) as file:
            self.text = file.read()

    def edit(self, pattern, replacement, count=None):
        self.text, found = re.subn(pattern, replacement, self.text, flags=re.M)
        if found == 0 or (count is not None and found != count):
            sys.exit(f"variant.py: '{pattern}' is there {found} times")

    def lines(self, where, pattern, replacement):
        """Edits the lines that hold `where`."""
        out = [re.sub(pattern, replacement, line) if re.search(where, line) else line
               for line in self.text.split("\n")]
        if out == self.text.split("\n"):
            sys.exit(f"variant.py: no line with '{where}' holds '{pattern}'")
        self.text = "\n".join(out)


def tensors(t, o):
    """Tensor types and hooks, at both levels."""
    t.edit(r"heads = 2, dim = 128", f"heads = {8 // o['pack']}, dim = 128", 2)
    t.edit(r"(!attn.tensor<(?:query|key), .*dim = )128", rf"\g<1>{o['dim']}", 2)
    t.edit(r"(!attn.tensor<(?:value|output), .*dim = )128", rf"\g<1>{o['dim_v']}", 2)
    if o["dense"]:
        t.edit(r", ragged>", ", dense>", 5)
    hook = r"( *)attn.hook mask\(%b, %h, %qp?, %kp?\) \{\n.*\n.*\n *\}\n"
    sink = r"\1attn.hook sink(%b, %h) {\n\1  %x = arith.constant 1.5 : f32\n\1  attn.yield %x : f32\n\1}\n"
    if o["unmasked"]:
        t.edit(hook, sink if o["sink"] else "", 1)
    elif o["sink"]:
        t.edit(hook, lambda m: m.group(0) + m.expand(sink), 1)


def pipe(o):
    t = Text("prefill-sm90.pipe.mlir")
    tensors(t, o)
    tile_q, tile_k, dim, dim_v = 64 * o["replicas"], o["tile_k"], o["dim"], o["dim_v"]
    load, compute = {1: (40, 232), 2: (40, 232), 3: (32, 160), 4: (32, 112)}[o["replicas"]]
    t.edit(r"regs = 40", f"regs = {load}", 1)
    t.edit(r"replicas = 2, regs = 232", f"replicas = {o['replicas']}, regs = {compute}", 1)
    t.edit(r'qk = "wgmma.m64n128k16", pv = "wgmma.m64n128k16"',
           f'qk = "wgmma.m64n{tile_k}k16", pv = "wgmma.m64n{dim_v}k16"', 1)
    t.edit(r"tile_q = 128, tile_k = 128, pack = 4", f"tile_q = {tile_q}, tile_k = {tile_k}, pack = {o['pack']}", 1)
    t.edit(r"pack 4", f"pack {o['pack']}", 3)
    shift = {1: "%c0", 2: "%c1", 4: "%c2"}[o["pack"]]
    t.edit(r"(arith.shrsi .*), %c2", rf"\1, {shift}", 2)
    t.edit(r"%c127 = arith.constant 127", f"%c127 = arith.constant {tile_k - 1}", 1)
    t.edit(r"%c128 = arith.constant 128", f"%c128 = arith.constant {tile_k}", 1)
    t.edit(r"of 2 :", f"of {o['replicas']} :", 2)
    # Types: the text has one for all slots.
    for alias, shape in (("Qt", f"{tile_q}x{dim}xbf16"), ("Qh", f"64x{dim}xbf16"), ("KV", f"{tile_k}x{dim}xbf16"),
                         ("S", f"64x{tile_k}xf32"), ("P", f"64x{tile_k}xbf16"), ("Ot", f"64x{dim_v}xf32")):
        t.edit(rf"^!{alias} = .*", f"!{alias} = !attn.tile<{shape}>", 1)
    t.edit(r"^!KV = .*", rf"\g<0>\n!Vt = !attn.tile<{tile_k}x{dim_v}xbf16>", 1)
    t.edit(r"^!rowsT = .*", f"!rowsT = !attn.rows<{tile_q}>", 1)
    t.edit(r"^!Qch = .*", f"!Qch = !pipe.channel<!Qt, depth = {o['q_stages']}>", 1)
    t.edit(r"^!Kch = .*", f"!Kch = !pipe.channel<!KV, depth = {o['stages']}>\n"
                          f"!Vch = !pipe.channel<!Vt, depth = {o['stages']}>", 1)
    t.edit(r"lanes = 2>", f"lanes = {o['replicas']}>", 1)
    t.edit(r"^!slot = .*", "!Qslot = !pipe.slot<!Qt>\n!Kslot = !pipe.slot<!KV>\n!Vslot = !pipe.slot<!Vt>", 1)
    t.edit(r"^!FS = .*", "!FS = !pipe.future<!S>\n!FO = !pipe.future<!Ot>", 1)
    t.lines(r"%vch", r"!Kch", "!Vch")
    for side, name in ((r"%q", "Q"), (r"%k", "K"), (r"%(v|dv)", "V")):
        t.lines(rf"{side}s\w*( |,|:|$).*!slot|{side}\w+, {side}\w+ = pipe.wait.*!slot", r"!slot", f"!{name}slot")
    t.lines(r"attn.pv|pipe.wait %vch", r"!KV", "!Vt")
    t.lines(r"pipe.join %f[oL]", r"!FS", "!FO")
    t.edit(r"(tile<128x128xf32>)", f"tile<{tile_q}x{dim_v}xf32>")
    # Of the merge kernel: a power of two, 16 rows each.
    t.edit(r'"all", warps = 8', f'"all", warps = {min(8, (tile_q // 16) & -(tile_q // 16))}', 1)
    t.edit(r"rowvec<128xf32>", f"rowvec<{tile_q}xf32>")
    t.edit(r"attn.rows<128>", f"attn.rows<{tile_q}>")
    # A word of every replica says bad.
    words = o["replicas"]
    t.edit(r"%x:2 = pipe.recv", f"%x:{words} = pipe.recv", 1)
    t.edit(r"( *)%x01 = arith.ori %x#0, %x#1 : i32\n",
           lambda m: "".join(f"{m.group(1)}%x0{i} = arith.ori {f'%x0{i - 1}' if i else '%x#0'}, %x#{i} : i32\n"
                             for i in range(words)), 1)
    t.edit(r"cmpi ne, %x01,", f"cmpi ne, %x0{words - 1},", 1)
    if o["replicas"] == 1:
        t.edit(r"\(%rank\) ", "", 1)
        t.edit(r"%rank", "%c0")
    if o["mma"]:
        synchronous(t)
    t.edit(r'handover = "none"', f'handover = "{o["handover"]}"', 1)
    t.edit(r"next_work dynamic", f"next_work {o['order']}", 3)
    if o["unmasked"]:
        t.edit(r"bounds = \[.*\]>", "bounds = []>", 1)
        t.edit(r"(%any3 = ).*", r"\1arith.maxsi %keys, %c0 : i32", 1)
        t.edit(r"(%all3 = ).*", r"\1arith.maxsi %keys, %c0 : i32", 1)
    if o["exact"]:
        t.edit(r"softmax = frozen", "softmax = exact", 1)
        t.edit(r".*pipe.channel \"verdict\".*\n", "", 1)
        t.edit(r".*pipe.recv %xch.*\n", "", 1)
        t.edit(r".*%x0\d+ = arith.ori.*\n", "")
        t.edit(r"%bad = arith.cmpi.*", "%bad = arith.constant false", 1)
        t.edit(r".*%okw = .*\n.*%badw = .*\n.*pipe.send %xch.*\n", "", 1)
        t.edit(r".*%ok0 = attn.check.*\n.*%ok = .*", "        %ok = arith.constant true", 1)
        t.edit(r"%e = attn.exact_prefix .*", "%e = arith.subi %h2, %b0 : i32", 1)
        t.edit(r" *// Frozen loop(?:.*\n)*?.*scf.yield %m, %l1, %P1, %O1, %ds.*\n *\}\n", "", 1)
        t.edit(r"%r3#", "%r2#")
    if o["sink"]:
        t.edit(r"( *)(%tile, %row_lse = attn.finish .*)",
               r"\1%sk = attn.apply_sink %rows : !rows -> !R\n\1\2", 1)
        t.edit(r"(attn.finish .*), %c : !Ot, !R", r"\1, %c sink %sk : !Ot, !R sink !R", 1)
    return t.text


def synchronous(t):
    """Products by mma.m16n8k16, where they stand; one replica."""
    t.edit(r"wgmma.m64n\d+k16", "mma.m16n8k16", 2)
    t.edit(r' *%qt = attn.slice_tile.*\n', "", 1)
    t.edit(r"%qt\b", "%qT")
    product = r"( *)(%f\w+) = pipe.issue mma \{\n *%\w+ = (attn\..*)\n.*yield.*\n *\}\n"
    while re.search(product, t.text):
        t.edit(product + r"((?:.*\n)*?) *(%\w+), %\w+ = pipe.join \2 : .*\n", r"\1\5 = \3\n\4")
    # No tokens are left.
    t.edit(r"(pipe.release %[kvq]\w+) done \S+ :", r"\1 :")
    t.edit(r", %qd = \S+\)", ")")
    t.edit(r", !pipe.done\b", "")
    t.edit(r"(scf.yield .*), %ds :", r"\1 :")
    t.edit(r"(%r\d):5", r"\1:4")


def main():
    what, options = sys.argv[1], {"dim": 128, "tile_k": 128, "replicas": 2, "pack": 4, "stages": 2, "q_stages": 2,
                                  "order": "dynamic", "handover": "none"} | {flag: False for flag in FLAGS}
    for word in sys.argv[2:]:
        name, _, value = word.partition("=")
        options[name] = True if name in FLAGS else value if name in WORDS else int(value)
    options.setdefault("dim_v", options["dim"])
    if what == "problem":
        t = Text("prefill-sm90.mlir")
        tensors(t, options)
        print(t.text)
    else:
        print(pipe(options))


main()
