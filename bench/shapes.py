"""What the benchmarks time: work of a shape, inputs that are hard on a softmax loop.

No dependency, so that test/Tools/bench.test can compare it with the definitions.
"""

WINDOW = 1024
#: Height of the scores that `heights` adds, in nats; the kernels' workload
#: (include/attn/Workload/Inputs.h) has the same.
RISING, PEAK = 300.0, 1500.0
INPUTS = ("random", "rising", "late-peak")


def visible_pairs(mask, queries, keys, window=WINDOW):
    """(q, k) pairs of one head that the mask shows; query i stands at i + keys - queries."""
    if mask == "dense":
        return queries * keys
    total = 0
    for row in range(queries):
        position = row + keys - queries
        seen = min(position, keys - 1) + 1
        if mask == "window":
            seen -= max(0, position - window + 1)
        total += max(0, seen)
    return total


def heights(kind, keys):
    """What the scores of each key are raised by; None for random inputs.

    The kernels meet keys from the last to the first, so `rising` grows towards key 0 and
    the one key of `late-peak` is met last.
    """
    if kind == "rising":
        return [RISING * (1 - 2 * j / max(1, keys - 1)) for j in range(keys)]
    if kind == "late-peak":
        return [PEAK] + [0.0] * (keys - 1)
    return None


def utilisation(flops, sms, cycles, flops_per_clock=4096):
    """Share of what the tensor units of `sms` SMs can do in `cycles` clocks; 4096 is the
    16-bit rate of one sm_90 SM."""
    return flops / (sms * flops_per_clock * cycles)


def uneven(text):
    """`1024x8192,1x16384` to [(queries, keys)]."""
    return [tuple(int(n) for n in part.split("x", 1)) for part in text.split(",")]
