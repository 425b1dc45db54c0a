"""The cpu target beside PyTorch's scaled_dot_product_attention, in one process.

    cpu.py [--attnc build/bin/attnc] [--threads 2] [--seq 2048] [--json FILE]

Batch 1, 8 heads; f32 and bf16, head dims 64 and 128, dense and causal.  Each result
is compared with float64 first; then both candidates run in turns, 7 rounds, and the
figure is the ratio of the medians (PyTorch's time / ours: above 1 we are faster).
"""

import argparse
import json
import os
import pathlib
import statistics
import subprocess
import sys
import tempfile
import time

import torch
from torch.nn.functional import scaled_dot_product_attention as sdpa

import kernels

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parent.parent / "python"))
import attn_mlir  # noqa: E402

TORCH = {"f32": torch.float32, "bf16": torch.bfloat16}
LIMIT = {"f32": 1e-5, "bf16": 4e-3}


def seconds(call):
    begin = time.perf_counter()
    call()
    return time.perf_counter() - begin


def compare(device, bundle, dim, mask, element, seq, rounds):
    q, k, v = (torch.randn(1, 8, seq, dim).to(TORCH[element]) for _ in range(3))
    o = torch.full_like(q, float("nan"))
    lse = torch.empty(1, 8, seq)
    with attn_mlir.Kernel(device, bundle, "prefill", element=element) as kernel, \
            attn_mlir.Plan(kernel) as plan:
        plan.plan(q_lens=[seq], kv_lens=[seq])
        args = [t.transpose(1, 2) for t in (q, k, v, o, lse)]

        def ours():
            plan.run(*args)

        def theirs():
            return sdpa(q, k, v, is_causal=mask == "causal")

        ours()
        wanted = sdpa(q.double(), k.double(), v.double(), is_causal=mask == "causal")
        error = float((o.double() - wanted).norm() / wanted.norm())
        theirs()
        times = [(seconds(ours), seconds(theirs)) for _ in range(rounds)]
    ms, peer_ms = (1e3 * statistics.median(t[i] for t in times) for i in range(2))
    flops = 4 * 8 * dim * seq * seq / (2 if mask == "causal" else 1)
    return {"dim": dim, "mask": mask, "element": element, "seq": seq, "ms": ms, "torch_ms": peer_ms,
            "gflops": flops / ms * 1e-6, "ratio": peer_ms / ms, "error": error,
            "ok": error <= LIMIT[element]}


def main():
    parser = argparse.ArgumentParser(description=__doc__,
                                     formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--attnc", default="build/bin/attnc")
    parser.add_argument("--threads", type=int, default=2)
    parser.add_argument("--seq", type=int, default=2048)
    parser.add_argument("--rounds", type=int, default=7)
    parser.add_argument("--json", type=pathlib.Path)
    options = parser.parse_args()
    torch.set_num_threads(options.threads)
    os.sched_setaffinity(0, sorted(os.sched_getaffinity(0))[:options.threads])
    records = []
    with tempfile.TemporaryDirectory() as folder, \
            attn_mlir.Device("cpu", threads=options.threads) as device:
        for dim in (64, 128):
            for mask in ("dense", "causal"):
                source = pathlib.Path(folder) / f"d{dim}-{mask}.mlir"
                source.write_text(kernels.text(dim, mask, 8, 8))
                bundle_path = source.with_suffix(".attn")
                subprocess.run([options.attnc, source, "--target=cpu", "-o", bundle_path],
                               check=True)
                bundle = attn_mlir.Bundle(str(bundle_path))
                for element in ("f32", "bf16"):
                    record = compare(device, bundle, dim, mask, element, options.seq,
                                     options.rounds)
                    records.append(record)
                    print(f"{element:5} d{dim:<4} {mask:7} {record['ms']:8.2f} ms "
                          f"{record['gflops']:7.1f} GFLOP/s  torch {record['torch_ms']:8.2f} ms  "
                          f"x{record['ratio']:.2f}  error {record['error']:.2g}", flush=True)
    print(f"torch {torch.__version__}, {options.threads} threads, worst ratio "
          f"{min(r['ratio'] for r in records):.2f}")
    if options.json:
        options.json.write_text(json.dumps(records, indent=1))
    return not all(record["ok"] for record in records)


if __name__ == "__main__":
    raise SystemExit(main())
