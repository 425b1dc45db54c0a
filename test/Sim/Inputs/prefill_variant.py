#!/usr/bin/env python3
"""Other shapes of the worked SM90 prefill, for the timed simulator.

usage: prefill_variant.py FOLDER OUT [dim=D] [keys=N] [groups=G] [slots=S] [ring] [exact]

Writes OUT.mlir (the problem) and OUT.frag.mlir (L3, without the merge kernel) from
prefill-sm90.mlir and prefill-sm90.frag.mlir of FOLDER: head dim, keys of a visit,
compute warpgroups, slots of every ring, turns of the warpgroups by named barriers,
and the online loop in place of the frozen one.  Shared memory is not checked against
the limit of the device (d 256 has one query slot there and two here).
"""

import re
import sys
from pathlib import Path


def layout_storage(text, rows, keys, dim, groups, slots):
    """Offsets of rings, words and barriers, and the size of all."""
    sizes = {"q": rows * dim * 2 * slots, "k": keys * dim * 2 * slots, "v": keys * dim * 2 * slots,
             "work": 64 * slots, "verdict": 12 * groups}
    at = 0

    def place(match):
        nonlocal at
        name = match[2]
        size = sizes.get(name, 8 * (3 * groups if name == "verdict.full" else
                                    1 if name == "v.tail" else slots))
        line = f'{match[1]}"{name}" at {at}'
        at += (size + 7) // 8 * 8
        return line

    text = re.sub(r'(= frag\.(?:smem|words|bars) )"([\w.]+)" at \d+', place, text)
    return re.sub(r"smem \d+ params", f"smem {at} params", text, count=1)


def variant(text, dim, keys, groups, slots, ring, exact):
    rows = 64 * groups
    text = text[:text.index("  // Merges the partials")].rstrip() + "\n}\n"
    # The accumulator of O gets types of its own.
    aliases = (f"!Of = !frag.reg<64x{dim}xf32, #C>\n!AO = !frag.inflight<64x{dim}xf32, #C>\n"
               f"!qring = !frag.ring<{rows}x{dim}xbf16, swizzle = 128, slots = {slots}>\n")
    text = re.sub(r"^!(T|Tb|V|Vl|Vb|) = .*\n", "", text, flags=re.M)
    text = text.replace("\nmodule {", "\n" + aliases + "\nmodule {", 1)
    for name, shape in (("S", f"64x{keys}x"), ("P", f"64x{keys}x"), ("AS", f"64x{keys}x"),
                        ("Ob", f"64x{dim}x"), ("Oe", f"64x{dim}x"), ("Qd", f"64x{dim}x"),
                        ("ring", f"{keys}x{dim}x")):
        text = re.sub(rf"^(!{name} = !frag\.\w+<)\d+x\d+x", rf"\g<1>{shape}", text, flags=re.M)
    text = re.sub(r"^(!Qm = .*<64x4x)32x(2?)", lambda m: f"{m[1]}{rows // 4}x" +
                  (str(dim // 64) if m[2] else ""), text, flags=re.M)
    text = re.sub(r"^(!Km = .*<64x)128x(2?)", lambda m: f"{m[1]}{keys}x" +
                  (str(dim // 64) if m[2] else ""), text, flags=re.M)
    out = []
    for line in text.split("\n"):
        if re.search(r"kn %|acc !S|%aO pin|%aL|%O0 =|%On = frag.map|%Oz|%On :|frag.store %st#0", line):
            line = line.replace("!AS", "!AO")
            line = line.replace("!S pin", "!Of pin") if "pin" in line else line.replace("!S", "!Of")
        line = line.replace("(!S, !R,", "(!Of, !R,").replace(": !S, !R,", ": !Of, !R,")
        line = line.replace("!P, !S, !pos", "!P, !Of, !pos")
        if "%qr" in line:
            line = line.replace("!ring", "!qring")
        line = line.replace('n128k16" nk', f'n{keys}k16" nk').replace('n128k16" kn', f'n{dim}k16" kn')
        of_q = "%qf[" in line or "query" in line
        line = line.replace("bytes 32768", f"bytes {(rows if of_q else keys) * dim * 2}")
        out.append(line)
    text = "\n".join(out)
    text = text.replace("slots = 2", f"slots = {slots}").replace("lanes = 2", f"lanes = {groups}")
    text = text.replace("count 8", f"count {4 * groups}").replace("count 4", f"count {4}")
    text = text.replace("%c127 = arith.constant 127", f"%c127 = arith.constant {keys - 1}")
    text = text.replace("%c128 = arith.constant 128", f"%c128 = arith.constant {keys}")
    text = text.replace("threads 384", f"threads {128 * (groups + 1)}")
    text = text.replace("replicas = 2", f"replicas = {groups}")
    compute, load = {2: (240, 24), 3: (160, 32), 4: (112, 32)}[groups]
    text = re.sub(r"inc \d+", f"inc {compute}", text)
    text = re.sub(r"dec \d+", f"dec {load}", text)
    text = text.replace("%x:2 =", f"%x:{groups} =")
    either = "%x#0"
    lines = []
    for i in range(1, groups):
        name = "%x01" if i == groups - 1 else f"%xo{i}"
        lines.append(f"        {name} = arith.ori {either}, %x#{i} : i32\n")
        either = name
    text = re.sub(r" *%x01 = .*\n", "".join(lines), text)
    if exact:
        text = text.replace("arith.select %exact, %n2, %e2", "arith.select %exact, %n2, %n2")
    if ring:
        begin = ("      %ring_1 = arith.addi %rank, %c1 : i32\n"
                 f"      %ring_g = arith.constant {groups} : i32\n"
                 "      %ring_n = arith.remui %ring_1, %ring_g : i32\n"
                 "      %ring_l = arith.cmpi eq, %ring_n, %c0 : i32\n"
                 "      scf.if %ring_l {\n        frag.barrier_arrive 8 + %ring_n threads 256\n      }\n")
        text = text.replace("      %rbase = ", begin + "      %rbase = ", 1)
        text = re.sub(r"( +)(%aS = frag\.wgmma)", r"\1frag.barrier_sync 8 + %rank threads 256\n\1\2", text)
        text = re.sub(r"(( +)%aO = frag\.wgmma .*\n)", r"\1\2frag.barrier_arrive 8 + %ring_n threads 256\n", text)
    return layout_storage(text, rows, keys, dim, groups, slots)


def main():
    folder, out = Path(sys.argv[1]), sys.argv[2]
    given = dict(arg.split("=") if "=" in arg else (arg, "1") for arg in sys.argv[3:])
    dim, keys, groups, slots = (int(given.get(n, d)) for n, d in
                                (("dim", 128), ("keys", 128), ("groups", 2), ("slots", 2)))
    problem = (folder / "prefill-sm90.mlir").read_text().replace("dim = 128", f"dim = {dim}")
    lowered = (folder / "prefill-sm90.frag.mlir").read_text()
    Path(out + ".mlir").write_text(problem)
    Path(out + ".frag.mlir").write_text(
        variant(lowered, dim, keys, groups, slots, "ring" in given, "exact" in given))


if __name__ == "__main__":
    main()
