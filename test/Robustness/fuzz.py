#!/usr/bin/env python3
"""Damaged texts and passes out of order: diagnostics, never a crash.

usage: fuzz.py EXAMPLES [--cases=10000] [--seed=1] [--pairs=N] [--keep=FOLDER]

The texts are the kernels of the folder EXAMPLES for each target (or N pairs of both), as
they stand after every pass of the pipelines.  A case is one of

    mutant   a text with a few words or lines deleted, doubled, swapped, replaced by
             others of their kind or by numbers that are hard, run through the rest
             of the passes, in order, or only parsed and verified
    order    a text as it is, run through passes drawn at random
    attnc    a mutant of a kernel compiled by attnc for a target

attn-opt may say what it likes; a signal, a failed assertion, a report_fatal_error, or
a text that takes more than TIMEOUT seconds is a finding.  Texts go to attn-opt by the dozen
(--split-input-file); those of a run that ends badly are tried one by one.

The same seed gives the same cases in the same order.  Exits with 1 if there is a
finding; its text and command are left in FOLDER, one text for each place that fails.
"""

import argparse
import os
import random
import re
import resource
import signal
import subprocess
import sys
from pathlib import Path

TIMEOUT = 20  # seconds of CPU for one text
BATCH = 24  # texts a process
MEMORY = 8 << 30

TARGETS = ["cpu", "sm_80", "sm_90a"]
TILES = """module:attn-resolve-variant attn-verify-problem attn-derive-block-map
    attn-select-schedule attn-check-resources module:attn-tile attn-peel-classes attn-split-kv
    attn-expand-softmax attn-expand-segments attn-verify-tiles""".split()
GPU = """pipe-assign-roles pipe-insert-channels pipe-split-roles pipe-issue-products
    pipe-skew-products pipe-hand-over pipe-revisit pipe-skew pipe-receive-early pipe-verify-schedule module:pipe-to-frag frag:cse
    frag:frag-allocate-smem frag:frag-verify module:frag-to-nvvm""".split()
CPU = ["module:attn-to-cpu"]
ANCHORS = {"module": "", "frag": "frag.kernel", "attn": "attn.kernel"}


def pipeline(passes):
    parts = []
    for entry in passes:
        level, _, name = entry.rpartition(":")
        anchor = ANCHORS[level or "attn"]
        parts.append(f"{anchor}({name})" if anchor else name)
    return f"--pass-pipeline=builtin.module({','.join(parts)})"


def passes_of(target):
    return TILES + (CPU if target == "cpu" else GPU)


def run(command, text, seconds):
    """What went wrong, or None.  The limits are of CPU time: a machine may be busy."""
    def limit():
        resource.setrlimit(resource.RLIMIT_CPU, (seconds, seconds + 5))
        resource.setrlimit(resource.RLIMIT_CORE, (0, 0))
        if "ASAN_OPTIONS" not in os.environ:  # its shadow is terabytes of addresses
            resource.setrlimit(resource.RLIMIT_AS, (MEMORY, MEMORY))

    done = subprocess.run(command, input=text, capture_output=True, text=True, errors="replace",
                          preexec_fn=limit)
    if done.returncode in (-signal.SIGXCPU, -signal.SIGKILL):
        return f"takes more than {seconds} s of CPU"
    bad = re.search(r".*(LLVM ERROR|Assertion|Sanitizer:|runtime error:).*", done.stderr)
    if done.returncode in (0, 1) and not bad:
        return None
    frames = re.findall(r"^ *#\d+ 0x\w+ (?:in )?(.*attn.*?)(?: [(/]\S*| \S*:\d\S*)$", done.stderr, re.M)
    return (f"exit status {done.returncode}: {bad.group().strip() if bad else ''}"
            f" {' < '.join(f.split('(')[0] for f in frames[:3])}")


