"""Writes the kernels that the benchmarks time, one .mlir file each.

    kernels.py OUT_FOLDER [--target=sm_90a --attnc=build/bin/attnc]
               [--schedule=softmax=exact --label=exact]

A name says what a kernel is: prefill-d128-causal-h16x16-bf16.  With --target each
is compiled too, to NAME.attn, or to NAME@LABEL.attn with a schedule of its own.
"""

import argparse
import concurrent.futures
import pathlib
import subprocess

MASKS = {
    "dense": "",
    "causal": """
  attn.hook mask(%b, %h, %q, %k) {
    %visible = arith.cmpi sge, %q, %k : i32
    attn.yield %visible : i1
  }""",
    "window": """
  %window = attn.param "window" : i32 {default = 1024 : i32, sample = [32 : i32, 512 : i32]}
  attn.hook mask(%b, %h, %q, %k) {
    %zero = arith.constant 0 : i32
    %distance = arith.subi %q, %k : i32
    %past = arith.cmpi sge, %distance, %zero : i32
    %near = arith.cmpi slt, %distance, %window : i32
    %visible = arith.andi %past, %near : i1
    attn.yield %visible : i1
  }""",
    "documents": """
  %doc = attn.table "doc" : !attn.table<i32, [position]> {sample = [0 : i32, 5 : i32], sorted}
  attn.hook mask(%b, %h, %q, %k) {
    %dq = attn.read %doc[%q] : !attn.table<i32, [position]>
    %dk = attn.read %doc[%k] : !attn.table<i32, [position]>
    %same = arith.cmpi eq, %dq, %dk : i32
    %past = arith.cmpi sge, %q, %k : i32
    %visible = arith.andi %same, %past : i1
    attn.yield %visible : i1
  }""",
}

SCORES = {
    "plain": "",
    "softcap": """
  attn.hook score(%s, %b, %h, %q, %k) {
    %cap = arith.constant 50.0 : f32
    %x = arith.divf %s, %cap : f32
    %t = math.tanh %x fastmath<afn> : f32
    %y = arith.mulf %cap, %t : f32
    attn.yield %y : f32
  }""",
    "alibi": """
  %slope = attn.table "slope" : !attn.table<f32, [head]> {sample = [0.001 : f32, 0.5 : f32]}
  attn.hook score(%s, %b, %h, %q, %k) {
    %m = attn.read %slope[%h] : !attn.table<f32, [head]>
    %d = arith.subi %k, %q : i32
    %f = arith.sitofp %d : i32 to f32
    %y = math.fma %m, %f, %s : f32
    attn.yield %y : f32
  }""",
}

TEXT = """\
!Q = !attn.tensor<query, {element}, heads = {heads}, dim = {dim}, {storage}>
!K = !attn.tensor<key, {element}, heads = {kv_heads}, dim = {dim}, {storage}>
!V = !attn.tensor<value, {element}, heads = {kv_heads}, dim = {dim}, {storage}>
!O = !attn.tensor<output, {element}, heads = {heads}, dim = {dim}, {storage}>
!L = !attn.tensor<lse, f32, heads = {heads}, dim = 1, {storage}>

attn.variant @variant {{{mask}{score}
}}

attn.kernel @prefill(%q: !Q, %k: !K, %v: !V, %scale: f32) {{
  %o, %lse = attn.attention %q, %k, %v, %scale variant(@variant) : (!Q, !K, !V) -> (!O, !L)
  attn.return %o, %lse : !O, !L
}}
"""


def name(dim, mask, heads, kv_heads, element="bf16", score="plain", storage="dense"):
    parts = ["prefill", f"d{dim}", mask, f"h{heads}x{kv_heads}", element]
    parts += [score] * (score != "plain") + [storage] * (storage != "dense")
    return "-".join(parts)


def text(dim, mask, heads, kv_heads, element="bf16", score="plain", storage="dense"):
    return TEXT.format(dim=dim, heads=heads, kv_heads=kv_heads, element=element, storage=storage,
                       mask=MASKS[mask], score=SCORES[score])


def all_kernels(hidden=2048):
    """The arguments of `name` and `text` for every timed kernel."""
    for dim in (64, 128, 256):
        heads = hidden // dim
        for mask in ("dense", "causal"):
            for element in ("bf16", "f16"):
                yield {"dim": dim, "mask": mask, "heads": heads, "kv_heads": heads,
                       "element": element}
    for mask in ("dense", "causal"):
        yield {"dim": 128, "mask": mask, "heads": 32, "kv_heads": 8, "storage": "ragged"}
        yield {"dim": 128, "mask": mask, "heads": 16, "kv_heads": 16, "storage": "ragged"}
    for mask in ("window", "documents"):
        yield {"dim": 128, "mask": mask, "heads": 16, "kv_heads": 16}
    for dim in (64, 128):
        for score in ("softcap", "alibi"):
            yield {"dim": dim, "mask": "causal", "heads": hidden // dim,
                   "kv_heads": hidden // dim, "score": score}


def main():
    parser = argparse.ArgumentParser(description=__doc__,
                                     formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("folder", type=pathlib.Path)
    parser.add_argument("--target", help="compile for these targets")
    parser.add_argument("--attnc", default="build/bin/attnc")
    parser.add_argument("--schedule", default="", help="override fields of the schedule")
    parser.add_argument("--label", default="", help="of the bundles, e.g. exact")
    parser.add_argument("--only", default="", help="names that contain this")
    options = parser.parse_args()
    options.folder.mkdir(parents=True, exist_ok=True)

    def make(kernel):
        source = options.folder / f"{name(**kernel)}.mlir"
        source.write_text(text(**kernel))
        if not options.target:
            return ""
        label = f"@{options.label}" * bool(options.label)
        done = subprocess.run([options.attnc, source, f"--target={options.target}", "-o",
                               source.with_name(f"{source.stem}{label}.attn")] +
                              [f"--schedule={options.schedule}"] * bool(options.schedule),
                              capture_output=True, text=True)
        return f"{source.stem}: {done.stderr.strip()}" if done.returncode else ""

    chosen = [kernel for kernel in all_kernels() if options.only in name(**kernel)]
    with concurrent.futures.ThreadPoolExecutor(2) as pool:
        failed = [error for error in pool.map(make, chosen) if error]
    print("\n".join(failed + [f"{len(chosen) - len(failed)} of {len(chosen)} kernels"]))
    return bool(failed)


if __name__ == "__main__":
    raise SystemExit(main())
