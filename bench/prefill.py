"""Prefill beside PyTorch's kernels, in one process on one GPU.

    prefill.py BUNDLES OUT [--dims 64,128 --masks dense,causal --seqs 512,...,16384]
               [--scores plain,softcap,alibi] [--flex] [--ragged] [--prototype FOLDER]
               [--uneven 1024x8192,128x16384] [--inputs random,rising,late-peak] [--whole]

A cell is (head dim, mask, tokens a request) with 16k tokens and a hidden size of
2048 in all.  In each: random inputs, the output poisoned, every candidate compared
with a float32 reference on a sample of heads and rows; then each candidate runs
alone (25 ms to settle, 50 ms timed by events), in random order, in 3 rounds; the
figure is the median.  A power-limited GPU makes anything shorter a lie.  Clocks of a
launch are read beside the time (clock.py): utilisation = flops of visible pairs / (SMs x
4096 x clocks).

--flex adds FlexAttention, compiled for the shape; --ragged times batches of uneven lengths
(Zipf, 16k tokens in all) of 16/16 and 32/8 heads, which count as TFLOP/s of visible pairs.
--uneven QxK,..: cells with Q queries and K keys a request, the last query at the last key;
cuDNN is a peer of the dense ones only.
--inputs: rising and late-peak are worst cases of a frozen softmax reference
(shapes.py); with bundles NAME.attn and NAME@exact.attn (kernels.py --schedule) the time over
that of the exact loop is printed and recorded as over_exact.

BUNDLES holds NAME.attn (names of kernels.py), and NAME@LABEL.attn for variants to compare.
--whole: times each kernel also with a plan that splits nothing (the last wave over keys).
--prototype: a folder with the hand-generated kernels (NAME.json, NAME.cubin) that the
compiler is held against.

Writes OUT/prefill.json (one record a candidate and cell) and prints a table with the
ratio to the fastest peer.
"""

import argparse
import ctypes
import functools
import itertools
import json
import pathlib
import random
import statistics
import sys

import torch
import torch.nn.functional as functional
from torch.nn.attention import SDPBackend, sdpa_kernel
from torch.nn.attention.bias import causal_lower_right

import clock
import kernels
import shapes

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parent.parent / "python"))
import attn_mlir  # noqa: E402

TORCH = {"bf16": torch.bfloat16, "f16": torch.float16}
LIMIT = {"bf16": 4e-3, "f16": 6e-4}
PEERS = {"cudnn": SDPBackend.CUDNN_ATTENTION, "flash": SDPBackend.FLASH_ATTENTION}


CAP = 50.0


@functools.lru_cache(None)
def alibi_slopes(heads):
    """ALiBi's slopes, 2^(-8 (h + 1) / heads)."""
    return torch.exp2(-8.0 * torch.arange(1, heads + 1, device="cuda") / heads)


# The tables of bench/kernels.py by name, of heads and keys: the slopes of ALiBi; documents
# of one number, whose blocks are those of the causal mask.
TABLES = {
    "slope": lambda heads, keys: alibi_slopes(heads),
    "doc": lambda heads, keys: attn_mlir.Table(
        torch.zeros(keys, device="cuda", dtype=torch.int32), torch.zeros(keys, dtype=torch.int32)),
}


class Ours:
    """One specialisation of a bundle on tensors of shape [batch, heads, tokens, dim]."""

    def __init__(self, device, bundle, index, q, k, v, o, lse, max_splits=0):
        batch, _, tokens, _ = q.shape
        self.kernel = attn_mlir.Kernel(device, bundle, "prefill", specialisation=index)
        self.plan = attn_mlir.Plan(self.kernel)
        tables = {table.name: TABLES[table.name](q.shape[1], k.shape[2])
                  for table in self.kernel.info.tables}
        self.plan.plan(q_lens=[tokens] * batch, kv_lens=[k.shape[2]] * batch,
                       max_splits=max_splits, tables=tables)
        self.launch = self.plan.bind(*(tensor.transpose(1, 2) for tensor in (q, k, v, o, lse)),
                                     tables=tables,
                                     stream=torch.cuda.current_stream().cuda_stream)

    def __call__(self):
        self.launch()