class Seeds:
    """Kernels and targets, and the texts of each after every pass."""

    def __init__(self, folder, rng, pairs):
        self.kernels = sorted(Path(folder).glob("*.mlir"))
        self.pairs = [(kernel, target) for kernel in self.kernels for target in TARGETS]
        if pairs:
            self.pairs = rng.sample(self.pairs, pairs)
        self.made = {}

    def stages(self, rng):
        """(target, texts) of one kernel: text i is that before pass i."""
        kernel, target = pair = rng.choice(self.pairs)
        if pair not in self.made:
            source = re.sub(r"(attn\.kernel [^{]*\)) \{", rf'\1 attributes {{target = "{target}"}} {{',
                            kernel.read_text())
            wanted = [name.rpartition(":")[2] for name in passes_of(target)]
            command = ["attn-opt", pipeline(passes_of(target)), "--mlir-disable-threading",
                       "--mlir-print-ir-module-scope", "--mlir-print-ir-after-all", "-o", "/dev/null"]
            done = subprocess.run(command, input=source, capture_output=True, text=True, check=True)
            # A pass over kernels dumps once a kernel; the last dump has them all.
            last = {}
            for dump in done.stderr.split("// -----// IR Dump After ")[1:]:
                head, _, text = dump.partition("\n")
                last[re.search(r"\(([\w-]+)\)", head)[1]] = text
            self.made[pair] = target, [source, *[last[name] for name in wanted]]
        return self.made[pair]


WORD = re.compile(r"""%[\w#:]+|[@!#^][\w.]+|[A-Za-z_][\w.]*|-?\d+(?:\.\d+(?:e[+-]?\d+)?)?|"[^"\n]*"|->|[^\s\w]""")
HARD = ["0", "-1", "1", "2", "3", "7", "48", "255", "4096", "65537", "2147483647", "-2147483648",
        "2147483648", "4294967296", "9223372036854775807", "99999999999999999999"]


def kind(word):
    if word[0] in '%@!#^"':
        return word[0]
    if re.match(r"-?\d", word):
        return "number"
    if "." in word:
        return "op"
    return "name" if word[0].isalpha() else "sign"


def damage_word(rng, text, other):
    """One word deleted, doubled, or replaced by one of its kind of either text."""
    at = rng.choice(list(WORD.finditer(text)))
    word = at.group()
    same = [w for w in WORD.findall(rng.choice([text, other])) if kind(w) == kind(word)] or [""]
    new = rng.choice(["", f"{word} {word}", rng.choice(same), rng.choice(same)])
    return text[:at.start()] + new + text[at.end():]


def damage_number(rng, text, _):
    at = rng.choice([w for w in WORD.finditer(text) if kind(w.group()) == "number"])
    return text[:at.start()] + rng.choice(HARD) + text[at.end():]


def damage_operand(rng, text, _):
    """One value for another that was used or made shortly before."""
    used = [w for w in WORD.finditer(text) if kind(w.group()) == "%"
            and "=" in text[text.rfind("\n", 0, w.start()) + 1:w.start()]]
    at = rng.choice(used)
    near = [w for w in WORD.findall(text[max(0, at.start() - 900):at.start()]) if kind(w) == "%"]
    return text[:at.start()] + rng.choice(near or [at.group()]) + text[at.end():]


def damage_everywhere(rng, text, _):
    """One word for another in the whole text, which still agrees with itself."""
    words = WORD.findall(text)
    word = rng.choice([w for w in words if kind(w) in ("number", "name", "op")])
    new = rng.choice([w for w in words if kind(w) == kind(word)])
    if kind(word) == "number" and rng.random() < 0.5:
        new = rng.choice(HARD)
    return re.sub(rf"(?<![\w.%]){re.escape(word)}(?![\w.])", lambda _: new, text)


def damage_lines(rng, text, other):
    lines = text.split("\n")
    i = rng.randrange(len(lines))
    way = rng.randrange(4)
    if way == 0:
        del lines[i]
    elif way == 1:
        lines.insert(i, rng.choice(lines))
    elif way == 2:
        lines.insert(i, rng.choice(other.split("\n")))
    else:
        j = rng.randrange(len(lines))
        lines[i], lines[j] = lines[j], lines[i]
    return "\n".join(lines)


def damage_order(rng, text, _):
    """Neighbours swapped, or an operation without results gone or doubled."""
    lines = text.split("\n")
    bare = [n for n, line in enumerate(lines)
            if re.match(r" +\w+\.(?!yield|return|condition)\w+ [^{}]*$", line)]
    whole = [n for n, line in enumerate(lines) if re.match(r" +%[^{}]*$", line)] + bare
    way = rng.randrange(3)
    if way == 0 or not bare:
        i = rng.choice(whole)
        lines[i - 1], lines[i] = lines[i], lines[i - 1]
    elif way == 1:
        del lines[rng.choice(bare)]
    else:
        i = rng.choice(bare)
        lines.insert(min(len(lines), max(0, i + rng.randint(-3, 3))), lines[i])
    return "\n".join(lines)


