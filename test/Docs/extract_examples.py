"""Runs every ```mlir example of the dialect documentation through attn-opt.

usage: extract_examples.py SOURCE_ROOT

Examples are the fenced blocks marked `mlir` in dialects/*/*.td and
dialects/*/*.md.  Each must parse, verify and round-trip alone.  Prints
"N examples" at the end; exit status 1 if one fails or none is found.
"""

import subprocess
import sys
import textwrap
from pathlib import Path


def examples(path):
    """(line number, text) of each mlir block of a file."""
    block, start = None, 0
    for number, line in enumerate(path.read_text().splitlines(), 1):
        mark = line.strip()
        if block is None:
            if mark == "```mlir":
                block, start = [], number
        elif mark == "```":
            yield start, textwrap.dedent("\n".join(block)) + "\n"
            block = None
        else:
            block.append(line)
    if block is not None:
        raise SystemExit(f"{path}:{start}: example has no end")


def main():
    root = Path(sys.argv[1])
    count, failed = 0, 0
    files = sorted((root / "dialects").glob("*/*.td")) + sorted((root / "dialects").glob("*/*.md"))
    for path in files:
        for line, text in examples(path):
            count += 1
            run = subprocess.run(["attn-opt", "--verify-roundtrip", "-o", "/dev/null", "-"],
                                 input=text, capture_output=True, text=True, check=False)
            if run.returncode != 0:
                failed += 1
                print(f"{path.relative_to(root)}:{line}: example fails\n{run.stderr}")
    print(f"{count} examples")
    return 1 if failed or count == 0 else 0


if __name__ == "__main__":
    sys.exit(main())