class Prototype:
    """A hand-generated kernel; see its own run script for the arguments."""

    def __init__(self, folder, tag, q, k, v, o, lse):
        from cuda.bindings import driver
        self.cu = driver
        self.meta = json.loads((folder / f"{tag}.json").read_text())
        module = self.check(driver.cuModuleLoadData((folder / f"{tag}.cubin").read_bytes()))
        self.function = self.check(driver.cuModuleGetFunction(module, b"fa"))
        attribute = driver.CUfunction_attribute.CU_FUNC_ATTRIBUTE_MAX_DYNAMIC_SHARED_SIZE_BYTES
        self.check(driver.cuFuncSetAttribute(self.function, attribute, self.meta["smem"]))
        self.counters = torch.zeros(1 << 20, device="cuda", dtype=torch.int32)
        self.used = 0
        batch, heads, tokens, dim = q.shape
        causal = self.meta["causal"]
        self.maps = [self.tensor_map(q, self.meta["m"]), self.tensor_map(k, self.meta["n"]),
                     self.tensor_map(v, self.meta["n"])]
        tiles = -(-tokens // self.meta["m"])
        most = max(1, (64 << 20) // (tokens * dim * 4)) if causal else 1
        group = max(g for g in range(1, min(most, batch * heads) + 1) if batch * heads % g == 0)
        self.ctas = min(tiles * batch * heads, 132)
        self.values = ([ctypes.c_uint64(t.data_ptr()) for t in (o, lse)] + [ctypes.c_uint64(0)] +
                       [ctypes.c_int32(x) for x in (tokens, tokens, tiles, tiles * batch * heads,
                                                    group, 1)] +
                       [ctypes.c_float(dim ** -0.5 * 1.4426950408889634)])
        pointers = ([int(m.getPtr()) for m in self.maps] +
                    [ctypes.addressof(value) for value in self.values])
        self.args = (ctypes.c_void_p * len(pointers))(*pointers)

    def check(self, result):
        if int(result[0]):
            raise RuntimeError(str(result[0]))
        return result[1] if len(result) > 1 else None

    def tensor_map(self, tensor, rows):
        cu, (batch, heads, tokens, dim) = self.cu, tensor.shape
        u64, u32 = cu.cuuint64_t, cu.cuuint32_t
        return self.check(cu.cuTensorMapEncodeTiled(
            cu.CUtensorMapDataType.CU_TENSOR_MAP_DATA_TYPE_BFLOAT16, 4, tensor.data_ptr(),
            [u64(x) for x in (64, tokens, dim // 64, batch * heads)],
            [u64(x) for x in (dim * 2, 128, tokens * dim * 2)],
            [u32(x) for x in (64, rows, dim // 64, 1)], [u32(1)] * 4,
            cu.CUtensorMapInterleave.CU_TENSOR_MAP_INTERLEAVE_NONE,
            cu.CUtensorMapSwizzle.CU_TENSOR_MAP_SWIZZLE_128B,
            cu.CUtensorMapL2promotion.CU_TENSOR_MAP_L2_PROMOTION_L2_128B,
            cu.CUtensorMapFloatOOBfill.CU_TENSOR_MAP_FLOAT_OOB_FILL_NONE))

    def __call__(self):
        # A launch counts its tiles in a word of its own; the end of the buffer
        # keeps the cycles of each CTA.
        self.values[2].value = self.counters.data_ptr() + 4 * (self.used % 65536)
        if self.used % 65536 == 65535:
            self.counters.zero_()
        self.used += 1
        self.check(self.cu.cuLaunchKernel(
            self.function, self.ctas, 1, 1, self.meta["threads"], 1, 1, self.meta["smem"],
            torch.cuda.current_stream().cuda_stream, ctypes.addressof(self.args), 0))


def flex(q, k, v, mask, score, window):
    """FlexAttention for the shape, compiled; a call."""
    from torch.nn.attention.flex_attention import create_block_mask, flex_attention
    tokens, keys, slope = q.shape[2], k.shape[2], alibi_slopes(q.shape[1])
    offset = keys - tokens

    def visible(b, h, i, j):
        i = i + offset
        near = i >= j
        return near & (i - j < window) if mask == "window" else near

    def softcap(s, b, h, i, j):
        return CAP * torch.tanh(s / CAP)

    def alibi(s, b, h, i, j):
        return s + slope[h] * (j - i - offset)

    block_mask = None if mask == "dense" else create_block_mask(visible, None, None, tokens, keys,
                                                                device="cuda")
    torch._dynamo.reset()  # or it stops compiling after a few shapes
    compiled = torch.compile(flex_attention, dynamic=False)
    modifier = {"plain": None, "softcap": softcap, "alibi": alibi}[score]
    return lambda: compiled(q, k, v, score_mod=modifier, block_mask=block_mask)


def errors(o, lse, q, k, v, mask, window, score="plain"):
    """Relative error of the output and largest LSE error, on a sample of heads and rows."""
    batch, heads, tokens, dim = q.shape
    rows = torch.randperm(tokens, device="cuda")[:256]
    at = rows + (k.shape[2] - tokens)  # positions: the last query stands at the last key
    group = heads // k.shape[1]
    out = ref = lse_error = 0.0
    for _ in range(4):
        b, h = random.randrange(batch), random.randrange(heads)
        keys, values = k[b, h // group].float(), v[b, h // group].float()
        scores = q[b, h, rows].float() @ keys.T * dim ** -0.5
        position = torch.arange(k.shape[2], device="cuda")
        if score == "softcap":
            scores = CAP * torch.tanh(scores / CAP)
        if score == "alibi":
            scores += alibi_slopes(heads)[h] * (position[None] - at[:, None])
        if mask != "dense":
            hidden = position[None] > at[:, None]
            if mask == "window":
                hidden |= at[:, None] - position[None] >= window
            scores.masked_fill_(hidden, float("-inf"))
        # Rows without a key: 0 and -inf.
        wanted = torch.softmax(scores, -1).nan_to_num(0.0) @ values
        out += float((o[b, h, rows].float() - wanted).square().sum())
        ref += float(wanted.square().sum())
        if lse is not None:
            wanted = torch.logsumexp(scores, -1)
            same = lse[b, h, rows] == wanted
            difference = (lse[b, h, rows] - wanted).masked_fill_(same, 0.0).abs().max()
            lse_error = max(lse_error, float(difference))
    return (out / ref) ** 0.5, lse_error


def milliseconds(calls, rounds):
    """Median time of each call, by the method of the module's text."""
    def event():
        return torch.cuda.Event(enable_timing=True)

    once = {}
    for name, call in calls:
        call()
        begin, end = event(), event()
        begin.record()
        call()
        end.record()
        torch.cuda.synchronize()
        once[name] = max(0.01, begin.elapsed_time(end))
    medians = {name: [] for name, _ in calls}
    for _ in range(rounds):
        for name, call in random.sample(calls, len(calls)):
            for _ in range(int(25 / once[name]) + 1):
                call()
            pairs = []
            for _ in range(int(50 / once[name]) + 1):
                begin, end = event(), event()
                begin.record()
                call()
                end.record()
                pairs.append((begin, end))
            torch.cuda.synchronize()
            medians[name].append(statistics.median(a.elapsed_time(b) for a, b in pairs))
    return {name: statistics.median(times) for name, times in medians.items()}


def clocks(call, ms):
    """Clocks of the SMs for one launch, over 50 ms of them."""
    sms = torch.cuda.get_device_properties(0).multi_processor_count
    stamps = torch.zeros(2, sms, dtype=torch.int64, device="cuda")
    launches = int(50 / ms) + 1
    stamper = clock_of(sms)
    stream = torch.cuda.current_stream().cuda_stream
    for _ in range(int(10 / ms) + 1):
        call()
    stamper.stamp(stamps[0].data_ptr(), stream)
    for _ in range(launches):
        call()
    stamper.stamp(stamps[1].data_ptr(), stream)
    return clock.clocks_between(*stamps.tolist(), launches)


@functools.lru_cache(None)
def clock_of(sms):
    return clock.Clock(sms)


def raise_scores(q, k, kind):
    """Turns random inputs into those of shapes.heights, by column 0 of q and k."""
    heights = shapes.heights(kind, k.shape[2])
    if heights is None:
        return
    step = 16.0
    q[..., 0] = step
    k[..., 0] = torch.tensor(heights, device="cuda") / (step * q.shape[3] ** -0.5)


def over_exact(times):
    """{candidate: time over that of the same kernel with the exact loop}."""
    exact = [ms for name, ms in times.items() if name.startswith("ours") and "exact" in name]
    return {name: ms / min(exact) for name, ms in times.items()
            if exact and name.startswith("ours") and "exact" not in name}


def cell(device, options, dim, mask, seq, element, score, inputs="random", keys=None):
    """Times one shape: `seq` queries and `keys` keys (None: as many) a request."""
    keys = keys or seq
    batch, heads = max(1, 16384 // max(seq, keys)), 2048 // dim
    q, k, v = (torch.randn(batch, heads, tokens, dim, device="cuda", dtype=TORCH[element])
               for tokens in (seq, keys, keys))
    raise_scores(q, k, inputs)
    o, lse = torch.empty_like(q), torch.empty(batch, heads, seq, device="cuda")
    causal = mask != "dense"
    shape = f"{seq}" if keys == seq else f"{seq}x{keys}"
    about = {"dim": dim, "mask": mask, "score": score, "element": element, "seq": seq,
             "keys": keys, "inputs": inputs}
    calls, skipped = [], {}

    def try_add(name, make):
        try:
            call = make()
            call()
            torch.cuda.synchronize()
            calls.append((name, call))
        except (RuntimeError, attn_mlir.AttnError) as error:
            skipped[name] = str(error)[:200]

    name = kernels.name(dim, mask, heads, heads, element, score)
    for path in [options.bundles / f"{name}.attn", *sorted(options.bundles.glob(f"{name}@*.attn"))]:
        if not path.exists():
            continue
        bundle = attn_mlir.Bundle(str(path))
        label = path.stem.partition("@")[2]
        for index, form in enumerate(bundle.kernel("prefill").specialisations):
            if form.target != "cpu":
                for whole in (False, True)[:1 + options.whole]:
                    try_add(" ".join(["ours", form.target, f"#{index}", label, "whole" * whole])
                            .strip(),
                            lambda b=bundle, i=index, w=whole:
                            Ours(device, b, i, q, k, v, o, lse, max_splits=int(w)))
    common = score == "plain" and mask in ("dense", "causal")
    if options.prototype and element == "bf16" and common and keys == seq:
        for meta in sorted(options.prototype.glob("*.json")):
            facts = json.loads(meta.read_text())
            if facts["d"] == dim and bool(facts["causal"]) == causal and facts["opt"] and \
                    facts.get("limit", 1):
                try_add(f"prototype {meta.stem}",
                        lambda t=meta.stem: Prototype(options.prototype, t, q, k, v, o, lse))
    result = {}

    def peer(backend):
        # is_causal puts the first query at the first key.
        uneven = causal and keys != seq
        bias = causal_lower_right(seq, keys) if uneven else None

        def call():
            with sdpa_kernel(backend):
                result["o"] = functional.scaled_dot_product_attention(
                    q, k, v, attn_mask=bias, is_causal=causal and not uneven)
        return call

    if common:
        for name, backend in PEERS.items():
            if name == "cudnn" and causal and keys != seq:
                continue  # takes no such mask
            try_add(name, lambda b=backend: peer(b))
    if options.flex:
        def flex_peer():
            run = flex(q, k, v, mask, score, shapes.WINDOW)

            def call():
                result["o"] = run()
            return call
        try_add("flex", flex_peer)
    wrong = {}
    for name, call in calls:
        o.fill_(float("nan"))
        lse.fill_(float("nan"))
        call()
        torch.cuda.synchronize()
        own = name not in PEERS and name != "flex"
        got = o if own else result["o"]
        error = errors(got, lse if own else None, q, k, v, mask, shapes.WINDOW, score)
        # f32 keeps 24 bits of a score.
        highest = max(shapes.heights(inputs, keys) or [0.0])
        ok = error[0] <= LIMIT[element] and error[1] <= 2e-3 + 2e-6 * highest and \
            not bool(got.isnan().any())
        wrong[name] = (*error, ok)
    times = milliseconds(calls, options.rounds)
    flops = 4 * batch * heads * dim * shapes.visible_pairs(mask, seq, keys)
    peers = [times[name] for name in times if name in PEERS or name == "flex"]
    calls, worse = dict(calls), over_exact(times)
    sms = torch.cuda.get_device_properties(0).multi_processor_count
    records = []
    for name, ms in sorted(times.items(), key=lambda item: item[1]):
        error, lse_error, ok = wrong[name]
        cycles = clocks(calls[name], ms)
        record = {"candidate": name, **about, "ms": ms, "tflops": flops / ms * 1e-9,
                  "cycles": cycles, "utilisation": shapes.utilisation(flops, sms, cycles),
                  "error": error, "lse_error": lse_error, "ok": ok,
                  "ratio": min(peers) / ms if peers else None}
        if name in worse:
            record["over_exact"] = worse[name]
        records.append(record)
        ratio = f"x{record['ratio']:.3f}" if peers else ""
        exact = f" {worse[name]:.3f} of exact" if name in worse else ""
        what = "" if inputs == "random" else f"{inputs} "
        print(f"{element} d{dim} {mask} {score} {what}{shape:>6} {record['tflops']:7.1f} TFLOP/s "
              f"{ratio:>7} util {record['utilisation']:.3f}{exact} "
              f"{'' if ok else f'WRONG {error:.3g} {lse_error:.3g} '}{name}", flush=True)
    for name, reason in skipped.items():
        print(f"{element} d{dim} {mask} {shape:>6} skipped {name}: {reason}", flush=True)
        records.append({"candidate": name, **about, "error": reason})
    return records


def zipf(count, total, longest, seed=1):
    """Lengths whose frequencies follow Zipf's law, `total` tokens in all."""
    source = random.Random(seed)
    lengths = [int(longest / source.uniform(1, longest / 64)) for _ in range(count)]
    scale = total / sum(lengths)
    return [max(1, int(length * scale)) for length in lengths]


def ragged(device, options, mask, heads, kv_heads, lengths):
    """One kernel of head dim 128 on a batch of uneven lengths, against float32 a request."""
    path = options.bundles / (kernels.name(128, mask, heads, kv_heads, storage="ragged") + ".attn")
    if not path.exists():
        return []
    total = sum(lengths)
    q, o = (torch.randn(total, heads, 128, device="cuda", dtype=torch.bfloat16) for _ in range(2))
    k, v = (torch.randn(total, kv_heads, 128, device="cuda", dtype=torch.bfloat16)
            for _ in range(2))
    lse = torch.empty(total, heads, device="cuda")
    with attn_mlir.Bundle(str(path)) as bundle, \
            attn_mlir.Kernel(device, bundle, "prefill",
                             q_len=max(lengths), kv_len=max(lengths)) as kernel, \
            attn_mlir.Plan(kernel) as plan:
        plan.plan(q_lens=lengths, kv_lens=lengths)
        launch = plan.bind(q, k, v, o, lse, stream=torch.cuda.current_stream().cuda_stream)
        o.fill_(float("nan"))
        launch()
        torch.cuda.synchronize()
        worst, begin = (0.0, 0.0), 0
        for length in lengths:
            part = slice(begin, begin + length)
            got = [t[part].transpose(0, 1)[None] for t in (o, lse, q, k, v)]
            worst = tuple(map(max, worst, errors(*got, mask, shapes.WINDOW)))
            begin += length
        ms = milliseconds([("ours", launch)], options.rounds)["ours"]
    pairs = sum(n * n if mask == "dense" else n * (n + 1) / 2 for n in lengths)
    tflops = 4 * heads * 128 * pairs / ms * 1e-9
    ok = worst[0] <= LIMIT["bf16"] and worst[1] <= 2e-3 and not bool(o.isnan().any())
    label = f"{len(lengths)} requests of {min(lengths)} to {max(lengths)}"
    print(f"bf16 d128 {mask} {heads}/{kv_heads} heads, {label}: {ms:.3f} ms {tflops:.1f} TFLOP/s "
          f"{'' if ok else f'WRONG {worst}'}", flush=True)
    return [{"candidate": "ours ragged", "dim": 128, "mask": mask, "heads": heads,
             "kv_heads": kv_heads, "lengths": lengths, "ms": ms, "tflops": tflops,
             "error": worst[0], "lse_error": worst[1], "ok": ok}]


def main():
    def names(text):
        return text.split(",")

    def numbers(text):
        return [int(part) for part in text.split(",") if part]

    parser = argparse.ArgumentParser(description=__doc__,
                                     formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("bundles", type=pathlib.Path)
    parser.add_argument("out", type=pathlib.Path)
    parser.add_argument("--dims", type=numbers, default=[64, 128, 256])
    parser.add_argument("--masks", type=names, default=["dense", "causal"])
    parser.add_argument("--scores", type=names, default=["plain"])
    parser.add_argument("--elements", type=names, default=["bf16"])
    parser.add_argument("--seqs", type=numbers, default=[512, 1024, 2048, 4096, 8192, 16384])
    parser.add_argument("--rounds", type=int, default=3)
    parser.add_argument("--flex", action="store_true")
    parser.add_argument("--ragged", action="store_true")
    parser.add_argument("--inputs", type=names, default=["random"])
    parser.add_argument("--uneven", type=shapes.uneven, default=[])
    parser.add_argument("--prototype", type=pathlib.Path)
    parser.add_argument("--whole", action="store_true", help="beside each plan one without splits")
    options = parser.parse_args()
    for kind in options.inputs:
        if kind not in shapes.INPUTS:
            parser.error(f"unknown inputs {kind} (known: {', '.join(shapes.INPUTS)})")
    torch.backends.cuda.matmul.allow_tf32 = False
    options.out.mkdir(parents=True, exist_ok=True)
    print(f"{torch.cuda.get_device_name()}, torch {torch.__version__}, "
          f"cudnn {torch.backends.cudnn.version()}")
    records = []
    with attn_mlir.Device("cuda:0") as device:
        sizes = [(seq, None) for seq in options.seqs] + options.uneven
        for element, score, dim, mask, inputs, (seq, keys) in itertools.product(
                options.elements, options.scores, options.dims, options.masks, options.inputs,
                sizes):
            records += cell(device, options, dim, mask, seq, element, score, inputs, keys)
            (options.out / "prefill.json").write_text(json.dumps(records, indent=1))
        if options.ragged:
            for mask in options.masks:
                for heads, kv_heads in ((16, 16), (32, 8)):
                    for lengths in ([4096] * 4, [16384], zipf(24, 16384, 8192)):
                        records += ragged(device, options, mask, heads, kv_heads, lengths)
            (options.out / "prefill.json").write_text(json.dumps(records, indent=1))
    return not all(record.get("ok", False) for record in records if "ms" in record)


if __name__ == "__main__":
    raise SystemExit(main())