# The last ones most often: they are what a parser takes.
WAYS = [damage_word, damage_lines, damage_number, *[damage_everywhere] * 3, *[damage_operand] * 3,
        *[damage_order] * 3]


def mutate(rng, text, other):
    """`text` with one to three changes; `other` gives words and lines."""
    for _ in range(rng.choice([1, 1, 1, 1, 2, 3])):
        text = rng.choice(WAYS)(rng, text, other)
    # MLIR's parser makes room for as many results as the largest number behind a #.
    return re.sub(r"(%\w+[#:])\d{4,}", r"\g<1>999", text)


class Fuzzer:
    def __init__(self, folder, keep, seed, pairs=0):
        self.keep, self.rng = keep, random.Random(seed)
        self.seeds = Seeds(folder, self.rng, pairs)
        self.cases, self.findings, self.known = 0, 0, set()

    def check(self, command, texts):
        self.cases += len(texts)
        if run(command, "\n// -----\n".join(texts), TIMEOUT * 2) is None:
            return
        for text in texts:
            wrong = run(command, text, TIMEOUT)
            if wrong and wrong not in self.known:
                self.known.add(wrong)
                self.findings += 1
                self.keep.mkdir(parents=True, exist_ok=True)
                file = self.keep / f"finding-{self.findings}.mlir"
                file.write_text(text)
                quoted = " ".join(f"'{a}'" if "(" in a else a for a in command)
                print(f"{quoted} < {file}\n  {wrong}", flush=True)

    def opt(self, passes, texts):
        self.check(["attn-opt", "--split-input-file", "--mlir-disable-threading", "-o", "/dev/null",
                    pipeline(passes)], texts)

    def mutants(self):
        rng = self.rng
        target, stages = self.seeds.stages(rng)
        begin = rng.randrange(len(stages))
        texts = [mutate(rng, stages[begin], rng.choice(self.seeds.stages(rng)[1]))
                 for _ in range(BATCH)]
        self.opt(passes_of(target)[begin:], texts)

    def orders(self):
        rng = self.rng
        target, stages = self.seeds.stages(rng)
        begin = rng.randrange(len(stages))
        passes = passes_of(target)[begin:]
        if rng.random() < 0.5:
            passes = [rng.choice(TILES + GPU + CPU) for _ in range(rng.randint(1, 6))]
        elif passes:  # the right ones but for one that is left out or moved
            moved = passes.pop(rng.randrange(len(passes)))
            if rng.random() < 0.5:
                passes.insert(rng.randrange(len(passes) + 1), moved)
        self.opt(passes, [stages[begin]])

    def kernels(self):
        rng = self.rng
        target = rng.choice(TARGETS)
        text = rng.choice(self.seeds.kernels).read_text()
        donor = rng.choice(self.seeds.kernels).read_text()
        emit = rng.choice(["llvm", "nvvm" if target != "cpu" else "llvm", "schedule", "report"])
        self.check(["attnc", "-", f"--target={target}", f"--emit={emit}"],
                   [mutate(rng, text, donor)])


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("examples", type=Path)
    parser.add_argument("--cases", type=int, default=10000)
    parser.add_argument("--pairs", type=int, default=0, help="kernels and targets drawn; 0: all")
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument("--only", choices=["mutants", "orders", "kernels"])
    parser.add_argument("--keep", type=Path, default=Path("fuzz-findings"))
    given = parser.parse_args()
    fuzzer = Fuzzer(given.examples, given.keep, given.seed, given.pairs)
    while fuzzer.cases < given.cases:
        way = given.only or fuzzer.rng.choice(["mutants", "mutants", "orders", "orders", "kernels"])
        getattr(fuzzer, way)()
    print(f"{fuzzer.cases} cases, {fuzzer.findings} findings")
    return 1 if fuzzer.findings else 0


if __name__ == "__main__":
    sys.exit(main())
