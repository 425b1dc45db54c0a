#!/usr/bin/env python3
"""Damaged texts and passes out of order: diagnostics, never a crash.

usage: fuzz.py EXAMPLES [--seconds=CPU] [--cases=N] [--seed=1] [--keep=FOLDER]

The seeds are the kernels of the folder EXAMPLES for each target, as they stand after
every pass of the pipelines.  A case is one of

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
import random
import re
import resource
import subprocess
import sys
import time
from pathlib import Path

TIMEOUT = 20  # seconds of CPU for one text
BATCH = 24  # texts a process
MEMORY = 8 << 30

TARGETS = ["cpu", "sm_80", "sm_90a"]
TILES = """module:attn-resolve-variant attn-verify-problem attn-derive-block-map
    attn-select-schedule attn-check-resources module:attn-tile attn-peel-classes attn-split-kv
    attn-expand-softmax attn-expand-segments attn-verify-tiles""".split()
GPU = """pipe-assign-roles pipe-insert-channels pipe-split-roles pipe-issue-products
    pipe-skew-products pipe-hand-over pipe-skew pipe-verify-schedule module:pipe-to-frag frag:cse
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


def limit():
    resource.setrlimit(resource.RLIMIT_AS, (MEMORY, MEMORY))
    resource.setrlimit(resource.RLIMIT_CORE, (0, 0))


def run(command, text, seconds):
    """What went wrong, or None."""
    try:
        done = subprocess.run(command, input=text, capture_output=True, text=True, timeout=seconds,
                              preexec_fn=limit)
    except subprocess.TimeoutExpired:
        return f"takes more than {seconds} s"
    bad = "LLVM ERROR" in done.stderr or "Assertion" in done.stderr or "Sanitizer" in done.stderr
    if done.returncode in (0, 1) and not bad:
        return None
    said = re.search(r".*(LLVM ERROR|Assertion|Sanitizer:|runtime error:).*", done.stderr)
    frames = re.findall(r"(?:^ *#\d+ 0x\w+) (?:in )?(.*attn.*?)(?: [(/]\S*| \S*:\d\S*)$", done.stderr, re.M)
    return (f"exit status {done.returncode}: {said.group().strip() if said else ''}"
            f" {' < '.join(f.split('(')[0] for f in frames[:3])}")


class Seeds:
    """(target, number of passes done, text) of every kernel after every pass."""

    def __init__(self, folder):
        self.kernels = sorted(Path(folder).glob("*.mlir"))
        self.made = {}

    def kernel(self, rng, target):
        text = rng.choice(self.kernels).read_text()
        return re.sub(r"(attn\.kernel [^{]*\)) \{", rf'\1 attributes {{target = "{target}"}} {{', text)

    def stages(self, rng, target):
        """The texts of one kernel: entry i is that before pass i."""
        source = self.kernel(rng, target)
        if (source, target) not in self.made:
            command = ["attn-opt", pipeline(passes_of(target)), "--mlir-disable-threading",
                       "--mlir-print-ir-module-scope", "--mlir-print-ir-after-all", "-o", "/dev/null"]
            done = subprocess.run(command, input=source, capture_output=True, text=True, check=True)
            parts = re.split(r"// -----// IR Dump After .*\n", done.stderr)[1:]
            # One dump a kernel for passes on kernels; any of them will do.
            assert len(parts) >= len(passes_of(target))
            names = re.findall(r"// -----// IR Dump After \w+ \(([\w-]+)\)", done.stderr)
            texts, wanted = [source], [p.rpartition(":")[2] for p in passes_of(target)]
            for name in wanted:
                at = max(i for i, n in enumerate(names) if n == name)
                texts.append(parts[at])
            self.made[source, target] = texts
        return self.made[source, target]


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


