"""The specialisations of a problem on one target: schedules and PTX out of a bundle."""

import csv
import re
import subprocess


def field(schedule, name):
    """A number or word of a schedule's text, e.g. tile_q, softmax."""
    return re.search(rf"\b{name} = \"?([a-z0-9_]+)", schedule)[1]


def depth(schedule, channel):
    """Slots of a channel."""
    channels = re.search(r"channels = {(.*?)}", schedule)[1]
    return int(re.search(rf"\b{channel} = (\d+)", channels)[1])


def replicas(schedule):
    """Replicas of the computing role."""
    return int(re.search(r'"(?:compute|all)", warps = \d+, replicas = (\d+)', schedule)[1])


def threads(schedule):
    """Threads of a CTA; roles beside others begin at a warpgroup."""
    roles = [int(warps) * int(count) for warps, count in
             re.findall(r"warps = (\d+), replicas = (\d+)", schedule)]
    return 32 * (roles[0] if len(roles) == 1 else sum(-(-warps // 4) * 4 for warps in roles))


def specialisations(problem, target, out, schedule=""):
    """[(schedule, PTX)] of the one kernel of a problem; `out`.attn is written.

    Raises RuntimeError with the compiler's text.
    """
    bundle = f"{out}.attn"
    compiled = subprocess.run(
        ["attnc", str(problem), f"--target={target}", "--no-cubin", "-o", bundle] +
        [f"--schedule={schedule}"] * bool(schedule), capture_output=True, text=True)
    if compiled.returncode:
        raise RuntimeError(compiled.stderr)
    listed = subprocess.run(["attn-run", bundle, "--all-specialisations", "--csv",
                             "--batch=q=1;kv=1"], capture_output=True, text=True)
    schedules = [row["schedule"] for row in csv.DictReader(listed.stdout.splitlines())]
    data = open(bundle, "rb").read()
    # A bundle is written back to front; text has no end but its last brace.
    parts = [data[m.start():data.index(b"\0", m.start())]
             for m in re.finditer(rb"\.version \d", data)][::-1]
    texts = [part[:part.rindex(b"\n}") + 3].decode() for part in parts]
    pairs = list(zip(schedules, texts, strict=True))
    for name, text in pairs:
        found = int(re.search(r"\.reqntid (\d+)", text)[1])
        if found != threads(name):
            raise RuntimeError(f"{bundle}: {found} threads but {name}")
    return pairs
