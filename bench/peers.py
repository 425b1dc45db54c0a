"""Times PyTorch's attention kernels on the shapes of device.sh; JSON lines.

Median of 20 launches by CUDA events after 3 warm-up launches, random bf16
inputs, causal FLOPs counted as half of the square.
"""

import json
import statistics

import torch
from torch.nn.attention import SDPBackend, sdpa_kernel
from torch.nn.functional import scaled_dot_product_attention as sdpa


def median_ms(call):
    for _ in range(3):
        call()
    times = []
    for _ in range(20):
        begin, end = (torch.cuda.Event(enable_timing=True) for _ in range(2))
        begin.record()
        call()
        end.record()
        end.synchronize()
        times.append(begin.elapsed_time(end))
    return statistics.median(times)


def main():
    for batch, tokens, heads, kv_heads, dim in [(4, 4096, 32, 8, 128), (1, 16384, 32, 8, 128),
                                                (4, 4096, 16, 4, 64)]:
        q = torch.randn(batch, heads, tokens, dim, device="cuda", dtype=torch.bfloat16)
        k, v = (torch.randn(batch, kv_heads, tokens, dim, device="cuda", dtype=torch.bfloat16)
                for _ in range(2))
        flops = 4 * batch * heads * tokens * tokens * dim / 2
        for name, backend in [("flash", SDPBackend.FLASH_ATTENTION),
                              ("cudnn", SDPBackend.CUDNN_ATTENTION)]:
            try:
                with sdpa_kernel(backend):
                    ms = median_ms(lambda: sdpa(q, k, v, is_causal=True, enable_gqa=True))
            except RuntimeError as error:
                print(json.dumps({"peer": name, "error": str(error)[:200]}))
                continue
            print(json.dumps({"peer": name, "torch": torch.__version__, "batch": batch,
                              "tokens": tokens, "heads": heads, "kv_heads": kv_heads, "dim": dim,
                              "causal": True, "ms": ms, "tflops": flops / ms * 1e-9}))


main()