def mutate(rng, text, other):
    """`text` with one to four changes; `other` gives words and lines."""
    for _ in range(rng.choice([1, 1, 1, 2, 2, 4])):
        way = rng.randrange(10)
        if way < 6:
            words = list(WORD.finditer(text))
            at = rng.choice(words)
            word = at.group()
            same = [w.group() for w in words if kind(w.group()) == kind(word)]
            more = [w for w in WORD.findall(other) if kind(w) == kind(word)]
            if way == 0:
                new = ""
            elif way == 1:
                new = word + " " + word
            elif kind(word) == "number" and way < 4:
                new = rng.choice(HARD)
            else:
                new = rng.choice(more) if more and way == 5 else rng.choice(same)
            text = text[:at.start()] + new + text[at.end():]
            continue
        lines = text.split("\n")
        i, j = rng.randrange(len(lines)), rng.randrange(len(lines))
        if way == 6:
            del lines[i]
        elif way == 7:
            lines.insert(i, lines[j])
        elif way == 8:
            lines[i], lines[j] = lines[j], lines[i]
        else:
            lines.insert(i, rng.choice(other.split("\n")))
        text = "\n".join(lines)
    return text


class Fuzzer:
    def __init__(self, folder, keep, seed):
        self.seeds, self.keep, self.rng = Seeds(folder), keep, random.Random(seed)
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

    def mutants(self):
        rng = self.rng
        target = rng.choice(TARGETS)
        passes = passes_of(target)
        begin = rng.randrange(len(passes) + 1)
        texts = []
        for _ in range(BATCH):
            text = self.seeds.stages(rng, target)[begin]
            donor = rng.choice(self.seeds.stages(rng, rng.choice(TARGETS)))
            texts.append(mutate(rng, text, donor))
        self.check(["attn-opt", "--split-input-file", "--mlir-disable-threading", "-o", "/dev/null",
                    pipeline(passes[begin:])], texts)

    def orders(self):
        rng = self.rng
        target = rng.choice(TARGETS)
        passes = passes_of(target)
        begin = rng.randrange(len(passes) + 1)
        texts = [self.seeds.stages(rng, target)[begin] for _ in range(BATCH // 3)]
        every = TILES + GPU + CPU
        drawn = [rng.choice(every) for _ in range(rng.randint(1, 6))]
        if rng.random() < 0.5:  # the right passes but for one that is left out or moved
            drawn = passes[begin:]
            if drawn:
                moved = drawn.pop(rng.randrange(len(drawn)))
                if rng.random() < 0.5:
                    drawn.insert(rng.randrange(len(drawn) + 1), moved)
        self.check(["attn-opt", "--split-input-file", "--mlir-disable-threading", "-o", "/dev/null",
                    pipeline(drawn)], texts)

    def kernels(self):
        rng = self.rng
        target = rng.choice(TARGETS)
        text = rng.choice(self.seeds.kernels).read_text()
        donor = rng.choice(self.seeds.kernels).read_text()
        emit = rng.choice(["llvm", "nvvm" if target != "cpu" else "llvm", "schedule", "report"])
        self.check(["attnc", "-", f"--target={target}", f"--emit={emit}", "-o", "-"],
                   [mutate(rng, text, donor)])


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("examples", type=Path)
    parser.add_argument("--cases", type=int, default=1 << 60)
    parser.add_argument("--seconds", type=float, default=1e9)
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument("--only", choices=["mutants", "orders", "kernels"])
    parser.add_argument("--keep", type=Path, default=Path("fuzz-findings"))
    given = parser.parse_args()
    fuzzer = Fuzzer(given.examples, given.keep, given.seed)
    begin = time.time()
    while fuzzer.cases < given.cases and time.time() - begin < given.seconds:
        way = given.only or fuzzer.rng.choice(["mutants", "mutants", "orders", "orders", "kernels"])
        getattr(fuzzer, way)()
    print(f"{fuzzer.cases} cases, {fuzzer.findings} findings")
    return 1 if fuzzer.findings else 0


if __name__ == "__main__":
    sys.exit(main())
