"""Checks of bench/shapes.py, bench/clock.py and scripts/plot-prefill.py.

usage: bench.py BENCH SCRIPTS
"""

import importlib.util
import sys
from pathlib import Path


def load(path):
    spec = importlib.util.spec_from_file_location(path.stem.replace("-", "_"), path)
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


bench, scripts = Path(sys.argv[1]), Path(sys.argv[2])
sys.path.insert(0, str(scripts))  # what the scripts share
shapes, clock = load(bench / "shapes.py"), load(bench / "clock.py")
plot = load(scripts / "plot-prefill.py")


def pairs(mask, queries, keys, window):
    """By the definition, pair by pair."""
    total = 0
    for i in range(queries):
        for k in range(keys):
            distance = i + keys - queries - k
            total += (mask == "dense" or
                      distance >= 0 and (mask == "causal" or distance < window))
    return total


for mask in ("dense", "causal", "window"):
    for queries in (0, 1, 5, 9, 17):
        for keys in (0, 1, 5, 9, 30):
            assert shapes.visible_pairs(mask, queries, keys, 4) == pairs(mask, queries, keys, 4)
print("visible pairs as defined")

rising, peak = shapes.heights("rising", 100), shapes.heights("late-peak", 3)
assert rising[0] == 300 and rising[-1] == -300 and sorted(rising, reverse=True) == rising
assert peak == [1500, 0, 0] and shapes.heights("random", 3) is None
assert shapes.heights("rising", 1) == [300]
assert shapes.uneven("1024x8192,1x7") == [(1024, 8192), (1, 7)]
print("heights fall from the key met last")

# The third SM has no first stamp.
assert clock.clocks_between([10, 20, 0, 5], [110, 140, 500, 115], 2) == 55
assert shapes.utilisation(4096 * 132 * 1000, 132, 2000) == 0.5
try:
    clock.clocks_between([0], [5], 1)
    raise AssertionError("no stamp is no error")
except RuntimeError:
    pass
print("clocks are the median of the SMs with both stamps")

cell = {"dim": 64, "mask": "dense", "score": "plain", "element": "bf16", "seq": 512}
records = [{**cell, "candidate": "ours sm_90a #0", "tflops": 1.0},
           {**cell, "candidate": "ours sm_90a #1", "tflops": 3.0},
           {**cell, "candidate": "prototype fa64", "tflops": 2.0},
           {**cell, "candidate": "flex", "error": "not compiled"},
           {**cell, "candidate": "cudnn", "tflops": 9.0, "keys": 1024},
           {**cell, "candidate": "cudnn", "tflops": 9.0, "inputs": "rising"}]
assert plot.panels(records, "tflops", "bf16") == {
    (64, "dense", "plain"): {"ours sm_90a": {512: 3.0}, "prototype": {512: 2.0}}}
print("lines of the plot")
