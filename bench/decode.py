"""Few rows against many keys: decoding and short suffixes, in one process on one GPU.

    decode.py BUNDLE... [--batches 1x64:4096,4x64:4096,1x1:32768] [--rounds 5] [--json FILE]

A bundle holds a ragged causal kernel of kernels.py (prefill-d128-causal-h32x8-bf16-ragged);
a batch QxN:K is N requests of Q queries and K keys each.  In each: random inputs, the output
poisoned, rows of the first and the last request compared with a float32 reference; then every
specialisation, and what the runtime chooses, with the default plan and with max_splits = 1,
in random order; the figure is the median over the rounds of 20 launches timed by events,
without graphs.  TB/s counts each key and value once.
"""

import argparse
import json
import pathlib
import random
import statistics
import sys

import torch

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parent.parent / "python"))
import attn_mlir  # noqa: E402

LAUNCHES = 20
LIMIT = 4e-3


def parse(text):
    """[(queries, requests, keys)] of QxN:K,.."""
    batches = []
    for part in text.split(","):
        rows, keys = part.split(":")
        queries, requests = rows.split("x")
        batches.append((int(queries), int(requests), int(keys)))
    return batches


def error(o, q, k, v, queries, keys, group):
    """Relative error of one request's rows: o, q [queries, heads, dim], k, v [keys, ..]."""
    k, v = (t.float().repeat_interleave(group, 1) for t in (k, v))
    scores = torch.einsum("qhd,khd->hqk", q.float(), k) * q.shape[-1] ** -0.5
    last = torch.arange(queries, device=q.device)[:, None] + keys - queries
    scores.masked_fill_(torch.arange(keys, device=q.device)[None] > last, float("-inf"))
    wanted = torch.einsum("hqk,khd->qhd", torch.softmax(scores, -1), v)
    return float((o.float() - wanted).norm() / wanted.norm())


def milliseconds(launch):
    begin, end = (torch.cuda.Event(enable_timing=True) for _ in range(2))
    launch()
    begin.record()
    for _ in range(LAUNCHES):
        launch()
    end.record()
    torch.cuda.synchronize()
    return begin.elapsed_time(end) / LAUNCHES


def measure(device, path, batch, rounds):
    """Records of one bundle and batch."""
    queries, requests, keys = batch
    bundle = attn_mlir.Bundle(str(path))
    first = attn_mlir.Kernel(device, bundle, "prefill", q_len=queries, kv_len=keys)
    heads, kv_heads, dim = first.info.heads, first.info.kv_heads, first.info.dim
    q, o = (torch.randn(queries * requests, heads, dim, device="cuda", dtype=torch.bfloat16)
            for _ in range(2))
    k, v = (torch.randn(keys * requests, kv_heads, dim, device="cuda", dtype=torch.bfloat16)
            for _ in range(2))
    lse = torch.empty(queries * requests, heads, device="cuda")
    candidates, records = [], []
    for index in range(len(first.info.specialisations)):
        kernel = attn_mlir.Kernel(device, bundle, "prefill", specialisation=index)
        for splits in (0, 1):
            plan = attn_mlir.Plan(kernel)
            info = plan.plan(q_lens=[queries] * requests, kv_lens=[keys] * requests,
                             max_splits=splits)
            launch = plan.bind(q, k, v, o, lse, stream=torch.cuda.current_stream().cuda_stream)
            o.fill_(float("nan"))
            launch()
            torch.cuda.synchronize()
            worst = max(error(o[r * queries:(r + 1) * queries], q[r * queries:(r + 1) * queries],
                              k[r * keys:(r + 1) * keys], v[r * keys:(r + 1) * keys],
                              queries, keys, heads // kv_heads) for r in (0, requests - 1))
            records.append({"bundle": path.name, "specialisation": index,
                            "chosen": index == first.chosen, "max_splits": splits,
                            "items": info.items, "merges": info.merges, "queries": queries,
                            "requests": requests, "keys": keys, "error": worst,
                            "ok": worst <= LIMIT and not bool(o.isnan().any())})
            candidates.append((launch, kernel, plan))
    times = [[] for _ in candidates]
    for _ in range(rounds):
        for i in random.sample(range(len(candidates)), len(candidates)):
            times[i].append(milliseconds(candidates[i][0]))
    size = 2.0 * keys * requests * kv_heads * dim * 2
    for record, values in zip(records, times, strict=True):
        record["us"] = 1e3 * statistics.median(values)
        record["tb_s"] = size / record["us"] * 1e-6
        print(f"{path.name} {queries}x{requests}:{keys} #{record['specialisation']}"
              f"{'*' if record['chosen'] else ' '} max_splits={record['max_splits']} "
              f"{record['items']} items {record['merges']} merges {record['us']:8.1f} us "
              f"{record['tb_s']:.2f} TB/s {'' if record['ok'] else 'WRONG'} {record['error']:.1e}",
              flush=True)
    return records


def main():
    parser = argparse.ArgumentParser(description=__doc__,
                                     formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("bundles", type=pathlib.Path, nargs="+")
    parser.add_argument("--batches", type=parse,
                        default=parse("1x64:4096,4x64:4096,1x16:16384,1x1:32768"))
    parser.add_argument("--rounds", type=int, default=5)
    parser.add_argument("--json", type=pathlib.Path)
    given = parser.parse_args()
    records = []
    with attn_mlir.Device("cuda:0") as device:
        for batch in given.batches:
            for path in given.bundles:
                records += measure(device, path, batch, given.rounds)
    if given.json:
        given.json.write_text(json.dumps(records, indent=1))
    return not all(record["ok"] for record in records)


if __name__ == "__main__":
    raise SystemExit(main())
