"""Compiles every example to a cubin for sm_90a; one line an example with its
specialisations and the candidates that the assembler refused.

usage: assembles.py EXAMPLES OUT
"""

import subprocess
import sys
from pathlib import Path

good = True
for example in sorted(Path(sys.argv[1]).glob("*.mlir")):
    run = subprocess.run(["attnc", example, "--target=sm_90a", "--remarks", "-o", sys.argv[2]],
                         text=True, stderr=subprocess.PIPE)
    good &= run.returncode == 0
    print(f"{example.stem}: {run.stderr.count('schedule for')}"
          f" refused {run.stderr.count('is refused') + run.stderr.count('is left out')}"
          + (" failed\n" + run.stderr if run.returncode else ""))
print("all assemble" if good else "some do not assemble")
sys.exit(not good)
